//! The registry, queries and collection, rule by rule, over a scripted provider.

use std::sync::Arc;
use std::time::Duration;

use perfset_core::catalogue::perfset_engine as own;
use perfset_core::v2::{Block, Body, CounterDataType, read};
use perfset_core::visit::Mode;
use perfset_core::*;
use proptest::prelude::*;

use crate::perflib;
use crate::source::local_machine;
use crate::testing::{FixedClock, ScriptRow, Scripted};
use crate::values::Value;
use crate::*;

const MULTI: Guid = Guid::from_u128(0x0000_0002);
const SINGLE: Guid = Guid::from_u128(0x0000_0001);
const OTHER: Guid = Guid::from_u128(0x0000_0003);
const UNKNOWN: Guid = Guid::from_u128(0x0000_0004);

pub fn counter(id: u32, name: &'static str, counter_type: CounterType, base: Option<u32>) -> Counter {
    Counter {
        name: (!name.is_empty()).then_some(name.into()),
        base: base.map(CounterId),
        wraps: counter_type.value_len() == 4,
        caps: false,
        ..Counter::new(CounterId(id), counter_type)
    }
}

/// Counters 7 (8 bytes), 3 (4 bytes), 5 with its base 9, in this order.
pub fn set(guid: Guid, instance_type: InstanceType) -> Counterset {
    Counterset {
        guid,
        name: "Set".into(),
        help: Text::default(),
        provider: ProviderIdentity { guid: Guid::from_u128(11), name: "Scripted".into() },
        instance_type,
        counters: vec![
            counter(7, "Total", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None),
            counter(3, "Events/sec", CounterType::PERF_COUNTER_COUNTER, None),
            counter(5, "Mean", CounterType::PERF_AVERAGE_BULK, Some(9)),
            counter(9, "", CounterType::PERF_AVERAGE_BASE, None),
        ]
        .into(),
        translations: Vec::new().into(),
        v1_index: None,
        default_counter: None,
        view_of: None,
        scope: "".into(),
    }
}

fn machine_with(sets: Vec<Counterset>) -> (Machine, Scripted) {
    let machine = Machine::new(Box::new(FixedClock::default()));
    let provider = Scripted::new(sets);
    machine.register(Box::new(provider.clone()));
    (machine, provider)
}

/// A multi-instance set with rows a/1 and b/2, and a single-instance one; all counters asked.
fn machine() -> (Machine, Scripted) {
    let (machine, provider) =
        machine_with(vec![set(MULTI, InstanceType::Multiple), set(SINGLE, InstanceType::Single)]);
    provider.with(|s| {
        s.rows = vec![
            ("a", 1, vec![Ok(100), Ok(10), Ok(20), Ok(4)]),
            ("b", 2, vec![Ok(200), Ok(30), Ok(50), Ok(5)]),
        ];
    });
    (machine, provider)
}

pub fn collected(query: &mut Query) -> Snapshot {
    let mut snapshot = Snapshot::default();
    query.collect(&mut snapshot).unwrap();
    read(snapshot.block(), Mode::Strict).unwrap();
    snapshot
}

/// The kinds and rows of a block in one line each.
pub fn shapes(snapshot: &Snapshot) -> Vec<String> {
    let block = Block::parse(snapshot.block()).unwrap();
    let values = |values: v2::Values<'_>| values.iter().map(|v| format!(" {v:?}")).collect::<String>();
    block
        .results()
        .map(|result| {
            let result = result.unwrap();
            let rows = |table: v2::InstanceTable<'_>| {
                let row = |row: v2::Instance<'_>| {
                    format!(" {}/{}:{}", row.name(), row.id().0, values(row.values()))
                };
                table.rows().map(|r| row(r.unwrap())).collect::<String>()
            };
            let ids = |ids: v2::Ids<'_>| ids.iter().map(|id| id.0.to_string()).collect::<Vec<_>>().join(",");
            match result.body {
                Body::Error => format!("error {}", result.status.0),
                Body::SingleCounter(value) => format!("single {value:?}"),
                Body::MultipleCounters(i, v) => format!("counters {}:{}", ids(i), values(v)),
                Body::MultipleInstances(table) => format!("instances{}", rows(table)),
                Body::Counterset(i, table) => format!("counterset {}{}", ids(i), rows(table)),
            }
        })
        .collect()
}

fn line(v: &Value<'_>) -> String {
    let value = match &v.value {
        Ok(value) => value.raw.to_string(),
        Err(reason) => reason.keyword().to_string(),
    };
    let mark = v.mark.map(|mark| format!(" {mark:?}")).unwrap_or_default();
    format!("{} {}={value}{mark}", v.instance, v.counter.id.0)
}

pub fn lines(new: &Snapshot, old: Option<&Snapshot>) -> Vec<String> {
    new.values(old).map(|v| line(&v)).collect()
}

#[test]
fn enumeration_is_ascending() {
    let (machine, _) = machine();
    let mut want = vec![SINGLE, MULTI, own::GUID];
    want.sort();
    assert_eq!(machine.countersets(), want);
    assert_eq!(machine.origin(&MULTI).unwrap(), "Script");
    assert_eq!(machine.origin(&own::GUID).unwrap(), "perfset");
    assert!(machine.countersets().windows(2).all(|pair| pair[0].to_wire() < pair[1].to_wire()), "R-12");
}

#[test]
fn a_guid_belongs_to_who_came_first() {
    let (machine, _) = machine();
    let mut intruder = set(MULTI, InstanceType::Single);
    intruder.provider.name = "Intruder".into();
    machine.register(Box::new(Scripted::new(vec![intruder])));
    assert_eq!(machine.counterset(&MULTI).unwrap().instance_type, InstanceType::Multiple);
    let problems: Vec<_> = machine.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems, [format!("counterset {MULTI} of \"Intruder\" belongs to \"Scripted\"")]);
}

