//! Patches over several files: all or nothing.

use super::*;
use crate::tools::testing::{ROUTES, call};
use serde_json::Value;

fn patch(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")})
}

/// Checks the result of a patch on every route: the text, and the files as the user sees them.
async fn check(body: &str, expected: &str, after: &[(&str, Option<&str>)]) {
    for (route, read, write) in ROUTES {
        let system = Memory::default();
        system.route(read, write);
        system.disk("a", "one\ntwo\n").disk("b", "x\r\ny\r\n").disk("sub/c", "c");
        let (cx, _) = context(&system);
        assert_eq!(text(&cx, "apply_patch", patch(body)).await, expected, "{route}");
        for (file, text) in after {
            assert_eq!(system.seen(file).as_deref(), *text, "{route}: {file}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changes_several_files() {
    check(
        "*** Add File: new/n\n+n\n*** Update File: a\n@@\n-one\n+1\n*** Update File: b\n*** Move to: moved/b\n@@\n x\n-y\n+z\n*** Delete File: sub/c",
        "Patch applied: added 1 file(s), updated 1 file(s), moved 1 file(s), deleted 1 file(s)\nadded: new/n\nupdated: a\nmoved: b -> moved/b\ndeleted: sub/c",
        &[("new/n", Some("n\n")), ("a", Some("1\ntwo\n")), ("b", None), ("moved/b", Some("x\r\nz\r\n")), ("sub/c", None)],
    )
    .await;
    check(
        "*** Update File: a\n@@\n-one\n+1\n*** Update File: a\n@@\n-two\n+2\n*** Update File: b\n*** Move to: d\n*** Add File: b\n+new b",
        "Patch applied: added 1 file(s), updated 2 file(s), moved 1 file(s)\nadded: b\nupdated: a, a\nmoved: b -> d",
        &[("a", Some("1\n2\n")), ("b", Some("new b\n")), ("d", Some("x\r\ny\r\n"))],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_update_falls_back_to_the_path_without_gits_prefix() {
    check(
        "*** Update File: b/a\n@@\n-one\n+1\n*** Update File: a/sub/c\n*** Move to: b/sub/d\n@@\n-c\n+d",
        "Patch applied: updated 1 file(s), moved 1 file(s)\nupdated: a\nmoved: sub/c -> sub/d",
        &[("a", Some("1\ntwo\n")), ("b/a", None), ("sub/c", None), ("sub/d", Some("d"))],
    )
    .await;
    // A file at the path as given takes precedence.
    let system = Memory::default();
    system.disk("a", "one\n").disk("b/a", "one\n");
    let (cx, _) = context(&system);
    let result = text(&cx, "apply_patch", patch("*** Update File: b/a\n@@\n-one\n+1")).await;
    assert_eq!(result, "Patch applied: updated 1 file(s)\nupdated: b/a");
    assert_eq!(system.seen("a").as_deref(), Some("one\n"));
    // A file that the patch itself removed is not looked for elsewhere.
    let body = "*** Delete File: b/a\n*** Update File: b/a\n@@\n-one\n+1";
    assert!(text(&cx, "apply_patch", patch(body)).await.starts_with("! File not found: b/a"));
    let tool = crate::tools::builtin().into_iter().find(|tool| tool.name() == "apply_patch").unwrap();
    let call = tool.parse(patch("*** Update File: b/a\n@@\n-one\n+1")).unwrap();
    let paths: Vec<_> = call.accesses(&cx.cwd).into_iter().map(|access| format!("{access:?}")).collect();
    assert_eq!(paths.len(), 2, "permission covers both files: {paths:?}");
}

#[tokio::test]
async fn a_patch_that_fails_changes_nothing() {
    let untouched =
        [("a", Some("one\ntwo\n")), ("b", Some("x\r\ny\r\n")), ("sub/c", Some("c")), ("new", None)];
    let good = "*** Add File: new\n+n\n*** Update File: a\n@@\n-one\n+1\n";
    for (bad, expected) in [
        ("*** Delete File: zz", "! File not found: zz"),
        ("*** Add File: b\n+x", "! Patch not applied: b exists already; use '*** Update File: b'"),
        (
            "*** Update File: b\n*** Move to: sub/c",
            "! Patch not applied: sub/c exists already; b cannot be moved there",
        ),
        (
            "*** Update File: b\n@@\n-yy\n+z",
            "! Patch not applied: hunk 1 of b does not match. These lines were not found, as a block:\nyy",
        ),
        ("*** Update File: sub\n@@\n-yy\n+z", "! sub is a directory."),
    ] {
        check(&format!("{good}{bad}"), expected, &untouched).await;
    }
    check(
        "",
        "! Patch names no file. Begin each file's part with '*** Add File: ', '*** Update File: ' or '*** Delete File: '.",
        &untouched,
    )
    .await;
    let (cx, _) = context(&Memory::default());
    assert_eq!(text(&cx, "apply_patch", json!({"patch": " "})).await, "! Patch cannot be empty.");
}

#[tokio::test]
async fn declares_every_path_and_nothing_when_it_cannot_be_read() {
    let tool = crate::tools::builtin().into_iter().find(|tool| tool.spec().name == "apply_patch").unwrap();
    let body = "*** Add File: n\n+n\n*** Update File: b\n*** Move to: /elsewhere/b\n*** Delete File: c";
    let call = tool.parse(patch(body)).unwrap();
    let expected = ["n", "b", "/elsewhere/b", "c"].map(|file| crate::Access::Write(path(file)));
    assert_eq!(call.accesses(&path("")), expected);
    assert_eq!(call.describe(&path("")).title, "Edit n, b, /elsewhere/b, c");
    let bad = tool.parse(json!({"patch": "nonsense"})).unwrap();
    assert_eq!(bad.accesses(&path("")), crate::tools::args::touches_nothing("apply_patch"));
    assert_eq!(bad.describe(&path("")).title, "Edit files");
}

#[tokio::test]
async fn says_how_far_it_got() {
    let system = Memory::default();
    system.disk("a", "one\n").disk("b", "x\n");
    system.world().unwritable.push(path("b"));
    let (cx, _) = context(&system);
    let body = "*** Update File: a\n@@\n-one\n+1\n*** Update File: b\n@@\n-x\n+y";
    assert_eq!(
        text(&cx, "apply_patch", patch(body)).await,
        "! Patch failed at b: write is not allowed here: this session is read-only. Changed before it: a."
    );
}

#[tokio::test]
async fn a_file_that_changed_is_patched_as_it_is_but_not_deleted() {
    let system = Memory::default();
    system.disk("a", "one\n").disk("b", "x\n");
    let (mut cx, _) = context(&system);
    for file in ["a", "b"] {
        text(&cx, "file_read", json!({"path": file})).await;
        system.disk(file, if file == "a" { "one\ntheirs\n" } else { "x\ntheirs\n" });
    }
    let refused = text(&cx, "apply_patch", patch("*** Delete File: b")).await;
    assert_eq!(
        refused,
        "! Patch not applied: b has changed since you last read it; read it again before you delete it"
    );
    let said = text(&cx, "apply_patch", patch("*** Update File: a\n@@\n-one\n+1")).await;
    assert!(said.contains("\nChanged since you last read them, and patched as they are now: a."), "{said}");
    assert_eq!(system.seen("a").as_deref(), Some("1\ntheirs\n"));

    // The user is asked, and the source of a move changes meanwhile: it is not moved.
    cx.call.asked = true;
    let tool = crate::tools::builtin().into_iter().find(|tool| tool.spec().name == "apply_patch").unwrap();
    let mut moving = tool.parse(patch("*** Update File: a\n*** Move to: c")).unwrap();
    assert_eq!(moving.prepare(&cx).await.unwrap().len(), 2);
    system.disk("a", "later\n");
    assert!(
        moving
            .run(&cx)
            .await
            .unwrap_err()
            .to_string()
            .starts_with("a changed while the user's approval was pending")
    );
    assert!(call(&cx, "apply_patch", patch("*** Update File: a\n*** Move to: c")).await.is_ok());
    assert_eq!((system.seen("a"), system.seen("c").as_deref()), (None, Some("later\n")));
}
