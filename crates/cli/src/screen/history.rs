//! History of the machine's use and waits, in percent, in earlier samples of a screen, for sparklines.

use std::collections::VecDeque;

use perfset::overview::{MachineState, StateValue};

/// Number of samples that the history of a screen stores: the width of the longest sparkline.
pub const LEN: usize = 60;

/// History of one share in percent, the oldest value first. `None` is a missing value.
pub type ShareHistory = VecDeque<Option<f64>>;

/// Shares of use and of waiting in the last samples of a screen.
#[derive(Debug, Default)]
pub struct History {
    /// History of the processors' use, in percent.
    pub busy: ShareHistory,
    /// History of the memory's use, in percent.
    pub memory: ShareHistory,
    /// History of the time in which at least one task waited for memory, in percent.
    pub memory_waits: ShareHistory,
    /// History of the time in which at least one task waited for storage, in percent.
    pub storage_waits: ShareHistory,
}

impl History {
    /// Appends the shares of a sample to the history, and drops the oldest ones.
    pub fn push(&mut self, state: &MachineState) {
        let push = |history: &mut ShareHistory, share: StateValue| {
            if history.len() >= LEN {
                history.pop_front();
            }
            history.push_back(share.ok());
        };
        push(&mut self.busy, state.processors.busy.clone());
        push(&mut self.memory, state.memory.used_percent());
        push(&mut self.memory_waits, state.pressure.memory.clone());
        push(&mut self.storage_waits, state.pressure.storage.clone());
    }
}
