//! Golden test of the native layer: every event and every request, from the real program over a
//! real
//! pipe. The captured messages are the examples in docs/native-layer.md, must match the schema in
//! clients/schema, and must not contain secrets.

mod pipe;
mod shape;

use crate::{home::Home, model_server::ModelServer};
use pipe::{CANARIES, Pipe};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::PathBuf,
};

/// Events of subagents, which are not sent yet; the tests of the `acp` crate show their form.
const OF_SWARMS: [&str; 5] =
    ["subagent_spawned", "subagent_running", "subagent_completed", "subagent_tree", "subagent_dashboard"];
/// Events that depend on the sandbox of the machine: whether a background command needs approval,
/// and what commands connect to.
const OF_COMMANDS: [&str; 2] = ["shell_updated", "network_used"];

/// The command that renews the examples and the schema.
const RENEW: &str = "TILLER_RENEW=1 cargo nextest run -p acp -p tiller golden";

/// A request with its answer.
struct Exchange {
    method: String,
    params: Value,
    answer: Result<Value, Value>,
}

#[test]
fn every_event_and_request_is_as_documented() {
    let (pipe, exchanges) = story();
    let schema: Value = serde_json::from_str(&read("clients/schema/native.json")).unwrap();
    let known =
        |part: &str| -> BTreeSet<String> { schema[part].as_object().unwrap().keys().cloned().collect() };

    let mut wrong = Vec::new();
    let mut hold = |name: &str, rules: &Value, value: &Value| {
        if let Err(problem) = shape::check(&schema, rules, value) {
            wrong.push(format!("{name}: {problem}\n  {value}"));
        }
    };
    let mut events: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for event in &pipe.events {
        let name = event["params"]["type"].as_str().unwrap();
        assert_eq!(event["method"], format!("_tiller/{name}"));
        hold(name, &schema["events"][name], &event["params"]);
        events.entry(name).or_default().push(event);
    }
    let mut requests: BTreeMap<&str, Vec<&Exchange>> = BTreeMap::new();
    for exchange in &exchanges {
        let name = exchange.method.split_once('/').unwrap().1;
        if let Ok(result) = &exchange.answer {
            hold(name, &schema["requests"][name]["params"], &exchange.params);
            hold(name, &schema["requests"][name]["result"], result);
        }
        requests.entry(name).or_default().push(exchange);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut known_events: BTreeSet<String> = events.keys().map(|name| (*name).to_owned()).collect();
    known_events.extend(OF_SWARMS.map(str::to_owned));
    known_events.extend(OF_COMMANDS.map(str::to_owned));
    assert_eq!(known_events, known("events"));
    assert_eq!(requests.keys().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), known("requests"));

    let mut text = "### Events\n".to_owned();
    for (name, all) in events {
        let _ = write!(text, "\n#### `{name}`\n\n```json\n");
        let mut shapes = BTreeSet::new();
        for event in all {
            let members: Vec<_> = event["params"].as_object().unwrap().keys().cloned().collect();
            if shapes.insert(members) {
                let _ = writeln!(text, "{}", pipe.shown(event));
            }
        }
        text.push_str("```\n");
    }
    text.push_str("\n### Requests\n");
    for (name, all) in requests {
        let _ = write!(text, "\n#### `{name}`\n\n```json\n");
        for (at, Exchange { method, params, answer }) in all.into_iter().enumerate() {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let (key, value) = match answer {
                Ok(result) => ("result", result),
                Err(error) => ("error", error),
            };
            let answer = json!({ "jsonrpc": "2.0", "id": 1, key: value });
            let gap = if at == 0 { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}\n{}", pipe.shown(&request), pipe.shown(&answer));
        }
        text.push_str("```\n");
    }
    for canary in CANARIES {
        text = text.replace(canary, "…");
    }
    pipe.end();
    documented("docs/native-layer.md", "captured", &text);
}

#[test]
fn the_schema_is_the_programs_own() {
    let home = Home::new();
    for name in ["native", "settings"] {
        let kept = read(&format!("clients/schema/{name}.json"));
        assert_eq!(crate::home::stdout(&home.run(&["schema", name])), kept);
    }
}

