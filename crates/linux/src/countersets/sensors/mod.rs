//! Provider of the counterset Linux Sensors.

use std::path::{Path, PathBuf};

use perfset_catalogue::linux_sensors as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};
use perfset_engine::{Fact, FactKind};

use crate::inventory::chip_label;
use crate::provider::{
    Collection, CollectionCache, DirReader, InstanceKey, InstanceSource, KeptFile, MarkedRaw, ReadFiles,
    SeqFileKind, instance_name, unavailable,
};
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::hwmon::{Sensor, SensorKind, sensor};
use crate::sources::processes::pid;

#[cfg(test)]
mod tests;

/// Instances of the counterset Linux Sensors, from `/sys/class/hwmon`.
#[derive(Debug)]
pub(crate) struct LinuxSensors {
    class: PathBuf,
    folder: DirReader,
    /// Ids of the sensor chips, as in `hwmonN`, ascending; `listed` is a buffer for the next list.
    ids: Vec<u32>,
    listed: Vec<u32>,
    chips: Vec<Chip>,
    /// Keys of the rows of all sensors of the chips, in order.
    keys: Vec<InstanceKey>,
    channels: Vec<Channel>,
}

#[derive(Debug)]
struct Chip {
    id: u32,
    path: PathBuf,
    folder: DirReader,
    name: KeptFile,
    /// Text of the sensor chip's file `name` at the last reading.
    known_as: Vec<u8>,
    /// Sensors of the chip, ascending; `listed` is a buffer for the next list.
    sensors: Vec<Sensor>,
    listed: Vec<Sensor>,
}

/// Sensor of a chip, with the file of its value.
#[derive(Debug)]
struct Channel {
    kind: SensorKind,
    file: KeptFile,
    latest: CollectionCache<i64>,
    /// Limits that a sensor of this kind can have: for each limit, the counter that displays it, and its file.
    limits: Vec<(CounterId, KeptFile)>,
}

/// Counters of the limits that a sensor can have, each with the kind of sensor and the ending of the limit's file.
const LIMITS: [(CounterId, SensorKind, &str); 5] = [
    (id::MAXIMUM_TEMPERATURE, SensorKind::Temperature, "max"),
    (id::CRITICAL_TEMPERATURE, SensorKind::Temperature, "crit"),
    (id::CRITICAL_HYSTERESIS_TEMPERATURE, SensorKind::Temperature, "crit_hyst"),
    (id::CRITICAL_ALARM, SensorKind::Temperature, "crit_alarm"),
    (id::MINIMUM_FAN_SPEED, SensorKind::Fan, "min"),
];

/// Raw value of 100 % humidity, in thousandths of a percent.
const WHOLE_HUMIDITY: u64 = 100_000;

impl LinuxSensors {
    /// Maximum number of hardware sensors that keep their file descriptor.
    const SENSORS_THAT_KEEP: usize = 64;

    /// Creates the provider of the counterset Linux Sensors, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let class = roots.sys.join("class/hwmon");
        let folder = DirReader::new(&class);
        let (ids, listed, chips) = (Vec::new(), Vec::new(), Vec::new());
        Self { class, folder, ids, listed, chips, keys: Vec::new(), channels: Vec::new() }
    }

    fn rebuild(&mut self, pass: &mut Collection) {
        self.keys.clear();
        self.channels.clear();
        for chip in &self.chips {
            let chip_name = match chip.known_as.as_slice() {
                [] => format!("hwmon{}", chip.id),
                name => instance_name(name),
            };
            for Sensor { kind, number, is_average } in &chip.sensors {
                let sensor = format!("{}{number}", kind.prefix());
                let label = label(&chip.path.join(format!("{sensor}_label")), pass);
                let name = format!("{chip_name}/{}", label.as_ref().unwrap_or(&sensor));
                // 16 bits for the chip, 4 for the kind of sensor, 12 for the number.
                let id = InstanceId(chip.id.wrapping_shl(16) | kind_number(*kind) << 12 | *number);
                self.keys.push(InstanceKey::new(name, id));
                let item = if *is_average { "average" } else { "input" };
                // With more sensors, opening files each time is better than using up the descriptors of the
                // program.
                let keep = self.channels.len() < Self::SENSORS_THAT_KEEP;
                let file =
                    KeptFile::new(chip.path.join(format!("{sensor}_{item}")), SeqFileKind::Single).keep(keep);
                let limits = LIMITS.iter().filter(|(_, of, _)| of == kind).map(|(counter, _, ending)| {
                    let path = chip.path.join(format!("{sensor}_{ending}"));
                    (*counter, KeptFile::new(path, SeqFileKind::Single).keep(false))
                });
                let (limits, latest) = (limits.collect(), CollectionCache::default());
                self.channels.push(Channel { kind: *kind, file, latest, limits });
            }
        }
    }
}

/// Returns the text of a sensor's label file, if there is one.
fn label(path: &Path, pass: &mut Collection) -> Option<String> {
    let mut file = KeptFile::new(path, SeqFileKind::Single).keep(false);
    let label = pass.read(&mut file, "it has no label", |text| attribute::line(text).map(instance_name));
    label.ok().filter(|label| !label.is_empty())
}

