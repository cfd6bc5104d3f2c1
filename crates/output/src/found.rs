//! Counters that a search found, as JSON and CSV, with stable names: see `docs/output.md` for their meaning.

use perfset_engine::path::CounterMatch;
use serde::Serialize;

use crate::text::{csv_cell, escaped};

/// Fields of one counter that a search found, in the order in which CSV and JSON contain them.
#[derive(Clone, Debug, Serialize)]
pub struct FoundRecord<'a> {
    /// Rank among the counters that the search found; the best is 1.
    pub rank: usize,
    /// Counter path that selects the counter of all instances.
    pub path: String,
    /// English name of the found counter's counterset.
    pub counterset: &'a str,
    /// English name of the found counter, or `#` and its id.
    pub counter: String,
    /// Name of the found counter's counter type.
    #[serde(rename = "type")]
    pub counter_type: String,
    /// Unit of the found counter's formatted value.
    pub unit: &'a str,
    /// First sentence of the found counter's help text.
    pub help: &'a str,
    /// Words of the query that the counter contains.
    pub matched: &'a [String],
    /// `false` if the found counter never has a value on this system.
    pub is_available: bool,
}

impl<'a> FoundRecord<'a> {
    /// Header line of the CSV output of a search.
    pub const CSV_HEADER: &'static str = "rank,path,counterset,counter,type,unit,help,matched,is_available";

    /// Converts the counters that a search found to records for CSV and JSON.
    pub fn all(found: impl IntoIterator<Item = &'a CounterMatch>) -> impl Iterator<Item = Self> {
        let found = found.into_iter().filter_map(|found| Some((found, found.counter()?)));
        (1..).zip(found).map(|(rank, (found, counter))| Self {
            rank,
            path: found.path(),
            counterset: &found.counterset.name,
            counter: counter.shown_name().into_owned(),
            counter_type: counter.counter_type.to_string(),
            unit: &counter.unit,
            help: found.help(),
            matched: &found.words,
            is_available: !found.is_never_there(),
        })
    }

    /// Returns the record of a found counter as a line of CSV, without a line end. `on_terminal`: `true` to escape
    /// control characters in names.
    #[must_use]
    pub fn csv_line(&self, on_terminal: bool) -> String {
        let csv_cell = |text: &str| if on_terminal { csv_cell(&escaped(text)) } else { csv_cell(text) };
        let cells = [
            self.rank.to_string(),
            csv_cell(&self.path),
            csv_cell(self.counterset),
            csv_cell(&self.counter),
            csv_cell(&self.counter_type),
            csv_cell(self.unit),
            csv_cell(self.help),
            csv_cell(&self.matched.join(" ")),
            self.is_available.to_string(),
        ];
        cells.join(",")
    }
}
