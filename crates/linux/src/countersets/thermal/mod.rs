//! Countersets Thermal Zone Information and Cooling Device.

use std::path::{Path, PathBuf};

use perfset_catalogue::thermal_zone_information as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use crate::provider::{
    Collection, CollectionCache, DirReader, InstanceKey, InstanceSource, KeptFile, MarkedRaw, ReadFiles,
    SeqFileKind, instance_name, unavailable,
};
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::processes::pid;
use crate::sources::thermal::slows_processors;

mod cooling;
#[cfg(test)]
mod tests;

pub(crate) use cooling::CoolingDevices;

/// Instances of the counterset Thermal Zone Information, from `/sys/class/thermal`.
#[derive(Debug)]
pub(crate) struct ThermalZones {
    class: PathBuf,
    folder: DirReader,
    /// Ids of the thermal zones, as in `thermal_zoneN`, ascending; `listed` is a buffer for the next list.
    ids: Vec<u32>,
    listed: Vec<u32>,
    /// Keys of the rows of the thermal zones, by index.
    keys: Vec<InstanceKey>,
    zones: Vec<ThermalZone>,
}

#[derive(Debug)]
struct ThermalZone {
    kind: KeptFile,
    temp: KeptFile,
    /// Temperature of the thermal zone, in thousandths of a degree Celsius.
    milli_celsius: CollectionCache<i64>,
    path: PathBuf,
    folder: DirReader,
    cooling: CollectionCache<Cooling>,
    /// Ids of the thermal zone's links to cooling devices, as in `cdevN`; `listed` is a buffer for the next list, and
    /// `devices` has the files.
    numbers: Vec<u32>,
    listed: Vec<u32>,
    devices: Vec<Device>,
}

/// Current effect of a thermal zone on processors.
#[derive(Clone, Copy, Debug)]
struct Cooling {
    /// Speed that is left to the processors by the thermal zone, in percent.
    limit: u64,
    is_active: bool,
}

/// Cooling device that is bound to a thermal zone.
#[derive(Debug)]
struct Device {
    kind: KeptFile,
    current: KeptFile,
    most: KeptFile,
}

const NO_TEMPERATURE: &str = "this zone has no temperature";
const NO_DEVICE: &str = "the cooling device is gone";
const SLOWS_NOTHING: &str = "this zone slows no processor";

impl ThermalZones {
    /// Maximum number of thermal zones that keep the file descriptor of their temperature.
    const ZONES_THAT_KEEP: usize = 16;

    /// Creates the provider of Thermal Zone Information, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let class = roots.sys.join("class/thermal");
        let folder = DirReader::new(&class);
        Self { class, folder, ids: Vec::new(), listed: Vec::new(), keys: Vec::new(), zones: Vec::new() }
    }
}

impl InstanceSource for ThermalZones {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { class, folder, ids, listed, keys, zones } = self;
        numbered(folder, b"thermal_zone", listed, pass)?;
        // While the numbers are the same, the zones keep their open files.
        if ids != listed {
            ids.clone_from(listed);
            keys.clear();
            zones.clear();
            for id in ids.iter() {
                let zone = class.join(format!("thermal_zone{id}"));
                zones.push(ThermalZone::new(zone, zones.len() < Self::ZONES_THAT_KEEP));
                keys.push(InstanceKey::new(String::new(), InstanceId(*id)));
            }
        }
        // A zone may have been replaced by another one with the same number.
        for (zone, key) in zones.iter_mut().zip(keys) {
            let name = &mut key.name;
            let known = pass.read(&mut zone.kind, "it has no type", |text| {
                let kind = attribute::line(text)?;
                if kind.is_empty() {
                    name.clear();
                } else if kind != name.as_bytes() {
                    *name = instance_name(kind);
                }
                Ok(())
            });
            if known.is_err() || name.is_empty() {
                *name = format!("thermal_zone{}", key.id.0);
            }
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let zone = self.zones.get_mut(at).ok_or(NoValue::NotGiven)?;
        let value = match counter {
            // Rounded down below 0 °C, too, where a plain division would round up.
            id::TEMPERATURE => above_zero(zone.milli_celsius(pass)?.div_euclid(1_000).saturating_add(273))?,
            id::HIGH_PRECISION_TEMPERATURE => {
                above_zero(zone.milli_celsius(pass)?.saturating_add(273_150).div_euclid(100))?
            }
            id::PERCENT_PASSIVE_LIMIT => zone.cooling(pass)?.limit,
            id::THROTTLE_REASONS => u64::from(zone.cooling(pass)?.is_active),
            _ => return Err(NoValue::NotGiven),
        };
        Ok(value.into())
    }
}

