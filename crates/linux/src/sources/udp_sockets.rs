//! Parser of `/proc/net/udp` and `/proc/net/udp6`: a line for each UDP socket, after a line of column names.
//!
//! Source: `proc_pid_net(5)`. The queues are bytes of memory, including the kernel's own overhead for each datagram.

use super::socket_table::{SocketTable, hexadecimal};
use super::text::{Text, TextError};

/// Sums of the queues of all UDP sockets, added chunk by chunk, because `/proc/net/udp` may have very many lines.
///
/// ```
/// use perfset_linux::sources::udp_sockets::UdpSockets;
///
/// let mut sockets = UdpSockets::default();
/// sockets.add(b"   sl  local_address rem_address   st tx_queue rx_queue\n")?;
/// sockets.add(b"  12: 0100007F:0035 00000000:0000 07 00000000:00000300 00:00000000\n")?;
/// assert_eq!(sockets.queues()?.receive, 768);
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UdpSockets {
    queues: Queues,
    table: SocketTable,
}

/// Number of bytes that wait in the queues of UDP sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// Number of bytes that programs have sent over UDP, and that the interface has not sent yet.
    pub transmit: u64,
    /// Number of bytes that were received over UDP, and that no program has read yet.
    pub receive: u64,
}

impl UdpSockets {
    /// Adds the queues of the UDP sockets in the next chunk of the file.
    ///
    /// # Errors
    /// If the chunk does not end with a line, or a line is not as documented, because the sums would be wrong.
    pub fn add(&mut self, piece: &[u8]) -> Result<(), TextError> {
        let Self { queues: sums, table } = self;
        table.add(piece, |text| {
            text.word()?; // state
            let queues = queues(text)?;
            sums.transmit = sums.transmit.saturating_add(queues.transmit);
            sums.receive = sums.receive.saturating_add(queues.receive);
            Ok(())
        })
    }

    /// Returns the sums of the queues over the UDP sockets of all chunks.
    ///
    /// # Errors
    /// If there were not even column names.
    pub fn queues(&self) -> Result<Queues, TextError> {
        self.table.heads().map(|()| self.queues)
    }
}

/// Parses the queues of a UDP socket: two hexadecimal numbers of eight digits, joined by a colon.
fn queues(text: &mut Text<'_>) -> Result<Queues, TextError> {
    text.skip_blanks();
    let before = *text;
    let word = text.word()?;
    let parsed = word.split_at_checked(8).and_then(|(transmit, rest)| {
        let receive = rest.strip_prefix(b":").filter(|receive| receive.len() == 8)?;
        Some(Queues { transmit: hexadecimal(transmit)?, receive: hexadecimal(receive)? })
    });
    parsed.ok_or_else(|| before.expected("two queues of eight hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: &str =
        "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n";

    #[test]
    fn lines() {
        /// Expected sums of both queues, or the line number of the expected error, the expected text and the text
        /// found there.
        type Want = Result<(u64, u64), (usize, &'static str, &'static str)>;
        let wrong = "two queues of eight hexadecimal digits";
        let cases: [(&str, &str, Want); 11] = [
            ("none", "", Ok((0, 0))),
            ("sums", "1: a b 07 00000002:0000000A x\n 12: a b 01 00000100:000000F0 x\n", Ok((258, 250))),
            ("the largest", "1: a b 07 FFFFFFFF:FFFFFFFF x\n", Ok((0xFFFF_FFFF, 0xFFFF_FFFF))),
            ("nothing behind the queues", "1: a b 07 00000002:0000000A\n", Ok((2, 10))),
            ("too few words", "1: a b 07\n", Err((2, "a word", "the end of the line"))),
            ("small letters", "1: a b 07 00000002:0000000a x\n", Err((2, wrong, "\"00000002:0000000a\""))),
            ("no colon", "1: a b 07 00000002 0000000A x\n", Err((2, wrong, "\"00000002\""))),
            ("short", "1: a b 07 0000002:0000000A x\n", Err((2, wrong, "\"0000002:0000000A\""))),
            ("long", "1: a b 07 00000002:0000000A0 x\n", Err((2, wrong, "\"00000002:0000000A0\""))),
            ("an empty line", "1: a b 07 00000002:0000000A\n\n", Err((3, "a word", "the end of the line"))),
            ("cut", "1: a b 07 00000002:0000000A", Err((2, "the rest of the line", "the end of the file"))),
        ];
        for (name, text, want) in cases {
            let mut sockets = UdpSockets::default();
            let whole = sockets.add(format!("{HEADS}{text}").as_bytes()).and_then(|()| sockets.queues());
            let whole = whole.map(|queues| (queues.transmit, queues.receive));
            let whole = whole.map_err(|e| (e.line, e.expected, e.found));
            assert_eq!(
                whole,
                want.map_err(|(line, expected, found)| (line, expected, found.to_owned())),
                "{name}"
            );
        }
        let error = UdpSockets::default().add(b"1: a b 07 00000002:0000000A\n").unwrap_err();
        assert_eq!((error.line, error.expected), (1, "the heads of the columns"));
        assert_eq!(UdpSockets::default().queues().unwrap_err().found, "the end of the file");
    }
}
