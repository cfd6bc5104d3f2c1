//! Contents of a catalogue file, read and checked.

use std::ops::Deref;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use uuid::Uuid;

use super::check;
use crate::counter_type::CounterType;
use crate::symbol;

/// Counterset of the catalogue, with its valid file.
pub struct Set {
    /// Name of the counterset's catalogue file, without `.toml`.
    pub stem: String,
    pub guid: Uuid,
    pub provider_guid: Uuid,
    pub entry: Entry,
}

impl Set {
    /// Returns the name of the counterset's Rust module.
    pub fn module(&self) -> String {
        self.stem.replace('-', "_")
    }
}

/// Catalogue file of a counterset, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub name: Text,
    guid: GuidField,
    /// Name of the counterset whose values this one shows in another shape. Counters of such a view contain only what
    /// differs.
    #[serde(default)]
    pub view_of: Option<Text>,
    pub help: Text,
    pub v1_index: u32,
    /// V1 title indexes of the counterset in earlier versions. Queries by them still work, and no other name gets
    /// them.
    #[serde(default)]
    pub former_v1_indexes: Vec<u32>,
    /// Name of the counterset's counter that is shown first.
    pub default_counter: Option<Text>,
    pub instances: Instances,
    pub scope: Scope,
    pub windows: Text,
    /// `true` if Windows has a counterset of this name.
    pub exists_on_windows: bool,
    pub cost: Text,
    pub query: Text,
    /// Search words that stand for the counterset.
    #[serde(default)]
    pub words: Vec<Text>,
    #[serde(default)]
    pub oddities: Vec<Text>,
    pub provider: Provider,
    /// Name of the label that the counterset's instances have in windows_exporter.
    pub windows_exporter_label: Option<String>,
    /// Labels that the counterset's instances have in node_exporter, each with the source of its value: `cpu=id`,
    /// `device=name`.
    #[serde(default)]
    pub node_exporter_labels: Vec<String>,
    /// Kinds of devices whose instances node_exporter leaves out: those whose names are one of these with a number.
    #[serde(default)]
    pub node_exporter_without: Vec<String>,
    #[serde(rename = "counter")]
    pub counters: Vec<Counter>,
    #[serde(default, rename = "translation")]
    pub translations: Vec<Translation>,
}

impl Entry {
    /// Copies the missing fields of a view's counters from the counterset that it shows.
    fn inherit(&mut self, base: &Self) -> Result<()> {
        for counter in &mut self.counters {
            let own_name = counter.name.as_deref().unwrap_or_default();
            let name = counter.of.as_deref().unwrap_or(own_name);
            let of_base = base.counters.iter().find(|other| other.name.as_deref() == Some(name));
            let of_base = of_base
                .with_context(|| format!("counter {} {name}: is not in {}", counter.id, &*base.name))?;
            counter.detail = counter.detail.or(of_base.detail);
            counter.scale = counter.scale.or(of_base.scale);
            counter.range = of_base.range;
            counter.caps = of_base.caps;
            counter.cost_class = of_base.cost_class;
            counter.rises = of_base.rises;
            counter.adds_up = of_base.adds_up;
            counter.windows_exporter.clone_from(&of_base.windows_exporter);
            if counter.words.is_empty() {
                counter.words.clone_from(&of_base.words);
            }
            counter.meaning = counter.meaning.or(of_base.meaning);
            if !counter.has_source() {
                counter.file.clone_from(&of_base.file);
                counter.field.clone_from(&of_base.field);
            }
            for (own, inherited) in [
                (&mut counter.unit, &of_base.unit),
                (&mut counter.help, &of_base.help),
                (&mut counter.on_windows, &of_base.on_windows),
                (&mut counter.differs, &of_base.differs),
                (&mut counter.availability, &of_base.availability),
                (&mut counter.permission, &of_base.permission),
            ] {
                if own.is_empty() {
                    own.clone_from(inherited);
                }
            }
        }
        Ok(())
    }

    pub fn counter(&self, id: u32) -> Option<&Counter> {
        self.counters.iter().find(|counter| counter.id == id)
    }

