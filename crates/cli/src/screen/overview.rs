//! Drawing of the overview screen and of the screens of parts: a pure function of state and size.

use perfset::FactKind;
use perfset::output::human;
use perfset::overview::{
    DiskState, FactCache, Finding, FindingsSummary, MachineState, PressureState, ProcessState, RULES,
    Severity, StateValue,
};

use unicode_width::UnicodeWidthStr;

use super::draw::{
    ScreenTable, SparkGlyphs, Style, StyledLine, TableHead, Thresholds, bar, beside, column, duration,
    reason, shortened, shown_of, sparkline, text_of,
};
use super::history::{self, History, ShareHistory};
use super::lists::not_read;

/// Part of a machine that has a screen of its own, such as its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenPart {
    Memory,
    Disks,
    Network,
    Processes,
    Groups,
}

/// Data and size of a screen that is drawn.
#[derive(Debug)]
pub struct Screen<'a> {
    pub state: &'a MachineState,
    /// Name of the machine that the screen shows.
    pub machine: &'a str,
    /// System and kernel of the machine that the screen shows.
    pub system: &'a str,
    /// Text at the right end of the screen's second line, such as the keys.
    pub right: &'a str,
    /// Day, time and zone of the past instant that the screen shows; `None` for now.
    pub when: Option<&'a str>,
    pub width: usize,
    /// Number of lines of the screen; `None` for as many as needed.
    pub height: Option<usize>,
    /// Facts about processes and disks for the screen, as far as they have been read.
    pub facts: &'a FactCache,
    /// Earlier samples of the machine, for sparklines.
    pub history: &'a History,
    /// Characters of the screen's sparklines.
    pub glyphs: SparkGlyphs,
}

const BUSY: Thresholds = Thresholds { warning: 80.0, critical: 95.0 };
const FULL: Thresholds = Thresholds { warning: 90.0, critical: 97.0 };
const WAITING: Thresholds = Thresholds { warning: 10.0, critical: 50.0 };
const STOLEN: Thresholds = Thresholds { warning: 10.0, critical: 30.0 };
const SLOW: Thresholds = Thresholds { warning: 0.05, critical: 0.5 };
const ANY: Thresholds = Thresholds { warning: 1.0, critical: 100.0 };

/// Minimum width of a table of disks with all columns.
const WIDE_DISKS: usize = 60;

/// Maximum number of findings on the screen of a part of the machine.
const FINDINGS: usize = 4;

/// Number of rows of each list in the overview that is written to a pipe.
pub const PIPE_ROWS: usize = 10;

impl<'a> Screen<'a> {
    /// Returns all lines of the overview screen.
    pub fn overview(&self) -> Vec<StyledLine> {
        let mut lines = self.above_lists();
        let (processes, groups) = self.list_rows(lines.len());
        lines.extend(self.processes_by_use(processes));
        lines.extend(self.groups_by_use(groups));
        lines.truncate(self.height.unwrap_or(usize::MAX));
        lines
    }

    /// Returns the lines of the overview above the disks and interfaces.
    fn above_devices(&self) -> Vec<StyledLine> {
        let mut lines = self.head();
        lines.extend([self.processors(), self.memory(), self.swap(), self.pressure()]);
        let height = self.height.unwrap_or(usize::MAX);
        lines.extend(self.findings(if height < 30 { 2 } else { 6 }));
        lines.push(self.changes());
        lines
    }

    /// Returns the number of disks, and of network interfaces, that the overview shows below `above` lines.
    fn device_rows(&self, above: usize) -> usize {
        // Of a small window, half of the rest is for processes, and what they leave for control groups.
        let rows = match self.height {
            None => PIPE_ROWS,
            Some(height) => height.saturating_sub(above).saturating_sub(3),
        };
        rows.saturating_div(6).max(2)
    }

    /// Returns the lines of the overview above the lists of processes.
    fn above_lists(&self) -> Vec<StyledLine> {
        let mut lines = self.above_devices();
        lines.extend(self.devices(self.device_rows(lines.len())));
        let height = self.height.unwrap_or(usize::MAX);
        if self.width >= 100 && height >= 35 {
            lines.extend(self.file_systems(self.width).lines(3));
        }
        lines
    }

