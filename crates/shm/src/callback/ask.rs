//! The side that asks: it waits so long and no longer, whatever the other side does.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use perfset_core::Status;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};
use thiserror::Error;

use super::{Answer, BadMessage, MOST_PACKET, Request, address, user_at_the_other_end};

/// A program did not answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// Nobody listens there, or it ended the connection.
    #[error("the program cannot be reached")]
    Gone(#[source] io::Error),
    /// It did not answer in time: then a request counts as one that succeeded, and values are missing.
    #[error("the program did not answer within {0:?}")]
    TimedOut(Duration),
    /// Somebody listens there who is not the owner of the file.
    #[error("user {0} listens there, who does not own the file")]
    Stranger(u32),
    /// What it answered is no answer.
    #[error("what the program answered cannot be used")]
    Damaged(#[source] BadMessage),
}

/// Asks the program that listens on that socket, if it is one of that user.
///
/// # Errors
/// If it cannot be reached, is another user's, or gives no answer within that time.
pub fn ask(socket: &Path, owner: u32, request: &Request<'_>, within: Duration) -> Result<Answer, AskError> {
    let until = Instant::now().checked_add(within);
    let gone = |errno: Errno| AskError::Gone(errno.into());
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connection = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(gone)?;
    let (address, _folder) = address(socket).map_err(AskError::Gone)?;
    connect(&connection, &address).map_err(gone)?; // where too many wait already it fails at once
    let user = user_at_the_other_end(connection.as_fd()).map_err(AskError::Gone)?;
    if user != owner {
        return Err(AskError::Stranger(user));
    }
    send(&connection, &request.encode(), SendFlags::NOSIGNAL).map_err(gone)?;
    let mut answer = Answer::from(Status::ERROR_SUCCESS);
    let mut buffer = vec![0; MOST_PACKET];
    loop {
        let is_ready = wait(connection.as_fd(), PollFlags::IN, until).map_err(AskError::Gone)?;
        // Also of packets without an end.
        if !is_ready || until.is_some_and(|until| until <= Instant::now()) {
            return Err(AskError::TimedOut(within));
        }
        let len = match recv(&connection, &mut *buffer, RecvFlags::TRUNC) {
            Ok((_, len)) => len,
            Err(Errno::AGAIN | Errno::INTR) => continue,
            Err(error) => return Err(gone(error)),
        };
        if len == 0 {
            return Err(AskError::Gone(io::ErrorKind::UnexpectedEof.into()));
        }
        let too_long = AskError::Damaged(BadMessage::Other("a packet is too long"));
        let packet = buffer.get(..len).ok_or(too_long)?;
        match answer.decode(packet) {
            Ok(true) => {}
            Ok(false) => return Ok(answer),
            Err(bad) => return Err(AskError::Damaged(bad)),
        }
    }
}

/// Waits until then for something to be possible; whether it is. Without an end, as long as it takes.
pub(super) fn wait(fd: BorrowedFd<'_>, what: PollFlags, until: Option<Instant>) -> io::Result<bool> {
    loop {
        let mut fds = [PollFd::from_borrowed_fd(fd, what)];
        match poll(&mut fds, left(until).as_ref()) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The time until then.
pub(super) fn left(until: Option<Instant>) -> Option<Timespec> {
    let left = until?.saturating_duration_since(Instant::now());
    Some(Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    })
}
