//! Provider of the counterset Network Interface.

use perfset_catalogue::network_interface as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};
use perfset_engine::Fact;

use crate::provider::{
    Collection, InstanceKey, InstanceSource, MarkedRaw, ParsedFile, SeqFileKind, unavailable,
};
use crate::roots::Roots;
use crate::sources::net_dev::{Counts, NetDev};

mod links;
mod queues;
#[cfg(test)]
mod tests;

use links::Link;
use queues::Queues;

/// Instances of Network Interface, from `/proc/net/dev`, `/sys/class/net` and a netlink socket.
#[derive(Debug)]
pub(crate) struct NetworkInterface {
    roots: Roots,
    dev: ParsedFile<NetDev>,
    /// Interfaces, one for each line of `dev`.
    links: Vec<Link>,
    /// Indexes in `links` of the interfaces that have a row.
    rows: Vec<usize>,
    keys: Vec<InstanceKey>,
    queues: Queues,
}

impl NetworkInterface {
    /// Creates a provider that reads below `roots`.
    pub(crate) fn new(roots: Roots) -> Self {
        let (dev, queues) = (roots.net("dev"), Queues::new(&roots));
        Self {
            dev: ParsedFile::new(dev, SeqFileKind::Lines, "there is no /proc/net/dev", NetDev::parse),
            roots,
            links: Vec::new(),
            rows: Vec::new(),
            keys: Vec::new(),
            queues,
        }
    }

    /// Returns the sum of two numbers of an interface, which wraps as the kernel's own numbers do.
    fn sum(
        &mut self,
        at: usize,
        a: fn(&Counts) -> Option<u64>,
        b: fn(&Counts) -> Option<u64>,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let counts = self.counts(at, pass)?;
        Ok(known(a(&counts))?.wrapping_add(known(b(&counts))?))
    }

    fn count(
        &mut self,
        at: usize,
        of: fn(&Counts) -> Option<u64>,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        known(of(&self.counts(at, pass)?))
    }

    /// Returns the counts of an interface.
    fn counts(&mut self, at: usize, pass: &mut Collection) -> Result<Counts, NoValue> {
        let dev = self.dev.get(pass)?;
        match dev.interfaces().get(at).map(|interface| interface.counts.clone()) {
            Some(Ok(counts)) => Ok(counts),
            Some(Err(text)) => Err(self.dev.fault(text)),
            None => Err(NoValue::NotGiven),
        }
    }
}

fn known(number: Option<u64>) -> Result<u64, NoValue> {
    number.ok_or_else(|| unavailable("this kernel does not report it"))
}

impl InstanceSource for NetworkInterface {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { roots, dev, links, rows, keys, .. } = self;
        let interfaces = dev.get(pass)?.interfaces();
        if links::refresh(links, interfaces, roots, pass) {
            rows.clear();
            keys.clear();
            for (at, link) in links.iter().enumerate().filter(|(_, link)| !link.is_loopback) {
                rows.push(at);
                keys.push(InstanceKey::new(link.instance_name(), InstanceId(link.id())));
            }
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn facts(&mut self, at: usize, pass: &mut Collection) -> Vec<Fact> {
        let at = self.rows.get(at).copied().unwrap_or(usize::MAX);
        self.link(at).map(|link| link.facts(pass)).unwrap_or_default()
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        // The loopback interface has a line and no row, so both have different indexes.
        let at = self.rows.get(at).copied().unwrap_or(usize::MAX);
        let value = match counter {
            id::BYTES_TOTAL_PER_SEC => self.sum(at, |c| c.rx_bytes, |c| c.tx_bytes, pass)?,
            id::BYTES_RECEIVED_PER_SEC => self.count(at, |c| c.rx_bytes, pass)?,
            id::BYTES_SENT_PER_SEC => self.count(at, |c| c.tx_bytes, pass)?,
            id::PACKETS_PER_SEC => self.sum(at, |c| c.rx_packets, |c| c.tx_packets, pass)?,
            id::PACKETS_RECEIVED_PER_SEC => self.count(at, |c| c.rx_packets, pass)?,
            id::PACKETS_SENT_PER_SEC => self.count(at, |c| c.tx_packets, pass)?,
            id::PACKETS_RECEIVED_NON_UNICAST_PER_SEC => self.count(at, |c| c.rx_multicast, pass)?,
            id::PACKETS_RECEIVED_UNICAST_PER_SEC => {
                let all = self.count(at, |c| c.rx_packets, pass)?;
                all.saturating_sub(self.count(at, |c| c.rx_multicast, pass)?)
            }
            id::PACKETS_RECEIVED_DISCARDED => self.count(at, |c| c.rx_dropped, pass)?,
            id::PACKETS_RECEIVED_ERRORS => self.count(at, |c| c.rx_errors, pass)?,
            id::PACKETS_OUTBOUND_DISCARDED => self.count(at, |c| c.tx_dropped, pass)?,
            id::PACKETS_OUTBOUND_ERRORS => self.count(at, |c| c.tx_errors, pass)?,

            id::PACKETS_RECEIVED_UNKNOWN => self.link(at)?.unknown(pass)?,
            id::CURRENT_BANDWIDTH => self.link(at)?.bits_per_second(pass)?,
            id::OUTPUT_QUEUE_LENGTH => {
                let ifindex = self.link(at)?.ifindex;
                self.queues.waiting(ifindex, pass)?
            }

            _ => return Err(never(counter)),
        };
        Ok(value.into())
    }
}

impl NetworkInterface {
    fn link(&mut self, at: usize) -> Result<&mut Link, NoValue> {
        self.links.get_mut(at).ok_or(NoValue::NotGiven)
    }
}

/// Returns the reason that a counter has no value on any Linux.
fn never(counter: CounterId) -> NoValue {
    unavailable(match counter {
        id::PACKETS_SENT_UNICAST_PER_SEC | id::PACKETS_SENT_NON_UNICAST_PER_SEC => {
            "the kernel does not count them apart from other packets"
        }
        id::OFFLOADED_CONNECTIONS => "the kernel never hands its TCP to the interface as a whole",
        id::TCP_ACTIVE_RSC_CONNECTIONS
        | id::TCP_RSC_COALESCED_PACKETS_PER_SEC
        | id::TCP_RSC_EXCEPTIONS_PER_SEC
        | id::TCP_RSC_AVERAGE_PACKET_SIZE => "only single drivers count it, each in its own way",
        _ => return NoValue::NotGiven,
    })
}
