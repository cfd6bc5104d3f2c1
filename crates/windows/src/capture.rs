//! A machine's counters in one folder: what its functions and its key answer, byte for byte, to be sent and replayed.
//!
//! **Shape**: `manifest.txt` has a line for each question: the code that it was answered with, the question, and where
//! the answer is, by file, offset and length. The other files have nothing but answers, one behind the other. Nothing
//! in them says whose machine it is, but names of instances; and those can be hidden.

mod hide;
mod replay;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use perfset_core::v2::registration::RegistrationInfo;
use perfset_core::wire::WireError;
use perfset_core::{CounterFilter, Guid, Language};
use perfset_engine::SourceError;

use crate::functions::{PerfLib, PerformanceKey};
use crate::growing::{filled, value};
use crate::query::OpenQuery;
use crate::v1::language_name;
pub use hide::Hidden;
pub use replay::Captured;

/// The files of answers.
const REGISTRATIONS: &str = "registrations.bin";
const QUERY: &str = "query.bin";
const V1: &str = "v1.bin";

/// The first line of every manifest.
const FIRST_LINE: &str = "perfset capture 1";
const MANIFEST: &str = "manifest.txt";

/// What is captured, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which program on which system, for people.
    pub by: String,
    /// Names are captured in English, and in this language.
    pub language: Language,
    /// Whether names of instances are replaced by others.
    pub hide_instances: bool,
    /// Whether costly objects are captured, too: it may take minutes.
    pub is_costly: bool,
    /// Everything is collected twice, with this pause between.
    pub pause: Duration,
}

/// What was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// Questions.
    pub asked: usize,
    /// Those of them that were answered.
    pub answered: usize,
    /// Bytes of the answers.
    pub bytes: u64,
}

/// Writes a new folder.
///
/// # Errors
/// If the folder is there already, or cannot be written. What the machine does not answer is no error: it is noted.
pub fn write(
    folder: &Path,
    functions: &Arc<dyn PerfLib>,
    key: &dyn PerformanceKey,
    options: &Options,
) -> io::Result<Captures> {
    fs::create_dir(folder)?;
    let mut writer = Writer {
        answers: BTreeMap::new(),
        manifest: format!("{FIRST_LINE}\n"),
        hidden: options.hide_instances.then(Hidden::new),
        captures: Captures::default(),
    };
    writer.say("by", &options.by);
    writer.say("language", &format!("{:04x}", options.language.0));
    writer.say("instances", if options.hide_instances { "hidden" } else { "shown" });

    let guids = writer.registrations(functions, options.language);
    writer.tables(key, options.language);
    let mut query = writer.query(functions, &guids);
    for sample in 0..2 {
        if sample > 0 {
            sleep(options.pause);
        }
        if let Some(query) = &mut query {
            let question = format!("data {sample}");
            let block = query.collect().map(<[u8]>::to_vec);
            let block = writer.hidden(&question, block, Hidden::in_v2);
            writer.answer(question, QUERY, block);
        }
        writer.block(key, "Global", sample);
        if options.is_costly {
            writer.block(key, "Costly", sample);
        }
    }
    key.close();
    for (file, answers) in &writer.answers {
        fs::write(folder.join(file), answers)?;
    }
    fs::write(folder.join(MANIFEST), writer.manifest)?;
    Ok(writer.captures)
}

/// What was answered, or why nothing was.
type Answer = Result<Vec<u8>, SourceError>;

struct Writer {
    /// By file.
    answers: BTreeMap<&'static str, Vec<u8>>,
    manifest: String,
    hidden: Option<Hidden>,
    captures: Captures,
}

impl Writer {
    /// What is said of the whole.
    fn say(&mut self, what: &str, value: &str) {
        let value = value.replace(['\t', '\n', '\r'], " ");
        let _ = writeln!(self.manifest, "# {what}\t{value}"); // a String takes everything
    }

    /// Notes what is zeros because nobody knows what it says.
    fn blanked(&mut self, question: &str, why: &WireError) {
        self.say("blanked", &format!("{question}: {why}, and what cannot be read without it"));
    }

    /// An answer without names, if they are hidden.
    fn hidden(
        &mut self,
        question: &str,
        answer: Answer,
        hide: fn(&Hidden, &mut [u8]) -> Result<(), WireError>,
    ) -> Answer {
        let mut answer = answer?;
        if let Some(Err(error)) = self.hidden.as_ref().map(|hidden| hide(hidden, &mut answer)) {
            self.blanked(question, &error);
        }
        Ok(answer)
    }

