//! Any bytes at all as a log.

use std::io::Read;

use perfset_core::v1;
use perfset_core::walk::Mode;
use perfset_log::blg::{Block, Reader, Record};

/// What is read is the same however the bytes come, and no more than there is.
pub fn check_blg(input: &[u8]) {
    let at_once = read_blg(input);
    assert_eq!(at_once, read_blg(Drops(input)), "by drops");
    if let Some(records) = at_once {
        assert!(records.len() <= input.len() / 72 + 1, "{} records in {} bytes", records.len(), input.len());
    }
}

/// Every record and every damage, as text.
fn read_blg(read: impl Read) -> Option<Vec<String>> {
    let mut log = Reader::open(read).ok()?;
    let _ = log.header().bias_minutes(0);
    let mut all = Vec::new();
    while let Some(record) = log.next_record().expect("it is in memory") {
        all.push(match record {
            Record::Sample(sample) => {
                let mut text = format!("{} {}", sample.at, sample.time);
                for block in sample.blocks() {
                    match block {
                        Ok(Block::Instances(instances)) => {
                            let names = instances.iter().map(|(name, raw)| format!("{name}{raw:?}"));
                            text.extend(names);
                        }
                        Ok(Block::Object(bytes)) => {
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
    let _ = v1::Names::read(log.names().table());
    let _ = log.counters().iter().map(|counter| counter.to_string().len()).sum::<usize>();
    let damages = log.damages();
    assert!(damages.first().len() as u64 <= damages.count());
    let last = damages.first().last().map(ToString::to_string);
    all.extend(last);
    Some(all)
}

/// Hands out its bytes a few at a time.
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
