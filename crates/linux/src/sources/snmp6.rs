//! Parser of `/proc/net/snmp6`: activity of IPv6 and the protocols above it since boot, except TCP.
//!
//! Each line has a name and a number. Source: `proc_pid_net(5)`, RFC 2465, RFC 2466. The kernel prints every name,
//! even if its number is 0. Only messages by the number of their type (`Icmp6InType135`) are left out while there are
//! none. A missing name is therefore unknown to the kernel.

use crate::sources::mib::mib;
use crate::sources::named::numbers;
use crate::sources::text::{Text, TextError};

mib! {
    /// Lines `Ip6…` of `/proc/net/snmp6`: datagrams of IPv6.
    ///
    /// ```
    /// use perfset_linux::sources::snmp6::Ip6;
    ///
    /// let mut ip = Ip6::default();
    /// ip.parse(b"Ip6InReceives                   \t7\nIp6InHdrErrors                  \t0\n").unwrap();
    /// assert_eq!(ip.in_receives, Some(Ok(7)));
    /// assert_eq!(ip.frag_oks, None);
    /// ```
    Ip6, ended by " " {
        in_receives = "Ip6InReceives" "came, faulty ones included. Those merged on their way (GRO, LRO) are one."
        in_hdr_errors = "Ip6InHdrErrors" "thrown away because of their header."
        in_no_routes = "Ip6InNoRoutes" "meant for others, and no route leads there."
        in_addr_errors = "Ip6InAddrErrors" "thrown away because of their destination."
        in_unknown_protos = "Ip6InUnknownProtos" "of a protocol that this machine does not speak."
        in_discards = "Ip6InDiscards" "thrown away as they came, although in order."
        in_delivers = "Ip6InDelivers" "handed to a protocol above."
        out_forw_datagrams = "Ip6OutForwDatagrams" "meant for others and sent on."
        out_requests = "Ip6OutRequests" "to be sent. Before Linux 6.7, those sent on too."
        out_discards = "Ip6OutDiscards" "thrown away before they were sent, although in order."
        out_no_routes = "Ip6OutNoRoutes" "not sent, because no route leads there."
        reasm_reqds = "Ip6ReasmReqds" "fragments that came."
        reasm_oks = "Ip6ReasmOKs" "put together from fragments."
        reasm_fails = "Ip6ReasmFails" "failures to put fragments together."
        frag_oks = "Ip6FragOKs" "cut into fragments."
        frag_fails = "Ip6FragFails" "too large, and must not be cut."
        frag_creates = "Ip6FragCreates" "fragments that came of cutting."
        in_octets = "Ip6InOctets" "bytes that came."
        out_octets = "Ip6OutOctets" "bytes that were sent."
    }
}

