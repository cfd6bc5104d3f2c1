//! Tests of a provider with a deadline: responses before the deadline, after it, wrong, or missing. No test waits for
//! a clock: a deadline is an hour or nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use perfset_catalogue::perfset_engine as own;
use perfset_catalogue::processor_information as cpu;
use perfset_core::{CounterId, InstanceId, InstanceIdFilter, Name};

use super::*;
use crate::facts::FactKind;
use crate::filters::{InstanceFilter, InstanceFilters};
use crate::pattern::Pattern;
use crate::testing::{ScriptRow, Scripted};

const LONG: Duration = Duration::from_secs(3600);
const TIME: CounterId = cpu::PERCENT_PROCESSOR_TIME;
const USER: CounterId = cpu::PERCENT_USER_TIME;
const ALL: (&str, Option<u32>) = ("*", None);

/// Scripted provider whose every call waits at a lock and panics if told to; each of its collections reads 5 bytes.
#[derive(Debug)]
struct Gated(Scripted);

impl Gated {
    fn pass(&self) {
        let gate = self.0.with(|s| Arc::clone(&s.gate));
        drop(gate.lock());
        assert!(!self.0.with(|s| s.panics), "as told");
    }
}

impl Provider for Gated {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.pass();
        self.0.catalogue()
    }

    fn instances(&mut self, set: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.pass();
        self.0.instances(set, rows)?;
        self.0.with(|s| s.failure.clone()).map_or(Ok(()), Err)
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        self.pass();
        self.0.entry(change, entry)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.pass();
        rows.count_bytes_read(5);
        self.0.collect(want, rows)
    }

    fn describe(&mut self) -> Vec<(Text, Text)> {
        self.pass();
        self.0.describe()
    }

    fn problems(&mut self) -> Vec<Text> {
        self.pass();
        self.0.problems()
    }

    fn origin(&mut self, set: &Guid) -> Option<Text> {
        self.pass();
        self.0.origin(set)
    }

    fn not_shown(&mut self, set: Option<&Guid>) -> Vec<Text> {
        self.pass();
        self.0.not_shown(set)
    }

    fn left_out(&mut self) -> Vec<(Guid, Text)> {
        self.pass();
        self.0.left_out()
    }

    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        self.pass();
        self.0.facts(instance, options)
    }
}

fn scripted() -> Scripted {
    Scripted::new(vec![cpu::COUNTERSET.clone(), own::COUNTERSET.clone()])
}

/// Returns a scripted provider, and the same provider behind a deadline of an hour.
fn slow() -> (Scripted, DeadlineProvider) {
    let script = scripted();
    (script.clone(), DeadlineProvider::new(Box::new(Gated(script)), LONG))
}

fn say(script: &Scripted, rows: &[ScriptRow]) {
    script.with(|s| s.rows = rows.to_vec());
}

/// Calls the provider with a deadline of 0 while its lock is held, and returns the result of the call.
fn held<T>(
    script: &Scripted,
    slow: &mut DeadlineProvider,
    ask: impl FnOnce(&mut DeadlineProvider) -> T,
) -> T {
    let gate = script.with(|s| Arc::clone(&s.gate));
    let _closed = gate.lock().unwrap();
    slow.deadline = Duration::ZERO;
    let answer = ask(slow);
    slow.deadline = LONG;
    answer
}

/// Waits until the provider has responded to every open request.
fn settle(slow: &mut DeadlineProvider) {
    let _ = slow.instances(&own::GUID, &mut Rows::default());
}

/// Collects from the provider with a deadline; returns a line for each instance: its name, and a word for each
/// counter.
fn collect(
    slow: &mut DeadlineProvider,
    counters: &[CounterId],
    instances: &[(&str, Option<u32>)],
) -> Result<Vec<String>, SourceError> {
    collect_bytes(slow, counters, instances).map(|(lines, _)| lines)
}

