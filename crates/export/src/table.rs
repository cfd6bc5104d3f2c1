//! Rows of one counterset in one scrape: identities of the rows, as labels, and numbers.

use std::collections::{HashMap, HashSet};
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use perfset_core::sample::Clocks;
use perfset_core::v2::{BlockValue, Body, QueryResult};
use perfset_core::{Counter, CounterId, Counterset, Identity, InstanceId, Name, NoValue, Owner, RawValue};
use perfset_engine::path::Selector;
use perfset_engine::{Entry, EntryMetadata, FactOptions, ResolvedEntry, Source};

use crate::labels::{Disambiguator, Labels, NodeLabels, one_row};
use crate::options::Profile;
use crate::wrap::WrapTracker;

/// Table of the exported rows of one counterset.
#[derive(Debug)]
pub(crate) struct CountersetTable {
    /// Definition of the counterset at the time when the first path was bound.
    pub set: Arc<Counterset>,
    /// Definition of the counterset in the last scrape.
    last: Option<Arc<Counterset>>,
    labels: Labels<'static>,
    has_totals: bool,
    asks: Vec<Ask>,
    /// Ids of the counters that must be collected for the metrics of this counterset.
    pub wanted: Vec<CounterId>,
    /// Query entry that collects this counterset.
    pub entry: Option<Entry>,
    /// Ids of the counters that are columns of the collected result, in order.
    pub columns: Vec<CounterId>,
    /// Indexes in `columns` of the 32-bit counters that are exported as rising values.
    narrow: Vec<usize>,
    widened: WrapTracker,
    /// Identities of the table's rows, as of the last scrape.
    rows: Identities,
    /// Identities of the rows of the current scrape, while the rows are read.
    now: Identities,
    /// Labels of all rows of the table, as one text; `ends` contains the offset at which each row's labels end.
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Labels of all rows under the names of node_exporter, if these names are exported.
    node: Option<NodeLabels>,
    /// Flags by row: `true` if the row has lines under the names of node_exporter; totals and some devices have none.
    in_node: Vec<bool>,
    /// Names of the instances that have metrics of their own, each with its row.
    named: Vec<(Vec<u8>, Option<usize>)>,
    /// Flags by row and requested selection: `true` if the selection includes the row.
    meant: Vec<bool>,
    /// Indexes of the table's rows that are exported.
    pub kept: Vec<usize>,
    /// Indexes of the table's selected rows that are not exported, because nothing distinguishes them from other
    /// rows.
    pub twins: Vec<usize>,
    /// Rank of each requested selection: the number of smaller row counts among the selections.
    ranks: Vec<usize>,
    /// Number of lines of each rank of selections that could be written. The lines are counted only if there might be
    /// too many.
    pub lines: Vec<usize>,
    /// First rank of selections whose lines are not all written; `None` if all lines are written.
    pub cut: Option<usize>,
    /// Number of the table's lines that are not written.
    pub dropped: usize,
    numbers: Vec<Option<RawValue>>,
    /// Times at which the counting of values began, by row and column, ascending; only values with a known time have
    /// an entry.
    since: Vec<((usize, usize), u64)>,
    pub times: CollectionClocks,
    pub outcome: Outcome,
    pub took: Duration,
    /// Number of instances that a total of this counterset lacks, in the last scrape.
    pub missing: u32,
}

/// Clocks of a collection that a scrape reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CollectionClocks {
    /// Clocks of the collection by which formulas divide.
    pub clocks: Clocks,
    /// Offset of the wall clock from PerfTime100NSec, in 100 ns:
    /// [`ClockReading::step_100ns`](perfset_core::clock::ClockReading::step_100ns).
    pub step: i64,
}

/// Outcome of a scrape's collection for one counterset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    Failed,
}

/// Selection of instances that one or more paths request.
#[derive(Debug)]
struct Ask {
    text: Option<String>,
    selector: Option<Selector>,
    /// `true` if the selection is a name without wildcards. Only such a name selects a total if totals are not
    /// exported.
    is_name: bool,
}

