//! Blocks: the units of which every file of a recording consists.

use std::cell::RefCell;
use std::fs::File;
use std::io;

use super::bytes::Malformed;
use super::segment::Decompressor;

/// Kind of a block in a file of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockKind {
    /// Facts about machine, writer and clocks: the first block of every file.
    About,
    /// Definition of a table: a counterset as registered, and those of its counters that the table has.
    Set,
    /// Block with a whole tick, which can be read without any other tick.
    Key,
    /// Block with the differences of one tick (sample) from the tick before.
    Tick,
    /// Segment: some ticks of all tables, stored column by column.
    Segment,
    /// Facts about instances as text, such as the command lines of processes.
    Notes,
    /// Annotation of the recording with a time and a text.
    Mark,
    /// Ticks that were due and not recorded.
    Gap,
    /// End of a recording's file that was closed properly.
    End,
    /// Kind of a block that only a later version of the format knows.
    Unknown(u8),
}

impl BlockKind {
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::About => 1,
            Self::Set => 2,
            Self::Key => 3,
            Self::Tick => 4,
            Self::Segment => 5,
            Self::Notes => 6,
            Self::Mark => 7,
            Self::Gap => 8,
            Self::End => 10,
            Self::Unknown(number) => number,
        }
    }

    pub(super) const fn from_number(number: u8) -> Self {
        match number {
            1 => Self::About,
            2 => Self::Set,
            3 => Self::Key,
            4 => Self::Tick,
            5 => Self::Segment,
            6 => Self::Notes,
            7 => Self::Mark,
            8 => Self::Gap,
            10 => Self::End,
            number => Self::Unknown(number),
        }
    }
}

/// Method by which the payload of a recording's block is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Payload that is stored without compression.
    Plain,
    /// Payload that is compressed as a zstd frame.
    Zstd,
}

impl Codec {
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::Zstd => 1,
        }
    }

    pub(super) const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Plain),
            1 => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Header of a block of a recording, without the fields that exist only in its stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// Kind of the block that the header begins.
    pub kind: BlockKind,
    /// Id of the compression method ([`Codec`]) of the block's payload.
    pub codec: u8,
    /// Flags of the block, such as [`SKIPPABLE`](Self::SKIPPABLE).
    pub flags: u16,
    /// Length of the block's stored payload in bytes.
    pub stored: u32,
    /// Length of the block's payload in bytes after decompression.
    pub raw: u32,
    /// Sequence number of the block's first tick, counted over all files of the directory.
    pub sequence: u64,
    /// Checksum of the block's header and of the checked part of its payload.
    pub crc: u32,
}

impl BlockHeader {
    /// Length of a block header in bytes.
    pub const LEN: usize = 28;
    /// Magic number: the first bytes of each block header.
    pub const MAGIC: [u8; 4] = *b"PFS1";
    /// Flag of a block: a reader that does not know the kind may leave the block out.
    pub const SKIPPABLE: u16 = 1;
    /// Bit position in a block's flags of the index, modulo 256, of the `about` block that describes the block's
    /// recorder.
    pub const ABOUT_SHIFT: u32 = 8;
    /// Maximum length in bytes of a block's stored payload.
    pub const MOST_STORED: u32 = 64 << 20;
    /// Maximum length in bytes of a block's payload after decompression.
    pub const MOST_RAW: u32 = 64 << 20;

    /// Returns the index in the file, modulo 256, of the `about` block that describes the recorder of this block.
    #[must_use]
    pub const fn about_number(self) -> u8 {
        let [_, number] = self.flags.to_le_bytes();
        number
    }

