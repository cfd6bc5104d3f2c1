//! Tests of query entries: additions, deletions, and the same over PerfLib's bytes.

use perfset_core::v2::CounterDataType;

use super::*;
use crate::perflib;

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
    // also when the set is not registered any more.
    provider.with(|s| s.catalogue = Arc::default());
    assert_eq!(query.delete(&entry(5)), Status::ERROR_SUCCESS);
    assert_eq!(shapes(&collected(&mut query)), ["error 4200"]);
    assert_eq!(query.delete(&entry(7)), Status::ERROR_SUCCESS);
    assert_eq!(collected(&mut query).block().len(), 48, "emptied: a bare header (R-29)");
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
