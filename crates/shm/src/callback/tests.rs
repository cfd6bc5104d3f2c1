//! Tests of both sides of a publisher's socket, each with a correct and with a misbehaving other side.

use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use perfset_core::v2::identity;
use perfset_core::{CounterFilter, Guid, InstanceId, InstanceIdFilter};
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, accept, bind, connect, listen, send, socket_with,
};

use super::*;
use crate::folder::Folders;
use crate::layout::header;
use crate::publish::Publisher;

const LONG: Duration = Duration::from_secs(30);

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn entry(machine: &str, name: Option<&str>) -> Vec<u8> {
    let mut about = Vec::new();
    let (counter, id) = (CounterFilter::One(CounterId(7)), InstanceIdFilter::One(InstanceId(11)));
    let guid = Guid::from_u128(0x0102_0304);
    let name = name.map(units);
    identity::write(&mut about, guid, counter, id, &units(machine), name.as_deref());
    about
}

fn machine(name: &str) -> Vec<u8> {
    units(name).iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()).collect()
}

fn about(what: RequestCode) -> Vec<u8> {
    if what.is_of_entry() { entry("HOST1", Some("*")) } else { machine("HOST1") }
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("perfset-callback-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    folder
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[test]
fn requests_there_and_back() {
    for (number, what) in RequestCode::ALL {
        assert_eq!((RequestCode::from_wire(number), what.to_wire()), (Some(what), number));
        let about = about(what);
        let packet = RequestMessage::new(what, &about).unwrap().encode();
        assert_eq!(packet[..8], [number.to_le_bytes(), [0; 4]].concat());
        let request = RequestMessage::decode(&packet).unwrap();
        assert_eq!((request.what(), request.body()), (what, &about[..]));
        assert_eq!(request.machine(), "HOST1");
        let entry = request.entry();
        assert_eq!(entry.is_some(), what.is_of_entry(), "{what:?}");
        if let Some(entry) = entry {
            assert_eq!(entry.counter(), CounterFilter::One(CounterId(7)));
            assert_eq!(entry.name().unwrap(), "*");
        }
    }
    for number in [0, 4, 7, 8, 9, 0x101, u32::MAX] {
        assert_eq!(RequestCode::from_wire(number), None);
    }
}

#[test]
fn invalid_requests_are_rejected() {
    for (_, what) in RequestCode::ALL {
        let packet = RequestMessage::new(what, &about(what)).unwrap().encode();
        for len in 0..packet.len() {
            assert!(RequestMessage::decode(&packet[..len]).is_err(), "{what:?}, {len} bytes");
        }
        for at in 0..packet.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut packet = packet.clone();
                packet[at] ^= flip;
                if let Ok(request) = RequestMessage::decode(&packet) {
                    assert_eq!(RequestMessage::decode(&request.encode()).unwrap().body(), request.body());
                }
            }
        }
        let longer = [&packet[..], &[0, 0]].concat();
        assert!(RequestMessage::decode(&longer).is_err(), "{what:?}");
    }
    let endless = machine(&"x".repeat(5000));
    for (name, what, about) in [
        ("no NUL", RequestCode::CollectStart, vec![b'H', 0]),
        ("half a unit", RequestCode::CollectStart, vec![b'H', 0, 0]),
        ("two names", RequestCode::CollectStart, [machine("A"), machine("B")].concat()),
        ("nothing", RequestCode::AddCounter, vec![]),
        ("two entries", RequestCode::AddCounter, [entry("A", None), entry("B", None)].concat()),
        ("too long", RequestCode::CollectEnd, endless),
    ] {
        assert!(RequestMessage::new(what, &about).is_err(), "{name}");
    }
    let longest = [&[6, 0, 0, 0, 0, 0, 0, 0][..], &machine(&"x".repeat(4091))].concat();
    assert_eq!(longest.len(), MOST_REQUEST);
    assert!(RequestMessage::decode(&longest).is_ok());
}

