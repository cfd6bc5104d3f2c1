//! Strict reader of Prometheus text and OpenMetrics, written after the documents of these formats alone.

use std::collections::{BTreeMap, HashSet};

use crate::ExpositionFormat;

/// Series of a scrape: name, labels and value of a line.
type Series = (String, Labels, String);

/// Contents of the text of a scrape.
#[derive(Debug, Default)]
pub struct Read {
    /// Type of each metric family in the text, by name.
    pub types: BTreeMap<String, String>,
    /// Help text of each metric family in the text, by name.
    pub helps: BTreeMap<String, String>,
    /// Name, labels and value of each line of the text, in order.
    pub series: Vec<Series>,
}

impl Read {
    /// Returns the value of the only line with that name and these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<&str> {
        let is = |(of, has, _): &&Series| {
            of == name && has.iter().map(|(k, v)| (k.as_str(), v.as_str())).eq(labels.iter().copied())
        };
        self.series.iter().find(is).map(|(.., value)| value.as_str())
    }

    /// Returns labels and values of all lines with a metric's name.
    pub fn of(&self, name: &str) -> Vec<(String, &str)> {
        let text = |labels: &[(String, String)]| {
            labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
        };
        let lines = self.series.iter().filter(|(of, ..)| of == name);
        lines.map(|(_, labels, value)| (text(labels), value.as_str())).collect()
    }
}

/// Reads the whole text of a scrape, or returns a message about the wrong line.
pub fn read(text: &[u8], format: ExpositionFormat) -> Result<Read, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let body = match format {
        ExpositionFormat::OpenMetrics => text.strip_suffix("# EOF\n").ok_or("no # EOF at its end")?,
        ExpositionFormat::Prometheus => text,
    };
    if !body.is_empty() && !body.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    let mut read = Read::default();
    let mut seen = HashSet::new();
    let mut finished = HashSet::new();
    let mut current: Option<String> = None;
    for line in body.split_terminator('\n') {
        one_line(line, format, &mut read, &mut seen, &mut finished, &mut current)
            .map_err(|why| format!("{why}: {line:?}"))?;
    }
    Ok(read)
}

fn one_line(
    line: &str,
    format: ExpositionFormat,
    read: &mut Read,
    seen: &mut HashSet<String>,
    finished: &mut HashSet<String>,
    current: &mut Option<String>,
) -> Result<(), String> {
    let mut begin = |family: &str| {
        if current.as_deref() == Some(family) {
            return Ok(());
        }
        if let Some(before) = current.replace(family.to_owned()) {
            finished.insert(before);
        }
        if finished.contains(family) { Err("its family is in two places") } else { Ok(()) }
    };
    if let Some(rest) = line.strip_prefix("# ") {
        let mut parts = rest.splitn(3, ' ');
        let (what, family, text) = (parts.next(), parts.next(), parts.next());
        let (Some(what), Some(family), Some(text)) = (what, family, text) else {
            return Err("a part lacks".into());
        };
        is_name(family)?;
        begin(family)?;
        let twice = match what {
            "TYPE" => {
                let known: &[&str] = match format {
                    ExpositionFormat::Prometheus => &["counter", "gauge", "untyped"],
                    ExpositionFormat::OpenMetrics => &["counter", "gauge", "info", "unknown"],
                };
                if !known.contains(&text) {
                    return Err("an unknown type".into());
                }
                if format == ExpositionFormat::Prometheus && (text == "counter") != family.ends_with("_total")
                {
                    return Err("a counter ends in _total and nothing else does".into());
                }
                if format == ExpositionFormat::OpenMetrics && text == "counter" && family.ends_with("_total")
                {
                    return Err("a family of counters does not end in _total".into());
                }
                read.types.insert(family.into(), text.into())
            }
            "HELP" => {
                read.helps.insert(family.into(), unescaped(text, format == ExpositionFormat::OpenMetrics)?)
            }
            "UNIT" if format == ExpositionFormat::OpenMetrics && family.ends_with(&format!("_{text}")) => {
                None
            }
            _ => return Err("an unknown word".into()),
        };
        return if twice.is_some() { Err("said twice".into()) } else { Ok(()) };
    }
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, rest) = line.split_at(end);
    is_name(name)?;
    let family = match format {
        ExpositionFormat::Prometheus => name,
        ExpositionFormat::OpenMetrics => {
            let of = |sort: &str, end: &str| {
                name.strip_suffix(end).filter(|stem| read.types.get(*stem).is_some_and(|is| is == sort))
            };
            let created = || of("counter", "_created");
            of("counter", "_total").or_else(created).or_else(|| of("info", "_info")).unwrap_or(name)
        }
    };
    begin(family)?;
    let sort = read.types.get(family).ok_or("no type")?;
    if !read.helps.contains_key(family) {
        return Err("no help".into());
    }
    if format == ExpositionFormat::OpenMetrics
        && sort == "counter"
        && !["_total", "_created"].iter().any(|end| name.ends_with(end))
    {
        return Err("a counter's line without _total".into());
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.strip_prefix(' ').ok_or("no blank before the value")?;
    value.parse::<f64>().map_err(|_| "no number")?;
    if value.contains(' ') {
        return Err("a time stamp".into());
    }
    if sort == "counter" && !value.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("a counter below 0".into());
    }
    let mut sorted = labels.clone();
    sorted.sort();
    if !seen.insert(format!("{name} {sorted:?}")) {
        return Err("the same series twice".into());
    }
    if sorted.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("a label twice".into());
    }
    read.series.push((name.into(), labels, value.into()));
    Ok(())
}

