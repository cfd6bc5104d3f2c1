//! Parser of `/proc/net/dev`: data received and sent by each network interface.
//!
//! Source: `proc_pid_net(5)`, `Documentation/networking/statistics.rst`.

use crate::sources::text::{Text, TextError};

/// Network interfaces in the kernel's order, from the `/proc/net/dev` of a network namespace.
///
/// Columns are identified by their names, which are in the first two lines.
///
/// ```
/// use perfset_linux::sources::net_dev::NetDev;
///
/// let mut dev = NetDev::default();
/// dev.parse(b"Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n  eth0: 7 2 5 3\n")?;
/// let counts = dev.interfaces()[0].counts.as_ref().unwrap();
/// assert_eq!((dev.interfaces()[0].name.as_slice(), counts.tx_bytes), (&b"eth0"[..], Some(5)));
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetDev {
    /// First two lines of `/proc/net/dev`, kept between calls of `parse` so that `columns` is computed only if they
    /// change.
    heads: Vec<u8>,
    columns: Vec<Column>,
    interfaces: Vec<Interface>,
}

/// Line of a network interface in `/proc/net/dev`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the network interface: any bytes except `/`, blanks and, in newer kernels, `:`.
    pub name: Vec<u8>,
    /// Numbers of the network interface's line, or the error in them.
    pub counts: Result<Counts, TextError>,
}

/// Counts of a network interface since it was created; a count is `None` if the kernel has no such column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of bytes that the network interface received.
    pub rx_bytes: Option<u64>,
    /// Number of packets that the network interface received.
    pub rx_packets: Option<u64>,
    /// Number of received packets with an error.
    pub rx_errors: Option<u64>,
    /// Number of received packets that were dropped, by the kernel or because the interface had no room.
    pub rx_dropped: Option<u64>,
    /// Number of received packets that were lost because a queue of the interface was full.
    pub rx_fifo: Option<u64>,
    /// Number of received packets that were malformed: wrong length, checksum or alignment, or too long for a buffer.
    pub rx_frame: Option<u64>,
    /// Number of received packets that were compressed.
    pub rx_compressed: Option<u64>,
    /// Number of received multicast packets.
    pub rx_multicast: Option<u64>,
    /// Number of bytes that the network interface sent.
    pub tx_bytes: Option<u64>,
    /// Number of packets that the network interface sent.
    pub tx_packets: Option<u64>,
    /// Number of packets that could not be sent because of an error.
    pub tx_errors: Option<u64>,
    /// Number of network packets that were dropped instead of sent.
    pub tx_dropped: Option<u64>,
    /// Number of packets that could not be sent because a queue of the interface failed.
    pub tx_fifo: Option<u64>,
    /// Number of collisions while network packets were sent.
    pub tx_collisions: Option<u64>,
    /// Number of packets that could not be sent because the carrier was lost, or the sending was aborted.
    pub tx_carrier: Option<u64>,
    /// Number of sent network packets that were compressed.
    pub tx_compressed: Option<u64>,
}

/// Field for the numbers of a column of `/proc/net/dev`; `None` if the column is not needed.
type Column = Option<NetDevField>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NetDevField {
    RxBytes,
    RxPackets,
    RxErrors,
    RxDropped,
    RxFifo,
    RxFrame,
    RxCompressed,
    RxMulticast,
    TxBytes,
    TxPackets,
    TxErrors,
    TxDropped,
    TxFifo,
    TxCollisions,
    TxCarrier,
    TxCompressed,
}

impl Counts {
    fn place(&mut self, field: NetDevField) -> &mut Option<u64> {
        match field {
            NetDevField::RxBytes => &mut self.rx_bytes,
            NetDevField::RxPackets => &mut self.rx_packets,
            NetDevField::RxErrors => &mut self.rx_errors,
            NetDevField::RxDropped => &mut self.rx_dropped,
            NetDevField::RxFifo => &mut self.rx_fifo,
            NetDevField::RxFrame => &mut self.rx_frame,
            NetDevField::RxCompressed => &mut self.rx_compressed,
            NetDevField::RxMulticast => &mut self.rx_multicast,
            NetDevField::TxBytes => &mut self.tx_bytes,
            NetDevField::TxPackets => &mut self.tx_packets,
            NetDevField::TxErrors => &mut self.tx_errors,
            NetDevField::TxDropped => &mut self.tx_dropped,
            NetDevField::TxFifo => &mut self.tx_fifo,
            NetDevField::TxCollisions => &mut self.tx_collisions,
            NetDevField::TxCarrier => &mut self.tx_carrier,
            NetDevField::TxCompressed => &mut self.tx_compressed,
        }
    }
}

