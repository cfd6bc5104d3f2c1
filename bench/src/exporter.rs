//! Exporters of metrics for benches: started on a free loopback port, scraped over one connection, ended by process
//! id.

use std::cell::{OnceCell, RefCell};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail, ensure};

use crate::measure::Comparison;

/// Running exporter process of a bench, which is killed when this value is dropped.
#[derive(Debug)]
pub struct Exporter {
    child: Child,
    address: SocketAddr,
}

const PROGRAM: &str = "prometheus-node-exporter";
/// Option that turns off the metrics of node_exporter about itself.
const LEAN: &str = "--web.disable-exporter-metrics";

impl Exporter {
    /// Starts a node_exporter with the given arguments and only the given collectors.
    pub fn start(collectors: &[&str], arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.arg("--collector.disable-defaults").args(collectors).args(arguments);
        Self::spawn(command, "--web.listen-address=")
            .with_context(|| format!("{PROGRAM} is a Debian package: apt-get install {PROGRAM}"))
    }

    /// Starts an exporter command on a free port of this machine; `listen` is the option that precedes the address.
    pub fn spawn(mut command: Command, listen: &str) -> Result<Self> {
        // Free a moment ago; if another program takes it meanwhile, the exporter does not start, and says so.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let program = command.get_program().to_owned();
        let child = command
            .arg(format!("{listen}{address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| program.display().to_string())?;
        Ok(Self { child, address })
    }

    /// Returns the address at which the exporter listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects to the exporter as soon as it listens.
    pub fn connect(&mut self) -> Result<Connection> {
        const TRIES: u32 = 100;
        for _ in 0..TRIES {
            if let Some(status) = self.child.try_wait()? {
                bail!("the exporter does not run: {status}");
            }
            if let Ok(stream) = TcpStream::connect(self.address) {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(Duration::from_secs(10)))?;
                return Ok(Connection { stream, address: self.address, answer: Vec::new() });
            }
            sleep(Duration::from_millis(50));
        }
        bail!("the exporter does not listen on {}", self.address)
    }

    /// Returns the CPU time of all threads of the exporter, in ns.
    ///
    /// From the scheduler, as the clock of a process is. A thread that ended would be lost; a Go program keeps them.
    pub fn cpu_ns(&self) -> Result<f64> {
        let mut ns = 0.0;
        let tasks = format!("/proc/{}/task", self.child.id());
        for task in fs::read_dir(&tasks).context(tasks)? {
            let schedstat = task?.path().join("schedstat");
            let text = fs::read_to_string(&schedstat)
                .with_context(|| format!("{}: the kernel keeps no such times", schedstat.display()))?;
            let time: f64 = text.split(' ').next().unwrap_or_default().parse()?;
            ns += time;
        }
        Ok(ns)
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it has ended already
        let _ = self.child.wait();
    }
}

/// HTTP connection to an exporter, which is kept open between scrapes.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    answer: Vec<u8>,
}

impl Connection {
    /// Requests all metrics once, and returns the whole HTTP response, including its header.
    pub fn scrape(&mut self) -> Result<&[u8]> {
        write!(self.stream, "GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", self.address)?;
        self.answer.clear();
        let mut piece = [0; 16 << 10];
        while !is_whole(&self.answer)? {
            let len = self.stream.read(&mut piece)?;
            ensure!(len > 0, "the exporter closed the connection");
            self.answer.extend_from_slice(&piece[..len]);
        }
        Ok(&self.answer)
    }
}

