//! Kernel files that are read repeatedly, with open file descriptors and reused buffers.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perfset_core::NoValue;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::sources::text::TextError;

/// Error of reading or parsing a kernel file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading a file fails with an error of the system.
    #[error("{}: cannot be read", path.display())]
    Io {
        /// Path of the kernel file that cannot be read.
        path: PathBuf,
        /// Error that the system returned for the file.
        source: io::Error,
    },
    /// A file is longer than any kernel file can be.
    #[error("{}: does not end within {mib} MiB", path.display())]
    TooLong {
        /// Path of the kernel file that is too long.
        path: PathBuf,
        /// Number of MiB that were read of the file.
        mib: usize,
    },
    /// The text of a kernel file is invalid.
    #[error("{}:{}: expected {}, found {}", path.display(), text.line, text.expected, text.found)]
    Text {
        /// Path of the kernel file with the invalid text.
        path: PathBuf,
        /// Line of the error in the file, and the difference from the expected text.
        text: TextError,
    },
}

impl From<ReadError> for NoValue {
    fn from(error: ReadError) -> Self {
        match &error {
            ReadError::Io { path, source } if source.kind() == ErrorKind::PermissionDenied => {
                let permission = "needs read permission, or CAP_DAC_READ_SEARCH";
                Self::Denied(format!("{}: {permission}", path.display()).into())
            }
            ReadError::Io { source, .. } => Self::Failed(format!("{error}: {source}").into()),
            ReadError::TooLong { .. } | ReadError::Text { .. } => Self::Failed(error.to_string().into()),
        }
    }
}

/// Rule by which a reader recognises the end of a kernel file, depending on how the kernel prints the file
/// (`single_open`, `seq_file` records, `seq_file` lines).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeqFileKind {
    /// File printed at once: `/proc/stat`, `/proc/softirqs` and all files in `/sys`. A chunk shorter than the buffer
    /// is the last, and no further read is needed. Some attributes arrive a page at a time, so a chunk of a page or
    /// more does not end the file.
    Single,
    /// File printed record by record: `/proc/interrupts`, `/proc/cpuinfo`. The kernel returns whole records, as many
    /// as fit into its own page, so any chunk may be short. Only an empty chunk is the end.
    Records,
    /// File printed in records, as [`Records`](Self::Records), that are lines below 1 KiB: `/proc/vmstat`,
    /// `/proc/diskstats`. A chunk that leaves more than 1 KiB of space, in the kernel's page and in the buffer, is
    /// the last.
    Lines,
}

/// Interval in ns, 10 s, at which an absent kernel file is looked for again: a driver may be loaded at any time. A
/// search costs as much as reading, and a machine without cpufreq lacks four files for each processor. The same
/// interval holds for data that hardly ever changes.
pub(crate) const LOOK_AGAIN_NS: u64 = 10_000_000_000;

/// Kernel file with its file descriptor and buffer, so that the next reading is cheap.
///
/// After the first readings of a file of about the same length, nothing is allocated.
#[derive(Debug)]
pub struct KeptFile {
    path: PathBuf,
    printed: SeqFileKind,
    keep: bool,
    tells: bool,
    file: Option<File>,
    buffer: Vec<u8>,
    len: usize,
    /// Time at which the kernel file was found to be absent, on the monotonic clock.
    absent_at_ns: Option<u64>,
}

impl KeptFile {
    /// Maximum size of a kernel file, in bytes.
    const LIMIT: usize = 64 << 20;
    // The smallest page of any architecture. Where pages are larger, this only costs one more read.
    const PAGE: usize = 4_096;
    /// Maximum length of a line in a kernel file that is printed in lines.
    const LINE: usize = 1_024;

