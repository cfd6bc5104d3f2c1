//! Tests of the manifests in `testdata/manifests`, cut and changed at each byte.

use std::path::{Path, PathBuf};

use perfset_core::{Aggregate, Attributes, CounterId, CounterType, DetailLevel, InstanceType};
use perfset_manifest::Manifest;
use perfset_manifest::model::{Mode, SchemaVersion};

fn sample(name: &str) -> Vec<u8> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/manifests");
    std::fs::read(folder.join(name)).unwrap()
}

fn parsed(name: &str) -> Manifest {
    let (manifest, problems) = Manifest::check(&sample(name));
    assert!(problems.is_empty(), "{name}: {problems}");
    manifest.unwrap()
}

#[test]
fn waves() {
    let manifest = parsed("waves.man");
    let provider = &manifest.provider;
    assert_eq!(provider.guid.to_string(), "5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02");
    assert_eq!((provider.name.as_str(), provider.symbol.as_deref()), ("Harbour", Some("HarbourProvider")));
    assert_eq!((provider.application.as_str(), provider.mode), ("harbour.exe", Mode::User));
    assert_eq!((provider.has_callback, provider.resource_base), (true, Some(100)));
    let [waves, gate] = &manifest.countersets()[..] else { panic!() };
    assert_eq!((waves.name.as_ref(), waves.instance_type), ("Harbour Waves", InstanceType::Multiple));
    assert_eq!(waves.help, "Waves that reach the harbour & how high they are. An instance is a buoy.");
    assert_eq!(waves.provider.name, "Harbour");
    let ids: Vec<u32> = waves.counters.iter().map(|counter| counter.id.0).collect();
    assert_eq!(ids, [1, 2, 16, 17, 18, 19, 20, 21, 22]);
    let counter = |id| waves.counter(CounterId(id)).unwrap();
    assert_eq!((counter(1).default_scale, counter(1).detail), (-3, DetailLevel::NOVICE));
    assert_eq!(counter(2).counter_type, CounterType::PERF_COUNTER_BULK_COUNT);
    assert_eq!((counter(16).base, counter(16).detail), (Some(CounterId(17)), DetailLevel::ADVANCED));
    assert_eq!((counter(17).name.as_ref(), counter(17).attributes), (None, Attributes::NO_DISPLAYABLE));
    assert_eq!(counter(18).attributes, Attributes::DISPLAY_AS_HEX);
    assert_eq!(counter(19).attributes, Attributes::NO_GROUP_SEPARATOR.with(Attributes::DISPLAY_AS_REAL));
    assert_eq!(
        (counter(19).name.as_deref(), counter(19).help.as_ref()),
        (Some("Buoy <Place>"), "Where it is:\nas a number.")
    );
    assert_eq!((counter(20).perf_time, counter(20).perf_freq), (Some(CounterId(21)), Some(CounterId(22))));
    assert_eq!((gate.instance_type, gate.counters.len()), (InstanceType::Single, 2));
    assert_eq!(gate.counters[1].name.as_deref(), Some("Ships Base"));
}

#[test]
fn orders() {
    let manifest = parsed("orders.man");
    assert_eq!(manifest.schema_version, SchemaVersion::V2_0);
    assert_eq!((manifest.provider.name.as_str(), manifest.provider.has_callback), ("Counters", false));
    let set = &manifest.provider.sets[0];
    assert_eq!((set.resources.name, set.resources.description), (Some(100), Some(102)));
    assert_eq!(set.counters[3].resources.name, None);
    let set = &manifest.countersets()[0];
    assert_eq!(set.instance_type, InstanceType::MultiAggregate);
    let aggregates: Vec<Aggregate> = set.counters.iter().map(|counter| counter.aggregate).collect();
    use Aggregate::{Avg, Max, Min, Total, Undefined};
    assert_eq!(aggregates, [Total, Total, Total, Total, Max, Avg, Total, Total, Undefined, Min]);
    assert_eq!(set.counters[6].multi, Some(CounterId(8)));
    assert_eq!(set.counters[9].attributes, Attributes::BY_REFERENCE);
}

#[test]
fn driver() {
    let provider = parsed("driver.man").provider;
    assert_eq!((provider.mode, provider.symbol), (Mode::Kernel, None));
    let set = &provider.sets[0];
    assert_eq!((set.structs[1].name.as_str(), set.structs[1].of_type.as_str()), ("Motor", "TIDE_MOTOR"));
    assert_eq!(
        (set.counters[2].of_struct.as_deref(), set.counters[2].field.as_deref()),
        (Some("Level"), Some("Highest"))
    );
}

#[test]
fn utf16() {
    let set = &parsed("bakery.man").countersets()[0];
    assert_eq!((set.name.as_ref(), set.help.as_ref()), ("Bäckerei Öfen", "Ovens – 面包."));
    assert_eq!(set.counters[0].name.as_deref(), Some("°C"));
}

/// Checks that a cut manifest is an error, unless only text after the last element is lost.
#[test]
fn every_prefix_is_an_error() {
    for name in ["driver.man", "bakery.man"] {
        let bytes = sample(name);
        let end = bytes.len() - if name == "bakery.man" { 4 } else { 1 };
        for len in 0..end {
            let (manifest, problems) = Manifest::check(&bytes[..len]);
            assert!(manifest.is_none() && problems.errors().count() > 0, "{name}, {len}: {problems}");
        }
        assert!(Manifest::parse(&bytes[..end]).is_ok());
    }
}

/// Checks that a manifest with a changed byte is valid or has a problem, at a position in the file.
#[test]
fn every_changed_byte_is_said_or_harmless() {
    const ALL: [u8; 8] = [b'"', 0xFF, 0, b' ', b'&', b'<', b'1', b'z'];
    for (name, bytes) in [("driver.man", &ALL[..1]), ("bakery.man", &ALL[..])] {
        let good = sample(name);
        let lines = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        for at in 0..good.len() {
            for new in bytes.iter().copied().chain([good[at] ^ 1]) {
                let mut bytes = good.clone();
                bytes[at] = new;
                let (manifest, problems) = Manifest::check(&bytes);
                assert_eq!(manifest.is_none(), problems.errors().count() > 0, "{name} byte {at}: {problems}");
                assert!(
                    problems.list().iter().all(|p| (1..=lines).contains(&p.line)),
                    "{name} byte {at}: {problems}"
                );
            }
        }
    }
}
