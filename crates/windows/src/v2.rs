//! Provider of the countersets of PerfLib V2.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset_core::sample::Clocks;
use perfset_core::v2::instances::Instances;
use perfset_core::v2::{Block, BlockValue, Body, Values};
use perfset_core::{CounterFilter, CounterId, Guid, InstanceId, Language, NoValue, Status, Text};
use perfset_engine::{Catalogue, Change, CollectRequest, Entry, Provider, RowWriter, Rows, SourceError};

use crate::buffer::{filled, is_closed};
use crate::functions::PerfLib;
use crate::query::OpenQuery;
use crate::registration::{Registrations, SOURCE};
use crate::shared::V2Guids;

/// Time for which a list of V2 countersets is valid.
const PAUSE: Duration = Duration::from_secs(10);
/// Time for which a V2 counterset's registration is valid; reading it again takes a call for each counterset.
const COMPARED: Duration = Duration::from_secs(300);

/// Maximum number of bytes of V2 blocks that are kept for the next collections, for all queries together.
const KEPT_MOST: usize = 64 << 20;

/// Provider of the countersets that are registered with PerfLib.
///
/// Each has a separate query, so that a failing counterset does not affect others. A single counter is requested
/// alone. For several counters all are requested, because only then does the system itself show which values belong
/// to the same instance.
#[derive(Debug)]
pub struct V2Provider {
    functions: Arc<dyn PerfLib>,
    registrations: Registrations,
    registered: V2Guids,
    listed: Option<Instant>,
    /// Registration of each counterset when registrations were last compared; `compared` is the time of that
    /// comparison.
    infos: Vec<(Guid, Result<Vec<u8>, SourceError>)>,
    compared: Option<Instant>,
    catalogue: Result<Arc<Catalogue>, SourceError>,
    /// Registered V2 countersets that cannot be used, with the reasons.
    problems: Vec<Text>,
    queries: HashMap<(Guid, CounterFilter), SystemEntry>,
    /// Number of query entries for each V2 counterset.
    entries: HashMap<Guid, usize>,
    names: Vec<u8>,
}

/// PerfLib query with a single entry.
#[derive(Debug)]
struct SystemEntry {
    query: OpenQuery,
    /// Index of the query entry's result in the block.
    index: u32,
}

impl V2Provider {
    /// Creates a provider of PerfLib's countersets, with names in English and in this language.
    #[must_use]
    pub fn new(functions: Arc<dyn PerfLib>, language: Language, registered: V2Guids) -> Self {
        Self {
            registrations: Registrations::new(&functions, language),
            functions,
            registered,
            listed: None,
            infos: Vec::new(),
            compared: None,
            catalogue: Ok(Arc::default()),
            problems: Vec::new(),
            queries: HashMap::new(),
            entries: HashMap::new(),
            names: Vec::new(),
        }
    }

    /// Updates the catalogue of V2 countersets if it is due or registrations have changed.
    pub fn refresh(&mut self, now: Instant) {
        let is_within =
            |at: Option<Instant>, pause| at.is_some_and(|at| now.saturating_duration_since(at) < pause);
        if is_within(self.listed, PAUSE) {
            return;
        }
        self.listed = Some(now);
        let guids = match self.registrations.guids() {
            Ok(guids) => guids,
            Err(error) => {
                // V1 then shows these countersets as objects.
                self.registered.set(&Catalogue::default());
                self.catalogue = Err(error);
                return;
            }
        };
        let is_same = self.catalogue.is_ok() && guids.iter().eq(self.infos.iter().map(|(guid, _)| guid));
        if is_same && is_within(self.compared, COMPARED) {
            return;
        }
        self.compared = Some(now);
        // One call for each counterset decides if the other nine are needed.
        let infos = guids.into_iter().map(|guid| (guid, self.registrations.info(guid))).collect();
        if is_same && self.infos == infos {
            return;
        }
        self.infos = infos;
        self.problems.clear();
        let mut catalogue = Catalogue::new(SOURCE, Vec::new());
        for (guid, info) in &self.infos {
            let info = info.as_ref().map_err(SourceError::clone);
            match info.and_then(|info| self.registrations.counterset(*guid, info)) {
                Ok(set) => catalogue.countersets.push(Arc::new(set)),
                Err(error) => self.problems.push(format!("counterset {guid}: {error}").into()),
            }
        }
        self.registered.set(&catalogue);
        self.catalogue = Ok(Arc::new(catalogue));
    }