impl NetDev {
    /// Parses `/proc/net/dev`, replacing all previous contents.
    ///
    /// # Errors
    /// If the first two lines name none of the columns. A line without a name is skipped.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        self.read_heads(&mut text)?;
        let mut count = 0_usize;
        while !text.is_at_end() {
            let mut line = text;
            let end = text.line();
            // A name may contain colons in older kernels; numbers never do.
            let Ok(name) = line.until_last_colon() else { continue };
            if self.interfaces.len() == count {
                self.interfaces.push(Interface { name: Vec::new(), counts: Ok(Counts::default()) });
            }
            let Some(interface) = self.interfaces.get_mut(count) else { break };
            interface.name.clear();
            interface.name.extend_from_slice(name.trim_ascii_end());
            interface.counts = end.and_then(|_| counts(&self.columns, &mut line));
            count = count.saturating_add(1);
        }
        self.interfaces.truncate(count);
        Ok(())
    }

    /// Returns the network interfaces, including the loopback interface.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn read_heads(&mut self, text: &mut Text<'_>) -> Result<(), TextError> {
        let start = *text;
        let (groups, names) = (text.line()?, text.line()?);
        let is_known =
            self.heads.strip_prefix(groups).and_then(|rest| rest.strip_prefix(b"\n")) == Some(names);
        if !is_known {
            self.columns.clear();
            self.columns.extend(columns(groups, names));
            self.heads.clear();
            self.heads.extend(groups.iter().chain(b"\n").chain(names));
        }
        if self.columns.iter().any(Option::is_some) {
            Ok(())
        } else {
            Err(start.expected("two lines with the names of columns"))
        }
    }
}

/// Returns the columns of `/proc/net/dev`, from the names of groups in the first line and the names of columns in the
/// second.
fn columns<'a>(groups: &'a [u8], names: &'a [u8]) -> impl Iterator<Item = Column> + 'a {
    let is_bar = |byte: &u8| *byte == b'|';
    let parts = groups.split(is_bar).zip(names.split(is_bar)).skip(1); // before the first bar is the interface
    parts.flat_map(|(group, names)| {
        let group = group.trim_ascii();
        let words = names.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.map(move |name| column(group, name))
    })
}

fn column(group: &[u8], name: &[u8]) -> Column {
    match (group, name) {
        (b"Receive", b"bytes") => Some(NetDevField::RxBytes),
        (b"Receive", b"packets") => Some(NetDevField::RxPackets),
        (b"Receive", b"errs") => Some(NetDevField::RxErrors),
        (b"Receive", b"drop") => Some(NetDevField::RxDropped),
        (b"Receive", b"fifo") => Some(NetDevField::RxFifo),
        (b"Receive", b"frame") => Some(NetDevField::RxFrame),
        (b"Receive", b"compressed") => Some(NetDevField::RxCompressed),
        (b"Receive", b"multicast") => Some(NetDevField::RxMulticast),
        (b"Transmit", b"bytes") => Some(NetDevField::TxBytes),
        (b"Transmit", b"packets") => Some(NetDevField::TxPackets),
        (b"Transmit", b"errs") => Some(NetDevField::TxErrors),
        (b"Transmit", b"drop") => Some(NetDevField::TxDropped),
        (b"Transmit", b"fifo") => Some(NetDevField::TxFifo),
        (b"Transmit", b"colls") => Some(NetDevField::TxCollisions),
        (b"Transmit", b"carrier") => Some(NetDevField::TxCarrier),
        (b"Transmit", b"compressed") => Some(NetDevField::TxCompressed),
        _ => None,
    }
}

