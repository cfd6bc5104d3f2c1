//! Limit of the work that reading all segments of a recording may take together.

/// Maximum number of work steps to read through one segment: some seconds, a hundred times the need of a large machine.
pub(super) const MOST_STEPS: usize = 4_000_000_000;

/// Budget of work steps for reading all segments together: a few bytes of a segment can hold very many changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepBudget {
    left: usize,
    /// Number of work steps that each byte of a segment adds to the budget.
    of_a_byte: usize,
    /// Index of the file and of its segment that is being read; `taken` counts the steps of a player in this segment.
    segment: Option<(usize, usize)>,
    taken: usize,
}

impl StepBudget {
    /// Number of work steps per byte of a segment, several times what a byte of an honest segment takes.
    const OF_A_BYTE: usize = 64;

    pub fn new() -> Self {
        Self { left: MOST_STEPS, of_a_byte: Self::OF_A_BYTE, segment: None, taken: 0 }
    }

    /// Creates a budget of `left` work steps, to which segments add no steps.
    #[cfg(test)]
    pub fn of(left: usize) -> Self {
        Self { left, of_a_byte: 0, ..Self::new() }
    }

    /// Returns the number of work steps that are left in the budget.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Adds to the budget the work steps for a segment of `len` bytes, unless this segment is already being read.
    pub fn enter(&mut self, segment: (usize, usize), len: usize) {
        if self.segment.replace(segment) != Some(segment) {
            self.left = self.left.saturating_add(len.saturating_mul(self.of_a_byte));
            self.taken = 0;
        }
    }

    /// Takes work steps from the budget for a part of a segment, one for each decompressed byte. Returns `false` if too
    /// few are left, and then takes all of them, because the next part may be as large.
    pub fn spend(&mut self, steps: usize) -> bool {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes the work steps from the budget that a player has taken so far in a segment of `len` bytes.
    pub fn take(&mut self, segment: (usize, usize), len: usize, so_far: usize) {
        self.enter(segment, len);
        let taken = std::mem::replace(&mut self.taken, so_far);
        self.left = self.left.saturating_sub(so_far.saturating_sub(taken));
    }
}
