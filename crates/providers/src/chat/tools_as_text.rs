//! Tools for a server that accepts no list of tools: the system prompt describes them, and calls
//! and results are text.
//!
//! The templates of open models use this form, so any model that was trained on tool calls knows
//! it. The calls are parsed where all calls in an answer's text are.

use agent::{AssistantMessage, Content, Message, ModelRequest, ToolSpecs};
use serde_json::json;
use std::fmt::Write as _;

const INSTRUCTIONS: &str = "# Tools\n\nTo use a tool, end your answer with a call in this form and wait for its result:\n\
    <tool_call>\n{\"name\": \"NAME\", \"arguments\": {…}}\n</tool_call>\n\nThe tools, each with the JSON Schema of its arguments:\n";

/// Rewrites a request so that it needs no list of tools.
pub(super) fn rewritten(request: &ModelRequest) -> ModelRequest {
    let mut system = format!("{}\n\n{INSTRUCTIONS}", request.system);
    for tool in request.tools.iter() {
        let line = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
        let _ = writeln!(system, "{line}");
    }
    let mut messages = Vec::with_capacity(request.messages.len() * 2);
    for message in &request.messages {
        match message {
            Message::User(_) => messages.push(message.clone()),
            Message::Assistant(answer) => push_answer(&mut messages, answer),
        }
    }
    ModelRequest { system, messages, tools: ToolSpecs::default(), ..request.clone() }
}

fn push_answer(messages: &mut Vec<Message>, answer: &AssistantMessage) {
    let (mut text, mut results) = (answer.text(), Vec::new());
    for call in answer.calls() {
        let arguments = crate::sink::sent_arguments(&call.arguments);
        let line = json!({"name": call.name, "arguments": arguments});
        let _ = write!(text, "\n<tool_call>\n{line}\n</tool_call>");
        let result = crate::parts::result_text(&call.result);
        results.push(Content::text(format!("<tool_response>\n{result}\n</tool_response>")));
        results.extend(call.result.images.iter().cloned());
    }
    messages.push(Message::Assistant(AssistantMessage::from_text(&answer.model, text)));
    if !results.is_empty() {
        messages.push(Message::User(results));
    }
}
