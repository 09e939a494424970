//! The list of models, the choice of one, prices, and updates of the catalogue.

use crate::{
    home::{Home, stderr, stdout},
    model_server::ModelServer,
};
use serde_json::{Value, json};

/// An answer with a text and its token counts.
fn answer(text: &str, input: u64, cached: u64, output: u64) -> String {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }] });
    let usage = json!({ "choices": [], "usage": {
        "prompt_tokens": input, "completion_tokens": output, "prompt_tokens_details": { "cached_tokens": cached },
    }});
    format!("data: {delta}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

fn list(ids: &[&str]) -> String {
    let models: Vec<_> = ids.iter().map(|id| json!({ "id": id })).collect();
    json!({ "object": "list", "data": models }).to_string()
}

#[test]
fn a_custom_base_url_lists_its_models_and_serves_a_prompt() {
    let server = ModelServer::listing(list(&["house-7b", "other"]), vec![answer("hi", 1, 0, 1)]);
    let home = Home::new();
    home.settings("providers.local.discover = false");
    let listed = home.tiller(&["models"]).env("OPENAI_BASE_URL", &server.url).output().unwrap();
    assert!(stdout(&listed).starts_with("* openai/house-7b"), "{}", stdout(&listed));
    assert!(!stdout(&listed).contains("openai/gpt"), "{}", stdout(&listed));
    let printed = home.tiller(&["-p", "hello"]).env("OPENAI_BASE_URL", &server.url).output().unwrap();
    assert_eq!(stdout(&printed), "hi\n", "{}", stderr(&printed));
    let (path, body) = server.requests.recv().unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((path.as_str(), &body["model"]), ("/v1/chat/completions", &json!("house-7b")));
}

#[test]
fn a_custom_provider_lists_its_servers_models_and_reports_an_empty_list() {
    let server = ModelServer::listing(list(&["large"]), vec![String::new()]);
    let empty = ModelServer::listing(list(&[]), vec![String::new()]);
    let home = Home::new();
    home.settings(&format!(
        "[providers.custom]\nwork.base_url = '{}/v1'\nempty.base_url = '{}'\ngone.base_url = 'http://127.0.0.1:1'",
        server.url, empty.url
    ));
    let listed = home.run(&["models"]);
    assert!(stdout(&listed).starts_with("* work/large"), "{}", stdout(&listed));
    let reported = stderr(&listed);
    assert!(
        reported.contains("empty: ") && reported.contains("lists no models; load one there"),
        "{reported}"
    );
    assert!(reported.contains("gone: ") && reported.contains("--model gone/MODEL"), "{reported}");
}

#[test]
fn a_model_without_a_key_is_never_marked_as_the_default() {
    let home = Home::new();
    home.settings("agent.default_model = 'anthropic/claude-opus-5-5'");
    let listed = home.run(&["models"]);
    assert!(!stdout(&listed).contains('*'), "{}", stdout(&listed));
    assert!(stdout(&listed).contains("anthropic/claude-opus-5-5"), "{}", stdout(&listed));
    assert!(
        stderr(&listed).contains("claude-opus-5-5 has no key: run `tiller setup`"),
        "{}",
        stderr(&listed)
    );
    let listed: Value = serde_json::from_slice(&home.run(&["models", "--json"]).stdout).unwrap();
    let model = &listed["models"][0];
    assert_eq!((&model["default"], &model["usable"]), (&json!(false), &json!(false)), "{listed}");
    assert!(listed["notes"][0].as_str().unwrap().contains("has no key"), "{listed}");
}

#[test]
fn without_a_setup_the_list_of_models_names_the_next_step() {
    let home = Home::new();
    home.settings("providers.local.discover = false");
    let listed = home.run(&["models"]);
    assert!(stderr(&listed).contains("no model is set up"), "{}", stderr(&listed));
    assert!(stderr(&listed).contains("run `tiller setup`"), "{}", stderr(&listed));
}

#[test]
fn ollama_is_found_at_the_address_of_its_variable() {
    let server = ModelServer::listing(list(&["qwen3:8b"]), vec![String::new()]);
    let home = Home::new();
    home.settings("");
    let host = server.url.strip_prefix("http://").unwrap();
    let listed = home.tiller(&["models"]).env("OLLAMA_HOST", host).output().unwrap();
    assert!(stdout(&listed).contains("local/qwen3:8b"), "{}", stdout(&listed));
    let listed = home.tiller(&["models"]).env("OLLAMA_HOST", "ftp://x").output().unwrap();
    assert!(listed.status.success(), "it is another program's variable: {}", stderr(&listed));
    assert!(stderr(&listed).contains("OLLAMA_HOST takes HOST, HOST:PORT"), "{}", stderr(&listed));
}

#[test]
fn a_run_reports_its_cost_and_a_session_sums_it_over_models_and_processes() {
    let answers = vec![answer("one", 1_000_000, 500_000, 100_000), answer("two", 1_000, 0, 100)];
    let server = ModelServer::start(answers);
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'");
    let run = |args: &[&str]| -> Value {
        let output = home.tiller(args).env("OPENAI_BASE_URL", &server.url).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // Prices of a long prompt, in dollars per million tokens: 8 for input, 0.8 for cached input, 30
    // for
    // output.
    let first = run(&["-p", "a", "-o", "json", "-m", "openai/gpt-5.6-sol"]);
    assert_eq!(first["usage"]["cost_usd"], json!(7.4), "{first}");
    let second = run(&["-p", "b", "-o", "json", "-c", "-m", "openai/gpt-5"]);
    assert_eq!(second["usage"]["cost_usd"], json!(0.002_25), "{second}");
    let id = second["session_id"].as_str().unwrap();
    let exported = stdout(&home.run(&["sessions", "export", id]));
    // In picodollars, as stored.
    assert!(exported.contains("7402250000000"), "{exported}");
}

#[test]
fn a_run_on_a_model_of_unknown_price_reports_no_cost() {
    let server = ModelServer::start(vec![answer("one", 1_000, 0, 10)]);
    let home = Home::new();
    let run = home
        .tiller(&["-p", "a", "-o", "json", "-m", "openai/house"])
        .env("OPENAI_BASE_URL", &server.url)
        .output();
    let result: Value = serde_json::from_slice(&run.unwrap().stdout).unwrap();
    assert_eq!(result["usage"], json!({ "tokens_in": 1_000, "tokens_out": 10, "cost_usd": null }));
}

#[test]
fn a_catalogue_is_updated_from_a_file_and_an_invalid_one_is_reported() {
    let home = Home::new();
    let api = json!({ "openai": { "models": { "gpt-5": {
        "id": "gpt-5", "name": "Five", "tool_call": true, "release_date": "2025-08-07",
        "limit": { "context": 1000, "output": 100 }, "modalities": { "input": ["text"], "output": ["text"] },
        "cost": { "input": 77.0, "output": 1.0 },
    } } } });
    home.write("api.json", &api.to_string());
    let built_in = stdout(&home.run(&["models"]));
    assert!(built_in.contains("(built in); `tiller models refresh` gets newer ones"), "{built_in}");

    let got = home.run(&["models", "refresh", "--from", "api.json"]);
    assert!(stdout(&got).starts_with("1 models, catalogue of 20"), "{} {}", stdout(&got), stderr(&got));
    let listed = home.tiller(&["models", "--json"]).env("OPENAI_API_KEY", "k").output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let models = listed["models"].as_array().unwrap();
    let five = models.iter().find(|model| model["id"] == "openai/gpt-5").unwrap();
    assert_eq!(five["input_price"], json!(77.0), "{listed}");
    assert_eq!(listed["catalogue"]["source"], home.file("api.json"));

    home.write("api.json", "<html>");
    let refused = home.run(&["models", "refresh", "--from", "api.json"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("the catalogue is unchanged"), "{}", stderr(&refused));

    std::fs::write(home.path().join("home/.cache/tiller/models.json"), "{").unwrap();
    let listed = home.run(&["models"]);
    assert!(stdout(&listed).contains("(built in)"), "{}", stdout(&listed));
    assert!(stderr(&listed).contains("models.json is not a catalogue"), "{}", stderr(&listed));
}
