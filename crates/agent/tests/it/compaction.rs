//! A conversation outgrows its model's context: results are left out, the rest is summarised, and
//! the log keeps everything.

use crate::stage::{Setting, Stage, stage_on};
use agent::fake::{FakeClient, FakeModel, FakeModels, Reply, said};
use agent::{
    Compaction, CompactionStep, Content, ContextLimits, Limits, Message, ModelError, ModelEvent, ModelInfo,
    ModelLimits, ModelRequest, ModelStop, OpenSession, PermissionMode, Runtime, RuntimeOptions, SessionEvent,
    StopReason, Surface, TurnError,
};
use serde_json::json;
use std::sync::Arc;
use system::FakeSystem;

const WINDOW: u64 = 40_000;

/// A text of about this many tokens.
fn long(tokens: usize) -> String {
    "word".repeat(tokens)
}

/// An answer of one text; the provider counts no tokens, so the context size is estimated.
fn says(text: &str) -> Reply {
    Reply::ok(vec![ModelEvent::Text(text.to_owned()), ModelEvent::Stop(ModelStop::EndTurn)])
}

/// An answer that reads a long file; the provider counts no tokens.
fn reads() -> Reply {
    let call = ModelEvent::call("p", "file_read", &json!({ "path": "long.txt" }));
    Reply::ok(vec![call, ModelEvent::Stop(ModelStop::ToolCalls)])
}

fn info(disclosure: Option<&str>) -> ModelInfo {
    ModelInfo {
        id: "fake/model".to_owned(),
        name: "Fake".to_owned(),
        description: None,
        limits: ModelLimits { context_size: WINDOW, max_output: 4_096, silence: None },
        disclosure: disclosure.map(str::to_owned),
        ..ModelInfo::default()
    }
}

async fn small(script: Vec<Reply>, context: ContextLimits) -> Stage {
    let limits = Limits { context, ..Limits::default() };
    let Setting { answers, permission_mode, store, .. } = Setting::default();
    stage_on(FakeModel::with_info(info(None), script), answers, permission_mode, limits, store).await
}

fn steps(stage: &Stage) -> Vec<CompactionStep> {
    let events = stage.client.events().into_iter();
    let step = |event| match event {
        SessionEvent::Compaction(compaction) => Some(compaction.step),
        _ => None,
    };
    events.filter_map(step).collect()
}

