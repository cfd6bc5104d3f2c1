//! Checks of the rules for catalogue files. A message names file, counter, field and what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use anyhow::{Context, Result, anyhow, bail, ensure};
use uuid::Uuid;

use super::set::{
    Attribute, Counter, CounterTranslation, Entry, Instances, Meaning, NodeMetric, Range, Set, Text, file,
};
use crate::counter_type::CounterType;

/// Maximum length of the name of a counter or counterset, in UTF-16 units.
const NAME_MAX: usize = 1023;
/// First V1 title index that belongs to applications and not to Windows.
const V1_INDEX_END: u32 = 1 << 17;
/// Beginning of the help text of a counter that counts something else on Linux than on Windows.
const SAYS_WHICH: &str = "On Linux ";
/// Names of the constants that every generated module has.
const RESERVED: [&str; 3] = ["GUID", "COUNTERS", "COUNTERSET"];

/// Checks the content of one catalogue file, without a comparison with other files.
pub fn entry(entry: &Entry) -> Result<()> {
    check_name(&entry.name)?;
    check_name(&entry.provider.name).context("provider")?;
    ensure!(!entry.help.is_empty(), "help: is empty");
    check_sentences("help", &entry.help)?;
    check_sentences("windows", &entry.windows)?;
    check_sentences("cost", &entry.cost)?;
    for oddity in &entry.oddities {
        check_sentences("oddities", oddity)?;
    }
    check_v1_index(entry.v1_index)?;
    check_former_v1_indexes(&entry.former_v1_indexes)?;
    if let Some(label) = &entry.windows_exporter_label {
        let good = !label.is_empty() && label.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        ensure!(good, "windows_exporter_label: \"{label}\" must be small letters and _");
    }
    for label in &entry.node_exporter_labels {
        let is_good = |word: &str| !word.is_empty() && word.chars().all(is_word_char);
        let parts = label.split_once('=');
        ensure!(
            parts.is_some_and(|(key, source)| is_good(key) && is_good(source)),
            "node_exporter_labels: \"{label}\" must be LABEL=name, LABEL=id or LABEL=FACT"
        );
    }
    check_words(&entry.words, &entry.name)?;
    ensure!(
        entry.first_counter().is_some(),
        "query: \"{}\" is the path of no counter that the set shows",
        &*entry.query
    );
    ensure!(!entry.counters.is_empty(), "counter: there is none");
    if let Some(name) = entry.default_counter.as_deref() {
        let is_shown = entry.default_counter().is_some_and(Counter::is_shown);
        ensure!(is_shown, "default_counter: \"{name}\" is no counter that the set shows");
    }

    let mut last = None;
    let mut names = BTreeSet::new();
    let mut indexes = BTreeSet::from([entry.v1_index]);
    let mut symbols = BTreeSet::from(RESERVED.map(str::to_owned));
    for counter in &entry.counters {
        let place = || format!("counter {} {}", counter.id, counter.label());
        ensure!(last < Some(counter.id), "{}: id: must be above that of the counter before it", place());
        last = Some(counter.id);
        check_counter(counter, entry).with_context(place)?;
        let index = counter.v1_index;
        ensure!(indexes.insert(index), "{}: v1_index: {index} is taken in this set", place());
        if let Some(name) = &counter.name {
            ensure!(names.insert(name.to_lowercase()), "{}: name: is taken", place());
        }
        ensure!(symbols.insert(counter.symbol()), "{}: symbol: {} is taken", place(), counter.symbol());
    }

    let mut languages = BTreeSet::new();
    for translation in &entry.translations {
        let language = translation.language;
        ensure!(languages.insert(language), "translation {language:#06x}: language: is taken");
        check_name(&translation.name).with_context(|| format!("translation {language:#06x}"))?;
        for CounterTranslation { id, name, .. } in &translation.counters {
            let place = || format!("translation {language:#06x}: counter {id}");
            ensure!(entry.counter(*id).is_some(), "{}: is not in the set", place());
            check_name(name).with_context(place)?;
        }
    }
    Ok(())
}