/// Returns this number of referenced values, of all kinds.
fn values(count: usize) -> Vec<ReferencedValue> {
    let value = |n: usize| match n % 3 {
        0 => None,
        1 => Some(RawValue::U32(u32::MAX - n as u32)),
        _ => Some(RawValue::U64(u64::MAX - n as u64)),
    };
    (0..count)
        .map(|n| ReferencedValue {
            sequence: 2 * n as u64,
            counter: CounterId(n as u32 + 1),
            value: value(n),
        })
        .collect()
}

fn decoded(packets: impl IntoIterator<Item = Vec<u8>>) -> Result<CallbackReply, MessageError> {
    let mut answer = CallbackReply::from(Status(77));
    let mut packets = packets.into_iter();
    while answer.decode(&packets.next().expect("another packet was announced"))? {}
    assert_eq!(packets.next(), None, "nothing follows the last one");
    Ok(answer)
}

#[test]
fn answers_there_and_back() {
    for (count, packets) in [(0, 1), (1, 1), (3, 1), (2730, 1), (2731, 2), (9000, 4)] {
        let answer = CallbackReply { status: Status(4211), values: values(count) };
        assert_eq!(answer.encode().count(), packets, "{count}");
        assert!(answer.encode().all(|packet| packet.len() <= MOST_PACKET));
        assert_eq!(decoded(answer.encode()).unwrap(), answer, "{count}");
    }
    let bytes: Vec<u8> = CallbackReply { status: Status(5), values: values(2) }.encode().flatten().collect();
    #[rustfmt::skip]
    assert_eq!(bytes, [
        5, 0, 0, 0,  0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0,  1, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0,
        2, 0, 0, 0, 0, 0, 0, 0,  2, 0, 0, 0,  4, 0, 0, 0,  0xFE, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0,
    ]);
}

#[test]
fn invalid_replies_are_rejected() {
    let packet = CallbackReply { status: Status(5), values: values(3) }.encode().next().unwrap();
    for len in 0..packet.len() {
        let is_good = len >= 8 && (len - 8) % 24 == 0;
        assert_eq!(CallbackReply::from(Status(0)).decode(&packet[..len]).is_ok(), is_good, "{len} bytes");
    }
    let with = |at: usize, byte: u8| {
        let mut packet = packet.clone();
        packet[at] = byte;
        CallbackReply::from(Status(0)).decode(&packet).is_ok()
    };
    assert!(with(8 + 12, 8) && !with(8 + 12, 2), "lengths of values");
    assert!(!with(8 + 24 + 20, 1), "a value of 4 bytes has no more");
    let mut full = CallbackReply { status: Status(0), values: values(MOST_VALUES) };
    assert!(full.decode(&packet).is_err(), "it has as many values as it may");
    assert_eq!(full.values.len(), MOST_VALUES);
}

/// Creates a publisher in its own directory. Returns the publisher, its file and its socket.
fn publisher(folder: &Path) -> (Publisher, PathBuf, PathBuf) {
    let publisher = Publisher::in_folders(Folders::only(folder));
    let file = publisher.path().unwrap();
    let socket = file.with_extension("sock");
    (publisher, file, socket)
}

fn flags(file: &Path) -> u64 {
    let bytes = std::fs::read(file).unwrap();
    u64::from_ne_bytes(bytes[8 * header::FLAGS..][..8].try_into().unwrap())
}

