//! The program of the guide "Write a provider": counters of a spool directory, for all queues and for each of them.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs, thread, time::Duration};

use perfset::path::PathQuery;
use perfset::provider::{
    Collection, CollectionCache, InstanceKey, InstanceSource, MarkedRaw, MultiInstanceProvider,
    SingleInstanceProvider, ValueSource, instance_name,
};
use perfset::{
    Counter, CounterId, CounterType, Counterset, Guid, InstanceId, InstanceType, Machine, NoValue,
};

const QUEUES: CounterId = CounterId(1);
const MESSAGES: CounterId = CounterId(2);
const BYTES: CounterId = CounterId(3);
const DELIVERED: CounterId = CounterId(4);

/// Creates a counter with a name and a help text.
fn counter(id: CounterId, counter_type: CounterType, name: &'static str, help: &'static str) -> Counter {
    Counter::new(id, counter_type).name(name).help(help)
}

/// Creates a counterset of this provider.
fn counterset(
    guid: u128,
    name: &'static str,
    help: &'static str,
    instance_type: InstanceType,
    counters: Vec<Counter>,
) -> Counterset {
    let provider = Guid::from_u128(0x8fd6_5b0c_91f1_4c5b_9d0e_1b5f_0c3a_7e10);
    Counterset::new(Guid::from_u128(guid), name, instance_type)
        .help(help)
        .provider(provider, "Spool Example")
        .counters(counters)
}

/// A queue: a subdirectory with one file for each message, and the file `delivered` with a running count.
#[derive(Debug)]
struct Queue {
    name: String,
    messages: u64,
    bytes: u64,
    delivered: Result<u64, NoValue>,
}

/// The spool directory, which is read once per collection for both countersets.
#[derive(Clone, Debug)]
struct Spool {
    directory: PathBuf,
    queues: Arc<Mutex<CollectionCache<Arc<[Queue]>>>>,
}

impl Spool {
    fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), queues: Arc::default() }
    }

    /// Returns the queues. Only the first call in a collection reads the directory.
    fn queues(&self, collection: &mut Collection) -> Result<Arc<[Queue]>, NoValue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let read =
            |_: &mut Collection| read_queues(&self.directory).map_err(|error| reason(&self.directory, error));
        queues.get(collection, read).cloned()
    }
}

fn read_queues(directory: &Path) -> io::Result<Arc<[Queue]>> {
    let mut queues = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let name = instance_name(entry.file_name().as_encoded_bytes());
            queues.push(read_queue(name, &entry.path())?);
        }
    }
    // Directories have no order. Rows that keep theirs make a collection cheaper.
    queues.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(queues.into())
}

fn read_queue(name: String, directory: &Path) -> io::Result<Queue> {
    let (mut messages, mut bytes) = (0_u64, 0_u64);
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() != "delivered" {
            messages = messages.saturating_add(1);
            bytes = bytes.saturating_add(entry.metadata()?.len());
        }
    }
    Ok(Queue { name, messages, bytes, delivered: read_count(&directory.join("delivered")) })
}

fn read_count(file: &Path) -> Result<u64, NoValue> {
    let text = fs::read_to_string(file).map_err(|error| reason(file, error))?;
    text.trim().parse().map_err(|_| NoValue::Failed(format!("{}: not a number", file.display()).into()))
}

/// Converts an error to the reason that a counter has no value.
fn reason(file: &Path, error: io::Error) -> NoValue {
    let text = format!("{}: {error}", file.display());
    match error.kind() {
        io::ErrorKind::NotFound => NoValue::Unavailable(format!("there is no {}", file.display()).into()),
        io::ErrorKind::PermissionDenied => NoValue::Denied(text.into()),
        _ => NoValue::Failed(text.into()),
    }
}

/// Values of the whole spool directory.
#[derive(Debug)]
struct SpoolValues(Spool);

impl ValueSource for SpoolValues {
    fn counterset(&self) -> Counterset {
        let level = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let counters = vec![
            counter(QUEUES, level, "Queues", "Number of queues."),
            counter(MESSAGES, level, "Messages", "Number of messages in all queues."),
        ];
        let guid = 0x8fd6_5b0c_91f1_4c5b_9d0e_1b5f_0c3a_7e11;
        counterset(guid, "Spool", "A spool directory.", InstanceType::Single, counters)
    }

    fn value(&mut self, counter: CounterId, collection: &mut Collection) -> Result<u64, NoValue> {
        let queues = self.0.queues(collection)?;
        match counter {
            QUEUES => Ok(u64::try_from(queues.len()).unwrap_or(u64::MAX)),
            MESSAGES => Ok(queues.iter().map(|queue| queue.messages).sum()),
            _ => Err(NoValue::NotGiven),
        }
    }
}

/// Values of each queue.
#[derive(Debug)]
struct QueueValues {
    spool: Spool,
    queues: Arc<[Queue]>,
    keys: Vec<InstanceKey>,
}

impl InstanceSource for QueueValues {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        let level = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let rate = CounterType::PERF_COUNTER_BULK_COUNT;
        let counters = vec![
            counter(MESSAGES, level, "Messages", "Number of messages in the queue."),
            counter(BYTES, level, "Bytes", "Size of the messages in the queue, in bytes."),
            counter(DELIVERED, rate, "Delivered/sec", "Messages that left the queue, per second."),
        ];
        let guid = 0x8fd6_5b0c_91f1_4c5b_9d0e_1b5f_0c3a_7e12;
        counterset(guid, "Spool Queue", "The queues of a spool directory.", InstanceType::Multiple, counters)
    }

    fn find(&mut self, collection: &mut Collection) -> Result<(), NoValue> {
        self.queues = self.spool.queues(collection)?;
        // The name of a directory is unique, so no id is needed to distinguish two queues.
        let key = |queue: &Queue| InstanceKey::new(queue.name.clone(), InstanceId(0));
        self.keys = self.queues.iter().map(key).collect();
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let queue = self.queues.get(at).ok_or(NoValue::NoInstance)?;
        match counter {
            MESSAGES => Ok(queue.messages.into()),
            BYTES => Ok(queue.bytes.into()),
            DELIVERED => queue.delivered.clone().map(MarkedRaw::from),
            _ => Err(NoValue::NotGiven),
        }
    }
}

/// Prints two samples of a spool directory's counters. `wait` is called between them.
pub fn run(
    mut machine: Machine,
    directory: &Path,
    out: &mut dyn Write,
    wait: impl FnOnce(),
) -> Result<(), Box<dyn Error>> {
    let spool = Spool::new(directory);
    machine.register(Box::new(SingleInstanceProvider::new(SpoolValues(spool.clone()))));
    let queues = QueueValues { spool, queues: Arc::default(), keys: Vec::new() };
    machine.register(Box::new(MultiInstanceProvider::new(queues)));

    let mut query = PathQuery::open(&mut machine)?;
    for path in [r"\Spool\*", r"\Spool Queue(*)\*"] {
        query.add(&mut machine, &path.parse()?)?;
    }
    query.collect()?;
    wait();
    query.collect()?;
    for value in query.values() {
        match &value.value.value {
            Ok(number) => writeln!(out, "{} {}", value.own_path(None), number.nocap())?,
            Err(reason) => writeln!(out, "{} - {reason}", value.own_path(None))?,
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args_os().nth(1).ok_or("usage: spool_provider DIRECTORY")?;
    let wait = || thread::sleep(Duration::from_secs(1));
    run(perfset::local(), Path::new(&directory), &mut io::stdout().lock(), wait)
}
