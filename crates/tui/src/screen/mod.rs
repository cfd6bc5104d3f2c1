//! Drawing of the interactive screen: a pure function of the viewer's state and the size of the terminal.

use perfset::output::text::{escaped, grouped_digits};
use perfset::tables::shown_counters;
use perfset::{Counter, NoValue};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use ratatui_widgets::clear::Clear;
use ratatui_widgets::paragraph::{Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use crate::sample::{RowChange, SampleRow, TableValue};
use crate::tab::{ColumnPart, TableHeading, TableTab};
use crate::timeline::Timeline;
use crate::viewer::{Overlay, Viewer};

mod detail;
mod help;
mod strip;
#[cfg(test)]
mod tests;
mod text;

use text::{compact, fitted, number, right};

/// Minimum size of an interactive screen, in columns and lines.
pub const LEAST: (u16, u16) = (40, 10);

/// Minimum screen width, in columns, at which the details are shown beside the table.
const WIDE: u16 = 160;
/// Width of the details beside the table on a wide screen, in columns.
const DETAIL: u16 = 64;

/// Minimum width of a table column, in characters.
const COLUMN: usize = 8;

/// Maximum width of the title of a table column, in characters.
const LONGEST: usize = 24;

/// Minimum and maximum width for instance names beside the columns of a table, in characters. Between these, the
/// names are as wide as the longest one.
const NAME: (usize, usize) = (12, 24);

/// Colours and glyphs of a screen that the terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// `true` if the screen uses the 16 colours that all terminals have.
    pub has_colours: bool,
    /// `true` if the terminal shows UTF-8.
    pub is_utf8: bool,
}

impl Look {
    fn colour(self, style: Style, colour: Color) -> Style {
        if self.has_colours { style.fg(colour) } else { style }
    }

    fn head(self) -> Style {
        self.colour(Style::new().add_modifier(Modifier::BOLD), Color::Cyan)
    }

    fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn warning(self) -> Style {
        self.colour(Style::new().add_modifier(Modifier::BOLD), Color::Yellow)
    }

    fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

/// Sizes and positions of the parts of an interactive screen.
struct Layout {
    /// Height of the chart strip in lines, without the line with times below it.
    strip: u16,
    counter_rows: u16,
    table: Rect,
    detail: Option<Rect>,
}

impl Layout {
    fn of(viewer: &Viewer, area: Rect) -> Self {
        // Header, axis, tabs, reason and keys have a line each, and the table has a head and three rows.
        let free = area.height.saturating_sub(9);
        let counter_rows = strip::rows_of_a_counter(area);
        let most = free.checked_div(counter_rows).unwrap_or(free);
        // A comparison has no time that a strip could show.
        let counters = if viewer.is_comparison() { 0 } else { viewer.strip.len() };
        let counters = u16::try_from(counters).unwrap_or(0).min(most);
        let strip = counters.saturating_mul(counter_rows);
        let above = strip.saturating_add(if strip > 0 { 3 } else { 2 });
        let height = area.height.saturating_sub(above).saturating_sub(2);
        let is_wide = area.width >= WIDE;
        let width = if is_wide { area.width.saturating_sub(DETAIL).saturating_sub(1) } else { area.width };
        let y = area.y.saturating_add(above);
        let table = Rect { x: area.x, y, width, height };
        let x = area.x.saturating_add(width).saturating_add(1);
        Self { strip, counter_rows, table, detail: is_wide.then_some(Rect { x, y, width: DETAIL, height }) }
    }
}

/// Returns the number of table rows on a screen of this size.
#[must_use]
pub fn page(viewer: &Viewer, area: Rect) -> usize {
    usize::from(Layout::of(viewer, area).table.height.saturating_sub(1)).max(1)
}

/// Draws the interactive screen into a buffer.
pub fn draw(viewer: &Viewer, look: Look, area: Rect, out: &mut Buffer) {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("perfset needs {} columns and {} lines", LEAST.0, LEAST.1);
        return Paragraph::new(text).wrap(Wrap { trim: true }).render(area, out);
    }
    let layout = Layout::of(viewer, area);
    let mut y = area.y;
    let mut line = |line: Line<'_>, y: u16| {
        if y < area.bottom() {
            out.set_line(area.x, y, &line, area.width);
        }
    };
    line(header(viewer, look, area.width), y);
    y = y.saturating_add(1);
    let heights = (usize::from(layout.strip), usize::from(layout.counter_rows));
    let lines = strip::lines(viewer, look, usize::from(area.width), heights);
    for strip_line in lines {
        line(strip_line, y);
        y = y.saturating_add(1);
    }
    line(tabs(viewer, look, usize::from(area.width)), y);
    line(reason(viewer, look), area.bottom().saturating_sub(2));
    line(bottom(viewer, look, usize::from(area.width)), area.bottom().saturating_sub(1));
    table(viewer, look, layout.table, top_row(viewer, layout.table), out);
    match (&viewer.overlay, layout.detail) {
        (Overlay::Help, _) => help::draw(look, area, out),
        (Overlay::Columns(chosen), _) => columns(viewer, look, *chosen, layout.table, out),
        (Overlay::Detail { facts, of }, beside) => {
            let place = beside.unwrap_or(layout.table);
            Clear.render(place, out);
            // Facts of another instance than the shown one would be wrong.
            let is_same = *of == viewer.selected_identity();
            detail::draw(viewer, look, if is_same { facts } else { &[] }, place, out);
        }
        (Overlay::None, Some(beside)) => detail::draw(viewer, look, &[], beside, out),
        (Overlay::None, None) => {}
    }
}

