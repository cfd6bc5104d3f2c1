//! Logs of several machines, read once for all of them.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use perfset_engine::{Catalogue, QueryHandle, Replay, Source, SourceError};

use super::merged::MergedLogs;
use super::{LogPlayer, Logs, OpenError};

/// Logs opened once for several machines: a source for each machine, and queries that read the logs together.
///
/// A log can have counters of thousands of machines. A query of [`Logs::open`](perfset_engine::Source::open) reads
/// the whole log for one machine. [`queries`](Self::queries) reads it once for all machines.
///
/// ```
/// use perfset::{NextOutcome, path::PathQuery};
/// use perfset::log::Logs;
///
/// let log = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\A\\Memory\\Pages/sec\",\"\\\\B\\Memory\\Pages/sec\"\n\
///            \"11/05/2026 10:00:00.000\",\"12.5\",\"40\"\n";
/// let logs = Logs::from_bytes(log.as_bytes())?.for_machines(&["a", "b"])?;
/// let mut values = Vec::new();
/// for (mut logs, query) in logs.iter().zip(logs.queries()?) {
///     let mut query = PathQuery::from_handle(query);
///     query.add(&mut logs, &r"\Memory\Pages/sec".parse()?)?;
///     assert_eq!(query.collect()?, NextOutcome::Sample);
///     values.push(query.values()[0].value.value.clone()?.raw);
/// }
/// assert_eq!(values, [12.5, 40.0]);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct MachineLogs {
    all: Logs,
    machines: Arc<[KnownMachine]>,
}

/// Machine of the logs, as known before the first sample.
struct KnownMachine {
    name: Arc<str>,
    catalogue: Arc<Catalogue>,
    is_steady: bool,
}

impl fmt::Debug for MachineLogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.machines.iter().map(|machine| &*machine.name).collect();
        f.debug_struct("MachineLogs").field("all", &self.all).field("machines", &names).finish()
    }
}

impl Logs {
    /// Returns the same logs with the counters of several machines. Names have no backslashes, and names that differ
    /// only in case are one machine. The logs are read up to their first sample, once for all machines.
    ///
    /// # Errors
    /// If a file has been removed meanwhile.
    pub fn for_machines(&self, names: &[impl AsRef<str>]) -> Result<MachineLogs, OpenError> {
        let Some(logs) = self.merged() else {
            // A recording has one machine.
            return Ok(MachineLogs { all: self.clone(), machines: [].into() });
        };
        let known: HashMap<String, &str> =
            logs.machines().iter().map(|name| (name.to_ascii_lowercase(), name.as_str())).collect();
        let mut distinct = HashSet::new();
        let mut spelled: Vec<Arc<str>> = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            let folded = name.to_ascii_lowercase();
            let name = known.get(&folded).copied().unwrap_or(name);
            if distinct.insert(folded) {
                spelled.push(name.into());
            }
        }
        let unknown = spelled.iter().map(|name| (Arc::clone(name), Arc::default()));
        let mut deck = MergedLogs::open(&logs.selection, unknown, Arc::default())?;
        let machines = spelled.into_iter().enumerate().map(|(machine, name)| {
            let (catalogue, is_steady) = (deck.catalogue(machine), deck.is_steady(machine));
            KnownMachine { name, catalogue, is_steady }
        });
        Ok(MachineLogs { all: self.clone(), machines: machines.collect() })
    }
}

impl MachineLogs {
    /// Returns the logs of each machine, in the order of the requested names.
    pub fn iter(&self) -> impl Iterator<Item = Logs> {
        let merged = self.all.merged();
        let recording = merged.is_none().then(|| self.all.clone());
        let of_machines = merged.into_iter().flat_map(|logs| {
            self.machines.iter().map(move |KnownMachine { name, catalogue, is_steady }| {
                let selection = logs.selection.for_machine(Arc::clone(name));
                Logs::from(logs.resting(selection, Arc::clone(catalogue), *is_steady))
            })
        });
        recording.into_iter().chain(of_machines)
    }

    /// Returns the logs as they were opened, with the counters of one machine.
    #[must_use]
    pub fn all(&self) -> &Logs {
        &self.all
    }

