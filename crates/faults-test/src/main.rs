//! Program of the live checks: publishers that are killed, stopped or refused, and a reader of their counters.
//!
//! Everything in an instance follows from the number in its name, so that a reader can tell whether it is whole:
//! `Three` is 3 times the number, `Five` 5 times; 0 is what an instance has that was just made.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use perfset_core::Status;
use perfset_core::v2::{Block, BlockValue, Body};
use perfset_derive::Counterset;
use perfset_engine::testing::FixedClock;
use perfset_engine::{Entry, Machine, Query, Snapshot};
use perfset_shm::Folders;
use perfset_shm::callback::{RequestMessage, Server};
use perfset_shm::publish::{Counterset, Gauge, PublishedInstance, Publisher, problem, status};
use perfset_shm::read::ApplicationProvider;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::process::{Signal, getpid, kill_process};

const USAGE: &str = "usage: faults ROLE
  churn            make, change and end instances without pause
  hold NUMBER      one instance, until the input ends
  fill COUNT       so many instances, until the input ends
  named NAME...    an instance of each name, until the input ends
  status NUMBER    one instance, until the input ends; says where it is and who can see it
  die              one instance, then kill -9
  asked COUNT MS   so many publishers whose control callback takes so long, until the input ends
  misbehave HOW COUNT
                   so many publishers whose socket is silent, or answers by bytes, until the input ends
  longest COUNT    so many collections of all of those: the longest in ms, and the number of rows
  read [everybody] what is published in PERFSET_RUNTIME_DIR, and what is said about it
  watch [everybody] the same again for each line of input, by one reader; what was said ends with a point
  cut COUNT        reads so many values of a file that is cut, has holes punched into it and grows meanwhile";

