//! Conversions that all wires share: texts, images, tool names and results.

use crate::{fields::Fields, limits::MAX_NAME};
use agent::{AnsweredCall, Content, ModelInfo, ToolResult, sendable_image};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(Cow<'a, str>),
    Image { mime_type: &'static str, data: &'a str },
}

/// Converts the content of a message to parts. Blank texts are left out, since vendors reject them.
/// An image for a model without image input, or one that no model accepts, becomes a text that
/// notes the omission.
pub(crate) fn parts<'a>(content: &'a [Content], info: &ModelInfo) -> Vec<Part<'a>> {
    content.iter().map(|content| part(content, info)).filter(|part| !is_blank(part)).collect()
}

/// Returns the text of a tool's result, for wires without an error flag: a failed result is
/// prefixed with "Error: ".
pub(crate) fn result_text(result: &ToolResult) -> Cow<'_, str> {
    let says_so = result.text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if result.is_error && !says_so { format!("Error: {}", result.text).into() } else { (&result.text).into() }
}

/// Returns the images of a tool's result, converted as by [`parts`].
pub(crate) fn result_images<'a>(result: &'a ToolResult, info: &ModelInfo) -> Vec<Part<'a>> {
    parts(&result.images, info)
}

/// Returns the images of a call's result after a text that names the call, for wires whose results
/// contain text only.
pub(crate) fn captioned_images<'a>(call: &'a AnsweredCall, info: &ModelInfo) -> Vec<Part<'a>> {
    let mut images = result_images(&call.result, info);
    if !images.is_empty() {
        let caption = format!("Images from the result of {}:", call.name);
        images.insert(0, Part::Text(Cow::Owned(caption)));
    }
    images
}

/// Returns an image as a `data:` URL.
pub(crate) fn data_url(mime_type: &str, data: &str) -> String {
    format!("data:{mime_type};base64,{data}")
}

/// Returns an item exactly as it was received, if its type is one of `kinds`. The model may have
/// been reached over another wire before, whose items mean nothing here.
pub(crate) fn replayed<'a>(opaque: Option<&'a String>, kinds: &[&str]) -> Option<&'a RawValue> {
    #[derive(Deserialize)]
    struct Tagged {
        #[serde(rename = "type")]
        kind: String,
    }
    let opaque = opaque?;
    let Tagged { kind } = serde_json::from_str(opaque).ok()?;
    kinds.contains(&kind.as_str()).then(|| serde_json::from_str(opaque).ok()).flatten()
}

/// Returns the wire's own form of an item, as stored by [`wrap_own_form`], if `wire` stored it.
pub(crate) fn own_form<'a>(opaque: Option<&'a String>, wire: &str) -> Option<&'a RawValue> {
    let Fields(members) = serde_json::from_str(opaque?).ok()?;
    match members.into_iter().next()? {
        (name, Cow::Borrowed(raw)) if name == wire => Some(raw),
        _ => None,
    }
}

/// Wraps a wire's own form of an item under the wire's name, so that [`own_form`] can identify it.
pub(crate) fn wrap_own_form(wire: &str, form: &(impl Serialize + ?Sized)) -> String {
    let form = to_raw_value(form).expect("strings and JSON values always serialise");
    format!("{{\"{wire}\":{form}}}")
}

/// Returns the arguments of a call as the model wrote them, if they are a JSON object.
pub(crate) fn written_object(call: &AnsweredCall) -> Option<&RawValue> {
    let text = call.written.arguments.as_str();
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok()).flatten()
}

/// Returns the tool name to send for a call: the name that the model wrote if `own` is set and
/// vendors accept it, otherwise the name that the call was resolved to, with invalid characters
/// replaced.
///
/// Vendors accept at most 64 letters, digits, `_` and `-`.
pub(crate) fn sent_name<'a>(call: &'a AnsweredCall, own: bool) -> Cow<'a, str> {
    let is_allowed = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    let is_taken = |name: &str| !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_allowed);
    let written = call.written.name.as_str();
    if own && is_taken(written) {
        return Cow::Borrowed(written);
    }
    if is_taken(&call.name) {
        return Cow::Borrowed(&call.name);
    }
    let plain = call.name.chars().map(|char| if is_allowed(char) { char } else { '_' });
    let plain: String = plain.take(MAX_NAME).collect();
    Cow::Owned(if plain.is_empty() { "unnamed".to_owned() } else { plain })
}

/// Serialises tools in the wire's form.
pub(crate) fn written<T: Serialize>(tools: impl Iterator<Item = T>) -> Box<RawValue> {
    to_raw_value(&tools.collect::<Vec<_>>()).expect("strings and JSON values always serialise")
}

fn part<'a>(content: &'a Content, info: &ModelInfo) -> Part<'a> {
    Part::Text(match content {
        Content::Text(text) => Cow::Borrowed(text),
        Content::Image { mime_type, data } if info.abilities.images => match sendable_image(data) {
            Ok(mime_type) => return Part::Image { mime_type, data },
            Err(fault) => {
                Cow::Owned(format!("[an image ({mime_type}) was here; it cannot be sent: {fault}]"))
            }
        },
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
