//! Facts about a recording: the payload of an `about` block, and of blocks that annotate its ticks.

use super::bytes::{Malformed, PayloadCursor, put_int, put_len, put_text, put_uint};

/// Machine, writer and options of a recording, as keys and texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingAbout {
    /// Keys and their texts, in the order of the file. A later version may add keys.
    pub texts: Vec<(String, String)>,
}

impl RecordingAbout {
    /// Version of the recording format.
    pub const VERSION: u64 = 1;
    /// Key of the text with the recorded machine's name.
    pub const MACHINE: &'static str = "machine";
    /// Key of the text with the recorded machine's boot id, which differs after each start of the machine.
    pub const BOOT: &'static str = "boot";
    /// Key of the text with the name and the version of the program that wrote the file.
    pub const WRITER: &'static str = "writer";
    /// Key of the text with the recorded machine's operating system and its version.
    pub const SYSTEM: &'static str = "system";
    /// Key of the text with the id of the recorder's run: each run has a different id.
    pub const RUN: &'static str = "run";
    /// Key of the text with the time between two ticks in milliseconds.
    pub const INTERVAL_MS: &'static str = "interval_ms";
    /// Key of the text with the name of the recorded machine's time zone, such as `Europe/Berlin`.
    pub const TIME_ZONE: &'static str = "time_zone";
    /// Key of the text with the seconds that local time was ahead of UTC when the file was begun.
    pub const UTC_OFFSET_S: &'static str = "utc_offset_s";
    /// Key of the text with the user's note about the recording.
    pub const NOTE: &'static str = "note";

    /// Returns the text that a recording's facts have under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| known == key).map(|(_, text)| text.as_str())
    }

    /// Adds a text under a key to a recording's facts.
    #[must_use]
    pub fn with(mut self, key: &str, text: impl Into<String>) -> Self {
        self.texts.push((key.to_owned(), text.into()));
        self
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_uint(out, Self::VERSION);
        put_len(out, self.texts.len());
        for (key, text) in &self.texts {
            put_text(out, key);
            put_text(out, text);
        }
    }

    pub(super) fn read(payload: &[u8]) -> Result<Self, Malformed> {
        let mut from = PayloadCursor::new(payload);
        let version = from.uint("version of the format")?;
        if version != Self::VERSION {
            return Err(from.error(format!("version {version} of the format, and this is version 1")));
        }
        let count = from.count(2, "texts")?;
        let mut texts = Vec::new();
        for _ in 0..count {
            texts.push((from.text("key")?.to_owned(), from.text("text of a key")?.to_owned()));
        }
        from.end()?;
        Ok(Self { texts })
    }
}

/// Annotation of a recording at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Time of the annotation in 100 ns since 1601 UTC, by the wall clock.
    pub time: i64,
    /// `true` if the recorder wrote the annotation; `false` if a user wrote it.
    pub is_of_recorder: bool,
    /// Text of the annotation.
    pub text: String,
}

impl Annotation {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_int(out, self.time);
        out.push(self.is_of_recorder.into());
        put_text(out, &self.text);
    }

    pub(super) fn read(payload: &[u8]) -> Result<Self, Malformed> {
        let mut from = PayloadCursor::new(payload);
        let time = from.int("time of a mark")?;
        let is_of_recorder = from.byte("writer of a mark")? != 0;
        let text = from.text("text of a mark")?.to_owned();
        from.end()?;
        Ok(Self { time, is_of_recorder, text })
    }
}

/// Ticks of a recording that were due and not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedTicks {
    /// Time of the last tick before the missed ones, in 100 ns since 1601 UTC, by the wall clock.
    pub from: i64,
    /// Time of the first tick after the missed ones, in 100 ns since 1601 UTC, by the wall clock.
    pub to: i64,
    /// Number of ticks that were due and not recorded.
    pub ticks: u64,
    /// Reason for which the recorder missed the ticks.
    pub reason: String,
}

impl MissedTicks {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_int(out, self.from);
        put_int(out, self.to);
        put_uint(out, self.ticks);
        put_text(out, &self.reason);
    }

    pub(super) fn read(payload: &[u8]) -> Result<Self, Malformed> {
        let mut from = PayloadCursor::new(payload);
        let (begin, end) = (from.int("begin of a gap")?, from.int("end of a gap")?);
        let ticks = from.uint("ticks of a gap")?;
        let reason = from.text("reason of a gap")?.to_owned();
        from.end()?;
        Ok(Self { from: begin, to: end, ticks, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_round_trip() {
        let about = RecordingAbout::default().with(RecordingAbout::MACHINE, "web1").with("note", "\u{e4}");
        let mark = Annotation { time: -5, is_of_recorder: true, text: "deploy 42".into() };
        let gap = MissedTicks { from: 1, to: i64::MAX, ticks: 9, reason: "no space".into() };
        let mut payloads = [Vec::new(), Vec::new(), Vec::new()];
        about.put(&mut payloads[0]);
        mark.put(&mut payloads[1]);
        gap.put(&mut payloads[2]);
        assert_eq!(RecordingAbout::read(&payloads[0]), Ok(about));
        assert_eq!(Annotation::read(&payloads[1]), Ok(mark));
        assert_eq!(MissedTicks::read(&payloads[2]), Ok(gap));
        for len in 0..payloads[0].len() {
            assert!(RecordingAbout::read(&payloads[0][..len]).is_err());
        }
    }
}
