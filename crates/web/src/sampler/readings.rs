//! Readings of counter values for single requests: from the last sample, or by a separate collection.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use perfset::output::Record;
use perfset::path::{CounterPath, PathQuery, PathValue};
use perfset::{CostClass, NoValue};
use serde::Serialize;
use tokio::sync::oneshot;

use super::feed::is_hidden;
use super::past::has_no_past;
use super::table::{BoundTable, TableAsk, table_of};
use super::{ANSWER_LEN_MOST, Answer, Sampler, on_this_machine};
use crate::answer::{ApiError, to_json};
use crate::unread::UnreadBytes;

/// Maximum number of separate readings for single requests that are in progress.
const READINGS_MOST: usize = 32;

/// Reading of counter values for waiting clients that needs a second sample.
pub(super) struct PendingReading {
    paths: Vec<CounterPath>,
    query: PathQuery,
    pub due: Instant,
    asked_by: Vec<WaitingClient>,
}

/// Client that waits for a reading of counter values, and the form in which it receives them.
pub(super) enum WaitingClient {
    /// Client that receives all values of its counter paths.
    Values(oneshot::Sender<Answer>),
    /// Client that receives a table of the values.
    Table(Box<(BoundTable, TableAsk)>, oneshot::Sender<Answer>),
}

impl Sampler {
    /// Responds with the values of counter paths: from a log, from the last sample if all paths are in it, or from a
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
        self.begin_or_join(paths, None, WaitingClient::Values(answer));
    }

    /// Begins a reading of counter paths for a client, or lets the client wait for a reading that has begun. Without
    /// `needs_two`, the values of the first reading show if a second one is needed.
    pub(super) fn begin_or_join(
        &mut self,
        paths: Vec<CounterPath>,
        needs_two: Option<bool>,
        asked: WaitingClient,
    ) {
        // Equal requests share one reading, so that many clients cost no more than one.
        if let Some(reading) = self.readings.iter_mut().find(|reading| reading.paths == paths) {
            reading.asked_by.push(asked);
            return;
        }
        match self.begin_reading(paths, needs_two) {
            Ok((mut reading, needs_two)) => {
                reading.asked_by.push(asked);
                match needs_two {
                    true => self.readings.push(reading),
                    false => self.finish(reading),
                }
            }
            Err(problem) => asked.send(Err(problem)),
        }
    }

    /// Takes the first sample of a reading of counter paths. Returns the sample, and `true` if a second one is
    /// needed.
    fn begin_reading(
        &mut self,
        paths: Vec<CounterPath>,
        needs_two: Option<bool>,
    ) -> Result<(PendingReading, bool), ApiError> {
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
        let needs_two = needs_two.unwrap_or_else(|| {
            query.values().iter().any(|v| v.value.counter.counter_type.needs_two_samples())
        });
        // Rates need two readings. A second apart they are exact enough, and a client waits no longer.
        let due = Instant::now().checked_add(self.pause()).unwrap_or_else(Instant::now);
        Ok((PendingReading { paths, query, due, asked_by: Vec::new() }, needs_two))
    }

    /// Returns the time between the two samples of a reading for a request.
    pub(super) fn pause(&self) -> Duration {
        Duration::from_secs(1).min(self.interval)
    }

    pub(super) fn finish_readings(&mut self, now: Instant) {
        self.drop_old_tables();
        let (due, waiting) =
            std::mem::take(&mut self.readings).into_iter().partition(|reading| reading.due <= now);
        self.readings = waiting;
        let due: Vec<PendingReading> = due;
        for mut reading in due {
            match reading.query.collect() {
                Ok(_) => self.finish(reading),
                Err(problem) => {
                    let problem = ApiError::from(problem);
                    reading.asked_by.into_iter().for_each(|asked| asked.send(Err(problem.clone())));
                }
            }
        }
    }

    /// Completes a reading, and responds to its waiting clients. Equal requests get the same bytes.
    fn finish(&mut self, reading: PendingReading) {
        let PendingReading { paths, query, asked_by, .. } = reading;
        let mut values: Option<Answer> = None;
        let mut tables: Vec<(TableAsk, Answer)> = Vec::new();
        for asked in asked_by {
            match asked {
                WaitingClient::Values(client) => {
                    let text = values.get_or_insert_with(|| records(&query, &paths, &self.unread));
                    let _ = client.send(text.clone()); // who asked may be gone
                }
                WaitingClient::Table(asked, client) => {
                    let (plan, ask) = *asked;
                    let known = tables.iter().find(|(known, _)| *known == ask).map(|(_, text)| text.clone());
                    let text =
                        known.unwrap_or_else(|| table_of(&plan, &query, &self.machine, &ask, &self.unread));
                    tables.push((ask, text.clone()));
                    let _ = client.send(text); // who asked may be gone
                }
            }
        }
        if !tables.is_empty() {
            self.keep_table(paths, query);
        }
    }

    /// Returns the values of counter paths in the last sample; `None` if a path is not in it, or has had only one
    /// collection.
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

impl WaitingClient {
    /// Sends the response to the waiting client.
    fn send(self, text: Answer) {
        let (Self::Values(client) | Self::Table(_, client)) = self;
        let _ = client.send(text); // who asked may be gone
    }
}

/// Returns the shown values of a reading's query as JSON.
fn records(query: &PathQuery, paths: &[CounterPath], unread: &UnreadBytes) -> Answer {
    let values = query.values();
    let shown = values.iter().filter(|v| paths.get(v.path).is_some_and(|path| !is_hidden(path, v)));
    answer_of(query, &shown.collect::<Vec<_>>(), unread)
}

/// Returns values of the last sample as the JSON of a response.
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
