//! What a client has to repeat on a new connection when the server has lost the old one: its
//! `initialize`, the sessions that it has open, and the requests that were not answered.

use super::{
    shown::Shown,
    splice::{member, with_member},
};
use crate::message::Head;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
};

/// The beginning of the ids of requests that the editor did not send.
const OWN: &str = "tiller-connect-";
/// Where the members of Tiller are in a request.
const TILLER: [&str; 3] = ["params", "_meta", "tiller"];

/// What happened on a connection, as far as a new one must repeat it.
#[derive(Debug, Default)]
pub(super) struct Recall {
    /// The `initialize` request.
    initialize: Option<String>,
    /// The parameters with which each open session was created or opened, without its id.
    sessions: BTreeMap<String, Value>,
    /// The requests that were not answered, by id, in order.
    unanswered: Vec<(String, Request)>,
    /// The ids of requests whose responses are not for the editor, each with the session that it
    /// opens again.
    own: HashMap<String, Option<String>>,
    restored: u64,
    /// What the editor was shown, by session.
    shown: HashMap<String, Shown>,
    /// Whether the editor asked for the numbers of events.
    numbers_asked: bool,
}

#[derive(Debug, Clone)]
struct Request {
    method: String,
    session: Option<String>,
    text: String,
    /// Whether the editor has cancelled it.
    is_cancelled: bool,
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
    /// Takes note of a message of the editor. Returns it as the server is to get it: it asks for
    /// the numbers of events, and its prompts have ids, so that they can be sent again.
    pub(super) fn sent<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let head = Head::of(text);
        let cancels = head.cancels();
        let Some(method) = head.method else { return Cow::Borrowed(text) };
        if cancels {
            self.cancelled(&method, head.session.as_deref(), text);
        }
        let Some(id) = head.id else { return Cow::Borrowed(text) };
        let added = match method.as_str() {
            "initialize" => {
                let added = with_member(text, &TILLER, "seq", "true");
                self.numbers_asked |= added.is_none() || asks_for_numbers(text);
                added
            }
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                self.numbers_asked |= member(text, &[&TILLER[..], &["seq"]].concat()) == Some("true");
                if let Some(shown) = head.session.as_ref().and_then(|session| self.shown.get_mut(session)) {
                    shown.forget_texts();
                }
                None
            }
            "session/prompt" => fresh_id().and_then(|id| with_member(text, &TILLER, "promptId", &id)),
            _ => None,
        };
        let text = added.map_or(Cow::Borrowed(text), Cow::Owned);
        if method == "initialize" {
            self.initialize.get_or_insert_with(|| text.clone().into_owned());
        }
        let request =
            Request { method, session: head.session, text: text.clone().into_owned(), is_cancelled: false };
        self.unanswered.push((id, request));
        text
    }

    /// Takes note of a cancellation: a prompt that is sent again is cancelled again.
    fn cancelled(&mut self, method: &str, session: Option<&str>, text: &str) {
        let id = member(text, &["params", "requestId"]);
        for (unanswered, request) in &mut self.unanswered {
            request.is_cancelled |= match method {
                "$/cancel_request" => id == Some(unanswered.as_str()),
                _ => request.session.as_deref() == session,
            };
        }
    }

    /// Whether a request of the editor was not answered.
    pub(super) fn waits(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Returns errors for the editor in place of the responses that will not come: of all requests
    /// but the prompts that may be sent again.
    pub(super) fn abandon(&mut self) -> Vec<String> {
        let unanswered = std::mem::take(&mut self.unanswered);
        let (again, lost): (Vec<_>, Vec<_>) =
            unanswered.into_iter().partition(|(_, request)| self.may_repeat(request));
        self.unanswered = again;
        // Only their sessions are still of interest.
        let prompted: HashSet<_> =
            self.unanswered.iter().filter_map(|(_, request)| request.session.as_ref()).collect();
        self.sessions.retain(|session, _| prompted.contains(session));
        let ids = lost.into_iter().map(|(id, _)| id);
        let of_editor = ids.filter(|id| !self.own.contains_key(id));
        let message = "the connection broke after the end of the input, and the answer is lost; what was \
                       requested may have been done";
        of_editor.map(|id| error(&id, message)).collect()
    }

    /// Whether a prompt may be sent again: it has an id, and the server knows of such ids, since it
    /// sends the numbers of events.
    fn may_repeat(&self, request: &Request) -> bool {
        let shown = request.session.as_ref().and_then(|session| self.shown.get(session));
        request.method == "session/prompt"
            && shown.is_some_and(|shown| shown.seq().is_some())
            && member(&request.text, &[&TILLER[..], &["promptId"]].concat()).is_some()
    }

    /// Takes note of a message of the server. Returns it as the editor is to get it; `None` if it
    /// is not for the editor.
    pub(super) fn received<'a>(&mut self, text: &'a str) -> Option<Cow<'a, str>> {
        let head = Head::of(text);
        if let (true, Some(session)) = (head.is_method("session/update"), head.session) {
            return self.shown.entry(session).or_default().update(text, self.numbers_asked);
        }
        let Some(id) = head.id.clone().filter(|_| head.method.is_none()) else {
            return Some(Cow::Borrowed(text));
        };
        let at = self.unanswered.iter().position(|(unanswered, _)| *unanswered == id);
        if let Some((_, request)) = at.map(|at| self.unanswered.remove(at))
            && !head.is_error
        {
            self.answered(&request, text);
        }
        match self.own.remove(&id) {
            Some(session) => {
                if let Some(shown) = session.and_then(|session| self.shown.get_mut(&session)) {
                    shown.end_again();
                }
                None
            }
            None => Some(Cow::Borrowed(text)),
        }
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
                    self.shown.remove(id);
                }
            }
            _ => {}
        }
    }

    /// Whether sessions are still being opened again: the server does not know them yet.
    pub(super) fn is_restoring(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns what a new connection begins with. Requests that were not answered are sent again.
    /// Prompts are sent again under their ids, so that they have one turn; where the server does
    /// not know of ids, whether their turn ran is not known, and they are answered with an error.
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
                self.own.insert(id, None);
            }
            restored.to_server.push(initialize.clone());
        }
        for (session, parameters) in &self.sessions {
            self.restored += 1;
            let id = format!("{OWN}{}", self.restored);
            let mut params = parameters.clone();
            params["sessionId"] = session.as_str().into();
            if let Some(shown) = self.shown.get_mut(session)
                && let Some(seq) = shown.seq()
            {
                shown.begin_again();
                params["_meta"] = json!({ "tiller": { "after": seq } });
            }
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": "session/resume", "params": params });
            self.own.insert(Value::from(id).to_string(), Some(session.clone()));
            restored.to_server.push(request.to_string());
        }
        for (id, request) in unanswered {
            match request.method.as_str() {
                "initialize" => self.unanswered.push((id, request)),
                "session/prompt" if !self.may_repeat(&request) => restored.to_editor.push(lost(&id)),
                _ => {
                    restored.to_server_later.push(request.text.clone());
                    restored.to_server_later.extend(request.is_cancelled.then(|| cancel(&id)));
                    self.unanswered.push((id, request));
                }
            }
        }
        restored
    }
}

