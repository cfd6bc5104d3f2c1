//! Responses of a machine to V1 value names.

use perfset_catalogue as catalogue;
use perfset_core::clock::ClockReading;
use perfset_core::counter_type::Clock;
use perfset_core::sample::Clocks;
use perfset_core::v1::{BlockBuilder, NewCounter, NewInstance, NewObject};
use perfset_core::v2::{Block, BlockValue, Body};
use perfset_core::{Attributes, Counter, CounterType, Counterset, Language, NoValue};

use super::titles::Titles;
use super::value_name::ValueName;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::machine::Machine;
use crate::registration::{RegInfo, RegRequest};
use crate::snapshot::{EntryMetadata, ResolvedEntry, Snapshot};

/// Response of a machine to a value name, which is a request in V1.
#[derive(Clone, Debug, PartialEq)]
pub struct V1Response {
    /// Bytes of the response: PERF_DATA_BLOCK, or a table of names or help texts.
    pub bytes: Vec<u8>,
    /// Requested objects that are not in the block.
    pub left_out: Vec<OmittedObject>,
}

/// Object that was requested and is not in the block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct OmittedObject {
    /// Name of the omitted object.
    pub name: String,
    /// Reason that the omitted object has no values.
    pub reason: NoValue,
}

/// Returns a machine's response to a value name, as the performance data key of Windows does.
///
/// An object has the counters that have a value in this collection. If only some instances have a value, the others
/// have 0, because the format cannot express a missing value. A counter that this system never has is not defined,
/// and never 0. No object is costly so far.
///
/// # Errors
/// [`SourceError::LanguageNotFound`]; [`SourceError::TooLarge`] for a block of 2 GiB.
pub fn query(machine: &Machine, name: &ValueName, system_name: &str) -> Result<V1Response, SourceError> {
    let guids = machine.countersets();
    let sets: Vec<_> = guids.iter().filter_map(|guid| machine.counterset(guid).ok()).collect();
    let titles = Titles::new(sets.iter().map(|set| &**set));
    let of = |set: &Counterset| titles.counterset_title(set.guid);
    let mut wanted: Vec<&Counterset> = match name {
        ValueName::Names(language) => {
            let sets = in_language(machine, &sets, *language)?;
            return Ok(V1Response { bytes: Titles::new(&sets).name_table(), left_out: Vec::new() });
        }
        ValueName::Helps(language) => {
            let sets = in_language(machine, &sets, *language)?;
            return Ok(V1Response { bytes: Titles::new(&sets).help_table(), left_out: Vec::new() });
        }
        ValueName::Global | ValueName::MetadataGlobal => sets.iter().map(|set| &**set).collect(),
        ValueName::Costly | ValueName::MetadataCostly => Vec::new(),
        ValueName::Objects(indexes) => {
            // Clients may have stored the indexes of an earlier version.
            let indexes: Vec<u32> = indexes.iter().map(|index| catalogue::current_v1_index(*index)).collect();
            let asked = |set: &&Counterset| of(set).is_some_and(|index| indexes.contains(&index));
            sets.iter().map(|set| &**set).filter(asked).collect()
        }
    };
    wanted.sort_by_key(|set| of(set));
    let mut snapshot = Snapshot::default();
    let mut live = machine.query();
    for set in &wanted {
        let entry = Entry::all(set.guid);
        let entry = if set.instance_type.is_multiple() { entry.instance("*") } else { entry };
        let _ = live.add(&entry); // its result says why it cannot be had
    }
    live.collect(&mut snapshot)?;
    let mut builder = BlockBuilder::new(snapshot.clocks(), system_name);
    if let Some(index) = default_object(name, &wanted, &titles) {
        builder.default_object(index);
    }
    let metadata = matches!(name, ValueName::MetadataGlobal | ValueName::MetadataCostly);
    let mut left_out = Vec::new();
    let results = Block::parse(snapshot.block()).map(|block| block.results());
    let bodies = results.into_iter().flatten().flatten().map(|result| result.body);
    for ((info, annex), body) in snapshot.entries().iter().zip(snapshot.annex()).zip(bodies) {
        let Some(set) = info.counterset.as_deref() else { continue };
        let object = ObjectWriter { set, titles: &titles, info, annex, clocks: snapshot.clocks() };
        if let Err(reason) = object.write(&mut builder, body, metadata) {
            left_out.push(OmittedObject { name: set.name.to_string(), reason });
        }
    }
    let bytes = builder.finish().map_err(|_| SourceError::TooLarge)?;
    Ok(V1Response { bytes, left_out })
}

