//! Converts the kernel's numbers to the raw values of Processor Information. All conversions of units are here.

use std::ops::Range;

use perfset_catalogue::processor_information as id;
use perfset_core::{CounterId, Mark, NoValue};

use super::machine::{Cpu, CpuSources, NO_FREQUENCY, PartOfTime};
use crate::provider::{Collection, MarkedRaw, ParsedFile};
use crate::sources::cpuidle::IdleClass;
use crate::sources::interrupts::Interrupts;
use crate::sources::softirqs::Softirqs;

/// Range of CPUs that a row covers. A row for one CPU is a sum over one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CpuRange {
    /// Indexes into [`CpuSources::cpus`] of the CPUs that a row is the sum of; never empty.
    pub(super) cpus: Range<usize>,
}

const SECOND_100NS: u128 = 10_000_000;
const SECOND_NS: u128 = 1_000_000_000;
const MICROSECOND_100NS: u128 = 10;

/// Number of bits by which counts of CPU cycles are shifted. In units of 2^10, samples may be 2^41 cycles apart
/// before a step of the 32-bit base looks like a reset: 15 minutes at 2.4 GHz, 220 s at 10 GHz. Wraps of a base
/// between two samples are corrected, because the bases are marked `wraps`.
const CYCLE_SHIFT: u32 = 10;

