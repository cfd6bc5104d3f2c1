//! Options that determine the appearance of a picture.

use jiff::tz::TimeZone;

use crate::amount::{Amount, Threshold};
use crate::axis::ValueScale;
use crate::theme::Theme;

/// Options that determine the appearance of a picture.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    /// Title above the picture.
    pub title: String,
    /// Name of the recorded host, shown below the title, before the times.
    pub host: String,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height in pixels; the picture becomes higher if its texts need more. If `None`, panels and texts determine the
    /// height.
    pub height: Option<u32>,
    /// Colour theme of the picture.
    pub theme: Theme,
    /// `true` if each line is stacked on the lines before it, as an area.
    pub is_stack: bool,
    /// Maximum number of lines of each counter: those with the largest sums over the whole time.
    pub top: Option<usize>,
    /// Scale of the value axes. Stacked lines have a linear one, because heights on a logarithmic axis are no sums.
    pub scale: ValueScale,
    /// Lower ends of value axes. Values below are clipped, and bars mark the times.
    pub min: Vec<Amount>,
    /// Upper ends of value axes. Values above are clipped, and bars mark the times.
    pub max: Vec<Amount>,
    /// Labelled lines at values, drawn across panels. Their axes include them, unless `min` and `max` exclude them.
    pub thresholds: Vec<Threshold>,
    /// Time zone of the times that the picture shows.
    pub zone: TimeZone,
}

impl PictureOptions {
    /// Returns the scale of the value axes.
    pub(crate) fn value_scale(&self) -> ValueScale {
        if self.is_stack { ValueScale::Linear } else { self.scale }
    }
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self {
            title: String::new(),
            host: String::new(),
            width: 1_000,
            height: None,
            theme: Theme::default(),
            is_stack: false,
            top: None,
            scale: ValueScale::default(),
            min: Vec::new(),
            max: Vec::new(),
            thresholds: Vec::new(),
            zone: TimeZone::UTC,
        }
    }
}
