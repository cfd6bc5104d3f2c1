//! Requests to the publisher of a file: control-callback requests, and values by reference.
//!
//! A publisher that has a control callback or values by reference listens on a packet socket (`SOCK_SEQPACKET`). The
//! socket is next to its file: `PID-RANDOM.sock` beside `PID-RANDOM.pfs`. The file's header then has the flag
//! [`HAS_SOCKET`](crate::layout::header::HAS_SOCKET), which can also be set after creation. A publisher responds to
//! its own user and root; the client checks that the file's owner responds. One connection carries one request and
//! its response. Numbers are little-endian.
//!
//! A request is one packet of at most [`MOST_REQUEST`] bytes:
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | request code ([`RequestCode`]) |
//! | 4 | u32 | 0; ignored |
//! | 8 | | subject: PERF_COUNTER_IDENTITY, or the name of the machine with its NUL, in UTF-16 |
//!
//! A response is one or more packets of at most [`MOST_PACKET`] bytes:
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | [`Status`]; only that of the last packet is used |
//! | 4 | u32 | 0 in the last packet; otherwise another packet follows |
//! | 8 | | values by reference, 24 bytes each |
//!
//! | offset | type | meaning, for one value |
//! |---|---|---|
//! | 0 | u64 | sequence word of the instance in the file |
//! | 8 | u32 | id of the counter |
//! | 12 | u32 | size in bytes: 4 or 8; 0 if there is no value because the publisher has no address for it |
//! | 16 | u64 | the value |

mod ask;
mod serve;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use perfset_core::v2::identity::{CounterIdentity, Identities};
use perfset_core::wire::{Cursor, WireError};
use perfset_core::{CounterId, Name, RawValue, Status};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;
use thiserror::Error;
use zerocopy::little_endian::{U32, U64};

pub(crate) use ask::Conversation;
pub use ask::{AskError, ask};
pub use serve::Server;

/// File extension of publishers' sockets, in place of `pfs`.
pub(crate) const EXTENSION: &str = "sock";
/// Maximum size in bytes of a request to a publisher: two names of 1,024 UTF-16 units fit.
pub const MOST_REQUEST: usize = 8192;
/// Maximum size in bytes of a packet of a publisher's response.
pub const MOST_PACKET: usize = 65_536;
/// Maximum number of values in a publisher's response.
pub const MOST_VALUES: usize = 1 << 20;

/// Code of a request to a publisher. Codes up to 6 are those of a control callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestCode {
    /// Requests permission to add an entry to a query.
    #[doc(alias = "PERF_ADD_COUNTER")]
    AddCounter,
    /// Reports that an entry was removed from a query.
    #[doc(alias = "PERF_REMOVE_COUNTER")]
    RemoveCounter,
    /// Announces that instances of a counterset will be listed.
    #[doc(alias = "PERF_ENUM_INSTANCES")]
    EnumInstances,
    /// Announces that values of a counterset will be read.
    #[doc(alias = "PERF_COLLECT_START")]
    CollectStart,
    /// Reports that values of a counterset were read.
    #[doc(alias = "PERF_COLLECT_END")]
    CollectEnd,
    /// Requests the values that counters of instances refer to. Never passed to the control callback.
    Values,
}

impl RequestCode {
    // `perflib.h` defines no code 4. The own code is far above its numbers, because Microsoft may add some.
    const ALL: [(u32, Self); 6] = [
        (1, Self::AddCounter),
        (2, Self::RemoveCounter),
        (3, Self::EnumInstances),
        (5, Self::CollectStart),
        (6, Self::CollectEnd),
        (0x100, Self::Values),
    ];

    /// Converts the number in a request to its request code; `None` if it is not defined.
    #[must_use]
    pub fn from_wire(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == number).map(|(_, what)| what)
    }

    /// Returns the number that stands for this code in a request.
    #[must_use]
    pub fn to_wire(self) -> u32 {
        Self::ALL.into_iter().find(|(_, known)| *known == self).map_or(0, |(number, _)| number)
    }

    /// Returns `true` if the request concerns a query entry; `false` if it concerns a machine.
    fn is_of_entry(self) -> bool {
        matches!(self, Self::AddCounter | Self::RemoveCounter | Self::Values)
    }
}

