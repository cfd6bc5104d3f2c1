//! Collects the values of all processes from their files in `/proc`.

use perfset_core::NoValue;

use super::method::ProcessMethod;
use super::own_io;
use super::reader::{ProcDirReader, gone};
use super::table::{
    CollectionTime, FileReading, FileSet, Hidden, LineValues, ProcessEntry, ProcessTable, RareFields,
    RefreshInterval, Thread,
};
use crate::cpu_clock::cpu_clock_ns;
use crate::provider::Collection;
use crate::roots::Roots;
use crate::sources::attribute;
use crate::sources::pid::io::Io;
use crate::sources::pid::schedstat::SchedStat;
use crate::sources::pid::smaps_rollup::SmapsRollup;
use crate::sources::pid::stat::{Stat, comm};
use crate::sources::pid::statm::Statm;
use crate::sources::pid::status::Status;
use crate::sources::text::TextError;

/// Reader of the files of all processes: at each collection, or only if the process's CPU clock has moved.
///
/// A process whose clock stands still has executed nothing: its times, faults, files, threads, names and I/O are as
/// they were. Properties that other processes can change, such as its nice value or its memory in RAM, have a
/// periodic refresh at every tenth collection; its parent is read again if the parent has ended. `statm` is read
/// again only if by `stat` its memory may have changed, and at every hundredth collection.
#[derive(Debug)]
pub(super) struct ProcFiles {
    reader: ProcDirReader,
    /// `true` if the CPU clocks of the processes below this `/proc` are readable.
    clocks: bool,
    layer: ProcessMethod,
    pids: Vec<u32>,
    tids: Vec<u32>,
    /// Pids of processes that ended, whose children may have another parent now.
    ended: Vec<u32>,
}

impl ProcFiles {
    pub(super) fn new(roots: &Roots, clocks: bool, layer: ProcessMethod) -> Self {
        let (pids, tids, ended) = Default::default();
        Self { reader: ProcDirReader::new(&roots.proc), clocks, layer, pids, tids, ended }
    }

    pub(super) fn layer(&self) -> ProcessMethod {
        self.layer
    }

    /// Lists the processes, unless this collection has listed them already, and updates the files `parts` of the
    /// `wanted` processes.
    ///
    /// # Errors
    /// If the processes cannot be listed.
    pub(super) fn refresh(
        &mut self,
        parts: FileSet,
        wanted: &dyn Fn(&ProcessEntry) -> bool,
        table: &mut ProcessTable,
        pass: &mut Collection,
    ) -> Result<(), NoValue> {
        if !table.is_listed(pass) {
            self.list(table, pass)?;
        }
        let now = table.moment(pass);
        if parts.has(FileSet::BEYOND_STAT) {
            for process in table.processes.iter_mut().filter(|process| wanted(process)) {
                self.read_parts(parts, process, now, pass);
            }
        }
        Ok(())
    }

    /// Returns the pids of all processes, ascending; none if they cannot be listed.
    pub(super) fn pids(&mut self, pass: &mut Collection) -> Vec<u32> {
        let mut pids = Vec::new();
        match self.reader.pids(&mut pids, pass) {
            Ok(()) => pids,
            Err(_) => Vec::new(),
        }
    }