/// Checks all countersets together: GUIDs and names are unique, and a title index has one name.
pub fn together(sets: &[Set]) -> Result<()> {
    let mut guids = Taken::default();
    let mut names = Taken::default();
    let mut titles = BTreeMap::new();
    let mut former = Vec::new();
    let mut providers: BTreeMap<Uuid, &str> = BTreeMap::new();
    for set in sets {
        let owner = file(&set.stem);
        guids.take("guid", set.guid, &owner)?;
        names.take("name", set.entry.name.to_lowercase(), &owner)?;
        let own = (set.entry.v1_index, set.entry.name.to_string(), owner.clone());
        let of_counters = set.entry.counters.iter().map(|counter| {
            let label = counter.label();
            (counter.v1_index, label.clone(), format!("{owner}: counter {} {label}", counter.id))
        });
        for (index, name, owner) in std::iter::once(own).chain(of_counters) {
            let (known, other) = titles.entry(index).or_insert_with(|| (name.clone(), owner.clone()));
            ensure!(*known == name, "{owner}: v1_index: {index} is taken by {other}");
        }
        let of_counters = set.entry.counters.iter().map(|c| (&c.former_v1_indexes, c.label()));
        let own = (&set.entry.former_v1_indexes, set.entry.name.to_string());
        for (indexes, name) in std::iter::once(own).chain(of_counters) {
            former.extend(indexes.iter().map(|index| (*index, name.clone(), owner.clone())));
        }
        let name = &*set.entry.provider.name;
        let known = *providers.entry(set.provider_guid).or_insert(name);
        ensure!(known == name, "{owner}: provider: {} is called \"{known}\" elsewhere", set.provider_guid);
    }
    for (index, name, owner) in former {
        // The same names may have shared it; another name would get the queries that are meant for this one.
        let (known, other) = titles.entry(index).or_insert_with(|| (name.clone(), owner.clone()));
        ensure!(*known == name, "{owner}: former_v1_indexes: {index} is taken by {other}");
    }
    check_node_names(sets)?;
    for set in sets {
        let Set { stem, provider_guid, .. } = set;
        let clash = guids.0.get(provider_guid);
        ensure!(clash.is_none(), "{}: provider: {provider_guid} is that of a counterset", file(stem));
    }
    Ok(())
}

/// Catalogue values that must be unique, each with the file that has it.
struct Taken<T>(BTreeMap<T, String>);

impl<T> Default for Taken<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord + Display> Taken<T> {
    fn take(&mut self, field: &str, what: T, owner: &str) -> Result<()> {
        if let Some(other) = self.0.get(&what) {
            bail!("{owner}: {field}: {what} is taken by {other}");
        }
        self.0.insert(what, owner.to_owned());
        Ok(())
    }
}

fn check_name(name: &str) -> Result<()> {
    ensure!(!name.is_empty(), "name: is empty");
    let len = name.encode_utf16().count();
    ensure!(len <= NAME_MAX, "name: has {len} UTF-16 units, may have {NAME_MAX}");
    Ok(())
}

fn check_sentences(field: &str, text: &str) -> Result<()> {
    ensure!(text.is_empty() || text.ends_with('.'), "{field}: must be whole sentences, to the full stop");
    Ok(())
}

fn check_v1_index(index: u32) -> Result<()> {
    let good = index != 0 && index.is_multiple_of(2) && index < V1_INDEX_END;
    ensure!(good, "v1_index: {index} must be even, above 0 and below {V1_INDEX_END}");
    Ok(())
}

fn check_former_v1_indexes(indexes: &[u32]) -> Result<()> {
    indexes.iter().try_for_each(|index| check_v1_index(*index)).context("former_v1_indexes")
}

