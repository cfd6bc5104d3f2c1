//! Values for single requests: those of the last sample, or of a separate reading.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use perfset::output::Record;
use perfset::path::{CounterPath, PathQuery, PathValue};
use perfset::{CostClass, NoValue};
use serde::Serialize;
use tokio::sync::oneshot;

use super::feed::is_hidden;
use super::past::has_no_past;
use super::{ANSWER_LEN_MOST, Answer, Sampler, on_this_machine};
use crate::answer::{ApiError, to_json};
use crate::unread::UnreadBytes;

/// Maximum number of separate readings for single requests that are in progress.
const READINGS_MOST: usize = 32;

/// Reading of values for waiting clients that needs a second sample.
pub(super) struct PendingReading {
    paths: Vec<CounterPath>,
    query: PathQuery,
    pub due: Instant,
    asked_by: Vec<oneshot::Sender<Answer>>,
}

impl Sampler {
    /// Responds with the values of paths: from a log, from the last sample if it has all of them, or from a separate
    /// reading.
    pub(super) fn read(
        &mut self,
        paths: Vec<CounterPath>,
        at: Option<&str>,
        answer: oneshot::Sender<Answer>,
    ) {
        if let Some(past) = &self.past {
            return drop(answer.send(past.values(&paths, at, &self.unread))); // who asked may be gone
        }
        if let Err(problem) = has_no_past(at) {
            return drop(answer.send(Err(problem)));
        }
        if let Some(shared) = self.shared_values(&paths) {
            let _ = answer.send(shared); // who asked may be gone
            return;
        }
        // Equal requests share one reading, so that many clients cost no more than one.
        if let Some(reading) = self.readings.iter_mut().find(|reading| reading.paths == paths) {
            reading.asked_by.push(answer);
            return;
        }
        match self.begin_reading(paths) {
            Ok((reading, false)) => {
                drop(answer.send(records(&reading.query, &reading.paths, &self.unread)));
            }
            Ok((mut reading, true)) => {
                reading.asked_by.push(answer);
                self.readings.push(reading);
            }
            Err(problem) => drop(answer.send(Err(problem))),
        }
    }

    /// Takes the first reading of paths. Returns it, and `true` if a second one is needed.
    fn begin_reading(&mut self, paths: Vec<CounterPath>) -> Result<(PendingReading, bool), ApiError> {
        if self.readings.len() >= READINGS_MOST {
            return Err(ApiError::busy());
        }
        let mut query = PathQuery::open(&mut self.machine)?;
        query.leave_out_above(CostClass::Moderate);
        for path in &paths {
            on_this_machine(path)?;
            query.add(&mut self.machine, path)?;
        }
        query.collect()?;
        let needs_two = query.values().iter().any(|v| v.value.counter.counter_type.needs_two_samples());
        // Rates need two readings. A second apart they are exact enough, and a client waits no longer.
        let due = Instant::now().checked_add(Duration::from_secs(1).min(self.interval));
        Ok((
            PendingReading { paths, query, due: due.unwrap_or_else(Instant::now), asked_by: Vec::new() },
            needs_two,
        ))
    }

    pub(super) fn finish_readings(&mut self, now: Instant) {
        let (due, waiting) =
            std::mem::take(&mut self.readings).into_iter().partition(|reading| reading.due <= now);
        self.readings = waiting;
        let due: Vec<PendingReading> = due;
        for mut reading in due {
            let collected = reading.query.collect().map_err(ApiError::from);
            let text = collected.and_then(|_| records(&reading.query, &reading.paths, &self.unread));
            for asked in reading.asked_by {
                let _ = asked.send(text.clone()); // who asked may be gone
            }
        }
    }

    /// Returns the values of these paths in the last sample; `None` if a path is not in it, or has had only one
    /// reading.
    fn shared_values(&self, paths: &[CounterPath]) -> Option<Answer> {
        let mut positions = Vec::new();
        for path in paths {
            positions.push(self.watches.iter().find(|watch| watch.path == *path)?.position.get());
        }
        let values = self.query.values();
        // A path that was added after the last sample has no value in it.
        let is_there = |position: &usize| {
            let mut of_path = values.iter().filter(|v| v.path == *position).peekable();
            of_path.peek().is_some()
                && of_path.all(|v| !matches!(v.value.value, Err(NoValue::NeedsTwoSamples)))
        };
        if !positions.iter().all(is_there) {
            return None;
        }
        // In the order of the request.
        let of_path = |(position, path): (&usize, &CounterPath)| {
            values.iter().filter(|v| v.path == *position && !is_hidden(path, v)).collect::<Vec<_>>()
        };
        let asked: Vec<_> = positions.iter().zip(paths).flat_map(of_path).collect();
        Some(answer_of(&self.query, &asked, &self.unread))
    }
}

/// Returns the shown values of a query as JSON.
fn records(query: &PathQuery, paths: &[CounterPath], unread: &UnreadBytes) -> Answer {
    let values = query.values();
    let shown = values.iter().filter(|v| paths.get(v.path).is_some_and(|path| !is_hidden(path, v)));
    answer_of(query, &shown.collect::<Vec<_>>(), unread)
}

/// Returns values of the last sample as JSON.
fn answer_of(query: &PathQuery, values: &[&PathValue<'_>], unread: &UnreadBytes) -> Answer {
    #[derive(Serialize)]
    struct ValuesJson<'a> {
        values: Vec<Record<'a>>,
    }
    if values.len() > ANSWER_LEN_MOST {
        let text = format!("these paths have {} values now, more than {ANSWER_LEN_MOST}", values.len());
        return Err(ApiError::new(StatusCode::BAD_REQUEST, text).hint("name instances or counters"));
    }
    let clocks = query.snapshot().clocks();
    unread.take(to_json(&ValuesJson { values: values.iter().map(|v| Record::new(clocks, v)).collect() }))
}
