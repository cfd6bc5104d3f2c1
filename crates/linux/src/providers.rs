//! Every provider of this crate.

use perfset_engine::Provider;

use crate::clock::elapsed_ns;
use crate::processor_information::ProcessorInformation;
use crate::roots::Roots;

/// The providers of the operating system's counters, reading below `roots`.
#[must_use]
pub fn providers(roots: Roots) -> Vec<Box<dyn Provider>> {
    let clock_ticks = rustix::param::clock_ticks_per_second();
    vec![Box::new(ProcessorInformation::new(roots, clock_ticks, elapsed_ns))]
}