fn check_counter(counter: &Counter, entry: &Entry) -> Result<()> {
    ensure!(counter.of.is_none() || entry.view_of.is_some(), "of: the set is no view");
    match &counter.name {
        Some(name) => check_name(name)?,
        None => ensure!(!counter.is_shown(), "name: only a noDisplay counter may have none"),
    }
    check_symbol(counter)?;
    check_v1_index(counter.v1_index)?;
    check_former_v1_indexes(&counter.former_v1_indexes)?;
    check_texts(counter)?;
    check_meaning(counter, entry.exists_on_windows)?;
    check_attributes(&counter.attributes)?;
    check_sum(counter, entry.instances)?;
    check_exported(counter, entry)?;
    check_words(&counter.words, counter.name.as_deref().unwrap_or_default())?;
    ensure!(counter.is_shown() || counter.words.is_empty(), "words: nobody searches for a noDisplay counter");
    check_relations(counter, entry)?;
    let code = counter.counter_type.code;
    ensure!(!code.is_base() || !counter.is_shown(), "attributes: a base must be noDisplay");
    let scale = counter.scale.unwrap_or_default();
    ensure!((-10..=10).contains(&scale), "scale: {scale} must be within -10..=10");
    ensure!(
        !counter.caps || matches!(counter.range, Range::Percent),
        "caps: only a range of 0..100 has such an end"
    );
    ensure!(!counter.wraps || code.value_len() == 4, "wraps: only a value of 4 bytes wraps");
    Ok(())
}

fn check_symbol(counter: &Counter) -> Result<()> {
    ensure!(counter.name.is_some() || counter.symbol.is_some(), "symbol: a counter without a name needs one");
    let symbol = counter.symbol();
    let good = symbol.starts_with(|c: char| c.is_ascii_uppercase())
        && symbol.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    ensure!(good, "symbol: \"{symbol}\" must be capitals, digits and _, a capital first");
    Ok(())
}

fn check_texts(counter: &Counter) -> Result<()> {
    ensure!(!counter.is_shown() || !counter.help.is_empty(), "help: is empty");
    let has_place = counter.has_source() || !counter.availability.is_empty();
    ensure!(has_place, "availability: must say why there is no source");
    check_sentences("help", &counter.help)?;
    check_sentences("differs", &counter.differs)?;
    check_sentences("availability", &counter.availability)?;
    check_sentences("permission", &counter.permission)
}

/// Checks that a counter with `adds_up` has several instances and a type whose sum has a meaning.
fn check_sum(counter: &Counter, instances: Instances) -> Result<()> {
    use CounterType as T;
    let is_amount = matches!(
        counter.counter_type.code,
        T::PERF_COUNTER_RAWCOUNT
            | T::PERF_COUNTER_LARGE_RAWCOUNT
            | T::PERF_COUNTER_COUNTER
            | T::PERF_COUNTER_BULK_COUNT
            | T::PERF_100NSEC_TIMER
    );
    ensure!(!counter.adds_up || is_amount, "adds_up: a mean or a share has no sum");
    ensure!(!counter.adds_up || matches!(instances, Instances::Multiple), "adds_up: there is one instance");
    Ok(())
}

/// Checks that a counter that also exists on Windows states how its value relates to that of Windows.
///
/// Users read a number before its documentation. If the number is a different one, the first sentence of its help says
/// which.
fn check_meaning(counter: &Counter, exists_on_windows: bool) -> Result<()> {
    let has_value = counter.is_shown() && counter.has_source();
    match counter.meaning {
        None if exists_on_windows && has_value => bail!("meaning: Windows has the set, so it must be said"),
        None => ensure!(counter.on_windows.is_empty(), "on_windows: there is no meaning"),
        Some(_) if !exists_on_windows => bail!("meaning: Windows does not have the set"),
        Some(_) if !has_value => bail!("meaning: there is no value"),
        Some(Meaning::Same) => ensure!(counter.on_windows.is_empty(), "on_windows: the meaning is the same"),
        Some(Meaning::Part | Meaning::Other) => {
            let says_it = counter.help.starts_with(SAYS_WHICH);
            ensure!(says_it, "help: must begin with \"{SAYS_WHICH}\" and say which part it is, or what else");
            ensure!(!counter.on_windows.is_empty(), "on_windows: must say what Windows counts");
        }
    }
    check_sentences("on_windows", &counter.on_windows)
}

/// Checks that a metric of node_exporter is made of one counter: from two, lines with the same labels would result.
fn check_node_names(sets: &[Set]) -> Result<()> {
    let mut known = BTreeMap::new();
    for set in sets {
        for counter in &set.entry.counters {
            for metric in counter.node_exporter.node_metrics().unwrap_or_default() {
                let key = (metric.name, metric.labels);
                let owner = format!("{}: counter {} {}", file(&set.stem), counter.id, counter.label());
                if let Some(other) = known.insert(key, owner.clone()) {
                    bail!("{owner}: node_exporter: {} is made of another counter too: {other}", metric.name);
                }
            }
        }
    }
    Ok(())
}