/// Runs a turn with a permission request, a turn that fails, and every request.
fn story() -> (Pipe, Vec<Exchange>) {
    let chunk = |delta: Value, end: Value| {
        let usage = json!({ "prompt_tokens": 120, "completion_tokens": 8 });
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
        let usage = if end.is_null() { Value::Null } else { usage };
        format!("data: {}\n\n", json!({ "choices": [choice], "usage": usage }))
    };
    let arguments = json!({ "path": "note.txt", "content": "Two words\n" }).to_string();
    let function = json!({ "name": "file_write", "arguments": arguments });
    let plan = json!({ "plan": [{ "step": "Write the note", "status": "in_progress" }] }).to_string();
    let plan = json!({ "name": "update_plan", "arguments": plan });
    let call = json!({ "tool_calls": [
        { "index": 0, "id": "c0", "type": "function", "function": function },
        { "index": 1, "id": "c1", "type": "function", "function": plan },
    ] });
    let model = ModelServer::start(vec![
        chunk(json!({ "reasoning_content": "A note, then." }), Value::Null)
            + &chunk(call, Value::Null)
            + &chunk(json!({}), json!("tool_calls")),
        chunk(json!({ "content": "The note is there." }), Value::Null) + &chunk(json!({}), json!("stop")),
        "data: {\"error\":{\"message\":\"no such model\",\"code\":400}}\n\n".to_owned(),
    ]);
    let home = Home::new();
    home.settings("[providers.openai]\nwire = 'chat'\n[providers.local]\ndiscover = false\n");
    let mut pipe = Pipe::start(home, &model.url);
    let session = pipe.session.clone();
    let prompt = |text: &str| json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
    let answer = pipe.ask("session/prompt", prompt("Write a note.")).unwrap();
    assert_eq!(answer["stopReason"], "end_turn");
    let exchanges = requests(&mut pipe);
    pipe.ask("session/prompt", prompt("And now?")).unwrap_err();
    (pipe, exchanges)
}

