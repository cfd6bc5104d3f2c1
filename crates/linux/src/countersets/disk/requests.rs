//! Request counts of a block device, and the state kept between readings to compute them.

use perfset_catalogue::physical_disk as id;
use perfset_core::{CounterId, Mark, NoValue};

use crate::provider::{MarkedRaw, Total, unavailable};
use crate::sources::diskstats::{DeviceCounters, DiskStatsField};

/// Request counts of a block device up to the last reading of its line in `/proc/diskstats`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requests {
    now: ReadTime,
    /// Idle time of the block device: the time that the machine had been up at the reading, less the device's busy
    /// time.
    idle_100ns: MarkedRaw,
    numbers: DeviceCounters,
    sums: [WidenedCount; DiskStatsField::ALL.len()],
}

/// Time at which the lines of `/proc/diskstats` were read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadTime {
    /// Time of reading `/proc/diskstats`, as PerfTime100NSec.
    pub(super) time_100ns: u64,
    /// Time since the machine started: a clock that restarts when the counts of a block device do.
    pub(super) up_100ns: u64,
}

const MS_100NS: u64 = 10_000;
/// Number of PerfTime ticks, which are nanoseconds, in a millisecond.
const MS_NS: u64 = 1_000_000;
/// Number of bytes in a sector of `/proc/diskstats`.
pub(super) const BYTES: u64 = 512;

impl Requests {
    /// Creates the request counts of a new block device.
    pub(super) fn new(numbers: DeviceCounters, now: ReadTime) -> Self {
        let sums = DiskStatsField::ALL.map(|field| WidenedCount::new(numbers.get(field).unwrap_or(0)));
        let mut new = Self { now, idle_100ns: 0.into(), numbers, sums };
        new.idle_100ns = new.resting();
        new
    }

    /// Updates the request counts of a block device to a later reading. Returns `false`, and changes nothing, if the
    /// reading is of another device.
    pub(super) fn go_on(&mut self, numbers: DeviceCounters, now: ReadTime) -> bool {
        let steps_back = |field| {
            let before = self.sum(field);
            before.is_some_and(|before| before.step_to(numbers.get(field).unwrap_or(0), field).is_none())
        };
        // Only these decide. The kernel's other numbers can fall a little on the same device; they are held.
        if [DiskStatsField::Reads, DiskStatsField::Writes].into_iter().any(steps_back) {
            return false;
        }
        (self.numbers, self.now) = (numbers, now);
        for (sum, field) in self.sums.iter_mut().zip(DiskStatsField::ALL) {
            sum.go_on(numbers.get(field).unwrap_or(0), field);
        }
        let before = self.idle_100ns.raw;
        self.idle_100ns = self.resting();
        if self.idle_100ns.raw < before {
            // The clock of the kernel's ticks was ahead.
            self.idle_100ns = MarkedRaw::new(before, Some(Mark::Held));
        }
        true
    }

    fn resting(&self) -> MarkedRaw {
        let busy = self.sum(DiskStatsField::BusyMs).map_or(0, |sum| sum.sum.saturating_mul(MS_100NS));
        self.now.up_100ns.saturating_sub(busy).into()
    }

    fn sum(&self, field: DiskStatsField) -> Option<WidenedCount> {
        DiskStatsField::ALL.iter().zip(&self.sums).find(|(known, _)| **known == field).map(|(_, sum)| *sum)
    }

    /// Returns one request count of the block device, continued where the kernel's own count wraps to zero.
    pub(super) fn get(&self, field: DiskStatsField) -> Result<MarkedRaw, NoValue> {
        let raw = self.numbers.get(field).ok_or(unavailable("this kernel does not count it"))?;
        match (field, self.sum(field)) {
            // The number in flight is a level, which may fall.
            (DiskStatsField::InFlight, _) | (_, None) => Ok(raw.into()),
            (_, Some(sum)) => Ok(MarkedRaw::new(sum.sum, sum.is_held.then_some(Mark::Held))),
        }
    }

    /// Returns one request count of the block device, multiplied by `factor`.
    fn times(&self, field: DiskStatsField, factor: u64) -> Result<MarkedRaw, NoValue> {
        let MarkedRaw { raw, mark, .. } = self.get(field)?;
        Ok(MarkedRaw::new(raw.wrapping_mul(factor), mark))
    }

    /// Returns the time in a field of the block device, in units of 100 ns.
    pub(super) fn in_100ns(&self, field: DiskStatsField) -> Result<MarkedRaw, NoValue> {
        self.times(field, MS_100NS)
    }

    /// Returns the time in a field of the block device, in PerfTime ticks (nanoseconds).
    pub(super) fn in_perf_time(&self, field: DiskStatsField) -> Result<MarkedRaw, NoValue> {
        self.times(field, MS_NS)
    }

    fn bytes(&self, field: DiskStatsField) -> Result<MarkedRaw, NoValue> {
        self.times(field, BYTES)
    }

