//! Provider of the counterset Power Supply.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use perfset_catalogue::power_supply as id;
use perfset_core::{CounterId, Counterset, NoValue};

use crate::provider::{
    Attribute, Collection, DirReader, InstanceKey, InstanceSource, MarkedRaw, ReadFiles, id_of_name,
    instance_name,
};
use crate::roots::Roots;

#[cfg(test)]
mod tests;

/// Instances of the counterset Power Supply, from `/sys/class/power_supply`.
#[derive(Debug)]
pub(crate) struct PowerSupplies {
    class: PathBuf,
    folder: DirReader,
    /// Names of the power supplies, ascending; `listed` is a buffer for the next list.
    names: Vec<Vec<u8>>,
    listed: Vec<Vec<u8>>,
    keys: Vec<InstanceKey>,
    supplies: Vec<Supply>,
}

#[derive(Debug)]
struct Supply {
    online: Attribute,
    capacity: Attribute,
}

impl PowerSupplies {
    /// Creates the provider of the counterset Power Supply, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let class = roots.sys.join("class/power_supply");
        let folder = DirReader::new(&class);
        let (names, listed, keys, supplies) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { class, folder, names, listed, keys, supplies }
    }
}

impl InstanceSource for PowerSupplies {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { class, folder, names, listed, keys, supplies } = self;
        listed.clear();
        pass.list_if_there(folder, |name| {
            if !name.starts_with(b".") {
                listed.push(name.to_vec());
            }
        })?;
        listed.sort_unstable();
        if names != listed {
            names.clone_from(listed);
            keys.clear();
            supplies.clear();
            for name in names.iter() {
                let path = class.join(OsStr::from_bytes(name));
                let attribute = |file, absent| Attribute::new(path.join(file), false, absent);
                supplies.push(Supply {
                    online: attribute("online", "this supply cannot be connected or disconnected"),
                    capacity: attribute(
                        "capacity",
                        "this supply stores no energy, or does not tell how much",
                    ),
                });
                keys.push(InstanceKey::new(instance_name(name), id_of_name(name)));
            }
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let supply = self.supplies.get_mut(at).ok_or(NoValue::NotGiven)?;
        let raw = match counter {
            id::ONLINE => supply.online.get(pass)?,
            id::CAPACITY => supply.capacity.get(pass)?,
            _ => return Err(NoValue::NotGiven),
        };
        Ok(raw.into())
    }
}
