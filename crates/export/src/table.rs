//! The rows of one counterset in one scrape: who they are, as labels, and their numbers.

use std::collections::{HashMap, HashSet};
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use perfset_core::sample::Clocks;
use perfset_core::v2::{Body, QueryResult, Value};
use perfset_core::{Counter, CounterId, Counterset, InstanceId, Name, NoValue, Owner, RawValue, catalogue};
use perfset_engine::path::Selector;
use perfset_engine::{Entry, EntryAnnex, EntryInfo};

use crate::options::Profile;
use crate::text::{characters, label, whole};
use crate::widen::Widened;

/// All that is exported of one counterset.
#[derive(Debug)]
pub(crate) struct Table {
    /// As it was when the first path was bound.
    pub set: Arc<Counterset>,
    /// As it was in the last scrape.
    last: Option<Arc<Counterset>>,
    labels: Labels,
    has_totals: bool,
    asks: Vec<Ask>,
    /// The counters that members need.
    pub wanted: Vec<CounterId>,
    /// What the query has for it.
    pub entry: Option<Entry>,
    /// The counters of a result, in order.
    pub columns: Vec<CounterId>,
    /// Those that are 32 bits wide and rise: positions in `columns`.
    narrow: Vec<usize>,
    widened: Widened,
    /// Who the rows are.
    rows: Identities,
    /// The same of this scrape, while it is read.
    now: Identities,
    /// The labels of each row, as text behind one another, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    /// By row and ask: whether it is meant.
    meant: Vec<bool>,
    /// The rows that are exported.
    pub kept: Vec<usize>,
    /// Those that are not, because nothing tells them from others.
    pub twins: Vec<usize>,
    /// By ask: how many have fewer rows, those with as many counted once.
    ranks: Vec<usize>,
    /// By rank: how many lines could be written. Counted when there may be too many.
    pub lines: Vec<usize>,
    /// The first rank of which not all lines are written.
    pub cut: Option<usize>,
    /// So many lines are not written.
    pub dropped: usize,
    numbers: Vec<Option<RawValue>>,
    /// Times at which counting began, by row and column, ascending; only values with a known time have an entry.
    since: Vec<((usize, usize), u64)>,
    pub times: Times,
    pub outcome: Outcome,
    pub took: Duration,
    /// Number of instances that a total of this counterset lacks, in the last scrape.
    pub missing: u32,
}

/// The clocks of a collection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// What formulas divide by.
    pub clocks: Clocks,
    /// [`ClockReading::step_100ns`](perfset_core::clock::ClockReading::step_100ns).
    pub step: i64,
}

/// How a collection went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    Failed,
}

/// Which instances a path asks for.
#[derive(Debug)]
struct Ask {
    text: Option<String>,
    selector: Option<Selector>,
    /// Whether it is a name: that of a total means the total.
    is_name: bool,
}

impl Ask {
    fn new(text: Option<&str>) -> Self {
        let is_name = text.is_some_and(|text| Selector::is_plain(text) && !text.contains(['*', '?']));
        Self { text: text.map(str::to_owned), selector: text.map(Selector::new), is_name }
    }
}

/// What tells instances apart.
#[derive(Clone, Copy, Debug)]
enum Labels {
    /// There are none.
    None,
    /// The name.
    Name(&'static str),
    /// Name and number of a process.
    Process,
    /// Name of the process, number of the thread.
    Thread,
}

impl Labels {
    fn of(set: &Counterset, profile: Profile) -> Self {
        let curated =
            || (profile == Profile::WindowsExporter).then(|| crate::catalogue::curated_label(&set.guid));
        match set.guid {
            _ if !set.instance_type.is_multiple() => Self::None,
            catalogue::process_v2::GUID | catalogue::process::GUID | catalogue::linux_process::GUID => {
                Self::Process
            }
            catalogue::thread::GUID => Self::Thread,
            _ => Self::Name(curated().flatten().unwrap_or("instance_name")),
        }
    }
}

/// What tells rows apart that have the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum More {
    #[default]
    Nothing,
    /// The instance's id.
    Id,
    /// That, and the process that publishes it.
    Owner,
}

