//! Countersets UDPv4 and UDPv6.

use perfset_catalogue::{udpv4, udpv6};
use perfset_core::{CounterId, Counterset};

use super::FieldSum::{self, One, Sum};
use super::Protocol;
use crate::sources::snmp::Udp;
use crate::sources::snmp6::Udp6;

/// Counterset UDPv4, from `/proc/net/snmp`.
#[derive(Debug)]
pub(super) struct Udpv4;

impl Protocol for Udpv4 {
    const COUNTERSET: &'static Counterset = &udpv4::COUNTERSET;
    type Numbers = Udp;

    fn fields(counter: CounterId) -> Option<FieldSum<Udp>> {
        Some(match counter {
            udpv4::DATAGRAMS_PER_SEC => Sum(|udp| &udp.in_datagrams, |udp| &udp.out_datagrams),
            udpv4::DATAGRAMS_RECEIVED_PER_SEC => One(|udp| &udp.in_datagrams),
            udpv4::DATAGRAMS_NO_PORT_PER_SEC => One(|udp| &udp.no_ports),
            udpv4::DATAGRAMS_RECEIVED_ERRORS => One(|udp| &udp.in_errors),
            udpv4::DATAGRAMS_SENT_PER_SEC => One(|udp| &udp.out_datagrams),
            _ => return None,
        })
    }
}

/// Counterset UDPv6, from `/proc/net/snmp6`.
#[derive(Debug)]
pub(super) struct Udpv6;

impl Protocol for Udpv6 {
    const COUNTERSET: &'static Counterset = &udpv6::COUNTERSET;
    type Numbers = Udp6;

    fn fields(counter: CounterId) -> Option<FieldSum<Udp6>> {
        Some(match counter {
            udpv6::DATAGRAMS_PER_SEC => Sum(|udp| &udp.in_datagrams, |udp| &udp.out_datagrams),
            udpv6::DATAGRAMS_RECEIVED_PER_SEC => One(|udp| &udp.in_datagrams),
            udpv6::DATAGRAMS_NO_PORT_PER_SEC => One(|udp| &udp.no_ports),
            udpv6::DATAGRAMS_RECEIVED_ERRORS => One(|udp| &udp.in_errors),
            udpv6::DATAGRAMS_SENT_PER_SEC => One(|udp| &udp.out_datagrams),
            _ => return None,
        })
    }
}
