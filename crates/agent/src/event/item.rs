//! The items of a model's answer, in the model's order.
//!
//! Architecture Invariant: what a model wrote is kept unchanged. Vendors sign and encrypt parts of
//! an answer and reject it if it comes back in another order or with other bytes, so only the wire
//! protocol that parsed an item takes it apart or reassembles it.

use super::{content::Content, ids::ToolCallId};
use serde_json::{Map, Value};

/// One item of an answer. `C` is the type of its calls: [`ToolCallRequest`] in events,
/// [`AnsweredCall`], which includes the results, in a conversation.
///
/// `opaque` is the wire protocol's own form of an item, or of the part that only this wire protocol
/// understands, as JSON text. It is kept byte for byte and sent back to the model that wrote it,
/// over the same wire. A wire recognises its own form by its content and ignores any other.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<C> {
    /// Text for the user.
    Text(Text),
    /// Reasoning of the model.
    Reasoning(Reasoning),
    /// A tool call.
    Call(C),
    /// An item that only its wire protocol understands, in its opaque form. It is not displayed.
    Other(String),
}

/// Text for the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The text; may be blank.
    pub text: String,
    /// The opaque form, if the text alone is not enough.
    pub opaque: Option<String>,
}

impl Text {
    /// Creates a text without an opaque form.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), opaque: None }
    }
}

/// A piece of reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// The text for display; may be empty.
    pub text: String,
    /// The opaque form: a signature, an encrypted item, the name of a field.
    pub opaque: Option<String>,
}

/// A tool call that a model asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRequest {
    /// Tiller's id of the call.
    pub id: ToolCallId,
    /// The provider's id, sent back with the result.
    pub provider_id: String,
    /// The tool to run. The permission check, the execution and other models use this name.
    pub name: String,
    /// The arguments to use, or the raw text if it is not a JSON object.
    pub arguments: Result<Value, MalformedArguments>,
    /// The call as the model wrote it, which is sent back to that model.
    pub written: Written,
}

impl ToolCallRequest {
    /// Creates a request whose name and arguments are those that the model wrote.
    pub fn new(id: ToolCallId, call: ModelCall) -> Self {
        let ModelCall { provider_id, name, arguments, opaque } = call;
        Self {
            id,
            provider_id,
            name: name.clone(),
            arguments: read_arguments(&arguments),
            written: Written { name, arguments, opaque },
        }
    }
}

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweredCall {
    /// The provider's id of the call.
    pub provider_id: String,
    /// The tool that the call is for.
    pub name: String,
    /// The arguments to use, or the raw text if it was not a JSON object.
    pub arguments: Result<Value, MalformedArguments>,
    /// The call as the model wrote it.
    pub written: Written,
    /// The result.
    pub result: ToolResult,
}

impl AnsweredCall {
    /// Combines a call with its result.
    pub fn new(call: ToolCallRequest, result: ToolResult) -> Self {
        let ToolCallRequest { id: _, provider_id, name, arguments, written } = call;
        Self { provider_id, name, arguments, written, result }
    }
}

/// A call's name and arguments as a model wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The name.
    pub name: String,
    /// The text of the arguments; blank if there were none.
    pub arguments: String,
    /// The opaque form, if name and arguments are not enough.
    pub opaque: Option<String>,
}

/// A complete tool call as a wire parsed it from an answer. Nothing in it is validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The provider's id; generated if the provider gave none.
    pub provider_id: String,
    /// The tool's name, as written.
    pub name: String,
    /// The text of the arguments, as written; blank if there were none.
    pub arguments: String,
    /// The opaque form, if the other fields are not enough.
    pub opaque: Option<String>,
}

/// Arguments that are not a JSON object. Such a call is never run; the model receives an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedArguments {
    /// What the model sent.
    pub raw: String,
    /// Why it is invalid.
    pub error: String,
}

/// The result of a call for the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolResult {
    /// The text the model reads.
    pub text: String,
    /// Images for the model beside the text.
    pub images: Vec<Content>,
    /// Whether the call failed; refused and cancelled calls count as failed.
    pub is_error: bool,
}

