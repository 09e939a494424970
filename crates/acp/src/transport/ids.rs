//! Translates ids between the client and the SDK.
//!
//! The SDK accepts 64-bit integers. A client may send longer ones; between here and the SDK,
//! strings of our own replace them. The SDK identifies its own requests by random strings; clients
//! of the KosmoKrator wire get integers counted from 1 instead.

use super::message_head::{IdKind, MessageHead};
use crate::limits::CANCELLED_REQUESTS;
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

/// A random word of this process, unknown to clients. It marks the ids and methods that this
/// module and the reader of lines generate.
pub(super) static SECRET: LazyLock<String> =
    LazyLock::new(|| format!("{:016x}", RandomState::new().hash_one("a line of our own")));

/// The beginning of every line of the SDK that carries an id.
const BEFORE_ID: &str = r#"{"jsonrpc":"2.0","id":"#;

/// Returns the string that replaces an integer that the SDK does not accept.
fn replacement_id(digits: &str) -> String {
    format!("{}:{digits}", *SECRET)
}

/// Returns the id of an invalid line in the form that the SDK accepts; null if none can be read.
pub(super) fn of(head: &MessageHead) -> Value {
    match (head.id_kind(), &head.id) {
        (Some(IdKind::Plain), Some((text, _))) => serde_json::from_str(text).unwrap_or_default(),
        (Some(IdKind::Huge), Some((text, _))) => replacement_id(text).into(),
        _ => Value::Null,
    }
}

/// Rewrites the id of a request or a notification into the form that the SDK accepts.
pub(super) fn with_sdk_id(mut line: String, head: &MessageHead) -> String {
    if head.id_kind() == Some(IdKind::Huge)
        && let Some((text, from)) = &head.id
    {
        line.replace_range(*from..from + text.len(), &json!(replacement_id(text)).to_string());
    } else if !head.has_id && line.contains("$/cancel_request") {
        replace_cancelled_id(&mut line);
    }
    line
}

/// Rewrites the id in a cancel notification (`$/cancel_request`) in the same way.
fn replace_cancelled_id(line: &mut String) {
    const NAME: &str = "\"requestId\"";
    let Some(name) = line.find(NAME) else { return };
    let after = name + NAME.len();
    let is_before = |c: char| c == ':' || c.is_ascii_whitespace();
    let from = after + line[after..].len() - line[after..].trim_start_matches(is_before).len();
    let is_end = |c: char| !(c == '-' || c.is_ascii_digit());
    let digits = line[from..].split(is_end).next().unwrap_or_default().to_owned();
    let followed = line[from + digits.len()..].trim_start().starts_with(['}', ',']);
    if digits.len() > 1 && followed && digits.parse::<i64>().is_err() {
        line.replace_range(from..from + digits.len(), &json!(replacement_id(&digits)).to_string());
    }
}

/// The id translation of a connection.
#[derive(Debug, Default)]
pub(crate) struct Ids(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether the agent's requests get integer ids.
    numbered: bool,
    last: u64,
    /// The SDK's ids of requests that were sent and not answered yet, by the integer.
    asked: HashMap<u64, String>,
    /// The integers of the requests cancelled last, the oldest first, answered or not; at most
    /// [`CANCELLED_REQUESTS`]. A client may never answer them.
    cancelled: VecDeque<u64>,
}

impl State {
    /// Records that a request was cancelled. Beyond the limit, the id of the oldest one is dropped.
    fn cancel(&mut self, number: u64) {
        self.cancelled.push_back(number);
        if self.cancelled.len() > CANCELLED_REQUESTS
            && let Some(oldest) = self.cancelled.pop_front()
        {
            self.asked.remove(&oldest);
        }
    }
}

impl Ids {
    /// Gives the agent's further requests integer ids, from 1 on.
    pub(crate) fn number(&self) {
        self.lock().numbered = true;
    }

    /// Translates a line from the SDK to the client.
    pub(crate) fn outgoing(&self, line: String) -> String {
        match line.strip_prefix(BEFORE_ID).and_then(|rest| rest.strip_prefix('"')) {
            Some(rest) => self.with_id(rest).unwrap_or(line),
            None if line.starts_with(r#"{"jsonrpc":"2.0","method":"$/cancel_request""#) => {
                self.translate_cancellation(line)
            }
            None => line,
        }
    }

    /// Translates a line, given from after the quote that begins its id; `None` if it stays
    /// unchanged.
    fn with_id(&self, rest: &str) -> Option<String> {
        if let Some(rest) = rest.strip_prefix(SECRET.as_str()).and_then(|rest| rest.strip_prefix(':')) {
            let (digits, rest) = rest.split_once('"')?;
            return Some(format!("{BEFORE_ID}{digits}{rest}"));
        }
        let (id, rest) = rest.split_once('"')?;
        // Responses stay unchanged: their ids are the client's.
        if !rest.starts_with(r#","method":"#) {
            return None;
        }
        let mut state = self.lock();
        if !state.numbered {
            return None;
        }
        state.last += 1;
        let number = state.last;
        state.asked.insert(number, id.to_owned());
        Some(format!("{BEFORE_ID}{number}{rest}"))
    }

