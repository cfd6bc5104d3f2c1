//! Open file of a publisher: conversion of its instances and their values to rows.

use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use perfset_core::{Attributes, CounterId, Counterset, InstanceId, NoValue, Text};
use perfset_engine::{InstanceFilters, RowWriter, Rows};

use super::scope::Rationed;
use crate::merge::Fit;
use crate::read::asking::{self, CallbackClient, ReferencedValues};
use crate::read::copied::{self, CopiedInstance};
use crate::read::file::{FileAccess, ProgramFile};
use crate::read::index::{Index, IndexEntry, Segment, birth};

/// File of a publisher that is read, with the state kept between collections.
#[derive(Debug)]
pub(in crate::read) struct OpenFile {
    pub file: ProgramFile,
    pub(super) folder: usize,
    pub(super) name: String,
    pub(super) asking: CallbackClient,
    /// Index of the instances of each definition in the file, by the definition's index.
    pub indexes: HashMap<usize, Index>,
    /// Instances of each definition in a copied file, as of the last successful copy.
    pub(super) copied_instances: HashMap<usize, Vec<Known>>,
    /// Reason why the instances of a definition in the file are unknown, by the definition's index.
    pub(super) missed: HashMap<usize, Arc<str>>,
    /// Share of the instance limit for each definition, if the file belongs to another user.
    pub(super) shares: HashMap<usize, Rationed>,
    /// Indexes of the values to load of each instance; empty for all.
    pub value_indexes: Vec<usize>,
    /// `true` if the values of the file must still be loaded in this collection.
    pub is_to_load: bool,
    pub is_gone: bool,
    /// `true` if the publisher added definitions while it handled a request, and they are not served yet.
    pub has_new: bool,
}

/// Counters requested by a collection, grouped by the way their values are obtained.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Indexes of the requested counters whose values are in the file, ascending.
    columns: Vec<usize>,
    /// Indexes that the values of the counters in `columns` have in an instance.
    value_indexes: Vec<usize>,
    /// Range of the requested values' indexes in an instance, if all of these values are in the file and consecutive.
    run: Option<Range<usize>>,
    /// Indexes of the requested counters whose values are obtained by reference.
    referenced: Vec<(usize, CounterId)>,
    /// Indexes of the requested counters to which the publisher gives another meaning, with the reason.
    left_out: Vec<(usize, NoValue)>,
}

/// Reason for a missing value: the publisher of the instance does not have the counter.
const LACKS: NoValue =
    NoValue::Unavailable(Text::Borrowed("the program that publishes this instance has no such counter"));

/// Reason for a missing value: the counter is by reference, and its publisher cannot receive requests.
const NO_REFERENCE: NoValue =
    NoValue::Unavailable(Text::Borrowed("the program gives it by reference, and cannot be asked"));

impl Wanted {
    /// Groups the requested counters by the way their values are obtained, given the fit of a publisher's definition.
    /// Sets the reason for counters that the publisher does not have.
    pub(super) fn find(&mut self, set: &Counterset, fit: &Fit, wanted: &[CounterId], rows: &mut Rows) {
        self.columns.clear();
        self.value_indexes.clear();
        self.referenced.clear();
        self.left_out.clear();
        for (column, id) in wanted.iter().enumerate() {
            let place = fit.index(*id);
            match place.map(|at| (at, set.counters.get(at))) {
                Ok((_, Some(counter))) if counter.attributes.contains(Attributes::BY_REFERENCE) => {
                    self.referenced.push((column, counter.id));
                }
                Ok((at, _)) => {
                    self.columns.push(column);
                    self.value_indexes.push(at);
                }
                Err(Some(why)) => self.left_out.push((column, NoValue::Failed(Arc::clone(why)))),
                // Set once for the column, because there may be many such rows; no other reason is set for columns
                // here.
                Err(None) => rows.none_in_column(column, LACKS),
            }
        }
        // With all counters in their order, a row is one copy of consecutive words, which is the usual
        // request.
        let first = self.value_indexes.first().copied().unwrap_or(0);
        let run = first..first.saturating_add(wanted.len());
        self.run = self.value_indexes.iter().copied().eq(run.clone()).then_some(run);
    }
}

