//! V1 blocks as a source.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::clock::ClockReading;
use perfset_core::sample::Clocks;
use perfset_core::v1::{Contents, Definition, Instance as V1Instance, Names, Object, Values, read};
use perfset_core::v2::{PERF_MAX_INSTANCE_NAME, Value};
use perfset_core::walk::Mode;
use perfset_core::wire::WireError;
use perfset_core::{
    Birth, CounterId, CounterType, Guid, Instance, InstanceId, NoValue, ProviderIdentity, RawValue, Status,
    Utf16,
};

use super::born::{Born, Column, IndexKey, Keys, Place, TypeKey, instance_type};
use super::titles::windows_names;
use crate::clock::Clock;
use crate::entry::Entry;
use crate::error::SourceError;
use crate::machine::Machine;
use crate::provider::{Catalogue, Provider, Want};
use crate::query::Query;
use crate::registration::{RegInfo, RegRequest};
use crate::rows::Rows;
use crate::snapshot::{EntryInfo, Snapshot};
use crate::source::{Next, QueryHandle, Source};

/// Blocks of one machine, the older first, as a source with a past: each step of a query is the next block.
///
/// An object is a counterset. One that the catalogue knows by its name has the catalogue's GUID, and its counters the
/// catalogue's ids; any other has the GUID that its name gives (UUID version 5), and its counters' ids are their
/// positions. An instance's name is `parent/child`; its id is its UniqueID, else which of that name it is; where an
/// object has elapsed times and an id counter, the start time is its birth.
///
/// ```
/// use perfset_core::walk::Mode;
/// use perfset_engine::{path::PathQuery, v1::Blocks};
/// # use perfset_core::{v1::*, CounterType, clock::ClockReading};
/// # let mut builder = BlockBuilder::new(&ClockReading::default(), "HOST");
/// # builder.single(&NewObject::new(4), &[NewCounter::new(24, CounterType::PERF_COUNTER_LARGE_RAWCOUNT)], [7]);
/// # let bytes = builder.finish()?;
///
/// let (mut blocks, problems) = Blocks::new(vec![bytes], None, Mode::Strict)?;
/// assert!(problems.is_empty());
/// let mut query = PathQuery::open(&mut blocks)?;
/// query.add(&mut blocks, &r"\Memory\Available Bytes".parse()?)?;
/// query.collect()?;
/// assert_eq!(query.values()[0].value.value.clone()?.raw, 7.0);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocks {
    recorded: Arc<Recorded>,
    /// Answers what does not depend on the block.
    machine: Machine,
}

#[derive(Debug)]
struct Recorded {
    blocks: Vec<Recording>,
    sets: Vec<Born>,
    by_guid: HashMap<Guid, usize>,
    catalogue: Arc<Catalogue>,
}

#[derive(Debug)]
struct Recording {
    bytes: Vec<u8>,
    clocks: ClockReading,
    /// Where each object is, by title index.
    objects: HashMap<u32, usize>,
    /// Names of the instances of objects that others belong to: read once, on first need.
    parents: Mutex<HashMap<u32, Arc<[Utf16]>>>,
}

/// Something that is not taken over from a block, or that is strange about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Problem {
    /// Which block, from 0.
    pub block: usize,
    /// What it is.
    pub what: Trouble,
}

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// A rule that lenient reading forgave; what could not be read for it is not there.
    #[error(transparent)]
    Broken(WireError),
    /// A second object with a title index or a name: left out.
    #[error("object {0} is left out: another one has its title index or its name")]
    Repeated(u32),
    /// An object that has instances in one block and none in another: left out of the later one.
    #[error("object {0} is left out: it has instances in one block and none in another")]
    Changed(u32),
    /// More of something than any machine has.
    #[error("object {name_index} is left out: more than {MOST} {what}")]
    TooMany {
        /// The object's title index.
        name_index: u32,
        /// Of what.
        what: &'static str,
    },
    /// Blocks of two machines have nothing to do with each other.
    #[error("it is left out: it is of the machine \"{0}\", not of that of the blocks before it")]
    OtherMachine(String),
}

