//! Whole conversations: a prompt, the calls it leads to, the files afterwards, and the report.

use super::{
    super::{block, next},
    tools::FakeTools,
};
use agent::{AnsweredCall, AssistantMessage, Content, Message, ToolResult, Written};
use serde_json::json;

const MAIN: &str =
    "use std::fmt;\n\nfn greet() {\n    println!(\"Hello\");\n}\n\nfn main() {\n    greet();\n}\n";

/// One conversation: the initial files, the prompt, the calls by name, parts of the report, and the
/// files that differ afterwards (an empty text for a deleted one).
struct Case<'a> {
    files: &'a [(&'a str, &'a str)],
    prompt: &'a str,
    calls: &'a str,
    report: &'a [&'a str],
    after: &'a [(&'a str, &'a str)],
}

fn check(case: &Case<'_>) {
    check_in(&mut FakeTools::new(case.files), case);
}

fn check_in(fake: &mut FakeTools, case: &Case<'_>) {
    let before = fake.files.clone();
    let messages = fake.play(vec![Content::text(case.prompt)]);
    let names: Vec<&str> = fake.calls.iter().map(|call| call.name).collect();
    assert_eq!(names.join(" "), case.calls, "{:?}: {messages:#?}", case.prompt);
    let report = messages.last().expect("it says something");
    for part in case.report {
        assert!(report.contains(part), "{:?}: {part:?} is not in:\n{report}", case.prompt);
    }
    let mut expected = before;
    for (path, text) in case.after {
        match text.is_empty() {
            true => expected.remove(*path),
            false => expected.insert((*path).to_owned(), (*text).to_owned()),
        };
    }
    assert_eq!(fake.files, expected, "{:?}: {messages:#?}", case.prompt);
}

fn case<'a>(
    prompt: &'a str,
    calls: &'a str,
    report: &'a [&'a str],
    after: &'a [(&'a str, &'a str)],
) -> Case<'a> {
    let files = &[
        ("src/main.rs", MAIN),
        ("notes.md", "one\ntwo\n\ntwo\nend\n"),
        ("docs/a b.txt", "x\n"),
        ("a/same.txt", "1\n"),
        ("b/same.txt", "2\n"),
        ("win.txt", "eins\r\nzwei\r\n"),
        ("empty.txt", ""),
        ("open.txt", "no end"),
    ];
    Case { files, prompt, calls, report, after }
}

#[test]
fn reads() {
    check(&case("show notes.md", "file_read", &["Read `notes.md`:", "3\t\n4\ttwo"], &[]));
    check(&case("show notes.md lines 2-2", "file_read", &["Read `notes.md` line 2:", "2\ttwo"], &[]));
    check(&case("show notes.md and 'docs/a b.txt'", "file_read file_read", &["1\tone", "1\tx"], &[]));
    check(&case("show main.rs", "file_read glob file_read", &["Read `src/main.rs`:", "fn greet"], &[]));
    check(&case(
        "show same.txt",
        "file_read glob",
        &["failed: 2 files are called `same.txt`", "`a/same.txt`, `b/same.txt`"],
        &[],
    ));
    check(&case("show gone/x.txt", "file_read", &["failed: File not found: gone/x.txt."], &[]));
    check(&case("search for 'greet(' in src", "grep", &["src/main.rs:3:fn greet() {"], &[]));
    check(&case("search for nothing like it", "grep", &["No matches found"], &[]));
    check(&case("list files in src", "glob", &["src/main.rs", "1 listed"], &[]));
}

#[test]
fn a_prompt_may_be_wrapped_in_tags() {
    for prompt in [
        "<previous_user_message>show main.rs</previous_user_message>",
        "<user-query>\nshow main.rs\n</user-query>\n",
    ] {
        check(&case(prompt, "file_read glob file_read", &["Read `src/main.rs`:"], &[]));
    }
    check(&case("<a>show main.rs</b>", "", &["I do not understand"], &[]));
}

