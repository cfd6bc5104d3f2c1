//! Parser of `/sys/devices/system/node/nodeN/numastat`: from which NUMA node pages were allocated, and for which.
//!
//! Source: "Numa policy hit/miss statistics" in the kernel's admin guide.

use crate::sources::named::{Number, numbers};
use crate::sources::text::{Text, TextError};

/// Numbers of page allocations of one NUMA node since boot.
///
/// ```
/// use perfset_linux::sources::numastat::NumaStat;
///
/// let mut numastat = NumaStat::default();
/// numastat.parse(b"numa_hit 7\nnuma_miss 2\n").unwrap();
/// assert_eq!(numastat.numa_miss, Some(Ok(2)));
/// assert_eq!(numastat.local_node, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaStat {
    /// Number of pages allocated from this NUMA node, as intended.
    pub numa_hit: Number,
    /// Number of pages allocated from this NUMA node, although another node was intended.
    pub numa_miss: Number,
    /// Number of pages allocated from another NUMA node, although this node was intended.
    pub numa_foreign: Number,
    /// Number of pages allocated from this NUMA node by interleaving.
    pub interleave_hit: Number,
    /// Number of pages of this NUMA node that one of its own processors allocated.
    pub local_node: Number,
    /// Number of pages of this NUMA node that a processor of another node allocated.
    pub other_node: Number,
}

impl NumaStat {
    /// Parses the file `numastat` of one NUMA node, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [
            ("numa_hit ", &mut self.numa_hit),
            ("numa_miss ", &mut self.numa_miss),
            ("numa_foreign ", &mut self.numa_foreign),
            ("interleave_hit ", &mut self.interleave_hit),
            ("local_node ", &mut self.local_node),
            ("other_node ", &mut self.other_node),
        ];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut numastat = NumaStat { numa_hit: Some(Ok(3)), ..NumaStat::default() };
        numastat.parse(b"other_node 5\nnuma_hits 7\nlocal_node x\n").unwrap();
        assert_eq!((&numastat.other_node, &numastat.numa_hit), (&Some(Ok(5)), &None));
        assert_eq!(numastat.local_node.unwrap().unwrap_err().found, "\"x\"");
        assert!(NumaStat::default().parse(b"numa_hit\n").is_err());
    }
}
