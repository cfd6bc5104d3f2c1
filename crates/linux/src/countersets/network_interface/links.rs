//! Files of a network interface in `/sys`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use perfset_core::NoValue;
use perfset_engine::{Fact, FactKind};
use rustix::io::Errno;

use crate::provider::{
    Attribute, Collection, CollectionCache, KeptFile, LOOK_AGAIN_NS, ReadError, ReadFiles, SeqFileKind,
    instance_name, unavailable,
};
use crate::roots::Roots;
use crate::sources::net_dev::{Counts, Interface};
use crate::sources::text::TextError;
use crate::sources::{attribute, link_speed};

/// Network interface, with its files in `/sys`.
#[derive(Debug)]
pub(super) struct Link {
    name: Vec<u8>,
    folder: Option<PathBuf>,
    keep: bool,
    /// Index that the kernel has given to the network interface, if `/sys` has the interface.
    pub(super) ifindex: Option<u32>,
    pub(super) is_loopback: bool,
    /// Inode number of the interface's link in `/sys/class/net`. An interface that is created again has another one.
    inode: Option<u64>,
    /// Time at which the network interface's index was last read, on the monotonic clock.
    looked_at_ns: u64,
    /// Counts of the network interface in the last collection.
    counts: Counts,
    speed: Speed,
    unknown: Option<Attribute>,
}

/// Maximum number of interfaces of a counterset that keep the file descriptors of their own files, two each.
const LINKS_THAT_KEEP: usize = 32;
pub(super) const NOT_IN_SYS: &str = "/sys/class/net does not have it";
/// Reason for the absence of an interface's file that only newer kernels have.
pub(super) const NOT_REPORTED: &str =
    "this kernel does not report it, or /sys/class/net does not have the interface";

/// Updates `links` to the current network interfaces. Returns `true` if they differ from the earlier interfaces.
///
/// The properties of an interface are read when it appears. Its identity is checked again if the set of interfaces
/// has changed, if its entry in `/sys` is another one, if its counts have fallen, and periodically: an interface that
/// was removed and created again may have the same name and index.
pub(super) fn refresh(
    links: &mut Vec<Link>,
    interfaces: &[Interface],
    roots: &Roots,
    pass: &mut Collection,
) -> bool {
    let is_same = links.len() == interfaces.len()
        && links.iter().zip(interfaces).all(|(link, interface)| link.name == interface.name);
    if !is_same {
        let old = links.drain(..).map(|link| (link.name.clone(), link));
        let mut old: BTreeMap<_, _> = old.collect();
        // Counted from what is left, so that the limit holds while interfaces come and go.
        let mut keeping = old.values().filter(|link| link.keep).count();
        for interface in interfaces {
            let link = old.remove(&interface.name).unwrap_or_else(|| {
                let keep = keeping < LINKS_THAT_KEEP;
                keeping = keeping.saturating_add(usize::from(keep));
                Link::new(interface.name.clone(), roots, keep)
            });
            links.push(link);
        }
    }
    let mut changed = !is_same;
    for (link, interface) in links.iter_mut().zip(interfaces) {
        changed |= link.look(interface, !is_same, pass);
    }
    changed
}

impl Link {
    fn new(name: Vec<u8>, roots: &Roots, keep: bool) -> Self {
        // Interface names that the kernel uses are valid file names.
        let is_file =
            !matches!(name.as_slice(), b"" | b"." | b"..") && !name.iter().any(|b| matches!(b, b'/' | 0));
        let folder = is_file.then(|| roots.sys.join("class/net").join(OsStr::from_bytes(&name)));
        let (speed, unknown) = files(folder.as_deref(), keep);
        Self {
            name,
            folder,
            keep,
            ifindex: None,
            is_loopback: false,
            inode: None,
            looked_at_ns: 0,
            counts: Counts::default(),
            speed,
            unknown,
        }
    }

    /// Reads the network interface's index if the index may have changed. If it has changed, reads the interface's
    /// other properties too, and returns `true`.
    fn look(&mut self, interface: &Interface, must: bool, pass: &mut Collection) -> bool {
        // A malformed line does not mean that the interface is another one.
        let counts = interface.counts.as_ref().copied().unwrap_or(self.counts);
        let fell = counts.rx_bytes < self.counts.rx_bytes
            || counts.rx_packets < self.counts.rx_packets
            || counts.tx_bytes < self.counts.tx_bytes
            || counts.tx_packets < self.counts.tx_packets;
        self.counts = counts;
        // The kernel never reuses an inode number of sysfs.
        let inode = self.folder.as_deref().and_then(|folder| Some(rustix::fs::lstat(folder).ok()?.st_ino));
        let is_other = std::mem::replace(&mut self.inode, inode) != inode;
        let is_new = self.looked_at_ns == 0;
        let is_old = pass.elapsed_ns().saturating_sub(self.looked_at_ns) >= LOOK_AGAIN_NS;
        if !(must || is_other || fell || is_new || is_old) {
            return false;
        }
        // 0 means that the index was never read.
        self.looked_at_ns = pass.elapsed_ns().max(1);
        let ifindex = self.number("ifindex", pass).and_then(|number| u32::try_from(number).ok());
        if !is_new && ifindex == self.ifindex {
            return false;
        }
        /// Hardware type of a loopback interface: `ARPHRD_LOOPBACK`.
        const LOOPBACK: u64 = 772;
        self.is_loopback = match self.number("type", pass) {
            Some(kind) => kind == LOOPBACK,
            None => self.name == b"lo", // that is how the kernel makes it
        };
        self.ifindex = ifindex;
        // The descriptors that are open belong to the earlier interface.
        (self.speed, self.unknown) = files(self.folder.as_deref(), self.keep);
        true
    }

