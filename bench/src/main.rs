//! Measures hot paths beside their floors and peers. See README.md for what the tables mean.

mod blocks;
mod c;
mod collect;
mod counting;
mod decode;
mod encode;
mod exporter;
mod format;
mod measure;
mod path;
mod record;
mod system;
mod v1_decode;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::measure::Report;
use crate::record::Record;

const USAGE: &str =
    "usage: bench decode|v1-decode|encode|format|collect|path|c|system|all [--rounds N] [--record]
  --rounds N   how often each variant is measured (default 31)
  --record     append the tables to the file of this day and processor in record/";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures with a number of rounds, and hands over each table when it is there.
type Bench = fn(usize, &mut dyn FnMut(Report) -> Result<()>) -> Result<()>;

fn run() -> Result<()> {
    let mut rounds = 31;
    let mut record = None;
    let mut benches: &[Bench] = &[];
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "decode" => benches = &[decode::reports],
            "v1-decode" => benches = &[v1_decode::reports],
            "encode" => benches = &[encode::reports],
            "format" => benches = &[format::reports],
            "collect" => benches = &[collect::reports],
            "path" => benches = &[path::reports],
            "c" => benches = &[c::reports],
            "system" => benches = &[system::reports],
            "all" => {
                benches = &[
                    decode::reports,
                    v1_decode::reports,
                    encode::reports,
                    format::reports,
                    collect::reports,
                    path::reports,
                    c::reports,
                    system::reports,
                ];
            }
            "--record" => record = Some(Record::open()?),
            "--rounds" => match arguments.next().and_then(|number| number.parse().ok()) {
                Some(number @ 1..) => rounds = number,
                _ => bail!("--rounds wants a number\n{USAGE}"),
            },
            _ => bail!("what is {argument:?}?\n{USAGE}"),
        }
    }
    if benches.is_empty() {
        bail!("{USAGE}");
    }
    for bench in benches {
        bench(rounds, &mut |report| {
            println!("{report}");
            record.as_mut().map_or(Ok(()), |record| record.append(&report))
        })?;
    }
    Ok(())
}
