//! The protocol features that a client used, derived from its transcripts and from what it
//! displayed.

use super::tap::{TO_AGENT, TO_CLIENT};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// The columns of the table, in order: the name in the stored file, the heading, the criterion.
pub(super) const FEATURES: [(&str, &str, &str); 14] = [
    ("prompt", "prompt", "a prompt was answered after text had been streamed"),
    ("read", "reads", "it answered `fs/read_text_file`"),
    ("write", "writes", "it took an `fs/write_text_file`"),
    ("terminal", "terminal", "a command ran to its end in its terminal"),
    ("allow", "allows", "it allowed a call that was asked about"),
    ("reject", "rejects", "it refused a call that was asked about"),
    ("cancel", "cancels", "it sent `session/cancel`, and the turn ended as cancelled"),
    ("list", "lists", "it listed the sessions"),
    ("load", "loads", "it loaded or resumed a session"),
    ("options", "options", "it changed a model, a mode or another option of the session"),
    ("login", "logs in", "it sent `authenticate`"),
    ("diff", "shows diffs", "the edit's diff reached its user before or after the edit"),
    ("plan", "shows plans", "the steps of a plan reached its user"),
    ("reason", "shows refusals", "the reason of a refusal reached its user"),
];

/// Returns the features that one transcript shows. Lines that are no JSON are ignored.
pub(super) fn features_in_wire(wire: &str) -> BTreeSet<&'static str> {
    let mut reading = WireReader::default();
    for line in wire.lines() {
        let mut chars = line.chars();
        let from = chars.next();
        let Ok(message) = serde_json::from_str::<Value>(chars.as_str()) else { continue };
        match from {
            Some(TO_AGENT) => reading.client_message(&message),
            Some(TO_CLIENT) => reading.agent_message(&message),
            _ => {}
        }
    }
    reading.seen
}

/// Returns the features that a client's script recorded as displayed, one word per line. Unknown
/// words are ignored.
pub(super) fn features_in_notes(notes: &str) -> BTreeSet<&'static str> {
    let names = FEATURES.iter().map(|(name, ..)| *name);
    names.filter(|name| notes.lines().any(|line| line.trim() == *name)).collect()
}

/// The state while reading a transcript.
#[derive(Default)]
struct WireReader {
    /// Requests without a response so far, by direction and id.
    open_requests: HashMap<(bool, String), Value>,
    streamed: bool,
    cancelled: bool,
    seen: BTreeSet<&'static str>,
}

impl WireReader {
    /// Processes a message of the client.
    fn client_message(&mut self, message: &Value) {
        if let Some(method) = message["method"].as_str() {
            match method {
                "session/cancel" => self.cancelled = true,
                "session/prompt" => self.streamed = false,
                _ => {}
            }
            self.note_request(true, message);
            return;
        }
        let Some(request) = self.take_request(false, message) else { return };
        // `null` is a valid result; an error has none.
        let Some(result) = message.get("result") else { return };
        match request["method"].as_str().unwrap_or_default() {
            "fs/read_text_file" => self.record("read"),
            "fs/write_text_file" => self.record("write"),
            "terminal/wait_for_exit" => self.record("terminal"),
            "session/request_permission" => self.permission(&request, result),
            _ => {}
        }
    }

    /// Processes a message of the agent.
    fn agent_message(&mut self, message: &Value) {
        if message["method"].is_string() {
            let update = &message["params"]["update"]["sessionUpdate"];
            self.streamed |= update == "agent_message_chunk";
            self.note_request(false, message);
            return;
        }
        let Some(request) = self.take_request(true, message) else { return };
        let Some(result) = message.get("result") else { return };
        match request["method"].as_str().unwrap_or_default() {
            "session/prompt" if self.cancelled && result["stopReason"] == "cancelled" => {
                self.record("cancel")
            }
            "session/prompt" if self.streamed => self.record("prompt"),
            "session/list" => self.record("list"),
            "session/load" | "session/resume" => self.record("load"),
            "session/set_mode" | "session/set_model" | "session/set_config_option" => self.record("options"),
            "authenticate" => self.record("login"),
            _ => {}
        }
    }

    fn permission(&mut self, request: &Value, result: &Value) {
        let outcome = &result["outcome"];
        let options = request["params"]["options"].as_array().map_or(&[][..], Vec::as_slice);
        let chosen = options.iter().find(|option| option["optionId"] == outcome["optionId"]);
        let kind = chosen.and_then(|option| option["kind"].as_str()).unwrap_or_default();
        if outcome["outcome"] == "cancelled" || kind.starts_with("reject") {
            self.record("reject");
        } else if kind.starts_with("allow") {
            self.record("allow");
        }
    }

    fn note_request(&mut self, of_client: bool, message: &Value) {
        if let Some(id) = message.get("id") {
            self.open_requests.insert((of_client, id.to_string()), message.clone());
        }
    }

    fn take_request(&mut self, of_client: bool, message: &Value) -> Option<Value> {
        self.open_requests.remove(&(of_client, message.get("id")?.to_string()))
    }

    fn record(&mut self, feature: &'static str) {
        self.seen.insert(feature);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_counts_only_with_its_response() {
        let wire = r#"
>{"id":1,"method":"session/prompt","params":{}}
<{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk"}}}
<{"id":1,"method":"fs/read_text_file","params":{}}
>{"id":1,"result":{"content":""}}
<{"id":2,"method":"fs/write_text_file","params":{}}
>{"id":2,"error":{"code":-32603,"message":"read-only"}}
<{"id":3,"method":"session/request_permission","params":{"options":[{"optionId":"n","kind":"reject_once"}]}}
>{"id":3,"result":{"outcome":{"outcome":"selected","optionId":"n"}}}
<{"id":1,"result":{"stopReason":"end_turn"}}
no JSON at all
"#;
        assert_eq!(features_in_wire(wire), BTreeSet::from(["prompt", "read", "reject"]));
    }

    #[test]
    fn a_write_answered_with_null_counts() {
        let wire = "<{\"id\":2,\"method\":\"fs/write_text_file\"}\n>{\"id\":2,\"result\":null}";
        assert_eq!(features_in_wire(wire), BTreeSet::from(["write"]));
    }

    #[test]
    fn a_cancelled_turn_counts_only_after_the_clients_request() {
        let end = "<{\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}";
        let prompt = ">{\"id\":1,\"method\":\"session/prompt\"}";
        assert_eq!(features_in_wire(&format!("{prompt}\n{end}")), BTreeSet::new());
        let wire = format!("{prompt}\n>{{\"method\":\"session/cancel\"}}\n{end}");
        assert_eq!(features_in_wire(&wire), BTreeSet::from(["cancel"]));
    }

    #[test]
    fn notes_are_words_of_the_table() {
        assert_eq!(features_in_notes("diff\nplan\nwonders\ndiff\n"), BTreeSet::from(["diff", "plan"]));
    }
}
