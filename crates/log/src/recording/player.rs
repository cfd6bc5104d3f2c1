//! Player of a recording: the ticks of a window, one after the other.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::{CounterId, Guid, InstanceId, Mark, Name, NoValue, Status, Utf16};
use perfset_engine::{
    Catalogue, CellState, Change, Clock, CollectRequest, Entry, Player, Provider, Rows, SourceError, Window,
};

use super::budget::{MOST_STEPS, StepBudget};
use super::files::{ReachedTick, RecordingError, RecordingFile, WantedContents};
use super::registration::TableDefinition;
use super::segment::StoredSegment;
use super::table::{CellStateNumber, Content, RowIdentity, index};
use super::tick::{TickState, TickTable};
use super::timeline::{RecordingFiles, SeenInstance, ticks_in, time_of};
use crate::pick::Pick;

/// Reason given for missing values of counters that were collected at other times than the rest of their counterset.
pub const OTHER_TIMES: &str = "not recorded with the other counters at that time: ask for it alone";

/// Player of a recording's ticks, one after the other. Clones play the same tick.
#[derive(Clone)]
pub(super) struct RecordingPlayer {
    files: Arc<RecordingFiles>,
    played: Arc<Mutex<Played>>,
}

/// Position of a recording's player: ticks to play, and the contents of the current one.
struct Played {
    /// Ticks that are to be played, each as index of the file and of the tick in it.
    ticks: Vec<(usize, usize)>,
    /// Tick before the first one of `ticks`, with which the first one is compared.
    before: Option<(usize, usize)>,
    next: usize,
    state: Option<ReachedTick>,
    budget: StepBudget,
    /// Index of the recording's file to which `state` belongs.
    file: usize,
    /// Reason for which the current sample has no values; such a sample separates two ticks that are not compared.
    broken: Option<NoValue>,
    clocks: ClockReading,
    /// GUIDs of the countersets that the player reads; `None` = all.
    wanted: Option<HashSet<Guid>>,
    /// Ids of the counters whose values the player reads; `None` = all.
    counters: Option<Vec<CounterId>>,
    /// Name and id of the only instance that the player reads; `None` = all are.
    instance: Option<(Utf16, InstanceId)>,
    /// `true` if the player has begun, so that there is a current sample.
    is_begun: bool,
}

impl RecordingPlayer {
    pub fn new(files: &Arc<RecordingFiles>, window: Window, pick: Pick) -> Self {
        Self::of_ticks(files, chosen(files, window, pick), None)
    }

    /// Creates a player of these ticks of a recording; `before` is the tick with which the first of them is compared.
    pub fn of_ticks(
        files: &Arc<RecordingFiles>,
        ticks: Vec<(usize, usize)>,
        before: Option<(usize, usize)>,
    ) -> Self {
        let played = Played {
            ticks,
            before,
            next: 0,
            state: None,
            budget: StepBudget::new(),
            file: 0,
            broken: None,
            clocks: ClockReading::recorded(0),
            wanted: Some(HashSet::new()),
            counters: None,
            instance: None,
            is_begun: false,
        };
        Self { files: Arc::clone(files), played: Arc::new(Mutex::new(played)) }
    }

    fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the player read only these counters from now on; columns of other counters are not even decompressed.
    pub fn want_counters(&self, counters: Vec<CounterId>) {
        let mut played = self.played();
        (played.counters, played.state) = (Some(counters), None);
    }

    /// Makes the player read only the rows of this instance from now on.
    pub fn want_instance(&self, name: Name<'_>, id: InstanceId) {
        let mut played = self.played();
        (played.instance, played.state) = (Some((name.into(), id)), None);
    }

    /// Limits the work steps that the player may take for reading all segments.
    pub fn with_budget(self, budget: StepBudget) -> Self {
        self.played().budget = budget;
        self
    }

    /// Returns the budget of work steps that the player has left.
    pub fn budget(&self) -> StepBudget {
        self.played().budget
    }

    /// Makes the player read the tables of this counterset, too, from now on.
    pub fn want(&self, counterset: Guid) {
        let mut played = self.played();
        let is_new = played.wanted.as_mut().is_some_and(|wanted| wanted.insert(counterset));
        if is_new {
            // The tables that are new have no contents yet: the state is read again.
            played.state = None;
        }
    }
}

