//! Summary of the contents of a log.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use perfset_core::visit::Mode;
use perfset_core::{CounterType, v1};
use perfset_engine::SourceError;
use perfset_engine::path::CounterPath;

use crate::damage::Damages;
use crate::open::{Log, LogError};
use crate::recording::{Annotation, MissedTicks, Recording};
use crate::{blg, records, text};

/// Summary of a log: machines, times, counters and damage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Machines whose counters the log contains, with their backslashes.
    pub machines: BTreeSet<String>,
    /// Times of the first and the last sample, in 100 ns since 1601, local; `None` without samples.
    pub span: Option<(i64, i64)>,
    /// Minutes to add to the log's local times to get UTC; `None` if the log does not contain this number.
    pub bias_minutes: Option<i32>,
    /// Number of samples in the log.
    pub samples: u64,
    /// Most frequent time from one sample to the next, in 100 ns.
    pub interval: Option<i64>,
    /// Gaps between samples: the longest steps above one and a half intervals, and steps back in time, sorted by
    /// time.
    pub gaps: Vec<Gap>,
    /// Recorded counters, in the order of the log.
    pub counters: Vec<Counters>,
    /// Damage found in the log.
    pub damages: Damages,
    /// Annotations of the log, sorted by their local time; only recordings have annotations.
    pub annotations: Vec<Annotation>,
    /// Samples that the recorder of the log could not write, with local times.
    pub missed: Vec<MissedTicks>,
    /// Number of bytes of incomplete samples at the ends of files: a recorder was ended while it wrote a sample.
    pub torn: u64,
}

/// Unusual step from one sample of a log to the next: too long, or back in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// Time of the sample before the gap, in 100 ns since 1601, local.
    pub from: i64,
    /// Time of the sample after the gap, in 100 ns since 1601, local.
    pub to: i64,
}

/// Counter recorded in a log, or all counters of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Counter path of the recorded counter, as PDH writes it.
    pub path: String,
    /// Counter type of the recorded counter. `None` for an object, whose counters have different types, and for a log
    /// without types.
    pub counter_type: Option<CounterType>,
    /// Names of the counter's instances in all samples of the log, at most [`KEPT`](Counters::KEPT); empty if the
    /// path names one instance.
    pub instances: BTreeSet<String>,
    /// Number of counters that a recorded object has: the maximum over all samples.
    pub counters: usize,
}

impl Counters {
    /// Maximum number of instance names that are stored for a recorded counter. A log of a year may contain any
    /// number of processes.
    pub const KEPT: usize = 10_000;
}

/// Maximum number of gaps between samples that are stored; the longest are kept.
const GAPS_KEPT: usize = 1_000;

impl Info {
    /// Reads a log to its end and summarizes it.
    ///
    /// # Errors
    /// If reading the file fails.
    pub fn read<R: Read>(log: Log<R>) -> Result<Self, LogError> {
        match log {
            Log::Blg(log) => Ok(Self::read_blg(log)?),
            Log::Text(log) => Ok(Self::read_text(log)?),
            Log::Records(log) => Ok(Self::read_records(log)?),
        }
    }

    /// Summarizes a recording. Its ticks are read for the instances of each counterset.
    ///
    /// # Errors
    /// If a tick cannot be read.
    pub fn of_recording(recording: &Recording) -> Result<Self, SourceError> {
        let offset = recording.offset();
        let local = |time: i64| time.saturating_sub(offset);
        let mut steps = Steps::default();
        recording.times().for_each(|time| steps.add(local(time)));
        let mut counters = Vec::new();
        for set in recording.countersets() {
            let seen = recording.seen_instances(&set.guid)?;
            let names = seen.iter().map(|seen| seen.instance.name.to_string());
            let is_multiple = set.instance_type.is_multiple();
            counters.push(Counters {
                path: format!(r"\{}{}\*", set.name, if is_multiple { "(*)" } else { "" }),
                counter_type: match &*set.counters {
                    [only] => Some(only.counter_type),
                    _ => None,
                },
                instances: names.filter(|_| is_multiple).take(Counters::KEPT).collect(),
                counters: set.counters.len(),
            });
        }
        counters.sort_by_cached_key(|counters| counters.path.to_lowercase());
        let mut info = Self {
            machines: BTreeSet::from([format!(r"\\{}", recording.machine_name())]),
            bias_minutes: i32::try_from(offset / 600_000_000).ok(),
            counters,
            damages: recording.all_damages(),
            annotations: (recording.annotations().into_iter())
                .map(|mark| Annotation { time: local(mark.time), ..mark.clone() })
                .collect(),
            missed: (recording.missed().into_iter())
                .map(|missed| MissedTicks {
                    from: local(missed.from),
                    to: local(missed.to),
                    ..missed.clone()
                })
                .collect(),
            torn: recording.torn_bytes(),
            ..Self::default()
        };
        steps.finish(&mut info);
        Ok(info)
    }

