//! `_Total` of the disks and volumes of the model, by the rule of all totals.
//!
//! A total begins as the sum of the rows. From then on it contains what each row counted since it was first seen,
//! including rows that ended. A file at fault leaves a range: for the total from then on, and for the increase until
//! the file is read again.

use super::basics::Tally;
use super::devices::Disk;

pub(crate) const FIELDS: usize = 11;

/// Least and greatest possible number of a total.
type Range = (u64, u64);

/// Possible values of a total, and its possible increase since the previous sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) sum: Range,
    pub(crate) grown: Range,
    /// `true` if a row of the total might have been unreadable at either end of the interval.
    pub(crate) may_lack: bool,
    /// `true` if a row of the total is certainly unreadable now.
    pub(crate) lacks: bool,
    /// `true` if the rows of the total differ from those of the previous sample. Then a count divided by their mean
    /// has no rate.
    pub(crate) has_other_rows: bool,
    /// Number of units of the counter in one unit of the sum.
    pub(crate) factor: u64,
    /// `true` if only the lower 32 bits of the total are known.
    pub(crate) is_short: bool,
}

impl Kept {
    pub(crate) fn and(self, other: Self) -> Self {
        let plus = |a: Range, b: Range| (a.0 + b.0, a.1 + b.1);
        Self { sum: plus(self.sum, other.sum), grown: plus(self.grown, other.grown), ..self }
    }

    pub(crate) fn allows(&self, raw: u64, is_short: bool) -> bool {
        let (least, most) = self.sum;
        let raw_units = raw / self.factor;
        match self.is_short || is_short {
            true => (raw_units.wrapping_sub(least) & 0xFFFF_FFFF) <= most - least,
            false => (least..=most).contains(&raw_units) && raw.is_multiple_of(self.factor),
        }
    }
}

/// Rows of a disk counterset from which the test computes the possible totals.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    is_logical: bool,
    began: bool,
    rows: Vec<Row>,
    grown: [Range; FIELDS],
    has_other_rows: bool,
    /// `true` if a volume of the total has no value yet.
    lacks: bool,
    /// `true` if a row of the total might have no value: in this sample, and in the previous one.
    may_lack: [bool; 2],
    /// Number of further samples in which a value of the total's rows might be missing.
    unsettled: u32,
}

/// Part of a total that comes from one row.
#[derive(Clone, Debug)]
struct Row {
    serial: u64,
    minor: u32,
    is_there: bool,
    /// Counts of the row when it was first seen; 0 for the rows with which the total began.
    first: [Range; FIELDS],
    last: [Range; FIELDS],
    /// Number of further samples without a fault after which it is known when the row was first seen.
    open: u32,
}

impl Totals {
    pub(crate) fn new(is_logical: bool) -> Self {
        let (rows, grown) = (Vec::new(), [(0, 0); FIELDS]);
        Self {
            is_logical,
            began: false,
            rows,
            grown,
            has_other_rows: false,
            lacks: false,
            may_lack: [false; 2],
            unsettled: 0,
        }
    }

    /// Advances the totals of disks to the next sample.
    pub(crate) fn step(&mut self, disks: &[Disk], is_at_fault: bool, tally: &mut Tally) {
        // A volume on a device that was replaced has no value at first.
        let samples = 1 + u32::from(self.is_logical);
        let is_settled = self.unsettled == 0 && !is_at_fault;
        if is_at_fault {
            self.unsettled = samples + 1;
        } else {
            self.unsettled = self.unsettled.saturating_sub(1);
        }
        self.grown = [(0, 0); FIELDS];
        self.lacks = false;
        let before: Vec<u32> = self.rows.iter().filter(|row| row.is_there).map(|row| row.minor).collect();
        let serials =
            |rows: &[Row]| rows.iter().filter(|row| row.is_there).map(|row| row.serial).collect::<Vec<_>>();
        let old = serials(&self.rows);
        for row in &mut self.rows {
            row.is_there &= disks.iter().any(|disk| disk.serial == row.serial);
        }
        for disk in disks {
            let ranges = disk.ranges;
            let Some(row) = self.rows.iter_mut().find(|row| row.serial == disk.serial) else {
                if self.is_logical && is_settled && before.contains(&disk.minor()) {
                    tally.note("volume is on another device");
                    self.lacks = true;
                    continue; // it is seen with the next sample
                }
                let first = match (self.began, is_settled) {
                    (false, true) => ranges.map(|_| (0, 0)),
                    (false, false) => ranges.map(|(_, most)| (0, most)),
                    (true, _) => ranges,
                };
                let open = if is_settled { 0 } else { samples };
                let (serial, minor) = (disk.serial, disk.minor());
                self.rows.push(Row { serial, minor, is_there: true, first, last: ranges, open });
                continue;
            };
            for (at, now) in ranges.into_iter().enumerate() {
                let (first, last, grown) = (&mut row.first[at], &mut row.last[at], &mut self.grown[at]);
                let now_least = if is_at_fault { last.0 } else { now.0.max(last.0) };
                let most = now.1.max(last.1);
                if is_settled && row.open == 0 {
                    grown.0 += now_least.saturating_sub(last.1);
                } else {
                    // The row may have been seen just now for the first time: then the total has none of its past.
                    first.1 += most - last.0;
                }
                grown.1 += most - last.0;
                *last = (now_least, most);
            }
            if !is_at_fault {
                row.open = row.open.saturating_sub(1);
            }
        }
        self.began |= !self.rows.is_empty();
        let is_open = self.rows.iter().any(|row| row.is_there && row.open > 0);
        self.may_lack = [is_open || self.unsettled > 0 || self.lacks, self.may_lack[0]];
        self.has_other_rows = serials(&self.rows) != old;
    }

    /// Returns `true` if the row of a disk might have no value, and `true` if it certainly has none.
    pub(crate) fn lacks(&self, serial: u64) -> (bool, bool) {
        let row = self.rows.iter().find(|row| row.is_there && row.serial == serial);
        (row.is_none_or(|row| row.open > 0) || self.unsettled > 0, row.is_none())
    }

    /// Returns `true` if possibly no row of the total has a value: all are on replaced devices, or a file was at
    /// fault.
    pub(crate) fn may_be_none(&self) -> bool {
        self.unsettled > 0 || self.rows.iter().all(|row| !row.is_there)
    }

    /// Returns the possible total of a field of `/proc/diskstats`.
    pub(crate) fn of(&self, field: usize) -> Kept {
        let rows = self.rows.iter().map(|row| (row.first[field], row.last[field]));
        let sum = rows.fold((0, 0), |sum: Range, (first, last)| {
            (sum.0 + last.0.saturating_sub(first.1), sum.1 + last.1.saturating_sub(first.0))
        });
        let (grown, has_other_rows, lacks) = (self.grown[field], self.has_other_rows, self.lacks);
        let may_lack = self.may_lack.contains(&true);
        Kept { sum, grown, may_lack, lacks, has_other_rows, factor: 1, is_short: false }
    }
}
