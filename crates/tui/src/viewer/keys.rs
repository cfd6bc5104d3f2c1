//! Functions of the keys of an interactive screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use perfset::FactKind;
use perfset::output::text::{escaped, is_harmful};
use perfset::tables::{TreeKind, shown_counters};

use super::{Overlay, Prompt, PromptKind, STRIP_MOST, StripCounter, Viewer};
use crate::filter::RowFilter;
use crate::sample::RowChange;
use crate::screen::ScreenPlace;
use crate::tab::TableTab;
use crate::timeline::Timeline;

/// Length of a minute, in 100 ns.
const MINUTE: i64 = 600_000_000;

/// Minimum size of a peak of a counter, as a share of the counter's greatest value.
const PEAK: f64 = 0.5;

/// Action that the program takes after a pressed key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOutcome {
    /// Action that draws the screen with the changes.
    Draw,
    /// Action that copies a text to the terminal's clipboard, and draws the screen.
    Copy(String),
    /// Action that suspends the program, as Ctrl+Z does, until the shell continues it.
    Suspend,
    /// Action that ends the program at once.
    Quit,
}

impl Viewer {
    /// Handles a pressed key, and returns the action that the program takes then.
    pub fn key(&mut self, key: KeyEvent) -> KeyOutcome {
        self.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return KeyOutcome::Quit;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('z') {
            return KeyOutcome::Suspend;
        }
        if self.prompt.is_some() {
            self.prompt_key(key.code);
            return KeyOutcome::Draw;
        }
        match self.overlay {
            Overlay::None => self.table_key(key.code),
            Overlay::Columns(chosen) => {
                self.columns_key(key.code, chosen);
                KeyOutcome::Draw
            }
            Overlay::Help | Overlay::Detail { .. } => match key.code {
                KeyCode::Char('y') => self.copied(),
                _ => {
                    self.overlay = Overlay::None;
                    KeyOutcome::Draw
                }
            },
        }
    }

    /// Handles a click on a part of the interactive screen. If a list or prompt covers the table, the click only
    /// closes it.
    pub fn click(&mut self, place: ScreenPlace) {
        self.message = None;
        if self.overlay != Overlay::None || self.prompt.is_some() {
            // Columns may have been chosen there.
            self.prompt = None;
            if self.overlay != Overlay::None {
                self.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
            }
            return;
        }
        match place {
            ScreenPlace::Time(_) if self.refuses(KeyCode::Char('g')) => {}
            ScreenPlace::Time(time) => self.go_to_time(time),
            ScreenPlace::Tab(tab) => self.show_tab(tab),
            ScreenPlace::Column(column) => {
                self.column = column;
                self.sort_by(Some(column));
            }
            ScreenPlace::Row(row, column) => {
                self.column = column.unwrap_or(self.column);
                self.select(row);
            }
        }
    }

    /// Handles the mouse wheel, which moves the selected row of the table.
    pub fn wheel(&mut self, down: bool) {
        const LINES: usize = 3;
        if self.overlay == Overlay::None && self.prompt.is_none() {
            let row = if down { self.row.saturating_add(LINES) } else { self.row.saturating_sub(LINES) };
            self.select(row);
        }
    }

