//! Group of many idle processes of a bench, which run only on command.
//!
//! They are children of this program under a hidden word. It is small, so that they are, and alone, so that a fork
//! copies everything. Whatever ends the bench closes its standard input: then it ends them, and takes note of each.
//! Should it be killed itself, the kernel kills them.

use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::io::{PipeWriter, Read, Write, pipe, stdin, stdout};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail, ensure};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::sys::wait::wait;
use nix::unistd::{ForkResult, Pid, alarm, fork, getpid, getppid, pause};

/// Group of idle processes, which end when this value is dropped.
#[derive(Debug)]
pub struct Nursery {
    child: Child,
    pipes: RefCell<Option<Pipes>>,
    /// First error of the idle processes, after which no process runs on command.
    failed: OnceCell<Error>,
}

#[derive(Debug)]
struct Pipes {
    orders: std::process::ChildStdin,
    answers: std::process::ChildStdout,
}

/// Share of the idle processes that run for a moment before a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// No share: no process runs between two collections.
    Nobody,
    /// Share of a twentieth of the processes, always the same ones.
    OneInTwenty,
    /// Share of all processes of the nursery.
    Everybody,
}

const ONE_IN_TWENTY: u8 = b'1';
const EVERYBODY: u8 = b'*';
const DONE: u8 = b'.';

impl Nursery {
    /// Starts that many idle processes for a bench.
    pub fn start(processes: usize) -> Result<Self> {
        let child = Command::new("/proc/self/exe")
            .args([super::NURSERY, &processes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0) // Ctrl-C is for the bench; this one is to tidy up
            .spawn();
        let mut child = child.context("the nursery")?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pipes = pipes.map(|(orders, answers)| Pipes { orders, answers });
        let nursery = Self { child, pipes: RefCell::new(pipes), failed: OnceCell::new() };
        nursery.wait()?;
        Ok(nursery)
    }

    /// Lets the given share of the idle processes run for a moment, and waits until all of them rest again.
    pub fn let_run(&self, who: Who) {
        let order = match who {
            Who::Nobody => return,
            Who::OneInTwenty => ONE_IN_TWENTY,
            Who::Everybody => EVERYBODY,
        };
        if self.failed.get().is_none()
            && let Err(error) = self.order(order)
        {
            let _ = self.failed.set(error); // it was not set
        }
    }

    fn order(&self, order: u8) -> Result<()> {
        if let Some(pipes) = &mut *self.pipes.borrow_mut() {
            pipes.orders.write_all(&[order]).context("the nursery")?;
        }
        self.wait()
    }

    fn wait(&self) -> Result<()> {
        let mut answer = [0];
        if let Some(pipes) = &mut *self.pipes.borrow_mut() {
            pipes.answers.read_exact(&mut answer).context("the nursery has ended")?;
        }
        ensure!(answer == [DONE], "the nursery answers {answer:?}");
        Ok(())
    }

    /// Returns the first error of the idle processes, if there is one.
    pub fn check(self) -> Result<()> {
        let mut nursery = self;
        nursery.failed.take().map_or(Ok(()), Err)
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        self.pipes.take();
        let _ = self.child.wait(); // nothing can be done about it
    }
}

/// File descriptor of the pipe into which an idle process writes when it has run. It is an atomic, because a signal
/// handler reads it.
static RAN: AtomicI32 = AtomicI32::new(-1);

/// Maximum time in seconds for the idle processes to start, or to run for a moment.
const PATIENCE_S: u32 = 120;
/// Time that the last process has to return to rest after it has reported that it ran.
const BACK_TO_REST: Duration = Duration::from_millis(10);

/// Runs the nursery process: starts the processes, and lets them run at each command on standard input.
pub fn serve(processes: usize) -> Result<()> {
    let (mut ran, said) = pipe()?;
    let mut nursed = Nursed { children: Vec::with_capacity(processes), said };
    nursed.fork(processes)?;
    let mut wait = |count: usize| {
        alarm::set(PATIENCE_S); // else this ends, and all with it
        std::io::copy(&mut ran.by_ref().take(count as u64), &mut std::io::sink())?;
        alarm::cancel();
        sleep(BACK_TO_REST);
        stdout().write_all(&[DONE])?;
        stdout().flush()
    };
    wait(processes)?;
    let mut order = [0];
    while stdin().read(&mut order)? > 0 {
        let every = match order {
            [ONE_IN_TWENTY] => 20,
            [EVERYBODY] => 1,
            _ => bail!("what is {order:?}?"),
        };
        let mut count = 0;
        for child in nursed.children.iter().step_by(every) {
            kill(*child, Signal::SIGUSR1)?;
            count += 1;
        }
        wait(count)?;
    }
    Ok(())
}

/// Child processes of the nursery process, which are killed when this value is dropped.
#[derive(Debug)]
struct Nursed {
    children: Vec<Pid>,
    /// Pipe into which each idle process writes when it has run.
    said: PipeWriter,
}

impl Nursed {
    #[expect(unsafe_code, reason = "forks, and handles a signal")]
    fn fork(&mut self, processes: usize) -> Result<()> {
        RAN.store(self.said.as_raw_fd(), Relaxed);
        let handler = SigAction::new(SigHandler::Handler(runs), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler reads an atomic and makes a system call.
        unsafe { sigaction(Signal::SIGUSR1, &handler) }?;
        let nursery = getpid();
        for _ in 0..processes {
            // SAFETY: this program has one thread, so the child may do what it likes.
            match unsafe { fork() } {
                Ok(ForkResult::Parent { child }) => self.children.push(child),
                Ok(ForkResult::Child) => {
                    let bound = set_pdeathsig(Signal::SIGKILL);
                    if bound.is_err() || getppid() != nursery {
                        std::process::abort();
                    }
                    runs(0);
                    loop {
                        pause();
                    }
                }
                Err(errno) => {
                    bail!("cannot fork after {} of {processes} processes: {errno}", self.children.len())
                }
            }
        }
        Ok(())
    }
}

impl Drop for Nursed {
    fn drop(&mut self) {
        for child in &self.children {
            let _ = kill(*child, Signal::SIGKILL); // it is gone already
        }
        while wait().is_ok() {}
    }
}

/// Handles the signal to an idle process to run: writes one byte into the pipe of the nursery.
#[expect(unsafe_code, reason = "a handler of signals may not take a lock, nor own what it writes to")]
extern "C" fn runs(_: i32) {
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd;
    // SAFETY: the pipe stays open, and is not closed here.
    let said = ManuallyDrop::new(unsafe { File::from_raw_fd(RAN.load(Relaxed)) });
    let _ = (&*said).write(b"."); // whoever waits for it will notice
}
