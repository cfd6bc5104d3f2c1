//! Checks of publishers that try to end or blind the readers of their files.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::faults;
use super::owned::{Folder, ForAll, Running};
use super::{finished, perfset};

/// Checks values of a published file while its owner truncates, punches and extends it: no value is mixed, no reader
/// is killed.
pub fn torn(rounds: usize) -> Result<String> {
    let values = if rounds > 3 { "10000000000" } else { "100000000" };
    let folder = Folder::in_memory("torn")?;
    let mut command = Command::new(faults());
    command.args(["cut", values]).env("PERFSET_RUNTIME_DIR", &folder.0).stdin(Stdio::null());
    let said = finished(command.output()?)?;
    ensure!(said.contains(" values, 0 torn; "), "{said}");
    Ok(format!(": {}, 0 signals", said.trim()))
}

/// Shell commands with which the owner of a published file tries to kill or blind a reader. `$file` is the file in
/// the directory `$run` of the program `$pid`, and `$whole` has its content.
const WAYS: [(&str, &str); 30] = [
    ("cut to nothing", "truncate -s 0 $file"),
    ("cut to a byte", "truncate -s 1 $file"),
    ("cut within the header", "truncate -s 100 $file"),
    ("cut before the table", "truncate -s 4096 $file"),
    ("cut to the header", "truncate -s 8192 $file"),
    ("cut within a segment", "truncate -s 20000 $file"),
    ("cut by a byte", "truncate -s -1 $file"),
    ("cut and grown with holes", "truncate -s 0 $file; truncate -s 1M $file"),
    ("cut and grown with zeros", "truncate -s 0 $file; fallocate -l 1M $file"),
    ("cut, and whole again", "truncate -s 0 $file; dd if=$whole of=$file conv=notrunc status=none"),
    (
        "cut and whole again, a hundred times",
        "for n in $(seq 100); do truncate -s $((n * 700)) $file; dd if=$whole of=$file conv=notrunc status=none; done",
    ),
    ("a hole in the header", "fallocate -p -o 0 -l 4096 $file"),
    ("a hole in the table", "fallocate -p -o 4096 -l 4096 $file"),
    ("a hole in a segment", "fallocate -p -o 12288 -l 8192 $file"),
    ("a hole over all", "fallocate -p -o 0 -l 10M $file"),
    ("grown to a terabyte", "truncate -s 1T $file"),
    ("overwritten with noise", "dd if=/dev/urandom of=$file bs=4k count=20 conv=notrunc status=none"),
    ("a table of noise", "dd if=/dev/urandom of=$file bs=4k seek=1 count=1 conv=notrunc status=none"),
    (
        "words of the header that are all ones",
        "tr '\\0' '\\377' < /dev/zero | dd of=$file bs=128 seek=1 count=1 iflag=fullblock conv=notrunc status=none",
    ),
    ("replaced by an empty file", ": > $run/new; mv $run/new $file"),
    ("replaced by noise", "dd if=/dev/urandom of=$run/new bs=64k count=1 status=none; mv $run/new $file"),
    ("replaced by a copy", "cp $whole $run/new; mv $run/new $file"),
    ("unlinked", "rm $file"),
    ("readable by nobody", "chmod 0 $file"),
    ("writable by all", "chmod 666 $file; truncate -s 0 $file"),
    ("a FIFO in its place", "rm $file; mkfifo $file"),
    ("a link in its place", "rm $file; ln -s /dev/zero $file"),
    ("a folder in its place", "rm $file; mkdir $file"),
    ("a second name", "ln $file $run/second.pfs; truncate -s 0 $file"),
    ("stopped", "kill -STOP $pid"),
];

/// Users who run the hostile commands: name, command prefix, and the option of the reader.
const ACTORS: [(&str, &[&str], &str); 3] = [
    ("the same user", &[], ""),
    ("a container's root", &["unshare", "--mount", "--pid", "--fork", "--kill-child"], ""),
    ("another user", &["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"], "everybody"),
];

/// Checks that a publisher cannot harm readers with its file: no reader is killed, and all readers see other
/// publishers' values.
pub fn ways() -> Result<String> {
    let program = ForAll::copy_of(&faults())?;
    let mut tried = 0;
    let mut succeeded = String::new();
    for (actor, prefix, whose) in ACTORS {
        for (way, script) in WAYS {
            // Of a stopped program of another pid namespace the number is another one.
            if way == "stopped" && actor == "a container's root" {
                continue;
            }
            tried += 1;
            if let Err(error) = tries(&program.program, prefix, whose, script) {
                let _ = writeln!(succeeded, "{actor}, {way}: {error:#}"); // into memory
            }
        }
    }
    ensure!(succeeded.is_empty(), "of {tried} ways these succeed:\n{succeeded}");
    ensure!(tried >= 25, "only {tried} ways were tried");
    Ok(format!(": {tried} ways tried, 0 succeed"))
}

