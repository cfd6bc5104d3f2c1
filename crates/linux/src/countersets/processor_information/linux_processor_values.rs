//! Converts the kernel's numbers to the raw values of the counterset Linux Processor.

use perfset_catalogue::linux_processor as id;
use perfset_core::{CounterId, NoValue};

use super::machine::{CpuSources, NOT_APART, PartOfTime};
use super::values::{CpuRange, gauge, saturated, sum};
use crate::provider::{Collection, MarkedRaw, unavailable};
use crate::sources::softirqs::SoftirqKind;
use crate::sources::softnet_stat::SoftnetCounts;

impl CpuSources {
    /// Returns the raw value of a counter of Linux Processor for the CPUs of a row, in the same way as
    /// [`value`](Self::value).
    pub(super) fn linux_value(
        &mut self,
        counter: CounterId,
        row: &CpuRange,
        pass: &mut Collection,
    ) -> Result<MarkedRaw, NoValue> {
        if let Some(part) = part_of_time(counter) {
            return self.time(part, row, pass);
        }
        if let Some(of) = part_of_softnet(counter) {
            return self.softnet_value(of, row, pass);
        }
        if let id::MAXIMUM_FREQUENCY | id::MINIMUM_FREQUENCY = counter {
            return self.frequency_limit(counter, row, pass);
        }
        let kind = kind(counter).ok_or(NoValue::NotGiven)?;
        let Self { cpus, softirq_kinds, .. } = self;
        match softirq_kinds.get(pass)?.row(kind) {
            Some(Ok(())) => {}
            Some(Err(text)) => {
                let text = text.clone();
                return Err(softirq_kinds.fault(text));
            }
            None => return Err(unavailable("the kernel has no soft interrupts of that kind")),
        }
        let cpus = cpus.get_mut(row.cpus.clone()).unwrap_or_default();
        let runs = sum(cpus, |cpu| {
            let runs = softirq_kinds.get(pass)?.for_kind(kind, cpu.location.cpu);
            runs.ok_or_else(|| softirq_kinds.lacks(cpu.location))
        })?;
        Ok(saturated(runs).into())
    }

    /// Returns the sum of a number of `/proc/net/softnet_stat` over the CPUs of a row. The numbers have 32 bits, and so
    /// has the counter: a sum that is cut to 32 bits grows as the numbers do.
    fn softnet_value(
        &mut self,
        of: PartOfSoftnet,
        row: &CpuRange,
        pass: &mut Collection,
    ) -> Result<MarkedRaw, NoValue> {
        let Self { cpus, ids, softnet, .. } = self;
        let cpus = cpus.get_mut(row.cpus.clone()).unwrap_or_default();
        let packets = sum(cpus, |cpu| match softnet.get(pass)?.cpu(cpu.location.cpu, ids) {
            Some(counts) => of(&counts).ok_or_else(|| unavailable("this kernel does not report it")),
            None => Err(softnet.lacks(cpu.location)),
        })?;
        Ok(saturated(packets).into())
    }

    /// Returns a limit of the CPU frequency in Hz: the mean over the CPUs of a row that have a limit.
    fn frequency_limit(
        &mut self,
        counter: CounterId,
        row: &CpuRange,
        pass: &mut Collection,
    ) -> Result<MarkedRaw, NoValue> {
        const HZ_IN_KHZ: u128 = 1_000;
        let cpus = self.cpus.get_mut(row.cpus.clone()).unwrap_or_default();
        let khz = gauge(cpus, |cpu| match counter {
            id::MAXIMUM_FREQUENCY => cpu.frequency.most(pass),
            _ => cpu.frequency.least(pass),
        })?;
        Ok(saturated(khz.saturating_mul(HZ_IN_KHZ)).into())
    }
}

/// Function that returns a number of a CPU's network stack; `None` if the kernel's file lacks the number's column.
type PartOfSoftnet = fn(&SoftnetCounts) -> Option<u32>;

/// Returns the function for the number in `/proc/net/softnet_stat` that a counter displays.
fn part_of_softnet(counter: CounterId) -> Option<PartOfSoftnet> {
    Some(match counter {
        id::PACKETS_PROCESSED_PER_SEC => |counts| Some(counts.processed),
        id::PACKETS_DROPPED_PER_SEC => |counts| Some(counts.dropped),
        id::PACKET_BUDGET_EXHAUSTED_PER_SEC => |counts| Some(counts.time_squeeze),
        id::STEERED_PACKETS_RECEIVED_PER_SEC => |counts| counts.received_rps,
        id::FLOW_LIMIT_DROPS_PER_SEC => |counts| counts.flow_limit,
        _ => return None,
    })
}

/// Returns `true` if a counter of Linux Processor needs each CPU's times in `/proc/stat`.
pub(super) fn needs_times(counter: CounterId) -> bool {
    part_of_time(counter).is_some()
}

/// Returns the function for the share of a CPU's times in `/proc/stat` that a counter displays.
fn part_of_time(counter: CounterId) -> Option<PartOfTime> {
    Some(match counter {
        id::PERCENT_I_O_WAIT_TIME => |times| times.iowait.ok_or(NOT_APART),
        id::PERCENT_STEAL_TIME => |times| times.ticks.steal.map(MarkedRaw::from).ok_or(NOT_APART),
        id::PERCENT_GUEST_TIME => |times| times.ticks.guest.map(MarkedRaw::from).ok_or(NOT_APART),
        id::PERCENT_GUEST_NICE_TIME => |times| times.ticks.guest_nice.map(MarkedRaw::from).ok_or(NOT_APART),
        id::PERCENT_USER_TIME => |times| Ok(times.ticks.user.into()),
        id::PERCENT_NICE_TIME => |times| Ok(times.ticks.nice.into()),
        id::PERCENT_SYSTEM_TIME => |times| Ok(times.ticks.system.into()),
        id::PERCENT_IDLE_TIME => |times| Ok(times.idle),
        id::PERCENT_IRQ_TIME => |times| times.irq.map(MarkedRaw::from),
        id::PERCENT_SOFTIRQ_TIME => |times| times.softirq.map(MarkedRaw::from),
        _ => return None,
    })
}

/// Returns the kind of soft interrupts that a counter of Linux Processor counts.
fn kind(counter: CounterId) -> Option<SoftirqKind> {
    Some(match counter {
        id::HIGH_PRIORITY_TASKLET_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::Hi,
        id::TIMER_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::Timer,
        id::NETWORK_TRANSMIT_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::NetTx,
        id::NETWORK_RECEIVE_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::NetRx,
        id::BLOCK_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::Block,
        id::POLL_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::IrqPoll,
        id::TASKLET_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::Tasklet,
        id::SCHEDULER_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::Sched,
        id::HIGH_RESOLUTION_TIMER_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::HrTimer,
        id::RCU_SOFT_INTERRUPTS_PER_SEC => SoftirqKind::Rcu,
        _ => return None,
    })
}
