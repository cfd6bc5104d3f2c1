//! Search for counters by words of their names, search words and help texts, with a ranking.

mod near;
mod rank;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use perfset_core::{Attributes, Counter, Counterset, Guid};

use self::near::{nearest_words, vocabulary};
use self::rank::{Rank, Ranking};
use self::words::{SearchedWord, words};

/// Maximum number of words of a search that are used, so that a long query cannot keep a server busy.
const WORDS_MAX: usize = 16;
/// Common words that a search ignores if it has other words: they say nothing about the counter.
const IGNORED: [&str; 19] = [
    "a", "an", "and", "by", "for", "how", "in", "is", "many", "much", "my", "of", "on", "per", "the", "to",
    "what", "which", "with",
];

/// Result of a search for counters.
#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    /// Counters that match the search, best first.
    ///
    /// They contain all words of the query. If no counter does, they contain most of the words.
    pub matches: Vec<CounterMatch>,
    /// Words of the search that no counter contains. If there are any, nothing matches.
    pub unknown: Vec<UnknownWord>,
    /// Words of the query that are searched, in lower case, without common words such as "of".
    pub words: Vec<String>,
}

/// Word of a search query that no counter contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// Unknown word of the search query, in lower case.
    pub word: String,
    /// Words in the countersets that are spelled like the unknown word, nearest first; at most three.
    pub nearest: Vec<String>,
}

/// Counter that matched a search for words.
#[derive(Clone, Debug)]
pub struct CounterMatch {
    /// Counterset of the matching counter.
    pub counterset: Arc<Counterset>,
    /// Words of the search query that the counter contains, in the order of the query.
    pub words: Vec<String>,
    index: usize,
}

impl CounterMatch {
    /// Returns the counter that matched the search.
    #[must_use]
    pub fn counter(&self) -> Option<&Counter> {
        self.counterset.counters.get(self.index)
    }

    /// Returns `true` if the counter never has a value on this system.
    #[must_use]
    pub fn is_never_there(&self) -> bool {
        self.counter().is_some_and(Counter::is_never_there)
    }

    /// Returns the counter path of the matching counter in all instances.
    #[must_use]
    pub fn path(&self) -> String {
        self.counter().map(|counter| path_of(&self.counterset, counter)).unwrap_or_default()
    }

    /// Returns the first sentence of the counter's help text, without its full stop.
    #[must_use]
    pub fn help(&self) -> &str {
        let help = self.counter().map(|counter| &*counter.help).unwrap_or_default();
        help.split(". ").next().unwrap_or_default().trim_end_matches('.')
    }
}

/// Returns the counter path of a counter in all instances.
#[must_use]
pub fn path_of(set: &Counterset, counter: &Counter) -> String {
    let instance = if set.instance_type.is_multiple() { "(*)" } else { "" };
    format!("\\{}{instance}\\{}", set.name, counter.shown_name())
}

