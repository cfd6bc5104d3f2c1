//! Groups of recorded counters that are collected at the same interval.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use perfset::clock::ClockReading;
use perfset::log::recording::{RecordingWriter, TableDefinition, TickPart};
use perfset::output::text::escaped;
use perfset::path::{CounterPath, PathQuery, resolve};
use perfset::{Counterset, Entry, Guid, ResolvedEntry};

use super::control::say;
use super::most_costly;
use crate::args::RecordArgs;
use crate::exit::{Exit, Failure};
use crate::operands::Operands;
use crate::query_source::QuerySource;
use crate::resolve::counterset;
use crate::samples::{source_failed, unbound};

/// Recorded counters that are collected together, at the same interval.
struct RecordGroup {
    /// Number of ticks between two collections of the group.
    every: u64,
    query: PathQuery,
    /// Counter paths of the group, in the order of its query.
    paths: Vec<RecordedPath>,
    /// Query entries of the group's last sample; the next field has the number of each entry's table in the
    /// recording.
    entries: Option<Arc<[ResolvedEntry]>>,
    tables: Vec<Option<usize>>,
    /// `true` if the last collection of the recorded group returned a sample.
    has_sample: bool,
}

/// Counter path that is recorded, and its counterset.
#[derive(Clone)]
struct RecordedPath {
    counterset: Guid,
    path: CounterPath,
    /// `true` to record also expensive counters that only a pattern selects.
    all: bool,
}

/// All groups of counters that a recorder collects, and the number of ticks so far.
pub struct Groups {
    groups: Vec<RecordGroup>,
    tick: u64,
    interval: Duration,
    /// Definitions of the tables of a recording, by table number, each with its query entry: two entries of one
    /// counterset have different instances.
    defined: Vec<(TableDefinition, Entry)>,
    /// Search for new countersets to record; `None` unless the recorder records all countersets.
    everything: Option<Everything>,
    /// Time that the collection of each counterset took in the last tick.
    costs: HashMap<Guid, Duration>,
}

/// Search for countersets that programs publish while the recorder runs.
struct Everything {
    /// Countersets that are recorded already, or have an interval of their own.
    known: HashSet<Guid>,
    /// Time of the last search for new countersets.
    searched: Instant,
    /// `true` if the search also records expensive counters.
    all: bool,
}

/// Maximum interval that a counterset gets to keep the CPU budget.
const LONGEST: Duration = Duration::from_secs(300);

/// Time between two searches for countersets that programs publish while the recorder runs.
const SEARCH: Duration = Duration::from_secs(5);

impl Groups {
    /// Creates the groups of the user's counter paths, or of every counterset if the user named none.
    pub fn bind(
        asked: &QuerySource,
        operands: &Operands,
        interval: Duration,
        args: &RecordArgs,
    ) -> Result<Self, Failure> {
        let mut all = Self {
            groups: Vec::new(),
            tick: 0,
            interval,
            defined: Vec::new(),
            everything: None,
            costs: HashMap::new(),
        };
        let mut named = HashSet::new();
        for every in &args.every {
            let ticks = ticks(every.interval, interval).ok_or_else(|| {
                let error = anyhow!(
                    "--every {}: its time must be a multiple of the interval, {} s",
                    escaped(&every.what),
                    interval.as_secs_f64()
                );
                Failure::new(Exit::Usage, error)
            })?;
            if every.what.starts_with(['\\', '/']) {
                for path in Operands::parse(std::slice::from_ref(&every.what))?.paths {
                    all.add(asked, ticks, &path, true)?;
                }
                continue;
            }
            let set = counterset(asked, &every.what)?;
            all.add(asked, ticks, &path_of(&set), args.all)?;
            named.insert(set.guid);
        }
        for path in &operands.paths {
            all.add(asked, 1, path, args.all)?;
        }
        if operands.paths.is_empty() {
            all.everything = Some(Everything { known: named, searched: Instant::now(), all: args.all });
            all.add_new(asked);
        }
        Ok(all)
    }

    /// Adds a counter path to the group of recorded counters with an interval.
    fn add(&mut self, asked: &QuerySource, every: u64, path: &CounterPath, all: bool) -> Result<(), Failure> {
        let mut source = asked.machine().clone();
        let at = match self.groups.iter().position(|group| group.every == every) {
            Some(at) => at,
            None => {
                let mut query = PathQuery::open(&mut source).map_err(source_failed)?;
                query.leave_out_above(most_costly(all));
                self.groups.push(RecordGroup {
                    every,
                    query,
                    paths: Vec::new(),
                    entries: None,
                    tables: Vec::new(),
                    has_sample: false,
                });
                self.groups.len().saturating_sub(1)
            }
        };
        let Some(group) = self.groups.get_mut(at) else { return Ok(()) };
        group.query.leave_out_above(most_costly(all));
        let counterset = resolve(&mut source, path).map(|resolved| resolved.set.guid);
        let added = group.query.add(&mut source, path).and(counterset);
        let counterset = added.map_err(|error| unbound(asked, path, error))?;
        group.paths.push(RecordedPath { counterset, path: path.clone(), all });
        Ok(())
    }

