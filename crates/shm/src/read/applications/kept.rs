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
            let (mut has_some, room) = (false, self.room_of_copied(number));
            self.each_copied(number, room, &mut |_, _| has_some = true);
            return has_some;
        }
        let index = self.indexes.entry(number).or_default();
        self.file.look();
        self.file.index(number, index, None);
        !self.file.is_lost() && !index.rows().is_empty()
    }

    /// Adds a row without values for each instance.
    pub(super) fn list(&mut self, number: usize, rows: &mut Rows) {
        let file_id = self.file.header.id;
        rows.set_owner(self.file.owner());
        if let Bytes::Copied = self.file.bytes {
            let room = self.room_of_copied(number);
            return self.each_copied(number, room, &mut |name, copied| {
                let birth = birth(copied.sequence, file_id);
                rows.push_units(name.iter().copied(), InstanceId(copied.id), birth);
            });
        }
        let index = self.indexes.entry(number).or_default();
        self.file.look();
        self.file.index(number, index, None);
        if self.file.is_lost() {
            return;
        }
        for indexed in index.rows() {
            rows.push_of(index.names(), indexed.name, indexed.birth(file_id));
        }
    }

    /// Returns the number of instances of a counterset that may be read, if the file is copied.
    fn room_of_copied(&mut self, number: usize) -> u64 {
        match (&self.file.bytes, self.file.file()) {
            (Bytes::Copied, Ok(file)) => self.room(number, file.as_fd()),
            _ => 0,
        }
    }

    /// Calls `each` with so many instances of a file that is copied. The names of a stranger's begin with the user.
    fn each_copied(&self, number: usize, mut room: u64, each: &mut dyn FnMut(&[u16], &Copied<'_>)) {
        let Ok(file) = self.file.file() else { return };
        let Some(set) = self.file.definition(number) else { return };
        let user: Vec<u16> = self.file.prefix().encode_utf16().collect();
        let mut name = Vec::new();
        for (_, of) in self.file.instances(number) {
            let read = copied::instances(file.as_fd(), of.at, of.len, of.shape, &set.guid, &mut |copied| {
                if room == 0 {
                    return;
                }
                room = room.saturating_sub(1);
                name.clear();
                name.extend_from_slice(&user);
                name.extend_from_slice(&copied.name);
                each(&name, copied);
            });
            if read.is_err() {
                break; // it is gone
            }
        }
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
        let room = self.room_of_copied(number);
        let referenced = match self.file.definition(number) {
            Some(set) if self.file.has_socket() => self.asking.referenced(set.guid),
            _ => Referenced::Nobody,
        };
        if let Bytes::Copied = self.file.bytes {
            let referenced = (!self.file.is_limited()).then_some(&referenced);
            return self.each_copied(number, room, &mut |name, copied| {
                let id = InstanceId(copied.id);
                if !wanted.is_none_or(|wanted| wanted.wants(name.iter().copied(), id)) {
                    return;
                }
                let mut row = rows.push_units(name.iter().copied(), id, birth(copied.sequence, file_id));
                for (column, place) in counters.columns.iter().zip(&counters.places) {
                    match copied.value(*place) {
                        Some(value) => row.set(*column, value),
                        None => row.none(*column, NoValue::Failed("it changes too fast to be read".into())),
                    }
                }
                refer(&mut row, counters, referenced, copied.sequence);
            });
        }
        if self.file.is_lost() {
            return;
        }
        let index = self.indexes.entry(number).or_default();
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
