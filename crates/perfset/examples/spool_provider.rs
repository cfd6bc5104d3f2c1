//! The program of the guide "Write a provider": counters of a spool directory, for all queues and for each of them.

use std::error::Error;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs, thread, time::Duration};

use perfset::path::PathQuery;
use perfset::provider::{
    Collection, CollectionCache, InstanceKey, InstanceSource, MarkedRaw, MultiInstanceProvider,
    SingleInstanceProvider, TOTAL_NAME, ValueSource, instance_name,
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
    messages: Result<Messages, NoValue>,
    delivered: Result<u64, NoValue>,
}

/// Number and size of the messages in a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Messages {
    count: u64,
    bytes: u64,
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

    /// Returns all queues of the spool. Only the first call in a collection reads the directory.
    fn queues(&self, collection: &mut Collection) -> Result<Arc<[Queue]>, NoValue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.get(collection, |_| read_queues(&self.directory)).cloned()
    }
}

fn read_queues(directory: &Path) -> Result<Arc<[Queue]>, NoValue> {
    let failed = |error| reason(directory, error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // An entry that has just been removed has no type, and is no queue.
        if entry.file_type().is_ok_and(|file_type| file_type.is_dir()) {
            entries.push((queue_name(&entry.file_name()), entry.path()));
        }
    }
    // Directories have no order. Rows that keep theirs make a collection cheaper.
    entries.sort();
    Ok(entries.into_iter().map(|(name, directory)| read_queue(name, &directory)).collect())
}

/// Converts the name of a directory to an instance name.
fn queue_name(directory: &OsStr) -> String {
    let name = instance_name(directory.as_encoded_bytes());
    // The row for all queues has that name.
    if name.eq_ignore_ascii_case(TOTAL_NAME) { format!("{name}_") } else { name }
}

/// Reads the values of a queue from its directory. A value that cannot be read has the reason instead.
fn read_queue(name: String, directory: &Path) -> Queue {
    Queue { name, messages: read_messages(directory), delivered: read_count(&directory.join("delivered")) }
}

fn read_messages(directory: &Path) -> Result<Messages, NoValue> {
    let failed = |error| reason(directory, error);
    let mut messages = Messages::default();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name() == "delivered" {
            continue;
        }
        match entry.metadata() {
            Ok(metadata) => {
                messages.count = messages.count.saturating_add(1);
                messages.bytes = messages.bytes.saturating_add(metadata.len());
            }
            // The message was delivered after the directory was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(reason(&entry.path(), error)),
        }
    }
    Ok(messages)
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
            // A sum without a queue would be too small, so the reason of that queue is the reason here.
            MESSAGES => queues.iter().map(|queue| Ok(queue.messages.clone()?.count)).sum(),
            _ => Err(NoValue::NotGiven),
        }
    }
}

/// Instances of the counterset: one for each queue, with its values.
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
        self.keys.clear();
        for queue in self.queues.iter() {
            // Equal names are neighbours, in the order of their directories: ids distinguish them.
            let same = self.keys.last().filter(|key| key.name == queue.name);
            let id = same.map_or(0, |key| key.id.0.saturating_add(1));
            self.keys.push(InstanceKey::new(queue.name.clone(), InstanceId(id)));
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let queue = self.queues.get(at).ok_or(NoValue::NoInstance)?;
        match counter {
            MESSAGES => Ok(queue.messages.clone()?.count.into()),
            BYTES => Ok(queue.messages.clone()?.bytes.into()),
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
    for v in query.values() {
        match &v.value.value {
            Ok(number) => writeln!(out, "{} {:.1}", v.own_path(None), number.nocap())?,
            Err(reason) => writeln!(out, "{} - {reason}", v.own_path(None))?,
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args_os().nth(1).ok_or("usage: spool_provider DIRECTORY")?;
    let wait = || thread::sleep(Duration::from_secs(1));
    run(perfset::local(), Path::new(&directory), &mut io::stdout().lock(), wait)
}
