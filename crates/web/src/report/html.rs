//! Text of a report's HTML, in which names of a log are text, whatever they contain.

use std::fmt::Write as _;

use perfset::clock::SystemTime;
use perfset::output::text::{NAME_MAX, cut, escaped};

use crate::log::to_unix_ms;

/// Returns a text of a log for HTML, with invisible characters made visible, cut to the length of the longest
/// sensible name.
pub fn text(text: &str) -> String {
    markup(&escaped(cut(text, NAME_MAX)))
}

/// Returns a text of this program as HTML, also for attributes in double quotes.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Returns a name in a log as an HTML element, so that its direction does not change the order of words beside it.
pub fn name(name: &str) -> String {
    format!("<bdi>{}</bdi>", text(name))
}

/// Returns a time as an HTML element that the script writes in the reader's zone. With `is_short`, the day is left
/// out if the report covers less than one.
pub fn time(time: i64, is_short: bool) -> String {
    let SystemTime { year, month, day, hour, minute, second, .. } = SystemTime::from_100ns(time);
    let (day, clock) =
        (format!("{year:04}-{month:02}-{day:02}"), format!("{hour:02}:{minute:02}:{second:02}"));
    let short = if is_short { " data-short" } else { "" };
    let ms = to_unix_ms(time);
    format!("<time datetime=\"{day}T{clock}Z\" data-ms=\"{ms}\"{short}>{day} {clock}</time>")
}

/// Returns JSON for an HTML script element: nothing in it can end the element or begin a comment.
pub fn json_in_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c)); // a String takes everything
            }
            c => out.push(c),
        }
    }
    out
}

/// Formats a length of time for readers of a report, in two units.
pub fn duration(seconds: f64) -> String {
    #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it saturates")]
    let whole = seconds.round() as i64;
    let part = |length: i64, of: i64| whole.rem_euclid(of).div_euclid(length);
    match whole {
        ..2 if seconds < 1.0 || seconds.is_nan() => format!("{:.0} ms", seconds.max(0.0) * 1e3),
        ..120 => format!("{whole} s"),
        120..7_200 => match part(1, 60) {
            0 => format!("{} min", whole / 60),
            rest => format!("{} min {rest} s", whole / 60),
        },
        7_200..172_800 => match part(60, 3_600) {
            0 => format!("{} h", whole / 3_600),
            rest => format!("{} h {rest} min", whole / 3_600),
        },
        _ => match part(3_600, 86_400) {
            0 => format!("{} d", whole / 86_400),
            rest => format!("{} d {rest} h", whole / 86_400),
        },
    }
}

/// Formats a short length of time for readers of a report, such as an interval.
pub fn interval(seconds: f64) -> String {
    if (1.0..120.0).contains(&seconds) {
        let text = format!("{seconds:.2}");
        return format!("{} s", text.trim_end_matches('0').trim_end_matches('.'));
    }
    duration(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str =
        "</script><script>owned=1</script><!-- \" onload='x' &lt; \u{202e}\u{2028}\u{1b}[0m";

    #[test]
    fn hostile_names_are_text() {
        for html in [text(HOSTILE), name(HOSTILE).replace("<bdi>", "").replace("</bdi>", "")] {
            let has = |c: char| html.contains(c);
            assert!(!has('<') && !has('>') && !has('"') && !has('\'') && !has('\u{202e}'), "{html}");
            assert!(html.contains("&lt;/script&gt;") && html.contains("\\u{202e}"), "{html}");
        }
        assert_eq!(text(&"x".repeat(5_000)).len(), NAME_MAX);
    }

    #[test]
    fn json_ends_no_script() {
        let json = serde_json::to_string(&["</script><!--", "\u{2028}\u{2029}", "a & b"]).unwrap();
        let safe = json_in_script(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{safe}");
        let [read, same]: [Vec<String>; 2] = [&safe, &json].map(|json| serde_json::from_str(json).unwrap());
        assert_eq!(read, same);
    }

    #[test]
    fn times_and_durations() {
        let ten = 134_383_464_000_000_000; // 2026-11-05 10:00 UTC
        let want =
            "<time datetime=\"2026-11-05T10:00:00Z\" data-ms=\"1793872800000\">2026-11-05 10:00:00</time>";
        assert_eq!(time(ten, false), want);
        for (seconds, want) in [
            (0.0, "0 ms"),
            (0.25, "250 ms"),
            (1.0, "1 s"),
            (600.0, "10 min"),
            (599.6, "10 min"),
            (605.0, "10 min 5 s"),
            (7_260.0, "2 h 1 min"),
            (90_000.0, "25 h"),
            (180_000.0, "2 d 2 h"),
            (f64::NAN, "0 ms"),
        ] {
            assert_eq!(duration(seconds), want, "{seconds}");
        }
        assert_eq!([1.0, 1.5, 0.5, 300.0].map(interval), ["1 s", "1.5 s", "500 ms", "5 min"]);
    }
}
