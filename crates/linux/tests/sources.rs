//! Test of the providers against the files and fields that the catalogue names: a counter loses its value without its
//! file, and changes with its field, and only then.

#![cfg(target_os = "linux")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

use perfset_catalogue::ALL;
use perfset_core::{Counter, CounterId, CounterSource, Counterset, Guid, InstanceId, RawValue};
use perfset_engine::testing::FixedClock;
use perfset_engine::{Entry, Machine, Snapshot};
use perfset_linux::{ProcessSource, Roots, providers};

/// Names of the machines in `testdata/linux`, each with other files.
const MACHINES: [&str; 9] = [
    "containers",
    "gpu-desktop",
    "many-disks",
    "old-disks",
    "old-kernel",
    "processes",
    "servers",
    "small-vm",
    "two-nodes",
];

type Key = (Guid, CounterId, String, Option<InstanceId>);

/// Raw value of each counter of each row, or none if it is missing.
type Values = BTreeMap<Key, Option<RawValue>>;

/// Copy of a machine's fixture from which the test takes files away.
struct Copy {
    root: PathBuf,
    files: Vec<PathBuf>,
}

impl Copy {
    fn new(name: &str) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux").join(name);
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let root = std::env::temp_dir().join(format!("perfset-sources-{}-{number}", std::process::id()));
        let mut files = Vec::new();
        copy(&from, &root.join("at"), Path::new(""), &mut files);
        fs::create_dir_all(root.join("taken")).unwrap();
        Self { root, files }
    }

    fn values(&self) -> Values {
        let roots = Roots { proc: self.root.join("at/proc"), sys: self.root.join("at/sys") };
        let machine = Machine::new(Box::new(FixedClock::default()));
        for provider in providers(roots, ProcessSource::Proc) {
            machine.register(provider);
        }
        let mut query = machine.query();
        for set in ALL {
            let entry = Entry::all(set.guid);
            let _ = query.add(&if set.instance_type.is_multiple() { entry.instance("*") } else { entry });
        }
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        snapshot
            .values(None)
            .filter(|value| value.instance_id.is_some() || !value.counterset.instance_type.is_multiple())
            .map(|value| {
                let key =
                    (value.counterset.guid, value.counter.id, value.instance.to_string(), value.instance_id);
                (key, value.raw)
            })
            .collect()
    }

    /// Returns `true` if two names of the catalogue stand for one file of the fixture.
    fn is_same(&self, a: &str, b: &str) -> bool {
        self.files.iter().any(|path| is_named(path, a) && is_named(path, b))
    }

    /// Returns the values of all counters without the files that the catalogue calls `file`; `None` if there is no
    /// such file.
    fn values_without(&self, file: &str) -> Option<Values> {
        let taken: Vec<&PathBuf> = self.files.iter().filter(|path| is_named(path, file)).collect();
        let place = |number: usize| self.root.join("taken").join(number.to_string());
        for (number, path) in taken.iter().enumerate() {
            fs::rename(self.root.join("at").join(path), place(number)).unwrap();
        }
        let values = (!taken.is_empty()).then(|| self.values());
        for (number, path) in taken.iter().enumerate() {
            fs::rename(place(number), self.root.join("at").join(path)).unwrap();
        }
        values
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn copy(from: &Path, to: &Path, inside: &Path, files: &mut Vec<PathBuf>) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (target, path) = (to.join(entry.file_name()), inside.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&entry.path(), &target, &path, files);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
            files.push(path);
        }
    }
}

/// Returns `true` if the catalogue calls a kernel file by that name. Capitals in a part of the name stand for any
/// text.
fn is_named(path: &Path, file: &str) -> bool {
    let Some(absolute) = file.strip_prefix('/') else {
        // A file of a control group.
        return path.starts_with("sys/fs/cgroup") && path.ends_with(file);
    };
    let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap()).collect();
    let named: Vec<_> = absolute.split('/').collect();
    // Classes of sysfs are links into the tree of devices.
    let is_class = named.starts_with(&["sys", "class"]) && parts.len() >= named.len();
    let tail = if is_class { named.get(3..).unwrap() } else { named.as_slice() };
    let end = parts.get(parts.len().saturating_sub(tail.len())..).unwrap();
    (is_class || parts.len() == named.len())
        && end.len() == tail.len()
        && end.iter().zip(tail).all(|(part, named)| stands_for(named, part))
}

