//! Generated machine: names and counts of its instances at each step, and the values expected in an output. The
//! tested code computes none of them: the formulas are implemented a second time here.

use std::sync::Arc;

use perfset::{
    Catalogue, Counter, CounterId, CounterType, Counterset, Guid, InstanceType, Mark, NoValue, SourceError,
};

use crate::lives::Lives;
use crate::random::Random;

/// Time of the first step: 2026-01-03 05:04:05 UTC, in 100 ns since 1601.
pub const BEGIN: i64 = 134_118_902_450_000_000;
pub const UNIX_EPOCH: i64 = 116_444_736_000_000_000;

/// Event in the life of a generated machine that an output must handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// An instance begins that was not in the step before.
    Begins,
    /// An instance of the step before has ended.
    Ends,
    /// An instance has another name than in the step before.
    Renamed,
    /// An instance that was away exists again.
    Returns,
    /// A new instance has the name and the id of one that ended.
    Replaced,
    /// Two instances have the same name.
    SameName,
    /// The instances common to two steps are in another order in the second.
    Reordered,
    /// A provider fails at a step.
    ProviderFails,
    /// A counter's value is missing.
    Missing,
    /// A counter's value has a mark.
    Marked,
    /// A counter's value has the mark `Held`.
    Held,
    /// A count of an instance falls.
    Falls,
    /// A counterset has more counters than in the step before.
    CounterAdded,
}

pub const EVENTS: [Event; 13] = [
    Event::Begins,
    Event::Ends,
    Event::Renamed,
    Event::Returns,
    Event::Replaced,
    Event::SameName,
    Event::Reordered,
    Event::ProviderFails,
    Event::Missing,
    Event::Marked,
    Event::Held,
    Event::Falls,
    Event::CounterAdded,
];

/// Formula by which a generated counter is displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Level, a raw value of 8 bytes.
    Level,
    /// Level, a raw value of 4 bytes.
    Short,
    /// Rate of events per second.
    Rate,
    /// Timer, shown as a percentage of the time that passed.
    Timer,
    /// Percentage of a base counter.
    Share,
    /// Base counter of a percentage; not displayed.
    ShareBase,
    /// Average: the difference divided by the difference of the base counter.
    Average,
    /// Base counter of an average; not displayed.
    AverageBase,
    /// Time that has passed since an event.
    Elapsed,
}

impl Kind {
    pub fn counter_type(self) -> CounterType {
        match self {
            Self::Level => CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
            Self::Short => CounterType::PERF_COUNTER_RAWCOUNT,
            Self::Rate => CounterType::PERF_COUNTER_BULK_COUNT,
            Self::Timer => CounterType::PERF_100NSEC_TIMER,
            Self::Share => CounterType::PERF_LARGE_RAW_FRACTION,
            Self::ShareBase => CounterType::PERF_LARGE_RAW_BASE,
            Self::Average => CounterType::PERF_AVERAGE_BULK,
            Self::AverageBase => CounterType::PERF_AVERAGE_BASE,
            Self::Elapsed => CounterType::PERF_ELAPSED_TIME,
        }
    }

    pub fn needs_two(self) -> bool {
        matches!(self, Self::Rate | Self::Timer | Self::Average)
    }

    pub fn is_base(self) -> bool {
        matches!(self, Self::ShareBase | Self::AverageBase)
    }
}

/// Divisor of the difference between two samples, for the formulas that need two.
#[derive(Clone, Copy)]
enum Difference {
    /// Seconds that passed between the samples.
    PerSecond,
    /// Time that passed between the samples, in 100 ns; the result is a percentage.
    OfTime,
    /// Difference of the base counter between the samples.
    PerBase,
}

/// Counter of a generated machine's counterset.
#[derive(Clone, Debug)]
pub struct Column {
    pub id: u32,
    pub name: &'static str,
    pub kind: Kind,
    /// Index of the column with the base counter.
    pub base: Option<usize>,
    /// First step at which the generated counter exists.
    pub since: usize,
}

