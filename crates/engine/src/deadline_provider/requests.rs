//! Requests to a provider on another thread, and its replies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset_core::{
    Birth, CounterId, Counterset, Guid, Identity, InstanceId, InstanceIdFilter, Name, Status, Text,
};

use crate::entry::Entry;
use crate::error::SourceError;
use crate::facts::{Fact, FactOptions};
use crate::filters::{InstanceFilter, InstanceFilters};
use crate::provider::{Catalogue, Change, CollectRequest, Provider};
use crate::rows::Rows;

#[derive(Debug)]
pub(super) enum WorkerRequest {
    Catalogue,
    Instances(Guid),
    Entry(Change, Entry),
    Collect(Arc<OwnedRequest>),
    About,
    Problems,
    Origin(Guid),
    NotShown(Option<Guid>),
    LeftOut,
    Facts(Arc<FactRequest>),
}

/// Request to a provider that has no reply yet. While it waits, an equal request is not sent again.
#[derive(Debug)]
pub(super) enum PendingRequest {
    Catalogue,
    Instances(Guid),
    Entry,
    Collect(Arc<OwnedRequest>),
    About,
    Problems,
    Origin(Guid),
    NotShown(Option<Guid>),
    LeftOut,
    Facts(Arc<FactRequest>),
}

/// Instance whose facts are requested.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FactRequest {
    counterset: Guid,
    /// Name of the instance in UTF-16LE, with its end.
    name: Vec<u8>,
    instance_id: InstanceId,
    birth: Birth,
    options: FactOptions,
}

/// Owned copy of a [`CollectRequest`], to be sent to a provider's thread and stored.
#[derive(Debug)]
pub(super) struct OwnedRequest {
    pub set: Arc<Counterset>,
    pub counters: Vec<CounterId>,
    pub filters: InstanceFilters,
    pub collection: u64,
    pub time_100ns: u64,
}

#[derive(Debug)]
pub(super) struct WorkerReply {
    pub catalogue: Result<Arc<Catalogue>, SourceError>,
    pub reply: Result<ReplyBody, SourceError>,
    pub took: Duration,
}

#[derive(Debug)]
pub(super) enum ReplyBody {
    Status(Status),
    Names(Guid, Rows),
    Values(CachedValues),
    About(Vec<(Text, Text)>),
    Problems(Vec<Text>),
    Origin(Guid, Option<Text>),
    NotShown(Option<Guid>, Vec<Text>),
    LeftOut(Vec<(Guid, Text)>),
    Facts(Arc<FactRequest>, Vec<Fact>),
}

/// Values that a provider collected, and the request to which they respond.
#[derive(Debug)]
pub(super) struct CachedValues {
    pub request: Arc<OwnedRequest>,
    pub rows: Rows,
    /// Number of bytes that were read for the values and that no collection has counted yet.
    pub uncounted: u64,
    pub time: Instant,
    /// `true` if the provider's response took longer than the deadline.
    pub was_late: bool,
}

impl PendingRequest {
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Catalogue, Self::Catalogue)
            | (Self::About, Self::About)
            | (Self::Problems, Self::Problems)
            | (Self::LeftOut, Self::LeftOut) => true,
            (Self::Instances(one), Self::Instances(other)) | (Self::Origin(one), Self::Origin(other)) => {
                one == other
            }
            (Self::NotShown(one), Self::NotShown(other)) => one == other,
            (Self::Facts(one), Self::Facts(other)) => one == other,
            (Self::Collect(one), Self::Collect(other)) => {
                one.set.guid == other.set.guid && one.is_like(other)
            }
            // Changes of entries are never equal: a provider receives each addition and each removal.
            _ => false,
        }
    }
}

