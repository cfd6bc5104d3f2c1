//! Limit of what is read of a file of another user.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::{DECODED, MOST_BYTES, ProgramFile, wide};
use crate::layout::{entry, header};
use crate::read::budget::{Budget, Pool, Share};
use crate::read::copied;

/// Part of a file of another user that is read.
#[derive(Debug)]
pub(super) struct Limit {
    share: Share,
    is_announced: bool,
    instances: Arc<Pool>,
    /// Bytes that may be read.
    granted: u64,
    /// By entry of the table: bytes that are read up to the end of that segment.
    ends: Vec<u64>,
    /// Bytes of segments that are not read.
    unread: u64,
}

impl Limit {
    pub(super) fn new(budget: &Budget, user: u32) -> Self {
        let (share, instances) = (budget.bytes.share(user), Arc::clone(&budget.instances));
        Self { share, is_announced: false, instances, granted: 0, ends: Vec::new(), unread: 0 }
    }

    /// Asks for as many bytes as the entries of a table have. The first time it announces them only: files that are
    /// opened together are granted what they are due when all are known.
    pub(super) fn ask(&mut self, table: impl Iterator<Item = [u64; entry::WORDS]>) {
        let mut end = wide(header::BYTES);
        let mut lens = Vec::new();
        self.ends.clear();
        for [_, len, kind, _] in table {
            let len = len.min(MOST_BYTES.1);
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
    /// Returns `true` if the file belongs to another user: then it is read within limits.
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Bytes of a file of another user that are read.
    pub fn read_bytes(&self) -> u64 {
        let used = |limit: &Limit| {
            let ends = limit.ends.iter().filter(|end| **end <= limit.granted);
            ends.copied().max().unwrap_or_else(|| wide(header::BYTES))
        };
        self.limit.as_ref().map_or(0, used)
    }

    /// The pool that instances of a file of another user are taken from.
    pub fn instance_pool(&self) -> Option<Arc<Pool>> {
        self.limit.as_ref().map(|limit| Arc::clone(&limit.instances))
    }

    /// Bytes of a file of another user that are more than the limit for all of them lets be read.
    pub fn unread(&self) -> u64 {
        self.limit.as_ref().map_or(0, |limit| limit.unread)
    }

    pub(super) fn may_read(&self, number: usize) -> bool {
        let limit = self.limit.as_ref();
        limit.is_none_or(|limit| limit.ends.get(number).is_some_and(|end| *end <= limit.granted))
    }

    /// Counts the instances of a counterset that it defines.
    pub fn count(&self, counterset: usize, file: BorrowedFd<'_>) -> u64 {
        let counts =
            self.instances(counterset).map(|(_, of)| copied::count(file, of.at, of.shape).unwrap_or(0));
        counts.fold(0, u64::saturating_add)
    }
}
