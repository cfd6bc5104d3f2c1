//! Measures of the prose: long and opaque sentences of documents, and idioms of documents and comments.

use std::path::{Path, PathBuf};

use super::plain::{Measure, OPAQUE};

/// Maximum number of words in a sentence that readers can follow.
const LONG: usize = 30;

/// Words and groups of words that only this project uses, or that have a usual equivalent.
const IDIOMS: [&str; 17] = [
    "anew",
    "besides",
    "whoever",
    "somebody",
    "nobody",
    "anybody",
    "stranger",
    "strangers",
    "so many",
    "so often",
    "mended",
    "marked so",
    "taken apart",
    "takes apart",
    "of ours",
    "folder",
    "folders",
];

/// Words after which a "but" means "except".
const NO_AND_ALL: [&str; 10] =
    ["no", "nothing", "nobody", "none", "all", "any", "every", "everything", "everybody", "everyone"];

/// Words before which a "but" means "except".
const AFTER_BUT: [&str; 7] = ["for", "with", "by", "those", "one", "what", "for,"];

/// Maximum number of characters between a word of [`NO_AND_ALL`] and the "but" to which it belongs.
const NEAR: usize = 60;

/// Measures the prose of documents, and of the comments in sources.
pub fn measure(documents: &[(PathBuf, String)], sources: &[(PathBuf, String)]) -> Vec<Measure> {
    let mut long = Measure::new("sentences of documents with more than 30 words", 40);
    let mut opaque = Measure::new("sentences of documents that begin with an opaque word", 0);
    let mut semicolons = Measure::new("sentences of documents with several semicolons", 0);
    let mut buts = Measure::new("lines in which \"but\" stands for \"except\"", 0);
    let mut in_documents = Measure::new("idioms in documents", 5);
    let mut in_comments = Measure::new("idioms in comments", 30);
    for (path, text) in documents.iter().filter(|(path, _)| is_document(path)) {
        for (sentence, number) in sentences(text) {
            let words = sentence.split_whitespace().count();
            let first = sentence.trim_start_matches(['*', '-', ' ']).split(' ').next().unwrap_or_default();
            long.count(path, number, &sentence, words > LONG);
            // A bold text before a colon is a title.
            let is_title = sentence.ends_with("**: ");
            opaque.count(path, number, &sentence, !is_title && OPAQUE.contains(&first));
            semicolons.count(path, number, &sentence, sentence.matches("; ").count() > 1);
        }
        for (line, number) in text.lines().zip(1..) {
            in_documents.count(path, number, line, has_idiom(line));
            buts.count(path, number, line, has_but(line));
        }
    }
    for (path, text) in sources.iter().filter(|(path, _)| path.starts_with("crates") && is_written(path)) {
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| line.trim_start().starts_with("//")) {
            in_comments.count(path, number, line, has_idiom(line));
            buts.count(path, number, line, has_but(line));
        }
    }
    vec![long, opaque, semicolons, buts, in_documents, in_comments]
}

/// Returns `true` for a document that people read and write: no rules of formats, and nothing that is generated.
fn is_document(path: &Path) -> bool {
    let parent = path.parent().unwrap_or(Path::new(""));
    let is_wanted =
        ["", "docs", "docs/guides", "catalog", "bench", "fuzz"].iter().any(|name| parent == Path::new(name));
    is_wanted && path.extension().is_some_and(|end| end == "md") && !path.ends_with("windows-meaning.md")
}

/// Returns `true` for a source file that is not generated.
fn is_written(path: &Path) -> bool {
    !path.starts_with("crates/catalogue/src/tables")
}

/// Returns the sentences of a document without its code, tables and titles, each with the line of its paragraph.
fn sentences(text: &str) -> Vec<(String, usize)> {
    let (mut found, mut paragraph, mut begin, mut is_code) = (Vec::new(), String::new(), 1, false);
    let mut finish = |paragraph: &mut String, begin: usize| {
        found.extend(split(paragraph).into_iter().map(|sentence| (sentence, begin)));
        paragraph.clear();
    };
    for (line, number) in text.lines().zip(1..) {
        let trimmed = line.trim();
        let is_fence = trimmed.starts_with("```");
        if is_fence {
            is_code = !is_code;
        }
        let is_item = trimmed.starts_with("- ")
            || trimmed.split_once(". ").is_some_and(|(number, _)| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            });
        let is_other = is_code || is_fence || trimmed.is_empty() || trimmed.starts_with(['|', '#', '<', '!']);
        if is_other || is_item {
            finish(&mut paragraph, begin);
        }
        if !is_other {
            if paragraph.is_empty() {
                begin = number;
            }
            paragraph.push_str(trimmed);
            paragraph.push(' ');
        }
    }
    finish(&mut paragraph, begin);
    found
}