/// Returns the temperature `kelvin`, if it is physically possible and fits into 4 bytes.
fn above_zero(kelvin: i64) -> Result<u64, NoValue> {
    let kelvin = u32::try_from(kelvin).map_err(|_| unavailable("the sensor says what no temperature is"));
    kelvin.map(u64::from)
}

/// Lists the numbers that follow `prefix` in the names of a directory, ascending; none if the directory does not
/// exist.
fn numbered(
    folder: &mut DirReader,
    prefix: &[u8],
    into: &mut Vec<u32>,
    pass: &mut Collection,
) -> Result<(), NoValue> {
    into.clear();
    pass.list_if_there(folder, |name| into.extend(name.strip_prefix(prefix).and_then(pid)))?;
    into.sort_unstable();
    Ok(())
}

impl ThermalZone {
    fn new(path: PathBuf, keep: bool) -> Self {
        let file = |name| KeptFile::new(path.join(name), SeqFileKind::Single);
        Self {
            kind: file("type").keep(false),
            temp: file("temp").keep(keep),
            milli_celsius: CollectionCache::default(),
            folder: DirReader::new(&path),
            path,
            cooling: CollectionCache::default(),
            numbers: Vec::new(),
            listed: Vec::new(),
            devices: Vec::new(),
        }
    }

    fn milli_celsius(&mut self, pass: &mut Collection) -> Result<i64, NoValue> {
        let Self { temp, milli_celsius, .. } = self;
        milli_celsius.get(pass, |pass| pass.read(temp, NO_TEMPERATURE, attribute::signed)).copied()
    }

    fn cooling(&mut self, pass: &mut Collection) -> Result<Cooling, NoValue> {
        let Self { path, folder, cooling, numbers, listed, devices, .. } = self;
        let cooling = cooling.get(pass, |pass| {
            numbered(folder, b"cdev", listed, pass)?;
            if numbers != listed {
                numbers.clone_from(listed);
                devices.clear();
                devices.extend(numbers.iter().map(|number| Device::new(&path.join(format!("cdev{number}")))));
            }
            let mut all: Option<Cooling> = None;
            for device in devices {
                let Some(Cooling { limit, is_active }) = device.cooling(pass)? else { continue };
                // The strictest device decides: the processors run at the lowest of all limits.
                let others = all.unwrap_or(Cooling { limit: 100, is_active: false });
                let is_active = others.is_active || is_active;
                all = Some(Cooling { limit: others.limit.min(limit), is_active });
            }
            all.ok_or_else(|| unavailable(SLOWS_NOTHING))
        });
        cooling.copied()
    }
}

impl Device {
    fn new(path: &Path) -> Self {
        let file = |name| KeptFile::new(path.join(name), SeqFileKind::Single).keep(false);
        Self { kind: file("type"), current: file("cur_state"), most: file("max_state") }
    }

    /// Returns the current effect of the cooling device on processors, if it slows them.
    fn cooling(&mut self, pass: &mut Collection) -> Result<Option<Cooling>, NoValue> {
        let kind = |text: &[u8]| attribute::line(text).map(slows_processors);
        if !pass.read(&mut self.kind, NO_DEVICE, kind)? {
            return Ok(None);
        }
        let most = pass.read(&mut self.most, NO_DEVICE, attribute::number)?;
        // The file contains -1 if the device is not even turned on.
        let current = pass.read(&mut self.current, NO_DEVICE, attribute::signed)?;
        let current = u64::try_from(current).unwrap_or(0).min(most);
        let taken = current.saturating_mul(100).checked_div(most).unwrap_or(0);
        Ok(Some(Cooling { limit: 100_u64.saturating_sub(taken), is_active: current > 0 }))
    }
}
