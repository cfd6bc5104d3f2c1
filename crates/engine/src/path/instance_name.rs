//! Instance names in PDH syntax: `parent/name#index`.

use std::fmt;
use std::str::FromStr;

use perfset_core::pdh::PdhStatus;

/// Parsed instance name: `name`, `name#index`, `parent/name` or `parent/name#index`.
///
/// ```
/// use perfset::path::InstanceName;
/// let name: InstanceName = "bash/4242#1".parse()?;
/// assert_eq!((name.parent.as_deref(), name.name.as_str(), name.index), (Some("bash"), "4242", 1));
/// assert_eq!(InstanceName { index: 0, ..name }.to_string(), "bash/4242");
/// # Ok::<_, perfset::path::PdhStatus>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "PdhParseInstanceName")]
pub struct InstanceName {
    /// Name of the instance's parent: the text before the first slash.
    pub parent: Option<String>,
    /// Name of the instance without parent and index.
    pub name: String,
    /// Index among the instances of that name in one sample: 0 is the first. Not an identity.
    pub index: u32,
}

impl InstanceName {
    /// MAX_PATH: instance names of this many characters or more cannot be parsed.
    pub const MAX_LEN: usize = 260;
}

/// Parses an instance name; fails with [`PDH_INVALID_INSTANCE`](PdhStatus::PDH_INVALID_INSTANCE) if the name or parent
/// is empty, the index is too large, or the text is too long.
impl FromStr for InstanceName {
    type Err = PdhStatus;

    fn from_str(text: &str) -> Result<Self, PdhStatus> {
        // The first slash. The one that Windows takes if there are several is UNVERIFIED (P-6).
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

/// Writes the instance name, without an index for the first instance of a name and for `u32::MAX`, which means no
/// index in C.
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

/// Splits an instance name from the index after its last `#`: digits, or a pattern of them.
pub(super) fn numbered(text: &str) -> Option<(&str, &str)> {
    let is_digits = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'*' | b'?'));
    text.rsplit_once('#').filter(|(_, digits)| !digits.is_empty() && is_digits(digits))
}

/// Replaces characters of an instance name that have a meaning in PDH's paths: `(` and `)` become square brackets,
/// `#`, `\` and `/` become underscores.
///
/// Used in output for readers of PDH's paths. This project's own paths take names unchanged.
///
/// ```
/// assert_eq!(perfset::path::substituted(r"Intel(R) #2 a/b\c"), "Intel[R] _2 a_b_c");
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
