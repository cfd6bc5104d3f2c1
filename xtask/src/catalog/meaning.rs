//! Generator of the documentation page that compares the meaning of counters on Windows and on Linux.

use super::notice;
use super::set::{Counter, Meaning, Set};

/// Returns the page that compares the meaning of counters on Windows and on Linux, in Markdown.
pub fn page(sets: &[Set]) -> String {
    let on_windows = || sets.iter().filter(|set| set.entry.exists_on_windows);
    let shown = |set: &Set| set.entry.counters.iter().filter(|c| c.is_shown()).map(word).collect::<Vec<_>>();
    let words: Vec<_> = on_windows().filter(|set| set.entry.view_of.is_none()).flat_map(shown).collect();
    let count = |word: &str| words.iter().filter(|other| **other == word).count();
    let sections: String = on_windows().map(section).collect();
    format!(
        "<!-- {notice}; change that instead. -->

# Counters of Windows on Linux

Each counter that Windows has under its name: what Windows counts, and what Linux counts.

| | meaning | counters |
|---|---|---|
| same | the same thing, perhaps measured in another way | {same} |
| part | some of what Windows counts, and nothing else | {part} |
| other | something else, or more than Windows counts | {other} |
| none | nothing: the counter never has a value | {none} |

If the meaning is not the same, the first sentence of the counter's help text describes what is counted.
{sections}",
        notice = notice(""),
        same = count("same"),
        part = count("part"),
        other = count("other"),
        none = count("none"),
    )
}

fn section(set: &Set) -> String {
    let name = &*set.entry.name;
    if let Some(base) = &set.entry.view_of {
        return format!("\n## {name}\n\nA view of {}: its counters mean the same as there.\n", &**base);
    }
    let rows: String = set.entry.counters.iter().filter(|counter| counter.is_shown()).map(row).collect();
    format!("\n## {name}\n\n| counter | Windows counts | Linux counts | meaning |\n|---|---|---|---|\n{rows}")
}

fn row(counter: &Counter) -> String {
    let Counter { help, on_windows, differs, availability, .. } = counter;
    let windows = if on_windows.is_empty() { help } else { on_windows };
    let what_else = if on_windows.is_empty() { "" } else { help };
    let linux = match counter.has_source() {
        false => (**availability).to_owned(),
        true => [what_else, &format!("`{}`.", counter.source()), differs].join(" ").trim().to_owned(),
    };
    format!("| {} | {} | {linux} | {} |\n", counter.label(), &**windows, word(counter))
}

fn word(counter: &Counter) -> &'static str {
    match counter.meaning {
        Some(Meaning::Same) => "same",
        Some(Meaning::Part) => "part",
        Some(Meaning::Other) => "other",
        None => "none",
    }
}
