//! V1 objects as countersets, built from the blocks seen so far.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::sample::Clocks;
use perfset_core::v1::{Contents, Definition, Instance as V1Instance, Object, TitleNames, Values, read};
use perfset_core::v2::{BlockValue, PERF_MAX_INSTANCE_NAME};
use perfset_core::visit::Mode;
use perfset_core::wire::WireError;
use perfset_core::{
    Birth, CounterId, CounterType, Counterset, Guid, InstanceId, NoValue, ProviderIdentity, RawValue, Utf16,
};

use super::object_counterset::{
    CounterLocation, DefinitionKeys, IndexKey, LocationKind, ObjectCounterset, TypeKey, instance_type,
};
use crate::error::SourceError;
use crate::provider::{Catalogue, CollectRequest};
use crate::rows::Rows;

/// Countersets of one machine's V1 blocks: the data of a provider that plays such blocks.
#[derive(Debug, Default)]
pub struct ObjectSets {
    sets: Vec<ObjectCounterset>,
    by_guid: HashMap<Guid, usize>,
    by_index: HashMap<u32, usize>,
    /// Name of the machine of the blocks; `None` before the first block.
    machine: Option<String>,
}

/// Recorded V1 block with the offsets of its objects.
#[derive(Debug)]
pub struct Recording {
    bytes: Vec<u8>,
    clocks: ClockReading,
    /// Offset of each object in the V1 block, by title index.
    objects: HashMap<u32, usize>,
    /// Instance names of parent objects in the V1 block, by title index. Each list is read once, when it is first
    /// needed.
    parents: Mutex<HashMap<u32, Arc<[Utf16]>>>,
}

/// Problem of a V1 block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectProblem {
    /// The V1 block breaks a rule and was read leniently; data that could not be read is missing.
    #[error(transparent)]
    Broken(WireError),
    /// Omitted V1 object, because another object has the same title index or name.
    #[error("object with title index {0} is left out: another object has the same title index or name")]
    Repeated(u32),
    /// Omitted V1 object, because it has instances in one block and none in another; it is omitted from the later
    /// block.
    #[error("object with title index {0} is left out: it has instances in one block and none in another")]
    Changed(u32),
    /// The V1 block has more objects or counters than any machine has.
    #[error("object with title index {name_index} is left out: there are more than {MOST} {what}")]
    TooMany {
        /// Title index of the object that has too many counters, or that follows too many objects.
        name_index: u32,
        /// Name of the items that are too many: objects or counters.
        what: &'static str,
    },
    /// The V1 block is from another machine than the earlier blocks, and is omitted.
    #[error("the block is left out: its machine \"{0}\" is not that of the earlier blocks")]
    OtherMachine(String),
}

/// Maximum number of objects in a V1 block, and of counters in an object. It is far above that of any machine, and low
/// enough that quadratic costs are negligible.
const MOST: usize = 4_096;

impl ObjectSets {
    /// Adds the objects of the next V1 block, oldest first, and their names in `names`. Also returns the problems of
    /// the block.
    ///
    /// # Errors
    /// If the block cannot be read; in strict mode also if it breaks a rule.
    pub fn add(
        &mut self,
        bytes: Vec<u8>,
        names: &TitleNames,
        mode: Mode,
    ) -> Result<(Recording, Vec<ObjectProblem>), WireError> {
        let (block, forgiven) = read(&bytes, mode)?;
        let mut troubles: Vec<_> = forgiven.into_iter().map(ObjectProblem::Broken).collect();
        let name = block.system_name().to_string();
        let machine = self.machine.get_or_insert_with(|| name.clone());
        let is_other = name != *machine;
        let provider = ProviderIdentity { guid: Guid::NIL, name: machine.clone().into() };
        if is_other {
            troubles.push(ObjectProblem::OtherMachine(name));
        }
        let mut objects = HashMap::new();
        for object in block.objects().flatten().take_while(|_| !is_other) {
            let name_index = object.name_index();
            let taken = match objects.contains_key(&name_index) {
                true => Err(ObjectProblem::Repeated(name_index)),
                false => self.take(&object, names, &provider),
            };
            match taken {
                Ok(whole) => {
                    objects.insert(name_index, object.offset());
                    troubles.extend(whole.err());
                }
                Err(trouble) => troubles.push(trouble),
            }
        }
        troubles.truncate(MOST); // a stranger's block may have any number
        // SystemTime is the local time in blocks recorded by Windows: only PerfTime100nSec is UTC everywhere.
        let clocks = block.clocks();
        let clocks = ClockReading { system_time: SystemTime::from_100ns(clocks.time_100ns), ..clocks };
        Ok((Recording { bytes, clocks, objects, parents: Mutex::default() }, troubles))
    }

