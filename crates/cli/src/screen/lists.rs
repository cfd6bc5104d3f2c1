//! Processes and control groups on the screens: lists of the busiest ones beside each other, and tables of processes.

use perfset::FactKind;
use perfset::output::text::wrapped;
use perfset::overview::{FactCache, GroupState, MachineState, ProcessState, StateValue, busiest};

use super::draw::{
    AGE, ScreenTable, Style, StyledLine, TableHead, Thresholds, beside, column, cut_end, padded, reason,
    shortened, shown_of,
};
use super::overview::Screen;

impl<'a> Screen<'a> {
    /// Returns the busiest processes in lists beside each other: by processor time, by memory, by storage.
    pub(super) fn processes_by_use(&self, rows: usize) -> Vec<StyledLine> {
        let list = |one: &Use<ProcessState>| {
            let table = self.process_list(one);
            let name_and_text = |process: &ProcessState| {
                (process.name.clone(), self.about_process(process, table.text_width()))
            };
            let most = self.rows_of_list(one, rows);
            (self.list_width(one), list(table.clone(), &self.state.processes, name_and_text, one, most))
        };
        let mut lists: Vec<_> = USES.iter().map(list).collect();
        if let (Some((count, _)), Some((_, disk))) = (&self.state.refused, lists.last_mut()) {
            // Without it, an empty list would say that no process uses the disks.
            disk.truncate(rows);
            disk.push(StyledLine::new(Style::Dim, format!("+{count} denied")));
        }
        beside(lists)
    }

    /// Returns the width of a list of the busiest processes, with the space to the next list.
    fn list_width(&self, one: &Use<ProcessState>) -> usize {
        let values = USES.iter().fold(0_usize, |sum, one| sum.saturating_add(one.width));
        let names = self.width.saturating_sub(values).checked_div(USES.len()).unwrap_or(0);
        names.saturating_add(one.width)
    }

    /// Returns a list of the busiest processes without rows.
    fn process_list(&self, one: &Use<ProcessState>) -> ScreenTable {
        let columns = [column(one.head, one.width)];
        ScreenTable::new("process", self.list_width(one).saturating_sub(1), &columns)
            .with_text(text_head, false)
    }

    /// Returns the number of rows of a list of the busiest processes. The list by storage leaves one row for the line
    /// about refused processes.
    fn rows_of_list(&self, one: &Use<ProcessState>, rows: usize) -> usize {
        let is_last = USES.last().is_some_and(|last| last.head == one.head);
        rows.saturating_sub(usize::from(is_last && self.state.refused.is_some()))
    }

