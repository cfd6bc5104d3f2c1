//! Tests of scrapes with hostile names of instances, counters and countersets.

use std::sync::{Arc, Mutex};

use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceId};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Catalogue, CollectRequest, Machine, Provider, Rows, SourceError};
use proptest::prelude::*;

use super::checker::read;
use super::machines::set;
use crate::{ExportOptions, Exporter, ExpositionFormat};

/// Row of a test: the UTF-16 units of the instance's name, and its id.
type Named = (Vec<u16>, u32);

/// Provider that returns test rows, each with its index as the value.
struct Given {
    catalogue: Arc<Catalogue>,
    rows: Arc<Mutex<Vec<Named>>>,
}

impl Provider for Given {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        for (at, (name, id)) in self.rows.lock().unwrap().iter().enumerate() {
            let mut row = rows.push_units(name.iter().copied(), InstanceId(*id), None);
            for column in 0..want.counters.len() {
                row.set(column, at as u64);
            }
        }
        Ok(())
    }
}

fn exporter(set: Counterset, rows: &Arc<Mutex<Vec<Named>>>) -> Exporter {
    exporter_of(set, rows, ExportOptions::default())
}

fn exporter_of(set: Counterset, rows: &Arc<Mutex<Vec<Named>>>, options: ExportOptions) -> Exporter {
    let catalogue = Catalogue::new("test", vec![Arc::new(set)]);
    let given = Given { catalogue: Arc::new(catalogue), rows: Arc::clone(rows) };
    let machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(given));
    let guid = format!("\\{{{}}}(*)\\*", Guid::from_u128(0x7000));
    Exporter::open(machine, &[guid.parse().unwrap()], options).unwrap()
}