/// Returns the title index of the object that a user interface shows first: the only requested object, else the
/// object Processor.
fn default_object(name: &ValueName, wanted: &[&Counterset], titles: &Titles) -> Option<u32> {
    // Title index of the object Processor on every Windows.
    const PROCESSOR: u32 = 238;
    let mut indexes = wanted.iter().filter_map(|set| titles.counterset_title(set.guid));
    match (name, wanted) {
        (ValueName::Objects(_), [only]) => titles.counterset_title(only.guid),
        _ => indexes.find(|index| *index == PROCESSOR),
    }
}

/// Returns a machine's countersets with names and help texts in a language. Untranslated texts stay English, if at
/// least one text is translated.
fn in_language(
    machine: &Machine,
    sets: &[std::sync::Arc<Counterset>],
    language: Language,
) -> Result<Vec<Counterset>, SourceError> {
    let mut translated = Vec::new();
    let mut is_known = language.primary() == Language::ENGLISH.0;
    for set in sets {
        let mut set = Counterset::clone(set);
        if let Ok(RegInfo::Text(name)) = machine.registration(&set.guid, RegRequest::CountersetName(language))
        {
            is_known = true;
            set.name = name;
        }
        if let Ok(RegInfo::Text(help)) = machine.registration(&set.guid, RegRequest::CountersetHelp(language))
        {
            set.help = help;
        }
        let texts = |request| match machine.registration(&set.guid, request) {
            Ok(RegInfo::Texts(texts)) => texts,
            _ => Vec::new(),
        };
        let (names, helps) =
            (texts(RegRequest::CounterNames(language)), texts(RegRequest::CounterHelps(language)));
        // Every counter has an item, in registration order.
        for (counter, (_, name)) in set.counters.to_mut().iter_mut().zip(names) {
            counter.name = name.or_else(|| counter.name.take());
        }
        for (counter, (_, help)) in set.counters.to_mut().iter_mut().zip(helps) {
            counter.help = help.unwrap_or_default();
        }
        translated.push(set);
    }
    if is_known { Ok(translated) } else { Err(SourceError::LanguageNotFound(language)) }
}

/// Writer of the result of one query entry as a V1 object.
struct ObjectWriter<'a> {
    set: &'a Counterset,
    titles: &'a Titles,
    info: &'a ResolvedEntry,
    annex: &'a EntryMetadata,
    clocks: &'a ClockReading,
}

/// Row of a V1 object: instance name and cells, in the order of the entry's counters.
struct ObjectRow<'a> {
    name: Vec<u16>,
    cells: Vec<BlockValue<'a>>,
}

