//! `cargo xtask live`: checks of the command beside its peers, under load, on a terminal, and when it is interrupted.
//!
//! Checks that measure times or the whole machine run alone, the others side by side at the end. A peer that is missing
//! is a failure, not a reason to skip.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::repository::{root, run as run_program, target};
use crate::windows;
use owned::Background;

mod applications;
mod c;
mod clients;
mod completion;
mod cut;
mod dashboards;
mod disks;
mod facts;
mod files;
mod first_answer;
pub mod fleet;
mod grafana;
mod hotplug;
mod hour;
mod jq;
mod kernel_own;
mod known_load;
mod late;
mod logs;
mod memory;
mod mpstat;
mod network;
mod owned;
mod page;
mod packages;
pub mod parquet;
mod proc;
mod processes;
mod procps;
mod pressure;
mod prometheus;
mod published;
mod protocols;
mod record;
mod recordings;
mod relations;
mod report;
mod sensors;
mod services;
mod stores;
mod system;
mod tables;
pub mod tmux;
mod totals;
mod v1;
mod vmstat;
mod walks;
mod watch;
mod windows_zip;

/// A check with its name, which returns its figures.
type Check<'a> = (&'a str, &'a (dyn Fn() -> Result<String> + Sync));

/// Number of checks that run at the same time, of those that measure neither times nor the whole machine.
const SIDE_BY_SIDE: usize = 2;

/// Name of the check of packages, which needs a minimal Debian.
const PACKAGES: &str = "packages install, upgrade and leave nothing except recordings";

/// Name of the check that needs the command with the feature `parquet`.
const PARQUET: &str = "DuckDB reads exported recordings";
/// Name of the check that needs object stores.
const STORES: &str = "exports reach object stores";

/// Names of the checks of a fleet of hosts, which need the command with the feature `parquet`, and run with `--full`
/// only.
const FLEET: [&str; 2] = [
    "values of a fleet are the command's in Spark SQL, DuckDB and ClickHouse, also when a process is lost",
    "the guide to a fleet works when it is followed literally",
];

/// Number of slowest checks that are listed at the end.
const SLOWEST: usize = 10;

/// Compare the command with its peers, under load; check it on a terminal and when it is interrupted.
#[derive(clap::Args)]
pub struct Args {
    /// Many more rounds: CONTRIBUTING.md tells how many.
    #[arg(long)]
    full: bool,
    /// Only the checks whose names contain this.
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
    /// Only build what the checks need.
    #[arg(long)]
    build: bool,
    /// Touch so much memory and hold it until the input ends: checks of memory start themselves with this.
    #[arg(long, hide = true)]
    touch_mib: Option<usize>,
}

