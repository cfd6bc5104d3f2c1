//! Output of `get`: selects values and prints them in a format.

use std::io::{self, IsTerminal, Write};

use jiff::tz::TimeZone;
use perfset::clock::ClockReading;
use perfset::output::{
    CsvLines, JsonLines, MachineValues, NumberForm, Output, OutputSample, PathNames, PdhCsv, PdhCsvColumns,
    PdhCsvOptions, SampleWriter, Summary, Table, TableOptions, ValueFilter, ValueSelection, first_sentences,
};
use perfset::path::{CounterPath, PathValue};
use terminal_size::{Width, terminal_size};

use crate::args::{GetArgs, OutputFormat};
use crate::terminal;

/// Printer of samples: removes values that were not requested and passes the others to an output.
pub struct ValuePrinter {
    selection: ValueSelection,
    output: Box<dyn Output>,
    /// Statistics of the run, if requested.
    summary: Option<Summary<'static>>,
    /// `true` once a value has passed the condition and the ranking.
    has_hit: bool,
    /// Last sentences about missing values on standard error; equal ones are not printed again.
    left_out: Vec<String>,
}

/// Options of a [`ValuePrinter`].
#[derive(Debug, Default)]
pub struct PrintOptions {
    pub format: OutputFormat,
    pub form: NumberForm,
    /// Prints also counters that this machine does not have.
    pub all: bool,
    pub filter: Option<ValueFilter>,
    /// Maximum number of values for each counter of a path, the greatest ones.
    pub top: Option<u32>,
    pub summary: bool,
    /// Name of the machine that recorded the values; `None` for live values.
    pub host: Option<String>,
    /// Time zone of displayed times; `None` is this machine's.
    pub zone: Option<TimeZone>,
    /// Spelling of instances in paths of PDH-CSV.
    pub names: PathNames,
    /// `true` if all series are learned before the first sample.
    pub is_learned: bool,
    /// Maximum number of characters in a line of a table; `None` is the width of the terminal.
    pub width: Option<usize>,
}

impl From<&GetArgs> for PrintOptions {
    fn from(args: &GetArgs) -> Self {
        let GetArgs { format, raw, all, filter, top, summary, .. } = *args;
        let form = if raw { NumberForm::Raw } else { NumberForm::Formatted };
        Self { format, form, all, filter, top, summary, ..Self::default() }
    }
}

impl ValuePrinter {
    /// Creates a printer to standard output.
    pub fn stdout(options: PrintOptions, paths: &[CounterPath]) -> Self {
        let on_terminal = io::stdout().is_terminal();
        let is_live = options.host.is_none() || on_terminal;
        let writer = || match is_live {
            true => SampleWriter::live(terminal::stdout()),
            false => SampleWriter::buffered(terminal::stdout()),
        };
        Self::new(options, paths, on_terminal, writer)
    }

    /// Creates a printer of recorded samples to the writers that `open` returns.
    pub fn to<W: Write + 'static>(
        options: PrintOptions,
        paths: &[CounterPath],
        open: impl Fn() -> W,
    ) -> Self {
        Self::new(options, paths, false, || SampleWriter::buffered(open()))
    }

    fn new(
        options: PrintOptions,
        paths: &[CounterPath],
        on_terminal: bool,
        writer: impl Fn() -> SampleWriter<'static>,
    ) -> Self {
        let PrintOptions { format, form, all, filter, top, names, is_learned, .. } = options;
        let width = options.width.unwrap_or_else(|| {
            let terminal = on_terminal.then(terminal_size).flatten();
            terminal.map_or(80, |(Width(width), _)| width.into())
        });
        let table = || TableOptions {
            form,
            is_ranking: top.is_some(),
            is_recorded: options.host.is_some(),
            zone: options.zone.clone().unwrap_or_else(TimeZone::system),
            width,
        };
        let host = || options.host.clone().unwrap_or_else(perfset::own_name);
        let output: Box<dyn Output> = match format {
            OutputFormat::Table => Box::new(Table::new(writer(), table(), paths)),
            OutputFormat::Csv => Box::new(CsvLines::new(writer(), on_terminal)),
            OutputFormat::Json => Box::new(JsonLines::new(writer())),
            OutputFormat::PdhCsv => {
                let options = PdhCsvOptions { form, is_learned, ..PdhCsvOptions::default() };
                Box::new(PdhCsv::new(writer(), options, PdhCsvColumns::of_paths(host(), names)))
            }
        };
        let top = top.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        Self {
            selection: ValueSelection { form, all, filter, top, paths: paths.to_vec() },
            output,
            summary: options.summary.then(|| Summary::new(writer(), paths, width)),
            has_hit: false,
            left_out: Vec::new(),
        }
    }

    /// Returns `true` if all series must be [learned](Self::learn) before the first sample.
    pub fn needs_series(&self) -> bool {
        self.output.needs_series()
    }

    /// Learns the series of a sample.
    pub fn learn(&mut self, clocks: &ClockReading, values: &mut Vec<PathValue<'_>>) {
        self.selection.hide(values);
        self.output.learn(&OutputSample::new(clocks, &[MachineValues::new(values)]));
    }

    /// Prints a sample. Returns `true` if a value is missing.
    pub fn sample(&mut self, clocks: &ClockReading, values: &mut Vec<PathValue<'_>>) -> io::Result<bool> {
        let Self { selection, output, summary, has_hit, left_out: told } = self;
        selection.hide(values);
        // Before the selection: `--strict` is about everything that was requested.
        let missing = selection.lacks(values);
        if let Some(summary) = summary {
            summary.sample(&OutputSample::new(clocks, &[MachineValues::new(values)]))?;
        }
        let left_out = selection.apply(values);
        *has_hit |= !values.is_empty();
        let machine = [MachineValues::new(values)];
        output.sample(&OutputSample::new(clocks, &machine).without(left_out.as_ref()))?;
        // CSV cannot contain the sentences, so they go to standard error.
        if let Some(left_out) = left_out.filter(|_| !output.shows_left_out()) {
            let sentences = left_out.sentences();
            if sentences != *told {
                warn(&first_sentences(sentences.clone(), "are missing"));
                *told = sentences;
            }
        }
        Ok(missing)
    }

    /// Returns the number of values that had no column.
    pub fn without_column(&self) -> u64 {
        self.output.without_column()
    }

    /// Completes the output after the last sample, with the summary if requested.
    pub fn finish(&mut self) -> io::Result<()> {
        self.output.finish()?;
        if let Some(summary) = &mut self.summary {
            summary.finish()?;
        }
        warn(&self.output.warnings());
        if self.selection.filter.is_some() && !self.has_hit {
            // Standard error is the last place to report to, so a failure of it is ignored.
            let _ = writeln!(io::stderr(), "note: no value matches the --where condition");
        }
        Ok(())
    }
}

/// Prints sentences to standard error.
pub fn warn(sentences: &[String]) {
    for sentence in sentences {
        // Standard error is the last place to report to, so a failure of it is ignored.
        let _ = writeln!(io::stderr(), "warning: {sentence}");
    }
}
