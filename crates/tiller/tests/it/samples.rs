//! Printed names of tools and functions work as printed, and so does every sample in the documents
//! and in the output of commands.

use crate::{
    agent::Agent,
    home::{Home, stderr, stdout},
    scripts::run_in_a_turn,
    service::Service,
};
use serde_json::{Value, json};
use std::path::Path;

/// An MCP server whose tools' names are not Lua identifiers; each tool returns its own name.
const NAMED: &str = r#"
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    tool() { printf '{"name":"%s","description":"Sums","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}' "$1"; }
    case $line in
    *'"method":"initialize"'*) reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}' ;;
    *'"method":"tools/list"'*) reply '{"tools":['"$(tool get-sum),$(tool get_sum),$(tool a.b),$(tool 'a b'),$(tool end),$(tool 2fa),$(tool list_issues)"']}' ;;
    *'"name":"list_issues"'*) reply '{"content":[{"type":"text","text":"[]"}]}' ;;
    *'"method":"tools/call"'*)
        name=$(printf %s "$line" | sed -n 's/.*"params":{[^}]*"name":"\([^"]*\)".*/\1/p')
        [ -n "$name" ] || name=$(printf %s "$line" | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')
        reply '{"content":[{"type":"text","text":"'"$name"'"}]}' ;;
    esac
done
"#;

const ALLOWED: &str = "providers.openai.wire = 'chat'\nagent.default_model = 'offline/pilot'\nproviders.local.discover = false\n\
                       mcp.permissions_default = 'allow'\n";

fn with_server(name: &str) -> Home {
    let home = Home::new();
    home.settings(ALLOWED);
    let added = home.run(&["mcp", "add", name, "--", "sh", "-c", NAMED]);
    assert!(added.status.success(), "{}", stderr(&added));
    home
}

fn json_of(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
}

#[test]
fn a_tool_can_be_called_by_every_printed_name() {
    let home = with_server("every-thing");
    let report = json_of(&home, &["mcp", "tools", "--json"]);
    let rows = report["tools"].as_array().unwrap();
    assert_eq!(rows.len(), 7);
    let mut script = String::from("local said = {}\n");
    let mut names = Vec::new();
    for row in rows {
        let text = |member: &str| row[member].as_str().unwrap();
        let (name, callable) = (text("name"), text("callable"));
        if name == "list_issues" {
            continue;
        }
        for function in [
            text("function").to_owned(),
            format!("every_thing.{name}"),
            format!("every_thing.{callable}"),
            format!("every-thing.{name}"),
            format!("mcp__every_thing__{name}"),
            text("lua_path").to_owned(),
        ] {
            let report = json_of(&home, &["mcp", "call", &function, "--arg", "a=1", "--json"]);
            assert_eq!(report["data"], name, "{function}: {report}");
        }
        for path in [text("lua_path").to_owned(), format!("app.mcp.every_thing[{name:?}]")] {
            script.push_str(&format!("said[#said + 1] = {path}{{a = 1}}\n"));
            names.push(name.to_owned());
        }
    }
    script.push_str("return table.concat(said, '|')");
    let output = home.run(&["mcp", "lua", "--eval", &script]);
    assert_eq!(stdout(&output).trim_end(), names.join("|"), "{}", stderr(&output));
    assert_eq!(
        run_in_a_turn(&home, &script),
        format!("Return value: {}\nIntegration calls: 0", names.join("|")).split("\nI").next().unwrap()
    );
    let missing = home.run(&["mcp", "call", "every_thing.getSun", "--arg", "a=1"]);
    assert!(stderr(&missing).contains("Did you mean every_thing.get"), "{}", stderr(&missing));
}

#[test]
fn a_program_can_call_a_tool_by_every_listed_name() {
    let home = with_server("n");
    let mut agent = Agent::start(&home, &[]);
    agent.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).unwrap();
    let session = agent.new_session(&home);
    let mut call = |function: &str| {
        let params = json!({ "sessionId": session, "function": function, "args": { "a": 1 } });
        let id = agent.post("_tiller/mcp/call_tool", params);
        loop {
            let message = agent.receive().expect("an answer, not the end");
            if message["id"] == id && message.get("method").is_none() {
                return message["result"].clone();
            }
        }
    };
    for (function, name) in [
        ("n.get-sum", "get-sum"),
        ("n.get_sum", "get_sum"),
        ("n.get_sum_2", "get-sum"),
        ("n.a_b_2", "a.b"),
        ("n.end_", "end"),
    ] {
        assert_eq!(call(function)["data"], name, "{function}");
    }
    assert_eq!(
        call("n.listIssues")["error"],
        "Unknown MCP function: n.listIssues. Did you mean n.list_issues?"
    );
    agent.hang_up();
}

