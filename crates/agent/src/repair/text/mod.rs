//! Finds calls that a model wrote into its text, because its server or its template did not turn
//! them into calls.
//!
//! Only calls that extend to the end of the answer count; with words after them they are a
//! quotation and stay text. The marks of templates are unmistakable and accepted wherever they end
//! an answer. JSON, Python and `Action:` lines are accepted only if they call an existing tool with
//! valid arguments, and only from models not known to call tools natively.

mod hold;
mod marked;
mod object;
mod plain;
mod python;
#[cfg(test)]
mod tests;

pub(crate) use hold::Hold;

use serde_json::Value;

/// A call in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextCall {
    /// The name as written.
    pub(crate) name: String,
    /// The arguments as JSON text, or as written if they are not JSON.
    pub(crate) arguments: String,
    /// Whether the arguments are complete.
    pub(crate) whole: bool,
}

impl TextCall {
    fn new(name: impl Into<String>, arguments: &Value) -> Self {
        Self { name: name.into(), arguments: arguments.to_string(), whole: true }
    }
}

/// The calls that end a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextCalls {
    /// Byte offset of the first call; the part before it is text.
    pub(crate) begin: usize,
    /// The calls in order; at least one.
    pub(crate) calls: Vec<TextCall>,
}

/// Which forms count as a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallForms {
    /// Only those with a template's mark.
    Marked,
    /// Also JSON, Python and `Action:` lines.
    Any,
}

/// Finds the calls that end a text. `fits` says whether a call names an existing tool and has valid
/// arguments.
pub(crate) fn find(text: &str, forms: CallForms, fits: &dyn Fn(&TextCall) -> bool) -> Option<TextCalls> {
    let text = without_end_marks(text);
    marked::find(text, fits).or_else(|| match forms {
        CallForms::Marked => None,
        CallForms::Any => plain::find(text, fits),
    })
}

/// Strips the marks that end a template's message.
fn without_end_marks(text: &str) -> &str {
    const ENDS: [&str; 8] = [
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|endoftext|>",
        "</s>",
        "<end_of_turn>",
        "<|end|>",
        "<｜end▁of▁sentence｜>",
    ];
    let mut text = text.trim_end();
    while let Some(shorter) = ENDS.iter().find_map(|end| text.strip_suffix(end)) {
        text = shorter.trim_end();
    }
    text
}

/// Whether the line before a call introduces it as an example.
fn is_example(before: &str) -> bool {
    const WORDS: [&str; 6] = ["example", "e.g.", "for instance", "would look", "looks like", "look like"];
    let last = before.trim_end().lines().next_back().unwrap_or_default().to_lowercase();
    WORDS.iter().any(|word| last.contains(word))
}
