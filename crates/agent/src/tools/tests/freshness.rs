//! No edits are lost: every combination of buffer, disk and routes, for each way to change a file.

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

/// A text that another program wrote since the model's last read.
const THEIRS: &str = "theirs";

#[tokio::test(start_paused = true)]
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
            // The user edits the buffer if the file is open; otherwise the disk changes.
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
    // A buffer that cannot be read is out of reach, so only the disk counts.
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

/// An event that happened to the file since the model read it, or before the model did anything.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    Nothing,
    /// A command of the session changed the disk; the editor has not reloaded the file.
    Command,
    /// Another program changed the disk; the editor has not reloaded the file.
    Others,
    /// The file was removed from the disk; the editor still shows it if it was open.
    Gone,
}

/// The ways to change a file.
const WAYS: [(&str, &str); 7] = [
    ("edit", "file_edit"),
    ("append by edit", "file_edit"),
    ("write", "file_write"),
    ("patch", "apply_patch"),
    ("append by patch", "apply_patch"),
    ("add by patch", "apply_patch"),
    ("delete by patch", "apply_patch"),
];

fn arguments(way: &str) -> serde_json::Value {
    let patch = |body: &str| json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")});
    match way {
        "edit" => json!({"path": "f", "old_string": "old", "new_string": "new"}),
        "append by edit" => json!({"path": "f", "old_string": "old\n", "new_string": "old\nmore\n"}),
        "write" => json!({"path": "f", "content": "new\n"}),
        "patch" => patch("*** Update File: f\n@@\n-old\n+new"),
        "append by patch" => patch("*** Update File: f\n@@\n old\n+more"),
        "add by patch" => patch("*** Add File: f\n+new"),
        _ => patch("*** Delete File: f"),
    }
}

/// Buffer × event × capabilities × way × seen before: another author's text is never lost without a
/// notice to the model first.
#[tokio::test(start_paused = true)]
async fn no_way_of_changing_a_file_loses_anything_silently() {
    let mut rows = 0;
    for (route, read, write) in ROUTES {
        for buffer in [Buffer::Absent, Buffer::Clean, Buffer::Dirty] {
            for event in [Event::Nothing, Event::Command, Event::Others, Event::Gone] {
                for seen in [true, false] {
                    for (way, tool) in WAYS {
                        let name = format!("{route} {buffer:?} {event:?} seen={seen} {way}");
                        way_row(&name, (read, write), buffer, event, seen, way, tool).await;
                        rows += 1;
                    }
                }
            }
        }
    }
    assert_eq!(rows, 4 * 3 * 4 * 2 * 7);
}

async fn way_row(
    name: &str,
    (read, write): (Route, Route),
    buffer: Buffer,
    event: Event,
    seen: bool,
    way: &str,
    tool: &str,
) {
    let system = Memory::default();
    system.route(read, write);
    system.disk("f", "old\n");
    match buffer {
        Buffer::Absent => {}
        Buffer::Clean => drop(system.buffer("f", "old\n")),
        Buffer::Dirty => drop(system.buffer("f", "old\nunsaved\n")),
    }
    let (cx, _) = context(&system);
    if seen {
        text(&cx, "file_read", json!({"path": "f"})).await;
    }
    match event {
        Event::Nothing => {}
        Event::Command => {
            system.world().scripts.push_back(crate::tools::testing::Script::default());
            text(&cx, "bash", json!({"command": "echo theirs >> f"})).await;
            system.disk("f", &format!("old\n{THEIRS}\n"));
        }
        Event::Others => drop(system.disk("f", &format!("old\n{THEIRS}\n"))),
        Event::Gone => drop(system.world().disk.remove(&path("f"))),
    }
    let (disk, held) = (disk_of(&system), buffer_of(&system));
    let said = text(&cx, tool, arguments(way)).await;
    if said.starts_with("! ") {
        assert_eq!(
            (disk_of(&system), buffer_of(&system)),
            (disk, held),
            "{name}: refused, and yet it changed: {said}"
        );
        return;
    }
    // The content after the editor saves: its text, if it took this one or still holds its own.
    let left = buffer_of(&system)
        .filter(|_| write == Route::Client)
        .or_else(|| disk_of(&system))
        .unwrap_or_default();
    let warned = said.contains("differs from the file on disk")
        || said.contains("had changed since")
        || said.contains("Changed since");
    // A buffer that cannot be read is out of reach, and a model that never read the file deletes it
    // as it is.
    let reads = read == Route::Client;
    let deleted = way == "delete by patch";
    let theirs = disk.as_deref().is_some_and(|text| text.contains(THEIRS));
    if theirs && (seen || !deleted) {
        assert!(left.contains(THEIRS) || warned, "{name}: lost what is on disk: {said}");
    }
    if reads && held.as_deref().is_some_and(|text| text.contains("unsaved")) {
        let known = seen || warned;
        assert!(left.contains("unsaved") || known, "{name}: lost what was unsaved: {said}");
        let kept = buffer_of(&system).is_some_and(|text| text.contains("unsaved"));
        assert!(
            kept || left.contains("unsaved") || ["write", "delete by patch"].contains(&way),
            "{name}: {said}"
        );
    }
}

