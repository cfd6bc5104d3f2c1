//! Checks that BPF task iterators return the same data as `/proc`.

use perfset_bpf::{Records, TaskIterError};

use super::super::files::ProcFiles;
use super::super::method::ProcessMethod;
use super::super::table::{CollectionTime, FileSet, ProcessEntry, ProcessTable, Thread};
use super::take::{self, RecordDecoder};
use super::{Fallback, TaskIterCollector, rules, said};
use crate::clock::elapsed_ns;
use crate::provider::Collection;

/// Name and value of a number that both a task iterator and a file report of a process.
type Named = (&'static str, Option<u64>);

/// Reader of this process's own files, for comparison with its records from task iterators.
struct SelfCheck {
    files: ProcFiles,
    pass: Collection,
    now: CollectionTime,
}

impl SelfCheck {
    fn read(&mut self, parts: FileSet) -> ProcessEntry {
        let mut process = ProcessEntry::new(std::process::id());
        self.files.read_stat(&mut process, self.now, &mut self.pass);
        self.files.read_parts(parts, &mut process, self.now, &mut self.pass);
        process
    }
}

impl TaskIterCollector {
    /// Maximum number of processes that a task iterator may miss, by chance or because they are hidden on purpose.
    const MOST_UNMET: usize = 16;

    /// Compares the records that task iterators return for this process with its files read before and after. Checks
    /// each process iterator from index `from` on, and the thread iterator; also checks that iterators may still be
    /// used. Notes the processes that they do not return.
    ///
    /// # Errors
    /// If an iterator returns other data, or too few processes.
    pub(super) fn check(&mut self, from: usize) -> Result<(), Fallback> {
        /// Maximum number of attempts to compare a task iterator with `/proc`: this process may execute something in
        /// between, or its record may be inconsistent. Threads that start and end all the time change levels such as
        /// the number of threads during most attempts, so three were too few. A wrong column differs in all of them.
        const TIMES: u32 = 16;
        // Checked again each time, because `/proc` can be mounted with `hidepid` while this process runs.
        rules::may_show_all(&self.roots).map_err(|why| Fallback::Permanent(why.to_owned()))?;
        let mut table = ProcessTable::default();
        let pass = Collection::enumeration(elapsed_ns());
        table.start(&pass);
        let mut own = SelfCheck {
            files: ProcFiles::new(&self.roots, true, ProcessMethod::Proc),
            now: table.moment(&pass),
            pass,
        };
        let differs = |what| {
            let why = format!("BPF unavailable: its data of this process differ from /proc: {what}");
            Err(Fallback::Permanent(why))
        };
        for at in from..=self.walks.len() {
            let mut found = None;
            for _ in 0..TIMES {
                found = if at < self.walks.len() {
                    self.differs(at, &mut own)?
                } else {
                    self.threads_differ(&mut own)?
                };
                if found.is_none() {
                    break;
                }
            }
            if let Some(what) = found {
                return differs(what);
            }
        }
        Ok(())
    }

    /// Returns the first difference between a process iterator's record of this process and `/proc`, if any.
    fn differs(&mut self, at: usize, own: &mut SelfCheck) -> Result<Option<&'static str>, Fallback> {
        let Some((parts, walk)) = self.walks.get_mut(at) else { return Ok(None) };
        let parts = *parts;
        // Files, iterator, files: what the iterator returns must lie between both readings.
        let (listed, before) = (own.files.pids(&mut own.pass), own.read(parts));
        let Some(records) = run(walk)? else { return Ok(None) };
        let lacks = || Fallback::Permanent("BPF unavailable: columns are missing".to_owned());
        let taker = RecordDecoder::new(&records, parts, self.units).ok_or_else(lacks)?;
        let mut met: Vec<u32> = records.iter().map(|record| taker.pid(&record)).collect();
        let mut walked = ProcessEntry::new(before.pid);
        let ours = records.iter().find(|record| taker.pid(record) == before.pid);
        let is_torn = ours.as_ref().is_some_and(|record| taker.is_torn(record));
        if let Some(record) = ours.filter(|_| !is_torn) {
            taker.take(&record, &mut walked, own.now, &mut own.pass, &mut own.files);
        }
        let (after, lasts) = (own.read(parts), own.files.pids(&mut own.pass));
        met.sort_unstable();
        // Listed before and after, so a process that began or ended meanwhile is not missed.
        let is_unmet = |pid: &u32| met.binary_search(pid).is_err() && lasts.binary_search(pid).is_ok();
        self.unmet = listed.into_iter().filter(is_unmet).collect();
        if self.unmet.len() > Self::MOST_UNMET {
            let (count, first) = (self.unmet.len(), self.unmet.first().copied().unwrap_or_default());
            return Err(Fallback::Permanent(format!(
                "BPF unavailable: {count} processes that /proc lists are missing, {first} among them"
            )));
        }
        if is_torn {
            return Ok(None);
        }
        if let Some(why) = [&before, &after].iter().find_map(|process| process.stat.get().err()) {
            return Err(Fallback::Temporary(format!("BPF unavailable: /proc/self/stat: {why}")));
        }
        if [before.name(), after.name()].iter().all(|name| *name != walked.name()) {
            return Ok(Some("name"));
        }
        // The start time never changes, so any difference is a fault of the iterator.
        if walked.birth() != before.birth() {
            return Ok(Some("start time"));
        }
        let [before, walked, after] = [&before, &walked, &after].map(|process| numbers(process, parts));
        Ok(differing(&before, &walked, &after))
    }

    /// Returns the first difference between the thread iterator's records of this process and `/proc`, if any.
    fn threads_differ(&mut self, own: &mut SelfCheck) -> Result<Option<&'static str>, Fallback> {
        let Some(walk) = &mut self.threads else { return Ok(None) };
        let before = own.read(FileSet::TASK);
        let Some(records) = run(walk)? else { return Ok(None) };
        let mut table = ProcessTable::default();
        table.processes.push(own.read(FileSet::NONE));
        take::threads(&records, self.units, &mut table, own.now);
        let after = own.read(FileSet::TASK);
        let walked = table.processes.first().map_or(&[][..], threads_of);
        for thread in threads_of(&before) {
            let of = |threads: &[Thread]| threads.iter().find(|other| other.tid == thread.tid).map(of_thread);
            let Some(last) = of(threads_of(&after)) else { continue };
            let Some(walked) = of(walked) else { return Ok(Some("threads")) };
            let differs = differing(&of_thread(thread), &walked, &last);
            if differs.is_some() {
                return Ok(differs);
            }
        }
        Ok(None)
    }
}

