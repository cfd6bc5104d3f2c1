//! Processes and threads of the test's model of a machine.

use std::fmt::Write;

use perfset_catalogue::{linux_process, process, process_v2};
use perfset_core::CounterId;

use super::basics::{Count, Expected, KnownValue, ModelSum, Random, Source, Tally, Total};
use super::cpus::{Cpus, IDLE, IOWAIT, IRQ, NICE, SOFTIRQ, STAT, STEAL, SYSTEM, TICK, TICK_NS, USER};

mod counters;

use counters::count_of_io;

#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// Serial number that no other process of the model has, whatever its pid.
    pub(crate) serial: u64,
    pub(crate) pid: u32,
    pub(crate) comm: String,
    pub(crate) parent: u32,
    /// Start time of the process in ticks since the start of the machine.
    start: u64,
    pub(crate) is_hidden: bool,
    /// `true` if the kernel refuses the process's `io`, `fd` and `smaps_rollup`.
    pub(crate) is_denied: bool,
    is_zombie: bool,
    /// `true` if the process ran since the last sample.
    pub(crate) ran: bool,
    /// Last sample in which the process ran.
    pub(crate) last_ran: u32,
    pub(crate) clock_ns: u64,
    pub(crate) user: Ticks,
    pub(crate) system: Ticks,
    minor: Count,
    major: Count,
    virtual_bytes: u64,
    /// Number of resident pages of the process, now and before another program changed it, and the sample of the
    /// change.
    resident: u64,
    resident_before: u64,
    resident_at: u32,
    nice: i64,
    nice_before: i64,
    nice_at: u32,
    parent_before: u32,
    /// Numbers in the process's `io`, with those of children that it waited for.
    io: [Count; 7],
    /// Part of the numbers in `io` that the process itself caused.
    own_io: [Count; 7],
    /// `true` if a reader has listed the process.
    pub(crate) is_seen: bool,
    /// `true` if a reader might have assumed that the process ended, because it could not be listed.
    pub(crate) is_lost: bool,
    handles: u64,
    wait_ns: Count,
    timeslices: Count,
    voluntary: Count,
    involuntary: Count,
    pub(crate) threads: Vec<Thread>,
    /// First sample in which the process has its present name.
    pub(crate) named: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) serial: u64,
    pub(crate) tid: u32,
    start: u64,
    user: Ticks,
    system: Ticks,
    run_ns: Count,
    timeslices: Count,
}

/// CPU time of a process or thread of the model, which the kernel shows in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticks {
    pub(crate) count: Count,
    rest_ns: u64,
}

impl Ticks {
    fn add(&mut self, ns: u64, sample: u32) {
        self.rest_ns += ns;
        self.count.add(self.rest_ns / TICK_NS, sample);
        self.rest_ns %= TICK_NS;
    }

