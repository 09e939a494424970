//! How a model's own answers are sent back to it, and what happens if the server no longer accepts
//! them.

use crate::{
    faker::Faker,
    refusals::Rule,
    support::{catalog, options, request, show, vendor},
};
use agent::{
    AnsweredCall, AssistantMessage, Content, Item, Message, ModelEvent, ModelRequest, Models, Reasoning,
    Text, ToolCallRequest, ToolResult, ToolSpec, ToolSpecs,
};
use futures::StreamExt;
use providers::{Catalog, Wire};
use serde_json::json;

const THINKING: &str = r#"{"type":"thinking","thinking":"Hm","signature":"EqQB/+="}"#;

fn at(faker: &Faker, wire: Wire) -> Catalog {
    let mut options = options();
    options.vendors.openai = vendor(faker.url(), wire);
    options.vendors.anthropic = vendor(faker.url(), Wire::Auto);
    catalog(options)
}

/// Returns a conversation: a prompt, an answer with thinking and a tool call, and the call's
/// result.
fn conversation(model: &str, opaque: &str) -> ModelRequest {
    let ModelEvent::ToolCall(call) = ModelEvent::call("c1", "read", &json!({"path": "a"})) else { panic!() };
    let items = vec![
        Item::Reasoning(Reasoning { text: "Hm".into(), opaque: Some(opaque.into()) }),
        Item::Text(Text::plain("I look.")),
        Item::Call(AnsweredCall::new(
            ToolCallRequest::new("call".into(), call),
            ToolResult::error("no file"),
        )),
    ];
    ModelRequest {
        messages: vec![
            Message::User(vec![Content::Text("go".into())]),
            Message::Assistant(AssistantMessage { model: model.into(), items, prefix_changed: false }),
        ],
        tools: ToolSpecs::from(vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object"}),
        }]),
        cache_key: Some("session-1".into()),
        ..request("")
    }
}

async fn ask(catalog: &Catalog, id: &str, request: ModelRequest) -> String {
    let model = catalog.get(id).await.unwrap();
    show(&model.stream(request).collect::<Vec<_>>().await)
}

#[tokio::test]
async fn required_items_are_sent_back_to_each_vendor() {
    let field = r#"{"field":"reasoning_content"}"#;
    for (id, opaque, rules) in [
        (
            "anthropic/claude-opus-5-5",
            THINKING,
            [Rule::ThinkingModified(THINKING), Rule::BoundElsewhere("Be brief.")],
        ),
        ("openai/deepseek-reasoner", field, [Rule::ReasoningContent, Rule::Unsupported("x")]),
    ] {
        let faker = Faker::strict(&rules).await;
        let got = ask(&at(&faker, Wire::Chat), id, conversation(id, opaque)).await;
        assert!(got.starts_with("text: hello"), "{id}: {got}");
        assert_eq!(faker.seen().len(), 1, "{id}: at once");
    }
}

#[tokio::test]
async fn thinking_that_the_vendor_rejects_is_omitted_from_then_on() {
    let id = "anthropic/claude-opus-5-5";
    let bound_elsewhere = Rule::BoundElsewhere("another prompt");
    let modified = Rule::ThinkingModified(r#"{"type":"thinking","thinking":"Oh","signature":"x"}"#);
    for rule in [bound_elsewhere, modified] {
        let faker = Faker::strict(&[rule]).await;
        let catalog = at(&faker, Wire::Auto);
        for _ in 0..2 {
            let got = ask(&catalog, id, conversation(id, THINKING)).await;
            assert!(got.starts_with("text: hello"), "{rule:?}: {got}");
        }
        let thought: Vec<_> = faker.seen().iter().map(|seen| seen.text.contains("EqQB")).collect();
        assert_eq!(thought, [true, false, false], "{rule:?}");
        let sent = &faker.seen()[1].text;
        assert!(sent.contains("I look.") && sent.contains("tool_use"), "the rest is kept: {sent}");
        // Another conversation is not affected.
        let other = ModelRequest { cache_key: Some("session-2".into()), ..conversation(id, THINKING) };
        ask(&catalog, id, other).await;
        assert!(faker.seen()[3].text.contains("EqQB"), "{rule:?}");
    }
}

#[tokio::test]
async fn encrypted_reasoning_of_another_account_is_omitted() {
    let id = "openai/gpt-5.6-sol";
    let item = r#"{"type":"reasoning","id":"rs_1","encrypted_content":"gAA/+==","summary":[]}"#;
    let refused = r#"{"error":{"message":"The encrypted content gAA/... could not be verified. Reason: Encrypted content organization_id did not match the target organization.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}"#;
    let faker = Faker::start(vec![
        vec![Faker::status("400 X", "", refused)],
        vec![Faker::events(
            "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hello\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n",
        )],
    ])
    .await;
    let got = ask(&at(&faker, Wire::Auto), id, conversation(id, item)).await;
    assert!(got.starts_with("text: hello"), "{got}");
    let sent: Vec<_> = faker.seen().iter().map(|seen| seen.text.contains(item)).collect();
    assert_eq!(sent, [true, false]);
}

#[tokio::test]
async fn a_failed_call_is_marked_in_its_text_where_the_wire_has_no_flag() {
    for (wire, id, expected) in [
        (Wire::Chat, "openai/m", r#"{"role":"tool","tool_call_id":"c1","content":"Error: no file"}"#),
        (
            Wire::Responses,
            "openai/m",
            r#"{"type":"function_call_output","call_id":"c1","output":"Error: no file"}"#,
        ),
        (
            Wire::Auto,
            "anthropic/claude-opus-5",
            r#""content":[{"type":"text","text":"no file"}],"is_error":true"#,
        ),
    ] {
        let faker = Faker::strict(&[]).await;
        ask(&at(&faker, wire), id, conversation("other/m", "{}")).await;
        let sent = &faker.seen()[0].text;
        assert!(sent.contains(expected), "{id}: {sent}");
    }
}

#[tokio::test]
async fn a_server_without_tools_gets_them_as_text() {
    let faker = Faker::strict(&[Rule::NoTools]).await;
    let catalog = at(&faker, Wire::Chat);
    for _ in 0..2 {
        let got = ask(&catalog, "openai/gemma", conversation("openai/gemma", "{}")).await;
        assert!(got.starts_with("text: hello"), "{got}");
    }
    let seen = faker.seen();
    assert_eq!(seen.len(), 3, "the refusal is remembered");
    let messages = &seen[2].body["messages"];
    assert!(seen[2].body["tools"].is_null());
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.") && system.contains("<tool_call>"), "{system}");
    assert!(system.contains(r#""name":"read""#), "{system}");
    assert_eq!(
        messages[2]["content"],
        "I look.\n<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>".replace(
            r#"{"name":"read","arguments":{"path":"a"}}"#,
            &json!({"name": "read", "arguments": {"path": "a"}}).to_string()
        )
    );
    assert_eq!(messages[3]["content"], "<tool_response>\nError: no file\n</tool_response>");
}
