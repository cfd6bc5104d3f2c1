//! Tests of binary logs: a real log compared with an independent decoder's table; built logs, whole, cut and damaged.

use std::io::Read;

use perfset_core::pdh::{PdhStatus, RawCounter};
use proptest::prelude::*;

use super::building::*;
use super::*;

/// Returns the text of each raw value in a binary log, one line each as in the decoder's table, and the log's damage.
fn raw_values(log: &[u8]) -> (Vec<String>, Damages) {
    let mut lines = Vec::new();
    let mut log = BlgReader::open(log).unwrap();
    let mut number = 0;
    while let Some(record) = log.next_record().unwrap() {
        let Record::Sample(sample) = record else { continue };
        let blocks: Vec<_> = sample.blocks().map(|block| values_of(&block.unwrap())).collect();
        let mut of_sample = Vec::new();
        for (counter, values) in log.counters().iter().zip(blocks) {
            for (instance, raw) in values {
                let counter = match instance {
                    None => counter.clone(),
                    Some(name) => CounterRecord { instance: Some(name), ..counter.clone() },
                };
                let RawCounter { c_status, time, first, second, multi_count } = raw;
                let (counter_type, PdhStatus(c_status)) = (counter.counter_type.0, c_status);
                of_sample.push(format!(
                    "{number}\t{time}\t{counter}\t{counter_type:#010x}\t{c_status}\t{first}\t{second}\t{multi_count}"
                ));
            }
        }
        of_sample.sort();
        lines.extend(of_sample);
        number += 1;
    }
    (lines, log.damages().clone())
}

