//! Fetching and searching in the real program: models, scripts and the command line, against a
//! server on loopback.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
    mcp::{last_result, stage},
    model_server::ModelServer,
    web::{Request, Response, Web},
};
use serde_json::{Value, json};
use std::{io::Write, process::Stdio};

const KEY: &str = "canary-2f6e81d0-key";

/// Answers as a site, as SearXNG and as Brave.
fn answer(request: &Request, own: &str) -> Response {
    let typed = |kind: &str| vec![("content-type", kind.to_owned())];
    let results =
        |text: &str| json!([{ "title": "Guide", "url": format!("{own}/guide"), text: "How it works." }]);
    match request.path.split('?').next().unwrap_or_default() {
        "/search" => (200, typed("application/json"), json!({ "results": results("content") }).to_string()),
        "/web/search" => {
            let body = json!({ "web": { "results": results("description") } });
            (200, typed("application/json"), body.to_string())
        }
        "/away" => (302, vec![("location", "https://elsewhere.example/".to_owned())], String::new()),
        path => (200, typed("text/plain"), format!("The page {path}.\nSecond line.\n")),
    }
}

/// The URL of a path of the server, by the name of this machine.
fn url(site: &Web, path: &str) -> String {
    format!("http://localhost:{}{path}", site.address.port())
}

fn settings(home: &Home, model: &ModelServer, more: &str) {
    home.settings(&format!(
        "[agent]\ndefault_model = 'openai/test'\n[providers.local]\ndiscover = false\n[providers.openai]\nwire = 'chat'\nbase_url = '{}'\n\
         [web]\nlocal_hosts = ['localhost']\n{more}",
        model.url
    ));
}

fn paths(site: &Web) -> Vec<String> {
    site.requests().into_iter().map(|request| request.path).collect()
}

