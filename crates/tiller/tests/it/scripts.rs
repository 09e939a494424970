//! Lua scripts in an agent's turn through the editor, and from the command line.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
    model_server::ModelServer,
};
use serde_json::{Value, json};

/// The model server's streams: an answer with one script call, then a text.
fn answers(code: &str) -> Vec<String> {
    let chunk = |delta: Value, end: Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] }))
    };
    let function = json!({ "name": "execute_lua", "arguments": json!({ "code": code }).to_string() });
    let call =
        json!({ "tool_calls": [{ "index": 0, "id": "c0", "type": "function", "function": function }] });
    vec![
        chunk(call, Value::Null) + &chunk(json!({}), json!("tool_calls")),
        chunk(json!({ "content": "Done." }), Value::Null) + &chunk(json!({}), json!("stop")),
    ]
}

#[test]
fn a_script_of_the_model_reads_and_writes_through_the_editor() {
    let code = "local text = app.tools.file_read{path = 'a.txt'}\n\
                app.tools.file_write{path = 'b.txt', content = text:match('unsaved')}\n\
                local ok, why = pcall(app.tools.bash, {command = 'git push ./r'})\n\
                print(why)\n\
                return #text:gsub('[^u]', ''), ok";
    let server = ModelServer::start(answers(code));
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'\n");
    home.write("a.txt", "saved\n");
    let mut editor = Editor::with_everything();
    editor.buffers.insert(home.file("a.txt"), "unsaved\n".to_owned());
    let variables = [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", server.url.as_str())];
    let mut agent = Agent::start_with(&home, &["-m", "openai/test"], &variables);
    agent.initialize(editor.capabilities());
    let session = agent.new_session(&home);
    agent.prompt(&session, "go", &mut editor).unwrap();
    // One permission request for the script, none for its calls.
    assert_eq!(
        editor.log.iter().filter(|line| line.starts_with("permission")).count(),
        1,
        "{:?}",
        editor.log
    );
    assert!(
        editor.log.iter().any(|line| *line == format!("read {}", home.file("a.txt"))),
        "{:?}",
        editor.log
    );
    assert_eq!(home.read("b.txt").as_deref(), Some("unsaved"));
    let (_, request) = server.requests.iter().nth(1).unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let result =
        messages.iter().find(|message| message["role"] == "tool").unwrap()["content"].as_str().unwrap();
    assert!(result.contains("Native tool 'bash' requires approval and cannot prompt"), "{result}");
    assert!(result.contains("Return value: 1\tfalse\nExecution time: "), "{result}");
    // The editor received the script's calls as tool calls.
    let ended = |id: &str| {
        agent.updates.iter().any(|update| update["toolCallId"] == id && update["status"] == "completed")
    };
    assert!(ended("tool_0.1") && ended("tool_0.2") && ended("tool_0"), "{:#?}", agent.updates);
    agent.hang_up();
}

#[test]
fn scripts_run_from_the_command_line() {
    let home = Home::new();
    home.write("sum.lua", "print('adding')\nreturn n + 1");
    let output = home.run(&["lua", "run", "sum.lua", "--arg", "n=41"]);
    assert_eq!(stdout(&output), "adding\n42\n", "{}", stderr(&output));
    let output = home.run(&["lua", "run", "--eval", "1 + 1"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("2\n", Some(0)));
    let output = home.run(&["lua", "run", "--eval", "error('no')"]);
    assert_eq!((stderr(&output).as_str(), output.status.code()), ("tiller: eval:1: no\n", Some(1)));
    let output = home.run(&["lua", "run", "--json", "--cpu", "0.05", "-e", "print(1) while true do end"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((result["success"].as_bool(), output.status.code()), (Some(false), Some(1)));
    assert_eq!(
        (result["output"].as_str(), result["error"].as_str()),
        (Some("1\n"), Some("CPU limit of 0.05 s exceeded."))
    );
    for wrong in
        [&["lua", "run", "missing.lua"][..], &["lua", "run", "-e", "1", "--arg", "n"], &["lua", "run"]]
    {
        assert!(!home.run(wrong).status.success(), "{wrong:?}");
    }
}

/// An MCP server with a resource and prompts, without tools.
const NOTES: &str = r#"
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    long=$(printf '%060000d' 0)
    case $line in
    *'"method":"initialize"'*) reply '{"protocolVersion":"2025-06-18","capabilities":{"resources":{},"prompts":{}},"serverInfo":{"name":"n","version":"1"}}' ;;
    *'"method":"resources/list"'*) reply '{"resources":[{"uri":"note://one","name":"one"}]}' ;;
    *'"method":"resources/read"'*) reply '{"contents":[{"uri":"note://one","text":"'"$long"'"}]}' ;;
    *'"method":"prompts/list"'*) reply '{"prompts":[{"name":"review"},{"name":"other"}]}' ;;
    *'"method":"prompts/get"'*) reply '{"messages":[{"role":"user","content":{"type":"text","text":"Review it."}}]}' ;;
    esac
