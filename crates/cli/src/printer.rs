//! Printer of `perfset get`: selects values of samples and prints them in a format.

use std::io::{self, IsTerminal, Write};

use jiff::tz::TimeZone;
use perfset::clock::ClockReading;
use perfset::output::{
    CsvLines, InfluxLines, JsonLines, MachineValues, NumberForm, Output, OutputSample, PathNames, PdhCsv,
    PdhCsvColumns, PdhCsvOptions, RowOrder, SampleWriter, Summary, Table, TableOptions, ValueFilter,
    ValueSelection, WideCsv, WideJson, WideOptions, first_sentences,
};
use perfset::path::{CounterPath, PathValue};
use terminal_size::{Height, Width, terminal_size};

use crate::args::{GetArgs, OutputFormat};
use crate::terminal;

/// Printer of samples: removes values that were not requested and passes the others to an output.
pub struct ValuePrinter {
    selection: ValueSelection,
    output: Box<dyn Output>,
    /// Statistics of all printed samples, if the user requests them.
    summary: Option<Summary<'static>>,
    /// `true` if the output learns the series of the first sample, before values are selected.
    learns_first: bool,
    /// `true` once a value has passed the condition and the ranking of the command.
    has_hit: bool,
    /// Sentences about missing values that were last printed on standard error; equal ones are not printed again.
    left_out: Vec<String>,
}

/// Options of a [`ValuePrinter`].
#[derive(Debug, Default)]
pub struct PrintOptions {
    pub format: OutputFormat,
    pub form: NumberForm,
    /// `true` to print also counters that this machine never has.
    pub all: bool,
    pub filters: Vec<ValueFilter>,
    /// Maximum number of instances, or of values for each counter of a path, that are printed: the greatest ones.
    pub top: Option<u32>,
    /// Order of instances in the output; `None` is the default of the format.
    pub order: Option<RowOrder>,
    /// `true` to print one line for each time and instance in CSV and JSON.
    pub wide: bool,
    /// `true` to print short numbers in tables; `None` does so only on a terminal.
    pub human: Option<bool>,
    /// `true` if the output is of several samples.
    pub is_series: bool,
    pub summary: bool,
    /// Name of the machine that recorded the values; `None` for live values.
    pub host: Option<String>,
    /// Time zone of the times in the output; `None` is this machine's.
    pub zone: Option<TimeZone>,
    /// Spelling of instances in the counter paths of PDH-CSV.
    pub names: PathNames,
    /// `true` if the output learns all series before the first sample.
    pub is_learned: bool,
    /// Maximum number of characters in a line of a table; `None` is the width of the terminal.
    pub width: Option<usize>,
    /// Number of lines of a screen; `None` is the height of the terminal, if there is one.
    pub height: Option<usize>,
}

impl From<&GetArgs> for PrintOptions {
    fn from(args: &GetArgs) -> Self {
        let GetArgs { raw, all, top, summary, wide, human, exact, .. } = *args;
        let format = args.format.of_values().unwrap_or_default();
        let form = if raw { NumberForm::Raw } else { NumberForm::Formatted };
        let human = (human || exact).then_some(human);
        let (filters, order) = (args.filters.clone(), args.sort.as_deref().map(RowOrder::parse));
        Self { format, form, all, filters, top, order, summary, wide, human, ..Self::default() }
    }
}

impl ValuePrinter {
    /// Creates a printer that writes samples to standard output.
    pub fn stdout(options: PrintOptions, paths: &[CounterPath]) -> Self {
        let on_terminal = io::stdout().is_terminal();
        let is_live = options.host.is_none() || on_terminal;
        let writer = || match is_live {
            true => SampleWriter::live(terminal::stdout()),
            false => SampleWriter::buffered(terminal::stdout()),
        };
        Self::new(options, paths, on_terminal, writer)
    }

