//! Providers of the countersets Network Interface and Linux Network Interface.

use perfset_catalogue::network_interface as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};
use perfset_engine::Fact;

use crate::provider::{Collection, InstanceKey, InstanceSource, MarkedRaw, SharedFile, unavailable};
use crate::roots::Roots;

mod interfaces;
mod linux;
mod links;
mod queues;
#[cfg(test)]
mod tests;

use interfaces::Interfaces;
pub(crate) use linux::LinuxNetworkInterface;
use queues::Queues;

/// Instances of the counterset Network Interface, from `/proc/net/dev`, `/sys/class/net` and a netlink socket.
#[derive(Debug)]
pub(crate) struct NetworkInterface {
    interfaces: Interfaces,
    /// Indexes in `interfaces` of the network interfaces that have a row.
    rows: Vec<usize>,
    keys: Vec<InstanceKey>,
    queues: Queues,
}

impl NetworkInterface {
    /// Creates the provider of Network Interface, which reads below `roots`, with a `/proc/net/dev` that others may
    /// share.
    pub(crate) fn new(roots: Roots, dev: SharedFile) -> Self {
        let queues = Queues::new(&roots);
        Self { interfaces: Interfaces::new(roots, dev), rows: Vec::new(), keys: Vec::new(), queues }
    }
}

impl InstanceSource for NetworkInterface {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { interfaces, rows, keys, .. } = self;
        if interfaces.refresh(pass)? {
            rows.clear();
            keys.clear();
            for (at, link) in interfaces.links().iter().enumerate().filter(|(_, link)| !link.is_loopback) {
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
        self.interfaces.link(at).map(|link| link.facts(pass)).unwrap_or_default()
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        // The loopback interface has a line and no row, so both have different indexes.
        let at = self.rows.get(at).copied().unwrap_or(usize::MAX);
        let of = &mut self.interfaces;
        let value = match counter {
            id::BYTES_TOTAL_PER_SEC => of.sum(at, |c| c.rx_bytes, |c| c.tx_bytes, pass)?,
            id::BYTES_RECEIVED_PER_SEC => of.count(at, |c| c.rx_bytes, pass)?,
            id::BYTES_SENT_PER_SEC => of.count(at, |c| c.tx_bytes, pass)?,
            id::PACKETS_PER_SEC => of.sum(at, |c| c.rx_packets, |c| c.tx_packets, pass)?,
            id::PACKETS_RECEIVED_PER_SEC => of.count(at, |c| c.rx_packets, pass)?,
            id::PACKETS_SENT_PER_SEC => of.count(at, |c| c.tx_packets, pass)?,
            id::PACKETS_RECEIVED_NON_UNICAST_PER_SEC => of.count(at, |c| c.rx_multicast, pass)?,
            id::PACKETS_RECEIVED_UNICAST_PER_SEC => {
                let all = of.count(at, |c| c.rx_packets, pass)?;
                all.saturating_sub(of.count(at, |c| c.rx_multicast, pass)?)
            }
            id::PACKETS_RECEIVED_DISCARDED => of.count(at, |c| c.rx_dropped, pass)?,
            id::PACKETS_RECEIVED_ERRORS => of.count(at, |c| c.rx_errors, pass)?,
            id::PACKETS_OUTBOUND_DISCARDED => of.count(at, |c| c.tx_dropped, pass)?,
            id::PACKETS_OUTBOUND_ERRORS => of.count(at, |c| c.tx_errors, pass)?,

            id::PACKETS_RECEIVED_UNKNOWN => of.link(at)?.unknown(pass)?,
            id::CURRENT_BANDWIDTH => of.link(at)?.bits_per_second(pass)?,
            id::OUTPUT_QUEUE_LENGTH => {
                let ifindex = of.link(at)?.ifindex;
                self.queues.waiting(ifindex, pass)?
            }

            _ => return Err(never(counter)),
        };
        Ok(value.into())
    }
}

/// Returns the reason why a counter of Network Interface has no value on any Linux.
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
