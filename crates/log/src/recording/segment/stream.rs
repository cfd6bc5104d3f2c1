//! Streams of a segment: sequences of numbers, each in the smallest of several modes.

use std::ops::Range;

use super::super::bytes::{Malformed, PayloadCursor, put_bytes, put_int, put_uint, unzigzag, zigzag};
use super::super::table::{index, position};

/// Mode (encoding) of a column's run: no value in the whole run, for one reason.
pub(super) const EMPTY: u8 = 0;
/// Mode (encoding) of a number sequence: all numbers are equal to the first one.
pub(super) const CONSTANT: u8 = 1;
/// Mode (encoding) of a number sequence: differences of neighbours, bit-packed.
pub(super) const DELTAS: u8 = 2;
/// Mode (encoding) of a number sequence: differences of differences, bit-packed.
pub(super) const DOUBLE_DELTAS: u8 = 3;
/// Mode (encoding) of a number sequence: indexes of changed numbers, and the differences there.
pub(super) const SPARSE: u8 = 4;
/// Flag added to a run's mode: states of cells come before the payload of the numbers.
pub(super) const WITH_STATES: u8 = 8;

/// Number of values in a stream that are packed with one bit width.
const BLOCK: usize = 64;

/// Place in a sequence at which the number differs from the one before, and the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunChange {
    /// Index in the sequence of the number that changes, at least 1.
    pub at: u32,
    /// Difference of the changed number from the number before, modulo 2^64.
    pub delta: u64,
}

impl RunChange {
    /// Returns the index of the change among the differences of the sequence: the first difference belongs to the
    /// second number.
    fn delta_index(self) -> usize {
        index(self.at).saturating_sub(1)
    }
}

fn zigzag_delta(delta: u64) -> u64 {
    zigzag(i64::from_ne_bytes(delta.to_ne_bytes()))
}

fn delta_of(zigzagged: u64) -> u64 {
    u64::from_ne_bytes(unzigzag(zigzagged).to_ne_bytes())
}

/// Encoder of number sequences for streams, with its buffers.
#[derive(Debug, Default)]
pub(super) struct SequenceEncoder {
    doubles: Vec<RunChange>,
    changes: Vec<RunChange>,
    body: Vec<u8>,
}

impl SequenceEncoder {
    /// Appends the changes of a sequence of `len` numbers in the smallest mode, and returns that mode.
    pub fn put_changes(&mut self, out: &mut Vec<u8>, len: usize, changes: &[RunChange]) -> u8 {
        if changes.is_empty() {
            return CONSTANT;
        }
        let deltas = len.saturating_sub(1);
        let sparse = sparse_len(changes);
        // The least that packing takes: a width for each block.
        if sparse <= deltas.div_ceil(BLOCK) {
            self.put_sparse(out, changes);
            return SPARSE;
        }
        self.find_doubles(changes, deltas);
        let (single, double) = (packed_len(changes, deltas), packed_len(&self.doubles, deltas));
        if sparse <= single && sparse <= double {
            self.put_sparse(out, changes);
            SPARSE
        } else if single <= double {
            put_packed(out, changes, deltas);
            DELTAS
        } else {
            put_packed(out, &self.doubles, deltas);
            DOUBLE_DELTAS
        }
    }

    /// Appends a whole sequence of numbers to a stream: mode, first number, and changes. Nothing is appended for an
    /// empty one.
    pub fn put_sequence(&mut self, out: &mut Vec<u8>, mut numbers: impl Iterator<Item = u64>) {
        let Some(first) = numbers.next() else { return };
        let mut changes = std::mem::take(&mut self.changes);
        changes.clear();
        let (mut before, mut len) = (first, 1_usize);
        for number in numbers {
            if number != before {
                changes.push(RunChange { at: position(len), delta: number.wrapping_sub(before) });
            }
            before = number;
            len = len.saturating_add(1);
        }
        self.put_sequence_of(out, first, len, &changes);
        self.changes = changes;
    }

    /// Appends a whole sequence of numbers to a stream, given by its first number and its changes.
    pub fn put_sequence_of(&mut self, out: &mut Vec<u8>, first: u64, len: usize, changes: &[RunChange]) {
        let mode_at = out.len();
        out.push(CONSTANT);
        put_int(out, i64::from_ne_bytes(first.to_ne_bytes()));
        let mode = self.put_changes(out, len, changes);
        if let Some(place) = out.get_mut(mode_at) {
            *place = mode;
        }
    }

