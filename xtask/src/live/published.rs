//! Checks of published counters: the example of an HTTP server under load, and a reader and publisher in Python.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use super::owned::{Folder, Running};
use super::{finished, perfset};
use crate::repository::{root, target};

const PATHS: [&str; 4] = ["/", "/users", "/slow", "/nothing/here"];

/// Checks that the example HTTP server publishes exactly the requests that a load generator counts.
pub fn http_counters() -> Result<String> {
    let mut told = String::new();
    for processes in [1, 3] {
        let folder = Folder::new("http")?;
        let mut server = Running(
            Command::new(target().join("debug/examples/http_counters"))
                .args(["--address", "127.0.0.1:0", "--processes", &processes.to_string()])
                .env("PERFSET_RUNTIME_DIR", &folder.0)
                .stdout(Stdio::piped())
                .spawn()?,
        );
        let output = server.0.stdout.take().context("its output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").context("where it listens")?.to_owned();
        let generators: Vec<_> = (0..4)
            .map(|number| {
                let address = address.clone();
                spawn(move || generate(&address, number))
            })
            .collect();
        sleep(Duration::from_millis(500));
        let moving = values(&folder.0, &[r"\Http Example(*)\Requests/sec", "0.5", "2"])?;
        let rates: Vec<f64> = moving.iter().filter_map(|value| value["value"].as_f64()).collect();
        ensure!(rates.iter().any(|rate| *rate > 0.0), "nothing moves: {moving:?}");
        let mut sent: BTreeMap<&str, u64> = BTreeMap::new();
        for generator in generators {
            for (path, count) in generator.join().map_err(|_| anyhow!("a generator panicked"))?? {
                *sent.entry(path).or_default() += count;
            }
        }
        let named = |path: &str| match path {
            "/nothing/here" => "others".to_owned(),
            path => format!("GET {path}"),
        };
        for counter in ["Requests", "Requests/sec", "Average Latency"] {
            let mut counted: BTreeMap<String, u64> = BTreeMap::new();
            for value in values(&folder.0, &["--raw", &format!(r"\Http Example(*)\{counter}")])? {
                let name = value["instance"].as_str().context("a name")?;
                let name = name.split('#').next().unwrap_or_default().to_owned();
                // Of a timer the base counts.
                let number = if counter == "Average Latency" { &value["base"] } else { &value["raw"] };
                *counted.entry(name).or_default() += number.as_u64().context("a number")?;
            }
            let expected: BTreeMap<String, u64> = sent.iter().map(|(path, n)| (named(path), *n)).collect();
            ensure!(counted == expected, "{counter}: published {counted:?}, sent {expected:?}");
        }
        let total: u64 = sent.values().sum();
        told += &format!(
            "{} {total} requests in {processes} process{}",
            if processes == 1 { ":" } else { "," },
            if processes == 1 { "" } else { "es" }
        );
    }
    Ok(told)
}

