//! Changes one entry of a settings file in JSON with comments, as text: everything else stays as
//! the user wrote it.

use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions,
    cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode},
    parse_to_ast,
    tokens::{Token, TokenAndRange},
};
use serde_json::{Map, Value};

/// What editors read: JSON with comments and trailing commas, and no other liberties.
const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The reason why a file is not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsoncError {
    /// It is no JSON with comments.
    #[error("line {line} is not valid JSON with comments: {what}")]
    Syntax { line: usize, what: String },
    /// What should be an object is none.
    #[error("{what} is not an object")]
    NotAnObject { what: String },
    /// A name is there twice, so it is open which one counts.
    #[error("{what} is there twice")]
    Twice { what: String },
    /// The text after the edit would have another meaning than intended.
    #[error("it has a form that cannot be edited safely")]
    Unsafe,
}

/// Returns the text with `fields` set in the entry `section` / `name`. The entry's other fields
/// stay. `None` if they all have these values already.
pub(crate) fn set(
    text: &str,
    section: &str,
    name: &str,
    fields: &[(&str, Value)],
) -> Result<Option<String>, JsoncError> {
    let root = parse(text)?;
    let mut expected = value(&root);
    let object = root_object(&root)?;
    let sections = match only(&object, section)? {
        Some(found) => object_of(&found, &quoted(section))?,
        None => object.object_value_or_set(section),
    };
    let what = format!("{} / {}", quoted(section), quoted(name));
    match only(&sections, name)? {
        Some(found) => {
            let entry = object_of(&found, &what)?;
            for (field, wanted) in fields {
                match only(&entry, field)? {
                    Some(found) if current(&found).as_ref() == Some(wanted) => {}
                    Some(found) => found.set_value(input(wanted)),
                    None => drop(entry.append(field, input(wanted))),
                }
            }
        }
        None => {
            let all = fields.iter().map(|(field, wanted)| ((*field).to_owned(), input(wanted))).collect();
            sections.append(name, CstInputValue::Object(all));
        }
    }
    let entry = object_in(object_in(&mut expected, section)?, name)?;
    entry.extend(fields.iter().map(|(field, wanted)| ((*field).to_owned(), wanted.clone())));
    checked(text, root.to_string(), &expected)
}

/// Returns the text without the entry `section` / `name`; `None` if there is none. Comments stay.
pub(crate) fn remove(text: &str, section: &str, name: &str) -> Result<Option<String>, JsoncError> {
    let root = parse(text)?;
    let Some(sections) = only(&root_object(&root)?, section)? else { return Ok(None) };
    if only(&object_of(&sections, &quoted(section))?, name)?.is_none() {
        return Ok(None);
    }
    let mut expected = value(&root);
    object_in(&mut expected, section)?.remove(name);
    let after = cut(text, section, name).ok_or(JsoncError::Unsafe)?;
    checked(text, after, &expected)
}

/// Cuts an entry out of the text, with one comma beside it and the line that it leaves empty. The
/// library's own removal takes comments with it.
fn cut(text: &str, section: &str, name: &str) -> Option<String> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: true };
    let parsed = parse_to_ast(text, &collect, &JSONC).ok()?;
    let root = parsed.value?;
    let entry = root.as_object()?.get_object(section)?.get(name)?.range;
    let tokens = parsed.tokens?;
    let comma = |token: &&TokenAndRange| matches!(token.token, Token::Comma);
    let after = tokens.iter().find(|token| token.range.start >= entry.end).filter(comma);
    let before = || tokens.iter().rev().find(|token| token.range.end <= entry.start).filter(comma);
    let comma = after.or_else(before).map(|token| token.range.start..token.range.end);
    let (mut start, mut end) = (entry.start, entry.end);
    let mut rest = None;
    match comma {
        Some(comma)
            if text[end..].find(|c| c != ' ' && c != '\t').map(|blanks| end + blanks)
                == Some(comma.start) =>
        {
            end = comma.end;
        }
        other => rest = other,
    }
    let line = text[..start].trim_end_matches([' ', '\t']);
    let below = text[end..].trim_start_matches([' ', '\t', '\r']);
    if line.is_empty() || line.ends_with('\n') {
        start = line.len();
        if let Some(below) = below.strip_prefix('\n') {
            end = text.len() - below.len();
        }
    }
    let mut after = text.to_owned();
    let mut gaps: Vec<_> = rest.into_iter().chain(std::iter::once(start..end)).collect();
    gaps.sort_by_key(|gap| std::cmp::Reverse(gap.start));
    gaps.into_iter().for_each(|gap| after.replace_range(gap, ""));
    Some(after)
}

