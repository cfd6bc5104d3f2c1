//! Path countersets: countersets made from the counter paths in a log's list. An entry is a counter of an instance,
//! with the raw value of PDH or a formatted value.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use perfset_catalogue as catalogue;
use perfset_core::clock::SystemTime;
use perfset_core::wire::WireError;
use perfset_core::{
    Attributes, Counter, CounterId, CounterType, Counterset, DetailLevel, Guid, InstanceIdFilter,
    InstanceType, Mark, NoValue, ProviderIdentity, Utf16,
};
use perfset_engine::path::CounterPath;
use perfset_engine::v1::{guid_of_object, unit_of};
use perfset_engine::{CollectRequest, InstanceFilter, InstanceFilters, Pattern, Rows, SourceError};

use super::log_reader::{LogEntry, LogEntryKind, LogReader};
use super::table::{CellReading, Contradiction, SampleTable};
use crate::blg::CounterBlock;
use raw_fields::{RawField, Roles, part_registration, value_of};
use wanted::Wanted;

mod raw_fields;
mod wanted;

/// Maximum number of countersets, and of counters of one counterset; far more than any machine has.
const MOST: usize = 4_096;
/// First of the counter ids for counters that are unknown to the catalogue, in a counterset that is known.
const UNKNOWN_IDS: u32 = 0x1_0000;

/// Counterset made from the entries of counter lists.
#[derive(Debug)]
pub(super) struct PathCounterset {
    name: String,
    catalogue_set: Option<&'static Counterset>,
    has_instances: bool,
    counters: Vec<PathCounter>,
    by_name: HashMap<Utf16, usize>,
    entries: Vec<PathCounterLocation>,
    rows: SampleTable,
    wanted: Wanted,
}

#[derive(Debug)]
struct PathCounter {
    name: Arc<str>,
    like: Option<&'static Counter>,
    id: CounterId,
    counter_type: CounterType,
    time_base: i64,
    default_scale: i32,
    is_formatted: bool,
}

/// Location of a path counterset's values: log reader and entry of the reader's counter list.
#[derive(Debug)]
struct PathCounterLocation {
    reader_index: u32,
    list_index: u32,
    counter: u32,
    /// Index of the instance's row; `None` if the entry has a varying number of instances.
    row: Option<u32>,
    /// Counter type that this entry of a counter list states.
    counter_type: CounterType,
    is_formatted: bool,
    /// `true` for an entry of a record log, which a sample lacks if the entry's instance did not exist.
    is_recorded: bool,
    /// `true` if the damage of the log already mentions the omitted values of this entry.
    is_left_out: bool,
}

impl PathCounterLocation {
    fn reader_index(&self) -> usize {
        wide(self.reader_index)
    }
}

/// Converts an index within a counter list to 32 bits, because a list with 100,000 entries then needs half the
/// memory.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn wide(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Error for a counter list's entry that exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany(pub &'static str);

/// All path countersets of a machine, made from counter lists.
#[derive(Debug, Default)]
pub(super) struct PathCountersets {
    sets: Vec<PathCounterset>,
    by_name: HashMap<Utf16, usize>,
    by_guid: HashMap<Guid, usize>,
}

impl PathCountersets {
    /// Adds an entry of a log reader's counter list to the path counterset of its object.
    pub fn add(&mut self, reader_index: usize, list_index: usize, listed: &LogEntry) -> Result<(), TooMany> {
        let path = &listed.path;
        let folded = Utf16::from(&*path.counterset).capitals();
        let set = match self.by_name.get(&folded) {
            Some(set) => *set,
            None if self.sets.len() >= MOST => return Err(TooMany("countersets")),
            None => {
                let set = PathCounterset::new(&path.counterset);
                self.by_guid.insert(set.guid(), self.sets.len());
                self.by_name.insert(folded, self.sets.len());
                self.sets.push(set);
                self.sets.len().saturating_sub(1)
            }
        };
        self.sets.get_mut(set).map_or(Ok(()), |set| set.add(reader_index, list_index, listed))
    }

    /// Frees the memory that the current entries of counter lists do not need. There can be many machines of one
    /// entry each.
    pub fn shrink(&mut self) {
        self.sets.shrink_to_fit();
        for PathCounterset { counters, entries, rows, .. } in &mut self.sets {
            counters.shrink_to_fit();
            entries.shrink_to_fit();
            rows.shrink();
        }
    }

