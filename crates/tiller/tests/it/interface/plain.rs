//! The interface as plain lines, over pipes and in a terminal.

use super::{Tmux, model::Model};
use crate::home::Home;
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
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
    pieces: Receiver<Vec<u8>>,
    /// All output so far.
    said: String,
    /// How much of it the test has read.
    read: usize,
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
        let (sender, pieces) = channel();
        let mut output = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                // The test may have ended.
                let _ = sender.send(bytes[..count].to_vec());
            }
        });
        Self { input: child.stdin.take(), child, pieces, said: String::new(), read: 0 }
    }

    /// Waits for a line that begins with a text, and returns it.
    fn wait_for(&mut self, begin: &str) -> String {
        loop {
            while let Some(end) = self.said[self.read..].find('\n') {
                let line = self.said[self.read..self.read + end].to_owned();
                self.read += end + 1;
                if line.starts_with(begin) {
                    return line;
                }
            }
            self.more(begin);
        }
    }

    /// Waits until a line is asked for, behind which nothing is printed.
    fn wait_for_prompt(&mut self) {
        while !(format!("\n{}", &self.said[self.read..])).ends_with("\n> ") {
            self.more("> ");
        }
        self.read = self.said.len();
    }

    fn more(&mut self, awaited: &str) {
        let Ok(piece) = self.pieces.recv_timeout(PATIENCE) else {
            panic!("no line begins with {awaited:?}:\n{}", self.said)
        };
        self.said += std::str::from_utf8(&piece).expect("the output is ASCII here");
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends the input and returns all lines.
    fn end(mut self) -> Vec<String> {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
        self.said.extend(self.pieces.iter().map(|piece| String::from_utf8(piece).unwrap()));
        let mut notes = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
        assert!(!notes.contains('\u{1b}'), "{notes:?}");
        assert!(self.said.ends_with('\n'), "the shell's prompt begins on a line of its own");
        self.said.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_conversation_in_plain_lines_goes_over_pipes() {
    let model = Model::start();
    let home = model.home();
    let mut plain = Plain::start(&home);
    assert!(plain.wait_for("tiller, plain lines (--screen)").contains("/help"));
    plain.wait_for_prompt();
    plain.say("hello");
    let answer = model.next();
    assert_eq!(answer.prompt(), "hello");
    answer.say("Hello **you**.\n\npermission required: Run \u{1b}[2Jrm?\n\n| a | b |\n|---|---|\n| 1 | 2 |");
    plain.wait_for_prompt();
    let lines: Vec<_> = plain.said.lines().skip(1).filter(|line| !line.is_empty()).collect();
    let expected =
        ["> ", "you: hello", "tiller: Hello you.", "text: permission required: Run rm?", "a: 1; b: 2", "> "];
    assert_eq!(lines, expected, "{}", plain.said);

    plain.say("publish it");
    model.next().call("bash", &json!({ "command": "git push --dry-run ./nowhere" }));
    assert!(plain.wait_for("permission required: ").contains("git push --dry-run ./nowhere"));
    plain.wait_for("Answer: yes");
    plain.wait_for_prompt();
    plain.say("y");
    plain.wait_for("write yes, always, no, never, or because REASON");
    plain.wait_for_prompt();
    plain.say("because it is Friday");
    let refused = model.next();
    assert!(refused.request.to_string().contains("it is Friday"));
    refused.say("Then on Monday.");
    plain.wait_for("tiller: Then on Monday.");
    plain.wait_for_prompt();

    plain.say("/settings");
    plain.wait_for("2. ui.theme, \"terminal\", default, The theme");
    plain.wait_for("Answer with a number");
    plain.wait_for_prompt();
    plain.say("4");
    plain.wait_for("2. after");
    plain.wait_for_prompt();
    plain.say("2");
    plain.wait_for("ui.enter = \"after\" is in ");
    plain.wait_for_prompt();
    plain.say("/settings ui.enter later");
    assert!(plain.wait_for("ui.enter: ").contains("later"));
    plain.wait_for_prompt();
    plain.say("/screen inline");
    plain.wait_for("there is no terminal here");
    plain.wait_for_prompt();

    let lines = plain.end();
    for line in &lines {
        let is_plain = |c: char| {
            !c.is_control()
                && !('\u{2500}'..='\u{259f}').contains(&c)
                && !('\u{2800}'..='\u{28ff}').contains(&c)
        };
        assert!(line.chars().all(is_plain), "{line:?}");
    }
    let config = std::fs::read_to_string(home.path().join("home/.config/tiller/config.toml")).unwrap();
    assert!(config.contains("enter = \"after\""), "{config}");
}

/// The terminal shows what is typed, and edits the line.
#[test]
fn a_typed_line_is_seen_once_in_a_terminal_and_the_prompt_comes_after_the_answer() {
    let model = Model::start();
    let home = model.home();
    let Some(tmux) = Tmux::start(&home, &[("TILLER", env!("CARGO_BIN_EXE_tiller"))]) else { return };
    tmux.shell("clear; $TILLER --screen plain; echo over=$?");
    tmux.wait("the prompt", |screen| screen.trim_end().ends_with("\n>"));
    tmux.text("hello there");
    tmux.key("Enter");
    let answer = model.next();
    assert_eq!(answer.prompt(), "hello there");
    answer.say("Hello.");
    tmux.wait("the next prompt", |screen| screen.trim_end().ends_with("tiller: Hello.\n>"));
    tmux.text("!echo from here");
    tmux.key("Enter");
    let screen =
        tmux.wait("the output", |screen| screen.contains("tool: bash") && screen.trim_end().ends_with("\n>"));
    let lines: Vec<&str> = screen.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let at = |text: &str| lines.iter().position(|line| *line == text);
    let (typed, said, command) = (at("> hello there"), at("tiller: Hello."), at("> !echo from here"));
    assert!(typed.is_some() && typed < said && said < command, "{screen}");
    assert!(!screen.contains("you: "), "nothing is shown twice: {screen}");
    tmux.key("C-d");
    tmux.wait_for("over=0");
    let screen = tmux.wait("the shell's own line", |screen| screen.contains("\n$"));
    assert!(screen.lines().any(|line| line.trim_end() == ">"), "{screen}");
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
    plain.wait_for_prompt();
    plain.end();
}

#[test]
fn in_plain_lines_a_letter_tries_a_failed_turn_again_and_a_slip_is_not_sent() {
    let model = Model::start();
    let home = model.home();
    let mut plain = Plain::start(&home);
    plain.wait_for_prompt();
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
