//! Repairs tool calls as models really write them, between an answer and the parsing of its calls.
//!
//! A call with one clear meaning is repaired, and its result tells the model how it was read; a
//! call that would need a guess is refused with what the tool takes. The gate, the hooks, the
//! events and the tool see the repaired call; the model gets back what it wrote.

mod arguments;
mod batch;
mod fields;
mod foreign;
pub(crate) mod json;
mod names;
mod schema;
mod shapes;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use crate::{AnyTool, Effect, MalformedArguments, policy};
use arguments::Fitted;
pub(crate) use batch::BatchedReads;
use json::JsonError;
use schema::Fields;
use schema::Schema;
use serde_json::Value;
use std::sync::Arc;

/// Characters of unreadable arguments that are repeated to the model.
const SHOWN_RAW: usize = 400;
/// Maximum length of an argument's text in a note, in characters.
const SHOWN_VALUE: usize = 60;

/// A call, repaired if necessary.
#[derive(Clone)]
pub(crate) struct Reading {
    /// The tool that is called.
    pub(crate) tool: Arc<dyn AnyTool>,
    /// The arguments; several sets if one call asks for several reads.
    pub(crate) arguments: Vec<Value>,
    /// For the model: how the call was read, if that differs from what it wrote.
    pub(crate) note: Option<String>,
}

/// Why a call is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The tool's own name, if known.
    pub(crate) tool: Option<String>,
    /// For the model: what is wrong and what to do.
    pub(crate) text: String,
}

/// The tools of a session, and those that the model was offered.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The tools that can be called.
    pub(crate) tools: &'a [Arc<dyn AnyTool>],
    /// The names of the tools that the model was offered.
    pub(crate) offered: &'a [&'a str],
}

impl Known<'_> {
    /// Returns the tool that a name stands for.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        if let Some(tool) = self.tools.iter().find(|tool| tool.is_called(name)) {
            return Some(tool.clone());
        }
        let names: Vec<_> = self.tools.iter().map(|tool| tool.name()).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let found = names::find(name, &names)?;
        self.tools.iter().find(|tool| tool.name() == found).cloned()
    }
}

/// Reads a call and repairs it if possible. `cut_at` is the token limit that the answer reached, if
/// it did.
pub(crate) fn read(
    known: Known<'_>,
    name: &str,
    arguments: &Result<Value, MalformedArguments>,
    cut_at: Option<u64>,
) -> Result<Reading, Refusal> {
    let Some(tool) = known.tool(name) else {
        return Err(Refusal { tool: None, text: names::unknown(name, known.offered) });
    };
    let own = tool.name().into_owned();
    let refuse = |text| Refusal { tool: Some(own.clone()), text };
    let (values, repaired) = values(tool.as_ref(), arguments, cut_at).map_err(refuse)?;
    let mut calls: Vec<FittedCall> = Vec::new();
    for value in values {
        let tool = tool.clone();
        calls.extend(one(known, tool, name, value).map_err(refuse)?);
    }
    let [first, rest @ ..] = calls.as_slice() else {
        return Err(refuse(format!("{own} was called with an empty list; nothing was done.")));
    };
    let meant = first.tool.clone();
    let same = rest.iter().all(|call| call.tool.name() == meant.name());
    if !rest.is_empty() && (!same || meant.effect() != Effect::Reads) {
        return Err(refuse(format!(
            "{} calls of {own} were sent as one, so nothing was done. Send each as a separate call.",
            calls.len()
        )));
    }
    let changed =
        repaired || meant.name() != name || !rest.is_empty() || calls.iter().any(|call| call.fitted.changed);
    let note = changed.then(|| note(&calls));
    let arguments = calls.into_iter().map(|call| Value::Object(call.fitted.fields)).collect();
    Ok(Reading { tool: meant, arguments, note })
}

/// Returns the error text for arguments that the tool's parser rejects, with the given names and
/// what the tool takes.
pub(crate) fn unfit(tool: &dyn AnyTool, came: &[Value], error: &str) -> String {
    let came = arguments::describe_names(came.iter().filter_map(Value::as_object).flat_map(Fields::keys));
    format!("{error}; {came}. It takes {}.", Schema(&tool.spec().parameters).short())
}

/// A call whose arguments are fitted to its tool.
struct FittedCall {
    tool: Arc<dyn AnyTool>,
    fitted: Fitted,
}

/// Returns the values in the arguments, and whether they are not plain JSON.
fn values(
    tool: &dyn AnyTool,
    arguments: &Result<Value, MalformedArguments>,
    cut_at: Option<u64>,
) -> Result<(Vec<Value>, bool), String> {
    let malformed = match arguments {
        Ok(value) => return Ok((vec![value.clone()], false)),
        Err(malformed) => malformed,
    };
    let raw = malformed.raw.trim();
    if let Some(patch) = foreign::bare_patch(&tool.name(), raw) {
        return Ok((vec![Value::Object(patch)], true));
    }
    match json::read(raw) {
        Ok(found) if found.unclosed && tool.effect() != Effect::Reads => Err(cut_off(tool, cut_at)),
        Ok(found) => Ok((found.values, true)),
        Err(JsonError::CutOff) => Err(cut_off(tool, cut_at)),
        // Arguments cut off by the token limit are never reported as malformed: the model would
        // send the same again.
        Err(JsonError::Invalid(_)) if cut_at.is_some() => Err(cut_off(tool, cut_at)),
        Err(JsonError::Invalid(error)) => {
            let spec = tool.spec();
            let mut shown: String = raw.chars().take(SHOWN_RAW).collect();
            if shown.len() < raw.len() {
                shown.push('…');
            }
            Err(format!(
                "Invalid tool call arguments (malformed JSON): {error}. You sent: {shown} Please retry with valid JSON \
                 arguments: {} takes {}.",
                spec.name,
                Schema(&spec.parameters).short()
            ))
        }
    }
}

