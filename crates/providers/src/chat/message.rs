//! The messages of a Chat Completions request.

use crate::{
    fields::Fields,
    parts::{Part, data_url},
};
use serde::Serialize;
use std::borrow::Cow;

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        /// `null` beside calls: all servers accept that, and some reject the empty string.
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        /// Unknown members of the message.
        #[serde(flatten)]
        more: Fields<'a>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum UserContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<WirePart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WirePart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: Function<'a>,
    /// Unknown members of the call.
    #[serde(flatten)]
    pub(super) more: Fields<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: String,
    /// Unknown members of the function.
    #[serde(flatten)]
    pub(super) more: Fields<'a>,
}

pub(super) fn wire_part(part: Part<'_>) -> WirePart<'_> {
    match part {
        Part::Text(text) => WirePart::Text { text },
        Part::Image { mime_type, data } => {
            WirePart::ImageUrl { image_url: ImageUrl { url: data_url(mime_type, data) } }
        }
    }
}
