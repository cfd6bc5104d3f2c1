//! Metric families: metrics of one name, with their head lines and the line of each metric.

use std::sync::Arc;

use perfset_core::clock::UNIX_EPOCH_100NS;
use perfset_core::counter_type::Clock;
use perfset_core::{CounterId, Counterset, RawValue};

use crate::kind::{MetricType, MetricValue};
use crate::name::unit_of;
use crate::options::ExpositionFormat;
use crate::table::{CollectionClocks, CountersetTable, RowScheme};
use crate::text::{first_sentence, float, help, real, scaled, seconds};
use crate::unit::UnitConversion;

/// Metric family: all metrics of one name.
#[derive(Debug)]
pub(crate) struct Family {
    pub name: String,
    pub sort: MetricType,
    pub members: Vec<FamilyMember>,
    /// Head lines of the family, before its first value, in Prometheus text and in OpenMetrics.
    heads: [Vec<u8>; 2],
    /// `true` if the family is a counter in OpenMetrics; otherwise its series must not have a created time.
    is_open_counter: bool,
}

/// Contribution of one counter to a metric family.
#[derive(Debug)]
pub(crate) struct FamilyMember {
    /// Index of the table of the counter's counterset.
    pub table: usize,
    /// Indexes of the table's requested instance selections that include this counter.
    pub asks: Vec<usize>,
    pub reading: MetricValue,
    /// Fixed labels that all lines of this counter have.
    pub labels: &'static str,
    /// Rows of the table that have a line of this counter, and the labels of these rows.
    pub rows: RowScheme,
    /// Counter path of the counter, for help texts and messages.
    pub path: String,
    /// Definition of the counter's counterset at the time when the counter was bound.
    set: Arc<Counterset>,
    /// Text that each line of this counter begins with.
    prefix: Vec<u8>,
    columns: ValueColumns,
    /// Number of lines of this counter that are written from the rank of rows at which the limit of lines cuts the
    /// table.
    pub at_cut: usize,
}

/// Number of a metric's line, in the form in which it is written.
enum SampleNumber {
    Scaled(u64, UnitConversion),
    Seconds(u64, u64),
    Real(f64),
}

/// Columns of a row that contain the raw values from which a metric's number is computed.
#[derive(Debug, Default)]
struct ValueColumns {
    /// Column with the value of the counter itself.
    value: Option<usize>,
    /// Column with the value of the counter's base.
    base: Option<usize>,
    /// Columns with the counter's own clock and with that clock's frequency. `None` if it has no own clock, which is
    /// usual.
    own: Option<(Option<usize>, Option<usize>)>,
}

impl Family {
    pub fn new(name: String, sort: MetricType) -> Self {
        Self { name, sort, members: Vec::new(), heads: [Vec::new(), Vec::new()], is_open_counter: false }
    }

    /// Returns the name that OpenMetrics uses for this metric family.
    pub fn stem(&self) -> &str {
        match self.sort {
            MetricType::Counter => self.name.strip_suffix("_total").unwrap_or(&self.name),
            MetricType::Gauge | MetricType::Unknown => &self.name,
        }
    }

    /// Appends the line with the created time of a row's value, if that time is known.
    fn write_created(&self, member: &FamilyMember, table: &CountersetTable, row: usize, out: &mut Vec<u8>) {
        let since = member.columns.value.and_then(|column| table.since(row, column));
        let (Some(since), Some(behind)) = (since, member.prefix.get(self.name.len()..)) else { return };
        let Some(number) = date(since, table.times.step) else { return };
        out.extend_from_slice(self.stem().as_bytes());
        out.extend_from_slice(b"_created");
        out.extend_from_slice(behind);
        out.extend_from_slice(table.row_text(row, member.rows));
        number.write(out);
        out.push(b'\n');
    }