    fn table_key(&mut self, code: KeyCode) -> KeyOutcome {
        if self.refuses(code) {
            return KeyOutcome::Draw;
        }
        match code {
            KeyCode::Char('q') | KeyCode::Esc if self.take_filter(code) || self.end_span(code) => {}
            KeyCode::Char('q') | KeyCode::Esc => return KeyOutcome::Quit,
            KeyCode::Char('y') => return self.copied(),
            // Rows.
            KeyCode::Up | KeyCode::Char('k') => self.select(self.row.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select(self.row.saturating_add(1)),
            KeyCode::PageUp => self.select(self.row.saturating_sub(self.page)),
            KeyCode::PageDown => self.select(self.row.saturating_add(self.page)),
            KeyCode::Home => self.select(0),
            KeyCode::End => self.select(usize::MAX),
            // Times.
            KeyCode::Left | KeyCode::Char('h') => self.step(-1),
            KeyCode::Right | KeyCode::Char('l') => self.step(1),
            KeyCode::Char('[') => self.move_by(-MINUTE),
            KeyCode::Char(']') => self.move_by(MINUTE),
            KeyCode::Char('{') => self.move_by(MINUTE.saturating_mul(-10)),
            KeyCode::Char('}') => self.move_by(MINUTE.saturating_mul(10)),
            KeyCode::Char(' ') => self.toggle_live(),
            KeyCode::Char('w') => self.peak(true),
            KeyCode::Char('W') => self.peak(false),
            KeyCode::Char('m') => self.mark(),
            KeyCode::Char('n') => self.next_mark(),
            // Tables, and the order of their rows.
            KeyCode::Tab => {
                self.show_tab(self.tab.saturating_add(1).checked_rem(self.tabs.len()).unwrap_or(0))
            }
            KeyCode::BackTab => {
                let count = self.tabs.len();
                self.show_tab(self.tab.checked_sub(1).unwrap_or(count.saturating_sub(1)));
            }
            KeyCode::Char(digit @ '1'..='9') => {
                let number = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).unwrap_or(0);
                self.show_tab(number.saturating_sub(1));
            }
            KeyCode::Char('<' | ',') => self.move_column(false),
            KeyCode::Char('>' | '.') => self.move_column(true),
            KeyCode::Char('s') => self.sort_by(Some(self.column)),
            KeyCode::Char('S') => self.reverse(),
            KeyCode::Char('N') => self.sort_by(None),
            KeyCode::Char('P') => self.sort_by_title("%CPU"),
            KeyCode::Char('M') => self.sort_by_title("MEM"),
            KeyCode::Char('D') => self.sort_by_title("WRITE/s"),
            KeyCode::Char('R') => self.next_total(),
            KeyCode::Char('d') => self.toggle_difference(),
            KeyCode::Char('b') => self.toggle_changes(),
            KeyCode::Char('x') => self.is_raw = !self.is_raw,
            KeyCode::Char('u') => self.has_units = !self.has_units,
            KeyCode::Char('c') => self.overlay = Overlay::Columns(0),
            KeyCode::Char('+') => self.add_to_strip(),
            KeyCode::Char('?') | KeyCode::F(1) => self.overlay = Overlay::Help,
            KeyCode::Char('f') => self.toggle_tree(),
            KeyCode::Char('z') => self.toggle_group(),
            KeyCode::Enter if self.toggle_fold() => {}
            KeyCode::Enter => self.detail(),
            KeyCode::Char('/') => self.ask(PromptKind::Filter),
            KeyCode::Char('g') => self.ask(PromptKind::Time),
            KeyCode::Char(':') => self.ask(PromptKind::Counterset),
            KeyCode::F(9) => self.message = Some("perfset does not end processes".to_owned()),
            _ => {}
        }
        KeyOutcome::Draw
    }

    /// Removes the filter of the rows if the pressed key is Esc. Returns `false` if there is no filter, or the key is
    /// another one.
    fn take_filter(&mut self, code: KeyCode) -> bool {
        let tab = self.tabs.get_mut(self.tab).filter(|_| code == KeyCode::Esc);
        let taken = tab.and_then(|tab| tab.filter.take()).is_some();
        if taken {
            self.arrange();
        }
        taken
    }

    /// Ends the span of the table if the pressed key is Esc, so that the table shows the instant again. Returns
    /// `false` if there is no span, or the key is another one.
    fn end_span(&mut self, code: KeyCode) -> bool {
        let ended = code == KeyCode::Esc && self.span.take().is_some();
        if ended {
            self.arrange();
        }
        ended
    }

    fn ask(&mut self, kind: PromptKind) {
        self.prompt = Some(Prompt { kind, text: String::new() });
    }

