//! Provider of the objects of HKEY_PERFORMANCE_DATA (PerfLib V1).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset_core::v1::{DataBlock, NameTable, TitleNames};
use perfset_core::visit::Mode;
use perfset_core::wire::WireError;
use perfset_core::{Counterset, Guid, Language, Status, Text, Translation};
use perfset_engine::v1::{ObjectSets, Recording, windows_names};
use perfset_engine::{Catalogue, Change, CollectRequest, Entry, Provider, Rows, SourceError};

use crate::buffer::value;
use crate::functions::PerformanceKey;
use crate::shared::V2Guids;

/// Time for which a list of V1 objects is valid: a new list requires the data of every provider of the machine.
const PAUSE: Duration = Duration::from_secs(300);
/// Time to wait after an incomplete list of V1 objects; each further incomplete list doubles the time.
const RETRY: Duration = Duration::from_secs(10);

/// Provider of the objects that the performance key has, except those of V2's countersets.
///
/// The list contains the objects of `Global`; `Costly` is read only if costly objects are requested. A collection
/// reads one object. The key is closed when no query uses an object any more.
#[derive(Debug)]
pub struct V1Provider {
    key: Arc<dyn PerformanceKey>,
    language: Language,
    is_costly: bool,
    registered: V2Guids,
    objects: ObjectSets,
    texts: Texts,
    /// Time until which the list of V1 objects is valid, and the revision of V2's countersets in it.
    listed: Option<(Instant, u64)>,
    /// Time for which the next list of V1 objects is valid if it is incomplete.
    retry: Duration,
    /// Catalogue from the last list of V1 objects that could be read.
    catalogue: Result<Arc<Catalogue>, SourceError>,
    /// Problems of each value of the performance key when it was last read: unusable parts and the reasons.
    troubles: BTreeMap<String, Vec<Text>>,
    /// Buffer of the last V1 block, reused by the next.
    buffer: Vec<u8>,
    /// Number of query entries for V1 objects.
    entries: usize,
}

/// Tables of V1 names and help texts.
#[derive(Debug, Default)]
struct Texts {
    names: TitleNames,
    helps: TitleNames,
    /// Names of V1 counters in the user's language; empty if that is English.
    own_names: TitleNames,
    own_helps: TitleNames,
    /// Title index of each help text, by object and counter. It is mostly the index of the name plus 1. An object
    /// itself has no counter.
    help_indexes: HashMap<(u32, Option<u32>), u32>,
}

impl V1Provider {
    /// Creates a provider of the performance key's objects, with names in English and in this language.
    #[must_use]
    pub fn new(
        key: Arc<dyn PerformanceKey>,
        language: Language,
        is_costly: bool,
        registered: V2Guids,
    ) -> Self {
        Self {
            key,
            language,
            is_costly,
            registered,
            objects: ObjectSets::default(),
            texts: Texts { names: windows_names(), ..Texts::default() },
            listed: None,
            retry: RETRY,
            catalogue: Err(SourceError::Late),
            troubles: BTreeMap::new(),
            buffer: Vec::new(),
            entries: 0,
        }
    }

    /// Updates the catalogue of V1 objects if it is due or V2's countersets have changed.
    pub fn refresh(&mut self, now: Instant) {
        let revision = self.registered.revision();
        if self.listed.is_some_and(|(until, of)| of == revision && now < until) {
            return;
        }
        let listed = self.list();
        let is_whole = matches!(listed, Ok((_, true)));
        let pause = if is_whole { PAUSE } else { self.retry };
        self.retry = if is_whole { RETRY } else { pause.saturating_mul(2).min(PAUSE) };
        let until = now.max(Instant::now()).checked_add(pause); // it may have taken longer than the pause
        self.listed = until.map(|until| (until, revision));
        match listed {
            Ok((catalogue, _)) if self.catalogue.as_ref().is_ok_and(|before| **before == catalogue) => {}
            Ok((catalogue, _)) => self.catalogue = Ok(Arc::new(catalogue)),
            Err(error) if self.catalogue.is_ok() => {
                self.note("Global", vec![format!("{error}; the objects are those of the last list").into()]);
            }
            Err(error) => self.catalogue = Err(error),
        }
        // An open key keeps the libraries of other vendors loaded in this process.
        if self.entries == 0 {
            self.key.close();
        }
    }