    fn put_sparse(&mut self, out: &mut Vec<u8>, changes: &[RunChange]) {
        self.body.clear();
        let mut next = 1;
        for change in changes {
            put_uint(&mut self.body, change.at.saturating_sub(next).into());
            put_uint(&mut self.body, zigzag_delta(change.delta));
            next = change.at.saturating_add(1);
        }
        put_bytes(out, &self.body);
    }

    /// Finds the differences between the consecutive differences of a sequence, without those that are 0.
    fn find_doubles(&mut self, changes: &[RunChange], deltas: usize) {
        self.doubles.clear();
        let mut before = RunChange::default();
        for change in changes {
            let follows = before.at.saturating_add(1);
            if before.at != 0 && follows != change.at {
                // The difference falls to 0 again.
                self.doubles.push(RunChange { at: follows, delta: before.delta.wrapping_neg() });
            }
            let was = if before.at != 0 && follows == change.at { before.delta } else { 0 };
            if change.delta != was {
                self.doubles.push(RunChange { at: change.at, delta: change.delta.wrapping_sub(was) });
            }
            before = *change;
        }
        if index(before.at) < deltas {
            self.doubles
                .push(RunChange { at: before.at.saturating_add(1), delta: before.delta.wrapping_neg() });
        }
    }
}

fn uint_len(number: u64) -> usize {
    usize::try_from((number | 1).ilog2() / 7).unwrap_or(0).saturating_add(1)
}

/// Returns the length in bytes that changes take in the mode `SPARSE`.
fn sparse_len(changes: &[RunChange]) -> usize {
    let mut next = 1;
    let mut len = 0_usize;
    for change in changes {
        let gap = uint_len(change.at.saturating_sub(next).into());
        len = len.saturating_add(gap).saturating_add(uint_len(zigzag_delta(change.delta)));
        next = change.at.saturating_add(1);
    }
    len.saturating_add(uint_len(u64::try_from(len).unwrap_or(u64::MAX)))
}

fn width_of(bits: u64) -> usize {
    usize::try_from(64_u32.saturating_sub(bits.leading_zeros())).unwrap_or(64)
}

/// Returns the length in bytes of `count` bit-packed values of `width` bits, without the byte for the width.
fn block_len(count: usize, width: usize) -> usize {
    count.saturating_mul(width).div_ceil(8)
}

/// Returns the length in bytes that the differences of a sequence take when bit-packed. Differences that are not
/// among `changes` are 0.
fn packed_len(changes: &[RunChange], deltas: usize) -> usize {
    let mut len = deltas.div_ceil(BLOCK);
    let (mut block, mut bits) = (0_usize, 0);
    let size = |block: usize, bits: u64| {
        let count = deltas.saturating_sub(block.saturating_mul(BLOCK)).min(BLOCK);
        block_len(count, width_of(bits))
    };
    for change in changes {
        let of = change.delta_index() / BLOCK;
        if of != block {
            len = len.saturating_add(size(block, bits));
            (block, bits) = (of, 0);
        }
        bits |= zigzag_delta(change.delta);
    }
    len.saturating_add(size(block, bits))
}

/// Appends the differences of a sequence bit-packed: for each block the width, and the zigzag values, lowest bits
/// first.
fn put_packed(out: &mut Vec<u8>, changes: &[RunChange], deltas: usize) {
    let mut changes = changes.iter().peekable();
    for start in (0..deltas).step_by(BLOCK) {
        let count = deltas.saturating_sub(start).min(BLOCK);
        let mut values = [0; BLOCK];
        let mut bits = 0;
        while let Some(change) = changes.next_if(|change| change.delta_index() < start.saturating_add(count))
        {
            let value = zigzag_delta(change.delta);
            if let Some(place) = values.get_mut(change.delta_index().saturating_sub(start)) {
                *place = value;
            }
            bits |= value;
        }
        let width = width_of(bits);
        out.push(u8::try_from(width).unwrap_or(64));
        pack(out, values.iter().take(count), width);
    }
}

