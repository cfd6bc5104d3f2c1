//! Checks of the dashboards in `packaging/grafana`: well-formed, and with data for every expression.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::finished;
use super::owned::Running;
use super::prometheus::{get, serve};
use crate::repository::{root, target};

/// Names of the project's Grafana dashboards.
const DASHBOARDS: [&str; 3] = ["machine", "processes", "published"];
/// Names of dashboard panels whose metrics need pressure stall information, a disk, or a file system on a disk.
const OF_SOME_MACHINES: [&str; 9] = [
    "Pressure",
    "Disks busy",
    "Disk throughput",
    "Disk latency",
    "Disk requests",
    "Disk queue",
    "File systems, used",
    "File systems, free",
    "Least free space",
];

/// Server with the counters of the dashboards, and a program that publishes some of them.
pub(super) struct Server {
    folder: PathBuf,
    /// Address of the program that publishes counters.
    published: SocketAddr,
    _running: [Running; 2],
}

/// Starts a server with the query file of the dashboards, and a program that publishes counters.
pub(super) fn start(folder: &Path, address: SocketAddr) -> Result<Server> {
    let mut program = Running(
        Command::new(target().join("debug/examples/http_counters"))
            .args(["--address", "127.0.0.1:0"])
            .env("PERFSET_RUNTIME_DIR", folder)
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the example http_counters")?,
    );
    let output = program.0.stdout.take().context("http_counters has no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let published =
        line.trim().strip_prefix("http://").context("http_counters prints no address")?.parse()?;

    let mut counters = fs::read_to_string(packaging().join("counters.txt"))?;
    counters += "\n\\Http Example(*)\\*\n";
    let query = folder.join("counters.txt");
    fs::write(&query, counters)?;
    let mut server = serve(address);
    server.arg("--query").arg(&query).env("PERFSET_RUNTIME_DIR", folder);
    let server = Running(server.spawn().context("cannot start perfset")?);
    Ok(Server { folder: folder.to_owned(), published, _running: [program, server] })
}

impl Server {
    /// Requests pages of the publishing program, so that its counters rise.
    pub(super) fn visit(&self) -> Result<()> {
        ["/", "/users", "/slow"].iter().try_for_each(|path| get(self.published, path).map(drop))
    }

    /// Evaluates all expressions of the dashboards in Prometheus, and returns their number.
    pub(super) fn ask(&self, prometheus: SocketAddr, job: &str) -> Result<usize> {
        let data = root().join("testdata/dashboards");
        let mut checked = Command::new("python3");
        checked.arg(data.join("grafana.py")).arg(packaging()).arg(&self.folder);
        let checked = checked.output().context("cannot start python3")?;
        finished(checked).context("Debian packages python3-jsonschema and python3-yaml are needed")?;
        let mut with_data = 0;
        for dashboard in DASHBOARDS {
            let mut command = Command::new("python3");
            command.arg(data.join("check.py")).arg(format!("http://{prometheus}"));
            command.arg(self.folder.join(format!("{dashboard}.tsv"))).args(["--job", job]);
            let text = finished(command.output().context("cannot start python3")?)?;
            let lacking: Vec<_> = text.lines().filter(|line| !is_of_machine(line)).collect();
            let (last, lacking) = lacking.split_last().context("check.py prints nothing")?;
            ensure!(lacking.is_empty(), "{dashboard}: {}", lacking.join("\n"));
            with_data += super::dashboards::with_data(last)?;
        }
        Ok(with_data)
    }
}

/// Returns `true` if a line of `check.py` is about a panel whose metrics not every machine has.
fn is_of_machine(line: &str) -> bool {
    let mut cells = line.split('\t');
    let is_panel = cells.next() == Some("no data")
        && cells.next().is_some_and(|panel| OF_SOME_MACHINES.contains(&panel));
    is_panel || line.starts_with("lacking metrics")
}

/// Returns the directory of the Grafana dashboards.
fn packaging() -> PathBuf {
    root().join("packaging/grafana")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_of_some_machines_exist() {
        let text = fs::read_to_string(packaging().join("dashboards/machine.json")).unwrap();
        for panel in OF_SOME_MACHINES {
            assert!(text.contains(&format!("\"title\": \"{panel}\"")), "{panel}");
        }
        assert!(is_of_machine("no data\tPressure\trate(x)\tlacks x"));
        assert!(!is_of_machine("no data\tEach processor\trate(x)\tlacks x"));
        assert!(!is_of_machine("variable $job is empty: x"));
    }

    /// Checks that the variables of published counters leave out the metrics of every built-in counterset.
    #[test]
    fn built_in_metrics_are_not_published() {
        let text = fs::read_to_string(packaging().join("dashboards/published.json")).unwrap();
        let (_, pattern) = text.split_once("__name__!~\\\"perf_(").unwrap();
        let names: Vec<_> = pattern.split_once(')').unwrap().0.split('|').collect();
        for file in fs::read_dir(root().join("catalog")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|end| end != "toml") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let Some(name) = text.lines().find_map(|line| line.strip_prefix("name = \"")) else { continue };
            let words = name.trim_end_matches('"').to_lowercase().replace([' ', '/'], "_");
            let starts = |name: &&str| {
                words.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            };
            assert!(names.iter().any(starts), "{}: {words}", path.display());
        }
    }
}
