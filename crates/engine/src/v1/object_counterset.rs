//! Registration of a V1 object: a counterset built from its definitions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use perfset_catalogue as catalogue;
use perfset_core::counter_type::{CounterKind, Display, NumberKind, ValueKind};
use perfset_core::v1::{Contents, Definition, Object, TitleNames};
use perfset_core::v2::PERF_MAX_INSTANCE_NAME;
use perfset_core::{
    Attributes, Counter, CounterId, CounterType, Counterset, Guid, InstanceType, ProviderIdentity, Text,
};
use uuid::Uuid;

/// Counterset made of a V1 object, and the locations of its values.
#[derive(Debug)]
pub(super) struct ObjectCounterset {
    pub set: Arc<Counterset>,
    /// Title index of the V1 object from which the counterset is made.
    pub name_index: u32,
    /// Locations of the counters' values in the V1 object, by position in the counterset.
    pub columns: Vec<CounterLocation>,
    /// Columns that make up an instance's birth: the start time, and an id that must not be 0 for the start time to be
    /// valid.
    pub birth: Option<(usize, usize)>,
    /// Title index and type of each counter definition of the last V1 object that was read.
    shape: Vec<(u32, CounterType)>,
}

/// Location of a counter's value in a V1 object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterLocation {
    pub by_type: TypeKey,
    pub by_index: IndexKey,
    pub counter_type: CounterType,
    pub kind: LocationKind,
}

/// Key of a V1 counter by type: title index, type, and index among the definitions with equal title index and type.
pub(super) type TypeKey = (u32, CounterType, u32);
/// Key of a V1 counter by title index: title index, `true` for a base, and index among the definitions with both
/// equal.
pub(super) type IndexKey = (u32, bool, u32);

/// Generator of keys for the counter definitions of a V1 object.
#[derive(Default)]
pub(super) struct DefinitionKeys {
    types: HashMap<(u32, CounterType), u32>,
    indexes: HashMap<(u32, bool), u32>,
}

impl DefinitionKeys {
    /// Returns both keys of the next counter definition.
    pub fn next(&mut self, name_index: u32, counter_type: CounterType) -> (TypeKey, IndexKey) {
        let is_base = counter_type.is_base();
        let of_type = self.types.entry((name_index, counter_type)).or_default();
        let of_index = self.indexes.entry((name_index, is_base)).or_default();
        let keys = ((name_index, counter_type, *of_type), (name_index, is_base, *of_index));
        *of_type = of_type.saturating_add(1);
        *of_index = of_index.saturating_add(1);
        keys
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LocationKind {
    /// Location of a value at the offset that the counter definition contains.
    Value,
    /// Location of an item count after the value of a multi timer, if no definition of that count follows.
    ItemsBehind,
}

/// First id of counters that the catalogue lacks, in a counterset that the catalogue contains; the position is added
/// to this id. In other countersets the position is the id.
const UNKNOWN_IDS: u32 = 0x1_0000;
/// First id of the item counts of multi timers that have no definition in the block.
const ITEMS_IDS: u32 = 0x2_0000;
/// First id of counters that only a later block has, if their own ids are in use.
const LATER_IDS: u32 = 0x4_0000;
/// Title indexes of ID Process and ID Thread, for blocks without a name table.
const ID_INDEXES: [u32; 2] = [784, 804];

impl ObjectCounterset {
    pub fn new(object: &Object<'_>, names: &TitleNames, provider: &ProviderIdentity) -> Self {
        let name_index = object.name_index();
        let name = names.get(name_index).map_or_else(|| format!("#{name_index}"), title);
        // By name: most title indexes have another meaning on each machine.
        let catalogue_set = catalogue::ALL.iter().copied().find(|set| set.name == name);
        let guid = catalogue_set.map_or_else(|| guid_of_object(&name), |set| set.guid);
        let mut maker = CountersetBuilder {
            names,
            catalogue_set,
            used_ids: BTreeSet::new(),
            counters: Vec::new(),
            columns: Vec::new(),
            keys: DefinitionKeys::default(),
        };
        maker.add_all(object);
        let CountersetBuilder { counters, columns, .. } = maker;
        let default_counter = object.default_counter().and_then(|at| counters.get(usize::try_from(at).ok()?));
        let default_counter = default_counter.map(|counter| counter.id);
        let birth = birth(&counters, &columns);
        let set = Counterset::new(guid, name, instance_type(object))
            .help(catalogue_set.map(|set| set.help.clone()).unwrap_or_default())
            .provider(provider.guid, provider.name.clone())
            .counters(counters)
            .v1_index(name_index)
            .default_counter(default_counter);
        Self { set: Arc::new(set), name_index, columns, birth, shape: shape(object).collect() }
    }
}

/// Returns the instance type of a V1 object's counterset: single or multiple.
pub(super) fn instance_type(object: &Object<'_>) -> InstanceType {
    match object.contents() {
        Contents::Multiple(_) | Contents::Metadata { is_multiple: true } => InstanceType::Multiple,
        Contents::Single(_) | Contents::Metadata { is_multiple: false } => InstanceType::Single,
    }
}

/// Returns a text of a V1 name table, cut to the maximum length of a name, because a table can use a text many times.
fn title(text: &str) -> String {
    let mut left = PERF_MAX_INSTANCE_NAME.saturating_sub(1);
    let fits = |c: &char| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    };
    text.chars().take_while(fits).collect()
}

fn shape(object: &Object<'_>) -> impl Iterator<Item = (u32, CounterType)> {
    object.definitions().iter().map(|definition| (definition.name_index(), definition.counter_type()))
}

impl ObjectCounterset {
    /// Returns `true` if a V1 object has the same counter definitions as the V1 object that was read last: nothing
    /// must be added.
    pub fn is_like(&self, object: &Object<'_>) -> bool {
        shape(object).eq(self.shape.iter().copied())
    }

