//! Checks of disks, file systems and swap beside iostat, df, swapon and `/sys`, under a load of known size on a loop
//! device.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::owned::Folder;
use super::{finished, median, record};

/// Size of the loop device's image in MiB; the next constants are those of the written and read data, and of the swap
/// file.
const IMAGE_MIB: u64 = 64;
const LOAD_MIB: u64 = 24;
const SWAP_MIB: u64 = 8;

const SECONDS: u64 = 3;
const MIB: f64 = 1024.0 * 1024.0;

/// Value of iostat that is compared with perfset: its name, factor to perfset's unit, tolerance, and perfset's
/// counter.
type Peer = (&'static str, f64, f64, &'static str);

/// Name of the queue length that is computed from four numbers of iostat, because its aqu-sz includes discards and
/// flushes.
const QUEUE: &str = "r/s x r_await + w/s x w_await";

const OF_DISKS: [Peer; 9] = [
    ("r/s", 1.0, 2.0, "Disk Reads/sec"),
    ("w/s", 1.0, 2.0, "Disk Writes/sec"),
    ("rkB/s", 1024.0, MIB / 4.0, "Disk Read Bytes/sec"),
    ("wkB/s", 1024.0, MIB / 4.0, "Disk Write Bytes/sec"),
    ("rareq-sz", 1024.0, 4096.0, "Avg. Disk Bytes/Read"),
    ("r_await", 1e-3, 1e-3, "Avg. Disk sec/Read"),
    ("w_await", 1e-3, 1e-3, "Avg. Disk sec/Write"),
    (QUEUE, 1.0, 0.02, "Avg. Disk Queue Length"),
    ("idle", 1.0, 4.0, "% Idle Time"),
];

const OF_BLOCK_IO: [Peer; 9] = [
    ("r/s", 1.0, 2.0, "Reads/sec"),
    ("w/s", 1.0, 2.0, "Writes/sec"),
    ("f/s", 1.0, 2.0, "Flushes/sec"),
    ("rrqm/s", 1.0, 2.0, "Reads Merged/sec"),
    ("wrqm/s", 1.0, 2.0, "Writes Merged/sec"),
    ("rkB/s", 2.0, MIB / 2048.0, "Sectors Read/sec"),
    ("w_await", 1e-3, 1e-3, "Avg. sec/Write"),
    ("aqu-sz", 1.0, 0.02, "Avg. Requests In Flight"),
    ("util", 1.0, 4.0, "% Busy Time"),
];

/// Fields of `/sys/block/X/stat`, counted from 1, each with its factor to perfset's unit and the raw counter's path.
const EXACT: [(usize, f64, &str); 8] = [
    (1, 1.0, r"\LogicalDisk(M)\Disk Reads/sec"),
    (3, 512.0, r"\LogicalDisk(M)\Disk Read Bytes/sec"),
    (5, 1.0, r"\LogicalDisk(M)\Disk Writes/sec"),
    (7, 512.0, r"\LogicalDisk(M)\Disk Write Bytes/sec"),
    (8, 1e4, r"\Block I/O(D)\% Write Time"),
    (10, 1e4, r"\Block I/O(D)\% Busy Time"),
    (13, 1.0, r"\Block I/O(D)\Discards Merged/sec"),
    (16, 1.0, r"\Block I/O(D)\Flushes/sec"),
];

/// Checks that disk rates agree with iostat, and that raw values equal the kernel's once the device is idle.
pub fn check(rounds: usize) -> Result<String> {
    let place = Folder::new("disks with spaces")?;
    let image = Image::mount(&place)?;
    exactly_at_rest(&image)?;
    let disks = disks()?;
    let mut sources = vec![
        (image.device.clone(), logical_paths(&image)),
        (image.device.clone(), {
            OF_BLOCK_IO.map(|peer| (peer, format!(r"\Block I/O({})\{}", image.device, peer.3)))
        }),
    ];
    for disk in &disks {
        sources
            .push((disk.clone(), OF_DISKS.map(|peer| (peer, format!(r"\PhysicalDisk({disk})\{}", peer.3)))));
    }
    let rounds = rounds.min(4);
    let mut differences = vec![[const { Vec::new() }; 9]; sources.len()];
    for _ in 0..rounds {
        let (ours, theirs) = round(&image, &disks, &sources)?;
        for ((device, peers), (ours, differences)) in sources.iter().zip(ours.chunks(9).zip(&mut differences))
        {
            for (((name, unit, slack, _), path), (ours, differences)) in
                peers.iter().zip(ours.iter().zip(differences))
            {
                let peer = peer(&theirs, device, name)? * unit;
                ensure!(peer.is_finite() && ours.is_finite(), "{path}: {ours}, iostat {name}: {peer}");
                differences.push((ours - peer).abs() / (peer.abs() / 20.0 + slack));
            }
        }
    }
    let mut worst = (0.0, String::new());
    for ((_, peers), differences) in sources.iter().zip(differences) {
        for ((_, path), differences) in peers.iter().zip(differences) {
            let ratio = median(differences);
            ensure!(ratio <= 1.0, "{path} and iostat differ by {ratio:.1} times what is allowed");
            if ratio > worst.0 {
                worst = (ratio, path.clone());
            }
        }
    }
    exactly_at_rest(&image)?;
    let (share, path) = worst;
    Ok(format!(
        ": {} values, the worst at {share:.2} of what is allowed ({path}), {rounds} rounds",
        9 * sources.len()
    ))
}

