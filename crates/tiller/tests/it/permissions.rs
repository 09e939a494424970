//! The five permission scenarios in the mode Argus, where every change asks.

use crate::{agent::Agent, editor::Editor, home::Home};

const EDIT: &str = "replace \"one\" with \"two\" in a.txt";
const WRITE: &str = "create b.txt with \"hello\"";

/// Runs a prompt and returns the last call's status; the editor logs the requests.
fn play(home: &Home, prompt: &str, editor: &mut Editor) -> String {
    home.write("a.txt", "one\n");
    let (mut agent, session) = Agent::open(home, &["--permission-mode", "argus"], editor);
    agent.prompt(&session, prompt, editor).unwrap();
    agent.statuses().pop().unwrap_or_default()
}

fn editor(writes: bool, answer: &'static str) -> Editor {
    Editor { reads: true, writes, answer: Some(answer), ..Editor::default() }
}

#[test]
fn an_edit_reads_then_asks_then_writes() {
    let home = Home::new();
    let mut editor = editor(true, "allow_once");
    assert_eq!(play(&home, EDIT, &mut editor), "completed");
    let verbs = editor.verbs();
    let at = |verb: &str| verbs.iter().position(|own| *own == verb).unwrap();
    assert!(at("read") < at("permission") && at("permission") < at("write"), "{:?}", editor.log);
    assert_eq!(
        verbs.iter().filter(|verb| **verb == "permission").count(),
        1,
        "none for the read: {:?}",
        editor.log
    );
    assert_eq!(home.read("a.txt").unwrap(), "two\n");
}

#[test]
fn an_approved_write_goes_through_the_editor() {
    let home = Home::new();
    let mut editor = editor(true, "allow_once");
    assert_eq!(play(&home, WRITE, &mut editor), "completed");
    assert!(editor.log.contains(&format!("write {}", home.file("b.txt"))), "{:?}", editor.log);
    assert_eq!(editor.buffers[&home.file("b.txt")].trim_end(), "hello", "the whole text");
}

#[test]
fn a_rejected_write_does_not_happen() {
    let home = Home::new();
    let mut editor = editor(true, "reject_once");
    assert_eq!(play(&home, WRITE, &mut editor), "failed");
    assert!(!editor.verbs().contains(&"write"), "{:?}", editor.log);
    assert_eq!(home.read("b.txt"), None);
}

#[test]
fn without_the_write_flag_an_approved_write_is_local_after_approval() {
    let home = Home::new();
    let mut editor = editor(false, "allow_once");
    assert_eq!(play(&home, WRITE, &mut editor), "completed");
    assert!(editor.verbs().contains(&"permission"), "{:?}", editor.log);
    assert_eq!(home.read("b.txt").unwrap().trim_end(), "hello");
}

#[test]
fn without_the_write_flag_a_rejected_write_does_not_happen() {
    let home = Home::new();
    let mut editor = editor(false, "reject_once");
    assert_eq!(play(&home, WRITE, &mut editor), "failed");
    assert!(editor.verbs().contains(&"permission"), "{:?}", editor.log);
    assert_eq!(home.read("b.txt"), None);
}

#[test]
fn always_asks_once() {
    let home = Home::new();
    let mut editor = editor(true, "allow_always");
    let prompt = format!("{EDIT} then replace \"two\" with \"three\" in a.txt");
    assert_eq!(play(&home, &prompt, &mut editor), "completed");
    assert_eq!(editor.verbs().iter().filter(|verb| **verb == "permission").count(), 1, "{:?}", editor.log);
    assert_eq!(home.read("a.txt").unwrap(), "three\n");
}