    /// Adds one V1 object, possibly without some of its counters, or omits it.
    fn take(
        &mut self,
        object: &Object<'_>,
        names: &TitleNames,
        provider: &ProviderIdentity,
    ) -> Result<Result<(), ObjectProblem>, ObjectProblem> {
        let name_index = object.name_index();
        let too_many = |what| ObjectProblem::TooMany { name_index, what };
        let is_full = self.sets.len() >= MOST;
        let known = self.by_index.get(&name_index).and_then(|at| self.sets.get_mut(*at));
        if known.is_none() && is_full {
            return Err(too_many("objects"));
        }
        if object.definitions().len() > MOST {
            return Err(too_many("counters"));
        }
        match known {
            Some(born) if born.set.instance_type != instance_type(object) => {
                return Err(ObjectProblem::Changed(name_index));
            }
            Some(born) if born.is_like(object) => {}
            Some(born) => {
                if !born.extend(ObjectCounterset::new(object, names, provider), MOST) {
                    return Ok(Err(too_many("counters")));
                }
            }
            None => {
                let born = ObjectCounterset::new(object, names, provider);
                if self.by_guid.contains_key(&born.set.guid) {
                    return Err(ObjectProblem::Repeated(name_index));
                }
                self.by_guid.insert(born.set.guid, self.sets.len());
                self.by_index.insert(name_index, self.sets.len());
                self.sets.push(born);
            }
        }
        Ok(Ok(()))
    }

    /// Returns the GUIDs of the countersets made of V1 objects, in the order in which they were added.
    pub fn guids(&self) -> impl Iterator<Item = Guid> {
        self.sets.iter().map(|born| born.set.guid)
    }

    /// Returns the counterset with that GUID, made of a V1 object.
    #[must_use]
    pub fn counterset(&self, guid: &Guid) -> Option<&Arc<Counterset>> {
        self.sets.get(*self.by_guid.get(guid)?).map(|born| &born.set)
    }

    /// Returns the catalogue of the countersets that were made of V1 objects.
    #[must_use]
    pub fn catalogue(&self) -> Catalogue {
        let countersets = self.sets.iter().map(|born| Arc::clone(&born.set)).collect();
        Catalogue { origin: self.machine.clone().unwrap_or_default().into(), countersets }
    }

    /// Adds names and ids of the instances that a counterset has in a V1 block.
    ///
    /// # Errors
    /// If the counterset is not an object of these blocks, or this block does not have it.
    pub fn instances(
        &self,
        recording: &Recording,
        counterset: &Guid,
        rows: &mut Rows,
    ) -> Result<(), SourceError> {
        self.object(recording, counterset)?.1.rows(&mut |name, id, _| {
            rows.push_units(name.units().iter().copied(), id, None);
        })
    }

