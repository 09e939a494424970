//! Searches by path and by content, over the disk and the editor's buffers.

use super::*;
use crate::tools::testing::ROUTES;
use serde_json::Value;
use system::Route;

/// Checks that the same files on disk give the same texts on every route.
async fn check(files: &[(&str, &str)], calls: &[(&str, Value, &str)]) {
    for (route, read, write) in ROUTES {
        let system = Memory::default();
        system.route(read, write);
        for (file, text) in files {
            system.disk(file, text);
        }
        let (cx, _) = context(&system);
        // A file that the session has seen is read from the editor, which must not make a
        // difference.
        text(&cx, "file_read", json!({"path": files[0].0})).await;
        for (name, arguments, expected) in calls {
            assert_eq!(text(&cx, name, arguments.clone()).await, *expected, "{route}: {name} {arguments}");
        }
    }
}

#[tokio::test]
async fn finds_files_and_lines() {
    let long = format!("wide {}\n", "ü".repeat(600));
    let cut = format!("wide.txt:1:wide {}...", "ü".repeat(495));
    check(
        &[
            ("src/a.rs", "fn a() {}\r\n// TODO\r\n"),
            ("src/b.rs", "fn b() {}\nTODO"),
            ("README.md", "\u{feff}TODO top\n"),
            (".hidden/x.rs", "TODO"),
            ("node_modules/y.rs", "TODO"),
            ("bin", "TODO\0"),
            ("wide.txt", &long),
            ("/outside/z", "TODO"),
        ],
        &[
            ("glob", json!({"pattern": "*.rs"}), "src/a.rs\nsrc/b.rs"),
            ("glob", json!({"pattern": "*.rs", "path": "src"}), "src/a.rs\nsrc/b.rs"),
            ("glob", json!({"pattern": "/w/src/a*", "path": ""}), "src/a.rs"),
            ("glob", json!({"pattern": "a.rs", "path": "src/a.rs"}), "src/a.rs"),
            ("glob", json!({"pattern": ".hidden/**"}), ".hidden/x.rs"),
            ("glob", json!({"pattern": "/outside/*"}), "/outside/z"),
            ("glob", json!({"pattern": "*.py", "path": "src"}), "No files matching '*.py' in src"),
            ("glob", json!({"pattern": "*.py"}), "No files matching '*.py' in ."),
            ("glob", json!({"pattern": "*", "path": "none"}), "! Path not found: none"),
            (
                "grep",
                json!({"pattern": "x", "path": "file://elsewhere/x"}),
                "! Invalid arguments for 'grep': not a file URI of this machine: file://elsewhere/x",
            ),
            ("glob", json!({"pattern": "a["}), "! Invalid glob 'a[': unclosed character class; missing ']'"),
            ("grep", json!({"pattern": "TODO$"}), "src/a.rs:2:// TODO\nsrc/b.rs:2:TODO"),
            ("grep", json!({"pattern": "todo"}), "No matches found for 'todo'"),
            ("grep", json!({"pattern": "(?i)^todo"}), "README.md:1:TODO top\nsrc/b.rs:2:TODO"),
            ("grep", json!({"pattern": "TODO", "glob": "*.md"}), "README.md:1:TODO top"),
            ("grep", json!({"pattern": "TODO", "path": "src", "glob": "!a*"}), "src/b.rs:2:TODO"),
            ("grep", json!({"pattern": "TODO", "path": "src/b.rs"}), "src/b.rs:2:TODO"),
            ("grep", json!({"pattern": "wide"}), &cut),
            ("grep", json!({"pattern": ""}), "! pattern cannot be empty."),
        ],
    )
    .await;
    let (cx, _) = context(&Memory::default());
    let bad = text(&cx, "grep", json!({"pattern": "("})).await;
    let expected = "No matches found for '('\n('(' is not a valid regular expression (unclosed group): searched as plain text)";
    assert_eq!(bad, expected);
}

