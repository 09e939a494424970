//! The model of the kills: for the prompt `step N` it makes calls whose effects carry that number.
//! It reports conversations in which a call does not have exactly one result.

use super::kill_moment::CALLS;
use super::kind::Kind;
use super::prompt::{self, Extra, done};
use super::swarm::script::{self, Step};
use crate::peers::http::Request;
use crate::peers::{model, wire};
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

/// What is called when the model of a subagent calls for a command.
type OnCommand = Box<dyn FnMut() + Send>;

/// What the model knows of the stories, by their names.
#[derive(Default)]
struct Stories {
    /// The problems found in conversations.
    problems: HashMap<String, Vec<String>>,
    on_command: HashMap<String, OnCommand>,
}

type Shared = Arc<Mutex<Stories>>;

/// A running server. Its threads end with the process.
pub(super) struct Model {
    address: SocketAddr,
    stories: Shared,
}

impl Model {
    pub(super) fn start() -> Result<Self> {
        let stories = Shared::default();
        let shared = Arc::clone(&stories);
        let address = model::serve(move |request| answer(request, &shared))?;
        Ok(Self { address, stories })
    }

    /// Returns the base URL for a story.
    pub(super) fn base_url(&self, kind: Kind, kill_test: &str) -> String {
        format!("http://{}/{}/{kill_test}/v1", self.address, kind.name())
    }

    /// Returns the problems in a story's conversation since the last call.
    pub(super) fn conversation_problems(&self, kill_test: &str) -> Vec<String> {
        locked(&self.stories).problems.remove(kill_test).unwrap_or_default()
    }

    /// Sets what is called each time that a subagent's model calls for a command.
    pub(super) fn on_command(&self, kill_test: &str, call: impl FnMut() + Send + 'static) {
        locked(&self.stories).on_command.insert(kill_test.to_owned(), Box::new(call));
    }
}

fn locked(stories: &Shared) -> MutexGuard<'_, Stories> {
    stories.lock().expect("no thread panics with the lock held")
}

fn answer(request: &Request, stories: &Shared) -> Option<Vec<String>> {
    let mut path = request.line.strip_prefix("POST /")?.split('/');
    let (kind, kill_test) = (Kind::named(path.next()?)?, path.next()?);
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let messages = body["messages"].as_array()?;
    let wrong = unanswered(messages);
    if !wrong.is_empty() {
        locked(stories).problems.entry(kill_test.to_owned()).or_default().extend(wrong);
    }
    let step = step(kind, messages)?;
    if kind == Kind::Swarm
        && matches!(step, Step::Calls("bash", _))
        && let Some(call) = locked(stories).on_command.get_mut(kill_test)
    {
        call();
    }
    let call_number = messages.iter().filter(is_result).count();
    let (event, reason) = match step {
        Step::Calls(tool, arguments) => (wire::tool_call(call_number, tool, &arguments), "tool_calls"),
        Step::Says(text) => (wire::text(&text), "stop"),
        Step::Breaks => return Some(vec![wire::text("I begin with")]),
        Step::Refused => return None,
    };
    Some(vec![event, wire::end(reason), wire::usage(), wire::DONE.to_owned()])
}

fn is_result(message: &&Value) -> bool {
    message["role"] == "tool"
}

/// Returns what the model does next in a conversation.
fn step(kind: Kind, messages: &[Value]) -> Option<Step> {
    if kind == Kind::Swarm
        && let Some(id) = script::agent(messages)
    {
        return Some(script::of_agent(messages, &id));
    }
    let (at, number, extra) = messages.iter().enumerate().rev().find_map(|(at, message)| {
        let text = (message["role"] == "user").then(|| message["content"].to_string())?;
        let (number, extra) = prompt::parse(&text)?;
        Some((at, number, extra))
    })?;
    if kind == Kind::Swarm {
        return Some(script::of_session(messages, &messages[at..], number, extra));
    }
    let made = messages[at..].iter().filter(is_result).count();
    Some(match calls(kind, number, extra == Extra::Wait).into_iter().nth(made) {
        Some((tool, arguments)) => Step::Calls(tool, arguments),
        None => Step::Says(done(number)),
    })
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

    fn ask(messages: Value, stories: &Shared) -> String {
        let body = json!({ "messages": messages }).to_string().into_bytes();
        let line = "POST /local/s1/v1/chat/completions".to_owned();
        answer(&Request { line, headers: Vec::new(), body }, stories).unwrap().concat()
    }

    #[test]
    fn the_model_continues_from_the_last_prompt_and_counts_results() {
        let stories = Shared::default();
        let user = |number: u64| json!({ "role": "user", "content": format!("step {number}") });
        assert!(ask(json!([user(7)]), &stories).contains("echo 7 >> ran"));
        let called = json!({ "role": "assistant", "tool_calls": [{ "id": "call_0" }] });
        let result = json!({ "role": "tool", "tool_call_id": "call_0", "content": "" });
        assert!(ask(json!([user(7), called, result]), &stories).contains("log.txt"));
        assert!(locked(&stories).problems.is_empty());
        assert!(ask(json!([user(7), called, result, result, user(8)]), &stories).contains("echo 8"));
        let objected = locked(&stories).problems.remove("s1").unwrap();
        assert_eq!(objected, ["the model was sent 2 results of its call call_0"]);
    }
}
