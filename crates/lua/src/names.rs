//! Spells names that are not valid in Lua: a script writes `get-sum` as `get_sum` or `["get-sum"]`.

use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write as _};

/// The reserved words of Lua, which cannot follow a dot.
const KEYWORDS: [&str; 22] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Returns whether a script can write a name after a dot and use it as a variable.
pub fn is_name(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    begins && name.chars().all(plain) && !KEYWORDS.contains(&name)
}

/// Maps names to unique Lua names. A valid Lua name stays unchanged. In any other name, each run of
/// invalid characters becomes `_`, a leading digit is preceded by `_`, and a keyword is followed by
/// `_`: `get-sum` becomes `get_sum`, `2fa` becomes `_2fa`, `end` becomes `end_`. If the result is
/// taken, a number is appended, in the sort order of the names: the result does not depend on the
/// order of the input.
pub fn lua_names<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, String> {
    let mut lua_names: BTreeMap<String, String> =
        names.into_iter().map(|name| (name.to_owned(), String::new())).collect();
    let mut taken: std::collections::BTreeSet<String> =
        lua_names.keys().filter(|name| is_name(name)).cloned().collect();
    for (name, own) in &mut lua_names {
        if is_name(name) {
            own.clone_from(name);
            continue;
        }
        let plain = to_lua_name(name);
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let mut free = std::iter::once(plain.clone()).chain(numbered).filter(|name| !taken.contains(name));
        *own = free.next().expect("there are more numbers than names");
        taken.insert(own.clone());
    }
    lua_names
}

/// Formats a name as a step of a path: `.get_sum` or `["get-sum"]`.
pub fn path_step(name: &str) -> String {
    if is_name(name) { format!(".{name}") } else { format!("[{}]", quoted(name)) }
}

/// Formats a JSON value as a Lua expression. `null` becomes `json.null`.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null => "json.null".to_owned(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("{{{}}}", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let key = if is_name(name) { name.clone() } else { format!("[{}]", quoted(name)) };
                format!("{key} = {}", literal(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

/// Returns whether two names differ only in case and separators: `getSum`, `get_sum` and `get-sum`.
pub(crate) fn is_same_name(a: &str, b: &str) -> bool {
    let folded = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    folded(a) == folded(b)
}

fn to_lua_name(name: &str) -> String {
    let mut lua_name = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => lua_name.push(c),
            _ if lua_name.ends_with('_') => {}
            _ => lua_name.push('_'),
        }
    }
    if lua_name.starts_with(|c: char| c.is_ascii_digit()) || lua_name.is_empty() {
        lua_name.insert(0, '_');
    }
    if KEYWORDS.contains(&lua_name.as_str()) {
        lua_name.push('_');
    }
    lua_name
}

/// Formats a text as a Lua string literal.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            '\n' => quoted.push_str("\\n"),
            c if u32::from(c) < 32 || c == '\u{7f}' => {
                let _ = write!(quoted, "\\{:03}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(names: &[&str], expected: &[&str]) {
        let names_in_order = lua_names(names.iter().copied());
        let own: Vec<_> = names.iter().map(|name| names_in_order[*name].as_str()).collect();
        assert_eq!(own, expected);
        assert_eq!(lua_names(names.iter().rev().copied()), names_in_order, "whatever their order");
        assert!(own.iter().all(|name| is_name(name)), "{own:?}");
    }

    #[test]
    fn every_tool_has_a_name_that_a_script_can_write() {
        check(
            &["get-sum", "a.b/c d", "2fa", "end", "local", "fine", "-", "größe", "", "a--b"],
            &["get_sum", "a_b_c_d", "_2fa", "end_", "local_", "fine", "__2", "gr_e", "_", "a_b"],
        );
    }

    #[test]
    fn names_that_collide_are_numbered_in_a_stable_order() {
        check(&["get-sum", "get_sum"], &["get_sum_2", "get_sum"]);
        check(&["get.sum", "get-sum", "get_sum_2"], &["get_sum_3", "get_sum", "get_sum_2"]);
        check(&["end", "end_"], &["end__2", "end_"]);
    }

    #[test]
    fn values_are_formatted_as_lua_literals() {
        let value = json!({
            "a": [1, 1.5, true, null, "x\"\\\n\u{1}ü"], "get-sum": {}, "end": { "b": [] }, "2": "]]",
        });
        let lua = mlua::Lua::new();
        lua.load("json = {null = '∅'}").exec().unwrap();
        let read: mlua::Table = lua.load(literal(&value)).eval().unwrap();
        let items: mlua::Table = read.get("a").unwrap();
        assert_eq!(items.get::<String>(5).unwrap(), "x\"\\\n\u{1}ü");
        assert_eq!(items.get::<String>(4).unwrap(), "∅");
        assert!(read.get::<mlua::Table>("end").unwrap().contains_key("b").unwrap());
        assert!(read.contains_key("get-sum").unwrap());
        assert_eq!(
            (path_step("a"), path_step("end"), path_step("a b")),
            (".a".into(), "[\"end\"]".into(), "[\"a b\"]".into())
        );
    }
}