    fn in_100ns(self) -> Count {
        self.count.times(TICK)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Processes {
    pub(crate) all: Vec<Process>,
    /// Processes of the model that have ended, whose counts stay in totals.
    ended: Vec<Process>,
    /// I/O counts of ended processes that no reader could follow to their end. They may appear in a total at once,
    /// and twice if the process was seen before.
    surprising_io: [Count; 7],
    next_serial: u64,
    next_pid: u32,
    /// `true` if the CPU clocks of processes can be read, and decide which files are read again.
    pub(crate) is_gated: bool,
    /// `true` if the model has all processes of the machine, so that the kernel's sums are sums over the model's
    /// processes.
    pub(crate) is_first: bool,
    /// Last sample in which a process was hidden or denied, or ceased to be.
    pub(crate) unsettled: u32,
}

/// Access of the reader to a file of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Granted,
    /// Access to a file that may be read late, or be assumed to belong to a process that has ended.
    Doubtful,
    Refused,
}

impl Process {
    fn new(serial: u64, pid: u32, start: u64, sample: u32, random: &mut Random) -> Self {
        let names = ["init", "a b", "(x) y)", "web", "web", "kworker/0:1"];
        let mut process = Self {
            serial,
            pid,
            comm: names[random.place(names.len())].to_owned(),
            parent: 1,
            start,
            is_hidden: false,
            is_denied: random.once_in(6),
            is_zombie: false,
            ran: true,
            last_ran: sample,
            clock_ns: 1_000 + serial, // no two have run for equally long
            user: Ticks::default(),
            system: Ticks::default(),
            minor: Count::default(),
            major: Count::default(),
            virtual_bytes: 4_096 * (1 + random.below(1_000)),
            resident: 1 + random.below(1_000),
            resident_before: 0,
            resident_at: 0,
            nice: 0,
            nice_before: 0,
            nice_at: 0,
            parent_before: 1,
            io: [Count::default(); 7],
            own_io: [Count::default(); 7],
            is_seen: false,
            is_lost: false,
            handles: random.below(4),
            wait_ns: Count::default(),
            timeslices: Count::default(),
            voluntary: Count::default(),
            involuntary: Count::default(),
            threads: Vec::new(),
            named: sample,
        };
        process.begin_thread(pid, start, serial);
        process.resident_before = process.resident;
        process
    }

    fn begin_thread(&mut self, tid: u32, start: u64, serial: u64) {
        let (user, system) = (Ticks::default(), Ticks::default());
        let (run_ns, timeslices) = (Count::default(), Count::default());
        self.threads.push(Thread { serial, tid, start, user, system, run_ns, timeslices });
    }

    /// Runs a process of the model for some time.
    fn run(&mut self, user_ns: u64, system_ns: u64, sample: u32, random: &mut Random) {
        (self.ran, self.last_ran) = (true, sample);
        self.clock_ns += user_ns + system_ns;
        self.user.add(user_ns, sample);
        self.system.add(system_ns, sample);
        let at = random.place(self.threads.len());
        let thread = &mut self.threads[at];
        thread.user.add(user_ns, sample);
        thread.system.add(system_ns, sample);
        thread.run_ns.add(user_ns + system_ns, sample);
        thread.timeslices.add(1 + random.below(100), sample);
        self.minor.add(random.below(1_000), sample);
        self.major.add(random.below(10), sample);
        for (all, own) in self.io.iter_mut().zip(&mut self.own_io) {
            let did = random.below(100_000);
            all.add(did, sample);
            own.add(did, sample);
        }
        self.wait_ns.add(random.below(1_000_000), sample);
        self.timeslices.add(random.below(100), sample);
        self.voluntary.add(random.below(100), sample);
        self.involuntary.add(random.below(100), sample);
        self.resident = 1 + random.below(1_000);
        (self.resident_before, self.resident_at) = (self.resident, 0);
        self.handles = random.below(4);
    }

    pub(crate) fn name(&self, is_v2: bool) -> String {
        if is_v2 { format!("{}:{}", self.comm, self.pid) } else { self.comm.clone() }
    }

    fn stat_of(&self, id: u32, start: u64, user: u64, system: u64) -> String {
        let Self { comm, parent, minor, major, nice, virtual_bytes, resident, .. } = self;
        let state = if self.is_zombie { 'Z' } else { 'S' };
        let (minor, major, threads) = (minor.shown, major.shown, self.threads.len());
        format!(
            "{id} ({comm}) {state} {parent} 1 3 0 -1 0 {minor} 0 {major} 0 {user} {system} 0 0 20 {nice} {threads} 0 \
             {start} {virtual_bytes} {resident} 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 11 0 0\n"
        )
    }