    /// Adds the requested values of a V1 block to the rows of a counterset.
    ///
    /// # Errors
    /// As [`instances`](Self::instances).
    pub fn collect(
        &self,
        recording: &Recording,
        want: &CollectRequest<'_>,
        rows: &mut Rows,
    ) -> Result<(), SourceError> {
        let (born, playing) = self.object(recording, &want.counterset.guid)?;
        let (object_time, object_freq) = playing.object.clock();
        rows.set_clocks(Clocks { object_time, object_freq, ..Clocks::from(&recording.clocks) });
        let definitions = ObjectDefinitions::new(&playing.object);
        let found: Vec<CounterPosition<'_>> =
            want.counters.iter().map(|id| definitions.find(born, *id)).collect();
        let birth = born.birth.and_then(|(start, id)| {
            Some((definitions.column(born.columns.get(start)?), definitions.column(born.columns.get(id)?)))
        });
        playing.rows(&mut |name, id, values| {
            let birth = birth.as_ref().and_then(|(start, id)| birth_of(start, id, values));
            let mut row = rows.push_units(name.units().iter().copied(), id, birth);
            for (column, found) in found.iter().enumerate() {
                match found.value(values) {
                    Ok(value) => row.set_raw(column, value),
                    Err(reason) => row.set_unavailable(column, reason),
                }
            }
        })
    }

    /// Returns the counterset that was made of a V1 object, and that object in a V1 block.
    fn object<'a>(
        &self,
        recording: &'a Recording,
        counterset: &Guid,
    ) -> Result<(&ObjectCounterset, CurrentObject<'a>), SourceError> {
        let born = self.by_guid.get(counterset).and_then(|at| self.sets.get(*at));
        let born = born.ok_or(SourceError::UnknownCounterset(*counterset))?;
        let object = recording.object(born.name_index);
        let object =
            object.ok_or_else(|| SourceError::Failed("this block does not have the object".into()))?;
        Ok((born, CurrentObject { recording, object }))
    }
}

/// Object of the V1 block that is being played.
struct CurrentObject<'a> {
    recording: &'a Recording,
    object: Object<'a>,
}

impl CurrentObject<'_> {
    /// Visits the rows of the V1 object: names, ids, values.
    fn rows(&self, visit: &mut dyn FnMut(&Utf16, InstanceId, Values<'_>)) -> Result<(), SourceError> {
        match self.object.contents() {
            Contents::Single(values) => visit(&Utf16::default(), InstanceId(0), values),
            Contents::Metadata { .. } => {
                return Err(SourceError::Failed("this block has the definitions only".into()));
            }
            Contents::Multiple(instances) => {
                let parents = self.recording;
                let mut seen: HashMap<Utf16, u32> = HashMap::new();
                for instance in instances.flatten() {
                    let name = parents.full_name(&instance);
                    let occurrence = seen.entry(name.clone()).or_default();
                    // A UniqueID is a number of 4 bytes, regardless of its sign.
                    let unique_id = instance.unique_id().map(|id| u32::from_le_bytes(id.to_le_bytes()));
                    visit(&name, InstanceId(unique_id.unwrap_or(*occurrence)), instance.values());
                    *occurrence = occurrence.saturating_add(1);
                }
            }
        }
        Ok(())
    }
}

/// Counter definitions of a V1 object, by each of their two keys.
struct ObjectDefinitions<'a> {
    by_type: HashMap<TypeKey, Definition<'a>>,
    by_index: HashMap<IndexKey, Definition<'a>>,
}

impl<'a> ObjectDefinitions<'a> {
    fn new(object: &Object<'a>) -> Self {
        let mut keys = DefinitionKeys::default();
        let mut all = Self { by_type: HashMap::new(), by_index: HashMap::new() };
        for definition in object.definitions().iter() {
            let (by_type, by_index) = keys.next(definition.name_index(), definition.counter_type());
            all.by_type.insert(by_type, definition);
            all.by_index.insert(by_index, definition);
        }
        all
    }

    /// Finds the position of a counterset's counter in this V1 block.
    fn find(&self, born: &ObjectCounterset, id: CounterId) -> CounterPosition<'a> {
        let column = born.set.counters.iter().position(|counter| counter.id == id);
        column
            .and_then(|at| born.columns.get(at))
            .map_or(CounterPosition::Nowhere, |column| self.column(column))
    }

    /// Finds the counter definition of a column by type, or by title index if no definition of that type matches.
    fn column(&self, column: &CounterLocation) -> CounterPosition<'a> {
        let same = self.by_type.get(&column.by_type).or_else(|| self.by_index.get(&column.by_index));
        match same {
            None => CounterPosition::Nowhere,
            Some(now) if now.counter_type() != column.counter_type => {
                CounterPosition::Changed { from: column.counter_type, to: now.counter_type() }
            }
            Some(now) => CounterPosition::At(*now, column.kind),
        }
    }
}

