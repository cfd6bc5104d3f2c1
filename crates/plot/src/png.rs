//! PNG writer for pictures.

use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use crate::font::{Font, small};
use crate::picture::{Anchor, Picture, PictureTooLarge, Position, Shape};
use crate::theme::Colour;

impl Picture {
    /// Returns the picture as a complete PNG file.
    ///
    /// # Errors
    /// If the picture has more pixels than memory can hold.
    pub fn png(&self) -> Result<Vec<u8>, PictureTooLarge> {
        let too_large = PictureTooLarge { width: self.width, height: self.height };
        let mut pixels = Pixmap::new(self.width, self.height).ok_or(too_large)?;
        pixels.fill(colour(self.background, 1.0));
        let font = Font::new();
        for shape in &self.shapes {
            draw(&mut pixels, &font, shape);
        }
        pixels.encode_png().map_err(|_| too_large)
    }
}

fn draw(pixels: &mut Pixmap, font: &Font, shape: &Shape) {
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
        Shape::Text { position: (x, y), anchor, size, colour, text } => {
            let begin = match anchor {
                Anchor::Begin => *x,
                Anchor::Middle => x - font.width(text, *size) / 2.0,
                Anchor::End => x - font.width(text, *size),
            };
            fill(font.outlines(text, *size, begin, *y), *colour, 1.0);
        }
    }
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