/// Searches for counters by words, or by a name or path, and ranks them.
///
/// A word matches at the start of a word in the names of counter and counterset, in the search words that the catalogue
/// has for them, and in the counter's unit, help text and source. If no counter has all words, those with most of them
/// are found. The order does not depend on the order of the countersets:
///
/// 1. the counter whose name or path is the query;
/// 2. counters that have a value on this system before those that never have one;
/// 3. counters that have more of the words;
/// 4. shares, if the query has a percent sign;
/// 5. counters for which the query is the name, or one of the search words, word by word;
/// 6. counters with the words in their names and search words, then those with words in other texts;
/// 7. counters whose name begins with the first word;
/// 8. common counters: not those of another counterset once more, then the first one to try in its counterset, then by
///    detail level and by the words of the name that the query does not have.
///
/// An empty query matches every counter, in the order of the names of countersets.
///
/// ```
/// use std::sync::Arc;
/// use perfset::catalogue;
///
/// let countersets: Vec<_> = catalogue::ALL.iter().map(|set| Arc::new((*set).clone())).collect();
/// let found = perfset::path::find(&countersets, "iowait");
/// assert_eq!(found.matches[0].path(), r"\Linux Processor(*)\% I/O Wait Time");
///
/// let found = perfset::path::find(&countersets, "latncy");
/// assert!(found.matches.is_empty());
/// assert_eq!(found.unknown[0].nearest, ["latency"]);
/// ```
#[must_use]
pub fn find(countersets: &[Arc<Counterset>], query: &str) -> SearchResult {
    let query = SearchQuery::new(query);
    let mut ranking = Ranking::new(&query);
    let mut ranked: Vec<(Rank, CounterMatch)> = Vec::new();
    for set in countersets {
        let of_set = ranking.counterset(set);
        for (index, counter) in set.counters.iter().enumerate() {
            if counter.attributes.contains(Attributes::NO_DISPLAYABLE) {
                continue;
            }
            if let Some((rank, words)) = ranking.counter(&of_set, set, counter) {
                ranked.push((rank, CounterMatch { counterset: Arc::clone(set), words, index }));
            }
        }
    }
    let unknown: Vec<_> = ranking.unknown().collect();
    let words = query.words.iter().map(|word| word.word.clone()).collect();
    if !unknown.is_empty() && !ranked.iter().any(|(rank, _)| rank.is_exact()) {
        let vocabulary = vocabulary(countersets);
        let unknown = unknown
            .into_iter()
            .map(|word| UnknownWord { nearest: nearest_words(&vocabulary, word), word: word.to_owned() });
        return SearchResult { unknown: unknown.collect(), words, ..SearchResult::default() };
    }
    keep_best(&mut ranked, query.words.len());
    if query.text.is_empty() {
        ranked.sort_by(|(_, found), (_, other)| found.place().cmp(&other.place()));
    } else {
        ranked.sort_by(|(a, found), (b, other)| a.cmp(b).then_with(|| found.place().cmp(&other.place())));
    }
    SearchResult { matches: ranked.into_iter().map(|(_, found)| found).collect(), unknown: Vec::new(), words }
}

impl CounterMatch {
    /// Returns the sort key of this search match, which orders counters of equal rank.
    fn place(&self) -> (String, &str, Guid, usize) {
        let set = &*self.counterset;
        (set.name.to_lowercase(), &*set.name, set.guid, self.index)
    }
}

/// Keeps the counters that contain the most words of the query: all of them, or at least half if no counter contains
/// all.
fn keep_best(ranked: &mut Vec<(Rank, CounterMatch)>, words: usize) {
    let count = |found: &CounterMatch| found.words.len();
    // Counters that never have a value are not shown unless they are requested. They must not hide others.
    let available = ranked.iter().filter(|(_, found)| !found.is_never_there());
    let best = available.map(|(_, found)| count(found)).max();
    let best = best.or_else(|| ranked.iter().map(|(_, found)| count(found)).max()).unwrap_or(0);
    let least = best.max(words.div_ceil(2));
    ranked.retain(|(rank, found)| rank.is_exact() || count(found) >= least);
}

/// Parsed query of a search for counters.
struct SearchQuery {
    /// Text of the search query as written, without blanks around it.
    text: String,
    /// Names of counterset and counter, if the search query is a counter path.
    path: Option<(String, String)>,
    words: Vec<SearchedWord>,
    /// `true` if the search query has a percent sign, so that percentage counters are preferred.
    is_share: bool,
}

impl SearchQuery {
    fn new(text: &str) -> Self {
        let text = text.trim();
        let (mut searched, mut ignored): (Vec<SearchedWord>, Vec<SearchedWord>) = Default::default();
        for word in words(text).map(SearchedWord::new) {
            let kept = match IGNORED.contains(&word.word.as_str()) {
                true => &mut ignored,
                false => &mut searched,
            };
            if kept.len() < WORDS_MAX && !kept.contains(&word) {
                kept.push(word);
            }
        }
        if searched.is_empty() {
            searched = ignored;
        }
        let path = text.starts_with(['\\', '/']).then(|| text.parse::<super::CounterPath>().ok()).flatten();
        let path = path.map(|path| (path.counterset, path.counter));
        Self { text: text.to_owned(), path, words: searched, is_share: text.contains('%') }
    }
}
