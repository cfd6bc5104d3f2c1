//! Provider of the counterset Pressure Stall.

use std::path::PathBuf;

use perfset_catalogue::pressure_stall as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use crate::clock::{elapsed_ns, time_100ns_at};
use crate::provider::{
    Collection, CollectionCache, InstanceKey, InstanceSource, KeptFile, LOOK_AGAIN_NS, MarkedRaw, ReadError,
    SeqFileKind, unavailable,
};
use crate::roots::Roots;
use crate::sources::pressure::{Pressure, Stall};
use crate::sources::text::TextError;

#[cfg(test)]
mod tests;

/// Instances of the counterset Pressure Stall, from `/proc/pressure/*`.
#[derive(Debug)]
pub(crate) struct PressureStall {
    resources: [Resource; 4],
    /// Indexes of the resources (processors, memory, I/O, interrupts) whose pressure file exists.
    found: Vec<usize>,
    /// Time of the last search for pressure files, on the monotonic clock.
    looked_at_ns: Option<u64>,
    keys: Vec<InstanceKey>,
}

#[derive(Debug)]
struct Resource {
    name: &'static str,
    file: KeptFile,
    reading: CollectionCache<StallReading>,
}

/// Parsed pressure file of a resource, with the time of reading.
#[derive(Debug)]
pub(super) struct StallReading {
    pub(super) pressure: Pressure,
    /// Time at which the kernel updated the stalled times, as PerfTime100NSec.
    pub(super) time_100ns: u64,
}

impl PressureStall {
    /// Creates the provider of the counterset Pressure Stall, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let resource = |name| {
            let path = roots.proc.join("pressure").join(name);
            Resource {
                name,
                file: KeptFile::new(path, SeqFileKind::Single),
                reading: CollectionCache::default(),
            }
        };
        let resources = ["cpu", "memory", "io", "irq"].map(resource);
        Self { resources, found: Vec::new(), looked_at_ns: None, keys: Vec::new() }
    }
}

impl InstanceSource for PressureStall {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { resources, found, looked_at_ns, keys } = self;
        if !pass.is_due(looked_at_ns, LOOK_AGAIN_NS) {
            return Ok(());
        }
        found.clear();
        // A file that cannot be checked counts as existing: reading it returns the reason.
        let there =
            |at: &usize| resources.get(*at).is_some_and(|it| it.file.path().try_exists().unwrap_or(true));
        found.extend((0..resources.len()).filter(there));
        let id = |at: usize| InstanceId(u32::try_from(at).unwrap_or(u32::MAX));
        if !keys.iter().map(|key| key.id).eq(found.iter().map(|at| id(*at))) {
            let found = found.iter().filter_map(|at| Some((*at, resources.get(*at)?)));
            let key = |(at, resource): (usize, &Resource)| InstanceKey::new(resource.name, id(at));
            *keys = found.map(key).collect();
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let resource = self.found.get(at).and_then(|at| self.resources.get_mut(*at));
        let resource = resource.ok_or(NoValue::NotGiven)?;
        let (line, field): (Line, fn(&Stall) -> Option<u64>) = match counter {
            id::PERCENT_SOME_STALLED_TIME => (SOME, in_100ns),
            id::PERCENT_FULL_STALLED_TIME => (FULL, in_100ns),
            id::PERCENT_SOME_STALLED_TIME_10_SECONDS => (SOME, |stall| stall.avg10),
            id::PERCENT_SOME_STALLED_TIME_60_SECONDS => (SOME, |stall| stall.avg60),
            id::PERCENT_SOME_STALLED_TIME_300_SECONDS => (SOME, |stall| stall.avg300),
            id::PERCENT_FULL_STALLED_TIME_10_SECONDS => (FULL, |stall| stall.avg10),
            id::PERCENT_FULL_STALLED_TIME_60_SECONDS => (FULL, |stall| stall.avg60),
            id::PERCENT_FULL_STALLED_TIME_300_SECONDS => (FULL, |stall| stall.avg300),
            id::STALLED_TIME_BASE => return Ok(MarkedRaw::from(HUNDREDTHS_OF_PERCENT)),
            // Not taken from a line: the time of the reading is returned below.
            id::STALLED_TIME_TIMESTAMP => (SOME, |_| None),
            _ => return Err(NoValue::NotGiven),
        };
        let Resource { file, reading, .. } = resource;
        let reading = reading.get(pass, |pass| read(file, pass, "there is no such file"))?;
        if counter == id::STALLED_TIME_TIMESTAMP {
            return Ok(MarkedRaw::from(reading.time_100ns));
        }
        stall(line(&reading.pressure), || file.path().to_owned(), field).map(MarkedRaw::from)
    }
}

