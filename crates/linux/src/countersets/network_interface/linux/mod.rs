//! Instances of the counterset Linux Network Interface.

use std::path::Path;

use perfset_catalogue::linux_network_interface as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};
use perfset_engine::Fact;

use super::interfaces::Interfaces;
use super::links::{Link, NOT_IN_SYS, NOT_REPORTED, read_if_known};
use crate::provider::{
    ChunkedFile, Collection, CollectionCache, InstanceKey, InstanceSource, KeptFile, MarkedRaw, ReadError,
    ReadFiles, SeqFileKind, SharedFile, unavailable,
};
use crate::roots::Roots;
use crate::sources::arp::ArpTable;
use crate::sources::{attribute, operstate};

#[cfg(test)]
mod tests;

/// Instances of the counterset Linux Network Interface: every interface of `/proc/net/dev`, also the loopback
/// interface.
#[derive(Debug)]
pub(crate) struct LinuxNetworkInterface {
    interfaces: Interfaces,
    /// Files of each network interface in `/sys`; `None` if its name is no name of a file.
    files: Vec<Option<LinkFiles>>,
    keys: Vec<InstanceKey>,
    arp: ArpEntries,
}

/// Files of a network interface that are opened only for the counters that need them.
#[derive(Debug)]
struct LinkFiles {
    operstate: KeptFile,
    carrier: KeptFile,
    mtu: KeptFile,
    carrier_changes: KeptFile,
    carrier_ups: KeptFile,
    carrier_downs: KeptFile,
}

/// Maximum number of network interfaces whose files stay open, six each: reading an open file costs a seventh of
/// opening it first.
const LINKS_THAT_KEEP: usize = 8;

impl LinkFiles {
    fn new(folder: &Path, keep: bool) -> Self {
        let file = |name| KeptFile::new(folder.join(name), SeqFileKind::Single).keep(keep);
        Self {
            operstate: file("operstate"),
            carrier: file("carrier"),
            mtu: file("mtu"),
            carrier_changes: file("carrier_changes"),
            carrier_ups: file("carrier_up_count"),
            carrier_downs: file("carrier_down_count"),
        }
    }
}

impl LinuxNetworkInterface {
    /// Creates the provider of Linux Network Interface, which reads below `roots`, with a `/proc/net/dev` that others
    /// may share.
    pub(crate) fn new(roots: Roots, dev: SharedFile) -> Self {
        let arp = ArpEntries::new(&roots);
        Self { interfaces: Interfaces::new(roots, dev), files: Vec::new(), keys: Vec::new(), arp }
    }

    /// Returns the number in one of a network interface's files in `/sys`.
    fn number(
        &mut self,
        at: usize,
        file: fn(&mut LinkFiles) -> &mut KeptFile,
        absent: &'static str,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        pass.read(file(self.files(at)?), absent, attribute::number)
    }

    fn files(&mut self, at: usize) -> Result<&mut LinkFiles, NoValue> {
        let files = self.files.get_mut(at).ok_or(NoValue::NotGiven)?;
        files.as_mut().ok_or_else(|| unavailable(NOT_IN_SYS))
    }
}

