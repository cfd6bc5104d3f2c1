//! Formula vectors: samples with their expected values, as a table that any implementation can run.
//!
//! **Shape**: CSV with a header line. `id`, `type_name`, `type_hex`; `n0`, `n1` raw values and `b0`, `b1` bases
//! (empty = none) of the older and the newer sample; `perf_time0/1`, `perf_freq`, `time100ns0/1`, `obj_time0/1`,
//! `obj_freq`; `n_size` bytes of the raw value; `samples` (1 = there is no older one); `wrap32` (1 = values of 4
//! bytes may wrap); `status`; and, if that is `ok`, `value_raw`, `value_nocap`, `value_default`. Other columns are
//! ignored. No cell contains a comma.
//!
//! A module of the unit tests, and of the example that checks any table.

use perfset_core::formula::format;
use perfset_core::sample::Clocks;
use perfset_core::{CounterId, CounterType, Guid, Identity, InstanceId, Name, NoValue, RawValue, Sample};

/// Result of checking a table of formula vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of checked formula vectors.
    pub checked: usize,
    /// Differences from the expected values of the vectors, one line each.
    pub mismatches: Vec<String>,
}

/// Error: the table of formula vectors cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {why}")]
pub struct TableError {
    /// Number of the faulty line of the table, counted from 1.
    pub line: usize,
    /// Header of the faulty column of the table.
    pub column: &'static str,
    /// Description of the error in the table.
    pub why: String,
}

/// Formula vector: samples and their expected result.
#[derive(Clone, Debug)]
pub struct Vector<'a> {
    /// Name of the formula vector.
    pub id: &'a str,
    /// Older of the vector's two samples, if there is one.
    pub old: Option<Sample<'a>>,
    /// Newer of the vector's two samples.
    pub new: Sample<'a>,
    /// Expected status of the vector: `ok`, or the check that fails.
    pub status: &'a str,
    /// Expected values if the vector's status is `ok`: result of the formula, without upper limit, and limited.
    pub values: Option<[f64; 3]>,
}

/// Reads the formula vectors of a table in CSV.
///
/// # Errors
/// Fails if a column is missing or a cell cannot be read.
pub fn read(csv: &str) -> Result<Vec<Vector<'_>>, TableError> {
    let mut lines = csv.lines().enumerate();
    let heads: Vec<_> = lines.next().map(|(_, heads)| heads.split(',').collect()).unwrap_or_default();
    let mut vectors = Vec::new();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let row =
            VectorRow { heads: &heads, cells: line.split(',').collect(), line: index.saturating_add(1) };
        vectors.push(row.vector()?);
    }
    Ok(vectors)
}

/// Computes every formula vector of a table with [`format()`] and compares the results.
///
/// # Errors
/// Same as [`read`].
pub fn check(csv: &str) -> Result<Report, TableError> {
    let vectors = read(csv)?;
    let mismatch = |vector: &Vector<'_>| Some(format!("{}: {}", vector.id, vector.difference()?));
    Ok(Report { checked: vectors.len(), mismatches: vectors.iter().filter_map(mismatch).collect() })
}

impl Vector<'_> {
    /// Returns the first difference between the computed and the expected result of the vector.
    fn difference(&self) -> Option<String> {
        let wanted = self.status;
        let value = match format(self.old.as_ref(), &self.new) {
            Ok(value) => value,
            Err(reason) if status(&reason) == wanted => return None,
            Err(reason) => return Some(format!("is {}, must be {wanted}", status(&reason))),
        };
        let Some(values) = self.values else { return Some(format!("is {}, must be {wanted}", value.raw)) };
        let got =
            [("value_raw", value.raw), ("value_nocap", value.nocap()), ("value_default", value.capped())];
        let differs = |((column, got), wanted): ((&str, f64), f64)| {
            // Another implementation may round in another order, so doubles are not compared for equality.
            let far = (got - wanted).abs() > wanted.abs() * 1e-12;
            far.then(|| format!("{column} is {got}, must be {wanted}"))
        };
        got.into_iter().zip(values).find_map(differs)
    }
}

/// Returns the status of a formula vector without a value: the keyword of the check that failed.
fn status(reason: &NoValue) -> &'static str {
    match reason {
        // The table has the checks of F-8 alone, which any implementation can make. F-10 names causes instead
        // of some of them.
        NoValue::Wrapped { .. }
        | NoValue::Restarted { value_fell: true }
        | NoValue::TimeWentBack { value_fell: true } => "negative_value",
        NoValue::Restarted { value_fell: false } | NoValue::TimeWentBack { value_fell: false } => {
            "negative_denominator"
        }
        other => other.keyword(),
    }
}

struct VectorRow<'a, 'h> {
    heads: &'h [&'a str],
    cells: Vec<&'a str>,
    line: usize,
}

