//! Scripts: in an agent's turn through the editor, and from the command line.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
    model_server::ModelServer,
};
use serde_json::{Value, json};

/// What the model's server streams for an answer with one call, or a text.
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
                local ok, why = pcall(app.tools.bash, {command = 'curl http://127.0.0.1:1'})\n\
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
    // The script was asked about, once; nothing that it called was.
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
    // The editor saw the calls of the script as calls.
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
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((said["success"].as_bool(), output.status.code()), (Some(false), Some(1)));
    assert_eq!(
        (said["output"].as_str(), said["error"].as_str()),
        (Some("1\n"), Some("CPU limit of 0.05 s exceeded."))
    );
    for wrong in
        [&["lua", "run", "missing.lua"][..], &["lua", "run", "-e", "1", "--arg", "n"], &["lua", "run"]]
    {
        assert!(!home.run(wrong).status.success(), "{wrong:?}");
    }
}