    /// Shows the table's rows as a tree, or as a list if they are a tree.
    fn toggle_tree(&mut self) {
        self.keep_selected();
        let Some(tab) = self.tabs.get_mut(self.tab) else { return };
        let before = tab.counters();
        tab.tree = match tab.tree {
            Some(_) => None,
            None => TreeKind::of(&tab.counterset),
        };
        if tab.tree.is_none() && before == tab.counters() && self.tree.is_empty() {
            self.message =
                Some("processes and control groups have a tree, and this table has none".to_owned());
        }
        // Further counters are read only if there are any, because the history of a live table ends with that.
        match self.shown_tab().is_some_and(|tab| tab.counters() != before) {
            true => self.reload(),
            false => self.arrange(),
        }
    }

    /// Hides or shows the rows of the tree below the selected row. Returns `false` if no rows are below it.
    fn toggle_fold(&mut self) -> bool {
        if !self.tree.get(self.row).is_some_and(|row| row.has_children) {
            return false;
        }
        self.keep_selected();
        if let (Some(identity), Some(tab)) = (self.selected_identity(), self.tabs.get_mut(self.tab)) {
            if !tab.folded.remove(&identity) {
                tab.folded.insert(identity);
            }
        }
        self.arrange();
        true
    }

    /// Moves from a process to the table row of its control group, or from the control groups to the processes.
    fn toggle_group(&mut self) {
        let tab_of = |viewer: &Self, names: &[&str]| {
            viewer.tabs.iter().position(|tab| names.iter().any(|name| tab.counterset.name == **name))
        };
        let (groups, processes) = (tab_of(self, &["CGroup"]), tab_of(self, &["Process V2", "Process"]));
        let (Some(groups), Some(processes)) = (groups, processes) else {
            self.message = Some("this source has no processes and control groups".to_owned());
            return;
        };
        if self.tab == groups {
            return self.show_tab(processes);
        }
        let cgroup = self.facts().into_iter().find(|fact| fact.kind == FactKind::Cgroup);
        match cgroup.map(|fact| fact.text) {
            Some(Ok(path)) => {
                self.show_tab(groups);
                // The root is `/`, and other paths have none at the begin.
                let name = if path == "/" { "/" } else { path.trim_start_matches('/') };
                let rows = self.sample().map(|sample| &*sample.rows).unwrap_or_default();
                let at = rows.iter().position(|row| &*row.identity.name == name);
                let shown = at.and_then(|at| self.order.iter().position(|shown| *shown == at));
                match (at, shown) {
                    (_, Some(row)) => self.select(row),
                    (Some(_), None) => {
                        let text = "the filter or a folded row hides the control group";
                        self.message = Some(format!("{text} {}", escaped(name)));
                    }
                    (None, None) => {
                        self.message = Some(format!("the table has no control group {}", escaped(name)));
                    }
                }
            }
            Some(Err(reason)) => self.message = Some(escaped(&reason.to_string())),
            None => self.message = Some("nothing is known about the control group of this row".to_owned()),
        }
    }

    /// Shows details about the table cell under the cursor, and keeps the cursor at its instance.
    fn detail(&mut self) {
        self.keep_selected();
        let of = self.selected_identity();
        self.overlay = Overlay::Detail { facts: self.facts(), of };
    }

    /// Returns `true` if the selected instance has ended, and shows a message: its path can be that of a later
    /// instance.
    fn has_ended(&mut self) -> bool {
        let row = self.cell().and_then(|(row, _)| self.sample()?.rows.get(row));
        // The command of a comparison reads the log that has the instance.
        let change = row.and_then(|row| row.change).filter(|_| !self.is_comparison());
        let ended = matches!(change, Some(RowChange::Ended | RowChange::BeganAndEnded));
        if ended {
            self.message = Some("the instance has ended: its path can be that of a later one".to_owned());
        }
        ended
    }

    fn copied(&mut self) -> KeyOutcome {
        if self.has_ended() {
            return KeyOutcome::Draw;
        }
        match self.command() {
            // In a shell, control characters of a name would be keys.
            Some(command) if command.chars().any(is_harmful) => {
                self.message = Some("not copied: the name has control characters".to_owned());
                KeyOutcome::Draw
            }
            Some(command) => {
                self.message = Some(format!("copied: {}", escaped(&command)));
                KeyOutcome::Copy(command)
            }
            None => KeyOutcome::Draw,
        }
    }

