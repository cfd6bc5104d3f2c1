//! Parser of `/proc/PID/fdinfo/FD` of a file descriptor that is open on a graphics driver: GPU use of one client.
//!
//! Source: the kernel's `Documentation/gpu/drm-usage-stats.rst`.

use super::named::Number;
use super::pci_address::PciAddress;
use super::text::{Text, TextError};

/// Data that a graphics driver reports on one client, a user of the adapter.
///
/// Several file descriptors, also of several processes, may belong to the same client. They do if driver, address and
/// client id are equal.
///
/// ```
/// use perfset_linux::sources::drm_fdinfo::DrmFdinfo;
///
/// let mut client = DrmFdinfo::default();
/// client.parse(
///     b"pos:\t0\ndrm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:00:02.0\n\
///       drm-total-system0:\t3 KiB\ndrm-engine-render:\t5000 ns\ndrm-engine-capacity-video:\t2\n",
/// )?;
/// assert_eq!((client.driver.as_str(), &client.client_id), ("i915", &Some(Ok(7))));
/// assert_eq!(client.engines[0].busy_ns, Some(Ok(5_000)));
/// assert_eq!(client.engines[1].capacity, Some(Ok(2)));
/// assert_eq!(client.regions[0].total, Some(Ok(3_072)));
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrmFdinfo {
    /// `drm-driver`: name of the graphics driver.
    pub driver: String,
    /// `drm-pdev`: PCI address of the graphics adapter, if it is on PCI.
    pub pci_address: Option<PciAddress>,
    /// `drm-client-id`: id of the client, unique among the clients of the graphics adapter.
    pub client_id: Number,
    /// Groups of engines of the graphics adapter, sorted by name. At most [`LIMIT`](Self::LIMIT).
    pub engines: Vec<Engine>,
    /// Kinds of graphics memory, sorted by name. At most [`LIMIT`](Self::LIMIT).
    pub regions: Vec<Region>,
}

/// Group of engines of the same kind in a graphics adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// Name that the driver gives to the group of engines.
    pub name: String,
    /// `drm-engine-NAME`: time that the engines worked for the graphics client, in ns. The time may decrease, and
    /// then catches up.
    pub busy_ns: Number,
    /// `drm-engine-capacity-NAME`: number of engines whose times are summed; one if the driver does not report it.
    pub capacity: Number,
    /// `drm-cycles-NAME`: cycles that the engines worked for the graphics client. The number may decrease, too.
    pub cycles: Number,
    /// `drm-total-cycles-NAME`: cycles of the engines that have passed, with work or without.
    pub total_cycles: Number,
}

/// Kind of memory that can contain buffers of a graphics client. Unit: bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Name that the driver gives to the kind of memory.
    pub name: String,
    /// `drm-total-NAME`: memory allocated to the graphics client.
    pub total: Number,
    /// `drm-resident-NAME`: memory of the graphics client that is resident at the moment.
    pub resident: Number,
    /// `drm-memory-NAME`: the name of older drivers for `drm-resident-NAME`.
    pub memory: Number,
}

impl DrmFdinfo {
    /// Maximum number of engines and of memory kinds that are parsed: many times the number of any driver.
    pub const LIMIT: usize = 256;

