//! `perfset cpu`: a table of the processors.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use perfset::catalogue::processor_information as cpu;
use perfset::clock::SystemTime;
use perfset::output::text::{escaped, grouped};
use perfset::output::{Output, OutputSample, write_samples};
use perfset::path::{CounterPath, PathQuery, PathValue};
use perfset::{CounterId, Machine, NoValue};

use super::canvas::Canvas;
use super::draw::{Style, StyledLine};
use super::keys::Keys;
use crate::args::ProcessorsArgs;
use crate::bpf_capabilities;
use crate::exit::{Exit, Failure};
use crate::pace::Pace;

/// Columns of the table, in order.
const COLUMNS: [LiveColumn; 7] = [
    LiveColumn { counter: cpu::PERCENT_PROCESSOR_TIME, head: "% busy", width: 9, decimals: 1 },
    LiveColumn { counter: cpu::PERCENT_USER_TIME, head: "% user", width: 9, decimals: 1 },
    LiveColumn { counter: cpu::PERCENT_PRIVILEGED_TIME, head: "% kernel", width: 10, decimals: 1 },
    LiveColumn { counter: cpu::PERCENT_INTERRUPT_TIME, head: "% intr", width: 8, decimals: 1 },
    LiveColumn { counter: cpu::PERCENT_DPC_TIME, head: "% DPC", width: 8, decimals: 1 },
    LiveColumn { counter: cpu::INTERRUPTS_PER_SEC, head: "intr/s", width: 10, decimals: 0 },
    LiveColumn { counter: cpu::PROCESSOR_FREQUENCY, head: "MHz", width: 8, decimals: 0 },
];

struct LiveColumn {
    counter: CounterId,
    head: &'static str,
    width: usize,
    decimals: usize,
}

/// Shows the table of the processors.
pub fn run(args: &ProcessorsArgs) -> Result<Exit, Failure> {
    let options = &args.screen;
    options.processes.apply()?;
    // The table shows processors only, so nothing is loaded; the capabilities are dropped all the same.
    bpf_capabilities::settle(false);
    let mut query = query(&mut perfset::local())?;
    let mut pace =
        Pace::new(options.interval, options.count).map_err(|e| Failure::new(Exit::SourceFailed, e))?;
    let canvas = Canvas::stdout(options.color);
    let keys = Keys::read(canvas.is_terminal(), pace.stopper());
    let mut screen = ProcessorScreen {
        canvas,
        keys,
        heads: Heads::new(args.full_names),
        interval: options.interval,
        is_first: true,
        failure: None,
    };
    let done = write_samples(&mut query, &mut screen, || pace.wait());
    // The error of the output has no reason.
    if let Some(failure) = screen.failure {
        return Err(Failure::new(Exit::SourceFailed, anyhow::anyhow!(failure)));
    }
    done?;
    Ok(Exit::Ok)
}

/// Returns a query of the columns: path by path, in their order.
fn query(machine: &mut Machine) -> Result<PathQuery, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::SourceFailed, anyhow::anyhow!("Processor Information cannot be queried: {error}"))
    };
    let mut query = PathQuery::open(machine).map_err(|error| failed(&error))?;
    for column in &COLUMNS {
        let counter = cpu::COUNTERSET.counter(column.counter).map(|counter| counter.shown_name());
        let path = CounterPath {
            machine: None,
            counterset: cpu::COUNTERSET.name.to_string(),
            instance: Some("*".to_owned()),
            counter: counter.unwrap_or_default().into_owned(),
        };
        query.add(machine, &path).map_err(|error| failed(&error))?;
    }
    Ok(query)
}

/// Output that draws tables: in place on a terminal, one after the other elsewhere.
struct ProcessorScreen {
    canvas: Canvas,
    keys: Keys,
    heads: Heads,
    interval: Duration,
    /// `true` before the first sample.
    is_first: bool,
    /// Reason for having nothing to show at all.
    failure: Option<String>,
}

