//! What the user said "always" to, for this session.

use super::{Subject, rules, shell::Shell};
use std::{collections::HashMap, sync::Mutex};
use system::AbsPath;

/// What a grant covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Grant {
    /// Commands that begin with these words.
    CommandPrefix(String),
    /// This very line.
    CommandLine(String),
    /// One tool's writes below one folder.
    Writes(String, AbsPath),
    /// One tool's reads below one folder.
    Reads(String, AbsPath),
    /// A tool, or a function called through one.
    Tool(String),
}

/// The answers of a session; forgotten when the permission mode changes.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    answers: Mutex<HashMap<Grant, bool>>,
}

impl Grants {
    /// Remembers an answer.
    pub(crate) fn remember(&self, grants: Vec<Grant>, allow: bool) {
        let mut answers = self.lock();
        for grant in grants {
            answers.insert(grant, allow);
        }
    }

    /// Forgets every answer.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// The answer that covers all of a call, if one does: a refusal of any part refuses it, approval needs every part.
    pub(crate) fn answer(&self, subject: &Subject<'_>) -> Option<bool> {
        let grants = scope(subject);
        let answers = self.lock();
        let found: Vec<_> = grants.iter().map(|grant| covering(&answers, grant)).collect();
        if found.contains(&Some(false)) {
            return Some(false);
        }
        (!found.is_empty() && found.iter().all(|answer| *answer == Some(true))).then_some(true)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Grant, bool>> {
        self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn covering(answers: &HashMap<Grant, bool>, grant: &Grant) -> Option<bool> {
    match grant {
        Grant::Writes(tool, folder) | Grant::Reads(tool, folder) => {
            answers.iter().find_map(|(held, allow)| {
                let covers = match (held, grant) {
                    (Grant::Writes(t, f), Grant::Writes(..)) | (Grant::Reads(t, f), Grant::Reads(..)) => {
                        t == tool && folder.starts_with(f)
                    }
                    _ => false,
                };
                covers.then_some(*allow)
            })
        }
        grant => answers.get(grant).copied(),
    }
}

/// What "always" would cover for a call.
pub(crate) fn scope(subject: &Subject<'_>) -> Vec<Grant> {
    let mut grants = Vec::new();
    for resolved in subject.accesses {
        match &resolved.access {
            crate::Access::Write(path) => {
                let folder = path.parent().unwrap_or_else(|| path.clone());
                grants.push(Grant::Writes(subject.tool.to_owned(), folder));
            }
            crate::Access::Read(path) => {
                let outside = !super::inside(subject.roots, resolved);
                if outside {
                    grants.push(Grant::Reads(
                        subject.tool.to_owned(),
                        path.parent().unwrap_or_else(|| path.clone()),
                    ));
                }
            }
            crate::Access::Execute { command, .. } => match resolved.shell.as_ref() {
                Some(Shell::Commands(commands))
                    if commands.iter().all(|c| c.writes.is_empty() && !c.elevated) =>
                {
                    let asked = commands.iter().filter(|command| !rules::is_safe(command));
                    let prefix = |command| on_its_machine(subject.tool, rules::grant_prefix(command));
                    grants.extend(asked.map(|command| Grant::CommandPrefix(prefix(command))));
                }
                _ => grants.push(Grant::CommandLine(on_its_machine(subject.tool, command.clone()))),
            },
            crate::Access::Fetch(_) => grants.push(Grant::Tool(subject.tool.to_owned())),
            crate::Access::Call { function, .. } => grants.push(Grant::Tool(function.clone())),
        }
    }
    grants.dedup();
    if grants.is_empty() {
        grants.push(Grant::Tool(subject.tool.to_owned()));
    }
    grants
}

/// The same words on another machine are another thing: what is allowed to `bash` is not allowed to a tool that runs commands elsewhere.
fn on_its_machine(tool: &str, words: String) -> String {
    if tool == "bash" { words } else { format!("{tool}: {words}") }
}

/// What a scope covers, in words for the option's label.
pub(crate) fn label(grants: &[Grant]) -> String {
    let parts: Vec<_> = grants
        .iter()
        .map(|grant| match grant {
            Grant::CommandPrefix(prefix) => format!("`{prefix} …`"),
            Grant::CommandLine(_) => "this exact command".to_owned(),
            Grant::Writes(tool, folder) => format!("{tool} in {folder}"),
            Grant::Reads(tool, folder) => format!("{tool} in {folder}"),
            Grant::Tool(tool) => tool.clone(),
        })
        .collect();
    format!("{} in this session", parts.join(", "))
}
