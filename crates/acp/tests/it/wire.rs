//! Tests of the wire format: `initialize`, invalid lines, wrong parameters.

use crate::stage::{stage, stage_with};
use acp::testing::{Editor, EditorScript, Fault};
use agent::{ModelEvent, fake::Reply};
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test]
async fn initialize_reports_the_agents_capabilities() {
    let stage = stage(EditorScript::default(), []);
    let answer = stage.editor.initialize().await;
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(answer["agentInfo"], json!({"name": "tiller", "title": "Tiller", "version": "0.1.0"}));
    assert_eq!(answer["_meta"]["tiller"]["version"], "0.1.0");
    let can = &answer["agentCapabilities"];
    assert_eq!(can["loadSession"], true);
    assert_eq!(
        (&can["promptCapabilities"]["image"], &can["promptCapabilities"]["embeddedContext"]),
        (&json!(true), &json!(true))
    );
    for capability in
        ["list", "resume", "close", "delete", "additionalDirectories", "fork", "archive", "title", "status"]
    {
        assert_eq!(can["sessionCapabilities"][capability], json!({}), "{capability}");
    }
    assert_eq!(can["mcpCapabilities"], json!({"http": true, "sse": true}));
    assert_eq!(can["auth"], json!({"logout": {}, "status": {}}));
    let methods = answer["authMethods"].as_array().unwrap();
    assert_eq!((methods.len(), &methods[0]["id"]), (1, &json!("tiller-provider")));
    for _ in 0..2 {
        stage.editor.ok("authenticate", json!({"methodId": "tiller-provider"})).await;
    }
    assert_eq!(stage.editor.error("authenticate", json!({"methodId": "x"})).await.0, -32602);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_unknown_version_is_served_as_version_1() {
    for version in [json!(0), json!(1), json!("1"), json!("x"), json!(-1), Value::Null] {
        let stage = stage(EditorScript::default(), []);
        let params = json!({"protocolVersion": version, "clientCapabilities": {"fs": 7, "future": {}}});
        let answer = stage.editor.ok("initialize", params).await;
        assert_eq!(answer["protocolVersion"], 1, "{version}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn nothing_works_before_initialize_and_a_second_one_is_refused() {
    if crate::transport::is_http() {
        return;
    }
    let stage = stage(EditorScript::default(), []);
    let (code, message) = stage.editor.error("session/new", json!({"cwd": "/w"})).await;
    assert_eq!(code, -32600);
    assert!(message.contains("not initialized"), "{message}");
    stage.editor.initialize().await;
    assert_eq!(stage.editor.error("initialize", json!({"protocolVersion": 1})).await.0, -32600);
    stage.editor.ok("session/new", json!({"cwd": "/w"})).await;
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn bad_lines_are_answered_and_the_connection_lives() {
    if crate::transport::is_http() {
        return;
    }
    let stage = stage_with(Default::default(), EditorScript::default(), [], |options| {
        options.bounds.line_bytes = 100_000
    });
    stage.editor.initialize().await;
    let long = format!("{}\n", "x".repeat(200_000));
    let deep = format!("{}\n", "[".repeat(90_000));
    for (line, code) in [
        (b"{nonsense\n".to_vec(), -32700),
        (b"\xff\xfe\xfd\n".to_vec(), -32700),
        (long.into_bytes(), -32600),
        (deep.into_bytes(), -32600),
        (b"[]\n".to_vec(), -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}]\n".to_vec(), -32600),
        (b"17\n".to_vec(), -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}\n".to_vec(), -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}\n".to_vec(), -32601),
    ] {
        let seen = stage.editor.log().len();
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        stage.editor.raw(line);
        stage.editor.until(|editor| editor.log().len() > seen).await;
        let answer = stage.editor.log().pop().unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{shown}: {answer}"
        );
        assert!(answer.to_string().len() < 500, "{shown} is not echoed");
    }
    stage.editor.raw(b"\n\r\n  \n\xef\xbb\xbf\n".to_vec());
    stage.editor.raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"unknown\",\"result\":{}}\n".to_vec());
    stage.editor.notify("x/unknown", json!({}));
    stage.editor.ok("session/new", json!({"cwd": "/w"})).await;
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_error_has_the_id_of_its_line_if_readable() {
    if crate::transport::is_http() {
        return;
    }
    let scripts = [EditorScript::default(), EditorScript::v2()];
    for script in scripts {
        let stage = stage_with(Default::default(), script, [], |options| options.bounds.line_bytes = 100_000);
        let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
        let long = "x".repeat(200_000);
        let bad = |code: i64, line: &str| (code, line.to_owned());
        let mut lines = vec![bad(-32600, r#"{"jsonrpc":"2.0","id":ID,"method":"session/new","params":{}}"#)];
        let initialized = lines.len();
        lines.extend([
            bad(-32600, r#"{"id":ID,"method":"session/list"}"#),
            bad(-32600, r#"{"jsonrpc":"1.0","id":ID,"method":"session/list"}"#),
            bad(-32600, r#"{"jsonrpc":2.0,"id":ID,"method":"session/list"}"#),
            bad(-32600, r#"{"jsonrpc":null,"method":"session/list","id":ID}"#),
            bad(-32600, r#"{"jsonrpc":"2.0","id":ID}"#),
            bad(-32600, r#"{"jsonrpc":"2.0","id":ID,"params":{"id":7}}"#),
            bad(-32600, r#"{"jsonrpc":"2.0","id":ID,"method":7}"#),
            bad(-32600, r#"{"jsonrpc":"2.0","id":ID,"method":null}"#),
            bad(-32600, r#"{"jsonrpc":"2.0","id":ID,"method":"session/list","result":{}}"#),
            bad(
                -32600,
                r#"{"jsonrpc":"2.0","id":ID,"method":"session/list","error":{"code":1,"message":"m"}}"#,
            ),
            bad(-32602, r#"{"jsonrpc":"2.0","id":ID,"method":"session/list","params":7}"#),
            bad(-32602, r#"{"jsonrpc":"2.0","id":ID,"method":"session/list","params":"x"}"#),
            bad(-32602, r#"{"jsonrpc":"2.0","id":ID,"method":"session/list","params":true}"#),
            bad(-32602, r#"{"jsonrpc":"2.0","id":ID,"method":"session/list","params":{"cwd":7}}"#),
            bad(
                -32602,
                r#"{"jsonrpc":"2.0","id":ID,"method":"session/list","params":[]  ,"params":{"cwd":7}}"#,
            ),
            bad(-32700, r#"{"jsonrpc":"2.0","id":ID,"method":"session/list","params":{"cursor":1e400}}"#),
            bad(
                -32700,
                &format!(
                    r#"{{"jsonrpc":"2.0","method":"session/list","params":{{"cursor":{}}},"id":ID}}"#,
                    "9".repeat(400)
                ),
            ),
            bad(-32601, r#"{"jsonrpc":"2.0","id":ID,"method":"x/unknown"}"#),
            (-32600, format!(r#"{{"jsonrpc":"2.0","id":ID,"method":"x","params":{deep}}}"#)),
            (-32600, format!(r#"{{"jsonrpc":"2.0","method":"x","params":{deep},"id":ID}}"#)),
            (-32600, format!(r#"{{"jsonrpc":"2.0","id":ID,"method":"x","params":{{"a":"{long}"}}}}"#)),
            (-32600, format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":"{long}"}},"id":ID}}"#)),
        ]);
        let ids =
            ["41", "-1", "0", "\"a\\\"\\u00fc\"", "9223372036854775807", "18446744073709551616", "\"\""];
        let mut next = ids.iter().cycle();
        for (at, (code, line)) in lines.iter().enumerate() {
            if at == initialized {
                stage.editor.initialize().await;
            }
            let id = next.next().unwrap();
            let seen = stage.editor.log().len();
            stage.editor.raw(format!("{}\n", line.replace("ID", id)));
            stage.editor.until(|editor| editor.log().len() > seen).await;
            let answer = &stage.editor.log()[seen];
            let shown = &line[..line.len().min(100)];
            assert_eq!(answer["error"]["code"], *code, "{shown}: {answer}");
            let expected = serde_json::from_str::<Value>(id).unwrap();
            assert_eq!(answer["id"], expected, "{shown}: {answer}");
            assert!(answer.to_string().len() < 500, "{shown} is not echoed");
        }
        // The editor did not send the requests with these ids, so it would object to their
        // responses, which are not tested here.
        std::mem::forget(stage.editor);
    }
}

#[tokio::test]
async fn the_internal_method_for_bad_lines_cannot_be_called() {
    let stage = stage(EditorScript::default().native(), []);
    stage.editor.initialize().await;
    let made_up = json!({"code": -32000, "message": "made up"});
    for method in
        ["_tiller/bad_line", "_tiller/bad_line/", "_tiller/bad_line/0000000000000000", "kosmokrator/bad_line"]
    {
        let error = stage.editor.request(method, made_up.clone()).await.unwrap_err();
        assert_eq!(error["code"], -32601, "{error}");
        assert!(!error.to_string().contains("made up"), "{error}");
    }
    stage.editor.notify("_tiller/bad_line", made_up);
    let seen = stage.editor.log().len();
    stage.editor.raw("{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"m\\u0065thod\":\"_tiller\\/bad\\u005fline\",\"params\":{\"code\":1,\"message\":\"made up\"}}\n");
    stage.editor.until(|editor| editor.log().len() > seen).await;
    let answer = &stage.editor.log()[seen];
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("e"), &json!(-32601)), "{answer}");
    std::mem::forget(stage.editor);
}

#[tokio::test]
async fn ids_are_echoed_unchanged() {
    if crate::transport::is_http() {
        return;
    }
    let stage = stage(EditorScript::default(), []);
    for id in ["\"text\"", "9007199254740993", "-5"] {
        let seen = stage.editor.log().len();
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"_x/unknown\"}}\n");
        stage.editor.raw(request);
        stage.editor.until(|editor| editor.log().len() > seen).await;
        let answer = stage.editor.log().pop().unwrap();
        assert_eq!(answer["id"].to_string(), id);
    }
    // The editor did not send the requests with these ids, so it would object to their responses,
    // which are not tested here.
    std::mem::forget(stage.editor);
}

#[tokio::test]
async fn unknown_methods_and_sessions_are_named() {
    let stage = stage(EditorScript::default(), []);
    stage.editor.initialize().await;
    for method in ["session/dance", "_vendor/x", "providers/list"] {
        let (code, message) = stage.editor.error(method, json!({})).await;
        assert_eq!(code, -32601);
        assert!(message.contains(method), "{message}");
    }
    let text = json!([{"type": "text", "text": "x"}]);
    for (method, params) in [
        ("session/prompt", json!({"sessionId": "nope", "prompt": text})),
        ("session/load", json!({"sessionId": "nope", "cwd": "/w", "mcpServers": []})),
        ("session/resume", json!({"sessionId": "nope", "cwd": "/w"})),
        ("session/close", json!({"sessionId": "nope"})),
        ("session/set_mode", json!({"sessionId": "nope", "modeId": "edit"})),
        ("session/set_config_option", json!({"sessionId": "nope", "configId": "mode", "value": "edit"})),
        ("session/set_model", json!({"sessionId": "nope", "modelId": "x"})),
        ("session/set_title", json!({"sessionId": "nope", "title": "x"})),
        ("session/status", json!({"sessionId": "nope"})),
        ("session/archive", json!({"sessionId": "nope"})),
        ("session/unarchive", json!({"sessionId": "nope"})),
        ("session/fork", json!({"sessionId": "nope", "cwd": "/w"})),
    ] {
        let (code, message) = stage.editor.error(method, params).await;
        assert_eq!(code, -32002, "{method}: {message}");
        assert!(message.contains("nope"), "{message}");
    }
    stage.editor.notify("session/cancel", json!({"sessionId": "nope"}));
    stage.editor.ok("session/list", json!({})).await;
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_working_directory_must_be_absolute_and_exist() {
    let stage = stage(EditorScript::default(), []);
    stage.editor.initialize().await;
    for (params, part) in [
        (json!({"cwd": "w"}), "absolute"),
        (json!({"cwd": "/none"}), "does not exist: /none"),
        (json!({"cwd": "/w/a.txt"}), "not a directory: /w/a.txt"),
        (json!({"cwd": ""}), "absolute"),
        (json!({"cwd": 7}), "cwd"),
        (json!({"cwd": "/w", "additionalDirectories": ["/w", "x"]}), "additionalDirectories[1]"),
    ] {
        let (code, message) = stage.editor.error("session/new", params.clone()).await;
        assert_eq!(code, -32602, "{params}");
        assert!(message.contains(part), "{params}: {message}");
    }
    for servers in [json!([]), Value::Null, json!([{"type": "unheard-of"}])] {
        stage.editor.ok("session/new", json!({"cwd": "/w", "mcpServers": servers})).await;
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_invalid_prompt_is_refused_with_the_block_named() {
    let stage = stage(EditorScript::default(), []);
    let session = stage.editor.session("/w").await;
    for (prompt, part) in [
        (json!([]), "prompt is empty"),
        (json!([{"type": "text", "text": "x"}, {"type": "hologram"}]), "prompt[1]"),
        (json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]), "audio is not supported"),
    ] {
        let (code, message) =
            stage.editor.error("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
        assert_eq!(code, -32602, "{message}");
        assert!(message.contains(part), "{message}");
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_its_request_continues() {
    let hang = Reply::Hang(vec![ModelEvent::Text("x".to_owned())]);
    let stage = stage(EditorScript::default(), [hang]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
    let (id, first) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| editor.text() == "x").await;
    let again = json!({"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}});
    stage.editor.raw(format!("{again}\n"));
    // The rejection carries the id, so it is the first response to that id.
    assert_eq!(first.await.unwrap_err()["code"], -32600);
    let seen = stage.editor.log().len();
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    let ended = |editor: &Editor| {
        editor.log()[seen..].iter().any(|message| message["result"]["stopReason"] == "cancelled")
    };
    stage.editor.until(ended).await;
    // This test provokes two responses to one id, to which the editor would object.
    std::mem::forget(stage.editor);
}

/// Returns the ids and parameters of the agent's requests with a method so far.
fn asked(editor: &Editor, method: &str) -> Vec<(Value, Value)> {
    let of = editor.log().into_iter().filter(|message| message["method"] == method);
    of.map(|message| (message["id"].clone(), message["params"].clone())).collect()
}

fn answer(editor: &Editor, id: &Value, result: &Value) {
    editor.raw(format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "result": result})));
}

#[tokio::test]
async fn a_second_answer_to_one_question_changes_nothing() {
    const ASKS: &str = "session/request_permission";
    let write = |name: &str| Reply::calls(&[("file_write", json!({"path": name, "content": "x"}))]);
    let script = EditorScript::default().fault(ASKS, Fault::Silence);
    let stage = stage(script, [write("no.txt"), write("yes.txt"), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "write"}]});
    let (_, turn) = stage.editor.start("session/prompt", prompt);
    let selected = |option: &str| json!({"outcome": {"outcome": "selected", "optionId": option}});
    for (number, options) in
        [["reject_once", "allow_always"], ["allow_once", "reject_once"]].iter().enumerate()
    {
        stage.editor.until(|editor| asked(editor, ASKS).len() > number).await;
        let (id, _) = asked(&stage.editor, ASKS).swap_remove(number);
        for option in options {
            answer(&stage.editor, &id, &selected(option));
        }
    }
    assert_eq!(turn.await.unwrap()["stopReason"], "end_turn");
    assert_eq!(stage.disk.text_of("/w/no.txt"), None, "the first answer was a refusal");
    assert_eq!(stage.disk.text_of("/w/yes.txt").as_deref(), Some("x"), "the first answer was an approval");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn responses_out_of_order_reach_their_requests() {
    const READS: &str = "fs/read_text_file";
    let read = |name: &'static str| ("file_read", json!({"path": name}));
    let reads = Reply::calls(&[read("a.txt"), read("b.txt"), read("c.txt")]);
    let script = EditorScript::full().allowing().fault(READS, Fault::Silence);
    let stage = stage(script, [reads, Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "read"}]});
    let (_, turn) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| asked(editor, READS).len() == 3).await;
    for (id, params) in asked(&stage.editor, READS).into_iter().rev() {
        answer(
            &stage.editor,
            &id,
            &json!({"content": format!("this is {}", params["path"].as_str().unwrap())}),
        );
    }
    assert_eq!(turn.await.unwrap()["stopReason"], "end_turn");
    let request = format!("{:?}", stage.model.requests()[1]);
    let at = |name: &str| {
        request.find(&format!("this is /w/{name}")).unwrap_or_else(|| panic!("{name}: {request}"))
    };
    assert!(at("a.txt") < at("b.txt") && at("b.txt") < at("c.txt"), "results are in the order of the calls");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn unparsable_numbers_and_texts_cause_one_error_each() {
    let stage = stage(EditorScript::default(), []);
    let session = stage.editor.session("/w").await;
    let params = |params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"own\",\"method\":\"session/list\",\"params\":{params}}}\n")
    };
    for (line, codes) in [
        (params(r#"{"cursor":1e400}"#), [-32700, -32602]),
        (params(r#"{"cursor":"\ud800"}"#), [-32700, -32602]),
        (params(r#"{"cursor":"\udc00\ud800"}"#), [-32700, -32602]),
        (params(r#"{"cwd":"/w","cwd":7}"#), [-32700, -32602]),
        (format!("{{\"id\":\"own\",{}", &params("{\"cwd\":7}")[1..]), [-32700, -32602]),
    ] {
        let seen = stage.editor.log().len();
        stage.editor.raw(line.clone());
        stage.editor.until(|editor| editor.log().len() > seen).await;
        let code = stage.editor.log()[seen]["error"]["code"].as_i64();
        assert!(codes.iter().any(|expected| code == Some(*expected)), "{line}: {code:?}");
    }
    stage.editor.ok("session/status", json!({"sessionId": session})).await;
    // The editor did not send the requests with these ids, so it would object to their responses,
    // which are not tested here.
    std::mem::forget(stage.editor);
}

/// Its input stays open throughout: before `initialize`, while idle, and during a turn.
#[tokio::test]
async fn a_client_that_stops_reading_counts_as_disconnected() {
    if !crate::transport::is_pipe() {
        return;
    }
    for phase in ["new", "idle", "busy"] {
        let mut reads_no_more = None;
        let hangs = (phase == "busy").then(|| Reply::Hang(vec![ModelEvent::Text("x".to_owned())]));
        let stage = stage_with(Arc::default(), EditorScript::default(), hangs, |options| {
            reads_no_more = Some(options.output_closed.clone());
        });
        if phase != "new" {
            let session = stage.editor.session("/w").await;
            if phase == "busy" {
                let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
                drop(stage.editor.start("session/prompt", prompt));
                stage.editor.until(|editor| editor.text() == "x").await;
            }
        }
        reads_no_more.expect("the options are changed").cancel();
        stage.editor.ended().await.unwrap_or_else(|error| panic!("{phase}: {error}"));
    }
}
