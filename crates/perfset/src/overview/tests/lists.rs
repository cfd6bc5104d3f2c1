//! Tests of the overview's lists over scripted machines, against a plain reading of all values.

use std::collections::HashSet;

use crate::overview::paths::{self, uncapped};
use crate::overview::{Overview, name, number};
use crate::path::PathValue;
use crate::testing::{FixedClock, Scripted};
use crate::{Machine, NoValue, catalogue};

/// Function that returns a process's use, in the order of a list, for a value of the process.
type Use<'a> = &'a dyn Fn(&PathValue<'_>) -> f64;

/// Row of a scripted provider: name, id and values.
type ScriptedRow = (&'static str, u32, Vec<Result<u64, NoValue>>);

/// Checks that lists of processes, their count and the sum of their times equal those of a plain visit of all values.
#[test]
fn processes_are_ranked_as_all_their_values() {
    let mut machine = Machine::new(Box::new(FixedClock::default()));
    let provider = |set: &crate::Counterset| {
        let provider = Scripted::new(vec![set.clone()]);
        machine.register(Box::new(provider.clone()));
        provider
    };
    let (v2, linux) =
        (provider(&catalogue::process_v2::COUNTERSET), provider(&catalogue::linux_process::COUNTERSET));
    let mut overview = Overview::open(&mut machine).unwrap();
    let names: Vec<&'static str> = (0..60).map(|at| &*format!("p:{at}").leak()).collect();
    // A small generator, so that each sample has other processes in other orders, and equal values.
    let mut seed = 7_u64;
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let denied = || Err(NoValue::Denied("io".into()));
    for sample in 0..12_u64 {
        let (mut times, mut bytes) = (vec![("Idle", 0, vec![Ok(9), Ok(9), Ok(9)])], Vec::new());
        for (id, name) in (0..).zip(&names).filter(|_| next(5) > 0).collect::<Vec<_>>() {
            let (time, memory) = (sample * 1_000 * u64::from(id % 7), next(9) * 4_096);
            times.push((*name, id, vec![Ok(time), Ok(memory), Ok(1)]));
            let io = [next(3) * sample, next(2) * sample]
                .map(|count| if id % 11 == 3 { denied() } else { Ok(count) });
            bytes.push((*name, id, io.to_vec()));
        }
        times.push(("_Total", u32::MAX, vec![Ok(1_000_000), Ok(1_000_000), Ok(1)]));
        bytes.push(("_Total", u32::MAX, vec![Ok(1_000_000), Ok(1_000_000)]));
        v2.with(|script| script.rows = times);
        linux.with(|script| script.rows = bytes);
        overview.collect().unwrap();
        let state = overview.state(4);

        let (query, paths) = (&overview.process_query, &overview.process_paths);
        let all = query.values();
        let of = |path: &paths::BoundPath| -> Vec<_> {
            let single = all.iter().filter(|v| v.path == *path.as_ref().unwrap());
            single.filter(|v| !["Idle", "_Total"].contains(&&*name(v))).collect()
        };
        let found = |path: &paths::BoundPath, name_of: &str| {
            of(path).into_iter().find(|v| name(v) == name_of).map(|v| uncapped(v)).unwrap()
        };
        let mut want: Vec<String> = Vec::new();
        let written = |v: &PathValue<'_>| found(&paths.written, &name(v)).unwrap_or(0.0);
        let ranked: [(_, Use<'_>); 3] = [
            (&paths.time, &|v| number(v)),
            (&paths.memory, &|v| number(v)),
            (&paths.read, &|v| number(v) + written(v)),
        ];
        for (path, number) in ranked {
            let mut rows = of(path);
            rows.retain(|v| number(v) > 0.0);
            rows.sort_by(|a, b| number(b).total_cmp(&number(a)));
            want.extend(rows.into_iter().take(4).map(name));
        }
        let mut seen = HashSet::new();
        want.retain(|name| seen.insert(name.clone()));
        assert_eq!(state.processes.iter().map(|process| process.name.clone()).collect::<Vec<_>>(), want);
        for process in &state.processes {
            let of = |path| found(path, &process.name);
            assert_eq!(process.processor_time, of(&paths.time));
            assert_eq!((&process.memory, &process.age), (&of(&paths.memory), &of(&paths.age)));
            assert_eq!((&process.read, &process.written), (&of(&paths.read), &of(&paths.written)));
        }
        assert_eq!(state.process_count, Ok(f64::from(u32::try_from(of(&paths.time).len()).unwrap())));
        let sum: Option<f64> =
            of(&paths.time).into_iter().filter_map(|v| uncapped(v).ok()).reduce(|a, b| a + b);
        assert_eq!(state.process_time.ok(), sum);
        let refused =
            of(&paths.read).iter().filter(|v| v.value.value == denied().map(|_: u64| unreachable!())).count();
        assert_eq!(state.refused.map_or(0, |(count, _)| count), refused);
    }
}

/// Checks the space of file systems in bytes; the counters of Windows are in megabytes, those of Linux in bytes.
#[test]
fn file_systems_of_windows_have_megabytes() {
    let sizes = |rows: Vec<ScriptedRow>| {
        let mut machine = Machine::new(Box::new(FixedClock::default()));
        let provider = Scripted::new(vec![catalogue::logical_disk::COUNTERSET.clone()]);
        machine.register(Box::new(provider.clone()));
        provider.with(|script| script.rows = rows);
        let mut overview = Overview::open(&mut machine).unwrap();
        overview.collect().unwrap();
        let file_systems = overview.state(1).file_systems.into_iter();
        file_systems.map(|one| (one.name, one.free.unwrap(), one.size.unwrap())).collect::<Vec<_>>()
    };
    let row = |name, free, size, megabytes| (name, 0, [free, size, megabytes].map(Ok).to_vec());
    const MIB: f64 = 1_048_576.0;
    // A full drive has the unit of the others.
    assert_eq!(
        sizes(vec![row("C:", 700, 4_000, 700), row("D:", 0, 9_000, 0)]),
        [("D:".into(), 0.0, 9_000.0 * MIB), ("C:".into(), 700.0 * MIB, 4_000.0 * MIB)]
    );
    assert_eq!(
        sizes(vec![row("/", 3_000_000, 4_000_000, 2), row("/full", 0, 9_000, 0)]),
        [("/full".into(), 0.0, 9_000.0), ("/".into(), 3_000_000.0, 4_000_000.0)]
    );
}
