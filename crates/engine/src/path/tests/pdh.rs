//! Tests of raw counters, formatted values and their statuses in PDH's terms.

use super::*;

/// Time of the first sample in 100 ns since 1601.
const START: i64 = perfset_core::clock::UNIX_EPOCH_100NS;

const LARGE: Format = Format::new(FormatKind::Large);

fn query(paths: &[&str]) -> (Machine, Scripted, PathQuery) {
    let (mut machine, provider) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    for path in paths {
        query.add(&mut machine, &path.parse().unwrap()).unwrap();
    }
    (machine, provider, query)
}

/// Collects a sample of these rows: name, id, and the values of the wanted counters.
fn collect(query: &mut PathQuery, provider: &Scripted, rows: &[(&'static str, u32, &[u64])]) {
    let row = |(name, id, values): &(&'static str, u32, &[u64])| {
        (*name, *id, values.iter().map(|value| Ok(*value)).collect())
    };
    provider.with(|s| s.rows = rows.iter().map(row).collect());
    query.collect().unwrap();
}

#[test]
fn raw_counters_of_every_value() {
    let (_machine, provider, mut query) =
        query(&[r"\Test Set(*)\{Size,Bytes/sec,Mean Size}", r"\Test Set(none)\Size"]);
    collect(&mut query, &provider, &[("a", 1, &[2, 3, 5, 7]), ("a", 2, &[11, 13, 17, 19])]);
    let got: Vec<_> = query
        .raw_array(0)
        .unwrap()
        .iter()
        .map(|(v, raw)| {
            assert_eq!((raw.c_status, raw.time), (PdhStatus::PDH_CSTATUS_NEW_DATA, START));
            let counter = v.value.counter.id.0;
            (v.value.instance.to_string(), v.occurrence, counter, raw.first, raw.second, raw.multi_count)
        })
        .collect();
    let item = |occurrence, counter, first, second| ("a".to_owned(), occurrence, counter, first, second, 1);
    let want = [
        item(0, 2, 2, 0),
        item(1, 2, 11, 0),
        item(0, 3, 3, 0), // PerfTime is 0 at the first reading of this clock
        item(1, 3, 13, 0),
        item(0, 5, 5, 7),
        item(1, 5, 17, 19),
    ];
    assert_eq!(got, want);
    let none = query.raw_value(1).unwrap();
    assert_eq!(none, RawCounter::without_value(PdhStatus::PDH_CSTATUS_NO_INSTANCE, START));
    assert_eq!(query.raw_value(0), Err(PdhStatus::PDH_INVALID_ARGUMENT), "it means several");
    assert_eq!(query.raw_value(2), Err(PdhStatus::PDH_INVALID_HANDLE));
    collect(&mut query, &provider, &[("a", 1, &[2, 23, 5, 7])]);
    let values = query.values();
    let rate = values.iter().position(|v| v.value.counter.id.0 == 3).unwrap();
    assert_eq!(query.raw_counters(&values[rate..=rate])[0].second, 1_000_000_000, "one second later");
}

/// Values computed from the raw counters of two samples equal those of the query, also with a counterset's own clock.
#[test]
fn raw_counters_hold_what_values_take() {
    let (mut machine, provider) = machine();
    let own_clock = |counter: Counter| counter.clock(CounterId(5), CounterId(6));
    let counter = crate::tests::counter;
    let hidden = |counter: Counter| counter.hidden();
    provider.with(|s| {
        let mut set = Counterset::clone(&s.catalogue.countersets[0]);
        set.counters = vec![
            counter(1, "Elapsed", CounterType::PERF_ELAPSED_TIME, None),
            own_clock(counter(2, "Own Elapsed", CounterType::PERF_ELAPSED_TIME, None)),
            own_clock(counter(3, "Own Timer", CounterType::PERF_OBJ_TIME_TIMER, None)),
            counter(4, "Timer", CounterType::PERF_100NSEC_TIMER, None),
            hidden(counter(5, "Time", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None)),
            hidden(counter(6, "Frequency", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, None)),
            counter(7, "Multi", CounterType::PERF_100NSEC_MULTI_TIMER, None).multi(CounterId(8)),
            hidden(counter(8, "Items", CounterType::PERF_COUNTER_MULTI_BASE, None)),
        ]
        .into();
        s.catalogue = crate::Catalogue { origin: "Script".into(), countersets: vec![set.into()] }.into();
    });
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &r"\Test Set(*)\{Elapsed,Own*,Timer,Multi}".parse().unwrap()).unwrap();
    let began = u64::try_from(START).unwrap() - 20_000_000;
    let row = |id: u32, n: u64| {
        (began, 100 * u64::from(id), 10 * n, 1_000_000 * n, 1_000 + 100 * n, 50, 3_000_000 * n, 2)
    };
    let mut samples = Vec::new();
    for n in [1, 2] {
        let rows = [2, 1].map(|id| {
            let (a, b, c, d, e, f, g, h) = row(id, n * u64::from(id));
            (
                if id == 1 { "x" } else { "y" },
                id,
                vec![Ok(a), Ok(b), Ok(c), Ok(d), Ok(e), Ok(f), Ok(g), Ok(h)],
            )
        });
        provider.with(|s| s.rows = rows.into());
        query.collect().unwrap();
        samples.push(query.raw_counters(&query.values()));
    }
    let infos: Vec<_> = query.info(0).unwrap();
    let time_bases: Vec<_> = infos.iter().map(|info| info.time_base).collect();
    assert_eq!(time_bases, [Some(10_000_000), Some(50), Some(50), Some(10_000_000), Some(10_000_000)]);
    let values = query.values();
    let mut got = Vec::new();
    for (at, v) in values.iter().enumerate() {
        let info = infos.iter().find(|info| info.counter == v.value.counter.id).unwrap();
        let format = Format { no_cap: true, ..Format::new(FormatKind::Double) };
        let calculation = Calculation::new(info.counter_type, info.time_base.unwrap(), format).unwrap();
        let value = calculation.value(&samples[1][at], Some(&samples[0][at]));
        let of_query = v.value.value.as_ref().unwrap().nocap();
        assert_eq!(value.number, Some(Number::Double(of_query)), "{} {}", v.value.instance, info.counter.0);
        got.push((v.value.instance.to_string(), info.counter.0, of_query));
    }
    let item = |name: &str, counter, value| (name.to_owned(), counter, value);
    let want = [
        item("y", 1, 3.0),
        item("x", 1, 3.0),
        item("y", 2, (1_400.0 - 200.0) / 50.0),
        item("x", 2, (1_200.0 - 100.0) / 50.0),
        item("y", 3, 10.0),
        item("x", 3, 10.0),
        item("y", 4, 20.0),
        item("x", 4, 10.0),
        item("y", 7, 30.0),
        item("x", 7, 15.0),
    ];
    assert_eq!(got, want);
}

#[test]
fn reading_clears_the_mark() {
    use PdhStatus as S;
    let (_machine, provider, mut query) = query(&[r"\Test Set(a)\Size", r"\Test Set(a)\Bytes/sec"]);
    let statuses = |query: &PathQuery| [0, 1].map(|path| query.raw_value(path).unwrap().c_status);
    assert_eq!(statuses(&query), [S::PDH_CSTATUS_ITEM_NOT_VALIDATED; 2]);
    collect(&mut query, &provider, &[("a", 1, &[2, 3])]);
    assert_eq!(statuses(&query), [S::PDH_CSTATUS_NEW_DATA; 2], "raw data need no second sample");
    assert_eq!(query.formatted_value(0, LARGE).unwrap().c_status, S::PDH_CSTATUS_NEW_DATA);
    assert_eq!(query.formatted_value(0, LARGE).unwrap().c_status, S::PDH_CSTATUS_VALID_DATA);
    assert_eq!(
        statuses(&query),
        [S::PDH_CSTATUS_VALID_DATA, S::PDH_CSTATUS_NEW_DATA],
        "of each path by itself"
    );
    collect(&mut query, &provider, &[("a", 1, &[5, 3])]);
    assert_eq!(statuses(&query), [S::PDH_CSTATUS_NEW_DATA, S::PDH_CSTATUS_VALID_DATA]);
    collect(&mut query, &provider, &[("a", 1, &[5, 7])]);
    assert_eq!(statuses(&query), [S::PDH_CSTATUS_VALID_DATA, S::PDH_CSTATUS_NEW_DATA]);
    collect(&mut query, &provider, &[("b", 2, &[5, 7]), ("a", 1, &[5, 11])]);
    assert_eq!(statuses(&query), [S::PDH_CSTATUS_VALID_DATA, S::PDH_CSTATUS_NEW_DATA], "found by identity");
    collect(&mut query, &provider, &[("a", 3, &[5, 11])]);
    assert_eq!(statuses(&query), [S::PDH_CSTATUS_NEW_DATA; 2], "another thing of that name");
}

#[test]
fn values_by_the_first_sample_rule() {
    use PdhStatus as S;
    let paths =
        [r"\Test Set(a)\Size", r"\Test Set(a)\Bytes/sec", r"\Test Set(*)\Mean Size", r"\Test Set(no)\Size"];
    let (_machine, provider, mut query) = query(&paths);
    let read = |query: &PathQuery| {
        let one = |path| {
            let value = query.formatted_value(path, LARGE)?;
            value.number.ok_or(value.c_status)
        };
        let array = query.formatted_array(2, LARGE);
        let array =
            array.map(|items| items.iter().map(|(_, value)| value.number.ok_or(value.c_status)).collect());
        (one(0), one(1), array, one(3))
    };
    let none = S::PDH_CSTATUS_ITEM_NOT_VALIDATED;
    assert_eq!(read(&query), (Err(none), Err(none), Err(S::PDH_NO_DATA), Err(none)));
    collect(&mut query, &provider, &[("a", 1, &[2, 3, 5, 7])]);
    let invalid = S::PDH_CSTATUS_INVALID_DATA;
    let missing = Err(S::PDH_CSTATUS_NO_INSTANCE);
    assert_eq!(read(&query), (Ok(Number::Large(2)), Err(invalid), Err(invalid), missing));
    collect(&mut query, &provider, &[("a", 1, &[2, 14, 11, 9]), ("b", 2, &[1, 1, 1, 1])]);
    let (size, rate, array, instance) = read(&query);
    assert_eq!((size, rate, instance), (Ok(Number::Large(2)), Ok(Number::Large(11)), missing));
    let array: Vec<Result<Number, S>> = array.unwrap();
    assert_eq!(array, [Ok(Number::Large(3)), Err(invalid)], "a new instance does not spoil the others");
    assert_eq!(query.formatted_array(9, LARGE).unwrap_err(), S::PDH_INVALID_HANDLE);
}

#[test]
fn collect_returns_pdh_status() {
    use PdhStatus as S;
    let (mut machine, provider, mut query) = query(&[]);
    assert_eq!(query.collect_status(), S::PDH_NO_DATA, "nothing is asked");
    query.add(&mut machine, &r"\Test Set(a)\Size".parse().unwrap()).unwrap();
    assert_eq!(query.collect_status(), S::PDH_NO_DATA, "the only instance is not there");
    query.add(&mut machine, &r"\Test Set(b)\Bytes/sec".parse().unwrap()).unwrap();
    provider.with(|s| s.rows = vec![("b", 1, vec![Ok(2), Ok(3)])]);
    assert_eq!(query.collect_status(), S::PDH_CSTATUS_VALID_DATA, "one of two is, without a value yet");
}

#[test]
fn formats_and_scales_of_a_counter() {
    let (_machine, provider, mut query) = query(&[r"\Test Set(a)\Size"]);
    collect(&mut query, &provider, &[("a", 1, &[12_345])]);
    let number = |query: &PathQuery, bits| {
        query.formatted_value(0, Format::from_bits(bits).unwrap()).unwrap().number.unwrap()
    };
    assert_eq!(number(&query, 0x0200), Number::Double(12_345.0));
    for (power, want) in
        [(-8, Err(PdhStatus::PDH_INVALID_ARGUMENT)), (8, Err(PdhStatus::PDH_INVALID_ARGUMENT))]
    {
        assert_eq!(query.set_scale(0, power), want, "{power}");
    }
    assert_eq!(query.set_scale(1, 8), Err(PdhStatus::PDH_INVALID_HANDLE), "the handle comes first");
    query.set_scale(0, -2).unwrap();
    assert_eq!(number(&query, 0x0200), Number::Double(123.45));
    assert_eq!(number(&query, 0x0100), Number::Long(123));
    assert_eq!(number(&query, 0x1100), Number::Long(12_345));
    assert_eq!(number(&query, 0x2100), Number::Long(123_450));
    assert_eq!(query.info(0).unwrap()[0].scale.power(), -2);
    collect(&mut query, &provider, &[("a", 1, &[9_007_199_254_740_993])]);
    assert_eq!(number(&query, 0x1400), Number::Large(9_007_199_254_740_993), "every digit");
}

#[test]
fn counter_info_contains_scale_help_and_status() {
    let (mut machine, provider) = machine();
    provider.with(|s| {
        let mut set = Counterset::clone(&s.catalogue.countersets[0]);
        let counters = set.counters.to_mut();
        (counters[1].default_scale, counters[1].help) = (-3, "Bytes that pass.".into());
        s.catalogue = crate::Catalogue { origin: "Script".into(), countersets: vec![set.into()] }.into();
    });
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &r"\\H\test set(p/a#1)\bytes/SEC".parse().unwrap()).unwrap();
    query.add(&mut machine, &r"\Test Set(*)\#7".parse().unwrap()).unwrap();
    let info = |query: &PathQuery| query.info(0).unwrap().remove(0).c_status;
    // Columns are those of counters 3 and 7.
    assert_eq!(info(&query), PdhStatus::PDH_CSTATUS_ITEM_NOT_VALIDATED);
    assert_eq!(query.info(0).unwrap()[0].time_base, None, "known when there is a sample");
    collect(&mut query, &provider, &[("p/a", 1, &[2, 3])]);
    assert_eq!(info(&query), PdhStatus::PDH_CSTATUS_NO_INSTANCE);
    collect(&mut query, &provider, &[("p/a", 1, &[2, 3]), ("p/a", 2, &[5, 7])]);
    collect(&mut query, &provider, &[("p/a", 1, &[2, 3]), ("p/a", 2, &[11, 7])]);
    let infos = query.info(0).unwrap();
    let want = CounterInfo {
        counter: CounterId(3),
        counter_type: CounterType::PERF_COUNTER_BULK_COUNT,
        c_status: PdhStatus::PDH_CSTATUS_NEW_DATA,
        scale: Scale::ONE,
        default_scale: -3,
        path: r"\\H\Test Set(p/a#1)\Bytes/sec".parse().unwrap(),
        help: "Bytes that pass.",
        time_base: Some(1_000_000_000),
    };
    assert_eq!(infos, [want]);
    let name = infos[0].path.instance_name().unwrap().unwrap();
    assert_eq!((name.parent.as_deref(), name.name.as_str(), name.index), (Some("p"), "a", 1));
    assert_eq!(query.info(1).unwrap()[0].path.to_string(), r"\Test Set(*)\#7");
    assert_eq!(query.info(2), Err(PdhStatus::PDH_INVALID_HANDLE));
}

