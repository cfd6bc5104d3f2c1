//! Lines of a drawn screen: styled pieces of text, bars, sparklines and tables.

use std::fmt::Write as _;
use std::time::Duration;

use perfset::NoValue;
use perfset::output::human;
use perfset::output::text::escaped;
use perfset::overview::StateValue;
use unicode_width::UnicodeWidthStr;

/// Style of a piece of text on a screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    /// Style of the heads of tables, and of the names of lines.
    Head,
    /// Style of text of less importance.
    Dim,
    /// Style of good or harmless values.
    Good,
    /// Style of values that slow the machine down.
    Warning,
    /// Style of values that stop something on the machine.
    Critical,
}

impl Style {
    /// Returns the escape sequence that switches a terminal to the style; empty for plain text.
    fn sequence(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Head => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Good => "\x1b[32m",
            Self::Warning => "\x1b[33m",
            Self::Critical => "\x1b[1;31m",
        }
    }
}

/// Line of a drawn screen: pieces of text with a style each. It contains no control characters.
#[derive(Clone, Debug, Default)]
pub struct StyledLine {
    pieces: Vec<(Style, String)>,
}

impl StyledLine {
    /// Creates a line of a screen in one style.
    pub fn new(style: Style, text: impl Into<String>) -> Self {
        Self::default().with(style, text)
    }

    /// Appends a piece of text with its style to the line. Harmful characters are escaped: names come from the
    /// machine.
    #[must_use]
    pub fn with(mut self, style: Style, text: impl Into<String>) -> Self {
        self.push(style, text);
        self
    }

    /// Appends a piece of text to the line, as [`with`](Self::with) does.
    pub fn push(&mut self, style: Style, text: impl Into<String>) {
        self.pieces.push((style, escaped(&text.into())));
    }

    /// Appends the pieces of text of another line to the line.
    pub fn extend(&mut self, other: Self) {
        self.pieces.extend(other.pieces);
    }

    /// Returns the width of the line, in columns of a terminal.
    pub fn width(&self) -> usize {
        self.pieces.iter().fold(0, |sum, (_, text)| sum.saturating_add(columns_of(text)))
    }

    /// Appends blanks to the line up to a width, or cuts the line to it.
    #[must_use]
    pub fn padded(mut self, width: usize) -> Self {
        let mut left = width;
        for (_, text) in &mut self.pieces {
            *text = cut(text, left).to_owned();
            left = left.saturating_sub(columns_of(text));
        }
        self.pieces.push((Style::Plain, " ".repeat(left)));
        self
    }

    /// Appends the line to a text for output: without trailing blanks, at most `width` characters, with colours if
    /// `colour`.
    pub fn render(&self, width: usize, colour: bool, out: &mut String) {
        let text: String = self.pieces.iter().map(|(_, text)| text.as_str()).collect();
        let mut left = columns_of(text.trim_end()).min(width);
        for (style, text) in &self.pieces {
            let shown = cut(text, left);
            left = left.saturating_sub(columns_of(shown));
            if shown.is_empty() {
                continue;
            }
            match style.sequence() {
                sequence if colour && !sequence.is_empty() => {
                    let _ = write!(out, "{sequence}{shown}\x1b[0m"); // a String takes everything
                }
                _ => out.push_str(shown),
            }
        }
    }
}

/// Characters of a sparkline, from the lowest to the highest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparkGlyphs([char; 8]);

impl SparkGlyphs {
    /// Block characters of growing height, for sparklines.
    pub const BLOCKS: Self = Self(['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']);
    /// Characters of sparklines on terminals without UTF-8.
    pub const ASCII: Self = Self(['_', '.', '-', '=', '+', '*', '%', '#']);

    /// Returns the sparkline character of a share in percent.
    fn of(self, share: f64) -> char {
        let Self([lowest, higher @ ..]) = self;
        // The highest character is for 87.5 % and more, each lower one for 12.5 % less.
        let steps = (1_u8..).zip(higher).take_while(|(step, _)| share >= f64::from(*step) * 12.5);
        steps.last().map_or(lowest, |(_, glyph)| glyph)
    }
}

