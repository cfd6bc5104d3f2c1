//! Aggregates of several instances.
//!
//! A provider delivers the instances themselves. For a counterset of an aggregate type, the engine appends rows that
//! stand for several instances during the collection. The type determines which rows an entry selects: see
//! [`AggregateView`].
//!
//! **Missing values** are not zero. A cell aggregates the instances that have a value, and is marked
//! [`Mark::Partial`] if others have none. If no instance has a value, the cell has the reason of the first instance.
//!
//! **Users** are never mixed: an aggregate combines the instances of one user, or those of the system, and belongs to
//! that user. A table has one aggregate per user, in the order of their first instances. A result of one row has the
//! aggregate of the first instance's user.
//!
//! **Totals of counts** follow the rule of all totals: see [`total`](crate::total). A newly seen instance adds only
//! what it counts from then on, or all its counts if the provider reports that it began since. A row of one name
//! (type 22) restarts its counts after the last instance of that name has ended.
//!
//! **Other rates** cover the same instances at both ends of an interval. A mean, minimum or maximum of counts is
//! meaningless if its instances change. The same holds for a total whose clock is a counter, and so an aggregate
//! itself. The birth of such an aggregate is computed from the identities of its instances, and from which of them
//! lack a value. If either changes, the aggregate counts as a new instance: values computed from a difference are
//! missing for one interval. With a history (type 12), an instance that ends changes nothing, because its last values
//! stay in.

use std::borrow::Cow;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;

use perfset_core::utf16::upper;
use perfset_core::v2::PERF_AGGREGATE_INSTANCE;
use perfset_core::{
    Aggregate, CounterId, CounterType, Counterset, InstanceId, InstanceType, Mark, Name, NoValue, Owner,
};

use crate::filters::{InstanceFilter, hash};
use crate::pattern::folded;
use crate::rows::Rows;
use crate::total::{Sum, Totals, is_missing, stronger};
use counts::Counts;
use history::History;

mod counts;
mod history;
#[cfg(test)]
mod tests;

/// Aggregation of one counterset: makes each row that stands for several instances.
#[derive(Debug)]
pub(crate) struct Aggregates {
    pub shows: AggregateView,
    columns: Vec<AggregateColumn>,
    /// Last values of ended instances; `None` if the counterset's type has no history.
    history: Option<History>,
    counts: Counts,
    /// Row indexes of all row groups, one group after the other.
    members: Vec<usize>,
    parts: Vec<RowGroup>,
    /// Values of the row group that is being aggregated, by column.
    gathered: Vec<Gathered>,
    /// Name of the aggregated row that stands for the current row group.
    name: Vec<u16>,
}

/// Rows that consumers receive from a counterset whose type has aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateView {
    /// Single row, the aggregate of all instances: instance types 4 and 12.
    One,
    /// Rows of all instances, and rows with totals: instance type 6.
    AllAndTotals,
    /// Row for each name, the aggregate of all instances of that name: instance type 22.
    Names,
}

impl AggregateView {
    /// Returns the rows that consumers receive for an instance type; `None` if the type has no aggregates.
    pub fn for_type(instance_type: InstanceType) -> Option<Self> {
        match instance_type {
            InstanceType::Single | InstanceType::Multiple => None,
            InstanceType::SingleAggregate | InstanceType::SingleAggregateHistory => Some(Self::One),
            InstanceType::MultiAggregate => Some(Self::AllAndTotals),
            InstanceType::InstanceAggregate => Some(Self::Names),
        }
    }

    /// Returns the filter of the instances that must be collected for the rows that the filter `filter` selects.
    pub fn asked(self, filter: &InstanceFilter) -> InstanceFilter {
        // Any id is needed: an instance named like a total replaces the total, and one of the same name gives a row
        // its id.
        let of_names = || InstanceFilter { pattern: filter.pattern.clone(), ..InstanceFilter::any() };
        match self {
            Self::One => InstanceFilter::any(),
            Self::Names => of_names(),
            Self::AllAndTotals if !wants_total(filter) => filter.clone(),
            Self::AllAndTotals if filter.pattern.has_wildcard() => of_names(),
            Self::AllAndTotals => InstanceFilter::any(),
        }
    }
}