impl CpuSources {
    /// Returns the raw value of a counter of Processor Information for the CPUs of a row. Reads only the files that
    /// the counter needs.
    ///
    /// Times, averages and gauges are the mean over the CPUs, events are the sum. Gauges omit the CPUs that do not
    /// have them. All others need every CPU of the row: a sum over fewer CPUs than before would be compared with the
    /// earlier sum.
    pub(super) fn value(
        &mut self,
        counter: CounterId,
        row: &CpuRange,
        pass: &mut Collection,
    ) -> Result<MarkedRaw, NoValue> {
        if let Some(part) = part_of_time(counter) {
            return self.time(part, row, pass);
        }
        let Self { cpus, stat, interrupts, softirqs, cpuinfo, clock_ticks, .. } = self;
        let cpus = cpus.get_mut(row.cpus.clone()).unwrap_or_default();
        let count = cpus.len();
        let mut mark = None;
        let raw = match counter {
            // Events: sums over the CPUs of the row.
            id::INTERRUPTS_PER_SEC => column(cpus, interrupts, Interrupts::for_cpu, pass)?,
            // Without such a row, 0 would look like a machine whose clock never ticks.
            id::CLOCK_INTERRUPTS_PER_SEC if !interrupts.get(pass)?.has_clock() => {
                return Err(unavailable("/proc/interrupts has no row of clock interrupts: LOC, arch_timer"));
            }
            id::CLOCK_INTERRUPTS_PER_SEC => column(cpus, interrupts, Interrupts::clock_of, pass)?,
            id::DPCS_QUEUED_PER_SEC => column(cpus, softirqs, Softirqs::for_cpu, pass)?,

            // Windows counts three idle states. The kernel has any number of them, which are grouped by
            // depth.
            id::PERCENT_C1_TIME => mean(idle_100ns(cpus, Some(IdleClass::C1), pass)?, count),
            id::PERCENT_C2_TIME => mean(idle_100ns(cpus, Some(IdleClass::C2), pass)?, count),
            id::PERCENT_C3_TIME => mean(idle_100ns(cpus, Some(IdleClass::C3), pass)?, count),
            // Not a mean over the CPUs, because the base is the sum of their stays.
            id::AVERAGE_IDLE_TIME => idle_100ns(cpus, None, pass)?,
            id::C1_TRANSITIONS_PER_SEC => sum(cpus, |cpu| cpu.idle.usage(Some(IdleClass::C1), pass))?,
            id::C2_TRANSITIONS_PER_SEC => sum(cpus, |cpu| cpu.idle.usage(Some(IdleClass::C2), pass))?,
            id::C3_TRANSITIONS_PER_SEC => sum(cpus, |cpu| cpu.idle.usage(Some(IdleClass::C3), pass))?,
            id::AVERAGE_IDLE_TIME_BASE | id::IDLE_BREAK_EVENTS_PER_SEC => {
                sum(cpus, |cpu| cpu.idle.usage(None, pass))?
            }

            // Gauges. `/proc/cpuinfo` is read only without cpufreq, and not each time: the kernel measures
            // the frequencies while it prints the file.
            id::PROCESSOR_FREQUENCY => {
                let khz = gauge(cpus, |cpu| match cpu.frequency.nominal(pass) {
                    Err(NoValue::Unavailable(_)) => {
                        let (cpuinfo, reused) = cpuinfo.in_turn(pass)?;
                        mark = mark.or(reused.then_some(Mark::Reused));
                        cpuinfo.khz_of(cpu.location.cpu).ok_or(unavailable(NO_FREQUENCY))
                    }
                    known => known,
                })?;
                khz.saturating_add(500) / 1_000 // the nearest MHz
            }
            id::PERCENT_OF_MAXIMUM_FREQUENCY => gauge(cpus, |cpu| cpu.frequency.current_percent(pass))?,
            id::PERCENT_PERFORMANCE_LIMIT => gauge(cpus, |cpu| cpu.frequency.limit_percent(pass))?,

            // Performance and utility are fractions with a 32-bit base, so their cycles are shifted; see
            // `CYCLE_SHIFT`.
            id::PERCENT_PROCESSOR_PERFORMANCE => {
                // The type is an average, whose formula has no factor of 100 as percentages have.
                let delivered = sum(cpus, |cpu| Ok(cpu.cppc.counters(pass)?.delivered))?;
                cycles(delivered.saturating_mul(100), count)
            }
            id::PERCENT_PROCESSOR_PERFORMANCE_BASE => {
                cycles(sum(cpus, |cpu| Ok(cpu.cppc.counters(pass)?.reference))?, count)
            }
            id::PERCENT_PROCESSOR_UTILITY => {
                cycles(sum(cpus, |cpu| cpu.cppc.work(pass))?.saturating_mul(100), count)
            }
            id::UTILITY_BASE => {
                cycles(sum(cpus, |cpu| Ok(cpu.cppc.speed(pass)?.cycles_in(pass.elapsed_ns())))?, count)
            }
            id::PERCENT_PRIVILEGED_UTILITY => {
                // The kernel does not count the cycles delivered in kernel mode, and an estimated share of all cycles
                // could fall.
                let privileged = sum(cpus, |cpu| {
                    let speed = cpu.cppc.speed(pass)?;
                    let ticks = u128::from(cpu.times(stat, *clock_ticks, pass)?.ticks.privileged());
                    let ns = ticks.saturating_mul(SECOND_NS).checked_div(u128::from(*clock_ticks));
                    Ok(speed.cycles_in(saturated(ns.unwrap_or(0))))
                })?;
                cycles(privileged.saturating_mul(100), count)
            }

            // Counters for which Linux has no number.
            id::DPC_RATE => return Err(unavailable("the kernel counts soft interrupts since boot only")),
            id::PARKING_STATUS => return Err(unavailable("Linux does not park cores")),
            id::PROCESSOR_STATE_FLAGS => return Err(unavailable("Linux has no such flags")),
            id::PERFORMANCE_LIMIT_FLAGS => {
                return Err(unavailable("no file tells what limits the processor at the moment"));
            }
            _ => return Err(NoValue::NotGiven),
        };
        Ok(MarkedRaw::new(saturated(raw), mark))
    }

    /// Returns the mean, over the CPUs of a row, of one share of their times, in 100 ns.
    pub(super) fn time(
        &mut self,
        part: PartOfTime,
        row: &CpuRange,
        pass: &mut Collection,
    ) -> Result<MarkedRaw, NoValue> {
        let Self { cpus, stat, clock_ticks, .. } = self;
        let cpus = cpus.get_mut(row.cpus.clone()).unwrap_or_default();
        let count = cpus.len();
        let mut mark = None;
        let ticks = sum(cpus, |cpu| {
            let part = part(cpu.times(stat, *clock_ticks, pass)?).map_err(unavailable)?;
            mark = mark.or(part.mark);
            Ok(part.raw)
        })?;
        // Divided once, at the end, so that no precision is lost.
        let in_100ns = ticks.saturating_mul(SECOND_100NS).checked_div(u128::from(*clock_ticks));
        Ok(MarkedRaw::new(saturated(mean(in_100ns.unwrap_or(0), count)), mark))
    }
}

