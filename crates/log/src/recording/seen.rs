//! Instances of a recording, with their first and last sample.

use std::collections::HashMap;

use perfset_core::{Guid, Instance, InstanceId};

use super::about::RecordingAbout;
use super::budget::{MOST_STEPS, StepBudget};
use super::files::{ReachedTick, RecordingFile, TickPlace, WantedContents};
use super::segment::StoredSegment;
use super::table::{Content, RowIdentity};
use super::timeline::{RecordingFiles, with_next};

/// Instance of a recording, with its first and last sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenInstance {
    /// Name and id of the recorded instance.
    pub instance: Instance,
    /// Birth (start time) of the instance; 0 = unknown.
    pub birth: u64,
    /// Time of the instance's first sample, in 100 ns since 1601 UTC.
    pub first: i64,
    /// Time of the instance's last sample, in 100 ns since 1601 UTC.
    pub last: i64,
}

/// All instances of a recording, in the order of first samples.
#[derive(Debug)]
pub(super) struct SeenInstances {
    found: HashMap<Guid, Vec<SeenInstance>>,
    /// Index of each instance in the list of its counterset, and the number of its last tick, by counterset and boot.
    /// Births are times since the machine started, so equal births of two boots are different instances.
    places: HashMap<(Guid, usize), HashMap<RowIdentity, (usize, u64)>>,
    boots: HashMap<String, usize>,
    /// Number of bytes of memory that further instances in the list may take.
    room: usize,
    budget: StepBudget,
}

impl SeenInstances {
    /// Maximum number of bytes of memory for the list of a recording's instances: those of some million processes. A
    /// hostile recording of some megabytes can have any number.
    const MOST: usize = 512 << 20;
    /// Number of bytes of memory that an instance takes in the list of instances and in its index, without its name.
    const EACH: usize = 256;

    /// Finds all instances of a recording: reads only the runs of segments, and the ticks of journals one after the
    /// other.
    pub fn read(files: &RecordingFiles) -> Self {
        Self::read_at_most(files, Self::MOST, StepBudget::new())
    }

    fn read_at_most(files: &RecordingFiles, room: usize, budget: StepBudget) -> Self {
        let (found, places, boots) = Default::default();
        let mut seen = Self { found, places, boots, room, budget };
        for (at, (file, next)) in with_next(files).enumerate() {
            let mut rest = file.ticks();
            let mut first = 0_usize;
            while let Some(tick) = rest.first() {
                let segment = file.segment_number_of(first);
                let is_other = |at: usize| file.segment_number_of(at) != segment;
                let end = (first..first.saturating_add(rest.len())).find(|at| is_other(*at));
                let len = end.map_or(rest.len(), |end| end.saturating_sub(first));
                let (group, others) = rest.split_at_checked(len).unwrap_or((rest, &[]));
                let segment = segment.and_then(|segment| Some((segment, file.segment(segment)?)));
                let is_complete = match segment {
                    Some((number, segment)) if tick.sequence >= next => {
                        seen.budget.enter((at, number), segment.len());
                        let is_wanted = |number| file.has_table(number);
                        let (runs, damages) = segment.seen_runs(&is_wanted, &mut seen.budget);
                        damages.iter().for_each(|damage| files.damaged_part(at, damage));
                        runs.into_iter().all(|run| {
                            let ends = group.get(run.first).zip(group.get(run.last));
                            ends.is_none_or(|ends| seen.add(file, run.table, &run.key, ends))
                        })
                    }
                    _ => seen.play(files, (at, file), (first, len), next),
                };
                if !is_complete {
                    files.left_out(at, "it has more instances than are listed".to_owned());
                    return seen;
                }
                (rest, first) = (others, first.saturating_add(len));
            }
        }
        seen
    }

    /// Returns the instances of a counterset that the recording has.
    pub fn of(&self, counterset: &Guid) -> &[SeenInstance] {
        self.found.get(counterset).map_or(&[], |found| &**found)
    }

