//! Tokens of Rust code, as far as paths need them: words and signs, without comments, texts and code for tests.

/// Token of Rust source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// Token that is a name or keyword of Rust.
    Word(&'a str),
    /// Token that separates the parts of a Rust path, `::`.
    PathSeparator,
    /// Sign of Rust code other than `::`, as a single character.
    Sign(char),
}

/// Returns the tokens of a Rust file, without comments, texts and lifetimes.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(end) = skipped(rest) {
            rest = rest.get(end..).unwrap_or_default();
            continue;
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let len = if is_part(first) {
            let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            found.push(Token::Word(rest.get(..len).unwrap_or_default()));
            len
        } else if rest.starts_with("::") {
            found.push(Token::PathSeparator);
            2
        } else {
            if !first.is_whitespace() {
                found.push(Token::Sign(first));
            }
            first.len_utf8()
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    found
}

/// Returns the length of a comment, text, character or lifetime at the start of Rust code; `None` if there is none.
fn skipped(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |at| at + 2));
    }
    for prefix in ["r", "br", "cr"] {
        let hashes = rest.strip_prefix(prefix).map(|rest| rest.bytes().take_while(|b| *b == b'#').count());
        if let Some(hashes) = hashes.filter(|n| rest.as_bytes().get(prefix.len() + n) == Some(&b'"')) {
            let begin = prefix.len() + hashes + 1;
            let end = format!("\"{}", "#".repeat(hashes));
            return Some(rest.get(begin..)?.find(&end).map_or(rest.len(), |at| begin + at + end.len()));
        }
    }
    let quoted = ["\"", "b\"", "c\""].into_iter().find(|quote| rest.starts_with(quote));
    if let Some(quote) = quoted {
        return Some(closed(rest, quote.len(), '"'));
    }
    let quote = ["'", "b'"].into_iter().find(|quote| rest.starts_with(quote))?;
    let mut inside = rest.get(quote.len()..)?.chars();
    match (inside.next()?, inside.next()) {
        ('\\', _) => Some(closed(rest, quote.len(), '\'')),
        (c, Some('\'')) => Some(quote.len() + c.len_utf8() + 1),
        _ => Some(
            rest.get(1..)?.find(|c: char| !c.is_alphanumeric() && c != '_').map_or(rest.len(), |n| n + 1),
        ),
    }
}

/// Returns the length of a text in Rust code up to the closing quote, which no backslash escapes.
fn closed(text: &str, begin: usize, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().filter(|(at, _)| *at >= begin) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Removes the items from tokens of Rust code that are compiled only for tests. Also returns the names of the modules
/// among them.
pub fn without_tests<'a>(tokens: &[Token<'a>]) -> (Vec<Token<'a>>, Vec<&'a str>) {
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match attribute(tokens, at) {
            Some((end, true)) => {
                let (end, module) = item(tokens, end);
                modules.extend(module);
                at = end;
            }
            Some((end, false)) => at = end,
            None => {
                kept.push(*token);
                at += 1;
            }
        }
    }
    (kept, modules)
}

/// Returns the end of the attribute at a token, and `true` if it makes the item one for tests only.
fn attribute(tokens: &[Token<'_>], at: usize) -> Option<(usize, bool)> {
    if tokens.get(at..at + 2)? != [Token::Sign('#'), Token::Sign('[')] {
        return None;
    }
    let end = end_of_group(tokens, at + 1);
    let words = tokens.get(at..end)?;
    let has = |word| words.contains(&Token::Word(word));
    Some((end, has("cfg") && has("test") && !has("not") && !has("any")))
}

/// Returns the end of the item at a token, after its other attributes, and its name if it is a module.
fn item<'a>(tokens: &[Token<'a>], mut at: usize) -> (usize, Option<&'a str>) {
    while let Some((end, _)) = attribute(tokens, at) {
        at = end;
    }
    let mut module = None;
    let mut is_use = false;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Word("use") => is_use = true,
            Token::Word("mod") => {
                module = tokens.get(at + 1).and_then(|name| match name {
                    Token::Word(name) => Some(*name),
                    _ => None,
                });
            }
            Token::Sign(';') => return (at + 1, module),
            Token::Sign('{') if !is_use => return (end_of_group(tokens, at), module),
            Token::Sign('(' | '[' | '{') => {
                at = end_of_group(tokens, at);
                continue;
            }
            // The end of what the item is in: it was a field or an arm.
            Token::Sign('}' | ')' | ']') => return (at, module),
            _ => {}
        }
        at += 1;
    }
    (at, module)
}

/// Returns the position behind the group of tokens that opens at a position.
fn end_of_group(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (end, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return end + 1;
        }
    }
    tokens.len()
}
