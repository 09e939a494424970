//! Tests of invalid input from clients: the error names the mistake, with the code for a client
//! error and not an internal one.

use crate::stage::{Stage, stage, stage_with};
use acp::testing::{Answer, EditorScript, Fault};
use agent::{
    Content, Credentials, LanguageModel, Lease, MessageId, Mode, ModelError, ModelInfo, Models, NewSession,
    PermissionMode, Runtime, RuntimeOptions, SessionEvent, SessionStore, StopReason, TurnEnd, TurnId,
    fake::{FakeModel, FakeModels, MemoryStore, Reply},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, FakeSystem};

fn native() -> EditorScript {
    EditorScript::default().native()
}

#[tokio::test]
async fn an_unknown_model_is_an_error_that_names_similar_ones() {
    let scripts = [native(), EditorScript::v2().native()];
    for script in scripts {
        let v2 = script.is_version_2();
        let stage = stage(script, []);
        let session = stage.editor.session("/w").await;
        for name in ["fake/modle", "fake/", "", "/", "fak/model", "nobody/nothing", "\u{202e}", "a b/c"] {
            let option = json!({"sessionId": session, "configId": "model", "value": name});
            let set = json!({"sessionId": session, "modelId": name});
            let runtime = json!({"sessionId": session, "model": name, "provider": "fake"});
            let mut requests = vec![("session/set_config_option", option), ("_tiller/runtime/set", runtime)];
            if !v2 {
                requests.push(("session/set_model", set.clone()));
                requests.push(("unstable_set_model", set.clone()));
                requests.push(("session/unstable_set_model", set));
            }
            for (method, params) in requests {
                // An empty name leaves the model unchanged.
                if method == "_tiller/runtime/set" && name.is_empty() {
                    continue;
                }
                let error = stage.editor.request(method, params).await.unwrap_err();
                assert_eq!(error["code"], -32602, "{method} {name:?}: {error}");
                let message = error["message"].as_str().unwrap();
                assert!(message.contains("fake/model"), "{method} {name:?}: {message}");
                assert!(!message.contains('\u{202e}'), "{message}");
            }
        }
        let near = json!({"sessionId": session, "configId": "model", "value": "fake/modle"});
        let (_, message) = stage.editor.error("session/set_config_option", near).await;
        assert!(message.contains("did you mean: fake/model"), "{message}");
        stage.editor.close().await.unwrap();
    }
}

/// Models with a selected provider that has no API key.
struct Keyless(FakeModels);

#[async_trait]
impl Models for Keyless {
    fn list(&self) -> Vec<ModelInfo> {
        self.0.list()
    }
    async fn default_id(&self) -> String {
        "openai/gpt-5".to_owned()
    }
    async fn get(&self, _id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Err(ModelError::Auth("openai has no API key: run `tiller setup`".to_owned()))
    }
    fn credentials(&self, _id: &str) -> Credentials {
        Credentials::Missing
    }
}

#[tokio::test]
async fn a_provider_without_a_key_requires_authentication() {
    let seed = json!({"protocolVersion": 1});
    let plain = json!({"protocolVersion": 1, "clientCapabilities": {}});
    let draft = json!({"protocolVersion": 2, "info": {"name": "e", "version": "1"}, "capabilities": {}});
    let scripts =
        [(native(), plain, -32000), (native(), seed, -32001), (EditorScript::v2(), draft.clone(), -32000)];
    drop(draft);
    for (script, introduction, code) in scripts {
        let disk = FakeSystem::new();
        disk.add_file("/w/a.txt", "");
        let disk = Arc::new(disk);
        let (store, _) = stored("m", "t").await;
        let models = Arc::new(Keyless(FakeModels(FakeModel::new([]))));
        let runtime = Runtime::new(store, models, RuntimeOptions::default());
        let options = acp::AcpOptions::new(disk.clone(), "0.1.0", AbsPath::new("/w").unwrap());
        let editor = crate::transport::connect(runtime, options, script.over(disk));
        editor.ok("initialize", introduction).await;
        let new = editor.request("session/new", json!({"cwd": "/w"})).await.unwrap_err();
        assert_eq!((&new["code"], &new["data"]["code"]), (&json!(code), &json!("auth_required")), "{new}");
        assert!(new["message"].as_str().unwrap().contains("tiller setup"), "{new}");
        // A stored session can be read; only operations that need the model need the key.
        editor.ok("session/list", json!({})).await;
        editor.ok("session/resume", json!({"sessionId": "stored", "cwd": "/w"})).await;
        let model = json!({"sessionId": "stored", "configId": "model", "value": "openai/gpt-5"});
        let set = editor.request("session/set_config_option", model).await.unwrap_err();
        assert_eq!(set["code"], code, "{set}");
        if code == -32000 && editor.calls("state_update").is_empty() {
            match editor.prompt("stored", "x").await {
                Err(error) => assert_eq!(error["code"], code, "{error}"),
                // Version 2 reports the failure as an update of the session.
                Ok(answer) => assert!(answer["messageId"].is_string(), "{answer}"),
            }
        }
        std::mem::forget(editor);
    }
}