    /// Reads the list of V1 objects. Returns the catalogue, and `true` if all requests for it succeeded.
    fn list(&mut self) -> Result<(Catalogue, bool), SourceError> {
        let global = self.all_objects("Global")?;
        // Before the objects are parsed, because they get their names from these tables.
        let mut is_whole = self.read_texts();
        let mut found = HashSet::new();
        self.take_listed("Global", global, &mut found)?;
        if self.is_costly {
            let costly = self.all_objects("Costly");
            if let Err(error) = costly.and_then(|costly| self.take_listed("Costly", costly, &mut found)) {
                self.note("Costly", vec![error.to_string().into()]);
                is_whole = false;
            }
        }
        let mut catalogue = Catalogue::new("PerfLib V1", Vec::new());
        let guids: Vec<_> = self.objects.guids().collect();
        for set in guids.iter().filter_map(|guid| self.objects.counterset(guid)) {
            // `objects` also contains objects of earlier lists.
            let is_there = set.v1_index.is_some_and(|index| found.contains(&index));
            if is_there && !self.registered.has(set) {
                catalogue.countersets.push(Arc::new(self.texts.dressed(set, self.language)));
            }
        }
        Ok((catalogue, is_whole))
    }

    /// Reads a V1 block of many objects.
    fn all_objects(&mut self, name: &str) -> Result<Vec<u8>, SourceError> {
        let bytes = value(&*self.key, name, std::mem::take(&mut self.buffer))?;
        DataBlock::parse(&bytes).map_err(|error| unreadable(name, &error))?;
        Ok(bytes)
    }

    /// Parses and stores a V1 block of many objects, and adds their title indexes to `found`.
    fn take_listed(
        &mut self,
        name: &str,
        bytes: Vec<u8>,
        found: &mut HashSet<u32>,
    ) -> Result<(), SourceError> {
        if let Ok(block) = DataBlock::parse(&bytes) {
            for object in block.objects().flatten() {
                found.insert(object.name_index());
                self.texts.take_help_indexes(&object);
            }
        }
        self.buffer = self.take(name, bytes)?.into_bytes();
        Ok(())
    }

    /// Parses the block of a value of the performance key. Unusable parts are left out, and noted.
    fn take(&mut self, name: &str, bytes: Vec<u8>) -> Result<Recording, SourceError> {
        let taken = self.objects.add(bytes, &self.texts.names, Mode::Tolerant);
        let (recording, troubles) = taken.map_err(|error| unreadable(name, &error))?;
        let mut troubles: Vec<_> =
            troubles.iter().take(TROUBLES_MOST).map(|trouble| about(name, trouble).into()).collect();
        troubles.dedup();
        self.note(name, troubles);
        Ok(recording)
    }

    /// Notes the current problems of a value of the performance key, in place of those noted before.
    fn note(&mut self, name: &str, troubles: Vec<Text>) {
        if troubles.is_empty() {
            self.troubles.remove(name);
        } else {
            self.troubles.insert(name.to_owned(), troubles);
        }
    }

    /// Reads the tables of V1 names and help texts that are available now. Returns `true` if the English tables are.
    /// Names that every Windows has are known without a table.
    fn read_texts(&mut self) -> bool {
        self.texts.help_indexes.clear();
        let (names, helps) = (self.table("Counter 009"), self.table("Help 009"));
        for (name, table) in [("Counter 009", &names), ("Help 009", &helps)] {
            if let Err(error) = table {
                self.note(name, vec![error.to_string().into()]);
            }
        }
        let is_whole = names.is_ok() && helps.is_ok();
        if let Ok(table) = names {
            let mut names = windows_names();
            for (index, name) in table.iter() {
                names.insert(index, name.to_owned());
            }
            if names != self.texts.names {
                self.texts.names = names;
                self.objects = ObjectSets::default(); // they had the other names
            }
        }
        if let Ok(helps) = helps {
            self.texts.helps = helps;
        }
        if self.language.primary() != Language::ENGLISH.0 {
            let own = language_name(self.language);
            // A missing language has no names, and English stays.
            self.texts.own_names = self.table(&format!("Counter {own}")).unwrap_or_default();
            self.texts.own_helps = self.table(&format!("Help {own}")).unwrap_or_default();
        }
        is_whole
    }

    /// Reads one table of V1 names or help texts. An invalid pair is skipped, and noted.
    fn table(&mut self, name: &str) -> Result<TitleNames, SourceError> {
        let bytes = value(&*self.key, name, Vec::new())?;
        let (names, skipped) = TitleNames::read(NameTable::new(&bytes));
        let count = skipped.len();
        let said =
            skipped.first().map(|first| format!("pairs that are skipped: {count}, the first: {first}"));
        self.note(name, said.iter().map(|said| about(name, said).into()).collect());
        Ok(names)
    }

