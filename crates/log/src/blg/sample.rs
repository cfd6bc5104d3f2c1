//! Samples of a binary log: raw values at one time, one block per entry of the counter list.

use std::mem::offset_of;
use std::ops::Range;

use perfset_core::Name;
use perfset_core::pdh::{PdhStatus, RawCounter};
use perfset_core::wire::{Cursor, Why, WireError, length};

use super::raw;

/// Magic number at the start of samples in a binary log, and of their blocks.
const MAGIC: u16 = 0x4C42;

/// Raw values of all counters of a binary log at one time.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Offset of the sample in the file of the binary log.
    pub offset: u64,
    /// Time at which the sample was written, in 100 ns since 1601, local.
    pub time: i64,
    blocks: Cursor<'a>,
}

/// Raw values in a sample that belong to one entry of the counter list.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CounterBlock<'a> {
    /// Raw value of one counter of one instance.
    Counter(RawCounter),
    /// Raw values of one counter of several instances.
    Instances(InstanceValues<'a>),
    /// Raw values of a whole object (counterset): a whole V1 block, for [`v1::read`](perfset_core::v1::read).
    Object(&'a [u8]),
    /// Block of a sample of a kind that no known log contains.
    Unknown(u8),
}

impl<'a> Sample<'a> {
    /// Checks that the payload of a record is a sample of a binary log.
    pub(super) fn check(payload: &[u8]) -> Result<(), WireError> {
        blocks(payload).map(drop)
    }

    /// Creates a sample of a binary log from checked bytes.
    pub(super) fn new(offset: u64, time: i64, payload: &'a [u8]) -> Self {
        Self { offset, time, blocks: blocks(payload).unwrap_or(Cursor::new(&[])) }
    }

    /// Returns the blocks of the sample, in the order of the counter list. An error ends the iterator.
    pub fn blocks(&self) -> impl Iterator<Item = Result<CounterBlock<'a>, WireError>> + use<'a> {
        let mut rest = self.blocks;
        std::iter::from_fn(move || {
            // Fewer bytes than a header are padding.
            if rest.rest().len() < size_of::<raw::BlockHeader>() {
                return None;
            }
            let block = next(&mut rest).and_then(|(header, body)| block(header, body));
            if block.is_err() {
                // Blocks are found by the sizes before them, so nothing after an invalid size is reliable:
                // B-10.
                rest = Cursor::new(&[]);
            }
            Some(block)
        })
    }

    /// Returns the block of the sample for an entry of the counter list. Earlier blocks are skipped without being
    /// parsed.
    ///
    /// # Errors
    /// If the block is missing or invalid.
    pub fn block(&self, entry: usize) -> Result<CounterBlock<'a>, WireError> {
        let mut rest = self.blocks;
        for _ in 0..entry {
            next(&mut rest)?;
        }
        next(&mut rest).and_then(|(header, body)| block(header, body))
    }
}

/// Copy of a binary log's sample that outlives the reader's buffer.
#[derive(Debug, Default)]
pub(crate) struct OwnedSample {
    /// Offset of the copied sample in the file of the binary log.
    pub offset: u64,
    bytes: Vec<u8>,
    /// Offsets at which the sample's blocks found so far begin, followed by the offset of the next block.
    starts: Vec<usize>,
}

impl OwnedSample {
    /// Copies a sample of a binary log into this buffer.
    pub fn copy_from(&mut self, sample: &Sample<'_>) {
        self.offset = sample.offset;
        self.bytes.clear();
        self.bytes.extend_from_slice(sample.blocks.rest());
        self.starts.clear();
        self.starts.push(0);
    }

    /// Returns the bytes of all blocks of the sample.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes of the sample's blocks that were found so far, and of the next one.
    fn bytes_read(&self) -> Option<&[u8]> {
        let mut rest = Cursor::starting_at(&self.bytes, self.starts.last().copied().unwrap_or(0));
        next(&mut rest).ok()?;
        self.bytes.get(..rest.offset())
    }

    /// Replaces the bytes of the sample's blocks by other bytes with the same sizes.
    pub fn set_bytes(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    /// Returns the block of the sample for an entry of the counter list. Each block is skipped only once.
    pub fn block(&mut self, entry: usize) -> Result<CounterBlock<'_>, WireError> {
        // Entries are usually read in ascending order. Starting at the first block each time would be
        // quadratic for a sample of 100,000 blocks.
        while self.starts.len() <= entry {
            let mut cursor = Cursor::starting_at(&self.bytes, self.starts.last().copied().unwrap_or(0));
            next(&mut cursor)?;
            self.starts.push(cursor.offset());
        }
        let start = self.starts.get(entry).copied().unwrap_or(0);
        next(&mut Cursor::starting_at(&self.bytes, start)).and_then(|(header, body)| block(header, body))
    }
}

