//! The model of the kills: for the prompt `step N` it makes calls whose effects carry that number.
//! It reports conversations in which a call does not have exactly one result.

use super::kill_moment::CALLS;
use super::kind::Kind;
use super::prompt::{self, done};
use crate::peers::http::Request;
use crate::peers::{model, wire};
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// The problems found in conversations, by story.
type ConversationProblems = Arc<Mutex<HashMap<String, Vec<String>>>>;

/// A running server. Its threads end with the process.
pub(super) struct Model {
    address: SocketAddr,
    conversation_problems: ConversationProblems,
}

impl Model {
    pub(super) fn start() -> Result<Self> {
        let conversation_problems = ConversationProblems::default();
        let shared = Arc::clone(&conversation_problems);
        let address = model::serve(move |request| answer(request, &shared))?;
        Ok(Self { address, conversation_problems })
    }

    /// Returns the base URL for a story.
    pub(super) fn base_url(&self, kind: Kind, kill_test: &str) -> String {
        format!("http://{}/{}/{kill_test}/v1", self.address, kind.name())
    }

    /// Returns the problems in a story's conversation since the last call.
    pub(super) fn conversation_problems(&self, kill_test: &str) -> Vec<String> {
        let mut all = self.conversation_problems.lock().expect("no thread panics with the lock held");
        all.remove(kill_test).unwrap_or_default()
    }
}

fn answer(request: &Request, conversation_problems: &ConversationProblems) -> Option<Vec<String>> {
    let mut path = request.line.strip_prefix("POST /")?.split('/');
    let (kind, kill_test) = (Kind::named(path.next()?)?, path.next()?);
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let messages = body["messages"].as_array()?;
    let wrong = unanswered(messages);
    if !wrong.is_empty() {
        let mut all = conversation_problems.lock().expect("no thread panics with the lock held");
        all.entry(kill_test.to_owned()).or_default().extend(wrong);
    }
    let (at, number, waits) = messages.iter().enumerate().rev().find_map(|(at, message)| {
        let text = (message["role"] == "user").then(|| message["content"].to_string())?;
        let (number, waits) = prompt::parse(&text)?;
        Some((at, number, waits))
    })?;
    let is_result = |message: &&Value| message["role"] == "tool";
    let made = messages[at..].iter().filter(is_result).count();
    let all = messages.iter().filter(is_result).count();
    let (event, reason) = match calls(kind, number, waits).get(made) {
        Some((tool, arguments)) => (wire::tool_call(all, tool, arguments), "tool_calls"),
        None => (wire::text(&done(number)), "stop"),
    };
    Some(vec![event, wire::end(reason), wire::usage(), wire::DONE.to_owned()])
}

/// Returns the calls for a prompt: first a command, which runs longer if it is to be killed.
fn calls(kind: Kind, number: u64, waits: bool) -> Vec<(&'static str, Value)> {
    // Background processes must end with their command, and with the program. An editor's terminal
    // does not guarantee this.
    let background = if kind == Kind::Delegated { "" } else { "sleep 300 >/dev/null 2>&1 &" };
    let time = if waits { "20" } else { "0.02" };
    let command = format!("echo {number} >> ran; {background} sleep {time}");
    let edit = json!({ "path": "log.txt", "old_string": "end", "new_string": format!("{number}\nend") });
    let mut calls = vec![("bash", json!({ "command": command })), ("file_edit", edit)];
    calls.push(match kind {
        Kind::Servers => ("mcp__srv__act", json!({ "number": number })),
        _ => ("file_write", json!({ "path": format!("new-{number}.txt"), "content": "new\n" })),
    });
    debug_assert_eq!(calls.len() as u64, CALLS);
    calls
}

/// Returns the calls that do not have exactly one result.
fn unanswered(messages: &[Value]) -> Vec<String> {
    let mut results: HashMap<&str, usize> = HashMap::new();
    for message in messages.iter().filter(|message| message["role"] == "tool") {
        *results.entry(message["tool_call_id"].as_str().unwrap_or_default()).or_default() += 1;
    }
    let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let counts = calls.map(|call| {
        let id = call["id"].as_str().unwrap_or_default();
        (id, results.get(id).copied().unwrap_or_default())
    });
    counts
        .filter(|(_, count)| *count != 1)
        .map(|(id, count)| format!("the model was sent {count} results of its call {id}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(messages: Value, conversation_problems: &ConversationProblems) -> String {
        let body = json!({ "messages": messages }).to_string().into_bytes();
        let line = "POST /local/s1/v1/chat/completions".to_owned();
        answer(&Request { line, headers: Vec::new(), body }, conversation_problems).unwrap().concat()
    }

    #[test]
    fn the_model_continues_from_the_last_prompt_and_counts_results() {
        let conversation_problems = ConversationProblems::default();
        let user = |number: u64| json!({ "role": "user", "content": format!("step {number}") });
        assert!(ask(json!([user(7)]), &conversation_problems).contains("echo 7 >> ran"));
        let called = json!({ "role": "assistant", "tool_calls": [{ "id": "call_0" }] });
        let result = json!({ "role": "tool", "tool_call_id": "call_0", "content": "" });
        assert!(ask(json!([user(7), called, result]), &conversation_problems).contains("log.txt"));
        assert!(conversation_problems.lock().unwrap().is_empty());
        assert!(
            ask(json!([user(7), called, result, result, user(8)]), &conversation_problems).contains("echo 8")
        );
        let objected = conversation_problems.lock().unwrap().remove("s1").unwrap();
        assert_eq!(objected, ["the model was sent 2 results of its call call_0"]);
    }
}
