//! Grammar of counter paths: `[\\MACHINE]\COUNTERSET[(INSTANCES)]\COUNTER`, also with forward slashes.

use std::fmt;
use std::str::FromStr;

use perfset_catalogue as catalogue;
use perfset_core::pdh::PdhStatus;

use super::instance_name::InstanceName;

/// Counter path, parsed into its parts as texts. Nothing is looked up yet.
///
/// The brackets contain an instance name, or a pattern with `*` and `?`. `{a,b}` selects one of several, `!name` all
/// except one, `name#1` the second of that name. The counter is a name or such a pattern, or `#7` for an id. The
/// counterset is a name, or a GUID in braces. There is no escape character.
///
/// Source: MS Learn, "Specifying a Counter Path".
///
/// ```
/// use perfset::path::CounterPath;
/// let path: CounterPath = r"\\HOST\PhysicalDisk(0 C:)\Disk Bytes/sec".parse().unwrap();
/// assert_eq!(path.machine.as_deref(), Some("HOST"));
/// assert_eq!((path.counterset.as_str(), path.instance.as_deref()), ("PhysicalDisk", Some("0 C:")));
/// assert_eq!(path.counter, "Disk Bytes/sec");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "PDH_COUNTER_PATH_ELEMENTS")]
#[doc(alias = "PdhParseCounterPath")]
pub struct CounterPath {
    /// Machine name in the path, without its backslashes; `None` is this machine.
    pub machine: Option<String>,
    /// Counterset name or `{GUID}` in the path.
    pub counterset: String,
    /// Instance selection: the text between the brackets of the path; `None` if there are none.
    pub instance: Option<String>,
    /// Counter name, pattern, or `#ID` in the path.
    pub counter: String,
}

/// Reason that a text is not a counter path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The text of a counter path is empty.
    #[error("the path is empty")]
    #[doc(alias = "PDH_CSTATUS_NO_COUNTERNAME")]
    Empty,
    /// The counter path does not begin with a slash of either kind.
    #[error("\"{0}\" does not begin with \\ or /")]
    #[doc(alias = "PDH_CSTATUS_BAD_COUNTERNAME")]
    NoSlash(String),
    /// The counter path has a counterset without a counter.
    #[error("\"{0}\" names a counterset but no counter")]
    NoCounter(String),
    /// The counter path has a machine and nothing else.
    #[error("\"{0}\" names a machine but no counterset")]
    NoCounterset(String),
    /// A bracket of the counter path is open and not closed before the counter.
    #[error("\"{0}\" has a bracket that is not closed before the counter")]
    OpenBracket(String),
    /// The counter path is longer than Windows allows.
    #[error("the path has {0} characters, more than {max}", max = CounterPath::MAX_LEN)]
    TooLong(usize),
    /// The path made of these parts is parsed as other parts, because the grammar has no escape character.
    #[error("these names form no counter path: \"{0}\" has another meaning")]
    Ambiguous(String),
}

impl From<&PathError> for PdhStatus {
    fn from(error: &PathError) -> Self {
        match error {
            PathError::Empty => Self::PDH_CSTATUS_NO_COUNTERNAME,
            _ => Self::PDH_CSTATUS_BAD_COUNTERNAME,
        }
    }
}

impl CounterPath {
    /// PDH_MAX_COUNTER_PATH: maximum number of characters of a counter path.
    #[doc(alias = "PDH_MAX_COUNTER_PATH")]
    pub const MAX_LEN: usize = 2048;

    /// Formats the counter path, and checks that the text is parsed as the same parts. [`Display`](fmt::Display) does
    /// not check.
    ///
    /// # Errors
    /// If a part is missing, if the path is too long, or if characters in a name make the text a different path.
    #[doc(alias = "PdhMakeCounterPath")]
    pub fn make(&self) -> Result<String, PathError> {
        let text = self.to_string();
        // There is no escape character, so only parsing shows if a name forms another path.
        let read: Self = text.parse()?;
        if read == *self { Ok(text) } else { Err(PathError::Ambiguous(text)) }
    }

    /// Parses the instance name between the brackets of the path: parent, name and index.
    ///
    /// # Errors
    /// [`PDH_INVALID_INSTANCE`](PdhStatus::PDH_INVALID_INSTANCE) if the name cannot be parsed.
    pub fn instance_name(&self) -> Result<Option<InstanceName>, PdhStatus> {
        self.instance.as_deref().map(str::parse).transpose()
    }
}

