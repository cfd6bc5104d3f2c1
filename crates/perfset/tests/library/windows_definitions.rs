//! Tests of the catalogue and of V1 blocks against the definitions that a real Windows wrote
//! (`testdata/windows-definitions`).

#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perfset::catalogue;
use perfset::v1::{Contents, TitleNames, read};
use perfset::visit::Mode;
use perfset::{Counter, Counterset, DetailLevel};

use crate::fixture::{FIXTURES, machine};

/// Last title index that is the same on every Windows.
const BASE_INDEX: u32 = 1_847;

fn rows(file: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/windows-definitions").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Returns the title indexes that are the same on every Windows, by name. A few names have several.
fn base_indexes() -> BTreeMap<String, Vec<u32>> {
    let mut indexes: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for row in rows("title-indexes.tsv") {
        let index = row[0].parse().unwrap();
        if index <= BASE_INDEX {
            indexes.entry(row[1].clone()).or_default().push(index);
        }
    }
    indexes
}

/// Definition of a counter in one V1 object, as Windows writes it.
#[derive(Debug)]
struct Definition {
    object: String,
    object_index: u32,
    object_detail: u32,
    default_counter: String,
    index: u32,
    counter: String,
    scale: i32,
    detail: u32,
    is_base: bool,
}

fn definitions() -> Vec<Definition> {
    let rows = rows("definitions.tsv");
    let number = |row: &[String], at: usize| row[at].parse().unwrap();
    let definition = |row: &Vec<String>| Definition {
        object: row[1].clone(),
        object_index: number(row, 0),
        object_detail: number(row, 2),
        default_counter: row[3].clone(),
        index: number(row, 4),
        counter: row[5].clone(),
        scale: row[8].parse().unwrap(),
        detail: number(row, 9),
        is_base: row[6].ends_with("_BASE") || row[6].ends_with("_TIMESTAMP"),
    };
    rows.iter().map(definition).collect()
}

fn counterset(name: &str) -> &'static Counterset {
    catalogue::ALL.iter().find(|set| set.name == name).unwrap()
}

/// Returns the catalogue's counter for a definition; for a base, the counter by which its numerator is divided.
fn counter<'a>(set: &'a Counterset, definition: &Definition) -> &'a Counter {
    let named = set.counters.iter().find(|c| c.name.as_deref() == Some(&definition.counter)).unwrap();
    if definition.is_base { set.counter(named.divisor().unwrap()).unwrap() } else { named }
}

