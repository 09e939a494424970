//! A provider that was set up once is available in every interface, and its key appears nowhere but
//! in its store.

use crate::{
    agent::Agent,
    home::{Home, stderr, stdout},
    web::Web,
};
use serde_json::{Value, json};
use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    process::{Output, Stdio},
};

const KEY: &str = "canary-key-of-a-provider";

/// A server that answers "hello" on OpenAI's chat wire and records its requests.
fn server() -> Web {
    let event = |delta: Value, reason: Value| {
        format!(
            "data: {}\n\n",
            json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
        )
    };
    let body = event(json!({ "content": "hello" }), json!(null)) + &event(json!({}), json!("stop"));
    Web::start(move |_, _| (200, vec![("content-type", "text/event-stream".to_owned())], body.clone()))
}

fn set_up(home: &Home, args: &[&str], key: &str) -> Output {
    let mut command = home.tiller(&[&["setup"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_configured_provider_is_used_and_its_key_is_never_shown() {
    let (home, server) = (Home::new(), server());
    let args =
        ["--provider", "work", "--base-url", &server.url("/v1"), "--model", "large", "--api-key-stdin"];
    let output = set_up(&home, &args, &format!("{KEY}\n"));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("New sessions use work/large"), "{}", stdout(&output));
    let secrets = home.path().join("home/.local/share/tiller/secrets.json");
    assert_eq!(std::fs::metadata(&secrets).unwrap().permissions().mode() & 0o777, 0o600);
    let settings = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
    assert!(settings.contains("work/large") && !settings.contains(KEY), "{settings}");

    let asked = home.run(&["-p", "hi"]);
    assert_eq!(stdout(&asked).trim(), "hello", "{}", stderr(&asked));
    let request = server.requests().into_iter().find(|request| request.method == "POST").unwrap();
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    // The environment variable takes precedence over the stored key.
    let mut command = home.tiller(&["-p", "hi"]);
    assert!(command.env("WORK_API_KEY", "of-the-environment").output().unwrap().status.success());
    let last = server.requests().pop().unwrap();
    assert_eq!(last.header("authorization"), Some("Bearer of-the-environment"));
    // No output contains the key.
    let doctor = home.run(&["doctor", "--json"]);
    for printed in [&output, &asked, &doctor] {
        assert!(!(stdout(printed) + &stderr(printed)).contains(KEY));
    }

    assert_eq!(stdout(&set_up(&home, &["--provider", "openai"], "")), "Nothing was changed.\n");
    let forgotten = home.run(&["setup", "--provider", "work", "--forget", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&stdout(&forgotten)).unwrap()["forgotten"], true);
    assert!(!std::fs::read_to_string(&secrets).unwrap().contains(KEY));
}

#[test]
fn an_invalid_setup_is_reported_and_changes_nothing() {
    let home = Home::new();
    for (args, key, code, printed) in [
        (&["--provider", "openai", "--api-key-stdin"][..], "two words", 1, "neither blanks"),
        (&["--provider", "openai", "--api-key-stdin"], "", 1, "the key is empty"),
        (&["--provider", "offline", "--api-key-stdin"], "k", 1, "nothing to configure"),
        (&["--provider", "work", "--api-key-stdin"], "k", 1, "needs a base URL"),
        (&["--provider", "a/b", "--base-url", "http://x"], "", 1, "cannot be the name"),
        (&["--provider", "openai", "--base-url", "no address"], "", 1, "base_url"),
        (&["--model", "large"], "", 1, "names no provider"),
        (&[], "", 1, "--provider NAME"),
    ] {
        let before = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
        let output = set_up(&home, args, key);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(stderr(&output).contains(printed), "{args:?}: {}", stderr(&output));
        let after = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
        assert_eq!(before, after, "{args:?}");
        assert!(!home.path().join("home/.local/share/tiller/secrets.json").exists(), "{args:?}");
    }
}

#[test]
fn editors_with_a_terminal_are_offered_a_setup_in_it() {
    let home = Home::new();
    let mut agent = Agent::start(&home, &[]);
    let answer = agent.initialize(json!({ "auth": { "terminal": true } }));
    let methods = answer["authMethods"].as_array().unwrap();
    assert_eq!(methods[0]["id"], "tiller-provider");
    assert_eq!((&methods[1]["type"], &methods[1]["args"]), (&json!("terminal"), &json!(["--setup"])));
    assert!(agent.hang_up().0.success());
    let mut agent = Agent::start(&home, &[]);
    assert_eq!(agent.initialize(json!({}))["authMethods"].as_array().unwrap().len(), 1);
    assert!(agent.hang_up().0.success());
    // The editor then runs the setup dialogue, which needs a terminal.
    let output = home.run(&["acp", "--setup"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("nothing to set up"), "{}", stderr(&output));
}

#[test]
fn who_goes_on_without_a_model_is_asked_once() {
    let home = Home::empty();
    let new = json!({ "cwd": home.project(), "mcpServers": [] });
    let start = || {
        let mut agent = Agent::start(&home, &[]);
        agent.initialize(json!({ "auth": { "terminal": true } }));
        agent
    };
    let mut agent = start();
    let refused = agent.ask("session/new", new.clone()).unwrap_err();
    assert_eq!(refused["data"]["reason"], "not_configured", "{refused}");
    agent.ask("authenticate", json!({ "methodId": "tiller-pilot" })).unwrap();
    agent.ask("session/new", new.clone()).unwrap();
    agent.hang_up();
    let mut agent = start();
    agent.ask("authenticate", json!({ "methodId": "tiller-setup" })).unwrap();
    agent.ask("session/new", new).unwrap();
    agent.hang_up();
}

#[test]
fn a_program_configures_a_provider_and_uses_it_at_once() {
    let (home, server) = (Home::new(), server());
    let mut agent = Agent::start(&home, &["--events", "off"]);
    agent.initialize(json!({}));
    let session = agent.new_session(&home);
    let configure = json!({
        "sessionId": session, "scope": "global", "provider": "work", "model": "large",
        "baseUrl": server.url("/v1"), "apiKey": KEY,
    });
    let answer = agent.ask("_tiller/providers/configure", configure).unwrap();
    assert_eq!((&answer["hasApiKey"], &answer["source"]), (&json!(true), &json!("stored")));
    assert!(!answer.to_string().contains(KEY), "{answer}");
    let model = json!({ "sessionId": session, "configId": "model", "value": "work/large" });
    agent.ask("session/set_config_option", model).unwrap();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hi" }] });
    assert_eq!(agent.ask("session/prompt", prompt).unwrap()["stopReason"], "end_turn");
    let request = server.requests().into_iter().find(|request| request.method == "POST").unwrap();
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(agent.hang_up().0.success());
}
