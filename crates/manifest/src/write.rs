//! Writer of manifests as the text of `.man` files.

use std::fmt::Write as _;

use perfset_core::{Aggregate, Attributes, InstanceType};

use crate::model::{
    AGGREGATES, ATTRIBUTES, DEFAULT_NAME, DETAILS, INSTANCES, Manifest, ManifestCounter, ManifestSet, Mode,
    Provider, Resources, word_of, word_of_type,
};
use crate::xml::Namespace;

impl Manifest {
    /// Returns the manifest as the text of a `.man` file, in UTF-8.
    #[must_use]
    pub fn write(&self) -> String {
        let mut out = XmlWriter { text: "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n".to_owned(), depth: 0 };
        out.open("instrumentationManifest", &[("xmlns", Some(Namespace::EVENTS.to_owned()))]);
        out.open("instrumentation", &[]);
        let version = self.schema_version.to_string();
        out.open(
            "counters",
            &[("xmlns", Some(Namespace::COUNTERS.to_owned())), ("schemaVersion", Some(version))],
        );
        provider(&mut out, &self.provider);
        for name in ["counters", "instrumentation", "instrumentationManifest"] {
            out.close(name);
        }
        out.text
    }
}

type Pair<'a> = (&'a str, Option<String>);

fn provider(out: &mut XmlWriter, provider: &Provider) {
    let Provider { guid, name, symbol, application, mode, has_callback, resource_base, sets } = provider;
    out.open(
        "provider",
        &[
            ("providerGuid", Some(format!("{{{guid}}}"))),
            // A reader fills in the default name, so it is not written.
            ("providerName", Some(name.clone()).filter(|name| name != DEFAULT_NAME)),
            ("symbol", symbol.clone()),
            ("applicationIdentity", Some(application.clone())),
            ("providerType", unless(*mode == Mode::User, word_of(&Mode::WORDS, mode))),
            ("callback", has_callback.then(|| "custom".to_owned())),
            ("resourceBase", resource_base.map(|base| base.to_string())),
        ],
    );
    for set in sets {
        counterset(out, set);
    }
    out.close("provider");
}

fn counterset(out: &mut XmlWriter, set: &ManifestSet) {
    let instances = unless(set.instances == InstanceType::Single, word_of(&INSTANCES, &set.instances));
    let [name_id, description_id] = resources(&set.resources);
    out.open(
        "counterSet",
        &[
            ("guid", Some(format!("{{{}}}", set.guid))),
            ("uri", Some(set.uri.clone())),
            ("symbol", Some(set.symbol.clone())),
            ("name", Some(set.name.clone())),
            name_id,
            ("description", Some(set.description.clone())),
            description_id,
            ("instances", instances),
        ],
    );
    if !set.structs.is_empty() {
        out.open("structs", &[]);
        for one in &set.structs {
            out.empty("struct", &[("name", Some(one.name.clone())), ("type", Some(one.of_type.clone()))]);
        }
        out.close("structs");
    }
    for entry in &set.counters {
        counter(out, entry);
    }
    out.close("counterSet");
}

fn counter(out: &mut XmlWriter, entry: &ManifestCounter) {
    let counter = &entry.counter;
    let [name_id, description_id] = resources(&entry.resources);
    let id = |id: Option<perfset_core::CounterId>| id.map(|id| id.0.to_string());
    // The description is optional only for a counter that is not displayed.
    let is_hidden = counter.attributes.contains(Attributes::NO_DISPLAYABLE);
    let has_help = !is_hidden || !counter.help.is_empty();
    let aggregate =
        unless(counter.aggregate == Aggregate::Undefined, word_of(&AGGREGATES, &counter.aggregate));
    let scale = (counter.default_scale != 0).then(|| counter.default_scale.to_string());
    let pairs = [
        ("id", Some(counter.id.0.to_string())),
        ("uri", Some(entry.uri.clone())),
        ("symbol", entry.symbol.clone()),
        ("name", counter.name.as_deref().map(str::to_owned)),
        name_id,
        ("description", has_help.then(|| counter.help.to_string())),
        description_id,
        ("type", word_of_type(counter.counter_type)),
        ("baseID", id(counter.base)),
        ("perfTimeID", id(counter.perf_time)),
        ("perfFreqID", id(counter.perf_freq)),
        ("multiCounterID", id(counter.multi)),
        ("detailLevel", word_of(&DETAILS, &counter.detail).map(str::to_owned)),
        ("defaultScale", scale),
        ("aggregate", aggregate),
        ("struct", entry.of_struct.clone()),
        ("field", entry.field.clone()),
    ];
    if counter.attributes == Attributes::default() {
        return out.empty("counter", &pairs);
    }
    out.open("counter", &pairs);
    out.open("counterAttributes", &[]);
    for (word, _) in ATTRIBUTES.iter().filter(|(_, attribute)| counter.attributes.contains(*attribute)) {
        out.empty("counterAttribute", &[("name", Some((*word).to_owned()))]);
    }
    out.close("counterAttributes");
    out.close("counter");
}

fn unless(is_default: bool, word: Option<&str>) -> Option<String> {
    word.filter(|_| !is_default).map(str::to_owned)
}

fn resources(resources: &Resources) -> [Pair<'static>; 2] {
    let id = |id: Option<u32>| id.map(|id| id.to_string());
    [("nameID", id(resources.name)), ("descriptionID", id(resources.description))]
}

struct XmlWriter {
    text: String,
    depth: usize,
}

impl XmlWriter {
    fn open(&mut self, name: &str, pairs: &[Pair<'_>]) {
        self.tag(name, pairs, ">");
        self.depth = self.depth.saturating_add(1);
    }

    fn empty(&mut self, name: &str, pairs: &[Pair<'_>]) {
        self.tag(name, pairs, "/>");
    }

    fn close(&mut self, name: &str) {
        self.depth = self.depth.saturating_sub(1);
        let indent = self.depth.saturating_mul(2);
        let _ = writeln!(self.text, "{:indent$}</{name}>", ""); // a String takes everything
    }

    /// Writes an XML tag of the manifest with its attributes, wrapping lines at the maximum width.
    fn tag(&mut self, name: &str, pairs: &[Pair<'_>], end: &str) {
        const WIDTH: usize = 110;
        let indent = self.depth.saturating_mul(2);
        let mut line = format!("{:indent$}<{name}", "");
        for (name, value) in pairs.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            let pair = format!("{name}=\"{}\"", escaped(value));
            if line.chars().count().saturating_add(pair.chars().count()) > WIDTH {
                self.text.push_str(&line);
                self.text.push('\n');
                line = format!("{:1$}", "", indent.saturating_add(3));
            }
            line.push(' ');
            line.push_str(&pair);
        }
        let _ = writeln!(self.text, "{line}{end}"); // a String takes everything
    }
}

/// Escapes a text for use as an XML attribute value.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // A reader would turn these characters into blanks: XML normalizes attribute values.
            '\t' | '\r' | '\n' => {
                let _ = write!(out, "&#{};", u32::from(c)); // a String takes everything
            }
            c => out.push(c),
        }
    }
    out
}
