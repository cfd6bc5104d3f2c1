//! Value names of the V1 format: requests to HKEY_PERFORMANCE_DATA.

use std::str::FromStr;

use perfset_core::Language;

/// Parsed value name: a request to HKEY_PERFORMANCE_DATA. Words are compared as a whole, ignoring case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueName {
    /// `Global`, or no text: request for every object that is not costly.
    Global,
    /// `Costly`: request for objects that take long to collect.
    Costly,
    /// `238 2`: request for objects by title index. Indexes that no object has are ignored.
    Objects(Vec<u32>),
    /// `MetadataGlobal`: request for definitions without values.
    MetadataGlobal,
    /// `MetadataCostly`: request for definitions of costly objects without values.
    MetadataCostly,
    /// `Counter 009`: request for the table of names.
    Names(Language),
    /// `Help 009` or `Explain 009`: request for the table of help texts.
    Helps(Language),
}

/// Reason that a text is not a value name of the V1 format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseValueNameError {
    /// The value name uses the obsolete word `Foreign`, which requests data of another machine.
    #[error("\"{0}\" requests data of another machine, which is not supported")]
    Foreign(String),
    /// The value name contains an unknown word.
    #[error(
        "\"{0}\" is neither Global, Costly, a list of title indexes nor Counter, Help or Explain with a language"
    )]
    Unknown(String),
    /// The text after `Counter`, `Help` or `Explain` is not a language id.
    #[error("\"{0}\" is not a language id: three or four hexadecimal digits, like 009")]
    Language(String),
}

impl FromStr for ValueName {
    type Err = ParseValueNameError;

    fn from_str(text: &str) -> Result<Self, ParseValueNameError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let unknown = || ParseValueNameError::Unknown(text.to_owned());
        match words.as_slice() {
            // The objects that Windows leaves out for the `OLD_` names are not known, so these mean the same.
            [] | ["global" | "old_global"] => Ok(Self::Global),
            ["costly" | "old_costly"] => Ok(Self::Costly),
            ["metadataglobal" | "old_metadataglobal"] => Ok(Self::MetadataGlobal),
            ["metadatacostly" | "old_metadatacostly"] => Ok(Self::MetadataCostly),
            ["foreign", ..] => Err(ParseValueNameError::Foreign(text.to_owned())),
            ["counter", language @ ..] => Ok(Self::Names(self::language(language)?)),
            ["help" | "explain", language @ ..] => Ok(Self::Helps(self::language(language)?)),
            indexes => {
                // `parse` alone accepts a plus sign.
                let index = |word: &&str| match word.bytes().all(|byte| byte.is_ascii_digit()) {
                    true => word.parse::<u32>().map_err(|_| unknown()),
                    false => Err(unknown()),
                };
                Ok(Self::Objects(indexes.iter().map(index).collect::<Result<_, _>>()?))
            }
        }
    }
}

/// Parses the hexadecimal language id of a value name; without any word the language is English.
fn language(words: &[&str]) -> Result<Language, ParseValueNameError> {
    let bad = || ParseValueNameError::Language(words.join(" "));
    match words {
        [] => Ok(Language::ENGLISH),
        [digits] if digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u32::from_str_radix(digits, 16).map(Language).map_err(|_| bad())
        }
        _ => Err(bad()),
    }
}
