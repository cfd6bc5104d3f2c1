//! Tests of the countersets of graphics processors, with a tree of test files and a made-up library of NVIDIA.

use std::fs;

use perfset_catalogue::{
    gpu_adapter_memory as adapter, gpu_engine as engine, gpu_local_adapter_memory as local,
    gpu_non_local_adapter_memory as non_local, gpu_process_memory as memory, linux_gpu as linux,
    linux_gpu_engine as linux_engine,
};
use perfset_core::{CounterId, Counterset};
use perfset_engine::SourceError;

use super::*;
use crate::provider::{InstanceSource, LOOK_AGAIN_NS, MultiInstanceProvider, multi_instance};
use crate::testing::{CellOutcome, Collected, Tree, collect, collect_all, fixture, opened, try_collect};

/// Deadline that never passes in a test, because no test depends on how quickly another thread runs.
const LONG: std::time::Duration = std::time::Duration::from_secs(3600);

const MACHINE: &str = "gpu-desktop";

fn engines(roots: &Roots) -> MultiInstanceProvider<GpuEngine> {
    multi_instance(GpuEngine::new(&Gpu::shared(roots, nvidia::not_loaded)))
}

fn linux_engines(roots: &Roots) -> MultiInstanceProvider<LinuxGpuEngine> {
    multi_instance(LinuxGpuEngine::new(&Gpu::shared(roots, nvidia::not_loaded)))
}

fn process_memory(roots: &Roots) -> MultiInstanceProvider<ProcessMemory> {
    multi_instance(ProcessMemory::new(&Gpu::shared(roots, nvidia::not_loaded)))
}

fn adapters<V: adapter_sets::AdapterView>(roots: &Roots) -> MultiInstanceProvider<AdapterSet<V>>
where
    AdapterSet<V>: InstanceSource,
{
    multi_instance(AdapterSet::new(&Gpu::shared(roots, nvidia::not_loaded)))
}

/// Returns an instance's values of all counters, in the order of the counterset; `None` for a missing value.
fn row(collected: &Collected, set: &Counterset, name: &str) -> Vec<Option<u64>> {
    let value = |got: &CellOutcome| match got {
        CellOutcome::Value(value) => Some(*value),
        CellOutcome::None(_) => None,
        other => panic!("{name}: {other:?}"),
    };
    set.counters.iter().map(|counter| value(collected.get(name, counter.id))).collect()
}

const NOT_TOLD: [Option<u64>; 2] = [None, None];

#[test]
fn engines_of_every_driver() {
    let collected = collect_all(&mut engines(&fixture(MACHINE)));
    let amdgpu = "pid_1201_luid_0x00000000_0x00000300_phys_0_eng_";
    let i915 = "pid_1301_luid_0x00000000_0x00000010_phys_0_eng_";
    let xe = "pid_1301_luid_0x00000000_0x00000400_phys_0_eng_";
    let v3d = "pid_1301_luid_0x80000000_0x00000003_phys_0_eng_";
    let both = |units: u64| [Some(units), Some(units)];
    let want = [
        (format!("{amdgpu}0_engtype_gfx"), both(67_004_170 + 13_009)), // of two clients
        (format!("{amdgpu}3_engtype_dec"), both(7_003)),
        (format!("{i915}0_engtype_copy"), both(1_013)),
        (format!("{i915}1_engtype_render"), both(256_620_449)),
        (format!("{i915}2_engtype_video"), [Some(19_906), Some(9_953)]), // there are two
        (format!("{i915}3_engtype_video-enhance"), both(0)),
        (format!("{xe}0_engtype_rcs"), NOT_TOLD),
        (format!("{xe}1_engtype_vcs"), NOT_TOLD),
        (format!("{v3d}0_engtype_bin"), both(47_001)),
        (format!("{v3d}1_engtype_render"), both(47_009)),
    ];
    assert_eq!(collected.names(), want.iter().map(|(name, _)| name).collect::<Vec<_>>());
    for (name, values) in &want {
        assert_eq!(row(&collected, &engine::COUNTERSET, name), values, "{name}");
    }
    let why = "unavailable: its driver counts cycles, not time: see Linux GPU Engine";
    assert!(collected.missing(&want[6].0).values().all(|reason| reason == why));
    let ids: Vec<_> = collected.rows.iter().map(|row| row.1).collect();
    assert_eq!(ids, [1201, 1201, 1301, 1301, 1301, 1301, 1301, 1301, 1301, 1301]);
}

