//! Checks of the network countersets in a network namespace of its own, where nothing else happens. The countersets
//! are Network Interface, its Linux counterpart, Sockets, Linux TCP, Linux UDP, Linux IP, TCP States and Connection
//! Tracking.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::owned::Running;
use super::{finished, record};
use crate::repository::target;

/// Number of packets to send, and bytes of data in each: prime numbers, so that no other count is confused with them.
const SENT: (u64, u64) = (1_009, 1_013);
const RECEIVED: (u64, u64) = (757, 499);
/// Number of bytes that Ethernet, and IPv4 with UDP, put before the data of a packet.
const HEADERS: (u64, u64) = (14, 28);

/// Two network namespaces, joined by a pair of interfaces; removed when this value is dropped.
struct Pair {
    near: String,
    far: String,
}

const INTERFACE: &str = "perfset0";

impl Pair {
    fn new() -> Result<Self> {
        let name = |end| format!("perfset-{}-{end}", std::process::id());
        let pair = Self { near: name("near"), far: name("far") };
        let (near, far) = (pair.near.as_str(), pair.far.as_str());
        for namespace in [near, far] {
            ip(&["netns", "add", namespace]).context("needs root")?;
            // Only the traffic of the test is sent.
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
            finished(
                within(namespace, "sh")
                    .args(["-c", &format!("[ ! -d /proc/sys/net/ipv6 ] || {quiet}")])
                    .output()?,
            )?;
        }
        let queues = ["numtxqueues", "1", "numrxqueues", "1"];
        let ends = ["type", "veth", "peer", "name", INTERFACE, "netns", far];
        ip(&[&["-n", near, "link", "add", INTERFACE][..], &queues, &ends].concat())?;
        for (namespace, address, hardware, other) in [
            (near, "198.18.77.1/29", "02:00:00:00:00:01", "02:00:00:00:00:02"),
            (far, "198.18.77.2/29", "02:00:00:00:00:02", "02:00:00:00:00:01"),
        ] {
            ip(&["-n", namespace, "link", "set", INTERFACE, "address", hardware, "up"])?;
            ip(&["-n", namespace, "address", "add", address, "dev", INTERFACE])?;
            // Nobody has this address, and nobody has to ask where it is: the other end gets it and drops it.
            let neighbour = ["198.18.77.3", "lladdr", other, "nud", "permanent", "dev", INTERFACE];
            ip(&[&["-n", namespace, "neighbour", "add"][..], &neighbour].concat())?;
        }
        Ok(pair)
    }

    fn perfset(&self, paths: &[&str], more: &[&str]) -> Command {
        let mut command = within(&self.near, &target().join("release/perfset").to_string_lossy());
        command.arg("get").args(paths).args(more).args(["--format", "json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn raw(&self, paths: &[&str]) -> Result<Vec<u64>> {
        let output = self.perfset(paths, &["--raw"]).output().context("cannot start perfset")?;
        let records = record::parse(&finished(output)?, paths.len())?;
        records.iter().map(|record| Ok(record.raw()? as u64)).collect()
    }

    fn send(&self, namespace: &str, (packets, bytes): (u64, u64)) -> Result<()> {
        let program = format!(
            "import socket\n\
             s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
             s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)\n\
             for _ in range({packets}): s.sendto(bytes({bytes}), ('198.18.77.3', 4242))"
        );
        finished(within(namespace, "python3").args(["-c", &program]).output()?).map(drop)
    }

    fn load(&self) -> Result<()> {
        self.send(&self.near, SENT)?;
        self.send(&self.far, RECEIVED)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for namespace in [&self.near, &self.far] {
            let _ = ip(&["netns", "delete", namespace]); // it may not have come into being
        }
    }
}

pub fn ip(arguments: &[&str]) -> Result<String> {
    let output = Command::new("ip").args(arguments).output();
    finished(output.context("cannot start ip (Debian package iproute2)")?)
        .with_context(|| format!("ip {}", arguments.join(" ")))
}

fn within(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]).env("LC_ALL", "C");
    command
}

