//! Holds back streamed text that may turn out to be a call, so that no markup is shown as an
//! answer.

use super::{CallForms, marked};

/// Maximum size of held text in bytes; longer text is shown as it arrives, and its end is still
/// checked for calls.
const MOST: usize = 256 * 1024;
/// Maximum length of a code fence's first line or an object's first key, in bytes.
const SHORT: usize = 64;

/// Keys that a call in JSON begins with.
const KEYS: [&str; 14] = [
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "recipient_name",
    "action",
    "tool_calls",
    "function_call",
    "tool_call",
    "arguments",
    "parameters",
    "type",
    "thought",
];

/// A filter on a text stream that holds back what may be a call.
pub(crate) struct Hold {
    forms: CallForms,
    held: String,
    /// Bytes released.
    released: usize,
    /// Whether only whitespace precedes on the same line.
    line_begins: bool,
    /// Whether the last released character belongs to a word.
    in_word: bool,
    /// Inside a code fence that is not a call.
    in_code: bool,
    /// Nothing is held back any more.
    off: bool,
}

/// How to handle the held text.
enum Step {
    /// Release that many bytes.
    Release(usize),
    /// Wait for more.
    Wait,
    /// Release everything, now and from now on.
    Off,
}

impl Hold {
    pub(crate) fn new(forms: Option<CallForms>) -> Self {
        Self {
            forms: forms.unwrap_or(CallForms::Marked),
            held: String::new(),
            released: 0,
            line_begins: true,
            in_word: false,
            in_code: false,
            off: forms.is_none(),
        }
    }

    /// Takes more text; returns what can be shown now.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        let mut out = String::new();
        loop {
            let step = if self.off { Step::Off } else { self.step() };
            match step {
                Step::Wait => return out,
                Step::Off => {
                    self.off = true;
                    self.release(self.held.len(), &mut out);
                    return out;
                }
                Step::Release(bytes) => self.release(bytes, &mut out),
            }
        }
    }

    /// Returns the number of bytes released.
    pub(crate) fn released(&self) -> usize {
        self.released
    }

    /// Returns the held text, up to this offset in the whole text.
    pub(crate) fn rest(&self, end: usize) -> &str {
        self.held.get(..end.saturating_sub(self.released)).unwrap_or(&self.held)
    }

    fn release(&mut self, bytes: usize, out: &mut String) {
        for char in self.held[..bytes].chars() {
            self.line_begins = char == '\n' || self.line_begins && char.is_whitespace();
            self.in_word = char.is_alphanumeric() || "._".contains(char);
        }
        self.released += bytes;
        out.extend(self.held.drain(..bytes));
    }

    fn step(&mut self) -> Step {
        if self.held.is_empty() {
            return Step::Wait;
        }
        if self.in_code {
            return self.code();
        }
        match self.candidate() {
            None => Step::Release(self.held.len()),
            Some(0) => self.judge(),
            Some(at) => Step::Release(at),
        }
    }

    /// Handles text in a code fence: line by line until its end.
    fn code(&mut self) -> Step {
        let line = self.held.find('\n').map(|at| at + 1);
        if self.line_begins && begins(&self.held, "```") {
            return match line {
                Some(end) => {
                    self.in_code = false;
                    Step::Release(end)
                }
                None if self.held.len() > SHORT => Step::Release(self.held.len()),
                None => Step::Wait,
            };
        }
        Step::Release(line.unwrap_or(self.held.len()))
    }

    /// Returns the offset of the first possible beginning of a call.
    fn candidate(&self) -> Option<usize> {
        let (mut line_begins, mut in_word) = (self.line_begins, self.in_word);
        for (at, char) in self.held.char_indices() {
            let rest = &self.held[at..];
            let marked = !(in_word && char.is_alphanumeric()) && marked::may_begin(rest);
            let plain = char == '{' || char == '[' || begins(rest, "Action:");
            let plain = line_begins && (begins(rest, "```") || plain && self.forms == CallForms::Any);
            if marked || plain {
                return Some(at);
            }
            line_begins = char == '\n' || line_begins && char.is_whitespace();
            in_word = char.is_alphanumeric() || "._".contains(char);
        }
        None
    }

    /// Decides on held text that begins with a possible call.
    fn judge(&mut self) -> Step {
        let held = self.held.as_str();
        if held.len() > MOST {
            return Step::Off;
        }
        if marked::may_begin(held) {
            return Step::Wait;
        }
        if begins(held, "```") {
            return self.fence();
        }
        let is_call = match held.as_bytes()[0] {
            b'{' | b'[' => first_key_is_of_a_call(held),
            _ => Some(true),
        };
        match is_call {
            Some(false) => Step::Release(1),
            Some(true) | None => Step::Wait,
        }
    }

    fn fence(&mut self) -> Step {
        let held = self.held.as_str();
        let Some(line) = held.find('\n').map(|at| at + 1) else {
            return if held.len() > SHORT { Step::Release(held.len()) } else { Step::Wait };
        };
        let (info, body) = (held[3.min(line)..line].trim().to_lowercase(), &held[line..]);
        let any = self.forms == CallForms::Any;
        let is_call = match info.as_str() {
            "tool_code" | "tool_call" | "tool_calls" | "tool" if any => Some(true),
            "" | "json" | "jsonc" | "json5" => match body.trim_start().starts_with('<') {
                true => Some(marked::may_begin(body.trim_start())),
                false => first_key_is_of_a_call(body).map(|is_call| is_call && any),
            },
            "xml" => Some(body.trim().is_empty() || marked::may_begin(body.trim_start())),
            _ => Some(false),
        };
        if is_call == Some(false) {
            self.in_code = true;
            return Step::Release(line);
        }
        // Words after the end of the fence: a quotation, or one of several calls between words.
        let end = body.find("\n```").map(|at| line + at + 4);
        match end.map(|end| (end, held[end..].trim_start())) {
            Some((end, after)) if !after.is_empty() && !begins(after, "```") && !marked::may_begin(after) => {
                Step::Release(end)
            }
            _ => Step::Wait,
        }
    }
}

/// Whether a text begins with a mark, or may do so once more of it has arrived.
fn begins(text: &str, mark: &str) -> bool {
    text.starts_with(mark) || mark.starts_with(text)
}

/// Whether the first key of an object, or of a list's first object, belongs to a call. `None` if
/// not yet known.
fn first_key_is_of_a_call(text: &str) -> Option<bool> {
    let text = text.trim_start();
    let text = text.strip_prefix('[').unwrap_or(text).trim_start();
    let Some(inside) = text.strip_prefix('{') else {
        return if text.is_empty() { None } else { Some(false) };
    };
    // Some models double the braces.
    let inside = inside.trim_start();
    let inside = inside.strip_prefix('{').unwrap_or(inside).trim_start();
    if inside.is_empty() {
        return None;
    }
    let key = inside.trim_start_matches(['"', '\'']);
    match key.find(['"', '\'', ':', ' ', '\n']) {
        Some(end) => Some(KEYS.contains(&&key[..end])),
        None if key.len() > SHORT => Some(false),
        None => None,
    }
}
