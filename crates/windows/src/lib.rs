//! Windows' own performance counters: PerfLib's functions for consumers (V2), and HKEY_PERFORMANCE_DATA (V1).
//!
//! [`machine`] is a machine of both: a [`Source`](perfset_engine::Source) like any other. What the system answers is as
//! little to be believed as a stranger's file: sizes and codes are checked here, blocks by the views of `perfset-core`.
//!
//! Everything but `system` is portable: it asks the functions behind the seams [`PerfLib`] and [`PerformanceKey`], so
//! that it is tested everywhere, with functions that lie. [`ours`] has the same functions over a machine of ours.

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod functions;
mod growing;
mod query;
mod registration;
mod shared;
mod v1;
mod v2;
pub mod ours;
pub mod capture;
#[cfg(windows)]
#[allow(unsafe_code)]
pub mod system;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use perfset_core::Language;
use perfset_engine::{Clock, Machine, Slow};

pub use functions::{Absent, Filled, PerfLib, PerformanceKey, RawQuery};

/// How long a library of a V1 provider may take: the limit that Windows itself has for them.
const V1_DEADLINE: Duration = Duration::from_secs(10);

/// What a machine is asked with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The user's language: names and helps are there in it, besides English.
    pub language: Language,
    /// Whether costly objects are listed, too. It may take minutes.
    pub is_costly: bool,
}

/// A machine of what these functions and this key have. A counterset that both have is V2's.
#[must_use]
pub fn machine(
    clock: Box<dyn Clock>,
    functions: Arc<dyn PerfLib>,
    key: Arc<dyn PerformanceKey>,
    settings: &Settings,
) -> Machine {
    let machine = Machine::new(clock);
    let v1 = register_v2_before(&machine, functions, key, settings);
    // Its libraries are strangers' code in this process, and one of them may hang.
    machine.register(Box::new(Slow::new(Box::new(v1), V1_DEADLINE)));
    machine
}

/// A machine of what these functions have, without V1.
#[must_use]
pub fn machine_of_v2(clock: Box<dyn Clock>, functions: Arc<dyn PerfLib>, language: Language) -> Machine {
    let machine = Machine::new(clock);
    register_v2(&machine, functions, language);
    machine
}

fn register_v2(machine: &Machine, functions: Arc<dyn PerfLib>, language: Language) -> shared::Registered {
    machine.set_language(language);
    let registered = shared::Registered::default();
    machine.register(Box::new(v2::V2::new(functions, language, registered.clone())));
    registered
}

/// Registers V2, and makes V1, which leaves to V2 what that has.
fn register_v2_before(
    machine: &Machine,
    functions: Arc<dyn PerfLib>,
    key: Arc<dyn PerformanceKey>,
    settings: &Settings,
) -> v1::V1 {
    let registered = register_v2(machine, functions, settings.language);
    let _ = machine.countersets(); // so that V2 knows what it has
    v1::V1::new(key, settings.language, settings.is_costly, registered)
}
