//! What several instances give together.
//!
//! A provider delivers the instances themselves. Where the counterset is of an aggregate type, rows that stand for
//! several of them are added behind theirs while they are collected, and which rows an entry selects follows from the
//! type: see [`Shows`].
//!
//! **Missing values** are not zero: a cell is the aggregate of those instances that have one, marked
//! [`Mark::Partial`] if others have none; if none has one, the reason is that of the first.
//!
//! **Users** are never mixed: an aggregate is of the instances of one user, or of the system's, and its owner says
//! whose. A table has one of each, in the order of their first instances; where there is one row it is that of the
//! first instance's user.
//!
//! **Totals of counts** follow the rule of all totals: see [`total`](crate::total). An instance that nobody saw before
//! adds what it counts from then on, and all that it has only where the provider says that it began since. A row of one
//! name (type 22) begins its counts anew when the last instance of that name was gone.
//!
//! **Other rates** are over the same instances at both ends. A mean, a least or a most of counts means nothing if what
//! it is of changes; nor does a total whose clock is a counter, and so an aggregate itself. Their birth is made of the
//! identities of the instances, and of which of them lack a value: if either changes, it is another thing, and what
//! takes a difference has no value for one interval. With a history (type 12) one that ends changes nothing, because it
//! stays in.

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

/// Adds the rows of one counterset that stand for several of its instances.
#[derive(Debug)]
pub(crate) struct Aggregates {
    pub shows: Shows,
    columns: Vec<Column>,
    /// Of those that have ended, if they count.
    history: Option<History>,
    counts: Counts,
    /// The rows of all parts, one part behind the other.
    members: Vec<usize>,
    parts: Vec<Part>,
    /// By column, of the part that is being put together.
    gathered: Vec<Gathered>,
    /// The name of that part.
    name: Vec<u16>,
}

/// What consumers see of the instances of a counterset of an aggregate type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// One row, the aggregate of all: types 4 and 12.
    One,
    /// The instances, and totals: type 6.
    AllAndTotals,
    /// A row for each name, the aggregate of all of that name: type 22.
    Names,
}

impl Shows {
    /// What is shown where instances have aggregates.
    pub fn of(instance_type: InstanceType) -> Option<Self> {
        match instance_type {
            InstanceType::Single | InstanceType::Multiple => None,
            InstanceType::SingleAggregate | InstanceType::SingleAggregateHistory => Some(Self::One),
            InstanceType::MultiAggregate => Some(Self::AllAndTotals),
            InstanceType::InstanceAggregate => Some(Self::Names),
        }
    }

    /// Which instances must be known for what a filter selects.
    pub fn asked(self, filter: &InstanceFilter) -> InstanceFilter {
        // Of any id: one that is called as a total takes its place, one of the same name gives a row its id.
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

/// Whether a filter selects a total, which has the id 0.
pub(crate) fn wants_total(filter: &InstanceFilter) -> bool {
    filter.matches(PERF_AGGREGATE_INSTANCE.encode_utf16(), InstanceId(0))
}

/// Whether a name is that of a total.
pub(crate) fn is_total(name: Name<'_>) -> bool {
    name.units().map(upper).eq(folded(PERF_AGGREGATE_INSTANCE))
}

/// Returns `true` if the name is that of a sum over instances: `_Total`, `0,_Total`, `_Total/_Total`.
///
/// A program may be called `x_Total`, which is no sum.
pub(crate) fn names_sum(name: Name<'_>) -> bool {
    let before = name.as_bytes().strip_suffix(b"_\0T\0o\0t\0a\0l\0");
    before.is_some_and(|before| before.is_empty() || before.ends_with(b",\0") || before.ends_with(b"/\0"))
}

/// How one column is put together.
#[derive(Clone, Copy, Debug)]
struct Column {
    function: Aggregate,
    /// The bits that its values have.
    mask: u64,
    /// What tells it from others in a birth.
    tag: u64,
    counter: CounterId,
    /// For a total of counts: its index among those, and the rule by which it adds up.
    count: Option<(usize, Sum)>,
}

impl Column {
    /// What it adds to a birth that an instance has no value in it.
    fn lack(&self, member: u64) -> u64 {
        if self.function == Aggregate::Undefined { 0 } else { mixed(member ^ self.tag) }
    }
}

/// Rows that belong together: where they are among the members.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The first of the rows.
    first: usize,
    start: usize,
    end: usize,
}

/// The user whose a row is; `None` is the system.
type User = Option<u32>;

fn user(owner: Owner) -> User {
    match owner {
        Owner::System => None,
        Owner::Process { user, .. } => Some(user),
    }
}

/// Who answers for what both answer for, who are of the same user.
fn both(a: Owner, b: Owner) -> Owner {
    match (a, b) {
        (Owner::Process { pid: a, user }, Owner::Process { pid: b, .. }) if a != b => {
            Owner::Process { pid: 0, user }
        }
        _ => a,
    }
}

/// The values of one column of several instances.
#[derive(Clone, Debug, Default)]
struct Gathered {
    numbers: Numbers,
    mark: Option<Mark>,
    /// Number of instances whose value is unknown.
    lacks: u32,
    /// Number of those instances that have ended.
    ended: u32,
    /// First reason that any instance without a value gives.
    reason: Option<NoValue>,
}

impl Gathered {
    /// Adds an instance without a value, for this reason.
    fn lack(&mut self, reason: Option<&NoValue>) {
        self.lacks = self.lacks.saturating_add(reason.is_none_or(is_missing).into());
        self.reason = self.reason.take().or_else(|| reason.cloned());
    }
}

/// What all functions need to know of some values.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    count: u64,
    /// Wide enough for as many values as can be counted.
    sum: u128,
    least: u64,
    most: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { count: 0, sum: 0, least: u64::MAX, most: 0 }
    }
}

