//! Writer of the text that an output makes of samples.

use std::fmt;
use std::io::{self, Write};

/// Writer of an output's text, sample by sample: live samples are written at once, recorded ones in large pieces.
pub struct SampleWriter<'w> {
    out: Box<dyn Write + 'w>,
    /// `true` to write the text of each sample at once.
    is_live: bool,
    /// Text of samples that is not written yet.
    text: Vec<u8>,
}

impl fmt::Debug for SampleWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SampleWriter").field("is_live", &self.is_live).finish_non_exhaustive()
    }
}

impl<'w> SampleWriter<'w> {
    /// Creates a writer of an output's text that writes and flushes each sample as soon as it is complete.
    pub fn live(out: impl Write + 'w) -> Self {
        Self { out: Box::new(out), is_live: true, text: Vec::new() }
    }

    /// Creates a writer of an output's text for samples of a log, which come by the million. The last of them are
    /// written by [`finish`](Self::finish).
    pub fn buffered(out: impl Write + 'w) -> Self {
        Self { is_live: false, ..Self::live(out) }
    }

    /// Appends a piece to the text of the current sample.
    pub fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Ends the current sample, whose text is written now or with later samples.
    ///
    /// # Errors
    /// If writing fails.
    pub fn end_sample(&mut self) -> io::Result<()> {
        /// Minimum number of bytes of recorded samples that are written at once.
        const ENOUGH: usize = 64 << 10;
        match self.is_live || self.text.len() > ENOUGH {
            true => self.write_text(),
            false => Ok(()),
        }
    }

    /// Writes the text that is not written yet, and flushes the output.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(&mut self) -> io::Result<()> {
        self.write_text()?;
        self.out.flush()
    }

    fn write_text(&mut self) -> io::Result<()> {
        self.out.write_all(&self.text)?;
        self.text.clear();
        if self.is_live { self.out.flush() } else { Ok(()) }
    }
}

/// Appends the written bytes to the text of the current sample.
impl Write for SampleWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
