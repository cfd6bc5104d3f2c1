//! Rules that involve several elements: unique values, and auxiliary counters that must exist.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use perfset_core::{Aggregate, CounterFilter, CounterId, CounterType, InstanceType};

use crate::model::{Mode, word_of_type};
use crate::problem::{Report, Rule, shown};
use crate::read::{ParsedCounter, ParsedSet, uint32};
use crate::relation::{Relation, Requirement};
use crate::symbol::is_word_of_c;
use crate::xml::Element;

/// Maximum number of counters in a counterset of a manifest.
pub(crate) const COUNTERS: usize = 65_536;

/// Checks the countersets of a manifest's provider against the rules that involve several elements.
pub(crate) fn check(provider: &Element<'_>, sets: &[ParsedSet<'_, '_>], mode: Mode, report: &mut Report) {
    let mut guids = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut conventions = Conventions::default();
    conventions.check(provider, report);
    for set in sets {
        let (element, entry) = (set.element, &set.entry);
        if set.guid.is_some_and(|guid| !guids.insert(guid)) {
            report.error(
                element.offset("guid"),
                Rule::Unique,
                format_args!("this guid belongs to a counterSet above"),
                format_args!("each has its own"),
            );
        }
        // Counter paths compare counterset names without case.
        if !entry.name.is_empty() && !names.insert(entry.name.to_lowercase()) {
            report.error(
                element.offset("name"),
                Rule::Unique,
                format_args!("a counterSet above is called {} too", shown(&entry.name)),
                format_args!("no path could tell them apart"),
            );
        }
        conventions.check(element, report);
        for counter in &set.counters {
            conventions.check(counter.element, report);
        }
        counterset(set, mode, report);
    }
}

/// Values that should be unique in the whole manifest, although the schema does not require it.
#[derive(Default)]
struct Conventions<'e> {
    symbols: BTreeSet<&'e str>,
    uris: BTreeSet<&'e str>,
    resources: BTreeSet<u32>,
}

impl<'e> Conventions<'e> {
    fn check(&mut self, element: &'e Element<'_>, report: &mut Report) {
        for name in ["symbol", "uri", "nameID", "descriptionID"] {
            let Some(attribute) = element.attribute(name).filter(|a| !a.value.is_empty()) else { continue };
            let (is_new, right) = match name {
                "symbol" => (self.symbols.insert(&attribute.value), "generated C code would define it twice"),
                "uri" => (self.uris.insert(&attribute.value), "by convention each has its own"),
                _ => {
                    // As numbers: 0x10 and 16 are one resource.
                    let number = uint32(&attribute.value);
                    (number.is_none_or(|id| self.resources.insert(id)), "each text has its own resource")
                }
            };
            if !is_new {
                report.warning(
                    attribute.value_offset,
                    Rule::Unique,
                    format_args!("{name} {} stands above already", shown(&attribute.value)),
                    format_args!("{right}"),
                );
            }
        }
        if let Some(symbol) = element.attribute("symbol").filter(|a| is_word_of_c(&a.value)) {
            report.warning(
                symbol.value_offset,
                Rule::Value,
                format_args!("symbol {} is a word of C or C++", shown(&symbol.value)),
                format_args!("no code can be generated with it"),
            );
        }
    }
}

fn counterset(set: &ParsedSet<'_, '_>, mode: Mode, report: &mut Report) {
    if set.counters.len() > COUNTERS {
        report.error(
            set.element.offset,
            Rule::Limit,
            format_args!("counterSet has {} counters", set.counters.len()),
            format_args!("{COUNTERS} are the most"),
        );
    }
    let structs = structs(set, report);
    let mut ids: BTreeMap<CounterId, &ParsedCounter<'_, '_>> = BTreeMap::new();
    let (mut names, mut folded) = (BTreeSet::new(), BTreeSet::new());
    for read in &set.counters {
        let (element, counter) = (read.element, &read.entry.counter);
        if read.has_id {
            let id = counter.id;
            // PerfLib's wildcard for counters is an id.
            if CounterFilter::from_wire(id.0) == CounterFilter::All {
                report.error(
                    element.offset("id"),
                    Rule::Limit,
                    format_args!("id {} means all counters", id.0),
                    format_args!("any smaller number is good"),
                );
            }
            if let Entry::Vacant(free) = ids.entry(id) {
                free.insert(read);
            } else {
                report.error(
                    element.offset("id"),
                    Rule::Unique,
                    format_args!("id {} belongs to a counter above", id.0),
                    format_args!("each of a counterSet has its own; 0x10 and 16 are the same"),
                );
            }
        }
        if let Some(name) = counter.name.as_deref().filter(|name| !name.is_empty()) {
            // The schema compares names exactly, counter paths ignore case: one is an error, the other a
            // warning.
            let is_new = folded.insert(name.to_lowercase());
            let place = element.offset("name");
            if !names.insert(name) {
                report.error(
                    place,
                    Rule::Unique,
                    format_args!("a counter above is called {} too", shown(name)),
                    format_args!("each of a counterSet has its own name"),
                );
            } else if !is_new {
                report.warning(
                    place,
                    Rule::Unique,
                    format_args!("the name {} differs from one above in capitals only", shown(name)),
                    format_args!("paths do not tell them apart"),
                );
            }
        }
        members(read, mode, &structs, report);
        // The schema permits an aggregate in any counterset, so this is only a warning.
        let is_aggregated = !matches!(set.entry.instances, InstanceType::Single | InstanceType::Multiple);
        if !is_aggregated && counter.aggregate != Aggregate::Undefined {
            report.warning(
                element.offset("aggregate"),
                Rule::Aggregate,
                format_args!("aggregate stands in a counterSet that is not aggregated"),
                format_args!("its instances would have to be one of the aggregates"),
            );
        }
    }
    // If an id is invalid, a reference might mean that id, so references are not checked.
    let ids = set.counters.iter().all(|read| read.has_id).then_some(ids);
    // PerfLib has one clock per block, so counters with different clocks cannot all be computed right.
    let mut clocks = [None, None];
    for read in &set.counters {
        relations(read, ids.as_ref(), report);
        for (first, relation) in clocks.iter_mut().zip([Relation::PerfTime, Relation::PerfFreq]) {
            let Some(id) = relation.counter_id(&read.entry.counter) else { continue };
            if *first.get_or_insert(id) != id {
                let name = relation.attribute();
                report.warning(
                    read.element.offset(name),
                    Rule::Relation,
                    format_args!("{name} differs from that of a counter above"),
                    format_args!("all counters of a counterSet should share one"),
                );
            }
        }
    }
}