#[test]
fn registration_requests() {
    let mut translated = set(MULTI, InstanceType::Multiple);
    translated.help = "Help of the set".into();
    translated.counters.to_mut()[1].help = "Help of 3".into();
    let french = |language, name: &'static str| Translation {
        language: Language(language),
        name: name.into(),
        help: Text::default(),
        counters: vec![(CounterId(3), "Événements/s".into(), Text::default())].into(),
    };
    translated.translations = vec![french(0x0C0C, "Jeu (Canada)"), french(0x040C, "Jeu")].into();
    let (machine, _) = machine_with(vec![translated, set(SINGLE, InstanceType::Single)]);
    let ask = |guid: &Guid, code, language| perflib::registration_info(&machine, guid, code, language);
    let text = |code, language| {
        let bytes: Vec<u8> = ask(&MULTI, code, language)?;
        Ok::<_, Status>(Name::until_nul(&bytes).to_string())
    };
    let texts = |code, language| {
        let bytes: Vec<u8> = ask(&MULTI, code, language)?;
        let block = v2::strings::StringBlock::parse(&bytes).unwrap();
        let one = |(id, name): (CounterId, Result<Option<Name<'_>>, _>)| {
            (id.0, name.unwrap().map(|name| name.to_string()).unwrap_or_default())
        };
        Ok::<_, Status>(block.iter().map(one).collect::<Vec<_>>())
    };
    let owned = |names: [(u32, &str); 4]| Ok(names.map(|(id, name)| (id, name.to_string())).to_vec());
    let english = owned([(7, "Total"), (3, "Events/sec"), (5, "Mean"), (9, "")]);
    let french = owned([(7, "Total"), (3, "Événements/s"), (5, "Mean"), (9, "")]);

    let info = ask(&MULTI, 1, 99).unwrap();
    let info = v2::registration::RegistrationInfo::parse(&info).unwrap();
    let ids: Vec<_> = info.counters().map(|c| c.unwrap().id().0).collect();
    assert_eq!((info.guid(), info.instance_type(), ids), (MULTI, InstanceType::Multiple, vec![7, 3, 5, 9]));
    let one = ask(&MULTI, 2, 5).unwrap();
    let one = v2::registration::CounterInfo::parse(&one).unwrap();
    assert_eq!((one.id(), one.base()), (CounterId(5), Some(CounterId(9))));
    assert_eq!(ask(&MULTI, 8, 0).unwrap(), Guid::from_u128(11).to_wire());
    for (what, got, want) in [
        ("language 0 is the machine's: English", text(3, 0), Ok("Set")),
        ("English is always there", text(3, 0x0409), Ok("Set")),
        ("other English", text(3, 0x0809), Ok("Set")),
        ("exact", text(3, 0x040C), Ok("Jeu")),
        ("same primary language: the first", text(3, 0x080C), Ok("Jeu (Canada)")),
        ("not installed", text(3, 0x0407), Err(Status::ERROR_RESOURCE_LANG_NOT_FOUND)),
        ("help", text(4, 0x0409), Ok("Help of the set")),
        ("help that is not translated", text(4, 0x040C), Ok("Help of the set")),
        ("provider", text(7, 99), Ok("Scripted")),
        ("English name whatever the language", text(9, 0x040C), Ok("Set")),
    ] {
        assert_eq!(got, want.map(String::from), "{what}");
    }
    assert_eq!(texts(5, 0x0409), english);
    assert_eq!(texts(5, 0x040C), french);
    assert_eq!(texts(10, 0x040C), english);
    assert_eq!(texts(6, 0), owned([(7, ""), (3, "Help of 3"), (5, ""), (9, "")]));
    machine.set_language(Language(0x040C));
    assert_eq!((text(3, 0), texts(10, 0)), (Ok("Jeu".into()), english));

    for (what, guid, code, language, want) in [
        ("no such code", MULTI, 0, 0, Status::ERROR_INVALID_PARAMETER),
        ("no such code", MULTI, 11, 0, Status::ERROR_INVALID_PARAMETER),
        ("code before GUID", UNKNOWN, 11, 0, Status::ERROR_INVALID_PARAMETER),
        ("no such set", UNKNOWN, 1, 0, Status::ERROR_WMI_GUID_NOT_FOUND),
        ("no such counter", MULTI, 2, 4, Status::ERROR_WMI_ITEMID_NOT_FOUND),
        ("no help at all", SINGLE, 4, 0, Status::ERROR_NOT_FOUND),
        ("no help of any counter", SINGLE, 6, 0x0409, Status::ERROR_NOT_FOUND),
    ] {
        assert_eq!(ask(&guid, code, language), Err(want), "{what}");
    }
}

#[test]
fn instance_enumeration() {
    let (machine, provider) = machine();
    let bytes = |guid: &Guid| {
        let block = perflib::enumerate_instances(&machine, guid)?;
        let list = v2::instances::Instances::new(&block);
        Ok(list.map(|i| i.map(|i| (i.name().to_string(), i.id().0)).unwrap()).collect::<Vec<_>>())
    };
    assert_eq!(bytes(&MULTI), Ok(vec![("a".into(), 1), ("b".into(), 2)]));
    assert_eq!(bytes(&UNKNOWN), Err(Status::ERROR_WMI_GUID_NOT_FOUND));
    assert_eq!(
        bytes(&SINGLE),
        Err(Status::ERROR_WMI_INVALID_REGINFO),
        "two instances of a single-instance set"
    );
    provider.with(|s| s.rows.truncate(1));
    assert_eq!(bytes(&SINGLE), Ok(vec![("a".into(), 1)]));
    provider.with(|s| s.rows.clear());
    assert_eq!(bytes(&MULTI), Err(Status::ERROR_WMI_INSTANCE_NOT_FOUND));
}

#[test]
fn statuses_of_additions() {
    let (machine, provider) = machine();
    let long = |n: usize| "x".repeat(n);
    let one = |guid, id| Entry::one(guid, CounterId(id));
    let several = |ids: &[u32]| Entry::several(MULTI, ids.iter().copied().map(CounterId));
    let ok = Status::ERROR_SUCCESS;
    let invalid = Status::ERROR_INVALID_PARAMETER;
    let mut query = machine.query();
    for (what, entry, want) in [
        ("no such set, before its missing name", one(UNKNOWN, 0), Status::ERROR_WMI_GUID_NOT_FOUND),
        ("no such counter, before its missing name", one(MULTI, 4), Status::ERROR_WMI_ITEMID_NOT_FOUND),
        ("several instances, no name", one(MULTI, 3), invalid),
        ("several instances, empty name", one(MULTI, 3).instance(""), invalid),
        ("name too long", one(MULTI, 3).instance(&long(1024)), invalid),
        ("longest name", one(MULTI, 3).instance(&long(1023)), ok),
        ("absent instance (R-26)", one(MULTI, 3).instance("absent"), ok),
        ("an instance", one(MULTI, 3).instance("a"), ok),
        ("the same again", one(MULTI, 3).instance("a"), Status::ERROR_ALREADY_EXISTS),
        ("the same in capitals", one(MULTI, 3).instance("A"), Status::ERROR_ALREADY_EXISTS),
        ("another id", one(MULTI, 3).instance("a").instance_id(InstanceIdFilter::One(InstanceId(1))), ok),
        ("another counter", one(MULTI, 7).instance("a"), ok),
        ("all counters", Entry::all(MULTI).instance("a"), ok),
        ("several counters", several(&[3, 7]).instance("a"), ok),
        ("the same in another order", several(&[7, 3, 7]).instance("A"), Status::ERROR_ALREADY_EXISTS),
        ("several of one", several(&[7, 7]).instance("a"), Status::ERROR_ALREADY_EXISTS),
        (
            "several, of which one is not there",
            several(&[3, 4]).instance("a"),
            Status::ERROR_WMI_ITEMID_NOT_FOUND,
        ),
        ("no counter", several(&[]).instance("a"), invalid),
        ("a pattern", one(MULTI, 3).instance("*"), ok),
        ("one instance, with a name", one(SINGLE, 3).instance("a"), invalid),
        ("one instance", one(SINGLE, 3), ok),
        (
            "one instance, empty name is the same name",
            one(SINGLE, 3).instance(""),
            Status::ERROR_ALREADY_EXISTS,
        ),
        ("one instance, * is the same name", one(SINGLE, 3).instance("*"), Status::ERROR_ALREADY_EXISTS),
        ("one instance, all counters, *", Entry::all(SINGLE).instance("*"), ok),
    ] {
        assert_eq!(query.add(&entry), want, "{what}");
    }
    assert_eq!(query.entries().len(), 10);
    provider.with(|s| s.answer = Some(Status(77)));
    assert_eq!(query.add(&one(MULTI, 9).instance("a")), Status(77), "the provider refuses");
    assert_eq!(query.entries().len(), 10);
    provider.with(|s| s.log.clear());
    drop(query);
    let removed = provider.with(|s| s.log.clone());
    assert_eq!(removed.len(), 10, "{removed:?}");
    assert!(removed.iter().all(|line| line.starts_with("Removed")), "{removed:?}");
}

