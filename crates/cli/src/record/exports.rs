//! Thread that exports recorded samples as Parquet, so that no sample waits for an export.

use std::path::Path;
use std::time::Duration;

use super::counters::RecorderCounters;
use crate::exit::Failure;

#[cfg(feature = "parquet")]
pub use with_parquet::Exports;

/// Exports of a recording, in a build without Parquet: there are none.
#[cfg(not(feature = "parquet"))]
pub struct Exports;

#[cfg(not(feature = "parquet"))]
impl Exports {
    /// Fails, because this build cannot write Parquet files.
    pub fn prepare(_: &Path) -> Result<Self, Failure> {
        Err(crate::log_export::without_parquet())
    }

    pub fn start(&mut self, _: &Path, _: Duration, _: RecorderCounters) {}

    pub fn cpu(&self) -> Duration {
        Duration::ZERO
    }

    pub fn finish(&mut self) {}
}

#[cfg(feature = "parquet")]
mod with_parquet {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::sync::{Arc, OnceLock};

    use perfset::Window;
    use perfset::log::Logs;
    use perfset::output::text::name_of;
    use perfset_parquet::{ExportOptions, ExportRoot, export};

    use super::super::control::say;
    use super::*;
    use crate::log_export::export_root;

    /// Memory of exported rows that are not written yet, in bytes: a recorder is small.
    const MEMORY: usize = 32 << 20;
    /// Period of the recorder's exports in seconds: a file of a counterset has an hour.
    const HOUR: u64 = 3_600;
    /// Range of seconds after the full hour over which hosts spread their exports, so that an object store does not
    /// receive all exports at once.
    const SPREAD: u64 = 600;
    /// Maximum time that the end of the recorder waits for the last export.
    const LAST: Duration = Duration::from_secs(60);
    /// Times of exports in a recorder, unless a test sets others.
    const TIMES: ExportTimes =
        ExportTimes { first: Duration::from_secs(10), retry: Duration::from_secs(300), every: None };

    /// Times to wait between the exports of a recording.
    #[derive(Clone, Copy, Debug)]
    struct ExportTimes {
        /// Time until a recorder's first export, which has the samples that an ended recorder left.
        first: Duration,
        /// Time after which a failed export is tried again.
        retry: Duration,
        /// Time between two exports; `None` is until soon after the next full hour.
        every: Option<Duration>,
    }

    /// Exports of a recording while the recorder writes it.
    pub struct Exports {
        root: ExportRoot,
        name: String,
        running: Option<RunningExports>,
    }

    struct RunningExports {
        /// Sender that is dropped to request the last export.
        stop: Sender<()>,
        ended: Receiver<()>,
        cpu: Arc<ThreadCpu>,
    }

    impl Exports {
        /// Checks the directory or address that exports of a recording are written to.
        pub fn prepare(root: &Path) -> Result<Self, Failure> {
            let name = name_of(root);
            Ok(Self { root: export_root(root)?, name, running: None })
        }

        /// Starts the thread that exports a recording, whose slowest counterset has this interval.
        pub fn start(&mut self, folder: &Path, slowest: Duration, counters: RecorderCounters) {
            self.start_at(TIMES, folder, slowest, counters);
        }

        fn start_at(
            &mut self,
            times: ExportTimes,
            folder: &Path,
            slowest: Duration,
            counters: RecorderCounters,
        ) {
            let (stop, stopped) = channel();
            let (ends, ended) = channel::<()>();
            let cpu = Arc::new(ThreadCpu::default());
            let mut thread = ExportThread {
                folder: folder.to_owned(),
                root: self.root.clone(),
                name: self.name.clone(),
                overlap: slowest.saturating_mul(3).max(Duration::from_secs(2 * HOUR)),
                exported_to: None,
                counters,
                cpu: Arc::clone(&cpu),
                is_warned: false,
            };
            std::thread::spawn(move || {
                thread.cpu.begin();
                thread.run(times, &stopped);
                drop(ends);
            });
            self.running = Some(RunningExports { stop, ended, cpu });
        }

        /// Returns the CPU time of the recorder's exports so far.
        pub fn cpu(&self) -> Duration {
            self.running.as_ref().map_or(Duration::ZERO, |running| running.cpu.spent())
        }

        /// Requests the export of the last samples, and waits a limited time until they are exported.
        pub fn finish(&mut self) {
            let Some(RunningExports { stop, ended, .. }) = self.running.take() else { return };
            drop(stop);
            if ended.recv_timeout(LAST) == Err(RecvTimeoutError::Timeout) {
                let seconds = LAST.as_secs();
                say(&format!(
                    "warning: the last export did not end within {seconds} s; the next one goes on from there"
                ));
            }
        }
    }

