//! Asking the program behind a file: its control callback, and its values by reference.
//!
//! A program that has one of both listens on a socket of packets (`SOCK_SEQPACKET`) beside its file, `PID-RANDOM.sock`
//! beside `PID-RANDOM.pfs`, and the file's header has the flag [`HAS_SOCKET`](crate::layout::header::HAS_SOCKET), from
//! its birth or from some change on. It answers its own user and root; who asks makes sure that the file's owner
//! answers. One connection is one request and its answer. Numbers are little-endian.
//!
//! A request is one packet of at most [`MOST_REQUEST`] bytes:
//!
//! | at | | |
//! |---|---|---|
//! | 0 | u32 | [what](What) is asked |
//! | 4 | u32 | 0; ignored |
//! | 8 | | about what: PERF_COUNTER_IDENTITY, or the name of the machine with its NUL, in UTF-16 |
//!
//! An answer is one packet or several, of at most [`MOST_PACKET`] bytes:
//!
//! | at | | |
//! |---|---|---|
//! | 0 | u32 | a [`Status`]; that of the last packet counts |
//! | 4 | u32 | 0: the last packet; else another one follows |
//! | 8 | | values by reference, 24 bytes each |
//!
//! | at | of a value | |
//! |---|---|---|
//! | 0 | u64 | of which instance: its sequence word in the file |
//! | 8 | u32 | of which counter |
//! | 12 | u32 | how many bytes it has: 4 or 8; 0: there is none, the program has no address for it |
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

/// What sockets are named instead of `.pfs`.
pub(crate) const EXTENSION: &str = "sock";
/// Bytes that a request may have: two names of 1,024 units fit.
pub const MOST_REQUEST: usize = 8192;
/// Bytes that a packet of an answer may have.
pub const MOST_PACKET: usize = 65_536;
/// Values that an answer may have.
pub const MOST_VALUES: usize = 1 << 20;

/// What is asked of a program. Up to 6 they are the requests of a control callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// May this entry be added to a query?
    #[doc(alias = "PERF_ADD_COUNTER")]
    AddCounter,
    /// This entry is no longer in a query.
    #[doc(alias = "PERF_REMOVE_COUNTER")]
    RemoveCounter,
    /// Instances are about to be listed.
    #[doc(alias = "PERF_ENUM_INSTANCES")]
    EnumInstances,
    /// Values are about to be read.
    #[doc(alias = "PERF_COLLECT_START")]
    CollectStart,
    /// Values were read.
    #[doc(alias = "PERF_COLLECT_END")]
    CollectEnd,
    /// The values that counters of instances refer to. This goes to no callback.
    Values,
}

impl What {
    const ALL: [(u32, Self); 6] = [
        (1, Self::AddCounter),
        (2, Self::RemoveCounter),
        (3, Self::EnumInstances),
        (5, Self::CollectStart),
        (6, Self::CollectEnd),
        (0x100, Self::Values),
    ];

    /// From the number in a request.
    #[must_use]
    pub fn from_wire(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == number).map(|(_, what)| what)
    }

    /// The number in a request.
    #[must_use]
    pub fn to_wire(self) -> u32 {
        Self::ALL.into_iter().find(|(_, known)| *known == self).map_or(0, |(number, _)| number)
    }

    /// Whether it is about an entry, and not about a machine.
    fn is_of_entry(self) -> bool {
        matches!(self, Self::AddCounter | Self::RemoveCounter | Self::Values)
    }
}

/// A message is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadMessage {
    /// It ends too early, or a structure in it is damaged.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It asks for something that is not defined.
    #[error("it asks for {0}, which is not defined")]
    What(u32),
    /// Something else.
    #[error("{0}")]
    Other(&'static str),
}

/// A request, checked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    what: What,
    about: &'a [u8],
    entry: Option<CounterIdentity<'a>>,
    machine: Name<'a>,
}

