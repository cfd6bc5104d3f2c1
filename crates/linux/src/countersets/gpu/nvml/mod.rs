//! NVIDIA's management library (NVML), loaded on first use: the only module of this crate with unsafe code.
//!
//! Source: NVIDIA's public "NVML API Reference Guide". The only functions called are those whose arguments are
//! numbers, or structures that the guide lists field by field. Each has its version in its name or in its first
//! field.
//!
//! A static program does not load the library: the program's C library conflicts with the one that the library needs.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::fmt;

use perfset_core::NoValue;

use super::card::CardReading;
use crate::sources::pci_address::PciAddress;

#[cfg(test)]
#[cfg(not(target_feature = "crt-static"))]
mod tests;

/// Requests that the countersets send to NVIDIA's library (NVML).
pub(super) trait Nvml: fmt::Debug + Send {
    /// Appends the PCI addresses of the GPUs to `devices`, in the order of NVIDIA's numbers for them.
    fn devices(&mut self, devices: &mut Vec<PciLookup>) -> Result<(), NvmlError>;

    /// Returns a reading of one GPU from NVIDIA's library.
    fn gauge(&mut self, device: u32, gauge: CardReading) -> Result<u64, NvmlError>;

    /// Appends the processes that use one GPU to `processes`. A process may be listed several times.
    fn processes(&mut self, device: u32, processes: &mut Vec<GpuProcess>) -> Result<(), NvmlError>;
}

/// PCI address of a GPU, or the reason for a missing one: the GPU may have fallen off its bus, or belong to other
/// users.
pub(super) type PciLookup = Result<PciAddress, NvmlError>;

/// Process that uses a GPU, as NVIDIA's library lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GpuProcess {
    pub(super) pid: u32,
    /// Bytes of the GPU's own memory that the process uses.
    pub(super) used: Option<u64>,
}

/// Error code that a function of NVIDIA's library returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function} of NVIDIA's library returned {code}")]
pub(super) struct NvmlError {
    pub(super) function: &'static str,
    /// Error code of NVIDIA's library, of type `nvmlReturn_t`.
    pub(super) code: c_int,
}

const SUCCESS: c_int = 0;
const NOT_SUPPORTED: c_int = 3;
const NO_PERMISSION: c_int = 4;
const INSUFFICIENT_SIZE: c_int = 7;
const FUNCTION_NOT_FOUND: c_int = 13;

impl From<NvmlError> for NoValue {
    fn from(error: NvmlError) -> Self {
        match error.code {
            NOT_SUPPORTED => Self::Unavailable("this GPU does not report it to NVIDIA's library".into()),
            FUNCTION_NOT_FOUND => {
                Self::Unavailable("this version of NVIDIA's library does not support it".into())
            }
            NO_PERMISSION => Self::Denied("NVIDIA's library returns it only to root".into()),
            _ => Self::Failed(error.to_string().into()),
        }
    }
}

/// Loads and initializes NVIDIA's library, which may take seconds.
#[cfg(not(target_feature = "crt-static"))]
pub(super) fn open() -> Result<Box<dyn Nvml>, NoValue> {
    Library::load().map(|library| -> Box<dyn Nvml> { Box::new(library) })
}

/// Returns the error that a statically linked program cannot load NVIDIA's library.
#[cfg(target_feature = "crt-static")]
pub(super) fn open() -> Result<Box<dyn Nvml>, NoValue> {
    Err(crate::provider::unavailable("this program is linked statically and cannot load NVIDIA's library"))
}

/// Handle of a GPU, `nvmlDevice_t`: a pointer that only NVIDIA's library uses. Valid until the library is shut down.
type Device = *mut c_void;

/// PCI attributes of a GPU: `nvmlPciInfo_t`, of `nvmlDeviceGetPciInfo_v3`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct PciInfo {
    bus_id_legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    pci_device_id: c_uint,
    pci_sub_system_id: c_uint,
    bus_id: [c_char; 32],
}
const _: () = assert!(size_of::<PciInfo>() == 68);

/// Memory of a GPU: `nvmlMemory_v2_t`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct NvmlMemory {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}
const _: () = assert!(size_of::<NvmlMemory>() == 40);

