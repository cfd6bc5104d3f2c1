//! Time that a reader spends on directories of other users: a limited amount, which work uses up and passing time
//! refills.

use std::time::{Duration, Instant};

/// Divisor for the part of the passing time that refills an allowance: 1/50, which is 2 %.
const REFILL: u32 = 50;

/// Limited amount of time, which work uses up and passing time refills. Collections within `t` seconds together spend
/// at most this amount, 2 % of `t`, and the time by which their last step exceeded it.
#[derive(Clone, Debug)]
pub(crate) struct Allowance {
    most: Duration,
    left: Duration,
    /// Time that was spent beyond the allowance, at most as much as the whole allowance.
    debt: Duration,
    refilled: Instant,
}

impl Allowance {
    /// Creates an allowance of which nothing is spent yet.
    pub fn new(most: Duration) -> Self {
        Self { most, left: most, debt: Duration::ZERO, refilled: Instant::now() }
    }

    /// Returns the time of the allowance that may be spent now, or zero if only a small rest is left. The rest is
    /// saved, so that each use gets something done.
    pub fn left(&mut self) -> Duration {
        self.refill(Instant::now());
        self.usable()
    }

    fn usable(&self) -> Duration {
        /// Divisor for the part of the whole allowance below which the remaining time counts as a small rest.
        const SMALL: u32 = 16;
        if self.left < self.most.checked_div(SMALL).unwrap_or_default() { Duration::ZERO } else { self.left }
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.refilled);
        self.refilled = now;
        let earned = passed.checked_div(REFILL).unwrap_or_default();
        // Debts come first: otherwise steps that exceed the stock could together take more than 2 %.
        let paid = earned.min(self.debt);
        self.debt = self.debt.saturating_sub(paid);
        self.left = self.left.saturating_add(earned.saturating_sub(paid)).min(self.most);
    }

    /// Subtracts used time from the allowance.
    pub fn spend(&mut self, used: Duration) {
        let beyond = used.saturating_sub(self.left);
        self.left = self.left.saturating_sub(used);
        // Limited: a single very long step must not stop all work for hours.
        self.debt = self.debt.saturating_add(beyond).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_is_refilled_slowly() {
        let ms = Duration::from_millis;
        let mut stock = Allowance::new(ms(40));
        let start = stock.refilled;
        let mut at = |after: u64, used: u64| {
            stock.refill(start + ms(after));
            let left = stock.usable();
            stock.spend(ms(used));
            left
        };
        assert_eq!(at(0, 30), ms(40));
        assert_eq!(at(0, 30), ms(10), "20 ms more than there are");
        assert_eq!(at(500, 0), ms(0), "10 ms are paid back");
        assert_eq!(at(2000, 0), ms(20));
        assert_eq!(at(2100, 0), ms(22));
        assert_eq!(at(60_000, 10_000), ms(40), "never more than the whole stock");
        assert_eq!(at(62_000, 0), ms(0), "the debt is no more than the stock");
        assert_eq!(at(62_100, 0), ms(0), "2 ms are too little");
        assert_eq!(at(63_000, 0), ms(20));
    }
}
