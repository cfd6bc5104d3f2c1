//! Tests of the registry's functions as V1 consumers call them, compared with the engine; on a machine of test data.
#![cfg(target_os = "linux")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::multiple_unsafe_ops_per_block,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail"
)]

use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Once;

use perflib::registry::*;
use perflib::windows::*;
use perfset::v1::{Contents, NameTable, TitleNames, read};
use perfset::visit::Mode;

type Handle = *mut std::ffi::c_void;

/// Returns the handle of a registry key as a C header defines it: `(HKEY)(ULONG_PTR)((LONG)0x80000004)`.
fn key(number: u32) -> Handle {
    number as i32 as isize as Handle
}

const LOCAL_MACHINE: u32 = 0x8000_0002;
const DATA: u32 = 0x8000_0004;
const TEXT: u32 = 0x8000_0050;
const NLS_TEXT: u32 = 0x8000_0060;
const PERFORMANCE: [u32; 3] = [DATA, TEXT, NLS_TEXT];

fn setup() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux/small-vm");
        for (name, folder) in [("PERFSET_PROC", "proc"), ("PERFSET_SYS", "sys")] {
            // SAFETY: every test comes through here before it does anything else, and nothing writes it later.
            unsafe { std::env::set_var(name, root.join(folder)) };
        }
    });
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

fn utf32(text: &str) -> Vec<u32> {
    text.chars().map(u32::from).chain([0]).collect()
}

/// Response to a query of a registry value: code, type and size, and the bytes.
struct Answer {
    code: u32,
    kind: u32,
    size: u32,
    bytes: Vec<u8>,
}

/// Queries a registry value with a buffer of that size, or only its size; `None` as a name is a null pointer.
fn value(of: u32, name: Option<&str>, room: Option<u32>, size: u32) -> Answer {
    setup();
    let wide = name.map(utf16);
    let name = wide.as_ref().map_or(null(), |name| name.as_ptr().cast());
    let mut bytes = vec![0xC5; room.unwrap_or(0) as usize];
    let (mut kind, mut len) = (77, size);
    let at = if room.is_some() { bytes.as_mut_ptr() } else { null_mut() };
    // SAFETY: a name, a buffer of that room or none, and places for the type and the size.
    let code = unsafe { perflib_RegQueryValueExW(key(of), name, null(), &mut kind, at, &mut len) };
    if code == 0 {
        bytes.truncate(len as usize);
    } else {
        assert!(bytes.iter().all(|byte| *byte == 0xC5), "nothing is written with code {code}");
    }
    Answer { code, kind, size: len, bytes }
}

fn whole(of: u32, name: &str) -> Vec<u8> {
    let answer = value(of, Some(name), Some(1 << 20), 1 << 20);
    assert_eq!((answer.code, answer.size as usize), (0, answer.bytes.len()), "{name}");
    answer.bytes
}

#[test]
fn blocks_have_windows_size_protocol() {
    for of in PERFORMANCE {
        for name in [None, Some(""), Some("Global"), Some("2"), Some("invalid counter name"), Some("System")]
        {
            let asked = format!("{of:x} {name:?}");
            let none = value(of, name, None, 0);
            assert_eq!((none.code, none.size), (234, 0), "{asked}");
            let small = value(of, name, Some(10), 10);
            assert_eq!((small.code, small.size), (234, 10), "{asked}");
            let no_buffer = value(of, name, None, 1 << 20);
            assert_eq!((no_buffer.code, no_buffer.size), (234, 1 << 20), "{asked}");
            let all = value(of, name, Some(1 << 20), 1 << 20);
            assert_eq!((all.code, all.kind), (0, 3), "{asked}");
            let (block, forgiven) = read(&all.bytes, Mode::Strict).unwrap();
            assert!(forgiven.is_empty());
            let objects = match name {
                None | Some("" | "Global") => 4..100,
                Some("2") => 1..2,
                _ => 0..1,
            };
            assert!(objects.contains(&(block.object_count() as usize)), "{asked}: {}", block.object_count());
            let exact = value(of, name, Some(all.size), all.size);
            assert_eq!((exact.code, exact.size), (0, all.size), "{asked}");
            let one_less = value(of, name, Some(all.size - 1), all.size - 1);
            assert_eq!((one_less.code, one_less.size), (234, all.size - 1), "{asked}");
        }
    }
    assert_eq!(word(&whole(DATA, "Global"), 32), 238, "Processor is the default");
}

