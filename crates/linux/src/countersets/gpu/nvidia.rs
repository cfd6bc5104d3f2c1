//! NVIDIA's library as the countersets use it: opened on first use, with its GPUs found by PCI address.

use perfset_core::NoValue;

use super::card::CardReading;
use super::nvml::{GpuProcess, Nvml, PciLookup};
use crate::provider::{Collection, LOOK_AGAIN_NS, unavailable};
use crate::sources::pci_address::PciAddress;

/// Function that opens NVIDIA's library, or returns the reason for failing.
pub(super) type LoadNvml = fn() -> Result<Box<dyn Nvml>, NoValue>;

pub(super) fn not_loaded() -> Result<Box<dyn Nvml>, NoValue> {
    Err(unavailable("NVIDIA's driver was not loaded when this program started"))
}

pub(super) fn not_own_roots() -> Result<Box<dyn Nvml>, NoValue> {
    Err(unavailable("NVIDIA's library reports this machine, not the one whose files are read"))
}

/// NVIDIA's library and the GPUs that it lists.
#[derive(Debug)]
pub(super) struct Nvidia {
    open: LoadNvml,
    /// Result of the last attempt to open NVIDIA's library.
    library: Result<Box<dyn Nvml>, NoValue>,
    /// PCI addresses of the GPUs, indexed by the numbers that NVIDIA's library gives to them.
    devices: Vec<PciLookup>,
    looked_at_ns: Option<u64>,
    /// Buffer for the list of processes that use a GPU.
    processes: Vec<GpuProcess>,
}

impl Nvidia {
    pub(super) fn new(open: LoadNvml) -> Self {
        let library = Err(NoValue::NotGiven);
        Self { open, library, devices: Vec::new(), looked_at_ns: None, processes: Vec::new() }
    }

    /// Returns NVIDIA's library, and the library's number for a GPU. Every 10 s the library is opened, if it is not
    /// open, and its GPUs are listed.
    fn device(
        &mut self,
        address: PciAddress,
        pass: &mut Collection,
    ) -> Result<(&mut dyn Nvml, u32), NoValue> {
        if pass.is_due(&mut self.looked_at_ns, LOOK_AGAIN_NS) {
            // A library that was opened stays open: only its GPUs may change.
            if self.library.is_err() {
                self.library = (self.open)();
            }
            self.devices.clear();
            if let Ok(library) = &mut self.library {
                if let Err(error) = library.devices(&mut self.devices) {
                    self.looked_at_ns = None; // the next question has that reason again
                    return Err(error.into());
                }
            }
        }
        let library = match &mut self.library {
            Ok(library) => &mut **library,
            Err(reason) => return Err(reason.clone()),
        };
        let place = self.devices.iter().position(|listed| *listed == Ok(address));
        let number = place.and_then(|place| u32::try_from(place).ok());
        let lost = || self.devices.iter().find_map(|listed| listed.err()); // which may be this one
        let unlisted = unavailable("NVIDIA's library does not list this GPU");
        let number = number.ok_or_else(|| lost().map_or(unlisted, NoValue::from))?;
        Ok((library, number))
    }

    pub(super) fn read(
        &mut self,
        address: PciAddress,
        gauge: CardReading,
        pass: &mut Collection,
    ) -> Result<u64, NoValue> {
        let (library, device) = self.device(address, pass)?;
        Ok(library.gauge(device, gauge)?)
    }

    /// Calls `each` with every process that uses a GPU of NVIDIA: once, even if it both computes and draws.
    pub(super) fn processes(
        &mut self,
        address: PciAddress,
        pass: &mut Collection,
        each: impl FnMut(GpuProcess),
    ) -> Result<(), NoValue> {
        let mut processes = std::mem::take(&mut self.processes);
        processes.clear();
        let listed = self.device(address, pass).and_then(|(library, device)| {
            library.processes(device, &mut processes)?;
            Ok(())
        });
        processes.retain(|process| process.pid != 0); // one of another container
        // Of several entries of one process, the one with the most memory is kept.
        processes.sort_unstable_by_key(|process| (process.pid, std::cmp::Reverse(process.used)));
        processes.dedup_by_key(|process| process.pid);
        processes.iter().copied().for_each(each);
        self.processes = processes;
        listed
    }
}
