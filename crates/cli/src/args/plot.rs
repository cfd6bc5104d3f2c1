//! Options of `perfset plot`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

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