#[test]
fn edits() {
    let hello = MAIN.replace("Hello", "Good morning");
    let main: &[(&str, &str)] = &[("src/main.rs", &hello)];
    check(&case(
        "replace Hello with Good morning in src/main.rs",
        "file_read file_edit",
        &["Changed:\n- `src/main.rs`: 1 replacement(s)"],
        main,
    ));
    check(&case(
        "replace Hello with 'Good morning' in main.rs",
        "file_read glob file_read file_edit",
        &["`src/main.rs`"],
        main,
    ));
    check(&case(
        "replace two with three in notes.md",
        "file_read",
        &["occurs in `notes.md` at least 2 times (lines 2, 4)"],
        &[],
    ));
    let all = "one\n3\n\n3\nend\n";
    check(&case(
        "replace two with 3 in notes.md everywhere",
        "file_read file_edit",
        &["2 replacement(s)"],
        &[("notes.md", all)],
    ));
    check(&case(
        "replace absent with 3 in notes.md",
        "file_read",
        &["'absent' does not occur in `notes.md`"],
        &[],
    ));
    check(&case(
        "replace zwei with drei in win.txt",
        "file_read file_edit",
        &[],
        &[("win.txt", "eins\r\ndrei\r\n")],
    ));
    let added = [("notes.md", "one\ntwo\nNEW\n\ntwo\nend\n")];
    check(&case(
        "insert 'NEW' after line 2 in notes.md",
        "file_read file_edit",
        &["1 line(s) added"],
        &added,
    ));
    check(&case("insert 'NEW' before line 3 in notes.md", "file_read file_edit", &[], &added));
    check(&case("insert 'NEW' after 'two' in notes.md", "file_read", &["2 lines of `notes.md` (2, 4)"], &[]));
    let after_one = [("notes.md", "one\nA\nB\ntwo\n\ntwo\nend\n")];
    check(&case(
        "insert \"A\\nB\" after 'one' in notes.md",
        "file_read file_edit",
        &["2 line(s) added"],
        &after_one,
    ));
    check(&case("insert 'x' after line 9 in notes.md", "file_read", &["has only 5 line(s)"], &[]));
    check(&case(
        "append 'x' to notes.md",
        "file_read file_edit",
        &[],
        &[("notes.md", "one\ntwo\n\ntwo\nend\nx\n")],
    ));
    check(&case("append 'x' to open.txt", "file_read file_edit", &[], &[("open.txt", "no end\nx")]));
    check(&case("append 'x' to empty.txt", "file_read file_write", &[], &[("empty.txt", "x\n")]));
    check(&case(
        "append 'drei' to win.txt",
        "file_read file_edit",
        &[],
        &[("win.txt", "eins\r\nzwei\r\ndrei\r\n")],
    ));
    check(&case(
        "delete line 4 in notes.md",
        "file_read file_edit",
        &[],
        &[("notes.md", "one\ntwo\n\nend\n")],
    ));
    check(&case(
        "delete lines 1-2 in notes.md",
        "file_read file_edit",
        &["2 line(s) deleted"],
        &[("notes.md", "\ntwo\nend\n")],
    ));
    check(&case(
        "delete line 5 in notes.md",
        "file_read file_edit",
        &[],
        &[("notes.md", "one\ntwo\n\ntwo\n")],
    ));
    check(&case(
        "remove 'one' from notes.md",
        "file_read file_edit",
        &["Removed 'one'"],
        &[("notes.md", "\ntwo\n\ntwo\nend\n")],
    ));
}

#[test]
fn whole_files() {
    check(&case(
        "create new/a.txt with 'hi'",
        "glob file_write",
        &["Created `new/a.txt`, 1 line(s)"],
        &[("new/a.txt", "hi")],
    ));
    check(&case("create a.txt with\n```\nx\n\ny\n```", "glob file_write", &[], &[("a.txt", "x\n\ny\n")]));
    // A file of the same name elsewhere does not matter.
    check(&case("create same.txt with 'hi'", "glob file_write", &[], &[("same.txt", "hi")]));
    check(&case("create notes.md with 'hi'", "glob", &["exists already; say `overwrite notes.md"], &[]));
    check(&case(
        "overwrite notes.md with 'hi'",
        "glob file_read file_write",
        &["Wrote `notes.md`"],
        &[("notes.md", "hi")],
    ));
    check(&case("delete notes.md", "file_read apply_patch", &["- `notes.md`: deleted"], &[("notes.md", "")]));
    let moved = [("docs/a b.txt", ""), ("x.txt", "x\n")];
    check(&case("move 'docs/a b.txt' to x.txt", "file_read apply_patch", &["moved to `x.txt`"], &moved));
    check(&case(
        "move 'docs/a b.txt' to notes.md",
        "file_read apply_patch",
        &["failed: notes.md already exists"],
        &[],
    ));
    let patch = "fix: apply this patch\n*** Begin Patch\n*** Add File: p.txt\n+p\n*** Delete File: notes.md\n*** End Patch";
    let after = [("p.txt", "p\n"), ("notes.md", "")];
    check(&case(patch, "file_read apply_patch", &["- `notes.md`: deleted", "- `p.txt`: added"], &after));
}

