//! Limits for the files of all users other than root and this one, shared by the whole process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use perfset_engine::per_process::PerProcess;

/// Maximum number of files read per user other than root and the current user.
pub(super) const OF_A_STRANGER: usize = 256;

/// Maximum number of bytes that are read of other users' files, all together.
pub(crate) const MOST_BYTES: u64 = 64 << 20;
/// Maximum number of instances that are read of other users' files, all together.
pub(crate) const MOST_INSTANCES: u64 = 100_000;

/// Limits on the resources that files of other users may use in this process.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    pub bytes: Arc<Pool>,
    pub instances: Arc<Pool>,
}

impl Budget {
    pub fn new(bytes: u64, instances: u64) -> Self {
        Self { bytes: Arc::new(Pool::new(bytes)), instances: Arc::new(Pool::new(instances)) }
    }

    /// Returns the budget for files of other users of this process, shared by all its readers.
    pub fn for_process() -> Self {
        static OWN: PerProcess<Budget> = PerProcess::new();
        OWN.get(|| Self::new(MOST_BYTES, MOST_INSTANCES)).clone()
    }
}

/// Amount of a resource that is shared fairly among users: if it is insufficient, a user's share is not cut while
/// another user has more.
#[derive(Debug)]
pub(crate) struct Pool {
    most: u64,
    demands: Mutex<Demands>,
}

#[derive(Debug, Default)]
struct Demands {
    next: u64,
    users: BTreeMap<u32, User>,
    /// Sums of wanted and granted amounts over all shares of the pool.
    sum: Amounts,
}

#[derive(Debug, Default)]
struct User {
    /// Shares of the pool that the user has, by number, the oldest first: older shares are served first.
    shares: BTreeMap<u64, Amounts>,
    /// Sum of the amounts that the user's shares want.
    wanted: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amounts {
    wanted: u64,
    granted: u64,
}

impl Pool {
    fn new(most: u64) -> Self {
        Self { most, demands: Mutex::default() }
    }