    /// Returns the numbers of rows of the lists of processes and of control groups, below `above` lines of the
    /// overview.
    fn list_rows(&self, above: usize) -> (usize, usize) {
        let rows = match self.height {
            None => PIPE_ROWS,
            Some(height) => height.saturating_sub(above).saturating_sub(2),
        };
        let groups = self
            .state
            .groups_by_time
            .len()
            .max(self.state.groups_by_memory.len())
            .min(rows.saturating_mul(2).saturating_div(5))
            .max(1);
        (rows.saturating_sub(groups), groups)
    }

    /// Returns the processes and disks whose facts this screen shows: none where it has no space for them.
    pub fn described(&self, part: Option<ScreenPart>) -> (Vec<&'a ProcessState>, Vec<&'a DiskState>) {
        let processes = match part {
            None => self.described_in_lists(|| self.list_rows(self.above_lists().len()).0),
            Some(part) => match table_value(part) {
                Some(value) => {
                    self.described_in_table(|| self.table_lines(part, &self.above_table(part)), value)
                }
                None => Vec::new(),
            },
        };
        let all = &self.state.disks;
        let has_text = |width| !all.is_empty() && self.disk_table(width, part.is_some()).text_width() > 0;
        let disks = match part {
            None if has_text(self.disks_beside()) => self.device_rows(self.above_devices().len()),
            Some(ScreenPart::Disks) if has_text(self.width) => {
                shown_of(all.len(), self.disk_lines(self.part_head(ScreenPart::Disks).len()))
            }
            _ => 0,
        };
        (processes, all.iter().take(disks).collect())
    }

    /// Returns all lines of the screen for one part of the machine.
    pub fn part(&self, part: ScreenPart) -> Vec<StyledLine> {
        let mut lines = self.above_table(part);
        let most = self.table_lines(part, &lines);
        if let Some(value) = table_value(part) {
            lines.extend(self.processes(value).lines_and_rest(most));
        }
        match part {
            ScreenPart::Memory => {}
            ScreenPart::Disks | ScreenPart::Processes => lines.extend(self.refused()),
            ScreenPart::Network => lines.extend(self.interfaces(self.width).lines_and_rest(most)),
            ScreenPart::Groups => {
                lines.extend(self.groups(self.width).lines_and_rest(most));
                lines.extend(self.no_groups());
            }
        }
        lines.truncate(self.height.unwrap_or(usize::MAX));
        lines
    }

    /// Returns the lines of a part's screen above its first table: the machine, the values of the part, and its
    /// findings.
    fn part_head(&self, part: ScreenPart) -> Vec<StyledLine> {
        let mut lines = self.head();
        let command = match part {
            ScreenPart::Memory => {
                lines.extend([self.memory(), self.swap(), self.memory_pressure()]);
                Some("perfset mem")
            }
            ScreenPart::Disks => {
                lines.push(self.pressure());
                Some("perfset disk")
            }
            ScreenPart::Network => {
                lines.push(self.tcp());
                Some("perfset net")
            }
            ScreenPart::Processes => {
                lines.push(self.processors());
                Some("perfset proc")
            }
            ScreenPart::Groups => {
                lines.push(self.processors());
                None
            }
        };
        let of_part = self.state.findings.iter().filter(|finding| Some(finding.next) == command);
        // The next command is this one.
        lines.extend(of_part.take(FINDINGS).map(Self::sentence));
        lines
    }

    /// Returns the lines of a part's screen above its last table.
    fn above_table(&self, part: ScreenPart) -> Vec<StyledLine> {
        let mut lines = self.part_head(part);
        match part {
            ScreenPart::Memory | ScreenPart::Network => lines.push(StyledLine::default()),
            ScreenPart::Disks => {
                lines.extend(self.disks(self.width, true).lines_and_rest(self.disk_lines(lines.len())));
                lines.push(StyledLine::default());
                let share = self.lines_below(lines.len()).saturating_div(2).max(2);
                lines.extend(self.file_systems(self.width).lines_and_rest(share));
                lines.push(StyledLine::default());
            }
            ScreenPart::Processes | ScreenPart::Groups => {}
        }
        lines
    }

    /// Returns the number of lines that a screen has for a table's rows, below `above` lines and the head.
    fn lines_below(&self, above: usize) -> usize {
        self.height.map_or(usize::MAX, |height| height.saturating_sub(above).saturating_sub(1))
    }

    /// Returns the number of lines for the table of disks on the screen of the disks. A third of the rest is for
    /// them, and half of what they leave for file systems.
    fn disk_lines(&self, above: usize) -> usize {
        self.lines_below(above).saturating_div(3).max(2)
    }

