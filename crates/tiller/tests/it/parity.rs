//! The model gets the same results from local tools and from tools in the editor.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stdout},
};
use serde_json::Value;

/// Returns the results of a session's tools as the model received them.
fn tool_results(home: &Home, session: &str) -> Vec<(String, String, bool)> {
    let output = home.run(&["sessions", "show", session, "--jsonl"]);
    let lines = stdout(&output);
    let results = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let results = results.filter(|line| line["type"] == "tool_result");
    results
        .map(|line| {
            let text = |field: &str| line[field].as_str().unwrap().to_owned();
            (text("name"), text("output"), line["success"].as_bool().unwrap())
        })
        .collect()
}

#[test]
fn the_tools_return_the_same_locally_and_through_the_editor() {
    let home = Home::new();
    let prompts = [
        "show a.txt",
        "replace \"one\" with \"uno\" in a.txt",
        "create new/b.txt with \"hello\"",
        "show missing.txt",
        "replace \"absent\" with \"x\" in a.txt",
        "run printf 'out\\n'",
        "run sh -c 'echo gone; exit 3'",
        "search for \"two\"",
    ];
    let play = |mut editor: Editor| {
        home.write("a.txt", "one\ntwo\n");
        // The second run must not find the files of the first one.
        let _ = std::fs::remove_dir_all(home.project().join("new"));
        let (mut agent, session) = Agent::open(&home, &["--yolo"], &editor);
        for prompt in prompts {
            agent.prompt(&session, prompt, &mut editor).unwrap();
        }
        agent.hang_up();
        let asked = editor.log.len();
        (tool_results(&home, &session), asked)
    };
    let (local, asked_locally) = play(Editor::without_anything());
    let (through, asked) = play(Editor::with_everything());
    assert_eq!(asked_locally, 0);
    assert!(asked >= 5, "reads, writes and terminals went through the editor: {asked}");
    for tool in ["file_read", "file_write", "file_edit", "bash"] {
        assert!(local.iter().any(|(name, ..)| name == tool), "{tool} was not used: {local:#?}");
    }
    assert_eq!(local, through);
}
