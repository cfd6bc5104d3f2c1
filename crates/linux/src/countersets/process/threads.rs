//! Values of the counters of threads, for the counterset Thread.

use perfset_catalogue::thread as id;
use perfset_core::{Birth, CounterId, NoValue};
use perfset_engine::total::Member;

use super::fields::{Units, held, priority_base};
use super::table::{ProcessEntry, Thread, birth};
use crate::provider::{MarkedRaw, unavailable};
use crate::sources::pid::stat::Stat;

impl Thread {
    /// Returns the birth of the thread, its start time, which distinguishes a reused id.
    pub(super) fn birth(&self) -> Birth {
        self.stat.as_ref().ok().and_then(|stat| birth(stat.starttime))
    }

    /// Returns the birth of the thread's row. If the start of the thread cannot be read, the start of the process is
    /// used: it still distinguishes threads of another process.
    pub(super) fn birth_in(&self, process: &ProcessEntry) -> Birth {
        self.birth().or(process.birth())
    }

    /// Returns the identity of the thread in a total over all threads.
    pub(super) fn member(&self) -> Member {
        Member { birth: self.birth(), id: self.tid, ..Member::default() }
    }

    fn stat(&self) -> Result<&Stat, NoValue> {
        self.stat.as_ref().map_err(NoValue::clone)
    }
}

/// Returns `true` if a sum of the counter over all threads is meaningful.
pub(super) fn adds_up(counter: CounterId) -> bool {
    matches!(
        counter,
        id::PERCENT_PROCESSOR_TIME
            | id::PERCENT_USER_TIME
            | id::PERCENT_PRIVILEGED_TIME
            | id::CONTEXT_SWITCHES_PER_SEC
            | id::START_ADDRESS
    )
}

/// Returns the value of a counter for a thread of a process.
pub(super) fn value(
    counter: CounterId,
    of: &ProcessEntry,
    thread: &Thread,
    units: Units,
) -> Result<MarkedRaw, NoValue> {
    let raw = match counter {
        id::PERCENT_PROCESSOR_TIME => match thread.in_ticks {
            Some(false) | None => thread.schedstat.as_ref().map_err(NoValue::clone)?.run_ns / 100,
            Some(true) => {
                let user = held(thread.stat()?.utime, thread.most_utime, units);
                let privileged = held(thread.stat()?.stime, thread.most_stime, units);
                let raw = user.raw.saturating_add(privileged.raw);
                return Ok(MarkedRaw::new(raw, user.mark.or(privileged.mark)));
            }
        },
        id::PERCENT_USER_TIME => return Ok(held(thread.stat()?.utime, thread.most_utime, units)),
        id::PERCENT_PRIVILEGED_TIME => return Ok(held(thread.stat()?.stime, thread.most_stime, units)),
        id::CONTEXT_SWITCHES_PER_SEC => thread.schedstat.as_ref().map_err(NoValue::clone)?.timeslices,
        id::ELAPSED_TIME => units.start_of(thread.stat()?),
        id::PRIORITY_CURRENT | id::PRIORITY_BASE => priority_base(thread.stat()?).into(),
        // Numbers of Windows: 2 is running, 4 terminated, 5 waiting. `R` also stands for a thread that waits
        // for a processor.
        id::THREAD_STATE => match thread.stat()?.state {
            b'R' => 2,
            b'Z' | b'X' | b'x' => 4,
            _ => 5,
        },
        // Numbers of Windows: 0 is the kernel, 5 suspended, 6 a request of the program, 15 a queue of work.
        id::THREAD_WAIT_REASON => match thread.stat()?.state {
            b'R' | b'Z' | b'X' | b'x' => return Err(unavailable("the thread does not wait")),
            b'S' => 6,
            b'T' | b't' => 5,
            b'I' => 15,
            _ => 0,
        },
        id::ID_PROCESS => of.pid.into(),
        id::ID_THREAD => thread.tid.into(),
        id::START_ADDRESS => return Err(unavailable("the kernel does not tell")),
        _ => return Err(unavailable("there is no such counter")),
    };
    Ok(raw.into())
}