/// Names and ids of rows, as bytes behind one another: compared with those of before as a whole.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    bytes: Vec<u8>,
    len: usize,
    /// What tells rows apart: once some have the same labels all have more of them for good, or the series of an
    /// instance that ended would go on with another's values.
    more: More,
}

impl Identities {
    fn clear(&mut self) {
        self.bytes.clear();
        self.len = 0;
    }

    fn push(&mut self, name: Name<'_>, id: InstanceId, owner: u32) {
        let len = u32::try_from(name.as_bytes().len()).unwrap_or_default(); // a name is shorter than its block
        for part in [len, id.0, owner] {
            self.bytes.extend_from_slice(&part.to_le_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.len = self.len.saturating_add(1);
    }

    /// Id, owner and name of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, &[u8])> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let (head, behind) = rest.split_first_chunk::<12>()?;
            let [len, id, owner] = words(head);
            let (name, behind) = behind.split_at_checked(usize::try_from(len).ok()?)?;
            rest = behind;
            Some((id, owner, name))
        })
    }
}

/// Three numbers as they are in memory.
fn words(bytes: &[u8; 12]) -> [u32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_le_bytes)
}

impl Table {
    pub fn new(set: Arc<Counterset>, profile: Profile, has_totals: bool) -> Self {
        Self {
            labels: Labels::of(&set, profile),
            set,
            last: None,
            has_totals,
            asks: Vec::new(),
            wanted: Vec::new(),
            entry: None,
            columns: Vec::new(),
            narrow: Vec::new(),
            widened: Widened::default(),
            rows: Identities::default(),
            now: Identities::default(),
            text: Vec::new(),
            ends: Vec::new(),
            meant: Vec::new(),
            kept: Vec::new(),
            twins: Vec::new(),
            ranks: Vec::new(),
            lines: Vec::new(),
            cut: None,
            dropped: 0,
            numbers: Vec::new(),
            since: Vec::new(),
            times: Times::default(),
            outcome: Outcome::Failed,
            took: Duration::ZERO,
            missing: 0,
        }
    }

    /// Adds a path's instances, as they are written.
    pub fn ask(&mut self, instances: Option<&str>) {
        if self.place_of_ask(instances) == self.asks.len() {
            self.asks.push(Ask::new(instances));
        }
    }

    /// Which of all the asks these instances are, or would be.
    pub fn place_of_ask(&self, instances: Option<&str>) -> usize {
        let same = |ask: &Ask| ask.text.as_deref() == instances;
        self.asks.iter().position(same).unwrap_or(self.asks.len())
    }

    /// The entry that a query needs: with the pattern of all asks if they have the same, else with everything.
    pub fn wanted_entry(&self) -> Entry {
        let entry = Entry::several(self.set.guid, self.wanted.iter().copied());
        match self.asks.as_slice() {
            [Ask { text: Some(text), .. }] if Selector::is_plain(text) => entry.instance(text),
            asks if asks.iter().any(|ask| ask.text.is_some()) => entry.instance("*"),
            _ => entry,
        }
    }

    /// Forgets the columns and rows of an entry that is another from now on.
    pub fn forget(&mut self) {
        self.last = None;
        self.fail();
    }

    /// Has no rows. What is known of them stays for when they come again.
    fn fail(&mut self) {
        self.outcome = Outcome::Failed;
        self.kept.clear();
        self.twins.clear();
        self.ends.clear();
    }

    /// Whether rows have labels.
    pub fn has_labels(&self) -> bool {
        !matches!(self.labels, Labels::None)
    }

    /// Finds the columns anew if the registration is another one than in the last scrape; whether it did.
    pub fn bind(&mut self, info: &EntryInfo, rises: impl Fn(CounterId) -> bool) -> bool {
        let same = match (&self.last, &info.counterset) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if same {
            return false;
        }
        // Another registration of the same counters: a counterset may have got others that are not asked for here.
        let before = self.last.take();
        self.last.clone_from(&info.counterset);
        let counters = self.columns.iter().map(|id| before.as_ref()?.counter(*id));
        if before.is_some() && counters.eq(info.counters().map(Some)) {
            return false;
        }
        self.columns = info.counters().map(|counter| counter.id).collect();
        let is_narrow = |counter: &Counter| counter.counter_type.value_len() == 4 && rises(counter.id);
        let narrow = info.counters().enumerate().filter(|(_, counter)| is_narrow(counter));
        self.narrow = narrow.map(|(column, _)| column).collect();
        self.widened = Widened::new(self.narrow.len());
        self.rows.clear();
        true
    }