impl Ask {
    fn new(text: Option<&str>) -> Self {
        let is_name = text.is_some_and(|text| Selector::is_plain(text) && !text.contains(['*', '?']));
        Self { text: text.map(str::to_owned), selector: text.map(Selector::new), is_name }
    }
}

/// Rows of a table that have a line of a metric, and the labels of these rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowScheme {
    /// All rows of the table, with the labels of the first profile.
    Base,
    /// All rows of the table except totals, with the labels of node_exporter.
    Node,
    /// Row of one instance, without labels; the number is the index of the instance in the table's list `named`.
    Named(usize),
}

/// Identities of a table's rows: names and ids, in one byte buffer that is compared as a whole with that of the
/// scrape before.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    bytes: Vec<u8>,
    len: usize,
    /// Additional labels that distinguish all rows. Once two rows have the same labels, all rows get more labels for
    /// good. Otherwise the series of an instance that ended would continue with another instance's values.
    more: Disambiguator,
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

    /// Returns id, owner and name of each row's instance.
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

/// Converts the stored bytes of a row's identity to three little-endian numbers.
fn words(bytes: &[u8; 12]) -> [u32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *bytes;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_le_bytes)
}

impl CountersetTable {
    pub fn new(set: Arc<Counterset>, profiles: &[Profile], has_totals: bool) -> Self {
        Self {
            labels: Labels::new(&set, profiles),
            node: profiles.contains(&Profile::NodeExporter).then(|| NodeLabels::new(&set.guid)).flatten(),
            in_node: Vec::new(),
            named: Vec::new(),
            set,
            last: None,
            has_totals,
            asks: Vec::new(),
            wanted: Vec::new(),
            entry: None,
            columns: Vec::new(),
            narrow: Vec::new(),
            widened: WrapTracker::default(),
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
            times: CollectionClocks::default(),
            outcome: Outcome::Failed,
            took: Duration::ZERO,
            missing: 0,
        }
    }

    /// Adds the instance selection of a path to the table's requested selections, unless the table has it already.
    pub fn ask(&mut self, instances: Option<&str>) {
        if self.place_of_ask(instances) == self.asks.len() {
            self.asks.push(Ask::new(instances));
        }
    }

    /// Returns the index of the requested instance selection with this text, or the index that a new one would get.
    pub fn place_of_ask(&self, instances: Option<&str>) -> usize {
        let same = |ask: &Ask| ask.text.as_deref() == instances;
        self.asks.iter().position(same).unwrap_or(self.asks.len())
    }

    /// Returns the entry that a query needs for this counterset. The entry has the instance pattern of the paths if
    /// all paths have the same pattern, else with all instances.
    pub fn wanted_entry(&self) -> Entry {
        let entry = Entry::several(self.set.guid, self.wanted.iter().copied());
        match self.asks.as_slice() {
            [Ask { text: Some(text), .. }] if Selector::is_plain(text) => entry.instance(text),
            asks if asks.iter().any(|ask| ask.text.is_some()) => entry.instance("*"),
            _ => entry,
        }
    }

    /// Removes the table's columns and rows, because the query entry is replaced.
    pub fn forget(&mut self) {
        self.last = None;
        self.fail();
    }

    /// Removes all rows of the table. Their identities stay, in case the rows return.
    fn fail(&mut self) {
        self.outcome = Outcome::Failed;
        self.kept.clear();
        self.twins.clear();
        self.ends.clear();
    }

    /// Returns `true` if the table's rows have labels under this scheme.
    pub fn has_labels(&self, rows: RowScheme) -> bool {
        match rows {
            RowScheme::Base => !matches!(self.labels, Labels::None),
            RowScheme::Node => true,
            RowScheme::Named(_) => false,
        }
    }

