//! Tests of the countersets of processors, collected from trees of test files.

use std::collections::BTreeMap;
use std::fs;

use perfset_catalogue::processor_information as id;
use perfset_core::{CounterId, NoValue};
use perfset_engine::{Provider, Rows, SourceError};

use super::ProcessorInformation;
use crate::roots::Roots;
use crate::testing::{CellOutcome, Collected, FAULTS, Tree, collect, collect_all, fixture, try_collect};

mod faults;
mod interrupt_time;
mod native;
mod over_time;
mod shares;
mod values;

/// Clock ticks per second in these tests: not 100, because no code may assume that value.
const CLOCK_TICKS: u64 = 250;
const ELAPSED_NS: u64 = 123_456_789_012_345;

fn provider(roots: Roots) -> ProcessorInformation {
    ProcessorInformation::new(roots, CLOCK_TICKS, || ELAPSED_NS)
}
