//! Provider of the counterset Sockets.

use perfset_catalogue::sockets as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use crate::provider::{
    Collection, InstanceKey, InstanceSource, MarkedRaw, ParsedFile, SeqFileKind, SharedFile, Total,
    unavailable,
};
use crate::roots::Roots;
use crate::sources::named::Number;
use crate::sources::sockstat::{self, PROTOCOLS, SockStat};

#[cfg(test)]
mod tests;

/// Instances of the counterset Sockets, from `/proc/net/sockstat` and `/proc/net/sockstat6`.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Size of a memory page, in bytes.
    page_size: u64,
    /// Parsed files: `sockstat` for all kinds of sockets and for IPv4, and `sockstat6` for IPv6.
    files: [ParsedFile<SockStat>; 2],
    /// Indexes of the socket protocols that have a row.
    rows: Vec<usize>,
    keys: Vec<InstanceKey>,
}

/// Number of socket protocols in the first file, `sockstat`.
const IN_FIRST: usize = 5;
const OTHERS_COUNT: &str = "this protocol does not count it";

impl Sockets {
    /// Creates the provider of Sockets, which reads below `roots`, and a `sockstat` that other countersets share.
    /// `page_size` is in bytes.
    pub(crate) fn new(roots: &Roots, sockstat: SharedFile, page_size: u64) -> Self {
        let of_v6 = SharedFile::new(roots.net("sockstat6"), SeqFileKind::Single);
        let files = [
            ParsedFile::from_file(sockstat, "there is no /proc/net/sockstat", SockStat::parse),
            ParsedFile::from_file(of_v6, "there is no /proc/net/sockstat6", SockStat::parse),
        ];
        Self { page_size, files, rows: Vec::new(), keys: Vec::new() }
    }

    /// Returns `true` if a socket protocol has a row. If its file exists and is invalid, the row reports the error.
    fn has_row(&mut self, protocol: usize, pass: &mut Collection) -> bool {
        let (file, name) = self.place(protocol);
        match file.get(pass) {
            Ok(sockstat) => sockstat.protocol(name).is_some(),
            Err(NoValue::Unavailable(_)) => false,
            Err(_) => true,
        }
    }

    fn place(&mut self, protocol: usize) -> (&mut ParsedFile<SockStat>, &'static str) {
        let name = PROTOCOLS.get(protocol).copied().unwrap_or_default();
        let [of_v4, of_v6] = &mut self.files;
        (if protocol < IN_FIRST { of_v4 } else { of_v6 }, name)
    }

    fn number(
        &mut self,
        protocol: usize,
        of: fn(&sockstat::Sockets) -> &Number,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let (file, name) = self.place(protocol);
        match file.get(pass)?.protocol(name).and_then(|sockets| of(sockets).clone()) {
            Some(Ok(number)) => Ok(number),
            Some(Err(text)) => Err(file.fault(text)),
            None => Err(unavailable(OTHERS_COUNT)),
        }
    }

    /// Returns the raw value of a counter of Sockets for a protocol.
    fn value(&mut self, protocol: usize, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        let of: fn(&sockstat::Sockets) -> &Number = match counter {
            id::IN_USE => |sockets| &sockets.in_use,
            id::ORPHANED => |sockets| &sockets.orphan,
            id::TIME_WAIT => |sockets| &sockets.tw,
            id::ALLOCATED => |sockets| &sockets.alloc,
            id::MEMORY_PAGES => |sockets| &sockets.mem,
            id::MEMORY_BYTES => {
                return match self.number(protocol, |sockets| &sockets.memory, pass) {
                    Err(NoValue::Unavailable(_)) => {
                        // Only fragments are counted in bytes, all others in pages.
                        let pages = self.number(protocol, |sockets| &sockets.mem, pass)?;
                        Ok(pages.saturating_mul(self.page_size))
                    }
                    bytes => bytes,
                };
            }
            _ => return Err(NoValue::NotGiven),
        };
        self.number(protocol, of, pass)
    }
}

impl InstanceSource for Sockets {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let mut next = 0_usize;
        for protocol in 0..PROTOCOLS.len() {
            if !self.has_row(protocol, pass) {
                continue;
            }
            // A protocol has appeared or disappeared here, so the rows behind it have moved.
            if self.rows.get(next) != Some(&protocol) {
                self.rows.truncate(next);
                self.keys.truncate(next);
                let name = PROTOCOLS.get(protocol).copied().unwrap_or_default().to_owned();
                let number = InstanceId(u32::try_from(protocol).unwrap_or(u32::MAX));
                self.rows.push(protocol);
                self.keys.push(InstanceKey::new(name, number));
            }
            next = next.saturating_add(1);
        }
        self.rows.truncate(next);
        self.keys.truncate(next);
        let [of_v4, _] = &mut self.files;
        // Without any row, the reason for the missing file is the reason of the whole counterset.
        if self.rows.is_empty() { of_v4.get(pass).map(drop) } else { Ok(()) }
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let protocol = self.rows.get(at).copied().ok_or(NoValue::NotGiven)?;
        self.value(protocol, counter, pass).map(MarkedRaw::from)
    }

    fn total_of(&self, counter: CounterId) -> Total {
        if counter == id::IN_USE { Total::Own } else { Total::Sum(counter) }
    }

    /// Returns the kernel's number of sockets in use, of all kinds together.
    fn total(&mut self, _: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let [of_v4, _] = &mut self.files;
        of_v4.number(|sockstat| &sockstat.used, pass).map(MarkedRaw::from)
    }
}
