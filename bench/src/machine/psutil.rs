//! Python program that collects with psutil, and reports its own CPU time, for comparison.

use std::cell::{Cell, OnceCell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Error, Result, bail};

/// Path of Debian's own Python, for which Debian has a psutil package.
const PYTHON: &str = "/usr/bin/python3";
const PROGRAM: &str = include_str!("peer.py");

/// Running Python program that collects with psutil, which ends when this value is dropped.
#[derive(Debug)]
pub struct Psutil {
    child: Child,
    pipes: RefCell<Option<(ChildStdin, BufReader<ChildStdout>)>>,
    spent_ns: Cell<f64>,
    /// Error of the first failed collection, after which no other one is made.
    failed: OnceCell<Error>,
}

impl Psutil {
    /// Starts the Python program, which collects `processes` or `system` with psutil, and lets it collect once.
    pub fn start(what: &str) -> Result<Self> {
        let imports = Command::new(PYTHON).args(["-c", "import psutil"]).stderr(Stdio::null()).status();
        if !imports.is_ok_and(|status| status.success()) {
            bail!("{PYTHON} has no psutil; it is a Debian package: apt-get install python3-psutil");
        }
        let child = Command::new(PYTHON)
            .args(["-c", PROGRAM, what])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.context(PYTHON)?;
        let pipes = child.stdin.take().zip(child.stdout.take().map(BufReader::new));
        let (spent_ns, failed) = Default::default();
        let psutil = Self { child, pipes: RefCell::new(pipes), spent_ns, failed };
        psutil.ask()?;
        Ok(psutil)
    }

    /// Lets the Python program collect with psutil once.
    pub fn collect(&self) -> u64 {
        if self.failed.get().is_none()
            && let Err(error) = self.ask()
        {
            let _ = self.failed.set(error); // it was not set
        }
        0
    }

    fn ask(&self) -> Result<()> {
        let mut line = String::new();
        if let Some((questions, answers)) = &mut *self.pipes.borrow_mut() {
            questions.write_all(b"\n").context("psutil")?;
            answers.read_line(&mut line).context("psutil")?;
        }
        self.spent_ns.set(line.trim().parse().with_context(|| format!("psutil answers {line:?}"))?);
        Ok(())
    }

    /// Returns the CPU time of all collections of the psutil program so far, in ns.
    pub fn spent_ns(&self) -> f64 {
        self.spent_ns.get()
    }

    /// Returns the first error of a collection by the psutil program, if one failed.
    pub fn check(mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Drop for Psutil {
    fn drop(&mut self) {
        self.pipes.take();
        let _ = self.child.wait(); // nothing can be done about it
    }
}
