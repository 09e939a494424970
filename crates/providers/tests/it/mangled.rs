//! A table for each wire: a server's script, and the resulting events.

use crate::{
    faker::{CHUNKED, Faker, HEAD, Step},
    support::{KEY, answer, model_with, request},
};
use agent::{ModelError, ModelEvent};
use futures::StreamExt as _;
use providers::Wire;
use std::{cell::Cell, time::Duration};

/// Plays a script, again for each retry, and compares the whole answer.
async fn check(name: &str, wire: Wire, script: Vec<Step>, expected: &[&str]) {
    let faker = Faker::start(vec![script]).await;
    let model =
        model_with(wire, &faker, |options| options.attempts.silence = Some(Duration::from_millis(300))).await;
    let got = answer(&*model).await.replace(&faker.addr.to_string(), "HOST");
    assert!(!got.contains(KEY), "{name}: {got}");
    assert_eq!(got, expected.join("\n"), "{name}");
}

/// Formats the data of events as a stream.
fn sse(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

fn send(data: &[&str]) -> Vec<Step> {
    vec![Faker::events(&sse(data))]
}

fn text(text: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#)
}

fn call(call: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#)
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const CALLS: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
const DONE: &str = "[DONE]";
const CUT: &str = "error: Transport: openai closed the connection in the middle of the answer; try again";
const IDLE: &str = "error: Transport: openai sent nothing for 300ms; try again, or set `providers.openai.silence` to more seconds if the server is only slow";
const FULL: &[&str] = &[
    "thought: Hm, gut…",
    r#"thought done: "Hm, gut…" {"field":"reasoning_content"}"#,
    "text: Größe: 😀 ok",
    r#"call: c1 read {"path":"a"}"#,
    r#"call: c2 grep {"pattern":"ü"}"#,
    "usage: 100+20 (80 read, 0 written)",
    "stop: ToolCalls",
];

/// Returns a stream with text, reasoning, two calls with alternating pieces, and token counts with
/// cached tokens.
fn full() -> String {
    let think = |text| format!(r#"{{"choices":[{{"index":0,"delta":{{"reasoning_content":"{text}"}}}}]}}"#);
    sse(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        &think("Hm, "),
        &think("gut…"),
        &text("Größe: "),
        &text("😀 ok"),
        &call(r#"{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":""}}"#),
        &call(r#"{"index":1,"id":"c2","type":"function","function":{"name":"grep","arguments":"{\"pat"}}"#),
        &call(r#"{"index":0,"function":{"arguments":"{\"path\":"}}"#),
        &call(r#"{"index":1,"function":{"arguments":"tern\":\"ü\"}"}}"#),
        &call(r#"{"index":0,"function":{"arguments":"\"a\"}"}}"#),
        CALLS,
        r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":80}}}"#,
        DONE,
    ])
}

#[tokio::test]
async fn chat_streams_do_not_depend_on_chunk_boundaries() {
    let body = full();
    check("whole", Wire::Chat, vec![Faker::events(&body)], FULL).await;
    for size in [1, 3, 7, 64] {
        let script = vec![Step::Send(HEAD.into()), Step::Trickle(body.clone().into_bytes(), size)];
        check(&format!("{size} bytes a piece"), Wire::Chat, script, FULL).await;
    }
    let crlf = body.replace('\n', "\r\n");
    let mut script = vec![Step::Send(CHUNKED.into())];
    for part in crlf.split_inclusive('\r') {
        script.push(Step::Chunk(part.into()));
    }
    script.push(Step::EndChunks);
    check("every chunk ends between CR and LF", Wire::Chat, script, FULL).await;
    let framed = vec![Step::Send(CHUNKED.into()), Step::Chunk(body.clone().into_bytes()), Step::EndChunks];
    check("one chunk", Wire::Chat, framed, FULL).await;
    let noisy = format!(
        ": hello\n\nretry: 10\nid: 1\n\n{}",
        body.replace("data: ", ": keep-alive\nid: 4\nevent: x\ndata: ")
    );
    check("comments, ids, retry lines", Wire::Chat, vec![Faker::events(&noisy)], FULL).await;
    check("byte order mark", Wire::Chat, vec![Faker::events(&format!("\u{feff}{body}"))], FULL).await;
    let no_type =
        vec![Step::Send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec()), Step::Send(body.into())];
    check("no content type", Wire::Chat, no_type, FULL).await;
}

#[tokio::test]
async fn chat_streams_may_end_in_several_ways() {
    let hello = text("hello");
    let ok = &["text: hello", "stop: EndTurn"];
    check("no [DONE]", Wire::Chat, send(&[&hello, STOP]), ok).await;
    check("only [DONE]", Wire::Chat, send(&[&hello, DONE]), ok).await;
    let unended = format!("{}data: {STOP}", sse(&[&hello]));
    check("no blank line at the end", Wire::Chat, vec![Faker::events(&unended)], ok).await;
    let open = vec![Faker::events(&sse(&[&hello, STOP])), Step::Hang];
    check("open after the reason to stop", Wire::Chat, open, ok).await;
    let open = vec![Faker::events(&sse(&[&hello, STOP, DONE])), Step::Hang];
    check("open after [DONE]", Wire::Chat, open, ok).await;
    check("clean end in the middle", Wire::Chat, send(&[&hello]), &["text: hello", CUT]).await;
    check("idle", Wire::Chat, vec![Faker::events(&sse(&[&hello])), Step::Hang], &["text: hello", IDLE]).await;
    check("no headers", Wire::Chat, vec![Step::Hang], &[IDLE]).await;
    let length = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    check("length", Wire::Chat, send(&[&hello, length, DONE]), &["text: hello", "stop: MaxTokens"]).await;
    let filter = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#;
    check("filtered", Wire::Chat, send(&[filter, DONE]), &["stop: Refusal"]).await;
    let refusal = r#"{"choices":[{"index":0,"delta":{"refusal":"no"}}]}"#;
    check("refused", Wire::Chat, send(&[refusal, STOP, DONE]), &["text: no", "stop: Refusal"]).await;
    check("empty answer", Wire::Chat, send(&[STOP, DONE]), &["stop: EndTurn"]).await;
}

#[tokio::test]
async fn chat_malformed_events_affect_only_themselves() {
    let (a, b) = (text("a"), text("b"));
    let ok = &["text: ab", "stop: EndTurn"];
    check("malformed event", Wire::Chat, send(&[&a, r#"{"choices":[{"#, &b, STOP, DONE]), ok).await;
    check("event of another type", Wire::Chat, send(&[&a, "[1]", r#"{"choices":7}"#, &b, STOP, DONE]), ok)
        .await;
    let mut bytes = sse(&[&a]).into_bytes();
    bytes.extend_from_slice(b"data: \xff\xfe\n\n");
    bytes.extend_from_slice(sse(&[&b, STOP, DONE]).as_bytes());
    check("no UTF-8", Wire::Chat, vec![Step::Send(HEAD.into()), Step::Send(bytes)], ok).await;
    check("only malformed events", Wire::Chat, send(&["{", "}"]), &[
        "error: BadResponse: http://HOST/v1/chat/completions answered with 2 events, none of which has the expected wire format; check the base URL and the wire of openai",
    ])
    .await;
    let other = r#"{"choices":[{"index":1,"delta":{"content":"second choice"}}]}"#;
    check("second choice", Wire::Chat, send(&[&a, other, &b, STOP, DONE]), ok).await;
}

#[tokio::test]
async fn chat_calls_of_real_servers_are_parsed() {
    let first = call(r#"{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\":1}"}}"#);
    let one = &[r#"call: c1 f {"a":1}"#, "stop: ToolCalls"];
    let two = &[r#"call: c1 f {"a":1}"#, r#"call: c2 g {"b":2}"#, "stop: ToolCalls"];
    let done = |calls: &[&str]| send(&[calls, &[CALLS, DONE]].concat());
    check("plain", Wire::Chat, done(&[&first]), one).await;
    check("reason `stop` beside a call", Wire::Chat, send(&[&first, STOP, DONE]), one).await;
    let unindexed = [
        call(r#"{"id":"c1","function":{"name":"f","arguments":"{\"a\""}}"#),
        call(r#"{"function":{"arguments":":1}"}}"#),
        call(r#"{"id":"c2","function":{"name":"g","arguments":"{\"b\":2}"}}"#),
    ];
    check("no index", Wire::Chat, done(&unindexed.each_ref().map(String::as_str)), two).await;
    let shared = call(r#"{"index":0,"id":"c2","function":{"name":"g","arguments":"{\"b\":2}"}}"#);
    check("two ids, one index", Wire::Chat, done(&[&first, &shared]), two).await;
    let huge = [
        call(r#"{"index":3000000,"id":"c1","function":{"name":"f","arguments":"{\"a\""}}"#),
        call(r#"{"index":3000000,"function":{"arguments":":1}"}}"#),
    ];
    check("huge index", Wire::Chat, done(&huge.each_ref().map(String::as_str)), one).await;
    let repeated = [
        call(r#"{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}}"#),
        call(r#"{"index":0,"id":"c1","function":{"name":"f","arguments":":1}"}}"#),
    ];
    check("id and name with every piece", Wire::Chat, done(&repeated.each_ref().map(String::as_str)), one)
        .await;
    let nameless = [
        call(r#"{"index":0,"function":{"name":"f","arguments":"{\"a\":1}"}}"#),
        call(r#"{"index":0,"function":{"name":"g","arguments":"{\"b\":2}"}}"#),
    ];
    check(
        "no ids",
        Wire::Chat,
        done(&nameless.each_ref().map(String::as_str)),
        &[r#"call: call_0 f {"a":1}"#, r#"call: call_1 g {"b":2}"#, "stop: ToolCalls"],
    )
    .await;
    let object = call(r#"{"index":0,"id":"c1","function":{"name":"f","arguments":{"a":1}}}"#);
    check("arguments as an object", Wire::Chat, done(&[&object]), one).await;
    let none = call(r#"{"index":0,"id":"c1","function":{"name":"f","arguments":""}}"#);
    check("no arguments", Wire::Chat, done(&[&none]), &["call: c1 f {}", "stop: ToolCalls"]).await;
    let truncated = call(r#"{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\": [1,"}}"#);
    check(
        "truncated JSON",
        Wire::Chat,
        done(&[&truncated]),
        &[r#"call: c1 f BAD "{\"a\": [1,""#, "stop: ToolCalls"],
    )
    .await;
    let list = call(r#"{"index":0,"id":"c1","function":{"name":"f","arguments":"[1]"}}"#);
    check("no object", Wire::Chat, done(&[&list]), &[r#"call: c1 f BAD "[1]""#, "stop: ToolCalls"]).await;
    check("cut in a call", Wire::Chat, send(&[&text("a"), &first]), &["text: a", CUT]).await;
    let many: Vec<_> = (0..300)
        .map(|number| {
            call(&format!(
                r#"{{"index":{number},"id":"c{number}","function":{{"name":"f","arguments":""}}}}"#
            ))
        })
        .collect();
    check(
        "300 calls",
        Wire::Chat,
        done(&many.iter().map(String::as_str).collect::<Vec<_>>()),
        &["error: BadResponse: openai asked for more than 256 tool calls in one answer"],
    )
    .await;
}

/// Pieces are assigned to calls by id, index and name together: if any of them is missing, late,
/// shared or wrong, calls are neither merged nor do they lose arguments.
#[tokio::test]
async fn chat_calls_stay_separate_with_any_ids_and_indexes() {
    let piece = |head: &str, name: &str, arguments: &str| {
        let arguments = arguments.replace('"', "\\\"");
        let name = if name.is_empty() { String::new() } else { format!(r#""name":"{name}","#) };
        call(&format!(r#"{{{head}"function":{{{name}"arguments":"{arguments}"}}}}"#))
    };
    let (a, b) = (r#"{"a":1}"#, r#"{"b":2}"#);
    let (at0, at1, id) = (r#""index":0,"#, r#""index":1,"#, r#""id":"c1","#);
    let (c1, c2) = (|at: &str| format!(r#"{at}"id":"c1","#), |at: &str| format!(r#"{at}"id":"c2","#));
    let cases: Vec<(&str, Vec<String>, [&str; 2])> = vec![
        ("one id, two indexes", vec![piece(&c1(at0), "f", a), piece(&c1(at1), "g", b)], ["c1", "c1"]),
        (
            "one id, two indexes, in pieces that alternate",
            vec![
                piece(&c1(at0), "f", r#"{"a""#),
                piece(&c1(at1), "g", r#"{"b""#),
                piece(at0, "", ":1}"),
                piece(at1, "", ":2}"),
            ],
            ["c1", "c1"],
        ),
        (
            "one id with every piece, two indexes",
            vec![
                piece(&c1(at0), "f", r#"{"a""#),
                piece(&c1(at1), "g", r#"{"b""#),
                piece(&c1(at0), "", ":1}"),
                piece(&c1(at1), "", ":2}"),
            ],
            ["c1", "c1"],
        ),
        (
            "one id, two indexes, the second name late",
            vec![piece(&c1(at0), "f", a), piece(&c1(at1), "", r#"{"b""#), piece(&c1(at1), "g", ":2}")],
            ["c1", "c1"],
        ),
        (
            "one index, two ids, in pieces",
            vec![
                piece(&c1(at0), "f", r#"{"a""#),
                piece(&c1(at0), "", ":1}"),
                piece(&c2(at0), "g", r#"{"b""#),
                piece(at0, "", ":2}"),
            ],
            ["c1", "c2"],
        ),
        ("indexes out of order", vec![piece(&c1(at1), "f", a), piece(&c2(at0), "g", b)], ["c1", "c2"]),
        (
            "the index comes late",
            vec![
                piece(id, "f", r#"{"a""#),
                piece(at0, "", ":1}"),
                piece(&c2(at1), "g", r#"{"b""#),
                piece(at1, "", ":2}"),
            ],
            ["c1", "c2"],
        ),
        (
            "the index changes on the way",
            vec![piece(&c1(at0), "f", r#"{"a""#), piece(at1, "", ":1}"), piece(&c2(at1), "g", b)],
            ["c1", "c2"],
        ),
        (
            "the id comes late, with an index",
            vec![piece(at0, "f", r#"{"a""#), piece(&c1(at0), "", ":1}"), piece(&c2(at1), "g", b)],
            ["c1", "c2"],
        ),
        (
            "the id comes late, without an index",
            vec![piece("", "f", r#"{"a""#), piece(id, "", ":1}"), piece(&c2(""), "g", b)],
            ["c1", "c2"],
        ),
        (
            "no id, then an id at the same index",
            vec![piece(at0, "f", a), piece(&c2(at0), "g", b)],
            ["call_0", "c2"],
        ),
    ];
    for (name, mut pieces, [first, second]) in cases {
        pieces.extend([CALLS.to_owned(), DONE.to_owned()]);
        let script = send(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
        let expected = [format!("call: {first} f {a}"), format!("call: {second} g {b}")];
        check(name, Wire::Chat, script, &[&expected[0], &expected[1], "stop: ToolCalls"]).await;
    }
}

#[tokio::test]
async fn messages_calls_stay_separate_with_any_ids_and_indexes() {
    let begin = |index: &str, id: &str, name: &str| {
        format!(
            r#"{{"type":"content_block_start",{index}"content_block":{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}}}"#
        )
    };
    let input = |index: &str, json: &str| {
        let json = json.replace('"', "\\\"");
        format!(
            r#"{{"type":"content_block_delta",{index}"delta":{{"type":"input_json_delta","partial_json":"{json}"}}}}"#
        )
    };
    let stop = |index: &str| format!(r#"{{"type":"content_block_stop",{index}"x":0}}"#);
    let (a, b) = (r#"{"a":1}"#, r#"{"b":2}"#);
    let (at0, at1) = (r#""index":0,"#, r#""index":1,"#);
    let cases: Vec<(&str, Vec<String>, [&str; 2])> = vec![
        (
            "one id, two indexes",
            vec![
                begin(at0, "t1", "f"),
                begin(at1, "t1", "g"),
                input(at1, b),
                input(at0, a),
                stop(at0),
                stop(at1),
            ],
            ["t1", "t1"],
        ),
        (
            "one index, two ids",
            vec![begin(at0, "t1", "f"), input(at0, a), begin(at0, "t2", "g"), input(at0, b), stop(at0)],
            ["t1", "t2"],
        ),
        (
            "no index",
            vec![begin("", "t1", "f"), input("", a), stop(""), begin("", "t2", "g"), input("", b), stop("")],
            ["t1", "t2"],
        ),
        (
            "arguments at another index",
            vec![
                begin(at0, "t1", "f"),
                input(at1, a),
                stop(at0),
                begin(at1, "t2", "g"),
                input(at1, b),
                stop(at1),
            ],
            ["t1", "t2"],
        ),
        (
            "a call that begins twice",
            vec![
                begin(at0, "t1", "f"),
                begin(at0, "t1", "f"),
                input(at0, a),
                begin(at1, "t2", "g"),
                input(at1, b),
            ],
            ["t1", "t2"],
        ),
    ];
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
    for (name, mut events, [first, second]) in cases {
        events.extend([end.to_owned(), r#"{"type":"message_stop"}"#.to_owned()]);
        let script = send(&events.iter().map(String::as_str).collect::<Vec<_>>());
        let expected = [format!("call: {first} f {a}"), format!("call: {second} g {b}")];
        let expected = [&expected[0], &expected[1], "usage: 0+0 (0 read, 0 written)", "stop: ToolCalls"];
        check(name, Wire::Anthropic, script, &expected).await;
    }
}

#[tokio::test]
async fn chat_errors_instead_of_an_answer_are_reported() {
    let a = text("a");
    let overloaded = r#"{"error":{"message":"Overloaded","type":"overloaded_error","code":529}}"#;
    check("error object mid-stream", Wire::Chat, send(&[&a, overloaded]), &[
        "text: a",
        "error: Overloaded: openai is overloaded or limits requests (529): Overloaded; wait a little or choose another model",
    ])
    .await;
    let expected = "error: Overloaded: openai is overloaded or limits requests (529): Overloaded; wait a little or choose another model";
    check(
        "error object before anything",
        Wire::Chat,
        send(&[overloaded]),
        &["retrying: 2", "retrying: 3", expected],
    )
    .await;
    check(
        "vLLM's error object",
        Wire::Chat,
        send(&[&a, r#"{"object":"error","message":"maximum context length is 8","code":400}"#]),
        &[
            "text: a",
            "error: ContextOverflow: the conversation is too long for gpt-test: maximum context length is 8; shorten it with /compact or choose a model with a larger context",
        ],
    )
    .await;
    let html = "<!DOCTYPE html><html><body>Sign in</body></html>";
    check("200 with HTML", Wire::Chat, vec![Faker::status("200 OK", "content-type: text/html\r\n", html)], &[
        "error: BadResponse: http://HOST/v1/chat/completions answered with a web page instead of an event stream; check the base URL of openai",
    ])
    .await;
    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    check("200 with a whole answer", Wire::Chat, vec![Faker::status("200 OK", "content-type: application/json\r\n", whole)], &[
        "error: BadResponse: http://HOST/v1/chat/completions ignored the request to stream and sent a complete response; use a server that streams",
    ])
    .await;
    check("200 with other JSON", Wire::Chat, vec![Faker::events(r#"{"ok":true}"#)], &[
        r#"error: BadResponse: http://HOST/v1/chat/completions answered with JSON that is not a model's answer: {"ok":true}; check the base URL of openai"#,
    ])
    .await;
    let error = r#"{"error":{"message":"bad key sk-very-secret","code":401}}"#;
    check(
        "200 with an error",
        Wire::Chat,
        vec![Faker::events(error)],
        &["error: Auth: openai refused the credentials (401): bad key [key]; set OPENAI_API_KEY"],
    )
    .await;
    check(
        "empty",
        Wire::Chat,
        vec![Faker::status("200 OK", "", "")],
        &[
            "retrying: 2",
            "retrying: 3",
            "error: Transport: openai closed the connection without an answer; try again",
        ],
    )
    .await;
}

#[tokio::test]
async fn chat_a_reset_keeps_the_events_received_before() {
    let script =
        vec![Step::Send(HEAD.into()), Step::Trickle(sse(&[&text("a")]).into_bytes(), 16), Step::Reset];
    let faker = Faker::start(vec![script]).await;
    let model = model_with(Wire::Chat, &faker, |options| options.attempts.tries = 1).await;
    let got = answer(&*model).await;
    // What the reset overtakes in the kernel is lost before we receive it; the error is reported
    // either way.
    assert!(got.contains("error: Transport: the answer of openai"), "{got}");
}

#[tokio::test]
async fn messages_malformed_streams_are_handled() {
    let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":80,"cache_creation_input_tokens":5,"output_tokens":1}}}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}"#;
    let full = [
        start,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm, gu"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"t…"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB/+="}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"x/y="}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"something_new","x":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Größe 😀"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{}}}"#,
        r#"{"type":"content_block_start","index":3000000,"content_block":{"type":"tool_use","id":"t2","name":"list","input":{}}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": "}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"a\"}"}}"#,
        r#"{"type":"content_block_stop","index":3}"#,
        r#"{"type":"content_block_stop","index":3000000}"#,
        end,
        r#"{"type":"message_stop"}"#,
    ];
    let expected = &[
        "thought: Hm, gut…",
        r#"thought done: "Hm, gut…" {"type":"thinking","thinking":"Hm, gut…","signature":"EqQB/+="}"#,
        r#"thought done: "" {"type":"redacted_thinking","data":"x/y="}"#,
        "text: Größe 😀",
        r#"call: t1 read {"path":"a"}"#,
        "call: t2 list {}",
        "usage: 95+20 (80 read, 5 written)",
        "stop: ToolCalls",
    ];
    let wire = Wire::Anthropic;
    let body = sse(&full);
    check("whole", wire, vec![Faker::events(&body)], expected).await;
    check("3 bytes", wire, vec![Step::Send(HEAD.into()), Step::Trickle(body.clone().into(), 3)], expected)
        .await;
    let crlf = vec![Step::Send(HEAD.into()), Step::Trickle(body.replace('\n', "\r\n").into(), 1)];
    check("CRLF, byte by byte", wire, crlf, expected).await;
    check("no message_stop", wire, send(&full[..full.len() - 1]), expected).await;
    let mut broken = full.to_vec();
    broken.insert(11, "{\"type\":");
    check("malformed event", wire, send(&broken), expected).await;

    let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
    let cut_call = [
        start,
        text,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"read"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}"#,
    ];
    check("cut in a call", wire, send(&cut_call), &["usage: 95+1 (80 read, 5 written)", "text: a", CUT])
        .await;
    let length =
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}"#;
    check(
        "truncated JSON",
        wire,
        send(&[&cut_call[..], &[length]].concat()),
        &[
            "text: a",
            r#"call: t1 read BAD "{\"path\":""#,
            "usage: 95+9 (80 read, 5 written)",
            "stop: MaxTokens",
        ],
    )
    .await;
    let hang = vec![Faker::events(&sse(&[start, text])), Step::Hang];
    check("idle", wire, hang, &["usage: 95+1 (80 read, 5 written)", "text: a", IDLE]).await;
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let expected =
        "error: Overloaded: openai is overloaded: Overloaded; wait a little or choose another model";
    check("overloaded at once", wire, send(&[overloaded]), &["retrying: 2", "retrying: 3", expected]).await;
    check("overloaded mid-stream", wire, send(&[text, overloaded]), &["text: a", expected]).await;
}

#[tokio::test]
async fn responses_malformed_streams_are_handled() {
    let item = r#"{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"gAA/+=="}}"#;
    let completed = r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":100,"output_tokens":20,"input_tokens_details":{"cached_tokens":80}}}}"#;
    let read = r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}"}}"#;
    let full = [
        r#"{"type":"response.created","response":{"id":"r"}}"#,
        r#"{"type":"response.reasoning_summary_part.added"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","delta":"Hm"}"#,
        item,
        r#"{"type":"response.output_text.delta","delta":"Größe "}"#,
        r#"{"type":"response.output_text.delta","delta":"😀"}"#,
        r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"Größe 😀"}]}}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#,
        read,
        r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c2","name":"list","arguments":"{\"x\""}}"#,
        completed,
    ];
    let expected = &[
        "thought: Hm",
        r#"thought done: "Hm" {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"gAA/+=="}"#,
        "text: Größe 😀",
        r#"call: c1 read {"path":"a"}"#,
        r#"call: c2 list BAD "{\"x\"""#,
        "usage: 100+20 (80 read, 0 written)",
        "stop: ToolCalls",
    ];
    let wire = Wire::Responses;
    let body = sse(&full);
    check("whole", wire, vec![Faker::events(&body)], expected).await;
    check("3 bytes", wire, vec![Step::Send(HEAD.into()), Step::Trickle(body.clone().into(), 3)], expected)
        .await;
    let crlf = vec![Step::Send(HEAD.into()), Step::Trickle(body.replace('\n', "\r\n").into(), 1)];
    check("CRLF, byte by byte", wire, crlf, expected).await;
    let mut broken = full.to_vec();
    broken.insert(5, "{\"type\":");
    check("malformed event", wire, send(&broken), expected).await;

    let text = r#"{"type":"response.output_text.delta","delta":"a"}"#;
    let cut = &["text: a", r#"call: c1 read {"path":"a"}"#, CUT];
    check("cut after a call", wire, send(&[text, read]), cut).await;
    check("idle", wire, vec![Faker::events(&sse(&[text])), Step::Hang], &["text: a", IDLE]).await;
    let again = r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"c1","name":"list","arguments":"{}"}}"#;
    let calls = &[r#"call: c1 read {"path":"a"}"#, "call: c1 list {}", "stop: ToolCalls"];
    let end = r#"{"type":"response.completed","response":{}}"#;
    check("one id, two calls", wire, send(&[read, again, end]), calls).await;
    let whole = r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","call_id":"c1","name":"f","arguments":""}]}}"#;
    check("only the end", wire, send(&[whole]), &["text: hi", "call: c1 f {}", "stop: ToolCalls"]).await;
    let incomplete =
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#;
    check("length", wire, send(&[text, incomplete]), &["text: a", "stop: MaxTokens"]).await;
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"too long"}}}"#;
    check(
        "failed",
        wire,
        send(&[failed]),
        &["error: ContextOverflow: the conversation is too long for gpt-test: too long; shorten it with /compact or choose a model with a larger context"],
    )
    .await;
    let limited = r#"{"type":"error","code":"rate_limit_exceeded","message":"slow down"}"#;
    let expected =
        "error: Overloaded: openai is overloaded: slow down; wait a little or choose another model";
    check("error", wire, send(&[limited]), &["retrying: 2", "retrying: 3", expected]).await;
}

/// Text and arguments in pieces of 1 MiB: an endless answer is cut off, whatever its kind.
#[tokio::test]
async fn a_runaway_answer_ends_at_the_limit_on_every_wire() {
    let piece = "x".repeat(1024 * 1024);
    let chat_arguments = call(&format!(r#"{{"index":0,"function":{{"arguments":"{piece}"}}}}"#));
    let chat_call = call(r#"{"index":0,"id":"c1","function":{"name":"f","arguments":""}}"#);
    let begin = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f"}}"#;
    let delta = |kind: &str, field: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{field}":"{piece}"}}}}"#
        )
    };
    let item = format!(
        r#"{{"type":"response.output_item.done","item":{{"type":"function_call","call_id":"c1","name":"f","arguments":"{piece}"}}}}"#
    );
    let cases = [
        ("text", Wire::Chat, STOP.to_owned(), text(&piece)),
        ("arguments", Wire::Chat, chat_call, chat_arguments),
        ("text", Wire::Anthropic, r#"{"type":"ping"}"#.to_owned(), delta("text_delta", "text")),
        ("arguments", Wire::Anthropic, begin.to_owned(), delta("input_json_delta", "partial_json")),
        (
            "text",
            Wire::Responses,
            r#"{"type":"response.created"}"#.to_owned(),
            format!(r#"{{"type":"response.output_text.delta","delta":"{piece}"}}"#),
        ),
        ("arguments", Wire::Responses, r#"{"type":"response.created"}"#.to_owned(), item),
    ];
    for (name, wire, first, more) in cases {
        let mut events = vec![first.as_str()];
        events.extend(std::iter::repeat_n(more.as_str(), 9));
        let faker = Faker::start(vec![vec![Faker::events(&sse(&events)), Step::Hang]]).await;
        let model = model_with(wire, &faker, |_| {}).await;
        let items: Vec<_> = model.stream(request("hi")).collect().await;
        assert_eq!(items.last(), Some(&Err(ModelError::AnswerTooLong)), "{name} over {wire:?}");
        let is_text = |item: &_| matches!(item, Ok(ModelEvent::Text(_)));
        assert_eq!(items.iter().any(is_text), name == "text", "{wire:?}: what came before is handed on");
        assert_eq!(faker.seen().len(), 1, "it is not asked again");
    }
}

/// Received data is processed in slices, so that other tasks run in between.
#[tokio::test]
async fn a_flood_of_events_does_not_block_other_tasks() {
    let flood = text("some text");
    let mut events = vec![flood.as_str(); 20_000];
    events.extend([STOP, DONE]);
    let faker = Faker::start(vec![send(&events)]).await;
    let model = model_with(Wire::Chat, &faker, |_| {}).await;
    let since_others = Cell::new(0);
    let (mut most, mut all) = (0, 0);
    let answered = async {
        let mut stream = model.stream(request("hi"));
        while let Some(event) = stream.next().await {
            if let Ok(ModelEvent::Text(text)) = event {
                since_others.set(since_others.get() + text.len());
                most = most.max(since_others.get());
                all += text.len();
            }
        }
    };
    let others = async {
        loop {
            since_others.set(0);
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = answered => {}
        () = others => {}
    }
    assert_eq!(all, 20_000 * "some text".len());
    // A ninth of the bytes on the wire is text.
    assert!(most <= 4 * 1024, "{most} bytes of text in one go");
}

/// Reasoning that a server leaves in the content is recognised at the beginning only.
#[tokio::test]
async fn chat_reasoning_between_tags_is_separated_from_text() {
    let pieces = |pieces: &[&str]| -> Vec<Step> {
        let events: Vec<_> = pieces.iter().map(|piece| text(piece)).collect();
        let events: Vec<_> = events.iter().map(String::as_str).chain([STOP, DONE]).collect();
        send(&events)
    };
    let expected = &["thought: Hm.", r#"thought done: "Hm." -"#, "text: Yes.", "stop: EndTurn"];
    check("whole", Wire::Chat, pieces(&["<think>Hm.</think>\\n\\nYes."]), expected).await;
    check("in pieces", Wire::Chat, pieces(&["<th", "ink>H", "m.</", "think>\\n", "\\nYes."]), expected).await;
    let unclosed = &["thought: Hm", r#"thought done: "Hm" -"#, "stop: EndTurn"];
    check("never closed", Wire::Chat, pieces(&["<think>", "Hm"]), unclosed).await;
    let mentioned = &["text: Use <think>x</think>.", "stop: EndTurn"];
    check("mentioned", Wire::Chat, pieces(&["Use <thi", "nk>x</think>."]), mentioned).await;
    let held = &["text: <th", "stop: EndTurn"];
    check("held back at the end", Wire::Chat, pieces(&["<th"]), held).await;
    let field = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm"}}]}"#;
    let tagged = text("<think>b</think>");
    let streamed = send(&[field, &tagged, STOP, DONE]);
    let as_text = &[
        "thought: Hm",
        r#"thought done: "Hm" {"field":"reasoning_content"}"#,
        "text: <think>b</think>",
        "stop: EndTurn",
    ];
    check("beside a field of its own", Wire::Chat, streamed, as_text).await;
}

#[tokio::test]
async fn refusal_reasons_and_cache_tokens_are_reported() {
    let refused = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"This is not answered."}},"usage":{"output_tokens":2}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    check(
        "stop details",
        Wire::Anthropic,
        send(&refused),
        &[
            "notice: openai refused to answer (cyber): This is not answered.",
            "usage: 3+2 (0 read, 0 written)",
            "stop: Refusal",
        ],
    )
    .await;
    let written = r#"{"type":"response.completed","response":{"output":[],"usage":{"input_tokens":100,"output_tokens":5,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}}"#;
    check(
        "cache writes",
        Wire::Responses,
        send(&[written]),
        &["usage: 100+5 (60 read, 30 written)", "stop: EndTurn"],
    )
    .await;
}
