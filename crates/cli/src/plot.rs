//! `perfset plot`: draws counters over time.

use std::io::{self, IsTerminal, Write};

use anyhow::anyhow;
use perfset::catalogue::value_range;
use perfset::clock::UNIX_EPOCH_100NS;
use perfset::output::series::SeriesMap;
use perfset::output::text::{escaped, name_of};
use perfset::output::{
    MachineValues, MarkedValues, NeverThere, Output, OutputSample, counter_name, first_sentences,
    instance_name,
};
use perfset::path::CounterPath;
use perfset_plot::{
    AmountError, Chart, Label, LineId, Picture, PictureOptions, Png, Theme, Threshold, ValueScale,
    font_directories,
};

use crate::args::{PictureFormat, PlotArgs, ScaleName, ThemeName};
use crate::destination::{Destination, refuse_existing};
use crate::exit::{Exit, Failure};
use crate::operands::Operands;
use crate::printer::warn;
use crate::samples::{Samples, SamplingOptions};

impl From<ThemeName> for Theme {
    fn from(name: ThemeName) -> Self {
        match name {
            ThemeName::Light => Self::Light,
            ThemeName::Dark => Self::Dark,
        }
    }
}

impl From<ScaleName> for ValueScale {
    fn from(name: ScaleName) -> Self {
        match name {
            ScaleName::Linear => Self::Linear,
            ScaleName::Log => Self::Log,
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
    if args.stack && args.scale == ScaleName::Log {
        let why = "--stack needs a linear scale: heights on a logarithmic one do not add up; omit --stack or --scale";
        return Err(Failure::new(Exit::Usage, anyhow!(why)));
    }
    if !args.force {
        refuse_existing(&args.output)?;
    }
    let mut samples = Samples::open_named(operands, &args.files, &args.window, false, false)?;
    // A picture would not show that something is missing.
    if let Some(failure) = samples.absent().into_iter().next() {
        return Err(failure);
    }
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
        scale: args.scale.into(),
        min: args.min.clone(),
        max: args.max.clone(),
        thresholds: args.threshold.iter().map(visible).collect(),
        top: args.top.map(|top| usize::try_from(top).unwrap_or(usize::MAX)),
        zone: asked.zone(),
    };
    let drawn = draw(&mut samples, LIVE_COUNT, &look);
    let exit = samples.finish();
    let Drawn { picture, warnings } =
        drawn.map_err(|failure| if exit == Exit::Ok { failure } else { Failure { exit, ..failure } })?;
    let failed = |error| Failure::new(Exit::SourceFailed, error);
    let Png { bytes, undrawn } = match format {
        PictureFormat::Svg => Png { bytes: picture.svg().into_bytes(), undrawn: Vec::new() },
        PictureFormat::Png => picture.png_with_fonts(&font_directories()).map_err(failed)?,
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
    warn(&undrawn_warning(undrawn).into_iter().collect::<Vec<_>>());
    Ok(exit)
}

/// Returns a warning for texts of a picture that have letters which no font contains.
fn undrawn_warning(mut texts: Vec<String>) -> Option<String> {
    /// Maximum number of texts that the warning names: more would hide other messages.
    const SHOWN: usize = 5;
    texts.sort();
    texts.dedup();
    let more = match texts.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    texts.truncate(SHOWN);
    let names: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "no font of this system has all letters of {}{more}; the picture has their code points; install a font for \
             them, or write .svg",
            names.join(", ")
        )
    })
}

/// Returns a copy of a picture's threshold with an escaped name, because a name can control a terminal or hide a
/// text.
fn visible(threshold: &Threshold) -> Threshold {
    Threshold { name: escaped(&threshold.name), ..threshold.clone() }
}

/// Result of drawing a command's samples: the picture of all samples, with warnings.
#[derive(Debug)]
pub struct Drawn {
    pub picture: Picture,
    /// Sentences about values that the picture does not show, or shows without their marks.
    pub warnings: Vec<String>,
}

/// Takes the samples of a command, `live_count` of a machine unless the operands contain a count, and draws their
/// picture.
pub fn draw(samples: &mut Samples, live_count: u64, look: &PictureOptions) -> Result<Drawn, Failure> {
    let mut lines = ChartLines::new(look.width, &samples.operands().paths);
    let how = SamplingOptions { live_count: Some(live_count), ..SamplingOptions::default() };
    let mut mistake: Option<AmountError> = None;
    let taken = samples.take(how, &mut |clocks, values| {
        lines.sample(&OutputSample::new(clocks, &[MachineValues::new(values)]))?;
        if lines.chart.samples() > 1 {
            return Ok(());
        }
        // Now, not after a minute of samples.
        lines.chart.check_early(look).map_err(|error| {
            mistake = Some(error.clone());
            io::Error::other(error)
        })
    });
    let wrong = |error| Failure::escaped(Exit::Usage, error);
    match mistake {
        Some(error) => return Err(wrong(error)),
        None => taken?,
    }
    if lines.chart.samples() == 0 {
        return Err(Failure::new(Exit::NothingMatched, anyhow!("no sample was taken")));
    }
    lines.chart.check(look).map_err(wrong)?;
    Ok(Drawn { warnings: lines.warnings(), picture: lines.chart.draw(look) })
}

/// Chart of a picture, and the chart's line for each series.
struct ChartLines {
    chart: Chart,
    paths: Vec<CounterPath>,
    series: SeriesMap,
    /// Line of each series in the chart, indexed by the series' number; `None` beyond the maximum number of lines.
    ids: Vec<Option<LineId>>,
    /// Series of the chart that never had a value.
    never_there: NeverThere,
    /// Values of the chart with marks, which are reported because a line cannot show marks.
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
                    range: value_range(v.value.counterset.guid, v.value.counter.id).keyword(),
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