/// Runs the checks of `cargo xtask live` whose names match.
pub fn run(args: &Args) -> Result<()> {
    if let Some(mib) = args.touch_mib {
        known_load::touch(mib);
        return Ok(());
    }
    let is_wanted = |name: &str| args.only.as_ref().is_none_or(|only| name.contains(only));
    build(args, &is_wanted)?;
    if args.build {
        return Ok(());
    }
    c::IS_SHIPPED.store(args.full, Relaxed);
    let rounds = if args.full { 12 } else { 3 };
    let alone: &[Check<'_>] = &[
        // The packages link the command again, so no other check may run it meanwhile.
        (PACKAGES, &|| packages::check(args.full)),
        ("agrees with mpstat, one core loaded", &|| mpstat::check(rounds)),
        ("sizes and counts agree with free, vmstat -s and /proc", &|| procps::check(rounds)),
        ("processes, threads and the queue follow a known load", &known_load::check),
        ("every line about memory agrees with /proc, the nodes with /sys", &|| memory::check(rounds)),
        ("touched memory, written pages and objects of System V are counted", &memory::known_load),
        ("rates agree with vmstat and /proc, under a known load", &|| vmstat::check(rounds)),
        ("processes rise by what they do", &processes::known_work),
        ("processes agree with pidstat, one core loaded", &|| processes::pidstat(rounds)),
        ("processes agree with psutil", &processes::psutil),
        ("totals of processes keep what a build's compilers used", &|| totals::check(args.full)),
        ("processor times stay right while a processor goes offline and comes back", &hotplug::check),
        ("processes of others: refused, hidden, in a container", &processes::refused_and_hidden),
        ("a walk over the tasks agrees with files through an hour of churn", &|| walks::churn(args.full)),
        ("a walk is refused, forbidden and permitted, and shows no more than files", &walks::rights),
        ("the right to walk is given up, and walking goes on", &walks::given_up),
        ("what a walk writes cannot be taken by another process of the same user", &walks::not_taken),
        ("disks agree with iostat and /sys, under a known load", &|| disks::check(rounds)),
        ("space and swap agree with df and swapon", &disks::sizes),
        ("clock's discipline is that of adjtimex", &system::clock),
        ("processes by state are those of ps", &system::states),
        ("protocols agree with nstat and ss, and follow a known load", &|| protocols::check(rounds)),
        ("network traffic is counted to the byte, as by ip, sar and tc", &network::interfaces),
        ("network sockets and keys are those of ss and nstat", &network::sockets),
        ("control groups follow what runs in them", &kernel_own::control_groups),
        ("pressure, nice, load and new processes agree with the kernel", &kernel_own::machine),
        ("shares of stalled time stay below 100 % under pressure", &pressure::stalled_time),
        ("rankings count the processes that are refused", &pressure::left_out),
        ("programs that are killed or stopped cost their own rows", &|| applications::killed(rounds)),
        ("programs that start at once or die leave others alone", &|| applications::started(rounds)),
        ("programs count where there is no space for their counters", &applications::full),
        (
            "counters of other users are shown to root and members, and where they are asked for",
            &applications::other_users,
        ),
        ("counters of services and containers are visible as the guide's tables say", &services::visible),
        ("a directory's name that another user took hides nothing", &services::taken_names),
        ("files of other users cost no more than the limits", &services::limits),
        ("programs in other time namespaces are there", &applications::time_namespaces),
        ("publishers that hang, are stopped or send single bytes delay nobody", &late::publishers),
        ("callbacks that take 3 s delay neither a scrape nor a stream", &late::callbacks),
        ("Prometheus scrapes what the kernel counts, through churn and a restart", &prometheus::scraped),
        ("owner's scrape while other clients hold every connection", &clients::locked_out),
        (
            "dashboards, our own and those of node_exporter and windows_exporter, have their data",
            &dashboards::check,
        ),
        ("relations of Windows' counters hold in every row, under load", &|| relations::check(rounds)),
        ("another reader of V1 reads the same values", &|| v1::check(rounds)),
        ("a long log is read at the pace of its bytes, written anew in little memory", &logs::long),
        ("100,000 columns of CSV, one counter", &logs::wide),
        ("such a program agrees with mpstat, one core loaded", &c::cpu_perf_counters),
        ("its examples print what the command prints", &c::examples),
        ("facts about processes are the kernel's, and command lines are not for everybody", &facts::check),
        ("a watch reports each busy process once, and starts a program for it", &watch::check),
        ("an instant of a recording names who was busy", &recordings::culprit),
        ("sar and pidstat agree with a recorder while the machine compiles", &|| {
            hour::beside_others(args.full)
        }),
        ("bash, zsh and fish complete paths, instances, quotes and logs", &completion::check),
        ("answers at once", &at_once),
        ("the first screen answers ten questions", &|| first_answer::check(args.full)),
        ("draws in place on a terminal", &terminal),
        ("the page's processes are as much as the processors are busy", &page::alone),
        ("ends quietly on Ctrl+C", &interrupt),
        ("ends quietly when its reader goes away", &closed_pipe),
    ];
    let beside: &[Check<'_>] = &[
        ("sensors have the lines that node_exporter prints", &sensors::check),
        ("the page shows, finds, zooms, pauses and is restored in a browser", &page::busy),
        ("a report opens from disk without a network", &report::check),
        ("its suites pass under sanitizers and valgrind", &|| c::suites(args.full)),
        ("values of a file that is cut, punched and grown are whole", &|| cut::torn(rounds)),
        ("publishers that harm their files end and blind nobody", &cut::ways),
        ("RSS of serve, worst case", &|| clients::memory(args.full)),
        ("a server's published counters are a load generator's own counts", &published::http_counters),
        ("a recording goes on after its disk was full", &|| recordings::full(args.full)),
        ("interactive tables of a recording name who wrote most, in six keys", &tables::past_writer),
        ("source for Windows builds unchanged", &c::windows_source),
        ("C programs read a recording as the command does", &c::recording),
        ("the C library installs as packages want it", &c::installed),
        ("its headers are clean in every dialect", &|| c::headers(args.full)),
        ("a recording loses no sample when its recorder is killed", &|| recordings::killed(args.full)),
        ("readers of a growing recording find all samples", &|| recordings::beside(args.full)),
        ("a recording replays every cell of a machine where processes come and go", &|| {
            recordings::churn(args.full)
        }),
        ("a recording of a day is right at every instant", &|| recordings::day(args.full)),
        (PARQUET, &parquet::check),
        ("promtool has no complaint about metrics", &prometheus::linted),
        ("node_exporter reads a file of metrics that is replaced", &prometheus::textfile),
        ("JSON is what jq reads", &jq::check),
        ("another reader of V1 has the formulas of the vectors", &v1::vectors),
        ("another reader of recordings reads the same values", &recordings::python),
        ("a Windows log as CSV and SQL has the values of a calculation in Python", &logs::python),
        ("links of other users lead no file elsewhere", &files::links),
        ("devices and pipes are written and stay what they are", &files::devices),
        ("no name steers a terminal, whatever the format", &files::terminal),
        ("another language publishes and reads by the layout's description", &published::python),
        ("such a V1 program names what a machine has", &c::object_names),
    ];
    // What compiles for Windows is checked by `cargo xtask targets`; building and running it takes ten minutes.
    let with_full: &[Check<'_>] = &[
        ("built for Windows it does under Wine what it does here", &|| {
            windows::check(&windows::Args { full: true, ..Default::default() })
        }),
        ("packages for Windows run in an empty Wine as their quick start says", &windows_zip::check),
        (STORES, &stores::check),
        (FLEET[0], &fleet::check),
        (FLEET[1], &fleet::guide),
    ];
    let results = Mutex::new(Vec::new());
    let run = |(name, check): &Check<'_>| {
        let began = Instant::now();
        let checked = check();
        let seconds = began.elapsed().as_secs();
        match &checked {
            Ok(figures) => println!("ok   {seconds:>4} s  {name}{figures}"),
            Err(error) => println!("FAIL {seconds:>4} s  {name}: {error:#}"),
        }
        lock(&results).push((seconds, checked.is_ok(), (*name).to_owned()));
    };
    alone.iter().filter(|(name, _)| is_wanted(name)).for_each(&run);
    let longest = with_full.iter().filter(|_| args.full);
    let waiting = Mutex::new(longest.chain(beside).filter(|(name, _)| is_wanted(name)));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let next = lock(&waiting).next();
                    let Some(check) = next else { break };
                    run(check);
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(seconds, ..)| Reverse(*seconds));
    if results.len() > SLOWEST {
        println!("the slowest:");
        results.iter().take(SLOWEST).for_each(|(seconds, _, name)| println!("     {seconds:>4} s  {name}"));
    }
    let failed = results.iter().filter(|(_, is_good, _)| !is_good).count();
    let passed = results.len() - failed;
    ensure!(failed == 0, "{failed} of {} live checks failed", passed + failed);
    ensure!(passed > 0, "no check has such a name");
    println!("{passed} passed, 0 failed");
    Ok(())
}