impl FromStr for CounterPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let len = text.encode_utf16().count();
        if len > Self::MAX_LEN {
            return Err(PathError::TooLong(len));
        }
        let whole = || text.to_owned();
        let slash = match text.chars().next() {
            None => return Err(PathError::Empty),
            Some(slash @ ('\\' | '/')) => slash,
            Some(_) => return Err(PathError::NoSlash(whole())),
        };
        let rest = text.strip_prefix(slash).unwrap_or_default();
        let (machine, rest) = match rest.strip_prefix(slash) {
            Some(rest) => match rest.split_once(slash) {
                Some((machine, rest)) if !machine.is_empty() => (Some(machine.to_owned()), rest),
                _ => return Err(PathError::NoCounterset(whole())),
            },
            None => (None, rest),
        };
        // Slashes are for shells, in which a backslash must be escaped (P-3).
        let (counterset, instance, counter) = if slash == '/' { split_slashed(rest) } else { split(rest) }
            .map_err(|missing| match missing {
                Missing::Counter => PathError::NoCounter(whole()),
                Missing::Bracket => PathError::OpenBracket(whole()),
            })?;
        if counterset.is_empty() || counter.is_empty() {
            return Err(PathError::NoCounter(whole()));
        }
        Ok(Self {
            machine,
            counterset: counterset.to_owned(),
            instance: instance.map(str::to_owned),
            counter: counter.to_owned(),
        })
    }
}

enum Missing {
    Counter,
    Bracket,
}

type Parts<'a> = (&'a str, Option<&'a str>, &'a str);

/// Splits a counter path with backslashes, such as `\Process(sh)\Thread Count`, into its parts. Instance names can
/// contain brackets: if brackets are unpaired, the last `)\` ends the instance.
fn split(rest: &str) -> Result<Parts<'_>, Missing> {
    // MS Learn forbids brackets in names, but real names of network adapters contain them (P-2).
    split_at(rest, '\\', |behind| behind.rsplit_once(")\\"))
}

/// Splits a counter path with slashes: the counter is the whole rest, slashes included. A slash in the name of a
/// built-in counterset, such as Block I/O, does not end the counterset.
fn split_slashed(rest: &str) -> Result<Parts<'_>, Missing> {
    let unpaired = |behind| str::split_once(behind, ")/");
    let slash_of = |name: &str| {
        let (front, behind) = rest.split_at_checked(name.len())?;
        let known = front.eq_ignore_ascii_case(name) && behind.starts_with(['/', '(']);
        name.rfind('/').filter(|_| known)
    };
    let Some(slash) = catalogue::ALL.iter().find_map(|set| slash_of(&set.name)) else {
        return split_at(rest, '/', unpaired);
    };
    let behind = rest.get(slash.saturating_add(1)..).unwrap_or_default();
    let (end, instance, counter) = split_at(behind, '/', unpaired)?;
    let len = slash.saturating_add(1).saturating_add(end.len());
    Ok((rest.get(..len).unwrap_or_default(), instance, counter))
}

/// Splits a counter path at a separator into counterset, instance and counter. The instance is in the first brackets
/// that end right before a separator; other brackets are part of the counterset's name.
fn split_at<'a>(
    rest: &'a str,
    separator: char,
    unpaired: impl Fn(&'a str) -> Option<(&'a str, &'a str)>,
) -> Result<Parts<'a>, Missing> {
    let first_separator = rest.find(separator).ok_or(Missing::Counter)?;
    let name = rest.get(..first_separator).unwrap_or_default();
    for (open, _) in name.match_indices('(') {
        let (Some(counterset), Some(behind)) = (rest.get(..open), rest.get(open.saturating_add(1)..)) else {
            continue;
        };
        let Some((instance, after)) = closing(behind).and_then(|close| behind.split_at_checked(close)) else {
            break;
        };
        if let Some(counter) = after.strip_prefix(')').and_then(|after| after.strip_prefix(separator)) {
            return Ok((counterset, Some(instance), counter));
        }
    }
    if let Some((counterset, behind)) = name.find('(').and_then(|open| rest.split_at_checked(open)) {
        if let Some((instance, counter)) = unpaired(behind) {
            return Ok((counterset, instance.strip_prefix('('), counter));
        }
        if name.matches('(').count() != name.matches(')').count() {
            return Err(Missing::Bracket);
        }
    }
    rest.split_once(separator)
        .map(|(counterset, counter)| (counterset, None, counter))
        .ok_or(Missing::Counter)
}

/// Returns the offset of the closing bracket that belongs to an opening bracket right before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth = depth.saturating_add(1),
            ')' if depth == 0 => return Some(at),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Writes the counter path as PDH does, with backslashes.
impl fmt::Display for CounterPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(machine) = &self.machine {
            write!(f, r"\\{machine}")?;
        }
        write!(f, r"\{}", self.counterset)?;
        if let Some(instance) = &self.instance {
            write!(f, "({instance})")?;
        }
        write!(f, r"\{}", self.counter)
    }
}
