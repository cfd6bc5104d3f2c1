//! `cargo xtask api`: a text of the public items of each published library, and a rule that its changes are described.
//!
//! The texts are in `docs/api`. They list what the source declares `pub`, without bodies. An item of a private module
//! is listed if a `pub use` of the crate names it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use quote::ToTokens;
use syn::{Attribute, ImplItem, Item, TraitItem, Visibility};

use crate::repository::{Package, root};

/// Directory of the files that list the public items of each library.
const DIRECTORY: &str = "docs/api";
/// Beginning of the changelog line with the checksum of the lists of public items.
const LINE: &str = "<!-- Checksum of docs/api: ";

/// Write the public items of each published library into docs/api
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, and fail if a text is outdated or its change is not in CHANGELOG.md
    #[arg(long)]
    check: bool,
}

/// Writes or checks the lists of public items.
pub fn run(args: &Args) -> Result<()> {
    let directory = root().join(DIRECTORY);
    fs::create_dir_all(&directory)?;
    let mut outdated = Vec::new();
    let mut checksum = Checksum::default();
    for package in Package::published()? {
        let sources = package.directory().join("src");
        // The library of a command is for its tests.
        if !sources.join("lib.rs").exists() || sources.join("main.rs").exists() {
            continue;
        }
        let mut found = Vec::new();
        module(&sources, "lib", true, &mut found)?;
        let text = visible(found);
        checksum.add(&text);
        let file = directory.join(format!("{}.txt", package.name));
        if fs::read_to_string(&file).unwrap_or_default() != text {
            outdated.push(package.name);
            if !args.check {
                fs::write(file, text)?;
            }
        }
    }
    let wanted = format!("{LINE}{:016x} -->", checksum.0);
    let changelog = fs::read_to_string(root().join("CHANGELOG.md"))?;
    let is_described = changelog.lines().any(|line| line == wanted);
    if args.check {
        ensure!(outdated.is_empty(), "outdated: {}; run cargo xtask api", outdated.join(", "));
    }
    let what =
        format!("the public API changed: describe the change in CHANGELOG.md, and write there {wanted}");
    ensure!(is_described || !args.check, "{what}");
    if !is_described {
        println!("{what}");
    }
    Ok(())
}