    /// Creates the head lines of this metric family. `is_taken`: `true` if another family has the name that
    /// OpenMetrics would use for this one; the type is then `unknown` instead of `counter`.
    pub fn make_heads(&mut self, tables: &[CountersetTable], is_taken: bool) {
        let text = self.help();
        let (in_text, sort) = match self.sort {
            MetricType::Counter => ("counter", "counter"),
            MetricType::Gauge => ("gauge", "gauge"),
            MetricType::Unknown => ("untyped", "unknown"),
        };
        let mut plain = Vec::new();
        line(&mut plain, "HELP", &self.name, |out| help(out, &text, false));
        line(&mut plain, "TYPE", &self.name, |out| out.extend_from_slice(in_text.as_bytes()));
        // OpenMetrics permits a counter only with samples named `_total`, and two families never share a
        // name. A metric that violates this would make the whole text invalid, so it is `unknown`.
        let (stem, sort) = if is_taken || self.sort == MetricType::Counter && self.stem() == self.name {
            (self.name.as_str(), "unknown")
        } else {
            (self.stem(), sort)
        };
        let is_open_counter = sort == "counter";
        let mut open = Vec::new();
        line(&mut open, "TYPE", stem, |out| out.extend_from_slice(sort.as_bytes()));
        // OpenMetrics requires that the name of a family ends with its unit.
        if let Some(unit) = unit_of(stem) {
            line(&mut open, "UNIT", stem, |out| out.extend_from_slice(unit.as_bytes()));
        }
        line(&mut open, "HELP", stem, |out| help(out, &text, true));
        (self.heads, self.is_open_counter) = ([plain, open], is_open_counter);
        for member in &mut self.members {
            let has_labels = tables.get(member.table).is_some_and(|table| table.has_labels(member.rows));
            member.prefix = match (has_labels, member.labels) {
                (true, "") => format!("{}{{", self.name),
                (true, labels) => format!("{}{{{labels},", self.name),
                (false, "") => format!("{} ", self.name),
                (false, labels) => format!("{}{{{labels}}} ", self.name),
            }
            .into_bytes();
        }
    }

    /// Returns the help text of the metric family: the paths of the family's counters, and the meaning if there is
    /// only one counter.
    fn help(&self) -> String {
        let mut paths: Vec<&str> = self.members.iter().map(|member| member.path.as_str()).collect();
        paths.dedup();
        let counter = self.members.first().and_then(|member| member.set.counter(member.reading.counter()));
        match (paths.as_slice(), counter.map(|counter| first_sentence(&counter.help))) {
            ([path], Some(sentence)) if !sentence.is_empty() => format!("{path}: {sentence}"),
            _ => paths.join(", "),
        }
    }

    /// Appends the lines of this metric family; none at all if the family has no value.
    pub fn write(&self, tables: &[CountersetTable], format: ExpositionFormat, out: &mut Vec<u8>) {
        let start = out.len();
        let [plain, open] = &self.heads;
        out.extend_from_slice(if format == ExpositionFormat::Prometheus { plain } else { open });
        let head = out.len();
        for member in &self.members {
            let Some(table) = tables.get(member.table) else { continue };
            let mut left = member.at_cut;
            for row in &table.kept {
                let is_last = match table.cut {
                    None if table.is_meant(*row, &member.asks) => false,
                    None => continue,
                    Some(cut) => match table.rank_of(*row, &member.asks) {
                        Some(rank) if rank < cut => false,
                        Some(rank) if rank == cut && left > 0 => true,
                        _ => continue,
                    },
                };
                if !table.has_line(*row, member.rows) {
                    continue;
                }
                let Some(number) = member.number(table.row(*row), &table.times) else { continue };
                left = left.saturating_sub(usize::from(is_last));
                out.extend_from_slice(&member.prefix);
                out.extend_from_slice(table.row_text(*row, member.rows));
                number.write(out);
                out.push(b'\n');
                if format == ExpositionFormat::OpenMetrics && self.is_open_counter {
                    self.write_created(member, table, *row, out);
                }
            }
        }
        if out.len() == head {
            out.truncate(start);
        }
    }
}

/// Appends a comment line about a metric family, such as its type.
pub(crate) fn line(out: &mut Vec<u8>, what: &str, family: &str, text: impl FnOnce(&mut Vec<u8>)) {
    for part in ["# ", what, " ", family, " "] {
        out.extend_from_slice(part.as_bytes());
    }
    text(out);
    out.push(b'\n');
}

