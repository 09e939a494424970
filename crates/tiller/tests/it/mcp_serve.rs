//! `tiller mcp serve`, driven by its own MCP client and by raw lines, and the commands that only
//! write
//! server files.

use crate::{
    home::{Home, stderr, stdout},
    integrations::{echo, with_pets},
    mcp::{CANARY, json_of, stage},
    service::Service,
};
use serde_json::{Value, json};
use std::{io::Write as _, process::Stdio};

/// Creates a home with a working server `mine` that knows a secret.
fn with_server() -> Home {
    let (home, _) = stage(&[], 0);
    let script = home.path().join("server.sh");
    let mut set = home.tiller(&["mcp:secret:set", "mcp.mine.key"]).stdin(Stdio::piped()).spawn().unwrap();
    set.stdin.take().unwrap().write_all(CANARY.as_bytes()).unwrap();
    assert!(set.wait().unwrap().success());
    let env = "CANARY=@secret:mcp.mine.key";
    let added =
        home.run(&["mcp", "add", "mine", "--env", env, "--", "/bin/sh", script.to_str().unwrap(), "leak"]);
    assert!(added.status.success(), "{}", stderr(&added));
    home
}

/// Returns the answers of `tiller mcp serve` to these requests, ordered by id.
fn served(home: &Home, args: &[&str], requests: &[Value]) -> Vec<Value> {
    let mut command = home.tiller(&[&["mcp", "serve"], args].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for (id, request) in requests.iter().enumerate() {
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        message.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        writeln!(stdin, "{message}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = stdout(&output);
    assert!(!printed.contains(CANARY) && !stderr(&output).contains(CANARY), "{printed}");
    let mut answers: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

fn call(name: &str) -> Value {
    json!({ "method": "tools/call", "params": { "name": name, "arguments": {} } })
}

fn names(answer: &Value) -> Vec<&str> {
    answer["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn a_gateway_serves_read_tools_and_others_only_if_allowed() {
    let home = with_server();
    let list = json!({ "method": "tools/list" });
    let requests = [list, call("mine__look"), call("mine__echo"), call("mine__none")];
    let answers = served(&home, &["--upstream", "mine"], &requests);
    assert_eq!(names(&answers[0]), ["mine__look"]);
    let variables = answers[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(variables.contains("TILLER_MCP_SERVING"), "{variables}");
    assert_eq!(answers[2]["result"]["isError"], true);
    assert!(answers[2].to_string().contains("write access is denied"), "{}", answers[2]);
    assert_eq!(answers[3]["error"]["code"], -32602);
    let answers = served(&home, &["--upstream", "mine", "--write", "allow"], &requests);
    assert_eq!(names(&answers[0]), ["mine__echo", "mine__look", "mine__die"]);
    let content = answers[2]["result"]["content"].as_array().unwrap();
    assert_eq!(content[0]["text"], "You said it. The secret is [secret]");
    assert_eq!(content[1]["type"], "image", "what a server gives is passed on as it is");
    home.settings("[tools]\ndenied_tools = ['mcp__mine__look']\n");
    let answers = served(&home, &["--upstream", "mine", "--write", "allow"], &requests);
    assert_eq!(names(&answers[0]), ["mine__echo", "mine__die"]);
    assert_eq!(answers[1]["result"]["isError"], true, "{}", answers[1]);
}

/// A server with resources and prompts; `$1` is the name that it reports.
const NOTES: &str = r#"
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    link='{"type":"resource_link","uri":"note://one","name":"one"}'
    case $line in
    *'"method":"initialize"'*) reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"'"$1"'","version":"1"}}' ;;
    *'"method":"tools/list"'*) reply '{"tools":[{"name":"find","annotations":{"readOnlyHint":true},"inputSchema":{}}]}' ;;
    *'"method":"tools/call"'*) reply '{"content":['"$link"']}' ;;
    *'"method":"resources/list"'*) reply '{"resources":[{"uri":"note://one","name":"one"}]}' ;;
    *'"method":"resources/templates/list"'*) reply '{"resourceTemplates":[{"uriTemplate":"note://{name}","name":"any"}]}' ;;
    *'"uri":"note://one"'*) reply '{"contents":[{"uri":"note://one","text":"the first of '"$1"'"}]}' ;;
    *'"method":"prompts/list"'*) reply '{"prompts":[{"name":"review"},{"name":"other"}]}' ;;
    *'"method":"prompts/get"'*) reply '{"messages":[{"role":"user","content":'"$link"'}]}' ;;
    esac
done
"#;

