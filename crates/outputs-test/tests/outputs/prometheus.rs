//! Check of the output of `/metrics` in both formats: raw values under stable names.

use std::collections::HashSet;
use std::sync::Arc;

use perfset_export::{ExportOptions, Exporter, ExpositionFormat};

use crate::check::{Check, Due, Found, Number, Tally};
use crate::get::paths;
use crate::play::Play;
use crate::world::{Kind, Lack, Row, UNIX_EPOCH, Want, World};

pub fn check(world: &Arc<World>) -> Result<Tally, String> {
    let mut tally = scraped(world, "prometheus", ExpositionFormat::Prometheus)?;
    tally.add(&scraped(world, "openmetrics", ExpositionFormat::OpenMetrics)?);
    Ok(tally)
}

fn scraped(world: &Arc<World>, output: &'static str, format: ExpositionFormat) -> Result<Tally, String> {
    let mut check = Check::new(world, output);
    let exporter = Exporter::open(Play::new(world).machine(), &paths(world), ExportOptions::default());
    let mut exporter = exporter.expect("the names are good");
    let mut text = Vec::new();
    for step in 0..world.steps.len() {
        expect(world, step, &mut check);
        exporter.scrape(format, &mut text).expect("there is something");
        let text = std::str::from_utf8(&text).expect("text");
        let mut seen = HashSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            assert!(seen.insert(series), "seed {}: {output}: {series} is there twice", world.seed);
            let (metric, labels) = series.split_once('{').unwrap_or((series, "}"));
            let labels = read_labels(labels);
            let label = |name: &str| labels.iter().find(|(known, _)| known == name).map(|(_, value)| value);
            let number = Number::full(value.parse().expect("a number"));
            if metric == "perf_exporter_collector_success" {
                let set = label("counterset").expect("a label");
                check.found((step, format!("success {set}")), Found::number(Some(number)));
            } else if !metric.starts_with("perf_exporter_") {
                let name = label("instance_name").map_or("", String::as_str);
                let found = Found {
                    value: Some(Some(Number { within: number.within.max(1e-6), ..number })),
                    id: label("instance_id").map(|id| id.parse().expect("an id")),
                    ..Found::default()
                };
                check.found((step, format!("{metric} {name}")), found);
            }
        }
    }
    check.finish()
}

/// Parses the labels of a metric, such as `a="b",c="d"}`.
fn read_labels(text: &str) -> Vec<(String, String)> {
    let (mut labels, mut rest) = (Vec::new(), text);
    while let Some((name, behind)) = rest.split_once("=\"") {
        let (mut value, mut chars) = (String::new(), behind.char_indices());
        rest = loop {
            match chars.next().expect("the end of a label") {
                (at, '"') => break &behind[at + 1..],
                (_, '\\') => match chars.next().expect("what is escaped").1 {
                    'n' => value.push('\n'),
                    c => value.push(c),
                },
                (_, c) => value.push(c),
            }
        };
        labels.push((name.trim_start_matches(',').to_owned(), value));
    }
    assert_eq!(rest, "}", "{text}");
    labels
}

/// Expects the lines of a scrape of metrics.
fn expect(world: &World, step: usize, check: &mut Check<'_>) {
    check.events_of(step);
    for (at, set) in world.sets.iter().enumerate() {
        let number = |value: f64| Want { value: Ok(value), raw: None, base: None, mark: None };
        // One value alone that is refused is all that there would have been.
        let only = set.at(0).map(|(column, _)| column).collect::<Vec<_>>();
        let is_refused = |row: &Row| match only.as_slice() {
            [only] => row.cells[*only].raw.is_err_and(|lack| lack != Lack::Unavailable),
            _ => false,
        };
        let refused = set.is_single && world.rows(step, at).is_some_and(|rows| rows.iter().any(is_refused));
        let failed = refused || world.failure(step, at).is_some_and(|status| status != "no_instance");
        let due = Due {
            want: number(f64::from(u8::from(!failed))),
            id: None,
            birth: 0,
            has_base: false,
            base: None,
            events: vec![],
        };
        check.must((step, format!("success {}", set.name)), due);
        for (place, row) in world.rows(step, at).unwrap_or_default().iter().enumerate() {
            // What was added later is exported by those who begin later.
            for (column, about) in set.at(0) {
                let events = world.events(step, at, place, column);
                let Some((metric, value)) = metric(about.kind, about.name, row, column, set) else {
                    check.seen(&events); // there must be no line
                    continue;
                };
                let key = (step, format!("perf_{}_{metric} {}", set.name.to_lowercase(), row.name));
                let id = (!set.is_single).then_some(row.id);
                let due = Due { want: number(value), id, birth: 0, has_base: false, base: None, events };
                check.must(key, due);
            }
        }
    }
}

/// Returns the metric name of a counter and its number, `None` if it has no value.
fn metric(
    kind: Kind,
    name: &str,
    row: &Row,
    column: usize,
    set: &crate::world::Set,
) -> Option<(&'static str, f64)> {
    let raw = row.cells[column].raw.ok()? as f64;
    Some(match kind {
        Kind::Level if name == "Level" => ("level", raw),
        Kind::Level => ("other_level", raw),
        Kind::Short => ("short", raw),
        Kind::Rate => ("events_total", raw),
        Kind::Timer => ("busy_seconds_total", raw / 1e7),
        Kind::Share => ("full_ratio", raw / row.cells[set.columns[column].base?].raw.ok()? as f64),
        Kind::ShareBase => return None,
        Kind::Average => ("items_per_call_total", raw),
        Kind::AverageBase => ("items_per_call_base_total", raw),
        Kind::Elapsed => ("start_time_seconds", (raw - UNIX_EPOCH as f64) / 1e7),
    })
}
