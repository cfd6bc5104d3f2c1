//! Parser of the records of a record log in JSON lines.

use serde::Deserialize;

use super::record::{RecordRemarks, RecordedValue, number, path_of, time};

/// Fields of a JSON record that are read; other fields are ignored.
#[derive(Deserialize)]
struct JsonFields {
    machine: Option<String>,
    time: String,
    path: String,
    counterset: String,
    instance: String,
    counter: String,
    value: Option<f64>,
    status: Option<String>,
    mark: Option<String>,
    missing: Option<u64>,
    reason: Option<String>,
    /// Number of instances without a value that were left out; an object with this field is no record.
    instances: Option<u64>,
}

/// Parses a JSON line to a record. Returns `None` for an object about values that were left out.
pub fn record(line: &[u8]) -> Result<Option<RecordedValue>, String> {
    let fields: JsonFields = serde_json::from_slice(line).map_err(|error| {
        // Its position is that in the line, and the damage has that in the file.
        let text = error.to_string();
        text.split(" at line ").next().unwrap_or_default().to_owned()
    })?;
    if fields.instances.is_some() {
        return Ok(None);
    }
    let machine = fields.machine.as_deref().map(|name| name.trim_start_matches('\\'));
    let machine = machine.filter(|name| !name.is_empty());
    let path = path_of(&fields.path, machine, &fields.counterset, &fields.instance, &fields.counter)
        .ok_or("its names do not match its path")?;
    let time = time(&fields.time).ok_or("it has no valid time")?;
    let remarks = RecordRemarks {
        status: fields.status.as_deref().unwrap_or_default(),
        mark: fields.mark.as_deref().unwrap_or_default(),
        missing: fields.missing.unwrap_or(0),
        reason: fields.reason.as_deref().unwrap_or_default(),
    };
    Ok(Some(RecordedValue { time, path, value: remarks.of(fields.value.and_then(number)) }))
}
