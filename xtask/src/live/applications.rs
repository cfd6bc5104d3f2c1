//! Checks of programs that publish counters: killed, stopped, without space, and of other users.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::owned::{Folder, ForAll, Running};
use super::{faults, finished};
use crate::repository::run as run_program;

fn files(folder: &Folder) -> Result<usize> {
    Ok(std::fs::read_dir(&folder.0)?.count())
}

/// Starts the test program `faults` in one of its roles.
fn start(folder: &Folder, role: &[&str]) -> Result<Running> {
    let mut command = Command::new(faults());
    command.args(role).env("PERFSET_RUNTIME_DIR", &folder.0).stdin(Stdio::piped()).stdout(Stdio::null());
    Ok(Running(command.spawn().context("cannot start it")?))
}

pub(super) fn signal(program: &Running, signal: &str) -> Result<()> {
    run_program(Command::new("sh").args(["-c", &format!("kill -{signal} {}", program.0.id())]))
}

/// Returns the rows that a reader of published counters prints, after checking that each row is whole.
fn read(folder: &Path) -> Result<Vec<u64>> {
    let mut command = Command::new(faults());
    command.arg("read").env("PERFSET_RUNTIME_DIR", folder).stdin(Stdio::null());
    rows(&finished(command.output()?)?)
}

fn rows(text: &str) -> Result<Vec<u64>> {
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('!') && *line != "mapped") {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let number: u64 =
            name.rsplit('/').next().unwrap_or_default().parse().with_context(|| line.to_owned())?;
        let values: Vec<u64> =
            words.map(str::parse).collect::<Result<_, _>>().with_context(|| line.to_owned())?;
        let whole = values.len() == 2
            && values.iter().zip([3, 5]).all(|(value, factor)| [0, number * factor].contains(value));
        ensure!(whole, "{line:?} is torn");
        rows.push(number);
    }
    Ok(rows)
}

/// Returns pseudo-random durations before a program is killed, the same in each run.
fn moments() -> impl Iterator<Item = Duration> {
    let mut random = 88_172_645_463_325_252_u64;
    std::iter::from_fn(move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        Some(Duration::from_micros(random % 4_000))
    })
}

/// Checks that programs that are killed at any time leave no row, that stopped programs delay no reader, and that rows
/// are whole.
pub fn killed(rounds: usize) -> Result<String> {
    let folder = Folder::in_memory("killed")?;
    let (kills, stops) = (if rounds > 3 { 10_000 } else { 500 }, rounds * 10);
    let mut seen = 0;
    for moment in moments().take(kills) {
        let mut program = start(&folder, &["churn"])?;
        sleep(moment);
        seen += read(&folder.0)?.len();
        program.0.kill()?;
        program.0.wait()?;
        let left = read(&folder.0)?;
        ensure!(left.is_empty(), "{left:?} are there without a program");
        ensure!(files(&folder)? <= 1, "files are left behind");
    }
    ensure!(seen > kills, "{seen} rows are seen in {kills} rounds");
    let program = start(&folder, &["churn"])?;
    sleep(Duration::from_millis(20));
    let mut slowest = Duration::ZERO;
    for moment in moments().take(stops) {
        signal(&program, "STOP")?;
        let began = Instant::now();
        let rows = read(&folder.0)?;
        slowest = slowest.max(began.elapsed());
        signal(&program, "CONT")?;
        ensure!(rows.len() >= 20, "a stopped program costs {} of 24 rows", 24 - rows.len());
        sleep(moment);
    }
    ensure!(slowest < Duration::from_secs(2), "reading takes {slowest:?} when the program is stopped");
    Ok(format!(
        ": {kills} kills without a wrong row, {seen} rows; {stops} stops, at most {slowest:.0?} to read"
    ))
}