#[test]
fn cycles() {
    let collected = collect_all(&mut linux_engines(&fixture(MACHINE)));
    let xe = "pid_1301_luid_0x00000000_0x00000400_phys_0_eng_";
    for (name, want) in [
        ("0_engtype_rcs", [28_257_900, 7_655_183_225, 28_257_900]),
        ("1_engtype_vcs", [9_001, 2 * 7_655_183_226, 9_001]),
    ] {
        let found = row(&collected, &linux_engine::COUNTERSET, &format!("{xe}{name}"));
        assert_eq!(found, want.map(Some), "{name}");
    }
    let video = "pid_1301_luid_0x00000000_0x00000010_phys_0_eng_2_engtype_video";
    assert_eq!(*collected.get(video, linux_engine::PERCENT_UTILIZATION), CellOutcome::Value(19_906));
    let CellOutcome::Value(base) = collected.get(video, linux_engine::PERCENT_UTILIZATION_BASE) else {
        panic!()
    };
    let now = crate::clock::elapsed_ns() / 100;
    assert!((2 * now).abs_diff(*base) < 2 * 600_000_000, "{base} of two engines, {now}");
    let why = &collected.missing(video)[&linux_engine::CYCLES_PER_SEC.0];
    assert_eq!(why, "unavailable: its driver counts time, not cycles");
}

#[test]
fn memory_of_processes() {
    const KIB: u64 = 1 << 10;
    let collected = collect_all(&mut process_memory(&fixture(MACHINE)));
    let row = |name: &str| row(&collected, &memory::COUNTERSET, name);
    let values = |total, dedicated, shared| {
        [total, dedicated, shared, dedicated, shared].map(|value: Option<u64>| value.map(|kib| kib * KIB))
    };
    let want = [
        // Two clients, each with memory of its own and of the machine.
        ("pid_1201_luid_0x00000000_0x00000300_phys_0", {
            values(Some(10_009 + 311 + 20_021 + 509), Some(10_007 + 20_011), Some(307 + 503))
        }),
        ("pid_1301_luid_0x00000000_0x00000010_phys_0", values(Some(60_013), Some(0), Some(50_021))),
        ("pid_1301_luid_0x00000000_0x00000400_phys_0", values(Some(192 + 23_992), Some(23 << 10), Some(191))),
        ("pid_1301_luid_0x80000000_0x00000003_phys_0", values(Some(7_001), Some(0), None)),
    ];
    assert_eq!(collected.names(), want.map(|(name, _)| name));
    for (name, values) in want {
        assert_eq!(row(name), values, "{name}");
    }
}

#[test]
fn older_names_of_memory() {
    let tree = Tree::copy_of(MACHINE);
    for file in ["proc/1201/fdinfo/14", "proc/1201/fdinfo/15", "proc/1201/fdinfo/16", "proc/701/fdinfo/9"] {
        let text = tree.text(file).replace("drm-total-", "x-").replace("drm-resident-", "x-");
        tree.write(file, &text);
    }
    let collected = collect_all(&mut process_memory(&tree.roots()));
    let name = "pid_1201_luid_0x00000000_0x00000300_phys_0";
    assert_eq!(*collected.get(name, memory::DEDICATED_USAGE), CellOutcome::Value((10_007 + 20_011) << 10));
    assert_eq!(*collected.get(name, memory::SHARED_USAGE), CellOutcome::Value((307 + 503) << 10));
    let why = &collected.missing(name)[&memory::TOTAL_COMMITTED.0];
    assert_eq!(why, "unavailable: its driver tells only what is in place");
}

#[test]
fn memory_of_adapters() {
    let roots = fixture(MACHINE);
    let (used, shared) = (2_147_483_659, 134_217_757);
    let collected = collect_all(&mut adapters::<AdapterMemory>(&roots));
    let names = [
        "luid_0x00000000_0x00000010_phys_0",
        "luid_0x00000000_0x00000300_phys_0",
        "luid_0x00000000_0x00000400_phys_0",
        "luid_0x80000000_0x00000003_phys_0",
    ];
    assert_eq!(collected.names(), names);
    let row = |collected, set, name: &str| row(collected, set, name);
    let of_amdgpu = row(&collected, &adapter::COUNTERSET, names[1]);
    assert_eq!(of_amdgpu, [Some(used + shared), Some(used), Some(shared)]);
    for name in [names[0], names[2], names[3]] {
        assert_eq!(row(&collected, &adapter::COUNTERSET, name), [None; 3], "{name}");
    }
    assert_eq!(collected.rows.iter().map(|row| row.1).collect::<Vec<_>>(), [0x10, 0x300, 0x400, 3]);

    let part = "luid_0x00000000_0x00000300_phys_0_part_0";
    let collected = collect_all(&mut adapters::<LocalMemory>(&roots));
    assert_eq!(row(&collected, &local::COUNTERSET, part), [Some(used)]);
    let collected = collect_all(&mut adapters::<NonLocalMemory>(&roots));
    assert_eq!(row(&collected, &non_local::COUNTERSET, part), [Some(shared)]);
}

