//! Directories of recordings for benches, which are removed in the end.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use anyhow::{Context, Result};
use perfset_engine::{Clock, Snapshot};
use perfset_log::recording::{RecordingAbout, RecordingWriter, TableDefinition, TickPart, WriterOptions};

use super::synthetic::{Checksum, SyntheticMachine};

/// Directory of a bench that is removed when this value is dropped.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a directory of a bench among the temporary files.
    pub fn new(name: &str) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let path = std::env::temp_dir().join(format!("perfset-bench-{}-{name}-{number}", std::process::id()));
        fs::create_dir(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }

    /// Returns the path of the temporary directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // nothing can be done about it
    }
}

/// Returns the paths of the sealed files of a recording's directory.
pub fn sealed_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "perfset") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns the total length of all files in a recording's directory, in bytes.
pub fn length(folder: &Path) -> Result<u64> {
    let mut len = 0;
    for entry in fs::read_dir(folder)? {
        len += entry?.metadata()?.len();
    }
    Ok(len)
}

/// Reads 4 KiB at the beginning and at the end of each recording file, and returns the number of bytes.
pub fn ends(files: &[PathBuf]) -> io::Result<u64> {
    let mut buffer = [0; 4_096];
    let mut read = 0;
    for file in files {
        let file = File::open(file)?;
        let end = file.metadata()?.len().saturating_sub(buffer.len() as u64);
        for offset in [0, end] {
            read += file.read_at(&mut buffer, offset)? as u64;
        }
    }
    Ok(read)
}

/// Returns the description of the machine that the bench writes into its recordings.
pub fn about() -> RecordingAbout {
    RecordingAbout::default()
        .with(RecordingAbout::MACHINE, "synthetic")
        .with(RecordingAbout::BOOT, "0123456789abcdef")
        .with(RecordingAbout::RUN, "1")
        .with(RecordingAbout::INTERVAL_MS, "1000")
}

/// Adds a table to a recording for each entry of a snapshot.
pub fn add_tables(writer: &mut RecordingWriter, snapshot: &Snapshot) -> Result<Vec<usize>> {
    let mut tables = Vec::new();
    for entry in snapshot.entries() {
        let definition = TableDefinition::of(entry, 1_000).context("an entry without its counterset")?;
        tables.push(writer.add_table(definition)?);
    }
    Ok(tables)
}

/// Numbers of samples in a recording and in its files.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    /// Number of samples in the recording; the next field is that in each file.
    pub all: u32,
    pub of_a_file: u32,
    /// Number of samples of the recording from one that has values to the next.
    pub step: u32,
}

/// Records samples of a synthetic machine, and returns the checksum of all samples. Calls `each` for each file that
/// is finished.
pub fn record(
    machine: &SyntheticMachine,
    folder: &Path,
    samples: Samples,
    mut each: impl FnMut(&Path) -> Result<()>,
) -> Result<Checksum> {
    let mut query = machine.query();
    let mut snapshot = Snapshot::default();
    let mut checksum = Checksum::default();
    let mut writer: Option<(RecordingWriter, Vec<usize>)> = None;
    for sample in 0..samples.all {
        let has_values = sample % samples.step == 0;
        if has_values {
            machine.collect(&mut query, &mut snapshot)?;
            checksum.add_all(machine.checksum());
        } else {
            machine.step();
        }
        let (writer, tables) = match &mut writer {
            Some(writer) => writer,
            None => {
                let options = WriterOptions::default().sync(None).ticks_per_file(samples.of_a_file);
                let mut new = RecordingWriter::create(folder, snapshot.clocks(), about(), options)?;
                let tables = add_tables(&mut new, &snapshot)?;
                writer.insert((new, tables))
            }
        };
        let part = |(entry, table): (usize, &usize)| TickPart { table: *table, snapshot: &snapshot, entry };
        let parts: Vec<TickPart<'_>> = tables.iter().enumerate().filter(|_| has_values).map(part).collect();
        if let Some(finished) = writer.tick(&machine.clone().read(), &parts)? {
            each(&finished.path)?;
        }
    }
    Ok(checksum)
}
