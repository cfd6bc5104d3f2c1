//! Parsers of lists of CPUs or NUMA nodes, as in `/sys/devices/system/cpu/online`.
//!
//! Source: "cputopology" in the kernel's admin guide.

use std::ops::RangeInclusive;

use crate::sources::text::{Text, TextError};

/// Upper limit of CPU numbers, exclusive. Linux 6 supports at most 8,192 CPUs.
pub const CPU_LIMIT: u32 = 65_536;

/// Upper limit of NUMA node numbers, exclusive: the largest number of nodes that Linux supports.
pub const NODE_LIMIT: u32 = 1_024;

/// Parses a list of CPUs or nodes, ascending and below `limit`, which replace the contents of `ids`.
///
/// ```
/// use perfset_linux::sources::cpulist::{CPU_LIMIT, parse};
///
/// let mut ids = Vec::new();
/// parse(b"0-3,8,10-11\n", CPU_LIMIT, &mut ids).unwrap();
/// assert_eq!(ids, [0, 1, 2, 3, 8, 10, 11]);
/// ```
///
/// # Errors
/// If `text` is anything except a list in ascending order, or a number is not below `limit`.
pub fn parse(text: &[u8], limit: u32, ids: &mut Vec<u32>) -> Result<(), TextError> {
    ids.clear();
    // Without the limit, one range such as `0-4294967295` would take 16 GiB.
    each_range(text, limit, |range| ids.extend(range))
}

/// Parses a list of CPUs or nodes as ranges, under the same rules as [`parse`]. However long the ranges are, they
/// take no more memory than the text.
///
/// ```
/// use perfset_linux::sources::cpulist::{CPU_LIMIT, ranges};
///
/// let mut found = Vec::new();
/// ranges(b"0-3,8,10-11\n", CPU_LIMIT, &mut found).unwrap();
/// assert_eq!(found, [0..=3, 8..=8, 10..=11]);
/// ```
///
/// # Errors
/// The same as for [`parse`].
pub fn ranges(text: &[u8], limit: u32, ranges: &mut Vec<RangeInclusive<u32>>) -> Result<(), TextError> {
    ranges.clear();
    each_range(text, limit, |range| ranges.push(range))
}

fn each_range(text: &[u8], limit: u32, mut each: impl FnMut(RangeInclusive<u32>)) -> Result<(), TextError> {
    let mut text = Text::new(text);
    let mut lowest = 0;
    // A node without CPUs has a list of one empty line.
    let mut more = !text.is_at_line_end();
    while more {
        let first = text.id(lowest..limit)?;
        let last = if text.take(b"-") { text.id(first..limit)? } else { first };
        each(first..=last);
        lowest = last.saturating_add(1);
        more = text.take(b",");
    }
    text.end_of_only_line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let cases: [(&str, Result<&[u32], &str>); 14] = [
            ("0\n", Ok(&[0])),
            ("0-3,8,10-11\n", Ok(&[0, 1, 2, 3, 8, 10, 11])),
            ("2-2,19\n", Ok(&[2, 19])),
            ("\n", Ok(&[])),
            ("", Err("the end of the file")),
            ("0-3", Err("the end of the file")),
            ("0-3,\n", Err("the end of the line")),
            ("3-0\n", Err("\"0\"")),
            ("0-3,2\n", Err("\"2\"")),
            ("5,5\n", Err("\"5\"")),
            ("0-4294967295\n", Err("\"4294967295\"")),
            ("20\n", Err("\"20\"")),
            ("0-3x\n", Err("\"x\"")),
            ("0\n1\n", Err("\"1\"")),
        ];
        for (text, want) in cases {
            let mut ids = vec![97];
            match (parse(text.as_bytes(), 20, &mut ids), want) {
                (Ok(()), Ok(want)) => assert_eq!(ids, want, "{text:?}"),
                (Err(error), Err(found)) => assert_eq!(error.found, found, "{text:?}"),
                (got, want) => panic!("{text:?}: {got:?} {ids:?}, not {want:?}"),
            }
            let mut found = vec![7..=97];
            let as_ranges = ranges(text.as_bytes(), 20, &mut found);
            assert_eq!(as_ranges, parse(text.as_bytes(), 20, &mut ids), "{text:?}");
            assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), ids, "{text:?}");
        }
    }
}
