//! `tiller serve` with quotas: what a user of it is refused, and when.

use crate::{
    home::Home,
    model_server::ModelServer,
    team::{Client, Server, prompt, token},
};
use serde_json::{Value, json};

const TCP: [&str; 2] = ["--listen", "tcp:127.0.0.1:0"];

fn new_session(client: &mut Client, home: &Home) -> Result<String, Value> {
    let made = client.request("session/new", json!({ "cwd": home.project(), "mcpServers": [] }))?;
    Ok(made["sessionId"].as_str().unwrap().to_owned())
}

/// Returns what the audit has of refusals for quotas.
fn refusals(home: &Home) -> Vec<Value> {
    let directory = home.path().join("home/.local/share/tiller/audit");
    let files = std::fs::read_dir(directory).unwrap();
    let text: String = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["what"] == "quota_refused").collect()
}

#[test]
fn a_user_has_so_many_sessions_and_prompts_and_the_user_of_the_machine_as_many_as_wanted() {
    let home = Home::new();
    home.settings(
        "[providers.local]\ndiscover = false\n[serve.quota.user]\nopen_sessions = 1\nprompts_per_minute = 2\n",
    );
    let ada = token(&home, "ada", &[]);
    let server = Server::start(&home, &TCP);
    let mut ada = Client::connect(&home, Some((&server, &ada)));
    let session = new_session(&mut ada, &home).unwrap();
    let refused = new_session(&mut ada, &home).unwrap_err();
    assert_eq!((&refused["code"], &refused["data"]["reason"]), (&json!(-32603), &json!("quota")));
    assert_eq!(refused["data"]["quota"], "open_sessions");
    assert!(refused["message"].as_str().unwrap().contains("end one of them"), "{refused}");
    for _ in 0..2 {
        ada.request("session/prompt", prompt(&session, "help")).unwrap();
    }
    let refused = ada.request("session/prompt", prompt(&session, "help")).unwrap_err();
    assert_eq!(refused["data"]["quota"], "prompts_per_minute");
    let wait = refused["data"]["retryAfterMs"].as_u64().unwrap();
    assert!((1..=30_000).contains(&wait), "{refused}");
    // A session that is closed makes room for another.
    ada.request("session/close", json!({ "sessionId": session })).unwrap();
    new_session(&mut ada, &home).unwrap();
    drop(server);
    let refusals = refusals(&home);
    let about: Vec<_> = refusals.iter().map(|line| (&line["user"], &line["about"])).collect();
    assert_eq!(
        about,
        [(&json!("ada"), &json!("open_sessions")), (&json!("ada"), &json!("prompts_per_minute"))]
    );

    let _server = Server::start(&home, &[]);
    let mut own = Client::connect(&home, None);
    let sessions: Vec<_> = (0..2).map(|_| new_session(&mut own, &home).unwrap()).collect();
    for session in sessions.iter().cycle().take(4) {
        own.request("session/prompt", prompt(session, "help")).unwrap();
    }
}

#[test]
fn stored_contents_are_limited_also_after_a_restart() {
    let home = Home::new();
    home.settings("[providers.local]\ndiscover = false\n[serve.quota.user]\ncontents_mib = 1\n");
    home.write("a.txt", &format!("one\n{}", format!("{}\n", "m".repeat(1_900)).repeat(100)));
    let (ada, bob) = (token(&home, "ada", &[]), token(&home, "bob", &[]));
    let args = ["--yolo", TCP[0], TCP[1]];
    let server = Server::start(&home, &args);
    let mut client = Client::connect(&home, Some((&server, &ada)));
    let session = new_session(&mut client, &home).unwrap();
    // Each content has 190 kB.
    for (before, after) in [
        ("one", "two"),
        ("two", "three"),
        ("three", "four"),
        ("four", "five"),
        ("five", "six"),
        ("six", "seven"),
    ] {
        let change = format!("replace \"{before}\" with \"{after}\" in a.txt");
        client.request("session/prompt", prompt(&session, &change)).unwrap();
    }
    assert!(home.read("a.txt").unwrap().starts_with("seven\n"));
    drop((client, server));

    let server = Server::start(&home, &args);
    let mut client = Client::connect(&home, Some((&server, &ada)));
    let session = new_session(&mut client, &home).unwrap();
    let refused = client.request("session/prompt", prompt(&session, "help")).unwrap_err();
    assert_eq!((&refused["code"], &refused["data"]["quota"]), (&json!(-32603), &json!("contents_mib")));
    assert!(refused["message"].as_str().unwrap().contains("delete sessions"), "{refused}");
    let mut bob = Client::connect(&home, Some((&server, &bob)));
    let session = new_session(&mut bob, &home).unwrap();
    bob.request("session/prompt", prompt(&session, "help")).unwrap();
}

#[test]
fn tokens_of_the_day_are_counted_over_a_restart_and_for_each_user() {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": "hi" } }] });
    let used = json!({ "prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100 });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": used });
    let answer = format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n");
    let model = ModelServer::start(vec![answer.clone(), answer]);
    let home = Home::new();
    home.settings(
        "[agent]\ndefault_model = 'openai/test'\n[providers.openai]\nwire = 'chat'\n[providers.local]\n\
         discover = false\n[serve.quota.user]\ntokens_per_day = 100\n",
    );
    let (ada, bob) = (token(&home, "ada", &[]), token(&home, "bob", &[]));
    let environment = [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", model.url.as_str())];
    let server = Server::start_with(&home, &TCP, &environment);
    let mut client = Client::connect(&home, Some((&server, &ada)));
    let session = new_session(&mut client, &home).unwrap();
    client.request("session/prompt", prompt(&session, "hello")).unwrap();
    let refused = |client: &mut Client, session: &str| {
        let refused = client.request("session/prompt", prompt(session, "again")).unwrap_err();
        assert_eq!(refused["data"]["quota"], "tokens_per_day", "{refused}");
        assert!(refused["data"]["retryAfterMs"].as_u64().unwrap() <= 24 * 60 * 60 * 1000, "{refused}");
    };
    refused(&mut client, &session);
    drop((client, server));

    let server = Server::start_with(&home, &TCP, &environment);
    let mut client = Client::connect(&home, Some((&server, &ada)));
    let session = new_session(&mut client, &home).unwrap();
    refused(&mut client, &session);
    let mut bob = Client::connect(&home, Some((&server, &bob)));
    let session = new_session(&mut bob, &home).unwrap();
    bob.request("session/prompt", prompt(&session, "hello")).unwrap();
    assert_eq!(model.requests.iter().count(), 2, "nothing was asked for what was refused");
}
