//! Parser of `/proc/net/netstat`: counts of TCP, Multipath TCP and IPv4 beyond the standard numbers.
//!
//! Source: `Documentation/networking/snmp_counter.rst`.

use std::ops::Range;

use crate::sources::named::Number;
use crate::sources::text::{Text, TextError};

/// Contents of `/proc/net/netstat`: pairs of lines, with the names of a group and with its numbers.
///
/// Names need to be looked up only once: their indexes stay valid as long as [`parse`](Self::parse) returns `false`.
///
/// ```
/// use perfset_linux::sources::netstat::Netstat;
///
/// let mut netstat = Netstat::default();
/// assert_eq!(netstat.parse(b"TcpExt: TW ArpFilter\nTcpExt: 7 5\n"), Ok(true));
/// let place = netstat.find(b"TcpExtArpFilter").unwrap();
/// assert_eq!(netstat.parse(b"TcpExt: TW ArpFilter\nTcpExt: 7 6\n"), Ok(false));
/// assert_eq!(netstat.number(place), Some(Ok(6)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netstat {
    /// Lines of names in `/proc/net/netstat`, each with its newline, kept between calls of `parse`.
    heads: Vec<u8>,
    columns: Vec<NetstatColumn>,
    /// Number in each column of `/proc/net/netstat`; 0 if it is malformed.
    numbers: Vec<u64>,
    faults: Vec<(Range<usize>, TextError)>,
}

/// Group and name of a number in `/proc/net/netstat`, as ranges of `heads`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NetstatColumn {
    group: Range<usize>,
    name: Range<usize>,
}

impl Netstat {
    /// Parses `/proc/net/netstat`, replacing all previous contents. Returns `true` if names have moved, which makes
    /// indexes invalid.
    ///
    /// A malformed number affects only itself. A line that has more or fewer numbers than names affects its whole
    /// group.
    ///
    /// # Errors
    /// If `text` contains no names.
    pub fn parse(&mut self, text: &[u8]) -> Result<bool, TextError> {
        self.numbers.clear();
        self.faults.clear();
        let mut text = Text::new(text);
        let (mut known, mut changed) = (0_usize, false);
        while !text.is_at_end() {
            let head = text.line()?;
            let Some(colon) = memchr::memchr(b':', head) else { continue };
            let end = known.saturating_add(head.len());
            // Names hardly ever change: comparing the bytes of the line costs less than finding each name
            // again.
            if self.heads.get(known..end) != Some(head) || self.heads.get(end) != Some(&b'\n') {
                changed = true;
                self.forget_from(known);
                self.learn(head, colon);
            }
            self.read_numbers(&mut text, head.get(..=colon).unwrap_or_default(), end);
            known = end.saturating_add(1);
        }
        // Groups at the end of the earlier text are missing in this one.
        if known < self.heads.len() {
            changed = true;
            self.forget_from(known);
        }
        if self.columns.is_empty() { Err(text.expected("a line of names")) } else { Ok(changed) }
    }

