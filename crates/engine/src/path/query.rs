//! Query by counter paths: as few query entries as possible, and their values by path.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use perfset_core::pdh::Scale;
use perfset_core::{
    Birth, CostClass, Counter, CounterId, Counterset, Guid, InstanceId, InstanceIdFilter, Name,
};

use super::bind::{BindError, ResolvedPath, resolve};
use super::expand::{is_pattern, with_index};
use super::grammar::CounterPath;
use super::instance_name::substituted;
use super::select::Selector;
use crate::aggregate::names_sum;
use crate::entry::{Counters, Entry};
use crate::error::SourceError;
use crate::pattern::folded_units;
use crate::snapshot::Snapshot;
use crate::source::{NextOutcome, QueryHandle, Source};
use crate::values::{SampleIndex, SamplePair, SampleReader, Value};

/// Query by counter paths: collects all paths together, and stores the last two samples.
///
/// Paths with the same instances share an entry of the query, which also contains the bases of their counters. An
/// instance that does not exist yet is no error: a pattern selects the instances of each collection.
///
/// ```
/// use perfset::{Machine, path::PathQuery, testing::FixedClock};
///
/// let mut machine = Machine::new(Box::new(FixedClock::default()));
/// let mut query = PathQuery::open(&mut machine)?;
/// query.add(&mut machine, &r"\Perfset Engine\Collections/sec".parse()?)?;
/// query.collect()?;
/// query.collect()?; // this clock advances one second a reading
/// assert_eq!(query.values()[0].value.value.clone()?.raw, 1.0);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct PathQuery {
    query: Box<dyn QueryHandle>,
    pub(super) paths: Vec<BoundPath>,
    /// Query entries of the last sample in the order of its results, then the entries added later. Some may be in
    /// `deleted`.
    entries: Vec<Entry>,
    /// Positions of deleted entries, which are no longer in the query. They are removed with the next sample, because
    /// the last one still contains them.
    deleted: HashSet<usize>,
    /// Positions of each replaced query entry and of the later entry that replaced it, in the order of replacement.
    moved: Vec<(usize, usize)>,
    /// Positions of the query entries with the same instance selection, ascending; empty if the map must be rebuilt.
    positions: HashMap<Instances, Vec<usize>>,
    pub(super) new: Snapshot,
    old: Snapshot,
    pub(super) samples: u64,
    /// Index of the rows of the last two samples, made when a value of them is first read.
    pub(super) index: OnceCell<Box<SampleIndex>>,
    /// Earlier index of rows, which is reused if the next two samples have the same block structures.
    spare: Option<Box<SampleIndex>>,
    /// Number of values in the last reading, as the capacity for the next one.
    pub(super) len: Cell<usize>,
    /// `true` if there might be query entries that no path needs.
    has_unused: bool,
    /// Highest cost class of counters that a pattern selects; more costly ones are left out.
    most_costly: CostClass,
    /// Costly counters that were left out, with their countersets.
    left_out: Vec<(Arc<Counterset>, CounterId)>,
}

impl std::fmt::Debug for PathQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PathQuery").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl PathValue<'_> {
    /// Returns the counter path of this value in the grammar of PDH. Special characters of the instance name are
    /// [`substituted`], and the second and later instances of a name are numbered.
    #[must_use]
    pub fn pdh_path(&self, machine: Option<&str>) -> CounterPath {
        self.named(machine, &substituted(&self.value.instance.to_string()))
    }

    /// Returns the counter path of this value with unchanged names: names in a log already have PDH's syntax.
    #[must_use]
    pub fn own_path(&self, machine: Option<&str>) -> CounterPath {
        self.named(machine, &self.value.instance.to_string())
    }

    /// Returns `true` if the value's instance is a sum of others, or idle time: `_Total`, `0,_Total`, `Idle`,
    /// `Idle:0`.
    #[must_use]
    pub fn sums_up(&self) -> bool {
        sums_up(self.value.instance, self.value.instance_id)
    }

    /// Returns the position of the value's row in the result of its counterset. All values of a row are of one
    /// instance. The position is valid in this sample only, and identifies no instance.
    #[must_use]
    pub fn row(&self) -> usize {
        self.cell.0
    }

    fn named(&self, machine: Option<&str>, instance: &str) -> CounterPath {
        CounterPath {
            machine: machine.map(str::to_owned),
            counterset: self.value.counterset.name.to_string(),
            instance: (!instance.is_empty()).then(|| with_index(instance, self.occurrence)),
            counter: self.value.counter.shown_name().into_owned(),
        }
    }
}

