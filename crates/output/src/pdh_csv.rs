//! PDH-CSV and PDH-TSV output: a line for each sample, and a column for each series, named in the first line.

use std::io;

use perfset_engine::path::PathValue;
use perfset_log::text::{Header, Separator, TextLogWriter, TextNumber, Zone};

use crate::form::NumberForm;
use crate::marked::MarkedValues;
use crate::output::{MachineValues, Output, OutputSample};
use crate::path_names::PathNames;
use crate::series::{DistinctPaths, SeriesMap};
use crate::writer::SampleWriter;

/// Writer of samples as text logs that perfmon and relog can read.
///
/// The first line names the columns: all series of a log, which are [learned](Output::learn) before, or the series of a
/// machine's first sample. Instances that appear later have no column then.
#[derive(Debug)]
pub struct PdhCsv<'w> {
    options: PdhCsvOptions,
    columns: PdhCsvColumns,
    state: PdhCsvState<'w>,
    /// Numbers of the text log's current line, indexed by series.
    line: Vec<Option<TextNumber>>,
    /// Number of values that have no column in the text log.
    without_column: u64,
    /// Counts of marked values, because the text log cannot show marks.
    marked: MarkedValues,
}

/// Options of a [`PdhCsv`].
#[derive(Clone, Debug)]
pub struct PdhCsvOptions {
    /// Separator of the fields: comma or tab.
    pub separator: Separator,
    /// Time zone of the times in the text log.
    pub zone: Zone,
    /// `true` if the first line of the text log names the time zone; typeperf's standard output does not.
    pub names_zone: bool,
    /// Number of decimals to which values in the text log are rounded; `None` for all digits.
    pub decimals: Option<usize>,
    /// Form of the numbers: formatted or raw values.
    pub form: NumberForm,
    /// `true` if all series of a log are learned before the first sample is written.
    pub is_learned: bool,
}

impl Default for PdhCsvOptions {
    /// Returns the options of a PDH-CSV file with formatted values and times in UTC.
    fn default() -> Self {
        Self {
            separator: Separator::Comma,
            zone: Zone::utc(),
            names_zone: true,
            decimals: None,
            form: NumberForm::Formatted,
            is_learned: false,
        }
    }
}

/// State of the written text log: before or after its first line.
#[derive(Debug)]
enum PdhCsvState<'w> {
    /// State before the first line; the writer is `None` while the first line is being written, and after a failure
    /// to write it.
    New(Option<SampleWriter<'w>>),
    /// State after the first line was written. `order` contains the series of each column.
    Open { writer: TextLogWriter<SampleWriter<'w>>, order: Vec<usize> },
}

impl<'w> PdhCsv<'w> {
    /// Creates the output of a text log with the columns that are known so far.
    #[must_use]
    pub fn new(out: SampleWriter<'w>, options: PdhCsvOptions, columns: PdhCsvColumns) -> Self {
        let state = PdhCsvState::New(Some(out));
        Self { options, columns, state, line: Vec::new(), without_column: 0, marked: MarkedValues::default() }
    }

    /// Writes the first line of the text log, with the columns of all series so far. Without this call, the line is
    /// written before the first sample.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_head(&mut self) -> io::Result<()> {
        let PdhCsvState::New(out) = &mut self.state else { return Ok(()) };
        let out =
            out.take().ok_or_else(|| io::Error::other("the first line of the log could not be written"))?;
        let (order, paths) = self.columns.ordered();
        // They are in the file now: there can be hundreds of thousands.
        self.columns.columns.iter_mut().for_each(|column| column.path = String::new());
        let PdhCsvOptions { separator, zone, names_zone, decimals, .. } = &self.options;
        let zone = names_zone.then(|| zone.clone());
        let header = Header { separator: *separator, zone, ..Header::new(paths) };
        let mut writer = TextLogWriter::new(out, &header)?.decimals(*decimals);
        writer.get_mut().end_sample()?;
        self.state = PdhCsvState::Open { writer, order };
        Ok(())
    }
}

impl Output for PdhCsv<'_> {
    fn needs_series(&self) -> bool {
        self.options.is_learned
    }

    fn learn(&mut self, sample: &OutputSample<'_>) {
        self.columns.learn(sample.machines);
    }

    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        if matches!(self.state, PdhCsvState::New(_)) {
            // Later instances of a machine get no column, because the first line is written by then.
            if self.columns.is_empty() {
                self.columns.learn(sample.machines);
            }
            self.write_head()?;
        }
        let Self { options, columns, state, line, without_column, marked } = self;
        let PdhCsvState::Open { writer, order } = state else { return Ok(()) };
        line.clear();
        line.resize(columns.len(), None);
        for (column, v) in columns.series_of(sample.machines) {
            let Some(number) = options.form.digits(v) else { continue };
            match column.and_then(|column| line.get_mut(column)) {
                // With columns of machines, two paths can request one counter: its value and its mark count once.
                Some(Some(_)) => {}
                Some(cell) => {
                    *cell = Some(number);
                    marked.add_one(v);
                }
                None => *without_column = without_column.saturating_add(1),
            }
        }
        let numbers = order.iter().map(|column| line.get(*column).copied().flatten());
        writer.line(options.zone.from_utc(sample.clocks.utc_100ns()), numbers)?;
        writer.get_mut().end_sample()
    }

    fn finish(&mut self) -> io::Result<()> {
        match &mut self.state {
            PdhCsvState::New(Some(out)) => out.finish(),
            PdhCsvState::New(None) => Ok(()),
            PdhCsvState::Open { writer, .. } => writer.get_mut().finish(),
        }
    }

    fn without_column(&self) -> u64 {
        self.without_column
    }

    fn warnings(&self) -> Vec<String> {
        self.marked.warnings()
    }
}

