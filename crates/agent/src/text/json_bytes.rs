//! Measures the length of values as JSON without storing the text.

use serde::Serialize;
use serde_json::Value;
use std::io;

/// Returns the length of a value as JSON in bytes; 0 if it cannot be serialised.
pub fn json_bytes(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_no_json) => 0,
    }
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Estimates the length of a value as JSON text, in bytes.
pub(crate) fn estimated_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| estimated_bytes(item) + 1).sum::<usize>(),
        Value::Object(members) => {
            2 + members.iter().map(|(name, value)| name.len() + 4 + estimated_bytes(value)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_measured_without_being_written() {
        for value in
            [json!(null), json!({"a": [1, "two", {"b": "c"}], "long": "x".repeat(100)}), json!([[], {}])]
        {
            let written = value.to_string().len();
            assert!(
                estimated_bytes(&value).abs_diff(written) <= 12,
                "{value}: {} and {written}",
                estimated_bytes(&value)
            );
        }
    }
}
