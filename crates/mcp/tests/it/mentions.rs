//! Prompts of servers as slash commands, and resources that prompts mention.

use crate::{
    fake_machine::{FakeMachine, Reaction, default_reactions, tool},
    test_session::TestSession,
};
use agent::{Content, Message, SessionEvent, StopReason, fake::Reply};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Adds a server with prompts and resources; each call of its tool adds a prompt.
fn server(machine: &FakeMachine) {
    let more = Arc::new(AtomicUsize::new(0));
    machine.answers("docs", move |message| {
        let params = &message["params"];
        let prompt = |name: &str, arguments: Value| {
            json!({ "name": name, "description": format!("Says {name}\u{1b}[2J"), "arguments": arguments })
        };
        match message["method"].as_str() {
            Some("initialize") => vec![Reaction::Reply(json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": {}, "prompts": { "listChanged": true }, "resources": {} },
                "serverInfo": { "name": "docs", "version": "1" },
            }))],
            Some("prompts/list") => {
                let mut prompts = vec![prompt("review", json!([{ "name": "file", "required": true }, { "name": "how" }]))];
                prompts.extend((0..more.load(Ordering::Relaxed)).map(|n| prompt(&format!("more{n}"), json!([]))));
                vec![Reaction::Reply(json!({ "prompts": prompts }))]
            }
            Some("prompts/get") => {
                let text = |role: &str, text: String| json!({ "role": role, "content": { "type": "text", "text": text } });
                let image = json!({ "role": "user", "content": { "type": "image", "mimeType": "image/png", "data": crate::PNG } });
                let given = params["arguments"].to_string();
                vec![Reaction::Reply(json!({ "messages": [text("user", format!("Review: {given}")), text("assistant", "Gladly.".to_owned()), image] }))]
            }
            Some("resources/list") => vec![Reaction::Reply(json!({ "resources": [{ "uri": "note://one", "name": "one" }] }))],
            Some("resources/read") if params["uri"] == "note://gone" => vec![Reaction::Fail("no such note")],
            Some("resources/read") => {
                let uri = &params["uri"];
                let text = if *uri == "note://long" { "x".repeat(1_000_000) } else { format!("the text of {uri}") };
                vec![Reaction::Reply(json!({ "contents": [{ "uri": uri, "text": text }] }))]
            }
            Some("tools/call") => {
                more.fetch_add(1, Ordering::Relaxed);
                let changed = json!({ "jsonrpc": "2.0", "method": "notifications/prompts/list_changed" });
                vec![Reaction::Line(changed.to_string()), Reaction::Reply(json!({ "content": [] }))]
            }
            _ => default_reactions(message, &json!([tool("more")])),
        }
    });
}

/// Returns the last user message in the model's requests.
fn user_content(stage: &TestSession) -> Vec<Content> {
    let last = stage.model.requests().pop().unwrap().messages.pop();
    let Some(Message::User(content)) = last else { panic!("{last:?}") };
    agent::fake::said(&content).to_vec()
}

fn texts(content: &[Content]) -> String {
    let text = |item: &Content| match item {
        Content::Text(text) => Some(text.clone() + "\n"),
        _ => None,
    };
    content.iter().filter_map(text).collect()
}

fn replies(count: usize) -> Vec<Reply> {
    (0..count).map(|_| Reply::text("done")).collect()
}

async fn stage(replies: Vec<Reply>) -> TestSession {
    let machine = FakeMachine::new();
    server(&machine);
    TestSession::open(machine, &["docs"], replies).await
}

/// Returns the servers' slash commands of the last update that the client received.
fn listed(stage: &TestSession) -> Option<Vec<String>> {
    let commands = stage.client.events().into_iter().rev().find_map(|event| match event {
        SessionEvent::Commands(commands) => Some(commands),
        _ => None,
    })?;
    assert!(commands.iter().any(|command| command.name == "help"), "the built-in ones are among them");
    let own = commands.into_iter().filter(|command| command.name.starts_with("mcp__"));
    Some(own.map(|command| format!("{}: {} {:?}", command.name, command.description, command.hint)).collect())
}

#[tokio::test(start_paused = true)]
async fn a_servers_prompts_become_slash_commands_once_they_are_listed() {
    let script = vec![Reply::calls(&[("mcp__docs__more", json!({}))]), Reply::text("done")];
    let stage = stage(script).await;
    stage.client.until(|_| listed(&stage).is_some()).await;
    let review = "mcp__docs__review: docs: Says review Some(\"file [how]\")";
    assert_eq!(listed(&stage).unwrap(), [review]);
    let names = |stage: &TestSession| {
        stage.session.commands().into_iter().map(|command| command.name).collect::<Vec<_>>()
    };
    assert!(names(&stage).contains(&"mcp__docs__review".into()));
    stage.prompt("go").await;
    stage.client.until(|_| listed(&stage).unwrap().len() == 2).await;
    assert!(names(&stage).contains(&"mcp__docs__more0".into()));
}

