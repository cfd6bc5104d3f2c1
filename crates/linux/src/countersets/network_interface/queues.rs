//! What waits in front of network interfaces: asked of the kernel over a netlink socket.

use std::os::fd::OwnedFd;
use std::time::Duration;

use perfset_core::NoValue;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use crate::clock::elapsed_ns;
use crate::countersets::value::unavailable;
use crate::pass::{Latest, Pass};
use crate::roots::Roots;
use crate::sources::rtnetlink::{Qdiscs, request};

/// The queues of all interfaces, asked at most once a collection.
#[derive(Debug)]
pub(super) struct Queues {
    /// Whether the interfaces are those that this process sees.
    are_own: bool,
    socket: Option<OwnedFd>,
    buffer: Vec<u8>,
    qdiscs: Qdiscs,
    latest: Latest<()>,
    /// Of the last request.
    number: u32,
}

impl Queues {
    /// The kernel fills datagrams of up to so many bytes.
    const BUFFER: usize = 32 << 10;
    /// It answers at once; nobody waits longer than this, for a single datagram or for all.
    const PATIENCE: Duration = Duration::from_secs(1);
    const PATIENCE_NS: u64 = 1_000_000_000;

    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            are_own: roots.are_own(),
            socket: None,
            buffer: Vec::new(),
            qdiscs: Qdiscs::default(),
            latest: Latest::default(),
            number: 0,
        }
    }

    /// Packets that wait to be sent by an interface.
    pub(super) fn waiting(&mut self, ifindex: Option<u32>, pass: &mut Pass) -> Result<u64, NoValue> {
        if !self.are_own {
            return Err(unavailable(
                "queues can be asked only of the kernel itself, not below another root than /proc",
            ));
        }
        let Self { socket, buffer, qdiscs, latest, number, .. } = self;
        latest.get(pass, |pass| {
            // One that failed may have answers left that nobody waits for any more.
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
    pass: &mut Pass,
) -> Result<(), NoValue> {
    buffer.resize(Queues::BUFFER, 0);
    qdiscs.clear();
    send(socket, &request(number), SendFlags::empty()).map_err(|errno| failed(&errno))?;
    let started_ns = elapsed_ns();
    while elapsed_ns().saturating_sub(started_ns) < Queues::PATIENCE_NS {
        let len = match recv(socket, buffer.as_mut_slice(), RecvFlags::TRUNC) {
            Ok((_, len)) => len,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(failed(&errno)),
        };
        let Some(datagram) = buffer.get(..len) else { return Err(failed(&"an answer is too long")) };
        pass.bytes_read = pass.bytes_read.saturating_add(len);
        if qdiscs.read(datagram, number).map_err(|error| failed(&error))? {
            return Ok(());
        }
    }
    Err(failed(&"the kernel does not end its answer"))
}

fn failed(why: &dyn std::fmt::Display) -> NoValue {
    NoValue::Failed(format!("queues over netlink: {why}").into())
}
