//! Commands in a report, by which a reader sees more of the same log.

use std::fmt::Write as _;

use perfset::clock::SystemTime;

/// Options that select the log of a report, as a shell reads them.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// Files of the report's log, quoted for a shell.
    files: Vec<String>,
    machine: Option<String>,
}

impl LogOptions {
    /// Creates the options that select the log's files and a machine, as the user named them.
    pub fn new(files: &[String], machine: Option<&str>) -> Self {
        // A name that begins with a hyphen would be an option.
        let file = |file: &String| match file.strip_prefix('-') {
            Some(rest) if !rest.is_empty() => shell_word(&format!("./{file}")),
            _ => shell_word(file),
        };
        Self { files: files.iter().map(file).collect(), machine: machine.map(shell_word) }
    }

    /// Returns the options that select the report's log as the end of a command, with a space before each.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let _ = write!(text, " --log {file}"); // a String takes everything
        }
        text.push_str(&self.machine_text());
        text
    }

    fn machine_text(&self) -> String {
        self.machine.as_ref().map_or_else(String::new, |name| format!(" --machine {name}"))
    }

    /// Returns the command that opens the report's log in interactive tables at a time.
    pub fn view(&self, time: i64) -> String {
        let mut text = "perfset view".to_owned();
        for file in &self.files {
            let _ = write!(text, " {file}"); // a String takes everything
        }
        format!("{text}{} --at {}", self.machine_text(), exact(time))
    }

    /// Returns the command of a finding for the report's log: at its instant, or for values over the time in which it
    /// held.
    pub fn next(&self, live: &str, (worst, first, last): (i64, i64, i64)) -> String {
        let log = self.text();
        if live.starts_with("perfset get ") {
            let command = live.strip_suffix(" 1").unwrap_or(live);
            return format!("{command}{log} --begin {} --end {}", exact(first), exact(last));
        }
        format!("{live}{log} --at {}", exact(worst))
    }
}

/// Returns the options of a command that select a time range; none if the report has the whole log.
pub fn range_options(range: Option<(i64, i64)>) -> String {
    range.map_or_else(String::new, |(begin, end)| format!(" --begin {} --end {}", exact(begin), exact(end)))
}

/// Formats the time of a sample exactly, in UTC, so that a command finds the sample by this time.
pub fn exact(time: i64) -> String {
    let SystemTime { year, month, day, hour, minute, second, .. } = SystemTime::from_100ns(time);
    let rest = time.rem_euclid(10_000_000);
    let seconds = match rest {
        0 => format!("{second:02}"),
        rest => format!("{second:02}.{rest:07}").trim_end_matches('0').to_owned(),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{seconds}Z")
}

/// Returns a word of a command as a shell reads it, in quotes if necessary.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c);
    // What a reader cannot see is written in the form that bash, zsh and fish have for it.
    let is_unseen = |c: char| perfset::output::text::escaped(c.encode_utf8(&mut [0; 4])) != c.to_string();
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.chars().any(|c| is_unseen(c) && c != '\\') {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\\' | '\'' => quoted.extend(['\\', c]),
            c if is_unseen(c) => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c)); // a String takes everything
            }
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        for (word, want) in [
            ("customer.blg", "customer.blg"),
            ("", "''"),
            ("my log.blg", "'my log.blg'"),
            (r"\Processor(*)\% Idle Time", r"'\Processor(*)\% Idle Time'"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)`x`", "'$(reboot)`x`'"),
            ("a\nb'\u{1b}", r"$'a\U0000000ab\'\U0000001b'"),
            ("a\u{202e}b", r"$'a\U0000202eb'"),
        ] {
            assert_eq!(shell_word(word), want, "{word:?}");
        }
    }

    #[test]
    fn commands_for_a_log() {
        let time = 134_383_464_000_000_000; // 2026-11-05 10:00 UTC
        assert_eq!(exact(time), "2026-11-05T10:00:00Z");
        assert_eq!(exact(time + 10_000_001), "2026-11-05T10:00:01.0000001Z");
        assert_eq!(exact(time + 5_000_000), "2026-11-05T10:00:00.5Z");
        let options = LogOptions::new(&["-a b".to_owned(), "c.blg".to_owned()], Some("WEB 1"));
        assert_eq!(options.text(), " --log './-a b' --log c.blg --machine 'WEB 1'");
        let at = (time, time, time + 600_000_000);
        let options = LogOptions::new(&["rec".to_owned()], None);
        assert_eq!(options.next("perfset disk", at), "perfset disk --log rec --at 2026-11-05T10:00:00Z");
        assert_eq!(
            options.next("perfset get '/Linux Processor(*)/% Steal Time' 1", at),
            "perfset get '/Linux Processor(*)/% Steal Time' --log rec --begin 2026-11-05T10:00:00Z --end \
             2026-11-05T10:01:00Z"
        );
        assert_eq!(options.view(time), "perfset view rec --at 2026-11-05T10:00:00Z");
        assert_eq!(range_options(Some((time, time))).matches("10:00:00Z").count(), 2);
        assert_eq!(range_options(None), "");
    }
}
