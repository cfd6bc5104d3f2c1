//! Facts about the processes and disks that a screen shows, such as their users and mount points.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::catalogue::{physical_disk, process_v2};
use crate::{Birth, FactKind, FactOptions, Guid, Identity, InstanceId, Name, Source};

use super::state::{DiskState, ProcessState};

/// Number of instances whose facts may be read again after one sample, even if few instances are shown.
const AGAIN: usize = 2;

/// Number of samples after which the facts of an instance are read again: a process can move to another group, a disk
/// be mounted.
const FRESH: u16 = 30;

/// Number of samples for which the facts of instances that are no longer shown are kept.
const KEPT: u64 = 60;

/// Maximum number of characters of a fact; a longer fact is cut.
const LEN: usize = 400;

/// Facts about the processes and disks of an overview. Facts are read for shown instances only, and stored for some
/// samples.
///
/// Command lines are those that [`FactOptions::default`] allows: of the user's own processes, and all for root.
#[derive(Debug, Default)]
pub struct FactCache {
    facts: HashMap<FactsKey, StoredFacts>,
    /// Sequence number of the overview's current sample.
    sample: u64,
}

/// Key of an instance whose facts are cached: its counterset, name, id and birth. A program that executes another one
/// changes its name only.
type FactsKey = (Guid, String, u32, Birth);

#[derive(Debug)]
struct StoredFacts {
    facts: InstanceFacts,
    /// Sequence number of the sample in which the instance's facts were read.
    read: u64,
    /// Sequence number of the last sample in which the instance was shown.
    shown: u64,
}

/// Known facts about an instance. Their text may come from any user: escape it before it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceFacts(Vec<(FactKind, String)>);

impl InstanceFacts {
    /// Creates the cached facts of an instance.
    #[must_use]
    pub fn new(facts: Vec<(FactKind, String)>) -> Self {
        Self(facts)
    }

    /// Returns the text of an instance's fact, if it is known and not empty.
    #[must_use]
    pub fn text(&self, kind: FactKind) -> Option<&str> {
        let found = self.0.iter().find(|(known, text)| *known == kind && !text.is_empty());
        found.map(|(_, text)| text.as_str())
    }
}

impl FactCache {
    /// Maximum number of new instances whose facts, such as command lines, are read after each sample.
    pub const NEW_AT_ONCE: usize = 1_000;

    /// Reads the facts about the shown instances, and forgets facts about other instances. To be called once after
    /// each sample.
    ///
    /// One call reads at most [`NEW_AT_ONCE`](Self::NEW_AT_ONCE) instances for the first time; the others follow after
    /// the next samples. Facts that are 30 samples old are read again, the oldest first. One call does so for two
    /// instances, or a thirtieth of the shown ones, so no shown fact becomes older than 60 samples. A source that has
    /// no facts costs a call for each instance and no more.
    pub fn read<'s>(
        &mut self,
        source: &mut dyn Source,
        processes: impl IntoIterator<Item = &'s ProcessState>,
        disks: impl IntoIterator<Item = &'s DiskState>,
    ) {
        self.sample = self.sample.wrapping_add(1);
        let now = self.sample;
        let mut new = Self::NEW_AT_ONCE;
        let mut shown = 0_usize;
        let mut stale = Vec::new();
        let keys = processes.into_iter().map(of_process).chain(disks.into_iter().map(of_disk));
        for key in keys {
            match self.facts.get_mut(&key) {
                // A process can be in several lists.
                Some(known) if known.shown == now => {}
                Some(known) => {
                    (known.shown, shown) = (now, shown.saturating_add(1));
                    let age = now.wrapping_sub(known.read);
                    if age >= FRESH.into() {
                        stale.push((age, key));
                    }
                }
                None => {
                    if let Some(less) = new.checked_sub(1) {
                        new = less;
                        let facts = read(source, &key);
                        self.facts.insert(key, StoredFacts { facts, read: now, shown: now });
                    }
                }
            }
        }
        // In the order of the rows, those below the first ones would never have their turn.
        stale.sort_by_key(|(age, _)| Reverse(*age));
        for (_, key) in stale.into_iter().take(shown.div_ceil(FRESH.into()).max(AGAIN)) {
            let facts = read(source, &key);
            self.facts.insert(key, StoredFacts { facts, read: now, shown: now });
        }
        self.facts.retain(|_, stored| now.wrapping_sub(stored.shown) <= KEPT);
    }

    /// Returns the facts about a process, if they have been read.
    #[must_use]
    pub fn process(&self, process: &ProcessState) -> Option<&InstanceFacts> {
        self.facts.get(&of_process(process)).map(|stored| &stored.facts)
    }

    /// Returns the facts about a disk, if they have been read.
    #[must_use]
    pub fn disk(&self, disk: &DiskState) -> Option<&InstanceFacts> {
        self.facts.get(&of_disk(disk)).map(|stored| &stored.facts)
    }
}

fn of_process(process: &ProcessState) -> FactsKey {
    (process_v2::GUID, process.name.clone(), process.id, process.birth)
}

fn of_disk(disk: &DiskState) -> FactsKey {
    (physical_disk::GUID, disk.name.clone(), disk.id, disk.birth)
}

