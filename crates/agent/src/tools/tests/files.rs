//! The texts of the file tools, the same on every route.

use super::*;
use crate::tools::testing::{ROUTES, call};
use crate::{Diff, ToolContent};
use serde_json::Value;
use system::Route;

/// Runs calls one after another on every route and compares each text with what is expected.
async fn check(files: &[(&str, &str)], calls: &[(&str, Value, &str)]) {
    for (route, read, write) in ROUTES {
        let system = Memory::default();
        system.route(read, write);
        for (file, text) in files {
            system.disk(file, text);
        }
        let (cx, _) = context(&system);
        for (name, arguments, expected) in calls {
            assert_eq!(text(&cx, name, arguments.clone()).await, *expected, "{route}: {name} {arguments}");
            // An editor that saves what it takes, so that every route sees the same afterwards.
            let mut world = system.world();
            let saved: Vec<_> =
                world.buffers.iter().map(|(file, text)| (file.clone(), text.clone())).collect();
            world.disk.extend(saved.into_iter().map(|(file, text)| (file, text.into_bytes())));
        }
    }
}

#[tokio::test]
async fn reads_pages_of_numbered_lines() {
    let long = "y".repeat(2_500);
    let cut = format!("1\t{}...\n2\tend", "y".repeat(2_000));
    check(
        &[
            ("a.txt", "one\ntwo\nthree\n"),
            ("crlf.txt", "one\r\ntwo\r\n"),
            ("no_end.txt", "one\ntwo"),
            ("bom.txt", "\u{feff}grüße 🦀\n"),
            ("empty.txt", ""),
            ("blank.txt", "\n"),
            ("long.txt", &format!("{long}\nend\n")),
            ("many.txt", &"x\n".repeat(1_500)),
            ("sub/b.txt", ""),
        ],
        &[
            ("file_read", json!({"path": "a.txt"}), "1\tone\n2\ttwo\n3\tthree"),
            (
                "file_read",
                json!({"path": "/w/a.txt", "offset": "2", "limit": 1}),
                "2\ttwo\n... 1 more lines (continue with offset=3)",
            ),
            ("file_read", json!({"path": "file:///w/a.txt", "offset": 3, "extra": true}), "3\tthree"),
            ("file_read", json!({"path": "a.txt", "offset": 4}), "! a.txt"),
            ("file_read", json!({"path": "crlf.txt"}), "1\tone\n2\ttwo"),
            ("file_read", json!({"path": "no_end.txt"}), "1\tone\n2\ttwo"),
            ("file_read", json!({"path": "bom.txt"}), "1\tgrüße 🦀"),
            ("file_read", json!({"path": "empty.txt"}), "empty.txt is empty."),
            ("file_read", json!({"path": "long.txt"}), &cut),
            (
                "file_read",
                json!({"path": "many.txt", "limit": 1}),
                "1\tx\n... more than 1000 more lines (continue with offset=2)",
            ),
            (
                "file_read",
                json!({"path": "many.txt", "limit": 1, "offset": 501}),
                "501\tx\n... 999 more lines (continue with offset=502)",
            ),
            ("file_read", json!({"path": "A.txt"}), "! File not found: A.txt\nDid you mean: a.txt?"),
            ("file_read", json!({"path": "zzzzzz"}), "! File not found: zzzzzz"),
            (
                "file_read",
                json!({"path": "sub"}),
                "! sub is a directory. List it with glob: pattern \"*\", path \"sub\".",
            ),
            ("file_read", json!({"path": ""}), "! Invalid arguments for 'file_read': path cannot be empty"),
            ("file_read", json!({}), "! Invalid arguments for 'file_read': missing field `path`"),
            (
                "file_read",
                json!({"path": "a.txt", "limit": -1}),
                "! Invalid arguments for 'file_read': expected a whole number from 0, got -1",
            ),
        ]
        .map(|(name, arguments, expected)| match expected {
            "! a.txt" => (
                name,
                arguments,
                "a.txt has no line 4: offset is past the end of the file. Read it with a smaller offset.",
            ),
            expected => (name, arguments, expected),
        }),
    )
    .await;
}