    /// Returns the counter that the field `query` names as the first one to try.
    pub fn first_counter(&self) -> Option<&Counter> {
        let of_set = self.query.strip_prefix('\\')?.strip_prefix(&*self.name)?;
        let instance_end = of_set.strip_prefix('(').and_then(|instance| instance.split_once(')'));
        let name = instance_end.map_or(of_set, |(_, behind)| behind).strip_prefix('\\')?;
        self.counters.iter().find(|counter| counter.is_shown() && counter.name.as_deref() == Some(name))
    }

    pub fn default_counter(&self) -> Option<&Counter> {
        let name = self.default_counter.as_deref()?;
        self.counters.iter().find(|counter| counter.name.as_deref() == Some(name))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    guid: GuidField,
    pub name: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counter {
    pub id: u32,
    pub name: Option<Text>,
    /// Name of the counter that this one shows, in the counterset that is viewed, if the names differ.
    pub of: Option<Text>,
    pub symbol: Option<String>,
    pub v1_index: u32,
    /// V1 title indexes of the counter in earlier versions, with the rules of [`Entry::former_v1_indexes`].
    #[serde(default)]
    pub former_v1_indexes: Vec<u32>,
    #[serde(rename = "type")]
    pub counter_type: Type,
    pub base: Option<u32>,
    pub multi: Option<u32>,
    pub time: Option<u32>,
    pub freq: Option<u32>,
    /// Power of ten by which charts multiply the counter's values; 0 if absent.
    pub scale: Option<i32>,
    /// Detail level of the counter; advanced if absent.
    pub detail: Option<Detail>,
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    #[serde(default)]
    pub aggregate: Aggregate,
    #[serde(default)]
    pub unit: Text,
    #[serde(default)]
    pub range: Range,
    #[serde(default)]
    pub wraps: bool,
    /// `true` if a formatted value of the counter above 100 is a measurement error, which is then capped and marked.
    /// Sums of counters that add up are not capped.
    #[serde(default)]
    pub caps: bool,
    /// Class of the cost of collecting the counter.
    #[serde(default)]
    pub cost_class: CostClass,
    /// `true` if the sum of the counter's values of several instances has a meaning.
    #[serde(default)]
    pub adds_up: bool,
    /// `true` if the counter's raw value only rises until its counting restarts, although its type does not imply
    /// that.
    #[serde(default)]
    pub rises: bool,
    /// Metric that windows_exporter makes of the counter: its name, and labels in braces.
    pub windows_exporter: Option<String>,
    /// Metrics that node_exporter makes of the counter: an instance in parentheses, a name, and labels in braces.
    #[serde(default)]
    pub node_exporter: OneOrMore,
    /// Factor, as a decimal number, by which the counter's raw value is multiplied for node_exporter's metrics.
    pub node_exporter_factor: Option<String>,
    /// Number that is added to the counter's share for node_exporter's metrics.
    #[serde(default)]
    pub node_exporter_offset: i8,
    /// Name of the counter whose raw value is subtracted from this one's for node_exporter's metrics.
    pub node_exporter_minus: Option<String>,
    /// `true` if node_exporter exports the counter's metrics only on request.
    #[serde(default)]
    pub node_exporter_on_request: bool,
    /// Search words that stand for the counter.
    #[serde(default)]
    pub words: Vec<Text>,
    /// Relation between the values of this counter on Linux and on Windows.
    pub meaning: Option<Meaning>,
    #[serde(default)]
    pub help: Text,
    /// Meaning of the counter on Windows, if it differs from that on Linux.
    #[serde(default)]
    pub on_windows: Text,
    #[serde(default)]
    pub file: Text,
    #[serde(default)]
    pub field: Text,
    #[serde(default)]
    pub differs: Text,
    #[serde(default)]
    pub availability: Text,
    #[serde(default)]
    pub permission: Text,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    pub language: u32,
    pub name: Text,
    #[serde(default)]
    pub help: Text,
    #[serde(default, rename = "counter")]
    pub counters: Vec<CounterTranslation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterTranslation {
    pub id: u32,
    pub name: Text,
    #[serde(default)]
    pub help: Text,
}

impl Counter {
    /// Returns the name of the counter's constant in Rust: the given one, or one made of the counter's name.
    pub fn symbol(&self) -> String {
        match (&self.symbol, &self.name) {
            (Some(symbol), _) => symbol.clone(),
            (None, Some(name)) => symbol::constant(name),
            (None, None) => String::new(),
        }
    }

    /// Returns the label of the counter for users: its name, or its constant in brackets.
    pub fn label(&self) -> String {
        self.name.as_deref().map_or_else(|| format!("({})", self.symbol()), str::to_owned)
    }

    /// Returns the whole help text of the counter: meaning on Linux and on Windows, differences, availability,
    /// permission.
    pub fn whole_help(&self) -> String {
        let parts = [&self.help, &self.on_windows, &self.differs, &self.availability, &self.permission];
        let parts = parts.map(|part| &**part);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    pub fn has_source(&self) -> bool {
        !self.file.is_empty() || !self.field.is_empty()
    }

    /// Returns the source of the counter's values for users: file and field, as far as they are known.
    pub fn source(&self) -> String {
        let parts = [&*self.file, &*self.field];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    }

    /// Returns `true` if the counter is shown to users.
    pub fn is_shown(&self) -> bool {
        !self.attributes.contains(&Attribute::NoDisplay)
    }
}

/// Field of a catalogue file with one text, or a list of texts.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "TextOrList")]
pub struct OneOrMore(Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    List(Vec<String>),
}

impl From<TextOrList> for OneOrMore {
    fn from(written: TextOrList) -> Self {
        match written {
            TextOrList::Text(text) => Self(vec![text]),
            TextOrList::List(list) => Self(list),
        }
    }
}

impl OneOrMore {
    /// Returns the texts of a catalogue field that has one or several.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the metrics of node_exporter that the texts of a catalogue field describe; an error names the text
    /// that is none.
    pub fn node_metrics(&self) -> Result<Vec<NodeMetric<'_>>, &str> {
        self.0.iter().map(|text| NodeMetric::parse(text).ok_or(text.as_str())).collect()
    }
}

/// Metric of node_exporter as a catalogue file describes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeMetric<'a> {
    pub name: &'a str,
    /// Labels of the node_exporter metric, without braces.
    pub labels: &'a str,
    /// Name of the only instance that has the node_exporter metric; empty if all instances have it, except totals.
    pub instance: &'a str,
}

impl<'a> NodeMetric<'a> {
    /// Parses the description of a node_exporter metric: `(INSTANCE) node_NAME{label="value"}`.
    fn parse(text: &'a str) -> Option<Self> {
        let (instance, metric) = match text.strip_prefix('(') {
            Some(rest) => rest.split_once(") ").filter(|(instance, _)| !instance.is_empty())?,
            None => ("", text),
        };
        let (name, labels) = match metric.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}')?),
            None => (metric, ""),
        };
        let is_word = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_alphabetic())
                && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let is_pair = |pair: &str| {
            let parts = pair.split_once('=');
            parts.is_some_and(|(key, value)| {
                let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
                is_word(key) && value.is_some_and(is_word)
            })
        };
        let are_pairs = metric == name || labels.split(',').all(is_pair);
        (name.strip_prefix("node_").is_some_and(is_word) && are_pairs).then_some(Self {
            name,
            labels,
            instance,
        })
    }
}