    /// Adds the counters that exist only in a later block to the counterset of the V1 object. Returns `false` if there
    /// would be more than `most` counters.
    ///
    /// An instance has a birth only if every block has the columns for it.
    pub fn extend(&mut self, later: Self, most: usize) -> bool {
        let own = CounterLocations::new(&self.columns);
        let theirs = CounterLocations::new(&later.columns);
        let is_there = |at: usize| self.columns.get(at).is_some_and(|column| theirs.find(column).is_some());
        if !self.birth.is_some_and(|(start, id)| is_there(start) && is_there(id)) {
            self.birth = None;
        }
        let set = Arc::make_mut(&mut self.set);
        let counters = set.counters.to_mut();
        let mut ids = HashMap::new();
        let mut taken: BTreeSet<_> = counters.iter().map(|counter| counter.id).collect();
        let before = counters.len();
        self.shape = later.shape;
        for (counter, column) in later.set.counters.iter().zip(&later.columns) {
            if let Some(at) = own.find(column) {
                ids.extend(counters.get(at).map(|known| (counter.id, known.id)));
                continue;
            }
            if counters.len() >= most {
                return false;
            }
            let later_id = u32::try_from(counters.len()).unwrap_or(u32::MAX).saturating_add(LATER_IDS);
            let id = if taken.contains(&counter.id) { CounterId(later_id) } else { counter.id };
            taken.insert(id);
            ids.insert(counter.id, id);
            let mut added = counter.clone();
            added.id = id;
            counters.push(added);
            self.columns.push(*column);
        }
        for counter in counters.iter_mut().skip(before) {
            // Relations of the later block use its own ids, some of which were replaced above.
            let now = |id: CounterId| ids.get(&id).copied();
            (counter.base, counter.multi) = (counter.base.and_then(now), counter.multi.and_then(now));
        }
        true
    }
}

/// Indexes of a counterset's columns, by each of the two keys of the columns' V1 counters.
struct CounterLocations {
    by_type: HashMap<(TypeKey, LocationKind), usize>,
    by_index: HashMap<(IndexKey, LocationKind), usize>,
}

impl CounterLocations {
    fn new(columns: &[CounterLocation]) -> Self {
        let all = || columns.iter().enumerate();
        Self {
            by_type: all().map(|(at, column)| ((column.by_type, column.kind), at)).collect(),
            by_index: all().map(|(at, column)| ((column.by_index, column.kind), at)).collect(),
        }
    }

