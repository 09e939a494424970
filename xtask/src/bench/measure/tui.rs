//! The terminal interface, through a pseudoterminal.

use super::super::figure::{Figure, Quantity};
use super::super::script::{BURST, PACED, Script, marker};
use super::super::window::Window;
use super::{Bench, open};
use anyhow::{Context, Result};
use serde_json::json;
use std::time::Duration;

/// The model in the status row, which is the last row of a frame.
const STATUS: &str = "openai/bench";
/// Characters that nothing but the echo of a key shows.
const ECHOED: [char; 10] = ['§', 'µ', '¶', '×', '÷', 'ß', 'ø', 'æ', 'þ', 'ð'];
/// How long the interface is watched doing nothing.
const IDLE: Duration = Duration::from_secs(3);
/// Turns of calls that produce a session of about 10,000 events.
const TURNS: usize = 80;

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut start = Figure::of(Quantity::ms("interface, start to first frame", 40.0));
    let mut burst = Figure::of(Quantity::time("interface, 5,000 chunks"));
    let mut cpu = Figure::of(Quantity::ms("interface, 5,000 chunks, processor time", 300.0));
    let mut ratio = Figure::of(Quantity::percent("interface, bytes to the terminal of text", 300.0));
    let mut echo = Figure::of(Quantity::ms("interface, key to echo while streaming", 16.0));
    let mut slowest = Figure::of(Quantity::ms("interface, slowest echo of a run", 50.0));
    let mut wakes = Figure::of(Quantity::count("interface, wake-ups per second when idle"));
    let agent = bench.ready()?;
    for _ in 0..bench.runs.min(5) {
        let mut window = Window::start(agent.in_terminal(&[]))?;
        start.add_time(window.wait_for(STATUS, 0)? - window.started);

        say(&mut window, Script::Burst)?;
        let (before, from) = (window.cpu()?, window.written.len());
        let sent = window.keys("\r")?;
        burst.add_time(window.wait_for(marker(BURST - 1).trim(), from)? - sent);
        cpu.add_time(window.cpu()?.saturating_sub(before));
        let text = BURST * marker(0).len();
        ratio.add((window.written.len() - from) as f64 * 100.0 / text as f64);

        // The rest of the turn, and the spinner's last step.
        window.listen(IDLE)?;
        let before = window.sleeps()?;
        window.listen(IDLE)?;
        wakes.add((window.sleeps()? - before) as f64 / IDLE.as_secs_f64());

        say(&mut window, Script::Paced)?;
        let from = window.written.len();
        window.keys("\r")?;
        window.wait_for(marker(1).trim(), from)?;
        let mut most = Duration::ZERO;
        for character in ECHOED {
            let from = window.written.len();
            let pressed = window.keys(&character.to_string())?;
            let took = window.wait_for(&character.to_string(), from)? - pressed;
            echo.add_time(took);
            most = most.max(took);
        }
        slowest.add_time(most);
        window.wait_for(marker(PACED - 1).trim(), from)?;
    }
    Ok(vec![start, burst, cpu, ratio, echo, slowest, wakes])
}

/// Opens a session of 10,000 events.
pub(super) fn long_session(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut first = Figure::of(Quantity::ms("interface, open 10,000 events, first frame", 80.0));
    let mut memory = Figure::of(Quantity::mib("interface, memory with 10,000 events", 25.0));
    let mut agent = bench.ready()?;
    let (session, _) = open(&mut agent)?;
    for _ in 0..TURNS {
        bench.turn(&mut agent, &session, Script::Lookups)?;
    }
    drop(agent.client.request("session/close", &json!({ "sessionId": session }))?);
    let mut empty = Window::start(agent.in_terminal(&[]))?;
    empty.wait_for(STATUS, 0)?;
    let before = empty.resident()?;
    drop(empty);
    for _ in 0..bench.runs.min(5) {
        let mut window = Window::start(agent.in_terminal(&["--session", &session]))?;
        first.add_time(window.wait_for(Script::Lookups.word(), 0)? - window.started);
        window.listen(Duration::from_millis(500))?;
        memory.add(window.resident()?.saturating_sub(before) as f64 / 1024.0);
    }
    Ok(vec![first, memory])
}

/// Types the prompt of a script, without sending it.
fn say(window: &mut Window, script: Script) -> Result<()> {
    let from = window.written.len();
    window.keys(script.word())?;
    // The echo may come in pieces; its last character is the end.
    let last = script.word().chars().last().context("a script has a word")?;
    window.wait_for(&last.to_string(), from)?;
    window.listen(Duration::from_millis(50))
}