impl Output for ProcessorScreen {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let is_first = std::mem::take(&mut self.is_first);
        let table = LiveTable::new(sample.values());
        if table.rows.is_empty() {
            let mut reasons: Vec<_> =
                table.reasons.iter().flatten().map(|missing| missing.reason.clone()).collect();
            reasons.dedup();
            // An output can return only an I/O error, so `run` finds the reason here.
            self.failure = Some(format!("Processor Information: {}", reasons.join("; ")));
            return Err(io::Error::other("nothing to show"));
        }
        let is_live = self.canvas.is_terminal();
        if is_first && !is_live {
            return Ok(()); // differences have no value yet
        }
        let state = self.state(&table, (!is_live).then_some(sample.clocks.system_time));
        let lines = table.lines(&self.heads, &state, self.canvas.size().1);
        let heads = 1..=self.heads.height();
        let style = |at| if heads.contains(&at) { Style::Head } else { Style::Plain };
        let lines: Vec<_> =
            lines.into_iter().enumerate().map(|(at, line)| StyledLine::new(style(at), line)).collect();
        if self.keys.take_resumed() {
            self.canvas.forget();
        }
        self.canvas.draw(&lines)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.canvas.finish()
    }
}

impl ProcessorScreen {
    /// Returns the text on the right of the title.
    fn state(&self, table: &LiveTable, time: Option<SystemTime>) -> String {
        let processors = table.rows.iter().filter(|row| !row.name.ends_with("_Total")).count();
        let s = if processors == 1 { "" } else { "s" };
        let every = self.interval.as_secs_f64();
        match time {
            Some(time) => format!("{processors} processor{s}, {time} UTC"),
            None => format!("{processors} processor{s}, every {every} s, q ends"),
        }
    }
}

/// Column heads: the names above the values.
struct Heads {
    names: [Vec<String>; COLUMNS.len()],
    widths: [usize; COLUMNS.len()],
}

impl Heads {
    fn new(full_names: bool) -> Self {
        let names = COLUMNS.each_ref().map(|column| match full_names {
            true => {
                let name =
                    cpu::COUNTERSET.counter(column.counter).and_then(|counter| counter.name.as_deref());
                wrapped(name.unwrap_or(column.head))
            }
            false => vec![column.head.to_string()],
        });
        let mut widths = COLUMNS.each_ref().map(|column| column.width);
        for (width, words) in widths.iter_mut().zip(&names) {
            let longest = words.iter().map(|word| word.chars().count()).max().unwrap_or(0);
            *width = (*width).max(longest.saturating_add(2));
        }
        Self { names, widths }
    }

