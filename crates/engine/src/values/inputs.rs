//! Inputs of the formula of each counter, and their locations in the results of a query.

use perfset_core::counter_type::Clock;
use perfset_core::formula::Computation;
use perfset_core::sample::Clocks;
use perfset_core::{Counter, CounterId, CounterType};

use super::entry_rows::{All, CellIndex, ResultRow};
use crate::snapshot::ResolvedEntry;

/// Formula of a counter and the locations of its inputs, if entries of the query contain them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormulaInputs {
    pub(super) computation: Option<Computation>,
    pub(super) base: Option<CellIndex>,
    /// Own clock of the counter, with the clock's frequency, if the counter has one. This clock replaces the clock of
    /// the block.
    own_clock: Option<OwnClock>,
    /// `true` if the fast path can apply: raw value and base are numbers of the same row, and their widths do not
    /// matter.
    pub(super) is_plain: bool,
}

/// Locations of a counter's own clock and its frequency, which are counters themselves.
#[derive(Clone, Copy, Debug)]
struct OwnClock {
    /// Kind of clock that the counter's type names.
    clock: Clock,
    time: Option<CellIndex>,
    freq: Option<CellIndex>,
    /// Columns of the clock and its frequency, if both are in the entry of the counter.
    columns: Option<(usize, usize)>,
}

impl OwnClock {
    /// Replaces the clock that the counter's type names by the counter's own clock. A clock that was not delivered has
    /// frequency 0: a formula that needs it has no value.
    fn over(&self, clocks: &Clocks, number: impl Fn(CellIndex) -> Option<u64>) -> Clocks {
        let ticks = |place: Option<CellIndex>| ticks(place.and_then(&number));
        clocks.with(self.clock, ticks(self.time), ticks(self.freq))
    }
}

/// Converts a counter's value to a clock reading or to ticks per second; 0 if the counter has no value.
pub(crate) fn ticks(number: Option<u64>) -> i64 {
    number.map_or(0, |ticks| i64::try_from(ticks).unwrap_or(i64::MAX))
}

impl FormulaInputs {
    /// Returns `true` if all inputs of the formula are in that query entry.
    pub(crate) fn is_within(&self, entry: usize) -> bool {
        let of_clock = self.own_clock.iter().flat_map(|own| [own.time, own.freq]);
        of_clock.chain([self.base]).flatten().all(|(of, _)| of == entry)
    }

    /// Returns `true` if the counter has a clock of its own.
    pub(super) fn has_own_clock(&self) -> bool {
        self.own_clock.is_some()
    }

    /// Returns the columns of the counter's own clock and its frequency, if it has one and both are in its entry.
    pub(super) fn own_columns(&self) -> Option<(usize, usize)> {
        self.own_clock.as_ref()?.columns
    }

    /// Returns the clocks for a value's formula: those of its entry, with the counter's own clock if it has one.
    pub(super) fn clocks(
        &self,
        entry_clocks: &Clocks,
        row: &ResultRow<'_>,
        entry: usize,
        all: &All<'_>,
        at: usize,
    ) -> Clocks {
        match &self.own_clock {
            None => *entry_clocks,
            Some(own) => own.over(entry_clocks, |place| row.number(place, entry, all, at).get()),
        }
    }
}

/// Returns the formula inputs of a query entry's counters. Inputs are taken from the same entry, else from another
/// entry with the same instance selection.
pub(crate) fn related(infos: &[ResolvedEntry], entry: usize, peers: &[usize]) -> Vec<FormulaInputs> {
    let Some(own) = infos.get(entry) else { return Vec::new() };
    let in_entry = |at: usize, id: CounterId| {
        Some((at, infos.get(at)?.counters().position(|counter| counter.id == id)?))
    };
    let find = |id| in_entry(entry, id).or_else(|| peers.iter().find_map(|at| in_entry(*at, id)));
    let set = own.counterset.as_deref();
    let of_counter = |counter: &Counter| {
        let base_wraps = set.is_some_and(|set| set.base_wraps(counter));
        let computation = Computation::for_type(counter.counter_type);
        let base = counter.divisor().and_then(find);
        let has_clock = counter.perf_time.is_some() || counter.perf_freq.is_some();
        let (time, freq) = (counter.perf_time.and_then(find), counter.perf_freq.and_then(find));
        let columns = match (time, freq) {
            (Some((a, time)), Some((b, freq))) if (a, b) == (entry, entry) => Some((time, freq)),
            _ => None,
        };
        let clock = counter.counter_type.decode().clock;
        FormulaInputs {
            computation: computation.map(|computation| computation.wrapping(counter.wraps, base_wraps)),
            base,
            own_clock: has_clock.then_some(OwnClock { clock, time, freq, columns }),
            // The width decides if a value wraps, and if a double is whole: 4 bytes are half of one.
            is_plain: counter.counter_type != CounterType::PERF_DOUBLE_RAW
                && !counter.wraps
                && !base_wraps
                && base.is_none_or(|(of, _)| of == entry),
        }
    };
    let mut all: Vec<FormulaInputs> = own.counters().map(of_counter).collect();
    all.shrink_to_fit(); // most entries have few counters
    all
}
