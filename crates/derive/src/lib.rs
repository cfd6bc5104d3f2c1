//! `#[derive(Counterset)]`, re-exported by `perfset::publish`: defines a counterset from a struct of counters.
//!
//! Attributes of the struct, in `#[counterset(…)]`:
//!
//! | word | meaning | default |
//! |---|---|---|
//! | `provider = "…"` | name of the provider: the program or library | required |
//! | `provider_guid = "…"` | GUID of the provider | version 5 of its name, in the project's namespace |
//! | `name = "…"` | name of the counterset | required |
//! | `guid = "…"` | GUID of the counterset | version 5 of its name, in the provider's GUID |
//! | `instances = "…"` | `single`, `multiple`, or a word of the manifest for aggregates | `single` |
//! | `stripes = N` | rows for threads that count at the same time, up to 64 | none |
//!
//! Attributes of a field, in `#[counter(…)]`:
//!
//! | word | meaning | default |
//! |---|---|---|
//! | `name = "…"` | name of the counter | required, unless the counter is hidden |
//! | `id = N` | id of the counter | previous id plus 1, starting at 1 |
//! | `type = "…"` | name of the type as in manifests, such as `perf_counter_delta` | type of the field |
//! | `scale = N` | power of ten for charts, -10 to 10 | 0 |
//! | `detail = "…"` | `standard`, `advanced` | `standard` |
//! | `aggregate = "…"` | `sum`, `avg`, `min`, `max`, `undefined` | `undefined`; in aggregate sets `sum` |
//! | `attributes = "…"` | `noDisplay`, `noDigitGrouping`, `displayAsReal`, `displayAsHex`, separated by blanks | none |
//! | `unit = "…"` | UCUM unit of the formatted value | none |
//! | `base_id = N` | id of the base | next id, if the field adds a base |
//! | `perf_time_id`, `perf_freq_id`, `multi_counter_id` | ids of counters needed by the formula | none |
//!
//! Aggregates are `globalAggregate`, `multipleAggregate` and `globalAggregateHistory`. Doc comments become help
//! texts.

mod expand;
mod words;

use proc_macro::TokenStream;

/// Implements `Counterset` for a struct of counters, so that it can be published.
#[proc_macro_derive(Counterset, attributes(counterset, counter))]
pub fn derive_counterset(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
