//! What a client has to repeat on a new connection when the server has lost the old one: its
//! `initialize`, the sessions that it has open, and the requests that were not answered.

use crate::message::Head;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The beginning of the ids of requests that the editor did not send.
const OWN: &str = "tiller-connect-";

/// What happened on a connection, as far as a new one must repeat it.
#[derive(Debug, Default)]
pub(super) struct Recall {
    /// The `initialize` request.
    initialize: Option<String>,
    /// The parameters with which each open session was created or opened, without its id.
    sessions: BTreeMap<String, Value>,
    /// The requests that were not answered, by id, in order.
    unanswered: Vec<(String, Request)>,
    /// The ids of requests whose responses are not for the editor.
    own: HashSet<String>,
    restored: u64,
}

#[derive(Debug, Clone)]
struct Request {
    method: String,
    session: Option<String>,
    text: String,
}

/// What a new connection begins with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Restored {
    /// The requests that open the sessions again, in order.
    pub(super) to_server: Vec<String>,
    /// The messages for the server once [`Recall::is_restoring`] is over.
    pub(super) to_server_later: Vec<String>,
    /// The messages for the editor.
    pub(super) to_editor: Vec<String>,
}

impl Recall {
    /// Takes note of a message of the editor.
    pub(super) fn sent(&mut self, text: &str) {
        let head = Head::of(text);
        let (Some(id), Some(method)) = (head.id, head.method) else { return };
        if method == "initialize" {
            self.initialize.get_or_insert_with(|| text.to_owned());
        }
        let request = Request { method, session: head.session, text: text.to_owned() };
        self.unanswered.push((id, request));
    }

    /// Whether a request of the editor was not answered.
    pub(super) fn waits(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Returns errors for the editor in place of the responses that will not come.
    pub(super) fn abandon(&mut self) -> Vec<String> {
        let ids = self.unanswered.drain(..).map(|(id, _)| id);
        let of_editor = ids.filter(|id| !self.own.contains(id));
        let message = "the connection broke after the end of the input, and the answer is lost; what was \
                       requested may have been done";
        of_editor.map(|id| error(&id, message)).collect()
    }

    /// Takes note of a message of the server. Returns whether it is for the editor.
    pub(super) fn received(&mut self, text: &str) -> bool {
        let head = Head::of(text);
        let Some(id) = head.id.clone().filter(|_| head.is_response()) else { return true };
        let at = self.unanswered.iter().position(|(unanswered, _)| *unanswered == id);
        if let Some((_, request)) = at.map(|at| self.unanswered.remove(at))
            && !head.is_error
        {
            self.answered(&request, text);
        }
        !self.own.remove(&id)
    }

    fn answered(&mut self, request: &Request, response: &str) {
        match request.method.as_str() {
            "session/new" | "session/fork" => {
                let response: Value = serde_json::from_str(response).unwrap_or_default();
                if let Some(id) = response["result"]["sessionId"].as_str() {
                    self.sessions.insert(id.to_owned(), parameters(&request.text));
                }
            }
            "session/load" | "session/resume" => {
                if let Some(id) = &request.session {
                    self.sessions.insert(id.clone(), parameters(&request.text));
                }
            }
            "session/close" | "session/delete" | "session/archive" => {
                if let Some(id) = &request.session {
                    self.sessions.remove(id);
                }
            }
            _ => {}
        }
    }

    /// Whether sessions are still being opened again: the server does not know them yet.
    pub(super) fn is_restoring(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns what a new connection begins with. Requests that were not answered are sent again,
    /// but for prompts: whether their turn ran is not known, so they are answered with an error.
    pub(super) fn restore(&mut self) -> Restored {
        let mut restored = Restored::default();
        // What an earlier restoration waited for is asked for again.
        self.own.clear();
        let unanswered = std::mem::take(&mut self.unanswered);
        let waits: HashMap<_, _> = unanswered.iter().map(|(id, request)| (id, request)).collect();
        if let Some(initialize) = &self.initialize
            && let Some(id) = Head::of(initialize).id
        {
            if !waits.contains_key(&id) {
                self.own.insert(id);
            }
            restored.to_server.push(initialize.clone());
        }
        for (session, parameters) in &self.sessions {
            self.restored += 1;
            let id = format!("{OWN}{}", self.restored);
            let mut params = parameters.clone();
            params["sessionId"] = session.as_str().into();
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "session/resume", "params": params });
            self.own.insert(Value::from(id).to_string());
            restored.to_server.push(request.to_string());
        }
        for (id, request) in unanswered {
            match request.method.as_str() {
                "initialize" => self.unanswered.push((id, request)),
                "session/prompt" => restored.to_editor.push(lost(&id)),
                _ => {
                    restored.to_server_later.push(request.text.clone());
                    self.unanswered.push((id, request));
                }
            }
        }
        restored
    }
}