    fn step(&mut self, by: isize) {
        if by < 0 && self.timeline.position().0 == 0 {
            self.load_past();
        }
        let (at, count) = self.timeline.position();
        let next = at.saturating_add_signed(by);
        if next < count && next != at {
            self.go_to(next);
        } else if count > 0 && self.message.is_none() {
            let end = if by < 0 { "this is the first sample" } else { "this is the last sample" };
            self.message = Some(end.to_owned());
        }
    }

    fn move_by(&mut self, span: i64) {
        if let Some(now) = self.timeline.now() {
            self.go_to_time(now.saturating_add(span));
        }
    }

    /// Keeps a live screen at the shown sample, or lets it show new samples again. Over a log, goes to the last
    /// sample.
    fn toggle_live(&mut self) {
        let (at, count) = self.timeline.position();
        match &mut self.timeline {
            Timeline::Live { history, shown, .. } if shown.is_none() => *shown = history.get(at).cloned(),
            Timeline::Live { shown, .. } => *shown = None,
            Timeline::Log { .. } => self.go_to(count.saturating_sub(1)),
        }
        self.arrange();
    }

    fn mark(&mut self) {
        let Some(now) = self.timeline.now() else { return };
        let text = format!("mark {}", self.marks.len().saturating_add(1));
        self.message = Some(format!("{text} is set; n goes to the next mark"));
        self.marks.push((now, text));
        self.marks.sort();
    }

    /// Moves the time cursor to the next mark, or to the first mark if there is no later one.
    fn next_mark(&mut self) {
        let now = self.timeline.now().unwrap_or(i64::MIN);
        let later =
            |(time, _): &&(i64, String)| self.timeline.number_at(*time) > self.timeline.number_at(now);
        let Some((time, text)) = self.marks.iter().find(later).or_else(|| self.marks.first()).cloned() else {
            self.message = Some("there is no mark; m sets one".to_owned());
            return;
        };
        self.go_to_time(time);
        self.message = Some(text);
    }

    /// Moves the time cursor to the next or previous peak of the counter under the cursor, in the range of the chart
    /// strip.
    fn peak(&mut self, forward: bool) {
        let Some(now) = self.timeline.now() else { return };
        let begin = self.timeline.strip().next().map(|(time, _)| *time).filter(|_| !forward);
        begin.into_iter().for_each(|begin| self.load_past_to(begin));
        // Another instance can be the first one at the peak.
        self.keep_selected();
        let values = self.values_in_range();
        let most = values.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
        let is_peak = |window: &&[(i64, f64)]| {
            matches!(window, [(_, before), (_, value), (_, after)]
                if value >= before && value > after && *value >= most * PEAK)
        };
        // A value at the edge of the range can be a peak, too.
        let mut padded = vec![(i64::MIN, f64::NEG_INFINITY)];
        padded.extend(values);
        padded.push((i64::MAX, f64::NEG_INFINITY));
        let times = padded.windows(3).filter(is_peak).filter_map(|window| Some(window.get(1)?.0));
        let mut times: Vec<i64> = times.collect();
        if !forward {
            times.reverse();
        }
        let found = times.into_iter().find(|time| if forward { *time > now } else { *time < now });
        match found {
            Some(time) => {
                let number = self.timeline.number_at(time);
                self.go_to(number);
            }
            None => {
                let side = if forward { "later" } else { "earlier" };
                self.message = Some(format!("no {side} peak of this counter in the range of the strip"));
            }
        }
    }

