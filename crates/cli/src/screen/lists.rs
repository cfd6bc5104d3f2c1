//! Processes and control groups on the screens: the busiest in lists beside each other, and tables of processes.

use perfset::output::text::wrapped;
use perfset::overview::{GroupState, MachineState, ProcessState, StateValue, busiest};

use super::draw::{AGE, ScreenTable, Style, StyledLine, TableHead, Thresholds, beside, reason};
use super::overview::Screen;

impl Screen<'_> {
    /// Returns the busiest processes in lists beside each other: by processor time, by memory, by storage.
    pub(super) fn processes_by_use(&self, rows: usize) -> Vec<StyledLine> {
        let uses = [
            Use {
                head: "cpu",
                width: 9,
                unit: "%",
                of: |process: &ProcessState| process.processor_time.clone(),
            },
            Use { head: "memory", width: 11, unit: "By", of: |process| process.memory.clone() },
            Use { head: "disk", width: 13, unit: "By/s", of: ProcessState::storage },
        ];
        let values = uses.iter().fold(0_usize, |sum, one| sum.saturating_add(one.width));
        let names = self.width.saturating_sub(values).checked_div(uses.len()).unwrap_or(0);
        let name = |process: &ProcessState| process.name.clone();
        let list = |one: &Use<ProcessState>| {
            let width = names.saturating_add(one.width);
            (width, list(("process", width), &self.state.processes, name, one, rows))
        };
        let mut lists: Vec<_> = uses.iter().map(list).collect();
        if let (Some((count, _)), Some((_, disk))) = (&self.state.refused, lists.last_mut()) {
            // Without it, an empty list would say that nobody uses the disks.
            disk.truncate(rows);
            disk.push(StyledLine::new(Style::Dim, format!("+{count} denied")));
        }
        beside(lists)
    }

    pub(super) fn groups_by_use(&self, rows: usize) -> Vec<StyledLine> {
        let MachineState { groups_by_time, groups_by_memory, .. } = self.state;
        if groups_by_time.is_empty() && groups_by_memory.is_empty() {
            return self.no_groups();
        }
        let width = self.width.saturating_div(2);
        let name = |group: &GroupState| group.name.clone();
        let time =
            Use { head: "cpu", width: 12, unit: "%", of: |group: &GroupState| group.processor_time.clone() };
        let memory =
            Use { head: "mem+cache", width: 12, unit: "By", of: |group: &GroupState| group.memory.clone() };
        let mut by_time = list(("cgroup", width), groups_by_time, name, &time, rows);
        if let Some(why) = self.state.no_groups.as_ref().filter(|_| groups_by_time.is_empty()) {
            let why = why.to_string();
            let width = width.saturating_sub(2);
            by_time.extend(wrapped(&why, width).into_iter().map(|line| StyledLine::new(Style::Dim, line)));
        }
        by_time.truncate(rows.saturating_add(1));
        let by_memory = list(("cgroup", width), groups_by_memory, name, &memory, rows);
        beside(vec![(width, by_time), (width, by_memory)])
    }

    /// Returns a line with the reason for having no processor time of control groups.
    pub(super) fn no_groups(&self) -> Vec<StyledLine> {
        let why = self.state.no_groups.as_ref().and_then(|why| reason(&Err(why.clone())));
        why.map(|why| StyledLine::new(Style::Head, "cgroup ").with(Style::Dim, format!("-  {why}")))
            .into_iter()
            .collect()
    }

    /// Returns a table of processes, those with the greatest value first.
    pub(super) fn processes(&self, value: impl Fn(&ProcessState) -> StateValue) -> ScreenTable {
        let columns = [
            TableHead { head: "cpu", width: 10 },
            TableHead { head: "memory", width: 11 },
            TableHead { head: "read", width: 13 },
            TableHead { head: "written", width: 13 },
            TableHead { head: "age", width: 12 },
        ];
        let mut table = ScreenTable::new("process", self.width.min(110), &columns);
        for process in busiest(&self.state.processes, usize::MAX, value) {
            table.row(
                &process.name,
                &[
                    (&process.processor_time, "%", Thresholds::NONE),
                    (&process.memory, "By", Thresholds::NONE),
                    (&process.read, "By/s", Thresholds::NONE),
                    (&process.written, "By/s", Thresholds::NONE),
                    (&process.age, AGE, Thresholds::NONE),
                ],
            );
        }
        table
    }

    pub(super) fn groups(&self, width: usize) -> ScreenTable {
        let columns = [TableHead { head: "cpu", width: 11 }, TableHead { head: "mem+cache", width: 12 }];
        let mut table = ScreenTable::new("cgroup", width.min(100), &columns);
        let MachineState { groups_by_time, groups_by_memory, .. } = self.state;
        let is_other = |group: &&GroupState| groups_by_time.iter().all(|known| known.name != group.name);
        for group in groups_by_time.iter().chain(groups_by_memory.iter().filter(is_other)) {
            table.row(
                &group.name,
                &[(&group.processor_time, "%", Thresholds::NONE), (&group.memory, "By", Thresholds::NONE)],
            );
        }
        table
    }

    /// Returns the lines about processes whose storage bytes were refused.
    pub(super) fn refused(&self) -> Vec<StyledLine> {
        let Some((count, why)) = &self.state.refused else { return Vec::new() };
        let text = format!("without disk bytes: {count} of the processes: {why}");
        wrapped(&text, self.width).into_iter().map(|line| StyledLine::new(Style::Dim, line)).collect()
    }
}

/// Use of the machine by which rows are ranked.
struct Use<T> {
    head: &'static str,
    /// Width of the values.
    width: usize,
    unit: &'static str,
    of: fn(&T) -> StateValue,
}

/// Returns a list of the busiest rows. The first parameter is the title of the names, and the width with the space to
/// the next list.
fn list<T>(
    (title, width): (&str, usize),
    rows: &[T],
    name: impl Fn(&T) -> String,
    one: &Use<T>,
    most: usize,
) -> Vec<StyledLine> {
    let column = TableHead { head: one.head, width: one.width };
    let mut table = ScreenTable::new(title, width.saturating_sub(1), &[column]);
    for row in busiest(rows, most, one.of) {
        let value = (one.of)(row);
        // An idle row is not busy.
        if value.as_ref().is_ok_and(|value| *value > 0.0) {
            table.row(&name(row), &[(&value, one.unit, Thresholds::NONE)]);
        }
    }
    table.lines(most)
}
