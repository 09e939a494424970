//! Describes the model's environment in lines of text.

use super::ProjectSnapshot;
use crate::{Mode, prompt::briefing::Fact};
use system::{AbsPath, Route, ShellProgram, System};

/// The environment of a model.
pub(crate) struct Place<'a> {
    pub(crate) cwd: &'a AbsPath,
    pub(crate) additional_directories: &'a [AbsPath],
    pub(crate) mode: Mode,
    /// Provides the date, the shell, and the machines involved.
    pub(crate) system: &'a dyn System,
    /// Where commands run and what confines them, in words.
    pub(crate) commands: String,
    pub(crate) snapshot: &'a ProjectSnapshot,
}

/// Returns a line for each fact. One with an empty value is sent only if it had another value
/// before.
pub(crate) fn facts(place: &Place<'_>) -> Vec<Fact> {
    let cwd = place.cwd.as_str();
    let shell = place.system.shell();
    let mut facts =
        vec![Fact::line("folder", cwd, format!("Folder: {cwd} (relative paths are relative to it)"))];
    let further: Vec<_> = place.additional_directories.iter().map(AbsPath::as_str).collect();
    facts.push(Fact::line(
        "further",
        further.join(", "),
        match further[..] {
            [] => "Further folders: none any more".to_owned(),
            _ => format!("Further folders you may work in: {}", further.join(", ")),
        },
    ));
    if let Some(today) = &place.system.today() {
        facts.push(Fact::line("date", today, format!("Date: {today}")));
    }
    let (os, cpu) = (std::env::consts::OS, std::env::consts::ARCH);
    facts.push(Fact::line("system", format!("{os} {cpu}"), format!("System: {os} {cpu}")));
    facts.push(Fact::line(
        "shell",
        shell.program(),
        match shell {
            ShellProgram::Bash => "Shell: bash",
            ShellProgram::Sh => {
                "Shell: sh, which may be dash: keep to POSIX, without arrays, [[ ]], &> or pipefail"
            }
        },
    ));
    facts.push(Fact::line("commands", &place.commands, format!("Commands run {}", place.commands)));
    let git = &place.snapshot.git;
    if !git.is_empty() {
        facts.push(Fact::line("git", git, format!("Git: {git}")));
    }
    let reads = if place.system.routes().read_text == Route::Client { "editor" } else { "" };
    facts.push(Fact::line(
        "reads",
        reads,
        match reads {
            "" => "Files are read from disk",
            _ => "Files are read through the user's editor: you see unsaved changes as well",
        },
    ));
    let machines = if place.system.editor_is_remote() { "two" } else { "" };
    facts.push(Fact::line("machines", machines, match machines {
        "" => "There is one machine now: tools act on the user's project",
        _ => "There are two machines. The project is on the USER'S machine: the tools whose names begin with ide_ act there, through \
              the user's editor, unsaved changes included. All other tools act on the AGENT'S machine, where Tiller is running: use \
              them for your own work",
    }));
    facts.push(Fact::line(
        "mode",
        place.mode.id(),
        match place.mode {
            Mode::Edit => "Mode: Edit. You may change files and run commands",
            Mode::Plan => {
                "Mode: Plan. Change nothing: read, think, and present a plan that the user can approve"
            }
            Mode::Ask => "Mode: Ask. Change nothing: read, and answer the question",
        },
    ));
    facts
}

/// Returns the mode that a briefing announces. `None` for any other text, and for a briefing on
/// other facts.
pub fn announced_mode(text: &str) -> Option<Mode> {
    let lines = text.strip_prefix("<environment")?.split("</environment").next()?;
    let line = lines.lines().find_map(|line| line.strip_prefix("Mode: "))?;
    Mode::ALL
        .into_iter()
        .find(|mode| line.strip_prefix(mode.label()).is_some_and(|rest| rest.starts_with('.')))
}

#[cfg(test)]
mod tests {
    use super::announced_mode;
    use crate::Mode;

    #[test]
    fn a_briefing_announces_the_mode() {
        let update =
            "<environment_update>\nGit: branch main\nMode: Plan. Change nothing\n</environment_update>";
        assert_eq!(announced_mode(update), Some(Mode::Plan));
        assert_eq!(announced_mode("<environment>\nMode: Edit. You may\n</environment>"), Some(Mode::Edit));
        assert_eq!(announced_mode("<environment>\nDate: today\n</environment>\nMode: Ask."), None);
        assert_eq!(announced_mode("Mode: Ask. Please"), None);
    }
}
