//! Integrations in the real program: added, listed, dry-run and called against a service on
//! loopback.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
    model_server::ModelServer,
    service::{Asked, Service},
};
use serde_json::{Value, json};
use std::{io::Write, path::Path, process::Stdio};

const CANARY: &str = "canary-7c20aa91";

/// A small OpenAPI document: reads and writes, with an API key in a header.
fn document(url: &str) -> Value {
    let id = json!({ "name": "petId", "in": "path", "required": true, "schema": { "type": "integer" } });
    let body = json!({ "required": true, "content": { "application/json": { "schema": {
        "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "tags": { "type": "array", "items": { "type": "string" } } },
    } } } });
    let limit = json!({ "name": "limit", "in": "query", "schema": { "type": "integer" } });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Pets" },
        "servers": [{ "url": url }],
        "security": [{ "key": [] }],
        "components": { "securitySchemes": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" } } },
        "paths": {
            "/pets": {
                "get": { "operationId": "listPets", "summary": "List pets", "parameters": [limit] },
                "post": { "operationId": "createPet", "summary": "Make a pet", "requestBody": body },
            },
            "/pets/{petId}": { "get": { "operationId": "getPet", "summary": "Show a pet", "parameters": [id] } },
        },
    })
}

fn json_of(home: &Home, args: &[&str]) -> (bool, Value) {
    let output = home.run(args);
    let value = serde_json::from_str(&stdout(&output));
    (
        output.status.success(),
        value.unwrap_or_else(|error| panic!("{error}: {} {}", stdout(&output), stderr(&output))),
    )
}

fn with_stdin(home: &Home, args: &[&str], text: &str) -> (bool, String, String) {
    let mut command = home.tiller(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), stdout(&output), stderr(&output))
}

/// Creates a home in which `pets` is added and enabled, with a stored key and allowed reads.
pub(crate) fn with_pets(service: &Service) -> Home {
    let home = Home::new();
    home.write("pets.json", &document(&service.url).to_string());
    let (fine, report) =
        json_of(&home, &["integrations", "add", "pets", "--openapi", "pets.json", "--local", "--json"]);
    assert!(fine && report["functions"] == 3 && report["fields"] == json!(["api_key"]), "{report}");
    let configure =
        ["integrations", "configure", "pets", "--api-key-stdin", "--enable", "--read", "allow", "--json"];
    let (fine, report, problem) = with_stdin(&home, &configure, &format!("{CANARY}\n"));
    assert!(fine && report.contains("\"credentialKeys\":[\"api_key\"]"), "{report} {problem}");
    home
}

#[test]
fn a_service_is_added_from_a_document_in_yaml() {
    let service = Service::start(echo);
    let home = Home::new();
    let document = format!(
        "openapi: 3.1.0\ninfo: {{ title: Birds, version: 1 }}\nservers:\n  - url: {}\nx-limit: &limit\n  name: limit\n  in: query\n  \
         schema: {{ type: integer }}\npaths:\n  /birds:\n    get:\n      operationId: list_birds\n      summary: >-\n        All of\n        \
         them\n      parameters: [*limit]\n      responses:\n        200: {{ description: ok }}\n",
        service.url
    );
    home.write("birds.yaml", &document);
    let (fine, report) =
        json_of(&home, &["integrations", "add", "birds", "--openapi", "birds.yaml", "--local", "--json"]);
    assert!(fine && report["functions"] == 1, "{report}");
    let call = ["integrations", "call", "birds.list_birds", "--limit=7", "--force", "--json"];
    let enabled = home.run(&["integrations", "enable", "birds"]);
    assert!(enabled.status.success(), "{}", stderr(&enabled));
    let (fine, report) = json_of(&home, &call);
    assert!(fine && report["data"]["path"] == "/birds?limit=7", "{report}");
    home.write("broken.yaml", "openapi: 3.1.0\npaths: [\n");
    let (fine, report) =
        json_of(&home, &["integrations", "add", "broken", "--openapi", "broken.yaml", "--local", "--json"]);
    assert!(!fine && report["error"].as_str().unwrap().contains("neither JSON nor YAML"), "{report}");
}