/// Returns the whole table of a viewer as text, without the chart strip, for screen readers and pipes. If `width` is
/// `None`, all columns are included.
#[must_use]
pub fn plain(viewer: &Viewer, width: Option<u16>) -> String {
    /// Maximum width of a table that is printed as text, in characters. A few rows then fit into a buffer whatever
    /// names a log contains.
    const WIDEST: usize = 2_000;
    let look = Look { has_colours: false, is_utf8: true };
    let natural = || {
        let is_single = viewer.shown_tab().is_none_or(TableTab::is_single);
        let width = if is_single { 0 } else { TableColumns::natural_width(viewer, look) };
        u16::try_from(width.min(WIDEST)).unwrap_or(u16::MAX).max(80)
    };
    let width = width.unwrap_or_else(natural).max(LEAST.0);
    let mut text = String::new();
    if let (Some(words), Some(tab)) = (viewer.comparison_words(), viewer.shown_tab()) {
        text.push_str(&format!("{}: {words}\n", tab.title));
    } else if let (Some(now), Some(tab)) = (viewer.timeline.now(), viewer.shown_tab()) {
        text.push_str(&format!("{}  {}\n", viewer.shown_time(now, "%Y-%m-%d %H:%M:%S"), tab.title));
    }
    // A buffer has at most as many cells as a u16 counts, so long tables are drawn in blocks, each with its head.
    let most = usize::from(u16::MAX.checked_div(width).unwrap_or(1)).saturating_sub(1).max(1);
    let mut top = 0_usize;
    loop {
        let rows = viewer.rows().saturating_sub(top).min(most);
        // An empty table has a line that says so.
        let height = u16::try_from(rows.max(1).saturating_add(1)).unwrap_or(u16::MAX);
        let area = Rect { x: 0, y: 0, width, height };
        let mut buffer = Buffer::empty(area);
        table(viewer, look, area, top, &mut buffer);
        push_lines(&buffer, height, &mut text);
        top = top.saturating_add(most);
        if top >= viewer.rows() {
            return text;
        }
    }
}

