//! Checks of `perfset serve` with Prometheus: its linter, and a server that scrapes perfset.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::owned::{Folder, Running};
use super::{Load, perfset};

/// Checks that `promtool check metrics` reports nothing for the default counters, and for all processes.
pub fn linted() -> Result<String> {
    let mut lines = 0;
    for profile in ["perf", "windows_exporter"] {
        let folder = Folder::new("linted")?;
        let processes = folder.0.join("processes.txt");
        fs::write(&processes, "\\Process V2(*)\\*\n\\Linux Process(*)\\*\n\\CGroup(*)\\*\n\\Thread(*)\\*\n")?;
        for query in [None, Some(&processes)] {
            let address = free_address()?;
            let mut command = serve(address);
            command.args(["--profile", profile]);
            command.args(query.into_iter().flat_map(|file| ["--query".as_ref(), file.as_os_str()]));
            let _serving = Running(command.spawn().context("cannot start perfset")?);
            let text = get(address, "/metrics")?;
            lines += text.lines().filter(|line| !line.starts_with('#')).count();
            let mut promtool = Command::new("promtool")
                .args(["check", "metrics"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .context("cannot start promtool (Debian package prometheus)")?;
            promtool.stdin.take().context("promtool has no input")?.write_all(text.as_bytes())?;
            let output = promtool.wait_with_output()?;
            let said = [output.stdout, output.stderr]
                .map(|said| String::from_utf8_lossy(&said).into_owned())
                .concat();
            ensure!(output.status.success() && said.is_empty(), "{profile}, {query:?}: {said}");
        }
    }
    Ok(format!(": {lines} lines"))
}

/// Checks a metrics file that is replaced each tenth of a second: readers see it whole, and node_exporter exports it.
pub fn textfile() -> Result<String> {
    const READINGS: usize = 2_000;
    let folder = Folder::new("textfile")?;
    let file = folder.0.join("perfset.prom");
    let mut command = perfset();
    command.args(["get", "--format", "prometheus", "-o"]).arg(&file);
    command.args([r"\Memory\Available Bytes", r"\Process V2(*)\Thread Count", "0.1"]);
    let _writing = Running(command.stdout(Stdio::null()).spawn().context("cannot start perfset")?);
    let started = Instant::now();
    while !file.exists() {
        ensure!(started.elapsed() < Duration::from_secs(5), "no file after 5 s");
        sleep(Duration::from_millis(10));
    }
    let mut texts = std::collections::HashSet::new();
    for _ in 0..READINGS {
        let text = fs::read_to_string(&file)?;
        let last = text.lines().last().unwrap_or_default();
        ensure!(last.starts_with("perf_process_v2_threads{") && text.ends_with('\n'), "half a file: {text}");
        texts.insert(text);
        sleep(Duration::from_millis(1));
    }
    ensure!(texts.len() > 5, "{} different files in {:?}", texts.len(), started.elapsed());
    let address = free_address()?;
    let peer = Command::new("prometheus-node-exporter")
        .args(["--collector.disable-defaults", "--collector.textfile"])
        .arg(format!("--collector.textfile.directory={}", folder.0.display()))
        .arg(format!("--web.listen-address={address}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _peer =
        Running(peer.context("cannot start node_exporter (Debian package prometheus-node-exporter)")?);
    let text = get(address, "/metrics")?;
    ensure!(text.contains("\nnode_textfile_scrape_error 0\n"), "node_exporter refuses the file: {text}");
    let lines = text.lines().filter(|line| line.starts_with("perf_process_v2_threads{")).count();
    ensure!(lines > 5 && text.contains("\nperf_memory_available_bytes "), "{lines} processes: {text}");
    Ok(format!(": {} files, {lines} processes in node_exporter", texts.len()))
}

/// Checks a server of perfset that Prometheus scrapes each second: a known load, processes that come and go, a
/// restart.
pub fn scraped() -> Result<String> {
    const CHILDREN: usize = 20;
    let folder = Folder::new("scraped")?;
    let (ours, theirs) = (free_address()?, free_address()?);
    let query = folder.0.join("query.txt");
    fs::write(&query, "\\Process V2(*)\\% Processor Time\n\\Perfset Engine\\*\n")?;
    let start = || {
        let mut command = serve(ours);
        command.arg("--query").arg(&query);
        Ok::<_, anyhow::Error>(Running(command.spawn().context("cannot start perfset")?))
    };
    let serving = start()?;
    get(ours, "/metrics")?;
    let config = folder.0.join("prometheus.yml");
    let job = format!("scrape_configs:\n- job_name: perfset\n  static_configs:\n  - targets: ['{ours}']\n");
    fs::write(&config, format!("global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n{job}"))?;
    let prometheus = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", folder.0.join("data").display()))
        .arg(format!("--web.listen-address={theirs}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start prometheus (Debian package prometheus)")?;
    let _prometheus = Running(prometheus);
    let ask = |query: &str| ask(theirs, query);
    until("Prometheus scrapes it", || Ok(ask("up{job='perfset'}")? == Some(1.0)))?;

    // What one busy thread takes, by the kernel's own count of this process and by rate().
    let own = format!("perf_process_v2_processor_seconds_total{{process_id='{}'}}", std::process::id());
    let load = Load::start();
    sleep(Duration::from_secs(3)); // the first samples of the window are under load
    let (before, began) = (cpu_seconds()?, Instant::now());
    sleep(Duration::from_secs(8));
    let kernel = (cpu_seconds()? - before) / began.elapsed().as_secs_f64();
    let rate = ask(&format!("rate({own}[8s])"))?.context("there is no rate of a known process")?;
    drop(load);
    ensure!((rate - kernel).abs() <= 0.05 * kernel.max(0.2), "rate() says {rate}, /proc {kernel}");

    // Processes that come, and go: their series end, and come under no other name.
    let sleeping =
        (0..CHILDREN).map(|_| Ok(Running(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn()?)));
    let sleeping = sleeping.collect::<Result<Vec<_>>>()?;
    let numbers: Vec<_> = sleeping.iter().map(|child| child.0.id().to_string()).collect();
    let of_them =
        format!("count(perf_process_v2_processor_seconds_total{{process_id=~'{}'}})", numbers.join("|"));
    until("new processes have series", || Ok(ask(&of_them)? == Some(CHILDREN as f64)))?;
    drop(sleeping);
    until("series of ended processes end", || Ok(ask(&of_them)?.is_none()))?;

    // Counters that begin anew with the program that counts.
    let collections = "perf_perfset_engine_collections_total";
    ensure!(ask(&format!("resets({collections}[1m])"))? == Some(0.0), "a counter fell");
    drop(serving);
    until("it is seen to be gone", || Ok(ask("up{job='perfset'}")? == Some(0.0)))?;
    ensure!(ask(collections)?.is_none(), "series of what is gone go on");
    let _serving = start()?;
    until("it is scraped again", || Ok(ask("up{job='perfset'}")? == Some(1.0)))?;
    until("the restart is a reset", || Ok(ask(&format!("resets({collections}[1m])"))? == Some(1.0)))?;
    let rate = ask(&format!("rate({collections}[1m])"))?.context("there is no rate over the restart")?;
    ensure!((0.0..100.0).contains(&rate), "over the restart {rate} collections a second");
    let failed = ask("sum(perf_exporter_collector_success == bool 0)")?;
    ensure!(failed == Some(0.0), "{failed:?} countersets failed");
    Ok(format!(": a busy thread is {:.3} by /proc", kernel))
}

/// Returns the command `perfset serve` for a local address, without a token even if the user is root.
pub(super) fn serve(address: SocketAddr) -> Command {
    let mut command = perfset();
    command.args(["serve", "--insecure", "--listen", &address.to_string()]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns a local address whose port was free a moment ago.
pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Returns the CPU time of this process so far, in seconds, from `/proc`: utime and stime are the 14th and 15th field
/// of its stat.
fn cpu_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let behind = stat.rsplit_once(')').context("no name in stat")?.1;
    let ticks = behind.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}

/// Waits until a condition of a check is met, for ten seconds at most.
fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    const MOST: Duration = Duration::from_secs(10);
    let began = Instant::now();
    loop {
        let now = is_so();
        if matches!(now, Ok(true)) {
            return Ok(());
        }
        if began.elapsed() > MOST {
            now.with_context(|| format!("within 10 s it is not so that {what}"))?;
            bail!("within 10 s it is not so that {what}");
        }
        sleep(Duration::from_millis(200));
    }
}

/// Returns the current value of a Prometheus query with one result; `None` if it has none.
fn ask(address: SocketAddr, query: &str) -> Result<Option<f64>> {
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let answer: Value = serde_json::from_str(&get(address, &format!("/api/v1/query?query={encoded}"))?)?;
    let results = answer["data"]["result"].as_array().with_context(|| format!("{query}: {answer}"))?;
    ensure!(results.len() <= 1, "{query} has {} results", results.len());
    let Some(result) = results.first() else { return Ok(None) };
    let number = result["value"][1].as_str().with_context(|| format!("{query}: {answer}"))?;
    Ok(Some(number.parse()?))
}

/// Returns the response of an HTTP server to a GET request, as soon as it listens.
pub(super) fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address);
    for _ in 0..50 {
        if stream.is_ok() {
            break;
        }
        sleep(Duration::from_millis(100));
        stream = TcpStream::connect(address);
    }
    let mut stream = stream.with_context(|| format!("nobody listens on {address}"))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without a head")?;
    ensure!(head.lines().next().is_some_and(|line| line.contains(" 200 ")), "{path}: {head}");
    Ok(body.to_owned())
}
