//! The guide against a scripted model: which tasks it sets, and which calls come of the answers.

use super::GuidedModel;
use agent::{
    AnsweredCall, AssistantMessage, Content, LanguageModel, Message, ModelCall, ModelError, ModelEvent,
    ModelInfo, ModelRequest, ModelStop, ToolCallId, ToolCallRequest, ToolResult, ToolSpec, Usage,
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
        info: ModelInfo { max_output: 4_096, ..ModelInfo::default() },
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
async fn a_file_that_is_not_shown_is_read_first() {
    let known = "<files>\na.py\nb.py\n</files>\n<file path=\"a.py\">\n1\n</file>";
    let mut messages = vec![Message::User(vec![Content::text(known), Content::text("Change b to 3.")])];
    let (answer, _) = run(messages.clone(), &[r#"{"kind":"work"}"#, r#"{"files":["b.py"]}"#]).await;
    assert_eq!(answer.calls, [("file_read".into(), json!({ "path": "b.py" }))]);

    messages.push(round(&[("file_read", json!({ "path": "b.py" }), ToolResult::ok("1\t2\n"))]));
    let (answer, _) = run(messages, &["```\n3\n```"]).await;
    assert_eq!(answer.calls, [("file_write".into(), json!({ "path": "b.py", "content": "3\n" }))]);
}

#[tokio::test]
async fn a_quoted_command_is_run_after_the_change_and_its_failure_is_corrected_once() {
    let written = || {
        round(&[(
            "file_write",
            json!({ "path": "greet.py", "content": "x\n" }),
            ToolResult::ok("Wrote greet.py."),
        )])
    };
    let run_fails =
        || round(&[("bash", json!({ "command": "python3 greet.py" }), ToolResult::error("NameError: x"))]);
    let mut messages = vec![prompt("Print Bye; run `python3 greet.py`."), written()];
    let (answer, _) = run(messages.clone(), &[r#"{"run":["python3 greet.py"]}"#]).await;
    assert_eq!(answer.calls, [("bash".into(), json!({ "command": "python3 greet.py" }))]);

    messages.push(run_fails());
    let (answer, requests) = run(messages.clone(), &["x is undefined.\n```\nprint('Bye')\n```"]).await;
    assert_eq!(answer.calls[0].1["content"], "print('Bye')\n");
    let Some(Message::User(parts)) = requests[0].messages.get(1) else { panic!("the failure is quoted") };
    assert!(matches!(&parts[0], Content::Text(text) if text.contains("NameError: x")));

    messages.push(written());
    messages.push(run_fails());
    let (answer, _) = run(messages, &[]).await;
    assert!(answer.calls.is_empty());
    assert_eq!(answer.text, "Changed `greet.py`. `python3 greet.py` failed.");
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
