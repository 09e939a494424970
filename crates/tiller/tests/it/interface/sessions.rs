//! Sessions that are found, continued and copied in the interface.

use super::{Model, READY, Tmux, model::Answer, open, open_model};
use crate::home::{Home, stdout};
use serde_json::Value;
use std::net::TcpListener;

/// Has a conversation of one prompt.
fn converse(model: &Model, tmux: &Tmux, prompt: &str, answer: &str) {
    tmux.say(prompt);
    model.next().say(answer);
    tmux.wait_for(&format!("tiller  {answer}"));
}

/// Asks the model again, in a session that has the first prompt.
fn ask_again(model: &Model, tmux: &Tmux) -> Answer {
    tmux.say("which number?");
    let answer = model.next();
    assert!(answer.request["messages"].to_string().contains("remember forty-two"), "{}", answer.request);
    answer
}

/// Leaves the interface, so that the next one begins on an empty screen.
fn leave(tmux: &Tmux) {
    tmux.quit();
    tmux.shell("clear");
    tmux.wait("an empty screen", |screen| !screen.contains("over=0"));
}

/// Returns the ids of the stored sessions.
pub(super) fn stored(home: &Home) -> Vec<String> {
    let listed: Value = serde_json::from_str(&stdout(&home.run(&["sessions", "list", "--json"]))).unwrap();
    let ids = listed["items"].as_array().unwrap().iter();
    ids.map(|session| session["session_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_of_sessions_opens_the_chosen_one() {
    let Some((model, home, tmux)) = open_model() else { return };
    converse(&model, &tmux, "remember forty-two", "noted it");
    leave(&tmux);
    tmux.shell("$TILLER --resume; echo over=$?");
    tmux.wait("the session in the list", |screen| screen.contains("remember forty-two"));
    tmux.key("Enter");
    tmux.wait_for("tiller  noted it");
    let answer = ask_again(&model, &tmux);
    answer.say("42");
    tmux.wait_for("tiller  42");
    tmux.quit();
    assert_eq!(stored(&home).len(), 1, "the session went on");
}

#[test]
fn the_list_of_sessions_keeps_its_scope_and_shows_how_a_session_ended() {
    let Some((model, home, tmux)) = open_model() else { return };
    converse(&model, &tmux, "remember forty-two", "noted it");
    tmux.say("/sessions");
    tmux.wait_for("this folder · tab: all · 1 of 1");
    let screen = tmux.wait_for("last  ✓ noted it");
    assert!(screen.contains("you   remember forty-two") && screen.contains("1 turn"), "{screen}");
    tmux.key("Tab");
    tmux.wait_for("all · tab: this folder");
    tmux.key("Escape");
    tmux.wait("the list is closed", |screen| !screen.contains("tab: this folder"));
    leave(&tmux);
    tmux.shell("$TILLER --resume; echo over=$?");
    tmux.wait_for("all · tab: this folder · 1 of 1");
    assert_eq!(stored(&home).len(), 1);
}

#[test]
fn a_model_server_that_starts_later_is_in_the_list() {
    // A free port, which the server takes once the interface runs.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = Home::new();
    home.settings(&format!("agent.default_model = 'offline/pilot'\n[providers]\nlocal.discover = false\nlocal.urls = ['http://{port}']\n"));
    let Some(tmux) = open(&home) else { return };
    let _model = Model::on(TcpListener::bind(port).unwrap());
    tmux.say("/model");
    let screen = tmux.wait_for("local/large");
    assert!(screen.contains("tiller auth login openai"), "{screen}");
}

#[test]
fn flags_apply_to_the_session_that_is_chosen() {
    let Some((model, home, tmux)) = open_model() else { return };
    converse(&model, &tmux, "remember forty-two", "noted it");
    leave(&tmux);
    tmux.shell("$TILLER --resume --fork -m fake/blind; echo over=$?");
    tmux.wait_for("remember forty-two");
    tmux.key("Enter");
    tmux.wait_for("tiller  noted it");
    let answer = ask_again(&model, &tmux);
    assert_eq!(answer.request["model"], "blind");
    answer.say("42");
    tmux.wait_for("tiller  42");
    assert_eq!(stored(&home).len(), 2, "it went on in a copy");
}

#[test]
fn fork_goes_on_in_a_copy_and_leaves_the_session_as_it_was() {
    let Some((model, home, tmux)) = open_model() else { return };
    converse(&model, &tmux, "remember forty-two", "noted it");
    let before = stored(&home);
    tmux.say("/fork");
    tmux.wait_for("the session is open");
    let answer = ask_again(&model, &tmux);
    answer.say("just 42");
    tmux.wait_for("tiller  just 42");
    tmux.quit();
    assert_eq!((before.len(), stored(&home).len()), (1, 2));
    let first = stdout(&home.run(&["sessions", "show", &before[0]]));
    assert!(first.contains("noted it") && !first.contains("just 42"), "{first}");
}

#[test]
fn the_transcript_finds_what_was_said() {
    let Some((model, _home, tmux)) = open_model() else { return };
    converse(&model, &tmux, "name a fruit", "a greengage");
    converse(&model, &tmux, "name a tree", "a hornbeam");
    tmux.key("C-o");
    tmux.wait_for("transcript");
    tmux.text("/");
    tmux.text("greengage");
    tmux.key("Enter");
    let screen = tmux.wait("the number of hits", |screen| screen.contains("1 of 1"));
    assert!(screen.contains("a greengage"), "{screen}");
    tmux.text("q");
    tmux.wait("the transcript without the search", |screen| !screen.contains("1 of 1"));
    tmux.text("q");
    tmux.wait_for(READY);
}

#[test]
fn asks_before_a_session_follows_its_folder() {
    let model = Model::start();
    let home = model.home();
    let Some(tmux) = open(&home) else { return };
    converse(&model, &tmux, "remember forty-two", "noted it");
    leave(&tmux);
    let (old, new) = (home.project(), home.path().join("renamed"));
    tmux.shell(&format!("mv {} {}; cd {}", old.display(), new.display(), new.display()));
    tmux.shell("$TILLER -c; echo over=$?");
    let screen = tmux.wait_for("[y/N]");
    assert!(screen.contains("Move the sessions of this folder to"), "{screen}");
    tmux.say("n");
    tmux.wait_for("over=1");
    tmux.shell("clear; $TILLER -c; echo over=$?");
    tmux.wait_for("[y/N]");
    tmux.say("y");
    tmux.wait_for("tiller  noted it");
    ask_again(&model, &tmux).say("42");
    tmux.wait_for("tiller  42");
    tmux.quit();
}
