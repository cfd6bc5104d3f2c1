//! Parser of `/proc/net/softnet_stat`: a line for each online CPU about the packets that the network stack received
//! there.
//!
//! Source: `net/core/net-procfs.c` prints the columns, `networking/scaling.rst` describes what some of them count. All
//! numbers are hexadecimal and have 32 bits. The file is below the directory of a network namespace, and its numbers
//! are those of the whole machine.

use crate::sources::text::{Text, TextError};

/// Received packets of each online CPU since boot, from `/proc/net/softnet_stat`.
///
/// ```
/// use perfset_linux::sources::softnet_stat::SoftnetStat;
///
/// let mut stat = SoftnetStat::default();
/// stat.parse(b"0000001f 00000002 00000003 0 0 0 0 0 0 00000004\n").unwrap();
/// let counts = stat.cpu(7, &[7]).unwrap();
/// assert_eq!((counts.processed, counts.received_rps, counts.flow_limit), (31, Some(4), None));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoftnetStat {
    lines: Vec<SoftnetLine>,
}

/// Line of a CPU in `/proc/net/softnet_stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SoftnetLine {
    /// Number of the CPU; `None` before Linux 5.10, where lines have only the order of the online CPUs.
    cpu: Option<u32>,
    counts: SoftnetCounts,
}

/// Counts of received packets on one CPU, which wrap at 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftnetCounts {
    /// Number of received packets that this CPU processed.
    pub processed: u32,
    /// Number of received packets that were dropped because this CPU's queue was full.
    pub dropped: u32,
    /// Number of times that received packets were left when this CPU had used up its budget or time.
    pub time_squeeze: u32,
    /// Number of wake-ups of this CPU by other CPUs that steer packets to it (RPS); `None` before Linux 2.6.35.
    pub received_rps: Option<u32>,
    /// Number of received packets that were dropped because of the limit of a flow; `None` before Linux 3.11.
    pub flow_limit: Option<u32>,
}

impl SoftnetStat {
    /// Parses `/proc/net/softnet_stat`, replacing all previous contents.
    ///
    /// # Errors
    /// If a line is not as documented: without its last columns, no line has a known CPU.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        self.lines.clear();
        let mut text = Text::new(text);
        while !text.is_at_end() {
            let before = text;
            let line = line(&mut text)?;
            // Lines with and without a number, or numbers in another order, would belong to other CPUs than assumed.
            let is_next = self.lines.last().is_none_or(|last| match (last.cpu, line.cpu) {
                (Some(last), Some(cpu)) => last < cpu,
                (last, cpu) => last == cpu,
            });
            if !is_next {
                return Err(before.expected("a line of the next CPU"));
            }
            self.lines.push(line);
        }
        if self.lines.is_empty() { Err(text.expected("a line of a CPU")) } else { Ok(()) }
    }

    /// Returns the packet counts of a CPU; `None` if no line is known to belong to that CPU. `online` has the numbers
    /// of all online CPUs, ascending: an older kernel prints their lines in that order, without the numbers.
    #[must_use]
    pub fn cpu(&self, cpu: u32, online: &[u32]) -> Option<SoftnetCounts> {
        let has_numbers = self.lines.first()?.cpu.is_some();
        let at = if has_numbers {
            self.lines.binary_search_by_key(&Some(cpu), |line| line.cpu).ok()?
        } else {
            // A CPU came or went a moment ago, or the list is that of another system.
            if self.lines.len() != online.len() {
                return None;
            }
            online.binary_search(&cpu).ok()?
        };
        self.lines.get(at).map(|line| line.counts)
    }
}

