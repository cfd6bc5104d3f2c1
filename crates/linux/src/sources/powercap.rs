//! Zones in `/sys/class/powercap` whose energy the processor counts (RAPL).
//!
//! Source: "Power Capping Framework" in the kernel's documents.

/// Energy zone of a processor, identified by the numbers in the name of its directory: a package, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zone {
    /// First number in the name of the zone's directory, which identifies the processor package.
    pub top: u32,
    /// Second number in the name of the zone's directory, for a part of a processor package; `None` for a whole
    /// package.
    pub part: Option<u32>,
}

/// Returns the energy zone of a directory; `None` if the directory is something else, or a duplicate of a zone, such
/// as `intel-rapl-mmio:0`.
///
/// ```
/// use perfset_linux::sources::powercap::{Zone, zone};
///
/// assert_eq!(zone(b"intel-rapl:0"), Some(Zone { top: 0, part: None }));
/// assert_eq!(zone(b"intel-rapl:1:2"), Some(Zone { top: 1, part: Some(2) }));
/// assert_eq!(zone(b"intel-rapl"), None);
/// ```
#[must_use]
pub fn zone(folder: &[u8]) -> Option<Zone> {
    let numbers = std::str::from_utf8(folder).ok()?.strip_prefix("intel-rapl:")?;
    // Only small numbers are accepted, because an id is made of them.
    let number = |text: &str| {
        let number = text.parse().ok().filter(|number| *number < 0x1000)?;
        // `parse` also accepts a plus sign.
        text.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
    };
    match numbers.split_once(':') {
        None => Some(Zone { top: number(numbers)?, part: None }),
        Some((top, part)) => Some(Zone { top: number(top)?, part: Some(number(part)?) }),
    }
}

/// Part of the machine whose energy a zone of powercap counts, from its attribute `name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain<'a> {
    /// `package-0`: a processor package, with its number.
    Package(u32),
    /// `package-0-die-1`: a die of a processor package, which is counted separately.
    Die(u32, u32),
    /// `core`: the cores of a processor package.
    Cores,
    /// `uncore`: the graphics of a processor package.
    Graphics,
    /// `dram`: the memory of a processor package, which is not included in the package.
    Memory,
    /// `psys`: the machine as a whole.
    Machine,
    /// Any other part of the machine, by its name.
    Other(&'a [u8]),
}

/// Returns the part of the machine for the attribute `name` of an energy zone.
///
/// ```
/// use perfset_linux::sources::powercap::{Domain, domain};
///
/// assert_eq!(domain(b"package-3"), Domain::Package(3));
/// assert_eq!(domain(b"dram"), Domain::Memory);
/// ```
#[must_use]
pub fn domain(name: &[u8]) -> Domain<'_> {
    let package = || {
        let rest = std::str::from_utf8(name).ok()?.strip_prefix("package-")?;
        match rest.split_once("-die-") {
            None => Some(Domain::Package(rest.parse().ok()?)),
            Some((package, die)) => Some(Domain::Die(package.parse().ok()?, die.parse().ok()?)),
        }
    };
    match name {
        b"core" => Domain::Cores,
        b"uncore" => Domain::Graphics,
        b"dram" => Domain::Memory,
        b"psys" => Domain::Machine,
        _ => package().unwrap_or(Domain::Other(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders() {
        let zone_of = |top, part| Some(Zone { top, part });
        for (folder, want) in [
            ("intel-rapl:0", zone_of(0, None)),
            ("intel-rapl:4095:7", zone_of(4_095, Some(7))),
            ("intel-rapl:4096", None),
            ("intel-rapl:", None),
            ("intel-rapl:+1", None),
            ("intel-rapl:0:", None),
            ("intel-rapl:0:1:2", None),
            ("intel-rapl-mmio:0", None),
            ("dtpm:0", None),
            ("", None),
        ] {
            assert_eq!(zone(folder.as_bytes()), want, "{folder:?}");
        }
        assert_eq!(zone(b"intel-rapl:\xFF"), None);
    }

    #[test]
    fn names() {
        for (name, want) in [
            ("package-11", Domain::Package(11)),
            ("package-2-die-3", Domain::Die(2, 3)),
            ("core", Domain::Cores),
            ("uncore", Domain::Graphics),
            ("psys", Domain::Machine),
            ("package-", Domain::Other(b"package-")),
            ("package-1-die-", Domain::Other(b"package-1-die-")),
            ("package-4294967296", Domain::Other(b"package-4294967296")),
            ("", Domain::Other(b"")),
        ] {
            assert_eq!(domain(name.as_bytes()), want, "{name:?}");
        }
    }
}