/// Whether an `initialize` request of the editor asks for the numbers of events.
fn asks_for_numbers(initialize: &str) -> bool {
    let capabilities = ["clientCapabilities", "capabilities"];
    capabilities
        .iter()
        .any(|key| member(initialize, &["params", key, "_meta", "tiller", "seq"]) == Some("true"))
}

/// Returns a new id for a prompt, as JSON text; `None` without random bytes.
fn fresh_id() -> Option<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).ok()?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("\"connect-{hex}\""))
}

/// Returns the message that cancels the request with an id.
fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#)
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
    /// As the server gets it.
    const NUMBERED: &str =
        r#"{"id":1,"method":"initialize","params":{"_meta":{"tiller":{"seq":true}},"protocolVersion":1}}"#;
    const LIST: &str = r#"{"id":5,"method":"session/list"}"#;

    fn recall() -> Recall {
        let mut recall = Recall::default();
        recall.sent(INITIALIZE);
        assert!(recall.received(r#"{"id":1,"result":{}}"#).is_some());
        recall.sent(r#"{"id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}"#);
        assert!(recall.received(r#"{"id":2,"result":{"sessionId":"s"}}"#).is_some());
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
        assert_eq!((&*restored.to_server[0], &*restored.to_server_later[0]), (NUMBERED, LIST));
        let resume: Value = serde_json::from_str(&restored.to_server[1]).unwrap();
        assert_eq!(resume["method"], "session/resume");
        assert_eq!(resume["params"], json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [] }));
        let lost: Value = serde_json::from_str(&restored.to_editor[0]).unwrap();
        assert_eq!((&lost["id"], &lost["error"]["data"]["reason"]), (&json!("p"), &json!("owner_lost")));
        // What the editor has already is not sent to it once more.
        assert_eq!(recall.received(r#"{"id":1,"result":{}}"#), None);
        assert!(recall.is_restoring());
        assert_eq!(recall.received(r#"{"id":"tiller-connect-1","result":{}}"#), None);
        assert!(!recall.is_restoring());
        assert!(recall.received(r#"{"id":5,"result":{}}"#).is_some());
    }

    const PROMPT: &str = r#"{"id":"p","method":"session/prompt","params":{"sessionId":"s"}}"#;
    const NUMBER_7: &str = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan"},"_meta":{"tiller":{"seq":7}}}}"#;

    #[test]
    fn prompts_are_sent_again_under_their_ids_where_the_server_knows_of_them() {
        let mut recall = recall();
        let sent = recall.sent(PROMPT).into_owned();
        let id = member(&sent, &["params", "_meta", "tiller", "promptId"]).unwrap();
        assert!(id.len() > 20, "{id}");
        let update = recall.received(NUMBER_7).unwrap().into_owned();
        assert!(!update.contains("_meta") && update.contains("plan"), "{update}");
        recall.sent(r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#);
        for _ in 0..2 {
            let restored = recall.restore();
            let resume: Value = serde_json::from_str(&restored.to_server[1]).unwrap();
            assert_eq!(resume["params"]["_meta"], json!({ "tiller": { "after": 7 } }));
            assert_eq!(restored.to_editor, [] as [&str; 0]);
            let cancel = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}"#;
            assert_eq!(restored.to_server_later, [sent.as_str(), cancel], "the same text, the same id");
        }
        assert!(recall.received(r#"{"id":"p","result":{}}"#).is_some());
        assert_eq!(recall.restore().to_server_later, [] as [&str; 0]);
    }

    #[test]
    fn an_editors_own_ids_and_numbers_are_left_to_it() {
        let mut recall = recall();
        let own = r#"{"id":1,"method":"session/prompt","params":{"_meta":{"tiller":{"promptId":"mine"}}}}"#;
        assert_eq!(recall.sent(own), own);
        let mut asking = Recall::default();
        let initialize = r#"{"id":1,"method":"initialize","params":{"clientCapabilities":{"_meta":{"tiller":{"seq":true}}}}}"#;
        asking.sent(initialize);
        assert_eq!(asking.received(NUMBER_7).as_deref(), Some(NUMBER_7));
    }

    #[test]
    fn after_the_end_of_the_input_only_prompts_are_sent_again() {
        let mut recall = recall();
        recall.received(NUMBER_7);
        recall.sent(PROMPT);
        recall.sent(LIST);
        let lost = recall.abandon();
        assert_eq!(lost.len(), 1);
        assert!(lost[0].contains(r#""id":5"#), "{lost:?}");
        assert!(recall.waits());
        assert_eq!(recall.restore().to_server_later.len(), 1);
        assert_eq!(recall.abandon(), [] as [&str; 0]);
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
        assert_eq!(recall.restore().to_server, [NUMBERED]);
        let mut early = Recall::default();
        early.sent(INITIALIZE);
        assert_eq!(early.restore().to_server, [NUMBERED]);
        assert!(early.received(r#"{"id":1,"result":{}}"#).is_some());
    }
}