    fn read_text<R: Read>(mut log: text::TextLogReader<R>) -> Result<Self, text::TextLogError> {
        let mut steps = Steps::default();
        while let Some(line) = log.next_line()? {
            steps.add(line.time);
        }
        let header = log.header();
        let machine = |path: &String| {
            // A counter path may lack the machine; then the log names none.
            let name = path.strip_prefix(r"\\")?.split('\\').next()?;
            Some(format!(r"\\{name}"))
        };
        let counters = |path: &String| Counters {
            path: path.clone(),
            counter_type: None,
            instances: BTreeSet::new(),
            counters: 1,
        };
        let mut info = Self {
            machines: header.paths.iter().filter_map(machine).collect(),
            bias_minutes: header.zone.as_ref().map(|zone| zone.minutes),
            counters: header.paths.iter().map(counters).collect(),
            damages: log.damages().clone(),
            ..Self::default()
        };
        steps.finish(&mut info);
        Ok(info)
    }

    fn read_records<R: Read>(mut log: records::RecordLogReader<R>) -> Result<Self, records::RecordLogError> {
        let mut steps = Steps::default();
        while let Some(sample) = log.next_sample()? {
            steps.add(sample.time);
        }
        let counters = |path: &CounterPath| Counters {
            path: path.to_string(),
            counter_type: None,
            instances: BTreeSet::new(),
            counters: 1,
        };
        let machines = log.paths().iter().filter_map(|path| path.machine.as_deref());
        let mut info = Self {
            machines: machines.map(|name| format!(r"\\{name}")).collect(),
            // Times of records are UTC.
            bias_minutes: Some(0),
            counters: log.paths().iter().map(counters).collect(),
            damages: log.damages().clone(),
            ..Self::default()
        };
        steps.finish(&mut info);
        Ok(info)
    }

