//! A turn as a person sees and steers it.

use super::{Model, READY, RUNNING, Tmux, model::Answer, open_model};
use crate::home::Home;
use serde_json::json;

/// Waits until a permission request takes keys.
fn asked(tmux: &Tmux) -> String {
    tmux.wait("a permission request that takes keys", |screen| {
        screen.contains("y once") && !screen.contains("in a moment") && !screen.contains("tab: answer")
    })
}

/// Has the model ask for a command that needs a permission in every mode.
fn ask_for_a_push(model: &Model, tmux: &Tmux) {
    tmux.say("publish it");
    model.next().call("bash", &json!({ "command": "git push --dry-run ./nowhere" }));
}

/// Sends a prompt, and has the model begin its answer with this text.
fn begin(model: &Model, tmux: &Tmux, prompt: &str, text: &str) -> Answer {
    tmux.say(prompt);
    let mut answer = model.next();
    answer.text(text);
    tmux.wait_for(text);
    answer
}

#[test]
fn an_answer_appears_while_it_is_streamed() {
    let Some((model, _home, tmux)) = open_model() else { return };
    tmux.say("count");
    let mut answer = model.next();
    answer.text("one ");
    tmux.wait("the first word", |screen| screen.contains("tiller  one") && screen.contains(RUNNING));
    answer.text("two");
    tmux.wait_for("one two");
    answer.end();
    let screen = tmux.wait("the end of the turn", |screen| !screen.contains(RUNNING));
    assert!(screen.contains("you     count") && screen.contains("tiller  one two"), "{screen}");
}

