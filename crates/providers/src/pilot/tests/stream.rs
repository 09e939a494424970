//! The stream around the pure core.

use super::{super::OfflinePilot, tools::FakeTools};
use agent::{AssistantMessage, Content, LanguageModel as _, Message, ModelEvent, ModelRequest, ModelStop};
use futures::StreamExt as _;

async fn events(request: ModelRequest) -> Vec<ModelEvent> {
    OfflinePilot::default().stream(request).map(|event| event.expect("the pilot never fails")).collect().await
}

#[tokio::test]
async fn calls_follow_text_and_precede_usage_and_stop() {
    let fake = FakeTools::new(&[]);
    let user = Message::User(vec![Content::text("show a.txt, b.txt")]);
    let answered = Message::Assistant(AssistantMessage::default());
    let all = events(fake.request(vec![user.clone(), answered, user])).await;
    let kinds: Vec<String> = all.iter().map(|event| format!("{event:?}").chars().take(4).collect()).collect();
    assert_eq!(kinds, ["Text", "Tool", "Tool", "Usag", "Stop"]);
    assert_eq!(all.last(), Some(&ModelEvent::Stop(ModelStop::ToolCalls)));
    let ids: Vec<&str> = all
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCall(call) => Some(call.provider_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["pilot_1", "pilot_2"]);
}

#[tokio::test]
async fn help_is_streamed_in_a_few_pieces_and_ends_the_turn() {
    let request = ModelRequest {
        messages: vec![Message::User(vec![Content::text("help")])],
        ..ModelRequest::default()
    };
    let all = events(request).await;
    let texts = all.iter().filter(|event| matches!(event, ModelEvent::Text(_))).count();
    assert!((3..=9).contains(&texts), "{texts} pieces");
    assert_eq!(all.last(), Some(&ModelEvent::Stop(ModelStop::EndTurn)));
    let ModelEvent::Usage(usage) = &all[all.len() - 2] else { panic!("usage comes before the stop") };
    assert_eq!((usage.input, usage.output > 100), (1, true));
}

#[test]
fn the_pilot_states_that_it_is_not_a_language_model() {
    let pilot = OfflinePilot::default();
    let info = pilot.info();
    assert_eq!(info.id, "offline/pilot");
    for text in [Some(&info.name), info.description.as_ref(), info.disclosure.as_ref()] {
        assert!(
            text.is_some_and(
                |text| text.contains("no language model") || text.contains("not a language model")
            )
        );
    }
    assert!(!info.abilities.images);
}