    /// Calls `give` with the path and the text of each file of the model's process.
    pub(crate) fn files(&self, mut give: impl FnMut(String, String)) {
        let path = |name: &str| format!("proc/{}/{name}", self.pid);
        let times = (self.user.count.shown, self.system.count.shown);
        give(path("stat"), self.stat_of(self.pid, self.start, times.0, times.1));
        let (all, resident) = (self.virtual_bytes / 4_096, self.resident);
        give(path("statm"), format!("{all} {resident} 1 1 0 1 0\n"));
        let names =
            ["rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"];
        let lines = names.iter().zip(&self.io).map(|(name, count)| format!("{name}: {}\n", count.shown));
        give(path("io"), lines.collect());
        let (voluntary, involuntary) = (self.voluntary.shown, self.involuntary.shown);
        give(
            path("status"),
            format!(
                "Name:\tx\nUid:\t7\t7\t7\t7\nVmPeak:\t 90 kB\nVmHWM:\t 80 kB\nRssAnon:\t 70 kB\nVmSwap:\t 60 kB\n\
                 voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
            ),
        );
        give(
            path("schedstat"),
            format!("{} {} {}\n", self.clock_ns, self.wait_ns.shown, self.timeslices.shown),
        );
        give(path("smaps_rollup"), "0-1 ---p 0 00:00 0 [rollup]\nPss:  50 kB\n".to_owned());
        give(path("oom_score"), "40\n".to_owned());
        for handle in 0..self.handles {
            give(path(&format!("fd/{handle}")), String::new());
        }
        give(path("fd/x"), String::new()); // no number: it keeps the folder
        for thread in &self.threads {
            let times = (thread.user.count.shown, thread.system.count.shown);
            give(
                path(&format!("task/{}/stat", thread.tid)),
                self.stat_of(thread.tid, thread.start, times.0, times.1),
            );
            let (run, slices) = (thread.run_ns.shown, thread.timeslices.shown);
            give(path(&format!("task/{}/schedstat", thread.tid)), format!("{run} 5 {slices}\n"));
        }
    }
}

/// Returns `true` if a value never changed, or changed so long ago that a reader has read the value's file again.
fn is_past(changed: u32, sample: u32) -> bool {
    changed == 0 || sample > changed + 120
}

impl Processes {
    pub(crate) fn new(is_gated: bool, random: &mut Random) -> Self {
        let mut processes = Self {
            all: Vec::new(),
            ended: Vec::new(),
            surprising_io: [Count::default(); 7],
            next_serial: 1,
            next_pid: 2,
            is_gated,
            is_first: random.once_in(2),
            unsettled: 0,
        };
        processes.begin(1, 1, 0, random);
        processes.all[0].is_denied = false;
        for _ in 0..3 {
            processes.begin_next(10, 0, random);
        }
        processes
    }

    fn begin(&mut self, pid: u32, start: u64, sample: u32, random: &mut Random) {
        let process = Process::new(self.next_serial, pid, start, sample, random);
        self.next_serial += 1;
        self.all.push(process);
        self.all.sort_by_key(|process| (process.start, process.pid));
    }

    fn begin_next(&mut self, start: u64, sample: u32, random: &mut Random) {
        let pid = self.next_pid;
        self.next_pid += 2; // threads have the numbers between
        self.begin(pid, start, sample, random);
    }