impl OpenFile {
    /// Returns `true` if a counterset of the file currently has instances.
    pub(super) fn has_instances(&mut self, number: usize) -> bool {
        if let FileAccess::Copied = self.file.bytes {
            return self.copy(number, None, &[]).is_some_and(|copied| !copied.instances.is_empty());
        }
        self.look_for_instances(number) && !self.confirmed(number).is_empty()
    }

    /// Adds a row without values for each instance of a counterset in the file. If the file cannot be read now, adds
    /// the instances last known.
    pub(super) fn list(&mut self, number: usize, rows: &mut Rows) {
        let file_id = self.file.header.id;
        rows.set_owner(self.file.owner());
        if let FileAccess::Copied = self.file.bytes {
            self.copy(number, None, &[]);
            for instance in self.copied_instances.get(&number).into_iter().flatten() {
                let name = instance.name.iter().copied();
                rows.push_units(name, InstanceId(instance.id), birth(instance.sequence, file_id));
            }
        } else {
            self.look_for_instances(number);
            let Some(index) = self.indexes.get(&number) else { return };
            for indexed in index.confirmed() {
                rows.push_of(index.names(), indexed.name, indexed.birth(file_id));
            }
        }
        self.note_what_is_missed(number);
    }

    /// Searches for instances of a mapped file. Returns `true` if the file was not truncated or overwritten
    /// meanwhile.
    fn look_for_instances(&mut self, number: usize) -> bool {
        const TRIES: usize = 3;
        let index = self.indexes.entry(number).or_default();
        // A file that another process truncates and restores again and again must not hold up this
        // collection.
        for _ in 0..TRIES {
            self.file.look();
            self.file.index(number, index, None);
            if self.file.is_as_it_was() {
                index.confirm();
                return true;
            }
        }
        if !self.file.is_lost() {
            self.file.lose();
        }
        false
    }

    /// Returns the instances of a mapped file as of the last time it was intact.
    fn confirmed(&self, number: usize) -> &[IndexEntry] {
        self.indexes.get(&number).map(Index::confirmed).unwrap_or_default()
    }

    /// Records that a counterset may have unknown instances, if the file cannot be read.
    fn note_what_is_missed(&mut self, number: usize) {
        let is_known = match self.file.bytes {
            FileAccess::Copied => self.copied_instances.get(&number).is_some_and(|known| !known.is_empty()),
            FileAccess::Mapped { .. } => !self.confirmed(number).is_empty(),
        };
        match self.file.why_lost().filter(|_| !is_known) {
            Some(why) => self.missed.insert(number, why),
            None => self.missed.remove(&number),
        };
    }

    /// Copies the instances of a counterset from a file, with the values at `places` of wanted instances, and stores
    /// which instances there are. `None` if the file changed by system calls meanwhile, or cannot be read.
    fn copy(
        &mut self,
        number: usize,
        wanted: Option<&InstanceFilters>,
        places: &[usize],
    ) -> Option<CopiedRows> {
        // The limit of instances is requested before the copy, because a copy may have to be repeated.
        let room = self.file.file().map_or(0, |file| self.room(number, file.as_fd()));
        let user: Vec<u16> = self.file.prefix().encode_utf16().collect();
        let copied = self.file.copy(|this, file| {
            let mut all = CopiedRows::default();
            // Each attempt begins with the whole limit.
            let mut room = room;
            let Some(set) = this.definition(number) else { return Ok(all) };
            for (_, of) in this.instances(number) {
                copied::instances(file, of.offset, of.len, of.shape, &set.guid, &mut |copied| {
                    if room > 0 {
                        room = room.saturating_sub(1);
                        all.add(&user, copied, wanted, places);
                    }
                })?;
            }
            Ok(all)
        })?;
        // Kept in case the file cannot be read next time: its instances then have the reason in place of
        // values.
        self.copied_instances.insert(number, copied.instances.clone());
        Some(copied)
    }

