//! Findings: remarkable facts about a machine, from one table of rules.

use crate::output::human;

use crate::NoValue;

use super::busiest;
use super::sentence::Sentence;
use super::state::{
    DiskState, Finding, InterfaceState, MachineState, Severity, StateValue, UncheckedRule, is_no_time,
};

/// Rule for findings: a condition, the text of a finding, and the next command for the user.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FindingRule {
    /// Name of the rule for findings, such as `file-system-full`.
    pub name: &'static str,
    /// Condition of the rule in words for users.
    pub condition: &'static str,
    /// Command that shows more about the finding.
    pub next: &'static str,
    find: fn(&MachineState) -> Vec<RuleMatch>,
    /// Function that returns the values that must be known to check the rule's condition.
    needs: fn(&MachineState) -> Vec<NeededValue<'_>>,
}

/// Fact about a machine that a rule for findings found.
#[derive(Debug)]
struct RuleMatch {
    severity: Severity,
    subject: Option<String>,
    text: Sentence,
}

impl RuleMatch {
    /// Creates a fact about the whole machine.
    fn machine(severity: Severity, text: impl Into<Sentence>) -> Self {
        Self { severity, subject: None, text: text.into() }
    }

    /// Creates a fact about one disk, file system or interface: a sentence that begins with its name.
    fn of(severity: Severity, name: &str, words: impl Into<String>) -> Self {
        Self { severity, subject: Some(name.to_owned()), text: Sentence::default().name(name).words(words) }
    }
}

/// Value that a rule needs, with the name of the disk, file system or interface to which it belongs.
type NeededValue<'a> = (Option<&'a str>, &'a StateValue);

