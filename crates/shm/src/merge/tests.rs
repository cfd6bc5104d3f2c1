use perfset_core::CounterType as T;
use perfset_core::DetailLevel;

use super::*;

const GUID: Guid = Guid::from_u128(0x0203_0507_1113_1719_2329_3137_4143_4753);

fn counter(id: u32, name: &str, counter_type: T) -> Counter {
    Counter::published(CounterId(id), counter_type).name(name.to_owned())
}

fn gauge(id: u32, name: &str) -> Counter {
    counter(id, name, T::PERF_COUNTER_LARGE_RAWCOUNT)
}

fn count(id: u32, name: &str) -> Counter {
    counter(id, name, T::PERF_COUNTER_BULK_COUNT)
}

/// Returns a timer counter and its base, which has the next id.
fn timer(id: u32, name: &str) -> [Counter; 2] {
    let base = CounterId(id + 1);
    let hidden = Attributes::NO_DISPLAYABLE;
    [
        counter(id, name, T::PERF_AVERAGE_TIMER).base(base),
        counter(base.0, "", T::PERF_AVERAGE_BASE).attributes(hidden),
    ]
}

fn age(id: u32) -> Counter {
    counter(id, "Age", T::PERF_ELAPSED_TIME)
}

/// Returns counters as an exported manifest has them, with two clocks after all others.
fn with_clocks(counters: &[Counter]) -> Vec<Counter> {
    let last = counters.last().unwrap().id.0;
    let [time, freq] = [last + 1, last + 2].map(CounterId);
    let clocked = |counter: &Counter| match counter.counter_type {
        T::PERF_ELAPSED_TIME => counter.clone().clock(time, freq),
        _ => counter.clone(),
    };
    let clock = |id: CounterId| gauge(id.0, "").hidden();
    counters.iter().map(clocked).chain([clock(time), clock(freq)]).collect()
}

fn set(counters: impl Into<Vec<Counter>>) -> Arc<Counterset> {
    Arc::new(
        Counterset::new(GUID, "Shop", InstanceType::Multiple)
            .provider(Guid::NIL, "Shop")
            .counters(counters.into() as Vec<Counter>),
    )
}

/// Returns a counterset as a template in C has it, without names.
fn template(counters: impl Into<Vec<Counter>>) -> Arc<Counterset> {
    let bare = |counter: Counter| {
        Counter::published(counter.id, counter.counter_type)
            .attributes(counter.attributes)
            .detail(DetailLevel::NOVICE)
    };
    let counters: Vec<Counter> = counters.into().into_iter().map(bare).collect();
    let mut set = Counterset::clone(&set(counters));
    set.name = "".into();
    Arc::new(set)
}

fn merged(registered: Option<&Arc<Counterset>>, programs: &[&Arc<Counterset>]) -> Merged {
    let part = |(at, set)| Part { set, by: format!("program[{at}]"), is_trusted: true };
    let parts: Vec<Part<'_>> = (1..).zip(programs.iter().copied()).map(part).collect();
    merge(registered, &parts).unwrap()
}

fn ids(set: &Counterset) -> Vec<u32> {
    set.counters.iter().map(|counter| counter.id.0).collect()
}

/// Result for one program: ids of its served counters, and its left-out counters with reasons.
type Of = (Vec<u32>, Vec<(u32, String)>);

/// Returns for each program the ids of its served counters, and its left-out counters with their reasons.
fn served(merged: &Merged) -> Vec<Of> {
    let of = |fit: &Fitting| {
        let fit = fit.as_ref().unwrap();
        let ids = merged.set.counters.iter().map(|counter| counter.id);
        let had = ids.filter(|id| fit.index(*id).is_ok()).map(|id| id.0).collect();
        (had, fit.left_out.iter().map(|(id, why)| (id.0, why.to_string())).collect())
    };
    merged.fits.iter().map(of).collect()
}