/// Possible counters of a generated counterset: name, formula, and formula of the base, which follows its counter.
const COLUMNS: [(&str, Kind, Option<Kind>); 8] = [
    ("Level", Kind::Level, None),
    ("Events/sec", Kind::Rate, None),
    ("% Busy Time", Kind::Timer, None),
    ("% Full", Kind::Share, Some(Kind::ShareBase)),
    ("Short", Kind::Short, None),
    ("Items/Call", Kind::Average, Some(Kind::AverageBase)),
    ("Elapsed Time", Kind::Elapsed, None),
    ("Other Level", Kind::Level, None),
];

/// Counterset of a generated machine.
#[derive(Clone, Debug)]
pub struct Set {
    pub guid: Guid,
    pub name: &'static str,
    pub is_single: bool,
    pub provider: usize,
    pub columns: Vec<Column>,
    /// Registered definitions of the counterset, each with its first step.
    pub versions: Vec<(usize, Arc<Counterset>)>,
}

impl Set {
    /// Returns the counters of the counterset that exist at a step.
    pub fn at(&self, step: usize) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().filter(move |(_, column)| column.since <= step)
    }

    /// Returns the definition of the counterset that is registered at a step.
    pub fn version(&self, step: usize) -> &Arc<Counterset> {
        &self.versions.iter().rev().find(|(from, _)| *from <= step).expect("the first is of step 0").1
    }
}

/// Raw value of one counter in a row of the generated machine, and its mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub raw: Result<u64, Lack>,
    pub mark: Option<Mark>,
}

/// Reason for a missing value of the generated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    Unavailable,
    Denied,
    Failed,
    NotGiven,
}

impl Lack {
    pub fn reason(self) -> NoValue {
        match self {
            Self::Unavailable => NoValue::Unavailable("not here".into()),
            Self::Denied => NoValue::Denied("ask root".into()),
            Self::Failed => NoValue::Failed("the file is garbage".into()),
            Self::NotGiven => NoValue::NotGiven,
        }
    }

    pub fn keyword(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::NotGiven => "not_given",
        }
    }
}

/// Instance of a counterset at a step.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: &'static str,
    pub id: u32,
    /// Birth of the row's instance; 0 if unknown.
    pub birth: u64,
    /// Number of earlier rows with the same instance name, ignoring case.
    pub occurrence: usize,
    pub cells: Vec<Cell>,
    pub events: Vec<Event>,
}

/// Result of a generated machine's provider for one counterset.
#[derive(Clone, Debug)]
pub enum Delivered {
    Rows(Vec<Row>),
    Failure(Lack),
    Late,
}

#[derive(Clone, Debug)]
pub struct Step {
    /// PerfTime100NSec of the step: 100 ns since 1601, in whole milliseconds.
    pub time: i64,
    /// PerfTimeStamp of the step in ns.
    pub perf_time: i64,
    /// Result of each counterset at this step of the generated machine.
    pub sets: Vec<Delivered>,
    /// Events of the step that belong to no row, each with the index of its counterset.
    pub events: Vec<(usize, Event)>,
}

#[derive(Clone, Debug)]
pub struct World {
    pub seed: u64,
    pub sets: Vec<Set>,
    pub steps: Vec<Step>,
    /// Catalogue of each provider of the generated machine, by step.
    pub catalogues: Vec<Vec<Arc<Catalogue>>>,
}

