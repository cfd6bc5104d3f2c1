//! Kinds of sensors of a chip in `/sys/class/hwmon`, derived from the names of their attributes.
//!
//! Source: "Naming and data format standards for sysfs files" in the kernel's documents about hwmon.

/// Quantity that a sensor measures, and the unit of its attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SensorKind {
    /// `temp`: temperature, in thousandths of a degree Celsius.
    Temperature,
    /// `fan`: speed of a fan, in turns per minute.
    Fan,
    /// `in`: voltage, in mV.
    Voltage,
    /// `curr`: current, in mA.
    Current,
    /// `power`: power, in µW.
    Power,
    /// `energy`: energy used since some point in time, in µJ.
    Energy,
    /// `humidity`: relative humidity, in thousandths of a percent.
    Humidity,
}

impl SensorKind {
    const ALL: [Self; 7] = [
        Self::Temperature,
        Self::Fan,
        Self::Voltage,
        Self::Current,
        Self::Power,
        Self::Energy,
        Self::Humidity,
    ];

    /// Returns the prefix of the names of the attributes that sensors of this kind have.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Temperature => "temp",
            Self::Fan => "fan",
            Self::Voltage => "in",
            Self::Current => "curr",
            Self::Power => "power",
            Self::Energy => "energy",
            Self::Humidity => "humidity",
        }
    }
}

/// Sensor of a hardware-monitoring chip, identified by the name of its attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sensor {
    /// Quantity that the sensor measures.
    pub kind: SensorKind,
    /// Number of the sensor among those of its chip that measure the same quantity.
    pub number: u32,
    /// `true` if the attribute is an average (`powerN_average`), not the current value.
    pub is_average: bool,
}

/// Returns the sensor whose value an attribute contains; `None` if the attribute contains something else.
///
/// ```
/// use perfset_linux::sources::hwmon::{SensorKind, Sensor, sensor};
///
/// let core = Sensor { kind: SensorKind::Temperature, number: 2, is_average: false };
/// assert_eq!(sensor(b"temp2_input"), Some(core));
/// assert_eq!(sensor(b"temp2_max"), None);
/// ```
#[must_use]
pub fn sensor(attribute: &[u8]) -> Option<Sensor> {
    let attribute = std::str::from_utf8(attribute).ok()?;
    let (sensor, item) = attribute.split_once('_')?;
    let digits = sensor.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    let prefix = sensor.strip_suffix(digits)?;
    let kind = SensorKind::ALL.into_iter().find(|kind| kind.prefix() == prefix)?;
    let is_average = kind == SensorKind::Power && item == "average";
    let is_value = item == "input" || is_average;
    // Only small numbers are accepted, because an id is made of them.
    let number = digits.parse().ok().filter(|number| *number < 0x1000)?;
    // The digits are checked as well, because `parse` also accepts a plus sign.
    (is_value && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(Sensor {
        kind,
        number,
        is_average,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes() {
        let of = |kind, number| Some(Sensor { kind, number, is_average: false });
        for (name, want) in [
            ("temp1_input", of(SensorKind::Temperature, 1)),
            ("fan4095_input", of(SensorKind::Fan, 4_095)),
            ("in0_input", of(SensorKind::Voltage, 0)),
            ("curr3_input", of(SensorKind::Current, 3)),
            ("power5_input", of(SensorKind::Power, 5)),
            ("power5_average", Some(Sensor { kind: SensorKind::Power, number: 5, is_average: true })),
            ("energy7_input", of(SensorKind::Energy, 7)),
            ("humidity11_input", of(SensorKind::Humidity, 11)),
            ("temp1_average", None),
            ("temp1_label", None),
            ("temp_input", None),
            ("temp1input", None),
            ("in4096_input", None),
            ("in+1_input", None),
            ("inside1_input", None),
            ("intrusion0_alarm", None),
            ("1_input", None),
            ("temp1_input_x", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(sensor(name.as_bytes()), want, "{name:?}");
        }
        assert_eq!(sensor(b"temp\xFF_input"), None);
    }
}
