//! Parsers for the query strings of HTTP requests.

use std::fmt;
use std::time::Duration;

use perfset::path::CounterPath;

/// Maximum number of counter paths in a request.
// A feed stores the requests by which its viewers know a series as bits of a `u64`, so not more than 64.
pub const PATHS_MOST: usize = 64;
/// Maximum number of instances that the parameter `top` of a request may name.
pub const TOP_MOST: u32 = 1_000;
/// Maximum length of a step that a range request may name.
const STEP_MOST: Duration = Duration::from_secs(86_400 * 366);
/// Maximum length of the search words in a request, in bytes.
const WORDS_LEN_MOST: usize = 200;

/// Counter path of a request, with the selection of its instances.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathRequest {
    /// Counter path that the client requests.
    pub path: CounterPath,
    /// Maximum number of requested instances, those with the greatest values; `None` for all.
    pub top: Option<u32>,
    /// `true` if the client requests the sum over the instances too; it is sent only if it has a meaning.
    pub sum: bool,
}

/// Request for an event stream: its counter paths and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRequest {
    /// Requested counter paths of the stream, in order.
    pub asks: Vec<PathRequest>,
    /// Number of seconds of earlier values that the stream sends first.
    pub history_s: u32,
    /// Requested part of a log for the stream.
    pub range: TimeRange,
}

/// Request for the values of a range of time, summarized in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeRequest {
    /// Requested counter paths of the range, in order.
    pub asks: Vec<RangeAsk>,
    /// Begin and end of the range, as the request names them.
    pub range: TimeRange,
    /// Length of a step of the range; `None` lets the server choose it.
    pub step: Option<Duration>,
    /// Format of the response for the range.
    pub format: RangeFormat,
}

/// Request for a report about a range of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    /// Counter paths that get a chart of their own in the report, in order.
    pub paths: Vec<CounterPath>,
    /// Begin and end of the report's range, as the request names them.
    pub range: TimeRange,
}

/// Requested counter path of a range, which has an error of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeAsk {
    /// Text of the counter path in the request.
    pub text: String,
    /// Parsed counter path with the selection of its instances, or the reason why the text is no path.
    pub request: Result<PathRequest, String>,
    /// Name that the client gives to the counter path in the response.
    pub alias: Option<String>,
}

/// Format of the response for a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RangeFormat {
    /// Range as JSON: arrays of numbers, one for each statistic of a series.
    #[default]
    Json,
    /// Range as CSV: a row for each step, and four columns for each series.
    Csv,
}

/// Part of a log that a request names, for a server that shows a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Time of the first requested sample of the log, as text.
    pub begin: Option<String>,
    /// Time of the last requested sample of the log, as text.
    pub end: Option<String>,
}

/// Request for a table: the instances of a counterset as rows, and some of its counters as columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRequest {
    /// Name or GUID of the counterset that the table shows.
    pub counterset: String,
    /// Names or patterns of the counters in the table's columns; none for the usual ones.
    pub columns: Vec<String>,
    /// Time of a log that the table shows, as text.
    pub at: Option<String>,
    /// Counter by which the table's rows are sorted, or `name`; `None` for the first column.
    pub sort: Option<String>,
    /// `true` if the least value comes first in the table; `None` for the usual order of the column.
    pub is_ascending: Option<bool>,
    /// Text that the names of the shown instances contain.
    pub filter: Option<String>,
    /// Maximum number of the table's rows, without the ancestors of other rows.
    pub limit: usize,
    /// `true` if the client requests facts about the instances too.
    pub has_facts: bool,
    /// Relation by which the table's rows are arranged.
    pub tree: Option<TableTree>,
}

/// Relation by which the rows of a requested table are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableTree {
    /// Tree in which each row is below the row of its parent.
    Parent,
    /// Groups of rows with the same control group.
    Cgroup,
}

/// Error for the invalid query string of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRequest(pub String);

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadRequest {}

fn bad<T>(text: impl Into<String>) -> Result<T, BadRequest> {
    Err(BadRequest(text.into()))
}

