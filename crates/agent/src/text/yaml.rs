//! Parsing of YAML 1.2 (core schema) into JSON values.
//!
//! Aliases can make a small text a large value, so the size of all copies is counted and limited.

use crate::limits::{YAML_COPIED_BYTES, YAML_DEPTH};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// Parses the first document of a YAML text.
///
/// # Errors
///
/// Names the problem, and the line if it is known.
pub fn parse_yaml(text: &str) -> Result<Value, String> {
    let mut loader = Loader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| error.to_string())?;
        let read = loader.take(event);
        if let Some(value) = read.map_err(|why| format!("{why}, in line {}", span.start.line()))? {
            return Ok(value);
        }
    }
    Err("there is nothing in it".to_owned())
}

/// The state of the parser.
#[derive(Default)]
struct Loader {
    /// Lists and maps that are still incomplete.
    open: Vec<Open>,
    /// The values of anchors by number, each with the cost of a copy.
    named: HashMap<usize, (Value, usize)>,
    copied: usize,
}

/// An incomplete list or map, with its anchor's number; 0 if it has none.
enum Open {
    List(Vec<Value>, usize),
    /// With the key whose value is next, and whether the key is a merge key.
    Map(Map<String, Value>, Option<(String, bool)>, usize),
}

impl Loader {
    /// Processes an event; returns the document's value when it is complete.
    fn take(&mut self, event: Event<'_>) -> Result<Option<Value>, String> {
        match event {
            Event::Scalar(text, style, name, tag) => {
                if let Some(Open::Map(_, key @ None, _)) = self.open.last_mut() {
                    let merges = text == "<<" && style == ScalarStyle::Plain;
                    *key = Some((text.clone().into_owned(), merges));
                    return match name {
                        0 => Ok(None),
                        name => self.name(name, &Value::String(text.into_owned())).map(|()| None),
                    };
                }
                self.add(scalar(&text, style, tag.as_deref()), name)
            }
            Event::Alias(name) => {
                let (value, cost) =
                    self.named.get(&name).ok_or("an alias refers to its own parent, or to nothing")?;
                let (value, cost) = (value.clone(), *cost);
                self.count_cost(cost)?;
                if let (Some(Open::Map(_, key @ None, _)), Value::String(text)) =
                    (self.open.last_mut(), &value)
                {
                    *key = Some((text.clone(), false));
                    return Ok(None);
                }
                self.add(value, 0)
            }
            Event::SequenceStart(name, _) => self.begin(Open::List(Vec::new(), name)),
            Event::MappingStart(name, _) => self.begin(Open::Map(Map::new(), None, name)),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(items, name)) => self.add(Value::Array(items), name),
                Some(Open::Map(map, _, name)) => self.add(Value::Object(map), name),
                None => Err("something ends that did not begin".to_owned()),
            },
            // An empty document is a `null` scalar; the remaining events carry no content.
            _ => Ok(None),
        }
    }

    fn begin(&mut self, open: Open) -> Result<Option<Value>, String> {
        if let Some(Open::Map(_, None, _)) = self.open.last() {
            return Err("a key is a list or a map".to_owned());
        }
        if self.open.len() >= YAML_DEPTH {
            return Err(format!("it is more than {YAML_DEPTH} levels deep"));
        }
        self.open.push(open);
        Ok(None)
    }

    /// Adds a value to the innermost list or map, or returns it if there is none.
    fn add(&mut self, value: Value, name: usize) -> Result<Option<Value>, String> {
        if name != 0 {
            self.name(name, &value)?;
        }
        match self.open.last_mut() {
            // Aliases can nest deeper than the text does.
            None if depth(&value) > YAML_DEPTH => {
                return Err(format!("it is more than {YAML_DEPTH} levels deep"));
            }
            None => return Ok(Some(value)),
            Some(Open::List(items, _)) => items.push(value),
            Some(Open::Map(map, key, _)) => match key.take() {
                Some((_, true)) => merge(map, value)?,
                Some((key, false)) => drop(map.insert(key, value)),
                None => return Err("a key is a list or a map".to_owned()),
            },
        }
        Ok(None)
    }

    fn name(&mut self, name: usize, value: &Value) -> Result<(), String> {
        let cost = cost(value);
        self.count_cost(cost)?;
        self.named.insert(name, (value.clone(), cost));
        Ok(())
    }

    fn count_cost(&mut self, cost: usize) -> Result<(), String> {
        self.copied = self.copied.saturating_add(cost);
        match self.copied > YAML_COPIED_BYTES {
            true => Err(format!("what its names stand for is more than {YAML_COPIED_BYTES} bytes")),
            false => Ok(()),
        }
    }
}

