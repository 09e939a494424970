//! What an answer of a model is made of: items, in the order in which the model gave them.
//!
//! Architecture Invariant: what a model wrote is kept as it wrote it. Vendors sign and encrypt parts of
//! an answer and refuse it when it comes back in another order or with other bytes, so nothing but the
//! wire that read an item takes it apart or puts it together.

use super::{content::Content, ids::ToolCallId};
use serde_json::{Map, Value};

/// One item of an answer. `C` is how its calls are held: [`ToolCallRequest`] in events,
/// [`AnsweredCall`] with the results in a conversation.
///
/// `opaque` is the wire's own form of an item, or of what only the wire knows of it, as JSON text. It is
/// kept byte for byte and goes back to the model that wrote it over the wire that it came from. A wire
/// recognises its own form by what stands in it, and passes over any other.
#[derive(Debug, Clone, PartialEq)]
pub enum Item<C> {
    /// Text for the user.
    Text(Text),
    /// What the model thought.
    Reasoning(Reasoning),
    /// A tool call.
    Call(C),
    /// Something that means nothing outside its wire: its opaque form. Nobody is shown it.
    Other(String),
}

/// Text for the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The text; may be blank.
    pub text: String,
    /// The wire's own form, where the text alone does not say all.
    pub opaque: Option<String>,
}

impl Text {
    /// A text without anything else.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), opaque: None }
    }
}

/// A piece of reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// What a person may read; may be empty.
    pub text: String,
    /// The wire's own form: a signature, an encrypted item, the name of a field.
    pub opaque: Option<String>,
}

/// A tool call as the model asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRequest {
    /// Our id.
    pub id: ToolCallId,
    /// The provider's id, to be sent back with the result.
    pub provider_id: String,
    /// The tool that is meant. What is judged, run and sent to other models.
    pub name: String,
    /// The arguments that are meant, or the raw text that was no JSON object.
    pub arguments: Result<Value, MalformedArguments>,
    /// The call as the model wrote it. What is sent back to that model.
    pub written: Written,
}

impl ToolCallRequest {
    /// A call that means what it says.
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
    /// The tool that was meant.
    pub name: String,
    /// The arguments that were meant; the raw text when they were no JSON object.
    pub arguments: Result<Value, MalformedArguments>,
    /// The call as the model wrote it.
    pub written: Written,
    /// The result.
    pub result: ToolResult,
}

impl AnsweredCall {
    /// A call with its result.
    pub fn new(call: ToolCallRequest, result: ToolResult) -> Self {
        let ToolCallRequest { id: _, provider_id, name, arguments, written } = call;
        Self { provider_id, name, arguments, written, result }
    }
}

/// The name and the arguments of a call as a model wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The name.
    pub name: String,
    /// The text of the arguments; blank where there were none.
    pub arguments: String,
    /// The wire's own form, where name and arguments do not say all.
    pub opaque: Option<String>,
}

/// A whole tool call as a wire reads it from an answer. Nothing in it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The provider's id; made up when the provider gave none.
    pub provider_id: String,
    /// The tool's name, as written.
    pub name: String,
    /// The text of the arguments, as written; blank where there were none.
    pub arguments: String,
    /// The wire's own form, where the rest does not say all.
    pub opaque: Option<String>,
}

/// Arguments that are no JSON object. Such a call is never run; the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedArguments {
    /// What the model sent.
    pub raw: String,
    /// What is wrong with it.
    pub error: String,
}

/// What a call gives back to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The text the model reads.
    pub text: String,
    /// Images the model sees beside it.
    pub images: Vec<Content>,
    /// Whether the call failed (refused and cancelled calls fail too).
    pub is_error: bool,
}

impl ToolResult {
    /// A success.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new(), is_error: false }
    }

    /// A failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new(), is_error: true }
    }
}

/// Reads the arguments of a call. A blank text means no arguments; anything but an object is given back
/// as it came.
pub fn read_arguments(text: &str) -> Result<Value, MalformedArguments> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let error = match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => return Ok(value),
        Ok(_) => "the arguments are no JSON object".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(MalformedArguments { raw: text.to_owned(), error })
}

/// The texts of an answer as a person reads them: each begins a paragraph of its own.
pub(crate) fn text_of<C>(items: &[Item<C>]) -> String {
    paragraphs(items.iter().filter_map(|item| match item {
        Item::Text(Text { text, .. }) => Some(text),
        _ => None,
    }))
}

/// What was thought as a person reads it: each piece is a paragraph of its own.
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

/// The calls of an answer, in order.
pub(crate) fn calls_of<C>(items: &[Item<C>]) -> impl DoubleEndedIterator<Item = &C> {
    items.iter().filter_map(|item| match item {
        Item::Call(call) => Some(call),
        _ => None,
    })
}

/// Texts that come in pieces, each of which begins a paragraph of its own.
#[derive(Debug, Default)]
pub(crate) struct Paragraphs {
    /// Whether a text has begun and not ended.
    open: bool,
    /// Whether anything but blanks came so far.
    said: bool,
    /// How many line ends came last.
    line_ends: usize,
}

impl Paragraphs {
    /// Takes the next piece of a text; what stands between it and what came before.
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

    /// The text is over.
    pub(crate) fn end(&mut self) {
        self.open = false;
    }
}

/// Bytes of an item's own form.
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
