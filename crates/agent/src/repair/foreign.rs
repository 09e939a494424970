//! Call forms of other agents: arguments inside an envelope, one tool for several, a patch as a
//! command.

use super::{
    fields, names,
    schema::{Fields, Schema},
};
use crate::{AnyTool, Effect, tools::patch_of_command};
use serde_json::Value;
use std::sync::Arc;

/// Names of an argument that holds all arguments.
const ENVELOPES: [&str; 10] = [
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "tool_input",
    "action_input",
    "kwargs",
    "inputs",
    "payload",
];
/// Names that may occur beside an envelope.
const BESIDE: [&str; 8] = ["name", "tool", "tool_name", "function", "type", "id", "action", "recipient_name"];
/// Tools that are several in one, with the operation in `command`.
const EDITORS: [&str; 5] =
    ["strreplaceeditor", "strreplacebasededittool", "strreplaceedittool", "texteditor", "fileeditor"];
/// Tools that list a directory.
const LISTERS: [&str; 7] =
    ["ls", "dir", "listdir", "listdirectory", "listfiles", "listfolder", "listfilesindirectory"];

/// Unwraps an envelope such as `{"arguments": {…}}`; returns whether there was one.
pub(super) fn unwrapped(
    tool: &Arc<dyn AnyTool>,
    schema: &Schema<'_>,
    said: &str,
    given: Fields,
) -> (Fields, bool) {
    let is_envelope = |name: &str| ENVELOPES.contains(&fields::plain(name).as_str()) && !schema.has(name);
    let mut envelopes = given.keys().filter(|name| is_envelope(name));
    let (Some(name), None) = (envelopes.next().cloned(), envelopes.next()) else { return (given, false) };
    let fits_beside = |other: &String| {
        *other == name || BESIDE.contains(&fields::plain(other).as_str()) && !schema.has(other)
    };
    if !given.keys().all(fits_beside) || names_another(tool, said, &given) {
        return (given, false);
    }
    let inner = match &given[&name] {
        Value::Object(inner) => inner.clone(),
        Value::String(text) => match super::json::read(text) {
            Ok(found) if !found.unclosed && found.values.len() == 1 => {
                match found.values.into_iter().next() {
                    Some(Value::Object(inner)) => inner,
                    _ => return (given, false),
                }
            }
            _ => return (given, false),
        },
        _ => return (given, false),
    };
    // An MCP tool may really have such an argument: unwrap only what its schema knows.
    if !schema.is_closed() && (!schema.has_properties() || !inner.keys().all(|name| schema.has(name))) {
        return (given, false);
    }
    (inner, true)
}

/// Whether the name beside an envelope is that of another tool.
fn names_another(tool: &Arc<dyn AnyTool>, said: &str, given: &Fields) -> bool {
    let inside =
        ["name", "tool", "tool_name", "recipient_name"].iter().find_map(|key| given.get(*key)?.as_str());
    inside.is_some_and(|inside| inside != said && names::find(inside, &[&*tool.name()]).is_none())
}

/// The meaning of a call in terms of the available tools.
pub(super) struct ResolvedCall {
    /// The tool that is meant, if it differs from the call's.
    pub(super) name: Option<&'static str>,
    pub(super) given: Fields,
    pub(super) changed: bool,
}

/// Resolves calls whose arguments determine the tool.
pub(super) fn meant(
    tool: &str,
    said: &str,
    mut given: Fields,
    schema: &Schema<'_>,
) -> Result<ResolvedCall, String> {
    let squashed = names::squashed(names::bare(said));
    let another = |name, given| Ok(ResolvedCall { name: Some(name), given, changed: true });
    if EDITORS.contains(&squashed.as_str()) && !schema.has("command") {
        return match given.remove("command").as_ref().and_then(Value::as_str) {
            Some("view") => {
                another("file_read", without(given, &["old_str", "new_str", "file_text", "insert_line"]))
            }
            Some("create") => {
                another("file_write", without(given, &["old_str", "new_str", "view_range", "insert_line"]))
            }
            Some("str_replace") => {
                another("file_edit", without(given, &["file_text", "view_range", "insert_line"]))
            }
            Some(other) => Err(format!(
                "{said}: there is no command {other:?} here, so nothing was done. Call file_read, file_write or file_edit; \
                 to insert lines, replace a line with file_edit by itself and the new ones."
            )),
            None => Ok(ResolvedCall { name: None, given, changed: false }),
        };
    }
    if LISTERS.contains(&squashed.as_str()) && tool == "glob" {
        if !given.keys().any(|name| schema.named("glob", name).as_deref() == Some("pattern")) {
            given.insert("pattern".to_owned(), Value::from("**"));
        }
        return Ok(ResolvedCall { name: None, given, changed: true });
    }
    // `shell` may be a tool of its own here, for background commands; with nothing but a command it
    // means `bash`.
    let is_command = |name: &&String| fields::target("bash", name, |known| known == "command").is_some();
    let command = given.keys().find(is_command).cloned();
    if let Some(command) = command.filter(|name| tool == "bash" || tool == "shell" && !schema.has(name)) {
        if let Some(patch) = patch_in(&given[&command]) {
            return another("apply_patch", Fields::from_iter([("patch".to_owned(), Value::String(patch))]));
        }
        if tool == "shell" {
            return another("bash", given);
        }
    }
    Ok(ResolvedCall { name: None, given, changed: false })
}

/// Removes the empty arguments of the editor tool's other operations, which its schema makes models
/// send.
fn without(mut given: Fields, names: &[&str]) -> Fields {
    for name in names {
        let empty = |value: &Value| value.is_null() || value.as_str().is_some_and(str::is_empty);
        if given.get(*name).is_some_and(empty) {
            given.remove(*name);
        }
    }
    given
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Returns a patch given in place of the arguments.
pub(super) fn bare_patch(tool: &str, raw: &str) -> Option<Fields> {
    let is_patch = tool == "apply_patch" && raw.starts_with(BEGIN) && raw.ends_with(END);
    is_patch.then(|| Fields::from_iter([("patch".to_owned(), Value::from(raw))]))
}

/// Returns the patch of a command that only runs `apply_patch`.
fn patch_in(command: &Value) -> Option<String> {
    match command {
        Value::String(line) => patch_of_command(line),
        list => patch_of_command(&list.to_string()),
    }
}

/// Splits a list of paths into one call each, for read-only tools.
pub(super) fn split_paths(tool: &Arc<dyn AnyTool>, schema: &Schema<'_>, given: Fields) -> Vec<Fields> {
    let name = tool.name();
    if tool.effect() != Effect::Reads || !schema.has("path") || schema.property("path").takes("array") {
        return vec![given];
    }
    let is_path = |(key, value): &(&String, &Value)| {
        schema.named(&name, key).as_deref() == Some("path")
            && matches!(value, Value::Array(items) if items.len() > 1)
    };
    let Some((key, paths)) = given.iter().find(is_path).map(|(key, paths)| (key.clone(), paths.clone()))
    else {
        return vec![given];
    };
    let each = |path: &Value| {
        let mut one = given.clone();
        one.remove(&key);
        match path {
            // `read_files` gives each file as an object.
            Value::Object(of) => one.extend(of.clone()),
            path => drop(one.insert("path".to_owned(), path.clone())),
        }
        one
    };
    paths.as_array().into_iter().flatten().map(each).collect()
}
