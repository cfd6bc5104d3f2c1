//! The program of the guide "Write a source": samples in a plain text log, as a source of counters.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use perfset::clock::{ClockReading, UNIX_EPOCH_100NS};
use perfset::path::PathQuery;
use perfset::provider::{Catalogue, CollectRequest, Provider, Rows};
use perfset::replay::{Player, Replay};
use perfset::{
    Clock, Counter, CounterId, CounterType, Counterset, Guid, Instance, InstanceId, InstanceType,
    NextOutcome, QueryHandle, RegInfo, RegRequest, Source, SourceError,
};

/// Sample of all rooms: its time, and for each room name, CO2 and door openings.
#[derive(Debug)]
struct RoomSample {
    time_100ns: i64,
    rooms: Vec<(String, u64, u64)>,
}

/// Parses the samples of a text log. Lines are `SECONDS ROOM CO2 OPENINGS`, and lines of one time are one sample.
fn parse(text: &str) -> Result<Vec<RoomSample>, SourceError> {
    let mut samples: Vec<RoomSample> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with('#') {
            continue;
        }
        let invalid = || SourceError::Failed(format!("line {number}: not SECONDS ROOM CO2 OPENINGS").into());
        let [seconds, room, co2, openings] = *line.split_whitespace().collect::<Vec<_>>() else {
            return Err(invalid());
        };
        let seconds: i64 = seconds.parse().map_err(|_| invalid())?;
        let room =
            (room.to_owned(), co2.parse().map_err(|_| invalid())?, openings.parse().map_err(|_| invalid())?);
        let time_100ns = seconds.saturating_mul(10_000_000).saturating_add(UNIX_EPOCH_100NS);
        match samples.last_mut().filter(|last| last.time_100ns == time_100ns) {
            Some(last) => last.rooms.push(room),
            None => samples.push(RoomSample { time_100ns, rooms: vec![room] }),
        }
    }
    Ok(samples)
}

const CO2: CounterId = CounterId(1);
const OPENINGS: CounterId = CounterId(2);
const ROOM: Guid = Guid::from_u128(0x37d4_1f55_6a5e_4b61_8d35_2f0e_b9a1_0c01);

fn counterset() -> Counterset {
    let provider = Guid::from_u128(0x37d4_1f55_6a5e_4b61_8d35_2f0e_b9a1_0c00);
    Counterset::new(ROOM, "Room", InstanceType::Multiple)
        .help("The rooms of a building.")
        .provider(provider, "Room Log Example")
        .counters([
            Counter::new(CO2, CounterType::PERF_COUNTER_LARGE_RAWCOUNT).name("CO2"),
            Counter::new(OPENINGS, CounterType::PERF_COUNTER_BULK_COUNT).name("Door Openings/sec"),
        ])
}

/// Provider that returns the samples of a log, one after the other. Clones return the same sample.
#[derive(Clone, Debug)]
struct RoomPlayer {
    samples: Arc<[RoomSample]>,
    catalogue: Arc<Catalogue>,
    /// Number of steps taken: the current sample is the one before.
    steps: Arc<AtomicUsize>,
}

impl RoomPlayer {
    fn sample(&self) -> Option<&RoomSample> {
        self.samples.get(self.steps.load(Relaxed).checked_sub(1)?)
    }
}

impl Player for RoomPlayer {
    fn step(&mut self) -> Result<bool, SourceError> {
        let steps = self.steps.load(Relaxed);
        let is_there = steps < self.samples.len();
        // At the end, the last sample stays the current one.
        self.steps.store(steps.saturating_add(usize::from(is_there)), Relaxed);
        Ok(is_there)
    }
}

impl Clock for RoomPlayer {
    fn read(&mut self) -> ClockReading {
        ClockReading::recorded(self.sample().map_or(0, |sample| sample.time_100ns))
    }
}

impl Provider for RoomPlayer {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }

    fn instances(&mut self, _: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        for (name, _, _) in self.sample().iter().flat_map(|sample| &sample.rooms) {
            rows.push(name, InstanceId(0), None);
        }
        Ok(())
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        for (name, co2, openings) in self.sample().iter().flat_map(|sample| &sample.rooms) {
            let mut row = rows.push(name, InstanceId(0), None);
            for (column, counter) in want.counters.iter().enumerate() {
                match *counter {
                    CO2 => row.set(column, *co2),
                    OPENINGS => row.set(column, *openings),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// A log of rooms as a source. Each query plays it from its beginning.
#[derive(Debug)]
struct RoomLog(RoomPlayer);

impl RoomLog {
    fn new(text: &str) -> Result<Self, SourceError> {
        let catalogue = Arc::new(Catalogue::new("room log", vec![Arc::new(counterset())]));
        // The listed instances are those of the first sample.
        let steps = Arc::new(AtomicUsize::new(1));
        Ok(Self(RoomPlayer { samples: parse(text)?.into(), catalogue, steps }))
    }
}

impl Source for RoomLog {
    fn countersets(&mut self) -> Result<Vec<Guid>, SourceError> {
        Ok(self.0.machine().countersets())
    }

    fn registration(&mut self, counterset: &Guid, request: RegRequest) -> Result<RegInfo, SourceError> {
        self.0.machine().registration(counterset, request)
    }

    fn instances(&mut self, counterset: &Guid) -> Result<Vec<Instance>, SourceError> {
        self.0.machine().instances(counterset)
    }

    fn open(&mut self) -> Result<Box<dyn QueryHandle>, SourceError> {
        Ok(Box::new(Replay::new(RoomPlayer { steps: Arc::default(), ..self.0.clone() })))
    }
}

/// Prints the values of all samples of a log.
pub fn run(text: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let mut log = RoomLog::new(text)?;
    let mut query = PathQuery::open(&mut log)?;
    query.add(&mut log, &r"\Room(*)\*".parse()?)?;
    while query.collect()? == NextOutcome::Sample {
        let seconds = query.snapshot().clocks().unix_ms() / 1_000;
        for v in query.values() {
            match &v.value.value {
                Ok(number) => writeln!(out, "{seconds} {} {}", v.own_path(None), number.nocap())?,
                Err(reason) => writeln!(out, "{seconds} {} - {reason}", v.own_path(None))?,
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1).ok_or("usage: text_log_source FILE")?;
    run(&fs::read_to_string(Path::new(&file))?, &mut io::stdout().lock())
}
