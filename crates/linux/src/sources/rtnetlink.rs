//! Request for the queues of network interfaces over a route netlink socket, and a parser of the kernel's response.
//!
//! Source: `rtnetlink(7)`, `netlink(7)`; numbers are in the machine's own byte order.

/// Error in the kernel's response to a netlink request, or a refusal of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetlinkError {
    /// A length in the message reaches beyond the end of the message.
    #[error("the kernel's netlink response ends within {0}")]
    Cut(&'static str),
    /// The kernel refuses the request, with this error number.
    #[error("the kernel refused the netlink request with error number {0}")]
    Refused(u32),
}

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const TC_H_ROOT: u32 = 0xFFFF_FFFF;
const TC_H_INGRESS: u32 = 0xFFFF_FFF1;

/// Length of a netlink [`request`] in bytes.
pub const REQUEST_LEN: usize = 36;

/// Returns a netlink request for all queueing disciplines. The response carries the same `number`.
#[must_use]
pub fn request(number: u32) -> [u8; REQUEST_LEN] {
    /// Flags of a netlink dump: `REQUEST`, `ROOT` and `MATCH`.
    const FLAGS: u16 = 0x301;
    const LEN: u32 = 36;
    let mut request = [0; REQUEST_LEN]; // the 20 bytes behind the header choose nothing
    let header = LEN.to_ne_bytes().into_iter().chain(RTM_GETQDISC.to_ne_bytes()).chain(FLAGS.to_ne_bytes());
    for (place, byte) in request.iter_mut().zip(header.chain(number.to_ne_bytes())) {
        *place = byte;
    }
    request
}

/// Queueing disciplines of all network interfaces.
///
/// ```
/// use perfset_linux::sources::rtnetlink::Qdiscs;
///
/// // Of 20 bytes, of kind 3, which is the end, to request 7.
/// let done = [&20_u32.to_ne_bytes()[..], &3_u16.to_ne_bytes(), &[0; 2], &7_u32.to_ne_bytes(), &[0; 8]].concat();
/// let mut qdiscs = Qdiscs::default();
/// assert_eq!(qdiscs.read(&done, 7), Ok(true));
/// assert_eq!(qdiscs.waiting(2), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdiscs {
    all: Vec<Qdisc>,
}

/// Queueing discipline of a network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Qdisc {
    ifindex: u32,
    handle: u32,
    parent: u32,
    /// `true` for `mq` and `mqprio`, which only contain a queueing discipline for each queue of the interface.
    has_queues: bool,
    /// Number of packets that wait in the queueing discipline to be sent.
    waiting: Option<u32>,
}

impl Qdiscs {
    /// Removes all queueing disciplines from the list.
    pub fn clear(&mut self) {
        self.all.clear();
    }

