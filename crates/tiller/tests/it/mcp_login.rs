//! Sign-in to an MCP server over HTTP. The test plays the server, its authorization server and the
//! browser.

use crate::{
    editor::Editor,
    home::{Home, stderr, stdout},
    mcp::{json_of, news, notices, open, stage, start},
    mcp_faults::over_http,
    web::{Request, Response, Web, get},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

/// The state of the authorization server.
#[derive(Default)]
struct Authority {
    /// The challenge and the redirect URI of each unused code.
    codes: HashMap<String, (String, String)>,
    /// The valid access token.
    token: String,
    refresh: String,
    granted: u32,
    /// The lifetime of tokens, in seconds.
    lasts: u64,
    registered: u32,
    /// Whether the token endpoint answers 503.
    busy: bool,
    /// The number of requests without a valid token.
    refused: u32,
    /// The status of the revocation endpoint; there is none if `None`.
    revokes: Option<u16>,
    /// The revoked tokens.
    revoked: Vec<String>,
}

type Shared = Arc<Mutex<Authority>>;

/// Parses the fields of a query or a form.
fn fields(text: &str) -> HashMap<String, String> {
    let decode = |text: &str| {
        let (mut bytes, mut rest) = (Vec::new(), text.bytes());
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let hex = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap()
                }
                byte => byte,
            });
        }
        String::from_utf8(bytes).unwrap()
    };
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

/// Computes the S256 challenge of a verifier, independently of the program's own code.
fn challenge(verifier: &str) -> String {
    let line = "printf %s \"$1\" | sha256sum | cut -c1-64";
    let hex = Command::new("sh").args(["-c", line, "sh", verifier]).output().unwrap().stdout;
    let hex = String::from_utf8(hex).unwrap();
    let digits: Vec<u32> = hex.trim().chars().map(|c| c.to_digit(16).unwrap()).collect();
    let bits: Vec<u32> =
        digits.iter().flat_map(|digit| (0..4).rev().map(move |bit| digit >> bit & 1)).collect();
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let letter = |bits: &[u32]| {
        let value = bits.iter().chain(std::iter::repeat(&0)).take(6).fold(0, |value, bit| value << 1 | bit);
        char::from(LETTERS[value as usize])
    };
    bits.chunks(6).map(letter).collect()
}

/// Serves the MCP server at `/mcp`, and its authorization server.
fn served(request: &Request, base: &str, shared: &Shared) -> Response {
    let say = |status: u16, value: Value| {
        (status, vec![("content-type", "application/json".to_owned())], value.to_string())
    };
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let mut state = shared.lock().unwrap();
    match path {
        "/mcp" => {
            let good = format!("Bearer {}", state.token);
            if !state.token.is_empty() && request.header("authorization") == Some(good.as_str()) {
                return over_http(
                    &request.body,
                    &json!([{ "name": "look", "inputSchema": { "type": "object" } }]),
                );
            }
            state.refused += 1;
            let wants = format!(
                "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\", scope=\"look\""
            );
            (401, vec![("www-authenticate", wants)], String::new())
        }
        "/.well-known/oauth-protected-resource/mcp" => {
            say(200, json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }))
        }
        "/.well-known/oauth-authorization-server" => {
            let mut about = json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"), "code_challenge_methods_supported": ["S256"],
            });
            if state.revokes.is_some() {
                about["revocation_endpoint"] = json!(format!("{base}/revoke"));
            }
            say(200, about)
        }
        "/revoke" => {
            let asked = fields(&request.body);
            assert_eq!(asked["client_id"], "client-7");
            let hint = asked["token"].split('-').next().unwrap();
            assert_eq!(asked["token_type_hint"], format!("{hint}_token"));
            match state.revokes {
                Some(200) => {
                    state.revoked.push(asked["token"].clone());
                    (200, Vec::new(), String::new())
                }
                status => say(
                    status.unwrap_or(404),
                    json!({ "error": "busy", "error_description": format!("not {}", asked["token"]) }),
                ),
            }
        }
        "/register" => {
            state.registered += 1;
            let about: Value = serde_json::from_str(&request.body).unwrap();
            assert!(about["redirect_uris"][0].as_str().unwrap().starts_with("http://127.0.0.1:"), "{about}");
            say(201, json!({ "client_id": "client-7" }))
        }
        "/authorize" => {
            let asked = fields(query);
            assert_eq!(asked["response_type"], "code");
            assert_eq!((asked["client_id"].as_str(), asked["scope"].as_str()), ("client-7", "look"));
            assert_eq!(
                (asked["code_challenge_method"].as_str(), asked["resource"].clone()),
                ("S256", format!("{base}/mcp"))
            );
            let code = format!("code-{}", state.codes.len());
            let redirect = asked["redirect_uri"].clone();
            let location = format!("{redirect}?code={code}&state={}&iss={base}", asked["state"]);
            state.codes.insert(code, (asked["code_challenge"].clone(), redirect));
            (302, vec![("location", location)], String::new())
        }
        "/token" if state.busy => say(503, json!({ "error": "temporarily_unavailable" })),
        "/token" => {
            let asked = fields(&request.body);
            assert_eq!(
                (asked["client_id"].as_str(), asked["resource"].clone()),
                ("client-7", format!("{base}/mcp"))
            );
            let fine = match asked["grant_type"].as_str() {
                "authorization_code" => {
                    state.codes.remove(&asked["code"]).is_some_and(|(wanted, redirect)| {
                        wanted == challenge(&asked["code_verifier"]) && redirect == asked["redirect_uri"]
                    })
                }
                "refresh_token" => asked["refresh_token"] == state.refresh,
                _ => false,
            };
            if !fine {
                return say(400, json!({ "error": "invalid_grant", "error_description": "no such thing" }));
            }
            state.granted += 1;
            state.token = format!("access-canary-{}", state.granted);
            state.refresh = format!("refresh-canary-{}", state.granted);
            say(
                200,
                json!({
                    "access_token": state.token, "refresh_token": state.refresh, "token_type": "Bearer", "expires_in": state.lasts,
                }),
            )
        }
        _ => (404, Vec::new(), String::new()),
    }
}

