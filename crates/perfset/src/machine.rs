//! Which machine is asked, and what answers for it on this system.

use std::sync::OnceLock;

use perfset_core::clock::ClockReading;
use perfset_engine::source::local_machine;
use perfset_engine::{Machine, SourceError};
#[cfg(target_os = "linux")]
use perfset_linux::ProcessSource;

/// This machine, with the counters of its operating system and the engine's own.
///
/// One for the whole process: every call gives another handle to it. On Linux the kernel's files are read below `/proc`
/// and `/sys`, or below `PERFSET_PROC` and `PERFSET_SYS` as they were at the first call; in a program that has more
/// rights than who started it they do not count.
#[must_use]
pub fn local() -> Machine {
    static LOCAL: OnceLock<Machine> = OnceLock::new();
    LOCAL.get_or_init(|| backend::machine(!backend::has_more_rights(), false)).clone()
}

/// As [`local`], with what programs of all users publish, as far as their files may be read: instances of users other
/// than root and who asks have names that begin with the number of their user and `/`.
#[must_use]
pub fn all_users() -> Machine {
    static ALL: OnceLock<Machine> = OnceLock::new();
    ALL.get_or_init(|| backend::machine(!backend::has_more_rights(), true)).clone()
}

/// This machine once more, with providers, descriptors and locks of its own that it shares with no other.
///
/// For a process that was forked from one whose threads may have held the locks of [`local`]. `trusts_environment`:
/// whether `PERFSET_PROC`, `PERFSET_SYS`, `PERFSET_RUNTIME_DIR` and the folders of the user's session count. A program
/// with more rights than who started it must not trust them.
#[must_use]
pub fn separate(trusts_environment: bool) -> Machine {
    backend::machine(trusts_environment, false)
}

/// How processes and threads are read from now on: by machines that are made after this, so call it before the first
/// [`local`]. Without it they are read as `PERFSET_PROCESS_SOURCE` says, or else in the cheapest way that can be had.
/// Only the first call counts; whether it was this one.
#[cfg(target_os = "linux")]
pub fn set_process_source(source: ProcessSource) -> bool {
    backend::PROCESS_SOURCE.set(source).is_ok()
}

/// Loads what reading all processes and threads in the cheapest way takes, with room for 65,536 of them, for the
/// machine that is asked next: for programs that go on collecting and then
/// [give up the right to](perfset_linux::drop_walk_capabilities). It costs some 100 ms of CPU time and 25 MB of the
/// kernel's memory. Without it walks are loaded when they are needed.
///
/// # Errors
/// Why processes will be read from files, which is slower and gives the same.
#[cfg(target_os = "linux")]
pub fn prepare_walks() -> Result<(), String> {
    backend::prepare_walks()
}

/// What the clocks of this machine show: the same that collections carry.
#[must_use]
pub fn now() -> ClockReading {
    backend::now()
}

/// [`ClockReading::perf_time`] of [`now`] alone, at a fifth of the cost.
#[must_use]
pub fn perf_time() -> i64 {
    backend::perf_time()
}

/// [`ClockReading::time_100ns`] of [`now`] alone.
#[must_use]
pub fn time_100ns() -> i64 {
    backend::time_100ns()
}

/// The name of this machine, as other machines know it.
#[must_use]
pub fn own_name() -> String {
    backend::own_name()
}

/// Whether a name means this machine: none at all, `""`, `.`, `localhost` and its own do.
///
/// # Errors
/// [`SourceError::Remote`] (Windows' code 1722) for any other: remote machines are not built in.
pub fn is_local(name: Option<&str>) -> Result<(), SourceError> {
    local_machine(name, &backend::own_name())
}

/// The machine of that name.
///
/// # Errors
/// As [`is_local`].
pub fn machine(name: Option<&str>) -> Result<Machine, SourceError> {
    is_local(name)?;
    Ok(local())
}

#[cfg(target_os = "linux")]
mod backend {
    use perfset_core::clock::ClockReading;
    use perfset_engine::{Clock, Machine};
    use perfset_linux::{ProcessSource, Roots, SystemClock, hostname, providers};
    pub use perfset_linux::{perf_time, time_100ns};
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    use perfset_manifest::store::{Store, system_folders};
    use perfset_shm::Folders;
    pub use perfset_shm::folder::has_more_rights;
    use perfset_shm::read::Applications;

    /// As it was said by the program.
    pub static PROCESS_SOURCE: OnceLock<ProcessSource> = OnceLock::new();

    fn process_source(trusts_environment: bool) -> ProcessSource {
        let other = || if trusts_environment { ProcessSource::from_env() } else { ProcessSource::Auto };
        PROCESS_SOURCE.get().copied().unwrap_or_else(other)
    }

    fn roots(trusts_environment: bool) -> Roots {
        if trusts_environment { Roots::from_env() } else { Roots::default() }
    }

    pub fn prepare_walks() -> Result<(), String> {
        let trusts_environment = !has_more_rights();
        perfset_linux::prepare_walks(&roots(trusts_environment), process_source(trusts_environment))
    }

    pub fn machine(trusts_environment: bool, all_users: bool) -> Machine {
        let machine = Machine::new(Box::new(SystemClock));
        for provider in providers(roots(trusts_environment), process_source(trusts_environment)) {
            machine.register(provider);
        }
        let folders = if trusts_environment { Folders::from_env() } else { Folders::without_env() };
        let mut store = Store::new(system_folders(trusts_environment));
        let mut asked: Option<Instant> = None;
        let registered = move || {
            // Registrations change seldom, and machines are asked often.
            const PAUSE: Duration = Duration::from_secs(1);
            if asked.is_some_and(|asked| asked.elapsed() < PAUSE) {
                return None;
            }
            asked = Some(Instant::now());
            store.refresh().then(|| store.countersets().cloned().collect())
        };
        machine.register(Box::new(Applications::new(&folders, all_users, Box::new(registered))));
        machine
    }

    pub fn now() -> ClockReading {
        SystemClock.read()
    }

    pub fn own_name() -> String {
        hostname()
    }
}

#[cfg(not(target_os = "linux"))]
compile_error!(
    "perfset has no backend for this system yet; perfset-core and perfset-engine build everywhere"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_not_built_in() {
        assert!(machine(None).is_ok() && machine(Some("localhost")).is_ok());
        assert!(machine(Some(&backend::own_name())).is_ok());
        let error = machine(Some(r"\\elsewhere.invalid")).unwrap_err();
        assert_eq!(error.status().0, 1722);
    }
}