    /// Advances the processes of the model to the next sample.
    ///
    /// `ran` has the times for which programs ran. Everything else happens at random.
    pub(crate) fn step(
        &mut self,
        ran: &[(u64, u64)],
        up_ticks: u64,
        sample: u32,
        random: &mut Random,
        tally: &mut Tally,
    ) {
        for process in &mut self.all {
            process.ran = false;
            if process.is_denied || process.is_hidden {
                self.unsettled = sample;
            }
        }
        if self.all.len() < 7 && random.once_in(8) {
            tally.note("process begins");
            self.begin_next(up_ticks, sample, random);
        }
        // All time that the processors ran belongs to some process, so that both sums agree.
        for (user_ns, system_ns) in ran {
            let mut alive: Vec<_> = self.all.iter_mut().filter(|process| !process.is_zombie).collect();
            let at = random.place(alive.len());
            if user_ns + system_ns > 0 {
                alive[at].run(*user_ns, *system_ns, sample, random);
            }
        }
        let at = 1 + random.place(self.all.len() - 1); // the first stays
        let Some(process) = self.all.get_mut(at) else { return };
        let pid = process.pid;
        match random.below(40) {
            0 | 1 => {
                tally.note("process ends");
                self.end(at, sample, random, tally);
            }
            // With equal start ticks no reader could distinguish the two processes.
            2 if process.start != up_ticks => {
                tally.note("process ends and another has its number");
                self.end(at, sample, random, tally);
                self.begin(pid, up_ticks, sample, random);
            }
            3 | 4 => {
                tally.note(if process.is_hidden { "process is shown again" } else { "process is hidden" });
                process.is_hidden = !process.is_hidden;
                self.unsettled = sample;
            }
            5 => {
                tally.note(if process.is_denied {
                    "files of a process are permitted"
                } else {
                    "files of a process are denied"
                });
                process.is_denied = !process.is_denied;
                self.unsettled = sample;
            }
            // A process ends its other threads before it becomes a zombie.
            6 if !process.is_zombie && process.threads.len() == 1 => {
                tally.note("process becomes a zombie");
                process.is_zombie = true;
                process.run(1_000, 0, sample, random); // to its end
                process.handles = 0;
            }
            7 | 8 if process.threads.len() == 1 && !process.is_zombie => {
                tally.note("thread begins");
                let serial = self.next_serial;
                self.next_serial += 1;
                process.begin_thread(pid + 1, up_ticks, serial);
                process.run(1_000, 1_000, sample, random);
            }
            9 if process.threads.len() > 1 => {
                tally.note("thread ends");
                process.threads.pop();
                process.run(1_000, 1_000, sample, random);
            }
            10 | 11 if process.ran && !self.is_gated => {
                tally.note("time of a process steps back");
                let by = 1 + random.below(3);
                process.user.count.fall(by, sample);
            }
            12 if !process.is_zombie => {
                tally.note("process changes its name");
                process.comm = format!("x{}", random.below(1_000));
                process.named = sample;
                process.run(1_000, 1_000, sample, random);
            }
            // Changed by others while the process is idle: only a periodic refresh finds these two. One
            // change must be read before the next.
            13 if is_past(process.resident_at, sample) && !process.ran => {
                tally.note("memory of a process is taken");
                process.resident_before = process.resident;
                process.resident = 1 + random.below(1_000);
                process.resident_at = sample;
            }
            14 if is_past(process.nice_at, sample) => {
                tally.note("priority is changed by others");
                process.nice_before = process.nice;
                process.nice = 5 - process.nice;
                process.nice_at = sample;
            }
            _ => {}
        }
    }

    /// Ends a process of the model. Its parent waits for it at once, and adds its `io` to its own.
    fn end(&mut self, at: usize, sample: u32, random: &mut Random, tally: &mut Tally) {
        let ended = self.all.remove(at);
        if let Some(parent) = self.all.iter_mut().find(|process| process.pid == ended.parent) {
            tally.note("process hands on what it read and wrote");
            parent.run(1_000, 1_000, sample, random);
            for (count, more) in parent.io.iter_mut().zip(&ended.io) {
                count.add(more.shown, sample);
            }
        }
        // By its CPU clock a reader knows that it exists, if it can read that.
        let is_followed = ended.is_seen && (self.is_gated || !ended.is_lost);
        if !is_followed {
            self.surprise(&ended.io, sample);
        }
        for process in &mut self.all {
            process.parent_before = process.parent;
            if process.parent == ended.pid {
                process.parent = 1;
            }
        }
        self.ended.push(Process { named: sample, ..ended });
    }

