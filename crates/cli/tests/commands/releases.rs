//! Files of earlier releases, read by this version: settings, recordings, logs and published counters.
//!
//! The directory `testdata/releases` describes them. A release adds the files of its own version with the ignored test,
//! and no file there is ever changed.

#![cfg(target_os = "linux")]

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use perfset::publish::{
    Average, AverageTimer, BusyTimer, Counter32, Counter64, Counterset, ElapsedTime, Folders, Fraction,
    Gauge, Gauge32, PublishedInstance, Publisher, Ratio,
};
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, fcntl_lock};
use serde_json::Value;

use crate::running::{Started, outcome, perfset, repository, scratch, testdata};

/// File with the results of the release: the words of a command as an array, then the lines that it printed.
const RESULTS: &str = "results.jsonl";

/// Directory that a recorder ended properly, and in which the next one was killed.
const RECORDING: &str = "recordings/directory";

/// Commands whose results a release keeps. Those without a log read the published counters.
const COMMANDS: [&[&str]; 19] = [
    &["get", "@shop", "--log", "recordings/one.perfset", "--raw", "--format", "json"],
    &["get", "@all", "--log", "recordings/one.perfset", "--format", "json"],
    &["get", "-f", "settings/counters.txt", "--log", "recordings/one.perfset", "--format", "json"],
    &["view", "recordings/one.perfset", "-c", "shops", "--plain"],
    &["manifest", "check", "settings/kinds.man", "--format", "json"],
    &["provider", "list", "--dir", "settings/data/perfset/providers", "--format", "json"],
    &["list", "Kinds of Fields", "--format", "json"],
    &["instances", "Kinds of Fields", "--format", "json"],
    &["get", r"\Kinds of Fields(*)\*", "--raw", "--format", "json"],
    &["log", "info", "recordings/one.perfset", "--format", "json"],
    &["log", "info", RECORDING, "--format", "json"],
    &["get", r"\Kinds of Fields(*)\*", "--log", RECORDING, "--format", "json"],
    &["get", MACHINE[0], MACHINE[1], "--log", RECORDING, "--raw", "--format", "json"],
    &["log", "info", "recordings/cut.perfset", "--format", "json"],
    &["get", SOME, "--log", "recordings/cut.perfset", "--format", "json"],
    &["get", SOME, "--log", "recordings/relog.csv", "--format", "json"],
    &["get", SOME, "--log", "recordings/relog.tsv", "--format", "json"],
    &["get", SOME, "--log", "recordings/relog.jsonl", "--format", "json"],
    &["get", SOME, "--log", "recordings/relog.db", "--format", "json"],
];

/// Recorded counters of the machine. Linux does not have one of them.
const MACHINE: [&str; 2] = [r"\Memory\{Available Bytes,Cache Faults/sec}", r"\Processor(*)\% Idle Time"];

/// Published counters with different formulas.
const SOME: &str = r"\Kinds of Fields(*)\{Counter64/sec,Gauge,Average,% Busy}";

/// Settings file with everything that it can have.
const SETTINGS: &str = r#"# Settings with every table and key.
[paths]
shop = ['\Kinds of Fields(L*)\{Counter64/sec,Gauge}', '/Memory/Available Bytes']
all = [
    '/Kinds of Fields(*)/*', # a comment
    '\Processor(_Total)\% Idle Time',
]

[tables.shops]
counterset = 'Kinds of Fields'
columns = ['Gauge', 'Counter64/sec', '% Ratio']
sort = 'Gauge'
filter = 'Lis|Porto'

[tables.plain]
counterset = 'Memory'

[top]
strip = ['/Processor(_Total)/% Idle Time', '\Memory\Available Bytes']
mouse = true
"#;

/// File of counter paths.
const PATHS: &str = r"# Counter paths in both spellings, with patterns, lists and exclusions.

\Kinds of Fields(Lisbon)\Gauge
/Kinds of Fields(P*)/{Counter32/sec,Average}
\Memory\{*Bytes,!Cache*}
";

/// Files of options that an administrator has changed.
const OPTIONS: [(&str, &str); 2] = [
    (
        "perfset-record.changed",
        "# Changed.\n\
         OPTIONS=\"--keep 500MB --keep 36h --min-free 0.5% --every 10s=CGroup --every 5s=/Memory/* --cpu 0.5% \
         --sync 1s --process-source proc --with-command-lines\"\n",
    ),
    (
        "perfset-serve.changed",
        "OPTIONS=\"--listen 127.0.0.1:0 --insecure --interval 2s --history 30m --query settings/counters.txt \
         --prefix shop --series-max 1000 --host shop.example\"\n",
    ),
];