    /// Returns the number in the network interface's file `name`, opening and closing the file.
    fn number(&self, name: &str, pass: &mut Collection) -> Option<u64> {
        let mut file = KeptFile::new(self.folder.as_ref()?.join(name), SeqFileKind::Single).keep(false);
        pass.read(&mut file, NOT_IN_SYS, attribute::number).ok()
    }

    /// Returns the kernel's name of the network interface.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns the network interface's directory in `/sys`, which may not exist; `None` if its name is no name of a
    /// file.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the network interface's name in the form of an instance name.
    pub(super) fn instance_name(&self) -> String {
        instance_name(&self.name)
    }

    /// Returns the kernel's index of the network interface. If `/sys` does not have the interface: a hash of its
    /// name, greater than every index.
    pub(super) fn id(&self) -> u32 {
        const BASIS: u32 = 0x811C_9DC5;
        const PRIME: u32 = 0x0100_0193;
        let hash =
            || self.name.iter().fold(BASIS, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME));
        // Indexes are below 2^31. The mask keeps the hash below `TOTAL_ID` and other special ids.
        self.ifindex.unwrap_or_else(|| 0x8000_0000 | hash() & 0x3FFF_FFFF)
    }

    /// Returns the number of packets with an unknown protocol that the network interface received.
    pub(super) fn unknown(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        self.unknown.as_mut().ok_or_else(|| unavailable(NOT_IN_SYS))?.get(pass)
    }

    /// Returns facts about a network interface: the speed of the link, and the driver if the interface stands for a
    /// device.
    pub(super) fn facts(&mut self, pass: &mut Collection) -> Vec<Fact> {
        let speed = self.speed.megabits(pass).map(|megabits| format!("{megabits} Mbit/s"));
        let target = self.folder.as_ref().and_then(|folder| folder.join("device/driver").read_link().ok());
        let driver = target.as_deref().and_then(Path::file_name);
        let driver = driver.map(|name| Fact::new(FactKind::Driver, Ok(name.to_string_lossy().into_owned())));
        [Fact::new(FactKind::Speed, speed)].into_iter().chain(driver).collect()
    }

    pub(super) fn bits_per_second(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        const MEGA: u64 = 1_000_000;
        Ok(self.speed.megabits(pass)?.saturating_mul(MEGA))
    }
}

/// Returns the files of a network interface with the link speed and the packets of unknown protocols.
fn files(folder: Option<&Path>, keep: bool) -> (Speed, Option<Attribute>) {
    let file = |folder: &Path| KeptFile::new(folder.join("speed"), SeqFileKind::Single).keep(keep);
    let unknown = |folder: &Path| {
        let path = folder.join("statistics/rx_nohandler");
        Attribute::new(path, keep, NOT_REPORTED)
    };
    (Speed { file: folder.map(file), latest: CollectionCache::default() }, folder.map(unknown))
}

/// Speed of a network link, from the interface's file `speed`.
#[derive(Debug)]
struct Speed {
    file: Option<KeptFile>,
    latest: CollectionCache<u64>,
}

impl Speed {
    fn megabits(&mut self, pass: &mut Collection) -> Result<u64, NoValue> {
        const UNKNOWN: &str = "the driver does not know the speed of this link, or it is down";
        let Self { file, latest } = self;
        let file = file.as_mut().ok_or_else(|| unavailable(NOT_IN_SYS))?;
        let speed = latest.get(pass, |pass| {
            let speed = read_if_known(file, (NOT_IN_SYS, UNKNOWN), link_speed::megabits, pass)?;
            speed.ok_or_else(|| unavailable(UNKNOWN))
        });
        speed.copied()
    }
}

/// Reads and parses an interface's file by which a driver reports with `EINVAL` that it does not know the value.
/// `absent` and `unknown` are the reasons for an absent file and for that error.
pub(super) fn read_if_known<T>(
    file: &mut KeptFile,
    (absent, unknown): (&'static str, &'static str),
    parse: fn(&[u8]) -> Result<T, TextError>,
    pass: &mut Collection,
) -> Result<T, NoValue> {
    let is_invalid = |error: &io::Error| error.raw_os_error() == Some(Errno::INVAL.raw_os_error());
    let text = match file.read(pass.elapsed_ns()) {
        Err(ReadError::Io { source, .. }) if is_invalid(&source) => return Err(unavailable(unknown)),
        read => read?.ok_or_else(|| unavailable(absent))?,
    };
    pass.count_bytes_read(text.len());
    parse(text).map_err(|text| ReadError::Text { path: file.path().to_owned(), text }.into())
}