#[tokio::test]
async fn refuses_bytes_and_keeps_a_page_within_the_limits() {
    let system = Memory::default();
    system.world().disk.insert(path("bin"), vec![0, 159, 146, 150]);
    system.disk("wide", &format!("{}\n", "w".repeat(900)).repeat(200)).disk("deep", &"d\n".repeat(3_000));
    let (cx, _) = context(&system);
    let refused = text(&cx, "file_read", json!({"path": "bin"})).await;
    assert!(refused.starts_with("! bin is not readable as text: 4 bytes of binary"), "{refused}");
    let wide = text(&cx, "file_read", json!({"path": "wide"})).await;
    assert!(
        wide.len() <= 50_000 && wide.ends_with("... 145 more lines (continue with offset=56)"),
        "{}",
        &wide[wide.len() - 60..]
    );
    let deep = text(&cx, "file_read", json!({"path": "deep", "limit": 5_000})).await;
    assert_eq!(deep.lines().count(), 2_001, "the limit, and how to go on");
    assert!(
        deep.ends_with("2000\td\n... 1000 more lines (continue with offset=2001)"),
        "{}",
        &deep[deep.len() - 60..]
    );
}

#[tokio::test]
async fn reads_buffers_that_are_on_no_disk() {
    let system = Memory::default();
    system
        .disk("a", "disk\n")
        .buffer("a", "unsaved\n")
        .buffer("new", "only here\n")
        .disk("b", "x")
        .buffer("b", "");
    system.route(Route::Client, Route::Client);
    let (cx, _) = context(&system);
    for (file, expected) in [("a", "1\tunsaved"), ("new", "1\tonly here"), ("b", "b is empty.")] {
        assert_eq!(text(&cx, "file_read", json!({"path": file})).await, expected);
    }
}

#[tokio::test]
async fn writes_and_edits() {
    check(
        &[("a.txt", "one\ntwo\ntwo\n"), ("crlf.txt", "a\r\nb\r\n"), ("empty", ""), ("d/x", "")],
        &[
            ("file_write", json!({"path": "new/deep.txt", "content": "1\n2\n3"}), "Wrote 3 lines to new/deep.txt"),
            ("file_write", json!({"path": "empty", "content": "x\n"}), "Wrote 1 lines to empty"),
            ("file_write", json!({"path": "a.txt", "content": "x"}), "! a.txt exists, and you have not read it. Read it with file_read first, then write it. Nothing was written."),
            ("file_read", json!({"path": "a.txt", "limit": 1}), "1\tone\n... 2 more lines (continue with offset=2)"),
            ("file_write", json!({"path": "a.txt", "content": "x"}), "! a.txt has been read in part only. Read the rest with file_read first, or change the part you know with file_edit. Nothing was written."),
            ("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1\n1"}), "Edited a.txt (-1, +2 lines)"),
            ("file_edit", json!({"path": "a.txt", "old_string": "", "new_string": "x"}), "! old_string is empty, but a.txt exists and is not empty; nothing was changed. Give the text to replace as old_string: to add lines, a line that stands there, and as new_string the same line with the new ones. To replace the whole file use file_write."),
            ("file_edit", json!({"path": "a.txt", "old_string": "x", "new_string": "x"}), "! old_string and new_string are the same: there is nothing to change."),
            ("file_edit", json!({"path": "a.txt", "old_string": "twoo", "new_string": "x"}), "! old_string not found in a.txt. Make sure it matches exactly including whitespace.\nNearest lines:\n3\ttwo"),
            ("file_edit", json!({"path": "a.txt", "old_string": "two", "new_string": "x"}), "! old_string found multiple times in a.txt. It must be unique. Provide more context.\n2 places, the first ones:\n3\ttwo\n4\ttwo"),
            ("file_edit", json!({"path": "a.txt", "old_string": "two", "new_string": "2", "replace_all": "true"}), "Edited a.txt (-2, +2 lines)"),
            ("file_read", json!({"path": "a.txt"}), "1\t1\n2\t1\n3\t2\n4\t2"),
            ("file_write", json!({"path": "a.txt", "content": "all\nnew\n"}), "Wrote 2 lines to a.txt"),
            ("file_edit", json!({"path": "none", "old_string": "a", "new_string": "b"}), "! File not found: none"),
            ("file_edit", json!({"path": "d", "old_string": "a", "new_string": "b"}), "! d is a directory."),
            ("file_edit", json!({"path": "crlf.txt", "old_string": "a\nb", "new_string": "x\ny"}), "Edited crlf.txt (-2, +2 lines)"),
        ],
    )
    .await;
}