/// Returns `true` if an instance is a sum of others, or idle time: `_Total`, `0,_Total`, `Idle`, `Idle:0`.
#[must_use]
pub fn sums_up(name: Name<'_>, id: Option<InstanceId>) -> bool {
    // A program can be named Idle too; the idle process has the id 0.
    names_sum(name)
        || matches!(name.as_bytes(), b"I\0d\0l\0e\0" | b"I\0d\0l\0e\0:\x000\0")
            && id.is_some_and(|id| id.0 == 0)
}

/// Instance selection of a query entry: counterset, name in capitals, and id filter.
type Instances = (Guid, Option<Vec<u16>>, InstanceIdFilter);

fn instances_of(entry: &Entry) -> Instances {
    let name = entry.instance.as_ref().map(|name| folded_units(name.units()).collect());
    (entry.counterset, name, entry.instance_id)
}

/// Counter path with the counterset, counters and query entries to which it is bound.
#[derive(Debug)]
pub(super) struct BoundPath {
    /// Counter path with the name that the counterset itself has.
    pub path: CounterPath,
    pub set: Arc<Counterset>,
    /// Scale factor of the path's formatted values.
    pub scale: Scale,
    /// `true` if the path's formatted values of the last sample were read.
    pub is_read: Cell<bool>,
    /// `true` if a wildcard in the path selects all counters of the counterset.
    pub all_counters: bool,
    /// `true` if the path can have several values.
    pub is_several: bool,
    /// Counters of the path, each with the position of its query entry.
    pub counters: Vec<(CounterId, usize)>,
    /// Instance selection of the path, if a pattern cannot express it: alternatives, exclusions or numbers.
    pub selector: Option<Selector>,
    /// Instance selection as written in the path, encoded as in a block.
    pub instance: Vec<u8>,
}

/// Value of a counter path: one counter of one instance.
#[derive(Clone, Debug)]
pub struct PathValue<'a> {
    /// Position of the counter path in the query, in the order of addition.
    pub path: usize,
    /// Value with its counter and instance.
    pub value: Value<'a>,
    /// Index of the value's instance among those of the same name in this sample, from 0, ignoring case. It is not an
    /// identity.
    pub occurrence: usize,
    /// Row and column of the value in the result of its query entry.
    pub(super) cell: (usize, usize),
}

impl<'a> PathValue<'a> {
    /// Returns a copy for the same path, counter and instance, with a value of another sample.
    #[must_use]
    pub fn with(&self, value: Value<'a>) -> Self {
        Self { value, ..*self }
    }
}

