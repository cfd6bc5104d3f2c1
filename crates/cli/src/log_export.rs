//! `perfset log export`: writes logs as Parquet files, and SQL views of them.

use crate::args::LogExportArgs;
use crate::exit::{Exit, Failure};

/// Fails, because this build cannot write Parquet files.
#[cfg(not(feature = "parquet"))]
pub fn run(args: &LogExportArgs) -> Result<Exit, Failure> {
    let LogExportArgs { files: _, to: _, views: _, machine: _, output: _, force: _ } = args;
    Err(without_parquet())
}

/// Returns the failure of a command that needs Parquet, in a build without Parquet.
#[cfg(not(feature = "parquet"))]
pub fn without_parquet() -> Failure {
    let error = anyhow::anyhow!(
        "this perfset is built without Parquet\n  build it with the feature parquet: cargo install --path crates/cli \
         --features parquet"
    );
    Failure::new(Exit::Usage, error)
}

#[cfg(feature = "parquet")]
pub use with_parquet::{export_root, run};

#[cfg(feature = "parquet")]
mod with_parquet {
    use std::io::{self, IsTerminal, Write};
    use std::path::{Path, PathBuf};

    use anyhow::anyhow;
    use perfset::catalogue;
    use perfset::output::text::{escaped, grouped_digits, name_of};
    use perfset_parquet::{ExportOptions, ExportRoot, RootError, SqlDialect, counterset_slug, export, view};

    use super::{Exit, Failure, LogExportArgs};
    use crate::args::{ExportFormat, ViewEngine};
    use crate::destination::{Destination, refuse_existing};
    use crate::query_source::{QuerySource, opened, unopened};
    use crate::relog::progress::Progress;

    pub fn run(args: &LogExportArgs) -> Result<Exit, Failure> {
        match (args.views, args.to, &args.output) {
            (Some(engine), ..) => write_views(args, engine),
            (None, Some(ExportFormat::Parquet), Some(output)) => write_files(args, output),
            // The options require one of them.
            _ => Err(Failure::new(Exit::Usage, anyhow!("--to FORMAT -o DIR, or --views ENGINE"))),
        }
    }

    /// Returns the root of exported files that a user wrote: a directory, or an address in an object store.
    pub fn export_root(output: &Path) -> Result<ExportRoot, Failure> {
        ExportRoot::parse(output).map_err(|error| {
            let hint = match error {
                RootError::Unsupported => {
                    "\n  build this perfset with the feature object-store: cargo install --path crates/cli --features \
                     object-store"
                }
                _ => "",
            };
            Failure::new(Exit::Usage, anyhow!("{}{hint}", escaped(&error.to_string())))
        })
    }

    fn write_files(args: &LogExportArgs, output: &Path) -> Result<Exit, Failure> {
        let LogExportArgs { files, machine, .. } = args;
        let root = export_root(output)?;
        if root.folder().is_some_and(|folder| folder.exists() && !folder.is_dir()) {
            let error = anyhow!("{} is no directory: -o DIR", name_of(output));
            return Err(Failure::new(Exit::Usage, error));
        }
        let logs = opened(files, machine.as_deref(), true)?;
        let machines = match machine {
            Some(_) => vec![logs.machine_name().to_owned()],
            None => logs.machines().iter().cloned().collect(),
        };
        let passes = u64::try_from(machines.len()).unwrap_or(u64::MAX);
        let mut progress = Progress::new(Some(&logs), files, passes, true);
        let (mut samples, mut written, mut is_damaged) = (0_u64, 0_usize, false);
        for name in &machines {
            let logs = logs.for_machine(name).map_err(|error| unopened(files, error))?;
            let asked = QuerySource::Logs { logs: logs.clone(), files: files.clone() };
            let exported = export(&logs, root.clone(), ExportOptions::default(), || progress.show());
            let exported = exported.map_err(|error| {
                let failure = Failure::escaped(Exit::SourceFailed, error);
                asked.failed(failure)
            })?;
            samples = samples.saturating_add(exported.samples);
            written = written.saturating_add(exported.files.len());
            is_damaged |= asked.warn_of_damage();
        }
        progress.finish();
        if samples == 0 {
            return Err(Failure::new(Exit::NothingMatched, anyhow!("no sample in the log")));
        }
        if io::stderr().is_terminal() {
            let written = grouped_digits(&written.to_string());
            let _ = writeln!(io::stderr(), "{written} files written"); // nobody is left to tell if this fails
        }
        Ok(if is_damaged { Exit::InvalidData } else { Exit::Ok })
    }

    /// Prints the SQL views of all countersets, or of those that an exported directory has.
    fn write_views(args: &LogExportArgs, engine: ViewEngine) -> Result<Exit, Failure> {
        let LogExportArgs { files, output, force, .. } = args;
        let [root] = match &**files {
            [] => [PathBuf::from(".")],
            [root] => [root.clone()],
            _ => return Err(Failure::new(Exit::Usage, anyhow!("--views has one directory of files"))),
        };
        let dialect = match engine {
            ViewEngine::DuckDb => SqlDialect::DuckDb,
            ViewEngine::Spark => SqlDialect::Spark,
            ViewEngine::ClickHouse => SqlDialect::ClickHouse,
            ViewEngine::DataFusion => SqlDialect::DataFusion,
        };
        // Engines refuse a view of no file. An address, or a directory that is not there yet, has them all.
        let is_wanted = |slug: &str| !root.is_dir() || root.join(format!("counterset={slug}")).is_dir();
        let mut sets: Vec<_> = catalogue::ALL.iter().map(|set| (counterset_slug(set), *set)).collect();
        sets.retain(|(slug, _)| is_wanted(slug));
        sets.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        if sets.is_empty() {
            let error = anyhow!("{} has no exported file of a built-in counterset", name_of(&root));
            return Err(Failure::new(Exit::NothingMatched, error));
        }
        let root = root.to_string_lossy();
        let views: Vec<String> = sets.iter().map(|(_, set)| view(dialect, &root, set)).collect();
        let views = views.join("\n");
        let Some(output) = output else {
            io::stdout().lock().write_all(views.as_bytes())?;
            return Ok(Exit::Ok);
        };
        if !force {
            refuse_existing(output)?;
        }
        let destination = Destination::new(output)?;
        let mut out = destination.writer()?;
        out.write_all(views.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| destination.failed(error))?;
        drop(out);
        match force {
            true => destination.keep()?,
            false => destination.keep_first()?,
        }
        Ok(Exit::Ok)
    }
}