/// Checks the readings that each graphics adapter's driver reports; every other counter of Linux GPU has a reason.
#[test]
fn readings_of_adapters() {
    use linux::*;
    let collected = collect_all(&mut adapters::<LinuxGpu>(&fixture(MACHINE)));
    let of_amdgpu = [
        (PERCENT_GPU_UTILIZATION, 43),
        (PERCENT_MEMORY_UTILIZATION, 19),
        (DEDICATED_MEMORY, 17_163_091_968),
        (DEDICATED_MEMORY_USED, 2_147_483_659),
        (SHARED_MEMORY, 16_777_216_019),
        (SHARED_MEMORY_USED, 134_217_757),
        (GPU_TEMPERATURE, 61),
        (HOT_SPOT_TEMPERATURE, 73),
        (MEMORY_TEMPERATURE, 82),
        (POWER_DRAW, 117_000),
        (POWER_LIMIT, 220_000),
        (GRAPHICS_CLOCK, 2_105),
        (MEMORY_CLOCK, 1_249),
        (FAN_SPEED, 1_423),
        (PERCENT_FAN_SPEED, 40),
        (PROCESSES, 1),
    ];
    let of_i915 = [(GRAPHICS_CLOCK, 350), (MAXIMUM_GRAPHICS_CLOCK, 1_301), (PROCESSES, 1)];
    let of_xe = [
        (GPU_TEMPERATURE, 53),
        (MEMORY_TEMPERATURE, 58),
        (POWER_LIMIT, 190_000),
        (GRAPHICS_CLOCK, 1_907),
        (MAXIMUM_GRAPHICS_CLOCK, 2_407),
        (FAN_SPEED, 907),
        (PROCESSES, 1),
    ];
    let want = [
        ("0000:00:02.0", &of_i915[..]),
        ("0000:03:00.0", &of_amdgpu),
        ("0000:04:00.0", &of_xe),
        ("card3", &[(PROCESSES, 1)]),
    ];
    assert_eq!(collected.names(), want.map(|(name, _)| name));
    for (name, values) in want {
        for counter in COUNTERSET.counters.iter() {
            let value = values.iter().find(|(id, _)| *id == counter.id).map(|(_, value)| *value);
            match (collected.get(name, counter.id), value) {
                (CellOutcome::Value(found), Some(value)) => {
                    assert_eq!(*found, value, "{name} {:?}", counter.name)
                }
                (CellOutcome::None(NoValue::Unavailable(_)), None) => {}
                other => panic!("{name} {:?}: {other:?}", counter.name),
            }
        }
    }
}

#[test]
fn other_places_of_readings() {
    use linux::*;
    let tree = Tree::copy_of(MACHINE);
    let card = |number: u32, file: &str| format!("sys/class/drm/card{number}/{file}");
    tree.remove(&card(0, "gt/gt0/rps_act_freq_mhz"));
    tree.remove(&card(0, "gt/gt0/rps_max_freq_mhz"));
    tree.remove(&card(1, "device/hwmon/hwmon3/power1_average"));
    tree.write(&card(1, "device/hwmon/hwmon3/power1_input"), "97003000\n");
    for label in ["temp1_label", "temp2_label", "temp3_label"] {
        tree.remove(&card(1, &format!("device/hwmon/hwmon3/{label}")));
    }
    tree.write(&card(2, "device/hwmon/hwmon5/temp2_input"), "-4000\n");
    let collected = collect_all(&mut adapters::<LinuxGpu>(&tree.roots()));
    for (name, counter, want) in [
        ("0000:00:02.0", GRAPHICS_CLOCK, Some(351)),
        ("0000:00:02.0", MAXIMUM_GRAPHICS_CLOCK, Some(1_302)),
        ("0000:03:00.0", POWER_DRAW, Some(97_003)),
        ("0000:03:00.0", GPU_TEMPERATURE, Some(61)),
        ("0000:03:00.0", HOT_SPOT_TEMPERATURE, None),
        ("0000:04:00.0", GPU_TEMPERATURE, None),
    ] {
        let found = match collected.get(name, counter) {
            CellOutcome::Value(value) => Some(*value),
            _ => None,
        };
        assert_eq!(found, want, "{name} {counter:?}");
    }
}

/// Checks that GUIDs, ids and title indexes of the GPU countersets never change: programs and logs hold these
/// numbers.
#[test]
fn guids_ids_and_title_indexes() {
    let of = |set: &Counterset| {
        let counters = set.counters.iter().map(|c| (c.id.0, c.v1_index.unwrap()));
        (set.guid.to_string(), set.v1_index.unwrap(), counters.collect::<Vec<_>>())
    };
    let want = |guid: &str, index, counters: &[(u32, u32)]| (guid.to_owned(), index, counters.to_vec());
    let engine_ids = [(1, 22602), (2, 22604)];
    assert_eq!(of(&engine::COUNTERSET), want("978c167d-4764-4d9c-9824-14747351dc81", 22600, &engine_ids));
    assert_eq!(
        of(&memory::COUNTERSET),
        want(
            "f802502b-77b4-4713-81b3-3be05759da5d",
            22606,
            &[(1, 22608), (2, 22610), (3, 22612), (4, 22614), (5, 22616),]
        )
    );
    let adapter_ids = [(1, 22608), (2, 22614), (3, 22616)];
    assert_eq!(of(&adapter::COUNTERSET), want("be2139c7-ab81-424d-b107-d87f7c9322ac", 22618, &adapter_ids));
    let guid = "227419d5-f6d8-4fb7-85d6-2cac1725e4a9";
    assert_eq!(of(&local::COUNTERSET), want(guid, 22620, &[(1, 22610)]));
    let guid = "f9ed01f5-8f3e-4956-973f-9f05bc96f489";
    assert_eq!(of(&non_local::COUNTERSET), want(guid, 22622, &[(1, 22612)]));
    let own: Vec<_> = (0..22).map(|id| (id, 22626 + 2 * id)).chain([(22, 248)]).collect();
    assert_eq!(of(&linux::COUNTERSET), want("edc73e72-c5b0-514b-b0a0-70cd118e9710", 22624, &own));
    let own = [(0, 22682), (1, 22684), (2, 22686)];
    assert_eq!(of(&linux_engine::COUNTERSET), want("b69abd08-41ae-5a8b-8990-6431ac241903", 22680, &own));
}

