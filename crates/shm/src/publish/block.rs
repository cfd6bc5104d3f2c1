//! Instances of countersets that are not Rust structs: a block that C code writes to through pointers.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::slots::Slot;
use super::store::{InstanceRef, Store};

/// Instance of a counterset as a PERF_COUNTERSET_INSTANCE block: 32 bytes, an 8-byte value per counter, and the name.
/// The instance exists until this value is dropped.
///
/// Any holder of the block's address may write to the values at any time, even after the drop: the memory stays
/// mapped. Its reuse is delayed as long as possible, so that such writes harm no other instance.
#[derive(Debug)]
pub struct InstanceBlock {
    store: Arc<Store>,
    slot: Slot,
    instance: InstanceRef,
    sequence: u64,
}

impl InstanceBlock {
    pub(super) fn new(store: Arc<Store>, slot: Slot, instance: InstanceRef, sequence: u64) -> Self {
        Self { store, slot, instance, sequence }
    }

    /// Returns the words of the block, from the header to the start of the next block; aligned to 64 bytes.
    #[must_use]
    pub fn words(&self) -> &'static [AtomicU64] {
        self.slot.block
    }

    /// Returns the instance's values, in the order of the counters.
    #[must_use]
    pub fn values(&self) -> &'static [AtomicU64] {
        self.slot.values
    }

    /// Returns the instance's sequence number in the file, by which readers distinguish this instance from all
    /// others.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }
}

