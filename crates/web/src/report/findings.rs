//! Findings of a report: the table of rules at several instants of the range.

use std::collections::BTreeMap;
use std::time::Instant;

use perfset::log::Logs;
use perfset::overview::{MachineState, Overview, RULES, Sentence, Severity};
use perfset::{NextOutcome, Window};

use super::ReportError;
use super::reading::in_time;

/// Maximum number of evenly spread instants of a report at which rules are evaluated. The next constant limits the
/// instants at marks, which come in addition.
const INSTANTS_MOST: usize = 60;
const MARKS_MOST: usize = 20;

/// Maximum number of findings in a report, and of reasons for rules that could not be checked.
const FOUND_MOST: usize = 50;
const UNCHECKED_MOST: usize = 100;

/// Number of samples before an instant of a log that are read for its values. The next constant is a time in 100 ns:
/// some countersets are recorded less often than others.
const SAMPLES_BEFORE: usize = 25;
const TIME_BEFORE: i64 = 700_000_000;

/// Finding in a report, with the instants at which it held.
#[derive(Clone, Debug)]
pub struct ReportFinding {
    pub rule: &'static str,
    pub severity: Severity,
    /// Sentence of the finding at its worst instant.
    pub text: Sentence,
    /// Command that shows more about the finding, for a live machine.
    pub next: &'static str,
    /// Time of the first of the finding's worst instants, in 100 ns.
    pub worst: i64,
    /// Instants at which the finding held, in 100 ns.
    pub times: Vec<i64>,
}

/// Rule of findings that could not be checked at some instants.
#[derive(Clone, Debug)]
pub struct UncheckedReason {
    pub condition: &'static str,
    pub subject: Option<String>,
    pub reason: String,
    /// Number of instants at which the rule could not be checked.
    pub count: usize,
}

/// Findings of a report at all evaluated instants.
#[derive(Clone, Debug, Default)]
pub struct FindingsReport {
    /// Findings of the report, the most urgent first, and those that held most often first.
    pub found: Vec<ReportFinding>,
    /// Number of findings that the report does not list.
    pub more: usize,
    pub unchecked: Vec<UncheckedReason>,
    /// Number of rules that were checked at no instant of the report.
    pub unknown_rules: usize,
    /// Number of rules that lacked a value at some instant of the report.
    pub unchecked_rules: usize,
    /// Instants of the report at which the rules were evaluated, in 100 ns.
    pub instants: Vec<i64>,
}

/// Findings and unchecked rules of a report, by their rule and subject.
#[derive(Default)]
struct CollectedFindings {
    found: BTreeMap<(usize, Option<String>), ReportFinding>,
    unchecked: BTreeMap<(usize, Option<String>, String), UncheckedReason>,
    instants: Vec<i64>,
}

/// Evaluates the rules of findings at instants of a report's range. `times` are those of all samples of the log,
/// ascending, `range` is the part of them that the report shows, and `marks` are times of marks in the range.
///
/// # Errors
/// If the log cannot be read, or reading takes too long.
pub fn findings(
    logs: &Logs,
    times: &[i64],
    (range, marks): ((usize, usize), &[i64]),
    due: Option<Instant>,
) -> Result<FindingsReport, ReportError> {
    let wanted = instants(times, range, marks);
    let samples = range.1.saturating_sub(range.0);
    // A recording finds an instant at once; another log is read from its beginning.
    let each = wanted.len().saturating_mul(SAMPLES_BEFORE.saturating_mul(2));
    let is_one_pass = logs.recording().is_none() || samples <= each;
    let mut collected = CollectedFindings::default();
    let begin_of = |instant: i64| {
        let at = times.partition_point(|time| *time < instant).saturating_sub(SAMPLES_BEFORE);
        times.get(at).copied().unwrap_or(instant).min(instant.saturating_sub(TIME_BEFORE))
    };
    if is_one_pass {
        let begin = wanted.first().map(|first| begin_of(*first));
        let window = Window { begin, end: wanted.last().copied() };
        read(logs, window, &wanted, &mut collected, due)?;
    } else {
        for instant in &wanted {
            let window = Window { begin: Some(begin_of(*instant)), end: Some(*instant) };
            read(logs, window, &[*instant], &mut collected, due)?;
        }
    }
    Ok(collected.report())
}