fn first(request: &ModelRequest) -> &str {
    match request.messages.first() {
        Some(Message::User(content)) => match said(content).first() {
            Some(Content::Text(text)) => text,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_long_conversation_is_summed_up_and_goes_on_after_a_restart() {
    let script =
        vec![says("A."), says(&long(3_000)), says("## Goal\nRename it.\n\nThat is all."), says("C.")];
    let stage = small(script, ContextLimits::default()).await;
    stage.prompt(&format!("first {}", long(12_000))).await.unwrap();
    stage.prompt(&format!("second {}", long(8_000))).await.unwrap();
    assert_eq!(steps(&stage), [], "there is room yet");
    stage.prompt("third").await.unwrap();

    let requests = stage.model.requests();
    assert_eq!(requests.len(), 4);
    let asked = &requests[2];
    assert!(asked.tools.is_empty() && asked.messages.len() == 1, "{asked:?}");
    assert!(first(asked).contains("# User\nfirst word") && first(asked).contains("## Goal"), "{asked:?}");
    let shorter = &requests[3];
    assert!(first(shorter).contains("## Goal\nRename it.\n\nThat is all."), "{}", first(shorter));
    let Some(Message::User(last)) = shorter.messages.last() else { panic!("{shorter:?}") };
    assert_eq!(said(last), [Content::text("third")]);
    assert_eq!(last.len(), 2, "where it works was summed up with the rest, and is told again: {last:?}");
    assert!(shorter.messages.len() < 5, "{}", shorter.messages.len());

    let steps = steps(&stage);
    assert_eq!(
        steps[..2],
        [CompactionStep::Started, CompactionStep::Text("## Goal\nRename it.\n\n".to_owned())]
    );
    assert!(
        matches!(&steps[2..], [CompactionStep::Completed { kept, .. }] if *kept == shorter.messages.len() as u64 - 1)
    );
    let used: Vec<_> = stage
        .client
        .events()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::Usage(usage) => Some(usage.context_used),
            _ => None,
        })
        .collect();
    assert!(used[2] < WINDOW / 2, "how full it is then: {used:?}");

    // All messages are still stored, and the next process sends the same as this one would.
    let stored = stage.stored().await;
    let said = |text: &str| {
        stored.iter().any(|event| matches!(event, SessionEvent::UserMessage { content, .. } if matches!(&content[0], Content::Text(said) if said.starts_with(text))))
    };
    assert!(said("first ") && said("second ") && said("third"));
    stage.runtime.shutdown().await;
    let model = FakeModel::with_info(info(None), vec![says("D.")]);
    let runtime =
        Runtime::new(stage.store.clone(), Arc::new(FakeModels(model.clone())), RuntimeOptions::default());
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let session = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    session.prompt(vec![Content::text("fourth")]).await.unwrap();
    let messages = &model.requests()[0].messages;
    assert_eq!(messages[..shorter.messages.len()], shorter.messages[..]);
    assert_eq!(messages.len(), shorter.messages.len() + 2);
}

#[tokio::test]
async fn a_turn_of_many_calls_is_summed_up_in_its_middle_and_keeps_what_was_asked() {
    let script = vec![reads(), reads(), says("Read it twice."), says("Done.")];
    let stage = small(script, ContextLimits::default()).await;
    stage.system.add_file("/w/long.txt", "a line of text of some length\n".repeat(1_600));
    stage.prompt("look at long.txt").await.unwrap();
    let requests = stage.model.requests();
    let last = requests.last().unwrap();
    assert!(first(last).contains("Read it twice."), "{}", first(last));
    assert!(
        first(last).ends_with("## What the user asked last, word for word\n\nlook at long.txt\n"),
        "{}",
        first(last)
    );
}

#[tokio::test]
async fn repeated_reads_are_left_out_before_anything_is_summed_up() {
    let limits = ContextLimits { prune_min_savings: 5_000, ..ContextLimits::default() };
    let stage = small(vec![reads(), reads(), reads(), says("Done.")], limits).await;
    stage.system.add_file("/w/long.txt", "a line of text of some length\n".repeat(1_600));
    stage.prompt("look at long.txt").await.unwrap();
    assert_eq!(steps(&stage), []);
    let results: Vec<_> = stage.model.requests()[3].messages[1..]
        .iter()
        .map(|message| match message {
            Message::Assistant(answer) => {
                answer.calls().next().unwrap().result.text.contains("Left out to make room")
            }
            Message::User(_) => panic!(),
        })
        .collect();
    assert_eq!(results, [true, true, false]);
    let is_notice = |event: &SessionEvent| matches!(event, SessionEvent::Notice { title, .. } if title.starts_with("Left old results out of the requests to the model: 1,"));
    assert!(stage.client.events().iter().any(is_notice));
}

#[tokio::test]
async fn a_provider_that_says_it_is_too_long_is_asked_again_with_less_and_once_only() {
    let too_long = || Reply::error(ModelError::ContextOverflow("too long".to_owned()));
    let script =
        vec![says("A."), too_long(), says("Summary."), says("B."), too_long(), says("Again."), too_long()];
    let stage = small(script, ContextLimits::default()).await;
    stage.prompt(&long(9_000)).await.unwrap();
    // The assumed context size was wrong; the user notices only a summary.
    stage.prompt(&format!("second {}", long(2_000))).await.unwrap();
    assert!(first(&stage.model.requests()[3]).contains("Summary."));
    let ids = |event: &SessionEvent| match event {
        SessionEvent::ModelResponse(response) => Some(response.id.to_string()),
        _ => None,
    };
    let answered: Vec<_> = stage.stored().await.iter().filter_map(ids).collect();
    assert_eq!(answered, ["msg_2", "msg_5"], "ids count on as they do after a restart");

    let again = stage.prompt(&long(6_000)).await;
    assert_eq!(again, Err(TurnError::Model(ModelError::ContextOverflow("too long".to_owned()))));
}

#[tokio::test]
async fn what_cannot_be_summed_up_is_left_out_in_the_end_and_the_user_is_told() {
    let fails = || Reply::error(ModelError::Overloaded("busy".to_owned()));
    let script = vec![says("A."), fails(), says("B."), fails(), says("C."), fails(), says("D."), says("E.")];
    let stage = small(script, ContextLimits::default()).await;
    stage.prompt(&long(23_000)).await.unwrap();
    for prompt in ["b", "c", "d"] {
        stage.prompt(prompt).await.unwrap();
    }
    assert_eq!(
        steps(&stage)
            .iter()
            .filter(|step| matches!(step, CompactionStep::Failed(why) if why == "busy"))
            .count(),
        3
    );
    // The model is not asked for a summary any more; the oldest part is left out.
    stage.prompt(&long(6_000)).await.unwrap();
    let last = stage.model.requests().last().unwrap().clone();
    assert!(first(&last).contains("left out, because it no longer fits"), "{}", first(&last));
    let is_notice = |event: &SessionEvent| matches!(event, SessionEvent::Notice { title, .. } if title.contains("no longer sent to the model"));
    assert!(stage.client.events().iter().any(is_notice));
}

#[tokio::test]
async fn summing_up_settles_when_it_is_cancelled_or_breaks() {
    for (reply, expected) in [
        (Reply::Hang(vec![ModelEvent::Text("## Go".to_owned())]), Ok(StopReason::Cancelled)),
        (Reply::Panic, Err(())),
    ] {
        let stage =
            small(vec![says("A."), reply, says("Summary."), says("B.")], ContextLimits::default()).await;
        stage.prompt(&long(24_000)).await.unwrap();
        let started = |event: &SessionEvent| {
            matches!(event, SessionEvent::Compaction(Compaction { step: CompactionStep::Started, .. }))
        };
        let (ended, ()) = tokio::join!(stage.prompt("b"), async {
            stage.client.until(|client| client.events().iter().any(started)).await;
            if expected.is_ok() {
                stage.session.cancel();
            }
        });
        assert_eq!(ended.map(|outcome| outcome.stop_reason).map_err(drop), expected);
        if expected.is_ok() {
            assert_eq!(steps(&stage).last(), Some(&CompactionStep::Cancelled));
        }
        stage.prompt("c").await.unwrap();
        assert!(matches!(steps(&stage).last(), Some(CompactionStep::Completed { .. })));
    }
}

#[tokio::test]
async fn the_user_can_ask_for_it_and_see_how_full_the_context_is() {
    let stage = small(vec![says("A."), says("Kept.")], ContextLimits::default()).await;
    stage.prompt(&long(12_000)).await.unwrap();
    stage.prompt("/context").await.unwrap();
    stage.prompt("/compact the names of tests").await.unwrap();
    stage.prompt("/compact").await.unwrap();
    let answers: Vec<_> = stage
        .client
        .events()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::ModelResponse(response) => Some(response.text()),
            _ => None,
        })
        .collect();
    assert!(answers[1].contains("% of its 40000 tokens. It is summarised at about 24000"), "{answers:?}");
    assert!(answers[2].starts_with("The conversation was summarised: about 1"), "{answers:?}");
    assert_eq!(answers[3], "Nothing was done: there is too little before the last turns to summarise.");
    assert!(first(&stage.model.requests()[1]).ends_with("above all: the names of tests"));
}

