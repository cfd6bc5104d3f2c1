//! Blocks of the table output: the values of one sample, with a row for each instance or for each counter.

use std::collections::HashMap;
use std::fmt::Write as _;

use perfset_engine::path::PathValue;

use crate::form::CellForm;
use crate::notes;
use crate::path_names::instance_name;
use crate::rows::{InstanceRow, InstanceTable, RowOrder};
use crate::text::{cut_middle, escaped, wrapped};

/// Layout of the blocks of values in the table output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'o> {
    /// Form of the cells in the blocks of the table output.
    pub cell: CellForm,
    /// Maximum number of characters in a line of the table output's blocks.
    pub width: usize,
    /// Number of lines of the terminal; `None` if the output is no terminal. A terminal gets the heads again for each
    /// screenful, and names that fit.
    pub height: Option<usize>,
    /// Order of the instances in a block of the table output.
    pub order: &'o RowOrder,
}

/// Part of a block of the table output: some of its columns, with their widths.
type Part = Vec<(usize, usize)>;

impl Blocks<'_> {
    /// Appends a block with the values of a table, below a line with the time and the counterset.
    pub fn push(&self, time: &str, table: &mut InstanceTable<'_>, out: &mut String) {
        let _ = writeln!(out, "{time}  {}", escaped(&table.counterset.name)); // a String takes everything
        if table.counterset.instance_type.is_multiple() {
            table.sort(self.order, self.cell.form);
            self.push_instances(table, out);
        } else {
            let values: Vec<_> =
                table.rows.iter().flat_map(|row| row.cells.iter().copied().flatten()).collect();
            self.push_counters(&values, out);
        }
    }

    /// Appends to a block of the table output a line for each instance, with a column for each counter. Columns that
    /// do not fit follow below, with the instances again: no number is ever cut.
    fn push_instances(&self, table: &InstanceTable<'_>, out: &mut String) {
        const HEAD: &str = "instance";
        /// Minimum number of characters of an instance name in a block of the table output, even beside a column as
        /// wide as the terminal.
        const NAME_LEAST: usize = 8;
        let names: Vec<String> = table.rows.iter().map(|row| instance_name(row.first)).collect();
        let name_len = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(HEAD.len());
        let cells: Vec<Vec<String>> = table.rows.iter().map(|row| self.cells(row)).collect();
        let heads: Vec<(String, String)> = table
            .columns
            .iter()
            .map(|counter| (escaped(&counter.shown_name()), self.cell.unit(counter)))
            .collect();
        for part in self.parts(&heads, &cells, name_len) {
            let used =
                part.iter().fold(2_usize, |sum, (_, width)| sum.saturating_add(*width).saturating_add(2));
            let mut head = String::new();
            push_line(&mut head, &part, |at| heads.get(at).map_or("", |(name, _)| name.as_str()), HEAD);
            if part.iter().any(|(at, _)| heads.get(*at).is_some_and(|(_, unit)| !unit.is_empty())) {
                push_line(&mut head, &part, |at| heads.get(at).map_or("", |(_, unit)| unit.as_str()), "");
            }
            let head_lines = head.lines().count();
            // The lines of a screen below its head, with one line left for the next prompt.
            let screen = self.height.map(|height| height.saturating_sub(head_lines).saturating_sub(1).max(1));
            out.push_str(&head);
            for (number, (row, name)) in cells.iter().zip(&names).enumerate() {
                if number > 0 && screen.is_some_and(|screen| number.checked_rem(screen) == Some(0)) {
                    out.push_str(&head);
                }
                let cell = |at: usize| row.get(at).map_or("", String::as_str);
                match self.height {
                    Some(_) => {
                        let room = self.width.saturating_sub(used).max(NAME_LEAST);
                        push_line(out, &part, cell, &cut_middle(name, room));
                    }
                    None => push_line(out, &part, cell, name),
                }
            }
        }
    }

    /// Returns the texts of the cells in the row of an instance.
    fn cells(&self, row: &InstanceRow<'_>) -> Vec<String> {
        let cell = |v: &Option<&PathValue<'_>>| {
            let mut text = String::new();
            if let Some(v) = v {
                self.cell.push_cell(v, true, &mut text);
            }
            text
        };
        row.cells.iter().map(cell).collect()
    }

    /// Divides the columns of a block of the table output into parts that fit into the width beside the instance
    /// names.
    fn parts(&self, heads: &[(String, String)], cells: &[Vec<String>], name_len: usize) -> Vec<Part> {
        // A terminal may get a cut name, and a pipe gets whole ones, which should fit.
        let name_min = if self.height.is_some() { 16 } else { 24 };
        let room = self.width.saturating_sub(name_len.min(name_min)).saturating_sub(2);
        let mut parts: Vec<Part> = Vec::new();
        let mut used = 0_usize;
        for (at, (name, unit)) in heads.iter().enumerate() {
            let texts = cells.iter().filter_map(|row| row.get(at)).chain([name, unit]);
            let width = texts.map(|text| text.chars().count()).max().unwrap_or(0);
            let more = width.saturating_add(2);
            match parts.last_mut() {
                Some(part) if used.saturating_add(more) <= room => {
                    part.push((at, width));
                    used = used.saturating_add(more);
                }
                _ => {
                    parts.push(vec![(at, width)]);
                    used = more;
                }
            }
        }
        parts
    }

    /// Appends to a block of the table output a line for each value: value, unit, counter. A single reason that fits
    /// stands beside its value. All other reasons follow once, below all values.
    fn push_counters(&self, values: &[&PathValue<'_>], out: &mut String) {
        let form = self.cell.form;
        let note = |v: &PathValue<'_>| notes::note(form, v);
        // In short form, a number has its unit itself.
        let unit = |v: &PathValue<'_>| match self.cell.is_short() {
            true => String::new(),
            false => self.cell.unit(v.value.counter),
        };
        let units = values.iter().map(|v| unit(v).chars().count()).max().unwrap_or(0);
        let mut count: HashMap<String, usize> = HashMap::new();
        for note in values.iter().filter_map(|v| note(v)) {
            let of = count.entry(note).or_default();
            *of = of.saturating_add(1);
        }
        // A reason that several values share is printed once, below, with its number at each of them.
        let mut below: Vec<String> = Vec::new();
        for v in values {
            let mut cell = String::new();
            self.cell.push_cell(v, false, &mut cell);
            // 18 columns hold 14 digits with their separators, so nearly all numbers end at the same column.
            let mut line = format!("{cell:>18}");
            if units > 0 {
                let shown = if form.number(v).is_none() { String::new() } else { unit(v) };
                let _ = write!(line, " {shown:units$}"); // a String takes everything
            }
            let _ = write!(line, "  {}", escaped(&v.value.counter.shown_name()));
            if let Some(note) = note(v) {
                let beside = format!("{line}     {note}");
                if count.get(&note) == Some(&1) && beside.chars().count() <= self.width {
                    line = beside;
                } else {
                    let known = below.iter().position(|known| *known == note);
                    let at = known.unwrap_or(below.len());
                    if known.is_none() {
                        below.push(note);
                    }
                    let _ = write!(line, "  [{}]", at.saturating_add(1));
                }
            }
            let _ = writeln!(out, "{line}");
        }
        for (i, note) in below.iter().enumerate() {
            let mut head = format!("  [{}] ", i.saturating_add(1));
            let indent = head.chars().count();
            for line in wrapped(note, self.width.saturating_sub(indent)) {
                let _ = writeln!(out, "{head:indent$}{line}");
                head.clear();
            }
        }
    }
}

/// Appends a line of a block of the table output: right-aligned cells and a name.
fn push_line<'c>(out: &mut String, part: &Part, cell: impl Fn(usize) -> &'c str, name: &str) {
    for (at, width) in part {
        let _ = write!(out, "  {:>width$}", cell(*at)); // a String takes everything
    }
    // Blanks at the end of a name belong to the name.
    match name {
        "" => out.truncate(out.trim_end_matches(' ').len()),
        name => out.extend(["  ", name]),
    }
    out.push('\n');
}
