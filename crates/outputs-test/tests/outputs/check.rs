//! Comparison of the values found in an output with the values that must be there.

use std::collections::HashMap;

use crate::world::{EVENTS, Event, Want, World};

/// Names of the outputs of perfset that are checked.
pub const OUTPUTS: [&str; 21] = [
    "table",
    "csv",
    "json",
    "wide csv",
    "wide json",
    "pdh-csv",
    "top",
    "summary",
    "relog csv",
    "tsv",
    "json lines",
    "sqlite",
    "logs to csv",
    "logs to json",
    "prometheus",
    "openmetrics",
    "page stream",
    "page history",
    "plot",
    "v1 block",
    "c consumer",
];

/// Number of checked values of each output, and how often each event occurred in them.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: HashMap<(&'static str, Event), u64>,
    values: HashMap<&'static str, u64>,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
        for (key, count) in &other.values {
            *self.values.entry(*key).or_default() += count;
        }
    }

    pub fn count(&self, output: &'static str, event: Event) -> u64 {
        self.counts.get(&(output, event)).copied().unwrap_or(0)
    }

    /// Prints the counts of values and events as a table.
    pub fn print(&self) {
        print!("{:>14} {:>10}", "output", "values");
        EVENTS.iter().for_each(|event| print!(" {:>13}", format!("{event:?}")));
        println!();
        for output in OUTPUTS {
            print!("{output:>14} {:>10}", self.values.get(output).copied().unwrap_or(0));
            EVENTS.iter().for_each(|event| print!(" {:>13}", self.count(output, *event)));
            println!();
        }
    }

    /// Asserts that every event of generated machines occurred in every output.
    pub fn assert_complete(&self) {
        for output in OUTPUTS {
            assert_ne!(self.values.get(output), None, "{output} was checked for nothing");
            for event in EVENTS {
                assert_ne!(self.count(output, event), 0, "{output} has never seen {event:?}");
            }
        }
    }
}

/// Number as an output shows it, with the rounding that it may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    pub value: f64,
    /// Largest difference that the shown number may have from the expected value.
    pub within: f64,
}

impl Number {
    /// Returns a number that was printed with all its digits.
    pub fn full(value: f64) -> Self {
        Self { value, within: value.abs() * 1e-11 + 1e-12 }
    }

    /// Parses a number that was rounded for display: it may differ by half of its last digit. A short form ends in a
    /// prefix, such as `k`.
    pub fn shown(text: &str) -> Option<Self> {
        let plain = text.replace(',', "");
        let prefix = ["k", "M", "G", "T", "P", "E"].iter().position(|prefix| plain.ends_with(prefix));
        let scale = prefix.map_or(1.0, |at| 1_000.0_f64.powi(at as i32 + 1));
        let plain = plain.trim_end_matches(|c: char| prefix.is_some() && c.is_ascii_alphabetic());
        let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let value = plain.parse::<f64>().ok()? * scale;
        let digit = 0.1_f64.powi(decimals as i32) * scale;
        Some(Self { value, within: 0.500_001 * digit + value.abs() * 1e-12 })
    }

    pub fn is(self, want: f64) -> bool {
        (self.value - want).abs() <= self.within
    }
}

/// Value of a counter as one output presents it. A field is `None` if the output does not contain it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Formatted value in the output; `Some(None)` if the output says that there is none.
    pub value: Option<Option<Number>>,
    pub status: Option<String>,
    pub raw: Option<Option<u64>>,
    pub base: Option<Option<u64>>,
    pub mark: Option<Option<String>>,
    pub id: Option<u32>,
    /// Number of the output's series, which identifies the instance during its whole life.
    pub series: Option<u64>,
}

impl Found {
    pub fn number(number: Option<Number>) -> Self {
        Self { value: Some(number), ..Self::default() }
    }

    /// Returns the difference of the found value from an expected value, if there is one.
    fn fault(&self, due: &Due) -> Option<String> {
        let want = &due.want;
        if let Some(value) = &self.value {
            match (value, &want.value) {
                (Some(number), Ok(want)) if number.is(*want) => {}
                (None, Err(_)) => {}
                _ => return Some(format!("has {value:?}, must have {:?}", want.value)),
            }
        }
        let status = want.value.map_or_else(|status| status, |_| "ok");
        if self.status.as_ref().is_some_and(|found| found != status) {
            return Some(format!("has status {:?}, must have {status}", self.status));
        }
        if self.raw.is_some_and(|raw| raw != want.raw) {
            return Some(format!("has raw {:?}, must have {:?}", self.raw, want.raw));
        }
        if self.base.is_some_and(|base| base != want.base) {
            return Some(format!("has base {:?}, must have {:?}", self.base, want.base));
        }
        let mark = want.mark.and_then(|mark| mark.keyword());
        if self.mark.as_ref().is_some_and(|found| found.as_deref() != mark) {
            return Some(format!("has mark {:?}, must have {mark:?}", self.mark));
        }
        if self.id.is_some_and(|id| Some(id) != due.id) {
            return Some(format!("has id {:?}, must have {:?}", self.id, due.id));
        }
        None
    }
}

