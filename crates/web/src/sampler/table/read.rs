//! Readings of tables: now, shared by the clients that request the same columns, or at a time of a log.

use std::time::{Duration, Instant};

use perfset::path::{CounterPath, PathQuery};
use perfset::{FactOptions, Identity, Machine, Source};
use tokio::sync::oneshot;

use super::BoundTable;
use crate::log::to_unix_ms;
use crate::request::TableRequest;
use crate::sampler::past::{PastLog, due, has_no_past};
use crate::sampler::readings::WaitingClient;
use crate::sampler::{Answer, Sampler};
use crate::unread::UnreadBytes;

/// Time for which the query of a table is kept: a client that requests the table again waits for no second
/// collection.
const KEPT: Duration = Duration::from_secs(10);
/// Maximum number of queries of tables that are kept.
const KEPT_MOST: usize = 4;

/// Table request of a client, with its permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableAsk {
    pub request: TableRequest,
    /// `true` if the client may read the command lines of processes.
    pub with_command_lines: bool,
}

/// Query of a table that was collected, and is collected again for the next request.
pub struct KeptTable {
    paths: Vec<CounterPath>,
    query: PathQuery,
    /// Time of the query's last collection.
    taken: Instant,
}

impl Sampler {
    /// Responds with a table: from a log, from the last collection of the same columns, or from another collection.
    pub(in crate::sampler) fn read_table(&mut self, ask: TableAsk, answer: oneshot::Sender<Answer>) {
        if let Some(past) = &self.past {
            return drop(answer.send(past.table(&ask, &self.unread))); // who asked may be gone
        }
        let plan =
            has_no_past(ask.request.at.as_ref()).and_then(|()| BoundTable::new(&self.machine, &ask.request));
        let plan = match plan {
            Ok(plan) => plan,
            Err(problem) => return drop(answer.send(Err(problem))), // who asked may be gone
        };
        let paths = plan.paths();
        if let Some(shared) = self.kept_table(&paths, &plan, &ask) {
            return drop(answer.send(shared)); // who asked may be gone
        }
        let needs_two = plan.needs_two_samples();
        self.begin_or_join(paths, Some(needs_two), WaitingClient::Table(Box::new((plan, ask)), answer));
    }

    /// Returns the table from a query that is kept; `None` if there is no such query. The query is collected again,
    /// unless its last collection is younger than an interval.
    fn kept_table(&mut self, paths: &[CounterPath], plan: &BoundTable, ask: &TableAsk) -> Option<Answer> {
        self.tables.retain(|kept| kept.taken.elapsed() < KEPT);
        let pause = self.pause();
        let kept = self.tables.iter_mut().find(|kept| kept.paths == paths)?;
        if kept.taken.elapsed() >= pause {
            if let Err(problem) = kept.query.collect() {
                return Some(Err(problem.into()));
            }
            kept.taken = Instant::now();
        }
        Some(table_of(plan, &kept.query, &self.machine, ask, &self.unread))
    }

    /// Keeps the query of a table that was collected, for the next request.
    pub(in crate::sampler) fn keep_table(&mut self, paths: Vec<CounterPath>, query: PathQuery) {
        if self.tables.len() >= KEPT_MOST {
            let oldest = self.tables.iter().enumerate().min_by_key(|(_, kept)| kept.taken).map(|(at, _)| at);
            oldest.into_iter().for_each(|at| drop(self.tables.remove(at)));
        }
        self.tables.push(KeptTable { paths, query, taken: Instant::now() });
    }

    /// Drops the kept queries of tables that no client has requested lately.
    pub(in crate::sampler) fn drop_old_tables(&mut self) {
        self.tables.retain(|kept| kept.taken.elapsed() < KEPT);
    }
}

/// Returns a table with the values of the last collection of a machine's query.
pub fn table_of(
    plan: &BoundTable,
    query: &PathQuery,
    machine: &Machine,
    ask: &TableAsk,
    unread: &UnreadBytes,
) -> Answer {
    let facts = |identity: &Identity<'_>| {
        // An instance without facts is shown alone. Command lines of other users are not read.
        machine.facts(identity, FactOptions::default()).unwrap_or_default()
    };
    unread.take(plan.answer(query, &facts, ask.with_command_lines))
}

impl PastLog {
    /// Returns a table at the requested time of the log.
    pub fn table(&self, ask: &TableAsk, unread: &UnreadBytes) -> Answer {
        let plan = BoundTable::new(self.machine(), &ask.request)?;
        let time = self.instant(ask.request.at.as_deref())?;
        let queries = self.read_at(&plan.paths(), time, due())?;
        let Some(set) = queries.first() else {
            return unread.take(plan.nothing(to_unix_ms(time), "nothing of it was recorded then"));
        };
        let facts = |identity: &Identity<'_>| {
            self.served.logs.clone().facts(identity, FactOptions::default()).unwrap_or_default()
        };
        unread.take(plan.answer(&set.query, &facts, ask.with_command_lines))
    }
}
