//! Tests of the native layer over a real pipe: which events are sent, to which clients, in which
//! order; and its requests.

use crate::stage::{Stage, stage, stage_with};
use acp::{
    Events,
    native::{CallTool, NativeServices, RequestContext, ServiceError, SetSecret},
    testing::{Answer, EditorScript},
};
use agent::{ModelError, ModelEvent, fake::Reply};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// Initializes as the sample client of the KosmoKrator wire does, and creates a session.
async fn kosmokrator_session(stage: &Stage) -> String {
    stage.editor.ok("initialize", json!({ "protocolVersion": 1 })).await;
    let session = stage.editor.ok("session/new", json!({ "cwd": "/w", "mcpServers": [] })).await;
    session["sessionId"].as_str().unwrap().to_owned()
}

fn native() -> EditorScript {
    EditorScript::default().native()
}

/// Returns the methods of the agent's messages, without responses; updates by their kind.
fn sent_methods(stage: &Stage) -> Vec<String> {
    let methods = stage.editor.methods();
    methods.into_iter().filter(|method| method != "answer").collect()
}

fn events(stage: &Stage, name: &str) -> Vec<Value> {
    stage.editor.calls(name)
}

#[tokio::test]
async fn the_events_of_a_turn_with_a_permission_are_in_order() {
    let write = json!({ "path": "new.txt", "content": "new\n" });
    let replies = [Reply::calls(&[("file_write", write.clone())]), Reply::text("done")];
    let stage = stage(native().permissions([Answer::Select("allow_once")]), replies);
    let session = kosmokrator_session(&stage).await;
    let before = sent_methods(&stage).len();
    stage.editor.prompt(&session, "write").await.unwrap();
    assert_eq!(
        sent_methods(&stage)[before..],
        [
            "kosmokrator/session_update",
            "kosmokrator/session_update",
            "session_info_update",
            "kosmokrator/phase_changed",
            "usage_update",
            "kosmokrator/usage_updated",
            "tool_call",
            "kosmokrator/tool_started",
            "kosmokrator/phase_changed",
            "kosmokrator/permission_requested",
            "session/request_permission",
            "kosmokrator/permission_resolved",
            "tool_call_update",
            "kosmokrator/tool_progress",
            "tool_call_update",
            "kosmokrator/tool_completed",
            "kosmokrator/phase_changed",
            "agent_message_chunk",
            "kosmokrator/text_delta",
            "usage_update",
            "kosmokrator/usage_updated",
            "kosmokrator/phase_changed",
            "kosmokrator/session_update",
        ]
    );
    let mut last = 0.0;
    for message in stage.editor.log() {
        let Some(name) = message["method"].as_str().and_then(|method| method.strip_prefix("kosmokrator/"))
        else {
            continue;
        };
        let params = &message["params"];
        assert_eq!(params["protocolVersion"], 1);
        assert_eq!(params["type"], name);
        assert_eq!(params["sessionId"], session.as_str());
        assert_eq!(params["runId"], "run_1", "{params}");
        let now = params["timestamp"].as_f64().unwrap();
        assert!(now >= last && now > 1.7e9, "{params}");
        last = now;
    }
    let own = |mut event: Value| {
        let fields = event.as_object_mut().unwrap();
        for key in ["protocolVersion", "type", "sessionId", "runId", "timestamp"] {
            fields.remove(key).unwrap();
        }
        event
    };
    let sent = |name: &str| events(&stage, name).into_iter().map(own).collect::<Vec<_>>();
    assert_eq!(
        sent("kosmokrator/session_update"),
        [
            json!({ "status": "started" }),
            json!({ "role": "user", "text": "write" }),
            json!({ "status": "completed", "text": "done" }),
        ]
    );
    let phases: Vec<_> =
        sent("kosmokrator/phase_changed").iter().map(|event| event["phase"].clone()).collect();
    assert_eq!(phases, ["thinking", "tools", "thinking", "idle"]);
    let call = json!({ "toolCallId": "tool_0", "tool": "file_write", "name": "file_write" });
    let with = |more: Value| {
        let mut whole = call.clone();
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        whole
    };
    assert_eq!(
        sent("kosmokrator/tool_started"),
        [with(json!({
            "args": write, "kind": "edit", "title": "Write new.txt", "locations": [{ "path": "/w/new.txt" }],
        }))]
    );
    assert_eq!(sent("kosmokrator/tool_progress"), [with(json!({ "status": "in_progress" }))]);
    let completed = &sent("kosmokrator/tool_completed")[0];
    assert_eq!((&completed["success"], &completed["status"]), (&json!(true), &json!("completed")));
    assert!(completed["output"].as_str().unwrap().contains("new.txt"), "{completed}");
    let requested = &sent("kosmokrator/permission_requested")[0];
    let asked = &stage.editor.calls("session/request_permission")[0];
    assert_eq!((&requested["toolCall"], &requested["options"]), (&asked["toolCall"], &asked["options"]));
    assert_eq!(requested["args"], write);
    assert_eq!(
        sent("kosmokrator/permission_resolved"),
        [json!({
            "toolCallId": "tool_0", "tool": "file_write", "decision": "allow",
            "outcome": { "outcome": "selected", "optionId": "allow_once" },
        })]
    );
    assert_eq!(sent("kosmokrator/text_delta"), [json!({ "text": "done", "delta": "done" })]);
    assert_eq!(
        sent("kosmokrator/usage_updated")[1],
        json!({ "model": "fake/model", "tokensIn": 20, "tokensOut": 10, "cost": null, "maxContext": 100_000 })
    );
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn reasoning_failures_and_cancels_are_sent_as_events() {
    let replies = [
        Reply::Events(vec![
            Ok(ModelEvent::Reasoning("hm".to_owned())),
            Err(ModelError::Overloaded("busy".to_owned())),
        ]),
        Reply::Hang(vec![ModelEvent::Text("x".to_owned())]),
    ];
    let stage = stage(native(), replies);
    let session = kosmokrator_session(&stage).await;
    stage.editor.prompt(&session, "one").await.unwrap_err();
    assert_eq!(events(&stage, "kosmokrator/thinking_delta")[0]["delta"], "hm");
    assert!(events(&stage, "kosmokrator/error")[0]["message"].as_str().unwrap().contains("busy"));
    let end = events(&stage, "kosmokrator/session_update").pop().unwrap();
    assert_eq!((&end["status"], &end["runId"]), (&json!("completed"), &json!("run_1")));
    let prompt = json!({ "sessionId": session, "prompt": "two, as a text" });
    let (_, answer) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| editor.text() == "x").await;
    assert_eq!(stage.editor.ok("session/cancel", json!({ "sessionId": session })).await, json!({}));
    assert_eq!(answer.await.unwrap()["stopReason"], "cancelled");
    let end = events(&stage, "kosmokrator/session_update").pop().unwrap();
    assert_eq!(
        (&end["status"], &end["text"], &end["runId"]),
        (&json!("cancelled"), &json!("x"), &json!("run_2"))
    );
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn clients_that_did_not_opt_in_get_no_native_events() {
    // The scripted editor objects to every notification that is not part of the protocol.
    let plain = stage(EditorScript::default(), [Reply::text("a")]);
    let session = plain.editor.session("/w").await;
    plain.editor.prompt(&session, "x").await.unwrap();
    assert!(!events(&plain, "session/update").is_empty());
    plain.editor.close().await.unwrap();

    let off = stage_with(Arc::default(), EditorScript::default(), [Reply::text("a")], |options| {
        options.events = Events::Off;
    });
    let session = kosmokrator_session(&off).await;
    off.editor.ok("kosmokrator/capabilities", json!({})).await;
    off.editor.prompt(&session, "x").await.unwrap();
    off.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_client_opts_in_in_its_own_spelling() {
    let asks =
        json!({ "protocolVersion": 1, "clientCapabilities": { "_meta": { "tiller": { "events": true } } } });
    let stage = stage(native(), [Reply::text("a")]);
    let answer = stage.editor.ok("initialize", asks).await;
    assert_eq!(answer["_meta"]["tiller"]["uiEvents"], true);
    assert_eq!(answer["_meta"]["kosmokrator"]["protocolVersion"], 1);
    assert_eq!(answer["kosmokratorCapabilities"], answer["_meta"]["kosmokrator"]);
    let session = stage.editor.ok("session/new", json!({ "cwd": "/w" })).await;
    assert!(session["configOptions"][0].get("configId").is_none());
    stage.editor.prompt(session["sessionId"].as_str().unwrap(), "x").await.unwrap();
    assert_eq!(events(&stage, "_tiller/text_delta").len(), 1);
    assert!(sent_methods(&stage).iter().all(|method| !method.contains("kosmo")));
    stage.editor.close().await.unwrap();

    for prefix in ["_tiller", "kosmokrator", "kosmo", "_kosmokrator"] {
        let stage = crate::stage::stage(native(), [Reply::text("a")]);
        let session = stage.editor.session("/w").await;
        let known = stage.editor.ok(&format!("{prefix}/capabilities"), json!({})).await;
        assert_eq!(known["kosmoCapabilities"], known["kosmokratorCapabilities"]);
        stage.editor.prompt(&session, "x").await.unwrap();
        assert_eq!(events(&stage, &format!("{prefix}/text_delta")).len(), 1);
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn opting_in_during_a_turn_sends_the_following_events_with_their_turn() {
    let stage = stage(native(), [Reply::Hang(vec![ModelEvent::Text("x".to_owned())])]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    let (_, answer) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| editor.text() == "x").await;
    stage.editor.ok("_tiller/capabilities", json!({})).await;
    stage.editor.notify("session/cancel", json!({ "sessionId": session }));
    answer.await.unwrap();
    let end = events(&stage, "_tiller/session_update").pop().unwrap();
    assert_eq!((&end["status"], &end["runId"]), (&json!("cancelled"), &json!("run_1")));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_kosmokrator_client_gets_the_keys_of_its_wire() {
    let stage = stage(native(), []);
    let answer = stage.editor.ok("initialize", json!({ "protocolVersion": 1 })).await;
    for name in ["uiEvents", "toolLifecycle", "sessions", "permissionModes"] {
        assert_eq!(answer["kosmokratorCapabilities"][name], true);
    }
    let session = stage.editor.ok("session/new", json!({ "cwd": "/w" })).await;
    let option = &session["configOptions"][0];
    assert_eq!(
        (&option["configId"], &option["value"], &option["kind"]),
        (&json!("mode"), &json!("edit"), &json!("select"))
    );
    assert_eq!(option["options"][0]["label"], "Edit");
    assert_eq!(session["models"]["currentModelId"], "fake/model");
    let id = session["sessionId"].clone();
    let set = json!({ "sessionId": id, "modelId": "fake/model" });
    let set = stage.editor.ok("session/set_model", set).await;
    assert_eq!(set["models"]["currentModelId"], "fake/model");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn the_kosmokrator_wire_counts_the_tokens_of_the_whole_session() {
    let stage = stage(native(), [Reply::text("one"), Reply::text("two")]);
    let session = kosmokrator_session(&stage).await;
    let mut used = Vec::new();
    for _ in 0..2 {
        let prompt = json!({ "sessionId": session, "prompt": "hi" });
        let answer = stage.editor.ok("session/prompt", prompt).await;
        used.push(answer["usage"]["totalTokens"].as_u64().unwrap());
    }
    assert!(used[0] > 0 && used[1] == 2 * used[0], "{used:?}");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_empty_prompt_completes_on_the_kosmokrator_wire() {
    let stage = stage(native(), []);
    let session = kosmokrator_session(&stage).await;
    let before = sent_methods(&stage).len();
    for nothing in [json!(" \n"), json!([]), json!([{ "type": "text", "text": "" }])] {
        let prompt = json!({ "sessionId": session, "prompt": nothing });
        let answer = stage.editor.ok("session/prompt", prompt).await;
        assert_eq!((&answer["stopReason"], &answer["usage"]["totalTokens"]), (&json!("end_turn"), &json!(0)));
    }
    assert_eq!(sent_methods(&stage).len(), before, "not a word");
    assert_eq!(stage.editor.ok("session/close", json!({ "sessionId": "nobody" })).await, json!({}));
    for (method, params, code, says) in [
        ("session/prompt", json!({ "sessionId": "no", "prompt": "x" }), -32602, "Session not loaded: no"),
        ("no/such", json!({}), -32601, "Method not found: no/such"),
        (
            "session/set_config_option",
            json!({ "sessionId": session, "configId": "x", "value": "y" }),
            -32602,
            "Unknown config option: x",
        ),
    ] {
        let (given, message) = stage.editor.error(method, params).await;
        assert_eq!((given, message.starts_with(says)), (code, true), "{message}");
    }
    let model = json!({ "sessionId": session, "modelId": "model" });
    let set = stage.editor.ok("unstable_set_model", model).await;
    assert_eq!(set["models"]["currentModelId"], "fake/model", "the provider stays");
    stage.editor.close().await.unwrap();

    // For other clients, both are errors.
    let plain = crate::stage::stage(EditorScript::default(), []);
    let session = plain.editor.session("/w").await;
    let blank = json!({ "sessionId": session, "prompt": [] });
    assert_eq!(plain.editor.error("session/prompt", blank).await.0, -32602);
    assert_eq!(plain.editor.error("session/close", json!({ "sessionId": "nobody" })).await.0, -32002);
    plain.editor.close().await.unwrap();
}

#[tokio::test]
async fn the_runtime_is_set_in_one_request() {
    let stage = stage(native(), []);
    let session = kosmokrator_session(&stage).await;
    let set = |more: Value| {
        let mut params = json!({ "sessionId": session });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let state =
        json!({ "mode": "plan", "model": "fake/model", "provider": "fake", "permissionMode": "guardian" });
    let state = stage.editor.ok("kosmokrator/runtime/set", set(state)).await;
    assert_eq!(state["modes"]["currentModeId"], "plan");
    assert_eq!(state["models"]["currentModelId"], "fake/model");
    let values: Vec<_> =
        state["configOptions"].as_array().unwrap().iter().map(|option| option["value"].clone()).collect();
    assert!(values.contains(&json!("guardian")), "{values:?}");
    let changes = events(&stage, "kosmokrator/runtime_changed");
    assert_eq!(
        (&changes[0]["provider"], &changes[0]["model"], &changes[0]["maxContext"]),
        (&json!("fake"), &json!("model"), &json!(100_000))
    );
    assert_eq!(changes[1]["mode"], "plan");
    assert_eq!(changes.last().unwrap()["modes"]["currentModeId"], "plan");
    assert_eq!(changes[0]["runId"], Value::Null);
    let (code, message) = stage.editor.error("kosmokrator/runtime/set", set(json!({ "mode": "x" }))).await;
    assert_eq!((code, message.contains("edit, plan, ask")), (-32602, true));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn unconfigured_services_answer_in_the_wording_of_the_wire() {
    let stage = stage(native(), []);
    let session = kosmokrator_session(&stage).await;
    let with = |more: Value| {
        let mut params = json!({ "sessionId": session });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    for (method, params, code, says) in [
        ("integrations/describe", json!({ "function": "a.b" }), -32602, "Unknown integration function: a.b"),
        ("integrations/call", json!({ "name": "a.b" }), -32603, "Unknown integration function: a.b"),
        ("integrations/call", json!({}), -32602, "Missing string param: function"),
        ("integrations/call", json!({ "tool": "a.b", "args": 1 }), -32602, "Param must be an object: args"),
        (
            "integrations/configure",
            json!({ "integration": "p" }),
            -32603,
            "Integration 'p' is not installed.",
        ),
        ("mcp/schema", json!({ "function": "s.t" }), -32602, "Unknown MCP function: s.t"),
        ("mcp/set_secret", json!({ "server": "s", "key": "k" }), -32602, "Missing string param: value"),
        ("lua/execute", json!({}), -32602, "Missing Lua code or path"),
        ("lua/execute", json!({ "code": "x", "runtime": "y" }), -32602, "Unknown Lua runtime: y"),
        ("settings/set", json!({ "path": "a", "value": {} }), -32602, "Value for value must be scalar"),
        (
            "settings/set",
            json!({ "path": "a", "value": 1, "scope": "x" }),
            -32602,
            "Scope must be project or global",
        ),
        ("no/such", json!({}), -32601, "Method not found: kosmokrator/no/such"),
        ("sessions/search", json!({ "query": "x" }), -32601, "Method not found: kosmokrator/sessions/search"),
    ] {
        let error = stage.editor.error(&format!("kosmokrator/{method}"), with(params)).await;
        assert_eq!(error, (code, says.to_owned()), "{method}");
    }
    let lists =
        [("integrations/list", "functions"), ("mcp/list_servers", "servers"), ("mcp/list_tools", "tools")];
    for (method, key) in lists {
        let answer = stage.editor.ok(&format!("kosmo/{method}"), with(json!({}))).await;
        assert_eq!(answer[key], json!([]), "{method}");
        let (_, message) =
            stage.editor.error(&format!("_tiller/{method}"), json!({ "sessionId": "nobody" })).await;
        assert_eq!(message, "Session not loaded: nobody");
        let (_, message) = stage.editor.error(&format!("_tiller/{method}"), json!({})).await;
        assert_eq!(message, "Missing string param: sessionId");
    }
    let call = with(json!({ "function": "s.t", "args": {}, "force": true, "dryRun": true }));
    let answer = stage.editor.ok("_kosmokrator/mcp/call_tool", call).await;
    assert_eq!(
        (
            &answer["success"],
            &answer["error"],
            &answer["meta"]["server"],
            &answer["meta"]["permission_bypassed"]
        ),
        (&json!(false), &json!("Unknown MCP function: s.t"), &json!("s"), &json!(true))
    );
    let sent = events(&stage, "kosmokrator/mcp_event");
    let operations: Vec<_> = sent.iter().map(|event| event["operation"].as_str().unwrap()).collect();
    assert_eq!(operations, ["list_servers", "list_tools", "call_started", "call_completed"]);
    assert_eq!(sent[3]["result"], answer);
    assert_eq!(events(&stage, "kosmokrator/integration_event")[0]["operation"], "call_started");
    stage.editor.close().await.unwrap();
}

/// Services of which one hangs and one stores a secret.
#[derive(Default)]
struct PartialServices {
    began: Notify,
}

#[async_trait::async_trait]
impl NativeServices for PartialServices {
    async fn call_tool(&self, _context: &RequestContext, _call: CallTool) -> Result<Value, ServiceError> {
        self.began.notify_one();
        std::future::pending().await
    }

    async fn set_secret(&self, context: &RequestContext, set: SetSecret) -> Result<Value, ServiceError> {
        assert_eq!((context.cwd.as_str(), set.value.reveal()), ("/w", "canary"));
        Ok(json!({ "server": set.server, "key": set.key, "configured": true }))
    }
}

#[tokio::test]
async fn a_long_call_runs_beside_a_turn_and_can_be_cancelled() {
    let services = Arc::new(PartialServices::default());
    let context = services.clone();
    let stage =
        stage_with(Arc::default(), native(), [Reply::text("a")], |options| options.services = context);
    let session = kosmokrator_session(&stage).await;
    let call = json!({ "sessionId": session, "function": "s.t" });
    let (id, answer) = stage.editor.start("kosmokrator/mcp/call_tool", call);
    services.began.notified().await;
    stage.editor.prompt(&session, "x").await.unwrap();
    stage.editor.notify("$/cancel_request", json!({ "requestId": id }));
    assert_eq!(answer.await.unwrap_err()["code"], -32800);
    let secret = json!({ "sessionId": session, "server": "s", "key": "env.T", "value": "canary" });
    let kept = stage.editor.ok("kosmokrator/mcp/set_secret", secret).await;
    assert_eq!(kept, json!({ "server": "s", "key": "env.T", "configured": true }));
    assert_eq!(events(&stage, "kosmokrator/mcp_event").pop().unwrap()["operation"], "secret_set");
    assert!(stage.editor.log().iter().all(|message| !message.to_string().contains("canary")));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn sessions_permissions_and_usage_can_be_queried() {
    let read = Reply::calls(&[("file_read", json!({ "path": "a.txt" }))]);
    let stage = stage(native(), [read, Reply::text("a needle")]);
    let session = stage.editor.session("/w").await;
    let named = json!({ "sessionId": session });
    assert_eq!(stage.editor.ok("_tiller/usage/get", named.clone()).await["tokensIn"], 0);
    stage.editor.prompt(&session, "look").await.unwrap();
    let usage = stage.editor.ok("_tiller/usage/get", named.clone()).await;
    assert_eq!((&usage["model"], &usage["tokensIn"]), (&json!("fake/model"), &json!(20)));
    let found = stage.editor.ok("_tiller/sessions/search", json!({ "query": "needle" })).await;
    assert_eq!(found["hits"][0]["sessionId"], session.as_str());
    let log = stage.editor.ok("_tiller/permissions/log", named.clone()).await;
    assert_eq!(
        (&log["decisions"][0]["tool"], &log["decisions"][0]["decision"]),
        (&json!("file_read"), &json!("allow"))
    );
    let what = json!({ "sessionId": session, "what": "rm -rf /" });
    let steps = stage.editor.ok("_tiller/permissions/explain", what).await;
    assert!(steps["steps"].as_array().unwrap().len() > 2, "{steps}");
    let nobody = json!({ "sessionId": "nobody" });
    assert_eq!(stage.editor.error("_tiller/usage/get", nobody).await.0, -32002);
    assert_eq!(stage.editor.error("_tiller/sessions/search", json!({})).await.0, -32602);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn subagents_are_announced_listed_shown_and_cancelled() {
    let calls = Reply::calls(&[("subagent", json!({ "task": "Look around", "id": "scout" }))]);
    let stage = stage(native(), [calls, Reply::text("All quiet."), Reply::text("Nothing there.")]);
    let session = kosmokrator_session(&stage).await;
    stage.editor.prompt(&session, "look").await.unwrap();
    let named = json!({ "sessionId": session });
    let listed = stage.editor.ok("_tiller/subagents/list", named.clone()).await;
    assert_eq!((&listed["tree"][0]["id"], &listed["tree"][0]["status"]), (&json!("scout"), &json!("done")));
    assert_eq!(listed["summary"]["done"], 1);
    let cancelled = stage.editor.ok("_tiller/subagents/cancel", named.clone()).await;
    assert_eq!(cancelled["cancelled"], false, "it has ended");
    let unknown = json!({ "sessionId": session, "id": "ghost" });
    let (code, message) = stage.editor.error("_tiller/subagents/get", unknown).await;
    assert_eq!((code, message.as_str()), (-32602, "Unknown subagent: ghost; it has scout"));
    for kind in
        ["subagent_spawned", "subagent_running", "subagent_completed", "subagent_tree", "subagent_dashboard"]
    {
        assert!(!events(&stage, &format!("kosmokrator/{kind}")).is_empty(), "{kind}");
    }
    stage.editor.close().await.unwrap();
}