/// Sends HTTP requests over one connection, and returns their number for each path.
fn generate(address: &str, number: usize) -> Result<BTreeMap<&'static str, u64>> {
    let mut sent = BTreeMap::new();
    let mut stream = TcpStream::connect(address)?;
    let mut answers = BufReader::new(stream.try_clone()?);
    for n in 0..1_500 {
        let path = match (n + number) % 97 {
            0 => "/slow",
            k => *PATHS.get([0, 0, 1, 3][k % 4]).unwrap_or(&"/"),
        };
        let request = format!("GET {path} HTTP/1.1\r\nHost: example\r\n\r\n");
        stream.write_all(request.as_bytes())?; // in one piece: the next would wait for the first to be acknowledged
        let mut length = 0;
        loop {
            let mut line = String::new();
            ensure!(answers.read_line(&mut line)? > 0, "the connection was closed");
            let line = line.trim().to_lowercase();
            if let Some(number) = line.strip_prefix("content-length:") {
                length = number.trim().parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        answers.by_ref().take(length).read_to_end(&mut Vec::new())?;
        *sent.entry(path).or_default() += 1;
        sleep(Duration::from_millis(2)); // the load is to last for as long as it is looked at
    }
    Ok(sent)
}

/// Checks that a Python program, written from the description of the layout alone, reads and publishes the same
/// values.
pub fn python() -> Result<String> {
    let folder = Folder::new("python")?;
    let script = root().join("xtask/src/live/published.py");
    let mut writer = Running(
        Command::new("python3")
            .arg(&script)
            .arg("write")
            .arg(&folder.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let mut input = writer.0.stdin.take().context("its input")?;
    let mut output = BufReader::new(writer.0.stdout.take().context("its output")?).lines();
    ensure!(output.next().context("ready")?? == "ready");
    for count in 1..=50_u64 {
        writeln!(input, "line")?;
        ensure!(output.next().context("a count")?? == count.to_string());
        if count % 10 == 0 {
            let read = values(&folder.0, &["--raw", r"\Python Lines(input)\*"])?;
            let numbers: Vec<_> = read.iter().filter_map(|value| value["raw"].as_u64()).collect();
            ensure!(numbers == [count, count], "after {count} lines: {read:?}");
        }
    }
    let python = lines(Command::new("python3").arg(&script).arg("read").arg(only_file(&folder)?))?;
    ensure!(python == ["Python Lines\tinput\t7\t1\t50", "Python Lines\tinput\t7\t2\t50"], "{python:?}");
    drop((input, writer));
    let gone = perfset()
        .args(["get", "--raw", r"\Python Lines(*)\*"])
        .env("PERFSET_RUNTIME_DIR", &folder.0)
        .output()?;
    ensure!(gone.status.code() == Some(3), "it is gone: {gone:?}");

    // And a file of ours, with rows, instances that came and went, and long names.
    let mut server = Running(
        Command::new(target().join("debug/examples/http_counters"))
            .args(["--address", "127.0.0.1:0"])
            .env("PERFSET_RUNTIME_DIR", &folder.0)
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().context("its output")?).read_line(&mut line)?;
    generate(line.trim().strip_prefix("http://").context("where it listens")?, 1)?;
    let ours = values(&folder.0, &["--raw", "--all", r"\Http Example(*)\*"])?;
    let path = file_of(server.0.id(), &folder)?;
    let theirs = lines(Command::new("python3").arg(&script).arg("read").arg(path))?;
    let mut compared = 0;
    for value in &ours {
        let (name, raw) = (value["instance"].as_str(), value["raw"].as_u64());
        let id = match value["counter"].as_str() {
            Some("Requests/sec") => 1,
            Some("Requests") => 2,
            Some("Average Latency") => 3,
            Some("Active Requests") => 5,
            other => return Err(anyhow!("a counter {other:?}")),
        };
        let (name, raw) = name.zip(raw).context("a value")?;
        let line = format!("Http Example\t{name}\t{}\t{id}\t{raw}", server.0.id());
        ensure!(theirs.contains(&line), "{line:?} is not among {theirs:?}");
        compared += 1;
    }
    Ok(format!(": 50 counts of Python, {compared} values of ours"))
}

/// Returns the values that `perfset get` prints of the counters published in a directory.
fn values(folder: &Path, arguments: &[&str]) -> Result<Vec<Value>> {
    let mut command = perfset();
    command.arg("get").args(arguments).args(["--format", "json"]).env("PERFSET_RUNTIME_DIR", folder);
    lines(&mut command)?.iter().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn lines(command: &mut Command) -> Result<Vec<String>> {
    Ok(finished(command.output()?)?.lines().map(str::to_owned).collect())
}

/// Returns the only published file in a directory.
fn only_file(folder: &Folder) -> Result<PathBuf> {
    let mut files = std::fs::read_dir(&folder.0)?;
    let first = files.next().context("a file")??.path();
    ensure!(files.next().is_none(), "more than one file");
    Ok(first)
}

/// Returns the path of the file that a publishing process has.
fn file_of(pid: u32, folder: &Folder) -> Result<PathBuf> {
    let mut paths = std::fs::read_dir(&folder.0)?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_it = |path: &PathBuf| path.to_string_lossy().contains(&format!("/{pid}-"));
    paths.find(is_it).context("its file")
}
