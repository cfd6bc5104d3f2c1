//! Words of texts, and the occurrences of a searched word in them.

/// Kind of occurrence of a searched word in a text, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Occurrence {
    /// Occurrence as a whole word, or as a whole part of a name such as `SwapFree`.
    Whole,
    /// Occurrence as a whole word or part, with or without a plural ending.
    Inflected,
    /// Occurrence at the beginning of a word or part.
    Beginning,
}

/// Maximum number of letters of a searched word that are compared. The limit bounds the cost in scripts where a word
/// begins at every letter.
const LETTERS_MAX: usize = 64;

/// Word of a search query, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedWord {
    pub word: String,
    /// Searched word without its plural ending.
    singular: Option<String>,
}

impl SearchedWord {
    pub fn new(word: &str) -> Self {
        let word = word.chars().filter(|c| *c != '/').flat_map(char::to_lowercase);
        let word: String = word.take(LETTERS_MAX).collect();
        let singular = word.strip_suffix('s').filter(|rest| rest.len() > 2 && !rest.ends_with('s'));
        let singular = singular.map(str::to_owned);
        Self { word, singular }
    }

    /// Returns the best kind of match of this searched word at the start of a word or of one of its parts.
    pub fn occurs_in(&self, word: &str) -> Option<Occurrence> {
        let singular = self.singular.as_deref();
        occurrence(word, &self.word).or_else(|| {
            singular.and_then(|singular| occurrence(word, singular)).map(|o| o.max(Occurrence::Inflected))
        })
    }

    /// Returns the best kind of match of this searched word in a text.
    pub fn occurs_in_text(&self, text: &str) -> Option<Occurrence> {
        if !may_occur(text, &self.word) {
            return None;
        }
        words(text).filter_map(|word| self.occurs_in(word)).min()
    }

    /// Returns `true` if `word` is this searched word, or its singular or plural.
    pub fn is(&self, word: &str) -> bool {
        let is_whole =
            |searched: &str| begins(word, searched).is_some_and(|(_, behind)| is_plural_ending(behind));
        is_whole(&self.word) || self.singular.as_deref().is_some_and(is_whole)
    }
}

/// Returns the words of a text: runs of letters and digits. Single letters around a slash are one word: `I/O`. The end
/// of a rate such as `cswch/s` is the word `sec`, as in the names of counters.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (before, from_word) = rest.split_at_checked(rest.find(char::is_alphanumeric)?)?;
        let end = run_end(from_word);
        let end = joined_end(from_word, end).unwrap_or(end);
        let (word, behind) = from_word.split_at_checked(end)?;
        rest = behind;
        let is_rate = word.eq_ignore_ascii_case("s") && before.ends_with('/');
        Some(if is_rate { "sec" } else { word })
    })
}

/// Returns `false` if a searched word cannot occur in a text, because no word or part has its first two letters. This
/// decides for most texts, at a fraction of the cost of their words.
fn may_occur(text: &str, searched: &str) -> bool {
    let mut wanted = searched.bytes();
    let (Some(first), second) = (wanted.next(), wanted.next()) else { return false };
    if !text.is_ascii() || !first.is_ascii() {
        return true;
    }
    let bytes = text.as_bytes();
    let mut from = 0_usize;
    while let Some(at) = bytes.iter().skip(from).position(|byte| byte.to_ascii_lowercase() == first) {
        let at = from.saturating_add(at);
        let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
        let is_upper = bytes.get(at).is_some_and(u8::is_ascii_uppercase);
        from = at.saturating_add(1);
        if before.is_ascii_alphanumeric() && !is_upper {
            continue;
        }
        let next = bytes.get(from).map(u8::to_ascii_lowercase);
        // A slash may be that of "I/O", or the beginning of a rate: "/s" is the word "sec".
        if second.is_none() || next == second || next == Some(b'/') || before == b'/' {
            return true;
        }
    }
    false
}

/// Returns the offset at which the letters and digits at the start of a text end.
fn run_end(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len())
}

/// Returns the end offset of two single letters with a slash between them, such as `I/O`, at the start of a text; `end`
/// is the offset of the slash.
fn joined_end(text: &str, end: usize) -> Option<usize> {
    let is_letter = |text: &str| {
        let mut chars = text.chars();
        chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
    };
    let (first, behind) = text.split_at_checked(end)?;
    let behind = behind.strip_prefix('/')?;
    let second = behind.get(..run_end(behind))?;
    (is_letter(first) && is_letter(second)).then(|| end.saturating_add(1).saturating_add(second.len()))
}

/// Returns the best kind of match of a searched word at the starts of the parts of a word.
fn occurrence(word: &str, searched: &str) -> Option<Occurrence> {
    let first = searched.chars().next()?;
    let mut best: Option<Occurrence> = None;
    let mut before = None;
    let mut chars = word.chars();
    loop {
        let rest = chars.as_str();
        let Some(c) = chars.next() else { return best };
        // Most words begin otherwise. A character beyond ASCII may have several in lower case.
        let may_begin = !c.is_ascii() || c.to_ascii_lowercase() == first;
        if may_begin && is_start(before, c, chars.as_str()) {
            if let Some((last, behind)) = begins(rest, searched) {
                let found = match ends(last, behind) {
                    true => Occurrence::Whole,
                    false if is_plural(last, behind) => Occurrence::Inflected,
                    false => Occurrence::Beginning,
                };
                best = best.into_iter().chain([found]).min();
            }
        }
        before = Some(c);
    }
}

/// Returns `true` if a part of a word begins at `c`. `SwapFree` and `TCPSynRetrans` have several parts. A letter of a
/// script without upper and lower case begins one too, because such scripts often have no blanks between words.
fn is_start(before: Option<char>, c: char, behind: &str) -> bool {
    let Some(before) = before else { return true };
    if c.is_ascii_lowercase() || c.is_ascii_digit() || before == '/' {
        return false;
    }
    if c.is_uppercase() {
        return !before.is_uppercase() || behind.starts_with(char::is_lowercase);
    }
    c.is_alphabetic() && !c.is_lowercase()
}

/// Returns the last character of the searched word at the start of a text, as the text has it, and the text behind it.
/// Returns `None` if the text does not begin with the searched word.
fn begins<'a>(text: &'a str, searched: &str) -> Option<(char, &'a str)> {
    let mut wanted = searched.chars();
    let mut chars = text.chars();
    loop {
        let c = chars.next()?;
        for folded in c.to_lowercase().filter(|c| *c != '/') {
            if wanted.next() != Some(folded) {
                return None;
            }
        }
        if wanted.as_str().is_empty() {
            return Some((c, chars.as_str()));
        }
    }
}

/// Returns `true` if a word or a part of one ends between a character and the text behind it.
fn ends(last: char, behind: &str) -> bool {
    let mut chars = behind.chars();
    chars.next().is_none_or(|next| is_start(Some(last), next, chars.as_str()))
}

/// Returns `true` if only a plural ending is missing to the end of a word or part.
fn is_plural(last: char, behind: &str) -> bool {
    let rest = behind.strip_prefix("es").or_else(|| behind.strip_prefix('s'));
    rest.is_some_and(|rest| ends('s', rest)) && last.is_alphabetic()
}

fn is_plural_ending(text: &str) -> bool {
    matches!(text, "" | "s" | "es" | "S" | "ES")
}
