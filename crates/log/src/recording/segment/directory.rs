//! Directory of a segment: its ticks, and the positions of the streams of each table.

use perfset_core::NoValue;
use perfset_core::clock::{ClockReading, SystemTime};

use super::super::block::SEGMENT_TAIL;
use super::super::bytes::{Malformed, PayloadCursor, put_bytes, put_int, put_len, put_uint};
use super::super::state::{put_reason, reason};
use super::super::table::index;
use super::super::tick::MOST_TABLES;
use super::MOST_TICKS;
use super::stream::{SequenceEncoder, sequence};

/// Version of the layout of a segment's directory.
const LAYOUT: u8 = 1;

/// Place and form of a stream in a stored segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    pub offset: u32,
    pub stored: u32,
    pub codec: u8,
    pub raw: u32,
    pub crc: u32,
}

/// Minimum number of bytes of a stream's entry in a segment's directory.
const LEAST_STREAM: usize = 6;

fn put_stream(out: &mut Vec<u8>, info: &StreamInfo) {
    put_uint(out, info.stored.into());
    out.push(info.codec);
    if info.codec != 0 {
        put_uint(out, info.raw.into());
    }
    out.extend_from_slice(&info.crc.to_le_bytes());
}

fn stream(from: &mut PayloadCursor<'_>, next: &mut u32) -> Result<StreamInfo, Malformed> {
    let stored: u32 = from.small("stored length of a stream")?;
    let codec = from.byte("codec of a stream")?;
    let raw = if codec == 0 { stored } else { from.small("length of a stream")? };
    let crc = from.take(4, "checksum of a stream")?;
    let crc = <[u8; 4]>::try_from(crc).map(u32::from_le_bytes).unwrap_or_default();
    let offset = *next;
    // Streams follow each other, so that none can be at the place of another.
    *next = offset.checked_add(stored).ok_or_else(|| from.error("streams are too long"))?;
    Ok(StreamInfo { offset, stored, codec, raw, crc })
}

/// Pattern of the ticks of a segment in which a table was collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    None,
    /// Every `step`-th tick of the segment, beginning with the tick `first`.
    Every {
        first: u32,
        step: u32,
    },
    List(Vec<u16>),
}

impl Pattern {
    /// Returns the shortest pattern for these ascending indexes of ticks, in a segment of `count` ticks.
    pub fn new(ticks: &[u16], count: usize) -> Self {
        let [first, ..] = *ticks else { return Self::None };
        let second = ticks.get(1).copied();
        let step = u32::from(second.unwrap_or(u16::MAX).saturating_sub(first)).max(1);
        let every = Self::Every { first: first.into(), step };
        if every.ticks(count).eq(ticks.iter().copied()) { every } else { Self::List(ticks.to_vec()) }
    }

    /// Returns the number of ticks in the pattern, for a segment of `count` ticks.
    fn len(&self, count: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Every { first, step } => count.saturating_sub(index(*first)).div_ceil(index(*step).max(1)),
            Self::List(ticks) => ticks.len(),
        }
    }

    fn has(&self, tick: u16) -> bool {
        match self {
            Self::None => false,
            Self::Every { first, step } => {
                u32::from(tick).checked_sub(*first).is_some_and(|after| after.checked_rem(*step) == Some(0))
            }
            Self::List(ticks) => ticks.binary_search(&tick).is_ok(),
        }
    }

    /// Returns the indexes of the ticks in the pattern, for a segment of `count` ticks.
    pub fn ticks(&self, count: usize) -> Box<dyn Iterator<Item = u16> + '_> {
        match self {
            Self::None => Box::new(std::iter::empty()),
            Self::Every { first, step } => Box::new(
                (index(*first)..count).step_by(index(*step).max(1)).filter_map(|tick| tick.try_into().ok()),
            ),
            Self::List(ticks) => Box::new(ticks.iter().copied()),
        }
    }
}

/// Contents of a table that are older than the tick with which they are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub tick: u16,
    /// Number of ticks from the collection of the contents to the tick with which they are stored.
    pub age: u64,
    /// Clocks of the collection that the contents are from.
    pub clocks: ClockReading,
}

