//! Countersets NFS Client and NFS Client Operations, which share `/proc/net/rpc/nfs`.

use perfset_catalogue::{nfs_client, nfs_client_operations};
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use crate::provider::{
    Collection, InstanceKey, InstanceSource, MarkedRaw, ParsedFile, SharedFile, ValueSource,
};
use crate::sources::nfs_client::{NfsClient as Counts, OPERATIONS_V3, OPERATIONS_V4};

#[cfg(test)]
mod tests;

const ABSENT: &str = "this kernel has no NFS client";

/// Values of the counterset NFS Client, from `/proc/net/rpc/nfs`.
#[derive(Debug)]
pub(crate) struct NfsClient {
    file: ParsedFile<Counts>,
}

impl NfsClient {
    /// Creates the values of NFS Client from a `/proc/net/rpc/nfs` that both NFS countersets share.
    pub(crate) fn new(file: SharedFile) -> Self {
        Self { file: ParsedFile::from_file(file, ABSENT, Counts::parse) }
    }
}

impl ValueSource for NfsClient {
    fn counterset(&self) -> Counterset {
        nfs_client::COUNTERSET.clone()
    }

    fn value(&mut self, counter: CounterId, pass: &mut Collection) -> Result<u64, NoValue> {
        use nfs_client as id;
        let Counts { net: [packets, udp, tcp, connections], rpc: [calls, again, renewals], .. } =
            self.file.get(pass)?;
        Ok(*match counter {
            id::CALLS_PER_SEC => calls,
            id::RETRANSMISSIONS_PER_SEC => again,
            id::AUTHENTICATION_REFRESHES_PER_SEC => renewals,
            id::PACKETS_PER_SEC => packets,
            id::UDP_PACKETS_PER_SEC => udp,
            id::TCP_PACKETS_PER_SEC => tcp,
            id::TCP_CONNECTIONS_PER_SEC => connections,
            _ => return Err(NoValue::NotGiven),
        })
    }
}

/// Instances of the counterset NFS Client Operations: procedures of the NFS versions 3 and 4.
#[derive(Debug)]
pub(crate) struct NfsOperations {
    file: ParsedFile<Counts>,
    /// Numbers of procedures of NFS versions 3 and 4 when `keys` were made.
    known: (usize, usize),
    keys: Vec<InstanceKey>,
}

impl NfsOperations {
    /// Creates the provider of NFS Client Operations with a `/proc/net/rpc/nfs` that both NFS countersets share.
    pub(crate) fn new(file: SharedFile) -> Self {
        let file = ParsedFile::from_file(file, ABSENT, Counts::parse);
        Self { file, known: (0, 0), keys: Vec::new() }
    }
}

/// Returns the instance keys of the counted procedures of an NFS version. `first` is the id of the first procedure.
fn keys(version: &str, first: u32, names: &[&str], count: usize) -> impl Iterator<Item = InstanceKey> {
    let key = |(id, name): (u32, &&str)| InstanceKey::new(format!("{version} {name}"), InstanceId(id));
    (first..).zip(names.iter().take(count)).map(key).collect::<Vec<_>>().into_iter()
}

impl InstanceSource for NfsOperations {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        nfs_client_operations::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let counts = match self.file.get(pass) {
            Ok(counts) => (counts.proc3.len(), counts.proc4.len()),
            Err(NoValue::Unavailable(_)) => (0, 0), // the driver is not loaded
            Err(reason) => return Err(reason),
        };
        if self.known != counts {
            self.known = counts;
            let of_v3 = keys("v3", 300, &OPERATIONS_V3, counts.0);
            self.keys = of_v3.chain(keys("v4", 400, &OPERATIONS_V4, counts.1)).collect();
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        if counter != nfs_client_operations::OPERATIONS_PER_SEC {
            return Err(NoValue::NotGiven);
        }
        let of_v3 = self.known.0.min(OPERATIONS_V3.len());
        let counts = self.file.get(pass)?;
        let count = match at.checked_sub(of_v3) {
            None => counts.proc3.get(at),
            Some(at) => counts.proc4.get(at),
        };
        Ok((*count.ok_or(NoValue::NotGiven)?).into())
    }
}
