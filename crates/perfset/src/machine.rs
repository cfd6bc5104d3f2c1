//! Local machine of this system, with its backend.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perfset_core::clock::ClockReading;
use perfset_engine::per_process::PerProcess;
use perfset_engine::source::{computer_name as computer_name_of, local_machine};
use perfset_engine::{Machine, SourceError};
#[cfg(target_os = "linux")]
use perfset_linux::{ProcessSource, inventory::InventoryReader};
use perfset_windows::capture::{self, CaptureReplay, Captures};

/// Returns the local machine, with the counters of its operating system and of the engine itself.
///
/// There is one local machine per process: every call returns another handle to it. A forked process gets its own. On
/// Linux, files below `/proc` and `/sys` are read, or below `PERFSET_PROC` and `PERFSET_SYS` as set at the first call.
/// On Windows, the system's functions are called, or those of the library in `PERFSET_PERFLIB`. The environment is
/// ignored in a program with elevated privileges.
///
/// With the feature `publish`, the machine includes counters published by programs of root and of this user. For root,
/// and for members of the group of a shared directory, it includes those of all users, like [`all_users`].
/// [`Machine::left_out`] returns the omitted data.
#[must_use]
pub fn local() -> Machine {
    static LOCAL: PerProcess<Machine> = PerProcess::new();
    LOCAL.get(|| chosen(Environment::local_providers(), false)).clone()
}

/// Returns the local machine like [`local`]. With the feature `publish`, it includes counters published by programs of
/// all users whose files are readable. Instances of users other than root and the current user have names that begin
/// with the user id and `/`. At most 64 MiB and 100,000 instances are read from the files of these users, in total.
#[must_use]
pub fn all_users() -> Machine {
    static ALL: PerProcess<Machine> = PerProcess::new();
    ALL.get(|| chosen(Environment::local_providers(), true)).clone()
}

/// Returns a reader of the inventory of the machine that [`local`] returns; `None` if recorded responses (a capture)
/// replace that machine.
#[cfg(target_os = "linux")]
#[must_use]
pub fn inventory() -> Option<InventoryReader> {
    let environment = Environment::local_providers();
    let reads_environment = environment != Environment::Ignored;
    environment.capture().is_none().then(|| InventoryReader::new(backend::roots(reads_environment)))
}

/// Returns an independent handle to the local machine, with its own providers, file descriptors and locks.
///
/// `trusts_environment` decides whether `PERFSET_PROC`, `PERFSET_SYS`, `PERFSET_RUNTIME_DIR` and the directories of
/// the user's session are used. A program with elevated privileges must not trust them.
#[must_use]
pub fn separate(trusts_environment: bool) -> Machine {
    let environment = if trusts_environment { Environment::OfLibrary } else { Environment::Ignored };
    chosen(environment, false)
}

/// Use of the environment variables that replace the local machine or its functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Environment {
    Trusted,
    /// Use like `Trusted`, except that `PERFSET_PERFLIB` is ignored: the caller might be that library.
    OfLibrary,
    Ignored,
}

impl Environment {
    /// Returns the use of environment variables for [`local`]: `Trusted`, or `Ignored` in a program with elevated
    /// privileges.
    fn local_providers() -> Self {
        if backend::has_more_rights() { Self::Ignored } else { Self::Trusted }
    }

    fn get(self, name: &str) -> Option<OsString> {
        if self == Self::Ignored { None } else { env::var_os(name).filter(|value| !value.is_empty()) }
    }

    /// Returns the path of the library whose functions replace those of the system, if a variable names it.
    fn library(self) -> Option<PathBuf> {
        if cfg!(windows) && self == Self::Trusted {
            self.get("PERFSET_PERFLIB").map(PathBuf::from)
        } else {
            None
        }
    }

    /// Returns the directory of recorded responses (a capture) that replaces the local machine, if a variable names
    /// it.
    fn capture(self) -> Option<PathBuf> {
        self.get("PERFSET_CAPTURE").filter(|_| self.library().is_none()).map(PathBuf::from)
    }
}

fn chosen(environment: Environment, all_users: bool) -> Machine {
    match environment.capture() {
        Some(folder) => CaptureReplay::machine_of(&folder),
        None => backend::machine(environment, all_users),
    }
}