#[test]
fn an_approved_call_runs() {
    let Some((model, _home, tmux)) = open_model() else { return };
    ask_for_a_push(&model, &tmux);
    let screen = asked(&tmux);
    assert!(screen.contains("git push --dry-run ./nowhere"), "{screen}");
    tmux.key("y");
    let answer = model.next();
    let result = answer.request["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(result.contains("fatal: "), "git ran: {result}");
    answer.say("pushed");
    tmux.wait_for("tiller  pushed");
}

#[test]
fn a_rejection_gives_the_model_the_reason() {
    let Some((model, _home, tmux)) = open_model() else { return };
    ask_for_a_push(&model, &tmux);
    asked(&tmux);
    tmux.key("e");
    tmux.wait_for("no, because:");
    tmux.say("make a branch");
    let answer = model.next();
    let result = answer.request["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(result.contains("make a branch"), "{result}");
    answer.say("I made a branch.");
    let screen = tmux.wait_for("I made a branch.");
    assert!(screen.contains("refused this call and said: make a branch"), "{screen}");
}

#[test]
fn a_request_waits_while_the_user_types_and_tab_answers_it() {
    let Some((model, _home, tmux)) = open_model() else { return };
    tmux.say("publish it");
    let answer = model.next();
    tmux.text("yes y y");
    tmux.wait_for("> yes y y");
    answer.call("bash", &json!({ "command": "git push --dry-run ./nowhere" }));
    tmux.wait_for("tab: answer");
    tmux.text(" y");
    let screen = tmux.wait_for("> yes y y y");
    assert!(screen.contains("tab: answer"), "{screen}");
    tmux.key("Tab");
    asked(&tmux);
    tmux.key("n");
    model.next().say("Then not.");
    let screen = tmux.wait_for("Then not.");
    assert!(screen.contains("> yes y y y"), "the draft is still there: {screen}");
}

#[test]
fn a_message_steers_the_running_turn() {
    let Some((model, home, tmux)) = open_model() else { return };
    home.write("a.txt", "the letter a\n");
    let answer = begin(&model, &tmux, "look around", "I look.");
    tmux.say("only at a.txt");
    tmux.wait_for("next ▸ \"only at a.txt\"");
    answer.call("file_read", &json!({ "path": "a.txt" }));
    let answer = model.next();
    assert_eq!(answer.prompt(), "only at a.txt");
    let screen = tmux.wait("the message in the transcript", |screen| !screen.contains("next ▸"));
    assert!(screen.contains("you     only at a.txt"), "{screen}");
    answer.say("It has the letter a.");
    tmux.wait_for("It has the letter a.");
    assert!(model.is_idle());
}

#[test]
fn tab_sends_a_message_after_the_turn() {
    let Some((model, _home, tmux)) = open_model() else { return };
    let answer = begin(&model, &tmux, "first", "I work.");
    tmux.type_and("then second", "Tab");
    tmux.wait_for("after ▸ \"then second\"");
    answer.end();
    let answer = model.next();
    assert_eq!(answer.prompt(), "then second");
    answer.say("Done.");
    let screen = tmux.wait_for("Done.");
    assert!(screen.contains("you     then second") && !screen.contains("after ▸"), "{screen}");
}

#[test]
fn the_last_waiting_message_can_be_edited() {
    let Some((model, _home, tmux)) = open_model() else { return };
    let answer = begin(&model, &tmux, "first", "I work.");
    tmux.say("with a mistaek");
    tmux.wait_for("next ▸ \"with a mistaek\"");
    tmux.key("Up");
    tmux.wait("the message in the composer", |screen| {
        screen.contains("> with a mistaek") && !screen.contains("next ▸")
    });
    tmux.key("BSpace");
    tmux.key("BSpace");
    tmux.wait_for("> with a mista\n");
    tmux.paste("ke");
    tmux.wait_for("> with a mistake");
    tmux.key("Enter");
    tmux.wait_for("next ▸ \"with a mistake\"");
    answer.end();
    let answer = model.next();
    assert_eq!(answer.prompt(), "with a mistake");
    answer.say("Thanks.");
    tmux.wait_for("Thanks.");
    assert!(model.is_idle(), "the message was sent once");
}

#[test]
fn escape_cancels_and_gives_waiting_messages_back() {
    let Some((model, _home, tmux)) = open_model() else { return };
    let answer = begin(&model, &tmux, "first", "I begin.");
    tmux.say("a correction");
    tmux.wait_for("next ▸ \"a correction\"");
    tmux.type_and("a further wish", "Tab");
    tmux.wait_for("after ▸ \"a further wish\"");
    tmux.text("and more");
    tmux.wait_for("> and more");
    tmux.key("Escape");
    answer.abandoned();
    let screen = tmux.wait("the stopped turn", |screen| {
        screen.contains("cancelled") && !screen.contains(RUNNING) && !screen.contains('▸')
    });
    let composer = &screen[screen.rfind("──").unwrap()..];
    for text in ["a correction", "a further wish", "and more"] {
        assert!(composer.contains(text), "{text:?} is in the composer: {screen}");
    }
    assert!(model.is_idle());
}

#[test]
fn ctrl_c_clears_then_cancels_then_quits() {
    let Some((model, home, tmux)) = open_model() else { return };
    let answer = begin(&model, &tmux, "first", "I begin.");
    tmux.text("a draft");
    tmux.wait_for("> a draft");
    tmux.key("C-c");
    let screen = tmux.wait("an empty composer", |screen| !screen.contains("a draft"));
    assert!(screen.contains(RUNNING), "{screen}");
    tmux.key("C-c");
    answer.abandoned();
    tmux.wait("the stopped turn", |screen| screen.contains("cancelled") && !screen.contains(RUNNING));
    tmux.key("Up");
    tmux.wait_for("> a draft");
    tmux.key("C-c");
    tmux.wait("an empty composer", |screen| !screen.contains("a draft"));
    tmux.key("C-c");
    tmux.wait_for("press ctrl+c again to quit");
    tmux.key("C-c");
    tmux.wait_for("over=0");
    super::ends::assert_restored(&tmux, &home);
}

#[test]
fn a_failed_request_says_why_and_the_session_goes_on() {
    let model = Model::start();
    let home: Home = model.home();
    home.settings(&model.settings().replace(&model.address, "127.0.0.1:1"));
    let Some(tmux) = super::open(&home) else { return };
    tmux.say("hello");
    let screen = tmux.wait("the failure", |screen| {
        screen.contains("failed") && screen.contains("127.0.0.1:1") && !screen.contains(RUNNING)
    });
    assert!(screen.contains("you     hello"), "{screen}");
    tmux.text("again");
    tmux.wait_for("> again");
}

#[test]
fn a_line_and_enter_that_come_together_are_sent() {
    // A shell that was started with few variables does not know that it runs in tmux.
    for variables in ["", "env -u TMUX TERM=screen-256color"] {
        let model = Model::start();
        let home = model.home();
        let Some(tmux) = Tmux::start(&home, &[("TILLER", env!("CARGO_BIN_EXE_tiller"))]) else { return };
        tmux.shell(&format!("{variables} $TILLER"));
        tmux.wait_for(READY);
        tmux.run(&["send-keys", "-t", "t", "count slowly up to one", "Enter"]);
        let answer = model.next();
        assert_eq!(answer.prompt(), "count slowly up to one");
        answer.say("one");
        tmux.wait_for("tiller  one");
    }
}
