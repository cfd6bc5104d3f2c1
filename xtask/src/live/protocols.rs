//! Checks of the countersets of network protocols beside `nstat` and `ss`, and under loads of known size over
//! loopback.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{finished, record};
use crate::catalog::set;
use crate::repository::root;

/// Number of datagrams that the check sends; the next constants are those of other packets, connections and echoes.
/// All are prime numbers, so that no other count is confused with them.
const DATAGRAMS: usize = 127;
const TO_NOBODY: usize = 61;
const CONNECTIONS: usize = 31;
const HALF_CLOSED: usize = 7;
const REFUSED: usize = 13;
const ECHOES: usize = 11;
/// Maximum by which other programs on this machine may raise each count during the check.
const OTHERS: u64 = 2_000;

/// Countersets whose numbers `nstat` knows.
const SETS: [&str; 7] = ["TCPv4", "UDPv4", "UDPv6", "IPv4", "IPv6", "ICMP", "ICMPv6"];

/// Checks that counts of protocols lie between two readings of nstat and grow by the load, and connections against
/// ss.
pub fn check(rounds: usize) -> Result<String> {
    let sums = sums()?;
    for _ in 0..rounds {
        compare(&sums)?;
    }
    let has_ipv6 = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    let mut done = Vec::new();
    for version in [4, 6] {
        if version == 4 || has_ipv6 {
            datagrams(version).with_context(|| format!("UDP over IPv{version}"))?;
            connections(version).with_context(|| format!("TCP over IPv{version}"))?;
            echoes(version).with_context(|| format!("ICMP over IPv{version}"))?;
            done.push(format!("IPv{version}"));
        }
    }
    compare(&sums)?;
    Ok(format!(
        ": {} counters equal in {rounds} samples; {DATAGRAMS} + {TO_NOBODY} datagrams, {CONNECTIONS} connections, \
         {ECHOES} echoes over {}",
        sums.len(),
        done.join(" and ")
    ))
}

/// Counter path, and the names of the nstat counts whose sum the counter is.
struct Sum {
    path: String,
    keys: Vec<String>,
}

impl Sum {
    fn of(&self, numbers: &Numbers) -> Result<u64> {
        let number = |key| numbers.get(key).with_context(|| format!("nstat has no {key}"));
        self.keys.iter().map(|key| number(key).copied()).sum()
    }
}

/// Returns the sums of nstat's counts for all counters that only grow, from the sources in the catalogue.
fn sums() -> Result<Vec<Sum>> {
    let mut sums = Vec::new();
    let (_, sets) = set::load(&root().join("catalog"))?;
    for set in sets.iter().filter(|set| SETS.contains(&&*set.entry.name)) {
        for counter in &set.entry.counters {
            let name = counter.name.as_deref().context("a counter without a name")?;
            let path = format!(r"\{}\{name}", &*set.entry.name);
            let keys = &*counter.field;
            let (section, keys) = match &*counter.file {
                "/proc/net/snmp" => keys.split_once(' ').with_context(|| format!("{path}: field"))?,
                _ => ("", keys),
            };
            let keys: Vec<_> = keys.split(" + ").map(|key| format!("{section}{key}")).collect();
            if keys != ["TcpCurrEstab"] {
                sums.push(Sum { path, keys });
            }
        }
    }
    ensure!(sums.len() > 100, "only {} counters have a source", sums.len());
    Ok(sums)
}

/// Compares one sample of all protocol counters with two readings of nstat, before and after.
fn compare(sums: &[Sum]) -> Result<()> {
    let paths: Vec<_> = sums.iter().map(|sum| sum.path.as_str()).collect();
    let before = nstat()?;
    let ours = raw(&paths)?;
    let after = nstat()?;
    for (sum, ours) in sums.iter().zip(ours) {
        let (before, after) = (sum.of(&before)?, sum.of(&after)?);
        let path = &sum.path;
        ensure!((before..=after).contains(&ours), "{path} is {ours}, nstat says {before}, then {after}");
    }
    Ok(())
}

