//! Bench of event streams of the server: samples for many viewers, beside writing the same bytes to as many sockets.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::command;
use crate::exporter::Exporter;
use crate::measure::Comparison;
use crate::{Options, Out};

/// Numbers of viewers of the event stream in the measurements; each number has a table of its own.
const VIEWERS: [usize; 2] = [1, 50];
/// Query string with the counter paths of each viewer: every line of `/proc/meminfo` and `/proc/vmstat`.
const PATHS: &str = "path=/Linux+Memory/*";
/// Time between two samples of the event stream.
const INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of rounds: a round takes seconds, because it waits for samples.
const MOST_ROUNDS: usize = 5;

/// Measures the event streams of `perfset serve` for each number of viewers.
pub fn reports(&Options { rounds, .. }: &Options, out: Out<'_>) -> Result<()> {
    for viewers in VIEWERS {
        let mut serve = Command::new(command::path());
        serve.args(["serve", "--insecure", "--interval", "100ms"]);
        let mut server = Exporter::spawn(serve, "--listen=").context("build target/release/perfset first")?;
        drop(server.connect()?);
        let of_server: Vec<_> =
            (0..viewers).map(|_| Viewer::connect(server.address())).collect::<Result<_>>()?;
        let of_server = RefCell::new(of_server);
        catch_up(&mut of_server.borrow_mut())?;
        let events = next_of_all(&mut of_server.borrow_mut())?;
        ensure!(events.windows(2).all(|pair| pair[0] == pair[1]), "viewers get different samples");
        let event = events.first().context("there is no viewer")?.clone();
        let values = event.iter().filter(|byte| **byte == b',').count() / 2;
        ensure!(values > 100, "a sample has {values} values");

        let mut sockets = Sockets::open(viewers)?;
        let title =
            format!("stream: samples of {values} values, {} bytes, to {viewers} viewers", event.len());
        let comparison = Comparison::new(title, viewers)
            .per("viewer")
            .variant("write of the same bytes to as many sockets (floor)", || {
                sockets.write(&event).unwrap_or(0)
            })
            .reference("floor")
            .variant("perfset serve's process", || {
                let events = next_of_all(&mut of_server.borrow_mut()).unwrap_or_default();
                events.iter().map(|event| event.len() as u64).sum()
            })
            // What was sent while another variant ran is read first.
            .before(|| catch_up(&mut of_server.borrow_mut()).unwrap_or_default())
            .timed_by(|| server.cpu_ns().unwrap_or(f64::NAN));
        out(&comparison.run(rounds.min(MOST_ROUNDS)))?;
    }
    Ok(())
}

/// Reads the next sample of the event stream of each viewer.
fn next_of_all(viewers: &mut [Viewer]) -> Result<Vec<Vec<u8>>> {
    viewers.iter_mut().map(Viewer::next).collect()
}

/// Beginning of the line of a sample in an event stream, before its time.
const SAMPLE: &[u8] = b"data: {\"time\"";

/// Viewer that reads an event stream of samples.
struct Viewer(BufReader<TcpStream>);

impl Viewer {
    fn connect(address: SocketAddr) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "GET /api/stream?{PATHS} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
        Ok(Self(BufReader::with_capacity(64 << 10, stream)))
    }

    /// Returns the line with the next sample of the viewer's event stream.
    fn next(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        while !line.starts_with(SAMPLE) {
            line.clear();
            ensure!(self.0.read_until(b'\n', &mut line)? > 0, "the stream ended");
        }
        Ok(line)
    }
}

/// Reads all samples of the viewers' streams that were already sent, and the first one that it has to wait for.
fn catch_up(viewers: &mut [Viewer]) -> Result<()> {
    let Some((first, others)) = viewers.split_first_mut() else { return Ok(()) };
    let newest = loop {
        let began = Instant::now();
        let event = first.next()?;
        if began.elapsed() > INTERVAL / 4 {
            break time_of(&event)?;
        }
    };
    for viewer in others {
        while time_of(&viewer.next()?)? < newest {}
    }
    Ok(())
}

/// Returns the time in the line of a sample of an event stream.
fn time_of(event: &[u8]) -> Result<u64> {
    let digits = event.iter().skip(SAMPLE.len() + 1).take_while(|byte| byte.is_ascii_digit());
    let digits: String = digits.map(|digit| char::from(*digit)).collect();
    digits.parse().context("a sample without a time")
}

/// Connected sockets for comparison, each with a thread that reads the other end.
struct Sockets(Vec<TcpStream>);

impl Sockets {
    fn open(count: usize) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let mut sockets = Vec::new();
        for _ in 0..count {
            let socket = TcpStream::connect(listener.local_addr()?)?;
            socket.set_nodelay(true)?;
            sockets.push(socket);
            let (mut reader, _) = listener.accept()?;
            // Ends with its socket.
            std::thread::spawn(move || {
                let mut buffer = [0; 64 << 10];
                while reader.read(&mut buffer).is_ok_and(|len| len > 0) {}
            });
        }
        Ok(Self(sockets))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<u64> {
        for socket in &mut self.0 {
            socket.write_all(bytes)?;
        }
        Ok((self.0.len() * bytes.len()) as u64)
    }
}