/// Returns the error text for a truncated call.
fn cut_off(tool: &dyn AnyTool, cut_at: Option<u64>) -> String {
    let nothing = match tool.effect() {
        Effect::Writes => "nothing was written",
        Effect::Executes => "nothing was run",
        Effect::Reads | Effect::Session | Effect::Delegates => "nothing was done",
    };
    let parts = match tool.effect() {
        Effect::Writes => "Write in parts: a first, short part of the file now, the rest with further calls.",
        _ => "Send it again, shorter, or as several calls.",
    };
    match cut_at {
        Some(tokens) if tokens > 0 => format!(
            "The call of {} was cut off at {tokens} tokens, the limit of an answer; {nothing}. {parts}",
            tool.name()
        ),
        Some(_) => {
            format!("The call of {} was cut off at the limit of an answer; {nothing}. {parts}", tool.name())
        }
        None => format!(
            "The call of {} was cut off: its arguments are incomplete; {nothing}. Send the whole call \
             again. If it is long, write in parts.",
            tool.name()
        ),
    }
}

/// Reads one value as a call, or as several reads if it holds a list.
fn one(
    known: Known<'_>,
    tool: Arc<dyn AnyTool>,
    said: &str,
    value: Value,
) -> Result<Vec<FittedCall>, String> {
    let spec = tool.spec();
    let schema = Schema(&spec.parameters);
    let (given, unwrapped) = fields_of(&tool, &schema, said, value)?;
    let foreign::ResolvedCall { name, given, changed } = foreign::meant(&tool.name(), said, given, &schema)?;
    let (tool, spec) = match name {
        Some(name) => {
            let Some(tool) = known.tools.iter().find(|tool| tool.name() == name).cloned() else {
                return Err(names::unknown(said, known.offered));
            };
            let spec = tool.spec();
            (tool, spec)
        }
        None => (tool, spec),
    };
    let schema = Schema(&spec.parameters);
    // The arguments of an MCP server's tool are for the server to check.
    if !schema.is_closed() || policy::is_foreign(&spec.name) {
        let fitted = Fitted { fields: given, changed: unwrapped || changed, notes: Vec::new() };
        return Ok(vec![FittedCall { tool, fitted }]);
    }
    let lists = foreign::split_paths(&tool, &schema, given);
    let several = lists.len() > 1;
    lists
        .into_iter()
        .map(|given| {
            let mut fitted = arguments::fit(&spec.name, &schema, given)?;
            fitted.changed |= unwrapped || changed || several;
            Ok(FittedCall { tool: tool.clone(), fitted })
        })
        .collect()
}

/// Extracts the arguments from a value and its envelope, if any.
fn fields_of(
    tool: &Arc<dyn AnyTool>,
    schema: &Schema<'_>,
    said: &str,
    value: Value,
) -> Result<(Fields, bool), String> {
    match value {
        Value::Object(given) => Ok(foreign::unwrapped(tool, schema, said, given)),
        Value::String(text) => {
            let mut required = schema.required();
            match (required.next(), required.next()) {
                (Some(only), None) if schema.property(only).takes("string") => {
                    Ok((Fields::from_iter([(only.to_owned(), Value::String(text))]), true))
                }
                _ => Err(not_an_object(tool, schema, "a string")),
            }
        }
        Value::Array(words)
            if &*tool.name() == "bash" && !words.is_empty() && words.iter().all(Value::is_string) =>
        {
            Ok((Fields::from_iter([("command".to_owned(), Value::Array(words))]), true))
        }
        Value::Array(_) => Err(not_an_object(tool, schema, "a list")),
        _ => Err(not_an_object(tool, schema, "a single value")),
    }
}

fn not_an_object(tool: &Arc<dyn AnyTool>, schema: &Schema<'_>, what: &str) -> String {
    let name = tool.name();
    format!(
        "The arguments of {name} must be an object, but {what} was sent; nothing was done. It takes {}.",
        schema.short()
    )
}

/// Describes how calls were read, in one line.
fn note(calls: &[FittedCall]) -> String {
    let said = |call: &FittedCall| {
        let short: Fields =
            call.fitted.fields.iter().map(|(name, value)| (name.clone(), short(value))).collect();
        format!("{} {}", call.tool.name(), Value::Object(short))
    };
    let mut text = format!("read as {}", calls.iter().map(said).collect::<Vec<_>>().join(" and "));
    for more in calls.iter().flat_map(|call| &call.fitted.notes) {
        text.push_str("; ");
        text.push_str(more);
    }
    format!("({text})")
}

fn short(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
        value => return value.clone(),
    };
    if text.chars().count() <= SHOWN_VALUE {
        return value.clone();
    }
    let start: String = text.chars().take(SHOWN_VALUE).collect();
    Value::String(format!("{start}… ({} bytes)", text.len()))
}
