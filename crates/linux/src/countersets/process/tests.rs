//! Processes of a running machine, and from trees of files.

use std::collections::BTreeMap;

use perfset_core::catalogue::process_v2 as v2;

use super::*;
use crate::clock::start_100ns;
use crate::testing::{Got, collect};

fn provider(roots: &Roots) -> Processes {
    let stat = SharedFile::new(roots.proc.join("stat"), Printed::AtOnce);
    Processes::new(roots, stat, (100, 4_096), start_100ns)
}

#[test]
fn this_process() {
    let mut provider = provider(&Roots::default());
    let own = std::process::id();
    let counters =
        [v2::PROCESS_ID, v2::THREAD_COUNT, v2::PERCENT_PROCESSOR_TIME, v2::WORKING_SET, v2::HANDLE_COUNT];
    let collected = collect(&mut provider, &counters, &[&format!("*:{own}")]);
    let [name] = collected.names()[..] else { panic!("{:?}", collected.rows) };
    let values: BTreeMap<_, _> =
        counters.map(|counter| (counter.0, collected.get(name, counter).clone())).into();
    assert_eq!(values[&v2::PROCESS_ID.0], Got::Value(own.into()));
    assert!(values.values().all(|got| matches!(got, Got::Value(1..))), "{values:?}");
}