    /// Lists the processes, and finds those that have run since the last listing.
    fn list(&mut self, table: &mut ProcessTable, pass: &mut Collection) -> Result<(), NoValue> {
        let mut pids = std::mem::take(&mut self.pids);
        let listed = self.reader.pids(&mut pids, pass);
        // Pids and table are both ascending, so one pass over both finds what began and what ended.
        let mut listed_pids = pids.iter().copied().peekable();
        if listed.is_ok() {
            table.start(pass);
            let now = table.moment(pass);
            self.ended.clear();
            let mut new = Vec::new();
            let mut hidden = std::mem::take(&mut table.hidden);
            table.processes.retain_mut(|process| {
                while let Some(pid) = listed_pids.next_if(|pid| *pid < process.pid) {
                    new.push(ProcessEntry::new(pid));
                }
                let stays = listed_pids.next_if_eq(&process.pid).is_some() && self.look(process, now, pass);
                if !stays {
                    self.ended.push(process.pid);
                    let ProcessEntry { pid, clock_ns, .. } = *process;
                    let ppid = process.stat.value.ppid;
                    // Whether it has ended or is only hidden is decided below, by its CPU clock.
                    hidden.push(Hidden { pid, birth: process.birth(), ppid, clock_ns });
                }
                stays
            });
            new.extend(listed_pids.map(ProcessEntry::new));
            new.retain_mut(|process| {
                let stays = self.look(process, now, pass);
                if !stays {
                    self.ended.push(process.pid);
                }
                stays
            });
            hidden.retain(|known| {
                // A pid that is listed again is no longer hidden, whichever process has it now.
                let is_in = |list: &[ProcessEntry]| {
                    list.binary_search_by_key(&known.pid, |process| process.pid).is_ok()
                };
                !is_in(&table.processes) && !is_in(&new) && self.exists(known)
            });
            table.hidden = hidden;
            if !new.is_empty() || !self.ended.is_empty() {
                table.arrange(&mut new);
            }
            self.ended.sort_unstable();
            if !self.ended.is_empty() {
                for process in &mut table.processes {
                    let orphaned = self.ended.binary_search(&process.stat.value.ppid).is_ok();
                    // The kernel gives it another parent, and a process that is idle would not be read again
                    // for that.
                    if orphaned && !process.stat.is_new(now) {
                        self.read_stat(process, now, pass); // one that ended meanwhile is not listed next time
                    }
                }
            }
        }
        self.pids = pids;
        listed
    }

    /// Returns `true` if a process that was listed before, and is not listed now, still exists.
    ///
    /// Its CPU clock can be read even if `/proc` hides the process. Without the clocks it counts as ended.
    fn exists(&self, known: &Hidden) -> bool {
        self.clocks && cpu_clock_ns(known.pid).is_ok_and(|ns| ns >= known.clock_ns)
    }

    /// Returns `true` if the listed process still exists. Reads its `stat` if the process has run.
    fn look(&mut self, process: &mut ProcessEntry, now: CollectionTime, pass: &mut Collection) -> bool {
        let mut moved = true;
        if self.clocks {
            match cpu_clock_ns(process.pid) {
                Ok(ns) => {
                    if process.clock_ns != ns {
                        (process.clock_ns, process.ran) = (ns, now);
                    }
                    // The gate reads the clock itself, which does not step back. Only records of the iterator
                    // can be behind it.
                    process.held = false;
                    // Compared with the last reading of `stat`, not with the last collection: that one may
                    // have read other files.
                    moved = !process.stat.is_unchanged(process.ran);
                }
                Err(_) => return false,
            }
        }
        let gated = self.layer == ProcessMethod::Gate
            && !moved
            && !process.stat.is_due(RefreshInterval::TENTH, process.pid, now);
        gated || self.read_stat(process, now, pass)
    }

    /// Reads the name and the file `stat` of a process. Returns `true` if the process still exists.
    pub(super) fn read_stat(
        &mut self,
        process: &mut ProcessEntry,
        now: CollectionTime,
        pass: &mut Collection,
    ) -> bool {
        let pid = process.pid;
        let read = self.reader.read((pid, None), "stat", pass, |text| {
            let stat = Stat::parse(text)?;
            // A thread of the kernel appends its current work to its name; an instance name must stay.
            let name = stat.lasting_name(comm(text)?);
            // Another process has the pid, so the earlier one has ended, and its children have another
            // parent.
            if process.begins(name, stat.starttime) {
                self.ended.push(pid);
            }
            process.holds(&stat);
            Ok(stat)
        });
        let stat = match read {
            Ok(None) => return false,
            Ok(Some(stat)) => Ok(stat),
            Err(reason) => {
                process.stays_unknown();
                Err(reason)
            }
        };
        let was_zombie = process.stat.value.is_zombie();
        process.set_stat(stat, now);
        // The kernel gives the children of a process to another parent when it becomes a zombie, before it is
        // reaped.
        if process.stat.value.is_zombie() && !was_zombie {
            self.ended.push(pid);
        }
        true
    }