    /// Returns the PerfLib query that requests these counters; opens one if there is none.
    fn asked(&mut self, want: &CollectRequest<'_>) -> Result<&mut SystemEntry, SourceError> {
        let (guid, counter) = key_of(want);
        if !self.queries.contains_key(&(guid, counter)) {
            let query = OpenQuery::open(&self.functions)?;
            query.add(guid, counter, want.counterset.instance_type.is_multiple())?;
            let index = query.index(guid, counter)?;
            self.queries.insert((guid, counter), SystemEntry { query, index });
        }
        self.queries.get_mut(&(guid, counter)).ok_or(SourceError::UnknownCounterset(guid))
    }

    /// Collects the requested V2 counters once. A query that turns out to be broken is closed: the next collection
    /// opens another.
    fn collect_once(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let SystemEntry { query, index } = self.asked(want)?;
        let before = query.kept();
        let done = query.collect().and_then(|block| {
            rows.count_bytes_read(block.len());
            fill(block, *index, want, rows)
        });
        let has_grown = query.kept() > before;
        if let Some(error) = done.as_ref().err().filter(|error| is_broken(error)) {
            self.queries.remove(&key_of(want));
            if error.status() == Status::ERROR_WMI_ITEMID_NOT_FOUND {
                self.compared = None; // it has other counters now
            }
        } else if has_grown && self.kept() > KEPT_MOST {
            self.asked(want)?.query.keep_nothing();
        }
        done
    }

    /// Returns the size of the memory that all PerfLib queries keep, in bytes.
    fn kept(&self) -> usize {
        self.queries.values().map(|asked| asked.query.kept()).fold(0, usize::saturating_add)
    }
}

impl Provider for V2Provider {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.refresh(Instant::now());
        self.catalogue.clone()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let Self { functions, names, .. } = self;
        let mut ask = |buffer: &mut [u8]| functions.enumerate_instances(counterset, buffer);
        let list = match filled("PerfEnumerateCounterSetInstances", 1, names, &mut ask) {
            // The system reports an empty list by this code.
            Err(SourceError::System { status: Status::ERROR_WMI_INSTANCE_NOT_FOUND, .. }) => return Ok(()),
            list => list?,
        };
        for instance in Instances::new(list) {
            let instance = instance.map_err(|error| SourceError::Failed(error.to_string().into()))?;
            rows.push_units(instance.name().units(), instance.id(), None);
        }
        Ok(())
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        let guid = entry.counterset;
        let count = self.entries.entry(guid).or_default();
        *count = match change {
            Change::Added => count.saturating_add(1),
            Change::Removed => count.saturating_sub(1),
        };
        if *count == 0 {
            self.entries.remove(&guid);
            self.queries.retain(|(of, _), _| *of != guid);
        }
        Status::ERROR_SUCCESS
    }

    /// Collects V2 counters, and tries once more if the query was open and is broken, because the service or the
    /// provider behind it has restarted.
    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let was_open = self.queries.contains_key(&key_of(want));
        match self.collect_once(want, rows) {
            Err(error) if was_open && is_broken(&error) => self.collect_once(want, rows),
            done => done,
        }
    }

    fn problems(&mut self) -> Vec<Text> {
        self.problems.clone()
    }
}

/// Returns the V2 counterset and the counters to request from the system: the only counter, or all.
fn key_of(want: &CollectRequest<'_>) -> (Guid, CounterFilter) {
    let counter = match want.counters {
        [one] => CounterFilter::One(*one),
        _ => CounterFilter::All,
    };
    (want.counterset.guid, counter)
}

/// Returns `true` if a new PerfLib query may succeed although this one fails: its handle is not valid any more, or
/// the system does not know an entry that it accepted.
fn is_broken(error: &SourceError) -> bool {
    let status = error.status();
    is_closed(status)
        || matches!(status, Status::ERROR_WMI_GUID_NOT_FOUND | Status::ERROR_WMI_ITEMID_NOT_FOUND)
}

