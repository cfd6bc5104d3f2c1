//! Helpers for tests of all countersets: changed copies of the fixtures, and collections from them. A module of
//! the unit tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use perfset_core::{Birth, Counter, CounterId, Counterset, InstanceIdFilter, Mark, NoValue};
use perfset_engine::{CollectRequest, InstanceFilter, InstanceFilters, Pattern, Provider, Rows, SourceError};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use crate::roots::Roots;

pub(crate) fn fixture(name: &str) -> Roots {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux").join(name);
    Roots { proc: root.join("proc"), sys: root.join("sys") }
}

/// Copy of a fixture that a test may change; removed at the end.
pub(crate) struct Tree {
    root: PathBuf,
}

/// Returns the directory for copies of fixtures: in memory if possible, because they have hundreds of files each.
fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

impl Tree {
    pub(crate) fn copy_of(name: &str) -> Self {
        let tree = Self::proc_of(name);
        copy(&fixture(name).sys, &tree.roots().sys);
        tree
    }

    /// Copies only `/proc` of a fixture, which has a tenth of the fixture's files.
    pub(crate) fn proc_of(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = scratch().join(format!("perfset-linux-{}-{number}", std::process::id()));
        copy(&fixture(name).proc, &root.join("proc"));
        Self { root }
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots { proc: self.root.join("proc"), sys: self.root.join("sys") }
    }

    /// Returns the path of a file in the copied fixture: `proc/…`, `sys/…` or `etc/…`; `cpu/…` and `node/…` are below
    /// `sys/devices/system`.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        let is_whole = ["proc/", "sys/", "etc/"].iter().any(|folder| file.starts_with(folder));
        let folder = if is_whole { "" } else { "sys/devices/system" };
        self.root.join(folder).join(file)
    }

    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::create_dir_all(self.path(file).parent().unwrap()).unwrap();
        fs::write(self.path(file), text).unwrap();
    }

    pub(crate) fn remove(&self, file: &str) {
        fs::remove_file(self.path(file)).unwrap();
    }

    /// Returns the names that `work` opens in the copied fixture, sorted: files, and directories, which end in `/`.
    pub(crate) fn opened(&self, work: impl FnOnce()) -> Vec<String> {
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let mut folders = BTreeMap::new();
        let mut next = vec![self.root.clone()];
        while let Some(folder) = next.pop() {
            let number = inotify::add_watch(&watch, &folder, WatchFlags::OPEN).unwrap();
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    next.push(entry.path());
                }
            }
            folders.insert(number, folder);
        }
        let mut buffer = [const { MaybeUninit::uninit() }; 4_096];
        let mut events = inotify::Reader::new(&watch, &mut buffer);
        while events.next().is_ok() {} // of the walk above
        work();
        let mut opened = BTreeSet::new();
        while let Ok(event) = events.next() {
            let Some(name) = event.file_name() else { continue }; // a folder; the one above it tells its name
            let path = folders[&event.wd()].join(name.to_str().unwrap());
            let is_folder = event.events().contains(ReadFlags::ISDIR);
            let path = path.strip_prefix(&self.root).unwrap().display();
            opened.insert(format!("{path}{}", if is_folder { "/" } else { "" }));
        }
        opened.into_iter().collect()
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
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&entry.path(), &to);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), to).unwrap();
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Fault of a kernel file: its name, its cause, and a check of the reason for having no value.
type Fault = (&'static str, fn(&Tree, &str), fn(&NoValue) -> bool);

/// All faults that a test gives a kernel file.
pub(crate) const FAULTS: [Fault; 5] = [
    ("empty", |tree, file| tree.write(file, ""), failed),
    ("malformed", |tree, file| tree.write(file, "x\n"), failed),
    ("cut", |tree, file| tree.write(file, tree.text(file).trim_end()), failed),
    ("missing", |tree, file| tree.remove(file), |reason| matches!(reason, NoValue::Unavailable(_))),
    (
        "a folder",
        |tree, file| {
            tree.remove(file);
            fs::create_dir(tree.path(file)).unwrap();
        },
        failed,
    ),
];

fn failed(reason: &NoValue) -> bool {
    matches!(reason, NoValue::Failed(_))
}

/// Change of a line in a fixture: the file below `/proc`, the replaced text, its replacement, the counters that lose
/// their values, and their reason. A reason that begins with `:` is a position in the file.
pub(crate) type ChangedLine<'a> = (&'a str, &'a str, &'a str, &'a [CounterId], &'a str);

