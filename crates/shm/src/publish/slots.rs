//! Segments of a published counterset, and their slots: the places of its instances.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use perfset_core::{Counterset, InstanceType};

use super::error::PublishError;
use super::file::File;
use super::instance_bytes::{NameParts, write_block};
use crate::definition::encode;
use crate::layout::{PAGE, SegmentLayout, WORD, entry};
use crate::memory::{SharedMemory, store_bytes};
use crate::sequence::{free, publish};

/// Published counterset with its segments and instances.
pub(super) struct PublishedSet {
    pub set: Arc<Counterset>,
    stripes: usize,
    /// Index of the counterset's definition in the file's segment table, once it is there.
    pub definition: Option<usize>,
    segments: Vec<Segment>,
    classes: [SizeClass; NAME_UNITS.len()],
    /// Existing instances of the counterset by name and id.
    pub instances: HashMap<(Box<[u16]>, u32), LiveInstance>,
}

impl std::fmt::Debug for PublishedSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Published");
        debug.field("name", &self.set.name).field("instances", &self.instances.len()).finish_non_exhaustive()
    }
}

pub(super) struct LiveInstance {
    pub slot: SlotId,
    /// Object that represents the instance, if a program can request the same instance again.
    pub holder: Option<Weak<dyn Any + Send + Sync>>,
}

/// Size class of slots: room for names up to some length. Each class has segments of its own.
#[derive(Debug, Default)]
struct SizeClass {
    /// Newest segment of the size class, if it still has unused slots: its index, and the number of its slots used so
    /// far.
    fresh: Option<(usize, usize)>,
    /// Free slots that were used before; the slot that is free longest is reused first. So a late write to a released
    /// slot harms no instance for as long as possible.
    free: VecDeque<SlotId>,
    /// Free slots of segments in private memory, which are not in the publisher's file.
    private: VecDeque<SlotId>,
    /// Number of segments that the size class has in the file so far.
    count: u32,
}

/// Maximum name length in UTF-16 units for the slots of each class. The last class has room for the longest name and
/// its copy in units of 4 bytes.
const NAME_UNITS: [usize; 4] = [31, 127, 1023, 3071];

#[derive(Debug)]
struct Segment {
    memory: SharedMemory,
    shape: SegmentLayout,
    /// `true` if the segment is in the publisher's file.
    is_public: bool,
}

/// Replaces the memory of the segment by private memory, because no instance in it is held any more. A pointer that C
/// code kept then leads to private memory, where writes are harmless.
impl Drop for Segment {
    fn drop(&mut self) {
        self.memory.leave();
    }
}

/// Slot of a counterset: indexes of its class, its segment, and the slot in that segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotId {
    class: usize,
    segment: usize,
    slot: usize,
}

/// Memory of one published instance: its block, values and stripes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// PERF_COUNTERSET_INSTANCE block of the instance.
    pub block: &'static [AtomicU64],
    /// Words with the values of the instance, one per counter.
    pub values: &'static [AtomicU64],
    /// Words of the instance's stripes that threads add to, one stripe after the other.
    pub rows: &'static [AtomicU64],
    /// Number of words from one stripe of the instance to the next.
    pub row: usize,
}

impl PublishedSet {
    /// Creates a published counterset that is not in the file yet and has no instance.
    pub fn new(set: &Arc<Counterset>, stripes: usize) -> Self {
        Self {
            set: Arc::clone(set),
            stripes,
            definition: None,
            segments: Vec::new(),
            classes: Default::default(),
            instances: HashMap::new(),
        }
    }

    /// Writes the counterset's definition to the file, unless it is there already or no other process sees the file.
    pub fn define(&mut self, file: &File, problem: &mut Option<PublishError>) {
        if self.definition.is_some() || !file.is_public() {
            return;
        }
        let bytes = encode(&self.set);
        // Segments are mapped one by one, so they begin and end on pages.
        let len = bytes.len().saturating_add(WORD).next_multiple_of(PAGE);
        let body_len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let fill = |words: &[AtomicU64]| {
            if let Some((first, rest)) = words.split_first() {
                first.store(body_len, Relaxed);
                store_bytes(rest, bytes);
            }
        };
        match file.grow(len, entry::DEFINITION, 0, fill) {
            Ok((number, memory)) => {
                self.definition = Some(number);
                memory.leave(); // nobody writes to it again, and what is mapped takes space when the file is gone
            }
            Err(error) => *problem = Some(no_room(file, &error)),
        }
    }

    pub fn is_public(&self, at: SlotId) -> bool {
        self.segments.get(at.segment).is_some_and(|segment| segment.is_public)
    }