    /// Returns `true` if all samples of the logs have the same instances on each machine; see [`Logs::is_steady`].
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.all.merged().is_some_and(|logs| logs.selection.inputs.len() == 1)
            && self.machines.iter().all(|machine| machine.is_steady)
    }

    /// Returns an empty query of each machine, in the order of [`iter`](Self::iter). The queries read the logs
    /// together: the first query that is advanced reads the next sample, and the other queries take their values from
    /// it. So advance each query once per sample. A query that is behind continues at the current sample.
    ///
    /// # Errors
    /// If a file has been removed meanwhile.
    pub fn queries(&self) -> Result<Vec<Box<dyn QueryHandle>>, SourceError> {
        let Some(logs) = self.all.merged() else { return Ok(vec![self.all.clone().open()?]) };
        let known =
            self.machines.iter().map(|machine| (Arc::clone(&machine.name), Arc::clone(&machine.catalogue)));
        let deck = MergedLogs::open(&logs.selection, known, Arc::clone(&logs.damages))?;
        let deck = Arc::new(Mutex::new(deck));
        let query = |machine| -> Box<dyn QueryHandle> {
            Box::new(Replay::new(LogPlayer { deck: Arc::clone(&deck), machine }))
        };
        Ok((0..self.machines.len()).map(query).collect())
    }
}

#[cfg(test)]
mod tests {
    use perfset_engine::path::PathQuery;
    use perfset_engine::{NextOutcome, Source, Window};

    use super::super::tests::built;
    use super::*;
    use crate::blg::building::{entry, one, several};

