//! Suggestions for searched words that no counter contains.

use std::collections::HashMap;
use std::sync::Arc;

use perfset_catalogue::search_words;
use perfset_core::{Attributes, Counter, Counterset};

use super::words::{SearchedWord, words};
use crate::path::names::{distance, folded};

/// Maximum number of words that are suggested for one unknown word.
const SUGGESTED: usize = 3;
/// Minimum length of a suggested word: nearly every text of two letters is similar to some word.
const SHORTEST: usize = 3;
/// Length from which no suggestion is made for a word: the cost of a comparison grows with the square of the length.
const LONGEST: usize = 40;

/// Returns the words of names, search words and help texts that are spelled most similarly, nearest first.
///
/// The most that a word may differ grows with its length: one letter of four, two of seven, three of longer words.
pub fn nearest_words(vocabulary: &HashMap<&str, bool>, word: &str) -> Vec<String> {
    let wanted = folded(word);
    let most = match wanted.len() {
        0..SHORTEST | LONGEST.. => return Vec::new(),
        SHORTEST..=4 => 1,
        5..=7 => 2,
        _ => 3,
    };
    let mut near: Vec<_> = vocabulary
        .iter()
        .filter(|(other, _)| other.chars().count().abs_diff(wanted.len()) <= most)
        .filter_map(|(other, is_help)| {
            let units = folded(other);
            let distance = distance(&wanted, &units);
            let begins_otherwise = units.first() != wanted.first();
            let is_near = distance <= most && units.len() >= SHORTEST;
            is_near.then(|| (distance, *is_help, begins_otherwise, SearchedWord::new(other).word))
        })
        .collect();
    near.sort_unstable();
    // Only the nearest: a further one is rarely meant.
    let least = near.first().map_or(0, |(distance, ..)| *distance);
    near.retain(|(distance, ..)| *distance == least);
    // One word may be spelled with and without capitals.
    let mut words: Vec<String> = Vec::new();
    for (.., word) in near {
        if words.len() < SUGGESTED && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Returns every word of the countersets, with `true` for words that only help texts contain.
pub fn vocabulary(countersets: &[Arc<Counterset>]) -> HashMap<&str, bool> {
    let mut all = HashMap::new();
    let mut add = |text, is_help| {
        for word in words(text) {
            *all.entry(word).or_insert(is_help) &= is_help;
        }
    };
    for set in countersets {
        add(&set.name, false);
        let catalogue = search_words(set.guid);
        catalogue.iter().flat_map(|words| words.counterset).for_each(|phrase| add(phrase, false));
        let is_found = |counter: &&Counter| !counter.attributes.contains(Attributes::NO_DISPLAYABLE);
        for counter in set.counters.iter().filter(is_found) {
            counter.name.iter().for_each(|name| add(name, false));
            let phrases = catalogue.map_or(&[][..], |words| words.counter(counter.id));
            phrases.iter().for_each(|phrase| add(phrase, false));
            add(&counter.help, true);
        }
    }
    all
}
