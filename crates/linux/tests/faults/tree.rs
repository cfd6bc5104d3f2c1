//! Files of the test's model of a machine, below a directory in memory.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::basics::{Random, Tally};
use crate::roots::Roots;

/// Fault that the test injects into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Absent,
    Empty,
    Garbage,
    Cut,
    Denied,
    Folder,
}

impl Fault {
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Absent, "file vanishes"),
        (Self::Empty, "file is empty"),
        (Self::Garbage, "file makes no sense"),
        (Self::Cut, "file is cut"),
        (Self::Denied, "file is refused"),
        (Self::Folder, "file becomes a folder"),
    ];
}

#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    files: BTreeMap<String, Kept>,
    /// Serial numbers of the things that directories of the model stand for, by path.
    folders: BTreeMap<String, u64>,
    denied: Vec<PathBuf>,
    /// Number of times that the files of the model were written.
    turn: u64,
}

#[derive(Debug)]
struct Kept {
    text: String,
    /// Open file of the model; `None` for a directory.
    file: Option<File>,
    turn: u64,
}

impl Tree {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let memory = Path::new("/dev/shm");
        let scratch = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let root = scratch.join(format!("perfset-faults-{}-{number}", std::process::id()));
        fs::create_dir_all(root.join("sys")).unwrap();
        fs::create_dir_all(root.join("proc")).unwrap();
        Self { root, files: BTreeMap::new(), folders: BTreeMap::new(), denied: Vec::new(), turn: 0 }
    }

    pub(crate) fn link(&self, path: &str, to: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots { proc: self.root.join("proc"), sys: self.root.join("sys") }
    }

    /// Writes the model's directories with their serial numbers, files with their texts, and faults. Other files are
    /// removed.
    pub(crate) fn write(
        &mut self,
        folders: &[(String, u64)],
        files: &[(String, String)],
        faults: &BTreeMap<String, Fault>,
        random: &mut Random,
        tally: &mut Tally,
    ) {
        self.turn += 1;
        for path in self.denied.drain(..) {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755)); // it may be gone
        }
        for (path, serial) in folders {
            if self.folders.insert(path.clone(), *serial).is_some_and(|before| before != *serial) {
                self.remove_folder(path);
            }
        }
        for (path, text) in files {
            match faults.get(path) {
                None | Some(Fault::Denied) => self.put(path, text, random, tally),
                Some(Fault::Absent) => {}
                Some(Fault::Empty) => self.put(path, "", random, tally),
                Some(Fault::Garbage) => self.put(path, "x\n", random, tally),
                Some(Fault::Cut) => self.put(path, &text[..text.len().saturating_sub(1)], random, tally),
                Some(Fault::Folder) => self.put_folder(path),
            }
        }
        self.remove_old();
        let gone: Vec<_> = self
            .folders
            .keys()
            .filter(|path| folders.iter().all(|(other, _)| other != *path))
            .cloned()
            .collect();
        for path in gone {
            self.folders.remove(&path);
            self.remove_folder(&path);
        }
        for (path, fault) in faults {
            let path = self.root.join(path);
            if *fault == Fault::Denied && path.exists() {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
                self.denied.push(path);
            }
        }
    }

    fn put(&mut self, path: &str, text: &str, random: &mut Random, tally: &mut Tally) {
        let turn = self.turn;
        let replace = random.once_in(50);
        if let Some(Kept { text: before, file: Some(file), turn: seen }) = self.files.get_mut(path) {
            *seen = turn;
            if before == text && !replace {
                return;
            }
            if !replace {
                tally.note("file is written over");
                file.write_all_at(text.as_bytes(), 0).unwrap();
                if text.len() < before.len() {
                    file.set_len(text.len() as u64).unwrap();
                }
                text.clone_into(before);
                return;
            }
            tally.note("file is another one");
        }
        self.remove(path);
        let full = self.root.join(path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = options.open(&full).or_else(|_| {
            fs::create_dir_all(full.parent().unwrap())?;
            options.open(&full)
        });
        let file = file.unwrap();
        file.write_all_at(text.as_bytes(), 0).unwrap();
        self.files.insert(path.to_owned(), Kept { text: text.to_owned(), file: Some(file), turn });
    }

    fn put_folder(&mut self, path: &str) {
        let turn = self.turn;
        if let Some(Kept { file: None, turn: seen, .. }) = self.files.get_mut(path) {
            *seen = turn;
            return;
        }
        self.remove(path);
        fs::create_dir_all(self.root.join(path)).unwrap();
        self.files.insert(path.to_owned(), Kept { text: String::new(), file: None, turn });
    }

    fn remove(&mut self, path: &str) {
        if let Some(kept) = self.files.remove(path) {
            let path = self.root.join(path);
            match kept.file {
                Some(_) => fs::remove_file(path).unwrap(),
                None => fs::remove_dir_all(path).unwrap(),
            }
        }
    }

    fn remove_old(&mut self) {
        let turn = self.turn;
        let old: Vec<_> =
            self.files.iter().filter(|(_, kept)| kept.turn != turn).map(|(path, _)| path.clone()).collect();
        for path in old {
            self.remove(&path);
            // Removes its directory, if that is empty now.
            let folder = self.root.join(&path).parent().map(Path::to_owned);
            if path.contains("/task/") {
                let _ = fs::remove_dir(folder.unwrap());
            }
        }
    }

    /// Removes a directory with all its files.
    fn remove_folder(&mut self, path: &str) {
        let inside = format!("{path}/");
        self.files.retain(|path, _| !path.starts_with(&inside));
        let _ = fs::remove_dir_all(self.root.join(path)); // nothing may be in it
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        for path in &self.denied {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
        }
        let _ = fs::remove_dir_all(&self.root); // left to the system's own cleaning
    }
}