/// Builds the programs that the checks of `cargo xtask live` need.
fn build(args: &Args, is_wanted: &dyn Fn(&str) -> bool) -> Result<()> {
    let has_stores = args.full && is_wanted(STORES);
    let wants_fleet = args.full && FLEET.iter().any(|name| is_wanted(name));
    if has_stores || wants_fleet || is_wanted(PARQUET) {
        parquet::build(has_stores)?;
    }
    if wants_fleet {
        fleet::build()?;
    }
    if is_wanted(PACKAGES) {
        packages::build()?;
    }
    // The command, the C library, and a program that harms files as fast as it can.
    let programs =
        ["build", "--release", "--quiet", "-p", "perfset-cli", "-p", "perflib", "-p", "faults-test"];
    run_program(Command::new("cargo").args(programs).current_dir(root()))?;
    // As `cargo test --workspace` has built them, so that they are not compiled again.
    let examples = ["build", "--workspace", "--examples", "--quiet"];
    run_program(Command::new("cargo").args(examples).current_dir(root()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the path of the program that `crates/faults-test` builds, which publishes counters and fails on purpose.
fn faults() -> PathBuf {
    target().join("release/faults")
}

/// Installs the packages that drive a browser, once for all checks, and returns their directory.
fn browser_tools() -> Result<PathBuf> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let install = || -> Result<PathBuf> {
        let browser = root().join("xtask/browser");
        run_program(Command::new("npm").args(["ci", "--silent"]).current_dir(&browser))?;
        Ok(browser)
    };
    let installed = INSTALLED.get_or_init(|| install().map_err(|error| format!("{error:#}")));
    installed.clone().map_err(|error| anyhow!("the browser's packages cannot be installed: {error}"))
}

fn perfset() -> Command {
    let mut command = Command::new(target().join("release/perfset"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Load of one processor, until this value is dropped.
struct Load {
    _thread: Background,
}

impl Load {
    fn start() -> Self {
        let spin = |stop: &AtomicBool| {
            while !stop.load(Relaxed) {
                std::hint::spin_loop();
            }
        };
        Self { _thread: Background::start(spin) }
    }
}

fn finished(output: Output) -> Result<String> {
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Measures the time that a command takes from its start to its end, to print three raw counters.
fn at_once() -> Result<String> {
    const TIMES: usize = 20;
    const GOAL_MS: f64 = 10.0;
    const LIMIT_MS: f64 = 50.0;
    let paths = [
        r"\Processor Information(_Total)\% Processor Time",
        r"\Memory\Available Bytes",
        r"\System\Context Switches/sec",
    ];
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let started = Instant::now();
        let output = perfset().args(["get", "--raw"]).args(paths).output().context("cannot start perfset")?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        finished(output)?;
    }
    let median = median(times);
    ensure!(median <= LIMIT_MS, "three raw counters take {median:.1} ms (median of {TIMES})");
    let goal = if median <= GOAL_MS { "met" } else { "missed" };
    Ok(format!(": {median:.1} ms, median of {TIMES}, goal {GOAL_MS} ms {goal}"))
}

/// Checks that the command's screen is drawn in place, in colour unless `NO_COLOR` is set, and plainly on a terminal
/// that cannot do this.
fn terminal() -> Result<String> {
    let shown = |environment: &str| -> Result<String> {
        let command = format!(
            "stty cols 80 rows 24; env {environment} {} 200ms 2",
            target().join("release/perfset").display()
        );
        let output = Command::new("script")
            .args(["-q", "-e", "-c", &command, "/dev/null"])
            .stdin(Stdio::null())
            .output()
            .context("cannot start script (Debian package bsdutils)")?;
        finished(output)
    };
    let colour = shown("-u NO_COLOR TERM=xterm")?;
    let drawings: Vec<_> = colour.split("\u{1b}[J").filter(|drawing| drawing.contains("load ")).collect();
    ensure!(drawings.len() == 3, "three are drawn, the first without rates: {colour:?}");
    for pair in drawings.windows(2) {
        let up = format!("\u{1b}[{}A", pair[0].matches('\n').count());
        ensure!(pair[1].starts_with(&up), "it is not drawn in place, {up:?}: {colour:?}");
    }
    ensure!(colour.contains("\u{1b}[1m"), "the heads are not bold: {colour:?}");
    let plain = shown("NO_COLOR=1 TERM=xterm")?;
    ensure!(
        !plain.contains("\u{1b}[1m") && plain.contains("\u{1b}[J"),
        "NO_COLOR is not respected: {plain:?}"
    );
    let dumb = shown("TERM=dumb")?;
    ensure!(!dumb.contains('\u{1b}'), "a dumb terminal gets escapes: {dumb:?}");
    for line in plain.lines() {
        ensure!(line.chars().filter(|c| !c.is_control()).count() <= 90, "a line is too long: {line:?}");
    }
    Ok(String::new())
}

fn interrupt() -> Result<String> {
    let child = perfset().spawn().context("cannot start perfset")?;
    sleep(Duration::from_millis(1_500));
    run_program(Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]))?;
    let output = child.wait_with_output()?;
    ensure!(output.stderr.is_empty(), "it says {:?}", String::from_utf8_lossy(&output.stderr));
    let out = finished(output)?;
    ensure!(out.contains("\ncpu ") && out.contains("\nmem "), "it shows {out:?}");
    Ok(String::new())
}

fn closed_pipe() -> Result<String> {
    let mut child = perfset().args(["100ms"]).spawn().context("cannot start perfset")?;
    drop(child.stdout.take());
    let output = child.wait_with_output()?;
    ensure!(output.stderr.is_empty(), "it says {:?}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{}", output.status);
    Ok(String::new())
}
