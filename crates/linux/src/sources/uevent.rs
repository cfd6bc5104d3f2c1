//! Parser of the file `uevent` of a device in `/sys`: the data that the kernel reports when a device is added.
//!
//! Source: the kernel's `Documentation/ABI/testing/sysfs-uevent`; `PCI_SLOT_NAME` is that of `pci_uevent`.

use super::pci_address::PciAddress;
use super::text::{Text, TextError};

/// Lines of a device's `uevent` file that identify the device.
///
/// ```
/// use perfset_linux::sources::uevent::Uevent;
///
/// let mut uevent = Uevent::default();
/// uevent.parse(b"DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_SLOT_NAME=0000:03:00.0\n").unwrap();
/// assert_eq!(uevent.driver.as_deref(), Some("amdgpu"));
/// assert_eq!(uevent.pci_address.unwrap().bus, 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uevent {
    /// `DRIVER`: name of the device's driver.
    pub driver: Option<String>,
    /// `PCI_SLOT_NAME`: the PCI address of the device; `None` if the device is not on PCI.
    pub pci_address: Option<PciAddress>,
}

impl Uevent {
    /// Parses a device's `uevent` file, replacing all previous contents. An empty text belongs to a device that
    /// reports nothing.
    ///
    /// # Errors
    /// If a line has no newline.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        *self = Self::default();
        let mut text = Text::new(text);
        while !text.is_at_end() {
            let line = text.line()?;
            if let Some(driver) = line.strip_prefix(b"DRIVER=") {
                self.driver = Some(String::from_utf8_lossy(driver).into_owned());
            } else if let Some(address) = line.strip_prefix(b"PCI_SLOT_NAME=") {
                self.pci_address = PciAddress::parse(address);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for (name, text, driver, bus) in [
            ("empty", "", None, None),
            ("not on PCI", "DRIVER=v3d\nOF_NAME=gpu\n", Some("v3d"), None),
            ("no address", "PCI_SLOT_NAME=03:00.0\nDRIVER=i915\n", Some("i915"), None),
            ("longer names", "XDRIVER=a\nDRIVER_X=b\nPCI_SLOT_NAMES=0000:01:00.0\n", None, None),
            ("both", "PCI_SLOT_NAME=0000:07:00.0\nDRIVER=xe\n", Some("xe"), Some(7)),
        ] {
            let mut uevent = Uevent { driver: Some("old".into()), pci_address: None };
            assert_eq!(uevent.parse(text.as_bytes()), Ok(()), "{name}");
            let found = (uevent.driver.as_deref(), uevent.pci_address.map(|address| address.bus));
            assert_eq!(found, (driver, bus), "{name}");
        }
        assert_eq!(Uevent::default().parse(b"DRIVER=i9").unwrap_err().found, "the end of the file");
    }
}