/// Returns the approximate size of a copy, in bytes.
fn cost(value: &Value) -> usize {
    let own = size_of::<Value>();
    match value {
        Value::String(text) => own + text.len(),
        Value::Array(items) => own + items.iter().map(cost).sum::<usize>(),
        Value::Object(map) => {
            own + map.iter().map(|(key, value)| own + key.len() + cost(value)).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => own,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Merges another map's keys for `<<`; existing keys are kept.
fn merge(map: &mut Map<String, Value>, other: Value) -> Result<(), String> {
    match other {
        Value::Object(other) => {
            for (key, value) in other {
                map.entry(key).or_insert(value);
            }
        }
        Value::Array(others) => return others.into_iter().try_for_each(|other| merge(map, other)),
        _ => return Err("`<<` must be a map".to_owned()),
    }
    Ok(())
}

/// Parses a scalar.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    if style != ScalarStyle::Plain || is_text {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let whole = |digits: &str, radix| {
        let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten().map(Number::from)
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return whole(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return whole(digits, 8);
    }
    // JSON has no `.inf` and `.nan`, so they are text, and so are `inf` and `nan`, which Rust would
    // parse.
    if !text.ends_with(|c: char| c.is_ascii_digit() || c == '.')
        || !text.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let as_whole =
        unsigned.parse::<i64>().map(Number::from).or_else(|_| unsigned.parse::<u64>().map(Number::from));
    as_whole.ok().or_else(|| unsigned.parse::<f64>().ok().and_then(Number::from_f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expected: Result<Value, &str>) {
        match (parse_yaml(text), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn values_are_what_they_would_be_in_json() {
        check("a: 1\nb: [x, 'y', \"z\\n\"]\n", Ok(json!({ "a": 1, "b": ["x", "y", "z\n"] })));
        check("openapi: 3.0.3\n'200': yes\n200: on\n", Ok(json!({ "openapi": "3.0.3", "200": "on" })));
        check(
            "[~, null, true, False, -7, +7, 1.5, 1e3, 0x1F, 0o17, 010, '1', !!str 1, 1_000, 2020-01-02, .inf, .nan, inf, 1.2.3]",
            Ok(json!([
                null,
                null,
                true,
                false,
                -7,
                7,
                1.5,
                1000.0,
                31,
                15,
                10,
                "1",
                "1",
                "1_000",
                "2020-01-02",
                ".inf",
                ".nan",
                "inf",
                "1.2.3"
            ])),
        );
        check("18446744073709551615", Ok(json!(u64::MAX)));
        check("a: |\n  one\n  two\nb: >\n  one\n  two\n", Ok(json!({ "a": "one\ntwo\n", "b": "one two\n" })));
        check("a: &x { b: 1 }\nc: *x\n", Ok(json!({ "a": { "b": 1 }, "c": { "b": 1 } })));
        let merged = json!({ "base": { "a": 1, "b": 2 }, "own": { "a": 3, "b": 2 } });
        check("base: &x { a: 1, b: 2 }\nown: { <<: *x, a: 3 }\n", Ok(merged));
        check("&k a: 1\nb: *k\n", Ok(json!({ "a": 1, "b": "a" })));
        check("---\na: 1\n---\nb: 2\n", Ok(json!({ "a": 1 })));
        check("a:\nb: 1\n", Ok(json!({ "a": null, "b": 1 })));
    }

    #[test]
    fn invalid_yaml_is_refused() {
        check("", Err("nothing in it"));
        check("a: [1", Err(""));
        check("a: b: c", Err(""));
        check("? [a]\n: b\n", Err("a key is a list"));
        check("a: *x\n", Err(""));
        check("a: &x [*x]\n", Err("refers to its own parent"));
        check(&"[".repeat(200), Err("levels deep"));
        check(&"[".repeat(1_000_000), Err(""));
        check("a: { <<: 7 }", Err("`<<` must be a map"));
    }

    #[test]
    fn a_small_text_does_not_become_a_large_value() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..20 {
            let item = format!("*a{}", n - 1);
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![item; 10].join(", ")));
        }
        check(&bomb, Err("names stand for is more than"));
        let long = format!("a: &x {}\nb: [{}]\n", "y".repeat(100_000), vec!["*x"; 1_000].join(", "));
        check(&long, Err("names stand for is more than"));
        let chain = (1..300).map(|n| format!("a{n}: &a{n} [*a{}]\n", n - 1)).collect::<String>();
        check(&format!("a0: &a0 [x]\n{chain}"), Err("levels deep"));
        // An anchor within an anchor is charged for its content again.
        let nested = (0..100).map(|n| format!("&n{n} [")).collect::<String>()
            + &"x".repeat(1_000_000)
            + &"]".repeat(100);
        check(&nested, Err("names stand for is more than"));
    }
}
