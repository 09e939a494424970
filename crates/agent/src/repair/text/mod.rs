//! Calls that a model wrote into its text, because its server or its template did not make calls of them.
//!
//! An answer is a call where all of it, or all from some point to its end, is calls. What has words after it is a quotation and stays text. The marks
//! that templates use are unmistakable and taken wherever they end an answer; JSON, Python and `Action:` lines are taken only where they call a tool
//! that there is, with arguments that it takes, and only of models that are not known to call tools natively.

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
    /// The name as it was written.
    pub(crate) name: String,
    /// The arguments, as JSON text; as they were written where they are no JSON.
    pub(crate) arguments: String,
    /// Whether the arguments came to their end.
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
    /// Where they begin: what stands before is text, in bytes.
    pub(crate) begin: usize,
    /// They, in order; at least one.
    pub(crate) calls: Vec<TextCall>,
}

/// What is taken for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// What templates mark as one.
    Marked,
    /// JSON, Python and `Action:` lines, too.
    Any,
}

/// Finds the calls that end a text. `fits` says whether a call is one of a tool that there is, with arguments that it takes.
pub(crate) fn find(text: &str, taken: Taken, fits: &dyn Fn(&TextCall) -> bool) -> Option<TextCalls> {
    let text = without_end_marks(text);
    marked::find(text, fits).or_else(|| match taken {
        Taken::Marked => None,
        Taken::Any => plain::find(text, fits),
    })
}

/// A text without the marks that end a template's message.
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
