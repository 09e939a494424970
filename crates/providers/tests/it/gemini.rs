//! Google's own wire: how streams are interpreted, and that the model's answer is sent back
//! unchanged.

use crate::{
    faker::{Faker, HEAD, Step},
    refusals::Rule,
    support::{KEY, answer, catalog, options, request, show, vendor},
};
use agent::{
    AnsweredCall, AssistantMessage, Content, Item, LanguageModel, Message, ModelEvent, ModelRequest, Models,
    Reasoning, Text, ToolCallRequest, ToolResult, ToolSpec, ToolSpecs,
};
use futures::StreamExt;
use providers::Wire;
use serde_json::{Value, json};
use std::sync::Arc;

async fn model(faker: &Faker, id: &str) -> Arc<dyn LanguageModel> {
    let mut options = options();
    options.vendors.gemini = vendor(faker.url(), Wire::Auto);
    catalog(options).get(id).await.unwrap()
}

fn sse(events: &[&str]) -> String {
    events.iter().map(|data| format!("data: {data}\r\n\r\n")).collect()
}

/// Returns an event with these parts.
fn parts(parts: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{parts}]}},"index":0}}],"responseId":"r"}}"#
    )
}

fn finish(reason: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":""}}],"role":"model"}},"finishReason":"{reason}"}}]}}"#
    )
}

async fn fold(events: &[&str]) -> String {
    let faker = Faker::start(vec![vec![Faker::events(&sse(events))]]).await;
    answer(&*model(&faker, "gemini/gemini-3-pro").await).await
}

const CALL: &str =
    r#"{"functionCall": {"name":"read","args":{"path":"a"},"id":"fc1"}, "thoughtSignature":"EqQB/+=="}"#;
const SECOND: &str = r#"{"functionCall":{"name":"read","args":{"path":"b"},"id":"fc2"}}"#;

