//! Provider of the counterset Linux UDP.

use perfset_catalogue::linux_udp as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::countersets::protocols::{NO_IPV6, NO_SNMP};
use crate::provider::{
    ChunkedFile, Collection, CollectionCache, ParsedFile, ReadError, ReadFiles, SharedFile, ValueSource,
};
use crate::roots::Roots;
use crate::sources::snmp::{Udp, UdpLite};
use crate::sources::snmp6::Udp6;
use crate::sources::udp_sockets::{Queues, UdpSockets};

#[cfg(test)]
mod tests;

/// Values of the counterset Linux UDP, from `/proc/net/snmp`, `/proc/net/snmp6`, `/proc/net/udp` and
/// `/proc/net/udp6`.
#[derive(Debug)]
pub(crate) struct LinuxUdp {
    udp: ParsedFile<Udp>,
    udp_lite: ParsedFile<UdpLite>,
    udp6: ParsedFile<Udp6>,
    sockets: SocketQueues,
    sockets6: SocketQueues,
}

impl LinuxUdp {
    /// Creates the values of Linux UDP from files below `roots`, with a `/proc/net/snmp` and a `/proc/net/snmp6` that
    /// other countersets share.
    pub(crate) fn new(roots: &Roots, snmp: SharedFile, snmp6: SharedFile) -> Self {
        Self {
            udp: ParsedFile::from_file(snmp.clone(), NO_SNMP, Udp::parse),
            udp_lite: ParsedFile::from_file(snmp, NO_SNMP, UdpLite::parse),
            udp6: ParsedFile::from_file(snmp6, NO_IPV6, Udp6::parse),
            sockets: SocketQueues::new(roots, "udp", "there is no /proc/net/udp"),
            sockets6: SocketQueues::new(roots, "udp6", NO_IPV6),
        }
    }
}

impl ValueSource for LinuxUdp {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        match counter {
            id::UDPRCVBUFERRORS => self.udp.number(|udp| &udp.rcvbuf_errors, pass),
            id::UDPSNDBUFERRORS => self.udp.number(|udp| &udp.sndbuf_errors, pass),
            id::UDPLITEINERRORS => self.udp_lite.number(|udp| &udp.in_errors, pass),
            id::UDP6RCVBUFERRORS => self.udp6.number(|udp| &udp.rcvbuf_errors, pass),
            id::UDP6SNDBUFERRORS => self.udp6.number(|udp| &udp.sndbuf_errors, pass),
            id::UDPLITE6INERRORS => self.udp6.number(|udp| &udp.lite_in_errors, pass),
            id::IPV4_TRANSMIT_QUEUE_BYTES => Ok(self.sockets.queues(pass)?.transmit),
            id::IPV4_RECEIVE_QUEUE_BYTES => Ok(self.sockets.queues(pass)?.receive),
            id::IPV6_TRANSMIT_QUEUE_BYTES => Ok(self.sockets6.queues(pass)?.transmit),
            id::IPV6_RECEIVE_QUEUE_BYTES => Ok(self.sockets6.queues(pass)?.receive),
            _ => Err(NoValue::NotGiven),
        }
    }
}

/// Transmit and receive queues of all UDP sockets over one version of IP.
#[derive(Debug)]
struct SocketQueues {
    file: ChunkedFile,
    absent: &'static str,
    latest: CollectionCache<Queues>,
}

impl SocketQueues {
    fn new(roots: &Roots, name: &str, absent: &'static str) -> Self {
        Self { file: ChunkedFile::new(roots.net(name)), absent, latest: CollectionCache::default() }
    }

    /// Returns the sums of the UDP sockets' queues. Reads the list of sockets once in a collection.
    fn queues(&mut self, pass: &mut Collection) -> Result<Queues, NoValue> {
        let Self { file, absent, latest } = self;
        let queues = latest.get(pass, |pass| {
            let mut sockets = UdpSockets::default();
            pass.read_in_pieces(file, absent, |piece| sockets.add(piece))?;
            let queues = sockets.queues();
            queues.map_err(|text| ReadError::Text { path: file.path().to_owned(), text }.into())
        });
        queues.copied()
    }
}
