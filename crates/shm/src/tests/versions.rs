//! Tests of several versions of a program side by side, and together with registrations of other versions.

use std::sync::Arc;

use perfset_core::v2::{Block, Body};
use perfset_core::{CounterId, Counterset as Set, Mark, Status};
use perfset_engine::{Provider, Value};
use perfset_manifest::Manifest;

use super::*;
use crate::publish::{CounterField, CounterInfo, Definition, PublishError, PublishedInstance};

/// Versions of one counterset of a test. The second has counters that the first lacks, the third gives two of them
/// another meaning, and the fourth has one that all others lack.
macro_rules! versions {
    ($($module:ident: { $($(#[$counter:meta])* $field:ident: $kind:ident,)* };)*) => {$(
        mod $module {
            use super::super::*;

            #[derive(Counterset, Debug)]
            #[counterset(crate = crate, provider = "Shop", name = "Shop Orders", instances = "multiple")]
            pub struct Orders {
                $($(#[$counter])* pub $field: $kind,)*
            }
        }
    )*};
}

versions! {
    v1: {
        #[counter(name = "Orders/sec", id = 1)]
        orders: Counter64,
        #[counter(name = "Average Latency", id = 2, base_id = 3)]
        latency: AverageTimer,
    };
    v2: {
        #[counter(name = "Orders/sec", id = 1)]
        orders: Counter64,
        #[counter(name = "Average Latency", id = 2, base_id = 3)]
        latency: AverageTimer,
        #[counter(name = "Waiting", id = 4)]
        waiting: Gauge,
        #[counter(name = "% Refused", id = 5, base_id = 6)]
        refused: Ratio,
    };
    v3: {
        #[counter(name = "Orders", id = 1)]
        orders: Gauge,
        #[counter(name = "Average Latency", id = 2, base_id = 3)]
        latency: AverageTimer,
        #[counter(name = "Refused", id = 4)]
        refused: Gauge,
        #[counter(name = "Waiting", id = 7)]
        waiting: Gauge,
        #[counter(name = "Paid", id = 8)]
        paid: Gauge,
    };
}

const GUID: Guid = v1::Orders::GUID;

const LACKS: &str = "unavailable: the program that publishes this instance has no such counter";

fn first(publisher: &Publisher, name: &str) -> PublishedInstance<v1::Orders> {
    let instance = publisher.instance::<v1::Orders>(name);
    instance.orders.add(11);
    instance.latency.record(Duration::from_nanos(13));
    instance
}

fn second(publisher: &Publisher, name: &str) -> PublishedInstance<v2::Orders> {
    let instance = publisher.instance::<v2::Orders>(name);
    instance.orders.add(17);
    instance.latency.record(Duration::from_nanos(19));
    instance.waiting.set(23);
    instance.refused.record(true);
    instance
}

const OF_FIRST: [(u32, Option<u64>); 6] =
    [(1, Some(11)), (2, Some(13)), (3, Some(1)), (4, None), (5, None), (6, None)];
const OF_SECOND: [(u32, Option<u64>); 6] =
    [(1, Some(17)), (2, Some(19)), (3, Some(1)), (4, Some(23)), (5, Some(1)), (6, Some(1))];

fn rows(name: &str, of: &[(u32, Option<u64>)]) -> Vec<(String, u32, Option<u64>)> {
    of.iter().map(|(id, value)| (name.to_owned(), *id, *value)).collect()
}

/// Collects, and returns instance, counter and reason of each missing value.
fn missing(query: &mut Query) -> Vec<(String, u32, String)> {
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let reason = |value: Value<'_>| {
        let reason = value.value.err().filter(|_| value.raw.is_none())?;
        Some((value.instance.to_string(), value.counter.id.0, reason.to_string()))
    };
    snapshot.values(None).filter_map(reason).collect()
}

fn beside(place: &Place, registered: &Arc<Set>) -> (Machine, ApplicationProvider) {
    let reader = || {
        let mut known = Some(vec![Arc::clone(registered)]);
        ApplicationProvider::new(&Folders::only(place.path()), false, Box::new(move || known.take()))
    };
    let machine = Machine::bare(Box::new(FixedClock::default()));
    machine.register(Box::new(reader()));
    (machine, reader())
}

fn exported(set: &Set) -> Arc<Set> {
    let manifest = Manifest::export(std::slice::from_ref(set)).unwrap();
    let text = manifest.write();
    let (read, problems) = Manifest::check(text.as_bytes());
    assert_eq!(problems.list().len(), 0, "{problems:?}");
    Arc::new(read.unwrap().countersets().remove(0))
}

#[test]
fn side_by_side_in_both_orders() {
    let check = |machine: &Machine, case: &str, by_first: bool| {
        let mut query = query(machine, GUID);
        let (one, two) = (rows("one", &OF_FIRST), rows("two", &OF_SECOND));
        let expected = if by_first { [one, two].concat() } else { [two, one].concat() };
        assert_eq!(raw(&mut query), expected, "{case}");
        let lacking = [4, 5, 6].map(|id| ("one".to_owned(), id, LACKS.to_owned()));
        assert_eq!(missing(&mut query), lacking, "{case}");
        let set = machine.counterset(&GUID).unwrap();
        assert_eq!(set.counters.len(), 6, "{case}");
        assert_eq!(set.counter(CounterId(4)).unwrap().name.as_deref(), Some("Waiting"), "{case}");
    };
    for by_first in [true, false] {
        let place = Place::new("versions");
        let [older, newer] = [place.publisher(), place.publisher()];
        let (one, two) = if by_first { (&older, &newer) } else { (&newer, &older) };
        let held = (first(one, "one"), second(two, "two"));
        check(&place.machine(), "without a registration", by_first);
        for registered in [v1::Orders::definition(), v2::Orders::definition()] {
            let registered = exported(registered.counterset());
            let (machine, mut reader) = beside(&place, &registered);
            check(&machine, "registered", by_first);
            reader.catalogue().unwrap();
            assert!(reader.problems().is_empty(), "{:?}", reader.problems());
            for publisher in [one, two] {
                assert!(publisher.left_out_beside(|| vec![Arc::clone(&registered)]).is_empty());
            }
        }
        assert!(one.left_out_beside(Vec::new).is_empty() && two.left_out_beside(Vec::new).is_empty());
        drop(held);
    }
}

/// Checks several versions of a counterset whose files are copied, as those of other users are.
#[test]
fn copied_side_by_side() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("versions-copied");
    let [older, newer] = [place.publisher(), place.publisher()];
    let _held = (first(&older, "one"), second(&newer, "two"));
    for publisher in [&older, &newer] {
        std::fs::set_permissions(publisher.path().unwrap(), PermissionsExt::from_mode(0o660)).unwrap();
    }
    let user = rustix::process::geteuid().as_raw();
    let mut query = query(&place.machine(), GUID);
    let expected = [rows(&format!("{user}/one"), &OF_FIRST), rows(&format!("{user}/two"), &OF_SECOND)];
    assert_eq!(raw(&mut query), expected.concat());
    assert_eq!(missing(&mut query), [4, 5, 6].map(|id| (format!("{user}/one"), id, LACKS.to_owned())));
}

/// Checks rules R-20 and 5.3 for missing counters: an empty value in a table or a list, and an error alone.
#[test]
fn blocks_of_counters_that_a_program_lacks() {
    let place = Place::new("versions-blocks");
    let publishers = [place.publisher(), place.publisher()];
    let _held = (first(&publishers[0], "one"), second(&publishers[1], "two"));
    let machine = place.machine();
    let mut query = machine.query();
    let waiting = Entry::one(GUID, CounterId(4));
    for entry in [
        waiting.clone().instance("one"),
        waiting.clone().instance("two"),
        waiting.instance("*"),
        Entry::all(GUID).instance("one"),
        Entry::all(GUID).instance("*"),
    ] {
        assert!(query.add(&entry).is_success());
    }
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    let results: Vec<_> = Block::parse(snapshot.block()).unwrap().results().map(Result::unwrap).collect();
    assert_eq!(results[0].status, Status::ERROR_NO_DATA);
    assert!(matches!(results[0].body, Body::Error));
    let number = |value: perfset_core::v2::BlockValue<'_>| value.number().map(perfset_core::RawValue::get);
    assert!(matches!(results[1].body, Body::SingleCounter(value) if number(value) == Some(23)));
    let Body::MultipleInstances(table) = &results[2].body else { panic!("{:?}", results[2].body) };
    let cells: Vec<_> = table
        .rows()
        .map(Result::unwrap)
        .map(|row| (row.name().to_string(), row.values().get(0).unwrap()))
        .collect();
    use perfset_core::v2::BlockValue::{Empty, U64};
    assert_eq!(cells, [("one".into(), Empty), ("two".into(), U64(23))]);
    let Body::MultipleCounters(ids, values) = &results[3].body else { panic!("{:?}", results[3].body) };
    assert_eq!(ids.iter().map(|id| id.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let all: Vec<_> = (0..6).map(|at| values.get(at).and_then(number)).collect();
    assert_eq!(all, [Some(11), Some(13), Some(1), None, None, None]);
    let Body::Counterset(_, table) = &results[4].body else { panic!("{:?}", results[4].body) };
    assert_eq!(table.rows().count(), 2);
}

/// Checks that a control callback is called only for counters of its own program, and cannot refuse counters of
/// others.
#[test]
fn no_program_is_asked_about_counters_that_it_lacks() {
    use std::sync::Mutex;

    use perfset_core::v2::identity::Identities;

    use crate::callback::{CallbackReply, RequestCode, RequestMessage};

    let place = Place::new("versions-asked");
    let publishers = [place.publisher(), place.publisher()];
    let _held = (first(&publishers[0], "one"), second(&publishers[1], "two"));
    let asked: Arc<Mutex<Vec<(usize, String)>>> = Arc::default();
    let answer = |who: usize| {
        let asked = Arc::clone(&asked);
        move |request: RequestMessage<'_>| -> CallbackReply {
            if request.what() == RequestCode::AddCounter {
                for identity in Identities::new(request.body()) {
                    asked.lock().unwrap().push((who, format!("{:?}", identity.unwrap().counter())));
                }
            }
            Status::ERROR_SUCCESS.into()
        }
    };
    let _servers = [0, 1].map(|who| publishers[who].answer(answer(who)).unwrap().unwrap());
    let mut query = place.machine().query();
    for entry in [
        Entry::one(GUID, CounterId(1)),
        Entry::one(GUID, CounterId(4)),
        Entry::several(GUID, [CounterId(2), CounterId(5)]),
        Entry::all(GUID),
    ] {
        assert!(query.add(&entry.instance("*")).is_success());
    }
    let one = |id: u32| format!("{:?}", perfset_core::CounterFilter::One(CounterId(id)));
    let all = format!("{:?}", perfset_core::CounterFilter::All);
    let expected = [
        (0, one(1)),
        (1, one(1)),
        (1, one(4)),
        (0, one(2)),
        (1, one(2)),
        (1, one(5)),
        (0, all.clone()),
        (1, all),
    ];
    // The programs are asked at the same time: each one hears it in this order.
    let mut asked = asked.lock().unwrap().clone();
    asked.sort_by_key(|(program, _)| *program);
    let mut expected = expected.to_vec();
    expected.sort_by_key(|(program, _)| *program);
    assert_eq!(asked, expected);
}

/// Checks that versions of a program can replace each other while a reader collects continuously. No value belongs to
/// another counter, and an interval is lost only for new counters.
#[test]
fn a_rolling_restart() {
    let place = Place::new("versions-rolling");
    let machine = place.machine();
    let mut old: Vec<(Publisher, PublishedInstance<v1::Orders>)> = Vec::new();
    let mut new: Vec<(Publisher, PublishedInstance<v2::Orders>)> = Vec::new();
    for n in 0..3 {
        let publisher = place.publisher();
        let instance = first(&publisher, &format!("worker {n}"));
        old.push((publisher, instance));
    }
    let mut query = machine.query();
    assert!(query.add(&Entry::one(GUID, CounterId(1)).instance("*")).is_success());
    assert!(query.add(&Entry::one(GUID, CounterId(2)).instance("*")).is_success());
    assert!(query.add(&Entry::one(GUID, CounterId(3)).instance("*")).is_success());
    let (mut before, mut now) = (Snapshot::default(), Snapshot::default());
    query.collect(&mut before).unwrap();
    for n in 0..3 {
        for step in 0..4 {
            match step {
                0 => {
                    let publisher = place.publisher();
                    let instance = second(&publisher, &format!("new worker {n}"));
                    new.push((publisher, instance));
                }
                2 => drop(old.remove(0)),
                _ => {}
            }
            for (_, instance) in &old {
                instance.orders.add(100);
            }
            for (_, instance) in &new {
                instance.orders.add(1000);
                instance.latency.record(Duration::from_nanos(500));
            }
            query.collect(&mut now).unwrap();
            let rates: Vec<(String, u32, Option<f64>)> = now
                .values(Some(&before))
                .map(|v| (v.instance.to_string(), v.counter.id.0, v.value.ok().map(|value| value.raw)))
                .collect();
            // The first of the new version brings counters: a counterset that is another one costs an interval.
            let is_new = |name: &str| step == 0 && (n == 0 || *name == format!("new worker {n}"));
            let rate = |name: &str, rate: f64| (name.to_owned(), 1, Some(rate).filter(|_| !is_new(name)));
            let olds = (0..3).skip(3 - old.len()).map(|n| rate(&format!("worker {n}"), 100.0));
            let news = (0..new.len()).map(|n| rate(&format!("new worker {n}"), 1000.0));
            let expected: Vec<_> = olds.chain(news).collect();
            let found: Vec<_> = rates.iter().filter(|(_, id, _)| *id == 1).cloned().collect();
            assert_eq!(found, expected, "worker {n}, step {step}");
            let latencies = rates.iter().filter(|(name, id, _)| *id == 2 && name.starts_with("new"));
            for (name, _, latency) in latencies.filter(|(name, ..)| !is_new(name)) {
                assert!(
                    latency.is_some_and(|seconds| (seconds - 500e-9).abs() < 1e-12),
                    "{name}: {latency:?}"
                );
            }
            std::mem::swap(&mut before, &mut now);
        }
    }
    assert_eq!(machine.counterset(&GUID).unwrap().counters.len(), 6);
}

#[test]
fn only_what_contradicts_is_left_out() {
    let place = Place::new("versions-contradict");
    let publishers = [place.publisher(), place.publisher()];
    let one = second(&publishers[0], "two");
    let other = publishers[1].instance::<v3::Orders>("three");
    other.orders.set(29);
    other.latency.record(Duration::from_nanos(31));
    other.refused.set(37);
    other.waiting.set(41);
    other.paid.set(43);
    let machine = place.machine();
    let mut query = query(&machine, GUID);
    let mut expected = rows("two", &OF_SECOND);
    expected.push(("two".into(), 8, None));
    let of_third = [(1, None), (2, Some(31)), (3, Some(1)), (4, None), (5, None), (6, None), (8, Some(43))];
    expected.extend(rows("three", &of_third));
    assert_eq!(raw(&mut query), expected);
    let program = format!("{}[{}]", crate::process::ProcessIdentity::own().program, std::process::id());
    let of_type = format!(
        "the program has it as PERF_COUNTER_LARGE_RAWCOUNT, and {program} as PERF_COUNTER_BULK_COUNT"
    );
    let moved = format!("{program} calls it \"Waiting\", which is counter 7 of the program");
    let lacks = |name: &str, id| (name.to_owned(), id, LACKS.to_owned());
    let why = |id, why: &str| ("three".to_owned(), id, why.to_owned());
    let expected = [lacks("two", 8), why(1, &of_type), why(4, &moved), lacks("three", 5), lacks("three", 6)];
    assert_eq!(missing(&mut query), expected);
    let said = machine.left_out();
    assert_eq!((said.len(), said[0].0), (1, GUID));
    let text = said[0].1.to_string();
    let name = publishers[1].path().unwrap().display().to_string();
    for part in
        [&name, "\"Shop Orders\"", "counter 1 \"Orders\" is left out: ", &of_type, "counter 4", "counter 7"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(machine.problems().iter().any(|problem| problem.to_string() == text));
    assert!(publishers[0].left_out_beside(Vec::new).is_empty());
    let of_other = publishers[1].left_out_beside(Vec::new);
    let ids: Vec<_> = of_other.iter().map(|part| part.counter.clone().unwrap().0.0).collect();
    assert_eq!(ids, [1, 4, 7]);
    // The program itself is told of each, and the texts say how many there are.
    let status = publishers[1].status();
    let parts = of_other.into_iter().map(PublishError::LeftOut).collect::<Vec<_>>();
    assert_eq!(status.problems, parts);
    assert!(status.to_string().contains(&of_type), "{status}");
    let problem = publishers[1].problem().unwrap().to_string();
    assert!(problem.contains(&of_type) && problem.contains("; and 2 more ("), "{problem}");
    assert_eq!(publishers[0].status().problems, []);
    drop(one);
    drop(publishers);
}

/// Checks that the first name of a counter is shown, and its value is kept, if programs name it differently.
#[test]
fn another_name_is_said() {
    mod other {
        use crate::tests::*;

        #[derive(Counterset, Debug)]
        #[counterset(crate = crate, provider = "Shop", name = "Shop Orders", instances = "multiple")]
        pub struct Orders {
            #[counter(name = "Orders Taken/sec", id = 1)]
            pub orders: Counter64,
        }
    }
    let place = Place::new("versions-renamed");
    let publishers = [place.publisher(), place.publisher()];
    let _one = first(&publishers[0], "one");
    let renamed = publishers[1].instance::<other::Orders>("renamed");
    renamed.orders.add(5);
    let machine = place.machine();
    let values = raw(&mut query(&machine, GUID));
    assert_eq!(values[3], ("renamed".into(), 1, Some(5)));
    let said = machine.left_out();
    assert!(said[0].1.contains("counter 1 \"Orders Taken/sec\" is shown as \"Orders/sec\""), "{said:?}");
    assert!(publishers[1].left_out_beside(Vec::new).is_empty(), "nothing is");
}

/// Checks that a counterset with one instance shows the instance of the oldest program, and the instance of the other
/// program is reported.
#[test]
fn versions_of_a_single_instance() {
    mod one {
        use crate::tests::*;

        #[derive(Counterset, Debug)]
        #[counterset(crate = crate, provider = "Shop", name = "Shop")]
        pub struct Shop {
            #[counter(name = "Level", id = 1)]
            pub level: Gauge,
        }
    }
    mod two {
        use crate::tests::*;

        #[derive(Counterset, Debug)]
        #[counterset(crate = crate, provider = "Shop", name = "Shop")]
        pub struct Shop {
            #[counter(name = "Level", id = 1)]
            pub level: Gauge,
            #[counter(name = "Depth", id = 2)]
            pub depth: Gauge,
        }
    }
    let place = Place::new("versions-single");
    let publishers = [place.publisher(), place.publisher()];
    let older = publishers[0].instance::<one::Shop>("");
    older.level.set(3);
    let newer = publishers[1].instance::<two::Shop>("");
    newer.level.set(5);
    newer.depth.set(7);
    let machine = place.machine();
    let mut query = query(&machine, one::Shop::GUID);
    assert_eq!(raw(&mut query), [(String::new(), 1, Some(3)), (String::new(), 2, None)]);
    let left_out = publishers[1].left_out_beside(Vec::new);
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].to_string().contains("which began earlier, is shown"), "{}", left_out[0]);
    assert!(publishers[0].left_out_beside(Vec::new).is_empty());
    drop(older);
    assert_eq!(raw(&mut query), [(String::new(), 1, Some(5)), (String::new(), 2, Some(7))]);
    assert!(publishers[1].left_out_beside(Vec::new).is_empty());
    assert!(machine.left_out().is_empty());
}

/// Checks two parts of one program that were built with different versions of a library.
#[test]
fn versions_in_one_program() {
    let place = Place::new("versions-within");
    let publisher = place.publisher();
    let held = (first(&publisher, "one"), second(&publisher, "two"));
    assert!(publisher.path().is_some());
    let machine = place.machine();
    let mut query = query(&machine, GUID);
    assert_eq!(raw(&mut query), [rows("one", &OF_FIRST), rows("two", &OF_SECOND)].concat());
    assert!(publisher.left_out_beside(Vec::new).is_empty());
    let again = first(&publisher, "one");
    assert_eq!(again.orders.get(), 22, "it is the same one");
    drop((held, again));
    assert!(raw(&mut query).iter().all(|(.., value)| value.is_none()));
    let third = publisher.instance::<v3::Orders>("three");
    assert_eq!(publisher.left_out_beside(Vec::new).len(), 3);
    assert!(matches!(publisher.problem(), Some(PublishError::SeveralLeftOut { more: 2, .. })));
    drop(third);
}

/// Checks that a total adds the values of the programs that have the counter, and counts the left-out programs as
/// missing.
#[test]
fn totals_over_versions() {
    mod small {
        use crate::tests::*;

        #[derive(Counterset, Debug)]
        #[counterset(crate = crate, provider = "Shop", name = "Shop Totals", instances = "multipleAggregate")]
        pub struct Totals {
            #[counter(name = "Level", id = 1)]
            pub level: Gauge,
        }
    }
    mod large {
        use crate::tests::*;

        #[derive(Counterset, Debug)]
        #[counterset(crate = crate, provider = "Shop", name = "Shop Totals", instances = "multipleAggregate")]
        pub struct Totals {
            #[counter(name = "Level", id = 1)]
            pub level: Gauge,
            #[counter(name = "Depth", id = 2)]
            pub depth: Gauge,
        }
    }
    mod strange {
        use crate::tests::*;

        #[derive(Counterset, Debug)]
        #[counterset(crate = crate, provider = "Shop", name = "Shop Totals", instances = "multipleAggregate")]
        pub struct Totals {
            #[expect(dead_code, reason = "only its type counts")]
            #[counter(name = "Level", id = 1)]
            level: Counter64,
        }
    }
    let place = Place::new("versions-totals");
    let publishers = [place.publisher(), place.publisher(), place.publisher()];
    let one = publishers[0].instance::<small::Totals>("one");
    one.level.set(3);
    let two = publishers[1].instance::<large::Totals>("two");
    two.level.set(5);
    two.depth.set(7);
    let machine = place.machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::all(small::Totals::GUID).instance("_Total")).is_success());
    let mut totals = || -> Vec<(u32, Option<u64>, Option<Mark>)> {
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot).unwrap();
        let raw = |value: &Value<'_>| value.raw.map(perfset_core::RawValue::get);
        snapshot.values(None).map(|value| (value.counter.id.0, raw(&value), value.mark)).collect()
    };
    assert_eq!(totals(), [(1, Some(8), None), (2, Some(7), None)]);
    let _strange = publishers[2].instance::<strange::Totals>("three");
    let partial = Some(Mark::Partial(std::num::NonZeroU32::MIN));
    assert_eq!(totals(), [(1, Some(8), partial), (2, Some(7), None)]);
}

