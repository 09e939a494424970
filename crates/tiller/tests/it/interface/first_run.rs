//! The interface in an empty home, without a key and without a model server.

use super::{Model, READY, begin_with, tmux::Tmux};
use crate::home::Home;
use std::net::TcpListener;

/// An address on this machine at which nothing listens.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Starts the interface; model servers are looked for at one address only.
fn begin(home: &Home, arguments: &str, ollama: &str) -> Option<Tmux> {
    let tmux = begin_with(home, arguments, &[("OLLAMA_HOST", ollama)])?;
    tmux.wait_for("no model is set up; begin with");
    Some(tmux)
}

#[test]
fn the_pilot_can_be_taken_at_once_and_gets_the_prompt() {
    let home = Home::empty();
    let Some(tmux) = begin(&home, "'list files'", &free_address()) else { return };
    let screen = tmux.wait_for("▸ the pilot");
    assert!(screen.contains("a key") && screen.contains("this machine"), "{screen}");
    tmux.key("Enter");
    tmux.wait_for("you     list files");
    tmux.wait_for(READY);
    tmux.wait_for("offline/pilot");
    assert!(!home.path().join("home/.config/tiller/config.toml").exists(), "the pilot is no default");
}

#[test]
fn a_model_server_that_is_started_meanwhile_is_found_and_kept() {
    let home = Home::empty();
    let address = free_address();
    let Some(tmux) = begin(&home, "-i 'hello there'", &address) else { return };
    tmux.wait_for("no model server answers (Ollama, …): choose to look again");
    let model = Model::at(&address);
    tmux.key("Up");
    tmux.wait_for("▸ this machine");
    tmux.key("Enter");
    tmux.wait_for("▸ local/large");
    tmux.key("Enter");
    let answer = model.next();
    assert_eq!(answer.prompt(), "hello there");
    answer.say("hello yourself");
    tmux.wait_for("tiller  hello yourself");
    let settings = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
    assert!(settings.contains("default_model = \"local/large\""), "{settings}");
}

#[test]
fn a_key_is_typed_in_the_set_up_and_leaving_it_comes_back() {
    let home = Home::empty();
    let Some(tmux) = begin(&home, "", &free_address()) else { return };
    tmux.text("key");
    tmux.wait_for("1 of 1");
    tmux.key("Enter");
    tmux.wait_for("Which model provider?");
    tmux.key("C-d");
    tmux.wait_for("nothing was set up");
    tmux.wait_for("▸ the pilot");
    tmux.key("Escape");
    tmux.wait_for("over=0");
}