    /// Returns a text log of three samples with a column for each machine.
    fn columns(machines: usize) -> String {
        let mut log = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
        log.extend((0..machines).map(|n| format!(r#","\\m{n}\Set(p)\Counter""#)));
        for second in 0..3 {
            log.push_str(&format!("\r\n\"11/05/2026 10:00:{second:02}.000\""));
            log.extend((0..machines).map(|n| format!(",\"{}\"", n * 10 + second)));
        }
        log
    }

    /// Returns the times and values of each machine in the logs, from queries that advance together.
    fn together(logs: &MachineLogs) -> Vec<Vec<String>> {
        let mut queries: Vec<PathQuery> = (logs.iter().zip(logs.queries().unwrap()))
            .map(|(mut logs, query)| {
                let mut query = PathQuery::from_handle(query);
                for path in logs.paths() {
                    query.add(&mut logs, &path).unwrap();
                }
                query
            })
            .collect();
        let mut all = vec![Vec::new(); queries.len()];
        loop {
            let mut ends = 0;
            for (query, values) in queries.iter_mut().zip(&mut all) {
                match query.collect().unwrap() {
                    NextOutcome::Sample => values.extend(sample(query)),
                    NextOutcome::End => ends += 1,
                }
            }
            assert!(ends == 0 || ends == queries.len(), "all end at once");
            if ends > 0 || queries.is_empty() {
                return all;
            }
        }
    }

    /// Returns the times and values of a query that reads the logs alone.
    fn alone(mut logs: Logs) -> Vec<String> {
        let mut query = PathQuery::open(&mut logs).unwrap();
        for path in logs.paths() {
            query.add(&mut logs, &path).unwrap();
        }
        let mut values = Vec::new();
        while query.collect().unwrap() == NextOutcome::Sample {
            values.extend(sample(&query));
        }
        values
    }

    fn sample(query: &PathQuery) -> Vec<String> {
        let time = query.snapshot().clocks().time_100ns;
        query.values().iter().map(|v| format!("{time} {} {:?}", v.own_path(None), v.value.value)).collect()
    }

    fn binary() -> Vec<u8> {
        let list = [
            entry(0, perfset_core::CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, r"\\A\Thing(x)\Number"),
            entry(1, perfset_core::CounterType::PERF_COUNTER_BULK_COUNT, 50, r"\\b\Thing(*)\Rate"),
            entry(0, perfset_core::CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, r"\\a\Thing(y)\Number"),
        ];
        let blocks = |n: i64| {
            vec![(1, one(0, n, 0, 1)), (2, several(&[("p", n, 1), ("q", 2, n)])), (1, one(0, n + 5, 0, 1))]
        };
        built(&list, &[(0, blocks(1)), (1, blocks(2)), (2, blocks(3))])
    }

    #[test]
    fn together_is_as_alone() {
        let all = |bytes: &[u8]| Logs::from_bytes(bytes).unwrap();
        let two = Logs::from_inputs(vec![
            super::super::Input::Bytes(columns(3).as_bytes().into()),
            super::super::Input::Bytes(binary().into()),
        ]);
        for (name, logs) in
            [("text", all(columns(5).as_bytes())), ("binary", all(&binary())), ("both", two.unwrap())]
        {
            let begin =
                alone(logs.clone()).first().and_then(|text| text.split(' ').next()?.parse::<i64>().ok());
            let later = Window { begin: begin.map(|begin| begin + 1), end: None };
            for logs in [logs.clone(), logs.within(later)] {
                let names: Vec<String> = logs.machines().iter().cloned().collect();
                let group = logs.for_machines(&names).unwrap();
                let got = together(&group);
                assert_eq!(got.len(), names.len(), "{name}");
                for ((of_group, got), machine) in group.iter().zip(got).zip(&names) {
                    let single = logs.for_machine(machine).unwrap();
                    assert!(!got.is_empty(), "{name} {machine}");
                    assert_eq!(got, alone(single.clone()), "{name} {machine}");
                    assert_eq!(got, alone(of_group.clone()), "{name} {machine}");
                    assert_eq!(of_group.is_steady(), single.is_steady(), "{name} {machine}");
                    let instances = |mut logs: Logs| {
                        let sets = logs.countersets().unwrap();
                        sets.iter().map(|set| logs.instances(set)).collect::<Vec<_>>()
                    };
                    assert_eq!(instances(of_group), instances(single), "{name} {machine}");
                }
            }
        }
    }

    #[test]
    fn names_without_case_and_unknown_names() {
        let logs =
            Logs::from_bytes(columns(2).as_bytes()).unwrap().for_machines(&["M1", "m1", "other"]).unwrap();
        let names: Vec<_> = logs.iter().map(|logs| logs.machine_name().to_owned()).collect();
        assert_eq!(names, ["m1", "other"]);
        assert_eq!(together(&logs).iter().map(Vec::len).collect::<Vec<_>>(), [3, 0]);
        assert!(logs.all().for_machines(&[""; 0]).unwrap().queries().unwrap().is_empty());
    }

    /// Checks that a machine's query that was not advanced with the others continues at the current sample.
    #[test]
    fn queries_apart() {
        let logs = Logs::from_bytes(columns(2).as_bytes()).unwrap().for_machines(&["m0", "m1"]).unwrap();
        let mut queries = logs.queries().unwrap();
        let mut snapshot = perfset_engine::Snapshot::default();
        let mut next = |query: usize| {
            let outcome = queries[query].next(&mut snapshot).unwrap();
            (outcome == NextOutcome::Sample).then(|| snapshot.clocks().time_100ns % 600_000_000 / 10_000_000)
        };
        assert_eq!(
            [next(0), next(0), next(1), next(1), next(0), next(0), next(1)],
            [Some(0), Some(1), Some(1), Some(2), Some(2), None, None]
        );
    }

    /// Checks that each machine costs the same bytes read, allocations and memory, regardless of the number of
    /// machines.
    #[test]
    fn machines_cost_the_same_however_many_there_are() {
        const MACHINES: usize = 1_000;
        let cost = |machines: usize| {
            let log = columns(machines);
            let file =
                std::env::temp_dir().join(format!("perfset-machines-{}-{machines}", std::process::id()));
            std::fs::write(&file, &log).unwrap();
            let mut read = 0;
            let taken = allocation_counter::measure(|| {
                let logs = Logs::open(&[&file]).unwrap();
                let names: Vec<String> = logs.machines().iter().cloned().collect();
                let group = logs.for_machines(&names).unwrap();
                let values = together(&group);
                assert!(values.len() == machines && values.iter().all(|values| values.len() == 3));
                read = logs.bytes_read();
            });
            std::fs::remove_file(&file).unwrap();
            assert!(read <= 5 * log.len() as u64, "{read} bytes are read of {}", log.len());
            (taken.count_total, taken.bytes_max)
        };
        let [small, large] = [MACHINES / 2, MACHINES].map(cost);
        let twice = |small: u64| small * 2 + small / 10 + 500;
        let what = format!("{small:?}, of twice as many {large:?}");
        assert!(large.0 <= twice(small.0) && large.1 <= twice(small.1), "{what}");
        assert!(large.1 <= MACHINES as u64 * 12_000, "{what}");
    }
}