/// Position of a counter in a V1 block.
enum CounterPosition<'a> {
    At(Definition<'a>, LocationKind),
    /// The counter type in the V1 block differs from the registered counter type.
    Changed {
        from: CounterType,
        to: CounterType,
    },
    Nowhere,
}

impl CounterPosition<'_> {
    fn value(&self, values: Values<'_>) -> Result<RawValue, NoValue> {
        match self {
            Self::At(definition, LocationKind::Value) => match values.value_of(definition) {
                BlockValue::U32(value) => Ok(RawValue::U32(value)),
                BlockValue::U64(value) => Ok(RawValue::U64(value)),
                BlockValue::Other(_) => Err(NoValue::NotDisplayable),
                BlockValue::Empty => {
                    let at = definition.offset();
                    let why = format!(
                        "PERF_COUNTER_DEFINITION at byte {at}: its value is outside the counter block (R23)"
                    );
                    Err(NoValue::Failed(why.into()))
                }
            },
            Self::At(definition, LocationKind::ItemsBehind) => {
                values.items_behind(definition).map(RawValue::U32).ok_or(NoValue::NotGiven)
            }
            Self::Changed { from, to } => Err(NoValue::TypeChanged { from: *from, to: *to }),
            Self::Nowhere => Err(NoValue::NotGiven),
        }
    }
}

/// Returns the start time of an instance in a V1 block; `None` if its id is 0. Totals have that id, and so do
/// processes that begin or end.
fn birth_of(start: &CounterPosition<'_>, id: &CounterPosition<'_>, values: Values<'_>) -> Birth {
    let id = id.value(values).ok()?.get();
    NonZeroU64::new(start.value(values).ok()?.get()).filter(|_| id != 0)
}

impl Recording {
    /// Returns the clock readings at the time of the V1 block.
    #[must_use]
    pub fn clocks(&self) -> ClockReading {
        self.clocks
    }

    /// Returns the size of the V1 block in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a block has at least its header")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes of the V1 block, to reuse the memory for the next block.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn object(&self, name_index: u32) -> Option<Object<'_>> {
        Object::starting_at(&self.bytes, *self.objects.get(&name_index)?)
    }

    /// Returns an instance name `parent/child`, or the child alone if its parent is not in the block; cut to the
    /// maximum length of a name.
    fn full_name(&self, instance: &V1Instance<'_>) -> Utf16 {
        let own = instance.name().to_utf16();
        let parents = instance.parent().map(|parent| (self.parents(parent.object), parent.position));
        let parent = parents.as_ref().and_then(|(names, at)| names.get(usize::try_from(*at).ok()?));
        let most = PERF_MAX_INSTANCE_NAME.saturating_sub(1);
        let slash = u16::from(b'/');
        let units: Vec<u16> = match parent {
            Some(parent) => {
                parent.units().iter().chain([&slash]).chain(own.units()).copied().take(most).collect()
            }
            None if own.len() > most => own.units().iter().copied().take(most).collect(),
            None => return own,
        };
        Utf16::from(units.as_slice())
    }

    /// Returns the names of a V1 object's instances; none if the object is not in the block.
    fn parents(&self, name_index: u32) -> Arc<[Utf16]> {
        let mut parents = self.parents.lock().unwrap_or_else(PoisonError::into_inner);
        let names = parents.entry(name_index).or_insert_with(|| {
            match self.object(name_index).map(|object| object.contents()) {
                Some(Contents::Multiple(instances)) => {
                    instances.flatten().map(|instance| instance.name().to_utf16()).collect()
                }
                _ => [].into(),
            }
        });
        Arc::clone(names)
    }
}
