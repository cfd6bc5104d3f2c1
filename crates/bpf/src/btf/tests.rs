//! Tests of the BTF parser with descriptions that are made by hand, cut, changed and garbage.

use super::*;
use crate::{Column, ColumnSet, Kernel};
use proptest::prelude::*;

/// Writer of BTF type descriptions for tests.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    types: Vec<u32>,
    strings: Vec<u8>,
    count: u32,
}

const STRUCT: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const TYPE_TAG: u32 = 18;
const BITS: u32 = 1 << 31;

impl Writer {
    pub(crate) fn new() -> Self {
        Self { types: Vec::new(), strings: vec![0], count: 0 }
    }

    fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let place = u32::try_from(self.strings.len()).unwrap();
        self.strings.extend(name.bytes().chain([0]));
        place
    }

    /// Appends a BTF type to the description and returns its type id.
    fn put(&mut self, name: &str, info: u32, size_or_type: u32, tail: &[u32]) -> u32 {
        let name = self.name(name);
        self.types.extend([name, info, size_or_type]);
        self.types.extend(tail);
        self.count += 1;
        self.count
    }

    pub(crate) fn int(&mut self, size: u32) -> u32 {
        self.put("int", 1 << 24, size, &[0])
    }

    pub(crate) fn pointer(&mut self, to: u32) -> u32 {
        self.put("", 2 << 24, to, &[])
    }

    pub(crate) fn array(&mut self, of: u32, count: u32) -> u32 {
        self.put("", 3 << 24, 0, &[of, 0, count])
    }

    pub(crate) fn alias(&mut self, kind: u32, of: u32) -> u32 {
        self.put("", kind << 24, of, &[])
    }

    pub(crate) fn function(&mut self, name: &str) -> u32 {
        self.put(name, 12 << 24, 0, &[])
    }

    /// Appends a structure or union with its members: the name, type id and offset in bits of each.
    pub(crate) fn compound(&mut self, kind: u32, name: &str, size: u32, members: &[(&str, u32, u32)]) -> u32 {
        let mut tail = Vec::new();
        for (name, of, place) in members {
            tail.extend([self.name(name), *of, *place]);
        }
        let count = u32::try_from(members.len()).unwrap();
        self.put(name, (kind & BITS) | (kind & 31) << 24 | count, size, &tail)
    }

    pub(crate) fn finish(&self) -> Vec<u8> {
        let types: Vec<u8> = self.types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut bytes = 0xEB9F_u16.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let (types_len, strings_len) = (types.len(), self.strings.len());
        for word in [24, 0, types_len, types_len, strings_len] {
            bytes.extend(u32::try_from(word).unwrap().to_ne_bytes());
        }
        bytes.extend(types);
        bytes.extend(&self.strings);
        bytes
    }
}

/// Returns a BTF description with every kind of type that a member path can lead through, and the type id of the
/// outermost structure.
fn example() -> (Vec<u8>, u32) {
    let mut writer = Writer::new();
    let int = writer.int(4);
    let long = writer.int(8);
    let constant = writer.alias(CONST, long);
    let tagged = writer.alias(TYPE_TAG, constant);
    let named = writer.alias(TYPEDEF, tagged);
    let inner = writer.compound(STRUCT, "inner", 24, &[("a", int, 0), ("b", named, 64), ("c", int, 128)]);
    let three = writer.array(inner, 3);
    let hidden = writer.compound(UNION, "", 8, &[("x", int, 0), ("y", long, 0)]);
    let pointer = writer.pointer(inner);
    let members = [
        ("first", int, 0),
        ("", hidden, 64),
        ("many", three, 128),
        ("next", pointer, 704),
        ("bit", int, 768),
    ];
    let outer = writer.compound(STRUCT, "outer", 104, &members);
    writer.compound(
        STRUCT | BITS,
        "bits",
        8,
        &[("whole", int, 0), ("part", int, 32 | 3 << 24), ("odd", int, 33)],
    );
    writer.function("walk");
    writer.function("outer");
    (writer.finish(), outer)
}

const NAMES: [&str; 5] = ["outer", "inner", "walk", "bits", "absent"];

