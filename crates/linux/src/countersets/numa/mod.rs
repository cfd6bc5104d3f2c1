//! Countersets of NUMA nodes: NUMA Node Memory and Linux NUMA.

use std::num::NonZeroU32;

use perfset_catalogue::{linux_numa, numa_node_memory};
use perfset_core::{CounterId, Counterset, InstanceId, Mark, NoValue};

use crate::provider::{
    Collection, InstanceKey, InstanceSource, MarkedRaw, Parse, ParsedFile, SeqFileKind, SharedFile, Total,
};
use crate::roots::Roots;
use crate::sources::cpulist::{self, NODE_LIMIT};
use crate::sources::named::Number;
use crate::sources::node_meminfo::NodeMemInfo;
use crate::sources::numastat::NumaStat;
use crate::sources::text::TextError;

#[cfg(test)]
mod tests;

/// Returns the file that lists the online NUMA nodes, which both countersets of NUMA nodes read.
pub(crate) fn online(roots: &Roots) -> SharedFile {
    SharedFile::new(roots.sys.join("devices/system/node/online"), SeqFileKind::Single)
}

/// Ids of the online NUMA nodes, as in `nodeN`, ascending.
#[derive(Debug, Default)]
struct Online {
    ids: Vec<u32>,
}

impl Online {
    fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        cpulist::parse(text, NODE_LIMIT, &mut self.ids)
    }
}

/// NUMA nodes, with one parsed file for each node.
#[derive(Debug)]
struct Nodes<T> {
    roots: Roots,
    online: ParsedFile<Online>,
    /// Name of the file that is read in the directory of each NUMA node.
    file: &'static str,
    parse: Parse<T>,
    keys: Vec<InstanceKey>,
    /// Parsed files of the NUMA nodes, in the order of `keys`.
    tables: Vec<ParsedFile<T>>,
}

impl<T: Default> Nodes<T> {
    /// Maximum number of NUMA nodes that keep their file descriptor. Few machines have more.
    const NODES_THAT_KEEP: usize = 16;
    const ABSENT: &'static str = "the kernel says nothing about this node";

    fn new(roots: &Roots, online: SharedFile, file: &'static str, parse: Parse<T>) -> Self {
        let online = ParsedFile::from_file(online, Self::ABSENT, Online::parse);
        Self { roots: roots.clone(), online, file, parse, keys: Vec::new(), tables: Vec::new() }
    }

    /// Finds the online NUMA nodes: none on a kernel without NUMA.
    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let ids = match self.online.get(pass) {
            Ok(online) => online.ids.as_slice(),
            Err(NoValue::Unavailable(_)) => &[],
            Err(reason) => return Err(reason),
        };
        if self.keys.iter().map(|key| key.id.0).eq(ids.iter().copied()) {
            return Ok(());
        }
        self.keys.clear();
        self.tables.clear();
        for id in ids {
            let path = self.roots.sys.join(format!("devices/system/node/node{id}")).join(self.file);
            let file =
                SharedFile::keeping(path, SeqFileKind::Single, self.keys.len() < Self::NODES_THAT_KEEP);
            self.tables.push(ParsedFile::from_file(file, Self::ABSENT, self.parse));
            self.keys.push(InstanceKey::new(id.to_string(), InstanceId(*id)));
        }
        Ok(())
    }

    /// Returns the number in one line of the file of the NUMA node at index `at`.
    fn number(&mut self, at: usize, of: fn(&T) -> &Number, pass: &mut Collection) -> Result<u64, NoValue> {
        self.tables.get_mut(at).ok_or(NoValue::NotGiven)?.number(of, pass)
    }
}

/// Instances of the counterset NUMA Node Memory, from `/sys/devices/system/node/nodeN/meminfo`.
#[derive(Debug)]
pub(crate) struct NodeMemory {
    nodes: Nodes<NodeMemInfo>,
}