    fn find(&self, column: &CounterLocation) -> Option<usize> {
        // By type first, because several definitions can have one title index. By index, a counter whose type
        // changed is still found, and its values say so.
        let by_type = self.by_type.get(&(column.by_type, column.kind));
        by_type.or_else(|| self.by_index.get(&(column.by_index, column.kind))).copied()
    }
}

/// Returns the GUID of a V1 object that the catalogue does not contain.
#[must_use]
pub fn guid_of_object(name: &str) -> Guid {
    let namespace = Uuid::from_u128(catalogue::NAMESPACE.to_u128());
    // The prefix keeps these GUIDs apart from others that are computed in this namespace, such as `sql:`.
    Guid::from_u128(Uuid::new_v5(&namespace, format!("v1:{name}").as_bytes()).as_u128())
}

struct CountersetBuilder<'a> {
    names: &'a TitleNames,
    catalogue_set: Option<&'static Counterset>,
    used_ids: BTreeSet<CounterId>,
    counters: Vec<Counter>,
    columns: Vec<CounterLocation>,
    keys: DefinitionKeys,
}

impl CountersetBuilder<'_> {
    fn add_all(&mut self, object: &Object<'_>) {
        let definitions = object.definitions();
        let all: Vec<_> = definitions.iter().collect();
        let mut behind = Vec::new();
        for (position, definition) in all.iter().enumerate() {
            let before = position.checked_sub(1).and_then(|before| all.get(before));
            let is_divisor = before.is_some_and(|before| before.is_followed_by_base(definition));
            self.add(definition, position, is_divisor);
            let next = position.checked_add(1).and_then(|next| all.get(next));
            let is_multi = definition.counter_type().decode().multi && definition.counter_type().needs_base();
            if is_multi && !next.is_some_and(|next| definition.is_followed_by_base(next)) {
                behind.push(position);
            }
        }
        // After all definitions, so that until then a counter has the position of its definition.
        for position in behind {
            self.add_items_behind(position);
        }
    }

    fn add(&mut self, definition: &Definition<'_>, position: usize, is_divisor: bool) {
        let name = self.names.get(definition.name_index()).map(title);
        let name = name.as_deref();
        let counter_type = definition.counter_type();
        let number = u32::try_from(position).unwrap_or(u32::MAX);
        // A base has the title index of its numerator, so it is found through the numerator and not by its
        // name.
        let like = match (is_divisor, self.counters.last()) {
            (true, Some(numerator)) => self.known_divisor(numerator.id),
            _ => name.and_then(|name| self.known_counter(name)),
        };
        let id = match (self.catalogue_set, like) {
            (_, Some(counter)) => counter.id,
            (Some(_), None) => CounterId(number.saturating_add(UNKNOWN_IDS)),
            (None, None) => CounterId(number),
        };
        self.used_ids.insert(id);
        if is_divisor {
            if let Some(numerator) = self.counters.last_mut() {
                match numerator.counter_type.decode().multi {
                    true => numerator.multi = Some(id),
                    false => numerator.base = Some(id),
                }
            }
        }
        let attributes =
            if is_hidden(counter_type) { Attributes::NO_DISPLAYABLE } else { Attributes::default() };
        // A base has the title index of its numerator, and would get the same name.
        let own_name = name.filter(|_| !is_base(definition));
        let mut counter = Counter::new(id, counter_type)
            .help(like.map(|counter| counter.help.clone()).unwrap_or_default())
            .attributes(attributes)
            .detail(definition.detail())
            .default_scale(definition.default_scale())
            .unit(unit_of(counter_type, like))
            // Only the catalogue says that a counter wraps (F-9). A type does not.
            .wraps(like.is_some_and(|counter| counter.wraps))
            .caps(like.is_some_and(|counter| counter.caps))
            .source("V1 block")
            .v1_index(definition.name_index());
        counter.name = match own_name {
            Some(name) => Some(name.to_owned().into()),
            None if is_base(definition) => None,
            None => Some(format!("#{}", definition.name_index()).into()),
        };
        self.counters.push(counter);
        let (by_type, by_index) = self.keys.next(definition.name_index(), counter_type);
        self.columns.push(CounterLocation { by_type, by_index, counter_type, kind: LocationKind::Value });
    }

    fn add_items_behind(&mut self, position: usize) {
        let number = u32::try_from(position).unwrap_or(u32::MAX);
        let id = CounterId(number.saturating_add(ITEMS_IDS));
        let Some(numerator) = self.counters.get_mut(position) else { return };
        numerator.multi = Some(id);
        let counter_type = CounterType::PERF_COUNTER_RAWCOUNT;
        let mut items = numerator.clone().name("").hidden().multi(None).wraps(false).caps(false);
        (items.id, items.counter_type) = (id, counter_type);
        let Some(column) = self.columns.get(position).copied() else { return };
        self.counters.push(items);
        self.columns.push(CounterLocation { kind: LocationKind::ItemsBehind, ..column });
    }

    /// Returns the catalogue's counter of that name, if its id is not in use yet.
    fn known_counter(&self, name: &str) -> Option<&'static Counter> {
        let counter =
            self.catalogue_set?.counters.iter().find(|counter| counter.name.as_deref() == Some(name))?;
        (!self.used_ids.contains(&counter.id)).then_some(counter)
    }

    fn known_divisor(&self, numerator: CounterId) -> Option<&'static Counter> {
        let set = self.catalogue_set?;
        let divisor = set.counter(set.counter(numerator)?.divisor()?)?;
        (!self.used_ids.contains(&divisor.id)).then_some(divisor)
    }
}

