//! Files of one CPU in `/sys`: idle states, frequencies, and cycles delivered.

use std::path::{Path, PathBuf};

use perfset_core::NoValue;

use crate::provider::{Attribute, Collection, CollectionCache, KeptFile, ReadFiles, SeqFileKind};
use crate::sources::cppc::{FeedbackCounters, ReferenceSpeed};
use crate::sources::cpuidle::{self, IdleClass};

/// Idle states of a CPU from `cpuidle`, whose files are found at the first request.
#[derive(Debug)]
pub(super) struct IdleFiles {
    folder: PathBuf,
    keep: bool,
    first_name: KeptFile,
    found: CollectionCache<()>,
    states: Vec<IdleState>,
}

#[derive(Debug)]
struct IdleState {
    class: Option<IdleClass>,
    time: Attribute,
    usage: Attribute,
}

impl IdleFiles {
    /// Maximum number of idle states of a CPU. Linux has room for 10.
    const STATE_LIMIT: usize = 32;
    const ABSENT: &'static str = "this machine has no cpuidle";

    pub(super) fn new(cpu: &Path, keep: bool) -> Self {
        let folder = cpu.join("cpuidle");
        let first_name = KeptFile::new(folder.join("state0/name"), SeqFileKind::Single).keep(false);
        Self { folder, keep, first_name, found: CollectionCache::default(), states: Vec::new() }
    }

    /// Returns the time that the CPU spent in the idle states of a class, or in all idle states, in µs.
    pub(super) fn time(&mut self, class: Option<IdleClass>, pass: &mut Collection) -> Result<u64, NoValue> {
        self.sum(class, pass, |state| &mut state.time)
    }

    /// Returns the number of times that the CPU entered idle states: those of a class, or all.
    pub(super) fn usage(&mut self, class: Option<IdleClass>, pass: &mut Collection) -> Result<u64, NoValue> {
        self.sum(class, pass, |state| &mut state.usage)
    }

    fn sum(
        &mut self,
        class: Option<IdleClass>,
        pass: &mut Collection,
        part: impl Fn(&mut IdleState) -> &mut Attribute,
    ) -> Result<u64, NoValue> {
        self.find(pass)?;
        let mut sum = None;
        for state in self.states.iter_mut().filter(|state| class.is_none() || state.class == class) {
            let part = part(state).get(pass)?;
            sum = Some(part.wrapping_add(sum.unwrap_or(0)));
        }
        sum.ok_or(NoValue::Unavailable("this CPU has no idle state of that class".into()))
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { folder, keep, first_name, found, states } = self;
        if !states.is_empty() {
            return Ok(());
        }
        found.get(pass, |pass| {
            let mut depths = Vec::new();
            while depths.len() < Self::STATE_LIMIT {
                let mut next_name;
                // The first file is kept: it remembers that cpuidle is absent, so that it is looked for only
                // every 10 s.
                let name = if depths.is_empty() {
                    &mut *first_name
                } else {
                    let path = folder.join(format!("state{}/name", depths.len()));
                    next_name = KeptFile::new(path, SeqFileKind::Single);
                    &mut next_name
                };
                match pass.read(name, Self::ABSENT, cpuidle::depth) {
                    Ok(depth) => depths.push(depth),
                    Err(NoValue::Unavailable(_)) if !depths.is_empty() => break,
                    Err(reason) => return Err(reason),
                }
            }
            // Classes depend on all states together, so they are assigned only when all names are known.
            states.extend(cpuidle::classes(&depths).into_iter().enumerate().map(|(number, class)| {
                let attribute = |name| {
                    let path = folder.join(format!("state{number}/{name}"));
                    Attribute::new(path, *keep, Self::ABSENT)
                };
                IdleState { class, time: attribute("time"), usage: attribute("usage") }
            }));
            Ok(())
        })?;
        Ok(())
    }
}

/// Frequencies of a CPU from `cpufreq`, in kHz.
#[derive(Debug)]
pub(super) struct FrequencyFiles {
    base: Attribute,
    highest: Attribute,
    current: Attribute,
    limit: Attribute,
    lowest: Attribute,
}