type Numbers = BTreeMap<String, u64>;

/// Returns every count that nstat prints, by its name.
fn nstat() -> Result<Numbers> {
    #[derive(Deserialize)]
    struct All {
        kernel: Numbers,
    }
    let output = Command::new("nstat").args(["-a", "-s", "-z", "--json"]).output();
    let json = finished(output.context("cannot start nstat (Debian package iproute2)")?)?;
    let all: All = serde_json::from_str(&json).context("nstat prints something else")?;
    Ok(all.kernel)
}

/// Returns the number of TCP connections in `ss` that are established or closed by the other side, by address family.
fn ss(family: &[&str]) -> Result<u64> {
    let states = ["state", "established", "state", "close-wait"];
    let output = Command::new("ss").args(["-H", "-t", "-n"]).args(family).args(states).output();
    let lines = finished(output.context("cannot start ss (Debian package iproute2)")?)?.lines().count();
    Ok(u64::try_from(lines)?)
}

fn raw(paths: &[&str]) -> Result<Vec<u64>> {
    let records = record::one_sample(paths, &["--raw"])?;
    let raw = |record: &record::Record| {
        record.raw.with_context(|| format!("{} has no value: {}", record.path, record.status))
    };
    records.iter().map(raw).collect()
}

/// Checks that counters grow by a known number or a little more while `work` is done.
fn grow<T>(counters: &[(&str, usize)], work: impl FnOnce() -> Result<T>) -> Result<T> {
    let paths: Vec<_> = counters.iter().map(|counter| counter.0).collect();
    let before = raw(&paths)?;
    let done = work()?;
    let after = raw(&paths)?;
    for (((path, least), before), after) in counters.iter().zip(before).zip(after) {
        let (least, rise) = (u64::try_from(*least)?, after.wrapping_sub(before));
        ensure!(rise >= least, "{path} rises by {rise}, with a load of {least}");
        ensure!(rise <= least + OTHERS, "{path} rises by {rise}, with a load of {least}: too busy a machine");
    }
    Ok(done)
}

fn loopback(version: u8) -> IpAddr {
    if version == 4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() }
}

/// Returns an address at whose port no program listens: the port was free a moment ago.
fn closed_port(address: IpAddr) -> Result<SocketAddr> {
    Ok(TcpListener::bind((address, 0))?.local_addr()?)
}

/// Sends UDP datagrams to a program, and to a port at which none listens, and checks the counters.
fn datagrams(version: u8) -> Result<()> {
    let (receiver, sender) =
        (UdpSocket::bind((loopback(version), 0))?, UdpSocket::bind((loopback(version), 0))?);
    receiver.set_read_timeout(Some(Duration::from_secs(2)))?;
    let closed = UdpSocket::bind((loopback(version), 0))?.local_addr()?;
    let icmp = if version == 4 { "ICMP" } else { "ICMPv6" };
    let both = DATAGRAMS + TO_NOBODY;
    let counters = [
        (format!(r"\UDPv{version}\Datagrams Received/sec"), DATAGRAMS),
        (format!(r"\UDPv{version}\Datagrams Sent/sec"), both),
        (format!(r"\UDPv{version}\Datagrams/sec"), DATAGRAMS + both),
        (format!(r"\UDPv{version}\Datagrams No Port/sec"), TO_NOBODY),
        (format!(r"\{icmp}\Sent Destination Unreachable"), TO_NOBODY),
        (format!(r"\{icmp}\Received Dest. Unreachable"), TO_NOBODY),
        (format!(r"\{icmp}\Messages/sec"), 2 * TO_NOBODY),
        (format!(r"\IPv{version}\Datagrams Received Delivered/sec"), both + TO_NOBODY),
    ];
    let counters: Vec<_> = counters.iter().map(|(path, least)| (path.as_str(), *least)).collect();
    grow(&counters, || {
        let mut byte = [0];
        for _ in 0..DATAGRAMS {
            sender.send_to(&[7], receiver.local_addr()?)?;
            receiver.recv(&mut byte)?;
        }
        for _ in 0..TO_NOBODY {
            sender.send_to(&[7], closed)?;
        }
        Ok(())
    })
}