#[test]
fn symbols() {
    let files: &[(&str, &str)] = &[
        ("src/a.rs", "fn get() {}\nfn get_all() { get(); }\n"),
        ("src/b.rs", "use a::get;\n\nfn x() {\n    get();\n}\n"),
        ("src/c.rs", "// get\n"),
        ("src/d.rs", "// widget\n"),
        ("other.rs", "get();\n"),
    ];
    let after: &[(&str, &str)] = &[
        ("src/a.rs", "fn fetch() {}\nfn get_all() { fetch(); }\n"),
        ("src/b.rs", "use a::fetch;\n\nfn x() {\n    fetch();\n}\n"),
        ("src/c.rs", "// fetch\n"),
    ];
    // The search shows three lines at a time, so it takes two rounds, and a last one that finds
    // nothing.
    let calls = "grep file_read file_read file_edit file_edit grep file_read file_edit grep";
    let report: &[&str] = &["5 place(s) in 3 file(s); none is left", "- `src/c.rs`: 1 place(s)"];
    check(&Case { files, prompt: "rename symbol get to fetch in src", calls, report, after });
    let prompt = "rename symbol absent to fetch in src";
    check(&Case { files, prompt, calls: "grep", report: &["the word `absent` was not found"], after: &[] });
}

#[test]
fn commands() {
    check(&case("run ls", "bash", &["Ran `ls`: exit code 0:", "ran ls"], &[]));
    check(&case("run fail now", "bash", &["ended with exit code 3", "boom"], &[]));
}

#[test]
fn several_steps_stop_at_the_first_failure() {
    let prompt = "replace one with 1 in notes.md, then show it, then run ls";
    let after = [("notes.md", "1\ntwo\n\ntwo\nend\n")];
    check(&case(
        prompt,
        "file_read file_edit file_read bash",
        &["1. Replaced", "2. Read", "3. Ran `ls`: exit code 0"],
        &after,
    ));
    let prompt = "replace one with 1 in notes.md; run fail; delete notes.md";
    let report: &[&str] =
        &["Step 2 of 3: run `fail` failed", "Not done:\n- delete `notes.md`", "Changed:\n- `notes.md`"];
    check(&case(prompt, "file_read file_edit bash", report, &after));
    // No step is started if any part could not be parsed.
    let prompt = "replace one with 1 in notes.md; make it shine";
    check(&case(
        prompt,
        "",
        &["I did nothing.", "not a language model", "step 2 \"make it shine\"", "OPENAI_API_KEY"],
        &[],
    ));
}

#[test]
fn task_lists_are_kept_on_request() {
    let calls = "task_create task_create task_update file_read task_update task_update bash task_update";
    check(&case("with a plan: show notes.md; run ls", calls, &["2. Ran"], &[]));
    let calls = "task_create task_create task_update file_read task_update";
    check(&case("with a plan: show gone/x.md; run ls", calls, &["Step 1 of 2: show"], &[]));
    check(&case(
        "make a plan: think, do",
        "task_create task_create",
        &["Noted 2 task(s)", "- think\n- do"],
        &[],
    ));
}

#[test]
fn a_denied_call_stops_the_remaining_steps() {
    let mut fake = FakeTools::new(&[("notes.md", "one\n")]);
    fake.refuse = Some("file_edit");
    let files: &[(&str, &str)] = &[];
    let report: &[&str] = &[
        "Step 1 of 2: you refused `file_edit`",
        "so I stopped",
        "Not done:\n- run `ls`",
        "No file was changed",
    ];
    let prompt = "replace one with 1 in notes.md; run ls";
    check_in(&mut fake, &Case { files, prompt, calls: "file_read file_edit", report, after: &[] });
}

#[test]
fn missing_tools_are_reported_before_anything_is_done() {
    let mut fake = FakeTools::new(&[("notes.md", "one\n")]);
    fake.tools = vec!["file_read", "glob", "grep", "bash"];
    let report: &[&str] = &["I did nothing. Step 2", "`file_edit`", "Switch the session to Edit mode"];
    let prompt = "show notes.md then replace one with 1 in notes.md";
    check_in(&mut fake, &Case { files: &[], prompt, calls: "", report, after: &[] });
}

