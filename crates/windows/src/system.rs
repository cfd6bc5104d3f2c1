//! Calls to Windows itself: all system calls, and all `unsafe` of this crate.
//!
//! The nine functions are looked up when the program runs: a missing function gives an error code, and does not
//! prevent the program from starting.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use perfset_core::clock::{ClockReading, SystemTime};
use perfset_core::{Guid, Language, Status};
use perfset_engine::Clock;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::{FILETIME, HMODULE};
use windows_sys::Win32::Globalization::GetUserDefaultUILanguage;
use windows_sys::Win32::System::Console::{
    ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode, GetStdHandle, STD_OUTPUT_HANDLE, SetConsoleMode,
};
use windows_sys::Win32::System::LibraryLoader::{
    GetModuleHandleW, GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::Registry::{HKEY_PERFORMANCE_DATA, RegCloseKey, RegQueryValueExW};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNamePhysicalDnsHostname, GetComputerNameExW, GetSystemTimePreciseAsFileTime, OSVERSIONINFOW,
};

use crate::functions::{FillResult, MissingFunctions, PerfLib, PerformanceKey, RawQuery};

/// GUID in the layout and alignment of Windows, for pointers to it.
#[repr(C, align(8))]
struct WireGuid([u8; 16]);

type Enumerate = unsafe extern "system" fn(*const u16, *mut c_void, u32, *mut u32) -> u32;
type RegistrationInfo =
    unsafe extern "system" fn(*const u16, *const WireGuid, u32, u32, *mut u8, u32, *mut u32) -> u32;
type EnumerateInstances =
    unsafe extern "system" fn(*const u16, *const WireGuid, *mut u8, u32, *mut u32) -> u32;
type Open = unsafe extern "system" fn(*const u16, *mut *mut c_void) -> u32;
type Close = unsafe extern "system" fn(*mut c_void) -> u32;
type Change = unsafe extern "system" fn(*mut c_void, *mut u8, u32) -> u32;
type Ask = unsafe extern "system" fn(*mut c_void, *mut u8, u32, *mut u32) -> u32;

/// PerfLib's nine functions for consumers, as far as a Windows library has them. The library is never unloaded.
///
/// The library's handles stay in this table. A [`RawQuery`] is a number of this table, so that no function ever gets
/// a handle that is not open.
pub struct Library {
    enumerate: Option<Enumerate>,
    registration_info: Option<RegistrationInfo>,
    enumerate_instances: Option<EnumerateInstances>,
    open: Option<Open>,
    close: Option<Close>,
    add: Option<Change>,
    delete: Option<Change>,
    info: Option<Ask>,
    data: Option<Ask>,
    queries: Mutex<Queries>,
}

/// Handles of open PerfLib queries, as addresses, by their [`RawQuery`].
#[derive(Debug, Default)]
struct Queries {
    open: HashMap<RawQuery, usize>,
    opened: usize,
}

impl Queries {
    /// Returns the handle of an open PerfLib query. It stays open as long as this table is borrowed.
    fn handle(&self, query: RawQuery) -> Option<*mut c_void> {
        self.open.get(&query).copied().map(std::ptr::with_exposed_provenance_mut)
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("missing", &self.missing()).finish_non_exhaustive()
    }
}

/// Returns a function of a Windows library, with the given type.
///
/// # Safety
/// The library's function of that name is of that type.
unsafe fn function<F: Copy>(library: HMODULE, name: &'static [u8]) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    // SAFETY: the name ends with a NUL (all of them are written below), and the library stays loaded.
    let found = unsafe { GetProcAddress(library, name.as_ptr()) }?;
    // SAFETY: both are addresses of functions, of one size; the caller promises the type.
    Some(unsafe { std::mem::transmute_copy::<unsafe extern "system" fn() -> isize, F>(&found) })
}

