//! Clients that attach with `_meta.tiller.after`, and updates that carry `_meta.tiller.seq`.

use crate::stage::{detached, stage_with};
use acp::{
    AfterEnd, Link, OnDisconnect,
    testing::{Answer, Editor, EditorScript},
};
use agent::{ModelEvent, ModelStop, fake::Reply};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

fn script() -> EditorScript {
    EditorScript::default().sharing()
}

/// An answer of several pieces of text, and of calls.
fn streamed(words: &[&str], reads: &[&str]) -> Reply {
    let mut events: Vec<_> = words.iter().map(|word| ModelEvent::Text((*word).to_owned())).collect();
    for (at, path) in reads.iter().enumerate() {
        events.push(ModelEvent::call(format!("call_{at}"), "file_read", &json!({ "path": path })));
    }
    let stop = if reads.is_empty() { ModelStop::EndTurn } else { ModelStop::ToolCalls };
    events.push(ModelEvent::Stop(stop));
    Reply::ok(events)
}

fn turn() -> Vec<Reply> {
    vec![
        streamed(&["I ", "look ", "at ", "it."], &["a.txt", "missing.txt"]),
        streamed(&["Once ", "more."], &["a.txt"]),
        streamed(&["It ", "has ", "two ", "lines."], &[]),
    ]
}

fn new() -> Value {
    json!({ "cwd": "/w", "mcpServers": [], "_meta": { "tiller": { "seq": true } } })
}

fn attach(session: &str, after: impl Into<Value>) -> Value {
    let tiller = json!({ "seq": true, "after": after.into() });
    json!({ "sessionId": session, "cwd": "/w", "mcpServers": [], "_meta": { "tiller": tiller } })
}

fn prompt(session: &str) -> Value {
    let text = json!([{ "type": "text", "text": "read" }]);
    json!({ "sessionId": session, "prompt": text, "_meta": { "tiller": { "promptId": "p" } } })
}

/// What a client holds of a session.
#[derive(Debug, Default, PartialEq, Eq)]
struct Held {
    /// The texts of messages and thoughts, by kind and id.
    texts: BTreeMap<(String, String), String>,
    /// The members of calls, as the updates set them.
    calls: BTreeMap<String, BTreeMap<String, String>>,
    /// The number of the last stored event.
    seq: u64,
}

