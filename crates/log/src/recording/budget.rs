//! Limit of the work that the segments of a recording take together.

/// Most steps of a way through a segment: some seconds, and a hundred times those of a large machine.
pub(super) const MOST_STEPS: usize = 4_000_000_000;

/// Steps that a reader may take through all segments together: each can have very many changes in few bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepBudget {
    left: usize,
    /// Steps that each byte of a segment adds.
    of_a_byte: usize,
    /// File and index of the segment that is read, and the steps that a player has taken in it.
    segment: Option<(usize, usize)>,
    taken: usize,
}

impl StepBudget {
    /// A multiple of the steps that a byte of an honest segment takes.
    const OF_A_BYTE: usize = 64;

    pub fn new() -> Self {
        Self { left: MOST_STEPS, of_a_byte: Self::OF_A_BYTE, segment: None, taken: 0 }
    }

    /// Creates a budget of these steps, to which segments add none.
    #[cfg(test)]
    pub fn of(left: usize) -> Self {
        Self { left, of_a_byte: 0, ..Self::new() }
    }

    /// Returns the number of steps that are left.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Adds the steps of a segment of this length, unless it is the one that is read already.
    pub fn enter(&mut self, segment: (usize, usize), len: usize) {
        if self.segment.replace(segment) != Some(segment) {
            self.left = self.left.saturating_add(len.saturating_mul(self.of_a_byte));
            self.taken = 0;
        }
    }

    /// Takes the steps through a part of a segment, one for each decompressed byte. Returns `false` if too few are
    /// left: then none is, because the next part may be as large.
    pub fn spend(&mut self, steps: usize) -> bool {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes the steps that a player has taken so far in a segment of this length.
    pub fn take(&mut self, segment: (usize, usize), len: usize, so_far: usize) {
        self.enter(segment, len);
        let taken = std::mem::replace(&mut self.taken, so_far);
        self.left = self.left.saturating_sub(so_far.saturating_sub(taken));
    }
}
