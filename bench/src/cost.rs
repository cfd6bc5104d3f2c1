//! Bench of the cost of each counter: the time to collect this counter alone, per instance, beside the catalogue's
//! cost class.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;
use perfset_core::{Attributes, CostClass};
use perfset_engine::{Entry, Snapshot};

use crate::collect::machine;
use crate::{Options, Out};

/// Costs of counters whose declared cost class is not the cheapest one or differs from the measured class.
struct Costs {
    rows: Vec<Cost>,
    measured: usize,
}

struct Cost {
    path: String,
    instances: usize,
    per_instance: Duration,
    class: CostClass,
}

impl Cost {
    fn is_notable(&self) -> bool {
        self.class != CostClass::Cheap || CostClass::of(self.per_instance) != self.class
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "cost: counters alone, per instance; those that are not cheap or measure as another class"
        )?;
        writeln!(
            f,
            "{:>12} {:>9}  {:10} {:10} counter",
            "us/instance", "instances", "measured", "catalogue"
        )?;
        for cost in self.rows.iter().filter(|cost| cost.is_notable()) {
            let (measured, class) = (CostClass::of(cost.per_instance).keyword(), cost.class.keyword());
            let micros = cost.per_instance.as_secs_f64() * 1e6;
            writeln!(f, "{micros:12.2} {:9}  {measured:10} {class:10} {}", cost.instances, cost.path)?;
        }
        let same = self.rows.iter().filter(|cost| CostClass::of(cost.per_instance) == cost.class).count();
        write!(f, "{same} of {} counters measure as the catalogue says", self.measured)
    }
}

/// Measures the cost of each counter that has instances on this machine.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    let machine = machine();
    let mut rows = Vec::new();
    for guid in machine.countersets() {
        let set = machine.counterset(&guid)?;
        let counters = set.counters.iter().filter(|counter| {
            !counter.attributes.contains(Attributes::NO_DISPLAYABLE) && !counter.is_never_there()
        });
        for counter in counters {
            let mut query = machine.query();
            let entry = Entry::one(guid, counter.id);
            let is_multiple = set.instance_type.is_multiple();
            let _ = query.add(&if is_multiple { entry.instance("*") } else { entry });
            let mut snapshot = Snapshot::default();
            query.collect(&mut snapshot)?;
            query.collect(&mut snapshot)?;
            let instances = snapshot.values(None).filter(|value| value.raw.is_some()).count();
            if instances == 0 {
                continue;
            }
            let mut times = Vec::new();
            for _ in 0..rounds.min(11) {
                let start = Instant::now();
                query.collect(&mut snapshot)?;
                times.push(start.elapsed());
            }
            times.sort_unstable();
            let median = times.get(times.len() / 2).copied().unwrap_or_default();
            let per_instance = median / u32::try_from(instances)?;
            let path = format!("\\{}\\{}", set.name, counter.shown_name());
            rows.push(Cost { path, instances, per_instance, class: counter.cost_class });
        }
    }
    rows.sort_by_key(|cost| std::cmp::Reverse(cost.per_instance));
    let measured = rows.len();
    out(&Costs { rows, measured })
}