#[test]
fn title_indexes_are_those_of_windows() {
    let indexes = base_indexes();
    let defined: BTreeMap<_, _> = definitions()
        .into_iter()
        .filter(|definition| !definition.is_base)
        .map(|definition| ((definition.object, definition.counter), definition.index))
        .collect();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for set in catalogue::ALL {
        let Some(of_set) = indexes.get(&*set.name) else { continue };
        let mut check = |what: String, found: u32, allowed: &[u32]| {
            compared += 1;
            if !allowed.contains(&found) {
                wrong.push(format!("{what}: {found}, on Windows {allowed:?}"));
            }
        };
        check(set.name.to_string(), set.v1_index.unwrap(), of_set);
        for counter in set.counters.iter() {
            let Some(name) = counter.name.as_deref() else { continue };
            let exact =
                defined.get(&(set.name.to_string(), name.to_owned())).copied().map(|index| vec![index]);
            let Some(allowed) = exact.or_else(|| indexes.get(name).cloned()) else { continue };
            check(format!(r"{}\{name}", set.name), counter.v1_index.unwrap(), &allowed);
        }
    }
    assert!(compared > 300, "{compared}");
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn scales_are_those_of_windows() {
    let scales = definitions().into_iter().filter_map(|definition| {
        let found = counter(counterset(&definition.object), &definition).default_scale;
        (found != definition.scale).then(|| format!("{found}: {definition:?}"))
    });
    let wrong: Vec<_> = scales.collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn detail_levels_are_those_of_windows() {
    let (mut wrong, mut levels) = (Vec::new(), BTreeSet::new());
    for definition in definitions() {
        let set = counterset(&definition.object);
        let found = (counter(set, &definition).detail, set.detail());
        levels.insert(definition.detail);
        if found != (DetailLevel(definition.detail), DetailLevel(definition.object_detail)) {
            wrong.push(format!("{found:?}: {definition:?}"));
        }
    }
    assert_eq!(levels.into_iter().collect::<Vec<_>>(), [100, 200, 300, 400]);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Checks the definitions in the V1 blocks that perfset writes, where a base has its numerator's index.
#[test]
fn blocks_define_counters_as_windows_does() {
    let mut names = TitleNames::default();
    for (name, indexes) in base_indexes() {
        for index in indexes {
            names.insert(index, name.clone());
        }
    }
    let definitions = definitions();
    let (mut wrong, mut objects, mut compared) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for fixture in FIXTURES {
        let machine = machine(fixture);
        for query in ["Global", "MetadataGlobal"] {
            let bytes = perfset::v1::query(&machine, &query.parse().unwrap(), "HOST").unwrap().bytes;
            let (block, _) = read(&bytes, Mode::Strict).unwrap();
            for object in block.objects().map(Result::unwrap) {
                let of_object = |d: &&Definition| d.object_index == object.name_index();
                let Some(first) = definitions.iter().find(of_object) else { continue };
                let found = object.definitions();
                let mut defined = Vec::new();
                for definition in found.iter() {
                    let is_base = definition.counter_type().is_base();
                    let same = |d: &&Definition| {
                        d.object_index == first.object_index
                            && d.index == definition.name_index()
                            && d.is_base == is_base
                    };
                    defined.push(if is_base { 0 } else { definition.name_index() });
                    let Some(windows) = definitions.iter().find(same) else {
                        let name = names.get(definition.name_index());
                        wrong.insert(format!("{}: not there on Windows: {name:?}", first.object));
                        continue;
                    };
                    compared.insert((first.object_index, definition.name_index(), is_base));
                    let mine = (definition.default_scale(), definition.detail().0);
                    if mine != (windows.scale, windows.detail) {
                        wrong.insert(format!("{mine:?}: {windows:?}"));
                    }
                }
                // What Linux never has is not in the block: then there is no default counter.
                let default = definitions.iter().find(|d| {
                    d.object_index == first.object_index && d.counter == first.default_counter && !d.is_base
                });
                let place = defined.iter().position(|index| *index == default.unwrap().index);
                let place = place.map(|place| u32::try_from(place).unwrap());
                objects.insert(first.object_index);
                if (object.default_counter(), object.detail().0) != (place, first.object_detail) {
                    wrong.insert(format!(
                        "{}: default counter {:?}, on Windows {:?} at {place:?}",
                        first.object,
                        object.default_counter(),
                        first.default_counter
                    ));
                }
            }
        }
    }
    assert_eq!(objects.len(), 8);
    assert!(compared.len() > 120, "{}", compared.len());
    let list: Vec<_> = wrong.iter().cloned().collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), compared.len(), list.join("\n"));
}

/// Returns the title indexes of the objects in a V1 block, each with name indexes and values of its counters.
fn objects_of(query: &str) -> Vec<(u32, Vec<(u32, u64)>)> {
    let bytes = perfset::v1::query(&machine("two-nodes"), &query.parse().unwrap(), "HOST").unwrap().bytes;
    let (block, _) = read(&bytes, Mode::Strict).unwrap();
    let objects = block.objects().map(Result::unwrap);
    let object = objects.map(|object| {
        let Contents::Single(values) = object.contents() else { panic!("{object:?}") };
        let value = |d| values.value_of(&d).number().unwrap().get();
        let counters = object.definitions().iter().map(|d| (d.name_index(), value(d)));
        (object.name_index(), counters.collect())
    });
    object.collect()
}

#[test]
fn objects_answer_to_windows_indexes_and_to_former_ones() {
    for (now, former) in [(1530, 20400), (1532, 20402), (548, 20404), (1534, 20406)] {
        let found = objects_of(&now.to_string());
        assert_eq!(found.len(), 1, "{now}");
        assert_eq!(found[0].0, now);
        assert!(!found[0].1.is_empty(), "{now}");
        assert_eq!(objects_of(&former.to_string()), found);
        assert_eq!(objects_of(&format!("{former} {now}")), found, "it stands in the block once");
    }
}

#[test]
fn former_indexes_are_given_to_no_other_name() {
    assert_eq!(catalogue::FORMER_V1_INDEXES.len(), 26);
    let counters = catalogue::ALL.iter().flat_map(|set| set.counters.iter().filter_map(|c| c.v1_index));
    let taken: BTreeSet<u32> = catalogue::ALL.iter().filter_map(|set| set.v1_index).chain(counters).collect();
    for (former, now) in catalogue::FORMER_V1_INDEXES {
        assert!(!taken.contains(former) && taken.contains(now), "{former}");
        assert_eq!((catalogue::current_v1_index(*former), catalogue::current_v1_index(*now)), (*now, *now));
    }
}