    /// Reads the V1 object of a counterset.
    fn read(&mut self, counterset: &Guid) -> Result<Recording, SourceError> {
        let set = self.objects.counterset(counterset);
        let index = set.and_then(|set| set.v1_index).ok_or(SourceError::UnknownCounterset(*counterset))?;
        let name = index.to_string();
        let bytes = value(&*self.key, &name, std::mem::take(&mut self.buffer))?;
        self.take(&name, bytes)
    }
}

/// Maximum number of problems stored for a value of the performance key.
const TROUBLES_MOST: usize = 10;

fn unreadable(name: &str, error: &WireError) -> SourceError {
    SourceError::Failed(about(name, error).into())
}

/// Returns a sentence about a value of the performance key.
fn about(name: &str, what: &impl std::fmt::Display) -> String {
    format!("HKEY_PERFORMANCE_DATA \"{name}\": {what}")
}

/// Returns the suffix of the name tables of a language: the number of its primary language, except for Chinese and
/// Portuguese, whose names have the whole number. Source: MS Learn.
pub fn language_name(language: Language) -> String {
    const CHINESE: u32 = 0x04;
    const PORTUGUESE: u32 = 0x16;
    match language.primary() {
        CHINESE | PORTUGUESE => format!("{:03x}", language.0),
        primary => format!("{primary:03x}"),
    }
}

impl Texts {
    fn take_help_indexes(&mut self, object: &perfset_core::v1::Object<'_>) {
        let index = object.name_index();
        self.help_indexes.insert((index, None), object.help_index());
        for definition in object.definitions().iter() {
            self.help_indexes.insert((index, Some(definition.name_index())), definition.help_index());
        }
    }

    /// Returns a counterset with its help texts, the origin of its values, and its names in the user's language.
    fn dressed(&self, set: &Counterset, language: Language) -> Counterset {
        let mut set = set.clone();
        let Some(object) = set.v1_index else { return set };
        let help = |helps: &TitleNames, counter: Option<u32>| -> Text {
            let index = self.help_indexes.get(&(object, counter));
            index.and_then(|index| helps.get(*index)).unwrap_or_default().to_owned().into()
        };
        let of = |texts: &TitleNames, index: Option<u32>| {
            index.and_then(|index| texts.get(index)).map(str::to_owned)
        };
        let source = format!("HKEY_PERFORMANCE_DATA, object {object}");
        let system = |known: &mut Text, own: Text| {
            if !own.is_empty() {
                *known = own;
            }
        };
        system(&mut set.help, help(&self.helps, None));
        for counter in set.counters.to_mut() {
            system(&mut counter.help, help(&self.helps, counter.v1_index));
            counter.source = source.clone().into();
        }
        if let Some(name) = of(&self.own_names, set.v1_index) {
            let translated = |counter: &perfset_core::Counter| {
                let name = of(&self.own_names, counter.v1_index).filter(|_| counter.name.is_some())?;
                Some((counter.id, name.into(), help(&self.own_helps, counter.v1_index)))
            };
            let counters: Vec<_> = set.counters.iter().filter_map(translated).collect();
            let help = help(&self.own_helps, None);
            let translation = Translation { language, name: name.into(), help, counters: counters.into() };
            set.translations = vec![translation].into();
        }
        set
    }
}

impl Provider for V1Provider {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.refresh(Instant::now());
        self.catalogue.clone()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let recording = self.read(counterset)?;
        let done = self.objects.instances(&recording, counterset, rows);
        self.buffer = recording.into_bytes();
        done
    }

    fn entry(&mut self, change: Change, _: &Entry) -> Status {
        self.entries = match change {
            Change::Added => self.entries.saturating_add(1),
            Change::Removed => self.entries.saturating_sub(1),
        };
        if self.entries == 0 {
            self.key.close();
        }
        Status::ERROR_SUCCESS
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let recording = self.read(&want.counterset.guid)?;
        rows.count_bytes_read(recording.len());
        let done = self.objects.collect(&recording, want, rows);
        self.buffer = recording.into_bytes();
        done
    }

    fn problems(&mut self) -> Vec<Text> {
        self.troubles.values().flatten().cloned().collect()
    }
}

impl Drop for V1Provider {
    fn drop(&mut self) {
        self.key.close();
    }
}