#[tokio::test]
async fn keeps_to_the_limits() {
    let system = Memory::default();
    for file in 0..250 {
        system.disk(&format!("many/{file:03}"), "hit\n");
    }
    system.disk("one", &"hit\n".repeat(60)).disk("fifty", &"hit\n".repeat(50));
    let (cx, _) = context(&system);
    let files = text(&cx, "glob", json!({"pattern": "many/*"})).await;
    assert!(files.ends_with("many/199\n... 50 more files; pass offset 200 or a narrower pattern"), "{files}");
    let lines = text(&cx, "grep", json!({"pattern": "hit", "path": "many"})).await;
    assert!(
        lines.ends_with(
            "many/099:1:hit\n... 150 more matches; pass offset 100 or a narrower pattern, path or glob"
        ),
        "{lines}"
    );
    let lines = text(&cx, "grep", json!({"pattern": "hit", "path": "one"})).await;
    assert!(lines.ends_with("one:60:hit"), "{lines}");
    let lines = text(&cx, "grep", json!({"pattern": "hit", "glob": "{one,fifty}"})).await;
    let note = "one:50:hit\n(only the first 50 matches of each are shown: one; pass limit or path for more)";
    assert!(lines.ends_with(note), "{lines}");
    let lines = text(&cx, "grep", json!({"pattern": "hit", "path": "fifty"})).await;
    assert!(lines.ends_with("fifty:50:hit"), "{lines}");
}

#[tokio::test]
async fn sees_what_the_editor_holds() {
    let system = Memory::default();
    system.route(Route::Client, Route::Client);
    system.disk("open", "saved\n").disk("closed", "saved\n").buffer("open", "unsaved needle\n");
    let (cx, _) = context(&system);
    assert_eq!(
        text(&cx, "grep", json!({"pattern": "needle"})).await,
        "No matches found for 'needle'",
        "not seen yet"
    );
    text(&cx, "file_read", json!({"path": "open"})).await;
    text(&cx, "file_write", json!({"path": "sub/new", "content": "a needle too\n"})).await;
    let expected = "open:1:unsaved needle\nsub/new:1:a needle too";
    assert_eq!(text(&cx, "grep", json!({"pattern": "needle"})).await, expected);
    assert_eq!(text(&cx, "grep", json!({"pattern": "saved$"})).await, "closed:1:saved");
    assert_eq!(text(&cx, "glob", json!({"pattern": "**/*"})).await, "closed\nopen\nsub/new");
    assert_eq!(text(&cx, "glob", json!({"pattern": "*", "path": "sub"})).await, "sub/new");
    assert_eq!(
        text(&cx, "grep", json!({"pattern": "needle", "path": "sub/new"})).await,
        "sub/new:1:a needle too"
    );
    // A buffer that was closed without being saved no longer exists.
    system.world().buffers.remove(&path("sub/new"));
    assert_eq!(text(&cx, "glob", json!({"pattern": "**/*"})).await, "closed\nopen");
}

#[tokio::test]
async fn stops_when_the_turn_does() {
    let system = Memory::default();
    system.disk("a", "x");
    let (cx, _) = context(&system);
    cx.cancel.cancel();
    for (name, arguments) in [
        ("grep", json!({"pattern": "x"})),
        ("glob", json!({"pattern": "*"})),
        ("file_read", json!({"path": "a"})),
    ] {
        assert_eq!(text(&cx, name, arguments).await, "! cancelled", "{name}");
    }
}

