//! Counterset definitions as bytes: encoding and decoding.
//!
//! A definition consists of parts, each with a number and a length. The numbers are the codes that PerfLib uses to
//! request the same data (`PERF_REG_COUNTERSET_STRUCT` etc.), and the bytes are those that PerfLib returns.

use perfset_core::v2::registration::{RegistrationInfo, counterset_block};
use perfset_core::v2::strings::{self, StringBlock};
use perfset_core::wire::{Cursor, WireError};
use perfset_core::{Counter, CounterId, Counterset, Guid, Name};
use thiserror::Error;
use zerocopy::little_endian::U32;

/// Numbers of the parts of an encoded counterset definition.
pub mod part {
    /// Part with PERF_COUNTERSET_REG_INFO and one PERF_COUNTER_REG_INFO per counter, in the order of the values of an
    /// instance.
    pub const STRUCT: u32 = 1;
    /// Part with the name of the counterset.
    pub const NAME: u32 = 3;
    /// Part with the help text of the counterset.
    pub const HELP: u32 = 4;
    /// Part with the names of the counters.
    pub const COUNTER_NAMES: u32 = 5;
    /// Part with the help texts of the counters.
    pub const COUNTER_HELPS: u32 = 6;
    /// Part with the name of the provider.
    pub const PROVIDER_NAME: u32 = 7;
    /// Part with the GUID of the provider.
    pub const PROVIDER_GUID: u32 = 8;
    /// Part with the units of the counters, in the same form as help texts: PerfLib has no units.
    pub const COUNTER_UNITS: u32 = 0x8000_0000;
}

/// Maximum size in bytes of an encoded counterset definition.
pub const MAX_LEN: usize = 16 << 20;

/// Reason why an encoded counterset definition cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// A part of the definition does not have the form that its number requires.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The definition has no description of the counters.
    #[error("the definition has no part 1, PERF_COUNTERSET_REG_INFO")]
    NoStruct,
    /// The definition has invalid counters: none at all, too many, or two with the same id.
    #[error("{0}")]
    Counters(&'static str),
}

/// Encodes a counterset as the bytes of a definition. A counterset without a name is visible only where it is
/// registered.
#[must_use]
pub fn encode(counterset: &Counterset) -> Vec<u8> {
    let mut out = Vec::new();
    let mut part = |number: u32, bytes: &[u8]| {
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(8), 0);
    };
    part(part::STRUCT, &counterset_block(counterset));
    part(part::PROVIDER_GUID, &counterset.provider.guid.to_wire());
    let texts = [
        (part::NAME, &counterset.name),
        (part::HELP, &counterset.help),
        (part::PROVIDER_NAME, &counterset.provider.name),
    ];
    for (number, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        part(number, &strings::single(text));
    }
    type Of = fn(&Counter) -> Option<&str>;
    let said = |text: &str| !text.is_empty();
    let of_counters: [(u32, Of); 3] = [
        (part::COUNTER_NAMES, |counter| counter.name.as_deref()),
        (part::COUNTER_HELPS, |counter| Some(&*counter.help).filter(|help| !help.is_empty())),
        (part::COUNTER_UNITS, |counter| Some(&*counter.unit).filter(|unit| !unit.is_empty())),
    ];
    for (number, text) in of_counters {
        let texts = counterset.counters.iter().map(|counter| (counter.id, text(counter)));
        if texts.clone().any(|(_, text)| text.is_some_and(said)) {
            part(number, &strings::block(texts));
        }
    }
    out
}

