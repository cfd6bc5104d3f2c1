//! SVG writer for pictures: text that programs can read and people can edit.

use std::fmt::Write as _;

use crate::font::Font;
use crate::picture::{Anchor, Picture, Position, Shape};
use crate::theme::Colour;

/// Font families of texts in SVG pictures in order of preference, for systems that lack some of them. All are as wide
/// as the font used for the layout.
const FONTS: &str = "Arimo, Arial, 'Liberation Sans', Helvetica, sans-serif";

impl Picture {
    /// Returns the picture as a complete SVG file.
    ///
    /// No text in the picture can be interpreted as markup. XML's special characters are escaped, and characters that
    /// XML does not permit are replaced.
    #[must_use]
    pub fn svg(&self) -> String {
        let Self { width, height, .. } = self;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONTS}\">\n"
        );
        // Writing to a `String` cannot fail, here and below.
        let _ = writeln!(out, "<title>{}</title>", escaped(&self.title));
        let _ =
            writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>", hex(self.background));
        let font = Font::new();
        self.shapes.iter().for_each(|shape| push(&mut out, &font, shape));
        out.push_str("</svg>\n");
        out
    }
}

fn push(out: &mut String, font: &Font, shape: &Shape) {
    let _ = match shape {
        Shape::Line { runs, colour, width, dashes, offset } => {
            let dashes: Vec<_> = dashes.iter().map(|dash| number(*dash)).collect();
            let mut broken = match dashes.is_empty() {
                true => String::new(),
                false => format!(" stroke-dasharray=\"{}\"", dashes.join(" ")),
            };
            if *offset != 0.0 {
                let _ = write!(broken, " stroke-dashoffset=\"{}\"", number(*offset));
            }
            writeln!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{broken}/>",
                path(runs, ""),
                hex(*colour),
                number(*width)
            )
        }
        Shape::Area { runs, colour, opacity } => {
            let opacity = match *opacity < 1.0 {
                true => format!(" fill-opacity=\"{}\"", number(*opacity)),
                false => String::new(),
            };
            writeln!(out, "<path d=\"{}\" fill=\"{}\"{opacity}/>", path(runs, "Z"), hex(*colour))
        }
        Shape::Dots { positions, colour, radius } => {
            for (x, y) in positions {
                let (x, y, r) = (number(*x), number(*y), number(*radius));
                let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{}\"/>", hex(*colour));
            }
            Ok(())
        }
        Shape::Text { position: (x, y), anchor, size, colour, room, text } => {
            let text = font.fitted(text, *size, *room);
            let anchor = match anchor {
                Anchor::Begin => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let (x, y, size) = (number(*x), number(*y), number(*size));
            let (colour, text) = (hex(*colour), escaped(&text));
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"{anchor}>{text}</text>"
            )
        }
    };
}

fn path(runs: &[Vec<Position>], end: &str) -> String {
    let mut out = String::new();
    for run in runs {
        for (place, (x, y)) in run.iter().enumerate() {
            out.push(if place == 0 { 'M' } else { 'L' });
            out.push_str(&number(*x));
            out.push(' ');
            out.push_str(&number(*y));
        }
        out.push_str(end);
    }
    out
}

/// Formats a coordinate of a picture with two decimals; a hundredth of a pixel is invisible.
fn number(number: f64) -> String {
    let mut text = format!("{number:.2}");
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    if text == "-0" { "0".to_owned() } else { text }
}

fn hex(Colour(rgb): Colour) -> String {
    format!("#{rgb:06x}")
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML 1.0 does not permit most control characters.
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        for (text, want) in [
            ("</text><script>alert('x')</script>", "&lt;/text&gt;&lt;script&gt;alert('x')&lt;/script&gt;"),
            ("\" onload=\"x&amp;", "&quot; onload=&quot;x&amp;amp;"),
            ("a\0b\u{1b}[2J\n\u{FFFF}]]>", "a\u{FFFD}b\u{FFFD}[2J\u{FFFD}\u{FFFD}]]&gt;"),
            ("é 中", "é 中"),
        ] {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn places_are_short() {
        for (place, want) in [(0.0, "0"), (-0.001, "0"), (100.0, "100"), (12.345, "12.35"), (12.5, "12.5")] {
            assert_eq!(number(place), want);
        }
    }
}
