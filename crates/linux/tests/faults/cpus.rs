//! Processors of the test's model of a machine.

use std::fmt::Write;

use perfset_catalogue::{linux_processor, processor, processor_information, scheduler};
use perfset_core::CounterId;

use super::basics::{Count, Expected, KnownValue, Random, Source, Tally};

/// Length of a tick of `/proc/stat`, in ns.
pub(crate) const TICK_NS: u64 = 10_000_000;
/// Length of a tick of `/proc/stat`, in units of 100 ns.
pub(crate) const TICK: u64 = 100_000;

/// Index of the user time among the fields of `/proc/stat`; the constants below are the indexes of other times.
pub(crate) const USER: usize = 0;
pub(crate) const NICE: usize = 1;
pub(crate) const SYSTEM: usize = 2;
pub(crate) const IDLE: usize = 3;
pub(crate) const IOWAIT: usize = 4;
pub(crate) const IRQ: usize = 5;
pub(crate) const SOFTIRQ: usize = 6;
pub(crate) const STEAL: usize = 7;

#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) is_online: bool,
    /// Times of the model's processor in ticks, by field of `/proc/stat`.
    times: [Count; 8],
    /// Part of a tick that the model's kernel does not show yet, in ns, by field of `/proc/stat`.
    rest_ns: [u64; 8],
    timer: Count,
    softirq: Count,
    run_ns: Count,
    wait_ns: Count,
    timeslices: Count,
}

#[derive(Clone, Debug)]
pub(crate) struct Cpus {
    pub(crate) all: Vec<Cpu>,
    /// Last sample in which a processor of the model went offline or came online.
    pub(crate) changed: u32,
    pub(crate) interrupts: Count,
    pub(crate) switches: Count,
    pub(crate) forks: Count,
    pub(crate) running: u64,
    pub(crate) blocked: u64,
}

pub(crate) const STAT: Source = Source::File("proc/stat");
const ONLINE: Source = Source::File("sys/devices/system/cpu/online");

impl Cpus {
    pub(crate) fn new(random: &mut Random) -> Self {
        let count = 1 + random.below(4);
        let mut some = |most: u64| Count::from(random.below(most));
        let mut cpu = || Cpu {
            is_online: true,
            times: [0; 8].map(|_| some(10_000_000)),
            rest_ns: [0; 8],
            timer: some(1 << 30),
            softirq: some(1 << 30),
            run_ns: some(1 << 50),
            wait_ns: some(1 << 50),
            timeslices: some(1 << 40),
        };
        let all = (0..count).map(|_| cpu()).collect();
        Self {
            all,
            changed: 0,
            interrupts: some(1 << 40),
            switches: some(1 << 40),
            forks: some(1 << 30),
            running: 1,
            blocked: 0,
        }
    }

    pub(crate) fn online(&self) -> impl Iterator<Item = (usize, &Cpu)> {
        self.all.iter().enumerate().filter(|(_, cpu)| cpu.is_online)
    }

