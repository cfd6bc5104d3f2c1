//! Segment table of a publisher's file: definitions of countersets, and segments of their instances.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use std::sync::{Arc, Weak};

use perfset_core::Counterset;
use rustix::fs::fstat;

use super::whole::check_len;
use super::{FileAccess, MOST_BYTES, ProgramFile, copy_of_header, wide};
use crate::definition;
use crate::layout::{SegmentLayout, WORD, entry, header};
use crate::memory::MappedView;
use crate::read::index::{self, Index, Part, Segment};
use crate::read::lines::{self, read_at};
use crate::read::stamp::stamp;
use crate::read::table::{FileError, TableEntry, load, word};

/// Entry of a file's segment table, after validation.
#[derive(Debug)]
pub(super) enum SegmentEntry {
    Definition(Arc<Counterset>),
    Instances(InstancesSegment),
    /// Invalid entry of the segment table; `end` is the end of the previous segments, in bytes.
    Bad {
        end: u64,
    },
}

/// Segment of instances, with its location in the file.
#[derive(Debug)]
pub(crate) struct InstancesSegment {
    pub counterset: usize,
    pub offset: u64,
    pub len: usize,
    pub shape: SegmentLayout,
    pub(super) values: Option<Segment>,
}

/// Cache of counterset definitions by their bytes, for all files: many publishers have the same definition.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    sets: HashMap<Box<[u8]>, Weak<Counterset>>,
    /// Number of cached definitions in use when unused ones were last removed.
    used: usize,
}

impl Definitions {
    fn get(&mut self, number: usize, bytes: &[u8]) -> Result<Arc<Counterset>, FileError> {
        if let Some(known) = self.sets.get(bytes).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let set = definition::decode(bytes).map_err(|why| FileError::Definition { number, why })?;
        let set = Arc::new(set);
        if self.sets.len() >= self.used.saturating_mul(2) {
            self.sets.retain(|_, known| known.strong_count() > 0);
            self.used = self.sets.len().max(64);
        }
        self.sets.insert(bytes.into(), Arc::downgrade(&set));
        Ok(set)
    }
}

impl ProgramFile {
    /// Reads new entries of the file's segment table, if the file changed. Returns `true` if there are new
    /// definitions.
    pub fn refresh(&mut self, definitions: &mut Definitions) -> bool {
        let change = self.change().map(|change| change.load(Relaxed));
        let is_mended = !self.bad.is_empty() && self.stamp != self.read_as && change.is_some();
        let is_current = change.is_some_and(|change| change == self.change && change & 1 == 0);
        if is_current && !is_mended || change.is_some() && self.is_lost() {
            return false;
        }
        let before = self.definitions().count();
        let has_new = match &self.bytes {
            FileAccess::Mapped { header } => {
                load(header.words(), header::SEGMENTS) != wide(self.segments.len())
            }
            FileAccess::Copied => true,
        };
        let has_new = has_new || is_mended;
        if has_new {
            match self.file() {
                Ok(file) => self.read_table(file.as_fd(), definitions),
                Err(_) => return false, // it is gone, which the next listing or question tells
            }
        } else {
            self.problem = None;
        }
        // If the file could not be read, the next refresh must read it again even without a change.
        self.change = change.filter(|_| self.problem.is_none()).unwrap_or(1);
        self.definitions().count() != before
    }

    /// Forgets the entries of the segment table from the first invalid one on.
    fn forget_from_the_first_bad_one(&mut self) {
        let bad = |(at, known): (usize, &SegmentEntry)| match known {
            SegmentEntry::Bad { end } => Some((at, *end)),
            _ => None,
        };
        if let Some((at, end)) = self.segments.iter().enumerate().find_map(bad) {
            self.segments.truncate(at);
            self.bad.clear();
            self.end = end;
        }
    }

    /// Reads the entries of the file's segment table that were not read yet.
    pub(super) fn read_table(&mut self, file: BorrowedFd<'_>, definitions: &mut Definitions) {
        self.problem = self.take_over(file, definitions).err();
    }

    fn take_over(&mut self, file: BorrowedFd<'_>, definitions: &mut Definitions) -> Result<(), FileError> {
        // Copy the number of entries first, and then the entries: within one copy there is no order.
        let count = usize::try_from(word(&copy_of_header(file)?, header::SEGMENTS)).unwrap_or(usize::MAX);
        fence(Acquire);
        let bytes = copy_of_header(file)?;
        let committed = word(&bytes, header::COMMITTED);
        self.flags = word(&bytes, header::FLAGS);
        let limit = if self.change().is_some() { MOST_BYTES.0 } else { MOST_BYTES.1 };
        let stat = fstat(file).map_err(|error| FileError::io("cannot be inspected")(error.into()))?;
        check_len(&stat, committed, limit)?;
        let now = Some(stamp(&stat));
        if self.read_as != now {
            self.forget_from_the_first_bad_one(); // it may have been a hole
        }
        self.read_as = now;
        let count = count.min(header::TABLE_MAX);
        let in_table = |number: usize| -> [u64; entry::WORDS] {
            let from = header::TABLE.saturating_add(number.saturating_mul(entry::WORDS));
            std::array::from_fn(|at| word(&bytes, from.saturating_add(at)))
        };
        if let Some(limit) = &mut self.limit {
            limit.ask((0..count).map(in_table));
        }
        for number in self.segments.len()..count {
            if !self.may_read(number) {
                break; // it is looked at again next time
            }
            let words = in_table(number);
            let end = self.end;
            let known = TableEntry::parse(number, words, self.end, committed).and_then(|entry| {
                self.end = entry.offset.saturating_add(wide(entry.len));
                known(file, number, &entry, &self.segments, definitions)
            });
            self.segments.push(known.unwrap_or_else(|refused| {
                self.bad.push(refused);
                SegmentEntry::Bad { end }
            }));
        }
        Ok(())
    }