fn counts(columns: &[Column], line: &mut Text<'_>) -> Result<Counts, TextError> {
    let mut counts = Counts::default();
    for column in columns {
        let number = line.number()?;
        if let Some(field) = column {
            *counts.place(*field) = Some(number);
        }
    }
    // With more numbers than names, the numbers would belong to other columns than assumed.
    line.end_of_line()?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: &str = "Inter-| Receive | Transmit\n face |bytes packets drop|packets bytes\n";

    fn parse(text: &str) -> Result<NetDev, TextError> {
        let mut dev = NetDev::default();
        dev.parse(text.as_bytes()).map(|()| dev)
    }

    #[test]
    fn lines() {
        let right = Counts {
            rx_bytes: Some(2),
            rx_packets: Some(3),
            rx_dropped: Some(5),
            tx_packets: Some(7),
            tx_bytes: Some(11),
            ..Counts::default()
        };
        for (line, want) in [
            ("  eth0: 2 3 5 7 11\n", Some(("eth0", Ok(right)))),
            ("eth0:2 3 5 7 11 \n", Some(("eth0", Ok(right)))),
            ("a.b-c@x: 2 3 5 7 11\n", Some(("a.b-c@x", Ok(right)))),
            ("eth0:1: 2 3 5 7 11\n", Some(("eth0:1", Ok(right)))),
            ("eth0:1:2 3 5 7 11\n", Some(("eth0:1", Ok(right)))),
            ("eth0: 2 3 5 7\n", Some(("eth0", Err("the end of the line")))),
            ("eth0: 2 3 5 7 11 13\n", Some(("eth0", Err("\"13\"")))),
            ("eth0: 2 3 x 7 11\n", Some(("eth0", Err("\"x\"")))),
            ("eth0: 2 3 5 7 11", Some(("eth0", Err("the end of the file")))),
            ("eth0 2 3 5 7 11\n", None),
            ("\n", None),
        ] {
            let text = format!("{HEADS}{line}");
            let dev = parse(&text).unwrap();
            let got = dev.interfaces().iter().map(|interface| {
                let counts = interface.counts.clone().map_err(|error| error.found);
                (str::from_utf8(&interface.name).unwrap(), counts)
            });
            let want = want.map(|(name, counts)| (name, counts.map_err(str::to_owned)));
            assert_eq!(got.collect::<Vec<_>>(), Vec::from_iter(want), "{line:?}");
        }
    }

    #[test]
    fn a_faulty_line_costs_no_other() {
        let dev = parse(&format!("{HEADS}a: 2 3 5 7 11\nb: x\nc\n\nd: 13 17 19 23 29\n")).unwrap();
        let got = dev
            .interfaces()
            .iter()
            .map(|i| (i.name.as_slice(), i.counts.as_ref().ok().and_then(|c| c.rx_bytes)));
        assert_eq!(got.collect::<Vec<_>>(), [(&b"a"[..], Some(2)), (b"b", None), (b"d", Some(13))]);
    }

    #[test]
    fn other_columns() {
        let mut dev = parse(&format!("{HEADS}a: 2 3 5 7 11\n")).unwrap();
        dev.parse(b"Inter-| Transmit|Receive\n face|drop new|multicast\nb: 2 3 5\n").unwrap();
        let want = Counts { tx_dropped: Some(2), rx_multicast: Some(5), ..Counts::default() };
        assert_eq!(dev.interfaces()[0].counts, Ok(want));
        let all = Interface { name: b"b".to_vec(), counts: Ok(want) };
        assert_eq!(dev.interfaces(), [all]);
    }

    /// Checks the columns that the kernel prints, in its order, each with its own number.
    #[test]
    fn every_column_of_the_kernel() {
        let heads = "Inter-| Receive | Transmit\n face |bytes packets errs drop fifo frame compressed multicast|\
                     bytes packets errs drop fifo colls carrier compressed\n";
        let dev = parse(&format!("{heads}a: 2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53\n")).unwrap();
        let want = Counts {
            rx_bytes: Some(2),
            rx_packets: Some(3),
            rx_errors: Some(5),
            rx_dropped: Some(7),
            rx_fifo: Some(11),
            rx_frame: Some(13),
            rx_compressed: Some(17),
            rx_multicast: Some(19),
            tx_bytes: Some(23),
            tx_packets: Some(29),
            tx_errors: Some(31),
            tx_dropped: Some(37),
            tx_fifo: Some(41),
            tx_collisions: Some(43),
            tx_carrier: Some(47),
            tx_compressed: Some(53),
        };
        assert_eq!(dev.interfaces()[0].counts, Ok(want));
    }

    #[test]
    fn no_sense_as_a_whole() {
        for text in
            ["", "x\n", "x\ny\n", "Inter-| Receive\n face |bytes", "| Receive\n|octets\n", "bytes\nbytes\n"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
