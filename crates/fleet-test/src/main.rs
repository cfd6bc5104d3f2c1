//! Program that writes recordings of generated hosts and exports them: `cargo xtask fleet` starts it.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use fleet_test::{HostPlan, RecordedHost, RecordingPlan, write_recording};
use perfset_log::Logs;
use perfset_parquet::{ExportOptions, export};

const USAGE: &str = "usage: fleet DIR [--hosts N] [--first N] [--seed N] [--seconds N] [--interval N] [--begin N]
             [--threads N] [--keep-recordings]

Makes recordings of so many hosts and exports them into DIR/lake; DIR/hosts.csv has the role and the version of each.
--keep-recordings leaves the recordings in DIR/recordings.";

/// Options of the fleet program's command line.
#[derive(Debug)]
struct Options {
    folder: PathBuf,
    hosts: u64,
    first: u64,
    seed: u64,
    length: RecordingPlan,
    threads: u64,
    keeps_recordings: bool,
}

impl Options {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let length = RecordingPlan { seconds: 3_600, interval: 10, begin: 36_000 };
        let mut options = Self {
            folder: PathBuf::new(),
            hosts: 22,
            first: 0,
            seed: 1,
            length,
            threads: 2,
            keeps_recordings: false,
        };
        while let Some(arg) = args.next() {
            if arg == "--keep-recordings" {
                options.keeps_recordings = true;
                continue;
            }
            if !arg.starts_with("--") {
                options.folder = arg.into();
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{arg} needs a number"))?;
            let number: u32 = value.parse().map_err(|_| format!("{arg} {value}: no number"))?;
            match &*arg {
                "--hosts" => options.hosts = number.into(),
                "--first" => options.first = number.into(),
                "--seed" => options.seed = number.into(),
                "--seconds" => options.length.seconds = number,
                "--interval" => options.length.interval = number.max(1),
                "--begin" => options.length.begin = number,
                "--threads" => options.threads = number.max(1).into(),
                _ => return Err(format!("{arg}: unknown\n{USAGE}").into()),
            }
        }
        if options.folder.as_os_str().is_empty() { Err(USAGE.into()) } else { Ok(options) }
    }
}

/// Numbers of all generated hosts together: values, files, bytes and times.
#[derive(Clone, Copy, Debug, Default)]
struct FleetNumbers {
    recorded: RecordedHost,
    rows: u64,
    files: u64,
    recording_bytes: u64,
    bytes: u64,
    recording_time: Duration,
    export_time: Duration,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read(std::env::args().skip(1))?;
    fs::create_dir_all(&options.folder)?;
    let hosts = options.first..options.first + options.hosts;
    let mut table = String::from("host,role,version\n");
    for number in hosts.clone() {
        let plan = HostPlan { number, seed: options.seed };
        let _ = writeln!(table, "{},{},{}", plan.name(), plan.role().name(), plan.version()); // into memory
    }
    fs::write(options.folder.join("hosts.csv"), table)?;
    let began = Instant::now();
    let (next, all) = (AtomicU64::new(hosts.start), Mutex::new(FleetNumbers::default()));
    let work = || -> Result<(), String> {
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= hosts.end {
                return Ok(());
            }
            let plan = HostPlan { number, seed: options.seed };
            make(plan, &options, &all).map_err(|error| format!("{}: {error}", plan.name()))?;
        }
    };
    std::thread::scope(|scope| -> Result<(), String> {
        let threads: Vec<_> = (0..options.threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread has panicked")?)
    })?;
    let all = *all.lock().map_err(|_| "a thread has panicked")?;
    let values = all.recorded.values as f64;
    println!("hosts            {}", options.hosts);
    println!("samples          {}", all.recorded.samples);
    println!(
        "values           {} ({:.0} a sample)",
        all.recorded.values,
        values / all.recorded.samples as f64
    );
    println!("rows             {}", all.rows);
    println!("files            {} ({:.0} B each)", all.files, all.bytes as f64 / all.files as f64);
    println!("Parquet          {} B ({:.3} B a value)", all.bytes, all.bytes as f64 / values);
    let recordings = all.recording_bytes as f64 / values;
    println!("recordings       {} B ({recordings:.3} B a value)", all.recording_bytes);
    let ns = |time: Duration| time.as_secs_f64() * 1e9 / values;
    println!("recording        {:.1} ns a value, made up and written", ns(all.recording_time));
    println!("export           {:.1} ns a value", ns(all.export_time));
    println!("seconds          {:.1}, {} threads", began.elapsed().as_secs_f64(), options.threads);
    Ok(())
}

/// Makes the recording and the exported files of a generated host.
fn make(plan: HostPlan, options: &Options, all: &Mutex<FleetNumbers>) -> Result<(), Box<dyn Error>> {
    let folder = options.folder.join("recordings").join(plan.name());
    let began = Instant::now();
    let recorded = write_recording(plan, options.length, &folder)?;
    let (recording_time, recording_bytes) = (began.elapsed(), bytes_below(&folder)?);
    let began = Instant::now();
    let logs = Logs::open(std::slice::from_ref(&folder))?;
    let exported = export(&logs, options.folder.join("lake"), ExportOptions::default(), || {})?;
    let export_time = began.elapsed();
    let mut bytes = 0;
    for file in &exported.files {
        bytes += fs::metadata(file)?.len();
    }
    if !options.keeps_recordings {
        fs::remove_dir_all(&folder)?;
    }
    let all = &mut *all.lock().map_err(|_| "a thread has panicked")?;
    all.recorded.samples += recorded.samples;
    all.recorded.values += recorded.values;
    all.rows += exported.rows;
    all.files += exported.files.len() as u64;
    all.bytes += bytes;
    all.recording_bytes += recording_bytes;
    all.recording_time += recording_time;
    all.export_time += export_time;
    Ok(())
}

fn bytes_below(folder: &Path) -> Result<u64, std::io::Error> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}