/// Runs a task iterator and returns its records; `None` if it has too little space, which is enlarged when the
/// iterator is used.
fn run(walk: &mut perfset_bpf::TaskIter) -> Result<Option<Records<'_>>, Fallback> {
    match walk.run() {
        Ok(records) => Ok(Some(records)),
        Err(TaskIterError::Full { .. }) => Ok(None),
        Err(error) => Err(said(&error)),
    }
}

fn threads_of(process: &ProcessEntry) -> &[Thread] {
    process.seldom.as_deref().and_then(|seldom| seldom.threads.get().ok()).map_or(&[], Vec::as_slice)
}

/// Returns the name of the first number of a task iterator that is not between the file's numbers before and after.
fn differing(before: &[Named], walked: &[Named], after: &[Named]) -> Option<&'static str> {
    let mut all = before.iter().zip(walked).zip(after);
    let differing = all.find(|((before, walked), after)| match (before.1, walked.1, after.1) {
        (Some(before), Some(walked), Some(after)) => {
            // Levels may also fall between both readings.
            !(before.min(after)..=before.max(after)).contains(&walked)
        }
        _ => false, // refused, or not asked
    })?;
    Some(differing.0.0.0)
}

/// Returns the numbers of a process that task iterators and files both provide. Times are left out, because their
/// division into user and kernel time may differ.
fn numbers(process: &ProcessEntry, parts: FileSet) -> Vec<Named> {
    let mut all = Vec::new();
    if let Some(stat) = process.stat.get().ok().filter(|_| parts.has(FileSet::STAT)) {
        all.extend([
            ("minor faults", Some(stat.minflt)),
            ("major faults", Some(stat.majflt)),
            ("parent", Some(stat.ppid.into())),
            ("number of threads", Some(stat.num_threads.into())),
            // Shifted by 128: numbers are compared without a sign, in the same order.
            ("priority", Some(stat.nice.abs_diff(i8::MIN).into())),
            ("policy", stat.policy.map(u64::from)),
            ("virtual memory", Some(stat.vsize)),
            ("session", Some(stat.session.into()).filter(|_| parts.has(FileSet::RARE))),
        ]);
    }
    if let Some(statm) = process.statm.get().ok().filter(|_| parts.has(FileSet::STATM)) {
        all.extend([("resident memory", Some(statm.resident)), ("shared memory", Some(statm.shared))]);
    }
    if parts.has(FileSet::IO) {
        let io = process.io.get().ok();
        all.extend((0..7).map(|line| ("I/O", io.and_then(|io| io.get(line).ok()?))));
    }
    let seldom = process.seldom.as_deref();
    if parts.has(FileSet::STATUS) {
        let status = seldom.and_then(|seldom| seldom.status.get().ok());
        all.extend((0..7).map(|line| ("lines of status", status.and_then(|status| status.get(line).ok()?))));
    }
    if parts.has(FileSet::SCHEDSTAT) {
        let waits = seldom.and_then(|seldom| seldom.schedstat.get().ok());
        all.extend([
            ("wait time", waits.map(|waits| waits.wait_ns)),
            ("timeslices", waits.map(|waits| waits.timeslices)),
        ]);
    }
    all
}

fn of_thread(thread: &Thread) -> Vec<Named> {
    let (stat, waits) = (thread.stat.as_ref().ok(), thread.schedstat.as_ref().ok());
    vec![
        ("start time of a thread", stat.map(|stat| stat.starttime)),
        ("priority of a thread", stat.map(|stat| stat.nice.abs_diff(i8::MIN).into())),
        ("policy of a thread", stat.and_then(|stat| stat.policy).map(u64::from)),
        ("run time of a thread", waits.map(|waits| waits.run_ns)),
        ("wait time of a thread", waits.map(|waits| waits.wait_ns)),
        ("timeslices of a thread", waits.map(|waits| waits.timeslices)),
    ]
}
