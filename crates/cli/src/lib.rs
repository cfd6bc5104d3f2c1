//! Library of the command `perfset`: performance counters of this machine in a terminal, a pipe or a file.
//!
//! It is a library so that tests can call the outputs with samples of their own. Its API is not stable.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]
#![allow(missing_docs, missing_debug_implementations, reason = "only the command and its tests use it")]

pub mod args;
pub mod query_source;
#[cfg(feature = "man")]
mod complete;
#[cfg(feature = "man")]
mod completions;
mod describe;
pub mod destination;
mod doctor;
mod dump;
mod examples;
pub mod exit;
mod find;
mod get;
mod input;
mod instances;
mod list;
mod log;
mod log_convert;
mod log_cut;
mod log_export;
#[cfg(feature = "man")]
mod man;
#[cfg(feature = "publish")]
mod manifest;
mod named_instances;
pub mod operands;
mod pace;
mod paths;
#[cfg(feature = "plot")]
pub mod plot;
pub mod printer;
#[cfg(feature = "publish")]
mod provider;
mod record;
mod records;
pub mod relog;
#[cfg(feature = "serve")]
mod report;
mod resolve;
pub mod samples;
mod screen;
#[cfg(feature = "settings")]
mod settings;
#[cfg(feature = "serve")]
mod serve;
mod terminal;
#[cfg(feature = "serve")]
mod textfile;
#[cfg(feature = "tui")]
mod tui;
mod usage;
mod v1;
mod watch;
mod bpf_capabilities;
mod when;
mod windows;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command, LogArgs, LogCommand};
use crate::exit::{Exit, Failure};
use crate::screen::ScreenPart;
use crate::windows::Tool;

/// Runs the command line of `perfset`, and returns its exit code. `is_output_closed`: `true` if standard output was
/// closed when the program was started.
pub fn run(is_output_closed: bool) -> ExitCode {
    if is_output_closed {
        if let Err(failure) = terminal::refuse_output() {
            return failed(&failure);
        }
    }
    let mut args = std::env::args_os();
    // Decided before the options are parsed, because the Windows tools have other options.
    if let Some(tool) = args.next().and_then(|program| Tool::from_program(Path::new(&program))) {
        return tool.run(args);
    }
    // Decided before the options are parsed: a file is neither a command nor an interval.
    if let Some(files) = log::only_files(args) {
        return ended(log::show_files(&files));
    }
    let Args { command, part } = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage::print(error),
    };
    // Without a command, the overview is shown.
    let done = match command {
        None => screen::run(&part, None),
        Some(Command::Cpu(args)) => screen::processors::run(&args),
        Some(Command::Mem(args)) => screen::run(&args, Some(ScreenPart::Memory)),
        Some(Command::Disk(args)) => screen::run(&args, Some(ScreenPart::Disks)),
        Some(Command::Net(args)) => screen::run(&args, Some(ScreenPart::Network)),
        Some(Command::Proc(args)) => screen::run(&args, Some(ScreenPart::Processes)),
        Some(Command::Cgroup(args)) => screen::run(&args, Some(ScreenPart::Groups)),
        Some(Command::Get(args)) => get::run(&args),
        Some(Command::List(args)) => list::run(&args),
        Some(Command::Find(args)) => find::run(&args),
        Some(Command::Describe(args)) => describe::run(&args),
        Some(Command::Instances(args)) => instances::run(&args),
        Some(Command::Watch(args)) => watch::run(&args),
        #[cfg(feature = "tui")]
        Some(Command::Top(args)) => tui::top(&args),
        #[cfg(feature = "tui")]
        Some(Command::View(args)) => tui::view(&args),
        Some(Command::Record(args)) => record::run(&args),
        Some(Command::Mark(args)) => record::mark(&args),
        Some(Command::Dump(args)) => dump::run(&args),
        #[cfg(feature = "plot")]
        Some(Command::Plot(args)) => plot::run(&args),
        #[cfg(feature = "serve")]
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Log(args)) => run_log(&args),
        Some(Command::Relog(args)) => relog::run(&args),
        Some(Command::V1(args)) => v1::run(&args),
        #[cfg(feature = "publish")]
        Some(Command::Manifest(args)) => manifest::run(&args),
        #[cfg(feature = "publish")]
        Some(Command::Provider(args)) => provider::run(&args),
        #[cfg(feature = "serve")]
        Some(Command::Serve(args)) => serve::run(&args),
        #[cfg(feature = "serve")]
        Some(Command::CheckLog) => return perfset_web::check_log(),
        Some(Command::Doctor(args)) => doctor::run(&args),
        #[cfg(feature = "man")]
        Some(Command::Completions(args)) => completions::run(&args),
        #[cfg(feature = "man")]
        Some(Command::Complete(args)) => complete::run(&args),
        #[cfg(feature = "man")]
        Some(Command::Man(args)) => man::run(&args),
    };
    ended(done)
}

/// Runs a command of `perfset log`.
fn run_log(args: &LogArgs) -> Result<Exit, Failure> {
    match &args.command {
        LogCommand::Info(args) => log::info(args),
        LogCommand::Cut(args) => log_cut::run(args),
        LogCommand::Convert(args) => log_convert::run(args),
        LogCommand::Export(args) => log_export::run(args),
    }
}

/// Prints the error of a command, if the command failed, and returns its exit code.
fn ended(done: Result<Exit, Failure>) -> ExitCode {
    match done {
        Ok(exit) => exit.into(),
        // The reader of the pipe has read enough: `perfset | head` is not an error.
        Err(failure) if failure.is_broken_pipe() => Exit::Ok.into(),
        Err(failure) => failed(&failure),
    }
}

/// Prints the error of a failed command to standard error, and returns its exit code.
fn failed(failure: &Failure) -> ExitCode {
    failure.print();
    failure.exit.into()
}
