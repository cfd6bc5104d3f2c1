//! Fuzz target with PerfLib functions whose responses are the fuzz input: code, size, length and bytes of one
//! response after the other.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use perfset_core::{Guid, Language, Status};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Entry, Snapshot};
use perfset_windows::{FillResult, PerfLib, RawQuery, machine_of_v2};

#[derive(Debug)]
struct Answers {
    left: Mutex<Vec<u8>>,
    calls: AtomicUsize,
}

/// Maximum number of calls that get a response, above the number of responses in the largest input.
const CALLS_MOST: usize = 2_000;

impl Answers {
    fn next(&self, buffer: &mut [u8]) -> FillResult {
        let mut left = self.left.lock().unwrap();
        if self.calls.fetch_add(1, Relaxed) > CALLS_MOST || left.len() < 5 {
            return FillResult::failed(Status::ERROR_ACCESS_DENIED);
        }
        let head: Vec<u8> = left.drain(..5).collect();
        let actual = u32::from(u16::from_le_bytes([head[1], head[2]]));
        let len = usize::from(u16::from_le_bytes([head[3], head[4]])).min(left.len());
        for (to, from) in buffer.iter_mut().zip(left.drain(..len)) {
            *to = from;
        }
        FillResult { status: Status(head[0].into()), actual }
    }
}

impl PerfLib for Answers {
    fn enumerate_countersets(&self, guids: &mut [u8]) -> FillResult {
        self.next(guids)
    }

    fn registration_info(&self, _: &Guid, _: u32, _: u32, info: &mut [u8]) -> FillResult {
        self.next(info)
    }

    fn enumerate_instances(&self, _: &Guid, instances: &mut [u8]) -> FillResult {
        self.next(instances)
    }

    fn open_query(&self) -> Result<RawQuery, Status> {
        Ok(RawQuery(1))
    }

    fn close_query(&self, _: RawQuery) -> Status {
        Status::ERROR_SUCCESS
    }

    fn add_counters(&self, _: RawQuery, identifiers: &mut [u8]) -> Status {
        self.next(identifiers).status
    }

    fn delete_counters(&self, _: RawQuery, identifiers: &mut [u8]) -> Status {
        self.next(identifiers).status
    }

    fn query_info(&self, _: RawQuery, identifiers: &mut [u8]) -> FillResult {
        self.next(identifiers)
    }

    fn query_data(&self, _: RawQuery, block: &mut [u8]) -> FillResult {
        self.next(block)
    }
}

pub fn check(input: &[u8]) {
    let answers = Answers { left: Mutex::new(input.to_vec()), calls: AtomicUsize::new(0) };
    let windows = machine_of_v2(Box::new(FixedClock::default()), Arc::new(answers), Language(0x0409));
    for guid in windows.countersets() {
        let _ = windows.instances(&guid);
        let Ok(set) = windows.counterset(&guid) else { continue };
        let mut query = windows.query();
        let all = Entry::all(guid);
        let _ = query.add(&if set.instance_type.is_multiple() { all.instance("*") } else { all });
        let mut snapshot = Snapshot::default();
        let _ = query.collect(&mut snapshot);
        let _ = snapshot.values(None).count();
    }
}