/// Runs a network tool in the namespace that perfset is tested in, and returns the tool's output.
fn peer(pair: &Pair, program: &str, arguments: &[&str]) -> Result<String> {
    let output = within(&pair.near, program).args(arguments).output()?;
    finished(output).with_context(|| format!("{program} (Debian package iproute2)"))
}

/// Returns raw values of the tested interface's counters, given the names of the counters.
fn interface(pair: &Pair, counters: &[&str]) -> Result<Vec<u64>> {
    let paths: Vec<_> =
        counters.iter().map(|name| format!(r"\Network Interface({INTERFACE})\{name}")).collect();
    pair.raw(&paths.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Checks that the tested interface's counters equal the sent data, and agree with `ip`, `sar` and `tc`.
pub fn interfaces() -> Result<String> {
    const SECONDS: &str = "3";
    let pair = Pair::new()?;
    let frame = |(packets, bytes): (u64, u64)| packets * (bytes + HEADERS.0 + HEADERS.1);
    let want = [
        ("Packets Received/sec", RECEIVED.0),
        ("Packets Sent/sec", SENT.0),
        ("Bytes Received/sec", frame(RECEIVED)),
        ("Bytes Sent/sec", frame(SENT)),
        ("Packets/sec", RECEIVED.0 + SENT.0),
        ("Bytes Total/sec", frame(RECEIVED) + frame(SENT)),
        ("Packets Received Unicast/sec", RECEIVED.0),
        ("Packets Received Discarded", 0),
        ("Packets Received Errors", 0),
        ("Packets Received Unknown", 0),
        ("Packets Outbound Discarded", 0),
        ("Packets Outbound Errors", 0),
    ];
    let names = want.map(|(name, _)| name);
    let before = interface(&pair, &names)?;

    // Rates over the same seconds, with the load in their middle.
    let paths: Vec<_> =
        names[..4].iter().map(|name| format!(r"\Network Interface({INTERFACE})\{name}")).collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let started = Instant::now();
    let ours = pair.perfset(&paths, &[SECONDS, "1"]).spawn().context("cannot start perfset")?;
    let theirs =
        within(&pair.near, "sar").args(["-n", "DEV", SECONDS, "1"]).stdout(Stdio::piped()).spawn()?;
    sleep(Duration::from_millis(500));
    let load = pair.load();
    let in_time = started.elapsed() < Duration::from_millis(2_700);
    let ours = finished(ours.wait_with_output()?)?;
    let theirs = finished(theirs.wait_with_output()?).context("sar (Debian package sysstat)")?;
    load?;
    ensure!(in_time, "the machine is too busy: the load takes longer than {SECONDS} s");

    let after = interface(&pair, &names)?;
    for (((name, want), before), after) in want.into_iter().zip(before).zip(&after) {
        ensure!(after - before == want, "{name} grows by {} when {want} go by", after - before);
    }
    let of_ip = statistics(&pair)?;
    let of_ip = [of_ip.0.packets, of_ip.1.packets, of_ip.0.bytes, of_ip.1.bytes];
    ensure!(after[..4] == of_ip, "ip -s says {of_ip:?}, not {:?}", &after[..4]);

    let ours = record::parse(&ours, paths.len())?;
    let ours = ours.iter().map(record::Record::value).collect::<Result<Vec<_>>>()?;
    let mut worst: f64 = 0.0;
    for ((ours, theirs), name) in ours.iter().zip(sar(&theirs)?).zip(names) {
        let difference = (ours - theirs).abs() / theirs;
        ensure!(difference <= 0.05, "{name} is {ours:.1}, and {theirs:.1} by sar");
        worst = worst.max(difference);
    }

    let speed: u64 = peer(&pair, "cat", &[&format!("/sys/class/net/{INTERFACE}/speed")])?.trim().parse()?;
    ensure!(interface(&pair, &["Current Bandwidth"])? == [speed * 1_000_000], "the speed is {speed} Mbit/s");
    let links = links(&pair)?;
    let waiting = queue(&pair)?;
    Ok(format!(
        ": {} packets out and {} in, to the byte; at most {:.2} % from sar; {links} numbers of Linux Network \
         Interface as by ip; {waiting} wait in a queue",
        SENT.0,
        RECEIVED.0,
        worst * 100.0
    ))
}

/// Compares Linux Network Interface with `ip`, for both interfaces of the namespace, while no data is sent. Returns the
/// number of compared values.
fn links(pair: &Pair) -> Result<usize> {
    // A second neighbour, which no hardware address is found for.
    let _ =
        peer(pair, "python3", &["-c", "import socket; socket.create_connection(('198.18.77.4', 9), 0.2)"]);
    ip(&["-n", &pair.near, "link", "set", "lo", "up"])?;
    let links: Vec<Value> =
        serde_json::from_str(&ip(&["-n", &pair.near, "-s", "-s", "-j", "link", "show"])?)?;
    let neighbours: Vec<Value> =
        serde_json::from_str(&ip(&["-n", &pair.near, "-4", "-j", "neigh", "show"])?)?;
    let mut compared = 0;
    for link in &links {
        let name = link["ifname"].as_str().context("ip shows an interface without a name")?;
        let number = |path: &str| {
            let number = link.pointer(&format!("/stats64/{path}")).and_then(Value::as_u64);
            number.with_context(|| format!("ip shows no {path}"))
        };
        let sum = |paths: &[&str]| paths.iter().map(|path| number(path)).sum::<Result<u64>>();
        let flags = link["flags"].as_array().context("ip shows no flags")?;
        let entries = neighbours.iter().filter(|neighbour| neighbour["dev"] == link["ifname"]).count();
        let frames = ["rx/length_errors", "rx/over_errors", "rx/crc_errors", "rx/frame_errors"];
        let losses = ["tx/aborted_errors", "tx/window_errors", "tx/heartbeat_errors", "tx/carrier_errors"];
        let want = [
            ("Bytes Received/sec", number("rx/bytes")?),
            ("Packets Received/sec", number("rx/packets")?),
            ("Packets Received Errors", number("rx/errors")?),
            ("Packets Received Multicast/sec", number("rx/multicast")?),
            ("Packets Received Discarded", sum(&["rx/dropped", "rx/missed_errors"])?),
            ("Receive FIFO Errors", number("rx/fifo_errors")?),
            ("Receive Frame Errors", sum(&frames)?),
            ("Bytes Sent/sec", number("tx/bytes")?),
            ("Packets Sent/sec", number("tx/packets")?),
            ("Packets Outbound Errors", number("tx/errors")?),
            ("Packets Outbound Discarded", number("tx/dropped")?),
            ("Transmit FIFO Errors", number("tx/fifo_errors")?),
            ("Collisions", number("tx/collisions")?),
            ("Carrier Losses", sum(&losses)?),
            ("Carrier Changes", number("tx/carrier_changes")?),
            ("Up", u64::from(link["operstate"] == "UP")),
            ("Carrier", u64::from(flags.contains(&Value::from("LOWER_UP")))),
            ("MTU Bytes", link["mtu"].as_u64().context("ip shows no mtu")?),
            ("ARP Entries", u64::try_from(entries)?),
        ];
        let paths = want.map(|(counter, _)| format!(r"\Linux Network Interface({name})\{counter}"));
        let ours = pair.raw(&paths.iter().map(String::as_str).collect::<Vec<_>>())?;
        for ((counter, want), ours) in want.into_iter().zip(ours) {
            ensure!(ours == want, "{counter} of {name} is {ours}, and {want} by ip");
            compared += 1;
        }
    }
    ensure!(links.len() == 2, "ip shows {} interfaces", links.len());
    Ok(compared)
}

/// Fills a queue of the network that sends a packet now and then, and compares its length with that in `tc`.
fn queue(pair: &Pair) -> Result<u64> {
    const PACKETS: u64 = 101;
    let slow = ["root", "tbf", "rate", "8kbit", "burst", "2000", "limit", "1000000"];
    ensure!(interface(pair, &["Output Queue Length"])? == [0], "nothing should wait");
    peer(pair, "tc", &[&["qdisc", "add", "dev", INTERFACE][..], &slow].concat())?;
    pair.send(&pair.near, (PACKETS, 1_000))?;
    let before = tc(pair)?;
    let ours = interface(pair, &["Output Queue Length"])?[0];
    let after = tc(pair)?;
    ensure!((after..=before).contains(&ours), "{ours} packets wait, and {before} to {after} by tc");
    ensure!((PACKETS - 10..PACKETS).contains(&ours), "{ours} packets wait of {PACKETS}");
    Ok(ours)
}

fn tc(pair: &Pair) -> Result<u64> {
    #[derive(Deserialize)]
    struct Qdisc {
        qlen: u64,
    }
    let text = peer(pair, "tc", &["-s", "-j", "qdisc", "show", "dev", INTERFACE, "root"])?;
    let [root] = serde_json::from_str::<[Qdisc; 1]>(&text)?;
    Ok(root.qlen)
}

#[derive(Deserialize)]
struct Direction {
    bytes: u64,
    packets: u64,
}

/// Returns the numbers of received and sent data that `ip -s` prints.
fn statistics(pair: &Pair) -> Result<(Direction, Direction)> {
    #[derive(Deserialize)]
    struct Both {
        rx: Direction,
        tx: Direction,
    }
    #[derive(Deserialize)]
    struct Link {
        stats64: Both,
    }
    let text = ip(&["-n", &pair.near, "-s", "-j", "link", "show", "dev", INTERFACE])?;
    let [link] = serde_json::from_str::<[Link; 1]>(&text)?;
    Ok((link.stats64.rx, link.stats64.tx))
}

/// Parses packets and bytes per second, received and sent, from the output of sar.
fn sar(text: &str) -> Result<[f64; 4]> {
    let average = text.lines().filter(|line| line.starts_with("Average:"));
    let words = average.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let (mut heads, mut numbers) = (Vec::new(), Vec::new());
    for line in words {
        match line.get(1).copied() {
            Some("IFACE") => heads = line,
            Some(INTERFACE) => numbers = line,
            _ => {}
        }
    }
    let column = |name: &str| -> Result<f64> {
        let at = heads.iter().position(|head| *head == name).with_context(|| format!("sar has no {name}"))?;
        Ok(numbers.get(at).context("sar does not show the interface")?.parse()?)
    };
    Ok([column("rxpck/s")?, column("txpck/s")?, column("rxkB/s")? * 1024.0, column("txkB/s")? * 1024.0])
}

/// Checks the number of open sockets against `ss -s`, and all counters of protocols against `nstat` after a load.
pub fn sockets() -> Result<String> {
    const TCP: u64 = 7;
    const UDP: u64 = 11;
    let pair = Pair::new()?;
    let paths = [r"\Sockets(TCP)\In Use", r"\Sockets(UDP)\In Use", r"\Sockets(_Total)\In Use"];
    let before = pair.raw(&paths)?;
    let program = format!(
        "import socket, sys\n\
         held = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range({TCP})]\n\
         held += [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range({UDP})]\n\
         for s in held: s.bind(('198.18.77.1', 0))\n\
         for s in held[:{TCP}]: s.listen()\n\
         print('ready', flush=True)\n\
         sys.stdin.read()"
    );
    let mut holder = within(&pair.near, "python3");
    let holder = holder.args(["-c", &program]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = Running(holder.spawn().context("cannot start python3")?);
    let mut ready = [0; 6];
    holder.0.stdout.take().context("it has an output")?.read_exact(&mut ready).context("no sockets")?;
    let after = pair.raw(&paths)?;
    let rise: Vec<_> = after.iter().zip(before).map(|(after, before)| after.abs_diff(before)).collect();
    ensure!(rise[..2] == [TCP, UDP], "{TCP} and {UDP} sockets make a rise of {rise:?}");
    // Sockets of tools that ended a moment ago may not have been freed the first time.
    ensure!(
        (TCP + UDP - 8..=TCP + UDP).contains(&rise[2]),
        "{} sockets make a rise of {}",
        TCP + UDP,
        rise[2]
    );
    let of_ss = peer(&pair, "ss", &["-s"])?;
    for (protocol, want) in [("TCP", after[0]), ("UDP", after[1])] {
        let row =
            of_ss.lines().find_map(|line| line.strip_prefix(protocol).filter(|rest| rest.starts_with('\t')));
        let total = row.and_then(|row| row.split_whitespace().next()).context("ss -s has no such row")?;
        ensure!(total == want.to_string(), "{total} sockets of {protocol} by ss -s, and {want}");
    }
    drop(holder);

    pair.load()?;
    let octets = pair.raw(&[r"\Linux IP\IpExtOutOctets", r"\Linux IP\IpExtInOctets"])?;
    let packet = |(packets, bytes): (u64, u64)| packets * (bytes + HEADERS.1);
    ensure!(octets == [packet(SENT), packet(RECEIVED)], "{octets:?} bytes in IP packets");
    let count = keys(&pair)?;
    let tracked = tracked(&pair)?;
    let states = states(&pair)?;
    Ok(format!(
        ": {TCP} of TCP and {UDP} of UDP; {count} keys as by nstat; {tracked} connections tracked; {states} in states \
         as by ss"
    ))
}

/// Holds connections in several states, and unread datagrams, and checks states and queues against `ss`. Returns the
/// number of sockets.
fn states(pair: &Pair) -> Result<u64> {
    const PROGRAM: &str = "
import socket, sys
held = []
for family, address in [(socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')]:
    try:
        listener = socket.create_server((address, 0), family=family)
    except OSError:
        continue  # no IPv6 here
    for number in range(5):
        client = socket.create_connection(listener.getsockname()[:2])
        held += [listener, client, listener.accept()[0]]
        if number < 2: client.shutdown(socket.SHUT_WR)
    receiver, sender = [socket.socket(family, socket.SOCK_DGRAM) for _ in range(2)]
    receiver.bind((address, 0))
    for _ in range(3): sender.sendto(bytes(500), receiver.getsockname())
    held += [receiver, sender]
print('ready', flush=True)
sys.stdin.read()
";
    ip(&["-n", &pair.near, "link", "set", "lo", "up"])?;
    let mut holder = within(&pair.near, "python3");
    let holder = holder.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = Running(holder.spawn().context("cannot start python3")?);
    let mut ready = [0; 6];
    holder.0.stdout.take().context("it has an output")?.read_exact(&mut ready).context("no sockets")?;

    let names = [
        ("established", "ESTAB"),
        ("syn_sent", "SYN-SENT"),
        ("syn_recv", "SYN-RECV"),
        ("fin_wait1", "FIN-WAIT-1"),
        ("fin_wait2", "FIN-WAIT-2"),
        ("time_wait", "TIME-WAIT"),
        ("close", "UNCONN"),
        ("close_wait", "CLOSE-WAIT"),
        ("last_ack", "LAST-ACK"),
        ("listen", "LISTEN"),
        ("closing", "CLOSING"),
    ];
    let paths = names.map(|(name, _)| format!(r"\TCP States({name})\Connections"));
    let ours = pair.raw(&paths.iter().map(String::as_str).collect::<Vec<_>>())?;
    let of_ss = peer(pair, "ss", &["-H", "-t", "-a", "-n"])?;
    for ((name, of_peer), ours) in names.into_iter().zip(&ours) {
        let theirs = of_ss.lines().filter(|line| line.split_whitespace().next() == Some(of_peer)).count();
        ensure!(u64::try_from(theirs)? == *ours, "{ours} sockets are in state {name}, and {theirs} by ss");
    }
    ensure!(ours[0] >= 6 && ours[4] >= 2 && ours[7] >= 2, "the connections that are held are not counted");

    let mut all = ours.iter().sum::<u64>();
    for (version, family) in [("IPv4", "-4"), ("IPv6", "-6")] {
        let of_ss = peer(pair, "ss", &["-H", "-u", "-a", "-n", family])?;
        let column = |at: usize| {
            of_ss.lines().map(|line| line.split_whitespace().nth(at).unwrap_or_default().parse::<u64>()).sum()
        };
        let theirs: [Result<u64, _>; 2] = [column(1), column(2)];
        let paths = ["Receive", "Transmit"].map(|way| format!(r"\Linux UDP\{version} {way} Queue Bytes"));
        let ours = pair.raw(&[&paths[0], &paths[1]])?;
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            let theirs = theirs.context("ss shows something else")?;
            ensure!(ours == theirs, "{ours} bytes are in queues over {version}, and {theirs} by ss");
        }
        all += u64::try_from(of_ss.lines().count())?;
    }
    Ok(all)
}

/// Checks the number of tracked connections against `lnstat`. Without the kernel's module both have no number.
fn tracked(pair: &Pair) -> Result<String> {
    let path = [r"\Connection Tracking\Entries"];
    if !Path::new("/proc/sys/net/netfilter/nf_conntrack_count").exists() {
        ensure!(pair.raw(&path).is_err(), "connections are tracked without the module");
        return Ok("no".to_owned());
    }
    let ours = pair.raw(&path)?[0];
    // Its exit status is 1 even if all is well.
    let text = peer(pair, "sh", &["-c", "lnstat -k nf_conntrack:entries -c 1 -j || true"])?;
    let theirs: Value = serde_json::from_str(&text)?;
    ensure!(theirs["entries"].as_u64() == Some(ours), "{ours} connections are tracked, by lnstat {theirs}");
    Ok(ours.to_string())
}

/// Compares every counter that perfset and nstat both have, in a network namespace in which nothing happens between
/// the two readings.
fn keys(pair: &Pair) -> Result<usize> {
    #[derive(Deserialize)]
    struct Nstat {
        kernel: BTreeMap<String, u64>,
    }
    let text = peer(pair, "nstat", &["-a", "-s", "-z", "-j"])?;
    let theirs: Nstat = serde_json::from_str(&text)?;
    // The other names without `Ext` are those of countersets that Windows has.
    const OTHERS: [&str; 4] = ["TcpInErrs", "TcpOutRsts", "Ip6InOctets", "Ip6OutOctets"];
    let is_of_udp = |name: &str| {
        name.starts_with("Udp")
            && (name.ends_with("bufErrors") && !name.contains("Lite")
                || name.ends_with("InErrors") && name.contains("Lite"))
    };
    let is_ours = |name: &str| name.contains("Ext") || OTHERS.contains(&name) || is_of_udp(name);
    let theirs: BTreeMap<_, _> = theirs.kernel.into_iter().filter(|(name, _)| is_ours(name)).collect();
    ensure!(OTHERS.iter().all(|name| theirs.contains_key(*name)), "nstat shows not all of {OTHERS:?}");
    let set = |name: &str| match name.get(..2) {
        Some("Ip") => "Linux IP",
        Some("Ud") => "Linux UDP",
        _ => "Linux TCP",
    };
    let names: Vec<_> = theirs.keys().map(|name| format!(r"\{}\{name}", set(name))).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    ensure!(known.len() > 100, "nstat shows {} keys", known.len());
    for (name, (ours, theirs)) in theirs.keys().zip(pair.raw(&known)?.into_iter().zip(theirs.values())) {
        if ours != *theirs {
            bail!("{name} is {ours}, and {theirs} by nstat");
        }
    }
    Ok(known.len())
}
