//! PNG writer for pictures.

use std::path::PathBuf;

use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use crate::font::{Font, small};
use crate::glyphs::find;
use crate::picture::{Anchor, Picture, PictureTooLarge, Position, Shape};
use crate::theme::Colour;

/// Picture as a PNG file, and the texts in it that could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Png {
    /// Contents of the PNG file.
    pub bytes: Vec<u8>,
    /// Texts of the picture with letters that are drawn as code points, because no font has them.
    pub undrawn: Vec<String>,
}

impl Picture {
    /// Returns the picture as a complete PNG file, drawn with the built-in font. Letters that it lacks are drawn as
    /// code points, such as `U+4E2D`.
    ///
    /// # Errors
    /// If the picture has more pixels than memory can hold.
    pub fn png(&self) -> Result<Vec<u8>, PictureTooLarge> {
        Ok(self.png_with_fonts(&[])?.bytes)
    }

    /// Returns the picture as a complete PNG file. Letters that the built-in font lacks are taken from the fonts in
    /// these directories, which are searched only if there are such letters.
    ///
    /// Each letter is drawn by itself, from left to right. Scripts that are written from right to left, that join their
    /// letters, or that put marks on them, need a viewer of SVG.
    ///
    /// # Errors
    /// If the picture has more pixels than memory can hold.
    pub fn png_with_fonts(&self, directories: &[PathBuf]) -> Result<Png, PictureTooLarge> {
        /// Maximum number of letters of a text that are drawn: no text of a picture has space for more.
        const LETTERS: usize = 4_096;
        let too_large = PictureTooLarge { width: self.width, height: self.height };
        let mut pixels = Pixmap::new(self.width, self.height).ok_or(too_large)?;
        pixels.fill(colour(self.background, 1.0));
        let font = Font::new();
        let text = |shape: &Shape| match shape {
            Shape::Text { text, size, room, .. } => Some(font.fitted(text, *size, *room)),
            _ => None,
        };
        let texts: Vec<String> = self.shapes.iter().filter_map(text).collect();
        let letters = texts.iter().flat_map(|text| text.chars().take(LETTERS)).filter(|c| !font.has(*c));
        let font = Font::with_glyphs(find(letters.collect(), directories));
        let mut undrawn = Vec::new();
        for shape in &self.shapes {
            undrawn.extend(draw(&mut pixels, &font, shape));
        }
        let bytes = pixels.encode_png().map_err(|_| too_large)?;
        Ok(Png { bytes, undrawn })
    }
}

/// Draws a shape of a picture as pixels. Returns its text if that has letters that are drawn as code points.
fn draw(pixels: &mut Pixmap, font: &Font, shape: &Shape) -> Option<String> {
    let as_it_is = Transform::identity();
    let mut fill = |path: Option<Path>, of: Colour, opacity| {
        if let Some(path) = path {
            // `Winding` is the default of SVG, so both files show the same areas.
            pixels.fill_path(&path, &paint(of, opacity), FillRule::Winding, as_it_is, None);
        }
    };
    match shape {
        Shape::Line { runs, colour, width, dashes, offset } => {
            let stroke = Stroke {
                width: small(*width),
                line_join: LineJoin::Round,
                dash: StrokeDash::new(dashes.iter().map(|dash| small(*dash)).collect(), small(*offset)),
                ..Stroke::default()
            };
            if let Some(path) = path(runs, false) {
                pixels.stroke_path(&path, &paint(*colour, 1.0), &stroke, as_it_is, None);
            }
        }
        Shape::Area { runs, colour, opacity } => fill(path(runs, true), *colour, *opacity),
        Shape::Dots { positions, colour, radius } => {
            let mut dots = PathBuilder::new();
            positions.iter().for_each(|(x, y)| dots.push_circle(small(*x), small(*y), small(*radius)));
            fill(dots.finish(), *colour, 1.0);
        }
        Shape::Text { position: (x, y), anchor, size, colour, room, text } => {
            let text = font.fitted(text, *size, *room);
            let begin = match anchor {
                Anchor::Begin => *x,
                Anchor::Middle => x - font.width(&text, *size) / 2.0,
                Anchor::End => x - font.width(&text, *size),
            };
            fill(font.outlines(&text, *size, begin, *y), *colour, 1.0);
            return text.contains(|c| font.is_code_point(c)).then_some(text);
        }
    }
    None
}

fn path(runs: &[Vec<Position>], is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for run in runs {
        for (place, (x, y)) in run.iter().enumerate() {
            match place {
                0 => path.move_to(small(*x), small(*y)),
                _ => path.line_to(small(*x), small(*y)),
            }
        }
        if is_closed {
            path.close();
        }
    }
    path.finish()
}

fn paint(of: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(colour(of, opacity));
    paint
}

fn colour(Colour(rgb): Colour, opacity: f64) -> Color {
    let [_, red, green, blue] = rgb.to_be_bytes();
    let mut colour = Color::from_rgba8(red, green, blue, u8::MAX);
    colour.set_alpha(small(opacity));
    colour
}