    fn surprise(&mut self, io: &[Count; 7], sample: u32) {
        for (count, more) in self.surprising_io.iter_mut().zip(io) {
            count.add(more.shown, sample);
        }
    }

    /// Notes the processes that a reader can list in a sample: `can_be_listed`, in their order.
    pub(crate) fn list(&mut self, can_be_listed: &[bool], sample: u32) {
        for (at, is_listed) in can_be_listed.iter().enumerate() {
            let process = &mut self.all[at];
            process.is_seen |= is_listed;
            process.is_lost |= !is_listed;
            // Without its `stat` a process with the pid of another is taken for it: that one seems not to have ended.
            let is_other = |ended: &&Process| ended.pid == process.pid && ended.named == sample;
            let before = self.ended.iter().find(is_other).filter(|_| !is_listed).map(|ended| ended.io);
            before.into_iter().for_each(|io| self.surprise(&io, sample));
        }
    }

    /// Returns the processes of the model that can be listed, in the order of their rows.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Process> {
        self.all.iter().filter(|process| !process.is_hidden)
    }

    pub(crate) fn known(
        &self,
        process: &Process,
        is_linux: bool,
        counter: CounterId,
        start_100ns: u64,
    ) -> KnownValue {
        process.known(is_linux, counter, self.is_gated, start_100ns)
    }

    pub(crate) fn thread_known(
        &self,
        process: &Process,
        thread: &Thread,
        counter: CounterId,
        start_100ns: u64,
    ) -> KnownValue {
        process.thread_known(thread, counter, start_100ns)
    }

    /// Returns the model's rule for a counter of the processes' `_Total`. `can_read` returns the access to a file of
    /// a process.
    pub(crate) fn total(
        &self,
        is_linux: bool,
        counter: CounterId,
        (cpus, faults, sample): (&Cpus, [Count; 2], u32),
        can_read: impl Fn(u32, &'static str) -> Access,
    ) -> KnownValue {
        let mut lacks = false;
        let mut readable = |process: &Process, file: &'static str| {
            let access = ["stat", file].map(|file| can_read(process.pid, file));
            // A process whose `stat` cannot be read may be no row, and then is not missing.
            lacks |= access[1] == Access::Refused && access[0] != Access::Doubtful;
            access == [Access::Granted; 2]
        };
        let rests = !is_linux
            && matches!(counter, process_v2::PERCENT_PROCESSOR_TIME | process_v2::PERCENT_PRIVILEGED_TIME);
        if let Some(known) = self.kernels(is_linux, counter, cpus, faults).filter(|_| self.is_first) {
            return known;
        }
        let (mut rows, mut is_whole, mut is_count, mut is_level) = (Vec::new(), true, false, false);
        let mut sum = ModelSum::default();
        let plus = |to: &mut (u64, u64), (least, most): (u64, u64)| *to = (to.0 + least, to.1 + most);
        for process in self.listed() {
            if let Some((count, file)) = process.own_count(is_linux, counter, self.is_gated) {
                is_count = true;
                match readable(process, file) {
                    true => rows.push((process.serial, count)),
                    false => is_whole = false,
                }
            }
            if let Some((_, file)) = process.level(is_linux, counter) {
                is_level = true;
                // `stat` shows that a zombie has no memory.
                let has_none = process.is_zombie && Process::is_of_memory(is_linux, counter);
                let is_readable = readable(process, if has_none { "stat" } else { file });
                is_whole &= is_readable;
                if has_none {
                    continue;
                }
                let range = match process.known(is_linux, counter, self.is_gated, 0).wanted {
                    Expected::Level(level) => (level, level),
                    Expected::Aged(now, before) => (now.min(before), now.max(before)),
                    _ => (0, 0),
                };
                plus(&mut sum.all, range);
                if is_readable {
                    plus(&mut sum.readable, range);
                }
            }
        }
        let mut real: u64 = self
            .all
            .iter()
            .chain(&self.ended)
            .filter_map(|process| Some(process.own_count(is_linux, counter, self.is_gated)?.0.real))
            .sum();
        real += count_of_io(&self.surprising_io, is_linux, counter).map_or(0, |count| count.real);
        let sum_lacks = lacks;
        // A hidden process that still exists is missing in a count.
        lacks |= self.is_gated && self.all.iter().any(|process| process.is_hidden && process.is_seen);
        if rests {
            rows.push((0, cpus.idle()));
            real += cpus.real_rest();
        }
        let lag = TICK * (rows.len() as u64 + 1);
        // An idle process is not read again before it runs, which may take long.
        let is_settled = self.unsettled == 0 || !self.is_gated && sample > self.unsettled + 4;
        let total = Total { rows, is_whole: is_whole && is_settled, lacks, real, lag };
        let wanted = match (is_count, is_level) {
            (true, _) => Expected::Total(total),
            (_, true) => Expected::Sum(ModelSum { is_whole, lacks: sum_lacks, may_end: true, ..sum }),
            _ => Expected::Never,
        };
        KnownValue::new(wanted, &[Source::File("proc"), STAT, Source::File("proc/vmstat")])
    }

