//! A refused option is left out, and stays left out once that is known to help.

use crate::{
    faker::Faker,
    refusals::Rule,
    support::{Files, KEY, Pilot, catalog, options, request, show, vendor},
};
use agent::{Content, LanguageModel, Message, ModelRequest, Models, ToolSpec, ToolSpecs};
use futures::StreamExt;
use providers::{Catalog, Wire};
use serde_json::{Value, json};
use std::sync::Arc;
use system::AbsPath;

/// Returns a catalog with every provider at the fake server.
fn at(faker: &Faker, wire: Wire) -> Catalog {
    let mut options = options();
    options.vendors.openai = vendor(faker.url(), wire);
    options.vendors.anthropic = vendor(faker.url(), Wire::Auto);
    options.vendors.custom.insert("own".into(), vendor(faker.url(), wire));
    catalog(options)
}

/// Returns a request with a tool, an effort and a schema for its answer.
fn full() -> ModelRequest {
    ModelRequest {
        tools: ToolSpecs::from(vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object"}),
        }]),
        reasoning_effort: Some("low".into()),
        answer_schema: Some(json!({"type": "object"})),
        ..request("hi")
    }
}

/// The server's rules, the wire, the model, a location in the bodies, and its expected values.
type Case<'a> = (&'a [Rule], Wire, &'a str, &'a str, &'a [&'a str]);

async fn ask(model: &dyn LanguageModel, request: ModelRequest) -> String {
    show(&model.stream(request).collect::<Vec<_>>().await)
}

const HELLO: &str = "text: hello\nstop: EndTurn";

/// Sends two requests and returns which paths, or which members of the bodies, the server received.
async fn twice(rules: &[Rule], wire: Wire, id: &str, shown: impl Fn(&str, &Value) -> String) -> Vec<String> {
    let faker = Faker::strict(rules).await;
    let catalog = at(&faker, wire);
    for _ in 0..2 {
        // Requested anew, as each turn does: what was learned belongs to the address, not to the
        // model's object.
        let model = catalog.get(id).await.unwrap();
        let got = ask(&*model, full()).await;
        assert!(got.starts_with("text: hello\n") && got.ends_with("stop: EndTurn"), "{id} {rules:?}: {got}");
    }
    let seen = faker.seen();
    seen.iter().map(|seen| shown(seen.head.split(' ').nth(1).unwrap(), &seen.body)).collect()
}

fn has(body: &Value, path: &str) -> String {
    body.pointer(path).map_or_else(|| "-".to_owned(), Value::to_string)
}