/// Consecutive collections of a table that failed for the same reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub first: u32,
    pub count: u32,
    pub reason: NoValue,
}

/// Entry of a table in the directory of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct TableEntry {
    pub number: usize,
    pub pattern: Pattern,
    pub held: Vec<Held>,
    pub failures: Vec<Failure>,
    pub runs: StreamInfo,
    /// Stream with the counterset's own clocks, if it has some.
    pub clocks: Option<StreamInfo>,
    pub columns: Vec<StreamInfo>,
}

impl TableEntry {
    /// Returns the decompressed length in bytes of the table's rows, its clocks and these columns.
    pub fn raw_len(&self, columns: &[usize]) -> usize {
        let columns = columns.iter().filter_map(|column| self.columns.get(*column));
        let streams = columns.chain(&self.clocks).chain([&self.runs]);
        streams.map(|stream| index(stream.raw)).fold(0, usize::saturating_add)
    }
}

/// Directory of a segment: its ticks, and the positions of the streams of each table.
#[derive(Clone, Debug, PartialEq)]
pub struct Directory {
    pub ticks: Vec<(u64, ClockReading)>,
    pub states: StreamInfo,
    pub tables: Vec<TableEntry>,
}

fn wall(clocks: &ClockReading) -> i64 {
    // A foreign block may hold no date.
    clocks.system_time.to_100ns().unwrap_or(clocks.time_100ns)
}

fn bits(number: i64) -> u64 {
    u64::from_ne_bytes(number.to_ne_bytes())
}

