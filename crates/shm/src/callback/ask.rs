//! Client side of the publisher socket. Each wait has a deadline, whatever the publisher does.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use perfset_core::Status;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, FileType, Mode, OFlags, access, fstat, open, openat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with,
};
use thiserror::Error;

use super::{CallbackReply, MOST_PACKET, MessageError, RequestMessage, user_at_the_other_end};

/// Reason why a publisher gave no usable response to a request.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// No process listens on the socket, or the publisher closed the connection.
    #[error("the publisher cannot be reached")]
    Gone(#[source] io::Error),
    /// The publisher sent no response within the deadline. The request then counts as successful, and values are
    /// missing.
    #[error("the publisher did not respond within {0:?}")]
    TimedOut(Duration),
    /// The socket or the listening process belongs to another user than the file.
    #[error("the socket or its process belongs to user {0}, who does not own the publisher's file")]
    Stranger(u32),
    /// The response of the publisher could not be decoded.
    #[error("the publisher's response is invalid")]
    Damaged(#[source] MessageError),
}

/// Request to a publisher, with the part of the response received so far. No method blocks.
#[derive(Debug)]
pub(crate) struct Conversation {
    connection: OwnedFd,
    answer: CallbackReply,
}

/// Maximum number of response packets received per call: a publisher that never stops sending must not delay other
/// publishers.
const PACKETS: usize = 4;

impl Conversation {
    /// Sends a request to the publisher that listens on a socket, if that process runs as user `owner`.
    ///
    /// # Errors
    /// If the publisher cannot be reached, or belongs to another user. If its queue of connections is full, the error
    /// is [`io::ErrorKind::WouldBlock`].
    pub(crate) fn begin(socket: &Path, owner: u32, packet: &[u8]) -> Result<Self, AskError> {
        let gone = |errno: Errno| AskError::Gone(errno.into());
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let connection =
            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(gone)?;
        // The descriptor in the address must stay open until the connection exists.
        let found = find_socket(socket, owner)?;
        let address = address_in(Path::new("/proc/self/fd"), found.as_fd()).map_err(AskError::Gone)?;
        connect(&connection, &address).map_err(gone)?; // where too many wait already it fails at once
        // Checked before anything is sent: a request contains names that another user should not see.
        let user = user_at_the_other_end(connection.as_fd()).map_err(AskError::Gone)?;
        if user != owner {
            return Err(AskError::Stranger(user));
        }
        send(&connection, packet, SendFlags::NOSIGNAL).map_err(gone)?;
        Ok(Self { connection, answer: CallbackReply::from(Status::ERROR_SUCCESS) })
    }

    /// Receives some of the response packets that have arrived, and returns the response once it is complete.
    /// `buffer` must have room for one packet.
    ///
    /// # Errors
    /// If the connection was closed, or a received packet is not a valid response.
    pub(crate) fn advance(&mut self, buffer: &mut [u8]) -> Result<Option<CallbackReply>, AskError> {
        for _ in 0..PACKETS {
            let len = match recv(&self.connection, &mut *buffer, RecvFlags::TRUNC) {
                Ok((_, len)) => len,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(AskError::Gone(error.into())),
            };
            // The publisher closed the connection before its response was complete.
            if len == 0 {
                return Err(AskError::Gone(io::ErrorKind::UnexpectedEof.into()));
            }
            let too_long = AskError::Damaged(MessageError::Other("a packet is too long"));
            let packet = buffer.get(..len).ok_or(too_long)?;
            match self.answer.decode(packet) {
                Ok(true) => {}
                Ok(false) => {
                    return Ok(Some(std::mem::replace(&mut self.answer, Status::ERROR_SUCCESS.into())));
                }
                Err(bad) => return Err(AskError::Damaged(bad)),
            }
        }
        Ok(None)
    }

    /// Returns the connection to the publisher, on which response packets arrive.
    pub(crate) fn connection(&self) -> &OwnedFd {
        &self.connection
    }

    /// Returns the number of values received so far in the response.
    pub(crate) fn values(&self) -> usize {
        self.answer.values.len()
    }
}

/// Opens a socket's inode, without connecting to it. A link in its place is not followed: it could lead to a socket of
/// another program, which does not expect requests of this user.
fn find_socket(socket: &Path, owner: u32) -> Result<OwnedFd, AskError> {
    let gone = |errno: Errno| AskError::Gone(errno.into());
    let (folder, name) = (socket.parent().unwrap_or(Path::new(".")), socket.file_name().unwrap_or_default());
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let folder = open(folder, flags | OFlags::DIRECTORY, Mode::empty()).map_err(gone)?;
    let found = openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(gone)?;
    let stat = fstat(&found).map_err(gone)?;
    let why = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Socket if stat.st_uid == owner => return Ok(found),
        FileType::Socket => return Err(AskError::Stranger(stat.st_uid)),
        FileType::Symlink => "the path is a symbolic link, not a socket",
        _ => "the path is not a socket",
    };
    Err(AskError::Gone(io::Error::other(why)))
}

/// Returns the address of an open socket inode, even if another file has the socket's name now. `descriptors` is
/// `/proc/self/fd`.
fn address_in(descriptors: &Path, socket: BorrowedFd<'_>) -> io::Result<SocketAddrUnix> {
    access(descriptors, Access::EXISTS).map_err(|error| {
        let what = format!("{}: {error}; without it, another socket could be reached", descriptors.display());
        io::Error::other(what)
    })?;
    Ok(SocketAddrUnix::new(descriptors.join(socket.as_raw_fd().to_string()))?)
}

/// Sends a request to the publisher that listens on a socket, if that process runs as user `owner`, and waits for the
/// response.
///
/// # Errors
/// If the publisher cannot be reached, belongs to another user, or sends no complete response within that time.
pub fn ask(
    socket: &Path,
    owner: u32,
    request: &RequestMessage<'_>,
    within: Duration,
) -> Result<CallbackReply, AskError> {
    let until = Instant::now().checked_add(within);
    let mut conversation = Conversation::begin(socket, owner, &request.encode())?;
    let mut buffer = vec![0; MOST_PACKET];
    loop {
        let connection = conversation.connection().as_fd();
        let is_ready = wait(connection, PollFlags::IN, until).map_err(AskError::Gone)?;
        // The deadline also ends a response whose packets never stop.
        if !is_ready || until.is_some_and(|until| until <= Instant::now()) {
            return Err(AskError::TimedOut(within));
        }
        if let Some(answer) = conversation.advance(&mut buffer)? {
            return Ok(answer);
        }
    }
}

/// Waits until a file descriptor is ready, and returns `true` if it is; `false` after the deadline. Without a
/// deadline, waits as long as necessary.
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

/// Returns the time left until a deadline.
pub(super) fn left(until: Option<Instant>) -> Option<Timespec> {
    let left = until?.saturating_duration_since(Instant::now());
    Some(Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_not_reached_without_proc() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let address = |path: &str| address_in(Path::new(path), file.as_fd()).map(drop);
        address("/proc/self/fd").unwrap();
        let why = address("/nowhere/fd").unwrap_err().to_string();
        assert!(why.starts_with("/nowhere/fd: No such file or directory"), "{why}");
    }
}