/// Appends the lines of a drawn buffer to a text, without blanks at their ends.
fn push_lines(buffer: &Buffer, height: u16, text: &mut String) {
    for y in 0..height {
        let (mut line, mut x) = (String::new(), 0_u16);
        while let Some(cell) = buffer.cell((x, y)) {
            line.push_str(cell.symbol());
            // A wide character takes the next cell, too.
            x = x.saturating_add(u16::try_from(cell.symbol().width()).unwrap_or(1).max(1));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

fn header<'v>(viewer: &'v Viewer, look: Look, width: u16) -> Line<'v> {
    let mut spans =
        vec![Span::styled(" perfset  ", look.head()), Span::raw(&*viewer.machine), Span::raw("  ")];
    let (now, end) = (viewer.timeline.now(), viewer.timeline.end());
    if viewer.is_comparison() {
        let label = viewer.baseline_label().unwrap_or_default();
        spans.push(Span::styled(format!("COMPARISON with {label}"), look.warning()));
    } else if let (Some(now), Some(end)) = (now, end) {
        if viewer.timeline.is_live() {
            spans.push(Span::raw(viewer.shown_time(now, "live %H:%M:%S")));
        } else {
            let sign = if look.is_utf8 { "◀ " } else { "< " };
            let before = end.saturating_sub(now) / 10_000_000;
            let ago = if before > 0 { format!(" (-{})", span(before)) } else { " (end)".to_owned() };
            let time = viewer.shown_time(now, "PAST %Y-%m-%d %H:%M:%S%.3f");
            spans.push(Span::styled(format!("{sign}{time}{ago}"), look.warning()));
        }
    } else {
        spans.push(Span::raw("no sample yet"));
    }
    let right = "? help  q quit ";
    let used: usize = spans.iter().map(Span::width).sum();
    let blanks = usize::from(width).saturating_sub(used).saturating_sub(right.len());
    spans.push(Span::raw(" ".repeat(blanks)));
    spans.push(Span::styled(right, look.dim()));
    Line::from(spans)
}

/// Formats a number of seconds for users: `9m 12s`.
fn span(seconds: i64) -> String {
    let part = |unit: i64| seconds.checked_div(unit).unwrap_or(0);
    let rest = |unit: i64, of: i64| seconds.checked_rem(unit).unwrap_or(0).checked_div(of).unwrap_or(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", part(60), rest(60, 1)),
        3_600..86_400 => format!("{}h {}m", part(3_600), rest(3_600, 60)),
        _ => format!("{}d {}h", part(86_400), rest(86_400, 3_600)),
    }
}

fn tabs(viewer: &Viewer, look: Look, width: usize) -> Line<'static> {
    let style = |at: usize| if at == viewer.tab { look.selected() } else { look.dim() };
    let mut spans: Vec<_> =
        tab_texts(viewer, width).into_iter().map(|(at, text)| Span::styled(text, style(at))).collect();
    spans.push(Span::styled(" : any", look.dim()));
    Line::from(spans)
}

/// Returns the titles of the tabs that fit into the width, each with its number and text. The shown tab is always
/// included.
fn tab_texts(viewer: &Viewer, width: usize) -> Vec<(usize, String)> {
    let text = |at: usize, title: &str| format!(" {} {title}", at.saturating_add(1));
    let mut reserved = viewer.shown_tab().map_or(0, |tab| text(viewer.tab, &tab.title).width());
    let mut used = 0_usize;
    let texts = viewer.tabs.iter().enumerate().filter_map(|(at, tab)| {
        let text = text(at, &tab.title);
        if at == viewer.tab {
            reserved = 0;
        }
        let end = used.saturating_add(text.width());
        let fits = at == viewer.tab || end.saturating_add(reserved) <= width;
        used = if fits { end } else { width }; // those behind it have no room either
        fits.then_some((at, text))
    });
    texts.collect()
}

fn reason(viewer: &Viewer, look: Look) -> Line<'static> {
    let mut text = viewer.span_words().map(|words| format!(" {words}")).unwrap_or_default();
    if let Some(words) = viewer.comparison_words() {
        // The reason comes first: the ranges are the same for all cells.
        let reason = match viewer.value() {
            Some(TableValue::Missing(reason)) => format!(" {};", escaped(&reason.to_string())),
            _ => String::new(),
        };
        return Line::styled(format!("{reason} {words}"), look.dim());
    }
    match viewer.value() {
        Some(TableValue::Missing(reason)) => text.push_str(&format!(" {}", escaped(&reason.to_string()))),
        Some(_) if viewer.is_raw && viewer.span_table().is_some() => {
            text.push_str(" raw values are those of an instant: x shows the numbers");
        }
        _ => {}
    }
    if let Some(time) = viewer.sample().and_then(|sample| sample.collected) {
        text.push_str(&format!(
            " the table is of {}: recorded less often",
            viewer.shown_time(time, "%H:%M:%S")
        ));
    }
    Line::styled(text, look.dim())
}

