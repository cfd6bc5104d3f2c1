//! Publishing programs that tests control: this test executable, started again in another role.

#![expect(unsafe_code, reason = "forks")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use rustix::process::{Pid, Signal, kill_process};

use super::{Honest, stress};
use crate::folder::Folders;
use crate::publish::{PublishedInstance, Publisher};

const ROLE: &str = "PERFSET_TEST_ROLE";
const FOLDER: &str = "PERFSET_TEST_FOLDER";
/// Prefix of each line that a child program prints for a test, because the test harness prints lines too.
const SAID: &str = "@ ";
/// Number of seconds after which a child program ends by itself, whatever happens to the test.
const MOST_SECONDS: u32 = 120;

/// Child program of a test that executes orders until it is dropped.
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts a child program that publishes in a directory.
    pub fn start(role: &str, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["faults::program::in_another_role", "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut program = Self { child, input, output };
        assert_eq!(program.hear(), "ready");
        program
    }

    /// Sends an order to the child program, and waits for the response.
    pub fn tell(&mut self, order: &str) -> String {
        self.order(order);
        self.hear()
    }

    /// Sends an order to the child program without waiting.
    pub fn order(&mut self, order: &str) {
        writeln!(self.input.as_mut().unwrap(), "{order}").unwrap();
    }

    /// Returns the next line that the child program prints.
    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it has ended");
            // The harness may have printed the start of the line.
            if let Some((_, said)) = line.trim_end().split_once(SAID) {
                return said.to_owned();
            }
        }
    }

    /// Returns the child program's process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the child program.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills the child program, and waits until it has exited.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it has ended already
        let _ = self.child.wait();
    }
}

/// Process that is not waited for, and that is killed when this guard is dropped.
pub struct Stray(pub u32);

impl Stray {
    pub fn kill(&self) {
        let pid = Pid::from_raw(i32::try_from(self.0).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL); // it has ended already
    }
}

impl Drop for Stray {
    fn drop(&mut self) {
        self.kill();
    }
}

fn say(what: impl std::fmt::Display) {
    println!("\n{SAID}{what}");
    std::io::stdout().flush().unwrap();
}

/// Code of the child program, which is no test. Run as a test it does nothing.
#[test]
fn in_another_role() {
    let (Ok(role), Some(folder)) = (std::env::var(ROLE), std::env::var_os(FOLDER)) else { return };
    end_soon();
    let folder = PathBuf::from(folder);
    match role.as_str() {
        "obedient" => obey(&folder),
        "storm" => storm(&folder),
        "small files" => super::files::with_small_files(&folder),
        "full file" => super::files::with_a_full_file(&folder),
        "few descriptors" => super::files::with_few_descriptors(&folder),
        role => {
            say("ready");
            let stop = Arc::new(AtomicBool::new(false));
            let told = Arc::clone(&stop);
            std::thread::spawn(move || {
                let _ = std::io::stdin().lines().count(); // until the test is over
                told.store(true, Relaxed);
            });
            stress::churn(role, &folder, &stop);
        }
    }
}

/// Ends the child program after some time, so that none is left behind.
fn end_soon() {
    // SAFETY: an alarm without a handler ends the process, and harms nothing.
    unsafe { libc::alarm(MOST_SECONDS) };
}

fn publisher(folder: &Path) -> Publisher {
    let publisher = Publisher::in_folders(Folders::only(folder));
    assert_eq!(publisher.problem(), None);
    publisher
}

fn obey(folder: &Path) {
    let publisher = publisher(folder);
    let mut instances: Vec<PublishedInstance<Honest>> = Vec::new();
    say("ready");
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        let (order, rest) = order.split_once(' ').unwrap_or((&order, ""));
        match order {
            "publish" => instances.push(publisher.instance(rest)),
            "add" => instances.iter().for_each(|instance| instance.level.add(rest.parse().unwrap())),
            "reopen" => reopen(&publisher.path().unwrap()),
            "fork" => {
                if fork() == 0 {
                    end_soon();
                    // Inherited instances are private to the child now.
                    instances.iter().for_each(|instance| instance.level.add(1000));
                    let own = publisher.instance::<Honest>("child");
                    own.level.set(7);
                    say(std::process::id());
                    wait_for_the_end();
                }
                continue; // the child answers
            }
            "fork without handlers" | "clone" => {
                // SAFETY: without flags it is a fork, and the child makes system calls and nothing else.
                let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
                if child == 0 {
                    end_soon();
                    wait_for_the_end();
                }
                say(child);
                continue;
            }
            "spawn" => {
                say(Command::new("sleep").arg("60").spawn().unwrap().id());
                continue;
            }
            "exec" => {
                let error = Command::new("sleep").arg("60").exec();
                panic!("{error}");
            }
            order => panic!("what is {order}?"),
        }
        say("done");
    }
}

fn fork() -> i32 {
    // SAFETY: the child uses what a child of several threads may not, as programs do: glibc makes that work.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    child
}

fn wait_for_the_end() -> ! {
    loop {
        // SAFETY: it waits.
        unsafe { libc::pause() };
    }
}

/// Opens and closes other file descriptors of the publisher's file.
fn reopen(path: &Path) {
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        if std::fs::read_link(entry.path()).is_ok_and(|target| target == path) {
            let number: i32 = entry.file_name().to_str().unwrap().parse().unwrap();
            // SAFETY: the copied file descriptor is used only here.
            let copy = unsafe { libc::dup(number) };
            assert!(copy >= 0);
            // SAFETY: it was made here.
            let closed = unsafe { libc::close(copy) };
            assert_eq!(closed, 0);
        }
    }
    drop(std::fs::File::open(path).unwrap());
}

/// Runs the fork test: one thread creates and ends instances continually while another one forks. No child may wait
/// for a lock held by a thread that does not exist in the child.
fn storm(folder: &Path) {
    const FORKS: usize = 100;
    let publisher = publisher(folder);
    let stop = AtomicBool::new(false);
    say("ready");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                let all: Vec<_> =
                    (0..8).map(|n| publisher.instance::<Honest>(&format!("instance {n}"))).collect();
                drop(all);
            }
        });
        let kept = publisher.instance::<Honest>("kept");
        for _ in 0..FORKS {
            let child = fork();
            if child == 0 {
                // SAFETY: as above; a child that waits for ever is ended, which its parent sees.
                unsafe { libc::alarm(20) };
                kept.level.add(1000);
                let own = publisher.instance::<Honest>("child");
                own.level.add(1);
                let ok = own.level.get() == 1 && publisher.problem().is_none();
                drop((own, publisher.clone()));
                // SAFETY: nothing of the parent's is finished a second time.
                unsafe { libc::_exit(if ok { 0 } else { 1 }) };
            }
            let mut status = 0;
            // SAFETY: the child is this process's, and `status` a valid place.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!((waited, status), (child, 0), "a child hangs or fails");
        }
        stop.store(true, Relaxed);
        say(format!("{FORKS} forks, level {}", kept.level.get()));
    });
}
