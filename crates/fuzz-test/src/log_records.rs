//! Fuzz target that reads arbitrary bytes as a log in CSV or JSON lines of perfset.

use std::io::Read;

use perfset_log::Damages;
use perfset_log::records::{RecordLogReader, is_one};

use crate::input::OneByOne;

/// Contents of a log: its counter paths, samples and damage.
#[derive(Debug, PartialEq)]
struct LogContents {
    paths: Vec<String>,
    /// Time of each sample of a log, and the bits of its values; `None` for a value without a record.
    samples: Vec<(i64, Vec<Option<Option<u64>>>)>,
    damages: Damages,
}

/// Checks that a log of CSV or JSON lines read byte by byte has the same contents as when read at once.
pub fn check(input: &[u8]) {
    let log = read(input);
    assert_eq!(log, read(OneByOne(input)));
    let Some(log) = log else { return };
    assert!(is_one(input));
    let end = u64::try_from(input.len()).unwrap_or(u64::MAX);
    assert!(log.damages.first().iter().all(|damage| damage.offset < end), "{:?}", log.damages);
    let count: usize = log.samples.iter().map(|(_, values)| values.iter().flatten().count()).sum();
    assert!(count <= input.len() && log.paths.len() <= count);
}

fn read(input: impl Read) -> Option<LogContents> {
    let mut reader = RecordLogReader::new(input).ok()?;
    let mut samples = Vec::new();
    while let Some(sample) = reader.next_sample().expect("memory does not fail") {
        assert_eq!(sample.values.len(), sample.has_record.len());
        assert!(sample.has_record.iter().any(|has_record| *has_record));
        assert!(sample.values.iter().flatten().all(|value| value.is_finite()));
        let values = sample.values.iter().zip(sample.has_record);
        let values = values.map(|(value, has_record)| has_record.then_some(value.map(f64::to_bits)));
        samples.push((sample.time, values.collect()));
    }
    let paths = reader.paths().iter().map(ToString::to_string).collect();
    Some(LogContents { paths, samples, damages: reader.damages().clone() })
}