/// Checks free space and inodes against df, the list of disks against `/sys`, and swap against swapon.
pub fn sizes() -> Result<String> {
    let place = Folder::new("disks with spaces")?;
    let image = Image::mount(&place)?;
    space(&image)?;
    file_system(&image)?;
    let disks = disks()?;
    let swap = swap(&place)?;
    Ok(format!(": {} disks; {swap}", disks.len()))
}

fn logical_paths(image: &Image) -> [(Peer, String); 9] {
    let mount = image.mount_point.display();
    OF_DISKS.map(|peer| (peer, format!(r"\LogicalDisk({mount})\{}", peer.3)))
}

type Source = (String, [(Peer, String); 9]);

/// Runs perfset and iostat over the same seconds, with the disk load in their middle, and returns the values of both.
fn round(image: &Image, disks: &[String], sources: &[Source]) -> Result<(Vec<f64>, Value)> {
    let seconds = SECONDS.to_string();
    let paths: Vec<&str> =
        sources.iter().flat_map(|(_, peers)| peers).map(|(_, path)| path.as_str()).collect();
    let started = Instant::now();
    let ours = record::command(&paths, &[&seconds, "1"]).spawn().context("cannot start perfset")?;
    let theirs = Command::new("iostat")
        .args(["-x", "-d", "-y", "-k", "-o", "JSON", &image.device])
        .args(disks)
        .args([&seconds, "1"])
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start iostat (Debian package sysstat)")?;
    sleep(Duration::from_millis(300));
    let load = load(image);
    let in_time = started.elapsed() < Duration::from_millis(SECONDS * 1000 - 200);
    let ours = finished(ours.wait_with_output()?)?;
    let theirs = finished(theirs.wait_with_output()?)?;
    load?;
    ensure!(in_time, "the machine is too busy: the load takes longer than {SECONDS} s");
    let ours = record::parse(&ours, paths.len())?;
    let ours: Vec<f64> = ours.iter().map(record::Record::value).collect::<Result<_>>()?;
    for (path, rate) in paths.iter().zip(&ours) {
        // What dd transferred, and what the file system had to note.
        if path.starts_with(r"\LogicalDisk") && path.ends_with(" Bytes/sec") {
            let mib = rate * SECONDS as f64 / MIB;
            let wanted = LOAD_MIB as f64 * 0.98..LOAD_MIB as f64 * 1.1 + 1.0;
            ensure!(wanted.contains(&mib), "{path} is {mib:.1} MiB, with a load of {LOAD_MIB}");
        }
    }
    Ok((ours, serde_json::from_str(&theirs).context("iostat prints no JSON")?))
}

/// Writes a file of the image and reads it, both past the page cache.
fn load(image: &Image) -> Result<()> {
    let file = image.mount_point.join("load");
    let count = format!("count={LOAD_MIB}");
    let (from, to) = (format!("if={}", file.display()), format!("of={}", file.display()));
    run("dd", &["if=/dev/zero", &to, "bs=1M", &count, "oflag=direct", "conv=fsync"], "coreutils")?;
    run("dd", &[&from, "of=/dev/null", "bs=1M", "iflag=direct"], "coreutils")?;
    Ok(())
}

/// Returns a number of a device in the last report of iostat, or a number computed from several.
fn peer(theirs: &Value, device: &str, name: &str) -> Result<f64> {
    let number = |name| number(theirs, device, name);
    match name {
        QUEUE => Ok((number("r/s")? * number("r_await")? + number("w/s")? * number("w_await")?) / 1e3),
        name => number(name),
    }
}

