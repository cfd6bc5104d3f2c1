//! Clients of graphics drivers: open devices, and the usage that the driver reports for each of them.

use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use perfset_core::{Mark, NoValue};
use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::Luid;
use super::adapters::Adapters;
use crate::provider::{
    Collection, DirReader, KeptFile, LOOK_AGAIN_NS, MarkedRaw, ReadError, ReadFiles, SeqFileKind,
};
use crate::sources::drm_fdinfo::{DrmFdinfo, Engine, Region};
use crate::sources::drm_nodes::{Node, open_node};
use crate::sources::named::Number;
use crate::sources::pci_address::PciAddress;
use crate::sources::processes::pid as number;
use crate::sources::text::TextError;

/// All clients of graphics drivers, found and read once per collection.
#[derive(Debug)]
pub(super) struct Clients {
    proc: PathBuf,
    processes: DirReader,
    /// Buffer for the links to the open files of one process.
    buffer: Vec<u8>,
    walked_at_ns: Option<u64>,
    /// Number of the last collection that read the clients of graphics drivers.
    read_in: u64,
    /// Clients of graphics drivers, in the order of their adapters, then of their ids.
    pub(super) list: Vec<Client>,
    /// Number of processes whose open files could not be read, in the search for graphics clients.
    pub(super) refused: u64,
    /// Generation number that changes when the clients of graphics drivers, their processes or their engines do.
    pub(super) generation: u64,
}

/// Client of a graphics driver: one opening of a device, shared by any number of file descriptors and processes.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) luid: Luid,
    /// Id of the graphics client, unique among the clients of its adapter.
    pub(super) id: u64,
    pub(super) info: DrmFdinfo,
    pci_address: Option<PciAddress>,
    /// File descriptors of this graphics client, the greatest process id first. Never empty; `file` belongs to the
    /// first.
    holders: Vec<ClientFd>,
    keep: bool,
    file: KeptFile,
    /// Highest usage that the graphics driver has reported for the client, by name of the engine.
    most: Vec<PeakUsage>,
}

/// File descriptor that a process has open for a client of a graphics driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClientFd {
    pid: u32,
    fd: u32,
}

#[derive(Debug)]
struct PeakUsage {
    name: String,
    busy_ns: u64,
    cycles: u64,
}

impl Clients {
    /// Maximum number of graphics clients that keep their files open: the limit of a process is often 1,024 files in
    /// all.
    const CLIENTS_THAT_KEEP: usize = 64;

