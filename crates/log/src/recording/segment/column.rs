//! Encoding of the columns of a segment's table, from logs of changes to streams.

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;

use super::super::bytes::{Malformed, PayloadCursor, put_int, put_uint, unzigzag, zigzag};
use super::super::table::index;
use super::align::NONE;
use super::rows::Run;
use super::stream::{EMPTY, RunChange, SequenceEncoder, WITH_STATES, sequence};

/// Changes of a column's cells in the order of time, stored in few bytes each.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeLog {
    bytes: Vec<u8>,
    count: usize,
    reading: u32,
    run: u32,
}

impl ChangeLog {
    #[inline]
    pub fn push(&mut self, reading: u32, run: u32, number: u64) {
        let later = reading.saturating_sub(self.reading);
        let step = zigzag(i64::from(run).wrapping_sub(self.run.into()));
        put_uint(&mut self.bytes, step << 1 | u64::from(later != 0));
        if later != 0 {
            put_uint(&mut self.bytes, later.into());
        }
        put_int(&mut self.bytes, i64::from_ne_bytes(number.to_ne_bytes()));
        (self.reading, self.run) = (reading, run);
        self.count = self.count.saturating_add(1);
    }

    /// Calls `each` with the reading, the run and the amount of each change in the log.
    #[inline]
    fn each(&self, mut each: impl FnMut(u32, u32, u64)) -> Result<(), Malformed> {
        let mut from = PayloadCursor::new(&self.bytes);
        let (mut reading, mut run) = (0_u32, 0_i64);
        while !from.is_at_end() {
            let step = from.uint("run of a change")?;
            run = run.wrapping_add(unzigzag(step >> 1));
            if step & 1 != 0 {
                reading = reading.wrapping_add(from.small("reading of a change")?);
            }
            let number = from.int("change")?;
            each(reading, u32::try_from(run).unwrap_or(NONE), u64::from_ne_bytes(number.to_ne_bytes()));
        }
        Ok(())
    }
}

/// Changes of a column's cells, by run.
#[derive(Debug, Default)]
struct ByRun {
    /// Index of the first change of each run, and the end of the last run's changes.
    starts: Vec<u32>,
    changes: Vec<RunChange>,
    next: Vec<u32>,
    /// Changes of a column in the order of its log, each with the index of its run.
    logged: Vec<(u32, RunChange)>,
}

impl ByRun {
    fn fill(&mut self, log: &ChangeLog, runs: &[Run]) -> Result<(), Malformed> {
        self.changes.clear();
        self.starts.clear();
        if log.count == 0 {
            return Ok(());
        }
        self.starts.resize(runs.len().saturating_add(2), 0);
        self.logged.clear();
        self.logged.reserve(log.count);
        log.each(|reading, run, delta| {
            if let Some(count) = self.starts.get_mut(index(run).saturating_add(2)) {
                *count = count.saturating_add(1);
            }
            self.logged.push((run, RunChange { at: reading, delta }));
        })?;
        let mut sum = 0_u32;
        for start in &mut self.starts {
            sum = sum.saturating_add(*start);
            *start = sum;
        }
        self.next.clone_from(&self.starts);
        self.changes.resize(log.count, RunChange::default());
        for (run, change) in &self.logged {
            let first = runs.get(index(*run)).map_or(0, |run| run.first);
            let Some(next) = self.next.get_mut(index(*run).saturating_add(1)) else { continue };
            if let Some(place) = self.changes.get_mut(index(*next)) {
                *place = RunChange { at: change.at.saturating_sub(first), delta: change.delta };
            }
            *next = next.saturating_add(1);
        }
        Ok(())
    }

    fn of(&self, run: usize) -> &[RunChange] {
        let run = run.saturating_add(1);
        let (Some(start), Some(end)) = (self.starts.get(run), self.starts.get(run.saturating_add(1))) else {
            return &[];
        };
        self.changes.get(index(*start)..index(*end)).unwrap_or_default()
    }
}