fn number(report: &Value, device: &str, name: &str) -> Result<f64> {
    if name == "idle" {
        return Ok((100.0 - number(report, device, "util")?).max(0.0));
    }
    let devices = report["sysstat"]["hosts"][0]["statistics"][0]["disk"].as_array();
    let devices = devices.with_context(|| format!("iostat prints {report}"))?;
    let found = devices.iter().find(|line| line["disk_device"] == device);
    let number = found.and_then(|line| line[name].as_f64());
    number.with_context(|| format!("iostat has no {name} of {device}: {report}"))
}

/// Checks that every number of the idle loop device equals the kernel's: no other program uses the device.
fn exactly_at_rest(image: &Image) -> Result<()> {
    run("sync", &["-f", path(&image.mount_point)?], "coreutils")?;
    let stat = || -> Result<Vec<f64>> {
        let file = format!("/sys/block/{}/stat", image.device);
        let text = fs::read_to_string(&file).with_context(|| file.clone())?;
        Ok(text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
    };
    let mount = image.mount_point.display().to_string();
    let paths = EXACT.map(|(_, _, path)| {
        path.replace("(M)", &format!("({mount})")).replace("(D)", &format!("({})", image.device))
    });
    let paths = paths.each_ref().map(String::as_str);
    for _ in 0..10 {
        let before = stat()?;
        let ours = record::one_sample(&paths, &["--raw"])?;
        if before != stat()? {
            sleep(Duration::from_millis(100));
            continue;
        }
        for (record, (field, unit, _)) in ours.iter().zip(EXACT) {
            let peer = before.get(field - 1).context("too few fields")? * unit;
            ensure!(record.raw()? == peer, "{} is {}, not {peer}", record.path, record.raw()?);
        }
        return Ok(());
    }
    bail!("{} does not come to rest", image.device)
}

/// Returns the instances of PhysicalDisk, after checking that they are the devices with hardware.
fn disks() -> Result<Vec<String>> {
    let output = super::perfset()
        .args(["get", r"\PhysicalDisk(*)\Disk Reads/sec", "--raw", "--format", "json"])
        .output()?;
    let text = finished(output)?;
    let mut ours = Vec::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line)?;
        let instance = record["instance"].as_str().with_context(|| format!("no instance in {line}"))?;
        ours.push(instance.to_owned());
    }
    ensure!(ours.pop().is_none_or(|last| last == "_Total"), "_Total is not the last");
    let mut theirs = Vec::new();
    for entry in fs::read_dir("/sys/block").context("/sys/block")? {
        let folder = entry?.path();
        let attribute = |name| fs::read_to_string(folder.join(name)).unwrap_or_default();
        if folder.join("device").exists()
            && attribute("size").trim() != "0"
            && attribute("hidden").trim() != "1"
        {
            theirs.push(folder.file_name().unwrap_or_default().to_string_lossy().replace('!', "/"));
        }
    }
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    ensure!(sorted(ours.clone()) == sorted(theirs.clone()), "disks are {ours:?}, not {theirs:?}");
    Ok(ours)
}

fn space(image: &Image) -> Result<()> {
    let mount = path(&image.mount_point)?;
    let df = run("df", &["-B1", "--output=used,avail", mount], "coreutils")?;
    let numbers: Vec<f64> =
        df.lines().nth(1).unwrap_or_default().split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [used, avail] = numbers[..] else { bail!("df prints {df}") };
    let of = |counter: &str| format!(r"\LogicalDisk({mount})\{counter}");
    let (share, megabytes) = (of("% Free Space"), of("Free Megabytes"));
    let ours = record::one_sample(&[&share, &megabytes], &[])?;
    let (share, megabytes) = (ours[0].value()?, ours[1].value()?);
    let (want_share, want_megabytes) = (avail / (used + avail) * 100.0, (avail / MIB).floor());
    ensure!((share - want_share).abs() < 1e-9, "% Free Space is {share}, df says {want_share}");
    ensure!(megabytes == want_megabytes, "Free Megabytes is {megabytes}, df says {want_megabytes}");
    Ok(())
}

/// Checks every counter of File System for the mounted file system on the loop device, which becomes read-only
/// meanwhile.
fn file_system(image: &Image) -> Result<()> {
    let mount = path(&image.mount_point)?;
    let columns = "--output=size,used,avail,itotal,iavail";
    let counters =
        ["Size Bytes", "Free Bytes", "Available Bytes", "Inodes", "Inodes Free", "Device Error", "Read Only"];
    let paths = counters.map(|counter| format!(r"\File System({mount})\{counter}"));
    for (options, is_read_only) in [("remount,rw", 0.0), ("remount,ro", 1.0), ("remount,rw", 0.0)] {
        run("mount", &["-o", options, mount], "mount")?;
        let df = run("df", &["-B1", columns, mount], "coreutils")?;
        let line = df.lines().nth(1).unwrap_or_default();
        let numbers: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [size, used, avail, inodes, inodes_free] = numbers[..] else { bail!("df prints {df}") };
        let want = [size, size - used, avail, inodes, inodes_free, 0.0, is_read_only];
        let ours = record::one_sample(&paths.each_ref().map(String::as_str), &[])?;
        for (record, want) in ours.iter().zip(want) {
            ensure!(record.value()? == want, "{} is {}, df says {want}", record.path, record.value()?);
        }
    }
    Ok(())
}

