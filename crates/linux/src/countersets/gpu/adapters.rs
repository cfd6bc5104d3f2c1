//! Graphics processors (adapters) of the machine, and the search for them.

use std::path::PathBuf;

use perfset_core::NoValue;

use super::Luid;
use super::card::CardFiles;
use crate::provider::{Collection, DirReader, KeptFile, LOOK_AGAIN_NS, ReadFiles, SeqFileKind};
use crate::roots::Roots;
use crate::sources::drm_nodes::{Node, node};
use crate::sources::pci_address::PciAddress;
use crate::sources::uevent::Uevent;

/// Graphics processors found in `/sys/class/drm` and `/proc/driver/nvidia/gpus`.
#[derive(Debug)]
pub(super) struct Adapters {
    drm: PathBuf,
    drm_folder: DirReader,
    nvidia_folder: DirReader,
    looked_at_ns: Option<u64>,
    /// Graphics adapters, in the order of their LUIDs.
    pub(super) list: Vec<Adapter>,
    /// Generation number of the graphics adapters, which changes whenever `list` changes.
    pub(super) generation: u64,
}

/// Graphics processor, with its card in the kernel.
#[derive(Debug)]
pub(super) struct Adapter {
    pub(super) luid: Luid,
    /// PCI address of the graphics adapter, or the name of its card.
    pub(super) name: String,
    /// PCI address of the graphics adapter, if NVIDIA's own driver manages it.
    pub(super) nvidia: Option<PciAddress>,
    card: Option<Card>,
}

/// Card that the kernel's DRM subsystem lists for a graphics adapter.
#[derive(Debug)]
struct Card {
    number: u32,
    driver: String,
    /// Ids of the graphics card's render nodes, as in `renderDN`; searched for only if the card is not on PCI.
    renders: Vec<u32>,
    files: CardFiles,
}

impl Adapters {
    /// Maximum number of graphics cards that keep their file descriptors open, about a dozen each.
    const CARDS_THAT_KEEP: usize = 8;

    pub(super) fn new(roots: &Roots) -> Self {
        let drm = roots.sys.join("class/drm");
        Self {
            drm_folder: DirReader::new(&drm),
            drm,
            nvidia_folder: DirReader::new(roots.proc.join("driver/nvidia/gpus")),
            looked_at_ns: None,
            list: Vec::new(),
            generation: 0,
        }
    }

    /// Searches for graphics adapters, at most every 10 s.
    pub(super) fn refresh(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        if !pass.is_due(&mut self.looked_at_ns, LOOK_AGAIN_NS) {
            return Ok(());
        }
        let looked = self.look(pass);
        if looked.is_err() {
            self.looked_at_ns = None; // the next collection has that reason again
        }
        looked
    }

    fn look(&mut self, pass: &mut Collection) -> Result<(), NoValue> {
        let mut cards = Vec::new();
        pass.list_if_there(&mut self.drm_folder, |name| {
            if let Some(Node::Card(number)) = node(name) {
                cards.push(number);
            }
        })?;
        cards.sort_unstable();
        let mut found = Vec::new();
        for number in cards {
            found.extend(self.card(number, found.len(), pass));
        }
        pass.list_if_there(&mut self.nvidia_folder, |name| {
            let Some(address) = PciAddress::parse(name) else { return };
            let luid = Luid::from_pci(address);
            // NVIDIA's driver may register a card with DRM as well. The PCI address shows that both are the
            // same adapter.
            match found.iter_mut().find(|adapter| adapter.luid == luid) {
                Some(adapter) => adapter.nvidia = Some(address),
                None => {
                    found.push(Adapter { luid, name: address.to_string(), nvidia: Some(address), card: None })
                }
            }
        })?;
        found.sort_by_key(|adapter| adapter.luid);
        // An unchanged list stays, with its open files and the sensors that were found.
        if !self.list.iter().map(Adapter::identity).eq(found.iter().map(Adapter::identity)) {
            self.list = found;
            self.generation = self.generation.wrapping_add(1);
        }
        Ok(())
    }

    /// Returns the graphics adapter of a card, if the card has a device: `vgem` and similar drivers have none.
    fn card(&self, number: u32, before: usize, pass: &mut Collection) -> Option<Adapter> {
        let folder = self.drm.join(format!("card{number}"));
        let mut file = KeptFile::new(folder.join("device/uevent"), SeqFileKind::Single).keep(false);
        let mut uevent = Uevent::default();
        pass.read(&mut file, "it has no device", |text| uevent.parse(text)).ok()?;
        let mut renders = Vec::new();
        // A client reports its PCI address. Only without one must the device that it opened show the adapter.
        if uevent.pci_address.is_none() {
            let _ = pass.list_if_there(&mut DirReader::new(folder.join("device/drm")), |name| {
                if let Some(Node::Render(number)) = node(name) {
                    renders.push(number);
                }
            }); // without them its clients have no adapter
        }
        let luid = uevent.pci_address.map_or(Luid::from_card(number), Luid::from_pci);
        let name = uevent.pci_address.map_or_else(|| format!("card{number}"), |address| address.to_string());
        let files = CardFiles::new(folder, before < Self::CARDS_THAT_KEEP);
        let card = Card { number, driver: uevent.driver.unwrap_or_default(), renders, files };
        Some(Adapter { luid, name, nvidia: None, card: Some(card) })
    }

    /// Returns `true` if the kernel's DRM subsystem lists a graphics adapter.
    pub(super) fn have_cards(&self) -> bool {
        self.list.iter().any(|adapter| adapter.card.is_some())
    }

    /// Returns the LUID of the graphics adapter that is not on PCI and has this device file.
    pub(super) fn of_node(&self, node: Node) -> Option<Luid> {
        let has = |card: &Card| match node {
            Node::Card(number) => card.number == number,
            Node::Render(number) => card.renders.contains(&number),
        };
        self.list.iter().find(|adapter| adapter.card.as_ref().is_some_and(has)).map(|adapter| adapter.luid)
    }
}

impl Adapter {
    /// Returns the graphics adapter's files in `/sys`.
    pub(super) fn files(&mut self) -> Option<&mut CardFiles> {
        self.card.as_mut().map(|card| &mut card.files)
    }

    fn identity(&self) -> impl PartialEq + '_ {
        let card =
            self.card.as_ref().map(|card| (card.number, card.driver.as_str(), card.renders.as_slice()));
        (self.luid, self.nvidia, card)
    }
}
