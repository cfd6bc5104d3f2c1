//! Names of instances as PDH writes them: `parent/name#index`.

use std::fmt;
use std::str::FromStr;

use perfset_core::pdh::PdhStatus;

/// The name of an instance, taken apart: `name`, `name#index`, `parent/name` or `parent/name#index`.
///
/// ```
/// use perfset_engine::path::InstanceName;
/// let name: InstanceName = "bash/4242#1".parse()?;
/// assert_eq!((name.parent.as_deref(), name.name.as_str(), name.index), (Some("bash"), "4242", 1));
/// assert_eq!(InstanceName { index: 0, ..name }.to_string(), "bash/4242");
/// # Ok::<_, perfset_engine::path::PdhStatus>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "PdhParseInstanceName")]
pub struct InstanceName {
    /// The name of what it is a part of: what stands before the first slash.
    pub parent: Option<String>,
    /// Its own name.
    pub name: String,
    /// Which one of that name it is, in one sample: 0 is the first. Not an identity.
    pub index: u32,
}

impl InstanceName {
    /// MAX_PATH: a name that can be taken apart has fewer characters.
    pub const MAX_LEN: usize = 260;
}

/// [`PDH_INVALID_INSTANCE`](PdhStatus::PDH_INVALID_INSTANCE) if there is no name or no parent where one must be, if the
/// index is too large, and if it is too long.
impl FromStr for InstanceName {
    type Err = PdhStatus;

    fn from_str(text: &str) -> Result<Self, PdhStatus> {
        let (parent, rest) = match text.split_once('/') {
            Some((parent, rest)) => (Some(parent), rest),
            None => (None, text),
        };
        let (name, index) = match numbered(rest).filter(|(_, digits)| !digits.contains(['*', '?'])) {
            Some((name, digits)) => (name, digits.parse().ok()),
            None => (rest, Some(0)),
        };
        let is_too_long = text.encode_utf16().count() >= Self::MAX_LEN;
        match index {
            Some(index) if !is_too_long && !name.is_empty() && parent != Some("") => {
                Ok(Self { parent: parent.map(str::to_owned), name: name.to_owned(), index })
            }
            _ => Err(PdhStatus::PDH_INVALID_INSTANCE),
        }
    }
}

/// The first of a name has no index, and neither has one whose index is the greatest that there is: to C it means none.
impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = &self.parent {
            write!(f, "{parent}/")?;
        }
        f.write_str(&self.name)?;
        match self.index {
            0 | u32::MAX => Ok(()),
            index => write!(f, "#{index}"),
        }
    }
}

/// A name and the index behind its last `#`: digits, or a pattern of them.
pub(super) fn numbered(text: &str) -> Option<(&str, &str)> {
    let is_digits = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'*' | b'?'));
    text.rsplit_once('#').filter(|(_, digits)| !digits.is_empty() && is_digits(digits))
}

/// A name without the characters that the grammar of PDH's paths needs: `(` and `)` are square brackets then, `#`, `\`
/// and `/` underscores.
///
/// For what is written for readers of PDH's paths. Paths of our own take names as they are.
///
/// ```
/// assert_eq!(perfset_engine::path::substituted(r"Intel(R) #2 a/b\c"), "Intel[R] _2 a_b_c");
/// ```
#[must_use]
pub fn substituted(name: &str) -> String {
    let substitute = |c| match c {
        '(' => '[',
        ')' => ']',
        '#' | '\\' | '/' => '_',
        c => c,
    };
    name.chars().map(substitute).collect()
}