#[tokio::test]
async fn by_itself_nothing_is_summed_up_where_that_is_switched_off() {
    let limits = ContextLimits { auto_compact: false, ..ContextLimits::default() };
    let stage = small(vec![says("A."), says("B.")], limits).await;
    stage.prompt(&long(24_500)).await.unwrap();
    stage.prompt("b").await.unwrap();
    let warned = |event: &SessionEvent| matches!(event, SessionEvent::Notice { description: Some(how), .. } if how.contains("/compact"));
    assert_eq!(stage.client.events().iter().filter(|event| warned(event)).count(), 1);
    let full = stage.prompt(&long(4_000)).await.unwrap_err().to_string();
    assert!(full.contains("leaves no room for an answer; use /compact, or start a new session"), "{full}");
    assert_eq!(steps(&stage), []);
}

#[tokio::test]
async fn a_stand_in_for_a_model_sums_nothing_up_and_goes_on() {
    let model = FakeModel::with_info(info(Some("No language model.")), vec![says("A."), says("B.")]);
    let Setting { answers, store, .. } = Setting::default();
    let stage = stage_on(model, answers, PermissionMode::default(), Limits::default(), store).await;
    stage.prompt(&long(30_000)).await.unwrap();
    stage.prompt("b").await.unwrap();
    stage.prompt("/context").await.unwrap();
    let said = |event: &SessionEvent| matches!(event, SessionEvent::ModelResponse(response) if response.text().ends_with("is left out, the oldest messages first."));
    assert!(stage.client.events().iter().any(said));
    let last = stage.model.requests().last().unwrap().clone();
    assert!(first(&last).contains("left out") && last.messages.len() == 3, "{}", first(&last));
}

#[tokio::test]
async fn a_cancel_while_room_is_made_after_an_overflow_is_no_error() {
    let too_long = Reply::error(ModelError::ContextOverflow("too long".to_owned()));
    let script = vec![says("A."), too_long, Reply::Hang(Vec::new()), says("B.")];
    let stage = small(script, ContextLimits::default()).await;
    stage.prompt(&long(9_000)).await.unwrap();
    let started = |event: &SessionEvent| {
        matches!(event, SessionEvent::Compaction(Compaction { step: CompactionStep::Started, .. }))
    };
    let (ended, ()) = tokio::join!(stage.prompt("b"), async {
        stage.client.until(|client| client.events().iter().any(started)).await;
        stage.session.cancel();
    });
    assert_eq!(ended.unwrap().stop_reason, StopReason::Cancelled);
    stage.prompt("c").await.unwrap();
}