impl ToolResult {
    /// Creates the result of a successful call.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new(), is_error: false }
    }

    /// Creates the result of a failed call.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new(), is_error: true }
    }
}

/// Parses the arguments of a call. Blank text means no arguments.
///
/// # Errors
/// Anything but a JSON object is returned unchanged, with the reason.
pub fn read_arguments(text: &str) -> Result<Value, MalformedArguments> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let error = match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => return Ok(value),
        Ok(_) => "the arguments are not a JSON object".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(MalformedArguments { raw: text.to_owned(), error })
}

/// Returns the texts of an answer for display; each item begins its own paragraph.
pub(crate) fn text_of<C>(items: &[Item<C>]) -> String {
    paragraphs(items.iter().filter_map(|item| match item {
        Item::Text(Text { text, .. }) => Some(text),
        _ => None,
    }))
}

/// Returns the reasoning of an answer for display; each item is its own paragraph.
pub(crate) fn thoughts_of<C>(items: &[Item<C>]) -> String {
    paragraphs(items.iter().filter_map(|item| match item {
        Item::Reasoning(Reasoning { text, .. }) => Some(text),
        _ => None,
    }))
}

fn paragraphs<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let (mut whole, mut paragraphs) = (String::new(), Paragraphs::default());
    for text in texts {
        whole.push_str(paragraphs.push(text));
        whole.push_str(text);
        paragraphs.end();
    }
    whole
}

/// Returns the calls of an answer, in order.
pub(crate) fn calls_of<C>(items: &[Item<C>]) -> impl DoubleEndedIterator<Item = &C> {
    items.iter().filter_map(|item| match item {
        Item::Call(call) => Some(call),
        _ => None,
    })
}

/// Joins streamed texts, each of which begins its own paragraph.
#[derive(Debug, Default)]
pub(crate) struct Paragraphs {
    /// Whether a text has begun and not ended.
    open: bool,
    /// Whether any non-blank text came so far.
    said: bool,
    /// The number of line ends that the text so far ends with.
    line_ends: usize,
}

impl Paragraphs {
    /// Takes the next piece of a text and returns the separator to put before it.
    pub(crate) fn push(&mut self, piece: &str) -> &'static str {
        if piece.is_empty() {
            return "";
        }
        let gap = match self.line_ends {
            _ if std::mem::replace(&mut self.open, true) || !self.said => "",
            0 => "\n\n",
            1 => "\n",
            _ => "",
        };
        self.said |= !piece.trim().is_empty();
        let line_ends = piece.len() - piece.trim_end_matches('\n').len();
        let before = if line_ends == piece.len() { self.line_ends + gap.len() } else { 0 };
        self.line_ends = before + line_ends;
        gap
    }

    /// Ends the current text.
    pub(crate) fn end(&mut self) {
        self.open = false;
    }
}

/// Returns the size of an opaque form in bytes; 0 if there is none.
pub(crate) fn opaque_bytes(opaque: Option<&String>) -> usize {
    opaque.map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> String {
        let items: Vec<Item<()>> = texts.iter().map(|text| Item::Text(Text::plain(*text))).collect();
        text_of(&items)
    }

    #[test]
    fn two_texts_are_two_paragraphs() {
        assert_eq!(texts(&["First I look.", "Then I grep."]), "First I look.\n\nThen I grep.");
        assert_eq!(texts(&["Look:\n", "", "x"]), "Look:\n\nx");
        assert_eq!(texts(&["\n", "x\n\n", "y"]), "\nx\n\ny");
    }

    #[test]
    fn arguments_are_an_object_or_come_back_as_they_were() {
        assert_eq!(read_arguments(" \n"), Ok(serde_json::json!({})));
        assert_eq!(read_arguments(r#"{"a": 1}"#), Ok(serde_json::json!({ "a": 1 })));
        for text in ["[1]", "{\"a\":", "null"] {
            assert_eq!(read_arguments(text).unwrap_err().raw, text);
        }
    }
}