    /// Returns the index of a number in `/proc/net/netstat`, whose group and name are given as one word, such as
    /// `TcpExtArpFilter`.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.columns.iter().position(|column| {
            let group = self.heads.get(column.group.clone()).unwrap_or_default();
            name.strip_prefix(group) == self.heads.get(column.name.clone())
        })
    }

    /// Returns the number in `/proc/net/netstat` at an index that `find` returned.
    #[must_use]
    pub fn number(&self, at: usize) -> Number {
        match self.faults.iter().find(|(range, _)| range.contains(&at)) {
            Some((_, fault)) => Some(Err(fault.clone())),
            None => self.numbers.get(at).copied().map(Ok),
        }
    }

    fn forget_from(&mut self, heads: usize) {
        self.heads.truncate(heads);
        let kept = self.columns.partition_point(|column| column.name.end <= heads);
        self.columns.truncate(kept);
    }

    /// Adds a line of names of `/proc/net/netstat`; the names follow the colon.
    fn learn(&mut self, head: &[u8], colon: usize) {
        let start = self.heads.len();
        self.heads.extend(head.iter().chain(b"\n"));
        let group = start..start.saturating_add(colon);
        let mut at = group.end.saturating_add(1);
        let names = head.get(colon..).and_then(|names| names.strip_prefix(b":")).unwrap_or_default();
        for name in names.split(u8::is_ascii_whitespace) {
            let end = at.saturating_add(name.len());
            if !name.is_empty() {
                self.columns.push(NetstatColumn { group: group.clone(), name: at..end });
            }
            at = end.saturating_add(1);
        }
    }

    /// Parses the numbers of a group in `/proc/net/netstat`, whose names end at `end` in `heads`.
    fn read_numbers(&mut self, text: &mut Text<'_>, group: &[u8], end: usize) {
        let first = self.numbers.len();
        let of_group = self.columns.get(first..).unwrap_or_default();
        let last = first.saturating_add(of_group.partition_point(|column| column.name.end <= end));
        let mut line = *text;
        let result = if line.take(group) {
            let whole = text.line();
            whole.and_then(|_| self.numbers_of_line(&mut line, first..last))
        } else {
            Err(line.expected("the numbers of the line before"))
        };
        if let Err(fault) = result {
            self.faults.push((first..last, fault));
        }
        // Whatever this group lacks, the indexes of later groups must not move.
        self.numbers.resize(last, 0);
    }

    fn numbers_of_line(&mut self, line: &mut Text<'_>, columns: Range<usize>) -> Result<(), TextError> {
        for at in columns {
            match line.number() {
                Ok(number) => self.numbers.push(number),
                Err(fault) => {
                    line.word()?; // there is none
                    self.faults.push((at..at.saturating_add(1), fault));
                    self.numbers.push(0);
                }
            }
        }
        line.end_of_line()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers that a text of `/proc/net/netstat` has for these names.
    fn read(
        netstat: &mut Netstat,
        text: &str,
        names: &[&str],
    ) -> Result<Vec<Result<u64, String>>, TextError> {
        netstat.parse(text.as_bytes())?;
        let number = |name: &&str| {
            let number = netstat.find(name.as_bytes()).and_then(|at| netstat.number(at));
            number.map_or(Err("none".to_owned()), |number| {
                number.map_err(|e| format!("{}: {}", e.line, e.found))
            })
        };
        Ok(names.iter().map(number).collect())
    }

    #[test]
    fn numbers_by_names() {
        type Want<'a> = [Result<u64, &'a str>; 4];
        let end = "the end of the line";
        let cases: [(&str, &str, Want<'_>); 12] = [
            ("in order", "A: x y\nA: 2 3\nB: x\nB: 5\n", [Ok(2), Ok(3), Ok(5), Err("none")]),
            ("in another order", "B: x\nB: 5\nA: y x z\nA: 3 2 7\n", [Ok(2), Ok(3), Ok(5), Err("none")]),
            ("a new group between", "A: x y\nA: 2 3\nC: x\nC: 7\nB: x\nB: 5\n", [Ok(2), Ok(3), Ok(5), Ok(7)]),
            ("only one", "A: y\nA: 3\n", [Err("none"), Ok(3), Err("none"), Err("none")]),
            ("blanks", "A:  x\ty \nA:\t2  3 \nB:x\nB:5\n", [Ok(2), Ok(3), Ok(5), Err("none")]),
            ("no number", "A: x y\nA: -2 3\nB: x\nB: 5\n", [Err("2: \"-2\""), Ok(3), Ok(5), Err("none")]),
            ("too large", "A: x y\nA: 2 18446744073709551616\nB: x\nB: 5\n", {
                [Ok(2), Err("2: \"18446744073709551616\""), Ok(5), Err("none")]
            }),
            ("too few", "A: x y\nA: 2\nB: x\nB: 5\n", {
                [Err(&format!("2: {end}")), Err(&format!("2: {end}")), Ok(5), Err("none")]
            }),
            (
                "too many",
                "A: x y\nA: 2 3 7\nB: x\nB: 5\n",
                [Err("2: \"7\""), Err("2: \"7\""), Ok(5), Err("none")],
            ),
            ("no line of numbers", "A: x y\nB: x\nB: 5\n", {
                [Err("2: \"B:\""), Err("2: \"B:\""), Ok(5), Err("none")]
            }),
            ("other lines", "\nfoo\nA: x y\nA: 2 3\nbar\nB: x\nB: 5\n", [Ok(2), Ok(3), Ok(5), Err("none")]),
            ("cut", "A: x y\nA: 2 3\nB: x\nB: 5", {
                [Ok(2), Ok(3), Err("4: the end of the file"), Err("none")]
            }),
        ];
        let mut used = Netstat::default();
        for (name, text, want) in cases {
            let want = want.map(|number| number.map_err(str::to_owned)).to_vec();
            let names = ["Ax", "Ay", "Bx", "Cx"];
            assert_eq!(read(&mut Netstat::default(), text, &names), Ok(want.clone()), "{name}");
            assert_eq!(read(&mut used, text, &names), Ok(want), "{name}, after others");
        }
    }

    #[test]
    fn changed_name_lines_are_detected() {
        let mut netstat = Netstat::default();
        for (text, want) in [
            ("A: x y\nA: 2 3\nB: x\nB: 5\n", Ok(true)),
            ("A: x y\nA: 3 5\nB: x\nB: 7\n", Ok(false)),
            ("A: x y\nA: 3 5\n", Ok(true)),
            ("A: x y\nA: 3 5\n", Ok(false)),
            ("A: x\nA: 3\n", Ok(true)),
            ("A: x y\nA: 3 5\nB: x\nB: 7\n", Ok(true)),
            ("A: x z\nA: 3 5\nB: x\nB: 7\n", Ok(true)),
            ("A: x z\nA: 3 5\nB: y\nB: 7\n", Ok(true)),
            ("A: x z\nA: 3 5\nB: y\nB: x\n", Ok(false)),
            ("x\n", Err(2)),
            ("", Err(1)),
            ("A: x z", Err(1)),
            ("A:\nA:\n", Err(3)),
        ] {
            assert_eq!(netstat.parse(text.as_bytes()).map_err(|e| e.line), want, "{text:?}");
        }
    }
}
