//! Remarks below a table: reasons for missing values, and marks of delivered ones.

use perfset_core::{Mark, NoValue};
use perfset_engine::path::PathValue;

use crate::form::NumberForm;
use crate::left_out::{is_same, reason_text};
use crate::path_names::{counter_name, instance_name};
use crate::rows::InstanceTable;
use crate::text::escaped;

/// Maximum number of remarks below a table: a publisher can have a different reason for each value.
const MOST: usize = 10;

/// Remark about a value: reason for a missing value, or mark of a present one.
#[derive(Clone, Debug)]
enum ValueNote<'a> {
    Missing(&'a NoValue),
    Marked(Mark),
}

impl<'a> ValueNote<'a> {
    fn new(form: NumberForm, v: &'a PathValue<'_>) -> Option<Self> {
        match (&v.value.value, v.value.mark) {
            (Err(reason), _) if form.number(v).is_none() => Some(Self::Missing(reason)),
            (_, Some(Mark::Reused | Mark::Formatted) | None) => None,
            (_, Some(mark)) => Some(Self::Marked(mark)),
        }
    }

    /// Returns `true` if values with these two remarks are counted together.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Missing(a), Self::Missing(b)) => is_same(a, b),
            // The ages of two values of one source differ by little.
            (Self::Marked(Mark::Stale(_)), Self::Marked(Mark::Stale(_))) => true,
            (Self::Marked(a), Self::Marked(b)) => a == b,
            _ => false,
        }
    }

    /// Returns the text of the remark for a number of values; empty for marks that are not reported.
    fn text(&self, count: usize) -> String {
        match self {
            Self::Missing(reason) => escaped(&reason_text(reason, count)),
            Self::Marked(Mark::Partial(missing)) if missing.get() == 1 => {
                "partial: 1 instance could not be read".into()
            }
            Self::Marked(Mark::Partial(missing)) => {
                format!("partial: {missing} instances could not be read")
            }
            // A log has the mark without the age.
            Self::Marked(Mark::Stale(age)) if age.is_zero() => {
                "stale: its source did not respond in time".into()
            }
            Self::Marked(Mark::Stale(age)) => {
                format!("stale: its source did not respond for {:.1} s", age.as_secs_f64())
            }
            Self::Marked(Mark::Held) => {
                "held: the kernel's value decreased, so this is the highest value so far".into()
            }
            Self::Marked(Mark::Capped) => "capped: the measurement came out above 100 %".into(),
            Self::Marked(Mark::Reused | Mark::Formatted) => String::new(),
        }
    }
}

/// Returns the reason for a missing value, or the mark of a present one, as text.
pub(crate) fn note(form: NumberForm, v: &PathValue<'_>) -> Option<String> {
    ValueNote::new(form, v).map(|note| note.text(1))
}

/// Returns sentences about missing and marked values of a table: the counters, the instance or the number of
/// instances, and the reason. With `are_counted`, the missing values are reported elsewhere, except those that need a
/// second sample.
pub(crate) fn sentences(table: &InstanceTable<'_>, form: NumberForm, are_counted: bool) -> Vec<String> {
    let is_reported = |note: &ValueNote<'_>| {
        !are_counted
            || !matches!(note, ValueNote::Missing(reason) if !matches!(reason, NoValue::NeedsTwoSamples))
    };
    // Counters with the same note of the same instances share a sentence.
    let mut groups: Vec<((String, String), Vec<String>)> = Vec::new();
    let mut others = 0_usize;
    for (at, counter) in table.columns.iter().enumerate() {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(at).copied().flatten());
        let mut notes: Vec<(ValueNote<'_>, usize, &PathValue<'_>)> = Vec::new();
        for v in cells.clone() {
            let Some(note) = ValueNote::new(form, v).filter(is_reported) else { continue };
            let has_room = notes.len() < MOST;
            match notes.iter_mut().find(|(known, ..)| known.is_same(&note)) {
                Some((_, count, _)) => *count = count.saturating_add(1),
                None if has_room => notes.push((note, 1, v)),
                None => others = others.saturating_add(1),
            }
        }
        for (note, count, first) in notes {
            let who = match count {
                1 => instance_name(first),
                count => format!("{count} of {} instances", cells.clone().count()),
            };
            let key = (who, note.text(count));
            let name = escaped(&counter.shown_name());
            let has_room = groups.len() < MOST;
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, counters)) => counters.push(name),
                None if has_room => groups.push((key, vec![name])),
                None => others = others.saturating_add(count),
            }
        }
    }
    let sentence = |((who, text), counters): &((String, String), Vec<String>)| {
        let of = if who.is_empty() { String::new() } else { format!(" of {who}") };
        format!("{}{of}: {text}", counters_text(counters, table.columns.len()))
    };
    let mut sentences: Vec<String> = groups.iter().map(sentence).collect();
    if others > 0 {
        sentences.push(format!("{others} more values are missing or marked for other reasons"));
    }
    sentences
}

/// Returns the names of counters for a remark, or only their number if there are many.
fn counters_text(counters: &[String], all: usize) -> String {
    const NAMED: usize = 3;
    match counters.len() {
        count if count == all && count > 1 => "all counters".into(),
        count if count > NAMED => format!("{count} counters"),
        _ => counters.join(", "),
    }
}

/// Returns counter name and text of the remark for each value that has a remark; equal pairs occur once.
pub(crate) fn notes_by_counter(form: NumberForm, values: &[&PathValue<'_>]) -> Vec<(String, String)> {
    let mut notes: Vec<(String, String)> = Vec::new(); // takes no memory while nothing is missing
    for v in values {
        let Some(note) = note(form, v) else { continue };
        let note = (counter_name(v), note);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