/// Decodes a counterset from the bytes of a definition. Unknown parts are ignored.
///
/// # Errors
/// If a part is damaged, or the counterset has no counter, too many, or two with the same id.
pub fn decode(bytes: &[u8]) -> Result<Counterset, DefinitionError> {
    let mut parts = Cursor::new(bytes);
    let mut set: Option<Counterset> = None;
    let mut rest = Vec::new();
    while !parts.is_empty() {
        let number = parts.read::<U32>("number of a part")?.get();
        let len = parts.read::<U32>("length of a part")?.get();
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let body = parts.take("a part", len)?.rest();
        let padding = len.next_multiple_of(8).saturating_sub(len).min(parts.rest().len());
        parts.take("padding", padding)?;
        match number {
            part::STRUCT if set.is_none() => set = Some(described(&RegistrationInfo::parse(body)?)?),
            // Parts may come in any order. Texts need the counters, so they are applied afterwards.
            _ => rest.push((number, body)),
        }
    }
    let mut set = set.ok_or(DefinitionError::NoStruct)?;
    let counters = set.counters.to_mut();
    for (number, body) in rest {
        let text = || Name::until_nul(body).to_string();
        match number {
            part::NAME => set.name = text().into(),
            part::HELP => set.help = text().into(),
            part::PROVIDER_NAME => set.provider.name = text().into(),
            part::PROVIDER_GUID => {
                let guid = Cursor::new(body).read::<[u8; 16]>("PERF_REG_PROVIDER_GUID")?;
                set.provider.guid = Guid::from_wire(*guid);
            }
            part::COUNTER_NAMES => texts(counters, body, |counter, text| counter.name = Some(text.into()))?,
            part::COUNTER_HELPS => texts(counters, body, |counter, text| counter.help = text.into())?,
            part::COUNTER_UNITS => texts(counters, body, |counter, text| counter.unit = text.into())?,
            _ => {} // of a later version
        }
    }
    Ok(set)
}

/// Converts the description part of a definition to a counterset without texts.
fn described(info: &RegistrationInfo<'_>) -> Result<Counterset, DefinitionError> {
    let mut counters = Vec::new();
    for counter in info.counters() {
        let info = counter?;
        counters.push(
            Counter::published(info.id(), info.counter_type())
                .attributes(info.attributes())
                .detail(info.detail())
                .default_scale(info.default_scale())
                .base(info.base())
                .clock(info.perf_time(), info.perf_freq())
                .multi(info.multi())
                .aggregate(info.aggregate()),
        );
    }
    let mut ids: Vec<CounterId> = counters.iter().map(|counter| counter.id).collect();
    ids.sort_unstable();
    if ids.is_empty() {
        return Err(DefinitionError::Counters("the definition has no counter"));
    }
    if ids.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(DefinitionError::Counters("two of its counters have the same id"));
    }
    if ids.len() > crate::layout::MAX_COUNTERS {
        return Err(DefinitionError::Counters("the definition has more than 65536 counters"));
    }
    Ok(Counterset::unnamed(info.guid(), info.instance_type()).counters(counters))
}

/// Calls `set` for each counter that has a text in a definition's part `body`.
fn texts(
    counters: &mut [Counter],
    body: &[u8],
    set: impl Fn(&mut Counter, String),
) -> Result<(), DefinitionError> {
    // The texts usually have the same order as the counters.
    for (at, (id, text)) in StringBlock::parse(body)?.iter().enumerate() {
        let Some(text) = text? else { continue };
        let counter = match counters.get(at) {
            Some(counter) if counter.id == id => counters.get_mut(at),
            _ => None,
        };
        if let Some(counter) = counter {
            set(counter, text.to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use perfset_catalogue as catalogue;

    use super::*;

    /// Returns a counterset with only the properties that an encoded definition contains.
    fn carried(set: &Counterset) -> Counterset {
        let counter = |counter: &Counter| {
            let Counter { wraps, caps, cost_class, source, availability, v1_index, .. } =
                Counter::published(counter.id, counter.counter_type);
            counter
                .clone()
                .wraps(wraps)
                .caps(caps)
                .cost_class(cost_class)
                .source(source)
                .availability(availability)
                .v1_index(v1_index)
        };
        set.clone()
            .counters(set.counters.iter().map(counter))
            .translations([])
            .v1_index(None)
            .default_counter(None)
            .view_of(None)
            .scope("")
    }

    #[test]
    fn there_and_back() {
        let sets = catalogue::ALL;
        assert!(sets.len() > 10);
        for set in sets {
            assert_eq!(decode(&encode(set)).unwrap(), carried(set), "{}", set.name);
        }
    }

    #[test]
    fn cut_and_flipped() {
        let bytes = encode(&catalogue::perfset_engine::COUNTERSET);
        for len in 0..bytes.len() {
            let _ = decode(&bytes[..len]);
        }
        let mut bytes = bytes;
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xFF] {
                bytes[at] ^= flip;
                let _ = decode(&bytes);
                bytes[at] ^= flip;
            }
        }
        assert_eq!(decode(&[]).unwrap_err(), DefinitionError::NoStruct);
    }
}