/// Rules of all findings of the overview.
pub const RULES: &[FindingRule] = &[
    FindingRule {
        name: "out-of-memory",
        condition: "the kernel ended a process for lack of memory in the last interval",
        next: "perfset mem",
        find: |state| {
            above(&state.memory.kills, 0.0)
                .map(|_| {
                    RuleMatch::machine(Severity::Critical, "the kernel ended a process for lack of memory")
                })
                .into_iter()
                .collect()
        },
        needs: |state| machine([&state.memory.kills]),
    },
    FindingRule {
        name: "file-system-full",
        condition: "a file system has less than 10 % free space; critical below 3 %",
        next: "perfset disk",
        find: full_file_systems,
        needs: |state| {
            let needed = state.file_systems.iter().filter(|one| !is_snap(&one.name));
            each(needed, |one| (&one.name, vec![&one.free, &one.size]))
        },
    },
    FindingRule {
        name: "memory-low",
        condition: "less than 5 % of the memory is available",
        next: "perfset mem",
        find: |state| {
            let free = state.memory.used_percent().ok().map(|used| 100.0 - used).filter(|free| *free < 5.0);
            let text = |free: f64| {
                let text = Sentence::from(format!("only {} of the memory is available", percentage(free)));
                let biggest = busiest(&state.processes, 1, |process| process.memory.clone());
                match biggest.first().map(|process| (&process.name, &process.memory)) {
                    Some((name, Ok(memory))) => {
                        text.words("; ").name(name).words(format!(" uses {}", human(*memory, "By")))
                    }
                    _ => text,
                }
            };
            free.map(|free| RuleMatch::machine(Severity::Warning, text(free))).into_iter().collect()
        },
        needs: |state| machine([&state.memory.total, &state.memory.available]),
    },
    FindingRule {
        name: "swapping",
        condition: "at least 50 pages a second are read from and written to swap",
        next: "perfset mem",
        find: |state| {
            let (into, out) = (&state.memory.swap_in, &state.memory.swap_out);
            let both = into.as_ref().unwrap_or(&0.0) + out.as_ref().unwrap_or(&0.0);
            let text = || {
                format!("memory is swapped: {} pages in, {} pages out per second", count(into), count(out))
            };
            (both >= 50.0).then(|| RuleMatch::machine(Severity::Warning, text())).into_iter().collect()
        },
        needs: |state| machine([&state.memory.swap_in, &state.memory.swap_out]),
    },
    FindingRule {
        name: "memory-pressure",
        condition: "tasks wait for memory in at least 10 % of the time",
        next: "perfset mem",
        find: |state| waiting(&state.pressure.memory, 10.0, "memory"),
        needs: |state| machine([&state.pressure.memory]),
    },
    FindingRule {
        name: "storage-pressure",
        condition: "tasks wait for storage in at least 20 % of the time",
        next: "perfset disk",
        find: |state| waiting(&state.pressure.storage, 20.0, "storage"),
        needs: |state| machine([&state.pressure.storage]),
    },
    FindingRule {
        name: "disk-busy",
        condition: "a disk is busy for at least 80 % of the time",
        next: "perfset disk",
        find: |state| state.disks.iter().filter_map(busy_disk).collect(),
        needs: |state| each(&state.disks, |disk| (&disk.name, vec![&disk.busy])),
    },
    FindingRule {
        name: "disk-slow",
        condition: "a disk that is not busy needs at least 100 ms for a read or a write",
        next: "perfset disk",
        find: |state| state.disks.iter().filter_map(slow_disk).collect(),
        needs: |state| each(&state.disks, |disk| (&disk.name, needed_for_slow(disk))),
    },
    FindingRule {
        name: "processors-busy",
        condition: "the processors are busy for at least 90 % of the time",
        next: "perfset proc",
        find: |state| {
            above(&state.processors.busy, 90.0)
                .map(|busy| RuleMatch::machine(Severity::Note, busy_processors(state, busy)))
                .into_iter()
                .collect()
        },
        needs: |state| machine([&state.processors.busy]),
    },
    FindingRule {
        name: "processor-pressure",
        condition: "tasks wait for a processor in at least 50 % of the time",
        next: "perfset proc",
        find: |state| waiting(&state.pressure.processors, 50.0, "a processor"),
        needs: |state| machine([&state.pressure.processors]),
    },
    FindingRule {
        name: "steal",
        condition: "the hypervisor takes at least 10 % of the processors' time",
        next: "perfset get '/Linux Processor(*)/% Steal Time' 1",
        find: |state| {
            let text = |steal| format!("the hypervisor takes {} of the processors' time", percentage(steal));
            above(&state.processors.steal, 10.0)
                .map(|steal| RuleMatch::machine(Severity::Warning, text(steal)))
                .into_iter()
                .collect()
        },
        needs: |state| machine([&state.processors.steal]),
    },
    FindingRule {
        name: "packets-lost",
        condition: "an interface drops at least one packet per second, or has one with an error",
        next: "perfset net",
        find: |state| state.interfaces.iter().flat_map(lost_packets).collect(),
        needs: |state| each(&state.interfaces, |one| (&one.name, vec![&one.drops, &one.errors])),
    },
    FindingRule {
        name: "tcp-retransmits",
        condition: "TCP sends at least 1 % of its segments again, and at least one per second",
        next: "perfset net",
        find: |state| {
            let share = state.tcp.retransmitted_percent().ok().filter(|share| *share >= 1.0);
            let again = above(&state.tcp.retransmitted, 1.0);
            let text = |share| {
                format!("the network loses packets: TCP sends {} of its segments again", percentage(share))
            };
            share
                .filter(|_| again.is_some())
                .map(|share| RuleMatch::machine(Severity::Warning, text(share)))
                .into_iter()
                .collect()
        },
        needs: |state| machine([&state.tcp.sent, &state.tcp.retransmitted]),
    },
];