async fn stored(prompt: &str, title: &str) -> (Arc<MemoryStore>, Lease) {
    let store = Arc::new(MemoryStore::default());
    let new = NewSession {
        id: "stored".into(),
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        model: "fake/model".to_owned(),
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        parent: None,
        owner: None,
    };
    let lease = store.create(new).await.unwrap();
    let turn = TurnId("run_1".to_owned());
    let content = vec![Content::text(prompt)];
    let events = vec![
        SessionEvent::TurnStarted { turn: turn.clone(), prompt: None },
        SessionEvent::UserMessage { id: MessageId("msg_1".to_owned()), content },
        SessionEvent::TitleChanged(title.to_owned()),
        SessionEvent::TurnEnded { turn, end: TurnEnd::Stopped(StopReason::EndTurn) },
    ];
    store.append(&lease, events).await.unwrap();
    store.release(&lease).await.unwrap();
    (store, lease)
}

/// Characters that reverse or hide text, control a terminal, or break the line.
const HIDDEN: &str = "\u{202e}\u{2066}\u{200b}\u{1b}[2J\u{9b}31m\u{7}\u{e0041}";

fn is_clean(value: &Value) -> bool {
    let text = value.to_string();
    !["\u{202e}", "\u{2066}", "\u{200b}", "\\u001b", "\u{9b}", "\\u0007", "\u{e0041}"]
        .iter()
        .any(|hidden| text.contains(hidden))
}

