//! Parser of `/proc/PID/stat`: times, faults, parent, session and priority of a process or thread.
//!
//! Source: `proc_pid_stat(5)`.

use crate::sources::text::{Text, TextError};

/// Fields of `/proc/PID/stat` that are needed for counters, numbered from 1 as in `proc_pid_stat(5)`.
///
/// ```
/// use perfset_linux::sources::pid::stat::{Stat, comm};
///
/// let text = b"7 (a) b) S 1 7 7 0 -1 4194304 11 0 13 0 17 19 0 0 20 0 1 0 23 4096 1 29\n";
/// assert_eq!(comm(text), Ok(&b"a) b"[..]));
/// let stat = Stat::parse(text)?;
/// assert_eq!((stat.ppid, stat.minflt, stat.majflt, stat.starttime), (1, 11, 13, 23));
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Field 3 `state`: state of the process, a letter.
    pub state: u8,
    /// Field 4 `ppid`: id of the parent process, or of the process that replaced an ended parent.
    pub ppid: u32,
    /// Field 6 `session`: id of the session that the process is in.
    pub session: u32,
    /// Field 9 `flags`: flags that the kernel keeps for the process, `PF_*`.
    pub flags: u32,
    /// Field 10 `minflt`: number of page faults that read nothing from disk, including those of ended threads.
    pub minflt: u64,
    /// Field 12 `majflt`: number of page faults that read from disk.
    pub majflt: u64,
    /// Field 14 `utime`: time of the process in user mode. Unit: clock ticks (`sysconf(_SC_CLK_TCK)` a second).
    pub utime: u64,
    /// Field 15 `stime`: time of the process in kernel mode. Unit: clock ticks.
    pub stime: u64,
    /// Field 19 `nice`: nice value, -20 to 19.
    pub nice: i8,
    /// Field 20 `num_threads`: number of threads of the process.
    pub num_threads: u32,
    /// Field 22 `starttime`: start time since boot, including sleep. Unit: clock ticks.
    pub starttime: u64,
    /// Field 23 `vsize`: size of the process's virtual memory. Unit: bytes.
    pub vsize: u64,
    /// Field 24 `rss`: resident memory. Since Linux 2.6.34 a rough number, without the latest changes counted by single
    /// CPUs. Unit: pages.
    pub rss: u64,
    /// Field 40 `rt_priority`: real-time priority, 1 to 99, or 0. Since Linux 2.5.19.
    pub rt_priority: Option<u8>,
    /// Field 41 `policy`: scheduling policy, the kernel's `SCHED_*`. Since Linux 2.5.19.
    pub policy: Option<u8>,
    /// Field 42 `delayacct_blkio_ticks`: time that one thread alone waited for block I/O. Unit: clock ticks. Since
    /// Linux 2.6.18.
    pub delayacct_blkio_ticks: Option<u64>,
}

impl Stat {
    /// Flag `PF_WQ_WORKER` of a kernel worker, whose name contains the work that it does.
    const PF_WQ_WORKER: u32 = 0x20;

    /// Parses the text of `/proc/PID/stat`.
    ///
    /// # Errors
    /// If a field up to `rss` is missing or malformed. Malformed later fields are `None`.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let (_, fields) = around_comm(text)?;
        let mut text = Text::new(fields);
        text.skip_blanks();
        let state = text.letter()?;
        let ppid = text.u32()?;
        text.word()?; // pgrp
        let session = text.u32()?;
        text.word()?; // tty_nr
        text.word()?; // tpgid
        let flags = text.u32()?;
        let minflt = text.number()?;
        text.word()?; // cminflt
        let majflt = text.number()?;
        text.word()?; // cmajflt
        let (utime, stime) = (text.number()?, text.number()?);
        text.word()?; // cutime
        text.word()?; // cstime
        text.word()?; // priority
        let nice = text.i8()?;
        let num_threads = text.u32()?;
        text.word()?; // itrealvalue
        let (starttime, vsize, rss) = (text.number()?, text.number()?, text.number()?);
        let mut stat = Self {
            state,
            ppid,
            session,
            flags,
            minflt,
            majflt,
            utime,
            stime,
            nice,
            num_threads,
            starttime,
            vsize,
            rss,
            ..Self::default()
        };
        const RSSLIM_TO_PROCESSOR: usize = 15; // fields 25 to 39
        // Older kernels have fewer fields, which is no error: the fields up to `rss` are valid.
        if text.words(RSSLIM_TO_PROCESSOR).is_ok() {
            stat.rt_priority = text.u8().ok();
            // After a malformed field the cursor is not at the next one.
            stat.policy = stat.rt_priority.and_then(|_| text.u8().ok());
            stat.delayacct_blkio_ticks = stat.policy.and_then(|_| text.number().ok());
        }
        Ok(stat)
    }

    /// Returns `true` if the process is a zombie: it has ended, and its parent has not collected its status yet.
    #[must_use]
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Returns the part of a process's name `comm` that does not change: the kernel appends the current work to a
    /// worker's name.
    ///
    /// ```
    /// use perfset_linux::sources::pid::stat::Stat;
    ///
    /// let worker = Stat { flags: 0x20, ..Stat::default() };
    /// assert_eq!(worker.lasting_name(b"kworker/0:1H-kblockd"), b"kworker/0:1H");
    /// assert_eq!(worker.lasting_name(b"kworker/R-mm_percpu_wq"), b"kworker/R-mm_percpu_wq");
    /// assert_eq!(Stat::default().lasting_name(b"a:b-c"), b"a:b-c");
    /// ```
    #[must_use]
    pub fn lasting_name<'a>(&self, comm: &'a [u8]) -> &'a [u8] {
        // The work follows a colon and `-` or `+`. A rescuer such as `kworker/R-mm_percpu_wq` has a `-`
        // without a colon, and its name is lasting.
        let colon = memchr::memchr(b':', comm).filter(|_| self.flags & Self::PF_WQ_WORKER != 0);
        let work = colon.and_then(|colon| {
            let behind = comm.get(colon..).unwrap_or_default();
            memchr::memchr2(b'-', b'+', behind).map(|at| colon.saturating_add(at))
        });
        work.and_then(|at| comm.get(..at)).unwrap_or(comm)
    }
}

