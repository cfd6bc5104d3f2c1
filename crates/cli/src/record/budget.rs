//! Budget of CPU time for a recorder: above it, the most expensive countersets are read less often.

use std::collections::HashMap;
use std::time::Duration;

use perfset::Guid;

/// Period whose mean CPU time is compared with the recorder's budget.
const MINUTE: Duration = Duration::from_secs(60);
/// Number of minutes in a row below half of the CPU budget, after which a counterset gets its interval back.
const QUIET_MINUTES: u32 = 10;

/// Budget of CPU time for a recorder, and the time used since the current minute began.
#[derive(Debug, Default)]
pub struct CpuBudget {
    /// Maximum CPU time of the recorder, in percent of one processor; `None` is no limit.
    most: Option<f64>,
    /// Elapsed time and CPU time of the recorder at which the current minute began.
    begin: Option<(Duration, Duration)>,
    /// Time that each counterset took to collect in the current minute.
    costs: HashMap<Guid, Duration>,
    quiet: u32,
    /// Countersets whose interval was doubled, in the order of the changes. A counterset can be there several times.
    slowed: Vec<Guid>,
    /// `true` if the CPU budget was exceeded with all countersets at their longest interval.
    is_exhausted: bool,
}

/// Change of recording intervals to keep the CPU budget, and the CPU time of the last minute in percent of one
/// processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BudgetChange {
    /// Doubling of a counterset's recording interval.
    Slow(Guid, f64),
    /// Halving of a counterset's recording interval, which was doubled before.
    Restore(Guid, f64),
    /// State in which the CPU budget is exceeded, and no interval can be doubled.
    Exhausted(f64),
}

impl CpuBudget {
    /// Creates a CPU budget of this share of one processor in percent.
    pub fn new(most: Option<f64>) -> Self {
        Self { most, ..Self::default() }
    }

    /// Adds the time that the collection of a counterset took.
    pub fn add(&mut self, counterset: Guid, took: Duration) {
        let cost = self.costs.entry(counterset).or_default();
        *cost = cost.saturating_add(took);
    }

    /// Compares the CPU time of a minute with the budget, and returns the necessary change of intervals. Returns what
    /// changes. `can_slow` returns `true` for countersets whose interval can be doubled.
    pub fn check(
        &mut self,
        elapsed: Duration,
        cpu: Duration,
        can_slow: impl Fn(&Guid) -> bool,
    ) -> Option<BudgetChange> {
        let most = self.most?;
        // What came before the first sample is the cost of starting.
        let (began, used) = *self.begin.get_or_insert((elapsed, cpu));
        let passed = elapsed.saturating_sub(began);
        if passed < MINUTE {
            return None;
        }
        self.begin = Some((elapsed, cpu));
        let costs = std::mem::take(&mut self.costs);
        let share = cpu.saturating_sub(used).as_secs_f64() / passed.as_secs_f64() * 100.0;
        if share > most {
            self.quiet = 0;
            let dearest = costs.into_iter().filter(|(set, _)| can_slow(set)).max_by_key(|(_, cost)| *cost);
            return match dearest {
                Some((counterset, _)) => {
                    self.slowed.push(counterset);
                    Some(BudgetChange::Slow(counterset, share))
                }
                None if std::mem::replace(&mut self.is_exhausted, true) => None,
                None => Some(BudgetChange::Exhausted(share)),
            };
        }
        self.is_exhausted = false;
        // Half the interval at most doubles a cost, so the budget is not exceeded by that.
        self.quiet = if share * 2.0 < most { self.quiet.saturating_add(1) } else { 0 };
        if self.quiet < QUIET_MINUTES {
            return None;
        }
        self.quiet = 0;
        Some(BudgetChange::Restore(self.slowed.pop()?, share))
    }

