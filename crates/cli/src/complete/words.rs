//! Words of a command line by the quoting rules of shells: quotes, and characters after a backslash.

use super::Candidate;

/// Kind of quote that surrounds the end of a word on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    None,
    Single,
    Double,
}

/// Word of a command line that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedWord {
    /// Text of the typed word, without the shell's quotes.
    pub text: String,
    /// Shell quote that is still open at the end of the typed word.
    pub quote: Quote,
    /// Number of bytes of the typed text before the open quote. Bash keeps them and replaces the rest.
    pub kept: usize,
    /// `true` if bash can replace the typed word, or its text behind the open quote: no other quote or separator is
    /// in it.
    pub is_replaceable: bool,
}

/// Characters at which bash's line editor begins a word, if they are not quoted.
const BREAKS: [char; 9] = ['"', '\'', '>', '<', '=', ';', '|', '(', ':'];

impl TypedWord {
    /// Parses a word of a command line by the rules of POSIX shells.
    pub fn of_shell(raw: &str) -> Self {
        let mut word = Self { text: String::new(), quote: Quote::None, kept: 0, is_replaceable: true };
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            match (word.quote, c) {
                (Quote::None, '\\') => word.text.extend(chars.next()),
                (Quote::None, '\'' | '"') => {
                    word.quote = if c == '"' { Quote::Double } else { Quote::Single };
                    (word.kept, word.is_replaceable) = (word.text.len(), true);
                }
                (Quote::Single, '\'') | (Quote::Double, '"') => {
                    word.quote = Quote::None;
                    (word.kept, word.is_replaceable) = (0, false);
                }
                (Quote::Double, '\\') => {
                    let special = |c: &char| matches!(c, '$' | '`' | '"' | '\\');
                    word.text.push(chars.next_if(special).unwrap_or('\\'));
                }
                (Quote::None, c) => {
                    word.is_replaceable &= !BREAKS.contains(&c);
                    word.text.push(c);
                }
                (_, c) => word.text.push(c),
            }
        }
        word
    }

    /// Parses a word by the rules of fish: in quotes, a backslash escapes a quote or a backslash.
    pub fn of_fish(raw: &str) -> Self {
        let mut word = Self { text: String::new(), quote: Quote::None, kept: 0, is_replaceable: true };
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            match (word.quote, c) {
                (Quote::None, '\\') => word.text.extend(chars.next()),
                (Quote::None, '\'') => word.quote = Quote::Single,
                (Quote::None, '"') => word.quote = Quote::Double,
                (Quote::Single, '\'') | (Quote::Double, '"') => word.quote = Quote::None,
                (quote @ (Quote::Single | Quote::Double), '\\') => {
                    let end = if quote == Quote::Single { '\'' } else { '"' };
                    let special = |c: &char| *c == '\\' || *c == end || quote == Quote::Double && *c == '$';
                    word.text.push(chars.next_if(special).unwrap_or('\\'));
                }
                (_, c) => word.text.push(c),
            }
        }
        word
    }
}

/// Returns completion candidates as bash inserts them in place of the typed word, or of its text behind the open
/// quote. Returns none if they cannot be inserted there.
pub fn quoted_for_bash(candidates: &[Candidate], typed: &TypedWord) -> Vec<String> {
    if !typed.is_replaceable {
        return Vec::new();
    }
    // All of them begin alike, or bash finds no beginning that they share. Without a beginning, it looks for none.
    let must_quote =
        !typed.text.is_empty() && candidates.iter().any(|candidate| !candidate.text.chars().all(is_plain));
    let kept = typed.text.get(..typed.kept).unwrap_or_default();
    let rest = candidates.iter().filter_map(|one| Some((one.text.strip_prefix(kept)?, one.is_partial)));
    let quoted = |(text, is_partial): (&str, bool)| match typed.quote {
        Quote::Single => text.replace('\'', r"'\''"),
        Quote::Double => in_double_quotes(text, is_partial),
        Quote::None if !must_quote && text.chars().all(is_plain) => text.to_owned(),
        // The quote that a partial word begins stays open.
        Quote::None => {
            let end = if is_partial { "" } else { "'" };
            format!("'{}{end}", text.replace('\'', r"'\''"))
        }
    };
    rest.map(quoted).collect()
}

/// Returns `true` for a character that no shell treats specially.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ',' | '/' | '+' | '@' | '%')
}

