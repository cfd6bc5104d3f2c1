//! Marked values in outputs that cannot show a mark: their number, by counter and mark.

use std::collections::HashMap;
use std::time::Duration;

use perfset_core::{CounterId, Guid, Mark};
use perfset_engine::path::{CounterPath, PathValue};

use crate::left_out::first_sentences;
use crate::text::{escaped, grouped_digits};

/// Numbers of marked values of each counter, for each kind of mark.
#[derive(Debug, Default)]
pub struct MarkedValues {
    counters: Vec<MarkedCounter>,
    indexes: HashMap<(Guid, CounterId, MarkKind), usize>,
}

/// Values of one counter that have the same kind of mark.
#[derive(Debug)]
struct MarkedCounter {
    /// Path of the marked values, with `*` as instance if the values belong to several instances.
    path: CounterPath,
    kind: MarkKind,
    count: u64,
    /// Largest number of instances that a partial sum among the marked values lacks.
    missing: u32,
    /// Age of the oldest of the marked values.
    age: Duration,
}

/// Kinds of marks that are reported to users. A value formatted by the writer of its log is as good as the log and
/// not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum MarkKind {
    Partial,
    Stale,
    Held,
    Capped,
}

impl MarkedValues {
    /// Counts the marked values among the given ones.
    pub fn add<'a, 'b: 'a>(&mut self, values: impl IntoIterator<Item = &'a PathValue<'b>>) {
        for v in values {
            self.add_one(v);
        }
    }

    /// Counts a value of a counter if the value is marked.
    pub fn add_one(&mut self, v: &PathValue<'_>) {
        let (kind, missing, age) = match v.value.mark {
            // A missing value is reported with its reason.
            _ if v.value.value.is_err() => return,
            Some(Mark::Partial(missing)) => (MarkKind::Partial, missing.get(), Duration::ZERO),
            Some(Mark::Stale(age)) => (MarkKind::Stale, 0, age),
            Some(Mark::Held) => (MarkKind::Held, 0, Duration::ZERO),
            Some(Mark::Capped) => (MarkKind::Capped, 0, Duration::ZERO),
            None | Some(Mark::Reused | Mark::Formatted) => return,
        };
        let next = self.counters.len();
        let key = (v.value.counterset.guid, v.value.counter.id, kind);
        let index = *self.indexes.entry(key).or_insert(next);
        if index == next {
            let path = v.own_path(None);
            self.counters.push(MarkedCounter { path, kind, count: 0, missing: 0, age: Duration::ZERO });
        }
        let Some(counter) = self.counters.get_mut(index) else { return };
        counter.count = counter.count.saturating_add(1);
        counter.missing = counter.missing.max(missing);
        counter.age = counter.age.max(age);
        // One sentence per counter and mark is enough, even for thousands of instances.
        if counter.path.instance.as_deref().is_some_and(|known| known != "*")
            && counter.path.instance != v.own_path(None).instance
        {
            counter.path.instance = Some("*".to_owned());
        }
    }

    /// Returns a sentence for users about each counter and kind of mark, in order of appearance.
    pub fn sentences(&self) -> Vec<String> {
        self.counters.iter().map(MarkedCounter::sentence).collect()
    }

    /// Returns the sentences of a warning about marked values; if there are many, the first ones and a summary of the
    /// rest.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        first_sentences(self.sentences(), "are marked")
    }
}

impl MarkedCounter {
    fn sentence(&self) -> String {
        let values = match self.count {
            1 => "1 value".to_owned(),
            count => format!("{} values", grouped_digits(&count.to_string())),
        };
        let are = if self.count == 1 { "is" } else { "are" };
        let mark = match self.kind {
            MarkKind::Partial if self.missing == 1 => "partial: 1 instance could not be read".to_owned(),
            MarkKind::Partial => format!("partial: up to {} instances could not be read", self.missing),
            // A log has the mark without the age.
            MarkKind::Stale if self.age.is_zero() => "stale: the source did not respond in time".to_owned(),
            MarkKind::Stale => {
                format!("stale: the source did not respond for up to {:.1} s", self.age.as_secs_f64())
            }
            MarkKind::Held => {
                "held: the kernel's value decreased, so the highest value so far is shown".to_owned()
            }
            MarkKind::Capped => "capped: the measurement came out above 100 %".to_owned(),
        };
        format!("{values} of {} {are} {mark}", escaped(&self.path.to_string()))
    }
}