impl<'a> VectorRow<'a, '_> {
    fn vector(&self) -> Result<Vector<'a>, TableError> {
        let old = match self.cell("samples")? {
            "1" => None,
            _ => Some(self.sample(["n0", "b0", "perf_time0", "time100ns0", "obj_time0"])?),
        };
        let new = self.sample(["n1", "b1", "perf_time1", "time100ns1", "obj_time1"])?;
        let status = self.cell("status")?;
        let values = match status {
            "ok" => {
                Some([self.number("value_raw")?, self.number("value_nocap")?, self.number("value_default")?])
            }
            _ => None,
        };
        Ok(Vector { id: self.cell("id")?, old, new, status, values })
    }

    fn sample(
        &self,
        [n, b, perf_time, time_100ns, object_time]: [&'static str; 5],
    ) -> Result<Sample<'a>, TableError> {
        let name = self.cell("type_name")?;
        let digits = self.cell("type_hex")?.trim_start_matches("0x");
        let counter_type = match u32::from_str_radix(digits, 16) {
            Ok(bits) => CounterType(bits),
            Err(_) => return Err(self.bad("type_hex", "is no hexadecimal number")),
        };
        if CounterType::from_name(name).is_some_and(|known| known != counter_type) {
            return Err(self.bad("type_hex", "is not that of type_name"));
        }
        // Bases have 4 bytes, except time stamps and the base of the large fraction.
        let long_base = ["PRECISION", "LARGE"].iter().any(|part| name.contains(part));
        let raw = match self.cell("n_size")? {
            "4" => RawValue::U32(self.number(n)?),
            _ => RawValue::U64(self.number(n)?),
        };
        let base = match self.cell(b)? {
            "" => None,
            _ if long_base => Some(RawValue::U64(self.number(b)?)),
            _ => Some(RawValue::U32(self.number(b)?)),
        };
        let wraps = self.cell("wrap32")? == "1";
        Ok(Sample {
            identity: Identity {
                counterset: Guid::NIL,
                instance: Name::default(),
                instance_id: InstanceId(0),
                birth: None,
            },
            counter: CounterId(0),
            counter_type,
            raw,
            base,
            wraps,
            base_wraps: wraps,
            clocks: Clocks {
                perf_time: self.number(perf_time)?,
                perf_freq: self.number("perf_freq")?,
                time_100ns: self.number(time_100ns)?,
                object_time: self.number(object_time)?,
                object_freq: self.number("obj_freq")?,
            },
        })
    }

    fn cell(&self, column: &'static str) -> Result<&'a str, TableError> {
        let at = self.heads.iter().position(|head| *head == column);
        let cell = at.and_then(|at| self.cells.get(at));
        cell.copied().ok_or_else(|| self.bad(column, "is missing"))
    }

    fn number<T: std::str::FromStr>(&self, column: &'static str) -> Result<T, TableError> {
        let cell = self.cell(column)?;
        cell.parse().map_err(|_| self.bad(column, &format!("\"{cell}\" is not such a number")))
    }

    fn bad(&self, column: &'static str, why: &str) -> TableError {
        TableError { line: self.line, column, why: why.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "id,type_name,type_hex,n0,n1,b0,b1,perf_time0,perf_time1,perf_freq,time100ns0,time100ns1,\
                        obj_time0,obj_time1,obj_freq,n_size,samples,wrap32,status,value_raw,value_nocap,value_default";

    #[test]
    fn mismatches_are_found() {
        for (row, want) in [
            ("a,PERF_COUNTER_RAWCOUNT,0x00010000,,7,,,0,0,0,0,0,0,0,0,4,1,0,ok,7,7,7", None),
            (
                "b,PERF_COUNTER_RAWCOUNT,0x00010000,,7,,,0,0,0,0,0,0,0,0,4,1,0,ok,7,7,8",
                Some("b: value_default is 7, must be 8"),
            ),
            (
                "c,PERF_COUNTER_RAWCOUNT,0x00010000,,7,,,0,0,0,0,0,0,0,0,4,1,0,missing_base,,,",
                Some("c: is 7, must be missing_base"),
            ),
            (
                "d,PERF_COUNTER_TEXT,0x00000B00,,7,,,0,0,0,0,0,0,0,0,4,1,0,ok,7,7,7",
                Some("d: is not_displayable, must be ok"),
            ),
        ] {
            let report = check(&format!("{HEAD}\n{row}\n")).unwrap();
            assert_eq!(report.mismatches.first().map(String::as_str), want);
            assert_eq!(report.checked, 1);
        }
    }

    #[test]
    fn bad_tables_say_where() {
        for (table, want) in [
            ("id\nx".to_owned(), "line 2, column samples: is missing"),
            (
                format!("{HEAD}\na,X,zz,0,7,,,0,0,0,0,0,0,0,0,4,1,0,ok,7,7,7"),
                "line 2, column type_hex: is no hexadecimal number",
            ),
            (
                format!("{HEAD}\na,PERF_COUNTER_TEXT,0x1,0,7,,,0,0,0,0,0,0,0,0,4,1,0,ok,7,7,7"),
                "line 2, column type_hex: is not that of type_name",
            ),
            (
                format!("{HEAD}\na,X,0x10000,0,4294967296,,,0,0,0,0,0,0,0,0,4,1,0,ok,7,7,7"),
                "line 2, column n1: \"4294967296\" is not such a number",
            ),
        ] {
            assert_eq!(check(&table).unwrap_err().to_string(), want);
        }
        assert_eq!(check(""), Ok(Report::default()));
    }
}
