//! Events outside the database: the stored form as JSON, for transferring files between machines.

use crate::stored;
use agent::SessionEvent;
use serde_json::{Value, json};

/// Converts an event to its stored form, with the format version. Returns `None` for an event that
/// is never stored.
pub fn to_json(event: SessionEvent) -> Option<Value> {
    let row = stored::encode(event)?;
    let body: Value = serde_json::from_str(&row.body).expect("what was just written is JSON");
    Some(json!({ "format": row.format, "event": body }))
}

/// Converts the result of [`to_json`] back to an event.
///
/// # Errors
///
/// Returns a message for display if the value is damaged or was written by a newer program.
pub fn from_json(value: &Value) -> Result<SessionEvent, String> {
    let format = value["format"].as_i64().ok_or("`format` is missing")?;
    let body = value.get("event").ok_or("`event` is missing")?;
    stored::decode(format, &body.to_string()).map_err(|error| match error {
        stored::Unreadable::Newer(format) => format!(
            "it has format {format}, and this program reads formats up to {}: upgrade to import it",
            stored::FORMAT
        ),
        stored::Unreadable::Damaged(what) => what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_round_trips_through_json() {
        for event in crate::contract::samples() {
            let json = to_json(event.clone()).unwrap();
            let text = json.to_string();
            assert_eq!(from_json(&serde_json::from_str(&text).unwrap()), Ok(event));
        }
        for bad in [
            json!({}),
            json!({"format": 1}),
            json!({"format": 99, "event": {}}),
            json!({"format": 1, "event": {}}),
        ] {
            assert!(from_json(&bad).is_err(), "{bad}");
        }
    }
}