#[tokio::test(start_paused = true)]
async fn a_prompt_command_sends_its_messages_to_the_model() {
    let stage = stage(replies(1)).await;
    stage.prompt("/mcp__docs__review src/a.rs how=\"very closely\"").await;
    let content = user_content(&stage);
    let text = texts(&content);
    assert!(text.contains(r#"Review: {"file":"src/a.rs","how":"very closely"}"#), "{text}");
    assert!(text.contains("[as the assistant] Gladly."), "{text}");
    assert!(content.iter().any(|item| matches!(item, Content::Image { .. })), "an image stays an image");
    let recorded = stage.client.events().into_iter().find_map(|event| match event {
        SessionEvent::UserMessage { content, .. } => Some(content),
        _ => None,
    });
    assert!(
        texts(&recorded.unwrap()).contains("Review:"),
        "it is said again to whoever opens the session later"
    );
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_fails_ends_the_turn_with_the_reason() {
    let stage = stage(replies(1)).await;
    for (prompt, part) in
        [("/mcp__docs__review", "needs file"), ("/mcp__docs__nothing x", "no prompt for /mcp__docs__nothing")]
    {
        let before = stage.client.text().len();
        assert_eq!(stage.prompt(prompt).await.stop_reason, StopReason::EndTurn);
        let answer = stage.client.text()[before..].to_owned();
        assert!(answer.contains(part), "{prompt}: {answer}");
    }
    let unknown = stage.prompt("/mcp__other__x y").await;
    assert_eq!(unknown.command, Some(agent::CommandOutcome::Unknown));
    assert!(stage.model.requests().is_empty(), "the model is not asked");
}

#[tokio::test(start_paused = true)]
async fn a_mentioned_resource_is_attached() {
    let stage = stage(replies(1)).await;
    stage.prompt("Compare @docs:note://one with @docs:note://gone, and mail x@docs:y or @nobody:z.").await;
    let text = texts(&user_content(&stage));
    assert!(text.contains("Attached: note://one\n```\nthe text of \"note://one\"\n```"), "{text}");
    assert_eq!(text.matches("Attached:").count(), 1, "{text}");
    assert!(stage.notices().contains("note://gone of the MCP server 'docs' is not attached: no such note"));
    assert_eq!(stage.machine.received().with_method("docs", "resources/read").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_link_with_a_servers_scheme_is_attached_up_to_a_limit_and_no_other_link() {
    let stage = stage(replies(1)).await;
    let link = |uri: &str| Content::ResourceLink { uri: uri.to_owned(), name: "n".to_owned() };
    let links = ["note://long", "https://x/", "other://x"].map(link);
    let prompt = [vec![Content::text("look")], links.to_vec()].concat();
    stage.session.prompt(prompt).await.unwrap();
    let text = texts(&user_content(&stage));
    assert!(text.contains("Attached: note://long") && text.contains("the whole has 1000000 bytes"));
    assert!(text.len() < 150_000, "{}", text.len());
    assert_eq!(text.matches("Attached by name only").count(), 2, "{}", &text[text.len() - 300..]);
}

#[tokio::test(start_paused = true)]
async fn a_mentioned_file_follows_the_rules_for_files() {
    let machine = FakeMachine::new();
    server(&machine);
    for file in ["/w/a.txt", "/w/.env", "/home/other"] {
        machine.files().add_file(file, "x");
    }
    let stage = TestSession::open(machine, &["docs"], replies(1)).await;
    stage.prompt("@docs:file:///w/a.txt @docs:file:///w/.env @docs:file:///home/other @docs:FILE:///w/.env @docs:file:/w/.env").await;
    let read = stage.machine.received().with_method("docs", "resources/read");
    let uris: Vec<_> = read.iter().map(|message| message["params"]["uri"].clone()).collect();
    assert_eq!(uris, ["file:///w/a.txt"]);
    assert!(stage.notices().contains("file:///w/.env is not attached"), "{}", stage.notices());
}

#[tokio::test(start_paused = true)]
async fn denied_prompts_and_resources_are_neither_sent_nor_attached() {
    let machine = FakeMachine::new();
    server(&machine);
    let denied = ["mcp__docs__review", "mcp__docs__read_resource"];
    let stage = TestSession::open_denying(machine, &["docs"], replies(1), &denied).await;
    stage.prompt("/mcp__docs__review a").await;
    assert!(
        stage.model.requests().is_empty() && stage.client.text().contains("denied"),
        "{}",
        stage.client.text()
    );
    stage.prompt("look at @docs:note://one").await;
    assert!(!texts(&user_content(&stage)).contains("Attached"));
    assert!(stage.machine.received().with_method("docs", "resources/read").is_empty());
}