#[derive(Counterset, Debug)]
#[counterset(crate = perfset_shm, provider = "Perfset Tests", name = "Fault Writer", instances = "multiple")]
struct Row {
    #[counter(name = "Three")]
    three: Gauge,
    #[counter(name = "Five")]
    five: Gauge,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().unwrap_or(0);
    match *arguments {
        ["churn"] => churn(),
        ["hold", n] => hold(&[row(number(n))]),
        ["fill", count] => hold(&(0..number(count)).map(row).collect::<Vec<_>>()),
        ["named", ref names @ ..] => {
            hold(&names.iter().zip(1..).map(|(name, n)| named(name, n)).collect::<Vec<_>>())
        }
        ["status", n] => {
            let _row = row(number(n));
            println!("{}", status());
            let _ = std::io::stdin().lines().count(); // until it ends
        }
        ["die"] => {
            let _row = row(7);
            let _ = kill_process(getpid(), Signal::KILL); // it does not return
        }
        ["read"] => Reader::new(false).read(),
        ["read", "everybody"] => Reader::new(true).read(),
        ["watch"] => watch(false),
        ["watch", "everybody"] => watch(true),
        ["cut", count] => cut(number(count)),
        ["asked", count, ms] => {
            asked(number(count), Duration::from_millis(number(ms)));
        }
        ["misbehave", how @ ("silent" | "bytes"), count] => misbehave(how == "bytes", number(count)),
        ["longest", count] => longest(number(count)),
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

fn row(number: u64) -> PublishedInstance<Row> {
    named(&number.to_string(), number)
}

fn named(name: &str, number: u64) -> PublishedInstance<Row> {
    let row = Row::instance(name);
    row.three.set(number.wrapping_mul(3));
    row.five.set(number.wrapping_mul(5));
    row
}

/// Prints `published`, or the problem with publishing, and waits until standard input ends.
fn hold(_rows: &[PublishedInstance<Row>]) {
    match problem() {
        None => println!("published"),
        Some(problem) => println!("{problem}"),
    }
    let _ = std::io::stdin().lines().count(); // until it ends
}

/// Counterset of publishers that respond to requests of readers.
#[derive(Counterset, Debug)]
#[counterset(crate = perfset_shm, provider = "Perfset Tests", name = "Fault Asked", instances = "multiple")]
struct Asked {
    #[counter(name = "Three")]
    three: Gauge,
}

/// Publisher with one instance, and the server that responds to requests for it.
type Listening = (Publisher, PublishedInstance<Asked>, Option<Server>);

fn listening(number: u64, takes: Duration) -> Listening {
    let publisher = Publisher::in_folders(Folders::from_env());
    let row = publisher.instance::<Asked>(&number.to_string());
    row.three.set(number.wrapping_mul(3));
    let answer = move |_: RequestMessage<'_>| {
        std::thread::sleep(takes);
        Status::ERROR_SUCCESS.into()
    };
    let server = publisher.answer(answer).ok().flatten();
    (publisher, row, server)
}

/// Publishes instances with callbacks that take a long time.
fn asked(count: u64, takes: Duration) {
    let publishers: Vec<Listening> = (1..=count).map(|number| listening(number, takes)).collect();
    let listens = publishers.iter().all(|(_, _, server)| server.is_some());
    println!("{}", if listens { "published" } else { "cannot listen" });
    let _ = std::io::stdin().lines().count(); // until it ends
    std::process::exit(0); // not waiting for callbacks
}

/// Publishes instances, and replaces the sockets of their servers by sockets that misbehave.
fn misbehave(by_bytes: bool, count: u64) {
    use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
    use rustix::net::{accept, bind, listen, send, socket_with};
    let (mut kept, mut listeners) = (Vec::new(), Vec::new());
    for number in 1..=count {
        let publisher = listening(number, Duration::ZERO);
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = publisher.0.path().map(|path| path.with_extension("sock"));
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        if let (Some(socket), Ok(listener)) = (socket, listener) {
            let _ = std::fs::remove_file(&socket);
            let address = SocketAddrUnix::new(&socket);
            let listens = address.and_then(|address| bind(&listener, &address));
            if listens.and_then(|()| listen(&listener, 64)).is_ok() {
                listeners.push(listener);
            }
        }
        kept.push(publisher);
    }
    let all = u64::try_from(listeners.len()) == Ok(count);
    println!("{}", if all { "published" } else { "cannot listen" });
    std::thread::spawn(move || {
        let mut connections = Vec::new();
        loop {
            connections.extend(listeners.iter().filter_map(|listener| accept(listener).ok()));
            for connection in connections.iter().filter(|_| by_bytes) {
                let _ = send(connection, &[0], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let _ = std::io::stdin().lines().count(); // until it ends
    std::process::exit(0);
}

/// Collects all publishers that respond to requests `count` times, and prints the longest collection time in ms and
/// the smallest number of values.
fn longest(count: u64) {
    let machine = Machine::bare(Box::new(FixedClock::default()));
    machine.register(Box::new(ApplicationProvider::new(&Folders::from_env(), false, Box::new(|| None))));
    let (mut longest, mut rows) = (Duration::ZERO, usize::MAX);
    let mut query = machine.query();
    for _ in 0..count {
        let began = Instant::now();
        if query.entries().len() == 0 {
            let _ = query.add(&Entry::all(Asked::GUID).instance("*")); // then it is not published yet
        }
        let mut snapshot = Snapshot::default();
        if query.collect(&mut snapshot).is_ok() {
            let values = snapshot.values(None).filter(|value| value.raw.is_some());
            rows = rows.min(values.count());
        }
        longest = longest.max(began.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("{} {rows}", longest.as_secs_f64() * 1e3);
}

fn churn() {
    let mut rows: [Option<PublishedInstance<Row>>; 24] = std::array::from_fn(|_| None);
    let mut random = u64::from(std::process::id()) | 1;
    for number in 1.. {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let at = usize::try_from(random).unwrap_or(0).checked_rem(rows.len());
        if let Some(place) = at.and_then(|at| rows.get_mut(at)) {
            *place = None;
            *place = Some(row(number));
        }
        // Between bursts they stay for a while: what ends sooner than it is read is not seen.
        if number & 63 == 0 {
            std::thread::sleep(Duration::from_micros(300));
        }
    }
}

/// Reader of the counters that programs publish.
struct Reader {
    machine: Machine,
    query: Query,
    /// `true` if the counterset is in the reader's query, which is possible only while a program publishes it.
    is_added: bool,
    snapshot: Snapshot,
}

impl Reader {
    fn new(everybody: bool) -> Self {
        let machine = Machine::bare(Box::new(FixedClock::default()));
        machine.register(Box::new(ApplicationProvider::new(
            &Folders::from_env(),
            everybody,
            Box::new(|| None),
        )));
        let query = machine.query();
        Self { machine, query, is_added: false, snapshot: Snapshot::default() }
    }

    /// Prints `NAME THREE FIVE` of each published instance, `! …` for each message and problem, and `mapped` if a
    /// published file is mapped.
    fn read(&mut self) {
        let Self { machine, query, is_added, snapshot } = self;
        *is_added = *is_added || query.add(&Entry::all(Row::GUID).instance("*")).is_success();
        if query.collect(snapshot).is_ok() {
            let values: Vec<_> = snapshot.values(None).filter(|value| value.raw.is_some()).collect();
            for pair in values.chunks(2) {
                let raw = pair.iter().filter_map(|value| value.raw);
                let raw: Vec<String> = raw.map(|raw| raw.get().to_string()).collect();
                let name = pair.first().map(|value| value.instance.to_string()).unwrap_or_default();
                println!("{name} {}", raw.join(" "));
            }
        }
        for what in machine.not_shown(None) {
            println!("! {what}");
        }
        for problem in machine.problems() {
            println!("! {problem}");
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        if maps.contains(".pfs") {
            println!("mapped");
        }
    }
}

fn watch(everybody: bool) {
    let mut reader = Reader::new(everybody);
    for _ in std::io::stdin().lines() {
        reader.read();
        println!(".");
    }
}

#[derive(Counterset, Debug)]
#[counterset(crate = perfset_shm, provider = "Perfset Tests", name = "Fault Cut", instances = "multiple")]
struct Wide {
    #[counter(name = "1")]
    a: Gauge,
    #[counter(name = "2")]
    b: Gauge,
    #[counter(name = "3")]
    c: Gauge,
    #[counter(name = "4")]
    d: Gauge,
    #[counter(name = "5")]
    e: Gauge,
    #[counter(name = "6")]
    f: Gauge,
    #[counter(name = "7")]
    g: Gauge,
    #[counter(name = "8")]
    h: Gauge,
}

/// Factor of each stored counter value: every value is a number times this factor, so that all of its bytes change
/// each time.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
/// Inverse of `STEP` modulo 2^64: multiplied by it, `STEP` is 1.
const INVERSE: u64 = 0xF1DE_83E1_9937_733D;

/// Publishes instances while damaging their file. The owner stores into all values. At times it truncates the file,
/// punches a hole into it or extends it, and then restores it. Readers must find only stored values.
fn cut(count: u64) {
    const INSTANCES: usize = 2_000;
    let publisher = Publisher::in_folders(Folders::from_env());
    let rows: Vec<PublishedInstance<Wide>> =
        (0..INSTANCES).map(|n| publisher.instance(&n.to_string())).collect();
    let Some(path) = publisher.path() else { return println!("{:?}", publisher.problem()) };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let owner = scope.spawn(|| own(&rows, &path, &stop));
        let machine = Machine::bare(Box::new(FixedClock::default()));
        machine.register(Box::new(ApplicationProvider::new(&Folders::from_env(), false, Box::new(|| None))));
        let mut query = machine.query();
        let _ = query.add(&Entry::all(Wide::GUID).instance("*"));
        let mut snapshot = Snapshot::default();
        let (mut read, mut torn, mut collections, mut whole) = (0_u64, 0_u64, 0_u64, 0_u64);
        while read < count && !owner.is_finished() {
            let before = read;
            let is_collected = query.collect(&mut snapshot).is_ok();
            // It is one file: its rows have values, or all of them say why not.
            if is_collected && snapshot.values(None).next().is_some_and(|value| value.raw.is_some()) {
                let block = Block::parse(snapshot.block()).ok();
                for result in block.iter().flat_map(Block::results).flatten() {
                    let (Body::MultipleInstances(table) | Body::Counterset(_, table)) = result.body else {
                        continue;
                    };
                    for row in table.rows().flatten() {
                        for value in row.values().iter() {
                            let BlockValue::U64(value) = value else { continue };
                            read = read.wrapping_add(1);
                            // A thread needs years for more steps.
                            torn = torn.wrapping_add(u64::from(value.wrapping_mul(INVERSE) >= 1 << 40));
                        }
                    }
                }
            }
            collections = collections.wrapping_add(1);
            whole = whole.wrapping_add(u64::from(read > before));
        }
        stop.store(true, Relaxed);
        match owner.join() {
            Ok(Ok(cuts)) => println!(
                "{read} values, {torn} torn; {collections} collections, {whole} with values, {cuts} cuts"
            ),
            other => println!("the owner failed: {other:?}"),
        }
    });
}

fn own(rows: &[PublishedInstance<Wide>], path: &Path, stop: &AtomicBool) -> std::io::Result<u64> {
    let file = File::options().read(true).write(true).open(path)?;
    let mut whole = Vec::new();
    (&file).read_to_end(&mut whole)?; // its values are all 0
    let len = file.metadata()?.len();
    let set = |to: u64| {
        for Wide { a, b, c, d, e, f, g, h } in rows.iter().map(|row| &**row) {
            [a, b, c, d, e, f, g, h].into_iter().for_each(|gauge| gauge.set(to));
        }
    };
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = |end: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random.checked_rem(end).unwrap_or(0)
    };
    let (mut step, mut cuts) = (0_u64, 0_u64);
    while !stop.load(Relaxed) {
        for _ in 0..below(1_000) {
            step = step.wrapping_add(1);
            set(step.wrapping_mul(STEP));
        }
        // Nothing is stored here until it is whole again: the owner would end itself.
        // It is cut between words: else half a word would be in the file itself.
        let words = len / 16;
        match below(4) {
            0 => file.set_len(below(words).wrapping_mul(16))?,
            1 => file.set_len(below(9).wrapping_mul(2048))?,
            2 => {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(&file, hole, below(words).wrapping_mul(8), below(words).max(1).wrapping_mul(8))?;
            }
            _ => file.set_len(len.wrapping_add(below(1 << 20)))?,
        }
        std::thread::sleep(Duration::from_micros(below(500)));
        fallocate(&file, FallocateFlags::empty(), 0, len)?;
        set(0);
        file.write_all_at(&whole, 0)?;
        cuts = cuts.wrapping_add(1);
    }
    Ok(cuts)
}