fn bottom(viewer: &Viewer, look: Look, width: usize) -> Line<'static> {
    if let Some(prompt) = &viewer.prompt {
        let mut spans = vec![
            Span::styled(format!(" {}", prompt.kind.label()), look.head()),
            Span::raw(prompt.text.clone()),
            Span::styled(" ", look.selected()),
        ];
        let candidates = viewer.candidates();
        if !candidates.is_empty() {
            spans.push(Span::styled(format!("  {}", escaped(&candidates.join("  "))), look.dim()));
        }
        return Line::from(spans);
    }
    if let Some(message) = &viewer.message {
        return Line::styled(format!(" {message}"), look.warning());
    }
    let all = viewer.sample().map_or(0, |sample| sample.rows.len());
    let mut text = match viewer.shown_tab() {
        Some(tab) if !tab.is_single() => {
            format!(" row {} of {}", viewer.row.saturating_add(1).min(viewer.rows()), viewer.rows())
        }
        _ => " ".to_owned(),
    };
    if let Some(filter) = viewer.shown_tab().and_then(|tab| tab.filter.as_ref()) {
        text.push_str(&format!(" ({all} without filter {})", escaped(filter.text())));
    }
    let keys = match width {
        0..60 => "  / filter  Enter detail",
        _ if viewer.is_comparison() && viewer.shown_tab().is_some_and(TableTab::is_single) => {
            "  c columns  Enter detail"
        }
        _ if viewer.is_comparison() => "  < > sort  S reverse  / filter  c columns  Enter detail",
        _ if matches!(viewer.timeline, Timeline::Log { .. }) => {
            "  ←→ step  [ ] minute  g go to  w peak  / filter  Enter detail"
        }
        _ => "  < > sort  / filter  ← → past  space stop  Enter detail",
    };
    Line::from(vec![Span::raw(text), Span::styled(keys, look.dim())])
}

/// Returns the shown table rows from number `top` on, at most `height` of them.
fn shown_rows(viewer: &Viewer, top: usize, height: usize) -> impl Iterator<Item = &SampleRow> {
    let rows = viewer.sample().map(|sample| &*sample.rows).unwrap_or_default();
    viewer.order.iter().skip(top).take(height).filter_map(|at| rows.get(*at).map(|row| &**row))
}

/// Returns the text for the name of a table row. In a tree, blanks precede it, and a sign if rows below it are
/// hidden.
fn name_text(viewer: &Viewer, look: Look, number: usize, row: &SampleRow) -> String {
    /// Maximum number of blanks that show the depth of a tree's row: names after more blanks would have no space.
    const DEEPEST: usize = 10;
    let name = if row.identity.name.is_empty() { "-".to_owned() } else { escaped(&row.path_name()) };
    let Some(place) = viewer.tree.get(number) else { return name };
    let sign = match (place.is_folded, look.is_utf8) {
        (true, true) => "▸",
        (true, false) => ">",
        (false, _) => "",
    };
    format!("{}{sign}{name}", " ".repeat(place.depth.min(DEEPEST)))
}

fn cell_text(viewer: &Viewer, look: Look, row: &SampleRow, (at, column): (usize, &TableHeading)) -> String {
    match row.values.get(at) {
        Some(value) => {
            let text = compact(&cell(viewer, look, &column.counter, value), viewer.is_raw);
            format!("{}{text}", plus(column, value))
        }
        None => "-".to_owned(),
    }
}

/// Returns the plus sign before a positive, exact difference; an empty text before other values.
fn plus(column: &TableHeading, value: &TableValue) -> &'static str {
    let is_positive = value.number().is_some_and(|number| number > 0.0);
    let is_exact = matches!(value, TableValue::Number { .. });
    if column.part == ColumnPart::Difference && is_positive && is_exact { "+" } else { "" }
}

/// Columns of a table that fit into the screen's width, with their widths.
struct TableColumns {
    name_width: usize,
    /// Index and width of each table column that fits.
    columns: Vec<(usize, usize)>,
}

impl TableColumns {
    /// Returns the width that the row names need, and the widths that all table columns need in the shown rows.
    fn widths(viewer: &Viewer, look: Look, top: usize, height: usize) -> (usize, Vec<usize>) {
        // A number is never cut, so columns are as wide as what they show now.
        let width_of = |column: (usize, &TableHeading)| {
            let title = title_of(viewer, column.1).width().min(LONGEST).saturating_add(1);
            let texts =
                shown_rows(viewer, top, height).map(|row| cell_text(viewer, look, row, column).width());
            texts.fold(title, usize::max).saturating_add(1).max(COLUMN)
        };
        let all = viewer.shown_tab().map(|tab| &*tab.columns).unwrap_or_default();
        let widths: Vec<usize> = all.iter().enumerate().map(width_of).collect();
        let names = shown_rows(viewer, top, height).enumerate();
        let names = names.map(|(line, row)| name_text(viewer, look, top.saturating_add(line), row).width());
        (names.max().unwrap_or(0).saturating_add(1), widths)
    }