/// Returns the number of a kind of sensor, which is a part of instance ids and must never change.
fn kind_number(kind: SensorKind) -> u32 {
    match kind {
        SensorKind::Temperature => 0,
        SensorKind::Fan => 1,
        SensorKind::Voltage => 2,
        SensorKind::Current => 3,
        SensorKind::Power => 4,
        SensorKind::Energy => 5,
        SensorKind::Humidity => 6,
    }
}

impl InstanceSource for LinuxSensors {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { class, folder, ids, listed, chips, .. } = self;
        listed.clear();
        pass.list_if_there(folder, |name| listed.extend(name.strip_prefix(b"hwmon").and_then(pid)))?;
        listed.sort_unstable();
        let mut changed = ids != listed;
        if changed {
            ids.clone_from(listed);
            chips.clear();
            chips.extend(ids.iter().map(|id| Chip::new(*id, class.join(format!("hwmon{id}")))));
        }
        for chip in chips {
            changed |= chip.look(pass);
        }
        if changed {
            self.rebuild(pass);
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn facts(&mut self, at: usize, _: &mut Collection) -> Vec<Fact> {
        let path = self.channels.get(at).map(|channel| channel.file.path());
        let parts = path.and_then(|path| path.parent().zip(path.file_name()));
        let Some((chip, attribute)) = parts else { return Vec::new() };
        let attribute = attribute.to_string_lossy();
        let sensor = attribute.split('_').next().unwrap_or_default().to_owned();
        vec![Fact::new(FactKind::Chip, Ok(chip_label(chip))), Fact::new(FactKind::Sensor, Ok(sensor))]
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let wanted = match counter {
            id::TEMPERATURE => SensorKind::Temperature,
            id::FAN_SPEED => SensorKind::Fan,
            id::VOLTAGE => SensorKind::Voltage,
            id::CURRENT => SensorKind::Current,
            id::POWER => SensorKind::Power,
            id::ENERGY => SensorKind::Energy,
            id::PERCENT_RELATIVE_HUMIDITY | id::PERCENT_RELATIVE_HUMIDITY_BASE => SensorKind::Humidity,
            _ => {
                let limit = LIMITS.iter().find(|(limit, ..)| *limit == counter);
                limit.map(|(_, kind, _)| *kind).ok_or(NoValue::NotGiven)?
            }
        };
        let Channel { kind, file, latest, limits } = self.channels.get_mut(at).ok_or(NoValue::NotGiven)?;
        if *kind != wanted {
            return Err(unavailable("this sensor measures something else"));
        }
        // A constant, so the sensor is not read for it.
        if counter == id::PERCENT_RELATIVE_HUMIDITY_BASE {
            return Ok(WHOLE_HUMIDITY.into());
        }
        let limit = limits.iter_mut().find(|(limit, _)| *limit == counter);
        let number = match limit {
            Some((_, file)) => pass.read(file, "this sensor has no such limit", attribute::signed)?,
            None => *latest.get(pass, |pass| pass.read(file, "the sensor is gone", attribute::signed))?,
        };
        // In thousandths of a kelvin, because counters hold nothing below 0.
        let is_temperature = wanted == SensorKind::Temperature && counter != id::CRITICAL_ALARM;
        let number = if is_temperature { number.saturating_add(273_150) } else { number };
        let negative =
            |_| NoValue::Unavailable(format!("it is {number}: counters hold nothing below 0").into());
        Ok(u64::try_from(number).map_err(negative)?.into())
    }
}

impl Chip {
    fn new(id: u32, path: PathBuf) -> Self {
        Self {
            id,
            folder: DirReader::new(&path),
            name: KeptFile::new(path.join("name"), SeqFileKind::Single).keep(false),
            path,
            known_as: Vec::new(),
            sensors: Vec::new(),
            listed: Vec::new(),
        }
    }

    /// Reads the sensor chip's name and lists its sensors. Returns `true` if they have changed: another chip may have
    /// the number now.
    fn look(&mut self, pass: &mut Collection) -> bool {
        let Self { folder, name, known_as, sensors, listed, .. } = self;
        let same_name = pass.read(name, "it has no name", |text| {
            let text = attribute::line(text)?;
            let same = text == known_as.as_slice();
            known_as.clear();
            known_as.extend_from_slice(text);
            Ok(same)
        });
        // A chip without a readable name is named by its number. That is a change only if it had a name
        // before.
        let same_name = same_name.unwrap_or_else(|_| {
            let same = known_as.is_empty();
            known_as.clear();
            same
        });
        listed.clear();
        // A chip that cannot be listed has no sensors for now.
        let _ = pass.list_if_there(folder, |name| listed.extend(sensor(name)));
        listed.sort_unstable();
        // If a sensor has both a power and its mean, the momentary power is used.
        listed.dedup_by_key(|sensor| (sensor.kind, sensor.number));
        let same_sensors = sensors == listed;
        sensors.clone_from(listed);
        !(same_name && same_sensors)
    }
}
