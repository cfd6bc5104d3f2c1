//! Standard output as a canvas for screens: a terminal is drawn over in place; a pipe or file gets lines for each
//! sample.

use std::env;
use std::io::{self, IsTerminal, Stdout, Write};

use terminal_size::{Height, Width, terminal_size};

use super::draw::{SparkGlyphs, StyledLine};
use super::keys;
use crate::terminal::{ColorChoice, shows_blocks};

/// Width of drawn lines that are not for a terminal, in characters.
const PIPE_WIDTH: usize = 100;

/// Canvas on standard output, on which screens are drawn.
#[derive(Debug)]
pub struct Canvas {
    out: Stdout,
    /// `true` if standard output is a terminal that can move its cursor.
    is_terminal: bool,
    has_colour: bool,
    /// Number of lines of the previous drawing on the terminal, above the cursor.
    drawn: usize,
    /// Size of the terminal at the previous drawing, in columns and lines.
    size: (usize, usize),
}

impl Canvas {
    /// Creates the canvas for drawing screens on standard output.
    pub fn stdout(color: ColorChoice) -> Self {
        let out = io::stdout();
        // Such a terminal cannot move the cursor, so drawings follow each other as in a pipe.
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        let is_terminal = out.is_terminal() && (!is_dumb || cfg!(windows));
        Self { out, is_terminal, has_colour: color.applies_to(is_terminal), drawn: 0, size: (0, 0) }
    }

    /// Returns `true` if drawings replace each other, as on a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns the characters of sparklines that the canvas can show.
    pub fn glyphs(&self) -> SparkGlyphs {
        glyphs(|name| env::var(name).ok())
    }

    /// Returns the width of the next drawing, and its number of lines if that is limited. The window might have
    /// changed since the last drawing.
    pub fn size(&self) -> (usize, Option<usize>) {
        match self.is_terminal {
            true => {
                let (width, height) = window();
                // One line stays free for the cursor: a drawing of full height would scroll.
                (width, Some(height.saturating_sub(1).max(1)))
            }
            false => (self.plain_width(), None),
        }
    }

    /// Returns the width of drawn lines that are written one below the other: a terminal that cannot move its cursor
    /// wraps longer ones.
    fn plain_width(&self) -> usize {
        if self.out.is_terminal() { window().0 } else { PIPE_WIDTH }
    }

    /// Requests that the next drawing clears the terminal, because another program has written to it.
    pub fn forget(&mut self) {
        (self.drawn, self.size) = (1, (0, 0));
    }

    /// Draws the lines of a screen, over the previous lines if standard output is a terminal.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn draw(&mut self, lines: &[StyledLine]) -> io::Result<()> {
        // In the background, the terminal belongs to the shell.
        if self.is_terminal && !keys::is_in_front() {
            self.forget();
            return Ok(());
        }
        let mut frame = String::new();
        // In a pipe nothing is cut: a long line is a reason.
        let mut width = usize::MAX;
        if self.is_terminal {
            let size = window();
            width = size.0;
            match self.drawn {
                0 => {}
                // A smaller window has wrapped the previous lines, so their begin is unknown.
                _ if size != self.size => frame.push_str("\x1b[H\x1b[2J"),
                drawn => frame.push_str(&format!("\x1b[{drawn}A")),
            }
            (self.size, self.drawn) = (size, lines.len());
        }
        for line in lines {
            line.render(width, self.has_colour, &mut frame);
            frame.push_str(if self.is_terminal { "\x1b[K\n" } else { "\n" });
        }
        // Erases the rest of a drawing that had more lines; elsewhere an empty line separates two drawings.
        frame.push_str(if self.is_terminal { "\x1b[J" } else { "\n" });
        // A single write, so that no half-drawn screen is visible.
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }

    /// Moves the terminal's cursor to where the shell expects it: the terminal may have echoed the Ctrl+C.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.is_terminal {
            self.out.write_all(b"\r\x1b[K")?;
            self.out.flush()?;
        }
        Ok(())
    }
}

/// Returns the characters of sparklines that a terminal with these variables of the environment can show.
fn glyphs(variable: impl Fn(&str) -> Option<String>) -> SparkGlyphs {
    if shows_blocks(variable) { SparkGlyphs::BLOCKS } else { SparkGlyphs::ASCII }
}

/// Returns the number of columns and rows of the terminal window.
fn window() -> (usize, usize) {
    terminal_size().map_or((80, 24), |(Width(width), Height(height))| (width.into(), height.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_need_utf8_and_a_font() {
        let blocks = SparkGlyphs::BLOCKS;
        for (variables, want) in [
            (&[("LANG", "de_DE.UTF-8")][..], blocks),
            (&[("LANG", "C"), ("LC_ALL", "C.utf8")], blocks),
            (&[("LANG", "C.UTF-8"), ("LC_CTYPE", "C")], SparkGlyphs::ASCII),
            (&[("LANG", "C.UTF-8"), ("LC_ALL", "")], blocks),
            (&[("LANG", "C.UTF-8"), ("TERM", "linux")], SparkGlyphs::ASCII),
            (&[("LANG", "C.UTF-8"), ("TERM", "xterm")], blocks),
            (&[("LANG", "en_US.ISO-8859-1")], SparkGlyphs::ASCII),
            (&[], SparkGlyphs::ASCII),
        ] {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
            let got = glyphs(|name| find(name).map(|(_, text)| (*text).to_owned()));
            assert_eq!(got, if cfg!(windows) { SparkGlyphs::ASCII } else { want }, "{variables:?}");
        }
    }
}
