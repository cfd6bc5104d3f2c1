//! Parser of `/proc/net/snmp`: activity of IPv4 and the protocols above it since boot, and of TCP over IPv6 as well.
//!
//! Each section has two lines: the names of numbers, then the numbers. Source: `proc_pid_net(5)`, RFC 1213, and
//! `networking/snmp_counter.rst` in the kernel's documentation.

use crate::sources::mib::mib;
use crate::sources::named::Wanted;
use crate::sources::text::{Text, TextError};

mib! {
    /// Section `Ip` of `/proc/net/snmp`: datagrams of IPv4.
    ///
    /// ```
    /// use perfset_linux::sources::snmp::Ip;
    ///
    /// let mut ip = Ip::default();
    /// ip.parse(b"Ip: Forwarding InReceives InDelivers\nIp: 2 7 5\n").unwrap();
    /// assert_eq!(ip.in_receives, Some(Ok(7)));
    /// assert_eq!(ip.frag_oks, None);
    /// ```
    Ip, ended by "" {
        forwarding = "Forwarding" "1 if this machine sends packets on that are meant for others, otherwise 2."
        in_receives = "InReceives" "came, faulty ones included. Those merged on their way (GRO, LRO) are one."
        in_hdr_errors = "InHdrErrors" "thrown away because of their header."
        in_addr_errors = "InAddrErrors" "thrown away because of their destination."
        forw_datagrams = "ForwDatagrams" "meant for others and sent on."
        in_unknown_protos = "InUnknownProtos" "of a protocol that this machine does not speak."
        in_discards = "InDiscards" "thrown away as they came, although in order."
        in_delivers = "InDelivers" "handed to a protocol above."
        out_requests = "OutRequests" "to be sent. Before Linux 6.7, those sent on too."
        out_discards = "OutDiscards" "thrown away before they were sent, although in order."
        out_no_routes = "OutNoRoutes" "not sent, because no route leads there."
        reasm_reqds = "ReasmReqds" "fragments that came."
        reasm_oks = "ReasmOKs" "put together from fragments."
        reasm_fails = "ReasmFails" "failures to put fragments together."
        frag_oks = "FragOKs" "cut into fragments."
        frag_fails = "FragFails" "too large, and must not be cut."
        frag_creates = "FragCreates" "fragments that came of cutting."
    }
}

mib! {
    /// Section `Icmp` of `/proc/net/snmp`: messages of ICMP for IPv4.
    ///
    /// ```
    /// use perfset_linux::sources::snmp::Icmp;
    ///
    /// let mut icmp = Icmp::default();
    /// icmp.parse(b"Icmp: InMsgs InErrors OutMsgs\nIcmp: 7 2 5\n").unwrap();
    /// assert_eq!(icmp.out_msgs, Some(Ok(5)));
    /// ```
    Icmp, ended by "" {
        in_msgs = "InMsgs" "came, faulty ones included."
        in_errors = "InErrors" "came and were faulty, or meant for nobody."
        in_dest_unreachs = "InDestUnreachs" "type 3 that came."
        in_time_excds = "InTimeExcds" "type 11 that came."
        in_parm_probs = "InParmProbs" "type 12 that came."
        in_src_quenchs = "InSrcQuenchs" "type 4 that came."
        in_redirects = "InRedirects" "type 5 that came."
        in_echos = "InEchos" "type 8 that came."
        in_echo_reps = "InEchoReps" "type 0 that came."
        in_timestamps = "InTimestamps" "type 13 that came."
        in_timestamp_reps = "InTimestampReps" "type 14 that came."
        in_addr_masks = "InAddrMasks" "type 17 that came."
        in_addr_mask_reps = "InAddrMaskReps" "type 18 that came."
        out_msgs = "OutMsgs" "to be sent, faulty ones included."
        out_errors = "OutErrors" "not sent."
        out_dest_unreachs = "OutDestUnreachs" "type 3 that was sent."
        out_time_excds = "OutTimeExcds" "type 11 that was sent."
        out_parm_probs = "OutParmProbs" "type 12 that was sent."
        out_src_quenchs = "OutSrcQuenchs" "type 4 that was sent."
        out_redirects = "OutRedirects" "type 5 that was sent."
        out_echos = "OutEchos" "type 8 that was sent."
        out_echo_reps = "OutEchoReps" "type 0 that was sent."
        out_timestamps = "OutTimestamps" "type 13 that was sent."
        out_timestamp_reps = "OutTimestampReps" "type 14 that was sent."
        out_addr_masks = "OutAddrMasks" "type 17 that was sent."
        out_addr_mask_reps = "OutAddrMaskReps" "type 18 that was sent."
    }
}

