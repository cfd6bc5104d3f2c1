//! Countersets of protocols: TCP, UDP, IP and ICMP, each over IPv4 and over IPv6.

use perfset_core::{CounterId, Counterset, NoValue};
use perfset_engine::Provider;

use crate::provider::{
    Collection, ParsedFile, SharedFile, SingleInstanceProvider, ValueSource, single_instance,
};
use crate::roots::Roots;
use crate::sources::Number;
use crate::sources::snmp::{Icmp, Ip, Tcp, Udp};
use crate::sources::snmp6::{Icmp6, Ip6, Udp6};

mod icmp;
mod ip;
mod tcp;
#[cfg(test)]
mod tests;
mod udp;

use icmp::{Icmpv4, Icmpv6};
use ip::{Ipv4, Ipv6};
use tcp::{Tcpv4, Tcpv6};
use udp::{Udpv4, Udpv6};

/// Creates the providers of the countersets of network protocols, reading below `roots`, with a `/proc/net/snmp` and a
/// `/proc/net/snmp6` that other countersets share.
pub(crate) fn providers(roots: &Roots, snmp: SharedFile, snmp6: SharedFile) -> Vec<Box<dyn Provider>> {
    let all = Providers::new(roots, snmp, snmp6);
    vec![
        Box::new(all.tcpv4),
        Box::new(all.tcpv6),
        Box::new(all.udpv4),
        Box::new(all.udpv6),
        Box::new(all.ipv4),
        Box::new(all.ipv6),
        Box::new(all.icmp),
        Box::new(all.icmpv6),
    ]
}

/// Providers of all network protocols. Seven of them share two files, each read once per collection.
#[derive(Debug)]
struct Providers {
    tcpv4: SingleInstanceProvider<Counted<Tcpv4>>,
    tcpv6: SingleInstanceProvider<Tcpv6>,
    udpv4: SingleInstanceProvider<Counted<Udpv4>>,
    udpv6: SingleInstanceProvider<Counted<Udpv6>>,
    ipv4: SingleInstanceProvider<Counted<Ipv4>>,
    ipv6: SingleInstanceProvider<Counted<Ipv6>>,
    icmp: SingleInstanceProvider<Counted<Icmpv4>>,
    icmpv6: SingleInstanceProvider<Counted<Icmpv6>>,
}

impl Providers {
    fn new(roots: &Roots, snmp: SharedFile, snmp6: SharedFile) -> Self {
        Self {
            tcpv4: Counted::provider(ParsedFile::from_file(snmp.clone(), NO_SNMP, Tcp::parse)),
            tcpv6: single_instance(Tcpv6::new(roots)),
            udpv4: Counted::provider(ParsedFile::from_file(snmp.clone(), NO_SNMP, Udp::parse)),
            udpv6: Counted::provider(ParsedFile::from_file(snmp6.clone(), NO_IPV6, Udp6::parse)),
            ipv4: Counted::provider(ParsedFile::from_file(snmp.clone(), NO_SNMP, Ip::parse)),
            ipv6: Counted::provider(ParsedFile::from_file(snmp6.clone(), NO_IPV6, Ip6::parse)),
            icmp: Counted::provider(ParsedFile::from_file(snmp, NO_SNMP, Icmp::parse)),
            icmpv6: Counted::provider(ParsedFile::from_file(snmp6, NO_IPV6, Icmp6::parse)),
        }
    }
}

pub(super) const NO_SNMP: &str = "there is no /proc/net/snmp";
pub(super) const NO_IPV6: &str = "this kernel has no IPv6, or has it turned off";

/// Network protocol whose counters are all numbers of one file, or sums of two numbers.
trait Protocol {
    const COUNTERSET: &'static Counterset;

    /// Parsed counts of the network protocol.
    type Numbers: Default;

    /// Returns the one or two numbers of the protocol that make up a counter's value.
    fn fields(counter: CounterId) -> Option<FieldSum<Self::Numbers>>;
}

/// Source of a protocol counter's value: one number, or the sum of two.
enum FieldSum<T> {
    One(fn(&T) -> &Number),
    Sum(fn(&T) -> &Number, fn(&T) -> &Number),
}

/// Values of the counterset of a [`Protocol`], from its parsed file.
#[derive(Debug)]
struct Counted<P: Protocol> {
    numbers: ParsedFile<P::Numbers>,
}

impl<P: Protocol> Counted<P>
where
    Self: ValueSource,
{
    fn provider(numbers: ParsedFile<P::Numbers>) -> SingleInstanceProvider<Self> {
        single_instance(Self { numbers })
    }
}

impl<P> ValueSource for Counted<P>
where
    P: Protocol<Numbers: std::fmt::Debug + Send> + std::fmt::Debug,
{
    fn counterset(&self) -> Counterset {
        P::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        match P::fields(counter) {
            Some(FieldSum::One(number)) => self.numbers.number(number, pass),
            Some(FieldSum::Sum(one, other)) => {
                let one = self.numbers.number(one, pass)?;
                Ok(one.saturating_add(self.numbers.number(other, pass)?))
            }
            None => Err(NoValue::NotGiven),
        }
    }
}
