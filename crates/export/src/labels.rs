//! Labels that the rows of a counterset have in a scrape.

use perfset_catalogue as catalogue;
use perfset_core::{Counterset, Guid, Name};
use perfset_engine::{Fact, FactKind};

use crate::catalogue::{curated_label, node_labels};
use crate::options::Profile;
use crate::text::{characters, label, whole};

/// Labels that the rows of a counterset have under the names of node_exporter.
#[derive(Debug)]
pub(crate) struct NodeLabels {
    pub keys: &'static [(&'static str, &'static str)],
    /// Kinds of devices that have no lines: their names are one of these with a number.
    without: &'static [&'static str],
    /// Facts about the instance of each row, for the labels that need some.
    pub facts: Vec<Vec<Fact>>,
    /// `true` if the facts about some rows' instances could not be read, and are read again with the next scrape.
    pub lacks_facts: bool,
    pub text: Vec<u8>,
    pub ends: Vec<usize>,
}

impl NodeLabels {
    pub fn new(set: &Guid) -> Option<Self> {
        let (keys, without) = node_labels(set)?;
        Some(Self {
            keys,
            without,
            facts: Vec::new(),
            lacks_facts: false,
            text: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// Returns `true` if a label of the rows is a fact about the instance.
    pub fn needs_facts(&self) -> bool {
        self.keys.iter().any(|(_, value)| FactKind::from_keyword(value).is_some())
    }

    /// Returns `true` if a row has the facts that its labels need. Without them its lines would be those of another
    /// instance.
    pub fn has_facts(&self, row: usize) -> bool {
        let facts = self.facts.get(row).map(Vec::as_slice).unwrap_or_default();
        let is_there = |value: &str| match FactKind::from_keyword(value) {
            Some(kind) => facts.iter().any(|fact| fact.kind == kind && fact.text.is_ok()),
            None => true,
        };
        self.keys.iter().all(|(_, value)| is_there(value))
    }

    /// Returns `true` if an instance has no lines under the names of node_exporter.
    pub fn leaves_out(&self, name: &[u8]) -> bool {
        self.without.iter().any(|kind| {
            let mut rest = Name::until_nul(name).units();
            let is_kind = kind.encode_utf16().all(|unit| rest.next() == Some(unit));
            is_kind && rest.all(|unit| u8::try_from(unit).is_ok_and(|c| c.is_ascii_digit()))
        })
    }
}

/// Labels that distinguish the instances of a counterset in a scrape.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Labels<'a> {
    /// No labels, for the metrics of a single instance.
    None,
    /// Label with this key, whose value is the instance's name.
    Name(&'static str),
    /// Labels with name and number of a process.
    Process,
    /// Labels with name of the process and number of the thread.
    Thread,
    /// Labels with these keys and the sources of their values: `name`, `id`, or the keyword of one of the facts.
    Node(&'static [(&'static str, &'static str)], &'a [Fact]),
}

impl Labels<'static> {
    pub fn new(set: &Counterset, profiles: &[Profile]) -> Self {
        let curated = || profiles.contains(&Profile::WindowsExporter).then(|| curated_label(&set.guid));
        match set.guid {
            _ if !set.instance_type.is_multiple() => Self::None,
            catalogue::process_v2::GUID | catalogue::process::GUID | catalogue::linux_process::GUID => {
                Self::Process
            }
            catalogue::thread::GUID => Self::Thread,
            _ => Self::Name(curated().flatten().unwrap_or("instance_name")),
        }
    }
}

/// Additional labels that distinguish rows of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Disambiguator {
    #[default]
    Nothing,
    /// Label with the id of the instance.
    Id,
    /// Labels with the id of the instance, and with the process that publishes it.
    Owner,
}

/// Appends the labels of a row, and all text of the row's line up to its number.
pub(crate) fn one_row(
    text: &mut Vec<u8>,
    labels: Labels<'_>,
    name: &[u8],
    id: u32,
    more: Disambiguator,
    owner: impl Fn() -> u32,
) {
    let start = text.len();
    let pair = |text: &mut Vec<u8>, key: &str, value: &mut dyn FnMut(&mut Vec<u8>)| {
        if text.len() > start {
            text.push(b',');
        }
        text.extend_from_slice(key.as_bytes());
        text.extend_from_slice(b"=\"");
        value(text);
        text.push(b'"');
    };
    match labels {
        Labels::None => return,
        Labels::Name(key) => pair(text, key, &mut |text| label(text, characters(name))),
        Labels::Process => {
            let program = without_number(name, b':', id);
            pair(text, "process", &mut |text| label(text, characters(program)));
            pair(text, "process_id", &mut |text| whole(text, id.into()));
        }
        Labels::Thread => {
            let process = without_number(name, b'/', id);
            pair(text, "parent", &mut |text| label(text, characters(process)));
            pair(text, "instance_name", &mut |text| whole(text, id.into()));
        }
        Labels::Node(keys, facts) => {
            for (key, value) in keys {
                match *value {
                    "id" => pair(text, key, &mut |text| whole(text, id.into())),
                    "name" => pair(text, key, &mut |text| label(text, characters(name))),
                    kind => {
                        let fact = facts.iter().find(|fact| fact.kind.keyword() == kind);
                        let value = fact.and_then(|fact| fact.text.as_deref().ok()).unwrap_or_default();
                        pair(text, key, &mut |text| label(text, value.chars()));
                    }
                }
            }
        }
    }
    if more >= Disambiguator::Id && matches!(labels, Labels::Name(_) | Labels::Node(..)) {
        pair(text, "instance_id", &mut |text| whole(text, id.into()));
    }
    if more == Disambiguator::Owner {
        pair(text, "owner_process_id", &mut |text| whole(text, owner().into()));
    }
    text.extend_from_slice(b"} ");
}

/// Returns a UTF-16LE name without the instance's number at its end and the character `before` in front of the number.
fn without_number(name: &[u8], before: u8, id: u32) -> &[u8] {
    let end: Vec<u8> =
        format!("{}{id}", char::from(before)).encode_utf16().flat_map(u16::to_le_bytes).collect();
    name.strip_suffix(end.as_slice()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_rows() {
        for (labels, name, id, more, want) in [
            (Labels::None, "a", 2, Disambiguator::Nothing, ""),
            (Labels::Name("nic"), "eth\"0\\\n", 2, Disambiguator::Nothing, "nic=\"eth\\\"0\\\\\\n\"} "),
            (
                Labels::Name("instance_name"),
                "",
                2,
                Disambiguator::Id,
                "instance_name=\"\",instance_id=\"2\"} ",
            ),
            (
                Labels::Name("a"),
                "b",
                2,
                Disambiguator::Owner,
                "a=\"b\",instance_id=\"2\",owner_process_id=\"7\"} ",
            ),
            (Labels::Process, "bash:42", 42, Disambiguator::Nothing, "process=\"bash\",process_id=\"42\"} "),
            (Labels::Process, "a:42:42", 42, Disambiguator::Nothing, "process=\"a:42\",process_id=\"42\"} "),
            (Labels::Process, "bash", 42, Disambiguator::Id, "process=\"bash\",process_id=\"42\"} "),
            (Labels::Thread, "a/b/42", 42, Disambiguator::Nothing, "parent=\"a/b\",instance_name=\"42\"} "),
        ] {
            let mut text = Vec::new();
            let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            one_row(&mut text, labels, &name, id, more, || 7);
            assert_eq!(String::from_utf8(text).unwrap(), want);
        }
    }

    #[test]
    fn labels_that_are_facts() {
        let facts = [
            Fact::new(FactKind::Device, Ok("/dev/vda".to_owned())),
            Fact::new(FactKind::FileSystemType, Ok("ext4".to_owned())),
        ];
        let (keys, _) = node_labels(&catalogue::file_system::GUID).unwrap();
        let mut text = Vec::new();
        let nothing = Disambiguator::Nothing;
        one_row(&mut text, Labels::Node(keys, &facts), b"/\0", 7, nothing, || 0);
        let want = r#"device="/dev/vda",fstype="ext4",mountpoint="/"} "#;
        assert_eq!(String::from_utf8(text).unwrap(), want);
    }
}
