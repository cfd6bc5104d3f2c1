//! Requests to the publishers of a counterset: all requests are sent first, then all responses are awaited.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use perfset_core::{Attributes, CounterId, Guid, Status};
use perfset_engine::{Change, CollectRequest, Entry, Rows, SourceError};
use rustix::process::{Resource, getrlimit};

use super::{ApplicationProvider, OpenFile, unless_refused};
use crate::callback::RequestCode;
use crate::merge::Fit;

/// Divisor for the maximum share of this process's file descriptor limit that connections to publishers use.
const CONNECTIONS: u64 = 4;

impl ApplicationProvider {
    /// Sends the requests of a collection to the publishers of its counterset, without waiting for responses.
    pub(super) fn ask(&mut self, want: &CollectRequest<'_>) {
        self.make_room();
        let machine = Arc::clone(&self.machine);
        let guid = want.counterset.guid;
        self.living(&guid, |kept, number, _, asks| {
            if kept.file.has_socket() {
                let has_referenced = kept.has_referenced(number, want.counters);
                kept.asking.begin(guid, has_referenced, &machine, asks);
            }
            false
        });
    }

    /// Waits until the deadline for outstanding responses of publishers, and reads definitions added meanwhile.
    pub(super) fn wait(&mut self, until: Instant) {
        let Self { files, asks, definitions, .. } = self;
        let asked: Vec<usize> =
            files.iter().enumerate().filter(|(_, kept)| kept.asking.is_open()).map(|(at, _)| at).collect();
        asks.wait(files.iter_mut().map(|kept| &mut kept.asking), until);
        for at in asked {
            let Some(kept) = files.get_mut(at) else { continue };
            kept.file.look();
            kept.has_new |= kept.file.refresh(definitions);
        }
    }

    /// Closes connections to late publishers, if too many are open.
    fn make_room(&mut self) {
        // Late publishers keep their connections, and the program that reads needs file descriptors too.
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / CONNECTIONS;
        let open = self.files.iter().filter(|kept| kept.asking.is_open()).count();
        if u64::try_from(open).unwrap_or(u64::MAX) >= most {
            self.files.iter_mut().for_each(|kept| kept.asking.hang_up());
        }
    }

    /// Sends the publishers of a counterset a request to update their instances, and lists the instances.
    pub(super) fn list_instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        let machine = Arc::clone(&self.machine);
        self.make_room();
        self.living(counterset, |kept, _, _, asks| {
            if kept.file.has_socket() {
                kept.asking.about_machine(RequestCode::EnumInstances, *counterset, &machine, asks);
            }
            false
        });
        let wait = self.asks.deadline.wait();
        self.wait(wait.until());
        drop(wait);
        let mut refused = Status::ERROR_SUCCESS;
        self.living(counterset, |kept, number, _, _| {
            let before = rows.len();
            match kept.status(RequestCode::EnumInstances, *counterset) {
                Status::ERROR_SUCCESS => kept.list(number, rows),
                status => refused = status,
            }
            rows.len() > before
        });
        unless_refused(refused, rows)?;
        self.unless_missed(counterset, rows)
    }

    /// Sends the publishers of a counterset a change of an entry. Returns the status of the first refusal.
    pub(super) fn tell_entry(&mut self, change: Change, entry: &Entry) -> Status {
        let machine = Arc::clone(&self.machine);
        self.make_room();
        self.living(&entry.counterset, |kept, _, fit, asks| {
            if kept.file.has_socket() {
                if let Some(entry) = of_program(entry, fit) {
                    kept.asking.about_entry(change, &entry, &machine, asks);
                }
            }
            false
        });
        let wait = self.asks.deadline.wait();
        self.wait(wait.until());
        drop(wait);
        let mut answer = Status::ERROR_SUCCESS;
        self.living(&entry.counterset, |kept, _, fit, _| {
            if kept.file.has_socket() && of_program(entry, fit).is_some() && answer.is_success() {
                answer = kept.asking.status_of_entry(change, entry.counterset);
            }
            false
        });
        answer
    }
}

/// Returns an entry with only those counters that a publisher has; `None` if it has none of them. A publisher does
/// not know the other counters, and must not refuse them on behalf of other publishers.
fn of_program<'a>(entry: &'a Entry, fit: &Fit) -> Option<Cow<'a, Entry>> {
    let Some(ids) = entry.counters.ids() else { return Some(Cow::Borrowed(entry)) };
    let own: Vec<CounterId> = ids.iter().copied().filter(|id| fit.index(*id).is_ok()).collect();
    if own.is_empty() {
        return None;
    }
    Some(Cow::Owned(Entry {
        instance: entry.instance.clone(),
        instance_id: entry.instance_id,
        ..Entry::several(entry.counterset, own)
    }))
}

impl OpenFile {
    /// Returns the status with which the publisher responded to the last request of this kind.
    pub(super) fn status(&self, what: RequestCode, counterset: Guid) -> Status {
        match self.file.has_socket() {
            true => self.asking.status(what, counterset),
            false => Status::ERROR_SUCCESS,
        }
    }

    /// Returns `true` if a publisher has the value of at least one wanted counter by reference.
    pub(super) fn has_referenced(&self, number: usize, wanted: &[CounterId]) -> bool {
        let Some(set) = self.file.definition(number) else { return false };
        let mut counters = set.counters.iter();
        counters.any(|c| c.attributes.contains(Attributes::BY_REFERENCE) && wanted.contains(&c.id))
    }
}
