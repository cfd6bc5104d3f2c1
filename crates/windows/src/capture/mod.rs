//! Capture of a Windows machine's counters in one directory: the responses of its functions and its performance key,
//! byte for byte, to be sent and replayed.
//!
//! **Format**: `manifest.txt` has a line for each request: the code of the response, the request, and the location of
//! the response, by file, offset and length. The other files contain only responses, one after the other. Only names
//! of instances in them might identify the machine, and these can be hidden.

mod hide;
mod replay;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, sleep};
use std::time::Duration;

use perfset_core::v2::registration::RegistrationInfo;
use perfset_core::wire::WireError;
use perfset_core::{CounterFilter, Guid, Language};
use perfset_engine::SourceError;

use crate::buffer::{filled, value};
use crate::functions::{PerfLib, PerformanceKey};
use crate::query::OpenQuery;
use crate::v1::language_name;
pub use hide::NameMask;
pub use replay::CaptureReplay;

/// Name of the file with the captured registrations; the constants below name the files of other captured responses.
const REGISTRATIONS: &str = "registrations.bin";
const QUERY: &str = "query.bin";
const V1: &str = "v1.bin";

/// First line of the manifest in the directory of a captured machine.
const FIRST_LINE: &str = "perfset capture 1";
const MANIFEST: &str = "manifest.txt";

/// Settings of a capture of a machine's counters.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// Name of the program that captures the machine, and of the operating system, for users.
    pub by: String,
    /// Language in which names of counters are captured, in addition to English.
    pub language: Language,
    /// `true` if instance names are replaced by random letters in the captured responses.
    pub hide_instances: bool,
    /// `true` if costly objects are captured too, which may take minutes.
    pub is_costly: bool,
    /// Pause between the two collections of all counters during a capture.
    pub pause: Duration,
    /// Maximum time for a request to the performance key; ten times as long for costly objects. After a request that
    /// takes longer, no further request is sent to the key.
    pub deadline: Duration,
}

/// Numbers of requests to a captured machine and of its responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// Number of requests that were sent to the captured machine.
    pub requests: usize,
    /// Number of requests to the captured machine that succeeded.
    pub answered: usize,
    /// Number of bytes of the captured responses.
    pub bytes: u64,
}

/// Captures a machine into a new directory. Each response is written as soon as it arrives: everything before an error
/// can be replayed.
///
/// # Errors
/// If the directory exists already, or cannot be written. A failed request to the machine is no error: its code is
/// noted.
pub fn write(
    folder: &Path,
    functions: &Arc<dyn PerfLib>,
    key: &Arc<dyn PerformanceKey>,
    options: &CaptureOptions,
) -> io::Result<Captures> {
    create_folder(folder)?;
    let mut writer = CaptureWriter {
        folder,
        manifest: create(&folder.join(MANIFEST))?,
        answers: BTreeMap::new(),
        hidden: options.hide_instances.then(NameMask::new),
        key: Some(Arc::clone(key)),
        deadline: options.deadline,
        captures: Captures::default(),
    };
    writer.line(FIRST_LINE)?;
    writer.say("by", &options.by)?;
    writer.say("language", &format!("{:04x}", options.language.0))?;
    writer.say("instances", if options.hide_instances { "hidden" } else { "shown" })?;

    let guids = writer.registrations(functions, options.language)?;
    writer.tables(options.language)?;
    let mut query = writer.query(functions, &guids)?;
    for sample in 0..2 {
        if sample > 0 {
            sleep(options.pause);
        }
        if let Some(query) = &mut query {
            let question = format!("data {sample}");
            let block = query.collect().map(<[u8]>::to_vec);
            let block = writer.hidden(&question, block, NameMask::in_v2)?;
            writer.answer(&question, QUERY, block)?;
        }
        writer.block("Global", sample)?;
        if options.is_costly {
            writer.block("Costly", sample)?;
        }
    }
    if let Some(key) = &writer.key {
        key.close();
    }
    Ok(writer.captures)
}

/// Creates the directory for a captured machine; other users cannot read it, if the system has permissions for that.
/// The directory contains names of processes.
fn create_folder(folder: &Path) -> io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "Windows has no mode: who may read is inherited"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a file of captured responses that other users cannot read, as in [`create_folder`].
fn create(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

/// Response of the captured machine, or the error that it returned.
type Answer = Result<Vec<u8>, SourceError>;

struct CaptureWriter<'a> {
    folder: &'a Path,
    manifest: File,
    /// Files of captured responses, with their lengths.
    answers: BTreeMap<&'static str, (File, u64)>,
    hidden: Option<NameMask>,
    /// Performance key; `None` after a request to it took too long: a thread still uses it, and no other may.
    key: Option<Arc<dyn PerformanceKey>>,
    deadline: Duration,
    captures: Captures,
}