fn is_base(definition: &Definition<'_>) -> bool {
    definition.counter_type().is_base()
}

/// Returns `true` for counter types of bases, and for types that must not be displayed; averages are an exception.
fn is_hidden(counter_type: CounterType) -> bool {
    let is_average = counter_type.meaning() == CounterType::PERF_AVERAGE_BULK.meaning();
    counter_type.is_base() || (counter_type.decode().display == Display::NoShow && !is_average)
}

/// Returns the unit of the catalogue's counter `like` if its formula is the same, else the unit that the counter type
/// implies.
#[must_use]
pub fn unit_of(counter_type: CounterType, like: Option<&Counter>) -> Text {
    let alike = like.filter(|counter| counter.counter_type.meaning() == counter_type.meaning());
    match (alike, counter_type.decode().display) {
        (Some(counter), _) => counter.unit.clone(),
        (None, Display::PerSec) => "/s".into(),
        (None, Display::Percent) => "%".into(),
        (None, Display::Seconds) => "s".into(),
        (None, _) => Text::default(),
    }
}

/// Returns the columns of elapsed time and id, which together make a birth, if a V1 object has both.
fn birth(counters: &[Counter], columns: &[CounterLocation]) -> Option<(usize, usize)> {
    let is_start =
        |counter: &Counter| counter.counter_type.decode().kind == ValueKind::Counter(CounterKind::Elapsed);
    let is_id = |(counter, column): (&Counter, &CounterLocation)| {
        let is_number = counter.counter_type.decode().kind == ValueKind::Number(NumberKind::Decimal);
        let is_named = counter.name.as_deref().is_some_and(|name| name.starts_with("ID "));
        is_number && (is_named || ID_INDEXES.contains(&column.by_index.0))
    };
    let start = counters.iter().position(is_start)?;
    let id = counters.iter().zip(columns).position(is_id)?;
    Some((start, id))
}
