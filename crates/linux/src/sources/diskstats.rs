//! Parser of `/proc/diskstats`: I/O of block devices and partitions since they were added.
//!
//! Source: the kernel's `Documentation/admin-guide/iostats.rst` and `Documentation/ABI/testing/procfs-diskstats`, whose
//! numbering of fields begins with the device's number; the first of these is its field 4.

use crate::sources::text::{Text, TextError};

/// Field of a line in `/proc/diskstats`. A sector has 512 bytes, whatever the device's sector size is.
///
/// The kernel prints all times in ms, and in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskStatsField {
    /// Field 4: number of completed reads.
    Reads,
    /// Field 5: number of reads that were merged with another request.
    ReadsMerged,
    /// Field 6: number of sectors that were read.
    SectorsRead,
    /// Field 7: total time of all completed reads of the disk, in ms.
    ReadMs,
    /// Field 8: number of completed writes.
    Writes,
    /// Field 9: number of writes that were merged with another request.
    WritesMerged,
    /// Field 10: number of sectors that were written.
    SectorsWritten,
    /// Field 11: total time of all completed writes, in ms.
    WriteMs,
    /// Field 12: number of I/O requests that wait or are being served.
    InFlight,
    /// Field 13: time in which at least one I/O request was in progress, in ms.
    BusyMs,
    /// Field 14: total time of all I/O requests, in ms.
    AllMs,
    /// Field 15: number of completed discards. Since Linux 4.18, like fields 16 to 18.
    Discards,
    /// Field 16: number of discards that were merged with another request.
    DiscardsMerged,
    /// Field 17: number of sectors that were discarded.
    SectorsDiscarded,
    /// Field 18: total time of all completed discards, in ms.
    DiscardMs,
    /// Field 19: number of completed flushes. Since Linux 5.5, like field 20.
    Flushes,
    /// Field 20: total time of all completed flushes, in ms.
    FlushMs,
}

impl DiskStatsField {
    /// Returns `true` if the kernel prints the field of `/proc/diskstats` in 32 bits: times always, counts where a
    /// word has 32 bits.
    #[must_use]
    pub fn is_short(self) -> bool {
        let is_time = matches!(
            self,
            Self::ReadMs | Self::WriteMs | Self::BusyMs | Self::AllMs | Self::DiscardMs | Self::FlushMs
        );
        is_time || cfg!(target_pointer_width = "32")
    }

    /// All fields of a line of `/proc/diskstats`, in their order.
    pub const ALL: [Self; 17] = [
        Self::Reads,
        Self::ReadsMerged,
        Self::SectorsRead,
        Self::ReadMs,
        Self::Writes,
        Self::WritesMerged,
        Self::SectorsWritten,
        Self::WriteMs,
        Self::InFlight,
        Self::BusyMs,
        Self::AllMs,
        Self::Discards,
        Self::DiscardsMerged,
        Self::SectorsDiscarded,
        Self::DiscardMs,
        Self::Flushes,
        Self::FlushMs,
    ];
}

/// Numbers in the line of one device in `/proc/diskstats`: 11, 15 or 17, depending on the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    fields: [u64; DiskStatsField::ALL.len()],
    len: usize,
}

impl DeviceCounters {
    /// Valid numbers of fields in a line of `/proc/diskstats`. Future kernels may print more.
    const LENGTHS: [usize; 3] = [11, 15, 17];

    /// Returns the number in a field of the device's line; `None` if this kernel does not count it.
    #[must_use]
    pub fn get(&self, field: DiskStatsField) -> Option<u64> {
        let place = DiskStatsField::ALL.iter().position(|known| *known == field)?;
        self.fields.get(..self.len)?.get(place).copied()
    }

    fn parse(text: &mut Text<'_>) -> Result<Self, TextError> {
        let mut numbers = Self::default();
        for field in &mut numbers.fields {
            // A line may end only where that of some kernel does. Elsewhere numbers are missing, which is an
            // error.
            if Self::LENGTHS.contains(&numbers.len) && text.is_at_line_end() {
                break;
            }
            *field = text.number()?;
            numbers.len = numbers.len.saturating_add(1);
        }
        text.line()?; // fields that are yet to come
        Ok(numbers)
    }
}

/// Line of `/proc/diskstats`: a block device or a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// First half of the block device's number, which identifies the driver.
    pub major: u32,
    /// Second half of the block device's number.
    pub minor: u32,
    /// Name that the kernel gives to the block device.
    pub name: Vec<u8>,
    /// Numbers of the block device's line, or the error if they are malformed.
    pub numbers: Result<DeviceCounters, TextError>,
}

/// Contents of `/proc/diskstats`. Malformed numbers do not affect the other lines.
///
/// ```
/// use perfset_linux::sources::diskstats::{DiskStats, DiskStatsField};
///
/// let mut stats = DiskStats::default();
/// stats.parse(b" 8 1 sda1 2 3 5 7 11 13 17 19 0 23 29\n").unwrap();
/// let numbers = stats.devices[0].numbers.as_ref().unwrap();
/// assert_eq!(numbers.get(DiskStatsField::SectorsRead), Some(5));
/// assert_eq!(numbers.get(DiskStatsField::Discards), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Block devices and partitions, in the kernel's order.
    pub devices: Vec<Device>,
}

