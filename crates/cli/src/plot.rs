//! `perfset plot`: draws counters over time.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::ValueEnum;
use perfset::clock::UNIX_EPOCH_100NS;
use perfset::output::series::SeriesMap;
use perfset::output::text::{escaped, name_of};
use perfset::output::{
    MachineValues, MarkedValues, NeverThere, Output, OutputSample, counter_name, first_sentences,
    instance_name,
};
use perfset::path::CounterPath;
use perfset_plot::{Chart, Label, LineId, Picture, PictureOptions, Theme};

use crate::args::{LogFiles, LogWindow};
use crate::destination::{Destination, refuse_existing};
use crate::examples;
use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::printer::warn;
use crate::samples::{Operands, Samples, SamplingOptions};

/// Draw counter paths over time, as a picture for a report
///
/// Takes samples, by default 60 of them one second apart, and draws them. Ctrl+C draws those taken so far. Of a log,
/// all samples are drawn. Each unit has its own panel; a missing value is a gap.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::PLOT)]
pub struct PlotArgs {
    /// Counter paths, then the interval in seconds, then the number of samples
    #[arg(required = true, value_name = "PATH... [INTERVAL [COUNT]]")]
    pub operands: Vec<String>,
    /// File to write; the ending .svg or .png selects the format
    ///
    /// The name - is standard output, as SVG.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Output format, whatever the ending of the file
    #[arg(long, value_enum)]
    pub format: Option<PictureFormat>,
    /// Title above the picture
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Width in pixels
    #[arg(long, value_name = "PIXELS", default_value = "1000")]
    #[arg(value_parser = clap::value_parser!(u32).range(480..=4_096))]
    pub width: u32,
    /// Minimum height in pixels; texts can increase it [default: as needed]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(100..=4_096))]
    pub height: Option<u32>,
    /// Colours of the picture
    #[arg(long, value_enum, default_value = "light")]
    pub theme: ThemeName,
    /// Draw lines as areas, each on top of those before it
    ///
    /// _Total and Idle are left out if there are other instances.
    #[arg(long)]
    pub stack: bool,
    /// Draw only the N instances of each counter with the most over the whole time
    ///
    /// _Total and Idle are left out if there are other instances.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub files: LogFiles,
    #[command(flatten)]
    pub window: LogWindow,
}

/// Colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeName {
    /// White background, for paper
    Light,
    /// Black background, for screens
    Dark,
}

impl From<ThemeName> for Theme {
    fn from(name: ThemeName) -> Self {
        match name {
            ThemeName::Light => Self::Light,
            ThemeName::Dark => Self::Dark,
        }
    }
}

/// File format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PictureFormat {
    /// Vector graphics, sharp at any size
    Svg,
    /// Pixel graphics
    Png,
}

