//! Provider of the counterset TCP States.

use perfset_catalogue::tcp_states as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use crate::countersets::protocols::NO_IPV6;
use crate::provider::{
    ChunkedFile, Collection, CollectionCache, InstanceKey, InstanceSource, MarkedRaw, ReadError, ReadFiles,
};
use crate::roots::Roots;
use crate::sources::tcp_sockets::{STATES, TcpSockets};

#[cfg(test)]
mod tests;

/// Instances of the counterset TCP States, which are the same on every kernel; files are read only for their values.
#[derive(Debug)]
pub(crate) struct TcpStates {
    of_v4: ChunkedFile,
    of_v6: ChunkedFile,
    /// Number of TCP sockets in each state, in the order of [`STATES`].
    latest: CollectionCache<[u64; STATES.len()]>,
    keys: Vec<InstanceKey>,
}

impl TcpStates {
    /// Creates the provider of the counterset TCP States, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let key = |(at, name): (u32, &&str)| InstanceKey::new((*name).to_owned(), InstanceId(at));
        Self {
            of_v4: ChunkedFile::new(roots.net("tcp")),
            of_v6: ChunkedFile::new(roots.net("tcp6")),
            latest: CollectionCache::default(),
            // The kernel's numbers of states begin at 1.
            keys: (1..).zip(&STATES).map(key).collect(),
        }
    }

    fn counts(&mut self, pass: &mut Collection) -> Result<&[u64; STATES.len()], NoValue> {
        let Self { of_v4, of_v6, latest, .. } = self;
        latest.get(pass, |pass| {
            let mut counts = count(of_v4, "there is no /proc/net/tcp", pass)?;
            let more = match count(of_v6, NO_IPV6, pass) {
                // Without IPv6 there are no such sockets.
                Err(NoValue::Unavailable(_)) => [0; STATES.len()],
                more => more?,
            };
            for (count, more) in counts.iter_mut().zip(more) {
                *count = count.saturating_add(more);
            }
            Ok(counts)
        })
    }
}

/// Returns the number of TCP sockets in each state over one version of IP.
fn count(
    file: &mut ChunkedFile,
    absent: &'static str,
    pass: &mut Collection,
) -> Result<[u64; STATES.len()], NoValue> {
    let mut sockets = TcpSockets::default();
    pass.read_in_pieces(file, absent, |piece| sockets.add(piece))?;
    let counts = sockets.by_state();
    counts.map_err(|text| ReadError::Text { path: file.path().to_owned(), text }.into())
}

impl InstanceSource for TcpStates {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, _: &mut Collection) -> Result<(), NoValue> {
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        if counter != id::CONNECTIONS {
            return Err(NoValue::NotGiven);
        }
        let count = self.counts(pass)?.get(at).copied();
        count.map(MarkedRaw::from).ok_or(NoValue::NotGiven)
    }
}
