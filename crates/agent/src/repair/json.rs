//! A lenient JSON parser for what models write: accepts text with one clear meaning, and refuses
//! text that would need a guess.
//!
//! Accepted beyond RFC 8259: a surrounding code fence, comments, trailing commas, single quotes,
//! unquoted keys, raw line breaks in strings, Python's `True`, `False` and `None`, surplus closing
//! brackets, and JSON inside a JSON string. Consecutive values are returned as several values. An
//! unterminated string is never closed; brackets missing at the very end are reported to the
//! caller. The JSON5 parsers on crates.io accept no raw line breaks and do not report truncation,
//! hence this one.

use serde_json::{Map, Number, Value};

/// Maximum nesting of brackets.
const DEPTH: usize = 64;
/// Maximum nesting of JSON inside JSON strings.
const LAYERS: usize = 3;

/// The values in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// The values in order; at least one.
    pub(crate) values: Vec<Value>,
    /// Whether closing brackets were missing after the last value.
    pub(crate) unclosed: bool,
}

/// Why a text cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JsonError {
    /// It ends inside a string, or before a value.
    CutOff,
    /// It is malformed; holds a description.
    Invalid(String),
}

/// Parses the values of a text.
pub(crate) fn read(text: &str) -> Result<Found, JsonError> {
    let bare = bare(text);
    let found = match serde_json::from_str::<Value>(bare) {
        Ok(value) => Found { values: vec![value], unclosed: false },
        Err(_) => match values(bare) {
            Ok(found) => found,
            // A whole object escaped as if it were inside a string.
            Err(error) if bare.starts_with("{\\\"") => serde_json::from_str::<String>(&format!("\"{bare}\""))
                .ok()
                .and_then(|inner| serde_json::from_str(&inner).ok())
                .map(|value| Found { values: vec![value], unclosed: false })
                .ok_or(error)?,
            Err(error) => return Err(error),
        },
    };
    Ok(unwrapped(found, LAYERS))
}

/// Parses one value at the beginning of a text; returns it with its length in bytes.
pub(crate) fn prefix(text: &str) -> Result<(Value, usize), JsonError> {
    let mut reader = Reader { text, at: 0, depth: 0, unclosed: false };
    let value = reader.value()?;
    match reader.unclosed {
        true => Err(JsonError::CutOff),
        false => Ok((value, reader.at)),
    }
}

/// Unwraps a string that only holds JSON, and a list of objects.
fn unwrapped(found: Found, layers: usize) -> Found {
    let Found { mut values, unclosed } = found;
    match values.as_mut_slice() {
        [Value::String(text)] if layers > 0 && text.trim_start().starts_with(['{', '[', '"', '`']) => {
            match serde_json::from_str::<Value>(bare(text)).ok().map(|value| vec![value]) {
                Some(values) => unwrapped(Found { values, unclosed }, layers - 1),
                None => match self::values(bare(text)) {
                    Ok(inner) => {
                        unwrapped(Found { unclosed: unclosed || inner.unclosed, ..inner }, layers - 1)
                    }
                    Err(_) => Found { values, unclosed },
                },
            }
        }
        [Value::Array(items)] if !items.is_empty() && items.iter().all(Value::is_object) => {
            Found { values: std::mem::take(items), unclosed }
        }
        _ => Found { values, unclosed },
    }
}

/// Strips a code fence and the end mark of a template.
fn bare(text: &str) -> &str {
    let mut text = text.trim_start_matches('\u{feff}').trim();
    while let Some(begin) = text.rfind("<|").filter(|_| text.ends_with("|>")) {
        text = text[..begin].trim_end();
    }
    if let Some(fenced) = text.strip_prefix("```") {
        let body =
            fenced.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || "_-".contains(char));
        text = body.trim_end().trim_end_matches('`').trim();
    }
    text
}

