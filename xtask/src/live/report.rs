//! Check of reports of `perfset report` in a browser, which opens them from disk without a network.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use super::owned::Folder;
use super::{browser_tools, finished, perfset};

/// Number of samples of the long log in the check: more than a chart has points.
const LONG: u32 = 20_000;

/// Instance names that would run a script if a report did not treat them as text.
const NAMES: [&str; 3] = ["<!--<script>owned=1<!script>", "'><img src=x onerror='owned=1'>", "plain"];

/// Checks reports in a browser, and returns figures; the error names all failed checks.
pub fn check() -> Result<String> {
    let browser = browser_tools()?;
    let folder = Folder::new("report")?;
    let log = folder.0.join("long.csv");
    write_long(&log)?;
    let recording = folder.0.join("rec.perfset");
    // All counters, four times a second.
    finished(perfset().args(["record", "-o"]).arg(&recording).args(["250ms", "12"]).output()?)?;
    let [of_recording, of_long] = ["rec.html", "long.html"].map(|name| folder.0.join(name));
    let mut sizes = Vec::new();
    for (log, report) in [(&recording, &of_recording), (&log, &of_long)] {
        finished(perfset().args(["report", "--log"]).arg(log).arg("-o").arg(report).output()?)?;
        sizes.push(std::fs::metadata(report)?.len() / 1_024);
    }
    let mut script = Command::new("node");
    script.arg("report.js").arg(&of_recording).arg(&of_long).current_dir(&browser);
    let Output { stdout, stderr, status } = script.output().context("cannot start node")?;
    let lines = String::from_utf8(stdout)?;
    let failed: Vec<&str> = lines.lines().filter(|line| !line.starts_with("ok ")).collect();
    let said = String::from_utf8_lossy(&stderr);
    ensure!(failed.is_empty() && status.success(), "{}: {status} {said}", failed.join("; "));
    let passed: String = lines.lines().map(|line| format!("\n        {}", &line[3..])).collect();
    Ok(format!(": of {sizes:?} KiB{passed}"))
}

/// Writes a log with hostile names, a gap and missing values.
fn write_long(path: &Path) -> Result<()> {
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
    NAMES.iter().try_for_each(|name| write!(text, ",\"\\\\HOST\\Shop({name})\\Requests/sec\""))?;
    for second in (0..LONG).filter(|second| !(5_000..6_000).contains(second)) {
        let (hour, minute) = (second / 3_600, second / 60 % 60);
        write!(text, "\n\"11/05/2026 {hour:02}:{minute:02}:{:02}.000\"", second % 60)?;
        let last = match second {
            10_000..12_000 => " ".to_owned(),
            second if second % 1_000 == 0 => "400".to_owned(),
            second => (second % 7).to_string(),
        };
        write!(text, ",\"{}\",\"{}\",\"{last}\"", second % 100, second % 11)?;
    }
    Ok(std::fs::write(path, text + "\n")?)
}
