//! Provider of the counterset GPU Process Memory.

use std::collections::BTreeMap;

use perfset_catalogue::gpu_process_memory as id;
use perfset_core::{CounterId, Counterset, InstanceId, NoValue};

use super::clients::Client;
use super::nvml::GpuProcess;
use super::{Gpu, Luid, Shared, lock};
use crate::provider::{Collection, InstanceKey, InstanceSource, MarkedRaw, unavailable};
use crate::sources::drm_fdinfo::Region;

/// GPU memory of processes, from the clients of graphics drivers and from NVIDIA's library.
#[derive(Debug)]
pub(super) struct ProcessMemory {
    gpu: Shared,
    keys: Vec<InstanceKey>,
    /// Source of the values in each row, in the order of `keys`.
    rows: Vec<MemoryRow>,
    /// Generation number of the graphics clients from which the rows were made.
    generation: Option<u64>,
    /// GPU processes that NVIDIA's library lists, by process, then by adapter.
    processes: Vec<(Luid, GpuProcess)>,
    /// GPU processes that NVIDIA's library listed when the rows were made.
    listed: Vec<(Luid, u32)>,
}

#[derive(Debug)]
enum MemoryRow {
    /// Indexes of the graphics clients whose memory is in the row.
    Clients(Vec<usize>),
    /// Index of the process, listed by NVIDIA's library, whose memory is in the row.
    Process(usize),
}

impl ProcessMemory {
    pub(super) fn new(gpu: &Shared) -> Self {
        Self {
            gpu: gpu.clone(),
            keys: Vec::new(),
            rows: Vec::new(),
            generation: None,
            processes: Vec::new(),
            listed: Vec::new(),
        }
    }

    /// Creates the rows of GPU memory, by process, then by adapter. Data from NVIDIA's library takes precedence over
    /// data from a driver.
    fn make_rows(&mut self) {
        let gpu = lock(&self.gpu);
        let mut rows: BTreeMap<(u32, Luid), MemoryRow> = BTreeMap::new();
        for (at, (luid, process)) in self.processes.iter().enumerate() {
            // Inserted first: clients of the same process and adapter do not replace the row.
            rows.insert((process.pid, *luid), MemoryRow::Process(at));
        }
        for (at, client) in gpu.clients.list.iter().enumerate() {
            let row =
                rows.entry((client.pid(), client.luid)).or_insert_with(|| MemoryRow::Clients(Vec::new()));
            if let MemoryRow::Clients(members) = row {
                members.push(at);
            }
        }
        let key = |pid, luid| InstanceKey::new(format!("pid_{pid}_{luid}_phys_0"), InstanceId(pid));
        (self.keys, self.rows) = rows.into_iter().map(|((pid, luid), row)| (key(pid, luid), row)).unzip();
    }
}

impl InstanceSource for ProcessMemory {
    const HAS_TOTAL: bool = false;

    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn find(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let mut gpu = lock(&self.gpu);
        gpu.find_clients(pass)?;
        let Gpu { adapters, clients, nvidia } = &mut *gpu;
        self.processes.clear();
        let mut failure = None;
        for (luid, address) in adapters.list.iter().filter_map(|a| Some((a.luid, a.nvidia?))) {
            let listed = nvidia.processes(address, pass, |process| self.processes.push((luid, process)));
            failure = failure.or(listed.err());
        }
        failure = failure.or(clients.refusal());
        let generation = Some(clients.generation);
        // `make_rows` takes this lock itself.
        drop(gpu);

        self.processes.sort_unstable_by_key(|(luid, process)| (process.pid, *luid));
        let now = self.processes.iter().map(|(luid, process)| (*luid, process.pid));
        if self.generation != generation || !now.clone().eq(self.listed.iter().copied()) {
            self.generation = generation;
            self.listed.clear();
            self.listed.extend(now);
            self.make_rows();
        }
        match failure {
            Some(failure) if self.keys.is_empty() => Err(failure),
            _ => Ok(()),
        }
    }

    fn keys(&self) -> &[InstanceKey] {
        &self.keys
    }

    fn value(&mut self, at: usize, counter: CounterId, _: &mut Collection) -> Result<MarkedRaw, NoValue> {
        match self.rows.get(at) {
            Some(MemoryRow::Process(at)) => {
                let used = self.processes.get(*at).and_then(|(_, process)| process.used);
                match counter {
                    id::DEDICATED_USAGE | id::LOCAL_USAGE => used
                        .map(MarkedRaw::from)
                        .ok_or(unavailable("NVML does not say how much this process has")),
                    _ => Err(unavailable("NVML tells of a process only the GPU's own memory")),
                }
            }
            Some(MemoryRow::Clients(members)) => {
                let gpu = lock(&self.gpu);
                let mut sum = 0_u64;
                for client in members.iter().filter_map(|at| gpu.clients.list.get(*at)) {
                    sum = sum.saturating_add(of_client(client, counter)?);
                }
                Ok(sum.into())
            }
            None => Err(NoValue::NotGiven),
        }
    }
}

/// Returns the value of a counter of GPU Process Memory for one client of a graphics driver.
fn of_client(client: &Client, counter: CounterId) -> Result<u64, NoValue> {
    if client.regions().is_empty() {
        return Err(unavailable("its driver does not tell about memory"));
    }
    let mut sum = 0_u64;
    for region in client.regions() {
        let bytes = match counter {
            id::TOTAL_COMMITTED => client.bytes(&region.total)?,
            // Memory of the other kind is not missing: it contributes nothing.
            id::DEDICATED_USAGE | id::LOCAL_USAGE if !is_local(region) => Some(0),
            id::SHARED_USAGE | id::NON_LOCAL_USAGE if is_local(region) => Some(0),
            _ => match client.bytes(&region.resident)? {
                None => client.bytes(&region.memory)?,
                some => some,
            },
        };
        let why = match counter {
            id::TOTAL_COMMITTED => "its driver tells only what is in place",
            _ => "its driver does not tell what is in place",
        };
        sum = sum.saturating_add(bytes.ok_or(unavailable(why))?);
    }
    Ok(sum)
}

/// Returns `true` if the memory region is the GPU's own: `vram` of amdgpu and xe, `local0` and `stolen-local0` of
/// i915.
fn is_local(region: &Region) -> bool {
    ["vram", "local", "stolen-local"].iter().any(|start| region.name.starts_with(start))
}
