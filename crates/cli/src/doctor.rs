//! `perfset doctor`: data that this machine has, data that it lacks, and ways to enable the missing data.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::anyhow;
use perfset::catalogue::perfset_engine as own;
#[cfg(feature = "publish")]
use perfset::manifest::store::{Store, system_folders};
use perfset::output::text::{escaped, grouped_digits, name_of};
use perfset::{Entry, InstanceId, Machine, NoValue, Snapshot, Value};
use serde::Serialize;

use crate::args::{DoctorArgs, ListFormat};
use crate::destination::new_folder;
use crate::exit::{Exit, Failure};
#[cfg(feature = "publish")]
use crate::provider;
use crate::records::{ListRecord, RecordWriter};
use crate::resolve::countersets;

pub fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    args.processes.apply_options(); // invalid environment variables are reported below
    match &args.capture {
        None => look(args.output.format()),
        Some(_) if args.output.format() != ListFormat::Table => {
            let error = anyhow!("--capture prints one line; it has no --format");
            Err(Failure::new(Exit::Usage, error))
        }
        Some(folder) => capture(folder, args),
    }
}

/// Captures the counter data of this machine into a directory.
fn capture(folder: &Path, args: &DoctorArgs) -> Result<Exit, Failure> {
    let by = concat!("perfset ", env!("CARGO_PKG_VERSION"));
    let name = name_of(folder);
    let place = new_folder(folder)?;
    let captured = perfset::capture(place.path(), by, args.hide_instances, args.costly, args.warmup)
        .map_err(|error| {
            Failure::new(Exit::SourceFailed, anyhow!(error).context(format!("cannot write {name}")))
        })?;
    let count = |count: usize| grouped_digits(&count.to_string());
    let (requests, answered) = (count(captured.requests), count(captured.answered));
    let bytes = grouped_digits(&captured.bytes.to_string());
    let mut out = io::stdout().lock();
    writeln!(out, "{name}: {answered} of {requests} requests succeeded, {bytes} bytes")?;
    if !args.hide_instances {
        writeln!(out, "it contains names of processes, disks and networks; --hide-instances replaces them")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

/// Runs the checks of `perfset doctor` on this machine, and prints their results.
fn look(format: ListFormat) -> Result<Exit, Failure> {
    let found = results()?;
    if let Some(records) = RecordWriter::stdout(format) {
        records.all(found)?;
        return Ok(Exit::Ok);
    }
    let mut out = io::stdout().lock();
    for line in lines(&found) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

/// Severity of the result of one check of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckLevel {
    Info,
    Ok,
    Warn,
}

/// Fields of the result of one check of the machine, in the order in which CSV and JSON contain them.
#[derive(Clone, Debug, Serialize)]
struct CheckResult {
    level: CheckLevel,
    /// Keyword of the subject that a check of the machine is about.
    check: &'static str,
    text: String,
    /// Name of the counterset that lacks values.
    counterset: Option<String>,
    /// Number of instances of the counterset that lack values.
    instances: Option<usize>,
    /// Names of the counters that have no value in at least one instance of the counterset.
    counters: Vec<String>,
}

impl ListRecord for CheckResult {
    const CSV_HEADER: &'static str = "level,check,text,counterset,instances,counters";
}

impl CheckResult {
    fn new(level: CheckLevel, check: &'static str, text: String) -> Self {
        Self { level, check, text, counterset: None, instances: None, counters: Vec::new() }
    }

    fn ok(check: &'static str, text: String) -> Self {
        Self::new(CheckLevel::Ok, check, text)
    }

    fn warn(check: &'static str, text: String) -> Self {
        Self::new(CheckLevel::Warn, check, text)
    }

    /// Returns the line about the counterset that lacks values, in the result of a check.
    fn affected(&self) -> Option<String> {
        /// Maximum number of counters without a value that a line names.
        const NAMED: usize = 3;
        let set = escaped(self.counterset.as_deref()?);
        let instances = match self.instances {
            None | Some(0) => String::new(),
            Some(1) => ", 1 instance".to_owned(),
            Some(n) => format!(", {} instances", grouped_digits(&n.to_string())),
        };
        let named: Vec<_> = self.counters.iter().take(NAMED).map(|name| escaped(name)).collect();
        let more = match self.counters.len().saturating_sub(named.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let colon = if named.is_empty() { "" } else { ": " };
        Some(format!("{set}{instances}{colon}{}{more}", named.join(", ")))
    }
}

/// Returns the results of the machine's checks as lines of text for users. A text that several countersets share is
/// printed once.
fn lines(found: &[CheckResult]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last = None;
    for result in found {
        let head = (result.level, result.check, &result.text);
        if last.replace(head) != Some(head) || result.counterset.is_none() {
            let level = match result.level {
                CheckLevel::Info => "",
                CheckLevel::Ok => "ok    ",
                CheckLevel::Warn => "warn  ",
            };
            lines.push(format!("{level}{}", escaped(&result.text)));
        }
        lines.extend(result.affected().map(|affected| format!("        {affected}")));
    }
    lines
}

/// Collects all countersets twice, and returns the results of all checks, with remedies for problems.
fn results() -> Result<Vec<CheckResult>, Failure> {
    let machine = perfset::local();
    let sets = countersets(&machine);
    let version = format!("perfset {} on {}", env!("CARGO_PKG_VERSION"), system());
    let mut found = vec![CheckResult::new(CheckLevel::Info, "system", version)];

    // Everything is collected twice: the second collection shows the regular cost.
    let mut query = machine.query();
    for set in &sets {
        let all = Entry::all(set.guid);
        let entry = if set.instance_type.is_multiple() { all.instance("*") } else { all };
        let status = query.add(&entry);
        if !status.is_success() {
            let text = format!("{}: cannot be added to a query: {status}", set.name);
            found.push(CheckResult::warn("query", text));
        }
    }
    let failed = |error| Failure::new(Exit::SourceFailed, error);
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    query.collect(&mut old).map_err(failed)?;
    let started = Instant::now();
    query.collect(&mut new).map_err(failed)?;
    let took = started.elapsed();

    // Counters that this machine cannot have are no fault and are only counted; every other reason has a remedy.
    let mut lacking: BTreeMap<&str, u32> = BTreeMap::new();
    let mut trouble = Trouble::default();
    let mut missing: u64 = 0;
    for value in new.values(Some(&old)) {
        let Err(reason) = &value.value else { continue };
        // A value that only lacks an earlier sample has a raw value, and is not missing.
        missing = missing.saturating_add(u64::from(value.raw.is_none()));
        match reason {
            NoValue::Unavailable(_) => {
                let count = lacking.entry(&value.counterset.name).or_default();
                *count = count.saturating_add(1);
            }
            NoValue::Denied(_) | NoValue::Failed(_) | NoValue::Late | NoValue::Status(_) => {
                trouble.add(&value, reason);
            }
            // Other reasons need no remedy, such as a counterset without instances.
            _ => {}
        }
    }
    let with = lacking.len();
    let text = format!("{} countersets; {with} have counters this machine does not support", sets.len());
    found.push(CheckResult::ok("countersets", text));
    found.extend(about(&machine));
    found.extend(trouble.results());
    let late = new
        .values(Some(&old))
        .find(|v| v.counterset.guid == own::GUID && v.counter.id == own::LATE_PROVIDERS);
    let late = late.and_then(|v| v.raw).map_or(0, perfset::RawValue::get);
    let ms = took.as_secs_f64() * 1_000.0;
    // One provider can have many late sources; each has a line above.
    let providers = if late == 1 { "provider" } else { "providers" };
    let text =
        format!("a collection of all takes {ms:.2} ms; {late} {providers} late, {missing} values missing");
    found.push(CheckResult::ok("cost", text));
    Ok(found)
}

/// Returns check results about the settings of a machine, and about the problems of its last collection.
fn about(machine: &Machine) -> Vec<CheckResult> {
    let mut found = Vec::new();
    for (topic, what) in machine.describe() {
        found.push(CheckResult::ok("method", format!("{topic}: {what}")));
    }
    // A wrong variable does not end a collection, so this is the only place where users see that it is ignored.
    #[cfg(target_os = "linux")]
    if let Err(word) = perfset::ProcessSource::from_env() {
        let words = perfset::ProcessSource::WORDS.map(|(word, _)| word).join(", ");
        let text = format!("PERFSET_PROCESS_SOURCE is {word:?}, which is none of {words}; auto is used");
        found.push(CheckResult::warn("environment", text));
    }
    let not_shown = machine.not_shown(None);
    found.extend(not_shown.iter().map(|line| CheckResult::warn("not_shown", line.to_string())));
    #[cfg(target_os = "linux")]
    if let Err((value, why)) = perfset::deadline_from_env() {
        let text = format!("PERFSET_DEADLINE is {value:?}: {why}; it is ignored");
        found.push(CheckResult::warn("environment", text));
    }
    let length = machine.deadline().length();
    let text =
        format!("deadline: a collection waits at most {length:?} for publishers, devices and file systems");
    found.push(CheckResult::ok("deadline", text));
    let (threads, of_a_kind) = (perfset::MOST_WAITING, perfset::MOST_WAITING_OF_A_KIND);
    let text = format!(
        "limits: at most {threads} threads wait for file systems and devices, {of_a_kind} of them for one kind"
    );
    found.push(CheckResult::ok("limits", text));
    found.extend(machine.late().iter().map(|late| CheckResult::warn("late", format!("late: {late}"))));
    let problems = folded(machine.problems().into_iter().map(|problem| problem.to_string()));
    found.extend(problems.map(|line| CheckResult::warn("problem", line)));
    // A registration that is ignored is no error of a collection, so this is a place where users see it.
    #[cfg(feature = "publish")]
    {
        let mut registered = Store::new(system_folders(true));
        registered.refresh();
        for ignored in registered.ignored() {
            let text = format!("ignored registration {}", provider::reason(ignored));
            found.push(CheckResult::warn("registration", text));
        }
    }
    #[cfg(not(feature = "publish"))]
    found.push(CheckResult::warn(
        "build",
        "built without the feature publish: counters of applications are not shown".to_owned(),
    ));
    found
}

/// Merges problems with the same cause into one line, in order of first appearance. A line is `WHAT: CAUSE`; of
/// several problems it names the first ones and the number of others. A problem without a cause has a line of its
/// own.
fn folded(problems: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    const NAMED: usize = 3;
    let mut causes: Vec<(String, Vec<String>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for problem in problems {
        let (what, cause) = problem.split_once(": ").unwrap_or((&problem, ""));
        let known = places.get(cause).and_then(|at| causes.get_mut(*at));
        match known.filter(|_| !cause.is_empty()) {
            Some((_, all)) => all.push(what.to_owned()),
            None => {
                places.insert(cause.to_owned(), causes.len());
                causes.push((cause.to_owned(), vec![what.to_owned()]));
            }
        }
    }
    causes.into_iter().map(|(cause, mut what)| {
        what.dedup();
        let more = match what.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {} more", grouped_digits(&more.to_string())),
        };
        what.truncate(NAMED);
        let colon = if cause.is_empty() { "" } else { ": " };
        format!("{}{more}{colon}{cause}", what.join(", "))
    })
}

/// Missing values by cause and counterset. The text of a cause includes the remedy.
#[derive(Debug, Default)]
struct Trouble(BTreeMap<String, BTreeMap<String, Cost>>);

/// Count of missing values of one counterset for one cause.
#[derive(Debug, Default)]
struct Cost {
    instances: usize,
    /// Instance of the last missing value, so that each instance is counted once: all values of one instance are
    /// adjacent.
    last: Option<(InstanceId, String)>,
    is_single: bool,
    counters: Vec<String>,
}

impl Trouble {
    /// Counts a missing value for the cause of its absence and for its counterset.
    fn add(&mut self, value: &Value<'_>, reason: &NoValue) {
        let text = match reason {
            NoValue::Denied(text) => format!("permission denied: {text}"),
            reason => reason.to_string(),
        };
        // Without ids: otherwise each process would be a cause of its own.
        let causes = self.0.entry(without_process(&text)).or_default();
        let cost = causes.entry(value.counterset.name.to_string()).or_default();
        // If a whole counterset is unavailable, the value has no instance, and the counters would be all of the
        // counterset.
        let Some(id) = value.instance_id else { return };
        cost.is_single = !value.counterset.instance_type.is_multiple();
        let instance = Some((id, value.instance.to_string()));
        if cost.last != instance {
            cost.last = instance;
            cost.instances = cost.instances.saturating_add(1);
        }
        let name = value.counter.name.as_deref().unwrap_or_default().to_owned();
        if !name.is_empty() && !cost.counters.contains(&name) {
            cost.counters.push(name);
        }
    }

    /// Returns a check result for each cause of missing values and each counterset.
    fn results(self) -> impl Iterator<Item = CheckResult> {
        self.0.into_iter().flat_map(|(cause, costs)| {
            costs.into_iter().map(move |(set, cost)| CheckResult {
                counterset: Some(set),
                instances: (!cost.is_single && cost.instances > 0).then_some(cost.instances),
                counters: cost.counters,
                ..CheckResult::warn("missing_values", cause.clone())
            })
        })
    }
}

/// Replaces the ids of a process and thread in a reason by `PID` and `TID`, as in `/proc/PID/io`.
fn without_process(reason: &str) -> String {
    let without = |text: &str, before: &str, name: &str| {
        let mut parts = text.split(before);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
            out.extend([before, if rest.len() < part.len() { name } else { "" }, rest]);
        }
        out
    };
    without(&without(reason, "/proc/", "PID"), "/task/", "TID")
}

/// Returns a text with the operating system, the number of processors and the user, as far as known.
fn system() -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let s = if processors == 1 { "" } else { "s" };
    let named = |name: &str| std::env::var(name).ok().filter(|user| !user.is_empty());
    let user = named("USER").or_else(|| named("USERNAME")).or_else(user_id);
    let user = user.unwrap_or_else(|| "unknown".to_owned());
    format!("{}, {processors} processor{s}, user {user}", perfset::system())
}

#[cfg(unix)]
fn user_id() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map(|own| own.uid().to_string()).ok()
}

