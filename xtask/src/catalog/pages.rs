//! Generator of the countersets' documentation pages.

use super::header::prefix;
use super::notice;
use super::set::{CostClass, Counter, Entry, Instances, Range, Set, Text};

/// Returns the documentation page of one counterset.
pub fn counterset(set: &Set) -> String {
    let entry = &set.entry;
    let rows: String = entry.counters.iter().map(row).collect();
    let sections: String = entry.counters.iter().map(section).collect();
    let oddities: String = entry.oddities.iter().map(|oddity| format!("- {}\n", &**oddity)).collect();
    let oddities = if oddities.is_empty() { oddities } else { format!("\n## Known oddities\n\n{oddities}") };
    format!(
        "<!-- {notice}; change that instead. -->

# {name}

{help}

A first counter path to try: `{query}`
{words}
| | |
|---|---|
| GUID | `{guid}` |
| Provider | {provider}, `{provider_guid}` |
| Instances | {instances} |
| On Windows | {windows} |
| Covers | {scope} |
| Cost | {cost} |
| V1 title index | {v1_index} |
| Symbols | Rust `perfset::catalogue::{module}`, C `{prefix}_*` in `perflib_symbols.h` |
{oddities}
## Counters

| id | counter | type | unit | range | source on Linux |
|---|---|---|---|---|---|
{rows}
## Each counter

First what it means; then what Windows counts, if that is something else, how Linux differs, and when there is no value.
{sections}",
        notice = notice(&format!("{}.toml", set.stem)),
        name = &*entry.name,
        help = &*entry.help,
        query = &*entry.query,
        words = found_by(&entry.words),
        guid = set.guid,
        provider = &*entry.provider.name,
        provider_guid = set.provider_guid,
        instances = instances(entry.instances),
        windows = &*entry.windows,
        scope = entry.scope.text(),
        cost = &*entry.cost,
        v1_index = title_index(entry),
        module = set.module(),
        prefix = prefix(set),
    )
}

/// Returns the documentation page that lists all countersets.
pub fn index(sets: &[Set]) -> String {
    let rows = sets.iter().map(|set| {
        let Set { stem, guid, entry, .. } = set;
        let instances = instances(entry.instances);
        format!("| [{}]({stem}.md) | {instances} | {} | `{guid}` |\n", &*entry.name, entry.counters.len())
    });
    format!(
        "<!-- {notice}; change that instead. -->

# Countersets

What is built in: each page says what is counted, where the numbers come from, and how Linux differs from Windows.
[Counters of Windows on Linux](../windows-meaning.md) compares all that Windows has too.

| counterset | instances | counters | GUID |
|---|---|---|---|
{rows}",
        notice = notice(""),
        rows = rows.collect::<String>(),
    )
}

/// Returns the summary of the book with the pages of all countersets below their index. Its other lines stay.
pub fn summary(text: &str, sets: &[Set]) -> String {
    let index = "](countersets/README.md)";
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.contains(index) {
            lines.push(line.to_owned());
            let pages = sets.iter().map(|Set { stem, entry, .. }| (stem, &*entry.name));
            lines.extend(pages.map(|(stem, name)| format!("  - [{name}](countersets/{stem}.md)")));
        } else if !line.contains("](countersets/") {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the title index of a counterset, and its title indexes in earlier versions.
fn title_index(entry: &Entry) -> String {
    let former: Vec<_> = entry.former_v1_indexes.iter().map(u32::to_string).collect();
    if former.is_empty() {
        return entry.v1_index.to_string();
    }
    format!("{}, before {}", entry.v1_index, former.join(", "))
}

fn instances(instances: Instances) -> &'static str {
    match instances {
        Instances::Single => "single",
        Instances::Multiple => "multiple",
    }
}

fn row(counter: &Counter) -> String {
    let range = match counter.range {
        Range::Percent => "0..100",
        Range::PercentOfCpus => "0..100 x CPUs",
        Range::Unbounded => "",
    };
    let base = counter.base.map_or_else(String::new, |id| format!(", base {id}"));
    let source = if counter.has_source() { counter.source() } else { "none".to_owned() };
    let Counter { id, unit, .. } = counter;
    let (name, counter_type) = (counter.label(), &counter.counter_type.name);
    format!("| {id} | {name} | `{counter_type}`{base} | {} | {range} | {source} |\n", &**unit)
}

/// Returns the line of a page with the search words of a counterset or counter; empty if there are none.
fn found_by(words: &[Text]) -> String {
    let words: Vec<_> = words.iter().map(|phrase| &**phrase).collect();
    if words.is_empty() { String::new() } else { format!("\n**Found by**: {}\n", words.join(", ")) }
}

fn section(counter: &Counter) -> String {
    let notes = [
        ("On Windows", &counter.on_windows),
        ("On Linux", &counter.differs),
        ("Availability", &counter.availability),
        ("Permission", &counter.permission),
    ];
    let notes = notes.iter().filter(|(_, text)| !text.is_empty());
    let notes: String = notes.map(|(what, text)| format!("\n**{what}**: {}\n", &***text)).collect();
    let rises = if counter.rises { "\nRises until what it counts starts again.\n" } else { "" };
    let cost = match counter.cost_class {
        CostClass::Cheap => "",
        CostClass::Moderate => "\n**Cost**: moderate, 20 to 200 microseconds per instance\n",
        CostClass::Expensive => "\n**Cost**: expensive, more than 200 microseconds per instance\n",
    };
    let exported = counter.windows_exporter.as_deref();
    let exported = exported.map(|name| format!("\n**In windows_exporter**: `{name}`\n")).unwrap_or_default();
    let in_node: Vec<_> = counter.node_exporter.texts().map(|text| format!("`{text}`")).collect();
    let in_node = match in_node.is_empty() {
        true => String::new(),
        false => format!("\n**In node_exporter**: {}\n", in_node.join(", ")),
    };
    let words = found_by(&counter.words);
    format!(
        "\n### {} {}\n\n{}\n{rises}{notes}{cost}{exported}{in_node}{words}",
        counter.id,
        counter.label(),
        &*counter.help
    )
}