/// Encoder of a segment's columns, with its buffers.
#[derive(Debug, Default)]
pub(super) struct ColumnEncoder {
    pub sequences: SequenceEncoder,
    values: ByRun,
    states: ByRun,
    /// Encoded stream of the column, which is the encoder's output.
    pub out: Vec<u8>,
    firsts: Vec<u8>,
    payload: Vec<u8>,
    present: Vec<RunChange>,
    state_deltas: Vec<RunChange>,
    first_values: Vec<u64>,
}

impl ColumnEncoder {
    /// Encodes a column of a segment as a stream; `firsts` has the first values of the runs in the order of `runs`.
    pub fn encode(
        &mut self,
        runs: &[Run],
        order: &[u32],
        firsts: impl Iterator<Item = u64>,
        (changes, states): (&ChangeLog, &ChangeLog),
        is_missing: &[bool],
    ) -> Result<(), Malformed> {
        self.values.fill(changes, runs)?;
        self.states.fill(states, runs)?;
        self.first_values.clear();
        self.first_values.extend(firsts);
        self.out.clear();
        self.firsts.clear();
        self.payload.clear();
        let mut before = 0_u64;
        for number in order.iter().map(|run| index(*run)) {
            let Some(run) = runs.get(number) else { continue };
            let len = run.len();
            let first = self.first_values.get(number).copied().unwrap_or(0);
            let states = self.states.of(number);
            let (mode, first) = if states.is_empty() {
                let mode = self.sequences.put_changes(&mut self.payload, len, self.values.of(number));
                (mode, first)
            } else {
                let first =
                    present_values(first, self.values.of(number), states, is_missing, &mut self.present);
                match only_state(first, &self.present, states, is_missing) {
                    Some(state) => {
                        put_uint(&mut self.payload, state);
                        (EMPTY, 0)
                    }
                    None => {
                        let first_state = state_deltas(states, &mut self.state_deltas);
                        self.sequences.put_sequence_of(
                            &mut self.payload,
                            first_state,
                            len,
                            &self.state_deltas,
                        );
                        let mode = self.sequences.put_changes(&mut self.payload, len, &self.present);
                        (mode | WITH_STATES, first)
                    }
                }
            };
            self.out.push(mode);
            if mode != EMPTY {
                put_int(&mut self.firsts, i64::from_ne_bytes(first.wrapping_sub(before).to_ne_bytes()));
                before = first;
            }
        }
        self.out.extend_from_slice(&self.firsts);
        self.out.extend_from_slice(&self.payload);
        Ok(())
    }
}

fn is_state_missing(state: u64, is_missing: &[bool]) -> bool {
    let number = state.checked_sub(1).and_then(|number| usize::try_from(number).ok());
    number.and_then(|number| is_missing.get(number)).copied().unwrap_or(false)
}

/// Finds the changes of a run's values. A missing cell counts as unchanged, so that it costs nothing. Returns the
/// first value.
fn present_values(
    first: u64,
    changes: &[RunChange],
    states: &[RunChange],
    is_missing: &[bool],
    present: &mut Vec<RunChange>,
) -> u64 {
    present.clear();
    let (mut changes, mut states) = (changes.iter().peekable(), states.iter().peekable());
    let (mut value, mut missing) = (first, false);
    let mut known: Option<(u64, u64)> = None;
    // Places at which something changes, and the first.
    let mut at = 0;
    loop {
        if let Some(change) = changes.next_if(|change| change.at == at) {
            value = value.wrapping_add(change.delta);
        }
        if let Some(state) = states.next_if(|state| state.at == at) {
            missing = is_state_missing(state.delta, is_missing);
        }
        if !missing {
            match &mut known {
                None => known = Some((value, value)),
                Some((_, last)) if *last != value => {
                    present.push(RunChange { at, delta: value.wrapping_sub(*last) });
                    *last = value;
                }
                Some(_) => {}
            }
        }
        let next = changes
            .peek()
            .map(|change| change.at)
            .into_iter()
            .chain(states.peek().map(|state| state.at))
            .min();
        let Some(next) = next else { break };
        at = next;
    }
    known.map_or(0, |(first, _)| first)
}

