//! Test helper that builds binary logs as Windows would write them.

use std::fs;
use std::path::Path;

use perfset_core::CounterType;
use zerocopy::{FromBytes, IntoBytes};

use super::raw;

pub(crate) fn testdata(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)).unwrap()
}

pub(crate) fn basic() -> Vec<u8> {
    testdata("logs/BasicPerfCounters.blg")
}

/// Builder of binary logs.
pub(crate) struct Builder {
    out: Vec<u8>,
    buffer_offset: usize,
    /// Headers of a buffer and of an event, copied from a binary log that Windows wrote.
    buffer: Vec<u8>,
    event: raw::EventHeader,
}

pub(crate) const BUFFER: usize = 64 << 10;
pub(crate) const MOST_OF_PART: usize = 8_000;

impl Builder {
    /// Creates a builder whose binary log begins with the first buffer of a log that Windows wrote.
    pub fn new() -> Self {
        let mut out = basic();
        let (event, _) = raw::EventHeader::read_from_prefix(&out[BUFFER + 72..]).unwrap();
        let buffer = out[BUFFER..BUFFER + 72].to_vec();
        out.truncate(BUFFER);
        Self { out, buffer_offset: 0, buffer, event }
    }

    /// Sets the time of the log's records that follow, in 100 ns since 1601, local time.
    pub fn at(mut self, time: i64) -> Self {
        self.event.time_stamp = time.into();
        self
    }

    pub fn record(mut self, record_type: u8, payload: &[u8]) -> Self {
        let parts = payload.chunks(MOST_OF_PART);
        let count = u32::try_from(parts.len()).unwrap();
        for (part, number) in parts.zip(1..) {
            self.event(record_type, number, count, part);
        }
        self
    }

    pub fn event(&mut self, record_type: u8, part: u32, parts: u32, payload: &[u8]) {
        let size = size_of::<raw::EventHeader>() + payload.len();
        let header = raw::EventHeader {
            size: u16::try_from(size).unwrap().into(),
            record_type,
            part: part.into(),
            parts: parts.into(),
            ..self.event
        };
        if self.out.len() % BUFFER == 0 || self.out.len() - self.buffer_offset + size > BUFFER {
            self.end_buffer();
            self.buffer_offset = self.out.len();
            self.out.extend(&self.buffer);
        }
        self.out.extend(header.as_bytes());
        self.out.extend(payload);
        self.out.resize(self.out.len().next_multiple_of(8), 0xFF);
    }

    fn end_buffer(&mut self) {
        if self.buffer_offset > 0 {
            let end = u32::try_from(self.out.len() - self.buffer_offset).unwrap();
            self.out[self.buffer_offset + 48..][..4].copy_from_slice(&end.to_le_bytes());
        }
        self.out.resize(self.out.len().next_multiple_of(BUFFER), 0xFF);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.end_buffer();
        let count = u32::try_from(self.out.len() / BUFFER).unwrap();
        buffers_written(&mut self.out, count);
        self.out
    }
}

/// Writes the number of buffers into the header of a binary log.
pub(crate) fn buffers_written(log: &mut [u8], count: u32) {
    /// Offset in a binary log of its number of buffers, which follows the headers of the first buffer and of its
    /// event.
    const PLACE: usize = 72 + 32 + 36;
    log[PLACE..PLACE + 4].copy_from_slice(&count.to_le_bytes());
}

/// Returns the bytes of a binary log's sample; each block of the sample is given as its kind and body.
pub(crate) fn sample(blocks: &[(u8, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, bytes) in blocks {
        let size = u32::try_from(8 + bytes.len()).unwrap();
        body.extend([b'B', b'L', 3, *kind]);
        body.extend(size.to_le_bytes());
        body.extend(*bytes);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let size = u32::try_from(8 + body.len()).unwrap();
    [&b"BL\x03\0"[..], &size.to_le_bytes(), &body].concat()
}

pub(crate) fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Returns the bytes of a binary log's counter list with these encoded entries.
pub(crate) fn list_of(entries: &[Vec<u8>]) -> Vec<u8> {
    [&[0xFF, 6, 0, 0, 8, 0, 2, 0][..], &entries.concat()].concat()
}

/// Returns the bytes of an entry of a binary log's counter list with this kind, type, time base and path.
pub(crate) fn entry(kind: u32, counter_type: CounterType, time_base: i64, path: &str) -> Vec<u8> {
    let path: perfset_engine::path::CounterPath = path.parse().unwrap();
    let mut strings = Vec::new();
    let mut string = |text: Option<&str>| match text {
        None => -1,
        Some(text) => {
            let at = i32::try_from(strings.len()).unwrap();
            strings.extend(wide(text));
            at
        }
    };
    let machine = path.machine.map(|name| format!(r"\\{name}"));
    let (instance, index) =
        match path.instance.as_deref().map(|text| text.rsplit_once('#').unwrap_or((text, "0"))) {
            Some((name, index)) => (Some(name.to_owned()), index.parse().unwrap()),
            None => (None, 0),
        };
    let parent = instance.as_deref().and_then(|name| name.split_once('/'));
    let header = raw::CounterEntry {
        size: 0.into(),
        kind: kind.into(),
        reserved: 0.into(),
        counter_type: counter_type.0.into(),
        time_base: time_base.into(),
        default_scale: 0.into(),
        machine: string(machine.as_deref()).into(),
        object: string(Some(&path.counterset)).into(),
        instance: string(parent.map(|(_, name)| name).or(instance.as_deref())).into(),
        parent: string(parent.map(|(parent, _)| parent)).into(),
        instance_index: u32::into(index),
        counter: string(Some(&path.counter)).into(),
    };
    let len = (52 + strings.len()).next_multiple_of(8);
    let header = raw::CounterEntry { size: u32::try_from(len).unwrap().into(), ..header };
    let mut bytes = [header.as_bytes(), &strings].concat();
    bytes.resize(len, 0);
    bytes
}

/// Returns the body of a sample's block that has the raw value of one counter.
#[allow(dead_code, reason = "the tests of the command build logs of several instances only")]
pub(crate) fn one(c_status: u32, first: i64, second: i64, multi_count: u32) -> Vec<u8> {
    let mut body = [c_status.to_le_bytes(), [0; 4], [0; 4], [0; 4]].concat();
    body.extend(first.to_le_bytes());
    body.extend(second.to_le_bytes());
    body.extend(multi_count.to_le_bytes());
    body.extend([0; 4]);
    body
}

/// Returns the body of a sample's block that has the raw values of several instances of one counter.
pub(crate) fn several(items: &[(&str, i64, i64)]) -> Vec<u8> {
    const HEADER: usize = 24;
    const ITEM: usize = 24;
    let count = u32::try_from(items.len()).unwrap();
    let mut body = [0, count, 0, 0, 0, 0].iter().flat_map(|n: &u32| n.to_le_bytes()).collect::<Vec<_>>();
    let mut names = Vec::new();
    for (name, first, second) in items {
        let at = HEADER + ITEM * items.len() + names.len();
        body.extend(u32::try_from(at).unwrap().to_le_bytes());
        body.extend([0; 4]);
        body.extend(first.to_le_bytes());
        body.extend(second.to_le_bytes());
        names.extend(wide(name));
    }
    body.extend(names);
    body
}
