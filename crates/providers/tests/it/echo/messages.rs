//! Messages: every block in its place, with thinking as long as nothing before it has changed.

use super::{Conversation, Part, for_many, quoted, stream};
use agent::{ContextLimits, Limits};
use providers::Wire;
use serde_json::{Value, json};

const MODEL: &str = "anthropic/claude-opus-5-5";

/// Returns the events of an answer with these blocks.
fn answer(parts: &[Part]) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {}})];
    for (index, part) in parts.iter().enumerate() {
        let (start, deltas) = match part {
            Part::Text(text) => {
                (json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": text})])
            }
            Part::Thinking(text) => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                vec![
                    json!({"type": "thinking_delta", "thinking": text}),
                    json!({"type": "signature_delta", "signature": format!("c2ln{index}==")}),
                ],
            ),
            Part::Hidden => (json!({"type": "redacted_thinking", "data": format!("eA{index}+/=")}), vec![]),
            Part::Call(arguments) => (
                json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": "file_read", "input": {}, "caller": {"type": "direct"}}),
                arguments
                    .split_inclusive(':')
                    .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                    .collect(),
            ),
            Part::Unknown => (json!({"type": "container_upload", "file_id": format!("f{index}")}), vec![]),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = if parts.iter().any(|part| matches!(part, Part::Call(_))) { "tool_use" } else { "end_turn" };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
    events.push(json!({"type": "message_stop"}));
    stream(&events)
}

/// Returns the JSON of the same answer as it is sent back, up to what follows it in the same
/// message; `None` if nothing of it is sent.
fn echo(parts: &[Part]) -> Option<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut ends_thinking = false;
    for (index, part) in parts.iter().enumerate() {
        blocks.push(match part {
            // The API rejects blank texts.
            Part::Text(text) if text.trim().is_empty() => continue,
            Part::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, quoted(text)),
            Part::Thinking(text) => {
                json!({"type": "thinking", "thinking": text, "signature": format!("c2ln{index}==")}).to_string()
            }
            Part::Hidden => json!({"type": "redacted_thinking", "data": format!("eA{index}+/=")}).to_string(),
            Part::Call(arguments) => {
                let input = match *arguments {
                    "" => "{}".to_owned(),
                    raw if raw.starts_with('{') && raw.ends_with('}') => raw.to_owned(),
                    raw => format!(r#"{{"malformed_arguments":{}}}"#, quoted(raw)),
                };
                format!(
                    r#"{{"type":"tool_use","id":"toolu_{index}","name":"file_read","input":{input},"caller":{{"type":"direct"}}}}"#
                )
            }
            Part::Unknown => json!({"type": "container_upload", "file_id": format!("f{index}")}).to_string(),
        });
        ends_thinking = matches!(part, Part::Thinking(_) | Part::Hidden);
    }
    if ends_thinking {
        blocks.push(r#"{"type":"text","text":"(The answer ended here.)"}"#.to_owned());
    }
    (!blocks.is_empty()).then(|| format!(r#"{{"role":"assistant","content":[{}"#, blocks.join(",")))
}

fn text_answer(text: &str) -> String {
    answer(&[Part::Text(text.to_owned())])
}

#[test]
fn every_block_is_sent_back_unchanged_and_in_order() {
    for_many(async |parts| {
        let conversation =
            Conversation::new(MODEL, Wire::Anthropic, &[answer(&parts), text_answer("Done.")]).await;
        conversation.prompt("go").await;
        for request in conversation.go_on().await {
            match echo(&parts) {
                Some(echo) => {
                    assert!(request.text.contains(&echo), "{parts:?}: no {echo} in {}", request.text)
                }
                None => assert!(!request.text.contains("container_upload"), "{}", request.text),
            }
        }
    });
}

fn thinks_and_reads(number: usize) -> String {
    let arguments = if number == 0 { r#"{"path":"long.txt"}"# } else { r#"{"path":"a.txt"}"# };
    let thinking = Part::Thinking(format!("thought {number}"));
    answer(&[thinking, Part::Text(format!("Reading {number}.")), Part::Call(arguments)])
}

/// Returns the thoughts that a request contains.
fn thoughts(text: &str) -> Vec<usize> {
    (0..9).filter(|number| text.contains(&format!("thought {number}"))).collect()
}

#[tokio::test]
async fn thinking_after_omitted_results_is_no_longer_sent() {
    let context = ContextLimits { prune_protect: 1, prune_min_savings: 100, ..ContextLimits::default() };
    let limits = Limits { context, ..Limits::default() };
    let mut answers: Vec<_> = (0..4).map(thinks_and_reads).chain([text_answer("Done.")]).collect();
    // The context is full according to the server's count, so old results are left out.
    answers[2] = answers[2].replace(r#""message":{}"#, r#""message":{"usage":{"input_tokens":2000000}}"#);
    let conversation = Conversation::with_limits(MODEL, Wire::Anthropic, &answers, limits).await;
    conversation.prompt("go").await;
    for request in conversation.go_on().await {
        assert!(request.text.contains("(Left out to make room"), "{}", request.text);
        assert!(
            request.text.contains("Reading 1.") && request.text.contains("Reading 2."),
            "{}",
            request.text
        );
        // The first is before the change; the last was written after it.
        assert_eq!(thoughts(&request.text), [0, 3], "{}", request.text);
    }
}

#[tokio::test]
async fn the_tail_after_a_summary_is_sent_without_thinking() {
    let thoughtful =
        |number: usize| answer(&[Part::Thinking(format!("thought {number}")), Part::Text("Ok.".to_owned())]);
    let answers = [
        text_answer(&"word ".repeat(60_000)),
        thoughtful(1),
        thoughtful(2),
        thoughtful(3),
        text_answer("A summary."),
        thoughtful(4),
        text_answer("Done."),
    ];
    let conversation = Conversation::new(MODEL, Wire::Anthropic, &answers).await;
    for prompt in ["P1", "P2", "P3", "P4", "/compact", "P5"] {
        conversation.prompt(prompt).await;
    }
    for request in conversation.go_on().await {
        assert!(request.text.contains("A summary.") && request.text.contains("P4"), "{}", request.text);
        assert_eq!(thoughts(&request.text), [4], "{}", request.text);
    }
}