/// Returns all findings about a state of the machine, the most urgent first.
pub(super) fn findings(state: &MachineState) -> Vec<Finding> {
    let found = RULES.iter().flat_map(|rule| {
        let finding = |RuleMatch { severity, subject, text }| {
            let FindingRule { name, next, .. } = *rule;
            Finding { rule: name, severity, subject, text, next }
        };
        (rule.find)(state).into_iter().map(finding)
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// Returns the rules whose condition is not known, in the order of the table, each with the first missing value.
///
/// An instance that began in the last interval is not unknown: it has no rate before the next sample, and its lack
/// would come and go with each new interface.
pub(super) fn unchecked(state: &MachineState, no_instances: &[(&str, NoValue)]) -> Vec<UncheckedRule> {
    let unchecked = |rule: &FindingRule, subject: Option<&str>, reason: &NoValue| UncheckedRule {
        rule: rule.name,
        condition: rule.condition,
        subject: subject.map(str::to_owned),
        reason: reason.clone(),
    };
    let rules = RULES.iter().filter_map(|rule| {
        // Without instances there is no value to miss, so the whole list has one reason.
        if let Some((_, reason)) = no_instances.iter().find(|(name, _)| *name == rule.name) {
            return Some(unchecked(rule, None, reason));
        }
        let needed = (rule.needs)(state);
        needed.into_iter().find_map(|(subject, value)| {
            let is_new = |reason: &NoValue| matches!(reason, NoValue::NewInstance | NoValue::Replaced);
            let reason = value.as_ref().err().filter(|reason| subject.is_none() || !is_new(reason))?;
            Some(unchecked(rule, subject, reason))
        })
    });
    rules.collect()
}

/// Returns values of the whole machine as the values that a rule needs.
fn machine<const N: usize>(values: [&StateValue; N]) -> Vec<NeededValue<'_>> {
    values.into_iter().map(|value| (None, value)).collect()
}

/// Returns values of each disk, file system or interface as the values that a rule needs.
fn each<'a, T: 'a>(
    all: impl IntoIterator<Item = &'a T>,
    values: impl Fn(&'a T) -> (&'a String, Vec<&'a StateValue>),
) -> Vec<NeededValue<'a>> {
    let named = |(name, values): (&'a String, Vec<&'a StateValue>)| {
        values.into_iter().map(|value| (Some(name.as_str()), value))
    };
    all.into_iter().map(values).flat_map(named).collect()
}

/// Returns the number of a state's value if that number is at least `limit` and above 0.
fn above(value: &StateValue, limit: f64) -> Option<f64> {
    value.as_ref().ok().copied().filter(|value| *value >= limit && *value > 0.0)
}

fn below(value: &StateValue, limit: f64) -> Option<f64> {
    value.as_ref().ok().copied().filter(|value| *value < limit)
}

/// Returns a percentage as text, rounded as in the sentence of a finding.
fn percentage(value: f64) -> String {
    if value < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// Returns a count, such as a number of processes, as text, or a dash.
fn count(value: &StateValue) -> String {
    value.as_ref().map_or("-".into(), |value| human(value.round(), ""))
}

/// Returns findings about the file systems with little free space. Full file systems are named together: read-only
/// images are among them, and there can be many.
fn full_file_systems(state: &MachineState) -> Vec<RuleMatch> {
    let mut found = Vec::new();
    let mut without: Vec<&str> = Vec::new();
    for one in state.file_systems.iter().filter(|one| !is_snap(&one.name)) {
        match (&one.free, one.free_percent()) {
            (Ok(free), Ok(_)) if *free <= 0.0 => without.push(&one.name),
            (Ok(free), Ok(percent)) if percent < 10.0 => {
                let severity = if percent < 3.0 { Severity::Critical } else { Severity::Warning };
                let (full, free) = (percentage(100.0 - percent), human(*free, "By"));
                found.push(RuleMatch::of(severity, &one.name, format!(" is {full} full, {free} are free")));
            }
            _ => {}
        }
    }
    if let Some((first, others)) = without.split_first() {
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        let verb = if others.is_empty() { "has" } else { "have" };
        let text = Sentence::default().name(*first).words(format!("{more} {verb} no free space"));
        found.push(RuleMatch::machine(Severity::Critical, text));
    }
    found
}

/// Returns `true` if a mount point is that of a package image, whose file system is always full.
fn is_snap(mount_point: &str) -> bool {
    ["/snap/", "/var/lib/snapd/snap/"].iter().any(|folder| mount_point.starts_with(folder))
}

fn waiting(share: &StateValue, limit: f64, resource: &str) -> Vec<RuleMatch> {
    let text = |share| format!("tasks wait for {resource} in {} of the time", percentage(share));
    let found = above(share, limit).map(|share| RuleMatch::machine(Severity::Warning, text(share)));
    found.into_iter().collect()
}

/// Returns the mean times of a disk's reads and writes as text.
fn latencies(disk: &DiskState) -> Option<String> {
    let part =
        |latency: &StateValue, kind| Some(format!("{} per {kind}", human(*latency.as_ref().ok()?, "s")));
    let parts = [part(&disk.read_latency, "read"), part(&disk.write_latency, "write")];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the longer of the mean times of a disk's reads and writes, in seconds.
fn slowest(disk: &DiskState) -> Option<f64> {
    let times = [&disk.read_latency, &disk.write_latency];
    times.into_iter().filter_map(|time| time.as_ref().ok().copied()).reduce(f64::max)
}

fn busy_disk(disk: &DiskState) -> Option<RuleMatch> {
    let busy = percentage(above(&disk.busy, 80.0)?);
    let (severity, rest) = match (latencies(disk), slowest(disk)) {
        // A device that serves requests in parallel can be busy all the time and still be fast.
        (Some(times), Some(slowest)) if slowest < 0.01 => (Severity::Note, format!(" and fast: {times}")),
        (Some(times), _) => (Severity::Warning, format!(", {times}")),
        (None, _) => (Severity::Warning, ", and no request ended".into()),
    };
    Some(RuleMatch::of(severity, &disk.name, format!(" is {busy} busy{rest}")))
}

/// Share of the processors' busy time, in percent, from which a finding names the process that uses it. A smaller
/// share explains little: without that process, nine tenths of the work would remain.
const NAMED_SHARE: f64 = 10.0;

/// Share of the processors' busy time, in percent, from which all processes together count as the users of that time.
const MOST_OF_IT: f64 = 50.0;

/// Returns the sentence about busy processors; it names the process that uses them most, or says that no process does.
fn busy_processors(state: &MachineState, busy: f64) -> Sentence {
    let text = Sentence::from(format!("the processors are {} busy", percentage(busy)));
    let count = u32::try_from(state.processors.count.max(1)).unwrap_or(u32::MAX);
    // The time of a process is in percent of one processor.
    let share = |time: f64| time / (busy * f64::from(count)) * 100.0;
    let first = busiest(&state.processes, 1, |process| process.processor_time.clone());
    match first.first().map(|process| (&process.name, &process.processor_time)) {
        Some((name, Ok(time))) if share(*time) >= NAMED_SHARE => {
            return text.words("; ").name(name).words(format!(" uses {} of one", percentage(*time)));
        }
        _ => {}
    }
    match state.process_time.as_ref().map(|all| share(*all)) {
        Ok(all) if all >= MOST_OF_IT => text.words("; many small processes share it"),
        // The others began or ended in the interval, or the time is that of interrupts.
        Ok(all) if all >= 0.0 => {
            text.words(format!("; processes that ran the whole time use only {} of that", percentage(all)))
        }
        _ => text,
    }
}

/// Mean time of a disk's request, in seconds, from which the disk counts as slow.
const SLOW: f64 = 0.1;

fn slow_disk(disk: &DiskState) -> Option<RuleMatch> {
    let busy = below(&disk.busy, 80.0)?;
    let times = latencies(disk).filter(|_| slowest(disk).is_some_and(|time| time >= SLOW))?;
    let words = format!(" is slow: {times}, at {} busy", percentage(busy));
    Some(RuleMatch::of(Severity::Warning, &disk.name, words))
}

/// Returns the values that must be known to decide if a disk is slow.
fn needed_for_slow(disk: &DiskState) -> Vec<&StateValue> {
    // A busy disk is not slow by this rule, and one slow kind of request is enough.
    if below(&disk.busy, 80.0).is_none() || slowest(disk).is_some_and(|time| time >= SLOW) {
        return vec![&disk.busy];
    }
    let times = [(&disk.read, &disk.read_latency), (&disk.written, &disk.write_latency)];
    let needed = times.into_iter().filter(|(_, time)| !is_no_time(time));
    needed.flat_map(|(bytes, time)| [bytes, time]).collect()
}

fn lost_packets(interface: &InterfaceState) -> Vec<RuleMatch> {
    let text = |count: f64, verb: &str| {
        let words = format!(" {verb} {} packets a second", human(count.round(), ""));
        RuleMatch::of(Severity::Warning, &interface.name, words)
    };
    let drops = above(&interface.drops, 1.0).map(|drops| text(drops, "drops"));
    let errors = above(&interface.errors, 1.0).map(|errors| text(errors, "has errors in"));
    drops.into_iter().chain(errors).collect()
}
