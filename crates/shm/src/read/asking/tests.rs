//! Programs that are asked, beside those that say nothing.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use perfset_core::{
    Attributes, Counter, CounterId, CounterType, Counterset, Guid, InstanceType, NoValue, ProviderIdentity,
    RawValue, Status,
};
use perfset_engine::{Entry, Snapshot};

use crate::callback::{Answer, Referenced, Request, What};
use crate::publish::{Block, Publisher};
use crate::tests::Place;

const PLAIN: CounterId = CounterId(1);
const BY_REFERENCE: CounterId = CounterId(2);

/// A counterset whose second counter refers to its value.
fn set() -> Arc<Counterset> {
    let counter = |id, name: &str, attributes| Counter {
        name: Some(name.to_owned().into()),
        attributes,
        ..Counter::published(id, CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
    };
    let counters = vec![
        counter(PLAIN, "Plain", Attributes::default()),
        counter(BY_REFERENCE, "By Reference", Attributes::BY_REFERENCE),
    ];
    Arc::new(Counterset {
        guid: Guid::from_u128(0x5EED),
        name: "Asked".into(),
        help: "".into(),
        provider: ProviderIdentity { guid: Guid::from_u128(7), name: "Tests".into() },
        instance_type: InstanceType::Multiple,
        counters: counters.into(),
        translations: Vec::new().into(),
        v1_index: None,
        default_counter: None,
        view_of: None,
        scope: "".into(),
    })
}

fn instance(publisher: &Publisher, name: &str) -> Block {
    let name: Vec<u16> = name.encode_utf16().collect();
    publisher.create(&set(), &name, None, 0).unwrap()
}

/// What was asked: the request, and the instance name of an entry.
type Asked = Arc<Mutex<Vec<(What, Option<String>)>>>;

fn note(asked: &Asked, request: &Request<'_>) {
    let name = request.entry().and_then(|entry| entry.name()).map(|name| name.to_string());
    asked.lock().unwrap().push((request.what(), name));
}

#[test]
fn a_program_is_told_and_gives_values_by_reference() {
    let place = Place::new("asked");
    let publisher = place.publisher();
    let (a, b) = (instance(&publisher, "a"), instance(&publisher, "b"));
    let asked = Asked::default();
    let (of_thread, sequence) = (Arc::clone(&asked), a.sequence());
    let _server = publisher.answer(move |request| {
        note(&of_thread, &request);
        let mut answer = Answer::from(Status::ERROR_SUCCESS);
        if request.what() == What::Values {
            let value = Some(RawValue::U64(77));
            answer.values.push(Referenced { sequence, counter: BY_REFERENCE, value });
        }
        answer
    });
    let machine = place.machine();
    assert_eq!(machine.instances(&set().guid).unwrap().len(), 2);
    let mut query = machine.query();
    let entry = Entry::all(set().guid).instance("*");
    assert!(query.add(&entry).is_success());
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let values: Vec<_> = snapshot
        .values(None)
        .map(|value| (value.instance.to_string(), value.counter.id, value.raw.map(RawValue::get)))
        .collect();
    let of = |name: &str, plain, referred| {
        [(name.to_owned(), PLAIN, plain), (name.to_owned(), BY_REFERENCE, referred)]
    };
    assert_eq!(values, [of("a", Some(0), Some(77)), of("b", Some(0), None)].concat());
    assert!(query.delete(&entry).is_success());
    let any = || Some("*".to_owned());
    let expected = [
        (What::EnumInstances, None),
        (What::AddCounter, any()),
        (What::CollectStart, None),
        (What::Values, any()),
        (What::CollectEnd, None),
        (What::RemoveCounter, any()),
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
    drop((a, b));
}

#[test]
fn a_counterset_that_is_defined_while_asked_is_there_then() {
    let place = Place::new("defined-while-asked");
    let publisher = place.publisher();
    publisher.define(&set());
    let of_thread = publisher.clone();
    let another = Arc::new(Counterset {
        guid: Guid::from_u128(0xA110),
        name: "Another".into(),
        ..Counterset::clone(&set())
    });
    let defined = Arc::clone(&another);
    let _server = publisher.answer(move |request| {
        if request.what() == What::EnumInstances {
            of_thread.define(&defined);
        }
        Status::ERROR_SUCCESS.into()
    });
    let machine = place.machine();
    assert!(machine.instances(&set().guid).is_err(), "it has none");
    assert!(machine.counterset(&another.guid).is_ok());
}

#[test]
fn an_instance_that_is_made_while_asked_is_there_at_once() {
    let place = Place::new("made-while-asked");
    let publisher = place.publisher();
    publisher.define(&set());
    let made = Mutex::new(Vec::new());
    let of_thread = publisher.clone();
    let _server = publisher.answer(move |request| {
        if request.what() == What::EnumInstances && made.lock().unwrap().is_empty() {
            made.lock().unwrap().push(instance(&of_thread, "made"));
        }
        Answer::from(Status::ERROR_SUCCESS)
    });
    let names: Vec<_> =
        place.machine().instances(&set().guid).unwrap().iter().map(|i| i.name.to_string()).collect();
    assert_eq!(names, ["made"]);
}

#[test]
fn refusals_are_the_entrys_status() {
    let place = Place::new("refusals");
    let publisher = place.publisher();
    let _a = instance(&publisher, "a");
    let refused = Arc::new(Mutex::new(None));
    let of_thread = Arc::clone(&refused);
    let _server = publisher.answer(move |request| {
        let is_refused = *of_thread.lock().unwrap() == Some(request.what());
        Answer::from(if is_refused { Status(1234) } else { Status::ERROR_SUCCESS })
    });
    let machine = place.machine();
    let entry = Entry::all(set().guid).instance("*");
    *refused.lock().unwrap() = Some(What::AddCounter);
    assert_eq!(machine.query().add(&entry), Status(1234));
    *refused.lock().unwrap() = Some(What::EnumInstances);
    assert_eq!(machine.instances(&set().guid).unwrap_err().status(), Status(1234));
    *refused.lock().unwrap() = Some(What::CollectStart);
    let mut query = machine.query();
    assert!(query.add(&entry).is_success());
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    assert_eq!(snapshot.annex()[0].failure(), Some(&NoValue::Status(Status(1234))));
}

#[test]
fn a_program_that_does_not_answer_is_left_alone() {
    let place = Place::new("silent");
    let publisher = place.publisher();
    let _a = instance(&publisher, "a");
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let _server = publisher.answer(move |_| {
        let _ = stopped.recv_timeout(Duration::from_secs(3));
        Answer::from(Status(1234))
    });
    let machine = place.machine();
    let began = Instant::now();
    assert_eq!(machine.instances(&set().guid).unwrap().len(), 1, "silence is no refusal");
    let first = began.elapsed();
    assert!(first >= Duration::from_millis(900) && first < Duration::from_millis(2500), "{first:?}");
    let began = Instant::now();
    let mut query = machine.query();
    assert!(query.add(&Entry::all(set().guid).instance("*")).is_success());
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    assert!(began.elapsed() < Duration::from_millis(500), "it is not asked again: {:?}", began.elapsed());
    assert_eq!(snapshot.annex()[0].reason(0, 1), Some(&NoValue::Late));
    drop(stop);
}