impl NvmlMemory {
    /// Version `nvmlMemory_v2` of the structure: its size, with the version number in the upper 8 bits.
    const VERSION: c_uint = 40 | 2 << 24;
}

/// Utilization of a GPU: `nvmlUtilization_t`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}
const _: () = assert!(size_of::<Utilization>() == 8);

/// GPU memory of one process: `nvmlProcessInfo_v2_t`.
///
/// The functions that end in `_v3` should have the same structure. In the first drivers 535, however, they wrote
/// another 8 bytes each.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct ProcessInfo {
    pid: c_uint,
    used_gpu_memory: c_ulonglong,
    gpu_instance_id: c_uint,
    compute_instance_id: c_uint,
}
const _: () = assert!(size_of::<ProcessInfo>() == 24);

/// Placeholder of NVIDIA's library for an unavailable number: `NVML_VALUE_NOT_AVAILABLE`.
const NOT_AVAILABLE: c_ulonglong = c_ulonglong::MAX;

type Plain = unsafe extern "C" fn() -> c_int;
type Count = unsafe extern "C" fn(*mut c_uint) -> c_int;
type Handle = unsafe extern "C" fn(c_uint, *mut Device) -> c_int;
type Pci = unsafe extern "C" fn(Device, *mut PciInfo) -> c_int;
type OfMemory = unsafe extern "C" fn(Device, *mut NvmlMemory) -> c_int;
type OfUtilization = unsafe extern "C" fn(Device, *mut Utilization) -> c_int;
/// Function of NVIDIA's library that returns one number about a GPU.
type One = unsafe extern "C" fn(Device, *mut c_uint) -> c_int;
/// Function of NVIDIA's library that returns one number of a given kind about a GPU.
type OneOf = unsafe extern "C" fn(Device, c_uint, *mut c_uint) -> c_int;
/// Function of NVIDIA's library that returns a number about a GPU, and the time over which it was measured.
type Two = unsafe extern "C" fn(Device, *mut c_uint, *mut c_uint) -> c_int;
type Errors = unsafe extern "C" fn(Device, c_uint, c_uint, *mut c_ulonglong) -> c_int;
type Processes = unsafe extern "C" fn(Device, *mut c_uint, *mut ProcessInfo) -> c_int;

