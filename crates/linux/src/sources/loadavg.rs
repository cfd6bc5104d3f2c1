//! `/proc/loadavg`: how many threads there are.
//!
//! Source: `proc_loadavg(5)`.

use crate::sources::text::{Text, TextError};

/// The fourth field, of threads. The kernel's own count.
///
/// ```
/// use perfset_linux::sources::loadavg::LoadAvg;
///
/// let mut loadavg = LoadAvg::default();
/// loadavg.parse(b"0.20 0.18 0.12 2/80 11206\n").unwrap();
/// assert_eq!(loadavg, LoadAvg { runnable: 2, threads: 80 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadAvg {
    /// Those that run or wait for a processor.
    pub runnable: u64,
    /// All of them.
    pub threads: u64,
}

impl LoadAvg {
    /// Takes everything from `text`; what was there before goes.
    ///
    /// # Errors
    /// If the fourth field is not two numbers.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        for _ in ["1 minute", "5 minutes", "15 minutes"] {
            text.word()?;
        }
        let runnable = text.number()?;
        if !text.take(b"/") {
            return Err(text.expected("\"/\""));
        }
        *self = Self { runnable, threads: text.digits()? };
        text.line()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        for (text, want) in [
            ("0.02 0.03 0.05 7/11 13\n", Ok(LoadAvg { runnable: 7, threads: 11 })),
            ("0.02 0.03 0.05 7/11\n", Ok(LoadAvg { runnable: 7, threads: 11 })),
            ("", Err("the end of the file")),
            ("0.02 0.03\n7/11 13\n", Err("the end of the line")),
            ("0.02 0.03 0.05 7 11 13\n", Err("\" 11 13\\n\"")),
            ("0.02 0.03 0.05 7/ 11 13\n", Err("\" 11 13\\n\"")),
            ("0.02 0.03 0.05 x/11 13\n", Err("\"x/11\"")),
            ("0.02 0.03 0.05 7/11 13", Err("the end of the file")),
        ] {
            let mut loadavg = LoadAvg::default();
            let got = loadavg.parse(text.as_bytes()).map(|()| loadavg);
            let found = got.map_err(|e| e.found);
            assert_eq!(found, want.map_err(str::to_owned), "{text:?}");
        }
    }
}
