//! Line protocol of InfluxDB, which Telegraf, VictoriaMetrics and QuestDB read too.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

use perfset_engine::path::PathValue;

use crate::output::{Output, OutputSample};
use crate::writer::SampleWriter;

/// Characters that are escaped in a measurement of line protocol, because they separate parts of a line.
const OF_MEASUREMENT: [char; 2] = [',', ' '];
const OF_NAME: [char; 3] = [',', '=', ' '];

/// Writer of values as line protocol: a line for each instance and sample, with a field for each counter.
///
/// ```text
/// Memory,host=web1 Available\ Bytes=8241381376 1795376059813000000
/// Process\ V2,host=web1,instance=nginx:812 %\ Processor\ Time=1.5,Thread\ Count=4 1795376059813000000
/// ```
///
/// The measurement is the counterset. A missing value has no field, because the format has no place for its reason.
#[derive(Debug)]
pub struct InfluxLines<'w> {
    out: SampleWriter<'w>,
    /// Name of the machine for values that name no machine.
    host: String,
    /// Number of missing values, which have no field in line protocol.
    missing: u64,
}

impl<'w> InfluxLines<'w> {
    /// Creates the output of line protocol. `host` is the machine of values whose samples name no machine.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, host: String) -> Self {
        Self { out, host, missing: 0 }
    }
}

impl Output for InfluxLines<'_> {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let nanoseconds = i128::from(sample.clocks.unix_ms()).saturating_mul(1_000_000);
        // Two lines of one measurement, tags and time would be one point, of which the database keeps one.
        let mut lines: Vec<(String, Vec<(String, f64)>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for machine in sample.machines {
            let host = machine.name.unwrap_or(&self.host);
            for v in machine.values {
                let Some(number) = number(v) else {
                    self.missing = self.missing.saturating_add(1);
                    continue;
                };
                let path = v.own_path(None);
                let mut key = format!(
                    "{},host={}",
                    escaped(&path.counterset, &OF_MEASUREMENT),
                    escaped(host, &OF_NAME)
                );
                if let Some(instance) = path.instance.as_deref().filter(|instance| !instance.is_empty()) {
                    let _ = write!(key, ",instance={}", escaped(instance, &OF_NAME)); // a String takes everything
                }
                let place = *places.entry(key).or_insert_with_key(|key| {
                    lines.push((key.clone(), Vec::new()));
                    lines.len().saturating_sub(1)
                });
                let Some((_, fields)) = lines.get_mut(place) else { continue };
                // Several paths may mean one value. Another value of that name has no place.
                match fields.iter().find(|(counter, _)| *counter == path.counter) {
                    None => fields.push((path.counter, number)),
                    Some((_, known)) if known.total_cmp(&number).is_eq() => {}
                    Some(_) => self.missing = self.missing.saturating_add(1),
                }
            }
        }
        for (key, fields) in lines {
            let fields: Vec<_> = fields
                .iter()
                .map(|(counter, number)| format!("{}={number}", escaped(counter, &OF_NAME)))
                .collect();
            self.out.push(&format!("{key} {} {nanoseconds}\n", fields.join(",")));
        }
        self.out.end_sample()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.finish()
    }

    fn warnings(&self) -> Vec<String> {
        match self.missing {
            0 => Vec::new(),
            missing => vec![format!("values without a field: {missing}; --format json has the reasons")],
        }
    }
}

/// Returns the number that line protocol contains for a value; `None` for a missing value or a number that the format
/// lacks.
fn number(v: &PathValue<'_>) -> Option<f64> {
    v.value.value.as_ref().ok().map(|value| value.nocap()).filter(|number| number.is_finite())
}

/// Returns a name as it stands in a line of line protocol. Other users can choose names: a line break would begin
/// another line, and a backslash would hide the separator behind it.
fn escaped(name: &str, separators: &[char]) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if c.is_control() => text.push('?'),
            '\\' => text.push('/'),
            c if separators.contains(&c) => text.extend(['\\', c]),
            c => text.push(c),
        }
    }
    text
}