#[test]
fn deletion_closes_the_gap() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    let entry = |id| Entry::one(MULTI, CounterId(id)).instance("a");
    for id in [7, 3, 5] {
        assert!(query.add(&entry(id)).is_success());
    }
    assert_eq!(query.delete(&entry(9)), Status::ERROR_INVALID_PARAMETER, "not in the query");
    assert_eq!(query.delete(&Entry::one(MULTI, CounterId(3)).instance("A")), Status::ERROR_SUCCESS);
    assert_eq!(query.delete(&entry(3)), Status::ERROR_INVALID_PARAMETER, "gone");
    let left: Vec<_> = query.entries().map(|e| e.counters.clone()).collect();
    assert_eq!(left, [7, 5].map(|id| Counters::these([CounterId(id)])));
    assert_eq!(shapes(&collected(&mut query)), ["single U64(100)", "single U64(10)"]);
    // R-27: also when the set is not registered any more.
    provider.with(|s| s.catalogue = Arc::default());
    assert_eq!(query.delete(&entry(5)), Status::ERROR_SUCCESS);
    assert_eq!(shapes(&collected(&mut query)), ["error 4200"]);
    assert_eq!(query.delete(&entry(7)), Status::ERROR_SUCCESS);
    assert_eq!(collected(&mut query).block().len(), 48, "emptied: a bare header (R-29)");
}

#[test]
fn kinds_follow_the_entry() {
    let (machine, _) = machine();
    let mut query = machine.query();
    let one = |guid, id| Entry::one(guid, CounterId(id));
    let several = |guid, ids: &[u32]| Entry::several(guid, ids.iter().copied().map(CounterId));
    let id = |id| InstanceIdFilter::One(InstanceId(id));
    let cases = [
        (one(MULTI, 7).instance("A"), "single U64(100)"),
        (one(MULTI, 3).instance("b"), "single U32(30)"),
        (Entry::all(MULTI).instance("b"), "counters 7,3,5,9: U64(200) U32(30) U64(50) U32(5)"),
        (one(MULTI, 7).instance("*"), "instances a/1: U64(100) b/2: U64(200)"),
        (one(MULTI, 3).instance("?"), "instances a/1: U32(10) b/2: U32(30)"),
        (one(MULTI, 3).instance("B*"), "instances b/2: U32(30)"),
        (
            Entry::all(MULTI).instance("*"),
            "counterset 7,3,5,9 a/1: U64(100) U32(10) U64(20) U32(4) b/2: U64(200) U32(30) U64(50) U32(5)",
        ),
        (
            several(MULTI, &[9, 7, 9]).instance("*"),
            "counterset 7,9 a/1: U64(100) U32(4) b/2: U64(200) U32(5)",
        ),
        (several(MULTI, &[3, 5]).instance("b"), "counters 3,5: U32(30) U64(50)"),
        (several(SINGLE, &[9, 5]), "counters 5,9: U64(20) U32(4)"),
        (one(MULTI, 7).instance("*").instance_id(id(2)), "instances b/2: U64(200)"),
        (one(MULTI, 7).instance("a").instance_id(id(2)), "error 232"),
        (one(MULTI, 7).instance("absent"), "error 232"),
        (one(MULTI, 7).instance("absent*"), "error 232"),
        (Entry::all(SINGLE), "counters 7,3,5,9: U64(100) U32(10) U64(20) U32(4)"),
        (one(SINGLE, 5), "single U64(20)"),
    ];
    for (entry, _) in &cases {
        assert!(query.add(entry).is_success(), "{entry:?}");
    }
    let got = shapes(&collected(&mut query));
    for ((entry, want), got) in cases.iter().zip(&got) {
        assert_eq!(got, want, "{entry:?}");
    }
    let failures: Vec<_> = collected(&mut query).annex().iter().map(|a| a.failure().cloned()).collect();
    assert_eq!(
        failures[11..14],
        [Some(NoValue::NoInstance), Some(NoValue::NoInstance), Some(NoValue::NoInstance)]
    );
}

#[test]
fn instances_come_and_go() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    let entries = ["c", "*"].map(|name| Entry::one(MULTI, CounterId(7)).instance(name));
    assert!(entries.iter().all(|entry| query.add(entry).is_success()));
    let mut snapshot = Snapshot::default();
    let mut step = |change: &dyn Fn(&mut Vec<ScriptRow>)| {
        provider.with(|s| change(&mut s.rows));
        query.collect(&mut snapshot).unwrap();
        read(snapshot.block(), Mode::Strict).unwrap();
        shapes(&snapshot)
    };
    let row = |name, id, value| (name, id, vec![Ok(value)]);
    assert_eq!(step(&|_| {}), ["error 232", "instances a/1: U64(100) b/2: U64(200)"]);
    assert_eq!(
        step(&|rows| rows.insert(1, row("c", 3, 300))),
        ["single U64(300)", "instances a/1: U64(100) c/3: U64(300) b/2: U64(200)"]
    );
    assert_eq!(
        step(&|rows| rows[1] = row("c", 3, 301)),
        ["single U64(301)", "instances a/1: U64(100) c/3: U64(301) b/2: U64(200)"]
    );
    assert_eq!(
        step(&|rows| rows.swap(0, 2)),
        ["single U64(301)", "instances b/2: U64(200) c/3: U64(301) a/1: U64(100)"]
    );
    assert_eq!(
        step(&|rows| rows[1].1 = 4),
        ["single U64(301)", "instances b/2: U64(200) c/4: U64(301) a/1: U64(100)"]
    );
    assert_eq!(step(&|rows| rows.truncate(1)), ["error 232", "instances b/2: U64(200)"]);
    assert_eq!(step(&|rows| rows.clear()), ["error 232", "error 232"]);
    assert_eq!(step(&|rows| rows.push(row("c", 3, 1))), ["single U64(1)", "instances c/3: U64(1)"]);
}

#[test]
fn missing_values_carry_their_reasons() {
    let (machine, provider) = machine();
    let reason = NoValue::Unavailable("not here".into());
    provider.with(|s| {
        s.rows[0].2[1] = Err(reason.clone());
        s.rows[1].2.truncate(2);
    });
    let mut query = machine.query();
    let entries = [
        Entry::all(MULTI).instance("*"),
        Entry::one(MULTI, CounterId(3)).instance("a"),
        Entry::one(MULTI, CounterId(7)).instance("*"),
    ];
    assert!(entries.iter().all(|entry| query.add(entry).is_success()));
    let old = collected(&mut query);
    assert_eq!(
        shapes(&old),
        [
            "counterset 7,3,5,9 a/1: U64(100) Empty U64(20) U32(4) b/2: U64(200) U32(30) Empty Empty",
            "error 232",
            "instances a/1: U64(100) b/2: U64(200)",
        ]
    );
    let new = collected(&mut query);
    assert_eq!(
        lines(&new, Some(&old)),
        [
            "a 7=100",
            "a 3=unavailable",
            "a 5=0",
            "a 9=not_displayable",
            "b 7=200",
            "b 3=0",
            "b 5=not_given",
            "b 9=not_given",
            "a 3=unavailable",
            "a 7=100",
            "b 7=200",
        ]
    );
    assert_eq!(old.annex()[1].failure(), Some(&reason));
    assert_eq!(lines(&new, None)[4..6], ["b 7=200", "b 3=needs_two_samples"]);
}

#[test]
fn values_pair_by_identity() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::all(MULTI).instance("*")).is_success());
    let old = collected(&mut query);
    provider.with(|s| {
        let values = |n: [u64; 4]| n.map(Ok).to_vec();
        s.rows = vec![
            ("b", 2, values([1, 37, 80, 11])),
            ("a", 3, values([2, 11, 22, 5])),
            ("a", 1, values([3, 9, 22, 3])),
        ];
    });
    let new = collected(&mut query);
    assert_eq!(
        lines(&new, Some(&old)),
        [
            "b 7=1",
            "b 3=7",
            "b 5=5",
            "b 9=not_displayable",
            "a 7=2",
            "a 3=new_instance",
            "a 5=new_instance",
            "a 9=not_displayable",
            "a 7=3",
            "a 3=negative_value",
            "a 5=negative_denominator",
            "a 9=not_displayable",
        ]
    );
}

