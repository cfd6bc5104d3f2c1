//! Lower bound ("floor") of a collection of processes: bare readings of `/proc`, and parsers that check nothing. A
//! collection lists `/proc`, and reads the CPU clocks and three files of each process that has run, or of all. The
//! parsers know the position of every number.

use std::io::Write;

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, open, openat, seek};

use crate::collect::floor::{after_blanks, after_line, number};

/// Lower bound of a collection of processes: the open `/proc`, and the last times of the processes' CPU clocks.
#[derive(Debug)]
pub struct Floor {
    folder: OwnedFd,
    /// CPU time of each process at the last collection, indexed by pid, in ns. `None` reads all processes every time.
    clocks: Option<Vec<u64>>,
    names: Vec<u8>,
    pids: Vec<u32>,
    path: Vec<u8>,
    text: Vec<u8>,
}

/// Number of possible pids, more than the kernel gives to processes.
const PIDS: usize = 1 << 22;
const NAMES: usize = 1 << 20;

impl Floor {
    /// Opens the directory `/proc` for the lower bound of a collection. With `gated`, a collection reads only
    /// processes that have run since the one before.
    pub fn open(gated: bool) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            folder: open("/proc", flags, Mode::empty()).context("/proc")?,
            clocks: gated.then(|| vec![0; PIDS]),
            names: Vec::with_capacity(NAMES),
            pids: Vec::new(),
            path: Vec::new(),
            text: vec![0; 4 << 10],
        })
    }

    /// Reads and parses the files of processes, and returns the sum of all parsed numbers.
    pub fn collect(&mut self) -> Result<u64> {
        seek(&self.folder, SeekFrom::Start(0))?;
        self.pids.clear();
        let mut entries = RawDir::new(&self.folder, self.names.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name.first().is_some_and(u8::is_ascii_digit) {
                self.pids.push(u32::try_from(number(name).0)?);
            }
        }
        let Self { folder, clocks, pids, path, text, .. } = self;
        let mut sum = 0_u64;
        for pid in pids {
            if let Some(clocks) = clocks {
                const SCHEDULER: i32 = 2; // which clock of the process
                let clock = ClockId::from_raw((!i32::try_from(*pid)?) << 3 | SCHEDULER);
                let Ok(time) = clock_gettime(clock) else { continue };
                let ns = time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64;
                if std::mem::replace(&mut clocks[*pid as usize], ns) == ns {
                    continue;
                }
            }
            for (file, parse) in [("stat\0", stat as fn(&[u8]) -> u64), ("statm\0", statm), ("io\0", io)] {
                path.clear();
                write!(path, "{pid}/{file}")?;
                sum = sum.wrapping_add(read(&*folder, path, text).map_or(0, parse));
            }
        }
        Ok(sum)
    }
}

fn read<'a>(folder: impl AsFd, path: &[u8], text: &'a mut [u8]) -> Option<&'a [u8]> {
    let path = std::ffi::CStr::from_bytes_with_nul(path).ok()?;
    let file = openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let len = rustix::io::read(file, &mut *text).ok()?;
    text.get(..len)
}

/// Adds up the fields 4 to 41 of `/proc/PID/stat`, up to the scheduling policy.
fn stat(text: &[u8]) -> u64 {
    let name_end = text.iter().rposition(|byte| *byte == b')').unwrap_or(0);
    sum(text.get(name_end + 4..).unwrap_or_default(), 38)
}

fn statm(text: &[u8]) -> u64 {
    sum(text, 3)
}

/// Adds up the first `count` numbers of a text with a blank between them. The sign of a negative number is ignored.
fn sum(text: &[u8], count: usize) -> u64 {
    let mut rest = text;
    let mut sum = 0_u64;
    for _ in 0..count {
        let (value, behind) = number(rest.strip_prefix(b"-").unwrap_or(rest));
        sum = sum.wrapping_add(value);
        rest = behind.get(1..).unwrap_or_default();
    }
    sum
}

/// Adds up the number behind the colon of each line of `/proc/PID/io`.
fn io(text: &[u8]) -> u64 {
    let mut rest = text;
    let mut sum = 0_u64;
    while let Some(colon) = rest.iter().position(|byte| *byte == b':') {
        let (value, behind) = number(after_blanks(&rest[colon + 1..]));
        sum = sum.wrapping_add(value);
        rest = after_line(behind);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let rest = "0 ".repeat(30);
        assert_eq!(stat(format!("97 (a b) 97) S 2 3 -5 7 11 13 17 19 {rest}97 97\n").as_bytes()), 77);
        assert_eq!(statm(b"2 3 5 97 97 97 97\n"), 10);
        assert_eq!(io(b"rchar: 2\nwchar: 3\nsyscr: 5\n"), 10);
    }

    #[test]
    fn this_machine() {
        let (mut gated, mut plain) = (Floor::open(true).unwrap(), Floor::open(false).unwrap());
        assert!(gated.collect().unwrap() > 0 && plain.collect().unwrap() > 0);
        assert!(plain.pids.contains(&std::process::id()));
    }
}