/// Collects like [`collect`], and also returns the number of bytes that were read.
fn collect_bytes(
    slow: &mut DeadlineProvider,
    counters: &[CounterId],
    instances: &[(&str, Option<u32>)],
) -> Result<(Vec<String>, u64), SourceError> {
    let filter = |(pattern, id): &(&str, Option<u32>)| InstanceFilter {
        pattern: Pattern::new(&(*pattern).into()),
        id: id.map_or(InstanceIdFilter::Any, |id| InstanceIdFilter::One(InstanceId(id))),
    };
    let filters: InstanceFilters = instances.iter().map(filter).collect();
    let mut rows = Rows::new(counters.iter().filter_map(|id| cpu::COUNTERSET.counter(*id)));
    rows.start();
    slow.collect(&CollectRequest::new(&cpu::COUNTERSET, counters, &filters).collection(1), &mut rows)?;
    rows.end();
    let word =
        |row, column| match (rows.number(row, column), rows.mark(row, column), rows.reason(row, column)) {
            (Some(value), None, _) => value.to_string(),
            (Some(value), Some(Mark::Stale(_)), _) => format!("{value} stale"),
            (Some(value), Some(mark), _) => format!("{value} {mark:?}"),
            (None, _, Some(why)) => format!("{why:?}"),
            other => format!("{other:?}"),
        };
    let line = |row| {
        let words: Vec<_> = (0..counters.len()).map(|column| word(row, column)).collect();
        format!("{}: {}", rows.name(row), words.join(", "))
    };
    let lines = (0..rows.len()).map(line).collect();
    assert!(rows.is_late() || !format!("{lines:?}").contains("stale"), "{lines:?}");
    Ok((lines, rows.bytes_read()))
}

fn names(slow: &mut DeadlineProvider) -> Result<Vec<String>, SourceError> {
    let mut rows = Rows::default();
    rows.start();
    slow.instances(&cpu::GUID, &mut rows)?;
    rows.end();
    Ok((0..rows.len()).map(|row| rows.name(row).to_string()).collect())
}

fn lines(lines: &[&str]) -> Result<Vec<String>, SourceError> {
    Ok(lines.iter().map(ToString::to_string).collect())
}

#[test]
fn a_late_answer_is_what_was_asked_or_none() {
    let any = &[ALL][..];
    let (a, b, one) = (("a", None), ("b", None), Some(1));
    for (name, asked, wanted, want) in [
        ("the same", (&[TIME, USER][..], any), (&[TIME, USER][..], any), Some("a: 2 stale, 3 stale")),
        ("other order", (&[TIME, USER], any), (&[USER, TIME], any), Some("a: 3 stale, 2 stale")),
        ("fewer counters", (&[TIME, USER], any), (&[USER], any), Some("a: 3 stale")),
        ("more counters", (&[TIME], any), (&[USER, TIME], any), Some("a: Late, 2 stale")),
        ("any for one name", (&[TIME], any), (&[TIME], &[a]), Some("a: 2 stale")),
        ("any for one id", (&[TIME], any), (&[TIME], &[("a", one)]), Some("a: 2 stale")),
        ("one name for any", (&[TIME], &[a]), (&[TIME], any), None),
        ("another name", (&[TIME], &[a]), (&[TIME], &[b]), None),
        ("one of two", (&[TIME], &[b, a]), (&[TIME], &[a]), Some("a: 2 stale")),
        ("one too many", (&[TIME], &[a]), (&[TIME], &[a, b]), None),
        ("any id for one", (&[TIME], &[a]), (&[TIME], &[("a", one)]), Some("a: 2 stale")),
        ("another id", (&[TIME], &[("a", one)]), (&[TIME], &[("a", Some(2))]), None),
        ("one id for any", (&[TIME], &[("a", one)]), (&[TIME], &[a]), None),
        ("that id of any name", (&[TIME], &[("*", one)]), (&[TIME], &[a]), None),
    ] {
        let (script, mut slow) = slow();
        say(&script, &[("a", 1, vec![Ok(2), Ok(3)])]);
        collect(&mut slow, asked.0, asked.1).unwrap();
        let late = held(&script, &mut slow, |slow| collect(slow, wanted.0, wanted.1));
        assert_eq!(late, want.map_or(Err(SourceError::Late), |line| lines(&[line])), "{name}");
    }
}