impl Numbers {
    fn of(value: u64) -> Self {
        Self { count: 1, sum: value.into(), least: value, most: value }
    }

    /// Of these values and those. Nobody counts 2^64 values, so the sum does not wrap either.
    #[inline]
    fn and(self, other: Self) -> Self {
        Self {
            count: self.count.wrapping_add(other.count),
            sum: self.sum.wrapping_add(other.sum),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// The aggregate of values that have these bits, if there are any values.
    fn aggregate(&self, function: Aggregate, mask: u64) -> Option<u64> {
        let low = |n: u128| u64::try_from(n & u128::from(mask)).unwrap_or(mask);
        match function {
            Aggregate::Undefined => None,
            _ if self.count == 0 => None,
            Aggregate::Total => Some(low(self.sum)),
            Aggregate::Avg => self.sum.checked_div(self.count.into()).map(low),
            Aggregate::Min => Some(self.least),
            Aggregate::Max => Some(self.most),
        }
    }
}

/// What is said of a part besides its values.
struct About {
    id: InstanceId,
    owner: Owner,
    birth: u64,
    /// Whether it is one row as it is.
    is_alone: bool,
}

impl Aggregates {
    /// Of a counterset of an aggregate type, with these columns.
    pub fn new(set: &Counterset, counters: &[CounterId]) -> Option<Self> {
        let shows = Shows::of(set.instance_type)?;
        let mut place = 0_usize;
        let column = |id: &CounterId| {
            let counter = set.counter(*id);
            let is_short = counter.is_some_and(|counter| counter.counter_type.value_len() == 4);
            // The bits of a floating-point number are no number.
            let known = counter.filter(|counter| counter.counter_type != CounterType::PERF_DOUBLE_RAW);
            let function = known.map(|counter| counter.aggregate).unwrap_or_default();
            let total = known.filter(|_| function == Aggregate::Total);
            let of_one_clock = total.filter(|of| of.perf_time.is_none() && of.perf_freq.is_none());
            let sum = of_one_clock.map(|counter| Sum::of(set, counter)).filter(|sum| *sum != Sum::Level);
            let count = sum.map(|sum| (place, sum));
            place = place.saturating_add(count.is_some().into());
            Column {
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

    /// Takes over the counts of `before`, and its data about instances that have ended.
    ///
    /// `sources` has the index that each column had in `before`.
    pub fn take_over(&mut self, before: &mut Self, sources: &[Option<usize>]) {
        self.counts = std::mem::take(&mut before.counts);
        if let (Some(now), Some(before)) = (&mut self.history, before.history.take()) {
            *now = before.with_columns(sources);
        }
    }

    /// Begins a collection at a time in terms of PerfTime100NSec.
    pub fn start(&mut self, now_100ns: u64) {
        self.counts.start(now_100ns);
    }

    /// Adds the one aggregate of all rows. There is none if there are no instances, nor ever were where those count.
    pub fn add_one(&mut self, rows: &mut Rows) -> Range<usize> {
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

    /// Adds the aggregates of these rows, at most so many: one of each user's, or of each name. The filter is what
    /// selects them, if they are not all.
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
            let of_name = rows.name(part.first).units().filter(|_| *shows == Shows::Names).map(upper);
            let totals = counts.collect(rows, members, (user(about.owner), of_name, filter), columns);
            push(rows, &about, name, columns, gathered, totals);
        }
        start..rows.len()
    }

    /// Divides rows into those that belong together, in the order of the first of each.
    fn divide(&mut self, rows: &Rows, wanted: impl ExactSizeIterator<Item = usize>) {
        let Self { shows, members, parts, .. } = self;
        let by_name = *shows == Shows::Names;
        // For names all rows are wanted: in the order of before they are as good as sorted.
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
            let is_same = |part: &Part| owner(part.first) == owner(*row) && name(part.first).eq(name(*row));
            match parts.last_mut().filter(|part| is_same(part)) {
                Some(part) => part.end = end,
                None => parts.push(Part { first: *row, start: at, end }),
            }
        }
        parts.sort_unstable_by_key(|part| part.first);
    }

    /// Puts a part together, its name too.
    fn gather(&mut self, rows: &Rows, part: usize) -> Option<About> {
        let Self { shows, columns, members, parts, gathered, name, .. } = self;
        let part = parts.get(part)?;
        let members = members.get(part.start..part.end)?;
        let mut about = About {
            id: InstanceId(0),
            owner: rows.owner(part.first),
            birth: 0,
            is_alone: *shows == Shows::Names && members.len() == 1,
        };
        name.clear();
        match shows {
            Shows::One | Shows::AllAndTotals => name.extend(PERF_AGGREGATE_INSTANCE.encode_utf16()),
            Shows::Names => {
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
                    let value = Numbers::of(cell.value.get() & column.mask);
                    gathered.numbers = gathered.numbers.and(value);
                    gathered.mark = stronger(gathered.mark, mark(at));
                }
            }
        }
        Some(about)
    }
}

/// Adds a row of what was put together.
fn push(
    rows: &mut Rows,
    about: &About,
    name: &[u16],
    columns: &[Column],
    gathered: &mut [Gathered],
    mut totals: Option<&mut Totals<CounterId>>,
) {
    rows.set_owner(about.owner);
    let birth = NonZeroU64::new(about.birth).or(Some(NonZeroU64::MIN));
    let mut row = rows.push_units(name.iter().copied(), about.id, birth);
    for (at, (column, gathered)) in columns.iter().zip(gathered).enumerate() {
        if let (Some((place, _)), Some(totals)) = (column.count, &mut totals) {
            totals.lack(place, gathered.ended);
            totals.fill(&[place], &mut row, at);
            continue;
        }
        let function = if about.is_alone { Aggregate::Max } else { column.function };
        let mark = NonZeroU32::new(gathered.lacks).map(Mark::Partial).or(gathered.mark);
        match (gathered.numbers.aggregate(function, column.mask), mark) {
            (Some(value), Some(mark)) => row.set_marked(at, value, mark),
            (Some(value), None) => row.set(at, value),
            (None, _) if function == Aggregate::Undefined => row.none(at, UNDEFINED),
            (None, _) => {
                if let Some(reason) = gathered.reason.take() {
                    row.none(at, reason);
                }
            }
        }
    }
}

/// Why there is no aggregate where the counter has no function for it.
const UNDEFINED: NoValue = NoValue::Unavailable(Cow::Borrowed("the counter has no aggregate"));

/// What is special about the values of a row, by column.
fn marks(rows: &Rows, row: usize) -> impl Fn(usize) -> Option<Mark> + '_ {
    let (of_row, has_notes) = (rows.row_mark(row), rows.notes(row).next().is_some());
    move |column| if has_notes { rows.mark(row, column) } else { of_row }
}

/// A number of a row's identity: name, id, birth and owner.
fn identity(rows: &Rows, row: usize) -> u64 {
    let owner = match rows.owner(row) {
        Owner::System => 0,
        Owner::Process { pid, user } => mixed(mixed(user.into()).wrapping_add(pid.into())),
    };
    let parts = [rows.id(row).map_or(0, |id| id.0.into()), rows.birth(row).map_or(0, NonZeroU64::get), owner];
    parts.into_iter().fold(hash(rows.name(row).units()), |all, part| mixed(all ^ part))
}

/// A number whose bits all depend on all of another's: sums of such numbers tell which were summed up.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
