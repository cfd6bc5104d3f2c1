//! Read limit for a publisher's file of another user.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::{MOST_BYTES, ProgramFile, wide};
use crate::layout::{entry, header};
use crate::read::budget::{Budget, Pool, Share};
use crate::read::copied;

/// Memory that a decoded counterset definition takes, as a multiple of its size in bytes.
const DECODED: u64 = 8;

/// Part of another user's file that may be read.
#[derive(Debug)]
pub(super) struct Limit {
    share: Share,
    is_announced: bool,
    instances: Arc<Pool>,
    /// Number of bytes of the file that may be read.
    granted: u64,
    /// Number of bytes that are counted up to the end of each segment, by table entry.
    ends: Vec<u64>,
    /// Number of bytes in segments of the file that are not read.
    unread: u64,
}

impl Limit {
    pub(super) fn new(budget: &Budget, user: u32) -> Self {
        let (share, instances) = (budget.bytes.share(user), Arc::clone(&budget.instances));
        Self { share, is_announced: false, instances, granted: 0, ends: Vec::new(), unread: 0 }
    }

    /// Requests from the budget the number of bytes that the file's segments have. The first call only announces it,
    /// so that files opened together get fair shares once all are known.
    pub(super) fn ask(&mut self, table: impl Iterator<Item = [u64; entry::WORDS]>) {
        let mut end = wide(header::BYTES);
        let mut lens = Vec::new();
        self.ends.clear();
        for [_, len, kind, _] in table {
            // The table is untrusted input: one entry must not overflow the sum.
            let len = len.min(MOST_BYTES.1);
            // A decoded definition takes several times the memory of its bytes.
            let cost = if kind == entry::DEFINITION { len.saturating_mul(DECODED) } else { len };
            end = end.saturating_add(cost);
            lens.push(len);
            self.ends.push(end);
        }
        self.granted = if self.is_announced { self.share.ask(end) } else { 0 };
        if !self.is_announced {
            self.share.want(end);
            self.is_announced = true;
        }
        let unread = lens.iter().zip(&self.ends).filter(|(_, end)| **end > self.granted);
        self.unread = unread.fold(0, |sum, (len, _)| sum.saturating_add(*len));
    }
}

impl ProgramFile {
    /// Returns `true` if the file belongs to another user and is therefore read within limits.
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns the number of bytes that are read of the file, for a file of another user.
    pub fn read_bytes(&self) -> u64 {
        let used = |limit: &Limit| {
            let ends = limit.ends.iter().filter(|end| **end <= limit.granted);
            ends.copied().max().unwrap_or_else(|| wide(header::BYTES))
        };
        self.limit.as_ref().map_or(0, used)
    }

    /// Returns the pool that limits the number of instances, for a file of another user.
    pub fn instance_pool(&self) -> Option<Arc<Pool>> {
        self.limit.as_ref().map(|limit| Arc::clone(&limit.instances))
    }

    /// Returns the number of bytes of the file that are not read because of the limit for all other users.
    pub fn unread(&self) -> u64 {
        self.limit.as_ref().map_or(0, |limit| limit.unread)
    }

    pub(super) fn may_read(&self, number: usize) -> bool {
        let limit = self.limit.as_ref();
        limit.is_none_or(|limit| limit.ends.get(number).is_some_and(|end| *end <= limit.granted))
    }

    /// Returns the number of instances that the file has of one of its countersets.
    pub fn count(&self, counterset: usize, file: BorrowedFd<'_>) -> u64 {
        let counts =
            self.instances(counterset).map(|(_, of)| copied::count(file, of.offset, of.shape).unwrap_or(0));
        counts.fold(0, u64::saturating_add)
    }
}