/// Checks that programs that start at the same time do not affect each other, and that the next program removes the
/// files of those that died.
pub fn started(rounds: usize) -> Result<String> {
    const AT_ONCE: u64 = 6;
    let folder = Folder::in_memory("started")?;
    for round in 0..rounds * 5 {
        let all: Vec<String> = (1..=AT_ONCE).map(|number| number.to_string()).collect();
        let programs: Vec<_> = all.iter().map(|n| start(&folder, &["hold", n])).collect::<Result<_>>()?;
        let began = Instant::now();
        let mut rows = Vec::new();
        while rows.len() < programs.len() {
            ensure!(began.elapsed() < Duration::from_secs(20), "in round {round} there are only {rows:?}");
            rows = read(&folder.0)?;
        }
        rows.sort_unstable();
        ensure!(rows.iter().copied().eq(1..=AT_ONCE), "in round {round} there are {rows:?}");
    }
    let short_lived = rounds * 3_334;
    for _ in 0..short_lived {
        let mut program = start(&folder, &["die"])?;
        program.0.wait()?;
    }
    let left = files(&folder)?;
    ensure!(left <= 1, "{short_lived} programs leave {left} files");
    let mut last = start(&folder, &["hold", "1"])?;
    let began = Instant::now();
    while read(&folder.0)?.is_empty() {
        ensure!(began.elapsed() < Duration::from_secs(20), "it does not publish");
    }
    ensure!(files(&folder)? == 1, "the last one does not clean up");
    drop(last.0.stdin.take());
    last.0.wait()?;
    ensure!(files(&folder)? == 0, "it does not take its own file away");
    Ok(format!(": {AT_ONCE} at once {} times, {short_lived} one after the other", rounds * 5))
}

/// Runs a shell script with its own mounts, after a preamble with variables and functions. There, `$faults` is the
/// program, and `$run` the directory where it publishes. `start COMMAND` starts a command that ends with the script,
/// and adds its output to `$base/said`.
fn script(options: &str, text: &str) -> Result<String> {
    let (folder, faults) = (Folder::in_memory("mounts")?, ForAll::copy_of(&faults())?);
    std::fs::set_permissions(&folder.0, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let preamble = r#"faults=$1 base=$2 run=$2/run pids=
        mkdir "$run"; mount -t tmpfs -o "$3" tmpfs "$run"
        mkfifo "$base/input"; exec 3<> "$base/input"
        start() { "$@" < "$base/input" >> "$base/said" & pids="$pids $!"; }
        finish() { kill -9 $pids; wait; umount "$run"; } 2> /dev/null
        as() { user=$1; shift; setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
        trap finish EXIT
        "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", &format!("{preamble}{text}"), "sh"]);
    command.arg(&faults.program).arg(&folder.0).arg(options);
    command.env("PERFSET_RUNTIME_DIR", folder.0.join("run")).stdin(Stdio::null());
    finished(command.output().context("cannot start unshare")?)
}

/// Checks that programs on a full or read-only file system go on counting, and report why their counters are not
/// published.
pub fn full() -> Result<String> {
    let cases = [
        ("no space for a file", "size=4k", "cannot make a file: No space left on device", 0),
        ("no inodes", "nr_inodes=1", "cannot make a file: No space left on device", 0),
        ("no space for an instance", "size=16k", "cannot grow: No space left on device", 0),
        ("no space for all", "size=100k", "cannot grow: No space left on device", 400),
        ("read only", "ro", "Read-only file system", 0),
    ];
    for (case, options, says, least) in cases {
        let text = script(
            options,
            r#"start "$faults" fill 5000
               while ! [ -s "$base/said" ]; do kill -0 $!; sleep 0.01; done
               echo "! writer $(cat "$base/said")"
               "$faults" read"#,
        );
        let text = text.context(case)?;
        ensure!(text.contains(says), "{case}: {text}");
        let rows = rows(&text)?;
        ensure!(rows.len() >= least && rows.len() < 5000, "{case}: {} rows", rows.len());
    }
    // What was reserved is there, also when others take the rest. The writer is stopped for the reading: a reader that
    // waits for a processor meanwhile misses the instances that were replaced.
    let text = script(
        "size=1m",
        r#"start "$faults" churn
           sleep 0.2
           dd if=/dev/zero of="$run/rest" bs=4k 2> /dev/null || true
           sleep 0.3
           kill -STOP $!
           "$faults" read"#,
    )?;
    let rows = rows(&text)?;
    ensure!(rows.len() >= 23, "in a full folder there are {} of 24 rows", rows.len());
    Ok(format!(": {} cases", cases.len() + 1))
}

