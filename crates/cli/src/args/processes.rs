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
    /// How processes and threads are read [default: the cheapest way that can be had]
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = "Processes")]
    process_source: Option<SourceName>,
    #[cfg(target_os = "linux")]
    /// Longest time that a collection waits for programs that publish, firmware, sensors, drivers and file systems;
    /// what is late has its previous value, marked as stale, or none [default: 100ms, or PERFSET_DEADLINE]
    #[arg(long, value_name = "TIME", value_parser = perfset::parse_deadline, help_heading = "Waiting")]
    deadline: Option<Duration>,
}

/// Ways to the numbers of processes.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SourceName {
    /// The cheapest way that can be had
    Auto,
    /// A BPF program that walks over the tasks in the kernel
    Bpf,
    /// Files of processes whose CPU clock moved
    Gate,
    /// Files of all processes, each time
    Proc,
}

impl ProcessArgs {
    /// Applies the options to the machine that is asked next. What is not said here, the environment may say.
    ///
    /// # Errors
    /// If the environment has no valid deadline, and no option has one.
    pub fn apply(self) -> Result<(), Failure> {
        #[cfg(target_os = "linux")]
        if let (None, Err((value, why))) = (self.deadline, perfset::deadline_from_env()) {
            return Err(Failure::new(Exit::Usage, anyhow!("PERFSET_DEADLINE is {value:?}: {why}")));
        }
        self.apply_options();
        Ok(())
    }

    /// Does the same, and ignores what is wrong in the environment.
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