/// Reads a part of the log, and evaluates the rules of findings at the wanted instants.
fn read(
    logs: &Logs,
    window: Window,
    wanted: &[i64],
    collected: &mut CollectedFindings,
    due: Option<Instant>,
) -> Result<(), ReportError> {
    let mut logs = logs.within(window);
    // A single log of other programs has all of its counters in each sample: no value of an earlier one is needed.
    let mut overview = match super::has_all_in_each_sample(&logs) {
        true => Overview::open_for_findings(&mut logs)?,
        false => Overview::open_log(&mut logs)?,
    };
    let mut left = wanted.iter().copied().peekable();
    let mut samples = 0_u64;
    while overview.collect()? == NextOutcome::Sample {
        samples = samples.saturating_add(1);
        if samples % 64 == 0 {
            in_time(due)?;
        }
        let Some(time) = overview.last_time() else { continue };
        let mut is_wanted = None;
        while let Some(instant) = left.next_if(|instant| *instant <= time) {
            is_wanted = Some(instant);
        }
        // The last one is read below: at the end of the window, processes are those of the instant.
        if let Some(instant) = is_wanted.filter(|_| left.peek().is_some()) {
            collected.add(instant, &overview.state(1));
        }
    }
    if let Some(instant) = wanted.last().filter(|_| samples > 0) {
        collected.add(*instant, &overview.state(1));
    }
    Ok(())
}

/// Returns the instants of a report at which rules are evaluated. They are samples that are evenly spread over the
/// range, the last one included, and the first samples after marks.
fn instants(times: &[i64], (from, until): (usize, usize), marks: &[i64]) -> Vec<i64> {
    let time = |at: usize| times.get(at).copied();
    // The first sample of the log has no rates.
    let from = if from == 0 && until > 1 { 1 } else { from };
    let Some((first, last)) = time(from).zip(until.checked_sub(1).and_then(time)) else { return Vec::new() };
    let before = |wanted: i64| {
        let after = times.partition_point(|time| *time <= wanted);
        after.checked_sub(1).map(|at| at.max(from)).and_then(time)
    };
    let parts = i64::try_from(INSTANTS_MOST).unwrap_or(i64::MAX);
    let length = last.saturating_sub(first);
    let part = |n: i64| {
        // In parts, because a hostile length times 60 might be too large.
        let whole = length.checked_div(parts).unwrap_or(0).saturating_mul(n);
        let rest = length.checked_rem(parts).unwrap_or(0).saturating_mul(n).checked_div(parts).unwrap_or(0);
        first.saturating_add(whole).saturating_add(rest)
    };
    let mut all: Vec<i64> = (1..=parts).filter_map(|n| before(part(n))).collect();
    let after_mark = |mark: &i64| {
        let at = times.partition_point(|time| time < mark);
        time(at).filter(|time| (first..=last).contains(time))
    };
    all.extend(marks.iter().filter_map(after_mark).take(MARKS_MOST));
    all.sort_unstable();
    all.dedup();
    all
}

impl CollectedFindings {
    fn add(&mut self, instant: i64, state: &MachineState) {
        self.instants.push(instant);
        let number = |rule: &str| RULES.iter().position(|known| known.name == rule).unwrap_or(RULES.len());
        for finding in &state.findings {
            let new = || ReportFinding {
                rule: finding.rule,
                severity: finding.severity,
                text: finding.text.clone(),
                next: finding.next,
                worst: instant,
                times: Vec::new(),
            };
            let key = (number(finding.rule), finding.subject.clone());
            let known = self.found.entry(key).or_insert_with(new);
            if finding.severity > known.severity {
                let times = std::mem::take(&mut known.times);
                *known = ReportFinding { times, ..new() };
            }
            // One rule can find two facts about a subject at one instant.
            if known.times.last() != Some(&instant) {
                known.times.push(instant);
            }
        }
        for rule in &state.unchecked {
            let reason = rule.reason.to_string();
            let key = (number(rule.rule), rule.subject.clone(), reason.clone());
            let known = self.unchecked.entry(key).or_insert_with(|| UncheckedReason {
                condition: rule.condition,
                subject: rule.subject.clone(),
                reason,
                count: 0,
            });
            known.count = known.count.saturating_add(1);
        }
    }

