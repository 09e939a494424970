//! The offered tools and the model's response, on each of the three wire formats that agents use.

use super::proxy::Exchange;
use crate::peers::http::read_chunks;
use serde_json::Value;
use std::collections::BTreeMap;

/// An offered tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    /// The JSON Schema of its arguments; null if the request has none.
    pub(super) schema: Value,
}

/// A native call of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    /// The unparsed arguments.
    pub(super) arguments: String,
    /// Whether the arguments are free text, as for custom tools of the Responses API.
    pub(super) free: bool,
}

/// A response of the model.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    pub(super) prompt_tokens: Option<u64>,
    pub(super) answer_tokens: Option<u64>,
    /// Whether the response is complete.
    pub(super) finished: bool,
    /// The server's error message in place of a response.
    pub(super) error: Option<String>,
}

/// Returns the tools that a request offers.
pub(super) fn offered(request: &Value) -> Vec<Tool> {
    let tools = request["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let tools = tools.iter().filter_map(|tool| {
        let described = if tool["function"].is_object() { &tool["function"] } else { tool };
        let name = described["name"].as_str().or_else(|| tool["type"].as_str())?;
        let schemas = ["parameters", "input_schema"].map(|field| described[field].clone());
        let schema = schemas.into_iter().find(Value::is_object).unwrap_or_default();
        Some(Tool { name: name.to_owned(), schema })
    });
    tools.collect()
}

/// Returns whether the request prescribes a format for text, so that calls in text may be intended.
pub(super) fn prescribes_text(request: &Value) -> bool {
    let typed = |format: &Value| format["type"].as_str().is_some_and(|name| name != "text");
    typed(&request["response_format"])
        || typed(&request["text"]["format"])
        || ["grammar", "json_schema", "guided_json", "guided_grammar", "structured_outputs"]
            .iter()
            .any(|field| !request[*field].is_null())
}

