//! Damage of a log: positions of data that cannot be used.

use std::fmt;

/// Damage of a log: position of omitted data, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset of the damage in bytes from the beginning of the file.
    pub offset: u64,
    /// Description of the damage and of the omitted data.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.what)
    }
}

/// All damage of a log. The first entries are stored in full, the rest is only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damages {
    first: Vec<Damage>,
    count: u64,
}

impl Damages {
    /// Maximum number of damages of a log that are stored; a hostile log may contain any number.
    pub const KEPT: usize = 1_000;

    /// Adds damage at an offset in the file of the log.
    pub fn add(&mut self, offset: u64, what: impl Into<String>) {
        self.count = self.count.saturating_add(1);
        if self.first.len() < Self::KEPT {
            self.first.push(Damage { offset, what: what.into() });
        }
    }

    /// Adds all damage of `others` to this list, sorted by offset.
    pub(crate) fn take_over(&mut self, others: &Self) {
        // Counted apart from the list, which may already lack some.
        self.count = self.count.saturating_add(others.count);
        self.first.extend_from_slice(&others.first);
        // The container and the values find damage in turns; users read it in the order of the file.
        self.first.sort_by_key(|damage| damage.offset);
        self.first.truncate(Self::KEPT);
    }

    /// Returns the damages of the log that are stored in full, in the order of the log.
    #[must_use]
    pub fn first(&self) -> &[Damage] {
        &self.first
    }

    /// Returns the number of damages of the log, including those that are only counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns `true` if the log has no damage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_counted_and_few_kept() {
        let mut damages = Damages::default();
        assert!(damages.is_empty());
        for at in 0..5_000 {
            damages.add(at, "a record is cut");
        }
        assert_eq!((damages.first().len(), damages.count()), (Damages::KEPT, 5_000));
        assert_eq!(damages.first()[7].to_string(), "at byte 7: a record is cut");
    }
}
