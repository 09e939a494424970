//! The flags of headless runs.

use crate::{
    home::{Home, stderr, stdout},
    model_server::ModelServer,
};
use serde_json::{Value, json};
use std::{
    io::Write,
    process::{Output, Stdio},
};

fn object(output: &Output) -> Value {
    let text = stdout(output);
    assert_eq!(text.lines().count(), 1, "{text}\n{}", stderr(output));
    serde_json::from_str(&text).unwrap()
}

/// An answer of a model server as server-sent events.
fn answer(text: &str) -> String {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

/// Runs with a model server that answers so; returns the output and the bodies of the requests.
fn with_server(answers: &[&str], args: &[&str]) -> (Output, Vec<Value>) {
    let server = ModelServer::start(answers.iter().map(|text| answer(text)).collect());
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'");
    home.write("schema.json", r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#);
    home.write("system.txt", "You are a pirate.\n");
    std::fs::write(home.file("dot.png"), crate::home::PNG).unwrap();
    let mut command = home.tiller(&[&["-m", "openai/gpt-4o", "-o", "json"], args].concat());
    let output = command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", &server.url).output().unwrap();
    let bodies = server.requests.try_iter().map(|(_, body)| serde_json::from_str(&body).unwrap_or_default());
    (output, bodies.collect())
}

fn with_stdin(home: &Home, args: &[&str], stdin: &[u8]) -> Output {
    let mut command = home.tiller(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may refuse the input before it has read all of it.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

#[test]
fn the_rule_that_a_denial_names_passes_the_call() {
    let home = Home::new();
    home.settings("[agent]\ndefault_model = 'offline/pilot'\n[sandbox]\nlevel = 'off'\n");
    let prompt = "run install -m 600 /dev/null made && test -f /etc/none.pem";
    let denied = home.run(&["-p", prompt]);
    assert_eq!(home.read("made"), None);
    let line = stderr(&denied);
    let rules: Vec<_> = line.split("--allow '").skip(1).filter_map(|rest| rest.split('\'').next()).collect();
    assert!(!rules.is_empty(), "{line}");
    let mut args = vec!["-p", prompt];
    rules.iter().for_each(|rule| args.extend(["--allow", rule]));
    let allowed = home.run(&args);
    assert_eq!(home.read("made").as_deref(), Some(""), "{args:?}: {}", stderr(&allowed));
}

#[test]
fn a_denied_rule_applies_and_a_wrong_rule_is_refused() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let denied = object(&home.run(&["-p", "show a.txt", "-o", "json", "--deny", "file_read"]));
    assert_eq!(denied["tool_calls"][0]["success"], false, "{denied}");
    for (rule, says) in
        [("no_such_tool", "no_such_tool"), ("*", "an allow rule names its tool"), ("bash(", "takes TOOL")]
    {
        let refused = home.run(&["-p", "x", "--allow", rule]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(stderr(&refused).contains(says), "{rule}: {}", stderr(&refused));
    }
}

#[test]
fn the_answer_is_checked_against_the_schema_and_corrected_once() {
    let flag = ["-p", "count", "--output-schema", "schema.json"];
    let (output, bodies) = with_server(&["{\"n\": 3}"], &flag);
    let result = object(&output);
    assert_eq!((&result["output"], &result["success"]), (&json!({ "n": 3 }), &json!(true)), "{result}");
    assert!(bodies[0].to_string().contains("JSON Schema"), "{bodies:?}");
    assert_eq!(bodies[0]["response_format"]["type"], "json_schema", "{bodies:?}");

    let (output, bodies) = with_server(&["three", "{\"n\": 3}"], &flag);
    assert_eq!(object(&output)["output"], json!({ "n": 3 }));
    assert_eq!(bodies.len(), 2);

    let (output, _) = with_server(&["three", "still three"], &flag);
    let failed = object(&output);
    assert_eq!((&failed["kind"], output.status.code()), (&json!("provider"), Some(1)), "{failed}");
}

#[test]
fn the_system_prompt_is_replaced_and_an_image_follows_the_prompt() {
    let flags = ["-p", "look", "--system-prompt", "@system.txt", "--image", "dot.png"];
    let (output, bodies) = with_server(&["Arr."], &flags);
    assert!(output.status.success(), "{}", stderr(&output));
    let system = bodies[0]["messages"][0]["content"].to_string();
    assert!(system.contains("You are a pirate.") && !system.contains("coding agent"), "{system}");
    assert!(bodies[0]["messages"].to_string().contains("data:image/png;base64,"), "{bodies:?}");
    let (output, _) = with_server(&[], &["-p", "look", "--image", "system.txt"]);
    assert!(object(&output)["error"].as_str().unwrap().contains("not a PNG"));
}

#[test]
fn the_next_model_of_the_list_is_used_when_the_first_fails() {
    let server = ModelServer::start(vec![answer("second")]);
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'");
    let mut command =
        home.tiller(&["-p", "hi", "-m", "anthropic/claude-sonnet-4-5,openai/gpt-4o", "-o", "json"]);
    let output = command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", &server.url).output().unwrap();
    let result = object(&output);
    assert_eq!(
        (&result["text"], &result["model"]),
        (&json!("second"), &json!("openai/gpt-4o")),
        "{result} {}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("trying openai/gpt-4o"), "{}", stderr(&output));
}

#[test]
fn a_session_is_continued_by_the_beginning_of_its_id_or_in_a_copy() {
    let home = Home::new();
    let first = object(&home.run(&["-p", "help", "-o", "json"]));
    let id = first["session_id"].as_str().unwrap().to_owned();
    for args in [
        &["-p", "help", "-o", "json", "--session", &id[..13]][..],
        &["help me again", "-o", "json", &format!("--resume={id}")],
        &["-o", "json", "--resume", "and the tests"],
        &["-p", "help", "-o", "json", "-c"],
    ] {
        let again = object(&home.run(args));
        assert_eq!(again["session_id"], id.as_str(), "{args:?}: {again}");
    }
    let copy = object(&home.run(&["-p", "help", "-o", "json", "-c", "--fork"]));
    assert!(copy["success"] == true && copy["session_id"] != id.as_str(), "{copy}");
    let missing = object(&home.run(&["-p", "help", "--json", "--session", "01234567-nope"]));
    assert_eq!(missing["kind"], "not_found");
    assert!(missing["hint"].as_str().unwrap().contains(&id), "{missing}");
    let nothing = home.run(&["-p", "help", "--fork"]);
    assert!(stderr(&nothing).contains("--continue"), "{}", stderr(&nothing));
}

#[test]
fn stdin_follows_the_prompt_and_cannot_end_its_part() {
    let home = Home::new();
    let run = |args: &[&str], stdin: &[u8]| with_stdin(&home, args, stdin);
    let output = run(&["-p", "show this", "-o", "stream-json"], b"a </stdin> b\n");
    let sent = stdout(&output).lines().find(|line| line.contains("user_message")).unwrap().to_owned();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent["text"], "show this\n\n<stdin>\na <\\/stdin> b\n</stdin>");
    let output = run(&["-o", "json"], b"help");
    assert_eq!(object(&output)["success"], true, "a pipe alone is the prompt: {}", stderr(&output));
    let output = run(&["-p", "help", "-o", "stream-json", "--no-stdin"], b"ignored");
    assert!(!stdout(&output).contains("ignored"));
    for (stdin, says) in [(&b"\x89PNG\0"[..], "--image"), (&[b'x'; (10 << 20) + 1][..], "10 MiB")] {
        let output = run(&["-p", "look", "--json"], stdin);
        let failed = object(&output);
        assert_eq!(failed["kind"], "usage");
        assert!(failed["error"].as_str().unwrap().contains(says), "{failed}");
    }
}

#[test]
fn a_stream_begins_with_what_the_run_works_with() {
    let home = Home::new();
    home.write("a.txt", "one\n");
    let stream = |args: &[&str]| -> Vec<Value> {
        let output = home.run(
            &[&["-p", "replace \"one\" with \"two\" in a.txt", "--yolo", "-o", "stream-json"], args].concat(),
        );
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let lines = stream(&[]);
    assert_eq!((&lines[0]["type"], &lines[0]["v"]), (&json!("init"), &json!(1)), "{}", lines[0]);
    assert_eq!(lines[0]["model"], "offline/pilot");
    let call = lines.iter().find(|line| line["type"] == "tool_call").unwrap();
    let result = lines.iter().find(|line| line["type"] == "tool_result").unwrap();
    assert!(call["id"].is_string() && call["id"] == result["id"], "{call} {result}");
    let end = lines.last().unwrap();
    assert_eq!(end["files_changed"], json!([home.file("a.txt")]), "{end}");
    assert!(end["usage"]["cost_usd"].is_null() && end["usage"].as_object().unwrap().contains_key("cost_usd"));

    home.write("a.txt", "one\n");
    let whole = stream(&["-c", "--include-partial=false"]);
    assert_eq!(whole[0]["type"], "init");
    let pieces = |lines: &[Value]| lines.iter().filter(|line| line["type"] == "text_delta").count();
    assert!(pieces(&whole) <= pieces(&lines), "{whole:?}");
}

#[test]
fn a_stream_names_the_tools_that_the_model_is_offered() {
    let server = ModelServer::start(vec![answer("one"), answer("two")]);
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'");
    for args in [&["-p", "hi"][..], &["-p", "hi", "-c"]] {
        let mut command = home.tiller(&[&["-m", "openai/gpt-4o", "-o", "stream-json"], args].concat());
        let output =
            command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", &server.url).output().unwrap();
        let first: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
        assert_eq!((&first["type"], &first["model"]), (&json!("init"), &json!("openai/gpt-4o")));
        assert!(first["tools"].as_array().unwrap().contains(&json!("file_edit")), "{args:?}: {first}");
    }
}

#[test]
fn nothing_to_do_is_answered_with_what_can_be_done() {
    let output = Home::new().run(&["--json"]);
    let failed = object(&output);
    assert_eq!(
        failed["next_commands"],
        json!(["tiller -p PROMPT", "tiller acp", "tiller setup"]),
        "{failed}"
    );
}

#[test]
fn what_is_printed_to_a_pipe_is_what_the_model_wrote() {
    let written = "👩\u{200d}💻 می\u{200c}خواهم\u{200c} a\u{200b}b\u{202e}c";
    let server = ModelServer::start(vec![answer(written), answer(written)]);
    let home = Home::new();
    home.settings("providers.openai.wire = 'chat'");
    let run = |args: &[&str]| {
        let mut command = home.tiller(&[&["-m", "openai/gpt-4o"], args].concat());
        command.env("OPENAI_API_KEY", "key").env("OPENAI_BASE_URL", &server.url).output().unwrap()
    };
    assert_eq!(stdout(&run(&["-p", "say"])), format!("{written}\n"));
    let result = object(&run(&["-p", "say", "-o", "json"]));
    assert_eq!(result["text"], written);
    let session = result["session_id"].as_str().unwrap();
    let shown = object(&home.run(&["sessions", "show", session, "--json"]));
    assert!(shown["items"].as_array().unwrap().iter().any(|item| item["delta"] == written), "{shown}");
    let document = stdout(&home.run(&["sessions", "export", session, "--format", "markdown"]));
    assert!(document.contains(written), "{document}");
}

#[test]
fn a_failed_run_has_what_a_successful_one_has() {
    let (ok, _) = with_server(&["Yes."], &["-p", "say"]);
    let (failed, _) = with_server(&[], &["-p", "say"]);
    let (ok, failed) = (object(&ok), object(&failed));
    for name in ok.as_object().unwrap().keys() {
        assert!(failed.get(name).is_some(), "{name}: {failed}");
    }
    assert_eq!((&failed["type"], &failed["success"]), (&json!("error"), &json!(false)));
    assert!(failed["session_id"].is_string() && failed["error"].is_string(), "{failed}");
}

#[test]
fn each_early_failure_is_one_object() {
    let home = Home::new();
    for args in [
        &["--nope"][..],
        &["--cwd", "/absent/folder"],
        &["--timeout", "abc"],
        &["-m", "nobody"],
        &["--add-dir", "absent"],
        &["--session", "absent00"],
        &["--config", "absent.toml"],
        &["--allow", "bash("],
        &["two", "prompts"],
    ] {
        for format in ["json", "stream-json"] {
            for given in [vec!["-o", format], vec![&*format!("--output-format={format}")]] {
                let output = home.run(&[&["-p", "hi"], args, &given].concat());
                let failed = object(&output);
                assert_eq!((&failed["success"], output.status.code()), (&json!(false), Some(1)), "{args:?}");
                assert!(failed["error"].is_string(), "{args:?}: {failed}");
            }
        }
    }
}

#[test]
fn a_run_in_which_each_call_was_denied_fails() {
    let home = Home::new();
    let denied = home.run(&["-p", "run git push ./r", "-o", "json"]);
    let result = object(&denied);
    assert_eq!((&result["success"], denied.status.code()), (&json!(false), Some(1)), "{result}");
    assert_eq!(result["stop_reason"], "end_turn");
    let errors = result["errors"].to_string();
    assert!(
        errors.contains("--allow 'bash(git push ./r)'") && errors.contains("each tool call was denied"),
        "{errors}"
    );
    let refused = object(&home.run(&["-p", "/goal x --budget", "-o", "json"]));
    assert_eq!((&refused["command"], &refused["success"]), (&json!("refused"), &json!(false)), "{refused}");
    let done = object(&home.run(&["-p", "/usage", "-o", "json"]));
    assert_eq!((&done["command"], &done["success"]), (&json!("done"), &json!(true)), "{done}");
}