/// Answers with the request's path, key and body.
pub(crate) fn echo(_number: usize, asked: &Asked) -> (u16, String, String) {
    let report = json!({ "path": asked.path, "key": asked.header("x-key"), "body": asked.body });
    (200, "content-type: application/json\r\n".to_owned(), report.to_string())
}

#[test]
fn a_service_is_added_from_a_large_public_document_and_called() {
    let service = Service::start(|_, asked| {
        let page = asked.path.contains("page=2");
        let link = match asked.path.starts_with("/repos/o/r/issues?") && !page {
            true => {
                format!("link: <http://{}/repos/o/r/issues?page=2>; rel=\"next\"\r\n", asked.header("host"))
            }
            false => String::new(),
        };
        let body = match asked.method.as_str() {
            "GET" if asked.path.starts_with("/repos/o/r/issues?") => {
                json!([{ "number": if page { 2 } else { 1 } }])
            }
            _ => json!({ "got": serde_json::from_str::<Value>(&asked.body).unwrap_or_default() }),
        };
        (200, link, body.to_string())
    });
    let home = Home::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../integrations/tests/fixtures/github.json");
    let fixture = fixture.to_str().unwrap();
    let add = ["integrations", "add", "gh", "--openapi", fixture, "--base-url", &service.url, "--json"];
    let (fine, report) = json_of(&home, &add);
    assert!(fine && report["functions"].as_u64().unwrap() > 400, "{report}");
    let (fine, again) = json_of(&home, &add);
    assert!(!fine && again["error"].as_str().unwrap().contains("already"), "{again}");
    let list = home.run(&["integrations:list", "gh"]);
    assert!(stdout(&list).contains("gh.issues_list_for_repo"), "{}", stdout(&list));
    let (fine, found) = json_of(&home, &["integrations", "search", "create", "issue", "comment", "--json"]);
    assert!(
        fine && found["functions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|f| f["function"] == "gh.issues_create_comment"),
        "{found}"
    );
    let docs = stdout(&home.run(&["integrations", "docs", "gh.issues_create"]));
    assert!(docs.contains("# gh.issues_create") && docs.contains("- `owner` (string, required)"), "{docs}");
    let (_, schema) = json_of(&home, &["integrations", "schema", "gh.issues_create", "--json"]);
    assert_eq!(schema["function"]["input_schema"]["required"], json!(["owner", "repo", "title"]));
    let examples = stdout(&home.run(&["integrations", "examples", "gh.issues_create"]));
    assert!(examples.contains("tiller integrations:gh issues_create --owner="), "{examples}");

    let off = home.run(&["integrations:gh", "issues_list_for_repo", "--owner=o", "--repo=r"]);
    let says = "tiller: Integration 'gh' is installed but not active. Enable it in settings first.\n  try: tiller integrations enable gh\n";
    assert_eq!((off.status.code(), stderr(&off).as_str()), (Some(1), says));
    assert!(home.run(&["integrations", "configure", "gh", "--enable", "--read", "allow"]).status.success());
    let line = [
        "integrations:gh",
        "issues_create",
        "--owner=o",
        "--repo=r",
        "--title=T",
        "--labels=a,b",
        "--json",
        "--dry-run",
    ];
    let (fine, dry) = json_of(&home, &line);
    assert!(fine && dry["meta"]["dry_run"] == true && dry["meta"]["operation"] == "write", "{dry}");
    assert_eq!(dry["data"]["url"], format!("{}/repos/o/r/issues", service.url));
    assert_eq!(dry["data"]["body"], json!({ "title": "T", "labels": ["a", "b"] }));
    assert!(service.asked().is_empty(), "nothing is sent");

    let (fine, listed) = json_of(
        &home,
        &[
            "integrations:gh",
            "issues_list_for_repo",
            "--owner",
            "o",
            "--repo",
            "r",
            "--per-page",
            "1",
            "--state=all",
            "--json",
        ],
    );
    assert!(fine && listed["success"] == true && listed["data"] == json!([{ "number": 1 }]), "{listed}");
    assert_eq!(service.lines(), ["GET /repos/o/r/issues?state=all&per_page=1"]);
    let create = [
        "integrations",
        "call",
        "gh.issues_create",
        "--stdin",
        "--arg",
        "repo=r",
        "--title=Flag",
        "--json",
        "--force",
    ];
    let (fine, report, _) =
        with_stdin(&home, &create, r#"{"owner":"o","repo":"x","title":"Stdin","body":"B"}"#);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(fine && report["data"]["got"] == json!({ "title": "Flag", "body": "B" }), "{report}");
    assert_eq!(
        report["meta"],
        json!({ "dry_run": false, "operation": "write", "permission_bypassed": true, "account": "default" })
    );
    assert_eq!(service.lines(), ["POST /repos/o/r/issues"]);

    let (fine, removed) = json_of(&home, &["integrations", "remove", "gh", "--json"]);
    assert!(fine && removed["removed"] == true, "{removed}");
    let (fine, gone) = json_of(&home, &["integrations", "call", "gh.issues_create", "--json"]);
    assert!(
        !fine
            && gone["error"] == "Unknown integration function: gh.issues_create"
            && gone["kind"] == "not_found",
        "{gone}"
    );
}

#[test]
fn integration_checks_run_in_order_and_a_failure_sets_the_exit_code() {
    let service = Service::start(echo);
    let home = Home::new();
    home.write("pets.json", &document(&service.url).to_string());
    assert!(home.run(&["integrations", "add", "pets", "--openapi", "pets.json", "--local"]).status.success());
    let say = |args: &[&str]| {
        let mut line = vec!["integrations", "call", "--json"];
        line.extend(args);
        let (fine, report) = json_of(&home, &line);
        assert_eq!(report["success"] == true, fine);
        report["error"].as_str().unwrap_or("fine").to_owned()
    };
    let set = |args: &[&str]| {
        let mut line = vec!["integrations", "configure", "pets"];
        line.extend(args);
        assert!(home.run(&line).status.success(), "{args:?}");
    };
    assert_eq!(say(&["pets.nothing"]), "Unknown integration function: pets.nothing");
    assert!(
        say(&["pets.get_pet"])
            .starts_with("Integration 'pets' is installed but not active. Enable it in settings first.")
    );
    set(&["--enable"]);
    let says = "Integration 'pets' is missing required credentials for account 'work'. Configure it in settings first.";
    assert!(say(&["pets.get_pet", "--account", "work"]).starts_with(says));
    let (fine, _, _) = with_stdin(
        &home,
        &["integrations", "configure", "pets", "--account", "work", "--stdin-json"],
        &format!(r#"{{"api_key":"{CANARY}"}}"#),
    );
    assert!(fine);
    let says = "Integration 'pets' read requires approval. Ask the user to change the permission in /settings → Integrations";
    assert_eq!(say(&["pets.get_pet", "--account", "work"]), says);
    assert_eq!(
        say(&["pets.get_pet", "--account", "work", "--force"]),
        "Missing required parameter(s): petId"
    );
    set(&["--read", "deny"]);
    let says = "Integration 'pets' read access denied. Enable it in /settings → Integrations";
    assert_eq!(say(&["pets.get_pet", "--account", "work", "--force"]), says);
    set(&["--read", "allow"]);
    assert_eq!(
        say(&["pets.get_pet", "--account", "work", "--pet-id=x"]),
        "Parameter 'petId' takes a whole number, not \"x\""
    );
    assert_eq!(
        say(&["pets.get_pet", "--account", "work", "--pat-id=1"]),
        "Unknown parameter(s): pat-id. Did you mean 'petId'?"
    );
    assert!(service.asked().is_empty());
    assert_eq!(say(&["pets.get_pet", "--account", "work", "--pet-id=1"]), "fine");
    assert_eq!(service.lines(), ["GET /pets/1"]);
    let output = home.run(&["integrations", "call", "pets.create_pet", "--account", "work", "--name=x"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("--write allow") && service.asked().is_empty(), "{}", stdout(&output));
    let lua = home.run(&["integrations", "lua", "--eval", "app.integrations.pets.work.get_pet(1).path"]);
    assert_eq!((stdout(&lua).as_str(), service.lines().len()), ("/pets/1\n", 1), "{}", stderr(&lua));
    // The denied tools apply here too.
    let settings = home.path().join("home/.config/tiller/config.toml");
    let before = std::fs::read_to_string(&settings).unwrap();
    home.settings(&format!("{before}\n[tools]\ndenied_tools = ['integration__pets__get_pet']\n"));
    let says = "Tool 'integration__pets__get_pet' is denied by the setting tools.denied_tools.";
    assert_eq!(say(&["pets.get_pet", "--account", "work", "--pet-id=1", "--force"]), says);
    home.settings(&before);
    // A broken manifest disables only its own integration.
    std::fs::write(home.path().join("home/.config/tiller/integrations/pets.json"), "{}").unwrap();
    assert_eq!(say(&["pets.get_pet"]), "Integration 'pets' is not installed.");
    let (fine, doctor) = json_of(&home, &["integrations", "doctor", "--json"]);
    assert!(!fine && doctor["issues"][0].as_str().unwrap().starts_with("pets: "), "{doctor}");
    let (fine, list) = json_of(&home, &["integrations:list", "--json"]);
    assert!(
        fine && list["integrations"].as_array().unwrap().len() == 5 && list["broken"]["pets"].is_string(),
        "{list}"
    );
}

/// The model server's streams: an answer with one call, then a text.
fn answers(tool: &str, arguments: Value) -> Vec<String> {
    let chunk = |delta: Value, end: Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] }))
    };
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    let call =
        json!({ "tool_calls": [{ "index": 0, "id": "c0", "type": "function", "function": function }] });
    vec![
        chunk(call, Value::Null) + &chunk(json!({}), json!("tool_calls")),
        chunk(json!({ "content": "Done." }), Value::Null) + &chunk(json!({}), json!("stop")),
    ]
}

