//! Ticks of a recording's file: their places and clocks. Those of segments are read when they are requested.

use std::sync::{Arc, OnceLock};

use perfset_core::clock::ClockReading;
use perfset_engine::Window;

use super::segment::{StoredSegment, TickSpan};

/// Tick of a recording's file: its place in the file, and its clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TickPlace {
    pub sequence: u64,
    pub clocks: ClockReading,
    /// Time of the tick by the wall clock, in 100 ns since 1601 UTC.
    pub time: i64,
    /// Index of the `about` block that describes the machine and the recorder of the tick.
    pub about: usize,
    pub place: TickLocation,
}

/// Place of a tick in its recording's file.
#[derive(Clone, Copy, Debug)]
pub(super) enum TickLocation {
    /// Tick in a block of its own at `offset`; its differences follow the whole tick with the index `key` in the file.
    Block { offset: u64, key: usize },
    /// Tick stored in a segment: index of the segment, and index of the tick in it.
    Segment { segment: usize, tick: usize },
}

impl TickPlace {
    /// Returns the index of the tick in its segment; 0 if it is a block.
    pub fn index_in_segment(&self) -> usize {
        match self.place {
            TickLocation::Block { .. } => 0,
            TickLocation::Segment { tick, .. } => tick,
        }
    }
}

/// Summary of the ticks of one segment in a recording's file.
#[derive(Clone, Debug)]
pub(super) struct SegmentSpan {
    segment: usize,
    about: usize,
    pub span: TickSpan,
}

impl SegmentSpan {
    fn place(&self, tick: usize, (sequence, clocks): (u64, ClockReading)) -> TickPlace {
        let place = TickLocation::Segment { segment: self.segment, tick };
        TickPlace { sequence, clocks, time: clocks.utc_100ns(), about: self.about, place }
    }

    pub fn first(&self) -> TickPlace {
        self.place(0, self.span.first)
    }

    pub fn last(&self) -> TickPlace {
        self.place(self.span.count.saturating_sub(1), self.span.last)
    }

    fn places(&self, segments: &[Arc<StoredSegment>]) -> impl Iterator<Item = TickPlace> + '_ {
        // One that cannot be read any more has no ticks; its directory is damage.
        let ticks = segments.get(self.segment).map(|segment| segment.ticks().to_vec()).unwrap_or_default();
        ticks.into_iter().enumerate().map(|(tick, at)| self.place(tick, at))
    }
}

/// Ticks of a recording's file, in their order.
#[derive(Debug, Default)]
pub(super) struct FileTicks {
    /// Summaries of the segments that contain all ticks of the file, as long as no tick is a block.
    spans: Vec<SegmentSpan>,
    places: OnceLock<Vec<TickPlace>>,
}

impl FileTicks {
    /// Returns all ticks of the file; the first call reads those of segments.
    pub fn all(&self, segments: &[Arc<StoredSegment>]) -> &[TickPlace] {
        self.places.get_or_init(|| self.spans.iter().flat_map(|span| span.places(segments)).collect())
    }

    /// Returns the summaries of the segments that have all ticks of the file; `None` if the ticks have been read, or
    /// are blocks.
    pub fn spans(&self) -> Option<&[SegmentSpan]> {
        self.places.get().is_none().then_some(&*self.spans)
    }

    pub fn len(&self) -> usize {
        match self.places.get() {
            Some(places) => places.len(),
            None => self.spans.iter().map(|span| span.span.count).fold(0, usize::saturating_add),
        }
    }

    pub fn first(&self) -> Option<TickPlace> {
        match self.places.get() {
            Some(places) => places.first().copied(),
            None => self.spans.first().map(SegmentSpan::first),
        }
    }

    pub fn last(&self) -> Option<TickPlace> {
        match self.places.get() {
            Some(places) => places.last().copied(),
            None => self.spans.last().map(SegmentSpan::last),
        }
    }

    /// Returns `false` if a window contains none of the file's ticks.
    pub fn can_be_in(&self, window: Window) -> bool {
        let is_in = |first: i64, last: i64| {
            window.begin.is_none_or(|begin| begin <= last) && window.end.is_none_or(|end| first <= end)
        };
        match self.spans() {
            None => true,
            Some(spans) => {
                spans.iter().any(|span| span.span.times.is_none_or(|(first, last)| is_in(first, last)))
            }
        }
    }

    /// Appends a tick that is a block of its own to the file's ticks.
    pub fn push(&mut self, tick: TickPlace, segments: &[Arc<StoredSegment>]) {
        self.all(segments);
        self.places.get_mut().into_iter().for_each(|places| places.push(tick));
    }

    /// Appends the ticks of a segment to the file's ticks.
    pub fn push_segment(&mut self, about: usize, span: TickSpan, segments: &[Arc<StoredSegment>]) {
        let new = SegmentSpan { segment: segments.len().saturating_sub(1), about, span };
        match self.places.get_mut() {
            Some(places) => places.extend(new.places(segments)),
            None => self.spans.push(new),
        }
    }
}