/// Creates a home with the server `web`; returns the state of its authorization server too.
fn with_server() -> (Home, Web, Shared) {
    let (home, _) = stage(&[], 0);
    let shared = Shared::default();
    shared.lock().unwrap().lasts = 3600;
    shared.lock().unwrap().revokes = Some(200);
    let state = Arc::clone(&shared);
    let web = Web::start(move |request, base| served(request, base, &state));
    let added = home.run(&["mcp", "add", "web", "--url", &web.url("/mcp")]);
    assert!(added.status.success(), "{}", stderr(&added));
    (home, web, shared)
}

/// Runs `tiller mcp login web`, with a fake browser that records its arguments while the test
/// visits the
/// page.
fn login(home: &Home, browser: impl FnOnce(&str)) -> (bool, String) {
    let bin = home.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let stub = bin.join("setsid");
    std::fs::write(&stub, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >{}\n", home.file("opened"))).unwrap();
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = home.tiller(&["mcp", "login", "web", "--json"]);
    command.env("PATH", path).env("DISPLAY", ":7").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let (mut host, mut page, mut rest) = (String::new(), String::new(), String::new());
    errors.read_line(&mut host).unwrap();
    errors.read_line(&mut page).unwrap();
    if page.starts_with("http") {
        assert_eq!(host, "Sign in at 127.0.0.1:\n");
        browser(page.trim());
    }
    errors.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let report = stdout(&output) + &host + &rest;
    assert!(!(report.clone() + &page).contains("canary"), "{report}");
    (output.status.success(), report)
}

/// Visits the page as a user who consents.
fn agree(page: &str) {
    let (_, answer) = get(page);
    let back = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().trim().to_owned();
    // A request of another process that found the port first.
    let (status, _) = get(&back.replace("state=", "state=x"));
    assert!(status.contains("404"), "{status}");
    let (status, _) = get(&back);
    assert!(status.contains("200"), "{status}");
}

#[test]
fn signing_in_opens_the_browser_and_the_grant_is_used_refreshed_and_revoked() {
    let (home, web, shared) = with_server();
    let (fine, refused) = json_of(&home, &["mcp", "tools", "web", "--json"]);
    assert!(!fine && refused["error"].as_str().unwrap().contains("tiller mcp login web"), "{refused}");
    let mut opened = String::new();
    // The user consents in the browser, which is open by then.
    let (fine, report) = login(&home, |page| {
        while opened.lines().count() < 3 {
            opened = home.read("opened").unwrap_or_default();
            std::thread::yield_now();
        }
        agree(page);
    });
    assert!(fine && report.contains("\"signed_in\":true"), "{report}");
    let words: Vec<_> = opened.lines().collect();
    assert_eq!(words[..2], ["-f", "xdg-open"], "{opened}");
    assert!(words[2].starts_with(&web.url("/authorize?")) && words.len() == 3, "{opened}");
    let call_tool = || json_of(&home, &["mcp", "call", "web.look", "--json"]);
    assert_eq!(call_tool().1["data"], "called");
    let granted = || shared.lock().unwrap().granted;
    assert_eq!(granted(), 1, "one grant is good for many calls");
    // The token was revoked before it expired.
    shared.lock().unwrap().token = "another".to_owned();
    assert_eq!(call_tool().1["data"], "called");
    assert_eq!(granted(), 2);
    // Tokens that expire immediately are refreshed before use.
    shared.lock().unwrap().token = "another".to_owned();
    shared.lock().unwrap().lasts = 1;
    assert_eq!(call_tool().1["data"], "called");
    let refused = || shared.lock().unwrap().refused;
    let before = refused();
    assert_eq!(call_tool().1["data"], "called");
    assert_eq!(refused(), before, "none is shown that has ended");
    assert_eq!(shared.lock().unwrap().registered, 1);
    // The grant is stored with the secrets and never printed.
    let secrets = home.path().join("home/.local/share/tiller/secrets.json");
    assert!(std::fs::read_to_string(&secrets).unwrap().contains("refresh-canary"));
    assert_eq!(std::fs::metadata(&secrets).unwrap().permissions().mode() & 0o777, 0o600);
    for args in
        [&["mcp", "status"][..], &["mcp", "list", "--json"], &["mcp", "secret", "list"], &["mcp", "export"]]
    {
        let output = home.tiller(args).env("TILLER_LOG", "trace").output().unwrap();
        let report = stdout(&output) + &stderr(&output);
        assert!(output.status.success() && !report.contains("canary"), "{args:?}: {report}");
    }
    let tokens = {
        let state = shared.lock().unwrap();
        [state.refresh.clone(), state.token.clone()]
    };
    let (fine, out) = json_of(&home, &["mcp", "logout", "web", "--json"]);
    assert!(fine && out["signed_in"] == false && out["revoked"] == true, "{out}");
    assert_eq!(shared.lock().unwrap().revoked, tokens);
    assert!(!std::fs::read_to_string(&secrets).unwrap().contains("canary"));
    assert!(!call_tool().0);
    assert!(!json_of(&home, &["mcp", "logout", "web", "--json"]).0);
}

#[test]
fn a_token_is_used_until_it_expires_while_its_renewal_fails_temporarily() {
    let (home, _web, shared) = with_server();
    // Shorter than the margin before the end in which tokens are renewed.
    shared.lock().unwrap().lasts = 59;
    assert!(login(&home, agree).0);
    shared.lock().unwrap().busy = true;
    let call_tool = || json_of(&home, &["mcp", "call", "web.look", "--json"]);
    assert_eq!(call_tool().1["data"], "called");
    // The next token expires immediately.
    shared.lock().unwrap().busy = false;
    shared.lock().unwrap().lasts = 0;
    assert_eq!(call_tool().1["data"], "called");
    shared.lock().unwrap().busy = true;
    let (fine, failed) = call_tool();
    assert!(!fine && failed.to_string().contains("503"), "{failed}");
}

#[test]
fn signing_out_deletes_the_grant_and_reports_the_revocation() {
    for (revokes, report) in [
        (Some(200), "is revoked there."),
        (Some(503), "127.0.0.1 refused (503): busy, not [secret]."),
        (None, "the server names no way to revoke it."),
    ] {
        let (home, _web, shared) = with_server();
        shared.lock().unwrap().revokes = revokes;
        assert!(login(&home, agree).0);
        let output = home.run(&["mcp", "logout", "web"]);
        let text = stdout(&output);
        assert!(output.status.success() && text.trim_end().ends_with(report), "{text}{}", stderr(&output));
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(shared.lock().unwrap().revoked.len(), if revokes == Some(200) { 2 } else { 0 });
        assert!(!home.run(&["mcp", "logout", "web"]).status.success());
    }
}

#[test]
fn a_grant_is_used_only_for_the_url_it_was_issued_for() {
    let (home, _web, _shared) = with_server();
    assert!(login(&home, agree).0);
    let other = Web::start(|request, _| over_http(&request.body, &json!([])));
    assert!(home.run(&["mcp", "remove", "web"]).status.success());
    assert!(home.run(&["mcp", "add", "web", "--url", &other.url("/mcp")]).status.success());
    assert!(json_of(&home, &["mcp", "status", "--json"]).0);
    let asked = other.requests();
    assert!(
        !asked.is_empty() && asked.iter().all(|request| request.header("authorization").is_none()),
        "{asked:?}"
    );
}

#[test]
fn a_session_reports_how_to_sign_in() {
    let (home, web, _shared) = with_server();
    let model = stage(&[], 2);
    let base = format!(
        "[agent]\ndefault_model = 'openai/test'\n[providers.local]\ndiscover = false\n[providers.openai]\nwire = 'chat'\nbase_url = '{}'\n",
        model.1.url
    );
    home.settings(&base);
    let mut agent = start(&home);
    let session = open(&mut agent, &home, json!([]));
    agent.prompt(&session, "go", &mut Editor::default()).unwrap();
    let reported = notices(&agent);
    assert!(
        reported.contains("'web' is not running") && reported.contains("`tiller mcp login web`"),
        "{reported}"
    );
    let asked = web.requests().len();
    assert!(asked < 4, "asking again and again would not help: {asked}");
    model.1.requests.recv().unwrap();
    assert!(login(&home, agree).0);
    agent.prompt(&session, "again", &mut Editor::default()).unwrap();
    let came = news(&model.1.requests.recv().unwrap(), "new_tools");
    assert!(came.contains("mcp__web__look"), "the session goes on with it: {came}");
}

#[test]
fn errors_while_signing_in_are_reported() {
    let (home, _web, shared) = with_server();
    let no = |page: &str| {
        let asked = fields(page.split_once('?').unwrap().1);
        get(&format!("{}?error=access_denied&state={}", asked["redirect_uri"], asked["state"]));
    };
    let (fine, report) = login(&home, no);
    assert!(!fine && report.contains("it was refused: access_denied"), "{report}");
    // A stolen code is useless without the verifier, and can be used only once.
    let (fine, report) = login(&home, |page| {
        let (_, answer) = get(page);
        let back = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().trim().to_owned();
        shared.lock().unwrap().codes.clear();
        get(&back);
    });
    assert!(!fine && report.contains("invalid_grant, no such thing"), "{report}");
    for (name, server, part) in [
        ("program", json!({ "command": "true" }), "it is a local program"),
        ("plain", json!({ "url": "http://mcp.example/mcp" }), "is not encrypted"),
    ] {
        let path = home.path().join("home/.config/tiller/mcp.json");
        std::fs::write(path, json!({ "mcpServers": { name: server } }).to_string()).unwrap();
        let (fine, report) = json_of(&home, &["mcp", "login", name, "--no-browser", "--json"]);
        assert!(!fine && report["error"].as_str().unwrap().contains(part), "{report}");
    }
}

/// Malicious or wrong answers, each in place of the right one.
#[test]
fn an_invalid_authorization_server_is_refused() {
    for (path, wrong, part) in [
        (
            "/.well-known/oauth-protected-resource/mcp",
            json!({ "resource": "https://bank.example/mcp", "authorization_servers": ["BASE"] }),
            "its metadata names another resource, https://bank.example",
        ),
        (
            "/.well-known/oauth-protected-resource/mcp",
            json!({ "resource": "BASE/mcp", "authorization_servers": ["http://auth.example"] }),
            "is not encrypted",
        ),
        (
            "/.well-known/oauth-protected-resource/mcp",
            json!({ "resource": "BASE/mcp" }),
            "it names no authorization server",
        ),
        (
            "/.well-known/oauth-authorization-server",
            json!({ "issuer": "https://other.example" }),
            "names another issuer",
        ),
        (
            "/.well-known/oauth-authorization-server",
            json!({ "issuer": "BASE", "authorization_endpoint": "BASE/authorize", "token_endpoint": "BASE/token" }),
            "PKCE",
        ),
        (
            "/.well-known/oauth-authorization-server",
            json!({ "issuer": "BASE", "authorization_endpoint": "file:///etc/passwd", "token_endpoint": "BASE/token", "code_challenge_methods_supported": ["S256"] }),
            "is not encrypted",
        ),
        (
            "/.well-known/oauth-authorization-server",
            json!({ "issuer": "BASE", "authorization_endpoint": "BASE/authorize", "token_endpoint": "BASE/token", "code_challenge_methods_supported": ["S256"] }),
            "--client-id",
        ),
    ] {
        let (home, _) = stage(&[], 0);
        let shared = Shared::default();
        let wrong = wrong.to_string();
        let web = Web::start(move |request, base| {
            if request.path == path {
                return (200, Vec::new(), wrong.replace("BASE", base));
            }
            served(request, base, &shared)
        });
        assert!(home.run(&["mcp", "add", "web", "--url", &web.url("/mcp")]).status.success());
        let (fine, report) = json_of(&home, &["mcp", "login", "web", "--no-browser", "--json"]);
        assert!(!fine && report["error"].as_str().unwrap().contains(part), "{part}: {report}");
        assert!(!web.requests().iter().any(|request| request.path.starts_with("/token")), "{part}");
    }
}