#[tokio::test]
async fn a_refused_option_is_omitted_from_then_on() {
    let cases: &[Case] = &[
        (
            &[Rule::SummaryNotVerified],
            Wire::Responses,
            "openai/gpt-5",
            "/reasoning",
            &[r#"{"effort":"low","summary":"auto"}"#, r#"{"effort":"low"}"#, r#"{"effort":"low"}"#],
        ),
        (
            &[Rule::Unsupported("reasoning_effort")],
            Wire::Chat,
            "openai/gpt-4o",
            "/reasoning_effort",
            &["\"low\"", "-", "-"],
        ),
        (
            &[Rule::Forbidden("reasoning_effort")],
            Wire::Auto,
            "own/mistral",
            "/reasoning_effort",
            &["\"low\"", "-", "-"],
        ),
        (
            &[Rule::Forbidden("stream_options")],
            Wire::Auto,
            "own/m",
            "/stream_options",
            &[r#"{"include_usage":true}"#, "-", "-"],
        ),
        (
            &[Rule::Unsupported("max_tokens")],
            Wire::Chat,
            "own/m",
            "/max_completion_tokens",
            &["-", "8192", "8192"],
        ),
        (
            &[Rule::Unsupported("response_format")],
            Wire::Chat,
            "own/m",
            "/response_format/type",
            &["\"json_schema\"", "-", "-"],
        ),
        (
            &[Rule::Unsupported("text.format")],
            Wire::Responses,
            "openai/m",
            "/text/format/type",
            &["\"json_schema\"", "-", "-"],
        ),
        (
            &[Rule::Unsupported("output_config.format")],
            Wire::Auto,
            "anthropic/claude-opus-5",
            "/output_config",
            &[
                r#"{"effort":"low","format":{"schema":{"type":"object"},"type":"json_schema"}}"#,
                r#"{"effort":"low"}"#,
                r#"{"effort":"low"}"#,
            ],
        ),
        (&[Rule::MostTokens(4_096)], Wire::Chat, "own/m", "/max_tokens", &["8192", "4096", "4096"]),
        (
            &[Rule::MostTokens(64_000)],
            Wire::Auto,
            "anthropic/claude-opus-5",
            "/max_tokens",
            &["128000", "64000", "64000"],
        ),
    ];
    for (rules, wire, id, path, expected) in cases {
        let got = twice(rules, *wire, id, |_, body| has(body, path)).await;
        // The order of members depends on the features of the test build.
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::from(text));
        let got: Vec<_> = got.iter().map(|text| value(text)).collect();
        let expected: Vec<_> = expected.iter().map(|text| value(text)).collect();
        assert_eq!(got, expected, "{id} {rules:?}");
    }
}

#[tokio::test]
async fn a_refused_option_is_omitted_by_later_processes() {
    let faker = Faker::strict(&[Rule::Unsupported("reasoning_effort")]).await;
    let files = Arc::new(Files::default());
    let path = AbsPath::new("/data/refused-options.json").unwrap();
    for _ in 0..2 {
        let mut options = options();
        options.refusals_file = Some(path.clone());
        let base_url = faker.url().replace("http://", "http://user:pass@") + "/v1?key=canary";
        options.vendors.custom.insert("own".into(), vendor(base_url, Wire::Chat));
        let process = Catalog::new(options, files.clone(), Arc::new(Pilot::new()));
        let model = process.get("own/m").await.unwrap();
        assert!(ask(&*model, full()).await.starts_with("text: hello\n"));
    }
    let efforts: Vec<_> = faker.seen().iter().map(|seen| has(&seen.body, "/reasoning_effort")).collect();
    assert_eq!(efforts, ["\"low\"", "-", "-"]);
    let stored = String::from_utf8(files.0.lock().unwrap()[&path].clone()).unwrap();
    assert!(stored.contains("/reasoning_effort"), "{stored}");
    for secret in ["user", "pass", "canary", KEY] {
        assert!(!stored.contains(secret), "{secret}: {stored}");
    }
}

#[tokio::test]
async fn several_refusals_in_a_row_are_all_learned() {
    let rules = [
        Rule::Unsupported("reasoning_effort"),
        Rule::Unsupported("max_tokens"),
        Rule::Unsupported("stream_options"),
    ];
    let got = twice(&rules, Wire::Chat, "own/m", |_, body| {
        ["/reasoning_effort", "/max_tokens", "/stream_options"]
            .map(|path| if has(body, path) == "-" { "-" } else { "x" })
            .concat()
    })
    .await;
    assert_eq!(got, ["xxx", "-xx", "--x", "---", "---"]);
}

#[tokio::test]
async fn unknown_options_are_never_omitted_and_the_refusal_is_reported() {
    for rule in [Rule::Unsupported("tools"), Rule::Unsupported("model"), Rule::Forbidden("messages")] {
        let faker = Faker::strict(&[rule]).await;
        let model = at(&faker, Wire::Chat).get("own/m").await.unwrap();
        let got = ask(&*model, full()).await;
        assert!(got.starts_with("error: BadRequest: own refused the request to m"), "{rule:?}: {got}");
        assert_eq!(faker.seen().len(), 1, "{rule:?}");
    }
}

#[tokio::test]
async fn an_omission_that_did_not_help_is_not_remembered() {
    // The second rule refuses a required member, so no request is ever accepted.
    let faker = Faker::strict(&[Rule::Unsupported("reasoning_effort"), Rule::Unsupported("messages")]).await;
    let catalog = at(&faker, Wire::Chat);
    for _ in 0..2 {
        let model = catalog.get("own/m").await.unwrap();
        assert!(ask(&*model, full()).await.contains("Unsupported parameter: 'messages'"));
    }
    let efforts: Vec<_> = faker.seen().iter().map(|seen| has(&seen.body, "/reasoning_effort")).collect();
    assert_eq!(efforts, ["\"low\"", "-", "\"low\"", "-"]);
}

#[tokio::test]
async fn the_wire_follows_the_model_family_and_changes_on_the_servers_refusal() {
    let (chat, responses) = ("/v1/chat/completions", "/v1/responses");
    let cases: &[(&[Rule], Wire, &str, &[&str])] = &[
        // Also behind a gateway.
        (&[], Wire::Auto, "openai/gpt-5.6-sol", &[responses, responses]),
        (&[], Wire::Auto, "openai/gpt-5-codex", &[responses, responses]),
        (&[], Wire::Auto, "openai/gpt-4.1", &[chat, chat]),
        (&[], Wire::Auto, "openai/qwen3", &[chat, chat]),
        (&[Rule::ToolsOnChat], Wire::Auto, "openai/gpt-next", &[chat, responses, responses]),
        (&[Rule::ToolsOnChat], Wire::Auto, "own/gpt-5.4", &[chat, responses, responses]),
        (&[Rule::NoResponses], Wire::Auto, "openai/gpt-5.6-sol", &[responses, chat, chat]),
        // A configured wire is kept; the option named in the refusal is left out instead.
        (&[], Wire::Chat, "openai/gpt-5.6-sol", &[chat, chat]),
    ];
    for (rules, wire, id, expected) in cases {
        let got = twice(rules, *wire, id, |path, _| path.to_owned()).await;
        assert_eq!(got, *expected, "{id} {rules:?}");
    }
}

#[tokio::test]
async fn an_address_without_either_wire_is_reported_after_one_change() {
    let faker = Faker::strict(&[Rule::NoResponses, Rule::ToolsOnChat]).await;
    let model = at(&faker, Wire::Auto).get("openai/gpt-5.6-sol").await.unwrap();
    let got = ask(&*model, full()).await;
    assert!(got.contains("Please use /v1/responses instead"), "{got}");
    assert_eq!(faker.seen().len(), 2);
}

#[tokio::test]
async fn images_become_a_text_where_the_server_rejects_them() {
    let faker = Faker::strict(&[Rule::NoImages]).await;
    let catalog = at(&faker, Wire::Chat);
    let model = catalog.get("openai/gpt-4.1").await.unwrap();
    let image = Content::Image {
        mime_type: "image/png".into(),
        data:
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
                .into(),
    };
    let seen = ModelRequest { messages: vec![Message::User(vec![image])], ..request("") };
    assert_eq!(ask(&*model, seen).await, HELLO);
    let sent = faker.seen().remove(1).body.to_string();
    assert!(sent.contains("an image (image/png) was here"), "{sent}");
}

/// A PNG image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn with_image(data: &str) -> ModelRequest {
    let image = Content::Image { mime_type: "image/jpg".into(), data: data.into() };
    ModelRequest { messages: vec![Message::User(vec![image])], ..request("") }
}