#[test]
fn a_client_belongs_to_one_process() {
    let tree = Tree::copy_of(MACHINE);
    let gfx = |pid: u32| format!("pid_{pid}_luid_0x00000000_0x00000300_phys_0_eng_0_engtype_gfx");
    let mut provider = engines(&tree.roots());
    let all = |provider: &mut MultiInstanceProvider<GpuEngine>| {
        collect(provider, &[engine::RUNNING_TIME], &["*_gfx"])
    };
    let before = all(&mut provider);
    assert_eq!(before.names(), [gfx(1201)]);

    // The one closes the device: the other that shares it has it from now on.
    tree.write("proc/1201/fdinfo/14", "");
    let after = all(&mut provider);
    assert_eq!(after.names(), [gfx(701), gfx(1201)]);
    assert_eq!(*after.get(&gfx(701), engine::RUNNING_TIME), CellOutcome::Value(67_004_170));
    assert_eq!(*after.get(&gfx(1201), engine::RUNNING_TIME), CellOutcome::Value(13_009));
    assert_ne!(after.birth(&gfx(1201)), before.birth(&gfx(1201)), "its sum is over others");

    // One of two descriptors of one client makes no difference.
    tree.write("proc/1201/fdinfo/15", "");
    let later = all(&mut provider);
    assert_eq!((&later.rows, &later.cells), (&after.rows, &after.cells));
    tree.write("proc/1201/fdinfo/16", "");
    assert_eq!(all(&mut provider).names(), [gfx(701)]);
}

/// Checks that a graphics client belongs to the process with the greatest id of all processes that have the client
/// open.
#[test]
fn a_client_goes_to_another_process() {
    let tree = Tree::copy_of(MACHINE);
    let (shared, mut number) = (Gpu::shared(&tree.roots(), nvidia::not_loaded), 0);
    let mut pids_at = |looks: u64| {
        let mut gpu = lock(&shared);
        number += 1;
        gpu.find_clients(&mut Collection::new(number, looks * LOOK_AGAIN_NS)).unwrap();
        gpu.clients.list.iter().map(|client| (client.pid(), client.id)).collect::<Vec<_>>()
    };
    let open = |pid: u32, text: &str| {
        tree.write(&format!("proc/{pid}/fdinfo/5"), text);
        fs::create_dir_all(tree.path(&format!("proc/{pid}/fd"))).unwrap();
        let link = tree.path(&format!("proc/{pid}/fd/5"));
        if !link.is_symlink() {
            std::os::unix::fs::symlink("/dev/dri/renderD128", link).unwrap();
        }
    };
    let text = tree.text("proc/1301/fdinfo/5");
    assert!(pids_at(1).contains(&(1301, 21)));
    open(1999, &text);
    assert!(pids_at(2).contains(&(1999, 21)));
    tree.write("proc/1301/fdinfo/5", "");
    assert!(pids_at(2).contains(&(1999, 21)), "the other has it still");

    // One of two descriptors of a client becomes another client.
    open(1301, &text);
    assert!(pids_at(3).contains(&(1999, 21)));
    open(1301, &text.replace(":\t21", ":\t23"));
    let all = pids_at(4);
    assert!(all.contains(&(1999, 21)) && all.contains(&(1301, 23)), "{all:?}");
}

/// Checks that a graphics client is dropped once its file in `fdinfo` is empty, invalid, or describes another client
/// or file.
#[test]
fn changed_fdinfo_drops_the_old_client() {
    let file = "proc/1301/fdinfo/5";
    let others = || fixture_rows("0x00000010");
    for (what, change) in [
        (
            "another client",
            &(|text: &str| text.replace("client-id:\t21", "client-id:\t22")) as &dyn Fn(&str) -> String,
        ),
        ("another adapter", &|text: &str| text.replace("0000:00:02.0", "0000:00:02.1")),
        ("no device", &|_: &str| "pos:\t0\nflags:\t02\n".to_owned()),
        ("empty", &|_: &str| String::new()),
        ("faulty", &|_: &str| "x\n".to_owned()),
    ] {
        let tree = Tree::copy_of(MACHINE);
        let mut provider = engines(&tree.roots());
        assert_eq!(collect_all(&mut provider).names().len(), 10);
        tree.write(file, &change(&tree.text(file)));
        let names = collect_all(&mut provider).names().into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names, others(), "{what}");
    }
}