    /// Returns the scheme for the rows that have the metrics of one instance.
    pub fn rows_of(&mut self, instance: &str) -> RowScheme {
        let name: Vec<u8> = instance.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let known = self.named.iter().position(|(other, _)| *other == name);
        RowScheme::Named(known.unwrap_or_else(|| {
            self.named.push((name, None));
            // Emptied, so that the next `read` looks for the instance.
            self.rows.clear();
            self.named.len().saturating_sub(1)
        }))
    }

    /// Returns `true` if a row of the table has a line of a metric with this scheme of rows.
    pub fn has_line(&self, row: usize, rows: RowScheme) -> bool {
        match rows {
            RowScheme::Base => true,
            RowScheme::Node => self.in_node.get(row) == Some(&true),
            RowScheme::Named(at) => self.named.get(at).is_some_and(|(_, of)| *of == Some(row)),
        }
    }

    /// Finds the table's columns again if the counterset's registration has changed since the last scrape. Returns
    /// `true` if the columns were found again.
    pub fn bind(&mut self, info: &ResolvedEntry, rises: impl Fn(CounterId) -> bool) -> bool {
        let same = match (&self.last, &info.counterset) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if same {
            return false;
        }
        // Another registration of the same counters: the counterset may have new counters that are not requested
        // here.
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
        self.widened = WrapTracker::new(self.narrow.len());
        // Emptied, so that `read` calls `follow`: the new tracker has no rows before that.
        self.rows.clear();
        true
    }

    /// Returns the table's column of a counter, if its type and unit are still those in `then`, for which the
    /// counter's metrics were made.
    pub fn column(&self, then: &Counterset, counter: CounterId) -> Option<usize> {
        let (then, now) = (then.counter(counter)?, self.last.as_ref()?.counter(counter)?);
        let same = then.counter_type == now.counter_type && then.unit == now.unit;
        self.columns.iter().position(|id| *id == counter).filter(|_| same)
    }

    /// Reads the rows of a collected result into the table.
    pub fn read(
        &mut self,
        result: Option<QueryResult<'_>>,
        annex: Option<&EntryMetadata>,
        info: &ResolvedEntry,
        times: CollectionClocks,
        source: &mut dyn Source,
    ) {
        self.times = CollectionClocks {
            clocks: annex.and_then(EntryMetadata::clocks).unwrap_or(times.clocks),
            ..times
        };
        self.took = annex.and_then(EntryMetadata::took).unwrap_or_default();
        self.missing = annex.map_or(0, EntryMetadata::missing_instances);
        self.now.clear();
        self.numbers.clear();
        self.since.clear();
        let counts = annex.into_iter().flat_map(EntryMetadata::counts);
        self.since.extend(counts.map(|(row, column, since)| ((row, column), since.get())));
        let owners = |row: usize| match annex.map_or(Owner::System, |annex| annex.owner(row)) {
            Owner::Process { pid, .. } => pid,
            Owner::System => 0,
        };
        // Owners are part of the identity only after two rows could not be distinguished otherwise: a
        // restarted publisher then continues its series.
        let tells_owners = self.rows.more == Disambiguator::Owner;
        let owner = |row| if tells_owners { owners(row) } else { 0 };
        let id = annex.and_then(EntryMetadata::instance_id).unwrap_or(InstanceId(0));
        // A result of one instance carries no name; the entry's may be in another case.
        let name = annex.and_then(EntryMetadata::instance).unwrap_or_else(|| info.instance());
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
        // No instance, or a counter that this system lacks, is a valid result without rows. Any other failure
        // is reported.
        let failure = annex.and_then(EntryMetadata::failure);
        let is_absent = matches!(failure, Some(NoValue::NoInstance | NoValue::Unavailable(_)));
        self.outcome = if has_rows || is_absent { Outcome::Good } else { Outcome::Failed };
        if self.outcome == Outcome::Failed {
            self.fail();
            return;
        }
        // Usually the rows are those of the last scrape: then labels, selection and ranks stay.
        // After a failure the identities are still there and their labels are not: hence the second
        // condition.
        let lacks_facts = self.node.as_ref().is_some_and(|node| node.lacks_facts);
        if self.now.bytes != self.rows.bytes || self.ends.len() != self.rows.len || lacks_facts {
            self.widened.follow(&self.rows, &self.now);
            self.now.more = self.rows.more;
            std::mem::swap(&mut self.rows, &mut self.now);
            self.read_facts(annex, source);
            self.label(owners);
        }
        let Self { narrow, widened, numbers, columns, rows, .. } = self;
        // A 32-bit overflow would look like a restart to the server.
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

    /// Reads the facts about all instances of the table, if labels need some.
    fn read_facts(&mut self, annex: Option<&EntryMetadata>, source: &mut dyn Source) {
        let Self { set, rows, node: Some(node), .. } = self else { return };
        if !node.needs_facts() {
            return;
        }
        let of_row = |(at, (id, _, name)): (usize, (u32, u32, &[u8]))| {
            let instance = Identity {
                counterset: set.guid,
                instance: Name::until_nul(name),
                instance_id: InstanceId(id),
                birth: annex.and_then(|annex| annex.birth(at)),
            };
            source.facts(&instance, FactOptions::default()).unwrap_or_default()
        };
        node.facts = rows.iter().enumerate().map(of_row).collect();
        node.lacks_facts = (0..node.facts.len()).any(|row| !node.has_facts(row));
    }

    fn push<'a>(
        &mut self,
        name: Name<'_>,
        id: InstanceId,
        owner: u32,
        values: impl Iterator<Item = BlockValue<'a>>,
    ) {
        self.now.push(name, id, owner);
        // A row with more or fewer values than columns would shift all rows after it.
        self.numbers.extend(values.map(BlockValue::number).take(self.columns.len()));
        self.numbers.resize(self.now.len.saturating_mul(self.columns.len()), None);
    }