fn from_bits(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

impl Directory {
    /// Appends the directory and the tail of a segment: the end of a segment whose streams have `streams` bytes.
    pub fn put(&self, out: &mut Vec<u8>, streams: u32) -> Option<()> {
        let start = out.len();
        out.push(LAYOUT);
        put_len(out, self.ticks.len());
        let mut encoder = SequenceEncoder::default();
        encoder.put_sequence(out, self.ticks.iter().map(|(sequence, _)| *sequence));
        encoder.put_sequence(out, self.ticks.iter().map(|(_, clocks)| bits(clocks.perf_time)));
        encoder.put_sequence(out, self.ticks.iter().map(|(_, clocks)| bits(clocks.time_100ns)));
        encoder.put_sequence(out, self.ticks.iter().map(|(_, clocks)| bits(clocks.perf_freq)));
        let walls = self.ticks.iter().map(|(_, clocks)| bits(wall(clocks).wrapping_sub(clocks.time_100ns)));
        encoder.put_sequence(out, walls);
        put_len(out, self.tables.len());
        let mut next = 0_usize;
        let mut body = Vec::new();
        for table in &self.tables {
            put_len(out, table.number.saturating_sub(next));
            next = table.number.saturating_add(1);
            body.clear();
            table.put(&mut body, &self.ticks);
            put_bytes(out, &body);
        }
        put_stream(out, &self.states);
        let len = u32::try_from(out.len().checked_sub(start)?).ok()?;
        out.extend_from_slice(&streams.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
        Some(())
    }

    /// Reads the directory of a segment with its tail.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (directory, streams) = split(bytes)?;
        let (parsed, next) = Self::parse_without_tail(directory)?;
        if next != streams {
            let what = format!("streams of {next} bytes before a directory at offset {streams}");
            return Err(Malformed { offset: directory.len(), what });
        }
        Ok(parsed)
    }

    /// Reads the directory of a segment without its tail. Returns the length of all streams, too.
    pub fn parse_without_tail(directory: &[u8]) -> Result<(Self, u32), Malformed> {
        let from = &mut PayloadCursor::new(directory);
        check_layout(from)?;
        let ticks = TickColumns::read(from)?.all();
        let mut next = 0;
        let count = from.count(3, "tables")?;
        let mut tables = Vec::new();
        let mut number = 0_usize;
        for _ in 0..count {
            number = next_number(from, number)?;
            let mut body = from.nested("entry of a table")?;
            tables.push(TableEntry::parse(&mut body, number, &ticks, &mut next)?);
            body.end()?;
            number = number.saturating_add(1);
        }
        let states = stream(from, &mut next)?;
        from.end()?;
        Ok((Self { ticks, states, tables }, next))
    }

    /// Returns the directory's entries of all streams, in the order of the streams.
    pub fn streams_mut(&mut self) -> impl Iterator<Item = &mut StreamInfo> {
        let of_tables = self.tables.iter_mut().flat_map(|table| {
            std::iter::once(&mut table.runs).chain(&mut table.clocks).chain(&mut table.columns)
        });
        of_tables.chain([&mut self.states])
    }
}

/// Ticks of a segment as lists: one list of sequence numbers, and one list for each clock.
struct TickColumns {
    sequences: Vec<u64>,
    /// Lists with each tick's performance clock, time, frequency, and distance of the wall clock from the time.
    clocks: [Vec<u64>; 4],
}

impl TickColumns {
    fn read(from: &mut PayloadCursor<'_>) -> Result<Self, Malformed> {
        let count: usize = from.small("number of ticks")?;
        if count > MOST_TICKS {
            return Err(from.error(format!("segment of {count} ticks")));
        }
        let sequences = sequence(from, count)?;
        if !sequences.windows(2).all(|pair| matches!(pair, [a, b] if a < b)) {
            return Err(from.error("ticks are not in their order"));
        }
        let mut clocks = || sequence(from, count);
        Ok(Self { sequences, clocks: [clocks()?, clocks()?, clocks()?, clocks()?] })
    }

    fn get(&self, tick: usize) -> Option<(u64, ClockReading)> {
        let [perf_times, times, freqs, walls] = &self.clocks;
        let clock = |of: &[u64]| of.get(tick).copied().map(from_bits);
        let time_100ns = clock(times)?;
        let system_time = SystemTime::from_100ns(time_100ns.wrapping_add(clock(walls)?));
        let (perf_time, perf_freq) = (clock(perf_times)?, clock(freqs)?);
        Some((*self.sequences.get(tick)?, ClockReading { perf_time, time_100ns, perf_freq, system_time }))
    }

    fn all(&self) -> Vec<(u64, ClockReading)> {
        (0..self.sequences.len()).map_while(|tick| self.get(tick)).collect()
    }

    /// Returns a range that contains the times of all ticks of a segment; `None` if a time is not a valid date.
    fn times(&self) -> Option<(i64, i64)> {
        /// Time in the year 9999, in 100 ns since 1601, far below the largest number.
        const LAST: i64 = 2_650_467_744_000_000_000;
        /// Margin of the range of tick times in 100 ns, larger than the rounding of a time.
        const MARGIN: i64 = 10_000_000;
        let [_, times, _, walls] = &self.clocks;
        let mut range: Option<(i64, i64)> = None;
        for (time, wall) in times.iter().zip(walls) {
            let (time, wall) = (from_bits(*time), from_bits(*time).wrapping_add(from_bits(*wall)));
            if !(0..LAST).contains(&time) || !(0..LAST).contains(&wall) {
                return None;
            }
            let (first, last) = range.unwrap_or((wall, wall));
            range = Some((first.min(wall), last.max(wall)));
        }
        range.map(|(first, last)| (first.saturating_sub(MARGIN), last.saturating_add(MARGIN)))
    }
}

/// Summary of the ticks of a segment: their number, the first one and the last one.
#[derive(Clone, Debug)]
pub struct TickSpan {
    pub count: usize,
    pub first: (u64, ClockReading),
    pub last: (u64, ClockReading),
    /// `true` if no tick number is missing between the first and the last tick.
    pub is_contiguous: bool,
    /// Range that contains the times of all ticks, in 100 ns since 1601 UTC; `None` if it is unknown.
    pub times: Option<(i64, i64)>,
}

/// Head of a segment's directory: the part that is read when the file is opened.
#[derive(Debug)]
pub struct DirectoryHead {
    /// Summary of the segment's ticks; `None` if the segment has no ticks.
    pub span: Option<TickSpan>,
    /// Number of each table in the segment, with the count of its columns.
    pub tables: Vec<(usize, usize)>,
}

impl DirectoryHead {
    /// Reads the beginning of a segment's directory with its tail, without the entries of streams, which are read
    /// later.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (directory, _) = split(bytes)?;
        let from = &mut PayloadCursor::new(directory);
        check_layout(from)?;
        let ticks = TickColumns::read(from)?;
        let count = from.count(3, "tables")?;
        let mut tables = Vec::with_capacity(count.min(MOST_TABLES));
        let mut number = 0_usize;
        for _ in 0..count {
            number = next_number(from, number)?;
            let columns = from.nested("entry of a table")?.count(LEAST_STREAM, "columns")?;
            tables.push((number, columns));
            number = number.saturating_add(1);
        }
        let last = ticks.sequences.len().checked_sub(1);
        let span = ticks.get(0).zip(last.and_then(|last| ticks.get(last))).map(|(first, last)| TickSpan {
            count: ticks.sequences.len(),
            first,
            last,
            is_contiguous: u64::try_from(ticks.sequences.len().saturating_sub(1))
                == Ok(last.0.saturating_sub(first.0)),
            times: ticks.times(),
        });
        Ok(Self { span, tables })
    }
}

