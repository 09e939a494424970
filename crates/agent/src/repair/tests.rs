use super::*;
use crate::tools;
use serde_json::json;

/// Reads a call with the built-in tools, all of which are offered.
fn call(name: &str, arguments: Result<Value, &str>) -> Result<(String, Vec<Value>, Option<String>), String> {
    let tools = tools::offered(true, true, false);
    let names: Vec<_> = tools.iter().map(|tool| tool.name().into_owned()).collect();
    let offered: Vec<&str> = names.iter().map(String::as_str).collect();
    let arguments = arguments.map_err(|raw| MalformedArguments { raw: raw.to_owned(), error: String::new() });
    match read(Known { tools: &tools, offered: &offered }, name, &arguments, None) {
        Ok(Reading { tool, arguments, note }) => Ok((tool.name().into_owned(), arguments, note)),
        Err(refusal) => Err(refusal.text),
    }
}

/// Checks that a call is run as `tool` with `expected`, and that a note says so.
fn runs(name: &str, given: Value, tool: &str, expected: Value) {
    let (run, arguments, note) =
        call(name, Ok(given.clone())).unwrap_or_else(|error| panic!("{name} {given}: {error}"));
    assert_eq!((run.as_str(), arguments.as_slice()), (tool, &[expected][..]), "{name} {given}");
    assert!(note.is_some_and(|note| note.starts_with("(read as ")), "{name} {given}");
}

#[test]
fn a_call_that_is_right_is_taken_as_it_is() {
    for (name, given) in [
        ("file_read", json!({"path": "a.py", "offset": 2, "limit": "5"})),
        ("bash", json!({"command": "ls", "timeout": 30})),
        ("grep", json!({"pattern": "x", "glob": "*.rs"})),
    ] {
        let (run, _, note) = call(name, Ok(given)).unwrap();
        assert_eq!((run.as_str(), note), (name, None));
    }
    let quiet = json!({"command": "ls", "description": "lists", "outside_sandbox": null, "timeout": null, "reason": null});
    let (_, arguments, note) = call("bash", Ok(quiet)).unwrap();
    assert_eq!((arguments[0].clone(), note), (json!({"command": "ls"}), None));
}

#[test]
fn arguments_of_other_agents_are_the_tools_own() {
    let path = || json!({"path": "a.py"});
    for name in ["file_path", "filename", "filepath", "filePath", "file", "target_file", "absolute_path"] {
        runs("file_read", json!({ name: "a.py" }), "file_read", path());
    }
    runs("Read", json!({"file_path": "a.py"}), "file_read", path());
    let edit = json!({"path": "a", "old_string": "x", "new_string": "y"});
    runs("Edit", json!({"file_path": "a", "old_str": "x", "new_str": "y"}), "file_edit", edit.clone());
    runs("edit_file", json!({"path": "a", "search": "x", "replace": "y"}), "file_edit", edit.clone());
    runs("replace", json!({"path": "a", "old_text": "x", "newText": "y"}), "file_edit", edit);
    runs(
        "Write",
        json!({"file_path": "a", "contents": "x"}),
        "file_write",
        json!({"path": "a", "content": "x"}),
    );
    runs("grep", json!({"query": "x", "include": "*.md"}), "grep", json!({"pattern": "x", "glob": "*.md"}));
    runs("apply_patch", json!({"input": "p"}), "apply_patch", json!({"patch": "p"}));
    let read = |first: i64, count: i64| json!({"path": "a", "offset": first, "limit": count});
    runs("view", json!({"path": "a", "start_line": 3, "end_line": 7}), "file_read", read(3, 5));
    runs("view", json!({"path": "a", "view_range": [3, 7]}), "file_read", read(3, 5));
    runs("view", json!({"path": "a", "view_range": [3, -1]}), "file_read", json!({"path": "a", "offset": 3}));
    runs("list_dir", json!({"target_directory": "src"}), "glob", json!({"pattern": "**", "path": "src"}));
}

