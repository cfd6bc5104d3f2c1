//! Writes the formula vectors (test cases of formulas) as Parquet files, and a SQL view for each counter type. SQL
//! engines must compute the expected values.
//!
//! Arguments: the table of vectors, and a directory that does not exist yet. The directory gets the files,
//! `DIALECT.sql` for each dialect, and `expected.csv` with view, instance and value of each vector.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::sample::Clocks;
use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceId, InstanceType, formula};
use perfset_engine::{
    Catalogue, Clock, CollectRequest, Entry, Machine, Provider, Rows, Snapshot, SourceError,
};
use perfset_parquet::{ExportOptions, Exporter, SampleOrigin, SqlDialect, view};

/// Sample of a formula vector that the scripted machine delivers: instance, clocks, value and base.
#[derive(Clone, Default)]
struct VectorSample {
    instance: String,
    clocks: Clocks,
    value: u64,
    base: Option<u64>,
}

/// Machine that delivers one sample of a formula vector.
#[derive(Clone)]
struct VectorMachine(Arc<Mutex<VectorSample>>, Arc<Catalogue>);

impl Clock for VectorMachine {
    fn read(&mut self) -> ClockReading {
        let clocks = self.0.lock().map(|sample| sample.clocks).unwrap_or_default();
        ClockReading {
            perf_time: clocks.perf_time,
            time_100ns: clocks.time_100ns,
            perf_freq: clocks.perf_freq,
            system_time: SystemTime::from_100ns(clocks.time_100ns),
        }
    }
}

impl Provider for VectorMachine {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.1))
    }

    fn instances(&mut self, _: &Guid, _: &mut Rows) -> Result<(), SourceError> {
        Ok(())
    }

    fn collect(&mut self, _: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        let sample = self.0.lock().map(|sample| sample.clone()).unwrap_or_default();
        rows.set_clocks(sample.clocks);
        let mut row = rows.push(&sample.instance, InstanceId(0), None);
        row.set(0, sample.value);
        if let Some(base) = sample.base {
            row.set(1, base);
        }
        Ok(())
    }
}

/// Key of the formula vectors that share a counterset: counter type, `true` if the value wraps, `true` if the base
/// wraps.
type SetKey = (u32, bool, bool);

fn counterset((counter_type, wraps, base_wraps): SetKey) -> Counterset {
    let base = Counter::new(CounterId(2), CounterType::PERF_LARGE_RAW_BASE).name("N Base").wraps(base_wraps);
    let counter = Counter::new(CounterId(1), CounterType(counter_type)).name("N").wraps(wraps);
    let has_base = CounterType(counter_type).needs_base();
    let multi = CounterType(counter_type).decode().multi;
    let counter = match (has_base, multi) {
        (true, true) => counter.multi(CounterId(2)),
        (true, false) => counter.base(CounterId(2)),
        _ => counter,
    };
    let guid = (u128::from(counter_type) << 2) | (u128::from(wraps) << 1) | u128::from(base_wraps);
    let name = format!("Vectors {counter_type:08x} {}{}", u8::from(wraps), u8::from(base_wraps));
    Counterset::new(Guid::from_u128((7 << 64) | guid), name, InstanceType::Multiple).counters([counter, base])
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(table), Some(root)) = (args.next(), args.next()) else {
        return Err("arguments: TABLE DIRECTORY".into());
    };
    fs::create_dir(&root)?;
    let csv = fs::read_to_string(table)?;
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().ok_or("the table is empty")?;
    let mut sets: BTreeMap<SetKey, Vec<BTreeMap<&str, &str>>> = BTreeMap::new();
    for line in lines {
        let vector: BTreeMap<&str, &str> = heads.iter().copied().zip(line).collect();
        let cell = |name: &str| vector.get(name).copied().unwrap_or_default();
        let counter_type = u32::from_str_radix(cell("type_hex").trim_start_matches("0x"), 16)?;
        let may_wrap = cell("wrap32") == "1";
        let is_precise = cell("type_name").contains("PRECISION");
        let key = (counter_type, may_wrap && cell("n_size") == "4", may_wrap && !is_precise);
        sets.entry(key).or_default().push(vector);
    }
    let mut expected = String::from("view,instance,value,nocap\n");
    let mut scripts: BTreeMap<&str, String> = BTreeMap::new();
    for (number, (key, vectors)) in sets.iter().enumerate() {
        let set = counterset(*key);
        let slug = perfset_parquet::counterset_slug(&set);
        // Types that no formula has, and bases, have no column in their view.
        let is_shown = formula::for_type(CounterType(key.0)).is_some() && !CounterType(key.0).is_base();
        if !is_shown {
            continue;
        }
        for vector in vectors {
            write_vector(&root, &set, vector, number)?;
            let cell = |name: &str| vector.get(name).copied().unwrap_or_default();
            let _ = writeln!(expected, "{slug},{},{},{}", cell("id"), cell("status"), cell("value_nocap"));
        }
        for (name, dialect) in [
            ("duckdb", SqlDialect::DuckDb),
            ("spark", SqlDialect::Spark),
            ("clickhouse", SqlDialect::ClickHouse),
            ("datafusion", SqlDialect::DataFusion),
        ] {
            *scripts.entry(name).or_default() += &view(dialect, &root.to_string_lossy(), &set);
        }
    }
    fs::write(root.join("expected.csv"), expected)?;
    for (name, script) in scripts {
        fs::write(root.join(format!("{name}.sql")), script)?;
    }
    Ok(())
}

fn write_vector(
    root: &Path,
    set: &Counterset,
    vector: &BTreeMap<&str, &str>,
    number: usize,
) -> Result<(), Box<dyn Error>> {
    let cell = |name: &str| vector.get(name).copied().unwrap_or_default();
    let number_of = |name: &str| cell(name).parse::<i64>();
    let sample = |at: &str| -> Result<VectorSample, Box<dyn Error>> {
        let base = cell(&format!("b{at}"));
        Ok(VectorSample {
            instance: cell("id").to_owned(),
            clocks: Clocks {
                perf_time: number_of(&format!("perf_time{at}"))?,
                perf_freq: number_of("perf_freq")?,
                time_100ns: number_of(&format!("time100ns{at}"))?,
                object_time: number_of(&format!("obj_time{at}"))?,
                object_freq: number_of("obj_freq")?,
            },
            value: cell(&format!("n{at}")).parse()?,
            base: if base.is_empty() { None } else { Some(base.parse()?) },
        })
    };
    let catalogue = Arc::new(Catalogue::new("vectors", vec![Arc::new(set.clone())]));
    let scripted = VectorMachine(Arc::default(), catalogue);
    let machine = Machine::bare(Box::new(scripted.clone()));
    machine.register(Box::new(scripted.clone()));
    let mut query = machine.query();
    let status = query.add(&Entry::all(set.guid).instance("*"));
    if !status.is_success() {
        return Err(format!("{}: {status}", set.name).into());
    }
    let mut exporter = Exporter::new(root, &format!("host{number}"), ExportOptions::default())?;
    let samples: &[&str] = if cell("samples") == "1" { &["1"] } else { &["0", "1"] };
    for at in samples {
        if let Ok(mut script) = scripted.0.lock() {
            *script = sample(at)?;
        }
        let mut snapshot = Snapshot::default();
        query.collect(&mut snapshot)?;
        let origin = SampleOrigin { run: cell("id").to_owned(), ..SampleOrigin::default() };
        exporter.sample(&snapshot, &origin)?;
    }
    exporter.finish()?;
    Ok(())
}