    /// Adds a row for each wanted instance in the file, with the values of the requested counters.
    pub(super) fn collect(
        &mut self,
        number: usize,
        wanted: Option<&InstanceFilters>,
        counters: &Wanted,
        rows: &mut Rows,
    ) {
        let file_id = self.file.header.id;
        rows.set_owner(self.file.owner());
        let now_100ns = rows.totals_at_100ns();
        // In another time namespace the monotonic clock has an offset, so the time in the header means
        // nothing here.
        let created = now_100ns.filter(|_| self.file.has_our_clock);
        let of_file = created.map(|now_100ns| time_of(self.file.header.created, now_100ns));
        rows.set_began(of_file);
        if let FileAccess::Copied = self.file.bytes {
            self.collect_copied(number, wanted, counters, rows);
            return self.note_what_is_missed(number);
        }
        let Some(index) = self.indexes.get(&number) else { return self.note_what_is_missed(number) };
        // A file that is not intact keeps its rows, without values: instances would otherwise seem to end and
        // begin again.
        if let Some(why) = self.file.why_lost() {
            for indexed in index.confirmed() {
                if wanted.is_none_or(|wanted| index.is_wanted(indexed, wanted)) {
                    let row = rows.push_of(index.names(), indexed.name, indexed.birth(file_id));
                    fail(row, counters, &why);
                }
            }
            return self.note_what_is_missed(number);
        }
        let referenced = self.referenced(number);
        // The segment is looked up once per run; most files have all instances of a counterset in one.
        for run in index.rows().chunk_by(|one, next| one.segment == next.segment) {
            let segment = run.first().and_then(|indexed| self.file.segment(indexed.segment));
            let Some(segment) = segment else { continue };
            for indexed in run {
                if wanted.is_none_or(|wanted| index.is_wanted(indexed, wanted)) {
                    if now_100ns.is_some() {
                        // An instance cannot be older than its file.
                        rows.set_began(of_file.max(indexed.began_100ns));
                    }
                    add(segment, index, indexed, file_id, counters, &referenced, rows);
                }
            }
        }
        self.missed.remove(&number);
    }

    /// Returns the values that counters by reference of a counterset have.
    fn referenced(&self, number: usize) -> ReferencedValues<'_> {
        match self.file.definition(number) {
            Some(set) if self.file.has_socket() => self.asking.referenced(set.guid),
            _ => ReferencedValues::Nobody,
        }
    }

    /// Adds the rows of a counterset in a copied file, like [`collect`](Self::collect).
    fn collect_copied(
        &mut self,
        number: usize,
        wanted: Option<&InstanceFilters>,
        counters: &Wanted,
        rows: &mut Rows,
    ) {
        let file_id = self.file.header.id;
        let copied = self.copy(number, wanted, &counters.value_indexes);
        let why = self.file.why_lost();
        let is_asked = !self.file.is_limited();
        let referenced = self.referenced(number);
        // `copied_instances` and `values` are of the same copy, so both have the wanted instances in the same order.
        let mut values = copied.iter().flat_map(|copied| copied.values.iter().copied());
        for Known { name, id, sequence } in self.copied_instances.get(&number).into_iter().flatten() {
            let id = InstanceId(*id);
            if !wanted.is_none_or(|wanted| wanted.wants(name.iter().copied(), id)) {
                continue;
            }
            let mut row = rows.push_units(name.iter().copied(), id, birth(*sequence, file_id));
            if let Some(why) = &why {
                fail(row, counters, why);
                continue;
            }
            for (column, value) in counters.columns.iter().zip(values.by_ref()) {
                match value {
                    Some(value) => row.set(*column, value),
                    None => {
                        row.set_unavailable(*column, NoValue::Failed("it changes too fast to be read".into()))
                    }
                }
            }
            refer(&mut row, counters, is_asked.then_some(&referenced), *sequence);
        }
    }
}