/// Declares the functions of NVIDIA's library in use: a field for each, and the lookup by name.
macro_rules! functions {
    ($($field:ident: $kind:ident = $name:literal,)*) => {
        /// Functions of NVIDIA's library in use; `None` for each that the library lacks.
        #[derive(Clone, Copy, Debug, Default)]
        struct Functions {
            $($field: Option<$kind>,)*
        }

        impl Functions {
            #[cfg(not(target_feature = "crt-static"))]
            fn of(library: &libloading::Library) -> Self {
                Self {
                    $(
                        // SAFETY: the guide declares the function of this name with these arguments, and the version
                        // in a name stands for them: a library with others would have another name. The pointer is
                        // called only while `Library` holds the library.
                        $field: unsafe { library.get::<$kind>($name.as_bytes()) }.ok().map(|symbol| *symbol),
                    )*
                }
            }
        }

        /// Names of the functions in NVIDIA's library, for error messages.
        #[derive(Clone, Copy, Debug)]
        struct Names {
            $($field: &'static str,)*
        }

        const NAMES: Names = Names { $($field: $name,)* };
    };
}

functions! {
    init: Plain = "nvmlInit_v2",
    shutdown: Plain = "nvmlShutdown",
    count: Count = "nvmlDeviceGetCount_v2",
    handle: Handle = "nvmlDeviceGetHandleByIndex_v2",
    pci: Pci = "nvmlDeviceGetPciInfo_v3",
    memory: OfMemory = "nvmlDeviceGetMemoryInfo_v2",
    utilization: OfUtilization = "nvmlDeviceGetUtilizationRates",
    encoder: Two = "nvmlDeviceGetEncoderUtilization",
    decoder: Two = "nvmlDeviceGetDecoderUtilization",
    temperature: OneOf = "nvmlDeviceGetTemperature",
    power: One = "nvmlDeviceGetPowerUsage",
    power_limit: One = "nvmlDeviceGetEnforcedPowerLimit",
    clock: OneOf = "nvmlDeviceGetClockInfo",
    maximum_clock: OneOf = "nvmlDeviceGetMaxClockInfo",
    fan: One = "nvmlDeviceGetFanSpeed",
    errors: Errors = "nvmlDeviceGetTotalEccErrors",
    pcie: OneOf = "nvmlDeviceGetPcieThroughput",
    compute_processes: Processes = "nvmlDeviceGetComputeRunningProcesses_v2",
    graphics_processes: Processes = "nvmlDeviceGetGraphicsRunningProcesses_v2",
    mps_processes: Processes = "nvmlDeviceGetMPSComputeRunningProcesses_v2",
}

/// NVIDIA's library, initialized; shut down when dropped.
#[derive(Debug)]
struct Library {
    functions: Functions,
    /// Buffer for a list of processes that use a GPU.
    processes: Vec<ProcessInfo>,
    /// Open library of NVIDIA, which keeps the functions in `functions` loaded. Tests use functions of their own.
    #[cfg(not(target_feature = "crt-static"))]
    _library: Option<libloading::Library>,
}

impl Library {
    /// Maximum number of GPUs, and of processes of a GPU, whatever number NVIDIA's library reports.
    const DEVICE_LIMIT: c_uint = 256;
    const PROCESS_LIMIT: usize = 1 << 16;

    #[cfg(not(target_feature = "crt-static"))]
    fn load() -> Result<Self, NoValue> {
        // SAFETY: loading runs code of the library, which belongs to the driver that this machine has loaded, and is
        // looked for where the system's loader looks: anyone who can put another library there runs as this user
        // anyway.
        let library = unsafe { libloading::Library::new("libnvidia-ml.so.1") };
        let library = library.map_err(|error| {
            NoValue::Unavailable(format!("NVIDIA's library cannot be loaded: {error}").into())
        })?;
        let functions = Functions::of(&library);
        Ok(Self::start(functions, Some(library))?)
    }

    #[cfg(not(target_feature = "crt-static"))]
    fn start(functions: Functions, library: Option<libloading::Library>) -> Result<Self, NvmlError> {
        let (init, name) = (functions.init, NAMES.init);
        // SAFETY: it takes no arguments and may be called at any time, by several users of the library in one process.
        call(name, init, |init| unsafe { init() })?;
        Ok(Self { functions, processes: Vec::new(), _library: library })
    }

    /// Returns the handle of NVIDIA's library for a GPU, looked up each time: when a GPU is removed, its old handle
    /// must not be used.
    fn handle(&self, device: u32) -> Result<Device, NvmlError> {
        let mut handle = std::ptr::null_mut();
        call(NAMES.handle, self.functions.handle, |function| {
            // SAFETY: the library writes one pointer, and `handle` has space for one.
            unsafe { function(device, &raw mut handle) }
        })?;
        Ok(handle)
    }

    fn one(&self, device: u32, name: &'static str, function: Option<One>) -> Result<u64, NvmlError> {
        let handle = self.handle(device)?;
        let mut number = 0;
        call(name, function, |function| {
            // SAFETY: the handle is one that the library gave, and it writes one number.
            unsafe { function(handle, &raw mut number) }
        })?;
        Ok(number.into())
    }

    fn one_of(
        &self,
        device: u32,
        name: &'static str,
        function: Option<OneOf>,
        kind: c_uint,
    ) -> Result<u64, NvmlError> {
        let handle = self.handle(device)?;
        let mut number = 0;
        call(name, function, |function| {
            // SAFETY: as in `one`; the library checks the kind.
            unsafe { function(handle, kind, &raw mut number) }
        })?;
        Ok(number.into())
    }

    fn two(&self, device: u32, name: &'static str, function: Option<Two>) -> Result<u64, NvmlError> {
        let handle = self.handle(device)?;
        let (mut number, mut period) = (0, 0);
        call(name, function, |function| {
            // SAFETY: as in `one`; it writes two numbers, each to a place of its own.
            unsafe { function(handle, &raw mut number, &raw mut period) }
        })?;
        Ok(number.into())
    }

    fn memory(&self, device: u32) -> Result<NvmlMemory, NvmlError> {
        let handle = self.handle(device)?;
        let mut memory = NvmlMemory { version: NvmlMemory::VERSION, ..NvmlMemory::default() };
        call(NAMES.memory, self.functions.memory, |function| {
            // SAFETY: the handle is one that the library gave, and it writes the structure whose version stands in it.
            unsafe { function(handle, &raw mut memory) }
        })?;
        Ok(memory)
    }

    fn utilization(&self, device: u32) -> Result<Utilization, NvmlError> {
        let handle = self.handle(device)?;
        let mut utilization = Utilization::default();
        call(NAMES.utilization, self.functions.utilization, |function| {
            // SAFETY: the handle is one that the library gave, and it writes the structure, which has no versions.
            unsafe { function(handle, &raw mut utilization) }
        })?;
        Ok(utilization)
    }

    fn errors(&self, device: u32, kind: c_uint) -> Result<u64, NvmlError> {
        // These are counted since the driver was loaded. The other kind covers the life of the GPU.
        const VOLATILE: c_uint = 0;
        let handle = self.handle(device)?;
        let mut number = 0;
        call(NAMES.errors, self.functions.errors, |function| {
            // SAFETY: as in `one`, with a number of 64 bits; the library checks the kinds.
            unsafe { function(handle, kind, VOLATILE, &raw mut number) }
        })?;
        Ok(number)
    }

    fn pci(&self, device: u32) -> Result<PciAddress, NvmlError> {
        let handle = self.handle(device)?;
        let mut info = PciInfo {
            bus_id_legacy: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            pci_device_id: 0,
            pci_sub_system_id: 0,
            bus_id: [0; 32],
        };
        call(NAMES.pci, self.functions.pci, |function| {
            // SAFETY: the handle is one that the library gave, and it writes the structure of version 3.
            unsafe { function(handle, &raw mut info) }
        })?;
        // The structure has no function number. The GPU is function 0 of its device.
        let [bus, ..] = info.bus.to_le_bytes();
        let [device, ..] = info.device.to_le_bytes();
        Ok(PciAddress { domain: info.domain, bus, device, function: 0 })
    }

    /// Appends the processes that one function of NVIDIA's library lists for a GPU.
    fn list(
        &mut self,
        device: u32,
        name: &'static str,
        function: Option<Processes>,
        processes: &mut Vec<GpuProcess>,
    ) -> Result<(), NvmlError> {
        const TRIES: usize = 4; // more come while they are listed
        let handle = self.handle(device)?;
        for _ in 0..TRIES {
            let offered = self.processes.len();
            let mut count = c_uint::try_from(offered).unwrap_or(0);
            let code = {
                let Some(function) = function else {
                    return Err(NvmlError { function: name, code: FUNCTION_NOT_FOUND });
                };
                // SAFETY: the handle is one that the library gave; `count` says how many structures of version 2
                // there is room for behind the pointer, and the library writes no more of them.
                unsafe { function(handle, &raw mut count, self.processes.as_mut_ptr()) }
            };
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            match code {
                SUCCESS => {
                    // The library's count is not trusted: there are never more entries than the buffer has.
                    let listed = self.processes.iter().take(count);
                    processes.extend(listed.map(|info| GpuProcess {
                        pid: info.pid,
                        used: Some(info.used_gpu_memory).filter(|used| *used != NOT_AVAILABLE),
                    }));
                    return Ok(());
                }
                INSUFFICIENT_SIZE if offered < Self::PROCESS_LIMIT => {
                    let wanted = count.max(offered).saturating_add(8).min(Self::PROCESS_LIMIT);
                    self.processes.resize(wanted, ProcessInfo::default());
                }
                code => return Err(NvmlError { function: name, code }),
            }
        }
        Err(NvmlError { function: name, code: INSUFFICIENT_SIZE })
    }
}

impl Nvml for Library {
    fn devices(&mut self, devices: &mut Vec<PciLookup>) -> Result<(), NvmlError> {
        let mut count = 0;
        call(NAMES.count, self.functions.count, |function| {
            // SAFETY: the library writes one number.
            unsafe { function(&raw mut count) }
        })?;
        devices.extend((0..count.min(Self::DEVICE_LIMIT)).map(|device| self.pci(device)));
        Ok(())
    }

    fn gauge(&mut self, device: u32, gauge: CardReading) -> Result<u64, NvmlError> {
        const GRAPHICS: c_uint = 0;
        const MEMORY: c_uint = 2;
        const TEMPERATURE_OF_GPU: c_uint = 0;
        const CORRECTED: c_uint = 0;
        const UNCORRECTED: c_uint = 1;
        const TRANSMITTED: c_uint = 0;
        const RECEIVED: c_uint = 1;
        let Functions {
            encoder,
            decoder,
            temperature,
            power,
            power_limit,
            clock,
            maximum_clock,
            fan,
            pcie,
            ..
        } = self.functions;
        match gauge {
            CardReading::GpuUtilization => Ok(self.utilization(device)?.gpu.into()),
            CardReading::MemoryUtilization => Ok(self.utilization(device)?.memory.into()),
            CardReading::EncoderUtilization => self.two(device, NAMES.encoder, encoder),
            CardReading::DecoderUtilization => self.two(device, NAMES.decoder, decoder),
            CardReading::Dedicated => Ok(self.memory(device)?.total),
            CardReading::DedicatedUsed => Ok(self.memory(device)?.used),
            CardReading::Temperature => {
                self.one_of(device, NAMES.temperature, temperature, TEMPERATURE_OF_GPU)
            }
            CardReading::PowerDraw => self.one(device, NAMES.power, power),
            CardReading::PowerLimit => self.one(device, NAMES.power_limit, power_limit),
            CardReading::GraphicsClock => self.one_of(device, NAMES.clock, clock, GRAPHICS),
            CardReading::MemoryClock => self.one_of(device, NAMES.clock, clock, MEMORY),
            CardReading::MaximumGraphicsClock => {
                self.one_of(device, NAMES.maximum_clock, maximum_clock, GRAPHICS)
            }
            CardReading::FanPercent => self.one(device, NAMES.fan, fan),
            CardReading::CorrectedErrors => self.errors(device, CORRECTED),
            CardReading::UncorrectedErrors => self.errors(device, UNCORRECTED),
            CardReading::PcieReceived => self.one_of(device, NAMES.pcie, pcie, RECEIVED),
            CardReading::PcieTransmitted => self.one_of(device, NAMES.pcie, pcie, TRANSMITTED),
            CardReading::Shared
            | CardReading::SharedUsed
            | CardReading::HotSpotTemperature
            | CardReading::MemoryTemperature
            | CardReading::FanSpeed => Err(NvmlError { function: "", code: NOT_SUPPORTED }),
        }
    }

    fn processes(&mut self, device: u32, processes: &mut Vec<GpuProcess>) -> Result<(), NvmlError> {
        let Functions { compute_processes, graphics_processes, mps_processes, .. } = self.functions;
        // The other two lists are optional: some GPUs and versions of the library lack them.
        self.list(device, NAMES.compute_processes, compute_processes, processes)?;
        for (name, function) in
            [(NAMES.graphics_processes, graphics_processes), (NAMES.mps_processes, mps_processes)]
        {
            match self.list(device, name, function, processes) {
                Err(NvmlError { code: NOT_SUPPORTED | FUNCTION_NOT_FOUND, .. }) | Ok(()) => {}
                failed => return failed,
            }
        }
        Ok(())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: it was started, and shutting down is counted: other users of the library in this process go on.
        let _ = call(NAMES.shutdown, self.functions.shutdown, |shutdown| unsafe { shutdown() });
    }
}

/// Calls a function of NVIDIA's library, if the library has it.
fn call<F>(name: &'static str, function: Option<F>, with: impl FnOnce(F) -> c_int) -> Result<(), NvmlError> {
    match function.map_or(FUNCTION_NOT_FOUND, with) {
        SUCCESS => Ok(()),
        code => Err(NvmlError { function: name, code }),
    }
}