/// A counterset that is registered with fewer counters, as when one of the programs that publish it ends, keeps the
/// values of those that stay.
#[test]
fn counters_that_come_and_go() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::several(MULTI, [CounterId(7), CounterId(3)]).instance("*")).is_success());
    let register = |counters: usize| {
        provider.with(|s| {
            let all = set(MULTI, InstanceType::Multiple);
            let counters = all.counters.iter().take(counters).cloned().collect();
            let countersets = vec![Arc::new(Counterset { counters, ..all })];
            s.catalogue = Arc::new(Catalogue { origin: Text::default(), countersets });
            s.births = vec![(1, 77)];
            s.rows = vec![("a", 1, vec![Ok(5), Ok(6)]), ("b", 2, vec![Ok(7), Ok(8)])];
        });
    };
    register(2);
    let few = collected(&mut query);
    register(4);
    let more = collected(&mut query);
    assert_eq!(
        lines(&more, Some(&few)),
        ["a 7=5", "a 3=needs_two_samples", "b 7=7", "b 3=needs_two_samples"]
    );
    register(1);
    let fewer = collected(&mut query);
    assert_eq!(lines(&fewer, Some(&more)), ["a 7=5", "b 7=7"]);
    register(2);
    assert_eq!(lines(&collected(&mut query), None).len(), 4);
}

/// A registration by another provider changes the layout of the block. Earlier snapshots still pair with later
/// ones.
#[test]
fn a_new_registration_costs_no_interval() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::all(MULTI).instance("a")).is_success());
    let old = collected(&mut query);
    machine.register(Box::new(Scripted::new(vec![set(OTHER, InstanceType::Multiple)])));
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old))[1], "a 3=0");
    provider.with(|s| {
        let changed = vec![Arc::new(set(MULTI, InstanceType::Multiple))];
        s.catalogue = Arc::new(Catalogue { origin: Text::default(), countersets: changed });
    });
    let anew = collected(&mut query);
    assert_eq!(
        lines(&anew, Some(&new))[1],
        "a 3=needs_two_samples",
        "registered anew, it may mean something else"
    );
}

/// A reason given once for a column applies to every cell without a value and without its own reason.
#[test]
fn a_column_has_a_reason() {
    let (machine, provider) = machine();
    let (never, denied) = (NoValue::Unavailable("never".into()), NoValue::Denied("here".into()));
    provider.with(|s| {
        s.reasons = vec![(2, never.clone()), (9, never.clone())];
        s.rows[0].2 = vec![Ok(100), Err(denied.clone())];
        s.rows[1].2 = vec![Ok(200), Ok(30), Ok(50)];
        s.rows.push(("c", 3, vec![Ok(300), Ok(31), Err(denied.clone())]));
    });
    let mut query = machine.query();
    let one = |id, name| Entry::one(MULTI, CounterId(id)).instance(name);
    let entries = [Entry::all(MULTI).instance("*"), one(5, "a"), one(5, "c"), one(5, "*"), one(7, "a")];
    assert!(entries.iter().all(|entry| query.add(entry).is_success()));
    let old = collected(&mut query);
    let new = collected(&mut query);
    let all = lines(&new, Some(&old));
    let want =
        ["a 7=100", "a 3=denied", "a 5=unavailable", "a 9=not_given", "b 7=200", "b 3=0", "b 5=missing_base"];
    assert_eq!(all[..7], want);
    assert_eq!(all[8..12], ["c 7=300", "c 3=0", "c 5=denied", "c 9=not_given"]);
    assert_eq!(all[12..14], ["a 5=unavailable", "c 5=denied"]);
    assert_eq!(all[14..], ["a 5=unavailable", "b 5=missing_base", "c 5=denied", "a 7=100"]);
    let failures: Vec<_> = new.annex().iter().map(|annex| annex.failure().cloned()).collect();
    assert_eq!(failures, [None, Some(never.clone()), Some(denied.clone()), None, None]);
    let annex = &new.annex()[0];
    assert_eq!(
        [annex.reason(0, 1), annex.reason(0, 2), annex.reason(0, 3)],
        [Some(&denied), Some(&never), None]
    );
    provider.with(|s| s.reasons.clear());
    assert_eq!(lines(&collected(&mut query), None)[2], "a 5=not_given", "said anew each time");
}

#[test]
fn providers_speak_of_themselves() {
    let (machine, provider) = machine();
    assert_eq!(machine.describe(), []);
    provider.with(|s| s.about = vec![("process source".into(), "files".into())]);
    machine.register(Box::new(Mute));
    assert_eq!(machine.describe(), [("process source".into(), "files".into())]);
}

/// A provider that panics when it is asked about itself.
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

/// A share of one thing above 100 is cut and says so; a mark that people see already stays.
#[test]
fn value_over_maximum_is_capped_and_marked() {
    let share = CounterType::PERF_LARGE_RAW_FRACTION;
    let set = Counterset {
        counters: vec![
            Counter { caps: true, ..counter(1, "Share", share, Some(3)) },
            counter(2, "Free", share, Some(3)),
            counter(3, "", CounterType::PERF_LARGE_RAW_BASE, None),
        ]
        .into(),
        ..set(SINGLE, InstanceType::Single)
    };
    let (machine, provider) = machine_with(vec![set]);
    for (raw, mark, want, want_mark) in [
        (99, None, 99.0, None),
        (100, None, 100.0, None),
        (103, None, 100.0, Some(Mark::Capped)),
        (103, Some(Mark::Reused), 100.0, Some(Mark::Capped)),
        (103, Some(Mark::Held), 100.0, Some(Mark::Held)),
    ] {
        provider.with(|s| {
            s.rows = vec![("", 0, vec![Ok(raw), Ok(raw), Ok(100)])];
            s.marks = mark.map(|mark| (0, mark)).into_iter().collect();
        });
        let mut query = machine.query();
        assert!(query.add(&Entry::all(SINGLE)).is_success());
        let snapshot = collected(&mut query);
        let values: Vec<_> = snapshot.values(None).collect();
        let found = |at: usize| (values[at].value.clone().unwrap().raw, values[at].mark);
        assert_eq!(found(0), (want, want_mark), "{raw} {mark:?}");
        assert_eq!(found(1), (f64::from(u32::try_from(raw).unwrap()), mark), "another counter");
        assert_eq!(values[0].raw, Some(RawValue::U64(raw)), "the raw value stays");
    }
}

