//! Generates the code of `#[derive(Counterset)]`.

use perfset_core::{Attributes, CounterType, Guid};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Data, DeriveInput, Error, Field, Fields, LitInt, LitStr, parse_quote};

use crate::words::{CounterWords, SetWords, guid, help};

/// Namespace of all GUIDs that are computed from names: `catalog/namespace.toml`.
const NAMESPACE: Guid = Guid::from_u128(0x2fc4282c_29b6_4c65_910d_118bc1587ebd);

/// Maximum number of UTF-16 units of a counter's or counterset's name.
const NAME_UNITS: usize = 1023;

pub fn expand(input: &DeriveInput) -> Result<TokenStream, Error> {
    let words = SetWords::parse(&input.attrs)?;
    // The keyword `crate` is for programs that use the library under another name.
    let root = words.root.clone().unwrap_or_else(|| parse_quote!(::perfset));
    let publish = quote!(#root::publish);
    let at_struct = input.ident.span();
    let required = |word: &Option<LitStr>, name: &str| match word {
        Some(text) if text.value().is_empty() => Err(Error::new(text.span(), format!("`{name}` is empty"))),
        Some(text) if text.value().encode_utf16().count() > NAME_UNITS => {
            Err(Error::new(text.span(), format!("`{name}` has more than {NAME_UNITS} UTF-16 units")))
        }
        Some(text) => Ok(text.value()),
        None => Err(Error::new(at_struct, format!("#[counterset({name} = \"…\")] is missing"))),
    };
    let provider = required(&words.provider, "provider")?;
    let name = required(&words.name, "name")?;
    // GUIDs are computed from names, so that two builds of a program publish the same counterset.
    let provider_guid = guid(words.provider_guid.as_ref(), NAMESPACE, &provider)?;
    let set_guid = guid(words.guid.as_ref(), provider_guid, &name)?;
    let (instance_type, is_aggregate) = instance_type(words.instances.as_ref())?;
    let stripes = match &words.stripes {
        None => 0,
        Some(number) => match number.base10_parse::<usize>()? {
            stripes @ 0..=64 => stripes,
            _ => return Err(Error::new(number.span(), "there can be 0 to 64 stripes")),
        },
    };
    let fields = named_fields(input)?;
    // A generic struct would give several types one GUID.
    if !input.generics.params.is_empty() {
        return Err(Error::new(at_struct, "a counterset is one type: it has no parameters"));
    }
    let counters = counters(fields, is_aggregate)?;
    let set_help = help(&input.attrs);
    let struct_name = &input.ident;
    let (set_guid, provider_guid) = (set_guid.to_u128(), provider_guid.to_u128());
    let described = counters.iter().map(|counter| counter.described(&publish));
    let checks = counters.iter().filter_map(|counter| counter.check(&publish));
    let attached = counters.iter().map(|counter| {
        let Counter { field, .. } = counter;
        let (ident, kind) = (&field.ident, &field.ty);
        quote!(#ident: <#kind as #publish::CounterField>::attach(cells))
    });
    // The unnamed constant has a scope of its own, so that no generated item clashes with one of the caller.
    Ok(quote! {
        const _: () = {
            #(#checks)*

            impl #struct_name {
                /// The GUID of the counterset.
                pub const GUID: #publish::__private::Guid = #publish::__private::Guid::from_u128(#set_guid);
            }

            #[automatically_derived]
            impl #publish::Counterset for #struct_name {
                fn definition() -> &'static #publish::Definition {
                    // Without a lock, which a forked process might wait for.
                    static DEFINITION: #publish::__private::OnceBox<#publish::Definition> =
                        #publish::__private::OnceBox::new();
                    DEFINITION.get_or_init(|| {
                        ::std::boxed::Box::new(
                            #publish::Definition::new(
                                #struct_name::GUID,
                                #name,
                                #set_help,
                                (#publish::__private::Guid::from_u128(#provider_guid), #provider),
                                #publish::__private::InstanceType::#instance_type,
                                #stripes,
                            )
                            #(#described)*
                        )
                    })
                }

                fn attach(cells: &mut #publish::Cells) -> Self {
                    Self { #(#attached),* }
                }
            }
        };
    })
}

fn named_fields(input: &DeriveInput) -> Result<Vec<&Field>, Error> {
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        _ => return Err(Error::new(input.ident.span(), "a counterset is a struct")),
    };
    match fields {
        Fields::Named(fields) if !fields.named.is_empty() => Ok(fields.named.iter().collect()),
        _ => {
            Err(Error::new(input.ident.span(), "a counterset has at least one counter, and they have names"))
        }
    }
}

