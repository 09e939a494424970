//! `tiller providers` and `tiller auth`: how providers are set up, asked and left again.

use crate::{
    home::{Home, stderr, stdout},
    web::Web,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::Stdio,
};

const KEY: &str = "canary-key-of-a-vendor";

/// A server with two models, which knows one key.
fn server() -> Web {
    Web::start(|request, _| match request.header("authorization") {
        Some(key) if key == format!("Bearer {KEY}") => {
            (200, Vec::new(), json!({ "data": [{ "id": "large" }, { "id": "small" }] }).to_string())
        }
        _ => (401, Vec::new(), json!({ "error": { "message": "wrong key" } }).to_string()),
    })
}

/// Runs a command with a key on stdin; returns whether it succeeded, and its JSON.
fn run(home: &Home, args: &[&str], key: &str) -> (bool, Value) {
    let mut command = home.tiller(&[args, &["--json"]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(!stdout(&output).contains(KEY), "{}", stdout(&output));
    (output.status.success(), serde_json::from_slice(&output.stdout).unwrap())
}

fn row<'a>(json: &'a Value, name: &str) -> &'a Value {
    json["providers"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn a_provider_is_configured_asked_and_logged_out() {
    let (home, server) = (Home::new(), server());
    let configure = ["providers", "configure", "work", "--base-url", &server.url("/v1"), "--api-key-stdin"];
    let (_, trial) = run(&home, &[&configure[..], &["--dry-run"]].concat(), KEY);
    assert_eq!((&trial["configured"], &trial["has_api_key"]), (&json!(false), &json!(false)), "{trial}");
    let (success, json) = run(&home, &configure, KEY);
    assert!(success, "{json}");
    assert_eq!((&json["has_api_key"], &json["key_source"]), (&json!(true), &json!("file")), "{json}");

    let (_, listed) = run(&home, &["providers", "list"], "");
    let work = row(&listed, "work");
    assert_eq!((&work["auth_status"], &work["models"]), (&json!("configured"), &json!(2)), "{work}");
    assert_eq!(row(&listed, "anthropic")["auth_status"], "missing");
    let (success, checked) = run(&home, &["providers", "doctor", "work"], "");
    assert!(success, "{checked}");
    assert_eq!(
        (&row(&checked, "work")["reachable"], &row(&checked, "work")["listed_models"]),
        (&json!(true), &json!(2))
    );
    let (_, models) = run(&home, &["models", "work"], "");
    let source = |at: usize| (models["models"][at]["id"].clone(), models["models"][at]["source"].clone());
    assert_eq!(source(0), (json!("work/large"), json!("server")), "{models}");

    let mut command = home.tiller(&["providers", "status", "work", "--json"]);
    let output = command.env("WORK_API_KEY", "another").output().unwrap();
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(row(&status, "work")["key_source"], "environment:WORK_API_KEY");

    let (_, gone) = run(&home, &["providers", "logout", "work"], "");
    assert_eq!(gone["removed"], true);
    let (success, checked) = run(&home, &["providers", "doctor", "work"], "");
    assert!(!success && row(&checked, "work")["error"].as_str().unwrap().contains("wrong key"), "{checked}");
    let (success, deleted) = run(&home, &["providers", "custom", "delete", "work"], "");
    assert!(success && deleted["removed"] == true, "{deleted}");
    assert!(!run(&home, &["providers", "custom", "delete", "work"], "").0);
    let (_, unknown) = run(&home, &["providers", "configure", "anthropc", "--api-key-stdin"], KEY);
    assert_eq!(
        (&unknown["kind"], &unknown["hint"]),
        (&json!("not_found"), &json!("did you mean \"anthropic\"?"))
    );
}

#[test]
fn uses_a_stored_key_after_a_refused_variable() {
    let answer = json!({ "choices": [{ "delta": { "content": "hello" }, "finish_reason": "stop" }] });
    let stream = format!("data: {answer}\n\ndata: [DONE]\n\n");
    let server = Web::start(move |request, _| match request.header("authorization") {
        Some(key) if key == format!("Bearer {KEY}") && request.path.ends_with("/models") => {
            (200, Vec::new(), json!({ "data": [{ "id": "large" }] }).to_string())
        }
        Some(key) if key == format!("Bearer {KEY}") => {
            (200, vec![("content-type", "text/event-stream".to_owned())], stream.clone())
        }
        _ => (401, Vec::new(), json!({ "error": { "message": "wrong key" } }).to_string()),
    });
    let home = Home::new();
    let configure = ["providers", "configure", "work", "--base-url", &server.url("/v1"), "--api-key-stdin"];
    assert!(run(&home, &configure, KEY).0);
    let with_wrong_key = |args: &[&str]| {
        let output = home.tiller(args).env("WORK_API_KEY", "another-canary-key").output().unwrap();
        assert!(!stdout(&output).contains("canary") && !stderr(&output).contains("canary"), "{output:?}");
        (output.status.success(), stdout(&output))
    };
    let (success, said) = with_wrong_key(&["-p", "hi", "-m", "work/large", "-o", "json"]);
    assert!(success && said.contains("\"hello\""), "{said}");
    let (success, checked) = with_wrong_key(&["providers", "doctor", "work", "--json"]);
    assert!(success, "{checked}");
}

#[test]
fn a_setup_is_tried_before_it_is_stored() {
    let (home, server) = (Home::empty(), server());
    let url = server.url("/v1");
    let setup = ["setup", "--provider", "work", "--base-url", &url, "--api-key-stdin", "--model"];
    let (success, json) = run(&home, &[&setup[..], &["large"]].concat(), "wrong");
    assert_eq!((success, &json["kind"]), (false, &json!("auth")), "{json}");
    let (success, json) = run(&home, &[&setup[..], &["lrge"]].concat(), KEY);
    assert_eq!((success, &json["kind"]), (false, &json!("not_found")), "{json}");
    assert!(json["hint"].as_str().unwrap().contains("work/large"), "{json}");
    assert!(!home.path().join("home/.config/tiller/config.toml").exists(), "nothing was stored");
    let (success, json) = run(&home, &[&setup[..], &["lrge", "--allow-unlisted-model"]].concat(), KEY);
    assert!(success && json["tested"] == true, "{json}");
    let (success, json) = run(&home, &[&setup[..], &["large", "--offline"]].concat(), "wrong");
    assert!(success && json["tested"] == false, "{json}");
    assert_eq!(json["next_commands"][0], "tiller -p \"say hello\"");
    let (success, json) = run(&home, &["setup", "--provider", "openai", "--device"], "");
    assert_eq!((success, &json["kind"]), (false, &json!("not_available")), "{json}");
}

/// Plays the vendor: the page is opened, the user approves, and the code is exchanged for a key.
#[test]
fn a_browser_login_stores_the_key_that_the_vendor_makes() {
    let vendor = Web::start(|request, _| {
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        match (request.path.as_str(), body["code"].as_str(), body["code_verifier"].as_str()) {
            ("/api/v1/auth/keys", Some("approved"), Some(verifier)) if verifier.len() == 43 => {
                (200, Vec::new(), json!({ "key": KEY }).to_string())
            }
            _ => (403, Vec::new(), "{}".to_owned()),
        }
    });
    let home = Home::new();
    home.settings(&format!(
        "providers.local.discover = false\nproviders.custom.openrouter.base_url = '{}'\n",
        vendor.url("/api/v1")
    ));
    let mut command = home.tiller(&["auth", "login", "openrouter", "--no-browser", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(child.stderr.take().unwrap()).lines();
    let page = shown.by_ref().map(Result::unwrap).find(|line| line.starts_with("http://")).unwrap();
    assert!(page.starts_with(&vendor.url("/auth?")) && page.contains("code_challenge_method=S256"), "{page}");
    let callback = page.split("callback_url=http%3A%2F%2Flocalhost%3A").nth(1).unwrap();
    let (port, rest) = callback.split_once("%2F").unwrap();
    let path = rest.split('&').next().unwrap();
    let mut answer = String::new();
    let mut browser = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(browser, "GET /{path}?code=approved HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    browser.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let output = child.wait_with_output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["method"], &json["store"]), (&json!("browser"), &json!("file")), "{json}");
    assert!(!stdout(&output).contains(KEY));

    let (_, status) = run(&home, &["auth", "status", "openrouter"], "");
    let account = &status["accounts"][0];
    assert_eq!((&account["state"], &account["source"]), (&json!("ready"), &json!("file")), "{status}");
    assert!(run(&home, &["auth", "logout", "openrouter"], "").0);
    let (_, status) = run(&home, &["auth", "status", "openrouter"], "");
    assert_eq!(status["accounts"][0]["state"], "not_needed", "an address of the user's own");
}

#[test]
fn a_key_is_asked_for_on_a_terminal_only() {
    let home = Home::new();
    for args in [&["auth", "login", "anthropic"][..], &["providers", "configure", "anthropic"]] {
        let (success, json) = run(&home, args, "");
        assert_eq!((success, &json["kind"]), (false, &json!("usage")), "{json}");
        assert!(json["error"].as_str().unwrap().contains("--api-key-stdin"), "{json}");
    }
    let nobody = home.run(&["auth", "login", "nobody"]);
    assert!(!nobody.status.success() && stderr(&nobody).contains("nobody"), "{}", stderr(&nobody));
}