    /// Creates the reader of the kernel file at `path`, without opening the file.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, printed: SeqFileKind) -> Self {
        let (path, buffer) = (path.into(), Vec::new());
        Self { path, printed, keep: true, tells: false, file: None, buffer, len: 0, absent_at_ns: None }
    }

    /// Sets that the kernel file's descriptor stays open between readings if `keep` is `true`, which saves nine
    /// tenths of the cost.
    #[must_use]
    pub fn keep(self, keep: bool) -> Self {
        Self { keep, ..self }
    }

    /// Makes [`read`](Self::read) skip the reading while the kernel file is unchanged. The kernel reports changes by
    /// `poll(2)`, as `proc_pid_mountinfo(5)` describes.
    #[must_use]
    pub fn tells_changes(self) -> Self {
        Self { tells: true, ..self }
    }

    /// Switches to another kernel file, whose path `change` derives from the old one, and reuses the buffer.
    pub(crate) fn move_to(&mut self, change: impl FnOnce(&mut PathBuf)) {
        change(&mut self.path);
        (self.file, self.len, self.absent_at_ns) = (None, 0, None);
    }

    /// Returns the path of the kernel file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the whole kernel file; returns `None` if it does not exist. `elapsed_ns` is the monotonic clock.
    ///
    /// After an error the file is opened again once: the file of a CPU that came back is a new one. An exception is
    /// `EINVAL`, by which the file itself reports that there is no value.
    ///
    /// # Errors
    /// If the system returns an error, or the file is too long.
    pub fn read(&mut self, elapsed_ns: u64) -> Result<Option<&[u8]>, ReadError> {
        if self.absent_at_ns.is_some_and(|at| elapsed_ns.saturating_sub(at) < LOOK_AGAIN_NS) {
            return Ok(None);
        }
        self.absent_at_ns = None;
        // A poll costs far less than printing a long mount table.
        if self.tells && self.file.as_ref().is_some_and(is_as_it_was) {
            return Ok(self.buffer.get(..self.len));
        }
        // `pread` at offset 0 makes the kernel print the file again, so the descriptor need not be opened
        // again.
        let kept = self.file.take().map(|file| (self.fill(&file), file));
        let (filled, file) = match kept.filter(|(filled, _)| self.is_answer(filled)) {
            Some(kept) => kept,
            None => match open(&self.path) {
                Ok(file) => (self.fill(&file), file),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    self.absent_at_ns = Some(elapsed_ns);
                    return Ok(None);
                }
                Err(source) => return Err(self.io(source)),
            },
        };
        // Stored before the error is returned: a file that answers `EINVAL` keeps its descriptor. After any
        // other error the next reading opens the file again.
        self.file = Some(file).filter(|_| self.keep && self.is_answer(&filled));
        filled?;
        Ok(self.buffer.get(..self.len))
    }

    /// Returns the text of the file's last successful reading, without reading again; `None` if the file did not
    /// exist.
    #[must_use]
    pub fn text(&self) -> Option<&[u8]> {
        self.buffer.get(..self.len).filter(|_| self.absent_at_ns.is_none())
    }

    /// Returns `true` if the result of a reading comes from the kernel file itself, not from a descriptor whose file
    /// was removed.
    fn is_answer(&self, filled: &Result<(), ReadError>) -> bool {
        let invalid = Some(rustix::io::Errno::INVAL.raw_os_error());
        match filled {
            Ok(()) => true,
            Err(ReadError::Io { source, .. }) => source.raw_os_error() == invalid && !self.tells,
            Err(_) => false,
        }
    }

    fn fill(&mut self, file: &File) -> Result<(), ReadError> {
        self.len = 0;
        loop {
            if self.len == self.buffer.len() {
                self.grow()?;
            }
            let offered = self.buffer.get_mut(self.len..).unwrap_or_default();
            let offered_len = offered.len();
            // Explicit offsets, because a descriptor that stays open remembers its position.
            let at = u64::try_from(self.len).unwrap_or(u64::MAX);
            let piece = match read_at(file, offered, at) {
                Ok(piece) => piece,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(source) => return Err(self.io(source)),
            };
            self.len = self.len.saturating_add(piece);
            // The kernel may print at most a page at a time, so only space within a page shows the end of the
            // file.
            let room = offered_len.min(Self::PAGE).saturating_sub(piece);
            let is_last = match self.printed {
                SeqFileKind::Single => room > 0,
                SeqFileKind::Records => false,
                SeqFileKind::Lines => room > Self::LINE,
            };
            if piece == 0 || is_last {
                return Ok(());
            }
        }
    }

    fn grow(&mut self) -> Result<(), ReadError> {
        let first = match self.printed {
            SeqFileKind::Single | SeqFileKind::Records => 64, // most attributes of /sys
            SeqFileKind::Lines => Self::PAGE, // with room that tells the end of a short one without asking again
        };
        // The memory is released: the next file may be short again.
        if self.buffer.len() >= Self::LIMIT {
            self.buffer = Vec::new();
            self.len = 0;
            return Err(ReadError::TooLong { path: self.path.clone(), mib: Self::LIMIT >> 20 });
        }
        // Doubled, so that a long file takes only a few rounds, and only the first time.
        self.buffer.resize(self.buffer.len().saturating_mul(2).max(first), 0);
        Ok(())
    }

    fn io(&self, source: io::Error) -> ReadError {
        ReadError::Io { path: self.path.clone(), source }
    }
}

