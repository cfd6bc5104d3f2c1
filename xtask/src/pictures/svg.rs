//! Pictures of a terminal's screens as SVG, from text with SGR sequences, as `tmux capture-pane -e` prints it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Width and height of a character cell in an SVG picture, in pixels; the next constant is the space around the
/// screen.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 12.0;

/// Colour of text in an SVG picture that no sequence changes; the next constant is that of the background.
const TEXT: &str = "#d8dee9";
const GROUND: &str = "#1c2028";

/// The eight colours of a terminal, and their bright forms.
const COLOURS: [&str; 16] = [
    "#3b4252", "#e5676f", "#8fc27a", "#e6c06b", "#6fa8e8", "#c58ad8", "#5fc4cf", "#d8dee9", "#6b7689",
    "#f08a91", "#abd699", "#f0d590", "#94c1f3", "#d9a9e8", "#8adbe4", "#ffffff",
];

/// Style of a piece of a terminal's text.
#[derive(Clone, Default, PartialEq)]
struct Style {
    bold: bool,
    dim: bool,
    reverse: bool,
    text: Option<String>,
    ground: Option<String>,
}

impl Style {
    /// Applies the parameters of one SGR sequence to the style. Unknown parameters have no effect.
    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters.split([';', ':']).map(|number| number.parse().unwrap_or(0_usize));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                7 => self.reverse = true,
                22 => (self.bold, self.dim) = (false, false),
                27 => self.reverse = false,
                30..=37 => self.text = Some(palette(number - 30)),
                90..=97 => self.text = Some(palette(number - 82)),
                40..=47 => self.ground = Some(palette(number - 40)),
                100..=107 => self.ground = Some(palette(number - 92)),
                39 => self.text = None,
                49 => self.ground = None,
                38 => self.text = extended(&mut numbers),
                48 => self.ground = extended(&mut numbers),
                _ => {}
            }
        }
    }

    /// Returns the colours of text and background of the style.
    fn colours(&self) -> (String, String) {
        let text = self.text.clone().unwrap_or_else(|| TEXT.to_owned());
        let ground = self.ground.clone().unwrap_or_else(|| GROUND.to_owned());
        if self.reverse { (ground, text) } else { (text, ground) }
    }
}

