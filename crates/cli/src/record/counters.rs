//! Counters of the recorder itself, which it publishes: `perfset get '\Perfset Recorder(*)\*'` shows them.

#[cfg(all(feature = "publish", target_os = "linux"))]
pub use published::RecorderCounters;
#[cfg(not(all(feature = "publish", target_os = "linux")))]
pub use unpublished::RecorderCounters;

#[cfg(all(feature = "publish", target_os = "linux"))]
mod published {
    use std::path::Path;
    use std::time::Duration;

    use perfset::publish::{AverageTimer, BusyTimer, Counter64, Counterset, Gauge, PublishedInstance};

    /// Recorder of `perfset record`: samples, bytes and times.
    #[derive(Counterset)]
    #[counterset(provider = "perfset record", name = "Perfset Recorder", instances = "multiple")]
    struct RecorderSet {
        /// Samples written, per second.
        #[counter(name = "Samples/sec", unit = "/s")]
        samples: Counter64,
        /// Bytes written into the journal, per second.
        #[counter(name = "Bytes Written/sec", unit = "By/s")]
        bytes: Counter64,
        /// CPU time of the recorder, in percent of one processor: collecting, writing and sealing.
        #[counter(name = "% Processor Time", unit = "%")]
        cpu: BusyTimer,
        /// Mean time of making a file of columns of a full journal.
        #[counter(name = "Average Seal Time", unit = "s")]
        seal: AverageTimer,
        /// Samples that could not be written, since the start.
        #[counter(name = "Lost Samples")]
        lost: Gauge,
        /// Samples that were left out because the sample before took too long, since the start.
        #[counter(name = "Late Samples")]
        late: Gauge,
        /// Countersets that are read less often than the user asked for, to keep the CPU budget.
        #[counter(name = "Slowed Countersets")]
        slowed: Gauge,
        /// Age of the oldest file in the directory.
        #[counter(name = "Oldest File Age", unit = "s")]
        age: Gauge,
        /// Exports of `--export` that failed and are tried again, since the start.
        #[counter(name = "Failed Exports")]
        failed_exports: Gauge,
    }

    /// Published counters of one running recorder.
    #[derive(Clone)]
    pub struct RecorderCounters(PublishedInstance<RecorderSet>);

    impl RecorderCounters {
        /// Publishes the counters of the recorder, in an instance named like the directory or file that it writes.
        pub fn publish(path: &Path) -> Self {
            Self(RecorderSet::instance(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()))
        }

        /// Adds written samples and bytes to the published counters of the recorder.
        pub fn written(&self, samples: u64, bytes: u64) {
            self.0.samples.add(samples);
            self.0.bytes.add(bytes);
        }

        /// Adds CPU time to the published counter of the recorder.
        pub fn used(&self, cpu: Duration) {
            self.0.cpu.record(cpu);
        }

        /// Adds a sealed file of a recording, and the time to seal it, to the published counters.
        pub fn sealed(&self, took: Duration) {
            self.0.seal.record(took);
        }

        /// Counts a sample that could not be written, in the recorder's published counter.
        pub fn lost(&self) {
            self.0.lost.add(1);
        }

        /// Publishes the number of samples that the recorder left out.
        pub fn set_late(&self, samples: u64) {
            self.0.late.set(samples);
        }

        /// Publishes the number of countersets that the recorder reads less often to keep its CPU budget.
        pub fn set_slowed(&self, countersets: u64) {
            self.0.slowed.set(countersets);
        }

        /// Publishes the age of the oldest file of the recording.
        pub fn set_age(&self, age: Duration) {
            self.0.age.set(age.as_secs());
        }

        /// Adds a failed export of the recording to the published counter.
        #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only exports to Parquet fail"))]
        pub fn export_failed(&self) {
            self.0.failed_exports.add(1);
        }
    }
}

#[cfg(not(all(feature = "publish", target_os = "linux")))]
mod unpublished {
    use std::path::Path;
    use std::time::Duration;

    /// Counters of the recorder that are not published, because this build has no shared memory.
    #[derive(Clone)]
    pub struct RecorderCounters;

    impl RecorderCounters {
        pub fn publish(_: &Path) -> Self {
            Self
        }

        pub fn written(&self, _: u64, _: u64) {}

        pub fn used(&self, _: Duration) {}

        pub fn sealed(&self, _: Duration) {}

        pub fn lost(&self) {}

        pub fn set_late(&self, _: u64) {}

        pub fn set_slowed(&self, _: u64) {}

        pub fn set_age(&self, _: Duration) {}

        #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only exports to Parquet fail"))]
        pub fn export_failed(&self) {}
    }
}
