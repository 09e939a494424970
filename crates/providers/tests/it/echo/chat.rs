//! Chat Completions: reasoning in its field, and unknown members of messages and calls.

use super::{Conversation, Part, for_many, stream};
use crate::faker::Faker;
use providers::Wire;
use serde_json::{Value, json};

const MODEL: &str = "openai/deepseek-v4";

fn chunk(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn stop(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn text_answer(text: &str) -> String {
    stream(&[chunk(&json!({"content": text})), stop("stop")])
}

/// Returns the chunks of an answer. `Unknown` is a signature that belongs to the preceding call, or
/// to the message if there is none.
fn answer(parts: &[Part]) -> String {
    let (mut events, mut calls) = (Vec::new(), 0);
    for part in parts {
        events.push(chunk(&match part {
            Part::Text(text) => json!({"content": text, "reasoning_content": null}),
            Part::Thinking(text) => json!({"content": null, "reasoning_content": text}),
            Part::Hidden => {
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": format!("eA{}=", events.len())}]})
            }
            Part::Call(arguments) => {
                calls += 1;
                json!({"tool_calls": [{"index": calls - 1, "id": format!("functions.file_read:{calls}"), "type": "function",
                    "function": {"name": "file_read", "arguments": arguments}}]})
            }
            Part::Unknown if calls > 0 => {
                json!({"tool_calls": [{"index": calls - 1, "extra_content": {"google": {"thought_signature": "c2ln+/="}}}]})
            }
            Part::Unknown => json!({"x_opaque": {"kept": "yes"}}),
        }));
    }
    events.push(stop(if calls > 0 { "tool_calls" } else { "stop" }));
    stream(&events)
}

/// Checks the message that is sent back: its members, and its calls.
fn check(parts: &[Part], request: &Value) {
    let messages = request["messages"].as_array().unwrap();
    let echoed =
        messages.iter().find(|message| message["role"] == "assistant" && message["content"] != "Done.");
    let text: String = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let calls: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Call(arguments) => Some(*arguments),
            _ => None,
        })
        .collect();
    if text.is_empty() && calls.is_empty() {
        assert_eq!(echoed, None, "servers refuse a message that says nothing");
        return;
    }
    let echoed = echoed.unwrap();
    assert_eq!(echoed["content"].as_str().unwrap_or_default(), text);
    let thoughts: Option<String> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking(text) => Some(text.as_str()),
            _ => None,
        })
        .fold(None, |whole, text| Some(whole.unwrap_or_default() + text));
    assert_eq!(echoed.get("reasoning_content").and_then(Value::as_str), thoughts.as_deref());
    let hidden = parts.iter().filter(|part| matches!(part, Part::Hidden)).count();
    assert_eq!(echoed["reasoning_details"].as_array().map_or(0, Vec::len), hidden);
    let sent = echoed["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(sent.len(), calls.len());
    for (number, (call, arguments)) in sent.iter().zip(calls).enumerate() {
        assert_eq!(call["id"], format!("functions.file_read:{}", number + 1));
        let expected = match arguments {
            "" => "{}".to_owned(),
            whole if whole.starts_with('{') && whole.ends_with('}') => whole.to_owned(),
            // Most servers parse the arguments that they receive.
            raw => json!({"malformed_arguments": raw}).to_string(),
        };
        assert_eq!(call["function"], json!({"name": "file_read", "arguments": expected}));
        let result = messages.iter().filter(|message| message["tool_call_id"] == call["id"]).count();
        assert_eq!(result, 1, "every call has one result");
    }
    let first_call = parts.iter().position(|part| matches!(part, Part::Call(_))).unwrap_or(parts.len());
    let of_message = parts[..first_call].iter().any(|part| matches!(part, Part::Unknown));
    assert_eq!(echoed.get("x_opaque"), of_message.then_some(&json!({"kept": "yes"})));
    let signed = sent.iter().filter(|call| call["extra_content"]["google"]["thought_signature"] == "c2ln+/=");
    let (mut expected, mut open) = (0, false);
    for part in &parts[first_call..] {
        match part {
            Part::Call(_) => open = true,
            Part::Unknown if std::mem::take(&mut open) => expected += 1,
            _ => {}
        }
    }
    assert_eq!(signed.count(), expected);
}

#[test]
fn every_member_of_a_message_and_its_calls_is_sent_back() {
    for_many(async |parts| {
        let conversation =
            Conversation::new(MODEL, Wire::Chat, &[answer(&parts), text_answer("Done.")]).await;
        conversation.prompt("go").await;
        for request in conversation.go_on().await {
            check(&parts, &request.body);
        }
    });
}

