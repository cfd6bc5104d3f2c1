//! Form of a log's samples: while consecutive samples have the same form, only their numbers are copied.

use std::ops::Range;
use std::sync::Arc;

use perfset_engine::SampleForm;

use super::log_reader::{LogEntry, LogReader};
use crate::blg::SampleBytes;
use crate::damage::Damages;

/// Forms of the samples of one log, and the data needed to play a sample with other numbers.
#[derive(Default)]
pub(super) struct Forms {
    /// Number of forms of samples found in the log so far.
    count: u64,
    last: Option<LogForm>,
    /// Original bytes of the current sample and the damage found before, while the sample is played with other numbers.
    own: Option<(Vec<u8>, Damages)>,
}

struct LogForm {
    number: u64,
    list: Arc<[LogEntry]>,
    bytes: SampleBytes,
    places: Arc<[Range<usize>]>,
}

impl LogForm {
    fn is_of(&self, reader: &LogReader) -> bool {
        reader.has_bytes()
            && Arc::ptr_eq(&self.list, &reader.now.list)
            && self.bytes.is_of(&reader.now.sample)
    }
}

/// Returns the log reader if there is only one; samples of several log readers have no common form.
fn only(readers: &mut [LogReader]) -> Option<&mut LogReader> {
    match readers {
        [reader] => Some(reader),
        _ => None,
    }
}

impl Forms {
    /// Returns the form of the log's current sample, if it has one.
    pub fn form(&mut self, readers: &mut [LogReader]) -> Option<SampleForm> {
        let reader = only(readers).filter(|reader| reader.has_bytes())?;
        let form = match self.last.take().filter(|form| form.is_of(reader)) {
            Some(form) => form,
            None => {
                let bytes = SampleBytes::new(&reader.now.sample)?;
                self.count = self.count.saturating_add(1);
                let places = bytes.numbers.as_slice().into();
                LogForm { number: self.count, list: Arc::clone(&reader.now.list), bytes, places }
            }
        };
        let LogForm { number, places, .. } = self.last.insert(form);
        Some(SampleForm { number: *number, places: Arc::clone(places) })
    }

    /// Plays the current log sample with consecutive numbers, or with its own numbers again; see
    /// [`Player::renumber`](perfset_engine::Player::renumber).
    pub fn renumber(&mut self, readers: &mut [LogReader], first: Option<u32>) -> bool {
        let Some(reader) = only(readers) else { return false };
        match (first, &self.last) {
            (None, _) => {
                let Some((bytes, damages)) = self.own.take() else { return false };
                reader.now.sample.set_bytes(bytes);
                // What was found meanwhile is no damage of the log.
                std::mem::replace(reader.own_damages(), damages.clone()).count() == damages.count()
            }
            (Some(first), Some(form)) if self.own.is_some() || form.is_of(reader) => {
                if self.own.is_none() {
                    self.own = Some((reader.now.sample.bytes().to_vec(), reader.own_damages().clone()));
                }
                form.bytes.number_from(first, &mut reader.now.sample);
                true
            }
            _ => false,
        }
    }

    /// Returns the bytes of the current log sample, if the sample has the form with that number.
    pub fn bytes<'a>(&self, readers: &'a mut [LogReader], form: u64) -> Option<&'a [u8]> {
        let form = self.last.as_ref().filter(|last| last.number == form && self.own.is_none())?;
        only(readers).filter(|reader| form.is_of(reader)).map(|reader| reader.now.sample.bytes())
    }
}

#[cfg(test)]
mod tests;