impl PictureFormat {
    /// Returns the format that matches the ending of a file name.
    fn from_extension(file: &Path) -> Option<Self> {
        if is_dash(file) {
            return Some(Self::Svg);
        }
        match file.extension()?.to_str()?.to_lowercase().as_str() {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

pub fn run(args: &PlotArgs) -> Result<Exit, Failure> {
    const LIVE_COUNT: u64 = 60;
    let operands = Operands::parse(&args.operands)?;
    let format = args.format.or_else(|| PictureFormat::from_extension(&args.output)).ok_or_else(|| {
        let name = name_of(&args.output);
        Failure::new(
            Exit::Usage,
            anyhow!("\"{name}\" has no known ending: use .svg or .png, or give --format"),
        )
    })?;
    if !args.force {
        refuse_existing(&args.output)?;
    }
    let mut samples = Samples::open(operands, &args.files, &args.window)?;
    let destination = Destination::new(&args.output)?;
    // A minute of samples must not be lost because the file cannot be written.
    destination.check()?;
    if !samples.is_log() && io::stderr().is_terminal() {
        let count = samples.operands().count.unwrap_or(LIVE_COUNT);
        // Standard error is the last place to report to, so a failure of it is ignored.
        let _ = writeln!(io::stderr(), "taking {count} samples; Ctrl+C draws those taken so far");
    }
    let asked = samples.query_source();
    let look = PictureOptions {
        title: args.title.as_deref().map(escaped).unwrap_or_default(),
        host: escaped(&asked.host().unwrap_or_else(perfset::own_name)),
        width: args.width,
        height: args.height,
        theme: args.theme.into(),
        is_stack: args.stack,
        top: args.top.map(|top| usize::try_from(top).unwrap_or(usize::MAX)),
        zone: asked.zone(),
    };
    let drawn = draw(&mut samples, LIVE_COUNT, &look);
    let exit = samples.finish();
    let Drawn { picture, warnings } =
        drawn.map_err(|failure| if exit == Exit::Ok { failure } else { Failure { exit, ..failure } })?;
    let failed = |error| Failure::new(Exit::SourceFailed, error);
    let bytes = match format {
        PictureFormat::Svg => picture.svg().into_bytes(),
        PictureFormat::Png => picture.png().map_err(failed)?,
    };
    // Opened only now, because the handler of the writer would take Ctrl+C from the sampling.
    let mut writer = destination.writer()?;
    writer.write_all(&bytes)?;
    writer.flush()?;
    drop(writer);
    destination.keep()?;
    if picture.left_out() > 0 {
        // Standard error is the last place to report to, so a failure of it is ignored.
        let _ = writeln!(
            io::stderr(),
            "warning: {} lines are left out, because there are too many; --top N draws fewer",
            picture.left_out()
        );
    }
    warn(&warnings);
    Ok(exit)
}

/// Picture of all samples.
#[derive(Debug)]
pub struct Drawn {
    pub picture: Picture,
    /// Sentences about values that the picture does not show, or shows without their marks.
    pub warnings: Vec<String>,
}

/// Draws samples: `live_count` of a machine, unless the operands contain a count.
pub fn draw(samples: &mut Samples, live_count: u64, look: &PictureOptions) -> Result<Drawn, Failure> {
    let mut lines = ChartLines::new(look.width, &samples.operands().paths);
    let how = SamplingOptions { live_count: Some(live_count), ..SamplingOptions::default() };
    samples.take(how, &mut |clocks, values| {
        lines.sample(&OutputSample::new(clocks, &[MachineValues::new(values)]))
    })?;
    if lines.chart.samples() == 0 {
        return Err(Failure::new(Exit::NothingMatched, anyhow!("no sample was taken")));
    }
    Ok(Drawn { warnings: lines.warnings(), picture: lines.chart.draw(look) })
}

/// Chart, and its line for each series.
struct ChartLines {
    chart: Chart,
    paths: Vec<CounterPath>,
    series: SeriesMap,
    /// Line of each series, indexed by its number; `None` for a series beyond the maximum number of lines.
    ids: Vec<Option<LineId>>,
    /// Series that never had a value.
    never_there: NeverThere,
    /// Marked values: a line cannot show marks.
    marked: MarkedValues,
}

impl ChartLines {
    fn new(width: u32, paths: &[CounterPath]) -> Self {
        let (series, ids, never_there, marked) = Default::default();
        Self { chart: Chart::new(width), paths: paths.to_vec(), series, ids, never_there, marked }
    }
}

impl Output for ChartLines {
    fn sample(&mut self, sample: &OutputSample<'_>) -> io::Result<()> {
        let Self { chart, paths, series, ids, never_there, marked } = self;
        marked.add(sample.values());
        // Counters that no machine of this system has are no news.
        never_there.add(sample.values().filter(|v| !v.value.counter.is_never_there()), paths);
        chart.sample(sample.clocks.utc_100ns().saturating_sub(UNIX_EPOCH_100NS).div_euclid(10));
        for (position, v) in sample.values().enumerate() {
            let number = series.number(position, v.path, v);
            if number == ids.len() {
                ids.push(chart.line(&Label {
                    request: v.path,
                    counterset: &escaped(&v.value.counterset.name),
                    counter: &counter_name(v),
                    instance: &instance_name(v),
                    unit: &v.value.counter.unit,
                    is_sum: v.sums_up(),
                }));
            }
            let Some(id) = ids.get(number).copied().flatten() else { continue };
            match &v.value.value {
                Ok(value) => chart.value(id, value.nocap()),
                Err(reason) => chart.missing(id, || escaped(&reason.to_string())),
            }
        }
        Ok(())
    }

    fn warnings(&self) -> Vec<String> {
        let missing = first_sentences(self.never_there.sentences_beside_values(), "are missing");
        missing.into_iter().chain(self.marked.warnings()).collect()
    }
}
