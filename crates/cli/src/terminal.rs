//! Standard output and other terminals: control characters are escaped in all output to a terminal.
//!
//! Tables escape each untrusted text themselves. CSV, JSON and code contain names unchanged if written to a pipe or a
//! file, because programs read them. On a terminal the same bytes would be control sequences. So all output to a
//! terminal passes through this module.

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use clap::ValueEnum;
use perfset::output::text::is_harmful;

use crate::exit::{Exit, Failure};

/// Use of colours in output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// Colours on a terminal, unless NO_COLOR is set; everywhere if CLICOLOR_FORCE is set
    #[default]
    Auto,
    /// Colours everywhere, also in a pipe or a file
    Always,
    /// No colours at all
    Never,
}

impl ColorChoice {
    /// Returns `true` if output is coloured, by this choice and the environment variables.
    pub fn applies_to(self, is_terminal: bool) -> bool {
        self.applies(is_terminal, |name| env::var_os(name))
    }

    /// Returns `true` if output is coloured, with the environment variables that `variable` returns.
    fn applies<T: AsRef<OsStr>>(self, is_terminal: bool, variable: impl Fn(&str) -> Option<T>) -> bool {
        // An empty variable counts as unset. Sources: no-color.org, bixense.com/clicolors.
        let is_set = |name| variable(name).is_some_and(|value| !value.as_ref().is_empty());
        let is_zero = |name| variable(name).is_some_and(|value| value.as_ref() == "0");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if is_set("NO_COLOR") => false,
            Self::Auto if is_set("CLICOLOR_FORCE") && !is_zero("CLICOLOR_FORCE") => true,
            Self::Auto => is_terminal && !is_zero("CLICOLOR"),
        }
    }
}

/// Returns `true` if the terminal can show block characters, by the environment variables that `variable` returns.
pub fn shows_blocks(variable: impl Fn(&str) -> Option<String>) -> bool {
    // Source: locale(7). The first of them that is set decides.
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(&variable).find(|text| !text.is_empty());
    let locale = locale.unwrap_or_default().to_lowercase().replace('-', "");
    // The font of the Linux console has few blocks.
    let has_font = variable("TERM").is_none_or(|term| term != "linux");
    locale.contains("utf8") && has_font && !cfg!(windows)
}

/// `true` if all writes to standard output fail, because [`refuse_output`] was called.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// Makes all writes to standard output fail, because the program was started without a standard output. Commands that
/// write only to files still work.
///
/// # Errors
/// If this system has no device that refuses writes.
pub fn refuse_output() -> Result<(), Failure> {
    IS_REFUSED.store(true, Ordering::Relaxed);
    #[cfg(target_os = "linux")]
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        if rustix::stdio::dup2_stdout(&full).is_ok() {
            return Ok(());
        }
    }
    Err(Failure::new(Exit::SourceFailed, anyhow!("standard output is closed")))
}

/// Returns `true` if all writes to standard output fail because the program was started without a standard output.
pub fn is_refused() -> bool {
    IS_REFUSED.load(Ordering::Relaxed)
}

/// Returns a writer to standard output, with control characters escaped on a terminal.
pub fn stdout() -> Escaping<Stdout> {
    escaping(io::stdout())
}

/// Returns a writer to a file or standard output, with control characters escaped on a terminal.
pub fn escaping<W: Write + IsTerminal>(out: W) -> Escaping<W> {
    let is_terminal = out.is_terminal();
    Escaping { out, is_terminal, half: Vec::new() }
}

/// Writer that escapes control and format characters if its output is a terminal. Line ends and tabs stay.
#[derive(Debug)]
pub struct Escaping<W> {
    out: W,
    is_terminal: bool,
    /// First bytes of a UTF-8 character whose last bytes have not been written yet.
    half: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    /// Escapes output text, and stores an incomplete last character for the next call.
    fn escape(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.half);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        for chunk in all.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\n' | '\r' | '\t' => text.push(c),
                    c if is_harmful(c) => text.extend(c.escape_default()),
                    c => text.push(c),
                }
            }
            // Up to three bytes at the end might be the beginning of a character.
            let invalid = chunk.invalid();
            let is_last = all.as_ptr_range().end == invalid.as_ptr_range().end;
            if is_last && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none()) {
                self.half = invalid.to_vec();
            } else {
                text.extend(invalid.escape_ascii().map(char::from));
            }
        }
        text
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        let text = self.escape(bytes);
        self.out.write_all(text.as_bytes())?;
        // The caller counts its own bytes: the escaped text is longer, and stored bytes are taken as well.
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a text in two pieces to a test terminal, split at the byte `cut`, and returns the text that it
    /// receives.
    fn shown(text: &[u8], cut: usize) -> String {
        let mut escaping = Escaping { out: Vec::new(), is_terminal: true, half: Vec::new() };
        escaping.write_all(&text[..cut]).unwrap();
        escaping.write_all(&text[cut..]).unwrap();
        String::from_utf8(escaping.out).unwrap()
    }

    #[test]
    fn colours_follow_option_then_environment() {
        type Variables = &'static [(&'static str, &'static str)];
        let cases: [(ColorChoice, Variables, [bool; 2]); 9] = [
            (ColorChoice::Auto, &[], [true, false]),
            (ColorChoice::Auto, &[("NO_COLOR", "1")], [false, false]),
            (ColorChoice::Auto, &[("NO_COLOR", "")], [true, false]),
            (ColorChoice::Auto, &[("CLICOLOR", "0")], [false, false]),
            (ColorChoice::Auto, &[("CLICOLOR_FORCE", "1")], [true, true]),
            (ColorChoice::Auto, &[("CLICOLOR_FORCE", "0")], [true, false]),
            (ColorChoice::Auto, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], [false, false]),
            (ColorChoice::Always, &[("NO_COLOR", "1")], [true, true]),
            (ColorChoice::Never, &[("CLICOLOR_FORCE", "1")], [false, false]),
        ];
        for (choice, variables, [on_terminal, in_pipe]) in cases {
            let variable = |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| *value);
            assert_eq!(choice.applies(true, variable), on_terminal, "{choice:?} {variables:?}");
            assert_eq!(choice.applies(false, variable), in_pipe, "{choice:?} {variables:?}");
        }
    }

    #[test]
    fn nothing_steers_a_terminal() {
        for (text, want) in [
            ("\"a\",\"b\"\r\n\"1\"\t\"2\"\n".as_bytes(), "\"a\",\"b\"\r\n\"1\"\t\"2\"\n"),
            (b"\x1b[2Jgone", "\\u{1b}[2Jgone"),
            ("\u{9b}31m é 中 😀".as_bytes(), "\\u{9b}31m é 中 😀"),
            ("a\u{2028}b\u{202E}c".as_bytes(), "a\\u{2028}b\\u{202e}c"),
            (b"\x9b31m", "\\x9b31m"),
            (b"\xE4\xB8\x1b", "\\xe4\\xb8\\u{1b}"),
        ] {
            for cut in 0..=text.len() {
                assert_eq!(shown(text, cut), want, "cut at {cut}");
            }
        }
    }

    #[test]
    fn programs_get_the_bytes() {
        let mut escaping = Escaping { out: Vec::new(), is_terminal: false, half: Vec::new() };
        escaping.write_all(b"\x1b[2J\xFF").unwrap();
        assert_eq!(escaping.out, b"\x1b[2J\xFF");
    }
}
