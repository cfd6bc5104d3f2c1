//! List of the keys and their functions, drawn over the screen.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use ratatui_widgets::clear::Clear;

use super::Look;

/// Keys of the interactive screen, each with a description of its function.
pub const KEYS: [(&str, &str); 23] = [
    ("↑ ↓ PgUp PgDn Home End", "rows"),
    ("1-9 Tab", "tabs"),
    (":", "any counterset, by name"),
    ("< > s N S", "sort by a column, by name; reverse"),
    ("P M D", "sort by processor time, memory, writes"),
    ("/", "filter: text, regular expression, cpu>5"),
    ("c", "choose columns"),
    ("f z", "tree, Enter folds; control group"),
    ("← →", "a sample back, forward"),
    ("[ ] { }", "a minute, ten minutes"),
    ("g", "go to a time or mark"),
    ("space", "stand still, live again"),
    ("w W", "next, previous peak of the counter"),
    ("R", "range: mean, again greatest, total"),
    ("d", "difference from here on"),
    ("b", "instances that began or ended"),
    ("m n", "set a mark, go to the next one"),
    ("+", "counter on the strip, or off it"),
    ("Enter", "everything about a cell"),
    ("y", "copy the command for a cell"),
    ("x u", "raw values, numbers without units"),
    ("Esc q", "end the filter or range; quit"),
    ("F9", "nothing: perfset ends no processes"),
];

/// Draws the list of keys over the whole screen, in two columns if the screen is wide.
pub fn draw(look: Look, area: Rect, out: &mut Buffer) {
    Clear.render(area, out);
    out.set_line(area.x, area.y, &Line::styled(" keys; any key closes this list", look.head()), area.width);
    let height = usize::from(area.height.saturating_sub(1)).max(1);
    for (at, (keys, text)) in KEYS.iter().enumerate() {
        let (column, line) = (at.checked_div(height).unwrap_or(0), at.checked_rem(height).unwrap_or(0));
        let x = area.x.saturating_add(u16::try_from(column.saturating_mul(64)).unwrap_or(u16::MAX));
        let y = area.y.saturating_add(1).saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
        if x >= area.right() || y >= area.bottom() {
            continue;
        }
        let line = Line::from(vec![Span::styled(format!(" {keys:22} "), look.head()), Span::raw(*text)]);
        out.set_line(x, y, &line, area.right().saturating_sub(x));
    }
}