impl DirectoryHead {
    /// Reads the numbers and clocks of a segment's ticks from its directory with the tail.
    pub fn ticks(bytes: &[u8]) -> Result<Vec<(u64, ClockReading)>, Malformed> {
        let from = &mut PayloadCursor::new(split(bytes)?.0);
        check_layout(from)?;
        TickColumns::read(from).map(|ticks| ticks.all())
    }
}

/// Splits a segment's directory from its tail. Returns the directory and the length of the streams.
fn split(bytes: &[u8]) -> Result<(&[u8], u32), Malformed> {
    let no_tail = || Malformed { offset: 0, what: "segment has no tail".to_owned() };
    let (directory, tail) = bytes.split_last_chunk::<SEGMENT_TAIL>().ok_or_else(no_tail)?;
    let [o0, o1, o2, o3, l0, l1, l2, l3] = *tail;
    if u32::try_from(directory.len()) != Ok(u32::from_le_bytes([l0, l1, l2, l3])) {
        let what = "directory of a segment is not as long as its tail has it".to_owned();
        return Err(Malformed { offset: 0, what });
    }
    Ok((directory, u32::from_le_bytes([o0, o1, o2, o3])))
}

fn check_layout(from: &mut PayloadCursor<'_>) -> Result<(), Malformed> {
    match from.byte("layout of a directory")? {
        LAYOUT => Ok(()),
        layout => Err(from.error(format!("directory has the layout {layout} of another version"))),
    }
}

/// Reads the number of the next table in a segment's directory, at least `next`.
fn next_number(from: &mut PayloadCursor<'_>, next: usize) -> Result<usize, Malformed> {
    let number = next.saturating_add(from.small("number of tables")?);
    if number < MOST_TABLES { Ok(number) } else { Err(from.error(format!("table {number} is too high"))) }
}

impl TableEntry {
    fn put(&self, out: &mut Vec<u8>, ticks: &[(u64, ClockReading)]) {
        put_len(out, self.columns.len());
        match &self.pattern {
            Pattern::None => out.push(0),
            Pattern::Every { first, step } => {
                out.push(1);
                put_uint(out, (*first).into());
                put_uint(out, (*step).into());
            }
            Pattern::List(list) => {
                out.push(2);
                put_len(out, list.len());
                let mut next = 0;
                for tick in list {
                    put_uint(out, tick.saturating_sub(next).into());
                    next = tick.saturating_add(1);
                }
            }
        }
        put_len(out, self.held.len());
        for held in &self.held {
            put_uint(out, held.tick.into());
            put_uint(out, held.age);
            let at = ticks.get(usize::from(held.tick)).map(|(_, clocks)| *clocks).unwrap_or_default();
            put_int(out, held.clocks.perf_time.wrapping_sub(at.perf_time));
            put_int(out, held.clocks.time_100ns.wrapping_sub(at.time_100ns));
            put_int(out, held.clocks.perf_freq.wrapping_sub(at.perf_freq));
            put_int(out, wall(&held.clocks).wrapping_sub(held.clocks.time_100ns));
        }
        put_len(out, self.failures.len());
        let mut next = 0_u32;
        for failure in &self.failures {
            put_uint(out, failure.first.saturating_sub(next).into());
            put_uint(out, failure.count.into());
            put_reason(out, &failure.reason);
            next = failure.first.saturating_add(failure.count);
        }
        put_stream(out, &self.runs);
        out.push(self.clocks.is_some().into());
        self.clocks.iter().for_each(|info| put_stream(out, info));
        self.columns.iter().for_each(|info| put_stream(out, info));
    }