/// Adds a swap file, if this machine allows it, and checks size and use of each swap area against swapon.
fn swap(place: &Folder) -> Result<String> {
    let file = place.0.join("swap file");
    let zeros = vec![0; usize::try_from(SWAP_MIB << 20)?];
    let mut image = File::create(&file)?;
    image.write_all(&zeros)?;
    image.sync_all()?;
    run("chmod", &["600", path(&file)?], "coreutils")?;
    run("mkswap", &[path(&file)?], "util-linux")?;
    let swap = Swap::on(file);
    let shown = run("swapon", &["--show=NAME,SIZE,USED", "--bytes", "--noheadings", "--raw"], "mount")?;
    let mut count = 0;
    for line in shown.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, size, used] = words[..] else { bail!("swapon prints {line}") };
        let name = name.replace(r"\x20", " ");
        let path = format!(r"\Paging File({name})\% Usage");
        let bases = format!(r"\Paging File({name})\% Usage Base");
        let (used, size): (f64, f64) = (used.parse()?, size.parse()?);
        let ours = record::one_sample(&[&path], &[])?[0].value()?;
        ensure!((ours - used / size * 100.0).abs() < 5.0, "{path} is {ours}, swapon says {used} of {size}");
        let raw = record::one_sample(&[&bases], &["--raw"])?[0].raw()? * 1024.0;
        ensure!(raw == size, "{bases} is {raw}, swapon says {size}");
        count += 1;
    }
    match swap {
        Ok(_) => ensure!(count > 0, "swapon shows nothing"),
        Err(_) if count == 0 => return Ok("this machine does not swap".into()),
        Err(_) => {}
    }
    Ok(format!("{count} swap areas"))
}

/// Mounted file system on a loop device, which is unmounted and detached when this value is dropped.
pub struct Image {
    /// Kernel name of the image's loop device.
    device: String,
    pub mount_point: PathBuf,
    is_mounted: bool,
}

impl Image {
    pub fn mount(place: &Folder) -> Result<Self> {
        let (file, mount_point) = (place.0.join("image"), place.0.join("mount"));
        File::create(&file)?.set_len(IMAGE_MIB << 20)?;
        fs::create_dir_all(&mount_point)?;
        let node = run("losetup", &["--find", "--show", path(&file)?], "mount")?.trim().to_owned();
        let device = node.strip_prefix("/dev/").context("losetup prints no device")?.to_owned();
        let mut image = Self { device, mount_point, is_mounted: false };
        let options = ["-q", "-O", "^has_journal", "-E", "lazy_itable_init=0", &node];
        run("mkfs.ext4", &options, "e2fsprogs")?;
        run("mount", &[&node, path(&image.mount_point)?], "mount")?;
        image.is_mounted = true;
        Ok(image)
    }

    /// Fills 97 % of the free space of the image's file system.
    pub fn fill(&self) -> Result<()> {
        let file = self.mount_point.join("filler");
        let free = run("stat", &["-f", "-c", "%a %S", path(&self.mount_point)?], "coreutils")?;
        let mut numbers = free.split_whitespace().map(str::parse::<u64>);
        let (blocks, size) = (numbers.next().context("stat")??, numbers.next().context("stat")??);
        let bytes = blocks * size / 100 * 97;
        run("fallocate", &["-l", &bytes.to_string(), path(&file)?], "util-linux").map(drop)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if self.is_mounted {
            let _ = Command::new("umount").arg(&self.mount_point).status(); // the next one says it too
        }
        let _ = Command::new("losetup").args(["--detach", &format!("/dev/{}", self.device)]).status();
    }
}

/// Swap file of a check that is in use until this value is dropped.
pub struct Swap(PathBuf);

impl Swap {
    pub fn on(file: PathBuf) -> Result<Self> {
        run("swapon", &[path(&file)?], "mount")?;
        Ok(Self(file))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.0).status(); // it says why itself
    }
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("the folder for temporary files has a strange name")
}

/// Runs a program of a Debian package and returns its output.
fn run(program: &str, arguments: &[&str], package: &str) -> Result<String> {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {program} (Debian package {package})"))?;
    finished(output).with_context(|| format!("{program} {}", arguments.join(" ")))
}
