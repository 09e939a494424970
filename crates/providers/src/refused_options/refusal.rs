//! Parses why a server refused a request.
//!
//! Formats, all of whose strings are treated as one text:
//!
//! - `{"error": {"message", "param", "code"}}` from OpenAI and most others
//! - `{"detail": [{"loc", "msg"}]}` from servers based on pydantic
//! - `{"error": {"message", "details"}}` from Google
//! - plain text

use super::{ModelQuirks, RequestOption};
use crate::Wire;
use serde_json::Value;
use std::collections::BTreeSet;

/// A response that refused a request, as text.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    /// Every string of the body, in lower case, one per line.
    text: String,
    /// The server's own name for the rejected parameter.
    params: Vec<String>,
    /// The context size that llama.cpp reports next to the text.
    context: Option<u64>,
}

/// Phrases that mark a parameter as refused.
const REFUSED: &[&str] = &[
    "unsupported",
    "no endpoints found",
    "too large",
    "please reduce",
    "does not match",
    "not support",
    "n't support",
    "only support",
    "unrecognized",
    "unknown",
    "unexpected",
    "not permitted",
    "not allowed",
    "not available",
    "not enabled",
    "not implemented",
    "extra inputs",
    "extra fields",
    "extra_forbidden",
    "additional propert",
    "invalid",
    "incompatible",
    "deprecated",
    "no longer",
    "must be verified",
    "cannot be used",
    "cannot use",
    "cannot find field",
    "input should be",
];

/// Phrases about the content of an image: Anthropic, OpenAI, Google.
const REFUSED_IMAGE: &[&str] = &[
    "could not process",
    "unable to process",
    "failed to process",
    "unsupported image",
    "invalid image",
    "valid image",
    "image data",
    "image format",
    "image size",
    "image exceeds",
    "image dimensions",
    "pixels",
    "media type",
    "mime type",
    "decode",
    "corrupt",
    "truncated",
    "base64",
];

/// Phrases before a context size, in lower case: OpenAI and vLLM, llama.cpp, LM Studio, Anthropic,
/// Google.
const BEFORE_CONTEXT: &[&str] = &[
    "maximum context length is ",
    "maximum context length of ",
    "context size (",
    "context length of only ",
    "tokens > ",
    "tokens allowed (",
];

/// Phrases by which a vendor rejects data that only its model understands; all of a row must occur:
/// Anthropic, OpenAI, Google.
const UNRECOGNISED: &[&[&str]] = &[
    &["bound to a different conversation"],
    &["`thinking` or `redacted_thinking` blocks", "cannot be modified"],
    &["invalid `signature`", "`thinking` block"],
    &["encrypted content", "could not be"],
    &["items are not persisted", "`store`"],
    &["thought signature is not valid"],
    &["invalid thought signature"],
    &["corrupted thought signature"],
    &["thought_signature", "not valid"],
];

impl Refusal {
    /// Parses a response. Returns `None` for a status that is not about the request itself:
    /// credentials, rate limits, an unavailable server.
    pub(crate) fn read(status: u16, body: &[u8]) -> Option<Self> {
        // A few servers answer 500 if the request is at fault.
        if !matches!(status, 400 | 404 | 405 | 415 | 422 | 500 | 501) {
            return None;
        }
        let mut refusal = Self { status, text: String::new(), params: Vec::new(), context: None };
        match serde_json::from_slice(body) {
            Ok(value) => refusal.collect(&value, ""),
            Err(_) => refusal.text = String::from_utf8_lossy(body).to_lowercase(),
        }
        Some(refusal)
    }

    fn collect(&mut self, value: &Value, key: &str) {
        match value {
            Value::String(text) => {
                if key == "param" {
                    self.params.push(text.to_lowercase());
                }
                self.text.push_str(&text.to_lowercase());
                self.text.push('\n');
            }
            Value::Number(number) if key == "n_ctx" => self.context = number.as_u64(),
            Value::Array(path) if key == "loc" => {
                let names = path.iter().filter_map(Value::as_str).filter(|name| *name != "body");
                self.params.push(names.collect::<Vec<_>>().join(".").to_lowercase());
            }
            Value::Array(values) => values.iter().for_each(|value| self.collect(value, key)),
            Value::Object(map) => map.iter().for_each(|(key, value)| self.collect(value, key)),
            _ => {}
        }
    }