/// Opens, half closes, closes and refuses TCP connections, and checks the counters.
fn connections(version: u8) -> Result<()> {
    let listener = TcpListener::bind((loopback(version), 0))?;
    let address = listener.local_addr()?;
    let closed = closed_port(loopback(version))?;
    let ends = grow(
        &[
            (r"\TCPv4\Connections Active", CONNECTIONS + REFUSED),
            (r"\TCPv4\Connections Passive", CONNECTIONS),
            (r"\TCPv4\Connection Failures", REFUSED),
            (r"\TCPv4\Segments/sec", CONNECTIONS * 2 * 3 + REFUSED * 2 * 2),
        ],
        || {
            let mut ends = Vec::new();
            for _ in 0..CONNECTIONS {
                ends.push((TcpStream::connect(address)?, listener.accept()?.0));
            }
            for _ in 0..REFUSED {
                ensure!(TcpStream::connect(closed).is_err(), "somebody listens at {closed}");
            }
            Ok(ends)
        },
    )?;
    let own = u64::try_from(CONNECTIONS)?;
    established(version, 2 * own)?;
    for (client, _) in ends.iter().take(HALF_CLOSED) {
        client.shutdown(Shutdown::Write)?;
    }
    established(version, 2 * own - u64::try_from(HALF_CLOSED)?)
}

/// Checks the counter of established TCP connections against ss, and that it is at least `least`.
fn established(version: u8, least: u64) -> Result<()> {
    let counters: &[(&str, &[&str])] = match version {
        4 => &[(r"\TCPv4\Connections Established", &[])],
        _ => &[(r"\TCPv4\Connections Established", &[]), (r"\TCPv6\Connections Established", &["-6"])],
    };
    for (path, family) in counters {
        let deadline = Instant::now() + Duration::from_secs(3);
        loop {
            // Those of others come and go: equal in a quiet moment.
            let (before, ours, after) = (ss(family)?, raw(&[path])?, ss(family)?);
            if before == after && ours == [before] && before >= least {
                break;
            }
            if Instant::now() > deadline {
                bail!("{path} is {ours:?} with {least} open, ss shows {before}, then {after}");
            }
            sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

/// Sends ICMP echo requests to this machine and checks the counters. Needs root, or CAP_NET_RAW.
fn echoes(version: u8) -> Result<()> {
    let icmp = if version == 4 { "ICMP" } else { "ICMPv6" };
    let counters = ["Sent Echo/sec", "Received Echo/sec", "Sent Echo Reply/sec", "Received Echo Reply/sec"]
        .map(|name| format!(r"\{icmp}\{name}"));
    let counters: Vec<_> = counters.iter().map(|path| (path.as_str(), ECHOES)).collect();
    grow(&counters, || {
        let (version, echoes) = (version.to_string(), ECHOES.to_string());
        let output = Command::new("python3").args(["-c", ECHO, &version, &echoes]).output();
        finished(output.context("cannot start python3")?).map(drop)
    })
}

/// Python script that sends ICMP echo requests and waits for each reply, because ping is not installed everywhere.
const ECHO: &str = "
import socket, struct, sys
version, count = sys.argv[1], int(sys.argv[2])
if version == '4':
    link = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    to, request, reply, skip = '127.0.0.1', 8, 0, 20
else:
    link = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    to, request, reply, skip = '::1', 128, 129, 0
link.settimeout(2)
for number in range(count):
    checksum = 0xFFFF & ~((request << 8) + 7 + number)  # of a message of IPv4; the kernel does that of IPv6
    link.sendto(struct.pack('!BBHHH', request, 0, checksum, 7, number), (to, 0))
    while True:
        message = link.recv(2048)[skip:]
        if message[0] == reply and message[4:8] == struct.pack('!HH', 7, number):
            break
";