    /// The column of a counter that is still of the type that it was `then`, when metrics were made for that.
    pub fn column(&self, then: &Counterset, counter: CounterId) -> Option<usize> {
        let (then, now) = (then.counter(counter)?, self.last.as_ref()?.counter(counter)?);
        let same = then.counter_type == now.counter_type && then.unit == now.unit;
        self.columns.iter().position(|id| *id == counter).filter(|_| same)
    }

    /// Reads the rows of a result.
    pub fn read(
        &mut self,
        result: Option<QueryResult<'_>>,
        annex: Option<&EntryAnnex>,
        info: &EntryInfo,
        times: Times,
    ) {
        self.times = Times { clocks: annex.and_then(EntryAnnex::clocks).unwrap_or(times.clocks), ..times };
        self.took = annex.and_then(EntryAnnex::took).unwrap_or_default();
        self.missing = annex.map_or(0, EntryAnnex::missing_instances);
        self.now.clear();
        self.numbers.clear();
        self.since.clear();
        let counts = annex.into_iter().flat_map(EntryAnnex::counts);
        self.since.extend(counts.map(|(row, column, since)| ((row, column), since.get())));
        let owners = |row: usize| match annex.map_or(Owner::System, |annex| annex.owner(row)) {
            Owner::Process { pid, .. } => pid,
            Owner::System => 0,
        };
        let tells_owners = self.rows.more == More::Owner;
        let owner = |row| if tells_owners { owners(row) } else { 0 };
        let id = annex.and_then(EntryAnnex::instance_id).unwrap_or(InstanceId(0));
        // A result of one instance carries no name; the entry's may be in another case.
        let name = annex.and_then(EntryAnnex::instance).unwrap_or_else(|| info.instance());
        let has_rows = match result.map(|result| result.body) {
            Some(Body::SingleCounter(value)) => {
                self.push(name, id, owner(0), std::iter::once(value));
                true
            }
            Some(Body::MultipleCounters(_, values)) => {
                self.push(name, id, owner(0), values.iter());
                true
            }
            Some(Body::MultipleInstances(rows) | Body::Counterset(_, rows)) => {
                for (at, row) in rows.rows().flatten().enumerate() {
                    self.push(row.name(), row.id(), owner(at), row.values().iter());
                }
                true
            }
            Some(Body::Error) | None => false,
        };
        let failure = annex.and_then(EntryAnnex::failure);
        let is_absent = matches!(failure, Some(NoValue::NoInstance | NoValue::Unavailable(_)));
        self.outcome = if has_rows || is_absent { Outcome::Good } else { Outcome::Failed };
        if self.outcome == Outcome::Failed {
            self.fail();
            return;
        }
        if self.now.bytes != self.rows.bytes || self.ends.len() != self.rows.len {
            self.widened.follow(&self.rows, &self.now);
            self.now.more = self.rows.more;
            std::mem::swap(&mut self.rows, &mut self.now);
            self.label(owners);
        }
        let Self { narrow, widened, numbers, columns, rows, .. } = self;
        if !narrow.is_empty() {
            for (at, row) in numbers.chunks_mut(columns.len().max(1)).enumerate().take(rows.len) {
                let birth = annex.and_then(|annex| annex.birth(at));
                let mut rest = row.iter_mut().enumerate();
                let cells =
                    narrow.iter().map(|column| rest.find(|(at, _)| at == column).map(|(_, cell)| cell));
                widened.widen(at, birth, cells);
            }
        }
    }