/// Known instance of a counterset in a copied file.
#[derive(Clone, Debug)]
pub(super) struct Known {
    name: Box<[u16]>,
    id: u32,
    sequence: u64,
}

/// Result of copying a counterset from a file: its instances, and the values of the wanted ones, one after the other.
#[derive(Debug, Default)]
struct CopiedRows {
    instances: Vec<Known>,
    values: Vec<Option<u64>>,
}

impl CopiedRows {
    /// Adds an instance to the rows copied from a file. In a file of another user, the name begins with the prefix
    /// `user`.
    fn add(
        &mut self,
        user: &[u16],
        copied: &CopiedInstance<'_>,
        wanted: Option<&InstanceFilters>,
        places: &[usize],
    ) {
        let name: Box<[u16]> = user.iter().chain(&copied.name).copied().collect();
        if wanted.is_none_or(|wanted| wanted.wants(name.iter().copied(), InstanceId(copied.id))) {
            self.values.extend(places.iter().map(|place| copied.value(*place)));
        }
        self.instances.push(Known { name, id: copied.id, sequence: copied.sequence });
    }
}

/// Sets the same reason for a missing value in all cells of a row.
fn fail(mut row: RowWriter<'_>, counters: &Wanted, why: &Arc<str>) {
    for column in counters.columns.iter().chain(counters.referenced.iter().map(|(column, _)| column)) {
        row.set_unavailable(*column, NoValue::Failed(Arc::clone(why)));
    }
    for (column, why) in &counters.left_out {
        row.set_unavailable(*column, why.clone());
    }
}

/// Converts a CLOCK_MONOTONIC time of a file to PerfTime100NSec. `now_100ns` is the PerfTime100NSec at the start of
/// this collection.
fn time_of(monotonic_ns: u64, now_100ns: u64) -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let [seconds, nanoseconds] = [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    let now_ns = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    // Computed from the age: the two clocks have different origins.
    now_100ns.saturating_sub(now_ns.saturating_sub(monotonic_ns) / 100)
}

/// Fills a row's cells of counters by reference, and of counters that are left out. `referenced` is `None` if the
/// publisher cannot receive requests.
fn refer(
    row: &mut RowWriter<'_>,
    counters: &Wanted,
    referenced: Option<&ReferencedValues<'_>>,
    sequence: u64,
) {
    for (column, counter) in &counters.referenced {
        match referenced.map_or(Err(NO_REFERENCE), |all| asking::value(all, sequence, *counter)) {
            Ok((value, None)) => row.set(*column, value.get()),
            Ok((value, Some(mark))) => row.set_marked(*column, value.get(), mark),
            Err(reason) => row.set_unavailable(*column, reason),
        }
    }
    for (column, why) in &counters.left_out {
        row.set_unavailable(*column, why.clone());
    }
}

/// Adds a row with values for an instance, if it existed during the whole time in which its values were loaded.
#[inline]
fn add(
    segment: &Segment,
    index: &Index,
    indexed: &IndexEntry,
    file_id: [u64; 2],
    counters: &Wanted,
    referenced: &ReferencedValues<'_>,
    rows: &mut Rows,
) {
    if segment.sequence(indexed.slot).is_none_or(|word| word.load(Relaxed) != indexed.sequence) {
        return; // it went, or its slot has another one now
    }
    let (names, name, birth) = (index.names(), indexed.name, indexed.birth(file_id));
    let value = |place| segment.value(indexed.slot, place);
    if let Some(places) = &counters.run {
        match segment.values(indexed.slot, places) {
            Some(words) => rows.push_values(names, name, birth, words.iter().map(|word| word.load(Relaxed))),
            None => rows.push_values(names, name, birth, places.clone().map(value)),
        }
    } else {
        let mut row = rows.push_of(names, name, birth);
        for (column, place) in counters.columns.iter().zip(&counters.value_indexes) {
            row.set(*column, value(*place));
        }
        refer(&mut row, counters, Some(referenced), indexed.sequence);
    }
}
