//! A picture: a list of shapes, which the writers of SVG and PNG draw one after the other.

use crate::theme::Colour;

/// A place in pixels, from the left and from the top.
pub type Place = (f64, f64);

/// A picture, to be written as SVG or PNG.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// What it is called, for who cannot see it.
    pub(crate) title: String,
    pub(crate) background: Colour,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) left_out: usize,
}

/// The picture needs more memory as pixels than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a picture of {width} x {height} pixels is too large")]
pub struct TooLarge {
    /// How wide it is.
    pub width: u32,
    /// How high it is.
    pub height: u32,
}

impl Picture {
    /// How many lines are not in it, because they were too many.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Straight lines through these places, each list by itself.
    Line { runs: Vec<Vec<Place>>, colour: Colour, width: f64, dashes: &'static [f64] },
    /// What these places are around, each list by itself.
    Area { runs: Vec<Vec<Place>>, colour: Colour, opacity: f64 },
    /// Dots at these places.
    Dots { places: Vec<Place>, colour: Colour, radius: f64 },
    /// A line of text, on the line it stands on.
    Text { at: Place, anchor: Anchor, size: f64, colour: Colour, text: String },
}

/// Where the place of a text is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Begin,
    Middle,
    End,
}