fn values_of(block: &CounterBlock<'_>) -> Vec<(Option<String>, RawCounter)> {
    match block {
        CounterBlock::Counter(raw) => vec![(None, *raw)],
        CounterBlock::Instances(instances) => {
            instances.iter().map(|(name, raw)| (Some(name.to_string()), raw)).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_real_log_has_every_value_of_the_table() {
    let mut table = String::new();
    let compressed = testdata("logs/BasicPerfCounters.raw.tsv.gz");
    flate2::read::GzDecoder::new(&*compressed).read_to_string(&mut table).unwrap();
    let want: Vec<&str> = table.lines().collect();
    let (got, damages) = raw_values(&basic());
    assert_eq!(damages, Damages::default());
    assert_eq!(got.len(), 6_010);
    for (got, want) in got.iter().zip(&want) {
        assert_eq!(got, want);
    }
    assert_eq!(got.len(), want.len());
}

#[test]
fn real_log_header_and_counters_are_read() {
    let bytes = basic();
    let mut log = BlgReader::open(&*bytes).unwrap();
    let header = log.header().clone();
    assert_eq!(
        (header.buffer_size, header.build, header.processors, header.pointer_size),
        (65_536, 9_200, 1, 8)
    );
    assert_eq!((header.start_time, header.end_time), (130_058_022_178_447_225, 130_058_028_178_563_349));
    assert_eq!((header.boot_time, header.perf_freq), (130_055_197_074_888_932, 2_725_536));
    assert_eq!((header.buffers_written, header.buffers_lost, header.events_lost), (6, 0, 0));
    assert_eq!(header.logger_name, "84c9b5fa-8231-45ce-87a3-3814569c135f");
    assert_eq!(header.file_name, r"C:\PerfLogs\Admin\Basic\BasicPerfCounters02.blg");
    let (mut samples, mut first, mut last) = (0, None, 0);
    while let Some(record) = log.next_record().unwrap() {
        if let Record::Sample(sample) = record {
            samples += 1;
            first = first.or(Some(sample.time));
            last = sample.time;
        }
    }
    let first = first.unwrap();
    assert_eq!((samples, (last - first + 5_000_000) / 10_000_000), (601, 600));
    // Raw values of 100 ns types are UTC: eight hours more than the local time of their record.
    assert_eq!(header.bias_minutes(first), 480);
    let paths: Vec<String> = log.counters().iter().map(ToString::to_string).collect();
    assert_eq!(paths[0], r"\\GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read");
    assert_eq!(paths[5], r"\\GEORGIS3\Processor(*)\% Processor Time");
    let [.., of_processor] = log.counters() else { panic!() };
    assert_eq!((of_processor.what, of_processor.time_base), (EntryScope::Instances, 10_000_000));
    assert_eq!(log.counters().len(), 6);
    assert_eq!((log.summary(), log.names()), (None, &BlgNames::default()));
}

#[test]
fn first_bytes_tell() {
    let bytes = basic();
    assert!(is_one(&bytes[..TELLING]) && !is_one(&bytes[..TELLING - 1]));
    for (name, bytes) in [
        ("nothing", &b""[..]),
        ("a text log", b"\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\A\\B\"\r\n"),
        ("zeros", &[0; 65_536]),
        ("a V1 block", &testdata("v1/windows-vista/object2-sample0.bin")),
    ] {
        assert!(!is_one(bytes), "{name}");
        assert!(matches!(BlgReader::open(bytes), Err(BlgError::NoLog)), "{name}");
    }
}

/// Returns a text for each record of a binary log, and the damage of the log.
fn records(log: &[u8]) -> (Vec<String>, Vec<String>) {
    let mut all = Vec::new();
    let mut log = BlgReader::open(log).unwrap();
    while let Some(record) = log.next_record().unwrap() {
        all.push(match record {
            Record::Sample(sample) => {
                let blocks = sample.blocks().map(|block| match block {
                    Ok(CounterBlock::Object(bytes)) => format!("object of {} bytes", bytes.len()),
                    Ok(CounterBlock::Counter(raw)) => format!("counter {}/{}", raw.first, raw.second),
                    Ok(CounterBlock::Instances(instances)) => {
                        format!("instances {}", instances.iter().count())
                    }
                    Ok(CounterBlock::Unknown(kind)) => format!("unknown {kind}"),
                    Err(error) => error.to_string(),
                });
                format!("sample: {}", blocks.collect::<Vec<_>>().join(", "))
            }
            Record::Unknown { record_type, .. } => format!("unknown {record_type:#x}"),
            other => format!("{other:?}"),
        });
    }
    let damages = log.damages().first().iter().map(ToString::to_string).collect();
    (all, damages)
}

#[test]
fn objects_names_and_summaries() {
    let object = testdata("v1/windows-vista/object230-sample0.bin");
    assert!(object.len() > MOST_OF_PART, "{}", object.len());
    let names = [wide(r"\\HOST"), wide("2"), wide("System"), wide("4"), wide("Memory")].concat();
    let more = [wide("6"), wide("% Processor Time")].concat();
    let mut summary = [7_i64.to_le_bytes(), 11_i64.to_le_bytes()].concat();
    summary.extend([13_u32, 17, 48, 0x05FF].iter().flat_map(|number| number.to_le_bytes()));
    let log = Builder::new()
        .record(0x24, &names)
        .record(0x24, &more)
        .record(0x20, &[0xFF, 6, 0, 0, 8, 0, 2, 0])
        .record(0x22, &sample(&[(5, &object), (77, b"1234567"), (5, b"")]))
        .record(0x99, b"nobody knows")
        .record(0x23, &summary)
        .finish();
    let (all, damages) = records(&log);
    let of_sample = format!("sample: object of {} bytes, unknown 77, object of 0 bytes", object.len());
    assert_eq!(all, ["Names", "Names", "Counters", &of_sample, "unknown 0x99", "Summary"]);
    assert_eq!(damages, [""; 0]);
    let mut reader = BlgReader::open(&*log).unwrap();
    while let Some(record) = reader.next_record().unwrap() {
        if let Record::Sample(sample) = record {
            let Ok(CounterBlock::Object(bytes)) = sample.block(0) else { panic!() };
            assert_eq!(bytes, object);
            assert!(matches!(sample.block(1), Ok(CounterBlock::Unknown(77))) && sample.block(3).is_err());
        }
    }
    let (table, problems) = perfset_core::v1::TitleNames::read(reader.names().table());
    assert_eq!((problems.len(), reader.names().machine.as_str()), (0, r"\\HOST"));
    assert_eq!([2, 4, 6].map(|index| table.get(index).unwrap()), ["System", "Memory", "% Processor Time"]);
    assert_eq!(reader.summary(), Some(&Summary { first: 7, last: 11, samples: 13, objects: 17 }));
}

#[test]
fn parts_that_do_not_fit_are_left_out() {
    let long = sample(&[(5, &[7; 20_000])]);
    let part = |number: usize| &long[(number - 1) * MOST_OF_PART..long.len().min(number * MOST_OF_PART)];
    let log = |parts: &[(u8, u32, u32)]| {
        let mut builder = Builder::new();
        for (record_type, number, count) in parts {
            builder.event(*record_type, *number, *count, part(usize::try_from(*number).unwrap()));
        }
        records(&builder.record(0x22, &sample(&[])).finish())
    };
    let whole = "sample: object of 20000 bytes";
    let lost = |what: &str| format!("at byte {}: {what}", BUFFER + 72);
    for (parts, all, damages) in [
        (&[(0x22, 1, 3), (0x22, 2, 3), (0x22, 3, 3)][..], &[whole, "sample: "][..], &[][..]),
        (
            &[(0x22, 1, 3), (0x22, 2, 3)],
            &["sample: "],
            &["a record is left out: only 2 of its 3 parts are there"],
        ),
        (&[(0x22, 2, 3)], &["sample: "], &["part 2 of 3 is left out: it does not go on with a record"]),
        (
            &[(0x22, 1, 3), (0x22, 1, 3), (0x22, 2, 3), (0x22, 3, 3)],
            &[whole, "sample: "],
            &["a record is left out: only 1 of its 3 parts are there"],
        ),
    ] {
        let want: Vec<String> = damages.iter().map(|what| lost(what)).collect();
        assert_eq!(log(parts), (all.iter().map(ToString::to_string).collect(), want), "{parts:?}");
    }
    let (all, damages) = log(&[(0x22, 1, 3), (0x22, 3, 3)]);
    assert_eq!((all.len(), damages.len()), (1, 2), "{damages:?}");
    let (all, damages) = log(&[(0x22, 1, 3), (0x20, 2, 3), (0x22, 2, 3)]);
    assert_eq!((all.len(), damages.len()), (1, 3), "{damages:?}");
}

#[test]
fn lying_sizes_and_counts() {
    let instances = |count: u32, items: usize| {
        let mut body = [0_u32, count, 0, 0, 0, 0].iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
        body.resize(body.len() + items * 24, 0);
        body
    };
    for (payload, want) in [
        (sample(&[(2, &instances(2, 2))]), "sample: instances 2"),
        (
            sample(&[(2, &instances(0xFFFF_FFFF, 2))]),
            "sample: instances of a counter at byte 16: counts 4294967295 items, the bytes have room for 2",
        ),
        (sample(&[(1, &[0; 39])]), "sample: PDH_RAW_COUNTER at byte 16: needs 40 bytes, 39 are left"),
        (
            [&b"BL\x03\0\x18\0\0\0"[..], b"BL\x03\x01\xFF\0\0\0", &[0; 8]].concat(),
            "sample: block of a sample, size at byte 12: size field is 255, but only 8 bytes follow the header",
        ),
        (
            [&b"BL\x03\0\x18\0\0\0"[..], b"XX\x03\x01\x08\0\0\0", &[0; 8]].concat(),
            "sample: block of a sample, magic at byte 8: is 22616, which is not defined",
        ),
    ] {
        let (all, damages) = records(&Builder::new().record(0x22, &payload).finish());
        assert_eq!((all, damages), (vec![want.to_owned()], vec![]));
    }
    for (payload, want) in [
        (
            &b"BL\x03\0\xFF\0\0\0"[..],
            "sample, size at byte 4: size field is 255, but only 0 bytes follow the header",
        ),
        (b"XX\x03\0\x08\0\0\0", "sample, magic at byte 0: is 22616, which is not defined"),
        (b"BL", "sample at byte 0: needs 8 bytes, 2 are left"),
    ] {
        let (all, damages) = records(&Builder::new().record(0x22, payload).finish());
        let want = format!("at byte {}: a sample is left out: {want}", BUFFER + 72);
        assert_eq!((all.len(), damages), (0, vec![want]));
    }
}

/// Returns a short binary log made of the first buffer of a log that Windows wrote and one other buffer of that log.
/// The whole log cut in that buffer is the same to a reader, which has one buffer at a time; to read all before it
/// each time would take minutes.
fn shortened(whole: &[u8], buffer: usize) -> Vec<u8> {
    let mut log = whole[..BUFFER].to_vec();
    log.extend(&whole[buffer * BUFFER..][..BUFFER]);
    buffers_written(&mut log, 2);
    log
}

/// Checks that each prefix of a binary log is an error, or gives the samples before the cut and reports the cut as
/// damage.
#[test]
fn every_cut_of_a_log_is_reported() {
    let whole = basic();
    let buffers = whole.len() / BUFFER;
    for buffer in 1..buffers {
        let log = shortened(&whole, buffer);
        let (all, damages) = records(&log);
        assert_eq!(damages, [""; 0]);
        // The beginning at every length, the rest at some that differ from buffer to buffer.
        let every = if buffer == 1 { 0..BUFFER + 8_000 } else { BUFFER..BUFFER + 1 };
        let some = (every.end + buffer..log.len()).step_by(101);
        for len in every.chain(some) {
            let mut reader = match BlgReader::open(&log[..len]) {
                Ok(reader) => reader,
                Err(BlgError::NoLog | BlgError::Header(_)) if len < BUFFER => continue,
                Err(other) => panic!("{len}: {other}"),
            };
            while reader.next_record().unwrap().is_some() {}
            assert_eq!(reader.damages().count(), 1, "{buffer}, {len}: {:?}", reader.damages());
            if len % 499 == 0 {
                assert!(all.starts_with(&records(&log[..len]).0), "{buffer}, {len}");
            }
        }
    }
    for len in (0..=buffers).flat_map(|n| [n * BUFFER, n * BUFFER + 1, (n * BUFFER).saturating_sub(1)]) {
        let Some(cut) = whole.get(..len) else { continue };
        let is_reported = BlgReader::open(cut).is_err() || raw_values(cut).1.count() > 0;
        assert_eq!(is_reported, len < whole.len(), "{len}");
    }
}

/// Checks that a binary log is whole if its header has no number of buffers, or a number smaller than that of its
/// buffers.
#[test]
fn buffers_that_a_log_does_not_count() {
    let whole = basic();
    for (said, is_whole) in [(0, true), (1, true), (5, true), (6, true), (7, false), (u32::MAX, false)] {
        let mut log = whole.clone();
        buffers_written(&mut log, said);
        assert_eq!(raw_values(&log).1.is_empty(), is_whole, "{said}");
    }
}

/// Reads all samples, blocks and names of a binary log. Returns the number of samples.
fn read_all(log: &[u8]) -> usize {
    let Ok(mut log) = BlgReader::open(log) else { return 0 };
    let mut samples = 0;
    while let Some(record) = log.next_record().unwrap() {
        if let Record::Sample(sample) = record {
            samples += 1;
            for block in sample.blocks() {
                if let Ok(CounterBlock::Instances(instances)) = block {
                    instances.iter().for_each(|(name, _)| drop(name.to_string()));
                }
            }
        }
    }
    let _ = log.counters().iter().map(ToString::to_string).map(|path| path.len()).sum::<usize>();
    samples
}

#[test]
fn one_changed_byte_loses_little() {
    let mut log = basic();
    log.truncate(BUFFER + 8_000);
    let whole = read_all(&log);
    for at in (0..600).chain(BUFFER..BUFFER + 3_000) {
        for change in [0x01, 0x80, 0xFF] {
            log[at] ^= change;
            let samples = read_all(&log);
            // Of a damaged header of the file or of a buffer all may be lost; of an event that alone.
            let is_event = at >= BUFFER + 72;
            assert!(!is_event || samples + 1 >= whole, "{at} ^ {change:#x}: {samples} of {whole}");
            log[at] ^= change;
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_in_a_buffer(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), at in 0_usize..BUFFER) {
        let mut log = basic();
        log.truncate(3 * BUFFER);
        log[BUFFER + at..][..bytes.len()].copy_from_slice(&bytes);
        read_all(&log);
    }

    #[test]
    fn any_payload(record_type in prop_oneof![Just(0x20_u8), Just(0x22), Just(0x23), Just(0x24)],
        payload in proptest::collection::vec(any::<u8>(), 0..20_000)) {
        read_all(&Builder::new().record(record_type, &payload).finish());
    }
}