/// One field of each kind.
#[derive(Counterset)]
#[counterset(provider = "Releases", name = "Kinds of Fields", instances = "multiple", stripes = 2)]
struct Kinds {
    #[counter(name = "Counter64/sec", unit = "/s")]
    counter64: Counter64,
    #[counter(name = "Counter32/sec")]
    counter32: Counter32,
    #[counter(name = "Gauge")]
    gauge: Gauge,
    #[counter(name = "Gauge32")]
    gauge32: Gauge32,
    #[counter(name = "Average Timer")]
    average_timer: AverageTimer,
    #[counter(name = "Average")]
    average: Average,
    #[counter(name = "% Ratio")]
    ratio: Ratio,
    #[counter(name = "% Fraction")]
    fraction: Fraction,
    #[counter(name = "% Busy")]
    busy: BusyTimer,
    #[counter(name = "Elapsed Time")]
    elapsed: ElapsedTime,
}

/// Releases whose files this version does not read, each with the section of the changelog that says so.
const NOT_READ: [(&str, &str); 0] = [];

/// Returns the directories of the releases whose files this version reads.
fn releases() -> Vec<PathBuf> {
    let all = fs::read_dir(testdata("releases")).unwrap().map(|entry| entry.unwrap().path());
    let is_read = |path: &PathBuf| !NOT_READ.iter().any(|(release, _)| path.ends_with(release));
    let mut all: Vec<_> = all.filter(|path| path.join(RESULTS).exists() && is_read(path)).collect();
    all.sort();
    assert!(!all.is_empty(), "there is no release");
    all
}

/// Copy of the files of a release, as its programs left them.
struct Installed {
    folder: PathBuf,
    /// Files of publishers. Their locks show readers that the publishers run.
    publishers: Vec<File>,
}

impl Installed {
    fn new(release: &Path, test: &str) -> Self {
        let name = format!("releases-{test}-{}", release.file_name().unwrap().to_str().unwrap());
        let folder = scratch(&name);
        copy(release, &folder);
        let files = fs::read_dir(folder.join("published")).unwrap().map(|entry| entry.unwrap().path());
        let publishers = files.map(|file| running_again(&file)).collect();
        Self { folder, publishers }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = perfset("small-vm", args);
        command.current_dir(&self.folder).env("PERFSET_RUNTIME_DIR", self.folder.join("published"));
        command.env("XDG_CONFIG_HOME", self.folder.join("settings/config"));
        command.env("XDG_DATA_HOME", self.folder.join("settings/data"));
        command
    }

