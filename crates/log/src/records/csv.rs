//! Parser of the records of a record log in CSV.

use perfset_engine::path::CounterPath;

use super::RecordLogError;
use super::record::{RecordRemarks, RecordedValue, number, path_of, time};

/// Indexes of the fields of a CSV record that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumns {
    header: Vec<String>,
    time: usize,
    path: usize,
    counterset: usize,
    instance: usize,
    counter: usize,
    value: usize,
    status: Option<usize>,
    mark: Option<usize>,
    missing: Option<usize>,
    reason: Option<usize>,
}

/// Field of a CSV line, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvCell {
    pub text: String,
    pub is_quoted: bool,
}

impl CsvColumns {
    /// Parses the CSV header of a record log.
    pub fn new(header: &[u8]) -> Result<Self, RecordLogError> {
        let cells = cells(header).ok_or(RecordLogError::NoRecord)?;
        let header: Vec<String> = cells.into_iter().map(|cell| cell.text).collect();
        let find = |field: &str| header.iter().position(|name| name == field);
        let of = |field: &'static str| find(field).ok_or(RecordLogError::NoField { field });
        let (time, path, counterset) = (of("time")?, of("path")?, of("counterset")?);
        let (instance, counter, value) = (of("instance")?, of("counter")?, of("value")?);
        let (status, mark) = (find("status"), find("mark"));
        let (missing, reason) = (find("missing"), find("reason"));
        Ok(Self { header, time, path, counterset, instance, counter, value, status, mark, missing, reason })
    }

    /// Returns `true` if a line of a record log repeats the CSV header, because several runs may have written to one
    /// file.
    pub fn is_header(&self, line: &[u8]) -> bool {
        // Most lines are no header, which the first byte shows.
        line.first() == self.header.first().and_then(|name| name.as_bytes().first())
            && cells(line).is_some_and(|cells| cells.iter().map(|cell| &cell.text).eq(&self.header))
    }

    /// Returns `true` if a cut-off last field of a CSV line could be taken for another value, mark or reason.
    fn is_last_vital(&self, is_partial: bool) -> bool {
        let last = Some(self.header.len().saturating_sub(1));
        let of_all = [Some(self.value), self.status, self.mark, self.reason];
        of_all.contains(&last) || (is_partial && self.missing == last)
    }

    /// Parses a CSV line to a record. A line that `is_cut` ends with the file, perhaps within a field.
    pub fn record(&self, line: &[u8], is_cut: bool) -> Result<RecordedValue, String> {
        let cells = cells(line).ok_or("it is no CSV in UTF-8")?;
        if cells.len() != self.header.len() {
            return Err(format!("it has {} of {} fields", cells.len(), self.header.len()));
        }
        let cell = |at: usize| cells.get(at).map(|cell| cell.text.as_str()).unwrap_or_default();
        let optional = |at: Option<usize>| at.map(cell).unwrap_or_default();
        let remarks = RecordRemarks {
            status: optional(self.status),
            mark: optional(self.mark),
            missing: optional(self.missing).parse().unwrap_or(0),
            reason: optional(self.reason),
        };
        if is_cut && self.is_last_vital(remarks.mark == "partial") {
            return Err("the file ends in it".to_owned());
        }
        let time = time(cell(self.time)).ok_or("it has no valid time")?;
        let value = match cell(self.value) {
            "" => None,
            text => number(text.parse().map_err(|_| "its value is no number")?),
        };
        let names = |at: usize| cells.get(at).map(names).unwrap_or_default();
        let path = self.path(cell(self.path), &names).ok_or("its names do not match its path")?;
        Ok(RecordedValue { time, path, value: remarks.of(value) })
    }

    /// Returns the counter path of a CSV line. If a name might have a guard (`'`), the path shows whether it has one.
    fn path<'a>(&self, path: &str, names: &dyn Fn(usize) -> Vec<&'a str>) -> Option<CounterPath> {
        let (instances, counters) = (names(self.instance), names(self.counter));
        names(self.counterset).into_iter().find_map(|counterset| {
            instances.iter().find_map(|instance| {
                counters.iter().find_map(|counter| path_of(path, None, counterset, instance, counter))
            })
        })
    }
}

/// Returns the names that a CSV field can stand for. The writer guards texts that a spreadsheet would take for a
/// formula by a `'`, and quotes them.
fn names(cell: &CsvCell) -> Vec<&str> {
    let bare = cell
        .text
        .strip_prefix('\'')
        .filter(|rest| cell.is_quoted && rest.starts_with(['=', '+', '-', '@', '\t', '\r']));
    bare.into_iter().chain([cell.text.as_str()]).collect()
}

/// Parses a CSV line to its fields; `None` if a quote is at a wrong place, or the text is no UTF-8.
pub fn cells(line: &[u8]) -> Option<Vec<CsvCell>> {
    let line = std::str::from_utf8(line).ok()?;
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let (cell, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (text, behind) = quoted_cell(quoted)?;
                (CsvCell { text, is_quoted: true }, behind)
            }
            None => {
                let (text, behind) = rest.split_at_checked(rest.find(',').unwrap_or(rest.len()))?;
                // The writer quotes every text that contains one of these.
                if text.contains(['"', '\n', '\r']) {
                    return None;
                }
                (CsvCell { text: text.to_owned(), is_quoted: false }, behind)
            }
        };
        cells.push(cell);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Some(cells),
            None => return None,
        }
    }
}

/// Parses a CSV field after its opening quote. Returns its text, and the rest of the line after the closing quote.
fn quoted_cell(text: &str) -> Option<(String, &str)> {
    let (mut cell, mut rest) = (String::new(), text);
    loop {
        let (before, behind) = rest.split_once('"')?;
        cell.push_str(before);
        match behind.strip_prefix('"') {
            Some(next) => {
                cell.push('"');
                rest = next;
            }
            None => return Some((cell, behind)),
        }
    }
}
