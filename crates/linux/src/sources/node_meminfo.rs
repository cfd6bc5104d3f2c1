//! Parser of `/sys/devices/system/node/nodeN/meminfo`: use of the memory of one NUMA node.
//!
//! Source: "Linux memory management: NUMA" and `Documentation/ABI/stable/sysfs-devices-node` of the kernel.

use crate::sources::named::kib;
use crate::sources::named::{Number, numbers_behind};
use crate::sources::text::{Text, TextError};

/// Lines of a NUMA node's file `meminfo` that are needed for counters. Unit: KiB, which the kernel calls kB.
///
/// ```
/// use perfset_linux::sources::node_meminfo::NodeMemInfo;
///
/// let mut node = NodeMemInfo::default();
/// node.parse(b"Node 1 MemTotal:  7 kB\nNode 1 MemFree:   2 kB\n").unwrap();
/// assert_eq!(node.mem_free, Some(Ok(2)));
/// assert_eq!(node.dirty, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeMemInfo {
    /// `MemTotal`: all memory of the NUMA node.
    pub mem_total: Number,
    /// `MemFree`: memory of the NUMA node that is not used.
    pub mem_free: Number,
    /// `Active(file)`: cached contents of files on the NUMA node that were used lately.
    pub active_file: Number,
    /// `Inactive(file)`: cached contents of files on the NUMA node that were not used lately.
    pub inactive_file: Number,
    /// `Dirty`: memory of the NUMA node that waits to be written to disk.
    pub dirty: Number,
    /// `Writeback`: memory of the NUMA node that is being written to disk.
    pub writeback: Number,
    /// `SReclaimable`: slab caches of the NUMA node that can be freed.
    pub s_reclaimable: Number,
}

impl NodeMemInfo {
    /// Parses the file `meminfo` of one NUMA node, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [
            ("MemTotal:", &mut self.mem_total),
            ("MemFree:", &mut self.mem_free),
            ("Active(file):", &mut self.active_file),
            ("Inactive(file):", &mut self.inactive_file),
            ("Dirty:", &mut self.dirty),
            ("Writeback:", &mut self.writeback),
            ("SReclaimable:", &mut self.s_reclaimable),
        ];
        numbers_behind(&mut Text::new(text), node, kib, &mut wanted)
    }
}

/// Skips the prefix `Node N` of a line in a NUMA node's `meminfo`.
fn node(line: &mut Text<'_>) {
    if line.take(b"Node ") && line.digits().is_ok() {
        line.skip_blanks();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let parse = |text: &str| {
            let mut node = NodeMemInfo { writeback: Some(Ok(7)), ..NodeMemInfo::default() };
            node.parse(text.as_bytes()).map(|()| node).map_err(|error| (error.line, error.found))
        };
        let free = |number| Ok(NodeMemInfo { mem_free: Some(Ok(number)), ..NodeMemInfo::default() });
        assert_eq!(parse("Node 0 MemUsed: 3 kB\nNode 0 MemFree:\t5 kB\n"), free(5));
        assert_eq!(parse("Node 1023 MemFree: 5 kB\n"), free(5));
        assert_eq!(parse("MemFree: 5 kB\n"), free(5)); // whose file it is says its folder
        for (text, line) in [("", 1), ("Node 0 memfree: 5 kB\n", 2), ("Node", 1)] {
            assert_eq!(parse(text).unwrap_err().0, line, "{text:?}");
        }
        let faulty = parse("Node 0 MemFree: x kB\n").unwrap().mem_free.unwrap();
        assert_eq!(faulty.unwrap_err().found, "\"x\"");
    }
}