#[tokio::test]
async fn titles_and_names_contain_no_hidden_characters() {
    let stage = stage(EditorScript::default(), [Reply::text("hi")]);
    let session = stage.editor.session("/w").await;
    let set = |title: &str| json!({"sessionId": session, "title": title});
    let title = format!(" My{HIDDEN}\ntitle{HIDDEN} ");
    let answer = stage.editor.ok("session/set_title", set(&title)).await;
    assert_eq!(answer["title"], "My title");
    let (code, _) = stage.editor.error("session/set_title", set(HIDDEN)).await;
    assert_eq!(code, -32602, "nothing is left to show");
    // The same for a session that is only stored.
    stage.editor.ok("session/close", json!({"sessionId": session})).await;
    let answer = stage.editor.ok("session/set_title", set(&format!("{HIDDEN}Later"))).await;
    assert_eq!(answer["title"], "Later");
    assert_eq!(stage.store.get(&session.as_str().into()).await.unwrap().title.as_deref(), Some("Later"));
    // The same for a title derived from a prompt.
    let made = stage.editor.ok("session/new", json!({"cwd": "/w"})).await["sessionId"].clone();
    let made = made.as_str().unwrap();
    stage.editor.prompt(made, &format!("{HIDDEN}\nfirst{HIDDEN} line")).await.unwrap();
    assert_eq!(stage.store.get(&made.into()).await.unwrap().title.as_deref(), Some("first line"));
    assert!(is_clean(&stage.editor.ok("session/list", json!({})).await));
    assert!(is_clean(&json!(stage.editor.calls("session/update"))));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn replayed_updates_are_sanitised_like_live_ones() {
    let scripts = [EditorScript::default(), EditorScript::v2()];
    for script in scripts {
        let method = if script.is_version_2() { "session/resume" } else { "session/load" };
        let (store, _) = stored(&format!("say{HIDDEN} it"), &format!("A{HIDDEN} title")).await;
        let stage = stage_with(store, script, [], |_| {});
        stage.editor.initialize().await;
        let load = json!({"sessionId": "stored", "cwd": "/w", "replayFrom": {"type": "start"}});
        stage.editor.ok(method, load).await;
        let updates = json!(stage.editor.calls("session/update"));
        assert!(
            updates.to_string().contains("say it") && updates.to_string().contains("A title"),
            "{updates}"
        );
        assert!(is_clean(&updates), "{updates}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn invalid_server_lists_are_rejected_with_the_entry_named() {
    let stage = stage(EditorScript::default(), []);
    let session = stage.editor.session("/w").await;
    for (servers, part) in [
        (json!({}), "mcpServers must be a list"),
        (json!("all"), "mcpServers must be a list"),
        (json!(false), "mcpServers must be a list"),
        (json!({"a": {"command": "x"}}), "mcpServers must be a list"),
        (json!([["x"]]), "mcpServers[0] must be an object"),
        (
            json!([{"name": "a", "command": "x"}, {"name": "b", "env": {}, "command": "x"}]),
            "mcpServers[1].env",
        ),
    ] {
        for method in ["session/new", "session/load", "session/resume", "session/fork"] {
            let params = json!({"cwd": "/w", "sessionId": session, "mcpServers": servers});
            let (code, message) = stage.editor.error(method, params).await;
            assert_eq!(code, -32602, "{method} {servers}: {message}");
            assert!(message.contains(part), "{method} {servers}: {message}");
        }
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_unknown_permission_outcome_is_a_rejection_and_the_turn_continues() {
    let outcomes = [
        json!({"outcome": {"outcome": "_granted"}}),
        json!({"outcome": {"outcome": "approved", "optionId": "allow_once"}}),
        json!({"outcome": {"outcome": "Selected", "optionId": "allow_once"}}),
        json!({"outcome": {"outcome": "selected"}}),
        json!({"outcome": {"outcome": "selected", "optionId": 7}}),
        json!({"outcome": {"optionId": "allow_once"}}),
        json!({"outcome": "cancelled"}),
        json!({"outcome": "allow_once"}),
        json!({"outcome": null}),
        json!({"optionId": "allow_once"}),
        json!({}),
        json!([]),
        json!(true),
        Value::Null,
    ];
    for v2 in [false, true] {
        for outcome in &outcomes {
            let script = EditorScript::default()
                .version_2(v2)
                .fault("session/request_permission", Fault::Result(outcome.clone()));
            let write = Reply::calls(&[("file_write", json!({"path": "new.txt", "content": "x"}))]);
            let stage = stage(script, [write, Reply::text("well")]);
            assert_eq!(turn(&stage, v2).await, "end_turn", "{outcome}");
            assert_eq!(stage.disk.text_of("/w/new.txt"), None, "{outcome}");
            let updates = format!("{:?}", stage.model.requests()[1].messages);
            assert!(updates.contains("User denied permission"), "{outcome}: {updates}");
            stage.editor.close().await.unwrap();
        }
        // A cancelled request ends the turn.
        let script = EditorScript::default().version_2(v2).permissions([Answer::Cancelled]);
        let write = Reply::calls(&[("file_write", json!({"path": "new.txt", "content": "x"}))]);
        let stage = stage(script, [write]);
        assert_eq!(turn(&stage, v2).await, "cancelled");
        assert_eq!(stage.disk.text_of("/w/new.txt"), None);
        stage.editor.close().await.unwrap();
    }
}

async fn turn(stage: &Stage, v2: bool) -> Value {
    let session = stage.editor.session("/w").await;
    match v2 {
        true => stage.editor.turn(&session, "write").await["stopReason"].clone(),
        false => stage.editor.prompt(&session, "write").await.unwrap()["stopReason"].clone(),
    }
}

#[tokio::test]
async fn each_requested_version_has_one_response() {
    for (asked, served) in [
        (json!(0), 1),
        (json!(1), 1),
        (json!(2), 2),
        (json!(3), 1),
        (json!(99), 1),
        (json!(65535), 1),
        (json!(65536), 1),
        (json!(4_294_967_298_u64), 1),
        (json!(u64::MAX), 1),
        (json!(-1), 1),
        (json!(-2), 1),
        (json!(1.0), 1),
        (json!(2.0), 1),
        (json!(2.5), 1),
        (json!(1e300), 1),
        (json!("1"), 1),
        (json!("2"), 1),
        (json!("2026-01-01"), 1),
        (json!(true), 1),
        (json!([2]), 1),
        (json!({"version": 2}), 1),
        (Value::Null, 1),
    ] {
        let stage = stage(native(), []);
        let params = json!({
            "protocolVersion": asked, "clientCapabilities": {},
            "capabilities": {}, "info": {"name": "e", "version": "1"},
        });
        let answer = stage.editor.ok("initialize", params).await;
        assert_eq!(answer["protocolVersion"], served, "{asked}");
        stage.editor.ok("session/new", json!({"cwd": "/w"})).await;
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn no_invalid_parameter_causes_an_internal_error() {
    let values = [
        Value::Null,
        json!(true),
        json!(7),
        json!(-1.5),
        json!(""),
        json!("\u{202e}\u{0}"),
        json!("../../etc/passwd"),
        json!("x".repeat(5000)),
        json!([]),
        json!([null]),
        json!({}),
        json!({"type": "x"}),
    ];
    let methods: [(&str, &[&str]); 24] = [
        ("authenticate", &["methodId"]),
        ("session/new", &["cwd", "mcpServers", "additionalDirectories", "_meta"]),
        ("session/load", &["sessionId", "cwd", "mcpServers", "additionalDirectories", "_meta"]),
        ("session/resume", &["sessionId", "cwd", "mcpServers", "additionalDirectories", "_meta"]),
        ("session/fork", &["sessionId", "cwd", "mcpServers", "additionalDirectories", "_meta"]),
        ("session/list", &["cwd", "cursor", "archived"]),
        ("session/close", &["sessionId"]),
        ("session/delete", &["sessionId"]),
        ("session/archive", &["sessionId"]),
        ("session/unarchive", &["sessionId"]),
        ("session/status", &["sessionId"]),
        ("session/set_title", &["sessionId", "title"]),
        ("session/set_mode", &["sessionId", "modeId"]),
        ("session/set_model", &["sessionId", "modelId"]),
        ("session/set_config_option", &["sessionId", "configId", "value"]),
        ("session/prompt", &["sessionId", "prompt"]),
        ("_tiller/runtime/set", &["sessionId", "mode", "model", "provider", "permissionMode"]),
        ("_tiller/sessions/checkpoints", &["sessionId"]),
        ("_tiller/sessions/rewind", &["sessionId", "to", "redo"]),
        ("_tiller/sessions/search", &["query", "cwd", "limit"]),
        ("_tiller/permissions/explain", &["sessionId", "what", "write"]),
        ("_tiller/permissions/log", &["sessionId"]),
        ("_tiller/usage/get", &["sessionId"]),
        ("_tiller/integrations/describe", &["sessionId", "function"]),
    ];
    let stage = stage(native(), []);
    let session = stage.editor.session("/w").await;
    let good = |key: &str| match key {
        "sessionId" => json!(session),
        "cwd" => json!("/w"),
        "configId" => json!("model"),
        "value" | "model" | "modelId" => json!("fake/model"),
        "mode" | "modeId" => json!("edit"),
        "permissionMode" => json!("argus"),
        "provider" => json!("fake"),
        "query" | "what" | "title" | "function" => json!("x"),
        _ => Value::Null,
    };
    for (method, keys) in methods {
        for wrong in keys {
            for value in &values {
                // Skip requests that would end the session that the others need, or call the model.
                let closes = matches!(method, "session/close" | "session/delete" | "session/archive");
                if closes && *wrong != "sessionId"
                    || method == "session/prompt" && wrong == &"prompt" && value == &json!("x")
                {
                    continue;
                }
                let mut params = json!({});
                for key in keys {
                    params[*key] = if key == wrong { value.clone() } else { good(key) };
                }
                if method == "session/prompt"
                    && params["prompt"].as_str().is_some_and(|text| !text.is_empty())
                {
                    continue;
                }
                if let Err(error) = stage.editor.request(method, params.clone()).await {
                    let code = error["code"].as_i64().unwrap();
                    assert!(
                        (-32602..=-32600).contains(&code) || code == -32002,
                        "{method} {params}: {error}"
                    );
                    let message = error["message"].as_str().unwrap();
                    assert!(!message.contains('\u{202e}'), "{method} {params}: {message}");
                }
            }
        }
        // Parameters that are not an object.
        for params in [json!([]), json!([session])] {
            if let Err(error) = stage.editor.request(method, params).await {
                let code = error["code"].as_i64().unwrap();
                assert!((-32602..=-32600).contains(&code) || code == -32002, "{method}: {error}");
            }
        }
    }
    std::mem::forget(stage.editor);
}