/// Columns of a text log, one for each series.
#[derive(Debug, Default)]
pub struct PdhCsvColumns {
    /// Name of the machine for values that name no machine.
    host: String,
    names: PathNames,
    grouping: Grouping,
    series: SeriesMap,
    /// Columns of the text log, indexed by the series number from `series`.
    columns: Vec<CsvColumn>,
}

/// Source that series are grouped by: a requested path or a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Grouping {
    /// Requested path: two paths for one counter give two columns, in the order of the paths.
    #[default]
    Path,
    /// Machine: each counter has one column, in the order of appearance.
    Machine,
}

/// Column of a text log, for one series.
#[derive(Debug)]
struct CsvColumn {
    /// Index of the requested path or the machine that the column belongs to.
    source: usize,
    path: String,
    /// `false` while the column stands for a path without any instance so far.
    has_instance: bool,
}

impl PdhCsvColumns {
    /// Creates columns for the values of requested paths, in the order of the paths. A path without instances has a
    /// column, too. `host` is the name of the machine.
    #[must_use]
    pub fn of_paths(host: String, names: PathNames) -> Self {
        Self { host, names, ..Self::default() }
    }

    /// Creates columns for all counters of the machines whose names the samples contain.
    #[must_use]
    pub fn of_machines() -> Self {
        Self { names: PathNames::Own, grouping: Grouping::Machine, ..Self::default() }
    }

    /// Returns the number of series so far, including those without a column.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns `true` if no series is known so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Adds columns for the new series of a sample.
    pub fn learn(&mut self, machines: &[MachineValues<'_>]) {
        let Self { host, names, grouping, series, columns } = self;
        let mut positions = 0_usize..;
        for (machine_index, machine) in machines.iter().enumerate() {
            let name = machine.name.unwrap_or(host);
            for (v, position) in machine.values.iter().zip(&mut positions) {
                let has_instance = v.value.instance_id.is_some();
                let source = grouping.source(machine_index, v);
                if *grouping == Grouping::Machine && !has_instance {
                    continue;
                }
                match columns.get_mut(series.number(position, source, v)) {
                    None => columns.push(CsvColumn { source, path: names.path(v, name), has_instance }),
                    // The instance that the path names has appeared, with its own spelling.
                    Some(column) if has_instance && !column.has_instance => {
                        (column.path, column.has_instance) = (names.path(v, name), true);
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Returns the counter path of each column of the text log, in order.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.ordered().1
    }

    /// Returns the series and the counter path of each column of the text log, in order.
    fn ordered(&self) -> (Vec<usize>, Vec<String>) {
        let order = match self.grouping {
            Grouping::Path => self.by_path(),
            Grouping::Machine => (0..self.columns.len()).collect(),
        };
        let mut distinct = DistinctPaths::default();
        let columns = order.iter().filter_map(|series| self.columns.get(*series));
        let paths =
            columns.map(|column| distinct.distinct(column.source, &column.path).into_owned()).collect();
        (order, paths)
    }

    /// Returns the series that have a column, in the order of the requested paths. The placeholder of a path without
    /// instances counts only if the path has no other series.
    fn by_path(&self) -> Vec<usize> {
        let mut order: Vec<(usize, usize)> =
            self.columns.iter().map(|column| column.source).zip(0..).collect();
        let answered: std::collections::HashSet<usize> =
            self.columns.iter().filter(|column| column.has_instance).map(|column| column.source).collect();
        order.retain(|(source, series)| {
            self.columns.get(*series).is_some_and(|column| column.has_instance) || !answered.contains(source)
        });
        order.sort_unstable();
        order.into_iter().map(|(_, series)| series).collect()
    }

    /// Returns the values of a sample, each with the number of its series if that is known.
    fn series_of<'s, 'a>(
        &'s mut self,
        machines: &'a [MachineValues<'a>],
    ) -> impl Iterator<Item = (Option<usize>, &'a PathValue<'a>)> + use<'s, 'a> {
        let Self { series, grouping, .. } = self;
        let values = machines.iter().enumerate();
        let values = values.flat_map(|(index, machine)| machine.values.iter().map(move |v| (index, v)));
        values.enumerate().map(|(position, (machine, v))| {
            let source = grouping.source(machine, v);
            let column = series.find(position, source, v);
            (column, v)
        })
    }
}

impl Grouping {
    fn source(self, machine: usize, v: &PathValue<'_>) -> usize {
        match self {
            Self::Path => v.path,
            Self::Machine => machine,
        }
    }
}
