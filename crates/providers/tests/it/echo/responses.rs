//! Responses: every item unchanged, with its id and its phase.

use super::{Conversation, Part, for_many, quoted, stream};
use providers::Wire;
use serde_json::{Value, json};

const MODEL: &str = "openai/gpt-5.4";

/// Returns the items as the server sends them; as text, since their exact bytes are tested.
fn items(parts: &[Part]) -> Vec<String> {
    let item = |(index, part): (usize, &Part)| match part {
        Part::Text(text) => format!(
            r#"{{"id":"msg_{index}", "type":"message","status":"completed","phase":"commentary","role":"assistant","content":[{{"type":"output_text","annotations":[],"text":{}}}]}}"#,
            quoted(text)
        ),
        Part::Thinking(text) => format!(
            r#"{{"id":"rs_{index}","type":"reasoning","encrypted_content":"gAA{index}+/==", "summary":[{{"type":"summary_text","text":{}}}]}}"#,
            quoted(text)
        ),
        Part::Hidden => {
            format!(r#"{{"id":"rs_{index}","type":"reasoning","summary":[],"encrypted_content":"x{index}"}}"#)
        }
        Part::Call(arguments) => format!(
            r#"{{"id":"fc_{index}","type":"function_call","status":"completed","arguments":{},"call_id":"call_{index}","name":"file_read"}}"#,
            quoted(arguments)
        ),
        Part::Unknown => format!(r#"{{"id":"x_{index}","type":"mystery","n":1.50}}"#),
    };
    parts.iter().enumerate().map(item).collect()
}

fn answer(parts: &[Part]) -> String {
    let mut text = String::new();
    for (item, part) in items(parts).into_iter().zip(parts) {
        if let Part::Text(text_answer) = part {
            let delta = |delta: &str| json!({"type": "response.output_text.delta", "delta": delta});
            text += &stream(&text_answer.split_inclusive(' ').map(delta).collect::<Vec<Value>>());
        }
        text += &format!("data: {{\"type\":\"response.output_item.done\",\"item\":{item}}}\n\n");
    }
    text + &stream(&[json!({"type": "response.completed", "response": {}})])
}

fn text_answer(text: &str) -> String {
    answer(&[Part::Text(text.to_owned())])
}

#[test]
fn every_item_is_sent_back_unchanged_and_in_order() {
    for_many(async |parts| {
        let conversation =
            Conversation::new(MODEL, Wire::Responses, &[answer(&parts), text_answer("Done.")]).await;
        conversation.prompt("go").await;
        // The API rejects reasoning that leads to no item.
        let led = parts.iter().rposition(|part| !matches!(part, Part::Thinking(_) | Part::Hidden));
        let echo = items(&parts[..led.map_or(0, |last| last + 1)]).join(",");
        for request in conversation.go_on().await {
            assert!(request.text.contains(&echo), "{parts:?}: no {echo} in {}", request.text);
        }
    });
}

#[tokio::test]
async fn two_messages_become_two_paragraphs_and_are_sent_back_with_their_phases() {
    let parts = [Part::Text("First I look.".to_owned()), Part::Text("Then I grep.".to_owned())];
    let conversation =
        Conversation::new(MODEL, Wire::Responses, &[answer(&parts), text_answer("Done.")]).await;
    conversation.prompt("go").await;
    assert_eq!(conversation.client.text(), "First I look.\n\nThen I grep.");
    assert_eq!(conversation.stored_text(), "First I look.\n\nThen I grep.");
    for request in conversation.go_on().await {
        assert!(request.text.contains(&items(&parts).join(",")), "{}", request.text);
    }
}

#[tokio::test]
async fn reasoning_without_encrypted_content_is_not_sent_back() {
    let bare = r#"{"id":"rs_1","type":"reasoning","summary":[]}"#;
    let open =
        r#"{"id":"rs_2","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm"}]}"#;
    let message = &items(&[Part::Text("Hi".to_owned())])[0];
    let done = |item: &str| format!("data: {{\"type\":\"response.output_item.done\",\"item\":{item}}}\n\n");
    let end = stream(&[json!({"type": "response.completed", "response": {}})]);
    let first = done(bare) + &done(open) + &done(message) + &end;
    let conversation = Conversation::new(MODEL, Wire::Responses, &[first, text_answer("Done.")]).await;
    conversation.prompt("go").await;
    for request in conversation.go_on().await {
        assert!(request.text.contains(&format!("{open},{message}")), "{}", request.text);
        assert!(!request.text.contains("rs_1"), "{}", request.text);
    }
}