/// Returns a sparkline of shares in percent: the last `width` values, the newest one rightmost. A missing value is a
/// blank.
pub fn sparkline(
    shares: impl DoubleEndedIterator<Item = Option<f64>>,
    width: usize,
    limits: Thresholds,
    glyphs: SparkGlyphs,
) -> StyledLine {
    let mut shares: Vec<_> = shares.rev().take(width).collect();
    shares.reverse();
    let mut line = StyledLine::new(Style::Plain, " ".repeat(width.saturating_sub(shares.len())));
    for share in shares {
        let (style, glyph) = match share {
            Some(share) => (limits.mark(&Ok(share)), glyphs.of(share)),
            None => (Style::Plain, ' '),
        };
        match line.pieces.last_mut() {
            Some((last, text)) if *last == style => text.push(glyph),
            _ => line.push(style, glyph),
        }
    }
    line
}

/// Returns the number of terminal columns of a text without control characters.
pub fn columns_of(text: &str) -> usize {
    // Nearly all texts of a screen are ASCII, and looking up each character takes most of the time of a screen.
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Returns the beginning of a text that has at most `width` terminal columns.
pub fn cut(text: &str, width: usize) -> &str {
    if text.is_ascii() {
        return text.get(..width).unwrap_or(text);
    }
    // Of the whole beginning, because a selector makes the character before it wider.
    let begins =
        text.char_indices().map(|(at, c)| text.get(..at.saturating_add(c.len_utf8())).unwrap_or(text));
    begins.take_while(|begin| begin.width() <= width).last().unwrap_or_default()
}

/// Appends blanks to a text up to a width in terminal columns.
pub fn padded(text: String, width: usize) -> String {
    let blanks = width.saturating_sub(columns_of(&text));
    text + &" ".repeat(blanks)
}

/// Limits above which the screen shows a value as a warning, and as critical.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    pub warning: f64,
    pub critical: f64,
}

impl Thresholds {
    /// Limits of a value that is always shown without a warning.
    pub const NONE: Self = Self { warning: f64::INFINITY, critical: f64::INFINITY };

    /// Returns the style of a value on a screen, and the sign that stands for the style without colours.
    pub fn style(self, value: &StateValue) -> (Style, &'static str) {
        match value {
            Ok(value) if *value >= self.critical => (Style::Critical, "!"),
            Ok(value) if *value >= self.warning => (Style::Warning, "!"),
            Ok(_) => (Style::Plain, " "),
            Err(_) => (Style::Dim, " "),
        }
    }

    /// Returns the style of the characters that stand for a value in a bar or a sparkline.
    fn mark(self, value: &StateValue) -> Style {
        match self.style(value).0 {
            Style::Plain => Style::Good,
            style => style,
        }
    }
}

/// Keyword that stands for the unit of an age in seconds.
pub const AGE: &str = "age";

/// Returns a value with its unit for users, or a dash if it is missing. All values of a unit have the same form, so
/// that a column is compared at a glance.
pub fn text_of(value: &StateValue, unit: &str) -> String {
    match value {
        Ok(value) if unit == AGE => duration(*value),
        Ok(value) if unit == "%" => format!("{value:.1} %"),
        Ok(value) if *value == 0.0 && unit == "/s" => "0/s".into(),
        Ok(value) if unit.is_empty() => format!("{value:.1}"),
        Ok(value) => human(*value, unit),
        Err(_) => "-".into(),
    }
}

/// Returns a duration in whole seconds: `3 d 04:12`, `04:12:33`.
pub fn duration(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds).unwrap_or_default().as_secs();
    let part = |unit: u64, of: u64| whole.checked_div(unit).and_then(|n| n.checked_rem(of)).unwrap_or(0);
    let (days, hours, minutes) = (part(86_400, u64::MAX), part(3_600, 24), part(60, 60));
    match days {
        0 => format!("{hours:02}:{minutes:02}:{:02}", part(1, 60)),
        days => format!("{days} d {hours:02}:{minutes:02}"),
    }
}

