//! Answers while they are streamed.

use super::super::figure::{Figure, Quantity};
use super::super::script::{BURST, LAST_WORDS, MARKDOWN, PACED, SLOW, SLOW_PACE, Script, marker};
use super::super::window::Window;
use super::Bench;
use super::tui::{SETTLED, STATUS, say, send};
use anyhow::Result;
use std::time::Duration;

/// The beginning of an update that is shown at once: a frame.
const FRAME: &[u8] = b"\x1b[?2026h";
/// Keys whose echoes are timed in one run.
const ECHOES: u32 = 60;
/// The pause between two keys; all of them fall into the second that a paced response takes.
const KEY_PAUSE: Duration = Duration::from_millis(12);
/// Keys after which the composer is emptied again.
const ECHOES_PER_LINE: u32 = 10;
/// Characters that nothing but the echo of a key shows, from this one on.
const ECHOED: u32 = 0x4e00;
/// Deletes the text before the cursor.
const CLEAR: &str = "\u{15}";

/// Measures bursts of text, and keys that are typed while text arrives.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut plain = Figure::of(Quantity::time("interface, 5,000 short chunks"));
    let mut burst = Figure::of(Quantity::time("interface, 5,000 chunks of Markdown (320 kB)"));
    let mut cpu = Figure::of(Quantity::ms("… processor time", 300.0));
    let mut frames = Figure::of(Quantity::at_most("… frames per second", 60.0));
    let mut bytes = Figure::of(Quantity::percent("… bytes to the terminal, of the text", 300.0));
    let mut long =
        Figure::of(Quantity::percent("1 MB of Markdown, processor time, of four times 250 kB", 125.0));
    let mut ssh = Figure::of(Quantity::at_most("50 chunks a second, kB to the terminal a second", 30.0));
    let mut echoes = Vec::new();
    let agent = bench.ready()?;
    for _ in 0..bench.runs.min(5) {
        let mut window = Window::start(agent.in_terminal(&[]))?;
        window.wait_for(STATUS, 0)?;
        say(&mut window, Script::Burst)?;
        let from = window.written.len();
        let sent = window.keys("\r")?;
        plain.add_time(window.wait_for(marker(BURST - 1).trim(), from)? - sent);
        window.listen(SETTLED)?;

        say(&mut window, Script::Markdown)?;
        let (before, from) = (window.cpu()?, window.written.len());
        let sent = window.keys("\r")?;
        let took = window.wait_for(LAST_WORDS, from)? - sent;
        burst.add_time(took);
        window.listen(SETTLED)?;
        cpu.add_time(window.cpu()?.saturating_sub(before));
        let written = &window.written[from..];
        bytes.add(written.len() as f64 * 100.0 / MARKDOWN as f64);
        let drawn = written.windows(FRAME.len()).filter(|part| *part == FRAME).count();
        frames.add(drawn as f64 / took.as_secs_f64());

        let from = send(&mut window, Script::Slow)?;
        window.wait_for(LAST_WORDS, from)?;
        let time = SLOW_PACE * u32::try_from(SLOW)?;
        ssh.add((window.written.len() - from) as f64 / 1000.0 / time.as_secs_f64());
        window.listen(SETTLED)?;
        echo(&mut window, &mut echoes)?;
    }
    for _ in 0..bench.runs.min(3) {
        let mut window = Window::start(agent.in_terminal(&[]))?;
        window.wait_for(STATUS, 0)?;
        let mut quarters = Duration::ZERO;
        for _ in 0..4 {
            quarters += cost(&mut window, Script::Quarter)?;
        }
        let whole = cost(&mut window, Script::Whole)?;
        long.add(whole.as_secs_f64() * 100.0 / quarters.as_secs_f64());
    }
    echoes.sort();
    let share = |name, target, thousandth: usize| {
        let mut figure = Figure::of(Quantity::ms(name, target));
        figure.add_time(echoes[(echoes.len() - 1) * thousandth / 1000]);
        figure
    };
    let p99 = share("key to echo while text arrives, p99", 16.0, 990);
    let p999 = share("… p99.9", 50.0, 999);
    Ok(vec![plain, burst, cpu, frames, bytes, long, ssh, p99, p999])
}

/// Returns the processor time of a turn.
fn cost(window: &mut Window, script: Script) -> Result<Duration> {
    say(window, script)?;
    let (before, from) = (window.cpu()?, window.written.len());
    window.keys("\r")?;
    window.wait_for(LAST_WORDS, from)?;
    window.listen(SETTLED)?;
    Ok(window.cpu()?.saturating_sub(before))
}

/// Times the echoes of keys during a paced response.
fn echo(window: &mut Window, times: &mut Vec<Duration>) -> Result<()> {
    let from = send(window, Script::Paced)?;
    window.wait_for(marker(1).trim(), from)?;
    for number in 0..ECHOES {
        let character = char::from_u32(ECHOED + number).unwrap_or('§').to_string();
        let from = window.written.len();
        let pressed = window.keys(&character)?;
        times.push(window.wait_for(&character, from)? - pressed);
        window.listen(KEY_PAUSE)?;
        if (number + 1) % ECHOES_PER_LINE == 0 {
            window.keys(CLEAR)?;
        }
    }
    window.keys(CLEAR)?;
    window.wait_for(marker(PACED - 1).trim(), from)?;
    window.listen(SETTLED)
}