/// A fake of Plane's API that returns the request's path.
fn plane() -> Service {
    Service::start(|_, asked| {
        (200, "content-type: application/json\r\n".to_owned(), json!({ "path": asked.path }).to_string())
    })
}

fn in_shell(home: &Home, line: &str, variables: &[(&str, &str)]) -> std::process::Output {
    let program = Path::new(env!("CARGO_BIN_EXE_tiller")).parent().unwrap();
    let path = format!("{}:{}", program.to_str().unwrap(), std::env::var("PATH").unwrap());
    let mut command = std::process::Command::new("sh");
    command.args(["-c", line]).current_dir(home.project()).env_clear().envs(variables.iter().copied());
    command.env("PATH", path).env("HOME", home.path().join("home")).stdin(std::process::Stdio::null());
    command.output().unwrap()
}

/// Creates a home whose Plane account has this name and every field but the key.
fn with_plane(service: &Service, account: &str, enabled: bool) -> Home {
    let home = Home::new();
    home.settings(ALLOWED);
    let base = format!("base_url={}", service.url);
    let mut line = vec![
        "integrations",
        "configure",
        "plane",
        "--account",
        account,
        "--set",
        &base,
        "--set",
        "workspace_slug=acme",
    ];
    if enabled {
        line.extend(["--enable", "--read", "allow", "--write", "allow"]);
    }
    let report = home.run(&line);
    assert!(report.status.success(), "{}", stderr(&report));
    home
}

fn key(home: &Home, account: &str) {
    let line = format!(
        "printf secret-key | tiller integrations configure plane --account {account} --api-key-stdin"
    );
    let report = in_shell(home, &line, &[]);
    assert!(report.status.success(), "{}", stderr(&report));
}

#[test]
fn a_function_without_credentials_names_them_and_the_command_that_sets_them() {
    let service = plane();
    let home = with_plane(&service, "default", true);
    let code = "select(2, pcall(app.integrations.plane.list_projects))";
    let lua = |code: &str| stdout(&home.run(&["lua", "run", "-e", code])).trim_end().to_owned();
    let says = "Integration 'plane' is missing required credentials for account 'default'. Configure it in settings first. It lacks \
                api_key: run `tiller integrations configure plane --stdin api_key`, with the secret on its standard input.";
    assert_eq!(lua(code), says);
    assert_eq!(run_in_a_turn(&home, &format!("return {code}")), format!("Return value: {says}"));
    let called = home.run(&["integrations:plane", "list_projects"]);
    assert!(stderr(&called).contains(says), "{}", stderr(&called));
    assert!(lua("docs.read('integrations.plane')").contains(says));
    // The command in the message solves the problem.
    let command = says.split('`').nth(1).unwrap();
    assert!(in_shell(&home, &format!("printf k | {command}"), &[]).status.success());
    assert!(
        lua("app.integrations.plane.list_projects{}.path").starts_with("/api/v1/workspaces/acme/projects/")
    );
    for (code, says) in [
        ("app.integrations.github.get_repo{}", "Run `tiller integrations enable github`."),
        ("app.integrations.plane.home.list_projects{}", "Integration 'plane' has no account 'home'."),
    ] {
        let output = home.run(&["lua", "run", "-e", code]);
        assert!(stderr(&output).contains(says), "{code}: {}", stderr(&output));
    }
}