/// Returns the reason for a missing value on a screen, unless the next sample has the value.
pub fn reason(value: &StateValue) -> Option<String> {
    match value {
        Ok(_) | Err(NoValue::NeedsTwoSamples | NoValue::NewInstance) => None,
        Err(reason) => Some(reason.to_string()),
    }
}

/// Returns a bar that shows a share in percent.
pub fn bar(share: &StateValue, width: usize, limits: Thresholds) -> StyledLine {
    let filled = match share {
        Ok(share) => {
            let whole = (0..width).filter(|at| {
                // A cell is filled if the share reaches its middle.
                let middle = (f64::from(u16::try_from(*at).unwrap_or(u16::MAX)) + 0.5)
                    / f64::from(u16::try_from(width.max(1)).unwrap_or(u16::MAX));
                *share / 100.0 >= middle
            });
            whole.count()
        }
        Err(_) => 0,
    };
    StyledLine::new(Style::Plain, "[")
        .with(limits.mark(share), "|".repeat(filled))
        .with(Style::Plain, " ".repeat(width.saturating_sub(filled)))
        .with(Style::Plain, "]")
}

/// Returns a name of at most `width` terminal columns. Of a longer one, the middle is left out: its end is an id.
pub fn shortened(name: &str, width: usize) -> String {
    let name = escaped(name);
    if columns_of(&name) <= width {
        return name;
    }
    let id = name.rfind(':').and_then(|at| name.get(at..)).filter(|id| id.len() < width.saturating_sub(2));
    match id {
        Some(id) => {
            let kept = width.saturating_sub(id.len()).saturating_sub(1);
            format!("{}~{id}", cut(&name, kept))
        }
        None => {
            // The end of a path says more than its beginning. Of the last part, the beginning says most.
            let last = name.rsplit('/').next().unwrap_or_default();
            if last.len() < name.len() && columns_of(last) >= width.saturating_sub(1) {
                return format!("~{}~", cut(last, width.saturating_sub(2)));
            }
            let ends = name.char_indices().map(|(at, _)| name.get(at..).unwrap_or_default());
            let end = ends.into_iter().find(|end| columns_of(end) < width).unwrap_or_default();
            format!("~{end}")
        }
    }
}

/// Returns a text of at most `width` terminal columns, with a sign in place of an end that does not fit.
pub fn cut_end(text: &str, width: usize) -> String {
    let text = escaped(text);
    match columns_of(&text) <= width {
        true => text,
        false => format!("{}~", cut(&text, width.saturating_sub(1))),
    }
}

/// Column of a table: its head, and its width including the blanks before it.
#[derive(Clone, Copy, Debug)]
pub struct TableHead {
    pub head: &'static str,
    pub width: usize,
}

/// Returns a table column with this head and this width.
pub const fn column(head: &'static str, width: usize) -> TableHead {
    TableHead { head, width }
}

/// Table on a screen: the name of each row is on the left, its values on the right.
#[derive(Clone, Debug)]
pub struct ScreenTable {
    name_head: String,
    name_width: usize,
    columns: Vec<TableHead>,
    /// Width of the texts behind the values of a table's rows; 0 for none.
    text_width: usize,
    /// Head of the column of texts behind the values of a table's rows.
    text_head: &'static str,
    rows: Vec<StyledLine>,
}

impl ScreenTable {
    /// Creates a screen table of a total width. The names get what the columns leave, at least seven characters;
    /// columns that do not fit are left out, the last ones first, because half a number is a wrong number.
    pub fn new(name_head: &str, width: usize, columns: &[TableHead]) -> Self {
        const NAME_LEN: usize = 7;
        let mut taken = NAME_LEN;
        let fits = |column: &&TableHead| {
            taken = taken.saturating_add(column.width);
            taken <= width
        };
        let columns: Vec<_> = columns.iter().take_while(fits).copied().collect();
        let taken = columns.iter().fold(0_usize, |sum, column| sum.saturating_add(column.width));
        let name_width = width.saturating_sub(taken);
        Self {
            name_head: name_head.to_owned(),
            name_width,
            columns,
            text_width: 0,
            text_head: "",
            rows: Vec::new(),
        }
    }

