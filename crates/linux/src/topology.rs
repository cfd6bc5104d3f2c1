//! Where CPUs are: their NUMA node, and their index in it.

/// The place of one online CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The NUMA node.
    pub node: u32,
    /// Its rank in the node's list of CPUs.
    pub index: u32,
    /// The kernel's number for it.
    pub cpu: u32,
}

impl std::fmt::Display for Place {
    /// As the kernel names it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cpu{}", self.cpu)
    }
}

/// The places of the `online` CPUs, by node and index.
///
/// `nodes` are the numbers of nodes, ascending, and their CPUs (`node/nodeN/cpulist`). A node without CPUs has no
/// place. A CPU that no node lists comes last in node 0: on a kernel without NUMA that is every CPU. Of a CPU that
/// several nodes list, the first counts.
///
/// ```
/// use perfset_linux::topology::{Place, places};
///
/// let places = places(&[0, 1, 2], &[(0, vec![0, 2]), (1, vec![1])]);
/// assert_eq!(places.last(), Some(&Place { node: 1, index: 0, cpu: 1 }));
/// ```
#[must_use]
pub fn places(online: &[u32], nodes: &[(u32, Vec<u32>)]) -> Vec<Place> {
    let of_node = |(node, cpus): &(u32, Vec<u32>)| -> Vec<Place> {
        cpus.iter().zip(0..).map(|(cpu, index)| Place { node: *node, index, cpu: *cpu }).collect()
    };
    let mut listed: Vec<Place> = nodes.iter().flat_map(of_node).collect();
    listed.sort_by_key(|place| place.cpu); // stable: the first node comes first
    listed.dedup_by_key(|place| place.cpu);

    let in_node_0 = nodes.iter().find(|(node, _)| *node == 0).map_or(0, |(_, cpus)| cpus.len());
    let mut unlisted = u32::try_from(in_node_0).unwrap_or(u32::MAX)..;
    let place = |cpu: &u32| {
        let found = listed.binary_search_by_key(cpu, |place| place.cpu).ok();
        let unlisted = || unlisted.next().map(|index| Place { node: 0, index, cpu: *cpu });
        found.and_then(|at| listed.get(at).copied()).or_else(unlisted)
    };
    let mut places: Vec<Place> = online.iter().filter_map(place).collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines() {
        /// Name, online, nodes, and the places as node, index and CPU.
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
            let got: Vec<_> = places(online, &nodes).iter().map(|p| (p.node, p.index, p.cpu)).collect();
            assert_eq!(got, want, "{name}");
        }
    }
}