    /// Returns the number of lines for the last table on a part's screen, below the lines `above`.
    fn table_lines(&self, part: ScreenPart, above: &[StyledLine]) -> usize {
        let below = match part {
            ScreenPart::Memory | ScreenPart::Network => 0,
            ScreenPart::Disks | ScreenPart::Processes => self.refused().len(),
            ScreenPart::Groups => 1,
        };
        self.lines_below(above.len()).saturating_sub(below)
    }

    /// Returns the first two lines of a screen, which name the machine and its state.
    fn head(&self) -> Vec<StyledLine> {
        let MachineState { processors, memory, up_time, time, load, process_count, running, blocked, .. } =
            self.state;
        let s = if processors.count == 1 { "" } else { "s" };
        let size = memory.total.as_ref().map_or(String::new(), |total| format!("  {}", human(*total, "By")));
        let about = format!("{}  {}  {} processor{s}{size}", self.machine, self.system, processors.count);
        let up = up_time.as_ref().map_or(String::new(), |up| format!("up {}  ", duration(*up)));
        let time = match (self.when, self.height) {
            (Some(when), _) => when.to_owned(),
            // On a terminal, the day is known.
            (None, Some(_)) => format!("{:02}:{:02}:{:02} UTC", time.hour, time.minute, time.second),
            (None, None) => format!("{time} UTC"),
        };
        let first = self.ends(StyledLine::new(Style::Head, about), &format!("{up}{time}"));
        let mut second = StyledLine::new(Style::Head, "load ");
        match load.iter().all(Result::is_ok) {
            true => second.push(Style::Plain, load.each_ref().map(|load| number(load, 2)).join(" ")),
            false => second.push(Style::Dim, "-"),
        }
        second.push(Style::Plain, format!("   {} processes", number(process_count, 0)));
        for (count, what) in [(running, "running"), (blocked, "blocked")] {
            if count.is_ok() {
                second.push(Style::Plain, format!(", {} {what}", number(count, 0)));
            }
        }
        vec![first, self.ends(second, self.right)]
    }

    /// Returns a line of a screen with a text at its right end. Of the two, the left one is cut if they do not fit.
    fn ends(&self, left: StyledLine, right: &str) -> StyledLine {
        let right_width = right.chars().count().saturating_add(1);
        left.padded(self.width.saturating_sub(right_width)).with(Style::Plain, format!(" {right}"))
    }

    /// Returns a line of a screen with a name, a bar, and the texts that fit, the first ones first.
    fn gauge(
        &self,
        name: &str,
        share: &StateValue,
        limits: Thresholds,
        texts: impl IntoIterator<Item = StyledLine>,
    ) -> StyledLine {
        let (style, sign) = limits.style(share);
        let mut line = StyledLine::new(Style::Head, format!("{name:6}"));
        let spark = self.spark_width();
        let bar_width = self.width.saturating_sub(spark).saturating_sub(if spark > 0 { 70 } else { 66 });
        line.extend(bar(share, bar_width.clamp(8, 40), limits));
        line.push(style, format!("{:>8}{sign} ", text_of(share, "%")));
        // Swap has no sparkline, because what matters is whether it is in use now.
        let width = self.width.saturating_sub(if name == "swap" { 0 } else { spark });
        for text in texts {
            if line.width().saturating_add(text.width()) > width {
                break;
            }
            line.extend(text);
        }
        line
    }

    /// Returns the width of the screen's column of sparklines on the right; 0 if sparklines have no column of their
    /// own.
    fn spark_width(&self) -> usize {
        match self.height {
            Some(_) if self.width >= 100 => self.width.saturating_sub(84).min(history::LEN),
            _ => 0,
        }
    }

    /// Returns a line of a screen with a sparkline at its right end, behind a label, if there is enough space for
    /// both.
    fn with_spark(
        &self,
        line: StyledLine,
        label: &str,
        shares: &ShareHistory,
        limits: Thresholds,
    ) -> StyledLine {
        /// Width of a sparkline in a narrow window, in columns.
        const NARROW: usize = 12;
        let width = match self.spark_width() {
            0 => NARROW,
            width => width,
        };
        let taken = [line.width(), label.width(), 2, width].into_iter().fold(0, usize::saturating_add);
        // In a pipe, earlier samples are above.
        if self.height.is_none() || shares.is_empty() || taken > self.width {
            return line;
        }
        let blanks = self.width.saturating_sub(taken).saturating_add(1);
        let mut line = line.with(Style::Plain, " ".repeat(blanks)).with(Style::Dim, format!("{label} "));
        line.extend(sparkline(shares.iter().copied(), width, limits, self.glyphs));
        line
    }

