//! Publisher side of the socket: one thread, which sleeps while there are no requests.

use std::fmt;
use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use perfset_core::Status;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with, bind, listen, recv,
    send, shutdown, socket_with,
};

use super::ask::{left, wait};
use super::{CallbackReply, MOST_REQUEST, RequestMessage, address, user_at_the_other_end};
use crate::fork;

/// Maximum time that a client of the publisher's socket may be connected without a request, and maximum time to
/// receive the response.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of simultaneous connections to the publisher's socket; further clients wait.
const MOST_PEERS: usize = 64;

/// Server of a publisher's socket, which responds to readers until it is dropped. Dropping waits for a response that
/// is being prepared.
#[derive(Debug)]
pub struct Server {
    running: ManuallyDrop<Running>,
    /// Fork generation of the process that started the server: a forked child has neither its thread nor its socket.
    generation: u64,
}

struct Running {
    listener: Arc<OwnedFd>,
    thread: JoinHandle<()>,
    path: PathBuf,
    ended: Box<dyn FnOnce() + Send + Sync>,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Server {
    /// Starts a server that listens on a new socket. `ended` is called when the server stops.
    pub(crate) fn start(
        path: PathBuf,
        answer: impl FnMut(RequestMessage<'_>) -> CallbackReply + Send + 'static,
        ended: impl FnOnce() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        fchmod(&listener, Mode::RUSR | Mode::WUSR)?; // that of the name that it is about to get
        // A socket address has 108 bytes, so a long path goes through the descriptor of its directory.
        let (address, folder) = address(&path)?;
        bind(&listener, &address)?;
        drop(folder);
        let generation = fork::generation();
        let backlog = i32::try_from(MOST_PEERS).unwrap_or(i32::MAX);
        listen(&listener, backlog)?;
        let listener = Arc::new(listener);
        // A child with the listener would take connections that no thread of it serves.
        fork::close_in_child(listener.as_fd());
        let of_thread = Arc::clone(&listener);
        let thread = without_signals(|| {
            let builder = std::thread::Builder::new().name("perfset-control".into());
            builder.spawn(move || serve(&of_thread, generation, answer))
        });
        match thread {
            Ok(thread) => {
                let running = Running { listener, thread, path, ended: Box::new(ended) };
                Ok(Self { running: ManuallyDrop::new(running), generation })
            }
            Err(error) => {
                fork::is_closed(listener.as_fd());
                let _ = std::fs::remove_file(path); // the error is what matters
                Err(error)
            }
        }
    }

    /// Returns `true` if this process was forked after the server was started, so that this process has no thread of
    /// the server.
    #[must_use]
    pub fn is_anothers(&self) -> bool {
        self.generation != fork::generation()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.is_anothers() {
            return; // its descriptor was closed, and may be another's now
        }
        #[expect(unsafe_code, reason = "to forget it in a child")]
        // SAFETY: it is taken only here, and not used afterwards.
        let Running { listener, thread, path, ended } = unsafe { ManuallyDrop::take(&mut self.running) };
        // The flag in the header first: readers should not connect any more.
        ended();
        let _ = std::fs::remove_file(path); // it may be gone, with the file that it was beside
        let _ = shutdown(&*listener, Shutdown::Both); // the thread's sign to end
        // If the server is dropped inside its own `answer` function, the thread ends after that call.
        if thread.thread().id() != std::thread::current().id() {
            let _ = thread.join(); // if it panicked it said so
        }
        fork::is_closed(listener.as_fd());
    }
}

struct Peer {
    connection: OwnedFd,
    until: Instant,
}

fn serve(listener: &OwnedFd, generation: u64, mut answer: impl FnMut(RequestMessage<'_>) -> CallbackReply) {
    // If too many files are open, connections are accepted again only after a delay.
    let mut accepts_from = Instant::now();
    let mut peers: Vec<Peer> = Vec::new();
    loop {
        let now = Instant::now();
        peers.retain(|peer| peer.until > now);
        // Clients beyond the limit wait in the backlog of the kernel, and get an error there when it is full.
        let accepts = peers.len() < MOST_PEERS && accepts_from <= now;
        let again = (accepts_from > now).then_some(accepts_from);
        let until = peers.iter().map(|peer| peer.until).chain(again).min();
        let wanted = if accepts { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(listener, wanted)];
        fds.extend(peers.iter().map(|peer| PollFd::new(&peer.connection, PollFlags::IN)));
        match poll(&mut fds, left(until).as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return, // no memory
        }
        let mut found = fds.iter().map(PollFd::revents);
        let of_listener = found.next().unwrap_or(PollFlags::HUP);
        // One request at a time, the oldest connection first: a response may take long, and clients that connect
        // meanwhile are next.
        let ready = found.position(|found| !found.is_empty());
        drop(fds);
        if of_listener.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return; // it was shut down
        }
        if of_listener.contains(PollFlags::IN) {
            match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                // Only root and this user, whatever the mode of the socket has become.
                Ok(connection) if is_trusted(&connection) => {
                    let until = now.checked_add(PATIENCE).unwrap_or(now);
                    peers.push(Peer { connection, until });
                }
                Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => {}
                Err(Errno::INVAL) => return, // it was shut down
                // Without a pause, `poll` would return at once and this thread would use a whole processor.
                Err(_) => accepts_from = now.checked_add(Duration::from_millis(100)).unwrap_or(now),
            }
        }
        if let Some(ready) = ready.filter(|ready| *ready < peers.len()) {
            let began = Instant::now();
            respond(&peers.remove(ready).connection, &mut answer, generation);
            // The other connections were not read meanwhile, so their deadlines move.
            for peer in &mut peers {
                peer.until = peer.until.checked_add(began.elapsed()).unwrap_or(peer.until);
            }
            if fork::generation() != generation {
                return; // the answer forked, and this is the child
            }
        }
    }
}

/// Returns `true` if the process at the other end of a client's connection runs as this user or as root.
fn is_trusted(connection: &OwnedFd) -> bool {
    let own = rustix::process::geteuid().as_raw();
    user_at_the_other_end(connection.as_fd()).is_ok_and(|user| user == own || user == 0)
}

/// Reads one request of a client and responds to it. The request is handled even if the client no longer waits for
/// the response: a client that adds an entry removes it later, and a publisher may count both.
fn respond(
    connection: &OwnedFd,
    answer: &mut impl FnMut(RequestMessage<'_>) -> CallbackReply,
    generation: u64,
) {
    let mut buffer = [MaybeUninit::uninit(); MOST_REQUEST];
    // `TRUNC` returns the real length, so a request that is too long is refused, not cut.
    let Ok(((packet, _), len)) = recv(connection, &mut buffer, RecvFlags::TRUNC) else { return };
    if len == 0 {
        return;
    }
    let answer = match RequestMessage::decode(packet) {
        Ok(request) if len == packet.len() => answer(request),
        _ => CallbackReply::from(Status::ERROR_INVALID_PARAMETER),
    };
    if fork::generation() != generation {
        return; // the parent answers
    }
    let until = Instant::now().checked_add(PATIENCE);
    for packet in answer.encode() {
        loop {
            match send(connection, &packet, SendFlags::NOSIGNAL) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                // The client has not read the packets before. It has a second, because others wait meanwhile.
                Err(Errno::AGAIN) => {
                    if !wait(connection.as_fd(), PollFlags::OUT, until).unwrap_or(false) {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }
}

/// Runs `start` with all signals blocked, so that a thread it starts receives no signal of the program.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    #![expect(unsafe_code, reason = "std has no masks of signals")]
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: valid memory for a signal set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: a set that was filled above, and valid memory for the previous set.
    let masked = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) } == 0;
    let started = start();
    if masked {
        // SAFETY: the set that the call above stored.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    }
    started
}