mib! {
    /// Lines `Icmp6…` of `/proc/net/snmp6`: messages of ICMP for IPv6.
    ///
    /// ```
    /// use perfset_linux::sources::snmp6::Icmp6;
    ///
    /// let mut icmp = Icmp6::default();
    /// icmp.parse(b"Icmp6InMsgs                     \t7\nIcmp6InType135                  \t5\n").unwrap();
    /// assert_eq!(icmp.in_msgs, Some(Ok(7)));
    /// ```
    Icmp6, ended by " " {
        in_msgs = "Icmp6InMsgs" "came, faulty ones included."
        in_errors = "Icmp6InErrors" "came and were faulty, or meant for nobody."
        out_msgs = "Icmp6OutMsgs" "to be sent, faulty ones included."
        out_errors = "Icmp6OutErrors" "not sent. Old kernels do not have it."
        in_dest_unreachs = "Icmp6InDestUnreachs" "type 1 that came."
        in_pkt_too_bigs = "Icmp6InPktTooBigs" "type 2 that came."
        in_time_excds = "Icmp6InTimeExcds" "type 3 that came."
        in_parm_problems = "Icmp6InParmProblems" "type 4 that came."
        in_echos = "Icmp6InEchos" "type 128 that came."
        in_echo_replies = "Icmp6InEchoReplies" "type 129 that came."
        in_group_memb_queries = "Icmp6InGroupMembQueries" "type 130 that came."
        in_group_memb_responses = "Icmp6InGroupMembResponses" "type 131 that came."
        in_group_memb_reductions = "Icmp6InGroupMembReductions" "type 132 that came."
        in_router_solicits = "Icmp6InRouterSolicits" "type 133 that came."
        in_router_advertisements = "Icmp6InRouterAdvertisements" "type 134 that came."
        in_neighbor_solicits = "Icmp6InNeighborSolicits" "type 135 that came."
        in_neighbor_advertisements = "Icmp6InNeighborAdvertisements" "type 136 that came."
        in_redirects = "Icmp6InRedirects" "type 137 that came."
        out_dest_unreachs = "Icmp6OutDestUnreachs" "type 1 that was sent."
        out_pkt_too_bigs = "Icmp6OutPktTooBigs" "type 2 that was sent."
        out_time_excds = "Icmp6OutTimeExcds" "type 3 that was sent."
        out_parm_problems = "Icmp6OutParmProblems" "type 4 that was sent."
        out_echos = "Icmp6OutEchos" "type 128 that was sent."
        out_echo_replies = "Icmp6OutEchoReplies" "type 129 that was sent."
        out_group_memb_queries = "Icmp6OutGroupMembQueries" "type 130 that was sent."
        out_group_memb_responses = "Icmp6OutGroupMembResponses" "type 131 that was sent."
        out_group_memb_reductions = "Icmp6OutGroupMembReductions" "type 132 that was sent."
        out_router_solicits = "Icmp6OutRouterSolicits" "type 133 that was sent."
        out_router_advertisements = "Icmp6OutRouterAdvertisements" "type 134 that was sent."
        out_neighbor_solicits = "Icmp6OutNeighborSolicits" "type 135 that was sent."
        out_neighbor_advertisements = "Icmp6OutNeighborAdvertisements" "type 136 that was sent."
        out_redirects = "Icmp6OutRedirects" "type 137 that was sent."
    }
}

mib! {
    /// Lines `Udp6…` of `/proc/net/snmp6`: datagrams of UDP over IPv6.
    ///
    /// ```
    /// use perfset_linux::sources::snmp6::Udp6;
    ///
    /// let mut udp = Udp6::default();
    /// udp.parse(b"Udp6InDatagrams                 \t7\nUdp6NoPorts                     \t2\n").unwrap();
    /// assert_eq!(udp.no_ports, Some(Ok(2)));
    /// ```
    Udp6, ended by " " {
        in_datagrams = "Udp6InDatagrams" "handed to programs."
        no_ports = "Udp6NoPorts" "came for a port at which nobody listened."
        in_errors = "Udp6InErrors" "came and were not delivered for other reasons."
        out_datagrams = "Udp6OutDatagrams" "sent."
        rcvbuf_errors = "Udp6RcvbufErrors" "came and were dropped, because the socket's buffer was full."
        sndbuf_errors = "Udp6SndbufErrors" "not sent, because the socket's buffer was full."
        lite_in_errors = "UdpLite6InErrors" "of UDP-Lite, came and were not delivered for other reasons."
    }
}

impl Ip6 {
    /// Parses the lines `Ip6…` of `/proc/net/snmp6`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.read_by(|wanted| numbers(&mut Text::new(text), Text::last_number, wanted))
    }
}

impl Icmp6 {
    /// Parses the lines `Icmp6…` of `/proc/net/snmp6`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.read_by(|wanted| numbers(&mut Text::new(text), Text::last_number, wanted))
    }
}

impl Udp6 {
    /// Parses the lines `Udp6…` of `/proc/net/snmp6`, replacing all previous contents.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.read_by(|wanted| numbers(&mut Text::new(text), Text::last_number, wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_contain_others() {
        let mut udp = Udp6::default();
        udp.parse(b"UdpLite6NoPorts 2\nUdp6NoPortsX 3\nxUdp6NoPorts 5\nUdp6NoPorts \t7\n").unwrap();
        assert_eq!(udp, Udp6 { no_ports: Some(Ok(7)), ..Udp6::default() });
    }

    #[test]
    fn a_line_that_is_not_there_is_not_0() {
        let mut icmp = Icmp6::default();
        icmp.parse(b"Icmp6InMsgs 2\nIcmp6InType1 3\n").unwrap();
        assert_eq!((icmp.in_msgs, icmp.in_dest_unreachs), (Some(Ok(2)), None));
    }
}
