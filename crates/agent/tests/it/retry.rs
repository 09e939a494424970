//! Turns that ask the model again: `/retry`, and the next model after a provider failed.

use crate::stage::{Setting, Stage, stage};
use agent::fake::{FakeClient, FakeModel, MemoryStore, Reply};
use agent::{
    Content, CreateSession, LanguageModel, Message, ModelError, ModelEvent, ModelInfo, Models, OpenSession,
    Runtime, RuntimeOptions, SessionEvent, SessionStart, StopReason, Surface, TurnEnd, TurnError,
};
use async_trait::async_trait;
use std::sync::Arc;
use system::{AbsPath, FakeSystem};

fn busy() -> ModelError {
    ModelError::Overloaded("the provider is busy; wait a little".to_owned())
}

/// Returns the messages of the last request, without briefings, each with its sender.
fn sent(model: &FakeModel) -> Vec<String> {
    let requests = model.requests();
    let said = |message: &Message| match message {
        Message::User(content) => content
            .iter()
            .filter_map(|item| match item {
                Content::Text(text) if !text.starts_with('<') => Some(format!("user: {text}")),
                _ => None,
            })
            .collect(),
        Message::Assistant(answer) => vec![format!("model: {}", answer.text())],
    };
    requests.last().expect("the model was asked").messages.iter().flat_map(said).collect()
}

async fn told(stage: &Stage) -> usize {
    let is_message = |event: &&SessionEvent| matches!(event, SessionEvent::UserMessage { .. });
    stage.stored().await.iter().filter(is_message).count()
}

#[tokio::test]
async fn a_failed_turn_is_tried_again_without_another_message_of_the_user() {
    let script = vec![Reply::error(busy()), Reply::text("now it works"), Reply::text("bye")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    assert_eq!(stage.prompt("fix it").await.unwrap_err(), TurnError::Model(busy()));
    // A command in between does not matter.
    stage.prompt("/usage").await.unwrap();
    let mut again = stage.session.start(vec![Content::text("/retry")]);
    assert!(again.inserted().await.is_some(), "it stands for the message that was stored");
    assert_eq!(again.settled().await.unwrap().stop_reason, StopReason::EndTurn);
    let asked = sent(&stage.model);
    assert_eq!(asked.iter().filter(|said| said.contains("fix it")).count(), 1, "{asked:?}");
    assert!(!asked.iter().any(|said| said.contains("retry")), "{asked:?}");
    assert_eq!(told(&stage).await, 2, "the prompt and /usage");
    stage.prompt("thanks").await.unwrap();
    let asked = sent(&stage.model);
    assert_eq!(asked[asked.len() - 2..], ["model: now it works", "user: thanks"]);
}

#[tokio::test]
async fn nothing_is_tried_again_where_nothing_failed() {
    let script = vec![Reply::text("done")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    for before in [None, Some("hello")] {
        if let Some(prompt) = before {
            stage.prompt(prompt).await.unwrap();
        }
        stage.prompt("/retry").await.unwrap();
        let events = stage.stored().await;
        let last = events.iter().rev().find_map(|event| match event {
            SessionEvent::ModelResponse(response) => Some(response.text()),
            _ => None,
        });
        assert_eq!(last.as_deref(), Some("Nothing was asked again: the last turn did not fail."));
    }
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_that_broke_off_is_asked_for_from_its_beginning() {
    let broken = Reply::Events(vec![
        Ok(ModelEvent::Text("half an ans".to_owned())),
        Err(ModelError::Transport("the connection was lost; try again".to_owned())),
    ]);
    let stage = stage(Setting { script: vec![broken, Reply::text("whole")], ..Setting::default() }).await;
    stage.prompt("tell me").await.unwrap_err();
    stage.prompt("/retry").await.unwrap();
    let asked = sent(&stage.model);
    let last = &asked[asked.len() - 2..];
    assert_eq!(last[0], "model: half an ans");
    assert!(last[1].contains("broke off"), "{last:?}");
}

#[tokio::test]
async fn a_session_that_was_stored_after_a_failure_tries_again_when_it_is_opened() {
    let script = vec![Reply::error(busy()), Reply::text("now")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("fix it").await.unwrap_err();
    stage.session.close().await;
    let surface = Surface { client: stage.client.clone(), system: stage.system.clone() };
    let id = stage.session.id().clone();
    let session = stage.runtime.open(&id, OpenSession::default(), |_| surface).await.unwrap();
    session.prompt(vec![Content::text("/retry")]).await.unwrap();
    assert!(sent(&stage.model).contains(&"user: fix it".to_owned()));
}

/// Two models: `fake/one` and `fake/two`.
struct Two([Arc<FakeModel>; 2]);

#[async_trait]
impl Models for Two {
    fn list(&self) -> Vec<ModelInfo> {
        self.0.iter().map(|model| model.info().clone()).collect()
    }

    async fn default_id(&self) -> String {
        "fake/one".to_owned()
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Ok(self.0[usize::from(id == "fake/two")].clone())
    }
}

#[tokio::test]
async fn the_next_model_goes_on_in_the_same_turn_when_a_provider_fails() {
    for (first, goes_on) in [
        (Reply::error(busy()), true),
        (Reply::error(ModelError::BadRequest("the request is wrong".to_owned())), false),
    ] {
        let seconds = if goes_on { vec![Reply::text("second"), Reply::text("third")] } else { Vec::new() };
        let models = [FakeModel::new(vec![first]), FakeModel::new(seconds)];
        let options = RuntimeOptions {
            start: SessionStart {
                models_in_order: vec!["fake/one".to_owned(), "fake/two".to_owned()],
                ..SessionStart::default()
            },
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::new(Arc::new(MemoryStore::default()), Arc::new(Two(models.clone())), options);
        let client = FakeClient::new(Vec::new());
        let surface = Surface { client: client.clone(), system: Arc::new(FakeSystem::new()) };
        let new = CreateSession {
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        let session = runtime.create(new, |_| surface).await.unwrap();
        let ended = session.prompt(vec![Content::text("hi")]).await;
        assert_eq!(ended.is_ok(), goes_on, "{ended:?}");
        let events = client.events();
        let notices: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                SessionEvent::Notice { title, .. } => Some(title.as_str()),
                _ => None,
            })
            .collect();
        let failed =
            |event: &SessionEvent| matches!(event, SessionEvent::TurnEnded { end: TurnEnd::Failed(_), .. });
        assert_eq!(events.iter().any(failed), !goes_on);
        if goes_on {
            assert_eq!(notices, ["fake/one did not answer; trying fake/two"]);
            assert_eq!(sent(&models[1]).iter().filter(|said| **said == "user: hi").count(), 1);
            session.prompt(vec![Content::text("more")]).await.unwrap();
            assert_eq!(session.state().model, "fake/two", "the session stays with it");
        }
        session.close().await;
    }
}
