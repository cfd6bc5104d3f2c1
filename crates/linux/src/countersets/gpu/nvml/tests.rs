//! Tests of the calls into NVIDIA's library, with made-up functions in place of the library.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::*;

/// Initializes the made-up library of NVIDIA, whose handles are the numbers of its GPUs, plus 1.
unsafe extern "C" fn init() -> c_int {
    SUCCESS
}

unsafe extern "C" fn no_driver() -> c_int {
    9
}

unsafe extern "C" fn count(count: *mut c_uint) -> c_int {
    // SAFETY: `Nvml::devices` passes a place for a number.
    unsafe { *count = 2 };
    SUCCESS
}

unsafe extern "C" fn endless(count: *mut c_uint) -> c_int {
    // SAFETY: as in `count`.
    unsafe { *count = c_uint::MAX };
    SUCCESS
}

unsafe extern "C" fn handle(device: c_uint, handle: *mut Device) -> c_int {
    let number = std::ptr::without_provenance_mut(device as usize + 1);
    // SAFETY: `Library::handle` passes a place for a pointer.
    unsafe { *handle = number };
    SUCCESS
}

unsafe extern "C" fn one_is_lost(device: c_uint, place: *mut Device) -> c_int {
    // SAFETY: as in `handle`.
    if device == 0 { 15 } else { unsafe { handle(device, place) } }
}

fn number(handle: Device) -> c_uint {
    handle.addr() as c_uint - 1
}

unsafe extern "C" fn pci(handle: Device, info: *mut PciInfo) -> c_int {
    let (domain, bus, device) = (7, 0x40 + (number(handle) & 0x3F), 3);
    // SAFETY: `Library::pci` passes a place for the structure, with zeros in it.
    let info = unsafe { &mut *info };
    *info = PciInfo { domain, bus, device, pci_device_id: 0x233010DE, ..*info };
    SUCCESS
}

unsafe extern "C" fn memory(_: Device, memory: *mut NvmlMemory) -> c_int {
    // SAFETY: `Library::memory` passes a place for the structure, with its version in it.
    let memory = unsafe { &mut *memory };
    assert_eq!(memory.version, 0x0200_0028);
    *memory = NvmlMemory { version: memory.version, total: 101, reserved: 103, free: 107, used: 109 };
    SUCCESS
}

unsafe extern "C" fn utilization(_: Device, utilization: *mut Utilization) -> c_int {
    // SAFETY: `Library::utilization` passes a place for the structure.
    unsafe { *utilization = Utilization { gpu: 2, memory: 3 } };
    SUCCESS
}

unsafe extern "C" fn power(_: Device, mw: *mut c_uint) -> c_int {
    // SAFETY: `Library::one` passes a place for a number.
    unsafe { *mw = 5 };
    SUCCESS
}

unsafe extern "C" fn unsupported(_: Device, _: *mut c_uint) -> c_int {
    NOT_SUPPORTED
}

unsafe extern "C" fn clock(_: Device, kind: c_uint, mhz: *mut c_uint) -> c_int {
    // SAFETY: `Library::one_of` passes a place for a number.
    unsafe { *mhz = 11 + kind };
    SUCCESS
}

unsafe extern "C" fn pcie(_: Device, kind: c_uint, kb: *mut c_uint) -> c_int {
    // SAFETY: as in `clock`.
    unsafe { *kb = 17 + kind };
    SUCCESS
}

unsafe extern "C" fn encoder(_: Device, percent: *mut c_uint, period: *mut c_uint) -> c_int {
    // SAFETY: `Library::two` passes a place for each of two numbers.
    unsafe { *percent = 23 };
    // SAFETY: the same.
    unsafe { *period = 29 };
    SUCCESS
}

unsafe extern "C" fn errors(_: Device, kind: c_uint, of: c_uint, errors: *mut c_ulonglong) -> c_int {
    assert_eq!(of, 0);
    // SAFETY: `Library::errors` passes a place for a number of 64 bits.
    unsafe { *errors = (1 << 40) + u64::from(kind) };
    SUCCESS
}

/// Lists the processes 100 to 119 as NVIDIA's library would: returns all, or the error that the buffer is too small.
unsafe extern "C" fn twenty(_: Device, count: *mut c_uint, infos: *mut ProcessInfo) -> c_int {
    // SAFETY: `Library::list` passes the number of structures that there is room for.
    let room = unsafe { *count };
    // SAFETY: the same place.
    unsafe { *count = 20 };
    if room < 20 {
        return INSUFFICIENT_SIZE;
    }
    for at in 0..20 {
        let used = if at == 7 { NOT_AVAILABLE } else { 1_000 + u64::from(at) };
        let info = ProcessInfo { pid: 100 + at, used_gpu_memory: used, ..ProcessInfo::default() };
        // SAFETY: there is room for more than `at` of them.
        let place = unsafe { infos.add(at as usize) };
        // SAFETY: it is inside that room.
        unsafe { place.write(info) };
    }
    SUCCESS
}

/// Reports, as a faulty library of NVIDIA would, more listed processes than there was room for.
unsafe extern "C" fn boasting(_: Device, count: *mut c_uint, _: *mut ProcessInfo) -> c_int {
    // SAFETY: as in `twenty`.
    let room = unsafe { *count };
    // SAFETY: the same place.
    unsafe { *count = c_uint::MAX };
    if room == 0 { INSUFFICIENT_SIZE } else { SUCCESS }
}

static CALLS: AtomicU32 = AtomicU32::new(0);

/// Reports, as a faulty library of NVIDIA would, that every buffer for processes is too small, whatever the buffer's
/// size.
unsafe extern "C" fn greedy(_: Device, count: *mut c_uint, _: *mut ProcessInfo) -> c_int {
    CALLS.fetch_add(1, Relaxed);
    // SAFETY: as in `twenty`.
    unsafe { *count = c_uint::MAX };
    INSUFFICIENT_SIZE
}

