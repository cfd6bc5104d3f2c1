//! Tests of requests to publishers, some of which never respond or misbehave.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use perfset_core::{
    Attributes, Counter, CounterId, CounterType, Counterset, Guid, InstanceType, Mark, NoValue, RawValue,
    Status,
};
use perfset_engine::{Deadline, Entry, Query, Snapshot};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind, connect, listen, send,
    socket_with,
};

use super::{Asks, HeldValues, Late, MOST_HELD};
use crate::callback::{CallbackReply, ReferencedValue, RequestCode, RequestMessage, Server};
use crate::publish::{InstanceBlock, Publisher};
use crate::tests::Place;

const PLAIN: CounterId = CounterId(1);
const BY_REFERENCE: CounterId = CounterId(2);

/// Returns a counterset whose second counter has its value by reference.
fn set() -> Arc<Counterset> {
    let counter = |id, name: &str, attributes| {
        Counter::published(id, CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
            .name(name.to_owned())
            .attributes(attributes)
    };
    let counters = vec![
        counter(PLAIN, "Plain", Attributes::default()),
        counter(BY_REFERENCE, "By Reference", Attributes::BY_REFERENCE),
    ];
    Arc::new(
        Counterset::new(Guid::from_u128(0x5EED), "Asked", InstanceType::Multiple)
            .provider(Guid::from_u128(7), "Tests")
            .counters(counters),
    )
}

fn instance(publisher: &Publisher, name: &str) -> InstanceBlock {
    let name: Vec<u16> = name.encode_utf16().collect();
    publisher.create(&set(), &name, None, 0).unwrap()
}

/// Log of received requests: the request code, and the instance name of a query entry.
type Asked = Arc<Mutex<Vec<(RequestCode, Option<String>)>>>;

fn note(asked: &Asked, request: &RequestMessage<'_>) {
    let name = request.entry().and_then(|entry| entry.name()).map(|name| name.to_string());
    asked.lock().unwrap().push((request.what(), name));
}

/// Returns the counterset of [`set`] with another GUID and name.
fn other(guid: u128, name: String) -> Arc<Counterset> {
    let mut set = Counterset::clone(&set());
    (set.guid, set.name) = (Guid::from_u128(guid), name.into());
    Arc::new(set)
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
        let mut answer = CallbackReply::from(Status::ERROR_SUCCESS);
        if request.what() == RequestCode::Values {
            let value = Some(RawValue::U64(77));
            answer.values.push(ReferencedValue { sequence, counter: BY_REFERENCE, value });
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
        (RequestCode::EnumInstances, None),
        (RequestCode::AddCounter, any()),
        (RequestCode::CollectStart, None),
        (RequestCode::Values, any()),
        (RequestCode::CollectEnd, None),
        (RequestCode::RemoveCounter, any()),
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
    drop((a, b));
}

#[test]
fn requests_contain_the_name_of_this_host() {
    let place = Place::new("host");
    let publisher = place.publisher();
    let _instance = instance(&publisher, "a");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let of_thread = Arc::clone(&heard);
    let _server = publisher.answer(move |request| {
        if request.what() == RequestCode::Values {
            return CallbackReply::from(Status::ERROR_SUCCESS); // has no machine, as Windows has no such request
        }
        let name = request.entry().map_or(request.machine(), |entry| entry.machine());
        of_thread.lock().unwrap().push((request.what(), name.to_string()));
        CallbackReply::from(Status::ERROR_SUCCESS)
    });
    let mut query = place.machine().query();
    assert!(query.add(&Entry::all(set().guid).instance("*")).is_success());
    query.collect(&mut Snapshot::default()).unwrap();

    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let heard = heard.lock().unwrap();
    assert!(heard.len() >= 3, "{heard:?}");
    for (what, name) in heard.iter() {
        assert_eq!(name, host.trim_end(), "{what:?}");
    }
}

#[test]
fn a_counterset_that_is_defined_while_asked_is_there_then() {
    let place = Place::new("defined-while-asked");
    let publisher = place.publisher();
    publisher.define(&set());
    let of_thread = publisher.clone();
    let another = other(0xA110, "Another".into());
    let defined = Arc::clone(&another);
    let _server = publisher.answer(move |request| {
        if request.what() == RequestCode::EnumInstances {
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
        if request.what() == RequestCode::EnumInstances && made.lock().unwrap().is_empty() {
            made.lock().unwrap().push(instance(&of_thread, "made"));
        }
        CallbackReply::from(Status::ERROR_SUCCESS)
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
        CallbackReply::from(if is_refused { Status(1234) } else { Status::ERROR_SUCCESS })
    });
    let machine = place.machine();
    let entry = Entry::all(set().guid).instance("*");
    *refused.lock().unwrap() = Some(RequestCode::AddCounter);
    assert_eq!(machine.query().add(&entry), Status(1234));
    *refused.lock().unwrap() = Some(RequestCode::EnumInstances);
    assert_eq!(machine.instances(&set().guid).unwrap_err().status(), Status(1234));
    *refused.lock().unwrap() = Some(RequestCode::CollectStart);
    let mut query = machine.query();
    assert!(query.add(&entry).is_success());
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    assert_eq!(snapshot.annex()[0].failure(), Some(&NoValue::Status(Status(1234))));
}

/// Collects, and returns the value and mark of a counter, or the reason for none, by instance.
fn of(query: &mut Query, counter: CounterId) -> HashMap<String, Result<(u64, Option<Mark>), NoValue>> {
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let values = snapshot.values(None).filter(|value| value.counter.id == counter);
    values
        .map(|value| {
            let got = match value.raw {
                Some(raw) => Ok((raw.get(), value.mark)),
                None => Err(value.value.unwrap_err()),
            };
            (value.instance.to_string(), got)
        })
        .collect()
}

/// Starts a server that returns the number in `gate` to requests for values, and success to others, while the test
/// does not lock `gate`.
fn gated(publisher: &Publisher, sequence: u64, gate: &Arc<Mutex<u64>>, asked: &Asked) -> Option<Server> {
    let (gate, asked) = (Arc::clone(gate), Arc::clone(asked));
    publisher
        .answer(move |request| {
            note(&asked, &request);
            let value = *gate.lock().unwrap();
            let mut answer = CallbackReply::from(Status::ERROR_SUCCESS);
            if request.what() == RequestCode::Values {
                let value = Some(RawValue::U64(value));
                answer.values.push(ReferencedValue { sequence, counter: BY_REFERENCE, value });
            }
            answer
        })
        .unwrap()
}

#[test]
fn a_late_value_is_the_previous_one_and_marked() {
    let place = Place::new("late");
    let publisher = place.publisher();
    let a = instance(&publisher, "a");
    let (gate, asked) = (Arc::new(Mutex::new(7)), Asked::default());
    let _server = gated(&publisher, a.sequence(), &gate, &asked);
    let machine = place.machine_within(Duration::from_millis(20));
    let mut query = machine.query();

    // Before there is any answer the value is late, and what is in memory is there.
    let closed = gate.lock().unwrap();
    assert_eq!(machine.instances(&set().guid).unwrap().len(), 1, "silence is no refusal");
    assert!(query.add(&Entry::all(set().guid).instance("*")).is_success());
    assert_eq!(of(&mut query, BY_REFERENCE)["a"], Err(NoValue::Late));
    assert_eq!(of(&mut query, PLAIN)["a"], Ok((0, None)));
    let heard = asked.lock().unwrap().len();
    for _ in 0..20 {
        assert_eq!(of(&mut query, BY_REFERENCE)["a"], Err(NoValue::Late));
    }
    assert!(heard <= 1 && asked.lock().unwrap().len() <= 1, "it is not asked again before it has answered");
    let late = machine.late();
    assert!(late.len() == 1 && late[0].contains(": no response for "), "{late:?}");
    drop(closed);

    // It answers: a pause later it is asked again, and then in time.
    while of(&mut query, BY_REFERENCE)["a"] != Ok((7, None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(machine.late(), [""; 0]);

    let closed = gate.lock().unwrap();
    let again = instance(&publisher, "b");
    for round in 0..3 {
        let got = of(&mut query, BY_REFERENCE);
        match got["a"] {
            Ok((7, Some(Mark::Stale(_)))) => {}
            Ok((7, None)) if round == 0 => {} // it had been asked before the gate was closed
            ref other => panic!("{other:?} in round {round}"),
        }
        if round > 0 {
            assert_eq!(got["b"], Err(NoValue::Late), "it has no previous value");
        }
    }
    drop(closed);
    drop((a, again));
}

/// Checks that a publisher handles a request that arrives during another one after that one, however long that takes.
#[test]
fn queued_requests_are_served_after_a_slow_reply() {
    const SLOW: Duration = Duration::from_millis(2_200);
    let place = Place::new("heard");
    let publisher = place.publisher();
    let _row = instance(&publisher, "a");
    let _server = publisher.answer(|_| {
        std::thread::sleep(SLOW);
        Status::ERROR_SUCCESS.into()
    });
    let socket = publisher.path().unwrap().with_extension(crate::callback::EXTENSION);
    let user = rustix::process::geteuid().as_raw();
    let packet = RequestMessage::new(RequestCode::CollectStart, &[0, 0]).unwrap().encode();
    let begin = || crate::callback::Conversation::begin(&socket, user, &packet).unwrap();
    let mut all = [begin(), begin(), begin()];
    let (began, mut buffer) = (Instant::now(), vec![0; crate::callback::MOST_PACKET]);
    for conversation in &mut all {
        while conversation.advance(&mut buffer).unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Times at which a program received a request and responded, by counterset.
type Answered = HashMap<Guid, Vec<(Instant, Instant)>>;

/// Checks that the values of a program that takes longer than the deadline for each response still arrive, each as
/// soon as it is available.
#[test]
fn values_of_a_slow_program_arrive() {
    const SLOW: Duration = Duration::from_millis(60);
    const PERIOD: Duration = Duration::from_millis(20);
    let place = Place::new("slow");
    let publisher = place.publisher();
    let sets: Vec<_> = (0..3).map(|number| other(0x51_0000 + number, format!("Slow {number}"))).collect();
    let name: Vec<u16> = "a".encode_utf16().collect();
    let rows: Vec<_> = sets.iter().map(|set| publisher.create(set, &name, None, 0).unwrap()).collect();
    let answered: Arc<Mutex<Answered>> = Arc::default();
    let of_thread = Arc::clone(&answered);
    let sequences: Vec<_> = rows.iter().map(InstanceBlock::sequence).collect();
    let _server = publisher
        .answer(move |request| {
            let began = Instant::now();
            std::thread::sleep(SLOW);
            let mut answer = CallbackReply::from(Status::ERROR_SUCCESS);
            if request.what() == RequestCode::Values {
                let guid = request.entry().unwrap().counterset();
                let mut answered = of_thread.lock().unwrap();
                let answers = answered.entry(guid).or_default();
                answers.push((began, Instant::now()));
                let value = Some(RawValue::U64(answers.len().try_into().unwrap()));
                let of = |sequence| ReferencedValue { sequence, counter: BY_REFERENCE, value };
                answer.values.extend(sequences.iter().copied().map(of));
            }
            answer
        })
        .unwrap();
    let machine = place.machine_within(Duration::from_millis(10));
    let mut queries: Vec<_> = sets
        .iter()
        .map(|set| {
            let mut query = machine.query();
            assert!(query.add(&Entry::all(set.guid).instance("*")).is_success());
            (set.guid, query)
        })
        .collect();
    let began = Instant::now();
    let mut seen = [0_u64; 3];
    while seen.iter().any(|seen| *seen < 3) {
        assert!(began.elapsed() < Duration::from_secs(60), "{seen:?} of {answered:?}");
        for ((guid, query), seen) in queries.iter_mut().zip(&mut seen) {
            let all = answered.lock().unwrap().get(guid).cloned().unwrap_or_default();
            // Its answer was sent, or is about to be.
            let is_sent = |(_, answered): &&(Instant, Instant)| answered.elapsed() > SLOW;
            let expected = u64::try_from(all.iter().filter(is_sent).count()).unwrap();
            let before = Instant::now();
            match of(query, BY_REFERENCE)["a"] {
                Ok((value, mark)) => {
                    assert!(value >= expected, "{value}, but {expected} was answered");
                    let asked = answered.lock().unwrap()[guid][usize::try_from(value - 1).unwrap()].0;
                    match mark {
                        Some(Mark::Stale(age)) => {
                            assert!(age >= before.saturating_duration_since(asked), "{age:?}")
                        }
                        // This thread was busy with other things while it answered.
                        None => assert!(asked.elapsed() < 8 * SLOW, "{:?}", asked.elapsed()),
                        other => panic!("{other:?}"),
                    }
                    *seen = value;
                }
                Err(NoValue::Late) => assert_eq!(expected, 0),
                ref other => panic!("{other:?}"),
            }
        }
        std::thread::sleep(PERIOD);
    }
    drop(rows);
}

/// Misbehaviour of a listener in place of a publisher's own socket.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Misbehaves {
    /// Accepts no connection, like a program that is stopped.
    Stopped,
    /// Accepts no connection, and has no room in its queue for more.
    Full,
    /// Accepts connections and never responds.
    Silent,
    /// Responds with one byte at a time.
    Bytes,
    /// Responds with packets without end, each announcing one more.
    Endless,
    /// Accepts connections and ends them at once.
    Ends,
}

impl Misbehaves {
    const ALL: [Self; 6] = [Self::Stopped, Self::Full, Self::Silent, Self::Bytes, Self::Endless, Self::Ends];
}

/// Listens on a publisher's socket path in place of the publisher.
fn in_the_place_of(publisher: &Publisher, how: Misbehaves) -> (OwnedFd, Vec<OwnedFd>) {
    let socket = publisher.path().unwrap().with_extension("sock");
    std::fs::remove_file(&socket).unwrap();
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let new = || socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    let (listener, address) = (new(), SocketAddrUnix::new(&socket).unwrap());
    bind(&listener, &address).unwrap();
    listen(&listener, if how == Misbehaves::Full { 0 } else { 64 }).unwrap();
    let mut others = Vec::new();
    if how == Misbehaves::Full {
        let mut connection = new();
        while connect(&connection, &address).is_ok() {
            others.push(std::mem::replace(&mut connection, new()));
        }
    }
    (listener, others)
}

/// Runs all misbehaving listeners until the test is over.
fn misbehave(listeners: &[(Misbehaves, OwnedFd)], is_over: &AtomicBool) {
    let mut connections: Vec<(Misbehaves, OwnedFd)> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        for (how, listener) in listeners {
            if !matches!(how, Misbehaves::Stopped | Misbehaves::Full) {
                connections.extend(accept(listener).map(|connection| (*how, connection)));
            }
        }
        for (how, connection) in &connections {
            let packet: &[u8] = match how {
                Misbehaves::Bytes => &[0],
                Misbehaves::Endless => &[0, 0, 0, 0, 1, 0, 0, 0],
                _ => &[],
            };
            if !packet.is_empty() {
                let _ = send(connection, packet, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
        }
        connections.retain(|(how, _)| *how != Misbehaves::Ends);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn many_that_misbehave_cost_one_deadline_and_none_of_the_others() {
    const DEADLINE: Duration = Duration::from_millis(100);
    let place = Place::new("misbehaving");
    let (mut kept, mut listeners, mut full) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..10 * Misbehaves::ALL.len() {
        let how = Misbehaves::ALL[number % Misbehaves::ALL.len()];
        let publisher = place.publisher();
        let row = instance(&publisher, &number.to_string());
        let server = publisher.answer(|_| Status::ERROR_SUCCESS.into()).unwrap();
        let (listener, others) = in_the_place_of(&publisher, how);
        listeners.push((how, listener));
        full.push(others);
        kept.push((publisher, row, server));
    }
    let good = place.publisher();
    let row = instance(&good, "good");
    let (gate, asked) = (Arc::new(Mutex::new(7)), Asked::default());
    let _server = gated(&good, row.sequence(), &gate, &asked);

    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| misbehave(&listeners, &is_over));
        let machine = place.machine_within(DEADLINE);
        let began = Instant::now();
        assert_eq!(machine.instances(&set().guid).unwrap().len(), kept.len() + 1);
        let mut query = machine.query();
        assert!(query.add(&Entry::all(set().guid).instance("*")).is_success());
        let got = of(&mut query, PLAIN);
        assert_eq!(got.len(), kept.len() + 1);
        assert!(got.values().all(|got| *got == Ok((0, None))), "{got:?}");
        // One deadline, or three on a machine that is busy. One after the other they would take 6 s.
        let took = began.elapsed();
        assert!(took < 15 * DEADLINE, "{took:?}");

        while of(&mut query, BY_REFERENCE)["good"] != Ok((7, None)) {}
        let began = Instant::now();
        for _ in 0..10 {
            let got = of(&mut query, BY_REFERENCE);
            let others = got.iter().filter(|(name, _)| *name != "good");
            assert!(others.clone().all(|(_, got)| *got == Err(NoValue::Late)), "{got:?}");
        }
        let took = began.elapsed();
        assert!(took < 15 * DEADLINE, "what is late is not waited for: {took:?}");
        let late = machine.late();
        assert!(late.len() >= kept.len(), "{late:?}");
        let says = |what: &str| late.iter().any(|late| late.contains(what));
        assert!(says("no response for ") && says("no usable response for "), "{late:?}");
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn pauses_double_up_to_a_minute() {
    let mut late = Late::new(Instant::now(), None);
    let mut pauses = vec![late.pause.as_secs()];
    for _ in 0..8 {
        let now = Instant::now();
        late.wait_longer(now);
        assert_eq!(late.ask_from, now + late.pause);
        pauses.push(late.pause.as_secs());
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn values_of_all_publishers_together_have_a_limit() {
    let asks = Asks::new(Deadline::default());
    let (mut one, mut other) = (HeldValues::nothing(&asks), HeldValues::nothing(&asks));
    assert!(one.grow(MOST_HELD) && one.grow(MOST_HELD) && !other.grow(1));
    drop(one);
    assert!(other.grow(MOST_HELD) && !other.grow(MOST_HELD + 1));
    drop(other);
    assert_eq!(asks.held.load(std::sync::atomic::Ordering::Relaxed), 0);
}