    /// Returns the context size, if the text states it.
    pub(crate) fn context_size(&self) -> Option<u64> {
        let stated = BEFORE_CONTEXT.iter().find_map(|before| {
            let (_, after) = self.text.split_once(before)?;
            numbers(after.get(..16).unwrap_or(after)).next()
        });
        self.context.or(stated).filter(|size| *size >= 512)
    }

    /// Returns the other wire, if the text demands it or the address does not implement this one.
    pub(crate) fn other_wire(&self, wire: Wire) -> Option<Wire> {
        let says = |words: &[&str]| words.iter().any(|word| self.text.contains(word));
        match wire {
            Wire::Chat
                if says(&["/responses", "responses api", "responses endpoint", "not a chat model"]) =>
            {
                Some(Wire::Responses)
            }
            Wire::Responses if says(&["model_not_found", "does not exist"]) => None,
            Wire::Responses if matches!(self.status, 404 | 405 | 501) => Some(Wire::Chat),
            Wire::Responses
                if says(&["v1/responses", "responses api"]) && says(&["support", "chat/completions"]) =>
            {
                Some(Wire::Chat)
            }
            _ => None,
        }
    }

    /// Returns whether the server no longer accepts part of the model's own earlier answers: a
    /// signature, encrypted reasoning, or an item by its id.
    pub(crate) fn concerns_own_answers(&self) -> bool {
        UNRECOGNISED.iter().any(|words| words.iter().all(|word| self.text.contains(word)))
    }

    /// Returns whether an answer with calls lacked `reasoning_content`: DeepSeek, Moonshot.
    pub(crate) fn wants_reasoning(&self) -> bool {
        let missing = ["must be passed back", "is missing", "is required"];
        self.text.contains("reasoning_content") && missing.iter().any(|words| self.text.contains(words))
    }

    /// Learns which members of the sent messages the server does not accept. Returns false if the
    /// refusal names none of them, or none that is new.
    pub(crate) fn record_refused_members(&self, sent: &Value, quirks: &mut ModelQuirks) -> bool {
        let in_params = |name: &str| {
            let parts = |param: &String| param.split(['.', '[', ']']).any(|part| part == name);
            self.params.iter().any(parts)
        };
        let refused = members(sent)
            .into_iter()
            .filter(|name| self.refuses() && (is_named(&self.text, name) || in_params(name)));
        let known = quirks.members.len();
        quirks.members.extend(refused);
        quirks.members.len() > known
    }

    /// Returns whether one of the images was refused, not images as such.
    pub(crate) fn concerns_one_image(&self) -> bool {
        let is_about_images = ["image", "inlinedata", "inline_data", "media_type"];
        let says = |words: &[&str]| words.iter().any(|word| self.text.contains(word));
        says(&is_about_images) && says(REFUSED_IMAGE)
    }

    /// Returns whether the images were refused.
    pub(crate) fn concerns_images(&self) -> bool {
        let images = ["image input", "images", "image_url", "inlinedata", "vision", "multimodal"];
        images.iter().any(|word| self.text.contains(word)) && self.refuses()
    }

    /// Returns whether the list of tools as such was refused, not one of the tools.
    pub(crate) fn concerns_tools(&self) -> bool {
        [
            "support tools",
            "support tool use",
            "support tool call",
            "support function call",
            "tools param requires",
        ]
        .iter()
        .any(|word| self.text.contains(word))
            || (self.text.contains("tool choice requires") && self.text.contains("--"))
    }