    /// Returns the model's rule for a sum over all processes that the kernel itself counts. `faults`: all page
    /// faults, and those that read from disk.
    fn kernels(
        &self,
        is_linux: bool,
        counter: CounterId,
        cpus: &Cpus,
        faults: [Count; 2],
    ) -> Option<KnownValue> {
        use {linux_process as linux, process_v2 as id};
        let wanted = match (is_linux, counter) {
            (false, id::PERCENT_PROCESSOR_TIME) => {
                Expected::Count(cpus.sum(&[USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL]))
            }
            (false, id::PERCENT_USER_TIME) => Expected::Count(cpus.sum(&[USER, NICE])),
            (false, id::PERCENT_PRIVILEGED_TIME) => {
                Expected::Count(cpus.sum(&[SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL]))
            }
            (false, id::PAGE_FAULTS_PER_SEC) => Expected::Count(faults[0]),
            (true, linux::MAJOR_FAULTS_PER_SEC) => Expected::Count(faults[1]),
            // Difference of two counts, each of which may fall.
            (true, linux::MINOR_FAULTS_PER_SEC) => Expected::Unknown,
            _ => return None,
        };
        Some(KnownValue::new(wanted, &[STAT, Source::File("proc/vmstat")]))
    }

    pub(crate) fn idle_known(&self, is_linux: bool, counter: CounterId, cpus: &Cpus) -> KnownValue {
        use process_v2 as id;
        let wanted = match (is_linux, counter) {
            (false, id::PERCENT_PROCESSOR_TIME | id::PERCENT_PRIVILEGED_TIME) => Expected::Count(cpus.idle()),
            (false, id::PERCENT_USER_TIME) => Expected::Count(Count::default()),
            _ => return KnownValue::new(Expected::Never, &[]),
        };
        KnownValue::new(wanted, &[STAT])
    }

    /// Returns the counter of Process V2 that is the same as a counter of Process.
    pub(crate) fn of_view(counter: CounterId) -> CounterId {
        if counter == process::ID_PROCESS {
            return process_v2::PROCESS_ID;
        }
        let name = process::COUNTERSET.counter(counter).and_then(|counter| counter.name.clone());
        let same = process_v2::COUNTERSET.counters.iter().find(|other| other.name == name);
        same.map_or(CounterId(9_999), |same| same.id)
    }

    /// Returns the text of the file that names the PID namespace of the model.
    pub(crate) fn own_status(&self) -> String {
        let mut text = String::from("Name:\tself\n");
        let own = std::process::id();
        let _ = match self.is_gated {
            true => writeln!(text, "NSpid:\t{own}"),
            false => writeln!(text, "NSpid:\t{own}\t{}", own + 1),
        };
        text
    }
}