/// Expected value of one counter in a row of an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Want {
    pub value: Result<f64, &'static str>,
    pub raw: Option<u64>,
    pub base: Option<u64>,
    pub mark: Option<Mark>,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0xA24B_AED4_963E_E407) ^ 0x5EED);
        let step_count = random.within(4, 5) as usize;
        let plan = [("Alpha", false, 0), ("Beta", false, 1), ("Gamma", true, 1)];
        let sets: Vec<Set> = plan
            .into_iter()
            .enumerate()
            .map(|(at, (name, is_single, provider))| {
                set(&mut random, at, name, is_single, provider, step_count)
            })
            .collect();
        let mut lives: Vec<Lives> = sets.iter().map(|set| Lives::new(&mut random, set)).collect();
        let mut steps: Vec<Step> = Vec::new();
        let (mut time, mut perf_time) = (BEGIN, 5_000_000_000);
        for at in 0..step_count {
            let ms = random.within(400, 2_500) as i64;
            (time, perf_time) = (time + ms * 10_000, perf_time + ms * 1_000_000);
            let mut step = Step { time, perf_time, sets: Vec::new(), events: Vec::new() };
            let mut outcome = Vec::new();
            for _ in 0..2 {
                outcome.push(random.once_in(14).then(|| match random.below(4) {
                    0 => Delivered::Late,
                    1 => Delivered::Failure(Lack::Denied),
                    _ => Delivered::Failure(Lack::Failed),
                }));
            }
            for (number, (set, lives)) in sets.iter().zip(&mut lives).enumerate() {
                let rows = lives.step(&mut random, set, at, ms as u64);
                if at > 0 && !Arc::ptr_eq(set.version(at), set.version(at - 1)) {
                    step.events.push((number, Event::CounterAdded));
                }
                step.sets.push(match &outcome[set.provider] {
                    Some(failure) => {
                        step.events.push((number, Event::ProviderFails));
                        failure.clone()
                    }
                    None => Delivered::Rows(rows),
                });
            }
            steps.push(step);
        }
        let mut world = Self { seed, sets, steps, catalogues: Vec::new() };
        world.note_what_is_seen();
        world.catalogues = world.make_catalogues();
        world
    }

    /// Makes the catalogues of the generated machine; consecutive steps share one until a definition changes.
    fn make_catalogues(&self) -> Vec<Vec<Arc<Catalogue>>> {
        let mut all: Vec<Vec<Arc<Catalogue>>> = Vec::new();
        for step in 0..self.steps.len() {
            let of = |provider: usize| {
                let own = self.sets.iter().filter(|set| set.provider == provider);
                let countersets: Vec<_> = own.map(|set| Arc::clone(set.version(step))).collect();
                let before = all.last().map(|all| &all[provider]);
                match before {
                    Some(before)
                        if before.countersets.iter().zip(&countersets).all(|(a, b)| Arc::ptr_eq(a, b)) =>
                    {
                        Arc::clone(before)
                    }
                    _ => Arc::new(Catalogue::new("Random", countersets)),
                }
            };
            let both = vec![of(0), of(1)];
            all.push(both);
        }
        all
    }

    /// Returns this generated machine without names that differ only in case, because they are equal in the paths of
    /// a log.
    pub fn for_logs(&self) -> Self {
        let mut world = self.clone();
        for delivered in world.steps.iter_mut().flat_map(|step| &mut step.sets) {
            let Delivered::Rows(rows) = delivered else { continue };
            rows.iter_mut().filter(|row| row.name == "B").for_each(|row| row.name = "D");
            let names: Vec<_> = rows.iter().map(|row| fold(row.name)).collect();
            for (at, row) in rows.iter_mut().enumerate() {
                row.occurrence = names[..at].iter().filter(|name| **name == names[at]).count();
            }
        }
        world
    }

    /// Adds the events that a reader can see to the rows and steps of the generated machine.
    fn note_what_is_seen(&mut self) {
        for at in 0..self.steps.len() {
            for set in 0..self.sets.len() {
                let (before, now) = self.steps.split_at_mut(at);
                let now = &mut now[0];
                let before = before.last().and_then(|step| match &step.sets[set] {
                    Delivered::Rows(rows) => Some(rows),
                    _ => None,
                });
                let Delivered::Rows(rows) = &mut now.sets[set] else { continue };
                let names: Vec<_> = rows.iter().map(|row| fold(row.name)).collect();
                for (at, row) in rows.iter_mut().enumerate() {
                    row.occurrence = names[..at].iter().filter(|name| **name == names[at]).count();
                    if names.iter().filter(|name| **name == fold(row.name)).count() > 1 {
                        row.events.push(Event::SameName);
                    }
                }
                let Some(before) = before else { continue };
                let key = |row: &Row| (row.name, row.id);
                for row in rows.iter_mut() {
                    match before.iter().find(|other| key(other) == key(row)) {
                        None => row.events.push(Event::Begins),
                        Some(other) if other.birth != row.birth => row.events.push(Event::Replaced),
                        Some(other) => {
                            let fell = |(cell, old): (&Cell, &Cell)| match (&cell.raw, &old.raw) {
                                (Ok(new), Ok(old)) => new < old,
                                _ => false,
                            };
                            let columns = self.sets[set].columns.iter();
                            let falls =
                                |(column, cells): (&Column, _)| column.kind.needs_two() && fell(cells);
                            if columns.zip(row.cells.iter().zip(&other.cells)).any(falls) {
                                row.events.push(Event::Falls);
                            }
                        }
                    }
                }
                let common = |rows: &[Row], others: &[Row]| -> Vec<(&'static str, u32)> {
                    let is_there = |row: &&Row| others.iter().any(|other| key(other) == key(row));
                    rows.iter().filter(is_there).map(key).collect()
                };
                let ended = before.iter().filter(|old| rows.iter().all(|row| key(row) != key(old))).count();
                if ended > 0 {
                    now.events.push((set, Event::Ends));
                }
                if common(rows, before) != common(before, rows) {
                    now.events.push((set, Event::Reordered));
                }
            }
        }
    }

    /// Returns the rows of a counterset at a step, `None` if its provider failed.
    pub fn rows(&self, step: usize, set: usize) -> Option<&[Row]> {
        match &self.steps[step].sets[set] {
            Delivered::Rows(rows) => Some(rows),
            _ => None,
        }
    }

    /// Returns the reason for a counterset without rows at a step.
    pub fn failure(&self, step: usize, set: usize) -> Option<&'static str> {
        match &self.steps[step].sets[set] {
            Delivered::Rows(rows) if rows.is_empty() => Some("no_instance"),
            Delivered::Rows(_) => None,
            Delivered::Failure(lack) => Some(lack.keyword()),
            Delivered::Late => Some("late"),
        }
    }

    /// Returns the expected value of a counter of a row, if the previous sample was that of step `before`.
    pub fn want(&self, step: usize, before: Option<usize>, set: usize, row: usize, column: usize) -> Want {
        let about = &self.sets[set].columns[column];
        let now = &self.rows(step, set).expect("there are rows")[row];
        let cell = &now.cells[column];
        let base = |row: &Row| about.base.and_then(|base| row.cells[base].raw.ok());
        let raw = cell.raw.ok();
        let value = match cell.raw {
            Err(lack) => Err(lack.keyword()),
            Ok(raw) => self.value(step, before, set, now, column, raw),
        };
        // A difference lacks what either of its ends lacks.
        let rows = before.filter(|_| about.kind.needs_two()).and_then(|before| {
            let is_same = Arc::ptr_eq(self.sets[set].version(step), self.sets[set].version(before));
            self.rows(before, set).filter(|_| is_same)
        });
        let same = rows.and_then(|rows| {
            rows.iter().find(|old| (old.name, old.id, old.birth) == (now.name, now.id, now.birth))
        });
        let then =
            same.map(|old| &old.cells[column]).filter(|cell| cell.raw.is_ok()).and_then(|cell| cell.mark);
        let mark = match then {
            Some(Mark::Partial(_)) => then,
            _ => cell.mark,
        };
        Want { value, raw, base: raw.and_then(|_| base(now)), mark: raw.and(mark) }
    }

    /// Returns the events that an output shows for a counter of a row.
    pub fn events(&self, step: usize, set: usize, row: usize, column: usize) -> Vec<Event> {
        let row = &self.rows(step, set).expect("there are rows")[row];
        let cell = &row.cells[column];
        let own = match (cell.raw, cell.mark) {
            (Err(_), _) => Some(Event::Missing),
            (_, Some(Mark::Held)) => Some(Event::Held),
            (_, Some(_)) => Some(Event::Marked),
            _ => None,
        };
        let needs_two = self.sets[set].columns[column].kind.needs_two();
        let of_row = row.events.iter().copied().filter(|event| needs_two || *event != Event::Falls);
        of_row.chain(own).collect()
    }

    fn value(
        &self,
        step: usize,
        before: Option<usize>,
        set: usize,
        now: &Row,
        column: usize,
        raw: u64,
    ) -> Result<f64, &'static str> {
        let about = &self.sets[set].columns[column];
        let base = |row: &Row| about.base.and_then(|base| row.cells[base].raw.ok()).ok_or("missing_base");
        let difference = match about.kind {
            Kind::Level | Kind::Short => return Ok(raw as f64),
            Kind::Share => return Ok(100.0 * raw as f64 / base(now)? as f64),
            Kind::Elapsed => return Ok((self.steps[step].time - raw as i64) as f64 / 1e7),
            Kind::ShareBase | Kind::AverageBase => return Err("not_displayable"),
            Kind::Rate => Difference::PerSecond,
            Kind::Timer => Difference::OfTime,
            Kind::Average => Difference::PerBase,
        };
        // Samples of another registration are not compared, and neither are those of a provider that failed.
        let before = before
            .filter(|before| Arc::ptr_eq(self.sets[set].version(step), self.sets[set].version(*before)));
        let older = before.and_then(|before| Some((before, self.rows(before, set)?)));
        let (before, rows) = older.filter(|(_, rows)| !rows.is_empty()).ok_or("needs_two_samples")?;
        let same = rows.iter().find(|old| (old.name, old.id) == (now.name, now.id)).ok_or("new_instance")?;
        let old = same.cells[column].raw.map_err(|_| "needs_two_samples")?;
        if same.birth != now.birth {
            return Err("replaced");
        }
        let risen = || raw.checked_sub(old).map(|risen| risen as f64).ok_or("negative_value");
        let (then, step) = (&self.steps[before], &self.steps[step]);
        match difference {
            Difference::PerSecond => Ok(risen()? * 1e9 / (step.perf_time - then.perf_time) as f64),
            Difference::OfTime => Ok(100.0 * risen()? / (step.time - then.time) as f64),
            Difference::PerBase => {
                let (old, new) = (base(same)?, base(now)?);
                let risen = risen()?;
                match new.checked_sub(old).ok_or("negative_denominator")? {
                    0 if risen == 0.0 => Ok(0.0),
                    0 => Err("negative_denominator"),
                    passed => Ok(risen / passed as f64),
                }
            }
        }
    }
}