    /// Parses the file `fdinfo` of a graphics client, replacing all previous contents. A malformed line affects only
    /// its own number.
    ///
    /// # Errors
    /// If `text` names no driver: the file descriptor is open on something else.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        self.clear();
        while !text.is_at_end() {
            let mut line = text;
            if let Ok(key) = line.until_colon() {
                self.take(key, line);
            }
            if text.line().is_err() {
                break; // it was cut, and so was the value: whoever took it knows
            }
        }
        // What is still empty is left from the previous text, whose names were kept.
        self.engines.retain(|engine| !engine.is_empty());
        self.regions.retain(|region| !region.is_empty());
        if self.driver.is_empty() { Err(text.expected("a line with drm-driver")) } else { Ok(()) }
    }

    /// Clears all data of the client except the names, so that none must be allocated again.
    fn clear(&mut self) {
        self.driver.clear();
        self.pci_address = None;
        self.client_id = None;
        for engine in &mut self.engines {
            *engine = Engine { name: std::mem::take(&mut engine.name), ..Engine::default() };
        }
        for region in &mut self.regions {
            *region = Region { name: std::mem::take(&mut region.name), ..Region::default() };
        }
    }

    /// Stores the number of a line of `fdinfo`. If several lines have the same key, the first one counts.
    fn take(&mut self, key: &[u8], mut value: Text<'_>) {
        // Keys of a single driver, such as `amd-requested-vram`, have another prefix and no common meaning.
        let Some(key) = key.strip_prefix(b"drm-") else { return };
        value.skip_blanks();
        match key {
            b"driver" => {
                let driver = value.line().unwrap_or_default().trim_ascii();
                if self.driver.is_empty() {
                    self.driver.push_str(&String::from_utf8_lossy(driver));
                }
                return;
            }
            b"pdev" => {
                let address = value.line().ok().and_then(|address| PciAddress::parse(address.trim_ascii()));
                self.pci_address = self.pci_address.or(address);
                return;
            }
            b"client-id" => {
                self.client_id.get_or_insert_with(|| value.last_number());
                return;
            }
            _ => {}
        }
        // Before `engine-`, which is its beginning: otherwise there would be an engine named `capacity-…`.
        if let Some(name) = key.strip_prefix(b"engine-capacity-") {
            self.engine(name, |engine| &mut engine.capacity, || value.last_number());
        } else if let Some(name) = key.strip_prefix(b"engine-") {
            self.engine(name, |engine| &mut engine.busy_ns, || ns(value));
        } else if let Some(name) = key.strip_prefix(b"cycles-") {
            self.engine(name, |engine| &mut engine.cycles, || value.last_number());
        } else if let Some(name) = key.strip_prefix(b"total-cycles-") {
            self.engine(name, |engine| &mut engine.total_cycles, || value.last_number());
        } else if let Some(name) = key.strip_prefix(b"total-") {
            self.region(name, |region| &mut region.total, || bytes(value));
        } else if let Some(name) = key.strip_prefix(b"resident-") {
            self.region(name, |region| &mut region.resident, || bytes(value));
        } else if let Some(name) = key.strip_prefix(b"memory-") {
            self.region(name, |region| &mut region.memory, || bytes(value));
        }
    }

    fn engine(
        &mut self,
        name: &[u8],
        part: fn(&mut Engine) -> &mut Number,
        read: impl FnOnce() -> Result<u64, TextError>,
    ) {
        let new = |name| Engine { name, ..Engine::default() };
        if let Some(engine) = named(&mut self.engines, name, |engine| &engine.name, new) {
            part(engine).get_or_insert_with(read);
        }
    }

    fn region(
        &mut self,
        name: &[u8],
        part: fn(&mut Region) -> &mut Number,
        read: impl FnOnce() -> Result<u64, TextError>,
    ) {
        let new = |name| Region { name, ..Region::default() };
        if let Some(region) = named(&mut self.regions, name, |region| &region.name, new) {
            part(region).get_or_insert_with(read);
        }
    }
}

impl Engine {
    fn is_empty(&self) -> bool {
        let Self { name: _, busy_ns, capacity, cycles, total_cycles } = self;
        [busy_ns, capacity, cycles, total_cycles].into_iter().all(Option::is_none)
    }
}

impl Region {
    fn is_empty(&self) -> bool {
        let Self { name: _, total, resident, memory } = self;
        [total, resident, memory].into_iter().all(Option::is_none)
    }
}

/// Returns the item of a name in a list sorted by name, and adds it if it is missing. Returns `None` if the list is
/// full.
fn named<'l, T>(
    list: &'l mut Vec<T>,
    name: &[u8],
    name_of: fn(&T) -> &str,
    new: fn(String) -> T,
) -> Option<&'l mut T> {
    let name = String::from_utf8_lossy(name.trim_ascii());
    let at = match list.binary_search_by(|item| name_of(item).cmp(&*name)) {
        Ok(at) => at,
        // The text may come from another tree than procfs. Without a limit it would determine how much memory
        // is used.
        Err(_) if list.len() >= DrmFdinfo::LIMIT => return None,
        Err(at) => {
            list.insert(at, new(name.into_owned()));
            at
        }
    };
    list.get_mut(at)
}

fn ns(mut text: Text<'_>) -> Result<u64, TextError> {
    let number = text.number()?;
    text.skip_blanks();
    if !text.take(b"ns") {
        return Err(text.expected("\"ns\""));
    }
    text.end_of_line()?;
    Ok(number)
}