/// Returns a text with the escapes that it needs between double quotes of a shell. A part of a text is not followed
/// by the closing quote.
fn in_double_quotes(text: &str, is_partial: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next_is_special = match chars.peek() {
            Some(c) => matches!(c, '$' | '`' | '"' | '\\'),
            None => !is_partial,
        };
        if matches!(c, '$' | '`' | '"') || c == '\\' && next_is_special {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, quote: Quote, kept: usize, is_replaceable: bool) -> TypedWord {
        TypedWord { text: text.to_owned(), quote, kept, is_replaceable }
    }

    #[test]
    fn words_of_posix_shells() {
        for (raw, text, quote, kept, is_replaceable) in [
            ("", "", Quote::None, 0, true),
            ("cpu", "cpu", Quote::None, 0, true),
            (r"\\Mem", r"\Mem", Quote::None, 0, true),
            (r"/Process\ V2", "/Process V2", Quote::None, 0, true),
            (r"/Process\(yes", "/Process(yes", Quote::None, 0, true),
            ("/Process(yes", "/Process(yes", Quote::None, 0, false),
            ("--log=x", "--log=x", Quote::None, 0, false),
            (r"'\Processor Inf", r"\Processor Inf", Quote::Single, 0, true),
            (r#"'a"b\"#, r#"a"b\"#, Quote::Single, 0, true),
            (r"'\A'", r"\A", Quote::None, 0, false),
            (r"'\A'b", r"\Ab", Quote::None, 0, false),
            (r"'it'\''s", "it's", Quote::Single, 3, true),
            (r#""\Processor(*)\% "#, r"\Processor(*)\% ", Quote::Double, 0, true),
            (r#""a\"b\$c\`d\\e\f"#, r#"a"b$c`d\e\f"#, Quote::Double, 0, true),
            (r#"a(é"b"#, "a(éb", Quote::Double, 4, true),
            (r"\", "", Quote::None, 0, true),
            (r#""\"#, r"\", Quote::Double, 0, true),
            ("'é中", "é中", Quote::Single, 0, true),
        ] {
            assert_eq!(TypedWord::of_shell(raw), typed(text, quote, kept, is_replaceable), "{raw}");
        }
    }

    #[test]
    fn words_of_fish() {
        for (raw, text, quote) in [
            ("cpu", "cpu", Quote::None),
            (r"\\Mem", r"\Mem", Quote::None),
            (r"'\Processor Inf", r"\Processor Inf", Quote::Single),
            (r"'\\Processor Inf", r"\Processor Inf", Quote::Single),
            (r"'it\'s", "it's", Quote::Single),
            (r#""\$a\"b\n"#, r#"$a"b\n"#, Quote::Double),
            (r"'a'b", "ab", Quote::None),
            (r"\", "", Quote::None),
        ] {
            assert_eq!(TypedWord::of_fish(raw), typed(text, quote, 0, true), "{raw}");
        }
    }

    /// Checks that words which bash inserts are parsed as the candidates again, whatever characters they contain.
    #[test]
    fn inserted_words_mean_their_candidates() {
        for text in [
            "get",
            "--above",
            r"\Process V2(*)\% Processor Time",
            r"/Processor(0,0)/% Idle Time",
            r"\A(it's $HOME `id` \ \\ x)\B\",
            r#"\A("b\")\C"#,
            "$(touch x)",
            "é中 ",
        ] {
            for is_partial in [false, true] {
                let candidate = Candidate { text: text.to_owned(), is_partial, ..Candidate::default() };
                for (start, end) in [("", ""), ("'", "'"), ("\"", "\"")] {
                    let inserted =
                        quoted_for_bash(std::slice::from_ref(&candidate), &TypedWord::of_shell(start));
                    let whole = match is_partial {
                        true => format!("{start}{}", inserted[0]),
                        false => format!("{start}{}{end}", inserted[0]),
                    };
                    let read = TypedWord::of_shell(&whole);
                    assert_eq!(read.text, text, "{whole}");
                    assert!(is_partial || read.quote == Quote::None, "{whole}");
                }
            }
        }
    }

    #[test]
    fn words_that_bash_inserts() {
        let path = |text: &str| Candidate::new(text, "");
        for (raw, candidates, want) in [
            ("", &["a b", "cpu"][..], &["'a b'", "cpu"][..]),
            ("cp", &["cpu"], &["cpu"]),
            // Bash inserts what they share, so all have the quote.
            ("/M", &["/M/A b", "/M/c"], &["'/M/A b'", "'/M/c'"]),
            ("/M", &["/M/c"], &["/M/c"]),
            // Of a word with a quote in it, the text behind the last quote is replaced.
            (r"'it'\''s", &["it's me"], &["s me"]),
            (r"'it'\''s", &["IT'S me"], &[]),
            ("'a'b", &["ab c"], &[]),
            ("x=a", &["x=a b"], &[]),
        ] {
            let candidates: Vec<_> = candidates.iter().map(|text| path(text)).collect();
            assert_eq!(quoted_for_bash(&candidates, &TypedWord::of_shell(raw)), want, "{raw}");
        }
    }

    /// Checks that no word makes the parsers of shell words panic, and that no prefix has more text than its word.
    #[test]
    fn every_prefix_is_read() {
        let raw = r#"a\ 'b\"c'"\$d\e`\\"\'f$(x)é"#;
        for (at, _) in raw.char_indices() {
            assert!(TypedWord::of_shell(&raw[..at]).text.len() <= at);
            assert!(TypedWord::of_fish(&raw[..at]).text.len() <= at);
        }
    }
}
