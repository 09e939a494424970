//! The terminal interface, through a pseudoterminal.

use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::super::window::Window;
use super::Bench;
use anyhow::{Context, Result};
use std::time::Duration;

/// The model in the status row, which is the last row of a frame.
pub(super) const STATUS: &str = "openai/bench";
/// The sign before the message that is typed, which is in each frame.
const COMPOSER: &str = "> ";
/// How long the interface is watched while it does nothing, or only shows progress.
const WATCHED: Duration = Duration::from_secs(3);
/// How long the interface may take to settle before it is watched.
pub(super) const SETTLED: Duration = Duration::from_millis(500);

/// Measures the start, and what the interface costs while nothing happens.
pub(super) fn start(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut keys = Figure::of(Quantity::ms("interface, start to keys taken", 25.0));
    let mut first = Figure::of(Quantity::ms("interface, start to first frame", 40.0));
    let mut opened = Figure::of(Quantity::time("… to the frame with the open session"));
    let mut watcher = Figure::of(Quantity::mib("interface, memory of the terminal's watcher", 2.0));
    let mut idle = Figure::of(Quantity::at_most("interface, wake-ups per second when idle", 1.0));
    let mut spinner = Figure::of(Quantity::at_most("interface, frames per second while waiting", 8.0));
    let mut step = Figure::of(Quantity::at_most("interface, bytes of such a frame", 40.0));
    let agent = bench.ready()?;
    for _ in 0..bench.runs {
        let mut window = Window::start(agent.in_terminal(&[]))?;
        keys.add_time(window.wait_for_raw_mode()? - window.started);
        first.add_time(window.wait_for(COMPOSER, 0)? - window.started);
        opened.add_time(window.wait_for(STATUS, 0)? - window.started);
        drop(window);
    }
    for _ in 0..bench.runs.min(3) {
        let mut window = Window::start(agent.in_terminal(&[]))?;
        window.wait_for(STATUS, 0)?;
        window.listen(SETTLED)?;
        watcher.add(window.children_private()? as f64 / 1024.0);
        let before = window.sleeps()?;
        window.listen(WATCHED)?;
        idle.add((window.sleeps()? - before) as f64 / WATCHED.as_secs_f64());

        say(&mut window, Script::Hang)?;
        window.keys("\r")?;
        window.wait_for("hanging", window.written.len())?;
        window.listen(SETTLED)?;
        let (from, before) = (window.written.len(), window.pieces_taken);
        window.listen(WATCHED)?;
        let frames = window.pieces_taken - before;
        spinner.add(frames as f64 / WATCHED.as_secs_f64());
        step.add((window.written.len() - from) as f64 / frames.max(1) as f64);
    }
    Ok(vec![first, opened, keys, watcher, idle, spinner, step])
}

/// Types the prompt of a script, without sending it.
pub(super) fn say(window: &mut Window, script: Script) -> Result<()> {
    let from = window.written.len();
    window.keys(script.word())?;
    // The echo may come in pieces; its last character is the end.
    let last = script.word().chars().last().context("a script has a word")?;
    window.wait_for(&last.to_string(), from)?;
    window.listen(Duration::from_millis(50))
}

/// Sends the prompt of a script; returns where its output begins.
pub(super) fn send(window: &mut Window, script: Script) -> Result<usize> {
    say(window, script)?;
    let from = window.written.len();
    window.keys("\r")?;
    Ok(from)
}
