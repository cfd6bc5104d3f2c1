//! Countersets GPU Engine and Linux GPU Engine.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use perfset_catalogue::{gpu_engine, linux_gpu_engine};
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use super::clients::Clients;
use super::{Luid, Shared, lock};
use crate::provider::{Collection, InstanceKey, InstanceSource, MarkedRaw, birth_of_total, unavailable};

/// Instances of the counterset GPU Engine, from the clients of graphics drivers.
#[derive(Debug)]
pub(super) struct GpuEngine(Engines);

/// Instances of the counterset Linux GPU Engine; the same as those of GPU Engine.
#[derive(Debug)]
pub(super) struct LinuxGpuEngine(Engines);

/// Graphics engines that each process uses.
#[derive(Debug)]
struct Engines {
    gpu: Shared,
    keys: Vec<InstanceKey>,
    /// Name of the graphics engine, and indexes of its clients, for each of `keys`.
    rows: Vec<(String, Vec<usize>)>,
    /// Generation number of the graphics clients from which the rows were made.
    generation: Option<u64>,
}

impl Engines {
    fn new(gpu: &Shared) -> Self {
        Self { gpu: gpu.clone(), keys: Vec::new(), rows: Vec::new(), generation: None }
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let mut gpu = lock(&self.gpu);
        gpu.find_clients(pass)?;
        let clients = &gpu.clients;
        if self.generation != Some(clients.generation) {
            self.generation = Some(clients.generation);
            (self.keys, self.rows) = rows(clients).into_iter().unzip();
        }
        match clients.refusal() {
            // The processes that may be read have rows even if others may not be read.
            Some(refusal) if self.keys.is_empty() => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Returns the usage of a row's graphics engine that its clients reported in this collection.
    fn read(&self, at: usize) -> Result<EngineUsage, NoValue> {
        let gpu = lock(&self.gpu);
        let Some((engine, members)) = self.rows.get(at) else { return Err(NoValue::NotGiven) };
        let mut told =
            EngineUsage { busy_ns: Ok(None), cycles: Ok(None), total_cycles: Ok(None), capacity: Ok(1) };
        for client in members.iter().filter_map(|at| gpu.clients.list.get(*at)) {
            told.busy_ns = both(told.busy_ns, client.busy_ns(engine), add);
            told.cycles = both(told.cycles, client.cycles(engine), add);
            told.total_cycles = both(told.total_cycles, client.total_cycles(engine), u64::max);
            told.capacity = told.capacity.and_then(|capacity| Ok(client.capacity(engine)?.max(capacity)));
        }
        Ok(told)
    }
}

/// Usage of one graphics engine by one process, as drivers report it.
#[derive(Debug)]
struct EngineUsage {
    busy_ns: Result<Option<MarkedRaw>, NoValue>,
    cycles: Result<Option<MarkedRaw>, NoValue>,
    /// Cycles of the graphics engine's clock. All clients share the clock and are read at different times; this is
    /// the latest.
    total_cycles: Result<Option<u64>, NoValue>,
    capacity: Result<u64, NoValue>,
}

fn add(a: MarkedRaw, b: MarkedRaw) -> MarkedRaw {
    MarkedRaw::new(a.raw.saturating_add(b.raw), a.mark.or(b.mark))
}

/// Combines two reported values of a graphics engine with `join`; if only one is reported, returns that one. Returns
/// the reason if one is invalid.
fn both<T>(
    a: Result<Option<T>, NoValue>,
    b: Result<Option<T>, NoValue>,
    join: fn(T, T) -> T,
) -> Result<Option<T>, NoValue> {
    Ok(match (a?, b?) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (a, b) => a.or(b),
    })
}

/// Returns the rows of graphics engines, ordered by process, then by adapter, then by number of the engine.
fn rows(clients: &Clients) -> Vec<(InstanceKey, (String, Vec<usize>))> {
    let mut groups: BTreeMap<(u32, Luid), Vec<usize>> = BTreeMap::new();
    for (at, client) in clients.list.iter().enumerate() {
        groups.entry((client.pid(), client.luid)).or_default().push(at);
    }
    let mut rows = Vec::new();
    for ((pid, luid), members) in groups {
        let of_group = || members.iter().filter_map(|at| clients.list.get(*at));
        // With another client the sums begin elsewhere, so the row must not be compared with the earlier one.
        let birth = birth_of_total(of_group().map(|client| (0, NonZeroU64::new(client.id))));
        let driver = of_group().map(|client| client.info.driver.as_str()).next().unwrap_or_default();
        let mut names: Vec<&str> =
            of_group().flat_map(|client| &client.info.engines).map(|engine| engine.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut engines: Vec<_> = names.iter().map(|name| (number(driver, &names, name), *name)).collect();
        engines.sort_unstable();
        rows.extend(engines.into_iter().map(|(number, engine)| {
            // The driver's name is part of an instance name, in which a backslash would split a counter path.
            let shown = engine.replace(['\\', '\0'], "_");
            let name = format!("pid_{pid}_{luid}_phys_0_eng_{number}_engtype_{shown}");
            (InstanceKey::new(name, InstanceId(pid)).birth(birth), (engine.to_owned(), members.clone()))
        }));
    }
    rows
}

/// Returns the number of a graphics engine: its index in the sorted names that the driver reports.
///
/// amdgpu reports only engines that were used. Their indexes would change when another engine is used, so they have
/// fixed numbers; names unknown here follow.
fn number(driver: &str, names: &[&str], name: &str) -> usize {
    const OF_AMDGPU: [&str; 8] = ["gfx", "compute", "dma", "dec", "enc", "enc_1", "jpeg", "vpe"];
    let fixed: &[&str] = if driver == "amdgpu" { &OF_AMDGPU } else { &[] };
    let place = fixed.iter().position(|known| *known == name);
    let behind = || names.iter().filter(|other| !fixed.contains(other)).position(|other| *other == name);
    place.unwrap_or_else(|| fixed.len().saturating_add(behind().unwrap_or(0)))
}

const COUNTS_CYCLES: &str = "its driver counts cycles, not time: see Linux GPU Engine";
const COUNTS_TIME: &str = "its driver counts time, not cycles";
const NOT_TOLD: &str = "its driver does not tell";
const NS_IN_UNIT: u64 = 100;

impl InstanceSource for GpuEngine {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        gpu_engine::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        self.0.find(pass)
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.0.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let told = self.0.read(at)?;
        let Some(MarkedRaw { raw: ns, mark, .. }) = told.busy_ns? else {
            let counts_cycles = matches!(told.cycles, Ok(Some(_)));
            return Err(unavailable(if counts_cycles { COUNTS_CYCLES } else { NOT_TOLD }));
        };
        let raw = match counter {
            gpu_engine::RUNNING_TIME => ns / NS_IN_UNIT,
            gpu_engine::UTILIZATION_PERCENTAGE => {
                let each = NS_IN_UNIT.saturating_mul(told.capacity?);
                ns.checked_div(each).unwrap_or(0)
            }
            _ => return Err(NoValue::NotGiven),
        };
        Ok(MarkedRaw::new(raw, mark))
    }
}

impl InstanceSource for LinuxGpuEngine {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        linux_gpu_engine::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        self.0.find(pass)
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.0.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, pass: &mut Collection) -> Result<MarkedRaw, NoValue> {
        let told = self.0.read(at)?;
        let total_cycles = told.total_cycles?;
        match counter {
            linux_gpu_engine::PERCENT_UTILIZATION if total_cycles.is_some() => {
                told.cycles?.ok_or(unavailable(NOT_TOLD))
            }
            linux_gpu_engine::PERCENT_UTILIZATION => {
                let ns = told.busy_ns?.ok_or(unavailable(NOT_TOLD))?;
                Ok(MarkedRaw::new(ns.raw / NS_IN_UNIT, ns.mark))
            }
            linux_gpu_engine::PERCENT_UTILIZATION_BASE => {
                // Value and base must have the same unit: both in the driver's cycles, or both in 100 ns.
                let passed = total_cycles.unwrap_or(pass.elapsed_ns() / NS_IN_UNIT);
                Ok(passed.saturating_mul(told.capacity?).into())
            }
            linux_gpu_engine::CYCLES_PER_SEC => {
                let counts_time = matches!(told.busy_ns, Ok(Some(_)));
                told.cycles?.ok_or(unavailable(if counts_time { COUNTS_TIME } else { NOT_TOLD }))
            }
            _ => Err(NoValue::NotGiven),
        }
    }
}

impl GpuEngine {
    pub(super) fn new(gpu: &Shared) -> Self {
        Self(Engines::new(gpu))
    }
}

impl LinuxGpuEngine {
    pub(super) fn new(gpu: &Shared) -> Self {
        Self(Engines::new(gpu))
    }
}