    /// Returns the width that the table needs to show all columns and rows completely.
    fn natural_width(viewer: &Viewer, look: Look) -> usize {
        let (longest, widths) = Self::widths(viewer, look, 0, usize::MAX);
        longest.max(NAME.0).saturating_add(widths.iter().sum()).saturating_add(2)
    }

    fn of(viewer: &Viewer, look: Look, area: Rect, top: usize) -> Self {
        let (width, height) = (usize::from(area.width), usize::from(area.height.saturating_sub(1)));
        let (longest, widths) = Self::widths(viewer, look, top, height);
        // Columns are left out at the left until the selected one has room; the names always have some.
        let names = longest.clamp(NAME.0, NAME.1);
        let room = width.saturating_sub(names).saturating_sub(1);
        let first = first_column(&widths, viewer.column, room);
        let columns: Vec<(usize, usize)> = columns_that_fit(&widths, first, room)
            .into_iter()
            .filter_map(|at| Some((at, *widths.get(at)?)))
            .collect();
        let taken: usize = columns.iter().map(|(_, width)| width).sum();
        Self { name_width: width.saturating_sub(taken).saturating_sub(1).max(NAME.0), columns }
    }
}

/// Part of a screen that a click can hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenPlace {
    /// Bar of the chart strip that was clicked, with the time of its last sample in 100 ns since 1601 UTC.
    Time(i64),
    /// Tab with this index that was clicked.
    Tab(usize),
    /// Heading of the table column with this index that was clicked.
    Column(usize),
    /// Table row that was clicked, and the column if the click is on one.
    Row(usize, Option<usize>),
}

/// Returns the part of the interactive screen at a position, for a screen of this size.
#[must_use]
pub fn place_at(viewer: &Viewer, look: Look, area: Rect, (x, y): (u16, u16)) -> Option<ScreenPlace> {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return None;
    }
    let layout = Layout::of(viewer, area);
    let (table, width) = (layout.table, usize::from(area.width));
    let at = usize::from(x.saturating_sub(area.x));
    let line = y.checked_sub(area.y)?;
    if line > 0 && line <= layout.strip.saturating_add(1) && layout.strip > 0 {
        return strip::time_at(viewer, width, at).map(ScreenPlace::Time);
    }
    if y == table.y.checked_sub(1)? {
        let mut end = 0_usize;
        let is_it = |(_, text): &(usize, String)| {
            end = end.saturating_add(text.width());
            at < end
        };
        return tab_texts(viewer, width).into_iter().find(is_it).map(|(tab, _)| ScreenPlace::Tab(tab));
    }
    if y >= table.bottom() || x >= table.right() {
        return None;
    }
    let row = usize::from(y.checked_sub(table.y)?);
    let top = top_row(viewer, table);
    let is_single = viewer.shown_tab().is_some_and(TableTab::is_single);
    let column = || {
        let TableColumns { name_width, columns } = TableColumns::of(viewer, look, table, top);
        let mut end = name_width;
        let is_it = |(_, width): &&(usize, usize)| {
            let begin = end;
            end = end.saturating_add(*width);
            (begin..end).contains(&at)
        };
        columns.iter().find(is_it).map(|(column, _)| *column)
    };
    let column = if is_single { None } else { column() };
    match row.checked_sub(1) {
        None => column.map(ScreenPlace::Column),
        Some(row) => {
            let row = top.saturating_add(row);
            (row < viewer.rows()).then_some(ScreenPlace::Row(row, column))
        }
    }
}

/// Returns the number of the first table row to draw, so that the selected row is visible.
fn top_row(viewer: &Viewer, table: Rect) -> usize {
    viewer.row.saturating_sub(usize::from(table.height.saturating_sub(1)).saturating_sub(1))
}