impl Held {
    /// Takes the updates of one connection. The text of a message that is sent again replaces what
    /// was there.
    fn take(&mut self, updates: &[Value]) {
        let mut begun = Vec::new();
        for params in updates {
            if let Some(seq) = params.pointer("/_meta/tiller/seq").and_then(Value::as_u64) {
                assert!(seq >= self.seq, "numbers go on: {} then {params}", self.seq);
                self.seq = seq;
            }
            let update = &params["update"];
            let kind = update["sessionUpdate"].as_str().unwrap();
            let id = |name: &str| update[name].as_str().unwrap().to_owned();
            match kind {
                "agent_message_chunk" | "agent_thought_chunk" => {
                    let key = (kind.to_owned(), id("messageId"));
                    let text = self.texts.entry(key.clone()).or_default();
                    if !begun.contains(&key) {
                        text.clear();
                        begun.push(key);
                    }
                    text.push_str(update["content"]["text"].as_str().unwrap());
                }
                "tool_call" | "tool_call_update" => {
                    let call = self.calls.entry(id("toolCallId")).or_default();
                    for (name, value) in update.as_object().unwrap() {
                        if name != "sessionUpdate" {
                            call.insert(name.clone(), value.to_string());
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

fn updates(editor: &Editor) -> Vec<Value> {
    editor.calls("session/update")
}

/// Runs the turn with one client that never leaves; returns what it holds, and how many messages
/// it got.
async fn whole(version_2: bool) -> (Held, usize) {
    let stage = detached(script().version_2(version_2), turn());
    stage.editor.initialize().await;
    let session = stage.editor.ok("session/new", new()).await;
    let session = session["sessionId"].as_str().unwrap();
    let before = stage.editor.log().len();
    assert_eq!(stage.editor.ok("session/prompt", prompt(session)).await["stopReason"], "end_turn");
    let count = stage.editor.log().len() - before;
    let mut held = Held::default();
    held.take(&updates(&stage.editor));
    stage.editor.close().await.unwrap();
    (held, count)
}

#[tokio::test]
async fn a_client_that_attaches_at_any_point_of_a_turn_holds_what_one_holds_that_never_left() {
    let (expected, count) = whole(false).await;
    assert!(count > 10 && expected.texts.len() == 3 && expected.calls.len() == 3, "{expected:?}");
    for left_after in 0..=count {
        let stage = detached(script(), turn());
        stage.editor.initialize().await;
        let session = stage.editor.ok("session/new", new()).await;
        let session = session["sessionId"].as_str().unwrap();
        let before = stage.editor.log().len();
        let (_, answer) = stage.editor.start("session/prompt", prompt(session));
        stage.editor.until(|editor| editor.log().len() >= before + left_after).await;
        let mut held = Held::default();
        held.take(&updates(&stage.editor));
        stage.editor.hang_up();
        drop(answer);

        let second = stage.join(script());
        second.initialize().await;
        second.ok("session/load", attach(session, held.seq)).await;
        let again = second.ok("session/prompt", prompt(session)).await;
        assert_eq!(again["stopReason"], "end_turn");
        let fresh = updates(&second);
        let numbers = fresh.iter().filter_map(|params| params.pointer("/_meta/tiller/seq")?.as_u64());
        assert!(numbers.min() >= Some(held.seq), "only what follows is sent");
        held.take(&fresh);
        let (texts, calls) = (&held.texts, &held.calls);
        assert_eq!((texts, calls), (&expected.texts, &expected.calls), "left after {left_after} messages");
        second.close().await.unwrap();
        drop(stage.editor.close().await);
    }
}

#[tokio::test]
async fn nothing_is_sent_again_that_a_client_has_and_the_last_turn_is_reported() {
    let stage = detached(script(), turn());
    stage.editor.initialize().await;
    let session = stage.editor.ok("session/new", new()).await;
    let session = session["sessionId"].as_str().unwrap();
    stage.editor.ok("session/prompt", prompt(session)).await;
    let mut held = Held::default();
    held.take(&updates(&stage.editor));

    let turn = |editor: &Editor| {
        let reports =
            updates(editor).into_iter().filter_map(|params| params.pointer("/_meta/tiller/turn").cloned());
        reports.collect::<Vec<_>>()
    };
    let ended = json!({ "state": "idle", "promptId": "p", "stopReason": "end_turn" });
    for method in ["session/load", "session/resume"] {
        for after in [held.seq + 1, 1_000_000, u64::MAX] {
            let second = stage.join(script());
            second.initialize().await;
            second.ok(method, attach(session, after)).await;
            assert_eq!(
                (second.text().as_str(), second.updates("tool_call").len()),
                ("", 0),
                "{method} {after}"
            );
            assert_eq!(turn(&second), std::slice::from_ref(&ended), "{method} {after}");
            second.close().await.unwrap();
        }
        let all = stage.join(script());
        all.initialize().await;
        all.ok(method, attach(session, 0)).await;
        assert_eq!(all.text(), stage.editor.text(), "{method}");
        for wrong in [json!(-1), json!("1"), json!(1.5), json!([])] {
            let (code, message) = all.error(method, attach(session, wrong)).await;
            assert_eq!(code, -32602);
            assert!(message.contains("_meta.tiller.after"), "{message}");
        }
        all.close().await.unwrap();
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn the_report_says_that_a_question_is_open() {
    let write = json!({ "path": "new.txt", "content": "new" });
    let replies = [Reply::calls(&[("file_write", write)]), Reply::text("done")];
    let stage = detached(script().permissions([Answer::Never]), replies);
    stage.editor.initialize().await;
    let session = stage.editor.ok("session/new", new()).await;
    let session = session["sessionId"].as_str().unwrap();
    let (_, answer) = stage.editor.start("session/prompt", prompt(session));
    stage.editor.until(|editor| !editor.calls("session/request_permission").is_empty()).await;
    let second = stage.join(script().allowing());
    second.initialize().await;
    second.ok("session/load", attach(session, 0)).await;
    let reports =
        updates(&second).into_iter().filter_map(|params| params.pointer("/_meta/tiller/turn").cloned());
    assert_eq!(reports.collect::<Vec<_>>(), [json!({ "state": "requires_action", "promptId": "p" })]);
    assert_eq!(answer.await.unwrap()["stopReason"], "end_turn");
    second.close().await.unwrap();
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn clients_that_ask_for_no_numbers_see_none_and_capabilities_ask_for_all_sessions() {
    let stage = detached(script(), turn());
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "read").await.unwrap();
    let second = stage.join(script());
    second.initialize().await;
    let load = json!({ "sessionId": session, "cwd": "/w", "mcpServers": [] });
    second.ok("session/load", load.clone()).await;
    for editor in [&stage.editor, &second] {
        assert!(updates(editor).iter().all(|params| params.get("_meta").is_none()), "{:?}", updates(editor));
    }
    let third = stage.join(script());
    let capabilities = json!({ "_meta": { "tiller": { "seq": true } } });
    third.ok("initialize", json!({ "protocolVersion": 1, "clientCapabilities": capabilities })).await;
    third.ok("session/load", load).await;
    let all = updates(&third);
    assert!(all.iter().all(|params| params.pointer("/_meta/tiller/seq").is_some()), "{all:?}");
    assert!(all.iter().any(|params| params.pointer("/_meta/tiller/turn").is_some()), "{all:?}");
    for editor in [second, third] {
        editor.close().await.unwrap();
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn version_2_continues_after_the_number_too() {
    let stage = detached(script().version_2(true), turn());
    stage.editor.initialize().await;
    let session = stage.editor.ok("session/new", new()).await;
    let session = session["sessionId"].as_str().unwrap();
    stage.editor.ok("session/prompt", prompt(session)).await;
    stage.editor.until_idle(session, 0).await;
    let numbers: Vec<_> = updates(&stage.editor)
        .iter()
        .filter_map(|params| params.pointer("/_meta/tiller/seq")?.as_u64())
        .collect();
    assert!(numbers.is_sorted() && !numbers.is_empty(), "{numbers:?}");
    let messages = stage.editor.updates("user_message").len();
    for (after, expected) in [(0, messages), (numbers[numbers.len() - 1], 0)] {
        let second = stage.join(script().version_2(true));
        second.initialize().await;
        second.ok("session/resume", attach(session, after)).await;
        assert_eq!(second.updates("user_message").len(), expected, "after {after}");
        assert_eq!(second.states(session).last().unwrap()["state"], "idle");
        second.close().await.unwrap();
    }
    stage.editor.close().await.unwrap();
}

/// A transport that does with turns what the client asks for, and lets them go on if it does not.
struct AsAsked;

impl Link for AsAsked {
    fn after_end(&self, wanted: Option<OnDisconnect>) -> AfterEnd {
        match wanted {
            Some(OnDisconnect::Cancel) => AfterEnd::Cancel,
            _ => AfterEnd::GoOn(Duration::from_secs(60)),
        }
    }
}

#[tokio::test]
async fn a_client_decides_whether_its_turns_outlive_its_connection() {
    let tiller = |word: &str| json!({ "tiller": { "onDisconnect": word } });
    let in_capabilities =
        |word: &str| json!({ "protocolVersion": 1, "clientCapabilities": { "_meta": tiller(word) } });
    let own = |word: &str| json!({ "protocolVersion": 1, "clientCapabilities": {}, "_meta": tiller(word) });
    for (initialize, goes_on) in [
        (own("run"), true),
        (own("cancel"), false),
        (in_capabilities("run"), true),
        (in_capabilities("cancel"), false),
        (own("perhaps"), true),
    ] {
        let write = json!({ "path": "new.txt", "content": "new" });
        let mut replies = vec![Reply::calls(&[("file_write", write)])];
        replies.extend(goes_on.then(|| Reply::text("done")));
        let stage = stage_with(Arc::default(), script().permissions([Answer::Never]), replies, |options| {
            options.link = Arc::new(AsAsked);
        });
        stage.editor.ok("initialize", initialize.clone()).await;
        let session = stage.editor.ok("session/new", new()).await;
        let session = session["sessionId"].as_str().unwrap();
        drop(stage.editor.start("session/prompt", prompt(session)));
        stage.editor.until(|editor| !editor.calls("session/request_permission").is_empty()).await;
        let second = stage.join(script().allowing());
        drop(stage.editor.close().await);
        second.initialize().await;
        second.ok("session/load", attach(session, 0)).await;
        let ended = second.ok("session/prompt", prompt(session)).await;
        let expected = if goes_on { "end_turn" } else { "cancelled" };
        assert_eq!(ended["stopReason"], expected, "{initialize}");
        second.close().await.unwrap();
        assert_eq!(stage.model.requests().len(), if goes_on { 2 } else { 1 });
    }
}