#[test]
fn tables_of_names() {
    setup();
    let machine = perfset::separate(true);
    for (word, want) in [("Counter", "Counter 009"), ("Help", "Help 009"), ("Explain", "Help 009")] {
        let want = perfset::v1::query(&machine, &want.parse().unwrap(), "").unwrap().bytes;
        for of in PERFORMANCE {
            for suffix in ["", " 009", " 9", " 0409", "Suffix", " 00C", " zz"] {
                for name in [format!("{word}{suffix}"), format!("{word}{suffix}").to_uppercase()] {
                    assert!(whole(of, &name) == want, "{name}");
                }
            }
            // The size protocol does not depend on the name.
            let size = value(of, Some(word), None, 0);
            assert_eq!((size.code, size.kind, size.size as usize), (0, 7, want.len()), "{word}");
            let short = value(of, Some(word), Some(10), 10);
            assert_eq!((short.code, short.size as usize), (234, want.len()), "{word}");
        }
    }
    let table = whole(DATA, "Counter");
    let (names, skipped) = TitleNames::read(NameTable::new(&table));
    assert!(skipped.is_empty());
    assert_eq!(
        (names.get(1), names.get(238), names.get(6)),
        (Some("1847"), Some("Processor"), Some("% Processor Time"))
    );

    // A program with 4-byte units, and one with narrow text, get the same table.
    let mut wide = vec![0; table.len() * 2];
    let mut narrow = vec![0; table.len()];
    let (mut wide_len, mut narrow_len) = (wide.len() as u32, narrow.len() as u32);
    // SAFETY: names, buffers of these sizes, and places for the sizes.
    let codes = unsafe {
        [
            perflib_RegQueryValueExW_utf32(
                key(TEXT),
                utf32("Counter").as_ptr().cast(),
                null(),
                null_mut(),
                wide.as_mut_ptr(),
                &mut wide_len,
            ),
            perflib_RegQueryValueExA(
                key(TEXT),
                c"counter 009".as_ptr().cast(),
                null(),
                null_mut(),
                narrow.as_mut_ptr(),
                &mut narrow_len,
            ),
        ]
    };
    assert_eq!((codes, wide_len as usize), ([0, 0], table.len() * 2));
    let units = table.chunks_exact(2).flat_map(|unit| [unit[0], unit[1], 0, 0]);
    assert!(units.eq(wide), "ASCII, so that a unit is a character");
    let bytes = table.chunks_exact(2).map(|unit| unit[0]);
    assert!(bytes.eq(narrow[..narrow_len as usize].iter().copied()));
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

#[test]
fn blocks_with_4_byte_names() {
    whole(DATA, "Global"); // some counters of Perfset Engine have a value from the second collection on
    setup();
    for narrow in [false, true] {
        let mut bytes = vec![0; 1 << 20];
        let mut len = bytes.len() as u32;
        let (wide_name, narrow_name) = (utf32("Global"), c"Global");
        // SAFETY: a name, a buffer of that size, and a place for the size.
        let code = unsafe {
            match narrow {
                false => perflib_RegQueryValueExW_utf32(
                    key(DATA),
                    wide_name.as_ptr().cast(),
                    null(),
                    null_mut(),
                    bytes.as_mut_ptr(),
                    &mut len,
                ),
                true => perflib_RegQueryValueExA_utf32(
                    key(DATA),
                    narrow_name.as_ptr().cast(),
                    null(),
                    null_mut(),
                    bytes.as_mut_ptr(),
                    &mut len,
                ),
            }
        };
        assert_eq!(code, 0);
        bytes.truncate(len as usize);
        let like = whole(DATA, "Global");
        assert_eq!(facts_of_utf32(&bytes), facts(&like));
    }
}

/// Lists the objects, definitions and instances of a V1 block. Of values only the presence, because some are clocks.
fn facts(block: &[u8]) -> Vec<String> {
    let (block, _) = read(block, Mode::Strict).unwrap();
    let mut facts = vec![block.system_name().to_string()];
    for object in block.objects().flatten() {
        let definitions: Vec<usize> = object.definitions().iter().map(|d| d.name_index() as usize).collect();
        facts.push(format!("{} {definitions:?}", object.name_index()));
        if let Contents::Multiple(instances) = object.contents() {
            for instance in instances {
                facts.push(instance.unwrap().name().to_string());
            }
        }
    }
    facts
}

fn facts_of_utf32(block: &[u8]) -> Vec<String> {
    let text = |bytes: &[u8]| -> String {
        let units = bytes.chunks_exact(4).map(|unit| u32::from_le_bytes(unit.try_into().unwrap()));
        let (text, nul): (Vec<u32>, Vec<u32>) = units.partition(|unit| *unit != 0);
        assert_eq!(nul.len(), 1, "the NUL counts");
        text.into_iter().map(|unit| char::from_u32(unit).unwrap()).collect()
    };
    assert_eq!((word(block, 20), word(block, 84)), (block.len(), 88));
    let mut facts = vec![text(&block[88..88 + word(block, 80)])];
    let mut rest = &block[word(block, 24)..];
    assert_eq!(word(block, 24) % 8, 0);
    for _ in 0..word(block, 28) {
        let (object, after) = rest.split_at(word(rest, 0));
        rest = after;
        let definitions: Vec<usize> = (0..word(object, 32)).map(|i| word(object, 64 + 40 * i + 4)).collect();
        facts.push(format!("{} {definitions:?}", word(object, 12)));
        let mut data = &object[word(object, 4)..];
        let count = word(object, 40) as u32 as i32;
        for _ in 0..count {
            let (instance, after) = data.split_at(word(data, 0));
            assert_eq!((instance.len() % 8, word(instance, 16)), (0, 24));
            facts.push(text(&instance[24..24 + word(instance, 20)]));
            data = &after[word(after, 0)..];
        }
        match count {
            -1 => assert_eq!(word(data, 0), data.len(), "one counter block"),
            _ => assert_eq!(data, [0_u8; 0], "nothing is left"),
        }
    }
    assert_eq!(rest, [0_u8; 0]);
    facts
}

#[test]
fn other_functions_of_the_keys() {
    setup();
    let mut out = 9 as Handle;
    for of in PERFORMANCE {
        let key = key(of);
        let name = utf16("anything");
        // SAFETY: names or null, and places for what is told.
        unsafe {
            assert_eq!(perflib_RegOpenKeyW(key, null(), &mut out), 6);
            assert_eq!(perflib_RegOpenKeyW(key, name.as_ptr().cast(), &mut out), 6);
            assert_eq!(perflib_RegOpenKeyExW(key, name.as_ptr().cast(), 0, 1, &mut out), 6);
            let (mut keys, mut values, mut longest) = (7, 7, 7);
            let no = null_mut::<u32>();
            let (mut class, mut class_len) = ([7_u16; 4], 4);
            let at = class.as_mut_ptr().cast();
            let info = perflib_RegQueryInfoKeyW(
                key,
                at,
                &mut class_len,
                null(),
                &mut keys,
                no,
                no,
                &mut values,
                no,
                &mut longest,
                no,
                null_mut(),
            );
            assert_eq!((class, class_len), ([0, 7, 7, 7], 0), "there is no class");
            assert_eq!((info, keys, values), (0, 0, 2));
            assert_eq!(longest as usize, whole(of, "Help").len().max(whole(of, "Counter").len()));
            let reserved = 0;
            let info = perflib_RegQueryInfoKeyW(
                key,
                null_mut(),
                no,
                &reserved,
                no,
                no,
                no,
                no,
                no,
                no,
                no,
                null_mut(),
            );
            assert_eq!(info, 87);
        }
        assert_eq!(perflib_RegQueryValue(key), 6);
        assert_eq!(perflib_RegSetValue(key), 6);
        assert_eq!([perflib_RegEnumValue(key, 0), perflib_RegEnumValue(key, 2)], [234, 259]);
        let (enumerate, set) = if of == DATA { (6, 6) } else { (259, 1010) };
        assert_eq!((perflib_RegEnumKeyEx(key), perflib_RegSetValueEx(key)), (enumerate, set));
        assert_eq!([perflib_RegCloseKey(key), perflib_RegCloseKey(key)], [0, 0]);
    }
    assert_eq!(out, 9 as Handle, "nothing was opened");
    assert_eq!(perflib_RegCloseKey(null_mut()), 6);
    // Without its sign extended, as a program of 32 bits would have it.
    assert_eq!(perflib_RegCloseKey(DATA as usize as Handle), 0);
}

#[test]
fn the_key_perflib() {
    setup();
    let open = |from: Handle, path: &str| {
        let mut key = null_mut();
        // SAFETY: a name and a place for the key.
        let code = unsafe { perflib_RegOpenKeyExW(from, utf16(path).as_ptr().cast(), 0, 0x2_0019, &mut key) };
        if code == 0 { Ok(key) } else { Err(code) }
    };
    const PERFLIB: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib";
    let machine = key(LOCAL_MACHINE);
    let perflib = open(machine, PERFLIB).unwrap();
    assert_eq!(open(machine, &format!(r"{PERFLIB}\009")), Ok(key(TEXT)));
    assert_eq!(open(machine, &format!(r"{}\CurrentLanguage\", PERFLIB.to_lowercase())), Ok(key(NLS_TEXT)));
    assert_eq!(open(perflib, "009"), Ok(key(TEXT)));
    assert_eq!(open(perflib, ""), Ok(perflib));
    for nothing in
        [r"SOFTWARE", r"SYSTEM\CurrentControlSet", r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib\x"]
    {
        assert_eq!(open(machine, nothing), Err(2), "{nothing}");
    }
    assert_eq!(open(1 as Handle, PERFLIB), Err(6));

    let number = |name: &str| {
        let (mut kind, mut data, mut len) = (0, 0_u32, 4);
        // SAFETY: a name, 4 bytes, and places for type and size.
        let code = unsafe {
            perflib_RegQueryValueExW(
                perflib,
                utf16(name).as_ptr().cast(),
                null(),
                &mut kind,
                (&raw mut data).cast(),
                &mut len,
            )
        };
        if code == 0 { Ok((kind, data, len)) } else { Err(code) }
    };
    let (names, _) = TitleNames::read(NameTable::new(&whole(DATA, "Counter")));
    let last = names.iter().map(|(index, _)| index).max().unwrap();
    assert_eq!(number("Last Counter"), Ok((4, last, 4)));
    let (_, last_help, _) = number("last help").unwrap();
    assert!(last_help > last);
    assert_eq!(number("Base Index"), Ok((4, 1847, 4)));
    assert_eq!(number("Nothing"), Err(2));
}

#[test]
fn machines_and_bad_arguments() {
    setup();
    let connect = |machine: Option<&str>, of: u32| {
        let name = machine.map(utf16);
        let mut out = null_mut();
        // SAFETY: a name or null, and a place for the key.
        let code = unsafe {
            let name = name.as_ref().map_or(null(), |name| name.as_ptr().cast());
            perflib_RegConnectRegistryW(name, key(of), &mut out)
        };
        if code == 0 { Ok(out) } else { Err(code) }
    };
    assert_eq!(connect(None, DATA), Ok(key(DATA)));
    assert_eq!(connect(Some(r"\\localhost"), LOCAL_MACHINE), Ok(key(LOCAL_MACHINE)));
    assert_eq!(connect(Some(r"\\elsewhere.invalid"), DATA), Err(53));
    assert_eq!(connect(None, 5), Err(6));
    let name = utf16("2");
    let name = name.as_ptr().cast();
    let (mut len, mut buffer) = (4_u32, [0_u8; 4]);
    let reserved = 0_u32;
    // SAFETY: names, and places or null.
    unsafe {
        assert_eq!(
            perflib_RegQueryValueExW(key(DATA), name, &reserved, null_mut(), null_mut(), &mut len),
            87
        );
        assert_eq!(
            perflib_RegQueryValueExW(key(DATA), name, null(), null_mut(), buffer.as_mut_ptr(), null_mut()),
            87
        );
        assert_eq!(perflib_RegQueryValueExW(null_mut(), name, null(), null_mut(), null_mut(), &mut len), 6);
        assert_eq!(perflib_RegOpenKeyExW(key(LOCAL_MACHINE), null(), 0, 0, null_mut()), 87);
    }
}

#[test]
fn clocks_and_the_last_error() {
    let (mut ticks, mut frequency, mut time) = (0, 0, 0);
    let before = perfset::now();
    // SAFETY: places, or null.
    unsafe {
        assert_eq!(perflib_QueryPerformanceCounter(&mut ticks), 1);
        assert_eq!(perflib_QueryPerformanceFrequency(&mut frequency), 1);
        perflib_GetSystemTimeAsFileTime(&mut time);
        perflib_SetLastError(5);
        assert_eq!(perflib_GetLastError(), 5);
        assert_eq!((perflib_QueryPerformanceCounter(null_mut()), perflib_GetLastError()), (0, 87));
    }
    let after = perfset::now();
    assert!((before.perf_time..=after.perf_time).contains(&ticks));
    assert!((before.time_100ns..=after.time_100ns).contains(&time));
    assert_eq!(frequency, after.perf_freq);
    let other = std::thread::spawn(|| perflib_GetLastError());
    assert_eq!(other.join().unwrap(), 0, "each thread has its own");
}
