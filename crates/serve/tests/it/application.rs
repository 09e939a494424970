//! A scripted application. It answers `echo`, streams numbered notifications, and asks its client.

use crate::tokens::MemoryTokens;
use agent::{Principal, Scope};
use async_trait::async_trait;
use serde_json::{Value, json};
use serve::{
    Access, Application, Carried, Presence, ServeOptions, Server, Unreadable,
    auth::{Credentials, Source, wall_clock},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    sync::watch,
};

/// What the application received and saw.
#[derive(Default)]
pub(crate) struct Scripted {
    /// The messages that it received, in order.
    received: Mutex<Vec<Value>>,
    presence: Mutex<Vec<watch::Receiver<Presence>>>,
}

impl Scripted {
    /// Returns the messages that it received.
    pub(crate) fn received(&self) -> Vec<Value> {
        self.received.lock().unwrap().clone()
    }

    /// Returns whether the connections have a socket, in the order in which they were opened.
    pub(crate) fn presence(&self) -> Vec<Presence> {
        self.presence.lock().unwrap().iter().map(|presence| *presence.borrow()).collect()
    }

    /// Returns a server over it, with tokens in memory.
    pub(crate) fn server(self: &Arc<Self>, tokens: Arc<MemoryTokens>, options: ServeOptions) -> Server {
        let credentials = Credentials::new(tokens, wall_clock());
        let access = Access::new(Arc::new(credentials), principal);
        Server::new(self.clone(), access, options).unwrap()
    }
}

#[async_trait]
impl Application for Scripted {
    async fn serve(&self, connection: Carried) {
        let Carried { reader, mut writer, presence, .. } = connection;
        self.presence.lock().unwrap().push(presence);
        let mut lines = BufReader::new(reader).lines();
        let mut asked: HashMap<Value, Value> = HashMap::new();
        while let Ok(Some(line)) = lines.next_line().await {
            // The protocol answers a line that is no JSON; nothing is done with it here.
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            self.received.lock().unwrap().push(message.clone());
            for answer in answers(&message, &mut asked) {
                let mut text = answer.to_string();
                text.push('\n');
                if writer.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }

    async fn content(
        &self,
        principal: &Principal,
        _source: Source,
        session: &str,
        hash: &str,
    ) -> Result<Option<Vec<u8>>, Unreadable> {
        if hash == "broken" {
            return Err(Unreadable);
        }
        let own = principal.user == "user-0" && (session, hash) == ("s", "h");
        Ok(own.then(|| b"<b>\xff".to_vec()))
    }
}

/// Returns what the application sends for a message. `asked` holds the ids of its own requests,
/// with those of the requests that they belong to.
fn answers(message: &Value, asked: &mut HashMap<Value, Value>) -> Vec<Value> {
    let (id, params) = (&message["id"], &message["params"]);
    let respond = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    match message["method"].as_str() {
        Some("initialize") => vec![respond(json!({ "protocolVersion": 1 }))],
        Some("echo") => vec![respond(params.clone())],
        Some("stream") => {
            let count = params["count"].as_u64().unwrap();
            let from = params["from"].as_u64().unwrap_or(1);
            let update = |n| {
                let params = json!({ "sessionId": params["sessionId"], "n": n, "text": text(params) });
                json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
            };
            let updates = (from..from + count).map(update);
            updates.chain([respond(json!({ "sent": count }))]).collect()
        }
        Some("ask") => {
            let own = json!(format!("ask-{id}"));
            asked.insert(own.clone(), id.clone());
            let method = params["method"].as_str().unwrap_or("session/request_permission");
            let params = json!({ "sessionId": params["sessionId"], "text": text(params) });
            vec![json!({ "jsonrpc": "2.0", "id": own, "method": method, "params": params })]
        }
        Some(_) => Vec::new(),
        None => {
            let asked = asked.remove(id);
            let answered = message.get("result").unwrap_or(&message["error"]);
            let respond = |id| json!({ "jsonrpc": "2.0", "id": id, "result": { "answered": answered } });
            asked.map(respond).into_iter().collect()
        }
    }
}

/// Returns a text of `size` bytes.
fn text(params: &Value) -> String {
    "x".repeat(usize::try_from(params["size"].as_u64().unwrap_or_default()).unwrap())
}

/// The id of a process whose credential is that of user 0 and permits reading only.
pub(crate) const READER: u32 = 1_000;

fn principal(uid: u32) -> Principal {
    match uid {
        READER => {
            let scopes = [Scope::Connect, Scope::SessionRead].into_iter().collect();
            Principal { scopes, ..Principal::local("user-0") }
        }
        uid => Principal::local(format!("user-{uid}")),
    }
}