impl Library {
    /// Loads PerfLib's functions from the system's own library.
    ///
    /// # Errors
    /// The system's code if the library cannot be loaded.
    pub fn system() -> Result<Self, Status> {
        // SAFETY: the system's own library, from its own directory; the documents give its functions these types.
        unsafe { Self::load("advapi32.dll".encode_utf16().collect(), LOAD_LIBRARY_SEARCH_SYSTEM32) }
    }

    /// Loads PerfLib's functions from another library, for tests. Its code runs in this process.
    ///
    /// # Safety
    /// The code that the library runs when it is loaded does no harm. The functions under the names of the nine have
    /// their types, and keep what is documented of them: above all, they write no more than there is room for.
    ///
    /// # Errors
    /// The system's code if the library cannot be loaded.
    pub unsafe fn at(path: &Path) -> Result<Self, Status> {
        use std::os::windows::ffi::OsStrExt;
        // SAFETY: the caller's promise.
        unsafe { Self::load(path.as_os_str().encode_wide().collect(), 0) }
    }

    /// Loads PerfLib's functions from the library at `path`, with flags of `LoadLibraryExW`.
    ///
    /// # Safety
    /// As [`at`](Self::at).
    unsafe fn load(mut path: Vec<u16>, flags: u32) -> Result<Self, Status> {
        path.push(0);
        // SAFETY: the path ends with a NUL, and the reserved handle is null; the caller promises that the code is good.
        let library = unsafe { LoadLibraryExW(path.as_ptr(), null_mut(), flags) };
        if library.is_null() {
            return Err(last_error());
        }
        Ok(Self {
            // SAFETY: the caller promises that the function of this name is of this type.
            enumerate: unsafe { function(library, b"PerfEnumerateCounterSet\0") },
            // SAFETY: as above.
            registration_info: unsafe { function(library, b"PerfQueryCounterSetRegistrationInfo\0") },
            // SAFETY: as above.
            enumerate_instances: unsafe { function(library, b"PerfEnumerateCounterSetInstances\0") },
            // SAFETY: as above.
            open: unsafe { function(library, b"PerfOpenQueryHandle\0") },
            // SAFETY: as above.
            close: unsafe { function(library, b"PerfCloseQueryHandle\0") },
            // SAFETY: as above.
            add: unsafe { function(library, b"PerfAddCounters\0") },
            // SAFETY: as above.
            delete: unsafe { function(library, b"PerfDeleteCounters\0") },
            // SAFETY: as above.
            info: unsafe { function(library, b"PerfQueryCounterInfo\0") },
            // SAFETY: as above.
            data: unsafe { function(library, b"PerfQueryCounterData\0") },
            queries: Mutex::default(),
        })
    }

    fn queries(&self) -> MutexGuard<'_, Queries> {
        // No code that holds the lock panics; even then the handles would be valid.
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the names of the PerfLib functions that the library does not have.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let all = [
            ("PerfEnumerateCounterSet", self.enumerate.is_some()),
            ("PerfQueryCounterSetRegistrationInfo", self.registration_info.is_some()),
            ("PerfEnumerateCounterSetInstances", self.enumerate_instances.is_some()),
            ("PerfOpenQueryHandle", self.open.is_some()),
            ("PerfCloseQueryHandle", self.close.is_some()),
            ("PerfAddCounters", self.add.is_some()),
            ("PerfDeleteCounters", self.delete.is_some()),
            ("PerfQueryCounterInfo", self.info.is_some()),
            ("PerfQueryCounterData", self.data.is_some()),
        ];
        all.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name).collect()
    }
}

/// Alignment of PerfLib's structures, in bytes. A buffer with less is not passed to the functions; an allocator's
/// buffers have it.
const ALIGNMENT: usize = 8;
const MISALIGNED: Status = Status(998); // ERROR_NOACCESS

