//! Runs of the command in tests: on a fixture's kernel files, with nothing on standard input, in UTC.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Returns the path of a file of this repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub fn testdata(path: &str) -> PathBuf {
    repository("testdata").join(path)
}

/// Creates an empty directory of that name for a test, and returns its path.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder); // the first run has none
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub fn perfset(fixture: &str, args: &[&str]) -> Command {
    program(env!("CARGO_BIN_EXE_perfset"), fixture, args)
}

/// Returns the command under another name, on a fixture's kernel files.
pub fn program(program: impl AsRef<OsStr>, fixture: &str, args: &[&str]) -> Command {
    let tree = testdata("linux").join(fixture);
    let mut command = Command::new(program);
    command.args(args).env("PERFSET_PROC", tree.join("proc")).env("PERFSET_SYS", tree.join("sys"));
    // What else runs here publishes elsewhere.
    let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nothing-is-published-here");
    // Nor does a recorder publish there, where other tests would see its counters: its directory cannot be created.
    let nowhere = if args.first() == Some(&"record") { nowhere.join("missing/none") } else { nowhere };
    // No result depends on how busy the machine is that tests.
    command.env("PERFSET_DEADLINE", "60s");
    command.env("PERFSET_RUNTIME_DIR", nowhere).env("TZ", "UTC").stdin(Stdio::null());
    command
}

/// Returns exit code, standard output and standard error of a finished command.
pub fn outcome(Output { status, stdout, stderr }: Output) -> (i32, String, String) {
    (status.code().unwrap(), text(stdout), text(stderr))
}

pub fn run(fixture: &str, args: &[&str]) -> (i32, String, String) {
    outcome(perfset(fixture, args).output().unwrap())
}

pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Started process that does not outlive a failed test.
pub struct Started(pub Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill(); // has ended, if the test is right
        let _ = self.0.wait();
    }
}