fn stands_for(named: &str, part: &str) -> bool {
    let is_placeholder = |c: char| c.is_ascii_uppercase();
    match named.find(is_placeholder) {
        None => named == part,
        Some(at) => {
            let end = named.rfind(is_placeholder).unwrap() + 1;
            let (before, after) = (&named[..at], &named[end..]);
            part.len() > before.len() + after.len() && part.starts_with(before) && part.ends_with(after)
        }
    }
}

fn counter(key: &Key) -> (&'static Counterset, &'static Counter) {
    let set = perfset_catalogue::by_guid(key.0).unwrap();
    (set, set.counter(key.1).unwrap())
}

#[test]
fn counters_are_read_from_the_files_that_the_catalogue_names() {
    let all = ALL.iter().flat_map(|set| set.counters.iter());
    let files: BTreeSet<&str> =
        all.map(|counter| &*counter.source.file).filter(|file| !file.is_empty()).collect();
    let (mut checked, mut proven, mut wrong) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for machine in MACHINES {
        let copy = Copy::new(machine);
        let values = copy.values();
        for file in &files {
            let Some(without) = copy.values_without(file) else { continue };
            for (key, value) in values.iter().filter(|(_, value)| value.is_some()) {
                let (set, counter) = counter(key);
                let source = &counter.source;
                let place = format!("{}, {}: {source}", set.name, counter.shown_name());
                let now = without.get(key);
                if source.file == *file {
                    checked.insert(place.clone());
                    if now != Some(value) {
                        proven.insert(place);
                    }
                } else if now == Some(&None) && !is_said(source, file) && !copy.is_same(&source.file, file) {
                    wrong.insert(format!("{place}: has no value without {file}"));
                }
            }
        }
    }
    println!("{} counters of {} are checked", checked.len(), all_with_files());
    wrong.extend(
        checked.difference(&proven).map(|place| format!("{place}: has the same value without the file")),
    );
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    assert!(checked.len() >= 500, "{}", checked.len());
}

/// Kernel files with named numbers, and their form.
const NAMED: [(&str, Form); 9] = [
    ("/proc/vmstat", Form::Lines),
    ("/proc/meminfo", Form::Lines),
    ("/proc/net/snmp6", Form::Lines),
    ("/proc/net/snmp", Form::Tables),
    ("/proc/net/netstat", Form::Tables),
    ("/proc/diskstats", Form::Columns),
    ("memory.stat", Form::Lines),
    ("memory.events", Form::Lines),
    ("cpu.stat", Form::Lines),
];

/// Form of a kernel file with named numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Lines of a name and a number.
    Lines,
    /// Pairs of lines with a prefix: one with names, then one with numbers.
    Tables,
    /// Lines of columns, which the catalogue numbers from 1: `field 4`.
    Columns,
}

/// Prefix and name of a number in a kernel file; the prefix can be empty.
type FieldName = (String, String);

impl Form {
    /// Returns the text of a kernel file with each number changed by `change`, which gets its name.
    fn changed(self, text: &str, mut change: impl FnMut(FieldName, u64) -> u64) -> String {
        let mut names: Vec<&str> = Vec::new();
        let mut out = String::new();
        for (at, line) in text.lines().enumerate() {
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let first = words.first().cloned().unwrap_or_default();
            let prefix = first.trim_end_matches(':').to_owned();
            match self {
                Self::Tables if at % 2 == 0 => names = line.split_whitespace().collect(),
                Self::Tables => {
                    for (word, name) in words.iter_mut().zip(&names).skip(1) {
                        if let Ok(number) = word.parse() {
                            *word = change((prefix.clone(), (*name).to_owned()), number).to_string();
                        }
                    }
                }
                Self::Lines => {
                    if let Some(Ok(number)) = words.get(1).map(|word| word.parse()) {
                        words[1] = change((String::new(), prefix), number).to_string();
                    }
                }
                Self::Columns => {
                    for (column, word) in words.iter_mut().enumerate().skip(3) {
                        if let Ok(number) = word.parse() {
                            *word =
                                change((String::new(), format!("field {}", column + 1)), number).to_string();
                        }
                    }
                }
            }
            out.push_str(&words.join(" "));
            out.push('\n');
        }
        out
    }
}

