//! Record of the results of benches, by machine and day.

use std::fmt::Display;
use std::fs::{File, OpenOptions, create_dir_all, read_to_string};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};
use perfset_core::clock::{self, UNIX_EPOCH_100NS};

/// Open file of results in the directory `record/`, to which tables are appended.
#[derive(Debug)]
pub struct Record(File);

impl Record {
    /// Opens the file of results for this day and processor, and writes a description of the machine.
    pub fn open() -> Result<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos() / 100;
        let now = clock::SystemTime::from_100ns(UNIX_EPOCH_100NS.saturating_add(i64::try_from(now)?));
        let date = format!("{:04}-{:02}-{:02}", now.year, now.month, now.day);

        let processor = processor()?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
        create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let path = folder.join(format!("{date}-{}.txt", file_name(&processor)));
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.with_context(|| path.display().to_string())?;

        let processors = std::thread::available_parallelism()?;
        let rustc = Command::new("rustc").arg("--version").output().context("rustc --version")?;
        writeln!(file, "time       {now} UTC")?;
        writeln!(file, "processor  {processor}, {processors} of them")?;
        writeln!(file, "kernel     {}", kernel())?;
        writeln!(file, "compiler   {}\n", String::from_utf8_lossy(&rustc.stdout).trim_end())?;
        Ok(Self(file))
    }

    /// Appends a bench's table to the file of results.
    pub fn append(&mut self, table: &dyn Display) -> Result<()> {
        writeln!(self.0, "{table}").context("the record")
    }
}

/// Returns the name of the processor in `/proc/cpuinfo`, or the architecture if there is none.
fn processor() -> Result<String> {
    let cpuinfo = read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    Ok(model.unwrap_or(std::env::consts::ARCH).to_owned())
}

/// Returns the processor's name for a file name: in lower case, words of letters and digits with dashes between them.
fn file_name(processor: &str) -> String {
    let lower = processor.to_lowercase();
    let words: Vec<_> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

#[cfg(target_os = "linux")]
fn kernel() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

#[cfg(not(target_os = "linux"))]
fn kernel() -> &'static str {
    std::env::consts::OS
}
