//! Provider of the counterset Connection Tracking.

use perfset_catalogue::connection_tracking as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::provider::{Attribute, Collection, ValueSource};
use crate::roots::Roots;

#[cfg(test)]
mod tests;

/// Values of the counterset Connection Tracking, from files of `/proc/sys/net/netfilter`.
#[derive(Debug)]
pub(crate) struct ConnectionTracking {
    count: Attribute,
    max: Attribute,
}

impl ConnectionTracking {
    /// Creates the values of Connection Tracking from the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        const ABSENT: &str = "the kernel does not track connections: its module nf_conntrack is not loaded";
        let file = |name| Attribute::new(roots.proc.join("sys/net/netfilter").join(name), true, ABSENT);
        Self { count: file("nf_conntrack_count"), max: file("nf_conntrack_max") }
    }
}

impl ValueSource for ConnectionTracking {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        match counter {
            id::ENTRIES => self.count.get(pass),
            id::ENTRIES_LIMIT => self.max.get(pass),
            _ => Err(NoValue::NotGiven),
        }
    }
}
