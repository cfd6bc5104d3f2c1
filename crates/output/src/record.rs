//! Fields of one value in CSV and JSON, with stable names: see `docs/output.md` for their meaning.

use std::num::NonZeroU32;

use jiff::Timestamp;
use perfset_core::clock::ClockReading;
use perfset_core::{NoValue, RawValue};
use perfset_engine::path::PathValue;
use serde::Serialize;

/// Fields of one value, in the order in which CSV and JSON contain them.
#[derive(Clone, Debug, Serialize)]
pub struct Record<'a> {
    /// Name of the value's machine, if the output can contain several machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<&'a str>,
    /// Time of the sample: UTC, RFC 3339 with milliseconds.
    pub time: String,
    /// Counter path of the record's single value.
    pub path: String,
    /// English name of the value's counterset.
    pub counterset: String,
    /// Name of the value's instance.
    pub instance: String,
    /// Id of the value's instance, if the counterset can have several instances.
    pub instance_id: Option<u32>,
    /// English name of the value's counter, or `#` and its id.
    pub counter: String,
    /// Formatted value, without an upper limit.
    pub value: Option<f64>,
    /// Status: `ok`, or the keyword of the reason for the missing value.
    pub status: &'static str,
    /// Raw value of the counter in the sample.
    pub raw: Option<u64>,
    /// Raw value of the base that the counter is divided by.
    pub base: Option<u64>,
    /// Name of the value's counter type.
    #[serde(rename = "type")]
    pub counter_type: String,
    /// Unit of the record's formatted value.
    pub unit: String,
    /// Keyword of the value's mark, if the value has one.
    pub mark: Option<&'static str>,
    /// Number of instances that the value lacks, if it is a partial sum.
    pub missing: Option<u32>,
}

impl Record<'_> {
    /// Creates the record of a value in a sample with these clock readings.
    #[must_use]
    pub fn new(clocks: &ClockReading, v: &PathValue<'_>) -> Self {
        let value = &v.value;
        let has_instances = value.counterset.instance_type.is_multiple();
        Self {
            machine: None,
            time: time_text(clocks),
            path: v.own_path(None).to_string(),
            counterset: value.counterset.name.to_string(),
            instance: value.instance.to_string(),
            instance_id: value.instance_id.filter(|_| has_instances).map(|id| id.0),
            counter: value.counter.shown_name().into_owned(),
            value: value.value.as_ref().ok().map(|value| value.nocap()),
            status: value.value.as_ref().map_or_else(NoValue::keyword, |_| "ok"),
            raw: value.counted().map(RawValue::get),
            base: value.base.map(RawValue::get),
            counter_type: value.counter.counter_type.to_string(),
            unit: value.counter.unit.to_string(),
            mark: value.mark.and_then(|mark| mark.keyword()),
            missing: value.mark.and_then(|mark| mark.missing()).map(NonZeroU32::get),
        }
    }
}

/// Returns the time of a sample as text, as [`utc_text`] does.
pub(crate) fn time_text(clocks: &ClockReading) -> String {
    utc_text(clocks.unix_ms())
}

/// Returns a time in milliseconds since 1970 as text: UTC, RFC 3339 with milliseconds. A time that has no such text
/// becomes 1970.
#[must_use]
pub fn utc_text(unix_ms: i64) -> String {
    let time = Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