    fn processors(&self) -> StyledLine {
        let processors = &self.state.processors;
        let texts = [
            ("user", &processors.user, Thresholds::NONE),
            ("kernel", &processors.kernel, Thresholds::NONE),
            ("iowait", &processors.io_wait, Thresholds::NONE),
            ("steal", &processors.steal, STOLEN),
        ];
        let texts = texts.map(|(name, value, limits)| {
            let (style, sign) = limits.style(value);
            StyledLine::new(Style::Dim, format!(" {name} "))
                .with(style, format!("{}{sign}", number(value, 1)))
        });
        let line = self.gauge("cpu", &processors.busy, BUSY, texts);
        self.with_spark(line, "", &self.history.busy, BUSY)
    }

    fn memory(&self) -> StyledLine {
        let memory = &self.state.memory;
        let available = format!(" {} available", text_of(&memory.available, "By"));
        // Windows has no counter of the size of the memory.
        let used = memory.used().map_or(String::new(), |used| format!(", {} used", human(used, "By")));
        let texts = [available, used].map(|text| StyledLine::new(Style::Plain, text));
        let line = self.gauge("mem", &memory.used_percent(), FULL, texts);
        self.with_spark(line, "", &self.history.memory, FULL)
    }

    fn swap(&self) -> StyledLine {
        let memory = &self.state.memory;
        let Ok(total) = memory.swap_total else {
            let why = reason(&memory.swap_total).unwrap_or_default();
            return StyledLine::new(Style::Head, "swap   ").with(Style::Dim, format!("-  {why}"));
        };
        if total <= 0.0 {
            return StyledLine::new(Style::Head, "swap  ").with(Style::Dim, "this machine has no swap");
        }
        let used = memory.swap_used();
        let share = used.clone().map(|used| used / total * 100.0);
        let is_swapping =
            [&memory.swap_in, &memory.swap_out].into_iter().any(|value| value.clone().unwrap_or(0.0) > 0.0);
        let style = if is_swapping { Style::Warning } else { Style::Plain };
        let (into, out) = (text_of(&memory.swap_in, "/s"), text_of(&memory.swap_out, "/s"));
        let texts = [
            StyledLine::new(style, format!(" pages in {into}, out {out}")),
            StyledLine::new(Style::Plain, format!(", {} used", text_of(&used, "By"))),
            StyledLine::new(Style::Plain, format!(" of {}", human(total, "By"))),
        ];
        self.gauge("swap", &share, FULL, texts)
    }

    /// Returns the line with the times in which tasks waited, with a sparkline of waits for storage.
    fn pressure(&self) -> StyledLine {
        self.with_spark(self.waits(), "storage", &self.history.storage_waits, WAITING)
    }

    /// Returns the line with the times in which tasks waited, with a sparkline of waits for memory.
    fn memory_pressure(&self) -> StyledLine {
        self.with_spark(self.waits(), "memory", &self.history.memory_waits, WAITING)
    }

    fn waits(&self) -> StyledLine {
        let PressureState { processors, memory, storage, .. } = &self.state.pressure;
        let mut line = StyledLine::new(Style::Head, "waits ");
        for (name, value, limits) in
            [("for cpu", processors, BUSY), ("memory", memory, WAITING), ("storage", storage, WAITING)]
        {
            let (style, sign) = limits.style(value);
            line.push(Style::Dim, format!("{name} "));
            line.push(style, format!("{}{sign} ", text_of(value, "%")));
        }
        line.push(Style::Plain, " ");
        line.extend(self.tcp());
        line
    }

    fn tcp(&self) -> StyledLine {
        let tcp = &self.state.tcp;
        let again = match (&tcp.retransmitted, tcp.retransmitted_percent()) {
            // Nothing was sent, so nothing was sent again.
            (Ok(again), Err(_)) if *again <= 0.0 => Ok(0.0),
            (_, share) => share,
        };
        let (style, sign) = Thresholds { warning: 1.0, critical: 10.0 }.style(&again);
        StyledLine::new(Style::Dim, "TCP resends ").with(style, format!("{}{sign}", text_of(&again, "%")))
    }

