//! Test that a new output is one implementation: this file adds a format, and nothing else changes.

#![cfg(feature = "output")]

use std::io;

use perfset::catalogue::system;
use perfset::output::{Output, OutputSample, write_samples};
use perfset::path::PathQuery;
use perfset::testing::{FixedClock, Scripted};
use perfset::{Counterset, Machine, NoValue};

/// Output of values as rows of a Markdown table.
#[derive(Default)]
struct Markdown(String);

impl Output for Markdown {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        if self.0.is_empty() {
            self.0.push_str("| counter | value |\n|---|---|\n");
        }
        for v in sample.values() {
            let value = match &v.value.value {
                Ok(value) => value.nocap().to_string(),
                Err(reason) => reason.to_string(),
            };
            self.0.push_str(&format!("| {} | {value} |\n", v.value.counter.shown_name()));
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.push_str("end\n");
        Ok(())
    }
}

#[test]
fn values_and_reasons_reach_a_new_output() {
    let mut machine = Machine::new(Box::new(FixedClock::default()));
    let provider = Scripted::new(vec![set()]);
    machine.register(Box::new(provider.clone()));
    let mut query = PathQuery::open(&mut machine).unwrap();
    for path in [r"\System\Processes", r"\System\Threads"] {
        query.add(&mut machine, &path.parse().unwrap()).unwrap();
    }
    // The requested counters in the order of their registration.
    let value = |id| match id {
        system::PROCESSES => Some(Ok(7)),
        system::THREADS => Some(Err(NoValue::Unavailable("no source".into()))),
        _ => None,
    };
    let row: Vec<_> = set().counters.iter().filter_map(|counter| value(counter.id)).collect();
    provider.with(|script| script.rows = vec![("", 0, row)]);
    let (mut output, mut samples) = (Markdown::default(), 0);
    write_samples(&mut query, &mut output, || {
        samples += 1;
        samples < 2
    })
    .unwrap();
    let rows = "| Processes | 7 |\n| Threads | unavailable: no source |\n";
    assert_eq!(output.0, format!("| counter | value |\n|---|---|\n{rows}{rows}end\n"));
}

fn set() -> Counterset {
    system::COUNTERSET.clone()
}