    /// Returns the countersets that the file defines, with the index of each definition.
    pub fn definitions(&self) -> impl Iterator<Item = (usize, &Arc<Counterset>)> {
        self.segments.iter().enumerate().filter_map(|(number, known)| match known {
            SegmentEntry::Definition(set) => Some((number, set)),
            _ => None,
        })
    }

    /// Returns the counterset of the file's definition with an index.
    pub fn definition(&self, number: usize) -> Option<&Arc<Counterset>> {
        match self.segments.get(number)? {
            SegmentEntry::Definition(set) => Some(set),
            _ => None,
        }
    }

    /// Returns the file's segments of instances of a counterset, each with its index.
    pub fn instances(&self, counterset: usize) -> impl Iterator<Item = (usize, &InstancesSegment)> + Clone {
        self.segments.iter().enumerate().filter_map(move |(number, known)| match known {
            SegmentEntry::Instances(instances)
                if instances.counterset == counterset && self.may_read(number) =>
            {
                Some((number, instances))
            }
            _ => None,
        })
    }

    /// Returns the values of a file's segment, if it contains instances and is mapped.
    #[inline]
    pub fn segment(&self, number: usize) -> Option<&Segment> {
        match self.segments.get(number)? {
            SegmentEntry::Instances(instances) => instances.values.as_ref(),
            _ => None,
        }
    }

    /// Maps the file's segments of a counterset that are not mapped yet. Returns `true` if all are mapped now.
    fn map(&mut self, counterset: usize) -> bool {
        let is_missing = |instances: &InstancesSegment| instances.values.is_none();
        if !self.instances(counterset).any(|(_, instances)| is_missing(instances)) {
            return true;
        }
        let Ok(file) = self.file() else { return false };
        let mut is_whole = true;
        for known in &mut self.segments {
            let SegmentEntry::Instances(instances) = known else { continue };
            if instances.counterset != counterset || instances.values.is_some() {
                continue;
            }
            let view = MappedView::map(&file, instances.offset, instances.len);
            match view.and_then(|view| Segment::new(view, instances.shape)) {
                Ok(values) => instances.values = Some(values),
                Err(error) => {
                    is_whole = false;
                    self.problem = Some(FileError::io("cannot be mapped")(error));
                }
            }
        }
        is_whole
    }

    /// Updates the index of a counterset's instances in the file. `now_100ns` is a PerfTime100NSec before the update.
    pub fn index(&mut self, counterset: usize, index: &mut Index, now_100ns: Option<u64>) {
        let is_whole = self.map(counterset);
        let Some(change) = self.change().map(|change| change.load(Relaxed)) else { return };
        // Otherwise there may be segments that are not known yet.
        let is_current = self.change & 1 == 0 && change == self.change;
        let now_100ns = now_100ns.filter(|_| is_whole && is_current);
        if self.is_lost() || index.is_current(change, self.stamp, now_100ns) {
            return;
        }
        let Some(SegmentEntry::Definition(set)) = self.segments.get(counterset) else { return };
        let guid = set.guid;
        let segments = self.instances(counterset).filter(|(_, instances)| instances.values.is_some());
        let parts = segments.map(|(number, instances)| (number, instances.part()));
        let Ok(file) = self.file() else { return index.doubt() };
        let after = || {
            let words = lines::first_words(file.as_fd()).unwrap_or_default();
            words.get(header::CHANGE).copied().unwrap_or(1)
        };
        let before = (change, self.stamp);
        let looked = index.refresh(&guid, parts, file.as_fd(), before, after, now_100ns);
        if !is_whole || looked.is_err() {
            index.doubt(); // there may be a descriptor next time, though nothing changes
        }
    }
}

impl InstancesSegment {
    /// Returns the location of the segment in its file.
    fn part(&self) -> Part {
        Part { offset: self.offset, shape: self.shape }
    }
}

fn known(
    file: BorrowedFd<'_>,
    number: usize,
    found: &TableEntry,
    before: &[SegmentEntry],
    definitions: &mut Definitions,
) -> Result<SegmentEntry, FileError> {
    if found.kind == entry::DEFINITION {
        let mut bytes = vec![0; found.len.min(definition::MAX_LEN)];
        let len = read_at(file, &mut bytes, found.offset).map_err(FileError::io("cannot be read"))?;
        bytes.truncate(len);
        let len = usize::try_from(word(&bytes, 0)).unwrap_or(usize::MAX);
        let Some(body) = bytes.get(WORD..).and_then(|body| body.get(..len)) else {
            return Err(FileError::Entry { number, what: "the length of the definition", value: wide(len) });
        };
        return definitions.get(number, body).map(SegmentEntry::Definition);
    }
    let mut head = [0; SegmentLayout::HEAD * WORD];
    read_at(file, &mut head, found.offset).map_err(FileError::io("cannot be read"))?;
    let shape = index::shape(&head, found.len).map_err(|why| FileError::Shape { number, why })?;
    let set = match before.get(found.counterset) {
        Some(SegmentEntry::Definition(set)) => set,
        _ => {
            return Err(FileError::Entry {
                number,
                what: "the counterset index",
                value: wide(found.counterset),
            });
        }
    };
    if shape.counters != set.counters.len() {
        return Err(FileError::Entry { number, what: "the number of counters", value: wide(shape.counters) });
    }
    let (offset, len, counterset) = (found.offset, found.len, found.counterset);
    Ok(SegmentEntry::Instances(InstancesSegment { counterset, offset, len, shape, values: None }))
}