#[test]
fn names_and_members() {
    let (bytes, outer) = example();
    let btf = Btf::parse(&bytes, &NAMES).unwrap();
    assert_eq!(btf.structure("outer"), Some(outer));
    assert_eq!((btf.function("walk"), btf.function("outer")), (Some(outer + 2), Some(outer + 3)));
    assert_eq!((btf.function("inner"), btf.structure("absent"), btf.function("int")), (None, None, None));
    assert_eq!(btf.size(outer), Some(104));
    assert_eq!(btf.len(), 13);
    let place = |path: &str| btf.member(outer, path).map(|member| (member.offset, member.size));
    for (path, want) in [
        ("first", Some((0, 4))),
        ("x", Some((8, 4))),
        ("y", Some((8, 8))),
        ("many", Some((16, 72))),
        ("many[0].a", Some((16, 4))),
        ("many[1].b", Some((48, 8))),
        ("many[2].c", Some((80, 4))),
        ("many[3].a", Some((88, 4))), // where arrays end is not ours to say: some have no length
        ("next", Some((88, 8))),
        ("bit", Some((96, 4))),
        ("next.a", None),
        ("first.a", None),
        ("first[0]", None),
        ("many[x].a", None),
        ("many[1.a", None),
        ("many[4294967295].a", None),
        ("none", None),
        ("", None),
        (".", None),
    ] {
        assert_eq!(place(path), want, "{path}");
    }
    let bits = btf.structure("bits").unwrap();
    let places = ["whole", "part", "odd"].map(|path| btf.member(bits, path).map(|member| member.offset));
    assert_eq!(places, [Some(0), None, None]);
}

#[test]
fn no_sense() {
    let (good, _) = example();
    let changed = |at: usize, word: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        Btf::parse(&bytes, &NAMES).unwrap_err().to_string()
    };
    let parse = |bytes: &[u8]| Btf::parse(bytes, &NAMES).unwrap_err().to_string();
    assert_eq!(parse(b""), "BTF at byte 0: unexpected end");
    assert_eq!(parse(b"ELF\x7F"), "BTF at byte 0: no type description in this byte order begins here");
    let mut other = good.clone();
    other[2] = 2;
    assert_eq!(parse(&other), "BTF at byte 2: the version is not supported");
    assert_eq!(parse(&good[..10]), "BTF at byte 8: unexpected end");
    assert_eq!(changed(12, u32::MAX), "BTF at byte 8: a section goes beyond the end");
    assert_eq!(changed(4, u32::MAX), "BTF at byte 8: a section goes beyond the end");
    assert_eq!(changed(28, 31 << 24), "BTF at byte 24: a type of a kind that is not known");
    assert_eq!(changed(28, 4 << 24 | 0xFFFF), "BTF at byte 24: a type is cut");
}

/// Calls every lookup of the BTF parser on any bytes, to see that none panics.
fn ask(bytes: &[u8]) {
    let Ok(btf) = Btf::parse(bytes, &NAMES) else { return };
    let mut ids: Vec<u32> = NAMES.iter().filter_map(|name| btf.structure(name)).collect();
    ids.extend([0, 1, 5, u32::MAX]);
    for id in ids {
        let _ = btf.size(id);
        for path in ["first", "x", "many[1].b", "next.a", "absent"] {
            let _ = btf.member(id, path);
        }
    }
}

#[test]
fn every_prefix_and_every_changed_byte() {
    let (good, _) = example();
    for len in 0..good.len() {
        ask(&good[..len]);
    }
    for at in 0..good.len() {
        for change in [1, 0x80, 0xFF] {
            let mut bytes = good.clone();
            bytes[at] ^= change;
            ask(&bytes);
        }
    }
}

#[test]
fn types_that_are_in_themselves() {
    // A name for itself, an array of itself, a structure without a name in itself.
    let mut writer = Writer::new();
    writer.alias(TYPEDEF, 1);
    writer.array(2, 2);
    let members = vec![("", 3, 0); 40];
    writer.compound(STRUCT, "outer", 8, &members);
    let many = vec![("", 4, 0); 60_000];
    writer.compound(STRUCT, "inner", 8, &many);
    let bytes = writer.finish();
    let btf = Btf::parse(&bytes, &NAMES).unwrap();
    assert_eq!((btf.size(1), btf.size(2)), (None, None));
    for name in ["outer", "inner"] {
        // It ends: by itself it would look at 40^16, or 60,000^16 members.
        assert_eq!(btf.member(btf.structure(name).unwrap(), "absent"), None);
    }
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        ask(&bytes);
        let mut headed = example().0[..24].to_vec();
        headed.extend(bytes);
        ask(&headed);
    }
}