/// Returns the address of a buffer, null if it is empty, and its length in elements of `element` bytes. `None` if the
/// buffer is not aligned for structures.
fn parts(buffer: &mut [u8], element: usize) -> Option<(*mut u8, u32)> {
    let len = buffer.len().checked_div(element).and_then(|len| u32::try_from(len).ok()).unwrap_or(u32::MAX);
    let start = if buffer.is_empty() { null_mut() } else { buffer.as_mut_ptr() };
    (start.addr() % ALIGNMENT == 0).then_some((start, len))
}

fn filled(call: impl FnOnce(*mut u32) -> u32) -> FillResult {
    let mut actual = 0;
    let status = Status(call(&raw mut actual));
    FillResult { status, actual }
}

const MISSING: Status = Status::ERROR_CALL_NOT_IMPLEMENTED;

// For each call: the buffer is `len` elements that no other code uses during the call, at a multiple of 8. The
// documents promise that no more are written. A library that breaks that promise cannot be helped: it is code in this
// process. No pointer is stored. A handle was returned by the library and is open: its table stays locked.
impl PerfLib for Library {
    fn enumerate_countersets(&self, guids: &mut [u8]) -> FillResult {
        let Some(call) = self.enumerate else { return FillResult::failed(MISSING) };
        let Some((start, len)) = parts(guids, 16) else { return FillResult::failed(MISALIGNED) };
        // SAFETY: the local machine; `len` GUIDs may be written; see above.
        filled(|actual| unsafe { call(null(), start.cast(), len, actual) })
    }

    fn registration_info(
        &self,
        counterset: &Guid,
        code: u32,
        language_or_id: u32,
        info: &mut [u8],
    ) -> FillResult {
        let Some(call) = self.registration_info else { return FillResult::failed(MISSING) };
        let Some((start, len)) = parts(info, 1) else { return FillResult::failed(MISALIGNED) };
        let guid = WireGuid(counterset.to_wire());
        // SAFETY: the local machine; a GUID that lives as long as the call; see above.
        filled(|actual| unsafe { call(null(), &guid, code, language_or_id, start, len, actual) })
    }

    fn enumerate_instances(&self, counterset: &Guid, instances: &mut [u8]) -> FillResult {
        let Some(call) = self.enumerate_instances else { return FillResult::failed(MISSING) };
        let Some((start, len)) = parts(instances, 1) else { return FillResult::failed(MISALIGNED) };
        let guid = WireGuid(counterset.to_wire());
        // SAFETY: as above.
        filled(|actual| unsafe { call(null(), &guid, start, len, actual) })
    }

    fn open_query(&self) -> Result<RawQuery, Status> {
        let Some(call) = self.open else { return Err(MISSING) };
        let mut handle = null_mut();
        // SAFETY: the local machine; a place for the handle.
        match Status(unsafe { call(null(), &mut handle) }) {
            Status::ERROR_SUCCESS if handle.is_null() => Err(Status::ERROR_INVALID_HANDLE),
            Status::ERROR_SUCCESS => {
                let mut queries = self.queries();
                queries.opened = queries.opened.wrapping_add(1);
                let query = RawQuery(queries.opened);
                queries.open.insert(query, handle.expose_provenance());
                Ok(query)
            }
            status => Err(status),
        }
    }

    fn close_query(&self, query: RawQuery) -> Status {
        let Some(call) = self.close else { return MISSING };
        let mut queries = self.queries();
        let Some(handle) = queries.handle(query) else { return Status::ERROR_INVALID_HANDLE };
        queries.open.remove(&query);
        // SAFETY: see above; this handle is not used again.
        Status(unsafe { call(handle) })
    }

    fn add_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status {
        let Some(call) = self.add else { return MISSING };
        let Some((start, len)) = parts(identifiers, 1) else { return MISALIGNED };
        let queries = self.queries();
        let Some(handle) = queries.handle(query) else { return Status::ERROR_INVALID_HANDLE };
        // SAFETY: see above.
        Status(unsafe { call(handle, start, len) })
    }

