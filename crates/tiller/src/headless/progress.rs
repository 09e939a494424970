//! One line on standard error that shows what a run does, while a person waits for it.

use agent::{Phase, SessionEvent, one_line};
use std::{
    io::Write as _,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// The longest tool title in the line, in characters.
const TITLE_CHARS: usize = 40;

/// The state of a run, as the line shows it.
#[derive(Debug)]
pub(crate) struct Progress {
    began: Instant,
    state: Mutex<State>,
    /// Whether the line is drawn over itself, on a terminal.
    is_live: bool,
}

#[derive(Debug, Default)]
struct State {
    phase: &'static str,
    tool: Option<String>,
    tokens: u64,
    shown: bool,
}

impl Progress {
    /// Creates the line of a run that begins now.
    pub(crate) fn new(is_live: bool) -> Self {
        let state = State { phase: "starting", ..State::default() };
        Self { began: Instant::now(), state: Mutex::new(state), is_live }
    }

    /// Takes an event into account.
    pub(crate) fn event(&self, event: &SessionEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            SessionEvent::Phase(phase) => {
                state.phase = match phase {
                    Phase::Thinking => "thinking",
                    Phase::Tools => "working",
                    Phase::Idle => "ending",
                };
                state.tool = None;
            }
            SessionEvent::ToolCall(update) => {
                let ended = update.status.is_some_and(agent::ToolStatus::is_final);
                let title = update.display.title.clone();
                state.tool = if ended { None } else { title.or_else(|| state.tool.take()) };
                if !ended && !self.is_live && update.display.title.is_some() {
                    let line = line(&state, self.began.elapsed().as_secs());
                    drop(state);
                    crate::screen::note(&line);
                }
            }
            SessionEvent::Usage(usage) => state.tokens = usage.total.input + usage.total.output,
            _ => {}
        }
    }

    /// Draws the line over itself.
    pub(crate) fn draw(&self) {
        if !self.is_live {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.shown = true;
        let line = line(&state, self.began.elapsed().as_secs());
        // A closed stderr leaves nothing to draw on.
        let _ = crate::streams::stderr().write_all(format!("\r\u{1b}[2K{line}").as_bytes());
    }

    /// Removes the line, before anything else is written to the terminal.
    pub(crate) fn erase(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut state.shown) {
            let _ = crate::streams::stderr().write_all(b"\r\x1b[2K");
        }
    }
}

fn line(state: &State, seconds: u64) -> String {
    let tool = state.tool.as_deref().map(|title| agent::sanitise(&one_line(title)));
    let tool: String = tool.unwrap_or_default().chars().take(TITLE_CHARS).collect();
    let what = if tool.is_empty() { state.phase.to_owned() } else { format!("{}: {tool}", state.phase) };
    let tokens = if state.tokens > 0 { format!(", {} tokens", state.tokens) } else { String::new() };
    format!("{what} ({seconds} s{tokens})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_runs_for_how_long_and_what_it_used() {
        let state = State { phase: "working", tool: Some("make\ncheck".into()), tokens: 1200, shown: false };
        assert_eq!(line(&state, 7), "working: make⏎check (7 s, 1200 tokens)");
        let state = State { phase: "thinking", ..State::default() };
        assert_eq!(line(&state, 0), "thinking (0 s)");
    }
}