impl PathQuery {
    /// Creates a query of a source, without paths.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn open(source: &mut dyn Source) -> Result<Self, SourceError> {
        Ok(Self::from_handle(source.open()?))
    }

    /// Creates a query by counter paths from an empty query of a source.
    #[must_use]
    pub fn from_handle(query: Box<dyn QueryHandle>) -> Self {
        Self {
            query,
            paths: Vec::new(),
            entries: Vec::new(),
            deleted: HashSet::new(),
            moved: Vec::new(),
            positions: HashMap::new(),
            new: Snapshot::default(),
            old: Snapshot::default(),
            samples: 0,
            index: OnceCell::new(),
            spare: None,
            len: Cell::new(0),
            has_unused: false,
            most_costly: CostClass::Expensive,
            left_out: Vec::new(),
        }
    }

    /// Leaves out counters above this cost class, if only a pattern selects them and the pattern selects cheaper
    /// counters too. Applies to paths that are added later; by default, nothing is left out.
    pub fn leave_out_above(&mut self, most_costly: CostClass) {
        self.most_costly = most_costly;
    }

    /// Returns the counters that [`leave_out_above`](Self::leave_out_above) left out, with their countersets.
    pub fn left_out(&self) -> impl Iterator<Item = (&Counterset, &Counter)> {
        self.left_out.iter().filter_map(|(set, id)| Some((&**set, set.counter(*id)?)))
    }

    /// Removes the counters of a path that are too costly, and adds them to `left_out`.
    fn without_costly(&mut self, set: &Arc<Counterset>, ids: &mut Vec<CounterId>) {
        let is_costly =
            |id: &CounterId| set.counter(*id).is_some_and(|counter| counter.cost_class > self.most_costly);
        let costly: Vec<_> = ids.iter().copied().filter(is_costly).collect();
        if costly.len() == ids.len() {
            return; // the pattern means them
        }
        ids.retain(|id| !costly.contains(id));
        for id in costly {
            if !self.left_out.iter().any(|(known, other)| known.guid == set.guid && *other == id) {
                self.left_out.push((Arc::clone(set), id));
            }
        }
    }

    /// Binds a counter path to the source on which this query was opened, and adds the path. Returns its position.
    ///
    /// The machine in the path is ignored: the caller uses it to choose the source.
    ///
    /// # Errors
    /// If counterset or counter do not exist, or the instance does not fit the counterset.
    pub fn add(&mut self, source: &mut dyn Source, path: &CounterPath) -> Result<usize, BindError> {
        let ResolvedPath { set, counters: mut ids, instances } = resolve(source, path)?;
        let selected = ids.len();
        if is_pattern(&path.counter) {
            self.without_costly(&set, &mut ids);
        }
        let instance = instances.as_deref();
        // The engine's patterns have no alternatives, exclusions or numbers: these are applied later.
        let pattern = instance.map(|text| if Selector::is_plain(text) { text } else { "*" });
        let selector = instance.filter(|text| !Selector::is_plain(text)).map(Selector::new);
        let all_counters = path.counter == "*" && ids.len() == selected;
        let written = path.instance.as_deref().unwrap_or_default();
        let instance = written.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let needed = ids.iter().filter_map(|id| set.counter(*id)).flat_map(|counter| counter.needed());
        let wanted = if all_counters { Counters::ALL } else { Counters::these(needed) };
        let entry = Entry { counters: wanted, ..Entry::all(set.guid) };
        let entry =
            self.entry(pattern.map_or_else(|| entry.clone(), |pattern| entry.clone().instance(pattern)))?;
        let counters: Vec<_> = ids.into_iter().map(|id| (id, entry)).collect();
        let is_several = counters.len() != 1 || path.instance.as_deref().is_some_and(is_pattern);
        let path = CounterPath { counterset: set.name.to_string(), ..path.clone() };
        let (scale, is_read) = (Scale::ONE, Cell::new(false));
        if self.paths.is_empty() {
            self.paths.reserve_exact(1); // there can be many queries of one path
        }
        self.paths.push(BoundPath {
            path,
            set,
            scale,
            is_read,
            all_counters,
            is_several,
            counters,
            selector,
            instance,
        });
        Ok(self.paths.len().saturating_sub(1))
    }

    /// Returns the position of a query entry with these counters of these instances: an existing entry, or an entry
    /// extended by the counters. After a sample it is a new entry, because a changed entry loses its older sample.
    fn entry(&mut self, wanted: Entry) -> Result<usize, BindError> {
        let union =
            |known: &Entry| Entry { counters: known.counters.union(&wanted.counters), ..known.clone() };
        // Found by their instances: to compare each path with every entry took 2.4 s for 16,000 paths.
        if self.positions.is_empty() {
            for (at, entry) in self.entries.iter().enumerate().filter(|(at, _)| !self.deleted.contains(at)) {
                self.positions.entry(instances_of(entry)).or_default().push(at);
            }
        }
        let instances = instances_of(&wanted);
        let peers = self.positions.get(&instances).into_iter().flatten().copied();
        let peers = peers.filter_map(|at| Some((at, self.entries.get(at)?)));
        let mut peers = peers.map(|(at, known)| (at, union(known), known));
        if let Some((at, ..)) = peers.clone().find(|(_, both, known)| both == *known) {
            return Ok(at);
        }
        let (replaced, entry) = match peers.next() {
            Some((at, both, known)) if self.samples == 0 => (Some((at, known.clone())), both),
            _ => (None, wanted.clone()),
        };
        // Added before the other entry is deleted: if this fails, paths of the other one keep their values.
        let status = self.query.add(&entry);
        if !status.is_success() {
            return Err(BindError::Refused(status));
        }
        let last = self.entries.len();
        if self.entries.is_empty() {
            self.entries.reserve_exact(1); // as above
        }
        self.entries.push(entry);
        let positions = self.positions.entry(instances).or_default();
        positions.push(last);
        if let Some((at, known)) = replaced {
            let _ = self.query.delete(&known); // which was added
            positions.retain(|position| *position != at);
            // Removed later, all at once: each removal moves all entries behind it.
            self.deleted.insert(at);
            self.moved.push((at, last));
        }
        Ok(last)
    }

    /// Removes the deleted query entries, and updates the positions of the other entries that the paths contain.
    fn drop_deleted(&mut self) {
        if self.deleted.is_empty() {
            return;
        }
        // Each entry is replaced by a later one, which may be replaced as well.
        let mut places: Vec<usize> = (0..self.entries.len()).collect();
        for (from, to) in std::mem::take(&mut self.moved).into_iter().rev() {
            let end = places.get(to).copied();
            if let (Some(place), Some(end)) = (places.get_mut(from), end) {
                *place = end;
            }
        }
        let deleted = std::mem::take(&mut self.deleted);
        let mut kept = Vec::with_capacity(self.entries.len().saturating_sub(deleted.len()));
        let mut now = Vec::with_capacity(self.entries.len());
        for (at, entry) in self.entries.drain(..).enumerate() {
            now.push(kept.len());
            if !deleted.contains(&at) {
                kept.push(entry);
            }
        }
        self.entries = kept;
        self.positions.clear();
        for (_, entry) in self.paths.iter_mut().flat_map(|path| &mut path.counters) {
            let place = places.get(*entry).and_then(|place| now.get(*place));
            *entry = place.copied().unwrap_or(usize::MAX);
        }
    }

    /// Removes a counter path from the query. Later paths move up. Entries that no other path needs are not collected
    /// any more.
    pub fn remove(&mut self, path: usize) {
        if path < self.paths.len() {
            self.paths.remove(path);
            self.has_unused = true;
        }
    }

    /// Deletes the query entries that no path needs. Runs at the next sample, so that several removed paths cost one
    /// pass.
    fn delete_unused(&mut self) {
        if !std::mem::take(&mut self.has_unused) {
            return;
        }
        let used: HashSet<usize> =
            self.paths.iter().flat_map(|path| &path.counters).map(|(_, entry)| *entry).collect();
        for (at, entry) in self.entries.iter().enumerate() {
            if !used.contains(&at) && self.deleted.insert(at) {
                let _ = self.query.delete(entry); // which was added
            }
        }
        self.positions.clear();
    }

    /// Returns the birth of a value of the last sample: the start of its instance, or of counting if that is separate.
    ///
    /// Name, id and birth together identify the value's instance.
    #[must_use]
    pub fn birth(&self, value: &PathValue<'_>) -> Birth {
        let (row, column) = value.cell;
        self.new.annex().get(value.value.entry)?.birth_of(row, column)
    }

    /// Collects a sample of all paths, and keeps the previous sample as the older of the two.
    ///
    /// # Errors
    /// If there is nothing to deliver at all.
    pub fn collect(&mut self) -> Result<NextOutcome, SourceError> {
        if self.samples == 0 {
            self.drop_deleted(); // a path whose entry was replaced needs the one that replaced it
        }
        self.delete_unused();
        std::mem::swap(&mut self.new, &mut self.old);
        let next = self.query.next(&mut self.new);
        match next {
            Ok(NextOutcome::Sample) => {
                self.samples = self.samples.saturating_add(1);
                // Without a sample, the positions stay those of the last one, which is still read.
                self.drop_deleted();
                self.paths.iter().for_each(|path| path.is_read.set(false));
                // That of one row is as quickly made again, and there can be thousands of such queries.
                let last = self.index.take().filter(|index| index.is_worth_keeping());
                let last_but_one = std::mem::replace(&mut self.spare, last);
                self.index = last_but_one
                    .filter(|index| index.fits(self.pair()))
                    .map(OnceCell::from)
                    .unwrap_or_default();
            }
            // A step without a sample leaves the last two samples as they were.
            Ok(NextOutcome::End) => std::mem::swap(&mut self.new, &mut self.old),
            Err(_) => {
                std::mem::swap(&mut self.new, &mut self.old);
                self.index = OnceCell::new(); // the older of them may be incomplete now
            }
        }
        next
    }

    /// Returns `true` if the last sample has the rows of the sample before; see [`Snapshot::has_rows_of`]. Paths that
    /// were added or removed in between are ignored.
    #[must_use]
    pub fn has_same_rows(&self) -> bool {
        let pair = self.pair();
        self.index.get_or_init(|| Box::new(SampleIndex::new(pair))).has_same_rows(pair)
    }

    /// Returns the number of query entries that the paths need, including bases.
    #[must_use]
    pub fn entries_len(&self) -> usize {
        self.entries.len().saturating_sub(self.deleted.len())
    }

    /// Returns the snapshot of the last sample.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.new
    }

    /// Returns the snapshot of the sample before the last one.
    fn older(&self) -> Option<&Snapshot> {
        (self.samples > 1).then_some(&self.old)
    }

    pub(super) fn pair(&self) -> SamplePair<'_> {
        SamplePair { new: &self.new, old: self.older() }
    }

    /// Returns a reader of the values of the last sample, which are formatted with those of the sample before.
    pub(super) fn reader(&self) -> SampleReader<'_> {
        let pair = self.pair();
        SampleReader::new(pair, self.index.get_or_init(|| Box::new(SampleIndex::new(pair))))
    }
}