#[test]
fn commands_in_the_background_are_dealt_with_by_the_names_of_other_agents() {
    let id = || json!({"session_id": "sh_1"});
    runs("BashOutput", json!({"bash_id": "sh_1"}), "shell_read", id());
    runs("KillShell", json!({"shell_id": "sh_1"}), "shell_kill", id());
    let expected = json!({"session_id": "sh_1", "input": "y"});
    runs("write_stdin", json!({"session_id": "sh_1", "chars": "y"}), "shell_write", expected);
    let read = json!({"action": "output", "id": "sh_1"});
    runs("shell", json!({"action": "output", "bash_id": "sh_1"}), "shell", read);
    // Argument names of other search tools.
    let found = json!({"pattern": "x", "mode": "count", "ignore_case": true, "after": 2, "limit": 5});
    let given = json!({"pattern": "x", "output_mode": "count", "-i": true, "-A": 2, "head_limit": 5});
    runs("grep", given, "grep", found);
    let asked = json!({"question": "which?", "choices": ["a", "b"]});
    runs("ask_user", json!({"question": "which?", "options": ["a", "b"]}), "ask_user", asked);
    let whole = json!({"question": "which?", "choices": [{"label": "a", "detail": "x"}, {"label": "b"}]});
    assert!(call("ask_user", Ok(whole)).is_ok());
}

#[test]
fn commands_come_as_text_and_as_words() {
    let ls = || json!({"command": "ls -la"});
    runs("bash", json!({"cmd": "ls -la"}), "bash", ls());
    runs("shell", json!({"command": ["bash", "-lc", "ls -la"]}), "bash", ls());
    runs("container.exec", json!({"cmd": ["ls", "-la"]}), "bash", ls());
    runs(
        "bash",
        json!({"command": ["echo", "a b", "it's"]}),
        "bash",
        json!({"command": r"echo 'a b' 'it'\''s'"}),
    );
    let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    for command in [
        json!(["apply_patch", patch]),
        json!(["bash", "-lc", format!("apply_patch <<'EOF'\n{patch}\nEOF")]),
        json!(format!("apply_patch <<EOF\n{patch}\nEOF\n")),
        json!(format!("apply_patch '{patch}'")),
    ] {
        runs("bash", json!({ "command": command }), "apply_patch", json!({ "patch": patch }));
    }
    let (tool, ..) =
        call("bash", Ok(json!({"command": format!("apply_patch <<EOF\n{patch}\nEOF\nrm -rf x")}))).unwrap();
    assert_eq!(tool, "bash", "a command that does more stays one");
}

#[test]
fn a_timeout_in_milliseconds_is_one_in_seconds_and_that_is_said() {
    for given in
        [json!({"command": "ls", "timeout": 120_000}), json!({"command": "ls", "timeout_ms": "120000"})]
    {
        let (_, arguments, note) = call("bash", Ok(given)).unwrap();
        assert_eq!(arguments, [json!({"command": "ls", "timeout": 120})]);
        assert!(note.unwrap().contains("taken as milliseconds: 120 s"));
    }
    let (_, arguments, note) = call("bash", Ok(json!({"command": "ls", "timeout": 7200}))).unwrap();
    assert_eq!((arguments[0]["timeout"].clone(), note), (json!(7200), None));
}

#[test]
fn booleans_are_what_they_say() {
    for (given, expected) in [("yes", true), ("no", false), ("1", true), ("False", false), ("on", true)] {
        let given = json!({"path": "a", "old_string": "x", "new_string": "y", "replace_all": given});
        let (_, arguments, _) = call("file_edit", Ok(given)).unwrap();
        assert_eq!(arguments[0]["replace_all"], json!(expected));
    }
    for lifted in [json!(null), json!("false"), json!(0), json!("no")] {
        let (_, arguments, _) =
            call("bash", Ok(json!({"command": "ls", "outside_sandbox": lifted}))).unwrap();
        assert_ne!(arguments[0]["outside_sandbox"], json!(true), "{lifted}");
    }
}