fn disk_of(system: &Memory) -> Option<String> {
    system.world().disk.get(&path("f")).map(|bytes| String::from_utf8(bytes.clone()).unwrap())
}

fn buffer_of(system: &Memory) -> Option<String> {
    system.world().buffers.get(&path("f")).cloned()
}

/// A command changed a file and the editor still shows the old text: the file on disk counts.
#[tokio::test]
async fn a_command_that_changed_a_file_behind_the_editor_is_not_undone() {
    let system = Memory::default();
    system.route(Route::Client, Route::Client);
    system.disk("f", "old\n").buffer("f", "old\n");
    let (cx, _) = context(&system);
    text(&cx, "file_read", json!({"path": "f"})).await;
    system.disk("f", "old\nby a command\n");
    let edit = json!({"path": "f", "old_string": "old", "new_string": "new"});
    for _ in 0..2 {
        let read = text(&cx, "file_read", json!({"path": "f"})).await;
        assert!(read.contains("by a command") && read.contains("still shows an older text"), "{read}");
    }
    assert!(text(&cx, "grep", json!({"pattern": "command"})).await.starts_with("f:2:by a command"));
    system.world().scripts.push_back(crate::tools::testing::Script::default());
    let ran = text(&cx, "bash", json!({"command": "true"})).await;
    assert!(!ran.contains("unsaved changes"), "{ran}");
    let edited = text(&cx, "file_edit", edit).await;
    assert!(edited.starts_with("Edited f") && edited.contains("made in the text on disk"), "{edited}");
    assert_eq!(buffer_of(&system).as_deref(), Some("new\nby a command\n"));

    // The user has typed as well: neither text is taken until there is one again.
    system.disk("h", "old\n").buffer("h", "old\n");
    text(&cx, "file_read", json!({"path": "h"})).await;
    system.disk("h", "old\nby a command\n").buffer("h", "old\ntyped\n");
    for _ in 0..2 {
        let read = text(&cx, "file_read", json!({"path": "h"})).await;
        assert!(read.contains("typed") && read.contains("in a different way"), "{read}");
        let edit = json!({"path": "h", "old_string": "old", "new_string": "new"});
        let refused = text(&cx, "file_edit", edit).await;
        assert!(
            refused.starts_with("! h was changed on disk (by a command, say) and in the editor"),
            "{refused}"
        );
    }

    // The editor reloaded the file, so the edit is allowed.
    system.disk("g", "old\n").buffer("g", "old\n");
    text(&cx, "file_read", json!({"path": "g"})).await;
    system.disk("g", "older\n").buffer("g", "older\n");
    let edited = text(&cx, "file_edit", json!({"path": "g", "old_string": "older", "new_string": "x"})).await;
    assert!(edited.starts_with("Edited g") && edited.contains("had changed since"), "{edited}");
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
    assert!(refused.starts_with("! f was written through the editor, which has not saved it"), "{refused}");
    assert_eq!(system.seen("f").as_deref(), Some("1\ntwo\n"));
}

#[tokio::test]
async fn a_file_on_disk_that_the_editor_does_not_know_is_not_taken_for_new() {
    // Reads go to the client first; its "not found" is checked against the disk before anything is
    // overwritten.
    let system = Memory::default();
    system.route(Route::Client, Route::Client);
    system.disk("f", "old\n");
    let (cx, _) = context(&system);
    let refused = text(&cx, "file_write", json!({"path": "f", "content": "x"})).await;
    assert!(refused.starts_with("! f exists, and you have not read it."), "{refused}");
}