    /// Adds an instance that has samples from the tick `first` to the tick `last`. Returns `false` if there are too
    /// many instances.
    fn add(
        &mut self,
        file: &RecordingFile,
        table: usize,
        key: &RowIdentity,
        (first, last): (&TickPlace, &TickPlace),
    ) -> bool {
        let Some(definition) = file.tables.get(table).and_then(Option::as_deref) else { return true };
        let guid = definition.counterset.guid;
        let boot = file.about_of(first).and_then(|about| about.get(RecordingAbout::BOOT)).unwrap_or_default();
        let boot = match self.boots.get(boot) {
            Some(boot) => *boot,
            None => {
                let number = self.boots.len();
                *self.boots.entry(boot.to_owned()).or_insert(number)
            }
        };
        let all = self.found.entry(guid).or_default();
        let places = self.places.entry((guid, boot)).or_default();
        if let Some((place, sequence)) = places.get_mut(key) {
            // Two rows of one identity can overlap.
            if *sequence < last.sequence {
                *sequence = last.sequence;
                all.get_mut(*place).into_iter().for_each(|seen| seen.last = last.time);
            }
            return true;
        }
        let Some(room) = self.room.checked_sub(Self::EACH.saturating_add(key.name.len().saturating_mul(4)))
        else {
            return false;
        };
        self.room = room;
        places.insert(key.clone(), (all.len(), last.sequence));
        let instance = Instance { name: key.name.clone(), id: InstanceId(key.id) };
        all.push(SeenInstance { instance, birth: key.birth, first: first.time, last: last.time });
        true
    }

    /// Adds the instances of some ticks of a file whose number is at least `next`, tick by tick. Returns `false` if
    /// there are too many instances.
    fn play(
        &mut self,
        files: &RecordingFiles,
        (at, file): (usize, &RecordingFile),
        (first, len): (usize, usize),
        next: u64,
    ) -> bool {
        let mut reached = None;
        let last = first.saturating_add(len).saturating_sub(1);
        for (number, tick) in (first..).zip(file.ticks().iter().skip(first).take(len)) {
            if tick.sequence < next {
                continue;
            }
            let steps = self.budget.left().min(MOST_STEPS);
            let wanted =
                WantedContents { tables: &|_| true, columns: &|_, _| false, rows: None, last, steps };
            let found = file.reach(number, &mut reached, wanted);
            if let Some(ReachedTick::Segment { segment, ticks }) = &reached {
                let len = file.segment(*segment).map_or(0, StoredSegment::len);
                self.budget.take((at, *segment), len, ticks.steps_taken());
            }
            match found {
                Ok(damages) => damages.iter().for_each(|damage| files.damaged_part(at, damage)),
                Err(error) => {
                    files.damaged((at, number), &error);
                    continue;
                }
            }
            let Some(state) = reached.as_ref().and_then(ReachedTick::state) else { continue };
            for (table, contents) in state.tables.iter().enumerate() {
                let Content::Rows(rows) = &contents.content else { continue };
                let is_sample = contents.collected == Some(state.sequence);
                if is_sample && !rows.rows.iter().all(|key| self.add(file, table, key, (tick, tick))) {
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TestFolder, record, some_samples};
    use super::super::{Recording, seal, unsealed};
    use super::*;

    /// Checks that a sealed recording has the instances of its journals, and that instances left out for a limit are
    /// reported.
    #[test]
    fn instances_of_segments_are_those_of_journals() {
        let folder = TestFolder::new("seen");
        record(&folder, &some_samples(), "boot", 4);
        let guid = Guid::from_u128(1);
        let journals = Recording::open(&folder.0).unwrap().seen_instances(&guid).unwrap();
        assert_eq!(journals.len(), 4);
        for journal in unsealed(&folder.0, None).unwrap() {
            seal(&journal).unwrap();
        }
        let recording = Recording::open(&folder.0).unwrap();
        assert_eq!(recording.seen_instances(&guid).unwrap(), journals);
        let few = SeenInstances::read_at_most(recording.files(), 3 * SeenInstances::EACH, StepBudget::new());
        let instances = |of: &[SeenInstance]| of.iter().map(|seen| seen.instance.clone()).collect::<Vec<_>>();
        assert_eq!(instances(few.of(&guid)), instances(&journals[..2]));
        let damages = recording.all_damages();
        assert!(damages.first()[0].what.contains("more instances"), "{damages:?}");
        // The steps through all segments are limited together.
        let recording = Recording::open(&folder.0).unwrap();
        let none = SeenInstances::read_at_most(recording.files(), SeenInstances::MOST, StepBudget::of(3));
        assert!(none.of(&guid).is_empty());
        let damages = recording.all_damages();
        assert!(damages.first().iter().all(|damage| damage.what.contains("in time")), "{damages:?}");
        assert!(damages.count() > 1);
    }
}