impl InstanceSource for LinuxNetworkInterface {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        if self.interfaces.refresh(pass)? {
            let links = self.interfaces.links();
            let key = |link: &Link| InstanceKey::new(link.instance_name(), InstanceId(link.id()));
            self.keys = links.iter().map(key).collect();
            // An absent file is looked for again at once: the interface may be another one.
            let files = |(at, link): (usize, &Link)| {
                link.folder().map(|folder| LinkFiles::new(folder, at < LINKS_THAT_KEEP))
            };
            self.files = links.iter().enumerate().map(files).collect();
            self.arp.order(links);
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn facts(&mut self, at: usize, pass: &mut Collection) -> Vec<Fact> {
        self.interfaces.link(at).map(|link| link.facts(pass)).unwrap_or_default()
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        const DOWN: &str = "the interface is down, so the kernel does not look for a carrier";
        let of = &mut self.interfaces;
        let value = match counter {
            id::UP => u64::from(pass.read(&mut self.files(at)?.operstate, NOT_IN_SYS, operstate::is_up)?),
            id::CARRIER => {
                read_if_known(&mut self.files(at)?.carrier, (NOT_IN_SYS, DOWN), attribute::number, pass)?
            }
            id::CARRIER_CHANGES => self.number(at, |files| &mut files.carrier_changes, NOT_REPORTED, pass)?,
            id::CARRIER_UPS => self.number(at, |files| &mut files.carrier_ups, NOT_REPORTED, pass)?,
            id::CARRIER_DOWNS => self.number(at, |files| &mut files.carrier_downs, NOT_REPORTED, pass)?,
            id::MTU_BYTES => self.number(at, |files| &mut files.mtu, NOT_IN_SYS, pass)?,
            id::ARP_ENTRIES => self.arp.count(at, of.links(), pass)?,

            id::BYTES_RECEIVED_PER_SEC => of.count(at, |c| c.rx_bytes, pass)?,
            id::PACKETS_RECEIVED_PER_SEC => of.count(at, |c| c.rx_packets, pass)?,
            id::PACKETS_RECEIVED_ERRORS => of.count(at, |c| c.rx_errors, pass)?,
            id::PACKETS_RECEIVED_DISCARDED => of.count(at, |c| c.rx_dropped, pass)?,
            id::PACKETS_RECEIVED_MULTICAST_PER_SEC => of.count(at, |c| c.rx_multicast, pass)?,
            id::PACKETS_RECEIVED_WITHOUT_HANDLER => of.link(at)?.unknown(pass)?,
            id::RECEIVE_FIFO_ERRORS => of.count(at, |c| c.rx_fifo, pass)?,
            id::RECEIVE_FRAME_ERRORS => of.count(at, |c| c.rx_frame, pass)?,
            id::RECEIVED_COMPRESSED_PACKETS => of.count(at, |c| c.rx_compressed, pass)?,

            id::BYTES_SENT_PER_SEC => of.count(at, |c| c.tx_bytes, pass)?,
            id::PACKETS_SENT_PER_SEC => of.count(at, |c| c.tx_packets, pass)?,
            id::PACKETS_OUTBOUND_ERRORS => of.count(at, |c| c.tx_errors, pass)?,
            id::PACKETS_OUTBOUND_DISCARDED => of.count(at, |c| c.tx_dropped, pass)?,
            id::TRANSMIT_FIFO_ERRORS => of.count(at, |c| c.tx_fifo, pass)?,
            id::COLLISIONS => of.count(at, |c| c.tx_collisions, pass)?,
            id::CARRIER_LOSSES => of.count(at, |c| c.tx_carrier, pass)?,
            id::SENT_COMPRESSED_PACKETS => of.count(at, |c| c.tx_compressed, pass)?,
            _ => return Err(NoValue::NotGiven),
        };
        Ok(value.into())
    }
}

/// Numbers of entries in `/proc/net/arp` for each network interface.
#[derive(Debug)]
struct ArpEntries {
    file: ChunkedFile,
    latest: CollectionCache<()>,
    /// Indexes of the network interfaces, in the order of their names.
    by_name: Vec<usize>,
    /// Number of ARP entries of each network interface, in the order of the interfaces.
    counts: Vec<u64>,
}

impl ArpEntries {
    fn new(roots: &Roots) -> Self {
        let file = ChunkedFile::new(roots.net("arp"));
        Self { file, latest: CollectionCache::default(), by_name: Vec::new(), counts: Vec::new() }
    }

    /// Sorts changed network interfaces by name, for finding the interface of each ARP entry.
    fn order(&mut self, links: &[Link]) {
        self.by_name.clear();
        self.by_name.extend(0..links.len());
        self.by_name.sort_unstable_by_key(|at| links.get(*at).map(Link::name));
        self.latest = CollectionCache::default();
    }

    /// Returns the number of ARP entries of a network interface. Reads `/proc/net/arp` once in a collection, for all
    /// interfaces.
    fn count(&mut self, at: usize, links: &[Link], pass: &mut Collection) -> Result<u64, NoValue> {
        let Self { file, latest, by_name, counts } = self;
        latest.get(pass, |pass| {
            counts.clear();
            counts.resize(links.len(), 0);
            let mut table = ArpTable::default();
            let mut add = |device: &[u8]| {
                let at = by_name.binary_search_by(|at| links.get(*at).map(Link::name).cmp(&Some(device)));
                let at = at.ok().and_then(|at| by_name.get(at));
                if let Some(count) = at.and_then(|at| counts.get_mut(*at)) {
                    *count = count.saturating_add(1);
                }
            };
            pass.read_in_pieces(file, "there is no /proc/net/arp", |piece| table.add(piece, &mut add))?;
            let entries = table.entries();
            entries.map_err(|text| ReadError::Text { path: file.path().to_owned(), text })?;
            Ok(())
        })?;
        counts.get(at).copied().ok_or(NoValue::NotGiven)
    }
}
