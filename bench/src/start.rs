//! Bench of the start of the command: `list` and `get`, beside a program that prints the same text and does nothing
//! else.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::command;
use crate::measure::{Comparison, Report};
use crate::{Options, Out};

/// Path of a counter whose value does not change, so that every run prints as many bytes.
const PATH: &str = r"\Linux Memory\MemTotal";

/// Measures the start of `perfset list` and of `perfset get`, with a table for each.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    out(&report(&["list"], None, rounds)?)?;
    out(&report(&["get", PATH, "--format", "csv"], Some("free"), rounds)?)
}

fn report(arguments: &[&str], peer: Option<&'static str>, rounds: usize) -> Result<Report> {
    let program = command::path();
    let text =
        printed(&program, arguments).with_context(|| format!("{}: build it first", program.display()))?;
    let file = std::env::temp_dir().join(format!("perfset-bench-start-{}", std::process::id()));
    fs::write(&file, &text)?;
    let lines = |program: &OsStr, arguments: &[&OsStr]| {
        printed(Path::new(program), arguments).map_or(0, |text| text.lines().count() as u64)
    };
    let (cat, program) = (OsStr::new("cat"), program.as_os_str());
    let with: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let found = [lines(cat, &[file.as_os_str()]), lines(program, &with)];
    ensure!(found[0] == found[1] && found[0] > 0, "{found:?} lines are printed");

    let title = format!("start: perfset {}, {} bytes", arguments.join(" "), text.len());
    let mut comparison = Comparison::new(title, 1)
        .per("run")
        .variant("cat of a file with the same text (floor)", || lines(cat, &[file.as_os_str()]))
        .timed_by(children_ns)
        .reference("floor");
    // Reads a file of the kernel and prints it as a table.
    if let Some(peer) = peer.filter(|peer| printed(Path::new(peer), &[] as &[&str]).is_ok()) {
        comparison = comparison
            .variant(peer, move || lines(OsStr::new(peer), &[]))
            .timed_by(children_ns)
            .reference("peer");
    }
    let report =
        comparison.variant("the command", || lines(program, &with)).timed_by(children_ns).run(rounds);
    fs::remove_file(&file)?;
    Ok(report)
}

/// Runs a program to its end, and returns the text on its standard output.
fn printed<S: AsRef<OsStr>>(program: &Path, arguments: &[S]) -> Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{}: {}", program.display(), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the CPU time of all ended child processes of the bench, in ns.
fn children_ns() -> f64 {
    let ns = |time: TimeVal| time.tv_sec() as f64 * 1e9 + time.tv_usec() as f64 * 1e3;
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_or(f64::NAN, |usage| ns(usage.user_time()) + ns(usage.system_time()))
}
