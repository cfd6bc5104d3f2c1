//! Attributes of a manifest's elements: names, numbers, GUIDs and keywords, each checked when it is read.

use std::borrow::Cow;
use std::collections::BTreeSet;

use perfset_core::{CounterType, Guid};

use super::ManifestReader;
use crate::model::{Resources, SchemaVersion, from_word, type_of_word};
use crate::problem::{Rule, shown};
use crate::xml::{Attribute, Element};

/// Maximum number of characters (UTF-16 units) of a name in a manifest.
const NAME_MAX: usize = 1_023;

impl ManifestReader<'_> {
    pub(super) fn schema_version(&mut self, attribute: &Attribute<'_>) -> Option<SchemaVersion> {
        let number = |text: &str| Some(text).filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?.parse().ok();
        let parts = attribute.value.split_once('.').and_then(|(a, b)| Some((number(a)?, number(b)?)));
        let Some((major, minor)) = parts else {
            self.error(
                attribute.value_offset,
                Rule::Value,
                format_args!("schemaVersion {} is no version", shown(&attribute.value)),
                "1.1 or 2.0",
            );
            return None;
        };
        let version = SchemaVersion { major, minor };
        if ![SchemaVersion::V1_1, SchemaVersion::V2_0].contains(&version) {
            let read_as = if version.has_ids() { SchemaVersion::V2_0 } else { SchemaVersion::V1_1 };
            self.report.warning(
                attribute.value_offset,
                Rule::Version,
                format_args!("schemaVersion {version} is not known"),
                format_args!("it is read as {read_as}"),
            );
        }
        Some(version)
    }

    pub(super) fn counter_type(&mut self, attribute: &Attribute<'_>) -> Option<CounterType> {
        let found = type_of_word(&attribute.value);
        if found.is_none() {
            let right = match &*attribute.value {
                "perf_counter_composite" => "nobody has published what it means".to_owned(),
                "perf_precision_timestamp" => "it is called perf_large_raw_base here".to_owned(),
                other if type_of_word(&other.to_ascii_lowercase()).is_some() => {
                    "it is written in small letters".to_owned()
                }
                other => {
                    let words: Vec<String> = crate::model::type_words().map(|(word, _)| word).collect();
                    match nearest(other, words.iter().map(String::as_str)) {
                        Some(near) => format!("did you mean {near}?"),
                        None => "such as perf_counter_rawcount or perf_counter_bulk_count".to_owned(),
                    }
                }
            };
            self.error(
                attribute.value_offset,
                Rule::Value,
                format_args!("type {} is none of a manifest", shown(&attribute.value)),
                &right,
            );
        }
        found
    }

    pub(super) fn scale(&mut self, element: &Element<'_>) -> i32 {
        let Some(attribute) = element.attribute("defaultScale") else { return 0 };
        let scale = attribute.value.parse().ok().filter(|scale| (-10..=10).contains(scale));
        if scale.is_none() {
            self.error(
                attribute.value_offset,
                Rule::Value,
                format_args!("defaultScale {} is out of range", shown(&attribute.value)),
                "a power of ten from -10 to 10 is expected",
            );
        }
        scale.unwrap_or(0)
    }

    /// Parses the resource ids of a manifest's element; a name or description that is missing needs no id.
    pub(super) fn resources(
        &mut self,
        element: &Element<'_>,
        has_name: bool,
        has_description: bool,
    ) -> Resources {
        let mut one = |attribute: &'static str, is_needed: bool| {
            let found = element.attribute(attribute);
            match (found, self.version.has_ids()) {
                (Some(found), false) => {
                    self.error(
                        found.offset,
                        Rule::Version,
                        format_args!("{attribute} stands here"),
                        "it belongs to schemaVersion 2.0",
                    );
                }
                (None, true) if is_needed => {
                    self.error(
                        element.offset,
                        Rule::Version,
                        format_args!("{} has no {attribute}", element.name),
                        "schemaVersion 2.0 needs it",
                    );
                }
                _ => {}
            }
            found.and_then(|a| self.uint32(a))
        };
        Resources { name: one("nameID", has_name), description: one("descriptionID", has_description) }
    }

    pub(super) fn uri(&mut self, element: &Element<'_>) -> String {
        let Some(attribute) = self.required(element, "uri") else { return String::new() };
        if attribute.value.is_empty() {
            self.report.warning(
                attribute.value_offset,
                Rule::Name,
                format_args!("uri is empty"),
                format_args!("such as Company.Product.Name"),
            );
        }
        attribute.value.to_string()
    }

    pub(super) fn name<'a>(&mut self, element: &Element<'a>, name: &str, of: &str) -> Option<Cow<'a, str>> {
        let attribute = element.attribute(name)?;
        let units = attribute.value.encode_utf16().count();
        if units == 0 {
            self.error(
                attribute.value_offset,
                Rule::Name,
                format_args!("the {name} of this {of} is empty"),
                "people know it by that",
            );
        }
        if units > NAME_MAX {
            self.error(
                attribute.value_offset,
                Rule::Name,
                format_args!("this {name} has {units} characters"),
                "1023 are the most",
            );
        }
        Some(attribute.value.clone())
    }

    pub(super) fn guid(&mut self, attribute: &Attribute<'_>) -> Option<Guid> {
        let is_braced = attribute.value.starts_with('{');
        // The type accepts GUIDs without braces as well, and the schema does not.
        let guid = attribute.value.parse().ok().filter(|_| is_braced);
        if guid.is_none() {
            let right = "{xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx} is expected, hexadecimal, with the braces";
            self.error(
                attribute.value_offset,
                Rule::Value,
                format_args!("{} {} is no GUID", attribute.name, shown(&attribute.value)),
                right,
            );
        }
        guid
    }

    pub(super) fn uint32(&mut self, attribute: &Attribute<'_>) -> Option<u32> {
        let number = uint32(&attribute.value);
        if number.is_none() {
            let right = "decimal up to 4294967295, or 0x and up to 8 hexadecimal digits";
            self.error(
                attribute.value_offset,
                Rule::Value,
                format_args!("{} {} is no number", attribute.name, shown(&attribute.value)),
                right,
            );
        }
        number
    }

    /// Parses a C name in an attribute. An empty name, which the schema allows, becomes `None`.
    pub(super) fn symbol(&mut self, element: &Element<'_>, name: &str) -> Option<String> {
        let attribute = element.attribute(name)?;
        let mut bytes = attribute.value.bytes();
        let is_first = |b: u8| b.is_ascii_alphabetic() || b == b'_';
        let first = bytes.next()?;
        if is_first(first) && bytes.all(|b| is_first(b) || b.is_ascii_digit()) {
            return Some(attribute.value.to_string());
        }
        self.error(
            attribute.value_offset,
            Rule::Value,
            format_args!("{name} {} is no C name", shown(&attribute.value)),
            "letters, digits and _ are, without a digit in front",
        );
        None
    }

    pub(super) fn required_symbol(&mut self, element: &Element<'_>, name: &str) -> Option<String> {
        let attribute = self.required(element, name)?;
        if attribute.value.is_empty() {
            self.error(
                attribute.value_offset,
                Rule::Value,
                format_args!("{name} is empty"),
                "a C name is expected",
            );
        }
        self.symbol(element, name)
    }

    pub(super) fn word<T: Copy>(
        &mut self,
        element: &Element<'_>,
        name: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let attribute = element.attribute(name)?;
        let found = from_word(words, &attribute.value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.error(
                attribute.value_offset,
                Rule::Value,
                format_args!("{name} {} is unknown", shown(&attribute.value)),
                &format!("it is one of {}", known.join(", ")),
            );
        }
        found
    }

    pub(super) fn required<'e, 'a>(
        &mut self,
        element: &'e Element<'a>,
        name: &str,
    ) -> Option<&'e Attribute<'a>> {
        let found = element.attribute(name);
        if found.is_none() {
            self.error(
                element.offset,
                Rule::Attribute,
                format_args!("{} has no {name}", element.name),
                "it is required",
            );
        }
        found
    }

    pub(super) fn attributes(&mut self, element: &Element<'_>, known: &[&str]) {
        let mut told = BTreeSet::new();
        for attribute in element.attributes.iter().filter(|a| !known.contains(&a.name)) {
            if !told.insert(attribute.name) {
                continue;
            }
            let right = match nearest(attribute.name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None if known.is_empty() => "it has none".to_owned(),
                None => format!("it has {}", known.join(", ")),
            };
            self.error(
                attribute.offset,
                Rule::Attribute,
                format_args!("{} has no attribute {}", element.name, shown(attribute.name)),
                &right,
            );
        }
    }
}

/// Parses a number in the form of the manifest schema: decimal, or hexadecimal after `0x`.
pub(crate) fn uint32(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        // `from_str_radix` alone would accept a sign.
        Some(hex) if (1..=8).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
            u32::from_str_radix(hex, 16).ok()
        }
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// Returns the known keyword that differs from a text in case only, or in at most two adjacent letters.
fn nearest<'k>(text: &str, mut known: impl Iterator<Item = &'k str> + Clone) -> Option<&'k str> {
    let shared = |word: &str| {
        let ahead = text.bytes().zip(word.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        // The same letters must not count twice, as the beginning and as the end.
        let rest = text.len().min(word.len()).saturating_sub(ahead);
        let behind = text.bytes().rev().zip(word.bytes().rev()).take(rest);
        ahead.saturating_add(behind.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count())
    };
    let exact = known.clone().find(|word| word.eq_ignore_ascii_case(text));
    let is_near = |word: &&str| shared(word).saturating_add(2) >= text.len().max(word.len());
    // Any word is within two letters of a text of two letters.
    exact.or_else(|| known.find(is_near).filter(|_| text.len() > 2))
}
