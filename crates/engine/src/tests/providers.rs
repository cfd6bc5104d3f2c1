//! Tests of providers that fail, panic, are late or hang, and of descriptions of providers.

use std::time::Duration;

use super::*;

#[test]
fn a_failing_provider_costs_its_own_result_only() {
    let (machine, provider) = machine();
    let broken = Scripted::new(vec![set(OTHER, InstanceType::Multiple)]);
    broken.with(|s| s.rows = vec![("x", 1, vec![Ok(1)])]);
    machine.register(Box::new(broken.clone()));
    let mut query = machine.query();
    for guid in [OTHER, MULTI] {
        assert!(query.add(&Entry::one(guid, CounterId(7)).instance("*")).is_success());
    }
    provider.with(|s| s.log.clear());
    let good = "instances a/1: U64(100) b/2: U64(200)";
    assert_eq!(shapes(&collected(&mut query)), ["instances x/1: U64(1)", good]);
    broken.with(|s| s.failure = Some(SourceError::Failed("/proc/x:3: cut".into())));
    let failed = collected(&mut query);
    assert_eq!(shapes(&failed), ["error 13", good]);
    assert_eq!(failed.annex()[0].failure().unwrap().to_string(), "/proc/x:3: cut");
    broken.with(|s| s.failure = Some(SourceError::Denied("needs CAP_X".into())));
    assert_eq!(shapes(&collected(&mut query)), ["error 5", good]);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    broken.with(|s| s.panics = true);
    let panicked = collected(&mut query);
    std::panic::set_hook(hook);
    assert_eq!(shapes(&panicked), ["error 13", good]);
    assert_eq!(panicked.annex()[0].failure().unwrap().to_string(), "the provider panicked");
    broken.with(|s| (s.panics, s.failure) = (false, None));
    assert_eq!(shapes(&collected(&mut query)), ["instances x/1: U64(1)", good]);
}

#[test]
fn a_late_provider_is_stale_or_late() {
    let machine = Machine::new(Box::new(FixedClock::default()));
    let provider = Scripted::new(vec![set(MULTI, InstanceType::Multiple)]);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(1)])]);
    let deadline = Duration::from_millis(50);
    machine.register(Box::new(DeadlineProvider::new(Box::new(provider.clone()), deadline)));
    while machine.counterset(&MULTI).is_err() {} // a starved machine may be late with the catalogue too
    let mut query = machine.query();
    assert!(query.add(&Entry::one(MULTI, CounterId(7)).instance("*")).is_success());
    assert!(query.add(&Entry::one(own::GUID, own::LATE_PROVIDERS)).is_success());

    let gate = provider.with(|s| Arc::clone(&s.gate));
    let closed = gate.lock().unwrap();
    let nothing = collected(&mut query);
    assert_eq!(shapes(&nothing)[0], "error 1460");
    assert_eq!(nothing.annex()[0].failure(), Some(&NoValue::Late));
    drop(closed);
    let value = |snapshot: &Snapshot| {
        let value = snapshot.values(None).next().unwrap();
        (value.value.map(|v| v.raw), value.mark)
    };
    // The first response is used, then the next one is requested. Both are quick here, but the machine may be slow.
    while value(&collected(&mut query)) != (Ok(1.0), None) {}
    provider.with(|s| s.rows[0].2[0] = Ok(2));
    let closed = gate.lock().unwrap();
    let stale = collected(&mut query);
    let (last, mark) = value(&stale);
    assert!(matches!((last, mark), (Ok(1.0), Some(Mark::Stale(_)))), "{mark:?}");
    let counted = collected(&mut query).values(None).nth(1).unwrap().value.unwrap().raw;
    assert_eq!(counted, 1.0, "the engine's own counter tells of it");
    drop(closed);
    while value(&collected(&mut query)) != (Ok(2.0), None) {}
}

/// All providers receive their requests before the first provider is waited for, and share one deadline.
#[test]
fn providers_that_hang_cost_one_deadline_together() {
    const COUNT: u128 = 10;
    let machine = Machine::new(Box::new(FixedClock::default()));
    machine.set_deadline(Duration::from_millis(100));
    let deadline = machine.deadline();
    assert_eq!(deadline.length(), Duration::from_millis(100));
    let guid = |number| Guid::from_u128(0xDEAD_0000 + number);
    let of = |number| Scripted::new(vec![set(guid(number), InstanceType::Multiple)]);
    let scripts: Vec<_> = (0..COUNT).map(of).collect();
    for script in &scripts {
        script.with(|s| s.rows = vec![("a", 1, vec![Ok(1)])]);
        machine.register(Box::new(DeadlineProvider::sharing(Box::new(script.clone()), &deadline)));
    }
    while (0..COUNT).any(|number| machine.counterset(&guid(number)).is_err()) {}
    let mut query = machine.query();
    for number in 0..COUNT {
        assert!(query.add(&Entry::one(guid(number), CounterId(7)).instance("*")).is_success());
    }
    let gates: Vec<_> = scripts.iter().map(|script| script.with(|s| Arc::clone(&s.gate))).collect();
    let closed: Vec<_> = gates.iter().map(|gate| gate.lock().unwrap()).collect();
    let began = std::time::Instant::now();
    let late = collected(&mut query);
    let took = began.elapsed();
    assert!(late.annex().iter().all(|annex| annex.failure() == Some(&NoValue::Late)));
    assert!(took < 5 * deadline.length(), "one after the other they would take ten deadlines: {took:?}");
    let says = machine.late();
    assert!(!says.is_empty() && says.iter().all(|late| late.contains(": no response for ")), "{says:?}");
    drop(closed);
    let is_good = |snapshot: &Snapshot| snapshot.values(None).all(|value| value.raw.is_some());
    while !is_good(&collected(&mut query)) {}
}

#[test]
fn providers_speak_of_themselves() {
    let (machine, provider) = machine();
    assert_eq!(machine.describe(), []);
    provider.with(|s| s.about = vec![("process source".into(), "files".into())]);
    machine.register(Box::new(Mute));
    assert_eq!(machine.describe(), [("process source".into(), "files".into())]);
}

/// Provider that panics when it must describe itself.
struct Mute;

impl Provider for Mute {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::default())
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, _: &CollectRequest<'_>, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn describe(&mut self) -> Vec<(Text, Text)> {
        panic!("as told")
    }
}
