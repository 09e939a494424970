//! Records what passed through the editor, and checks it against the sample's story.

use super::screen::{Paint, Screen};
use std::collections::BTreeSet;

/// The mark that the demo appends to a command which the agent's launcher confines.
pub(super) const CONFINED: &str = "(confined: ";

/// The agent's requests to the editor.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) reads: Vec<Read>,
    pub(super) writes: Vec<String>,
    pub(super) terminals: Vec<Run>,
    pub(super) permissions: Vec<Permission>,
}

/// A file that the agent read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) path: String,
    /// Whether the text came from an unsaved buffer.
    pub(super) unsaved: bool,
}

/// A command that ran in a terminal.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) command: String,
    pub(super) success: bool,
    /// The exit status in words: `exit 0`, `SIGTERM`.
    pub(super) end: String,
}

/// A permission request with its answer.
#[derive(Debug)]
pub(super) struct Permission {
    pub(super) title: String,
    pub(super) answer: String,
    pub(super) allowed: bool,
}

impl Ledger {
    /// Prints the table.
    pub(super) fn print(&self, screen: &mut Screen) {
        let reads = self.reads.iter().map(|read| match read.unsaved {
            true => format!("{} (unsaved text)", read.path),
            false => read.path.clone(),
        });
        let runs = self.terminals.iter().map(|run| format!("{} → {}", run.command, run.end));
        let permissions = self.permissions.iter().map(|asked| format!("{} → {}", asked.title, asked.answer));
        screen.line(Paint::Plain, "");
        screen.line(Paint::Bold, "What went through the editor");
        for (name, count, what) in [
            ("reads", self.reads.len(), distinct(reads)),
            ("writes", self.writes.len(), distinct(self.writes.iter().cloned())),
            ("terminals", self.terminals.len(), distinct(runs)),
            ("permissions", self.permissions.len(), distinct(permissions)),
        ] {
            screen.line(Paint::Plain, &format!("  {name:<12} {count:>3}   {what}"));
        }
    }

    /// Returns the steps of the sample's story that did not happen.
    pub(super) fn missing(&self, file: &str) -> Vec<String> {
        let expected = [
            (
                self.reads.iter().any(|read| read.path == file && read.unsaved),
                "the unsaved buffer was not read",
            ),
            (self.writes.iter().any(|path| path == file), "the edit did not go through the editor"),
            (
                self.permissions.iter().any(|asked| asked.allowed)
                    || self.terminals.iter().any(|run| run.command.contains(CONFINED)),
                "a command ran neither confined nor with a permission",
            ),
            (self.terminals.iter().any(|run| run.success), "no command succeeded in the editor's terminal"),
        ];
        expected.into_iter().filter(|(happened, _)| !happened).map(|(_, lack)| lack.to_owned()).collect()
    }
}

fn distinct(items: impl Iterator<Item = String>) -> String {
    let mut seen = BTreeSet::new();
    let items: Vec<_> = items.filter(|item| seen.insert(item.clone())).collect();
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_each_missing_step_of_the_story() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.missing("a").len(), 4);
        ledger.reads.push(Read { path: "a".into(), unsaved: false });
        ledger.writes.push("b".into());
        ledger.permissions.push(Permission { title: "t".into(), answer: "no".into(), allowed: false });
        ledger.terminals.push(Run { command: "c".into(), success: false, end: "exit 1".into() });
        assert_eq!(ledger.missing("a").len(), 4);
        ledger.reads.push(Read { path: "a".into(), unsaved: true });
        ledger.writes.push("a".into());
        ledger.permissions.push(Permission { title: "t".into(), answer: "yes".into(), allowed: true });
        ledger.terminals.push(Run { command: "c".into(), success: true, end: "exit 0".into() });
        assert_eq!(ledger.missing("a"), Vec::<String>::new());
        ledger.permissions.clear();
        assert_eq!(ledger.missing("a").len(), 1);
        let command = format!("c {CONFINED}x)");
        ledger.terminals.push(Run { command, success: true, end: "exit 0".into() });
        assert_eq!(ledger.missing("a"), Vec::<String>::new());
    }
}
