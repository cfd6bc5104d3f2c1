//! `perfset plot`: pictures of counters over time.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::ValueEnum;
use perfset::clock::{ClockReading, UNIX_EPOCH_100NS};
use perfset::path::PathValue;
use perfset_plot::{Chart, Label, LineId, Look, Theme};

use crate::args::{LogFiles, LogWindow};
use crate::destination::{Destination, refuse_existing};
use crate::examples;
use crate::exit::{Exit, Failure};
use crate::input::is_dash;
use crate::output::{counter_name, instance_name};
use crate::samples::{How, Operands, Samples, Series};
use crate::text::{escaped, name_of};

/// Draw counter paths over time, as a picture for a report
///
/// Takes samples, 60 of them one second apart unless told otherwise, and draws them; Ctrl+C draws what there is. Of a
/// log it draws all samples. Each unit has a panel of its own; a value that is missing is a gap.
#[derive(Debug, clap::Args)]
#[command(after_long_help = examples::PLOT)]
pub struct PlotArgs {
    /// Counter paths, as in get; then the seconds between two samples, then how many
    #[arg(required = true, value_name = "PATH... [INTERVAL [COUNT]]")]
    pub operands: Vec<String>,
    /// The file to write; its ending, .svg or .png, says the format; - is standard output, as SVG
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// What stands above the picture
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// How wide it is, in pixels
    #[arg(long, value_name = "PIXELS", default_value = "1000")]
    #[arg(value_parser = clap::value_parser!(u32).range(480..=4_096))]
    pub width: u32,
    /// How high it is, in pixels; it grows if its texts take more [default: what it takes]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(100..=4_096))]
    pub height: Option<u32>,
    /// Its colours
    #[arg(long, value_enum, default_value = "light")]
    pub theme: ThemeName,
    /// Each line on top of those before it, as an area; _Total and Idle are left out where there are others
    #[arg(long)]
    pub stack: bool,
    /// Of each counter the N instances that had the most over the whole time; _Total and Idle are left out where there
    /// are others
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Write over a file that exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub files: LogFiles,
    #[command(flatten)]
    pub window: LogWindow,
}

/// The colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeName {
    /// On white, for paper
    Light,
    /// On black, for screens
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

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

impl Format {
    /// By the ending of a file's name.
    fn of_name(file: &Path) -> Option<Self> {
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
    let format = Format::of_name(&args.output).ok_or_else(|| {
        let name = name_of(&args.output);
        Failure::new(
            Exit::Usage,
            anyhow!("\"{name}\" does not say which format: it must end in .svg or .png"),
        )
    })?;
    if !args.force {
        refuse_existing(&args.output)?;
    }
    let mut samples = Samples::open(operands, &args.files, &args.window)?;
    let destination = Destination::new(&args.output);
    destination.check()?;
    if !samples.is_log() && io::stderr().is_terminal() {
        let count = samples.operands().count.unwrap_or(LIVE_COUNT);
        // Nobody is left to tell if this fails.
        let _ = writeln!(io::stderr(), "taking {count} samples; Ctrl+C draws what there is");
    }
    let asked = samples.asked();
    let look = Look {
        title: args.title.as_deref().map(escaped).unwrap_or_default(),
        host: escaped(&asked.host().unwrap_or_else(perfset::own_name)),
        width: args.width,
        height: args.height,
        theme: args.theme.into(),
        is_stack: args.stack,
        top: args.top.map(|top| usize::try_from(top).unwrap_or(usize::MAX)),
        zone: asked.zone(),
    };
    let mut lines = Lines::new(args.width);
    let how = How { live_count: Some(LIVE_COUNT), ..How::default() };
    let done = samples.take(how, &mut |clocks, values| {
        lines.sample(clocks, values);
        Ok(())
    });
    samples.finish();
    done?;
    if lines.chart.samples() == 0 {
        return Err(Failure::new(Exit::NothingMatched, anyhow!("no sample was taken")));
    }
    let picture = lines.chart.draw(&look);
    let failed = |error| Failure::new(Exit::SourceFailed, error);
    let bytes = match format {
        Format::Svg => picture.svg().into_bytes(),
        Format::Png => picture.png().map_err(failed)?,
    };
    let mut writer = destination.writer()?;
    writer.write_all(&bytes)?;
    writer.flush()?;
    drop(writer);
    destination.keep()?;
    if picture.left_out() > 0 {
        // As above.
        let _ = writeln!(
            io::stderr(),
            "warning: {} lines are left out, there are too many; --top N draws fewer",
            picture.left_out()
        );
    }
    Ok(Exit::Ok)
}

/// The chart, and which of its lines a value belongs to.
struct Lines {
    chart: Chart,
    ids: HashMap<Series, Option<LineId>>,
    /// Those of the values of the last sample: most often the next one has the same in the same order.
    places: Vec<(Series, Option<LineId>)>,
}

impl Lines {
    fn new(width: u32) -> Self {
        Self { chart: Chart::new(width), ids: HashMap::new(), places: Vec::new() }
    }

    fn sample(&mut self, clocks: &ClockReading, values: &[PathValue<'_>]) {
        self.chart.sample(clocks.utc_100ns().saturating_sub(UNIX_EPOCH_100NS).div_euclid(10));
        self.places.truncate(values.len());
        for (number, v) in values.iter().enumerate() {
            let id = match self.places.get(number) {
                Some((series, id)) if series.is_of(v) => *id,
                _ => self.find(number, v),
            };
            let Some(id) = id else { continue };
            match &v.value.value {
                Ok(value) => self.chart.value(id, value.nocap()),
                Err(reason) => self.chart.missing(id, || escaped(&reason.to_string())),
            }
        }
    }

    /// The line that a value belongs to, which from now on is at this place; none if there are too many.
    fn find(&mut self, number: usize, v: &PathValue<'_>) -> Option<LineId> {
        let Self { chart, ids, places } = self;
        let series = Series::of(v);
        let id = *ids.entry(series.clone()).or_insert_with(|| {
            chart.line(&Label {
                asked: v.path,
                counterset: &escaped(&v.value.counterset.name),
                counter: &counter_name(v),
                instance: &instance_name(v),
                unit: &v.value.counter.unit,
                is_sum: v.sums_up(),
            })
        });
        match places.get_mut(number) {
            Some(place) => *place = (series, id),
            None => places.push((series, id)),
        }
        id
    }
}