/// Returns the instance names of GPU Engine in the fixture, without those of one adapter.
fn fixture_rows(without: &str) -> Vec<String> {
    let collected = collect_all(&mut engines(&fixture(MACHINE)));
    let names = collected.names().into_iter().filter(|name| !name.contains(without));
    names.map(str::to_owned).collect()
}

#[test]
fn a_line_costs_only_what_it_feeds() {
    let name = |engine: &str| format!("pid_1301_luid_0x00000000_0x00000010_phys_0_eng_{engine}");
    let file = "proc/1301/fdinfo/5";
    let both = [engine::RUNNING_TIME, engine::UTILIZATION_PERCENTAGE];
    for (from, to, row, want, why) in [
        ("101300 ns", "x ns", "0_engtype_copy", &both[..], "expected a number, found \"x\""),
        ("101300 ns", "101300", "0_engtype_copy", &both, "expected \"ns\", found the end of the line"),
        ("video:\t2", "video:\t-2", "2_engtype_video", &both[1..], "expected a number, found \"-2\""),
        ("video:\t2", "video:\t0", "2_engtype_video", &[], ""),
    ] {
        let tree = Tree::copy_of(MACHINE);
        tree.write(file, &tree.text(file).replace(from, to));
        let collected = collect_all(&mut engines(&tree.roots()));
        let missing = collected.missing(&name(row));
        assert_eq!(missing.keys().copied().map(CounterId).collect::<Vec<_>>(), want, "{to}");
        let path = tree.path(file).display().to_string();
        assert!(missing.values().all(|reason| reason.contains(&path)), "{missing:?}");
        assert!(missing.values().all(|reason| reason.ends_with(why)), "{missing:?}");
        let others =
            collected.cells.values().filter(|got| matches!(got, CellOutcome::None(NoValue::Failed(_))));
        assert_eq!(others.count(), want.len());
    }
}

#[test]
fn a_step_back_is_held() {
    let tree = Tree::copy_of(MACHINE);
    let mut provider = engines(&tree.roots());
    let name = "pid_1301_luid_0x00000000_0x00000010_phys_0_eng_0_engtype_copy";
    let file = "proc/1301/fdinfo/5";
    let text = tree.text(file);
    for (ns, want) in [
        (101_300, CellOutcome::Value(1_013)),
        (101_200, CellOutcome::Held(1_013)),
        (101_300, CellOutcome::Value(1_013)),
        (101_500, CellOutcome::Value(1_015)),
    ] {
        tree.write(file, &text.replace("101300 ns", &format!("{ns} ns")));
        let collected = collect(&mut provider, &[engine::RUNNING_TIME], &["*"]);
        assert_eq!(*collected.get(name, engine::RUNNING_TIME), want, "{ns}");
    }
}

#[test]
fn engines_that_come_later() {
    let tree = Tree::copy_of(MACHINE);
    let mut provider = engines(&tree.roots());
    let names = |provider: &mut MultiInstanceProvider<GpuEngine>| {
        let collected = collect(provider, &[], &["pid_1201*"]);
        let engines = collected.rows.iter().map(|row| row.0.rsplit_once("phys_0_").unwrap().1.to_owned());
        engines.collect::<Vec<_>>()
    };
    let before = ["eng_0_engtype_gfx", "eng_3_engtype_dec"];
    assert_eq!(names(&mut provider), before);
    let file = "proc/1201/fdinfo/15";
    let text = tree.text(file);
    tree.write(file, &format!("{text}drm-engine-compute:\t5 ns\ndrm-engine-a\\b:\t7 ns\n"));
    let after = [before[0], "eng_1_engtype_compute", before[1], "eng_8_engtype_a_b"];
    assert_eq!(names(&mut provider), after);
}

/// Returns the names of the files, without directories, that a fresh GPU provider opens in the first collection of
/// `counters`.
fn opened_besides_processes<P: Provider>(
    tree: &Tree,
    provider: impl Fn(&Roots) -> P,
    counters: &[CounterId],
) -> Vec<String> {
    let opened = opened(tree, provider, counters, &["*"]);
    opened.into_iter().filter(|name| !name.ends_with('/')).collect()
}

