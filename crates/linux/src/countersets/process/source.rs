//! The seam to the ways in which the numbers of all processes can be had.

use std::fmt::Debug;

use perfset_core::NoValue;

use super::table::{Parts, Process, Table};
use crate::pass::Pass;

/// A way to the numbers of all processes. All ways give the same ones, at other costs.
pub(super) trait Source: Debug + Send {
    /// Which way it is.
    fn layer(&self) -> Layer;

    /// Lists the processes, if nobody did in this collection, and brings those parts of the `wanted` ones up to date.
    ///
    /// # Errors
    /// If the processes cannot be listed. What is wrong with one of them is said where its part would be.
    fn refresh(
        &mut self,
        parts: Parts,
        wanted: &dyn Fn(&Process) -> bool,
        table: &mut Table,
        pass: &mut Pass,
    ) -> Result<(), NoValue>;
}

/// The ways, the cheapest first. The numbers are those of the counter Process Layer of Perfset Engine; 1 is kept for
/// a program in the kernel that walks over the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// Reads again what ran since, as the CPU clocks of the processes tell.
    Gate,
    /// Reads everything.
    Plain,
}

impl Layer {
    /// For the counter.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Gate => 2,
            Self::Plain => 3,
        }
    }

    /// For people.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Gate => "files of processes whose CPU clock moved, of the others in turn",
            Self::Plain => "files of all processes, each time",
        }
    }
}
