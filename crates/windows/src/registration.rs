//! Registrations of countersets, each read by PerfLib's ten request codes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use perfset_catalogue as catalogue;
use perfset_core::v2::registration::{CounterInfo, RegistrationInfo};
use perfset_core::v2::strings::StringBlock;
use perfset_core::wire::WireError;
use perfset_core::{
    Counter, CounterId, Counterset, Guid, InstanceType, Language, Name, ProviderIdentity, Status, Text,
    Translation,
};
use perfset_engine::SourceError;
use perfset_engine::v1::unit_of;

use crate::buffer::filled;
use crate::functions::PerfLib;

/// Name of the source of V2 values, shown to users for each counter.
pub const SOURCE: &str = "PerfLib V2";

/// Language id of United States English, which every system has, for requests of English texts.
const ENGLISH_US: Language = Language(0x0409);

/// Reader of counterset registrations by PerfLib's request codes, one after another.
#[derive(Debug)]
pub struct Registrations {
    functions: Arc<dyn PerfLib>,
    /// Language of counter names and help texts, in addition to English.
    language: Language,
    buffer: Vec<u8>,
}

impl Registrations {
    /// Creates a reader of registrations for names and help texts in English and in this language.
    pub fn new(functions: &Arc<dyn PerfLib>, language: Language) -> Self {
        Self { functions: Arc::clone(functions), language, buffer: Vec::new() }
    }

    /// Returns the GUIDs of all registered countersets.
    ///
    /// # Errors
    /// If the system does not list them.
    pub fn guids(&mut self) -> Result<Vec<Guid>, SourceError> {
        let Self { functions, buffer, .. } = self;
        let mut ask = |buffer: &mut [u8]| functions.enumerate_countersets(buffer);
        let guids = filled("PerfEnumerateCounterSet", 16, buffer, &mut ask)?;
        let mut guids: Vec<_> = guids
            .chunks_exact(16)
            .filter_map(|guid| guid.first_chunk().copied().map(Guid::from_wire))
            .collect();
        guids.sort_unstable();
        guids.dedup();
        Ok(guids)
    }

    /// Returns the registration of a counterset, except its texts. A different response means a different
    /// registration.
    ///
    /// # Errors
    /// If the counterset is not registered.
    pub fn info(&mut self, guid: Guid) -> Result<Vec<u8>, SourceError> {
        self.answer(guid, 1, 0).map(<[u8]>::to_vec)
    }

    /// Returns the counterset that an [`info`](Self::info) describes. Missing texts are empty; only the counters are
    /// required.
    ///
    /// An aggregate is registered as the rows that it shows, one or several: the system has already combined them.
    ///
    /// # Errors
    /// If the system's response cannot be true.
    pub fn counterset(&mut self, guid: Guid, info: &[u8]) -> Result<Counterset, SourceError> {
        let like = catalogue::ALL.iter().copied().find(|known| known.guid == guid);
        let mut counters: Vec<Counter> = Vec::new();
        let info = RegistrationInfo::parse(info).map_err(|error| unreadable(guid, error))?;
        if info.guid() != guid {
            return Err(SourceError::Failed(format!("the answer is of counterset {}", info.guid()).into()));
        }
        let instance_type = info.instance_type();
        let mut taken = HashSet::new();
        for info in info.counters() {
            let info = info.map_err(|error| unreadable(guid, error))?;
            if taken.insert(info.id()) {
                counters.push(counter(&info, like.and_then(|like| like.counter(info.id()))));
            }
        }
        let english = ENGLISH_US.0;
        // English names by codes 9 and 10 may be missing: then the texts in English count, then those in the
        // configured language of the machine.
        let name = self.text(guid, &[(9, 0), (3, english), (3, 0)]);
        let help = self.text(guid, &[(4, english), (4, 0)]);
        let mut names = self.texts(guid, &[(10, 0), (5, english), (5, 0)]);
        let mut helps = self.texts(guid, &[(6, english), (6, 0)]);
        for counter in &mut counters {
            counter.name = names.remove(&counter.id);
            counter.help = helps.remove(&counter.id).unwrap_or_default();
        }
        let instance_type =
            if instance_type.is_multiple() { InstanceType::Multiple } else { InstanceType::Single };
        let name = name.unwrap_or_else(|| format!("{guid:?}").into());
        let provider = self.provider(guid);
        let translation = self.translation(guid, &counters);
        Ok(Counterset::new(guid, name, instance_type)
            .help(help.unwrap_or_default())
            .provider(provider.guid, provider.name)
            .translations(translation)
            .counters(counters)
            .v1_index(like.and_then(|like| like.v1_index))
            .default_counter(like.and_then(|like| like.default_counter)))
    }

