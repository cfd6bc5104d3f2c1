//! Instance filters: of one query entry, and of all entries for a counterset together.

use std::collections::HashMap;
use std::ops::Deref;

use perfset_core::utf16::upper;
use perfset_core::{InstanceId, InstanceIdFilter};

use crate::pattern::Pattern;

/// Selection of instances by one query entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstanceFilter {
    /// Pattern that the instance name must match.
    pub pattern: Pattern,
    /// Filter that the instance id must match.
    pub id: InstanceIdFilter,
}

impl InstanceFilter {
    /// Returns `true` if the filter selects the instance with this name and id.
    pub fn matches(&self, name: impl Iterator<Item = u16> + Clone, id: InstanceId) -> bool {
        self.id.matches(id) && self.pattern.matches(name)
    }

    /// Creates an instance filter that selects all instances.
    #[must_use]
    pub fn any() -> Self {
        Self { pattern: Pattern::any(), id: InstanceIdFilter::Any }
    }

    /// Returns `true` if the instance filter selects all instances.
    pub fn is_any(&self) -> bool {
        self.id == InstanceIdFilter::Any && self.pattern.is_any()
    }
}

/// Set of instance filters; it selects an instance if any of them does.
///
/// There can be many names without wildcards, for example one per process. They are found by hash, so that the cost
/// per instance does not depend on their number. The table contains requested names, not existing ones: programs that
/// name instances cannot fill it.
///
/// ```
/// use perfset::{InstanceId, InstanceIdFilter};
/// use perfset::{InstanceFilter, InstanceFilters, Pattern};
/// let filter = |name: &str| InstanceFilter { pattern: Pattern::new(&name.into()), id: InstanceIdFilter::Any };
/// let filters: InstanceFilters = ["a", "b*"].into_iter().map(filter).collect();
/// let asked = |name: &str| filters.wants(name.encode_utf16(), InstanceId(1));
/// assert!(asked("A") && asked("bc") && !asked("c"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct InstanceFilters {
    all: Vec<InstanceFilter>,
    /// Positions of the instance filters that are tried one after the other.
    tried: Vec<usize>,
    /// Positions of the other instance filters, whose names have no wildcards, by the hash of the name.
    by_name: HashMap<u64, Vec<usize>>,
}

/// Maximum number of instance names that are compared one by one, which is faster than hashing.
const FEW: usize = 8;

impl InstanceFilters {
    /// Creates a set of instance filters that selects all instances.
    #[must_use]
    pub fn any() -> Self {
        [InstanceFilter::any()].into_iter().collect()
    }
}

impl FromIterator<InstanceFilter> for InstanceFilters {
    fn from_iter<T: IntoIterator<Item = InstanceFilter>>(filters: T) -> Self {
        let all: Vec<_> = filters.into_iter().collect();
        let (mut tried, exact): (Vec<_>, Vec<_>) =
            all.iter().enumerate().partition(|(_, filter)| filter.pattern.has_wildcard());
        let mut by_name: HashMap<u64, Vec<usize>> = HashMap::new();
        if exact.len() <= FEW {
            tried.extend(exact);
        } else {
            for (at, filter) in exact {
                by_name.entry(filter.pattern.hash_of_name()).or_default().push(at);
            }
        }
        let tried = tried.into_iter().map(|(at, _)| at).collect();
        Self { tried, by_name, all }
    }
}

impl InstanceFilters {
    /// Returns `true` if any filter of the set selects the instance with this name and id.
    pub fn wants(&self, name: impl Iterator<Item = u16> + Clone, id: InstanceId) -> bool {
        self.matching(name, id).next().is_some()
    }

    /// Returns the positions of the filters that select the instance with this name and id.
    pub(crate) fn matching(
        &self,
        name: impl Iterator<Item = u16> + Clone,
        id: InstanceId,
    ) -> impl Iterator<Item = usize> {
        let other = name.clone();
        let by_name =
            || (!self.by_name.is_empty()).then(|| self.by_name.get(&hash(other.map(upper)))).flatten();
        // Hashed only when needed: without exact names the table is empty.
        let found = std::iter::once_with(by_name).flatten().flatten();
        let asks =
            move |at: &&usize| self.all.get(**at).is_some_and(|filter| filter.matches(name.clone(), id));
        self.tried.iter().chain(found).filter(asks).copied()
    }
}

impl Deref for InstanceFilters {
    type Target = [InstanceFilter];

    fn deref(&self) -> &[InstanceFilter] {
        &self.all
    }
}

impl PartialEq for InstanceFilters {
    fn eq(&self, other: &Self) -> bool {
        // The other fields are computed from this one.
        self.all == other.all
    }
}

/// Computes the FNV-1a hash of an instance name over UTF-16 units instead of bytes.
pub(crate) fn hash(capitals: impl Iterator<Item = u16>) -> u64 {
    const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    capitals.fold(BASIS, |hash, unit| (hash ^ u64::from(unit)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filter(name: &str, id: Option<u32>) -> InstanceFilter {
        let id = id.map_or(InstanceIdFilter::Any, |id| InstanceIdFilter::One(InstanceId(id)));
        InstanceFilter { pattern: Pattern::new(&name.into()), id }
    }

    #[test]
    fn many_names_are_hashed() {
        let names = |most: usize| (0..most).map(|n| filter(&n.to_string(), None));
        let few: InstanceFilters = names(FEW).chain([filter("*a", None)]).collect();
        assert!(few.by_name.is_empty() && few.tried.len() == FEW + 1);
        let many: InstanceFilters = names(FEW + 1).chain([filter("*a", None)]).collect();
        assert_eq!((many.by_name.len(), &*many.tried), (FEW + 1, &[FEW + 1][..]));
        assert_eq!(InstanceFilters::default(), [].into_iter().collect());
    }

    proptest! {
        /// A set of many instance filters selects the same instances as its filters one by one.
        #[test]
        fn together_as_each(
            asked in prop::collection::vec(("[abA*é]{0,3}", prop::option::of(0..3_u32)), 0..40),
            names in prop::collection::vec(("[abBÉ]{0,3}", 0..3_u32), 0..9),
        ) {
            let filters: InstanceFilters = asked.iter().map(|(name, id)| filter(name, *id)).collect();
            for (name, id) in names {
                let matches = |filter: &InstanceFilter| filter.matches(name.encode_utf16(), InstanceId(id));
                let want: Vec<_> = (0..filters.len()).filter(|at| matches(&filters[*at])).collect();
                let mut got: Vec<_> = filters.matching(name.encode_utf16(), InstanceId(id)).collect();
                got.sort();
                prop_assert_eq!(filters.wants(name.encode_utf16(), InstanceId(id)), !want.is_empty());
                prop_assert_eq!(got, want, "{} {}", name, id);
            }
        }
    }
}
