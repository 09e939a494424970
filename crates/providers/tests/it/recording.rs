//! A recording plays back the same events.

use crate::{
    faker::{Faker, Step},
    support::{Files, Pilot, answer, options, request, vendor},
};
use agent::{LanguageModel, ModelError, Models};
use futures::StreamExt;
use providers::{Catalog, Wire};
use std::sync::Arc;
use system::{AbsPath, System};

const ANSWER: &str = r#"data: {"choices":[{"delta":{"reasoning":"hm"}}]}

data: {"choices":[{"delta":{"content":"hi"}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}

data: [DONE]

"#;

fn path() -> AbsPath {
    AbsPath::new("/rec/a.jsonl").unwrap()
}

fn replaying(files: Arc<Files>) -> Catalog {
    let mut options = options();
    options.recording.replay_base = Some(AbsPath::new("/rec").unwrap());
    Catalog::new(options, files, Arc::new(Pilot::new()))
}

#[tokio::test]
async fn recorded_answers_are_played_back_in_order() {
    let refused = Faker::status("401 X", "", "no");
    let limited = Faker::status("529 X", "", "busy");
    let scripts = vec![vec![limited], vec![Faker::events(ANSWER)], vec![Step::Hang], vec![refused]];
    let faker = Faker::start(scripts).await;
    let files = Arc::new(Files::default());
    let mut options = options();
    options.vendors.openai = vendor(faker.url(), Wire::Chat);
    options.recording.record_to = Some(path());
    let catalog = Catalog::new(options, files.clone(), Arc::new(Pilot::new()));
    let model = catalog.get("openai/gpt-5").await.unwrap();
    let first = answer(&*model).await;
    assert!(first.starts_with("retrying: 2\nthought: hm"), "{first}");
    let mut cancelled = model.stream(request("cancelled"));
    let waiting = tokio::time::timeout(std::time::Duration::from_millis(50), cancelled.next()).await;
    assert!(waiting.is_err());
    drop(cancelled);
    let third = answer(&*model).await;
    assert!(third.contains("error: Auth"), "{third}");

    let text = String::from_utf8(files.read(&path()).await.unwrap()).unwrap();
    assert_eq!(text.lines().count(), 4);
    let head: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&head["tiller_recording"], &head["model"]), (&2.into(), &"openai/gpt-5".into()), "{text}");
    assert!(!text.contains(crate::support::KEY));

    let catalog = replaying(files);
    let replay = catalog.get("replay/a.jsonl").await.unwrap();
    assert_eq!(replay.info().limits.context_size, 400_000);
    assert!(replay.info().disclosure.as_deref().unwrap().contains("no model is used"));
    assert_eq!(answer(&*replay).await, first);
    assert!(answer(&*replay).await.contains("cancelled"));
    let again = catalog.get("replay/a.jsonl").await.unwrap();
    assert_eq!(answer(&*again).await, third, "the place in the recording is kept");
    assert!(answer(&*again).await.contains("exhausted: all 3 answers have been played"));
}

#[tokio::test]
async fn an_invalid_recording_is_reported() {
    for (text, expected) in [
        ("", "does not begin with a recording's header"),
        ("hello", "does not begin with a recording's header"),
        (
            r#"{"tiller_recording":9,"future":true}"#,
            "version 9 of the format and this build reads versions 1 to 2",
        ),
        (
            "{\"tiller_recording\":1,\"model\":\"m\",\"context_size\":1,\"max_output\":1,\"images\":false}\n\n{}",
            "line 3: missing field",
        ),
    ] {
        let files = Arc::new(Files::default());
        files.write(&path(), text.as_bytes()).await.unwrap();
        match replaying(files).get("replay//rec/a.jsonl").await.err() {
            Some(ModelError::NotConfigured(message)) => {
                assert!(message.contains(expected), "{text}: {message}")
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_recording_of_the_first_version_is_played_back() {
    let text = r#"{"tiller_recording":1,"model":"m","context_size":1,"max_output":1,"images":false}
{"request":{"messages":1,"tools":0},"events":[{"type":"tool_call","id":"a","name":"read","arguments":{"path":"x"}},{"type":"malformed_tool_call","id":"b","name":"read","raw":"{","error":"cut"},{"type":"stop","reason":"tool_calls"}]}"#;
    let files = Arc::new(Files::default());
    files.write(&path(), text.as_bytes()).await.unwrap();
    let replay = replaying(files).get("replay/a.jsonl").await.unwrap();
    let expected = "call: a read {\"path\":\"x\"}\ncall: b read BAD \"{\"\nstop: ToolCalls";
    assert_eq!(answer(&*replay).await, expected);
}

#[tokio::test]
async fn the_pilot_is_recorded_like_any_model() {
    let files = Arc::new(Files::default());
    let mut options = options();
    options.recording.record_to = Some(path());
    let catalog = Catalog::new(options, files.clone(), Arc::new(Pilot::new()));
    let pilot: Arc<dyn LanguageModel> = catalog.get("offline/pilot").await.unwrap();
    assert_eq!(answer(&*pilot).await, "text: pilot");
    assert_eq!(answer(&*replaying(files).get("replay/a.jsonl").await.unwrap()).await, "text: pilot");
}
