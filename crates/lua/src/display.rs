//! Formats Lua values as text for people and models.

use crate::{
    bytes, convert,
    limits::{DEPTH, SHOWN_BYTES},
};
use mlua::{Table, Value};
use std::{collections::HashSet, ffi::c_void};

/// The text shown for a table inside itself.
const CIRCULAR: &str = "<circular>";

/// Formats a value as `print` and `tostring` do: tables with their contents, sorted by key.
/// Truncated at [`SHOWN_BYTES`].
pub(crate) fn format_value(value: &Value) -> mlua::Result<String> {
    let mut shown = Formatter { text: String::new(), open: HashSet::new() };
    shown.value(value, 0)?;
    if shown.is_full() {
        shown.text.truncate(agent::floor_char_boundary(&shown.text, SHOWN_BYTES));
        shown.text.push_str("… (cut)");
    }
    Ok(shown.text)
}

struct Formatter {
    text: String,
    /// The tables that are currently being formatted.
    open: HashSet<*const c_void>,
}

impl Formatter {
    fn is_full(&self) -> bool {
        self.text.len() >= SHOWN_BYTES
    }

    fn value(&mut self, value: &Value, depth: usize) -> mlua::Result<()> {
        match value {
            Value::Table(table) if !has_text_form(table) => self.table(table, depth)?,
            Value::String(string) => self.text.push_str(&bytes::text(string)),
            null if *null == Value::NULL => self.text.push_str("null"),
            // As in Lua: a float with an integral value is shown with a decimal point.
            Value::Number(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => {
                self.text.push_str(&format!("{whole:.1}"));
            }
            other => self.text.push_str(&other.to_string()?),
        }
        Ok(())
    }

    fn table(&mut self, table: &Table, depth: usize) -> mlua::Result<()> {
        if depth >= DEPTH || !self.open.insert(table.to_pointer()) {
            self.text.push_str(CIRCULAR);
            return Ok(());
        }
        let inside = "  ".repeat(depth + 1);
        let before = self.text.len();
        if let Some(length) = convert::sequence(table) {
            for index in 1..=length {
                if self.is_full() {
                    break;
                }
                self.text.push_str(if index == 1 { "[\n" } else { ",\n" });
                self.text.push_str(&inside);
                self.value(&table.raw_get(index)?, depth + 1)?;
            }
            self.end(depth, ']');
        } else {
            for (index, (key, value)) in sorted(table)?.iter().enumerate() {
                if self.is_full() {
                    break;
                }
                self.text.push_str(if index == 0 { "{\n" } else { ",\n" });
                self.text.push_str(&inside);
                self.text.push_str(key);
                self.text.push_str(": ");
                self.value(value, depth + 1)?;
            }
            if self.text.len() == before {
                self.text.push_str("{}");
            } else {
                self.end(depth, '}');
            }
        }
        self.open.remove(&table.to_pointer());
        Ok(())
    }

    fn end(&mut self, depth: usize, bracket: char) {
        self.text.push('\n');
        self.text.push_str(&"  ".repeat(depth));
        self.text.push(bracket);
    }
}

/// Returns whether a table defines its own text form.
fn has_text_form(table: &Table) -> bool {
    table.metatable().is_some_and(|meta| {
        ["__tostring", "__name"].iter().any(|name| meta.raw_get::<Value>(*name).is_ok_and(|v| !v.is_nil()))
    })
}

fn sorted(table: &Table) -> mlua::Result<Vec<(String, Value)>> {
    let mut fields = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let order = match key {
            Value::Integer(whole) => (0, whole),
            _ => (1, 0),
        };
        let key = match &key {
            Value::String(string) => bytes::text(string),
            // A table used as a key is not expanded.
            Value::Table(_) => "<table>".to_owned(),
            other => other.to_string()?,
        };
        fields.push((order, key, value));
    }
    fields.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(fields.into_iter().map(|(_, key, value)| (key, value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, expected: &str) {
        let lua = mlua::Lua::new();
        let value: Value = lua.load(code).eval().expect("the test's code runs");
        assert_eq!(format_value(&value).expect("shown"), expected, "{code}");
    }

    #[test]
    fn values_are_formatted() {
        check("return 'a'", "a");
        check("return 1.0", "1.0");
        check("return {}", "{}");
        check("return {'a', 'b'}", "[\n  a,\n  b\n]");
        check("return {k = 'v'}", "{\n  k: v\n}");
        check("return {b = {1}, a = {}}", "{\n  a: {},\n  b: [\n    1\n  ]\n}");
        check("local t = {}; t.t = t; return t", "{\n  t: <circular>\n}");
        check("local t = {}; return {t, t}", "[\n  {},\n  {}\n]");
        check("return setmetatable({}, {__tostring = function() return 'me' end})", "me");
    }

    #[test]
    fn a_too_long_text_is_truncated() {
        let lua = mlua::Lua::new();
        let code = "local t = {'x'}; for i = 1, 40 do t = {t, t} end; return t";
        let value: Value = lua.load(code).eval().expect("the test's code runs");
        let shown = format_value(&value).expect("shown");
        assert!(shown.len() < 2 * SHOWN_BYTES && shown.ends_with("… (cut)"));
    }
}
