//! Collector of findings: an overview of the machine for all clients, collected while at least one client requests
//! findings.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use perfset::clock::ClockReading;
use perfset::overview::{
    Finding, MachineState, Overview, RULES, Sentence, SentencePart, Severity, UncheckedRule,
};
use perfset::{Machine, NextOutcome};
use serde::Serialize;
use tokio::sync::oneshot;

use super::Answer;
use super::processor_time::processor_time;
use crate::answer::{ApiError, to_json};
use crate::unread::UnreadBytes;

/// Minimum time for which the overview is collected after the last request for findings.
const LINGER: Duration = Duration::from_secs(10);
/// Number of intervals for which the overview is collected after the last request for findings, if these intervals
/// are longer than [`LINGER`].
const LINGER_INTERVALS: u32 = 3;
/// Maximum number of findings in a response; the most urgent are returned.
const FINDINGS_MOST: usize = 100;
/// Factor of the processor time that a collection of findings takes, after which the next one follows.
pub(super) const COST_SHARE: u32 = 8;

/// Collector of findings that all clients share. Without clients, it collects nothing.
#[derive(Debug, Default)]
pub struct FindingsCollector {
    current: Option<CollectedOverview>,
}

#[derive(Debug)]
struct CollectedOverview {
    overview: Overview,
    /// Time of the last request for findings.
    asked: Instant,
    /// Time of the last collection of the overview.
    collected: Instant,
    /// Time at which the second collection of the overview is due; `None` after it. There are no rates before it.
    second_due: Option<Instant>,
    /// Processor time that the last collection of the overview took.
    cost: Duration,
    /// Response with the findings of the last collection, one text that all clients share; `None` before the second
    /// one.
    answer: Option<Answer>,
    /// Clients that wait for the second collection of the overview.
    waiting: Vec<oneshot::Sender<Answer>>,
}

impl FindingsCollector {
    /// Returns `true` while the overview is collected for findings.
    pub fn is_collecting(&self) -> bool {
        self.current.is_some()
    }

    /// Returns the processor time that the last collection of findings took; zero while there is none.
    pub fn cost(&self) -> Duration {
        self.current.as_ref().map_or(Duration::ZERO, |current| current.cost)
    }

    /// Returns the time at which the second collection of findings is due; `None` if it is done.
    pub fn due(&self) -> Option<Instant> {
        self.current.as_ref()?.second_due
    }

    /// Responds with the findings of the last collection. The first request begins to collect, and is answered after
    /// the second collection: a second later, or an interval if that is shorter.
    pub fn ask(
        &mut self,
        machine: &mut Machine,
        interval: Duration,
        unread: &UnreadBytes,
        answer: oneshot::Sender<Answer>,
    ) {
        let now = Instant::now();
        let current = match &mut self.current {
            Some(current) => current,
            none => match CollectedOverview::new(machine, now, interval) {
                Ok(new) => none.insert(new),
                Err(problem) => return drop(answer.send(Err(problem))), // who asked may be gone
            },
        };
        current.asked = now;
        match &current.answer {
            // It takes no more memory, and still no client gets more while others do not read.
            Some(_) if unread.is_too_much() => drop(answer.send(Err(ApiError::busy()))),
            Some(known) => drop(answer.send(known.clone())),
            None => current.waiting.push(answer),
        }
    }

    /// Collects the findings together with a sample of the streams, or stops if no client has requested them for long
    /// enough.
    pub fn sample(&mut self, now: Instant, interval: Duration, unread: &UnreadBytes) {
        let Some(current) = &mut self.current else { return };
        let linger = LINGER.max(interval.saturating_mul(LINGER_INTERVALS));
        if now.saturating_duration_since(current.asked) >= linger {
            self.current = None;
            return;
        }
        // The second collection comes before this sample or after it, so it may be very close.
        let half = interval.checked_div(2).unwrap_or(interval);
        let pause = half.max(current.cost.saturating_mul(COST_SHARE));
        if now.saturating_duration_since(current.collected) >= pause {
            current.collect(now, unread);
        }
    }

    /// Makes the second collection of findings if it is due.
    pub fn collect_due(&mut self, now: Instant, unread: &UnreadBytes) {
        if let Some(current) =
            self.current.as_mut().filter(|one| one.second_due.is_some_and(|due| due <= now))
        {
            current.collect(now, unread);
        }
    }
}