#[tokio::test]
async fn what_a_pattern_evidently_means_is_searched_and_said() {
    let system = Memory::default();
    system
        .disk("a.rs", "fn main() {\n    foo();\n}\n")
        .disk("b.rs", "bar\nfoo\\|bar\n")
        .disk("d.c", "arr[0] = 1;\n");
    let (cx, _) = context(&system);
    for (pattern, path, expected) in [
        // Read as a basic regular expression if the literal reading finds nothing.
        (
            r"foo\|baz",
            "a.rs",
            "a.rs:2:    foo();\n('foo\\|baz' read as 'foo|baz': | ( ) + ? are special without a backslash here)",
        ),
        (r"foo\\\|bar", "b.rs", "b.rs:2:foo\\|bar"),
        (
            r"\(foo\|main\)",
            "a.rs",
            "a.rs:1:fn main() {\na.rs:2:    foo();\n('\\(foo\\|main\\)' read as '(foo|main)': | ( ) + ? are special without a backslash here)",
        ),
        (
            r"none\|nothing",
            "a.rs",
            "No matches found for 'none\\|nothing'\n('none\\|nothing' read as 'none|nothing': | ( ) + ? are special without a backslash here)",
        ),
        // An invalid regular expression is read as plain text.
        (
            "arr[0]",
            "d.c",
            "d.c:1:arr[0] = 1;\n(nothing matches 'arr[0]' as a regular expression: searched as plain text)",
        ),
        ("arr[5]", "d.c", "No matches found for 'arr[5]'"),
        (
            "main() {",
            "a.rs",
            "a.rs:1:fn main() {\n('main() {' is not a valid regular expression (repetition quantifier expects a valid decimal): searched as plain text)",
        ),
        (
            "fn main(",
            "a.rs",
            "a.rs:1:fn main() {\n('fn main(' is not a valid regular expression (unclosed group): searched as plain text)",
        ),
        // Look-around is removed.
        (
            r"foo(?!bar)",
            "a.rs",
            "a.rs:2:    foo();\n(look-around is not supported: searched without (?!bar), so some lines are shown that it would exclude)",
        ),
        (r"main\(\) \{\n +foo", "a.rs", "a.rs:1:fn main() {\na.rs-2-    foo();"),
    ] {
        let found = text(&cx, "grep", json!({"pattern": pattern, "path": path})).await;
        assert_eq!(found, expected, "{pattern}");
    }
}

#[tokio::test]
async fn shows_lines_around_matches_files_and_counts() {
    let system = Memory::default();
    system.disk("a", "1\n2\nhit\n4\n5\n6\n7\nhit\n9\n").disk("b.py", "Hit\n").disk("c", "none\n");
    let (cx, _) = context(&system);
    for (arguments, expected) in [
        (json!({"pattern": "hit", "context": 1}), "a-2-2\na:3:hit\na-4-4\n--\na-7-7\na:8:hit\na-9-9"),
        (json!({"pattern": "hit", "-A": 1, "path": "a"}), "a:3:hit\na-4-4\n--\na:8:hit\na-9-9"),
        (json!({"pattern": "hit", "before": "1", "path": "a"}), "a-2-2\na:3:hit\n--\na-7-7\na:8:hit"),
        (json!({"pattern": "hit", "-i": true, "output_mode": "files_with_matches"}), "a\nb.py"),
        (json!({"pattern": "hit", "ignore_case": "true", "mode": "count"}), "a:2\nb.py:1"),
        (json!({"pattern": "hit", "ignore_case": true, "include": "*.py"}), "b.py:1:Hit"),
        (json!({"pattern": "hit", "ignore_case": true, "type": "python"}), "b.py:1:Hit"),
        (json!({"pattern": "4.5", "multiline": true}), "a:4:4\na-5-5"),
        (
            json!({"pattern": "hit", "limit": 1}),
            "a:3:hit\n... 1 more matches; pass offset 1 or a narrower pattern, path or glob",
        ),
        (json!({"pattern": "hit", "limit": 1, "offset": 1}), "a:8:hit"),
        (json!({"pattern": "hit", "limit": 1, "offset": 1, "context": 1}), "a-7-7\na:8:hit\na-9-9"),
        (json!({"pattern": "hit", "offset": 5}), "No more than 2 matches for 'hit'; pass a smaller offset"),
    ] {
        assert_eq!(text(&cx, "grep", arguments.clone()).await, expected, "{arguments}");
    }
    let all = text(&cx, "glob", json!({"pattern": "*", "limit": 2, "offset": 1})).await;
    assert_eq!(all, "b.py\nc");
    let first = text(&cx, "glob", json!({"pattern": "{a,c}", "limit": 1})).await;
    assert_eq!(first, "a\n... 1 more files; pass offset 1 or a narrower pattern");
}