/// Checks that readers see rows of other users' published counters exactly as their permissions and requests allow.
/// Root and group members see them at once, others if they request them and may read them; all others are told that
/// they do not see them.
pub fn other_users() -> Result<String> {
    const SHARED: &str = "mode=3777,gid=65534";
    let text = script(
        SHARED,
        r#"start "$faults" hold 7
           start setpriv --reuid 65534 --regid 65534 --clear-groups "$faults" hold 11
           start setpriv --reuid 1001 --regid 1001 --clear-groups "$faults" hold 13
           while [ "$(grep -c published "$base/said")" -lt 3 ]; do kill -0 $pids; sleep 0.01; done
           echo "== modes"; stat -c '%a %g' "$run"/*
           echo "== root"; "$faults" read
           echo "== root, everybody"; "$faults" read everybody
           echo "== member"; as 65534 "$faults" read
           echo "== member, everybody"; as 65534 "$faults" read everybody
           echo "== stranger"; as 1002 "$faults" read everybody
           echo "== namespace"; unshare --pid --fork "$faults" read
           chmod 644 "$run"/*
           echo "== reader"; as 1002 "$faults" read
           echo "== reader, everybody"; as 1002 "$faults" read everybody"#,
    )?;
    let part = |name: &str| -> Result<Vec<&str>> {
        let (_, rest) =
            text.split_once(&format!("== {name}\n")).with_context(|| format!("no {name}: {text}"))?;
        Ok(rest.lines().take_while(|line| !line.starts_with("==")).collect())
    };
    let is = |name: &str, expected: &[&str]| -> Result<()> {
        let mut found: Vec<&str> = part(name)?.into_iter().filter(|line| !line.starts_with('!')).collect();
        found.sort_unstable();
        ensure!(found == expected, "{name}: {found:?}, not {expected:?}");
        Ok(())
    };
    is("modes", &["640 65534"; 3])?;
    for name in ["root", "root, everybody", "namespace"] {
        is(name, &["1001/13 39 65", "65534/11 33 55", "7 21 35", "mapped"])?;
    }
    for name in ["member", "member, everybody"] {
        is(name, &["1001/13 39 65", "11 33 55", "7 21 35", "mapped"])?;
    }
    is("stranger", &[])?;
    is("reader", &["7 21 35", "mapped"])?;
    is("reader, everybody", &["1001/13 39 65", "65534/11 33 55", "7 21 35", "mapped"])?;
    let told =
        |name: &str, what: &str| part(name).map(|lines| lines.iter().any(|line| line.starts_with(what)));
    ensure!(told("stranger", "! 3 programs of other users in ")?, "a stranger is not told of files: {text}");
    ensure!(told("reader", "! 2 instances of other users; --all-users includes them")?, "{text}");
    // Of others nothing is mapped.
    let alone = script(
        SHARED,
        r#"start setpriv --reuid 65534 --regid 65534 --clear-groups "$faults" hold 11
           while ! [ -s "$base/said" ]; do kill -0 $!; sleep 0.01; done
           "$faults" read"#,
    )?;
    ensure!(alone == "65534/11 33 55\n", "of a stranger alone: {alone:?}");
    Ok(String::new())
}

/// Checks that a process in another time namespace, where it has another start time, is recognized as the same
/// publisher.
pub fn time_namespaces() -> Result<String> {
    let within = |command: &mut Command| {
        command.args(["--time", "--boottime", "100000", "--monotonic", "100000", "--fork", "--kill-child"]);
        command.arg(faults());
    };
    let folder = Folder::in_memory("time")?;
    let here = start(&folder, &["hold", "3"])?;
    let mut command = Command::new("unshare");
    within(&mut command);
    command.args(["hold", "7"]).env("PERFSET_RUNTIME_DIR", &folder.0);
    let there = Running(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?);
    let began = Instant::now();
    while files(&folder)? < 2 {
        ensure!(began.elapsed() < Duration::from_secs(20), "they do not publish");
        sleep(Duration::from_millis(5));
    }
    // A file is there before its first instance is.
    while read(&folder.0)?.len() < 2 {
        ensure!(began.elapsed() < Duration::from_secs(20), "from here only {:?} are there", read(&folder.0)?);
    }
    let mut reader = Command::new("unshare");
    within(&mut reader);
    reader.arg("read").env("PERFSET_RUNTIME_DIR", &folder.0).stdin(Stdio::null());
    for (whose, text) in [
        ("from here", {
            let mut command = Command::new(faults());
            command.arg("read").env("PERFSET_RUNTIME_DIR", &folder.0).stdin(Stdio::null());
            finished(command.output()?)?
        }),
        ("from there", finished(reader.output()?)?),
    ] {
        let mut found = rows(&text).with_context(|| text.clone())?;
        found.sort_unstable();
        ensure!(found == [3, 7], "{whose}: {text}");
        ensure!(!text.contains('!'), "{whose}: {text}");
    }
    drop((here, there));
    Ok(String::new())
}