/// Checks the catalogue fields of a counter that exporters use.
fn check_exported(counter: &Counter, entry: &Entry) -> Result<()> {
    use CounterType as T;
    let code = counter.counter_type.code;
    let is_number = matches!(code, T::PERF_COUNTER_RAWCOUNT | T::PERF_COUNTER_LARGE_RAWCOUNT);
    ensure!(!counter.rises || is_number, "rises: only of a RAWCOUNT the type does not say it");
    check_node_exporter(counter, entry)?;
    let Some(metric) = &counter.windows_exporter else { return Ok(()) };
    let (name, labels) =
        metric.split_once('{').map_or((metric.as_str(), None), |(name, rest)| (name, Some(rest)));
    let is_word =
        |word: &str| word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_word_char);
    let pair = |pair: &str| {
        let parts = pair
            .split_once('=')
            .and_then(|(key, value)| Some((key, value.strip_prefix('"')?.strip_suffix('"')?)));
        parts.is_some_and(|(key, value)| is_word(key) && is_word(value))
    };
    let has_labels =
        labels.is_none_or(|labels| labels.strip_suffix('}').is_some_and(|all| all.split(',').all(pair)));
    let is_name = name.strip_prefix("windows_").is_some_and(is_word);
    ensure!(
        is_name && has_labels,
        "windows_exporter: \"{metric}\" must be windows_NAME or windows_NAME{{label=\"value\"}}"
    );
    ensure!(!counter.rises || name.ends_with("_total"), "windows_exporter: what rises ends in _total");
    Ok(())
}

/// Checks the catalogue fields of a counter that describe its metrics of node_exporter.
fn check_node_exporter(counter: &Counter, entry: &Entry) -> Result<()> {
    let metrics = counter.node_exporter.node_metrics().map_err(|text| {
        anyhow!(
            "node_exporter: \"{text}\" must be node_NAME, with (INSTANCE) before or labels in braces behind"
        )
    })?;
    let factor = counter.node_exporter_factor.as_deref();
    let has_metrics = !metrics.is_empty();
    ensure!(has_metrics || factor.is_none(), "node_exporter_factor: there is no node_exporter");
    ensure!(
        has_metrics || !counter.node_exporter_on_request,
        "node_exporter_on_request: there is no node_exporter"
    );
    ensure!(
        factor.is_none_or(|factor| decimal(factor).is_some()),
        "node_exporter_factor: must be a decimal number"
    );
    let is_share = counter.counter_type.name.ends_with("RAW_FRACTION");
    let offset = counter.node_exporter_offset;
    ensure!(
        offset == 0 || has_metrics && is_share && factor.is_none(),
        "node_exporter_offset: only of a share without a factor"
    );
    if let Some(minus) = counter.node_exporter_minus.as_deref() {
        let other = entry.counters.iter().find(|other| other.name.as_deref() == Some(minus));
        let is_alike = other.is_some_and(|other| {
            *other.unit == *counter.unit && other.counter_type.code == counter.counter_type.code
        });
        ensure!(
            has_metrics && is_alike && !is_share,
            "node_exporter_minus: \"{minus}\" is no counter of this type and unit"
        );
    }
    for NodeMetric { name, instance, .. } in metrics {
        let rises_well = !counter.rises || name.ends_with("_total") || name.starts_with("node_netstat_");
        ensure!(rises_well, "node_exporter: the name of a metric that rises ends in _total");
        let is_labelled = matches!(entry.instances, Instances::Single)
            || !instance.is_empty()
            || !entry.node_exporter_labels.is_empty();
        ensure!(is_labelled, "node_exporter: {name} needs node_exporter_labels in the set, or an instance");
    }
    Ok(())
}

/// Parses a positive decimal number as a whole number and a count of decimal places. The whole number is divided by
/// the power of ten of that count.
pub fn decimal(text: &str) -> Option<(u64, u8)> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(places) || places.len() > 9 {
        return None;
    }
    let number = format!("{whole}{places}").parse().ok().filter(|number| *number > 0)?;
    Some((number, u8::try_from(places.len()).ok()?))
}