/// Process of a check that reads published counters and stays alive between readings.
struct Watch {
    _running: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Watch {
    fn start(folder: &Path, whose: &str) -> Result<Self> {
        let mut command = Command::new(faults());
        command.arg("watch").args(Some(whose).filter(|whose| !whose.is_empty()));
        command.env("PERFSET_RUNTIME_DIR", folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = Running(command.spawn().context("cannot start a reader")?);
        let (input, output) = (running.0.stdin.take(), running.0.stdout.take());
        let (input, output) = (input.context("no input")?, BufReader::new(output.context("no output")?));
        Ok(Self { _running: running, input, output })
    }

    /// Returns the lines that the reading process prints for the current values.
    fn look(&mut self) -> Result<Vec<String>> {
        self.input.write_all(b"\n")?;
        let mut seen = Vec::new();
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "the reader has ended");
            match line.trim_end() {
                "." => return Ok(seen),
                line => seen.push(line.to_owned()),
            }
        }
    }
}

/// Starts a publisher and runs a hostile script as its owner, while a reader of this library and the command read.
fn tries(program: &Path, prefix: &[&str], whose: &str, script: &str) -> Result<()> {
    let run = Folder::in_memory("ways")?;
    std::fs::set_permissions(&run.0, std::os::unix::fs::PermissionsExt::from_mode(0o1777))?;
    let start = |prefix: &[&str], number: &str| -> Result<Running> {
        let words: Vec<&str> =
            prefix.iter().copied().chain([program.to_str().context("no text")?, "hold", number]).collect();
        let (first, rest) = words.split_first().context("nothing to start")?;
        let mut command = Command::new(first);
        command.args(rest).env("PERFSET_RUNTIME_DIR", &run.0).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Running(command.spawn().context("cannot start a program")?))
    };
    let _honest = start(&[], "11")?;
    let mut watch = Watch::start(&run.0, whose)?;
    let mut until = |what: &str| -> Result<()> {
        let began = Instant::now();
        while !watch.look()?.iter().any(|line| line.ends_with(what)) {
            ensure!(began.elapsed() < Duration::from_secs(20), "{what} is not seen");
            sleep(Duration::from_millis(2));
        }
        Ok(())
    };
    until("11 33 55")?;
    let before = files(&run.0)?;
    let victim = start(prefix, "7")?;
    until("7 21 35")?;
    let file = files(&run.0)?.into_iter().find(|file| !before.contains(file)).context("it has no file")?;
    let mut get = perfset();
    get.args(["get", r"\Fault Writer(*)\Three", "0.02", "1000000"]).env("PERFSET_RUNTIME_DIR", &run.0);
    get.args(Some("--all-users").filter(|_| !whose.is_empty())).stdout(Stdio::null());
    let mut get = Running(get.spawn().context("cannot start perfset")?);
    sleep(Duration::from_millis(30));
    let whole = Folder::in_memory("whole")?;
    std::fs::set_permissions(&whole.0, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    std::fs::copy(&file, whole.0.join("whole"))?;
    std::fs::set_permissions(whole.0.join("whole"), std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    let shell = ["sh", "-euc", script];
    let words: Vec<&str> = prefix.iter().copied().chain(shell).collect();
    let (first, rest) = words.split_first().context("nothing to start")?;
    let mut command = Command::new(first);
    command.args(rest).env("file", &file).env("run", &run.0).env("whole", whole.0.join("whole"));
    command.env("pid", victim.0.id().to_string()).stdin(Stdio::null());
    finished(command.output()?).context("it cannot be tried")?;
    for _ in 0..3 {
        let rows = watch.look()?;
        ensure!(rows.iter().any(|row| row == "11 33 55"), "the other program is not seen: {rows:?}");
        let is_whole = |row: &String| {
            row.starts_with('!') || row == "mapped" || row.ends_with("11 33 55") || row.ends_with("7 21 35")
        };
        ensure!(rows.iter().all(is_whole), "a value is wrong: {rows:?}");
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(30));
    if let Some(status) = get.0.try_wait()? {
        bail!("perfset get ended: {status}");
    }
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}
