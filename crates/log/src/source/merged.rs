//! Merged logs: their current sample, and the machines that are played from it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use perfset_core::Guid;
use perfset_core::clock::ClockReading;
use perfset_engine::{Catalogue, CollectRequest, Rows, SampleForm, SourceError};

use super::OpenError;
use super::copying::Forms;
use super::log_reader::{LogEntry, LogReader};
use super::logged_machine::LoggedMachine;
use super::overlap::Overlaps;
use super::selection::Selection;
use crate::damage::Damages;
use crate::pick::Pick;

/// Index of the machine in merged logs that are played for one machine only.
pub(super) const ONLY: usize = 0;

/// Merged logs, read sample by sample for one or several machines.
///
/// The logs are read once for all machines, because a log can have a column of each of thousands of machines.
pub(super) struct MergedLogs {
    selection: Arc<Selection>,
    readers: Vec<LogReader>,
    forms: Forms,
    /// Counter list of each log reader that the machines have registered.
    lists: Vec<Arc<[LogEntry]>>,
    /// Time at which the last played sample of the merged logs was due, and the number of samples skipped since.
    due: Option<(i64, u64)>,
    overlaps: Overlaps,
    machines: Vec<PlayedMachine>,
    /// Index of each machine of the merged logs, by its name in lower case.
    by_name: HashMap<String, usize>,
    time: i64,
    /// Number of samples of the merged logs that were played so far.
    steps: u64,
    /// Receiver of the damage found in each log, filled when these merged logs are dropped.
    damages: Arc<Mutex<Vec<Damages>>>,
}

/// Returns the clocks of a log sample at a time.
pub(super) fn clocks_at(time: i64) -> ClockReading {
    ClockReading::recorded(time)
}

/// Machine of merged logs, and the last step in which this machine took part.
struct PlayedMachine {
    logged: LoggedMachine,
    step: u64,
}

impl MergedLogs {
    /// Opens merged logs and registers the counters of some machines, given by their names and known countersets.
    pub fn open(
        selection: &Arc<Selection>,
        known: impl IntoIterator<Item = (Arc<str>, Arc<Catalogue>)>,
        damages: Arc<Mutex<Vec<Damages>>>,
    ) -> Result<Self, OpenError> {
        let open = |(number, input)| {
            let opened = LogReader::open((number, input), &selection.read, &selection.lists);
            opened.map_err(|error| OpenError { number, error })
        };
        let readers: Vec<LogReader> =
            selection.inputs.iter().enumerate().map(open).collect::<Result<_, _>>()?;
        let (mut machines, mut by_name) = (Vec::new(), HashMap::new());
        for (name, known) in known {
            // Names that differ only in case are one machine; the first spelling counts.
            by_name.entry(name.to_ascii_lowercase()).or_insert(machines.len());
            machines.push(PlayedMachine { logged: LoggedMachine::new(name, known), step: 0 });
        }
        let mut deck = Self {
            selection: Arc::clone(selection),
            lists: vec![[].into(); readers.len()],
            readers,
            forms: Forms::default(),
            due: None,
            overlaps: Overlaps::default(),
            machines,
            by_name,
            time: 0,
            steps: 0,
            damages,
        };
        // The lists of the samples ahead: no sample is current yet.
        for reader_index in 0..deck.readers.len() {
            let list = deck.readers.get_mut(reader_index).map(|reader| Arc::clone(&reader.ahead().list));
            deck.register(reader_index, &list.unwrap_or_default());
        }
        // The first block of an object describes its counters.
        deck.each_machine(|machine, readers| {
            machine.learn(readers, true);
            machine.publish(readers);
        });
        Ok(deck)
    }

    fn each_machine(&mut self, mut call: impl FnMut(&mut LoggedMachine, &mut [LogReader])) {
        for machine in &mut self.machines {
            call(&mut machine.logged, &mut self.readers);
        }
    }

    pub fn catalogue(&self, machine: usize) -> Arc<Catalogue> {
        self.machines.get(machine).map(|machine| machine.logged.catalogue()).unwrap_or_default()
    }

    /// Returns the UTC time of the merged logs' current sample.
    pub fn time(&self) -> i64 {
        self.time
    }

    /// Returns the clocks of the merged logs' current sample. Clocks recorded in the log are stored with its values.
    pub fn clocks(&self) -> ClockReading {
        clocks_at(self.time)
    }

    /// Returns `true` if a machine's instances of a counterset may differ between samples.
    pub fn comes_and_goes(&mut self, machine: usize, counterset: &Guid) -> bool {
        self.machines.get_mut(machine).is_some_and(|machine| machine.logged.comes_and_goes(counterset))
    }

    /// Returns `true` if all samples of a machine have the same instances, according to the counter lists.
    pub fn is_steady(&mut self, machine: usize) -> bool {
        self.machines.get_mut(machine).is_none_or(|machine| machine.logged.is_steady())
    }