const FUNCTIONS: Functions = Functions {
    init: Some(init),
    shutdown: Some(init),
    count: Some(count),
    handle: Some(handle),
    pci: Some(pci),
    memory: Some(memory),
    utilization: Some(utilization),
    encoder: Some(encoder),
    decoder: None,
    temperature: Some(clock),
    power: Some(power),
    power_limit: Some(unsupported),
    clock: Some(clock),
    maximum_clock: Some(pcie),
    fan: Some(power),
    errors: Some(errors),
    pcie: Some(pcie),
    compute_processes: Some(twenty),
    graphics_processes: None,
    mps_processes: None,
};

#[test]
fn every_gauge() {
    let mut library = Library::start(FUNCTIONS, None).unwrap();
    let unsupported = |function| Err(NvmlError { function, code: NOT_SUPPORTED });
    for (gauge, want) in [
        (CardReading::GpuUtilization, Ok(2)),
        (CardReading::MemoryUtilization, Ok(3)),
        (CardReading::EncoderUtilization, Ok(23)),
        (CardReading::DecoderUtilization, {
            Err(NvmlError { function: "nvmlDeviceGetDecoderUtilization", code: FUNCTION_NOT_FOUND })
        }),
        (CardReading::Dedicated, Ok(101)),
        (CardReading::DedicatedUsed, Ok(109)),
        (CardReading::Shared, unsupported("")),
        (CardReading::SharedUsed, unsupported("")),
        (CardReading::Temperature, Ok(11)),
        (CardReading::HotSpotTemperature, unsupported("")),
        (CardReading::MemoryTemperature, unsupported("")),
        (CardReading::PowerDraw, Ok(5)),
        (CardReading::PowerLimit, unsupported("nvmlDeviceGetEnforcedPowerLimit")),
        (CardReading::GraphicsClock, Ok(11)),
        (CardReading::MaximumGraphicsClock, Ok(17)),
        (CardReading::MemoryClock, Ok(13)),
        (CardReading::FanSpeed, unsupported("")),
        (CardReading::FanPercent, Ok(5)),
        (CardReading::CorrectedErrors, Ok(1 << 40)),
        (CardReading::UncorrectedErrors, Ok((1 << 40) + 1)),
        (CardReading::PcieReceived, Ok(18)),
        (CardReading::PcieTransmitted, Ok(17)),
    ] {
        assert_eq!(library.gauge(0, gauge), want, "{gauge:?}");
    }
}

#[test]
fn devices() {
    let mut addresses = Vec::new();
    let mut library = Library::start(FUNCTIONS, None).unwrap();
    library.devices(&mut addresses).unwrap();
    assert_eq!(
        addresses,
        ["0007:40:03.0", "0007:41:03.0"].map(|text| Ok(PciAddress::parse(text.as_bytes()).unwrap()))
    );
    addresses.clear();
    let mut library = Library::start(Functions { handle: Some(one_is_lost), ..FUNCTIONS }, None).unwrap();
    library.devices(&mut addresses).unwrap();
    assert_eq!(addresses[0], Err(NvmlError { function: NAMES.handle, code: 15 }));
    assert_eq!(addresses[1], Ok(PciAddress::parse(b"0007:41:03.0").unwrap()));
    addresses.clear();
    let mut library = Library::start(Functions { count: Some(endless), ..FUNCTIONS }, None).unwrap();
    library.devices(&mut addresses).unwrap();
    assert_eq!(addresses.len(), 256);
}

#[test]
fn lists_of_processes() {
    let library = |compute, graphics| {
        let (compute_processes, graphics_processes) = (Some(compute), graphics);
        Library::start(Functions { compute_processes, graphics_processes, ..FUNCTIONS }, None).unwrap()
    };
    let mut processes = Vec::new();
    library(twenty, None).processes(0, &mut processes).unwrap();
    assert_eq!(processes.len(), 20);
    assert_eq!(processes[3], GpuProcess { pid: 103, used: Some(1_003) });
    assert_eq!(processes[7], GpuProcess { pid: 107, used: None });

    processes.clear();
    let mut boaster = library(boasting, Some(twenty as Processes));
    boaster.processes(0, &mut processes).unwrap();
    assert_eq!(processes.len(), Library::PROCESS_LIMIT + 20, "no more than there is room for");

    processes.clear();
    let error = library(greedy, None).processes(0, &mut processes).unwrap_err();
    assert_eq!((error.code, CALLS.load(Relaxed), processes.len()), (INSUFFICIENT_SIZE, 2, 0));
}

#[test]
fn failed_nvml_init_has_a_reason() {
    let error = Library::start(Functions { init: Some(no_driver), ..FUNCTIONS }, None).unwrap_err();
    let why = "nvmlInit_v2 of NVIDIA's library returned 9";
    assert_eq!(NoValue::from(error).to_string(), why);
    let error = Library::start(Functions::default(), None).unwrap_err();
    assert!(matches!(NoValue::from(error), NoValue::Unavailable(_)));
}

/// Checks that this machine's library of NVIDIA starts, or that there is a reason for its absence or failure.
#[test]
fn the_library_of_this_machine() {
    match open() {
        Ok(mut library) => {
            let mut addresses = Vec::new();
            library.devices(&mut addresses).unwrap();
        }
        Err(NoValue::Unavailable(why)) => assert!(why.contains("libnvidia-ml.so.1"), "{why}"),
        Err(NoValue::Failed(why)) => assert!(why.starts_with("nvml"), "{why}"),
        Err(other) => panic!("{other}"),
    }
}