done
"#;

/// Returns the result of a script in a model's turn, with these settings.
fn in_a_turn(settings: &str, code: &str) -> String {
    let home = Home::new();
    home.settings(&format!("providers.openai.wire = 'chat'\n{settings}"));
    let added = home.run(&["mcp", "add", "notes", "--", "sh", "-c", NOTES]);
    assert!(added.status.success(), "{}", stderr(&added));
    run_in_a_turn(&home, code)
}

/// The same in a home whose settings use OpenAI's `chat` wire.
pub(crate) fn run_in_a_turn(home: &Home, code: &str) -> String {
    turn(home, code).0
}

/// The same, with the updates for the editor.
pub(crate) fn turn(home: &Home, code: &str) -> (String, Vec<Value>) {
    turn_with(home, code, &[])
}

/// The same, with an editor that has unsaved buffers of these files.
pub(crate) fn turn_with(home: &Home, code: &str, open: &[(&str, &str)]) -> (String, Vec<Value>) {
    let server = ModelServer::start(answers(code));
    let mut editor = Editor::with_everything();
    for (name, text) in open {
        editor.buffers.insert(home.file(name), (*text).to_owned());
    }
    let variables = [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", server.url.as_str())];
    let mut agent = Agent::start_with(home, &["-m", "openai/test"], &variables);
    agent.initialize(editor.capabilities());
    let session = agent.new_session(home);
    agent.prompt(&session, "go", &mut editor).unwrap();
    agent.hang_up();
    let (_, request) = server.requests.iter().nth(1).unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let result = messages.iter().find(|message| message["role"] == "tool").unwrap();
    let text = result["content"].as_str().unwrap();
    (text.split("\nExecution time: ").next().unwrap().to_owned(), std::mem::take(&mut agent.updates))
}

#[test]
fn a_script_of_the_model_reads_resources_and_fills_in_prompts_of_the_sessions_servers() {
    let code = "local names = {}\n\
                for _, prompt in ipairs(mcp.prompts('notes')) do names[#names + 1] = prompt.name end\n\
                return mcp.resources('notes')[1].uri, #mcp.read_resource('notes', 'note://one')[1].text,\n\
                table.concat(names, ' '), mcp.get_prompt('notes', 'review').messages[1].content.text";
    let allowed = "mcp.servers.notes.permissions.read = 'allow'\n";
    assert_eq!(in_a_turn(allowed, code), "Return value: note://one\t60000\treview other\tReview it.");
    let code = "local _, reads = pcall(mcp.resources, 'notes')\n\
                local _, fills_in = pcall(mcp.get_prompt, 'notes', 'review')\n\
                local _, other = pcall(mcp.get_prompt, 'nobody', 'review')\n\
                print(reads) print(fills_in) print(other)";
    let result = in_a_turn("", code);
    for name in ["read_resource", "review"] {
        let text = format!("Native tool 'mcp__notes__{name}' requires approval and cannot prompt");
        assert!(result.contains(&text), "{result}");
    }
    assert!(result.ends_with("Unknown MCP server: nobody"), "{result}");
    let denied = format!("{allowed}tools.denied_tools = ['mcp__notes__review']\n");
    let result =
        in_a_turn(&denied, "return mcp.resources('notes')[1].name, mcp.get_prompt('notes', 'review')");
    assert!(result.contains("mcp__notes__review") && !result.contains("Review it."), "{result}");
}
