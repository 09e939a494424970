//! Slash commands that answer without the model, and those that become prompts.

use crate::stage::{Setting, Stage, stage};
use agent::fake::Reply;
use agent::{Content, Message, SessionEvent};

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
