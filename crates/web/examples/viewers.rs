//! Example that measures the cost of a viewer: the CPU time of the server's threads with one viewer, and with a
//! hundred more.
//!
//! ```sh
//! cargo run --release -p perfset-web --example viewers
//! ```

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use perfset_web::{Server, ServerOptions};

const MORE: u32 = 100;
const WHILE: Duration = Duration::from_secs(10);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let options =
        ServerOptions { listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))], ..ServerOptions::default() };
    let server = Server::open(perfset::local(), options)?;
    let address = server.addresses().first().copied().ok_or("no address")?;
    let (stopper, serving) = (server.stopper(), std::thread::Builder::new().name("server".to_owned()));
    let serving = serving.spawn(move || server.run())?;
    view(address)?;
    std::thread::sleep(Duration::from_secs(3));
    let one = cost()?;
    for _ in 0..MORE {
        view(address)?;
    }
    std::thread::sleep(Duration::from_secs(3));
    let many = cost()?;
    let each = many.saturating_sub(one).as_secs_f64() * 1e6 / f64::from(MORE);
    println!("one viewer          {:8.1} us of CPU a second", one.as_secs_f64() * 1e6);
    println!("{MORE} more            {:8.1} us of CPU a second", many.as_secs_f64() * 1e6);
    println!("each of them        {each:8.1} us a viewer and second (goal: under 20)");
    stopper.stop();
    serving.join().map_err(|_| "the server panicked")??;
    Ok(())
}

/// Starts a viewer that requests the paths of the first page, and reads until the server ends.
fn view(address: SocketAddr) -> Result<()> {
    const PATHS: [&str; 6] = [
        "/Linux+Processor(_Total)/*",
        "/Processor+Information(!*_Total)/%25+Processor+Time",
        "/Linux+Memory/AnonPages",
        "/Pressure+Stall(*)/%25+Some+Stalled+Time",
        "/Network+Interface(*)/Bytes+Received/sec",
        "/System/Processor+Queue+Length",
    ];
    let query = PATHS.map(|path| format!("path={path}")).join("&");
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /api/stream?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    std::thread::spawn(move || {
        let mut buffer = [0_u8; 16 << 10];
        while matches!(stream.read(&mut buffer), Ok(1..)) {}
    });
    Ok(())
}

/// Returns the CPU time that the server's threads use per second.
fn cost() -> Result<Duration> {
    let (begin, before) = (Instant::now(), cpu_time()?);
    std::thread::sleep(WHILE);
    let used = cpu_time()?.saturating_sub(before);
    Ok(used.div_f64(begin.elapsed().as_secs_f64()))
}

/// Returns the CPU time that the server's threads have used so far.
fn cpu_time() -> Result<Duration> {
    let mut all = Duration::ZERO;
    for task in fs::read_dir("/proc/self/task")? {
        let folder = task?.path();
        let name = fs::read_to_string(folder.join("comm"))?;
        if matches!(name.trim(), "server" | "sampler") {
            let text = fs::read_to_string(folder.join("schedstat"))?;
            let ran = text.split_whitespace().next().ok_or("no schedstat")?;
            all = all.saturating_add(Duration::from_nanos(ran.parse()?));
        }
    }
    Ok(all)
}
