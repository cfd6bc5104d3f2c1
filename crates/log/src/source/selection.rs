//! Selection of the logs and samples that are played, and the instances of all samples.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::{Guid, Instance};
use perfset_engine::{Catalogue, Rows, SourceError, Window};

use super::OpenError;
use super::log_reader::{Input, TextLists};
use super::merged::{MergedLogs, ONLY};
use crate::damage::Damages;
use crate::pick::Pick;

/// Maximum number of instances of a counterset that logs enumerate.
pub(super) const INSTANCES: usize = 1_000_000;

/// Selection of logs, machine and samples for playback.
#[derive(Clone)]
pub(super) struct Selection {
    pub inputs: Arc<[Input]>,
    /// Number of bytes read from the selected logs.
    pub read: Arc<AtomicU64>,
    pub lists: TextLists,
    /// Name of the machine whose counters are played.
    pub machine_name: Arc<str>,
    pub choice: SampleChoice,
    /// Half of the shortest interval between samples of a log. Samples of different counters that are no farther
    /// apart belong to one time.
    pub tolerance: i64,
    /// Instances of all selected samples; `None` before the first request for them.
    union: Arc<Mutex<Option<Union>>>,
}

/// Criteria for the samples of logs that are played.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleChoice {
    pub window: Window,
    pub pick: Pick,
}

/// Instances of all selected samples, by counterset.
type Union = HashMap<Guid, Arc<[Instance]>>;

/// Instances of a counterset in the log samples that were read so far.
#[derive(Default)]
struct SeenInstances {
    all: Vec<Instance>,
    known: HashSet<Instance>,
    rows: Rows,
}

impl Selection {
    /// Creates a selection of all samples of a machine in some logs.
    pub fn new(
        inputs: Vec<Input>,
        (read, lists): (Arc<AtomicU64>, TextLists),
        machine_name: Arc<str>,
        tolerance: i64,
    ) -> Arc<Self> {
        let (choice, union) = Default::default();
        Arc::new(Self { inputs: inputs.into(), read, lists, machine_name, choice, tolerance, union })
    }

    /// Returns the same selection of log samples for another machine.
    pub fn for_machine(&self, machine_name: Arc<str>) -> Arc<Self> {
        // Instances belong to machine and samples, so a changed selection must not keep those of the old one.
        Arc::new(Self { machine_name, union: Arc::default(), ..self.clone() })
    }

    /// Returns the same selection of logs with other criteria for samples.
    pub fn choosing(&self, choice: SampleChoice) -> Arc<Self> {
        Arc::new(Self { choice, union: Arc::default(), ..self.clone() })
    }

    /// Opens the merged logs for the selected machine. `known` contains the countersets of the machine that are already
    /// known.
    pub fn merged(
        self: &Arc<Self>,
        known: Arc<Catalogue>,
        damages: Arc<Mutex<Vec<Damages>>>,
    ) -> Result<MergedLogs, OpenError> {
        MergedLogs::open(self, [(Arc::clone(&self.machine_name), known)], damages)
    }

    /// Returns all instances of a counterset in the selected samples. The logs are read once for all countersets.
    pub fn instances(self: &Arc<Self>, counterset: &Guid) -> Result<Arc<[Instance]>, SourceError> {
        let mut union = self.union.lock().unwrap_or_else(PoisonError::into_inner);
        if union.is_none() {
            *union = Some(self.union()?);
        }
        Ok(union.as_ref().and_then(|union| union.get(counterset).cloned()).unwrap_or_default())
    }

    fn union(self: &Arc<Self>) -> Result<Union, SourceError> {
        let mut deck = self.merged(Arc::default(), Arc::default())?;
        let mut found: HashMap<Guid, SeenInstances> = HashMap::new();
        while deck.step(ONLY)? {
            let mut is_any_to_come = false;
            for set in &deck.catalogue(ONLY).countersets {
                let is_first = !found.contains_key(&set.guid);
                let comes_and_goes = deck.comes_and_goes(ONLY, &set.guid);
                is_any_to_come |= comes_and_goes;
                if !is_first && !comes_and_goes {
                    continue;
                }
                let SeenInstances { all, known, rows } = found.entry(set.guid).or_default();
                rows.start();
                // An error of one sample is ignored, because another sample may have the counterset.
                let _ = deck.instances(ONLY, &set.guid, rows);
                rows.end();
                if !is_first && !rows.changed() {
                    continue;
                }
                for instance in rows.to_instances() {
                    if known.len() < INSTANCES && known.insert(instance.clone()) {
                        all.push(instance);
                    }
                }
            }
            if !is_any_to_come && !deck.is_any_unseen(ONLY) {
                break;
            }
        }
        Ok(found.into_iter().map(|(guid, found)| (guid, found.all.into())).collect())
    }
}
