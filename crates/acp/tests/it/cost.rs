//! Tests of a session's cost on each wire.

use crate::stage::{Stage, stage_on};
use acp::testing::EditorScript;
use agent::{
    ModelInfo, ModelLimits, Price, Rates,
    fake::{FakeModel, MemoryStore, Reply},
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns a model whose answers count 10 input and 5 output tokens each.
fn model(input_price: Option<f64>, texts: &[&str]) -> Arc<FakeModel> {
    let rates = |input| Rates { input, output: 2.0, cache_read: None, cache_write: None };
    let info = ModelInfo {
        id: "fake/model".to_owned(),
        limits: ModelLimits { context_size: 100_000, max_output: 4_096, silence: None },
        price: input_price.map(|input| Price { rates: rates(input), long: None }),
        ..ModelInfo::default()
    };
    FakeModel::with_info(info, texts.iter().copied().map(Reply::text))
}

fn last(stage: &Stage) -> Value {
    stage.editor.updates("usage_update").pop().unwrap()
}

fn usd(amount: f64) -> Value {
    json!({ "amount": amount, "currency": "USD" })
}

#[tokio::test]
async fn the_cost_of_a_session_is_summed_across_restarts_and_names_unpriced_tokens() {
    let store = Arc::<MemoryStore>::default();
    let native = EditorScript::default().native();
    let first = stage_on(model(Some(1.0), &["a", "b"]), store.clone(), native, |_| {});
    let events = json!({ "_meta": { "tiller": { "events": true } } });
    first.editor.ok("initialize", json!({ "protocolVersion": 1, "clientCapabilities": events })).await;
    let session = first.editor.ok("session/new", json!({ "cwd": "/w", "mcpServers": [] })).await;
    let session = session["sessionId"].as_str().unwrap().to_owned();
    let answer = first.editor.prompt(&session, "one").await.unwrap();
    assert_eq!(answer["_meta"]["tiller"]["usage"]["cost"], usd(0.000_02));
    assert_eq!(last(&first)["cost"], usd(0.000_02));
    first.editor.prompt(&session, "two").await.unwrap();
    assert_eq!(last(&first)["cost"], usd(0.000_04));
    assert_eq!(last(&first)["_meta"], Value::Null, "nothing is left out");
    let events = first.editor.calls("_tiller/usage_updated");
    assert_eq!(events.last().unwrap()["cost"], json!(0.000_04));
    first.editor.close().await.unwrap();

    // The price rose in between: earlier costs stay unchanged.
    let second = stage_on(model(Some(3.0), &["c"]), store.clone(), EditorScript::default(), |_| {});
    second.editor.initialize().await;
    second.editor.ok("session/load", json!({ "sessionId": session, "cwd": "/w", "mcpServers": [] })).await;
    assert_eq!(last(&second)["cost"], usd(0.000_04));
    second.editor.prompt(&session, "three").await.unwrap();
    assert_eq!(last(&second)["cost"], usd(0.000_08));
    second.editor.close().await.unwrap();

    // Then the price became unknown.
    let third = stage_on(model(None, &["d"]), store, EditorScript::default(), |_| {});
    third.editor.initialize().await;
    third.editor.ok("session/load", json!({ "sessionId": session, "cwd": "/w", "mcpServers": [] })).await;
    let answer = third.editor.prompt(&session, "four").await.unwrap();
    assert_eq!(answer["_meta"]["tiller"]["usage"].get("cost"), None);
    assert_eq!(last(&third)["cost"], usd(0.000_08));
    assert_eq!(last(&third)["_meta"], json!({ "tiller": { "unpricedTokens": 15 } }));
    let used = third.editor.ok("_tiller/usage/get", json!({ "sessionId": session })).await;
    assert_eq!((&used["cost"], &used["unpricedTokens"]), (&json!(0.000_08), &json!(15)));
    third.editor.close().await.unwrap();
}

#[tokio::test]
async fn no_cost_is_reported_without_a_known_price() {
    let stage = stage_on(model(None, &["a"]), Arc::default(), EditorScript::default(), |_| {});
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "one").await.unwrap();
    assert_eq!(last(&stage).get("cost"), None);
    assert_eq!(last(&stage).get("_meta"), None);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn version_2_reports_the_cost_too() {
    let stage = stage_on(model(Some(1.0), &["a"]), Arc::default(), EditorScript::v2(), |_| {});
    let session = stage.editor.session("/w").await;
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "one" }] });
    stage.editor.ok("session/prompt", prompt).await;
    stage.editor.until(|editor| !editor.updates("usage_update").is_empty()).await;
    assert_eq!(last(&stage)["cost"], usd(0.000_02));
    stage.editor.close().await.unwrap();
}
