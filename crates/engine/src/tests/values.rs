//! Tests of values by their formulas, and of the clocks of countersets.

use perfset_core::sample::Clocks;
use proptest::prelude::*;

use super::*;

/// Formulas of a counterset with its own clock divide by that clock.
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

/// Formulas of a counter with its own clock divide by that clock, whichever clock the counter type names.
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
fn multi_timers_take_their_items_from_another_counter() {
    let mut counted = set(SINGLE, InstanceType::Single);
    counted.counters.to_mut().truncate(2);
    counted.counters.to_mut()[0] =
        counter(7, "Activity", CounterType::PERF_100NSEC_MULTI_TIMER, None).multi(CounterId(3));
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

/// Returns a counterset with counters of many types; the last five are bases, and a clock with its frequency.
fn many_types() -> Counterset {
    type T = CounterType;
    let mut all = set(SINGLE, InstanceType::Single);
    let based = |id, name, t, base: u32| counter(id, name, t, Some(base));
    let unwrapped = |id, name, t| counter(id, name, t, None).wraps(false);
    let clocked = |id, name, t, base| counter(id, name, t, base).clock(CounterId(23), CounterId(24));
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
        clocked(30, "Bulk by it", T::PERF_COUNTER_BULK_COUNT, None),
        clocked(31, "Timer by it", T::PERF_COUNTER_TIMER, None),
        clocked(32, "100 ns timer by it", T::PERF_100NSEC_TIMER_INV, None),
        clocked(33, "Object's timer by it", T::PERF_OBJ_TIME_TIMER, None),
        clocked(34, "Wrapping by it", T::PERF_COUNTER_COUNTER, None),
        clocked(35, "Time by it", T::PERF_AVERAGE_TIMER, Some(21)),
        clocked(36, "Share by it", T::PERF_LARGE_RAW_FRACTION, Some(22)),
        clocked(37, "Age by it", T::PERF_ELAPSED_TIME, None),
        clocked(38, "Activity by it", T::PERF_COUNTER_MULTI_TIMER, None).multi(CounterId(22)),
        counter(20, "", T::PERF_AVERAGE_BASE, None),
        unwrapped(21, "", T::PERF_AVERAGE_BASE),
        counter(22, "", T::PERF_LARGE_RAW_BASE, None),
        counter(23, "", T::PERF_COUNTER_LARGE_RAWCOUNT, None),
        counter(24, "", T::PERF_COUNTER_LARGE_RAWCOUNT, None),
    ]
    .into();
    all
}

proptest! {
    /// Values of a snapshot equal those of the formulas for single samples, in whichever way they are iterated.
    #[test]
    fn values_are_those_of_the_formulas(
        old in proptest::collection::vec(prop_oneof![0..9_u64, any::<u64>()], 27),
        new in proptest::collection::vec(prop_oneof![0..9_u64, any::<u64>()], 27),
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
        prop_assert_eq!(folded.len(), 27);

        let older: Vec<_> = old.values(None).collect();
        let clocks = |of: &Value<'_>, snapshot: &Snapshot| {
            let block = Clocks::from(snapshot.clocks());
            if of.counter.perf_time.is_none() {
                return block;
            }
            let raw = |id| snapshot.values(None).find(|v| v.counter.id == CounterId(id)).and_then(|v| v.raw);
            let ticks = |id| raw(id).map_or(0, |raw| i64::try_from(raw.get()).unwrap_or(i64::MAX));
            block.with(of.counter.counter_type.decode().clock, ticks(23), ticks(24))
        };
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
                clocks: clocks(of, snapshot),
            });
            let want = match sample(&value, &new) {
                None => Err(NoValue::Late),
                Some(now) => formula::format(sample(&older, &old).as_ref(), &now),
            };
            prop_assert_eq!(&value.value, &want, "{}", value.counter.name.as_deref().unwrap_or("-"));
        }
    }
}