    /// Adds a text behind the values of each row of a table, if the names leave enough space for it. With
    /// `is_endless`, the texts may have any length.
    #[must_use]
    pub fn with_text(mut self, head: impl Fn(usize) -> &'static str, is_endless: bool) -> Self {
        /// Width of the names in a table whose rows have texts, in columns.
        const NAME_LEN: usize = 26;
        const TEXT_LEAST: usize = 16;
        let spare = self.name_width.saturating_sub(NAME_LEN);
        if is_endless {
            self.text_width = usize::MAX;
        } else if spare >= TEXT_LEAST {
            (self.name_width, self.text_width) = (NAME_LEN, spare);
        }
        self.text_head = head(self.text_width);
        self
    }

    /// Returns the width of the texts behind the values of a table's rows; 0 for none.
    pub fn text_width(&self) -> usize {
        self.text_width
    }

    /// Adds a row to a screen table: its name, then for each column a value, its unit and its limits.
    pub fn row(&mut self, name: &str, cells: &[(&StateValue, &str, Thresholds)]) {
        self.row_with_text(name, cells, "");
    }

    /// Adds a row to a screen table, as [`row`](Self::row), with the text behind its values.
    pub fn row_with_text(&mut self, name: &str, cells: &[(&StateValue, &str, Thresholds)], text: &str) {
        let mut line = StyledLine::default();
        line.push(Style::Plain, padded(shortened(name, self.name_width.saturating_sub(1)), self.name_width));
        for (column, (value, unit, limits)) in self.columns.iter().zip(cells) {
            let (style, sign) = limits.style(value);
            let text = text_of(value, unit);
            // The sign has a place of its own, so that numbers stay below each other.
            let blanks = column.width.saturating_sub(text.chars().count()).saturating_sub(1);
            line.push(Style::Plain, " ".repeat(blanks));
            line.push(style, format!("{text}{sign}"));
        }
        if self.text_width > 0 && !text.is_empty() {
            line.push(Style::Dim, format!(" {}", cut_end(text, self.text_width.saturating_sub(2))));
        }
        self.rows.push(line);
    }

    /// Returns the number of rows of the screen table.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the lines of the screen table: the head and at most `most` rows.
    pub fn lines(&self, most: usize) -> Vec<StyledLine> {
        let mut head = format!("{:1$}", self.name_head, self.name_width);
        for column in &self.columns {
            let _ = write!(head, "{:>1$} ", column.head, column.width.saturating_sub(1)); // a String takes everything
        }
        if self.text_width > 0 {
            let _ = write!(head, " {}", cut(self.text_head, self.text_width.saturating_sub(2))); // as above
        }
        let head = StyledLine::new(Style::Head, head);
        std::iter::once(head).chain(self.rows.iter().take(most).cloned()).collect()
    }
}

/// Returns the number of a table's rows that are shown in at most `most` lines; the last line has the number of the
/// others.
pub fn shown_of(rows: usize, most: usize) -> usize {
    if rows > most { most.saturating_sub(1) } else { rows }
}

impl ScreenTable {
    /// Returns the head of a table and at most `most` lines, the last of which has the number of rows that are left
    /// out.
    pub fn lines_and_rest(&self, most: usize) -> Vec<StyledLine> {
        let shown = shown_of(self.rows.len(), most);
        let mut lines = self.lines(shown);
        if let Some(rest) = self.rows.len().checked_sub(shown).filter(|rest| *rest > 0) {
            lines.push(StyledLine::new(Style::Dim, format!("+{rest} more")));
        }
        lines
    }
}

/// Returns two or more blocks of lines beside each other, each with its own width.
pub fn beside(blocks: Vec<(usize, Vec<StyledLine>)>) -> Vec<StyledLine> {
    let height = blocks.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
    let mut out = vec![StyledLine::default(); height];
    for (width, lines) in blocks {
        let mut lines = lines.into_iter();
        for line in &mut out {
            line.extend(lines.next().unwrap_or_default().padded(width));
        }
    }
    out
}
