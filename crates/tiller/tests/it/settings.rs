//! Settings apply in their own directory, and from the moment they are changed, by any program.

use crate::{
    agent::Agent,
    home::{Home, stderr, stdout},
    mcp,
    model_server::ModelServer,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const DENIED: &str = "is denied by the setting tools.denied_tools";

/// An agent with its user, who gives the same answer to each permission request and counts them.
struct User {
    agent: Agent,
    answer: &'static str,
    questions: usize,
    updates: Vec<Value>,
}

impl User {
    fn of(mut agent: Agent) -> Self {
        let capabilities = json!({ "session": { "notices": {} } });
        agent.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": capabilities })).unwrap();
        Self { agent, answer: "allow_once", questions: 0, updates: Vec::new() }
    }

    /// Opens a session in a directory.
    fn open(&mut self, directory: &Path) -> String {
        let params = json!({ "cwd": directory, "mcpServers": [] });
        self.ask("session/new", params).unwrap()["sessionId"].as_str().unwrap().to_owned()
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.agent.post(method, params);
        self.answer_to(id)
    }

    fn answer_to(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let message = self.agent.receive().expect("an answer, not the end");
            match message["method"].as_str() {
                Some("session/request_permission") => {
                    self.questions += 1;
                    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": self.answer } });
                    self.agent.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome }));
                }
                Some("session/update") => self.updates.push(message["params"]["update"].clone()),
                // Events of the native layer.
                Some(_) => {}
                None if message["id"] == id => {
                    return match message.get("error") {
                        Some(error) => Err(error.clone()),
                        None => Ok(message["result"].clone()),
                    };
                }
                None => {}
            }
        }
    }

    /// Runs a whole turn; returns the updates as text and the number of permission requests.
    fn turn(&mut self, session: &str, text: &str) -> (String, usize) {
        let (shown, asked) = (self.updates.len(), self.questions);
        let prompt = json!([{ "type": "text", "text": text }]);
        self.ask("session/prompt", json!({ "sessionId": session, "prompt": prompt })).unwrap();
        (Value::from(self.updates[shown..].to_vec()).to_string(), self.questions - asked)
    }

    fn native(&mut self, session: &str, method: &str, mut params: Value) -> Value {
        params["sessionId"] = json!(session);
        self.ask(&format!("_tiller/{method}"), params).unwrap()
    }

    /// The titles and descriptions of all notices so far.
    fn notices(&self) -> String {
        let notices = self.updates.iter().filter(|update| update["sessionUpdate"] == "notice");
        notices.map(|notice| format!("{notice}\n")).collect()
    }
}

/// Creates another project beside the home's own.
fn project(home: &Home, name: &str, settings: &str) -> PathBuf {
    let directory = home.path().join(name);
    std::fs::create_dir_all(directory.join(".tiller")).unwrap();
    std::fs::write(directory.join(".tiller/config.toml"), settings).unwrap();
    std::fs::write(directory.join("a.txt"), "one\n").unwrap();
    directory
}

#[test]
fn two_sessions_of_one_process_use_their_own_projects_settings() {
    let home = Home::new();
    home.write(".tiller/config.toml", "[tools]\ndenied_tools = ['bash']\n");
    home.write("a.txt", "one\n");
    let other = project(&home, "other", "[tools]\ndenied_tools = ['file_read']\n");
    let mut user = User::of(Agent::start(&home, &[]));
    let here = user.open(&home.project());
    let there = user.open(&other);
    for _ in 0..2 {
        let (shown, _) = user.turn(&here, "run ls");
        assert!(shown.contains("Tool 'bash' is denied"), "{shown}");
        let (shown, _) = user.turn(&there, "run ls");
        assert!(!shown.contains(DENIED) && shown.contains("a.txt"), "{shown}");
        let (shown, _) = user.turn(&here, "show a.txt");
        assert!(!shown.contains(DENIED) && shown.contains("one"), "{shown}");
        let (shown, _) = user.turn(&there, "show a.txt");
        assert!(shown.contains("Tool 'file_read' is denied"), "{shown}");
    }
    // A project may tighten the modes of its own sessions only.
    std::fs::write(other.join(".tiller/config.toml"), "[agent]\nmode = 'ask'\n").unwrap();
    let modes: Vec<_> = [&other, &home.project()]
        .map(|directory| {
            let new = user.ask("session/new", json!({ "cwd": directory, "mcpServers": [] })).unwrap();
            new["modes"]["currentModeId"].as_str().unwrap().to_owned()
        })
        .to_vec();
    assert_eq!(modes, ["ask", "edit"]);
}