/// Returns `true` if the catalogue's text contains a name that no other letter or digit continues.
fn mentions(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.is_empty()
        || text.match_indices(name).any(|(at, _)| {
            let after = text[at + name.len()..].chars().next();
            !text[..at].ends_with(is_word) && !after.is_some_and(|c| is_word(c) || c == '(')
        })
}

/// Results of changing numbers of kernel files, as text that names counter and field.
#[derive(Default)]
struct Fields {
    /// Fields that the catalogue names as the source of a counter.
    checked: BTreeSet<String>,
    /// Fields whose change has changed the value of their counter.
    proven: BTreeSet<String>,
    /// Counters whose value changed with a field that the catalogue does not name for them.
    wrong: BTreeSet<String>,
    /// Numbers of kernel files that have been changed on some machine, by file and name.
    known: BTreeSet<(&'static str, FieldName)>,
}

/// Amount by which the test changes each number: more than a page in KiB, so that no unit rounds it away.
const STEP: u64 = 1_024;

#[test]
fn counters_change_with_the_fields_that_the_catalogue_names() {
    let (machines, fields) = (Mutex::new(VecDeque::from(MACHINES)), Mutex::new(Fields::default()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let next = || machines.lock().unwrap().pop_front();
                while let Some(machine) = next() {
                    change_each_number(machine, &fields);
                }
            });
        }
    });
    let Fields { checked, proven, mut wrong, .. } = fields.into_inner().unwrap();
    println!("{} fields of counters are checked", checked.len());
    wrong.extend(checked.difference(&proven).map(|place| format!("{place} does not change it")));
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
    assert!(checked.len() >= 700, "{}", checked.len());
}

/// Changes each number of a machine's files alone, and compares all counter values with those before.
fn change_each_number(machine: &str, fields: &Mutex<Fields>) {
    let copy = Copy::new(machine);
    // Some values change by themselves, because they are times.
    let again = copy.values();
    let mut values = copy.values();
    values.retain(|key, value| value.is_some() && again.get(key) == Some(value));
    for (file, form) in NAMED {
        let paths: Vec<PathBuf> = copy
            .files
            .iter()
            .filter(|path| is_named(path, file))
            .map(|path| copy.root.join("at").join(path))
            .collect();
        let texts: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let mut names = BTreeSet::new();
        for text in &texts {
            form.changed(text, |name, number| {
                names.insert(name);
                number
            });
        }
        for name in names {
            let is_named_by = |source: &CounterSource| {
                source.file == file && mentions(&source.field, &name.0) && mentions(&source.field, &name.1)
            };
            let of = |(set, counter): (&Counterset, &Counter)| {
                format!("{}, {}: {}: {name:?}", set.name, counter.shown_name(), counter.source)
            };
            let named = values.keys().map(counter).filter(|(_, counter)| is_named_by(&counter.source));
            let due: BTreeSet<String> = named.map(of).collect();
            {
                let mut fields = fields.lock().unwrap();
                fields.checked.extend(due.iter().cloned());
                // A number that no counter names is changed once, to see that none has it.
                let is_new = fields.known.insert((file, name.clone()));
                if !is_new && due.is_subset(&fields.proven) {
                    continue;
                }
            }
            for (path, text) in paths.iter().zip(&texts) {
                let step = |field: FieldName, number: u64| number + if field == name { STEP } else { 0 };
                fs::write(path, form.changed(text, step)).unwrap();
            }
            let now = copy.values();
            for (path, text) in paths.iter().zip(&texts) {
                fs::write(path, text).unwrap();
            }
            let mut fields = fields.lock().unwrap();
            for (key, _) in values.iter().filter(|(key, value)| now.get(key) != Some(*value)) {
                let place = of(counter(key));
                if is_named_by(&counter(key).1.source) {
                    fields.proven.insert(place);
                } else {
                    fields.wrong.insert(format!("{place} of {file} changes it"));
                }
            }
        }
    }
}

/// Returns `true` if a counter may have no value without `file`: its source names the file, or a process is not
/// there.
fn is_said(source: &CounterSource, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap();
    let is_of_process = name == "stat" && source.file.starts_with(file.strip_suffix("stat").unwrap());
    (file.contains("/PID/") && is_of_process) || source.field.contains(name)
}

fn all_with_files() -> usize {
    ALL.iter().flat_map(|set| set.counters.iter()).filter(|counter| !counter.source.file.is_empty()).count()
}
