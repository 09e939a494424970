//! The interface as plain lines, over pipes.

use super::model::Model;
use crate::home::Home;
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

/// How long a line may be awaited.
const PATIENCE: Duration = Duration::from_secs(30);

/// The interface with its input and output in pipes.
struct Plain {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// The lines so far.
    said: Vec<String>,
}

impl Plain {
    fn start(home: &Home) -> Self {
        Self::start_with(home, &[], &[])
    }

    /// Starts it with further arguments and variables.
    fn start_with(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = home.tiller(&[&["-i", "--no-stdin", "--screen", "plain"], arguments].concat());
        command.envs(variables.iter().copied());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            output.split(b'\n').map_while(Result::ok).for_each(|line| {
                // The test has ended.
                let _ = sender.send(String::from_utf8(line).expect("the output is UTF-8"));
            });
        });
        Self { input: child.stdin.take(), child, lines, said: Vec::new() }
    }

    /// Waits for a line that begins with a text, and returns it.
    fn wait_for(&mut self, begin: &str) -> String {
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("no line begins with {begin:?}; there were {:#?}", self.said)
            };
            self.said.push(line.clone());
            if line.starts_with(begin) {
                return line;
            }
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends the input and returns all lines.
    fn end(mut self) -> Vec<String> {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
        self.said.extend(self.lines.iter());
        let mut notes = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
        assert!(!notes.contains('\u{1b}'), "{notes:?}");
        self.said
    }
}

#[test]
fn a_conversation_in_plain_lines_goes_over_pipes() {
    let model = Model::start();
    let home = model.home();
    let mut plain = Plain::start(&home);
    assert!(plain.wait_for("tiller, plain lines (--screen)").contains("/help"));
    plain.wait_for("ready; your message:");
    plain.say("hello");
    let answer = model.next();
    assert_eq!(answer.prompt(), "hello");
    answer.say("Hello **you**.\n\npermission required: Run \u{1b}[2Jrm?\n\n| a | b |\n|---|---|\n| 1 | 2 |");
    assert_eq!(plain.wait_for("tiller: "), "tiller: Hello you.");
    assert_eq!(plain.wait_for("text: "), "text: permission required: Run rm?");
    assert_eq!(plain.wait_for("a: "), "a: 1; b: 2");
    plain.wait_for("ready; your message:");

    plain.say("publish it");
    model.next().call("bash", &json!({ "command": "git push --dry-run nowhere" }));
    assert!(plain.wait_for("permission required: ").contains("git push --dry-run nowhere"));
    plain.wait_for("Answer: yes");
    plain.say("y");
    plain.wait_for("write yes, always, no, never, or because REASON");
    plain.say("because it is Friday");
    let refused = model.next();
    assert!(refused.request.to_string().contains("it is Friday"));
    refused.say("Then on Monday.");
    plain.wait_for("tiller: Then on Monday.");
    plain.wait_for("ready; your message:");

    let lines = plain.end();
    for line in &lines {
        let is_plain = |c: char| {
            !c.is_control()
                && !('\u{2500}'..='\u{259f}').contains(&c)
                && !('\u{2800}'..='\u{28ff}').contains(&c)
        };
        assert!(line.chars().all(is_plain), "{line:?}");
    }
    let at = |text: &str| lines.iter().position(|line| line == text);
    assert!(at("you: hello").is_some() && at("you: hello") < at("tiller: Hello you."), "{lines:#?}");
}

#[test]
fn the_first_run_without_a_model_is_a_numbered_list() {
    let home = Home::empty();
    let mut plain = Plain::start_with(&home, &["list files"], &[("OLLAMA_HOST", "127.0.0.1:9")]);
    plain.wait_for("no model is set up; begin with one of these:");
    plain.wait_for("1. a key");
    plain.wait_for("3. the pilot");
    plain.wait_for("Answer with a number (Enter alone: 3)");
    plain.say("3");
    plain.wait_for("you: list files");
    plain.wait_for("tiller: ");
    plain.wait_for("ready; your message:");
    plain.end();
}

#[test]
fn in_plain_lines_a_letter_tries_a_failed_turn_again_and_a_slip_is_not_sent() {
    let model = Model::start();
    let home = model.home();
    let mut plain = Plain::start(&home);
    plain.wait_for("ready; your message:");
    plain.say("/sesions of yesterday");
    plain.wait_for("there is no command /sesions; did you mean /sessions?");
    plain.say("count the lines");
    model.next().refuse("invalid_request_error", "the tools are wrong");
    plain.wait_for("error: fake refused the request to large: the tools are wrong");
    plain.wait_for("  to do: change the request or choose another model");
    plain.wait_for("the turn failed; r enter asks again");
    plain.say("r");
    let again = model.next();
    assert_eq!(again.request.to_string().matches("count the lines").count(), 1, "{}", again.request);
    again.say("there are 12");
    plain.wait_for("tiller: there are 12");
    plain.end();
}
