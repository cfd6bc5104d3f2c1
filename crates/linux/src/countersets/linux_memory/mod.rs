//! The counterset Linux Memory.

use perfset_core::catalogue::linux_memory as id;
use perfset_core::{Counter, CounterId, Counterset, NoValue};

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

    fn value(&mut self, counter: CounterId, pass: &mut Pass) -> Result<u64, NoValue> {
        let is_of_meminfo = counter.0 < id::NR_FREE_PAGES.0; // which is the first of vmstat
        if is_of_meminfo { self.meminfo.value(counter, pass) } else { self.vmstat.value(counter, pass) }
    }
}

/// One of the files, and where the lines of its counters are.
#[derive(Debug)]
struct File<T> {
    table: Table<T>,
    lines: fn(&T) -> &Lines,
    /// By id of the counter, as far as it was asked: its place, if the file has such a line.
    places: Vec<Option<Option<usize>>>,
    /// [`Lines::layout`] when they were found.
    layout: u64,
}

impl<T: Default> File<T> {
    fn new(file: SharedFile, absent: &'static str, parse: Parse<T>, lines: fn(&T) -> &Lines) -> Self {
        Self { table: Table::of(file, absent, parse), lines, places: Vec::new(), layout: 0 }
    }

    fn value(&mut self, counter: CounterId, pass: &mut Pass) -> Result<u64, NoValue> {
        let lines = (self.lines)(self.table.get(pass)?);
        if self.layout != lines.layout() {
            self.layout = lines.layout();
            self.places.clear();
            self.places.resize(id::COUNTERSET.counters.len(), None);
        }
        let index = usize::try_from(counter.0).unwrap_or(usize::MAX);
        let place = self.places.get_mut(index).ok_or(NoValue::NotGiven)?;
        let place = *place.get_or_insert_with(|| {
            let name = id::COUNTERSET.counter(counter).and_then(|Counter { name, .. }| name.as_deref());
            name.and_then(|name| lines.place(name.as_bytes()))
        });
        match place.and_then(|place| lines.number(place)) {
            Some(Ok(number)) => Ok(number),
            Some(Err(text)) => Err(self.table.fault(text)),
            None => Err(unavailable("this kernel does not report it")),
        }
    }
}