#[tokio::test]
async fn a_refused_image_alone_becomes_a_text() {
    let refusal =
        r#"{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid."}}"#;
    let hello = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let accepted = || vec![Faker::events(hello)];
    let scripts = vec![vec![Faker::status("400 X", "", refusal)], accepted(), accepted(), accepted()];
    let faker = Faker::start(scripts).await;
    let catalog = at(&faker, Wire::Chat);
    let model = catalog.get("openai/gpt-4.1").await.unwrap();
    let said = ask(&*model, with_image(PIXEL)).await;
    assert_eq!(said, format!("retrying: 2\n{HELLO}"));
    // It is not sent again, and another image is.
    assert_eq!(ask(&*model, with_image(PIXEL)).await, HELLO);
    let other = PIXEL.replace("WjR9", "WjR8");
    assert_eq!(ask(&*model, with_image(&other)).await, HELLO);
    let sent: Vec<String> = faker.seen().iter().map(|seen| seen.body.to_string()).collect();
    assert!(sent[0].contains("data:image/png;base64,"), "the type is that of the content: {}", sent[0]);
    for refused in &sent[1..3] {
        assert!(!refused.contains("base64") && refused.contains("the server refused it"), "{refused}");
    }
    assert!(sent[3].contains("base64"), "{}", sent[3]);
}

#[tokio::test]
async fn a_damaged_image_is_not_sent() {
    let faker = Faker::strict(&[]).await;
    let model = at(&faker, Wire::Chat).get("openai/gpt-4.1").await.unwrap();
    assert_eq!(ask(&*model, with_image(&PIXEL[..64])).await, HELLO);
    let sent = faker.seen().remove(0).body.to_string();
    assert!(sent.contains("it cannot be sent: it is damaged"), "{sent}");
}

#[tokio::test]
async fn a_context_size_stated_in_a_refusal_applies_from_then_on() {
    let long = r#"{"error":{"message":"This model's maximum context length is 16384 tokens. However, your messages resulted in 17000 tokens.","code":"context_length_exceeded"}}"#;
    let faker = Faker::start(vec![vec![Faker::status("400 X", "", long)]]).await;
    let catalog = at(&faker, Wire::Chat);
    let model = catalog.get("own/m").await.unwrap();
    assert_eq!(model.info().limits.context_size, 128_000);
    assert!(ask(&*model, request("hi")).await.starts_with("error: ContextOverflow"));
    assert_eq!(catalog.get("own/m").await.unwrap().info().limits.context_size, 16_384);
    assert_eq!(catalog.get("own/other").await.unwrap().info().limits.context_size, 128_000);
}