    /// Returns `true` if the recording interval of a counterset can be doubled.
    pub fn can_slow(&self, counterset: &Guid) -> bool {
        let of_set = |group: &&RecordGroup| group.paths.iter().any(|path| path.counterset == *counterset);
        let groups = || self.groups.iter().filter(of_set);
        let longest = LONGEST.as_millis().checked_div(self.interval.as_millis()).unwrap_or(0);
        let is_short = |group: &RecordGroup| u128::from(group.every).saturating_mul(2) <= longest;
        groups().next().is_some() && groups().all(is_short)
    }

    /// Doubles the recording interval of a counterset, or halves it if it was doubled before. Returns its name and
    /// the longest interval that its counters have now, or `None` if nothing has changed.
    pub fn change_interval(
        &mut self,
        asked: &QuerySource,
        counterset: &Guid,
        is_slower: bool,
    ) -> Option<(String, Duration)> {
        let of_set = |path: &&RecordedPath| path.counterset == *counterset;
        let mut moves = Vec::new();
        for group in &self.groups {
            let paths = group.paths.iter().filter(of_set);
            moves.extend(paths.map(|path| (group.every, path.clone())));
        }
        // A path leaves the group to which another one goes before that comes.
        moves.sort_by_key(|(every, _)| *every);
        if is_slower {
            moves.reverse();
        }
        let mut longest = None;
        for (before, path) in moves {
            let every = if is_slower { before.saturating_mul(2) } else { (before / 2).max(1) };
            // It stays where it is if it cannot be added: its counterset may be missing only for a moment.
            if every == before || self.add(asked, every, &path.path, path.all).is_err() {
                continue;
            }
            longest = longest.max(Some(every));
            let Some(group) = self.groups.iter_mut().find(|group| group.every == before) else { continue };
            let is_moved =
                |known: &RecordedPath| known.counterset == path.counterset && known.path == path.path;
            if let Some(at) = group.paths.iter().position(is_moved) {
                group.query.remove(at);
                group.paths.remove(at);
            }
        }
        self.groups.retain(|group| !group.paths.is_empty());
        let name = asked.machine().counterset(counterset).map(|set| set.name.to_string());
        let interval = self.interval.saturating_mul(u32::try_from(longest?).unwrap_or(u32::MAX));
        Some((name.unwrap_or_else(|_| counterset.to_string()), interval))
    }

    /// Returns the time that the collection of each counterset took in the last tick.
    pub fn costs(&self) -> impl Iterator<Item = (Guid, Duration)> + '_ {
        self.costs.iter().map(|(counterset, took)| (*counterset, *took))
    }

    /// Searches for countersets that programs have published since the last search, if all countersets are recorded.
    pub fn refresh(&mut self, asked: &QuerySource) {
        let Some(everything) = &mut self.everything else { return };
        if everything.searched.elapsed() >= SEARCH {
            everything.searched = Instant::now();
            self.add_new(asked);
        }
    }

    /// Adds all countersets of the machine that are not recorded yet.
    fn add_new(&mut self, asked: &QuerySource) {
        for guid in asked.machine().countersets() {
            let Some(Everything { known, all, .. }) = &mut self.everything else { return };
            if !known.insert(guid) {
                continue;
            }
            let all = *all;
            // A counterset that was uninstalled meanwhile is none.
            let Ok(set) = asked.machine().counterset(&guid) else { continue };
            // Views have the values of another counterset.
            if set.view_of.is_some() {
                continue;
            }
            // One that was uninstalled meanwhile is left out.
            let _ = self.add(asked, 1, &path_of(&set), all);
        }
    }

    /// Collects the groups of counters that are due, and defines the tables of entries that are new. A group that
    /// fails is left out of this tick, and a table that is one too many is not recorded: neither ends a recorder.
    pub fn collect(&mut self, writer: &mut RecordingWriter) {
        let Self { groups, tick, interval, defined, costs, .. } = self;
        *tick = tick.saturating_add(1);
        costs.clear();
        for group in groups.iter_mut().filter(|group| is_due(group.every, *tick)) {
            let had_sample = group.has_sample;
            let collected = group.query.collect();
            group.has_sample = collected.is_ok();
            if let Err(error) = collected {
                if had_sample || *tick == 1 {
                    say(&format!("warning: samples are lost until collecting works again: {error}"));
                }
                continue;
            }
            let snapshot = group.query.snapshot();
            for (entry, metadata) in snapshot.entries().iter().zip(snapshot.annex()) {
                // Several entries of a counterset have its time each.
                let took = costs.entry(entry.entry.counterset).or_default();
                *took = metadata.took().unwrap_or_default().max(*took);
            }
            let is_known = group
                .entries
                .as_ref()
                .is_some_and(|known| std::ptr::eq(known.as_ptr(), snapshot.entries().as_ptr()));
            if is_known {
                continue;
            }
            let ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX).saturating_mul(group.every);
            let table = |entry: &ResolvedEntry| {
                let definition = TableDefinition::of(entry, ms)?;
                let table = table(defined, writer, (definition, &entry.entry));
                table
                    .inspect_err(|error| say(&format!("warning: a counterset is not recorded: {error}")))
                    .ok()
            };
            group.tables = snapshot.entries().iter().map(table).collect();
            group.entries = Some(snapshot.shared_entries());
        }
    }

    /// Returns the clocks of the first recorded group that was collected in this tick.
    pub fn clocks(&self) -> Option<ClockReading> {
        let due = self.groups.iter().find(|group| group.has_sample && is_due(group.every, self.tick));
        due.map(|group| *group.query.snapshot().clocks())
    }

    /// Returns the parts of the tick that is written: the entries of the groups that were collected.
    pub fn parts(&self) -> impl Iterator<Item = TickPart<'_>> {
        let due = |group: &&RecordGroup| group.has_sample && is_due(group.every, self.tick);
        self.groups.iter().filter(due).flat_map(|group| {
            let snapshot = group.query.snapshot();
            let tables = group.tables.iter().enumerate();
            tables.filter_map(move |(entry, table)| Some(TickPart { table: (*table)?, snapshot, entry }))
        })
    }
}