#[test]
fn a_session_uses_its_own_projects_provider_settings() {
    let home = Home::new();
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Done.\"},\"finish_reason\":\"stop\"}]}\n\n";
    let [users, starts, others] = [1, 1, 2].map(|answers| ModelServer::start(vec![text.to_owned(); answers]));
    let provider =
        |url: &str| format!("providers.openai.wire = 'chat'\nproviders.openai.base_url = '{url}'\n");
    home.settings(&format!("agent.default_model = 'openai/test'\n{}", provider(&users.url)));
    home.write(".tiller/config.toml", &provider(&starts.url));
    let other = project(&home, "other", &provider(&others.url));
    let plain = project(&home, "plain", "");
    for directory in [home.project(), other.clone()] {
        assert!(home.run(&["trust", "--yes", directory.to_str().unwrap()]).status.success());
    }
    let mut user = User::of(Agent::start_with(&home, &[], &[("OPENAI_API_KEY", "key")]));
    for directory in [&home.project(), &other, &plain] {
        let session = user.open(directory);
        user.turn(&session, "hello");
    }
    for server in [&users, &starts, &others] {
        assert!(server.requests.recv().unwrap().1.contains("hello"), "each got its own session's prompt");
    }
    // A changed project file cannot redirect a running session; the user's own file can.
    let session = user.open(&other);
    user.turn(&session, "again");
    assert!(others.requests.recv().unwrap().1.contains("again"));
    let moved = ModelServer::start(vec![text.to_owned(); 2]);
    std::fs::write(other.join(".tiller/config.toml"), provider(&moved.url)).unwrap();
    home.settings(&format!("agent.default_model = 'openai/test'\n{}", provider(&moved.url)));
    user.turn(&session, "moved");
    assert!(moved.requests.recv().unwrap().1.contains("moved"), "as the user's own file says now");
}

#[test]
fn a_project_with_invalid_settings_is_refused_and_other_sessions_continue() {
    let home = Home::new();
    let broken = project(&home, "broken", "[tools]\ndenied_tool = ['bash']\n");
    let mut user = User::of(Agent::start(&home, &[]));
    let here = user.open(&home.project());
    let error = user.ask("session/new", json!({ "cwd": broken, "mcpServers": [] })).unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("config.toml:2: unknown setting \"tools.denied_tool\""), "{message}");
    assert_eq!(user.turn(&here, "run true").1, 0);
}

#[test]
fn a_setting_of_the_native_layer_applies_at_the_next_decision_and_is_reported() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let mut user = User::of(Agent::start(&home, &[]));
    let session = user.open(&home.project());
    let other = user.open(&home.project());
    assert_eq!(user.turn(&session, "append 'x' to a.txt").1, 0);
    let set = |path: &str, value: Value, scope: &str| json!({ "path": path, "value": value, "scope": scope });
    let mode = "kosmokrator.tools.default_permission_mode";
    user.native(&session, "settings/set", set(mode, json!("argus"), "global"));
    assert_eq!(user.turn(&session, "append 'x' to a.txt").1, 1, "it is asked now");
    assert_eq!(user.turn(&other, "append 'x' to a.txt").1, 1, "in every session");
    let reported = Value::from(user.updates.clone()).to_string();
    assert!(reported.contains("\"argus\"") && reported.contains("config_option_update"), "{reported}");
    assert!(user.notices().contains("tools.default_permission_mode"), "{}", user.notices());
    // A mode that was chosen for a session takes precedence.
    user.native(&session, "runtime/set", json!({ "permissionMode": "argus" }));
    user.native(&session, "settings/set", set(mode, json!("guardian"), "global"));
    assert_eq!(user.turn(&session, "append 'x' to a.txt").1, 1);
    assert_eq!(user.turn(&other, "append 'x' to a.txt").1, 0);
    // This wire sends a list as text; here for the project only.
    user.native(&session, "settings/set", set("tiller.tools.denied_tools", json!("[\"bash\"]"), "project"));
    for session in [&session, &other] {
        assert!(user.turn(session, "run ls").0.contains(DENIED));
    }
    // A setting that was made through the program can be removed through it.
    user.native(&session, "settings/set", set("tiller.tools.denied_tools", json!("[]"), "project"));
    assert!(!user.turn(&session, "run ls").0.contains(DENIED));
    assert!(user.agent.hang_up().0.success());
}