    /// State of the thread that exports a recording.
    struct ExportThread {
        folder: PathBuf,
        root: ExportRoot,
        /// Root of the exported files, as the user wrote it.
        name: String,
        /// Length of the time before the exported samples that is read too, so that each sample has its previous one.
        overlap: Duration,
        /// Time of the last exported sample, in 100 ns since 1601 UTC.
        exported_to: Option<i64>,
        counters: RecorderCounters,
        cpu: Arc<ThreadCpu>,
        /// `true` if the user was told that exports fail, until one succeeds again.
        is_warned: bool,
    }

    impl ExportThread {
        fn run(&mut self, times: ExportTimes, stopped: &Receiver<()>) {
            let mut wait = times.first;
            loop {
                let is_last = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
                let has_failed = self.export(is_last);
                if is_last {
                    return;
                }
                wait = if has_failed {
                    times.retry
                } else {
                    times.every.unwrap_or_else(|| until_next_hour(&self.folder))
                };
            }
        }

        /// Exports the samples that are new since the last export, and returns `true` if that failed. The user hears
        /// of the first failure in a row, and of the recorder's last export.
        fn export(&mut self, is_last: bool) -> bool {
            let exported = self.export_new();
            self.cpu.update();
            match exported {
                Ok(()) => {
                    if std::mem::take(&mut self.is_warned) {
                        say(&format!("exports to {} work again", self.name));
                    }
                    false
                }
                Err(error) => {
                    self.counters.export_failed();
                    let is_known = std::mem::replace(&mut self.is_warned, true);
                    if is_last {
                        say(&format!(
                            "warning: the last export to {} fails: {error}; \
                             the next recorder of this directory exports what is missing",
                            self.name
                        ));
                    } else if !is_known {
                        say(&format!(
                            "warning: the export to {} fails, and is tried again: {error}",
                            self.name
                        ));
                    }
                    true
                }
            }
        }

        fn export_new(&mut self) -> Result<(), String> {
            let logs = Logs::open(&[&self.folder]).map_err(|error| error.error.to_string())?;
            let last = logs.recording().and_then(|recording| recording.times().last());
            let overlap = i64::try_from(self.overlap.as_nanos() / 100).unwrap_or(i64::MAX);
            let begin = self.exported_to.map(|time| time.saturating_sub(overlap));
            let logs = logs.within(Window { begin, end: None });
            let options = ExportOptions::default().memory(MEMORY);
            let exported = export(&logs, self.root.clone(), options, || self.cpu.update());
            exported.map_err(|error| error.to_string())?;
            self.exported_to = last.max(self.exported_to);
            Ok(())
        }
    }

    /// Returns the time until the next export: after the full hour, at a time that depends on the recording's name.
    fn until_next_hour(folder: &Path) -> Duration {
        const SECOND: i64 = 10_000_000;
        let name = folder.file_name().unwrap_or_default().as_encoded_bytes();
        let host = perfset::own_name();
        // FNV-1a
        let hash = host.bytes().chain(name.iter().copied()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let now = u64::try_from(perfset::now().utc_100ns().div_euclid(SECOND)).unwrap_or(0);
        Duration::from_secs(wait_seconds(now, hash % SPREAD))
    }

    /// Returns the seconds from `now` until `after` seconds after a full hour, or after the next one if the first is
    /// near.
    fn wait_seconds(now: u64, after: u64) -> u64 {
        let within = now.wrapping_sub(after) % HOUR;
        let left = HOUR.saturating_sub(within);
        if left < HOUR / 6 { left.saturating_add(HOUR) } else { left }
    }

    /// CPU time of the exporting thread, which does not count against the recorder's budget.
    #[derive(Default)]
    struct ThreadCpu {
        /// CPU time of the exporting thread, in ns, as this thread last read it.
        told: AtomicU64,
        /// File from which the kernel's CPU time of the exporting thread is read.
        file: OnceLock<PathBuf>,
    }

    impl ThreadCpu {
        /// Stores the exporting thread as the one whose CPU time is counted apart, and lowers its priority below that
        /// of other threads.
        fn begin(&self) {
            #[cfg(target_os = "linux")]
            {
                /// Lowest scheduling priority of a thread, as nice value.
                const LOWEST: i32 = 19;
                let thread = rustix::thread::gettid();
                // With the priority of the recorder, exports are as right.
                let _ = rustix::process::setpriority_process(Some(thread), LOWEST);
                let _ = self
                    .file
                    .set(PathBuf::from(format!("/proc/self/task/{}/schedstat", thread.as_raw_nonzero())));
            }
        }

        fn update(&self) {
            #[cfg(target_os = "linux")]
            {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
                let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
                let ns = seconds
                    .saturating_mul(1_000_000_000)
                    .saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0));
                self.told.fetch_max(ns, Relaxed);
            }
        }