mib! {
    /// Section `Tcp` of `/proc/net/snmp`: TCP over IPv4 and over IPv6 together.
    ///
    /// ```
    /// use perfset_linux::sources::snmp::Tcp;
    ///
    /// let mut tcp = Tcp::default();
    /// tcp.parse(b"Tcp: MaxConn ActiveOpens CurrEstab\nTcp: -1 7 2\n").unwrap();
    /// assert_eq!(tcp.curr_estab, Some(Ok(2)));
    /// ```
    Tcp, ended by "" {
        active_opens = "ActiveOpens" "connections that this machine began to open."
        passive_opens = "PassiveOpens" "connections that others opened."
        attempt_fails = "AttemptFails" "connections that could not be opened."
        estab_resets = "EstabResets" "connections that were broken off."
        curr_estab = "CurrEstab" "connections that are established, or closed by the other side only."
        in_segs = "InSegs" "segments that came, faulty ones included. Those merged on their way (GRO, LRO) are one."
        out_segs = "OutSegs" "segments that were sent for the first time."
        retrans_segs = "RetransSegs" "segments that were sent again."
        in_errs = "InErrs" "segments that came and were faulty."
        out_rsts = "OutRsts" "segments with the flag RST that were sent."
    }
}

mib! {
    /// Section `Udp` of `/proc/net/snmp`: datagrams of UDP over IPv4.
    ///
    /// ```
    /// use perfset_linux::sources::snmp::Udp;
    ///
    /// let mut udp = Udp::default();
    /// udp.parse(b"Udp: InDatagrams NoPorts\nUdp: 7 2\nUdpLite: InDatagrams\nUdpLite: 5\n").unwrap();
    /// assert_eq!(udp.in_datagrams, Some(Ok(7)));
    /// ```
    Udp, ended by "" {
        in_datagrams = "InDatagrams" "handed to programs."
        no_ports = "NoPorts" "came for a port at which nobody listened."
        in_errors = "InErrors" "came and were not delivered for other reasons."
        out_datagrams = "OutDatagrams" "sent."
        rcvbuf_errors = "RcvbufErrors" "came and were dropped, because the socket's buffer was full."
        sndbuf_errors = "SndbufErrors" "not sent, because the socket's buffer was full."
    }
}

mib! {
    /// Section `UdpLite` of `/proc/net/snmp`: datagrams of UDP-Lite over IPv4.
    ///
    /// ```
    /// use perfset_linux::sources::snmp::UdpLite;
    ///
    /// let mut udp_lite = UdpLite::default();
    /// udp_lite.parse(b"Udp: InErrors\nUdp: 7\nUdpLite: InErrors\nUdpLite: 5\n").unwrap();
    /// assert_eq!(udp_lite.in_errors, Some(Ok(5)));
    /// ```
    UdpLite, ended by "" {
        in_errors = "InErrors" "came and were not delivered, except those for a port at which nobody listened."
    }
}

/// Maximum number of TCP connections, from the section `Tcp` of `/proc/net/snmp`.
///
/// ```
/// use perfset_linux::sources::snmp::TcpLimit;
///
/// let mut limit = TcpLimit::default();
/// limit.parse(b"Tcp: RtoMax MaxConn\nTcp: 120000 -1\n").unwrap();
/// assert_eq!(limit.max_conn, Some(Ok(None)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpLimit {
    /// `MaxConn`, the maximum number of TCP connections: `Ok(None)` if there is no limit, which the kernel prints as
    /// -1.
    pub max_conn: Option<Result<Option<u64>, TextError>>,
}

impl Ip {
    /// Parses the section `Ip` of `/proc/net/snmp`, replacing all previous contents.
    ///
    /// # Errors
    /// If there is no such section, or its numbers do not match its names.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.read_by(|wanted| section(text, "Ip:", wanted))
    }
}