/// Returns the ticks of a recording's window that `pick` selects.
pub(super) fn chosen(files: &RecordingFiles, window: Window, pick: Pick) -> Vec<(usize, usize)> {
    if pick == Pick::All {
        return ticks_in(files, window).collect();
    }
    let mut due: Option<(i64, u64)> = None;
    let is_picked = |place: &(usize, usize)| {
        let time = time_of(files, *place);
        let Some((from, passed)) = due else {
            due = Some((time, 0));
            return true;
        };
        let is_picked = match pick {
            Pick::All => true,
            Pick::Nth(n) => passed.saturating_add(1) >= n.get(),
            Pick::Every(step) => time.saturating_sub(from) >= step || time < from,
        };
        due = Some(match (is_picked, pick) {
            (false, _) => (from, passed.saturating_add(1)),
            // Due times keep their grid, unless one was missed.
            (true, Pick::Every(step)) if time.abs_diff(from.saturating_add(step)) < step.unsigned_abs() => {
                (from.saturating_add(step), 0)
            }
            (true, _) => (time, 0),
        });
        is_picked
    };
    ticks_in(files, window).filter(is_picked).collect()
}

impl Player for RecordingPlayer {
    fn step(&mut self) -> Result<bool, SourceError> {
        let mut played = self.played();
        let played = &mut *played;
        loop {
            let Some(place) = played.ticks.get(played.next).copied() else { return Ok(false) };
            let before = match played.next.checked_sub(1) {
                Some(at) => played.ticks.get(at).copied(),
                None => played.before,
            };
            let tick = self.files.files.get(place.0).and_then(|file| file.ticks().get(place.1));
            let Some(clocks) = tick.map(|tick| tick.clocks) else { return Ok(false) };
            if played.broken.is_none() {
                if let Some(reason) = before.and_then(|before| self.files.between(before, place)) {
                    // A sample without values: nothing is compared across it.
                    (played.broken, played.clocks, played.is_begun) = (Some(reason.clone()), clocks, true);
                    return Ok(true);
                }
            }
            played.broken = None;
            played.next = played.next.saturating_add(1);
            if std::mem::replace(&mut played.file, place.0) != place.0 {
                played.state = None;
            }
            match played.load(&self.files, place) {
                // A rate between two ticks that have the same collection would be none.
                Ok(()) if played.is_between(&self.files) => {}
                Ok(()) => {
                    (played.clocks, played.is_begun) = (clocks, true);
                    return Ok(true);
                }
                Err(error) => self.files.damaged(place, &error),
            }
        }
    }
}

impl Played {
    /// Reads the wanted tables of a tick, which becomes the current one.
    fn load(&mut self, files: &RecordingFiles, (file, tick): (usize, usize)) -> Result<(), RecordingError> {
        let Some(of) = files.files.get(file) else { return Ok(()) };
        let Self { ticks, state, wanted, counters, instance, budget, .. } = self;
        let (counters, instance) = (&*counters, &*instance);
        let is_wanted_column = |number: usize, column: usize| {
            let Some(counters) = counters.as_deref() else { return true };
            let table = of.tables.get(number).and_then(Option::as_deref);
            let at = table.and_then(|table| Some((table, *table.columns.get(column)?)));
            let counter = at.and_then(|(table, at)| table.counterset.counters.get(at));
            counter.is_some_and(|own| counters.contains(&own.id))
        };
        let is_wanted = |number: usize| {
            let definition = of.tables.get(number).and_then(Option::as_deref);
            definition.is_some_and(|table| {
                wanted.as_ref().is_none_or(|wanted| wanted.contains(&table.counterset.guid))
            })
        };
        let is_wanted_row = |key: &RowIdentity| {
            instance.as_ref().is_none_or(|(name, id)| (&key.name, key.id) == (name, id.0))
        };
        // Ticks are in the order of files.
        let after = ticks.partition_point(|(other, _)| *other <= file);
        let last = after.checked_sub(1).and_then(|at| ticks.get(at)).map_or(tick, |(_, tick)| *tick);
        let contents = WantedContents {
            tables: &is_wanted,
            columns: &is_wanted_column,
            rows: instance.is_some().then_some(&is_wanted_row),
            last,
            steps: budget.left().min(MOST_STEPS),
        };
        let found = of.reach(tick, state, contents)?;
        if let Some(ReachedTick::Segment { segment, ticks }) = &state {
            let len = of.segment(*segment).map_or(0, StoredSegment::len);
            budget.take((file, *segment), len, ticks.steps_taken());
        }
        found.iter().for_each(|damage| files.damaged_part(file, damage));
        Ok(())
    }

