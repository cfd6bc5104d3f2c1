//! Windows' own performance counters: PerfLib's functions for consumers (V2), and HKEY_PERFORMANCE_DATA (V1).
//!
//! [`machine`] creates a machine of both: a [`Source`](perfset_engine::Source) like any other. Responses of the
//! system are untrusted input like a file of another user: sizes and codes are checked here, blocks by the views of
//! `perfset-core`.
//!
//! Everything except `system` is portable. It calls the functions through the traits [`PerfLib`] and
//! [`PerformanceKey`], so that it is tested on every system, with functions that return false data. [`emulated`] has
//! the same functions over a machine of this project.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod functions;
mod buffer;
mod query;
mod registration;
mod shared;
mod v1;
mod v2;
pub mod emulated;
pub mod capture;
#[cfg(windows)]
#[allow(unsafe_code)]
pub mod system;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use perfset_core::Language;
use perfset_engine::{Clock, DeadlineProvider, Machine};

pub use functions::{FillResult, MissingFunctions, PerfLib, PerformanceKey, RawQuery};

/// Maximum time for a call of a V1 provider's library: the limit that Windows itself has for them.
const V1_DEADLINE: Duration = Duration::from_secs(10);

/// Settings for reading the counters of a Windows machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Language of the user: names and help texts are available in it, in addition to English.
    pub language: Language,
    /// `true` if costly objects of V1 are listed too, which may take minutes.
    pub is_costly: bool,
}

/// Creates a machine with the counters of PerfLib's functions and of the performance key. A counterset that both have
/// is taken from V2.
#[must_use]
pub fn machine(
    clock: Box<dyn Clock>,
    functions: Arc<dyn PerfLib>,
    key: Arc<dyn PerformanceKey>,
    settings: &Settings,
) -> Machine {
    let machine = Machine::new(clock);
    let v1 = register_v2_before(&machine, functions, key, settings);
    // The key's libraries are other vendors' code in this process, and one of them may hang.
    machine.register(Box::new(DeadlineProvider::new(Box::new(v1), V1_DEADLINE)));
    machine
}

/// Creates a machine with the counters of PerfLib's functions, without V1.
#[must_use]
pub fn machine_of_v2(clock: Box<dyn Clock>, functions: Arc<dyn PerfLib>, language: Language) -> Machine {
    let machine = Machine::new(clock);
    register_v2(&machine, functions, language);
    machine
}

fn register_v2(machine: &Machine, functions: Arc<dyn PerfLib>, language: Language) -> shared::V2Guids {
    machine.set_language(language);
    let registered = shared::V2Guids::default();
    machine.register(Box::new(v2::V2Provider::new(functions, language, registered.clone())));
    registered
}

/// Registers the V2 provider of a machine, and creates the V1 provider, which leaves out the countersets of V2.
fn register_v2_before(
    machine: &Machine,
    functions: Arc<dyn PerfLib>,
    key: Arc<dyn PerformanceKey>,
    settings: &Settings,
) -> v1::V1Provider {
    let registered = register_v2(machine, functions, settings.language);
    let _ = machine.countersets(); // so that V2 knows what it has
    v1::V1Provider::new(key, settings.language, settings.is_costly, registered)
}
