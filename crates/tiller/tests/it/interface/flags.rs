//! Flags of the command line that the interface begins with.

use super::{Model, Tmux, open_with, sessions::stored};
use crate::home::{Home, PNG, stderr};
use serde_json::json;

/// Starts the interface with arguments, and a model whose answers the test writes.
fn open(arguments: &str) -> Option<(Model, Home, Tmux)> {
    let model = Model::start();
    let home = model.home();
    std::fs::write(home.file("dot.png"), PNG).unwrap();
    std::fs::create_dir(home.file("../more")).unwrap();
    std::fs::write(home.file("../more/note.txt"), "written elsewhere").unwrap();
    let tmux = open_with(&home, arguments)?;
    Some((model, home, tmux))
}

#[test]
fn a_prompt_of_the_command_line_brings_its_image() {
    let Some((model, _home, tmux)) = open("--image dot.png 'what is this?'") else { return };
    let answer = model.next();
    let sent = answer.parts();
    assert!(sent.iter().any(|part| part["text"] == "what is this?"), "{sent:?}");
    let image = sent.iter().find_map(|part| part["image_url"]["url"].as_str());
    assert!(image.is_some_and(|url| url.starts_with("data:image/png;base64,")), "{sent:?}");
    answer.say("a dot");
    tmux.wait_for("tiller  a dot");
}

#[test]
fn an_image_without_a_prompt_waits_in_the_composer() {
    let Some((model, _home, tmux)) = open("--image dot.png") else { return };
    tmux.wait_for("[image 1 1280×720]");
    assert!(model.is_idle(), "nothing was sent");
    tmux.say("what is this?");
    let answer = model.next();
    assert!(answer.parts().iter().any(|part| part["type"] == "image_url"), "{:?}", answer.parts());
    answer.say("a dot");
}

#[test]
fn a_model_without_images_refuses_them_when_they_are_attached() {
    let Some((model, home, tmux)) = open("-m fake/blind") else { return };
    tmux.say("/image dot.png");
    tmux.wait_for("the model fake/blind takes no images");
    tmux.say("what is this?");
    let answer = model.next();
    assert_eq!(answer.prompt(), "what is this?");
    answer.say("a question");
    let output = home.run(&["-p", "what is this?", "-m", "fake/blind", "--image", "dot.png"]);
    assert!(stderr(&output).contains("the model fake/blind takes no images"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1));
    assert!(model.is_idle(), "nothing was sent");
}

#[test]
fn a_session_continues_in_a_copy() {
    let Some((model, home, tmux)) = open("'remember 42'") else { return };
    model.next().say("noted");
    tmux.wait_for("tiller  noted");
    tmux.type_and("/quit", "Enter");
    tmux.wait_for("over=0");
    tmux.shell("clear; $TILLER --continue --fork --effort high 'which number?'");
    let answer = model.next();
    let messages = answer.request["messages"].to_string();
    assert!(messages.contains("remember 42"), "the copy has the history: {messages}");
    answer.say("42");
    tmux.wait_for("tiller  42");
    assert_eq!(stored(&home).len(), 2);
}

#[test]
fn a_directory_of_the_command_line_belongs_to_the_session() {
    let Some((model, home, tmux)) = open("--add-dir ../more --effort high 'read it'") else { return };
    let answer = model.next();
    assert!(answer.request["messages"].to_string().contains("/more"), "the prompt names the directory");
    answer.call("read", &json!({ "path": home.file("../more/note.txt") }));
    let answer = model.next();
    let result = answer.request["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(result.contains("written elsewhere"), "{result}");
    answer.say("read");
    tmux.wait_for("tiller  read");
}

#[test]
fn a_flag_of_headless_runs_is_refused_by_the_interface() {
    let home = Home::new();
    for flags in [["--timeout", "5"], ["--include-partial=false", "-v"]] {
        let output = home.run(&[&["-i", "hello there"], &flags[..]].concat());
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(said.contains("is for a run that prints its answer; add -p"), "{said}");
    }
}