    /// Returns the processes whose facts are shown in the lists of the busiest processes; `rows` returns the number
    /// of rows of a list.
    pub(super) fn described_in_lists(&self, rows: impl Fn() -> usize) -> Vec<&'a ProcessState> {
        let with_text = USES.iter().filter(|one| self.process_list(one).text_width() > 0);
        let shown = |one| shown_in_list(&self.state.processes, self.rows_of_list(one, rows()), one);
        with_text.flat_map(shown).collect()
    }

    /// Returns the processes of a screen's table whose facts are shown; `lines` returns the number of lines below the
    /// table's head.
    pub(super) fn described_in_table(
        &self,
        lines: impl Fn() -> usize,
        value: impl Fn(&ProcessState) -> StateValue,
    ) -> Vec<&'a ProcessState> {
        let processes = &self.state.processes;
        let has_text = self.process_table().text_width() > 0;
        busiest(processes, if has_text { shown_of(processes.len(), lines()) } else { 0 }, value)
    }

    /// Returns a text of this width with the known facts about a process: user, container or unit, command line.
    fn about_process(&self, process: &ProcessState, width: usize) -> String {
        if width == 0 {
            return String::new();
        }
        let Some(facts) = self.facts.process(process) else { return not_read() };
        // Everything is in the root group.
        let group = || facts.text(FactKind::Cgroup).filter(|path| *path != "/");
        let place = facts.text(FactKind::Container).or_else(|| facts.text(FactKind::Unit)).or_else(group);
        let command = facts.text(FactKind::CommandLine);
        let (user, place) = (facts.text(FactKind::User).unwrap_or("-"), place.unwrap_or("-"));
        let user = padded(cut_end(user, 8), 8);
        let text = match width >= WIDE_TEXT {
            true => {
                let place = padded(shortened(place, 24), 24);
                format!("{user} {place} {}", command.unwrap_or_default())
            }
            false => format!("{user} {}", command.unwrap_or(place)),
        };
        text.trim_end().to_owned()
    }

    pub(super) fn groups_by_use(&self, rows: usize) -> Vec<StyledLine> {
        let MachineState { groups_by_time, groups_by_memory, .. } = self.state;
        if groups_by_time.is_empty() && groups_by_memory.is_empty() {
            return self.no_groups();
        }
        let width = self.width.saturating_div(2);
        let name = |group: &GroupState| (group.name.clone(), String::new());
        let table = |one: &Use<GroupState>| {
            ScreenTable::new("cgroup", width.saturating_sub(1), &[column(one.head, one.width)])
        };
        let time =
            Use { head: "cpu", width: 12, unit: "%", of: |group: &GroupState| group.processor_time.clone() };
        let memory =
            Use { head: "mem+cache", width: 12, unit: "By", of: |group: &GroupState| group.memory.clone() };
        let mut by_time = list(table(&time), groups_by_time, name, &time, rows);
        if let Some(why) = self.state.no_groups.as_ref().filter(|_| groups_by_time.is_empty()) {
            let why = why.to_string();
            let width = width.saturating_sub(2);
            by_time.extend(wrapped(&why, width).into_iter().map(|line| StyledLine::new(Style::Dim, line)));
        }
        by_time.truncate(rows.saturating_add(1));
        let by_memory = list(table(&memory), groups_by_memory, name, &memory, rows);
        beside(vec![(width, by_time), (width, by_memory)])
    }

    /// Returns a screen line with the reason why control groups have no processor time.
    pub(super) fn no_groups(&self) -> Vec<StyledLine> {
        let why = self.state.no_groups.as_ref().and_then(|why| reason(&Err(why.clone())));
        why.map(|why| StyledLine::new(Style::Head, "cgroup ").with(Style::Dim, format!("-  {why}")))
            .into_iter()
            .collect()
    }

    /// Returns a table of processes without rows.
    fn process_table(&self) -> ScreenTable {
        const COLUMNS: [TableHead; 5] = [
            column("cpu", 10),
            column("memory", 11),
            column("read", 13),
            column("written", 13),
            column("age", 12),
        ];
        let table = ScreenTable::new("process", self.width, &COLUMNS);
        table.with_text(text_head, self.height.is_none())
    }

    /// Returns a screen table of processes, those with the greatest value first.
    pub(super) fn processes(&self, value: impl Fn(&ProcessState) -> StateValue) -> ScreenTable {
        let mut table = self.process_table();
        for process in busiest(&self.state.processes, usize::MAX, value) {
            table.row_with_text(
                &process.name,
                &[
                    (&process.processor_time, "%", Thresholds::NONE),
                    (&process.memory, "By", Thresholds::NONE),
                    (&process.read, "By/s", Thresholds::NONE),
                    (&process.written, "By/s", Thresholds::NONE),
                    (&process.age, AGE, Thresholds::NONE),
                ],
                &self.about_process(process, table.text_width()),
            );
        }
        table
    }

    pub(super) fn groups(&self, width: usize) -> ScreenTable {
        let columns = [column("cpu", 11), column("mem+cache", 12)];
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

    /// Returns the screen lines about processes whose bytes of storage I/O could not be read, with their number and
    /// the reason.
    pub(super) fn refused(&self) -> Vec<StyledLine> {
        let Some((count, why)) = &self.state.refused else { return Vec::new() };
        let text = format!("without disk bytes: {count} of the processes: {why}");
        wrapped(&text, self.width).into_iter().map(|line| StyledLine::new(Style::Dim, line)).collect()
    }
}

/// Kind of use of the machine, such as processor time, by which rows are ranked.
struct Use<T> {
    head: &'static str,
    /// Width of the values of this kind of use, in columns.
    width: usize,
    unit: &'static str,
    of: fn(&T) -> StateValue,
}

/// Kinds of use of the machine by which processes are ranked.
const USES: [Use<ProcessState>; 3] = [
    Use { head: "cpu", width: 9, unit: "%", of: |process| process.processor_time.clone() },
    Use { head: "memory", width: 11, unit: "By", of: |process| process.memory.clone() },
    Use { head: "disk", width: 13, unit: "By/s", of: ProcessState::storage },
];

/// Returns the text of a row whose facts are not read yet: a table in a pipe can have more rows than are read at once.
pub(super) fn not_read() -> String {
    format!("not read yet: {} rows a sample", FactCache::NEW_AT_ONCE)
}

/// Minimum width of texts about processes that have a column for the control group.
const WIDE_TEXT: usize = 60;

/// Returns the column head above texts about processes, for their width.
fn text_head(width: usize) -> &'static str {
    if width >= WIDE_TEXT {
        "user     unit or cgroup           command"
    } else {
        "user     command or cgroup"
    }
}

/// Returns the rows that a list of the busiest processes or control groups shows, without idle ones.
fn shown_in_list<'r, T>(rows: &'r [T], most: usize, one: &Use<T>) -> Vec<&'r T> {
    let mut busiest = busiest(rows, most, one.of);
    busiest.retain(|row| (one.of)(row).is_ok_and(|value| value > 0.0));
    busiest
}

/// Adds the busiest rows of processes or control groups to an empty list, each with its name and its text. Returns
/// the head and at most `most` rows.
fn list<T>(
    mut table: ScreenTable,
    rows: &[T],
    name_and_text: impl Fn(&T) -> (String, String),
    one: &Use<T>,
    most: usize,
) -> Vec<StyledLine> {
    for row in shown_in_list(rows, most, one) {
        let (name, text) = name_and_text(row);
        table.row_with_text(&name, &[(&(one.of)(row), one.unit, Thresholds::NONE)], &text);
    }
    table.lines(most)
}
