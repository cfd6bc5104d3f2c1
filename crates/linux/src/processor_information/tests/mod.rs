//! Collections from trees of files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use perfset_core::catalogue::processor_information as id;
use perfset_core::{Birth, Counter, CounterId, InstanceIdFilter, Mark, NoValue};
use perfset_engine::{InstanceFilter, Note, Pattern, Provider, Rows, SourceError, Want};

use super::ProcessorInformation;
use crate::roots::Roots;

mod faults;
mod over_time;
mod values;

/// Not 100: nobody may assume that.
const CLOCK_TICKS: u64 = 250;
const ELAPSED_NS: u64 = 123_456_789_012_345;

fn fixture(name: &str) -> Roots {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux").join(name);
    Roots { proc: root.join("proc"), sys: root.join("sys") }
}

fn provider(roots: Roots) -> ProcessorInformation {
    ProcessorInformation::new(roots, CLOCK_TICKS, || ELAPSED_NS)
}

/// A copy of a fixture that may be changed; removed at the end.
struct Tree {
    root: PathBuf,
}

impl Tree {
    fn copy_of(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("perfset-linux-{}-{number}", std::process::id()));
        let Roots { proc, sys } = fixture(name);
        copy(&proc, &root.join("proc"));
        copy(&sys, &root.join("sys"));
        Self { root }
    }

    fn roots(&self) -> Roots {
        Roots { proc: self.root.join("proc"), sys: self.root.join("sys") }
    }

    /// Where `proc/…` or `cpu/…` or `node/…` is.
    fn path(&self, file: &str) -> PathBuf {
        let folder = if file.starts_with("proc/") { "" } else { "sys/devices/system" };
        self.root.join(folder).join(file)
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        fs::create_dir_all(self.path(file).parent().unwrap()).unwrap();
        fs::write(self.path(file), text).unwrap();
    }

    fn remove(&self, file: &str) {
        fs::remove_file(self.path(file)).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root); // there may be none on a platform without testdata
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let Ok(entries) = fs::read_dir(from) else { return };
    for entry in entries.map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// What a collection delivered.
#[derive(Debug)]
struct Collected {
    /// Names, ids and births, in order.
    rows: Vec<(String, u32, Birth)>,
    cells: BTreeMap<(String, u32), Got>,
    bytes_read: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Got {
    Value(u64),
    Held(u64),
    None(NoValue),
}

impl Collected {
    fn get(&self, instance: &str, counter: CounterId) -> &Got {
        &self.cells[&(instance.to_owned(), counter.0)]
    }

    fn names(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.0.as_str()).collect()
    }

    fn birth(&self, instance: &str) -> Birth {
        self.rows.iter().find(|row| row.0 == instance).unwrap().2
    }

    /// The counters without a value in a row, and why.
    fn missing(&self, instance: &str) -> BTreeMap<u32, String> {
        let of_row = self.cells.iter().filter(|((name, _), _)| name == instance);
        of_row
            .filter_map(|((_, counter), got)| match got {
                Got::None(reason) => Some((*counter, reason.to_string())),
                _ => None,
            })
            .collect()
    }
}

/// Collects some counters of the rows that match one of some patterns.
fn try_collect(
    provider: &mut ProcessorInformation,
    wanted: &[CounterId],
    patterns: &[&str],
) -> Result<Collected, SourceError> {
    let counters: Vec<&Counter> = id::COUNTERSET.counters.iter().filter(|c| wanted.contains(&c.id)).collect();
    let ids: Vec<CounterId> = counters.iter().map(|counter| counter.id).collect();
    let filter =
        |text: &&str| InstanceFilter { pattern: Pattern::new(&(*text).into()), id: InstanceIdFilter::Any };
    let instances: Vec<_> = patterns.iter().map(filter).collect();
    let mut rows = Rows::new(counters.iter().copied());
    rows.start();
    provider
        .collect(&Want { counterset: &id::COUNTERSET, counters: &ids, instances: &instances }, &mut rows)?;
    rows.end();

    let mut collected = Collected { rows: Vec::new(), cells: BTreeMap::new(), bytes_read: rows.bytes_read() };
    for row in 0..rows.len() {
        let name = String::from_utf16(rows.name(row)).unwrap();
        let notes: BTreeMap<usize, &Note> = rows.notes(row).collect();
        for (column, (cell, counter)) in rows.cells(row).iter().zip(&counters).enumerate() {
            let got = match (cell.header.data_size.get(), notes.get(&column)) {
                (0, Some(Note::Missing(reason))) => Got::None(reason.clone()),
                (len, note) => {
                    assert_eq!(len, counter.counter_type.value_len());
                    match note {
                        None => Got::Value(cell.value.get()),
                        Some(Note::Marked(Mark::Held)) => Got::Held(cell.value.get()),
                        other => panic!("{name} {:?}: {other:?}", counter.name),
                    }
                }
            };
            collected.cells.insert((name.clone(), counter.id.0), got);
        }
        collected.rows.push((name, rows.id(row).unwrap().0, rows.birth(row)));
    }
    Ok(collected)
}

fn collect(provider: &mut ProcessorInformation, wanted: &[CounterId], patterns: &[&str]) -> Collected {
    try_collect(provider, wanted, patterns).unwrap()
}

/// Every counter of every row.
fn collect_all(provider: &mut ProcessorInformation) -> Collected {
    let all: Vec<CounterId> = id::COUNTERSET.counters.iter().map(|counter| counter.id).collect();
    collect(provider, &all, &["*"])
}