#[tokio::test]
async fn keeps_line_ends_marks_and_missing_ends() {
    for (before, tool, arguments, after) in [
        (
            "a\r\nb\r\n",
            "file_edit",
            json!({"path": "f", "old_string": "a\nb", "new_string": "x\ny"}),
            "x\r\ny\r\n",
        ),
        ("a\r\nb", "file_edit", json!({"path": "f", "old_string": "b", "new_string": "x\ny"}), "a\r\nx\r\ny"),
        (
            "\u{feff}a\n",
            "file_edit",
            json!({"path": "f", "old_string": "a", "new_string": "b"}),
            "\u{feff}b\n",
        ),
        ("\u{feff}a\r\n", "file_write", json!({"path": "f", "content": "x\ny\n"}), "\u{feff}x\r\ny\r\n"),
        ("a\n", "file_write", json!({"path": "f", "content": "x\r\n"}), "x\r\n"),
        ("a", "file_write", json!({"path": "f", "content": ""}), ""),
    ] {
        let system = Memory::default();
        system.disk("f", before);
        let (cx, _) = context(&system);
        text(&cx, "file_read", json!({"path": "f"})).await;
        let said = text(&cx, tool, arguments.clone()).await;
        assert_eq!(system.seen("f").as_deref(), Some(after), "{before:?} {arguments}: {said}");
    }
}

#[tokio::test]
async fn shows_a_diff_and_reports_what_the_editor_made_of_it() {
    let system = Memory::default();
    system.route(Route::Client, Route::Client);
    system.disk("f", "a\n");
    system.world().format = Some(|text| text.replace("x=1", "x = 1"));
    let (cx, _) = context(&system);
    let output =
        call(&cx, "file_edit", json!({"path": "f", "old_string": "a", "new_string": "x=1"})).await.unwrap();
    assert_eq!(
        output.result.text,
        "Edited f (-1, +1 lines)\nThe editor changed the text as it took it (formatting on save, for example):\n@@ -1,1 +1,1 @@\n-x=1\n+x = 1"
    );
    let diff = Diff { path: path("f"), old_text: Some("a\n".into()), new_text: Some("x = 1\n".into()) };
    assert_eq!(output.shown, Some(vec![ToolContent::Diff(diff)]));
    // What the editor made of it is what the model now knows.
    text(&cx, "file_write", json!({"path": "g", "content": "x=1"})).await;
    assert_eq!(text(&cx, "file_write", json!({"path": "g", "content": "y"})).await, "Wrote 1 lines to g");
}

#[tokio::test]
async fn refuses_what_changed_while_the_user_was_asked() {
    for (tool, arguments) in [
        ("file_write", json!({"path": "f", "content": "mine\n"})),
        ("file_edit", json!({"path": "f", "old_string": "old", "new_string": "mine"})),
    ] {
        let system = Memory::default();
        system.disk("f", "old\n");
        let (mut cx, _) = context(&system);
        cx.asked = true;
        text(&cx, "file_read", json!({"path": "f"})).await;
        let tools = crate::tools::builtin();
        let mut call = tools.iter().find(|one| one.spec().name == tool).unwrap().parse(arguments).unwrap();
        call.prepare(&cx).await.unwrap();
        system.disk("f", "old\ntheirs\n");
        let refused = call.run(&cx).await.unwrap_err().to_string();
        assert!(refused.starts_with("f changed while the user was asked; nothing was written."), "{refused}");
        assert_eq!(system.seen("f").as_deref(), Some("old\ntheirs\n"));
    }
}