    /// Returns `true` if the current tick has wanted tables, and all of them are as they were collected at an earlier
    /// tick.
    fn is_between(&self, files: &RecordingFiles) -> bool {
        let state = self.state.as_ref().and_then(ReachedTick::state);
        let (Some(state), Some(file)) = (state, files.files.get(self.file)) else { return false };
        let mut is_held = false;
        for (definition, table) in file.tables.iter().zip(&state.tables) {
            let Some(definition) = definition else { continue };
            let guid = definition.counterset.guid;
            if !self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&guid)) {
                continue;
            }
            match table.collected {
                Some(collected) if collected == state.sequence => return false,
                collected => {
                    is_held |= collected.is_some() && holds(definition, &table.clocks, &state.clocks);
                }
            }
        }
        is_held
    }
}

/// Returns `true` if a table that is not in a tick still has the values of an earlier tick: its age is at most two and
/// a half intervals. A table whose program has ended is not collected any more.
pub(super) fn holds(definition: &TableDefinition, collected: &ClockReading, now: &ClockReading) -> bool {
    let interval = u128::from(definition.interval_ms);
    age(collected, now).as_millis().saturating_mul(2) <= interval.saturating_mul(5)
}

/// Returns the error for a counterset that a played tick does not contain.
pub(super) fn not_recorded() -> SourceError {
    SourceError::Failed("it was not recorded at that time".into())
}

impl Clock for RecordingPlayer {
    fn read(&mut self) -> ClockReading {
        self.played().clocks
    }
}

impl Provider for RecordingPlayer {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.files.catalogue))
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        if change == Change::Added {
            self.want(entry.counterset);
        }
        Status::ERROR_SUCCESS
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let mut given = HashSet::new();
        for SeenInstance { instance, .. } in self.files.seen_instances(counterset) {
            let name = instance.name.clone();
            if given.insert(instance.clone()) {
                rows.push_units(name.units().iter().copied(), instance.id, None);
            }
        }
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.want(want.counterset.guid);
        let mut played = self.played();
        let played = &mut *played;
        if let Some(reason) = &played.broken {
            return Err(reason.clone().into());
        }
        if !played.is_begun {
            return Ok(());
        }
        if played.state.is_none() {
            let place = played.next.checked_sub(1).and_then(|at| played.ticks.get(at)).copied();
            if let Some(place) = place {
                played
                    .load(&self.files, place)
                    .map_err(|error| SourceError::Failed(error.to_string().into()))?;
            }
        }
        let state = played.state.as_ref().and_then(ReachedTick::state);
        let (Some(state), Some(file)) = (state, self.files.files.get(played.file)) else {
            return Err(SourceError::NoInstances(want.counterset.guid));
        };
        collect(state, file, want, rows)
    }
}

/// Fills in the rows that a counterset has at the played tick.
fn collect(
    state: &TickState,
    file: &RecordingFile,
    want: &CollectRequest<'_>,
    rows: &mut Rows,
) -> Result<(), SourceError> {
    let guid = want.counterset.guid;
    let of_set = file.tables.iter().zip(&state.tables).filter_map(|(definition, table)| {
        let definition = definition.as_ref().filter(|definition| definition.counterset.guid == guid)?;
        let column = |id| want.counterset.counter(id).and_then(|counter| definition.column(counter));
        let columns: Vec<Option<usize>> = want.counters.iter().map(|id| column(*id)).collect();
        // A table of other counters only can have been collected at other times.
        columns.iter().any(Option::is_some).then_some(())?;
        let collected = table.collected?;
        let is_there = collected == state.sequence || holds(definition, &table.clocks, &state.clocks);
        is_there.then(|| PlayedTable { collected, table, columns, rows: OnceCell::new() })
    });
    let mut tables: Vec<PlayedTable<'_>> = of_set.collect();
    let Some(newest) = tables.iter().map(|table| table.collected).max() else {
        return Err(not_recorded());
    };
    // A counterset has several tables if it was registered again, or if several paths of it were recorded. Those of
    // another time are left out: rates need the clocks of their own collection.
    tables.retain(|table| table.collected == newest);
    let age = (newest != state.sequence)
        .then(|| tables.first().map_or(Duration::ZERO, |first| age(&first.table.clocks, &state.clocks)));
    let mut failure = None;
    let mut clocks = None;
    let mut pushed: HashSet<&RowIdentity> = HashSet::new();
    for (at, played) in tables.iter().enumerate() {
        let content = match &played.table.content {
            Content::Failed(reason) => {
                failure.get_or_insert(reason);
                continue;
            }
            Content::Rows(content) => content,
        };
        let own = content.clocks.unwrap_or_else(|| Clocks::from(&played.table.clocks));
        if *clocks.get_or_insert(own) != own {
            // Rates of its counters would be those of another time.
            continue;
        }
        for (row, key) in content.rows.iter().enumerate() {
            let id = InstanceId(key.id);
            // One table is the usual case, and has each row once.
            let is_new = tables.len() == 1 || pushed.insert(key);
            if !is_new || !want.instances.wants(key.name.units().iter().copied(), id) {
                continue;
            }
            rows.set_owner(key.owner());
            let others = tables.get(at.saturating_add(1)..).unwrap_or_default();
            push(rows, (played, row), (others, own), key, age, state);
        }
    }
    match (clocks, failure) {
        (None, Some(reason)) => Err(reason.clone().into()),
        (clocks, _) => {
            if let Some(clocks) = clocks {
                rows.set_clocks(clocks);
            }
            Ok(())
        }
    }
}