fn pack<'a>(out: &mut Vec<u8>, values: impl Iterator<Item = &'a u64>, width: usize) {
    if width == 0 {
        return;
    }
    let (mut bits, mut used) = (0_u128, 0_usize);
    for value in values {
        bits |= u128::from(*value) << used;
        used = used.saturating_add(width);
        if used >= 64 {
            let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = bits.to_le_bytes();
            out.extend_from_slice(&[b0, b1, b2, b3, b4, b5, b6, b7]);
            bits >>= 64;
            used = used.saturating_sub(64);
        }
    }
    out.extend(bits.to_le_bytes().iter().take(used.div_ceil(8)));
}

/// Calls `each` with all values of a bit-packed block of a stream.
#[inline]
fn unpack(bytes: &[u8], width: usize, count: usize, mut each: impl FnMut(u64)) {
    let mask = u64::MAX.checked_shr(u32::try_from(64_usize.saturating_sub(width)).unwrap_or(0)).unwrap_or(0);
    let mut words = bytes.chunks(8);
    let (mut bits, mut left) = (0_u128, 0_usize);
    for _ in 0..count {
        if left < width {
            let word = words.next().unwrap_or_default();
            let word = match <[u8; 8]>::try_from(word) {
                Ok(word) => u64::from_le_bytes(word),
                Err(_) => word.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
            };
            bits |= u128::from(word) << left;
            left = left.saturating_add(64);
        }
        each(low_word(bits) & mask);
        bits >>= width;
        left = left.saturating_sub(width);
    }
}

fn low_word(bits: u128) -> u64 {
    let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = bits.to_le_bytes();
    u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7])
}

/// Reads the changes of a sequence of `len` numbers, and calls `each` with those before `until`. Later ones are left
/// out where that is cheap. Returns the number of steps that this took.
#[inline]
pub(super) fn each_change(
    from: &mut PayloadCursor<'_>,
    mode: u8,
    len: usize,
    until: usize,
    mut each: impl FnMut(RunChange),
) -> Result<usize, Malformed> {
    match mode {
        CONSTANT => Ok(1),
        SPARSE => {
            let mut pairs = from.nested("changes")?;
            let bytes = pairs.left();
            let mut next = 1_usize;
            // Of a run that nobody wants, the bytes are skipped.
            while !pairs.is_at_end() && next < until {
                let at = next.saturating_add(pairs.small("gap between changes")?);
                if at >= len {
                    return Err(pairs.error("change after the end of its run"));
                }
                let delta = delta_of(pairs.uint("difference")?);
                next = at.saturating_add(1);
                if at < until {
                    each(RunChange { at: position(at), delta });
                }
            }
            Ok(bytes.saturating_sub(pairs.left()).saturating_add(1))
        }
        DELTAS | DOUBLE_DELTAS => {
            let deltas = len.saturating_sub(1);
            let (mut at, mut delta, mut steps) = (1_u32, 0_u64, 1_usize);
            for start in (0..deltas).step_by(BLOCK) {
                let count = deltas.saturating_sub(start).min(BLOCK);
                let width = usize::from(from.byte("width of a block")?);
                if width > 64 {
                    return Err(from.error(format!("width of {width} bits")));
                }
                let bytes = from.take(block_len(count, width), "block of numbers")?;
                if start.saturating_add(1) >= until {
                    continue;
                }
                if width == 0 && (mode == DELTAS || delta == 0) {
                    at = at.saturating_add(position(count));
                    continue;
                }
                steps = steps.saturating_add(count);
                unpack(bytes, width, count, |value| {
                    let value = delta_of(value);
                    delta = if mode == DELTAS { value } else { delta.wrapping_add(value) };
                    if delta != 0 && index(at) < until {
                        each(RunChange { at, delta });
                    }
                    at = at.saturating_add(1);
                });
            }
            Ok(steps)
        }
        _ => Err(from.error(format!("mode {mode} of numbers is not known"))),
    }
}

/// Reads a sequence of `len` numbers from a stream.
pub(super) fn sequence(from: &mut PayloadCursor<'_>, len: usize) -> Result<Vec<u64>, Malformed> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let mode = from.byte("mode of numbers")?;
    let mut number = u64::from_ne_bytes(from.int("first number")?.to_ne_bytes());
    let mut numbers = Vec::with_capacity(len);
    each_change(from, mode, len, len, |change| {
        // Mostly each number differs from the one before.
        match index(change.at).checked_sub(numbers.len()) {
            Some(1) => numbers.push(number),
            _ => numbers.resize(index(change.at), number),
        }
        number = number.wrapping_add(change.delta);
    })?;
    numbers.resize(len, number);
    Ok(numbers)
}