    /// Returns the times and values of the counter under the cursor, in the range of the chart strip.
    fn values_in_range(&mut self) -> Vec<(i64, f64)> {
        let (Some((row, column)), Some(path)) = (self.cell(), self.path()) else { return Vec::new() };
        let identity = self.sample().and_then(|sample| sample.rows.get(row)).map(|row| row.identity.clone());
        match &self.timeline {
            Timeline::Live { history, .. } => {
                let value = |sample: &crate::sample::TableSample| {
                    let row = sample.rows.iter().find(|row| Some(&row.identity) == identity.as_ref())?;
                    Some((sample.time, row.values.get(column)?.number()?))
                };
                history.iter().filter_map(|sample| value(sample)).collect()
            }
            Timeline::Log { strip, .. } => {
                let window = perfset::Window {
                    begin: strip.first().map(|(time, _)| *time),
                    end: strip.last().map(|(time, _)| *time),
                };
                match self.feed.strip(window, &[path]) {
                    Ok(samples) => {
                        let value =
                            |(time, values): &(i64, Vec<Option<f64>>)| Some((*time, (*values.first()?)?));
                        samples.iter().filter_map(value).collect()
                    }
                    Err(error) => {
                        self.message = Some(escaped(&error.to_string()));
                        Vec::new()
                    }
                }
            }
        }
    }

    fn move_column(&mut self, right: bool) {
        let Some(tab) = self.shown_tab().filter(|tab| !tab.is_single()) else { return };
        let last = tab.columns.len().saturating_sub(1);
        self.column =
            if right { self.column.saturating_add(1).min(last) } else { self.column.saturating_sub(1) };
        self.sort_by(Some(self.column));
    }

    /// Sorts the table's rows by a column or by name, or reverses their order if they are sorted that way already.
    fn sort_by(&mut self, column: Option<usize>) {
        let Some(tab) = self.tabs.get_mut(self.tab) else { return };
        tab.is_descending = if tab.sorted_by == column { !tab.is_descending } else { column.is_some() };
        tab.sorted_by = column;
        self.arrange();
    }

    fn sort_by_title(&mut self, title: &str) {
        let Some(tab) = self.tabs.get_mut(self.tab) else { return };
        let Some(column) = tab.columns.iter().position(|column| column.title == title) else {
            self.message = Some(format!("this table has no column {title}"));
            return;
        };
        (tab.sorted_by, tab.is_descending) = (Some(column), true);
        self.column = column;
        self.arrange();
    }

    fn reverse(&mut self) {
        if let Some(tab) = self.tabs.get_mut(self.tab) {
            tab.is_descending = !tab.is_descending;
        }
        self.arrange();
    }

    /// Adds the counter under the cursor to the chart strip, or removes the counter if it is there. If the strip is
    /// full, the last counter is replaced.
    fn add_to_strip(&mut self) {
        if self.has_ended() {
            return;
        }
        let (Some((_, column)), Some(path)) = (self.cell(), self.path()) else { return };
        let Some(heading) = self.shown_tab().and_then(|tab| tab.columns.get(column)).cloned() else { return };
        let name = path.instance.as_deref().map(escaped).unwrap_or_default();
        let label = if name.is_empty() { heading.title.clone() } else { format!("{name} {}", heading.title) };
        let there = self.strip.iter().position(|counter| counter.path == path);
        let message = match there {
            Some(at) => {
                self.strip.remove(at);
                self.timeline.change_strip(|values| {
                    if at < values.len() {
                        values.remove(at);
                    }
                });
                format!("{label} is no longer on the strip")
            }
            None => {
                let kept = STRIP_MOST.saturating_sub(1);
                self.strip.truncate(kept);
                self.strip.push(StripCounter {
                    label: label.clone(),
                    path,
                    unit: heading.counter.unit.to_string(),
                });
                let count = self.strip.len();
                self.timeline.change_strip(|values| {
                    values.truncate(kept);
                    values.resize(count, None);
                });
                format!("{label} is on the strip; + again removes it")
            }
        };
        // A log has the counter's past, a live source begins now.
        match self.waits_for_keys() {
            true => self.reload(),
            false => self.collect_or_say(),
        }
        self.message = self.message.take().or(Some(message));
    }