fn values(text: &str) -> Result<Found, JsonError> {
    let mut reader = Reader { text, at: 0, depth: 0, unclosed: false };
    let mut values = Vec::new();
    loop {
        values.push(reader.value()?);
        reader.blank()?;
        while let Some('}' | ']' | ',' | ';') = reader.peek() {
            reader.at += 1;
            reader.blank()?;
        }
        match reader.peek() {
            None => return Ok(Found { values, unclosed: reader.unclosed }),
            Some('{') if values.iter().all(Value::is_object) => {}
            Some(_) => return Err(reader.invalid("something follows the value")),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether the text ended between two values of an object or a list.
    unclosed: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn invalid(&self, what: &str) -> JsonError {
        let near: String = self.rest().chars().take(12).collect();
        let at = self.text[..self.at].chars().count();
        match near.is_empty() {
            true => JsonError::CutOff,
            false => JsonError::Invalid(format!("{what} at character {at}, near {near:?}")),
        }
    }

    /// Skips whitespace and comments.
    fn blank(&mut self) -> Result<(), JsonError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(inside) = rest.strip_prefix("/*") {
                self.at += 4 + inside.find("*/").ok_or(JsonError::CutOff)?;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<Value, JsonError> {
        self.blank()?;
        match self.peek() {
            None => Err(JsonError::CutOff),
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::list),
            Some(quote @ ('"' | '\'')) => self.string(quote).map(Value::String),
            Some(char) if char == '-' || char.is_ascii_digit() => self.number(),
            Some(_) => self.word(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, JsonError>) -> Result<Value, JsonError> {
        if self.depth == DEPTH {
            return Err(self.invalid("too many brackets inside each other"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        let mut fields = Map::new();
        loop {
            self.blank()?;
            match self.peek() {
                Some('}') => {
                    self.at += 1;
                    return Ok(Value::Object(fields));
                }
                None if !fields.is_empty() => {
                    self.unclosed = true;
                    return Ok(Value::Object(fields));
                }
                _ => {}
            }
            let key = self.key()?;
            self.blank()?;
            if self.next() != Some(':') {
                self.at = self.text.len().min(self.at);
                return Err(self.invalid("a key has no value"));
            }
            let value = self.value()?;
            if fields.insert(key.clone(), value).is_some() {
                return Err(JsonError::Invalid(format!("{key:?} is given twice")));
            }
            if !self.another('}')? {
                return Ok(Value::Object(fields));
            }
        }
    }

    fn list(&mut self) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        loop {
            self.blank()?;
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    return Ok(Value::Array(items));
                }
                None if !items.is_empty() => {
                    self.unclosed = true;
                    return Ok(Value::Array(items));
                }
                _ => {}
            }
            items.push(self.value()?);
            if !self.another(']')? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// Whether another element may follow; otherwise the end was consumed, or is missing.
    fn another(&mut self, end: char) -> Result<bool, JsonError> {
        self.blank()?;
        match self.peek() {
            Some(',') => {
                self.at += 1;
                Ok(true)
            }
            Some(char) if char == end => {
                self.at += 1;
                Ok(false)
            }
            None => {
                self.unclosed = true;
                Ok(false)
            }
            Some(_) => Err(self.invalid("a comma or an end is missing")),
        }
    }

    fn key(&mut self) -> Result<String, JsonError> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.string(quote),
            Some(char) if char.is_alphabetic() || char == '_' || char == '-' => {
                let part = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
                let length = self.rest().find(|char| !part(char)).ok_or(JsonError::CutOff)?;
                let key = self.rest()[..length].to_owned();
                self.at += length;
                Ok(key)
            }
            _ => Err(self.invalid("a key is missing")),
        }
    }

    fn string(&mut self, quote: char) -> Result<String, JsonError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next().ok_or(JsonError::CutOff)? {
                char if char == quote => return Ok(text),
                '\\' => self.escape(&mut text)?,
                char => text.push(char),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), JsonError> {
        match self.next().ok_or(JsonError::CutOff)? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => text.push(self.unicode()?),
            char @ ('"' | '\'' | '\\' | '/' | '`') => text.push(char),
            // `\d` and `\.` of an unescaped regular expression have only one possible meaning.
            char => text.extend(['\\', char]),
        }
        Ok(())
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let high = self.hex()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.invalid("an escape is half of a surrogate pair"));
        }
        if !self.rest().starts_with("\\u") {
            return Err(self.invalid("an escape is half of a surrogate pair"));
        }
        self.at += 2;
        let low = self.hex()?.wrapping_sub(0xdc00);
        let code = 0x10000 + ((high - 0xd800) << 10) + low;
        char::from_u32(code)
            .filter(|_| low < 0x400)
            .ok_or_else(|| self.invalid("an escape is half of a surrogate pair"))
    }

    fn hex(&mut self) -> Result<u32, JsonError> {
        let digits = self.rest().get(..4).ok_or(JsonError::CutOff)?;
        let code = u32::from_str_radix(digits, 16).map_err(|_| self.invalid("no hexadecimal number"))?;
        self.at += 4;
        Ok(code)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let part = |char: char| char.is_ascii_digit() || "+-.eE".contains(char);
        let rest = self.rest();
        let length = rest.find(|char| !part(char)).unwrap_or(rest.len());
        let number: Number = rest[..length].parse().map_err(|_| self.invalid("no number"))?;
        self.at += length;
        Ok(Value::Number(number))
    }

    fn word(&mut self) -> Result<Value, JsonError> {
        let rest = self.rest();
        let length = rest.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len());
        let value = match &rest[..length] {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            _ => return Err(self.invalid("no value")),
        };
        self.at += length;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn whole(values: &[Value]) -> Result<Found, JsonError> {
        Ok(Found { values: values.to_vec(), unclosed: false })
    }

    #[test]
    fn harmless_faults_are_read() {
        let file = json!({"path": "a.py"});
        for text in [
            r#"{"path":"a.py",}"#,
            "{'path':'a.py'}",
            "{path: \"a.py\"}",
            "```json\n{\"path\": \"a.py\"}\n```",
            "```\n{\"path\": \"a.py\"}",
            r#""{\"path\":\"a.py\"}""#,
            r#""\"{\\\"path\\\":\\\"a.py\\\"}\"""#,
            r#"{\"path\":\"a.py\"}"#,
            r#"[{"path":"a.py"}]"#,
            r#"{"path":"a.py"}}"#,
            "{\"path\":\"a.py\"}<|im_end|>",
            "{ // which file\n \"path\": /* here */ \"a.py\" }",
            "\u{feff}{\"path\":\"a.py\"}",
        ] {
            assert_eq!(read(text), whole(std::slice::from_ref(&file)), "{text}");
        }
        for (text, expected) in [
            ("{\"content\":\"a\nb\tc\"}", json!({"content": "a\nb\tc"})),
            ("{'ok': True, 'no': False, 'none': None}", json!({"ok": true, "no": false, "none": null})),
            (r#"{"pattern":"\d+\."}"#, json!({"pattern": "\\d+\\."})),
            ("{'text': 'it\\'s \"so\"'}", json!({"text": "it's \"so\""})),
            (r#"{"a":[1,-2.5e3,],}"#, json!({"a": [1, -2.5e3]})),
            (r#"{a:"\u00e4\ud83d\ude00"}"#, json!({"a": "ä😀"})),
            ("\"ls -la\"", json!("ls -la")),
        ] {
            assert_eq!(read(text), whole(&[expected]), "{text}");
        }
    }

    #[test]
    fn several_values_are_several() {
        let two = [json!({"path": "a"}), json!({"path": "b"})];
        for text in [
            r#"{"path":"a"}{"path":"b"}"#,
            "{\"path\":\"a\"}\n{\"path\":\"b\"}",
            r#"{"path":"a"}, {"path":"b"}"#,
            r#"[{"path":"a"},{"path":"b"}]"#,
        ] {
            assert_eq!(read(text), whole(&two), "{text}");
        }
    }

    #[test]
    fn missing_brackets_are_reported_and_strings_are_never_closed() {
        for (text, value) in [
            (r#"{"path":"a.py""#, json!({"path": "a.py"})),
            (r#"{"path":"a.py","#, json!({"path": "a.py"})),
            (r#"{"a":{"b":["c""#, json!({"a": {"b": ["c"]}})),
        ] {
            assert_eq!(read(text), Ok(Found { values: vec![value], unclosed: true }), "{text}");
        }
        for text in [
            "{",
            "",
            r#"{"path"#,
            r#"{"path":"#,
            r#"{"path":"a.p"#,
            r#"{"path":"a.py\"#,
            r#"{"a":"x","content":"one\ntw"#,
            "{'a':'it",
        ] {
            assert_eq!(read(text), Err(JsonError::CutOff), "{text}");
        }
    }

    #[test]
    fn what_would_have_to_be_guessed_is_refused() {
        for text in [
            "rm -rf /",
            "{path: a.py}",
            r#"{"a":"x" "b":"y"}"#,
            r#"{'a':'it's'}"#,
            r#"{"path":"a",'path':'b'}"#,
            r#"{"path":"a"} is the file"#,
            r#"{"a":1.2.3}"#,
            r#"{"a":"\ud83dx",}"#,
        ] {
            assert!(matches!(read(text), Err(JsonError::Invalid(_))), "{text}: {:?}", read(text));
        }
        let deep = "[".repeat(100_000);
        assert!(matches!(read(&deep), Err(JsonError::Invalid(_))));
    }

    #[test]
    fn a_value_at_the_beginning_has_a_length() {
        assert_eq!(prefix("{'a':1} and more"), Ok((json!({"a": 1}), 7)));
        assert_eq!(prefix("{'a':1"), Err(JsonError::CutOff));
    }
}