#[test]
fn the_model_calls_a_server_that_was_added_with_its_reads_allowed_without_a_question() {
    let (home, _server) = mcp::stage(&[("mcp__added__look", "{}"), ("mcp__late__look", "{}")], 4);
    let mut user = User::of(Agent::start_with(&home, &[], &[("OPENAI_API_KEY", "key")]));
    let session = user.open(&home.project());
    // The sandbox shows the project's server what is in the project.
    home.write("server.sh", &std::fs::read_to_string(home.path().join("server.sh")).unwrap());
    for (name, scope) in [("added", "global"), ("late", "project")] {
        let add = json!({
            "scope": scope, "name": name, "command": "/bin/sh",
            "args": [home.project().join("server.sh"), "ok"], "env": {}, "trust": true,
            "permissions": { "read": "allow", "write": "ask" },
        });
        user.native(&session, "mcp/add_stdio_server", add);
    }
    let (shown, questions) = user.turn(&session, "look");
    assert_eq!(questions, 0, "{shown}");
    assert_eq!(shown.matches("\"status\":\"completed\"").count(), 2, "{shown}");
}

#[test]
fn a_script_in_an_open_session_sees_an_integration_that_another_session_has_configured() {
    let code = "local ok, page = pcall(docs.read, 'integrations.plane') return ok and page";
    let call = |at: usize| {
        let arguments = json!({ "code": code }).to_string();
        let function = json!({ "name": "execute_lua", "arguments": arguments });
        let call = json!({ "index": 0, "id": format!("c{at}"), "type": "function", "function": function });
        let chunk = |delta: Value, end: Value| {
            let choices = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] });
            format!("data: {choices}\n\n")
        };
        chunk(json!({ "tool_calls": [call] }), Value::Null) + &chunk(json!({}), json!("tool_calls"))
    };
    let text = || {
        let choices =
            json!({ "choices": [{ "index": 0, "delta": { "content": "Done." }, "finish_reason": "stop" }] });
        format!("data: {choices}\n\n")
    };
    let model = ModelServer::start(vec![call(0), text(), call(1), text()]);
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'\n");
    let variables = [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", model.url.as_str())];
    let mut user = User::of(Agent::start_with(&home, &["-m", "openai/test"], &variables));
    let session = user.open(&home.project());
    user.turn(&session, "go");
    let configure = json!({
        "integration": "plane", "account": "default", "scope": "global", "enabled": true,
        "credentials": { "api_key": "canary-3f0a", "workspace_slug": "acme" },
        "permissions": { "read": "allow", "write": "ask" },
    });
    let elsewhere = user.open(&project(&home, "other", ""));
    assert_eq!(user.native(&elsewhere, "integrations/configure", configure)["enabled"], true);
    user.turn(&session, "go");
    let last = model.requests.iter().nth(3).unwrap().1;
    let last: Value = serde_json::from_str(&last).unwrap();
    let results = last["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let results: Vec<_> = results.map(|message| message["content"].as_str().unwrap().to_owned()).collect();
    assert!(
        results[0].contains("not found") && results[1].contains("app.integrations.plane."),
        "{results:?}"
    );
}

#[test]
fn settings_of_the_command_line_reach_a_running_agent() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let mut user = User::of(Agent::start(&home, &[]));
    let session = user.open(&home.project());
    assert!(!user.turn(&session, "run ls").0.contains(DENIED));
    let run = |args: &[&str]| {
        let output = home.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    };
    let report = run(&["config", "set", "tools.denied_tools", "[\"bash\"]"]);
    assert!(report.starts_with("tools.denied_tools = [\"bash\"] is in /"), "{report}");
    assert!(user.turn(&session, "run ls").0.contains(DENIED));
    assert!(user.notices().contains("tools.denied_tools"), "it is told: {}", user.notices());
    let listed: Value = serde_json::from_str(&run(&["config", "list", "--json"])).unwrap();
    let row = listed["settings"].as_array().unwrap().iter().find(|row| row["key"] == "tools.denied_tools");
    assert_eq!(row.unwrap()["value"], json!(["bash"]));
    assert!(
        run(&["config", "get", "tools.denied_tools"]).starts_with("tools.denied_tools = [\"bash\"]  (user /")
    );
    assert!(run(&["config", "unset", "tools.denied_tools"]).contains("is not in"));
    assert!(!user.turn(&session, "run ls").0.contains(DENIED), "the user's own file loosens too");
    // The native layer writes the same text.
    run(&["config", "set", "tools.default_permission_mode", "argus"]);
    let file = home.path().join("home/.config/tiller/config.toml");
    let by_line = std::fs::read_to_string(&file).unwrap();
    run(&["config", "unset", "tools.default_permission_mode"]);
    let path = "kosmokrator.tools.default_permission_mode";
    let set = json!({ "path": path, "value": "argus", "scope": "global" });
    user.native(&session, "settings/set", set);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), by_line);
    assert_eq!(user.turn(&session, "append 'x' to a.txt").1, 1);
    let wrong = home.run(&["config", "set", "tools.denied_tool", "x"]);
    assert!(!wrong.status.success() && stderr(&wrong).contains("did you mean"), "{}", stderr(&wrong));
}