/// Records the responses of this machine's functions and of its performance key in a new directory, to be sent and
/// replayed. `PERFSET_CAPTURE` names such a directory to replace the machine, also for this function. Everything is
/// collected twice, with a pause in between.
///
/// # Errors
/// Fails if the directory exists or cannot be written, or if the directory in `PERFSET_CAPTURE` cannot be read.
pub fn capture(
    folder: &Path,
    by: &str,
    hide_instances: bool,
    is_costly: bool,
    pause: Duration,
) -> io::Result<Captures> {
    let environment = Environment::local_providers();
    let mut by = format!("{by} on {}", system());
    let (functions, key, language) = match environment.capture() {
        Some(folder) => {
            let captured = CaptureReplay::open(&folder)
                .map_err(|error| io::Error::new(error.kind(), format!("the capture: {error}")))?;
            by = format!("{by}, of a capture by {}", captured.by());
            captured.functions()
        }
        None => backend::functions(environment),
    };
    let deadline = Duration::from_secs(60);
    let options = capture::CaptureOptions { by, language, hide_instances, is_costly, pause, deadline };
    capture::write(folder, &functions, &key, &options)
}

/// Sets the collection method for processes and threads; returns `true` if this was the first call. Only the first
/// call has an effect. It applies to machines created later, so call this function before the first [`local`].
/// Without a call, the variable `PERFSET_PROCESS_SOURCE` decides; if it is not set, the cheapest available method is
/// used.
#[cfg(target_os = "linux")]
pub fn set_process_source(source: ProcessSource) -> bool {
    backend::PROCESS_SOURCE.set(source).is_ok()
}

/// Sets the maximum time that a collection waits for slow sources: publishers, firmware, sensors, NVIDIA's library,
/// file systems. A source that has not responded by then has its previous value, marked
/// [`Stale`](perfset_core::Mark::Stale), or none, with the reason [`Late`](perfset_core::NoValue::Late).
///
/// The deadline applies to machines created later, so call this function before the first [`local`]. Without a call,
/// the variable `PERFSET_DEADLINE` decides; if it is not set, the deadline is 100 ms. Only the first call has an
/// effect; returns `true` if this was the first.
#[cfg(target_os = "linux")]
pub fn set_deadline(deadline: Duration) -> bool {
    backend::DEADLINE.set(deadline).is_ok()
}

