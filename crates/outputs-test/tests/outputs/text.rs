//! Parsers of dates and CSV in outputs.

use crate::world::{UNIX_EPOCH, World};

/// Returns the number of days from 1970 to a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Every month before, year by year: slow, and without a formula to be wrong in.
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let of_month = |year: i64, month: i64| match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let years: i64 = (1970..year).map(|year| 365 + i64::from(is_leap(year))).sum();
    years + (1..month).map(|month| of_month(year, month)).sum::<i64>() + day - 1
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("\"{text}\" is no number"))
}

/// Returns the milliseconds since 1970 of a date and a time, such as `2026-01-02` and `03:04:05.678`.
pub fn unix_ms(date: &str, time: &str) -> i64 {
    let three = |text: &str, between: char| {
        let mut parts = text.split(between).map(number);
        [(); 3].map(|()| parts.next().expect("three numbers"))
    };
    let (hms, ms) = time.split_once('.').expect("milliseconds");
    let ([year, month, day], [hours, minutes, seconds]) = (three(date, '-'), three(hms, ':'));
    let seconds = days(year, month, day) * 86_400 + hours * 3_600 + minutes * 60 + seconds;
    seconds * 1_000 + number(ms)
}

/// Returns the milliseconds since 1970 of a time of a text log, such as `01/02/2026 03:04:05.678`.
pub fn log_ms(text: &str) -> i64 {
    let (date, time) = text.split_once(' ').expect("date and time");
    let parts: Vec<&str> = date.split('/').collect();
    unix_ms(&format!("{}-{}-{}", parts[2], parts[0], parts[1]), time)
}

impl World {
    /// Returns the time of a step of the generated machine, in milliseconds since 1970.
    pub fn ms(&self, step: usize) -> i64 {
        (self.steps[step].time - UNIX_EPOCH) / 10_000
    }

    /// Returns the step of the generated machine at a time in milliseconds since 1970.
    pub fn step_at(&self, ms: i64) -> usize {
        let at = (0..self.steps.len()).find(|step| self.ms(*step) == ms);
        at.unwrap_or_else(|| panic!("seed {}: no step is at {ms}", self.seed))
    }
}

/// Parses records of separated fields, which may be quoted. Lines may end in CR LF.
pub fn records(text: &str, separator: char) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c if c == separator && !quoted => record.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    assert!(field.is_empty() && record.is_empty(), "the last line has no end");
    records
}

/// Returns a counter path of a text log without its machine name.
pub fn without_machine(path: &str) -> String {
    let rest = path.strip_prefix(r"\\").expect("a machine");
    format!("\\{}", rest.split_once('\\').expect("a path").1)
}