/// Returns the last tool result in the request to the model, and the names of the offered tools.
fn last_result_and_tools(model: &ModelServer) -> (String, Vec<String>) {
    let (_, request) = model.requests.iter().nth(1).unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let result = messages.iter().rfind(|message| message["role"] == "tool").unwrap()["content"].to_string();
    let tools = request["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
    (result, tools.collect())
}

#[test]
fn s26_a_script_calls_a_service_without_exposing_the_key() {
    let service = Service::start(echo);
    let home = with_pets(&service);
    let code = "local pet = app.integrations.pets.get_pet(7)\n\
                local same = app.integrations.pets.default.get_pet{petId = 8}\n\
                local ok, why = pcall(app.integrations.pets.create_pet, {name = 'x'})\n\
                print(pet.path, same.path, pet.key, ok, why)\n\
                print(docs.read('integrations.pets'))";
    let model = ModelServer::start(answers("execute_lua", json!({ "code": code })));
    let settings = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
    home.settings(&format!("{settings}\n[providers.openai]\nwire = 'chat'\n"));
    let variables =
        [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", model.url.as_str()), ("TILLER_LOG", "trace")];
    let mut agent = Agent::start_with(&home, &["-m", "openai/test"], &variables);
    let mut editor = Editor { answer: Some("allow_once"), ..Editor::default() };
    agent.initialize(editor.capabilities());
    let session = agent.new_session(&home);
    agent.prompt(&session, "go", &mut editor).unwrap();
    let asked = service.asked();
    let seen: Vec<_> = asked.iter().map(|asked| (asked.path.as_str(), asked.header("x-key"))).collect();
    assert_eq!(seen, [("/pets/7", CANARY), ("/pets/8", CANARY)], "the service has the key");
    let (result, tools) = last_result_and_tools(&model);
    assert!(result.contains("/pets/7\\t/pets/8\\t[secret]\\tfalse\\t"), "{result}");
    assert!(result.contains("Integration 'pets' write requires approval."), "{result}");
    assert!(
        result.contains("app.integrations.pets.create_pet{name = \\\"text\\\"}`: Make a pet Optional: tags"),
        "{result}"
    );
    assert!(!tools.iter().any(|tool| tool.starts_with("integration__")), "{tools:?}");
    let updates = format!("{:?}", agent.updates);
    assert!(
        updates.contains("integration__pets__get_pet") || updates.contains("Pets: Show a pet"),
        "calls are shown: {updates}"
    );
    agent.hang_up();
    let mut report = format!("{result} {updates}");
    for args in [
        &["sessions", "export", &session][..],
        &["sessions", "show", &session],
        &["integrations", "fields", "pets"],
    ] {
        let output = home.tiller(args).env("TILLER_LOG", "trace").output().unwrap();
        assert!(output.status.success(), "{args:?} {}", stderr(&output));
        report += &(stdout(&output) + &stderr(&output));
    }
    assert!(!report.contains(CANARY), "{report}");
    let secrets = home.path().join("home/.local/share/tiller/secrets.json");
    let mut directories = vec![home.path()];
    let mut checked = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            checked += 1;
            let bytes = std::fs::read(&path).unwrap();
            let held = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert_eq!(held, path == secrets, "{}", path.display());
        }
    }
    assert!(checked > 5);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&secrets).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn s26_the_output_of_a_call_contains_no_key() {
    let service = Service::start(|number, asked| match number {
        0 => echo(number, asked),
        _ => (
            401,
            String::new(),
            json!({ "message": format!("{} is no key", asked.header("x-key")) }).to_string(),
        ),
    });
    let home = with_pets(&service);
    let refused = home.run(&["integrations", "configure", "pets", "--set", &format!("api_key={CANARY}")]);
    assert!(!refused.status.success() && !stderr(&refused).contains(CANARY), "{}", stderr(&refused));
    let mut report = String::new();
    for (args, fine) in [
        (&["integrations:pets", "list_pets"][..], true),
        (&["integrations:pets", "list_pets"], false),
        (&["integrations:pets", "list_pets", "--json"], false),
        (&["integrations:pets", "list_pets", "--dry-run", "--json"], true),
        (&["integrations", "lua", "--eval", "app.integrations.pets.list_pets()"], false),
        (&["integrations", "status", "pets", "--json"], true),
        (&["integrations", "fields", "pets", "--json"], true),
        (&["mcp", "secret", "list"], true),
    ] {
        let output = home.tiller(args).env("TILLER_LOG", "trace").output().unwrap();
        assert_eq!(output.status.success(), fine, "{args:?}: {} {}", stdout(&output), stderr(&output));
        report += &(stdout(&output) + &stderr(&output));
    }
    assert!(report.contains("HTTP 401 Unauthorized: [secret] is no key"), "{report}");
    assert!(report.contains("integrations.pets.default.api_key") && !report.contains(CANARY), "{report}");
}