fn instance_type(word: Option<&LitStr>) -> Result<(syn::Ident, bool), Error> {
    let (name, is_aggregate) = match word.map(LitStr::value).as_deref() {
        None | Some("single") => ("Single", false),
        Some("multiple") => ("Multiple", false),
        Some("globalAggregate") => ("SingleAggregate", true),
        Some("multipleAggregate") => ("MultiAggregate", true),
        Some("globalAggregateHistory") => ("SingleAggregateHistory", true),
        Some(other) => {
            let known = "single, multiple, globalAggregate, multipleAggregate and globalAggregateHistory";
            let at = word.map_or_else(Span::call_site, LitStr::span);
            return Err(Error::new(at, format!("\"{other}\" is no kind of instances: {known} are")));
        }
    };
    Ok((syn::Ident::new(name, Span::call_site()), is_aggregate))
}

/// Field of the struct that becomes a counter, with its parsed attributes.
struct Counter<'a> {
    field: &'a Field,
    words: CounterWords,
    id: u32,
    help: String,
    counter_type: Option<CounterType>,
    attributes: Attributes,
    detail: syn::Ident,
    aggregate: syn::Ident,
    brings_base: bool,
}

/// Field types whose counter needs a base, which the field adds as a second counter.
const WITH_BASE: [&str; 4] = ["AverageTimer", "Average", "Ratio", "Fraction"];

fn counters<'a>(fields: Vec<&'a Field>, is_aggregate: bool) -> Result<Vec<Counter<'a>>, Error> {
    let mut counters: Vec<Counter<'a>> = Vec::new();
    let mut taken: Vec<u32> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut next = 1_u32;
    for field in fields {
        let words = CounterWords::parse(&field.attrs)?;
        let at = field.ident.as_ref().map_or_else(Span::call_site, syn::Ident::span);
        // As in a C enum, a field without an id gets the one after the field before it.
        let id = words.id.as_ref().map_or(Ok(next), LitInt::base10_parse)?;
        // A macro sees the name of a type and not the type. The generated checks compare both when the
        // program is compiled.
        let brings_base = last_segment(field).is_some_and(|kind| WITH_BASE.contains(&kind.as_str()));
        let base = match &words.base {
            Some(base) => Some(base.base10_parse()?),
            None if brings_base => id.checked_add(1),
            None => None,
        };
        // The added base takes the next id, so that id must be free as well. `u32::MAX` is PerfLib's wildcard
        // for all counters.
        let own = [Some(id), base.filter(|_| brings_base)].into_iter().flatten();
        for id in own.clone() {
            if id == u32::MAX || taken.contains(&id) {
                return Err(Error::new(at, format!("id {id} is another counter's, or stands for all")));
            }
            taken.push(id);
        }
        next = own.max().and_then(|last| last.checked_add(1)).unwrap_or(u32::MAX);
        let attributes = attributes(words.attributes.as_ref())?;
        let is_hidden = attributes.contains(Attributes::NO_DISPLAYABLE);
        // Counter paths ignore case, so names must differ in more than case. Only a hidden counter needs no
        // name, because no tool lists it.
        match &words.name {
            None if !is_hidden => return Err(Error::new(at, "#[counter(name = \"…\")] is missing")),
            Some(name) if name.value().is_empty() || name.value().encode_utf16().count() > NAME_UNITS => {
                return Err(Error::new(name.span(), format!("a name has 1 to {NAME_UNITS} UTF-16 units")));
            }
            Some(name) if names.contains(&name.value().to_lowercase()) => {
                return Err(Error::new(name.span(), "another counter has that name"));
            }
            Some(name) => names.push(name.value().to_lowercase()),
            None => {}
        }
        if let Some((scale, at)) = words.scale.filter(|(scale, _)| !(-10..=10).contains(scale)) {
            return Err(Error::new(at, format!("{scale} is no scale: they go from -10 to 10")));
        }
        let counter_type = words.counter_type.as_ref().map(counter_type).transpose()?;
        let detail =
            choice(words.detail.as_ref(), "standard", &[("standard", "NOVICE"), ("advanced", "ADVANCED")])?;
        let usual = if is_aggregate { "sum" } else { "undefined" };
        let functions =
            [("undefined", "Undefined"), ("sum", "Total"), ("avg", "Avg"), ("min", "Min"), ("max", "Max")];
        let aggregate = choice(words.aggregate.as_ref(), usual, &functions)?;
        let help = help(&field.attrs);
        counters.push(Counter {
            field,
            words,
            id,
            help,
            counter_type,
            attributes,
            detail,
            aggregate,
            brings_base,
        });
    }
    Ok(counters)
}

fn last_segment(field: &Field) -> Option<String> {
    let syn::Type::Path(path) = &field.ty else { return None };
    path.path.segments.last().map(|segment| segment.ident.to_string())
}

