//! Searching by path and by content, over the disk and the editor's buffers.

use super::*;
use crate::tools::testing::ROUTES;
use serde_json::Value;
use system::Route;

/// The same files on disk must give the same texts on every route.
async fn check(files: &[(&str, &str)], calls: &[(&str, Value, &str)]) {
    for (route, read, write) in ROUTES {
        let system = Memory::default();
        system.route(read, write);
        for (file, text) in files {
            system.disk(file, text);
        }
        let (cx, _) = context(&system);
        // A file that the session has seen is the editor's; it must not matter.
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
    assert!(bad.starts_with("! Invalid regular expression '(':") && bad.contains("unclosed group"), "{bad}");
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
    assert!(files.ends_with("many/199\n... 50 more files (use a narrower pattern)"), "{files}");
    let lines = text(&cx, "grep", json!({"pattern": "hit", "path": "many"})).await;
    assert!(
        lines.ends_with(
            "many/099:1:hit\n(only the first 100 lines are shown; use a narrower pattern, path or glob)"
        ),
        "{lines}"
    );
    let lines = text(&cx, "grep", json!({"pattern": "hit", "path": "one"})).await;
    assert!(lines.ends_with("one:50:hit\n(only the first 50 lines of each are shown: one)"), "{lines}");
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
    // A buffer that was closed without being saved is gone.
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