#[test]
fn s26_a_key_in_a_url_is_redacted_in_every_encoding() {
    let service = Service::start(|_, asked| {
        (403, String::new(), json!({ "message": format!("no: {}", asked.path) }).to_string())
    });
    let home = Home::new();
    let key = "canary+of/the=query &more";
    let mut document = document(&service.url);
    document["components"]["securitySchemes"]["key"] =
        json!({ "type": "apiKey", "in": "query", "name": "key" });
    home.write("pets.json", &document.to_string());
    assert!(home.run(&["integrations", "add", "pets", "--openapi", "pets.json", "--local"]).status.success());
    let configure = ["integrations", "configure", "pets", "--api-key-stdin", "--enable", "--read", "allow"];
    assert!(with_stdin(&home, &configure, key).0);
    let output = home
        .tiller(&["integrations:pets", "list_pets", "--limit=1"])
        .env("TILLER_LOG", "trace")
        .output()
        .unwrap();
    let report = stdout(&output) + &stderr(&output);
    assert!(report.contains("HTTP 403 Forbidden: no: /pets?limit=1&key=[secret]"), "{report}");
    assert!(!report.contains("canary"), "{report}");
    assert_eq!(service.lines(), ["GET /pets?limit=1&key=canary%2Bof%2Fthe%3Dquery+%26more"]);
}

