//! Parser of `/proc/stat`: the times of each CPU, and activity of the machine as a whole.
//!
//! Source: `proc_stat(5)`.

use crate::sources::cpulist::CPU_LIMIT;
use crate::sources::named::{Number, numbers};
use crate::sources::text::{Text, TextError};

/// Time that one logical processor spent in each state since boot, from `/proc/stat`.
///
/// Unit: clock ticks (`sysconf(_SC_CLK_TCK)` a second). `None` if the kernel does not report the time: lines had 4
/// columns before Linux 2.5.41, and have grown to 10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Time of the CPU in user mode, including guests.
    pub user: u64,
    /// Time of the CPU in user mode with a nice value above 0, including guests.
    pub nice: u64,
    /// Time of the CPU in kernel mode.
    pub system: u64,
    /// Idle time of the CPU, without the time in `iowait`.
    pub idle: u64,
    /// Idle time of the CPU while a task of this CPU waited for a disk.
    pub iowait: Option<u64>,
    /// Time of the CPU in handlers of hardware interrupts.
    pub irq: Option<u64>,
    /// Time of the CPU in soft interrupts.
    pub softirq: Option<u64>,
    /// Time in which the CPU was to run, while the hypervisor ran something else.
    pub steal: Option<u64>,
    /// Part of the CPU's `user` time that guests used.
    pub guest: Option<u64>,
    /// Part of the CPU's `nice` time that guests used.
    pub guest_nice: Option<u64>,
}

impl CpuTicks {
    /// Returns the idle time of the CPU, whether waiting for disks or not.
    #[must_use]
    pub fn resting(&self) -> u64 {
        // A CPU that waits for a disk has nothing to run: it is idle.
        self.idle.saturating_add(self.iowait.unwrap_or(0))
    }

    /// Returns the time of the CPU in kernel mode, including interrupts. Kernels that do not report interrupts
    /// separately include them in `system`.
    #[must_use]
    pub fn privileged(&self) -> u64 {
        let interrupts = self.irq.unwrap_or(0).saturating_add(self.softirq.unwrap_or(0));
        self.system.saturating_add(interrupts)
    }

    fn parse(text: &mut Text<'_>) -> Result<Self, TextError> {
        let (user, nice, system, idle) = (text.number()?, text.number()?, text.number()?, text.number()?);
        // Only a newline ends the columns. A line that was cut has none, so it is an error and not that of an
        // older kernel.
        let mut column = || if text.is_at_line_end() { Ok(None) } else { text.number().map(Some) };
        let ticks = Self {
            user,
            nice,
            system,
            idle,
            iowait: column()?,
            irq: column()?,
            softirq: column()?,
            steal: column()?,
            guest: column()?,
            guest_nice: column()?,
        };
        text.line()?; // columns that are yet to come
        Ok(ticks)
    }
}

/// Line `cpuN` of one CPU in `/proc/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuLine {
    /// Number of the CPU, from the name of its line.
    pub cpu: u32,
    /// Times of the CPU, or the error in its line.
    pub ticks: Result<CpuTicks, TextError>,
}

/// Lines of all CPUs in `/proc/stat`. A malformed line does not affect the others.
///
/// ```
/// use perfset_linux::sources::proc_stat::ProcStat;
///
/// let mut stat = ProcStat::default();
/// stat.parse(b"cpu  2 3 5 7\ncpu0 2 3 5 7\nintr 11 0 0\n").unwrap();
/// assert_eq!(stat.cpu(0).unwrap().ticks.as_ref().unwrap().system, 5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcStat {
    /// Lines of the online CPUs in `/proc/stat`, in ascending order.
    pub cpus: Vec<CpuLine>,
    /// `true` if any CPU, offline ones included, has counted [`CpuTicks::irq`] since boot. A kernel that accounts time
    /// by ticks never does: a tick does not arrive inside a handler.
    pub counts_irq: bool,
    /// `true` if any CPU, offline ones included, has counted [`CpuTicks::softirq`] since boot.
    pub counts_softirq: bool,
}

