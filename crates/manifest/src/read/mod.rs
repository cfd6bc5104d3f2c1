//! Converter from XML elements to the manifest model; checks each element and attribute.

use std::borrow::Cow;

use perfset_core::counterset::Text;
use perfset_core::{Aggregate, Attributes, Counter, CounterId, CounterType, DetailLevel, Guid, InstanceType};

use crate::decode;
use crate::model::{
    AGGREGATES, ATTRIBUTES, DEFAULT_NAME, DETAILS, INSTANCES, Manifest, ManifestCounter, ManifestSet, Mode,
    Provider, SchemaVersion, Struct,
};
use crate::problem::{Problems, Report, Rule, shown};
use crate::relation::Relation;
use crate::rules;
use crate::xml::{self, Element, Namespace};

mod attributes;

pub(crate) use attributes::uint32;

impl Manifest {
    /// Parses and checks a manifest: the bytes of a `.man` file.
    ///
    /// # Errors
    /// All problems, if there is an error. [`check`](Self::check) also returns warnings for a valid manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problems> {
        let (manifest, problems) = Self::check(bytes);
        manifest.ok_or(problems)
    }

    /// Parses and checks a manifest, and returns all problems, including the warnings for a valid manifest.
    #[must_use]
    pub fn check(bytes: &[u8]) -> (Option<Self>, Problems) {
        let mut report = Report::default();
        let text = match decode::decode(bytes) {
            Ok(text) => text,
            Err(error) => {
                // The offset counts in the decoded text, because line and column are computed from it.
                report.error(
                    error.before.len(),
                    Rule::Xml,
                    format_args!("{}", error.what),
                    format_args!("{}", error.right),
                );
                return (None, report.finish(&error.before));
            }
        };
        let manifest = match xml::parse(&text) {
            Ok(root) => manifest(&root, &mut report),
            Err(error) => {
                report.error(
                    error.offset,
                    Rule::Xml,
                    format_args!("{}", error.what),
                    format_args!("{}", error.right),
                );
                None
            }
        };
        // Defaults stand in for invalid values, so a manifest with errors must never leave this function.
        let manifest = manifest.filter(|_| !report.has_errors());
        (manifest, report.finish(&text))
    }
}

/// Parsed counter of a manifest, with its XML element.
pub(crate) struct ParsedCounter<'e, 'a> {
    pub element: &'e Element<'a>,
    pub entry: ManifestCounter,
    /// `true` if the counter's id was parsed; an invalid id is not compared with others.
    pub has_id: bool,
    pub has_type: bool,
}

/// Parsed counterset of a manifest, with its XML element.
pub(crate) struct ParsedSet<'e, 'a> {
    pub element: &'e Element<'a>,
    pub guid: Option<Guid>,
    pub entry: ManifestSet,
    pub structs: Vec<&'e Element<'a>>,
    pub counters: Vec<ParsedCounter<'e, 'a>>,
}

fn manifest(root: &Element<'_>, report: &mut Report) -> Option<Manifest> {
    let is_root = root.namespace == Namespace::Events && root.name == "instrumentationManifest";
    if !is_root {
        report.error(
            root.offset,
            Rule::Element,
            format_args!("the file begins with {}", shown(root.name)),
            format_args!("instrumentationManifest of the namespace {}", Namespace::EVENTS),
        );
        return None;
    }
    let is_instrumentation =
        |e: &&Element<'_>| e.namespace == Namespace::Events && e.name == "instrumentation";
    let all = root.children.iter().filter(is_instrumentation).flat_map(|e| &e.children);
    // Other children of `instrumentation`, such as `events`, do not concern counters.
    let mut counters = all.filter(|e| e.namespace == Namespace::Counters);
    let Some(first) = counters.next() else {
        report.error(
            root.offset,
            Rule::Element,
            format_args!("there is no counters element"),
            format_args!("instrumentation holds one, of the namespace {}", Namespace::COUNTERS),
        );
        return None;
    };
    let mut reader = ManifestReader { report, version: SchemaVersion::V1_1 };
    let found = reader.counters(first);
    for other in counters {
        reader.misplaced(other, "one counters element is all that there can be");
    }
    found
}