#[test]
fn statistics_of_a_ring() {
    use PdhStatus as S;
    let raw = |first, second| RawCounter { first, second, ..RawCounter::without_value(PdhStatus(0), 0) };
    let bad = RawCounter::without_value(S::PDH_CSTATUS_NO_INSTANCE, 0);
    let of = |counter_type, bits, first, ring: &[RawCounter]| {
        let calculation = Calculation::new(counter_type, 10, Format::from_bits(bits).unwrap()).unwrap();
        Statistics::from_ring(&calculation, first, ring).map(|s| {
            let [min, max, mean] =
                [s.min, s.max, s.mean()].map(|value| calculation.format().kind.number(value));
            (s.count, min, max, mean)
        })
    };
    use Number::{Double, Long};
    let (size, rate) = (CounterType::PERF_COUNTER_LARGE_RAWCOUNT, CounterType::PERF_COUNTER_BULK_COUNT);
    // The oldest is in the middle: 1, 6, 8, 16 events at 0, 10, 20, 30 ticks, ten a second.
    let ring = [raw(8, 20), raw(16, 30), raw(1, 0), raw(6, 10)];
    for (name, counter_type, bits, first, ring, want) in [
        (
            "raw counts, all of them",
            size,
            0x0200,
            2,
            &ring[..],
            Ok((4, Double(1.0), Double(16.0), Double(7.75))),
        ),
        ("rates, one less", rate, 0x0200, 2, &ring, Ok((3, Double(2.0), Double(8.0), Double(5.0)))),
        ("whole numbers", size, 0x0100, 2, &ring, Ok((4, Long(1), Long(16), Long(7)))),
        ("thousandfold", size, 0x2100, 2, &ring, Ok((4, Long(1_000), Long(16_000), Long(7_750)))),
        ("from another one", rate, 0x0200, 0, &ring, Ok((2, Double(5.0), Double(8.0), Double(6.5)))),
        (
            "one bad of four",
            size,
            0x0200,
            0,
            &[ring[0], bad, ring[2], ring[3]],
            Ok((3, Double(1.0), Double(8.0), Double(5.0))),
        ),
        (
            "two pairs less",
            rate,
            0x0200,
            0,
            &[ring[2], bad, ring[3], ring[0]],
            Ok((1, Double(2.0), Double(2.0), Double(2.0))),
        ),
        ("one, and a rate", rate, 0x0200, 0, &ring[..1], Err(S::PDH_INVALID_DATA)),
        ("all bad", size, 0x0200, 0, &[bad, bad], Err(S::PDH_INVALID_DATA)),
        ("none", size, 0x0200, 0, &[], Err(S::PDH_INVALID_ARGUMENT)),
        ("outside", size, 0x0200, 4, &ring, Err(S::PDH_INVALID_ARGUMENT)),
    ] {
        assert_eq!(of(counter_type, bits, first, ring), want, "{name}");
    }
}

