//! Fuzz targets that read arbitrary bytes as a log of any format.

use std::io::Read;
use std::ops::ControlFlow;

use perfset_core::visit::Mode;
use perfset_core::{CounterId, Guid, Identity, InstanceId, Name, Utf16, v1};
use perfset_engine::path::PathQuery;
use perfset_engine::{NextOutcome, RecordedSample, Source, Window};
use perfset_log::blg::{BlgReader, CounterBlock, Record};
use perfset_log::recording::{BlockHeader, fuzzing};
use perfset_log::{Damages, Logs};

/// Checks that a binary log has the same records in whatever portions the bytes come, and not more than the bytes can
/// hold.
pub fn check_blg(input: &[u8]) {
    let at_once = read_blg(input);
    assert_eq!(at_once, read_blg(Drops(input)), "by drops");
    if let Some(records) = at_once {
        assert!(records.len() <= input.len() / 72 + 1, "{} records in {} bytes", records.len(), input.len());
    }
}

/// Returns every record and the last stored damage of a binary log, as text.
fn read_blg(read: impl Read) -> Option<Vec<String>> {
    let mut log = BlgReader::open(read).ok()?;
    let _ = log.header().bias_minutes(0);
    let mut all = Vec::new();
    while let Some(record) = log.next_record().expect("it is in memory") {
        all.push(match record {
            Record::Sample(sample) => {
                let mut text = format!("{} {}", sample.offset, sample.time);
                for block in sample.blocks() {
                    match block {
                        Ok(CounterBlock::Instances(instances)) => {
                            let names = instances.iter().map(|(name, raw)| format!("{name}{raw:?}"));
                            text.extend(names);
                        }
                        Ok(CounterBlock::Object(bytes)) => {
                            let forgiven =
                                v1::read(bytes, Mode::Tolerant).map(|(_, forgiven)| forgiven.len());
                            text += &format!("{forgiven:?}");
                        }
                        other => text += &format!("{other:?}"),
                    }
                }
                text
            }
            other => format!("{other:?}"),
        });
    }
    let _ = v1::TitleNames::read(log.names().table());
    let _ = log.counters().iter().map(|counter| counter.to_string().len()).sum::<usize>();
    let damages = log.damages();
    assert!(damages.first().len() as u64 <= damages.count());
    let last = damages.first().last().map(ToString::to_string);
    all.extend(last);
    Some(all)
}

/// Checks that any log responds to every request, and that a series has the values of a query.
pub fn check_source(input: &[u8]) {
    // The blocks of a recording get right checksums. In a segment, a tick can take less than a byte.
    let is_recording = input.starts_with(&BlockHeader::MAGIC);
    let (input, most) = match is_recording {
        true => (fuzzing::repaired(input), input.len() * 3_600),
        false => (input.to_vec(), input.len() + 1),
    };
    let Ok(mut logs) = Logs::from_bytes(&input) else { return };
    let machine = logs.machine().clone();
    for guid in machine.countersets() {
        let _ = machine.instances(&guid);
    }
    let mut query = PathQuery::open(&mut logs).expect("it was opened before");
    for path in logs.paths() {
        let _ = query.add(&mut logs, &path);
    }
    let mut samples = 0;
    let mut first: Option<(Guid, CounterId, Utf16, InstanceId)> = None;
    let mut raw = Vec::new();
    while query.collect().is_ok_and(|next| next == NextOutcome::Sample) {
        samples += 1;
        let values = query.values();
        let _ = query.raw_counters(&values);
        if samples == 1 {
            first = values.iter().find(|v| v.occurrence == 0).and_then(|v| {
                let value = &v.value;
                Some((value.counterset.guid, value.counter.id, value.instance.into(), value.instance_id?))
            });
        }
        let Some((guid, counter, name, id)) = &first else { continue };
        raw.push(values.iter().find_map(|v| {
            let value = &v.value;
            let is_it = (value.counterset.guid, value.counter.id) == (*guid, *counter)
                && value.instance.units().eq(name.units().iter().copied())
                && value.instance_id == Some(*id);
            if is_it { value.raw } else { None }
        }));
    }
    assert!(samples <= most);
    let Some((counterset, counter, name, instance_id)) = first else { return };
    let name: Vec<u8> = name.units().iter().chain([&0]).flat_map(|unit| unit.to_le_bytes()).collect();
    let identity = Identity { counterset, instance: Name::until_nul(&name), instance_id, birth: None };
    let mut got = Vec::new();
    let mut each = |batch: &[RecordedSample<'_>]| {
        got.extend(batch.iter().map(|past| past.sample.as_ref().ok().map(|sample| sample.raw)));
        ControlFlow::Continue(())
    };
    let is_read = logs.series(counter, &identity, Window::default(), &mut each).is_ok();
    // A damaged table of a recording costs the whole tick, also other tables of the query.
    let is_whole = !is_recording || logs.damages().iter().all(Damages::is_empty);
    if is_read && is_whole {
        assert_eq!(got, raw);
    }
}

/// Reader that returns a few bytes of a log at a time.
struct Drops<'a>(&'a [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min(self.0.len()).min(7);
        let (drop, rest) = self.0.split_at(len);
        buffer[..len].copy_from_slice(drop);
        self.0 = rest;
        Ok(len)
    }
}