/// Reason why a received request or response is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The message is truncated, or a structure in it is damaged.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The number in the request is not a defined request code.
    #[error("the request code {0} is not defined")]
    What(u32),
    /// Any other error in the message, described by the text.
    #[error("{0}")]
    Other(&'static str),
}

/// Request to a publisher, encoded in a packet and already validated.
#[derive(Clone, Copy, Debug)]
pub struct RequestMessage<'a> {
    what: RequestCode,
    about: &'a [u8],
    entry: Option<CounterIdentity<'a>>,
    machine: Name<'a>,
}

impl<'a> RequestMessage<'a> {
    /// Creates a request about an entry (a PERF_COUNTER_IDENTITY) or a machine (its name with the NUL).
    ///
    /// # Errors
    /// If `about` does not have the form that this request code needs.
    pub fn new(what: RequestCode, about: &'a [u8]) -> Result<Self, MessageError> {
        if about.len() > MOST_REQUEST.saturating_sub(HEADER) {
            return Err(MessageError::Other("the data do not fit into one request"));
        }
        if what.is_of_entry() {
            let mut identities = Identities::new(about);
            let none = MessageError::Other("the request contains no PERF_COUNTER_IDENTITY");
            let identity = identities.next().ok_or(none)??;
            if identities.next().is_some() {
                return Err(MessageError::Other("more follows the PERF_COUNTER_IDENTITY"));
            }
            return Ok(Self { what, about, entry: Some(identity), machine: identity.machine() });
        }
        let machine = Name::until_nul(about);
        // Nothing may follow the NUL.
        if about.len() != machine.as_bytes().len().saturating_add(2) {
            return Err(MessageError::Other("the machine's name does not end at the end of the request"));
        }
        Ok(Self { what, about, entry: None, machine })
    }

    /// Decodes the request to a publisher in a packet.
    ///
    /// # Errors
    /// If the packet is not a valid request.
    pub fn decode(packet: &'a [u8]) -> Result<Self, MessageError> {
        let mut packet = Cursor::new(packet);
        let number = packet.read::<U32>("number of a request")?.get();
        packet.read::<U32>("reserved part of a request")?;
        let what = RequestCode::from_wire(number).ok_or(MessageError::What(number))?;
        Self::new(what, packet.rest())
    }

    /// Encodes the request to a publisher as a packet.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [&self.what.to_wire().to_le_bytes(), &[0; 4], self.about].concat()
    }

    /// Returns the code of the request to a publisher.
    #[must_use]
    pub fn what(&self) -> RequestCode {
        self.what
    }

    /// Returns the subject of the request as bytes: the data that a control callback receives after its WNODE_HEADER.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.about
    }

    /// Returns the query entry that the request concerns, if it concerns one.
    #[must_use]
    pub fn entry(&self) -> Option<CounterIdentity<'a>> {
        self.entry
    }

    /// Returns the name of the machine that the request is for.
    #[must_use]
    pub fn machine(&self) -> Name<'a> {
        self.machine
    }
}

/// Size in bytes of the header of each request or response packet.
const HEADER: usize = 8;
/// Size in bytes of a value in a publisher's response.
const VALUE: usize = 24;

/// Response of a publisher to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackReply {
    /// Return value of the publisher's control callback.
    pub status: Status,
    /// Values that counters by reference have, if the request was for values.
    pub values: Vec<ReferencedValue>,
}

/// Value by reference: the value that a counter of an instance refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferencedValue {
    /// Sequence word of the instance that has the value.
    pub sequence: u64,
    /// Identifier of the counter that has the value.
    pub counter: CounterId,
    /// Raw value that the counter refers to; `None` if the publisher has no address for it.
    pub value: Option<RawValue>,
}

impl From<Status> for CallbackReply {
    fn from(status: Status) -> Self {
        Self { status, values: Vec::new() }
    }
}

