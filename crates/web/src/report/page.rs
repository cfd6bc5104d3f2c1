//! HTML page of a report: head, findings, charts, tables, commands.

use std::fmt::Write as _;

use perfset::log::Logs;
use perfset::log::recording::{Annotation, Recording, RecordingAbout};
use perfset::output::human;
use perfset::output::text::grouped_digits;
use perfset::overview::{RULES, SentencePart, Severity};

use super::axis::TimeAxis;
use super::commands::{LogOptions, exact, range_options, shell_word};
use super::findings::{FindingsReport, ReportFinding};
use super::html::{duration, interval, json_in_script, markup, name, text, time};
use super::reading::seconds;
use super::scripts::{script, styles};
use super::tables::{ReportTable, TableCell};
use super::{ReportContent, ReportError, ReportOptions};
use crate::answer::to_json;
use crate::log::to_unix_ms;
use crate::token::Token;

/// Maximum number of damaged places and of missed samples that a report lists; the next constant is that of marks.
const LISTED_MOST: usize = 20;
const MARKS_MOST: usize = 100;

/// Everything that the HTML page of a report shows.
pub struct ReportPage<'a> {
    pub logs: &'a Logs,
    pub options: &'a ReportOptions,
    pub axis: &'a TimeAxis,
    /// Options that select the log in the report's commands.
    pub log: &'a LogOptions,
    /// Times of the first and the last sample, if the report is about a part of the log.
    pub range: Option<(i64, i64)>,
    pub found: &'a FindingsReport,
    pub content: &'a ReportContent,
}

/// SVG symbols that the buttons of a report show.
const SYMBOLS: &str = r#"<svg class="symbols" aria-hidden="true">
<symbol id="i-copy" viewBox="0 0 16 16"><path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3"/></symbol>
<symbol id="i-theme" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5.5"/>
<path class="solid" d="M8 2.5v11a5.5 5.5 0 0 0 0-11z"/></symbol>
<symbol id="i-earlier" viewBox="0 0 16 16"><path d="M10.5 2.5 5 8l5.5 5.5"/></symbol>
<symbol id="i-later" viewBox="0 0 16 16"><path d="M5.5 2.5 11 8l-5.5 5.5"/></symbol>
<symbol id="i-closer" viewBox="0 0 16 16"><path d="M8 3v10M3 8h10"/></symbol>
<symbol id="i-wider" viewBox="0 0 16 16"><path d="M3 8h10"/></symbol>
</svg>
"#;

/// HTML dialog of a report with a text that the browser did not copy.
const DIALOG: &str = r#"<dialog id="text" aria-labelledby="text-title">
<form method="dialog"><button>Close</button></form>
<h2 id="text-title">Copy this</h2>
<textarea readonly rows="4" aria-labelledby="text-title"></textarea>
</dialog>
<div id="said" class="unseen" role="status"></div>
"#;

