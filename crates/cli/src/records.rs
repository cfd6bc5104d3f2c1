//! Records that commands print as lists, as JSON lines and CSV, with stable names: `docs/output.md` documents the
//! fields.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::OnceLock;

use perfset::output::text::{csv_cell, escaped};
use perfset::output::{FoundRecord, json};
use serde::Serialize;
use serde_json::Value;

use crate::args::ListFormat;
use crate::terminal;

/// Versions of the fields that commands print as JSON and CSV. The version of a command's fields increases when one is
/// removed, or changes its type or meaning; new fields do not change it.
const FIELD_VERSIONS: &str = "get 1, list 1, find 1, describe 1, instances 1, doctor 1, log info 1, dump 1, manifest \
                              check 1, provider list 1";

/// Optional features of this crate, and `true` for those of this build.
const FEATURES: [(&str, bool); 9] = [
    ("man", cfg!(feature = "man")),
    ("parquet", cfg!(feature = "parquet")),
    ("plot", cfg!(feature = "plot")),
    ("publish", cfg!(feature = "publish")),
    ("serve", cfg!(feature = "serve")),
    ("settings", cfg!(feature = "settings")),
    ("sqlite", cfg!(feature = "sqlite")),
    ("tui", cfg!(feature = "tui")),
    ("zstd", cfg!(feature = "zstd")),
];

/// Returns the text of `perfset --version`: the version, the commit, the features, and the versions of printed fields.
pub fn versions() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let features = |is_there: bool| -> String {
            FEATURES.iter().filter(|(_, is)| *is == is_there).map(|(name, _)| format!(" {name}")).collect()
        };
        // Packages name it; a build from a clone does not, because each commit would compile this crate again.
        let commit = option_env!("PERFSET_COMMIT").unwrap_or("not recorded");
        let (with, without) = (features(true), features(false));
        let without = if without.is_empty() { String::new() } else { format!("; without:{without}") };
        format!(
            "{}\ncommit: {commit}\nfeatures:{with}{without}\nJSON and CSV: {FIELD_VERSIONS}",
            env!("CARGO_PKG_VERSION")
        )
    })
}

/// Entry of a list that is printed as JSON or CSV. JSON has its fields as they are serialized.
pub trait ListRecord: Serialize {
    /// Names of all fields of the record, in the order of the columns of CSV.
    const CSV_HEADER: &'static str;

    /// Returns the record as a line of CSV, without a line end. Null is an empty cell; arrays are JSON.
    /// `on_terminal`: `true` to escape control characters in texts.
    ///
    /// # Errors
    /// If the record cannot be JSON.
    fn csv_line(&self, on_terminal: bool) -> io::Result<String> {
        let record = serde_json::to_value(self)?;
        let cell = |name: &str| match record.get(name) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) if on_terminal => Ok(csv_cell(&escaped(text))),
            Some(Value::String(text)) => Ok(csv_cell(text)),
            // Without an exponent, which JSON numbers may have.
            Some(Value::Number(number)) if number.is_f64() => {
                Ok(number.as_f64().map(|number| number.to_string()).unwrap_or_default())
            }
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
            Some(value) => Ok(csv_cell(&json::line(value)?)),
        };
        Ok(Self::CSV_HEADER.split(',').map(cell).collect::<io::Result<Vec<_>>>()?.join(","))
    }
}

impl ListRecord for FoundRecord<'_> {
    const CSV_HEADER: &'static str = FoundRecord::CSV_HEADER;

    fn csv_line(&self, on_terminal: bool) -> io::Result<String> {
        Ok(FoundRecord::csv_line(self, on_terminal))
    }
}

/// Writer of the records of a list to standard output.
#[derive(Debug)]
pub struct RecordWriter<W> {
    out: W,
    is_csv: bool,
    on_terminal: bool,
    has_header: bool,
}

