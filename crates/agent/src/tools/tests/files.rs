//! The texts of the file tools, which are the same on every route.

use super::*;
use crate::tools::testing::{ROUTES, call};
use crate::{Diff, ToolContent};
use serde_json::Value;
use system::Route;

/// Runs calls in order on every route and compares each text with the expected one.
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
            // Simulates an editor that saves after every write, so that every route sees the same
            // state.
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
    let cut = format!(
        "1\t{}...\n2\tend\n... line 1 is cut after 2000 characters (the rest with bash: sed -n 1p FILE | cut -c2001-)",
        "y".repeat(2_000)
    );
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
            ("file_read", json!({"path": "src/a.txt"}), "! File not found: src/a.txt\nDid you mean: a.txt?"),
            ("file_read", json!({"path": "zzzzzz"}), "! File not found: zzzzzz"),
            (
                "file_read",
                json!({"path": "sub"}),
                "! sub is a directory. List it with glob: pattern \"*\", path \"sub\".",
            ),
            ("file_read", json!({"path": ""}), "! Invalid arguments for 'file_read': path cannot be empty"),
            ("file_read", json!({}), "! Invalid arguments for 'file_read': missing field `path`"),
            ("file_read", json!({"path": "a.txt", "offset": -2}), "2\ttwo\n3\tthree"),
            ("file_read", json!({"path": "a.txt", "offset": "-9"}), "1\tone\n2\ttwo\n3\tthree"),
            (
                "file_read",
                json!({"path": "many.txt", "offset": -3, "limit": 2}),
                "1498\tx\n1499\tx\n... 1 more lines (continue with offset=1500)",
            ),
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
        wide.len() <= 50_000 && wide.ends_with("... 146 more lines (continue with offset=55)"),
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

/// Creates a context over a system that decodes the bytes it reads.
fn on_fake(files: &[(&str, &[u8])]) -> (crate::ToolContext, std::sync::Arc<system::FakeSystem>) {
    let system = std::sync::Arc::new(system::FakeSystem::new());
    system.add_dir("/w");
    for (file, bytes) in files {
        system.add_file(&format!("/w/{file}"), bytes);
    }
    let (cx, _) = context(&Memory::default());
    (crate::ToolContext { system: system.clone(), ..cx }, system)
}