/// Draws the rows of the table from number `top` on.
fn table(viewer: &Viewer, look: Look, area: Rect, top: usize, out: &mut Buffer) {
    let Some(tab) = viewer.shown_tab().filter(|_| viewer.sample().is_some()) else { return };
    let height = usize::from(area.height.saturating_sub(1));
    if tab.is_single() {
        return single(viewer, look, area, top, out);
    }
    let shown: Vec<&SampleRow> = shown_rows(viewer, top, height).collect();
    let TableColumns { name_width, columns } = TableColumns::of(viewer, look, area, top);
    let mark = |at: Option<usize>| match (tab.sorted_by == at, tab.is_descending, look.is_utf8) {
        (false, ..) => "",
        (true, true, true) => "▼",
        (true, false, true) => "▲",
        (true, true, false) => "v",
        (true, false, false) => "^",
    };
    // The head has the sign of the order at the column that decides.
    let mut head = vec![Span::raw(fitted(&format!(" instance{}", mark(None)), name_width))];
    for (at, width) in &columns {
        let Some(column) = tab.columns.get(*at) else { continue };
        let title = format!(
            "{}{}",
            fitted(title_of(viewer, column), width.saturating_sub(2)).trim_end(),
            mark(Some(*at))
        );
        head.push(Span::raw(right(&title, *width)));
    }
    let style = look.head();
    out.set_line(area.x, area.y, &Line::from(head).style(style), area.width);
    for (line, row) in shown.iter().enumerate() {
        let is_selected = top.saturating_add(line) == viewer.row;
        let style = if is_selected { look.selected() } else { Style::new() };
        let name = name_text(viewer, look, top.saturating_add(line), row);
        let sign = row.change.map_or(" ", RowChange::sign);
        let mut spans = vec![Span::styled(fitted(&format!("{sign}{name}"), name_width), style)];
        for (at, width) in &columns {
            let Some(column) = tab.columns.get(*at) else { continue };
            let text = right(&cell_text(viewer, look, row, (*at, column)), *width);
            let is_cell = is_selected && *at == viewer.column;
            spans.push(Span::styled(text, if is_cell { style.add_modifier(Modifier::BOLD) } else { style }));
        }
        let y = area.y.saturating_add(1).saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
        out.set_line(area.x, y, &Line::from(spans), area.width);
    }
    if shown.is_empty() && height > 0 {
        let text =
            if tab.filter.is_some() { " no row fulfils the filter; Esc removes it" } else { " no instances" };
        out.set_line(area.x, area.y.saturating_add(1), &Line::styled(text, look.dim()), area.width);
    }
}

/// Draws the table of a counterset with one instance: a row for each counter.
fn single(viewer: &Viewer, look: Look, area: Rect, top: usize, out: &mut Buffer) {
    let (Some(tab), Some(sample)) = (viewer.shown_tab(), viewer.sample()) else { return };
    /// Width of a counter's value in a table with one instance, and of each of the three values of a comparison.
    const VALUE: (usize, usize) = (20, 14);
    /// Minimum width of the counter names beside the three values of a comparison, in characters.
    const NAMES: usize = 16;
    let height = usize::from(area.height.saturating_sub(1));
    let has_room = usize::from(area.width) > NAMES.saturating_add(VALUE.1.saturating_mul(3));
    let (heads, value_width): (&[&str], _) = match (viewer.is_comparison(), has_room) {
        (true, true) => (&["was", "value", "diff"], VALUE.1),
        (true, false) => (&["value", "diff"], VALUE.1.saturating_sub(2)),
        (false, _) => (&["value"], VALUE.0),
    };
    let values = heads.len().saturating_mul(value_width);
    let name_width = usize::from(area.width).saturating_sub(values).saturating_sub(4).min(50);
    let count = heads.len();
    let heads = heads.iter().map(|head| right(head, value_width)).collect::<String>();
    let head = format!("{}{heads}", fitted(" counter", name_width));
    out.set_line(area.x, area.y, &Line::styled(head, look.head()), area.width);
    for (line, (at, columns)) in tab.lines().enumerate().skip(top).take(height).enumerate() {
        let text_of = |(at, column): &(usize, &TableHeading)| {
            let value = sample.rows.first().and_then(|row| row.values.get(*at));
            let text = value.map_or_else(
                || "-".to_owned(),
                |value| format!("{}{}", plus(column, value), cell(viewer, look, &column.counter, value)),
            );
            right(&text, value_width)
        };
        let style = if at == viewer.row { look.selected() } else { Style::new() };
        let Some((_, named)) = columns.iter().find(|(_, column)| column.part != ColumnPart::Before) else {
            continue;
        };
        let title = title_of(viewer, named);
        // On a narrow screen the first of them has no room.
        let shown = columns.iter().skip(columns.len().saturating_sub(count));
        let values = shown.map(text_of).collect::<String>();
        let text = format!("{}{values}", fitted(&format!(" {title}"), name_width));
        let y = area.y.saturating_add(1).saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
        out.set_line(area.x, y, &Line::styled(text, style), area.width);
    }
}

