//! Parser of `/proc/mdstat`: the arrays of software RAID.
//!
//! Source: "RAID arrays" in the kernel's documents, and `md_seq_show` of the kernel.

use crate::sources::text::{Text, TextError};

/// Work that a RAID array does on its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdWork {
    /// Work that computes the data of a replaced disk again.
    Recovery,
    /// Work that makes disks equal after the machine stopped while data was written.
    Resync,
    /// Work that gives the RAID array another shape.
    Reshape,
    /// Work that compares disks with each other.
    Check,
}

/// Array of software RAID, from `/proc/mdstat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MdArray {
    /// Name of the RAID array, such as `md0`.
    pub name: Vec<u8>,
    /// `true` if the RAID array runs.
    pub is_active: bool,
    /// Number of disks that are listed for the RAID array, failed and spare ones included.
    pub listed: u64,
    /// Number of disks of the RAID array that have failed.
    pub failed: u64,
    /// Number of spare disks of the RAID array.
    pub spare: u64,
    /// Number of disks that the RAID array should have, and number that work. `None` for kinds without redundancy.
    pub slots: Option<(u64, u64)>,
    /// Size of the RAID array in blocks of 1 KiB; `None` if the kernel does not show it.
    pub blocks: Option<u64>,
    /// Work that the RAID array does now, if any.
    pub work: Option<MdWork>,
    /// Number of blocks of each disk for which the work is done; `None` if it has not begun.
    pub done: Option<u64>,
}

/// Arrays of software RAID, parsed from `/proc/mdstat`.
///
/// ```
/// use perfset_linux::sources::mdstat::MdStat;
///
/// let mut mdstat = MdStat::default();
/// let text = b"Personalities : [raid1]\nmd0 : active raid1 sdb[1](F) sda[0]\n    64 blocks [2/1] [U_]\n\n";
/// mdstat.parse(text).unwrap();
/// let array = &mdstat.arrays[0];
/// assert_eq!((array.failed, array.slots, array.blocks), (1, Some((2, 1)), Some(64)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MdStat {
    /// RAID arrays, in the kernel's order.
    pub arrays: Vec<MdArray>,
}

impl MdStat {
    /// Parses `/proc/mdstat`, replacing all previous contents.
    ///
    /// # Errors
    /// If the first line is not that of the kinds, or a number is malformed.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        self.arrays.clear();
        // The kernel prints this line even without arrays.
        if !text.take(b"Personalities") {
            return Err(text.expected("\"Personalities\""));
        }
        text.line()?;
        while !text.is_at_end() {
            let before = text;
            let line = text.line()?;
            if line.starts_with(b"unused devices:") || line.trim_ascii().is_empty() {
                continue;
            }
            match (line.first(), self.arrays.last_mut()) {
                // Lines about an array are indented.
                (Some(b' ' | b'\t'), Some(array)) => array.parse_detail(line, &before)?,
                (Some(b' ' | b'\t'), None) => return Err(before.expected("the name of an array")),
                _ => self.arrays.push(MdArray::parse(line, &before)?),
            }
        }
        Ok(())
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn number(word: &[u8], at: &Text<'_>) -> Result<u64, TextError> {
    let digits = std::str::from_utf8(word).ok().filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| at.expected("a number of disks or blocks"))
}

/// Parses a pair of numbers in `/proc/mdstat` that `separator` divides; `None` if the word has another form.
fn pair(word: &[u8], open: &[u8], separator: u8, close: &[u8]) -> Option<(u64, u64)> {
    let inner = word.strip_prefix(open)?.strip_suffix(close)?;
    let at = inner.iter().position(|byte| *byte == separator)?;
    let parse = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
    };
    Some((parse(inner.get(..at)?)?, parse(inner.get(at.saturating_add(1)..)?)?))
}

impl MdArray {
    /// Parses the line that begins a RAID array: `md0 : active raid1 sdb1[1] sda1[0](F)`.
    fn parse(line: &[u8], at: &Text<'_>) -> Result<Self, TextError> {
        let mut words = words(line);
        let name = words.next().unwrap_or_default();
        if words.next() != Some(b":") {
            return Err(at.expected("an array and its state"));
        }
        let is_active = match words.next() {
            Some(state) if state.starts_with(b"active") => true,
            Some(b"inactive") => false,
            // Another kernel's word, such as `broken`: the array does not work as it should.
            Some(_) => false,
            None => return Err(at.expected("the state of an array")),
        };
        let mut array = Self { name: name.to_vec(), is_active, ..Self::default() };
        // Only disks have a number in brackets: `(read-only)` and the kind of the array have none.
        for disk in words.filter(|word| word.contains(&b'[')) {
            array.listed = array.listed.saturating_add(1);
            let has = |mark: &[u8]| disk.windows(mark.len()).any(|part| part == mark);
            array.failed = array.failed.saturating_add(u64::from(has(b"(F)")));
            array.spare = array.spare.saturating_add(u64::from(has(b"(S)")));
        }
        Ok(array)
    }