#[test]
fn models_get_functions_as_tools_if_enabled() {
    let service = Service::start(echo);
    let home = with_pets(&service);
    let model = ModelServer::start(answers("integration__pets__create_pet", json!({ "name": "Rex" })));
    let settings = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
    home.settings(&format!(
        "{}\n[providers.openai]\nwire = 'chat'\n",
        settings.replace("[integrations.pets]", "[integrations]\nnative_tools = true\n[integrations.pets]")
    ));
    let variables = [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", model.url.as_str())];
    let mut agent = Agent::start_with(&home, &["-m", "openai/test"], &variables);
    let mut editor = Editor { answer: Some("allow_once"), ..Editor::default() };
    agent.initialize(editor.capabilities());
    let session = agent.new_session(&home);
    agent.prompt(&session, "go", &mut editor).unwrap();
    let (result, tools) = last_result_and_tools(&model);
    let own: Vec<_> = tools.iter().filter(|tool| tool.starts_with("integration__")).collect();
    assert_eq!(
        own,
        ["integration__pets__create_pet", "integration__pets__get_pet", "integration__pets__list_pets"]
    );
    assert!(result.contains("Rex") && !result.contains(CANARY), "{result}");
    assert_eq!(editor.verbs(), ["permission"], "a write asks");
    assert_eq!(service.lines(), ["POST /pets"]);
    agent.hang_up();
}

#[test]
fn idempotent_requests_are_retried() {
    let service = Service::start(|number, _| match number {
        0 | 3 | 4 => (503, "retry-after: 0\r\n".to_owned(), String::new()),
        1 => (429, "retry-after: 0\r\n".to_owned(), String::new()),
        5 => (429, "retry-after: 3600\r\n".to_owned(), String::new()),
        6 => (302, "location: /pets?limit=2\r\n".to_owned(), String::new()),
        8 => (302, "location: http://localhost:1/elsewhere\r\n".to_owned(), String::new()),
        9 => (200, String::new(), "x".repeat(9 * 1024 * 1024)),
        _ => (200, String::new(), "[]".to_owned()),
    });
    let home = with_pets(&service);
    let call = |args: &[&str]| {
        let mut line = vec!["integrations:pets"];
        line.extend(args);
        line.push("--json");
        let (_, report) = json_of(&home, &line);
        (report["error"].as_str().unwrap_or("fine").to_owned(), service.lines().len())
    };
    assert_eq!(call(&["list_pets"]), ("fine".to_owned(), 3));
    assert_eq!(
        call(&["create_pet", "--name=x", "--force"]),
        ("HTTP 503 Service Unavailable (try again in 0 s)".to_owned(), 1)
    );
    let (report, count) = call(&["list_pets"]);
    assert_eq!((report.as_str(), count), ("HTTP 429 Too Many Requests (try again in 3600 s)", 2));
    assert_eq!(call(&["list_pets"]), ("fine".to_owned(), 2), "within one host");
    let says = "The service redirects to another host (localhost), which is not followed.";
    assert_eq!(call(&["list_pets"]), (says.to_owned(), 1));
    let (report, _) = call(&["list_pets"]);
    assert_eq!(report, "The response is larger than 8 MB; request less, with a smaller page or a filter.");
}

#[test]
fn s24_a_document_cannot_reach_private_addresses() {
    let service = Service::start(echo);
    let home = Home::new();
    // The same service by a name, an address and other spellings. The document names them, and the
    // user did not pass `--local`.
    let port = service.url.rsplit(':').next().unwrap();
    for (at, host) in
        ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"].iter().enumerate()
    {
        let name = format!("p{at}");
        home.write("pets.json", &document(&format!("http://{host}:{port}")).to_string());
        assert!(home.run(&["integrations", "add", &name, "--openapi", "pets.json"]).status.success());
        let (fine, _, _) = with_stdin(
            &home,
            &["integrations", "configure", &name, "--api-key-stdin", "--enable", "--read", "allow"],
            CANARY,
        );
        assert!(fine);
        let (fine, report) =
            json_of(&home, &["integrations", "call", &format!("{name}.list_pets"), "--json"]);
        let why = report["error"].as_str().unwrap();
        let refused = why.contains("not on the public internet") || why.contains("without encryption");
        assert!(!fine && refused, "{host}: {why}");
    }
    for url in [
        format!("{}/doc", service.url),
        format!("http://localhost:{port}/doc"),
        "http://169.254.169.254/doc".to_owned(),
    ] {
        let (fine, report) = json_of(&home, &["integrations", "add", "far", "--openapi", &url, "--json"]);
        assert!(
            !fine && report["error"].as_str().unwrap().contains("not on the public internet"),
            "{report}"
        );
    }
    let (fine, report) = json_of(
        &home,
        &["integrations", "add", "far", "--local", "--openapi", "http://169.254.169.254/doc", "--json"],
    );
    assert!(!fine && report["error"].as_str().unwrap().contains("not on the public internet"), "{report}");
    assert!(service.asked().is_empty());
    // The user typed the base URL of the account, so it is allowed.
    let (fine, _, _) = with_stdin(
        &home,
        &[
            "integrations",
            "configure",
            "p1",
            "--set",
            &format!("base_url={}", service.url),
            "--api-key-stdin",
        ],
        CANARY,
    );
    assert!(fine && home.run(&["integrations:p1", "list_pets"]).status.success());
    assert_eq!(service.asked()[0].header("x-key"), CANARY);
}

#[test]
fn one_token_is_fetched_for_many_calls() {
    let service = Service::start(|_, asked| match asked.path.as_str() {
        "/token" => (200, String::new(), json!({ "access_token": CANARY, "expires_in": 3600 }).to_string()),
        _ => (200, String::new(), json!({ "who": asked.header("authorization") }).to_string()),
    });
    let home = Home::new();
    let mut document = document("https://pets.example");
    let flows = json!({ "clientCredentials": { "tokenUrl": format!("{}/token", service.url), "scopes": { "read": "" } } });
    document["components"]["securitySchemes"]["key"] = json!({ "type": "oauth2", "flows": flows });
    home.write("pets.json", &document.to_string());
    assert!(
        home.run(&["integrations", "add", "pets", "--openapi", "pets.json", "--base-url", &service.url])
            .status
            .success()
    );
    let fields = json!({ "client_id": "me", "client_secret": "canary-of-the-client" });
    let configure = ["integrations", "configure", "pets", "--stdin-json", "--enable", "--read", "allow"];
    assert!(with_stdin(&home, &configure, &fields.to_string()).0);
    let code = "local a = app.integrations.pets.list_pets() local b = app.integrations.pets.get_pet(1) return a.who, b.who";
    let output = home.run(&["integrations", "lua", "--eval", code]);
    assert_eq!(stdout(&output), "Bearer [secret]\tBearer [secret]\n", "{}", stderr(&output));
    let asked = service.asked();
    let paths: Vec<_> = asked.iter().map(|asked| asked.path.as_str()).collect();
    assert_eq!(paths, ["/token", "/pets", "/pets/1"]);
    assert_eq!(asked[0].header("authorization"), "Basic bWU6Y2FuYXJ5LW9mLXRoZS1jbGllbnQ=");
    assert_eq!(asked[0].body, "grant_type=client_credentials&scope=read");
    assert_eq!(asked[1].header("authorization"), format!("Bearer {CANARY}"));
}

#[test]
fn a_project_enables_no_integration_until_trusted() {
    let service = Service::start(echo);
    let home = with_pets(&service);
    assert!(home.run(&["integrations", "disable", "pets"]).status.success());
    let (fine, report) = json_of(&home, &["integrations", "enable", "pets", "--project", "--json"]);
    assert!(fine && report["enabled"] == false && report["scope"] == "project", "{report}");
    let call = || json_of(&home, &["integrations:pets", "list_pets", "--json"]);
    assert!(call().1["error"].as_str().unwrap().contains("is installed but not active"));
    assert!(home.run(&["trust", "--yes"]).status.success());
    assert!(call().0);
}

#[test]
fn programs_list_describe_configure_and_call_for_their_session() {
    let service = Service::start(echo);
    let home = Home::new();
    home.write("pets.json", &document(&service.url).to_string());
    assert!(home.run(&["integrations", "add", "pets", "--openapi", "pets.json", "--local"]).status.success());
    let mut agent = Agent::start(&home, &[]);
    agent.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).unwrap();
    let params = json!({ "cwd": home.project(), "mcpServers": [] });
    let session = agent.ask("session/new", params).unwrap()["sessionId"].as_str().unwrap().to_owned();
    let mut events = Vec::new();
    let mut ask = |method: &str, params: Value| {
        let mut with = json!({ "sessionId": session });
        with.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let id = agent.post(&format!("kosmokrator/integrations/{method}"), with);
        loop {
            let message = agent.receive().expect("an answer, not the end");
            assert!(!message.to_string().contains(CANARY), "{message}");
            if message["method"] == "kosmokrator/integration_event" {
                events.push(message["params"]["operation"].as_str().unwrap().to_owned());
            }
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => {
                        Err((error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned()))
                    }
                    None => Ok(message["result"].clone()),
                };
            }
        }
    };
    let listed = ask("list", json!({ "query": "plane", "limit": 3 })).unwrap();
    assert_eq!(listed["functions"].as_array().unwrap().len(), 3);
    assert_eq!(listed["functions"][0]["provider"], "plane");
    assert_eq!(listed["providers"]["plane"]["functions"], 22);
    let local = ["clickup", "coingecko", "github", "pets", "plane", "plausible"];
    assert_eq!(listed["locallyRunnableProviders"], json!(local));
    let described = ask("describe", json!({ "function": "plane.list_issues" })).unwrap();
    assert_eq!(
        (&described["operation"], &described["active"], &described["configured"]),
        (&json!("read"), &json!(false), &json!(false))
    );
    assert_eq!(described["input_schema"]["required"], json!(["workspace_slug", "project_id"]));
    assert_eq!(
        ask("describe", json!({ "function": "a.b" })),
        Err((-32602, "Unknown integration function: a.b".to_owned()))
    );
    let call = json!({ "function": "pets.get_pet", "account": "work", "args": { "petId": 7 } });
    let says = "Integration 'pets' is installed but not active. Enable it in settings first.";
    assert_eq!(ask("call", call.clone()), Err((-32603, says.to_owned())));
    let configure = json!({
        "integration": "pets", "account": "work", "scope": "project", "credentials": { "api_key": CANARY }, "enabled": true,
        "permissions": { "read": "allow", "write": "ask" },
    });
    let configured = ask("configure", configure).unwrap();
    assert_eq!(
        configured,
        json!({
            "integration": "pets", "account": "work", "scope": "project", "enabled": true, "enabledChanged": true,
            "credentialScope": "global", "credentialKeys": ["api_key"], "permissions": { "read": "allow", "write": "ask" },
        })
    );
    let wrong = json!({ "integration": "pets", "credentials": { "password": "x" } });
    let (code, says) = ask("configure", wrong).unwrap_err();
    assert_eq!((code, says.as_str()), (-32602, "Integration 'pets' has no field 'password'; it has api_key"));
    // It applies immediately, although the project is not trusted: the user's own client stored it.
    let called = ask("call", call).unwrap();
    assert_eq!(
        (&called["success"], &called["data"]["path"], &called["data"]["key"]),
        (&json!(true), &json!("/pets/7"), &json!("[secret]"))
    );
    assert_eq!(
        called["meta"],
        json!({ "dry_run": false, "operation": "read", "permission_bypassed": false, "account": "work" })
    );
    let write = |force: bool, dry: bool| json!({ "function": "pets.create_pet", "account": "work", "args": { "name": "x" }, "force": force, "dryRun": dry });
    let refused = ask("call", write(false, false)).unwrap();
    let says = "Integration 'pets' write requires approval. Ask the user to change the permission in /settings → Integrations";
    assert_eq!((&refused["success"], refused["error"].as_str()), (&json!(false), Some(says)));
    assert_eq!(ask("call", write(false, true)).unwrap()["data"]["body"], json!({ "name": "x" }));
    assert_eq!(ask("call", write(true, false)).unwrap()["meta"]["permission_bypassed"], true);
    let missing = json!({ "name": "pets.create_pet", "account": "work", "force": true });
    assert_eq!(ask("call", missing), Err((-32603, "Missing required parameter(s): name".to_owned())));
    assert_eq!(service.lines(), ["GET /pets/7", "POST /pets"]);
    assert_eq!(events[..2], ["list", "describe"]);
    assert!(
        events.contains(&"configured".to_owned()) && events.contains(&"call_completed".to_owned()),
        "{events:?}"
    );
    agent.hang_up();
}
