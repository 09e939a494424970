//! A conversation that exceeds its model's context, in the real program: the editor gets the
//! compaction updates, and after a kill the session is complete.

use crate::{agent::Agent, editor::Editor, home::Home, model_server::ModelServer};
use serde_json::{Value, json};

fn says(text: &str) -> String {
    let chunk = |delta: Value, reason: Value| {
        format!(
            "data: {}\n\n",
            json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
        )
    };
    chunk(json!({ "content": text }), Value::Null) + &chunk(json!({}), json!("stop"))
}

/// Returns the compaction updates, without the text of the summary.
fn reported(agent: &Agent) -> Vec<String> {
    let about = |update: &Value| match update["sessionUpdate"].as_str() {
        Some("compaction_update") => Some(format!("{} {}", update["compactionId"], update["status"])),
        Some("compaction_summary_chunk") => Some(format!("{} …", update["compactionId"])),
        _ => None,
    };
    agent.updates.iter().filter_map(about).collect()
}

#[test]
fn compaction_is_reported_and_a_killed_session_is_restored() {
    let server = ModelServer::start(vec![
        says("First answer."),
        says("## Goal\nCount words.\n"),
        says("Second answer."),
        says("Third answer."),
    ]);
    let home = Home::new();
    home.settings(
        "agent.default_model = 'openai/gpt-4o'\nproviders.openai.wire = 'chat'\ncontext.compact_threshold = 10",
    );
    let variables = [("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", server.url.as_str())];
    let mut editor = Editor::without_anything();
    let mut capabilities = editor.capabilities();
    capabilities["session"] = json!({ "compaction": {} });

    let mut agent = Agent::start_with(&home, &[], &variables);
    agent.initialize(capabilities.clone());
    let session = agent.new_session(&home);
    let long = "many words ".repeat(5_000);
    assert_eq!(agent.prompt(&session, &long, &mut editor).unwrap(), "end_turn");
    assert_eq!(agent.prompt(&session, "and now?", &mut editor).unwrap(), "end_turn");
    let once = [r#""compaction_1" "in_progress""#, r#""compaction_1" …"#, r#""compaction_1" "completed""#];
    assert_eq!(reported(&agent), once);
    agent.kill();

    let mut agent = Agent::start_with(&home, &[], &variables);
    agent.initialize(capabilities);
    let load = json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [] });
    agent.call("session/load", load, &mut editor).unwrap();
    assert_eq!(reported(&agent), [once[2]], "what is over is not played back as going on");
    let kinds: Vec<_> =
        agent.updates.iter().map(|update| update["sessionUpdate"].as_str().unwrap()).collect();
    let at = |kind: &str| kinds.iter().position(|other| *other == kind).unwrap();
    assert!(at("user_message_chunk") < at("compaction_update"), "{kinds:?}");
    let printed = |text: &str| agent.updates.iter().any(|update| update["content"]["text"] == text);
    assert!(printed(&long) && printed("First answer.") && printed("Second answer."), "{kinds:?}");

    assert_eq!(agent.prompt(&session, "go on", &mut editor).unwrap(), "end_turn");
    agent.hang_up();
    let requests: Vec<Value> =
        server.requests.iter().map(|(_, body)| serde_json::from_str(&body).unwrap()).collect();
    assert_eq!(requests[1]["tools"], Value::Null, "a summary needs no tools");
    for request in &requests[2..] {
        let messages = request["messages"].to_string();
        assert!(
            messages.contains("Count words.") && !messages.contains("many words many words"),
            "{messages}"
        );
    }
    assert!(requests[3]["messages"].to_string().contains("Second answer."));
}