/// Returns field 2 `comm` of `/proc/PID/stat`: the name that the program gave itself, or that of its file. It may
/// contain any byte, also `)` and blanks.
///
/// # Errors
/// If the name has no end.
pub fn comm(text: &[u8]) -> Result<&[u8], TextError> {
    around_comm(text).map(|(comm, _)| comm)
}

/// Returns the process name between the first and the last parenthesis, and the text after the last parenthesis.
fn around_comm(text: &[u8]) -> Result<(&[u8], &[u8]), TextError> {
    let open = memchr::memchr(b'(', text).map(|at| at.saturating_add(1));
    // The last parenthesis: a program may name itself `x) S 1`. All fields behind the name are letters and
    // numbers.
    let close = memchr::memrchr(b')', text);
    let parts = open.zip(close).and_then(|(open, close)| {
        let comm = text.get(open..close)?;
        Some((comm, text.get(close.saturating_add(1)..)?))
    });
    parts.ok_or_else(|| Text::new(text).expected("a name in parentheses"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field 24 and all later fields of a line of `/proc/PID/stat`, as a current kernel prints them.
    const REST: &str =
        "4891 18446744073709551615 1 1 0 0 0 0 0 4096 1256 0 0 0 17 0 5 2 61 0 0 0 0 0 0 0 0 0 0\n";

    fn line(comm: &str, rest: &str) -> Vec<u8> {
        let fields = "S 2 3 5 0 -1 4194560 7 11 13 17 19 23 29 31 20 -5 37 0 41 43";
        format!("4242 ({comm}) {fields} {rest}").into_bytes()
    }

    #[test]
    fn fields() {
        let want = Stat {
            state: b'S',
            ppid: 2,
            session: 5,
            flags: 4_194_560,
            minflt: 7,
            majflt: 13,
            utime: 19,
            stime: 23,
            nice: -5,
            num_threads: 37,
            starttime: 41,
            vsize: 43,
            rss: 4_891,
            rt_priority: Some(5),
            policy: Some(2),
            delayacct_blkio_ticks: Some(61),
        };
        for name in ["x", "", "a b", ")", "(", "a) S 9 9", "\n", "x\u{1b}[2J", "\\"] {
            let text = line(name, REST);
            assert_eq!(comm(&text), Ok(name.as_bytes()), "{name:?}");
            assert_eq!(Stat::parse(&text), Ok(want), "{name:?}");
        }
    }

    #[test]
    fn old_kernels_have_fewer() {
        let until = |field: usize| {
            let words: Vec<_> = REST.split(' ').collect();
            Stat::parse(&line("x", &format!("{}\n", words[..field - 23].join(" ")))).unwrap()
        };
        let of = |stat: Stat| (stat.rt_priority, stat.policy, stat.delayacct_blkio_ticks);
        assert_eq!(of(until(24)), (None, None, None));
        assert_eq!(of(until(39)), (None, None, None));
        assert_eq!(of(until(40)), (Some(5), None, None));
        assert_eq!(of(until(41)), (Some(5), Some(2), None));
        assert_eq!(of(until(42)), (Some(5), Some(2), Some(61)));
        assert_eq!(of(Stat::parse(&line("x", "4891 x\n")).unwrap()), (None, None, None));
    }

    #[test]
    fn no_sense() {
        for (text, want) in [
            ("", "line 1: expected a name in parentheses, found the end of the file"),
            ("7 x S 1", "line 1: expected a name in parentheses, found \"7\""),
            ("7 )x( S 1", "line 1: expected a name in parentheses, found \"7\""),
            ("7 (x", "line 1: expected a name in parentheses, found \"7\""),
            ("7 (x)", "line 1: expected a letter, found the end of the file"),
            ("7 (x) S", "line 1: expected a number, found the end of the file"),
            ("7 (x) S y", "line 1: expected a number, found \"y\""),
            ("7 (x) S 4294967296 1", "line 1: expected a number below 2^32, found \"4294967296\""),
        ] {
            assert_eq!(Stat::parse(text.as_bytes()).unwrap_err().to_string(), want, "{text:?}");
        }
        let nice = String::from_utf8(line("x", REST)).unwrap().replace(" -5 ", " -129 ");
        let error = Stat::parse(nice.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "line 1: expected a number from -128 to 127, found \"-129\"");
    }
}