#[test]
fn queries_do_not_lose_each_others_values() {
    let (script, mut slow) = slow();
    let (a, b) = ([("a", None)], [("b", None)]);
    say(&script, &[("a", 1, vec![Ok(2)])]);
    collect(&mut slow, &[TIME], &a).unwrap();
    say(&script, &[("b", 2, vec![Ok(3)])]);
    collect(&mut slow, &[USER], &b).unwrap();
    held(&script, &mut slow, |slow| {
        for _ in 0..2 {
            assert_eq!(collect(slow, &[TIME], &a), lines(&["a: 2 stale"]));
            assert_eq!(collect(slow, &[USER], &b), lines(&["b: 3 stale"]));
        }
    });
    // Of two answers that say as much the newer one is taken; of others, the one that says more.
    let (time, both) = ([TIME], [TIME, USER]);
    say(&script, &[("a", 1, vec![Ok(5), Ok(7)])]);
    collect(&mut slow, &both, &[ALL]).unwrap();
    assert_eq!(held(&script, &mut slow, |slow| collect(slow, &time, &a)), lines(&["a: 5 stale"]));
    settle(&mut slow);
    say(&script, &[("a", 1, vec![Ok(11)])]);
    collect(&mut slow, &time, &[ALL]).unwrap();
    assert_eq!(held(&script, &mut slow, |slow| collect(slow, &both, &a)), lines(&["a: 5 stale, 7 stale"]));
}

#[test]
fn reasons_of_columns_are_kept() {
    let (script, mut slow) = slow();
    let never = NoValue::Unavailable("never".into());
    script.with(|s| s.reasons = vec![(1, never.clone())]);
    say(&script, &[("a", 1, vec![Ok(2)]), ("b", 2, vec![Ok(3), Err(NoValue::NotGiven)])]);
    let both = |slow: &mut DeadlineProvider| collect(slow, &[TIME, USER], &[ALL]);
    assert_eq!(both(&mut slow), lines(&[&format!("a: 2, {never:?}"), "b: 3, NotGiven"]));
    let late = lines(&[&format!("a: 2 stale, {never:?}"), "b: 3 stale, NotGiven"]);
    assert_eq!(held(&script, &mut slow, both), late);
}

#[test]
fn marks_of_rows_are_kept_and_age() {
    let (script, mut slow) = slow();
    script.with(|s| s.marks = vec![(2, Mark::Reused)]);
    say(&script, &[("a", 1, vec![Ok(2)]), ("b", 2, vec![Ok(3), Err(NoValue::NotGiven)])]);
    let both = |slow: &mut DeadlineProvider| collect(slow, &[TIME, USER], &[ALL]);
    assert_eq!(both(&mut slow).unwrap()[1], "b: 3 Reused, NotGiven");
    assert_eq!(held(&script, &mut slow, both).unwrap()[1], "b: 3 stale, NotGiven");
}

#[test]
fn late_provider_keeps_last_problems() {
    let (script, mut slow) = slow();
    script.with(|s| s.problems = vec!["a block".into()]);
    assert_eq!(held(&script, &mut slow, DeadlineProvider::problems), [""; 0]);
    settle(&mut slow);
    assert_eq!(slow.problems(), ["a block"]);
    script.with(|s| s.problems.clear());
    assert_eq!(held(&script, &mut slow, DeadlineProvider::problems), ["a block"]);
    settle(&mut slow);
    assert_eq!(slow.problems(), [""; 0]);
}

/// Checks the texts on countersets: a late provider keeps its last texts, and has none on a counterset of another
/// provider.
#[test]
fn late_provider_keeps_last_texts_on_countersets() {
    let (script, mut slow) = slow();
    let said = |slow: &mut DeadlineProvider| {
        let (own, other) = (slow.not_shown(Some(&cpu::GUID)), slow.not_shown(Some(&Guid::from_u128(7))));
        assert_eq!((slow.origin(&Guid::from_u128(7)), other), (None, Vec::new()));
        (slow.origin(&cpu::GUID), slow.not_shown(None), own, slow.left_out())
    };
    let text = |text: &'static str| {
        (Some(text.into()), vec![text.into()], vec![text.into()], vec![(cpu::GUID, text.into())])
    };
    for (before, now) in [((None, vec![], vec![], vec![]), "a device"), (text("a device"), "files")] {
        script.with(|s| s.origins = vec![(cpu::GUID, now.into())]);
        script.with(|s| s.not_shown = vec![now.into()]);
        script.with(|s| s.left_out = vec![(cpu::GUID, now.into())]);
        assert_eq!(held(&script, &mut slow, said), before);
        settle(&mut slow);
        assert_eq!(said(&mut slow), text(now));
    }
}