/// Returns `true` if an instance filter selects a total, which has the id 0.
pub(crate) fn wants_total(filter: &InstanceFilter) -> bool {
    filter.matches(PERF_AGGREGATE_INSTANCE.encode_utf16(), InstanceId(0))
}

/// Returns `true` if an instance name is that of a total, `_Total`.
pub(crate) fn is_total(name: Name<'_>) -> bool {
    name.units().map(upper).eq(folded(PERF_AGGREGATE_INSTANCE))
}

/// Returns `true` if an instance name is that of a sum over instances: `_Total`, `0,_Total`, `_Total/_Total`.
///
/// A program can be named `x_Total`, which is not a sum.
pub(crate) fn names_sum(name: Name<'_>) -> bool {
    let before = name.as_bytes().strip_suffix(b"_\0T\0o\0t\0a\0l\0");
    before.is_some_and(|before| before.is_empty() || before.ends_with(b",\0") || before.ends_with(b"/\0"))
}

/// Aggregation rule of one column.
#[derive(Clone, Copy, Debug)]
struct AggregateColumn {
    function: Aggregate,
    /// Mask of the bits that values of the column can have.
    mask: u64,
    /// Value that distinguishes this column from others when a missing value changes the birth of an aggregate.
    tag: u64,
    counter: CounterId,
    /// Index of the column among the totals of counts, and its rule for adding up; `None` if the column has no such
    /// total.
    count: Option<(usize, Sum)>,
}

impl AggregateColumn {
    /// Returns the value that is added to an aggregate's birth if an instance has no value in this column.
    fn lack(&self, member: u64) -> u64 {
        // A column without an aggregate never has a value, so a value that is missing there changes nothing.
        if self.function == Aggregate::Undefined { 0 } else { mixed(member ^ self.tag) }
    }
}

/// Group of rows that are aggregated together, as a range of row indexes.
#[derive(Clone, Copy, Debug)]
struct RowGroup {
    /// Index of the first row of the row group.
    first: usize,
    start: usize,
    end: usize,
}

/// User who owns a row of instances; `None` is the system.
type User = Option<u32>;

fn user(owner: Owner) -> User {
    match owner {
        Owner::System => None,
        Owner::Process { user, .. } => Some(user),
    }
}

/// Combines two owners of rows that have the same user: the pid becomes 0 if the processes differ.
fn both(a: Owner, b: Owner) -> Owner {
    match (a, b) {
        (Owner::Process { pid: a, user }, Owner::Process { pid: b, .. }) if a != b => {
            Owner::Process { pid: 0, user }
        }
        _ => a,
    }
}

/// Values of one column of several instances, summarized for their aggregate.
#[derive(Clone, Debug, Default)]
struct Gathered {
    numbers: ValueSummary,
    mark: Option<Mark>,
    /// Number of aggregated instances whose value is unknown.
    lacks: u32,
    /// Number of aggregated instances with an unknown value that have ended.
    ended: u32,
    /// Reason of the first aggregated instance whose value is missing.
    reason: Option<NoValue>,
}

impl Gathered {
    /// Adds an instance without a value to the summary of a column, with the reason.
    fn lack(&mut self, reason: Option<&NoValue>) {
        self.lacks = self.lacks.saturating_add(reason.is_none_or(is_missing).into());
        self.reason = self.reason.take().or_else(|| reason.cloned());
    }
}

/// Count, sum, minimum and maximum of some values: the input of every aggregate function.
#[derive(Clone, Copy, Debug)]
struct ValueSummary {
    count: u64,
    /// Sum of the values, wide enough for as many values as can be counted.
    sum: u128,
    least: u64,
    most: u64,
}

impl Default for ValueSummary {
    fn default() -> Self {
        Self { count: 0, sum: 0, least: u64::MAX, most: 0 }
    }
}