/// Returns a colour of the terminal's palette of 256: 16 named ones, a cube of six levels, 24 greys.
fn palette(number: usize) -> String {
    let level = |step: usize| if step == 0 { 0 } else { 55 + 40 * step };
    match number {
        0..16 => COLOURS[number].to_owned(),
        16..232 => {
            let (red, green, blue) = ((number - 16) / 36, (number - 16) / 6 % 6, (number - 16) % 6);
            format!("#{:02x}{:02x}{:02x}", level(red), level(green), level(blue))
        }
        _ => {
            let grey = 8 + 10 * (number.min(255) - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

/// Returns the colour of an extended SGR sequence `5;N` or `2;R;G;B`.
fn extended(numbers: &mut impl Iterator<Item = usize>) -> Option<String> {
    match numbers.next()? {
        5 => Some(palette(numbers.next()?)),
        2 => {
            let mut part = || numbers.next().map(|part| part.min(255));
            Some(format!("#{:02x}{:02x}{:02x}", part()?, part()?, part()?))
        }
        _ => None,
    }
}

/// Splits a line of terminal text into pieces of one style, each with its first column. The style lasts into the next
/// line.
fn pieces(line: &str, style: &mut Style) -> Vec<(usize, String, Style)> {
    let (mut found, mut column): (Vec<(usize, String, Style)>, usize) = (Vec::new(), 0);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            // Only SGR has an effect. Sequences of other kinds end at their first letter, too.
            let mut sequence = String::new();
            let end = rest.by_ref().find(|&c| {
                sequence.push(c);
                c.is_ascii_alphabetic()
            });
            if let (Some('m'), Some(text)) = (end, sequence.strip_prefix('[')) {
                style.apply(text.trim_end_matches('m'));
            }
            continue;
        }
        match found.last_mut() {
            Some((_, text, last)) if last == style => text.push(c),
            _ => found.push((column, c.to_string(), style.clone())),
        }
        column += 1;
    }
    found
}

/// Returns a text without the characters that have a meaning in XML, and without control characters.
fn escaped(text: &str) -> String {
    let kept = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    kept.collect::<String>()
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns the SVG elements of one line of terminal text, at the top of the picture.
fn row(line: &str, style: &mut Style) -> String {
    let mut elements = String::new();
    for (column, text, style) in pieces(line, style) {
        let (colour, ground) = style.colours();
        let (x, width) = (CELL.0 * column as f64, CELL.0 * text.chars().count() as f64);
        if ground != GROUND {
            let _ = write!(
                elements,
                r#"<rect x="{x:.1}" width="{width:.1}" height="{}" fill="{ground}"/>"#,
                CELL.1
            );
        }
        // Words are placed one by one, so that columns stay in line with a font of another width.
        let mut at = column;
        for word in text.split(' ') {
            let length = word.chars().count();
            if length > 0 {
                let (x, width) = (CELL.0 * at as f64, CELL.0 * length as f64);
                let weight = if style.bold { r#" font-weight="bold""# } else { "" };
                let opacity = if style.dim { r#" opacity="0.65""# } else { "" };
                let fill = if colour == TEXT { String::new() } else { format!(r#" fill="{colour}""#) };
                let word = escaped(word);
                let _ = write!(
                    elements,
                    r#"<text x="{x:.1}" y="13.5" textLength="{width:.1}"{fill}{weight}{opacity}>{word}</text>"#
                );
            }
            at += length + 1;
        }
    }
    elements
}

/// Draws terminal screens one after another as SVG, each for its time, in a loop; one screen alone is a still
/// picture.
///
/// Equal lines of all screens are stored once.
pub fn draw(screens: &[(String, Duration)], (columns, lines): (usize, usize), title: &str) -> String {
    let (width, height) = (CELL.0 * columns as f64 + 2.0 * MARGIN, CELL.1 * lines as f64 + 2.0 * MARGIN);
    let whole: f64 = screens.iter().map(|(_, time)| time.as_secs_f64()).sum();
    let (mut rows, mut groups, mut begin) = (BTreeMap::new(), String::new(), 0.0);
    // A program that does not animate pictures shows the screen that stays longest.
    let still = (0..screens.len()).max_by_key(|index| screens[*index].1);
    for (index, (screen, time)) in screens.iter().enumerate() {
        let (from, to) = (begin / whole, (begin + time.as_secs_f64()) / whole);
        begin += time.as_secs_f64();
        let is_last = begin >= whole - 1e-9;
        let _ = writeln!(groups, "<g{}>", if Some(index) == still { "" } else { r#" display="none""# });
        if screens.len() > 1 {
            let to = if is_last { 1.0 } else { to };
            let _ = writeln!(
                groups,
                "<animate attributeName=\"display\" calcMode=\"discrete\" dur=\"{whole:.2}s\" \
                 repeatCount=\"indefinite\" values=\"none;inline;none\" keyTimes=\"0;{from:.5};{to:.5}\"/>"
            );
        }
        let mut style = Style::default();
        for (line, number) in screen.lines().take(lines).zip(0_u32..) {
            let elements = row(line, &mut style);
            if elements.is_empty() {
                continue;
            }
            let next = rows.len();
            let id = *rows.entry(elements).or_insert(next);
            let _ = writeln!(groups, r##"<use href="#r{id}" y="{:.0}"/>"##, CELL.1 * f64::from(number));
        }
        groups.push_str("</g>\n");
    }
    let defined: String = rows.iter().map(|(row, id)| format!("<g id=\"r{id}\">{row}</g>\n")).collect();
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}"
 width="{width:.0}" height="{height:.0}"
 font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="14" fill="{TEXT}">
<title>{}</title>
<rect width="100%" height="100%" rx="6" fill="{GROUND}"/>
<defs>
{defined}</defs>
<g transform="translate({MARGIN} {MARGIN})">
{groups}</g>
</svg>
"#,
        escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn row_of(line: &str) -> String {
        row(line, &mut Style::default())
    }

    #[test]
    fn styles() {
        for (line, want) in [
            ("a", r#"<text x="0.0" y="13.5" textLength="8.4">a</text>"#),
            (
                "\u{1b}[1m a\u{1b}[0m",
                r#"<text x="8.4" y="13.5" textLength="8.4" font-weight="bold">a</text>"#,
            ),
            (
                "\u{1b}[2;31ma",
                r##"<text x="0.0" y="13.5" textLength="8.4" fill="#e5676f" opacity="0.65">a</text>"##,
            ),
            ("\u{1b}[38;5;6ma", r##"<text x="0.0" y="13.5" textLength="8.4" fill="#5fc4cf">a</text>"##),
            ("\u{1b}[38;2;1;2;300ma", r##"<text x="0.0" y="13.5" textLength="8.4" fill="#0102ff">a</text>"##),
            ("\u{1b}[38;5;196ma", r##"<text x="0.0" y="13.5" textLength="8.4" fill="#ff0000">a</text>"##),
            ("\u{1b}[38;5;255ma", r##"<text x="0.0" y="13.5" textLength="8.4" fill="#eeeeee">a</text>"##),
            ("\u{1b}[31m\u{1b}[39m\u{1b}[99;mx", r#"<text x="0.0" y="13.5" textLength="8.4">x</text>"#),
            ("\u{1b}[7m \u{1b}[27m", r##"<rect x="0.0" width="8.4" height="18" fill="#d8dee9"/>"##),
            // Sequences without an end, and of other kinds.
            ("\u{1b}[38;5", ""),
            ("\u{1b}[38m\u{1b}[48;2;1m\u{1b}[2J\u{1b}", ""),
        ] {
            assert_eq!(row_of(line), want, "{line:?}");
        }
    }

    #[test]
    fn words_are_placed_by_columns() {
        assert_eq!(
            row_of("ab  é"),
            "<text x=\"0.0\" y=\"13.5\" textLength=\"16.8\">ab</text>\
             <text x=\"33.6\" y=\"13.5\" textLength=\"8.4\">é</text>"
        );
    }

    #[test]
    fn text_is_escaped() {
        let picture = draw(&[("<script>&\"\u{7}".to_owned(), SECOND)], (20, 1), "a < b");
        assert!(picture.contains(">&lt;script&gt;&amp;&quot; </text>"), "{picture}");
        assert!(picture.contains("<title>a &lt; b</title>"), "{picture}");
        assert!(!picture.contains("<animate"), "{picture}");
    }

    #[test]
    fn screens_follow_each_other() {
        let screens = [("a\nb".to_owned(), SECOND), ("a\nc\nout".to_owned(), 3 * SECOND)];
        let picture = draw(&screens, (1, 2), "");
        assert!(picture.contains(r#"dur="4.00s""#), "{picture}");
        assert!(picture.contains(r#"keyTimes="0;0.00000;0.25000""#), "{picture}");
        assert!(picture.contains(r#"keyTimes="0;0.25000;1.00000""#), "{picture}");
        assert!(picture.contains("<g display=\"none\">\n<animate") && picture.contains("<g>\n<animate"));
        // The row that both screens have is stored once, and the line below the screen not at all.
        assert_eq!(picture.matches("<g id=").count(), 3);
        assert_eq!(picture.matches("<use ").count(), 4);
        assert!(!picture.contains("out"));
    }
}