    pub(super) fn new(proc: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            processes: DirReader::new(proc),
            buffer: Vec::new(),
            walked_at_ns: None,
            read_in: 0,
            list: Vec::new(),
            refused: 0,
            generation: 0,
        }
    }

    /// Reads all clients of graphics drivers, and searches for new ones every 10 s. Does so once per collection.
    pub(super) fn refresh(&mut self, adapters: &Adapters, pass: &mut Collection) -> Result<(), NoValue> {
        if self.read_in == pass.number() {
            return Ok(());
        }
        let (mut changed, mut walked) = (false, Ok(()));
        if adapters.have_cards() {
            self.list.retain_mut(|client| {
                let came = client.read(&self.proc, pass);
                changed |= came != ClientChange::Same;
                came != ClientChange::Gone
            });
            // Finding clients examines every open file of the machine; reading known clients is cheap.
            if pass.is_due(&mut self.walked_at_ns, LOOK_AGAIN_NS) {
                match self.walk(adapters, pass) {
                    Ok(found) => changed |= found,
                    Err(reason) => {
                        self.walked_at_ns = None; // the next collection has that reason again
                        walked = Err(reason);
                    }
                }
            }
        } else {
            // Without cards there are no clients, and no process is examined.
            changed = !self.list.is_empty();
            self.list.clear();
            (self.walked_at_ns, self.refused) = (None, 0);
        }
        if changed {
            self.generation = self.generation.wrapping_add(1);
        }
        // The number of the collection is noted only after success, so that each counterset gets the reason
        // of a failure.
        walked?;
        self.read_in = pass.number();
        Ok(())
    }

    /// Returns the reason for incomplete data on graphics clients, if the open files of some processes could not be
    /// read.
    pub(super) fn refusal(&self) -> Option<NoValue> {
        let Self { refused, .. } = self;
        let why = || {
            let s = if *refused == 1 { "" } else { "es" };
            format!("open files of {refused} process{s} cannot be read: needs CAP_SYS_PTRACE")
        };
        (*refused > 0).then(|| NoValue::Denied(why().into()))
    }

    /// Examines all file descriptors of all processes. Returns `true` if the graphics clients or their processes have
    /// changed.
    fn walk(&mut self, adapters: &Adapters, pass: &mut Collection) -> Result<bool, NoValue> {
        let mut pids = Vec::new();
        pass.list(&mut self.processes, |name| pids.extend(number(name)))?;
        let mut found = Vec::new();
        self.refused = 0;
        for pid in pids {
            // The target of the link identifies a graphics device. The `fdinfo` of all other descriptors is
            // never opened.
            let listed = links(&self.proc.join(format!("{pid}/fd")), &mut self.buffer, |name, target| {
                pass.count_bytes_read(target.len());
                if let (Some(fd), Some(node)) = (number(name), open_node(target)) {
                    found.push((ClientFd { pid, fd }, node));
                }
            });
            if matches!(listed, Err(Errno::ACCESS | Errno::PERM)) {
                self.refused = self.refused.saturating_add(1);
            }
        }
        for client in &mut self.list {
            client.holders.truncate(1); // it was read just now; the others may be something else by now
        }
        let mut changed = false;
        for (holder, node) in found {
            let is_known = self.list.iter().any(|client| client.holders.contains(&holder));
            changed |= !is_known && self.add(holder, node, adapters, pass);
        }
        Ok(changed)
    }

    /// Adds a newly found file descriptor of a graphics device. Returns `true` if a client is new or has another
    /// process. A file descriptor is ignored if its client cannot be distinguished from others.
    fn add(&mut self, holder: ClientFd, node: Node, adapters: &Adapters, pass: &mut Collection) -> bool {
        let keep = self.list.len() < Self::CLIENTS_THAT_KEEP;
        let mut file = holder.file(&self.proc, keep);
        let mut info = DrmFdinfo::default();
        if pass.read(&mut file, "", |text| info.parse(text)).is_err() {
            return false; // gone meanwhile, or a driver that tells nothing
        }
        // Without an id, two descriptors of one client would be counted twice.
        let Some(Ok(id)) = info.client_id else { return false };
        let pci_address = info.pci_address;
        let Some(luid) = pci_address.map(Luid::from_pci).or_else(|| adapters.of_node(node)) else {
            return false;
        };
        let place = self.list.binary_search_by_key(&(luid, id), |client| (client.luid, client.id));
        match place.map(|at| self.list.get_mut(at)) {
            Ok(Some(client)) => {
                let before = client.pid();
                client.holders.push(holder);
                // The login manager also holds the files of a compositor. The greatest pid is usually that of
                // the newest process, which uses the device.
                client.holders.sort_unstable_by_key(|holder| (std::cmp::Reverse(holder.pid), holder.fd));
                if client.holders.first() == Some(&holder) {
                    client.file = holder.file(&self.proc, client.keep);
                }
                client.pid() != before
            }
            Ok(None) => false,
            Err(at) => {
                let holders = vec![holder];
                let most = Vec::new();
                let mut client = Client { luid, id, info, pci_address, holders, keep, file, most };
                client.note_most();
                self.list.insert(at, client);
                true
            }
        }
    }
}

/// Change of a graphics client since the last collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientChange {
    Same,
    /// Change of a graphics client that has another process or other engines than before.
    Changed,
    Gone,
}

impl Client {
    /// Returns the id of the process that the graphics client belongs to.
    pub(super) fn pid(&self) -> u32 {
        self.holders.first().map_or(0, |holder| holder.pid)
    }

    /// Reads the graphics client's usage. A file descriptor that is closed or that now belongs to another file is
    /// replaced by the next.
    fn read(&mut self, proc: &Path, pass: &mut Collection) -> ClientChange {
        let (before, engines) = (self.pid(), names_hash(&self.info));
        loop {
            let Self { file, info, .. } = self;
            let is_one = pass.read(file, "", |text| info.parse(text)).is_ok();
            // The process may have closed the file, and its number may belong to another one.
            let is_this = info.client_id == Some(Ok(self.id)) && info.pci_address == self.pci_address;
            if is_one && is_this {
                break;
            }
            let Some(next) = self.holders.get(1) else { return ClientChange::Gone };
            self.file = next.file(proc, self.keep);
            self.holders.remove(0);
        }
        self.note_most();
        let is_same = self.pid() == before && names_hash(&self.info) == engines;
        if is_same { ClientChange::Same } else { ClientChange::Changed }
    }

    fn note_most(&mut self) {
        for engine in &self.info.engines {
            let place = self.most.binary_search_by(|most| most.name.as_str().cmp(&engine.name));
            let at = match place {
                Ok(at) => at,
                // Names come from the driver; their number must not grow without end.
                Err(_) if self.most.len() >= DrmFdinfo::LIMIT => continue,
                Err(at) => {
                    self.most.insert(at, PeakUsage { name: engine.name.clone(), busy_ns: 0, cycles: 0 });
                    at
                }
            };
            if let Some(most) = self.most.get_mut(at) {
                let told =
                    |number: &Number| number.as_ref().and_then(|n| n.as_ref().ok().copied()).unwrap_or(0);
                most.busy_ns = most.busy_ns.max(told(&engine.busy_ns));
                most.cycles = most.cycles.max(told(&engine.cycles));
            }
        }
    }