/// Form of a binary log's sample, as far as the sample was read: all its bytes except numbers and padding.
#[derive(Debug, Default)]
pub(crate) struct SampleBytes {
    bytes: Vec<u8>,
    /// Bit mask of the sample's `bytes`: the set bits belong to the form.
    mask: Vec<u8>,
    /// Byte ranges of the raw numbers in the sample, in their order.
    pub numbers: Vec<Range<usize>>,
}

impl SampleBytes {
    /// Returns the form of a sample as far as the sample was read; `None` if its numbers have no fixed places, or a
    /// block is invalid.
    pub fn new(sample: &OwnedSample) -> Option<Self> {
        let bytes = sample.bytes_read()?.to_vec();
        let mut form = Self { mask: vec![0xFF; bytes.len()], bytes, numbers: Vec::new() };
        let mut rest = Cursor::new(sample.bytes_read()?);
        while !rest.is_empty() {
            let (header, body) = next(&mut rest).ok()?;
            let start = body.offset();
            match block(header, body).ok()? {
                CounterBlock::Counter(_) => {
                    // The status decides if there is a value. Of the rest only the numbers are read.
                    form.free(
                        start.saturating_add(offset_of!(raw::PdhRawCounter, time_stamp))..rest.offset(),
                    )?;
                    form.number(start, offset_of!(raw::PdhRawCounter, first_value), 8)?;
                    form.number(start, offset_of!(raw::PdhRawCounter, second_value), 8)?;
                    form.number(start, offset_of!(raw::PdhRawCounter, multi_count), 4)?;
                }
                CounterBlock::Instances(instances) => form.instances(start, &instances)?,
                CounterBlock::Object(_) | CounterBlock::Unknown(_) => return None,
            }
        }
        Some(form)
    }

    fn instances(&mut self, start: usize, instances: &InstanceValues<'_>) -> Option<()> {
        let time = start.saturating_add(offset_of!(raw::InstancesHeader, time_stamp));
        self.free(time..time.saturating_add(8))?;
        let items = start.saturating_add(size_of::<raw::InstancesHeader>());
        for (at, _) in instances.iter().enumerate() {
            let item = items.saturating_add(at.saturating_mul(size_of::<raw::InstanceItem>()));
            self.number(item, offset_of!(raw::InstanceItem, multi_count), 4)?;
            self.number(item, offset_of!(raw::InstanceItem, first_value), 8)?;
            self.number(item, offset_of!(raw::InstanceItem, second_value), 8)?;
        }
        // A name can be anywhere in its block, even among the numbers: then it is no part of the form.
        for (at, (name, _)) in instances.iter().enumerate() {
            let item = items.saturating_add(at.saturating_mul(size_of::<raw::InstanceItem>()));
            let item: &raw::InstanceItem = Cursor::starting_at(&self.bytes, item).read("instance").ok()?;
            let name_at = start.saturating_add(length(item.name.get())).min(self.mask.len());
            let end = name_at.saturating_add(name.as_bytes().len()).saturating_add(2).min(self.mask.len());
            if self.mask.get(name_at..end)?.contains(&0) {
                return None;
            }
        }
        Some(())
    }

    fn free(&mut self, place: Range<usize>) -> Option<()> {
        self.mask.get_mut(place)?.fill(0);
        Some(())
    }

    fn number(&mut self, start: usize, offset: usize, len: usize) -> Option<()> {
        let start = start.checked_add(offset)?;
        let place = start..start.checked_add(len)?;
        self.numbers.push(place.clone());
        self.free(place)
    }

    /// Returns `true` if a sample of a binary log has this form, and no more of the sample was read than the form
    /// covers.
    pub fn is_of(&self, sample: &OwnedSample) -> bool {
        let Some(bytes) = sample.bytes.get(..self.bytes.len()) else { return false };
        let bits = self.bytes.iter().zip(bytes).zip(&self.mask);
        // Without an exit, which makes it faster.
        let differing = bits.fold(0, |differing, ((a, b), mask)| differing | (a ^ b) & mask);
        differing == 0 && sample.starts.last().is_none_or(|last| *last < self.bytes.len().max(1))
    }

    /// Replaces the raw numbers of a sample by consecutive numbers, to identify each of them later.
    pub fn number_from(&self, first: u32, sample: &mut OwnedSample) {
        for (number, place) in (first..).zip(&self.numbers) {
            let number = u64::from(number).to_le_bytes();
            if let Some(bytes) = sample.bytes.get_mut(place.clone()) {
                bytes.copy_from_slice(number.get(..bytes.len()).unwrap_or_default());
            }
        }
    }
}

