//! Machines of tests, whose providers follow scripts.

use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceType};
use perfset_engine::testing::{FixedClock, Scripted};
use perfset_engine::{Clock, Machine};

/// Returns a counter for tests that is visible to all users.
pub fn counter(id: u32, name: &'static str, code: CounterType) -> Counter {
    Counter::new(CounterId(id), code).name(name)
}

/// Returns a counterset for tests that has instances.
pub fn set(number: u128, name: &'static str, counters: Vec<Counter>) -> Counterset {
    Counterset::new(Guid::from_u128(0x7000 + number), name, InstanceType::Multiple)
        .provider(Guid::from_u128(0x8000), "test")
        .counters(counters)
}

/// Returns a scripted provider of one counterset.
pub fn scripted(set: Counterset) -> Scripted {
    Scripted::new(vec![set])
}

/// Returns a machine with these scripted providers.
pub fn machine(scripts: &[Scripted]) -> Machine {
    machine_with(Box::new(FixedClock::default()), scripts)
}

/// Returns a machine with a clock and these scripted providers.
pub fn machine_with(clock: Box<dyn Clock>, scripts: &[Scripted]) -> Machine {
    let machine = Machine::new(clock);
    for script in scripts {
        machine.register(Box::new(script.clone()));
    }
    machine
}