    fn push<'a>(
        &mut self,
        name: Name<'_>,
        id: InstanceId,
        owner: u32,
        values: impl Iterator<Item = Value<'a>>,
    ) {
        self.now.push(name, id, owner);
        self.numbers.extend(values.map(Value::number).take(self.columns.len()));
        self.numbers.resize(self.now.len.saturating_mul(self.columns.len()), None);
    }

    /// Makes the labels of all rows, and finds which are meant.
    fn label(&mut self, owners: impl Fn(usize) -> u32) {
        self.choose();
        loop {
            self.write_labels(&owners);
            let mut seen = HashSet::new();
            let (first, twins): (Vec<_>, Vec<_>) =
                self.kept.iter().partition(|row| seen.insert(self.row_text(**row)));
            match self.rows.more {
                More::Nothing if !twins.is_empty() && self.has_labels() => self.rows.more = More::Id,
                More::Id if !twins.is_empty() => self.rows.more = More::Owner,
                _ => {
                    // If nothing tells them apart the first of them is exported.
                    (self.kept, self.twins) = (first, twins);
                    break;
                }
            }
        }
        self.rank();
    }

    /// Finds which asks have the fewest rows.
    fn rank(&mut self) {
        let rows = |ask: usize| self.kept.iter().filter(|row| self.is_meant(**row, &[ask])).count();
        let rows: Vec<_> = (0..self.asks.len()).map(rows).collect();
        let mut order = rows.clone();
        order.sort_unstable();
        order.dedup();
        self.ranks.clear();
        self.ranks.extend(rows.iter().map(|rows| order.binary_search(rows).unwrap_or_default()));
    }

    /// Begins to count lines by rank.
    pub fn clear_lines(&mut self) {
        self.lines.clear();
        self.lines.resize(self.asks.len(), 0);
    }

    /// The rank of the most specific of these asks that means a row: 0 is that of the fewest rows.
    pub fn rank_of(&self, row: usize, asks: &[usize]) -> Option<usize> {
        let meaning = asks.iter().filter(|ask| self.is_meant(row, slice::from_ref(ask)));
        meaning.filter_map(|ask| self.ranks.get(*ask)).min().copied()
    }

    /// Finds the rows that asks mean.
    fn choose(&mut self) {
        let Self { rows, asks, meant, kept, has_totals, .. } = self;
        meant.clear();
        kept.clear();
        let numbers_names = asks.iter().any(|ask| ask.text.as_deref().is_some_and(|text| text.contains('#')));
        let mut seen: HashMap<Vec<u16>, usize> = HashMap::new();
        for (at, (_, _, name)) in rows.iter().enumerate() {
            let units = Name::until_nul(name).units();
            let occurrence = if numbers_names {
                let folded = units.clone().map(perfset_core::utf16::upper).collect();
                let next = seen.entry(folded).or_default();
                std::mem::replace(next, next.saturating_add(1))
            } else {
                0
            };
            let is_part = *has_totals || !is_total(units.clone());
            let mut is_kept = false;
            for ask in asks.iter() {
                let matches = ask.selector.as_ref().is_none_or(|s| s.matches(units.clone(), occurrence));
                let is_meant = matches && (is_part || ask.is_name);
                meant.push(is_meant);
                is_kept |= is_meant;
            }
            if is_kept {
                kept.push(at);
            }
        }
    }

    fn write_labels(&mut self, owners: &impl Fn(usize) -> u32) {
        let Self { rows, labels, text, ends, .. } = self;
        text.clear();
        ends.clear();
        for (at, (id, _, name)) in rows.iter().enumerate() {
            one_row(text, *labels, name, id, rows.more, || owners(at));
            ends.push(text.len());
        }
    }

    /// The labels of a row, with all that stands between the family's part and the number.
    pub fn row_text(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        let end = self.ends.get(row).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the PerfTime100NSec at which counting of a value began, if it is known.
    pub fn since(&self, row: usize, column: usize) -> Option<u64> {
        let at = self.since.binary_search_by_key(&(row, column), |(at, _)| *at).ok()?;
        self.since.get(at).map(|(_, since)| *since)
    }

    /// The numbers of a row.
    pub fn row(&self, row: usize) -> &[Option<RawValue>] {
        let start = row.saturating_mul(self.columns.len());
        self.numbers.get(start..start.saturating_add(self.columns.len())).unwrap_or_default()
    }

    /// Whether a row is meant by one of these asks.
    pub fn is_meant(&self, row: usize, asks: &[usize]) -> bool {
        if self.asks.len() == 1 {
            return true; // or it would not be kept
        }
        let start = row.saturating_mul(self.asks.len());
        asks.iter().any(|ask| self.meant.get(start.saturating_add(*ask)) == Some(&true))
    }
}

