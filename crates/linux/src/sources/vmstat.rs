//! `/proc/vmstat`: what the memory manager did since boot.
//!
//! Source: `proc_vmstat(5)`.

use crate::sources::named::{Lines, Number, numbers};
use crate::sources::text::{Text, TextError};

/// The lines that feed counters.
///
/// ```
/// use perfset_linux::sources::vmstat::VmStat;
///
/// let mut vmstat = VmStat::default();
/// vmstat.parse(b"nr_free_pages 7\npgfault 5\npgmajfault 2\n").unwrap();
/// assert_eq!(vmstat.pgmajfault, Some(Ok(2)));
/// assert_eq!(vmstat.pgpgin, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmStat {
    /// Pages that were changed and are not yet on their way to disk.
    pub nr_dirty: Number,
    /// Pages that were written back, to files and to swap space. Since Linux 2.6.37.
    pub nr_written: Number,
    /// Pages that may be changed or on their way to disk before programs that write have to wait. Since Linux 2.6.37.
    pub nr_dirty_threshold: Number,
    /// KiB that block devices read.
    pub pgpgin: Number,
    /// KiB that block devices wrote.
    pub pgpgout: Number,
    /// Page faults.
    pub pgfault: Number,
    /// Those that had to read from disk.
    pub pgmajfault: Number,
    /// Pages that were reclaimed in the background. Since Linux 4.8, before that by zone.
    pub pgsteal_kswapd: Number,
    /// Pages that were reclaimed by a program that had to wait for memory. Since Linux 4.8, before that by zone.
    pub pgsteal_direct: Number,
}

impl VmStat {
    /// Takes everything from `text`; what was there before goes.
    ///
    /// # Errors
    /// If it has none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut wanted = [
            ("nr_dirty ", &mut self.nr_dirty),
            ("nr_written ", &mut self.nr_written),
            ("nr_dirty_threshold ", &mut self.nr_dirty_threshold),
            ("pgpgin ", &mut self.pgpgin),
            ("pgpgout ", &mut self.pgpgout),
            ("pgfault ", &mut self.pgfault),
            ("pgmajfault ", &mut self.pgmajfault),
            ("pgsteal_kswapd ", &mut self.pgsteal_kswapd),
            ("pgsteal_direct ", &mut self.pgsteal_direct),
        ];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)
    }
}

/// Every line, under the kernel's names.
///
/// ```
/// use perfset_linux::sources::vmstat::AllLines;
///
/// let mut all = AllLines::default();
/// all.parse(b"nr_free_pages 7\noom_kill 2\n").unwrap();
/// let number = |name: &[u8]| all.lines.place(name).and_then(|place| all.lines.number(place));
/// assert_eq!(number(b"oom_kill"), Some(Ok(2)));
/// assert_eq!(number(b"pswpin"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllLines {
    /// In the kernel's order.
    pub lines: Lines,
}

impl AllLines {
    /// Takes everything from `text`; what was there before goes.
    ///
    /// # Errors
    /// If it has no line of a name and a number.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.lines.parse(&mut Text::new(text), b' ', Text::last_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_contain_others() {
        let mut vmstat = VmStat::default();
        vmstat.parse(b"pgsteal_kswapd_normal 2\nnr_pgfault 3\npgfault_x 5\npgfault 7\n").unwrap();
        assert_eq!(vmstat, VmStat { pgfault: Some(Ok(7)), ..VmStat::default() });
        vmstat.parse(b"nr_dirtied 2\nnr_dirty_threshold 3\nnr_dirty_background_threshold 5\n").unwrap();
        assert_eq!(vmstat, VmStat { nr_dirty_threshold: Some(Ok(3)), ..VmStat::default() });
        vmstat.parse(b"nr_throttled_written 2\nnr_dirtied 3\nnr_dirty 5\nnr_written 7\n").unwrap();
        let want = VmStat { nr_dirty: Some(Ok(5)), nr_written: Some(Ok(7)), ..VmStat::default() };
        assert_eq!(vmstat, want);
    }
}
