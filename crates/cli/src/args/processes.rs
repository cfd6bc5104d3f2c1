//! How processes are read.

#[cfg(target_os = "linux")]
use clap::ValueEnum;
#[cfg(target_os = "linux")]
use perfset::ProcessSource;

/// How processes are read.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ProcessArgs {
    #[cfg(target_os = "linux")]
    /// How processes and threads are read [default: the cheapest way that can be had]
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = "Processes")]
    process_source: Option<SourceName>,
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
    /// From now on they are read so. What is not said here, the environment may say.
    pub fn apply(self) {
        #[cfg(target_os = "linux")]
        self.apply_source();
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