/// Objects in a block, and counters in an object: far more than any machine has, and few enough that what costs their
/// square costs nothing.
const MOST: usize = 4_096;

impl Blocks {
    /// Takes blocks of one machine, the older first, and the table of their names; without one the names are those that
    /// Windows has everywhere and the catalogue knows, and `#` and the index for others.
    ///
    /// # Errors
    /// If a block cannot be read; in strict mode also if it breaks a rule.
    pub fn new(
        blocks: Vec<Vec<u8>>,
        names: Option<&Names>,
        mode: Mode,
    ) -> Result<(Self, Vec<Problem>), Problem> {
        let built_in = names.is_none().then(windows_names);
        let names = names.or(built_in.as_ref());
        let mut taken = Taken::default();
        for bytes in blocks {
            let block = taken.blocks.len();
            let refused = |error| Problem { block, what: Trouble::Broken(error) };
            taken.add(bytes, names, mode).map_err(refused)?;
        }
        let Taken { blocks, sets, by_guid, problems, machine, .. } = taken;
        let countersets = sets.iter().map(|born| Arc::clone(&born.set)).collect();
        let catalogue = Arc::new(Catalogue { origin: machine.into(), countersets });
        let recorded = Arc::new(Recorded { blocks, sets, by_guid, catalogue });
        let newest = recorded.blocks.len().saturating_sub(1);
        let (machine, _) = Player::machine(&recorded, newest);
        Ok((Self { recorded, machine }, problems))
    }

    /// Its countersets and what they are called by people.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }
}

/// What has been taken from blocks so far.
#[derive(Default)]
struct Taken {
    blocks: Vec<Recording>,
    sets: Vec<Born>,
    by_guid: HashMap<Guid, usize>,
    by_index: HashMap<u32, usize>,
    problems: Vec<Problem>,
    /// Whose blocks they are.
    machine: String,
}

impl Taken {
    fn add(&mut self, bytes: Vec<u8>, names: Option<&Names>, mode: Mode) -> Result<(), WireError> {
        let number = self.blocks.len();
        let unnamed = Names::default();
        let (block, forgiven) = read(&bytes, mode)?;
        let mut problems: Vec<_> = forgiven.into_iter().map(Trouble::Broken).collect();
        let machine = block.system_name().to_string();
        if number == 0 {
            self.machine = machine;
        } else if machine != self.machine {
            problems.push(Trouble::OtherMachine(machine));
        }
        let provider = ProviderIdentity { guid: Guid::NIL, name: self.machine.clone().into() };
        let is_other = problems.iter().any(|problem| matches!(problem, Trouble::OtherMachine(_)));
        let mut objects = HashMap::new();
        for object in block.objects().flatten().take_while(|_| !is_other) {
            let name_index = object.name_index();
            if objects.contains_key(&name_index) {
                problems.push(Trouble::Repeated(name_index));
                continue;
            }
            let is_full = self.sets.len() >= MOST;
            let known = self.by_index.get(&name_index).and_then(|at| self.sets.get_mut(*at));
            if known.is_none() && is_full {
                problems.push(Trouble::TooMany { name_index, what: "objects" });
                continue;
            }
            if object.definitions().len() > MOST {
                problems.push(Trouble::TooMany { name_index, what: "counters" });
                continue;
            }
            match known {
                Some(born) if born.set.instance_type != instance_type(&object) => {
                    problems.push(Trouble::Changed(name_index));
                    continue;
                }
                Some(born) => {
                    if !born.extend(Born::new(&object, names.unwrap_or(&unnamed), &provider), MOST) {
                        problems.push(Trouble::TooMany { name_index, what: "counters" });
                    }
                }
                None => {
                    let born = Born::new(&object, names.unwrap_or(&unnamed), &provider);
                    if self.by_guid.contains_key(&born.set.guid) {
                        problems.push(Trouble::Repeated(name_index));
                        continue;
                    }
                    self.by_guid.insert(born.set.guid, self.sets.len());
                    self.by_index.insert(name_index, self.sets.len());
                    self.sets.push(born);
                }
            }
            objects.insert(name_index, object.at());
        }
        problems.truncate(MOST); // a stranger's block may have any number
        self.problems.extend(problems.into_iter().map(|what| Problem { block: number, what }));
        let clocks = block.clocks();
        self.blocks.push(Recording { bytes, clocks, objects, parents: Mutex::default() });
        Ok(())
    }
}