    /// Creates a printer that writes recorded samples to the writers that `open` returns.
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
        let PrintOptions { format, form, all, top, names, is_learned, wide, .. } = options;
        let terminal = on_terminal.then(terminal_size).flatten();
        let width = options.width.unwrap_or_else(|| terminal.map_or(80, |(Width(width), _)| width.into()));
        let height = options.height.or_else(|| terminal.map(|(_, Height(height))| height.into()));
        let is_human = options.human.unwrap_or(on_terminal);
        let table = || TableOptions {
            form,
            is_human,
            is_series: options.is_series,
            is_ranking: top.is_some(),
            order: options.order.clone().unwrap_or_default(),
            is_recorded: options.host.is_some(),
            zone: options.zone.clone().unwrap_or_else(TimeZone::system),
            width,
            height,
        };
        // Programs get the instances in the order of the source, unless a ranking is requested.
        let order = options.order.clone().or_else(|| top.map(|_| RowOrder::default()));
        let wide_options = || WideOptions { form, order: order.clone(), is_learned, on_terminal };
        let host = || options.host.clone().unwrap_or_else(perfset::own_name);
        let output: Box<dyn Output> = match format {
            OutputFormat::Table => Box::new(Table::new(writer(), table(), paths)),
            OutputFormat::Csv if wide => Box::new(WideCsv::new(writer(), wide_options(), paths)),
            OutputFormat::Json if wide => Box::new(WideJson::new(writer(), wide_options(), paths)),
            OutputFormat::Csv => Box::new(CsvLines::new(writer(), on_terminal)),
            OutputFormat::Json => Box::new(JsonLines::new(writer())),
            OutputFormat::Influx => Box::new(InfluxLines::new(writer(), host())),
            OutputFormat::PdhCsv => {
                let options = PdhCsvOptions { form, is_learned, ..PdhCsvOptions::default() };
                Box::new(PdhCsv::new(writer(), options, PdhCsvColumns::of_paths(host(), names)))
            }
        };
        let top = top.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let rows = (wide || format == OutputFormat::Table).then(|| order.unwrap_or_default());
        let (filters, paths) = (options.filters, paths.to_vec());
        Self {
            summary: options.summary.then(|| Summary::new(writer(), &paths, width).human(is_human)),
            selection: ValueSelection { form, all, filters, top, rows, paths },
            output,
            // The header of wide CSV names all counters, also those that a condition removes from the first sample.
            learns_first: wide && !is_learned,
            has_hit: false,
            left_out: Vec::new(),
        }
    }

    /// Returns `true` if the output must [learn](Self::learn) all series before the first sample.
    pub fn needs_series(&self) -> bool {
        self.output.needs_series()
    }

    /// Passes the series of a sample to the output, before that output receives its first sample.
    pub fn learn(&mut self, clocks: &ClockReading, values: &mut Vec<PathValue<'_>>) {
        self.selection.hide(values);
        self.output.learn(&OutputSample::new(clocks, &[MachineValues::new(values)]));
    }

    /// Prints the values of a sample. Returns `true` if a value is missing.
    pub fn sample(&mut self, clocks: &ClockReading, values: &mut Vec<PathValue<'_>>) -> io::Result<bool> {
        let Self { selection, output, summary, learns_first, has_hit, left_out: told } = self;
        selection.hide(values);
        if std::mem::take(learns_first) {
            output.learn(&OutputSample::new(clocks, &[MachineValues::new(values)]));
        }
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

    /// Returns the number of values for which the output had no column.
    pub fn without_column(&self) -> u64 {
        self.output.without_column()
    }

    /// Completes the printed output after the last sample, with the statistics if requested.
    pub fn finish(&mut self) -> io::Result<()> {
        self.output.finish()?;
        if let Some(summary) = &mut self.summary {
            summary.finish()?;
        }
        warn(&self.output.warnings());
        if !self.selection.filters.is_empty() && !self.has_hit {
            // Standard error is the last place to report to, so a failure of it is ignored.
            let _ = writeln!(io::stderr(), "note: no value matches the --where condition");
        }
        Ok(())
    }
}

/// Prints sentences about missing values to standard error.
pub fn warn(sentences: &[String]) {
    for sentence in sentences {
        // Standard error is the last place to report to, so a failure of it is ignored.
        let _ = writeln!(io::stderr(), "warning: {sentence}");
    }
}
