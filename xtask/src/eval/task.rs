//! The tasks of `eval/tasks` and `eval/wide`: a prompt, a small project, and a check of the result.

use anyhow::{Context, Result, bail};
use regex::Regex;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// The directory of the tasks, in the workspace.
pub(super) const TASKS: &str = "eval/tasks";
/// The directory of the tasks in which subagents help.
pub(super) const WIDE: &str = "eval/wide";

/// The kind of work in a task.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Finding something out and answering; no file changes.
    Question,
    /// Changing one file.
    Edit,
    /// Renaming something in several files.
    Rename,
    /// Making a failing test pass.
    Test,
    /// Several requests in one prompt.
    Steps,
    /// A change whose neighbouring code must stay the same.
    Untouched,
}

impl Kind {
    /// All kinds, in the order of the table.
    pub(super) const ALL: [Self; 6] =
        [Self::Question, Self::Edit, Self::Rename, Self::Test, Self::Steps, Self::Untouched];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Edit => "edit",
            Self::Rename => "rename",
            Self::Test => "test",
            Self::Steps => "steps",
            Self::Untouched => "untouched",
        }
    }
}

/// The half that a task belongs to.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Split {
    /// Prompts and tools may be tuned with it.
    Tuned,
    /// It is used for measuring only.
    Frozen,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Tuned { "tuned" } else { "frozen" })
    }
}

/// The format of `task.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    prompt: String,
    kind: Kind,
    language: String,
    split: Split,
    #[serde(default)]
    peers: bool,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    change: Vec<String>,
    #[serde(default)]
    remove: Vec<String>,
    check: Option<String>,
    #[serde(default)]
    answer: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
    #[serde(default)]
    wrong: Vec<String>,
}

/// The check of the result.
#[derive(Debug)]
pub(super) enum Check {
    /// A bash script that runs in a copy of the project with the hidden files added.
    Script(String),
    /// Patterns for the answer.
    Answer {
        /// All of these must match.
        all: Vec<Regex>,
        /// None of these may match.
        none: Vec<Regex>,
        /// Wrong answers, with which the self-test tests the patterns.
        wrong: Vec<String>,
    },
}

/// A task.
#[derive(Debug)]
pub(super) struct Task {
    /// The name of its directory.
    pub(super) name: String,
    directory: PathBuf,
    pub(super) prompt: String,
    pub(super) kind: Kind,
    pub(super) language: String,
    pub(super) split: Split,
    /// Whether it is also used to evaluate other agents.
    pub(super) peers: bool,
    /// Programs that the project and its check need.
    pub(super) needs: Vec<String>,
    /// Files that may change: paths, or directories followed by `/*`.
    change: Vec<String>,
    /// Files that the reference solution removes.
    remove: Vec<String>,
    pub(super) check: Check,
}

impl Task {
    /// Reads a task's directory.
    fn read(directory: PathBuf) -> Result<Self> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(directory.join("task.toml"))?;
        let written: TaskFile = toml::from_str(&text)?;
        let check = check(&written)?;
        if !directory.join("files").is_dir() {
            bail!("files/ is missing");
        }
        let TaskFile { prompt, kind, language, split, peers, needs, change, remove, .. } = written;
        if (kind == Kind::Question) != change.is_empty() {
            bail!("a question changes nothing, and everything else something: see `change`");
        }
        if peers && split == Split::Tuned {
            bail!("other agents are measured with frozen tasks only");
        }
        let prompt = prompt.trim().to_owned();
        Ok(Self { name, directory, prompt, kind, language, split, peers, needs, change, remove, check })
    }

    /// Returns the directory with the initial project.
    pub(super) fn files(&self) -> PathBuf {
        self.directory.join("files")
    }

    /// Returns the directory of hidden files that are added before the check. It need not exist.
    pub(super) fn hidden(&self) -> PathBuf {
        self.directory.join("check")
    }

    /// Returns the directory of the reference solution: files that replace those of the project, or
    /// `answer.txt`.
    pub(super) fn solution(&self) -> PathBuf {
        self.directory.join("solution")
    }

    /// Returns the files that the reference solution removes, relative to the project.
    pub(super) fn removed(&self) -> &[String] {
        &self.remove
    }

    /// Returns whether a file may change; the path is relative to the project.
    pub(super) fn may_change(&self, path: &str) -> bool {
        self.change.iter().any(|allowed| match allowed.strip_suffix("/*") {
            Some(directory) => path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')),
            None => path == allowed,
        })
    }

    /// Returns whether any of the words, separated by commas, occurs in its name or equals its kind
    /// or language.
    pub(super) fn is_meant(&self, words: &str) -> bool {
        words
            .split(',')
            .map(str::trim)
            .any(|word| self.name.contains(word) || self.kind.name() == word || self.language == word)
    }
}

