//! Countersets Linux TCP and Linux IP, whose counters have the kernel's names.

use perfset_catalogue::{linux_ip, linux_tcp};
use perfset_core::{CounterId, Counterset, NoValue};

use crate::countersets::protocols::{NO_IPV6, NO_SNMP};
use crate::provider::{Collection, ParsedFile, SharedFile, ValueSource, unavailable};
use crate::sources::netstat::Netstat;
use crate::sources::snmp::{Ip, Tcp, TcpLimit};
use crate::sources::snmp6::Ip6;
use crate::sources::sockstat::SockStat;
use crate::sources::text::TextError;

#[cfg(test)]
mod tests;

/// Counters that have the kernel's names of numbers in `/proc/net/netstat`, with the position of each number in this
/// file.
#[derive(Debug)]
struct NetstatCounters {
    file: ParsedFile<NetstatNames>,
    /// Position of each counter's number in `/proc/net/netstat`, by counter id; valid until the names in the file
    /// change.
    line_indexes: Vec<LineIndex>,
    names_read: u64,
}

#[derive(Clone, Copy, Debug)]
enum LineIndex {
    NotLookedFor,
    Nowhere,
    At(usize),
}

/// Parsed `/proc/net/netstat`, and the number of times that the names in the file have changed.
#[derive(Debug, Default)]
struct NetstatNames {
    netstat: Netstat,
    read: u64,
}

impl NetstatNames {
    fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let changed = self.netstat.parse(text);
        // After an error the names may have moved, too.
        if changed != Ok(false) {
            self.read = self.read.wrapping_add(1);
        }
        changed.map(drop)
    }
}

impl NetstatCounters {
    fn new(file: SharedFile) -> Self {
        let file = ParsedFile::from_file(file, "there is no /proc/net/netstat", NetstatNames::parse);
        Self { file, line_indexes: Vec::new(), names_read: 0 }
    }

    fn value(
        &mut self,
        counterset: &Counterset,
        counter: CounterId,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let Self { file, line_indexes, names_read } = self;
        let names = file.get(pass)?;
        if *names_read != names.read {
            *names_read = names.read;
            line_indexes.clear();
            line_indexes.resize(counterset.counters.len(), LineIndex::NotLookedFor);
        }
        // Ids are those of a list without gaps.
        let line_index = usize::try_from(counter.0).ok().and_then(|id| line_indexes.get_mut(id));
        let line_index = line_index.ok_or(NoValue::NotGiven)?;
        if let LineIndex::NotLookedFor = line_index {
            let name = counterset.counter(counter).and_then(|counter| counter.name.as_deref());
            let at = name.and_then(|name| names.netstat.find(name.as_bytes()));
            *line_index = at.map_or(LineIndex::Nowhere, LineIndex::At);
        }
        let number = match *line_index {
            LineIndex::At(at) => names.netstat.number(at),
            LineIndex::Nowhere | LineIndex::NotLookedFor => None,
        };
        match number {
            Some(Ok(number)) => Ok(number),
            Some(Err(text)) => Err(file.fault(text)),
            None => Err(unavailable("this kernel does not report it")),
        }
    }
}

/// Values of the counterset Linux TCP, from `/proc/net/netstat`, `/proc/net/snmp` and `/proc/net/sockstat`.
#[derive(Debug)]
pub(crate) struct LinuxTcp {
    named: NetstatCounters,
    tcp: ParsedFile<Tcp>,
    limit: ParsedFile<TcpLimit>,
    sockstat: ParsedFile<SockStat>,
}

impl LinuxTcp {
    /// Creates the values of Linux TCP from files that other countersets share.
    pub(crate) fn new(netstat: SharedFile, snmp: SharedFile, sockstat: SharedFile) -> Self {
        Self {
            named: NetstatCounters::new(netstat),
            tcp: ParsedFile::from_file(snmp.clone(), NO_SNMP, Tcp::parse),
            limit: ParsedFile::from_file(snmp, NO_SNMP, TcpLimit::parse),
            sockstat: ParsedFile::from_file(sockstat, "there is no /proc/net/sockstat", SockStat::parse),
        }
    }

    /// Returns the maximum number of TCP connections; a reason on current kernels, which have no such limit.
    fn max_conn(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        match self.limit.get(pass)?.max_conn.clone() {
            Some(Ok(Some(limit))) => Ok(limit),
            Some(Ok(None)) => Err(unavailable("the kernel has no limit of connections")),
            Some(Err(text)) => Err(self.limit.fault(text)),
            None => Err(unavailable("this kernel does not report it")),
        }
    }
}

impl ValueSource for LinuxTcp {
    fn counterset(&self) -> Counterset {
        linux_tcp::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        match counter {
            linux_tcp::MEMORY_PAGES => {
                self.sockstat.number(|sockstat| sockstat.protocol("TCP").map_or(&None, |tcp| &tcp.mem), pass)
            }
            linux_tcp::TCPINERRS => self.tcp.number(|tcp| &tcp.in_errs, pass),
            linux_tcp::TCPOUTRSTS => self.tcp.number(|tcp| &tcp.out_rsts, pass),
            linux_tcp::TCPMAXCONN => self.max_conn(pass),
            _ => self.named.value(&linux_tcp::COUNTERSET, counter, pass),
        }
    }
}

/// Values of the counterset Linux IP, from `/proc/net/netstat`, `/proc/net/snmp` and `/proc/net/snmp6`.
#[derive(Debug)]
pub(crate) struct LinuxIp {
    named: NetstatCounters,
    of_v4: ParsedFile<Ip>,
    of_v6: ParsedFile<Ip6>,
}

impl LinuxIp {
    /// Creates the values of Linux IP from files that other countersets share.
    pub(crate) fn new(netstat: SharedFile, snmp: SharedFile, snmp6: SharedFile) -> Self {
        Self {
            named: NetstatCounters::new(netstat),
            of_v4: ParsedFile::from_file(snmp, NO_SNMP, Ip::parse),
            of_v6: ParsedFile::from_file(snmp6, NO_IPV6, Ip6::parse),
        }
    }
}

impl ValueSource for LinuxIp {
    fn counterset(&self) -> Counterset {
        linux_ip::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        match counter {
            linux_ip::IPFORWARDING => self.of_v4.number(|ip| &ip.forwarding, pass),
            linux_ip::IP6INOCTETS => self.of_v6.number(|ip| &ip.in_octets, pass),
            linux_ip::IP6OUTOCTETS => self.of_v6.number(|ip| &ip.out_octets, pass),
            _ => self.named.value(&linux_ip::COUNTERSET, counter, pass),
        }
    }
}
