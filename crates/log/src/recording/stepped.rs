//! Machine of a recording that stands at one tick until it is stepped to the next.

use std::fmt;

use perfset_engine::{Machine, Player, SourceError};

use super::player::RecordingPlayer;
use super::source::Recording;

/// Machine of a recording that stands at one tick until it is stepped to the next. Queries of V1 blocks need it: each
/// of them is a query of its own.
pub struct SteppedRecording {
    player: RecordingPlayer,
    machine: Machine,
}

impl fmt::Debug for SteppedRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SteppedRecording").finish_non_exhaustive()
    }
}

impl SteppedRecording {
    /// Returns the machine of the recording. Before the first step it has no values.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Steps the machine to the next tick of the recording, at first to the first tick. Returns `false` at the end.
    ///
    /// # Errors
    /// If the next tick cannot be read.
    pub fn step(&mut self) -> Result<bool, SourceError> {
        self.player.step()
    }
}

impl Recording {
    /// Returns a machine of the recording that stands before the first tick of the window.
    #[must_use]
    pub fn stepped(&self) -> SteppedRecording {
        let player = self.player();
        SteppedRecording { machine: player.machine(), player }
    }
}