/// Checks that a program keeps its values under its own exported manifest, for a field of each kind.
#[test]
fn every_kind_of_field_under_its_own_manifest() {
    fn check<F: CounterField + Send + Sync + 'static>(kind: &str) {
        let guid = Guid::from_u128(0x0203_0507_1113_1719_2329_3137_4143_4759);
        let info = CounterInfo { name: Some("Figure"), help: "What it is.", ..CounterInfo::new(5) };
        let provider = (Guid::from_u128(7), "Test");
        let definition =
            Definition::new(guid, "Test Only", "", provider, perfset_core::InstanceType::Multiple, 0);
        let set = Arc::clone(definition.field::<F>(info).counterset());
        let place = Place::new("kinds-registered");
        let publisher = place.publisher();
        let block = publisher.create(&set, &[u16::from(b'a')], None, 3).unwrap();
        let now = perfset_core::clock::UNIX_EPOCH_100NS;
        for (value, number) in block.values().iter().zip([now, 3]) {
            value.store(u64::try_from(number).unwrap(), std::sync::atomic::Ordering::Relaxed);
        }
        let values = |machine: &Machine| -> Vec<_> {
            let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
            let mut query = query(machine, guid);
            query.collect(&mut old).unwrap();
            query.collect(&mut new).unwrap();
            let shown = |value: Value<'_>| {
                let number = value.value.map(|value| value.raw).map_err(|reason| reason.to_string());
                (value.instance.to_string(), value.counter.id, value.raw, value.base, number)
            };
            new.values(Some(&old)).map(shown).collect()
        };
        let before = values(&place.machine());
        assert_eq!(before.len(), block.values().len(), "{kind}");
        let registered = exported(&set);
        let (machine, mut reader) = beside(&place, &registered);
        assert_eq!(values(&machine), before, "{kind}");
        assert_eq!(machine.instances(&guid).unwrap().len(), 1, "{kind}");
        reader.catalogue().unwrap();
        assert!(reader.problems().is_empty(), "{kind}: {:?}", reader.problems());
        assert!(publisher.left_out_beside(|| vec![registered]).is_empty(), "{kind}");
    }

    check::<Counter64>("Counter64");
    check::<Counter32>("Counter32");
    check::<Gauge>("Gauge");
    check::<Gauge32>("Gauge32");
    check::<AverageTimer>("AverageTimer");
    check::<Average>("Average");
    check::<Ratio>("Ratio");
    check::<Fraction>("Fraction");
    check::<BusyTimer>("BusyTimer");
    check::<ElapsedTime>("ElapsedTime");
}