    /// Removes the locations of a log reader's values, because its list has changed.
    pub fn forget(&mut self, reader_index: usize) {
        for set in &mut self.sets {
            // Only the locations go. Counters keep their ids, because open queries refer to them.
            set.entries.retain(|entry| entry.reader_index() != reader_index);
            set.wanted = Wanted::default();
        }
    }

    /// Returns the indexes of the log readers with values of a counterset.
    pub fn reader_indexes(&self, guid: &Guid) -> BTreeSet<usize> {
        let set = self.by_guid.get(guid).and_then(|set| self.sets.get(*set));
        set.into_iter().flat_map(|set| &set.entries).map(PathCounterLocation::reader_index).collect()
    }

    /// Returns the path counterset with this GUID.
    pub fn get_mut(&mut self, guid: &Guid) -> Option<&mut PathCounterset> {
        self.sets.get_mut(*self.by_guid.get(guid)?)
    }

    /// Returns the registrations of all path countersets.
    pub fn countersets<'a>(
        &'a self,
        provider: &'a ProviderIdentity,
    ) -> impl Iterator<Item = Counterset> + 'a {
        self.sets.iter().map(|set| set.registration(provider))
    }
}

impl PathCounterset {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            catalogue_set: catalogue::ALL.iter().copied().find(|set| set.name.eq_ignore_ascii_case(name)),
            has_instances: false,
            counters: Vec::new(),
            by_name: HashMap::new(),
            entries: Vec::new(),
            rows: SampleTable::default(),
            wanted: Wanted::default(),
        }
    }

    fn guid(&self) -> Guid {
        self.catalogue_set.map_or_else(|| guid_of_object(&self.name), |set| set.guid)
    }

    fn add(&mut self, reader_index: usize, list_index: usize, listed: &LogEntry) -> Result<(), TooMany> {
        let (counter_type, time_base, default_scale, is_wild) = match &listed.what {
            LogEntryKind::Raw { counter_type, time_base, default_scale, is_wild } => {
                (*counter_type, *time_base, *default_scale, *is_wild)
            }
            // A text log has neither types nor raw values: B-26.
            _ => (CounterType::PERF_DOUBLE_RAW, 0, 0, false),
        };
        let is_formatted = matches!(listed.what, LogEntryKind::Formatted | LogEntryKind::Recorded);
        let is_recorded = matches!(listed.what, LogEntryKind::Recorded);
        let name = &listed.path.counter;
        let folded = Utf16::from(&**name).capitals();
        let counter = match self.by_name.get(&folded) {
            Some(counter) => *counter,
            None if self.counters.len() >= MOST => return Err(TooMany("counters")),
            None => {
                let position = self.counters.len();
                let number = u32::try_from(position).unwrap_or(0);
                let like = self.catalogue_set.and_then(|set| {
                    let is_it = |known: &str| known.eq_ignore_ascii_case(name);
                    set.counters.iter().find(|counter| counter.name.as_deref().is_some_and(is_it))
                });
                // Catalogue ids are small, so a counter that it lacks cannot take the id of a known one.
                let id = match (self.catalogue_set, like) {
                    (_, Some(like)) => like.id,
                    (Some(_), None) => CounterId(number.saturating_add(UNKNOWN_IDS)),
                    (None, None) => CounterId(number),
                };
                self.counters.push(PathCounter {
                    name: Arc::clone(name),
                    like,
                    id,
                    counter_type,
                    time_base,
                    default_scale,
                    is_formatted,
                });
                self.by_name.insert(folded, position);
                position
            }
        };
        self.has_instances |= listed.path.instance.is_some();
        let instance = listed.path.instance.as_deref().unwrap_or_default();
        let row = (!is_wild).then(|| narrow(self.rows.listed(&Utf16::from(instance))));
        let [reader_index, list_index, counter] = [reader_index, list_index, counter].map(narrow);
        let is_left_out = false;
        self.entries.push(PathCounterLocation {
            reader_index,
            list_index,
            counter,
            row,
            counter_type,
            is_formatted,
            is_recorded,
            is_left_out,
        });
        // There is one column slot per counter, and there may be too few by now.
        self.wanted = Wanted::default();
        Ok(())
    }

    fn registration(&self, provider: &ProviderIdentity) -> Counterset {
        let all = self.counters.iter().enumerate();
        let counters = all.clone().map(|(at, counter)| counter.registration(at));
        let parts = all.flat_map(|(at, counter)| {
            Roles::for_type(counter.counter_type)
                .all()
                .map(move |part| part_registration(part.id(counter, at)))
        });
        let mut counters: Vec<Counter> = counters.chain(parts).collect();
        counters.shrink_to_fit();
        Counterset::new(
            self.guid(),
            self.name.clone(),
            if self.has_instances { InstanceType::Multiple } else { InstanceType::Single },
        )
        .help(self.catalogue_set.map(|set| set.help.clone()).unwrap_or_default())
        .provider(provider.guid, provider.name.clone())
        .counters(counters)
        .v1_index(self.catalogue_set.and_then(|set| set.v1_index))
    }

    /// Fills in the path counterset's values in the current sample.
    pub fn collect(
        &mut self,
        readers: &mut [LogReader],
        want: &CollectRequest<'_>,
        rows: &mut Rows,
    ) -> Result<(), SourceError> {
        if self.wanted.of != want.counters {
            self.wanted = Wanted::new(want.counters, &self.counters);
        }
        self.read(readers, want.instances)?;
        self.fill(rows);
        Ok(())
    }

    /// Returns `true` if an entry of the path counterset has a varying number of instances.
    pub fn comes_and_goes(&self) -> bool {
        self.entries.iter().any(|entry| entry.row.is_none() || entry.is_recorded)
    }

    /// Fills in all instances of the path counterset: those that counter lists name, and those of the current sample.
    pub fn instances(&mut self, readers: &mut [LogReader], rows: &mut Rows) -> Result<(), SourceError> {
        self.wanted = Wanted::names(&self.counters);
        let all = InstanceFilter { pattern: Pattern::any(), id: InstanceIdFilter::Any };
        let _ = self.read(readers, &[all].into_iter().collect()); // what is listed stays, sample or not
        self.rows.use_listed();
        self.fill(rows);
        Ok(())
    }

    /// Reads the requested values of the path counterset in the current sample.
    fn read(&mut self, readers: &mut [LogReader], instances: &InstanceFilters) -> Result<(), SourceError> {
        let Self { entries, rows: table, wanted, .. } = self;
        table.begin(wanted.counters.len(), instances);
        let mut is_any_fresh = false;
        // Index of a log whose sample ends too early; its later entries have no values.
        let mut cut = None;
        for entry in entries.iter_mut() {
            // Most queries request a few counters of a long list, so their blocks are not even searched.
            let Some(column) = wanted.column(wide(entry.counter)) else { continue };
            let at = wide(entry.list_index);
            // Of merged logs, only those with a sample at this time count; values of older samples would be wrong.
            let Some(reader) = readers.get_mut(entry.reader_index()).filter(|reader| reader.is_fresh) else {
                continue;
            };
            is_any_fresh = true;
            if entry.is_recorded && reader.now.lacks(at) {
                continue;
            }
            if cut == Some(entry.reader_index()) {
                continue;
            }
            // Logs of several systems can give a counter different types, and no formula fits both.
            let changed = wanted.counters.get(column).filter(|(_, known)| *known != entry.counter_type);
            let changed = changed.map(|(_, known)| {
                let reason = NoValue::TypeChanged { from: *known, to: entry.counter_type };
                if !std::mem::replace(&mut entry.is_left_out, true) {
                    reader.damaged(format!("values of entry {at} are left out: {reason}"));
                }
                CellReading::Missing(reason)
            });
            match entry.row.map(wide) {
                Some(row) if table.is_wanted(row) => match read_one(reader, entry) {
                    Ok(got) => {
                        if let Some(contradiction) = table.put(row, column, changed.unwrap_or(got)) {
                            leave_out(reader, at, table, &contradiction);
                        }
                    }
                    Err(error) => {
                        cut = Some(entry.reader_index());
                        reader.cut(&error);
                    }
                },
                Some(_) => {}
                // The instances of a wildcard change from sample to sample, so they are in the sample itself.
                None => match reader.now.sample.block(at) {
                    Ok(CounterBlock::Instances(instances)) => {
                        table.begin_entry();
                        let mut left_out = Vec::new();
                        for (name, raw) in instances.iter() {
                            let row = table.coming(name);
                            left_out.extend(table.put(
                                row,
                                column,
                                changed.clone().unwrap_or(CellReading::Raw(raw)),
                            ));
                        }
                        for contradiction in &left_out {
                            leave_out(reader, at, table, contradiction);
                        }
                    }
                    Ok(_) => reader.damaged(format!("values are left out: entry {at} has others")),
                    Err(error) => {
                        cut = Some(entry.reader_index());
                        reader.cut(&error);
                    }
                },
            }
        }
        match is_any_fresh {
            true => Ok(()),
            false => Err(SourceError::Failed("no sample of it was taken at that time".into())),
        }
    }

    /// Copies the rows with cells of the current sample to `rows`.
    fn fill(&self, rows: &mut Rows) {
        let Self { wanted, counters, .. } = self;
        for (name, id, cells) in self.rows.used() {
            let mut row = rows.push_units(name.units().iter().copied(), id, None);
            for (column, part) in wanted.parts.iter().enumerate() {
                let Some((at, part)) = part else { continue };
                let cell = cells.get(*at).and_then(Option::as_ref);
                let of = wanted.counters.get(*at).and_then(|(counter, _)| counters.get(*counter));
                match (cell, of) {
                    (Some(CellReading::Raw(raw)), Some(counter)) => match value_of(raw, *part, counter) {
                        Ok(value) => row.set_raw(column, value),
                        Err(reason) => row.set_unavailable(column, reason),
                    },
                    (Some(CellReading::Formatted(value, Mark::Formatted)), _) if wanted.is_formatted => {
                        row.set(column, value.to_bits());
                    }
                    (Some(CellReading::Formatted(value, mark)), _) => {
                        row.set_marked(column, value.to_bits(), *mark);
                    }
                    (Some(CellReading::Missing(reason)), _) => row.set_unavailable(column, reason.clone()),
                    (None, _) | (_, None) => {
                        row.set_unavailable(column, NoValue::Unavailable("the log does not have it".into()));
                    }
                }
            }
            if wanted.is_formatted {
                row.mark(Mark::Formatted);
            }
        }
    }
}

