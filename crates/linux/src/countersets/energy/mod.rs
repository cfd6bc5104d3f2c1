//! Provider of the counterset Energy Meter.

use std::path::PathBuf;

use perfset_catalogue::energy_meter as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use crate::provider::{
    Attribute, Collection, DirReader, InstanceKey, InstanceSource, KeptFile, MarkedRaw, ReadFiles,
    SeqFileKind, Total, instance_name, unavailable,
};
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::powercap::{Domain, Zone, domain, zone};

#[cfg(test)]
mod tests;

/// Instances of the counterset Energy Meter, from `/sys/class/powercap`.
#[derive(Debug)]
pub(crate) struct EnergyMeter {
    class: PathBuf,
    folder: DirReader,
    /// Energy zones of powercap, packages before their domains; `listed` is a buffer for the next list.
    zones: Vec<Zone>,
    listed: Vec<Zone>,
    /// Keys of the rows of the energy zones, by index.
    keys: Vec<InstanceKey>,
    meters: Vec<Meter>,
}

#[derive(Debug)]
struct Meter {
    /// Energy counter of the powercap zone, in µJ.
    energy: Attribute,
    /// `true` if no other zone includes the energy of this one.
    is_in_total: bool,
}

impl EnergyMeter {
    /// Maximum number of energy zones that keep their file descriptor open.
    const ZONES_THAT_KEEP: usize = 16;

    /// Creates the provider of the counterset Energy Meter, which reads the kernel's files below `roots`.
    pub(crate) fn new(roots: &Roots) -> Self {
        let class = roots.sys.join("class/powercap");
        let (folder, zones, listed) = (DirReader::new(&class), Vec::new(), Vec::new());
        Self { class, folder, zones, listed, keys: Vec::new(), meters: Vec::new() }
    }

    /// Creates the instances of the energy zones `zones`. The names of zones are read once: the processor determines
    /// them.
    fn rebuild(&mut self, pass: &mut Collection) {
        self.keys.clear();
        self.meters.clear();
        // Parts follow their package, because zones are sorted. Their names continue that of the package.
        let mut of_package = String::new();
        for zone in &self.zones {
            let folder = match zone.part {
                None => self.class.join(format!("intel-rapl:{}", zone.top)),
                Some(part) => self.class.join(format!("intel-rapl:{}:{part}", zone.top)),
            };
            let mut file = KeptFile::new(folder.join("name"), SeqFileKind::Single).keep(false);
            let mut kind = Vec::new();
            let named = pass.read(&mut file, "it has no name", |text| {
                kind.extend_from_slice(attribute::line(text)?);
                Ok(())
            });
            if named.is_err() || kind.is_empty() {
                kind = zone.part.unwrap_or(zone.top).to_string().into_bytes();
            }
            let kind = domain(&kind);
            if zone.part.is_none() {
                of_package = match kind {
                    Domain::Package(package) => format!("Package{package}_"),
                    Domain::Die(package, die) => format!("Package{package}_Die{die}_"),
                    _ => String::new(),
                };
            }
            let what = match kind {
                Domain::Package(_) | Domain::Die(..) => "PKG".to_owned(),
                Domain::Cores => "PP0".to_owned(),
                Domain::Graphics => "PP1".to_owned(),
                Domain::Memory => "DRAM".to_owned(),
                Domain::Machine => "PSYS".to_owned(),
                Domain::Other(name) => instance_name(name),
            };
            let keep = self.meters.len() < Self::ZONES_THAT_KEEP;
            let energy = Attribute::new(folder.join("energy_uj"), keep, "this zone has no energy");
            // Cores and graphics are parts of their package, and `psys` is the whole machine: they would
            // count twice.
            let is_in_total = matches!(kind, Domain::Package(_) | Domain::Die(..) | Domain::Memory);
            self.meters.push(Meter { energy, is_in_total });
            // 0 is the package itself, so its parts begin at 1.
            let part = zone.part.map_or(0, |part| part.saturating_add(1));
            let id = InstanceId(zone.top << 16 | part);
            self.keys.push(InstanceKey::new(format!("RAPL_{of_package}{what}"), id));
        }
    }

    fn micro_joules(&mut self, at: usize, pass: &mut Collection) -> Result<u64, NoValue> {
        self.meters.get_mut(at).ok_or(NoValue::NotGiven)?.energy.get(pass)
    }
}

/// Converts an energy in µJ to pWh: one µJ is 2,500 / 9 pWh.
fn picowatt_hours(micro_joules: u64) -> u64 {
    let exact = u128::from(micro_joules).saturating_mul(2_500) / 9;
    u64::try_from(exact).unwrap_or(u64::MAX)
}

impl InstanceSource for EnergyMeter {
    const HAS_TOTAL: bool = true;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let Self { folder, zones, listed, .. } = self;
        listed.clear();
        pass.list_if_there(folder, |name| listed.extend(zone(name)))?;
        listed.sort_unstable();
        // A change of zones hardly ever happens. Names and open files stay otherwise.
        if zones != listed {
            zones.clone_from(listed);
            self.rebuild(pass);
        }
        Ok(())
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        match counter {
            id::ENERGY => Ok(picowatt_hours(self.micro_joules(at, pass)?).into()),
            _ => Err(never(counter)),
        }
    }

    fn total_of(&self, _: CounterId) -> Total {
        Total::Own
    }

    /// Returns the sum of a counter of Energy Meter over the zones that no other zone includes.
    fn total(&mut self, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        if counter != id::ENERGY {
            return Err(never(counter));
        }
        let mut sum: Option<u64> = None;
        for at in 0..self.meters.len() {
            if self.meters.get(at).is_some_and(|meter| meter.is_in_total) {
                let energy = self.micro_joules(at, pass)?;
                sum = Some(sum.unwrap_or(0).saturating_add(energy));
            }
        }
        let sum = sum.ok_or_else(|| unavailable("no package counts its energy"))?;
        Ok(picowatt_hours(sum).into())
    }
}

/// Returns the reason why a counter of Energy Meter has no value on any Linux.
fn never(counter: CounterId) -> NoValue {
    match counter {
        id::POWER | id::POWER_BASE => {
            unavailable("the kernel gives energy only: the rise of Energy is the power")
        }
        id::TIME => unavailable("the kernel does not say when the processor added up its energy"),
        _ => NoValue::NotGiven,
    }
}