/// Reads the facts about an instance. If that fails, the instance is shown without facts.
fn read(source: &mut dyn Source, (counterset, name, id, birth): &FactsKey) -> InstanceFacts {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let identity = Identity {
        counterset: *counterset,
        instance: Name::until_nul(&name),
        instance_id: InstanceId(*id),
        birth: *birth,
    };
    let facts = source.facts(&identity, FactOptions::default()).unwrap_or_default();
    let known = facts.into_iter().filter_map(|fact| Some((fact.kind, fact.text.ok()?)));
    InstanceFacts(known.map(|(kind, text)| (kind, text.chars().take(LEN).collect())).collect())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::{Fact, Instance, NoValue, QueryHandle, RegInfo, RegRequest, SourceError};

    /// Source for tests that counts the reads of facts, and returns the count as a fact.
    #[derive(Debug, Default)]
    struct CountedReads {
        reads: u32,
        births: Vec<Birth>,
        /// Ids of the instances whose facts were read, in order.
        ids: Vec<u32>,
    }

    impl Source for CountedReads {
        fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
            Ok(Vec::new())
        }

        fn registration(&mut self, _: &Guid, _: RegRequest) -> Result<RegInfo, SourceError> {
            Err(SourceError::Failed("none".into()))
        }

        fn instances(&mut self, _: &Guid) -> Result<Vec<Instance>, SourceError> {
            Ok(Vec::new())
        }

        fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
            Err(SourceError::Failed("none".into()))
        }

        fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
            assert!(!options.with_command_lines, "command lines of others are private");
            self.reads = self.reads.wrapping_add(1);
            self.births.push(instance.birth);
            self.ids.push(instance.instance_id.0);
            Ok(vec![
                Fact::new(FactKind::User, Ok(self.reads.to_string())),
                Fact::new(FactKind::CommandLine, Err(NoValue::Denied("hidden".into()))),
                Fact::new(FactKind::Cgroup, Ok("x".repeat(100_000))),
            ])
        }
    }

    fn process(id: u32, birth: u64) -> ProcessState {
        let none = || Err(NoValue::NotGiven);
        ProcessState {
            name: format!("p:{id}"),
            id,
            birth: NonZeroU64::new(birth),
            processor_time: none(),
            memory: none(),
            read: none(),
            written: none(),
            age: none(),
        }
    }

    #[test]
    fn facts_are_read_once_for_each_birth() {
        let (mut source, mut cache) = (CountedReads::default(), FactCache::default());
        let (first, second) = (process(7, 1), process(7, 2));
        assert_eq!(cache.process(&first), None);
        for _ in 0..3 {
            cache.read(&mut source, [&first], []);
        }
        assert_eq!(source.reads, 1);
        let facts = cache.process(&first).unwrap();
        assert_eq!(facts.text(FactKind::User), Some("1"));
        assert_eq!(facts.text(FactKind::CommandLine), None);
        assert_eq!(facts.text(FactKind::Cgroup).map(str::len), Some(LEN));
        // A process that got the same id and name is another one.
        cache.read(&mut source, [&second], []);
        assert_eq!(cache.process(&second).unwrap().text(FactKind::User), Some("2"));
        assert_eq!(source.births, [NonZeroU64::new(1), NonZeroU64::new(2)]);
    }

    /// Checks that the facts of every shown instance are read again in turn, the oldest first, however many instances
    /// there are.
    #[test]
    fn no_shown_fact_becomes_older_than_60_samples() {
        for count in [1_usize, 2, 60, 61, 200] {
            let (mut source, mut cache) = (CountedReads::default(), FactCache::default());
            // The second list is that of another use, with the same processes.
            let shown: Vec<_> = (0..).map(|id| process(id, 1)).take(count).collect();
            let mut last_read = vec![0_u32; shown.len()];
            for sample in 1..400 {
                source.ids.clear();
                cache.read(&mut source, shown.iter().chain(&shown), []);
                let ids = std::mem::take(&mut source.ids);
                let most = if sample == 1 { count } else { 2.max(count.div_ceil(30)) };
                assert!(ids.len() <= most, "sample {sample} reads {} of {count}", ids.len());
                for (last, process) in last_read.iter_mut().zip(&shown) {
                    if ids.contains(&process.id) {
                        *last = sample;
                    }
                }
                let oldest = last_read.iter().map(|read| sample - read).max().unwrap();
                assert!(oldest <= 60, "a fact of {count} is {oldest} samples old in sample {sample}");
            }
            assert!(last_read.iter().all(|read| *read > 300), "{last_read:?}");
        }
    }

    #[test]
    fn work_and_memory_are_bounded() {
        let (mut source, mut cache) = (CountedReads::default(), FactCache::default());
        let many: Vec<_> = (0..3_000).map(|id| process(id, 1)).collect();
        let mut before = 0;
        for sample in 0..100 {
            cache.read(&mut source, &many, []);
            // A thirtieth of them is read again.
            let most = if sample < 3 { 1_000 } else { 100 };
            assert!(source.reads - before <= most, "{} reads", source.reads - before);
            before = source.reads;
        }
        assert!(many.iter().all(|process| cache.process(process).is_some()));
        // Instances of earlier samples are forgotten.
        for sample in 0..KEPT + 2 {
            cache.read(&mut source, &many[..1], []);
            assert_eq!(cache.facts.len() == 1, sample >= KEPT, "{sample}");
        }
    }
}