impl WorkerRequest {
    pub fn question(&self) -> PendingRequest {
        match self {
            Self::Catalogue => PendingRequest::Catalogue,
            Self::Instances(set) => PendingRequest::Instances(*set),
            Self::Entry(..) => PendingRequest::Entry,
            Self::Collect(request) => PendingRequest::Collect(Arc::clone(request)),
            Self::About => PendingRequest::About,
            Self::Problems => PendingRequest::Problems,
            Self::Origin(set) => PendingRequest::Origin(*set),
            Self::NotShown(set) => PendingRequest::NotShown(*set),
            Self::LeftOut => PendingRequest::LeftOut,
            Self::Facts(request) => PendingRequest::Facts(Arc::clone(request)),
        }
    }

    pub fn answer(self, provider: &mut dyn Provider) -> Result<ReplyBody, SourceError> {
        match self {
            Self::Catalogue => Ok(ReplyBody::Status(Status::ERROR_SUCCESS)), // it comes with every answer
            Self::Entry(change, entry) => Ok(ReplyBody::Status(provider.entry(change, &entry))),
            Self::About => Ok(ReplyBody::About(provider.describe())),
            Self::Problems => Ok(ReplyBody::Problems(provider.problems())),
            Self::Origin(set) => Ok(ReplyBody::Origin(set, provider.origin(&set))),
            Self::NotShown(set) => Ok(ReplyBody::NotShown(set, provider.not_shown(set.as_ref()))),
            Self::LeftOut => Ok(ReplyBody::LeftOut(provider.left_out())),
            Self::Facts(request) => {
                let facts = provider.facts(&request.identity(), request.options)?;
                Ok(ReplyBody::Facts(request, facts))
            }
            Self::Instances(set) => {
                let mut rows = Rows::default();
                rows.start();
                provider.instances(&set, &mut rows)?;
                rows.end();
                Ok(ReplyBody::Names(set, rows))
            }
            Self::Collect(request) => {
                let OwnedRequest { set, counters, filters, collection, time_100ns } = &*request;
                // New memory, because the rows of the last response belong to the reader now.
                let mut rows = Rows::new(counters.iter().filter_map(|id| set.counter(*id)));
                rows.start();
                let want =
                    CollectRequest::new(set, counters, filters).collection(*collection).at(*time_100ns);
                provider.collect(&want, &mut rows)?;
                rows.end();
                let uncounted = rows.bytes_read();
                Ok(ReplyBody::Values(CachedValues {
                    request,
                    rows,
                    uncounted,
                    time: Instant::now(),
                    was_late: false,
                }))
            }
        }
    }
}

impl FactRequest {
    pub fn new(instance: &Identity<'_>, options: FactOptions) -> Self {
        let units = instance.instance.units().chain([0]);
        Self {
            counterset: instance.counterset,
            name: units.flat_map(u16::to_le_bytes).collect(),
            instance_id: instance.instance_id,
            birth: instance.birth,
            options,
        }
    }

    fn identity(&self) -> Identity<'_> {
        let Self { counterset, name, instance_id, birth, .. } = self;
        let instance = Name::until_nul(name);
        Identity { counterset: *counterset, instance, instance_id: *instance_id, birth: *birth }
    }
}

impl OwnedRequest {
    pub fn new(want: &CollectRequest<'_>) -> Self {
        Self {
            set: Arc::new(want.counterset.clone()),
            counters: want.counters.to_vec(),
            filters: want.instances.clone(),
            collection: want.collection,
            time_100ns: want.time_100ns,
        }
    }

    pub fn is_like(&self, other: &Self) -> bool {
        self.counters == other.counters && self.filters == other.filters
    }

    /// Returns `true` if the request covers all wanted instances. Instances that only two filters together cover are
    /// not detected.
    pub fn covers(&self, want: &CollectRequest<'_>) -> bool {
        let covered = |wanted: &InstanceFilter| {
            self.filters.iter().any(|asked| {
                (asked.pattern.is_any() || asked.pattern == wanted.pattern)
                    && (asked.id == InstanceIdFilter::Any || asked.id == wanted.id)
            })
        };
        self.filters == *want.instances || want.instances.iter().all(covered)
    }

    /// Returns the number of counters in `want` that this request contains too.
    pub fn counters_of(&self, want: &CollectRequest<'_>) -> usize {
        want.counters.iter().filter(|id| self.counters.contains(id)).count()
    }
}
