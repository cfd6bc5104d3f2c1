//! Benches of hot paths beside their lower bounds and other programs. See README.md for what the tables mean.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "benches of Linux use the rest"))]

mod blocks;
#[cfg(target_os = "linux")]
mod c;
#[cfg(target_os = "linux")]
mod collect;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod cost;
mod counting;
mod decode;
mod encode;
#[cfg(target_os = "linux")]
mod exporter;
#[cfg(target_os = "linux")]
mod format;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
mod machine;
mod measure;
#[cfg(target_os = "linux")]
mod overview;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod process;
mod record;
#[cfg(target_os = "linux")]
mod recording;
#[cfg(target_os = "linux")]
mod scrape;
#[cfg(target_os = "linux")]
mod screens;
#[cfg(target_os = "linux")]
mod shm;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod stream;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod text;
mod v1_decode;

use std::fmt::Display;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::record::Record;

const USAGE: &str =
    "usage: bench WORD [options], of decode, v1-decode, encode, format, collect, path, c, system, process, thread,
  machine, overview, cost, log, text, record, export, shm, scrape, stream, start, screens, all
  --rounds N     how often each variant is measured (default 31)
  --processes N  so many processes more for `process`, `machine`, `overview` and `screens` (default 10000)
  --growth       `process` with 100, 1000, 10000 and 30000 processes more, or as many as there can be
  --record       append the tables to the file of this day and processor in record/";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Options of the benches on the command line.
#[derive(Clone, Copy, Debug)]
struct Options {
    /// Number of samples that a bench measures of each variant.
    rounds: usize,
    /// Number of processes that a bench starts in addition to those of this machine.
    processes: usize,
    /// `true` if a bench measures the costs for several numbers of processes.
    growth: bool,
}

/// Function that takes each finished table of a bench, to print and record it.
type Out<'a> = &'a mut dyn FnMut(&dyn Display) -> Result<()>;

/// Function that runs one bench, and passes each of its tables to `Out`.
type Bench = fn(&Options, Out<'_>) -> Result<()>;

const BENCHES: &[(&str, Bench)] = &[
    ("decode", decode::reports),
    ("v1-decode", v1_decode::reports),
    ("encode", encode::reports),
    #[cfg(target_os = "linux")]
    ("format", format::reports),
    #[cfg(target_os = "linux")]
    ("collect", collect::reports),
    #[cfg(target_os = "linux")]
    ("path", path::reports),
    #[cfg(target_os = "linux")]
    ("c", c::reports),
    #[cfg(target_os = "linux")]
    ("system", system::reports),
    #[cfg(target_os = "linux")]
    ("process", process::reports),
    #[cfg(target_os = "linux")]
    ("thread", process::threads::reports),
    #[cfg(target_os = "linux")]
    ("machine", machine::reports),
    #[cfg(target_os = "linux")]
    ("overview", overview::reports),
    #[cfg(target_os = "linux")]
    ("cost", cost::reports),
    #[cfg(target_os = "linux")]
    ("log", log::reports),
    #[cfg(target_os = "linux")]
    ("text", text::reports),
    #[cfg(target_os = "linux")]
    ("record", recording::reports),
    #[cfg(target_os = "linux")]
    ("export", recording::export::reports),
    #[cfg(target_os = "linux")]
    ("shm", shm::reports),
    #[cfg(target_os = "linux")]
    ("scrape", scrape::reports),
    #[cfg(target_os = "linux")]
    ("stream", stream::reports),
    #[cfg(target_os = "linux")]
    ("start", start::reports),
    #[cfg(target_os = "linux")]
    ("screens", screens::reports),
];

fn run() -> Result<()> {
    let mut options = Options { rounds: 31, processes: 10_000, growth: false };
    let mut record = None;
    let mut benches: &[(&str, Bench)] = &[];
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = |of| match arguments.next().and_then(|number| number.parse().ok()) {
            Some(number @ 1..) => Ok(number),
            _ => bail!("{of} wants a number\n{USAGE}"),
        };
        match argument.as_str() {
            #[cfg(target_os = "linux")]
            process::NURSERY => return process::nursery::serve(number(process::NURSERY)?),
            #[cfg(target_os = "linux")]
            process::threads::THREADS => return process::threads::serve(number(process::threads::THREADS)?),
            #[cfg(target_os = "linux")]
            process::HOLDER => return process::memory::hold(&arguments.next().unwrap_or_default()),
            "all" => benches = BENCHES,
            "--record" => record = Some(Record::open()?),
            "--rounds" => options.rounds = number("--rounds")?,
            "--processes" => options.processes = number("--processes")?,
            "--growth" => options.growth = true,
            word => match BENCHES.iter().position(|(name, _)| *name == word) {
                Some(at) => benches = &BENCHES[at..=at],
                None => bail!("what is {argument:?}?\n{USAGE}"),
            },
        }
    }
    if benches.is_empty() {
        bail!("{USAGE}");
    }
    for (_, bench) in benches {
        bench(&options, &mut |table| {
            println!("{table}");
            record.as_mut().map_or(Ok(()), |record| record.append(table))
        })?;
    }
    Ok(())
}
