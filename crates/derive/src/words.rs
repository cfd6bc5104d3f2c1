//! Parses the attributes of the derive macro.

use perfset_core::Guid;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, ExprUnary, Lit, LitInt, LitStr, Meta, Path, UnOp};

/// Parsed keywords of `#[counterset(…)]`.
#[derive(Default)]
pub struct SetWords {
    pub root: Option<Path>,
    pub provider: Option<LitStr>,
    pub provider_guid: Option<LitStr>,
    pub name: Option<LitStr>,
    pub guid: Option<LitStr>,
    pub instances: Option<LitStr>,
    pub stripes: Option<LitInt>,
}

impl SetWords {
    pub fn parse(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut words = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("counterset")) {
            attribute.parse_nested_meta(|word| {
                if word.path.is_ident("crate") {
                    words.root = Some(word.value()?.parse()?);
                    return Ok(());
                }
                let Some(name) = word.path.get_ident().map(ToString::to_string) else {
                    return Err(word.error("a word is expected"));
                };
                match name.as_str() {
                    "provider" => text(&word, &mut words.provider),
                    "provider_guid" => text(&word, &mut words.provider_guid),
                    "name" => text(&word, &mut words.name),
                    "guid" => text(&word, &mut words.guid),
                    "instances" => text(&word, &mut words.instances),
                    "stripes" => {
                        words.stripes = Some(word.value()?.parse()?);
                        Ok(())
                    }
                    _ => Err(word.error(
                        "not a word of #[counterset(…)]: provider, provider_guid, name, guid, instances, stripes and \
                         crate are",
                    )),
                }
            })?;
        }
        Ok(words)
    }
}

/// Parsed keywords of `#[counter(…)]`.
#[derive(Default)]
pub struct CounterWords {
    pub name: Option<LitStr>,
    pub id: Option<LitInt>,
    pub counter_type: Option<LitStr>,
    pub scale: Option<(i32, proc_macro2::Span)>,
    pub detail: Option<LitStr>,
    pub aggregate: Option<LitStr>,
    pub attributes: Option<LitStr>,
    pub unit: Option<LitStr>,
    pub base: Option<LitInt>,
    pub perf_time: Option<LitInt>,
    pub perf_freq: Option<LitInt>,
    pub multi: Option<LitInt>,
}

impl CounterWords {
    pub fn parse(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut words = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("counter")) {
            attribute.parse_nested_meta(|word| {
                let number = |word: &ParseNestedMeta<'_>, to: &mut Option<LitInt>| {
                    *to = Some(word.value()?.parse()?);
                    Ok(())
                };
                // A string, not an identifier: `type` is a keyword of Rust.
                let name = word.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match name.as_str() {
                    "name" => text(&word, &mut words.name),
                    "type" => text(&word, &mut words.counter_type),
                    "detail" => text(&word, &mut words.detail),
                    "aggregate" => text(&word, &mut words.aggregate),
                    "attributes" => text(&word, &mut words.attributes),
                    "unit" => text(&word, &mut words.unit),
                    "id" => number(&word, &mut words.id),
                    "base_id" => number(&word, &mut words.base),
                    "perf_time_id" => number(&word, &mut words.perf_time),
                    "perf_freq_id" => number(&word, &mut words.perf_freq),
                    "multi_counter_id" => number(&word, &mut words.multi),
                    "scale" => {
                        let expression: Expr = word.value()?.parse()?;
                        words.scale = Some((whole(&expression)?, expression.span()));
                        Ok(())
                    }
                    _ => Err(word.error(
                        "not a word of #[counter(…)]: name, id, type, scale, detail, aggregate, attributes, unit, \
                         base_id, perf_time_id, perf_freq_id and multi_counter_id are",
                    )),
                }
            })?;
        }
        Ok(words)
    }
}

fn text(word: &ParseNestedMeta<'_>, to: &mut Option<LitStr>) -> Result<(), Error> {
    *to = Some(word.value()?.parse()?);
    Ok(())
}

/// Parses an integer of an attribute, possibly negative.
fn whole(expression: &Expr) -> Result<i32, Error> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => whole(expr).map(i32::saturating_neg),
        _ => Err(Error::new(expression.span(), "a whole number is expected")),
    }
}

/// Joins the doc comments of an item to a help text; lines of a paragraph are joined by blanks.
pub fn help(attributes: &[Attribute]) -> String {
    let mut help = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(value) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &value.value else { continue };
        let line = line.value();
        match line.trim() {
            "" if !help.is_empty() => help.push('\n'),
            "" => {}
            line => {
                if !help.is_empty() && !help.ends_with('\n') {
                    help.push(' ');
                }
                help.push_str(line);
            }
        }
    }
    help.trim_end().to_owned()
}

/// Returns the GUID that an attribute gives, or the GUID of version 5 that is computed from this name.
pub fn guid(said: Option<&LitStr>, namespace: Guid, name: &str) -> Result<Guid, Error> {
    match said {
        Some(text) => text.value().parse().map_err(|error| Error::new(text.span(), error)),
        None => {
            let namespace = uuid::Uuid::from_u128(namespace.to_u128());
            Ok(Guid::from_u128(uuid::Uuid::new_v5(&namespace, name.as_bytes()).as_u128()))
        }
    }
}