/// Returns the value of the entry `section` / `name`.
pub(crate) fn get(text: &str, section: &str, name: &str) -> Result<Option<Value>, JsoncError> {
    let root = parse(text)?;
    let Some(sections) = only(&root_object(&root)?, section)? else { return Ok(None) };
    Ok(only(&object_of(&sections, &quoted(section))?, name)?.and_then(|found| current(&found)))
}

fn parse(text: &str) -> Result<CstRootNode, JsoncError> {
    CstRootNode::parse(text, &JSONC).map_err(|error| JsoncError::Syntax {
        line: error.line_display(),
        what: error.kind().to_string().to_lowercase(),
    })
}

/// The fields of the whole text; none if it is empty.
fn value(root: &CstRootNode) -> Map<String, Value> {
    match root.to_serde_value() {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn root_object(root: &CstRootNode) -> Result<CstObject, JsoncError> {
    root.object_value_or_create().ok_or_else(|| JsoncError::NotAnObject { what: "the file".to_owned() })
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

fn object_of(property: &CstObjectProp, what: &str) -> Result<CstObject, JsoncError> {
    property.object_value().ok_or_else(|| JsoncError::NotAnObject { what: what.to_owned() })
}

/// The object of this name, which is created if it is missing.
fn object_in<'a>(
    parent: &'a mut Map<String, Value>,
    name: &str,
) -> Result<&'a mut Map<String, Value>, JsoncError> {
    let child = parent.entry(name).or_insert_with(|| Value::Object(Map::new()));
    child.as_object_mut().ok_or(JsoncError::Unsafe)
}

/// Returns the property of this name.
///
/// # Errors
/// If there are two.
fn only(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, JsoncError> {
    let named = |property: &CstObjectProp| property.decoded_name().as_deref() == Some(name);
    let mut found = object.properties().into_iter().filter(named);
    match (found.next(), found.next()) {
        (first, None) => Ok(first),
        _ => Err(JsoncError::Twice { what: quoted(name) }),
    }
}

fn current(property: &CstObjectProp) -> Option<Value> {
    property.value()?.to_serde_value()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

/// Checks that the edited text means what it should.
fn checked(before: &str, after: String, expected: &Map<String, Value>) -> Result<Option<String>, JsoncError> {
    let parsed = parse(&after).map_err(|_| JsoncError::Unsafe)?;
    if value(&parsed) != *expected {
        return Err(JsoncError::Unsafe);
    }
    Ok((after != before).then_some(after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const SECTION: &str = "agent_servers";

    fn entry() -> Vec<(&'static str, Value)> {
        vec![("command", json!("/x/tiller")), ("args", json!(["acp"]))]
    }

    fn installed(text: &str) -> String {
        set(text, SECTION, "Tiller", &entry()).unwrap().unwrap_or_else(|| text.to_owned())
    }

    #[track_caller]
    fn check(before: &str, after: &str) {
        let found = installed(before);
        assert_eq!(found, after, "\n{found}");
        assert_eq!(set(&found, SECTION, "Tiller", &entry()), Ok(None), "a second time");
    }

    #[test]
    fn an_entry_is_added_in_the_style_of_the_file() {
        let section = "  \"agent_servers\": {\n    \"Tiller\": {\n      \"command\": \"/x/tiller\",\n      \"args\": [\"acp\"]\n    }\n  }\n";
        check("", &format!("{{\n{section}}}\n"));
        check("{}\n", &format!("{{\n{section}}}\n"));
        check(
            "// mine\n{\n  // dark\n  \"theme\": \"One\", // at night\n}\n",
            "// mine\n{\n  // dark\n  \"theme\": \"One\", // at night\n  \"agent_servers\": {\n    \"Tiller\": {\n      \"command\": \"/x/tiller\",\n      \"args\": [\"acp\"]\n    }\n  },\n}\n",
        );
        check(
            "{\n\t\"agent_servers\": {\n\t\t\"Other\": { \"command\": \"o\" } /* keep */\n\t}\n}",
            "{\n\t\"agent_servers\": {\n\t\t\"Other\": { \"command\": \"o\" }, /* keep */\n\t\t\"Tiller\": {\n\t\t\t\"command\": \"/x/tiller\",\n\t\t\t\"args\": [\"acp\"]\n\t\t}\n\t}\n}",
        );
        check(
            "{\r\n  \"a\": 1\r\n}\r\n",
            "{\r\n  \"a\": 1,\r\n  \"agent_servers\": {\r\n    \"Tiller\": {\r\n      \"command\": \"/x/tiller\",\r\n      \"args\": [\"acp\"]\r\n    }\r\n  }\r\n}\r\n",
        );
    }

    #[test]
    fn an_entry_keeps_what_the_user_added_to_it() {
        let text = r#"{"agent_servers":{"Tiller":{"env":{"K":"v"},/* c */"command":"old","args":["acp"]}}}"#;
        check(text, &text.replace("old", "/x/tiller"));
    }

    #[test]
    fn an_entry_is_removed_and_nothing_else() {
        let text = "{\n  \"agent_servers\": {\n    // first\n    \"A\": {},\n    \"Tiller\": { \"x\": 1 },\n    \"B\": {} // last\n  },\n}\n";
        let after = remove(text, SECTION, "Tiller").unwrap().unwrap();
        assert_eq!(after, text.replace("    \"Tiller\": { \"x\": 1 },\n", ""));
        assert_eq!(remove(&after, SECTION, "Tiller"), Ok(None));
        assert_eq!(remove("", SECTION, "Tiller"), Ok(None));
    }

    #[test]
    fn what_cannot_be_edited_safely_is_refused_with_the_reason() {
        for (text, says) in [
            ("{", "line 1"),
            ("{\n\n'a': 1}", "line 3"),
            ("{\"a\": 1 \"b\": 2}", "line 1"),
            ("{a: 1}", "line 1"),
            ("[]", "the file is not an object"),
            ("3", "the file is not an object"),
            ("{\"agent_servers\": []}", "\"agent_servers\" is not an object"),
            ("{\"agent_servers\": null}", "\"agent_servers\" is not an object"),
            ("{\"agent_servers\": {\"Tiller\": \"x\"}}", "\"agent_servers\" / \"Tiller\" is not an object"),
            ("{\"agent_servers\": {}, \"agent_servers\": {}}", "\"agent_servers\" is there twice"),
            // The same name, written in another way.
            ("{\"agent_servers\": {}, \"agent_server\\u0073\": {}}", "\"agent_servers\" is there twice"),
            ("{\"agent_servers\": {\"Tiller\": {}, \"Tiller\": {}}}", "\"Tiller\" is there twice"),
            ("{} {}", "line 1"),
            ("<<<<<<< HEAD\n{}\n", "line 1"),
        ] {
            let error = set(text, SECTION, "Tiller", &entry()).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let deep = "[".repeat(100_000);
        assert!(set(&deep, SECTION, "Tiller", &entry()).is_err());
    }

    #[test]
    fn a_hostile_name_stays_a_name() {
        for name in ["a\"b", "\\", "\n", "}", "//", "\u{0}", "", "é", "\u{2028}"] {
            let after = set("{}", SECTION, name, &entry()).unwrap().unwrap();
            assert_eq!(get(&after, SECTION, name).unwrap().unwrap()["command"], "/x/tiller", "{name:?}");
            assert_eq!(
                remove(&after, SECTION, name).unwrap().map(|text| get(&text, SECTION, name)),
                Some(Ok(None))
            );
        }
    }

    /// A settings file with comments, blanks and trailing commas at random places.
    fn document() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("-1.5e3".to_owned()),
            Just("true".to_owned()),
            "[a-z/*{}, \\[\\]:é]{0,6}".prop_map(|text| format!("{text:?}")),
        ];
        let gap = || {
            prop_oneof![
                4 => Just(String::new()),
                2 => Just(" ".to_owned()),
                2 => Just("\n  ".to_owned()),
                1 => Just("/* } c */".to_owned()),
                1 => Just(" // c \" {\n".to_owned()),
                1 => Just("\r\n\t".to_owned()),
            ]
        };
        let body = |(members, comma, end): (Vec<String>, bool, String)| {
            let comma = if comma && !members.is_empty() { "," } else { "" };
            format!("{}{comma}{end}", members.join(","))
        };
        let value = leaf.prop_recursive(3, 24, 4, move |inner| {
            let item = (gap(), inner.clone(), gap()).prop_map(|(a, item, b)| a + &item + &b);
            let array = (prop::collection::vec(item, 0..3), any::<bool>(), gap())
                .prop_map(body)
                .prop_map(|body| format!("[{body}]"));
            let members = prop::collection::vec((gap(), inner, gap()), 0..4);
            let object = (members, any::<bool>(), gap()).prop_map(move |(members, comma, end)| {
                let members = members.into_iter().enumerate();
                let members = members.map(|(at, (a, value, b))| format!("{a}\"k{at}\"{b}:{a}{value}{b}"));
                format!("{{{}}}", body((members.collect(), comma, end)))
            });
            prop_oneof![array, object]
        });
        let object = |value: &str| value.starts_with('{');
        let section = prop_oneof![
            2 => Just(None),
            2 => value.clone().prop_filter("an object", move |value| object(value)).prop_map(Some),
        ];
        (gap(), prop::collection::vec((gap(), value, gap()), 0..3), section, any::<bool>(), gap()).prop_map(
            move |(before, members, section, comma, end)| {
                let mut members: Vec<_> = members
                    .into_iter()
                    .enumerate()
                    .map(|(at, (a, value, b))| format!("{a}\"key{at}\"{b}:{a}{value}{b}"))
                    .collect();
                members.extend(section.map(|section| format!("\n\"{SECTION}\":{section}")));
                format!("{before}{{{}}}{end}", body((members, comma, end.clone())))
            },
        )
    }

    /// The text without blanks and commas: those may be added around the entry.
    fn bare(text: &str) -> Vec<char> {
        text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
    }

    proptest! {
        #[test]
        fn one_piece_is_added_and_everything_else_stays(text in document()) {
            let after = installed(&text);
            prop_assert_eq!(set(&after, SECTION, "Tiller", &entry()), Ok(None));
            prop_assert_eq!(get(&after, SECTION, "Tiller").unwrap().unwrap()["args"].clone(), json!(["acp"]));
            let (old, new) = (bare(&text), bare(&after));
            let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
            let added = new.len() - old.len();
            prop_assert!(
                (0..=same).any(|at| old[at..] == new[at + added..]),
                "{}\n--- became ---\n{}", text, after
            );
            let removed = remove(&after, SECTION, "Tiller").unwrap().unwrap();
            if text.contains(SECTION) {
                prop_assert_eq!(bare(&removed), old, "{}\n--- became ---\n{}", text, removed);
            }
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}:,\"/*a\\n\\\\ 0-9]{0,40}") {
            let _ = set(&text, SECTION, "Tiller", &entry());
            let _ = remove(&text, SECTION, "Tiller");
        }
    }
}