type Labels = Vec<(String, String)>;

/// Reads the labels of a line up to the closing brace, and returns the labels and the rest.
fn labels(mut rest: &str) -> Result<(Labels, &str), String> {
    let mut labels = Vec::new();
    loop {
        let (key, behind) = rest.split_once("=\"").ok_or("no label")?;
        is_name(key)?;
        if key.contains(':') {
            return Err("a colon in a label".into());
        }
        let mut escaped = false;
        let end = behind.char_indices().find(|(_, c)| {
            let is_end = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            is_end
        });
        let (end, _) = end.ok_or("a label without an end")?;
        labels.push((key.to_owned(), unescaped(&behind[..end], true)?));
        rest = &behind[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Ok((labels, rest.strip_prefix('}').ok_or("no brace at the end")?)),
        }
    }
}

fn unescaped(text: &str, has_quotes: bool) -> Result<String, String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next() {
                Some('\\') => '\\',
                Some('n') => '\n',
                Some('"') if has_quotes => '"',
                _ => return Err("an unknown escape".into()),
            },
            '"' if has_quotes => return Err("a quotation mark".into()),
            c => c,
        });
    }
    Ok(plain)
}

fn is_name(name: &str) -> Result<(), String> {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let good = first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
    if good { Ok(()) } else { Err(format!("{name:?} is no name")) }
}

#[test]
fn it_refuses_what_is_wrong() {
    let head = "# HELP a_total b\n# TYPE a_total counter\n";
    for (line, why) in [
        ("a_total 1\n", None),
        ("a_total{b=\"c\"} 1.5\n", None),
        ("a_total{b=\"\\\\\\\"\\n\"} 1\n", None),
        ("a_total{b=\"c\",d=\"\"} NaN\n", Some("a counter below 0")),
        ("a_total 1", Some("the last line has no end")),
        ("a_total -1\n", Some("a counter below 0")),
        ("a_total 1\na_total 2\n", Some("the same series twice")),
        ("a_total{b=\"c\",d=\"e\"} 1\na_total{d=\"e\",b=\"c\"} 2\n", Some("the same series twice")),
        ("a_total{b=\"c\",b=\"e\"} 1\n", Some("a label twice")),
        ("a_total{b=\"c\"d\"} 1\n", Some("no brace")),
        ("a_total{b=\"c\\d\"} 1\n", Some("an unknown escape")),
        ("a_total{b=\"c} 1\n", Some("a label without an end")),
        ("a_total{} 1\n", Some("no label")),
        ("a_total  1\n", Some("no number")),
        ("a_total 1 1700000000\n", Some("no number")),
        ("a_total\n", Some("no value")),
        ("ä_total 1\n", Some("is no name")),
        ("b 1\n", Some("no type")),
        ("# TYPE b gauge\nb 1\n", Some("no help")),
        ("# TYPE b gauge\n# HELP b c\nb 1\na_total 1\n", Some("two places")),
        ("# TYPE a_total counter\n", Some("said twice")),
        ("# TYPE b counter\n", Some("ends in _total")),
        ("# TYPE b_total gauge\n", Some("ends in _total")),
        ("# UNIT a_total b\n", Some("an unknown word")),
        ("\n", Some("no value")),
    ] {
        let got = read(format!("{head}{line}").as_bytes(), ExpositionFormat::Prometheus);
        match why {
            None => assert!(got.is_ok(), "{line:?}: {got:?}"),
            Some(why) => assert!(got.as_ref().is_err_and(|error| error.contains(why)), "{line:?}: {got:?}"),
        }
    }
    for (text, good) in [
        ("# TYPE a counter\n# HELP a b\na_total 1\n# EOF\n", true),
        (
            "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds b\na_seconds_total 1\n# EOF\n",
            true,
        ),
        ("# TYPE a info\n# HELP a b\na_info{c=\"d\"} 1\n# EOF\n", true),
        ("# TYPE a counter\n# HELP a b\na_total 1\n", false),
        ("# TYPE a counter\n# HELP a b\na 1\n# EOF\n", false),
        ("# TYPE a_total counter\n# HELP a_total b\na_total 1\n# EOF\n", false),
        ("# TYPE a gauge\n# UNIT a seconds\n# HELP a b\na 1\n# EOF\n", false),
        ("# TYPE a gauge\n# HELP a \"b\"\na 1\n# EOF\n", false),
    ] {
        assert_eq!(read(text.as_bytes(), ExpositionFormat::OpenMetrics).is_ok(), good, "{text:?}");
    }
}