#[tokio::test]
async fn reasoning_content_is_sent_back_with_every_call_of_the_conversation() {
    let call = |id: &str| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "file_read", "arguments": "{\"path\":\"a.txt\"}"}}]});
    let thinks = |text: &str, id: &str| {
        stream(&[chunk(&json!({"reasoning_content": text})), chunk(&call(id)), stop("tool_calls")])
    };
    let silent = |id: &str| stream(&[chunk(&call(id)), stop("tool_calls")]);
    let answers = [
        silent("c0"),
        thinks("Hm", "c1"),
        text_answer("One."),
        thinks("", "c2"),
        silent("c3"),
        text_answer("Two."),
    ];
    let conversation = Conversation::new(MODEL, Wire::Chat, &answers).await;
    conversation.prompt("go").await;
    conversation.prompt("and on").await;
    for request in conversation.go_on().await {
        let messages = request.body["messages"].as_array().unwrap();
        let called = messages.iter().filter(|message| message.get("tool_calls").is_some());
        let reasoning: Vec<_> = called.map(|message| message["reasoning_content"].as_str()).collect();
        assert_eq!(reasoning, [Some(""), Some("Hm"), Some(""), Some("")], "{messages:#?}");
    }
}

#[tokio::test]
async fn signatures_and_details_keep_their_bytes() {
    let first = concat!(
        r#"data: {"choices":[{"index":0,"delta":{"reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm","format":"x","index":0}]}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"index":0,"delta":{"reasoning":" so","reasoning_details":[{"type":"reasoning.text","text":" so","format":"x","index":0}]}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","index":0}]}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","extra_content":{ "google":{"thought_signature":"\u0041+/="} },"function":{"name":"file_read","arguments":"{\"path\": \"a.txt\"}","x":[ 1.0 ]}}]},"finish_reason":"tool_calls"}]}"#,
        "\n\n",
    );
    let conversation = Conversation::new(MODEL, Wire::Chat, &[first.to_owned(), text_answer("Done.")]).await;
    conversation.prompt("go").await;
    for request in conversation.go_on().await {
        let call = r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"path\": \"a.txt\"}","x":[ 1.0 ]},"extra_content":{ "google":{"thought_signature":"\u0041+/="} }}]"#;
        assert!(request.text.contains(call), "{}", request.text);
        let details = r#""reasoning":"Hm so","reasoning_details":[{"type":"reasoning.text","text":"Hm so","format":"x","index":0,"signature":"c2ln"}]"#;
        assert!(request.text.contains(details), "{}", request.text);
    }
}

#[tokio::test]
async fn another_model_gets_plain_text_and_calls() {
    let first = stream(&[
        chunk(&json!({"reasoning_content": "covert-7", "x_opaque": "covert-7"})),
        chunk(
            &json!({"content": "Looking.", "tool_calls": [{"index": 0, "id": "a:1", "extra_content": "covert-7",
            "function": {"name": "file_read", "arguments": "{\"path\": \"a.txt\"}"}}]}),
        ),
        stop("tool_calls"),
    ]);
    let conversation = Conversation::new(MODEL, Wire::Chat, &[first, text_answer("Done.")]).await;
    conversation.prompt("go").await;
    conversation.session.set_model("openai/other").await.unwrap();
    for request in conversation.go_on().await {
        assert!(request.text.contains("Looking.") && request.text.contains("a_1"), "{}", request.text);
        assert!(!request.text.contains("covert-7"), "{}", request.text);
    }
}

/// Plays a conversation whose first answer has a call; the server refuses the next request with
/// this message.
async fn refused_once(delta: &Value, message: &str) -> Conversation {
    let call = json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "file_read", "arguments": "{\"path\":\"a.txt\"}"}}]});
    let first = Faker::events(&stream(&[chunk(delta), chunk(&call), stop("tool_calls")]));
    let refusal = Faker::status("400 X", "", &json!({"error": {"message": message}}).to_string());
    let conversation = Conversation::with_steps(
        MODEL,
        Wire::Chat,
        vec![first, refusal, Faker::events(&text_answer("Done."))],
    )
    .await;
    conversation.prompt("go").await;
    conversation.prompt("go on").await;
    conversation
}

#[tokio::test]
async fn members_that_a_server_sends_but_rejects_are_omitted_from_then_on() {
    let message = "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'sender' is unsupported)]";
    let conversation = refused_once(&json!({"reasoning": "Hm", "sender": "x"}), message).await;
    let sent: Vec<_> = conversation.faker.seen().into_iter().skip(1).collect();
    assert!(sent.iter().all(|request| request.text.contains(r#""reasoning":"Hm""#)));
    let gave: Vec<_> = sent.iter().map(|request| request.text.contains(r#""sender":"x""#)).collect();
    assert_eq!(gave, [true, false, false]);
}

#[tokio::test]
async fn a_server_that_requires_reasoning_gets_an_empty_one() {
    let message = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    let conversation = refused_once(&json!({"content": "Looking."}), message).await;
    let sent: Vec<_> = conversation.faker.seen().into_iter().skip(1).collect();
    let gave: Vec<_> =
        sent.iter().map(|request| request.text.contains(r#""reasoning_content":"""#)).collect();
    assert_eq!(gave, [false, true, true]);
}
