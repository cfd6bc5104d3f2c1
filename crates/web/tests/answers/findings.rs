//! Tests of the server's findings, compared with those of the overview.

use std::time::{Duration, Instant};

use perfset::overview::{Overview, RULES, SentencePart};
use perfset::testing::{FixedClock, Scripted};
use perfset::{Machine, NoValue, catalogue};
use serde_json::{Value, json};

use crate::running::{Running, get};

/// Returns a machine with three file systems: two with little space, and one that does not respond.
fn disks() -> (Machine, Scripted) {
    let machine = Machine::new(Box::new(FixedClock::default()));
    let provider = Scripted::new(vec![catalogue::logical_disk::COUNTERSET.clone()]);
    provider.with(|script| {
        script.rows = vec![
            ("/data <b>", 2, vec![Ok(70), Ok(1_000)]),
            ("/boot", 3, vec![Ok(0), Ok(1_100)]),
            ("/net", 5, vec![Err(NoValue::Late), Err(NoValue::Late)]),
        ];
    });
    machine.register(Box::new(provider.clone()));
    (machine, provider)
}

/// Returns the findings of the overview itself, as the server should deliver them.
fn own(machine: &mut Machine) -> Value {
    let mut overview = Overview::open(machine).unwrap();
    overview.collect().unwrap();
    overview.collect().unwrap();
    let state = overview.state(5);
    let findings = state.findings.iter().map(|one| {
        let severity = format!("{:?}", one.severity).to_lowercase();
        let parts = one.text.parts().iter().map(|part| match part {
            SentencePart::Words(words) => json!({"words": words}),
            SentencePart::Name(name) => json!({"name": name}),
        });
        json!({
            "rule": one.rule, "severity": severity, "subject": one.subject, "text": one.text.to_string(),
            "parts": parts.collect::<Vec<_>>(), "next": one.next,
        })
    });
    let unchecked = state.unchecked.iter().map(|one| {
        json!({
            "rule": one.rule, "condition": one.condition, "subject": one.subject,
            "status": one.reason.keyword(), "reason": one.reason.to_string(),
        })
    });
    json!({
        "summary": "found", "findings": findings.collect::<Vec<_>>(), "more": 0, "rules": RULES.len(),
        "unchecked": unchecked.collect::<Vec<_>>(),
    })
}

#[test]
fn findings_are_those_of_the_overview() {
    let (mut machine, provider) = disks();
    let want = own(&mut machine);
    let server = Running::of((machine, provider), |options| options.metrics.clear());
    let mut got = get(&server, "/api/findings", &[]).json();
    let fields = got.as_object_mut().unwrap();
    assert!(fields.remove("time").is_some_and(|time| time.is_number()));
    assert!(fields.remove("interval_s").is_some_and(|seconds| seconds.as_f64() > Some(0.0)));
    assert_eq!(got, want);
    let rules: Vec<_> = got["findings"].as_array().unwrap().iter().map(|one| &one["rule"]).collect();
    assert_eq!(rules, ["file-system-full"; 2]);
    // Names of the machine are apart from the words, and exactly those that it has.
    let parts = &got["findings"][0]["parts"];
    assert_eq!(parts[0], json!({"name": "/boot"}), "{parts}");
    let names: Vec<_> = got["findings"].as_array().unwrap().iter().map(|one| &one["subject"]).collect();
    assert_eq!(names, [&Value::Null, &json!("/data <b>")]);
    let unchecked = got["unchecked"].as_array().unwrap();
    let late = unchecked.iter().find(|one| one["rule"] == "file-system-full").unwrap();
    assert_eq!((&late["subject"], &late["status"]), (&json!("/net"), &json!("late")));
    assert_eq!(unchecked.len(), RULES.len(), "the machine has nothing else");
}

/// Checks that nothing is collected for findings before a client requests them, and that many clients cost as much as
/// one.
#[test]
fn findings_cost_nothing_until_somebody_asks() {
    let server = Running::of(disks(), |options| options.metrics.clear());
    let samples = |server: &Running| server.about()["now"]["samples"].as_u64().unwrap();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(100) {
        samples(&server);
    }
    assert_eq!(server.collections(), 0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(get(&server, "/api/findings", &[]).status, 200));
        }
    });
    let asked = server.collections();
    // Two of them at least; one each interval of 20 ms while the clients were there.
    let most = begin.elapsed().as_millis() / 20 + 2;
    assert!(asked >= 2 && u128::from(asked) <= most, "{asked} collections, at most {most}");
}

#[test]
fn findings_take_a_time_alone() {
    let server = Running::of(disks(), |options| options.metrics.clear());
    let answer = get(&server, "/api/findings?top=3", &[]);
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (400, Some("there is no parameter \"top\": there is at and log"))
    );
}