impl ValueSummary {
    fn new(value: u64) -> Self {
        Self { count: 1, sum: value.into(), least: value, most: value }
    }

    /// Combines the summaries of two sets of values. The sum cannot wrap, because there are never 2^64 values.
    #[inline]
    fn and(self, other: Self) -> Self {
        Self {
            count: self.count.wrapping_add(other.count),
            sum: self.sum.wrapping_add(other.sum),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// Returns the aggregate of the summarized values, which have the bits of `mask`; `None` if there are none.
    fn aggregate(&self, function: Aggregate, mask: u64) -> Option<u64> {
        let low = |n: u128| u64::try_from(n & u128::from(mask)).unwrap_or(mask);
        match function {
            Aggregate::Undefined => None,
            _ if self.count == 0 => None,
            // A sum passes zero like the counters themselves, modulo 2^32 or 2^64.
            Aggregate::Total => Some(low(self.sum)),
            Aggregate::Avg => self.sum.checked_div(self.count.into()).map(low),
            Aggregate::Min => Some(self.least),
            Aggregate::Max => Some(self.most),
        }
    }
}

/// Identity of an aggregated row: everything except its name and values.
struct About {
    id: InstanceId,
    owner: Owner,
    birth: u64,
    /// `true` if only one row is aggregated, whose values are copied unchanged.
    is_alone: bool,
}

impl Aggregates {
    /// Creates the aggregation of a counterset's columns; `None` if the counterset is not of an aggregate type.
    pub fn new(set: &Counterset, counters: &[CounterId]) -> Option<Self> {
        let shows = AggregateView::for_type(set.instance_type)?;
        let mut place = 0_usize;
        let column = |id: &CounterId| {
            let counter = set.counter(*id);
            let is_short = counter.is_some_and(|counter| counter.counter_type.value_len() == 4);
            // Integer functions cannot aggregate the bits of a floating-point number.
            let known = counter.filter(|counter| counter.counter_type != CounterType::PERF_DOUBLE_RAW);
            let function = known.map(|counter| counter.aggregate).unwrap_or_default();
            let total = known.filter(|_| function == Aggregate::Total);
            let of_one_clock = total.filter(|of| of.perf_time.is_none() && of.perf_freq.is_none());
            let sum =
                of_one_clock.map(|counter| Sum::for_counter(set, counter)).filter(|sum| *sum != Sum::Level);
            let count = sum.map(|sum| (place, sum));
            place = place.saturating_add(count.is_some().into());
            AggregateColumn {
                function,
                mask: if is_short { u32::MAX.into() } else { u64::MAX },
                tag: mixed(id.0.into()),
                counter: *id,
                count,
            }
        };
        let keeps = set.instance_type == InstanceType::SingleAggregateHistory;
        Some(Self {
            shows,
            columns: counters.iter().map(column).collect(),
            history: keeps.then(History::default),
            counts: Counts::default(),
            members: Vec::new(),
            parts: Vec::new(),
            gathered: Vec::new(),
            name: Vec::new(),
        })
    }

    /// Takes over the running counts of the aggregation `before`, and its history of instances that have ended.
    ///
    /// `sources` contains, for each column, its index in `before`.
    pub fn take_over(&mut self, before: &mut Self, sources: &[Option<usize>]) {
        // Counts are stored by counter id and fit any columns. The history is stored by column.
        self.counts = std::mem::take(&mut before.counts);
        if let (Some(now), Some(before)) = (&mut self.history, before.history.take()) {
            *now = before.with_columns(sources);
        }
    }

    /// Begins a collection of aggregates; `now_100ns` is its time in terms of PerfTime100NSec.
    pub fn start(&mut self, now_100ns: u64) {
        self.counts.start(now_100ns);
    }

    /// Adds a single row that aggregates all rows of the counterset. Adds no row if there are no instances, unless
    /// ended instances count and there were any.
    pub fn add_one(&mut self, rows: &mut Rows) -> Range<usize> {
        // Marks and reasons are looked up from here on, before `Rows::end` sorts them.
        rows.sort_notes();
        let count = rows.len();
        let Self { history, counts, columns, gathered, name, .. } = self;
        let Some(history) = history else { return self.add(rows, 0..count, 1, None) };
        gathered.clear();
        gathered.resize(columns.len(), Gathered::default());
        if let Some((owner, birth)) = history.gather(rows, columns, gathered) {
            let about = About { id: InstanceId(0), owner, birth, is_alone: false };
            name.clear();
            name.extend(PERF_AGGREGATE_INSTANCE.encode_utf16());
            let of = user(owner);
            let members = (0..count).filter(|row| user(rows.owner(*row)) == of);
            let totals = counts.collect(rows, members, (of, std::iter::empty(), None), columns);
            push(rows, &about, name, columns, gathered, totals);
        }
        count..rows.len()
    }

    /// Adds at most `most` aggregates of a range of rows: one per user, or one per name. `filter` is the filter that
    /// selected the rows, `None` if they are all rows.
    pub fn add(
        &mut self,
        rows: &mut Rows,
        members: impl ExactSizeIterator<Item = usize>,
        most: usize,
        filter: Option<&InstanceFilter>,
    ) -> Range<usize> {
        rows.sort_notes();
        let start = rows.len();
        self.divide(rows, members);
        for at in 0..self.parts.len().min(most) {
            let Some(about) = self.gather(rows, at) else { continue };
            let Self { shows, columns, members, parts, counts, gathered, name, .. } = self;
            let Some(part) = parts.get(at) else { continue };
            let members = members.get(part.start..part.end).unwrap_or_default().iter().copied();
            let of_name = rows.name(part.first).units().filter(|_| *shows == AggregateView::Names).map(upper);
            let totals = counts.collect(rows, members, (user(about.owner), of_name, filter), columns);
            push(rows, &about, name, columns, gathered, totals);
        }
        start..rows.len()
    }

    /// Groups the rows that are aggregated together, in the order of the first row of each group.
    fn divide(&mut self, rows: &Rows, wanted: impl ExactSizeIterator<Item = usize>) {
        let Self { shows, members, parts, .. } = self;
        let by_name = *shows == AggregateView::Names;
        // Names need all rows: in the previous order they are nearly sorted.
        if !by_name || members.len() != wanted.len() {
            members.clear();
            members.extend(wanted);
        }
        let owner = |row: usize| user(rows.owner(row));
        let name = |row: usize| rows.name(row).units().filter(|_| by_name).map(upper);
        members.sort_unstable_by(|a, b| {
            owner(*a).cmp(&owner(*b)).then_with(|| name(*a).cmp(name(*b))).then_with(|| a.cmp(b))
        });
        parts.clear();
        for (at, row) in members.iter().enumerate() {
            let end = at.saturating_add(1);
            let is_same =
                |part: &RowGroup| owner(part.first) == owner(*row) && name(part.first).eq(name(*row));
            match parts.last_mut().filter(|part| is_same(part)) {
                Some(part) => part.end = end,
                None => parts.push(RowGroup { first: *row, start: at, end }),
            }
        }
        // Back to the order of the first instances, because the sort above was by user and name.
        parts.sort_unstable_by_key(|part| part.first);
    }

    /// Aggregates one group of rows, and sets the name of the aggregated row.
    fn gather(&mut self, rows: &Rows, part: usize) -> Option<About> {
        let Self { shows, columns, members, parts, gathered, name, .. } = self;
        let part = parts.get(part)?;
        let members = members.get(part.start..part.end)?;
        let mut about = About {
            id: InstanceId(0),
            owner: rows.owner(part.first),
            birth: 0,
            is_alone: *shows == AggregateView::Names && members.len() == 1,
        };
        name.clear();
        match shows {
            AggregateView::One | AggregateView::AllAndTotals => {
                name.extend(PERF_AGGREGATE_INSTANCE.encode_utf16())
            }
            AggregateView::Names => {
                name.extend(rows.name(part.first).units());
                about.id = members.iter().filter_map(|row| rows.id(*row)).min()?;
            }
        }
        gathered.clear();
        gathered.resize(columns.len(), Gathered::default());
        for row in members {
            let member = identity(rows, *row);
            about.birth = about.birth.wrapping_add(member);
            about.owner = both(about.owner, rows.owner(*row));
            let mark = marks(rows, *row);
            let cells = rows.cells(*row).iter().zip(&*columns).zip(gathered.iter_mut());
            for (at, ((cell, column), gathered)) in cells.enumerate() {
                if cell.is_empty() {
                    gathered.lack(rows.reason(*row, at));
                    about.birth = about.birth.wrapping_add(column.lack(member));
                } else {
                    let value = ValueSummary::new(cell.value.get() & column.mask);
                    gathered.numbers = gathered.numbers.and(value);
                    gathered.mark = stronger(gathered.mark, mark(at));
                }
            }
        }
        Some(about)
    }
}

/// Adds an aggregated row to the rows of the counterset.
fn push(
    rows: &mut Rows,
    about: &About,
    name: &[u16],
    columns: &[AggregateColumn],
    gathered: &mut [Gathered],
    mut totals: Option<&mut Totals<CounterId>>,
) {
    rows.set_owner(about.owner);
    // A sum of hashes can be 0, which would mean an unknown birth.
    let birth = NonZeroU64::new(about.birth).or(Some(NonZeroU64::MIN));
    let mut row = rows.push_units(name.iter().copied(), about.id, birth);
    for (at, (column, gathered)) in columns.iter().zip(gathered).enumerate() {
        if let (Some((place, _)), Some(totals)) = (column.count, &mut totals) {
            totals.lack(place, gathered.ended);
            totals.fill(&[place], &mut row, at);
            continue;
        }
        // The maximum of one value is the value itself, also for a counter without an aggregate function.
        let function = if about.is_alone { Aggregate::Max } else { column.function };
        let mark = NonZeroU32::new(gathered.lacks).map(Mark::Partial).or(gathered.mark);
        match (gathered.numbers.aggregate(function, column.mask), mark) {
            (Some(value), Some(mark)) => row.set_marked(at, value, mark),
            (Some(value), None) => row.set(at, value),
            (None, _) if function == Aggregate::Undefined => row.set_unavailable(at, UNDEFINED),
            (None, _) => {
                if let Some(reason) = gathered.reason.take() {
                    row.set_unavailable(at, reason);
                }
            }
        }
    }
}

/// Reason for a missing aggregate if the counter has no aggregate function.
const UNDEFINED: NoValue = NoValue::Unavailable(Cow::Borrowed("the counter has no aggregate"));

/// Returns a function that gives the mark of a row's value, by column.
fn marks(rows: &Rows, row: usize) -> impl Fn(usize) -> Option<Mark> + '_ {
    // Most rows have no notes, and `Rows::mark` searches for one at each value.
    let (of_row, has_notes) = (rows.row_mark(row), rows.notes(row).next().is_some());
    move |column| if has_notes { rows.mark(row, column) } else { of_row }
}

/// Returns a hash of a row's identity: name, id, birth and owner.
fn identity(rows: &Rows, row: usize) -> u64 {
    let owner = match rows.owner(row) {
        Owner::System => 0,
        Owner::Process { pid, user } => mixed(mixed(user.into()).wrapping_add(pid.into())),
    };
    let parts = [rows.id(row).map_or(0, |id| id.0.into()), rows.birth(row).map_or(0, NonZeroU64::get), owner];
    parts.into_iter().fold(hash(rows.name(row).units()), |all, part| mixed(all ^ part))
}

/// Mixes the bits of a number: each bit of the result depends on all bits of `number`. A sum of such numbers
/// identifies the set of summands.
fn mixed(number: u64) -> u64 {
    // SplitMix64. The constants are those of its reference implementation.
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