impl DiskStats {
    /// Parses `/proc/diskstats`, replacing all previous contents. A text without lines has no devices.
    ///
    /// # Errors
    /// If a line has no device number or name.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        let mut count = 0_usize;
        while !text.is_at_end() {
            let (major, minor) = (device_number(&mut text)?, device_number(&mut text)?);
            let name = text.word()?;
            let mut line = text;
            let numbers = DeviceCounters::parse(&mut line);
            // Devices and their names are overwritten in place, so that a later collection allocates nothing.
            match self.devices.get_mut(count) {
                Some(device) => {
                    device.name.clear();
                    device.name.extend_from_slice(name);
                    (device.major, device.minor, device.numbers) = (major, minor, numbers);
                }
                None => self.devices.push(Device { major, minor, name: name.to_vec(), numbers }),
            }
            count = count.saturating_add(1);
            if text.line().is_err() {
                break; // it was cut there, which its numbers say
            }
        }
        self.devices.truncate(count);
        Ok(())
    }
}

fn device_number(text: &mut Text<'_>) -> Result<u32, TextError> {
    text.skip_blanks();
    let before = *text;
    u32::try_from(text.digits()?).map_err(|_| before.expected("half of a device number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Device>, TextError> {
        let mut stats = DiskStats::default();
        stats.parse(b"7 7 before 1 2 3 4 5 6 7 8 9 10 11\n7 8 too\n").unwrap();
        stats.parse(text.as_bytes()).map(|()| stats.devices)
    }

    /// Last number of a line of `/proc/diskstats` with 11, 15 or 17 numbers, for each length; or the text that was
    /// found instead.
    type Found = (Option<[u64; 3]>, String);

    fn found(text: &str) -> Found {
        match &parse(text).unwrap()[0].numbers {
            Ok(numbers) => {
                let fields = [DiskStatsField::AllMs, DiskStatsField::DiscardMs, DiskStatsField::FlushMs];
                (Some(fields.map(|field| numbers.get(field).unwrap_or(0))), String::new())
            }
            Err(error) => (None, error.found.clone()),
        }
    }

    #[test]
    fn field_counts_of_all_kernels_parse() {
        let eleven = "8 0 sda 2 3 5 7 11 13 17 19 23 29 31";
        let fifteen = format!("{eleven} 37 41 43 47");
        let seventeen = format!("{fifteen} 53 59");
        let end = || "the end of the line".to_owned();
        let cases: [(String, Found); 9] = [
            (format!("{eleven}\n"), (Some([31, 0, 0]), String::new())),
            (format!("{eleven} \n"), (Some([31, 0, 0]), String::new())),
            (format!("{fifteen}\n"), (Some([31, 47, 0]), String::new())),
            (format!("{seventeen}\n"), (Some([31, 47, 59]), String::new())),
            (format!("{seventeen} 61 67\n"), (Some([31, 47, 59]), String::new())),
            (format!("{eleven} 37\n"), (None, end())),
            (format!("{fifteen} 53\n"), (None, end())),
            ("3 1 hda1 2 3 5 7\n".to_owned(), (None, end())), // partitions before Linux 2.6.25
            ("3 1 hda1\n".to_owned(), (None, end())),
        ];
        for (text, want) in cases {
            assert_eq!(found(&text), want, "{text:?}");
        }
    }

    #[test]
    fn every_field_is_in_its_place() {
        let text = format!("8 0 sda {}\n", (4..21).map(|n| n.to_string()).collect::<Vec<_>>().join(" "));
        let numbers = parse(&text).unwrap()[0].numbers.clone().unwrap();
        assert!(DiskStatsField::ALL.iter().map(|field| numbers.get(*field).unwrap()).eq(4..21));
    }

    #[test]
    fn one_bad_line_does_not_lose_the_others() {
        let devices = parse("8 0 sda x\n8 16 s\\d\u{FC} 1 2 3 4 5 6 7 8 9 10 11\n8 32 sdc 1 2").unwrap();
        let names: Vec<_> = devices.iter().map(|device| device.name.as_slice()).collect();
        assert_eq!(names, [b"sda".as_slice(), "s\\d\u{FC}".as_bytes(), b"sdc"]);
        let reads = devices
            .iter()
            .map(|device| device.numbers.as_ref().map(|n| n.get(DiskStatsField::Reads).unwrap()));
        let reads: Vec<_> = reads.map(|reads| reads.map_err(ToString::to_string)).collect();
        let bad = |why: &str| Err(why.to_owned());
        assert_eq!(reads[0], bad("line 1: expected a number, found \"x\""));
        assert_eq!(reads[1], Ok(1));
        assert_eq!(reads[2], bad("line 3: expected the rest of the line, found the end of the file"));
    }

    #[test]
    fn line_without_device_is_rejected() {
        assert_eq!(parse(""), Ok(Vec::new()));
        for (text, want) in [
            ("x\n", "line 1: expected a number, found \"x\""),
            ("8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 sdb\n", "line 2: expected a number, found \"sdb\""),
            ("8 4294967296 sda\n", "line 1: expected half of a device number, found \"4294967296\""),
            ("8 0\n", "line 1: expected a word, found the end of the line"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), want, "{text:?}");
        }
    }
}