/// Returns `true` if an HTTP response of an exporter is complete. Metrics are text: the last chunk's head cannot be
/// inside.
fn is_whole(answer: &[u8]) -> Result<bool> {
    const END: &[u8] = b"\r\n\r\n";
    let Some(end) = answer.windows(END.len()).position(|part| part == END) else { return Ok(false) };
    let (head, body) = answer.split_at(end + END.len());
    let head = std::str::from_utf8(head)?.to_ascii_lowercase();
    ensure!(head.starts_with("http/1.1 200 "), "the exporter answers {:?}", head.lines().next());
    if head.contains("\r\ntransfer-encoding: chunked\r\n") {
        return Ok(body.ends_with(b"\r\n0\r\n\r\n"));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.context("the exporter does not say how long its answer is")?.parse()?;
    Ok(body.len() >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_answers() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nx\n\r\n0\r\n\r\n";
        let counted = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n2 3 5";
        for whole in [chunked, counted] {
            for len in 0..whole.len() {
                assert!(!is_whole(&whole.as_bytes()[..len]).unwrap(), "{len} of {whole:?}");
            }
            assert!(is_whole(whole.as_bytes()).unwrap(), "{whole:?}");
        }
        assert!(is_whole(b"HTTP/1.1 404 Not Found\r\n\r\n").is_err());
    }
}

/// Exporter that is compared with this project, and the connection over which a bench scrapes it.
#[derive(Debug)]
pub struct Peer {
    /// Process of the compared exporter.
    pub exporter: Exporter,
    connection: RefCell<Connection>,
    /// Number of values that the compared exporter returned in its first scrape.
    pub values: usize,
    /// Error of the first failed scrape, after which no other scrape is made.
    failed: OnceCell<Error>,
}

impl Peer {
    /// Starts a node_exporter, and scrapes it once.
    pub fn start(collectors: &[&str], arguments: &[&str]) -> Result<Self> {
        Self::of(Exporter::start(collectors, arguments)?)
    }

    /// Connects to an exporter and scrapes it once.
    pub fn of(mut exporter: Exporter) -> Result<Self> {
        let mut connection = exporter.connect()?;
        let answer = connection.scrape()?;
        let is_value =
            |line: &&[u8]| line.first().is_some_and(u8::is_ascii_lowercase) && line.contains(&b' ');
        let body = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap_or(0);
        let values = answer[body..].split(|byte| *byte == b'\n').filter(is_value).count();
        exporter.cpu_ns()?;
        Ok(Self { exporter, connection: connection.into(), values, failed: OnceCell::new() })
    }

    /// Scrapes the exporter once, and returns the length of the response in bytes.
    pub fn scrape(&self) -> u64 {
        if self.failed.get().is_some() {
            return 0;
        }
        match self.connection.borrow_mut().scrape() {
            Ok(answer) => answer.len() as u64,
            Err(error) => {
                let _ = self.failed.set(error); // it was not set
                0
            }
        }
    }

    /// Returns the first error of a scrape of the exporter, if one failed.
    pub fn check(self) -> Result<()> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}

/// Two node_exporters: one as people run it, and one without metrics about itself.
#[derive(Debug)]
pub struct NodeExporters {
    usual: Peer,
    lean: Peer,
}

impl NodeExporters {
    /// Starts both node_exporters with the given arguments and only the given collectors.
    pub fn start(collectors: &[&str], arguments: &[&str]) -> Result<Self> {
        let lean = [arguments, &[LEAN]].concat();
        Ok(Self { usual: Peer::start(collectors, arguments)?, lean: Peer::start(collectors, &lean)? })
    }

    /// Returns a text with the numbers of values that both node_exporters have.
    pub fn about(&self) -> String {
        let Self { usual, lean } = self;
        format!("the exporter has {}, and {} about itself", lean.values, usual.values - lean.values)
    }

    /// Adds both node_exporters to a comparison, as the references `peer` and `lean`.
    pub fn in_comparison<'a>(&'a self, comparison: Comparison<'a>) -> Comparison<'a> {
        comparison
            .variant("node_exporter's process, a scrape over a kept connection (peer)", || {
                self.usual.scrape()
            })
            .timed_by(|| self.usual.exporter.cpu_ns().unwrap_or(f64::NAN))
            .reference("peer")
            .variant("the same without numbers about itself (lean)", || self.lean.scrape())
            .timed_by(|| self.lean.exporter.cpu_ns().unwrap_or(f64::NAN))
            .reference("lean")
    }

    /// Returns the first error of a scrape of either node_exporter, if one failed.
    pub fn check(self) -> Result<()> {
        self.usual.check()?;
        self.lean.check()
    }
}
