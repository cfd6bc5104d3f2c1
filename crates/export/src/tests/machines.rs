//! Machines that do as they are told.

use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceType, ProviderIdentity};
use perfset_engine::testing::{FixedClock, Scripted};
use perfset_engine::{Clock, Machine};

/// A counter that everyone sees.
pub fn counter(id: u32, name: &'static str, code: CounterType) -> Counter {
    Counter { name: Some(name.into()), ..Counter::new(CounterId(id), code) }
}

/// A counterset with instances.
pub fn set(number: u128, name: &'static str, counters: Vec<Counter>) -> Counterset {
    Counterset {
        guid: Guid::from_u128(0x7000 + number),
        name: name.into(),
        help: "".into(),
        provider: ProviderIdentity { guid: Guid::from_u128(0x8000), name: "test".into() },
        instance_type: InstanceType::Multiple,
        counters: counters.into(),
        translations: [].as_slice().into(),
        v1_index: None,
        default_counter: None,
        view_of: None,
        scope: "".into(),
    }
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
