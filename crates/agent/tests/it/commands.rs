//! Slash commands that answer without the model, and those that become prompts.

use crate::stage::{Setting, Stage, stage};
use agent::fake::Reply;
use agent::{CommandOutcome, Content, Message, Mode, ModelError, PermissionMode, SessionEvent};

/// Returns the text of the last answer.
fn answer(stage: &Stage) -> String {
    let answers = stage.client.events().into_iter().filter_map(|event| match event {
        SessionEvent::ModelResponse(response) => Some(response.text()),
        _ => None,
    });
    answers.last().expect("the turn was answered")
}

async fn ask(stage: &Stage, prompt: &str) -> String {
    stage.prompt(prompt).await.unwrap();
    answer(stage)
}

#[tokio::test]
async fn usage_says_what_each_model_used_and_the_model_does_not_see_the_question() {
    let stage =
        stage(Setting { script: vec![Reply::text("one"), Reply::text("two")], ..Setting::default() }).await;
    assert_eq!(ask(&stage, "/usage").await, "No model was called in this session yet.\n");
    stage.prompt("go").await.unwrap();
    let total = stage.prompt("go on").await.unwrap().total;
    let text = ask(&stage, "/usage").await;
    let used =
        format!("{} input tokens and {} output tokens; their price is not known", total.input, total.output);
    assert!(total.output > 0, "{total:?}");
    let model = stage.session.state().model;
    assert_eq!(text, format!("This session used {used}.\n\n- `{model}`: {used}\n"));
    assert_eq!(stage.model.requests().len(), 2, "no command calls the model");
}

#[tokio::test]
async fn a_session_is_renamed_listed_and_found() {
    let stage = stage(Setting { script: vec![Reply::text("a parser")], ..Setting::default() }).await;
    stage.prompt("write it").await.unwrap();
    assert_eq!(ask(&stage, "/rename  Two\twords ").await, "The title is now: Two words");
    assert_eq!(stage.session.state().title.as_deref(), Some("Two words"));
    let refused = ask(&stage, "/rename").await;
    assert!(refused.starts_with("Nothing was changed"), "{refused}");
    assert_eq!(stage.session.state().title.as_deref(), Some("Two words"));
    let id = stage.session.id();
    let listed = ask(&stage, "/sessions").await;
    assert!(listed.starts_with("Sessions of /w") && listed.contains(&format!("- `{id}`: ")), "{listed}");
    assert!(listed.contains("Two words (this session)"), "{listed}");
    let found = ask(&stage, "/sessions PARSER").await;
    assert!(found.contains(id.as_str()) && found.contains("a parser"), "{found}");
    let missed = ask(&stage, "/sessions absent").await;
    assert!(missed.starts_with("No session of /w contains \"absent\""), "{missed}");
}

#[tokio::test]
async fn a_review_is_stored_as_typed_and_sent_with_its_instructions() {
    let stage = stage(Setting { script: vec![Reply::text("no findings")], ..Setting::default() }).await;
    stage.prompt("/review HEAD~2..").await.unwrap();
    let requests = stage.model.requests();
    let Some(Message::User(sent)) = requests[0].messages.last() else { panic!("{requests:?}") };
    let texts: Vec<_> = sent
        .iter()
        .filter_map(|item| match item {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(texts.contains(&"/review HEAD~2.."), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("Review what the user named: HEAD~2..")), "{texts:?}");
    let stored = stage.stored().await;
    let content = stored.iter().find_map(|event| match event {
        SessionEvent::UserMessage { content, .. } => Some(content.clone()),
        _ => None,
    });
    let content = content.unwrap();
    assert_eq!(content[0], Content::text("/review HEAD~2.."));
    assert!(
        matches!(&content[1..], [Content::Resource { uri, .. }] if uri == "tiller:/review"),
        "{content:?}"
    );
    assert_eq!(stage.session.state().title.as_deref(), Some("/review HEAD~2.."));
}

/// Returns the last message of the user in a request.
fn last_message(stage: &Stage, request: usize) -> Vec<Content> {
    let requests = stage.model.requests();
    let Some(Message::User(content)) = requests[request].messages.last() else { panic!("{requests:?}") };
    content
        .iter()
        .filter(|item| !matches!(item, Content::Text(text) if text.contains("Mode:")))
        .cloned()
        .collect()
}

#[tokio::test]
async fn a_mode_command_with_a_text_switches_and_sends_it() {
    let script = vec![Reply::text("So."), Reply::text("Thus.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let outcome = stage.prompt("/plan how do I begin?").await.unwrap();
    assert_eq!((outcome.command, outcome.requests), (None, 1));
    assert_eq!(stage.session.state().mode, Mode::Plan);
    assert_eq!(stage.session.state().title.as_deref(), Some("how do I begin?"));
    assert_eq!(last_message(&stage, 0).last(), Some(&Content::text("how do I begin?")));
    let link = Content::ResourceLink { uri: "file:///w/a.txt".to_owned(), name: "a.txt".to_owned() };
    stage.session.prompt(vec![link, Content::text(" /argus and this?")]).await.unwrap();
    assert_eq!(stage.session.state().permission_mode, PermissionMode::Argus);
    let sent = format!("{:?}", last_message(&stage, 1));
    assert!(sent.contains("one") && sent.contains("and this?") && !sent.contains("/argus"), "{sent}");
}

#[tokio::test]
async fn a_command_tells_how_it_ended() {
    use CommandOutcome::{Done, Refused, Unknown};
    let script = vec![Reply::text("Hm."), Reply::text("So.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    for (prompt, outcome, says) in [
        ("/usage", Done, "No model was called"),
        ("/rewind 9", Refused, "Nothing was changed: there is no turn 9"),
        ("/goal x --budget", Refused, "--budget needs a number of tokens"),
        ("/tasks please", Refused, "/tasks takes: clear"),
        ("/forget #9", Refused, "not found"),
        ("/retry", Refused, "did not fail"),
        ("/bananas", Unknown, "there is no command /bananas"),
        ("/usgae now", Unknown, "did you mean /usage?"),
    ] {
        let ended = stage.prompt(prompt).await.unwrap();
        assert_eq!((ended.command, ended.requests), (Some(outcome), 0), "{prompt}");
        let text = answer(&stage);
        assert!(text.contains(says), "{prompt}: {text}");
    }
    assert_eq!(stage.session.state().title, None, "a command gives no title");
    for path in ["/tmp is full", " /bananas are yellow"] {
        assert_eq!(stage.prompt(path).await.unwrap().command, None, "{path}");
    }
}

#[tokio::test]
async fn a_command_between_leaves_a_failure_to_be_retried() {
    let script = vec![Reply::error(ModelError::BadResponse("broke".to_owned())), Reply::text("Done.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    assert!(stage.prompt("begin").await.is_err());
    for between in ["/model nope/x", "/modle x", "/usage"] {
        assert!(stage.prompt(between).await.unwrap().command.is_some());
    }
    assert_eq!(stage.prompt("/retry").await.unwrap().requests, 1);
    assert_eq!(last_message(&stage, 1).last(), Some(&Content::text("begin")));
}