/// Checks that a change of the fixture `two-nodes` makes exactly these counters of a provider lose their values, for
/// that reason.
pub(crate) fn check_line<P: Provider>(
    (file, from, to, want, why): ChangedLine<'_>,
    provider: fn(&Roots) -> P,
    lost: fn(&Collected) -> Vec<CounterId>,
) {
    let tree = Tree::proc_of("two-nodes");
    let file = format!("proc/{file}");
    tree.write(&file, &tree.text(&file).replace(from, to));
    let collected = collect_all(&mut provider(&tree.roots()));
    assert_eq!(lost(&collected), want, "{from:?} {to:?}");
    let path = if why.starts_with(':') { tree.path(&file).display().to_string() } else { String::new() };
    for counter in want {
        assert_eq!(collected.missing("")[&counter.0], format!("{path}{why}"), "{from:?} {to:?}");
    }
}

/// Rows and cells of a collection by a test.
#[derive(Debug)]
pub(crate) struct Collected {
    /// Names, ids and births of the collected rows, in their order.
    pub(crate) rows: Vec<(String, u32, Birth)>,
    pub(crate) cells: BTreeMap<(String, u32), CellOutcome>,
    /// Start times of the counts in cells, for cells whose count has a start time of its own.
    pub(crate) since: BTreeMap<(String, u32), NonZeroU64>,
    pub(crate) bytes_read: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CellOutcome {
    Value(u64),
    Held(u64),
    Reused(u64),
    /// Value of a sum that lacks this number of instances.
    Partial(u64, u32),
    None(NoValue),
}

impl Collected {
    pub(crate) fn get(&self, instance: &str, counter: CounterId) -> &CellOutcome {
        &self.cells[&(instance.to_owned(), counter.0)]
    }

    /// Returns the start time of the count in a cell; `None` if the count has no start time of its own.
    pub(crate) fn since(&self, instance: &str, counter: CounterId) -> Option<NonZeroU64> {
        self.since.get(&(instance.to_owned(), counter.0)).copied()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.0.as_str()).collect()
    }

    pub(crate) fn birth(&self, instance: &str) -> Birth {
        self.rows.iter().find(|row| row.0 == instance).unwrap().2
    }

    /// Checks that the collection has one row, without a name, with these values, and that all other counters are
    /// unavailable. Returns the other counters.
    pub(crate) fn all_but(&self, known: &[(CounterId, u64)]) -> Vec<CounterId> {
        assert_eq!(self.rows, [(String::new(), 0, None)]);
        for (counter, value) in known {
            assert_eq!(*self.get("", *counter), CellOutcome::Value(*value), "{counter:?}");
        }
        let missing = self.missing("");
        assert!(missing.values().all(|reason| reason.starts_with("unavailable: ")), "{missing:?}");
        missing.into_keys().map(CounterId).collect()
    }

    /// Returns the counters of a collected row without a value, with the reasons.
    pub(crate) fn missing(&self, instance: &str) -> BTreeMap<u32, String> {
        let of_row = self.cells.iter().filter(|((name, _), _)| name == instance);
        of_row
            .filter_map(|((_, counter), got)| match got {
                CellOutcome::None(reason) => Some((*counter, reason.to_string())),
                _ => None,
            })
            .collect()
    }
}

/// Collects some counters of the rows that match one of some patterns, of the first counterset of a provider.
pub(crate) fn try_collect(
    provider: &mut dyn Provider,
    wanted: &[CounterId],
    patterns: &[&str],
) -> Result<Collected, SourceError> {
    let catalogue = provider.catalogue().unwrap();
    try_collect_of(provider, catalogue.countersets.first().unwrap(), wanted, patterns)
}