/// Fills rows from one result of a V2 block.
///
/// # Errors
/// If the result is a failure, or the block cannot be read.
pub fn fill(block: &[u8], index: u32, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
    let unreadable = |error: perfset_core::wire::WireError| SourceError::Failed(error.to_string().into());
    let block = Block::parse(block).map_err(unreadable)?;
    rows.set_clocks(Clocks::from(&block.clocks()));
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    let Some(result) = block.results().nth(index) else {
        // An error ends the results: report it, if that is why there is none.
        let broken = block.results().find_map(Result::err).map(unreadable);
        return Err(broken.unwrap_or_else(|| {
            SourceError::Failed(format!("PerfQueryCounterData: the block has no result {index}").into())
        }));
    };
    let result = result.map_err(unreadable)?;
    let only = || match want.counters {
        [one] => vec![*one],
        _ => Vec::new(),
    };
    match result.body {
        Body::Error => match result.status {
            Status::ERROR_NO_DATA | Status::ERROR_WMI_INSTANCE_NOT_FOUND => Ok(()),
            Status::ERROR_SUCCESS => {
                Err(SourceError::Failed("PerfQueryCounterData: the result is an error without a code".into()))
            }
            status => Err(SourceError::System { function: "PerfQueryCounterData".into(), status }),
        },
        Body::SingleCounter(value) => {
            let columns = ColumnMap::new(want, only().into_iter(), rows);
            let mut row = rows.push_units(std::iter::empty(), InstanceId(0), None);
            columns.set(&mut row, std::iter::once(value));
            Ok(())
        }
        Body::MultipleCounters(ids, values) => {
            let columns = ColumnMap::new(want, ids.iter(), rows);
            columns.set(&mut rows.push_units(std::iter::empty(), InstanceId(0), None), values.iter());
            Ok(())
        }
        Body::MultipleInstances(table) => {
            let columns = ColumnMap::new(want, only().into_iter(), rows);
            table_rows(table, &columns, rows).map_err(unreadable)
        }
        Body::Counterset(ids, table) => {
            let columns = ColumnMap::new(want, ids.iter(), rows);
            table_rows(table, &columns, rows).map_err(unreadable)
        }
    }
}

fn table_rows(
    table: perfset_core::v2::InstanceTable<'_>,
    columns: &ColumnMap,
    rows: &mut Rows,
) -> Result<(), perfset_core::wire::WireError> {
    for instance in table.rows() {
        let instance = instance?;
        let values: Values<'_> = instance.values();
        columns.set(&mut rows.push_units(instance.name().units(), instance.id(), None), values.iter());
    }
    Ok(())
}

/// Indexes of the requested columns to which the values of a V2 row belong.
struct ColumnMap(Vec<Option<usize>>);

impl ColumnMap {
    /// Creates the mapping of columns for values in the order of `ids`. A column without a value gets a reason for
    /// that.
    fn new(want: &CollectRequest<'_>, ids: impl Iterator<Item = CounterId>, rows: &mut Rows) -> Self {
        let places: HashMap<CounterId, usize> =
            want.counters.iter().enumerate().map(|(column, id)| (*id, column)).collect();
        let mut filled = vec![false; want.counters.len()];
        let mut columns = Vec::new();
        for id in ids {
            let column = places.get(&id).copied();
            // If a counter comes twice, the first value is used.
            let column = column.filter(|at| {
                filled.get_mut(*at).is_some_and(|is_filled| !std::mem::replace(is_filled, true))
            });
            columns.push(column);
        }
        for (column, _) in filled.iter().enumerate().filter(|(_, is_filled)| !**is_filled) {
            rows.none_in_column(column, NoValue::Failed("the system did not deliver the counter".into()));
        }
        Self(columns)
    }

    fn set<'a>(&self, row: &mut RowWriter<'_>, values: impl Iterator<Item = BlockValue<'a>>) {
        for (column, value) in self.0.iter().zip(values) {
            let Some(column) = column else { continue };
            match value {
                BlockValue::U32(value) => row.set_raw(*column, perfset_core::RawValue::U32(value)),
                BlockValue::U64(value) => row.set_raw(*column, perfset_core::RawValue::U64(value)),
                BlockValue::Other(_) => row.set_unavailable(*column, NoValue::NotDisplayable),
                BlockValue::Empty => row.set_unavailable(*column, NoValue::NotGiven),
            }
        }
    }
}
