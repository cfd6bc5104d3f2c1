//! Parser of `/proc/PID/status`: data of a process that the cheaper files lack.
//!
//! Source: `proc_pid_status(5)`. Threads of the kernel, and processes that have exited, have no lines about memory.

use crate::sources::named::{Number, kib, numbers};
use crate::sources::text::{Text, TextError};

/// Lines of `/proc/PID/status` that are needed for counters.
///
/// ```
/// use perfset_linux::sources::pid::status::Status;
///
/// let status = Status::parse(b"Name:\tx\nUid:\t2\t3\t5\t7\nVmHWM:\t  11 kB\nnonvoluntary_ctxt_switches:\t13\n")?;
/// assert_eq!((status.uid, status.vm_hwm, status.vm_swap), (Some(Ok(2)), Some(Ok(11)), None));
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `Uid`: the real user id of the process, the first of four ids.
    pub uid: Number,
    /// `VmPeak`: largest virtual memory of the process so far. Unit: KiB.
    pub vm_peak: Number,
    /// `VmHWM`: largest resident memory of the process so far. Unit: KiB.
    pub vm_hwm: Number,
    /// `RssAnon`: resident memory of the process that belongs to no file. Unit: KiB. Since Linux 4.5.
    pub rss_anon: Number,
    /// `VmSwap`: memory of the process that was moved to disk. Unit: KiB. Since Linux 2.6.34.
    pub vm_swap: Number,
    /// `voluntary_ctxt_switches`: number of times that the first thread gave up a processor.
    pub voluntary_ctxt_switches: Number,
    /// `nonvoluntary_ctxt_switches`: number of times that a processor was taken from the first thread.
    pub nonvoluntary_ctxt_switches: Number,
}

impl Status {
    /// Parses the text of `/proc/PID/status`.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut status = Self::default();
        let text = &mut Text::new(text);
        // Three passes, each from where the previous one stopped, because the groups have different units and
        // line ends.
        numbers(text, first_number, &mut [("Uid:", &mut status.uid)])?;
        let mut memory = [
            ("VmPeak:", &mut status.vm_peak),
            ("VmHWM:", &mut status.vm_hwm),
            ("RssAnon:", &mut status.rss_anon),
            ("VmSwap:", &mut status.vm_swap),
        ];
        let behind_uid = *text;
        if numbers(text, kib, &mut memory).is_err() {
            *text = behind_uid; // a thread of the kernel has none
        }
        let mut switches = [
            ("voluntary_ctxt_switches:", &mut status.voluntary_ctxt_switches),
            ("nonvoluntary_ctxt_switches:", &mut status.nonvoluntary_ctxt_switches),
        ];
        if status.vm_swap.is_none() {
            *text = behind_uid; // lines of memory were looked for up to the end
        }
        let _ = numbers(text, Text::last_number, &mut switches); // without them it has no such lines
        Ok(status)
    }
}

/// Parses the first number of a line of `/proc/PID/status` with several numbers, and skips the line.
fn first_number(text: &mut Text<'_>) -> Result<u64, TextError> {
    let number = text.number()?;
    text.line()?;
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Name:\tVmSwap:\t9 kB\nUid:\t2\t3\t5\t7\n";
    const MEMORY: &str = "VmPeak:\t   11 kB\nVmHWM:\t 13 kB\nRssAnon:\t 17 kB\nVmSwap:\t 19 kB\n";
    const SWITCHES: &str = "voluntary_ctxt_switches:\t23\nnonvoluntary_ctxt_switches:\t29\n";

    #[test]
    fn present_status_fields_are_parsed() {
        let some = |n| Some(Ok(n));
        let all = Status {
            uid: some(2),
            vm_peak: some(11),
            vm_hwm: some(13),
            rss_anon: some(17),
            vm_swap: some(19),
            voluntary_ctxt_switches: some(23),
            nonvoluntary_ctxt_switches: some(29),
        };
        assert_eq!(Status::parse(format!("{HEAD}{MEMORY}{SWITCHES}").as_bytes()), Ok(all.clone()));
        let of_kernel = Status { uid: some(2), ..Status::default() };
        assert_eq!(Status::parse(HEAD.as_bytes()), Ok(of_kernel.clone()));
        let switches = Status {
            voluntary_ctxt_switches: some(23),
            nonvoluntary_ctxt_switches: some(29),
            ..of_kernel.clone()
        };
        assert_eq!(Status::parse(format!("{HEAD}{SWITCHES}").as_bytes()), Ok(switches));
        let old = MEMORY.lines().filter(|line| !line.starts_with("Rss") && !line.starts_with("VmSwap"));
        let old = format!("{HEAD}{}\n{SWITCHES}", old.collect::<Vec<_>>().join("\n"));
        let without = Status { rss_anon: None, vm_swap: None, ..all };
        assert_eq!(Status::parse(old.as_bytes()), Ok(without));
        assert_eq!(Status::parse(b"Name:\tx\n").unwrap_err().expected, "a line with a known name");
    }
}
