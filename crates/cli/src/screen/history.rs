//! History of a screen's own samples, for sparklines.

use std::collections::VecDeque;

use perfset::overview::{MachineState, StateValue};

/// Number of samples that are stored: the width of the longest sparkline.
pub const LEN: usize = 60;

/// Shares in percent, the oldest first. `None` is a missing value.
pub type ShareHistory = VecDeque<Option<f64>>;

/// Shares of the last samples.
#[derive(Debug, Default)]
pub struct History {
    /// Use of the processors.
    pub busy: ShareHistory,
    /// Use of the memory.
    pub memory: ShareHistory,
    /// Time in which a task waited for memory.
    pub memory_waits: ShareHistory,
    /// Time in which a task waited for storage.
    pub storage_waits: ShareHistory,
}

impl History {
    /// Stores the shares of a sample.
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
