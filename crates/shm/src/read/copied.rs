//! Reads publishers' files of other users by system calls.
//!
//! Used also for all files while no mapping can be loaded [in a child](crate::guard). A copy by a system call is not
//! made of whole words: a value that changes meanwhile may be torn. In measurements, all tears of copies [from line
//! to line](super::lines) split before the highest byte. So each chunk is copied twice, and a value is accepted if
//! both copies have the same highest byte. Else it is copied up to twice more until two consecutive copies are equal.
//! For counts that only grow this is exact, as far as that measurement is valid (other processors: UNVERIFIED). A
//! value that oscillates across a highest byte at full speed may be missing.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::Acquire;
use std::sync::atomic::fence;

use perfset_core::Guid;

use super::index;
use super::lines::Lines;
use super::table::word;
use crate::layout::{LINE, SegmentLayout, WORD, is_live};

/// Instance of a counterset in a copied segment of a publisher's file.
pub(crate) struct CopiedInstance<'a> {
    pub sequence: u64,
    pub id: u32,
    pub name: Vec<u16>,
    slot: usize,
    copies: &'a Copies<'a>,
}

struct Copies<'a> {
    file: BorrowedFd<'a>,
    offset: u64,
    shape: SegmentLayout,
    one: Lines,
    other: Lines,
    /// Number of cache lines that may still be copied again: a publisher that changes all lines at once must not
    /// cause more work.
    again: Cell<usize>,
}

/// Maximum number of cache lines of a segment that are copied again.
const MOST_AGAIN: usize = 4096;

/// Calls `each` with every instance of a segment that existed both before and after the segment was copied.
///
/// # Errors
/// If the file cannot be read any more.
pub(crate) fn instances(
    file: BorrowedFd<'_>,
    offset: u64,
    len: usize,
    shape: SegmentLayout,
    guid: &Guid,
    each: &mut dyn FnMut(&CopiedInstance<'_>),
) -> io::Result<()> {
    let words = SegmentLayout::HEAD.saturating_add(shape.slots).saturating_mul(WORD);
    // Sequence words, both copies of the segment, sequence words: an instance counts only if its word is the
    // same around both copies.
    let before = copy(file, offset, words)?;
    fence(Acquire);
    let one = copy(file, offset, len)?;
    let other = copy(file, offset, len)?;
    fence(Acquire);
    let after = copy(file, offset, words)?;
    let copies = Copies { file, offset, shape, one, other, again: Cell::new(MOST_AGAIN) };
    for slot in 0..shape.slots {
        let sequence = word(&before, shape.sequence(slot));
        if !is_live(sequence) || sequence != word(&after, shape.sequence(slot)) {
            continue;
        }
        let range = shape.block(slot);
        let range = range.start.saturating_mul(WORD)..range.end.saturating_mul(WORD);
        // Header and name do not change while the sequence word is the same, so one copy of them suffices.
        let block = copies.other.get(range).unwrap_or_default();
        let Some((id, name)) = index::block(block, guid, shape.counters) else { continue };
        let name = name.collect();
        each(&CopiedInstance { sequence, id, name, slot, copies: &copies });
    }
    Ok(())
}

/// Counts the instances in a segment of a publisher's file.
///
/// # Errors
/// If the file cannot be read any more.
pub(crate) fn count(file: BorrowedFd<'_>, at: u64, shape: SegmentLayout) -> io::Result<u64> {
    let words = copy(file, at, SegmentLayout::HEAD.saturating_add(shape.slots).saturating_mul(WORD))?;
    let live = (0..shape.slots).filter(|slot| is_live(word(&words, shape.sequence(*slot))));
    Ok(u64::try_from(live.count()).unwrap_or(u64::MAX))
}

/// Copies `len` bytes of a publisher's file from offset `at`; bytes beyond the end of the file are zero.
fn copy(file: BorrowedFd<'_>, at: u64, len: usize) -> io::Result<Lines> {
    Lines::read(file, at, len)
}

impl CopiedInstance<'_> {
    /// Returns an instance's value of a counter, summed over the instance's slot and stripes; `None` if the value
    /// changes too fast to be read.
    pub fn value(&self, counter: usize) -> Option<u64> {
        let Copies { shape, .. } = self.copies;
        let slot = shape.values(self.slot).start.saturating_add(counter);
        let rows = shape.rows(self.slot).skip(counter).step_by(shape.row.max(1)).take(shape.stripes);
        let mut sum = self.copies.word(slot)?;
        for cell in rows {
            sum = sum.wrapping_add(self.copies.word(cell)?);
        }
        Some(sum)
    }
}

impl Copies<'_> {
    fn word(&self, at: usize) -> Option<u64> {
        let (one, other) = (word(&self.one, at), word(&self.other, at));
        if same_top(one, other) { Some(other) } else { self.again(at, other) }
    }

    /// Copies the cache line of a word again, until two consecutive copies have the same word.
    #[cold]
    fn again(&self, at: usize, mut last: u64) -> Option<u64> {
        const TRIES: usize = 2;
        let in_line = LINE / WORD;
        let line = (at / in_line).saturating_mul(in_line);
        let from = u64::try_from(line.saturating_mul(WORD)).ok()?;
        for _ in 0..TRIES {
            // Limited for the segment as a whole, not for each word.
            self.again.set(self.again.get().checked_sub(1)?);
            let bytes = copy(self.file, self.offset.saturating_add(from), LINE).ok()?;
            let now = word(&bytes, at.saturating_sub(line));
            if now == last {
                return Some(now);
            }
            last = now;
        }
        None
    }
}

fn same_top(one: u64, other: u64) -> bool {
    // Words tear before their highest byte. If it is the same in two copies, the count passed no 2^56
    // between, so neither was torn.
    const BELOW: u32 = 56;
    one >> BELOW == other >> BELOW
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    /// Checks that words whose highest byte differs between two copies are copied again, up to a maximum number of
    /// times.
    #[test]
    fn copying_torn_words_again_is_limited() {
        const WORDS: usize = 10_000;
        let zero = std::fs::File::open("/dev/zero").unwrap();
        let place = crate::tests::Place::new("given-up");
        let path = place.path().join("ones");
        std::fs::write(&path, vec![0xFF; WORDS * WORD]).unwrap();
        let ones = std::fs::File::open(path).unwrap();
        let shape = SegmentLayout::new(1, 0, 0);
        let [one, other] = [&ones, &zero].map(|file| Lines::read(file.as_fd(), 0, WORDS * WORD).unwrap());
        let copies =
            Copies { file: zero.as_fd(), offset: 0, shape, one, other, again: Cell::new(MOST_AGAIN) };
        let had = (0..WORDS).filter(|at| copies.word(*at) == Some(0)).count();
        assert_eq!(had, MOST_AGAIN);
        assert_eq!(copies.word(0), None);
    }
}