/// Checks that each search word of a counter or counterset can be typed, occurs once, and differs from the name.
fn check_words(words: &[Text], name: &str) -> Result<()> {
    for (i, phrase) in words.iter().enumerate() {
        let phrase = &**phrase;
        let is_good = phrase.chars().all(|c| is_word_char(c) || " %-./".contains(c))
            && phrase.contains(|c: char| c.is_ascii_lowercase());
        ensure!(is_good, "words: \"{phrase}\" must be small letters, digits, blanks, and any of _ % - . /");
        ensure!(words[..i].iter().all(|other| **other != *phrase), "words: \"{phrase}\" stands twice");
        ensure!(!phrase.eq_ignore_ascii_case(name), "words: \"{phrase}\" is the name");
    }
    Ok(())
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

/// Checks that no attributes of a counter contradict each other (rule R-1).
fn check_attributes(attributes: &[Attribute]) -> Result<()> {
    use Attribute::{DisplayAsHex, DisplayAsReal, NoDigitGrouping, NoDisplay};
    let has = |attribute| attributes.contains(&attribute);
    for (i, attribute) in attributes.iter().enumerate() {
        ensure!(!attributes[..i].contains(attribute), "attributes: one stands twice");
    }
    let number = has(NoDigitGrouping) || has(DisplayAsReal);
    ensure!(
        !(has(NoDisplay) && (number || has(DisplayAsHex))),
        "attributes: noDisplay excludes how to show (R-1)"
    );
    ensure!(
        !(has(DisplayAsHex) && number),
        "attributes: displayAsHex excludes how to show a decimal number (R-1)"
    );
    Ok(())
}

/// Checks that a counter names the other counters that its type needs, and that these have the right types. Source:
/// MS-PCQ 2.2.4.2.
///
/// The clock of a type with an object clock may be left out: the time in units of 100 ns stands in.
fn check_relations(counter: &Counter, entry: &Entry) -> Result<()> {
    use CounterType as T;
    let code = counter.counter_type.code;
    let base = match code {
        T::PERF_AVERAGE_TIMER | T::PERF_AVERAGE_BULK => Some(T::PERF_AVERAGE_BASE),
        T::PERF_RAW_FRACTION => Some(T::PERF_RAW_BASE),
        T::PERF_LARGE_RAW_FRACTION | T::PERF_PRECISION_SYSTEM_TIMER | T::PERF_PRECISION_100NS_TIMER => {
            Some(T::PERF_LARGE_RAW_BASE)
        }
        T::PERF_SAMPLE_FRACTION => Some(T::PERF_SAMPLE_BASE),
        _ => None,
    };
    let multi = match code {
        T::PERF_COUNTER_MULTI_TIMER
        | T::PERF_COUNTER_MULTI_TIMER_INV
        | T::PERF_100NSEC_MULTI_TIMER
        | T::PERF_100NSEC_MULTI_TIMER_INV => Some(T::PERF_COUNTER_RAWCOUNT),
        _ => None,
    };
    let clock = match code {
        T::PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE
        | T::PERF_ELAPSED_TIME
        | T::PERF_OBJ_TIME_TIMER
        | T::PERF_PRECISION_OBJECT_TIMER => Some(T::PERF_COUNTER_LARGE_RAWCOUNT),
        _ => None,
    };
    ensure!(counter.time.is_some() == counter.freq.is_some(), "time, freq: one stands without the other");
    for (field, id, wanted, optional) in [
        ("base", counter.base, base, false),
        ("multi", counter.multi, multi, false),
        ("time", counter.time, clock, true),
        ("freq", counter.freq, clock, true),
    ] {
        let own = &counter.counter_type.name;
        match (id, wanted) {
            (None, None) => {}
            (None, Some(wanted)) => ensure!(optional, "{field}: {own} needs one of type {wanted}"),
            (Some(_), None) => bail!("{field}: {own} takes none"),
            (Some(id), Some(wanted)) => {
                let other =
                    entry.counter(id).with_context(|| format!("{field}: there is no counter {id}"))?;
                let found = &other.counter_type;
                ensure!(found.code == wanted, "{field}: counter {id} is {}, must be {wanted}", found.name);
            }
        }
    }
    Ok(())
}
