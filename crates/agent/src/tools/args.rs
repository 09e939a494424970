//! Lenient deserialization of the argument forms that models send: numbers and booleans as strings,
//! lists as JSON in a string, empty strings for "none".

use crate::Access;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// Deserializes an unsigned integer or its string form. Missing, `null` and the empty string are
/// `None`.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let wrong = |given: &Value| D::Error::custom(format!("expected a whole number from 0, got {given}"));
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => text.trim().parse().map(Some).map_err(|_| wrong(&Value::String(text))),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(number), _) => Ok(Some(number)),
            (None, Some(float)) if float.fract() == 0.0 && (0.0..1e15).contains(&float) => {
                Ok(Some(float as u64))
            }
            _ => Err(wrong(&Value::Number(number))),
        },
        other => Err(wrong(&other)),
    }
}

/// Deserializes a start line: an integer from 1, or a negative count of lines before the end; or
/// the string form of either. Missing, `null` and the empty string are `None`.
pub(super) fn line<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let wrong = |given: &Value| D::Error::custom(format!("expected a whole number, got {given}"));
    let given = Value::deserialize(from)?;
    match &given {
        Value::Null => Ok(None),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => text.trim().parse().map(Some).map_err(|_| wrong(&given)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Ok(Some(number)),
            (None, Some(float)) if float.fract() == 0.0 && float.abs() < 1e15 => Ok(Some(float as i64)),
            _ => Err(wrong(&given)),
        },
        _ => Err(wrong(&given)),
    }
}

/// Deserializes a boolean or its string form. `null` and the empty string are `false`.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(flag),
        Value::String(text) if text.is_empty() || text.eq_ignore_ascii_case("false") => Ok(false),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        other => Err(D::Error::custom(format!("expected true or false, got {other}"))),
    }
}

/// Deserializes an optional string: `null` and blank strings are `None`.
pub(super) fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|text| !text.trim().is_empty()))
}

/// Deserializes a list of strings: a JSON array, a string containing a JSON array, or a
/// comma-separated string.
pub(super) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(Vec::new()),
        Value::String(text) if text.trim_start().starts_with('[') => {
            serde_json::from_str(&text).map_err(D::Error::custom)
        }
        Value::String(text) => {
            Ok(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
        }
        list => serde_json::from_value(list).map_err(D::Error::custom),
    }
}

/// Returns the access of a call that touches only the session's own state, or that is rejected
/// before it touches anything.
pub(super) fn touches_nothing(tool: &str) -> Vec<Access> {
    vec![Access::Call { function: tool.to_owned(), read_only: true }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn takes_what_models_send() {
        for (given, expected) in [
            (json!(5), Some(Some(5))),
            (json!("7"), Some(Some(7))),
            (json!(2.0), Some(Some(2))),
            (json!(""), Some(None)),
            (json!(null), Some(None)),
            (json!(-1), None),
            (json!(1.5), None),
            (json!("x"), None),
            (json!([]), None),
        ] {
            assert_eq!(count(given.clone()).ok(), expected, "{given}");
        }
        for (given, expected) in [
            (json!(-5), Some(Some(-5))),
            (json!("12"), Some(Some(12))),
            (json!(-2.0), Some(Some(-2))),
            (json!(""), Some(None)),
            (json!(1.5), None),
            (json!("x"), None),
        ] {
            assert_eq!(line(given.clone()).ok(), expected, "{given}");
        }
        for (given, expected) in [
            (json!(true), Some(true)),
            (json!("True"), Some(true)),
            (json!("false"), Some(false)),
            (json!(null), Some(false)),
            (json!(1), None),
        ] {
            assert_eq!(flag(given.clone()).ok(), expected, "{given}");
        }
        for (given, expected) in [
            (json!(["a", "b"]), Some(vec!["a", "b"])),
            (json!("[\"a\"]"), Some(vec!["a"])),
            (json!("a, b,"), Some(vec!["a", "b"])),
            (json!(null), Some(vec![])),
            (json!(3), None),
        ] {
            let got = list(given.clone()).ok();
            assert_eq!(got, expected.map(|list| list.into_iter().map(str::to_owned).collect()), "{given}");
        }
    }
}
