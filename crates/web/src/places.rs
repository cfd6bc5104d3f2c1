//! Limited slots for connections of the server. Most are reserved for clients that have proved that they know the
//! token, so that no other client can keep them away.
//!
//! A connection begins as untrusted and becomes trusted by its first request with a valid token. If all places for
//! untrusted connections are taken, a new connection takes one from the address that has the most: that of its
//! oldest connection, which is refused. A client with the token can therefore always send it, however many
//! connections a few other addresses hold or reopen. On one address, clients that open connections the fastest
//! displace the others.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Trust level of a connection, which decides if it keeps its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Trust level of a connection without a request that had a valid token.
    Stranger,
    /// Trust level of a connection with a valid token, or at a server without a token.
    Trusted,
    /// Trust level of a connection that lost its slot to another connection, and ends with a refusal.
    Refused,
    /// Trust level of a connection that ends at once, because too many others are being refused.
    Over,
}

/// Limited slots for the connections of a server.
#[derive(Clone, Debug)]
pub struct Places(Arc<Mutex<Table>>);

#[derive(Debug)]
struct Table {
    /// Maximum numbers of connections, by trust level. There may be [`REFUSED_FOR_EACH`] times as many refused ones
    /// as untrusted ones.
    trusted_most: usize,
    strangers_most: usize,
    trusted: usize,
    /// Id of the next connection: older connections have lower ids.
    next: u64,
    strangers: Connections,
    refused: Connections,
}

/// Connections of one trust level, sorted by their ids.
type Connections = BTreeMap<u64, Connection>;

/// Connection in the table of slots: the address of its client, and its trust level.
type Connection = (Origin, Arc<watch::Sender<Standing>>);

/// Address of a connection's client. Of an IPv6 address only the first 64 bits are stored, because a host may have
/// all addresses that begin with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin(IpAddr);

impl Origin {
    fn from_address(address: IpAddr) -> Self {
        // An IPv4 client of an IPv6 socket has an address `::ffff:a.b.c.d`: the first 64 bits are the same
        // for all.
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
        }
    }
}

/// Removes and returns the oldest connection of the address that has the most; of several such addresses, the oldest
/// of all.
fn take_of_greediest(connections: &mut Connections) -> Option<(u64, Connection)> {
    // Counted each time, because there are only a few hundred connections of these kinds.
    let mut counts: BTreeMap<Origin, usize> = BTreeMap::new();
    for (origin, _) in connections.values() {
        let count = counts.entry(*origin).or_default();
        *count = count.saturating_add(1);
    }
    let most = counts.values().copied().max();
    let is_greediest = |origin: &Origin| counts.get(origin).copied() == most;
    let number =
        connections.iter().find(|(_, (origin, _))| is_greediest(origin)).map(|(number, _)| *number)?;
    connections.remove_entry(&number)
}

/// Maximum number of connections being refused for each slot of an untrusted connection. They wait a moment for their
/// token before they are refused.
const REFUSED_FOR_EACH: usize = 3;

/// Slot of one connection, which becomes free when this value is dropped.
#[derive(Debug)]
pub struct Place {
    number: u64,
    standing: Arc<watch::Sender<Standing>>,
    places: Places,
}

impl Places {
    /// Creates slots for `most` connections, of which `strangers` are for connections without a valid token.
    pub fn new(most: usize, strangers: usize) -> Self {
        // At least one: every connection begins as untrusted, those with a token too.
        let strangers_most = strangers.clamp(1, most.max(1));
        let trusted_most = most.saturating_sub(strangers_most);
        let (strangers, refused) = (BTreeMap::new(), BTreeMap::new());
        Self(Arc::new(Mutex::new(Table {
            trusted_most,
            strangers_most,
            trusted: 0,
            next: 0,
            strangers,
            refused,
        })))
    }

    /// Returns a slot for a new connection. If there is none, the oldest untrusted connection of the address that has
    /// the most is refused.
    pub fn enter(&self, peer: IpAddr) -> Place {
        let mut table = self.lock();
        let Table { strangers, refused, strangers_most, next, .. } = &mut *table;
        if strangers.len() >= *strangers_most {
            if let Some((number, (origin, oldest))) = take_of_greediest(strangers) {
                oldest.send_replace(Standing::Refused);
                refused.insert(number, (origin, oldest));
            }
        }
        // One is enough: each call moves at most one connection to the refused ones.
        if refused.len() > strangers_most.saturating_mul(REFUSED_FOR_EACH) {
            if let Some((_, (_, oldest))) = take_of_greediest(refused) {
                oldest.send_replace(Standing::Over);
            }
        }
        let number = *next;
        *next = number.saturating_add(1);
        let standing = Arc::new(watch::Sender::new(Standing::Stranger));
        strangers.insert(number, (Origin::from_address(peer), Arc::clone(&standing)));
        Place { number, standing, places: self.clone() }
    }