/// Reader of the stream of a segment's column, run by run.
#[derive(Debug)]
pub(super) struct ColumnReader<'a> {
    modes: std::slice::Iter<'a, u8>,
    firsts: PayloadCursor<'a>,
    payload: PayloadCursor<'a>,
    first: u64,
}

/// Receiver of the cells in the wanted part of a column's run.
pub(super) trait RunSink {
    /// Receives the number at the beginning of the run's wanted range.
    fn first(&mut self, value: u64);
    /// Receives a change of the number inside of the run's wanted range.
    fn change(&mut self, change: RunChange);
    /// Receives the number of a cell's state plus 1, or 0 for none. This happens at the beginning of the range if it
    /// has a state, and for each change.
    fn state(&mut self, at: u32, state: u64);
}

impl<'a> ColumnReader<'a> {
    pub fn new(stream: &'a [u8], runs: usize) -> Result<Self, Malformed> {
        let mut from = PayloadCursor::new(stream);
        let modes = from.take(runs, "modes of runs")?;
        let firsts = from;
        // The payload begins after the last of the first values.
        let firsts_count = modes.iter().filter(|mode| **mode != EMPTY).count();
        from.skip_uints(firsts_count, "first values")?;
        Ok(Self { modes: modes.iter(), firsts, payload: from, first: 0 })
    }

    /// Reads the next run of the column, which has `len` values, and gives the values of a range to `sink`; an empty
    /// range gives none. Returns the number of steps that this took.
    #[inline]
    pub fn next_run(
        &mut self,
        len: usize,
        wanted: Range<usize>,
        sink: &mut impl RunSink,
    ) -> Result<usize, Malformed> {
        let mode = *self.modes.next().ok_or_else(|| self.payload.error("too few modes"))?;
        // No value in the whole run: it has one state.
        if mode == EMPTY {
            let state = self.payload.uint("state of a run")?;
            if !wanted.is_empty() {
                sink.first(0);
                sink.state(position(wanted.start), state.saturating_add(1));
            }
            return Ok(1);
        }
        let mut steps = 0_usize;
        self.first = self.first.wrapping_add(delta_of(self.firsts.uint("first value")?));
        if mode & WITH_STATES != 0 {
            let states = self.payload.byte("mode of states")?;
            let first = self.payload.int("first state")?;
            let mut state = u64::from_ne_bytes(first.to_ne_bytes());
            let (until, start) = (if wanted.is_empty() { 0 } else { wanted.end }, position(wanted.start));
            let mut is_begun = false;
            // The state at the start of the range is that of the last change before it.
            let mut begin = |sink: &mut _, state| {
                if !std::mem::replace(&mut is_begun, true) && state != 0 {
                    RunSink::state(sink, start, state);
                }
            };
            steps = each_change(&mut self.payload, states, len, until, |change| {
                if change.at > start {
                    begin(&mut *sink, state);
                }
                state = state.wrapping_add(change.delta);
                if change.at > start {
                    sink.state(change.at, state);
                }
            })?;
            if !wanted.is_empty() {
                begin(sink, state);
            }
        }
        let mode = mode & !WITH_STATES;
        if wanted.is_empty() {
            return Ok(steps.saturating_add(each_change(&mut self.payload, mode, len, 0, |_| {})?));
        }
        if wanted.start == 0 {
            sink.first(self.first);
            let more = each_change(&mut self.payload, mode, len, wanted.end, |change| sink.change(change))?;
            return Ok(steps.saturating_add(more));
        }
        // Changes before the range are added up: its first value is their sum.
        let (mut value, mut is_begun) = (self.first, false);
        let start = position(wanted.start);
        let more = each_change(&mut self.payload, mode, len, wanted.end, |change| {
            if change.at <= start {
                value = value.wrapping_add(change.delta);
                return;
            }
            if !std::mem::replace(&mut is_begun, true) {
                sink.first(value);
            }
            sink.change(change);
        })?;
        if !is_begun {
            sink.first(value);
        }
        Ok(steps.saturating_add(more))
    }

    /// Checks that the column's whole stream was read.
    pub fn end(&self) -> Result<(), Malformed> {
        self.payload.end()
    }
}
