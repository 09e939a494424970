//! A session that another process holds.

use super::{READY, begin_with};
use crate::{agent::Agent, editor::Editor, home::Home};

#[test]
fn a_session_of_another_process_is_followed_and_can_be_taken_over() {
    let home = Home::new();
    let mut editor = Editor::without_anything();
    let (mut other, session) = Agent::open(&home, &["--yolo"], &editor);
    other.prompt(&session, "run echo first >> ran", &mut editor).unwrap();
    let Some(tmux) = begin_with(&home, &format!("--session {session}"), &[]) else { return };
    let screen = tmux.wait_for("read-only · ctrl+y: take it over");
    assert!(screen.contains(&format!("process {}", other.pid())), "{screen}");
    tmux.wait_for("run echo first >> ran");
    other.prompt(&session, "run echo second >> ran", &mut editor).unwrap();
    tmux.wait_for("run echo second >> ran");
    tmux.say("run echo third >> ran");
    tmux.wait_for("the session is read-only, so nothing was sent");
    tmux.key("C-c");
    tmux.wait("an empty message", |screen| !screen.contains("> run echo third"));
    tmux.key("C-y");
    tmux.wait("an open session", |screen| screen.contains(READY) && !screen.contains("read-only"));
    tmux.say("show ran");
    tmux.wait_for("you     show ran");
    // The process that lost it runs nothing more.
    let error = other.prompt(&session, "run echo fourth >> ran", &mut editor).unwrap_err();
    assert_eq!(error["data"]["reason"], "fenced", "{error}");
    assert_eq!(home.read("ran").unwrap(), "first\nsecond\n");
    let everything = tmux.everything();
    assert_eq!(everything.matches("you     run echo first >> ran").count(), 1, "{everything}");
}

#[test]
fn a_session_that_is_let_go_says_so() {
    let home = Home::new();
    let mut editor = Editor::without_anything();
    let (mut other, session) = Agent::open(&home, &["--yolo"], &editor);
    other.prompt(&session, "run echo first >> ran", &mut editor).unwrap();
    let Some(tmux) = begin_with(&home, "-c", &[]) else { return };
    tmux.wait_for("read-only · ctrl+y: take it over");
    drop(other);
    tmux.wait_for("read-only · ctrl+y: open it");
    tmux.key("C-y");
    tmux.wait("an open session", |screen| screen.contains(READY) && !screen.contains("read-only"));
}