    /// Takes a slot for an instance with a name of that length.
    pub fn take(
        &mut self,
        file: &File,
        name_units: usize,
        problem: &mut Option<PublishError>,
    ) -> Option<(SlotId, Slot)> {
        let class = NAME_UNITS.iter().position(|units| name_units <= *units)?;
        let at = match self.free_slot(class) {
            Some(at) => at,
            None => {
                self.grow(file, class, problem)?;
                self.fresh(class)?
            }
        };
        Some((at, self.slot(at)?))
    }

    /// Takes a free slot of a size class, if there is one, preferably a slot that other processes see.
    fn free_slot(&mut self, class: usize) -> Option<SlotId> {
        let segment = self.classes.get(class)?.fresh.and_then(|(segment, _)| self.segments.get(segment));
        // Slots that were never used come first: an ended instance may still be written to by a program that
        // keeps its address.
        let fresh = if segment.is_some_and(|segment| segment.is_public) { self.fresh(class) } else { None };
        fresh
            .or_else(|| self.classes.get_mut(class)?.free.pop_front())
            .or_else(|| self.fresh(class))
            .or_else(|| self.classes.get_mut(class)?.private.pop_front())
    }

    fn fresh(&mut self, class: usize) -> Option<SlotId> {
        let (segment, taken) = self.classes.get_mut(class)?.fresh.as_mut()?;
        let (segment, slot) = (*segment, *taken);
        if slot >= self.segments.get(segment)?.shape.slots {
            return None;
        }
        *taken = taken.saturating_add(1);
        Some(SlotId { class, segment, slot })
    }

    /// Adds a segment to a size class. Each is twice as large as the previous one, up to 16 MiB.
    fn grow(&mut self, file: &File, class: usize, problem: &mut Option<PublishError>) -> Option<()> {
        const FIRST: usize = 64 << 10;
        const LARGEST_DOUBLINGS: u32 = 8;
        let count = self.classes.get(class)?.count;
        let shape = SegmentLayout::new(self.set.counters.len(), *NAME_UNITS.get(class)?, self.stripes);
        let least = shape.one().next_multiple_of(PAGE);
        let wanted = match self.set.instance_type {
            // A single instance needs no more than the smallest segment.
            InstanceType::Single => 0,
            _ => FIRST.wrapping_shl(count.min(LARGEST_DOUBLINGS)),
        };
        let len = wanted.max(least);
        let shape = shape.filling(len);
        let fill = |words: &[AtomicU64]| {
            for (word, value) in words.iter().zip(shape.head()) {
                word.store(value, Relaxed);
            }
        };
        let public = self.definition.map(|definition| file.grow(len, entry::INSTANCES, definition, fill));
        let (memory, is_public) = match public {
            Some(Ok((_, memory))) => (memory, true),
            Some(Err(error)) => {
                *problem = Some(no_room(file, &error));
                (SharedMemory::own(len).ok()?, false)
            }
            None => (SharedMemory::own(len).ok()?, false),
        };
        let class = self.classes.get_mut(class)?;
        class.fresh = Some((self.segments.len(), 0));
        // A segment that could not be published does not count, so the next attempt is soon and small.
        class.count = class.count.saturating_add(u32::from(is_public));
        self.segments.push(Segment { memory, shape, is_public });
        Some(())
    }

    fn slot(&self, at: SlotId) -> Option<Slot> {
        let Segment { memory, shape, .. } = self.segments.get(at.segment)?;
        let words = memory.words();
        Some(Slot {
            block: words.get(shape.block(at.slot))?,
            values: words.get(shape.values(at.slot))?,
            rows: words.get(shape.rows(at.slot))?,
            row: shape.row,
        })
    }

    fn sequence(&self, at: SlotId) -> Option<&'static AtomicU64> {
        let segment = self.segments.get(at.segment)?;
        segment.memory.words().get(segment.shape.sequence(at.slot))
    }

    /// Writes a new instance to a free slot.
    pub fn write(&self, file: &File, at: SlotId, slot: &Slot, name: NameParts<'_>, sequence: u64) {
        let Some(word) = self.sequence(at) else { return };
        file.change(|| {
            // The slot may have the values of an earlier instance.
            for word in slot.values.iter().chain(slot.rows) {
                word.store(0, Relaxed);
            }
            write_block(slot.block, &self.set.guid, slot.values.len(), name);
            publish(word, sequence); // last
        });
    }

    /// Ends the published instance in a slot, and releases the slot.
    pub fn free(&mut self, file: &File, at: SlotId) {
        if let Some(word) = self.sequence(at) {
            file.change(|| free(word));
        }
        let is_public = self.is_public(at);
        if let Some(class) = self.classes.get_mut(at.class) {
            if is_public { &mut class.free } else { &mut class.private }.push_back(at);
        }
    }
}

fn no_room(file: &File, error: &io::Error) -> PublishError {
    let path = file.path().map(PathBuf::from).unwrap_or_default();
    PublishError::File { path, what: "cannot grow", why: error.to_string() }
}