struct ManifestReader<'r> {
    report: &'r mut Report,
    version: SchemaVersion,
}

impl ManifestReader<'_> {
    fn error(&mut self, at: usize, rule: Rule, what: std::fmt::Arguments<'_>, right: &str) {
        self.report.error(at, rule, what, format_args!("{right}"));
    }

    fn counters(&mut self, element: &Element<'_>) -> Option<Manifest> {
        if element.name != "counters" {
            self.misplaced(element, "instrumentation holds counters");
            return None;
        }
        self.attributes(element, &["schemaVersion"]);
        self.no_text(element);
        if let Some(version) = self.required(element, "schemaVersion") {
            self.version = self.schema_version(version).unwrap_or(self.version);
        }
        let mut providers = element.children.iter();
        let Some(provider) = providers.next() else {
            self.error(element.offset, Rule::Element, format_args!("counters has no provider"), "it has one");
            return None;
        };
        let found = self.provider(provider);
        for other in providers {
            self.misplaced(other, "counters has one provider and nothing else");
        }
        found.map(|provider| Manifest { schema_version: self.version, provider })
    }

    fn provider(&mut self, element: &Element<'_>) -> Option<Provider> {
        const KNOWN: &[&str] = &[
            "symbol",
            "providerGuid",
            "applicationIdentity",
            "providerType",
            "providerName",
            "callback",
            "resourceBase",
        ];
        if !is(element, "provider") {
            self.misplaced(element, "counters holds a provider");
            return None;
        }
        // From here on, errors do not end the reading: all errors of a file are reported at once.
        self.attributes(element, KNOWN);
        self.no_text(element);
        let guid = self.required(element, "providerGuid").and_then(|a| self.guid(a));
        let mode = self.word(element, "providerType", &Mode::WORDS).unwrap_or(Mode::User);
        let symbol = self.symbol(element, "symbol");
        // An invalid symbol was reported already. In user mode the symbol names the handle in generated code.
        if symbol.is_none()
            && mode == Mode::User
            && element.attribute("symbol").is_none_or(|a| a.value.is_empty())
        {
            self.error(
                element.offset("symbol"),
                Rule::Attribute,
                format_args!("provider has no symbol"),
                "userMode needs the C name of its handle",
            );
        }
        let application = self.required(element, "applicationIdentity").map(|a| a.value.to_string());
        // The schema permits a provider without a name, and other parts of the library need one.
        let name = self
            .name(element, "providerName", "provider")
            .map_or_else(|| DEFAULT_NAME.to_owned(), Cow::into_owned);
        let has_callback = self.word(element, "callback", &[("default", false), ("custom", true)]);
        let resource_base = element.attribute("resourceBase").and_then(|a| self.uint32(a));
        if let (Some(base), true) = (element.attribute("resourceBase"), self.version.has_ids()) {
            self.error(
                base.offset,
                Rule::Version,
                format_args!("resourceBase stands here"),
                "since schemaVersion 2.0 nameID and descriptionID do that",
            );
        }
        let mut sets = Vec::new();
        for child in &element.children {
            // Further errors would only be counted. A hostile file of 16 MiB may have any number.
            if self.report.is_full() {
                break;
            }
            sets.extend(self.counterset(child, mode));
        }
        if element.children.is_empty() {
            self.error(
                element.offset,
                Rule::Element,
                format_args!("provider has no counterSet"),
                "it has at least one",
            );
        }
        // Rules about several elements need all of them, in the order of the file.
        rules::check(element, &sets, mode, self.report);
        let finish = |set: ParsedSet<'_, '_>| {
            let counters = set.counters.into_iter().map(|counter| counter.entry).collect();
            ManifestSet { counters, ..set.entry }
        };
        Some(Provider {
            // Without these two there is no provider; the error was reported above.
            guid: guid?,
            name,
            symbol,
            application: application?,
            mode,
            has_callback: has_callback.unwrap_or(false),
            resource_base,
            sets: sets.into_iter().map(finish).collect(),
        })
    }

    fn counterset<'e, 'a>(&mut self, element: &'e Element<'a>, mode: Mode) -> Option<ParsedSet<'e, 'a>> {
        const KNOWN: &[&str] =
            &["symbol", "guid", "uri", "name", "nameID", "description", "descriptionID", "instances"];
        if !is(element, "counterSet") {
            self.misplaced(element, "provider holds counterSets");
            return None;
        }
        self.attributes(element, KNOWN);
        self.no_text(element);
        let guid = self.required(element, "guid").and_then(|a| self.guid(a));
        let symbol = self.required_symbol(element, "symbol");
        let uri = self.uri(element);
        // `required` reports a missing name, and `name` an invalid one.
        let _ = self.required(element, "name");
        let name = self.name(element, "name", "counterSet");
        let description = self.required(element, "description").map(|a| a.value.to_string());
        let resources = self.resources(element, true, true);
        // A default stands in for an invalid value, so that later rules can still be checked.
        let instances = self.word(element, "instances", &INSTANCES).unwrap_or(InstanceType::Single);

        let (mut structs, mut counters) = (Vec::new(), Vec::new());
        let mut has_structs = false;
        for child in &element.children {
            if self.report.is_full() {
                break;
            }
            // The schema is a sequence: one `structs` first, then counters.
            if is(child, "counter") {
                counters.push(self.counter(child));
            } else if !is(child, "structs") {
                self.misplaced(child, "counterSet holds structs, then counters");
            } else if has_structs || !counters.is_empty() {
                self.misplaced(child, "structs stands once, before the counters");
            } else {
                has_structs = true;
                if mode == Mode::User {
                    self.error(
                        child.offset,
                        Rule::Mode,
                        format_args!("structs stands in a provider of userMode"),
                        "structs belong to kernelMode",
                    );
                }
                structs = self.structs(child);
            }
        }
        if counters.is_empty() {
            self.error(
                element.offset,
                Rule::Element,
                format_args!("counterSet has no counter"),
                "it has at least one",
            );
        }
        let entry = ManifestSet {
            guid: guid.unwrap_or(Guid::NIL),
            name: name.map(Cow::into_owned).unwrap_or_default(),
            description: description.unwrap_or_default(),
            symbol: symbol.unwrap_or_default(),
            uri,
            resources,
            instances,
            // The entry has the values; the elements stay separate, because rules report positions in the
            // file.
            structs: structs.iter().map(|(_, entry)| entry.clone()).collect(),
            counters: Vec::new(),
        };
        Some(ParsedSet {
            element,
            guid,
            entry,
            structs: structs.into_iter().map(|(element, _)| element).collect(),
            counters,
        })
    }

    fn structs<'e, 'a>(&mut self, element: &'e Element<'a>) -> Vec<(&'e Element<'a>, Struct)> {
        self.attributes(element, &[]);
        self.no_text(element);
        if element.children.is_empty() {
            self.error(
                element.offset,
                Rule::Element,
                format_args!("structs has no struct"),
                "it has at least one",
            );
        }
        let mut found = Vec::new();
        for child in &element.children {
            if !is(child, "struct") {
                self.misplaced(child, "structs holds structs");
                continue;
            }
            self.leaf(child, &["name", "type"]);
            let mut name = |name| self.required_symbol(child, name).unwrap_or_default();
            found.push((child, Struct { name: name("name"), of_type: name("type") }));
        }
        found
    }

    fn counter<'e, 'a>(&mut self, element: &'e Element<'a>) -> ParsedCounter<'e, 'a> {
        const KNOWN: &[&str] = &[
            "id",
            "uri",
            "symbol",
            "name",
            "nameID",
            "description",
            "descriptionID",
            "type",
            "detailLevel",
            "defaultScale",
            "aggregate",
            "baseID",
            "perfTimeID",
            "perfFreqID",
            "multiCounterID",
            "struct",
            "field",
        ];
        self.attributes(element, KNOWN);
        self.no_text(element);
        let id = self.required(element, "id").and_then(|a| self.uint32(a));
        let counter_type = self.required(element, "type").and_then(|a| self.counter_type(a));
        // Ids and types may be missing: the flags at the end show later rules which of them to believe.
        let _ = self.required(element, "detailLevel");
        let detail = self.word(element, "detailLevel", &DETAILS).unwrap_or(DetailLevel::NOVICE);
        let uri = self.uri(element);
        let attributes = self.counter_attributes(element);
        // Attributes come before the name, because only a hidden counter may have no name.
        let is_hidden = attributes.contains(Attributes::NO_DISPLAYABLE);
        let name = self.name(element, "name", "counter");
        let description = element.attribute("description").map(|a| a.value.to_string());
        for (attribute, is_missing) in
            [("name", element.attribute("name").is_none()), ("description", description.is_none())]
        {
            if is_missing && !is_hidden {
                self.error(
                    element.offset,
                    Rule::Name,
                    format_args!("counter has no {attribute}"),
                    "only one with the attribute noDisplay may be without",
                );
            }
        }
        let resources = self.resources(element, name.is_some(), description.is_some());
        // Any type stands in for an invalid one: the manifest is refused anyway.
        let known_type = counter_type.unwrap_or(CounterType::PERF_COUNTER_RAWCOUNT);
        let mut counter = Counter::published(CounterId(id.unwrap_or(0)), known_type)
            .help(description.unwrap_or_default())
            .attributes(attributes)
            .detail(detail)
            .default_scale(self.scale(element))
            .aggregate(self.word(element, "aggregate", &AGGREGATES).unwrap_or(Aggregate::Undefined));
        counter.name = name.map(|name| Text::from(name.into_owned()));
        for relation in Relation::ALL {
            let other = element.attribute(relation.attribute()).and_then(|a| self.uint32(a));
            relation.set(&mut counter, other.map(CounterId));
        }
        let entry = ManifestCounter {
            counter,
            symbol: self.symbol(element, "symbol"),
            uri,
            resources,
            of_struct: self.symbol(element, "struct"),
            field: self.symbol(element, "field"),
        };
        ParsedCounter { element, entry, has_id: id.is_some(), has_type: counter_type.is_some() }
    }

    fn counter_attributes(&mut self, element: &Element<'_>) -> Attributes {
        let mut all = Attributes::default();
        let mut lists = 0_usize;
        for list in &element.children {
            lists = lists.saturating_add(1);
            if !is(list, "counterAttributes") || lists > 1 {
                self.misplaced(list, "counter holds counterAttributes, once");
                continue;
            }
            self.attributes(list, &[]);
            self.no_text(list);
            if list.children.is_empty() {
                self.error(
                    list.offset,
                    Rule::Element,
                    format_args!("counterAttributes has no counterAttribute"),
                    "it has one to five",
                );
            }
            for child in &list.children {
                if !is(child, "counterAttribute") {
                    self.misplaced(child, "counterAttributes holds counterAttributes");
                    continue;
                }
                self.leaf(child, &["name"]);
                let _ = self.required(child, "name");
                let Some(one) = self.word(child, "name", &ATTRIBUTES) else { continue };
                if all.contains(one) {
                    self.error(
                        child.offset("name"),
                        Rule::Unique,
                        format_args!("this counterAttribute stands here twice"),
                        "once is enough",
                    );
                }
                all = all.with(one);
            }
            if !all.is_allowed() {
                let right = "noDisplay takes none of noDigitGrouping, displayAsReal and displayAsHex beside it, \
                             displayAsHex none of the other two";
                self.error(
                    list.offset,
                    Rule::Display,
                    format_args!("these counterAttributes contradict each other"),
                    right,
                );
            }
        }
        all
    }

    fn leaf(&mut self, element: &Element<'_>, known: &[&str]) {
        self.attributes(element, known);
        self.no_text(element);
        for child in &element.children {
            self.misplaced(child, "nothing stands inside of that");
        }
    }

    fn no_text(&mut self, element: &Element<'_>) {
        if let Some(at) = element.text {
            self.error(
                at,
                Rule::Element,
                format_args!("there is text inside of {}", element.name),
                "everything stands in attributes",
            );
        }
    }

    fn misplaced(&mut self, element: &Element<'_>, right: &str) {
        self.error(
            element.offset,
            Rule::Element,
            format_args!("{} has no place here", shown(element.name)),
            right,
        );
    }
}

fn is(element: &Element<'_>, name: &str) -> bool {
    element.namespace == Namespace::Counters && element.name == name
}
