//! Server of a test with a shop's counters, and a client that reads HTTP responses as they arrive.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use perfset::testing::{FixedClock, Scripted};
use perfset::{Aggregate, Counter, CounterId, CounterType, Counterset, Guid, InstanceType, Machine};
use perfset_web::{ServeError, ServedLog, Server, ServerOptions, Stopper};

pub mod recorder;

pub const SECRET: &str = "a-secret-of-enough-letters";

/// Returns a machine with one counterset of a shop, whose instances are tea and milk.
pub fn shop() -> (Machine, Scripted) {
    let counter = |id, name: &'static str, counter_type, source: &'static str| {
        Counter::new(CounterId(id), counter_type).name(name).help("What the shop counts.").source(source)
    };
    let set = Counterset::new(Guid::from_u128(5), "Shop", InstanceType::Multiple)
        .help("What is sold.")
        .provider(Guid::NIL, "Test")
        .counters([
            counter(2, "Orders/sec", CounterType::PERF_COUNTER_BULK_COUNT, "the till"),
            counter(3, "Stock", CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "the shelf")
                .aggregate(Aggregate::Total),
        ]);
    let machine = Machine::new(Box::new(FixedClock::default()));
    let provider = Scripted::new(vec![set]);
    // By column of what is wanted: a stock that is asked alone would be in the first.
    provider
        .with(|script| script.rows = vec![("tea", 3, vec![Ok(7), Ok(7)]), ("milk", 5, vec![Ok(9), Ok(9)])]);
    machine.register(Box::new(provider.clone()));
    (machine, provider)
}

/// Server of a test that runs until this value is dropped.
#[derive(Debug)]
pub struct Running {
    pub address: SocketAddr,
    pub provider: Scripted,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    pub fn start(change: impl FnOnce(&mut ServerOptions)) -> Self {
        Self::of(shop(), change)
    }

    pub fn of((machine, provider): (Machine, Scripted), change: impl FnOnce(&mut ServerOptions)) -> Self {
        let mut options = ServerOptions {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            interval: Duration::from_millis(20),
            metrics: vec![r"\Shop(*)\Orders/sec".parse().unwrap()],
            ..ServerOptions::default()
        };
        change(&mut options);
        Self::run(Server::open(machine, options).unwrap(), provider)
    }

    /// Starts a test's server that shows a log.
    pub fn of_log(log: ServedLog, change: impl FnOnce(&mut ServerOptions)) -> Self {
        let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
        let mut options =
            ServerOptions { listen, interval: Duration::from_millis(20), ..ServerOptions::default() };
        change(&mut options);
        Self::run(Server::open_log(log, options).unwrap(), Scripted::new(Vec::new()))
    }

    fn run(server: Server, provider: Scripted) -> Self {
        let (address, stopper) = (server.addresses()[0], server.stopper());
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { address, provider, stopper, thread }
    }

    pub fn stop(&mut self) -> Result<(), ServeError> {
        self.stopper.stop();
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }

    /// Returns the number of times that the server has collected values from the provider.
    pub fn collections(&self) -> u64 {
        let count = self.provider.with(|s| s.log.iter().filter(|line| line.starts_with("Collect")).count());
        u64::try_from(count).unwrap()
    }

    pub fn about(&self) -> serde_json::Value {
        get(self, "/api/about", &[]).json()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes to the server, and closes the connection without waiting for the response.
    pub fn send_and_leave(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut stream = self.connect();
        stream.write_all(bytes)?;
        stream.shutdown(Shutdown::Both)
    }

    pub fn stream(&self, query: &str, headers: &[(&str, &str)]) -> Stream {
        let mut stream = Stream { socket: self.connect(), head: String::new(), text: String::new(), read: 0 };
        let line = format!("GET /api/stream?{query} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", lines(headers));
        stream.socket.write_all(line.as_bytes()).unwrap();
        stream
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Waits until a condition of a test is met.
pub fn until(what: &str, mut has_happened: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !has_happened() {
        assert!(begin.elapsed() < Duration::from_secs(60), "not in a minute: {what}");
    }
}

fn lines(headers: &[(&str, &str)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

/// Parsed HTTP response of a test's server.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status of the response; 0 if the connection was closed without one.
    pub status: u16,
    pub text: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        let head = self.text.split("\r\n\r\n").next().unwrap_or_default();
        let of =
            |line: &'_ str| line.split_once(": ").is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        head.lines()
            .find(|line| of(line))
            .and_then(|line| line.split_once(": "))
            .map_or("", |(_, value)| value)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub fn get(server: &Running, target: &str, headers: &[(&str, &str)]) -> Answer {
    let headers = lines(headers);
    request(
        server,
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n").as_bytes(),
    )
}

/// Sends bytes to the server, and reads the response until it is complete or the connection is closed.
pub fn request(server: &Running, bytes: &[u8]) -> Answer {
    let mut stream = server.connect();
    // Who refuses may close before all is sent.
    let _ = stream.write_all(bytes);
    let (mut got, mut buffer) = (Vec::new(), [0_u8; 4096]);
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        got.extend_from_slice(&buffer[..len]);
        let text = String::from_utf8_lossy(&got);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let whole =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")).map(|n| n.parse::<usize>());
        let is_head = bytes.starts_with(b"HEAD");
        if is_head
            || matches!(whole, Some(Ok(whole)) if body.len() >= whole)
            || head.contains("text/event-stream")
        {
            break;
        }
    }
    let text = String::from_utf8_lossy(&got).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    Answer { status, text, body }
}

/// Event stream of a test's server that is read.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    pub head: String,
    pub text: String,
    read: usize,
}

impl Stream {
    /// Returns the data of the stream's next event with this name.
    pub fn event(&mut self, name: &str) -> serde_json::Value {
        let begin = format!("event: {name}\n");
        loop {
            let rest = &self.text[self.read..];
            if let Some(at) = rest.find(&begin) {
                if let Some(len) = rest[at..].find("\n\n") {
                    let event = rest[at..at + len].to_owned();
                    self.read += at + len + 2;
                    let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
                    return serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
                }
            }
            assert!(self.more(), "the stream ended without {name}: {}", self.text);
        }
    }

    pub fn samples(&mut self, count: usize) {
        (0..count).for_each(|_| drop(self.event("sample")));
        // What was read is of no use any more.
        self.text.drain(..self.read);
        self.read = 0;
    }

    /// Returns `true` if the stream has ended.
    pub fn is_over(&mut self) -> bool {
        while self.more() {}
        true
    }

    /// Reads the next chunk of the stream; returns `false` at its end.
    fn more(&mut self) -> bool {
        let mut bytes = Vec::new();
        let is_head = self.head.is_empty();
        let end: &[u8] = if is_head { b"\r\n\r\n" } else { b"\r\n" };
        let mut byte = [0_u8];
        while !bytes.ends_with(end) {
            match self.socket.read(&mut byte) {
                Ok(1) => bytes.push(byte[0]),
                _ => return false,
            }
        }
        let line = String::from_utf8(bytes).unwrap();
        if is_head {
            assert!(line.starts_with("HTTP/1.1 200 "), "{line}");
            self.head = line;
            return true;
        }
        let len = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; len + 2];
        self.socket.read_exact(&mut chunk).unwrap();
        self.text.push_str(std::str::from_utf8(&chunk[..len]).unwrap());
        len > 0
    }
}