/// A sum over instances has 100 for each processor: it is no share, and is not cut. A mean is cut.
#[test]
fn a_sum_of_shares_is_not_cut() {
    use perfset_core::catalogue::{processor_information, thread};
    let sets = [thread::COUNTERSET.clone(), processor_information::COUNTERSET.clone()];
    let (machine, provider) = machine_with(sets.to_vec());
    for (set, counter, rows) in [
        (
            &sets[0],
            thread::PERCENT_PROCESSOR_TIME,
            [("bash/7", true), ("x_Total", true), ("_Total/_Total", false)],
        ),
        (
            &sets[1],
            processor_information::PERCENT_USER_TIME,
            [("0,0", true), ("0,_Total", true), ("_Total", true)],
        ),
    ] {
        let mut query = machine.query();
        assert!(query.add(&Entry::one(set.guid, counter).instance("*")).is_success());
        let mut at = |raw: u64| {
            provider.with(|s| {
                let row = |(id, (name, _)): (u32, (&'static str, bool))| {
                    (name, id, vec![Ok(raw); set.counters.len()])
                };
                s.rows = (1..).zip(rows).map(row).collect();
            });
            collected(&mut query)
        };
        let (old, new) = (at(1_000), at(1_000 + 15_000_000)); // one and a half seconds in one
        let values: Vec<_> = new.values(Some(&old)).collect();
        assert_eq!(values.len(), rows.len());
        for (value, (name, is_cut)) in values.iter().zip(rows) {
            let want = if is_cut { (100.0, Some(Mark::Capped)) } else { (150.0, None) };
            assert_eq!((value.value.clone().unwrap().raw, value.mark), want, "{} {name}", set.name);
        }
    }
}

/// Said once for a row: its values are marked unless they are themselves.
#[test]
fn a_row_is_marked() {
    let (machine, provider) = machine();
    let denied = NoValue::Denied("here".into());
    let held = |rows: &mut Rows| {
        let mut row = rows.push("d", InstanceId(4), None);
        row.mark(Mark::Held);
        row.set_marked(1, 9, Mark::Reused);
        row.mark(Mark::Stale(Duration::ZERO));
        row.set(0, 8);
    };
    let mut rows = Rows::new(&*set(MULTI, InstanceType::Multiple).counters);
    for _ in 0..2 {
        rows.start();
        rows.push("a", InstanceId(1), None).set(0, 7);
        held(&mut rows);
        rows.end();
        let marks = [(0, 0), (1, 0), (1, 1)].map(|(row, column)| rows.mark(row, column));
        assert_eq!(
            marks,
            [None, Some(Mark::Stale(Duration::ZERO)), Some(Mark::Reused)],
            "the last word on a row"
        );
    }
    rows.start();
    rows.push("a", InstanceId(1), None).set(0, 7);
    rows.push("d", InstanceId(4), None).set(0, 8);
    rows.end();
    assert!(!rows.changed() && rows.mark(1, 0).is_none(), "said anew each time");

    provider.with(|s| {
        s.marks = vec![(2, Mark::Reused)];
        s.rows[1].2 = vec![Ok(200), Ok(30), Err(denied)];
        s.rows.push(("c", 3, vec![Ok(300)]));
    });
    let mut query = machine.query();
    let one = |id, name| Entry::one(MULTI, CounterId(id)).instance(name);
    for entry in [Entry::all(MULTI).instance("*"), one(7, "b"), one(7, "c"), one(5, "b")] {
        assert!(query.add(&entry).is_success());
    }
    let snapshot = collected(&mut query);
    let all = lines(&snapshot, None);
    let want = ["b 7=200 Reused", "b 3=needs_two_samples Reused", "b 5=denied", "b 9=not_given", "c 7=300"];
    assert_eq!(all[4..9], want);
    assert_eq!(all[12..], ["b 7=200 Reused", "c 7=300", "b 5=denied"]);
    let marks: Vec<_> = snapshot.annex()[..3].iter().map(|annex| annex.mark(0, 0)).collect();
    assert_eq!(marks, [None, Some(Mark::Reused), None]);
}

#[test]
fn owners_and_births_travel_beside_the_block() {
    let owner = Owner::Process { pid: 2, user: 3 };
    let machine = Machine::new(Box::new(FixedClock::default()));
    let countersets = vec![Arc::new(set(MULTI, InstanceType::Multiple))];
    machine.register(Box::new(Owned(owner, Arc::new(Catalogue { origin: Text::default(), countersets }))));
    let mut query = machine.query();
    assert!(query.add(&Entry::one(MULTI, CounterId(7)).instance("b*")).is_success());
    let snapshot = collected(&mut query);
    let annex = &snapshot.annex()[0];
    assert_eq!((annex.owner(0), annex.birth(0)), (owner, std::num::NonZeroU64::new(5)));
    assert_eq!((annex.owner(1), annex.birth(1)), (Owner::System, None), "no such row");
}

/// A row of the system, then one of a program, born at 5.
#[derive(Debug)]
struct Owned(Owner, Arc<Catalogue>);

impl Provider for Owned {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.1))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, _: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        rows.push("a", InstanceId(1), None).set(0, 1);
        rows.set_owner(self.0);
        rows.push("b", InstanceId(2), std::num::NonZeroU64::new(5)).set(0, 2);
        Ok(())
    }
}

/// A name without wildcards finds the next instance of that name when the first is gone: another thing.
/// A count with a birth of its own is compared only with what was counted since then, and so is its base.
#[test]
fn counts_pair_by_their_own_birth() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    let _ = query.add(&Entry::all(MULTI).instance("*"));
    let mut at = |counts: &[(u32, usize, u64)], marks: &[(u32, Mark)]| {
        provider.with(|s| {
            (s.counts, s.marks) = (counts.to_vec(), marks.to_vec());
            s.rows
                .iter_mut()
                .flat_map(|row| &mut row.2)
                .for_each(|value| *value = value.clone().map(|v| v + 5));
        });
        collected(&mut query)
    };
    let all = |since| [(1, 0, since), (1, 1, since), (1, 2, since), (1, 3, since)];
    let partial = [(1, Mark::Partial(std::num::NonZeroU32::new(3).unwrap()))];
    let values = |new: &Snapshot, old: &Snapshot| lines(new, Some(old));
    let (first, second) = (at(&all(7), &[]), at(&all(7), &[]));
    let (third, fourth) = (at(&all(8), &[]), at(&[], &[]));
    let same = values(&second, &first);
    assert!(!same.iter().any(|line| line.contains("replaced") || line.contains("Partial")), "{same:?}");
    for (new, old) in [(&third, &second), (&fourth, &third), (&third, &fourth)] {
        for (line, same) in values(new, old).iter().zip(&same) {
            let takes_difference = line.starts_with("a ") && (line.contains("replaced") || same != line);
            let is_gauge = line.starts_with("a ") && !line.contains("replaced");
            assert!(takes_difference || is_gauge || line.starts_with("b "), "{line}");
            assert!(!(line.starts_with("b ") && line.contains("replaced")), "{line}");
        }
        assert!(values(new, old).iter().any(|line| line.contains("replaced")));
    }
    // Of one that lacks instances at either end the difference lacks them.
    let (whole, lacks, again) = (at(&all(9), &[]), at(&all(9), &partial), at(&all(9), &[]));
    let of = |lines: Vec<String>| lines.iter().filter(|line| line.ends_with(" Partial(3)")).count();
    assert_eq!(of(values(&lacks, &whole)), 4, "all values of that row");
    let behind = of(values(&again, &lacks));
    assert!(behind > 0 && behind < 4, "those that take a difference: {behind}");
    assert_eq!(of(values(&again, &whole)), 0);
}

#[test]
fn a_fixed_name_is_no_identity() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    for entry in [Entry::one(MULTI, CounterId(3)).instance("a"), Entry::all(MULTI).instance("a")] {
        assert!(query.add(&entry).is_success());
    }
    let values = |n: u64| [n, n, n, n].map(Ok).to_vec();
    provider.with(|s| s.rows = vec![("a", 1, values(100)), ("a", 2, values(1_000_000))]);
    let old = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 2, values(1_000_001))]);
    let new = collected(&mut query);
    let got = lines(&new, Some(&old));
    assert_eq!((got[0].as_str(), got[2].as_str()), ("a 3=new_instance", "a 3=new_instance"));
    assert_eq!(new.values(None).next().unwrap().instance_id, Some(InstanceId(2)));
}

/// A 4-byte base wraps under an 8-byte value that does not.
#[test]
fn a_base_wraps_by_itself() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::all(MULTI).instance("a")).is_success());
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(0), Ok(0), Ok(5_000), Ok(0xFFFF_FFF0)])]);
    let old = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(0), Ok(0), Ok(6_000), Ok(0x10)])]);
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old))[2], "a 5=31.25");
}