impl CollectedOverview {
    fn new(machine: &mut Machine, now: Instant, interval: Duration) -> Result<Self, ApiError> {
        let began = processor_time();
        let mut overview = Overview::open_for_findings(machine)?;
        collect(&mut overview)?;
        Ok(Self {
            overview,
            asked: now,
            collected: now,
            // A second apart, rates are exact enough, and the client waits no longer.
            second_due: now.checked_add(Duration::from_secs(1).min(interval)),
            cost: processor_time().saturating_sub(began),
            answer: None,
            waiting: Vec::new(),
        })
    }

    fn collect(&mut self, now: Instant, unread: &UnreadBytes) {
        let began = processor_time();
        let collected = collect(&mut self.overview);
        let known = collected.map(|()| unread.hold(to_json(&FindingsJson::new(&self.overview.state(1)))));
        self.cost = processor_time().saturating_sub(began);
        self.collected = now;
        self.second_due = None;
        for asked in self.waiting.drain(..) {
            let _ = asked.send(known.clone()); // who asked may be gone
        }
        self.answer = Some(known);
    }
}

fn collect(overview: &mut Overview) -> Result<(), ApiError> {
    match overview.collect()? {
        NextOutcome::Sample => Ok(()),
        NextOutcome::End => Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "there are no more samples")),
    }
}

/// Returns the findings of a recorded machine state as the JSON that clients receive.
pub fn past_json(state: &MachineState) -> String {
    to_json(&FindingsJson::new(state))
}

/// JSON form of the findings for clients.
#[derive(Serialize)]
struct FindingsJson<'a> {
    /// Time of the findings' sample, in milliseconds since 1970; `None` if that is not a valid time.
    time: Option<i64>,
    /// Number of seconds between the findings' sample and the previous one.
    interval_s: Option<f64>,
    summary: &'static str,
    findings: Vec<FindingJson<'a>>,
    /// Number of findings that are not in the response.
    more: usize,
    /// Number of rules of findings in the table.
    rules: usize,
    unchecked: Vec<UncheckedJson<'a>>,
}

#[derive(Serialize)]
struct FindingJson<'a> {
    rule: &'a str,
    severity: &'static str,
    subject: Option<&'a str>,
    text: String,
    parts: Vec<PartJson<'a>>,
    next: &'a str,
}

/// JSON form of a part of a finding's sentence, with its kind as the name of the field.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum PartJson<'a> {
    Words(&'a str),
    Name(&'a str),
}

/// Returns the parts of a finding's sentence, so that a page can show names apart from the words.
fn parts(text: &Sentence) -> Vec<PartJson<'_>> {
    let parts = text.parts().iter().map(|part| match part {
        SentencePart::Words(words) => PartJson::Words(words),
        SentencePart::Name(name) => PartJson::Name(name),
    });
    parts.collect()
}

#[derive(Serialize)]
struct UncheckedJson<'a> {
    rule: &'a str,
    condition: &'a str,
    subject: Option<&'a str>,
    status: &'static str,
    reason: String,
}

