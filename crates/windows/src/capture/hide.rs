//! Names that a capture does not tell.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use perfset_core::v1::{Contents, DataBlock};
use perfset_core::v2::instances::Instances;
use perfset_core::v2::{Block, Body, PERF_AGGREGATE_INSTANCE};

/// Replaces names of instances: each by letters of its own, as many as it has, so that blocks stay as long as they are
/// and an instance has one name in all of them. What they are is different for each of these.
///
/// Totals and numbers, as processors have for names, stay.
#[derive(Debug, Default)]
pub struct Hidden(RandomState);

impl Hidden {
    /// New letters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// In a list of instances.
    pub fn in_list(&self, list: &mut [u8]) {
        let names = Instances::new(list).flatten();
        let names: Vec<_> = names.map(|instance| place(list, instance.name().as_bytes())).collect();
        self.replace(list, names, 2);
    }

    /// In a PERF_DATA_HEADER block.
    pub fn in_v2(&self, block: &mut [u8]) {
        let mut names = Vec::new();
        for result in Block::parse(block).into_iter().flat_map(|block| block.results().flatten()) {
            if let Body::MultipleInstances(table) | Body::Counterset(_, table) = result.body {
                let rows = table.rows().flatten();
                names.extend(rows.map(|instance| place(block, instance.name().as_bytes())));
            }
        }
        self.replace(block, names, 2);
    }

    /// In a PERF_DATA_BLOCK.
    pub fn in_v1(&self, block: &mut [u8]) {
        let (mut wide, mut narrow) = (Vec::new(), Vec::new());
        for object in DataBlock::parse(block).into_iter().flat_map(|block| block.objects().flatten()) {
            if let Contents::Multiple(instances) = object.contents() {
                for instance in instances.flatten() {
                    let name = instance.name();
                    let names = if name.is_wide() { &mut wide } else { &mut narrow };
                    names.push(place(block, name.as_bytes()));
                }
            }
        }
        self.replace(block, wide, 2);
        self.replace(block, narrow, 1);
    }

    fn replace(&self, bytes: &mut [u8], names: Vec<Range<usize>>, unit: usize) {
        for range in names {
            let Some(name) = bytes.get_mut(range) else { continue };
            if is_told(name, unit) {
                continue;
            }
            let hash = self.0.hash_one(&*name);
            for (position, unit) in (0_u64..).zip(name.chunks_exact_mut(unit)) {
                let letter = self.0.hash_one((hash, position)).checked_rem(26).unwrap_or(0);
                let letter = b'a'.saturating_add(u8::try_from(letter).unwrap_or(0));
                unit.fill(0);
                if let Some(first) = unit.first_mut() {
                    *first = letter;
                }
            }
        }
    }
}

/// Where a name is in the bytes that it was read from.
fn place(bytes: &[u8], name: &[u8]) -> Range<usize> {
    let start = name.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr());
    start..start.saturating_add(name.len())
}

/// Whether a name says nothing of anybody.
fn is_told(name: &[u8], unit: usize) -> bool {
    let units: Vec<u8> = name.iter().step_by(unit).copied().collect();
    let text = String::from_utf8_lossy(&units).replace(PERF_AGGREGATE_INSTANCE, "");
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == 0)
}

/// The name of the machine in the header of a PERF_DATA_BLOCK: as many X.
pub fn machine_in_v1(block: &mut [u8]) {
    let Ok(parsed) = DataBlock::parse(block) else {
        // What cannot be read as a block is nobody's to send.
        block.fill(0);
        return;
    };
    let range = place(block, parsed.system_name().as_bytes());
    for unit in block.get_mut(range).unwrap_or_default().chunks_exact_mut(2) {
        unit.copy_from_slice(&[b'X', 0]);
    }
}