/// Returns the first table column to draw, so that the selected column fits into the width.
fn first_column(widths: &[usize], selected: usize, room: usize) -> usize {
    (0..=selected)
        .find(|first| columns_that_fit(widths, *first, room).contains(&selected))
        .unwrap_or(selected)
}

/// Returns the table columns that fit into the width, from the column `first` on.
fn columns_that_fit(widths: &[usize], first: usize, mut room: usize) -> Vec<usize> {
    let fits = |(_, column): &(usize, &usize)| match room.checked_sub(**column) {
        Some(rest) => {
            room = rest;
            true
        }
        None => false,
    };
    widths.iter().enumerate().skip(first).take_while(fits).map(|(at, _)| at).collect()
}

/// Returns the text of a counter's value in a table cell.
fn cell(viewer: &Viewer, look: Look, counter: &Counter, value: &TableValue) -> String {
    match value {
        TableValue::Missing(reason) => match &**reason {
            NoValue::Denied(_) if look.is_utf8 => "⊘".to_owned(),
            _ => "-".to_owned(),
        },
        TableValue::AtLeast(value) if !viewer.is_raw => {
            let sign = if look.is_utf8 { "≥" } else { ">=" };
            format!("{sign}{}", number(*value, unit_of(viewer, counter), viewer.has_units))
        }
        TableValue::About(value) if !viewer.is_raw => {
            format!("~{}", number(*value, unit_of(viewer, counter), viewer.has_units))
        }
        TableValue::AtLeast(_) | TableValue::About(_) => "-".to_owned(),
        TableValue::Number { raw, .. } if viewer.is_raw => {
            raw.map_or_else(|| "-".to_owned(), |raw| grouped_digits(&raw.to_string()))
        }
        TableValue::Number { value, .. } => number(*value, unit_of(viewer, counter), viewer.has_units),
    }
}

/// Returns the unit of a counter's numbers, which depends on the kind of span that the table shows.
fn unit_of<'a>(viewer: &Viewer, counter: &'a Counter) -> &'a str {
    viewer.span_table().map_or(&counter.unit, |table| table.kind.unit(counter))
}

/// Returns the title of a column, which depends on the kind of span that the table shows.
fn title_of<'a>(viewer: &Viewer, column: &'a TableHeading) -> &'a str {
    viewer.span_table().map_or(&column.title, |table| table.kind.title(&column.counter, &column.title))
}

/// Draws the list of counters in which the user chooses the table's columns.
fn columns(viewer: &Viewer, look: Look, chosen: usize, area: Rect, out: &mut Buffer) {
    let Some(tab) = viewer.shown_tab() else { return };
    Clear.render(area, out);
    let height = usize::from(area.height.saturating_sub(1));
    let top = chosen.saturating_sub(height.saturating_sub(1));
    out.set_line(
        area.x,
        area.y,
        &Line::styled(" columns: space adds or removes, Enter shows the table", look.head()),
        area.width,
    );
    let all = shown_counters(&tab.counterset, true);
    for (line, (at, counter)) in all.iter().enumerate().skip(top).take(height).enumerate() {
        let is_column = is_column(tab, counter);
        let text = format!(" [{}] {}", if is_column { 'x' } else { ' ' }, escaped(&counter.shown_name()));
        let style = if at == chosen { look.selected() } else { Style::new() };
        let y = area.y.saturating_add(1).saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
        out.set_line(area.x, y, &Line::styled(fitted(&text, usize::from(area.width)), style), area.width);
    }
}

fn is_column(tab: &TableTab, counter: &Counter) -> bool {
    tab.columns.iter().any(|column| column.counter.id == counter.id)
}
