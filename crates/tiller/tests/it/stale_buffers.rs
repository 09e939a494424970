//! The eight cases of `docs/delegation.md` through a whole process: an editor's text and the disk's
//! differ because the user typed, because a command changed the file, or both.

use crate::{agent::Agent, editor::Editor, home::Home};

const START: &str = "one\ntwo\nthree\n";
const EDIT: &str = "replace \"two\" with \"TWO\" in a.txt";

/// What has happened before the edit.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// Whether the session has seen the editor's text equal the disk's.
    known: bool,
    typed: bool,
    moved: bool,
}

/// When the editor reloads a file that a command changed, if the user typed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reload {
    Never,
    AtOnce,
    /// Before it serves this request, counted from 1.
    Late(usize),
}

#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    editor: String,
    disk: String,
    refused: bool,
}

fn play(case: Case, reload: Reload, mut editor: Editor) -> Outcome {
    let home = Home::new();
    home.write("a.txt", START);
    let path = home.file("a.txt");
    let disk = || std::fs::read_to_string(&path).unwrap();
    let own = if case.known { "" } else { "own\n" };
    editor.buffers.insert(path.clone(), format!("{own}{START}"));
    let (mut agent, session) = Agent::open(&home, &[], &editor);
    agent.prompt(&session, "show a.txt", &mut editor).unwrap();
    if case.typed {
        editor.buffers.get_mut(&path).unwrap().push_str("typed\n");
    }
    if case.moved {
        std::fs::write(&path, disk() + "moved\n").unwrap();
        match reload {
            Reload::Never => {}
            Reload::AtOnce => drop(editor.buffers.insert(path.clone(), disk())),
            Reload::Late(request) => editor.reload = Some((request, path.clone())),
        }
    }
    agent.prompt(&session, EDIT, &mut editor).unwrap();
    agent.hang_up();
    let last = agent.updates.iter().rev().find_map(|update| update["status"].as_str());
    Outcome { editor: editor.buffers[&path].clone(), disk: disk(), refused: last == Some("failed") }
}

#[test]
fn a_stale_text_is_replaced_and_a_conflict_refused() {
    for known in [true, false] {
        for (typed, moved) in [(false, false), (true, false), (false, true), (true, true)] {
            let case = Case { known, typed, moved };
            let outcome = play(case, Reload::Never, Editor::with_everything());
            let own = if known { "" } else { "own\n" };
            let tail = if typed { "typed\n" } else { "" };
            let expected = match (known, typed, moved) {
                (_, _, false) => (format!("{own}one\nTWO\nthree\n{tail}"), None),
                (true, false, true) => ("one\nTWO\nthree\nmoved\n".to_owned(), None),
                _ => (format!("{own}{START}{tail}"), Some(format!("{START}moved\n"))),
            };
            let (editor, disk) = expected;
            let refused = disk.is_some();
            let disk = disk.unwrap_or_else(|| editor.clone());
            assert_eq!(outcome, Outcome { editor, disk, refused }, "{case:?}");
        }
    }
}

#[test]
fn nothing_is_lost_whenever_the_editor_reloads() {
    let case = Case { known: true, typed: false, moved: true };
    let late = (1..9).map(Reload::Late);
    for reload in [Reload::AtOnce].into_iter().chain(late) {
        let Outcome { editor, disk, refused } = play(case, reload, Editor::with_everything());
        let text = if refused { "one\ntwo\nthree\nmoved\n" } else { "one\nTWO\nthree\nmoved\n" };
        assert_eq!((editor.as_str(), disk.as_str()), (text, text), "{reload:?}");
    }
}

#[test]
fn replaces_a_stale_text_on_disk_for_a_reader() {
    let case = Case { known: true, typed: false, moved: true };
    let editor = Editor { writes: false, ..Editor::with_everything() };
    let outcome = play(case, Reload::Never, editor);
    assert_eq!(outcome.disk, "one\nTWO\nthree\nmoved\n");
    let typed = Case { typed: true, moved: false, ..case };
    let editor = Editor { writes: false, ..Editor::with_everything() };
    let outcome = play(typed, Reload::Never, editor);
    assert_eq!(outcome.editor, format!("{START}typed\n"), "it is the user's");
}

#[test]
fn a_writing_editor_keeps_what_a_command_wrote() {
    let case = Case { known: true, typed: false, moved: true };
    for reload in [Reload::Never, Reload::AtOnce, Reload::Late(1)] {
        let editor = Editor { reads: false, ..Editor::with_everything() };
        let outcome = play(case, reload, editor);
        assert_eq!(outcome.disk, "one\nTWO\nthree\nmoved\n", "{reload:?}");
    }
}