    /// Calls `each` with the id of every thread of a listed process, ascending. Reads no directory for a single thread,
    /// which has the id of the process.
    pub(super) fn list_threads(
        &mut self,
        process: &ProcessEntry,
        pass: &mut Collection,
        mut each: impl FnMut(u32),
    ) {
        let is_alone = process.stat.get().is_ok_and(|stat| stat.num_threads == 1);
        // A copy of `/proc` may lack directories that its files tell of.
        if is_alone && self.reader.is_procfs {
            return each(process.pid);
        }
        // A process that has ended meanwhile has no threads.
        if let Ok(Some(())) = self.reader.tids(process.pid, &mut self.tids, pass) {
            self.tids.iter().copied().for_each(each);
        }
    }

    /// Updates the given files of a process. If another process has its pid by now, the data of the files is marked
    /// as missing.
    pub(super) fn read_parts(
        &mut self,
        parts: FileSet,
        process: &mut ProcessEntry,
        now: CollectionTime,
        pass: &mut Collection,
    ) {
        if self.read_due(parts, process, now, pass) && self.is_replaced(process, pass) {
            process.lose_files(now);
        }
    }

    /// Returns `true` if another process now has the pid: files read since `stat` may belong to that process.
    ///
    /// The CPU clock tells without a file: only the same process has it at the same nanosecond. If it moved, the start
    /// time in `stat` decides. A process that has just ended keeps its values.
    fn is_replaced(&mut self, process: &ProcessEntry, pass: &mut Collection) -> bool {
        if self.clocks && cpu_clock_ns(process.pid).map_or(true, |ns| ns == process.clock_ns) {
            return false;
        }
        if !self.clocks && !self.reader.is_procfs {
            return false; // a copy of `/proc` does not change
        }
        let stat = self.reader.read((process.pid, None), "stat", pass, Stat::parse);
        stat.is_ok_and(|stat| stat.is_some_and(|stat| !process.started(stat.starttime)))
    }

    /// Reads the given files of a process that may have changed. Returns `true` if any file was read.
    fn read_due(
        &mut self,
        parts: FileSet,
        process: &mut ProcessEntry,
        now: CollectionTime,
        pass: &mut Collection,
    ) -> bool {
        let mut is_read = false;
        let Self { reader, layer, clocks, tids, .. } = self;
        let pid = process.pid;
        let own = (pid, None);
        // For files that only the process itself changes.
        let of_itself = RefreshCheck {
            changed: (*clocks && *layer == ProcessMethod::Gate).then_some(process.ran),
            turn: None,
            pid,
            now,
        };
        // For files that other processes can change too.
        let of_others = RefreshCheck { turn: Some(RefreshInterval::TENTH), ..of_itself };
        if parts.has(FileSet::STATM) {
            let changed = of_others.changed.and(Some(process.memory_moved));
            let of_memory = RefreshCheck { changed, turn: Some(RefreshInterval::HUNDREDTH), ..of_others };
            is_read |= of_memory.bring(&mut process.statm, || reader.read(own, "statm", pass, Statm::parse));
        }
        if parts.has(FileSet::IO) {
            let read = || match reader.read(own, "io", pass, io) {
                // In another file system than procfs, this pid may be another process.
                Err(denied @ NoValue::Denied(_)) if *clocks && reader.is_procfs => {
                    own_io::read(pid, pass).map(Some).ok_or(denied)
                }
                read => read,
            };
            is_read |= of_itself.bring(&mut process.io, read);
        }
        if !parts.has(FileSet::SELDOM) {
            return is_read;
        }
        let seldom: &mut RareFields = process.seldom.get_or_insert_default();
        if parts.has(FileSet::STATUS) {
            is_read |= of_others.bring(&mut seldom.status, || reader.read(own, "status", pass, status));
        }
        if parts.has(FileSet::SCHEDSTAT) {
            let part = &mut seldom.schedstat;
            let waits = |text: &[u8]| SchedStat::parse(text).map(Into::into);
            // The kernel adds waiting time to a queued process that it moves to another CPU, without running it.
            is_read |= of_others.bring(part, || reader.read(own, "schedstat", pass, waits));
        }
        if parts.has(FileSet::SMAPS_ROLLUP) {
            let part = &mut seldom.smaps_rollup;
            is_read |= of_others.bring(part, || reader.read(own, "smaps_rollup", pass, smaps_rollup));
        }
        if parts.has(FileSet::FD) {
            is_read |= of_others.bring(&mut seldom.fd, || reader.open_files(pid, pass));
        }
        if parts.has(FileSet::OOM_SCORE) {
            is_read |= of_others
                .bring(&mut seldom.oom_score, || reader.read(own, "oom_score", pass, attribute::number));
        }
        if parts.has(FileSet::TASK) && of_others.must_read(&seldom.threads) {
            let mut threads = std::mem::take(&mut seldom.threads.value);
            let read = match reader.tids(pid, tids, pass) {
                Ok(Some(())) => {
                    read_threads(reader, (pid, tids), &mut threads, now, pass);
                    Ok(threads)
                }
                Ok(None) => Err(gone()),
                Err(reason) => Err(reason),
            };
            seldom.threads.set(read, now);
            is_read = true;
        }
        is_read
    }
}