/// Returns `true` if a counter of Processor Information needs each CPU's times in `/proc/stat`.
pub(super) fn needs_times(counter: CounterId) -> bool {
    part_of_time(counter).is_some() || counter == id::PERCENT_PRIVILEGED_UTILITY
}

/// Returns the function for the share of a CPU's times in `/proc/stat` that a counter displays.
fn part_of_time(counter: CounterId) -> Option<PartOfTime> {
    Some(match counter {
        // Both have the same raw value: the formula of the first is one minus the idle share.
        id::PERCENT_PROCESSOR_TIME | id::PERCENT_IDLE_TIME => |times| Ok(times.resting),
        id::PERCENT_USER_TIME => |times| Ok(times.ticks.user.saturating_add(times.ticks.nice).into()),
        id::PERCENT_PRIVILEGED_TIME => |times| Ok(times.ticks.privileged().into()),
        id::PERCENT_DPC_TIME => |times| times.softirq.map(MarkedRaw::from),
        id::PERCENT_INTERRUPT_TIME => |times| times.irq.map(MarkedRaw::from),
        id::PERCENT_PRIORITY_TIME => |times| {
            // An inverse timer, too: its raw value is the time that is idle or spent on work of low priority.
            let MarkedRaw { raw, mark, .. } = times.resting;
            Ok(MarkedRaw::new(raw.saturating_add(times.ticks.nice), mark))
        },
        _ => return None,
    })
}

fn idle_100ns(cpus: &mut [Cpu], class: Option<IdleClass>, pass: &mut Collection) -> Result<u128, NoValue> {
    Ok(sum(cpus, |cpu| cpu.idle.time(class, pass))?.saturating_mul(MICROSECOND_100NS))
}

/// Returns the sum over these CPUs of the numbers in a kernel file that has one column for each CPU.
fn column<T: Default>(
    cpus: &mut [Cpu],
    table: &mut ParsedFile<T>,
    of: fn(&T, u32) -> Option<u64>,
    pass: &mut Collection,
) -> Result<u128, NoValue> {
    sum(cpus, |cpu| {
        let number = of(table.get(pass)?, cpu.location.cpu);
        number.ok_or_else(|| table.lacks(cpu.location))
    })
}

/// Returns the sum of a number over all given CPUs, or the first reason for a missing number.
pub(super) fn sum<T: Into<u128>>(
    cpus: &mut [Cpu],
    mut of: impl FnMut(&mut Cpu) -> Result<T, NoValue>,
) -> Result<u128, NoValue> {
    cpus.iter_mut().try_fold(0, |sum: u128, cpu| Ok(sum.saturating_add(of(cpu)?.into())))
}

pub(super) fn mean(sum: u128, count: usize) -> u128 {
    u128::try_from(count).ok().and_then(|count| sum.checked_div(count)).unwrap_or(0)
}

/// Returns the mean of a value over the CPUs that have one, or the first reason if no CPU has one.
pub(super) fn gauge(
    cpus: &mut [Cpu],
    mut of: impl FnMut(&mut Cpu) -> Result<u64, NoValue>,
) -> Result<u128, NoValue> {
    let (mut sum, mut count, mut without) = (0_u128, 0_usize, None);
    for cpu in cpus {
        match of(cpu) {
            Ok(value) => (sum, count) = (sum.saturating_add(value.into()), count.saturating_add(1)),
            Err(reason) => without = without.or(Some(reason)),
        }
    }
    match without {
        Some(reason) if count == 0 => Err(reason),
        _ => Ok(mean(sum, count)),
    }
}

/// Returns the mean of a sum of cycles over the CPUs, in units of 2^10 cycles.
fn cycles(sum: u128, count: usize) -> u128 {
    mean(sum, count) >> CYCLE_SHIFT
}

pub(super) fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn unavailable(reason: &'static str) -> NoValue {
    NoValue::Unavailable(reason.into())
}