#[test]
fn envelopes_and_json_in_json_are_opened() {
    let path = || json!({"path": "a.py"});
    for given in [
        json!({"arguments": {"path": "a.py"}}),
        json!({"parameters": {"file_path": "a.py"}}),
        json!({"input": {"path": "a.py"}}),
        json!({"name": "file_read", "arguments": {"path": "a.py"}}),
        json!({"arguments": "{\"path\":\"a.py\"}"}),
    ] {
        runs("file_read", given, "file_read", path());
    }
    assert!(
        call("file_read", Ok(json!({"name": "bash", "arguments": {"path": "a"}}))).is_err(),
        "another tool's"
    );
    for raw in [
        r#"{"path":"a.py",}"#,
        "{'path':'a.py'}",
        r#"{"path":"a.py""#,
        r#""{\"path\":\"a.py\"}""#,
        r#"[{"path":"a.py"}]"#,
        "\"a.py\"",
        "```json\n{\"path\":\"a.py\"}\n```",
    ] {
        let (_, arguments, note) = call("file_read", Err(raw)).unwrap();
        assert_eq!(arguments, [path()], "{raw}");
        assert_eq!(note.unwrap(), r#"(read as file_read {"path":"a.py"})"#);
    }
}

#[test]
fn several_reads_in_one_call_are_run_and_several_writes_are_not() {
    let two = [json!({"path": "a"}), json!({"path": "b"})];
    for given in [
        Err(r#"{"path":"a"}{"path":"b"}"#),
        Ok(json!({"path": ["a", "b"]})),
        Ok(json!({"paths": ["a", "b"]})),
        Ok(json!({"files": [{"path": "a"}, {"path": "b"}]})),
    ] {
        let (_, arguments, note) = call("file_read", given).unwrap();
        assert_eq!(arguments, two);
        assert_eq!(note.unwrap(), r#"(read as file_read {"path":"a"} and file_read {"path":"b"})"#);
    }
    let writes = r#"{"path":"a","content":"x"}{"path":"b","content":"y"}"#;
    assert!(call("file_write", Err(writes)).unwrap_err().contains("nothing was done"));
}

#[test]
fn what_is_cut_off_is_never_closed_for_a_write_or_a_command() {
    for (name, raw) in [
        ("file_write", r#"{"path":"a","content":"x""#),
        ("file_write", r#"{"path":"a","content":"one\ntw"#),
        ("bash", r#"{"command":"rm -rf ./build""#),
        ("file_read", r#"{"path":"a.p"#),
    ] {
        let error = call(name, Err(raw)).unwrap_err();
        assert!(error.contains("was cut off") && !error.contains("malformed"), "{name} {raw}: {error}");
    }
    let tools = tools::builtin();
    let raw = MalformedArguments { raw: r#"{"path":"a","content":"on"#.to_owned(), error: String::new() };
    let refusal =
        read(Known { tools: &tools, offered: &[] }, "file_write", &Err(raw), Some(4096)).err().unwrap();
    assert_eq!(
        refusal.text,
        "The call of file_write was cut off at 4096 tokens, the limit of an answer; nothing was written. Write in parts: a \
         first, short part of the file now, the rest with further calls."
    );
}

#[test]
fn unknown_arguments_are_refused_with_those_there_are() {
    for (name, given, expected) in [
        ("file_read", json!({"path": "a", "colour": "red"}), "file_read has no argument \"colour\""),
        ("file_read", json!({"path": "a", "ofset": 3}), "Did you mean \"offset\"?"),
        ("file_read", json!({"path": "a", "encoding": "latin-1"}), "has no argument \"encoding\""),
        ("grep", json!({"pattern": "x", "multiline": true, "foo": 1}), "\"foo\""),
        ("file_edit", json!({"old_str": "x"}), "missing field `path`; the arguments sent are \"old_str\""),
        ("file_read", json!({}), "missing field `path`; no arguments were sent. It takes {\"path\": string"),
        ("file_read", json!({"path": "a", "file": "b"}), "given twice"),
        ("file_read", json!({"path": "a", "view_range": ["x"]}), "two line numbers"),
    ] {
        let error = call(name, Ok(given)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn one_editor_tool_is_three_of_ours() {
    let name = "str_replace_editor";
    runs(name, json!({"command": "view", "path": "a"}), "file_read", json!({"path": "a"}));
    runs(
        name,
        json!({"command": "create", "path": "a", "file_text": "x", "old_str": ""}),
        "file_write",
        json!({"path": "a", "content": "x"}),
    );
    runs(
        name,
        json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"}),
        "file_edit",
        json!({"path": "a", "old_string": "x", "new_string": "y"}),
    );
    let error = call(name, Ok(json!({"command": "undo_edit", "path": "a"}))).unwrap_err();
    assert!(error.contains("no command \"undo_edit\""), "{error}");
}

#[test]
fn content_that_is_no_text_is_written_as_json() {
    let (_, arguments, _) = call("file_write", Ok(json!({"path": "a.json", "content": {"a": 1}}))).unwrap();
    assert_eq!(arguments[0]["content"], json!("{\n  \"a\": 1\n}"));
}

#[test]
fn every_built_in_schema_names_all_its_arguments() {
    for tool in tools::offered(true, true, false) {
        assert!(Schema(&tool.spec().parameters).is_closed(), "{}", tool.name());
    }
}

#[test]
fn an_unknown_tool_is_answered_with_what_is_offered() {
    let error = call("read_fiel", Ok(json!({}))).unwrap_err();
    assert!(
        error.starts_with("Tool 'read_fiel' not found.") && error.contains("The tools are: file_read,"),
        "{error}"
    );
}
