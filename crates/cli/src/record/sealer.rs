//! Thread that seals finished journals of a recording: it replaces each journal by a compact file, so that no sample
//! waits for that.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use perfset::log::recording::{RecordingError, seal};
use perfset::output::text::name_of;

use super::control::say;
use super::counters::RecorderCounters;

/// Queue of a recording's finished journals, and the thread that replaces each journal by a sealed, compact file.
pub struct Sealer {
    running: Option<(Sender<FinishedJournal>, JoinHandle<()>)>,
    counters: RecorderCounters,
}

struct FinishedJournal {
    path: PathBuf,
    /// `true` if a failure to seal this journal of a recording is reported to the user.
    is_reported: bool,
}

impl Sealer {
    /// Creates the queue of journals to be sealed, which counts sealed files and the time that each took.
    pub fn new(counters: RecorderCounters) -> Self {
        Self { running: None, counters }
    }

    /// Adds a journal of the recording to the queue of files to seal.
    pub fn add(&mut self, journal: PathBuf) {
        self.send(FinishedJournal { path: journal, is_reported: true });
    }

    /// Seals the journals that an ended recorder has left in a directory.
    ///
    /// A damaged journal stays until it is the oldest file, and each start of a recorder tries it again: the reason can
    /// be gone, such as a full disk. A failure is reported only for the newest file of the directory. Those before it
    /// were reported when they were finished, or by the start of the recorder that wrote the file after them.
    pub fn add_left(&mut self, folder: &Path, journals: Vec<PathBuf>) {
        let newest = newest(folder);
        for path in journals {
            let is_reported = path.file_stem() == newest.as_deref();
            self.send(FinishedJournal { path, is_reported });
        }
    }

    fn send(&mut self, journal: FinishedJournal) {
        let (journals, _) = self.running.get_or_insert_with(|| {
            let (sender, receiver) = channel::<FinishedJournal>();
            let counters = self.counters.clone();
            let thread = std::thread::spawn(move || {
                for FinishedJournal { path, is_reported } in receiver {
                    let begin = Instant::now();
                    // The journal stays, and is as good for readers.
                    match seal(&path) {
                        Ok(_) => counters.sealed(begin.elapsed()),
                        // It had nothing, and is gone.
                        Err(RecordingError::NotBegun) => {}
                        Err(error) if is_reported => {
                            say(&format!("warning: {} is not sealed: {error}", name_of(&path)));
                        }
                        Err(_) => {}
                    }
                }
            });
            (sender, thread)
        });
        // It fails only after a panic of the thread; then journals stay as they are.
        let _ = journals.send(journal);
    }

    /// Waits until all journals of the recording are sealed.
    pub fn finish(&mut self) {
        if let Some((journals, thread)) = self.running.take() {
            drop(journals);
            let _ = thread.join();
        }
    }
}

/// Returns the name, without its ending, of the newest file of a recording. Names begin with the time.
fn newest(folder: &Path) -> Option<OsString> {
    let paths = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let is_recorded =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == "journal" || ending == "perfset");
    let names = paths.filter(is_recorded).filter_map(|path| path.file_stem().map(OsString::from));
    // Annotations are no files of a recorder.
    names.filter(|name| !name.to_string_lossy().contains("-mark-")).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_file_of_a_recording() {
        let folder = std::env::temp_dir().join(format!("perfset-newest-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(newest(&folder), None);
        for (name, want) in [
            ("20261127T100000Z-b-00000000.journal", "20261127T100000Z-b-00000000"),
            ("20261127T110000Z-b-00000300.perfset", "20261127T110000Z-b-00000300"),
            ("20261127T090000Z-b-00000000.journal", "20261127T110000Z-b-00000300"),
            ("20261127T120000Z-b-00000600.tmp", "20261127T110000Z-b-00000300"),
            ("20261127T120000Z-mark-77-1.perfset", "20261127T110000Z-b-00000300"),
            ("20261127T120000Z-c-00000600.journal", "20261127T120000Z-c-00000600"),
        ] {
            std::fs::write(folder.join(name), "").unwrap();
            assert_eq!(newest(&folder).unwrap(), want, "after {name}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(newest(&folder), None);
    }
}
