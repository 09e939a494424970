//! MCP servers and scripts through the native layer of the real program, with real servers.

use crate::{
    agent::Agent,
    home::{Home, stderr, stdout},
};
use serde_json::{Value, json};

const SERVER: &str = include_str!("mcp_server.sh");
const CANARY: &str = "canary-9b1e44d0";

/// The program with a session that has a server from its editor.
struct Stage {
    home: Home,
    agent: Agent,
    session: String,
}

impl Stage {
    fn new(args: &[&str]) -> Self {
        let home = Home::new();
        let mut agent = Agent::start(&home, args);
        agent.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).unwrap();
        let env = json!([
            { "name": "STARTED", "value": home.file("started") },
            { "name": "API_TOKEN", "value": CANARY },
        ]);
        let server =
            json!({ "name": "mine", "command": "/bin/sh", "args": [script(&home), "ok"], "env": env });
        let params = json!({ "cwd": home.project(), "mcpServers": [server] });
        let session = agent.ask("session/new", params).unwrap()["sessionId"].as_str().unwrap().to_owned();
        Self { home, agent, session }
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let mut with = json!({ "sessionId": self.session });
        with.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let id = self.agent.post(&format!("_tiller/{method}"), with);
        loop {
            let message = self.agent.receive().expect("an answer, not the end");
            assert!(!message.to_string().contains(CANARY), "{message}");
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    fn call(&mut self, params: Value) -> Value {
        self.ask("mcp/call_tool", params).unwrap()
    }

    /// Writes the project's file with one server of this name.
    fn describe(&self, name: &str) {
        let server = json!({ "command": "/bin/sh", "args": [script(&self.home), "ok"] });
        self.home.write(".mcp.json", &json!({ "mcpServers": { name: server } }).to_string());
    }
}

/// The program of a server. It is in the project, where the sandbox shows it.
fn script(home: &Home) -> String {
    home.write("server.sh", SERVER);
    home.project().join("server.sh").to_str().unwrap().to_owned()
}

#[test]
fn direct_calls_use_the_sessions_servers() {
    let mut stage = Stage::new(&[]);
    let servers = stage.ask("mcp/list_servers", json!({})).unwrap();
    let server = &servers["servers"][0];
    assert_eq!(
        (&server["name"], &server["type"], &server["source"], &server["enabled"], &server["permissions"]),
        (
            &json!("mine"),
            &json!("stdio"),
            &json!("acp"),
            &json!(true),
            &json!({ "read": "ask", "write": "ask" })
        )
    );
    let tools = stage.ask("mcp/list_tools", json!({ "server": "mine" })).unwrap();
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
    assert_eq!(names, ["mine.echo", "mine.look", "mine.die"]);
    let schema = stage.ask("mcp/schema", json!({ "function": "mine.look" })).unwrap();
    assert_eq!(schema, tools["tools"][1]);
    assert_eq!(
        (&schema["lua_path"], &schema["operation"], &schema["parameters"]["text"]["type"]),
        (&json!("app.mcp.mine.look"), &json!("read"), &json!("string"))
    );

    // No user is asked: a call that needs approval is refused, and the error names the setting.
    let refused = stage.call(json!({ "function": "mine.echo" }));
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("write requires approval") && why.contains("mcp.servers.mine.permissions.write"));
    assert_eq!(
        (&refused["success"], &refused["meta"]),
        (
            &json!(false),
            &json!({ "dry_run": false, "operation": "write", "permission_bypassed": false, "server": "mine" })
        )
    );
    let dry = stage.call(json!({ "tool": "mine.echo", "force": true, "dryRun": true }));
    assert_eq!((&dry["success"], &dry["data"]), (&json!(true), &Value::Null));
    let forced = stage.call(json!({ "function": "mine.echo", "args": { "text": "x" }, "force": true }));
    assert_eq!(forced["data"][0]["text"], "You said it.", "{forced}");
    assert_eq!(forced["error"], Value::Null);
    // A changed setting applies immediately.
    let setting = json!({ "scope": "global", "path": "kosmokrator.mcp.servers.mine.permissions.read", "value": "allow" });
    stage.ask("settings/set", setting).unwrap();
    let allowed = stage.call(json!({ "function": "mine.look" }));
    assert!(
        allowed["success"] == true && allowed["data"].as_str().unwrap().contains("API_TOKEN"),
        "{allowed}"
    );
    assert_eq!(stage.home.read("started").as_deref(), Some("started\n"), "one process for all of this");
    for (function, says) in [
        ("mine.nothing", "Unknown MCP function: mine.nothing"),
        ("other.x", "Unknown MCP function: other.x"),
        ("x", "Unknown MCP function: x"),
    ] {
        let failed = stage.call(json!({ "function": function, "force": true }));
        assert_eq!((&failed["success"], &failed["error"]), (&json!(false), &json!(says)));
    }
    let died = stage.call(json!({ "function": "mine.die", "force": true }));
    assert!(died["error"].as_str().unwrap().starts_with("MCP server 'mine'"), "{died}");
    let unknown = stage.ask("mcp/schema", json!({ "function": "mine.nothing" })).unwrap_err();
    assert_eq!(
        (&unknown["code"], &unknown["message"]),
        (&json!(-32602), &json!("Unknown MCP function: mine.nothing"))
    );