/// Value that must be found in an output.
#[derive(Clone, Debug)]
pub struct Due {
    pub want: Want,
    pub id: Option<u32>,
    /// Birth of the value's instance; 0 if unknown.
    pub birth: u64,
    /// `true` if the value's counter has a base counter.
    pub has_base: bool,
    /// Raw value of the base counter, also if the counter itself has none.
    pub base: Option<u64>,
    pub events: Vec<Event>,
}

/// Key of a checked value: its step and name.
pub type Key = (usize, String);

/// Check of one output: its expected and found values.
pub struct Check<'w> {
    pub world: &'w World,
    output: &'static str,
    due: HashMap<Key, Vec<Due>>,
    found: Vec<(Key, Found)>,
    tally: Tally,
}

/// Function that returns the name of a value by counterset, instance, number among instances of the same name, and
/// counter.
pub type Naming<'a> = &'a dyn Fn(&str, &str, usize, &str) -> String;

impl<'w> Check<'w> {
    pub fn new(world: &'w World, output: &'static str) -> Self {
        Self { world, output, due: HashMap::new(), found: Vec::new(), tally: Tally::default() }
    }

    /// Expects all values of these steps in the output. `says_why` also expects a line with the reason where a set
    /// has no rows.
    pub fn expect(
        mut self,
        steps: std::ops::Range<usize>,
        has_before: bool,
        says_why: bool,
        name: Naming<'_>,
    ) -> Self {
        for step in steps.clone() {
            let before = step.checked_sub(1).filter(|_| has_before || step > steps.start);
            for set in 0..self.world.sets.len() {
                self.expect_set(step, before, set, says_why, name);
            }
            self.events_of(step);
        }
        self
    }

    /// Counts the events at a step that belong to no row.
    pub fn events_of(&mut self, step: usize) {
        (0..self.world.sets.len()).for_each(|set| self.events_of_set(step, set));
    }

    /// Counts the events of one counterset at a step that belong to no row.
    pub fn events_of_set(&mut self, step: usize, set: usize) {
        let own = self.world.steps[step].events.iter().filter(|(of, _)| *of == set);
        self.seen(&own.map(|(_, event)| *event).collect::<Vec<_>>());
    }

    /// Counts events that the output has handled.
    pub fn seen(&mut self, events: &[Event]) {
        for event in events {
            *self.tally.counts.entry((self.output, *event)).or_default() += 1;
        }
    }

    fn expect_set(
        &mut self,
        step: usize,
        before: Option<usize>,
        set: usize,
        says_why: bool,
        name: Naming<'_>,
    ) {
        let world = self.world;
        let about = &world.sets[set];
        let shown = || about.at(step).filter(|(_, column)| !column.kind.is_base());
        if let Some(status) = world.failure(step, set) {
            let instance = if about.is_single { "" } else { "*" };
            for (_, column) in shown().filter(|_| says_why) {
                let want = Want { value: Err(status), raw: None, base: None, mark: None };
                let due = Due {
                    want,
                    id: None,
                    birth: 0,
                    has_base: column.base.is_some(),
                    base: None,
                    events: Vec::new(),
                };
                self.due.entry((step, name(about.name, instance, 0, column.name))).or_default().push(due);
            }
            return;
        }
        for (at, row) in world.rows(step, set).unwrap_or_default().iter().enumerate() {
            for (column, about_column) in shown() {
                let want = world.want(step, before, set, at, column);
                let key = (step, name(about.name, row.name, row.occurrence, about_column.name));
                let id = (!about.is_single).then_some(row.id);
                self.due.entry(key).or_default().push(Due {
                    want,
                    id,
                    birth: row.birth,
                    has_base: about_column.base.is_some(),
                    base: about_column.base.and_then(|base| row.cells[base].raw.ok()),
                    events: world.events(step, set, at, column),
                });
            }
        }
    }

    /// Expects one more value in the output.
    pub fn must(&mut self, key: Key, due: Due) {
        self.due.entry(key).or_default().push(due);
    }

    /// Keeps the expected values for which `keep` returns `true`. The other values must not be in the output.
    pub fn retain(&mut self, keep: impl Fn(&Key, &Due) -> bool) {
        let mut left_out = Vec::new();
        self.due.retain(|key, dues| {
            dues.retain(|due| {
                let keeps = keep(key, due);
                left_out.extend(due.events.iter().filter(|_| !keeps));
                keeps
            });
            !dues.is_empty()
        });
        self.seen(&left_out);
    }