impl Icmp {
    /// Parses the section `Icmp` of `/proc/net/snmp`, replacing all previous contents.
    ///
    /// # Errors
    /// If there is no such section, or its numbers do not match its names.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.read_by(|wanted| section(text, "Icmp:", wanted))
    }
}

impl Tcp {
    /// Parses the section `Tcp` of `/proc/net/snmp`, replacing all previous contents.
    ///
    /// # Errors
    /// If there is no such section, or its numbers do not match its names.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.read_by(|wanted| section(text, "Tcp:", wanted))
    }
}

impl Udp {
    /// Parses the section `Udp` of `/proc/net/snmp`, replacing all previous contents.
    ///
    /// # Errors
    /// If there is no such section, or its numbers do not match its names.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.read_by(|wanted| section(text, "Udp:", wanted))
    }
}

impl UdpLite {
    /// Parses the section `UdpLite` of `/proc/net/snmp`, replacing all previous contents.
    ///
    /// # Errors
    /// If there is no such section, or its numbers do not match its names.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.read_by(|wanted| section(text, "UdpLite:", wanted))
    }
}

impl TcpLimit {
    /// Parses the section `Tcp` of `/proc/net/snmp`, replacing all previous contents.
    ///
    /// # Errors
    /// If there is no such section, or its numbers do not match its names.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.max_conn = None;
        each_of_section(text, "Tcp:", |name, numbers| {
            let mut sign = *numbers;
            sign.skip_blanks();
            let number = match sign.take(b"-") {
                true if sign.is_at_digit() && sign.number_word() == Ok(1) => {
                    *numbers = sign;
                    Ok(None)
                }
                _ => numbers.number_word().map(Some),
            };
            if name == b"MaxConn" {
                self.max_conn.get_or_insert(number);
            }
        })
    }
}

