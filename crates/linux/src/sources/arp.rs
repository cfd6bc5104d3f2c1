//! Parser of `/proc/net/arp`: a line for each neighbour whose hardware address ARP has found or looks for, after a
//! line of column names.
//!
//! Source: `proc_pid_net(5)`. Neighbours on interfaces that need no ARP, such as the loopback interface, have no line.

use crate::sources::text::{Text, TextError};

/// Parser of `/proc/net/arp`, chunk by chunk, because a router may have very many neighbours.
///
/// ```
/// use perfset_linux::sources::arp::ArpTable;
///
/// let (mut table, mut on_eth0) = (ArpTable::default(), 0);
/// table.add(b"IP address HW type Flags HW address Mask Device\n", |_| ())?;
/// table.add(b"192.0.2.1 0x1 0x2 02:00:00:00:00:01 * eth0\n", |device| on_eth0 += u32::from(device == b"eth0"))?;
/// assert_eq!((table.entries()?, on_eth0), (1, 1));
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArpTable {
    /// Number of lines of `/proc/net/arp` that were parsed, including the column names.
    lines: usize,
}

impl ArpTable {
    /// Parses the lines of the next chunk of `/proc/net/arp`, and calls `each` with the interface of every entry.
    ///
    /// # Errors
    /// If the chunk does not end with a line, or a line is not as documented, because counts would be wrong.
    pub fn add(&mut self, piece: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), TextError> {
        let mut text = Text::new(piece);
        let before = self.lines;
        let all = self.parse(&mut text, &mut each);
        // The cursor counts the lines of this chunk only.
        all.map_err(|error| TextError { line: error.line.saturating_add(before), ..error })
    }

    fn parse(&mut self, text: &mut Text<'_>, each: &mut dyn FnMut(&[u8])) -> Result<(), TextError> {
        while !text.is_at_end() {
            if self.lines == 0 {
                if !text.take(b"IP address ") {
                    return Err(text.expected("the heads of the columns"));
                }
                text.line()?;
            } else {
                let start = *text;
                let line = text.line()?;
                each(device(line).ok_or_else(|| start.expected("an entry of six columns"))?);
            }
            self.lines = self.lines.saturating_add(1);
        }
        Ok(())
    }

    /// Returns the number of neighbours in all chunks of `/proc/net/arp`.
    ///
    /// # Errors
    /// If there were not even column names.
    pub fn entries(&self) -> Result<usize, TextError> {
        let entries = self.lines.checked_sub(1);
        entries.ok_or_else(|| Text::new(b"").expected("the heads of the columns"))
    }
}

/// Returns the interface in a line of `/proc/net/arp`; `None` if the line is no entry.
fn device(line: &[u8]) -> Option<&[u8]> {
    let words = |line: &'_ [u8]| line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    // The hardware address is empty on interfaces without one, so the line is read from its end.
    let line = line.trim_ascii_end();
    let at = line.iter().rposition(is_blank)?.checked_add(1)?;
    let (before, device) = line.split_at_checked(at)?;
    let mask_is_last = before.trim_ascii_end().ends_with(b" *");
    (mask_is_last && words(before) >= 4).then_some(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: &str = "IP address       HW type     Flags       HW address            Mask     Device\n";

    fn parse(pieces: &[&str]) -> Result<Vec<String>, (usize, &'static str, String)> {
        let (mut table, mut devices) = (ArpTable::default(), Vec::new());
        let add = |piece: &&str| {
            table.add(piece.as_bytes(), |device| devices.push(String::from_utf8(device.to_vec()).unwrap()))
        };
        let added = pieces.iter().try_for_each(add).and_then(|()| table.entries());
        let entries = added.map_err(|e| (e.line, e.expected, e.found))?;
        assert_eq!(entries, devices.len());
        Ok(devices)
    }

    #[test]
    fn lines() {
        let columns = "an entry of six columns";
        for (name, text, want) in [
            ("none", "", Ok(vec![])),
            (
                "two",
                "192.0.2.1        0x1         0x2         02:00:00:00:00:01     *        eth0\n\
                 192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        wlan0\n",
                Ok(vec!["eth0", "wlan0"]),
            ),
            (
                "no hardware address",
                "192.0.2.1        0x309       0x6                               *        tun0\n",
                Ok(vec!["tun0"]),
            ),
            ("a name of signs", "192.0.2.1 0x1 0x2 00:01 * a.b-c@x:*\n", Ok(vec!["a.b-c@x:*"])),
            ("no device", "192.0.2.1 0x1 0x2 00:01 *\n", Err((2, columns, "\"192.0.2.1\""))),
            ("no mask", "192.0.2.1 0x1 0x2 00:01 eth0\n", Err((2, columns, "\"192.0.2.1\""))),
            ("too few", "192.0.2.1 0x1 * eth0\n", Err((2, columns, "\"192.0.2.1\""))),
            ("an empty line", "192.0.2.1 0x1 0x2 00:01 * eth0\n\n", Err((3, columns, "the end of the line"))),
            ("cut", "192.0.2.1 0x1 0x2 00:01 * eth", Err((2, "the rest of the line", "the end of the file"))),
        ] {
            let want = want.map(|devices| devices.into_iter().map(str::to_owned).collect::<Vec<_>>());
            let want = want.map_err(|(line, expected, found)| (line, expected, found.to_owned()));
            assert_eq!(parse(&[&format!("{HEADS}{text}")]), want, "{name}");
            let pieces: Vec<_> = HEADS.split_inclusive('\n').chain(text.split_inclusive('\n')).collect();
            assert_eq!(parse(&pieces), want, "{name}, by line");
        }
    }

    #[test]
    fn no_table() {
        let heads = "the heads of the columns";
        assert_eq!(parse(&[]), Err((1, heads, "the end of the file".to_owned())));
        assert_eq!(parse(&["192.0.2.1 0x1 0x2 00:01 * eth0\n"]), Err((1, heads, "\"192.0.2.1\"".to_owned())));
    }
}
