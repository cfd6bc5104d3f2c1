//! Columns of a text log: every counter of every instance that any sample contains.

use perfset::NoValue;
use perfset::path::PathValue;

use super::progress::Progress;
use super::{RelogSource, number, step};
use crate::exit::Failure;
use crate::marked::MarkedValues;
use crate::series::SeriesMap;

/// Columns of a text log, one for each series. Series of different machines are distinct.
#[derive(Default)]
pub struct LogColumns {
    paths: Vec<String>,
    series: SeriesMap,
    line: Vec<Option<f64>>,
    /// Marked values: the file cannot show marks.
    pub marked: MarkedValues,
}

impl LogColumns {
    /// Finds the columns by reading the logs once. If all samples have the same instances, the first sample is
    /// enough.
    pub fn find(
        machines: &mut [RelogSource],
        is_steady: bool,
        progress: &mut Progress,
    ) -> Result<Self, Failure> {
        let mut columns = Self::default();
        while step(machines)?.is_some() {
            let mut positions = 0..;
            for (source, machine) in machines.iter().enumerate() {
                if machine.query.has_same_rows() {
                    continue; // its columns are there: making all values again takes far longer than this
                }
                // If all samples have the same counters, a counter missing in this sample is missing in all.
                let is_there = |v: &&PathValue<'_>| {
                    let never = is_steady && matches!(v.value.value, Err(NoValue::Unavailable(_)));
                    v.value.instance_id.is_some() && !never
                };
                let values = machine.query.values();
                for (v, position) in values.iter().filter(is_there).zip(&mut positions) {
                    if columns.series.number(position, source, v) == columns.paths.len() {
                        columns.paths.push(v.own_path(Some(&machine.name)).to_string());
                    }
                }
            }
            if is_steady {
                break;
            }
            progress.show();
        }
        Ok(columns)
    }

    /// Returns the path of each column.
    pub fn paths(&self) -> Vec<String> {
        self.paths.clone()
    }

    /// Returns the values of the last sample, one per column.
    pub fn line(&mut self, machines: &[RelogSource]) -> &[Option<f64>] {
        let Self { paths, series, line, marked } = self;
        line.clear();
        line.resize(paths.len(), None);
        let mut positions = 0..;
        for (source, machine) in machines.iter().enumerate() {
            for (v, position) in machine.query.values().iter().zip(&mut positions) {
                let column = series.find(position, source, v);
                // Two paths can request one counter: its value and its mark count once.
                if let Some(cell @ None) = column.and_then(|column| line.get_mut(column)) {
                    *cell = number(v);
                    marked.add_one(v);
                }
            }
        }
        line
    }
}
