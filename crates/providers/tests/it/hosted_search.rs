//! Web searches that the model's vendor hosts: how they are offered, shown and sent back.

use crate::{
    faker::Faker,
    support::{catalog, options, request, show, vendor},
};
use agent::{
    AssistantMessage, Content, Item, Message, ModelEvent, ModelRequest, Models, ToolSpec, ToolSpecs,
};
use futures::StreamExt;
use providers::{Catalog, Wire};
use serde_json::{Value, json};

/// One wire: a model, the hosted tool in its requests, an answer with a search, and the items that
/// go back to the model.
struct Case {
    model: &'static str,
    tool: Value,
    answer: &'static str,
    items: &'static [&'static str],
}

fn cases() -> [Case; 3] {
    [
        Case {
            model: "anthropic/claude-opus-5-5",
            tool: json!({ "type": "web_search_20250305", "name": "web_search", "max_uses": 5 }),
            answer: concat!(
                r#"data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}"#,
                "\n\n",
                r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}"#,
                "\n\n",
                r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\": \"rust"}}"#,
                "\n\n",
                r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":" 2024\"}"}}"#,
                "\n\n",
                r#"data: {"type":"content_block_stop","index":0}"#,
                "\n\n",
                r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x.example/","encrypted_content":"Eq+/="}]}}"#,
                "\n\n",
                r#"data: {"type":"content_block_stop","index":1}"#,
                "\n\n",
                r#"data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Found."}}"#,
                "\n\n",
                r#"data: {"type":"content_block_stop","index":2}"#,
                "\n\n",
                r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#,
                "\n\n",
                r#"data: {"type":"message_stop"}"#,
                "\n\n",
            ),
            items: &[
                r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "rust 2024"}}"#,
                r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x.example/","encrypted_content":"Eq+/="}]}"#,
            ],
        },
        Case {
            model: "openai/gpt-5.4",
            tool: json!({ "type": "web_search" }),
            answer: concat!(
                r#"data: {"type":"response.output_item.done","item":{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"rust 2024","queries":["rust 2024"]}}}"#,
                "\n\n",
                r#"data: {"type":"response.output_item.done","item":{"type":"web_search_call","id":"ws_2","status":"completed","action":{"type":"open_page","url":"https://x.example/"}}}"#,
                "\n\n",
                r#"data: {"type":"response.output_text.delta","delta":"Found."}"#,
                "\n\n",
                r#"data: {"type":"response.output_item.done","item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Found."}]}}"#,
                "\n\n",
                r#"data: {"type":"response.completed","response":{"usage":{"input_tokens":9,"output_tokens":8}}}"#,
                "\n\n",
            ),
            items: &[
                r#"{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"rust 2024","queries":["rust 2024"]}}"#,
                r#"{"type":"web_search_call","id":"ws_2","status":"completed","action":{"type":"open_page","url":"https://x.example/"}}"#,
            ],
        },
        Case {
            model: "gemini/gemini-3-pro",
            tool: json!({ "googleSearch": {} }),
            answer: concat!(
                r#"data: {"candidates":[{"content":{"parts":[{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["rust 2024"]},"id":"s1"},"thoughtSignature":"Eq+/="}]}}]}"#,
                "\n\n",
                r#"data: {"candidates":[{"content":{"parts":[{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{},"id":"s1"}}]}}]}"#,
                "\n\n",
                r#"data: {"candidates":[{"content":{"parts":[{"text":"Found."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":8}}"#,
                "\n\n",
            ),
            items: &[
                r#"{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["rust 2024"]},"id":"s1"},"thoughtSignature":"Eq+/="}"#,
                r#"{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{},"id":"s1"}}"#,
            ],
        },
    ]
}

fn at(faker: &Faker, hosted_search: bool) -> Catalog {
    let mut options = options();
    options.vendors.openai = vendor(faker.url(), Wire::Responses);
    options.vendors.anthropic = vendor(faker.url(), Wire::Auto);
    options.vendors.gemini = vendor(faker.url(), Wire::Auto);
    options.vendors.hosted_search = hosted_search;
    catalog(options)
}