impl NodeMemory {
    /// Creates the provider of NUMA Node Memory, which reads below `roots`, and the list of [`online`] nodes.
    pub(crate) fn new(roots: &Roots, online: SharedFile) -> Self {
        Self { nodes: Nodes::new(roots, online, "meminfo", NodeMemInfo::parse) }
    }

    fn kib(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        use numa_node_memory as id;
        type Line = fn(&NodeMemInfo) -> &Number;
        let lines: &[Line] = match counter {
            id::TOTAL_MBYTES => &[|node| &node.mem_total],
            id::FREE_ZERO_PAGE_LIST_MBYTES => &[|node| &node.mem_free],
            id::MODIFIED_PAGE_LIST_MBYTES => &[|node| &node.dirty, |node| &node.writeback],
            id::STANDBY_LIST_MBYTES => &[|node| &node.inactive_file, |node| &node.active_file],
            // The kernel has no estimate by node, as `MemAvailable` is for the machine. This sum is more than
            // such an estimate.
            id::AVAILABLE_MBYTES => &[
                |node| &node.mem_free,
                |node| &node.inactive_file,
                |node| &node.active_file,
                |node| &node.s_reclaimable,
            ],
            _ => return Err(NoValue::NotGiven),
        };
        let mut sum = 0_u64;
        for line in lines {
            sum = sum.saturating_add(self.nodes.number(at, *line, pass)?);
        }
        Ok(sum)
    }
}

const KIB_IN_MIB: u64 = 1_024;

impl InstanceSource for NodeMemory {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        numa_node_memory::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        self.nodes.find(pass)
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.nodes.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        Ok((self.kib(at, counter, pass)? / KIB_IN_MIB).into())
    }

    fn total_of(&self, _: CounterId) -> Total {
        Total::Own
    }

    /// Returns the sum of a counter over all NUMA nodes, rounded down only at the end.
    fn total(&mut self, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let (mut sum, mut missing, mut known, mut reason) = (0_u64, 0_u32, self.keys().is_empty(), None);
        for at in 0..self.keys().len() {
            match self.kib(at, counter, pass) {
                Ok(kib) => (sum, known) = (sum.saturating_add(kib), true),
                // A kernel that lacks the line lacks it for every node, so the total is not partial for that
                // reason.
                Err(NoValue::Unavailable(why)) => drop(reason.get_or_insert(NoValue::Unavailable(why))),
                Err(why) => {
                    missing = missing.saturating_add(1);
                    reason = Some(why);
                }
            }
        }
        let mark = NonZeroU32::new(missing).map(Mark::Partial);
        match reason {
            Some(reason) if !known => Err(reason),
            _ => Ok(MarkedRaw::new(sum / KIB_IN_MIB, mark)),
        }
    }
}

/// Instances of the counterset Linux NUMA, from `/sys/devices/system/node/nodeN/numastat`.
#[derive(Debug)]
pub(crate) struct LinuxNuma {
    nodes: Nodes<NumaStat>,
}

impl LinuxNuma {
    /// Creates the provider of Linux NUMA, which reads below `roots`, and the list of [`online`] nodes.
    pub(crate) fn new(roots: &Roots, online: SharedFile) -> Self {
        Self { nodes: Nodes::new(roots, online, "numastat", NumaStat::parse) }
    }
}

impl InstanceSource for LinuxNuma {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        linux_numa::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        self.nodes.find(pass)
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.nodes.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        use linux_numa as id;
        let line: fn(&NumaStat) -> &Number = match counter {
            id::NUMA_HIT => |node| &node.numa_hit,
            id::NUMA_MISS => |node| &node.numa_miss,
            id::NUMA_FOREIGN => |node| &node.numa_foreign,
            id::INTERLEAVE_HIT => |node| &node.interleave_hit,
            id::LOCAL_NODE => |node| &node.local_node,
            id::OTHER_NODE => |node| &node.other_node,
            _ => return Err(NoValue::NotGiven),
        };
        Ok(self.nodes.number(at, line, pass)?.into())
    }
}
