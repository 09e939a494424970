//! Converts Lua values to JSON and back.

use crate::{
    bytes,
    limits::{DEPTH, JSON_VALUES},
};
use mlua::{Lua, Table, Value as Lv};
use serde_json::{Map, Number, Value};

/// Integers up to this one are represented exactly by a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Converts a value to JSON. The error names what cannot be represented in JSON.
pub(crate) fn to_json(value: &Lv) -> Result<Value, String> {
    let mut values_left = JSON_VALUES;
    convert(value, DEPTH, &mut values_left)
}

/// Converts named arguments to a JSON object; an empty table or `nil` becomes an empty object.
pub(crate) fn to_arguments(value: &Lv) -> Result<Value, String> {
    match to_json(value)? {
        Value::Null => Ok(Value::Object(Map::new())),
        object @ Value::Object(_) => Ok(object),
        _ => Err("arguments are a table with names: {name = value}".to_owned()),
    }
}

/// Converts JSON to a value. `null` becomes `nil` in an object and `json.null` in an array, so that
/// an array keeps its length.
pub(crate) fn from_json(lua: &Lua, value: &Value) -> mlua::Result<Lv> {
    Ok(match value {
        Value::Null => Lv::Nil,
        Value::Bool(truth) => Lv::Boolean(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Lv::Integer(whole),
            None => Lv::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => bytes::string(lua, text.as_bytes())?,
        Value::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (index, item) in items.iter().enumerate() {
                let item = if item.is_null() { Lv::NULL } else { from_json(lua, item)? };
                table.raw_set(index + 1, item)?;
            }
            Lv::Table(table)
        }
        Value::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (field_name, field) in fields {
                table.raw_set(lua.create_string(field_name)?, from_json(lua, field)?)?;
            }
            Lv::Table(table)
        }
    })
}

/// Returns the length of a table that is a pure sequence; `None` for any other table, including an
/// empty one.
pub(crate) fn sequence(table: &Table) -> Option<usize> {
    let length = table.raw_len();
    let mut count = 0;
    for pair in table.pairs::<Lv, Lv>() {
        let (key, _) = pair.ok()?;
        let Lv::Integer(key) = key else { return None };
        if key < 1 || usize::try_from(key).is_ok_and(|key| key > length) {
            return None;
        }
        count += 1;
    }
    (length > 0 && count == length).then_some(length)
}

fn convert(value: &Lv, depth: usize, values_left: &mut usize) -> Result<Value, String> {
    if depth == 0 {
        return Err("tables are nested too deeply, or contain themselves".to_owned());
    }
    *values_left = values_left.checked_sub(1).ok_or_else(|| format!("more than {JSON_VALUES} values"))?;
    Ok(match value {
        Lv::Nil => Value::Null,
        null if *null == Lv::NULL => Value::Null,
        Lv::Boolean(truth) => Value::Bool(*truth),
        Lv::Integer(whole) => Value::Number((*whole).into()),
        Lv::Number(number) => Value::Number(to_number(*number)?),
        Lv::String(string) => Value::String(bytes::text(string)),
        Lv::Table(table) => match sequence(table) {
            Some(length) => {
                let mut items = Vec::with_capacity(length);
                for index in 1..=length {
                    let item = table.raw_get(index).map_err(|error| error.to_string())?;
                    items.push(convert(&item, depth - 1, values_left)?);
                }
                Value::Array(items)
            }
            None => {
                let mut fields = Map::new();
                for pair in table.pairs::<Lv, Lv>() {
                    let (key, field) = pair.map_err(|error| error.to_string())?;
                    fields.insert(field_name(&key)?, convert(&field, depth - 1, values_left)?);
                }
                // Lua tables are unordered; sorting makes the output deterministic.
                fields.sort_keys();
                Value::Object(fields)
            }
        },
        other => return Err(format!("a {} has no representation in JSON", other.type_name())),
    })
}

fn to_number(number: f64) -> Result<Number, String> {
    // `10 / 2` is a float in Lua, but must be usable as an integer argument.
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        return Ok(Number::from(number as i64));
    }
    Number::from_f64(number).ok_or_else(|| format!("{number} has no representation in JSON"))
}

fn field_name(key: &Lv) -> Result<String, String> {
    match key {
        Lv::String(string) => Ok(bytes::text(string)),
        Lv::Integer(whole) => Ok(whole.to_string()),
        Lv::Number(number) => Ok(number.to_string()),
        other => Err(format!("a {} cannot be the name of a field", other.type_name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(code: &str, expected: Result<Value, &str>) {
        let lua = Lua::new();
        let value: Lv = lua.load(code).eval().expect("the test's code runs");
        match (to_json(&value), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{code}"),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{code}: {found}"),
            (found, expected) => panic!("{code}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn values_become_json() {
        check("return nil", Ok(Value::Null));
        check("return {1, 2.0, 2.5, 'x'}", Ok(json!([1, 2, 2.5, "x"])));
        check("return {a = {b = true}}", Ok(json!({"a": {"b": true}})));
        check("return {}", Ok(json!({})));
        check("return {1, 2, x = 3}", Ok(json!({"1": 1, "2": 2, "x": 3})));
        check("return {[3] = 'c'}", Ok(json!({"3": "c"})));
        check("return 0/0", Err("has no representation"));
        check("return {print}", Err("function has no representation"));
        check("local t = {}; t.t = t; return t", Err("too deeply"));
        check("local t = {}; for i = 1, 50 do t = {t, t} end; return t", Err("more than"));
    }

    #[test]
    fn json_converts_to_values_and_back() {
        let lua = Lua::new();
        for value in [json!([1, null, "x"]), json!({"a": [{"b": -1.5}], "c": false}), json!("ü"), json!(7)] {
            let converted = from_json(&lua, &value).expect("fits");
            assert_eq!(to_json(&converted).expect("came from JSON"), value);
        }
        // A field that is null is absent afterwards.
        let converted = from_json(&lua, &json!({"a": null})).expect("fits");
        assert_eq!(to_json(&converted), Ok(json!({})));
    }
}
