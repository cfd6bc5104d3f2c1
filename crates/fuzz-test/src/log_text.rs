//! Fuzz target that reads arbitrary bytes as a PDH-CSV or PDH-TSV log.

use std::io::Read;

use perfset_log::Damages;
use perfset_log::text::{Header, TextLogReader, TextLogWriter, is_one};

use crate::input::OneByOne;

/// Contents of a text log: its header, lines and damage.
#[derive(Debug, PartialEq)]
struct LogContents {
    header: Header,
    /// Time of each line of a text log, and the bits of its values.
    lines: Vec<(i64, Vec<Option<u64>>)>,
    damages: Damages,
}

/// Checks that a text log has the same contents read byte by byte as read at once, and written and read again.
pub fn check(input: &[u8]) {
    let log = read(input);
    assert_eq!(log, read(OneByOne(input)));
    let Some(log) = log else {
        assert!(!is_one(input));
        return;
    };
    let end = u64::try_from(input.len()).unwrap_or(u64::MAX);
    assert!(log.damages.first().iter().all(|damage| damage.offset <= end), "{:?}", log.damages);
    // A last path that does not look like one would be a caption.
    if log.header.paths.last().is_some_and(|path| path.starts_with('\\')) {
        let again = read(&written(&log)[..]).expect("it has a header");
        assert!(again.damages.is_empty(), "{:?}", again.damages);
        assert_eq!(again.header.paths.len(), log.header.paths.len());
        assert_eq!(again.header.zone.map(|zone| zone.minutes), log.header.zone.map(|zone| zone.minutes));
        let to_the_millisecond = |(time, values)| (time / 10_000 * 10_000, values);
        assert_eq!(again.lines, log.lines.into_iter().map(to_the_millisecond).collect::<Vec<_>>());
    }
}

fn read(input: impl Read) -> Option<LogContents> {
    let mut reader = TextLogReader::new(input).ok()?;
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line().expect("memory does not fail") {
        assert!(line.values.iter().flatten().all(|value| value.is_finite()));
        lines.push((line.time, line.values.iter().map(|value| value.map(f64::to_bits)).collect()));
    }
    let header = reader.header().clone();
    assert!(lines.iter().all(|(_, values): &(i64, Vec<_>)| values.len() == header.paths.len()));
    Some(LogContents { header, lines, damages: reader.damages().clone() })
}

fn written(log: &LogContents) -> Vec<u8> {
    let mut writer = TextLogWriter::new(Vec::new(), &log.header).expect("memory does not fail");
    for (time, values) in &log.lines {
        let values = values.iter().map(|bits| bits.map(f64::from_bits));
        writer.line(*time, values).expect("there is a path for each value");
    }
    std::mem::take(writer.get_mut())
}