    /// Returns the lines that a command prints: the objects of JSON lines, and others as text.
    fn lines(&self, args: &[&str]) -> Vec<Value> {
        let (code, out, err) = outcome(self.command(args).output().unwrap());
        assert_eq!(code, 0, "{args:?}: {err}");
        let line = |line: &str| match serde_json::from_str(line) {
            Ok(object @ Value::Object(_)) => object,
            // The widths of columns are free.
            _ => Value::from(line.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        out.lines().map(line).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copied = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &copied);
        } else {
            fs::write(&copied, fs::read(entry.path()).unwrap()).unwrap();
            fs::set_permissions(&copied, Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// Makes a publisher's file that of a program that runs: its process is this one, which has its lock.
fn running_again(path: &Path) -> File {
    let mut bytes = fs::read(path).unwrap();
    // Words of the header, see docs/shm-layout.md: namespaces, start and boot are 0 for unknown.
    let words = [(40, u64::from(std::process::id())), (48, 0), (56, 0), (64, 0), (72, 0), (96, 0)];
    for (at, word) in words {
        bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }
    let mut file = File::options().read(true).write(true).open(path).unwrap();
    // Reserved, as publishers do: a file system that compresses would store no zeros, and readers refuse holes.
    file.set_len(0).unwrap();
    fallocate(&file, FallocateFlags::empty(), 0, bytes.len().try_into().unwrap()).unwrap();
    file.write_all(&bytes).unwrap();
    // Of this process, not of the description: readers are other processes.
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    file
}

/// Removes fields that a release does not keep: reasons, whose words may change; paths, which the other fields have;
/// and from the results of a live source, values and times of this moment.
fn kept(mut line: Value, is_live: bool) -> Value {
    if let Value::Object(fields) = &mut line {
        let of_now: &[&str] = if is_live { &["time", "value", "origin"] } else { &[] };
        fields.retain(|name, _| !["missing", "path"].contains(&&**name) && !of_now.contains(&&**name));
    }
    line
}

/// Returns `true` if everything of a release's value is there. A later version may add fields to objects.
fn has(now: &Value, before: &Value) -> bool {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => {
            before.iter().all(|(key, value)| now.get(key).is_some_and(|now| has(now, value)))
        }
        (Value::Array(now), Value::Array(before)) => {
            now.len() == before.len() && now.iter().zip(before).all(|(now, before)| has(now, before))
        }
        _ => now == before,
    }
}

/// Returns the results of a release: words of the commands, and their lines.
fn results(release: &Path) -> Vec<(Vec<String>, Vec<Value>)> {
    let mut results: Vec<(Vec<String>, Vec<Value>)> = Vec::new();
    for line in fs::read_to_string(release.join(RESULTS)).unwrap().lines() {
        match serde_json::from_str(line).unwrap() {
            words @ Value::Array(_) => results.push((serde_json::from_value(words).unwrap(), Vec::new())),
            line => results.last_mut().unwrap().1.push(line),
        }
    }
    results
}

#[test]
fn results_are_those_of_the_release() {
    for release in releases() {
        let installed = Installed::new(&release, "results");
        assert_eq!(installed.publishers.len(), 1);
        let results = results(&release);
        assert!(results.len() > 10, "{}", release.display());
        for (words, before) in results {
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let now = installed.lines(&words);
            for (line, before) in before.iter().enumerate() {
                let now = now.get(line).unwrap_or(&Value::Null);
                assert!(has(now, before), "{} {words:?}:\nbefore {before}\nnow    {now}", release.display());
            }
            assert_eq!(now.len(), before.len(), "{} {words:?}", release.display());
        }
    }
}

#[test]
fn a_recorder_goes_on_in_the_directory_of_the_release() {
    for release in releases() {
        let installed = Installed::new(&release, "recorder");
        let args = ["get", r"\Memory\Available Bytes", "--log", RECORDING, "--raw", "--format", "json"];
        let before = installed.lines(&args);
        let (code, _, err) = outcome(
            installed
                .command(&["record", "--dir", RECORDING, r"\Memory\Available Bytes", "10ms", "3"])
                .output()
                .unwrap(),
        );
        assert_eq!(code, 0, "{err}");
        let after = installed.lines(&args);
        assert!(after.starts_with(&before), "{}: the old samples have changed", release.display());
        let is_value = |line: &&Value| line["status"] == "ok";
        let new = after[before.len()..].iter().filter(is_value).count();
        assert!(before.iter().filter(is_value).count() > 3 && new == 3, "{after:?}");
        // What the killed recorder left is sealed.
        let files = fs::read_dir(installed.folder.join(RECORDING)).unwrap();
        let open =
            files.filter(|file| file.as_ref().unwrap().path().extension().unwrap_or_default() == "journal");
        assert_eq!(open.count(), 0);
    }
}

/// Options in `/etc/default`, as packages had them and as administrators change them.
#[test]
fn services_start_with_options_of_the_release() {
    for release in releases() {
        let installed = Installed::new(&release, "services");
        let mut started = 0;
        for file in fs::read_dir(release.join("settings/default")).unwrap() {
            let file = file.unwrap();
            let text = fs::read_to_string(file.path()).unwrap();
            let options = text.lines().find_map(|line| line.strip_prefix("OPTIONS=\"")?.strip_suffix('"'));
            let options = options.unwrap().split_whitespace();
            let name = file.file_name().into_string().unwrap();
            if name.starts_with("perfset-record") {
                let args = ["record", "--dir", "new"].into_iter().chain(options);
                let args: Vec<_> = args.chain(["mem", "10ms", "1"]).collect();
                let (code, _, err) = outcome(installed.command(&args).output().unwrap());
                assert_eq!(code, 0, "{}: {err}", file.path().display());
            } else {
                let args: Vec<_> = ["serve", "--listen", "127.0.0.1:0"].into_iter().chain(options).collect();
                let mut server = Started(installed.command(&args).stderr(Stdio::piped()).spawn().unwrap());
                let mut said = BufReader::new(server.0.stderr.take().unwrap()).lines().map(Result::unwrap);
                let serves = said.any(|line| line.starts_with("metrics  http://"));
                assert!(serves, "{}: {args:?}", file.path().display());
            }
            started += 1;
        }
        assert!(started >= 4, "{}", release.display());
    }
}

/// Counts at some pace, so that each sample has other values.
fn count(instances: &[&PublishedInstance<Kinds>]) {
    for (number, instance) in (3_u64..).zip(instances) {
        instance.counter64.add(number * 1_000_003);
        instance.counter32.add(number * 5);
        instance.gauge.set(number * 7);
        instance.gauge32.set(11);
        instance.average_timer.record(Duration::from_nanos(13_000 * number));
        instance.average.record(17 * number);
        instance.ratio.record(number % 2 == 0);
        instance.fraction.set(19, 23);
        instance.busy.record(Duration::from_micros(29));
        instance.elapsed.set(std::time::UNIX_EPOCH);
    }
    std::thread::sleep(Duration::from_millis(30));
}

/// Writes the files of this version, which `testdata/releases/README.md` lists, and the results of the commands.
#[test]
#[ignore = "writes files into the repository, once for each release: docs/releasing.md"]
fn files_of_this_version() {
    let folder = testdata("releases").join(env!("CARGO_PKG_VERSION"));
    let is_new =
        !["settings", "recordings", "published", RESULTS].iter().any(|name| folder.join(name).exists());
    assert!(is_new, "{} is there, and is never changed", folder.display());
    for below in [
        "published",
        "recordings",
        "settings/config/perfset",
        "settings/data/perfset/providers",
        "settings/default",
    ] {
        fs::create_dir_all(folder.join(below)).unwrap();
    }
    let settings = folder.join("settings");
    fs::write(settings.join("config/perfset/config.toml"), SETTINGS).unwrap();
    fs::write(settings.join("counters.txt"), PATHS).unwrap();
    for name in ["perfset-record", "perfset-serve"] {
        let packaged = repository("packaging/debian").join(name).with_extension("default");
        fs::copy(packaged, settings.join("default").join(name)).unwrap();
    }
    for (name, text) in OPTIONS {
        fs::write(settings.join("default").join(name), text).unwrap();
    }

    let runtime = scratch("releases-runtime");
    let publisher = Publisher::in_folders(Folders::only(&runtime));
    assert_eq!(publisher.problem(), None);
    let [lisbon, porto, ended] = ["Lisbon", "Porto", "Évora"].map(|name| publisher.instance::<Kinds>(name));
    let run = |args: &[&str]| {
        let mut command = perfset("small-vm", args);
        command.current_dir(&folder).env("PERFSET_RUNTIME_DIR", &runtime);
        command
    };
    let good = |args: &[&str]| {
        let (code, _, err) = outcome(run(args).output().unwrap());
        assert_eq!(code, 0, "{args:?}: {err}");
    };
    let paths = [r"\Kinds of Fields(*)\*", MACHINE[0], MACHINE[1]];
    let record = |to: &[&str], count: &[&str]| {
        Started(run(&[&["record", "--note", "test"], to, &paths, &["50ms"], count].concat()).spawn().unwrap())
    };

    let mut recorder = record(&["-o", "recordings/one.perfset"], &["5"]);
    while recorder.0.try_wait().unwrap().is_none() {
        count(&[&lisbon, &porto]);
    }
    let mut recorder = record(&["--dir", RECORDING], &["6"]);
    for _ in 0..5 {
        count(&[&lisbon, &porto, &ended]);
    }
    drop(ended);
    good(&["mark", "deploy 42", "--dir", RECORDING]);
    while recorder.0.try_wait().unwrap().is_none() {
        count(&[&lisbon, &porto]);
    }
    let recorder = record(&["--dir", RECORDING], &[]);
    let begin = Instant::now();
    let journal = || {
        let files = fs::read_dir(folder.join(RECORDING)).unwrap().map(|file| file.unwrap());
        let mut journals = files.filter(|file| file.path().extension().unwrap_or_default() == "journal");
        journals.next().map_or(0, |file| file.metadata().unwrap().len())
    };
    while journal() < 2_500 {
        assert!(begin.elapsed() < Duration::from_secs(20), "the recorder writes nothing");
        count(&[&lisbon, &porto]);
    }
    drop(recorder);
    good(&["log", "cut", RECORDING, "-o", "recordings/cut.perfset"]);
    for ending in ["csv", "tsv", "jsonl", "db"] {
        let file = format!("recordings/relog.{ending}");
        good(&["relog", "recordings/one.perfset", "-c", SOME, "-o", &file]);
    }

    // Each thread adds to a stripe of its own.
    std::thread::scope(|scope| {
        scope.spawn(|| lisbon.counter64.add(5));
        scope.spawn(|| lisbon.counter64.add(7));
    });
    good(&["manifest", "export", "Kinds of Fields", "-o", "settings/kinds.man"]);
    good(&["provider", "install", "settings/kinds.man", "--dir", "settings/data/perfset/providers"]);
    let file = publisher.path().unwrap();
    fs::copy(&file, folder.join("published").join(file.file_name().unwrap())).unwrap();

    let installed = Installed::new(&folder, "written");
    let mut text = String::new();
    for words in COMMANDS {
        text.push_str(&format!("{}\n", Value::from(words.to_vec())));
        let is_live = !words.iter().any(|word| word.starts_with("recordings/"));
        for line in installed.lines(words) {
            text.push_str(&format!("{}\n", kept(line, is_live)));
        }
    }
    fs::write(folder.join(RESULTS), text).unwrap();
}
