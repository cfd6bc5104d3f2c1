//! Details of the screen about one table cell: counter, value, instance and facts.

use perfset::output::text::{escaped, grouped_digits};
use perfset::output::{human, unit_name};
use perfset::{Counter, Fact};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use ratatui_widgets::paragraph::{Paragraph, Wrap};

use super::{Look, unit_of};
use crate::sample::TableValue;
use crate::tab::{ColumnPart, TableHeading, TableTab};
use crate::viewer::Viewer;

/// Draws the details about the table cell under the cursor.
pub fn draw(viewer: &Viewer, look: Look, facts: &[Fact], area: Rect, out: &mut Buffer) {
    let (Some(tab), Some((row, column))) = (viewer.shown_tab(), viewer.cell()) else { return };
    let Some(heading) = tab.columns.get(column) else { return };
    let counter = &heading.counter;
    let mut lines = Vec::new();
    // The value, or the reason for none.
    if let Some(path) = viewer.path() {
        lines.push(Line::styled(escaped(&path.to_string()), look.head()));
    }
    match viewer.value() {
        Some(TableValue::Number { value, raw }) => {
            let raw =
                raw.map(|raw| format!("   raw {}", grouped_digits(&raw.to_string()))).unwrap_or_default();
            let is_difference = heading.part == ColumnPart::Difference;
            let sign = match (is_difference, *value > 0.0) {
                (true, true) => "difference +",
                (true, false) => "difference ",
                (false, _) => "",
            };
            lines
                .push(Line::raw(format!("{sign}{}{raw}", escaped(&human(*value, unit_of(viewer, counter))))));
        }
        Some(TableValue::AtLeast(value)) => {
            let value = escaped(&human(*value, unit_of(viewer, counter)));
            lines.push(Line::raw(format!("at least {value}: parts of the range have no value")));
        }
        Some(TableValue::About(value)) => {
            let value = escaped(&human(*value, unit_of(viewer, counter)));
            lines.push(Line::raw(format!("about {value}: parts of the ranges have no value")));
        }
        Some(TableValue::Missing(reason)) => {
            lines.push(Line::styled(format!("no value: {}", escaped(&reason.to_string())), look.warning()));
        }
        None => lines.push(Line::raw("no value")),
    }
    lines.extend(compared_lines(viewer, tab, row, counter));
    let words = viewer.span_words().or_else(|| viewer.comparison_words());
    lines.extend(words.map(|words| Line::styled(words, look.warning())));
    // What the counter means.
    lines.push(Line::default());
    lines.push(Line::raw(escaped(&counter.help)));
    lines.push(Line::default());
    let unit = unit_of(viewer, counter);
    let unit = if unit.is_empty() { "none" } else { unit_name(unit) };
    lines.push(Line::styled(format!("type   {}", counter.counter_type), look.dim()));
    lines.push(Line::styled(format!("unit   {}", escaped(unit)), look.dim()));
    if !counter.source.is_empty() {
        lines.push(Line::styled(format!("from   {}", escaped(&counter.source.to_string())), look.dim()));
    }
    // What is known about the instance.
    let identity = viewer.sample().and_then(|sample| sample.rows.get(row)).map(|row| &row.identity);
    if let Some(id) = identity.and_then(|identity| identity.id).filter(|_| !tab.is_single()) {
        lines.push(Line::styled(format!("id     {id}"), look.dim()));
    }
    for fact in facts {
        let text = fact.text.as_ref().map_or_else(|reason| format!("({reason})"), Clone::clone);
        lines.push(Line::raw(format!("{:6} {}", fact.kind.keyword(), escaped(&text))));
    }
    if let Some(command) = viewer.command() {
        lines.push(Line::default());
        lines.push(Line::styled(format!("y copies: {}", escaped(&command)), look.dim()));
    }
    let inner = Rect { x: area.x.saturating_add(1), width: area.width.saturating_sub(2), ..area };
    Paragraph::new(lines).wrap(Wrap { trim: false }).render(inner, out);
}

/// Returns the line of the details with both values of a compared cell. Exact numbers have their difference in
/// percent, too.
fn compared_lines(viewer: &Viewer, tab: &TableTab, row: usize, counter: &Counter) -> Option<Line<'static>> {
    viewer.comparison()?;
    let values = &viewer.sample()?.rows.get(row)?.values;
    let value = |part: ColumnPart| {
        let is_it = |column: &TableHeading| column.part == part && column.counter.id == counter.id;
        values.get(tab.columns.iter().position(is_it)?)
    };
    let (was, is) = (value(ColumnPart::Before)?, value(ColumnPart::After)?);
    let text = |value: &TableValue| match value {
        TableValue::Number { value, .. } => escaped(&human(*value, &counter.unit)),
        TableValue::AtLeast(value) | TableValue::About(value) => {
            format!("at least {}", escaped(&human(*value, &counter.unit)))
        }
        TableValue::Missing(_) => "not known".to_owned(),
    };
    let share = match (was, is) {
        (TableValue::Number { value: was, .. }, TableValue::Number { value: is, .. }) if *was > 0.0 => {
            format!(", which is {:+.1} %", (is - was) / was * 100.0)
        }
        _ => String::new(),
    };
    Some(Line::raw(format!("was {}, is {}{share}", text(was), text(is))))
}