    fn report(self) -> FindingsReport {
        let Self { found, unchecked, instants } = self;
        let mut found: Vec<ReportFinding> = found.into_values().collect();
        found.sort_by(|a, b| b.severity.cmp(&a.severity).then(b.times.len().cmp(&a.times.len())));
        let more = found.len().saturating_sub(FOUND_MOST);
        found.truncate(FOUND_MOST);
        // A rule without any value at an instant has no subject there.
        let mut counts = vec![0_usize; RULES.len()];
        let mut is_unchecked = vec![false; RULES.len()];
        for ((rule, subject, _), one) in &unchecked {
            if let Some(is_unchecked) = is_unchecked.get_mut(*rule) {
                *is_unchecked = true;
            }
            if let Some(count) = counts.get_mut(*rule).filter(|_| subject.is_none()) {
                *count = count.saturating_add(one.count);
            }
        }
        FindingsReport {
            found,
            more,
            unknown_rules: counts.iter().filter(|count| **count >= instants.len()).count(),
            unchecked_rules: is_unchecked.iter().filter(|is_unchecked| **is_unchecked).count(),
            unchecked: unchecked.into_values().take(UNCHECKED_MOST).collect(),
            instants,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_spread_evenly() {
        let few: Vec<i64> = (0..10).collect();
        assert_eq!(instants(&few, (0, 10), &[]), (1..10).collect::<Vec<_>>());
        assert_eq!(instants(&few, (3, 6), &[]), [3, 4, 5]);
        assert_eq!(instants(&few, (0, 1), &[]), [0]);
        assert!(instants(&[], (0, 0), &[5]).is_empty());
        let many: Vec<i64> = (0..100_000).map(|at| at * 7).collect();
        let all = instants(&many, (0, many.len()), &[]);
        assert_eq!((all.len(), all.last()), (INSTANTS_MOST, many.last()));
        let steps: Vec<i64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| (step - 7 * 100_000 / 60).abs() <= 14), "{steps:?}");
        // The first sample after a mark is looked at too; marks outside of the range are not.
        let marked = instants(&many, (0, many.len()), &[1, -5, 999_999_999]);
        assert!(marked.contains(&7) && marked.len() == INSTANTS_MOST + 1, "{marked:?}");
        let marks: Vec<i64> = (0..1_000).map(|at| at * 700 + 1).collect();
        assert!(instants(&many, (0, many.len()), &marks).len() <= INSTANTS_MOST + MARKS_MOST);
        let extreme = [i64::MIN, 0, i64::MAX];
        assert!(!instants(&extreme, (0, 3), &[i64::MAX]).is_empty());
    }
    /// Checks that an instant has the same findings if the log is read from its beginning, or only near the instant.
    #[test]
    fn one_pass_finds_what_single_instants_have() {
        let mut text = r#""(PDH-CSV 4.0) (UTC)(0)","\\HOST\Processor(_Total)\% Processor Time""#.to_owned();
        for second in 0..300 {
            let (minute, rest, busy) = (second / 60, second % 60, if second % 90 < 30 { 95 } else { 10 });
            text.push_str(&format!("\n\"11/05/2026 10:{minute:02}:{rest:02}.000\",\"{busy}\""));
        }
        let logs = Logs::from_bytes(text.as_bytes()).unwrap();
        let times = logs.times().unwrap();
        let wanted = instants(&times, (0, times.len()), &[]);
        let (mut together, mut apart) = (CollectedFindings::default(), CollectedFindings::default());
        let whole = Window { begin: None, end: wanted.last().copied() };
        read(&logs, whole, &wanted, &mut together, None).unwrap();
        for instant in &wanted {
            let begin = Some(instant - TIME_BEFORE);
            read(&logs, Window { begin, end: Some(*instant) }, &[*instant], &mut apart, None).unwrap();
        }
        let (together, apart) = (together.report(), apart.report());
        assert_eq!((&together.instants, &apart.instants), (&wanted, &wanted));
        let times =
            |report: &FindingsReport| report.found.iter().map(|one| one.times.clone()).collect::<Vec<_>>();
        assert_eq!(times(&together), times(&apart));
        let busy = |time: &&i64| (*time - logs_begin(&logs)) / 10_000_000 % 90 < 30;
        assert_eq!(together.found[0].times, wanted.iter().filter(busy).copied().collect::<Vec<_>>());
        assert_eq!(together.unchecked.len(), apart.unchecked.len());
    }

    fn logs_begin(logs: &Logs) -> i64 {
        logs.times().unwrap()[0]
    }
}