/// Parses the section of `/proc/net/snmp` whose two lines begin with `head`. A malformed number affects only itself.
fn section(text: &[u8], head: &str, wanted: &mut [Wanted<'_>]) -> Result<(), TextError> {
    each_of_section(text, head, |name, numbers| {
        // Some numbers are negative, such as `MaxConn` of TCP, which is -1. No such number is wanted, and they
        // must not fail the section.
        let number = numbers.number_word();
        if let Some((_, place)) = wanted.iter_mut().find(|(wanted, _)| wanted.as_bytes() == name) {
            place.get_or_insert(number);
        }
    })
}

/// Calls `each` with every name of the section of `/proc/net/snmp` whose two lines begin with `head`, and with the
/// text at its number, from which `each` takes one word.
fn each_of_section<'t>(
    text: &'t [u8],
    head: &str,
    mut each: impl FnMut(&[u8], &mut Text<'t>),
) -> Result<(), TextError> {
    let mut text = Text::new(text);
    // The colon is part of `head`: `Udp` is also the beginning of `UdpLite`, and `Icmp` that of `IcmpMsg`.
    while !text.take(head.as_bytes()) {
        if text.is_at_end() {
            return Err(text.expected("another section"));
        }
        text.line()?;
    }
    let mut names = text;
    text.line()?;
    if !text.take(head.as_bytes()) {
        return Err(text.expected("the numbers of the section"));
    }
    let mut numbers = text;
    text.line()?; // both are whole
    loop {
        match (names.is_at_line_end(), numbers.is_at_line_end()) {
            (true, true) => return Ok(()),
            // Without a number for each name, the others may belong to other names.
            (true, false) => return Err(numbers.expected("as many numbers as names")),
            (false, true) => return Err(numbers.expected("a number for each name")),
            (false, false) => each(names.word()?, &mut numbers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Udp, (usize, &'static str, String)> {
        let mut udp = Udp { in_errors: Some(Ok(97)), ..Udp::default() };
        udp.parse(text.as_bytes()).map(|()| udp).map_err(|e| (e.line, e.expected, e.found))
    }

    #[test]
    fn names_in_any_order_and_others_between() {
        let some = |n| Some(Ok(n));
        let all = Udp {
            in_datagrams: some(2),
            no_ports: some(3),
            in_errors: some(5),
            out_datagrams: some(7),
            ..Udp::default()
        };
        for (name, text) in [
            ("the kernel's order", "Udp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: 2 3 5 7\n"),
            ("another order", "Udp: OutDatagrams NoPorts InErrors InDatagrams\nUdp: 7 3 5 2\n"),
            ("others between", {
                "Ip: InErrors\nIp: 11\n\nUdp: x InDatagrams NoPorts -y InErrors OutDatagrams z\nUdp: 1 2 3 -1 5 7 ?\n"
            }),
            ("other sections", {
                "UdpLite: NoPorts\nUdpLite: 1\nUdp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: 2 3 5 7\nx"
            }),
            (
                "twice",
                "Udp: InDatagrams InDatagrams NoPorts InErrors OutDatagrams\nUdp: 2 1 3 5 7\nUdp: x\nUdp: 1\n",
            ),
            ("blanks", "Udp:\t InDatagrams  NoPorts InErrors OutDatagrams \nUdp:2 3\t5 7  \n"),
        ] {
            assert_eq!(read(text), Ok(all.clone()), "{name}");
        }
        let few = Udp { no_ports: some(3), ..Udp::default() };
        assert_eq!(read("Udp: NoPorts\nUdp: 3\n"), Ok(few));
        assert_eq!(read("Udp:\nUdp:\n"), Ok(Udp::default()));
    }

    #[test]
    fn a_word_that_is_no_number_costs_itself() {
        for (word, expected) in [
            ("x", "a number"),
            ("-1", "a number"),
            ("3x", "a number"),
            ("18446744073709551616", "a number below 2^64"),
        ] {
            let udp = read(&format!("Udp: InDatagrams NoPorts\nUdp: {word} 3\n")).unwrap();
            let wrong = TextError { line: 2, expected, found: format!("{word:?}") };
            assert_eq!((udp.in_datagrams, udp.no_ports), (Some(Err(wrong)), Some(Ok(3))), "{word}");
        }
    }

    #[test]
    fn limits_of_connections() {
        for (number, want) in [
            ("-1", Ok(None)),
            ("0", Ok(Some(0))),
            ("7", Ok(Some(7))),
            ("-2", Err("\"-2\"")),
            ("-1x", Err("\"-1x\"")),
            ("--1", Err("\"--1\"")),
            ("-", Err("\"-\"")),
            ("x", Err("\"x\"")),
        ] {
            let mut limit = TcpLimit { max_conn: Some(Ok(Some(97))) };
            limit.parse(format!("Tcp: A MaxConn B\nTcp: -3 {number} 5\n").as_bytes()).unwrap();
            let got = limit.max_conn.unwrap().map_err(|error| error.found);
            assert_eq!(got, want.map_err(str::to_owned), "{number}");
        }
        let mut limit = TcpLimit { max_conn: Some(Ok(Some(97))) };
        limit.parse(b"Tcp: A\nTcp: 2\n").unwrap();
        assert_eq!(limit.max_conn, None);
        assert!(limit.parse(b"Tcp: MaxConn\nTcp: 2").is_err());
    }

    #[test]
    fn a_section_that_makes_no_sense() {
        let end = "the end of the line";
        let file = "the end of the file";
        for (name, text, line, expected, found) in [
            ("nothing", "", 1, "another section", file),
            ("another section", "Ip: x\nIp: 2\n", 3, "another section", file),
            ("too few", "Udp: InDatagrams NoPorts\nUdp: 2\n", 2, "a number for each name", end),
            ("too many", "Udp: InDatagrams\nUdp: 2 3\n", 2, "as many numbers as names", "\"3\""),
            ("one line", "Udp: NoPorts\n", 2, "the numbers of the section", file),
            (
                "one line before another section",
                "Udp: NoPorts\nIp: 3\n",
                2,
                { "the numbers of the section" },
                "\"Ip:\"",
            ),
            ("cut names", "Udp: NoPor", 1, "the rest of the line", file),
            ("cut numbers", "Udp: NoPorts\nUdp: 37", 2, "the rest of the line", file),
            ("cut before", "Ip: In", 1, "the rest of the line", file),
        ] {
            assert_eq!(read(text), Err((line, expected, found.to_owned())), "{name}");
        }
    }
}