/// Splits a paragraph after each end of a sentence, and after a colon before a capital letter.
fn split(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut words = paragraph.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if let Some(sentence) = sentences.last_mut() {
            sentence.push_str(word);
            sentence.push(' ');
        }
        let is_end = word.trim_end_matches(['*', ')', '`', '"']).ends_with(['.', ':', '!', '?']);
        let next = words.peek().map(|next| next.trim_start_matches(['*', '`', '"', '(', '[']));
        if is_end && next.is_some_and(|next| next.starts_with(|c: char| c.is_uppercase() || c == '-')) {
            sentences.push(String::new());
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Returns the words of a line of prose in small letters, without those between backticks.
fn words(line: &str) -> Vec<String> {
    let text: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let is_part = |c: char| c.is_alphanumeric() || c == '\'' || c == '-' || c == '/' || c == '_';
    let all = text.split(|c| !is_part(c)).filter(|word| !word.is_empty());
    all.map(str::to_lowercase).collect()
}

fn has_idiom(line: &str) -> bool {
    let words = words(line);
    IDIOMS.iter().any(|idiom| {
        let parts: Vec<&str> = idiom.split(' ').collect();
        words.windows(parts.len()).any(|window| window.iter().eq(&parts))
    })
}

/// Returns `true` if a "but" of the line stands for "except".
fn has_but(line: &str) -> bool {
    let lower = line.to_lowercase();
    lower.match_indices(" but ").any(|(at, _)| {
        let clause = lower[..at].rsplit(['.', ';', ':']).next().unwrap_or_default();
        let near = clause.char_indices().rev().nth(NEAR).map_or(clause, |(from, _)| &clause[from..]);
        let after = lower[at + 5..].split(' ').next().unwrap_or_default();
        near.split(|c: char| !c.is_alphanumeric()).any(|word| NO_AND_ALL.contains(&word))
            || AFTER_BUT.contains(&after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let page = [(PathBuf::from("docs/a.md"), text.to_owned())];
        measure(&page, &[]).iter().map(Measure::found).collect()
    }

    #[test]
    fn sentences_are_measured() {
        let long = format!("{}end.", "word ".repeat(LONG));
        assert_eq!(found(&format!("# What\n\nA b. {long}\n")), [1, 0, 0, 0, 0, 0]);
        assert_eq!(found(&format!("```\n{long}\n```\n| {long} |\n")), [0; 6]);
        assert_eq!(found("A list:\n\n- **From x**: Of all.\n- It is. What a day.\n"), [0, 2, 0, 0, 0, 0]);
        assert_eq!(found("One; two; three.\nFour; five.\n"), [0, 0, 1, 0, 0, 0]);
        // Items and paragraphs end sentences, and a name in backticks begins one.
        let half = "word ".repeat(LONG / 2 + 1);
        assert_eq!(found(&format!("{half}\n- {half}\n\n{half}. `Name` {half}\n")), [0; 6]);
    }

    #[test]
    fn idioms_are_measured() {
        assert_eq!(found("Nothing is\nmade anew in a folder.\nThe folder `folder`.\n"), [0, 0, 0, 0, 2, 0]);
        assert_eq!(found("so many\nso much, many\n"), [0, 0, 0, 0, 1, 0]);
        let source = [(PathBuf::from("crates/a/src/a.rs"), "// of ours\nlet folder = 1;\n".to_owned())];
        assert_eq!(measure(&[], &source).last().map(Measure::found), Some(1));
    }

    #[test]
    fn except_is_not_but() {
        for (line, want) in [
            ("All but one.", true),
            ("Nothing is printed but candidates.", true),
            ("The row is there, but with another name.", true),
            ("All is there. It is slow, but it works.", false),
            ("It is slow, but it works.", false),
        ] {
            assert_eq!(has_but(line), want, "{line}");
        }
    }
}