/// Collects some counters of the rows that match one of some patterns, of a given counterset of a provider.
pub(crate) fn try_collect_of(
    provider: &mut dyn Provider,
    counterset: &Counterset,
    wanted: &[CounterId],
    patterns: &[&str],
) -> Result<Collected, SourceError> {
    let counters: Vec<&Counter> = counterset.counters.iter().filter(|c| wanted.contains(&c.id)).collect();
    let ids: Vec<CounterId> = counters.iter().map(|counter| counter.id).collect();
    let filter =
        |text: &&str| InstanceFilter { pattern: Pattern::new(&(*text).into()), id: InstanceIdFilter::Any };
    let instances: InstanceFilters = patterns.iter().map(filter).collect();
    let mut rows = Rows::new(counters.iter().copied());
    rows.start();
    static COLLECTIONS: AtomicU64 = AtomicU64::new(1);
    let collection = COLLECTIONS.fetch_add(1, Ordering::Relaxed);
    let now = crate::clock::time_100ns().try_into().unwrap_or(0);
    provider.collect(
        &CollectRequest::new(counterset, &ids, &instances).collection(collection).at(now),
        &mut rows,
    )?;
    rows.end();

    let mut collected = Collected {
        rows: Vec::new(),
        cells: BTreeMap::new(),
        since: BTreeMap::new(),
        bytes_read: rows.bytes_read(),
    };
    for row in 0..rows.len() {
        let name = rows.name(row).to_string();
        for (column, (cell, counter)) in rows.cells(row).iter().zip(&counters).enumerate() {
            let got = match (cell.header.data_size.get(), rows.reason(row, column)) {
                (0, Some(reason)) => CellOutcome::None(reason.clone()),
                (len, _) => {
                    assert_eq!(len, counter.counter_type.value_len());
                    match rows.mark(row, column) {
                        None => CellOutcome::Value(cell.value.get()),
                        Some(Mark::Held) => CellOutcome::Held(cell.value.get()),
                        Some(Mark::Reused) => CellOutcome::Reused(cell.value.get()),
                        Some(Mark::Partial(missing)) => CellOutcome::Partial(cell.value.get(), missing.get()),
                        other => panic!("{name} {:?}: {other:?}", counter.name),
                    }
                }
            };
            let since = rows.counted_since(row, column);
            collected.since.extend(since.map(|since| ((name.clone(), counter.id.0), since)));
            collected.cells.insert((name.clone(), counter.id.0), got);
        }
        collected.rows.push((name, rows.id(row).unwrap().0, rows.birth(row)));
    }
    Ok(collected)
}

/// Returns filters that select all instances of a counterset.
pub(crate) fn all_instances() -> InstanceFilters {
    let all = InstanceFilter { pattern: Pattern::new(&"*".into()), id: InstanceIdFilter::Any };
    [all].into_iter().collect()
}

pub(crate) fn collect_of(
    provider: &mut dyn Provider,
    counterset: &Counterset,
    wanted: &[CounterId],
    patterns: &[&str],
) -> Collected {
    try_collect_of(provider, counterset, wanted, patterns).unwrap()
}

pub(crate) fn collect(provider: &mut dyn Provider, wanted: &[CounterId], patterns: &[&str]) -> Collected {
    try_collect(provider, wanted, patterns).unwrap()
}

/// Collects every counter of every row of a provider.
pub(crate) fn collect_all(provider: &mut dyn Provider) -> Collected {
    let catalogue = provider.catalogue().unwrap();
    let counters = catalogue.countersets.first().unwrap().counters.iter();
    let all: Vec<CounterId> = counters.map(|counter| counter.id).collect();
    collect(provider, &all, &["*"])
}

/// Returns the files that a fresh provider opens in its first collection of some counters of some instances.
pub(crate) fn opened<P: Provider>(
    tree: &Tree,
    provider: impl Fn(&Roots) -> P,
    wanted: &[CounterId],
    patterns: &[&str],
) -> Vec<String> {
    let mut provider = provider(&tree.roots());
    tree.opened(|| drop(try_collect(&mut provider, wanted, patterns)))
}