/// Sends every request, valid and invalid.
fn requests(pipe: &mut Pipe) -> Vec<Exchange> {
    let session = pipe.session.clone();
    let project = pipe.project();
    let mut exchanges = Vec::new();
    let mut ask = |method: &str, params: Value, fine: bool| {
        let mut with = json!({});
        if !matches!(
            method,
            "_tiller/capabilities" | "_tiller/doctor" | "_tiller/sessions/search" | "kosmokrator/doctor"
        ) {
            with["sessionId"] = json!(session);
        }
        with.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let answer = pipe.ask(method, with.clone());
        assert_eq!(answer.is_ok(), fine, "{method} {with}: {answer:?}");
        exchanges.push(Exchange { method: method.to_owned(), params: with, answer: answer.clone() });
        answer.unwrap_or_default()
    };
    let dead_port = || json!({ "sessionId": "nobody" });

    ask("_tiller/capabilities", json!({}), true);
    ask(
        "_tiller/runtime/set",
        json!({ "model": "test", "mode": "edit", "permissionMode": "guardian" }),
        true,
    );
    ask("_tiller/runtime/set", json!({ "mode": "fast" }), false);
    let path = "tiller.limits.turn_requests";
    ask("_tiller/settings/set", json!({ "scope": "global", "path": path, "value": 100 }), true);
    ask("_tiller/settings/set", json!({ "scope": "global", "path": path, "value": "many" }), false);
    let provider = json!({ "scope": "global", "provider": "openai", "model": "test", "apiKey": CANARIES[3] });
    ask("_tiller/providers/configure", provider, true);
    ask("_tiller/providers/configure", json!({ "provider": "local" }), false);

    let credentials = json!({
        "integration": "plane", "account": "work", "scope": "global", "enabled": true,
        "credentials": { "api_key": CANARIES[3], "workspace_slug": "acme" },
        "permissions": { "read": "allow", "write": "ask" },
    });
    ask("_tiller/integrations/configure", credentials, true);
    ask("_tiller/integrations/configure", json!({ "integration": "none" }), false);
    ask("_tiller/integrations/list", json!({ "query": "plane.list_issues", "limit": 1 }), true);
    ask("_tiller/integrations/list", json!({ "limit": "all" }), false);
    ask("_tiller/integrations/describe", json!({ "function": "plane.list_issues" }), true);
    ask("_tiller/integrations/describe", json!({ "function": "no.such" }), false);
    let work = json!({ "function": "plane.list_issues", "account": "work", "args": { "project_id": "p1" }, "dryRun": true });
    ask("_tiller/integrations/call", work, true);
    let write = json!({ "function": "plane.create_issue", "account": "work", "args": { "project_id": "p1", "name": "It breaks" } });
    ask("_tiller/integrations/call", write, true);
    ask("_tiller/integrations/call", json!({ "function": "no.such", "args": {} }), false);

    ask("_tiller/mcp/list_servers", json!({}), true);
    ask("_tiller/mcp/list_servers", json!({ "force": "yes" }), false);
    ask("_tiller/mcp/list_tools", json!({ "server": "words" }), true);
    ask("_tiller/mcp/list_tools", json!({ "server": "none" }), false);
    ask("_tiller/mcp/schema", json!({ "function": "words.count" }), true);
    ask("_tiller/mcp/schema", json!({ "function": "words.none" }), false);
    let args = json!({ "text": "Two words" });
    ask("_tiller/mcp/call_tool", json!({ "function": "words.count", "args": args, "force": true }), true);
    ask("_tiller/mcp/call_tool", json!({ "function": "words.note", "args": args }), true);
    ask(
        "_tiller/mcp/call_tool",
        json!({ "function": "words.note", "args": args, "dryRun": true, "force": true }),
        true,
    );
    ask("_tiller/mcp/call_tool", json!({ "function": "words.note", "args": "Two words" }), false);
    let server = json!({
        "scope": "global", "name": "more", "command": "/bin/true", "args": ["--stdio"],
        "env": { "MORE_TOKEN": CANARIES[2] }, "enabled": false, "permissions": { "read": "allow" },
    });
    ask("_tiller/mcp/add_stdio_server", server, true);
    ask("_tiller/mcp/add_stdio_server", json!({ "name": "more" }), false);
    let secret = json!({ "server": "more", "key": "env.OTHER_TOKEN", "value": CANARIES[2] });
    ask("_tiller/mcp/set_secret", secret, true);
    ask("_tiller/mcp/set_secret", json!({ "server": "more", "key": "env.OTHER_TOKEN" }), false);

    // The server returns the secret from its environment; it must not reach the client.
    let code = "print(app.mcp.words.note{text = 'x'})\nreturn app.mcp.words.count{text = 'Two words'}.words";
    ask("_tiller/lua/execute", json!({ "runtime": "mcp", "code": code, "force": true }), true);
    ask("_tiller/lua/execute", json!({ "runtime": "mcp", "code": code }), true);
    ask("_tiller/lua/execute", json!({ "runtime": "mcp" }), false);

    ask("_tiller/sessions/search", json!({ "query": "note" }), true);
    ask("_tiller/sessions/search", json!({}), false);
    ask("_tiller/sessions/export", json!({ "format": "markdown" }), true);
    ask("_tiller/sessions/export", json!({ "format": "pdf" }), false);
    ask("_tiller/sessions/checkpoints", json!({}), true);
    ask("_tiller/sessions/checkpoints", dead_port(), false);
    ask("_tiller/sessions/rewind", json!({ "to": 0 }), true);
    ask("_tiller/sessions/rewind", json!({ "to": 7 }), false);
    ask("_tiller/permissions/explain", json!({ "what": "rm -rf build" }), true);
    ask("_tiller/permissions/explain", json!({}), false);
    ask("_tiller/permissions/log", json!({}), true);
    ask("_tiller/permissions/log", dead_port(), false);
    let config = "[agent]\nsystem_prompt = 'Be brief.'\n[hooks.check]\non = 'stop'\ncommand = ['sh', '.tiller/check.sh']\n";
    std::fs::create_dir_all(project.join(".tiller")).unwrap();
    std::fs::write(project.join(".tiller/config.toml"), config).unwrap();
    std::fs::write(project.join(".tiller/check.sh"), "true\n").unwrap();
    let shown = ask("_tiller/trust/list", json!({}), true);
    let item = |hash: &Value| json!({ "items": [{ "id": shown["items"][1]["id"], "hash": hash }] });
    ask("_tiller/trust/list", dead_port(), false);
    ask("_tiller/trust/give", item(&shown["items"][1]["hash"]), true);
    ask("_tiller/trust/give", item(&json!("of something else")), false);
    ask("_tiller/trust/take", json!({ "ids": [shown["items"][1]["id"]] }), true);
    ask("_tiller/trust/take", json!({ "ids": [] }), false);
    let memory =
        json!({ "type": "decision", "title": "Tabs", "content": "Use tabs.", "memoryClass": "priority" });
    ask("_tiller/memories/save", memory, true);
    ask("_tiller/memories/save", json!({ "id": 1, "pinned": true }), true);
    ask("_tiller/memories/save", json!({ "type": "user", "title": "Key", "content": CANARIES[3] }), false);
    ask("_tiller/memories/list", json!({ "query": "tabs" }), true);
    ask("_tiller/memories/list", json!({ "type": "fact" }), false);
    ask("_tiller/memories/forget", json!({ "id": 1 }), true);
    ask("_tiller/memories/forget", json!({ "id": 1 }), false);
    ask("_tiller/subagents/list", json!({}), true);
    ask("_tiller/subagents/get", json!({ "id": "scout" }), false);
    ask("_tiller/subagents/cancel", json!({}), true);
    ask("_tiller/subagents/cancel", dead_port(), false);
    ask("_tiller/tasks/list", json!({}), true);
    ask("_tiller/tasks/list", dead_port(), false);
    ask("_tiller/goal/set", json!({ "objective": "All tests pass", "tokenBudget": 200_000 }), true);
    ask("_tiller/goal/set", json!({ "status": "done" }), false);
    ask("_tiller/goal/get", json!({}), true);
    ask("_tiller/goal/get", dead_port(), false);
    ask("_tiller/goal/set", json!({ "status": "cleared" }), true);
    ask("_tiller/shells/list", json!({}), true);
    ask("_tiller/shells/list", dead_port(), false);
    ask("_tiller/shells/stop", json!({ "id": "all" }), true);
    ask("_tiller/shells/stop", json!({ "id": "sh_1" }), false);
    ask("_tiller/shells/output", json!({ "id": "sh_1" }), false);
    ask("_tiller/usage/get", json!({}), true);
    ask("_tiller/usage/get", dead_port(), false);
    ask("_tiller/doctor", json!({}), true);
    ask("kosmokrator/doctor", json!({}), false);
    exchanges
}

/// Compares a generated part of a document with its expected text, or renews it.
fn documented(path: &str, part: &str, text: &str) {
    let whole = read(path);
    let (begin, end) = (format!("<!-- {part}: begin -->\n"), format!("<!-- {part}: end -->"));
    let from = whole.find(&begin).expect("the part begins") + begin.len();
    let to = whole.find(&end).expect("the part ends");
    let text = format!("\n{text}\n");
    if renews() {
        std::fs::write(root().join(path), format!("{}{text}{}", &whole[..from], &whole[to..])).unwrap();
        return;
    }
    if let Some((kept, now)) = whole[from..to].lines().zip(text.lines()).find(|(kept, now)| kept != now) {
        panic!("{path} shows what is not so any more:\n  {kept}\nit is:\n  {now}\nRenew it: {RENEW}");
    }
    assert_eq!(
        whole[from..to].len(),
        text.len(),
        "{path} shows less or more than there is. Renew it: {RENEW}"
    );
}

fn renews() -> bool {
    std::env::var_os("TILLER_RENEW").is_some()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The root directory of the workspace.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