    /// Returns `true` if a listed object of a machine has not appeared in any sample yet.
    pub fn is_any_unseen(&self, machine: usize) -> bool {
        self.machines.get(machine).is_some_and(|machine| machine.logged.is_any_unseen())
    }

    /// Advances a machine to the next sample in the played window. Returns `false` at the end.
    ///
    /// A machine that is behind the others continues at the current sample.
    pub fn step(&mut self, machine: usize) -> Result<bool, SourceError> {
        let Some(PlayedMachine { step, .. }) = self.machines.get(machine) else { return Ok(false) };
        if *step == self.steps {
            if !self.advance_to_chosen()? {
                return Ok(false);
            }
            self.steps = self.steps.saturating_add(1);
        }
        if let Some(machine) = self.machines.get_mut(machine) {
            machine.step = self.steps;
        }
        Ok(true)
    }

    /// Advances the merged logs to the next sample in the played window. Returns `false` at the end.
    fn advance_to_chosen(&mut self) -> Result<bool, SourceError> {
        loop {
            // The clock may have been set back: samples in the window may follow samples outside it.
            let Some(time) = self.readers.iter().filter_map(LogReader::next_time).min() else {
                return Ok(false);
            };
            self.advance(time)?;
            let is_other = |(reader, list): (&LogReader, &Arc<[LogEntry]>)| {
                reader.is_fresh && !Arc::ptr_eq(list, &reader.now.list)
            };
            // Also for samples that are not played: entries of later samples refer to this list.
            if self.readers.iter().zip(&self.lists).any(is_other) {
                self.register_anew();
            }
            if !self.selection.choice.window.contains(time) || !self.is_chosen(time) {
                continue;
            }
            self.each_machine(|machine, readers| {
                if machine.learn(readers, false) {
                    machine.publish(readers);
                }
            });
            self.time = time;
            return Ok(true);
        }
    }

    /// Advances all log readers whose next sample is at `time`, the next time of all logs. Log readers with other
    /// counters also advance if their next sample is at nearly the same time.
    fn advance(&mut self, time: i64) -> Result<(), SourceError> {
        let Self { readers, overlaps, selection, .. } = self;
        let mut near: Vec<(i64, usize)> = Vec::new();
        for (at, reader) in readers.iter_mut().enumerate() {
            let next = reader.next_time();
            reader.is_fresh = next == Some(time);
            if reader.is_fresh {
                reader.advance()?;
            } else if let Some(next) = next.filter(|next| next.saturating_sub(time) < selection.tolerance) {
                near.push((next, at));
            }
        }
        // In the order of time, because an earlier log that joins the sample can decide for a later one.
        near.sort_unstable();
        for (next, at) in near {
            let Some(reader) = readers.get(at) else { continue };
            let (list, has_begun) = (Arc::clone(reader.next_list()), reader.has_begun());
            // A log that continues another log is not beside it. Neither is a log whose sample is nearer to the other
            // log's next sample.
            let is_apart = |(other, reader): (usize, &LogReader)| {
                let of_next =
                    reader.next_time().map(|other| other.saturating_sub(time)).filter(|step| *step > 0);
                let is_nearer = of_next.is_some_and(|step| next.saturating_sub(time) > step / 2);
                let follows = !has_begun && reader.next_time().is_none();
                reader.is_fresh
                    && (follows || is_nearer || overlaps.is_any((at, &list), (other, &reader.now.list)))
            };
            if readers.iter().enumerate().any(is_apart) {
                continue;
            }
            if let Some(reader) = readers.get_mut(at) {
                reader.is_fresh = true;
                reader.advance()?;
            }
        }
        Ok(())
    }

    /// Returns `true` if the log sample at this time, within the window, is selected for playing.
    fn is_chosen(&mut self, time: i64) -> bool {
        // The first sample in the window starts the grid.
        let Some((due, passed)) = self.due else {
            self.due = Some((time, 0));
            return true;
        };
        let pick = self.selection.choice.pick;
        let is_chosen = match pick {
            Pick::All => true,
            Pick::Nth(n) => passed.saturating_add(1) >= n.get(),
            // A sample that comes slightly early belongs to its due time. After the clock was set back, the grid
            // starts again.
            Pick::Every(step) => {
                let early = self.selection.tolerance.min(step / 2);
                let next = due.saturating_add(step);
                time < due.saturating_sub(step) || time >= next.saturating_sub(early)
            }
        };
        self.due = Some(match (is_chosen, pick) {
            (false, _) => (due, passed.saturating_add(1)),
            (true, Pick::Every(step)) => {
                // Due times keep their grid unless one was missed.
                let next = due.saturating_add(step);
                (if time.abs_diff(next) < step.unsigned_abs() { next } else { time }, 0)
            }
            (true, _) => (time, 0),
        });
        is_chosen
    }