/// Returns `true` if the kernel reports that a file is unchanged since the last poll, or since it was opened. The
/// kernel reports this only for files that it watches; other files are always ready, also for writing.
fn is_as_it_was(file: &File) -> bool {
    let asked = PollFlags::IN | PollFlags::OUT | PollFlags::PRI;
    let mut polled = [PollFd::new(file, asked)];
    rustix::event::poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready == 1)
        // After a change the kernel also sets `POLLPRI` and `POLLERR`.
        && polled.iter().all(|file| file.revents() == PollFlags::IN)
}

fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(test)]
    crate::faults::kernel::refuses(file)?;
    file.read_at(buffer, at)
}

/// Opens a kernel file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening a FIFO must not block.
    let no_wait = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(no_wait).open(path)
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fs;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use rustix::io::Errno;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("perfset-linux-{test}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0); // left to the system's own cleaning
        }
    }

    #[test]
    fn files_of_every_length() {
        let folder = Folder::new("lengths");
        let path = folder.0.join("file");
        let mut files = [SeqFileKind::Single, SeqFileKind::Records, SeqFileKind::Lines]
            .map(|printed| [true, false].map(|keep| KeptFile::new(&path, printed).keep(keep)));
        for len in [0, 1, 63, 64, 65, 127, 128, 4_095, 4_096, 4_097, 8_192, 20_000, 64, 5, 0, 300] {
            let text: Vec<u8> = (0..len).map(|n| b"perfset\n"[n % 8]).collect();
            fs::write(&path, &text).unwrap();
            for file in files.as_flattened_mut() {
                assert_eq!(file.read(0).unwrap().unwrap(), text, "{len}");
                assert_eq!(file.file.is_some(), file.keep);
            }
        }
    }

    #[test]
    fn records_of_a_running_kernel() {
        let mut file = KeptFile::new("/proc/self/smaps", SeqFileKind::Records);
        let text = file.read(0).unwrap().unwrap();
        assert!(text.len() > KeptFile::PAGE && text.ends_with(b"\n"), "{} bytes", text.len());
    }

    #[test]
    fn lines_of_a_running_kernel() {
        for path in ["/proc/vmstat", "/proc/diskstats", "/proc/net/dev"] {
            let lines = |printed| {
                let mut file = KeptFile::new(path, printed);
                let text = file.read(0).unwrap().unwrap();
                assert!(text.ends_with(b"\n"), "{path}");
                let lines = memchr::memchr_iter(b'\n', text).count();
                let ends_early = text.len() < KeptFile::PAGE - KeptFile::LINE;
                let has_room = file.buffer.len() - file.len > KeptFile::LINE;
                assert!(printed != SeqFileKind::Lines || !ends_early || has_room, "{path}");
                lines
            };
            assert_eq!(lines(SeqFileKind::Lines), lines(SeqFileKind::Records), "{path}");
        }
    }

    #[test]
    fn absent_file_is_retried_periodically() {
        let folder = Folder::new("absent");
        for path in [folder.0.join("file"), folder.0.join("no/file")] {
            let mut file = KeptFile::new(&path, SeqFileKind::Single);
            assert_eq!(file.read(7).unwrap(), None);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "7\n").unwrap();
            let found =
                [7, 8, 6 + LOOK_AGAIN_NS, 7 + LOOK_AGAIN_NS].map(|now| file.read(now).unwrap().is_some());
            assert_eq!(found, [false, false, false, true]);
            fs::remove_file(&path).unwrap();
            assert_eq!(file.read(0).unwrap(), Some(&b"7\n"[..]), "kept");
        }
    }

    #[test]
    fn a_descriptor_that_fails_is_opened_again() {
        let (path, mut file) = std::thread::spawn(|| {
            let path = Path::new("/proc").join(fs::read_link("/proc/thread-self").unwrap()).join("stat");
            let mut file = KeptFile::new(&path, SeqFileKind::Single);
            assert!(file.read(0).unwrap().is_some());
            (path, file)
        })
        .join()
        .unwrap();
        while path.exists() {
            std::thread::yield_now(); // the kernel may take a moment to forget a thread
        }
        assert_eq!(file.read(0).unwrap(), None, "it is gone, and not an error");
    }

    #[test]
    fn a_descriptor_is_kept_when_the_file_answers_that_it_has_nothing_to_tell() {
        let file = KeptFile::new("/sys/class/net/ifb0/speed", SeqFileKind::Single);
        let failed = |errno: Errno| Err(file.io(errno.into()));
        let answers = [Errno::INVAL, Errno::NODEV, Errno::SRCH].map(|errno| file.is_answer(&failed(errno)));
        assert_eq!(answers, [true, false, false]);
    }

    #[test]
    fn a_file_that_tells_changes_is_read_when_it_has_some() {
        let mounts = Path::new("/proc/self/mountinfo");
        assert!(is_as_it_was(&open(mounts).unwrap()), "it was opened just now");
        let mut file = KeptFile::new(mounts, SeqFileKind::Records).tells_changes();
        let text = file.read(0).unwrap().unwrap().to_vec();
        assert_eq!(file.read(0).unwrap().unwrap(), text);
        // An ordinary file has no change notification, so it may have changed.
        let folder = Folder::new("tells");
        let path = folder.0.join("mountinfo");
        let mut file = KeptFile::new(&path, SeqFileKind::Records).tells_changes();
        for text in ["1 2\n", "3\n", "", "4 5 6\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(file.read(0).unwrap().unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn denied_file_names_required_capability() {
        let source = io::Error::from(ErrorKind::PermissionDenied);
        let reason = NoValue::from(ReadError::Io { path: "/proc/interrupts".into(), source });
        let why = "denied: /proc/interrupts: needs read permission, or CAP_DAC_READ_SEARCH";
        assert_eq!(reason.to_string(), why);
    }

    #[test]
    fn non_regular_files_are_rejected() {
        let folder = Folder::new("no-file");
        let read = |path: &Path| KeptFile::new(path, SeqFileKind::Single).read(0).map(|_| ()).unwrap_err();
        let pipe = folder.0.join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [&pipe, &folder.0] {
            let error = read(path);
            assert_eq!(error.to_string(), format!("{}: cannot be read", path.display()));
            assert!(error.source().unwrap().is::<io::Error>());
            let source = error.source().unwrap().to_string();
            let reason = NoValue::Failed(format!("{error}: {source}").into());
            assert_eq!(NoValue::from(error), reason);
        }
        let endless = read(Path::new("/dev/zero"));
        assert_eq!(endless.to_string(), "/dev/zero: does not end within 64 MiB");
        assert!(matches!(endless, ReadError::TooLong { .. }));
    }
}