#[test]
fn a_script_that_fails_says_so_without_the_secrets_it_names() {
    let home = Home::new();
    let run = |more: &[&str]| {
        let script = ["lua", "run", "-e", "print('before'); error('no: sk-canary-0123456789abcdef')"];
        let mut command = home.tiller(&[&script, more].concat());
        command.env("OPENAI_API_KEY", "sk-canary-0123456789abcdef").output().unwrap()
    };
    let human = run(&[]);
    assert_eq!((human.status.code(), stdout(&human).as_str()), (Some(1), "before\n"));
    assert!(stderr(&human).starts_with("tiller: ") && stderr(&human).contains("no: "), "{}", stderr(&human));
    // Also where notes are left out.
    assert_eq!(stderr(&run(&["-q"])), stderr(&human));
    let object: Value = serde_json::from_str(&stdout(&run(&["--json"]))).unwrap();
    assert_eq!((&object["success"], &object["output"]), (&false.into(), &"before\n".into()), "{object}");
    assert!(object["error"].as_str().unwrap().contains("no: "), "{object}");
    for text in [stderr(&human), object.to_string()] {
        assert!(!text.contains("canary"), "{text}");
    }
}

#[test]
fn the_only_account_is_used_when_none_is_named() {
    let service = plane();
    let home = with_plane(&service, "work", true);
    key(&home, "work");
    let code = "app.integrations.plane.list_projects{}.path";
    let output = home.run(&["lua", "run", "-e", code]);
    assert!(stdout(&output).starts_with("/api/v1/workspaces/acme/"), "{}", stderr(&output));
    assert!(
        run_in_a_turn(&home, &format!("return {code}")).starts_with("Return value: /api/v1/workspaces/acme/")
    );
    let report = json_of(&home, &["integrations:plane", "list_projects", "--json"]);
    assert_eq!((&report["success"], &report["meta"]["account"]), (&json!(true), &json!("work")), "{report}");
    assert_eq!(service.asked().pop().unwrap().header("x-api-key"), "secret-key");
    // With two accounts, one must be named.
    home.run(&["integrations", "configure", "plane", "--account", "home", "--set", "workspace_slug=h"]);
    let output = home.run(&["lua", "run", "-e", code]);
    assert!(stderr(&output).contains("Or name an account that has it: work."), "{}", stderr(&output));
}

#[test]
fn a_misspelt_operation_gets_the_right_name_as_a_hint() {
    let home = Home::new();
    let operation = |id: &str| json!({ "get": { "operationId": id } });
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "U" }, "servers": [{ "url": "https://u.example" }],
        "paths": { "/a": operation("getUser"), "/b": operation("2fa.enable"), "/c": operation("list-all-users"), "/d": operation("end") },
    });
    home.write("u.json", &document.to_string());
    assert!(home.run(&["integrations", "add", "u", "--openapi", "u.json"]).status.success());
    assert!(home.run(&["integrations", "enable", "u"]).status.success());
    for (given, right) in [
        ("getUser", "get_user"),
        ("get-user", "get_user"),
        ("GetUser", "get_user"),
        ("get_usr", "get_user"),
        ("2fa.enable", "call_2fa_enable"),
        ("listAllUsers", "list_all_users"),
        ("list-all-users", "list_all_users"),
    ] {
        let output = home.run(&["integrations", "call", &format!("u.{given}")]);
        let says = format!("Unknown integration function: u.{given}. Did you mean u.{right}?");
        assert!(stderr(&output).contains(&says), "{given}: {}", stderr(&output));
        let output = home.run(&["lua", "run", "-e", &format!("app.integrations.u[{given:?}]{{}}")]);
        let says = format!("Did you mean app.integrations.u.{right}?");
        assert!(stderr(&output).contains(&says), "{given}: {}", stderr(&output));
    }
    let output = home.run(&["lua", "run", "-e", "app.integrations.u.edn{}"]);
    assert!(stderr(&output).contains("Unknown function: app.integrations.u.edn."), "{}", stderr(&output));
    // A name that is a Lua keyword has another name in scripts.
    let output = home.run(&["lua", "run", "-e", "app.integrations.u.end_{}"]);
    assert!(stderr(&output).contains("requires approval"), "{}", stderr(&output));
}

/// Returns the code blocks of a document in a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let begins = format!("```{language}\n");
    text.split(begins.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .map(str::to_owned)
        .collect()
}

/// Returns the inline Lua code of a document.
fn inline(text: &str) -> Vec<String> {
    let outside: String = text.split("```").step_by(2).collect();
    let spans = outside.split('`').skip(1).step_by(2);
    let is_lua = |span: &&str| span.starts_with("local ") || (span.starts_with("app.") && span.contains('{'));
    let is_shape = |span: &&str| ["…", "{...}", "{...", "[.ACCOUNT]"].iter().any(|part| span.contains(part));
    spans.filter(is_lua).filter(|span| !is_shape(span)).map(str::to_owned).collect()
}