    /// Parses a datagram of the kernel's response to the request `number`. Returns `true` if the datagram is the last
    /// one.
    ///
    /// # Errors
    /// If the datagram is malformed, or the kernel refuses the request.
    pub fn read(&mut self, datagram: &[u8], number: u32) -> Result<bool, NetlinkError> {
        let mut rest = Bytes(datagram);
        while !rest.0.is_empty() {
            let mut header = Bytes(rest.take(16, "a header")?);
            let len = usize::try_from(header.u32("a header")?).unwrap_or(usize::MAX);
            let kind = header.u16("a header")?;
            header.u16("a header")?; // flags
            let is_ours = header.u32("a header")? == number;
            let mut body = Bytes(rest.padded(len, 16, "a message")?);
            // A response to an earlier request, which was given up, may still be in the socket.
            if !is_ours {
                continue;
            }
            match kind {
                NLMSG_DONE | NLMSG_ERROR => {
                    // Old kernels may end the response without a code.
                    let code = body.u32("an error").unwrap_or(0);
                    if code != 0 {
                        // The kernel sends the error number negated.
                        return Err(NetlinkError::Refused(code.wrapping_neg()));
                    }
                    // An error message with code 0 is an acknowledgement, and the response continues.
                    if kind == NLMSG_DONE {
                        return Ok(true);
                    }
                }
                RTM_NEWQDISC => self.all.push(Qdisc::read(body)?),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Returns the number of packets that wait in the queues of a network interface; `None` if the interface has no
    /// queueing discipline.
    #[must_use]
    pub fn waiting(&self, ifindex: u32) -> Option<u64> {
        let of_interface = || self.all.iter().filter(|qdisc| qdisc.ifindex == ifindex);
        let root = of_interface().find(|qdisc| qdisc.parent == TC_H_ROOT)?;
        // The numbers of `mq` itself have been wrong in some kernels.
        let is_queue = |qdisc: &&Qdisc| {
            // A handle has the number of the discipline in its upper half. The parent of a child is a class
            // of the root, which has the same upper half.
            !matches!(qdisc.parent, TC_H_ROOT | TC_H_INGRESS) && qdisc.parent >> 16 == root.handle >> 16
        };
        let queues = of_interface().filter(is_queue).map(|qdisc| qdisc.waiting).map(|len| len.map(u64::from));
        let sum = queues.reduce(|sum, len| Some(sum?.saturating_add(len?)));
        match sum {
            Some(sum) if root.has_queues => sum,
            _ => root.waiting.map(u64::from),
        }
    }
}

impl Qdisc {
    fn read(mut body: Bytes<'_>) -> Result<Self, NetlinkError> {
        // `TCA_KIND`, `TCA_STATS`, `TCA_STATS2`, and `TCA_STATS_QUEUE` inside the latter.
        const KIND: u16 = 1;
        const STATS: u16 = 3;
        const STATS2: u16 = 7;
        const QUEUE: u16 = 3;
        let what = "a queueing discipline";
        body.take(4, what)?; // family and padding
        let (ifindex, handle, parent) = (body.u32(what)?, body.u32(what)?, body.u32(what)?);
        body.take(4, what)?; // info
        let mut qdisc = Self { ifindex, handle, parent, has_queues: false, waiting: None };
        while let Some((kind, mut value)) = body.attribute()? {
            match kind {
                // The kernel sends the terminating NUL as part of the name.
                KIND => qdisc.has_queues = matches!(value.0, b"mq\0" | b"mqprio\0"),
                // Only old kernels lack `STATS2`. The number follows bytes, packets, drops, overlimits, bps and pps.
                STATS if qdisc.waiting.is_none() => {
                    value.take(28, "a statistic")?;
                    qdisc.waiting = Some(value.u32("a statistic")?);
                }
                STATS2 => {
                    while let Some((kind, mut value)) = value.attribute()? {
                        if kind == QUEUE {
                            qdisc.waiting = Some(value.u32("a statistic")?);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(qdisc)
    }
}

/// Cursor that reads the bytes of a netlink message from front to back.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], NetlinkError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(NetlinkError::Cut(what))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], NetlinkError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(NetlinkError::Cut(what))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u16(&mut self, what: &'static str) -> Result<u16, NetlinkError> {
        Ok(u16::from_ne_bytes(self.array(what)?))
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, NetlinkError> {
        Ok(u32::from_ne_bytes(self.array(what)?))
    }

    /// Takes the rest of an item of a netlink message, and skips the padding after it. `len` is the length of the
    /// whole item, of which `before` bytes were already taken.
    fn padded(&mut self, len: usize, before: usize, what: &'static str) -> Result<&'a [u8], NetlinkError> {
        let left = len.checked_sub(before).ok_or(NetlinkError::Cut(what))?;
        let taken = self.take(left, what)?;
        // Items begin at multiples of 4 bytes. `before` is such a multiple, so the rest alone determines the
        // padding.
        let padding = left.wrapping_neg() & 3; // the last may be without
        self.0 = self.0.get(padding..).unwrap_or_default();
        Ok(taken)
    }

    /// Takes the next attribute of a netlink message; returns its kind and value.
    fn attribute(&mut self) -> Result<Option<(u16, Self)>, NetlinkError> {
        /// Mask for the kind of a netlink attribute; the two bits above the mask are flags.
        const KIND: u16 = 0x3FFF;
        if self.0.is_empty() {
            return Ok(None);
        }
        let (len, kind) = (self.u16("an attribute")?, self.u16("an attribute")?);
        let value = self.padded(usize::from(len), 4, "an attribute")?;
        Ok(Some((kind & KIND, Self(value))))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let len = u16::try_from(value.len() + 4).unwrap();
        let mut bytes = [&len.to_ne_bytes(), &kind.to_ne_bytes(), value].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, number: u32, body: &[u8]) -> Vec<u8> {
        let len = u32::try_from(body.len() + 16).unwrap();
        let header = [
            &len.to_ne_bytes()[..],
            &kind.to_ne_bytes(),
            &2_u16.to_ne_bytes(),
            &number.to_ne_bytes(),
            &[0; 4],
        ];
        [&header.concat(), body].concat()
    }

    /// Returns the netlink message of a queueing discipline in response 7, with a name, an unknown attribute, and its
    /// statistics.
    fn qdisc(ifindex: u32, handle: u32, parent: u32, kind: &str, waiting: u32) -> Vec<u8> {
        let queue = [waiting, 71, 73, 79, 83].map(u32::to_ne_bytes).concat();
        let old = [89, 97, 101, 103, 107, 109, 113, waiting + 1, 127].map(u32::to_ne_bytes).concat();
        let body = [
            &[0; 4][..],
            &[ifindex, handle, parent, 2].map(u32::to_ne_bytes).concat(),
            &attribute(1, format!("{kind}\0").as_bytes()),
            &attribute(12, &[5]),
            &attribute(0x8007, &[attribute(1, &[0xFF; 16]), attribute(3, &queue)].concat()),
            &attribute(3, &old),
        ];
        message(RTM_NEWQDISC, 7, &body.concat())
    }

    fn done() -> Vec<u8> {
        message(NLMSG_DONE, 7, &[0; 4])
    }

    fn all() -> Vec<u8> {
        [
            qdisc(2, 0, TC_H_ROOT, "noqueue", 0),
            qdisc(3, 0x8001_0000, TC_H_ROOT, "fq_codel", 11),
            qdisc(3, 0xFFFF_0000, TC_H_INGRESS, "clsact", 13),
            qdisc(5, 0x8002_0000, TC_H_ROOT, "mq", 17),
            qdisc(5, 0, 0x8002_0001, "pfifo_fast", 19),
            qdisc(5, 0, 0x8002_0002, "pfifo_fast", 23),
            qdisc(5, 0xFFFF_0000, TC_H_INGRESS, "ingress", 29),
            qdisc(6, 0, TC_H_ROOT, "mq", 31),
            qdisc(8, 0x1_0000, TC_H_ROOT, "htb", 37),
            qdisc(8, 0x2_0000, 0x1_0010, "fq_codel", 41),
            qdisc(9, 0xFFFF_0000, TC_H_INGRESS, "ingress", 43),
        ]
        .concat()
    }

    #[test]
    fn queues_of_interfaces() {
        let mut qdiscs = Qdiscs::default();
        assert_eq!(qdiscs.read(&all(), 7), Ok(false));
        assert_eq!(qdiscs.read(&done(), 7), Ok(true));
        for (name, ifindex, want) in [
            ("nothing waits", 2, Some(0)),
            ("a queue, and what comes in", 3, Some(11)),
            ("the sum of mq", 5, Some(19 + 23)),
            ("mq whose queues are not shown", 6, Some(31)),
            ("classes are within their root", 8, Some(37)),
            ("only what comes in", 9, None),
            ("not listed", 4, None),
        ] {
            assert_eq!(qdiscs.waiting(ifindex), want, "{name}");
        }
        qdiscs.clear();
        assert_eq!(qdiscs.waiting(3), None);
    }

    #[test]
    fn statistics_of_old_kernels() {
        let old = [89, 97, 101, 103, 107, 109, 113, 47, 127].map(u32::to_ne_bytes).concat();
        let head = [0, 2, 0, TC_H_ROOT, 2].map(u32::to_ne_bytes).concat();
        let mut qdiscs = Qdiscs::default();
        qdiscs.read(&message(RTM_NEWQDISC, 7, &[head.clone(), attribute(3, &old)].concat()), 7).unwrap();
        qdiscs.read(&message(RTM_NEWQDISC, 7, &head), 7).unwrap();
        assert_eq!(qdiscs.waiting(2), Some(47));
    }

    #[test]
    fn answers_to_others_and_refusals() {
        let refused = |code: i32| message(NLMSG_ERROR, 7, &[&code.to_ne_bytes()[..], &[0; 16]].concat());
        for (name, datagram, want) in [
            ("empty", Vec::new(), Ok(false)),
            ("done", done(), Ok(true)),
            ("done without a code", message(NLMSG_DONE, 7, &[]), Ok(true)),
            ("done with one", message(NLMSG_DONE, 7, &(-4_i32).to_ne_bytes()), Err(NetlinkError::Refused(4))),
            ("refused", refused(-95), Err(NetlinkError::Refused(95))),
            ("confirmed", refused(0), Ok(false)),
            ("to another", message(NLMSG_DONE, 8, &[0; 4]), Ok(false)),
            ("of another kind", message(16, 7, &[1, 2]), Ok(false)),
            (
                "too short",
                [&12_u32.to_ne_bytes()[..], &[0; 12]].concat(),
                Err(NetlinkError::Cut("a message")),
            ),
            ("too long", [&21_u32.to_ne_bytes()[..], &[0; 16]].concat(), Err(NetlinkError::Cut("a message"))),
        ] {
            assert_eq!(Qdiscs::default().read(&datagram, 7), want, "{name}");
        }
    }

    #[test]
    fn requests() {
        let body = [0; 20];
        let mut want = message(RTM_GETQDISC, 0x0102_0304, &body);
        want[6..8].copy_from_slice(&0x301_u16.to_ne_bytes());
        assert_eq!(request(0x0102_0304).to_vec(), want);
    }

    #[test]
    fn every_prefix_and_every_changed_byte() {
        let mut bytes = all();
        for len in 0..bytes.len() {
            let _ = Qdiscs::default().read(&bytes[..len], 7); // any answer will do
        }
        for at in 0..bytes.len() {
            let byte = bytes[at];
            for changed in [0, 1, 3, 0x7F, 0x80, 0xFF, byte ^ 1, byte ^ 0x10] {
                bytes[at] = changed;
                let mut qdiscs = Qdiscs::default();
                let _ = (qdiscs.read(&bytes, 7), qdiscs.waiting(5)); // any answer will do
            }
            bytes[at] = byte;
        }
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Qdiscs::default().read(&bytes, 7); // any answer will do
        }
    }
}