    fn delete_counters(&self, query: RawQuery, identifiers: &mut [u8]) -> Status {
        let Some(call) = self.delete else { return MISSING };
        let Some((start, len)) = parts(identifiers, 1) else { return MISALIGNED };
        let queries = self.queries();
        let Some(handle) = queries.handle(query) else { return Status::ERROR_INVALID_HANDLE };
        // SAFETY: see above.
        Status(unsafe { call(handle, start, len) })
    }

    fn query_info(&self, query: RawQuery, identifiers: &mut [u8]) -> FillResult {
        let Some(call) = self.info else { return FillResult::failed(MISSING) };
        let Some((start, len)) = parts(identifiers, 1) else { return FillResult::failed(MISALIGNED) };
        let queries = self.queries();
        let Some(handle) = queries.handle(query) else {
            return FillResult::failed(Status::ERROR_INVALID_HANDLE);
        };
        // SAFETY: see above.
        filled(|actual| unsafe { call(handle, start, len, actual) })
    }

    fn query_data(&self, query: RawQuery, block: &mut [u8]) -> FillResult {
        let Some(call) = self.data else { return FillResult::failed(MISSING) };
        let Some((start, len)) = parts(block, 1) else { return FillResult::failed(MISALIGNED) };
        let queries = self.queries();
        let Some(handle) = queries.handle(query) else {
            return FillResult::failed(Status::ERROR_INVALID_HANDLE);
        };
        // SAFETY: see above.
        filled(|actual| unsafe { call(handle, start, len, actual) })
    }
}

/// Lock for the performance key: shared by readers, exclusive for closing it. No document states that the system does
/// without it.
static KEY: RwLock<()> = RwLock::new(());

/// Registry key HKEY_PERFORMANCE_DATA of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct HkeyPerformanceData;

impl PerformanceKey for HkeyPerformanceData {
    fn query_value(&self, name: &str, value: &mut [u8]) -> FillResult {
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        let Some((start, mut len)) = parts(value, 1) else { return FillResult::failed(MISALIGNED) };
        let _reading = KEY.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: a predefined key, which this crate does not close meanwhile; a name that ends with a NUL; the type
        // is not requested; `len` bytes may be written, and the length after the call.
        let status = unsafe {
            RegQueryValueExW(HKEY_PERFORMANCE_DATA, name.as_ptr(), null(), null_mut(), start, &mut len)
        };
        FillResult { status: Status(status), actual: len }
    }

    fn close(&self) {
        // A key that is being read is still needed.
        let Ok(_alone) = KEY.try_write() else { return };
        // SAFETY: a predefined key, which this crate does not read meanwhile, and which its next use opens. The
        // documents forbid closing it in a library's notification that it is unloaded. The assumed consequence is a
        // hang on the loader's lock, and no memory error.
        let _ = unsafe { RegCloseKey(HKEY_PERFORMANCE_DATA) };
    }
}

/// Clocks of the Windows system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn read(&mut self) -> ClockReading {
        let (perf_time, time_100ns) = (perf_time(), time_100ns());
        ClockReading {
            perf_time,
            time_100ns,
            perf_freq: perf_freq(),
            system_time: SystemTime::from_100ns(time_100ns),
        }
    }
}

/// Returns the current ticks of QueryPerformanceCounter.
#[must_use]
pub fn perf_time() -> i64 {
    let mut ticks = 0;
    // SAFETY: a place for the number. It does not fail on any system since Windows XP.
    unsafe { QueryPerformanceCounter(&mut ticks) };
    ticks
}

/// Returns the ticks per second, by QueryPerformanceFrequency.
fn perf_freq() -> i64 {
    let mut ticks = 0;
    // SAFETY: as above.
    unsafe { QueryPerformanceFrequency(&mut ticks) };
    ticks
}

