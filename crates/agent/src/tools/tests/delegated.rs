//! Editors that respond before a write is done, that hold files missing on disk, or that decode
//! bytes that are not text.

use super::*;
use crate::tools::testing::{Script, Step, call};
use crate::{Content, ToolContent};
use serde_json::Value;
use system::{ExitStatus, Output, Route, TerminalId};

fn by_editor() -> Memory {
    let system = Memory::default();
    system.route(Route::Client, Route::Client);
    system
}

fn edit(old: &str, new: &str) -> Value {
    json!({"path": "f", "old_string": old, "new_string": new})
}

fn listing() -> Script {
    let steps = vec![Step::Say(Output::Text("ok\n".to_owned()))].into();
    Script { steps, status: Some(ExitStatus { code: Some(0), signal: None }), ..Script::default() }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_the_editor_does_late_is_waited_for_and_the_next_edit_loses_nothing() {
    for reads in 1..6 {
        let system = by_editor();
        system.disk("f", "one\ntwo\n").buffer("f", "one\ntwo\n");
        let (cx, _) = context(&system);
        text(&cx, "file_read", json!({"path": "f"})).await;
        system.world().late = Some(Some(reads));
        assert_eq!(text(&cx, "file_edit", edit("one", "1")).await, "Edited f (-1, +1 lines)", "{reads}");
        system.world().late = Some(Some(reads));
        assert_eq!(text(&cx, "file_edit", edit("two", "2")).await, "Edited f (-1, +1 lines)", "{reads}");
        assert_eq!(system.seen("f").as_deref(), Some("1\n2\n"), "{reads}");
        // A new file that the editor shows only after a while.
        system.world().late = Some(Some(reads));
        let said = text(&cx, "file_write", json!({"path": "new", "content": "x\n"})).await;
        assert_eq!((said.as_str(), system.seen("new").as_deref()), ("Wrote 1 lines to new", Some("x\n")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_is_a_failure() {
    for (tool, arguments, file) in [
        ("file_edit", edit("one", "1"), "f"),
        ("file_write", json!({"path": "f", "content": "all new\n"}), "f"),
        ("file_write", json!({"path": "new", "content": "x\n"}), "new"),
        (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: f\n@@\n-one\n+1\n*** End Patch"}),
            "f",
        ),
    ] {
        let system = by_editor();
        system.disk("f", "one\ntwo\n").buffer("f", "one\ntwo\n");
        let (cx, _) = context(&system);
        text(&cx, "file_read", json!({"path": "f"})).await;
        system.world().late = Some(None);
        let before = tokio::time::Instant::now();
        let said = text(&cx, tool, arguments).await;
        assert!(said.contains(&format!("did not apply the change of {file}")), "{tool}: {said}");
        assert!(said.starts_with("! ") && before.elapsed().as_secs() < 20, "{tool}: {said}");
        assert!(!said.contains("formatting"), "{said}");
        // The text that the model knows is still the current one.
        system.world().late = None;
        assert_eq!(text(&cx, "file_edit", edit("two", "2")).await, "Edited f (-1, +1 lines)", "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_editor_makes_of_a_text_is_still_told() {
    let system = by_editor();
    system.buffer("f", "one\n").world().format = Some(|text| text.to_uppercase());
    let (cx, _) = context(&system);
    text(&cx, "file_read", json!({"path": "f"})).await;
    let said = text(&cx, "file_edit", edit("one", "two")).await;
    assert!(said.starts_with("Edited f") && said.contains("+TWO"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_wait_for_a_write() {
    let system = by_editor();
    system.buffer("f", "one\n").world().late = Some(None);
    let (cx, _) = context(&system);
    let cancel = cx.cancel.clone();
    let (said, ()) = tokio::join!(text(&cx, "file_edit", edit("one", "two")), async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        cancel.cancel();
    });
    assert!(said.contains("was not read back: cancelled"), "{said}");
}

#[tokio::test]
async fn a_file_that_is_no_text_on_disk_is_refused_as_it_is_locally() {
    for bytes in [&b"caf\xe9\n"[..], b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xfec\0a\0f\0\xe9\0\n\0"] {
        for (tool, arguments) in [
            ("file_edit", edit("caf", "tea")),
            ("file_write", json!({"path": "f", "content": "tea\n"})),
            (
                "apply_patch",
                json!({"patch": "*** Begin Patch\n*** Update File: f\n@@\n-caf\u{fffd}\n+tea\n*** End Patch"}),
            ),
        ] {
            let mut said = Vec::new();
            for read in [Route::Local, Route::Client] {
                let system = Memory::default();
                system.route(read, read);
                system.world().disk.insert(path("f"), bytes.to_vec());
                // The text of an editor that decodes with replacement characters.
                system.buffer("f", &String::from_utf8_lossy(bytes));
                let (cx, _) = context(&system);
                cx.session.files.saw(&path("f"), &String::from_utf8_lossy(bytes));
                said.push(text(&cx, tool, arguments.clone()).await);
                assert_eq!(system.world().disk[&path("f")], bytes, "{tool}");
                assert_eq!(system.world().buffers[&path("f")], String::from_utf8_lossy(bytes), "{tool}");
            }
            assert!(said[0].contains("not a text file"), "{}", said[0]);
            assert_eq!(said[0], said[1], "{tool}");
        }
    }
}

#[tokio::test]
async fn a_search_sees_the_buffers_of_the_files_it_names_or_finds() {
    let system = by_editor();
    system.disk("a.txt", "plain\n").buffer("a.txt", "needle in the buffer\n");
    system.disk("b.txt", "needle on disk\n").buffer("b.txt", "taken out\n");
    system.disk("c.txt", "needle\n").buffer("c.txt", "moved\nneedle\n");
    system.disk("d.txt", "needle of the disk alone\n");
    system.buffer("only.txt", "needle nowhere else\n");
    let (cx, _) = context(&system);
    let grep = |path: &str| json!({"pattern": "needle", "path": path});
    // A named file is requested from the editor, even if it is not on disk.
    assert_eq!(text(&cx, "grep", grep("a.txt")).await, "a.txt:1:needle in the buffer");
    assert_eq!(text(&cx, "grep", grep("only.txt")).await, "only.txt:1:needle nowhere else");
    assert_eq!(text(&cx, "grep", grep("none.txt")).await, "! Path not found: none.txt");
    // Files with matches on disk are reported with the editor's text.
    let folder = text(&cx, "grep", grep(".")).await;
    assert_eq!(folder, "c.txt:2:needle\nd.txt:1:needle of the disk alone");
    // A file that the user attached is searched as it is in the editor.
    cx.session.files.named(&path("a.txt"));
    cx.session.files.named(&path("only.txt"));
    let folder = text(&cx, "grep", grep(".")).await;
    assert!(folder.contains("a.txt:1:needle in the buffer"), "{folder}");
    assert!(folder.contains("only.txt:1:needle nowhere else"), "{folder}");
    assert_eq!(text(&cx, "glob", json!({"pattern": "only*"})).await, "only.txt");
}

#[tokio::test]
async fn a_search_asks_the_editor_for_a_bounded_number_of_files() {
    let system = by_editor();
    for at in 0..1000 {
        system.disk(&format!("{at:04}.txt"), "needle\n").buffer(&format!("{at:04}.txt"), "other\n");
    }
    let (cx, _) = context(&system);
    let said = text(&cx, "grep", json!({"pattern": "needle"})).await;
    let asked = system.world().log.iter().filter(|line| line.starts_with("read_text")).count();
    assert!(asked <= crate::limits::GREP_EDITOR_FILES, "{asked}");
    assert!(said.contains("were searched as they are on disk"), "{said}");
}

#[tokio::test]
async fn a_command_names_the_files_that_the_editor_has_not_saved() {
    let system = by_editor();
    system.disk("f", "one\n").disk("same", "x\n");
    let (cx, _) = context(&system);
    for file in ["f", "same"] {
        text(&cx, "file_read", json!({"path": file})).await;
    }
    text(&cx, "file_edit", edit("one", "two")).await;
    text(&cx, "file_write", json!({"path": "new", "content": "n\n"})).await;
    system.world().scripts.push_back(listing());
    let said = text(&cx, "bash", json!({"command": "x"})).await;
    assert!(said.starts_with("ok\nExit code: 0\n(The editor holds unsaved changes of: f, new. "), "{said}");
    // The user sees the note beside the terminal.
    let terminal = Script { terminal: Some(TerminalId("t".to_owned())), ..listing() };
    system.world().scripts.push_back(terminal);
    let shown = call(&cx, "bash", json!({"command": "x"})).await.unwrap().shown.unwrap();
    let [ToolContent::Terminal(_), ToolContent::Content(Content::Text(note))] = shown.as_slice() else {
        panic!("{shown:?}")
    };
    assert!(note.contains("unsaved changes of: f, new"), "{note}");
    // Saved, either unchanged or with further edits by the user: there is no more note, and the
    // editor is not queried twice.
    system.disk("f", "two\n").disk("new", "n\nmore\n").buffer("new", "n\nmore\n");
    for _ in 0..2 {
        system.world().scripts.push_back(listing());
        let said = text(&cx, "bash", json!({"command": "x"})).await;
        assert_eq!(said, "ok\nExit code: 0");
    }
    let asked = system.world().log.iter().filter(|line| **line == "read_text /w/new").count();
    system.world().scripts.push_back(listing());
    text(&cx, "bash", json!({"command": "x"})).await;
    let again = system.world().log.iter().filter(|line| **line == "read_text /w/new").count();
    assert_eq!(asked, again, "what is saved is not asked for again");
}

#[tokio::test(start_paused = true)]
async fn a_command_names_what_an_editor_that_cannot_be_read_has_not_saved() {
    let system = Memory::default();
    system.route(Route::Local, Route::Client);
    system.disk("f", "one\n");
    let (cx, _) = context(&system);
    text(&cx, "file_edit", edit("one", "two")).await;
    system.world().scripts.push_back(listing());
    let said = text(&cx, "bash", json!({"command": "x"})).await;
    assert!(said.contains("unsaved changes of: f."), "{said}");
    system.disk("f", "two\n");
    system.world().scripts.push_back(listing());
    assert_eq!(text(&cx, "bash", json!({"command": "x"})).await, "ok\nExit code: 0");
}

#[tokio::test]
async fn a_project_folder_that_is_gone_is_not_made_anew() {
    for (route, read, write) in crate::tools::testing::ROUTES {
        let system = Memory::default();
        system.route(read, write);
        system.world().gone = true;
        if read == Route::Client {
            system.buffer("open", "text\n");
        }
        let (cx, _) = context(&system);
        cx.session.files.saw(&path("open"), "text\n");
        for (tool, arguments) in [
            ("file_write", json!({"path": "sub/new", "content": "x\n"})),
            ("file_write", json!({"path": "open", "content": "x\n"})),
            ("apply_patch", json!({"patch": "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"})),
        ] {
            let said = text(&cx, tool, arguments).await;
            assert!(
                said.starts_with("! ") && said.contains("the project folder /w does not exist"),
                "{route}: {said}"
            );
        }
        let world = system.world();
        assert!(world.disk.is_empty() && !world.log.iter().any(|line| line.starts_with("write")), "{route}");
    }
}
