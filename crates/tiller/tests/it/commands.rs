//! Slash commands: the same on every surface, for built-in ones, skills and files.

use crate::{
    agent::Agent,
    editor::Editor,
    home::{Home, stderr, stdout},
};
use serde_json::{Value, json};

const SKILL: &str =
    "---\nname: pdf\ndescription: Reads PDF files\nargument-hint: file\n---\nUse pdftotext.\n";

/// Creates a home with a skill and a command of the user.
fn home() -> Home {
    let home = Home::new();
    home.write("../home/.claude/skills/pdf/SKILL.md", SKILL);
    home.write("../home/.config/tiller/commands/git/fix.md", "---\ndescription: Fixes\n---\nFix $1.\n");
    home
}

/// Replaces what differs between two homes and sessions.
fn normal(home: &Home, session: &str, text: &str) -> String {
    let text = text.replace(session, "SESSION").replace(home.path().to_str().unwrap(), "HOME");
    let lines = text.lines().map(|line| match line.split_once(" UTC, ") {
        Some((before, after)) => {
            // The time of the last change.
            let before = before.rsplit_once(": ").map_or(before, |(before, _)| before);
            format!("{before}: {after}")
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The text of the agent's messages among updates.
fn answer(updates: &[Value]) -> String {
    let chunks = updates.iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// Returns the names of the commands in the last list of an editor's session.
fn listed(updates: &[Value]) -> Vec<String> {
    let last = updates.iter().rev().find(|update| update["sessionUpdate"] == "available_commands_update");
    let commands = last.expect("commands are listed")["availableCommands"].as_array().unwrap();
    commands.iter().map(|command| command["name"].as_str().unwrap().to_owned()).collect()
}

fn in_an_editor(version: u16, ask: impl Fn(&[String]) -> Vec<String>) -> (Vec<String>, Vec<String>) {
    let home = home();
    let mut editor = Editor::without_anything();
    let mut agent = Agent::start(&home, &[]);
    let params = match version {
        1 => json!({ "protocolVersion": 1, "clientCapabilities": {} }),
        _ => json!({ "protocolVersion": 2, "info": { "name": "e", "version": "1" }, "capabilities": {} }),
    };
    agent.ask("initialize", params).unwrap();
    let session = agent.new_session(&home);
    let mut run = |agent: &mut Agent, prompt: &str| {
        let seen = agent.updates.len();
        match version {
            1 => drop(agent.prompt(&session, prompt, &mut editor).unwrap()),
            _ => drop(agent.turn(&session, prompt, &mut editor)),
        }
        normal(&home, &session, &answer(&agent.updates[seen..]))
    };
    // The commands from files are known when a turn has begun.
    run(&mut agent, "/rename Before");
    let names = listed(&agent.updates);
    let answers = ask(&names).iter().map(|prompt| run(&mut agent, prompt)).collect();
    (names, answers)
}

fn in_a_program(prompts: &[String]) -> Vec<String> {
    let home = home();
    let mut agent = Agent::start(&home, &["--events", "tiller"]);
    agent.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).unwrap();
    let session = agent.new_session(&home);
    let run = |agent: &mut Agent, prompt: &str| {
        let content = json!([{ "type": "text", "text": prompt }]);
        let id = agent.post("session/prompt", json!({ "sessionId": session, "prompt": content }));
        let mut text = String::new();
        loop {
            let message = agent.receive().expect("an answer, not the end");
            if message["id"] == id {
                return normal(&home, &session, &text);
            }
            if message["method"] == "_tiller/text_delta" {
                text.push_str(message["params"]["delta"].as_str().unwrap());
            }
        }
    };
    run(&mut agent, "/rename Before");
    prompts.iter().map(|prompt| run(&mut agent, prompt)).collect()
}

fn headless(prompts: &[String]) -> Vec<String> {
    let home = home();
    let begun = stdout(&home.run(&["-p", "/rename Before", "-o", "json"]));
    let begun: Value = serde_json::from_str(&begun).unwrap();
    let session = begun["session_id"].as_str().unwrap().to_owned();
    let run = |prompt: &String| {
        let output = home.run(&["-p", prompt, "--session", &session]);
        // A command without the text that it needs is refused.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{prompt}: {}", stderr(&output));
        normal(&home, &session, &stdout(&output))
    };
    prompts.iter().map(run).collect()
}

#[test]
fn every_command_answers_the_same_on_every_surface() {
    let prompts = |names: &[String]| -> Vec<String> {
        let mut prompts: Vec<_> = names.iter().map(|name| format!("/{name}")).collect();
        prompts.extend(["/rename A title", "/sessions title", "/sessions absent"].map(str::to_owned));
        prompts
    };
    let (names, first) = in_an_editor(1, prompts);
    for name in [
        "help", "edit", "guardian", "usage", "review", "rename", "sessions", "models", "skills", "pdf",
        "git:fix",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    let (second_names, second) = in_an_editor(2, prompts);
    assert_eq!(names, second_names);
    let prompts = prompts(&names);
    let (program, headless) = (in_a_program(&prompts), headless(&prompts));
    for (at, prompt) in prompts.iter().enumerate() {
        assert!(!first[at].is_empty(), "{prompt}");
        assert_eq!(first[at], second[at], "{prompt}: version 1 and 2");
        assert_eq!(first[at], program[at], "{prompt}: the native layer");
        // A run without a user has a longer system prompt, which these count.
        let text = |text: &str| match prompt.as_str() {
            "/context" | "/usage" => text.replace(|c: char| c.is_ascii_digit(), ""),
            _ => text.to_owned(),
        };
        assert_eq!(text(&first[at]), text(&headless[at]), "{prompt}: headless");
    }
}

#[test]
fn an_editor_shows_what_the_user_typed_when_a_session_is_loaded() {
    let home = home();
    let mut editor = Editor::without_anything();
    let mut agent = Agent::start(&home, &[]);
    agent.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).unwrap();
    let session = agent.new_session(&home);
    agent.prompt(&session, "/pdf a.pdf", &mut editor).unwrap();
    agent.hang_up();
    let mut again = Agent::start(&home, &[]);
    again.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).unwrap();
    again
        .ask("session/load", json!({ "sessionId": session, "cwd": home.project(), "mcpServers": [] }))
        .unwrap();
    let shown: Vec<_> =
        again.updates.iter().filter(|update| update["sessionUpdate"] == "user_message_chunk").collect();
    assert_eq!(shown[0]["content"]["text"], "/pdf a.pdf");
    assert_eq!(shown[1]["content"]["type"], "resource", "the skill is an attachment: {shown:?}");
    assert_eq!(shown.len(), 2);
}