/// Conditions for reading a file of a process again.
#[derive(Clone, Copy)]
struct RefreshCheck {
    /// Time at which the file of the process may have changed; `None` if unknown.
    changed: Option<CollectionTime>,
    /// Interval of the file's periodic refresh; `None` if there is no such refresh.
    turn: Option<RefreshInterval>,
    pid: u32,
    now: CollectionTime,
}

impl RefreshCheck {
    fn must_read<T>(self, part: &FileReading<T>) -> bool {
        if part.is_new(self.now) {
            return false;
        }
        let stays = self.changed.is_some_and(|changed| part.is_unchanged(changed));
        !stays || self.turn.is_some_and(|turn| part.is_due(turn, self.pid, self.now))
    }

    /// Reads a file of a process if the conditions require a new reading. Returns `true` if the file was read.
    fn bring<T>(self, part: &mut FileReading<T>, read: impl FnOnce() -> Result<Option<T>, NoValue>) -> bool {
        let must_read = self.must_read(part);
        if must_read {
            let read = read().and_then(|read| read.ok_or_else(gone));
            part.set(read, self.now);
        }
        must_read
    }
}

/// Replaces the data of a process's threads by newly read data. A thread that ends meanwhile is omitted.
fn read_threads(
    reader: &mut ProcDirReader,
    (pid, tids): (u32, &[u32]),
    threads: &mut Vec<Thread>,
    now: CollectionTime,
    pass: &mut Collection,
) {
    let mut before = std::mem::take(threads).into_iter().peekable();
    for tid in tids {
        // Both lists are ascending: threads that are skipped have ended.
        while before.next_if(|thread| thread.tid < *tid).is_some() {}
        let known = before.next_if(|thread| thread.tid == *tid);
        let path = (pid, Some(*tid));
        let Some(stat) = reader.read(path, "stat", pass, Stat::parse).transpose() else { continue };
        let schedstat = reader.read(path, "schedstat", pass, SchedStat::parse);
        let mut thread = known.unwrap_or_else(|| Thread::new(*tid));
        thread.store(stat, schedstat.and_then(|read| read.ok_or_else(gone)), now);
        threads.push(thread);
    }
}

/// Parses the text of `/proc/PID/io`.
pub(super) fn io(text: &[u8]) -> Result<LineValues<7>, TextError> {
    let Io { rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes } = Io::parse(text)?;
    Ok([rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes].into())
}

fn status(text: &[u8]) -> Result<LineValues<7>, TextError> {
    let Status {
        uid,
        vm_peak,
        vm_hwm,
        rss_anon,
        vm_swap,
        voluntary_ctxt_switches,
        nonvoluntary_ctxt_switches,
    } = Status::parse(text)?;
    Ok([uid, vm_peak, vm_hwm, rss_anon, vm_swap, voluntary_ctxt_switches, nonvoluntary_ctxt_switches].into())
}

fn smaps_rollup(text: &[u8]) -> Result<LineValues<1>, TextError> {
    SmapsRollup::parse(text).map(|rollup| [rollup.pss].into())
}