impl ObjectWriter<'_> {
    fn write(&self, builder: &mut BlockBuilder, body: Body<'_>, metadata: bool) -> Result<(), NoValue> {
        let is_multiple = self.set.instance_type.is_multiple();
        let rows = self.rows(body, is_multiple)?;
        let counters: Vec<(&Counter, Option<&Counter>)> = self.written(&rows);
        let mut definitions = Vec::new();
        let mut columns = Vec::new();
        let mut default_counter = None;
        for (counter, divisor) in &counters {
            let Some(name_index) = self.titles.counter_title(self.set.guid, counter) else { continue };
            if self.set.default_counter == Some(counter.id) {
                default_counter = u32::try_from(definitions.len()).ok();
            }
            // V2 registers a number of items as PERF_COUNTER_RAWCOUNT, which readers of V1 do not recognize.
            let items = counter.multi.map(|_| CounterType::PERF_COUNTER_MULTI_BASE);
            let divisor = divisor.map(|divisor| (divisor, items.unwrap_or(divisor.counter_type)));
            // A base has the name index of its numerator, and directly follows it (E5).
            for (part, counter_type) in std::iter::once((*counter, counter.counter_type)).chain(divisor) {
                definitions.push(NewCounter {
                    default_scale: part.default_scale,
                    detail: part.detail,
                    ..NewCounter::new(name_index, counter_type)
                });
                columns.push(self.column(part));
            }
        }
        if definitions.is_empty() {
            return Ok(()); // an object without counters is none
        }
        let name_index = self.titles.counterset_title(self.set.guid).ok_or(NoValue::NotGiven)?;
        let uses_clock =
            |definition: &NewCounter| definition.counter_type.decode().clock == Clock::ObjectTime;
        let object = NewObject {
            detail: self.set.detail(),
            default_counter,
            // 0 unless a counter uses the object timer, as in blocks of Windows Vista (E9).
            clock: definitions.iter().any(uses_clock).then(|| self.clock(&rows)),
            ..NewObject::new(name_index)
        };
        let values = |row: &ObjectRow<'_>| {
            let number = |column: &Option<usize>| {
                column.and_then(|at| row.cells.get(at)?.number()).map_or(0, |number| number.get())
            };
            columns.iter().map(number).collect::<Vec<_>>()
        };
        match (metadata, is_multiple, rows.first()) {
            (true, ..) => builder.metadata(&object, &definitions, is_multiple),
            (false, false, Some(row)) => builder.single(&object, &definitions, values(row)),
            (false, false, None) => return Err(NoValue::NoInstance),
            (false, true, _) => {
                let mut instances = builder.multiple(&object, &definitions);
                for row in &rows {
                    instances.instance(&NewInstance::named(&row.name), values(row));
                }
                instances.finish();
            }
        }
        Ok(())
    }

    /// Returns the rows of a query result; none for a counterset whose instances have all ended.
    fn rows<'b>(&self, body: Body<'b>, is_multiple: bool) -> Result<Vec<ObjectRow<'b>>, NoValue> {
        let single = |cells| vec![ObjectRow { name: Vec::new(), cells }];
        Ok(match body {
            Body::SingleCounter(value) => single(vec![value]),
            Body::MultipleCounters(_, values) => single(values.iter().collect()),
            Body::MultipleInstances(table) | Body::Counterset(_, table) => {
                let row = |row: perfset_core::v2::Instance<'b>| ObjectRow {
                    name: row.name().units().collect(),
                    cells: row.values().iter().collect(),
                };
                table.rows().flatten().map(row).collect()
            }
            Body::Error => match self.annex.failure() {
                Some(NoValue::NoInstance) if is_multiple => Vec::new(),
                reason => return Err(reason.cloned().unwrap_or(NoValue::NotGiven)),
            },
        })
    }

    /// Returns the displayable counters that have a value in some row, each with its base or its item count.
    fn written(&self, rows: &[ObjectRow<'_>]) -> Vec<(&Counter, Option<&Counter>)> {
        let has_value = |counter: &Counter| {
            let column = self.column(counter);
            rows.iter().any(|row| column.and_then(|at| row.cells.get(at)?.number()).is_some())
        };
        let mut written = Vec::new();
        for counter in self.set.counters.iter() {
            let is_shown = !counter.attributes.contains(Attributes::NO_DISPLAYABLE);
            let divisor = counter.divisor().and_then(|id| self.set.counter(id));
            // Without instances no counter has a value, and all counters that this system can have are defined.
            let is_there = match rows.is_empty() {
                true => !counter.source.is_empty() || counter.availability.is_empty(),
                // A base that is missing in all rows would be written as 0, and the formatted value would be
                // 0 (F-12).
                false => has_value(counter) && divisor.is_none_or(has_value),
            };
            if is_shown && is_there && counter.counter_type.value_len() > 0 {
                written.push((counter, divisor));
            }
        }
        written
    }

    fn column(&self, counter: &Counter) -> Option<usize> {
        self.info.counters().position(|other| other.id == counter.id)
    }

    /// Returns the V1 object's clock: that of the counterset, else that in its counters, else 100 ns time.
    fn clock(&self, rows: &[ObjectRow<'_>]) -> (i64, i64) {
        let in_counters = || {
            let (time, freq) = self.set.counters.iter().find_map(|c| Some((c.perf_time?, c.perf_freq?)))?;
            let ticks = |id| {
                let column = self.column(self.set.counter(id)?)?;
                i64::try_from(rows.first()?.cells.get(column)?.number()?.get()).ok()
            };
            Some((ticks(time)?, ticks(freq)?))
        };
        let own = |clocks: Clocks| (clocks.object_time, clocks.object_freq);
        let of_set = self.annex.clocks().map(own).or_else(in_counters);
        of_set.unwrap_or((self.clocks.time_100ns, 10_000_000))
    }
}