#[cfg(not(unix))]
fn user_id() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::catalogue::{memory, processor_information as cpu};
    use perfset::{Counter, Counterset, Name};

    #[test]
    fn equal_problems_are_a_line() {
        let problems =
            ["a: x: y", "b", "c: z", "a: x: y", "d: x: y", "e: x: y", "f: x: y", "g: x: y", "h\u{1b}: q"];
        let found: Vec<_> = folded(problems.iter().map(ToString::to_string))
            .map(|line| CheckResult::warn("problem", line))
            .collect();
        let want = ["warn  a, d, e and 2 more: x: y", "warn  b", "warn  c: z", "warn  h\\u{1b}: q"];
        assert_eq!(lines(&found), want);
    }

    #[test]
    fn a_cause_is_a_line() {
        let mut trouble = Trouble::default();
        let mut add = |set: &'static Counterset,
                       name: &str,
                       id: Option<u32>,
                       counters: &'static [Counter],
                       why: NoValue| {
            let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            for counter in counters {
                let value = Value {
                    entry: 0,
                    counterset: set,
                    counter,
                    instance: Name::until_nul(&name),
                    instance_id: id.map(InstanceId),
                    raw: None,
                    base: None,
                    value: Err(why.clone()),
                    mark: None,
                };
                trouble.add(&value, &why);
            }
        };
        let (five, one) = (&cpu::COUNTERSET.counters[..5], &cpu::COUNTERSET.counters[..1]);
        let io = |pid: u32| NoValue::Denied(format!("/proc/{pid}/io: run as root").into());
        for pid in 1..=1_234 {
            add(&cpu::COUNTERSET, "a", Some(pid), if pid == 7 { five } else { one }, io(pid));
        }
        add(&memory::COUNTERSET, "", Some(0), &memory::COUNTERSET.counters[..2], io(5));
        add(&cpu::COUNTERSET, "b", Some(1), one, NoValue::Failed("/proc/stat:3: cut".into()));
        add(&cpu::COUNTERSET, "*", None, five, NoValue::Late);
        let want = [
            "warn  /proc/stat:3: cut",
            "        Processor Information, 1 instance: % Processor Time",
            "warn  permission denied: /proc/PID/io: run as root",
            "        Memory: Page Faults/sec, Available Bytes",
            "        Processor Information, 1,234 instances: % Processor Time, % User Time, % Privileged Time \
             and 2 more",
            "warn  the provider did not respond in time",
            "        Processor Information",
        ];
        let found: Vec<_> = trouble.results().collect();
        assert_eq!(lines(&found), want);
        assert_eq!(found[2].instances, Some(1_234));
        assert_eq!(found[2].counters.len(), 5, "all of them, for programs");
    }

    #[test]
    fn processes_are_all_the_same() {
        for (text, want) in [
            ("/proc/12/io: x", "/proc/PID/io: x"),
            ("/proc/12/task/13/io", "/proc/PID/task/TID/io"),
            ("a /proc/1 and /proc/2", "a /proc/PID and /proc/PID"),
            ("/proc/stat:12: y", "/proc/stat:12: y"),
            ("12", "12"),
            ("/proc/", "/proc/"),
        ] {
            assert_eq!(without_process(text), want);
        }
    }
}