    /// Returns the whole amount of the pool.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Creates an empty share of the pool for one of that user's files or countersets.
    pub fn share(self: &Arc<Self>, user: u32) -> Share {
        self.locked(|demands| {
            let number = demands.next;
            demands.next = number.saturating_add(1);
            demands.users.entry(user).or_default().shares.insert(number, Amounts::default());
            Share { pool: Arc::clone(self), user, number }
        })
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Demands) -> T) -> T {
        work(&mut self.demands.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Demands {
    /// Replaces the wanted and granted amounts of a share, or removes the share.
    fn set(&mut self, user: u32, number: u64, amounts: Option<Amounts>) {
        let Some(of_user) = self.users.get_mut(&user) else { return };
        let before = match amounts {
            Some(amounts) => of_user.shares.insert(number, amounts),
            None => of_user.shares.remove(&number),
        };
        let (before, after) = (before.unwrap_or_default(), amounts.unwrap_or_default());
        let change = |sum: u64, before: u64, after: u64| sum.saturating_sub(before).saturating_add(after);
        of_user.wanted = change(of_user.wanted, before.wanted, after.wanted);
        self.sum.wanted = change(self.sum.wanted, before.wanted, after.wanted);
        self.sum.granted = change(self.sum.granted, before.granted, after.granted);
        if of_user.shares.is_empty() {
            self.users.remove(&user);
        }
    }

    /// Returns the amount that is due to a share of the pool, if all other shares get what is due to them.
    fn due(&self, user: u32, number: u64, most: u64) -> u64 {
        let Some(of_user) = self.users.get(&user) else { return 0 };
        let wanted = of_user.shares.get(&number).map_or(0, |amounts| amounts.wanted);
        // While there is enough for all, nothing needs to be divided. This is nearly always so.
        if self.sum.wanted <= most {
            return wanted;
        }
        let older = of_user.shares.range(..number);
        let before = older.fold(0_u64, |sum, (_, amounts)| sum.saturating_add(amounts.wanted));
        self.part_of(user, most).saturating_sub(before).min(wanted)
    }

    /// Returns the part of the pool's whole amount that a user gets. Users who want least are served first, and the
    /// rest is divided among the others.
    fn part_of(&self, user: u32, most: u64) -> u64 {
        let mut sums: Vec<(u64, u32)> =
            self.users.iter().map(|(user, of_user)| (of_user.wanted, *user)).collect();
        sums.sort_unstable();
        let mut left = most;
        let mut users = u64::try_from(sums.len()).unwrap_or(u64::MAX);
        for (sum, of) in sums {
            // Ascending by demand: what a modest user leaves is divided among those after it.
            let part = left.checked_div(users).unwrap_or(0).min(sum);
            if of == user {
                return part;
            }
            left = left.saturating_sub(part);
            users = users.saturating_sub(1);
        }
        0
    }
}

/// Share of a pool that limits files of other users; returned to the pool when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    pool: Arc<Pool>,
    user: u32,
    number: u64,
}

impl Share {
    /// Announces the amount that the share wants and keeps the granted one: other shares are granted less from now
    /// on.
    pub fn want(&self, amount: u64) {
        self.set(amount, |_, before| before);
    }

    /// Replaces the amount that the share wants; returns the part that is granted now. That is less than what is due
    /// until shares that were granted more have asked again.
    pub fn ask(&self, amount: u64) -> u64 {
        self.set(amount, |due, _| due)
    }

    fn set(&self, wanted: u64, granted: impl FnOnce(u64, u64) -> u64) -> u64 {
        let most = self.pool.most;
        let wanted = wanted.min(most); // sums of demands stay far from the end of their type
        self.pool.locked(|demands| {
            let of_user = demands.users.get(&self.user);
            let before = of_user.and_then(|user| user.shares.get(&self.number)).copied().unwrap_or_default();
            demands.set(self.user, self.number, Some(Amounts { wanted, ..before }));
            // What other shares still hold cannot be granted twice, even if it is no longer due to them.
            let free = most.saturating_sub(demands.sum.granted.saturating_sub(before.granted));
            let due = demands.due(self.user, self.number, most);
            let granted = granted(due, before.granted).min(wanted).min(free);
            demands.set(self.user, self.number, Some(Amounts { wanted, granted }));
            granted
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.pool.locked(|demands| demands.set(self.user, self.number, None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the amounts for tests that `(user, amount)` requests get from a pool of 100.
    fn given(wanted: &[(u32, u64)]) -> Vec<u64> {
        let pool = Arc::new(Pool::new(100));
        let shares: Vec<_> = wanted.iter().map(|(user, amount)| (pool.share(*user), *amount)).collect();
        for (share, amount) in &shares {
            share.want(*amount);
        }
        shares.iter().map(|(share, amount)| share.ask(*amount)).collect()
    }

    #[test]
    fn nobody_is_pushed_out() {
        for (name, wanted, expected) in [
            ("enough for all", &[(1, 60), (2, 40)][..], vec![60, 40]),
            ("one wants too much", &[(1, 1000), (2, 40)], vec![60, 40]),
            ("all want too much", &[(1, 1000), (2, 999), (3, u64::MAX)], vec![33, 33, 34]),
            ("a user's first is served first", &[(1, 30), (1, 1000), (2, 10), (1, 5)], vec![30, 60, 10, 0]),
            ("many files are no more than one", &[(1, 40), (1, 40), (1, 40), (2, 60)], vec![40, 10, 0, 50]),
            ("nothing is wanted", &[(1, 0)], vec![0]),
        ] {
            let given = given(wanted);
            assert_eq!(given, expected, "{name}");
            assert!(given.iter().sum::<u64>() <= 100, "{name}");
        }
    }

    #[test]
    fn returned_budget_is_available_again() {
        let pool = Arc::new(Pool::new(100));
        let (one, other) = (pool.share(1), pool.share(2));
        assert_eq!((one.ask(100), other.ask(70), one.ask(100), other.ask(70)), (100, 0, 50, 50));
        assert_eq!((other.ask(10), one.ask(100)), (10, 90));
        drop(one);
        assert_eq!(other.ask(200), 100);
        drop(other);
        assert!(pool.locked(|demands| demands.users.is_empty() && demands.sum == Amounts::default()));
    }

    /// Checks that random requests of several users together never get more than the pool has.
    #[test]
    fn random_demands() {
        let mut random = 88_172_645_463_325_252_u64;
        let mut below = move |end: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % end
        };
        let pool = Arc::new(Pool::new(100));
        let granted = || pool.locked(|demands| demands.sum.granted);
        let shares: Vec<_> = (0..40).map(|n| (pool.share(n % 7), n % 7)).collect();
        for _ in 0..500 {
            let wanted: Vec<u64> = shares.iter().map(|_| below(20)).collect();
            let ask = || -> Vec<u64> {
                let one = |((share, _), amount): (&(Share, u32), &u64)| {
                    let given = share.ask(*amount);
                    assert!(granted() <= 100, "{shares:?}");
                    given
                };
                shares.iter().zip(&wanted).map(one).collect()
            };
            ask();
            ask();
            let given = ask();
            let sum: u64 = given.iter().sum();
            assert!(sum <= 100 && sum >= 100.min(wanted.iter().sum::<u64>()), "{given:?} of {wanted:?}");
            // A user who got less than requested has no less than any other user, except for the indivisible rest.
            let of = |amounts: &[u64], user: u32| -> u64 {
                shares.iter().zip(amounts).filter(|((_, u), _)| *u == user).map(|(_, amount)| amount).sum()
            };
            for cut in (0..7).filter(|user| of(&given, *user) < of(&wanted, *user)) {
                assert!(
                    (0..7).all(|user| of(&given, user) <= of(&given, cut) + 1),
                    "{given:?} of {wanted:?}"
                );
            }
        }
    }
}
