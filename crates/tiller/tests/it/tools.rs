//! The list of tools that a model gets, and commands that run in the background.

use crate::{
    agent::Agent,
    editor::Editor,
    home::Home,
    mcp::{last_result, stage},
    model_server::ModelServer,
};
use serde_json::{Value, json};

/// Allows every command of the session without a permission request.
fn prometheus(home: &Home, model: &ModelServer) {
    home.settings(&format!(
        "[agent]\ndefault_model = 'openai/test'\n[providers.local]\ndiscover = false\n[providers.openai]\nwire = 'chat'\nbase_url = '{}'\n\
         [tools]\ndefault_permission_mode = 'prometheus'\n",
        model.url
    ));
}

fn start(home: &Home) -> (Agent, String) {
    let mut agent = Agent::start_with(home, &[], &[("OPENAI_API_KEY", "key")]);
    agent.initialize(json!({ "elicitation": { "form": {} } }));
    let session = agent.new_session(home);
    (agent, session)
}

/// The limit in tokens, at four bytes each; real tokenisers need fewer tokens for such text.
const TOKENS: usize = 3_500;

#[test]
fn a_session_without_servers_lists_at_most_sixteen_tools_in_ten_kilobytes() {
    let (home, model) = stage(&[], 1);
    let (mut agent, session) = start(&home);
    agent.prompt(&session, "hello", &mut Editor::default()).unwrap();
    let (_, body) = model.requests.recv().unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    let tools = body["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert!(names.len() <= 16, "{names:?}");
    for name in [
        "bash",
        "shell",
        "grep",
        "update_plan",
        "update_goal",
        "memory_save",
        "memory_search",
        "ask_user",
        "execute_lua",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let bytes = body["tools"].to_string().len();
    assert!(bytes <= 10 * 1024, "{bytes} bytes of tools");
    let system = body["messages"][0]["content"].to_string().len();
    assert!((system + bytes) / 4 <= TOKENS, "{system} + {bytes} bytes");
}

/// Whether a process runs whose command line ends with these words.
#[cfg(target_os = "linux")]
fn runs(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim_end().ends_with(words))
}

#[test]
#[cfg(target_os = "linux")]
fn a_background_command_is_listed_read_and_stopped_and_ends_with_the_session() {
    let asks = r#"{"command":"while read -r x; do echo got $x; done","background":true,"wait_ms":100}"#;
    // A duration that no other process sleeps for.
    let words = format!("sleep 86423.{}", std::process::id());
    let sleeps = format!(r#"{{"command":"exec {words}","background":true,"wait_ms":100}}"#);
    let calls = [
        ("bash", asks),
        ("shell", r#"{"action":"input","id":"sh_1","text":"hello","wait_ms":20000}"#),
        ("shell_kill", r#"{"session_id":"sh_1"}"#),
        ("bash", sleeps.as_str()),
        ("shell", r#"{"action":"list"}"#),
    ];
    let (home, model) = stage(&calls, 1);
    prometheus(&home, &model);
    let (mut agent, session) = start(&home);
    assert_eq!(agent.prompt(&session, "go", &mut Editor::default()).unwrap(), "end_turn");
    let results: Vec<_> =
        model.requests.iter().take(6).skip(1).map(|request| last_result(&request)).collect();
    for (result, expected) in results.iter().zip([
        "Runs in the background as sh_1.",
        r"got hello\n(sh_1 is running)",
        "(sh_1) Stopped",
        "Runs in the background as sh_2.",
        "sh_2 runs for",
    ]) {
        assert!(result.contains(expected), "{expected}: {results:?}");
    }
    assert!(runs(&words), "it outlives the turn");
    let (status, _) = agent.hang_up();
    assert!(status.success() && !runs(&words), "it ends with the session");
}

#[test]
fn bash_syntax_works_if_bash_is_installed() {
    let line =
        "[[ a == a ]] && set -o pipefail && diff <(echo x) <(echo x) && ! { false | true; } && echo works";
    let call = json!({ "command": line }).to_string();
    let (home, model) = stage(&[("bash", call.as_str())], 1);
    prometheus(&home, &model);
    let (mut agent, session) = start(&home);
    agent.prompt(&session, "go", &mut Editor::default()).unwrap();
    let result = last_result(&model.requests.iter().nth(1).unwrap());
    assert!(result.contains(r"works\nExit code: 0"), "{result}");
}