#[test]
fn paths_for_readers_of_paths_of_pdh() {
    let (_machine, provider, mut query) = query(&[r"\Test Set(*)\Size"]);
    collect(&mut query, &provider, &[(r"Net(R) #2 a/b\c", 1, &[2]), ("x", 2, &[3]), ("x", 3, &[5])]);
    let paths: Vec<_> = query.values().iter().map(|v| v.pdh_path(Some("H")).to_string()).collect();
    assert_eq!(
        paths,
        [r"\\H\Test Set(Net[R] _2 a_b_c)\Size", r"\\H\Test Set(x)\Size", r"\\H\Test Set(x#1)\Size"]
    );
    let (mut machine, _) = machine();
    let mut query = PathQuery::open(&mut machine).unwrap();
    query.add(&mut machine, &r"\Perfset Engine\Collections/sec".parse().unwrap()).unwrap();
    query.collect().unwrap();
    assert_eq!(query.values()[0].pdh_path(None).to_string(), r"\Perfset Engine\Collections/sec");
}

/// Values computed from a real machine's raw counters equal those of the query, also with the objects' own clocks.
#[test]
fn raw_counters_of_a_real_machine() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/v1/windows-vista");
    let format = Format { no_cap: true, ..Format::new(FormatKind::Double) };
    let (mut with_value, mut without) = (0, 0);
    for object in [2, 4, 230, 234, 236, 238, 510, 638] {
        let blocks = [0, 1]
            .map(|sample| std::fs::read(folder.join(format!("object{object}-sample{sample}.bin"))).unwrap());
        let (mut source, _) = crate::v1::Blocks::new(blocks.into(), None, visit::Mode::Strict).unwrap();
        let guid = source.countersets().unwrap()[0];
        let single = source.machine().counterset(&guid).unwrap().instance_type == InstanceType::Single;
        let path = if single { format!(r"\{guid}\*") } else { format!(r"\{guid}(*)\*") };
        let mut query = PathQuery::open(&mut source).unwrap();
        query.add(&mut source, &path.parse().unwrap()).unwrap();
        query.collect().unwrap();
        let key =
            |v: &PathValue<'_>| (Utf16::from(v.value.instance), v.value.instance_id, v.value.counter.id);
        let before = query.values();
        let before: std::collections::HashMap<_, _> =
            before.iter().map(key).zip(query.raw_counters(&before)).collect();
        query.collect().unwrap();
        let infos = query.info(0).unwrap();
        let values = query.values();
        for (v, raw) in values.iter().zip(query.raw_counters(&values)) {
            let info = infos.iter().find(|info| info.counter == v.value.counter.id).unwrap();
            let what = format!("{path} {} {}", v.value.instance, info.path.counter);
            let calculation = Calculation::new(info.counter_type, info.time_base.unwrap(), format).unwrap();
            let got = calculation.value(&raw, before.get(&key(v)));
            match &v.value.value {
                Ok(value) => {
                    assert_eq!(got.number, Some(Number::Double(value.nocap())), "{what}");
                    with_value += 1;
                }
                Err(reason) => {
                    assert_eq!(got, CounterValue::without_value(PdhStatus::from(reason)), "{what}");
                    without += 1;
                }
            }
        }
    }
    // Those of the table beside the blocks, without the bases.
    assert_eq!((with_value, without), (1652, 12));
}