        /// Returns the CPU time of the exporting thread so far. The kernel's own is newer, while the thread
        /// compresses or uploads.
        fn spent(&self) -> Duration {
            let text =
                self.file.get().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
            if let Some(ns) = text.split_whitespace().next().and_then(|ns| ns.parse().ok()) {
                self.told.fetch_max(ns, Relaxed);
            }
            Duration::from_nanos(self.told.load(Relaxed))
        }
    }

    #[cfg(test)]
    mod tests {
        use std::time::Instant;

        use perfset::log::recording::{
            RecordingAbout, RecordingWriter, TableDefinition, TickPart, WriterOptions,
        };

        use super::*;

        #[test]
        fn exports_are_soon_after_the_hour() {
            for (now, after, want) in [
                (0, 0, 3_600),
                (1, 0, 3_599),
                (3_000, 0, 600),
                (3_001, 0, 4_199),
                (2_999, 0, 601),
                (7_200, 300, 3_900),
                (7_600, 300, 3_500),
            ] {
                assert_eq!(wait_seconds(now, after), want, "{now} {after}");
            }
        }

        /// Records samples of this machine's memory into a directory, for a test.
        fn record(writer: &mut RecordingWriter, table: usize, query: &mut perfset::Query) {
            let mut snapshot = perfset::Snapshot::default();
            query.collect(&mut snapshot).unwrap();
            let part = TickPart { table, snapshot: &snapshot, entry: 0 };
            writer.tick(snapshot.clocks(), &[part]).unwrap();
        }

        fn files(root: &Path) -> usize {
            let Ok(entries) = root.read_dir() else { return 0 };
            let paths = entries.flatten().map(|entry| entry.path());
            let is_file = |path: &Path| path.extension().is_some_and(|ending| ending == "parquet");
            paths.map(|path| if path.is_dir() { files(&path) } else { usize::from(is_file(&path)) }).sum()
        }

        fn wait(what: &str, mut is_done: impl FnMut() -> bool) {
            let begin = Instant::now();
            while !is_done() {
                assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
                std::thread::sleep(Duration::from_millis(5));
            }
        }

        #[test]
        fn failed_exports_are_tried_again_and_the_last_one_has_the_rest() {
            let folder = std::env::temp_dir().join(format!("perfset-exports-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            let (recording, lake) = (folder.join("rec"), folder.join("lake"));
            let machine = perfset::local();
            let set = Arc::clone(&machine.counterset(&perfset::catalogue::memory::GUID).unwrap());
            let mut query = machine.query();
            let columns: Vec<usize> = (0..set.counters.len()).collect();
            assert!(query.add(&perfset::Entry::all(set.guid)).is_success());
            let options = WriterOptions::default().sync(None);
            let about = RecordingAbout::default().with(RecordingAbout::RUN, "run1");
            let mut writer = RecordingWriter::create(&recording, &perfset::now(), about, options).unwrap();
            let table = TableDefinition { counterset: set, columns, interval_ms: 1_000 };
            let table = writer.add_table(table).unwrap();
            record(&mut writer, table, &mut query);
            // A file is where the directory would be.
            std::fs::write(&lake, "").unwrap();
            let mut exports = Exports::prepare(&lake).unwrap();
            let soon = Duration::from_millis(20);
            let times = ExportTimes { first: soon, retry: soon, every: Some(soon) };
            let counters = RecorderCounters::publish(&recording);
            exports.start_at(times, &recording, Duration::from_secs(1), counters);
            std::thread::sleep(soon * 3);
            std::fs::remove_file(&lake).unwrap();
            wait("the export is tried again", || files(&lake) == 1);
            record(&mut writer, table, &mut query);
            wait("new samples are exported", || files(&lake) == 2);
            assert!(exports.cpu() > Duration::ZERO || !cfg!(target_os = "linux"));
            record(&mut writer, table, &mut query);
            exports.finish();
            assert_eq!(files(&lake), 3);
            let logs = Logs::open(&[&recording]).unwrap();
            let again = export(&logs, lake.clone(), ExportOptions::default(), || {}).unwrap();
            assert_eq!((again.rows, again.samples), (0, 3));
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
