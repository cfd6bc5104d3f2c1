//! Collection methods for processes.

/// Collection methods for processes, the cheapest first. Their numbers are those of the counter Source Layer of
/// Perfset Engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessMethod {
    /// BPF task iterator in the kernel.
    Bpf,
    /// CPU-clock gate: reads the files of processes that ran since the last collection, according to their CPU clocks.
    Gate,
    /// Full `/proc` scan: reads the files of all processes.
    Proc,
}

impl ProcessMethod {
    /// Returns the number of the collection method in the counter Source Layer.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Bpf => 1,
            Self::Gate => 2,
            Self::Proc => 3,
        }
    }

    /// Returns a description of the collection method for users.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Bpf => "BPF task iterator",
            Self::Gate => "/proc files of processes that ran, others refreshed periodically",
            Self::Proc => "/proc files of all processes, each time",
        }
    }
}