/// Function that selects one line of a pressure file.
pub(super) type Line = fn(&Pressure) -> &Option<Result<Stall, TextError>>;

pub(super) const SOME: Line = |pressure| &pressure.some;
pub(super) const FULL: Line = |pressure| &pressure.full;

/// Value of 100 % in hundredths of a percent, the unit of pressure averages.
const HUNDREDTHS_OF_PERCENT: u64 = 10_000;

/// Returns the total stalled time in a line of a pressure file, in units of 100 ns.
pub(super) fn in_100ns(stall: &Stall) -> Option<u64> {
    const MICROSECOND_100NS: u64 = 10;
    Some(stall.total?.saturating_mul(MICROSECOND_100NS))
}

/// Returns a number from one line of the pressure file at `path`.
pub(super) fn stall(
    line: &Option<Result<Stall, TextError>>,
    path: impl FnOnce() -> PathBuf,
    field: fn(&Stall) -> Option<u64>,
) -> Result<u64, NoValue> {
    match line {
        Some(Ok(stall)) => field(stall).ok_or(unavailable("this kernel does not report it")),
        Some(Err(text)) => Err(ReadError::Text { path: path(), text: text.clone() }.into()),
        None => Err(unavailable("the kernel does not count this time for this resource")),
    }
}

/// Reads and parses a pressure file. `absent` is the reason for an absent file.
///
/// The kernel updates the times while the file is read, so shares must be computed with the time of the reading
/// itself: on a machine under pressure the collection may have begun long before. After an interrupted reading the
/// time of the update is unknown: then the file is read again, and the shortest reading is used.
pub(super) fn read(
    file: &mut KeptFile,
    pass: &mut Collection,
    absent: &'static str,
) -> Result<StallReading, NoValue> {
    const TRIES: u32 = 4;
    /// Maximum duration of an uninterrupted reading of a pressure file, in ns; a reading takes 2 to 40 microseconds.
    const SHORT_NS: u64 = 100_000;
    let mut best: Option<(u64, StallReading)> = None;
    let mut len = 0;
    for _ in 0..TRIES {
        let before = elapsed_ns();
        let text = file.read(pass.elapsed_ns()).map_err(or_off)?.ok_or(unavailable(absent))?;
        let took = elapsed_ns().saturating_sub(before);
        len = text.len();
        let mut pressure = Pressure::default();
        if let Err(text) = pressure.parse(text) {
            return Err(ReadError::Text { path: file.path().to_owned(), text }.into());
        }
        if best.as_ref().is_none_or(|(shortest, _)| took < *shortest) {
            // The update is somewhere within the reading; the middle has the smallest error.
            let time_100ns = time_100ns_at(before.saturating_add(took / 2));
            best = Some((took, StallReading { pressure, time_100ns }));
        }
        if took < SHORT_NS {
            break;
        }
    }
    pass.count_bytes_read(len);
    best.map(|(_, reading)| reading).ok_or(NoValue::NotGiven)
}

/// Returns the reason for an error of reading a pressure file. A kernel without accounting has the files, and counts
/// only if started with `psi=1`.
fn or_off(error: ReadError) -> NoValue {
    let off = rustix::io::Errno::OPNOTSUPP.raw_os_error();
    match &error {
        ReadError::Io { source, .. } if source.raw_os_error() == Some(off) => {
            unavailable("the kernel does not count it unless it is started with psi=1")
        }
        _ => error.into(),
    }
}