    /// Translates the agent's cancellation of its own request.
    fn translate_cancellation(&self, line: String) -> String {
        let mut state = self.lock();
        if !state.numbered {
            return line;
        }
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else { return line };
        let id = message["params"]["requestId"].as_str();
        let number = id.and_then(|id| state.asked.iter().find(|(_, asked)| *asked == id));
        let Some((&number, _)) = number else { return line };
        state.cancel(number);
        message["params"]["requestId"] = json!(number);
        message.to_string()
    }

    /// Translates a line from the client to the SDK; `None` for a response to a request whose id
    /// is no longer kept.
    pub(crate) fn incoming(&self, line: String) -> Option<String> {
        if !self.lock().numbered {
            return Some(line);
        }
        let head = MessageHead::of(&line);
        let Some((text, from)) = head.id.as_ref().filter(|_| head.is_response()) else { return Some(line) };
        let Ok(number) = text.trim_matches('"').parse::<u64>() else { return Some(line) };
        let mut state = self.lock();
        let Some(asked) = state.asked.remove(&number) else {
            let was_sent = (1..=state.last).contains(&number);
            if was_sent {
                tracing::debug!(number, "ignored a late or repeated response");
            }
            return (!was_sent).then_some(line);
        };
        let mut line = line.clone();
        line.replace_range(*from..from + text.len(), &json!(asked).to_string());
        Some(line)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::{RawJsonRpcId, RawJsonRpcMessage};

    fn request(id: &str) -> String {
        let id = RawJsonRpcId::Str(id.to_owned());
        serde_json::to_string(&RawJsonRpcMessage::request("x/y".to_owned(), json!({}), id).unwrap()).unwrap()
    }

    #[test]
    fn agent_requests_get_integer_ids_if_enabled() {
        let ids = Ids::default();
        let first = request("a-b");
        assert_eq!(ids.outgoing(first.clone()), first);
        ids.number();
        assert_eq!(ids.outgoing(first), r#"{"jsonrpc":"2.0","id":1,"method":"x/y","params":{}}"#);
        assert!(ids.outgoing(request("c")).contains(r#""id":2,"#));
        let params = json!({"requestId": "c"});
        let back = RawJsonRpcMessage::notification("$/cancel_request".to_owned(), params).unwrap();
        let back = ids.outgoing(serde_json::to_string(&back).unwrap());
        assert_eq!(serde_json::from_str::<Value>(&back).unwrap()["params"]["requestId"], 2);
        for answer in
            [r#"{"jsonrpc":"2.0","result":{"id":2},"id":2}"#, r#"{"jsonrpc":"2.0","id":"1","result":{}}"#]
        {
            let taken: Value = serde_json::from_str(&ids.incoming(answer.to_owned()).unwrap()).unwrap();
            let expected = if answer.contains("\"1\"") { "a-b" } else { "c" };
            assert_eq!(taken["id"], expected);
        }
        for other in [r#"{"jsonrpc":"2.0","id":9,"result":{}}"#, r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#] {
            assert_eq!(ids.incoming(other.to_owned()).as_deref(), Some(other));
        }
        let answer = RawJsonRpcMessage::response(RawJsonRpcId::Str("a-b".to_owned()), Ok(json!({})));
        let answer = serde_json::to_string(&answer).unwrap();
        assert_eq!(ids.outgoing(answer.clone()), answer, "the client's own id");
    }

    #[test]
    fn ids_of_cancelled_requests_are_limited() {
        let ids = Ids::default();
        ids.number();
        ids.outgoing(request("open"));
        for number in 0..=CANCELLED_REQUESTS {
            let id = format!("cancelled-{number}");
            ids.outgoing(request(&id));
            let params = json!({"requestId": id});
            let cancel = RawJsonRpcMessage::notification("$/cancel_request".to_owned(), params).unwrap();
            let cancel: Value =
                serde_json::from_str(&ids.outgoing(serde_json::to_string(&cancel).unwrap())).unwrap();
            assert_eq!(cancel["params"]["requestId"], number + 2);
        }
        assert_eq!(ids.lock().asked.len(), CANCELLED_REQUESTS + 1);
        let answer =
            |number: usize| ids.incoming(format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{}}}}"#));
        assert_eq!(answer(2), None, "the oldest cancelled request");
        assert!(answer(3).unwrap().contains("cancelled-1"));
        assert_eq!(answer(3), None, "a repeated response");
        assert!(answer(1).unwrap().contains("open"), "a request that was not cancelled stays known");
    }

    #[test]
    fn an_integer_id_beyond_64_bits_is_returned_unchanged() {
        let huge = "-123456789012345678901234567890";
        let line = format!(r#"{{"jsonrpc":"2.0","method":"x/y","id":{huge}}}"#);
        let taken = with_sdk_id(line.clone(), &MessageHead::of(&line));
        let message: Value = serde_json::from_str(&taken).unwrap();
        let id = message["id"].as_str().unwrap().to_owned();
        let answer = RawJsonRpcMessage::response(RawJsonRpcId::Str(id.clone()), Ok(json!({})));
        let answer = Ids::default().outgoing(serde_json::to_string(&answer).unwrap());
        assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{huge},"result":{{}}}}"#));
        let back =
            format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId": {huge} }}}}"#);
        let back = with_sdk_id(back.clone(), &MessageHead::of(&back));
        assert_eq!(serde_json::from_str::<Value>(&back).unwrap()["params"]["requestId"], id.as_str());
        let plain = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}"#;
        assert_eq!(with_sdk_id(plain.to_owned(), &MessageHead::of(plain)), plain);
    }
}
