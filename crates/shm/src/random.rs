//! Random numbers for names of publishers' files and directories.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::layout::WORD;

/// Returns a random number that no other program can guess.
pub(crate) fn random() -> io::Result<u64> {
    let mut bytes = [0; WORD];
    let len = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if len == WORD { Ok(u64::from_ne_bytes(bytes)) } else { Err(io::ErrorKind::Interrupted.into()) }
}