#[tokio::test]
async fn thoughts_texts_calls_and_tokens_are_distinguished() {
    let usage = r#"{"candidates":[{"content":{},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"thoughtsTokenCount":5,"cachedContentTokenCount":80,"totalTokenCount":125}}"#;
    let events = [
        &parts(r#"{"text":"Hm, ","thought":true}"#),
        &parts(r#"{"text":"gut","thought":true}"#),
        &parts(r#"{"text":"Größe: "}"#),
        &parts(r#"{"text":"😀 ok"}"#),
        &parts(&format!("{CALL},{SECOND}")),
        usage,
    ];
    let expected = [
        "thought: Hm, gut",
        r#"thought done: "Hm, gut" -"#,
        "text: Größe: 😀 ok",
        r#"call: fc1 read {"path":"a"}"#,
        r#"call: fc2 read {"path":"b"}"#,
        "usage: 100+25 (80 read, 0 written)",
        "stop: ToolCalls",
    ];
    assert_eq!(fold(&events.map(|event| event as &str)).await, expected.join("\n"));
    let body = sse(&events.map(|event| event as &str));
    for size in [1, 7, 64] {
        let script = vec![Step::Send(HEAD.into()), Step::Trickle(body.clone().into_bytes(), size)];
        let faker = Faker::start(vec![script]).await;
        let got = answer(&*model(&faker, "gemini/gemini-3-pro").await).await;
        assert_eq!(got, expected.join("\n"), "{size} bytes a piece");
    }
}

#[tokio::test]
async fn every_stop_reason_is_converted() {
    let hello = parts(r#"{"text":"hello"}"#);
    for (reason, expected) in [
        ("STOP", "stop: EndTurn"),
        ("MAX_TOKENS", "stop: MaxTokens"),
        ("SAFETY", "notice: gemini refused to answer (SAFETY)\nstop: Refusal"),
        ("OTHER", "stop: EndTurn"),
    ] {
        assert_eq!(fold(&[&hello, &finish(reason)]).await, format!("text: hello\n{expected}"), "{reason}");
    }
    let blocked =
        r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"not this"}}"#;
    assert_eq!(
        fold(&[blocked]).await,
        "notice: gemini refused to answer (PROHIBITED_CONTENT): not this\nstop: Refusal"
    );
    let cut = fold(&[&hello]).await;
    assert!(
        cut.contains("error: Transport: gemini closed the connection in the middle of the answer"),
        "{cut}"
    );
}

#[tokio::test]
async fn an_unparsed_call_is_recovered_or_retried() {
    let named = r#"{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(default_api.bash(command='ls'))","index":0}]}"#;
    let got = fold(&[named]).await;
    assert!(
        got.starts_with("call: call_0 bash BAD \"Malformed function call: print(default_api.bash("),
        "{got}"
    );
    assert!(got.ends_with("stop: ToolCalls"), "{got}");

    let unnamed = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
    let hello = sse(&[&parts(r#"{"text":"hello"}"#), &finish("STOP")]);
    let faker = Faker::start(vec![vec![Faker::events(&sse(&[unnamed]))], vec![Faker::events(&hello)]]).await;
    let got = answer(&*model(&faker, "gemini/gemini-3-pro").await).await;
    assert!(got.starts_with("retrying: 2\ntext: hello"), "{got}");
}

#[tokio::test]
async fn errors_are_classified() {
    for (status, body, expected) in [
        (
            "400 X",
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            "error: Auth: gemini refused the credentials (400)",
        ),
        (
            "400 X",
            r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            "error: ContextOverflow",
        ),
        (
            "404 X",
            r#"{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}"#,
            "error: BadRequest: gemini has no model",
        ),
        ("403 X", r#"{"error":{"code":403,"message":"denied","status":"PERMISSION_DENIED"}}"#, "error: Auth"),
    ] {
        let faker = Faker::start(vec![vec![Faker::status(status, "", body)]]).await;
        let got = answer(&*model(&faker, "gemini/x").await).await;
        assert!(got.starts_with(expected), "{body}: {got}");
    }
    let quota = r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.01s"}]}}"#;
    let hello = sse(&[&parts(r#"{"text":"hello"}"#), &finish("STOP")]);
    let faker =
        Faker::start(vec![vec![Faker::status("429 X", "", quota)], vec![Faker::events(&hello)]]).await;
    let got = answer(&*model(&faker, "gemini/gemini-3-pro").await).await;
    assert!(got.starts_with("retrying: 2\ntext: hello"), "{got}");
}

#[tokio::test]
async fn the_key_is_a_header_and_the_model_is_in_the_path() {
    let hello = sse(&[&parts(r#"{"text":"hello"}"#), &finish("STOP")]);
    for id in ["gemini/gemini-2.5-flash", "google/gemini-2.5-flash"] {
        let faker = Faker::start(vec![vec![Faker::events(&hello)]]).await;
        answer(&*model(&faker, id).await).await;
        let seen = faker.seen().remove(0);
        let path = "post /v1beta/models/gemini-2.5-flash:streamgeneratecontent?alt=sse http/1.1";
        assert!(seen.head.starts_with(path), "{}", seen.head);
        assert!(seen.head.contains(&format!("x-goog-api-key: {KEY}")), "{}", seen.head);
        assert!(!seen.head.contains("authorization"), "{}", seen.head);
    }
}

fn tools() -> ToolSpecs {
    let parameters = json!({"type": "object", "properties": {"path": {"type": ["string", "null"]}}, "additionalProperties": false});
    ToolSpecs::from(vec![ToolSpec { name: "read".into(), description: "Reads.".into(), parameters }])
}

/// Returns the items of an answer as a turn stores them, each call with a result.
async fn answer_items(model: &dyn LanguageModel) -> Vec<Item<AnsweredCall>> {
    let (mut items, mut text) = (Vec::new(), String::new());
    let events: Vec<_> = model.stream(request("hi")).collect().await;
    for event in events {
        match event.unwrap() {
            ModelEvent::Text(more) => text.push_str(&more),
            ModelEvent::TextDone(opaque) => {
                items.push(Item::Text(Text { text: std::mem::take(&mut text), opaque }));
            }
            ModelEvent::ReasoningDone(reasoning) => items.push(Item::Reasoning(reasoning)),
            ModelEvent::Other(opaque) => items.push(Item::Other(opaque)),
            ModelEvent::ToolCall(call) => {
                let call = ToolCallRequest::new("call".into(), call);
                items.push(Item::Call(AnsweredCall::new(call, ToolResult::ok("seen"))));
            }
            _ => {}
        }
    }
    items
}

/// Returns the request that follows an answer.
fn after(model: &str, items: Vec<Item<AnsweredCall>>) -> ModelRequest {
    let answer = AssistantMessage { model: model.into(), items, prefix_changed: false };
    ModelRequest {
        messages: vec![Message::User(vec![Content::Text("hi".into())]), Message::Assistant(answer)],
        tools: tools(),
        ..request("")
    }
}

#[tokio::test]
async fn signatures_are_sent_back_byte_for_byte_in_place() {
    let signed_text = r#"{"text": "ing.", "thoughtSignature":"A+/="}"#;
    let last = r#"{"text":"","thoughtSignature":"B=="}"#;
    let answer = sse(&[
        &parts(r#"{"text":"Hm","thought":true}"#),
        &parts(r#"{"text":"I am look"}"#),
        &parts(signed_text),
        &parts(CALL),
        &parts(SECOND),
        &parts(last),
        &finish("STOP"),
    ]);
    let faker = Faker::start(vec![vec![Faker::events(&answer)]]).await;
    let items = answer_items(&*model(&faker, "gemini/gemini-3-pro").await).await;

    let strict = Faker::strict(&[Rule::ThoughtSignature]).await;
    let model = model(&strict, "gemini/gemini-3-pro").await;
    let got = show(&model.stream(after("gemini/gemini-3-pro", items)).collect::<Vec<_>>().await);
    assert!(got.starts_with("text: hello"), "{got}");
    let sent = strict.seen().remove(0);
    let expected = format!(r#""parts":[{{"text":"I am look"}},{signed_text},{CALL},{SECOND},{last}]"#);
    assert!(sent.text.contains(&expected), "{}", sent.text);
    let results = &sent.body["contents"][2];
    assert_eq!(results["role"], "user");
    let ids: Vec<_> =
        results["parts"].as_array().unwrap().iter().map(|part| &part["functionResponse"]["id"]).collect();
    assert_eq!(ids, ["fc1", "fc2"]);
    assert_eq!(results["parts"][0]["functionResponse"]["response"], json!({"output": "seen"}));
}

#[tokio::test]
async fn calls_of_another_model_get_a_placeholder_signature_where_required() {
    let call = |result| {
        let ModelEvent::ToolCall(call) = ModelEvent::call("toolu_1", "read", &json!({"path": "a"})) else {
            panic!()
        };
        Item::Call(AnsweredCall::new(ToolCallRequest::new("c".into(), call), result))
    };
    let items = vec![
        Item::Reasoning(Reasoning { text: "Hm".into(), opaque: Some(r#"{"type":"thinking"}"#.into()) }),
        call(ToolResult::ok("seen")),
        call(ToolResult::error("gone")),
    ];
    for (id, expected) in [
        ("gemini/gemini-3-pro", json!("skip_thought_signature_validator")),
        ("gemini/gemini-2.5-pro", Value::Null),
    ] {
        let faker = Faker::strict(&[]).await;
        let model = model(&faker, id).await;
        show(&model.stream(after("anthropic/x", items.clone())).collect::<Vec<_>>().await);
        let contents = faker.seen().remove(0).body["contents"].clone();
        assert_eq!(contents[1]["parts"][0]["thoughtSignature"], expected, "{id}");
        assert_eq!(
            contents[1]["parts"][1]["thoughtSignature"],
            Value::Null,
            "of those made together the first alone"
        );
        assert_eq!(contents[2]["parts"][1]["functionResponse"]["response"], json!({"error": "gone"}));
        assert!(!contents.to_string().contains("Hm"), "{contents}");
    }
}

#[tokio::test]
async fn thinking_is_requested_as_each_generation_expects() {
    for (id, effort, expected) in [
        ("gemini/gemini-3-pro", None, json!({"includeThoughts": true})),
        (
            "gemini/gemini-3.8-flash",
            Some("medium"),
            json!({"includeThoughts": true, "thinkingLevel": "medium"}),
        ),
        ("gemini/gemini-4-argon", Some("max"), json!({"includeThoughts": true, "thinkingLevel": "high"})),
        ("gemini/gemini-2.5-pro", Some("low"), json!({"includeThoughts": true, "thinkingBudget": 4_096})),
        ("gemini/gemini-2.5-flash", None, json!({"includeThoughts": true})),
        ("gemini/gemini-2.0-flash", Some("high"), Value::Null),
        ("gemini/gemma-3-27b-it", Some("high"), Value::Null),
    ] {
        let faker = Faker::strict(&[]).await;
        let model = model(&faker, id).await;
        let asked = ModelRequest { reasoning_effort: effort.map(str::to_owned), ..request("hi") };
        show(&model.stream(asked).collect::<Vec<_>>().await);
        assert_eq!(faker.seen().remove(0).body["generationConfig"]["thinkingConfig"], expected, "{id}");
    }
}

#[tokio::test]
async fn a_server_without_json_schema_gets_the_subset() {
    let refused = r#"{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field.","status":"INVALID_ARGUMENT"}}"#;
    let hello = sse(&[&parts(r#"{"text":"hello"}"#), &finish("STOP")]);
    let faker =
        Faker::start(vec![vec![Faker::status("400 X", "", refused)], vec![Faker::events(&hello)]]).await;
    let model = model(&faker, "gemini/gemini-3-pro").await;
    let asked = ModelRequest { tools: tools(), ..request("hi") };
    let got = show(&model.stream(asked).collect::<Vec<_>>().await);
    assert!(got.starts_with("text: hello"), "{got}");
    let declared: Vec<_> =
        faker.seen().iter().map(|seen| seen.body["tools"][0]["functionDeclarations"][0].clone()).collect();
    assert_eq!(declared[0]["parametersJsonSchema"]["additionalProperties"], false);
    assert_eq!(
        declared[1]["parameters"],
        json!({"type": "object", "properties": {"path": {"type": "string", "nullable": true}}})
    );
    assert_eq!(declared[1]["parametersJsonSchema"], Value::Null);
}

#[tokio::test]
async fn images_and_schemas_are_sent_in_geminis_own_form() {
    let faker = Faker::strict(&[]).await;
    let model = model(&faker, "gemini/gemini-3-pro").await;
    let image = Content::Image {
        mime_type: "image/png".into(),
        data:
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
                .into(),
    };
    let asked = ModelRequest {
        messages: vec![Message::User(vec![Content::Text("look".into()), image])],
        answer_schema: Some(json!({"type": "object"})),
        max_output: Some(4_096),
        ..request("")
    };
    show(&model.stream(asked).collect::<Vec<_>>().await);
    let body = faker.seen().remove(0).body;
    assert_eq!(
        body["contents"],
        json!([{"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}])
    );
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "Be brief."}]}));
    let config = &body["generationConfig"];
    assert_eq!(
        (&config["maxOutputTokens"], &config["responseMimeType"]),
        (&json!(4_096), &json!("application/json"))
    );
    assert_eq!(config["responseJsonSchema"], json!({"type": "object"}));
}
