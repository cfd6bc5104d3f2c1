//! Provider of the counterset Linux Memory.

use perfset_catalogue::linux_memory as id;
use perfset_core::{CounterId, Counterset};
use perfset_engine::RowWriter;

use crate::provider::{Collection, ParsedFile, SharedFile, SharedParsedFile, ValueSource, unavailable};
use crate::sources::meminfo::AllLines;
use crate::sources::named::NamedLines;
use crate::sources::vmstat::VmStat;

#[cfg(test)]
mod tests;

/// Values of the counterset Linux Memory, from `/proc/meminfo` and `/proc/vmstat`. Each counter has the name of a
/// line in these files.
#[derive(Debug)]
pub(crate) struct LinuxMemory {
    meminfo: File<AllLines>,
    vmstat: File<VmStat>,
}

impl LinuxMemory {
    /// Creates the values of Linux Memory from `/proc/meminfo` and `/proc/vmstat`, which other countersets share.
    pub(crate) fn new(meminfo: SharedFile, vmstat: SharedParsedFile<VmStat>) -> Self {
        let meminfo = ParsedFile::from_file(meminfo, "there is no /proc/meminfo", AllLines::parse);
        Self {
            meminfo: File::new(SharedParsedFile::new(meminfo), |all| &all.lines),
            vmstat: File::new(vmstat, |vmstat| &vmstat.lines),
        }
    }
}

impl ValueSource for LinuxMemory {
    fn counterset(&self) -> Counterset {
        id::COUNTERSET.clone()
    }

    fn fill(&mut self, counters: &[CounterId], cells: &mut RowWriter<'_>, pass: &mut Collection) {
        let is_of_meminfo = |counter: CounterId| counter < id::NR_FREE_PAGES; // which is the first of vmstat
        let counters = counters.iter().copied().enumerate();
        self.meminfo.fill(counters.clone().filter(|(_, counter)| is_of_meminfo(*counter)), cells, pass);
        self.vmstat.fill(counters.filter(|(_, counter)| !is_of_meminfo(*counter)), cells, pass);
    }
}

/// Parsed `/proc/meminfo` or `/proc/vmstat`, with the line index of each counter.
#[derive(Debug)]
struct File<T> {
    table: SharedParsedFile<T>,
    lines: fn(&T) -> &NamedLines,
    /// Index of each counter's line in `/proc/meminfo` or `/proc/vmstat`, by counter id; `None` if the file has no
    /// such line.
    line_indexes: Vec<Option<usize>>,
    /// Layout of the lines in `/proc/meminfo` or `/proc/vmstat`, [`NamedLines::layout`], when the line indexes were
    /// found.
    layout: u64,
}

impl<T: Default> File<T> {
    fn new(table: SharedParsedFile<T>, lines: fn(&T) -> &NamedLines) -> Self {
        Self { table, lines, line_indexes: Vec::new(), layout: 0 }
    }

    /// Fills the columns of these counters, if there are any, from `/proc/meminfo` or `/proc/vmstat`.
    fn fill(
        &mut self,
        counters: impl Iterator<Item = (usize, CounterId)>,
        cells: &mut RowWriter<'_>,
        pass: &mut Collection,
    ) {
        let mut counters = counters.peekable();
        if counters.peek().is_none() {
            return;
        }
        let mut table = self.table.lock();
        let lines = match table.get(pass) {
            Ok(parsed) => (self.lines)(parsed),
            Err(reason) => {
                return counters.for_each(|(column, _)| cells.set_unavailable(column, reason.clone()));
            }
        };
        if self.layout != lines.layout() {
            self.layout = lines.layout();
            self.line_indexes.clear();
            self.line_indexes.resize(id::COUNTERSET.counters.len(), None); // ids are numbered through
            // All counters are looked up, not only the requested ones: another query may request others in
            // the same layout.
            for counter in &*id::COUNTERSET.counters {
                if let (Some(line_index), Some(name)) =
                    (self.line_indexes.get_mut(index(counter.id)), &counter.name)
                {
                    *line_index = lines.index(name.as_bytes());
                }
            }
        }
        // The reasons need the table, which `lines` still borrows.
        let mut faults = Vec::new();
        for (column, counter) in counters {
            let line_index = self.line_indexes.get(index(counter)).copied().flatten();
            match line_index.and_then(|line_index| lines.number(line_index)) {
                Some(Ok(number)) => cells.set(column, number),
                Some(Err(text)) => faults.push((column, text)),
                None => cells.set_unavailable(column, unavailable("this kernel does not report it")),
            }
        }
        for (column, text) in faults {
            cells.set_unavailable(column, table.fault(text));
        }
    }
}

fn index(counter: CounterId) -> usize {
    usize::try_from(counter.0).unwrap_or(usize::MAX)
}
