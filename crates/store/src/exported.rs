//! Events outside of the database: the stored form as JSON, for files that go from one machine to another.

use crate::stored;
use agent::SessionEvent;
use serde_json::{Value, json};

/// An event as it is stored, with its format; `None` for one that only lives.
pub fn to_json(event: SessionEvent) -> Option<Value> {
    let row = stored::encode(event)?;
    let body: Value = serde_json::from_str(&row.body).expect("what was just written is JSON");
    Some(json!({ "format": row.format, "event": body }))
}

/// The event of what [`to_json`] gave.
///
/// # Errors
/// What is wrong with it, in words: it is damaged, or a newer program wrote it.
pub fn from_json(value: &Value) -> Result<SessionEvent, String> {
    let format = value["format"].as_i64().ok_or("`format` is missing")?;
    let body = value.get("event").ok_or("`event` is missing")?;
    stored::decode(format, &body.to_string()).map_err(|error| match error {
        stored::Unreadable::Newer(format) => format!(
            "it has format {format}, and this program reads {} at the most: upgrade to import it",
            stored::FORMAT
        ),
        stored::Unreadable::Damaged(what) => what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_comes_back_from_its_json() {
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