/// Parses a deadline of collections: seconds with or without a unit, such as `0.5`, `2s`, `250ms`, `1m` or `1h`, from
/// one millisecond to one day.
///
/// # Errors
/// Description of the error in the text.
pub fn parse_deadline(text: &str) -> Result<Duration, &'static str> {
    // "ms" ends with "s".
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, unit) = found.unwrap_or((text, 1.0));
    let number = number.parse::<f64>().map_err(|_| "a time is expected, like 100ms, 0.5s, 1m or 1h")?;
    let seconds = number * unit;
    // Also refuses NaN, with which `from_secs_f64` panics.
    if !(0.001..=86_400.0).contains(&seconds) {
        return Err("the deadline must be between 1ms and 24h");
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Returns the deadline of collections in the variable `PERFSET_DEADLINE`, if it is set.
///
/// # Errors
/// The value of the variable and a description of the error. Machines then have the default deadline.
pub fn deadline_from_env() -> Result<Option<Duration>, (String, &'static str)> {
    let Some(value) = env::var_os("PERFSET_DEADLINE").filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let value = value.to_string_lossy();
    parse_deadline(&value).map(Some).map_err(|why| (value.into_owned(), why))
}

/// Loads the BPF task iterators for the next machine, with room for 65,536 processes and threads: the cheapest
/// collection method. Intended for programs that keep collecting and then [drop the required
/// capabilities](perfset_linux::drop_walk_capabilities). Costs about 100 ms of CPU time and 25 MB of kernel memory.
/// Without this call, the iterators are loaded when they are needed.
///
/// Before the first iterator is loaded, here or later, a process with `CAP_BPF` or `CAP_SYS_ADMIN` is permanently
/// made not dumpable. `docs/processes.md` explains the reason and the other effects.
///
/// # Errors
/// Reason why processes will be read from files, which is slower and returns the same values.
#[cfg(target_os = "linux")]
pub fn prepare_walks() -> Result<(), String> {
    backend::prepare_walks()
}

/// Returns the current clock readings of this machine, the same as in collections.
#[must_use]
pub fn now() -> ClockReading {
    backend::now()
}

/// Returns only the [`ClockReading::perf_time`] of [`now`], at a fifth of the cost of [`now`].
#[must_use]
pub fn perf_time() -> i64 {
    backend::perf_time()
}

/// Returns only the [`ClockReading::time_100ns`] of [`now`], in 100 ns since 1601 UTC.
#[must_use]
pub fn time_100ns() -> i64 {
    backend::time_100ns()
}

/// Returns the name of this machine, as known to other machines.
#[must_use]
pub fn own_name() -> String {
    backend::own_name()
}

/// Returns the Windows name of this machine: the result of GetComputerName, as stored in V1 blocks.
#[must_use]
pub fn computer_name() -> String {
    computer_name_of(&backend::own_name())
}

/// Returns the name and version of the operating system for display.
#[must_use]
pub fn system() -> String {
    backend::system()
}

/// Checks that a machine name denotes this machine: no name, `""`, `.`, `localhost` or its own name.
///
/// # Errors
/// [`SourceError::Remote`] (Windows code 1722) for any other name: remote machines are not supported.
pub fn is_local(name: Option<&str>) -> Result<(), SourceError> {
    local_machine(name, &backend::own_name())
}

/// Returns the machine with a name, which must be this machine.
///
/// # Errors
/// Same as [`is_local`].
pub fn machine(name: Option<&str>) -> Result<Machine, SourceError> {
    is_local(name)?;
    Ok(local())
}

#[cfg(target_os = "linux")]
mod backend {
    use super::Environment;
    use perfset_core::clock::ClockReading;
    use perfset_engine::{Clock, Deadline, Machine};
    use perfset_linux::{ProcessSource, Roots, SystemClock, hostname, providers_within};
    pub use perfset_linux::{perf_time, time_100ns};
    use std::sync::{Arc, OnceLock};
    use std::time::Duration;
    #[cfg(feature = "publish")]
    use std::time::Instant;

    use perfset_core::Language;
    #[cfg(feature = "publish")]
    use perfset_manifest::store::{Store, system_folders};
    #[cfg(feature = "publish")]
    use perfset_shm::{Folders, read::ApplicationProvider};
    use perfset_windows::{PerfLib, PerformanceKey, emulated};

    pub use perfset_linux::has_more_rights;

    /// Collection method for processes and threads that the program has set; a forked process inherits the setting.
    pub static PROCESS_SOURCE: OnceLock<ProcessSource> = OnceLock::new();

    /// Deadline of collections that the program has set; a forked process inherits the setting.
    pub static DEADLINE: OnceLock<Duration> = OnceLock::new();

    fn deadline(trusts_environment: bool) -> Duration {
        let of_environment = || match trusts_environment {
            // An invalid value is ignored here: programs report it by calling `deadline_from_env` themselves.
            true => super::deadline_from_env().ok().flatten(),
            false => None,
        };
        DEADLINE.get().copied().or_else(of_environment).unwrap_or(Deadline::DEFAULT)
    }

    fn process_source(trusts_environment: bool) -> ProcessSource {
        let other = || match trusts_environment {
            true => ProcessSource::from_env().unwrap_or_default(),
            false => ProcessSource::Auto,
        };
        PROCESS_SOURCE.get().copied().unwrap_or_else(other)
    }

    pub fn roots(trusts_environment: bool) -> Roots {
        if trusts_environment { Roots::from_env() } else { Roots::default() }
    }

    pub fn prepare_walks() -> Result<(), String> {
        let trusts_environment = !has_more_rights();
        perfset_linux::prepare_walks(&roots(trusts_environment), process_source(trusts_environment))
    }

    /// Returns the emulated PerfLib and performance key of this machine, and the language of their texts.
    pub fn functions(environment: Environment) -> (Arc<dyn PerfLib>, Arc<dyn PerformanceKey>, Language) {
        let machine = machine(environment, false);
        // Any name: a capture, the only user of these functions, hides the name of the machine.
        let key = emulated::EmulatedPerformanceKey::new(machine.clone(), "X");
        (Arc::new(emulated::EmulatedPerfLib::new(machine)), Arc::new(key), Language::ENGLISH)
    }

    #[cfg_attr(not(feature = "publish"), expect(unused_variables, reason = "only programs belong to users"))]
    pub fn machine(environment: Environment, all_users: bool) -> Machine {
        let trusts_environment = environment != Environment::Ignored;
        let machine = Machine::new(Box::new(SystemClock));
        machine.set_deadline(deadline(trusts_environment));
        let deadline = machine.deadline();
        let (roots, processes) = (roots(trusts_environment), process_source(trusts_environment));
        // All providers share one deadline, because it limits the wait for all slow sources together.
        for provider in providers_within(roots, processes, &deadline) {
            machine.register(provider);
        }
        // Last: a GUID stays with the provider that was registered first, so no publisher takes a built-in
        // one.
        #[cfg(feature = "publish")]
        machine.register(Box::new(applications(trusts_environment, all_users).within(&deadline)));
        machine
    }

    /// Returns the provider of counters that programs publish.
    #[cfg(feature = "publish")]
    fn applications(trusts_environment: bool, all_users: bool) -> ApplicationProvider {
        let folders = if trusts_environment { Folders::from_env() } else { Folders::without_env() };
        let mut store = Store::new(system_folders(trusts_environment));
        let mut asked: Option<Instant> = None;
        let registered = move || {
            // Registrations rarely change, and machines are queried often.
            const PAUSE: Duration = Duration::from_secs(1);
            if asked.is_some_and(|asked| asked.elapsed() < PAUSE) {
                return None;
            }
            asked = Some(Instant::now());
            store.refresh().then(|| store.countersets().cloned().collect())
        };
        ApplicationProvider::new(&folders, all_users, Box::new(registered))
    }

    pub fn now() -> ClockReading {
        SystemClock.read()
    }

    pub fn own_name() -> String {
        hostname()
    }

    pub fn system() -> String {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
        format!("Linux {}", release.as_deref().map_or("of an unknown release", str::trim))
    }
}

#[cfg(windows)]
mod backend {
    use super::Environment;
    use std::sync::Arc;

    use perfset_core::Language;
    use perfset_core::clock::ClockReading;
    use perfset_engine::{Clock, Machine};
    use perfset_windows::system::{HkeyPerformanceData, SystemClock, functions as functions_of, language};
    pub use perfset_windows::system::{own_name, perf_time, time_100ns, version as system};
    use perfset_windows::{PerfLib, PerformanceKey, Settings};

    /// Returns `false`: a program that starts another with elevated privileges must request them, and Windows gives
    /// the new process its own environment.
    pub fn has_more_rights() -> bool {
        false
    }

    pub fn functions(environment: Environment) -> (Arc<dyn PerfLib>, Arc<dyn PerformanceKey>, Language) {
        let library = functions_of(environment.library().is_some());
        (library, Arc::new(HkeyPerformanceData), language())
    }

    pub fn machine(environment: Environment, _all_users: bool) -> Machine {
        let is_costly = environment.get("PERFSET_COSTLY").is_some();
        let settings = Settings { language: language(), is_costly };
        let functions = functions_of(environment.library().is_some());
        perfset_windows::machine(Box::new(SystemClock), functions, Arc::new(HkeyPerformanceData), &settings)
    }

    pub fn now() -> ClockReading {
        SystemClock.read()
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
compile_error!(
    "perfset has no backend for this system yet; perfset-core and perfset-engine build everywhere"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines() {
        let ms = |ms| Some(Duration::from_millis(ms));
        for (text, want) in [
            ("1", ms(1000)),
            ("0.5", ms(500)),
            ("2s", ms(2000)),
            ("250ms", ms(250)),
            ("1ms", ms(1)),
            ("2m", ms(120_000)),
            ("5h", ms(18_000_000)),
            ("24h", ms(86_400_000)),
        ] {
            assert_eq!(parse_deadline(text).ok(), want, "{text}");
        }
        for bad in ["", "x", "-1", "0", "0.1ms", "NaN", "inf", "1e9", "25h", "1d", "ms", "m"] {
            assert!(parse_deadline(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_machines_are_not_built_in() {
        assert!(machine(None).is_ok() && machine(Some("localhost")).is_ok());
        assert!(machine(Some(&backend::own_name())).is_ok());
        let error = machine(Some(r"\\elsewhere.invalid")).unwrap_err();
        assert_eq!(error.status().0, 1722);
    }
}
