//! A publisher's file that is read: its instances and their values as rows.

use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use perfset_core::{Attributes, CounterId, Counterset, InstanceId, NoValue, Text};
use perfset_engine::{InstanceFilters, Row, Rows};

use super::scope::Rationed;
use crate::merge::Fit;
use crate::read::asking::{self, Asking, Referenced};
use crate::read::copied::{self, Copied};
use crate::read::file::{Bytes, ProgramFile};
use crate::read::index::{Index, Indexed, Segment, birth};

/// File of a publisher that is read, and what is kept of it between collections.
#[derive(Debug)]
pub(in crate::read) struct Kept {
    pub file: ProgramFile,
    pub(super) folder: usize,
    pub(super) name: String,
    pub(super) asking: Asking,
    /// By definition: its instances.
    pub indexes: HashMap<usize, Index>,
    /// Of a file that is copied, by definition: the instances that it had when it was whole.
    pub(super) known: HashMap<usize, Vec<Known>>,
    /// By definition: why nothing is known of its instances.
    pub(super) missed: HashMap<usize, Arc<str>>,
    /// Of a file of another user, by definition: its instances within the limit.
    pub(super) shares: HashMap<usize, Rationed>,
    /// Places of the values that are loaded; none: all.
    pub places: Vec<usize>,
    /// Whether they are still to be loaded in this collection.
    pub is_to_load: bool,
    pub is_gone: bool,
    /// Whether it defined something while it was asked, of which nothing is served yet.
    pub has_new: bool,
}

/// The counters that a collection is for, those that there are values of.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Their columns, ascending.
    columns: Vec<usize>,
    /// Where their values are among those of an instance.
    places: Vec<usize>,
    /// Their places, if they are all columns and follow each other.
    run: Option<Range<usize>>,
    /// Columns of counters that refer to their values.
    referenced: Vec<(usize, CounterId)>,
    /// Columns of counters by which the program means something else, and the reason.
    left_out: Vec<(usize, NoValue)>,
}

/// Why a counter of the counterset has no value in some of its instances.
const LACKS: NoValue =
    NoValue::Unavailable(Text::Borrowed("the program that publishes this instance has no such counter"));

/// Why there is no value of a counter that refers to it, of a program that is not asked.
const NO_REFERENCE: NoValue =
    NoValue::Unavailable(Text::Borrowed("the program gives it by reference, and cannot be asked"));

impl Wanted {
    /// Becomes those of a program's definition; says of the others why they have no value.
    pub(super) fn find(&mut self, set: &Counterset, fit: &Fit, wanted: &[CounterId], rows: &mut Rows) {
        self.columns.clear();
        self.places.clear();
        self.referenced.clear();
        self.left_out.clear();
        for (column, id) in wanted.iter().enumerate() {
            let place = fit.place(*id);
            match place.map(|at| (at, set.counters.get(at))) {
                Ok((_, Some(counter))) if counter.attributes.contains(Attributes::BY_REFERENCE) => {
                    self.referenced.push((column, counter.id));
                }
                Ok((at, _)) => {
                    self.columns.push(column);
                    self.places.push(at);
                }
                Err(Some(why)) => self.left_out.push((column, NoValue::Failed(Arc::clone(why)))),
                // Said of the column: there may be many such rows, and nothing else is said of columns here.
                Err(None) => rows.none_in_column(column, LACKS),
            }
        }
        let first = self.places.first().copied().unwrap_or(0);
        let run = first..first.saturating_add(wanted.len());
        self.run = self.places.iter().copied().eq(run.clone()).then_some(run);
    }
}

impl Kept {
    /// Whether there are instances now.
    pub(super) fn has_instances(&mut self, number: usize) -> bool {
        if let Bytes::Copied = self.file.bytes {
            return self.copy(number, None, &[]).is_some_and(|copied| !copied.instances.is_empty());
        }
        self.look_for_instances(number) && !self.confirmed(number).is_empty()
    }