/// Values of a row in a played table, with the state numbers of its cells.
#[derive(Clone, Copy)]
struct PlayedCells<'a> {
    values: &'a [u64],
    states: &'a [CellStateNumber],
}

/// Table of the played tick that has counters of a request, and the column of each requested counter.
struct PlayedTable<'a> {
    collected: u64,
    table: &'a TickTable,
    columns: Vec<Option<usize>>,
    /// Row indexes by the identity of their instances, built at the first request.
    rows: OnceCell<HashMap<&'a RowIdentity, usize>>,
}

impl PlayedTable<'_> {
    /// Returns the values and states of a row of the played table.
    fn cells(&self, row: usize) -> PlayedCells<'_> {
        match &self.table.content {
            Content::Rows(content) => {
                PlayedCells { values: content.row(row), states: content.states_of(row) }
            }
            Content::Failed(_) => PlayedCells { values: &[], states: &[] },
        }
    }

    /// Returns the value of a cell of the played table and the number of its state; `None` if the table lacks the
    /// counter.
    #[inline]
    fn cell(&self, cells: PlayedCells<'_>, wanted: usize) -> Option<(u64, Option<u32>)> {
        let column = self.columns.get(wanted).copied().flatten()?;
        let value = *cells.values.get(column)?;
        let state = cells.states.iter().find(|((_, at), _)| index(*at) == column);
        Some((value, state.map(|(_, number)| *number)))
    }

    /// Returns the index of an instance's row in the played table; `None` if the table lacks it, or was collected at
    /// another time.
    fn row(&self, key: &RowIdentity, at: Clocks) -> Option<usize> {
        let Content::Rows(content) = &self.table.content else { return None };
        let own = content.clocks.unwrap_or_else(|| Clocks::from(&self.table.clocks));
        if own != at {
            return None;
        }
        let rows = self.rows.get_or_init(|| {
            let mut rows = HashMap::new();
            for (row, key) in content.rows.iter().enumerate() {
                rows.entry(key).or_insert(row);
            }
            rows
        });
        rows.get(key).copied()
    }
}

fn age(collected: &ClockReading, now: &ClockReading) -> Duration {
    let age = now.time_100ns.saturating_sub(collected.time_100ns);
    Duration::from_nanos(u64::try_from(age).unwrap_or(0).saturating_mul(100))
}

/// Appends the row of an instance to a collection's rows. Counters that its first table lacks are taken from the
/// other tables.
fn push(
    rows: &mut Rows,
    (first, row): (&PlayedTable<'_>, usize),
    (others, at): (&[PlayedTable<'_>], Clocks),
    key: &RowIdentity,
    age: Option<Duration>,
    state: &TickState,
) {
    let mut writer = rows.push_units(key.name.units().iter().copied(), InstanceId(key.id), key.birth());
    if let Some(age) = age {
        // The table was not due at this tick.
        writer.mark(Mark::Stale(age));
    }
    let cells = first.cells(row);
    for wanted in 0..first.columns.len() {
        let of_others =
            || others.iter().find_map(|other| other.cell(other.cells(other.row(key, at)?), wanted));
        let Some((value, number)) = first.cell(cells, wanted).or_else(of_others) else {
            writer.set_unavailable(wanted, NoValue::Unavailable(OTHER_TIMES.into()));
            continue;
        };
        match number.and_then(|number| state.states.get(number)) {
            None => writer.set(wanted, value),
            Some(CellState::Missing(reason)) => writer.set_unavailable(wanted, reason.clone()),
            Some(CellState::Marked(mark)) => writer.set_marked(wanted, value, *mark),
            Some(CellState::Counted(since, mark)) => writer.set_counted(wanted, value, *mark, *since),
        }
    }
}