impl ProcStat {
    /// Parses `/proc/stat`, replacing all previous contents.
    ///
    /// # Errors
    /// If the file as a whole is malformed.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.cpus.clear();
        (self.counts_irq, self.counts_softirq) = (false, false);
        // The first line contains the sums over all CPUs, including offline ones. An error in that line is ignored.
        let sums = text.strip_prefix(b"cpu ").map(|sums| CpuTicks::parse(&mut Text::new(sums)));
        if let Some(Ok(sums)) = &sums {
            self.note_interrupts(sums);
        }
        let mut text = behind_first_line(text)?;
        // Ascending numbers are required, because `cpu` searches by bisection.
        let mut lowest = 0;
        while text.take(b"cpu") {
            let cpu = text.id(lowest..CPU_LIMIT)?;
            lowest = cpu.saturating_add(1);
            let mut line = text;
            let ticks = CpuTicks::parse(&mut line);
            let cut = text.line().is_err();
            if let Ok(ticks) = &ticks {
                self.note_interrupts(ticks);
            }
            self.cpus.push(CpuLine { cpu, ticks });
            if cut {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sets `counts_irq` and `counts_softirq` if a line of `/proc/stat` has such times.
    fn note_interrupts(&mut self, ticks: &CpuTicks) {
        self.counts_irq |= ticks.irq.is_some_and(|ticks| ticks > 0);
        self.counts_softirq |= ticks.softirq.is_some_and(|ticks| ticks > 0);
    }

    /// Returns the line of one CPU in `/proc/stat`.
    #[must_use]
    pub fn cpu(&self, cpu: u32) -> Option<&CpuLine> {
        self.cpus.binary_search_by_key(&cpu, |line| line.cpu).ok().and_then(|at| self.cpus.get(at))
    }
}

/// Numbers in `/proc/stat` about the whole machine. The lines of the CPUs are counted, not parsed.
///
/// ```
/// use perfset_linux::sources::proc_stat::SystemTotals;
///
/// let mut totals = SystemTotals::default();
/// totals.parse(b"cpu  2 3 5 7\ncpu0 2 3 5 7\nintr 11 0 0\nctxt 13\nprocs_running 2\n").unwrap();
/// assert_eq!((totals.online_cpus, totals.ctxt, totals.procs_running), (1, Some(Ok(13)), Some(Ok(2))));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemTotals {
    /// Number of online CPUs.
    pub online_cpus: u64,
    /// `intr`: number of interrupts since boot, the first number of its line.
    pub intr: Number,
    /// `ctxt`: number of context switches since boot.
    pub ctxt: Number,
    /// `processes`: number of processes and threads created since boot.
    pub processes: Number,
    /// `procs_running`: number of threads that run or wait for a CPU. Since Linux 2.5.45.
    pub procs_running: Number,
    /// `procs_blocked`: number of threads that wait for a disk. Since Linux 2.5.45.
    pub procs_blocked: Number,
}

impl SystemTotals {
    /// Parses `/proc/stat`, replacing all previous contents.
    ///
    /// # Errors
    /// If the file as a whole is malformed.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut text = behind_first_line(text)?;
        while text.take(b"cpu") {
            self.online_cpus = self.online_cpus.saturating_add(1);
            text.line()?;
        }
        // The first line behind those of the CPUs. Its other numbers are those of each interrupt.
        if text.take(b"intr ") {
            self.intr = Some(text.number_word());
            text.line()?;
        }
        let mut wanted = [
            ("ctxt ", &mut self.ctxt),
            ("processes ", &mut self.processes),
            ("procs_running ", &mut self.procs_running),
            ("procs_blocked ", &mut self.procs_blocked),
        ];
        numbers(&mut text, Text::last_number, &mut wanted)
    }
}