impl CaptureWriter<'_> {
    /// Writes a remark to the manifest of the captured machine.
    fn say(&mut self, what: &str, value: &str) -> io::Result<()> {
        let value = value.replace(['\t', '\n', '\r'], " ");
        self.line(&format!("# {what}\t{value}"))
    }

    /// Writes a line of the captured machine's manifest at once, because the program may be interrupted at any time.
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.manifest.write_all(format!("{line}\n").as_bytes())
    }

    /// Notes in the captured machine's manifest that a part of a response was replaced by zeros because the response
    /// cannot be parsed.
    fn blanked(&mut self, question: &str, why: &WireError) -> io::Result<()> {
        self.say("blanked", &format!("{question}: {why}, and what cannot be read without it"))
    }

    /// Returns a captured response with its instance names replaced, if they are to be hidden.
    fn hidden(
        &mut self,
        question: &str,
        mut answer: Answer,
        hide: fn(&NameMask, &mut [u8]) -> Result<(), WireError>,
    ) -> io::Result<Answer> {
        if let (Some(hidden), Ok(bytes)) = (&self.hidden, &mut answer) {
            if let Err(error) = hide(hidden, bytes) {
                self.blanked(question, &error)?;
            }
        }
        Ok(answer)
    }

    /// Writes a captured response, or the error that the machine returned instead.
    fn answer(&mut self, question: &str, file: &'static str, answer: Answer) -> io::Result<()> {
        self.captures.requests = self.captures.requests.saturating_add(1);
        let bytes = match answer {
            Ok(bytes) => bytes,
            Err(error) => return self.line(&format!("{}\t{question}", error.status().0)),
        };
        let (out, at) = match self.answers.entry(file) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert((create(&self.folder.join(file))?, 0)),
        };
        // Before its line in the manifest: an interrupted capture names no bytes that are missing.
        out.write_all(&bytes)?;
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let line = format!("0\t{question}\t{file}\t{at}\t{len}");
        *at = at.saturating_add(len);
        self.line(&line)?;
        self.captures.answered = self.captures.answered.saturating_add(1);
        self.captures.bytes = self.captures.bytes.saturating_add(len);
        Ok(())
    }

    /// Returns a value of the performance key, requested on a separate thread: other vendors' libraries respond, and
    /// one may hang.
    fn value(&mut self, name: &str, deadline: Duration) -> io::Result<Answer> {
        let Some(key) = self.key.take() else { return Ok(Err(SourceError::Late)) };
        let (sender, answer) = channel();
        let (asked, name) = (Arc::clone(&key), name.to_owned());
        thread::Builder::new().spawn(move || {
            let _ = sender.send(value(&*asked, &name, Vec::new())); // who waited may have given up
        })?;
        Ok(match answer.recv_timeout(deadline) {
            Ok(answer) => {
                self.key = Some(key);
                answer
            }
            Err(RecvTimeoutError::Timeout) => Err(SourceError::Late),
            Err(RecvTimeoutError::Disconnected) => Err(SourceError::Failed("the key panicked".into())),
        })
    }

    /// Captures the registered countersets, and the ten responses about each.
    fn registrations(&mut self, functions: &Arc<dyn PerfLib>, language: Language) -> io::Result<Vec<Guid>> {
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
        self.answer("countersets", REGISTRATIONS, listed)?;
        for guid in &guids {
            let mut first = None;
            let mut languages = vec![0, ENGLISH_US, language.0];
            languages.dedup();
            for code in 1..=10 {
                // The argument is the id of a counter for code 2, and a language for codes 3 to 6.
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
                    self.answer(&format!("registration {code} {value} {guid}"), REGISTRATIONS, answer)?;
                }
            }
            let mut ask = |buffer: &mut [u8]| functions.enumerate_instances(guid, buffer);
            let list = filled("PerfEnumerateCounterSetInstances", 1, &mut buffer, &mut ask);
            let question = format!("instances {guid}");
            let list = self.hidden(&question, list.map(<[u8]>::to_vec), NameMask::in_list)?;
            self.answer(&question, REGISTRATIONS, list)?;
        }
        Ok(guids)
    }

    /// Opens a PerfLib query of all countersets, and captures its entries.
    fn query(&mut self, functions: &Arc<dyn PerfLib>, guids: &[Guid]) -> io::Result<Option<OpenQuery>> {
        let query = match OpenQuery::open(functions) {
            Ok(query) => query,
            Err(error) => {
                self.answer("query", QUERY, Err(error))?;
                return Ok(None);
            }
        };
        for guid in guids {
            let mut buffer = Vec::new();
            let mut ask = |buffer: &mut [u8]| functions.registration_info(guid, 1, 0, buffer);
            let info = filled("PerfQueryCounterSetRegistrationInfo", 1, &mut buffer, &mut ask);
            let info = info.ok().and_then(|info| RegistrationInfo::parse(info).ok());
            let is_multiple = info.is_some_and(|info| info.instance_type().is_multiple());
            if let Err(error) = query.add(*guid, CounterFilter::All, is_multiple) {
                self.answer(&format!("entry {guid}"), QUERY, Err(error))?;
            }
        }
        let info = query.entries();
        self.answer("info", QUERY, info)?;
        Ok(Some(query))
    }

    /// Captures the tables of counter names and help texts.
    fn tables(&mut self, language: Language) -> io::Result<()> {
        let mut languages = vec!["009".to_owned(), language_name(language)];
        languages.dedup();
        for language in languages {
            for what in ["Counter", "Help"] {
                let question = format!("{what} {language}");
                let table = self.value(&question, self.deadline)?;
                self.answer(&question, V1, table)?;
            }
        }
        Ok(())
    }

    /// Captures a V1 block, without the name of its machine.
    fn block(&mut self, name: &str, sample: usize) -> io::Result<()> {
        let question = format!("{name} {sample}");
        let times = if name == "Costly" { 10 } else { 1 };
        let mut block = self.value(name, self.deadline.saturating_mul(times))?;
        if let Ok(Err(error)) = block.as_mut().map(|block| hide::machine_in_v1(block)) {
            self.blanked(&question, &error)?;
        } else {
            block = self.hidden(&question, block, NameMask::in_v1)?;
        }
        self.answer(&question, V1, block)
    }
}