    fn findings(&self, most: usize) -> Vec<StyledLine> {
        let all = &self.state.findings;
        let summary = self.state.summary();
        if summary != FindingsSummary::Found {
            let (count, rules, text) = (self.state.unchecked.len(), RULES.len(), summary.text());
            let text = match summary {
                FindingsSummary::NothingInPart => format!("{text}; {count} of {rules} rules lack a value"),
                FindingsSummary::Unknown => format!("{text}: all {rules} rules lack a value"),
                _ => text.to_owned(),
            };
            return vec![StyledLine::new(Style::Head, "found ").with(Style::Dim, text)];
        }
        let mut lines: Vec<_> = all.iter().take(most).map(|finding| self.finding(finding)).collect();
        let more = all.len().saturating_sub(most);
        if let Some((last, finding)) =
            lines.last_mut().zip(all.get(most.saturating_sub(1))).filter(|_| more > 0)
        {
            // In the place of its next command.
            *last = self.ends(Self::sentence(finding), &format!("+{more} more"));
        }
        lines
    }

    /// Returns the line of a finding, with the next command of the user if both fit.
    fn finding(&self, finding: &Finding) -> StyledLine {
        let line = Self::sentence(finding);
        let next = match self.when {
            None => finding.next.to_owned(),
            // A line below has the log and the time, and a log needs no interval.
            Some(_) => format!("{} ...", finding.next.trim_end_matches(" 1")),
        };
        let fits = line.width().saturating_add(next.len()).saturating_add(2) <= self.width;
        if fits { self.ends(line, &next) } else { line }
    }

    /// Returns a finding as a line of the screen, with a sign for its urgency.
    fn sentence(finding: &Finding) -> StyledLine {
        let (style, sign) = match finding.severity {
            Severity::Note => (Style::Plain, "*"),
            Severity::Warning => (Style::Warning, "!"),
            Severity::Critical => (Style::Critical, "!!"),
        };
        StyledLine::new(style, format!("{sign:<3}{}", finding.text))
    }

    fn changes(&self) -> StyledLine {
        let changes = &self.state.changes;
        let head = if changes.seconds > 0.0 { format!("-{:.0} s", changes.seconds) } else { "-60 s".into() };
        let line = StyledLine::new(Style::Head, format!("{head:<6}"));
        let values = changes.values.iter();
        let values =
            values.map(|change| format!("{} {:.0} -> {:.0} %", change.name, change.before, change.now));
        let started = changes.started.iter().map(|process| {
            let (name, time) = (shortened(&process.name, 24), text_of(&process.processor_time, "%"));
            format!("{name} started {} s ago ({time})", number(&process.age, 0))
        });
        // What does not fit is left out, and said to be.
        let mut text = String::new();
        let mut left_out = 0_usize;
        for change in values.chain(started) {
            let comma = if text.is_empty() { "" } else { ", " };
            let taken = [text.as_str(), comma, &change].map(|part| part.chars().count());
            let taken = taken.into_iter().fold(line.width(), usize::saturating_add);
            // Room for the number of the others.
            if text.is_empty() || taken.saturating_add(5) <= self.width && left_out == 0 {
                text.push_str(comma);
                text.push_str(&change);
            } else {
                left_out = left_out.saturating_add(1);
            }
        }
        match (text.is_empty(), left_out) {
            (true, _) if changes.seconds <= 0.0 => line.with(Style::Dim, "nothing to compare with yet"),
            (true, _) => line.with(Style::Dim, "no great change"),
            (false, 0) => line.with(Style::Plain, text),
            (false, left_out) => line.with(Style::Plain, text).with(Style::Dim, format!(" +{left_out}")),
        }
    }

    /// Returns the tables of disks and network interfaces beside each other.
    fn devices(&self, rows: usize) -> Vec<StyledLine> {
        let left = self.width_of_disks();
        let right = self.width.saturating_sub(left);
        let (disks, interfaces) = (self.disks(self.disks_beside(), false), self.interfaces(right));
        let rows = rows.min(disks.len().max(interfaces.len()).max(1));
        beside(vec![(left, disks.lines(rows)), (right, interfaces.lines(rows))])
    }

    /// Returns the width that a screen has for the table of disks beside the network interfaces, with the space
    /// between.
    fn width_of_disks(&self) -> usize {
        match self.width {
            0..100 => self.width.saturating_div(2),
            width => width.saturating_mul(3).saturating_div(5),
        }
    }

    /// Returns the width of the table of disks beside the network interfaces, without the space between them.
    fn disks_beside(&self) -> usize {
        self.width_of_disks().saturating_sub(2)
    }