impl Source for Blocks {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(self.machine.countersets())
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.machine.registration(counterset, request)
    }

    /// Those of the newest block.
    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.machine.instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        let (machine, current) = Player::machine(&self.recorded, 0);
        let query = machine.query();
        Ok(Box::new(Replay { recorded: Arc::clone(&self.recorded), current, next: 0, query }))
    }
}

/// A query over blocks.
#[derive(Debug)]
struct Replay {
    recorded: Arc<Recorded>,
    /// The block that its machine plays.
    current: Arc<AtomicUsize>,
    next: usize,
    query: Query,
}

impl QueryHandle for Replay {
    fn add(&mut self, entry: &Entry) -> Status {
        self.query.add(entry)
    }

    fn delete(&mut self, entry: &Entry) -> Status {
        self.query.delete(entry)
    }

    fn info(&mut self) -> Arc<[EntryInfo]> {
        self.query.infos()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<Next, SourceError> {
        if self.next >= self.recorded.blocks.len() {
            return Ok(Next::End);
        }
        self.current.store(self.next, Relaxed);
        self.query.collect(snapshot)?;
        self.next = self.next.saturating_add(1);
        Ok(Next::Sample)
    }
}

/// Plays one block: the clock and the provider of a machine that stands still.
#[derive(Clone, Debug)]
struct Player {
    recorded: Arc<Recorded>,
    current: Arc<AtomicUsize>,
}

impl Player {
    /// A machine that plays that block, and what says which one it plays.
    fn machine(recorded: &Arc<Recorded>, block: usize) -> (Machine, Arc<AtomicUsize>) {
        let current = Arc::new(AtomicUsize::new(block));
        let player = Self { recorded: Arc::clone(recorded), current: Arc::clone(&current) };
        let machine = Machine::bare(Box::new(player.clone()));
        machine.register(Box::new(player));
        (machine, current)
    }

    fn recording(&self) -> Result<&Recording, SourceError> {
        let current = self.current.load(Relaxed);
        self.recorded.blocks.get(current).ok_or(SourceError::Failed("there is no block".into()))
    }

    fn born(&self, counterset: &Guid) -> Result<&Born, SourceError> {
        let at = self.recorded.by_guid.get(counterset);
        let born = at.and_then(|at| self.recorded.sets.get(*at));
        born.ok_or(SourceError::UnknownCounterset(*counterset))
    }

    /// The object of a counterset in the current block.
    fn object(&self, born: &Born) -> Result<Playing<'_>, SourceError> {
        let recording = self.recording()?;
        let object = recording.object(born.name_index);
        let object =
            object.ok_or_else(|| SourceError::Failed("this block does not have the object".into()))?;
        Ok(Playing { recording, object })
    }
}

/// An object of the current block.
struct Playing<'a> {
    recording: &'a Recording,
    object: Object<'a>,
}

impl Playing<'_> {
    /// Visits its rows: names, ids, values.
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
                    // A UniqueID is a number of 4 bytes, whatever its sign.
                    let unique_id = instance.unique_id().map(|id| u32::from_le_bytes(id.to_le_bytes()));
                    visit(&name, InstanceId(unique_id.unwrap_or(*occurrence)), instance.values());
                    *occurrence = occurrence.saturating_add(1);
                }
            }
        }
        Ok(())
    }
}

impl Clock for Player {
    fn read(&mut self) -> ClockReading {
        self.recording().map(|recording| recording.clocks).unwrap_or_default()
    }
}

