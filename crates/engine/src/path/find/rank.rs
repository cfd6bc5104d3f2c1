//! Ranks the counters that match a search query.

use perfset_catalogue::{SearchWords, search_words};
use perfset_core::{Counter, Counterset};

use super::SearchQuery;
use super::words::{Occurrence, SearchedWord, words};

/// Rank of a counter among the counters that match a search query: the lowest rank is the best.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    is_not_exact: bool,
    /// `true` if the search query is the name of a counter of several instances. Users mean the counter of the whole
    /// machine first.
    is_exact_of_several: bool,
    is_never_there: bool,
    missing_words: usize,
    /// `true` if the search query has a percent sign, and the unit of the counter is not percent.
    is_no_share: bool,
    sense: Sense,
    cost: u32,
    begins_otherwise: bool,
    is_view: bool,
    /// `true` if the catalogue does not name this counter as the first one to try in its counterset.
    is_not_first: bool,
    detail: u32,
    /// Number of words of the counter's name that the search query does not have.
    other_words: usize,
}

impl Rank {
    /// Returns `true` if the search query is the counter's name or path.
    pub fn is_exact(&self) -> bool {
        !self.is_not_exact
    }
}

/// Relation of a whole search query to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sense {
    /// The search query is the counter's name, with or without the counterset's name, or one of the counter's search
    /// words.
    Counter,
    /// The search query is the name of the counterset, or one of the counterset's search words.
    Counterset,
    /// The search query is no name: its words occur in the texts of the counter or counterset.
    Words,
}

/// Kind of text in which a searched word occurs, such as a name or a help text. A match in a name costs the least; see
/// `cost`.
#[derive(Clone, Copy)]
enum SearchField {
    CounterName,
    /// Search phrase of the counter whose words are all in the query.
    CounterPhrase,
    CountersetName,
    CountersetPhrase,
    /// Search phrase with other words that are not in the query: "swap usage" in a search for "usage".
    PartOfPhrase,
    Unit,
    HelpSentence,
    HelpText,
    Source,
}

/// Returns the cost of a searched word's match, by the kind of text and the kind of occurrence. Several words in names
/// and phrases cost less than one in a help text.
fn cost(field: SearchField, occurrence: Occurrence) -> u32 {
    let field = match field {
        SearchField::CounterName => 0,
        SearchField::CounterPhrase => 1,
        SearchField::CountersetName | SearchField::CountersetPhrase => 2,
        SearchField::PartOfPhrase => 5,
        SearchField::Unit => 60,
        SearchField::HelpSentence => 100,
        SearchField::HelpText => 120,
        SearchField::Source => 140,
    };
    let occurrence: u32 = match occurrence {
        Occurrence::Whole => 0,
        Occurrence::Inflected => 1,
        Occurrence::Beginning => 3,
    };
    occurrence.saturating_add(field)
}

/// Ranking of counters for one search query.
pub struct Ranking<'q> {
    query: &'q SearchQuery,
    /// `true` for each word of the search query that some counter contains.
    is_known: Vec<bool>,
}

/// Part of the ranking that all counters of a counterset have in common.
pub struct CountersetRanking {
    catalogue: Option<&'static SearchWords>,
    /// Cost of each word of the search query; `None` if neither the counterset's name nor its search words contain the
    /// word.
    costs: Vec<Option<u32>>,
    is_called: bool,
}

impl<'q> Ranking<'q> {
    pub fn new(query: &'q SearchQuery) -> Self {
        Self { query, is_known: vec![false; query.words.len()] }
    }

