//! What programs are asked around a reading: their control callbacks, and values that counters refer to.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use perfset_core::v2::identity;
use perfset_core::{CounterFilter, CounterId, Guid, InstanceIdFilter, NoValue, RawValue, Status};
use perfset_engine::{Change, Entry};

use super::file::ProgramFile;
use crate::callback::{Answer, AskError, Request, What, ask};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a program that gave none is left alone.
const PAUSE: Duration = Duration::from_secs(10);

/// A program, as somebody who asks it.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    silent_until: Option<Instant>,
}

/// What an answer had to say of values by reference; `None`: nothing, or too late.
pub(crate) type Referenced = Option<HashMap<(u64, CounterId), Option<RawValue>>>;

impl Asking {
    /// About the machine of that name: what is told before and after its values are read, and before instances are
    /// listed.
    pub fn about_machine(&mut self, file: &ProgramFile, what: What, machine: &[u16]) -> Status {
        let about: Vec<u8> = machine.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()).collect();
        self.ask(file, what, &about).map_or(Status::ERROR_SUCCESS, |answer| answer.status)
    }

    /// About an entry of a query, once for each of its counters. The first refusal is the answer.
    pub fn about_entry(
        &mut self,
        file: &ProgramFile,
        change: Change,
        entry: &Entry,
        machine: &[u16],
    ) -> Status {
        if !file.has_socket() {
            return Status::ERROR_SUCCESS;
        }
        let what = match change {
            Change::Added => What::AddCounter,
            Change::Removed => What::RemoveCounter,
        };
        let counters = match entry.counters.ids() {
            None => vec![CounterFilter::All],
            Some(ids) => ids.iter().map(|id| CounterFilter::One(*id)).collect(),
        };
        let name = entry.instance.as_ref().map(|name| name.units());
        let mut answer = Status::ERROR_SUCCESS;
        for counter in counters {
            let mut about = Vec::new();
            identity::write(&mut about, entry.counterset, counter, entry.instance_id, machine, name);
            let status = self.ask(file, what, &about).map_or(Status::ERROR_SUCCESS, |answer| answer.status);
            if answer.is_success() {
                answer = status;
            }
        }
        answer
    }

    /// The values that counters of a counterset refer to, by sequence word and counter.
    pub fn values(&mut self, file: &ProgramFile, counterset: Guid, machine: &[u16]) -> Referenced {
        if !file.has_socket() {
            return Some(HashMap::new());
        }
        let mut about = Vec::new();
        let all = InstanceIdFilter::Any;
        let any: Vec<u16> = "*".encode_utf16().collect();
        identity::write(&mut about, counterset, CounterFilter::All, all, machine, Some(&any));
        let answer = self.ask(file, What::Values, &about).filter(|answer| answer.status.is_success())?;
        Some(answer.values.iter().map(|value| ((value.sequence, value.counter), value.value)).collect())
    }

    fn ask(&mut self, file: &ProgramFile, what: What, about: &[u8]) -> Option<Answer> {
        if self.silent_until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let request = Request::new(what, about).ok()?;
        let socket = file.path.with_extension(crate::callback::EXTENSION);
        match ask(&socket, file.user, &request, PATIENCE) {
            Ok(answer) => Some(answer),
            Err(AskError::TimedOut(_)) => {
                self.silent_until = Instant::now().checked_add(PAUSE);
                None
            }
            Err(_) => None, // it counts as if it had no callback
        }
    }
}

/// The value of a counter that refers to one, or why there is none.
pub(crate) fn value(all: &Referenced, sequence: u64, counter: CounterId) -> Result<RawValue, NoValue> {
    match all {
        None => Err(NoValue::Late),
        Some(all) => match all.get(&(sequence, counter)) {
            Some(Some(value)) => Ok(*value),
            Some(None) => Err(NoValue::Status(Status::ERROR_NO_DATA)),
            None => Err(NoValue::Unavailable("the program did not say it".into())),
        },
    }
}

#[cfg(test)]
mod tests;
