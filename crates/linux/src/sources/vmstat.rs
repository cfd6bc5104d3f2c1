//! Parser of `/proc/vmstat`: activity of the memory manager since boot.
//!
//! Source: `proc_vmstat(5)`.

use crate::sources::named::{NamedLines, Number};
use crate::sources::text::{Text, TextError};

/// Contents of `/proc/vmstat`: all lines under the kernel's names, and as fields the lines that several counters need.
///
/// ```
/// use perfset_linux::sources::vmstat::VmStat;
///
/// let mut vmstat = VmStat::default();
/// vmstat.parse(b"nr_free_pages 7\npgfault 5\npgmajfault 2\n").unwrap();
/// assert_eq!(vmstat.pgmajfault, Some(Ok(2)));
/// assert_eq!(vmstat.pgpgin, None);
/// let place = vmstat.lines.index(b"nr_free_pages").unwrap();
/// assert_eq!(vmstat.lines.number(place), Some(Ok(7)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmStat {
    /// Number of pages that were changed and are not yet on their way to disk.
    pub nr_dirty: Number,
    /// Number of pages that were written back, to files and to swap space. Since Linux 2.6.37.
    pub nr_written: Number,
    /// Number of pages that may be changed or on their way to disk before programs that write have to wait. Since
    /// Linux 2.6.37.
    pub nr_dirty_threshold: Number,
    /// Number of KiB that were read from block devices.
    pub pgpgin: Number,
    /// Number of KiB that were written to block devices.
    pub pgpgout: Number,
    /// Number of page faults of the machine.
    pub pgfault: Number,
    /// Number of page faults of the machine that read from disk.
    pub pgmajfault: Number,
    /// Number of pages that were reclaimed in the background. Since Linux 4.8; older kernels print them by zone.
    pub pgsteal_kswapd: Number,
    /// Number of pages that were reclaimed by a program that had to wait for memory. Since Linux 4.8; older kernels
    /// print them by zone.
    pub pgsteal_direct: Number,
    /// Number of pages that were reclaimed to make huge pages. Since Linux 6.1; older kernels include them in those
    /// of programs.
    pub pgsteal_khugepaged: Number,
    /// Number of pages that were reclaimed on request, by `memory.reclaim`. Since Linux 6.14.
    pub pgsteal_proactive: Number,
    /// All lines of `/proc/vmstat`, in the kernel's order.
    pub lines: NamedLines,
}

impl VmStat {
    /// Parses `/proc/vmstat`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` has no line of a name and a number.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.lines.parse(&mut Text::new(text), b' ', Text::last_number)?;
        self.lines.choose([
            ("nr_dirty ", &mut self.nr_dirty),
            ("nr_written ", &mut self.nr_written),
            ("nr_dirty_threshold ", &mut self.nr_dirty_threshold),
            ("pgpgin ", &mut self.pgpgin),
            ("pgpgout ", &mut self.pgpgout),
            ("pgfault ", &mut self.pgfault),
            ("pgmajfault ", &mut self.pgmajfault),
            ("pgsteal_kswapd ", &mut self.pgsteal_kswapd),
            ("pgsteal_direct ", &mut self.pgsteal_direct),
            ("pgsteal_khugepaged ", &mut self.pgsteal_khugepaged),
            ("pgsteal_proactive ", &mut self.pgsteal_proactive),
        ]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_contain_others() {
        let mut vmstat = VmStat::default();
        let mut numbers = |text: &[u8]| {
            vmstat.parse(text).unwrap();
            let VmStat { nr_dirty, nr_written, nr_dirty_threshold, pgfault, .. } = vmstat.clone();
            [nr_dirty, nr_written, nr_dirty_threshold, pgfault].map(|number| number.map(Result::unwrap))
        };
        let text = b"pgsteal_kswapd_normal 2\nnr_pgfault 3\npgfault_x 5\npgfault 7\n";
        assert_eq!(numbers(text), [None, None, None, Some(7)]);
        let text = b"nr_dirtied 2\nnr_dirty_threshold 3\nnr_dirty_background_threshold 5\n";
        assert_eq!(numbers(text), [None, None, Some(3), None]);
        let text = b"nr_throttled_written 2\nnr_dirtied 3\nnr_dirty 5\nnr_written 7\n";
        assert_eq!(numbers(text), [Some(5), Some(7), None, None]);
        let text = b"nr_throttled_written 3\nnr_dirtied 5\nnr_dirty 7\nnr_written 11\n";
        assert_eq!(numbers(text), [Some(7), Some(11), None, None], "the same lines, other numbers");
    }

    #[test]
    fn values_after_truncation_are_unknown() {
        let mut vmstat = VmStat::default();
        vmstat.parse(b"nr_dirty 5\npgfault 7\npgmajfault 1").unwrap();
        assert_eq!((vmstat.nr_dirty.clone(), vmstat.pgfault.clone()), (Some(Ok(5)), Some(Ok(7))));
        for number in [&vmstat.pgmajfault, &vmstat.pgsteal_direct] {
            assert_eq!(number.as_ref().unwrap().as_ref().unwrap_err().expected, "the rest of the line");
        }
        vmstat.parse(b"nr_dirty 5\npgfault 7\npgmajfault 11\n").unwrap();
        assert_eq!((vmstat.pgmajfault, vmstat.pgsteal_direct), (Some(Ok(11)), None));
    }
}
