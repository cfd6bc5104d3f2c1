//! A performance key that does not give all that it should.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use perfset_core::Status;
use perfset_engine::{Entry, Machine, Snapshot};

use super::{Vista, over};
use crate::functions::{Absent, Filled, PerformanceKey};

type Answers = dyn Fn(&str, Vec<u8>) -> Result<Vec<u8>, u32> + Send + Sync;

/// A real Windows' values, changed on their way.
struct Altered {
    answers: Box<Answers>,
}

impl fmt::Debug for Altered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Altered")
    }
}

impl Altered {
    fn by(answers: impl Fn(&str, Vec<u8>) -> Result<Vec<u8>, u32> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answers: Box::new(answers) })
    }
}

impl PerformanceKey for Arc<Altered> {
    fn query_value(&self, name: &str, value: &mut [u8]) -> Filled {
        let answer = Vista::default().value(name).ok_or(2);
        let answer = answer.and_then(|bytes| (self.answers)(name, bytes)).map_err(Status);
        crate::ours::fill(value, 1, Status::ERROR_MORE_DATA, answer.as_deref().map_err(|status| *status))
    }

    fn close(&self) {}

    fn wait(&self, _: Duration) {}
}

fn machine(key: &Arc<Altered>) -> Machine {
    over(Absent(Status::ERROR_CALL_NOT_IMPLEMENTED), Arc::clone(key), 0x0409)
}

/// What V1 says that it cannot use.
fn problems(machine: &Machine) -> Vec<String> {
    let all = machine.problems();
    all.iter().map(ToString::to_string).filter(|problem| !problem.contains("PerfEnumerate")).collect()
}

#[test]
fn a_broken_object_is_told_once_and_as_long_as_it_is_broken() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = Arc::clone(&is_broken);
    let key = Altered::by(move |name, mut bytes| {
        if name == "230" && broken.load(Relaxed) {
            let object = u32::from_le_bytes(*bytes[24..].first_chunk().unwrap()) as usize;
            bytes[object + 4..object + 8].fill(0xFF); // the length of its definitions
        }
        Ok(bytes)
    });
    let machine = machine(&key);
    let guid = perfset_core::catalogue::process::GUID;
    let mut query = machine.query();
    assert!(query.add(&Entry::all(guid).instance("*")).is_success());
    let mut snapshot = Snapshot::default();
    for _ in 0..3 {
        query.collect(&mut snapshot).unwrap();
    }
    let want = "HKEY_PERFORMANCE_DATA \"230\": PERF_OBJECT_TYPE.DefinitionLength at byte 108: is 4294967295, \
                must be from 64 to 13520, R11";
    assert_eq!(problems(&machine), [want]);
    is_broken.store(false, Relaxed);
    query.collect(&mut snapshot).unwrap();
    assert_eq!(problems(&machine), [""; 0]);
}

#[test]
fn pairs_of_a_name_table_that_are_none_are_told() {
    let key = Altered::by(|name, bytes| match name {
        "Counter 009" => {
            let pairs = ["", "a name", "0", "no name", ""].join("\0");
            let pairs = pairs.encode_utf16().flat_map(u16::to_le_bytes);
            Ok(pairs.chain(bytes).collect())
        }
        _ => Ok(bytes),
    });
    let machine = machine(&key);
    assert_eq!(machine.countersets().len(), 8 + 1, "all others are used");
    let want = "HKEY_PERFORMANCE_DATA \"Counter 009\": pairs that are skipped: 2, the first: name table index at \
                byte 0: is not a decimal number";
    assert_eq!(problems(&machine), [want]);
}