/// Returns the current time of Windows in 100 ns since 1601 UTC.
#[must_use]
pub fn time_100ns() -> i64 {
    let mut time = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    // SAFETY: a place for the time.
    unsafe { GetSystemTimePreciseAsFileTime(&mut time) };
    i64::from(time.dwHighDateTime).wrapping_shl(32) | i64::from(time.dwLowDateTime)
}

/// Returns the name of this machine; empty if the system does not return it.
#[must_use]
pub fn own_name() -> String {
    let mut name = vec![0_u16; 256];
    let mut len = u32::try_from(name.len()).unwrap_or(0);
    // SAFETY: `len` units may be written there, and the length after the call.
    let done = unsafe { GetComputerNameExW(ComputerNamePhysicalDnsHostname, name.as_mut_ptr(), &mut len) };
    name.truncate(if done == 0 { 0 } else { usize::try_from(len).unwrap_or(0) });
    String::from_utf16_lossy(&name)
}

/// Returns the version of Windows, with a note if Wine runs in place of Windows.
#[must_use]
pub fn version() -> String {
    // SAFETY: a structure of numbers, for which zeros are values.
    let mut version: OSVERSIONINFOW = unsafe { std::mem::zeroed() };
    version.dwOSVersionInfoSize = u32::try_from(size_of::<OSVERSIONINFOW>()).unwrap_or(0);
    // SAFETY: a structure that contains its size.
    let _ = unsafe { RtlGetVersion(&mut version) };
    let OSVERSIONINFOW { dwMajorVersion, dwMinorVersion, dwBuildNumber, .. } = version;
    let wine = if is_wine() { " (Wine)" } else { "" };
    format!("Windows {dwMajorVersion}.{dwMinorVersion}.{dwBuildNumber}{wine}")
}

/// Returns `true` if Wine runs in place of Windows.
fn is_wine() -> bool {
    let name: Vec<u16> = "ntdll.dll\0".encode_utf16().collect();
    // SAFETY: a name that ends with a NUL, of a library that every process has.
    let library = unsafe { GetModuleHandleW(name.as_ptr()) };
    // SAFETY: a library of this process, and a name that ends with a NUL.
    !library.is_null() && unsafe { GetProcAddress(library, c"wine_get_version".as_ptr().cast()) }.is_some()
}

/// Returns the language of the Windows user.
#[must_use]
pub fn language() -> Language {
    // SAFETY: it takes nothing and cannot fail.
    Language(unsafe { GetUserDefaultUILanguage() }.into())
}

/// Enables escape sequences on the console. Returns `true` if the console supports them.
#[must_use]
pub fn draws_in_place() -> bool {
    // SAFETY: a constant that names the standard output; the handle is not closed.
    let console = unsafe { GetStdHandle(STD_OUTPUT_HANDLE) };
    let mut mode = 0;
    // SAFETY: a handle, which is refused if it is not a console's; a place for the mode.
    if unsafe { GetConsoleMode(console, &mut mode) } == 0 {
        return false;
    }
    // SAFETY: a console's handle, and its own mode with one bit more.
    (unsafe { SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) }) != 0
}

fn last_error() -> Status {
    let code = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
    Status(u32::from_le_bytes(code.to_le_bytes()))
}

/// Returns PerfLib's functions of the system, or, if the environment is trusted, of the library that
/// `PERFSET_PERFLIB` names. If the library cannot be loaded, all functions return the reason.
#[must_use]
pub fn functions(trusts_environment: bool) -> Arc<dyn PerfLib> {
    let named = std::env::var_os("PERFSET_PERFLIB").filter(|name| trusts_environment && !name.is_empty());
    let library = match named {
        // SAFETY: the user who sets the variable promises it. A user who controls a process' environment decides
        // anyway which libraries it loads.
        Some(path) => unsafe { Library::at(Path::new(&path)) },
        None => Library::system(),
    };
    match library {
        Ok(library) => Arc::new(library),
        Err(status) => Arc::new(MissingFunctions(status)),
    }
}
