//! DuckDB as reader of Parquet files for comparison, in a Python program that reports its CPU time.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::parquet::counter_name;
use super::synthetic::Checksum;

const PYTHON: &str = "python3";
const PROGRAM: &str = include_str!("parquet_reader.py");

/// Running Python program with DuckDB, which ends when this value is dropped.
#[derive(Debug)]
pub struct DuckDb {
    child: Child,
    pipes: RefCell<Option<(ChildStdin, BufReader<ChildStdout>)>>,
    spent_ns: Cell<f64>,
}

/// SQL statements for DuckDB as a line of JSON. Each statement returns a number of values and their sum.
#[derive(Clone, Debug)]
pub struct Question(String);

impl Question {
    /// Prepares SQL statements for the database connection that is kept, or for a new one.
    pub fn new(statements: &[String], is_new: bool) -> Self {
        let mut line = format!("{{\"is_new\": {is_new}, \"statements\": [");
        for (at, statement) in statements.iter().enumerate() {
            // `{:?}` quotes as JSON does here: paths and names of the bench are ASCII without controls.
            let _ = write!(line, "{}{statement:?}", if at > 0 { ", " } else { "" }); // into memory
        }
        Self(line + "]}\n")
    }
}

/// Returns the SQL statement that counts and sums these counters of a Parquet file, in the rows that a condition
/// selects.
pub fn statement(path: &Path, counters: &[usize], condition: &str) -> String {
    let all = |with: fn(String) -> String| -> Vec<String> {
        counters.iter().map(|counter| with(counter_name(*counter))).collect()
    };
    let counts = all(|name| format!("count({name})")).join(" + ");
    let sums = all(|name| format!("coalesce(sum({name}), 0)::HUGEINT")).join(" + ");
    format!("SELECT {counts}, {sums} FROM read_parquet('{}') {condition}", path.display())
}

impl DuckDb {
    /// Starts the Python program with DuckDB.
    pub fn start() -> Result<Self> {
        let imports = Command::new(PYTHON).args(["-c", "import duckdb"]).stderr(Stdio::null()).status();
        if !imports.is_ok_and(|status| status.success()) {
            bail!("{PYTHON} has no duckdb: pip install duckdb");
        }
        let child =
            Command::new(PYTHON).args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.context(PYTHON)?;
        let pipes = child.stdin.take().zip(child.stdout.take().map(BufReader::new));
        Ok(Self { child, pipes: RefCell::new(pipes), spent_ns: Cell::default() })
    }

    /// Executes SQL statements in DuckDB, and returns the number and the sum of the values.
    pub fn ask(&self, question: &Question) -> Result<Checksum> {
        let mut line = String::new();
        if let Some((questions, answers)) = &mut *self.pipes.borrow_mut() {
            questions.write_all(question.0.as_bytes()).context("DuckDB")?;
            answers.read_line(&mut line).context("DuckDB")?;
        }
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let [spent_ns, values, sum] = *numbers else { bail!("DuckDB answers {line:?}") };
        self.spent_ns.set(spent_ns as f64);
        Ok(Checksum { values, sum })
    }

    /// Returns the CPU time of all SQL statements so far, in ns.
    pub fn spent_ns(&self) -> f64 {
        self.spent_ns.get()
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        self.pipes.take();
        let _ = self.child.wait(); // nothing can be done about it
    }
}