impl<'a> FindingsJson<'a> {
    fn new(state: &'a MachineState) -> Self {
        // 0 would be a time in 1970.
        let time = state.time.to_100ns().map(|time| ClockReading::recorded(time).unix_ms());
        let finding = |Finding { rule, severity, subject, text, next }: &'a Finding| FindingJson {
            rule,
            severity: match severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
                Severity::Critical => "critical",
            },
            subject: subject.as_deref(),
            text: text.to_string(),
            parts: parts(text),
            next,
        };
        let unchecked =
            |UncheckedRule { rule, condition, subject, reason }: &'a UncheckedRule| UncheckedJson {
                rule,
                condition,
                subject: subject.as_deref(),
                status: reason.keyword(),
                reason: reason.to_string(),
            };
        Self {
            time,
            interval_s: state.interval,
            summary: state.summary().keyword(),
            findings: state.findings.iter().take(FINDINGS_MOST).map(finding).collect(),
            more: state.findings.len().saturating_sub(FINDINGS_MOST),
            rules: RULES.len(),
            unchecked: state.unchecked.iter().map(unchecked).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::catalogue;
    use perfset::testing::{FixedClock, Scripted};

    /// Interval between the samples in the tests of the findings collector.
    const SECOND: Duration = Duration::from_secs(1);

    /// Findings collector of a test on a machine with a full file system.
    struct Asked {
        machine: Machine,
        provider: Scripted,
        findings: FindingsCollector,
        unread: UnreadBytes,
    }

    impl Asked {
        fn new() -> Self {
            let machine = Machine::new(Box::new(FixedClock::default()));
            let provider = Scripted::new(vec![catalogue::logical_disk::COUNTERSET.clone()]);
            provider.with(|script| script.rows = vec![("/data", 2, vec![Ok(5), Ok(1_000)])]);
            machine.register(Box::new(provider.clone()));
            Self {
                machine,
                provider,
                findings: FindingsCollector::default(),
                unread: UnreadBytes::new(9_999),
            }
        }

        fn ask(&mut self) -> oneshot::Receiver<Answer> {
            let (sender, answer) = oneshot::channel();
            self.findings.ask(&mut self.machine, SECOND, &self.unread, sender);
            answer
        }

        fn sample(&mut self, now: Instant) {
            self.findings.sample(now, SECOND, &self.unread);
        }

        /// Returns the number of the collector's collections so far.
        fn collections(&self) -> usize {
            self.provider.with(|script| script.log.iter().filter(|line| line.starts_with("Collect")).count())
        }
    }

    fn text(answer: &mut oneshot::Receiver<Answer>) -> String {
        String::from_utf8(answer.try_recv().unwrap().unwrap().to_vec()).unwrap()
    }

    #[test]
    fn clients_share_a_collection_that_ends_after_the_last_request() {
        let mut asked = Asked::new();
        let begin = Instant::now();
        asked.sample(begin);
        assert_eq!((asked.collections(), asked.findings.due()), (0, None), "nobody asks");
        let mut first = asked.ask();
        let mut second = asked.ask();
        assert_eq!(asked.collections(), 1);
        assert!(first.try_recv().is_err(), "there are no rates yet");
        let due = asked.findings.due().unwrap();
        assert!(due >= begin + SECOND);
        asked.findings.collect_due(begin, &asked.unread.clone());
        assert_eq!(asked.collections(), 1, "not due yet");
        asked.findings.collect_due(due, &asked.unread.clone());
        let found = text(&mut first);
        assert!(
            found.contains(
                r#""rule":"file-system-full","severity":"critical","subject":"/data","text":"/data is "#
            ),
            "{found}"
        );
        assert_eq!(found, text(&mut second));
        assert_eq!((asked.collections(), asked.findings.due()), (2, None));
        let mut third = asked.ask();
        assert_eq!((text(&mut third), asked.collections()), (found, 2), "the last collection is the answer");
        asked.sample(due + SECOND / 4);
        assert_eq!(asked.collections(), 2, "too soon after the last one");
        asked.sample(due + SECOND);
        assert_eq!(asked.collections(), 3);
        asked.sample(due + LINGER + SECOND);
        assert!(!asked.findings.is_collecting());
        assert_eq!((asked.collections(), asked.unread.waiting()), (3, 0));
        drop(asked.ask());
        assert_eq!(asked.collections(), 4, "the next request begins anew");
    }

    /// Checks that an invalid time of findings becomes `null`, and not a time in 1970.
    #[test]
    fn an_unknown_time_is_null() {
        let mut asked = Asked::new();
        let mut overview = Overview::open_for_findings(&mut asked.machine).unwrap();
        overview.collect().unwrap();
        let mut state = overview.state(1);
        let json = |state: &MachineState| serde_json::to_value(FindingsJson::new(state)).unwrap();
        assert!(json(&state)["time"].is_i64());
        state.time.month = 0;
        assert_eq!(json(&state)["time"], serde_json::Value::Null);
    }

    #[test]
    fn expensive_collections_are_rarer_and_clients_share_an_answer() {
        let mut asked = Asked::new();
        drop(asked.ask());
        let due = asked.findings.due().unwrap();
        asked.sample(due);
        asked.findings.current.as_mut().unwrap().cost = SECOND / 2;
        for (seconds, want) in [(1, 2), (3, 2), (4, 3)] {
            asked.sample(due + SECOND * seconds);
            assert_eq!(asked.collections(), want, "after {seconds} s");
        }
        // They share one text, and none gets it while too much of anything else waits.
        let unread: Vec<_> =
            std::iter::repeat_with(|| asked.ask().try_recv().unwrap().unwrap()).take(9).collect();
        assert!(unread.iter().all(|answer| answer.as_ptr() == unread[0].as_ptr()));
        assert_eq!(asked.unread.waiting(), unread[0].len());
        let stream = asked.unread.hold(vec![0; 9_999]);
        assert_eq!(asked.ask().try_recv().unwrap(), Err(ApiError::busy()));
        drop(stream);
        assert!(asked.ask().try_recv().unwrap().is_ok());
        // The next collection has a text of its own, and the old one goes with its last reader.
        asked.sample(due + SECOND * 8);
        assert_eq!(asked.collections(), 4);
        let both = asked.unread.waiting();
        drop(unread);
        assert_eq!(asked.unread.waiting(), asked.ask().try_recv().unwrap().unwrap().len());
        assert!(both > asked.unread.waiting());
    }
}