/// Checks the driver structs of a counterset and returns their names.
fn structs<'e>(set: &ParsedSet<'e, '_>, report: &mut Report) -> BTreeSet<&'e str> {
    let mut names = BTreeSet::new();
    for element in &set.structs {
        let Some(name) = element.attribute("name") else { continue };
        if !names.insert(name.value.as_ref()) {
            report.error(
                name.value_offset,
                Rule::Unique,
                format_args!("a struct above is called {} too", shown(&name.value)),
                format_args!("each of a counterSet has its own name"),
            );
        }
    }
    names
}

/// Checks the counter attributes `struct` and `field`, which only drivers have.
fn members(read: &ParsedCounter<'_, '_>, mode: Mode, structs: &BTreeSet<&str>, report: &mut Report) {
    let element = read.element;
    match mode {
        Mode::User => {
            for attribute in ["struct", "field"].into_iter().filter_map(|name| element.attribute(name)) {
                report.error(
                    attribute.offset,
                    Rule::Mode,
                    format_args!("{} stands in a provider of userMode", attribute.name),
                    format_args!("it belongs to kernelMode"),
                );
            }
        }
        Mode::Kernel => {
            if read.entry.field.is_none() {
                report.error(
                    element.offset("field"),
                    Rule::Mode,
                    format_args!("counter has no field"),
                    format_args!("kernelMode needs it"),
                );
            }
            match &read.entry.of_struct {
                Some(name) if !structs.contains(name.as_str()) => {
                    report.error(
                        element.offset("struct"),
                        Rule::Reference,
                        format_args!("the counterSet has no struct {}", shown(name)),
                        format_args!("structs stand before its counters"),
                    );
                }
                None if structs.len() > 1 => {
                    report.warning(
                        element.offset,
                        Rule::Mode,
                        format_args!("counter has no struct"),
                        format_args!("the counterSet has several"),
                    );
                }
                _ => {}
            }
        }
    }
}

fn relations(
    read: &ParsedCounter<'_, '_>,
    ids: Option<&BTreeMap<CounterId, &ParsedCounter<'_, '_>>>,
    report: &mut Report,
) {
    let word = |counter_type: CounterType| word_of_type(counter_type).unwrap_or_default();
    let (element, counter) = (read.element, &read.entry.counter);
    for relation in Relation::ALL {
        let name = relation.attribute();
        // An invalid type was reported already and needs nothing.
        let need = if read.has_type { relation.needs(counter.counter_type) } else { Requirement::No };
        let Some(attribute) = element.attribute(name) else {
            if let Requirement::Must(wanted) = need {
                report.error(
                    element.offset,
                    Rule::Relation,
                    format_args!("counter has no {name}"),
                    format_args!("{} is computed with a {}", word(counter.counter_type), word(wanted)),
                );
            }
            continue;
        };
        // A reference that is no number was reported when it was read.
        let Some(id) = relation.counter_id(counter) else { continue };
        let Some(ids) = ids else { continue };
        let Some(other) = ids.get(&id) else {
            report.error(
                attribute.value_offset,
                Rule::Reference,
                format_args!("{name} {}: the counterSet has no counter of that id", id.0),
                format_args!("it must be one of its own"),
            );
            continue;
        };
        let found = other.entry.counter.counter_type;
        match need {
            Requirement::Must(wanted) | Requirement::May(wanted) if other.has_type && found != wanted => {
                report.error(
                    attribute.value_offset,
                    Rule::Relation,
                    format_args!("{name} {} is a {}", id.0, word(found)),
                    format_args!("it must be a {}", word(wanted)),
                );
            }
            Requirement::No if read.has_type => {
                report.warning(
                    attribute.offset,
                    Rule::Relation,
                    format_args!("nothing is computed with this {name}"),
                    format_args!("{} has none", word(counter.counter_type)),
                );
            }
            Requirement::No | Requirement::May(_) | Requirement::Must(_) => {}
        }
    }
}