/// Facts are read now: a late provider has none, and a late response is not used for another instance.
#[test]
fn late_provider_has_no_facts() {
    let (script, mut slow) = slow();
    let fact = |text: &str| vec![Fact::new(FactKind::Device, Ok(text.to_owned()))];
    script.with(|s| s.facts = vec![(1, Ok(fact("one"))), (2, Ok(fact("two"))), (3, Err(SourceError::Late))]);
    let name: Vec<u8> = "a\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let facts = |slow: &mut DeadlineProvider, id: u32| {
        let (instance, instance_id) = (Name::until_nul(&name), InstanceId(id));
        let instance = Identity { counterset: cpu::GUID, instance, instance_id, birth: None };
        slow.facts(&instance, FactOptions::default())
    };
    assert_eq!(facts(&mut slow, 1), Ok(fact("one")));
    assert_eq!(facts(&mut slow, 7), Ok(vec![]));
    assert_eq!(facts(&mut slow, 3), Err(SourceError::Late));
    assert_eq!(held(&script, &mut slow, |slow| facts(slow, 1)), Err(SourceError::Late));
    settle(&mut slow);
    assert_eq!(facts(&mut slow, 2), Ok(fact("two")));
    script.with(|s| s.panics = true);
    assert!(facts(&mut slow, 2).is_err());
}

#[test]
fn late_provider_keeps_last_description() {
    let (script, mut slow) = slow();
    let said = |word: &'static str| vec![("source".into(), word.into())];
    script.with(|s| s.about = said("files"));
    assert_eq!(held(&script, &mut slow, DeadlineProvider::describe), []);
    settle(&mut slow);
    assert_eq!(slow.describe(), said("files"));
    script.with(|s| s.about = said("a device"));
    assert_eq!(held(&script, &mut slow, DeadlineProvider::describe), said("files"));
    settle(&mut slow);
    assert_eq!(slow.describe(), said("a device"));
    script.with(|s| s.panics = true);
    assert_eq!(slow.describe(), said("a device"));
}

#[test]
fn the_oldest_shape_of_request_is_forgotten() {
    let (script, mut slow) = slow();
    say(&script, &[("a", 1, vec![Ok(2)])]);
    for pattern in ["a", "?", "a*", "*a", "?*", "*?", "**", "a**"] {
        collect(&mut slow, &[TIME], &[(pattern, None)]).unwrap();
    }
    collect(&mut slow, &[TIME], &[("a", None)]).unwrap(); // the newest again
    collect(&mut slow, &[TIME], &[("*a*", None)]).unwrap(); // the ninth
    held(&script, &mut slow, |slow| {
        assert_eq!(collect(slow, &[TIME], &[("?", None)]), Err(SourceError::Late));
        for pattern in ["a", "a*", "*a", "?*", "*?", "**", "a**", "*a*"] {
            assert_eq!(collect(slow, &[TIME], &[(pattern, None)]), lines(&["a: 2 stale"]), "{pattern}");
        }
    });
}

#[test]
fn names_and_values_are_kept_apart() {
    let (script, mut slow) = slow();
    say(&script, &[("a", 1, vec![Ok(2)])]);
    collect(&mut slow, &[TIME], &[("a", None)]).unwrap();
    assert_eq!(
        held(&script, &mut slow, names),
        Err(SourceError::Late),
        "values of some are not the names of all"
    );
    say(&script, &[("a", 1, vec![Ok(3)]), ("b", 2, vec![Ok(5)])]);
    assert_eq!(names(&mut slow), lines(&["a", "b"]));
    let late = held(&script, &mut slow, |slow| collect(slow, &[TIME], &[("a", None)]));
    assert_eq!(late, lines(&["a: 2 stale"]), "an enumeration has no values");
    settle(&mut slow);
    say(&script, &[]);
    collect(&mut slow, &[TIME], &[ALL]).unwrap();
    assert_eq!(held(&script, &mut slow, names), lines(&["a", "b"]));
}

#[test]
fn an_error_is_told_once_and_spoils_nothing() {
    let (script, mut slow) = slow();
    say(&script, &[("a", 1, vec![Ok(2)])]);
    collect(&mut slow, &[TIME], &[ALL]).unwrap();
    names(&mut slow).unwrap();
    let error = SourceError::Denied("root only".into());
    script.with(|s| s.failure = Some(error.clone()));
    assert_eq!(collect(&mut slow, &[TIME], &[ALL]), Err(error.clone()));
    assert_eq!(names(&mut slow), Err(error));
    assert_eq!(held(&script, &mut slow, |slow| collect(slow, &[TIME], &[ALL])), lines(&["a: 2 stale"]));
    assert_eq!(held(&script, &mut slow, names), lines(&["a"]));
    // Nor does an error that comes late.
    settle(&mut slow);
    assert_eq!(held(&script, &mut slow, |slow| collect(slow, &[TIME], &[ALL])), lines(&["a: 2 stale"]));
}