/// Maximum number of collectors that a request for metrics may name.
const COLLECTORS_MOST: usize = 128;

/// Parses the query string of `/metrics`: `[collect[]=NAME...]`. Returns the names, each once.
///
/// # Errors
/// If a parameter is unknown or invalid, or there are too many.
pub fn metrics(query: &str) -> Result<Vec<String>, BadRequest> {
    let mut names = Vec::new();
    for pair in pairs(query) {
        let (name, value) = pair?;
        match name.as_str() {
            "collect[]" if names.len() < COLLECTORS_MOST => names.push(value),
            "collect[]" => return bad(format!("at most {COLLECTORS_MOST} collectors can be requested")),
            _ => return unknown(&name, "collect[]"),
        }
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Parses the query string of `/api/stream`: `path=P[&top=N|&sum=1][&path=P...][&history=SECONDS]`, and
/// for a log `[&begin=TIME][&end=TIME]`.
///
/// # Errors
/// If a parameter is unknown or invalid, or there is no path, or there are too many.
pub fn stream(query: &str) -> Result<StreamRequest, BadRequest> {
    let mut request = StreamRequest { asks: Vec::new(), history_s: 0, range: TimeRange::default() };
    for pair in pairs(query) {
        let (name, value) = pair?;
        match name.as_str() {
            "path" => add(&mut request.asks, &value)?,
            "top" | "sum" => select(request.asks.last_mut(), &name, &value, false)?,
            "history" => request.history_s = number(&name, &value, 0, u32::MAX)?,
            "begin" => set(&mut request.range.begin, &name, value)?,
            "end" => set(&mut request.range.end, &name, value)?,
            _ => return unknown(&name, "path, top, sum, history, begin, end and log"),
        }
    }
    some(request.asks).map(|asks| StreamRequest { asks, ..request })
}

/// Parses the query string of `/api/v1/range`: `path=P[&alias=NAME][&top=N|&sum=1][&path=P...][&from=TIME][&to=TIME]
/// [&step=SECONDS][&format=json|csv]`. A text that is no path is an error of that path alone.
///
/// # Errors
/// Same as [`stream`].
pub fn range(query: &str) -> Result<RangeRequest, BadRequest> {
    let mut request = RangeRequest {
        asks: Vec::new(),
        range: TimeRange::default(),
        step: None,
        format: RangeFormat::default(),
    };
    for pair in pairs(query) {
        let (name, value) = pair?;
        match name.as_str() {
            "path" if request.asks.len() >= PATHS_MOST => return bad(too_many_paths()),
            "path" => request.asks.push(RangeAsk::new(value)),
            "top" | "sum" => match request.asks.last_mut() {
                // Without a path there is nothing to select from.
                Some(RangeAsk { request: Err(_), .. }) => {}
                ask => select(ask.and_then(|ask| ask.request.as_mut().ok()), &name, &value, true)?,
            },
            "alias" => match request.asks.last_mut() {
                Some(ask) => set(&mut ask.alias, &name, value)?,
                None => return bad("alias belongs behind the path that it is of"),
            },
            "from" => set(&mut request.range.begin, &name, value)?,
            "to" => set(&mut request.range.end, &name, value)?,
            "step" => request.step = Some(step(&value)?),
            "format" => {
                request.format = match value.as_str() {
                    "json" => RangeFormat::Json,
                    "csv" => RangeFormat::Csv,
                    _ => return bad(format!("format is json or csv, not \"{value}\"")),
                }
            }
            _ => return unknown(&name, "path, alias, top, sum, from, to, step, format and log"),
        }
    }
    if request.asks.is_empty() { bad(NO_PATH) } else { Ok(request) }
}

/// Parses the query string of `/api/v1/report`: `[from=TIME][&to=TIME][&path=P...]`.
///
/// # Errors
/// Same as [`stream`], except that a report needs no path.
pub fn report(query: &str) -> Result<ReportRequest, BadRequest> {
    let (mut asks, mut range) = (Vec::new(), TimeRange::default());
    for pair in pairs(query) {
        let (name, value) = pair?;
        match name.as_str() {
            "path" => add(&mut asks, &value)?,
            "from" => set(&mut range.begin, &name, value)?,
            "to" => set(&mut range.end, &name, value)?,
            _ => return unknown(&name, "path, from, to and log"),
        }
    }
    Ok(ReportRequest { paths: asks.into_iter().map(|ask| ask.path).collect(), range })
}

/// Number of rows of a table if its request names none.
pub const ROWS: usize = 100;

/// Parses the query string of `/api/v1/table`: `counterset=NAME[&column=COUNTER...][&at=TIME][&sort=COUNTER|name]
/// [&order=asc|desc][&filter=TEXT][&limit=N][&facts=1][&tree=parent|cgroup]`.
///
/// # Errors
/// If a parameter is unknown or invalid, or the counterset is missing.
pub fn table(query: &str) -> Result<TableRequest, BadRequest> {
    let mut request = TableRequest::default();
    let [mut counterset, mut limit, mut order, mut facts, mut tree] = [const { None }; 5];
    for pair in pairs(query) {
        let (name, value) = pair?;
        match name.as_str() {
            "counterset" => set(&mut counterset, &name, value)?,
            "column" if value.len() > WORDS_LEN_MOST => {
                return bad(format!("column is longer than {WORDS_LEN_MOST} bytes"));
            }
            "column" => request.columns.push(value),
            "at" => set(&mut request.at, &name, value)?,
            "sort" => set(&mut request.sort, &name, value)?,
            "order" => set(&mut order, &name, value)?,
            "filter" => set(&mut request.filter, &name, value)?,
            "limit" => set(&mut limit, &name, value)?,
            "facts" => set(&mut facts, &name, value)?,
            "tree" => set(&mut tree, &name, value)?,
            _ => {
                return unknown(
                    &name,
                    "counterset, column, at, sort, order, filter, limit, facts, tree and log",
                );
            }
        }
    }
    let Some(counterset) = counterset else { return bad("counterset is missing: counterset=Process+V2") };
    request.counterset = counterset;
    request.filter = request.filter.filter(|text| !text.trim().is_empty());
    let limit = limit.map(|text| number("limit", &text, 1, u32::MAX)).transpose()?;
    request.limit = limit.map_or(ROWS, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    request.has_facts = facts.map(|text| number("facts", &text, 0, 1)).transpose()? == Some(1);
    request.is_ascending = match order.as_deref() {
        None => None,
        Some("asc") => Some(true),
        Some("desc") => Some(false),
        Some(other) => return bad(format!("order is asc or desc, not \"{other}\"")),
    };
    request.tree = match tree.as_deref() {
        None => None,
        Some("parent") => Some(TableTree::Parent),
        Some("cgroup") => Some(TableTree::Cgroup),
        Some(other) => return bad(format!("tree is parent or cgroup, not \"{other}\"")),
    };
    Ok(request)
}

impl TableRequest {
    /// Returns the address with the query string of the request.
    pub fn address(&self) -> String {
        let mut parts = vec![format!("counterset={}", encoded(&self.counterset))];
        parts.extend(self.columns.iter().map(|column| format!("column={}", encoded(column))));
        let texts = [("at", &self.at), ("sort", &self.sort), ("filter", &self.filter)];
        parts.extend(
            texts.into_iter().filter_map(|(name, text)| Some(format!("{name}={}", encoded(text.as_ref()?)))),
        );
        parts.extend(self.is_ascending.map(|is| format!("order={}", if is { "asc" } else { "desc" })));
        parts.push(format!("limit={}", self.limit));
        parts.extend(self.has_facts.then(|| "facts=1".to_owned()));
        parts.extend(self.tree.map(|tree| match tree {
            TableTree::Parent => "tree=parent".to_owned(),
            TableTree::Cgroup => "tree=cgroup".to_owned(),
        }));
        format!("/api/v1/table?{}", parts.join("&"))
    }
}

impl RangeRequest {
    /// Returns the address of the same range request with another step in milliseconds. Each path that can have
    /// several instances and no selection gets `top`.
    pub fn address(&self, step_ms: i64, top: Option<usize>) -> String {
        let mut parts = Vec::new();
        for RangeAsk { text, request, alias } in &self.asks {
            parts.push(format!("path={}", encoded(text)));
            parts.extend(alias.iter().map(|alias| format!("alias={}", encoded(alias))));
            let Ok(PathRequest { path, top: own, sum }) = request else { continue };
            let is_several = path.instance.as_ref().is_some_and(|text| text.contains(['*', '?', '{', '!']));
            match (own, top) {
                (Some(own), _) => parts.push(format!("top={own}")),
                (None, Some(top)) if is_several => parts.push(format!("top={top}")),
                _ => {}
            }
            if *sum {
                parts.push("sum=1".to_owned());
            }
        }
        for (name, time) in [("from", &self.range.begin), ("to", &self.range.end)] {
            parts.extend(time.iter().map(|time| format!("{name}={}", encoded(time))));
        }
        parts.push(format!("step={step_ms}ms"));
        if self.format == RangeFormat::Csv {
            parts.push("format=csv".to_owned());
        }
        format!("/api/v1/range?{}", parts.join("&"))
    }
}

impl RangeAsk {
    fn new(text: String) -> Self {
        let parsed = text.parse::<CounterPath>().map_err(|error| error.to_string());
        let request = parsed.map(|path| PathRequest { path, top: None, sum: false });
        Self { text, request, alias: None }
    }
}

/// Parses the length of a range's step: seconds, or a number with `ms`, `s`, `m`, `h` or `d`.
fn step(text: &str) -> Result<Duration, BadRequest> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0), ("", 1.0)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let seconds = found.and_then(|(number, unit)| Some(number.parse::<f64>().ok()? * unit));
    match seconds {
        Some(seconds) if (0.001..=STEP_MOST.as_secs_f64()).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => bad(format!(
            "step is a number of seconds from 0.001 on, like 10, 500ms, 5m or 1h, not \"{text}\""
        )),
    }
}

/// Applies the parameter `top` or `sum` of a request to the counter path before it. A path can have both if
/// `allows_both` is `true`: of a range the sum has the instances that are not among the greatest.
fn select(
    ask: Option<&mut PathRequest>,
    name: &str,
    value: &str,
    allows_both: bool,
) -> Result<(), BadRequest> {
    let most = if name == "top" { TOP_MOST } else { 1 };
    let chosen = number(name, value, 1, most)?;
    let Some(ask) = ask else { return bad(format!("{name} belongs behind the path that it is of")) };
    match name {
        "top" if ask.sum && !allows_both => bad(TOP_AND_SUM),
        "top" if ask.top.is_some() => bad("top is there twice for one path"),
        "top" => {
            ask.top = Some(chosen);
            Ok(())
        }
        _ if ask.top.is_some() && !allows_both => bad(TOP_AND_SUM),
        _ if ask.sum => bad("sum is there twice for one path"),
        _ => {
            ask.sum = true;
            Ok(())
        }
    }
}

/// Parses the query string of `/api/query`: `path=P[&path=P...]`, and for a log `[&at=TIME]`. Returns the paths and the
/// time.
///
/// # Errors
/// Same as [`stream`].
pub fn values(query: &str) -> Result<(Vec<CounterPath>, Option<String>), BadRequest> {
    let (mut asks, mut at) = (Vec::new(), None);
    for pair in pairs(query) {
        match pair? {
            (name, value) if name == "path" => add(&mut asks, &value)?,
            (name, value) if name == "at" => set(&mut at, &name, value)?,
            (name, _) => return unknown(&name, "path, at and log"),
        }
    }
    some(asks).map(|asks| (asks.into_iter().map(|ask| ask.path).collect(), at))
}

/// Stores the value of a request's time parameter. Returns an error if the request has the parameter twice, or the
/// value is too long.
fn set(time: &mut Option<String>, name: &str, value: String) -> Result<(), BadRequest> {
    match time.is_none() && value.len() <= WORDS_LEN_MOST {
        true => *time = Some(value),
        false => return bad(format!("{name} is there twice, or longer than {WORDS_LEN_MOST} bytes")),
    }
    Ok(())
}

/// Returns the value of the only parameter that a request may have; `None` if it is missing or empty.
///
/// # Errors
/// If there is another parameter, or the value is too long.
pub fn text(query: &str, wanted: &str) -> Result<Option<String>, BadRequest> {
    only(query, wanted, wanted)
}

/// Returns the value of the only parameter that a request may have beside `log`, which [`log`] has removed.
///
/// # Errors
/// Same as [`text`].
pub fn text_of_log(query: &str, wanted: &str) -> Result<Option<String>, BadRequest> {
    only(query, wanted, &format!("{wanted} and log"))
}

/// Removes the parameter `log` from a query string, and returns the rest and the id of the log.
///
/// # Errors
/// If the parameter is there twice.
pub fn log(query: &str) -> Result<(String, Option<String>), BadRequest> {
    let (rest, mut ids) = without(query, "log");
    let id = ids.pop();
    match ids.is_empty() && id.as_ref().is_none_or(|id| id.len() <= WORDS_LEN_MOST) {
        true => Ok((rest, id)),
        false => bad(format!("log is there twice, or longer than {WORDS_LEN_MOST} bytes")),
    }
}

/// Checks that the query string of a request has no parameter, except `log` where `known` names it.
///
/// # Errors
/// If there is one.
pub fn none_but(query: &str, known: &str) -> Result<(), BadRequest> {
    pairs(query).next().map_or(Ok(()), |pair| pair.and_then(|(name, _)| unknown(&name, known)))
}

/// Parses the query string of a piece of an upload: `offset=N`.
///
/// # Errors
/// If the parameter is missing or no number, or there is another one.
pub fn offset(query: &str) -> Result<u64, BadRequest> {
    let text = only(query, "offset", "offset")?;
    let offset = text.as_deref().and_then(|text| text.parse().ok());
    offset.map_or_else(|| bad("offset is missing or no number of bytes: offset=0"), Ok)
}

fn only(query: &str, wanted: &str, known: &str) -> Result<Option<String>, BadRequest> {
    let mut found = None;
    for pair in pairs(query) {
        match pair? {
            (name, value) if name == wanted && value.len() <= WORDS_LEN_MOST => found = Some(value),
            (name, _) if name == wanted => {
                return bad(format!("{wanted} is longer than {WORDS_LEN_MOST} bytes"));
            }
            (name, _) => return unknown(&name, known),
        }
    }
    Ok(found.filter(|text| !text.trim().is_empty()))
}

/// Removes one parameter from a query string, and returns the rest and the values of the parameter.
#[must_use]
pub fn without(query: &str, name: &str) -> (String, Vec<String>) {
    let (mut rest, mut taken) = (Vec::new(), Vec::new());
    for part in query.split('&') {
        match pair(part) {
            Ok((found, value)) if found == name => taken.push(value),
            _ => rest.push(part),
        }
    }
    (rest.join("&"), taken)
}

/// Error text for a request without a counter path.
const NO_PATH: &str = "no path is asked: path=\\Memory\\Available Bytes";
/// Error text for a counter path with two selections that exclude each other.
const TOP_AND_SUM: &str = "a path has top or sum, not both";

fn too_many_paths() -> String {
    format!("more than {PATHS_MOST} paths")
}

fn add(asks: &mut Vec<PathRequest>, text: &str) -> Result<(), BadRequest> {
    if asks.len() >= PATHS_MOST {
        return bad(too_many_paths());
    }
    match text.parse() {
        Ok(path) => asks.push(PathRequest { path, top: None, sum: false }),
        Err(error) => return bad(perfset::path::PathError::to_string(&error)),
    }
    Ok(())
}

fn some(asks: Vec<PathRequest>) -> Result<Vec<PathRequest>, BadRequest> {
    if asks.is_empty() { bad(NO_PATH) } else { Ok(asks) }
}

fn unknown<T>(name: &str, known: &str) -> Result<T, BadRequest> {
    bad(format!("there is no parameter \"{name}\": there is {known}"))
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, BadRequest> {
    match value.parse::<u32>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => bad(format!("{name} is a whole number from {least} to {most}, not \"{value}\"")),
    }
}

/// Returns the names and values of a query string's parameters, in order; empty parts are skipped.
fn pairs(query: &str) -> impl Iterator<Item = Result<(String, String), BadRequest>> {
    query.split('&').filter(|part| !part.is_empty()).map(pair)
}

fn pair(part: &str) -> Result<(String, String), BadRequest> {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    Ok((decoded(name)?, decoded(value)?))
}

/// Encodes the value of a parameter for a query string.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'/'
            | b':'
            | b','
            | b'('
            | b')'
            | b'*' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Decodes the name or value of a query string's parameter: `+` is a blank, `%41` a byte of UTF-8.
fn decoded(text: &str) -> Result<String, BadRequest> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => match (digit(), digit()) {
                (Some(high), Some(low)) => {
                    let byte = high.saturating_mul(16).saturating_add(low);
                    bytes.push(u8::try_from(byte).unwrap_or_default()); // two digits are a byte
                }
                _ => return bad("% is not followed by two hexadecimal digits"),
            },
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).or_else(|_| bad("a parameter is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(query: &str) -> Result<String, String> {
        let request = stream(query).map_err(|error| error.0)?;
        let ask = |ask: &PathRequest| {
            let top = ask.top.map_or(String::new(), |n| format!(" top {n}"));
            format!("{}{top}{}", ask.path, if ask.sum { " sum" } else { "" })
        };
        let asks: Vec<_> = request.asks.iter().map(ask).collect();
        Ok(format!("{} history {}", asks.join(", "), request.history_s))
    }

    #[test]
    fn collectors_of_metrics() {
        for (query, want) in [
            ("", Ok(vec![])),
            ("collect[]=cpu&collect%5B%5D=Linux+System&collect[]=cpu", Ok(vec!["Linux System", "cpu"])),
            ("collect=cpu", Err("collect[]")),
            ("name[]=up", Err("collect[]")),
        ] {
            match (metrics(query), want) {
                (Ok(names), Ok(want)) => assert_eq!(names, want, "{query}"),
                (Err(error), Err(want)) => assert!(error.0.contains(want), "{query}: {error}"),
                (other, _) => panic!("{query}: {other:?}"),
            }
        }
        let many = "collect[]=a&".repeat(COLLECTORS_MOST);
        assert!(metrics(&many).is_ok() && metrics(&format!("{many}collect[]=a")).is_err());
    }

    #[test]
    fn query_strings() {
        for (query, want) in [
            ("path=/A/B", r"\A\B history 0"),
            ("path=%5CA%28x%29%5CB+c&history=60", r"\A(x)\B c history 60"),
            ("path=/A(*)/B&top=5&path=/C/D", r"\A(*)\B top 5, \C\D history 0"),
            ("path=/A(*)/B&sum=1&path=/C/D&top=2", r"\A(*)\B sum, \C\D top 2 history 0"),
            ("history=7&&path=/A/%C3%BC", r"\A\ü history 7"),
            ("path=/A/B%2541", r"\A\B%41 history 0"),
        ] {
            assert_eq!(shown(query).as_deref(), Ok(want), "{query}");
        }
    }

    #[test]
    fn mistakes() {
        for (query, want) in [
            ("", "no path is asked: path=\\Memory\\Available Bytes"),
            ("history=1", "no path is asked: path=\\Memory\\Available Bytes"),
            ("path=", "the path is empty"),
            ("path=x", "\"x\" does not begin with \\ or /"),
            ("path=/A/B&top=0", "top is a whole number from 1 to 1000, not \"0\""),
            ("path=/A/B&top=1001", "top is a whole number from 1 to 1000, not \"1001\""),
            ("top=1&path=/A/B", "top belongs behind the path that it is of"),
            ("path=/A/B&top=1&top=2", "top is there twice for one path"),
            ("path=/A/B&history=-1", "history is a whole number from 0 to 4294967295, not \"-1\""),
            (
                "path=/A/B&x=1",
                "there is no parameter \"x\": there is path, top, sum, history, begin, end and log",
            ),
            ("path=/A/B&sum=0", "sum is a whole number from 1 to 1, not \"0\""),
            ("sum=1&path=/A/B", "sum belongs behind the path that it is of"),
            ("path=/A/B&sum=1&sum=1", "sum is there twice for one path"),
            ("path=/A/B&sum=1&top=2", "a path has top or sum, not both"),
            ("path=/A/B&top=2&sum=1", "a path has top or sum, not both"),
            ("path=/A/%zz", "% is not followed by two hexadecimal digits"),
            ("path=/A/%4", "% is not followed by two hexadecimal digits"),
            ("path=/A/%ff", "a parameter is not UTF-8"),
        ] {
            assert_eq!(shown(query), Err(want.to_owned()), "{query}");
        }
        let many = vec!["path=/A/B"; PATHS_MOST + 1].join("&");
        assert_eq!(shown(&many), Err("more than 64 paths".to_owned()));
        assert!(stream(&many[10..]).is_ok());
    }

    #[test]
    fn tables() {
        let whole = "counterset=Process+V2&column=%25+Processor+Time&column=Working+Set&at=-10m&sort=name\
                     &filter=a%26b&order=asc&limit=7&facts=1&tree=cgroup";
        let request = table(whole).unwrap();
        assert_eq!((request.counterset.as_str(), request.limit, request.has_facts), ("Process V2", 7, true));
        assert_eq!(request.columns, ["% Processor Time", "Working Set"]);
        assert_eq!((request.is_ascending, request.tree), (Some(true), Some(TableTree::Cgroup)));
        let (_, address) =
            request.address().split_once('?').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(table(&address), Ok(request));
        let least = table("counterset=x&filter=+&facts=0").unwrap();
        assert_eq!(least, TableRequest { counterset: "x".into(), limit: ROWS, ..TableRequest::default() });
        for (query, want) in [
            ("", "counterset is missing: counterset=Process+V2"),
            ("counterset=x&counterset=y", "counterset is there twice, or longer than 200 bytes"),
            ("counterset=x&limit=0", "limit is a whole number from 1 to 4294967295, not \"0\""),
            ("counterset=x&order=up", "order is asc or desc, not \"up\""),
            ("counterset=x&tree=x", "tree is parent or cgroup, not \"x\""),
            ("counterset=x&facts=2", "facts is a whole number from 0 to 1, not \"2\""),
        ] {
            assert_eq!(table(query), Err(BadRequest(want.to_owned())), "{query}");
        }
        assert!(table(&format!("counterset=x&column={}", "y".repeat(201))).is_err());
    }

    #[test]
    fn other_questions() {
        assert_eq!(values("path=/A/B&path=/C/D").unwrap().0.len(), 2);
        assert_eq!(values("path=/A/B&at=-10m").unwrap().1.as_deref(), Some("-10m"));
        assert!(values("path=/A/B&at=1&at=2").is_err());
        let range = stream("path=/A/B&begin=mark+x&end=7").unwrap().range;
        assert_eq!((range.begin.as_deref(), range.end.as_deref()), (Some("mark x"), Some("7")));
        assert!(stream("path=/A/B&begin=1&begin=1").is_err());
        assert_eq!(
            values("path=/A/B&top=1").unwrap_err().0,
            "there is no parameter \"top\": there is path, at and log"
        );
        assert_eq!(text("words=a+b", "words"), Ok(Some("a b".to_owned())));
        assert_eq!((text("", "words"), text("words=+", "words")), (Ok(None), Ok(None)));
        assert!(
            text("filter=a", "words").is_err()
                && text(&format!("words={}", "x".repeat(201)), "words").is_err()
        );
        assert_eq!(without("a=1&token=x%41&b=2", "token"), ("a=1&b=2".to_owned(), vec!["xA".to_owned()]));
        assert_eq!(without("", "token"), (String::new(), vec![]));
    }
}