    /// Returns the words of the search query that no counter contains. A query without words, such as "%%", counts as
    /// one such word.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        let words = self.query.words.iter().zip(&self.is_known);
        let has_none = self.query.words.is_empty() && !self.query.text.is_empty();
        let unknown = words.filter(|(_, is_known)| !**is_known).map(|(word, _)| word.word.as_str());
        unknown.chain(has_none.then_some(self.query.text.as_str()))
    }

    pub fn counterset(&self, set: &Counterset) -> CountersetRanking {
        let searched = &self.query.words;
        let catalogue = search_words(set.guid);
        let phrases = catalogue.map_or(&[][..], |words| words.counterset);
        let mut costs = vec![None; searched.len()];
        add_text(&mut costs, searched, &set.name, SearchField::CountersetName);
        add_phrases(&mut costs, searched, phrases, SearchField::CountersetPhrase);
        let is_called = is_phrase(searched, &set.name) || phrases.iter().any(|p| is_phrase(searched, p));
        CountersetRanking { catalogue, costs, is_called }
    }

    /// Returns the rank of a counter, and the words of the search query that it contains. Returns `None` if it
    /// contains none and the query is not its name.
    pub fn counter(
        &mut self,
        of_set: &CountersetRanking,
        set: &Counterset,
        counter: &Counter,
    ) -> Option<(Rank, Vec<String>)> {
        let searched = &self.query.words;
        let name = counter.shown_name();
        let phrases = of_set.catalogue.map_or(&[][..], |words| words.counter(counter.id));
        let mut costs = of_set.costs.clone();
        add_text(&mut costs, searched, &name, SearchField::CounterName);
        add_phrases(&mut costs, searched, phrases, SearchField::CounterPhrase);
        // Help texts are long: only words that are nowhere else are searched in them.
        let (sentence, rest) = counter.help.split_once(". ").unwrap_or((&counter.help, ""));
        for (text, field) in [
            (unit_name(&counter.unit), SearchField::Unit),
            (sentence, SearchField::HelpSentence),
            (rest, SearchField::HelpText),
            (&counter.source.file, SearchField::Source),
            (&counter.source.field, SearchField::Source),
        ] {
            if costs.contains(&None) {
                add_text(&mut costs, searched, text, field);
            }
        }
        for (is_known, cost) in self.is_known.iter_mut().zip(&costs) {
            *is_known |= cost.is_some();
        }

        let is_exact = self.is_name(set, &name);
        let found = searched.iter().zip(&costs).filter(|(_, cost)| cost.is_some());
        let found: Vec<_> = found.map(|(word, _)| word.word.clone()).collect();
        if found.is_empty() && !is_exact && !self.query.text.is_empty() {
            return None;
        }
        // The name alone, a search word, or the name behind that of its counterset.
        let is_called = is_phrase(searched, &name)
            || phrases.iter().any(|phrase| is_phrase(searched, phrase))
            || is_phrase(searched, &format!("{} {name}", set.name));
        let first = words(&name).next().unwrap_or_default();
        let begins = searched.first().is_some_and(|word| word.occurs_in(first).is_some());
        let is_other = |word: &&str| !searched.iter().any(|searched| searched.occurs_in(word).is_some());
        // Fields of a lower number decide first.
        let rank = Rank {
            is_not_exact: !is_exact,
            is_exact_of_several: is_exact && set.instance_type.is_multiple(),
            is_never_there: counter.is_never_there(),
            missing_words: searched.len().saturating_sub(found.len()),
            is_no_share: self.query.is_share && counter.unit != "%",
            sense: match (is_called, of_set.is_called) {
                (true, _) => Sense::Counter,
                (_, true) => Sense::Counterset,
                _ => Sense::Words,
            },
            cost: costs.iter().flatten().fold(0, |sum, cost| sum.saturating_add(*cost)),
            begins_otherwise: !begins,
            is_view: set.view_of.is_some(),
            is_not_first: of_set.catalogue.and_then(|words| words.first) != Some(counter.id),
            detail: counter.detail.0,
            other_words: words(&name).filter(is_other).count(),
        };
        Some((rank, found))
    }

    /// Returns `true` if the search query is the name of the counter or its path, in upper or lower case.
    fn is_name(&self, set: &Counterset, name: &str) -> bool {
        let is_same = |a: &str, b: &str| {
            a.chars().flat_map(char::to_lowercase).eq(b.chars().flat_map(char::to_lowercase))
        };
        let is_path =
            |(of_set, of_counter): &(String, String)| is_same(of_set, &set.name) && is_same(of_counter, name);
        // An empty query is no name: it matches everything.
        !self.query.text.is_empty() && is_same(&self.query.text, name.trim())
            || self.query.path.as_ref().is_some_and(is_path)
    }
}

/// Lowers the costs of the searched words that occur in a text.
fn add_text(costs: &mut [Option<u32>], searched: &[SearchedWord], text: &str, field: SearchField) {
    for (least, word) in costs.iter_mut().zip(searched) {
        let found = word.occurs_in_text(text).map(|occurrence| cost(field, occurrence));
        *least = [*least, found].into_iter().flatten().min();
    }
}

/// Lowers the costs of the searched words that occur in the search phrases of the catalogue.
fn add_phrases(costs: &mut [Option<u32>], searched: &[SearchedWord], phrases: &[&str], field: SearchField) {
    for phrase in phrases {
        let is_searched = |word: &str| searched.iter().any(|searched| searched.occurs_in(word).is_some());
        let field = if words(phrase).all(is_searched) { field } else { SearchField::PartOfPhrase };
        add_text(costs, searched, phrase, field);
    }
}

/// Returns the words that users type for a unit, such as "percent" for `%`.
fn unit_name(unit: &str) -> &'static str {
    match unit {
        "%" => "percent",
        "s" => "seconds",
        "By" => "bytes",
        "By/s" => "bytes per second",
        "Cel" => "celsius",
        _ => "",
    }
}

/// Returns `true` if the words of a text are the searched words, in the same order. The `sec` of "Context Switches/sec"
/// may be missing.
fn is_phrase(searched: &[SearchedWord], text: &str) -> bool {
    let is_rate = searched.iter().any(|word| word.is("sec"));
    let mut words = words(text).filter(|word| is_rate || *word != "sec");
    let is_next = |searched: &SearchedWord| words.next().is_some_and(|word| searched.is(word));
    !searched.is_empty() && searched.iter().all(is_next) && words.next().is_none()
}