/// Returns BTF of a kernel with everything that the BPF task iterator needs or can use, except one member.
fn kernel(without: &str) -> Vec<u8> {
    let mut writer = Writer::new();
    let (int, long) = (writer.int(4), writer.int(8));
    let byte = writer.int(1);
    let pointer = writer.pointer(int);
    let structure = |writer: &mut Writer, name: &str, members: &[(&str, u32)]| {
        let there: Vec<_> = members.iter().filter(|(member, _)| *member != without).collect();
        let placed: Vec<_> =
            there.iter().zip(0..).map(|((member, of), at)| (*member, *of, at * 128)).collect();
        writer.compound(STRUCT, name, u32::try_from(placed.len()).unwrap() * 16, &placed)
    };
    let io = ["rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"];
    let ioac = structure(&mut writer, "", &io.map(|name| (name, long)));
    let se = structure(&mut writer, "", &[("sum_exec_runtime", long)]);
    let waits = structure(&mut writer, "", &[("run_delay", long), ("pcount", long)]);
    let shown = structure(&mut writer, "", &[("utime", long), ("stime", long)]);
    let count = structure(&mut writer, "", &[("sequence", int)]);
    let count = structure(&mut writer, "", &[("seqcount", count)]);
    let lock = structure(&mut writer, "", &[("seqcount", count)]);
    let counter = structure(&mut writer, "percpu_counter", &[("count", long), ("counters", pointer)]);
    let (name, four) = (writer.array(byte, 16), writer.array(counter, 4));
    let pids = writer.array(pointer, 4);
    let number = structure(&mut writer, "", &[("nr", int)]);
    let numbers = writer.array(number, 0);
    let user = writer.compound(STRUCT, "", 4, &[("val", int, 0)]);
    structure(&mut writer, "pid", &[("numbers", numbers)]);
    structure(&mut writer, "cred", &[("uid", user)]);
    structure(&mut writer, "task_delay_info", &[("blkio_delay", long)]);
    structure(&mut writer, "bpf_array", &[("pptrs", numbers)]);
    structure(&mut writer, "bpf_iter_task", &[("opaque", long), ("more", long)]);
    structure(
        &mut writer,
        "mm_struct",
        &[("total_vm", long), ("hiwater_vm", long), ("hiwater_rss", long), ("rss_stat", four)],
    );
    structure(
        &mut writer,
        "signal_struct",
        &[
            ("group_exec_task", pointer),
            ("nr_threads", int),
            ("sum_sched_runtime", long),
            ("utime", long),
            ("stime", long),
            ("prev_cputime", shown),
            ("min_flt", long),
            ("maj_flt", long),
            ("ioac", ioac),
            ("stats_lock", lock),
            ("pids", pids),
        ],
    );
    structure(
        &mut writer,
        "task_struct",
        &[
            ("pid", int),
            ("tgid", int),
            ("flags", int),
            ("start_boottime", long),
            ("comm", name),
            ("se", se),
            ("__state", int),
            ("exit_state", int),
            ("real_parent", pointer),
            ("static_prio", int),
            ("rt_priority", int),
            ("policy", int),
            ("utime", long),
            ("stime", long),
            ("prev_cputime", shown),
            ("min_flt", long),
            ("maj_flt", long),
            ("delays", pointer),
            ("ioac", ioac),
            ("real_cred", pointer),
            ("nvcsw", long),
            ("nivcsw", long),
            ("sched_info", waits),
            ("signal", pointer),
            ("mm", pointer),
        ],
    );
    for function in [
        "bpf_iter_task",
        "bpf_iter_task_new",
        "bpf_iter_task_next",
        "bpf_iter_task_destroy",
        "bpf_rcu_read_lock",
        "bpf_rcu_read_unlock",
        "bpf_rdonly_cast",
    ] {
        if function != without {
            writer.function(function);
        }
    }
    writer.finish()
}

#[test]
fn missing_types_drop_their_columns_or_fail() {
    let all = ColumnSet::new(&Column::ALL);
    let lost = |without: &str| -> Vec<Column> {
        let has = Kernel::from_btf(&kernel(without)).unwrap().has(all);
        Column::ALL.into_iter().filter(|column| !has.contain((*column).into())).collect()
    };
    assert_eq!(lost(""), []);
    for (without, want) in [
        ("rt_priority", &[Column::RealTimePriority][..]),
        ("numbers", &[Column::Session]),
        ("delays", &[Column::BlockDelay]),
        ("uid", &[Column::User]),
        ("prev_cputime", &[Column::UserTimeShown, Column::SystemTimeShown]),
        // What is summed up needs the sum of ended threads too.
        ("min_flt", &[Column::MinorFaults]),
        ("cancelled_write_bytes", &[Column::CancelledWriteBytes]),
        ("sched_info", &[Column::RunDelay, Column::RunCount]),
        ("rss_stat", &[Column::FilePages, Column::AnonymousPages, Column::SwapPages, Column::SharedPages]),
        ("group_exec_task", &[Column::Executing]),
        ("bpf_iter_task_next", &[]), // there is another way
    ] {
        assert_eq!(lost(without), want, "{without}");
    }
    for (without, want) in [
        ("signal", "the kernel's types have no task_struct.signal"),
        ("comm", "the kernel's types have no task_struct.comm"),
        ("sum_sched_runtime", "the kernel's types have no task_struct.se.sum_exec_runtime"),
        ("stats_lock", "the kernel's types have no signal_struct.stats_lock"),
    ] {
        assert_eq!(Kernel::from_btf(&kernel(without)).unwrap_err().to_string(), want);
    }
}

#[test]
fn seeds_of_the_fuzz_target() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/btf");
    for (name, bytes) in [("paths.bin", example().0), ("kernel.bin", kernel(""))] {
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), &bytes).unwrap();
        }
        assert_eq!(std::fs::read(folder.join(name)).unwrap_or_default(), bytes, "{name}");
    }
}
