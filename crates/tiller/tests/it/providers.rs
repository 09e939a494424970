//! Each vendor's wire format in the real program: the prompt is sent, parallel calls arrive and
//! change real files, and their results are sent.

use crate::{
    home::{Home, stderr},
    model_server::ModelServer,
    refusals::Rule,
};
use serde_json::{Value, json};

const CALLS: [(&str, &str); 2] = [
    ("file_edit", r#"{"path":"a.txt","old_string":"one","new_string":"two"}"#),
    ("file_write", r#"{"path":"b.txt","content":"hello\n"}"#),
];

/// Runs a prompt on a model whose server answers with two calls and then with a text.
fn check(model: &str, wire: &str, path: &str, answers: [Vec<Value>; 2], named: bool) {
    check_strict(&[], model, wire, &[path, path], answers, named);
}

/// Like [`check`], with a server that refuses requests by these rules. `paths` are the expected
/// request
/// paths, in order.
fn check_strict(
    rules: &[Rule],
    model: &str,
    wire: &str,
    paths: &[&str],
    answers: [Vec<Value>; 2],
    named: bool,
) {
    let events = |events: &Vec<Value>| {
        let event = |event: &Value| match named {
            true => format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()),
            false => format!("data: {event}\n\n"),
        };
        events.iter().map(event).collect::<String>()
    };
    let server = ModelServer::strict(rules.to_vec(), answers.iter().map(events).collect());
    let home = Home::new();
    home.settings(&format!("providers.openai.wire = '{wire}'"));
    home.write("a.txt", "one\n");
    let mut command = home.tiller(&["-p", "change it", "-m", model, "-o", "json"]);
    for vendor in ["OPENAI", "ANTHROPIC", "GEMINI"] {
        command.env(format!("{vendor}_API_KEY"), "key").env(format!("{vendor}_BASE_URL"), &server.url);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{model}: {}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["text"], "Done.", "{result}");
    assert_eq!(result["turns"], 2, "{result}");
    assert_eq!(home.read("a.txt").as_deref(), Some("two\n"), "{result}");
    assert_eq!(home.read("b.txt").as_deref(), Some("hello\n"), "{result}");
    let requests: Vec<_> = server.requests.iter().collect();
    assert_eq!(requests.iter().map(|(path, _)| path).collect::<Vec<_>>(), paths, "{model}");
    for (_, body) in &requests {
        assert!(body.contains("change it"), "{body}");
        assert!(body.contains("--yolo"), "the model knows the way out of a denial: {body}");
    }
    let last = &requests.last().unwrap().1;
    assert!(last.contains("Wrote 1 line"), "the results go back: {last}");
}

#[test]
fn chat_completions() {
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let end = |reason: &str| json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let mut calls = Vec::new();
    for (index, (name, arguments)) in CALLS.iter().enumerate() {
        let (start, rest) = arguments.split_at(10);
        let call = json!({ "index": index, "id": format!("c{index}"), "type": "function", "function": { "name": name, "arguments": start } });
        calls.push(delta(json!({ "tool_calls": [call] })));
        calls.push(delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": rest } }] })));
    }
    calls.push(end("tool_calls"));
    let text = vec![delta(json!({ "content": "Done." })), end("stop")];
    check("openai/test", "auto", "/v1/chat/completions", [calls, text], false);
}

#[test]
fn anthropic_messages() {
    let start = json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [], "model": "test", "usage": { "input_tokens": 3, "output_tokens": 1 } } });
    let end = |reason: &str| {
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        vec![
            json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 5 } }),
            json!({ "type": "message_stop" }),
        ]
    };
    let block = |index: usize, block: Value, delta: Value| {
        vec![
            json!({ "type": "content_block_start", "index": index, "content_block": block }),
            json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            json!({ "type": "content_block_stop", "index": index }),
        ]
    };
    let mut calls = vec![start.clone()];
    for (index, (name, arguments)) in CALLS.iter().enumerate() {
        let call = json!({ "type": "tool_use", "id": format!("c{index}"), "name": name, "input": {} });
        calls.extend(block(index, call, json!({ "type": "input_json_delta", "partial_json": arguments })));
    }
    calls.extend(end("tool_use"));
    let mut text = vec![start];
    text.extend(block(
        0,
        json!({ "type": "text", "text": "" }),
        json!({ "type": "text_delta", "text": "Done." }),
    ));
    text.extend(end("end_turn"));
    check("anthropic/test", "auto", "/v1/messages", [calls, text], true);
}

#[test]
fn gemini() {
    let event = |parts: Value| json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }] });
    let end = json!({ "candidates": [{ "index": 0, "content": {}, "finishReason": "STOP" }], "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 5 } });
    let call = |index: usize| {
        let (name, arguments) = CALLS[index];
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        json!({ "functionCall": { "id": format!("c{index}"), "name": name, "args": arguments } })
    };
    let mut first = call(0);
    first["thoughtSignature"] = json!("EqQB/+==");
    let calls = vec![event(json!([first])), event(json!([call(1)])), end.clone()];
    let text = vec![event(json!([{ "text": "Done." }])), end];
    let path = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";
    check_strict(
        &[Rule::ThoughtSignature],
        "gemini/gemini-3-pro",
        "auto",
        &[path, path],
        [calls, text],
        false,
    );
}

#[test]
fn responses() {
    let (chat, responses) = ("/v1/chat/completions", "/v1/responses");
    check("openai/test", "responses", responses, responses_answers(), true);
    // A server that refuses the tools gets the request over the other wire; when it refuses the
    // summary,
    // the request is repeated without it.
    let rules = [Rule::ToolsOnChat, Rule::SummaryNotVerified];
    let paths = [chat, responses, responses, responses];
    check_strict(&rules, "openai/gpt-next", "auto", &paths, responses_answers(), true);
}

/// Two calls, then a text.
fn responses_answers() -> [Vec<Value>; 2] {
    let created = json!({ "type": "response.created", "response": { "id": "r", "status": "in_progress", "output": [] } });
    let completed = json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": [], "usage": { "input_tokens": 3, "output_tokens": 5 } } });
    let mut calls = vec![created.clone()];
    for (index, (name, arguments)) in CALLS.iter().enumerate() {
        let item = |arguments: &str| json!({ "type": "function_call", "id": format!("f{index}"), "call_id": format!("c{index}"), "name": name, "arguments": arguments });
        let id = format!("f{index}");
        calls.push(json!({ "type": "response.output_item.added", "output_index": index, "item": item("") }));
        calls.push(json!({ "type": "response.function_call_arguments.delta", "output_index": index, "item_id": id, "delta": arguments }));
        calls.push(json!({ "type": "response.function_call_arguments.done", "output_index": index, "item_id": id, "arguments": arguments }));
        calls.push(
            json!({ "type": "response.output_item.done", "output_index": index, "item": item(arguments) }),
        );
    }
    calls.push(completed.clone());
    let item =
        |content: Value| json!({ "type": "message", "id": "m", "role": "assistant", "content": content });
    let text = vec![
        created,
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item(json!([])) }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "m", "delta": "Done." }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item(json!([{ "type": "output_text", "text": "Done." }])) }),
        completed,
    ];
    [calls, text]
}
