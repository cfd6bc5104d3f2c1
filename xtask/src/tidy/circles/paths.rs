//! Paths in Rust code that lead to modules of the same crate.

use super::ModulePath;
use super::tokens::Token;

/// Path in the code of a module, split into the module where it begins and the names that follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Module whose code contains the path.
    pub module: ModulePath,
    /// Module where the path in the code begins.
    pub base: ModulePath,
    /// Names of the path after the module where it begins.
    pub names: Vec<String>,
    /// `true` if the path begins with a name, which may be that of another crate.
    pub is_relative: bool,
    /// Name under which the module imports the target, if the path is an import.
    pub imported_as: Option<String>,
}

/// Returns the paths in the code of a module: imports, and paths that begin with `crate`, `self` or `super`.
pub fn references(module: &ModulePath, code: &[Token<'_>]) -> Vec<Reference> {
    let mut walk = Walk { module, code, at: 0, inline: Vec::new(), depth: 0, found: Vec::new() };
    walk.all();
    walk.found
}

struct Walk<'c, 'a> {
    module: &'c ModulePath,
    code: &'c [Token<'a>],
    at: usize,
    /// Names and depths of the inline modules around the current position in the code.
    inline: Vec<(&'a str, usize)>,
    depth: usize,
    found: Vec<Reference>,
}

impl<'a> Walk<'_, 'a> {
    fn token(&self, ahead: usize) -> Option<Token<'a>> {
        self.code.get(self.at + ahead).copied()
    }

    fn all(&mut self) {
        while let Some(token) = self.token(0) {
            let is_start = self.at == 0 || self.code.get(self.at - 1) != Some(&Token::PathSeparator);
            match token {
                Token::Sign('{') => self.depth += 1,
                Token::Sign('}') => {
                    self.depth = self.depth.saturating_sub(1);
                    self.inline.retain(|(_, depth)| *depth <= self.depth);
                }
                Token::Word("mod") => {
                    if let (Some(Token::Word(name)), Some(Token::Sign('{'))) = (self.token(1), self.token(2))
                    {
                        self.inline.push((name, self.depth + 1));
                    }
                }
                Token::Word("use") => {
                    self.at += 1;
                    self.tree(&Vec::new());
                    continue;
                }
                Token::Word("crate" | "self" | "super")
                    if is_start && self.token(1) == Some(Token::PathSeparator) =>
                {
                    let mut names = Vec::new();
                    while let Some(Token::Word(name)) = self.token(0) {
                        names.push(name);
                        self.at += 1;
                        if self.token(0) != Some(Token::PathSeparator) {
                            break;
                        }
                        self.at += 1;
                    }
                    self.add(&names, None);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads a tree of a `use` declaration that follows the names in `before`.
    fn tree(&mut self, before: &[&'a str]) {
        let mut names = before.to_vec();
        loop {
            match self.token(0) {
                Some(Token::Word("as")) => {
                    let alias = match self.token(1) {
                        Some(Token::Word(alias)) => alias,
                        _ => "_",
                    };
                    self.at += 2;
                    return self.add(&names, Some(alias));
                }
                Some(Token::Word(name)) => {
                    names.push(name);
                    self.at += 1;
                }
                Some(Token::PathSeparator) => self.at += 1,
                Some(Token::Sign('{')) => {
                    self.at += 1;
                    while self.token(0).is_some_and(|token| token != Token::Sign('}')) {
                        self.tree(&names);
                        if self.token(0) == Some(Token::Sign(',')) {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                Some(Token::Sign('*')) => {
                    self.at += 1;
                    return self.add(&names, None);
                }
                _ => break,
            }
        }
        // `use a::{self}` imports `a` itself.
        let is_self = names.len() > 1 && names.last() == Some(&"self");
        if is_self {
            names.pop();
        }
        if names.len() > before.len() || is_self {
            let last = names.last().copied();
            self.add(&names, last);
        } else {
            self.at += 1; // no tree: `use<'a>` of a type
        }
    }

    fn add(&mut self, names: &[&str], imported_as: Option<&str>) {
        let mut here = self.module.clone();
        here.extend(self.inline.iter().map(|(name, _)| (*name).to_owned()));
        let mut base = here.clone();
        let mut rest = names.iter().peekable();
        let is_relative = !matches!(names.first(), Some(&("crate" | "self" | "super")));
        while let Some(name) = rest.next_if(|name| matches!(**name, "crate" | "self" | "super")) {
            match *name {
                "crate" => base.clear(),
                "super" => drop(base.pop()),
                _ => {}
            }
        }
        let names = rest.map(|name| (*name).to_owned()).collect();
        self.found.push(Reference {
            module: if self.inline.is_empty() { here } else { self.module.clone() },
            base,
            names,
            is_relative,
            // What a module inside of the file imports is not in the file's own module.
            imported_as: imported_as.filter(|_| self.inline.is_empty()).map(str::to_owned),
        });
    }
}
