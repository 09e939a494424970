//! Tests of the KosmoKrator wire as its wrappers use it.

use crate::stage::{Stage, stage, stage_with};
use acp::{
    native::{CallFunction, ExecuteLua, NativeServices, RequestContext, ServiceError, SetSetting},
    testing::{Answer, EditorScript},
};
use agent::{
    Lease, Mode, NewSession, PermissionMode, SessionEvent, SessionId, SessionStore,
    fake::{MemoryStore, Reply},
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use system::AbsPath;
use tokio::sync::Notify;

fn native() -> EditorScript {
    EditorScript::default().native()
}

async fn kosmokrator_session(stage: &Stage) -> String {
    stage.editor.ok("initialize", json!({ "protocolVersion": 1 })).await;
    let session = stage.editor.ok("session/new", json!({ "cwd": "/w", "mcpServers": [] })).await;
    session["sessionId"].as_str().unwrap().to_owned()
}

/// Returns the events of a type, without the fields common to all events.
fn native_events(stage: &Stage, name: &str) -> Vec<Value> {
    let own = |mut event: Value| {
        let fields = event.as_object_mut().unwrap();
        for key in ["protocolVersion", "type", "sessionId", "timestamp"] {
            fields.remove(key).unwrap();
        }
        event
    };
    stage.editor.calls(&format!("kosmokrator/{name}")).into_iter().map(own).collect()
}

#[tokio::test]
async fn a_wrapper_finds_the_capabilities_under_any_name_of_its_own() {
    for introduction in [
        json!({ "protocolVersion": 1 }),
        json!({ "protocolVersion": 1, "clientCapabilities": {} }),
        json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "readTextFile": true } } }),
    ] {
        let stage = stage(native(), []);
        let answer = stage.editor.ok("initialize", introduction).await;
        let asked = stage.editor.ok("kosmokrator/capabilities", json!({})).await;
        for capabilities in [
            &answer["kosmokratorCapabilities"],
            &answer["_meta"]["kosmokrator"],
            &answer["_meta"]["tiller"],
            &asked["kosmokratorCapabilities"],
            &asked["kosmoCapabilities"],
        ] {
            assert_eq!(capabilities["protocolVersion"], 1);
            assert_eq!((&capabilities["lua"], &capabilities["mcp"]), (&json!(true), &json!(true)));
            for shown in ["subagentTree", "subagentDashboard"] {
                assert_eq!(capabilities[shown], true, "{shown}");
            }
        }
        for login in
            [json!({}), Value::Null, json!({ "token": "t" }), json!({ "methodId": "tiller-provider" })]
        {
            assert_eq!(stage.editor.ok("authenticate", login).await, json!({}));
        }
        for wrong in [json!({ "methodId": "x" }), json!({ "methodId": 7 }), json!([])] {
            assert_eq!(stage.editor.error("authenticate", wrong).await.0, -32602);
        }
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_client_of_a_later_version_is_not_treated_as_a_wrapper() {
    for (asked, events) in [
        (json!({ "protocolVersion": 99, "capabilities": {} }), None),
        (
            json!({ "protocolVersion": 3, "capabilities": { "_meta": { "tiller": { "events": true } } } }),
            Some("_tiller"),
        ),
        (json!({ "protocolVersion": 99 }), Some("kosmokrator")),
    ] {
        let stage = stage(native(), [Reply::text("hi")]);
        assert_eq!(stage.editor.ok("initialize", asked.clone()).await["protocolVersion"], 1);
        let session = stage.editor.ok("session/new", json!({ "cwd": "/w" })).await;
        stage.editor.prompt(session["sessionId"].as_str().unwrap(), "x").await.unwrap();
        for prefix in ["_tiller", "kosmokrator"] {
            let native_events = !stage.editor.calls(&format!("{prefix}/text_delta")).is_empty();
            assert_eq!(native_events, events == Some(prefix), "{asked} {prefix}");
        }
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn alias_prefixes_are_answered_like_the_current_names() {
    let stage = stage(native(), []);
    let session = kosmokrator_session(&stage).await;
    for method in ["session/set_model", "session/unstable_set_model", "unstable_set_model"] {
        let set = json!({ "sessionId": session, "modelId": "fake/model" });
        let answer = stage.editor.ok(method, set).await;
        assert_eq!(answer["models"]["currentModelId"], "fake/model", "{method}");
        assert!(answer["configOptions"].is_array(), "{method}");
    }
    for method in ["session/resume", "session/unstable_resume", "unstable_resume"] {
        stage.editor.ok("session/close", json!({ "sessionId": session })).await;
        let answer = stage.editor.ok(method, json!({ "sessionId": session, "cwd": "/w" })).await;
        assert_eq!(answer["modes"]["currentModeId"], "edit", "{method}");
        assert_eq!(
            stage.editor.ok("session/status", json!({ "sessionId": session })).await["status"],
            "open"
        );
    }
    stage.editor.close().await.unwrap();
}

/// Services of which one fails, one hangs, and one stores its input.
#[derive(Default)]
struct Faulty {
    began: Notify,
    set: Mutex<Vec<Value>>,
}

#[async_trait::async_trait]
impl NativeServices for Faulty {
    async fn call_function(
        &self,
        _context: &RequestContext,
        _call: CallFunction,
    ) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed("Integration 'plane' is not installed.".to_owned()))
    }

    async fn execute_lua(&self, _context: &RequestContext, _run: ExecuteLua) -> Result<Value, ServiceError> {
        self.began.notify_one();
        std::future::pending().await
    }

    async fn set_setting(&self, _context: &RequestContext, set: SetSetting) -> Result<Value, ServiceError> {
        self.set.lock().unwrap().push(set.value);
        Ok(json!({ "path": set.path, "scope": set.scope.id(), "configured": true }))
    }
}

#[tokio::test]
async fn every_start_event_is_followed_by_an_end_event() {
    let services = Arc::new(Faulty::default());
    let context = services.clone();
    let stage = stage_with(Arc::default(), native(), [], |options| options.services = context);
    let session = kosmokrator_session(&stage).await;
    let call = json!({ "sessionId": session, "function": "plane.list", "account": "work", "dryRun": true });
    let (code, message) = stage.editor.error("kosmokrator/integrations/call", call).await;
    assert_eq!((code, message.as_str()), (-32603, "Integration 'plane' is not installed."));
    let script = json!({ "sessionId": session, "code": "while true do end", "runtime": "mcp" });
    let (id, answer) = stage.editor.start("kosmokrator/lua/execute", script);
    services.began.notified().await;
    stage.editor.notify("$/cancel_request", json!({ "requestId": id }));
    assert_eq!(answer.await.unwrap_err()["code"], -32800);
    let events = native_events(&stage, "integration_event");
    let operations: Vec<_> = events.iter().map(|event| event["operation"].as_str().unwrap()).collect();
    assert_eq!(operations, ["call_started", "call_completed", "lua_started", "lua_completed"]);
    let failed = &events[1];
    assert_eq!((&failed["function"], &failed["result"]["success"]), (&json!("plane.list"), &json!(false)));
    assert_eq!(failed["result"]["error"], "Integration 'plane' is not installed.");
    assert_eq!(failed["result"]["meta"]["dry_run"], true);
    let cancelled = &events[3];
    assert_eq!((&cancelled["runtime"], &cancelled["result"]["success"]), (&json!("mcp"), &json!(false)));
    assert_eq!(cancelled["result"]["error"], "the request was cancelled");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn settings_that_are_lists_can_be_set() {
    let services = Arc::new(Faulty::default());
    let context = services.clone();
    let stage = stage_with(Arc::default(), native(), [], |options| options.services = context);
    let session = kosmokrator_session(&stage).await;
    let set =
        |value: Value| json!({ "sessionId": session, "path": "tiller.tools.denied_tools", "value": value });
    let lists = [json!(["bash", "web_fetch"]), json!([]), json!([1, true])];
    for list in &lists {
        assert_eq!(stage.editor.ok("kosmokrator/settings/set", set(list.clone())).await["configured"], true);
    }
    assert_eq!(*services.set.lock().unwrap(), lists);
    for wrong in [json!({}), json!([["x"]]), json!([{}]), json!([null]), Value::Null] {
        let error = stage.editor.error("kosmokrator/settings/set", set(wrong)).await;
        assert_eq!(error, (-32602, "Value for value must be scalar".to_owned()));
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn calls_have_their_output_and_the_agents_requests_are_numbered() {
    let write = |name: &str| Reply::calls(&[("file_write", json!({ "path": name, "content": "x" }))]);
    let missing = Reply::calls(&[("file_read", json!({ "path": "none.txt" }))]);
    let script = native().permissions([Answer::Select("allow_once"), Answer::Select("reject_once")]);
    let stage = stage(script, [write("a.md"), write("b.md"), missing, Reply::text("done")]);
    let session = kosmokrator_session(&stage).await;
    stage.editor.prompt(&session, "write").await.unwrap();
    let asked: Vec<_> = stage
        .editor
        .log()
        .into_iter()
        .filter(|message| message["id"].is_number() && message["method"].is_string())
        .collect();
    let ids: Vec<_> = asked.iter().map(|request| request["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2)]);
    let ended: Vec<_> = stage
        .editor
        .updates("tool_call_update")
        .into_iter()
        .filter(|update| update["status"] != "in_progress")
        .collect();
    let completed = native_events(&stage, "tool_completed");
    assert_eq!((ended.len(), completed.len()), (3, 3));
    for (update, event) in ended.iter().zip(&completed) {
        assert_eq!(update["toolCallId"], event["toolCallId"]);
        assert_eq!(update["rawOutput"], json!({ "output": event["output"], "success": event["success"] }));
    }
    assert_eq!(
        ended.iter().map(|update| update["rawOutput"]["success"].clone()).collect::<Vec<_>>(),
        [true, false, false]
    );
    stage.editor.close().await.unwrap();

    // Other clients get neither.
    let script = EditorScript::default().permissions([Answer::Select("allow_once")]);
    let plain = crate::stage::stage(script, [write("a.md"), Reply::text("done")]);
    let session = plain.editor.session("/w").await;
    plain.editor.prompt(&session, "write").await.unwrap();
    assert!(plain.editor.updates("tool_call_update").iter().all(|update| update.get("rawOutput").is_none()));
    let request =
        plain.editor.log().into_iter().find(|message| message["method"] == "session/request_permission");
    assert!(request.unwrap()["id"].is_string());
    plain.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_withdrawn_question_is_named_by_its_integer_id() {
    let write = Reply::calls(&[("file_write", json!({ "path": "a.md", "content": "x" }))]);
    let stage = stage(native().permissions([Answer::Never]), [write]);
    let session = kosmokrator_session(&stage).await;
    let prompt = json!({ "sessionId": session, "prompt": "write" });
    let (_, answer) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| !editor.calls("session/request_permission").is_empty()).await;
    stage.editor.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(answer.await.unwrap()["stopReason"], "cancelled");
    stage.editor.until(|editor| !editor.calls("$/cancel_request").is_empty()).await;
    assert_eq!(stage.editor.calls("$/cancel_request")[0]["requestId"], 1);
    stage.editor.close().await.unwrap();
}

async fn many(sessions: usize, cwd: &str) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::default());
    for number in 0..sessions {
        let new = NewSession {
            id: SessionId(format!("s{number}")),
            cwd: AbsPath::new(cwd).unwrap(),
            additional_directories: Vec::new(),
            model: "fake/model".to_owned(),
            mode: Mode::Edit,
            permission_mode: PermissionMode::Guardian,
            parent: None,
            owner: None,
        };
        let lease: Lease = store.create(new).await.unwrap();
        store.append(&lease, vec![SessionEvent::TitleChanged("t".to_owned())]).await.unwrap();
        store.release(&lease).await.unwrap();
    }
    store
}

#[tokio::test]
async fn kosmokrator_session_lists_have_pages_of_a_hundred() {
    for (introduction, first) in [
        (json!({ "protocolVersion": 1 }), 100),
        (json!({ "protocolVersion": 1, "clientCapabilities": {} }), 50),
    ] {
        let stage = stage_with(many(120, "/w").await, native(), [], |_| {});
        stage.editor.ok("initialize", introduction).await;
        let page = stage.editor.ok("session/list", json!({ "cwd": "/w" })).await;
        assert_eq!(page["sessions"].as_array().unwrap().len(), first);
        let rest = json!({ "cwd": "/w", "cursor": page["nextCursor"] });
        let next = stage.editor.ok("session/list", rest).await;
        assert_eq!(next["sessions"].as_array().unwrap().len(), (120 - first).min(first));
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_history_is_replayed_as_native_events_too() {
    let read = || Reply::calls(&[("file_read", json!({ "path": "a.txt" }))]);
    let replies = [read(), Reply::text("it says one two"), Reply::text("bye")];
    let first = stage(native(), replies);
    let session = kosmokrator_session(&first).await;
    let before = first.editor.log().len();
    for text in ["read it", "good bye"] {
        first.editor.prompt(&session, text).await.unwrap();
    }
    let course = |stage: &Stage, from: usize| -> Vec<(String, Value)> {
        let events = stage.editor.log().into_iter().skip(from).filter_map(|message| {
            let name = message["method"].as_str()?.strip_prefix("kosmokrator/")?.to_owned();
            let mut params = message["params"].clone();
            params["timestamp"] = json!(0);
            // A replay contains no phases, and only the last usage event.
            let stays = !matches!(name.as_str(), "phase_changed" | "usage_updated");
            stays.then_some((name, params))
        });
        events.collect()
    };
    let live = course(&first, before);
    assert!(live.iter().any(|(name, _)| name == "tool_completed"), "{live:?}");
    let Stage { editor, store, .. } = first;
    editor.close().await.unwrap();

    let methods: &[(&str, Value)] = &[
        ("session/load", json!({ "protocolVersion": 1 })),
        (
            "session/resume",
            json!({
                "protocolVersion": 2, "info": { "name": "e", "version": "1" },
                "capabilities": { "_meta": { "tiller": { "events": true } } },
            }),
        ),
    ];
    for (method, introduction) in methods {
        let second = *method == "session/resume";
        let script = native().version_2(second);
        let stage = stage_with(store.clone(), script, [], |_| {});
        stage.editor.ok("initialize", introduction.clone()).await;
        let load = json!({ "sessionId": session, "cwd": "/w", "replayFrom": { "type": "start" } });
        stage.editor.ok(method, load).await;
        if second {
            let ends = stage.editor.calls("_tiller/session_update");
            let texts: Vec<_> = ends
                .iter()
                .filter(|event| event["status"] == "completed")
                .map(|event| event["text"].clone())
                .collect();
            assert_eq!(texts, ["it says one two", "bye"]);
        } else {
            assert_eq!(course(&stage, 0), live);
            let usage = native_events(&stage, "usage_updated");
            assert_eq!(usage.len(), 1);
        }
        stage.editor.close().await.unwrap();
    }

    // A client that did not ask for native events gets none; otherwise the scripted editor would
    // object.
    let plain = stage_with(store, EditorScript::default(), [], |_| {});
    plain.editor.initialize().await;
    plain.editor.ok("session/load", json!({ "sessionId": session, "cwd": "/w" })).await;
    plain.editor.close().await.unwrap();
}