    pub(super) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let fields = [
            &Self::MAGIC[..],
            &[self.kind.number(), self.codec],
            &self.flags.to_le_bytes(),
            &self.stored.to_le_bytes(),
            &self.raw.to_le_bytes(),
            &self.sequence.to_le_bytes(),
            &self.crc.to_le_bytes(),
        ];
        let all = fields.into_iter().flatten();
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = *from);
        bytes
    }

    /// Reads a block header; `None` if the bytes do not begin with one.
    pub(super) fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let [m0, m1, m2, m3, kind, codec, f0, f1, s0, s1, s2, s3, r0, r1, r2, r3, rest @ ..] = *bytes;
        let [q0, q1, q2, q3, q4, q5, q6, q7, c0, c1, c2, c3] = rest;
        ([m0, m1, m2, m3] == Self::MAGIC).then_some(Self {
            kind: BlockKind::from_number(kind),
            codec,
            flags: u16::from_le_bytes([f0, f1]),
            stored: u32::from_le_bytes([s0, s1, s2, s3]),
            raw: u32::from_le_bytes([r0, r1, r2, r3]),
            sequence: u64::from_le_bytes([q0, q1, q2, q3, q4, q5, q6, q7]),
            crc: u32::from_le_bytes([c0, c1, c2, c3]),
        })
    }

    /// Returns the checksum of a block: of its header and the checked part of its payload.
    pub(super) fn checksum(self, checked: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let bytes = Self { crc: 0, ..self }.to_bytes();
        hasher.update(bytes.split_last_chunk::<4>().map_or(&[][..], |(before, _)| before));
        hasher.update(checked);
        hasher.finalize()
    }
}

/// Appends a block of a recording to bytes. Its payload is compressed if that makes it smaller.
///
/// # Errors
/// If the payload is longer than a block can be.
pub(super) fn put_block(
    out: &mut Vec<u8>,
    kind: BlockKind,
    sequence: u64,
    payload: &[u8],
    compressor: &mut Compressor,
) -> io::Result<()> {
    put_block_of(out, (kind, 0), sequence, payload, compressor)
}

/// Appends a block of a recording like [`put_block`], with the index, modulo 256, of the `about` block that describes
/// its recorder.
pub(super) fn put_block_of(
    out: &mut Vec<u8>,
    (kind, about): (BlockKind, u8),
    sequence: u64,
    payload: &[u8],
    compressor: &mut Compressor,
) -> io::Result<()> {
    let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a block of a recording is too long");
    let raw = u32::try_from(payload.len()).map_err(too_long)?;
    let (codec, stored) = compressor.compressed(payload);
    let flags = u16::from_le_bytes([0, about]);
    put_stored(
        out,
        BlockHeader { kind, codec: codec.number(), flags, stored: 0, raw, sequence, crc: 0 },
        stored,
    )
}

/// Appends a block of a recording with this payload, which is stored as it is. The header's length and checksum are
/// computed.
pub(super) fn put_stored(out: &mut Vec<u8>, header: BlockHeader, stored: &[u8]) -> io::Result<()> {
    let len = u32::try_from(stored.len()).unwrap_or(u32::MAX);
    if len > BlockHeader::MOST_STORED || header.raw > BlockHeader::MOST_RAW {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a block of a recording is too long"));
    }
    let header = BlockHeader { stored: len, ..header };
    let checked = match header.kind {
        // Each stream of a segment has a checksum of its own, so that one can be read without the others.
        BlockKind::Segment => directory(stored).ok_or(io::ErrorKind::InvalidInput)?,
        _ => stored,
    };
    let crc = header.checksum(checked);
    out.extend_from_slice(&BlockHeader { crc, ..header }.to_bytes());
    out.extend_from_slice(stored);
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    Ok(())
}

/// Alignment in bytes of the blocks in a recording's file: each block begins at a multiple of this length.
pub(super) const ALIGNMENT: usize = 8;

/// Length in bytes of the tail of a segment, which holds the offset and the length of its directory.
pub(super) const SEGMENT_TAIL: usize = 8;

/// Returns the directory of a stored segment with its tail: the part that the block's checksum covers.
pub(super) fn directory(stored: &[u8]) -> Option<&[u8]> {
    let (_, tail) = stored.split_last_chunk::<SEGMENT_TAIL>()?;
    let [.., l0, l1, l2, l3] = *tail;
    let len = usize::try_from(u32::from_le_bytes([l0, l1, l2, l3])).ok()?.checked_add(SEGMENT_TAIL)?;
    stored.get(stored.len().checked_sub(len)?..)
}

