//! The front matter of a SKILL.md or of a command's file: YAML between two lines `---`.

use crate::{limits::FRONT_MATTER_BYTES, text::yaml::parse_yaml};
use serde_json::{Map, Value};

/// A text with its front matter.
#[derive(Debug)]
pub(super) struct Document<'a> {
    /// The fields of the front matter; `None` if the text has none.
    pub(super) fields: Option<Map<String, Value>>,
    /// The rest of the text.
    pub(super) body: &'a str,
}

/// Splits a text into its front matter and the rest.
///
/// # Errors
///
/// Names what is wrong with the front matter.
pub(super) fn split(text: &str) -> Result<Document<'_>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((header, body)) = parts(text)? else {
        return Ok(Document { fields: None, body: text.trim() });
    };
    if header.len() > FRONT_MATTER_BYTES {
        return Err(format!("its front matter is larger than {FRONT_MATTER_BYTES} bytes"));
    }
    Ok(Document { fields: Some(fields(header)?), body: body.trim() })
}

/// Returns the front matter and the text after it; `None` if there is none.
fn parts(text: &str) -> Result<Option<(&str, &str)>, String> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return Ok(None) };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Ok(Some((&text[first.len()..end], &text[end + line.len()..])));
        }
        end += line.len();
    }
    Err("its front matter has no end: a line `---`".to_owned())
}

fn fields(header: &str) -> Result<Map<String, Value>, String> {
    if header.trim().is_empty() {
        return Ok(Map::new());
    }
    let parsed = parse_yaml(header);
    // Many files have unquoted values with a colon, such as `description: Use when: …`.
    let parsed = parsed.or_else(|why| parse_yaml(&with_quoted_values(header)).map_err(|_| why));
    match parsed {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("its front matter is not a list of `name: value`".to_owned()),
        Err(why) => Err(format!("its front matter is no valid YAML: {}", crate::one_line(&why))),
    }
}

/// Quotes the plain values of the outermost level.
fn with_quoted_values(header: &str) -> String {
    let mut quoted = String::with_capacity(header.len() + 16);
    for line in header.lines() {
        match line.split_once(':') {
            Some((key, value)) if is_key(key) && is_plain(value.trim()) => {
                let value = value.trim().replace('\'', "''");
                quoted.push_str(&format!("{key}: '{value}'\n"));
            }
            _ => quoted.extend([line, "\n"]),
        }
    }
    quoted
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

fn is_plain(value: &str) -> bool {
    match value.chars().next() {
        None | Some('"' | '\'' | '|' | '>') => false,
        Some('[' | '{') => parse_yaml(&format!("x: {value}\n")).is_err(),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, fields: Option<Value>, body: &str) {
        let found = split(text).unwrap();
        assert_eq!((found.fields.map(Value::Object), found.body), (fields, body), "{text:?}");
    }

    #[test]
    fn front_matter_is_what_stands_between_the_first_two_rules() {
        check("---\nname: a\n---\nBody\n---\nmore\n", Some(json!({ "name": "a" })), "Body\n---\nmore");
        check("\u{feff}---\r\nname: a\r\n---\r\nBody\r\n", Some(json!({ "name": "a" })), "Body");
        check("---\n---\n", Some(json!({})), "");
        check("Body\n---\nx\n---\n", None, "Body\n---\nx\n---");
        check("---\nd: >\n  one\n  two\nn: 1\n---\n", Some(json!({ "d": "one two\n", "n": 1 })), "");
    }

    #[test]
    fn unquoted_values_with_a_colon_are_texts() {
        let text = "---\nname: a\ndescription: Use when: it's a PDF # or so\nhint: [file] [page]\n---\n";
        let fields =
            json!({ "name": "a", "description": "Use when: it's a PDF # or so", "hint": "[file] [page]" });
        check(text, Some(fields), "");
    }

    #[test]
    fn invalid_front_matter_is_refused_with_the_reason() {
        let long = format!("---\nx: {}\n---\n", "y".repeat(FRONT_MATTER_BYTES));
        for (text, why) in [
            ("---\nname: a\n", "no end"),
            ("---\n- a\n---\n", "not a list of"),
            ("---\na: [\n---\n", ""),
            ("---\na: \"b\n---\n", "no valid YAML"),
            (long.as_str(), "larger than"),
        ] {
            match split(text) {
                Err(found) => assert!(found.contains(why), "{found}"),
                // An unclosed list is a text once it is quoted.
                Ok(Document { fields, .. }) => {
                    assert_eq!(fields.map(Value::Object), Some(json!({ "a": "[" })), "{text}")
                }
            }
        }
    }
}
