//! Reading a V1 block or a name table allocates at most four times its bytes, however it is damaged.

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, reason = "a test may fail so")]

use std::hint::black_box;
use std::path::PathBuf;

use perfset_core::v1::{Contents, NameTable, TitleNames, read};
use perfset_core::visit::Mode;

fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/v1").join(name);
    std::fs::read(path).unwrap()
}

/// Reads a V1 block in both modes, and every value.
fn use_block(bytes: &[u8]) {
    let _ = black_box(read(bytes, Mode::Strict));
    let Ok((block, forgiven)) = read(bytes, Mode::Tolerant) else { return };
    black_box(forgiven);
    for object in block.objects().flatten() {
        match object.contents() {
            Contents::Single(values) => values.iter().for_each(|value| {
                black_box(value);
            }),
            Contents::Multiple(instances) => {
                for instance in instances.flatten() {
                    for value in instance.values() {
                        black_box(value);
                    }
                }
            }
            Contents::Metadata { .. } => {}
        }
    }
}

fn check(bytes: &[u8], what: &str, use_it: fn(&[u8])) {
    let most = allocation_counter::measure(|| use_it(bytes)).bytes_max;
    let cap = 4 * u64::try_from(bytes.len()).unwrap();
    assert!(most <= cap, "{what}: {most} bytes at once for {} bytes of input", bytes.len());
}

#[test]
fn damaged_blocks() {
    let vista = "windows-vista/object236-sample0.bin";
    for name in
        ["single.bin", "process-thread.bin", "samba417_global.bin", "wine8_global_as_returned.bin", vista]
    {
        let mut block = file(name);
        for len in 0..=block.len() {
            check(&block[..len], &format!("{name}, {len} bytes"), use_block);
        }
        for at in 0..block.len() {
            let kept = block[at];
            for value in [0, 1, 0x7F, 0x80, 0xFF, kept ^ 1, kept ^ 4] {
                block[at] = value;
                check(&block, &format!("{name}, byte {at} is {value}"), use_block);
            }
            block[at] = kept;
        }
    }
}

#[test]
fn damaged_name_tables() {
    let use_table = |bytes: &[u8]| {
        for pair in NameTable::new(bytes).iter() {
            let _ = black_box(pair);
        }
    };
    let mut table = file("samba417_counter009.bin");
    for len in 0..=table.len() {
        check(&table[..len], &format!("{len} bytes"), use_table);
    }
    for at in 0..table.len() {
        let kept = table[at];
        for value in [0, 1, 0x80, 0xFF, kept ^ 1] {
            table[at] = value;
            check(&table, &format!("byte {at} is {value}"), use_table);
        }
        table[at] = kept;
    }
}

/// Checks V1 blocks and name tables with as many faults as fit into them.
#[test]
fn blocks_full_of_faults_allocate_within_bounds() {
    use perfset_core::CounterType;
    use perfset_core::clock::ClockReading;
    use perfset_core::v1::{BlockBuilder, NewCounter, NewInstance, NewObject};
    let mut builder = BlockBuilder::new(&ClockReading::default(), "");
    let counters = [NewCounter::new(2, CounterType::PERF_COUNTER_LARGE_RAWCOUNT); 32];
    let mut instances = builder.multiple(&NewObject::new(2), &[]);
    for _ in 0..400 {
        instances.instance(&NewInstance::named(&[]), []);
    }
    instances.finish();
    builder.single(&NewObject::new(4), &counters, []);
    let mut block = builder.finish().unwrap();
    check(&block, "many instances", use_block);
    // Their counter blocks have an odd length: 7 of 8 bytes, and what follows is broken too.
    for at in (96 + 64 + 32..block.len()).step_by(40) {
        block[at] = 7;
        check(&block, &format!("until byte {at}"), use_block);
    }
    let zeros: Vec<u8> = std::iter::repeat_n([0, 0], 2_000).flatten().chain([b'x', 0]).collect();
    check(&zeros, "a table of nothing", |bytes| {
        black_box(TitleNames::read(NameTable::new(bytes)));
    });
}

/// Checks that copying the texts of an ordinary name table allocates within the bounds.
#[test]
fn texts_of_a_table() {
    let pairs: Vec<_> = (1..2000).map(|n| (n * 2, format!("Name of counter {n}/sec"))).collect();
    let table = perfset_core::v1::name_table(pairs.iter().map(|(index, text)| (*index, text.as_str())));
    check(&table, "a table of 2000", |bytes| {
        black_box(TitleNames::read(NameTable::new(bytes)));
    });
}