    /// Returns the number of collections of the table, in a segment of `ticks` ticks.
    pub fn collections(&self, ticks: usize) -> usize {
        self.pattern.len(ticks).saturating_add(self.held.len())
    }

    fn parse(
        from: &mut PayloadCursor<'_>,
        number: usize,
        ticks: &[(u64, ClockReading)],
        next_stream: &mut u32,
    ) -> Result<Self, Malformed> {
        let columns = from.count(LEAST_STREAM, "columns")?;
        let pattern = pattern(from, ticks.len())?;
        let count = from.count(6, "contents from before")?;
        let mut held: Vec<Held> = Vec::with_capacity(count);
        for _ in 0..count {
            let tick: u16 = from.small("tick of a table")?;
            let age = from.uint("age of a table")?;
            let is_after = held.last().is_none_or(|before| before.tick < tick) && !pattern.has(tick);
            let Some((sequence, at)) = ticks.get(usize::from(tick)).filter(|_| is_after) else {
                return Err(from.error("tick of a table that the segment does not have, or not in its order"));
            };
            if age == 0 || age > *sequence {
                return Err(from.error("table is older than the recording, or not from before"));
            }
            let perf_time = at.perf_time.wrapping_add(from.int("performance clock")?);
            let time_100ns = at.time_100ns.wrapping_add(from.int("time")?);
            let perf_freq = at.perf_freq.wrapping_add(from.int("frequency")?);
            let system_time = SystemTime::from_100ns(time_100ns.wrapping_add(from.int("wall clock")?));
            let clocks = ClockReading { perf_time, time_100ns, perf_freq, system_time };
            held.push(Held { tick, age, clocks });
        }
        let count = from.count(3, "failures")?;
        let mut failures = Vec::with_capacity(count);
        let collections = pattern.len(ticks.len()).saturating_add(held.len());
        let mut next = 0_u32;
        for _ in 0..count {
            let first = next.saturating_add(from.small("number of collections")?);
            let count: u32 = from.small("number of failed collections")?;
            next = first.saturating_add(count);
            if index(next) > collections || count == 0 {
                return Err(from.error("failure of a collection that the segment does not have"));
            }
            failures.push(Failure { first, count, reason: reason(from)? });
        }
        let runs = stream(from, next_stream)?;
        let clocks = match from.byte("clocks of a table")? {
            0 => None,
            1 => Some(stream(from, next_stream)?),
            number => return Err(from.error(format!("clocks of the unknown kind {number}"))),
        };
        let mut streams = Vec::with_capacity(columns);
        for _ in 0..columns {
            streams.push(stream(from, next_stream)?);
        }
        Ok(Self { number, pattern, held, failures, runs, clocks, columns: streams })
    }
}

fn pattern(from: &mut PayloadCursor<'_>, ticks: usize) -> Result<Pattern, Malformed> {
    let pattern = match from.byte("form of a table's ticks")? {
        0 => Pattern::None,
        1 => Pattern::Every {
            first: from.small("first tick of a table")?,
            step: from.small("ticks of a table")?,
        },
        2 => {
            let count = from.count(1, "ticks of a table")?;
            let mut next = 0_u16;
            let mut list = Vec::with_capacity(count.min(ticks));
            for _ in 0..count {
                let tick = next.saturating_add(from.small("gap between ticks")?);
                if usize::from(tick) >= ticks {
                    return Err(from.error("tick of a table that the segment does not have"));
                }
                list.push(tick);
                next = tick.saturating_add(1);
            }
            Pattern::List(list)
        }
        number => return Err(from.error(format!("ticks of a table in the unknown form {number}"))),
    };
    match pattern {
        Pattern::Every { first, step } if step == 0 || index(first) >= ticks => {
            Err(from.error("ticks of a table that the segment does not have"))
        }
        pattern => Ok(pattern),
    }
}