    /// Returns a table of disks of this width without rows, for the disks' own screen or for the overview.
    fn disk_table(&self, width: usize, is_part: bool) -> ScreenTable {
        const WIDE: [TableHead; 6] = [
            column("busy", 10),
            column("read", 13),
            column("written", 13),
            column("per read", 10),
            column("per write", 10),
            column("queue", 7),
        ];
        const NARROW: [TableHead; 3] = [column("busy", 8), column("bytes", 12), column("latency", 9)];
        match width >= WIDE_DISKS {
            true => ScreenTable::new("disk", width, &WIDE)
                .with_text(|_| "model and mount points", is_part && self.height.is_none()),
            false => ScreenTable::new("disk", width, &NARROW),
        }
    }

    fn disks(&self, width: usize, is_part: bool) -> ScreenTable {
        let is_wide = width >= WIDE_DISKS;
        let mut table = self.disk_table(width, is_part);
        for disk in &self.state.disks {
            let none = Thresholds::NONE;
            let both = disk.read.clone().and_then(|read| Ok(read + disk.written.clone()?));
            let slowest = match (&disk.read_latency, &disk.write_latency) {
                (Ok(read), Ok(write)) => Ok(read.max(*write)),
                (Ok(_), Err(_)) => disk.read_latency.clone(),
                (Err(_), _) => disk.write_latency.clone(),
            };
            match is_wide {
                true => table.row_with_text(
                    &disk.name,
                    &[
                        (&disk.busy, "%", BUSY),
                        (&disk.read, "By/s", none),
                        (&disk.written, "By/s", none),
                        (&disk.read_latency, "s", SLOW),
                        (&disk.write_latency, "s", SLOW),
                        (&disk.queue, "", none),
                    ],
                    &self.about_disk(disk),
                ),
                false => table.row(
                    &disk.name,
                    &[(&disk.busy, "%", BUSY), (&both, "By/s", none), (&slowest, "s", SLOW)],
                ),
            }
        }
        table
    }

    /// Returns a text with the known model and mount points of a disk.
    fn about_disk(&self, disk: &DiskState) -> String {
        let Some(facts) = self.facts.disk(disk) else { return not_read() };
        let text = |kind| facts.text(kind);
        let points = text(FactKind::MountPoints).map(|points| format!("on {points}"));
        let model = text(FactKind::Model).map(str::to_owned);
        model.into_iter().chain(points).collect::<Vec<_>>().join("  ")
    }

    fn file_systems(&self, width: usize) -> ScreenTable {
        let columns = [column("used", 10), column("free", 12), column("size", 12)];
        let mut table = ScreenTable::new("file system", width.min(70), &columns);
        for one in &self.state.file_systems {
            let used = one.free_percent().map(|free| 100.0 - free);
            table.row(
                &one.name,
                &[
                    (&used, "%", FULL),
                    (&one.free, "By", Thresholds::NONE),
                    (&one.size, "By", Thresholds::NONE),
                ],
            );
        }
        table
    }

    fn interfaces(&self, width: usize) -> ScreenTable {
        let columns: &[TableHead] = match width >= 55 {
            true => &[column("received", 13), column("sent", 13), column("drops", 10), column("errors", 10)],
            false => &[column("received", 12), column("sent", 12), column("drops", 8)],
        };
        let mut table = ScreenTable::new("network", width, columns);
        for one in &self.state.interfaces {
            table.row(
                &one.name,
                &[
                    (&one.received, "By/s", Thresholds::NONE),
                    (&one.sent, "By/s", Thresholds::NONE),
                    (&one.drops, "/s", ANY),
                    (&one.errors, "/s", ANY),
                ],
            );
        }
        table
    }
}

/// Returns the function that gets the value by which the processes on a part's screen are sorted; `None` for a part
/// without processes.
fn table_value(part: ScreenPart) -> Option<fn(&ProcessState) -> StateValue> {
    match part {
        ScreenPart::Memory => Some(|process| process.memory.clone()),
        ScreenPart::Disks => Some(ProcessState::storage),
        ScreenPart::Processes => Some(|process| process.processor_time.clone()),
        ScreenPart::Network | ScreenPart::Groups => None,
    }
}

/// Formats a number with that many decimals; a missing value is a dash.
fn number(value: &StateValue, decimals: usize) -> String {
    value.as_ref().map_or("-".into(), |value| format!("{value:.decimals$}"))
}
