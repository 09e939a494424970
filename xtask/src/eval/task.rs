//! The tasks of `eval/tasks`: a prompt, a small project, and how it is seen whether the work is
//! done.

use anyhow::{Context, Result, bail};
use regex::Regex;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// What kind of work a task is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Something is to be found out and said; no file changes.
    Question,
    /// One file changes.
    Edit,
    /// A name changes in several files.
    Rename,
    /// A test fails, and must pass.
    Test,
    /// Several things are asked for at once.
    Steps,
    /// Something changes while what stands beside it must stay as it is.
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

/// Which half a task belongs to.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Split {
    /// Prompts and tools may be improved with it.
    Tuned,
    /// It is only ever measured.
    Frozen,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Tuned { "tuned" } else { "frozen" })
    }
}

/// `task.toml` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
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

/// How it is seen whether the work is done.
#[derive(Debug)]
pub(super) enum Check {
    /// A script for bash, which runs in a copy of the project with the hidden files in it.
    Script(String),
    /// What the answer must say, and must not say.
    Answer {
        /// Each must be found.
        all: Vec<Regex>,
        /// None may be found.
        none: Vec<Regex>,
        /// Wrong answers, which the self-test holds against the patterns.
        wrong: Vec<String>,
    },
}

/// A task.
#[derive(Debug)]
pub(super) struct Task {
    /// The name of its folder.
    pub(super) name: String,
    folder: PathBuf,
    pub(super) prompt: String,
    pub(super) kind: Kind,
    pub(super) language: String,
    pub(super) split: Split,
    /// Whether it is one of those that other agents are measured with.
    pub(super) peers: bool,
    /// The programs that the project and its check need.
    pub(super) needs: Vec<String>,
    /// The files that may change, each a path or a folder with `/*` behind it.
    change: Vec<String>,
    /// The files that the reference solution removes.
    pub(super) remove: Vec<String>,
    pub(super) check: Check,
}

impl Task {
    /// Reads a task's folder.
    fn read(folder: PathBuf) -> Result<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(folder.join("task.toml"))?;
        let written: Written = toml::from_str(&text)?;
        let check = check(&written)?;
        if !folder.join("files").is_dir() {
            bail!("files/ is missing");
        }
        let Written { prompt, kind, language, split, peers, needs, change, remove, .. } = written;
        if (kind == Kind::Question) != change.is_empty() {
            bail!("a question changes nothing, and everything else something: see `change`");
        }
        if peers && split == Split::Tuned {
            bail!("other agents are measured with frozen tasks only");
        }
        let prompt = prompt.trim().to_owned();
        Ok(Self { name, folder, prompt, kind, language, split, peers, needs, change, remove, check })
    }

    /// The project as the agent finds it.
    pub(super) fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// What is put over the finished project before it is checked. It need not exist.
    pub(super) fn hidden(&self) -> PathBuf {
        self.folder.join("check")
    }

    /// The reference solution: files that replace those of the project, or `answer.txt`.
    pub(super) fn solution(&self) -> PathBuf {
        self.folder.join("solution")
    }

    /// Whether a file, named from the project's root, may change.
    pub(super) fn may_change(&self, path: &str) -> bool {
        self.change.iter().any(|allowed| match allowed.strip_suffix("/*") {
            Some(folder) => path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
            None => path == allowed,
        })
    }

    /// Whether any of the words, separated by commas, is in its name, or is its kind or language.
    pub(super) fn is_meant(&self, words: &str) -> bool {
        words
            .split(',')
            .map(str::trim)
            .any(|word| self.name.contains(word) || self.kind.name() == word || self.language == word)
    }
}

fn check(written: &Written) -> Result<Check> {
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

/// All tasks below a folder, by name.
pub(super) fn all(folder: &Path) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
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
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("files")).unwrap();
        std::fs::write(folder.path().join("task.toml"), toml).unwrap();
        Task::read(folder.path().to_owned())
    }

    const EDIT: &str = "prompt = \"do\"\nkind = \"edit\"\nlanguage = \"c\"\nsplit = \"tuned\"\n";

    #[test]
    fn only_what_may_change_may_change() {
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

    /// The halves have the same number of each kind, so that their results can be compared.
    #[test]
    fn both_halves_are_alike() {
        let tasks = all(&root().join("eval/tasks")).unwrap();
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