impl Drop for InstanceBlock {
    fn drop(&mut self) {
        self.store.delete(&self.instance);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::Ordering::Relaxed;

    use perfset_core::{
        Attributes, Counter, CounterId, CounterType, Counterset, DetailLevel, Guid, InstanceType,
    };

    use super::super::{CreateError, Publisher};
    use super::*;
    use crate::folder::Folders;
    use crate::layout::{self, SegmentLayout, entry, header};
    use crate::memory::load_bytes;

    fn counterset(counters: u32) -> Arc<Counterset> {
        let counter = |id: u32| {
            Counter::new(CounterId(id), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .attributes(Attributes::default())
                .detail(DetailLevel::NOVICE)
                .default_scale(0)
        };
        let guid =
            [0xDD, 0xAA, 0xEE, 0xFF, 0x23, 0xC9, 0x94, 0x47, 0xB6, 0x96, 0x70, 0x57, 0x76, 0x30, 0xB5, 0xCF];
        Arc::new(
            Counterset::unnamed(Guid::from_wire(guid), InstanceType::Multiple)
                .counters((1..=counters).map(counter)),
        )
    }

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("perfset-block-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    fn units(name: &str) -> Vec<u16> {
        name.encode_utf16().collect()
    }

    fn bytes(block: &InstanceBlock) -> Vec<u8> {
        let mut bytes = Vec::new();
        load_bytes(block.words(), &mut bytes);
        bytes
    }

    /// Checks that an instance block has the same bytes as the worked example for the Windows function
    /// PerfCreateInstance.
    #[test]
    fn a_block_is_laid_out_as_on_windows() {
        let folder = scratch("layout");
        let publisher = Publisher::in_folders(Folders::only(&folder));
        let set = counterset(2);
        let block = publisher.create(&set, &units("Inst1"), None, 0).unwrap();
        assert_eq!(block.values().len(), 2);
        block.values()[0].store(7, Relaxed);
        block.values()[1].store(9, Relaxed);
        #[rustfmt::skip]
        let wanted = [
            0xdd, 0xaa, 0xee, 0xff,  0x23, 0xc9, 0x94, 0x47,  0xb6, 0x96, 0x70, 0x57,  0x76, 0x30, 0xb5, 0xcf,
            0x40, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x30, 0x00, 0x00, 0x00,  0x0c, 0x00, 0x00, 0x00,
            0x07, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,  0x09, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
            0x49, 0x00, 0x6e, 0x00,  0x73, 0x00, 0x74, 0x00,  0x31, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
        ];
        assert_eq!(bytes(&block)[..64], wanted);
        assert!(bytes(&block)[64..].iter().all(|byte| *byte == 0));
        assert_eq!(block.words().as_ptr().addr() % 64, 0);
        let next = publisher.create(&set, &units("Inst1"), None, 1).unwrap();
        assert_eq!(next.words().as_ptr().addr() % 64, 0);
        assert!(next.sequence() > block.sequence());
        // The file has it, where the layout says.
        let file = std::fs::read(publisher.path().unwrap()).unwrap();
        let word = |at: usize| u64::from_ne_bytes(file[8 * at..][..8].try_into().unwrap());
        let instances = header::TABLE + entry::WORDS;
        assert_eq!(word(instances + entry::KIND), entry::INSTANCES);
        let (at, len) = (word(instances + entry::AT) as usize, word(instances + entry::LEN) as usize);
        let head = std::array::from_fn(|n| word(at / 8 + n));
        let shape = SegmentLayout::parse(head, len).unwrap();
        assert_eq!(file[at + 8 * shape.block(0).start..][..64], wanted);
        assert_eq!(word(at / 8 + shape.sequence(0)), block.sequence());
        drop((block, next, publisher));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn one_of_a_name_and_id() {
        let folder = scratch("names");
        let publisher = Publisher::in_folders(Folders::only(&folder));
        let set = counterset(1);
        let create = |name: &str, id| publisher.create(&set, &units(name), None, id);
        let a = create("a", 5).unwrap();
        assert_eq!(create("a", 5).unwrap_err(), CreateError::Exists);
        let others = [create("a", 6).unwrap(), create("b", 5).unwrap(), create("A", 5).unwrap()];
        let is_live = |block: &InstanceBlock| {
            let state = std::fs::read(publisher.path().unwrap()).unwrap();
            let sequence = block.sequence().to_ne_bytes();
            assert!(layout::is_live(block.sequence()));
            state.chunks_exact(8).any(|word| word == sequence)
        };
        assert!(is_live(&a) && others.iter().all(is_live));
        drop(a);
        let again = create("a", 5).unwrap();
        assert!(others.iter().all(|other| other.sequence() != again.sequence() && is_live(other)));
        drop((again, others, publisher));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Checks that a program with 4-byte characters finds its own copy of the name in the block, and the UTF-16 name
    /// keeps its usual place.
    #[test]
    fn a_name_in_other_units() {
        let folder = scratch("own");
        let publisher = Publisher::in_folders(Folders::only(&folder));
        let set = counterset(3);
        for len in [0, 1, 2, 29, 30, 31, 32, 126, 127, 128, 400, 1022, 1023] {
            let name = vec![b'x'.into(); len];
            let own: Vec<u8> =
                (0..len).map(|_| u32::from(b'X')).chain([0]).flat_map(u32::to_le_bytes).collect();
            let block = publisher.create(&set, &name, Some(&own), 0).unwrap();
            let bytes = bytes(&block);
            let number = |at: usize| u32::from_le_bytes(bytes[at..][..4].try_into().unwrap()) as usize;
            let (size, own_at, own_len) = (number(16), number(24), number(28));
            assert_eq!(own_len, own.len());
            assert_eq!(bytes[own_at..][..own_len], own, "{len}");
            assert_eq!((size % 8, own_at % 4), (0, 0));
            assert!(own_at + own_len <= size && size <= bytes.len(), "{len}");
            let name_at = 32 + 3 * 8;
            assert!(name_at + 2 * (len + 1) <= own_at);
            assert!(bytes[name_at..][..2 * len].chunks(2).all(|unit| unit == [b'x', 0]));
            assert_eq!(bytes[name_at + 2 * len..][..2], [0, 0]);
        }
        let too_long = vec![b'x'.into(); 4000];
        assert_eq!(publisher.create(&set, &too_long, None, 0).unwrap_err(), CreateError::NoMemory);
        drop(publisher);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn write_after_drop_does_not_reach_the_file() {
        let folder = scratch("after");
        let publisher = Publisher::in_folders(Folders::only(&folder));
        let block = publisher.create(&counterset(1), &units("a"), None, 0).unwrap();
        let (values, file) = (block.values(), publisher.path().unwrap());
        let file = std::fs::File::open(file).unwrap();
        values[0].store(0x1234_5678_9ABC_DEF0, Relaxed);
        drop((block, publisher));
        values[0].store(0x0FED_CBA9_8765_4321, Relaxed);
        assert_eq!(values[0].load(Relaxed), 0x0FED_CBA9_8765_4321);
        let mut left = Vec::new();
        std::io::Read::read_to_end(&mut &file, &mut left).unwrap();
        assert!(!left.chunks(8).any(|word| word == 0x0FED_CBA9_8765_4321_u64.to_ne_bytes()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn without_a_file_blocks_are_private() {
        let publisher = Publisher::in_folders(Folders::only("/proc/nowhere"));
        let block = publisher.create(&counterset(1), &units("a"), None, 0).unwrap();
        block.values()[0].fetch_add(3, Relaxed);
        assert_eq!(bytes(&block)[32..40], 3_u64.to_le_bytes());
        assert!(publisher.problem().is_some());
    }
}
