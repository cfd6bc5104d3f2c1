//! Query strings of requests and their parameters.

use std::fmt;

use perfset::path::CounterPath;

/// Maximum number of paths in a request.
// A feed stores the requests by which its viewers know a series as bits of a `u64`, so not more than 64.
pub const PATHS_MOST: usize = 64;
/// Maximum number of instances that `top` may request.
pub const TOP_MOST: u32 = 1_000;
/// Maximum length of the words of a search, in bytes.
const WORDS_LEN_MOST: usize = 200;

/// Requested path, with the selection of its instances.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathRequest {
    /// Counter path that is requested.
    pub path: CounterPath,
    /// Maximum number of instances, those with the greatest values; `None` for all.
    pub top: Option<u32>,
    /// `true` if the sum over the instances is requested too; it is sent only if it has a meaning.
    pub sum: bool,
}

/// Request for a stream: its paths and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRequest {
    /// Requested paths, in order.
    pub asks: Vec<PathRequest>,
    /// Number of seconds of history to send first.
    pub history_s: u32,
    /// Requested part of a log.
    pub range: TimeRange,
}

/// Part of a log as a request names it, for a server that shows a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Time of the first requested sample.
    pub begin: Option<String>,
    /// Time of the last requested sample.
    pub end: Option<String>,
}

/// Error for an invalid query string.
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
            "top" => {
                let top = number(&name, &value, 1, TOP_MOST)?;
                match request.asks.last_mut() {
                    Some(PathRequest { sum: true, .. }) => return bad("a path has top or sum, not both"),
                    Some(ask) if ask.top.is_none() => ask.top = Some(top),
                    Some(_) => return bad("top is there twice for one path"),
                    None => return bad("top belongs behind the path that it is of"),
                }
            }
            "sum" => {
                number(&name, &value, 1, 1)?;
                match request.asks.last_mut() {
                    Some(PathRequest { top: Some(_), .. }) => return bad("a path has top or sum, not both"),
                    Some(ask) if !ask.sum => ask.sum = true,
                    Some(_) => return bad("sum is there twice for one path"),
                    None => return bad("sum belongs behind the path that it is of"),
                }
            }
            "history" => request.history_s = number(&name, &value, 0, u32::MAX)?,
            "begin" => set(&mut request.range.begin, &name, value)?,
            "end" => set(&mut request.range.end, &name, value)?,
            _ => return unknown(&name, "path, top, sum, history, begin and end"),
        }
    }
    some(request.asks).map(|asks| StreamRequest { asks, ..request })
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
            (name, _) => return unknown(&name, "path and at"),
        }
    }
    some(asks).map(|asks| (asks.into_iter().map(|ask| ask.path).collect(), at))
}

/// Stores the value of a time parameter; returns an error if the request has the parameter twice, or the value is too
/// long.
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
    let mut found = None;
    for pair in pairs(query) {
        match pair? {
            (name, value) if name == wanted && value.len() <= WORDS_LEN_MOST => found = Some(value),
            (name, _) if name == wanted => {
                return bad(format!("{wanted} is longer than {WORDS_LEN_MOST} bytes"));
            }
            (name, _) => return unknown(&name, wanted),
        }
    }
    Ok(found.filter(|text| !text.trim().is_empty()))
}

/// Returns a query string without one parameter, and the values of the removed parameter.
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

fn add(asks: &mut Vec<PathRequest>, text: &str) -> Result<(), BadRequest> {
    if asks.len() >= PATHS_MOST {
        return bad(format!("more than {PATHS_MOST} paths"));
    }
    match text.parse() {
        Ok(path) => asks.push(PathRequest { path, top: None, sum: false }),
        Err(error) => return bad(perfset::path::PathError::to_string(&error)),
    }
    Ok(())
}

fn some(asks: Vec<PathRequest>) -> Result<Vec<PathRequest>, BadRequest> {
    if asks.is_empty() { bad("no path is asked: path=\\Memory\\Available Bytes") } else { Ok(asks) }
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

/// Returns the names and values of a query string, in order; empty parts are skipped.
fn pairs(query: &str) -> impl Iterator<Item = Result<(String, String), BadRequest>> {
    query.split('&').filter(|part| !part.is_empty()).map(pair)
}

fn pair(part: &str) -> Result<(String, String), BadRequest> {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    Ok((decoded(name)?, decoded(value)?))
}

/// Decodes a name or value of a query string: `+` is a blank, `%41` a byte of UTF-8.
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
            ("path=/A/B&x=1", "there is no parameter \"x\": there is path, top, sum, history, begin and end"),
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
    fn other_questions() {
        assert_eq!(values("path=/A/B&path=/C/D").unwrap().0.len(), 2);
        assert_eq!(values("path=/A/B&at=-10m").unwrap().1.as_deref(), Some("-10m"));
        assert!(values("path=/A/B&at=1&at=2").is_err());
        let range = stream("path=/A/B&begin=mark+x&end=7").unwrap().range;
        assert_eq!((range.begin.as_deref(), range.end.as_deref()), (Some("mark x"), Some("7")));
        assert!(stream("path=/A/B&begin=1&begin=1").is_err());
        assert_eq!(
            values("path=/A/B&top=1").unwrap_err().0,
            "there is no parameter \"top\": there is path and at"
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
