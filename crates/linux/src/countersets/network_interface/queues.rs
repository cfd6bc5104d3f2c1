//! Output queues of network interfaces, requested from the kernel over a netlink socket.

use std::os::fd::OwnedFd;
use std::time::Duration;

use perfset_core::NoValue;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use crate::clock::elapsed_ns;
use crate::provider::{Collection, CollectionCache, unavailable};
use crate::roots::Roots;
use crate::sources::rtnetlink::{Qdiscs, request};

/// Output queues of all network interfaces, requested from the kernel at most once per collection.
#[derive(Debug)]
pub(super) struct Queues {
    /// `true` if the network interfaces are those that this process sees, not those of another system's `/proc`.
    are_own: bool,
    socket: Option<OwnedFd>,
    buffer: Vec<u8>,
    qdiscs: Qdiscs,
    latest: CollectionCache<()>,
    /// Sequence number of the last netlink request to the kernel.
    number: u32,
}

impl Queues {
    /// Maximum size of a netlink datagram that the kernel sends, in bytes.
    const BUFFER: usize = 32 << 10;
    /// Maximum time to wait for one netlink datagram and for the whole response. The kernel responds at once.
    const PATIENCE: Duration = Duration::from_secs(1);
    const PATIENCE_NS: u64 = 1_000_000_000;

    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            are_own: roots.are_own(),
            socket: None,
            buffer: Vec::new(),
            qdiscs: Qdiscs::default(),
            latest: CollectionCache::default(),
            number: 0,
        }
    }

    /// Returns the number of packets that wait to be sent by a network interface.
    pub(super) fn waiting(&mut self, ifindex: Option<u32>, pass: &mut Collection) -> Result<u64, NoValue> {
        if !self.are_own {
            return Err(unavailable(
                "queues can be asked only of the kernel itself, not below another root than /proc",
            ));
        }
        let Self { socket, buffer, qdiscs, latest, number, .. } = self;
        latest.get(pass, |pass| {
            // A socket whose request failed may contain stale responses: it is replaced.
            let used = match socket.take() {
                Some(used) => used,
                None => open().map_err(|errno| failed(&errno))?,
            };
            *number = number.wrapping_add(1);
            ask(&used, *number, buffer, qdiscs, pass)?;
            *socket = Some(used);
            Ok(())
        })?;
        let ifindex =
            ifindex.ok_or_else(|| unavailable("its number is not known, which its queue goes by"))?;
        qdiscs.waiting(ifindex).ok_or_else(|| unavailable("it has no queue at the moment: it is down"))
    }
}

fn open() -> Result<OwnedFd, Errno> {
    const ROUTE: Option<Protocol> = None; // number 0
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, ROUTE)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(Queues::PATIENCE))?;
    Ok(socket)
}

fn ask(
    socket: &OwnedFd,
    number: u32,
    buffer: &mut Vec<u8>,
    qdiscs: &mut Qdiscs,
    pass: &mut Collection,
) -> Result<(), NoValue> {
    buffer.resize(Queues::BUFFER, 0);
    qdiscs.clear();
    send(socket, &request(number), SendFlags::empty()).map_err(|errno| failed(&errno))?;
    // The timeout of the socket is that of one datagram. This limit is for a response that never ends.
    let started_ns = elapsed_ns();
    while elapsed_ns().saturating_sub(started_ns) < Queues::PATIENCE_NS {
        // With `TRUNC` the kernel returns the full length, so a datagram that did not fit is noticed.
        let len = match recv(socket, buffer.as_mut_slice(), RecvFlags::TRUNC) {
            Ok((_, len)) => len,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(failed(&errno)),
        };
        let Some(datagram) = buffer.get(..len) else { return Err(failed(&"an answer is too long")) };
        pass.count_bytes_read(len);
        if qdiscs.read(datagram, number).map_err(|error| failed(&error))? {
            return Ok(());
        }
    }
    Err(failed(&"the kernel does not end its answer"))
}

fn failed(why: &dyn std::fmt::Display) -> NoValue {
    NoValue::Failed(format!("queues over netlink: {why}").into())
}
