//! The counterset Linux Memory.

use perfset_core::catalogue::linux_memory as id;
use perfset_core::{CounterId, Counterset};
use perfset_engine::Row;

use crate::countersets::single::Values;
use crate::countersets::value::unavailable;
use crate::pass::{Parse, Pass, SharedFile, Table};
use crate::sources::named::Lines;
use crate::sources::{meminfo, vmstat};

#[cfg(test)]
mod tests;

/// Linux Memory from `/proc/meminfo` and `/proc/vmstat`. The name of a counter is that of its line.
#[derive(Debug)]
pub(crate) struct LinuxMemory {
    meminfo: File<meminfo::AllLines>,
    vmstat: File<vmstat::AllLines>,
}

impl LinuxMemory {
    /// Reads what others read too.
    pub(crate) fn new(meminfo: SharedFile, vmstat: SharedFile) -> Self {
        let (no_meminfo, no_vmstat) = ("there is no /proc/meminfo", "there is no /proc/vmstat");
        Self {
            meminfo: File::new(meminfo, no_meminfo, meminfo::AllLines::parse, |all| &all.lines),
            vmstat: File::new(vmstat, no_vmstat, vmstat::AllLines::parse, |all| &all.lines),
        }
    }
}

impl Values for LinuxMemory {
    const COUNTERSET: &'static Counterset = &id::COUNTERSET;

    fn fill(&mut self, counters: &[CounterId], cells: &mut Row<'_>, pass: &mut Pass) {
        let is_of_meminfo = |counter: CounterId| counter < id::NR_FREE_PAGES; // which is the first of vmstat
        let counters = counters.iter().copied().enumerate();
        self.meminfo.fill(counters.clone().filter(|(_, counter)| is_of_meminfo(*counter)), cells, pass);
        self.vmstat.fill(counters.filter(|(_, counter)| !is_of_meminfo(*counter)), cells, pass);
    }
}

/// One of the files, and where the lines of its counters are.
#[derive(Debug)]
struct File<T> {
    table: Table<T>,
    lines: fn(&T) -> &Lines,
    /// By id of the counter: its place, if the file has such a line.
    places: Vec<Option<usize>>,
    /// [`Lines::layout`] when they were found.
    layout: u64,
}

impl<T: Default> File<T> {
    fn new(file: SharedFile, absent: &'static str, parse: Parse<T>, lines: fn(&T) -> &Lines) -> Self {
        Self { table: Table::of(file, absent, parse), lines, places: Vec::new(), layout: 0 }
    }

    /// Fills these columns, if there are any.
    fn fill(
        &mut self,
        counters: impl Iterator<Item = (usize, CounterId)>,
        cells: &mut Row<'_>,
        pass: &mut Pass,
    ) {
        let mut counters = counters.peekable();
        if counters.peek().is_none() {
            return;
        }
        let lines = match self.table.get(pass) {
            Ok(parsed) => (self.lines)(parsed),
            Err(reason) => return counters.for_each(|(column, _)| cells.none(column, reason.clone())),
        };
        if self.layout != lines.layout() {
            self.layout = lines.layout();
            self.places.clear();
            self.places.resize(id::COUNTERSET.counters.len(), None); // ids are numbered through
            for counter in &*id::COUNTERSET.counters {
                if let (Some(place), Some(name)) = (self.places.get_mut(index(counter.id)), &counter.name) {
                    *place = lines.place(name.as_bytes());
                }
            }
        }
        let mut faults = Vec::new();
        for (column, counter) in counters {
            let place = self.places.get(index(counter)).copied().flatten();
            match place.and_then(|place| lines.number(place)) {
                Some(Ok(number)) => cells.set(column, number),
                Some(Err(text)) => faults.push((column, text)),
                None => cells.none(column, unavailable("this kernel does not report it")),
            }
        }
        for (column, text) in faults {
            cells.none(column, self.table.fault(text));
        }
    }
}

fn index(counter: CounterId) -> usize {
    usize::try_from(counter.0).unwrap_or(usize::MAX)
}