#[test]
fn one_definition_stays_as_it_is() {
    let one = set([count(1, "Orders/sec"), age(2)]);
    for merged in [merged(None, &[&one, &one]), merged(Some(&one), &[&one]), merged(Some(&one), &[])] {
        assert!(Arc::ptr_eq(&merged.set, &one));
        assert!(served(&merged).iter().all(|(ids, left_out)| *ids == [1, 2] && left_out.is_empty()));
    }
}

#[test]
fn versions_in_both_orders() {
    let first: Vec<Counter> = [count(1, "Orders/sec")].into_iter().chain(timer(2, "Latency")).collect();
    let second: Vec<Counter> =
        first.iter().cloned().chain([gauge(4, "Waiting")]).chain(timer(5, "Size")).collect();
    let (one, two) = (set(first), set(second));
    let (few, all) = (vec![1, 2, 3], vec![1, 2, 3, 4, 5, 6]);
    for (registered, programs, had) in [
        (None, [&one, &two], [few.clone(), all.clone()]),
        (None, [&two, &one], [all.clone(), few.clone()]),
        (Some(&one), [&two, &one], [all.clone(), few.clone()]),
        (Some(&two), [&one, &two], [few.clone(), all.clone()]),
    ] {
        let merged = merged(registered, &programs);
        assert_eq!(ids(&merged.set), all);
        assert_eq!(*merged.set, *two, "each counter is as its program says it");
        assert_eq!(served(&merged), had.map(|ids| (ids, vec![])));
    }
    assert_eq!(ids(&merged(Some(&one), &[&one]).set), few);
    assert_eq!(
        ids(&merged(Some(&two), &[&one]).set),
        all,
        "registered counters stay without a program that has them"
    );
}