#[test]
fn a_fetch_asks_once_for_its_host_and_searches_do_not_ask() {
    let site = Web::start(answer);
    let (a, b) =
        (json!({ "url": url(&site, "/a") }).to_string(), json!({ "url": url(&site, "/b") }).to_string());
    let calls = [("web_fetch", a.as_str()), ("web_fetch", b.as_str()), ("web_search", r#"{"query":"how"}"#)];
    let (home, model) = stage(&calls, 1);
    settings(&home, &model, &format!("[web.search]\nprovider = 'searxng'\nurl = '{}'\n", site.url("")));
    let mut agent = Agent::start_with(&home, &[], &[("OPENAI_API_KEY", "key")]);
    agent.initialize(json!({}));
    let session = agent.new_session(&home);
    let mut editor = Editor { answer: Some("allow_always"), ..Editor::default() };
    assert_eq!(agent.prompt(&session, "go", &mut editor).unwrap(), "end_turn");
    assert_eq!(editor.verbs(), ["permission"]);
    let results: Vec<_> =
        model.requests.iter().take(4).skip(1).map(|request| last_result(&request)).collect();
    for (result, expected) in results.iter().zip(["The page /a.", "The page /b.", "How it works."]) {
        assert!(result.contains(expected) && result.contains("It is material"), "{expected}: {result}");
    }
    assert_eq!(paths(&site), ["/a", "/b", "/search?q=how&format=json"]);
}

#[test]
fn a_denied_fetch_of_a_headless_run_names_the_setting() {
    let site = Web::start(answer);
    let arguments = json!({ "url": url(&site, "/a") }).to_string();
    let (home, model) = stage(&[("web_fetch", arguments.as_str())], 1);
    settings(&home, &model, "");
    let output = home.tiller(&["-p", "go"]).env("OPENAI_API_KEY", "key").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "each call was denied: {}", stderr(&output));
    let (_, first) = model.requests.recv().unwrap();
    assert!(first.contains(r#""name":"web_fetch""#) && !first.contains("web_search"), "{first}");
    let result = last_result(&model.requests.recv().unwrap());
    assert!(result.contains("--allow 'web_fetch(domain:localhost)'"), "{result}");
    assert!(site.requests().is_empty());
}

#[test]
fn a_script_fetches_from_an_allowed_host_and_no_other() {
    let site = Web::start(answer);
    let code = format!(
        "local page = app.tools.web_fetch{{url = '{}', offset = 2}}\nlocal found = app.tools.web_search{{query = 'how'}}\n\
         local ok, why = pcall(app.tools.web_fetch, {{url = 'https://docs.rs/'}})\nreturn page .. found .. tostring(why)",
        url(&site, "/a")
    );
    let arguments = json!({ "code": code }).to_string();
    let (home, model) = stage(&[("execute_lua", arguments.as_str())], 1);
    let search = format!("[web.search]\nprovider = 'searxng'\nurl = '{}'\n", site.url(""));
    settings(&home, &model, &format!("{search}[permissions]\nallow = ['web_fetch(domain:localhost)']\n"));
    let mut agent = Agent::start_with(&home, &[], &[("OPENAI_API_KEY", "key")]);
    agent.initialize(json!({}));
    let session = agent.new_session(&home);
    let mut editor = Editor { answer: Some("allow_once"), ..Editor::default() };
    agent.prompt(&session, "go", &mut editor).unwrap();
    assert_eq!(editor.verbs(), ["permission"], "for the script itself");
    let result = last_result(&model.requests.iter().nth(1).unwrap());
    for part in ["Second line.", "How it works.", "Native tool 'web_fetch' requires approval"] {
        assert!(result.contains(part), "{part}: {result}");
    }
}

fn json_of(home: &Home, args: &[&str]) -> (Option<i32>, Value) {
    let output = home.run(args);
    let text = stdout(&output);
    (
        output.status.code(),
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {}", stderr(&output))),
    )
}

#[test]
fn the_command_line_fetches_and_says_what_it_did_not_fetch() {
    let site = Web::start(answer);
    let home = Home::new();
    home.settings("[web]\nlocal_hosts = ['localhost']\n");
    let output = home.run(&["web", "fetch", &url(&site, "/a")]);
    assert_eq!(stdout(&output), "The page /a.\nSecond line.\n", "{}", stderr(&output));
    let (code, page) = json_of(&home, &["web:fetch", &url(&site, "/a"), "--json"]);
    assert_eq!((code, &page["success"], &page["media_type"]), (Some(0), &json!(true), &json!("text/plain")));
    assert_eq!(page["text"], "The page /a.\nSecond line.\n");
    for (address, code, says) in [
        (
            url(&site, "/away"),
            1,
            "redirects to another server, which was not contacted: https://elsewhere.example/",
        ),
        (site.url("/a"), 1, "web.local_hosts"),
        ("ftp://x.example/".to_owned(), 1, "must begin with http"),
    ] {
        let output = home.run(&["web", "fetch", &address]);
        assert_eq!(output.status.code(), Some(code), "{address}");
        assert!(stderr(&output).contains(says), "{address}: {}", stderr(&output));
    }
    home.settings("[permissions]\ndeny = ['web_fetch(domain:evil.example)', 'web_search']\n");
    for args in [&["web", "fetch", "https://a.evil.example/"][..], &["web", "search", "x"]] {
        let output = home.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains("The setting permissions.deny has"), "{}", stderr(&output));
    }
}

#[test]
fn a_search_provider_is_configured_checked_and_asked() {
    let site = Web::start(answer);
    let home = Home::new();
    let (code, status) = json_of(&home, &["web", "status", "--json"]);
    assert_eq!((code, &status["search"]["ready"]), (Some(0), &json!(false)));
    let output = home.run(&["web", "search", "how"]);
    assert!(stderr(&output).contains("No search provider is configured."), "{}", stderr(&output));
    // A provider without its key is an issue.
    assert!(home.run(&["web", "configure", "brave", "--url", &site.url("")]).status.success());
    let (code, status) = json_of(&home, &["web", "doctor", "--json"]);
    assert_eq!(code, Some(1));
    assert!(status["search"]["problem"].as_str().unwrap().contains("BRAVE_API_KEY"), "{status}");
    let (_, report) = json_of(&home, &["doctor", "--json"]);
    assert!(report["issues"].to_string().contains("BRAVE_API_KEY"), "{report}");
    // The key is stored, sent to the provider only, and never shown.
    let mut configure = home.tiller(&["web", "configure", "brave", "--key-stdin", "--json"]);
    let mut child = configure.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{KEY}\n").as_bytes()).unwrap();
    let configured = stdout(&child.wait_with_output().unwrap());
    assert!(configured.contains(r#""key_stored":true"#) && !configured.contains(KEY), "{configured}");
    let file = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
    assert!(file.contains("provider = \"brave\"") && !file.contains(KEY), "{file}");
    let (code, found) = json_of(&home, &["web", "search", "how", "it", "--json"]);
    assert_eq!((code, &found["query"]), (Some(0), &json!("how it")));
    let expected = json!([{ "title": "Guide", "url": site.url("/guide"), "snippet": "How it works." }]);
    assert_eq!(found["results"], expected);
    let asked = site.requests().pop().unwrap();
    assert_eq!(asked.header("x-subscription-token"), Some(KEY));
    let (_, report) = json_of(&home, &["doctor", "--json"]);
    assert_eq!(report["web"]["search"], json!({ "provider": "brave", "ready": true, "problem": null }));
    // A variable takes precedence over the stored key, which can be removed.
    let output = home.tiller(&["web", "search", "x"]).env("BRAVE_API_KEY", "another-key").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(site.requests().pop().unwrap().header("x-subscription-token"), Some("another-key"));
    assert!(home.run(&["web", "configure", "brave", "--forget-key"]).status.success());
    assert_eq!(json_of(&home, &["web", "doctor", "--json"]).0, Some(1));
    let refused = home.run(&["web", "configure", "searxng", "--forget-key"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(home.run(&["web", "configure", "off"]).status.success());
    assert_eq!(json_of(&home, &["web", "doctor", "--json"]).0, Some(0));
}

#[test]
fn a_project_chooses_neither_local_hosts_nor_the_search_provider() {
    let site = Web::start(answer);
    let home = Home::new();
    std::fs::create_dir_all(home.project().join(".tiller")).unwrap();
    home.write(
        ".tiller/config.toml",
        &format!(
            "[web]\nlocal_hosts = ['localhost']\n[web.search]\nprovider = 'searxng'\nurl = '{}'\n",
            site.url("")
        ),
    );
    for args in [&["web", "fetch", &url(&site, "/a")][..], &["web", "search", "how"]] {
        assert_eq!(home.run(args).status.code(), Some(1), "{args:?}");
    }
    assert!(site.requests().is_empty());
}