impl FamilyMember {
    pub fn new(
        table: usize,
        ask: usize,
        reading: MetricValue,
        (labels, rows): (&'static str, RowScheme),
        path: String,
        set: Arc<Counterset>,
    ) -> Self {
        let (prefix, columns) = (Vec::new(), ValueColumns::default());
        Self { table, asks: vec![ask], reading, labels, rows, path, set, prefix, columns, at_cut: 0 }
    }

    /// Finds the table's columns of this counter's numbers.
    pub fn bind(&mut self, table: &CountersetTable) {
        let id = self.reading.counter();
        let base = self.reading.second();
        let column = |id: CounterId| table.column(&self.set, id);
        self.columns = ValueColumns {
            value: column(id),
            base: base.and_then(column),
            own: own_clock(&self.set, id).map(|(time, freq)| (time.and_then(column), freq.and_then(column))),
        };
    }

    /// Returns the rank of the most specific requested selection of a row, if this counter has a line for the row.
    pub fn rank(&self, table: &CountersetTable, row: usize) -> Option<usize> {
        if !table.has_line(row, self.rows) {
            return None;
        }
        self.number(table.row(row), &table.times)?;
        table.rank_of(row, &self.asks)
    }

    /// Returns the number that this counter's line has for a row, if the row has a value.
    fn number(&self, row: &[Option<RawValue>], times: &CollectionClocks) -> Option<SampleNumber> {
        let number = |column: usize| row.get(column).copied().flatten().map(RawValue::get);
        let raw = number(self.columns.value?)?;
        Some(match self.reading {
            MetricValue::Raw(_, scale) => SampleNumber::Scaled(raw, scale),
            MetricValue::Ticks(_, clock) => {
                let freq = match self.columns.own {
                    Some((_, freq)) => number(freq?)?,
                    None => u64::try_from(times.clocks.read(clock)?.1).ok()?,
                };
                SampleNumber::Seconds(raw, Some(freq).filter(|freq| *freq > 0)?)
            }
            MetricValue::Share(_, _, times) => {
                // With a base of 0 there is no quotient, so the line is missing: neither 0 nor NaN is true.
                let base = Some(number(self.columns.base?)?).filter(|base| *base > 0)?;
                SampleNumber::Real(f64::from(times) * float(raw) / float(base))
            }
            MetricValue::Shifted(_, _, offset) => {
                let base = Some(number(self.columns.base?)?).filter(|base| *base > 0)?;
                SampleNumber::Real(float(raw) / float(base) + f64::from(offset))
            }
            MetricValue::Difference(_, _, scale) => {
                let other = number(self.columns.base?)?;
                match raw.checked_sub(other) {
                    Some(number) => SampleNumber::Scaled(number, scale),
                    None => SampleNumber::Real(scale.of_real(-float(other.saturating_sub(raw)))),
                }
            }
            MetricValue::Start(_) => self.start(raw, times, number)?,
            MetricValue::Real(_, scale) => SampleNumber::Real(scale.of_real(f64::from_bits(raw))),
        })
    }

    /// Returns the start time that a counter contains as a number; `raw` is that time on the counterset's clock.
    fn start(
        &self,
        raw: u64,
        &CollectionClocks { ref clocks, step }: &CollectionClocks,
        number: impl Fn(usize) -> Option<u64>,
    ) -> Option<SampleNumber> {
        const TICKS: i64 = 10_000_000;
        let (now, freq) = match self.columns.own {
            Some((time, freq)) => (number(time?)?, i64::try_from(number(freq?)?).ok()?),
            None => (u64::try_from(clocks.object_time).ok()?, clocks.object_freq),
        };
        let passed = now.checked_sub(raw)?; // what begins later has no start yet
        if self.columns.own.is_none() && freq == TICKS && clocks.object_time == clocks.time_100ns {
            // The clock is the calendar's: the same number at each scrape.
            return date(raw, step);
        }
        let freq = u64::try_from(freq).ok().filter(|freq| *freq > 0)?;
        let today =
            u64::try_from(clocks.time_100ns.checked_add(step)?.checked_sub(UNIX_EPOCH_100NS)?).ok()?;
        let start = float(today) / 1e7 - float(passed) / float(freq);
        // To the hundredth: two clocks are never read at the same instant, and a start does not move.
        Some(SampleNumber::Real((start * 100.0).round() / 100.0))
    }
}

/// Converts a time in PerfTime100NSec to seconds since 1970. `step` is the offset of the wall clock from
/// PerfTime100NSec, in 100 ns.
fn date(time_100ns: u64, step: i64) -> Option<SampleNumber> {
    let epoch = u64::try_from(UNIX_EPOCH_100NS.checked_sub(step)?).ok()?;
    Some(SampleNumber::Scaled(time_100ns.checked_sub(epoch)?, UnitConversion::over(7)))
}

impl SampleNumber {
    fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Scaled(raw, scale) => scaled(out, raw, scale),
            Self::Seconds(ticks, freq) => seconds(out, ticks, freq),
            Self::Real(number) => real(out, number),
        }
    }
}

/// Returns the counters that contain a counter's own clock and the clock's frequency.
fn own_clock(set: &Counterset, id: CounterId) -> Option<(Option<CounterId>, Option<CounterId>)> {
    let counter = set.counter(id)?;
    let has_own = counter.perf_time.is_some() || counter.perf_freq.is_some();
    let takes_it = counter.counter_type.decode().clock == Clock::ObjectTime;
    (has_own && takes_it).then_some((counter.perf_time, counter.perf_freq))
}
