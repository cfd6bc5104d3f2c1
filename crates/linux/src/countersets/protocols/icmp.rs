//! Countersets ICMP and ICMPv6.

use perfset_catalogue::{icmp, icmpv6};
use perfset_core::{CounterId, Counterset};

use super::FieldSum::{self, One, Sum};
use super::Protocol;
use crate::sources::snmp::Icmp;
use crate::sources::snmp6::Icmp6;

/// Counterset ICMP, for IPv4.
#[derive(Debug)]
pub(super) struct Icmpv4;

impl Protocol for Icmpv4 {
    const COUNTERSET: &'static Counterset = &icmp::COUNTERSET;
    type Numbers = Icmp;

    fn fields(counter: CounterId) -> Option<FieldSum<Icmp>> {
        Some(match counter {
            icmp::MESSAGES_PER_SEC => Sum(|icmp| &icmp.in_msgs, |icmp| &icmp.out_msgs),
            icmp::MESSAGES_RECEIVED_PER_SEC => One(|icmp| &icmp.in_msgs),
            icmp::MESSAGES_RECEIVED_ERRORS => One(|icmp| &icmp.in_errors),
            icmp::RECEIVED_DEST_UNREACHABLE => One(|icmp| &icmp.in_dest_unreachs),
            icmp::RECEIVED_TIME_EXCEEDED => One(|icmp| &icmp.in_time_excds),
            icmp::RECEIVED_PARAMETER_PROBLEM => One(|icmp| &icmp.in_parm_probs),
            icmp::RECEIVED_SOURCE_QUENCH => One(|icmp| &icmp.in_src_quenchs),
            icmp::RECEIVED_REDIRECT_PER_SEC => One(|icmp| &icmp.in_redirects),
            icmp::RECEIVED_ECHO_PER_SEC => One(|icmp| &icmp.in_echos),
            icmp::RECEIVED_ECHO_REPLY_PER_SEC => One(|icmp| &icmp.in_echo_reps),
            icmp::RECEIVED_TIMESTAMP_PER_SEC => One(|icmp| &icmp.in_timestamps),
            icmp::RECEIVED_TIMESTAMP_REPLY_PER_SEC => One(|icmp| &icmp.in_timestamp_reps),
            icmp::RECEIVED_ADDRESS_MASK => One(|icmp| &icmp.in_addr_masks),
            icmp::RECEIVED_ADDRESS_MASK_REPLY => One(|icmp| &icmp.in_addr_mask_reps),
            icmp::MESSAGES_SENT_PER_SEC => One(|icmp| &icmp.out_msgs),
            icmp::MESSAGES_OUTBOUND_ERRORS => One(|icmp| &icmp.out_errors),
            icmp::SENT_DESTINATION_UNREACHABLE => One(|icmp| &icmp.out_dest_unreachs),
            icmp::SENT_TIME_EXCEEDED => One(|icmp| &icmp.out_time_excds),
            icmp::SENT_PARAMETER_PROBLEM => One(|icmp| &icmp.out_parm_probs),
            icmp::SENT_SOURCE_QUENCH => One(|icmp| &icmp.out_src_quenchs),
            icmp::SENT_REDIRECT_PER_SEC => One(|icmp| &icmp.out_redirects),
            icmp::SENT_ECHO_PER_SEC => One(|icmp| &icmp.out_echos),
            icmp::SENT_ECHO_REPLY_PER_SEC => One(|icmp| &icmp.out_echo_reps),
            icmp::SENT_TIMESTAMP_PER_SEC => One(|icmp| &icmp.out_timestamps),
            icmp::SENT_TIMESTAMP_REPLY_PER_SEC => One(|icmp| &icmp.out_timestamp_reps),
            icmp::SENT_ADDRESS_MASK => One(|icmp| &icmp.out_addr_masks),
            icmp::SENT_ADDRESS_MASK_REPLY => One(|icmp| &icmp.out_addr_mask_reps),
            _ => return None,
        })
    }
}

/// Counterset ICMPv6, for IPv6.
#[derive(Debug)]
pub(super) struct Icmpv6;

impl Protocol for Icmpv6 {
    const COUNTERSET: &'static Counterset = &icmpv6::COUNTERSET;
    type Numbers = Icmp6;