#[test]
fn a_gateway_forwards_resources_and_prompts_under_their_servers_names() {
    let home = with_server();
    for name in ["notes", "more", "tiller"] {
        let added = home.run(&["mcp", "add", name, "--", "sh", "-c", NOTES, "server", name]);
        assert!(added.status.success(), "{}", stderr(&added));
    }
    let ask = |method: &str, params: Value| json!({ "method": method, "params": params });
    let requests = [
        ask("resources/list", json!({})),
        ask("resources/templates/list", json!({})),
        ask("resources/read", json!({ "uri": "mcp://more/note://one" })),
        ask("resources/read", json!({ "uri": "note://one" })),
        ask("prompts/list", json!({})),
        ask("prompts/get", json!({ "name": "notes__review" })),
        ask("prompts/get", json!({ "name": "tiller__review" })),
        call("notes__find"),
        ask("resources/read", json!({ "uri": "mcp://tiller/note://one" })),
    ];
    let upstreams = ["mine", "notes", "more", "tiller"].map(|name| ["--upstream", name]).concat();
    let answers = served(&home, &upstreams, &requests);
    let reported = |answers: &[Value], at: usize, list: &str, key: &str| -> Vec<String> {
        let rows = answers[at]["result"][list].as_array().unwrap();
        rows.iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    // Not those of a server without resources, nor those of a server that may be this program.
    assert_eq!(
        reported(&answers, 0, "resources", "uri"),
        ["mcp://notes/note://one", "mcp://more/note://one"]
    );
    let templates = ["mcp://notes/note://{name}", "mcp://more/note://{name}"];
    assert_eq!(reported(&answers, 1, "resourceTemplates", "uriTemplate"), templates);
    let expected = json!([{ "uri": "mcp://more/note://one", "text": "the first of more" }]);
    assert_eq!(answers[2]["result"]["contents"], expected);
    assert_eq!(answers[3]["error"]["code"], -32002);
    let names = ["notes__review", "notes__other", "more__review", "more__other"];
    assert_eq!(reported(&answers, 4, "prompts", "name"), names);
    assert_eq!(answers[5]["result"]["messages"][0]["content"]["uri"], "mcp://notes/note://one");
    assert_eq!(answers[6]["error"]["code"], -32602);
    assert_eq!(answers[7]["result"]["content"][0]["uri"], "mcp://notes/note://one");
    assert_eq!(answers[8]["error"]["code"], -32002);
    home.settings("[tools]\ndenied_tools = ['mcp__more__read_resource', 'mcp__notes__review']\n");
    let answers = served(&home, &upstreams, &requests);
    assert_eq!(reported(&answers, 0, "resources", "uri"), ["mcp://notes/note://one"]);
    assert_eq!(answers[2]["error"]["code"], -32002);
    assert_eq!(reported(&answers, 4, "prompts", "name"), ["notes__other", "more__review", "more__other"]);
    assert!(
        answers[5]["error"]["message"].as_str().unwrap().contains("mcp__notes__review"),
        "{}",
        answers[5]
    );
}

#[test]
fn a_gateway_can_be_configured_as_a_server_but_not_of_itself() {
    let home = with_server();
    let tiller = env!("CARGO_BIN_EXE_tiller");
    let added = home.run(&["mcp", "add", "gw", "--", tiller, "mcp:serve", "--upstream", "mine"]);
    assert!(added.status.success(), "{}", stderr(&added));
    let (fine, tools) = json_of(&home, &["mcp:tools", "gw", "--json"]);
    assert!(fine && tools["tools"][0]["function"] == "mcp__gw__mine__look", "{tools}");
    let (fine, called) = json_of(&home, &["mcp", "call", "gw.mine__look", "--json"]);
    assert!(fine && called["data"].as_str().unwrap().contains("CANARY"), "{called}");
    let itself = home.run(&["mcp", "serve", "--upstream", "gw"]);
    assert!(
        !itself.status.success() && stderr(&itself).contains("a gateway cannot serve itself"),
        "{}",
        stderr(&itself)
    );
    let started_by_one =
        home.tiller(&["mcp", "serve", "--upstream", "mine"]).env("TILLER_MCP_SERVING", "1").output();
    let started_by_one = started_by_one.unwrap();
    assert!(!started_by_one.status.success() && stdout(&started_by_one).is_empty());
    for args in [
        &["mcp", "serve"][..],
        &["mcp", "serve", "--upstream", "none"],
        &["mcp", "serve", "--integration", "none"],
    ] {
        let refused = home.run(args);
        assert!(!refused.status.success() && stdout(&refused).is_empty(), "{args:?}");
    }
}

#[test]
fn a_gateway_serves_functions_of_integrations_by_the_same_rules() {
    let service = Service::start(echo);
    let home = with_pets(&service);
    let list = json!({ "method": "tools/list" });
    let requests = [list, call("pets__list_pets"), call("pets__create_pet")];
    let answers = served(&home, &["--integration", "pets"], &requests);
    assert_eq!(names(&answers[0]), ["pets__get_pet", "pets__list_pets"]);
    let text = answers[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("/pets") && text.contains("[secret]"), "{text}");
    assert!(answers[2].to_string().contains("write access is denied"), "{}", answers[2]);
    let answers = served(&home, &["--integration", "pets", "--write", "allow"], &requests);
    assert_eq!(names(&answers[0]).len(), 3);
    let unknown = home.run(&["mcp", "serve", "--integration", "none"]);
    assert!(
        !unknown.status.success() && stderr(&unknown).contains("integrations status"),
        "{}",
        stderr(&unknown)
    );
}

#[test]
fn presets_are_listed_shown_and_added() {
    let (home, _) = stage(&[], 0);
    let (fine, listed) = json_of(&home, &["mcp:preset", "list", "--json"]);
    assert!(fine && listed["success"] == true && listed["presets"].as_array().unwrap().len() > 10);
    let (fine, shown) = json_of(&home, &["mcp", "preset", "show", "github", "--json"]);
    assert!(
        fine && shown["preset"]["server"]["headers"]["Authorization"] == "Bearer @secret:mcp.github.token",
        "{shown}"
    );
    let (fine, added) = json_of(&home, &["mcp", "preset", "add", "memory", "--as", "notes", "--json"]);
    assert!(fine && added["name"] == "notes", "{added}");
    let (_, list) = json_of(&home, &["mcp:list", "--json"]);
    assert!(list["servers"][0]["summary"].as_str().unwrap().contains("server-memory"), "{list}");
    for args in [
        &["mcp", "preset", "add", "memory", "--as", "notes", "--json"][..],
        &["mcp", "preset", "show", "none", "--json"],
        &["mcp", "resource", "none", "x://y", "--json"],
        &["mcp", "prompt", "none", "p", "--json"],
    ] {
        let (fine, failed) = json_of(&home, args);
        assert!(!fine && failed["success"] == false && failed["error"].is_string(), "{args:?}: {failed}");
    }
}