fn check(written: &TaskFile) -> Result<Check> {
    let patterns = |texts: &[String]| -> Result<Vec<Regex>> {
        texts.iter().map(|text| Regex::new(text).with_context(|| text.clone())).collect()
    };
    match (&written.check, written.answer.is_empty()) {
        (Some(script), true) => Ok(Check::Script(script.clone())),
        (None, false) if !written.wrong.is_empty() => Ok(Check::Answer {
            all: patterns(&written.answer)?,
            none: patterns(&written.not)?,
            wrong: written.wrong.clone(),
        }),
        (None, false) => bail!("`wrong` must hold an answer that is near and wrong"),
        _ => bail!("a task has either `check` or `answer`"),
    }
}

/// Reads all tasks in a directory, ordered by name.
pub(super) fn all(directory: &Path) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    let entries = std::fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            let name = path.display().to_string();
            tasks.push(Task::read(path).with_context(|| format!("{name}: task.toml"))?);
        }
    }
    tasks.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    fn read(toml: &str) -> Result<Task> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("files")).unwrap();
        std::fs::write(directory.path().join("task.toml"), toml).unwrap();
        Task::read(directory.path().to_owned())
    }

    const EDIT: &str = "prompt = \"do\"\nkind = \"edit\"\nlanguage = \"c\"\nsplit = \"tuned\"\n";

    #[test]
    fn only_permitted_files_may_change() {
        let task = read(&format!("{EDIT}check = \"true\"\nchange = [\"a.c\", \"src/*\"]")).unwrap();
        for (path, allowed) in
            [("a.c", true), ("src/b.c", true), ("b.c", false), ("source", false), ("d/a.c", false)]
        {
            assert_eq!(task.may_change(path), allowed, "{path}");
        }
    }

    #[test]
    fn a_task_that_cannot_be_judged_is_refused() {
        for rest in [
            "change = [\"a\"]",
            "check = \"true\"",
            "check = \"true\"\nanswer = [\"1\"]\nchange = [\"a\"]",
            "answer = [\"1\"]\nchange = [\"a\"]",
            "answer = [\"(\"]\nwrong = [\"2\"]\nchange = [\"a\"]",
            "check = \"true\"\nchange = [\"a\"]\npeers = true",
            "check = \"true\"\nchange = [\"a\"]\nunknown = 1",
        ] {
            assert!(read(&format!("{EDIT}{rest}")).is_err(), "{rest}");
        }
    }

    /// Both halves have the same number of tasks of each kind, so that their results can be
    /// compared.
    #[test]
    fn both_halves_have_the_same_kinds_and_languages() {
        let tasks = all(&root().join(TASKS)).unwrap();
        assert_eq!(tasks.len(), 48);
        assert_eq!(tasks.iter().filter(|task| task.peers).count(), 12);
        for kind in Kind::ALL {
            let of = |split| tasks.iter().filter(|task| task.kind == kind && task.split == split).count();
            assert_eq!(of(Split::Tuned), of(Split::Frozen), "{}", kind.name());
        }
        let simple = |task: &&Task| matches!(task.kind, Kind::Question | Kind::Edit);
        assert!(tasks.iter().filter(simple).count() >= 20);
        for language in ["python", "javascript", "rust", "c", "bash", "java"] {
            assert!(tasks.iter().any(|task| task.language == language), "{language}");
        }
    }
}