/// Whether a name is that of a sum over others: `_Total`, `0,_Total`, `_Total/_Total`.
fn is_total(name: impl DoubleEndedIterator<Item = u16>) -> bool {
    let mut rest = name.rev().map(perfset_core::utf16::upper);
    let total = b"_TOTAL".iter().rev().all(|unit| rest.next() == Some(u16::from(*unit)));
    total && matches!(rest.next(), None | Some(0x2C | 0x2F)) // a comma, a slash
}

fn one_row(text: &mut Vec<u8>, labels: Labels, name: &[u8], id: u32, more: More, owner: impl Fn() -> u32) {
    let start = text.len();
    let pair = |text: &mut Vec<u8>, key: &str, value: &mut dyn FnMut(&mut Vec<u8>)| {
        if text.len() > start {
            text.push(b',');
        }
        text.extend_from_slice(key.as_bytes());
        text.extend_from_slice(b"=\"");
        value(text);
        text.push(b'"');
    };
    match labels {
        Labels::None => return,
        Labels::Name(key) => pair(text, key, &mut |text| label(text, characters(name))),
        Labels::Process => {
            let program = without_number(name, b':', id);
            pair(text, "process", &mut |text| label(text, characters(program)));
            pair(text, "process_id", &mut |text| whole(text, id.into()));
        }
        Labels::Thread => {
            let process = without_number(name, b'/', id);
            pair(text, "parent", &mut |text| label(text, characters(process)));
            pair(text, "instance_name", &mut |text| whole(text, id.into()));
        }
    }
    if more >= More::Id && matches!(labels, Labels::Name(_)) {
        pair(text, "instance_id", &mut |text| whole(text, id.into()));
    }
    if more == More::Owner {
        pair(text, "owner_process_id", &mut |text| whole(text, owner().into()));
    }
    text.extend_from_slice(b"} ");
}

/// A name in UTF-16LE without the number of its instance, which stands behind this character at its end.
fn without_number(name: &[u8], before: u8, id: u32) -> &[u8] {
    let end: Vec<u8> =
        format!("{}{id}", char::from(before)).encode_utf16().flat_map(u16::to_le_bytes).collect();
    name.strip_suffix(end.as_slice()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals() {
        for (name, want) in [
            ("_Total", true),
            ("_TOTAL", true),
            ("0,_Total", true),
            ("_Total/_Total", true),
            ("a_Total", false),
            ("Total", false),
            ("_Total ", false),
            ("", false),
            ("_Total:0", false),
        ] {
            let units: Vec<_> = name.encode_utf16().collect();
            assert_eq!(is_total(units.into_iter()), want, "{name}");
        }
    }

    #[test]
    fn labels_of_rows() {
        for (labels, name, id, more, want) in [
            (Labels::None, "a", 2, More::Nothing, ""),
            (Labels::Name("nic"), "eth\"0\\\n", 2, More::Nothing, "nic=\"eth\\\"0\\\\\\n\"} "),
            (Labels::Name("instance_name"), "", 2, More::Id, "instance_name=\"\",instance_id=\"2\"} "),
            (Labels::Name("a"), "b", 2, More::Owner, "a=\"b\",instance_id=\"2\",owner_process_id=\"7\"} "),
            (Labels::Process, "bash:42", 42, More::Nothing, "process=\"bash\",process_id=\"42\"} "),
            (Labels::Process, "a:42:42", 42, More::Nothing, "process=\"a:42\",process_id=\"42\"} "),
            (Labels::Process, "bash", 42, More::Id, "process=\"bash\",process_id=\"42\"} "),
            (Labels::Thread, "a/b/42", 42, More::Nothing, "parent=\"a/b\",instance_name=\"42\"} "),
        ] {
            let mut text = Vec::new();
            let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            one_row(&mut text, labels, &name, id, more, || 7);
            assert_eq!(String::from_utf8(text).unwrap(), want);
        }
    }
}
