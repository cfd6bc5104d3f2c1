//! Thread that seals finished journals, so that no sample waits for it.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use perfset::log::recording::seal;
use perfset::output::text::name_of;

use super::control::say;

/// Queue of journals and the thread that seals them, one after the other.
#[derive(Default)]
pub struct Sealer {
    running: Option<(Sender<PathBuf>, JoinHandle<()>)>,
}

impl Sealer {
    /// Seals a journal after those before it.
    pub fn add(&mut self, journal: PathBuf) {
        let (journals, _) = self.running.get_or_insert_with(|| {
            let (sender, receiver) = channel::<PathBuf>();
            let thread = std::thread::spawn(move || {
                for journal in receiver {
                    // The journal stays, and is as good for readers.
                    if let Err(error) = seal(&journal) {
                        say(&format!("warning: {} is not sealed: {error}", name_of(&journal)));
                    }
                }
            });
            (sender, thread)
        });
        // It fails only after a panic of the thread; then journals stay as they are.
        let _ = journals.send(journal);
    }

    /// Waits until all journals are sealed.
    pub fn finish(&mut self) {
        if let Some((journals, thread)) = self.running.take() {
            drop(journals);
            let _ = thread.join();
        }
    }
}
