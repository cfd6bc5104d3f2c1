//! Picture as a list of shapes, which the SVG and PNG writers draw in order.

use crate::theme::Colour;

/// Position in pixels, from the left and from the top.
pub type Position = (f64, f64);

/// Picture of a chart, which can be written as SVG or PNG.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Title of the picture for people who cannot see it.
    pub(crate) title: String,
    pub(crate) background: Colour,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) left_out: usize,
}

/// Error for a picture whose pixels need more memory than is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a picture of {width} x {height} pixels is too large")]
pub struct PictureTooLarge {
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
}

impl Picture {
    /// Returns the number of lines that the picture omits because there are too many.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// Width of a drawn line in pixels.
pub const STROKE: f64 = 1.5;

/// Shape of which a picture consists.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Straight lines through these positions, each list separately. If `dashes` is not empty, it contains lengths of
    /// dashes and spaces in turn, and each list begins at `offset` in this pattern.
    Line { runs: Vec<Vec<Position>>, colour: Colour, width: f64, dashes: Vec<f64>, offset: f64 },
    /// Filled polygons with these corners, each list separately.
    Area { runs: Vec<Vec<Position>>, colour: Colour, opacity: f64 },
    /// Filled circles with centres at these positions.
    Dots { positions: Vec<Position>, colour: Colour, radius: f64 },
    /// A line of text whose position is on its baseline. A text wider than `room` loses its middle.
    Text { position: Position, anchor: Anchor, size: f64, colour: Colour, room: f64, text: String },
}

/// Alignment of a text in a picture: the point of the text that is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Begin,
    Middle,
    End,
}