    /// Creates the labels of all rows of the table, and finds the selected rows.
    fn label(&mut self, owners: impl Fn(usize) -> u32) {
        self.choose();
        loop {
            self.write_labels(&owners);
            // Labels are compared, not names: different names can have equal labels, for example if both
            // contain unpaired surrogates.
            let mut seen = HashSet::new();
            let mut seen_in_node = HashSet::new();
            let (first, twins): (Vec<_>, Vec<_>) = self.kept.iter().partition(|row| {
                let is_other = self.node.is_none()
                    || self.in_node.get(**row) != Some(&true)
                    || seen_in_node.insert(self.row_text(**row, RowScheme::Node));
                seen.insert(self.row_text(**row, RowScheme::Base)) && is_other
            });
            match self.rows.more {
                Disambiguator::Nothing if !twins.is_empty() && self.has_labels(RowScheme::Base) => {
                    self.rows.more = Disambiguator::Id
                }
                Disambiguator::Id if !twins.is_empty() => self.rows.more = Disambiguator::Owner,
                _ => {
                    // If nothing distinguishes rows, the first is exported.
                    (self.kept, self.twins) = (first, twins);
                    break;
                }
            }
        }
        self.rank();
    }

    /// Ranks the table's requested selections by their number of rows; the fewest rows are rank 0.
    fn rank(&mut self) {
        let rows = |ask: usize| self.kept.iter().filter(|row| self.is_meant(**row, &[ask])).count();
        let rows: Vec<_> = (0..self.asks.len()).map(rows).collect();
        let mut order = rows.clone();
        order.sort_unstable();
        order.dedup();
        self.ranks.clear();
        self.ranks.extend(rows.iter().map(|rows| order.binary_search(rows).unwrap_or_default()));
    }

    /// Sets the table's number of lines of each rank to 0, before the lines are counted.
    pub fn clear_lines(&mut self) {
        self.lines.clear();
        self.lines.resize(self.asks.len(), 0);
    }

    /// Returns the rank of the most specific of these requested selections that includes a row: rank 0 has the fewest
    /// rows.
    pub fn rank_of(&self, row: usize, asks: &[usize]) -> Option<usize> {
        let meaning = asks.iter().filter(|ask| self.is_meant(row, slice::from_ref(ask)));
        meaning.filter_map(|ask| self.ranks.get(*ask)).min().copied()
    }

