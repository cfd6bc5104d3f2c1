//! `perfset log export`: writes logs as Parquet files.

use crate::args::LogExportArgs;
use crate::exit::{Exit, Failure};

/// Fails with the reason: this build has no Parquet.
#[cfg(not(feature = "parquet"))]
pub fn run(args: &LogExportArgs) -> Result<Exit, Failure> {
    let LogExportArgs { files: _, to: _, machine: _, output: _ } = args;
    let error = anyhow::anyhow!(
        "this perfset is built without Parquet\n  build it with the feature parquet: cargo install --path crates/cli \
         --features parquet"
    );
    Err(Failure::new(Exit::Usage, error))
}

#[cfg(feature = "parquet")]
pub use with_parquet::run;

#[cfg(feature = "parquet")]
mod with_parquet {
    use std::io::{self, IsTerminal, Write};

    use anyhow::anyhow;
    use perfset::output::text::{grouped_digits, name_of};
    use perfset_parquet::{ExportOptions, export};

    use super::{Exit, Failure, LogExportArgs};
    use crate::args::ExportFormat;
    use crate::query_source::{QuerySource, opened, unopened};
    use crate::relog::progress::Progress;

    pub fn run(args: &LogExportArgs) -> Result<Exit, Failure> {
        let LogExportArgs { files, to: ExportFormat::Parquet, machine, output } = args;
        if output.exists() && !output.is_dir() {
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
            let exported = export(&logs, output, ExportOptions::default(), || progress.show());
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
}