    /// Returns the raw value of a counter of PhysicalDisk for the block device.
    pub(super) fn value(&self, counter: CounterId) -> Result<MarkedRaw, NoValue> {
        let (read_ms, write_ms) = (DiskStatsField::ReadMs, DiskStatsField::WriteMs);
        match counter {
            id::CURRENT_DISK_QUEUE_LENGTH => self.get(DiskStatsField::InFlight),

            id::PERCENT_DISK_TIME | id::AVG_DISK_QUEUE_LENGTH => {
                both(self.in_100ns(read_ms)?, self.in_100ns(write_ms)?)
            }
            id::PERCENT_DISK_READ_TIME | id::AVG_DISK_READ_QUEUE_LENGTH => self.in_100ns(read_ms),
            id::PERCENT_DISK_WRITE_TIME | id::AVG_DISK_WRITE_QUEUE_LENGTH => self.in_100ns(write_ms),
            id::PERCENT_IDLE_TIME => Ok(self.idle_100ns),
            id::PERCENT_DISK_TIME_BASE
            | id::PERCENT_DISK_READ_TIME_BASE
            | id::PERCENT_DISK_WRITE_TIME_BASE
            | id::PERCENT_IDLE_TIME_BASE => Ok(self.now.time_100ns.into()),

            id::AVG_DISK_SEC_TRANSFER => both(self.in_perf_time(read_ms)?, self.in_perf_time(write_ms)?),
            id::AVG_DISK_SEC_READ => self.in_perf_time(read_ms),
            id::AVG_DISK_SEC_WRITE => self.in_perf_time(write_ms),
            id::DISK_TRANSFERS_PER_SEC
            | id::AVG_DISK_SEC_TRANSFER_BASE
            | id::AVG_DISK_BYTES_TRANSFER_BASE => {
                both(self.get(DiskStatsField::Reads)?, self.get(DiskStatsField::Writes)?)
            }
            id::DISK_READS_PER_SEC | id::AVG_DISK_SEC_READ_BASE | id::AVG_DISK_BYTES_READ_BASE => {
                self.get(DiskStatsField::Reads)
            }
            id::DISK_WRITES_PER_SEC | id::AVG_DISK_SEC_WRITE_BASE | id::AVG_DISK_BYTES_WRITE_BASE => {
                self.get(DiskStatsField::Writes)
            }

            id::DISK_BYTES_PER_SEC | id::AVG_DISK_BYTES_TRANSFER => {
                both(self.bytes(DiskStatsField::SectorsRead)?, self.bytes(DiskStatsField::SectorsWritten)?)
            }
            id::DISK_READ_BYTES_PER_SEC | id::AVG_DISK_BYTES_READ => self.bytes(DiskStatsField::SectorsRead),
            id::DISK_WRITE_BYTES_PER_SEC | id::AVG_DISK_BYTES_WRITE => {
                self.bytes(DiskStatsField::SectorsWritten)
            }

            _ => Err(NoValue::NotGiven),
        }
    }
}

/// Returns the reason if Linux has no value for this counter of PhysicalDisk; reads no file.
pub(super) fn never(counter: CounterId) -> Option<NoValue> {
    let why = "the kernel counts how many requests it merged, not how many it split";
    (counter == id::SPLIT_IO_PER_SEC).then(|| unavailable(why))
}

/// Returns the method of computing a counter of PhysicalDisk for several block devices together, such as a sum.
///
/// Queues, events and both parts of a mean add up; clocks do not.
pub(super) fn total_of(counter: CounterId) -> Total {
    let (a, b) = match counter {
        id::PERCENT_IDLE_TIME
        | id::PERCENT_DISK_TIME_BASE
        | id::PERCENT_DISK_READ_TIME_BASE
        | id::PERCENT_DISK_WRITE_TIME_BASE
        | id::PERCENT_IDLE_TIME_BASE => return Total::Own,
        // Counters with the same raw value share a column of the totals, and a sum is made of the columns of
        // its parts.
        id::PERCENT_DISK_TIME | id::AVG_DISK_QUEUE_LENGTH => {
            (id::AVG_DISK_READ_QUEUE_LENGTH, Some(id::AVG_DISK_WRITE_QUEUE_LENGTH))
        }
        id::PERCENT_DISK_READ_TIME => (id::AVG_DISK_READ_QUEUE_LENGTH, None),
        id::PERCENT_DISK_WRITE_TIME => (id::AVG_DISK_WRITE_QUEUE_LENGTH, None),
        id::AVG_DISK_SEC_TRANSFER => (id::AVG_DISK_SEC_READ, Some(id::AVG_DISK_SEC_WRITE)),
        id::DISK_TRANSFERS_PER_SEC | id::AVG_DISK_SEC_TRANSFER_BASE | id::AVG_DISK_BYTES_TRANSFER_BASE => {
            (id::DISK_READS_PER_SEC, Some(id::DISK_WRITES_PER_SEC))
        }
        id::AVG_DISK_SEC_READ_BASE | id::AVG_DISK_BYTES_READ_BASE => (id::DISK_READS_PER_SEC, None),
        id::AVG_DISK_SEC_WRITE_BASE | id::AVG_DISK_BYTES_WRITE_BASE => (id::DISK_WRITES_PER_SEC, None),
        id::DISK_BYTES_PER_SEC | id::AVG_DISK_BYTES_TRANSFER => {
            (id::DISK_READ_BYTES_PER_SEC, Some(id::DISK_WRITE_BYTES_PER_SEC))
        }
        id::AVG_DISK_BYTES_READ => (id::DISK_READ_BYTES_PER_SEC, None),
        id::AVG_DISK_BYTES_WRITE => (id::DISK_WRITE_BYTES_PER_SEC, None),
        other => (other, None),
    };
    b.map_or(Total::Sum(a), |b| Total::SumOfTwo(a, b))
}