    fn provider(&mut self, guid: Guid) -> ProviderIdentity {
        let name = self.text(guid, &[(7, 0)]).unwrap_or_default();
        let own = self.answer(guid, 8, 0).ok().and_then(|bytes| bytes.first_chunk().copied());
        ProviderIdentity { guid: own.map_or(Guid::NIL, Guid::from_wire), name }
    }

    /// Returns names and help texts of a counterset in the user's language; `None` if that is English.
    fn translation(&mut self, guid: Guid, counters: &[Counter]) -> Option<Translation> {
        let language = self.language;
        if language.primary() == Language::ENGLISH.0 {
            return None;
        }
        let name = self.text(guid, &[(3, language.0)])?;
        let help = self.text(guid, &[(4, language.0)]).unwrap_or_default();
        let mut names = self.texts(guid, &[(5, language.0)]);
        let mut helps = self.texts(guid, &[(6, language.0)]);
        let mut texts = |counter: &Counter| {
            let name = names.remove(&counter.id)?;
            Some((counter.id, name, helps.remove(&counter.id).unwrap_or_default()))
        };
        let counters: Vec<_> = counters.iter().filter_map(&mut texts).collect();
        Some(Translation { language, name, help, counters: counters.into() })
    }

    /// Returns the text of a counterset from the first of these requests whose response is not empty.
    fn text(&mut self, guid: Guid, requests: &[(u32, u32)]) -> Option<Text> {
        requests.iter().find_map(|(code, language)| {
            let text = Name::until_nul(self.answer(guid, *code, *language).ok()?).to_string();
            (!text.is_empty()).then_some(text.into())
        })
    }

    /// Returns the texts of a counterset's counters from the first of these requests that returns any. If a counter
    /// is named twice, the first name is used.
    fn texts(&mut self, guid: Guid, requests: &[(u32, u32)]) -> HashMap<CounterId, Text> {
        let texts = requests.iter().find_map(|(code, language)| {
            let block = StringBlock::parse(self.answer(guid, *code, *language).ok()?).ok()?;
            let mut texts = HashMap::new();
            for (id, text) in block.iter() {
                if let Ok(Some(text)) = text {
                    texts.entry(id).or_insert_with(|| text.to_string().into());
                }
            }
            (!texts.is_empty()).then_some(texts)
        });
        texts.unwrap_or_default()
    }

    fn answer(&mut self, guid: Guid, code: u32, language: u32) -> Result<&[u8], SourceError> {
        let Self { functions, buffer, .. } = self;
        let mut ask = |buffer: &mut [u8]| functions.registration_info(&guid, code, language, buffer);
        filled("PerfQueryCounterSetRegistrationInfo", 1, buffer, &mut ask).map_err(|error| match error {
            SourceError::System { status: Status::ERROR_WMI_GUID_NOT_FOUND, .. } => {
                SourceError::UnknownCounterset(guid)
            }
            error => error,
        })
    }
}

fn counter(info: &CounterInfo<'_>, like: Option<&Counter>) -> Counter {
    Counter::new(info.id(), info.counter_type())
        .attributes(info.attributes())
        .detail(info.detail())
        .default_scale(info.default_scale())
        .base(info.base())
        .clock(info.perf_time(), info.perf_freq())
        .multi(info.multi())
        .aggregate(info.aggregate())
        .unit(unit_of(info.counter_type(), like))
        .wraps(info.counter_type().value_len() == 4)
        .source(SOURCE)
}

fn unreadable(guid: Guid, error: WireError) -> SourceError {
    SourceError::Failed(format!("the registration of {guid}: {error}").into())
}
