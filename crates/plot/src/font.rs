//! The built-in font: widths of texts and outlines of letters.

use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// Font file with the Latin, Greek and Cyrillic letters of Arimo, a font as wide as Arial; `font/OFL.txt` is its
/// licence.
const BYTES: &[u8] = include_bytes!("../font/perfset-sans.ttf");

/// Font used to lay out pictures.
#[derive(Debug)]
pub struct Font {
    face: Option<Face<'static>>,
}

impl Font {
    pub fn new() -> Self {
        // A test checks that the font can be parsed.
        Self { face: Face::parse(BYTES, 0).ok() }
    }

    /// Returns the width of a text, in the unit of `size`.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.advance(c)).sum::<f64>() * size
    }

    /// Returns the width of a letter, as a fraction of the font size.
    fn advance(&self, c: char) -> f64 {
        let advance = self.face.as_ref().and_then(|face| {
            let glyph = face.glyph_index(c).unwrap_or_default();
            Some(f64::from(face.glyph_hor_advance(glyph)?) / f64::from(face.units_per_em()))
        });
        // Used only if the font cannot be parsed, which a test rules out.
        advance.unwrap_or(0.6)
    }

    /// Shortens a text to a maximum width. The middle is omitted, because beginning and end distinguish names.
    pub fn fitted(&self, text: &str, size: f64, width: f64) -> String {
        const DOTS: char = '…';
        // A name from another user may be long: no more letters are visited than fit.
        let fitting = |letters: &mut dyn Iterator<Item = char>, room: f64| -> Vec<char> {
            let mut used = 0.0;
            let fits = letters.take_while(|c| {
                used += self.advance(*c) * size;
                used <= room
            });
            fits.collect()
        };
        let all = fitting(&mut text.chars(), width);
        if text.chars().nth(all.len()).is_none() {
            return text.to_owned();
        }
        let half = (width - self.advance(DOTS) * size) / 2.0;
        let mut end = fitting(&mut text.chars().rev(), half);
        end.reverse();
        fitting(&mut text.chars(), half).into_iter().chain([DOTS]).chain(end).collect()
    }

    /// Returns the outlines of a text that begins at a position on its baseline.
    pub fn outlines(&self, text: &str, size: f64, x: f64, y: f64) -> Option<Path> {
        let face = self.face.as_ref()?;
        let scale = size / f64::from(face.units_per_em());
        let mut outlines = PathBuilder::new();
        let mut at = x;
        for c in text.chars() {
            let glyph = face.glyph_index(c).unwrap_or_default();
            let mut letter = Letter(PathBuilder::new());
            face.outline_glyph(glyph, &mut letter);
            // The font's y axis points up.
            let place = Transform::from_row(small(scale), 0.0, 0.0, small(-scale), small(at), small(y));
            if let Some(path) = letter.0.finish().and_then(|path| path.transform(place)) {
                outlines.push_path(&path);
            }
            at += self.advance(c) * size;
        }
        outlines.finish()
    }
}

/// Converts a coordinate in pixels to `f32`, which is exact enough for a picture of a few thousand pixels.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
pub fn small(place: f64) -> f32 {
    place as f32
}

struct Letter(PathBuilder);

impl OutlineBuilder for Letter {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the widths of letters against those of Arial, in 2,048ths of the font size.
    #[test]
    fn the_font_can_be_read() {
        let font = Font::new();
        for (c, advance) in
            [('A', 1366.0), ('i', 455.0), ('0', 1139.0), (' ', 569.0), ('…', 2048.0), ('−', 1196.0)]
        {
            assert_eq!(font.advance(c) * 2048.0, advance, "{c}");
        }
        for c in ('a'..='z').chain('A'..='Z').chain('0'..='9').chain("äß€°·µжλ".chars()) {
            let face = font.face.as_ref().unwrap();
            assert!(face.glyph_index(c).is_some(), "{c}");
        }
        assert!(font.outlines("A", 12.0, 0.0, 0.0).is_some());
        assert!(font.outlines("中\u{0}", 12.0, 0.0, 0.0).is_some(), "what it does not have is a box");
    }

    #[test]
    fn long_names_lose_their_middle() {
        let font = Font::new();
        assert_eq!(font.fitted("short", 12.0, 100.0), "short");
        let long =
            font.fitted(r"\Process V2(a-very-long-name-of-a-program:4242)\% Processor Time", 12.0, 200.0);
        assert_eq!(long, r"\Process V2(a-ve… Processor Time");
        assert!(font.width(&long, 12.0) <= 200.0);
        assert_eq!(font.fitted("anything", 12.0, 0.0), "…");
        assert!(font.fitted(&"x".repeat(1_000_000), 12.0, 300.0).chars().count() < 60);
    }
}