/// Returns the mean over the block devices that have a value. If the value of one device could not be read, there is
/// no mean: it would be the mean of other devices than before.
pub(super) fn mean(each: impl Iterator<Item = Result<MarkedRaw, NoValue>>) -> Result<MarkedRaw, NoValue> {
    let (mut sum, mut count, mut mark, mut none) = (0_u128, 0_u128, None, None);
    for value in each {
        let MarkedRaw { raw, mark: its, .. } = match value {
            Err(NoValue::Unavailable(why)) => {
                none.get_or_insert(why);
                continue;
            }
            value => value?,
        };
        (sum, count) = (sum.saturating_add(raw.into()), count.saturating_add(1));
        mark = mark.or(its);
    }
    let mean = sum.checked_div(count).and_then(|mean| u64::try_from(mean).ok());
    match (mean, none) {
        (Some(raw), _) => Ok(MarkedRaw::new(raw, mark)),
        (None, why) => Err(why.map_or(NoValue::NotGiven, NoValue::Unavailable)),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as its neighbours")]
fn both(a: MarkedRaw, b: MarkedRaw) -> Result<MarkedRaw, NoValue> {
    Ok(MarkedRaw::new(a.raw.wrapping_add(b.raw), a.mark.or(b.mark)))
}

/// Count of a block device that only grows, widened to 64 bits, because some kernels print some counts in 32 bits.
#[derive(Clone, Copy, Debug)]
struct WidenedCount {
    /// Number that the kernel printed last for the count of a block device.
    printed: u64,
    /// Count of a block device continued beyond 32 bits: the number that the kernel printed first, plus all growth
    /// since.
    sum: u64,
    /// `true` if the number that the kernel prints for the count has fallen below `printed`.
    is_held: bool,
}

impl WidenedCount {
    const TURN: u64 = 1 << 32;

    fn new(printed: u64) -> Self {
        Self { printed, sum: printed, is_held: false }
    }

    /// Returns the growth of a block device's count up to `now`; `None` if the count has fallen. A count that the
    /// kernel prints in 32 bits has passed zero if it falls by more than half of its range.
    fn step_to(self, now: u64, field: DiskStatsField) -> Option<u64> {
        // A larger number was printed in 64 bits, so this kernel's field does not wrap at 2^32.
        let may_pass_zero = field.is_short() && self.printed < Self::TURN;
        match self.printed.checked_sub(now) {
            None | Some(0) => now.checked_sub(self.printed),
            Some(fall) if may_pass_zero && fall > Self::TURN / 2 => Self::TURN.checked_sub(fall),
            Some(_) => None,
        }
    }

    fn go_on(&mut self, now: u64, field: DiskStatsField) {
        match self.step_to(now, field) {
            Some(step) => *self = Self { printed: now, sum: self.sum.wrapping_add(step), is_held: false },
            None => self.is_held = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_go_on() {
        let turn = WidenedCount::TURN;
        let mut sum = WidenedCount::new(7);
        for (now, want, held) in [
            (7, 7, false),
            (9, 9, false),
            (8, 9, true),
            (9, 9, false),
            (turn - 1, turn - 1, false),
            (3, turn + 3, false),
            (turn / 2, turn + turn / 2, false),
            (turn - 5, 2 * turn - 5, false),
            (turn / 2, 2 * turn - 5, true), // half a turn is no turn
            (5, 2 * turn + 5, false),
            (turn + 5, 3 * turn + 5, false), // a kernel with more bits
            (6, 3 * turn + 5, true),
            (turn + 7, 3 * turn + 7, false),
        ] {
            sum.go_on(now, DiskStatsField::ReadMs);
            assert_eq!((sum.sum, sum.is_held), (want, held), "{now}");
        }
    }

    /// Checks that a 64-bit count of a block device that falls from nearly 2^32 means another device, not a wrap to
    /// zero.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn counts_of_64_bits_pass_no_zero() {
        let numbers = |text: &str| {
            let mut stats = crate::sources::diskstats::DiskStats::default();
            stats.parse(text.as_bytes()).unwrap();
            stats.devices[0].numbers.clone().unwrap()
        };
        let now = ReadTime { time_100ns: 0, up_100ns: 0 };
        let mut requests = Requests::new(numbers("8 0 sda 4294967290 0 0 0 0 0 0 0 0 0 0\n"), now);
        assert!(!requests.go_on(numbers("8 0 sda 5 0 0 0 0 0 0 0 0 0 0\n"), now));
    }
}