impl FrequencyFiles {
    pub(super) fn new(cpu: &Path, keep: bool) -> Self {
        let attribute = |name: &str| {
            let path = cpu.join("cpufreq").join(name);
            Attribute::new(path, keep, "this machine has no cpufreq")
        };
        Self {
            base: attribute("base_frequency"),
            highest: attribute("cpuinfo_max_freq"),
            current: attribute("scaling_cur_freq"),
            limit: attribute("scaling_max_freq"),
            lowest: attribute("scaling_min_freq"),
        }
    }

    /// Returns the CPU's nominal frequency in kHz, or the highest one if the driver does not know the nominal one.
    pub(super) fn nominal(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        match self.base.get(pass) {
            Err(NoValue::Unavailable(_)) => self.highest.get(pass),
            known => known,
        }
    }

    /// Returns the CPU's current frequency in % of the highest.
    pub(super) fn current_percent(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        percent(self.current.get(pass)?, self.highest.get(pass)?)
    }

    /// Returns the highest CPU frequency that is allowed now, in kHz.
    pub(super) fn most(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        self.limit.get(pass)
    }

    /// Returns the lowest CPU frequency that is allowed now, in kHz.
    pub(super) fn least(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        self.lowest.get(pass)
    }

    /// Returns the highest CPU frequency that is allowed now, in % of the highest possible.
    pub(super) fn limit_percent(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        percent(self.limit.get(pass)?, self.highest.get(pass)?)
    }
}

fn percent(part: u64, whole: u64) -> Result<u64, NoValue> {
    let percent = u128::from(part).saturating_mul(100).checked_div(u128::from(whole));
    let percent = percent.ok_or(NoValue::Unavailable("cpufreq gives the highest frequency as 0".into()))?;
    Ok(u64::try_from(percent).unwrap_or(u64::MAX))
}

/// Performance feedback of a CPU from `acpi_cppc`.
#[derive(Debug)]
pub(super) struct CppcFiles {
    feedback: KeptFile,
    counters: CollectionCache<FeedbackCounters>,
    /// Speed of the CPU's reference counter. The speed never changes, and is read only until it is known.
    speed: Option<ReferenceSpeed>,
    reference_perf: Attribute,
    nominal_perf: Attribute,
    nominal_freq: Attribute,
}

impl CppcFiles {
    const ABSENT: &'static str = "this machine has no feedback counters of ACPI CPPC";

    pub(super) fn new(cpu: &Path, keep: bool) -> Self {
        let folder = cpu.join("acpi_cppc");
        // Needed only until the speed is known, so their descriptors are not kept.
        let attribute = |name: &str| Attribute::new(folder.join(name), false, Self::ABSENT);
        Self {
            feedback: KeptFile::new(folder.join("feedback_ctrs"), SeqFileKind::Single).keep(keep),
            counters: CollectionCache::default(),
            speed: None,
            reference_perf: attribute("reference_perf"),
            nominal_perf: attribute("nominal_perf"),
            nominal_freq: attribute("nominal_freq"),
        }
    }

    pub(super) fn counters(&mut self, pass: &mut Collection) -> Result<FeedbackCounters, NoValue> {
        let Self { feedback, counters, .. } = self;
        counters.get(pass, |pass| pass.read(feedback, Self::ABSENT, FeedbackCounters::parse)).copied()
    }

    /// Returns the number of cycles that the CPU delivered, if the number of possible cycles is known too.
    pub(super) fn work(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        self.speed(pass)?;
        Ok(self.counters(pass)?.delivered)
    }

    pub(super) fn speed(&mut self, pass: &mut Collection) -> Result<ReferenceSpeed, NoValue> {
        if let Some(speed) = self.speed {
            return Ok(speed);
        }
        let (reference, nominal) = (self.reference_perf.get(pass)?, self.nominal_perf.get(pass)?);
        self.speed = ReferenceSpeed::new(reference, nominal, self.nominal_freq.get(pass)?);
        self.speed.ok_or(NoValue::Unavailable(
            "the firmware does not say how fast the reference counter runs".into(),
        ))
    }
}
