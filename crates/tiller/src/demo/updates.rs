//! Prints the agent's `session/update` notifications.

use super::screen::{Paint, Screen};
use crate::limits;
use serde_json::Value;
use std::collections::BTreeMap;
use system::AbsPath;

/// Prints updates, and remembers the titles of tool calls: later updates carry only what changed.
pub(super) struct Updates {
    root: AbsPath,
    calls: BTreeMap<String, Call>,
}

#[derive(Default)]
struct Call {
    title: String,
    shown_title: String,
    shown_diff: bool,
    /// A read is shown by its request to the editor, so its end gets no row.
    quiet: bool,
    ended: bool,
}

impl Updates {
    /// Creates the printer. Paths below `root` are shown relative to it.
    pub(super) fn new(root: AbsPath) -> Self {
        Self { root, calls: BTreeMap::new() }
    }

    /// Prints an update.
    pub(super) fn show(&mut self, update: &Value, screen: &mut Screen) {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => screen.say(update["content"]["text"].as_str().unwrap_or_default()),
            Some("tool_call" | "tool_call_update") => self.call(update, screen),
            Some("plan") => {
                let entries = update["entries"].as_array().map_or(0, Vec::len);
                screen.step("plan", Paint::Cyan, &format!("{entries} steps"));
            }
            _ => {}
        }
    }

    /// Remembers the title of the tool call in a permission request.
    pub(super) fn remember(&mut self, call: &Value) {
        if let Some(title) = call["title"].as_str() {
            let id = call["toolCallId"].as_str().unwrap_or_default();
            self.calls.entry(id.to_owned()).or_default().title = title.to_owned();
        }
    }

    /// Returns the title of a tool call.
    pub(super) fn title(&self, call: &Value) -> String {
        let id = call["toolCallId"].as_str().unwrap_or_default();
        self.calls
            .get(id)
            .map_or_else(|| "something it has no name for".to_owned(), |call| self.relative(&call.title))
    }

    fn call(&mut self, update: &Value, screen: &mut Screen) {
        self.remember(update);
        let title = self.title(update);
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let call = self.calls.entry(id.to_owned()).or_default();
        if call.shown_title != title && !call.ended {
            call.shown_title.clone_from(&title);
            screen.step("tool", Paint::Bold, &title);
        }
        call.quiet |= matches!(update["kind"].as_str(), Some("read" | "search" | "think"));
        for content in update["content"].as_array().into_iter().flatten() {
            if content["type"] == "diff" && !call.shown_diff {
                call.shown_diff = true;
                let text = |field: &str| content[field].as_str().unwrap_or_default();
                show_diff(text("oldText"), text("newText"), screen);
            }
        }
        let (mark, paint) = match update["status"].as_str() {
            Some("completed") => ("done", Paint::Green),
            Some("failed") => ("failed", Paint::Red),
            _ => return,
        };
        let again = std::mem::replace(&mut call.ended, true);
        let quiet = call.quiet && mark == "done";
        if !again && !quiet {
            screen.step(mark, paint, &title);
            if mark == "failed" {
                for content in update["content"].as_array().into_iter().flatten() {
                    let text = content["content"]["text"].as_str().unwrap_or_default();
                    text.lines()
                        .take(limits::DEMO_TERMINAL_LINES)
                        .for_each(|line| screen.detail(Paint::Dim, line));
                }
            }
        }
    }

    fn relative(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root), "")
    }
}

/// Prints the changed lines: those between the common beginning and the common end.
fn show_diff(old: &str, new: &str, screen: &mut Screen) {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let after =
        old[before..].iter().rev().zip(new[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    let removed = old[before..old.len() - after].iter().map(|line| (Paint::Red, format!("- {line}")));
    let added = new[before..new.len() - after].iter().map(|line| (Paint::Green, format!("+ {line}")));
    for (paint, line) in removed.chain(added).take(limits::DEMO_DIFF_LINES) {
        screen.detail(paint, &line);
    }
}
