//! Objects of HKEY_PERFORMANCE_DATA, as a provider.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset_core::v1::{DataBlock, NameTable, Names};
use perfset_core::walk::Mode;
use perfset_core::wire::WireError;
use perfset_core::{Counterset, Guid, Language, Status, Text, Translation};
use perfset_engine::v1::{ObjectSets, Recording, windows_names};
use perfset_engine::{Catalogue, Change, Entry, Provider, Rows, SourceError, Want};

use crate::functions::PerformanceKey;
use crate::growing::value;
use crate::shared::Registered;

/// How long a list of objects is taken for true: to make it anew every provider of the machine is asked for everything.
const PAUSE: Duration = Duration::from_secs(300);
/// How long it is waited after one that lacks something, at first; then twice as long each time.
const RETRY: Duration = Duration::from_secs(10);

/// The objects that the performance key has and V2 has not.
///
/// What is listed is what `Global` gives; `Costly` is read only if costly objects are asked for. A collection reads one
/// object. The key is closed when no query asks for an object any more.
#[derive(Debug)]
pub struct V1 {
    key: Arc<dyn PerformanceKey>,
    language: Language,
    is_costly: bool,
    registered: Registered,
    objects: ObjectSets,
    texts: Texts,
    /// Until when the list is taken for true, and what V2 had.
    listed: Option<(Instant, u64)>,
    /// How long that is if the next one lacks something.
    retry: Duration,
    /// The last list that could be had.
    catalogue: Result<Arc<Catalogue>, SourceError>,
    /// What of each value cannot be used, and why, as it was when it was last read.
    troubles: BTreeMap<String, Vec<Text>>,
    /// The last block's, used again by the next.
    buffer: Vec<u8>,
    /// How many entries of queries ask an object.
    entries: usize,
}

/// The name tables.
#[derive(Debug, Default)]
struct Texts {
    names: Names,
    helps: Names,
    /// In the user's language; empty if that is English.
    own_names: Names,
    own_helps: Names,
    /// The index of each help, by object and counter: mostly that of the name and 1. An object itself has no counter.
    help_indexes: HashMap<(u32, Option<u32>), u32>,
}

impl V1 {
    /// A provider of what this key has, with names in English and in this language.
    #[must_use]
    pub fn new(
        key: Arc<dyn PerformanceKey>,
        language: Language,
        is_costly: bool,
        registered: Registered,
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

    /// What there is now, if that is not what it was.
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
        if self.entries == 0 {
            self.key.close();
        }
    }

    /// What there is, and whether all that was asked for it was answered.
    fn list(&mut self) -> Result<(Catalogue, bool), SourceError> {
        let global = self.all_objects("Global")?;
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
        let mut catalogue = Catalogue { origin: "PerfLib V1".into(), countersets: Vec::new() };
        let guids: Vec<_> = self.objects.guids().collect();
        for set in guids.iter().filter_map(|guid| self.objects.counterset(guid)) {
            let is_there = set.v1_index.is_some_and(|index| found.contains(&index));
            if is_there && !self.registered.has(set) {
                catalogue.countersets.push(Arc::new(self.texts.dressed(set, self.language)));
            }
        }
        Ok((catalogue, is_whole))
    }

    /// A block of many objects.
    fn all_objects(&mut self, name: &str) -> Result<Vec<u8>, SourceError> {
        let bytes = value(&*self.key, name, std::mem::take(&mut self.buffer))?;
        DataBlock::parse(&bytes).map_err(|error| unreadable(name, &error))?;
        Ok(bytes)
    }

    /// Takes over such a block: the objects that it has are found.
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

    /// Takes over what the block of a value says. What of it cannot be used is left out, and noted.
    fn take(&mut self, name: &str, bytes: Vec<u8>) -> Result<Recording, SourceError> {
        let taken = self.objects.add(bytes, &self.texts.names, Mode::Tolerant);
        let (recording, troubles) = taken.map_err(|error| unreadable(name, &error))?;
        let mut troubles: Vec<_> =
            troubles.iter().take(TROUBLES_MOST).map(|trouble| about(name, trouble).into()).collect();
        troubles.dedup();
        self.note(name, troubles);
        Ok(recording)
    }

    /// Notes what of a value cannot be used now, in place of what was noted before.
    fn note(&mut self, name: &str, troubles: Vec<Text>) {
        if troubles.is_empty() {
            self.troubles.remove(name);
        } else {
            self.troubles.insert(name.to_owned(), troubles);
        }
    }

    /// The tables of names and helps, as far as they can be had now; whether the English ones can. What every Windows
    /// has is known without a table.
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
            // A language that is not there has no names, and English stays.
            self.texts.own_names = self.table(&format!("Counter {own}")).unwrap_or_default();
            self.texts.own_helps = self.table(&format!("Help {own}")).unwrap_or_default();
        }
        is_whole
    }

    /// One of the tables. A pair that is none is skipped, and noted.
    fn table(&mut self, name: &str) -> Result<Names, SourceError> {
        let bytes = value(&*self.key, name, Vec::new())?;
        let (names, skipped) = Names::read(NameTable::new(&bytes));
        let count = skipped.len();
        let said =
            skipped.first().map(|first| format!("pairs that are skipped: {count}, the first: {first}"));
        self.note(name, said.iter().map(|said| about(name, said).into()).collect());
        Ok(names)
    }

    /// The object of a counterset, as it is now.
    fn read(&mut self, counterset: &Guid) -> Result<Recording, SourceError> {
        let set = self.objects.counterset(counterset);
        let index = set.and_then(|set| set.v1_index).ok_or(SourceError::UnknownCounterset(*counterset))?;
        let name = index.to_string();
        let bytes = value(&*self.key, &name, std::mem::take(&mut self.buffer))?;
        self.take(&name, bytes)
    }
}

/// So many troubles of a value are kept.
const TROUBLES_MOST: usize = 10;

fn unreadable(name: &str, error: &WireError) -> SourceError {
    SourceError::Failed(about(name, error).into())
}

/// What is said of a value.
fn about(name: &str, what: &impl std::fmt::Display) -> String {
    format!("HKEY_PERFORMANCE_DATA \"{name}\": {what}")
}

/// What a table of a language is called: the primary language, but of two the whole number. Source: MS Learn.
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

    /// A counterset with its helps, where its values are from, and its names in the user's language.
    fn dressed(&self, set: &Counterset, language: Language) -> Counterset {
        let mut set = set.clone();
        let Some(object) = set.v1_index else { return set };
        let help = |helps: &Names, counter: Option<u32>| -> Text {
            let index = self.help_indexes.get(&(object, counter));
            index.and_then(|index| helps.get(*index)).unwrap_or_default().to_owned().into()
        };
        let of =
            |texts: &Names, index: Option<u32>| index.and_then(|index| texts.get(index)).map(str::to_owned);
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

impl Provider for V1 {
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

    fn collect(&mut self, want: &Want<'_>, rows: &mut Rows) -> Result<(), SourceError> {
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

impl Drop for V1 {
    fn drop(&mut self) {
        self.key.close();
    }
}
