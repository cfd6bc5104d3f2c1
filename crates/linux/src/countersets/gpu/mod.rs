//! Countersets of graphics processors: GPU Engine, GPU Process Memory, the three of adapter memory, Linux GPU and
//! Linux GPU Engine.
//!
//! They share their sources, read once per collection: the adapters, the clients of graphics drivers, and NVIDIA's
//! library. A machine without adapters costs a search for two directories every 10 s.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perfset_core::NoValue;
use perfset_engine::{Deadline, Provider};

use crate::provider::{Collection, LazyProvider, ORIGIN, ProviderGroup, multi_instance};
use crate::roots::Roots;
use crate::sources::pci_address::PciAddress;

mod adapter_sets;
mod adapters;
mod card;
mod clients;
mod engines;
mod nvidia;
#[expect(unsafe_code, reason = "functions of a library that is loaded at run time")]
#[cfg_attr(target_feature = "crt-static", expect(dead_code, reason = "a static program does not load it"))]
mod nvml;
mod process_memory;
#[cfg(test)]
mod tests;

use adapter_sets::{AdapterMemory, AdapterSet, LinuxGpu, LocalMemory, NonLocalMemory};
use adapters::Adapters;
use clients::Clients;
use engines::{GpuEngine, LinuxGpuEngine};
use nvidia::{LoadNvml, Nvidia};
use process_memory::ProcessMemory;

/// Creates the provider of all countersets of graphics processors, reading below `roots`.
///
/// The whole provider has a deadline: NVIDIA's library may take seconds for its first response and milliseconds for
/// others, and the search for clients reads all open files of the machine.
pub(crate) fn provider(roots: &Roots, deadline: &Deadline) -> Box<dyn Provider> {
    let nvidia_is_loaded = roots.proc.join("driver/nvidia/version").exists();
    // The library is loaded only where its driver runs: loading executes its code and may take seconds.
    let open: LoadNvml = match (nvidia_is_loaded, roots.are_own()) {
        (false, _) => nvidia::not_loaded,
        (true, false) => nvidia::not_own_roots,
        (true, true) => nvml::open,
    };
    Box::new(LazyProvider::waiting(together(&Gpu::shared(roots, open)), deadline))
}

fn together(gpu: &Shared) -> ProviderGroup {
    ProviderGroup::new(ORIGIN)
        .with(multi_instance(GpuEngine::new(gpu)))
        .with(multi_instance(ProcessMemory::new(gpu)))
        .with(multi_instance(AdapterSet::<AdapterMemory>::new(gpu)))
        .with(multi_instance(AdapterSet::<LocalMemory>::new(gpu)))
        .with(multi_instance(AdapterSet::<NonLocalMemory>::new(gpu)))
        .with(multi_instance(AdapterSet::<LinuxGpu>::new(gpu)))
        .with(multi_instance(LinuxGpuEngine::new(gpu)))
}

/// Sources of data that the countersets of graphics processors share.
#[derive(Debug)]
struct Gpu {
    adapters: Adapters,
    clients: Clients,
    nvidia: Nvidia,
}

/// Sources of data that all countersets of graphics processors share. The countersets are collected one after another,
/// so the lock is never contended.
type Shared = Arc<Mutex<Gpu>>;

impl Gpu {
    fn shared(roots: &Roots, open: LoadNvml) -> Shared {
        Arc::new(Mutex::new(Self {
            adapters: Adapters::new(roots),
            clients: Clients::new(&roots.proc),
            nvidia: Nvidia::new(open),
        }))
    }

    /// Updates the graphics adapters, and the clients of their drivers.
    fn find_clients(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        self.adapters.refresh(pass)?;
        self.clients.refresh(&self.adapters, pass)
    }
}

/// Locks the data sources of graphics processors. After a panic of another thread they are usable: everything is read
/// again.
fn lock(gpu: &Shared) -> MutexGuard<'_, Gpu> {
    gpu.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Identity of a graphics adapter, used where Windows has a locally unique id (LUID).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Luid(u64);

impl Luid {
    /// Upper bit in the ids of graphics adapters that are not on PCI, whose domains have 32 bits at most.
    const ELSEWHERE: u64 = 1 << 63;

    fn from_pci(address: PciAddress) -> Self {
        Self(address.packed())
    }

    fn from_card(number: u32) -> Self {
        Self(Self::ELSEWHERE | u64::from(number))
    }

    /// Returns the lower 32 bits of the graphics adapter's id.
    fn low(self) -> u32 {
        let [a, b, c, d, ..] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    fn high(self) -> u32 {
        let [.., a, b, c, d] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }
}

/// Formats the id of a graphics adapter as it occurs in instance names.
impl fmt::Display for Luid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "luid_0x{:08X}_0x{:08X}", self.high(), self.low())
    }
}
