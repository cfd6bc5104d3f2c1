//! Fuzz target for counter paths, and names of instances in them.

use std::sync::Arc;

use perfset_catalogue as catalogue;
use perfset_engine::path::{CounterPath, ExpandOptions, InstanceName, expand, substituted, validate};
use perfset_engine::testing::{FixedClock, Scripted};
use perfset_engine::{Catalogue, Machine};

/// Checks the fuzz input as a counter path, and as the name of an instance.
///
/// A path made of parts is read as these parts. A path that expands is valid, and expands to itself.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    name(&text);
    let mut machine = machine();
    let valid = validate(&mut machine, &text);
    let Ok(path) = text.parse::<CounterPath>() else {
        assert!(valid.is_err());
        return;
    };
    assert!(!path.counterset.is_empty() && !path.counter.is_empty());
    if let Ok(made) = path.make() {
        assert_eq!(made.parse(), Ok(path.clone()));
    }
    path.instance.as_deref().map(name);
    let Ok(expanded) = expand(&mut machine, &path, ExpandOptions::default()) else { return };
    assert_eq!(valid, Ok(()));
    assert!(!expanded.is_empty());
    for path in &expanded {
        assert_eq!(validate(&mut machine, &path.to_string()), Ok(()), "{path}");
        let again = expand(&mut machine, path, ExpandOptions::default());
        assert_eq!(again.as_deref(), Ok(std::slice::from_ref(path)));
    }
}

fn name(text: &str) {
    let Ok(name) = text.parse::<InstanceName>() else { return };
    assert!(!name.name.is_empty() && text.encode_utf16().count() < InstanceName::MAX_LEN);
    if !name.name.contains('#') && name.index != u32::MAX {
        assert_eq!(name.to_string().parse(), Ok(name));
    }
    assert!(!substituted(text).contains(['(', ')', '#', '\\', '/']));
}

/// Returns a machine with two countersets of the catalogue, one with instances and one without.
fn machine() -> Machine {
    let sets = [catalogue::thread::COUNTERSET.clone(), catalogue::system::COUNTERSET.clone()];
    let provider = Scripted::default();
    provider.with(|script| {
        let countersets = sets.into_iter().map(Arc::new).collect();
        script.catalogue = Arc::new(Catalogue::new("Script", countersets));
        script.rows = ["a", "b", "A", "a/1", "b/1", "a", "_Total"].map(|name| (name, 0, Vec::new())).into();
    });
    let machine = Machine::new(Box::new(FixedClock::default()));
    machine.register(Box::new(provider));
    machine
}