/// Returns the number of the state that explains all missing values, if a run has no value at all.
fn only_state(first: u64, present: &[RunChange], states: &[RunChange], is_missing: &[bool]) -> Option<u64> {
    match *states {
        [RunChange { at: 0, delta }]
            if first == 0 && present.is_empty() && is_state_missing(delta, is_missing) =>
        {
            delta.checked_sub(1)
        }
        _ => None,
    }
}

/// Computes the differences of a run's consecutive state numbers into `deltas`, and returns the first number.
fn state_deltas(states: &[RunChange], deltas: &mut Vec<RunChange>) -> u64 {
    deltas.clear();
    let first = states.first().filter(|state| state.at == 0).map_or(0, |state| state.delta);
    let mut before = first;
    for state in states {
        if state.delta != before {
            deltas.push(RunChange { at: state.at, delta: state.delta.wrapping_sub(before) });
        }
        before = state.delta;
    }
    first
}

/// Appends the own clocks of a counterset as distances from the clocks of the ticks: a bitmap of the readings that have
/// own clocks, unless all have some, and a sequence for each clock.
pub(super) fn put_own_clocks(
    out: &mut Vec<u8>,
    clocks: &[Option<(Clocks, ClockReading)>],
    encoder: &mut SequenceEncoder,
) {
    if clocks.iter().all(Option::is_some) {
        out.push(1);
    } else {
        out.push(2);
        for eight in clocks.chunks(8) {
            let bits = eight.iter().enumerate();
            out.push(bits.fold(0, |bits, (at, clocks)| bits | (u8::from(clocks.is_some()) << at)));
        }
    }
    for field in CLOCKS {
        let mut last = 0_i64;
        let distances = clocks.iter().map(|clocks| {
            // Without clocks the distance goes on.
            if let Some((own, at)) = clocks {
                last = field(own).wrapping_sub(field(&Clocks::from(at)));
            }
            u64::from_ne_bytes(last.to_ne_bytes())
        });
        encoder.put_sequence(out, distances);
    }
}

/// Functions that return each clock of a counterset, in the order in which they are stored.
const CLOCKS: [fn(&Clocks) -> i64; 5] = [
    |clocks| clocks.perf_time,
    |clocks| clocks.perf_freq,
    |clocks| clocks.time_100ns,
    |clocks| clocks.object_time,
    |clocks| clocks.object_freq,
];

/// Reads the own clocks that [`put_own_clocks`] writes, for readings at the clocks `at`.
pub(super) fn own_clocks(stream: &[u8], at: &[ClockReading]) -> Result<Vec<Option<Clocks>>, Malformed> {
    let from = &mut PayloadCursor::new(stream);
    let bitmap = match from.byte("clocks of a table")? {
        1 => None,
        2 => Some(from.take(at.len().div_ceil(8), "bitmap of clocks")?),
        number => return Err(from.error(format!("clocks in the unknown form {number}"))),
    };
    let mut all: Vec<Option<Clocks>> = at.iter().map(|at| Some(Clocks::from(at))).collect();
    let add = |clock: &mut i64, distance: u64| {
        *clock = clock.wrapping_add(i64::from_ne_bytes(distance.to_ne_bytes()))
    };
    for field in 0..CLOCKS.len() {
        for (clocks, distance) in all.iter_mut().flatten().zip(sequence(from, at.len())?) {
            let Clocks { perf_time, perf_freq, time_100ns, object_time, object_freq } = clocks;
            let fields = [perf_time, perf_freq, time_100ns, object_time, object_freq];
            if let Some(clock) = fields.into_iter().nth(field) {
                add(clock, distance);
            }
        }
    }
    from.end()?;
    for (reading, clocks) in all.iter_mut().enumerate() {
        let byte = bitmap.map_or(u8::MAX, |bitmap| bitmap.get(reading / 8).copied().unwrap_or(0));
        if byte & (1 << (reading % 8)) == 0 {
            *clocks = None;
        }
    }
    Ok(all)
}