    /// Advances the processors of the model to the next sample. Returns for each processor the time that programs ran
    /// in user mode and in the kernel.
    pub(crate) fn step(
        &mut self,
        passed_ns: u64,
        sample: u32,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Vec<(u64, u64)> {
        if random.once_in(25) && self.all.len() > 1 {
            let at = 1 + random.place(self.all.len() - 1); // the first stays
            let cpu = &mut self.all[at];
            cpu.is_online = !cpu.is_online;
            self.changed = sample;
            if !cpu.is_online {
                tally.note("processor goes offline");
            } else {
                tally.note("processor comes online");
                // Some kernels restart the times of a processor that was offline, others continue them.
                if random.once_in(3) {
                    tally.note("processor begins to count anew");
                    cpu.times.iter_mut().for_each(|count| count.reset(sample));
                    cpu.timer.reset(sample);
                }
            }
        }
        let mut ran = Vec::new();
        for cpu in self.all.iter_mut().filter(|cpu| cpu.is_online) {
            // Busy, idle, or some of each.
            let busy = match random.below(4) {
                0 => passed_ns,
                1 => 0,
                _ => random.below(passed_ns + 1),
            };
            let mut split = |of: u64| match random.below(4) {
                0 => random.below(of + 1),
                _ => 0,
            };
            // Each share is drawn from what the earlier ones left, so all of them add up to the time that
            // passed.
            let steal = split(busy);
            let irq = split(busy - steal);
            let softirq = split(busy - steal - irq);
            let programs = busy - steal - irq - softirq;
            let system = split(programs);
            let nice = split(programs - system);
            let waits = split(passed_ns - busy);
            let parts = [
                programs - system - nice,
                nice,
                system,
                passed_ns - busy - waits,
                waits,
                irq,
                softirq,
                steal,
            ];
            // `/proc/stat` has whole ticks. The rest counts in a later step, so no time is lost.
            for ((count, rest), part) in cpu.times.iter_mut().zip(&mut cpu.rest_ns).zip(parts) {
                *rest += part;
                count.add(*rest / TICK_NS, sample);
                *rest %= TICK_NS;
            }
            ran.push((programs - system, system));
            // Kernels let these two times fall a little.
            for field in [IDLE, IOWAIT] {
                if random.once_in(60) {
                    tally.note("idle time steps back");
                    cpu.times[field].fall(1 + random.below(40), sample);
                }
            }
            cpu.timer.add(random.below(1_000), sample);
            cpu.softirq.add(random.below(1_000), sample);
            cpu.run_ns.add(programs, sample);
            cpu.wait_ns.add(random.below(passed_ns + 1), sample);
            cpu.timeslices.add(random.below(10_000), sample);
        }
        self.interrupts.add(random.below(100_000), sample);
        self.switches.add(random.below(100_000), sample);
        self.running = 1 + random.below(5);
        self.blocked = random.below(3);
        ran
    }

    pub(crate) fn online_list(&self) -> String {
        let numbers: Vec<_> = self.online().map(|(at, _)| at.to_string()).collect();
        format!("{}\n", numbers.join(","))
    }

    pub(crate) fn stat(&self) -> String {
        let mut sums = [0; 8];
        let mut lines = String::new();
        // The first line adds up all processors, those that are offline too.
        for (at, cpu) in self.all.iter().enumerate() {
            cpu.times.iter().zip(&mut sums).for_each(|(count, sum)| *sum += count.shown);
            if cpu.is_online {
                let times = cpu.times.map(|count| format!(" {}", count.shown)).concat();
                let _ = writeln!(lines, "cpu{at}{times} 0 0");
            }
        }
        let sums = sums.map(|sum| format!(" {sum}")).concat();
        let (interrupts, switches) = (self.interrupts.shown, self.switches.shown);
        let (forks, running, blocked) = (self.forks.shown, self.running, self.blocked);
        format!(
            "cpu {sums} 0 0\n{lines}intr {interrupts} 0 0\nctxt {switches}\nbtime 1767225600\nprocesses {forks}\n\
             procs_running {running}\nprocs_blocked {blocked}\nsoftirq 5 0 0\n"
        )
    }

    #[expect(clippy::type_complexity, reason = "names and what they have")]
    fn columns(&self, rows: &[(&str, fn(&Cpu) -> u64)]) -> String {
        let mut text = String::from("     ");
        for (at, _) in self.online() {
            let _ = write!(text, "       CPU{at}");
        }
        text += "\n";
        for (name, of) in rows {
            let _ = write!(text, "{name:>12}:");
            for (_, cpu) in self.online() {
                let _ = write!(text, " {:>10}", of(cpu));
            }
            text += "\n";
        }
        text
    }

    pub(crate) fn interrupts(&self) -> String {
        self.columns(&[("LOC", |cpu| cpu.timer.shown)])
    }

    pub(crate) fn softirqs(&self) -> String {
        let none: fn(&Cpu) -> u64 = |_| 0;
        let names =
            ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
        let of =
            |name| if name == "TASKLET" { (|cpu: &Cpu| cpu.softirq.shown) as fn(&Cpu) -> u64 } else { none };
        self.columns(&names.map(|name| (name, of(name))))
    }

    pub(crate) fn softnet(&self) -> String {
        let mut text = String::new();
        for (at, cpu) in self.online() {
            let _ = writeln!(text, "{:08x} 0 0 0 0 0 0 0 0 0 0 0 {at:08x} 0 0", cpu.softirq.shown);
        }
        text
    }

    pub(crate) fn schedstat(&self) -> String {
        let mut text = String::from("version 17\ntimestamp 4294\n");
        for (at, cpu) in self.online() {
            let (run, wait, slices) = (cpu.run_ns.shown, cpu.wait_ns.shown, cpu.timeslices.shown);
            let _ = writeln!(text, "cpu{at} 0 0 0 0 0 0 {run} {wait} {slices}");
        }
        text
    }

    /// Returns the names of the rows of a processor counterset, each with the index of the row's processor. Sums have
    /// no index: they are over all processors or those of the one node.
    pub(crate) fn rows(&self, is_view: bool) -> Vec<(String, Option<usize>)> {
        let mut rows = Vec::new();
        for (index, (at, _)) in self.online().enumerate() {
            rows.push((if is_view { at.to_string() } else { format!("0,{index}") }, Some(at)));
        }
        rows.push(("_Total".to_owned(), None));
        if !is_view {
            rows.push(("0,_Total".to_owned(), None));
        }
        rows
    }

    /// Returns the sum or the mean of a count over the processors to which a row belongs.
    fn over(&self, at: Option<usize>, mean: bool, of: impl Fn(&Cpu) -> Count) -> Expected {
        let cpus = self.online().filter(|(other, _)| at.is_none_or(|at| at == *other));
        let (sum, count) = cpus.fold((Count::default(), 0), |(sum, n), (_, cpu)| (sum.and(of(cpu)), n + 1));
        Expected::Count(if mean { sum.over(count) } else { sum })
    }

    pub(crate) fn rest(cpu: &Cpu) -> Count {
        // A value that is held is that of the sum.
        let [idle, iowait] = [cpu.times[IDLE], cpu.times[IOWAIT]];
        idle.and(iowait).times(TICK)
    }

    /// Returns the sum of some fields of `/proc/stat` over all processors that are online.
    pub(crate) fn sum(&self, fields: &[usize]) -> Count {
        let of = |cpu: &Cpu| fields.iter().fold(Count::default(), |sum, field| sum.and(cpu.times[*field]));
        let sum = self.online().fold(Count::default(), |sum, (_, cpu)| sum.and(of(cpu))).times(TICK);
        Count { disturbed: sum.disturbed.max(self.changed), ..sum }
    }

    /// Returns the idle time of processors as the instance Idle of the process countersets has it.
    pub(crate) fn idle(&self) -> Count {
        let sum = self.online().fold(Count::default(), |sum, (_, cpu)| sum.and(Self::rest(cpu)));
        Count { real: self.real_rest(), disturbed: sum.disturbed.max(self.changed), ..sum }
    }

    /// Returns the idle time of all processors of the model, including those that are offline.
    pub(crate) fn real_rest(&self) -> u64 {
        self.all.iter().map(|cpu| Self::rest(cpu).real).sum()
    }

    pub(crate) fn information(&self, at: Option<usize>, counter: CounterId) -> KnownValue {
        use processor_information as id;
        let time = |fields: &[usize]| {
            let sum =
                |cpu: &Cpu| fields.iter().fold(Count::default(), |sum, f| sum.and(cpu.times[*f])).times(TICK);
            KnownValue::new(self.over(at, true, sum), &[STAT, ONLINE])
        };
        match counter {
            id::PERCENT_PROCESSOR_TIME | id::PERCENT_IDLE_TIME => time(&[IDLE, IOWAIT]),
            id::PERCENT_USER_TIME => time(&[USER, NICE]),
            id::PERCENT_PRIVILEGED_TIME => time(&[SYSTEM, IRQ, SOFTIRQ]),
            id::PERCENT_DPC_TIME => time(&[SOFTIRQ]),
            id::PERCENT_INTERRUPT_TIME => time(&[IRQ]),
            id::PERCENT_PRIORITY_TIME => time(&[IDLE, IOWAIT, NICE]),
            id::CLOCK_INTERRUPTS_PER_SEC | id::INTERRUPTS_PER_SEC => {
                let timer = self.over(at, false, |cpu| cpu.timer);
                KnownValue::new(timer, &[Source::File("proc/interrupts"), ONLINE, STAT])
            }
            id::DPCS_QUEUED_PER_SEC => {
                let softirqs = self.over(at, false, |cpu| cpu.softirq);
                KnownValue::new(softirqs, &[Source::File("proc/softirqs"), ONLINE, STAT])
            }
            _ => KnownValue::new(Expected::Never, &[]),
        }
    }

    pub(crate) fn view(&self, at: Option<usize>, counter: CounterId) -> KnownValue {
        let name = processor::COUNTERSET.counter(counter).and_then(|counter| counter.name.clone());
        let same = processor_information::COUNTERSET.counters.iter().find(|other| other.name == name);
        self.information(at, same.unwrap().id)
    }

    /// Returns the model's rule for a counter of Linux Processor. `softnet` is the file about received packets.
    pub(crate) fn linux(&self, at: Option<usize>, counter: CounterId, softnet: Source) -> KnownValue {
        use linux_processor as id;
        let time = |field: usize| {
            KnownValue::new(self.over(at, true, |cpu| cpu.times[field].times(TICK)), &[STAT, ONLINE])
        };
        let softirqs = Source::File("proc/softirqs");
        match counter {
            id::PERCENT_I_O_WAIT_TIME => time(IOWAIT),
            id::PERCENT_STEAL_TIME => time(STEAL),
            id::PERCENT_USER_TIME => time(USER),
            id::PERCENT_NICE_TIME => time(NICE),
            id::PERCENT_SYSTEM_TIME => time(SYSTEM),
            id::PERCENT_IDLE_TIME => time(IDLE),
            id::PERCENT_IRQ_TIME => time(IRQ),
            id::PERCENT_SOFTIRQ_TIME => time(SOFTIRQ),
            id::PERCENT_GUEST_TIME | id::PERCENT_GUEST_NICE_TIME => {
                KnownValue::new(Expected::Count(Count::default()), &[STAT, ONLINE])
            }
            id::TASKLET_SOFT_INTERRUPTS_PER_SEC => {
                KnownValue::new(self.over(at, false, |cpu| cpu.softirq), &[softirqs, ONLINE, STAT])
            }
            id::PACKETS_PROCESSED_PER_SEC => {
                KnownValue::new(self.over(at, false, |cpu| cpu.softirq), &[softnet, ONLINE, STAT])
            }
            id::PACKETS_DROPPED_PER_SEC
            | id::PACKET_BUDGET_EXHAUSTED_PER_SEC
            | id::STEERED_PACKETS_RECEIVED_PER_SEC
            | id::FLOW_LIMIT_DROPS_PER_SEC => {
                KnownValue::new(Expected::Count(Count::default()), &[softnet, ONLINE, STAT])
            }
            id::MAXIMUM_FREQUENCY | id::MINIMUM_FREQUENCY => KnownValue::new(Expected::Never, &[]),
            _ => KnownValue::new(Expected::Count(Count::default()), &[softirqs, ONLINE, STAT]),
        }
    }

    pub(crate) fn scheduler(&self, at: Option<usize>, counter: CounterId) -> KnownValue {
        use scheduler as id;
        let from = [Source::File("proc/schedstat"), ONLINE, STAT];
        let wanted = match counter {
            id::PERCENT_RUN_TIME => self.over_ns(at, |cpu| cpu.run_ns),
            id::PERCENT_RUN_QUEUE_WAIT_TIME => self.over_ns(at, |cpu| cpu.wait_ns),
            id::TIMESLICES_PER_SEC => self.over(at, false, |cpu| cpu.timeslices),
            _ => Expected::Count(Count::default()),
        };
        KnownValue::new(wanted, &from)
    }

    fn over_ns(&self, at: Option<usize>, of: impl Fn(&Cpu) -> Count) -> Expected {
        match self.over(at, true, of) {
            Expected::Count(count) => Expected::Count(count.over(100)),
            other => other,
        }
    }
}