/// Text of a catalogue file. Line breaks and runs of blanks count as one blank.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "String")]
pub struct Text(String);

impl From<String> for Text {
    fn from(written: String) -> Self {
        Self(written.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
enum GuidField {
    /// GUID of a counterset that is computed from the name (UUID version 5), written `v5`.
    V5,
    Given(Uuid),
}

impl GuidField {
    fn resolve(&self, namespace: Uuid, name: &str) -> Uuid {
        match *self {
            Self::V5 => v5(namespace, name),
            Self::Given(guid) => guid,
        }
    }
}

impl TryFrom<String> for GuidField {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        match written.as_str() {
            "v5" => Ok(Self::V5),
            text => {
                text.parse().map(Self::Given).map_err(|e| format!("\"{text}\" is no GUID and not v5: {e}"))
            }
        }
    }
}

/// Returns the UUID version 5 of a name in a namespace. Source: RFC 9562, section 5.5.
pub fn v5(namespace: Uuid, name: &str) -> Uuid {
    Uuid::new_v5(&namespace, name.as_bytes())
}

/// Counter type, with its name in the catalogue file: one type has two names.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub struct Type {
    pub name: String,
    pub code: CounterType,
}

impl TryFrom<String> for Type {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let code =
            CounterType::from_name(&name).ok_or_else(|| format!("no counter type is called \"{name}\""))?;
        Ok(Self { name, code })
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Instances {
    Single,
    Multiple,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    Machine,
    NetworkNamespace,
    PidNamespace,
    Process,
}

impl Scope {
    /// Returns the scope of a counterset's values in words for users.
    pub fn text(self) -> &'static str {
        match self {
            Self::Machine => "the whole machine, also from inside a container",
            Self::NetworkNamespace => "the network namespace of the process that collects",
            Self::PidNamespace => "the process namespace of the process that collects",
            Self::Process => "the process that collects",
        }
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    Novice,
    #[default]
    Advanced,
    Expert,
    Wizard,
}

/// Relation between the values of a counter on Linux and on Windows, under the same name.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Meaning {
    /// Relation of a counter that counts the same things on Linux and on Windows.
    Same,
    /// Relation of a counter that counts, on Linux, a part of the things that Windows counts, and nothing else.
    Part,
    /// Relation of a counter that counts other things, or more things, on Linux.
    Other,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Attribute {
    Reference,
    NoDisplay,
    NoDigitGrouping,
    DisplayAsReal,
    DisplayAsHex,
}

/// Class of the time that collecting a counter takes per instance.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CostClass {
    #[default]
    Cheap,
    Moderate,
    Expensive,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    #[default]
    Undefined,
    Sum,
    Avg,
    Min,
    Max,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub enum Range {
    #[serde(rename = "0..100")]
    Percent,
    #[serde(rename = "0..100 x CPUs")]
    PercentOfCpus,
    #[default]
    #[serde(rename = "unbounded")]
    Unbounded,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Namespace {
    namespace: String,
}

/// Reads all catalogue files, in the order of their names. Returns the namespace of the GUIDs and the countersets.
pub fn load(folder: &Path) -> Result<(Uuid, Vec<Set>)> {
    let read = |file: &str| {
        let path = folder.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let written: Namespace = toml::from_str(&read("namespace.toml")?).context("catalog/namespace.toml")?;
    let namespace = written.namespace.parse().context("catalog/namespace.toml: namespace")?;

    let mut stems = Vec::new();
    for file in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
        let name = file?.file_name();
        match name.to_str().and_then(|name| name.strip_suffix(".toml")) {
            Some("namespace") | None => {}
            Some(stem) => stems.push(stem.to_owned()),
        }
    }
    stems.sort();
    let texts = stems.iter().map(|stem| read(&format!("{stem}.toml"))).collect::<Result<Vec<_>>>()?;
    let bases =
        stems.iter().zip(&texts).map(|(stem, text)| parse_entry(stem, text)).collect::<Result<Vec<_>>>()?;
    let parsed = stems.iter().zip(&texts).map(|(stem, text)| parse(namespace, stem, text, &bases));
    let sets = parsed.collect::<Result<Vec<_>>>()?;
    check::together(&sets)?;
    Ok((namespace, sets))
}

/// Returns the path of a counterset's catalogue file.
pub fn file(stem: &str) -> String {
    format!("catalog/{stem}.toml")
}

fn parse_entry(stem: &str, text: &str) -> Result<Entry> {
    toml::from_str(text).with_context(|| file(stem))
}

/// Parses and checks one catalogue file. A view copies its missing fields from one of `bases`.
pub fn parse(namespace: Uuid, stem: &str, text: &str, bases: &[Entry]) -> Result<Set> {
    let mut entry = parse_entry(stem, text)?;
    if let Some(name) = &entry.view_of {
        let base = bases.iter().find(|base| *base.name == **name);
        let base = base.with_context(|| format!("{}: view_of: there is no \"{}\"", file(stem), &**name))?;
        entry.inherit(base).with_context(|| file(stem))?;
    }
    check::entry(&entry).with_context(|| file(stem))?;
    Ok(Set {
        stem: stem.to_owned(),
        guid: entry.guid.resolve(namespace, &entry.name),
        provider_guid: entry.provider.guid.resolve(namespace, &entry.provider.name),
        entry,
    })
}
