//! Countersets TCPv4 and TCPv6.

use perfset_catalogue::{tcpv4, tcpv6};
use perfset_core::{CounterId, Counterset, NoValue};

use super::FieldSum::{self, One, Sum};
use super::{NO_IPV6, Protocol};
use crate::provider::{ChunkedFile, Collection, ReadError, ReadFiles, ValueSource, unavailable};
use crate::roots::Roots;
use crate::sources::snmp::Tcp;
use crate::sources::tcp_sockets::TcpSockets;

/// Counterset TCPv4: TCP over IPv4 and IPv6, which the kernel counts together.
#[derive(Debug)]
pub(super) struct Tcpv4;

impl Protocol for Tcpv4 {
    const COUNTERSET: &'static Counterset = &tcpv4::COUNTERSET;
    type Numbers = Tcp;

    fn fields(counter: CounterId) -> Option<FieldSum<Tcp>> {
        Some(match counter {
            tcpv4::SEGMENTS_PER_SEC => Sum(|tcp| &tcp.in_segs, |tcp| &tcp.out_segs),
            tcpv4::CONNECTIONS_ESTABLISHED => One(|tcp| &tcp.curr_estab),
            tcpv4::CONNECTIONS_ACTIVE => One(|tcp| &tcp.active_opens),
            tcpv4::CONNECTIONS_PASSIVE => One(|tcp| &tcp.passive_opens),
            tcpv4::CONNECTION_FAILURES => One(|tcp| &tcp.attempt_fails),
            tcpv4::CONNECTIONS_RESET => One(|tcp| &tcp.estab_resets),
            tcpv4::SEGMENTS_RECEIVED_PER_SEC => One(|tcp| &tcp.in_segs),
            tcpv4::SEGMENTS_SENT_PER_SEC => One(|tcp| &tcp.out_segs),
            tcpv4::SEGMENTS_RETRANSMITTED_PER_SEC => One(|tcp| &tcp.retrans_segs),
            _ => return None,
        })
    }
}

/// Counterset TCPv6: the connections over IPv6, from `/proc/net/tcp6`.
#[derive(Debug)]
pub(super) struct Tcpv6 {
    sockets: ChunkedFile,
}

impl Tcpv6 {
    /// Creates the values of TCPv6 from the kernel's files below `roots`.
    pub(super) fn new(roots: &Roots) -> Self {
        Self { sockets: ChunkedFile::new(roots.net("tcp6")) }
    }

    fn connections(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        let mut counted = TcpSockets::default();
        pass.read_in_pieces(&mut self.sockets, NO_IPV6, |piece| counted.add(piece))?;
        let path = self.sockets.path();
        counted.connections().map_err(|text| ReadError::Text { path: path.to_owned(), text }.into())
    }
}

impl ValueSource for Tcpv6 {
    fn counterset(&self) -> Counterset {
        tcpv6::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        match counter {
            tcpv6::CONNECTIONS_ESTABLISHED => self.connections(pass),
            _ => Err(unavailable("the kernel counts TCP over IPv4 and IPv6 together: TCPv4 has the sum")),
        }
    }
}