fn blocks(payload: &[u8]) -> Result<Cursor<'_>, WireError> {
    const HEADER_LEN: u32 = 8;
    let mut cursor = Cursor::new(payload);
    let header: &raw::SampleHeader = cursor.read("sample")?;
    if header.magic.get() != MAGIC {
        return Err(WireError::new("sample, magic", 0, Why::Undefined { value: header.magic.get().into() }));
    }
    cursor.body("sample, size", 4, header.size.get(), HEADER_LEN)
}

fn next<'a>(rest: &mut Cursor<'a>) -> Result<(&'a raw::BlockHeader, Cursor<'a>), WireError> {
    const HEADER_LEN: u32 = 8;
    const UNIT: usize = 8;
    let at = rest.offset();
    let header: &raw::BlockHeader = rest.read("block of a sample")?;
    if header.magic.get() != MAGIC {
        let why = Why::Undefined { value: header.magic.get().into() };
        return Err(WireError::new("block of a sample, magic", at, why));
    }
    let body = rest.body("block of a sample, size", at.saturating_add(4), header.size.get(), HEADER_LEN)?;
    let len = length(header.size.get());
    // The last block of a sample may lack its padding, which costs no value.
    let padding = len.next_multiple_of(UNIT).saturating_sub(len).min(rest.rest().len());
    rest.take("block of a sample", padding)?;
    Ok((header, body))
}

fn block<'a>(header: &raw::BlockHeader, mut body: Cursor<'a>) -> Result<CounterBlock<'a>, WireError> {
    Ok(match header.kind {
        1 => {
            let raw: &raw::PdhRawCounter = body.read("PDH_RAW_COUNTER")?;
            CounterBlock::Counter(RawCounter {
                c_status: PdhStatus(raw.c_status.get()),
                time: raw.time_stamp.get(),
                first: raw.first_value.get(),
                second: raw.second_value.get(),
                multi_count: raw.multi_count.get(),
            })
        }
        2 => CounterBlock::Instances(InstanceValues::parse(body)?),
        5 => CounterBlock::Object(body.rest()),
        other => CounterBlock::Unknown(other),
    })
}

/// Raw values of one counter of several instances.
#[derive(Clone, Copy, Debug)]
pub struct InstanceValues<'a> {
    /// Time of the instances' raw values, in 100 ns since 1601, local.
    pub time: i64,
    body: &'a [u8],
    items: Cursor<'a>,
}

impl<'a> InstanceValues<'a> {
    fn parse(mut cursor: Cursor<'a>) -> Result<Self, WireError> {
        const WHAT: &str = "instances of a counter";
        let (at, body) = (cursor.offset(), cursor.rest());
        let header: &raw::InstancesHeader = cursor.read(WHAT)?;
        const ITEM: usize = size_of::<raw::InstanceItem>();
        let room = cursor.rest().len() / ITEM;
        let count = header.count.get();
        if length(count) > room {
            return Err(WireError::new(WHAT, at, Why::CountTooLarge { count, room }));
        }
        let items = cursor.take(WHAT, length(count).saturating_mul(ITEM))?;
        Ok(Self { time: header.time_stamp.get(), body, items })
    }

    /// Returns an iterator over name and raw value of each instance.
    pub fn iter(&self) -> impl Iterator<Item = (Name<'a>, RawCounter)> + use<'a> {
        let Self { time, body, mut items } = *self;
        std::iter::from_fn(move || {
            let item: &raw::InstanceItem = items.read("instance of a counter").ok()?;
            // A wrong offset costs the name only. Offsets count from the start of the body.
            let name = body.get(length(item.name.get())..).unwrap_or_default();
            let raw = RawCounter {
                // These blocks store no status per instance: B-12.
                c_status: PdhStatus::PDH_CSTATUS_VALID_DATA,
                time,
                first: item.first_value.get(),
                second: item.second_value.get(),
                multi_count: item.multi_count.get(),
            };
            Some((Name::until_nul(name), raw))
        })
    }
}

/// Contents of the summary record, which is optional at the end of a binary log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Time of the first sample in the log, in 100 ns since 1601, local.
    pub first: i64,
    /// Time of the last sample in the log, in 100 ns since 1601, local.
    pub last: i64,
    /// Number of samples in the binary log.
    pub samples: u32,
    /// Number of objects (countersets) in the catalogue after the summary, which repeats facts from the samples.
    pub objects: u32,
}

impl Summary {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let header: &raw::SummaryHeader = Cursor::new(payload).read("catalogue")?;
        Ok(Self {
            first: header.first.get(),
            last: header.last.get(),
            samples: header.samples.get(),
            objects: header.objects.get(),
        })
    }
}
