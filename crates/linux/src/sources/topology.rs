//! Locations of CPUs: their NUMA nodes, and their indexes in the nodes.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Location of one online CPU: its NUMA node, and its index in the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuLocation {
    /// Number of the CPU's NUMA node.
    pub node: u32,
    /// Index of the CPU in its NUMA node's list of CPUs.
    pub index: u32,
    /// Number that the kernel gives to the CPU.
    pub cpu: u32,
}

impl std::fmt::Display for CpuLocation {
    /// Writes the kernel's name of the CPU, such as `cpu0`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cpu{}", self.cpu)
    }
}

/// Returns the locations of the `online` CPUs, sorted by NUMA node and index.
///
/// `nodes` contains the numbers of nodes, ascending, and their CPUs (`node/nodeN/cpulist`). A node without CPUs has
/// no location. A CPU that no node lists comes last in node 0; on a kernel without NUMA that is every CPU. If several
/// nodes list a CPU, the first one counts.
///
/// ```
/// use perfset_linux::sources::topology::{CpuLocation, places};
///
/// let places = places(&[0, 1, 2], &[(0, vec![0..=0, 2..=2]), (1, vec![1..=1])]);
/// assert_eq!(places.last(), Some(&CpuLocation { node: 1, index: 0, cpu: 1 }));
/// ```
#[must_use]
pub fn places(online: &[u32], nodes: &[(u32, Vec<RangeInclusive<u32>>)]) -> Vec<CpuLocation> {
    let mut unplaced: BTreeSet<u32> = online.iter().copied().collect();
    let mut places = Vec::with_capacity(unplaced.len());
    let mut in_node_0 = 0;
    for (node, ranges) in nodes {
        let mut first_index = 0_u32;
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            let (first, last) = (*range.start(), *range.end());
            // Visits only online CPUs that have no place yet: a malformed list may have a long range for
            // every node.
            while let Some(cpu) = unplaced.range(first..=last).next().copied() {
                unplaced.remove(&cpu);
                // Offline CPUs count as well, so that the names of the others stay when one goes offline.
                let index = first_index.saturating_add(cpu.saturating_sub(first));
                places.push(CpuLocation { node: *node, index, cpu });
            }
            first_index = first_index.saturating_add(last.saturating_sub(first)).saturating_add(1);
        }
        if *node == 0 {
            in_node_0 = first_index;
        }
    }
    places.extend(unplaced.into_iter().zip(in_node_0..=u32::MAX).map(|(cpu, index)| CpuLocation {
        node: 0,
        index,
        cpu,
    }));
    // CPUs that no node lists were added last, behind those of other nodes.
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines() {
        /// Test case of CPU locations: name, online CPUs, CPUs of each node, and expected locations as node, index
        /// and CPU.
        type Case = (&'static str, &'static [u32], Vec<(u32, Vec<u32>)>, &'static [(u32, u32, u32)]);
        let cases: [Case; 7] = [
            ("no NUMA", &[0, 1, 3], vec![], &[(0, 0, 0), (0, 1, 1), (0, 2, 3)]),
            (
                "interleaved",
                &[0, 1, 2, 3],
                vec![(0, vec![0, 2]), (1, vec![1, 3])],
                &[(0, 0, 0), (0, 1, 2), (1, 0, 1), (1, 1, 3)],
            ),
            ("an offline CPU in the list", &[0, 2], vec![(0, vec![0, 1, 2])], &[(0, 0, 0), (0, 2, 2)]),
            ("a node without CPUs", &[0, 1], vec![(0, vec![0, 1]), (2, vec![])], &[(0, 0, 0), (0, 1, 1)]),
            ("nodes with gaps", &[4, 5], vec![(3, vec![4]), (7, vec![5])], &[(3, 0, 4), (7, 0, 5)]),
            (
                "unlisted",
                &[0, 1, 2, 3],
                vec![(0, vec![2]), (1, vec![1])],
                &[(0, 0, 2), (0, 1, 0), (0, 2, 3), (1, 0, 1)],
            ),
            ("listed twice", &[0, 1], vec![(0, vec![0, 1]), (1, vec![1])], &[(0, 0, 0), (0, 1, 1)]),
        ];
        for (name, online, nodes, want) in cases {
            let in_ranges =
                |(node, cpus): (u32, Vec<u32>)| (node, cpus.iter().map(|cpu| *cpu..=*cpu).collect());
            let nodes: Vec<_> = nodes.into_iter().map(in_ranges).collect();
            let got: Vec<_> = places(online, &nodes).iter().map(|p| (p.node, p.index, p.cpu)).collect();
            assert_eq!(got, want, "{name}");
        }
    }
    #[test]
    fn an_index_counts_what_is_not_online() {
        let got = places(&[5, 12, 13], &[(0, vec![1..=3, 10..=12]), (1, vec![4..=6, 12..=13])]);
        let want = [(0, 5, 12), (1, 1, 5), (1, 4, 13)];
        assert_eq!(got.iter().map(|p| (p.node, p.index, p.cpu)).collect::<Vec<_>>(), want);
    }
    /// Checks that the work of locating CPUs grows with the number of CPU ranges, not of CPUs, which would take 768
    /// MiB.
    #[test]
    fn long_lists_cost_little() {
        let online: Vec<u32> = (0..65_536).collect();
        let nodes: Vec<_> = (0..1_024).map(|node| (node, vec![0..=65_535])).collect();
        let places = places(&online, &nodes);
        assert!(places.iter().all(|place| place.node == 0 && place.index == place.cpu));
        assert_eq!(places.len(), online.len());
    }
}