/// Returns `true` if a group of recorded counters is collected at a tick; at the first tick, every group is.
fn is_due(every: u64, tick: u64) -> bool {
    tick.checked_sub(1).and_then(|tick| tick.checked_rem(every)) == Some(0)
}

/// Returns the number of a query entry's table in the recording, and defines the table if it is new.
fn table(
    defined: &mut Vec<(TableDefinition, Entry)>,
    writer: &mut RecordingWriter,
    (definition, entry): (TableDefinition, &Entry),
) -> std::io::Result<usize> {
    let is_known = |(known, of): &(TableDefinition, Entry)| *known == definition && of == entry;
    if let Some(known) = defined.iter().position(is_known) {
        return Ok(known);
    }
    let number = writer.add_table(definition.clone())?;
    defined.push((definition, entry.clone()));
    Ok(number)
}

/// Returns the number of ticks in a recording interval, if it is a whole number.
fn ticks(every: Duration, interval: Duration) -> Option<u64> {
    let ticks = every.as_millis().checked_div(interval.as_millis())?;
    let is_whole = every.as_millis() == interval.as_millis().saturating_mul(ticks) && ticks > 0;
    u64::try_from(ticks).ok().filter(|_| is_whole)
}

/// Returns the counter path of all counters and all instances of a counterset.
fn path_of(set: &Counterset) -> CounterPath {
    CounterPath {
        machine: None,
        counterset: format!("{{{}}}", set.guid),
        instance: set.instance_type.is_multiple().then(|| "*".to_owned()),
        counter: "*".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use perfset::testing::{FixedClock, Scripted};
    use perfset::{Counter, CounterId, CounterType, InstanceType, Machine};

    use super::*;

    /// Checks that counter paths whose recording interval changes get into another group, except those whose
    /// counterset is missing at that moment.
    #[test]
    fn counters_are_not_lost_by_changes_of_their_interval() {
        let guid = Guid::from_u128(7);
        let counter = Counter::new(CounterId(1), CounterType::PERF_COUNTER_LARGE_RAWCOUNT).name("Stock");
        let set = Counterset::new(guid, "Shop", InstanceType::Single)
            .provider(Guid::NIL, "Test")
            .counters([counter]);
        let provider = Scripted::new(vec![set]);
        let machine = Machine::bare(Box::new(FixedClock::default()));
        machine.register(Box::new(provider.clone()));
        let asked = QuerySource::Machine(machine);
        let mut groups = Groups {
            groups: Vec::new(),
            tick: 0,
            interval: Duration::from_secs(1),
            defined: Vec::new(),
            everything: None,
            costs: HashMap::new(),
        };
        let path: CounterPath = r"\Shop\*".parse().unwrap();
        for every in [1, 2, 5] {
            groups.add(&asked, every, &path, true).unwrap();
        }
        let intervals = |groups: &Groups| {
            let mut all: Vec<_> =
                groups.groups.iter().map(|group| (group.every, group.paths.len())).collect();
            all.sort_unstable();
            all
        };
        let changed = |ticks| Some(("Shop".to_owned(), Duration::from_secs(ticks)));
        assert_eq!(groups.change_interval(&asked, &guid, true), changed(10));
        assert_eq!(intervals(&groups), [(2, 1), (4, 1), (10, 1)]);
        let before = provider.with(|script| std::mem::take(&mut script.catalogue));
        assert_eq!(groups.change_interval(&asked, &guid, true), None);
        assert_eq!(intervals(&groups), [(2, 1), (4, 1), (10, 1)]);
        provider.with(|script| script.catalogue = before);
        assert_eq!(groups.change_interval(&asked, &guid, false), changed(5));
        assert_eq!(intervals(&groups), [(1, 1), (2, 1), (5, 1)]);
    }
}