    fn columns_key(&mut self, code: KeyCode, chosen: usize) {
        let Some(tab) = self.tabs.get_mut(self.tab) else { return };
        let counters = shown_counters(&tab.counterset, true);
        let last = counters.len().saturating_sub(1);
        match code {
            // Rows.
            KeyCode::Up | KeyCode::Char('k') => self.overlay = Overlay::Columns(chosen.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => {
                self.overlay = Overlay::Columns(chosen.saturating_add(1).min(last));
            }
            KeyCode::Char(' ') => {
                let counter = counters.get(chosen).map(|counter| (*counter).clone());
                if let Some(counter) = counter {
                    tab.toggle(&counter);
                    self.has_new_columns = true;
                }
            }
            _ => {
                self.overlay = Overlay::None;
                if std::mem::take(&mut self.has_new_columns) {
                    let sorted_by = self.shown_tab().and_then(|tab| tab.sorted_by).unwrap_or(0);
                    self.column = if self.is_comparison() { sorted_by } else { 0 };
                    self.reload();
                }
            }
        }
    }

    fn prompt_key(&mut self, code: KeyCode) {
        let Some(prompt) = &mut self.prompt else { return };
        match code {
            KeyCode::Esc => self.prompt = None,
            KeyCode::Backspace => {
                prompt.text.pop();
            }
            KeyCode::Char(c) => prompt.push(c),
            KeyCode::Tab if prompt.kind == PromptKind::Counterset => {
                if let Some(name) = self.candidates().first().cloned() {
                    self.prompt = Some(Prompt { kind: PromptKind::Counterset, text: name });
                }
            }
            KeyCode::Enter => {
                if let Some(prompt) = self.prompt.take() {
                    self.answer(&prompt);
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, prompt: &Prompt) {
        match prompt.kind {
            PromptKind::Filter => {
                let Some(tab) = self.tabs.get_mut(self.tab) else { return };
                let titles: Vec<&str> = tab.columns.iter().map(|column| &*column.title).collect();
                match RowFilter::parse(&prompt.text, &titles) {
                    _ if prompt.text.trim().is_empty() => tab.filter = None,
                    Ok(filter) => tab.filter = Some(filter),
                    Err(error) => self.message = Some(escaped(&error)),
                }
                self.arrange();
                self.select(0);
            }
            PromptKind::Time => match self.instant(&prompt.text) {
                Ok(time) => self.go_to_time(time),
                Err(error) => self.message = Some(escaped(&error)),
            },
            PromptKind::Counterset => match self.candidates_of(&prompt.text).first().cloned() {
                Some(name) => {
                    self.add_tab(&name);
                    self.show_tab(self.tab);
                }
                None => self.message = Some(format!("no counterset contains \"{}\"", escaped(&prompt.text))),
            },
        }
    }

    /// Selects the tab of the counterset with this name, or adds a new tab after all others.
    pub(super) fn add_tab(&mut self, name: &str) {
        let named = |set: &perfset::Counterset| set.name == name;
        if let Some(at) = self.tabs.iter().position(|tab| named(&tab.counterset)) {
            self.tab = at;
        } else if let Some(set) = self.countersets.iter().find(|set| named(set)) {
            self.tabs.push(TableTab::of(set));
            self.tab = self.tabs.len().saturating_sub(1);
            self.compare_tabs();
        }
    }

    /// Returns the names of countersets that contain the text of the prompt, as candidates.
    #[must_use]
    pub(crate) fn candidates(&self) -> Vec<String> {
        match &self.prompt {
            Some(prompt) if prompt.kind == PromptKind::Counterset => self.candidates_of(&prompt.text),
            _ => Vec::new(),
        }
    }

    /// Returns the names of countersets that contain a text, as candidates; names that begin with the text come
    /// first.
    pub(super) fn candidates_of(&self, text: &str) -> Vec<String> {
        let wanted = text.trim().to_lowercase();
        let names = self.countersets.iter().map(|set| set.name.to_string());
        let mut found: Vec<String> = names.filter(|name| name.to_lowercase().contains(&wanted)).collect();
        let key = |name: &String| {
            let lower = name.to_lowercase();
            (lower != wanted, !lower.starts_with(&wanted))
        };
        found.sort_by_key(key);
        found
    }
}
