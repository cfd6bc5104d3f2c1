//! Provider of the counterset Cooling Device.

use std::path::PathBuf;

use perfset_catalogue::cooling_device as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use super::{Device, NO_DEVICE, numbered};
use crate::provider::{
    Collection, DirReader, InstanceKey, InstanceSource, MarkedRaw, ReadFiles, instance_name,
};
use crate::roots::Roots;
use crate::sources::attribute;

/// Instances of the counterset Cooling Device, from `/sys/class/thermal`.
#[derive(Debug)]
pub(crate) struct CoolingDevices {
    class: PathBuf,
    folder: DirReader,
    /// Ids of the cooling devices, as in `cooling_deviceN`, ascending; `listed` is a buffer for the next list.
    ids: Vec<u32>,
    listed: Vec<u32>,
    keys: Vec<InstanceKey>,
    devices: Vec<Device>,
}

impl CoolingDevices {
    /// Creates the provider of the counterset Cooling Device, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let class = roots.sys.join("class/thermal");
        let folder = DirReader::new(&class);
        Self { class, folder, ids: Vec::new(), listed: Vec::new(), keys: Vec::new(), devices: Vec::new() }
    }
}

impl InstanceSource for CoolingDevices {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { class, folder, ids, listed, keys, devices } = self;
        numbered(folder, b"cooling_device", listed, pass)?;
        if ids != listed {
            ids.clone_from(listed);
            keys.clear();
            devices.clear();
            for id in ids.iter() {
                devices.push(Device::new(&class.join(format!("cooling_device{id}"))));
                keys.push(InstanceKey::new(String::new(), InstanceId(*id)));
            }
        }
        // A device may have been replaced by another one with the same number.
        for (device, key) in devices.iter_mut().zip(keys) {
            let name = &mut key.name;
            let known = pass.read(&mut device.kind, NO_DEVICE, |text| {
                let kind = attribute::line(text)?;
                if kind.is_empty() {
                    name.clear();
                } else if kind != name.as_bytes() {
                    *name = instance_name(kind);
                }
                Ok(())
            });
            if known.is_err() || name.is_empty() {
                *name = format!("cooling_device{}", key.id.0);
            }
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let device = self.devices.get_mut(at).ok_or(NoValue::NotGiven)?;
        let file = match counter {
            id::STATE => &mut device.current,
            id::MAXIMUM_STATE => &mut device.most,
            _ => return Err(NoValue::NotGiven),
        };
        // The file contains -1 if the device is not even turned on.
        let state = pass.read(file, NO_DEVICE, attribute::signed)?;
        let negative = |_| NoValue::Unavailable(format!("it is {state}: the device is not turned on").into());
        Ok(u64::try_from(state).map_err(negative)?.into())
    }
}
