//! Values as JSON objects, whose fields programs may rely on: `docs/output.md` says what each means.

use std::num::NonZeroU32;

use jiff::Timestamp;
use perfset_core::clock::ClockReading;
use perfset_core::{NoValue, RawValue};
use perfset_engine::path::PathValue;
use serde::Serialize;

/// One value for programs, field by field in the order in which they are written.
#[derive(Clone, Debug, Serialize)]
pub struct Record<'a> {
    /// Whose it is, where that is not always the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<&'a str>,
    /// When it was sampled: UTC, RFC 3339 with milliseconds.
    pub time: String,
    /// The path of this one value.
    pub path: String,
    /// The counterset's English name.
    pub counterset: String,
    /// The instance's name.
    pub instance: String,
    /// The instance's id, where there are several instances.
    pub instance_id: Option<u32>,
    /// The counter's English name, or `#` and its id.
    pub counter: String,
    /// The formatted value.
    pub value: Option<f64>,
    /// `ok`, or the keyword of the reason for having no value.
    pub status: &'static str,
    /// The raw value.
    pub raw: Option<u64>,
    /// The raw value that it is divided by.
    pub base: Option<u64>,
    /// The counter's type.
    #[serde(rename = "type")]
    pub counter_type: String,
    /// The unit of the formatted value.
    pub unit: String,
    /// Keyword of the value's mark, if it has one.
    pub mark: Option<&'static str>,
    /// Number of instances that a partial sum lacks.
    pub missing: Option<u32>,
}

impl Record<'_> {
    /// A value of a sample that was taken then.
    #[must_use]
    pub fn new(clocks: &ClockReading, v: &PathValue<'_>) -> Self {
        let value = &v.value;
        let has_instances = value.counterset.instance_type.is_multiple();
        Self {
            machine: None,
            time: timestamp(clocks).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
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

    /// The object, as one line without its end.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() // texts and numbers can always be written
    }
}

fn timestamp(clocks: &ClockReading) -> Timestamp {
    Timestamp::from_millisecond(clocks.unix_ms()).unwrap_or(Timestamp::UNIX_EPOCH)
}