#[test]
fn bytes_are_counted_once() {
    let (script, mut slow) = slow();
    let bytes = |slow: &mut DeadlineProvider| collect_bytes(slow, &[TIME], &[ALL]).map(|(_, bytes)| bytes);
    say(&script, &[("a", 1, vec![Ok(2)])]);
    assert_eq!(bytes(&mut slow), Ok(5));
    assert_eq!(held(&script, &mut slow, bytes), Ok(0));
    settle(&mut slow);
    let late = held(&script, &mut slow, |slow| [bytes(slow), bytes(slow)]);
    assert_eq!(late, [Ok(5), Ok(0)], "an answer that came late was read too");
}

#[test]
fn it_is_never_asked_twice_at_a_time() {
    let (script, mut slow) = slow();
    let late = held(&script, &mut slow, |slow| {
        let all = [TIME, USER].map(|counter| collect(slow, &[counter], &[ALL]));
        [all, [names(slow), collect(slow, &[TIME], &[ALL])]].concat()
    });
    assert_eq!(late, [const { Err(SourceError::Late) }; 4]);
    settle(&mut slow);
    let log = [format!("Collect [{}]", TIME.0), format!("Collect [{}]", USER.0)];
    assert_eq!(script.with(|s| s.log.clone()), log, "each once, one after the other");
}

#[test]
fn one_that_hangs_is_not_waited_for_again_and_again() {
    let (script, mut slow) = slow();
    let gate = script.with(|s| Arc::clone(&s.gate));
    let closed = gate.lock().unwrap();
    slow.deadline = Duration::from_millis(100);
    let started = Instant::now();
    for _ in 0..10 {
        for counter in [TIME, USER] {
            assert_eq!(collect(&mut slow, &[counter], &[ALL]), Err(SourceError::Late));
        }
        assert_eq!(names(&mut slow), Err(SourceError::Late));
    }
    // Of thirty questions the first waited for its deadline, the second for half of it.
    let took = started.elapsed();
    assert!((slow.deadline..slow.deadline * 10).contains(&took), "{took:?}");
    drop(closed);
    say(&script, &[("a", 1, vec![Ok(2)])]);
    slow.deadline = LONG;
    assert_eq!(collect(&mut slow, &[TIME], &[ALL]), lines(&["a: 2"]));
}

#[test]
fn late_provider_is_not_awaited_until_it_catches_up() {
    let (script, mut slow) = slow();
    say(&script, &[("a", 1, vec![Ok(2)])]);
    assert_eq!(held(&script, &mut slow, |slow| collect(slow, &[TIME], &[ALL])), Err(SourceError::Late));
    slow.deadline = Duration::ZERO; // which its answer comes behind
    while !slow.out.is_empty() {
        slow.take_answers();
    }
    slow.deadline = LONG;
    let gate = script.with(|s| Arc::clone(&s.gate));
    let closed = gate.lock().unwrap();
    assert_eq!(collect(&mut slow, &[TIME], &[ALL]), lines(&["a: 2 stale"]), "not an hour later");
    drop(closed);
    settle(&mut slow);
    // Now it was in time, so it is waited for.
    assert_eq!(collect(&mut slow, &[TIME], &[ALL]), lines(&["a: 2"]));
}

#[test]
fn entries_are_told_to_it() {
    let (script, mut slow) = slow();
    let [first, second] = [TIME, USER].map(|counter| Entry::one(cpu::GUID, counter));
    script.with(|s| s.answer = Some(Status::ERROR_ACCESS_DENIED));
    assert_eq!(slow.entry(Change::Added, &first), Status::ERROR_ACCESS_DENIED);
    let late = held(&script, &mut slow, |slow| slow.entry(Change::Added, &second));
    assert_eq!(late, Status::ERROR_SUCCESS, "R-45");
    // No deadline could be long enough for this one: it waits for nothing.
    let gate = script.with(|s| Arc::clone(&s.gate));
    let closed = gate.lock().unwrap();
    assert_eq!(slow.entry(Change::Removed, &second), Status::ERROR_SUCCESS);
    drop(closed);
    say(&script, &[("a", 1, vec![Ok(2)])]);
    assert_eq!(collect(&mut slow, &[TIME], &[ALL]), lines(&["a: 2"]));
    let (time, user) = (TIME.0, USER.0);
    let log = [
        format!("Added Some([{time}]) None"),
        format!("Added Some([{user}]) None"),
        format!("Removed Some([{user}]) None"),
        format!("Collect [{time}]"),
    ];
    assert_eq!(script.with(|s| s.log.clone()), log, "in order, however late");
}

