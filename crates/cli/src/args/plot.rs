//! Options of `perfset plot`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use perfset_plot::{Amount, Threshold};

use super::{LogFiles, LogWindow};
use crate::examples;
use crate::input::is_dash;

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
    /// The name - is standard output, as SVG. A PNG has letters of the system's fonts, unshaped; those that no font has
    /// are code points such as U+4E2D.
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
    /// Scale of the value axes; zero and negative values have no place on a logarithmic one
    ///
    /// For values of very different sizes. Lines have gaps at zero and negative values, and the picture names these
    /// lines. Areas of --stack have a linear scale only.
    #[arg(long, value_enum, default_value = "linear")]
    pub scale: ScaleName,
    /// Lower end of the value axis, such as 20% or 1MiB/s [default: 0, or the least value]
    ///
    /// The unit selects the panel; with a single panel, none is needed. May be given once for each panel. Values below
    /// are clipped: bars at the edge mark their times.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub min: Vec<Amount>,
    /// Upper end of the value axis, such as 100% or 2GiB [default: the greatest value]
    ///
    /// The unit selects the panel; with a single panel, none is needed. May be given once for each panel. Values above
    /// are clipped: bars at the edge mark their times.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub max: Vec<Amount>,
    /// Draw a line at a value, with its name: 80%, limit=2GiB
    ///
    /// The unit selects the panel; with a single panel, none is needed. The axis includes the value, unless --min or
    /// --max excludes it. May be given several times.
    #[arg(long, value_name = "[NAME=]VALUE", allow_hyphen_values = true)]
    pub threshold: Vec<Threshold>,
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

/// Scale of the value axes of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleName {
    /// Equal distances are equal differences; the axis includes 0
    Linear,
    /// Equal distances are equal ratios: powers of ten or, for bytes, of two
    Log,
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
    pub fn from_extension(file: &Path) -> Option<Self> {
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