    /// Returns the number of slots for connections with a valid token.
    pub fn trusted_most(&self) -> usize {
        self.lock().trusted_most
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Marks the connection as trusted, and returns `false` if there is no slot for another trusted one.
    pub fn trust(&self) -> bool {
        let mut table = self.places.lock();
        // Read under the lock of the table, under which every change of the standing is made.
        if *self.standing.borrow() == Standing::Trusted {
            return true;
        }
        if table.trusted >= table.trusted_most {
            return false;
        }
        // The connection may have lost its place just now, and not have been notified yet.
        let is_here =
            table.strangers.remove(&self.number).is_some() || table.refused.remove(&self.number).is_some();
        if is_here {
            table.trusted = table.trusted.saturating_add(1);
            self.standing.send_replace(Standing::Trusted);
        }
        is_here
    }

    /// Returns a receiver of the connection's trust level and its changes.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.places.lock();
        if *self.standing.borrow() == Standing::Trusted {
            table.trusted = table.trusted.saturating_sub(1);
        }
        table.strangers.remove(&self.number);
        table.refused.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn standings(places: &[Place]) -> Vec<Standing> {
        places.iter().map(|place| *place.standing.borrow()).collect()
    }

    #[test]
    fn the_oldest_stranger_makes_room_and_nobody_with_the_token_does() {
        use Standing::{Over, Refused, Stranger, Trusted};
        let places = Places::new(5, 2);
        assert_eq!(places.trusted_most(), 3);
        let mut all: Vec<_> = (0..2).map(|_| places.enter(HERE)).collect();
        assert!(all[0].trust() && all[0].trust(), "twice is once");
        all.extend((0..8).map(|_| places.enter(HERE)));
        let refused = [Refused; 6];
        assert_eq!(standings(&all), [&[Trusted, Over], &refused[..], &[Stranger, Stranger]].concat());
        // One that sends the token when its place was taken already keeps its connection.
        assert!(all[3].trust() && all[8].trust());
        assert!(!all[9].trust(), "the places of trusted ones are taken");
        assert!(!all[1].trust(), "it is over");
        assert_eq!(standings(&all)[..4], [Trusted, Over, Refused, Trusted]);
        assert_eq!(standings(&all)[7..], [Refused, Trusted, Stranger]);
        all.swap_remove(0);
        assert!(all[0].trust(), "a place is free again");
        drop(all);
        let table = places.lock();
        assert_eq!((table.trusted, table.strangers.len(), table.refused.len()), (0, 0, 0));
    }

    /// Checks that connections of an address never displace connections of another address, however many are opened.
    #[test]
    fn an_address_displaces_its_own_connections_only() {
        let places = Places::new(512, 64);
        let owner = places.enter("192.0.2.7".parse().unwrap());
        let same_network: Vec<_> = (1..=32_u16)
            .map(|n| places.enter(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 1, n, 0, 0, 9).into()))
            .collect();
        let flood: Vec<_> = (0..10_000).map(|_| places.enter(HERE)).collect();
        assert_eq!(*owner.standing.borrow(), Standing::Stranger);
        assert!(owner.trust());
        let left = |places: &[Place]| {
            places.iter().filter(|place| *place.standing.borrow() == Standing::Stranger).count()
        };
        assert_eq!((left(&same_network), left(&flood)), (31, 32), "two networks have half of the rest each");
    }

    #[test]
    fn there_is_always_a_place_to_send_the_token() {
        for (most, strangers, want) in [(512, 64, 448), (4, 64, 0), (0, 0, 0), (1, 0, 0), (9, 1, 8)] {
            let places = Places::new(most, strangers);
            assert_eq!(places.trusted_most(), want, "{most} {strangers}");
            assert_eq!(*places.enter(HERE).standing.borrow(), Standing::Stranger);
        }
    }
}
