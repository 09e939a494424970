//! The terminal gets another size while something is on it.

use super::{RUNNING, Tmux, open_model};
use std::{
    io::Write,
    process::{Child, Command, Stdio},
};

/// Fails unless each of these lines is in the scrollback or on the screen exactly once and in this
/// order, whatever the terminal did with them.
fn assert_once_in_order(everything: &str, lines: &[String]) {
    let found: Vec<&str> = everything
        .lines()
        .filter_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("tiller").unwrap_or(line).trim();
            line.starts_with("row-").then_some(line)
        })
        .collect();
    assert_eq!(found, lines, "{everything}");
}

fn row(number: usize) -> String {
    // Of different lengths, some of which a narrow terminal wraps.
    format!("row-{number:03}-{}.", "x".repeat(number * 7 % 34))
}

#[test]
fn a_stream_survives_every_change_of_the_size() {
    let Some((model, _home, tmux)) = open_model() else { return };
    tmux.say("many rows");
    let mut answer = model.next();
    let sizes = [(50, 24), (120, 40), (44, 12), (44, 30), (100, 12), (60, 8), (80, 24)];
    let mut lines = Vec::new();
    answer.text("```\n");
    for (columns, rows) in sizes {
        // What arrives before the size changes, while it does, and after.
        for _ in 0..8 {
            lines.push(row(lines.len()));
            answer.text(&format!("{}\n", lines.last().unwrap()));
        }
        tmux.resize(columns, rows);
        for _ in 0..8 {
            lines.push(row(lines.len()));
            answer.text(&format!("{}\n", lines.last().unwrap()));
        }
        tmux.wait_for(lines.last().unwrap());
        tmux.wait("the live rows of this width", |screen| {
            screen
                .lines()
                .any(|line| line.chars().filter(|sign| *sign == '─').count() == usize::from(columns))
        });
    }
    answer.text("```\n");
    answer.say("The end.");
    tmux.wait("the end of the turn", |screen| screen.contains("The end.") && !screen.contains(RUNNING));
    tmux.quit();
    let everything = tmux.everything();
    assert_once_in_order(&everything, &lines);
    assert_eq!(everything.matches("The end.").count(), 1, "{everything}");
    let stale = everything.matches(RUNNING).count();
    assert!(stale <= sizes.len(), "{stale} live regions stayed\n{everything}");
}

/// A client of another size, as a person attaches it in another terminal.
struct Client(Child);

impl Client {
    fn attach(tmux: &Tmux, columns: u16, rows: u16) -> Self {
        let mut client = Command::new("tmux");
        client.arg("-S").arg(tmux.socket()).args(["-C", "attach-session", "-t", "t"]);
        let mut client = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let orders = client.stdin.as_mut().unwrap();
        writeln!(orders, "refresh-client -C {columns}x{rows}").unwrap();
        Self(client)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_terminal_can_be_detached_and_attached_with_another_size() {
    let Some((model, _home, tmux)) = open_model() else { return };
    // The first size of the window had fixed it.
    tmux.run(&["set", "-w", "-t", "t", "window-size", "latest"]);
    tmux.say("many rows");
    let mut answer = model.next();
    let mut lines = Vec::new();
    answer.text("```\n");
    let stream = |answer: &mut super::model::Answer, lines: &mut Vec<String>| {
        for _ in 0..20 {
            lines.push(row(lines.len()));
            answer.text(&format!("{}\n", lines.last().unwrap()));
        }
        tmux.wait_for(lines.last().unwrap());
    };
    stream(&mut answer, &mut lines);
    for (columns, rows) in [(60, 20), (130, 45)] {
        let client = Client::attach(&tmux, columns, rows);
        tmux.wait("the client's size", |_| tmux.property("#{window_width}") == columns.to_string());
        stream(&mut answer, &mut lines);
        drop(client);
        tmux.wait("the client has gone", |_| tmux.property("#{session_attached}") == "1");
        stream(&mut answer, &mut lines);
    }
    answer.text("```\n");
    answer.say("The end.");
    tmux.wait("the end of the turn", |screen| screen.contains("The end.") && !screen.contains(RUNNING));
    tmux.say("/quit");
    tmux.wait_for("over=0");
    assert_once_in_order(&tmux.everything(), &lines);
}

#[test]
fn a_change_of_the_size_keeps_what_was_said() {
    let home = crate::home::Home::new();
    home.write("long.txt", &(0..40).map(|line| format!("line {line} of the file\n")).collect::<String>());
    let Some(tmux) = super::open(&home) else { return };
    tmux.say("run `cat long.txt`");
    tmux.wait_for("line 39 of the file");
    for (columns, rows) in [(50, 20), (120, 40), (30, 12), (80, 24)] {
        tmux.resize(columns, rows);
        tmux.wait("the composer", |screen| screen.contains("guardian"));
    }
    let everything = tmux.everything();
    assert_eq!(everything.matches("run `cat long.txt`").count(), 1, "{everything}");
}
