//! Checks that a publisher's file is complete, and that it did not change by system calls while it was read.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

use rustix::fs::{AtFlags, Stat, StatxFlags, fstat, statx};

use super::{FileAccess, MOST_BYTES, ProgramFile, wide};
use crate::guard::Inside;
use crate::layout::{MAGIC, header};
use crate::read::lines;
use crate::read::stamp::{Stamp, stamp};
use crate::read::table::{FileError, load};

/// Returns the creation time of a publisher's file, or the last change of its inode if the file system has no
/// creation time.
pub(super) fn made(file: BorrowedFd<'_>) -> (i64, u32) {
    let mask = StatxFlags::BTIME | StatxFlags::CTIME;
    let Ok(found) = statx(file, "", AtFlags::EMPTY_PATH, mask) else { return (i64::MAX, 0) };
    let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let time = if has_birth { found.stx_btime } else { found.stx_ctime };
    (time.tv_sec, time.tv_nsec)
}

impl ProgramFile {
    /// Copies the header of the file again by a system call, and checks that the file has as many bytes as the header
    /// promises. Otherwise the file is lost until it has.
    pub fn look(&mut self) {
        let FileAccess::Mapped { header } = &self.bytes else { return };
        let looked = self.file().and_then(|file| {
            let stat = fstat(&file)?;
            Ok((lines::first_words(file.as_fd())?, stat))
        });
        self.lost = match looked {
            Err(why) => Some(FileError::io("cannot be read")(why)),
            Ok((words, stat)) => {
                header.take(words);
                self.stamp = Some(stamp(&stat));
                check_len(&stat, load(header.words(), header::COMMITTED), MOST_BYTES.0).err()
            }
        };
        self.recognize();
    }

    /// Loads the header of the file again from its mapping.
    pub fn look_inside(&self, inside: &Inside) {
        if let FileAccess::Mapped { header } = &self.bytes {
            header.take(header.view.words(inside).iter().map(|word| word.load(Acquire)));
        }
    }

    /// Checks that the header words last read are those of this file; otherwise the file is lost.
    pub fn recognize(&mut self) {
        if let FileAccess::Mapped { header } = &self.bytes {
            let word = |at: usize| load(header.words(), at);
            let id = [word(header::FILE_ID), word(header::FILE_ID.saturating_add(1))];
            if self.lost.is_none() && (word(header::MAGIC) != MAGIC || id != self.header.id) {
                self.lost = Some(FileError::Header("the header was overwritten"));
            }
        }
    }

    /// Returns `true` if the publisher's file was not changed by system calls since the last look: values loaded in
    /// between were stored by its publisher. While a file is truncated, loads can return zeros and torn words.
    pub fn is_as_it_was(&mut self) -> bool {
        let mut is_same = false;
        if self.is_lost() {
            return false;
        }
        if let FileAccess::Mapped { header } = &self.bytes {
            let committed = load(header.words(), header::COMMITTED);
            let stat = match &self.kept {
                Some(kept) => fstat(kept).map_err(io::Error::from),
                None => self.file().and_then(|file| Ok(fstat(file)?)),
            };
            match stat {
                Ok(stat) => {
                    // On kernels before 6.13 times have the resolution of the tick, so two changes within one
                    // tick are not noticed.
                    is_same = self.stamp == Some(stamp(&stat));
                    self.lost = check_len(&stat, committed, MOST_BYTES.0).err();
                }
                Err(why) => self.lost = Some(FileError::io("cannot be inspected")(why)),
            }
        }
        is_same && self.lost.is_none()
    }

    /// Marks the publisher's file as lost, because it was changed by system calls during every load.
    pub fn lose(&mut self) {
        self.lost = Some(FileError::Header("the file was truncated or overwritten while it was read"));
    }

    /// Returns the reason why the publisher's file cannot be read now, for the user.
    pub fn why_lost(&self) -> Option<Arc<str>> {
        self.lost.as_ref().map(|why| format!("the file of {}: {why}", self.program()).into())
    }

    /// Reads the publisher's file by system calls, and repeats that until the file did not change meanwhile. After
    /// several attempts the file is lost.
    pub fn copy<T>(&mut self, mut read: impl FnMut(&Self, BorrowedFd<'_>) -> io::Result<T>) -> Option<T> {
        const TRIES: usize = 3;
        self.lost = None;
        for _ in 0..TRIES {
            let copied = self.file().map_err(FileError::io("cannot be read")).and_then(|file| {
                // Examined before and after, because a file that is whole again may have been read with a
                // hole.
                let before = self.whole(file.as_fd())?;
                let copied = read(self, file.as_fd()).map_err(FileError::io("cannot be read"))?;
                Ok((self.whole(file.as_fd())? == before).then_some(copied))
            });
            match copied {
                Ok(Some(copied)) => return Some(copied),
                Ok(None) => {}
                Err(why) => {
                    self.lost = Some(why);
                    return None;
                }
            }
        }
        self.lose();
        None
    }

    /// Checks that the publisher's file has all the bytes that its header promises. Returns its stamp.
    fn whole(&self, file: BorrowedFd<'_>) -> Result<Stamp, FileError> {
        let words = lines::first_words(file).map_err(FileError::io("cannot be read"))?;
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let stat = fstat(file).map_err(|error| FileError::io("cannot be inspected")(error.into()))?;
        let id = [word(header::FILE_ID), word(header::FILE_ID.saturating_add(1))];
        if word(header::MAGIC) != MAGIC || id != self.header.id {
            return Err(FileError::Header("the header was overwritten"));
        }
        check_len(&stat, word(header::COMMITTED), MOST_BYTES.1)?;
        Ok(stamp(&stat))
    }

    /// Returns `true` if the publisher's file cannot be read now.
    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }
}

/// Checks that a publisher's file has the bytes that its header promises, and not too many. Loading from a hole would
/// end this process if the file system is full.
pub(super) fn check_len(stat: &Stat, committed: u64, limit: u64) -> Result<(), FileError> {
    const BLOCK: u64 = 512;
    if committed > limit {
        return Err(FileError::TooLarge(committed, limit));
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    // A hole has no blocks, and a file that was truncated has no size: the smaller of both is what can be
    // read safely.
    let there = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(BLOCK).min(size);
    if committed < wide(header::BYTES) || committed > there {
        return Err(FileError::Holes { committed, there });
    }
    Ok(())
}