/// FNV-1a checksum of the lists of public items.
struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Checksum {
    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

/// Public declaration of an item in a library.
#[derive(Debug)]
struct Declaration {
    text: String,
    /// Names that decide if users can reach the item: its own name, that of its type, or the words of a `use`.
    names: Vec<String>,
    is_use: bool,
    is_member: bool,
    /// `true` if all modules around the public declaration are public.
    is_open: bool,
}

/// Returns the text of the public declarations that users of the crate can name.
fn visible(found: Vec<Declaration>) -> String {
    let used: BTreeSet<&String> =
        found.iter().filter(|found| found.is_use).flat_map(|found| &found.names).collect();
    let is_item = |found: &&Declaration| !found.is_use && !found.is_member;
    let is_named = |found: &Declaration| found.is_open || found.names.iter().any(|name| used.contains(name));
    let items: BTreeSet<&String> =
        found.iter().filter(is_item).filter(|found| is_named(found)).flat_map(|found| &found.names).collect();
    let is_visible = |found: &&Declaration| match (found.is_use, found.is_member) {
        (true, _) => found.is_open,
        (_, true) => found.names.iter().any(|name| items.contains(name)),
        _ => is_named(found),
    };
    found.iter().filter(is_visible).map(|found| found.text.clone()).collect()
}

/// Appends the public items of a library's module, and of the modules below it.
fn module(directory: &Path, name: &str, is_open: bool, found: &mut Vec<Declaration>) -> Result<()> {
    let files = [directory.join(format!("{name}.rs")), directory.join(name).join("mod.rs")];
    let Some(file) = files.iter().find(|file| file.exists()) else { return Ok(()) };
    let text = fs::read_to_string(file)?;
    let parsed = syn::parse_file(&text).with_context(|| format!("cannot parse {}", file.display()))?;
    let below: PathBuf = if name == "lib" { directory.to_owned() } else { directory.join(name) };
    let path = if name == "lib" { String::new() } else { module_path(&below) };
    items(&parsed.items, &path, &below, is_open, found)
}

/// Returns the path of a Rust module from its directory, such as `read::`.
fn module_path(directory: &Path) -> String {
    let parts = directory.iter().map(|part| part.to_string_lossy());
    let parts: Vec<_> = parts.skip_while(|part| part != "src").skip(1).collect();
    format!("{}::", parts.join("::"))
}

fn items(
    all: &[Item],
    path: &str,
    directory: &Path,
    is_open: bool,
    found: &mut Vec<Declaration>,
) -> Result<()> {
    for item in all {
        match item {
            Item::Mod(item) if is_test(&item.attrs) => {}
            Item::Mod(item) => {
                let name = item.ident.to_string();
                let is_open = is_open && is_public(&item.vis);
                match &item.content {
                    Some((_, content)) => {
                        items(content, &format!("{path}{name}::"), directory, is_open, found)?
                    }
                    None => module(directory, &name, is_open, found)?,
                }
            }
            item => {
                let (names, is_use, is_member) = names(item);
                found.extend(declarations(item).into_iter().map(|text| Declaration {
                    text: format!("{}\n", plain(&format!("{path} {text}")).trim()),
                    names: names.clone(),
                    is_use,
                    is_member,
                    is_open,
                }));
            }
        }
    }
    Ok(())
}

/// Returns the source text of tokens without the blanks between them that programmers do not write.
fn plain(tokens: &str) -> String {
    let written = [
        (" :: ", "::"),
        (" ,", ","),
        (" :", ":"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" < ", "<"),
        (" > ", "> "),
        (" >", ">"),
        ("& ", "&"),
        ("# [", "#["),
        ("  ", " "),
        (" ;", ";"),
        ("> (", ">("),
        ("fn(", "fn ("),
    ];
    written.iter().fold(tokens.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Returns the names of an item, `true` if it is a `use`, and `true` if it has members of another item.
fn names(item: &Item) -> (Vec<String>, bool, bool) {
    let words = |text: String| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned);
        words.filter(|word| !word.is_empty()).collect()
    };
    match item {
        Item::Use(item) => (words(item.tree.to_token_stream().to_string()), true, false),
        Item::Impl(item) => {
            let of = words(item.self_ty.to_token_stream().to_string());
            (of.into_iter().next().into_iter().collect(), false, true)
        }
        Item::Const(item) => (vec![item.ident.to_string()], false, false),
        Item::Enum(item) => (vec![item.ident.to_string()], false, false),
        Item::Fn(item) => (vec![item.sig.ident.to_string()], false, false),
        Item::Static(item) => (vec![item.ident.to_string()], false, false),
        Item::Struct(item) => (vec![item.ident.to_string()], false, false),
        Item::Trait(item) => (vec![item.ident.to_string()], false, false),
        Item::Type(item) => (vec![item.ident.to_string()], false, false),
        _ => (Vec::new(), false, false),
    }
}

/// Returns the public declarations of an item, each on a separate line.
fn declarations(item: &Item) -> Vec<String> {
    let text = |item: &dyn ToTokens| item.to_token_stream().to_string();
    match item.clone() {
        Item::Const(mut item) if is_public(&item.vis) => {
            item.attrs.clear();
            vec![format!("pub const {} : {}", item.ident, text(&item.ty))]
        }
        Item::Enum(mut item) if is_public(&item.vis) => {
            keep_contract(&mut item.attrs);
            for variant in &mut item.variants {
                keep_contract(&mut variant.attrs);
                variant.fields.iter_mut().for_each(|field| field.attrs.clear());
            }
            vec![text(&item)]
        }
        Item::Fn(item) if is_public(&item.vis) => vec![format!("pub {}", text(&item.sig))],
        Item::Impl(item) => {
            let generics = text(&item.generics);
            let of = text(&item.self_ty);
            if let Some((_, name, _)) = &item.trait_ {
                return vec![format!("impl {generics} {} for {of}", text(name))];
            }
            let public = item.items.iter().filter_map(|member| match member {
                ImplItem::Const(item) if is_public(&item.vis) => {
                    Some(format!("const {} : {}", item.ident, text(&item.ty)))
                }
                ImplItem::Fn(item) if is_public(&item.vis) => Some(text(&item.sig)),
                _ => None,
            });
            public.map(|line| format!("impl {generics} {of} : pub {line}")).collect()
        }
        Item::Static(item) if is_public(&item.vis) => {
            vec![format!("pub static {} : {}", item.ident, text(&item.ty))]
        }
        Item::Struct(mut item) if is_public(&item.vis) => {
            keep_contract(&mut item.attrs);
            let fields = item.fields.iter().filter(|field| is_public(&field.vis));
            let name = |field: &syn::Field| field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            let fields: Vec<_> =
                fields.map(|field| format!("{} : {}", name(field), text(&field.ty))).collect();
            let attributes: String = item.attrs.iter().map(|attribute| text(attribute) + " ").collect();
            let generics = text(&item.generics);
            vec![format!("{attributes}pub struct {} {generics} {{ {} }}", item.ident, fields.join(" , "))]
        }
        Item::Trait(item) if is_public(&item.vis) => {
            let mut lines = vec![format!("pub trait {} : {}", item.ident, text(&item.supertraits))];
            lines.extend(item.items.iter().filter_map(|member| match member {
                TraitItem::Fn(member) => {
                    let provided = if member.default.is_some() { " { provided }" } else { "" };
                    Some(format!("trait {} : {}{provided}", item.ident, text(&member.sig)))
                }
                TraitItem::Type(member) => Some(format!("trait {} : type {}", item.ident, member.ident)),
                _ => None,
            }));
            lines
        }
        Item::Type(item) if is_public(&item.vis) => {
            vec![format!("pub type {} = {}", item.ident, text(&item.ty))]
        }
        Item::Use(mut item) if is_public(&item.vis) => {
            item.attrs.clear();
            vec![text(&item)]
        }
        _ => Vec::new(),
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.to_token_stream().to_string() == "# [cfg (test)]")
}

/// Removes the attributes of an item on which its callers do not depend.
fn keep_contract(attributes: &mut Vec<Attribute>) {
    attributes.retain(|attribute| {
        ["derive", "non_exhaustive", "repr"].iter().any(|name| attribute.path().is_ident(name))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_declarations() {
        let declared = |source: &str| -> Vec<String> {
            let file = syn::parse_file(source).unwrap();
            file.items.iter().flat_map(declarations).map(|line| line.split_whitespace().collect()).collect()
        };
        for (source, want) in [
            ("/// A.\npub fn a(b: u8) -> u8 { b }", vec!["pubfna(b:u8)->u8"]),
            ("fn a() {} pub(crate) fn b() {}", vec![]),
            ("#[derive(Debug)] pub struct A { pub b: u8, c: u8 }", vec!["#[derive(Debug)]pubstructA{b:u8}"]),
            ("impl A { pub fn b(&self) {} fn c() {} }", vec!["implA:pubfnb(&self)"]),
            ("impl Copy for A {}", vec!["implCopyforA"]),
            (
                "pub trait A { fn b(); fn c() {} }",
                vec!["pubtraitA:", "traitA:fnb()", "traitA:fnc(){provided}"],
            ),
            ("pub use a::{B, c};", vec!["pubusea::{B,c};"]),
            ("pub const A: u8 = 1;", vec!["pubconstA:u8"]),
        ] {
            assert_eq!(declared(source), want, "{source}");
        }
    }
}
