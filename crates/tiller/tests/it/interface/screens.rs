//! The inline screen's invariant in a terminal that wraps its lines again.

use super::Tmux;
use crate::home::Home;
use std::{io::Write, process::Command};
use tui::{
    screens::{
        frame::{Frame, Rendering},
        inline::Inline,
    },
    text::row::Row,
};

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[test]
fn committed_lines_survive_every_size_of_a_terminal_that_rewraps() {
    for seed in 0..4 {
        let home = Home::new();
        let Some(tmux) = Tmux::start(&home, &[]) else { return };
        // What is written to the pipe goes to the terminal as it is.
        assert!(Command::new("mkfifo").arg(home.project().join("pipe")).status().unwrap().success());
        tmux.shell("clear; stty raw -echo; exec cat pipe");
        let mut pipe = std::fs::File::options().write(true).open(home.project().join("pipe")).unwrap();
        let mut numbers = Numbers(seed);
        let (mut columns, mut rows) = (80, 24);
        let mut inline = Inline::new(columns, rows, Rendering::default());
        let mut lines: Vec<String> = Vec::new();
        let mut resizes = 0;
        for step in 0..120 {
            if numbers.below(6) == 0 {
                (columns, rows) = (20 + numbers.below(100) as u16, 8 + numbers.below(30) as u16);
                tmux.resize(columns, rows);
                resizes += 1;
                inline.resize(columns, rows, true);
            }
            let from = lines.len();
            for _ in 0..numbers.below(4) {
                lines.push(format!("L{:04}.{}", lines.len(), "x".repeat(numbers.below(150) as usize)));
            }
            // The last row of the region says which frame this is.
            let mut live: Vec<Row> = (0..numbers.below(3))
                .map(|_| Row::new(format!("~{}", "-".repeat(numbers.below(100) as usize))))
                .collect();
            live.push(Row::new(format!("~step {step}.")));
            let cursor =
                Some((numbers.below(columns.into()) as u16, numbers.below(live.len() as u64) as u16));
            let commit = lines[from..].iter().cloned().map(Row::logical).collect();
            pipe.write_all(&inline.draw(&Frame { commit, live, cursor })).unwrap();
            tmux.wait_for(&format!("~step {step}."));
        }
        pipe.write_all(&inline.farewell()).unwrap();
        pipe.write_all(b"~end").unwrap();
        tmux.wait_for("~end");
        let everything = tmux.everything();
        let found: Vec<&str> =
            everything.lines().filter(|line| line.starts_with('L')).map(str::trim_end).collect();
        assert_eq!(found, lines, "seed {seed}");
        let stale = everything.lines().filter(|line| line.starts_with("~step")).count();
        assert!(
            stale <= resizes,
            "seed {seed}: {stale} live regions stayed after {resizes} changes\n{everything}"
        );
    }
}