#[test]
fn other_entries_cost_no_interval() {
    let (machine, _) = machine();
    let mut query = machine.query();
    let entry = |id| Entry::one(MULTI, CounterId(id)).instance("*");
    assert!(query.add(&entry(7)).is_success() && query.add(&entry(3)).is_success());
    let old = collected(&mut query);
    assert!(query.delete(&entry(7)).is_success() && query.add(&entry(5)).is_success());
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old))[..3], ["a 3=90", "b 3=170", "a 5=needs_two_samples"]);
}

/// What was there before, but without a value, is not new.
#[test]
fn an_old_instance_is_not_new() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    assert!(query.add(&Entry::one(MULTI, CounterId(3)).instance("*")).is_success());
    provider.with(|s| s.rows = vec![("a", 1, vec![Err(NoValue::NotGiven)])]);
    let old = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(1)]), ("b", 2, vec![Ok(1)])]);
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old)), ["a 3=needs_two_samples", "b 3=new_instance"]);
    provider.with(|s| s.rows.clear());
    let none = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(1)])]);
    assert_eq!(lines(&collected(&mut query), Some(&none)), ["a 3=needs_two_samples"], "the entry had failed");
}

/// A counterset with a clock of its own divides by that.
#[test]
fn object_clocks_are_used() {
    let mut timed = set(OTHER, InstanceType::Multiple);
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let mut timer = counter(1, "Active", CounterType::PERF_OBJ_TIME_TIMER, None);
    (timer.perf_time, timer.perf_freq) = (Some(CounterId(2)), Some(CounterId(3)));
    timed.counters = vec![timer, counter(2, "Clock", raw, None), counter(3, "Frequency", raw, None)].into();
    let (machine, provider) = machine_with(vec![timed]);
    let mut query = machine.query();
    assert!(query.add(&Entry::all(OTHER).instance("*")).is_success());
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(10), Ok(1_000), Ok(50)])]);
    let old = collected(&mut query);
    provider.with(|s| s.rows = vec![("a", 1, vec![Ok(30), Ok(1_080), Ok(50)])]);
    let new = collected(&mut query);
    assert_eq!(lines(&new, Some(&old))[0], "a 1=25");
    let mut alone = machine.query();
    assert!(alone.add(&Entry::one(OTHER, CounterId(1)).instance("*")).is_success());
    let old = collected(&mut alone);
    let new = collected(&mut alone);
    assert_eq!(lines(&new, Some(&old))[0], "a 1=negative_denominator", "without its clock it has no value");
}

/// Whichever clock a type names, a counter that has one of its own divides by that.
#[test]
fn own_clocks_of_every_kind() {
    let raw = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    for (counter_type, want) in [
        (CounterType::PERF_COUNTER_TIMER, 100.0 * 20.0 / 80.0),
        (CounterType::PERF_100NSEC_TIMER, 100.0 * 20.0 / 80.0),
        (CounterType::PERF_OBJ_TIME_TIMER, 100.0 * 20.0 / 80.0),
        (CounterType::PERF_COUNTER_BULK_COUNT, 20.0 / (80.0 / 50.0)),
    ] {
        let mut timed = set(OTHER, InstanceType::Multiple);
        let mut timer = counter(1, "Active", counter_type, None);
        (timer.perf_time, timer.perf_freq) = (Some(CounterId(2)), Some(CounterId(3)));
        timed.counters =
            vec![timer, counter(2, "Clock", raw, None), counter(3, "Frequency", raw, None)].into();
        let (mut machine, provider) = machine_with(vec![timed]);
        let mut query = crate::path::PathQuery::open(&mut machine).unwrap();
        query.add(&mut machine, &format!(r"\{OTHER}(*)\Active").parse().unwrap()).unwrap();
        provider.with(|s| s.rows = vec![("a", 1, vec![Ok(10), Ok(1_000), Ok(50)])]);
        query.collect().unwrap();
        provider.with(|s| s.rows = vec![("a", 1, vec![Ok(30), Ok(1_080), Ok(50)])]);
        query.collect().unwrap();
        let values = query.values();
        assert_eq!(values.len(), 1);
        assert_eq!(values[0].value.value.as_ref().map(|value| value.raw), Ok(want), "{counter_type}");
    }
}

#[test]
fn one_collection_asks_each_counterset_once() {
    let (machine, provider) = machine();
    let mut query = machine.query();
    for entry in [
        Entry::one(MULTI, CounterId(5)).instance("a"),
        Entry::one(MULTI, CounterId(3)).instance("b"),
        Entry::one(MULTI, CounterId(3)).instance("*"),
    ] {
        assert!(query.add(&entry).is_success());
    }
    provider.with(|s| {
        s.log.clear();
        s.rows = vec![("a", 1, vec![Ok(10), Ok(20), Ok(4)]), ("b", 2, vec![Ok(30), Ok(50), Ok(5)])];
    });
    assert_eq!(
        shapes(&collected(&mut query)),
        ["single U64(20)", "single U32(30)", "instances a/1: U32(10) b/2: U32(30)"]
    );
    assert_eq!(provider.with(|s| s.log.clone()), ["Collect [3, 5, 9]"], "the union, the base added");
}

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

