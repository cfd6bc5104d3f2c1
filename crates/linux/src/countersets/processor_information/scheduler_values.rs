//! Converts the kernel's numbers to the raw values of the counterset Scheduler.

use perfset_catalogue::scheduler as id;
use perfset_core::{CounterId, NoValue};

use super::machine::CpuSources;
use super::values::{CpuRange, mean, saturated, sum};
use crate::provider::{Collection, MarkedRaw};
use crate::sources::schedstat::RunQueue;

const NS_IN_100NS: u128 = 100;

impl CpuSources {
    /// Returns the raw value of a counter of Scheduler for the CPUs of a row, in the same way as
    /// [`value`](Self::value).
    pub(super) fn scheduler_value(
        &mut self,
        counter: CounterId,
        row: &CpuRange,
        pass: &mut Collection,
    ) -> Result<MarkedRaw, NoValue> {
        let (is_time, of): (bool, fn(&RunQueue) -> u64) = match counter {
            id::PERCENT_RUN_TIME => (true, |queue| queue.run_ns),
            id::PERCENT_RUN_QUEUE_WAIT_TIME => (true, |queue| queue.wait_ns),
            id::TIMESLICES_PER_SEC => (false, |queue| queue.timeslices),
            id::SCHEDULE_CALLS_PER_SEC => (false, |queue| queue.schedule_calls),
            id::SCHEDULE_CALLS_TO_IDLE_PER_SEC => (false, |queue| queue.left_idle),
            id::WAKEUPS_PER_SEC => (false, |queue| queue.wakeups),
            id::LOCAL_WAKEUPS_PER_SEC => (false, |queue| queue.local_wakeups),
            id::YIELDS_PER_SEC => (false, |queue| queue.yields),
            _ => return Err(NoValue::NotGiven),
        };
        let Self { cpus, schedstat, .. } = self;
        let cpus = cpus.get_mut(row.cpus.clone()).unwrap_or_default();
        let count = cpus.len();
        let sum = sum(cpus, |cpu| {
            match schedstat.get(pass)?.cpu(cpu.location.cpu).map(|line| line.queue.clone()) {
                Some(Ok(queue)) => Ok(of(&queue)),
                Some(Err(text)) => Err(schedstat.fault(text)),
                None => Err(schedstat.lacks(cpu.location)),
            }
        })?;
        // Divided once, at the end, so that no precision is lost.
        let value = if is_time { mean(sum, count) / NS_IN_100NS } else { sum };
        Ok(saturated(value).into())
    }
}
