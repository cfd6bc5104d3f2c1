//! Options for the collection method of processes and the deadline of a collection.

#[cfg(target_os = "linux")]
use std::time::Duration;

#[cfg(target_os = "linux")]
use anyhow::anyhow;
#[cfg(target_os = "linux")]
use clap::ValueEnum;
#[cfg(target_os = "linux")]
use perfset::ProcessSource;

#[cfg(target_os = "linux")]
use crate::exit::Exit;
use crate::exit::Failure;

/// Options for the collection method of processes and the deadline of a collection.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ProcessArgs {
    #[cfg(target_os = "linux")]
    /// Source of process data: auto, bpf, gate or proc; see perfset doctor --help
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = "Processes", hide_possible_values = true)]
    process_source: Option<SourceName>,
    #[cfg(target_os = "linux")]
    /// Maximum time that a collection waits [default: PERFSET_DEADLINE, or 100ms]
    ///
    /// A collection waits for publishers, firmware, sensors, drivers and file systems. Late values are the previous
    /// ones, marked as stale, or they are missing.
    #[arg(long, value_name = "TIME", value_parser = perfset::parse_deadline, help_heading = "Waiting")]
    deadline: Option<Duration>,
}

/// Collection methods for processes.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SourceName {
    /// Cheapest available method
    Auto,
    /// BPF task iterator in the kernel
    Bpf,
    /// /proc files of processes that ran, others refreshed periodically
    Gate,
    /// /proc files of all processes, each time
    Proc,
}

impl ProcessArgs {
    /// Applies the options to the machine that is opened next. The environment replaces missing options.
    ///
    /// # Errors
    /// If the environment has no valid deadline, and no option has one.
    pub fn apply(self) -> Result<(), Failure> {
        #[cfg(target_os = "linux")]
        // An option replaces the variable, so an invalid variable beside it does no harm.
        if let (None, Err((value, why))) = (self.deadline, perfset::deadline_from_env()) {
            return Err(Failure::new(Exit::Usage, anyhow!("PERFSET_DEADLINE is {value:?}: {why}")));
        }
        self.apply_options();
        Ok(())
    }

    /// Applies the options like [`apply`](Self::apply), and ignores invalid environment variables.
    pub fn apply_options(self) {
        #[cfg(target_os = "linux")]
        {
            self.apply_source();
            self.deadline.map(perfset::set_deadline);
        }
    }

    #[cfg(target_os = "linux")]
    fn apply_source(self) {
        let Some(name) = self.process_source else { return };
        perfset::set_process_source(match name {
            SourceName::Auto => ProcessSource::Auto,
            SourceName::Bpf => ProcessSource::Bpf,
            SourceName::Gate => ProcessSource::Gate,
            SourceName::Proc => ProcessSource::Proc,
        });
    }
}
