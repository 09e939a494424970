//! The terminal, as far as its variables and its size show it. It is asked nothing: an answer could
//! end up in the next command line.

use super::super::{Subject, report::Check};
use crate::{environment::Environment, streams};

/// Terminals that report keys unambiguously (the kitty keyboard protocol), by a variable or its value.
const KEYBOARD_PROTOCOL: &[(&str, &str)] = &[
    ("TERM", "kitty"),
    ("TERM", "ghostty"),
    ("TERM", "foot"),
    ("TERM", "alacritty"),
    ("TERM_PROGRAM", "WezTerm"),
    ("TERM_PROGRAM", "ghostty"),
    ("TERM_PROGRAM", "iTerm.app"),
];

/// Describes the terminal.
pub(crate) fn terminal(subject: &Subject<'_>) -> Vec<Check> {
    const TITLE: &str = "terminal";
    let environment = subject.environment;
    let mut checks = Vec::new();
    let Some(columns) = streams::stdout_width() else {
        return vec![
            Check::skipped("terminal", TITLE, "standard output is not a terminal"),
            locale(environment),
        ];
    };
    let get = |name: &str| environment.get(name).unwrap_or_default();
    let colours = match (get("NO_COLOR"), get("TERM"), get("COLORTERM")) {
        (set, ..) if !set.is_empty() => "no colours (NO_COLOR)",
        (_, "dumb" | "", _) => "no colours",
        (_, _, "truecolor" | "24bit") => "true colours",
        (_, term, _) if term.contains("256color") => "256 colours",
        _ => "16 colours",
    };
    let keys = KEYBOARD_PROTOCOL.iter().any(|(variable, value)| get(variable).contains(value));
    let keys = if keys { "unambiguous keys" } else { "shift+enter may be the same as enter" };
    checks.push(Check::ok("terminal", TITLE, format!("{columns} columns, {colours}, {keys}")));
    if !get("TMUX").is_empty() {
        checks.push(Check::ok(
            "multiplexer",
            TITLE,
            "tmux: the clipboard and notifications need `set -g set-clipboard on` and `set -g allow-passthrough on`",
        ));
    }
    checks.push(locale(environment));
    checks
}

fn locale(environment: &Environment) -> Check {
    const TITLE: &str = "locale";
    let name = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| environment.get(name));
    match name {
        Some(name) if name.to_uppercase().replace('-', "").contains("UTF8") => {
            Check::ok("locale", TITLE, name.to_owned())
        }
        Some(name) => {
            Check::warning("locale", TITLE, format!("{name} is not UTF-8: some characters may look wrong"))
                .next("export LC_ALL=C.UTF-8")
        }
        None => Check::ok("locale", TITLE, "not set"),
    }
}
