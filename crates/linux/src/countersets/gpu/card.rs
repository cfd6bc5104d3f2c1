//! Readings of a graphics processor from `/sys`.
//!
//! Source: the kernel's `Documentation/gpu/amdgpu/thermal.rst`, `Documentation/gpu/amdgpu/driver-misc.rst`,
//! `Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon`, `sysfs-driver-intel-xe-hwmon` and
//! `Documentation/hwmon/sysfs-interface.rst`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use perfset_core::NoValue;

use crate::provider::{
    Attribute, Collection, DirReader, KeptFile, LOOK_AGAIN_NS, ReadFiles, SeqFileKind, unavailable,
};
use crate::sources::text::TextError;

/// Kind of momentary reading of a graphics processor, in the unit of the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CardReading {
    /// Utilization of the graphics processor, in %.
    GpuUtilization,
    /// Utilization of the graphics memory's interface, in %.
    MemoryUtilization,
    /// Utilization of the graphics card's video encoder, in %.
    EncoderUtilization,
    /// Utilization of the graphics card's video decoder, in %.
    DecoderUtilization,
    /// Size of the graphics processor's dedicated memory, in bytes.
    Dedicated,
    /// Dedicated memory of the graphics processor in use, in bytes.
    DedicatedUsed,
    /// Size of the system memory that the graphics processor can use (shared memory), in bytes.
    Shared,
    /// Shared memory that the graphics processor uses, in bytes.
    SharedUsed,
    /// Temperature of the graphics processor, in °C.
    Temperature,
    /// Temperature of the graphics processor's hottest spot, in °C.
    HotSpotTemperature,
    /// Temperature of the graphics memory, in °C.
    MemoryTemperature,
    /// Power draw of the graphics card, in mW.
    PowerDraw,
    /// Power limit of the graphics card, in mW.
    PowerLimit,
    /// Clock of the graphics processor, in MHz.
    GraphicsClock,
    /// Maximum clock of the graphics processor, in MHz.
    MaximumGraphicsClock,
    /// Clock of the graphics memory, in MHz.
    MemoryClock,
    /// Fan speed of the graphics card, in revolutions per minute.
    FanSpeed,
    /// Fan speed of the graphics card, in % of the maximum.
    FanPercent,
    /// Corrected ECC errors of the graphics card since the driver was loaded.
    CorrectedErrors,
    /// Uncorrected ECC errors of the graphics card since the driver was loaded.
    UncorrectedErrors,
    /// Data that the graphics card received over PCIe, in kB/s.
    PcieReceived,
    /// Data that the graphics card transmitted over PCIe, in kB/s.
    PcieTransmitted,
}

/// Files in `/sys` of one graphics card.
#[derive(Debug)]
pub(super) struct CardFiles {
    folder: PathBuf,
    keep: bool,
    /// Directory of the graphics card's sensors, once found.
    hwmon: Option<PathBuf>,
    looked_for_hwmon_ns: Option<u64>,
    /// Parts measured by the graphics card's temperature sensors, by sensor number, once their labels were read.
    temperatures: Option<[Option<Measured>; TEMPERATURES.len()]>,
    attributes: BTreeMap<&'static str, Attribute>,
}

/// Part of a graphics card that a temperature sensor measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured {
    Gpu,
    HotSpot,
    Memory,
}

/// Files of each temperature sensor of a graphics card: its label and its reading, in thousandths of a degree.
const TEMPERATURES: [(&str, &str); 3] =
    [("temp1_label", "temp1_input"), ("temp2_label", "temp2_input"), ("temp3_label", "temp3_input")];

const ABSENT: &str = "its driver does not publish it";

impl CardFiles {
    /// Creates the files of the graphics card with this directory in `/sys/class/drm`. `keep`: `true` if file
    /// descriptors stay open.
    pub(super) fn new(folder: PathBuf, keep: bool) -> Self {
        Self {
            folder,
            keep,
            hwmon: None,
            looked_for_hwmon_ns: None,
            temperatures: None,
            attributes: BTreeMap::new(),
        }
    }