fn counter_type(word: &LitStr) -> Result<CounterType, Error> {
    let name = word.value();
    let known = CounterType::from_name(&name.to_uppercase()).filter(|known| known.value_len() > 0);
    known.filter(|_| name == name.to_lowercase()).ok_or_else(|| {
        Error::new(
            word.span(),
            format!("\"{name}\" is no type of counters, as `perf_counter_rawcount` is one"),
        )
    })
}

fn attributes(words: Option<&LitStr>) -> Result<Attributes, Error> {
    let mut all = Attributes::default();
    let Some(words) = words else { return Ok(all) };
    for word in words.value().split_whitespace() {
        all = all.with(match word {
            "noDisplay" => Attributes::NO_DISPLAYABLE,
            "noDigitGrouping" => Attributes::NO_GROUP_SEPARATOR,
            "displayAsReal" => Attributes::DISPLAY_AS_REAL,
            "displayAsHex" => Attributes::DISPLAY_AS_HEX,
            _ => {
                let known = "noDisplay, noDigitGrouping, displayAsReal and displayAsHex";
                return Err(Error::new(words.span(), format!("\"{word}\" is no attribute: {known} are")));
            }
        });
    }
    if !all.is_allowed() {
        let why = "noDisplay goes with none of the others, and displayAsHex neither with displayAsReal nor with \
                   noDigitGrouping";
        return Err(Error::new(words.span(), why));
    }
    Ok(all)
}

/// Returns the name of the enum variant for a keyword of an attribute; `usual` is the keyword if none is given.
fn choice(word: Option<&LitStr>, usual: &str, of: &[(&str, &str)]) -> Result<syn::Ident, Error> {
    let said = word.map_or_else(|| usual.to_owned(), LitStr::value);
    let at = word.map_or_else(Span::call_site, LitStr::span);
    match of.iter().find(|(word, _)| *word == said) {
        Some((_, variant)) => Ok(syn::Ident::new(variant, Span::call_site())),
        None => {
            let known: Vec<_> = of.iter().map(|(word, _)| *word).collect();
            Err(Error::new(at, format!("\"{said}\" is none of {}", known.join(", "))))
        }
    }
}

fn option(number: Option<&LitInt>) -> TokenStream {
    number.map_or_else(|| quote!(::core::option::Option::None), |n| quote!(::core::option::Option::Some(#n)))
}

impl Counter<'_> {
    /// Generates the call that adds this counter to the definition.
    fn described(&self, publish: &TokenStream) -> TokenStream {
        let Self { field, words, id, help, detail, aggregate, .. } = self;
        let kind = &field.ty;
        let name = match &words.name {
            Some(name) => quote!(::core::option::Option::Some(#name)),
            None => quote!(::core::option::Option::None),
        };
        let counter_type = match self.counter_type {
            Some(CounterType(bits)) => {
                quote!(::core::option::Option::Some(#publish::__private::CounterType(#bits)))
            }
            None => quote!(::core::option::Option::None),
        };
        let attributes = self.attributes.0;
        let scale = words.scale.map_or(0, |(scale, _)| scale);
        let unit = words.unit.as_ref().map(LitStr::value).unwrap_or_default();
        let [base, perf_time, perf_freq, multi] =
            [&words.base, &words.perf_time, &words.perf_freq, &words.multi].map(|n| option(n.as_ref()));
        quote! {
            .field::<#kind>(#publish::CounterInfo {
                name: #name,
                help: #help,
                counter_type: #counter_type,
                attributes: #publish::__private::Attributes(#attributes),
                detail: #publish::__private::DetailLevel::#detail,
                scale: #scale,
                aggregate: #publish::__private::Aggregate::#aggregate,
                unit: #unit,
                base: #base,
                perf_time: #perf_time,
                perf_freq: #perf_freq,
                multi: #multi,
                ..#publish::CounterInfo::new(#id)
            })
        }
    }

    /// Generates compile-time checks: an explicit type has the width of the field, and the field adds a base exactly
    /// if an id was reserved for it.
    fn check(&self, publish: &TokenStream) -> Option<TokenStream> {
        let kind = &self.field.ty;
        let brings_base = self.brings_base;
        let base = quote! {
            const _: () = assert!(
                <#kind as #publish::CounterField>::BASE.is_some() == #brings_base,
                "a type of that name must be the one of perfset::publish"
            );
        };
        let width = self.counter_type.map(|counter_type| {
            let len = counter_type.value_len();
            quote! {
                const _: () = assert!(
                    <#kind as #publish::CounterField>::LEN == #len,
                    "values of this type do not have the bytes that the field has"
                );
            }
        });
        Some(quote!(#base #width))
    }
}
