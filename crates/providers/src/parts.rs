//! What every wire sees the same way: texts and images, and tools as text.

use agent::{Content, ModelInfo, Reasoning, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(Cow<'a, str>),
    Image { mime_type: &'a str, data: &'a str },
}

/// The pieces of a message. Empty texts are left out, since vendors refuse them; images for a model that takes none become a
/// text that says so.
pub(crate) fn parts<'a>(content: &'a [Content], info: &ModelInfo) -> Vec<Part<'a>> {
    content.iter().map(|content| part(content, info)).filter(|part| !is_blank(part)).collect()
}

/// The text of a tool's result, for wires that have no mark for one that failed: the text says it.
pub(crate) fn result_text(result: &ToolResult) -> Cow<'_, str> {
    let says_so = result.text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if result.is_error && !says_so { format!("Error: {}", result.text).into() } else { (&result.text).into() }
}

/// The images of a tool's result, as [`parts`] gives them.
pub(crate) fn result_images<'a>(result: &'a ToolResult, info: &ModelInfo) -> Vec<Part<'a>> {
    parts(&result.images, info)
}

/// A block of reasoning exactly as it came, if it is of one of the wire's kinds. A model may have been reached over another wire
/// before, whose blocks mean nothing here.
pub(crate) fn replayed<'a>(reasoning: &'a Reasoning, kinds: &[&str]) -> Option<&'a RawValue> {
    #[derive(Deserialize)]
    struct Tagged {
        #[serde(rename = "type")]
        kind: String,
    }
    let opaque = reasoning.opaque.as_deref()?;
    let Tagged { kind } = serde_json::from_str(opaque).ok()?;
    kinds.contains(&kind.as_str()).then(|| serde_json::from_str(opaque).ok()).flatten()
}

/// Tools as a wire has them, written.
pub(crate) fn written<T: Serialize>(tools: impl Iterator<Item = T>) -> Box<RawValue> {
    to_raw_value(&tools.collect::<Vec<_>>()).expect("strings and JSON values always serialise")
}

fn part<'a>(content: &'a Content, info: &ModelInfo) -> Part<'a> {
    Part::Text(match content {
        Content::Text(text) => Cow::Borrowed(text),
        Content::Image { mime_type, data } if info.images => return Part::Image { mime_type, data },
        Content::Image { mime_type, .. } => {
            Cow::Owned(format!("[an image ({mime_type}) was here; {} takes no images]", info.name))
        }
        Content::ResourceLink { uri, name } => Cow::Owned(format!("[{name}]({uri})")),
        Content::Resource { uri, text, .. } => {
            Cow::Owned(format!("<resource uri=\"{uri}\">\n{text}\n</resource>"))
        }
    })
}

fn is_blank(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if text.trim().is_empty())
}
