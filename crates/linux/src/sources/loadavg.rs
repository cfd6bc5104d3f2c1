//! Parser of `/proc/loadavg`: the number of threads, and how many of them wanted to run lately.
//!
//! Source: `proc_loadavg(5)`.

use crate::sources::text::{Text, TextError};

/// Numbers of the machine's threads in the fourth field of `/proc/loadavg`.
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
    /// Number of threads of the machine that run or wait for a processor.
    pub runnable: u64,
    /// Number of all threads of the machine.
    pub threads: u64,
}

impl LoadAvg {
    /// Parses the fourth field of `/proc/loadavg`, replacing all previous contents.
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

/// Load averages in hundredths of a thread: the first three fields of `/proc/loadavg`.
///
/// ```
/// use perfset_linux::sources::loadavg::Loads;
///
/// let mut loads = Loads::default();
/// loads.parse(b"0.20 3.18 11.02 2/80 11206\n").unwrap();
/// assert_eq!(loads, Loads { minutes_1: 20, minutes_5: 318, minutes_15: 1_102 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// Load average over the last minute.
    pub minutes_1: u64,
    /// Load average over the last five minutes.
    pub minutes_5: u64,
    /// Load average over the last fifteen minutes.
    pub minutes_15: u64,
}

impl Loads {
    /// Parses the load averages in `/proc/loadavg`, replacing all previous contents.
    ///
    /// # Errors
    /// If one of the three fields is something else.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        *self = Self {
            minutes_1: text.hundredths()?,
            minutes_5: text.hundredths()?,
            minutes_15: text.hundredths()?,
        };
        text.line()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads() {
        for (text, want) in [
            ("0.02 0.03 0.05 7/11 13\n", Ok(Loads { minutes_1: 2, minutes_5: 3, minutes_15: 5 })),
            ("4096.02 0.03 0.05\n", Ok(Loads { minutes_1: 409_602, minutes_5: 3, minutes_15: 5 })),
            ("", Err("the end of the file")),
            ("0.02 x 0.05 7/11 13\n", Err("\"x\"")),
            ("0.02 0.3 0.05 7/11 13\n", Err("\".3\"")),
            ("0.02 0.03 0.05", Err("the end of the file")),
        ] {
            let mut loads = Loads::default();
            let got = loads.parse(text.as_bytes()).map(|()| loads).map_err(|e| e.found);
            assert_eq!(got, want.map_err(str::to_owned), "{text:?}");
        }
    }

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
