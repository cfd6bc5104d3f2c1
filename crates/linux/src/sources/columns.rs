//! Shared parser for `/proc/interrupts` and `/proc/softirqs`: a column for each CPU, named in the first line.

use crate::sources::cpulist::CPU_LIMIT;
use crate::sources::text::{Text, TextError};

/// CPUs of the columns of a kernel table, in ascending order, and the sum of each column.
///
/// Sums wrap, as the kernel's own sums do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuColumns {
    cpus: Vec<u32>,
    sums: Vec<u64>,
}

impl CpuColumns {
    /// Clears all contents and parses the first line of a kernel table, which names the CPUs.
    pub(crate) fn start(&mut self, text: &mut Text<'_>) -> Result<(), TextError> {
        self.cpus.clear();
        self.sums.clear();
        let mut lowest = 0;
        while !text.is_at_line_end() {
            if !text.take(b"CPU") {
                return Err(text.expected("a column \"CPU\""));
            }
            // The order is checked, because `index` searches by bisection. It also excludes a second column
            // of one CPU.
            let cpu = text.id(lowest..CPU_LIMIT)?;
            lowest = cpu.saturating_add(1);
            self.cpus.push(cpu);
            self.sums.push(0);
        }
        text.end_of_line()
    }

    pub(crate) fn count(&self) -> usize {
        self.cpus.len()
    }

    /// Adds the next numbers of `text` to the sums of the CPUs' columns, one for each column.
    pub(crate) fn add(&mut self, text: &mut Text<'_>) -> Result<(), TextError> {
        for sum in &mut self.sums {
            *sum = sum.wrapping_add(text.number()?);
        }
        Ok(())
    }

    /// Returns the index of a CPU's column in a kernel table.
    pub(crate) fn index(&self, cpu: u32) -> Option<usize> {
        self.cpus.binary_search(&cpu).ok()
    }

    /// Returns the sum of a CPU's column in a kernel table.
    pub(crate) fn get(&self, cpu: u32) -> Option<u64> {
        self.index(cpu).and_then(|at| self.sums.get(at).copied())
    }
}