impl<'a> Request<'a> {
    /// A request about that: a PERF_COUNTER_IDENTITY, or the name of a machine with its NUL.
    ///
    /// # Errors
    /// If it is not that.
    pub fn new(what: What, about: &'a [u8]) -> Result<Self, BadMessage> {
        if about.len() > MOST_REQUEST.saturating_sub(HEADER) {
            return Err(BadMessage::Other("it is about more than fits into a request"));
        }
        if what.is_of_entry() {
            let mut identities = Identities::new(about);
            let identity = identities.next().ok_or(BadMessage::Other("it is about nothing"))??;
            if identities.next().is_some() {
                return Err(BadMessage::Other("more follows the PERF_COUNTER_IDENTITY"));
            }
            return Ok(Self { what, about, entry: Some(identity), machine: identity.machine() });
        }
        let machine = Name::until_nul(about);
        // The NUL, and nothing behind it.
        if about.len() != machine.as_bytes().len().saturating_add(2) {
            return Err(BadMessage::Other("the machine's name does not end at the end"));
        }
        Ok(Self { what, about, entry: None, machine })
    }

    /// The request in a packet.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(packet: &'a [u8]) -> Result<Self, BadMessage> {
        let mut packet = Cursor::new(packet);
        let number = packet.read::<U32>("number of a request")?.get();
        packet.read::<U32>("reserved part of a request")?;
        let what = What::from_wire(number).ok_or(BadMessage::What(number))?;
        Self::new(what, packet.rest())
    }

    /// The packet that says so.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [&self.what.to_wire().to_le_bytes(), &[0; 4], self.about].concat()
    }

    /// What is asked.
    #[must_use]
    pub fn what(&self) -> What {
        self.what
    }

    /// About what, as bytes: what a control callback is given behind its WNODE_HEADER.
    #[must_use]
    pub fn about(&self) -> &'a [u8] {
        self.about
    }

    /// Which entry it is about, if it is about one.
    #[must_use]
    pub fn entry(&self) -> Option<CounterIdentity<'a>> {
        self.entry
    }

    /// The machine that is asked.
    #[must_use]
    pub fn machine(&self) -> Name<'a> {
        self.machine
    }
}

/// Bytes before the rest of a packet, in both directions.
const HEADER: usize = 8;
/// Bytes of a value in an answer.
const VALUE: usize = 24;

/// What a program answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What its callback returned.
    pub status: Status,
    /// Values by reference.
    pub values: Vec<Referenced>,
}

/// A value that a counter of an instance refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referenced {
    /// The instance's sequence word.
    pub sequence: u64,
    /// The counter.
    pub counter: CounterId,
    /// The value; none if the program has no address for it.
    pub value: Option<RawValue>,
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        Self { status, values: Vec::new() }
    }
}

impl Answer {
    /// Its packets; of more values than an answer may have, the first.
    pub fn encode(&self) -> impl Iterator<Item = Vec<u8>> {
        const A_PACKET: usize = (MOST_PACKET - HEADER) / VALUE;
        let mut left = self.values.get(..MOST_VALUES).unwrap_or(&self.values);
        let mut is_first = true;
        std::iter::from_fn(move || {
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

    /// Takes the next packet; whether another one follows.
    ///
    /// # Errors
    /// If it is no packet of an answer.
    pub fn decode(&mut self, packet: &[u8]) -> Result<bool, BadMessage> {
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
                _ => return Err(BadMessage::Other("a value has other than 4 or 8 bytes")),
            };
            if self.values.len() >= MOST_VALUES {
                return Err(BadMessage::Other("it has too many values"));
            }
            self.values.push(Referenced { sequence, counter, value });
        }
        Ok(!is_last)
    }
}

/// A socket's address, and what must stay open while it is used: paths of sockets must be short, others go by way of
/// their folder.
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

/// The user at the other end, as it was when the connection was made, or listening began.
fn user_at_the_other_end(socket: BorrowedFd<'_>) -> io::Result<u32> {
    #![expect(unsafe_code, reason = "that of rustix takes a process of another namespace for one with a pid")]
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let size = size_of_val(&found);
    let mut len = libc::socklen_t::try_from(size).unwrap_or(0);
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    let to = (&raw mut found).cast();
    // SAFETY: the descriptor is open, and `to` has room for `len` bytes, any of which make a `ucred`.
    let failed = unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, to, &raw mut len) } == -1;
    match failed {
        true => Err(io::Error::last_os_error()),
        false if usize::try_from(len) == Ok(size) => Ok(found.uid),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}
