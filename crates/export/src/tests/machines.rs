//! Machines that do as they are told.

use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceType};
use perfset_engine::testing::{FixedClock, Scripted};
use perfset_engine::{Clock, Machine};

/// A counter that everyone sees.
pub fn counter(id: u32, name: &'static str, code: CounterType) -> Counter {
    Counter::new(CounterId(id), code).name(name)
}

/// A counterset with instances.
pub fn set(number: u128, name: &'static str, counters: Vec<Counter>) -> Counterset {
    Counterset::new(Guid::from_u128(0x7000 + number), name, InstanceType::Multiple)
        .provider(Guid::from_u128(0x8000), "test")
        .counters(counters)
}

/// A provider of one counterset.
pub fn scripted(set: Counterset) -> Scripted {
    Scripted::new(vec![set])
}

/// A machine with these providers.
pub fn machine(scripts: &[Scripted]) -> Machine {
    machine_with(Box::new(FixedClock::default()), scripts)
}

/// The same with a clock.
pub fn machine_with(clock: Box<dyn Clock>, scripts: &[Scripted]) -> Machine {
    let machine = Machine::new(clock);
    for script in scripts {
        machine.register(Box::new(script.clone()));
    }
    machine
}
