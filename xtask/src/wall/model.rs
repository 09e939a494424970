//! The scripted model of the attacks: one server for all runs, each with its own URL, calls and
//! record.

use super::corpus::Call;
use crate::peers::http::Request;
use crate::peers::{model, wire};
use anyhow::Result;
use serde_json::{Deserializer, Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

/// The script of one run, and the requests received.
#[derive(Default)]
pub(super) struct Script {
    pub(super) calls: Vec<Call>,
    pub(super) final_text: String,
    /// The bodies of the requests.
    pub(super) received: String,
    /// The number of tool results received.
    pub(super) results: usize,
}

type Scripts = Arc<Mutex<HashMap<String, Script>>>;

/// A running server. Its threads end with the process.
pub(super) struct Model {
    address: SocketAddr,
    scripts: Scripts,
}

impl Model {
    /// Listens on a free port of the loopback interface.
    pub(super) fn start() -> Result<Self> {
        let scripts = Scripts::default();
        let shared = Arc::clone(&scripts);
        let address = model::serve(move |request| answer(request, &shared))?;
        Ok(Self { address, scripts })
    }

    /// Registers a run's script; returns the base URL for it.
    pub(super) fn play(&self, run: &str, calls: Vec<Call>, final_text: &str) -> String {
        let script = Script { calls, final_text: final_text.to_owned(), ..Script::default() };
        lock(&self.scripts).insert(run.to_owned(), script);
        format!("http://{}/{run}/v1", self.address)
    }

    /// Removes a run's script and returns it, with the record.
    pub(super) fn take(&self, run: &str) -> Script {
        lock(&self.scripts).remove(run).unwrap_or_default()
    }
}

fn lock(scripts: &Scripts) -> MutexGuard<'_, HashMap<String, Script>> {
    scripts.lock().expect("no thread panics with the lock held")
}

/// Begins the task of a subagent whose calls it lists.
const OF_CHILD: &str = "calls: ";

/// Returns the task of a subagent that makes these calls.
pub(super) fn of_child(calls: &[Call]) -> String {
    let calls: Vec<_> = calls.iter().map(|call| json!([call.tool, call.arguments])).collect();
    format!("{OF_CHILD}{}", Value::Array(calls))
}

/// Returns the calls that the task of a subagent lists; `None` in another conversation.
fn calls_of_task(messages: &[Value]) -> Option<Vec<Call>> {
    let users =
        messages.iter().filter(|message| message["role"] == "user").map(|message| &message["content"]);
    let mut texts = users.flat_map(|content| {
        let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
        content.as_str().into_iter().chain(parts)
    });
    let (_, calls) = texts.find_map(|text| text.split_once(OF_CHILD))?;
    let calls: Vec<(String, Value)> = Deserializer::from_str(calls).into_iter().next()?.ok()?;
    Some(calls.into_iter().map(|(tool, arguments)| Call { tool, arguments }).collect())
}

/// Returns the next call of the run that the path names, or its final text.
fn answer(request: &Request, scripts: &Scripts) -> Option<Vec<String>> {
    let path = request.line.strip_prefix("POST /")?;
    let (run, _) = path.split_once("/v1/chat/completions")?;
    let mut scripts = lock(scripts);
    let script = scripts.get_mut(run)?;
    script.received.push_str(&String::from_utf8_lossy(&request.body));
    script.received.push('\n');
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let messages = body["messages"].as_array()?;
    let results = messages.iter().filter(|message| message["role"] == "tool").count();
    let of_task = calls_of_task(messages);
    if of_task.is_none() {
        script.results = script.results.max(results);
    }
    let (event, reason) = match of_task.as_ref().unwrap_or(&script.calls).get(results) {
        Some(call) => (wire::tool_call(results, &call.tool, &call.arguments), "tool_calls"),
        None => (wire::text(&script.final_text), "stop"),
    };
    Some(vec![event, wire::end(reason), wire::usage(), wire::DONE.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_its_own_calls() {
        let model = Model::start().unwrap();
        let call = Call { tool: "bash".to_owned(), arguments: json!({ "command": "id" }) };
        assert!(model.play("r1", vec![call], "over").ends_with("/r1/v1"));
        let ask = |run: &str, messages: Value| {
            let body = json!({ "messages": messages }).to_string().into_bytes();
            answer(
                &Request { line: format!("POST /{run}/v1/chat/completions"), headers: Vec::new(), body },
                &model.scripts,
            )
        };
        assert!(ask("r1", json!([{ "role": "user" }])).unwrap()[0].contains("bash"));
        assert!(ask("r1", json!([{ "role": "tool" }])).unwrap()[0].contains("over"));
        assert!(ask("r2", json!([])).is_none());
        let call = Call { tool: "glob".to_owned(), arguments: json!({ "pattern": "*" }) };
        let task = format!("A task.\n{}\nMore.", of_child(&[call]));
        assert!(ask("r1", json!([{ "role": "user", "content": task }])).unwrap()[0].contains("glob"));
        let script = model.take("r1");
        assert_eq!((script.results, script.received.lines().count()), (1, 3));
    }
}