    // Restrictions of the session apply to the client's calls too.
    stage.ask("runtime/set", json!({ "mode": "plan" })).unwrap();
    let denied = stage.call(json!({ "function": "mine.echo", "force": true }));
    assert!(denied["error"].as_str().unwrap().contains("not available in Plan mode"), "{denied}");
    assert!(stage.agent.hang_up().0.success());
}

#[test]
fn a_projects_servers_wait_for_trust() {
    let mut stage = Stage::new(&["--permission-mode", "prometheus"]);
    stage.describe("proj");
    let servers = stage.ask("mcp/list_servers", json!({})).unwrap();
    assert_eq!(
        (&servers["servers"][1]["name"], &servers["servers"][1]["trusted"]),
        (&json!("proj"), &json!(false))
    );
    let tools = stage.ask("mcp/list_tools", json!({})).unwrap();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 3, "those of the editor's server alone");
    let refused = stage.call(json!({ "function": "proj.look" }));
    assert!(refused["error"].as_str().unwrap().contains("is not trusted"), "{refused}");
    let forced = stage.call(json!({ "function": "proj.look", "force": true }));
    assert_eq!(forced["success"], true, "{forced}");
    let tools = stage.ask("mcp/list_tools", json!({ "force": true })).unwrap();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 6);

    // Adding a server to a directory with untrusted items must not make those trusted.
    let add = |name: &str| {
        json!({
            "scope": "project", "name": name, "command": "/bin/sh", "args": [script(&stage.home), "ok"],
            "env": { "API_TOKEN": CANARY }, "trust": true, "permissions": { "read": "allow", "write": "deny" },
        })
    };
    let (first, second) = (add("Added"), add("second"));
    let added = stage.ask("mcp/add_stdio_server", first).unwrap();
    let servers = stage.ask("mcp/list_servers", json!({})).unwrap();
    let waits = |name: &str| {
        let all = servers["servers"].as_array().unwrap();
        all.iter().any(|server| server["name"] == name && server["trusted"] == false)
    };
    assert!(waits("proj") && !waits("added"), "{servers}");
    assert_eq!(
        added,
        json!({
            "name": "added", "scope": "project", "path": stage.home.file(".mcp.json"), "enabled": true,
            "trusted": true, "permissions": { "read": "allow", "write": "deny" },
        })
    );
    assert!(!stage.home.read(".mcp.json").unwrap().contains(CANARY), "a secret is referred to");
    let called = stage.call(json!({ "function": "added.look" }));
    assert!(called["success"] == true && called["data"].as_str().unwrap().contains("API_TOKEN"), "{called}");
    let denied = stage.call(json!({ "function": "added.echo", "force": true }));
    assert_eq!(denied["error"], "MCP server 'added' write access denied.");
    assert_eq!(stage.ask("mcp/add_stdio_server", second).unwrap()["trusted"], true, "it stays trusted");

    let set = json!({ "server": "added", "key": "env.OTHER", "value": CANARY });
    let kept = stage.ask("mcp/set_secret", set).unwrap();
    assert_eq!(kept, json!({ "server": "added", "key": "env.OTHER", "configured": true }));
    let listed = stdout(&stage.home.run(&["mcp", "secret", "list"]));
    assert_eq!(listed, "mcp.added.env.API_TOKEN\nmcp.added.env.OTHER\nmcp.second.env.API_TOKEN\n");
    assert!(stage.agent.hang_up().0.success());
}