    /// An answer; or why there is none.
    fn answer(&mut self, question: String, file: &'static str, answer: Answer) {
        self.captures.asked = self.captures.asked.saturating_add(1);
        let line = match answer {
            Ok(bytes) => {
                let answers = self.answers.entry(file).or_default();
                let (at, len) = (answers.len(), bytes.len());
                answers.extend_from_slice(&bytes);
                self.captures.answered = self.captures.answered.saturating_add(1);
                self.captures.bytes =
                    self.captures.bytes.saturating_add(u64::try_from(len).unwrap_or(u64::MAX));
                format!("0\t{question}\t{file}\t{at}\t{len}\n")
            }
            Err(error) => format!("{}\t{question}\n", error.status().0),
        };
        self.manifest.push_str(&line);
    }

    /// Who is registered, and the ten answers about each.
    fn registrations(&mut self, functions: &Arc<dyn PerfLib>, language: Language) -> Vec<Guid> {
        const ENGLISH_US: u32 = 0x0409;
        let mut buffer = Vec::new();
        let mut ask = |buffer: &mut [u8]| functions.enumerate_countersets(buffer);
        let listed = filled("PerfEnumerateCounterSet", 16, &mut buffer, &mut ask).map(<[u8]>::to_vec);
        let guids: Vec<Guid> = listed
            .as_deref()
            .unwrap_or_default()
            .chunks_exact(16)
            .filter_map(|guid| guid.first_chunk().copied().map(Guid::from_wire))
            .collect();
        self.answer("countersets".into(), REGISTRATIONS, listed);
        for guid in &guids {
            let mut first = None;
            let mut languages = vec![0, ENGLISH_US, language.0];
            languages.dedup();
            for code in 1..=10 {
                let values = match code {
                    2 => &[first.unwrap_or(0)][..],
                    3..=6 => &languages,
                    _ => &[0],
                };
                for value in values {
                    let mut ask = |buffer: &mut [u8]| functions.registration_info(guid, code, *value, buffer);
                    let answer = filled("PerfQueryCounterSetRegistrationInfo", 1, &mut buffer, &mut ask);
                    let answer = answer.map(<[u8]>::to_vec);
                    if let (1, Ok(bytes)) = (code, &answer) {
                        let info = RegistrationInfo::parse(bytes).ok();
                        first = info.and_then(|info| Some(info.counters().next()?.ok()?.id().0));
                    }
                    self.answer(format!("registration {code} {value} {guid}"), REGISTRATIONS, answer);
                }
            }
            let mut ask = |buffer: &mut [u8]| functions.enumerate_instances(guid, buffer);
            let list = filled("PerfEnumerateCounterSetInstances", 1, &mut buffer, &mut ask);
            let question = format!("instances {guid}");
            let list = self.hidden(&question, list.map(<[u8]>::to_vec), Hidden::in_list);
            self.answer(question, REGISTRATIONS, list);
        }
        guids
    }

    /// One query of everything.
    fn query(&mut self, functions: &Arc<dyn PerfLib>, guids: &[Guid]) -> Option<OpenQuery> {
        let query = match OpenQuery::open(functions) {
            Ok(query) => query,
            Err(error) => {
                self.answer("query".into(), QUERY, Err(error));
                return None;
            }
        };
        for guid in guids {
            let mut buffer = Vec::new();
            let mut ask = |buffer: &mut [u8]| functions.registration_info(guid, 1, 0, buffer);
            let info = filled("PerfQueryCounterSetRegistrationInfo", 1, &mut buffer, &mut ask);
            let info = info.ok().and_then(|info| RegistrationInfo::parse(info).ok());
            let is_multiple = info.is_some_and(|info| info.instance_type().is_multiple());
            if let Err(error) = query.add(*guid, CounterFilter::All, is_multiple) {
                self.answer(format!("entry {guid}"), QUERY, Err(error));
            }
        }
        let info = query.entries();
        self.answer("info".into(), QUERY, info);
        Some(query)
    }

    /// The tables of names and helps.
    fn tables(&mut self, key: &dyn PerformanceKey, language: Language) {
        let mut languages = vec!["009".to_owned(), language_name(language)];
        languages.dedup();
        for language in languages {
            for what in ["Counter", "Help"] {
                let table = value(key, &format!("{what} {language}"), Vec::new());
                self.answer(format!("{what} {language}"), V1, table);
            }
        }
    }

    /// A block of V1, without the name of its machine.
    fn block(&mut self, key: &dyn PerformanceKey, name: &str, sample: usize) {
        let question = format!("{name} {sample}");
        let mut block = value(key, name, Vec::new());
        if let Ok(Err(error)) = block.as_mut().map(|block| hide::machine_in_v1(block)) {
            self.blanked(&question, &error);
        } else {
            block = self.hidden(&question, block, Hidden::in_v1);
        }
        self.answer(question, V1, block);
    }
}
