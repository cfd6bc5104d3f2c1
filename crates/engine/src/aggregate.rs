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
//! **Rates** are over the same instances at both ends. The birth of an aggregate is made of the identities of its
//! instances, and of which of them lack a value: if either changes, it is another thing, and what takes a difference
//! has no value for one interval. So one that ended never makes a rate too low, nor one that came with a past too high.
//! With a history (type 12) one that ends changes nothing, because it stays in. A total that falls though its instances
//! are the same is refused by the formulas, as any count that falls.

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::ops::Range;
use std::time::Duration;

use perfset_core::utf16::upper;
use perfset_core::v2::PERF_AGGREGATE_INSTANCE;
use perfset_core::{
    Aggregate, CounterId, CounterType, Counterset, InstanceId, InstanceType, Mark, Name, NoValue, Owner,
};

use crate::filters::{InstanceFilter, hash};
use crate::pattern::folded;
use crate::rows::Rows;
use history::History;

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

/// How one column is put together.
#[derive(Clone, Copy, Debug)]
struct Column {
    function: Aggregate,
    /// The bits that its values have.
    mask: u64,
    /// What tells it from others in a birth.
    tag: u64,
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
    /// Whether there are instances without a value.
    lacks: bool,
    /// What the first of those says that says why.
    reason: Option<NoValue>,
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

/// Of what is special about two values what is to be said of both together.
fn stronger(a: Option<Mark>, b: Option<Mark>) -> Option<Mark> {
    let weight = |mark: Mark| match mark {
        Mark::Formatted => (0, Duration::ZERO),
        Mark::Reused => (1, Duration::ZERO),
        Mark::Held => (2, Duration::ZERO),
        Mark::Stale(age) => (3, age),
        Mark::Partial => (4, Duration::ZERO),
    };
    match (a, b) {
        (Some(a), Some(b)) => Some(if weight(b) > weight(a) { b } else { a }),
        (a, b) => a.or(b),
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
        let column = |id: &CounterId| {
            let counter = set.counter(*id);
            let is_short = counter.is_some_and(|counter| counter.counter_type.value_len() == 4);
            // The bits of a floating-point number are no number.
            let known = counter.filter(|counter| counter.counter_type != CounterType::PERF_DOUBLE_RAW);
            Column {
                function: known.map(|counter| counter.aggregate).unwrap_or_default(),
                mask: if is_short { u32::MAX.into() } else { u64::MAX },
                tag: mixed(id.0.into()),
            }
        };
        let keeps = set.instance_type == InstanceType::SingleAggregateHistory;
        Some(Self {
            shows,
            columns: counters.iter().map(column).collect(),
            history: keeps.then(History::default),
            members: Vec::new(),
            parts: Vec::new(),
            gathered: Vec::new(),
            name: Vec::new(),
        })
    }

    /// Takes over what is known of instances that have ended; `sources` are its columns as they were there.
    pub fn take_over(&mut self, before: &mut Self, sources: &[Option<usize>]) {
        if let (Some(now), Some(before)) = (&mut self.history, before.history.take()) {
            *now = before.with_columns(sources);
        }
    }

    /// Adds the one aggregate of all rows. There is none if there are no instances, nor ever were where those count.
    pub fn add_one(&mut self, rows: &mut Rows) -> Range<usize> {
        rows.sort_notes();
        let count = rows.len();
        let Some(history) = &mut self.history else { return self.add(rows, 0..count, 1) };
        self.gathered.clear();
        self.gathered.resize(self.columns.len(), Gathered::default());
        if let Some((owner, birth)) = history.gather(rows, &self.columns, &mut self.gathered) {
            let about = About { id: InstanceId(0), owner, birth, is_alone: false };
            self.name.clear();
            self.name.extend(PERF_AGGREGATE_INSTANCE.encode_utf16());
            self.push(rows, &about);
        }
        count..rows.len()
    }

    /// Adds the aggregates of these rows, at most so many: one of each user's, or of each name.
    pub fn add(
        &mut self,
        rows: &mut Rows,
        members: impl ExactSizeIterator<Item = usize>,
        most: usize,
    ) -> Range<usize> {
        rows.sort_notes();
        let start = rows.len();
        self.divide(rows, members);
        for at in 0..self.parts.len().min(most) {
            if let Some(about) = self.gather(rows, at) {
                self.push(rows, &about);
            }
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
                    gathered.lacks = true;
                    gathered.reason = gathered.reason.take().or_else(|| rows.reason(*row, at).cloned());
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

    /// Adds a row of what was put together.
    fn push(&mut self, rows: &mut Rows, about: &About) {
        rows.set_owner(about.owner);
        let birth = NonZeroU64::new(about.birth).or(Some(NonZeroU64::MIN));
        let mut row = rows.push_units(self.name.iter().copied(), about.id, birth);
        for (at, (column, gathered)) in self.columns.iter().zip(&mut self.gathered).enumerate() {
            let function = if about.is_alone { Aggregate::Max } else { column.function };
            let mark = if gathered.lacks { Some(Mark::Partial) } else { gathered.mark };
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
