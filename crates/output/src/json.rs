//! JSON output: an object for each value of a counter, each on its own line.

use std::io;

use serde::Serialize;

use crate::output::{Output, OutputSample};
use crate::record::Record;
use crate::text::escaped_json;
use crate::writer::SampleWriter;

/// Writer of values as JSON lines; see `docs/output.md` for the fields.
#[derive(Debug)]
pub struct JsonLines<'w> {
    out: SampleWriter<'w>,
}

impl<'w> JsonLines<'w> {
    /// Creates the output of JSON lines.
    #[must_use]
    pub fn new(out: SampleWriter<'w>) -> Self {
        Self { out }
    }
}

impl Output for JsonLines<'_> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let mut push = |line: String| {
            self.out.push(&line);
            self.out.push("\n");
        };
        for machine in sample.machines {
            for v in machine.values {
                push(line(&Record { machine: machine.name, ..Record::new(sample.clocks, v) })?);
            }
        }
        let left_out = sample.left_out.map(|left_out| left_out.records(sample.clocks));
        for record in left_out.iter().flatten() {
            push(line(record)?);
        }
        self.out.end_sample()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.finish()
    }

    fn shows_left_out(&self) -> bool {
        true
    }
}

/// Returns a value as one line of JSON without a line end, with every harmful character as a JSON escape.
///
/// # Errors
/// If the value cannot be JSON, such as a map whose keys are no texts.
pub fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(escaped_json(&serde_json::to_string(value)?))
}
