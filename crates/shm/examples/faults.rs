//! What tests of faults start: programs that publish and are killed, stopped and denied, and one that reads.
//!
//! Everything in an instance follows from the number in its name, so that a reader can tell whether it is whole:
//! `Three` is 3 times the number, `Five` 5 times; 0 is what an instance has that was just made.

use perfset_engine::testing::FixedClock;
use perfset_engine::{Entry, Machine, Snapshot};
use perfset_shm::Folders;
use perfset_shm::publish::{Counterset, Gauge, Instance, problem, status};
use perfset_shm::read::Applications;
use rustix::process::{Signal, getpid, kill_process};

const USAGE: &str = "usage: faults ROLE
  churn            make, change and end instances without pause
  hold NUMBER      one instance, until the input ends
  fill COUNT       so many instances, until the input ends
  named NAME...    an instance of each name, until the input ends
  status NUMBER    one instance, until the input ends; says where it is and who can see it
  die              one instance, then kill -9
  read [everybody] what is published in PERFSET_RUNTIME_DIR, and what is said about it";

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
        ["read"] => read(false),
        ["read", "everybody"] => read(true),
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

fn row(number: u64) -> Instance<Row> {
    named(&number.to_string(), number)
}

fn named(name: &str, number: u64) -> Instance<Row> {
    let row = Row::instance(name);
    row.three.set(number.wrapping_mul(3));
    row.five.set(number.wrapping_mul(5));
    row
}

/// Says what is wrong with publishing, and waits.
fn hold(_rows: &[Instance<Row>]) {
    match problem() {
        None => println!("published"),
        Some(problem) => println!("{problem}"),
    }
    let _ = std::io::stdin().lines().count(); // until it ends
}

fn churn() {
    let mut rows: [Option<Instance<Row>>; 24] = std::array::from_fn(|_| None);
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
    }
}

/// Prints `NAME THREE FIVE` of each instance, `! …` what is said, and `mapped` if a file of a program is.
fn read(everybody: bool) {
    let machine = Machine::bare(Box::new(FixedClock::default()));
    machine.register(Box::new(Applications::new(&Folders::from_env(), everybody, Box::new(|| None))));
    let mut query = machine.query();
    let _ = query.add(&Entry::all(Row::GUID).instance("*")); // where it is not published nothing is collected
    let mut snapshot = Snapshot::default();
    if query.collect(&mut snapshot).is_ok() {
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