    fn fields(counter: CounterId) -> Option<FieldSum<Icmp6>> {
        Some(match counter {
            icmpv6::MESSAGES_PER_SEC => Sum(|icmp| &icmp.in_msgs, |icmp| &icmp.out_msgs),
            icmpv6::MESSAGES_RECEIVED_PER_SEC => One(|icmp| &icmp.in_msgs),
            icmpv6::MESSAGES_RECEIVED_ERRORS => One(|icmp| &icmp.in_errors),
            icmpv6::RECEIVED_DEST_UNREACHABLE => One(|icmp| &icmp.in_dest_unreachs),
            icmpv6::RECEIVED_PACKET_TOO_BIG => One(|icmp| &icmp.in_pkt_too_bigs),
            icmpv6::RECEIVED_TIME_EXCEEDED => One(|icmp| &icmp.in_time_excds),
            icmpv6::RECEIVED_PARAMETER_PROBLEM => One(|icmp| &icmp.in_parm_problems),
            icmpv6::RECEIVED_ECHO_PER_SEC => One(|icmp| &icmp.in_echos),
            icmpv6::RECEIVED_ECHO_REPLY_PER_SEC => One(|icmp| &icmp.in_echo_replies),
            icmpv6::RECEIVED_MEMBERSHIP_QUERY => One(|icmp| &icmp.in_group_memb_queries),
            icmpv6::RECEIVED_MEMBERSHIP_REPORT => One(|icmp| &icmp.in_group_memb_responses),
            icmpv6::RECEIVED_MEMBERSHIP_REDUCTION => One(|icmp| &icmp.in_group_memb_reductions),
            icmpv6::RECEIVED_ROUTER_SOLICIT => One(|icmp| &icmp.in_router_solicits),
            icmpv6::RECEIVED_ROUTER_ADVERT => One(|icmp| &icmp.in_router_advertisements),
            icmpv6::RECEIVED_NEIGHBOR_SOLICIT => One(|icmp| &icmp.in_neighbor_solicits),
            icmpv6::RECEIVED_NEIGHBOR_ADVERT => One(|icmp| &icmp.in_neighbor_advertisements),
            icmpv6::RECEIVED_REDIRECT_PER_SEC => One(|icmp| &icmp.in_redirects),
            icmpv6::MESSAGES_SENT_PER_SEC => One(|icmp| &icmp.out_msgs),
            icmpv6::MESSAGES_OUTBOUND_ERRORS => One(|icmp| &icmp.out_errors),
            icmpv6::SENT_DESTINATION_UNREACHABLE => One(|icmp| &icmp.out_dest_unreachs),
            icmpv6::SENT_PACKET_TOO_BIG => One(|icmp| &icmp.out_pkt_too_bigs),
            icmpv6::SENT_TIME_EXCEEDED => One(|icmp| &icmp.out_time_excds),
            icmpv6::SENT_PARAMETER_PROBLEM => One(|icmp| &icmp.out_parm_problems),
            icmpv6::SENT_ECHO_PER_SEC => One(|icmp| &icmp.out_echos),
            icmpv6::SENT_ECHO_REPLY_PER_SEC => One(|icmp| &icmp.out_echo_replies),
            icmpv6::SENT_MEMBERSHIP_QUERY => One(|icmp| &icmp.out_group_memb_queries),
            icmpv6::SENT_MEMBERSHIP_REPORT => One(|icmp| &icmp.out_group_memb_responses),
            icmpv6::SENT_MEMBERSHIP_REDUCTION => One(|icmp| &icmp.out_group_memb_reductions),
            icmpv6::SENT_ROUTER_SOLICIT => One(|icmp| &icmp.out_router_solicits),
            icmpv6::SENT_ROUTER_ADVERT => One(|icmp| &icmp.out_router_advertisements),
            icmpv6::SENT_NEIGHBOR_SOLICIT => One(|icmp| &icmp.out_neighbor_solicits),
            icmpv6::SENT_NEIGHBOR_ADVERT => One(|icmp| &icmp.out_neighbor_advertisements),
            icmpv6::SENT_REDIRECT_PER_SEC => One(|icmp| &icmp.out_redirects),
            _ => return None,
        })
    }
}