    fn read_blg<R: Read>(mut log: blg::BlgReader<R>) -> io::Result<Self> {
        let mut info = Self::default();
        let mut steps = Steps::default();
        let header = log.header().clone();
        while let Some(record) = log.next_record()? {
            match record {
                blg::Record::Counters => info.list(log.counters()),
                blg::Record::Sample(sample) => {
                    steps.add(sample.time);
                    for (block, counters) in sample.blocks().zip(&mut info.counters) {
                        match block {
                            Ok(block) => counters.add(&block),
                            Err(error) => {
                                let what = format!("the rest of a sample is left out: {error}");
                                info.damages.add(sample.offset, what);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        info.damages.take_over(log.damages());
        info.bias_minutes = steps.first.map(|first| header.bias_minutes(first));
        steps.finish(&mut info);
        Ok(info)
    }

    fn list(&mut self, recorded: &[blg::CounterRecord]) {
        self.machines = recorded.iter().map(|entry| entry.machine.clone()).collect();
        self.counters = recorded
            .iter()
            .map(|entry| Counters {
                path: entry.to_string(),
                // The entry of a whole object states 0x10, which is no type of its counters.
                counter_type: (entry.what != blg::EntryScope::Object).then_some(entry.counter_type),
                instances: BTreeSet::new(),
                counters: 1,
            })
            .collect();
    }
}

impl Counters {
    fn add(&mut self, block: &blg::CounterBlock<'_>) {
        match block {
            blg::CounterBlock::Instances(instances) => {
                instances.iter().for_each(|(name, _)| self.instance(name.units()));
            }
            blg::CounterBlock::Object(bytes) => {
                let Ok((block, _)) = v1::read(bytes, Mode::Tolerant) else { return };
                for object in block.objects().flatten() {
                    self.counters = self.counters.max(object.definitions().len());
                    if let v1::Contents::Multiple(instances) = object.contents() {
                        for instance in instances.flatten() {
                            self.instance(instance.name().to_utf16().units().iter().copied());
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn instance(&mut self, name: impl Iterator<Item = u16>) {
        // Names beyond the limit are dropped and not counted: counting distinct names would need them all.
        if self.instances.len() < Self::KEPT {
            let name: String =
                char::decode_utf16(name).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            self.instances.insert(name);
        }
    }
}

/// Statistics of the time steps between the samples of a log.
#[derive(Debug, Default)]
struct Steps {
    first: Option<i64>,
    last: i64,
    samples: u64,
    /// Number of steps between samples, by the length of the step in ms.
    lengths: BTreeMap<i64, u64>,
    /// Longest steps between samples and steps back in time, the shortest first.
    longest: BTreeSet<(u64, Gap)>,
}

impl Steps {
    const MS: i64 = 10_000;
    /// Maximum number of different step lengths that are counted. A log at a steady interval has few.
    const LENGTHS: usize = 10_000;

    fn add(&mut self, time: i64) {
        self.samples = self.samples.saturating_add(1);
        if self.first.is_none() {
            self.first = Some(time);
        } else {
            let gap = Gap { from: self.last, to: time };
            let length = gap.to.saturating_sub(gap.from);
            let rounded = length.saturating_add(Self::MS / 2).div_euclid(Self::MS);
            // A hostile log has a new length at each step. Lengths that are known stay counted, so the usual
            // one still wins.
            if self.lengths.len() < Self::LENGTHS || self.lengths.contains_key(&rounded) {
                let count = self.lengths.entry(rounded).or_default();
                *count = count.saturating_add(1);
            }
            // A step back counts as the longest.
            let rank = u64::try_from(length).unwrap_or(u64::MAX);
            self.longest.insert((rank, gap));
            if self.longest.len() > GAPS_KEPT {
                self.longest.pop_first();
            }
        }
        self.last = time;
    }

    fn finish(self, info: &mut Info) {
        let Self { first, last, samples, lengths, longest } = self;
        info.samples = samples;
        info.span = first.map(|first| (first, last));
        let most = lengths.iter().max_by_key(|(_, count)| **count);
        info.interval = most.map(|(length, _)| length.saturating_mul(Self::MS));
        let limit = info.interval.and_then(|interval| u64::try_from(interval.saturating_mul(3) / 2).ok());
        let gaps = longest.into_iter().filter(|(length, _)| limit.is_some_and(|limit| *length > limit));
        info.gaps = gaps.map(|(_, gap)| gap).collect();
        info.gaps.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn testdata(name: &str) -> Vec<u8> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/logs").join(name)).unwrap()
    }

    #[test]
    fn text_logs() {
        for (name, machines, samples, bias, paths) in
            [("esxtop.csv", 1, 2, Some(0), 4), ("typeperf-utf16.txt", 1, 1, None, 1)]
        {
            let info = Info::read(Log::open(&*testdata(name)).unwrap()).unwrap();
            let got = (info.machines.len(), info.samples, info.bias_minutes, info.counters.len());
            assert_eq!(got, (machines, samples, bias, paths), "{name}");
            assert!(info.counters.iter().all(|counters| counters.counter_type.is_none()), "{name}");
        }
    }

    #[test]
    fn non_log_bytes_are_rejected() {
        assert!(matches!(Log::open(&b""[..]), Err(LogError::Empty)));
        for bytes in [&b"PK\x03\x04"[..], &[0xFF; 70_000]] {
            assert!(matches!(Log::open(bytes), Err(LogError::Unknown)));
        }
    }

    #[test]
    fn a_real_log() {
        let info = Info::read(Log::open(&*testdata("BasicPerfCounters.blg")).unwrap()).unwrap();
        assert_eq!(info.machines, BTreeSet::from([r"\\GEORGIS3".to_owned()]));
        assert_eq!((info.samples, info.interval, info.bias_minutes), (601, Some(10_000_000), Some(480)));
        assert_eq!((info.gaps.len(), info.damages.count()), (0, 0));
        let names: Vec<_> = info.counters[5].instances.iter().map(String::as_str).collect();
        assert_eq!(names, ["0", "1", "2", "3", "_Total"]);
        assert_eq!(info.counters[0].counter_type, Some(CounterType::PERF_AVERAGE_BULK));
        assert!(info.counters[..5].iter().all(|counters| counters.instances.is_empty()));
    }

    #[test]
    fn gaps_are_the_steps_that_are_not_as_most_are() {
        let gaps = |times: &[i64]| {
            let (mut steps, mut info) = (Steps::default(), Info::default());
            times.iter().for_each(|time| steps.add(time * 10_000));
            steps.finish(&mut info);
            let gaps: Vec<_> = info.gaps.iter().map(|gap| (gap.from / 10_000, gap.to / 10_000)).collect();
            (info.interval.map(|interval| interval / 10_000), gaps)
        };
        assert_eq!(gaps(&[]), (None, vec![]));
        assert_eq!(gaps(&[5]), (None, vec![]));
        assert_eq!(gaps(&[0, 1_000, 2_000, 3_400]), (Some(1_000), vec![]));
        assert_eq!(gaps(&[0, 1_000, 2_000, 5_000, 6_000]), (Some(1_000), vec![(2_000, 5_000)]));
        assert_eq!(
            gaps(&[0, 1_000, 2_000, 1_500, 2_500]),
            (Some(1_000), vec![(2_000, 1_500)]),
            "back in time"
        );
        let many: Vec<i64> =
            (0..5_000).flat_map(|n| [n * 10_000, n * 10_000 + 1_000, n * 10_000 + 2_000]).collect();
        assert_eq!(gaps(&many).1.len(), GAPS_KEPT);
    }
}