impl ReportPage<'_> {
    /// Returns the whole text of the report's HTML file.
    ///
    /// # Errors
    /// If the system returns no random numbers.
    pub fn html(&self) -> Result<String, ReportError> {
        // Chosen anew for each file: no text in the log can be a script that runs.
        let nonce = Token::random().map_err(|error| ReportError::NoRandom(error.to_string()))?;
        let nonce = nonce.secret();
        let title = self.title();
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}'; \
             style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n<style nonce=\"{nonce}\">\n{}</style>\n</head>\n<body>\n{SYMBOLS}\
             <a class=\"skip\" href=\"#charts\">To the charts</a>\n<div class=\"report\">\n",
            styles()
        );
        self.head(&mut out, &title);
        self.findings(&mut out);
        self.charts(&mut out);
        self.tables(&mut out);
        self.commands(&mut out);
        let version = env!("CARGO_PKG_VERSION");
        let data = json_in_script(&to_json(&self.content.data));
        push(
            &mut out,
            format_args!(
                "<footer>Written by perfset {version}. This file needs no network and sends nothing. Charts are drawn \
                 by uPlot, by Leon Sorokin, MIT licence.</footer>\n</div>\n{DIALOG}\
                 <script type=\"application/json\" id=\"data\">{data}</script>\n\
                 <script nonce=\"{nonce}\">\n{}</script>\n</body>\n</html>\n",
                script()
            ),
        );
        Ok(out)
    }

    fn title(&self) -> String {
        match (&self.options.title, self.logs.machine_name()) {
            (Some(title), _) => text(title),
            (None, "") => "Performance report".to_owned(),
            (None, machine) => format!("Performance of {}", text(machine)),
        }
    }

    /// Appends the head of the report: machine, log, range and number of samples.
    fn head(&self, out: &mut String, title: &str) {
        let (first, last) = self.axis.span;
        let length = duration(seconds(last.saturating_sub(first)));
        push(
            out,
            format_args!(
                "<section id=\"head\" class=\"text\">\n<p class=\"kind\">perfset report</p>\n<h1>{title}</h1>\n\
                 <p class=\"when\">{} – {} <span class=\"zone-name\">UTC</span>, {length}</p>\n<dl>\n",
                time(first, false),
                time(last, false)
            ),
        );
        let about = self.logs.recording().and_then(Recording::about);
        let machine = self.logs.machine_name();
        if !machine.is_empty() {
            term(out, "Machine", &name(machine), false);
        }
        if let Some(system) = about.and_then(|about| about.get(RecordingAbout::SYSTEM)) {
            term(out, "System", &text(system), false);
        }
        let every = self
            .axis
            .interval
            .map(|interval| format!(", one every {}", super::html::interval(seconds(interval))));
        let part = if self.range.is_some() { ", a part of the log" } else { "" };
        let samples = format!("{}{}{part}", count(self.axis.samples), every.unwrap_or_default());
        term(out, "Samples", &samples, false);
        let files = self.options.files.iter().enumerate().map(|(at, file)| {
            let about = self.options.about.get(at).map(|about| format!(": {}", text(about)));
            format!("{}{}", name(file), about.unwrap_or_default())
        });
        let files: Vec<String> = files.collect();
        if !files.is_empty() {
            term(out, if files.len() == 1 { "File" } else { "Files" }, &files.join("<br>"), false);
        }
        self.faults(out);
        out.push_str("</dl>\n");
        self.lists(out);
        out.push_str("</section>\n");
    }

    /// Appends the lines of the report about damage and gaps of the log.
    fn faults(&self, out: &mut String) {
        let gaps = match self.axis.gap_count {
            0 => "none".to_owned(),
            number => {
                let longest = self.axis.gaps.iter().map(|gap| gap.to.saturating_sub(gap.from)).max();
                format!("{}, the longest {}", count(number), duration(seconds(longest.unwrap_or(0))))
            }
        };
        term(out, "Gaps", &gaps, self.axis.gap_count > 0);
        let damages = self.logs.damages().iter().map(|damages| damages.count()).fold(0, u64::saturating_add);
        let damage = match damages {
            0 => "none".to_owned(),
            1 => "1 place".to_owned(),
            number => format!("{} places", grouped_digits(&number.to_string())),
        };
        term(out, "Damage", &damage, damages > 0);
        if self.content.refused > 0 {
            let text = "the log has more instances than a report counts: totals lack some";
            term(out, "Left out", text, true);
        }
    }

    /// Appends the lists of the log's gaps, damaged places and marks to the report.
    fn lists(&self, out: &mut String) {
        let gaps: Vec<String> = (self.axis.gaps.iter())
            .map(|gap| {
                let length = duration(seconds(gap.to.saturating_sub(gap.from)));
                format!("{} – {}: {length}", time(gap.from, true), time(gap.to, true))
            })
            .collect();
        list(out, "Gaps: times without a sample", &gaps, self.axis.gap_count);
        let in_range = |from: i64, to: i64| from <= self.axis.span.1 && self.axis.span.0 <= to;
        let missed = self.logs.recording().map(Recording::missed).unwrap_or_default();
        let missed: Vec<String> = (missed.iter().filter(|missed| in_range(missed.from, missed.to)))
            .map(|missed| {
                let (from, to) = (time(missed.from, true), time(missed.to, true));
                format!("{from} – {to}: {} samples not written: {}", missed.ticks, text(&missed.reason))
            })
            .collect();
        let number = missed.len();
        list(
            out,
            "Samples that the recorder could not write",
            missed.get(..number.min(LISTED_MOST)).unwrap_or_default(),
            number,
        );
        let damages = self.logs.damages();
        let all = damages.iter().flat_map(|damages| damages.first());
        let places: Vec<String> = all.take(LISTED_MOST).map(|damage| text(&damage.to_string())).collect();
        let number = damages.iter().map(|damages| damages.count()).fold(0, u64::saturating_add);
        list(
            out,
            "Damage: data that could not be used",
            &places,
            usize::try_from(number).unwrap_or(usize::MAX),
        );
        let annotations = self.logs.recording().map(Recording::annotations).unwrap_or_default();
        let annotations = annotations.into_iter().filter(|mark| in_range(mark.time, mark.time));
        let (notes, marks): (Vec<&Annotation>, Vec<_>) = annotations.partition(|mark| mark.is_of_recorder);
        for (head, marks) in [("Marks", marks), ("Notes of the recorder", notes)] {
            let shown = marks.iter().take(MARKS_MOST);
            let lines: Vec<String> =
                shown.map(|mark| format!("{}: {}", time(mark.time, true), name(&mark.text))).collect();
            list(out, head, &lines, marks.len());
        }
    }

    /// Appends the findings to the report, the most urgent first.
    fn findings(&self, out: &mut String) {
        let FindingsReport { found, more, unchecked, unknown_rules, unchecked_rules, instants } = self.found;
        let state = match found.first().map(|finding| finding.severity) {
            Some(severity) => keyword(severity),
            None if *unknown_rules == 0 && *unchecked_rules == 0 => "fine",
            None => "unknown",
        };
        let rules = RULES.len();
        let looked = match instants.len() {
            1 => "1 instant".to_owned(),
            number => format!("{number} instants"),
        };
        let summary = match (found.len().saturating_add(*more), *unknown_rules) {
            (0, unknown) if unknown >= rules => {
                "Unknown: the log has no counter that a rule needs.".to_owned()
            }
            (0, 0) => format!("Nothing remarkable at {looked} of this time, by {rules} rules."),
            (0, unknown) => format!(
                "Nothing remarkable at {looked} of this time, by {} of {rules} rules.",
                rules.saturating_sub(unknown)
            ),
            (number, unknown) => format!(
                "{number} found at {looked} of this time, by {} rules.",
                rules.saturating_sub(unknown)
            ),
        };
        push(
            out,
            format_args!(
                "<section id=\"found\" class=\"text\" data-state=\"{state}\">\n<h2>Findings</h2>\n\
                 <p class=\"note\">{summary}</p>\n"
            ),
        );
        if !found.is_empty() {
            out.push_str("<ul>\n");
            found.iter().for_each(|finding| self.finding(out, finding));
            out.push_str("</ul>\n");
        }
        if *more > 0 {
            push(out, format_args!("<p class=\"note\">{more} more are not listed.</p>\n"));
        }
        let lines: Vec<String> = (unchecked.iter())
            .map(|one| {
                let subject = one.subject.as_ref().map(|subject| format!("{}: ", name(subject)));
                let at = if one.count == instants.len() {
                    String::new()
                } else {
                    format!(" ({} of {looked})", one.count)
                };
                let (condition, reason) = (markup(one.condition), text(&one.reason));
                format!("{condition}: {}{reason}{at}", subject.unwrap_or_default())
            })
            .collect();
        let head = format!("Not known: {unchecked_rules} of {rules} rules lack a value");
        list(out, &head, &lines, lines.len());
        out.push_str("</section>\n");
    }

    fn finding(&self, out: &mut String, finding: &ReportFinding) {
        let severity = keyword(finding.severity);
        let parts = finding.text.parts().iter().map(|part| match part {
            SentencePart::Words(words) => markup(words),
            SentencePart::Name(of) => name(of),
        });
        let sentence: String = parts.collect();
        let (first, last) = (finding.times.first(), finding.times.last());
        let (first, last) = (first.copied().unwrap_or(finding.worst), last.copied().unwrap_or(finding.worst));
        let when = match first == last {
            true => time(first, true),
            false => format!("{} – {}", time(first, true), time(last, true)),
        };
        let (held, of) = (finding.times.len(), self.found.instants.len());
        let next = self.log.next(finding.next, (finding.worst, first, last));
        push(
            out,
            format_args!(
                "<li data-rule=\"{}\" data-severity=\"{severity}\"><b>{severity}</b><span>{sentence}</span> \
                 <small>at {}</small>\n<div class=\"held\"><span>{when}, at {held} of {of} instants</span>{}\
                 <button type=\"button\" hidden data-from=\"{}\" data-to=\"{}\">Show in the charts</button></div>\n\
                 <div class=\"next\">more: <code class=\"command\">{}</code></div></li>\n",
                finding.rule,
                time(finding.worst, true),
                self.strip(&finding.times),
                to_unix_ms(first),
                to_unix_ms(last),
                markup(&next)
            ),
        );
    }

    /// Returns a picture of the report's range, with a bar at each instant at which a finding held.
    fn strip(&self, times: &[i64]) -> String {
        let (first, last) = self.axis.span;
        let length = seconds(last.saturating_sub(first)).max(1e-7);
        let width = 1_000.0 / f64::from(u32::try_from(self.found.instants.len().max(1)).unwrap_or(u32::MAX));
        let mut bars = String::new();
        for time in times {
            let x = seconds(time.saturating_sub(first)) / length * (1_000.0 - width);
            push(
                &mut bars,
                format_args!("<rect x=\"{x:.1}\" y=\"0\" width=\"{:.1}\" height=\"8\"/>", width.max(3.0)),
            );
        }
        format!(
            "<svg class=\"strip\" viewBox=\"0 0 1000 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{bars}</svg>"
        )
    }

    /// Appends the bar above the charts of the report, and the values that the charts do not show. The script adds
    /// the charts.
    fn charts(&self, out: &mut String) {
        let offset = self.logs.offset().checked_div(-600_000_000).unwrap_or(0);
        let own = match offset {
            0 => String::new(),
            minutes => {
                let (sign, size) = (if minutes < 0 { '-' } else { '+' }, minutes.unsigned_abs());
                let zone = format!("UTC{sign}{:02}:{:02}", size / 60, size % 60);
                format!(
                    "<input type=\"radio\" name=\"zone\" id=\"log-zone\" value=\"{minutes}\" data-name=\"{zone}\">\
                     <label for=\"log-zone\" title=\"The zone of the machine\">{zone}</label>"
                )
            }
        };
        push(
            out,
            format_args!(
                "<section id=\"bar\" hidden aria-label=\"Time shown\">\n<output id=\"shown\"></output>\n\
                 <div class=\"tools\">\
                 <button type=\"button\" id=\"whole\">Whole time</button>{}{}{}{}</div>\n\
                 <div class=\"tools\"><fieldset class=\"segments\"><legend>Zone of times</legend>\
                 <input type=\"radio\" name=\"zone\" id=\"local\" value=\"\" checked><label for=\"local\">Local</label>\
                 {own}<input type=\"radio\" name=\"zone\" id=\"utc\" value=\"0\" data-name=\"UTC\">\
                 <label for=\"utc\">UTC</label></fieldset>{}</div>\n</section>\n",
                button("earlier", "Earlier"),
                button("later", "Later"),
                button("closer", "A shorter time"),
                button("wider", "A longer time"),
                button_with("theme-switch", "theme", "Light, dark, or as the system"),
            ),
        );
        let rows = match self.axis.cell {
            Some(cell) => format!(
                "Each point stands for {}: the line is the mean of its samples, the band behind it reaches from the \
                 least to the greatest one.",
                interval(seconds(cell))
            ),
            None => "Each point is one sample.".to_owned(),
        };
        push(
            out,
            format_args!(
                "<section id=\"charts-note\"><p>{rows} <span class=\"hint\">Drag over a chart to zoom all of them, \
                 double-click or Esc goes back; the buttons + and − do the same. A click on a name hides its \
                 line.</span></p></section>\n<main id=\"charts\" tabindex=\"-1\"></main>\n\
                 <noscript><section class=\"text\"><p>The charts need JavaScript, which is switched off. Everything \
                 else is here.</p></section></noscript>\n"
            ),
        );
        self.left_out(out);
    }

    /// Appends the counters of the log that have no chart in the report, and the way to get one.
    fn left_out(&self, out: &mut String) {
        let (plan, without) = (&self.content.plan, &self.content.without);
        if plan.left_out_count == 0 && without.is_empty() {
            return;
        }
        out.push_str("<section class=\"text\"><h2>Not in the charts</h2>\n");
        let lines: Vec<String> = (without.iter())
            .map(|chart| {
                let mut reasons: Vec<&str> = chart.notes.iter().map(|(_, reason)| reason.as_str()).collect();
                reasons.dedup();
                format!("{}: {}", text(&chart.title), text(&reasons.join("; ")))
            })
            .collect();
        list(out, "Charts without a value in this time", &lines, lines.len());
        if plan.left_out_count > 0 {
            let lines: Vec<String> = plan.left_out.iter().map(|path| name(path)).collect();
            let head = format!("{} more counters of the log", count(plan.left_out_count));
            folded(out, (&head, " data-print=\"no\""), &lines, plan.left_out_count);
            let example = plan.left_out.first().map_or("PATH", String::as_str);
            let (log, range) = (self.log.text(), range_options(self.range));
            let command =
                format!("perfset report{log}{range} --counter {} -o report.html", shell_word(example));
            push(
                out,
                format_args!(
                    "<div class=\"next\">with a chart of one: <code class=\"command\">{}</code></div>\n",
                    markup(&command)
                ),
            );
        }
        out.push_str("</section>\n");
    }

    fn tables(&self, out: &mut String) {
        if self.content.tables.is_empty() {
            return;
        }
        out.push_str("<section class=\"text\" id=\"tables\"><h2>Over the whole time</h2>\n<div>\n");
        self.content.tables.iter().for_each(|table| write_table(out, table));
        out.push_str("</div>\n</section>\n");
    }

    /// Appends the commands that repeat the report, and commands that show more of the log.
    fn commands(&self, out: &mut String) {
        let (log, range) = (self.log.text(), range_options(self.range));
        let requested: Vec<String> = self
            .options
            .counters
            .iter()
            .map(|path| format!(" --counter {}", shell_word(&path.to_string())))
            .collect();
        let title = self.options.title.as_ref().map(|title| format!(" --title {}", shell_word(title)));
        let mut all = Vec::new();
        let (first, last) = self.axis.span;
        let instant = self.found.found.first().map_or(last, |finding| finding.worst);
        if self.found.unknown_rules < RULES.len() {
            all.push(("The machine at an instant", format!("perfset{log} --at {}", exact(instant))));
        }
        all.push(("Tables of anything in the log, at any time", self.log.view(instant)));
        if let Some(chart) = self.content.charts.first() {
            let paths: String = chart.paths.iter().map(|path| format!(" {}", shell_word(path))).collect();
            all.push(("Values of the first chart", format!("perfset get{paths}{log}{range}")));
            all.push((
                "The first chart as a picture",
                format!("perfset plot{paths}{log}{range} -o picture.svg"),
            ));
        }
        let page = range_options(Some((first, last)));
        all.push(("The page with these charts, and all other counters", format!("perfset serve{log}{page}")));
        let report = format!(
            "perfset report{log}{range}{}{} -o report.html",
            requested.concat(),
            title.unwrap_or_default()
        );
        all.push(("This report", report));
        out.push_str("<section class=\"text\" id=\"commands\"><h2>Commands</h2>\n<dl>\n");
        for (what, command) in all {
            let command = markup(&command);
            push(out, format_args!("<dt>{what}</dt><dd><code class=\"command\">{command}</code></dd>\n"));
        }
        out.push_str("</dl>\n</section>\n");
    }
}