    /// Takes back a change of recording intervals that could not be made.
    pub fn failed(&mut self, change: BudgetChange) {
        match change {
            BudgetChange::Slow(counterset, _) => {
                if let Some(at) = self.slowed.iter().rposition(|slowed| *slowed == counterset) {
                    self.slowed.remove(at);
                }
            }
            // The others get their intervals back first: this counterset may never come again.
            BudgetChange::Restore(counterset, _) => self.slowed.insert(0, counterset),
            BudgetChange::Exhausted(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: Guid = Guid::from_u128(1);
    const DEAR: Guid = Guid::from_u128(2);

    /// CPU budget with a scripted clock: each minute has 60 samples.
    struct FakeMinutes {
        budget: CpuBudget,
        elapsed: Duration,
        cpu: Duration,
    }

    impl FakeMinutes {
        fn new(most: Option<f64>) -> Self {
            let mut minutes =
                Self { budget: CpuBudget::new(most), elapsed: Duration::from_secs(7), cpu: Duration::ZERO };
            // The start costs a second, and is not counted.
            minutes.cpu += Duration::from_secs(1);
            assert_eq!(minutes.budget.check(minutes.elapsed, minutes.cpu, |_| true), None);
            minutes
        }

        /// Simulates a minute in which the process takes these milliseconds of CPU time, two thirds of it for one
        /// counterset.
        fn minute(&mut self, ms: u64, can_slow: impl Fn(&Guid) -> bool) -> Option<BudgetChange> {
            let mut change = None;
            for second in 1..=60_u32 {
                self.elapsed += Duration::from_secs(1);
                self.cpu += Duration::from_millis(ms) / 60;
                self.budget.add(CHEAP, Duration::from_millis(ms) / 180);
                self.budget.add(DEAR, Duration::from_millis(ms) / 90);
                let found = self.budget.check(self.elapsed, self.cpu, &can_slow);
                assert!(found.is_none() || second == 60, "{found:?} after {second} s");
                change = change.or(found);
            }
            change
        }
    }

    fn counterset_of(change: Option<BudgetChange>) -> Option<(Guid, bool)> {
        match change? {
            BudgetChange::Slow(set, share) => {
                assert!((1.9..2.1).contains(&share), "{share} %");
                Some((set, true))
            }
            BudgetChange::Restore(set, _) => Some((set, false)),
            BudgetChange::Exhausted(_) => None,
        }
    }

    #[test]
    fn a_dear_minute_slows_the_dearest_counterset() {
        let mut minutes = FakeMinutes::new(Some(1.0));
        // 0.9 % of a minute.
        assert_eq!(minutes.minute(540, |_| true), None);
        // 2 %.
        assert_eq!(counterset_of(minutes.minute(1_200, |_| true)), Some((DEAR, true)));
        assert_eq!(counterset_of(minutes.minute(1_200, |_| true)), Some((DEAR, true)));
        assert_eq!(counterset_of(minutes.minute(1_200, |set| *set != DEAR)), Some((CHEAP, true)));
        // It is said once that nothing is left to be slowed, and again after a minute within the budget.
        let exhausted = |change| matches!(change, Some(BudgetChange::Exhausted(_)));
        assert!(exhausted(minutes.minute(1_200, |_| false)));
        assert_eq!(minutes.minute(1_200, |_| false), None);
        assert_eq!(minutes.minute(540, |_| false), None);
        assert!(exhausted(minutes.minute(1_200, |_| false)));
    }

    #[test]
    fn quiet_minutes_restore_intervals_in_turn() {
        let mut minutes = FakeMinutes::new(Some(1.0));
        minutes.minute(1_200, |_| true);
        minutes.minute(1_200, |set| *set != DEAR);
        // 0.4 %, with one minute of 0.6 % between.
        let mut restored = Vec::new();
        for minute in 1..=30 {
            let change = minutes.minute(if minute == 5 { 360 } else { 240 }, |_| true);
            restored.extend(counterset_of(change).map(|(set, _)| (minute, set)));
        }
        assert_eq!(restored, [(15, CHEAP), (25, DEAR)]);
    }

    /// Checks that a change of a recording interval that failed is not taken back later, and that a failed
    /// restoration is tried again.
    #[test]
    fn failed_changes_did_not_happen() {
        let mut minutes = FakeMinutes::new(Some(1.0));
        minutes.minute(1_200, |_| true);
        minutes.minute(1_200, |set| *set != DEAR);
        minutes.budget.failed(BudgetChange::Slow(DEAR, 2.0));
        assert_eq!(minutes.budget.slowed, [CHEAP]);
        minutes.minute(1_200, |_| true);
        let restored = minutes.budget.slowed.pop().unwrap();
        minutes.budget.failed(BudgetChange::Restore(restored, 0.4));
        assert_eq!(minutes.budget.slowed, [DEAR, CHEAP]);
    }

    #[test]
    fn no_budget_changes_nothing() {
        let mut minutes = FakeMinutes::new(None);
        assert_eq!(minutes.minute(60_000, |_| true), None);
    }

    /// Checks that a minute of the CPU budget that lasted longer, such as ten minutes, is judged by its mean CPU
    /// time. A minute is longer if the machine slept or the recorder could not run.
    #[test]
    fn long_minutes_are_means() {
        let mut minutes = FakeMinutes::new(Some(1.0));
        minutes.elapsed += Duration::from_secs(600);
        minutes.cpu += Duration::from_secs(3);
        minutes.budget.add(DEAR, Duration::from_secs(3));
        assert_eq!(minutes.budget.check(minutes.elapsed, minutes.cpu, |_| true), None);
        minutes.elapsed += Duration::from_secs(600);
        minutes.cpu += Duration::from_secs(12);
        minutes.budget.add(DEAR, Duration::from_secs(12));
        let change = minutes.budget.check(minutes.elapsed, minutes.cpu, |_| true);
        assert_eq!(counterset_of(change), Some((DEAR, true)));
    }
}