    /// Adds a row without values for each instance; for each that was there, if the file cannot be read now.
    pub(super) fn list(&mut self, number: usize, rows: &mut Rows) {
        let file_id = self.file.header.id;
        rows.set_owner(self.file.owner());
        if let Bytes::Copied = self.file.bytes {
            self.copy(number, None, &[]);
            for instance in self.known.get(&number).into_iter().flatten() {
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

    /// Looks for instances of a mapped file; whether it stayed as it was meanwhile.
    fn look_for_instances(&mut self, number: usize) -> bool {
        const TRIES: usize = 3;
        let index = self.indexes.entry(number).or_default();
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

    /// The instances of a mapped file when it was whole.
    fn confirmed(&self, number: usize) -> &[Indexed] {
        self.indexes.get(&number).map(Index::confirmed).unwrap_or_default()
    }

    /// Notes whether there may be instances that nothing is known of, because the file cannot be read.
    fn note_what_is_missed(&mut self, number: usize) {
        let is_known = match self.file.bytes {
            Bytes::Copied => self.known.get(&number).is_some_and(|known| !known.is_empty()),
            Bytes::Mapped { .. } => !self.confirmed(number).is_empty(),
        };
        match self.file.why_lost().filter(|_| !is_known) {
            Some(why) => self.missed.insert(number, why),
            None => self.missed.remove(&number),
        };
    }

    /// Copies the instances of a counterset with the values of wanted ones at those places, and keeps which they are;
    /// `None` if the file is not as it was meanwhile.
    fn copy(
        &mut self,
        number: usize,
        wanted: Option<&InstanceFilters>,
        places: &[usize],
    ) -> Option<CopiedRows> {
        let room = self.file.file().map_or(0, |file| self.room(number, file.as_fd()));
        let user: Vec<u16> = self.file.prefix().encode_utf16().collect();
        let copied = self.file.copy(|this, file| {
            let mut all = CopiedRows::default();
            let mut room = room;
            let Some(set) = this.definition(number) else { return Ok(all) };
            for (_, of) in this.instances(number) {
                copied::instances(file, of.at, of.len, of.shape, &set.guid, &mut |copied| {
                    if room > 0 {
                        room = room.saturating_sub(1);
                        all.add(&user, copied, wanted, places);
                    }
                })?;
            }
            Ok(all)
        })?;
        self.known.insert(number, copied.instances.clone());
        Some(copied)
    }

    /// Adds a row for each wanted instance, with the values that its counters have at those places.
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
        let created = now_100ns.filter(|_| self.file.has_our_clock);
        let of_file = created.map(|now_100ns| time_of(self.file.header.created, now_100ns));
        rows.set_began(of_file);
        if let Bytes::Copied = self.file.bytes {
            self.collect_copied(number, wanted, counters, rows);
            return self.note_what_is_missed(number);
        }
        let Some(index) = self.indexes.get(&number) else { return self.note_what_is_missed(number) };
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
        for run in index.rows().chunk_by(|one, next| one.segment == next.segment) {
            let segment = run.first().and_then(|indexed| self.file.segment(indexed.segment));
            let Some(segment) = segment else { continue };
            for indexed in run {
                if wanted.is_none_or(|wanted| index.is_wanted(indexed, wanted)) {
                    if now_100ns.is_some() {
                        rows.set_began(of_file.max(indexed.began_100ns));
                    }
                    add(segment, index, indexed, file_id, counters, &referenced, rows);
                }
            }
        }
        self.missed.remove(&number);
    }

    /// Returns the values that counters of a counterset refer to.
    fn referenced(&self, number: usize) -> Referenced<'_> {
        match self.file.definition(number) {
            Some(set) if self.file.has_socket() => self.asking.referenced(set.guid),
            _ => Referenced::Nobody,
        }
    }

    /// Adds the rows of a file that is copied, as [`collect`](Self::collect) does.
    fn collect_copied(
        &mut self,
        number: usize,
        wanted: Option<&InstanceFilters>,
        counters: &Wanted,
        rows: &mut Rows,
    ) {
        let file_id = self.file.header.id;
        let copied = self.copy(number, wanted, &counters.places);
        let why = self.file.why_lost();
        let is_asked = !self.file.is_limited();
        let referenced = self.referenced(number);
        let mut values = copied.iter().flat_map(|copied| copied.values.iter().copied());
        for Known { name, id, sequence } in self.known.get(&number).into_iter().flatten() {
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
                    None => row.none(*column, NoValue::Failed("it changes too fast to be read".into())),
                }
            }
            refer(&mut row, counters, is_asked.then_some(&referenced), *sequence);
        }
    }
}

/// An instance of a file that is copied.
#[derive(Clone, Debug)]
pub(super) struct Known {
    name: Box<[u16]>,
    id: u32,
    sequence: u64,
}

/// What was copied of a counterset: its instances, and the values of wanted ones, one after the other.
#[derive(Debug, Default)]
struct CopiedRows {
    instances: Vec<Known>,
    values: Vec<Option<u64>>,
}

impl CopiedRows {
    /// The names of a stranger's instances begin with the user.
    fn add(&mut self, user: &[u16], copied: &Copied<'_>, wanted: Option<&InstanceFilters>, places: &[usize]) {
        let name: Box<[u16]> = user.iter().chain(&copied.name).copied().collect();
        if wanted.is_none_or(|wanted| wanted.wants(name.iter().copied(), InstanceId(copied.id))) {
            self.values.extend(places.iter().map(|place| copied.value(*place)));
        }
        self.instances.push(Known { name, id: copied.id, sequence: copied.sequence });
    }
}

/// Says of all values of a row why they are not there.
fn fail(mut row: Row<'_>, counters: &Wanted, why: &Arc<str>) {
    for column in counters.columns.iter().chain(counters.referenced.iter().map(|(column, _)| column)) {
        row.none(*column, NoValue::Failed(Arc::clone(why)));
    }
    for (column, why) in &counters.left_out {
        row.none(*column, why.clone());
    }
}

/// A time of CLOCK_MONOTONIC in terms of PerfTime100NSec, which was that when this collection began.
fn time_of(monotonic_ns: u64, now_100ns: u64) -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let [seconds, nanoseconds] = [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    let now_ns = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    now_100ns.saturating_sub(now_ns.saturating_sub(monotonic_ns) / 100)
}

/// Fills the cells of counters that refer to values, and of those that are left out. `referenced` is `None` if the
/// program is not asked.
fn refer(row: &mut Row<'_>, counters: &Wanted, referenced: Option<&Referenced<'_>>, sequence: u64) {
    for (column, counter) in &counters.referenced {
        match referenced.map_or(Err(NO_REFERENCE), |all| asking::value(all, sequence, *counter)) {
            Ok((value, None)) => row.set(*column, value.get()),
            Ok((value, Some(mark))) => row.set_marked(*column, value.get(), mark),
            Err(reason) => row.none(*column, reason),
        }
    }
    for (column, why) in &counters.left_out {
        row.none(*column, why.clone());
    }
}

/// Adds a row for an instance, if it was there all the time while its values were loaded.
#[inline]
fn add(
    segment: &Segment,
    index: &Index,
    indexed: &Indexed,
    file_id: [u64; 2],
    counters: &Wanted,
    referenced: &Referenced<'_>,
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
        for (column, place) in counters.columns.iter().zip(&counters.places) {
            row.set(*column, value(*place));
        }
        refer(&mut row, counters, Some(referenced), indexed.sequence);
    }
}