/// Returns the parameters of a request that concern how its session is opened.
fn parameters(request: &str) -> Value {
    let request: Value = serde_json::from_str(request).unwrap_or_default();
    let kept = ["cwd", "mcpServers", "additionalDirectories"].into_iter().filter_map(|name| {
        // The parameters may be of any type.
        let value = request.get("params")?.get(name)?;
        (!value.is_null()).then(|| (name.to_owned(), value.clone()))
    });
    Value::Object(kept.collect())
}

/// Returns the response to a prompt whose end is not known.
fn lost(id: &str) -> String {
    let message = "the connection to the server was lost for too long, and the answer with it; the session is \
                   open again: look at what was done, and send the prompt again if need be";
    error(id, message)
}

fn error(id: &str, message: &str) -> String {
    let id: Value = serde_json::from_str(id).unwrap_or_default();
    let error = json!({ "code": -32603, "message": message, "data": { "reason": "owner_lost" } });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITIALIZE: &str = r#"{"id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    const LIST: &str = r#"{"id":5,"method":"session/list"}"#;

    fn recall() -> Recall {
        let mut recall = Recall::default();
        recall.sent(INITIALIZE);
        assert!(recall.received(r#"{"id":1,"result":{}}"#));
        recall.sent(r#"{"id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#);
        assert!(recall.received(r#"{"id":2,"result":{"sessionId":"s"}}"#));
        recall
    }

    #[test]
    fn sessions_are_opened_again_and_open_requests_repeated_but_for_prompts() {
        let mut recall = recall();
        recall.sent(r#"{"id":"p","method":"session/prompt","params":{"sessionId":"s"}}"#);
        recall.sent(LIST);
        recall.sent(r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#);
        let restored = recall.restore();
        assert_eq!(restored.to_server.len(), 2, "{restored:?}");
        assert_eq!((&*restored.to_server[0], &*restored.to_server_later[0]), (INITIALIZE, LIST));
        let resume: Value = serde_json::from_str(&restored.to_server[1]).unwrap();
        assert_eq!(resume["method"], "session/resume");
        assert_eq!(resume["params"], json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [] }));
        let lost: Value = serde_json::from_str(&restored.to_editor[0]).unwrap();
        assert_eq!((&lost["id"], &lost["error"]["data"]["reason"]), (&json!("p"), &json!("owner_lost")));
        // What the editor has already is not sent to it once more.
        assert!(!recall.received(r#"{"id":1,"result":{}}"#));
        assert!(recall.is_restoring());
        assert!(!recall.received(r#"{"id":"tiller-connect-1","result":{}}"#));
        assert!(!recall.is_restoring());
        assert!(recall.received(r#"{"id":5,"result":{}}"#));
    }

    #[test]
    fn parameters_of_any_type_are_accepted() {
        for params in ["[]", "[1]", "null", "7", "\"x\"", "{}"] {
            let request = format!(r#"{{"id":1,"method":"session/new","params":{params}}}"#);
            assert_eq!(parameters(&request), json!({}), "{params}");
        }
    }

    #[test]
    fn a_closed_session_is_not_opened_again_and_an_unanswered_initialize_is_answered() {
        let mut recall = recall();
        recall.sent(r#"{"id":3,"method":"session/close","params":{"sessionId":"s"}}"#);
        recall.received(r#"{"id":3,"result":{}}"#);
        assert_eq!(recall.restore().to_server, [INITIALIZE]);
        let mut early = Recall::default();
        early.sent(INITIALIZE);
        assert_eq!(early.restore().to_server, [INITIALIZE]);
        assert!(early.received(r#"{"id":1,"result":{}}"#));
    }
}