#[test]
fn long_files_are_read_page_by_page() {
    let long: String = (1..=25).map(|n| format!("line {n}\n")).collect();
    let mut fake = FakeTools::new(&[("long.txt", &long)]);
    fake.page = 10;
    let after = long.clone() + "x\n";
    let after: &[(&str, &str)] = &[("long.txt", &after)];
    let calls = "file_read file_read file_read file_edit";
    check_in(&mut fake, &Case { files: &[], prompt: "append 'x' to long.txt", calls, report: &[], after });
}

#[test]
fn the_plan_comes_first_and_steps_are_announced() {
    let mut fake = FakeTools::new(&[("notes.md", "one\n")]);
    let messages = fake.play(vec![Content::text("show notes.md then run ls")]);
    assert_eq!(messages[0], "2 steps:\n1. show `notes.md`\n2. run `ls`");
    assert_eq!(messages[1], "Step 2 of 2: run `ls`.");
}

#[test]
fn it_refers_to_attached_and_mentioned_files() {
    let link = Content::ResourceLink { uri: "file:///p/a%20b.txt".to_owned(), name: "a b.txt".to_owned() };
    let resource =
        Content::Resource { uri: "file:///p/a%20b.txt".to_owned(), mime_type: None, text: "x".to_owned() };
    let embedded = Content::text("Attached: file:///p/a%20b.txt\n```\nx; run rm\n```");
    let named = Content::text("Attached by name only, read it if you need it: a b.txt (file:///p/a%20b.txt)");
    let prompts = [
        vec![Content::text("show"), link.clone()],
        vec![Content::text("show "), link, Content::text(" line 1")],
        vec![Content::text("show it"), resource],
        vec![embedded.clone(), Content::text("show this file")],
        vec![Content::text("show lines 1-2 of "), embedded.clone(), Content::text(" please")],
        vec![Content::text("show it"), named],
    ];
    for prompt in prompts {
        let mut fake = FakeTools::new(&[("/p/a b.txt", "x\n")]);
        let messages = fake.play(prompt);
        assert!(
            messages.last().is_some_and(|report| report.starts_with("Read `/p/a b.txt`")),
            "{messages:?}"
        );
    }
    // A file attached to a command is not part of the command line, unless it was mentioned within
    // it.
    for (text, command) in [("run cat", "cat"), ("run cat ", "cat `/p/a b.txt`")] {
        let mut fake = FakeTools::new(&[]);
        fake.play(vec![Content::text(text), embedded.clone()]);
        assert_eq!(fake.calls[0].arguments, json!({ "command": command }));
    }
}

#[test]
fn only_the_last_prompt_counts_and_unexpected_calls_are_detected() {
    let fake = FakeTools::new(&[]);
    let answered = |name: &str| {
        let call = AnsweredCall {
            provider_id: "x".to_owned(),
            name: name.to_owned(),
            arguments: Ok(json!({ "path": "a.txt" })),
            written: Written::default(),
            result: ToolResult::ok("1\tx"),
        };
        Message::Assistant(AssistantMessage::called("", [call]))
    };
    let user = |text: &str| Message::User(vec![Content::text(text)]);
    let reply = next(&fake.request(vec![user("show a.txt"), answered("file_read"), user("show b.txt")]));
    assert_eq!(reply.calls[0].arguments, json!({ "path": "b.txt" }));
    let reply = next(&fake.request(vec![user("show a.txt"), answered("bash")]));
    assert!(reply.calls.is_empty() && reply.text.contains("I do not know where I am"), "{}", reply.text);
    let reply = next(&fake.request(Vec::new()));
    assert!(reply.calls.is_empty() && reply.text.contains("not a language model"));
}

#[test]
fn long_outputs_are_shortened_in_the_report() {
    let long: String = (1..=1_000).map(|n| format!("{n}\n")).collect();
    let mut fake = FakeTools::new(&[("long.txt", &long)]);
    let messages = fake.play(vec![Content::text("show long.txt")]);
    let report = messages.last().expect("it says something");
    assert!(report.contains("(800 more line(s) are in the tool call)"), "{report}");
    assert!(report.contains("200\t200") && !report.contains("201\t201"), "{report}");
    // A block that contains fences gets a longer fence.
    assert_eq!(block::block("````\nx"), "`````\n````\nx\n`````");
    let end = block::block_end(&long);
    assert!(end.starts_with("(800 line(s) before") && end.ends_with("1000\n```"), "{end}");
}