#[test]
fn every_documented_sample_runs_unchanged() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let service = plane();
    let home = with_plane(&service, "default", true);
    key(&home, "default");
    for server in ["tracker", "srv", "everything"] {
        assert!(home.run(&["mcp", "add", server, "--", "sh", "-c", NAMED]).status.success());
    }
    for file in ["a.txt", "b.txt", "src/main.rs"] {
        home.write(file, "// TODO: say\n");
    }
    let mut ran = 0;
    let guide = |name: &str| stdout(&home.run(&["lua", "run", "-e", &format!("docs.read('{name}')")]));
    let guides = ["overview", "context", "errors", "examples"].map(guide);
    let pages = ["lua.md", "mcp.md", "integrations.md"].map(page);
    for text in guides.iter().chain(&pages) {
        for code in blocks(text, "lua").into_iter().chain(inline(text)) {
            let report = run_in_a_turn(&home, &code);
            assert!(!report.contains("Error:"), "{code}: {report}");
            ran += 1;
        }
    }
    assert!(ran >= 5, "{ran}");
    // The configurations of servers, and the manifest of an added integration.
    for described in blocks(&pages[1], "json") {
        let other = Home::new();
        other.write(".mcp.json", &described);
        let listed = json_of(&other, &["mcp", "list", "--json"]);
        let written: Value = serde_json::from_str(&described).unwrap();
        let count = written["mcpServers"].as_object().unwrap().len();
        assert_eq!(listed["servers"].as_array().unwrap().len(), count, "{listed}");
    }
    for manifest in blocks(&pages[2], "json") {
        let operation = |id: &str| json!({ "operationId": id, "responses": {} });
        let document = json!({
            "openapi": "3.1.0", "info": { "title": "Pets" }, "servers": [{ "url": "https://pets.example" }],
            "paths": { "/pets": { "get": operation("findPets") }, "/database": { "delete": operation("dropDatabase") } },
        });
        home.write("pets.json", &document.to_string());
        assert!(home.run(&["integrations", "add", "pets", "--openapi", "pets.json"]).status.success());
        std::fs::write(home.path().join("home/.config/tiller/integrations/pets.json"), manifest).unwrap();
        let listed = json_of(&home, &["integrations", "list", "pets", "--json"]);
        let names: Vec<_> =
            listed["functions"].as_array().unwrap().iter().map(|f| f["name"].clone()).collect();
        assert_eq!(names, ["search"], "{listed}");
    }
    for line in blocks(&pages[2], "sh").iter().flat_map(|block| block.lines()) {
        let output = in_shell(&home, line, &[("PLANE_KEY", "secret-key")]);
        assert!(output.status.success(), "{line}: {}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn every_printed_example_of_a_function_runs_unchanged() {
    let service = plane();
    let home = with_plane(&service, "default", true);
    key(&home, "default");
    let listed = json_of(&home, &["integrations", "list", "plane", "--json"]);
    let functions = listed["functions"].as_array().unwrap();
    assert!(functions.len() > 15);
    let mut ran = 0;
    for function in functions {
        let report =
            json_of(&home, &["integrations", "examples", function["function"].as_str().unwrap(), "--json"]);
        let examples: Vec<_> =
            report["examples"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
        // Starting the program takes time, so the script of every example runs, but the command
        // lines of
        // only a few.
        let few = if ran < 12 { examples.len() - 1 } else { 0 };
        for line in &examples[..few] {
            let output = in_shell(&home, line, &[]);
            assert!(output.status.success(), "{line}: {}{}", stdout(&output), stderr(&output));
            ran += 1;
        }
        let output = home.run(&["lua", "run", "-e", examples.last().unwrap()]);
        assert!(output.status.success(), "{examples:?}: {}", stderr(&output));
        // The sample of the page for models too.
        let read = format!("docs.read('integrations.{}')", function["function"].as_str().unwrap());
        let page = stdout(&home.run(&["lua", "run", "-e", &read]));
        let sample = blocks(&page, "lua").remove(0);
        let output = home.run(&["lua", "run", "-e", &sample]);
        assert!(output.status.success(), "{sample}: {}", stderr(&output));
    }
}