impl Answer {
    /// Parses a response.
    pub(super) fn read(exchange: &Exchange) -> Self {
        let mut answer = Self::default();
        let Some((status, body)) = split(&exchange.answer) else { return answer };
        if status != 200 {
            answer.error = Some(format!("status {status}: {}", String::from_utf8_lossy(&body).trim()));
            return answer;
        }
        let text = String::from_utf8_lossy(&body);
        let whole: Option<Value> = serde_json::from_str(&text).ok();
        let events: Vec<Value> = match whole {
            Some(whole) => vec![whole],
            None => text
                .lines()
                .filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok())
                .collect(),
        };
        let mut parts = BTreeMap::new();
        for event in &events {
            answer.add(event, &mut parts);
        }
        answer.calls.extend(parts.into_values().filter(|call| !call.name.is_empty()));
        answer
    }

    /// Processes a stream event or a complete response, in any of the three formats. `parts`
    /// collects incomplete calls by index.
    fn add(&mut self, event: &Value, parts: &mut BTreeMap<u64, Call>) {
        if let Some(text) = event["error"]["message"].as_str() {
            self.error = Some(text.to_owned());
        }
        if let Some(choice) = event["choices"].get(0) {
            self.add_choice(choice, parts);
        }
        self.add_messages(event, parts);
        let response = if event["response"].is_object() { &event["response"] } else { event };
        let ended = event["type"] == "response.completed" || event["type"] == "response.incomplete";
        if ended || event["object"] == "response" {
            self.add_response(response);
        }
        self.count(event);
    }

    /// Chat Completions: a chunk's delta, or a whole message.
    fn add_choice(&mut self, choice: &Value, parts: &mut BTreeMap<u64, Call>) {
        self.finished |= choice["finish_reason"].is_string();
        let message = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        self.text += message["content"].as_str().unwrap_or_default();
        for (place, call) in (0..).zip(message["tool_calls"].as_array().into_iter().flatten()) {
            let part = parts.entry(call["index"].as_u64().unwrap_or(place)).or_default();
            part.name += call["function"]["name"].as_str().unwrap_or_default();
            part.arguments += call["function"]["arguments"].as_str().unwrap_or_default();
        }
    }

    /// Messages: the blocks of a stream, or of a whole message.
    fn add_messages(&mut self, event: &Value, parts: &mut BTreeMap<u64, Call>) {
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str() {
            Some("content_block_start") => self.add_block(&event["content_block"], index, parts),
            Some("content_block_delta") => {
                let delta = &event["delta"];
                if let Some(text) = delta["text"].as_str() {
                    self.text += text;
                }
                if let (Some(json), Some(part)) = (delta["partial_json"].as_str(), parts.get_mut(&index)) {
                    part.arguments += json;
                }
            }
            Some("message_stop") => self.finished = true,
            Some("message") => {
                self.finished = event["stop_reason"].is_string();
                for (index, block) in (0..).zip(event["content"].as_array().into_iter().flatten()) {
                    self.add_block(block, index, parts);
                }
            }
            _ => {}
        }
    }

    fn add_block(&mut self, block: &Value, index: u64, parts: &mut BTreeMap<u64, Call>) {
        self.text += block["text"].as_str().unwrap_or_default();
        if block["type"] == "tool_use" {
            let whole = block["input"].as_object().filter(|input| !input.is_empty());
            let arguments = whole.map_or_else(String::new, |_| block["input"].to_string());
            let name = block["name"].as_str().unwrap_or_default().to_owned();
            parts.insert(index, Call { name, arguments, free: false });
        }
    }

    /// Responses: the whole response, which also ends a stream.
    fn add_response(&mut self, response: &Value) {
        self.finished = true;
        for item in response["output"].as_array().into_iter().flatten() {
            let word = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
            match item["type"].as_str() {
                Some("message") => {
                    for part in item["content"].as_array().into_iter().flatten() {
                        self.text += part["text"].as_str().unwrap_or_default();
                    }
                }
                Some("function_call") => {
                    self.calls.push(Call { name: word("name"), arguments: word("arguments"), free: false });
                }
                Some("custom_tool_call") => {
                    self.calls.push(Call { name: word("name"), arguments: word("input"), free: true });
                }
                _ => {}
            }
        }
        self.count(response);
    }

    /// Reads the token counts in each format; falls back to llama.cpp's timings if the client did
    /// not request usage.
    fn count(&mut self, event: &Value) {
        let usage = [&event["usage"], &event["message"]["usage"]].into_iter().find(|usage| usage.is_object());
        if let Some(usage) = usage {
            let number = |field: &str| usage[field].as_u64();
            let cached = ["cache_read_input_tokens", "cache_creation_input_tokens"];
            // Only the Messages API counts cached tokens separately.
            let cached: u64 = cached.into_iter().filter_map(number).sum();
            let input = number("prompt_tokens").or(number("input_tokens").map(|count| count + cached));
            self.prompt_tokens = input.filter(|count| *count > 0).or(self.prompt_tokens);
            let output = number("completion_tokens").or(number("output_tokens"));
            self.answer_tokens = output.or(self.answer_tokens);
        } else if let Some(read) = event["timings"]["prompt_n"].as_u64() {
            let cached = event["timings"]["cache_n"].as_u64().unwrap_or_default();
            self.prompt_tokens = self.prompt_tokens.or(Some(read + cached));
            self.answer_tokens = self.answer_tokens.or(event["timings"]["predicted_n"].as_u64());
        }
    }
}

/// Returns the status and the body of a response, with chunks joined.
fn split(answer: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let mut body = &answer[end + 4..];
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let chunked = head.lines().any(|line| line.starts_with("transfer-encoding:") && line.contains("chunked"));
    Some((status, if chunked { joined(&mut body) } else { body.to_vec() }))
}

