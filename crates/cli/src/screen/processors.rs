//! `perfset cpu`: shows a table of the processors.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use perfset::catalogue::processor_information as cpu;
use perfset::clock::SystemTime;
use perfset::output::text::{escaped, grouped};
use perfset::output::{Output, OutputSample, write_samples};
use perfset::path::{CounterPath, PathQuery, PathValue};
use perfset::{CounterId, NextOutcome, NoValue, Source, SourceError};

use super::canvas::Canvas;
use super::draw::{Style, StyledLine};
use super::keys::{ENDS, Keys};
use super::past::{PastInstant, before_end, ended, shown_time};
use crate::args::ProcessorsArgs;
use crate::bpf_capabilities;
use crate::exit::{Exit, Failure};
use crate::pace::Pace;

/// Columns of the processor table, from left to right.
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

/// Shows the processor table: now, or at an instant of a log.
pub fn run(args: &ProcessorsArgs) -> Result<Exit, Failure> {
    if args.part.past.log.is_empty() { live(args) } else { past(args) }
}

fn live(args: &ProcessorsArgs) -> Result<Exit, Failure> {
    let options = &args.part.screen;
    options.processes.apply()?;
    // The table shows processors only, so nothing is loaded; the capabilities are dropped all the same.
    bpf_capabilities::settle(false);
    let ColumnQuery { mut query, columns } = ColumnQuery::open(&mut perfset::local())?;
    let mut pace =
        Pace::new(options.interval, options.count).map_err(|e| Failure::new(Exit::SourceFailed, e))?;
    let canvas = Canvas::stdout(options.color);
    let keys = Keys::read(canvas.is_terminal(), pace.stopper());
    let mut screen = ProcessorScreen {
        canvas,
        keys,
        heads: Heads::new(args.full_names),
        columns,
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

fn past(args: &ProcessorsArgs) -> Result<Exit, Failure> {
    let past = &args.part.past;
    let failed = |error: SourceError| Failure::escaped(Exit::SourceFailed, error);
    let PastInstant { mut logs, at, times } = PastInstant::open(past)?;
    let ColumnQuery { mut query, columns } = ColumnQuery::open(&mut logs)?;
    while query.collect().map_err(failed)? == NextOutcome::Sample {}
    let table = LiveTable::new(query.values().iter(), &columns);
    if table.rows.is_empty() {
        return Err(Failure::new(Exit::SourceFailed, anyhow::anyhow!(table.nothing(&columns))));
    }
    let mut canvas = Canvas::stdout(args.part.screen.color);
    let right = format!("{}, {}, {}", table.count(), shown_time(&logs, at), before_end(&times, at));
    let heads = Heads::new(args.full_names);
    canvas.draw(&styled(table.lines(&heads, &columns, &right, canvas.size().1), &heads))?;
    canvas.finish()?;
    Ok(ended(logs, past))
}

/// Query for the counters in the columns of the processor table.
struct ColumnQuery {
    query: PathQuery,
    columns: BoundColumns,
}

/// Columns of the processor table, bound to the counters that a source has.
#[derive(Debug)]
struct BoundColumns {
    /// Name of the counterset that contains the processors.
    counterset: &'static str,
    /// Index of the column of the processor table for each counter path of the query.
    of_path: Vec<usize>,
    /// Reasons why a column of the processor table has no counter path, by column.
    missing: [Option<String>; COLUMNS.len()],
}

impl ColumnQuery {
    fn open(source: &mut dyn Source) -> Result<Self, Failure> {
        let failed = |error: &str| {
            let error = anyhow::anyhow!("Processor Information cannot be queried: {error}");
            Failure::new(Exit::SourceFailed, error)
        };
        let mut first = None;
        // Windows before 7 has Processor only, and so have its logs.
        for counterset in ["Processor Information", "Processor"] {
            let mut query = PathQuery::open(source).map_err(|error| failed(&escaped(&error.to_string())))?;
            let columns = BoundColumns::bind(counterset, &mut query, source);
            if !columns.of_path.is_empty() {
                return Ok(Self { query, columns });
            }
            first = first.or_else(|| columns.missing.into_iter().flatten().next());
        }
        Err(failed(&first.unwrap_or_default()))
    }
}

impl BoundColumns {
    fn bind(counterset: &'static str, query: &mut PathQuery, source: &mut dyn Source) -> Self {
        let (mut of_path, mut missing) = (Vec::new(), [const { None }; COLUMNS.len()]);
        for (at, (column, missing)) in COLUMNS.iter().zip(&mut missing).enumerate() {
            let counter = cpu::COUNTERSET.counter(column.counter).map(|counter| counter.shown_name());
            let path = CounterPath {
                machine: None,
                counterset: counterset.to_owned(),
                instance: Some("*".to_owned()),
                counter: counter.unwrap_or_default().into_owned(),
            };
            match query.add(source, &path) {
                Ok(_) => of_path.push(at),
                Err(error) => *missing = Some(escaped(&error.to_string())),
            }
        }
        Self { counterset, of_path, missing }
    }
}

/// Returns the lines of the processor table with their styles.
fn styled(lines: Vec<String>, heads: &Heads) -> Vec<StyledLine> {
    let heads = 1..=heads.height();
    let style = |at| if heads.contains(&at) { Style::Head } else { Style::Plain };
    lines.into_iter().enumerate().map(|(at, line)| StyledLine::new(style(at), line)).collect()
}

/// Output that draws the processor table: in place on a terminal, otherwise each table below the previous one.
struct ProcessorScreen {
    canvas: Canvas,
    keys: Keys,
    heads: Heads,
    columns: BoundColumns,
    interval: Duration,
    /// `true` before the first sample of the screen.
    is_first: bool,
    /// Reason why the last sample has no processor to show.
    failure: Option<String>,
}

impl Output for ProcessorScreen {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let is_first = std::mem::take(&mut self.is_first);
        let table = LiveTable::new(sample.values(), &self.columns);
        if table.rows.is_empty() {
            // An output can return only an I/O error, so `run` finds the reason here.
            self.failure = Some(table.nothing(&self.columns));
            return Err(io::Error::other("nothing to show"));
        }
        let is_live = self.canvas.is_terminal();
        if is_first && !is_live {
            return Ok(()); // differences have no value yet
        }
        let state = self.state(&table, (!is_live).then_some(sample.clocks.system_time));
        let lines = table.lines(&self.heads, &self.columns, &state, self.canvas.size().1);
        if self.keys.take_resumed() {
            self.canvas.forget();
        }
        self.canvas.draw(&styled(lines, &self.heads))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.canvas.finish()
    }
}

impl ProcessorScreen {
    /// Returns the text at the right end of the processor table's title line.
    fn state(&self, table: &LiveTable, time: Option<SystemTime>) -> String {
        let processors = table.count();
        let every = self.interval.as_secs_f64();
        match time {
            Some(time) => format!("{processors}, {time} UTC"),
            None => format!("{processors}, every {every} s, {ENDS}"),
        }
    }
}

/// Heads of the processor table's columns: the names above the values.
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

    /// Returns the width of a line of the processor table, in characters.
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

/// Splits a column name into lines of one word each; a single `%` stays with the next word.
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

/// Processor table with the values of one collection; each row is a processor.
struct LiveTable {
    rows: Vec<TableRow>,
    /// Reasons for missing values in the processor table, by column.
    reasons: [Option<Missing>; COLUMNS.len()],
}

/// Missing values in a column of the processor table: the first reason, and the number of rows with another reason.
struct Missing {
    reason: String,
    others: usize,
}

struct TableRow {
    name: String,
    values: [Option<f64>; COLUMNS.len()],
}

impl LiveTable {
    /// Creates a processor table from the values of a query; the values of one counter path form a column.
    fn new<'a, 'v: 'a>(values: impl Iterator<Item = &'a PathValue<'v>>, columns: &BoundColumns) -> Self {
        let mut rows: Vec<TableRow> = Vec::new();
        let absent = |reason: &Option<String>| Some(Missing { reason: reason.clone()?, others: 0 });
        let mut reasons = columns.missing.each_ref().map(absent);
        let mut at = 0;
        for PathValue { path, value, .. } in values {
            let Some(column) = columns.of_path.get(*path).copied() else { continue };
            let Some(reason_of) = reasons.get_mut(column) else { continue };
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
            if let Some(cell) = rows.get_mut(at).and_then(|row| row.values.get_mut(column)) {
                *cell = number;
            }
            at = at.saturating_add(1);
        }
        Self { rows, reasons }
    }

    /// Returns the reasons why the processor table has no rows.
    fn nothing(&self, columns: &BoundColumns) -> String {
        let mut reasons: Vec<_> = self.reasons.iter().flatten().map(|missing| &*missing.reason).collect();
        reasons.dedup();
        format!("{}: {}", columns.counterset, reasons.join("; "))
    }

    /// Returns the number of processors as a text, such as `4 processors`.
    fn count(&self) -> String {
        let processors = self.rows.iter().filter(|row| !row.name.ends_with("_Total")).count();
        let s = if processors == 1 { "" } else { "s" };
        format!("{processors} processor{s}")
    }

    /// Returns the lines of the processor table, with the text `right` on the right of the title. If not all rows
    /// fit, the lines show `_Total` and the busiest processors.
    fn lines(
        &self,
        heads: &Heads,
        columns: &BoundColumns,
        right: &str,
        height: Option<usize>,
    ) -> Vec<String> {
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
        let left = columns.counterset;
        // At least one blank stands between the two.
        let room = heads.width(name_width).saturating_sub(left.len());
        let right_width = room.max(right.chars().count().saturating_add(1));
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
    use perfset::Machine;
    use perfset::testing::{FixedClock, Scripted};

    /// Returns the processor table after two collections of scripted processors, each given as name and busy percent.
    fn table(
        processors: &[(&'static str, u64)],
        interrupts: Result<u64, NoValue>,
    ) -> (LiveTable, BoundColumns) {
        let mut machine = Machine::new(Box::new(FixedClock::default()));
        let provider = Scripted::new(vec![cpu::COUNTERSET.clone()]);
        machine.register(Box::new(provider.clone()));
        let ColumnQuery { mut query, columns } = ColumnQuery::open(&mut machine).unwrap();
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
        (LiveTable::new(query.values().iter(), &columns), columns)
    }

    #[test]
    fn the_first_screen() {
        let (table, columns) =
            table(&[("_Total", 52), ("0,0", 100), ("0,1", 4), ("0,_Total", 52)], Ok(1_012));
        let lines = table.lines(&Heads::new(false), &columns, "right side", Some(23));
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
        let (table, columns) =
            table(&[("_Total", 52), ("0,\x1b[2J", 100)], Err(NoValue::Unavailable("not here".into())));
        let lines = table.lines(&Heads::new(false), &columns, "", None);
        assert_eq!(lines[2], "_Total          52.0     26.0      26.0     1.0     2.0         -   2,800");
        assert!(lines[3].starts_with("0,\\u{1b}[2J"), "{}", lines[3]);
        assert_eq!(lines[4], "intr/s: unavailable: not here");
    }

    #[test]
    fn limited_table_shows_busiest_instances() {
        let many: Vec<_> =
            ["0,0", "0,1", "0,2", "_Total", "0,3"].into_iter().zip([10, 30, 20, 25, 40]).collect();
        let (table, columns) = table(&many, Ok(1));
        let lines = table.lines(&Heads::new(false), &columns, "", Some(6));
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

    /// Checks the processor table of Windows versions before 7, which have only the counterset Processor.
    #[test]
    fn processors_of_older_machines() {
        use perfset::catalogue::processor;

        let mut machine = Machine::new(Box::new(FixedClock::default()));
        let provider = Scripted::new(vec![processor::COUNTERSET.clone()]);
        machine.register(Box::new(provider.clone()));
        let ColumnQuery { mut query, columns } = ColumnQuery::open(&mut machine).unwrap();
        for second in [0, 1] {
            let row = |name, idle: u64| {
                (name, 0, vec![Ok(second * idle * 100_000), Ok(0), Ok(0), Ok(0), Ok(0), Ok(second * 7)])
            };
            provider.with(|script| script.rows = vec![row("0", 25), row("_Total", 25)]);
            query.collect().unwrap();
        }
        let table = LiveTable::new(query.values().iter(), &columns);
        assert_eq!(table.count(), "1 processor");
        let lines = table.lines(&Heads::new(false), &columns, "", None);
        assert!(lines[0].starts_with("Processor  "), "{lines:?}");
        assert!(lines[2].starts_with("0              75.0 "), "{lines:?}");
        assert!(lines[2].ends_with(" -") && lines[4].starts_with("MHz: "), "{lines:?}");
    }

    /// Checks that a machine without processors causes an error that names the missing counterset.
    #[test]
    fn no_processors_are_an_error() {
        let mut machine = Machine::new(Box::new(FixedClock::default()));
        let error = ColumnQuery::open(&mut machine).map(|_| ()).unwrap_err().error.to_string();
        assert_eq!(
            error,
            "Processor Information cannot be queried: no counterset is named \"Processor Information\""
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