fn with_tools(mut request: ModelRequest) -> ModelRequest {
    let (name, description) = ("read".to_owned(), "Reads.".to_owned());
    request.tools =
        ToolSpecs::from(vec![ToolSpec { name, description, parameters: json!({ "type": "object" }) }]);
    request
}

async fn ask(catalog: &Catalog, model: &str, request: ModelRequest) -> Vec<ModelEvent> {
    let model = catalog.get(model).await.unwrap();
    let events: Vec<_> = model.stream(request).collect().await;
    assert!(events.iter().all(Result::is_ok), "{}", show(&events));
    events.into_iter().flatten().collect()
}

#[tokio::test]
async fn each_wire_offers_its_own_search_and_sends_its_items_back() {
    for Case { model, tool, answer, items } in cases() {
        let faker = Faker::serve(move |_| vec![Faker::events(answer)]).await;
        let catalog = at(&faker, true);
        let events = ask(&catalog, model, with_tools(request("search"))).await;
        let searches: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::HostedSearch(query) => Some(query.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(searches, ["rust 2024"], "{model}");
        let kept: Vec<_> = events
            .into_iter()
            .filter_map(|event| match event {
                ModelEvent::Other(opaque) => Some(Item::Other(opaque)),
                _ => None,
            })
            .collect();
        assert_eq!(kept.len(), items.len(), "{model}");
        let mut next = with_tools(request("search"));
        next.messages.push(Message::Assistant(AssistantMessage {
            model: model.to_owned(),
            items: kept,
            prefix_changed: false,
        }));
        next.messages.push(Message::User(vec![Content::Text("and?".into())]));
        ask(&catalog, model, next).await;
        // Without tools, as for a summary, and without the setting there is no search.
        ask(&catalog, model, request("sum up")).await;
        ask(&at(&faker, false), model, with_tools(request("no search"))).await;
        let seen = faker.seen();
        let has_tool = |body: &Value| body["tools"].as_array().is_some_and(|tools| tools.contains(&tool));
        let offered: Vec<_> = seen.iter().map(|seen| has_tool(&seen.body)).collect();
        assert_eq!(offered, [true, true, false, false], "{model}: {}", seen[0].text);
        let functions = seen[0].body["tools"].to_string();
        assert!(functions.contains("\"read\""), "{model}: beside the other tools: {functions}");
        for item in items {
            assert!(seen[1].text.contains(item), "{model}: {item}\n{}", seen[1].text);
        }
    }
    // Older models of Gemini do not search beside functions.
    let [.., Case { answer, tool, .. }] = cases();
    let faker = Faker::serve(move |_| vec![Faker::events(answer)]).await;
    ask(&at(&faker, true), "gemini/gemini-2.5-pro", with_tools(request("search"))).await;
    let body = &faker.seen()[0].body;
    assert!(!body["tools"].as_array().unwrap().contains(&tool) && body.get("toolConfig").is_none(), "{body}");
}

#[tokio::test]
async fn a_server_that_refuses_its_search_is_asked_without_it() {
    for (Case { model, tool, answer, .. }, refusal) in cases().into_iter().zip([
        "tools.0: web_search_20250305 is not supported for this model",
        "Unsupported tool type: web_search is not supported",
        "Built-in tools (google_search) and Function Calling cannot be combined: it is not supported",
    ]) {
        let refused = tool.clone();
        let faker = Faker::serve(move |seen| {
            let body = json!({ "error": { "message": refusal } }).to_string();
            match seen.body["tools"].as_array().is_some_and(|tools| tools.contains(&refused)) {
                true => vec![Faker::status("400 Bad Request", "", &body)],
                false => vec![Faker::events(answer)],
            }
        })
        .await;
        ask(&at(&faker, true), model, with_tools(request("search"))).await;
        let seen = faker.seen();
        assert_eq!(seen.len(), 2, "{model}");
        assert!(seen[1].body["tools"].to_string().contains("\"read\""), "{model}: {}", seen[1].text);
    }
}
