//! Checks of Grafana dashboards over `perfset serve`: dashboards of node_exporter and windows_exporter have the same
//! data as over these exporters. The project's own have data for every expression.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::owned::{Folder, Running};
use super::prometheus::{free_address, get, serve};
use super::{Load, finished, grafana};
use crate::repository::root;

/// Minimum share of a dashboard's expressions with data over node_exporter that have data over perfset.
const DATA_LEAST: f64 = 0.9;
/// Largest difference by which perfset's share of equal results may be below the share of a second node_exporter.
const ALIKE_LESS: f64 = 0.05;
/// Minimum number of expressions of windows_exporter's dashboard that have data.
const WINDOWS_LEAST: usize = 40;
/// Time that rates over a minute need until they have values, with a scrape every two seconds.
const SCRAPED: Duration = Duration::from_secs(46);
/// Number of times that the dashboards' expressions are evaluated; the next constant is the time between two
/// evaluations.
const TRIES: usize = 3;
const BETWEEN_TRIES: Duration = Duration::from_secs(20);
/// Number of comparisons, each of a reading of perfset's metrics between two readings of node_exporter.
const READINGS: usize = 3;

/// Figures in the last line that the script `check.py` prints about a dashboard.
#[derive(Debug)]
struct Answers {
    with_data: usize,
    /// Number of expressions with data over node_exporter, of equal results, and of expressions with data over both.
    beside: Option<[usize; 3]>,
}

