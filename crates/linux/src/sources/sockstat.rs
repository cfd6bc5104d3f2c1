//! Parser of `/proc/net/sockstat` and `/proc/net/sockstat6`: the number of sockets, by protocol.
//!
//! Source: `proc_pid_net(5)`.

use crate::sources::named::{Number, Wanted};
use crate::sources::text::{Text, TextError};

/// Names of the network protocols in `/proc/net/sockstat`, followed by those in `/proc/net/sockstat6`.
pub const PROTOCOLS: [&str; 10] =
    ["TCP", "UDP", "UDPLITE", "RAW", "FRAG", "TCP6", "UDP6", "UDPLITE6", "RAW6", "FRAG6"];

/// Contents of `/proc/net/sockstat` or of `/proc/net/sockstat6`.
///
/// ```
/// use perfset_linux::sources::sockstat::SockStat;
///
/// let mut sockstat = SockStat::default();
/// sockstat.parse(b"sockets: used 11\nTCP: inuse 7 orphan 0 tw 2 alloc 8 mem 5\n").unwrap();
/// assert_eq!(sockstat.used, Some(Ok(11)));
/// assert_eq!(sockstat.protocol("TCP").unwrap().mem, Some(Ok(5)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SockStat {
    /// `sockets: used`: number of sockets of all kinds.
    pub used: Number,
    protocols: [Option<Sockets>; PROTOCOLS.len()],
}

/// Sockets of one network protocol and their memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// `inuse`: number of sockets of the protocol, or of packets that wait for fragments.
    pub in_use: Number,
    /// `orphan`: number of sockets of the protocol that no program has open any more.
    pub orphan: Number,
    /// `tw`: number of connections of the protocol in time-wait.
    pub tw: Number,
    /// `alloc`: number of sockets of the protocol in any state.
    pub alloc: Number,
    /// `mem`: memory for data of the protocol's sockets, in pages.
    pub mem: Number,
    /// `memory`: memory of the protocol's fragments, in bytes.
    pub memory: Number,
}

impl SockStat {
    /// Parses `/proc/net/sockstat` or `/proc/net/sockstat6`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut text = Text::new(text);
        while !text.is_at_end() {
            let mut line = text;
            let end = text.line().map(drop);
            let Ok(name) = line.until_colon() else { continue };
            if name == b"sockets" {
                numbers(&mut line, &end, &mut [("used ", &mut self.used)]);
                continue;
            }
            let mut places = PROTOCOLS.iter().zip(&mut self.protocols);
            if let Some((_, place)) = places.find(|(protocol, _)| protocol.as_bytes() == name) {
                let sockets = place.insert(Sockets::default());
                let wanted = &mut [
                    ("inuse ", &mut sockets.in_use),
                    ("orphan ", &mut sockets.orphan),
                    ("tw ", &mut sockets.tw),
                    ("alloc ", &mut sockets.alloc),
                    ("mem ", &mut sockets.mem),
                    ("memory ", &mut sockets.memory),
                ];
                numbers(&mut line, &end, wanted);
            }
        }
        let nothing = self.used.is_none() && self.protocols.iter().all(Option::is_none);
        if nothing { Err(text.expected("a line with a known name")) } else { Ok(()) }
    }

    /// Returns the sockets and memory of a network protocol; `None` if the file has no line of that name.
    #[must_use]
    pub fn protocol(&self, protocol: &str) -> Option<&Sockets> {
        let mut all = PROTOCOLS.iter().zip(&self.protocols);
        all.find(|(name, _)| **name == protocol).and_then(|(_, sockets)| sockets.as_ref())
    }
}

/// Parses the pairs of a name and a number up to the end of a line of `sockstat`. Numbers that a cut line lacks get
/// the error of the cut.
fn numbers(line: &mut Text<'_>, end: &Result<(), TextError>, wanted: &mut [Wanted<'_>]) {
    while !line.is_at_line_end() {
        let known = wanted.iter_mut().find(|(name, _)| line.take(name.as_bytes()));
        let Some((_, place)) = known else {
            if line.word().is_err() {
                break;
            }
            continue;
        };
        let number = line.number();
        let is_fault = number.is_err();
        **place = Some(number);
        if is_fault && line.word().is_err() {
            break;
        }
    }
    if let Err(cut) = end {
        for (_, place) in wanted {
            place.get_or_insert_with(|| Err(cut.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SockStat, TextError> {
        let mut sockstat = SockStat::default();
        sockstat.parse(text.as_bytes()).map(|()| sockstat)
    }

    #[test]
    fn pairs_of_a_line() {
        let some = |number| Some(Ok(number));
        let fault =
            |line, expected, found: &str| Some(Err(TextError { line, expected, found: found.into() }));
        let cut = || fault(1, "the rest of the line", "the end of the file");
        for (line, want) in [
            ("TCP: inuse 2 orphan 3 mem 5\n", [some(2), some(3), some(5)]),
            ("TCP:mem 5  orphan   3\tnew 7 inuse 2 \n", [some(2), some(3), some(5)]),
            ("TCP: mem 5 orphan 3 new 7 inuse 2 \n", [some(2), some(3), some(5)]),
            ("TCP: inuse x orphan 3\n", [fault(1, "a number", "\"x\""), some(3), None]),
            ("TCP: inuse\n", [None, None, None]),
            ("TCP: inuse \n", [fault(1, "a number", "the end of the line"), None, None]),
            ("TCP: inuse 2 orphan 3", [some(2), cut(), cut()]),
            ("TCP: inuse 2 orphan -", [some(2), fault(1, "a number", "\"-\""), cut()]),
            ("TCP: memory 7\n", [None, None, None]),
            ("TCP:\n", [None, None, None]),
        ] {
            let parsed = parse(line).unwrap();
            let tcp = parsed.protocol("TCP").unwrap();
            let got = [tcp.in_use.clone(), tcp.orphan.clone(), tcp.mem.clone()];
            assert_eq!(got, want, "{line:?}");
        }
    }

    #[test]
    fn lines() {
        let parsed =
            parse("used 3\nsockets: used 7\nTCPX: inuse 2\nUDP: inuse 3\nfoo\nFRAG6: inuse 5 memory 11\n")
                .unwrap();
        assert_eq!(parsed.used, Some(Ok(7)));
        let got = PROTOCOLS.map(|protocol| parsed.protocol(protocol).map(|sockets| sockets.in_use.clone()));
        let mut want = [const { None }; 10];
        (want[1], want[9]) = (Some(Some(Ok(3))), Some(Some(Ok(5))));
        assert_eq!(got, want);
        assert_eq!(parsed.protocol("FRAG6").unwrap().memory, Some(Ok(11)));
        for text in ["", "x\n", "TCP 7\n", "tcp: inuse 7\n"] {
            assert_eq!(parse(text).unwrap_err().expected, "a line with a known name", "{text:?}");
        }
    }
}