    pub(super) fn read(&mut self, gauge: CardReading, pass: &mut Collection) -> Result<u64, NoValue> {
        const MILLI: u64 = 1_000;
        const MEGA: u64 = 1_000_000;
        match gauge {
            CardReading::GpuUtilization => self.number("device/gpu_busy_percent", pass),
            CardReading::MemoryUtilization => self.number("device/mem_busy_percent", pass),
            CardReading::Dedicated => self.number("device/mem_info_vram_total", pass),
            CardReading::DedicatedUsed => self.number("device/mem_info_vram_used", pass),
            CardReading::Shared => self.number("device/mem_info_gtt_total", pass),
            CardReading::SharedUsed => self.number("device/mem_info_gtt_used", pass),
            CardReading::Temperature => Ok(self.temperature(Measured::Gpu, pass)? / MILLI),
            CardReading::HotSpotTemperature => Ok(self.temperature(Measured::HotSpot, pass)? / MILLI),
            CardReading::MemoryTemperature => Ok(self.temperature(Measured::Memory, pass)? / MILLI),
            CardReading::PowerDraw => {
                // Which of the two exists depends on the driver and the chip.
                let uw = or(self.sensor("power1_average", pass), || self.sensor("power1_input", pass));
                Ok(uw? / MILLI)
            }
            CardReading::PowerLimit => {
                let uw = or(self.sensor("power1_cap", pass), || self.sensor("power1_max", pass));
                Ok(uw? / MILLI)
            }
            CardReading::GraphicsClock => {
                // In this order: amdgpu, i915, older i915, xe.
                let hz = self.sensor("freq1_input", pass);
                let mhz = hz.map(|hz| hz / MEGA);
                let mhz = or(mhz, || self.number("gt/gt0/rps_act_freq_mhz", pass));
                let mhz = or(mhz, || self.number("gt_act_freq_mhz", pass));
                or(mhz, || self.number("device/tile0/gt0/freq0/act_freq", pass))
            }
            CardReading::MaximumGraphicsClock => {
                let mhz = self.number("gt/gt0/rps_max_freq_mhz", pass);
                let mhz = or(mhz, || self.number("gt_max_freq_mhz", pass));
                or(mhz, || self.number("device/tile0/gt0/freq0/max_freq", pass))
            }
            CardReading::MemoryClock => Ok(self.sensor("freq2_input", pass)? / MEGA),
            CardReading::FanSpeed => self.sensor("fan1_input", pass),
            // `pwm1` reaches from 0 to 255.
            CardReading::FanPercent => Ok(self.sensor("pwm1", pass)?.saturating_mul(100) / 255),
            CardReading::EncoderUtilization
            | CardReading::DecoderUtilization
            | CardReading::CorrectedErrors
            | CardReading::UncorrectedErrors
            | CardReading::PcieReceived
            | CardReading::PcieTransmitted => Err(unavailable(ABSENT)),
        }
    }

    fn number(&mut self, name: &'static str, pass: &mut Collection) -> Result<u64, NoValue> {
        let Self { folder, keep, attributes, .. } = self;
        let attribute =
            attributes.entry(name).or_insert_with(|| Attribute::new(folder.join(name), *keep, ABSENT));
        attribute.get(pass)
    }

    fn sensor(&mut self, name: &'static str, pass: &mut Collection) -> Result<u64, NoValue> {
        self.find_hwmon(pass);
        let Self { hwmon, keep, attributes, .. } = self;
        let Some(hwmon) = hwmon else { return Err(unavailable(ABSENT)) };
        let attribute =
            attributes.entry(name).or_insert_with(|| Attribute::new(hwmon.join(name), *keep, ABSENT));
        attribute.get(pass)
    }

    fn find_hwmon(&mut self, pass: &mut Collection) {
        // A driver may register its sensors after the card.
        if self.hwmon.is_some() || !pass.is_due(&mut self.looked_for_hwmon_ns, LOOK_AGAIN_NS) {
            return;
        }
        let folder = self.folder.join("device/hwmon");
        let mut found = None;
        let _ = pass.list(&mut DirReader::new(&folder), |name| {
            let name = std::str::from_utf8(name).ok().filter(|name| name.starts_with("hwmon"));
            found = found.take().or_else(|| name.map(|name| folder.join(name)));
        }); // without it there are no sensors
        self.hwmon = found;
    }

    fn temperature(&mut self, measured: Measured, pass: &mut Collection) -> Result<u64, NoValue> {
        self.find_hwmon(pass);
        let Some(hwmon) = &self.hwmon else { return Err(unavailable(ABSENT)) };
        let all = self.temperatures.get_or_insert_with(|| {
            TEMPERATURES.map(|(label, _)| {
                let mut file = KeptFile::new(hwmon.join(label), SeqFileKind::Single).keep(false);
                pass.read(&mut file, ABSENT, |text| Ok::<_, TextError>(measured_by(text))).ok().flatten()
            })
        });
        let labelled = all.iter().position(|each| *each == Some(measured));
        let at = labelled.or((measured == Measured::Gpu).then_some(0)); // without labels it is the only one
        match at.and_then(|at| TEMPERATURES.get(at)) {
            Some((_, input)) => self.sensor(input, pass),
            None => Err(unavailable(ABSENT)),
        }
    }
}

/// Returns the part of a graphics card that a temperature sensor with this label measures.
fn measured_by(label: &[u8]) -> Option<Measured> {
    match label.trim_ascii() {
        b"edge" | b"pkg" => Some(Measured::Gpu),
        b"junction" => Some(Measured::HotSpot),
        b"mem" | b"vram" => Some(Measured::Memory),
        _ => None,
    }
}

/// Returns the value `first` of a file, or the value of another file if the first file is absent.
fn or(first: Result<u64, NoValue>, other: impl FnOnce() -> Result<u64, NoValue>) -> Result<u64, NoValue> {
    match first {
        // A file that exists and cannot be read has its reason; another file would hide it.
        Err(NoValue::Unavailable(_)) => other(),
        first => first,
    }
}