#[test]
fn p13_a_program_lists_grants_and_revokes_trust_with_immediate_effect() {
    let mut stage = Stage::new(&["--permission-mode", "prometheus"]);
    assert_eq!(stage.ask("trust/list", json!({})).unwrap()["items"], json!([]));
    stage.describe("proj");
    let shown = stage.ask("trust/list", json!({})).unwrap();
    let item = &shown["items"][0];
    assert_eq!(
        (&item["id"], &item["kind"], &item["state"]),
        (&json!("server:.mcp.json#proj"), &json!("server"), &json!("untrusted"))
    );
    assert!(item["content"][0].as_str().unwrap().contains("/bin/sh"), "{item}");
    let give = |id: &Value, hash: &Value| json!({ "items": [{ "id": id, "hash": hash }] });
    let right = give(&item["id"], &item["hash"]);
    // An item that has changed since is not trusted, and neither is a valid one in the same
    // request.
    let server = |part: &str| json!({ "command": "/bin/sh", "args": [script(&stage.home), part] });
    let both = json!({ "mcpServers": { "proj": server("changed"), "other": server("ok") } });
    stage.home.write(".mcp.json", &both.to_string());
    let other = stage.ask("trust/list", json!({})).unwrap()["items"].as_array().unwrap()[0].clone();
    let mut stale = right.clone();
    stale["items"].as_array_mut().unwrap().push(json!({ "id": other["id"], "hash": other["hash"] }));
    let refused = stage.ask("trust/give", stale).unwrap_err();
    assert_eq!(refused["code"], -32602);
    assert!(refused["message"].as_str().unwrap().contains("has changed since it was shown"), "{refused}");
    let states = |list: &Value| {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states(&stage.ask("trust/list", json!({})).unwrap()), ["untrusted", "untrusted"]);
    stage.describe("proj");
    // An unknown id and a missing hash are both errors.
    assert!(stage.ask("trust/give", give(&json!("server:.mcp.json#none"), &item["hash"])).is_err());
    assert!(stage.ask("trust/give", json!({ "items": [{ "id": item["id"] }] })).is_err());
    let refused = stage.call(json!({ "function": "proj.look" }));
    assert!(refused["error"].as_str().unwrap().contains("is not trusted"), "{refused}");
    assert_eq!(states(&stage.ask("trust/give", right).unwrap()), ["trusted"]);
    assert_eq!(stage.call(json!({ "function": "proj.look" }))["success"], true);
    assert!(stdout(&stage.home.run(&["trust", "--list"])).starts_with("trusted "));
    let taken = stage.ask("trust/take", json!({ "ids": [item["id"]] })).unwrap();
    assert_eq!(states(&taken), ["untrusted"]);
    let refused = stage.call(json!({ "function": "proj.look" }));
    assert!(refused["error"].as_str().unwrap().contains("is not trusted"), "{refused}");
    // Scripts cannot reach the trust requests.
    for name in ["app.trust.list", "app.tools.trust", "app.mcp.trust.give", "app.tools.trust_give"] {
        let code = format!("return pcall({name}, {{}})");
        let printed =
            stage.ask("lua/execute", json!({ "runtime": "all", "code": code, "force": true })).unwrap();
        let result = printed["result"].as_str().unwrap_or("false");
        assert!(result.starts_with("false"), "{printed}");
    }
    let id = stage.agent.post("kosmokrator/trust/list", json!({ "sessionId": stage.session }));
    let answer = loop {
        let message = stage.agent.receive().expect("an answer");
        if message["id"] == id && message.get("method").is_none() {
            break message;
        }
    };
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert!(stage.agent.hang_up().0.success());
}