impl RecordWriter<BufWriter<terminal::Escaping<io::Stdout>>> {
    /// Returns the writer of records for a format; `None` for tables, which are no records.
    pub fn stdout(format: ListFormat) -> Option<Self> {
        let on_terminal = io::stdout().is_terminal();
        (format != ListFormat::Table).then(|| Self {
            out: BufWriter::new(terminal::stdout()),
            is_csv: format == ListFormat::Csv,
            on_terminal,
            has_header: false,
        })
    }

    /// Writes all records of a list.
    ///
    /// # Errors
    /// If writing fails.
    pub fn all<R: ListRecord>(mut self, records: impl IntoIterator<Item = R>) -> io::Result<()> {
        for record in records {
            self.push(&record)?;
        }
        self.finish::<R>()
    }
}

impl<W: Write> RecordWriter<W> {
    /// Writes a record of a list; before the first one of CSV, the header.
    ///
    /// # Errors
    /// If writing fails.
    pub fn push<R: ListRecord>(&mut self, record: &R) -> io::Result<()> {
        if !self.is_csv {
            return writeln!(self.out, "{}", json::line(record)?);
        }
        self.header::<R>()?;
        writeln!(self.out, "{}", record.csv_line(self.on_terminal)?)
    }

    /// Completes the output of a list of records. CSV has its header even without a record.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish<R: ListRecord>(&mut self) -> io::Result<()> {
        self.header::<R>()?;
        self.out.flush()
    }

    fn header<R: ListRecord>(&mut self) -> io::Result<()> {
        if self.is_csv && !std::mem::replace(&mut self.has_header, true) {
            writeln!(self.out, "{}", R::CSV_HEADER)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct TestEntry {
        name: &'static str,
        count: Option<i64>,
        share: Option<f64>,
        is_there: bool,
        parts: Vec<&'static str>,
    }

    impl ListRecord for TestEntry {
        const CSV_HEADER: &'static str = "name,count,share,is_there,parts";
    }

    fn written(is_csv: bool, on_terminal: bool, entries: &[TestEntry]) -> String {
        let mut writer = RecordWriter { out: Vec::new(), is_csv, on_terminal, has_header: false };
        entries.iter().for_each(|entry| writer.push(entry).unwrap());
        writer.finish::<TestEntry>().unwrap();
        String::from_utf8(writer.out).unwrap()
    }

    fn entries() -> [TestEntry; 3] {
        let plain = |name, parts| TestEntry { name, count: None, share: None, is_there: false, parts };
        [
            TestEntry {
                count: Some(-5),
                share: Some(1e21),
                is_there: true,
                ..plain("a,b", vec!["x", "y\"\u{1b}"])
            },
            TestEntry { share: Some(0.5), ..plain("=1+1", vec![]) },
            plain("two\nlines\u{1b}", vec!["\u{202e}"]),
        ]
    }

    #[test]
    fn csv_is_escaped() {
        let lines = |end: &str| {
            let first = "\"a,b\",-5,1000000000000000000000,true,\"[\"\"x\"\",\"\"y\\\"\"\\u001b\"\"]\"";
            let third = format!("{end},,,false,\"[\"\"\\u202e\"\"]\"");
            format!("name,count,share,is_there,parts\n{first}\n\"'=1+1\",,0.5,false,[]\n{third}\n")
        };
        assert_eq!(written(true, false, &entries()), lines("\"two\nlines\u{1b}\""));
        assert_eq!(written(true, true, &entries()), lines("two\\nlines\\u{1b}"));
        assert_eq!(written(true, false, &[]), "name,count,share,is_there,parts\n");
    }

    #[test]
    fn json_is_escaped() {
        let json = written(false, false, &entries());
        assert_eq!(json.lines().count(), 3);
        assert!(!json.contains(['\u{1b}', '\u{202e}']), "{json}");
        let first = r#"{"name":"a,b","count":-5,"share":1e+21,"is_there":true,"parts":["x","y\"\u001b"]}"#;
        assert_eq!(json.lines().next().unwrap(), first);
        assert_eq!(written(false, false, &[]), "");
    }
}