/// Returns an instance name in upper case. The names used here compare correctly that way.
pub fn fold(name: &str) -> String {
    name.to_uppercase()
}

fn set(
    random: &mut Random,
    at: usize,
    name: &'static str,
    is_single: bool,
    provider: usize,
    steps: usize,
) -> Set {
    let mut columns = Vec::new();
    let (mut count, mut later) = (0, None);
    while count == 0 {
        for (number, (name, kind, base)) in COLUMNS.iter().enumerate() {
            // The first is always there: a set has at least one counter from the beginning.
            if number > 0 && random.once_in(2) {
                continue;
            }
            let since = match number > 0 && random.once_in(4) {
                true => *later.get_or_insert_with(|| 1 + random.below(steps - 1)),
                false => 0,
            };
            let id = columns.len() as u32 + 1;
            let base_at = base.map(|_| columns.len() + 1);
            columns.push(Column { id, name, kind: *kind, base: base_at, since });
            if let Some(base) = base {
                columns.push(Column { id: id + 1, name: "", kind: *base, base: None, since });
            }
            count += 1;
        }
    }
    let guid = Guid::from_u128(0x7000_0000_0000_4000_8000_0000_0000_0000 + at as u128);
    let registered = |step: usize| {
        let counters = columns.iter().filter(|column| column.since <= step).map(counter);
        Arc::new(
            Counterset::new(
                guid,
                name,
                if is_single { InstanceType::Single } else { InstanceType::Multiple },
            )
            .help("Help.")
            .provider(Guid::from_u128(7), "Random")
            .counters(counters.collect::<Vec<_>>()),
        )
    };
    let mut versions = vec![(0, registered(0))];
    versions.extend(later.map(|step| (step, registered(step))));
    Set { guid, name, is_single, provider, columns, versions }
}

fn counter(column: &Column) -> Counter {
    let counter = Counter::new(CounterId(column.id), column.kind.counter_type())
        .help("Help.")
        .base(column.base.map(|_| CounterId(column.id + 1)))
        .source("a test");
    if column.kind.is_base() { counter.hidden() } else { counter.name(column.name) }
}

/// Returns the error of a provider of the generated machine that fails.
pub fn source_error(delivered: &Delivered) -> Option<SourceError> {
    match delivered {
        Delivered::Rows(_) => None,
        Delivered::Late => Some(SourceError::Late),
        Delivered::Failure(Lack::Denied) => Some(SourceError::Denied("ask root".into())),
        Delivered::Failure(_) => Some(SourceError::Failed("the file is garbage".into())),
    }
}
