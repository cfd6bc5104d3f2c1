//! Parser of records in JSON lines.

use serde::Deserialize;

use super::record::{RecordedValue, number, path_of, time};

/// Fields that a record needs. Others are ignored.
#[derive(Deserialize)]
struct JsonFields {
    machine: Option<String>,
    time: String,
    path: String,
    counterset: String,
    instance: String,
    counter: String,
    value: Option<f64>,
    /// Number of instances without a value: then the object is about them, and no record.
    instances: Option<u64>,
}

/// Parses a line. Returns `None` for an object about values that were left out.
pub fn record(line: &[u8]) -> Result<Option<RecordedValue>, String> {
    let fields: JsonFields = serde_json::from_slice(line).map_err(|error| {
        // Its position is that in the line, and the damage has that in the file.
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or_default();
        format!("a line is no record of JSON: {what}")
    })?;
    if fields.instances.is_some() {
        return Ok(None);
    }
    let machine = fields.machine.as_deref().map(|name| name.trim_start_matches('\\'));
    let machine = machine.filter(|name| !name.is_empty());
    let path = path_of(&fields.path, machine, &fields.counterset, &fields.instance, &fields.counter)
        .ok_or("the names of a line do not match its path")?;
    let time = time(&fields.time).ok_or("a line has no valid time")?;
    Ok(Some(RecordedValue { time, path, value: fields.value.and_then(number) }))
}