#[test]
fn a_changed_project_file_tightens_at_once_and_loosens_nothing() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    home.write(".tiller/config.toml", "[tools]\ndenied_tools = ['file_read']\n");
    let mut user = User::of(Agent::start(&home, &[]));
    let session = user.open(&home.project());
    assert!(user.turn(&session, "show a.txt").0.contains(DENIED));
    home.write(
        ".tiller/config.toml",
        "[tools]\ndenied_tools = ['bash']\n[permissions]\nallow = ['bash(git push*)']\n",
    );
    assert!(user.turn(&session, "run ls").0.contains(DENIED), "tighter at once");
    assert!(user.turn(&session, "show a.txt").0.contains(DENIED), "what was forbidden stays forbidden");
    assert!(user.notices().contains("this session keeps its restrictions"), "{}", user.notices());
    std::fs::remove_dir_all(home.project().join(".tiller")).unwrap();
    for line in ["run ls", "show a.txt"] {
        assert!(user.turn(&session, line).0.contains(DENIED), "{line}");
    }
    let fresh = user.open(&home.project());
    assert!(!user.turn(&fresh, "run ls").0.contains(DENIED), "a new session begins with the file as it is");
    // An allow rule needs trust, and applies from then on.
    home.write(".tiller/config.toml", "[permissions]\nallow = ['bash(git push*)']\n");
    assert_eq!(user.turn(&fresh, "run git push ./r").1, 1);
    assert!(home.run(&["trust", "--yes"]).status.success());
    assert_eq!(user.turn(&fresh, "run git push ./r").1, 0);
    home.write(".tiller/config.toml", "[permissions]\nallow = ['bash(git push*)', 'bash(npm publish*)']\n");
    assert_eq!(user.turn(&fresh, "run git push ./r").1, 1, "it is not what was trusted");
}

#[test]
fn settings_that_become_invalid_keep_the_previous_ones_and_are_reported() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    home.write(".tiller/config.toml", "[tools]\ndenied_tools = ['file_read']\n");
    let mut user = User::of(Agent::start(&home, &[]));
    let session = user.open(&home.project());
    assert!(user.turn(&session, "show a.txt").0.contains(DENIED));
    home.write(".tiller/config.toml", "[tools\n");
    assert!(user.turn(&session, "show a.txt").0.contains(DENIED));
    assert!(user.notices().contains("config.toml:1"), "{}", user.notices());
    // An invalid project file does not prevent the user's own file from tightening.
    home.settings("[agent]\ndefault_model = 'offline/pilot'\n[tools]\ndenied_tools = ['bash']\n");
    assert!(user.turn(&session, "run ls").0.contains(DENIED));
    home.settings("tools = 3\n");
    for line in ["run ls", "show a.txt"] {
        assert!(user.turn(&session, line).0.contains(DENIED), "{line}");
    }
}

#[test]
fn a_trusted_hook_removed_from_the_file_still_guards_the_session() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    home.write("guard.sh", "echo '{\"decision\":\"deny\",\"reason\":\"guarded\"}'\n");
    let hook = "[hooks.guard]\non = 'before_tool'\ntools = ['file_edit', 'file_write']\ncommand = ['sh', 'guard.sh']\n";
    home.write(".tiller/config.toml", hook);
    let mut user = User::of(Agent::start(&home, &[]));
    let session = user.open(&home.project());
    let guarded = |user: &mut User| user.turn(&session, "append 'x' to a.txt").0.contains("guarded");
    assert!(!guarded(&mut user), "it waits for trust");
    assert!(home.run(&["trust", "--yes"]).status.success());
    assert!(guarded(&mut user), "trust counts at once");
    home.write(".tiller/config.toml", &hook.replace("'sh'", "'true'"));
    assert!(guarded(&mut user), "another command is not trusted, and the trusted one goes on");
    home.write(".tiller/config.toml", "");
    assert!(guarded(&mut user));
    assert!(home.run(&["trust", "--revoke"]).status.success());
    assert!(!guarded(&mut user), "its user takes it back");
}