/// Returns a strategy for names that are often equal or nearly equal, with every character that has a meaning in a
/// format.
fn name() -> impl Strategy<Value = Vec<u16>> {
    let special = prop::sample::select(vec![
        "\"",
        "\\",
        "\n",
        "\r\n",
        "\0",
        "} 5\nperf_set_a{instance_name=\"",
        "_Total",
        "a,_Total",
        "",
        "a",
        "A",
        "#1",
        "# EOF\n",
        "\\\"",
        "\\n",
        "\u{2028}",
        "\u{FFFD}",
    ]);
    let special = special.prop_map(|text: &str| text.encode_utf16().collect::<Vec<_>>());
    let surrogate =
        prop::sample::select(vec![vec![0xD800], vec![0xDFFF], vec![0xD83D, 0xDE00], vec![0xDC00, 0xD800]]);
    let piece = prop_oneof![4 => special, 2 => surrogate, 1 => prop::collection::vec(any::<u16>(), 0..5)];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// Returns a name as the value of a label should have it.
fn label(units: &[u16]) -> String {
    let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    let end = end.min(1023); // the longest of a block
    String::from_utf16_lossy(&units[..end])
}

fn is_total(units: &[u16]) -> bool {
    let name = label(units).to_ascii_uppercase();
    name == "_TOTAL" || name.ends_with(",_TOTAL") || name.ends_with("/_TOTAL")
}

proptest! {
    #[test]
    fn instances(scrapes in prop::collection::vec(prop::collection::vec((name(), 0_u32..3), 0..6), 1..5)) {
        let counters = vec![
            Counter::new(CounterId(2), CounterType::PERF_COUNTER_LARGE_RAWCOUNT).name("A"),
            Counter::new(CounterId(3), CounterType::PERF_COUNTER_COUNTER).name("B/sec"),
        ];
        let rows = Arc::default();
        let mut exporter = exporter(set(0, "Set", counters), &rows);
        let mut text = Vec::new();
        for scrape in scrapes {
            (*rows.lock().unwrap()).clone_from(&scrape);
            for format in [ExpositionFormat::Prometheus, ExpositionFormat::OpenMetrics] {
                exporter.scrape(format, &mut text).unwrap();
                let read = read(&text, format).map_err(TestCaseError::fail)?;
                let of = |name: &str| read.series.iter().filter(|(of, ..)| of == name).cloned().collect::<Vec<_>>();
                let lines = of("perf_set_a");
                prop_assert_eq!(lines.len(), of("perf_set_b_total").len());
                let dropped: usize =
                    read.value("perf_exporter_series_dropped", &[("counterset", "Set")]).unwrap().parse().unwrap();
                let parts: Vec<_> = scrape.iter().filter(|(name, _)| !is_total(name)).collect();
                prop_assert_eq!(lines.len() + dropped / 2, parts.len());
                // Each line is that of the row whose number it has.
                for (_, labels, value) in &lines {
                    let (name, id) = &scrape[value.parse::<usize>().unwrap()];
                    prop_assert_eq!(&labels[0], &("instance_name".to_owned(), label(name)));
                    if let Some((key, has)) = labels.get(1) {
                        prop_assert_eq!((key.as_str(), has), ("instance_id", &id.to_string()));
                    }
                }
            }
        }
    }

    /// Checks any names of counters and countersets: a scrape of an exporter that can be created can be read.
    #[test]
    fn counters(names in prop::collection::vec(name(), 2..4), helps in prop::collection::vec(name(), 2..4)) {
        let text = |units: &[u16]| String::from_utf16_lossy(units);
        // The number keeps names apart: that those which are the same are refused is shown elsewhere.
        let counter = |(at, name): (usize, &Vec<u16>)| {
            Counter::new(CounterId(at as u32), CounterType::PERF_COUNTER_BULK_COUNT)
                .name(format!("{}{at}", text(name)))
                .help(text(&helps[at % helps.len()]))
        };
        let counters = names[1..].iter().enumerate().map(counter).collect();
        let mut set = set(0, "", counters);
        set.name = text(&names[0]).into();
        let rows = Arc::new(Mutex::new(vec![(vec![0x61], 1)]));
        let mut exporter = exporter(set, &rows);
        let mut text = Vec::new();
        for format in [ExpositionFormat::Prometheus, ExpositionFormat::OpenMetrics] {
            exporter.scrape(format, &mut text).unwrap();
            let read = read(&text, format).map_err(TestCaseError::fail)?;
            let counters = read.types.values().filter(|sort| *sort == "counter").count();
            prop_assert_eq!(counters, names.len() - 1);
        }
    }
}

/// Checks that a scrape with the same instances as before allocates nothing, because only numbers are written.
#[test]
fn a_warm_scrape_allocates_nothing() {
    let counters =
        [CounterType::PERF_COUNTER_COUNTER, CounterType::PERF_100NSEC_TIMER, CounterType::PERF_ELAPSED_TIME];
    let counter = |(id, code): (u32, CounterType)| Counter::new(CounterId(id), code).name(format!("{id}"));
    let set = set(0, "Set", (0..).zip(counters).map(counter).collect());
    let rows = Arc::new(Mutex::new((0..100).map(|id| (vec![0x61, id], u32::from(id))).collect()));
    let mut text = Vec::new();
    let limited = ExportOptions { series_max: 40, ..ExportOptions::default() };
    let mut limited = exporter_of(set.clone(), &rows, limited);
    let mut scrape = || limited.scrape(ExpositionFormat::Prometheus, &mut text).unwrap();
    (0..3).for_each(|_| scrape());
    assert_eq!(allocation_counter::measure(&mut scrape).count_total, 0, "also where lines are left out");
    let mut exporter = exporter(set, &rows);
    let mut scrape = || exporter.scrape(ExpositionFormat::Prometheus, &mut text).unwrap();
    (0..3).for_each(|_| scrape());
    assert_eq!(allocation_counter::measure(&mut scrape).count_total, 0);
    rows.lock().unwrap().pop();
    assert_ne!(allocation_counter::measure(&mut scrape).count_total, 0, "labels are made anew");
    assert!(text.len() > 10_000);
}

#[test]
fn a_long_name() {
    let long: Vec<u16> = std::iter::repeat_n([0x22, 0x5C, 0xD83D, 0xDE00], 1 << 14).flatten().collect();
    let counters = vec![Counter::new(CounterId(2), CounterType::PERF_COUNTER_RAWCOUNT).name("A")];
    let rows = Arc::new(Mutex::new(vec![(long.clone(), 1)]));
    let mut text = Vec::new();
    exporter(set(0, "Set", counters), &rows).scrape(ExpositionFormat::OpenMetrics, &mut text).unwrap();
    let read = read(&text, ExpositionFormat::OpenMetrics).unwrap();
    assert_eq!(read.value("perf_set_a", &[("instance_name", &label(&long))]), Some("0"));
}
