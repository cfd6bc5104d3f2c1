//! Conversions between a date and time and its layout in a V2 block.

use zerocopy::little_endian::U16;

use super::raw;
use crate::clock::SystemTime;

impl From<&raw::SystemTime> for SystemTime {
    fn from(time: &raw::SystemTime) -> Self {
        Self {
            year: time.year.get(),
            month: time.month.get(),
            day_of_week: time.day_of_week.get(),
            day: time.day.get(),
            hour: time.hour.get(),
            minute: time.minute.get(),
            second: time.second.get(),
            millisecond: time.millisecond.get(),
        }
    }
}

impl From<&SystemTime> for raw::SystemTime {
    fn from(time: &SystemTime) -> Self {
        Self {
            year: U16::new(time.year),
            month: U16::new(time.month),
            day_of_week: U16::new(time.day_of_week),
            day: U16::new(time.day),
            hour: U16::new(time.hour),
            minute: U16::new(time.minute),
            second: U16::new(time.second),
            millisecond: U16::new(time.millisecond),
        }
    }
}