#[tokio::test]
async fn text_in_another_encoding_is_read_said_and_kept() {
    let utf16 = |text: &str| {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    for (before, after, encoding) in [
        (b"caf\xe9\r\nend\r\n".to_vec(), b"th\xe9\r\nend\r\n".to_vec(), "Windows-1252 (Latin-1)"),
        (utf16("café\r\nend\r\n"), utf16("thé\r\nend\r\n"), "UTF-16 (little endian)"),
    ] {
        for tool in ["file_edit", "file_write", "apply_patch"] {
            let (cx, system) = on_fake(&[("f", &before)]);
            let read = text(&cx, "file_read", json!({"path": "f"})).await;
            assert_eq!(read, format!("1\tcafé\n2\tend\n[f is {encoding} text; edits and writes keep that]"));
            let arguments = match tool {
                "file_edit" => json!({"path": "f", "old_string": "café", "new_string": "thé"}),
                "file_write" => json!({"path": "f", "content": "thé\nend\n"}),
                _ => json!({"patch": "*** Update File: f\n@@\n-café\n+thé\n end\n"}),
            };
            let said = text(&cx, tool, arguments).await;
            assert_eq!(system::System::read(&*system, &path("f")).await.unwrap(), after, "{tool}: {said}");
        }
    }
    let (cx, _) = on_fake(&[("f", b"caf\xe9\n")]);
    let refused = text(&cx, "file_edit", json!({"path": "f", "old_string": "caf", "new_string": "→"})).await;
    assert!(refused.contains("which has no '→' (U+2192), so nothing was written"), "{refused}");
}

#[tokio::test]
async fn an_image_is_shown_and_other_bytes_are_named() {
    use crate::Content;
    for (name, start, expected) in [
        ("a.png", &b"\x89PNG\r\n\x1a\n\0\0\0\0IEND\xaeB`\x82"[..], "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0\0 and the rest of it", "image/jpeg"),
        ("a.gif", b"GIF89a\0 and the rest of it", "image/gif"),
        ("a.webp", b"RIFF\x08\0\0\0WEBPVP8 ", "image/webp"),
    ] {
        let (cx, _) = on_fake(&[(name, start)]);
        let output = call(&cx, "file_read", json!({"path": name})).await.unwrap();
        assert_eq!(output.result.text, format!("{name} is an image ({expected}, {} bytes).", start.len()));
        assert!(
            matches!(&output.result.images[..], [Content::Image { mime_type, data }] if mime_type == expected && !data.is_empty()),
            "{name}"
        );
    }
    for (start, expected) in [
        (
            &b"%PDF-1.7\n\0"[..],
            "! f is a PDF document of 10 bytes, which is not text. Get its text with bash (`pdftotext f -`), if that is installed.",
        ),
        (
            b"PK\x03\x04\0",
            "! f is a ZIP archive (or an office document) of 5 bytes, which is not text. List it with bash (`unzip -l f`).",
        ),
        (b"RIFF\0\0\0\0WAVE", "! f is not readable as text: 12 bytes of binary data"),
    ] {
        let (cx, _) = on_fake(&[("f", start)]);
        let said = text(&cx, "file_read", json!({"path": "f"})).await;
        assert!(said.starts_with(expected), "{said}");
    }
    let mut large = vec![0; 3_750_001];
    large[..3].copy_from_slice(b"\xff\xd8\xff");
    let (cx, _) = on_fake(&[("f", &large)]);
    let said = text(&cx, "file_read", json!({"path": "f"})).await;
    assert!(
        said.starts_with("! f is an image that cannot be read: it is larger than 3750000 bytes."),
        "{said}"
    );
}

#[tokio::test]
async fn an_edit_creates_a_file_and_a_list_is_made_whole_or_not_at_all() {
    let edits = |edits: Value| json!({"path": "a", "edits": edits});
    check(
        &[("a", "one\ntwo\nthree\n"), ("empty", "")],
        &[
            ("file_edit", json!({"path": "new/n", "old_string": "", "new_string": "a\nb\n"}), "Created new/n (2 lines)"),
            ("file_edit", json!({"path": "empty", "old_string": "", "new_string": "a\n"}), "Edited empty (-0, +1 lines)"),
            (
                "file_edit",
                edits(json!([{"old_string": "one", "new_string": "1"}, {"old_string": "1\ntwo", "new_string": "1\n2"}])),
                "Edited a (-2, +2 lines)",
            ),
            (
                "file_edit",
                edits(json!([{"old_string": "three", "new_string": "3"}, {"old_string": "zzz", "new_string": "x"}])),
                "! Edit 2 of 2: old_string not found in a. Make sure it matches exactly including whitespace.\nNone of the edits was made.",
            ),
            ("file_edit", edits(json!("[{\"old_string\": \"three\", \"new_string\": \"3\"}]")), "Edited a (-1, +1 lines)"),
            ("file_read", json!({"path": "a"}), "1\t1\n2\t2\n3\t3"),
            (
                "file_edit",
                json!({"path": "a", "old_string": "1", "new_string": "x", "edits": [{"old_string": "2", "new_string": "y"}]}),
                "! Invalid arguments for 'file_edit': give either `edits` or `old_string` and `new_string`, not both",
            ),
            (
                "file_edit",
                edits(json!([{"old_string": "1", "new_string": "x", "line": 1}])),
                "! Invalid arguments for 'file_edit': unknown field `line`, expected one of `old_string`, `new_string`, `replace_all`",
            ),
        ]
        .map(|(name, arguments, expected)| (name, arguments, expected)),
    )
    .await;
}

#[tokio::test]
async fn a_faulty_form_is_read_and_said() {
    check(
        &[("a", "fn a() {\n    b('x');\n}\n"), ("b", "fn a() {\n\tb();\n}\n")],
        &[
            (
                "file_edit",
                json!({"path": "a", "old_string": "2\t    b(‘x’);", "new_string": "2\t    c(‘x’);"}),
                "Edited a (-1, +1 lines)\n(old_string matched after removing the printed line numbers, treating look-alike characters (quotes, dashes, blanks) as equal; new_string was treated the same way. Check the result if that matters.)",
            ),
            (
                "apply_patch",
                json!({"input": "```diff\n--- a/b\n+++ b/b\n@@ -9,9 +9,1 @@\n fn a() {\n-    b();\n+    c();\n }\n```"}),
                "Patch applied: updated 1 file(s)\nupdated: b\n(hunk 1 of b matched after adapting the indentation to the file's; its new lines were treated the same way.)",
            ),
            ("file_read", json!({"path": "a"}), "1\tfn a() {\n2\t    c('x');\n3\t}"),
            ("file_read", json!({"path": "b"}), "1\tfn a() {\n2\t\tc();\n3\t}"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_text_that_leaves_lines_out_replaces_nothing() {
    check(
        &[("a", "one\ntwo\n")],
        &[
            ("file_read", json!({"path": "a"}), "1\tone\n2\ttwo"),
            (
                "file_write",
                json!({"path": "a", "content": "1\n// ... rest of the file unchanged\n"}),
                "! content has the line `// ... rest of the file unchanged`, which stands for lines that are left out: a would lose them. Nothing was written. \
                 Give the whole text, or change only a part with file_edit.",
            ),
            ("file_write", json!({"path": "new", "content": "// ... rest of the file\n"}), "Wrote 1 lines to new"),
        ],
    )
    .await;
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
            ("file_edit", json!({"path": "a.txt", "old_string": "", "new_string": "x"}), "! old_string is empty, but a.txt exists and is not empty; nothing was changed. Give the text to replace as old_string: to add lines, a line that is in the file, and as new_string the same line with the new ones. To replace the whole file use file_write."),
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
        "Edited f (-1, +1 lines)\nThe editor changed the text when it wrote it (formatting on save, for example):\n@@ -1,1 +1,1 @@\n-x=1\n+x = 1"
    );
    let diff = Diff { path: path("f"), old_text: Some("a\n".into()), new_text: Some("x = 1\n".into()) };
    assert_eq!(output.shown, Some(vec![ToolContent::Diff(diff)]));
    // The model now knows the editor's version of the text.
    text(&cx, "file_write", json!({"path": "g", "content": "x=1"})).await;
    assert_eq!(text(&cx, "file_write", json!({"path": "g", "content": "y"})).await, "Wrote 1 lines to g");
}

#[tokio::test]
async fn only_what_was_approved_is_written() {
    for (tool, arguments) in [
        ("file_write", json!({"path": "f", "content": "mine\n"})),
        ("file_edit", json!({"path": "f", "old_string": "old", "new_string": "mine"})),
    ] {
        let system = Memory::default();
        system.disk("f", "old\n");
        let (mut cx, _) = context(&system);
        cx.call.asked = true;
        text(&cx, "file_read", json!({"path": "f"})).await;
        let tools = crate::tools::builtin();
        let mut call = tools.iter().find(|one| one.spec().name == tool).unwrap().parse(arguments).unwrap();
        call.prepare(&cx).await.unwrap();
        system.disk("f", "old\ntheirs\n");
        let refused = "f changed while the user's approval was pending; nothing was written.";
        match call.run(&cx).await {
            // The approved lines are replaced, wherever they are now.
            Ok(done) if tool == "file_edit" => {
                assert!(done.result.text.contains("had changed since"), "{}", done.result.text);
                assert_eq!(system.seen("f").as_deref(), Some("mine\ntheirs\n"));
            }
            Ok(done) => panic!("{tool}: {}", done.result.text),
            Err(error) => {
                let error = error.to_string();
                assert!(error.starts_with(refused) && error.contains("+theirs"), "{error}");
                assert_eq!(tool, "file_write");
                assert_eq!(system.seen("f").as_deref(), Some("old\ntheirs\n"));
            }
        }
    }
}
