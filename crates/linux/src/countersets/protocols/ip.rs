//! Countersets IPv4 and IPv6.

use perfset_catalogue::{ipv4, ipv6};
use perfset_core::{CounterId, Counterset};

use super::FieldSum::{self, One, Sum};
use super::Protocol;
use crate::sources::snmp::Ip;
use crate::sources::snmp6::Ip6;

/// Counterset IPv4, from `/proc/net/snmp`.
#[derive(Debug)]
pub(super) struct Ipv4;

impl Protocol for Ipv4 {
    const COUNTERSET: &'static Counterset = &ipv4::COUNTERSET;
    type Numbers = Ip;

    fn fields(counter: CounterId) -> Option<FieldSum<Ip>> {
        Some(match counter {
            ipv4::DATAGRAMS_PER_SEC => Sum(|ip| &ip.in_receives, |ip| &ip.out_requests),
            ipv4::DATAGRAMS_RECEIVED_PER_SEC => One(|ip| &ip.in_receives),
            ipv4::DATAGRAMS_RECEIVED_HEADER_ERRORS => One(|ip| &ip.in_hdr_errors),
            ipv4::DATAGRAMS_RECEIVED_ADDRESS_ERRORS => One(|ip| &ip.in_addr_errors),
            ipv4::DATAGRAMS_FORWARDED_PER_SEC => One(|ip| &ip.forw_datagrams),
            ipv4::DATAGRAMS_RECEIVED_UNKNOWN_PROTOCOL => One(|ip| &ip.in_unknown_protos),
            ipv4::DATAGRAMS_RECEIVED_DISCARDED => One(|ip| &ip.in_discards),
            ipv4::DATAGRAMS_RECEIVED_DELIVERED_PER_SEC => One(|ip| &ip.in_delivers),
            ipv4::DATAGRAMS_SENT_PER_SEC => One(|ip| &ip.out_requests),
            ipv4::DATAGRAMS_OUTBOUND_DISCARDED => One(|ip| &ip.out_discards),
            ipv4::DATAGRAMS_OUTBOUND_NO_ROUTE => One(|ip| &ip.out_no_routes),
            ipv4::FRAGMENTS_RECEIVED_PER_SEC => One(|ip| &ip.reasm_reqds),
            ipv4::FRAGMENTS_RE_ASSEMBLED_PER_SEC => One(|ip| &ip.reasm_oks),
            ipv4::FRAGMENT_RE_ASSEMBLY_FAILURES => One(|ip| &ip.reasm_fails),
            ipv4::FRAGMENTED_DATAGRAMS_PER_SEC => One(|ip| &ip.frag_oks),
            ipv4::FRAGMENTATION_FAILURES => One(|ip| &ip.frag_fails),
            ipv4::FRAGMENTS_CREATED_PER_SEC => One(|ip| &ip.frag_creates),
            _ => return None,
        })
    }
}

/// Counterset IPv6, from `/proc/net/snmp6`.
#[derive(Debug)]
pub(super) struct Ipv6;

impl Protocol for Ipv6 {
    const COUNTERSET: &'static Counterset = &ipv6::COUNTERSET;
    type Numbers = Ip6;

    fn fields(counter: CounterId) -> Option<FieldSum<Ip6>> {
        Some(match counter {
            ipv6::DATAGRAMS_PER_SEC => Sum(|ip| &ip.in_receives, |ip| &ip.out_requests),
            ipv6::DATAGRAMS_RECEIVED_PER_SEC => One(|ip| &ip.in_receives),
            ipv6::DATAGRAMS_RECEIVED_HEADER_ERRORS => One(|ip| &ip.in_hdr_errors),
            ipv6::DATAGRAMS_RECEIVED_ADDRESS_ERRORS => One(|ip| &ip.in_addr_errors),
            ipv6::DATAGRAMS_FORWARDED_PER_SEC => One(|ip| &ip.out_forw_datagrams),
            ipv6::DATAGRAMS_RECEIVED_UNKNOWN_PROTOCOL => One(|ip| &ip.in_unknown_protos),
            ipv6::DATAGRAMS_RECEIVED_DISCARDED => One(|ip| &ip.in_discards),
            ipv6::DATAGRAMS_RECEIVED_DELIVERED_PER_SEC => One(|ip| &ip.in_delivers),
            ipv6::DATAGRAMS_SENT_PER_SEC => One(|ip| &ip.out_requests),
            ipv6::DATAGRAMS_OUTBOUND_DISCARDED => One(|ip| &ip.out_discards),
            // IPv6 counts datagrams to be forwarded apart, as received ones without a route.
            ipv6::DATAGRAMS_OUTBOUND_NO_ROUTE => Sum(|ip| &ip.out_no_routes, |ip| &ip.in_no_routes),
            ipv6::FRAGMENTS_RECEIVED_PER_SEC => One(|ip| &ip.reasm_reqds),
            ipv6::FRAGMENTS_RE_ASSEMBLED_PER_SEC => One(|ip| &ip.reasm_oks),
            ipv6::FRAGMENT_RE_ASSEMBLY_FAILURES => One(|ip| &ip.reasm_fails),
            ipv6::FRAGMENTED_DATAGRAMS_PER_SEC => One(|ip| &ip.frag_oks),
            ipv6::FRAGMENTATION_FAILURES => One(|ip| &ip.frag_fails),
            ipv6::FRAGMENTS_CREATED_PER_SEC => One(|ip| &ip.frag_creates),
            _ => return None,
        })
    }
}
