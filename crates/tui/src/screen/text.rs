//! Texts of table cells, and their alignment.

use perfset::output::human;
use perfset::output::text::{escaped, grouped_digits};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Shortens a number with its unit for a column: `1.2 MiB/s` to `1.2M`, because the column title shows the unit.
pub fn compact(text: &str, is_raw: bool) -> String {
    if is_raw {
        return text.to_owned();
    }
    let text = text.strip_suffix("/s").unwrap_or(text);
    match text.split_once(' ') {
        Some((number, unit @ ("KiB" | "MiB" | "GiB" | "TiB" | "PiB"))) => {
            format!("{number}{}", unit.trim_end_matches("iB"))
        }
        Some((number, "B")) => number.to_owned(),
        _ => text.to_owned(),
    }
}

/// Formats a number for a table cell: in short form with its unit, or with all digits. Percentages have no unit,
/// because the title shows it.
pub fn number(value: f64, unit: &str, has_units: bool) -> String {
    match (has_units, unit) {
        (_, "%") => format!("{value:.1}"),
        (true, unit) => escaped(&human(value, unit)),
        (false, _) if value.fract() == 0.0 => grouped_digits(&format!("{value:.0}")),
        (false, _) => format!("{value:.1}"),
    }
}

/// Returns a text of exactly this width: filled with blanks, or shortened with `~`. The part after the last colon or
/// slash stays: the id of a process, or the name of a directory or control group.
pub fn fitted(text: &str, width: usize) -> String {
    let own = text.width();
    if own <= width {
        return format!("{text}{}", " ".repeat(width.saturating_sub(own)));
    }
    let from = |sign: char| text.rfind(sign).and_then(|at| text.get(at..));
    let fits = |end: &&str| end.width().saturating_mul(2) <= width;
    let end = from(':').filter(fits).or_else(|| from('/').filter(fits)).unwrap_or_default();
    let most = width.saturating_sub(end.width()).saturating_sub(1);
    let (mut fitted, mut used) = (String::new(), 0_usize);
    for c in text.chars() {
        let next = used.saturating_add(c.width().unwrap_or(0));
        if next > most {
            break;
        }
        fitted.push(c);
        used = next;
    }
    if width > 0 {
        fitted.push('~');
        fitted.push_str(end);
        fitted.push_str(&" ".repeat(most.saturating_sub(used)));
    }
    fitted
}

/// Returns the text of a table cell aligned to the right of its width, with a blank before it.
pub fn right(text: &str, width: usize) -> String {
    let blanks = width.saturating_sub(text.width());
    let cut: String = if blanks == 0 { format!(" {text}") } else { text.to_owned() };
    format!("{}{cut}", " ".repeat(blanks))
}
