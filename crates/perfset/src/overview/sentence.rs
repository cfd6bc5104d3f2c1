//! Sentences about a machine, in which names that come from it are separate from the words.

use std::fmt;

use crate::output::text::escaped;

/// Sentence for users about a machine, in words and names. Its text, by [`Display`](fmt::Display), has harmful
/// characters of names escaped, so it can be printed. A page shows each name isolated, as in `<bdi>`: one in Arabic or
/// Hebrew would change the order of the words beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence(Vec<SentencePart>);

/// Part of a [`Sentence`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentencePart {
    /// Words, numbers and units of a sentence, which are plain text.
    Words(String),
    /// Name in a sentence that comes from the machine, unchanged. Any user may have chosen it.
    Name(String),
}

impl Sentence {
    /// Appends words, numbers or units to the sentence.
    #[must_use]
    pub fn words(mut self, words: impl Into<String>) -> Self {
        let words = words.into();
        match self.0.last_mut() {
            Some(SentencePart::Words(last)) => last.push_str(&words),
            _ if words.is_empty() => {}
            _ => self.0.push(SentencePart::Words(words)),
        }
        self
    }

    /// Appends a name that comes from the machine to the sentence.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.push(SentencePart::Name(name.into()));
        self
    }

    /// Returns the words and names of the sentence in their order.
    #[must_use]
    pub fn parts(&self) -> &[SentencePart] {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Sentence {
    fn from(words: T) -> Self {
        Self::default().words(words)
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            SentencePart::Words(words) => f.write_str(words),
            SentencePart::Name(name) => f.write_str(&escaped(name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_words_stay_together() {
        let sentence = Sentence::default().words("").name("a\u{202e}\n").words(" is").words(" full").name("");
        assert_eq!(sentence.to_string(), "a\\u{202e}\\n is full");
        let [name, words, none] = sentence.parts() else { panic!("{sentence:?}") };
        assert_eq!(*name, SentencePart::Name("a\u{202e}\n".into()));
        assert_eq!(*words, SentencePart::Words(" is full".into()));
        assert_eq!(*none, SentencePart::Name(String::new()));
        assert_eq!(Sentence::from("two words").parts(), [SentencePart::Words("two words".into())]);
    }
}
