//! Registration of countersets: the ten registration requests and their responses.

use std::sync::Arc;

use perfset_core::v2::{registration, strings};
use perfset_core::{Counter, CounterId, Counterset, Guid, Language, Text, Translation};

use crate::error::SourceError;

/// Registration request: one of the ten kinds, for a registered counterset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "PerfRegInfoType")]
pub enum RegRequest {
    /// Request for a counterset with all its counters.
    #[doc(alias = "PERF_REG_COUNTERSET_STRUCT")]
    Counterset,
    /// Request for a single counter.
    #[doc(alias = "PERF_REG_COUNTER_STRUCT")]
    Counter(CounterId),
    /// Request for the name of the counterset in a language.
    #[doc(alias = "PERF_REG_COUNTERSET_NAME_STRING")]
    CountersetName(Language),
    /// Request for the help text of the counterset in a language.
    #[doc(alias = "PERF_REG_COUNTERSET_HELP_STRING")]
    CountersetHelp(Language),
    /// Request for the names of the counters in a language.
    #[doc(alias = "PERF_REG_COUNTER_NAME_STRINGS")]
    CounterNames(Language),
    /// Request for the help texts of the counters in a language.
    #[doc(alias = "PERF_REG_COUNTER_HELP_STRINGS")]
    CounterHelps(Language),
    /// Request for the name of the provider.
    #[doc(alias = "PERF_REG_PROVIDER_NAME")]
    ProviderName,
    /// Request for the GUID of the provider.
    #[doc(alias = "PERF_REG_PROVIDER_GUID")]
    ProviderGuid,
    /// Request for the English name of the counterset.
    #[doc(alias = "PERF_REG_COUNTERSET_ENGLISH_NAME")]
    CountersetEnglishName,
    /// Request for the English names of the counters.
    #[doc(alias = "PERF_REG_COUNTER_ENGLISH_NAMES")]
    CounterEnglishNames,
}

impl RegRequest {
    /// Converts `requestCode` and `requestLangId` to a request; `requestLangId` is a counter id for code 2, and
    /// ignored for codes 1 and 7 to 10.
    #[must_use]
    pub const fn from_wire(code: u32, language_or_id: u32) -> Option<Self> {
        let language = Language(language_or_id);
        Some(match code {
            1 => Self::Counterset,
            2 => Self::Counter(CounterId(language_or_id)),
            3 => Self::CountersetName(language),
            4 => Self::CountersetHelp(language),
            5 => Self::CounterNames(language),
            6 => Self::CounterHelps(language),
            7 => Self::ProviderName,
            8 => Self::ProviderGuid,
            9 => Self::CountersetEnglishName,
            10 => Self::CounterEnglishNames,
            _ => return None,
        })
    }
}

/// Response to a registration request ([`RegRequest`]).
#[derive(Clone, Debug, PartialEq)]
pub enum RegInfo {
    /// Response with the counterset and its counters.
    Counterset(Arc<Counterset>),
    /// Response with a single counter.
    Counter(Counter),
    /// Response with a single text, such as a name.
    Text(Text),
    /// Response with the name or help text of each counter, in registration order; a counter might have none.
    Texts(Vec<(CounterId, Option<Text>)>),
    /// Response with the GUID of the provider.
    Guid(Guid),
}

impl RegInfo {
    /// Converts the registration response to the block that a C caller gets.
    #[must_use]
    pub fn to_block(&self) -> Vec<u8> {
        match self {
            Self::Counterset(set) => registration::counterset_block(set),
            Self::Counter(counter) => registration::counter_block(counter),
            Self::Text(text) => strings::single(text),
            Self::Texts(texts) => strings::block(texts.iter().map(|(id, text)| (*id, text.as_deref()))),
            Self::Guid(guid) => guid.to_wire().to_vec(),
        }
    }
}

/// Returns the response to a request for a counterset's registration. `default` is the configured language of the
/// machine.
pub(crate) fn answer(
    set: &Arc<Counterset>,
    request: RegRequest,
    default: Language,
) -> Result<RegInfo, SourceError> {
    let text = |text: &Text| RegInfo::Text(text.clone());
    let guid = set.guid;
    Ok(match request {
        RegRequest::Counterset => RegInfo::Counterset(Arc::clone(set)),
        RegRequest::Counter(counter) => {
            let unknown = SourceError::UnknownCounter { counterset: guid, counter };
            RegInfo::Counter(set.counter(counter).ok_or(unknown)?.clone())
        }
        RegRequest::CountersetName(language) => match texts(set, language, default)? {
            Some(translation) => text(&translation.name),
            None => text(&set.name),
        },
        RegRequest::CountersetHelp(language) => {
            // An untranslated help text is in English: it is missing only if it is missing in every language.
            let translated = texts(set, language, default)?.map(|translation| &translation.help);
            let help = translated.filter(|help| !help.is_empty()).unwrap_or(&set.help);
            if help.is_empty() {
                return Err(SourceError::NoHelp(guid));
            }
            text(help)
        }
        RegRequest::CounterNames(language) => {
            counter_texts(set, texts(set, language, default)?, TextField::Name)
        }
        RegRequest::CounterHelps(language) => {
            let helps = counter_texts(set, texts(set, language, default)?, TextField::Help);
            // Windows was seen to return ERROR_NOT_FOUND if no counter has a help text.
            if matches!(&helps, RegInfo::Texts(texts) if texts.iter().all(|(_, text)| text.is_none())) {
                return Err(SourceError::NoHelp(guid));
            }
            helps
        }
        RegRequest::ProviderName => text(&set.provider.name),
        RegRequest::ProviderGuid => RegInfo::Guid(set.provider.guid),
        RegRequest::CountersetEnglishName => text(&set.name),
        RegRequest::CounterEnglishNames => counter_texts(set, None, TextField::Name),
    })
}

/// Returns a counterset's names and help texts in exactly this language, else in its primary language; `None` is
/// English.
fn texts(set: &Counterset, wanted: Language, default: Language) -> Result<Option<&Translation>, SourceError> {
    let find = |language: Language| {
        let exact = set.translations.iter().find(|t| t.language == language);
        exact.or_else(|| set.translations.iter().find(|t| t.language.primary() == language.primary()))
    };
    if wanted == Language::DEFAULT {
        return Ok(find(default));
    }
    match find(wanted) {
        Some(translation) => Ok(Some(translation)),
        // English texts always exist, for every region.
        None if wanted.primary() == Language::ENGLISH.0 => Ok(None),
        None => Err(SourceError::LanguageNotFound(wanted)),
    }
}

#[derive(Clone, Copy)]
enum TextField {
    Name,
    Help,
}

fn counter_texts(set: &Counterset, translation: Option<&Translation>, which: TextField) -> RegInfo {
    let english = |counter: &Counter| match which {
        TextField::Name => counter.name.clone(),
        TextField::Help => Some(counter.help.clone()).filter(|help| !help.is_empty()),
    };
    let translated = |counter: &Counter| {
        let (_, name, help) = translation?.counters.iter().find(|(id, ..)| *id == counter.id)?;
        let text = match which {
            TextField::Name => name,
            TextField::Help => help,
        };
        // An empty translation is none: an English text is better.
        Some(text.clone()).filter(|text| !text.is_empty())
    };
    let text = |counter: &Counter| (counter.id, translated(counter).or_else(|| english(counter)));
    RegInfo::Texts(set.counters.iter().map(text).collect())
}