/// Checks that dashboards have the same data over perfset as over node_exporter, and that each number lies between two
/// readings of node_exporter. The dashboards in `packaging/grafana` have all their data.
pub fn check() -> Result<String> {
    let folder = Folder::new("dashboards")?;
    let addresses = [free_address()?, free_address()?, free_address()?, free_address()?, free_address()?];
    let [node, windows, first_peer, second_peer, own_names] = addresses;
    let _running = [
        profile(node, "node_exporter")?,
        profile(windows, "windows_exporter")?,
        peer(first_peer)?,
        peer(second_peer)?,
    ];
    let grafana = grafana::start(&folder.0, own_names)?;
    let mut config = "global:\n  scrape_interval: 2s\n  scrape_timeout: 2s\nscrape_configs:\n".to_owned();
    let jobs = ["perfset-node", "perfset-windows", "node", "second-node", "perfset"];
    for (job, address) in jobs.iter().zip(addresses) {
        get(address, "/metrics").with_context(|| format!("{job} does not answer"))?;
        config += &format!("- job_name: {job}\n  static_configs:\n  - targets: ['{address}']\n");
    }
    fs::write(folder.0.join("prometheus.yml"), config)?;
    let server = free_address()?;
    let prometheus = Command::new("prometheus")
        .arg(format!("--config.file={}", folder.0.join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", folder.0.join("data").display()))
        .arg(format!("--web.listen-address={server}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start prometheus (Debian package prometheus)")?;
    let _prometheus = Running(prometheus);
    let load = Load::start();
    let compared = (0..READINGS).map(|_| between(node, first_peer)).collect::<Result<Vec<_>>>();
    grafana.visit()?;
    sleep(SCRAPED);
    let of_grafana = grafana.ask(server, "perfset")?;
    // Each server is scraped at another moment of the two seconds, so after a burst rates differ. A wrong number
    // differs at every try.
    let mut alike = alike_answers(server);
    for _ in 1..TRIES {
        if alike.is_ok() {
            break;
        }
        sleep(BETWEEN_TRIES);
        alike = alike_answers(server);
    }
    drop(load);
    let figures = alike?;
    let compared: usize = compared?.into_iter().sum();
    Ok(format!(
        "{figures}; {compared} counts lie between two of node_exporter; {of_grafana} expressions of our own \
         dashboards have data"
    ))
}

/// Evaluates the expressions of node_exporter's dashboards, and checks that enough have data, and equal data.
fn alike_answers(server: SocketAddr) -> Result<String> {
    let own = ask(server, "node-exporter-full.tsv", "perfset-node", Some("node"))?;
    let peers = ask(server, "node-exporter-full.tsv", "second-node", Some("node"))?;
    let of_windows = ask(server, "windows-exporter.tsv", "perfset-windows", None)?.with_data;
    let [of_peer, alike, both] = own.beside.context("no figures beside the peer")?;
    let [_, peers_alike, peers_both] = peers.beside.context("no figures of two peers")?;
    let figures = format!(
        ": {} expressions with data of {of_peer} of node_exporter, alike {alike} of {both}, two node_exporters \
         {peers_alike} of {peers_both}; {of_windows} of windows_exporter's",
        own.with_data
    );
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    ensure!(share(both, of_peer) >= DATA_LEAST, "too few expressions have data{figures}");
    let least = share(peers_alike, peers_both) - ALIKE_LESS;
    ensure!(share(alike, both) >= least, "too few answers are alike{figures}");
    ensure!(of_windows >= WINDOWS_LEAST, "too few expressions of windows_exporter have data{figures}");
    Ok(figures)
}

/// Starts `perfset serve` with the metric names of another exporter's profile.
fn profile(address: SocketAddr, name: &str) -> Result<Running> {
    let mut command = serve(address);
    command.args(["--profile", name]);
    Ok(Running(command.spawn().context("cannot start perfset")?))
}

/// Options of the node_exporter that is compared: its authors' defaults where Debian's differ, and numbers of
/// processes.
const PEER_OPTIONS: [&str; 3] = [
    "--collector.processes",
    "--collector.netdev.device-exclude=^$",
    "--collector.filesystem.mount-points-exclude=\
     ^/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|var/lib/containers/storage/.+)($|/)",
];

/// Starts the node_exporter with which perfset is compared.
fn peer(address: SocketAddr) -> Result<Running> {
    let child = Command::new("prometheus-node-exporter")
        .args(PEER_OPTIONS)
        .arg(format!("--web.listen-address={address}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Ok(Running(child.context("cannot start node_exporter (Debian package prometheus-node-exporter)")?))
}

/// Evaluates all expressions of a dashboard in Prometheus, and returns the figures.
fn ask(server: SocketAddr, file: &str, job: &str, like: Option<&str>) -> Result<Answers> {
    let folder = root().join("testdata/dashboards");
    let mut command = Command::new("python3");
    command.arg(folder.join("check.py")).arg(format!("http://{server}")).arg(folder.join(file));
    command.args(["--quiet", "--job", job]);
    command.args(like.into_iter().flat_map(|job| ["--like", job]));
    let text = finished(command.output().context("cannot start python3")?)?;
    let last = text.lines().last().context("check.py prints nothing")?;
    figures(last).with_context(|| format!("unexpected last line of check.py: {last}"))
}

/// Returns the number of expressions with data in the last line of `check.py`.
pub(super) fn with_data(line: &str) -> Result<usize> {
    Ok(figures(line).with_context(|| format!("unexpected last line of check.py: {line}"))?.with_data)
}

/// Parses the last line that the script `check.py` prints about a dashboard. Its form is `FILE: N of M expressions
/// give data; JOB: N; alike N of M that both give`.
fn figures(line: &str) -> Option<Answers> {
    let number = |text: &str| text.split_whitespace().next()?.trim_end_matches(';').parse().ok();
    let (own, beside) = line.split_once("; ").map_or((line, None), |(own, beside)| (own, Some(beside)));
    let beside = match beside {
        None => None,
        Some(beside) => {
            let (peer, alike) = beside.split_once("; alike ")?;
            let (alike, both) = alike.split_once(" of ")?;
            Some([number(peer.split_once(": ")?.1)?, number(alike)?, number(both)?])
        }
    };
    Some(Answers { with_data: number(own.split_once(": ")?.1)?, beside })
}

/// Counts of a scrape by their metric names and labels.
type Counts = BTreeMap<String, f64>;

/// Checks that every count of perfset lies between two readings of node_exporter, and returns the number of counts.
/// Counts that only one of these exporters has are left out.
fn between(own: SocketAddr, peer: SocketAddr) -> Result<usize> {
    let before = counts(&get(peer, "/metrics")?)?;
    let ours = counts(&get(own, "/metrics")?)?;
    let after = counts(&get(peer, "/metrics")?)?;
    let mut compared = 0;
    for (series, value) in &ours {
        let (Some(before), Some(after)) = (before.get(series), after.get(series)) else { continue };
        // The kernel lets idle and iowait of a processor fall, and both programs keep the greater value, each of its
        // own readings: a tick may lie between.
        let tick = if series.starts_with("node_cpu_seconds_total") { 0.02 } else { 1e-6 };
        let (least, most) = (before - tick - before * 1e-12, after + tick + after * 1e-12);
        ensure!(
            (least..=most).contains(value),
            "{series} is {value}, and {before} and {after} by node_exporter"
        );
        compared += 1;
    }
    ensure!(compared > 100, "only {compared} counts are compared");
    Ok(compared)
}

/// Returns the counts in a scrape that belong to the machine, and not to the exporter itself.
fn counts(text: &str) -> Result<Counts> {
    let mut counts = Counts::new();
    let mut is_count = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, sort) = rest.split_once(' ').context("no type")?;
            // What node_exporter copies has no type: of that, a rate is always of a count.
            let rises = sort == "counter" || sort == "untyped" && !name.ends_with("_CurrEstab");
            is_count = rises && name.starts_with("node_");
        } else if is_count && !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').with_context(|| format!("no number: {line}"))?;
            counts.insert(sorted(series), value.parse().with_context(|| format!("no number: {line}"))?);
        }
    }
    Ok(counts)
}

/// Returns a metric's name with its labels sorted by name. The values of these labels have no comma.
fn sorted(series: &str) -> String {
    let Some((name, labels)) = series.split_once('{') else { return series.to_owned() };
    let mut labels: Vec<_> = labels.trim_end_matches('}').split(',').collect();
    labels.sort_unstable();
    format!("{name}{{{}}}", labels.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_last_line() {
        let line = "a.tsv: 170 of 276 expressions give data, 2 of them NaN only; node: 228; alike 160 of 169 \
                    that both give";
        let answers = figures(line).unwrap();
        assert_eq!((answers.with_data, answers.beside), (170, Some([228, 160, 169])));
        let answers = figures("b.tsv: 40 of 46 expressions give data").unwrap();
        assert_eq!((answers.with_data, answers.beside), (40, None));
        assert!(figures("nothing").is_none());
    }

    #[test]
    fn labels_in_order() {
        assert_eq!(sorted("a{mode=\"x\",cpu=\"0\"}"), "a{cpu=\"0\",mode=\"x\"}");
        assert_eq!(sorted("a"), "a");
    }
}