/// Checks that merging leaves out only a counter with another meaning than the known counter of its id or name.
#[test]
fn only_what_contradicts_is_left_out() {
    let base =
        || [vec![count(1, "Orders/sec")], timer(2, "Latency").to_vec(), vec![gauge(4, "Waiting")]].concat();
    let one = set(base());
    type Case<'a> = (&'a str, Vec<Counter>, Vec<u32>, Vec<(u32, &'a str)>, Vec<u32>);
    let cases: [Case<'_>; 9] = [
        (
            "another type",
            vec![gauge(1, "Orders/sec"), gauge(4, "Waiting")],
            vec![4],
            vec![(
                1,
                "the program has it as PERF_COUNTER_LARGE_RAWCOUNT, and program[1] as PERF_COUNTER_BULK_COUNT",
            )],
            vec![1, 2, 3, 4],
        ),
        (
            "another base",
            vec![
                timer(2, "Latency")[0].clone().base(CounterId(7)),
                timer(6, "")[1].clone(),
                gauge(4, "Waiting"),
            ],
            vec![4, 7],
            vec![(2, "its base is counter 7 in the program, and counter 3 in program[1]")],
            vec![1, 2, 3, 4, 7],
        ),
        (
            "a base of another type",
            vec![count(1, "Orders/sec"), timer(2, "Latency")[0].clone(), gauge(3, "Base")],
            vec![1],
            vec![(2, "computed with counter 3, which is left out"), (3, "the program has it as")],
            vec![1, 2, 3, 4],
        ),
        (
            "one put into the middle, so that ids are others",
            vec![count(1, "Orders/sec"), gauge(4, "Refused"), gauge(5, "Waiting")],
            vec![1],
            vec![
                (4, "program[1] calls it \"Waiting\", which is counter 5 of the program"),
                (5, "its name is that of counter 4 of program[1]"),
            ],
            vec![1, 2, 3, 4],
        ),
        (
            "one taken from the front",
            vec![gauge(3, "Latency"), count(4, "Waiting")],
            vec![],
            vec![(3, "the program has it as"), (4, "the program has it as")],
            vec![1, 2, 3, 4],
        ),
        (
            "one taken out of the middle",
            vec![count(1, "Orders/sec"), gauge(4, "orders/SEC ")],
            vec![1],
            vec![(4, "the program calls it \"orders/SEC \", which is counter 1 of program[1]")],
            vec![1, 2, 3, 4],
        ),
        ("another name", vec![gauge(4, "Waiting Orders")], vec![4], vec![], vec![1, 2, 3, 4]),
        ("capitals", vec![gauge(4, "WAITING")], vec![4], vec![], vec![1, 2, 3, 4]),
        ("nothing in common", vec![gauge(9, "Other")], vec![9], vec![], vec![1, 2, 3, 4, 9]),
    ];
    for (case, counters, had, left_out, all) in cases {
        let two = set(counters);
        let merged = merged(None, &[&one, &two]);
        assert_eq!(ids(&merged.set), all, "{case}");
        let [(first, none), (second, reasons)] = served(&merged).try_into().unwrap();
        assert_eq!((first, none.len()), (vec![1, 2, 3, 4], 0), "{case}");
        assert_eq!(second, had, "{case}");
        assert_eq!(reasons.len(), left_out.len(), "{case}: {reasons:?}");
        for ((id, why), (expected, says)) in reasons.iter().zip(left_out) {
            assert!(*id == expected && why.contains(says), "{case}: counter {id}: {why}");
        }
        let renamed = &merged.fits[1].as_ref().unwrap().renamed;
        assert_eq!(renamed.len(), usize::from(case == "another name"), "{case}: {renamed:?}");
        assert!(renamed.iter().all(|text| text.contains("\"Waiting Orders\" is shown as \"Waiting\"")));
    }
    let mut single = Counterset::clone(&one);
    single.instance_type = InstanceType::Single;
    let single = Arc::new(single);
    let merged = merged(None, &[&one, &single]);
    let why = merged.fits[1].as_ref().unwrap_err();
    assert!(why.contains("one instance") && why.contains("several"), "{why}");
}

/// Checks that clock counters which an export adds hide no counter: neither a counter that needs such a clock, nor a
/// later version's counter of the same id.
#[test]
fn clocks_that_an_export_adds() {
    let one = vec![count(1, "Orders/sec"), age(2)];
    let two = [one.clone(), vec![count(3, "Refused/sec"), gauge(4, "Waiting")]].concat();
    let (manifest, one, two) = (set(with_clocks(&one)), set(one), set(two));
    let alone = merged(Some(&manifest), &[&one]);
    assert_eq!(*alone.set, *one, "as the program computes it");
    assert_eq!(served(&alone), [(vec![1, 2], vec![])]);
    for programs in [[&one, &two], [&two, &one]] {
        let merged = merged(Some(&manifest), &programs);
        assert_eq!(*merged.set, *two);
        assert!(served(&merged).iter().all(|(_, left_out)| left_out.is_empty()), "{:?}", served(&merged));
    }
    assert!(Arc::ptr_eq(&merged(Some(&manifest), &[]).set, &manifest), "nobody runs");

    // A program that has them has them.
    let clocked = set(with_clocks(&one.counters));
    assert_eq!(*merged(Some(&manifest), &[&clocked]).set, *manifest);
    let mixed = merged(Some(&manifest), &[&one, &clocked]);
    let [_, (had, left_out)] = served(&mixed).try_into().unwrap();
    assert_eq!((had, left_out.len()), (vec![1, 3, 4], 1));
    assert!(
        left_out[0].1.contains("its clock is counter 3 in the program, and none in program[1]"),
        "{left_out:?}"
    );

    // So has one in C, whose template does not say which counters are clocks.
    let in_c = template(with_clocks(&one.counters));
    let merged = merged(Some(&manifest), &[&in_c]);
    assert_eq!((&*merged.set, served(&merged)), (&*manifest, vec![(vec![1, 2, 3, 4], vec![])]));
}

#[test]
fn templates() {
    let known = [vec![count(1, "Orders/sec")], timer(2, "Latency").to_vec()].concat();
    let registered = set(known.clone());
    let same = template(known);
    assert_eq!(served(&merged(Some(&registered), &[&same])), [(vec![1, 2, 3], vec![])]);
    let other = template([count(1, ""), gauge(2, ""), gauge(9, "")]);
    for merged in [merged(Some(&registered), &[&other]), merged(None, &[&other, &registered])] {
        assert_eq!(*merged.set, *registered, "R-40: it adds nothing");
        let (had, left_out) = served(&merged).remove(0);
        assert_eq!((had, left_out.len()), (vec![1], 2));
        assert!(left_out[1].1.contains("it has no name and is not registered"), "{left_out:?}");
    }
}

#[test]
fn strangers_add_a_few_counters() {
    let own = set([gauge(1, "Level")]);
    let many: Vec<Counter> = (0..1000).map(|id| gauge(id, &format!("Level {id}"))).collect();
    let many = set(many);
    let parts = [
        Part { set: &own, by: "own".into(), is_trusted: true },
        Part { set: &many, by: "stranger".into(), is_trusted: false },
        Part { set: &many, by: "stranger".into(), is_trusted: false },
    ];
    let merged = merge(None, &parts).unwrap();
    assert_eq!(merged.set.counters.len(), 1 + OF_STRANGERS);
    assert_eq!(served(&merged)[2].1.len(), 1000 - 1 - OF_STRANGERS);
    let text = LeftOut::text(&merged.fits[1].as_ref().unwrap().left_out(&many));
    assert!(text.starts_with("counterset \"Shop\" 02030507-"), "{text}");
    assert!(text.ends_with("; and 740 more of its counters are"), "{text}");
    assert!(text.len() < 1000, "{text}");
}

/// Checks merges of randomly generated counterset definitions. Served counters have the type, base and clock of their
/// program, no id is served twice, and left-out counters have a reason.
#[test]
fn any_definitions() {
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = move |end: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % end
    };
    let names = ["", "A", "B", "a ", "C", "D"];
    let types =
        [T::PERF_COUNTER_BULK_COUNT, T::PERF_AVERAGE_BASE, T::PERF_AVERAGE_TIMER, T::PERF_ELAPSED_TIME];
    for round in 0..3000 {
        let mut definition = || {
            let ids: HashSet<u32> = (0..=below(5)).map(|_| u32::try_from(below(7)).unwrap()).collect();
            let mut pick = |end: usize| usize::try_from(below(u64::try_from(end).unwrap())).unwrap();
            let counters: Vec<Counter> = ids
                .into_iter()
                .map(|id| {
                    let mut other = || [None, Some(CounterId(u32::try_from(pick(7)).unwrap()))][pick(2)];
                    let (base, perf_time) = (other(), other());
                    counter(id, names[pick(6)], types[pick(4)]).base(base).clock(perf_time, None)
                })
                .collect();
            match below(6) {
                0 => template(counters),
                _ => set(counters),
            }
        };
        let registered = Some(set(definition().counters.to_vec())).filter(|_| round % 2 == 0);
        let programs: Vec<Arc<Counterset>> = (0..4).map(|_| definition()).collect();
        let merged = merged(registered.as_ref(), &programs.iter().collect::<Vec<_>>());
        let all: HashSet<u32> = ids(&merged.set).into_iter().collect();
        assert_eq!(all.len(), merged.set.counters.len(), "round {round}");
        for (program, fit) in programs.iter().zip(&merged.fits) {
            let fit = fit.as_ref().unwrap();
            let left_out: HashSet<CounterId> = fit.left_out.iter().map(|(id, _)| *id).collect();
            for (place, counter) in program.counters.iter().enumerate() {
                let is_left_out = left_out.contains(&counter.id);
                let known = merged.set.counter(counter.id);
                match fit.index(counter.id) {
                    Ok(at) => {
                        let known = known.unwrap();
                        assert_eq!((at, known.counter_type), (place, counter.counter_type), "round {round}");
                        assert!(!is_left_out, "round {round}");
                        if is_described(program) {
                            let relations = |c: &Counter| (c.base, c.multi, c.perf_time, c.perf_freq);
                            assert_eq!(relations(known), relations(counter), "round {round}");
                        }
                    }
                    Err(why) => assert!(why.is_some() && is_left_out, "round {round}"),
                }
            }
            let lacking = merged.set.counters.iter().filter(|known| program.counter(known.id).is_none());
            assert!(lacking.clone().all(|known| fit.index(known.id) == Err(None)), "round {round}");
        }
    }
}