    pub(super) fn engine(&self, name: &str) -> Option<&Engine> {
        let place = self.info.engines.binary_search_by(|engine| engine.name.as_str().cmp(name));
        self.info.engines.get(place.ok()?)
    }

    fn most(&self, name: &str) -> Option<&PeakUsage> {
        let place = self.most.binary_search_by(|most| most.name.as_str().cmp(name));
        self.most.get(place.ok()?)
    }

    /// Returns the time that a graphics engine worked for this client, in ns; `None` if the driver does not report
    /// the time. The kernel's value may fall and rise again later: meanwhile the highest value so far is returned,
    /// marked `Held`.
    pub(super) fn busy_ns(&self, engine: &str) -> Result<Option<MarkedRaw>, NoValue> {
        let number = self.engine(engine).and_then(|engine| engine.busy_ns.as_ref());
        self.held(number, self.most(engine).map(|most| most.busy_ns))
    }

    /// Returns the cycles that a graphics engine worked for this client; `None` and `Held` as in
    /// [`busy_ns`](Self::busy_ns).
    pub(super) fn cycles(&self, engine: &str) -> Result<Option<MarkedRaw>, NoValue> {
        let number = self.engine(engine).and_then(|engine| engine.cycles.as_ref());
        self.held(number, self.most(engine).map(|most| most.cycles))
    }

    fn held(
        &self,
        number: Option<&Result<u64, TextError>>,
        most: Option<u64>,
    ) -> Result<Option<MarkedRaw>, NoValue> {
        let Some(now) = self.number(number)? else { return Ok(None) };
        let most = most.unwrap_or(0).max(now);
        Ok(Some(MarkedRaw::new(most, (now < most).then_some(Mark::Held))))
    }

    /// Returns the number of cycles that have passed for a graphics engine, with work or without.
    pub(super) fn total_cycles(&self, engine: &str) -> Result<Option<u64>, NoValue> {
        self.number(self.engine(engine).and_then(|engine| engine.total_cycles.as_ref()))
    }

    /// Returns the number of graphics engines with that name.
    pub(super) fn capacity(&self, engine: &str) -> Result<u64, NoValue> {
        let told = self.number(self.engine(engine).and_then(|engine| engine.capacity.as_ref()))?;
        // Utilization is divided by this number.
        Ok(told.unwrap_or(1).max(1))
    }

    /// Returns a size of one region of graphics memory, in bytes; `None` if the driver does not report it.
    pub(super) fn bytes(&self, of: &Number) -> Result<Option<u64>, NoValue> {
        self.number(of.as_ref())
    }

    pub(super) fn regions(&self) -> &[Region] {
        &self.info.regions
    }

    fn number(&self, number: Option<&Result<u64, TextError>>) -> Result<Option<u64>, NoValue> {
        match number {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(*number)),
            Some(Err(text)) => {
                Err(ReadError::Text { path: self.file.path().to_owned(), text: text.clone() }.into())
            }
        }
    }
}

impl ClientFd {
    fn file(self, proc: &Path, keep: bool) -> KeptFile {
        let Self { pid, fd } = self;
        KeptFile::new(proc.join(format!("{pid}/fdinfo/{fd}")), SeqFileKind::Single).keep(keep)
    }
}

/// Hashes the names of a client's graphics engines with FNV-1a, to detect another list of engines.
fn names_hash(info: &DrmFdinfo) -> u64 {
    let bytes = info.engines.iter().flat_map(|engine| engine.name.bytes().chain([0]));
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Calls `each` with the name and target of every link in a directory; targets are cut to 64 bytes.
fn links(path: &Path, buffer: &mut Vec<u8>, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Errno> {
    const BUFFER: usize = 32 << 10; // a thousand names
    const LIMIT: usize = 1 << 23; // more than a process can have open
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    buffer.reserve_exact(BUFFER); // it stays empty
    let mut entries = RawDir::new(&folder, buffer.spare_capacity_mut());
    for _ in 0..LIMIT {
        let Some(entry) = entries.next() else { return Ok(()) };
        let entry = entry?;
        // Long enough for every graphics device; a longer target is another file.
        let mut target = [const { MaybeUninit::uninit() }; 64];
        // An entry that is not a link, or was closed meanwhile, cannot be a graphics device.
        if let Ok((target, _)) = rustix::fs::readlinkat_raw(&folder, entry.file_name(), &mut target) {
            each(entry.file_name().to_bytes(), target);
        }
    }
    Ok(())
}
