//! Memory-mapped values of PCP, updated by its library if it is installed, for comparison.

#![expect(unsafe_code, reason = "functions of a C library")]

use std::env::set_var;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::create_dir;
use std::path::Path;
use std::ptr::NonNull;

use anyhow::{Context, Result};
use libloading::{Library, Symbol};

/// Counter of 64 bits in a memory-mapped file of PCP.
#[derive(Debug)]
pub struct Mmv {
    increment: Increment,
    file: NonNull<c_void>,
    value: NonNull<c_void>,
    _library: Library,
}

type Registry = unsafe extern "C" fn(*const c_char, c_int, c_int) -> *mut c_void;
type AddMetric = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    c_int,
    c_int,
    c_int,
    c_uint, // pmUnits: a struct of one word
    c_uint,
    *const c_char,
    *const c_char,
) -> c_int;
type Start = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Lookup = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
type Increment = unsafe extern "C" fn(*mut c_void, *mut c_void);

impl Mmv {
    /// Creates a counter of PCP in a new file below the given directory.
    pub fn start(folder: &Path) -> Result<Self> {
        const U64: c_int = 3;
        const COUNTER: c_int = 1;
        const OF_THIS_PROCESS: c_int = 2;
        const COUNT: c_uint = 1 << 20;
        const NAME: &CStr = c"counter";
        create_dir(folder.join("mmv")).with_context(|| folder.display().to_string())?;
        // SAFETY: no other thread of this program is running.
        unsafe { set_var("PCP_TMP_DIR", folder) };
        // SAFETY: PCP's library has no initialisers that could do harm.
        let library = unsafe { Library::new("libpcp_mmv.so.1") }
            .context("it is the Debian package libpcp-mmv1: apt-get install libpcp-mmv1")?;
        // SAFETY: the types of these functions are those in pcp/mmv_stats.h.
        let (registry, add, start, lookup, increment): (
            Symbol<'_, Registry>,
            Symbol<'_, AddMetric>,
            Symbol<'_, Start>,
            Symbol<'_, Lookup>,
            Symbol<'_, Increment>,
        ) = unsafe {
            (
                library.get(b"mmv_stats_registry")?,
                library.get(b"mmv_stats_add_metric")?,
                library.get(b"mmv_stats_start")?,
                library.get(b"mmv_lookup_value_desc")?,
                library.get(b"mmv_inc")?,
            )
        };
        let increment = *increment;
        let (none, name) = (c"".as_ptr(), NAME.as_ptr());
        // SAFETY: the arguments are what the function says, and live as long as the library.
        let registry = unsafe { registry(c"perfset-bench".as_ptr(), 325, OF_THIS_PROCESS) };
        let registry = NonNull::new(registry).context("mmv_stats_registry")?.as_ptr();
        // SAFETY: as above; the registry is one.
        unsafe { add(registry, name, 1, U64, COUNTER, COUNT, 0, none, none) };
        // SAFETY: as above.
        let file = NonNull::new(unsafe { start(registry) }).context("mmv_stats_start")?;
        // SAFETY: as above; the file is one.
        let value = unsafe { lookup(file.as_ptr(), name, none) };
        let value = NonNull::new(value).context("mmv_lookup_value_desc")?;
        Ok(Self { increment, file, value, _library: library })
    }

    /// Increments the counter in PCP's memory-mapped file by one.
    #[inline]
    pub fn increment(&self) {
        // SAFETY: file and value are those that the library gave, which is still there.
        unsafe { (self.increment)(self.file.as_ptr(), self.value.as_ptr()) };
    }
}