/// Compressor of block payloads, with its buffers.
#[derive(Default)]
pub(super) struct Compressor {
    buffer: Vec<u8>,
    #[cfg(feature = "zstd")]
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Compressor {
    /// Creates a compressor of block payloads with this zstd level.
    #[cfg(feature = "zstd")]
    pub fn new(level: i32) -> Self {
        // Without a compressor payloads are stored as they are.
        Self { zstd: zstd::bulk::Compressor::new(level).ok(), ..Self::default() }
    }

    /// Creates a compressor of block payloads that compresses nothing: this build has no zstd.
    #[cfg(not(feature = "zstd"))]
    pub fn new(_level: i32) -> Self {
        Self::default()
    }

    /// Returns the payload of a block, compressed if that makes it smaller.
    pub fn compressed<'a>(&'a mut self, payload: &'a [u8]) -> (Codec, &'a [u8]) {
        #[cfg(feature = "zstd")]
        if let Some(zstd) = &mut self.zstd {
            self.buffer.clear();
            self.buffer.reserve(zstd::zstd_safe::compress_bound(payload.len()));
            if zstd.compress_to_buffer(payload, &mut self.buffer).is_ok_and(|len| len < payload.len()) {
                return (Codec::Zstd, &self.buffer);
            }
        }
        self.buffer.clear();
        (Codec::Plain, payload)
    }
}

thread_local! {
    /// Decompressor of block payloads of this thread, kept because creating one takes longer than decompressing most
    /// payloads.
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::default();
}

/// Length in bytes of a block's payload above which the decompressor is not kept.
const LARGE: usize = 1 << 20;

/// Returns a block's payload as it was before compression. Memory grows with the actual data, not with the length
/// that the header carries.
pub(super) fn decompressed(codec: u8, stored: Vec<u8>, raw: u32) -> Result<Vec<u8>, Malformed> {
    let failed = |what: String| Malformed { offset: 0, what };
    let raw = usize::try_from(raw).unwrap_or(usize::MAX);
    let payload = match Codec::from_number(codec) {
        Some(Codec::Plain) => stored,
        Some(Codec::Zstd) => {
            let decompressed = |of: &RefCell<Decompressor>| match of.try_borrow_mut() {
                Ok(mut of) => {
                    let payload = of.decompressed(&stored, raw);
                    if raw > LARGE {
                        *of = Decompressor::default();
                    }
                    payload
                }
                Err(_) => Decompressor::default().decompressed(&stored, raw),
            };
            DECOMPRESSOR.with(decompressed).map_err(|error| failed(format!("payload: {error}")))?
        }
        None => return Err(failed(format!("codec {codec} is of a later version"))),
    };
    if payload.len() != raw {
        return Err(failed(format!("payload has {} bytes instead of {raw}", payload.len())));
    }
    Ok(payload)
}

/// Largest window of a zstd frame that is decompressed, as a power of two: 8 MiB.
#[cfg(feature = "zstd")]
pub(super) const WINDOW_LOG: u32 = 23;

/// Bytes of a recording's file, which can be read at any offset.
pub trait ReadAt: Send + Sync {
    /// Returns the length of the file in bytes. It can grow while a recorder runs.
    ///
    /// # Errors
    /// If it cannot be found.
    fn length(&self) -> io::Result<u64>;

    /// Reads bytes of the file at an offset, possibly fewer than requested, and returns their number.
    ///
    /// # Errors
    /// If reading the bytes fails.
    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Reads bytes of the file at an offset until `into` is full or the data ends. Returns the number of bytes read.
    ///
    /// # Errors
    /// If reading the bytes fails.
    fn read_at_most(&self, mut into: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let mut read = 0_usize;
        while !into.is_empty() {
            match self.read_some_at(into, offset) {
                Ok(0) => break,
                Ok(len) => {
                    into = into.get_mut(len..).unwrap_or_default();
                    offset = offset.saturating_add(u64::try_from(len).unwrap_or(u64::MAX));
                    read = read.saturating_add(len);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
}

impl ReadAt for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, into, offset)
    }

    #[cfg(windows)]
    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, into, offset)
    }
}

impl ReadAt for Vec<u8> {
    fn length(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.len()).unwrap_or(u64::MAX))
    }

    fn read_some_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let len = from.len().min(into.len());
        into.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        Ok(len)
    }
}