fn write_table(out: &mut String, table: &ReportTable) {
    push(out, format_args!("<div>\n<h3>{}</h3>\n<div class=\"table\"><table><thead><tr>", table.title));
    push(out, format_args!("<th scope=\"col\">{}</th>", table.rows));
    for (head, title) in &table.heads {
        push(out, format_args!("<th scope=\"col\" title=\"{}\">{}</th>", markup(title), markup(head)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for (row, cells) in &table.body {
        push(out, format_args!("<tr><th scope=\"row\">{}</th>", name(row)));
        for cell in cells {
            match cell {
                TableCell::Number(value, unit) => {
                    push(out, format_args!("<td>{}</td>", text(&human(*value, unit))))
                }
                TableCell::AtLeast(value, unit) => push(
                    out,
                    format_args!(
                        "<td title=\"at least: there are not values of the whole time\">≥ {}</td>",
                        text(&human(*value, unit))
                    ),
                ),
                TableCell::Missing(reason) => {
                    push(out, format_args!("<td class=\"none\" title=\"{}\">–</td>", text(reason)));
                }
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    let shown = table.body.len();
    if shown < table.of {
        let text = format!("The largest by any column: {shown} of {}.", count(table.of));
        push(out, format_args!("<p class=\"note\">{text}</p>\n"));
    }
    out.push_str("</div>\n");
}

/// Appends a term of the report's head and its description.
fn term(out: &mut String, term: &str, html: &str, is_bad: bool) {
    let class = if is_bad { " class=\"bad\"" } else { "" };
    push(out, format_args!("<dt>{term}</dt><dd{class}>{html}</dd>\n"));
}

/// Appends a collapsed list of lines to the report, or nothing if there are no lines. The log has `of` such lines;
/// the list is open on paper.
fn list(out: &mut String, head: &str, lines: &[String], of: usize) {
    folded(out, (head, ""), lines, of);
}

/// Appends a collapsed list with HTML attributes to the report.
fn folded(out: &mut String, (head, attributes): (&str, &str), lines: &[String], of: usize) {
    if lines.is_empty() {
        return;
    }
    push(out, format_args!("<details{attributes}><summary>{head}</summary><ul>\n"));
    lines.iter().for_each(|line| push(out, format_args!("<li>{line}</li>\n")));
    match of.saturating_sub(lines.len()) {
        0 => {}
        more => push(out, format_args!("<li>and {} more</li>\n", count(more))),
    }
    out.push_str("</ul></details>\n");
}

fn button(id: &str, title: &str) -> String {
    button_with(id, id, title)
}

fn button_with(id: &str, icon: &str, title: &str) -> String {
    format!(
        "<button type=\"button\" class=\"icon\" id=\"{id}\" title=\"{title}\" aria-label=\"{title}\">\
         <svg aria-hidden=\"true\"><use href=\"#i-{icon}\"/></svg></button>"
    )
}

fn keyword(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Critical => "critical",
    }
}

fn count(number: usize) -> String {
    grouped_digits(&number.to_string())
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text); // a String takes everything
}
