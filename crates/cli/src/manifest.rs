//! `perfset manifest`: checks instrumentation manifests, generates code from them, and writes them.

use std::io::{self, Write};
use std::path::Path;

use anyhow::anyhow;
use perfset::manifest::{ExportError, Manifest, Problem, Problems, generate};
use perfset::output::text::escaped;
use serde::Serialize;

use crate::args::{
    LogFiles, ManifestArgs, ManifestCheckArgs, ManifestCommand, ManifestExportArgs, ManifestGenerateArgs,
};
use crate::destination::write;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::query_source::QuerySource;
use crate::records::{ListRecord, RecordWriter};
use crate::resolve::counterset;

pub fn run(args: &ManifestArgs) -> Result<Exit, Failure> {
    match &args.command {
        ManifestCommand::Check(args) => check(args),
        ManifestCommand::Generate(args) => generate(args),
        ManifestCommand::Export(args) => export(args),
    }
}

/// Reads the file of an instrumentation manifest. Reads one byte more than a manifest may have, so that a longer file
/// is detected.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let most = u64::try_from(Manifest::BYTES_MAX).unwrap_or(u64::MAX);
    input::read_up_to(file, most.saturating_add(1))
}

/// Writes a line for each problem of a manifest, in the format of compilers.
pub fn tell(out: &mut impl Write, file: &Path, problems: &Problems) -> io::Result<()> {
    let file = escaped(&file.display().to_string());
    for problem in problems.list() {
        writeln!(out, "{file}:{}", escaped(&problem.to_string()))?;
    }
    match problems.more() {
        0 => Ok(()),
        more => writeln!(out, "{file}: and at least {more} more"),
    }
}

fn check(args: &ManifestCheckArgs) -> Result<Exit, Failure> {
    let mut records = RecordWriter::stdout(args.output.format());
    let mut out = io::stdout().lock();
    let mut exit = Exit::Ok;
    for file in &args.files {
        let (manifest, problems) = Manifest::check(&read(file)?);
        if let Some(records) = &mut records {
            records.push(&ManifestRecord::new(file, manifest.as_ref(), &problems))?;
            exit = if manifest.is_none() { Exit::InvalidData } else { exit };
            continue;
        }
        tell(&mut out, file, &problems)?;
        let Some(manifest) = manifest else {
            exit = Exit::InvalidData;
            continue;
        };
        let provider = &manifest.provider;
        writeln!(
            out,
            "{}: {}, {}, {}",
            escaped(&file.display().to_string()),
            escaped(&provider.name),
            counted(provider.sets.len(), "counterset"),
            counted(counters_of(&manifest), "counter"),
        )?;
    }
    out.flush()?;
    if let Some(records) = &mut records {
        records.finish::<ManifestRecord<'_>>()?;
    }
    Ok(exit)
}

/// Returns the number of counters that an instrumentation manifest declares.
fn counters_of(manifest: &Manifest) -> usize {
    manifest.provider.sets.iter().map(|set| set.counters.len()).fold(0, usize::saturating_add)
}

/// Fields of one instrumentation manifest, in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct ManifestRecord<'a> {
    file: String,
    is_valid: bool,
    provider: Option<&'a str>,
    guid: Option<String>,
    countersets: Option<usize>,
    counters: Option<usize>,
    problems: Vec<ProblemLine<'a>>,
    more_problems: usize,
}

/// Fields of a problem in an instrumentation manifest, in the order in which CSV and JSON contain them.
#[derive(Serialize)]
struct ProblemLine<'a> {
    line: usize,
    column: usize,
    severity: String,
    rule: &'static str,
    what: &'a str,
    correction: Option<&'a str>,
}

impl ListRecord for ManifestRecord<'_> {
    const CSV_HEADER: &'static str =
        "file,is_valid,provider,guid,countersets,counters,problems,more_problems";
}

impl<'a> ManifestRecord<'a> {
    fn new(file: &Path, manifest: Option<&'a Manifest>, problems: &'a Problems) -> Self {
        let provider = manifest.map(|manifest| &manifest.provider);
        let problem = |problem: &'a Problem| ProblemLine {
            line: problem.line,
            column: problem.column,
            severity: problem.severity.to_string(),
            rule: problem.rule.keyword(),
            what: &problem.what,
            correction: Some(problem.right.as_str()).filter(|text| !text.is_empty()),
        };
        Self {
            file: file.display().to_string(),
            is_valid: manifest.is_some(),
            provider: provider.map(|provider| &*provider.name),
            guid: provider.map(|provider| provider.guid.to_string()),
            countersets: provider.map(|provider| provider.sets.len()),
            counters: manifest.map(counters_of),
            problems: problems.list().iter().map(problem).collect(),
            more_problems: problems.more(),
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn generate(args: &ManifestGenerateArgs) -> Result<Exit, Failure> {
    let (manifest, problems) = Manifest::check(&read(&args.file)?);
    // Standard error is the last place to report to, so a failure of it is ignored.
    // Not to standard output, which may be the generated code.
    let _ = tell(&mut io::stderr(), &args.file, &problems);
    let manifest = manifest.ok_or_else(|| {
        let file = escaped(&args.file.display().to_string());
        Failure::new(Exit::InvalidData, anyhow!("{file} has errors, so nothing was generated"))
    })?;
    let text = match (args.code.rust, args.code.c_header) {
        (true, _) => generate::rust(&manifest, &args.prefix),
        (_, true) => generate::c_header(&manifest, &args.prefix),
        _ => generate::symbols(&manifest, &args.prefix),
    };
    let exit = |error: &generate::GenerateError| match error {
        generate::GenerateError::Prefix(_) => Exit::Usage,
        _ => Exit::InvalidData,
    };
    let text = text.map_err(|error| Failure::new(exit(&error), anyhow!(escaped(&error.to_string()))))?;
    write(args.output.as_deref(), text.as_bytes())?;
    Ok(Exit::Ok)
}

fn export(args: &ManifestExportArgs) -> Result<Exit, Failure> {
    let asked = QuerySource::new(&LogFiles::default())?;
    let sets = args.names.iter().map(|name| Ok((*counterset(&asked, name)?).clone()));
    let sets = sets.collect::<Result<Vec<_>, Failure>>()?;
    let manifest = Manifest::export(&sets).map_err(|error| {
        let exit = if matches!(error, ExportError::Broken(_)) { Exit::InvalidData } else { Exit::Usage };
        Failure::new(exit, anyhow!(escaped(&error.to_string())))
    })?;
    write(args.output.as_deref(), manifest.write().as_bytes())?;
    Ok(Exit::Ok)
}
