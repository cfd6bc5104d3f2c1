//! The built-in font: widths of texts and outlines of letters.

use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, OutlineBuilder};

use crate::glyphs::{Glyph, Glyphs};

/// Font file with the Latin, Greek and Cyrillic letters of Arimo, a font as wide as Arial; `font/OFL.txt` is its
/// licence.
const BYTES: &[u8] = include_bytes!("../font/perfset-sans.ttf");

/// Font of the texts in pictures.
#[derive(Debug)]
pub struct Font {
    face: Option<Face<'static>>,
    /// Outlines of letters that the built-in font lacks; `None` if the viewer of a picture draws the texts with fonts
    /// of its own.
    others: Option<Glyphs>,
}

/// Blank at each side of the code point that replaces a letter, in units of the font size.
const BLANK: f64 = 0.12;

impl Font {
    /// Returns the font for pictures whose viewer replaces it by similar fonts, which have all letters.
    pub fn new() -> Self {
        // A test checks that the font can be parsed.
        Self { face: Face::parse(BYTES, 0).ok(), others: None }
    }

    /// Returns the font for pixels, with outlines of the letters that the built-in font lacks. A letter without an
    /// outline is drawn as its code point.
    pub fn with_glyphs(others: Glyphs) -> Self {
        Self { others: Some(others), ..Self::new() }
    }

    /// Returns `true` if the built-in font has an outline for a letter.
    pub fn has(&self, c: char) -> bool {
        self.face.as_ref().is_some_and(|face| face.glyph_index(c).is_some())
    }

    /// Returns `true` if the picture shows the code point of a letter in its place.
    pub fn is_code_point(&self, c: char) -> bool {
        !self.has(c) && self.others.as_ref().is_some_and(|others| !others.contains_key(&c))
    }

    /// Returns the width of a text in a picture's font, in the unit of `size`.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.advance(c)).sum::<f64>() * size
    }

    /// Returns the width of a letter in a picture's font, as a fraction of the font size.
    fn advance(&self, c: char) -> f64 {
        if self.has(c) {
            return self.own_advance(c);
        }
        match &self.others {
            Some(others) => match others.get(&c) {
                Some(glyph) => glyph.advance,
                None => code_point(c).chars().map(|c| self.own_advance(c)).sum::<f64>() + 2.0 * BLANK,
            },
            // East Asian letters are as wide as high in every font; most of the others are about as wide as Latin ones.
            None if c >= '\u{1100}' => 1.0,
            None => 0.6,
        }
    }

    /// Returns the width of a letter of the built-in font, as a fraction of the font size.
    fn own_advance(&self, c: char) -> f64 {
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
        let mut outlines = PathBuilder::new();
        let mut at = x;
        for c in text.chars() {
            match self.others.as_ref().and_then(|others| others.get(&c)) {
                _ if self.has(c) => self.push_own(&mut outlines, c, size, (at, y)),
                Some(Glyph { outline, .. }) => push(&mut outlines, outline.clone(), size, (at, y)),
                None => {
                    let mut at = at + BLANK * size;
                    for c in code_point(c).chars() {
                        self.push_own(&mut outlines, c, size, (at, y));
                        at += self.own_advance(c) * size;
                    }
                }
            }
            at += self.advance(c) * size;
        }
        outlines.finish()
    }

    /// Adds the outline of a letter of the built-in font to a text's outlines.
    fn push_own(&self, outlines: &mut PathBuilder, c: char, size: f64, at: (f64, f64)) {
        let Some(face) = &self.face else { return };
        let mut pen = Pen::default();
        face.outline_glyph(face.glyph_index(c).unwrap_or_default(), &mut pen);
        push(outlines, pen.finish(), size / f64::from(face.units_per_em()), at);
    }
}

/// Adds the outline of a letter to a text's outlines, at a position on the baseline.
fn push(outlines: &mut PathBuilder, outline: Option<Path>, scale: f64, (x, y): (f64, f64)) {
    // The font's y axis points up.
    let place = Transform::from_row(small(scale), 0.0, 0.0, small(-scale), small(x), small(y));
    if let Some(path) = outline.and_then(|path| path.transform(place)) {
        outlines.push_path(&path);
    }
}

/// Returns the code point of a letter in the usual notation: `U+4E2D`.
pub fn code_point(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

/// Converts a coordinate in pixels to `f32`, which is exact enough for a picture of a few thousand pixels.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
pub fn small(place: f64) -> f32 {
    place as f32
}

/// Receiver of the outline of a letter, up to a maximum number of segments.
#[derive(Default)]
pub struct Pen {
    path: PathBuilder,
    segments: usize,
}

impl Pen {
    /// Maximum number of segments in the outline of a letter. The most complex letters of real fonts have a few
    /// thousand.
    const SEGMENTS: usize = 20_000;

    /// Returns the received outline of the letter; `None` if it is empty or has too many segments.
    pub fn finish(self) -> Option<Path> {
        if self.segments > Self::SEGMENTS { None } else { self.path.finish() }
    }

    /// Counts a segment of the outline, and returns the path to which it is added unless there are too many.
    fn next(&mut self) -> Option<&mut PathBuilder> {
        self.segments = self.segments.saturating_add(1);
        (self.segments <= Self::SEGMENTS).then_some(&mut self.path)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.next().into_iter().for_each(|path| path.move_to(x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.next().into_iter().for_each(|path| path.line_to(x, y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.next().into_iter().for_each(|path| path.quad_to(x1, y1, x, y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.next().into_iter().for_each(|path| path.cubic_to(x1, y1, x2, y2, x, y));
    }

    fn close(&mut self) {
        self.path.close();
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
        let font = Font::with_glyphs(Glyphs::new());
        let places = |text: &str| font.outlines(text, 12.0, 0.0, 0.0).unwrap().len();
        assert_eq!(places("中"), places("U+4E2D"), "what it does not have is a code point");
        assert!(font.width("中", 12.0) > font.width("U+4E2D", 12.0));
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