    /// Learns which of the request's options was refused. Returns false if nothing new was learned:
    /// the same request would be refused again.
    pub(crate) fn record_refused_options(
        &self,
        sent: &Value,
        options: &[&'static RequestOption],
        quirks: &mut ModelQuirks,
    ) -> bool {
        let named = options
            .iter()
            .filter(|option| sent.pointer(option.at).is_some())
            .filter_map(|option| Some((self.position_of(option)?, *option)))
            // The longest name is the most specific: `reasoning.summary` before `reasoning`.
            .max_by_key(|(length, _)| *length);
        let Some((_, option)) = named else { return false };
        let value = sent.pointer(option.at);
        if let Some(most) = self.smaller_limit(value) {
            quirks.max_output = Some(most);
            return true;
        }
        quirks.refuse(option, value.and_then(Value::as_str).unwrap_or_default())
    }

    /// Returns the limit of answer tokens that the refusal states, if the request exceeded it.
    pub(crate) fn smaller_limit(&self, sent: Option<&Value>) -> Option<u64> {
        let sent = sent?.as_u64()?;
        // If the conversation counts too, the number would change with each request.
        let limits = ["too large", "range", "at most", "maximum", "exceed", "less than", "should be"];
        let says_limit = limits.iter().any(|word| self.text.contains(word)) && !self.text.contains("context");
        numbers(&self.text).filter(|number| says_limit && *number < sent && *number >= 16).max()
    }

    /// Returns the length of the longest name by which the text refuses an option.
    fn position_of(&self, option: &RequestOption) -> Option<usize> {
        let param = |name: &&&str| {
            self.params.iter().any(|param| {
                param.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let in_text = |name: &&&str| self.refuses() && is_named(&self.text, name);
        option.names.iter().filter(|name| param(name) || in_text(name)).map(|name| name.len()).max()
    }

    fn refuses(&self) -> bool {
        REFUSED.iter().any(|word| self.text.contains(word))
    }
}

/// Returns the members of answers and their calls in a body that not every server supports.
fn members(sent: &Value) -> BTreeSet<String> {
    const EVERYWHERE: [&str; 8] =
        ["role", "content", "tool_calls", "id", "type", "function", "name", "arguments"];
    let mut names = BTreeSet::new();
    let mut add = |value: &Value| {
        let members = value.as_object().into_iter().flat_map(|object| object.keys());
        names.extend(members.filter(|name| !EVERYWHERE.contains(&name.as_str())).cloned());
    };
    let messages = sent["messages"].as_array().into_iter().flatten();
    for message in messages.filter(|message| message["role"] == "assistant") {
        add(message);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            add(call);
            add(&call["function"]);
        }
    }
    names
}

/// Returns whether a text names a parameter. A name that is an ordinary word counts in quotation
/// marks only.
fn is_named(text: &str, name: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let is_word = name.bytes().all(|byte| byte.is_ascii_lowercase());
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        if is_word {
            let quotes = |char: Option<char>| char.is_some_and(|char| "'\"`".contains(char));
            // `Unrecognized request argument supplied: NAME` has no quotation marks.
            return (quotes(before) && quotes(after)) || text[..at].ends_with("supplied: ");
        }
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns the integers that stand alone in a text, excluding those within names and dates.
fn numbers(text: &str) -> impl Iterator<Item = u64> {
    text.split(|char: char| !(char.is_ascii_alphanumeric() || "-_./".contains(char)))
        .filter_map(|word| word.trim_end_matches('.').parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: RequestOption = RequestOption { at: "/reasoning_effort", names: &["reasoning_effort"] };
    const STORE: RequestOption = RequestOption { at: "/store", names: &["store"] };
    const TOKENS: RequestOption = RequestOption { at: "/max_tokens", names: &["max_tokens"] };

    #[test]
    fn the_refused_option_is_recognised_in_every_vendors_message() {
        let sent = serde_json::json!({"reasoning_effort": "low", "store": true, "max_tokens": 8192});
        for (body, expected) in [
            (
                r#"{"error":{"message":"Unsupported parameter: 'reasoning_effort' is not supported with this model.","param":"reasoning_effort"}}"#,
                "/reasoning_effort",
            ),
            (
                r#"{"error":{"message":"Unrecognized request argument supplied: reasoning_effort"}}"#,
                "/reasoning_effort",
            ),
            (r#"{"error":{"message":"Unrecognized request argument supplied: store"}}"#, "/store"),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],"msg":"Extra inputs are not permitted"}]}"#,
                "/reasoning_effort",
            ),
            (r#"{"message":"extra fields not permitted: `store`"}"#, "/store"),
            (r#"{"error":"unknown field \"reasoning_effort\""}"#, "/reasoning_effort"),
            ("property 'reasoning_effort' is unsupported", "/reasoning_effort"),
            (
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}"#,
                "/max_tokens",
            ),
            // Refusals that name no option, name one that was not sent, or concern something else.
            (r#"{"error":{"message":"messages.1: unknown role"}}"#, ""),
            (r#"{"error":{"message":"Unsupported parameter: 'temperature'"}}"#, ""),
            (r#"{"error":{"message":"invalid model: see the store"}}"#, ""),
            (r#"{"error":{"message":"Unsupported parameter: 'max_completion_tokens'"}}"#, ""),
        ] {
            let mut quirks = ModelQuirks::default();
            let refusal = Refusal::read(400, body.as_bytes()).unwrap();
            let learned = refusal.record_refused_options(&sent, &[&EFFORT, &STORE, &TOKENS], &mut quirks);
            let refused: Vec<_> = quirks.refused.into_iter().collect();
            assert_eq!(refused.join(" "), expected, "{body}");
            assert_eq!(learned, !expected.is_empty(), "{body}");
        }
        assert!(Refusal::read(401, b"reasoning_effort is unsupported").is_none());
    }

    #[test]
    fn refused_members_are_recognised_in_every_vendors_message() {
        let sent = serde_json::json!({"messages": [
            {"role": "user", "content": "x", "channel": "c"},
            {"role": "assistant", "content": "x", "reasoning": "Hm", "reasoning_details": [], "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": {}}
            ]},
        ]});
        for (body, expected) in [
            (
                r#"{"error":{"message":"'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported)]"}}"#,
                "reasoning",
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_details"],"msg":"Extra inputs are not permitted"}]}"#,
                "reasoning_details",
            ),
            (
                r#"{"error":{"message":"Unknown parameter: 'messages[1].tool_calls[0].extra_content'."}}"#,
                "extra_content",
            ),
            (r#"{"error":{"message":"Unknown parameter: 'messages[0].channel'."}}"#, ""),
            (r#"{"error":{"message":"reasoning_effort is not supported"}}"#, ""),
        ] {
            let mut quirks = ModelQuirks::default();
            let refusal = Refusal::read(400, body.as_bytes()).unwrap();
            assert_eq!(refusal.record_refused_members(&sent, &mut quirks), !expected.is_empty(), "{body}");
            assert_eq!(quirks.members.into_iter().collect::<Vec<_>>().join(" "), expected, "{body}");
        }
    }

    #[test]
    fn limits_are_parsed_from_refusals() {
        for (text, context, output) in [
            (
                "max_tokens is too large: 128000. This model supports at most 16384 completion tokens, whereas you provided 128000.",
                None,
                Some(16_384),
            ),
            (
                "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5-20251001",
                None,
                Some(64_000),
            ),
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                Some(8_192),
                None,
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000), Some(0)),
            (
                "the request exceeds the available context size (4096 tokens), try increasing it",
                Some(4_096),
                None,
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
                Some(0),
            ),
        ] {
            let refusal = Refusal::read(400, text.as_bytes()).unwrap();
            assert_eq!(refusal.context_size(), context, "{text}");
            if output != Some(0) {
                assert_eq!(refusal.smaller_limit(Some(&128_000.into())), output, "{text}");
            }
        }
        let llama = br#"{"error":{"code":400,"message":"request (9000 tokens) exceeds","n_ctx":4096}}"#;
        assert_eq!(Refusal::read(400, llama).unwrap().context_size(), Some(4_096));
    }

    #[test]
    fn the_wire_is_changed_only_if_the_refusal_names_it() {
        let other =
            |status, text: &str, wire| Refusal::read(status, text.as_bytes()).unwrap().other_wire(wire);
        let tools = "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.";
        assert_eq!(other(400, tools, Wire::Chat), Some(Wire::Responses));
        assert_eq!(other(400, "messages.0: unknown role", Wire::Chat), None);
        assert_eq!(other(404, "404 page not found", Wire::Responses), Some(Wire::Chat));
        let unknown = r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#;
        assert_eq!(other(404, unknown, Wire::Responses), None);
        assert_eq!(other(404, "404 page not found", Wire::Chat), None);
    }
}
