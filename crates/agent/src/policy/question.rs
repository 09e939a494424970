//! The text of permission questions: what would be done, where, what confines it, and why it is
//! asked.

use super::{CommandConfinement, Policy, Resolved, Subject, names};
use crate::text::host;
use crate::{Access, CallPlace, one_line, tool::titles::path_title};
use system::AbsPath;

/// Commands and URLs of more bytes than this are shown with their length, so that the visible part
/// is not mistaken for the whole.
const LONG_COMMAND: usize = 200;
/// The maximum number of characters shown of the model's reason.
const REASON_CHARS: usize = 200;

/// Returns the question about a call; `why` is a sentence or empty.
pub(super) fn of(policy: &Policy<'_>, subject: &Subject<'_>, why: &str) -> String {
    let asked = asked(policy, subject);
    if why.is_empty() { asked } else { format!("{asked} {why}") }
}

fn asked(policy: &Policy<'_>, subject: &Subject<'_>) -> String {
    let mut writes = Vec::new();
    for resolved in subject.accesses {
        match &resolved.access {
            Access::Execute { command, cwd, unconfined, reason, .. } => {
                let here =
                    if policy.apart { "on the agent's machine, not on yours" } else { "on this machine" };
                let (line, words) = (named(command), policy.confinement.describe_at(here));
                let asked = format!("Run {line} {words}, in {}?", one_line(cwd.as_str()));
                return match unconfined {
                    true => format!("{asked} {}", reason_in_words(reason.as_deref())),
                    false => asked,
                };
            }
            Access::Write(path) => writes.push(one_line(title(path, subject.roots))),
            Access::Fetch(url) => {
                let host = host::of(url).map(|host| format!(" from {host}")).unwrap_or_default();
                return format!("Fetch {}{host}? The host receives this URL.", named(url));
            }
            _ => {}
        }
    }
    let sampling = subject.tool.strip_suffix(crate::SAMPLING).and_then(|rest| rest.strip_suffix("__"));
    if let Some(server) = sampling.and_then(|rest| rest.strip_prefix(names::MCP)) {
        return format!("Let the MCP server '{server}' ask your model this?");
    }
    match writes.as_slice() {
        [] => format!("Allow '{}'?", subject.tool),
        writes => format!("Write {}?", writes.join(", ")),
    }
}

/// Returns where a call acts: the directory of its command or of its files, and what confines it or
/// lies outside. `apart` if the agent is on another machine than the editor.
pub(crate) fn place(subject: &Subject<'_>, confinement: CommandConfinement, apart: bool) -> CallPlace {
    let mut place = CallPlace { directory: subject.roots.first().cloned(), facts: Vec::new() };
    let outside = |resolved: &&Resolved| !super::inside(subject.roots, resolved);
    let path = |resolved: &Resolved| match &resolved.access {
        Access::Read(path) | Access::Write(path) => path.parent(),
        _ => None,
    };
    for resolved in subject.accesses {
        match &resolved.access {
            Access::Execute { cwd, .. } => {
                let elsewhere = apart.then(|| "on the agent's machine, not on yours".to_owned());
                let facts = elsewhere.into_iter().chain(confinement.facts()).collect();
                return CallPlace { directory: Some(cwd.clone()), facts };
            }
            Access::Fetch(url) => {
                let facts = host::of(url).into_iter().chain(["network".to_owned()]).collect();
                return CallPlace { directory: None, facts };
            }
            _ => {}
        }
    }
    if let Some(resolved) = subject.accesses.iter().find(outside) {
        place.directory = path(resolved);
        place.facts.push("outside of the session's directories".to_owned());
    }
    if let Some(rest) = subject.tool.strip_prefix(names::MCP) {
        let server = rest.split("__").next().unwrap_or_default();
        place = CallPlace { directory: None, facts: vec![format!("MCP server '{server}'")] };
    }
    place
}

/// Returns a path for display: relative to the session's directory, which is the first root.
fn title<'a>(path: &'a AbsPath, roots: &[AbsPath]) -> &'a str {
    roots.first().map_or(path.as_str(), |cwd| path_title(path, cwd))
}

/// Returns a command or a URL on one line, with its length if it is long.
fn named(command: &str) -> String {
    let size = match command.len() {
        0..=LONG_COMMAND => String::new(),
        long => format!(" ({long} bytes)"),
    };
    format!("`{}`{size}", one_line(command))
}

/// Shortens a question for a client that shows the command next to it.
pub(crate) fn beside_command(question: &str, command: &str) -> String {
    match question.strip_prefix("Run ").and_then(|rest| rest.strip_prefix(&named(command))) {
        Some(rest) => format!("Run this{rest}"),
        None => question.to_owned(),
    }
}

/// Returns the model's stated reason for leaving the sandbox.
fn reason_in_words(reason: Option<&str>) -> String {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let Some(reason) = reason else { return "The model gave no reason for leaving the sandbox.".to_owned() };
    let shown = one_line(reason);
    // A quote in it would look like its end.
    let cut: String = shown.replace('"', "'").chars().take(REASON_CHARS).collect();
    let more = if cut.len() < shown.len() { "…" } else { "" };
    format!("The model's reason: \"{cut}{more}\".")
}