fn bytes(mut text: Text<'_>) -> Result<u64, TextError> {
    let number = text.number()?;
    text.skip_blanks();
    // A driver may choose the unit of each line; without a unit the number is in bytes.
    let unit = if text.take(b"KiB") {
        1 << 10
    } else if text.take(b"MiB") {
        1 << 20
    } else {
        1
    };
    text.end_of_line()?;
    Ok(number.saturating_mul(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> DrmFdinfo {
        let mut client = DrmFdinfo::default();
        client.parse(format!("drm-driver: x\n{text}").as_bytes()).unwrap();
        client
    }

    #[test]
    fn units() {
        for (line, want) in [
            ("drm-total-a: 3\n", Ok(3)),
            ("drm-total-a:\t3 KiB\n", Ok(3 << 10)),
            ("drm-total-a:3 MiB \n", Ok(3 << 20)),
            ("drm-total-a: 18446744073709551615 KiB\n", Ok(u64::MAX)),
            ("drm-total-a: 3 GiB\n", Err("\"GiB\"")),
            ("drm-total-a: 3 KiB 5\n", Err("\"5\"")),
            ("drm-total-a: -3\n", Err("\"-3\"")),
            ("drm-total-a: 3 Ki", Err("\"Ki\"")),
            ("drm-total-a: 3", Err("the end of the file")),
            ("drm-engine-a: 3 ns\n", Ok(3)),
            ("drm-engine-a: 3\n", Err("the end of the line")),
            ("drm-engine-a: 3 ms\n", Err("\"ms\"")),
        ] {
            let client = parsed(line);
            let engine = client.engines.first().and_then(|engine| engine.busy_ns.clone());
            let region = client.regions.first().and_then(|region| region.total.clone());
            let got = engine.or(region).unwrap();
            assert_eq!(got.map_err(|e| e.found), want.map_err(str::to_owned), "{line:?}");
        }
    }

    #[test]
    fn keys() {
        let client = parsed(
            "drm-engine-video: 2 ns\ndrm-engine-copy: 3 ns\ndrm-engine-video: 5 ns\ndrm-engine-capacity-video: 7\n\
             drm-memory-gtt: \t11 KiB\ndrm-total-cycles-rcs: 13\ndrm-cycles-rcs: 17\ndrm-maxfreq-rcs: 19 Hz\n\
             amd-memory-visible-vram: 23 KiB\ndrm-shared-gtt: 29 KiB\ndrm-client-id: 31\nflags: 02\nno colon\n\
             drm-resident-vram0: 37\ndrm-pdev: 0000:03:00.0\ndrm-client-id: 41\n",
        );
        let some = |number| Some(Ok(number));
        let engine = |name: &str| Engine { name: name.into(), ..Engine::default() };
        let region = |name: &str| Region { name: name.into(), ..Region::default() };
        assert_eq!(
            client,
            DrmFdinfo {
                driver: "x".into(),
                pci_address: PciAddress::parse(b"0000:03:00.0"),
                client_id: some(31),
                engines: vec![
                    Engine { busy_ns: some(3), ..engine("copy") },
                    Engine { cycles: some(17), total_cycles: some(13), ..engine("rcs") },
                    Engine { busy_ns: some(2), capacity: some(7), ..engine("video") },
                ],
                regions: vec![
                    Region { memory: some(11 << 10), ..region("gtt") },
                    Region { resident: some(37), ..region("vram0") },
                ],
            }
        );
    }

    #[test]
    fn fdinfo_without_drm_driver_is_rejected() {
        for text in ["", "pos:\t0\nflags:\t02\n", "drm-driver:\n", "drm-driver: i915", "x\n"] {
            assert_eq!(
                DrmFdinfo::default().parse(text.as_bytes()).unwrap_err().expected,
                "a line with drm-driver"
            );
        }
    }

    #[test]
    fn nothing_is_left_of_before() {
        let mut client =
            parsed("drm-engine-a: 2 ns\ndrm-total-b: 3\ndrm-client-id: 5\ndrm-pdev: 0000:03:00.0\n");
        client.parse(b"drm-driver: y\ndrm-engine-c: 7 ns\n").unwrap();
        let names = (client.engines.len(), client.engines[0].name.as_str());
        assert_eq!((client.driver.as_str(), names, client.regions.len()), ("y", (1, "c"), 0));
        assert_eq!((client.client_id, client.pci_address), (None, None));
    }

    #[test]
    fn too_many_names() {
        let lines: Vec<_> = (0..DrmFdinfo::LIMIT + 9).map(|n| format!("drm-engine-{n}: 2 ns\n")).collect();
        assert_eq!(parsed(&lines.concat()).engines.len(), DrmFdinfo::LIMIT);
    }
}