    fn height(&self) -> usize {
        self.names.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Returns the width of a whole line.
    fn width(&self, name_width: usize) -> usize {
        self.widths.iter().fold(name_width, |sum, width| sum.saturating_add(*width))
    }

    fn lines(&self, name_width: usize) -> impl Iterator<Item = String> {
        let height = self.height();
        (0..height).map(move |at| {
            let label = if at.saturating_add(1) == height { "instance" } else { "" };
            let mut line = format!("{label:name_width$}");
            for (words, width) in self.names.iter().zip(self.widths) {
                // Names of fewer lines are aligned to the bottom, next to their values.
                let skipped = height.saturating_sub(words.len());
                let word = at.checked_sub(skipped).and_then(|at| words.get(at)).map_or("", String::as_str);
                let _ = write!(line, "{word:>width$}"); // a String takes everything
            }
            line
        })
    }
}

/// Splits a name into lines of about one word each; a single `%` stays with its word.
fn wrapped(name: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut() {
            Some(last) if last == "%" => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Values of one collection, a row per instance.
struct LiveTable {
    rows: Vec<TableRow>,
    /// Reasons for missing values, for each column.
    reasons: [Option<Missing>; COLUMNS.len()],
}

/// Reasons for missing values of a column: the first reason, and the number of rows with another one.
struct Missing {
    reason: String,
    others: usize,
}

struct TableRow {
    name: String,
    values: [Option<f64>; COLUMNS.len()],
}

impl LiveTable {
    /// Creates a table of values; each path is a column.
    fn new<'a, 'v: 'a>(values: impl Iterator<Item = &'a PathValue<'v>>) -> Self {
        let mut rows: Vec<TableRow> = Vec::new();
        let mut reasons: [Option<Missing>; COLUMNS.len()] = [const { None }; COLUMNS.len()];
        let mut at = 0;
        for PathValue { path, value, .. } in values {
            let Some(reason_of) = reasons.get_mut(*path) else { continue };
            let number = match &value.value {
                Ok(number) => Some(number.capped()),
                // These values exist from the next collection on, so they need no explanation.
                Err(NoValue::NeedsTwoSamples | NoValue::NewInstance) => None,
                Err(reason) => {
                    let reason = escaped(&reason.to_string());
                    match reason_of {
                        None => *reason_of = Some(Missing { reason, others: 0 }),
                        Some(first) => {
                            first.others = first.others.saturating_add(usize::from(first.reason != reason));
                        }
                    }
                    None
                }
            };
            if value.instance_id.is_none() {
                continue; // the whole counterset failed: there is no row
            }
            let name = escaped(&value.instance.to_string());
            // Every column has the same instances in the same order, so the next row is nearly always the right one.
            at = match rows.get(at) {
                Some(row) if row.name == name => at,
                _ => rows.iter().position(|row| row.name == name).unwrap_or(rows.len()),
            };
            if at == rows.len() {
                rows.push(TableRow { name, values: [None; COLUMNS.len()] });
            }
            if let Some(cell) = rows.get_mut(at).and_then(|row| row.values.get_mut(*path)) {
                *cell = number;
            }
            at = at.saturating_add(1);
        }
        Self { rows, reasons }
    }

    /// Returns the lines of the table, with `right` on the right of the title. If not all rows fit, shows `_Total`
    /// and the busiest.
    fn lines(&self, heads: &Heads, right: &str, height: Option<usize>) -> Vec<String> {
        let noted = COLUMNS
            .iter()
            .zip(&self.reasons)
            .filter_map(|(column, missing)| Some((column, missing.as_ref()?)));
        let note = |(column, missing): (&LiveColumn, &Missing)| match missing.others {
            0 => format!("{}: {}", column.head, missing.reason),
            others => {
                format!("{}: {}, and {others} more rows for other reasons", column.head, missing.reason)
            }
        };
        let notes: Vec<_> = noted.map(note).collect();
        let taken = heads.height().saturating_add(1).saturating_add(notes.len());
        // At least one row and the line about the others, even in a window of a few lines.
        let room = height.map_or(usize::MAX, |height| height.saturating_sub(taken).max(2));
        let mut shown: Vec<_> = self.rows.iter().collect();
        if shown.len() > room {
            let busy = |row: &TableRow| row.values.first().copied().flatten().unwrap_or(-1.0);
            shown.sort_by(|a, b| {
                let total = |row: &TableRow| row.name == "_Total";
                total(b).cmp(&total(a)).then(busy(b).total_cmp(&busy(a)))
            });
            shown.truncate(room.saturating_sub(1));
        }
        let longest = shown.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        let name_width = longest.max(10);
        let left = "Processor Information";
        let right_width = heads.width(name_width).saturating_sub(left.len());
        let mut lines = vec![format!("{left}{right:>right_width$}")];
        lines.extend(heads.lines(name_width));
        for row in &shown {
            let mut line = format!("{:name_width$}", row.name);
            for ((value, column), width) in row.values.iter().zip(&COLUMNS).zip(heads.widths) {
                let value = value.map_or("-".to_string(), |value| grouped(value, column.decimals));
                let _ = write!(line, "{value:>width$}"); // a String takes everything
            }
            lines.push(line);
        }
        if shown.len() < self.rows.len() {
            let more = self.rows.len().saturating_sub(shown.len());
            lines.push(format!("{more} less busy are not shown; perfset cpu | cat shows all"));
        }
        lines.extend(notes);
        // The terminal cannot draw over more lines than it has.
        lines.truncate(height.unwrap_or(usize::MAX));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfset::testing::{FixedClock, Scripted};

    /// Two collections of scripted processors: busy percent by name.
    fn table(processors: &[(&'static str, u64)], interrupts: Result<u64, NoValue>) -> LiveTable {
        let mut machine = Machine::new(Box::new(FixedClock::default()));
        let provider = Scripted::new(vec![cpu::COUNTERSET.clone()]);
        machine.register(Box::new(provider.clone()));
        let mut query = query(&mut machine).unwrap();
        // One second of the clock is 10,000,000 x 100 ns; the raw value of % Processor Time is idle time. In the
        // registration's order the wanted counters are 0, 1, 2, 3, 4, 5, 17.
        let rows = |second: u64| {
            let row = |(at, (name, busy)): (usize, &(&'static str, u64))| {
                let time = |percent: u64| Ok(second * percent * 100_000);
                let values = vec![
                    time(100 - busy),
                    time(busy / 2),
                    time(busy - busy / 2),
                    interrupts.clone().map(|n| n * second),
                    time(2),
                    time(1),
                    Ok(2_800),
                ];
                (*name, u32::try_from(at).unwrap(), values)
            };
            processors.iter().enumerate().map(row).collect::<Vec<_>>()
        };
        for second in [0, 1] {
            provider.with(|script| script.rows = rows(second));
            query.collect().unwrap();
        }
        LiveTable::new(query.values().iter())
    }

    #[test]
    fn the_first_screen() {
        let table = table(&[("_Total", 52), ("0,0", 100), ("0,1", 4), ("0,_Total", 52)], Ok(1_012));
        let lines = table.lines(&Heads::new(false), "right side", Some(23));
        assert_eq!(
            lines,
            [
                "Processor Information                                         right side",
                "instance     % busy   % user  % kernel  % intr   % DPC    intr/s     MHz",
                "_Total         52.0     26.0      26.0     1.0     2.0     1,012   2,800",
                "0,0           100.0     50.0      50.0     1.0     2.0     1,012   2,800",
                "0,1             4.0      2.0       2.0     1.0     2.0     1,012   2,800",
                "0,_Total       52.0     26.0      26.0     1.0     2.0     1,012   2,800",
            ]
        );
    }

    #[test]
    fn missing_values_are_dashes_with_a_reason() {
        let table =
            table(&[("_Total", 52), ("0,\x1b[2J", 100)], Err(NoValue::Unavailable("not here".into())));
        let lines = table.lines(&Heads::new(false), "", None);
        assert_eq!(lines[2], "_Total          52.0     26.0      26.0     1.0     2.0         -   2,800");
        assert!(lines[3].starts_with("0,\\u{1b}[2J"), "{}", lines[3]);
        assert_eq!(lines[4], "intr/s: unavailable: not here");
    }

    #[test]
    fn limited_table_shows_busiest_instances() {
        let many: Vec<_> =
            ["0,0", "0,1", "0,2", "_Total", "0,3"].into_iter().zip([10, 30, 20, 25, 40]).collect();
        let lines = table(&many, Ok(1)).lines(&Heads::new(false), "", Some(6));
        let names: Vec<_> = lines.iter().map(|line| line.split("  ").next().unwrap()).collect();
        assert_eq!(
            names,
            [
                "Processor Information",
                "instance",
                "_Total",
                "0,3",
                "0,1",
                "2 less busy are not shown; perfset cpu | cat shows all"
            ]
        );
    }

    #[test]
    fn full_names_stand_above_their_columns() {
        let lines: Vec<_> = Heads::new(true).lines(10).collect();
        assert_eq!(
            lines,
            [
                "            % Processor   % User  % Privileged  % Interrupt   % DPC                  Processor",
                "instance           Time     Time          Time         Time    Time  Interrupts/sec  Frequency",
            ]
        );
    }
}