fn line(text: &mut Text<'_>) -> Result<SoftnetLine, TextError> {
    /// Column of `received_rps` in `/proc/net/softnet_stat`, counted from 0; columns of later numbers follow.
    const RECEIVED_RPS: usize = 9;
    const FLOW_LIMIT: usize = 10;
    const CPU: usize = 12;
    let mut line = SoftnetLine { cpu: None, counts: SoftnetCounts::default() };
    let counts = &mut line.counts;
    (counts.processed, counts.dropped, counts.time_squeeze) = (text.hex()?, text.hex()?, text.hex()?);
    // Six numbers that have no meaning any more.
    for _ in 3..RECEIVED_RPS {
        text.hex()?;
    }
    let mut column = RECEIVED_RPS;
    while !text.is_at_line_end() {
        let number = Some(text.hex()?);
        match column {
            RECEIVED_RPS => counts.received_rps = number,
            FLOW_LIMIT => counts.flow_limit = number,
            CPU => line.cpu = number,
            _ => {}
        }
        column = column.saturating_add(1);
    }
    text.end_of_line()?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a line of `/proc/net/softnet_stat` with nine columns, whose first three are the given ones.
    fn nine(processed: &str) -> String {
        format!("{processed} 3 00000005 0 0 0 0 0 0")
    }

    fn counts(processed: u32, received_rps: Option<u32>, flow_limit: Option<u32>) -> SoftnetCounts {
        SoftnetCounts { processed, dropped: 3, time_squeeze: 5, received_rps, flow_limit }
    }

    #[test]
    fn kernels_of_any_age() {
        let online = [2, 3, 7];
        for (name, tail, want) in [
            ("2.6", ["", "", ""], counts(0xFFFF_FFFF, None, None)),
            ("2.6.35", [" b", " b", " b"], counts(0xFFFF_FFFF, Some(11), None)),
            ("3.11", [" b 0000000d", " b 0000000d", " b 0000000d"], counts(0xFFFF_FFFF, Some(11), Some(13))),
            ("5.10", [" b d 0 2", " b d 0 3", " b d 0 7"], counts(0xFFFF_FFFF, Some(11), Some(13))),
            (
                "6.4",
                [" b d 0 2 1 1", " b d 0 3 1 1", " b d 0 7 1 1"],
                counts(0xFFFF_FFFF, Some(11), Some(13)),
            ),
        ] {
            let mut stat = SoftnetStat::default();
            let line = |(at, tail): (usize, &&str)| {
                nine(["1", "ffffffff", "2"][at]) + tail + if at == 0 { "  \n" } else { "\n" }
            };
            stat.parse(tail.iter().enumerate().map(line).collect::<String>().as_bytes()).unwrap();
            assert_eq!(stat.cpu(3, &online), Some(want), "{name}");
            assert_eq!(stat.cpu(5, &online), None, "{name}: it is offline");
            let known = stat.cpu(3, &[3, 7]);
            assert_eq!(
                known,
                name.starts_with(['5', '6']).then_some(want),
                "{name}: the list is another one"
            );
        }
    }

    #[test]
    fn malformed_lines() {
        let whole = nine("1") + " b d 0 2\n";
        for (name, text, line, expected, found) in [
            ("nothing", String::new(), 1, "a line of a CPU", "the end of the file"),
            ("no number", nine("x") + "\n", 1, "a hexadecimal number below 2^32", "\"x\""),
            ("capitals", nine("1F") + "\n", 1, "a hexadecimal number below 2^32", "\"1F\""),
            ("too large", nine("100000000") + "\n", 1, "a hexadecimal number below 2^32", "\"100000000\""),
            ("too few", "1 2 3 4 5 6 7 8\n".to_owned(), 1, "a word", "the end of the line"),
            ("cut", nine("1"), 1, "the rest of the line", "the end of the file"),
            ("cut behind a blank", nine("1") + " ", 1, "a word", "the end of the file"),
            ("the same CPU", whole.repeat(2), 2, "a line of the next CPU", "\"1\""),
            ("no more numbers", whole.clone() + &nine("1") + "\n", 2, "a line of the next CPU", "\"1\""),
            ("an empty line", whole + "\n", 2, "a word", "the end of the line"),
        ] {
            let error = SoftnetStat::default().parse(text.as_bytes()).unwrap_err();
            assert_eq!((error.line, error.expected, &*error.found), (line, expected, found), "{name}");
        }
    }
}