#[test]
fn a_panic_is_one_calls_failure() {
    let (script, mut slow) = slow();
    say(&script, &[("a", 1, vec![Ok(2)])]);
    let failed = || SourceError::Failed("the provider panicked".into());
    for _ in 0..2 {
        script.with(|s| s.panics = true);
        assert_eq!(collect(&mut slow, &[TIME], &[ALL]), Err(failed()));
        assert_eq!(names(&mut slow), Err(failed()));
        assert_eq!(slow.entry(Change::Added, &Entry::all(cpu::GUID)), failed().status());
        assert_eq!(slow.catalogue(), Err(failed()));
        settle(&mut slow);
        script.with(|s| s.panics = false);
        assert_eq!(collect(&mut slow, &[TIME], &[ALL]), lines(&["a: 2"]));
        assert_eq!(names(&mut slow), lines(&["a"]));
        assert_eq!(slow.catalogue(), scripted().catalogue());
    }
}

#[test]
fn the_first_catalogue_may_be_late_too() {
    let script = scripted();
    let gate = script.with(|s| Arc::clone(&s.gate));
    let closed = gate.lock().unwrap();
    let mut slow = DeadlineProvider::new(Box::new(Gated(script.clone())), Duration::ZERO);
    assert_eq!(slow.catalogue(), Err(SourceError::Late));
    assert_eq!(slow.catalogue(), Err(SourceError::Late));
    drop(closed);
    slow.deadline = LONG;
    settle(&mut slow);
    assert_eq!(slow.catalogue(), scripted().catalogue());
}

#[test]
fn a_catalogue_that_failed_or_is_empty_is_asked_anew() {
    let script = Scripted::default();
    script.with(|s| s.panics = true);
    let new = || DeadlineProvider::new(Box::new(Gated(script.clone())), LONG);
    let mut slow = catch_unwind(AssertUnwindSafe(new)).expect("its panic is not ours");
    let failed = SourceError::Failed("the provider panicked".into());
    assert_eq!(slow.catalogue(), Err(failed));
    script.with(|s| s.panics = false);
    while slow.catalogue() != Ok(Arc::default()) {
        std::thread::yield_now();
    }
    script.with(|s| s.catalogue = scripted().with(|s| Arc::clone(&s.catalogue)));
    while slow.catalogue() != scripted().catalogue() {
        std::thread::yield_now();
    }
}

#[test]
fn pending_requests_finish_after_drop() {
    let (script, mut slow) = slow();
    let gate = script.with(|s| Arc::clone(&s.gate));
    let closed = gate.lock().unwrap();
    for counter in [TIME, USER] {
        let _ = slow.entry(Change::Removed, &Entry::one(cpu::GUID, counter));
    }
    drop(slow);
    drop(closed);
    while script.with(|s| s.log.len()) < 2 {
        std::thread::yield_now();
    }
}

/// The clocks of a counterset and the widths of its values pass unchanged through a provider with a deadline.
#[test]
fn clocks_and_widths_pass() {
    use perfset_core::RawValue;
    use perfset_core::sample::Clocks;

    const CLOCKS: Clocks =
        Clocks { perf_time: 2, perf_freq: 3, time_100ns: 5, object_time: 7, object_freq: 11 };

    #[derive(Debug)]
    struct Timed(Scripted);

    impl Provider for Timed {
        fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
            self.0.catalogue()
        }

        fn instances(&mut self, set: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
            self.0.instances(set, rows)
        }

        fn collect(&mut self, _: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
            rows.set_clocks(CLOCKS);
            rows.push("a", InstanceId(1), None).set_raw(0, RawValue::U32(13));
            Ok(())
        }
    }

    let mut slow = DeadlineProvider::new(Box::new(Timed(scripted())), LONG);
    let time = cpu::COUNTERSET.counters.iter().filter(|counter| counter.id == TIME);
    let mut rows = Rows::new(time);
    let filters = InstanceFilters::from_iter([InstanceFilter::any()]);
    let want = CollectRequest::new(&cpu::COUNTERSET, &[TIME], &filters).collection(1);
    slow.collect(&want, &mut rows).unwrap();
    assert_eq!((rows.clocks(), rows.raw(0, 0)), (Some(CLOCKS), Some(RawValue::U32(13))));
}