impl Provider for Player {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.recorded.catalogue))
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.object(self.born(counterset)?)?.rows(&mut |name, id, _| {
            rows.push_units(name.units().iter().copied(), id, None);
        })
    }

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let born = self.born(&want.counterset.guid)?;
        let playing = self.object(born)?;
        let (object_time, object_freq) = playing.object.clock();
        rows.set_clocks(Clocks { object_time, object_freq, ..Clocks::from(&playing.recording.clocks) });
        let definitions = Definitions::of(&playing.object);
        let found: Vec<Found<'_>> = want.counters.iter().map(|id| definitions.find(born, *id)).collect();
        let birth = born.birth.and_then(|(start, id)| {
            Some((definitions.column(born.columns.get(start)?), definitions.column(born.columns.get(id)?)))
        });
        playing.rows(&mut |name, id, values| {
            let birth = birth.as_ref().and_then(|(start, id)| birth_of(start, id, values));
            let mut row = rows.push_units(name.units().iter().copied(), id, birth);
            for (column, found) in found.iter().enumerate() {
                match found.value(values) {
                    Ok(value) => row.set_raw(column, value),
                    Err(reason) => row.none(column, reason),
                }
            }
        })
    }
}

/// The definitions of an object by both of their keys.
struct Definitions<'a> {
    by_type: HashMap<TypeKey, Definition<'a>>,
    by_index: HashMap<IndexKey, Definition<'a>>,
}

impl<'a> Definitions<'a> {
    fn of(object: &Object<'a>) -> Self {
        let mut keys = Keys::default();
        let mut all = Self { by_type: HashMap::new(), by_index: HashMap::new() };
        for definition in object.definitions().iter() {
            let (by_type, by_index) = keys.next(definition.name_index(), definition.counter_type());
            all.by_type.insert(by_type, definition);
            all.by_index.insert(by_index, definition);
        }
        all
    }

    /// Where a counter is in this block.
    fn find(&self, born: &Born, id: CounterId) -> Found<'a> {
        let column = born.set.counters.iter().position(|counter| counter.id == id);
        column.and_then(|at| born.columns.get(at)).map_or(Found::Nowhere, |column| self.column(column))
    }

    /// Wherever its title index is now: the same of those that have it, and its type if any has that.
    fn column(&self, column: &Column) -> Found<'a> {
        let same = self.by_type.get(&column.by_type).or_else(|| self.by_index.get(&column.by_index));
        match same {
            None => Found::Nowhere,
            Some(now) if now.counter_type() != column.counter_type => {
                Found::Changed { from: column.counter_type, to: now.counter_type() }
            }
            Some(now) => Found::At(*now, column.place),
        }
    }
}

/// Where a counter is in a block.
enum Found<'a> {
    At(Definition<'a>, Place),
    /// Its type is another than it was registered with.
    Changed {
        from: CounterType,
        to: CounterType,
    },
    Nowhere,
}

impl Found<'_> {
    fn value(&self, values: Values<'_>) -> Result<RawValue, NoValue> {
        match self {
            Self::At(definition, Place::Value) => match values.value_of(definition) {
                Value::U32(value) => Ok(RawValue::U32(value)),
                Value::U64(value) => Ok(RawValue::U64(value)),
                Value::Other(_) => Err(NoValue::NotDisplayable),
                Value::Empty => Err(NoValue::Failed("the counter block has no such value (R23)".into())),
            },
            Self::At(definition, Place::ItemsBehind) => {
                values.items_behind(definition).map(RawValue::U32).ok_or(NoValue::NotGiven)
            }
            Self::Changed { from, to } => Err(NoValue::TypeChanged { from: *from, to: *to }),
            Self::Nowhere => Err(NoValue::NotGiven),
        }
    }
}

/// When an instance began. A number of 0 stands for totals, and for things that begin or end.
fn birth_of(start: &Found<'_>, id: &Found<'_>, values: Values<'_>) -> Birth {
    let id = id.value(values).ok()?.get();
    NonZeroU64::new(start.value(values).ok()?.get()).filter(|_| id != 0)
}

impl Recording {
    fn object(&self, name_index: u32) -> Option<Object<'_>> {
        Object::starting_at(&self.bytes, *self.objects.get(&name_index)?)
    }

    /// `parent/child`, or the child alone if its parent is not in the block; cut to the length that a name may have.
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

    /// The names of an object's instances; none of one that is not in the block.
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
