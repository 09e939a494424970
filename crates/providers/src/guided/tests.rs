//! The guide against a scripted model: which tasks it sets, and which calls come of the answers.

use super::GuidedModel;
use agent::{
    AnsweredCall, AssistantMessage, Content, LanguageModel, Message, ModelCall, ModelError, ModelEvent,
    ModelInfo, ModelLimits, ModelRequest, ModelStop, ToolCallId, ToolCallRequest, ToolResult, ToolSpec,
    Usage,
};
use futures::{StreamExt, stream, stream::BoxStream};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// A model that gives prepared answers and records the requests.
struct Scripted {
    info: ModelInfo,
    answers: Mutex<VecDeque<&'static str>>,
    requests: Mutex<Vec<ModelRequest>>,
    stop: ModelStop,
}

impl LanguageModel for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.requests.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front().expect("an answer is prepared");
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        stream::iter([
            Ok(ModelEvent::Text(answer.into())),
            Ok(ModelEvent::Usage(usage)),
            Ok(ModelEvent::Stop(self.stop)),
        ])
        .boxed()
    }
}

/// What an answer of the guided model is made of.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    calls: Vec<(String, Value)>,
    usage: Usage,
    stop: Option<ModelStop>,
}

const FILES: &str = "<files>\ngreet.py\nmain.py\n</files>\n<file path=\"greet.py\">\nprint('Hello')\n</file>\n<file path=\"main.py\">\nimport greet\n</file>";

fn prompt(text: &str) -> Message {
    Message::User(vec![
        Content::text("<environment>\nFolder: /w\n</environment>"),
        Content::text(FILES),
        Content::text(text),
    ])
}

/// A round with calls and their results.
fn round(calls: &[(&str, Value, ToolResult)]) -> Message {
    let calls = calls.iter().map(|(name, arguments, result)| {
        let call = ModelCall {
            provider_id: "c".into(),
            name: (*name).into(),
            arguments: arguments.to_string(),
            opaque: None,
        };
        AnsweredCall::new(ToolCallRequest::new(ToolCallId::from("c"), call), result.clone())
    });
    Message::Assistant(AssistantMessage::called("m", calls))
}

fn request(messages: Vec<Message>) -> ModelRequest {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
    };
    ModelRequest {
        messages,
        tools: ["file_read", "file_write", "bash"].into_iter().map(tool).collect(),
        ..ModelRequest::default()
    }
}

/// Runs one answer of a guided model that answers as prepared.
async fn run(messages: Vec<Message>, answers: &[&'static str]) -> (Answer, Vec<ModelRequest>) {
    run_until(ModelStop::EndTurn, messages, answers).await
}

/// The same, where the model's answers end for this reason.
async fn run_until(
    stop: ModelStop,
    messages: Vec<Message>,
    answers: &[&'static str],
) -> (Answer, Vec<ModelRequest>) {
    let model = Arc::new(Scripted {
        info: ModelInfo {
            limits: ModelLimits { max_output: 4_096, ..ModelLimits::default() },
            ..ModelInfo::default()
        },
        answers: Mutex::new(answers.iter().copied().collect()),
        requests: Mutex::default(),
        stop,
    });
    let mut answer = Answer::default();
    let mut stream = GuidedModel::new(model.clone()).stream(request(messages));
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ModelEvent::Text(text) => answer.text.push_str(&text),
            ModelEvent::ToolCall(call) => {
                answer.calls.push((call.name, serde_json::from_str(&call.arguments).unwrap()));
            }
            ModelEvent::Usage(usage) => answer.usage = usage,
            ModelEvent::Stop(stop) => answer.stop = Some(stop),
            _ => {}
        }
    }
    assert!(model.answers.lock().unwrap().is_empty(), "every prepared answer is used");
    let requests = model.requests.lock().unwrap().clone();
    (answer, requests)
}

/// The text of a message of the user.
fn asked(request: &ModelRequest, at: usize) -> &str {
    let users: Vec<_> = request
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::User(parts) => Some(parts),
            Message::Assistant(_) => None,
        })
        .collect();
    let Content::Text(text) = &users[at][0] else { panic!("a text") };
    text
}

