//! Provider of the counterset Bonding.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use perfset_catalogue::bonding as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::provider::{
    Collection, CollectionCache, InstanceKey, InstanceSource, KeptFile, MarkedRaw, ReadFiles, SeqFileKind,
    id_of_name, instance_name,
};
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::bonding::interfaces;

#[cfg(test)]
mod tests;

/// Instances of the counterset Bonding, from `/sys/class/net`.
#[derive(Debug)]
pub(crate) struct Bonding {
    class: PathBuf,
    masters: KeptFile,
    /// Names of the bonds (groups of network interfaces), in the kernel's order.
    names: Vec<Vec<u8>>,
    keys: Vec<InstanceKey>,
    bonds: Vec<Bond>,
}

#[derive(Debug)]
struct Bond {
    list: KeptFile,
    slaves: CollectionCache<Vec<Vec<u8>>>,
}

const GONE: &str = "the bond is gone";

impl Bonding {
    /// Creates the provider of the counterset Bonding, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let class = roots.sys.join("class/net");
        let masters = KeptFile::new(class.join("bonding_masters"), SeqFileKind::Single);
        Self { class, masters, names: Vec::new(), keys: Vec::new(), bonds: Vec::new() }
    }
}

/// Parses the names of bonds (groups of network interfaces) into `into`, whose memory is reused.
fn names(text: &[u8], into: &mut Vec<Vec<u8>>) -> Result<bool, crate::sources::text::TextError> {
    let listed = interfaces(text)?;
    let is_same = into.iter().map(Vec::as_slice).eq(listed.iter().copied());
    if !is_same {
        *into = listed.into_iter().map(<[u8]>::to_vec).collect();
    }
    Ok(is_same)
}

impl InstanceSource for Bonding {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { class, masters, names: known, keys, bonds } = self;
        let is_same = match pass.read(masters, "there are no bonds", |text| names(text, known)) {
            Ok(is_same) => is_same,
            // The driver is not loaded.
            Err(NoValue::Unavailable(_)) => {
                known.clear();
                keys.is_empty()
            }
            Err(reason) => return Err(reason),
        };
        if !is_same || keys.len() != known.len() {
            keys.clear();
            bonds.clear();
            for name in known.iter() {
                let list = class.join(OsStr::from_bytes(name)).join("bonding/slaves");
                let list = KeptFile::new(list, SeqFileKind::Single).keep(false);
                bonds.push(Bond { list, slaves: CollectionCache::default() });
                keys.push(InstanceKey::new(instance_name(name), id_of_name(name)));
            }
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let Bond { list, slaves } = self.bonds.get_mut(at).ok_or(NoValue::NotGiven)?;
        let slaves = slaves.get(pass, |pass| {
            let mut slaves = Vec::new();
            pass.read(list, GONE, |text| names(text, &mut slaves))?;
            Ok(slaves)
        })?;
        let count = match counter {
            id::SLAVES => slaves.len(),
            id::ACTIVE_SLAVES => {
                let mut active = 0_usize;
                for slave in slaves {
                    let path = self.class.join(OsStr::from_bytes(slave)).join("bonding_slave/mii_status");
                    let mut file = KeptFile::new(path, SeqFileKind::Single).keep(false);
                    let absent = "the kernel does not tell whether its slaves are up";
                    let is_up = pass.read(&mut file, absent, |text| Ok(attribute::line(text)? == b"up"))?;
                    active = active.saturating_add(usize::from(is_up));
                }
                active
            }
            _ => return Err(NoValue::NotGiven),
        };
        Ok(u64::try_from(count).unwrap_or(u64::MAX).into())
    }
}