    /// Renames expected values of the output by a function.
    pub fn rename(&mut self, name: impl Fn(&Key) -> Option<String>) {
        for (key, dues) in std::mem::take(&mut self.due) {
            let key = name(&key).map_or(key.clone(), |name| (key.0, name));
            self.due.entry(key).or_default().extend(dues);
        }
    }

    /// Returns `true` if a value is expected for this key in the output.
    pub fn is_due(&self, key: &Key) -> bool {
        self.due.contains_key(key)
    }

    /// Calls a function that may change each expected value of the output.
    pub fn each_due_mut(&mut self, mut change: impl FnMut(&Key, &mut Due)) {
        self.due.iter_mut().for_each(|(key, dues)| dues.iter_mut().for_each(|due| change(key, due)));
    }

    /// Calls a function for each expected value of the output, in no order.
    pub fn each_due(&self, mut each: impl FnMut(&Key, &Due)) {
        self.due.iter().for_each(|(key, dues)| dues.iter().for_each(|due| each(key, due)));
    }

    pub fn found(&mut self, key: Key, found: Found) {
        self.found.push((key, found));
    }

    /// Compares the output's found and expected values. Returns the counts, or the first fault.
    pub fn finish(mut self) -> Result<Tally, String> {
        let (output, seed) = (self.output, self.world.seed);
        let fault =
            |key: &Key, what: &str| Err(format!("{output}: seed {seed}: step {}: {}: {what}", key.0, key.1));
        // Of series: which thing each is, by the name of the value, and the other way round.
        let mut things: HashMap<u64, (Option<u32>, u64)> = HashMap::new();
        let mut series: HashMap<(String, Option<u32>, u64), u64> = HashMap::new();
        for (key, found) in &self.found {
            let Some(dues) = self.due.get_mut(key) else {
                return fault(key, &format!("is there and must not be: {found:?}"));
            };
            let bound = found.series.and_then(|series| things.get(&series)).copied();
            let is_other = |due: &Due| {
                let known = found.series.and(series.get(&(key.1.clone(), due.id, due.birth)));
                match bound {
                    Some(thing) => thing != (due.id, due.birth),
                    None => known.is_some_and(|known| Some(*known) != found.series),
                }
            };
            // Of several of one name any may be it.
            let why = |due: &Due| match is_other(due) {
                true => Some(format!("{found:?} was {bound:?}, and must be {:?}", (due.id, due.birth))),
                false => found.fault(due),
            };
            let faults: Vec<_> = dues.iter().map(why).collect();
            let good = || faults.iter().enumerate().filter(|(_, fault)| fault.is_none()).map(|(at, _)| at);
            match good().next() {
                Some(at) => {
                    let is_only = good().count() == 1;
                    let due = dues.remove(at);
                    if let (true, Some(number)) = (is_only, found.series) {
                        things.insert(number, (due.id, due.birth));
                        series.insert((key.1.clone(), due.id, due.birth), number);
                    }
                    *self.tally.values.entry(output).or_default() += 1;
                    for event in due.events {
                        *self.tally.counts.entry((output, event)).or_default() += 1;
                    }
                }
                None if dues.is_empty() => return fault(key, "is there twice"),
                None => return fault(key, &faults.into_iter().flatten().collect::<Vec<_>>().join(" or ")),
            }
        }
        match self.due.iter().filter(|(_, dues)| !dues.is_empty()).min_by_key(|(key, _)| *key) {
            Some((key, dues)) => fault(key, &format!("is not there, must have {:?}", dues[0].want)),
            None => Ok(self.tally),
        }
    }
}

/// Returns the counter path of a value with unchanged names.
pub fn path(set: &str, instance: &str, occurrence: usize, counter: &str) -> String {
    let number = if occurrence == 0 { String::new() } else { format!("#{occurrence}") };
    match instance {
        "" => format!("\\{set}\\{counter}"),
        _ => format!("\\{set}({instance}{number})\\{counter}"),
    }
}

/// Returns the counter path of a value in a text log, where `_` replaces `"`.
pub fn text_path(set: &str, instance: &str, occurrence: usize, counter: &str) -> String {
    path(set, instance, occurrence, counter).replace('"', "_")
}

/// Returns the counter path of a value with the characters replaced that PDH's grammar reserves.
pub fn pdh_path(set: &str, instance: &str, occurrence: usize, counter: &str) -> String {
    let plain: String = instance
        .chars()
        .map(|c| match c {
            '(' => '[',
            ')' => ']',
            '#' | '\\' | '/' | '"' => '_',
            c => c,
        })
        .collect();
    path(set, &plain, occurrence, counter)
}
