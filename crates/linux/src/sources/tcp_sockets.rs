//! Parser of `/proc/net/tcp` and `/proc/net/tcp6`: a line for each TCP socket, after a line of column names.
//!
//! Source: `networking/proc_net_tcp.rst` in the kernel's documentation, and `include/net/tcp_states.h` for states.

use super::socket_table::{SocketTable, hexadecimal};
use super::text::{Text, TextError};

/// Names of the states of TCP sockets in small letters, from state 1, `TCP_ESTABLISHED`.
pub const STATES: [&str; 11] = [
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
];

/// Index of the state `established` in [`STATES`]; those of other states follow.
const ESTABLISHED: usize = 0;
const SYN_RECV: usize = 2;
const CLOSE_WAIT: usize = 7;

/// Number of TCP sockets in each state, counted chunk by chunk, because `/proc/net/tcp` may have millions of lines.
///
/// ```
/// use perfset_linux::sources::tcp_sockets::TcpSockets;
///
/// let mut sockets = TcpSockets::default();
/// sockets.add(b"  sl  local_address rem_address   st tx_queue\n")?;
/// sockets.add(b"   0: 0100007F:0016 00000000:0000 0A 00000000\n")?; // listens
/// sockets.add(b"   1: 0100007F:0016 0200007F:C350 01 00000000\n")?;
/// assert_eq!(sockets.connections()?, 1);
/// assert_eq!(sockets.by_state()?[9], 1);
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpSockets {
    /// Number of TCP sockets in each state, in the order of [`STATES`].
    by_state: [u64; STATES.len()],
    table: SocketTable,
}

impl TcpSockets {
    /// Counts the TCP sockets in the lines of the next chunk of the file.
    ///
    /// # Errors
    /// If the chunk does not end with a line, or a line is not as documented, because the count would be wrong.
    pub fn add(&mut self, piece: &[u8]) -> Result<(), TextError> {
        let Self { by_state, table } = self;
        table.add(piece, |text| {
            // A newer kernel may have states that none of the numbers covers.
            if let Some(count) = by_state.get_mut(state(text)?) {
                *count = count.saturating_add(1);
            }
            Ok(())
        })
    }

    /// Returns the number of TCP connections in all chunks that are established, or closed only by the other side:
    /// the same two states as in the kernel's own `CurrEstab`.
    ///
    /// # Errors
    /// If there were not even column names.
    pub fn connections(&self) -> Result<u64, TextError> {
        let by_state = self.by_state()?;
        let of = |state: usize| by_state.get(state).copied().unwrap_or(0);
        Ok(of(ESTABLISHED).saturating_add(of(CLOSE_WAIT)))
    }

    /// Returns the number of TCP sockets in each state in all chunks, in the order of [`STATES`].
    ///
    /// # Errors
    /// If there were not even column names.
    pub fn by_state(&self) -> Result<[u64; STATES.len()], TextError> {
        self.table.heads().map(|()| self.by_state)
    }
}

/// Parses the state of a TCP socket: two hexadecimal digits. Returns its index in [`STATES`], or a larger number.
fn state(text: &mut Text<'_>) -> Result<usize, TextError> {
    text.skip_blanks();
    let before = *text;
    let number = match text.word()? {
        digits @ [_, _] => hexadecimal(digits),
        _ => None,
    };
    match number.ok_or_else(|| before.expected("a state of two digits"))? {
        // TCP_NEW_SYN_RECV, the kernel's own name of a connection that is opening.
        0xC => Ok(SYN_RECV),
        // No state has the number 0.
        number => Ok(usize::try_from(number.wrapping_sub(1)).unwrap_or(usize::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: &str =
        "  sl  local_address                         remote_address                        st tx\n";

    #[test]
    fn lines() {
        /// Expected number of TCP connections, or the line number of the expected error, the expected text and the
        /// text found there.
        type Want = Result<u64, (usize, &'static str, &'static str)>;
        let cases: [(&str, &str, Want); 11] = [
            ("none", "", Ok(0)),
            ("states", "0: a b 01 x\n1: a b 02 x\n2: a b 08 x\n3: a b 0A x\n4: a b 0C x\n", Ok(2)),
            ("wide numbers", "  12345: a b 01 x\n", Ok(1)),
            ("nothing behind the state", "0: a b 08\n", Ok(1)),
            ("the state before others", "0: 01 08 0A 01 08\n", Ok(0)),
            ("too few words", "0: a b 01 x\n1: a b\n", Err((3, "a word", "the end of the line"))),
            ("no state", "0: a b 1 x\n", Err((2, "a state of two digits", "\"1\""))),
            ("a word as state", "0: a b 0100 x\n", Err((2, "a state of two digits", "\"0100\""))),
            ("small letters", "0: a b 0a x\n", Err((2, "a state of two digits", "\"0a\""))),
            ("an empty line", "0: a b 01 x\n\n", Err((3, "a word", "the end of the line"))),
            ("cut", "0: a b 01 x\n1: a b 01", Err((3, "the rest of the line", "the end of the file"))),
        ];
        for (name, text, want) in cases {
            let mut sockets = TcpSockets::default();
            let whole = sockets.add(format!("{HEADS}{text}").as_bytes()).and_then(|()| sockets.connections());
            let whole = whole.map_err(|e| (e.line, e.expected, e.found));
            assert_eq!(
                whole,
                want.map_err(|(line, expected, found)| (line, expected, found.to_owned())),
                "{name}"
            );

            let mut sockets = TcpSockets::default();
            let lines = HEADS.split_inclusive('\n').chain(text.split_inclusive('\n'));
            let mut added = lines.map(|line| sockets.add(line.as_bytes()));
            let pieces = added.find(Result::is_err).unwrap_or(Ok(()));
            drop(added);
            let pieces = pieces.and_then(|()| sockets.connections());
            assert_eq!(pieces.map_err(|e| (e.line, e.expected, e.found)), whole, "{name}, line by line");
        }
    }

    #[test]
    fn states() {
        let lines: String =
            (0..=0x10).map(|state| format!("{state}: a b {state:02X} x\n").repeat(state + 1)).collect();
        let mut sockets = TcpSockets::default();
        sockets.add(format!("{HEADS}{lines}").as_bytes()).unwrap();
        // State 12 counts with state 3; 0, 13 and later ones are unknown.
        assert_eq!(sockets.by_state(), Ok([2, 3, 4 + 13, 5, 6, 7, 8, 9, 10, 11, 12]));
        assert_eq!(sockets.connections(), Ok(2 + 9));
    }

    #[test]
    fn heads() {
        let error = TcpSockets::default().add(b"0: a b 01 x\n").unwrap_err();
        assert_eq!((error.line, error.expected), (1, "the heads of the columns"));
        let error = TcpSockets::default().connections().unwrap_err();
        assert_eq!((error.line, error.found.as_str()), (1, "the end of the file"));
    }
}
