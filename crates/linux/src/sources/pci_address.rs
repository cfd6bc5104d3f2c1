//! Address of a PCI device, as the kernel and NVIDIA's library write it.
//!
//! Source: the kernel's `Documentation/gpu/drm-usage-stats.rst` (`drm-pdev`), `lspci(8)`.

/// Address of a PCI device: domain, bus, device, function.
///
/// ```
/// use perfset_linux::sources::pci_address::PciAddress;
///
/// let address = PciAddress::parse(b"0000:03:00.1").unwrap();
/// assert_eq!(address, PciAddress { domain: 0, bus: 3, device: 0, function: 1 });
/// assert_eq!((address.packed(), address.to_string().as_str()), (0x0301, "0000:03:00.1"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciAddress {
    /// Number of the PCI domain (segment): 16 bits, or more behind some host bridges.
    pub domain: u32,
    /// Number of the PCI bus.
    pub bus: u8,
    /// Number of the PCI device on its bus, below 32.
    pub device: u8,
    /// Number of the function of the PCI device, below 8.
    pub function: u8,
}

impl PciAddress {
    /// Parses a PCI address with four to eight digits of the domain, all hexadecimal; returns `None` if `text` is
    /// anything else.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut parts = text.splitn(3, |byte| *byte == b':');
        let (domain, bus, place) = (parts.next()?, parts.next()?, parts.next()?);
        let mut place = place.splitn(2, |byte| *byte == b'.');
        let (device, function) = (place.next()?, place.next()?);
        let address = Self {
            domain: hexadecimal(domain, 4..=8)?,
            bus: u8::try_from(hexadecimal(bus, 2..=2)?).ok()?,
            device: u8::try_from(hexadecimal(device, 2..=2)?).ok()?,
            function: u8::try_from(hexadecimal(function, 1..=1)?).ok()?,
        };
        (address.device < 32 && address.function < 8).then_some(address)
    }

    /// Returns the PCI address as a number: the domain from bit 16 on, then 8 bits of the bus, 5 of the device, 3 of
    /// the function.
    #[must_use]
    pub fn packed(self) -> u64 {
        // Device and function share a byte, as in the kernel's `devfn`.
        let place = u64::from(self.device & 31) << 3 | u64::from(self.function & 7);
        u64::from(self.domain) << 16 | u64::from(self.bus) << 8 | place
    }
}

impl std::fmt::Display for PciAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

fn hexadecimal(digits: &[u8], len: std::ops::RangeInclusive<usize>) -> Option<u32> {
    if !len.contains(&digits.len()) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None; // else a sign would do
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let some = |domain, bus, device, function| Some(PciAddress { domain, bus, device, function });
        for (text, want) in [
            ("0000:03:00.0", some(0, 3, 0, 0)),
            ("10000:e1:1f.7", some(0x1_0000, 0xE1, 31, 7)),
            ("00000000:41:00.0", some(0, 0x41, 0, 0)),
            ("FFFF:FF:02.5", some(0xFFFF, 0xFF, 2, 5)),
            ("000000000:41:00.0", None),
            ("0000:03:20.0", None),
            ("0000:03:00.8", None),
            ("0000:03:00", None),
            ("0000:3:00.0", None),
            ("000:03:00.0", None),
            ("+000:03:00.0", None),
            ("0000:03:00.0\n", None),
            ("0000:03:00:0", None),
            ("0000:03:00.00", None),
            ("", None),
        ] {
            assert_eq!(PciAddress::parse(text.as_bytes()), want, "{text:?}");
        }
    }

    #[test]
    fn no_two_addresses_are_packed_alike() {
        let packed = |text: &str| PciAddress::parse(text.as_bytes()).unwrap().packed();
        assert_eq!(packed("0000:01:00.0"), 0x0100);
        assert_eq!(packed("0002:03:05.7"), 0x2_032F);
        assert_eq!(packed("ffffffff:ff:1f.7"), 0xFFFF_FFFF_FFFF);
    }
}