    /// Registers the new counter lists of log readers whose list changed.
    fn register_anew(&mut self) {
        for reader_index in 0..self.readers.len() {
            let now = self
                .readers
                .get(reader_index)
                .filter(|reader| reader.is_fresh)
                .map(|reader| Arc::clone(&reader.now.list));
            let changed =
                self.lists.get(reader_index).zip(now).filter(|(known, now)| !Arc::ptr_eq(known, now));
            if let Some((_, list)) = changed {
                // All machines forget the list: a new list may lack a machine that the old one had.
                self.each_machine(|machine, _| machine.forget(reader_index));
                self.register(reader_index, &list);
            }
        }
        self.each_machine(|machine, readers| {
            machine.learn(readers, false);
            machine.publish(readers);
        });
    }

    /// Registers the counter list of a log reader: each machine gets its own entries.
    fn register(&mut self, reader_index: usize, list: &Arc<[LogEntry]>) {
        let mut last: Option<(&str, Option<usize>)> = None;
        let mut own: Vec<(usize, usize)> = Vec::new();
        for (at, listed) in list.iter().enumerate() {
            let name = listed.path.machine.as_deref().unwrap_or_default();
            // Entries of one machine mostly follow each other, so its name is looked up once for all of them.
            let machine = match last {
                Some((last, machine)) if last == name => machine,
                _ => self.by_name.get(&name.to_ascii_lowercase()).copied(),
            };
            last = Some((name, machine));
            own.extend(machine.map(|machine| (machine, at)));
        }
        // A stable sort: the entries of each machine keep the order of the log.
        own.sort_by_key(|(machine, _)| *machine);
        for own in own.chunk_by(|(a, _), (b, _)| a == b) {
            let entries = own.iter().filter_map(|(_, at)| Some((*at, list.get(*at)?)));
            let machine = own.first().and_then(|(machine, _)| self.machines.get_mut(*machine));
            if let Some(machine) = machine {
                machine.logged.register(&mut self.readers, reader_index, entries);
            }
        }
        if let Some(known) = self.lists.get_mut(reader_index) {
            *known = Arc::clone(list);
        }
    }

    /// Returns the form of the merged logs' current sample, if it has one.
    ///
    /// Samples of several machines have none: each machine would compare the bytes of all of them, and meet the numbers
    /// that another one plays for a trial.
    pub fn form(&mut self) -> Option<SampleForm> {
        match &*self.machines {
            [_] => self.forms.form(&mut self.readers),
            _ => None,
        }
    }

    /// Plays the current log sample with consecutive numbers, or with its own numbers again; see
    /// [`Player::renumber`](perfset_engine::Player::renumber).
    pub fn renumber(&mut self, first: Option<u32>) -> bool {
        self.forms.renumber(&mut self.readers, first)
    }

    /// Passes on the bytes of the current log sample and the sample's clocks, if the sample has the form with that
    /// number.
    pub fn numbers(&mut self, form: u64, read: impl FnOnce(&[u8], &ClockReading)) {
        if let Some(bytes) = self.forms.bytes(&mut self.readers, form) {
            read(bytes, &clocks_at(self.time));
        }
    }

    /// Fills in a machine's values of a counterset in the current sample.
    pub fn collect(
        &mut self,
        machine: usize,
        want: &CollectRequest<'_>,
        rows: &mut Rows,
    ) -> Result<(), SourceError> {
        let Self { machines, readers, .. } = self;
        let unknown = || SourceError::UnknownCounterset(want.counterset.guid);
        machines.get_mut(machine).ok_or_else(unknown)?.logged.collect(readers, want, rows)
    }

    /// Fills in a machine's instances of a counterset in the current sample.
    pub fn instances(
        &mut self,
        machine: usize,
        counterset: &Guid,
        rows: &mut Rows,
    ) -> Result<(), SourceError> {
        let Self { machines, readers, .. } = self;
        let unknown = || SourceError::UnknownCounterset(*counterset);
        machines.get_mut(machine).ok_or_else(unknown)?.logged.instances(readers, counterset, rows)
    }
}

/// Stores the damage found in the logs, unless another reader of the same logs has found more.
impl Drop for MergedLogs {
    fn drop(&mut self) {
        let mut known = self.damages.lock().unwrap_or_else(PoisonError::into_inner);
        // Queries read different parts of the logs, so their results are not added up.
        let count = |damages: &[Damages]| damages.iter().map(Damages::count).sum::<u64>();
        let now: Vec<_> = self.readers.iter().map(LogReader::damages).collect();
        if known.is_empty() || count(&now) > count(&known) {
            *known = now;
        }
    }
}