#[test]
fn scripts_run_over_the_native_layer_call_servers() {
    let mut stage = Stage::new(&[]);
    let run = |stage: &mut Stage, params: Value| stage.ask("lua/execute", params).unwrap();
    let code = "local said = app.mcp.mine.echo{text = 'x'}\nprint(#mcp.servers(), mcp.tools('mine')[1].name)\nreturn said";
    let refused = run(&mut stage, json!({ "runtime": "mcp", "code": code }));
    assert_eq!(refused["success"], false);
    assert!(refused["error"].as_str().unwrap().contains("mcp.servers.mine.permissions.write"), "{refused}");
    let done = run(&mut stage, json!({ "runtime": "all", "code": code, "force": true }));
    assert_eq!(
        (&done["success"], &done["output"], &done["error"], &done["integration_calls"]),
        (&json!(true), &json!("1\techo\n"), &Value::Null, &json!(1)),
        "{done}"
    );
    assert!(done["result"].as_str().unwrap().contains("You said it."), "{done}");
    let code = "return {a = 1, b = {1, 2.5, 'x'}}, 'two', nil, print";
    let given = run(&mut stage, json!({ "code": code }))["values"].take();
    assert_eq!(
        given.as_array().unwrap()[..3],
        [json!({ "a": 1, "b": [1, 2.5, "x"] }), json!("two"), Value::Null]
    );
    assert!(given[3].as_str().unwrap().starts_with("function"), "{given}");
    let large = run(&mut stage, json!({ "code": "return ('x'):rep(9000000), 1" }))["values"].take();
    assert!(
        large[0].as_str().unwrap().ends_with("… (cut)") && large[1] == "1",
        "a message is not as long as a script likes"
    );
    assert!(done["memory_usage"].as_u64().unwrap() > 0 && done["execution_time_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(done["meta"], json!({ "permission_bypassed": true }));
    let tools = run(&mut stage, json!({ "code": "return pcall(app.tools.bash, {command = 'ls'})" }));
    assert!(tools["result"].as_str().unwrap().starts_with("false"), "{tools}");
    let over = run(&mut stage, json!({ "code": "while true do end", "options": { "cpuLimit": 0.05 } }));
    assert_eq!(over["error"], "CPU limit of 0.05 s exceeded.");
    stage.home.write("a.lua", "return 6 * 7");
    assert_eq!(run(&mut stage, json!({ "path": "a.lua" }))["result"], "42");
    for (params, says) in [
        (json!({}), "Missing Lua code or path"),
        (json!({ "path": "none.lua" }), "Lua file is not readable: none.lua"),
        (json!({ "code": "1", "runtime": "js" }), "Unknown Lua runtime: js"),
    ] {
        let wrong = stage.ask("lua/execute", params).unwrap_err();
        assert_eq!((&wrong["code"], &wrong["message"]), (&json!(-32602), &json!(says)));
    }
    assert!(stage.agent.hang_up().0.success());
}

#[test]
fn the_kosmokrator_sample_requests_work_in_sequence() {
    let mut stage = Stage::new(&[]);
    let command = script(&stage.home);
    let ask = |stage: &mut Stage, method: &str, params: Value| {
        stage.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    };
    let runtime = json!({
        "provider": "offline", "mode": "edit", "model": "offline/pilot", "permissionMode": "guardian",
    });
    ask(&mut stage, "runtime/set", runtime);
    let setting = json!({
        "scope": "project", "path": "kosmokrator.tools.default_permission_mode", "value": "guardian",
    });
    ask(&mut stage, "settings/set", setting);
    let provider = json!({
        "scope": "project", "provider": "openai", "model": "gpt-5.4-mini", "apiKey": CANARY,
    });
    let provider = ask(&mut stage, "providers/configure", provider);
    assert_eq!((&provider["hasApiKey"], &provider["model"]), (&json!(true), &json!("openai/gpt-5.4-mini")));
    let integration = json!({
        "integration": "plane", "account": "work", "scope": "project",
        "credentials": { "api_key": CANARY, "workspace_slug": "acme" }, "enabled": true,
        "permissions": { "read": "allow", "write": "ask" },
    });
    assert_eq!(ask(&mut stage, "integrations/configure", integration)["enabled"], true);
    let server = json!({
        "scope": "project", "name": "filesystem", "command": "/bin/sh", "args": [command, "ok"], "env": {},
        "enabled": true, "trust": true, "permissions": { "read": "allow", "write": "ask" },
    });
    // Earlier writes, into a directory that was empty, do not prevent trust.
    assert_eq!(ask(&mut stage, "mcp/add_stdio_server", server)["trusted"], true);
    let servers = ask(&mut stage, "mcp/list_servers", json!({}));
    assert_eq!(servers["servers"].as_array().unwrap().len(), 2);
    let tools = ask(&mut stage, "mcp/list_tools", json!({ "server": "filesystem", "force": false }));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 3);
    let call = json!({ "function": "filesystem.look", "args": {}, "force": false, "dryRun": false });
    assert_eq!(ask(&mut stage, "mcp/call_tool", call)["success"], true);
    let secret = json!({ "server": "github", "key": "env.GITHUB_TOKEN", "value": CANARY });
    ask(&mut stage, "mcp/set_secret", secret);
    let lua = json!({
        "runtime": "integrations", "code": "dump(app.mcp.filesystem.look({}))",
        "options": { "cpuLimit": 2.0, "memoryLimit": 67_108_864 }, "force": false,
    });
    let lua = ask(&mut stage, "lua/execute", lua);
    assert!(lua["output"].as_str().unwrap().contains("PATH"), "{lua}");
    let more = json!({ "scope": "project", "name": "more", "command": "/bin/true", "trust": true });
    assert_eq!(ask(&mut stage, "mcp/add_stdio_server", more)["trusted"], true);
    assert!(stage.agent.hang_up().0.success());
}

#[test]
fn scripts_of_the_command_line_call_servers() {
    let home = Home::new();
    let script = script(&home);
    assert!(home.run(&["mcp", "add", "mine", "--", "/bin/sh", &script, "ok"]).status.success());
    let code = "app.mcp.mine.look{}:match('PATH')";
    let refused = home.run(&["mcp", "lua", "--eval", code]);
    assert!(!refused.status.success());
    assert!(stderr(&refused).contains("mcp.servers.mine.permissions.read"), "{}", stderr(&refused));
    for args in [&["mcp", "lua", "--force", "--eval", code][..], &["lua", "run", "--force", "-e", code]] {
        assert_eq!(stdout(&home.run(args)), "PATH\n", "{args:?}");
    }
    home.settings("[mcp]\npermissions_default = 'allow'\n[mcp.servers.mine.permissions]\nwrite = 'deny'\n");
    let printed: Value =
        serde_json::from_str(&stdout(&home.run(&["mcp", "lua", "--json", "-e", code]))).unwrap();
    assert_eq!((&printed["success"], &printed["value"]), (&json!(true), &json!("PATH")));
    let denied = home.run(&["mcp", "lua", "--force", "-e", "app.mcp.mine.echo{}"]);
    assert!(stderr(&denied).contains("write access denied."), "{}", stderr(&denied));
}