impl PathCounter {
    fn registration(&self, at: usize) -> Counter {
        let roles = Roles::for_type(self.counter_type);
        let id = |part: Option<RawField>| part.map(|part| part.id(self, at));
        let source = if self.is_formatted { "formatted by the log's writer" } else { "raw value of PDH" };
        let unit = match self.is_formatted {
            true => self.like.map(|like| like.unit.clone()).unwrap_or_default(),
            false => unit_of(self.counter_type, self.like),
        };
        let is_hidden = self.counter_type.is_base();
        Counter::new(self.id, self.counter_type)
            .name((*self.name).to_owned())
            .help(self.like.map(|like| like.help.clone()).unwrap_or_default())
            .attributes(if is_hidden { Attributes::NO_DISPLAYABLE } else { Attributes::default() })
            .detail(self.like.map_or(DetailLevel::NOVICE, |like| like.detail))
            .default_scale(self.default_scale)
            .base(id(roles.base))
            .clock(id(roles.clock), id(roles.freq))
            .multi(id(roles.items))
            .unit(unit)
            .source(source)
    }
}

fn read_one(reader: &mut LogReader, entry: &PathCounterLocation) -> Result<CellReading, WireError> {
    let at = wide(entry.list_index);
    if entry.is_formatted {
        let value = reader.now.formatted(at);
        return Ok(
            value.map_or_else(CellReading::Missing, |(value, mark)| CellReading::Formatted(value, mark))
        );
    }
    Ok(match reader.now.sample.block(at)? {
        CounterBlock::Counter(raw) => CellReading::Raw(raw),
        _ => CellReading::Missing(NoValue::Failed("its block is of another kind".into())),
    })
}

/// Records damage for a value that is not played, because another entry has a different value of the same counter.
/// Both values have the same time. Names that differ only in case are equal.
fn leave_out(reader: &mut LogReader, entry: usize, table: &SampleTable, contradiction: &Contradiction) {
    let Contradiction { row, used, left_out } = contradiction;
    let mut path =
        reader.now.list.get(entry).map(|listed| CounterPath::from(&listed.path)).unwrap_or_else(|| {
            CounterPath { machine: None, counterset: String::new(), instance: None, counter: String::new() }
        });
    if path.instance.as_deref() == Some("*") {
        path.instance = Some(table.name(*row));
    }
    let time = SystemTime::from_100ns(reader.now.time);
    reader.damaged(format!(
        "two values of {path} at {time} UTC, names compared without case: {used} is used, {left_out} is left out"
    ));
}
