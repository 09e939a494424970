//! No lost edits: every state of buffer, disk and routes, for both ways to change a file.

use super::*;
use crate::tools::testing::ROUTES;
use system::Route;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Buffer {
    Absent,
    Clean,
    Dirty,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Since {
    Same,
    Changed,
    Deleted,
}

/// What somebody else wrote, where the model has not looked since.
const THEIRS: &str = "theirs";

#[tokio::test]
async fn nothing_is_overwritten_silently() {
    let mut rows = 0;
    for (route, read, write) in ROUTES {
        for buffer in [Buffer::Absent, Buffer::Clean, Buffer::Dirty] {
            for since in [Since::Same, Since::Changed, Since::Deleted] {
                for seen in [true, false] {
                    for tool in ["file_edit", "file_write"] {
                        row(
                            &format!("{route} {buffer:?} {since:?} seen={seen} {tool}"),
                            (read, write),
                            buffer,
                            since,
                            seen,
                            tool,
                        )
                        .await;
                        rows += 1;
                    }
                }
            }
        }
    }
    assert_eq!(rows, 4 * 3 * 3 * 2 * 2);
}

async fn row(
    name: &str,
    (read, write): (Route, Route),
    buffer: Buffer,
    since: Since,
    seen: bool,
    tool: &str,
) {
    let system = Memory::default();
    system.route(read, write);
    system.disk("f", "old\n");
    match buffer {
        Buffer::Absent => {}
        Buffer::Clean => drop(system.buffer("f", "old\n")),
        Buffer::Dirty => drop(system.buffer("f", "old\ndirty\n")),
    }
    let (cx, _) = context(&system);
    if seen {
        text(&cx, "file_read", json!({"path": "f"})).await;
    }
    match since {
        Since::Same => {}
        Since::Changed => {
            // The user types where the user is: in the buffer if the file is open, else the disk changes.
            match buffer {
                Buffer::Absent => system.disk("f", &format!("old\n{THEIRS}\n")),
                _ => system.buffer("f", &format!("old\n{THEIRS}\n")),
            };
        }
        Since::Deleted => {
            system.world().disk.clear();
            system.world().buffers.clear();
        }
    }
    let held = system.seen("f");
    let arguments = match tool {
        "file_edit" => json!({"path": "f", "old_string": "old", "new_string": "new"}),
        _ => json!({"path": "f", "content": "new\n"}),
    };
    let said = text(&cx, tool, arguments).await;
    let done = !said.starts_with("! ");
    if done && write == Route::Local {
        // The editor reloads a file that changed on disk.
        system.world().buffers.clear();
    }
    let now = system.seen("f");
    if !done {
        assert_eq!(now, held, "{name}: refused, and yet it changed: {said}");
    }
    // A buffer that cannot be read is out of reach: there, what counts is the disk.
    let reachable = read == Route::Client || buffer == Buffer::Absent;
    let dirty = buffer == Buffer::Dirty && since == Since::Same;
    match (tool, since) {
        ("file_edit", Since::Deleted) => assert_eq!(said, "! File not found: f", "{name}"),
        ("file_write", Since::Deleted) => assert_eq!(said, "Wrote 1 lines to f", "{name}"),
        _ if !reachable => {
            let on_disk = system.world().disk.get(&path("f")).cloned().unwrap();
            assert!(done || on_disk == b"old\n", "{name}: {said}");
        }
        _ if (read, write) == (Route::Client, Route::Local)
            && (dirty || (since == Since::Changed && buffer != Buffer::Absent)) =>
        {
            assert!(
                said.starts_with("! The editor holds unsaved changes of f and cannot take writes"),
                "{name}: {said}"
            );
        }
        ("file_edit", Since::Changed) if seen && (read, write) == (Route::Local, Route::Client) => {
            assert!(said.starts_with("! f on disk is not what you last read or wrote"), "{name}: {said}");
        }
        ("file_edit", _) => {
            assert!(said.starts_with("Edited f (-1, +1 lines)"), "{name}: {said}");
            assert_eq!(said.contains("had changed since"), seen && since == Since::Changed, "{name}: {said}");
            assert_eq!(now, held.map(|held| held.replace("old", "new")), "{name}: everything else is kept");
        }
        ("file_write", _) if !seen => {
            assert!(said.starts_with("! f exists, and you have not read it."), "{name}: {said}")
        }
        ("file_write", Since::Changed) => {
            assert!(said.starts_with("! f has changed since you last read it."), "{name}: {said}")
        }
        _ => assert_eq!(said, "Wrote 1 lines to f", "{name}"),
    }
}

#[tokio::test]
async fn a_write_that_the_editor_has_not_saved_is_not_edited_away() {
    let system = Memory::default();
    system.route(Route::Local, Route::Client);
    system.disk("f", "one\ntwo\n");
    let (cx, _) = context(&system);
    text(&cx, "file_read", json!({"path": "f"})).await;
    text(&cx, "file_edit", json!({"path": "f", "old_string": "one", "new_string": "1"})).await;
    let refused = text(&cx, "file_edit", json!({"path": "f", "old_string": "two", "new_string": "2"})).await;
    assert!(refused.starts_with("! f on disk is not what you last read or wrote"), "{refused}");
    assert_eq!(system.seen("f").as_deref(), Some("1\ntwo\n"));
}

#[tokio::test]
async fn a_file_on_disk_that_the_editor_does_not_know_is_not_taken_for_new() {
    // Reads go to the client first; its "not found" is checked against the disk before anything is overwritten.
    let system = Memory::default();
    system.route(Route::Client, Route::Client);
    system.disk("f", "old\n");
    let (cx, _) = context(&system);
    let refused = text(&cx, "file_write", json!({"path": "f", "content": "x"})).await;
    assert!(refused.starts_with("! f exists, and you have not read it."), "{refused}");
}