/// All are asked before the first one is waited for, and they share one deadline.
#[test]
fn providers_that_hang_cost_one_deadline_together() {
    const COUNT: u128 = 10;
    let machine = Machine::new(Box::new(FixedClock::default()));
    let deadline = Deadline::new(Duration::from_millis(100));
    machine.set_deadline(deadline.length());
    assert_eq!(machine.deadline(), deadline.length());
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
fn the_engine_counts_itself() {
    let (machine, provider) = machine();
    provider.with(|s| s.rows[0].2[0] = Err(NoValue::NotGiven));
    let mut query = machine.query();
    assert!(query.add(&Entry::all(own::GUID)).is_success());
    assert!(query.add(&Entry::one(MULTI, CounterId(7)).instance("*")).is_success());
    assert!(query.add(&Entry::one(MULTI, CounterId(7)).instance("absent")).is_success());
    let mut old = collected(&mut query);
    let mut new = collected(&mut query);
    query.collect(&mut old).unwrap();
    std::mem::swap(&mut old, &mut new);
    let raw = |id: CounterId| new.values(Some(&old)).find(|v| v.counter.id == id).unwrap().raw.unwrap().get();
    assert_eq!(raw(own::COLLECTIONS_PER_SEC), 2);
    assert_eq!(raw(own::LAST_BLOCK_BYTES), u64::try_from(new.block().len()).unwrap());
    assert_eq!(raw(own::BLOCK_BYTES_PER_SEC), 2 * raw(own::LAST_BLOCK_BYTES));
    assert_eq!((raw(own::MISSING_VALUES), raw(own::FAILED_ENTRIES)), (2, 1), "one is its own Source Layer");
    assert_eq!((raw(own::LATE_PROVIDERS), raw(own::PROVIDER_FAILURES_PER_SEC)), (0, 0));
    assert_eq!(raw(own::LAYOUT_REBUILDS_PER_SEC), 2, "two snapshots, each laid out once");
    assert!(raw(own::AVERAGE_COLLECTION_TIME) >= raw(own::LAST_COLLECTION_NANOSECONDS));
}

#[test]
fn identifiers_over_bytes() {
    let (machine, _) = machine();
    let mut query = machine.query();
    let block = |counter, name: Option<&str>| {
        let mut out = Vec::new();
        let name: Option<Vec<u16>> = name.map(|name| name.encode_utf16().collect());
        let new = v2::identifier::NewIdentifier {
            counterset: MULTI,
            counter,
            instance_id: InstanceIdFilter::Any,
            name: name.as_deref(),
            index: 0,
        };
        v2::identifier::write(&mut out, &new);
        out
    };
    let statuses = |bytes: &[u8]| {
        let list = v2::identifier::Identifiers::new(bytes);
        list.map(|i| i.unwrap().status().0).collect::<Vec<_>>()
    };
    let three = CounterFilter::One(CounterId(3));
    let mut good = [
        block(three, Some("a")),
        block(three, None),
        block(CounterFilter::All, Some("*")),
        block(three, Some("A")),
    ]
    .concat();
    let mut nul_less = block(three, Some("abc"));
    let len = nul_less.len();
    nul_less[len - 2] = 0x41;
    good.extend_from_slice(&nul_less);
    assert_eq!(perflib::add_counters(&mut query, &mut good), Ok(()));
    assert_eq!(statuses(&good), [0, 87, 0, 183, 87]);

    for (what, damage) in [
        ("nothing", Vec::new()),
        ("39 bytes", block(three, None)[..39].to_vec()),
        ("something after the last block", [block(three, Some("b")), vec![0; 8]].concat()),
        ("a size of 0", [block(three, Some("b")), vec![0; 40]].concat()),
    ] {
        let mut bytes = damage.clone();
        assert_eq!(
            perflib::add_counters(&mut query, &mut bytes),
            Err(Status::ERROR_INVALID_PARAMETER),
            "{what}"
        );
        assert_eq!(bytes, damage, "{what}: no status is written (R-22)");
        assert_eq!(
            perflib::delete_counters(&mut query, &mut bytes),
            Err(Status::ERROR_INVALID_PARAMETER),
            "{what}"
        );
    }
    assert_eq!(query.entries().len(), 2);

    let infos: Vec<_> = v2::identifier::Identifiers::new(&perflib::counter_info(&query))
        .map(|i| i.map(|i| (i.index(), i.counter(), i.name().unwrap().unwrap().to_string())).unwrap())
        .collect();
    assert_eq!(infos, [(0, three, "a".to_string()), (1, CounterFilter::All, "*".to_string())]);

    let mut data = Snapshot::default();
    query.collect(&mut data).unwrap();
    let kinds: Vec<_> = Block::parse(data.block()).unwrap().results().map(|r| r.unwrap().kind()).collect();
    assert_eq!(kinds, [CounterDataType::SingleCounter, CounterDataType::Counterset]);

    let mut delete = [block(three, Some("A")), block(three, Some("b"))].concat();
    assert_eq!(perflib::delete_counters(&mut query, &mut delete), Ok(()));
    assert_eq!(statuses(&delete), [0, 87]);
    let mut empty = machine.query();
    assert_eq!(perflib::counter_info(&empty), []);
    empty.collect(&mut data).unwrap();
    assert_eq!(data.block().len(), 48, "an empty query gives the bare header");
}

#[test]
fn machine_names() {
    for local in
        [None, Some(""), Some("."), Some("LOCALHOST"), Some("ada"), Some("ADA"), Some(r"\\Ada"), Some(r"\\")]
    {
        assert_eq!(local_machine(local, "Ada"), Ok(()), "{local:?}");
    }
    let long = "web-frontend-production-7.example.org";
    for local in [long, "web-frontend-production-7", "WEB-FRONTEND-PR", r"\\WEB-FRONTEND-PR"] {
        assert_eq!(local_machine(Some(local), long), Ok(()), "{local}");
    }
    for other in ["web-frontend", "web-frontend-pro", "example.org", "WEB-FRONTEND-PR.example.org"] {
        assert!(local_machine(Some(other), long).is_err(), "{other}");
    }
    let error = local_machine(Some(r"\\bob"), "Ada").unwrap_err();
    assert_eq!(error.status(), Status::RPC_S_SERVER_UNAVAILABLE);
    assert_eq!(error.status().0, 1722);
    assert_eq!(error.to_string(), r#""\\bob" is another machine: remote machines are not supported"#);
}

#[test]
fn a_warm_collection_allocates_nothing() {
    let (machine, provider) = machine();
    provider.with(|s| s.rows[0].2[1] = Err(NoValue::Unavailable("not here".into())));
    let quiet = Quiet(
        vec![("a", 1), ("b", 2)],
        Arc::new(Catalogue {
            origin: Text::default(),
            countersets: vec![Arc::new(set(OTHER, InstanceType::Multiple))],
        }),
    );
    machine.register(Box::new(quiet));
    let mut query = machine.query();
    for entry in [
        Entry::all(OTHER).instance("*"),
        Entry::one(OTHER, CounterId(3)).instance("a"),
        Entry::all(own::GUID),
    ] {
        assert!(query.add(&entry).is_success());
    }
    let (mut old, mut new) = (Snapshot::default(), Snapshot::default());
    for _ in 0..3 {
        query.collect(&mut new).unwrap();
        std::mem::swap(&mut old, &mut new);
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..10 {
            query.collect(&mut new).unwrap();
            std::mem::swap(&mut old, &mut new);
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(shapes(&old)[1], "single U32(3)");
}

/// A provider that allocates nothing itself.
#[derive(Debug)]
struct Quiet(Vec<(&'static str, u32)>, Arc<Catalogue>);

impl Provider for Quiet {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.1))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        rows.none_in_column(1, NoValue::Unavailable("never".into()));
        for (name, id) in &self.0 {
            let mut row = rows.push(name, InstanceId(*id), None);
            row.mark(Mark::Reused);
            for (column, counter) in want.counters.iter().enumerate() {
                match counter.0 {
                    5 => row.set_unavailable(column, NoValue::Unavailable("never".into())),
                    n => row.set(column, n.into()),
                }
            }
        }
        Ok(())
    }
}

/// A sink that remembers.
#[derive(Default)]
struct Remember(Vec<String>);

impl Sink for Remember {
    fn begin(&mut self, entries: &[ResolvedEntry]) -> std::io::Result<()> {
        self.0.push(format!("begin {}", entries.len()));
        Ok(())
    }

    fn sample_set(&mut self, set: &SampleSet<'_>) -> std::io::Result<()> {
        self.0.extend(set.values().map(|v| line(&v)));
        Ok(())
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.0.push("finish".into());
        Ok(())
    }
}

#[test]
fn samples_are_pumped_until_told() {
    let (mut machine, _) = machine();
    let mut query = Source::open(&mut machine).unwrap();
    assert!(query.add(&Entry::one(own::GUID, own::COLLECTIONS_PER_SEC)).is_success());
    let mut sink = Remember::default();
    let mut left = 3;
    pump(&mut *query, &mut sink, || {
        left -= 1;
        left > 0
    })
    .unwrap();
    assert_eq!(sink.0, ["begin 1", " 0=needs_two_samples", " 0=1", " 0=1", "finish"]);
}

proptest! {
    /// A snapshot that is written over equals one that is laid out from scratch, for any earlier content.
    #[test]
    fn writing_over_is_laying_out(
        steps in prop::collection::vec(
            prop::collection::vec((0_usize..4, prop::option::of(any::<u64>())), 0..4),
            1..6,
        )
    ) {
        let (machine, provider) = machine();
        let mut reused = machine.query();
        for name in ["*", "b", "?", "c"] {
            assert!(reused.add(&Entry::one(MULTI, CounterId(7)).instance(name)).is_success());
        }
        let mut snapshot = Snapshot::default();
        for step in steps {
            let row = |(at, value): (usize, Option<u64>)| {
                (["a", "b", "c", "dd"][at], u32::try_from(at).unwrap(), vec![value.ok_or(NoValue::NotGiven)])
            };
            provider.with(|s| s.rows = step.into_iter().map(row).collect());
            reused.collect(&mut snapshot).unwrap();
            let fresh = collected(&mut reused);
            let text = |s: &Snapshot| shapes(s);
            prop_assert_eq!(text(&snapshot), text(&fresh));
            prop_assert_eq!(&snapshot.block()[48..], &fresh.block()[48..]);
            prop_assert_eq!(lines(&snapshot, None), lines(&fresh, None));
        }
    }
}

proptest! {
    /// However many entries there are and whatever came before, each selects the rows that a plain search finds.
    #[test]
    fn selection_is_a_plain_search(
        asked in prop::collection::btree_set(("[ABÉ*]{1,2}", prop::option::of(0..3_u32)), 0..30),
        steps in prop::collection::vec(
            (prop::bool::weighted(0.2), prop::collection::vec((0_usize..8, 0..3_u32), 0..5)),
            1..6,
        ),
    ) {
        const NAMES: [&str; 8] = ["a", "A", "ab", "aB", "b", "bb", "é", "Éa"];
        let (machine, provider) = machine();
        let mut query = machine.query();
        let id = |id: Option<u32>| id.map_or(InstanceIdFilter::Any, |id| InstanceIdFilter::One(InstanceId(id)));
        for (name, instance) in &asked {
            let entry = Entry::one(MULTI, CounterId(7)).instance(name).instance_id(id(*instance));
            assert!(query.add(&entry).is_success());
        }
        let mut snapshot = Snapshot::default();
        for (fails, rows) in steps {
            provider.with(|s| {
                s.failure = fails.then(|| SourceError::Failed("cut".into()));
                s.rows = rows.iter().map(|(name, id)| (NAMES[*name], *id, vec![Ok(u64::from(*id))])).collect();
            });
            query.collect(&mut snapshot).unwrap();
            let want: Vec<_> = asked
                .iter()
                .map(|(pattern, instance)| {
                    let pattern = Pattern::new(&pattern.as_str().into());
                    let selects = |(name, row): &&(usize, u32)| {
                        instance.is_none_or(|id| id == *row)
                            && pattern.matches(NAMES[*name].encode_utf16())
                    };
                    let mut found = rows.iter().filter(selects);
                    let line = |(name, id): &(usize, u32)| format!(" {}/{id}: U64({id})", NAMES[*name]);
                    match found.next() {
                        _ if fails => format!("error {}", SourceError::Failed("cut".into()).status().0),
                        None => "error 232".to_owned(),
                        Some((_, id)) if !pattern.has_wildcard() => format!("single U64({id})"),
                        Some(first) => {
                            let all = [first].into_iter().chain(found);
                            format!("instances{}", all.map(line).collect::<String>())
                        }
                    }
                })
                .collect();
            prop_assert_eq!(shapes(&snapshot), want);
        }
    }
}

#[test]
fn multi_timers_take_their_items_from_another_counter() {
    let mut counted = set(SINGLE, InstanceType::Single);
    counted.counters.to_mut().truncate(2);
    counted.counters.to_mut()[0] = Counter {
        multi: Some(CounterId(3)),
        ..counter(7, "Activity", CounterType::PERF_100NSEC_MULTI_TIMER, None)
    };
    counted.counters.to_mut()[1] = counter(3, "Items", CounterType::PERF_COUNTER_RAWCOUNT, None);
    let (machine, provider) = machine_with(vec![counted]);
    let mut query = machine.query();
    assert!(query.add(&Entry::all(SINGLE)).is_success());
    provider.with(|s| s.rows = vec![("", 0, vec![Ok(0), Ok(4)])]);
    let old = collected(&mut query);
    // One second later, on a clock of 100 ns.
    provider.with(|s| s.rows = vec![("", 0, vec![Ok(30_000_000), Ok(6)])]);
    let new = collected(&mut query);
    let values: Vec<_> = new.values(Some(&old)).map(|v| v.value.unwrap().raw).collect();
    assert_eq!(values, [50.0, 6.0]);
    let bases: Vec<_> = new.values(None).map(|v| v.base).collect();
    assert_eq!(bases, [Some(RawValue::U32(6)), None]);
}

/// A set of many types; the last three are bases.
fn many_types() -> Counterset {
    type T = CounterType;
    let mut all = set(SINGLE, InstanceType::Single);
    let based = |id, name, t, base: u32| counter(id, name, t, Some(base));
    let unwrapped = |id, name, t| Counter { wraps: false, ..counter(id, name, t, None) };
    all.counters = vec![
        counter(1, "Raw", T::PERF_COUNTER_LARGE_RAWCOUNT, None),
        counter(2, "Wrapping", T::PERF_COUNTER_COUNTER, None),
        unwrapped(3, "Not wrapping", T::PERF_COUNTER_COUNTER),
        counter(4, "Bulk", T::PERF_COUNTER_BULK_COUNT, None),
        counter(5, "Timer", T::PERF_100NSEC_TIMER, None),
        counter(6, "Idle", T::PERF_100NSEC_TIMER_INV, None),
        based(7, "Mean", T::PERF_AVERAGE_BULK, 20),
        based(8, "Time", T::PERF_AVERAGE_TIMER, 21),
        based(9, "Share", T::PERF_LARGE_RAW_FRACTION, 22),
        counter(10, "Age", T::PERF_ELAPSED_TIME, None),
        unwrapped(11, "Change", T::PERF_COUNTER_DELTA),
        counter(12, "Queue", T::PERF_COUNTER_100NS_QUEUELEN_TYPE, None),
        counter(13, "Double", T::PERF_DOUBLE_RAW, None),
        counter(20, "", T::PERF_AVERAGE_BASE, None),
        Counter { wraps: false, ..counter(21, "", T::PERF_AVERAGE_BASE, None) },
        counter(22, "", T::PERF_LARGE_RAW_BASE, None),
    ]
    .into();
    all
}

proptest! {
    /// The values of a snapshot are those of the formulas for one sample after the other, however they are taken.
    #[test]
    fn values_are_those_of_the_formulas(
        old in proptest::collection::vec(prop_oneof![0..9_u64, any::<u64>()], 16),
        new in proptest::collection::vec(prop_oneof![0..9_u64, any::<u64>()], 16),
    ) {
        let (machine, provider) = machine_with(vec![many_types()]);
        let mut query = machine.query();
        assert!(query.add(&Entry::all(SINGLE)).is_success());
        let mut collect = |values: &[u64]| {
            let values = values.iter().map(|value| if *value == 8 { Err(NoValue::Late) } else { Ok(*value) });
            provider.with(|s| s.rows = vec![("", 0, values.collect())]);
            let mut snapshot = Snapshot::default();
            query.collect(&mut snapshot).unwrap();
            snapshot
        };
        let (old, new) = (collect(&old), collect(&new));
        let mut folded = Vec::new();
        new.values(Some(&old)).for_each(|value| folded.push(format!("{value:?}")));
        let stepped: Vec<_> = new.values(Some(&old)).map(|value| format!("{value:?}")).collect();
        prop_assert_eq!(&folded, &stepped);
        prop_assert_eq!(folded.len(), 16);

        let older: Vec<_> = old.values(None).collect();
        for (value, older) in new.values(Some(&old)).zip(older) {
            let sample = |of: &Value<'_>, snapshot: &Snapshot| Some(Sample {
                identity: Identity {
                    counterset: SINGLE,
                    instance: Name::default(),
                    instance_id: InstanceId(0),
                    birth: None,
                },
                counter: of.counter.id,
                counter_type: of.counter.counter_type,
                raw: of.raw?,
                base: of.base,
                wraps: of.counter.wraps,
                base_wraps: of.counter.base == Some(CounterId(20)),
                clocks: snapshot.clocks().into(),
            });
            let want = match sample(&value, &new) {
                None => Err(NoValue::Late),
                Some(now) => formula::format(sample(&older, &old).as_ref(), &now),
            };
            prop_assert_eq!(&value.value, &want, "{}", value.counter.name.as_deref().unwrap_or("-"));
        }
    }
}