    /// Parses an indented line of a RAID array: size and disks, or the work in progress.
    fn parse_detail(&mut self, line: &[u8], at: &Text<'_>) -> Result<(), TextError> {
        let all = || words(line);
        if all().nth(1) == Some(b"blocks") {
            self.blocks = Some(number(all().next().unwrap_or_default(), at)?);
            self.slots = all().find_map(|word| pair(word, b"[", b'/', b"]"));
            return Ok(());
        }
        for (name, work) in [
            (b"recovery".as_slice(), MdWork::Recovery),
            (b"resync", MdWork::Resync),
            (b"reshape", MdWork::Reshape),
            (b"check", MdWork::Check),
        ] {
            // `recovery = 12.6% (7/11) finish=…`, or `resync=DELAYED`.
            if all().any(|word| word == name || word.starts_with(name) && word.get(name.len()) == Some(&b'='))
            {
                self.work = Some(work);
                self.done = all().find_map(|word| pair(word, b"(", b'/', b")")).map(|(done, _)| done);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Personalities : [raid1] [raid6] [raid5] [raid4] [raid0]\n";

    fn parse(text: &str) -> Result<Vec<MdArray>, String> {
        let mut mdstat = MdStat::default();
        mdstat.parse(format!("{HEAD}md9 : active raid1 x[0]\n").as_bytes()).unwrap();
        let parsed = mdstat.parse(text.as_bytes()).map_err(|error| error.to_string());
        parsed.map(|()| mdstat.arrays)
    }

    #[test]
    fn arrays() {
        let array = |name: &str| MdArray { name: name.into(), is_active: true, ..MdArray::default() };
        for (text, want) in [
            (
                "md0 : active raid1 sdb1[1] sda1[0]\n      64 blocks super 1.2 [2/2] [UU]\n      \
                 bitmap: 1/4 pages [4KB], 65536KB chunk\n\n",
                MdArray { listed: 2, slots: Some((2, 2)), blocks: Some(64), ..array("md0") },
            ),
            (
                "md_d1 : active (auto-read-only) raid5 sdd1[4](S) sdc1[3](F) sdb1[1](W) sda1[0]\n      \
                 96 blocks level 5, 64k chunk, algorithm 2 [3/2] [UU_]\n      \
                 [==>...]  recovery = 12.6% (7/32) finish=1.2min speed=33440K/sec\n",
                MdArray {
                    listed: 4,
                    failed: 1,
                    spare: 1,
                    slots: Some((3, 2)),
                    blocks: Some(96),
                    work: Some(MdWork::Recovery),
                    done: Some(7),
                    ..array("md_d1")
                },
            ),
            (
                "md2 : active raid0 sdb[1] sda[0]\n      64 blocks 64k chunks\n",
                MdArray { listed: 2, blocks: Some(64), ..array("md2") },
            ),
            (
                "md3 : inactive sda[0](S)\n      64 blocks\n",
                MdArray { listed: 1, spare: 1, blocks: Some(64), is_active: false, ..array("md3") },
            ),
            (
                "md4 : active raid1 a[0] b[1]\n 64 blocks [2/2] [UU]\n  \tresync=DELAYED\n",
                MdArray {
                    listed: 2,
                    slots: Some((2, 2)),
                    blocks: Some(64),
                    work: Some(MdWork::Resync),
                    ..array("md4")
                },
            ),
            (
                "md5 : active raid1 a[0] b[1]\n 64 blocks [2/2] [UU]\n [>] check =  0.1% (3/64) finish=1min\n",
                MdArray {
                    listed: 2,
                    slots: Some((2, 2)),
                    blocks: Some(64),
                    work: Some(MdWork::Check),
                    done: Some(3),
                    ..array("md5")
                },
            ),
        ] {
            let text = format!("{HEAD}{text}unused devices: <none>\n");
            assert_eq!(parse(&text), Ok(vec![want]), "{text}");
        }
        assert_eq!(parse(&format!("{HEAD}unused devices: <none>\n")), Ok(Vec::new()));
    }

    #[test]
    fn invalid_texts() {
        for (text, want) in [
            ("", "line 1: expected \"Personalities\", found the end of the file"),
            ("x\n", "line 1: expected \"Personalities\", found \"x\""),
            (
                &format!("{HEAD}  64 blocks\n"),
                "line 2: expected the name of an array, found \"  64 blocks\\n\"",
            ),
            (&format!("{HEAD}md0 active\n"), "line 2: expected an array and its state, found \"md0\""),
            (&format!("{HEAD}md0 :\n"), "line 2: expected the state of an array, found \"md0\""),
            (&format!("{HEAD}md0 : active x\n"), ""),
            (&format!("{HEAD}md0 : active x\n x blocks\n"), {
                "line 3: expected a number of disks or blocks, found \" x blocks\\n\""
            }),
        ] {
            assert_eq!(parse(text).err().unwrap_or_default(), want, "{text:?}");
        }
    }
}