impl CallbackReply {
    /// Encodes the response as packets. Values over [`MOST_VALUES`] are omitted.
    pub fn encode(&self) -> impl Iterator<Item = Vec<u8>> {
        const A_PACKET: usize = (MOST_PACKET - HEADER) / VALUE;
        let mut left = self.values.get(..MOST_VALUES).unwrap_or(&self.values);
        let mut is_first = true;
        std::iter::from_fn(move || {
            // A response without values is one packet too: it carries the status.
            if left.is_empty() && !is_first {
                return None;
            }
            is_first = false;
            let (now, then) = left.split_at_checked(A_PACKET).unwrap_or((left, &[]));
            left = then;
            let mut packet = Vec::new();
            packet.extend_from_slice(&self.status.0.to_le_bytes());
            packet.extend_from_slice(&u32::from(!then.is_empty()).to_le_bytes());
            for value in now {
                let (len, number) = match value.value {
                    None => (0, 0),
                    Some(RawValue::U32(number)) => (4_u32, number.into()),
                    Some(RawValue::U64(number)) => (8, number),
                };
                packet.extend_from_slice(&value.sequence.to_le_bytes());
                packet.extend_from_slice(&value.counter.0.to_le_bytes());
                packet.extend_from_slice(&len.to_le_bytes());
                packet.extend_from_slice(&number.to_le_bytes());
            }
            Some(packet)
        })
    }

    /// Decodes the next packet of the response. Returns `true` if another packet follows.
    ///
    /// # Errors
    /// If the packet is not part of a valid response.
    pub fn decode(&mut self, packet: &[u8]) -> Result<bool, MessageError> {
        let mut packet = Cursor::new(packet);
        self.status = Status(packet.read::<U32>("status of an answer")?.get());
        let is_last = packet.read::<U32>("mark of an answer")?.get() == 0;
        while !packet.is_empty() {
            let sequence = packet.read::<U64>("instance of a value")?.get();
            let counter = CounterId(packet.read::<U32>("counter of a value")?.get());
            let len = packet.read::<U32>("length of a value")?.get();
            let number = packet.read::<U64>("value")?.get();
            let value = match (len, u32::try_from(number)) {
                (0, _) => None,
                (4, Ok(number)) => Some(RawValue::U32(number)),
                (8, _) => Some(RawValue::U64(number)),
                _ => return Err(MessageError::Other("a value has other than 4 or 8 bytes")),
            };
            // Checked here too, because a hostile publisher does not keep the limit of `encode`.
            if self.values.len() >= MOST_VALUES {
                return Err(MessageError::Other("the response has too many values"));
            }
            self.values.push(ReferencedValue { sequence, counter, value });
        }
        Ok(!is_last)
    }
}

/// Returns the address of a publisher's socket, and the directory that must stay open while the address is used. A
/// socket path must be short, so longer ones are reached through their directory.
fn address(path: &Path) -> io::Result<(SocketAddrUnix, Option<OwnedFd>)> {
    match SocketAddrUnix::new(path) {
        Err(Errno::NAMETOOLONG) => {
            let (folder, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name());
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = open(folder, flags, Mode::empty())?;
            let by_folder = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string());
            let by_folder = by_folder.join(name.unwrap_or(OsStr::new("")));
            Ok((SocketAddrUnix::new(&by_folder)?, Some(folder)))
        }
        address => Ok((address?, None)),
    }
}

/// Returns the user ID of the process at the other end of a socket, as of the time when it connected or called
/// `listen`.
fn user_at_the_other_end(socket: BorrowedFd<'_>) -> io::Result<u32> {
    #![expect(unsafe_code, reason = "that of rustix takes a process of another namespace for one with a pid")]
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let size = size_of_val(&found);
    let mut len = libc::socklen_t::try_from(size).unwrap_or(0);
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    let to = (&raw mut found).cast();
    // SAFETY: the file descriptor is open, and `to` has room for `len` bytes, any of which make a `ucred`.
    let failed = unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, to, &raw mut len) } == -1;
    match failed {
        true => Err(io::Error::last_os_error()),
        false if usize::try_from(len) == Ok(size) => Ok(found.uid),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}
