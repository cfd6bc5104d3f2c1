//! `#[derive(Counterset)]`, which `perfset::publish` re-exports: a struct of counters as a counterset.
//!
//! Of the struct, in `#[counterset(…)]`:
//!
//! | word | meaning | if it is not said |
//! |---|---|---|
//! | `provider = "…"` | name of the provider: the program or library | must be said |
//! | `provider_guid = "…"` | its GUID | version 5 of its name, in the project's namespace |
//! | `name = "…"` | name of the counterset | must be said |
//! | `guid = "…"` | its GUID | version 5 of its name, in the provider's GUID |
//! | `instances = "…"` | `single`, `multiple`, or a word of the manifest for aggregates | `single` |
//! | `stripes = N` | rows for threads that count at once, up to 64 | none |
//!
//! Of a field, in `#[counter(…)]`:
//!
//! | word | meaning | if it is not said |
//! |---|---|---|
//! | `name = "…"` | name of the counter | must be said, unless it is hidden |
//! | `id = N` | its id | the one after the field before, from 1 on |
//! | `type = "…"` | a type's name as manifests have it, `perf_counter_delta` | the field type's own |
//! | `scale = N` | power of ten for charts, -10 to 10 | 0 |
//! | `detail = "…"` | `standard`, `advanced` | `standard` |
//! | `aggregate = "…"` | `sum`, `avg`, `min`, `max`, `undefined` | `undefined`; in aggregate sets `sum` |
//! | `attributes = "…"` | `noDisplay`, `noDigitGrouping`, `displayAsReal`, `displayAsHex`, separated by blanks | none |
//! | `unit = "…"` | UCUM unit of the formatted value | none |
//! | `base_id = N` | id of its base | the next one, of a base that the field brings |
//! | `perf_time_id`, `perf_freq_id`, `multi_counter_id` | ids of counters that it is computed with | none |
//!
//! Aggregates are `globalAggregate`, `multipleAggregate` and `globalAggregateHistory`. Documentation comments are the
//! helps.

mod expand;
mod words;

use proc_macro::TokenStream;

/// Makes a struct of counters a counterset that can be published.
#[proc_macro_derive(Counterset, attributes(counterset, counter))]
pub fn derive_counterset(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
