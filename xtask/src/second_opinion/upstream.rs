//! A scripted model server behind LiteLLM: it calls a tool, and finishes when it receives the
//! result.

use super::{FILE, WORD};
use crate::peers::{model, wire};
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// The server, with the requests since the last check.
pub(super) struct Scripted {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Scripted {
    pub(super) fn start() -> Result<Self> {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        let address = model::serve(move |request| {
            let body: Value = serde_json::from_slice(&request.body).ok()?;
            let events = answer(&body);
            kept.lock().expect("no thread panics with the lock held").push(body);
            Some(events)
        })?;
        Ok(Self { address, requests })
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Checks the requests of a run: the first one must offer tools, the last one must have the
    /// tool's result with the call's own id.
    pub(super) fn was_understood(&self) -> Result<()> {
        let requests =
            std::mem::take(&mut *self.requests.lock().expect("no thread panics with the lock held"));
        understood(&requests)
    }
}

fn answer(body: &Value) -> Vec<String> {
    let events = if last(body)["role"] == "tool" {
        [wire::text("It is done."), wire::end("stop")]
    } else {
        [
            wire::tool_call(1, "file_write", &json!({ "path": FILE, "content": format!("{WORD}\n") })),
            wire::end("tool_calls"),
        ]
    };
    events.into_iter().chain([wire::usage(), wire::DONE.to_owned()]).collect()
}

fn last(body: &Value) -> &Value {
    body["messages"].as_array().and_then(|messages| messages.last()).unwrap_or(&Value::Null)
}

fn understood(requests: &[Value]) -> Result<()> {
    let [first, .., second] = requests else { bail!("{} requests came, and not two", requests.len()) };
    if first["tools"].as_array().is_none_or(Vec::is_empty) {
        bail!("the first request offers no tools");
    }
    let messages = second["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let ids: Vec<&Value> = calls.map(|call| &call["id"]).collect();
    let result = last(second);
    if result["role"] != "tool" || !ids.contains(&&result["tool_call_id"]) {
        bail!("the result is not under the call's id: {result}, calls {ids:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_belongs_to_its_call() {
        let first = json!({ "tools": [{}], "messages": [{ "role": "user", "content": "do" }] });
        let second = |id: &str| {
            let call = json!({ "role": "assistant", "tool_calls": [{ "id": "call_1" }] });
            json!({ "messages": [call, { "role": "tool", "tool_call_id": id, "content": "" }] })
        };
        assert!(answer(&first)[0].contains("file_write") && answer(&second("call_1"))[0].contains("done"));
        assert!(understood(&[first.clone(), second("call_1")]).is_ok());
        assert!(understood(&[first.clone(), second("other")]).is_err());
        assert!(understood(&[first]).is_err());
    }
}
