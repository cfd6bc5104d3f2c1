//! CSV output: one line for each value of a counter.

use std::io::{self, Write as _};

use crate::output::{Output, OutputSample};
use crate::record::Record;
use crate::text::{csv_cell, escaped};
use crate::writer::SampleWriter;

/// Writer of values as CSV lines below a header.
#[derive(Debug)]
pub struct CsvLines<'w> {
    out: SampleWriter<'w>,
    /// `true` if a terminal shows the output. A program gets names unchanged; on a terminal, a name must not begin a
    /// line.
    on_terminal: bool,
    has_header: bool,
}

impl<'w> CsvLines<'w> {
    /// Creates the output of CSV lines. `on_terminal`: `true` to escape control characters in names.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, on_terminal: bool) -> Self {
        Self { out, on_terminal, has_header: false }
    }
}

impl Output for CsvLines<'_> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let Self { out, on_terminal, has_header } = self;
        if !std::mem::replace(has_header, true) {
            out.push(
                "time,path,counterset,instance,instance_id,counter,value,status,raw,base,type,unit,mark,missing\n",
            );
        }
        let is_shown = *on_terminal;
        let csv_cell = |text: &str| if is_shown { csv_cell(&escaped(text)) } else { csv_cell(text) };
        for v in sample.values() {
            let record = Record::new(sample.clocks, v);
            let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
            let count = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
            let cells = [
                csv_cell(&record.time),
                csv_cell(&record.path),
                csv_cell(&record.counterset),
                csv_cell(&record.instance),
                count(record.instance_id.map(u64::from)),
                csv_cell(&record.counter),
                number(record.value),
                csv_cell(record.status),
                count(record.raw),
                count(record.base),
                csv_cell(&record.counter_type),
                csv_cell(&record.unit),
                csv_cell(record.mark.unwrap_or_default()),
                count(record.missing.map(u64::from)),
            ];
            writeln!(out, "{}", cells.join(","))?;
        }
        out.end_sample()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.finish()
    }
}