    /// Finds the rows of the table that the requested selections include.
    fn choose(&mut self) {
        let Self { rows, asks, meant, kept, has_totals, in_node, named, node, .. } = self;
        meant.clear();
        kept.clear();
        in_node.clear();
        for (name, of) in named.iter_mut() {
            *of = rows.iter().position(|(_, _, other)| other == name);
        }
        // Counting equal names allocates, so it is done only if a path selects `name#1`.
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
            let is_sum = is_total(units.clone());
            let is_in_node = |node: &NodeLabels| !node.leaves_out(name) && node.has_facts(at);
            in_node.push(!is_sum && node.as_ref().is_some_and(is_in_node));
            let is_part = *has_totals || !is_sum;
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
        let Self { rows, labels, text, ends, node, in_node, .. } = self;
        text.clear();
        ends.clear();
        for (at, (id, _, name)) in rows.iter().enumerate() {
            one_row(text, *labels, name, id, rows.more, || owners(at));
            ends.push(text.len());
        }
        let Some(NodeLabels { keys, facts, text, ends, .. }) = node else { return };
        // Rows of the same name can have different facts, and need no number then.
        for more in [Disambiguator::Nothing, rows.more.max(Disambiguator::Id)] {
            text.clear();
            ends.clear();
            for (at, (id, _, name)) in rows.iter().enumerate() {
                let facts = facts.get(at).map(Vec::as_slice).unwrap_or_default();
                one_row(text, Labels::Node(keys, facts), name, id, more, || owners(at));
                ends.push(text.len());
            }
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let texts = starts.zip(ends.iter()).filter_map(|(start, end)| text.get(start..*end));
            let mut seen = HashSet::new();
            if texts.zip(in_node.iter()).filter(|(_, is_in)| **is_in).all(|(text, _)| seen.insert(text)) {
                break;
            }
        }
    }

    /// Returns the labels of a row of the table, with all text between the prefix of the family member and the
    /// number.
    pub fn row_text(&self, row: usize, rows: RowScheme) -> &[u8] {
        let (text, ends) = match (rows, &self.node) {
            (RowScheme::Base, _) => (&self.text, &self.ends),
            (RowScheme::Node, Some(node)) => (&node.text, &node.ends),
            (RowScheme::Node, None) | (RowScheme::Named(_), _) => return b"",
        };
        let start = row.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or_default();
        let end = ends.get(row).copied().unwrap_or_default();
        text.get(start..end).unwrap_or_default()
    }

    /// Returns the PerfTime100NSec at which counting of a value began, if it is known.
    pub fn since(&self, row: usize, column: usize) -> Option<u64> {
        let at = self.since.binary_search_by_key(&(row, column), |(at, _)| *at).ok()?;
        self.since.get(at).map(|(_, since)| *since)
    }

    /// Returns the raw values of a row of the table.
    pub fn row(&self, row: usize) -> &[Option<RawValue>] {
        let start = row.saturating_mul(self.columns.len());
        self.numbers.get(start..start.saturating_add(self.columns.len())).unwrap_or_default()
    }

    /// Returns `true` if one of some requested selections includes a row.
    pub fn is_meant(&self, row: usize, asks: &[usize]) -> bool {
        if self.asks.len() == 1 {
            return true; // or it would not be kept
        }
        let start = row.saturating_mul(self.asks.len());
        asks.iter().any(|ask| self.meant.get(start.saturating_add(*ask)) == Some(&true))
    }
}

/// Returns `true` if a name is that of a sum over other instances: `_Total`, `0,_Total`, `_Total/_Total`.
fn is_total(name: impl DoubleEndedIterator<Item = u16>) -> bool {
    let mut rest = name.rev().map(perfset_core::utf16::upper);
    let total = b"_TOTAL".iter().rev().all(|unit| rest.next() == Some(u16::from(*unit)));
    total && matches!(rest.next(), None | Some(0x2C | 0x2F)) // a comma, a slash
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
}