/// Joins a chunked body, as far as it was received.
fn joined(from: &mut &[u8]) -> Vec<u8> {
    let mut whole = *from;
    read_chunks(&mut whole).unwrap_or_else(|_| {
        // Truncated: join the complete chunks.
        let mut body = Vec::new();
        while let Some(end) = from.windows(2).position(|two| two == b"\r\n") {
            let size = std::str::from_utf8(&from[..end]).ok();
            let Some(size) = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok()) else { break };
            let Some(chunk) = from.get(end + 2..end + 2 + size) else { break };
            body.extend_from_slice(chunk);
            *from = from.get(end + 4 + size..).unwrap_or_default();
        }
        body
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Instant;

    fn read(body: &str) -> Answer {
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}").into_bytes();
        Answer::read(&Exchange { started: Instant::now(), path: String::new(), request: json!({}), answer })
    }

    fn stream(events: &[Value]) -> Answer {
        read(&events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
    }

    fn expected(tokens: Option<u64>) -> Answer {
        let call = Call { name: "ls".to_owned(), arguments: r#"{"path":"."}"#.to_owned(), free: false };
        Answer {
            text: "Look".to_owned(),
            calls: vec![call],
            prompt_tokens: tokens,
            answer_tokens: tokens.map(|_| 5),
            finished: true,
            error: None,
        }
    }

    #[test]
    fn a_chat_completions_stream_is_assembled() {
        let delta =
            |delta: Value, end: Value| json!({ "choices": [{ "delta": delta, "finish_reason": end }] });
        let call = |function: Value| json!({ "tool_calls": [{ "index": 0, "function": function }] });
        let answer = stream(&[
            delta(json!({ "content": "Look" }), Value::Null),
            delta(call(json!({ "name": "ls", "arguments": "{\"path\":" })), Value::Null),
            delta(call(json!({ "arguments": "\".\"}" })), Value::Null),
            delta(json!({}), json!("tool_calls")),
            json!({ "choices": [], "timings": { "prompt_n": 10, "cache_n": 30, "predicted_n": 5 } }),
        ]);
        assert_eq!(answer, expected(Some(40)));
    }

    #[test]
    fn a_messages_stream_is_assembled() {
        let answer = stream(&[
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 10, "cache_read_input_tokens": 30 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Look" } }),
            json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "name": "ls", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 1, "delta": { "partial_json": "{\"path\":\".\"}" } }),
            json!({ "type": "message_delta", "delta": {}, "usage": { "output_tokens": 5 } }),
            json!({ "type": "message_stop" }),
        ]);
        assert_eq!(answer, expected(Some(40)));
    }

    #[test]
    fn a_responses_stream_ends_with_the_whole_response() {
        let output = json!([
            { "type": "message", "content": [{ "type": "output_text", "text": "Look" }] },
            { "type": "function_call", "name": "ls", "arguments": "{\"path\":\".\"}" }
        ]);
        let usage = json!({ "input_tokens": 40, "output_tokens": 5 });
        let response = json!({ "object": "response", "output": output, "usage": usage });
        let events = [
            json!({ "type": "response.output_text.delta", "delta": "Look" }),
            json!({ "type": "response.completed", "response": response }),
        ];
        assert_eq!(stream(&events), expected(Some(40)));
        assert_eq!(read(&response.to_string()), expected(Some(40)));
    }

    #[test]
    fn a_truncated_response_is_not_finished() {
        let answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2d\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\r\n40\r\nhalf".to_vec();
        let exchange = Exchange { started: Instant::now(), path: String::new(), request: json!({}), answer };
        let answer = Answer::read(&exchange);
        assert_eq!((answer.text.as_str(), answer.finished), ("x", false));
    }

    #[test]
    fn tools_are_named_on_every_wire() {
        let schema = json!({ "type": "object" });
        let request = json!({ "tools": [
            { "type": "function", "function": { "name": "a", "parameters": schema } },
            { "type": "function", "name": "b", "parameters": schema },
            { "name": "c", "input_schema": schema },
            { "type": "local_shell" },
        ] });
        let names: Vec<_> = offered(&request).into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["a", "b", "c", "local_shell"]);
        assert!(prescribes_text(&json!({ "response_format": { "type": "json_schema" } })));
        assert!(!prescribes_text(&json!({ "response_format": { "type": "text" } })));
    }
}