#[tokio::test]
async fn a_question_is_answered_in_words() {
    let answers = [r#"{"kind":"question"}"#, "It prints Hello."];
    let (answer, requests) = run(vec![prompt("What is printed?")], &answers).await;
    assert_eq!(answer.text, "It prints Hello.");
    assert!(answer.calls.is_empty());
    assert_eq!(answer.stop, Some(ModelStop::EndTurn));
    assert_eq!((answer.usage.input, answer.usage.output), (20, 2), "both requests count");
    assert!(requests.iter().all(|request| request.tools.is_empty()));
    assert!(requests[0].answer_schema.is_some() && requests[1].answer_schema.is_none());
}

#[tokio::test]
async fn a_cut_off_answer_to_a_question_ends_as_cut_off() {
    let answers = [r#"{"kind":"question"}"#, "It prints"];
    let (answer, _) = run_until(ModelStop::MaxTokens, vec![prompt("What is printed?")], &answers).await;
    assert_eq!((answer.text.as_str(), answer.stop), ("It prints", Some(ModelStop::MaxTokens)));
}

#[tokio::test]
async fn a_change_becomes_a_write_of_each_chosen_file() {
    let answers = [
        r#"{"kind":"work"}"#,
        r#"{"files":["greet.py"]}"#,
        "It must print Bye.\n```python\nprint('Bye')\n```",
    ];
    let (answer, requests) = run(vec![prompt("Print Bye.")], &answers).await;
    assert_eq!(
        answer.calls,
        [("file_write".into(), json!({ "path": "greet.py", "content": "print('Bye')\n" }))]
    );
    assert_eq!(answer.text, "It must print Bye.\n\n");
    assert_eq!(answer.stop, Some(ModelStop::ToolCalls));
    assert_eq!(requests[2].max_output, Some(1_024 + 7), "an answer that repeats itself is cut off");
    let schema = requests[1].answer_schema.as_ref().unwrap();
    assert_eq!(schema["properties"]["files"]["items"]["enum"], json!(["greet.py", "main.py"]));
}

#[tokio::test]
async fn an_unchanged_text_is_asked_for_in_another_way_and_then_given_up() {
    let same = "```python\nprint('Hello')\n```";
    let answers = [r#"{"kind":"work"}"#, r#"{"files":["greet.py"]}"#, same, "```\nprint('Bye')\n```"];
    let (answer, _) = run(vec![prompt("Print Bye.")], &answers).await;
    assert_eq!(answer.calls.len(), 1);

    let answers = [r#"{"kind":"work"}"#, r#"{"files":["greet.py"]}"#, same, same];
    let (answer, _) = run(vec![prompt("Print Bye.")], &answers).await;
    assert!(answer.calls.is_empty());
    assert!(answer.text.contains("Nothing was changed"), "{}", answer.text);
}

#[tokio::test]
async fn a_rename_replaces_the_identifier_in_every_file() {
    let files = "<files>\na.c\nb.c\nc.c\n</files>\n<file path=\"a.c\">\nint put(int x);\n</file>\n<file path=\"b.c\">\nputs(\"\"); put(1);\n</file>\n<file path=\"c.c\">\nputs(\"\");\n</file>";
    let messages = vec![Message::User(vec![Content::text(files), Content::text("Rename `put` to `push`.")])];
    let answers = [r#"{"kind":"rename"}"#, r#"{"old":"put","new":"push"}"#];
    let (answer, _) = run(messages, &answers).await;
    let write =
        |path: &str, content: &str| ("file_write".to_owned(), json!({ "path": path, "content": content }));
    assert_eq!(answer.calls, [write("a.c", "int push(int x);\n"), write("b.c", "puts(\"\"); push(1);\n")]);
}

#[tokio::test]
async fn a_file_is_renamed_without_replacing_another() {
    let files = "<files>\na.py\nCart.py\n</files>\n<file path=\"a.py\">\nimport Cart\n</file>\n<file path=\"Cart.py\">\nx = 1\n</file>";
    let write = ("file_write".to_owned(), json!({ "path": "a.py", "content": "import Basket\n" }));
    let moved = ("bash".to_owned(), json!({ "command": "mv -n Cart.py Basket.py" }));
    for (text, names) in [
        ("Rename Cart.py to Basket.py.", r#"{"old":"Cart.py","new":"Basket.py"}"#),
        ("Call the class `Cart` `Basket`.", r#"{"old":"Cart","new":"Basket"}"#),
    ] {
        let messages = vec![Message::User(vec![Content::text(files), Content::text(text)])];
        let (answer, _) = run(messages, &[r#"{"kind":"rename"}"#, names]).await;
        assert_eq!(answer.calls, [write.clone(), moved.clone()], "{text}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_shown_is_read_first() {
    let known = "<files>\na.py\nb.py\n</files>\n<file path=\"a.py\">\n1\n</file>";
    let mut messages = vec![Message::User(vec![Content::text(known), Content::text("Change b to 3.")])];
    let (answer, _) = run(messages.clone(), &[r#"{"kind":"work"}"#, r#"{"files":["b.py"]}"#]).await;
    assert_eq!(answer.calls, [("file_read".into(), json!({ "path": "b.py" }))]);

    messages.push(round(&[("file_read", json!({ "path": "b.py" }), ToolResult::ok("1\t2\n"))]));
    let (answer, requests) = run(messages, &["```\n3\n```"]).await;
    assert_eq!(answer.calls, [("file_write".into(), json!({ "path": "b.py", "content": "3\n" }))]);
    assert!(asked(&requests[0], 1).starts_with("b.py is now:\n<file>\n2\n</file>\n"));
}

#[tokio::test]
async fn a_file_that_was_not_read_completely_is_not_written() {
    let known = "<files>\na.py\nb.py\n</files>\n<file path=\"a.py\">\n1\n</file>";
    let cut = ToolResult::ok("1\t2\n[The file has 9000 lines.]");
    let messages = vec![
        Message::User(vec![Content::text(known), Content::text("Change b to 3.")]),
        round(&[("file_read", json!({ "path": "b.py" }), cut)]),
    ];
    let (answer, _) = run(messages, &[]).await;
    assert!(answer.calls.is_empty());
    let stated = answer.text.matches("`b.py` could not be read completely").count();
    assert_eq!(stated, 1, "{}", answer.text);
}

#[tokio::test]
async fn of_a_long_file_one_section_is_rewritten() {
    let text = |body: &str| {
        let function = |n: usize| format!("def f{n}():\n{}\n", body.repeat(100));
        (0..8).map(function).collect::<String>()
    };
    let long = text("    print(1)\n");
    let numbered: String = (1..).zip(long.lines()).map(|(n, line)| format!("{n}\t{line}\n")).collect();
    let known = "<files>\na.py\nb.py\n</files>\n<file path=\"a.py\">\n1\n</file>";
    let messages = vec![
        Message::User(vec![Content::text(known), Content::text("Make f1 print nothing.")]),
        round(&[("file_read", json!({ "path": "b.py" }), ToolResult::ok(numbered))]),
    ];
    let answers = [r#"{"section":["lines 205-408: def f2():"]}"#, "```\ndef f2(): pass\n```"];
    let (answer, requests) = run(messages, &answers).await;
    let offered = &requests[0].answer_schema.as_ref().unwrap()["properties"]["section"]["items"]["enum"];
    assert_eq!(offered[1], "lines 205-408: def f2():");
    assert!(asked(&requests[1], 1).starts_with("lines 205-408 of b.py is now:\n<file>\ndef f2():\n"));
    let content = answer.calls[0].1["content"].as_str().unwrap();
    assert!(content.starts_with("def f0():\n"));
    assert!(content.contains("\n\ndef f2(): pass\n\ndef f3():\n"), "a function that was left out stays");
    assert!(content.contains("\n\ndef f4():\n"));
}

#[tokio::test]
async fn a_command_is_run_and_its_output_reported() {
    let mut messages = vec![prompt("commit this")];
    let (kind, edits) = (r#"{"kind":"run"}"#, r#"{"edits":false}"#);
    let answers = [kind, edits, r#"{"command":"git commit -am hello"}"#];
    let (answer, _) = run(messages.clone(), &answers).await;
    assert_eq!(answer.calls, [("bash".into(), json!({ "command": "git commit -am hello" }))]);

    let failed = ToolResult::error("nothing to commit\nExit code: 1");
    messages.push(round(&[("bash", json!({ "command": "git commit -am hello" }), failed)]));
    let (answer, requests) = run(messages, &[kind, edits, "There was nothing to commit."]).await;
    assert_eq!(answer.text, "There was nothing to commit.");
    assert!(asked(&requests[2], 1).starts_with("`git commit -am hello` printed:\nnothing to commit\n"));
}

#[tokio::test]
async fn without_a_new_text_the_quoted_command_is_run_and_its_failure_shown() {
    let same = "```python\nprint('Hello')\n```";
    let (kind, files) = (r#"{"kind":"work"}"#, r#"{"files":["greet.py"]}"#);
    let mut messages = vec![prompt("Repair it (python3 main.py).")];
    // The sorted prompt looks like one that only runs a command.
    let (looks_like_run, edits) = (r#"{"kind":"run"}"#, r#"{"edits":true}"#);
    let answers = [looks_like_run, edits, files, same, same, r#"{"run":["python3 main.py"]}"#];
    let (answer, _) = run(messages.clone(), &answers).await;
    assert_eq!(answer.calls, [("bash".into(), json!({ "command": "python3 main.py" }))]);

    let failed = ToolResult::error("NameError: x\nExit code: 1");
    messages.push(round(&[("bash", json!({ "command": "python3 main.py" }), failed)]));
    let (answer, requests) = run(messages.clone(), &[kind, files, "```\nx = 1\n```"]).await;
    assert_eq!(answer.calls[0].1["content"], "x = 1\n");
    assert!(asked(&requests[2], 1).contains("`python3 main.py` fails:\nNameError: x"));

    // The failure before the change is not one of the correction.
    let written = ToolResult::ok("Wrote greet.py.");
    messages.push(round(&[("file_write", json!({ "path": "greet.py", "content": "x = 1\n" }), written)]));
    let failed = ToolResult::error("NameError: y\nExit code: 1");
    messages.push(round(&[("bash", json!({ "command": "python3 main.py" }), failed)]));
    let (answer, _) = run(messages, &["```\nx = y = 1\n```"]).await;
    assert_eq!(answer.calls[0].1["content"], "x = y = 1\n");
}

#[tokio::test]
async fn a_command_that_names_the_only_file_leaves_the_turn_guided() {
    let known = "<files>\na.py\n</files>\n<file path=\"a.py\">\n1\n</file>";
    let failed = ToolResult::error("SyntaxError\nExit code: 1");
    let messages = vec![
        Message::User(vec![Content::text(known), Content::text("Repair it: `python3 a.py` fails.")]),
        round(&[("bash", json!({ "command": "python3 a.py" }), failed)]),
    ];
    let (answer, _) = run(messages, &[r#"{"kind":"work"}"#, r#"{"files":["a.py"]}"#]).await;
    assert_eq!(answer.calls, [("file_read".into(), json!({ "path": "a.py" }))]);
}

#[tokio::test]
async fn in_plan_mode_a_change_is_described() {
    let Message::User(mut parts) = prompt("Print Bye.") else { unreachable!() };
    parts.insert(2, Content::text("<environment_update>\nMode: Plan. Change nothing\n</environment_update>"));
    let answers = [r#"{"kind":"work"}"#, "greet.py must print Bye."];
    let (answer, _) = run(vec![Message::User(parts)], &answers).await;
    assert!(answer.calls.is_empty());
    assert_eq!(answer.text, "greet.py must print Bye.");
}

#[tokio::test]
async fn files_that_are_not_shown_are_read_for_a_question() {
    let known = "<files>\na.py\nb.py\n</files>\n<file path=\"a.py\">\n1\n</file>";
    let mut messages = vec![Message::User(vec![Content::text(known), Content::text("What is in b?")])];
    let answers = [r#"{"kind":"question"}"#, r#"{"read":["a.py","b.py"]}"#];
    let (answer, _) = run(messages.clone(), &answers).await;
    let read = json!({ "path": "b.py", "limit": 400 });
    assert_eq!(answer.calls, [("file_read".into(), read.clone())]);

    messages.push(round(&[("file_read", read, ToolResult::ok("1\t2\n"))]));
    let (answer, _) = run(messages, &["It is 2."]).await;
    assert_eq!(answer.text, "It is 2.");
}

#[tokio::test]
async fn a_quoted_command_is_run_after_the_change_and_its_failure_is_corrected() {
    let written = || {
        round(&[(
            "file_write",
            json!({ "path": "greet.py", "content": "x\n" }),
            ToolResult::ok("Wrote greet.py."),
        )])
    };
    let run_fails = || {
        round(&[(
            "bash",
            json!({ "command": "python3 greet.py" }),
            ToolResult::error("NameError: x\nExit code: 1"),
        )])
    };
    let mut messages = vec![prompt("Print Bye; run `python3 greet.py`."), written()];
    let (answer, _) = run(messages.clone(), &[r#"{"run":["python3 greet.py"]}"#]).await;
    assert_eq!(answer.calls, [("bash".into(), json!({ "command": "python3 greet.py" }))]);

    messages.push(run_fails());
    let (answer, _) = run(messages.clone(), &[]).await;
    assert_eq!(answer.calls, [("file_read".into(), json!({ "path": "greet.py" }))], "it may have changed");

    messages.push(round(&[("file_read", json!({ "path": "greet.py" }), ToolResult::ok("1\tx\n"))]));
    let (answer, requests) = run(messages.clone(), &["x is undefined.\n```\nprint('Bye')\n```"]).await;
    assert_eq!(answer.calls[0].1["content"], "print('Bye')\n");
    assert!(asked(&requests[0], 1).contains("NameError: x"));
    assert!(asked(&requests[0], 2).starts_with("greet.py is now:\n<file>\nx\n</file>\n"));

    let answers = ["I do not know.", "```\nprint('Bye')\n```"];
    let (_, requests) = run(messages.clone(), &answers).await;
    assert!(asked(&requests[1], 1).contains("NameError: x"), "the second way of asking quotes it, too");

    for _ in 0..3 {
        messages.push(written());
        messages.push(run_fails());
    }
    let (answer, _) = run(messages, &[]).await;
    assert!(answer.calls.is_empty());
    assert_eq!(answer.text, "Changed `greet.py`. `python3 greet.py` failed.");
}

#[tokio::test]
async fn a_command_that_fails_runs_first() {
    let run_call = |result| round(&[("bash", json!({ "command": "python3 main.py" }), result)]);
    let mut messages = vec![prompt("python3 main.py fails, repair it.")];
    let (kind, chosen) = (r#"{"kind":"work"}"#, r#"{"run":["python3 main.py"]}"#);
    let (answer, _) = run(messages.clone(), &[kind, chosen]).await;
    assert_eq!(answer.calls, [("bash".into(), json!({ "command": "python3 main.py" }))]);

    messages.push(run_call(ToolResult::error("NameError: x\nExit code: 1")));
    let files = r#"{"files":["greet.py"]}"#;
    let (_, requests) = run(messages.clone(), &[kind, files, "```\nx = 1\n```"]).await;
    assert!(asked(&requests[1], 1).starts_with("`python3 main.py` fails:\nNameError: x"));
    assert!(asked(&requests[2], 1).contains("NameError: x"));

    // A refused command is not run again.
    messages[1] = run_call(ToolResult::error("The user rejected this call."));
    let (answer, requests) = run(messages.clone(), &[kind, files, "```\nx = 1\n```"]).await;
    assert!(!asked(&requests[1], 1).contains("rejected"));
    assert_eq!(answer.calls[0].0, "file_write");
    let written = json!({ "path": "greet.py", "content": "x = 1\n" });
    messages.push(round(&[("file_write", written, ToolResult::ok("Wrote greet.py."))]));
    let (answer, _) = run(messages, &[]).await;
    assert_eq!((answer.calls.len(), answer.text.as_str()), (0, "Changed `greet.py`."));
}

#[tokio::test]
async fn a_refused_write_ends_the_turn_with_its_reason() {
    let refused = ToolResult::error("The user rejected this call.");
    let messages = vec![
        prompt("Print Bye."),
        round(&[("file_write", json!({ "path": "greet.py", "content": "x\n" }), refused)]),
    ];
    let (answer, _) = run(messages, &[]).await;
    assert_eq!(answer.text, "Not done: The user rejected this call.");
}

#[tokio::test]
async fn a_file_is_read_again_after_its_write_failed() {
    let refused = ToolResult::error("greet.py has changed since it was read.");
    let messages = vec![
        prompt("Print Bye."),
        round(&[("file_write", json!({ "path": "greet.py", "content": "x\n" }), refused)]),
        Message::User(vec![Content::text("Try again: print Bye.")]),
    ];
    let (answer, _) = run(messages, &[r#"{"kind":"work"}"#, r#"{"files":["greet.py"]}"#]).await;
    assert_eq!(answer.calls, [("file_read".into(), json!({ "path": "greet.py" }))]);
}

#[tokio::test]
async fn a_request_that_shows_no_files_goes_to_the_model_as_it_is() {
    let messages = vec![Message::User(vec![Content::text("Hello")])];
    let (answer, requests) = run(messages, &["Hello!"]).await;
    assert_eq!(answer.text, "Hello!");
    assert_eq!(requests[0].tools.len(), 3);
}