/// Returns the text after the first line of `/proc/stat`, which is the line of all CPUs together.
fn behind_first_line(text: &[u8]) -> Result<Text<'_>, TextError> {
    let mut text = Text::new(text);
    if !text.take(b"cpu ") {
        return Err(text.expected("the line \"cpu\""));
    }
    text.line()?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ProcStat, TextError> {
        let mut stat = ProcStat::default();
        stat.parse(text.as_bytes()).map(|()| stat)
    }

    #[test]
    fn columns_of_all_kernels() {
        let full = CpuTicks {
            user: 2,
            nice: 3,
            system: 5,
            idle: 7,
            iowait: Some(11),
            irq: Some(13),
            softirq: Some(17),
            steal: Some(19),
            guest: Some(23),
            guest_nice: Some(29),
        };
        let no_guest_nice = CpuTicks { guest_nice: None, ..full };
        let no_guest = CpuTicks { guest: None, ..no_guest_nice };
        let no_steal = CpuTicks { steal: None, ..no_guest };
        let only_iowait = CpuTicks { softirq: None, irq: None, ..no_steal };
        let oldest = CpuTicks { iowait: None, ..only_iowait };
        for (columns, want) in [
            ("2 3 5 7", oldest),
            ("2 3 5 7 11", only_iowait),
            ("2 3 5 7 11 13 17", no_steal),
            ("2 3 5 7 11 13 17 19", no_guest),
            ("2 3 5 7 11 13 17 19 23", no_guest_nice),
            ("2 3 5 7 11 13 17 19 23 29", full),
            ("2 3 5 7 11 13 17 19 23 29 31 37", full),
        ] {
            let stat = parse(&format!("cpu  0 0 0 0\ncpu4 {columns}\n")).unwrap();
            assert_eq!(stat.cpu(4).unwrap().ticks, Ok(want), "{columns}");
        }
        assert_eq!((full.resting(), full.privileged()), (18, 35));
        assert_eq!((oldest.resting(), oldest.privileged()), (7, 5));
        let huge = CpuTicks { system: u64::MAX, idle: u64::MAX, ..full };
        assert_eq!((huge.resting(), huge.privileged()), (u64::MAX, u64::MAX));
    }

    #[test]
    fn one_bad_line_does_not_lose_the_others() {
        let stat = parse("cpu  1 1 1 1\ncpu0 2 x 5 7\ncpu2 11 13 17 19\nctxt 5\nintr 23 0\n").unwrap();
        let wrong = |line, expected, found: &str| TextError { line, expected, found: found.into() };
        assert_eq!(stat.cpu(0).unwrap().ticks, Err(wrong(2, "a number", "\"x\"")));
        assert_eq!(stat.cpu(1), None);
        assert_eq!(stat.cpu(2).unwrap().ticks.as_ref().unwrap().idle, 19);

        for (text, found) in
            [("cpu \ncpu0 2 3 5\n", "the end of the line"), ("cpu \ncpu0 2 3 5 7", { "the end of the file" })]
        {
            let stat = parse(text).unwrap();
            assert_eq!(stat.cpu(0).unwrap().ticks.as_ref().unwrap_err().found, found, "{text:?}");
        }
    }

    /// Checks that the work of parsing `/proc/stat` is proportional to the length of the text, also if every line is
    /// bad. Counting lines again for each error would take minutes.
    #[test]
    fn many_bad_lines_cost_little() {
        let lines: String = (0..CPU_LIMIT).map(|cpu| format!("cpu{cpu} x\n")).collect();
        let stat = parse(&format!("cpu \n{lines}")).unwrap();
        let last = stat.cpu(CPU_LIMIT - 1).unwrap().ticks.as_ref().unwrap_err();
        assert_eq!(u32::try_from(last.line), Ok(CPU_LIMIT + 1));
    }

    #[test]
    fn no_sense_as_a_whole() {
        for (text, line) in [
            ("", 1),
            ("intr 5\n", 1),
            ("cpu0 2 3 5 7\n", 1),
            ("cpu 1 2", 1),
            ("cpu \ncpu1 2 3 5 7\ncpu1 2 3 5 7\n", 3),
            ("cpu \ncpux\n", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().line, line, "{text:?}");
        }
    }

    #[test]
    fn totals() {
        let parse = |text: &str| {
            let mut totals = SystemTotals::default();
            totals.parse(text.as_bytes()).map(|()| totals)
        };
        let some = |n| Some(Ok(n));
        for (text, online_cpus, [intr, ctxt, processes, procs_running, procs_blocked]) in [
            (
                "cpu \ncpu0 x\ncpu2 \nintr 3 5\nctxt 7\nprocs_running 11\n",
                2,
                [some(3), some(7), None, some(11), None],
            ),
            ("cpu \nintr 18446744073709551615\nctxt 7\n", 0, [some(u64::MAX), some(7), None, None, None]),
            ("cpu \nprocs_running 11\nctxt 7\n", 0, [None, some(7), None, some(11), None]),
            (
                "cpu \ncpu0 2\nctxt 7\nprocesses 13\nprocs_blocked 11\n",
                1,
                [None, some(7), some(13), None, some(11)],
            ),
        ] {
            let want = SystemTotals { online_cpus, intr, ctxt, processes, procs_running, procs_blocked };
            assert_eq!(parse(text), Ok(want), "{text:?}");
        }
        let odd = parse("cpu \nintr x 5\nctxt 7\n").unwrap();
        assert!(odd.intr.unwrap().is_err() && odd.ctxt == some(7));
        let cut = parse("cpu \ncpu0 2\nctxt 7\nprocs_running 11").unwrap();
        assert_eq!((cut.ctxt, cut.procs_running.unwrap().unwrap_err().line), (some(7), 4));
        for (text, line) in
            [("", 1), ("ctxt 7\n", 1), ("cpu ", 1), ("cpu \ncpu0 2", 2), ("cpu \nintr 3 5\n", 3)]
        {
            assert_eq!(parse(text).unwrap_err().line, line, "{text:?}");
        }
    }
}