#[test]
fn only_the_files_that_are_needed_are_opened() {
    let tree = Tree::copy_of(MACHINE);
    let uevents: Vec<_> = (0..4).map(|n| format!("sys/class/drm/card{n}/device/uevent")).collect();
    let clients = [
        "proc/1201/fdinfo/14",
        "proc/1201/fdinfo/15",
        "proc/1201/fdinfo/16",
        "proc/1301/fdinfo/5",
        "proc/1301/fdinfo/6",
        "proc/1301/fdinfo/7",
        "proc/1301/fdinfo/8",
        "proc/701/fdinfo/9",
    ];
    let with = |files: &[&str]| {
        let mut all: Vec<_> = files.iter().map(|file| (*file).to_owned()).chain(uevents.clone()).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(opened_besides_processes(&tree, engines, &[engine::RUNNING_TIME]), with(&clients));
    assert_eq!(opened_besides_processes(&tree, process_memory, &[]), with(&clients));
    let of_card = |counter| opened_besides_processes(&tree, adapters::<LinuxGpu>, &[counter]);
    let busy = "sys/class/drm/card1/device/gpu_busy_percent";
    assert_eq!(of_card(linux::PERCENT_GPU_UTILIZATION), with(&[busy]));
    assert_eq!(of_card(linux::PERCENT_ENCODER_UTILIZATION), with(&[]));
    assert_eq!(of_card(linux::PROCESSES), with(&clients));
    let used = "sys/class/drm/card1/device/mem_info_vram_used";
    let of_adapter = opened_besides_processes(&tree, adapters::<AdapterMemory>, &[adapter::DEDICATED_USAGE]);
    assert_eq!(of_adapter, with(&[used]));
}

/// Checks that later collections read the known graphics clients, and list no directory.
#[test]
fn clients_are_looked_for_now_and_then() {
    let tree = Tree::copy_of(MACHINE);
    let mut provider = engines(&tree.roots());
    // The second collection opens those of which another descriptor was found to be the first one.
    let _ = collect_all(&mut provider);
    let _ = collect_all(&mut provider);
    let opened = tree.opened(|| drop(collect_all(&mut provider)));
    assert_eq!(opened, [""; 0], "descriptors are kept");

    let (shared, mut pass) = (Gpu::shared(&tree.roots(), nvidia::not_loaded), Collection::new(1, 7));
    let mut gpu = lock(&shared);
    gpu.find_clients(&mut pass).unwrap();
    fs::create_dir_all(tree.path("proc/1999/fd")).unwrap();
    std::os::unix::fs::symlink("/dev/dri/renderD128", tree.path("proc/1999/fd/3")).unwrap();
    tree.write("proc/1999/fdinfo/3", &tree.text("proc/1301/fdinfo/5").replace(":\t21", ":\t23"));
    for (number, at, want) in [(2, 8, 5), (3, 6 + LOOK_AGAIN_NS, 5), (4, 7 + LOOK_AGAIN_NS, 6)] {
        gpu.find_clients(&mut Collection::new(number, at)).unwrap();
        assert_eq!(gpu.clients.list.len(), want, "at {at}");
    }
}

#[test]
fn a_machine_without_adapters_costs_nothing() {
    let tree = Tree::copy_of("two-nodes");
    for opened in [
        opened(&tree, engines, &[engine::RUNNING_TIME], &["*"]),
        opened(&tree, process_memory, &[memory::DEDICATED_USAGE], &["*"]),
        opened(&tree, adapters::<LinuxGpu>, &[linux::PROCESSES], &["*"]),
        opened(&tree, |roots| together(&Gpu::shared(roots, nvidia::not_loaded)), &[], &["*"]),
    ] {
        assert_eq!(opened, [""; 0]);
    }
    assert_eq!(collect_all(&mut engines(&tree.roots())).names(), [""; 0]);
    assert_eq!(collect_all(&mut adapters::<LinuxGpu>(&tree.roots())).names(), [""; 0]);
}

#[test]
fn cards_without_clients() {
    let tree = Tree::copy_of(MACHINE);
    for pid in [701, 1201, 1301] {
        fs::remove_dir_all(tree.path(&format!("proc/{pid}"))).unwrap();
    }
    assert_eq!(collect_all(&mut engines(&tree.roots())).names(), [""; 0]);
    let collected = collect(&mut adapters::<LinuxGpu>(&tree.roots()), &[linux::PROCESSES], &["card3"]);
    assert_eq!(*collected.get("card3", linux::PROCESSES), CellOutcome::Value(0));
}

/// Checks that processes whose open files cannot be read are counted in the reason for missing values.
#[test]
fn refusals() {
    let shared = Gpu::shared(&fixture(MACHINE), nvidia::not_loaded);
    collect_all(&mut multi_instance(GpuEngine::new(&shared)));
    for (refused, want) in [
        (1, "open files of 1 process cannot be read: needs CAP_SYS_PTRACE"),
        (7, "open files of 7 processes cannot be read: needs CAP_SYS_PTRACE"),
    ] {
        lock(&shared).clients.refused = refused;
        assert_eq!(lock(&shared).clients.refusal(), Some(NoValue::Denied(want.into())));
    }
    let counters = [linux::PROCESSES, linux::GRAPHICS_CLOCK];
    let collected = collect(&mut multi_instance(AdapterSet::<LinuxGpu>::new(&shared)), &counters, &["*02.0"]);
    assert!(matches!(collected.get("0000:00:02.0", linux::PROCESSES), CellOutcome::None(NoValue::Denied(_))));
    assert_eq!(*collected.get("0000:00:02.0", linux::GRAPHICS_CLOCK), CellOutcome::Value(350));
    assert_eq!(
        collect_all(&mut multi_instance(GpuEngine::new(&shared))).names().len(),
        10,
        "what is seen is shown"
    );

    let mut provider = multi_instance(ProcessMemory::new(&shared));
    {
        let mut gpu = lock(&shared);
        gpu.clients.list.clear();
    }
    let refused = try_collect(&mut provider, &[], &["*"]).unwrap_err();
    assert!(matches!(refused, SourceError::Denied(_)), "{refused:?}");
}

#[test]
fn all_of_them_together() {
    let mut provider = provider(&fixture(MACHINE), &Deadline::new(LONG));
    let catalogue = provider.catalogue().unwrap();
    let names: Vec<_> = catalogue.countersets.iter().map(|set| &*set.name).collect();
    assert_eq!(
        names,
        [
            "GPU Engine",
            "GPU Process Memory",
            "GPU Adapter Memory",
            "GPU Local Adapter Memory",
            "GPU Non Local Adapter Memory",
            "Linux GPU",
            "Linux GPU Engine",
        ]
    );
    let mut count = |guid| {
        let mut rows = perfset_engine::Rows::new([]);
        rows.start();
        provider.instances(&guid, &mut rows)?;
        rows.end();
        Ok(rows.len())
    };
    let counts: Vec<_> = catalogue.countersets.iter().map(|set| count(set.guid)).collect();
    assert_eq!(counts, [10, 4, 4, 4, 4, 4, 10].map(Ok));
    let other = perfset_core::Guid::from_u128(7);
    assert_eq!(count(other), Err(SourceError::UnknownCounterset(other)));
}

/// Made-up library of NVIDIA with two GPUs, only one of which the tree of test files has.
#[derive(Debug)]
struct MadeUp {
    /// Error that the made-up library returns in place of its first GPU's address.
    lost: Option<nvml::NvmlError>,
}

impl nvml::Nvml for MadeUp {
    fn devices(&mut self, devices: &mut Vec<nvml::PciLookup>) -> Result<(), nvml::NvmlError> {
        let address = |text: &str| PciAddress::parse(text.as_bytes()).unwrap();
        devices.push(self.lost.map_or(Ok(address("0000:02:00.0")), Err));
        devices.push(Ok(address("0000:81:00.0")));
        Ok(())
    }

    fn gauge(&mut self, device: u32, gauge: card::CardReading) -> Result<u64, nvml::NvmlError> {
        assert_eq!(device, 1);
        match gauge {
            card::CardReading::DedicatedUsed => Ok(7_919),
            card::CardReading::Temperature => Err(nvml::NvmlError { function: "f", code: 15 }),
            card::CardReading::PowerLimit => Err(nvml::NvmlError { function: "f", code: 4 }),
            _ => Err(nvml::NvmlError { function: "f", code: 3 }),
        }
    }

    fn processes(&mut self, _: u32, processes: &mut Vec<nvml::GpuProcess>) -> Result<(), nvml::NvmlError> {
        let process = |pid, used| nvml::GpuProcess { pid, used };
        processes.extend([
            process(1301, Some(71)),
            process(4242, None),
            process(1301, Some(73)), // it draws, too
            process(0, Some(79)),
            process(17, Some(83)),
        ]);
        Ok(())
    }
}

fn made_up() -> Result<Box<dyn nvml::Nvml>, NoValue> {
    Ok(Box::new(MadeUp { lost: None }))
}

fn made_up_with_a_lost_one() -> Result<Box<dyn nvml::Nvml>, NoValue> {
    Ok(Box::new(MadeUp { lost: Some(nvml::NvmlError { function: "f", code: 15 }) }))
}

/// Returns a tree of test files with two GPUs of NVIDIA's driver, one of which the made-up library does not list.
fn with_nvidia(machine: &str) -> Tree {
    let tree = Tree::copy_of(machine);
    for gpu in ["0000:81:00.0", "0000:82:00.0"] {
        tree.write(&format!("proc/driver/nvidia/gpus/{gpu}/information"), "");
    }
    tree
}

#[test]
fn adapters_of_nvidia() {
    use linux::*;
    let tree = with_nvidia(MACHINE);
    let mut provider = multi_instance(AdapterSet::<LinuxGpu>::new(&Gpu::shared(&tree.roots(), made_up)));
    let collected = collect_all(&mut provider);
    let names = ["0000:00:02.0", "0000:03:00.0", "0000:04:00.0", "0000:81:00.0", "0000:82:00.0", "card3"];
    assert_eq!(collected.names(), names);
    let missing = collected.missing("0000:81:00.0");
    for (counter, want) in [
        (GPU_TEMPERATURE, "f of NVIDIA's library returned 15"),
        (POWER_LIMIT, "denied: NVIDIA's library returns it only to root"),
        (FAN_SPEED, "unavailable: this GPU does not report it to NVIDIA's library"),
    ] {
        assert_eq!(missing[&counter.0], want);
    }
    assert_eq!(*collected.get("0000:81:00.0", DEDICATED_MEMORY_USED), CellOutcome::Value(7_919));
    assert_eq!(*collected.get("0000:81:00.0", PROCESSES), CellOutcome::Value(3));
    let missing = collected.missing("0000:82:00.0");
    assert_eq!(missing.len(), COUNTERSET.counters.len());
    assert!(missing.values().all(|reason| reason == "unavailable: NVIDIA's library does not list this GPU"));
}

/// Checks that a GPU that fell off its bus takes no values from other GPUs, which keep their numbers.
#[test]
fn a_gpu_of_nvidia_is_lost() {
    let tree = with_nvidia("two-nodes");
    let shared = Gpu::shared(&tree.roots(), made_up_with_a_lost_one);
    let collected = collect_all(&mut multi_instance(AdapterSet::<LinuxGpu>::new(&shared)));
    assert_eq!(*collected.get("0000:81:00.0", linux::DEDICATED_MEMORY_USED), CellOutcome::Value(7_919));
    let missing = collected.missing("0000:82:00.0");
    assert!(missing.values().all(|reason| reason == "f of NVIDIA's library returned 15"), "{missing:?}");
}

/// Checks that a card that both the kernel and NVIDIA's driver list is one graphics adapter, not two.
#[test]
fn one_adapter_of_two_sources() {
    let tree = Tree::copy_of(MACHINE);
    tree.write("proc/driver/nvidia/gpus/0000:03:00.0/information", "");
    let shared = Gpu::shared(&tree.roots(), nvidia::not_own_roots);
    let collected = collect_all(&mut multi_instance(AdapterSet::<AdapterMemory>::new(&shared)));
    assert_eq!(collected.names().len(), 4);
    let missing = collected.missing("luid_0x00000000_0x00000300_phys_0");
    let why = "NVIDIA's library reports this machine, not the one whose files are read";
    assert!(missing.len() == 3 && missing.values().all(|reason| reason.ends_with(why)), "{missing:?}");
}

#[test]
fn processes_of_nvidia() {
    let tree = with_nvidia(MACHINE);
    let mut provider = multi_instance(ProcessMemory::new(&Gpu::shared(&tree.roots(), made_up)));
    let collected = collect_all(&mut provider);
    let name = |pid: u32| format!("pid_{pid}_luid_0x00000000_0x00008100_phys_0");
    let names = collected.names();
    assert_eq!((names.len(), names[0], names[6]), (7, name(17).as_str(), name(4242).as_str()));
    for (pid, want) in [(17, Some(83)), (1301, Some(73)), (4242, None)] {
        let found = row(&collected, &memory::COUNTERSET, &name(pid));
        assert_eq!(found, [None, want, None, want, None], "{pid}");
    }
    let drm = "pid_1301_luid_0x00000000_0x00000010_phys_0";
    assert_eq!(*collected.get(drm, memory::TOTAL_COMMITTED), CellOutcome::Value(60_013 << 10));
    assert_eq!(collect_all(&mut provider).rows, collected.rows);

    // Alone, without a library: that there are no rows has a reason.
    let tree = with_nvidia("two-nodes");
    let mut provider = multi_instance(ProcessMemory::new(&Gpu::shared(&tree.roots(), nvidia::not_loaded)));
    let why = NoValue::Unavailable("NVIDIA's driver was not loaded when this program started".into());
    assert_eq!(try_collect(&mut provider, &[], &["*"]).unwrap_err(), SourceError::NoValue(why));
    let shared = Gpu::shared(&tree.roots(), made_up);
    assert_eq!(collect_all(&mut multi_instance(ProcessMemory::new(&shared))).names().len(), 3);
    assert_eq!(collect_all(&mut multi_instance(GpuEngine::new(&shared))).names(), [""; 0]);
}

/// Checks that an unlistable `/proc` fails every collection with a reason, not only the first.
#[test]
fn unlistable_proc_fails_each_collection() {
    let tree = Tree::copy_of(MACHINE);
    let shared = Gpu::shared(&tree.roots(), nvidia::not_loaded);
    let mut provider = multi_instance(GpuEngine::new(&shared));
    fs::rename(tree.roots().proc, tree.roots().sys.join("proc")).unwrap();
    for _ in 0..2 {
        let error = try_collect(&mut provider, &[], &["*"]).unwrap_err();
        assert!(matches!(error, SourceError::Failed(_)), "{error:?}");
    }
    fs::rename(tree.roots().sys.join("proc"), tree.roots().proc).unwrap();
    assert_eq!(collect_all(&mut provider).names().len(), 10);
}

/// Checks that the provider of graphics processors has the same countersets and rows when it runs in another thread.
#[test]
fn behind_a_deadline() {
    let tree = with_nvidia(MACHINE);
    tree.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04\n");
    let mut provider = provider(&tree.roots(), &Deadline::new(LONG));
    assert_eq!(provider.catalogue().unwrap().countersets.len(), 7);
    assert_eq!(collect_all(&mut *provider).names().len(), 10, "GPU Engine");
}