#[test]
fn a_program_answers_as_long_as_it_likes() {
    let folder = scratch("answers");
    let (publisher, file, socket) = publisher(&folder);
    assert_eq!((flags(&file), socket.exists()), (0, false));
    let (heard, hears) = mpsc::channel();
    let answer = move |request: RequestMessage<'_>| {
        heard.send((request.what(), request.body().to_vec())).unwrap();
        CallbackReply { status: Status(request.what().to_wire()), values: values(3000) }
    };
    let server = publisher.answer(answer).unwrap().unwrap();
    assert_eq!(flags(&file), header::HAS_SOCKET);
    let found = std::fs::metadata(&socket).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!((found.permissions().mode() & 0o777, found.uid()), (0o600, own_user()));
    for (number, what) in RequestCode::ALL {
        let about = about(what);
        let request = RequestMessage::new(what, &about).unwrap();
        let answer = ask(&socket, own_user(), &request, LONG).unwrap();
        assert_eq!(answer, CallbackReply { status: Status(number), values: values(3000) });
        assert_eq!(hears.recv().unwrap(), (what, about));
    }
    let about = machine("H");
    let request = RequestMessage::new(RequestCode::CollectStart, &about).unwrap();
    let refused = ask(&socket, own_user() + 1, &request, LONG);
    assert!(matches!(refused, Err(AskError::Stranger(user)) if user == own_user()), "{refused:?}");
    drop(server);
    assert!(matches!(ask(&socket, own_user(), &request, LONG), Err(AskError::Gone(_))));
    assert!(hears.recv().is_err(), "nobody hears it any more");
    assert_eq!((flags(&file), socket.exists()), (0, false));
    let again = publisher.answer(|_| Status::ERROR_SUCCESS.into()).unwrap().unwrap();
    assert_eq!((flags(&file), socket.exists()), (header::HAS_SOCKET, true));
    drop((again, publisher));
    assert!(!socket.exists() && !file.exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn without_a_file_there_is_no_socket() {
    let publisher = Publisher::in_folders(Folders::only("/proc/nowhere"));
    assert!(publisher.answer(|_| CallbackReply::from(Status(0))).unwrap().is_none());
}

#[test]
fn dead_files_go_with_their_sockets() {
    let folder = scratch("dead");
    for name in ["7-0123456789abcdef.pfs", "7-0123456789abcdef.sock", "8-1.other"] {
        std::fs::write(folder.join(name), "").unwrap();
    }
    drop(publisher(&folder));
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["8-1.other"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_path_may_be_longer_than_an_address() {
    let folder = scratch("long");
    let deep = folder.join("x".repeat(150));
    std::fs::create_dir(&deep).unwrap();
    let (publisher, _, socket) = publisher(&deep);
    let _server = publisher.answer(|_| CallbackReply::from(Status(7))).unwrap().unwrap();
    let about = machine("H");
    let request = RequestMessage::new(RequestCode::CollectEnd, &about).unwrap();
    assert_eq!(ask(&socket, own_user(), &request, LONG).unwrap().status, Status(7));
    drop((_server, publisher));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Connects to a publisher's socket as a client that may misbehave.
fn connection(socket: &Path) -> OwnedFd {
    let connection =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    connect(&connection, &address(socket).unwrap().0).unwrap();
    connection
}

fn receive(connection: &OwnedFd) -> Vec<u8> {
    let mut buffer = vec![0; MOST_PACKET];
    let (len, _) = rustix::net::recv(connection, &mut *buffer, rustix::net::RecvFlags::empty()).unwrap();
    buffer.truncate(len);
    buffer
}

#[test]
fn clients_that_misbehave_harm_nobody() {
    let folder = scratch("clients");
    let (publisher, _, socket) = publisher(&folder);
    let (heard, hears) = mpsc::channel();
    let answer = move |request: RequestMessage<'_>| {
        heard.send(request.what()).unwrap();
        CallbackReply::from(Status(3))
    };
    let server = publisher.answer(answer).unwrap().unwrap();
    let silent: Vec<_> = (0..20).map(|_| connection(&socket)).collect();
    drop(connection(&socket)); // ends at once
    let about = machine("H");
    let request = RequestMessage::new(RequestCode::CollectStart, &about).unwrap();
    let good = request.encode();
    for (name, packet) in [
        ("short", vec![5, 0, 0]),
        ("undefined", vec![4, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("too long", [&good[..8], &machine(&"x".repeat(4092))[..]].concat()),
        ("much too long", vec![5; 100_000]),
    ] {
        let connection = connection(&socket);
        send(&connection, &packet, SendFlags::NOSIGNAL).unwrap();
        assert_eq!(receive(&connection), [87, 0, 0, 0, 0, 0, 0, 0], "{name}");
        assert_eq!(receive(&connection), [], "{name}: it is ended");
    }
    assert_eq!(ask(&socket, own_user(), &request, LONG).unwrap().status, Status(3));
    assert_eq!(hears.try_iter().count(), 1, "only what is a request is heard");
    // Asks, and does not wait.
    let hasty = connection(&socket);
    send(&hasty, &good, SendFlags::NOSIGNAL).unwrap();
    drop(hasty);
    assert_eq!(hears.recv().unwrap(), RequestCode::CollectStart);
    // Silent ones are left in the end.
    for connection in &silent {
        assert_eq!(receive(connection), []);
    }
    drop((server, publisher));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_server_ends_when_its_answer_is_made() {
    let folder = scratch("ends");
    let (publisher, _, socket) = publisher(&folder);
    let (entered, inside) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let (done, is_done) = mpsc::channel();
    let answer = move |_: RequestMessage<'_>| {
        entered.send(()).unwrap();
        goes.recv().unwrap();
        done.send(()).unwrap();
        CallbackReply::from(Status(9))
    };
    let server = publisher.answer(answer).unwrap().unwrap();
    let about = machine("H");
    let request = RequestMessage::new(RequestCode::EnumInstances, &about).unwrap();
    let late = ask(&socket, own_user(), &request, Duration::from_millis(1));
    assert!(matches!(late, Err(AskError::TimedOut(_))), "{late:?}");
    inside.recv().unwrap();
    std::thread::scope(|scope| {
        let ended = scope.spawn(move || {
            drop(server);
            is_done.try_recv().is_ok()
        });
        go.send(()).unwrap();
        assert!(ended.join().unwrap(), "it did not wait");
    });
    drop(publisher);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_answer_may_end_its_own_server() {
    let folder = scratch("itself");
    let (publisher, _, socket) = publisher(&folder);
    let (give, given) = mpsc::channel::<Server>();
    let answer = move |_: RequestMessage<'_>| {
        drop(given.recv().unwrap());
        CallbackReply::from(Status(9))
    };
    give.send(publisher.answer(answer).unwrap().unwrap()).unwrap();
    let about = machine("H");
    let request = RequestMessage::new(RequestCode::CollectStart, &about).unwrap();
    assert_eq!(ask(&socket, own_user(), &request, LONG).unwrap().status, Status(9), "its last one");
    drop(publisher);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Returns a client's result if `serve` handles its connection in place of a publisher.
fn asked_of(name: &str, serve: impl FnOnce(OwnedFd) + Send) -> Result<CallbackReply, AskError> {
    let folder = scratch(name);
    let socket = folder.join("7-0123456789abcdef.sock");
    let listener =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    bind(&listener, &address(&socket).unwrap().0).unwrap();
    listen(&listener, 1).unwrap();
    let about = entry("HOST1", None);
    let request = RequestMessage::new(RequestCode::Values, &about).unwrap();
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| serve(accept(&listener).unwrap()));
        let before = Instant::now();
        let answer = ask(&socket, own_user(), &request, Duration::from_millis(300));
        assert!(before.elapsed() < LONG);
        answer
    });
    std::fs::remove_dir_all(folder).unwrap();
    answer
}

#[test]
fn servers_that_misbehave_are_left() {
    let until_left = |connection: &OwnedFd| {
        wait_for_end(connection);
    };
    let silent = asked_of("silent", |connection| until_left(&connection));
    assert!(matches!(silent, Err(AskError::TimedOut(_))), "{silent:?}");
    let closing = asked_of("closing", drop);
    assert!(matches!(closing, Err(AskError::Gone(_))), "{closing:?}");
    for (name, packet) in [
        ("short", vec![0, 0, 0, 0, 0, 0, 0]),
        ("odd", vec![0; 9]),
        ("huge", vec![0; 100_000]),
        ("undefined", [[0; 20], [3; 20]].concat()[..32].to_vec()),
    ] {
        let damaged = asked_of(name, |connection| {
            let _ = send(&connection, &packet, SendFlags::NOSIGNAL);
            until_left(&connection);
        });
        assert!(matches!(damaged, Err(AskError::Damaged(_))), "{name}: {damaged:?}");
    }
    let half = asked_of("half", |connection| {
        let _ = send(&connection, &[0, 0, 0, 0, 1, 0, 0, 0], SendFlags::NOSIGNAL);
    });
    assert!(matches!(half, Err(AskError::Gone(_))), "{half:?}");
    for (name, packet) in [
        ("endless", vec![0, 0, 0, 0, 1, 0, 0, 0]),
        ("flood", {
            let mut packet =
                CallbackReply { status: Status(0), values: values(2730) }.encode().next().unwrap();
            packet[4] = 1;
            packet
        }),
    ] {
        let endless =
            asked_of(name, |connection| while send(&connection, &packet, SendFlags::NOSIGNAL).is_ok() {});
        let is_left = matches!(endless, Err(AskError::TimedOut(_) | AskError::Damaged(_)));
        assert!(is_left, "{name}: {endless:?}");
    }
    let nobody = scratch("nobody");
    let about = machine("H");
    let request = RequestMessage::new(RequestCode::CollectStart, &about).unwrap();
    let socket = nobody.join("7-0123456789abcdef.sock");
    assert!(matches!(ask(&socket, own_user(), &request, LONG), Err(AskError::Gone(_))));
    std::fs::write(&socket, "").unwrap();
    assert!(matches!(ask(&socket, own_user(), &request, LONG), Err(AskError::Gone(_))));
    std::fs::remove_dir_all(nobody).unwrap();
}

/// Checks that no connection is made to a link in place of the socket, or to a socket of another user.
#[test]
fn only_a_socket_of_the_owner_is_connected_to() {
    let folder = scratch("link");
    let [socket, link, file, fifo] =
        ["victim.sock", "link.sock", "file.sock", "fifo.sock"].map(|name| folder.join(name));
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    bind(&listener, &address(&socket).unwrap().0).unwrap();
    listen(&listener, 9).unwrap();
    std::os::unix::fs::symlink(&socket, &link).unwrap();
    std::fs::write(&file, "").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let about = machine("H");
    let request = RequestMessage::new(RequestCode::CollectStart, &about).unwrap();
    let asked = |path: &Path| ask(path, own_user(), &request, Duration::from_millis(50));
    for (path, expected) in [
        (&link, "the path is a symbolic link, not a socket"),
        (&file, "the path is not a socket"),
        (&fifo, "the path is not a socket"),
    ] {
        match asked(path) {
            Err(AskError::Gone(why)) => assert_eq!(why.to_string(), expected),
            other => panic!("{other:?}"),
        }
    }
    if own_user() == 0 {
        std::os::unix::fs::chown(&socket, Some(65_534), None).unwrap();
        let of_other = asked(&socket);
        assert!(matches!(of_other, Err(AskError::Stranger(65_534))), "{of_other:?}");
        std::os::unix::fs::chown(&socket, Some(0), None).unwrap();
    }
    assert_eq!(accept(&listener).unwrap_err(), rustix::io::Errno::AGAIN, "no connection was made");
    assert!(matches!(asked(&socket), Err(AskError::TimedOut(_))));
    accept(&listener).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

/// Reads from a connection until the process at its other end closes the connection.
fn wait_for_end(connection: &OwnedFd) {
    let mut buffer = [0; 16_384];
    while rustix::net::recv(connection, &mut buffer, rustix::net::RecvFlags::empty())
        .is_ok_and(|(len, _)| len > 0)
    {}
}

#[test]
fn users_at_the_other_end() {
    let (one, other) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .unwrap();
    assert_eq!(user_at_the_other_end(one.as_fd()).unwrap(), own_user());
    assert_eq!(user_at_the_other_end(other.as_fd()).unwrap(), own_user());
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(user_at_the_other_end(file.as_fd()).is_err());
}
