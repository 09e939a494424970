//! Turns that fail: what is shown, and how the user goes on.

use super::{Model, open_model, open_with, tmux::Tmux};
use serde_json::Value;

/// Returns how often a text is in the messages of the user, in a request to the model.
fn said(request: &Value, text: &str) -> usize {
    let messages = request["messages"].as_array().unwrap().iter();
    messages.filter(|message| message["role"] == "user" && message.to_string().contains(text)).count()
}

/// Has a prompt fail.
fn fail(model: &Model, tmux: &Tmux, prompt: &str) {
    tmux.say(prompt);
    model.next().refuse("invalid_request_error", "the tools are wrong");
    tmux.wait_for("r enter: try again");
}

#[test]
fn a_failed_turn_says_why_and_a_letter_tries_it_again() {
    let Some((model, _home, tmux)) = open_model() else { return };
    fail(&model, &tmux, "count the lines");
    let screen = tmux.screen();
    assert!(screen.contains("✗ error  fake refused the request to large: the tools are wrong"), "{screen}");
    assert!(screen.contains("to do: change the request or choose another model"), "{screen}");
    tmux.paste("r");
    tmux.wait_for("> r");
    assert!(model.is_idle(), "a letter alone does nothing");
    tmux.key("Enter");
    let again = model.next();
    assert_eq!(said(&again.request, "count the lines"), 1, "{}", again.request);
    again.say("there are 12");
    let screen = tmux.wait_for("tiller  there are 12");
    assert!(!screen.contains("try again ·"), "{screen}");
}

#[test]
fn what_is_typed_after_an_error_is_sent_whole() {
    let Some((model, _home, tmux)) = open_model() else { return };
    fail(&model, &tmux, "count the lines");
    "run it again".chars().for_each(|letter| {
        tmux.text(&letter.to_string());
    });
    tmux.wait_for("> run it again");
    tmux.key("Enter");
    let next = model.next();
    assert_eq!(next.prompt(), "run it again");
    next.say("it runs");
    tmux.wait_for("tiller  it runs");
}

#[test]
fn the_next_model_of_the_list_answers_when_the_first_fails() {
    let model = Model::start();
    let home = model.home();
    let Some(tmux) = open_with(&home, "-m fake/large,fake/blind") else { return };
    tmux.say("count the lines");
    let first = model.next();
    assert_eq!(first.request["model"], "large");
    first.refuse("authentication_error", "the key is old");
    let second = model.next();
    assert_eq!(second.request["model"], "blind");
    assert_eq!(said(&second.request, "count the lines"), 1, "{}", second.request);
    second.say("there are 12");
    let screen = tmux.wait_for("tiller  there are 12");
    assert_eq!(screen.matches("fake/large did not answer; trying fake/blind").count(), 1, "{screen}");
    tmux.say("and the words?");
    let next = model.next();
    assert_eq!(next.request["model"], "blind", "the session stays with it");
    next.say("forty");
    tmux.wait_for("tiller  forty");
}

#[test]
fn an_unknown_command_with_words_is_not_sent() {
    let Some((model, _home, tmux)) = open_model() else { return };
    tmux.say("/sesions of yesterday");
    let screen = tmux.wait_for("there is no command /sesions; did you mean /sessions?");
    assert!(screen.contains("> /sesions of yesterday"), "the draft is kept: {screen}");
    tmux.key("C-c");
    tmux.say("/usr/bin/x is broken");
    let answer = model.next();
    assert_eq!(answer.prompt(), "/usr/bin/x is broken");
    answer.say("it is");
    tmux.wait_for("tiller  it is");
}
