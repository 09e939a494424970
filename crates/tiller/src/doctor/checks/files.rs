//! The settings files, the secrets and the trust in the project.

use super::super::{Subject, report::Check};
use crate::{
    config::{self, ConfigError},
    secrets, settings, trust,
};
use system::{AbsPath, FileStamp};

/// A problem that can be solved without asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repair {
    /// The file of secrets can be read by others.
    SecretsMode(AbsPath),
    /// The schema beside a settings file is not that of this version.
    Schema(AbsPath),
}

impl Repair {
    /// Describes what was done.
    pub(crate) fn done(&self) -> String {
        match self {
            Self::SecretsMode(path) => format!("{path} can be read by its owner only (mode 0600)"),
            Self::Schema(path) => format!("{path} is the schema of this version"),
        }
    }
}

/// Checks the settings files, and what a project's file may not do.
pub(crate) async fn files(subject: &Subject<'_>) -> (Vec<Check>, Vec<Repair>) {
    const TITLE: &str = "settings";
    let directories = &subject.options.directories;
    let (user, project) = (config::user_path(directories), config::project_path(subject.cwd));
    let (mut checks, mut repairs) = (Vec::new(), Vec::new());
    for (path, is_user) in [(&user, true), (&project, false)] {
        let read = config::read(path.clone());
        let checked = read.and_then(|file| match file {
            None => Ok(None),
            Some(file) => config::check(&file, directories).map(|()| Some(file)),
        });
        match checked {
            Ok(Some(file)) => {
                checks.push(Check::ok("settings", TITLE, path.to_string()));
                repairs.extend(old_schema(path, &file.text));
            }
            Ok(None) if is_user => checks.push(Check::ok("settings", TITLE, format!("defaults; no {path}"))),
            Ok(None) => {}
            Err(error) => checks.push(invalid(path, &error, is_user)),
        }
    }
    for repair in &repairs {
        if let Repair::Schema(path) = repair {
            checks.push(
                Check::warning("schema", TITLE, format!("{path} is of another version"))
                    .next("tiller doctor --fix"),
            );
        }
    }
    // Something else makes the settings unusable: a variable, or two files together.
    let all_valid = checks.iter().all(|check| check.issue().is_none());
    if let (true, Some(problem)) = (all_valid, subject.settings_problem) {
        checks.push(Check::error("settings", TITLE, problem).next("tiller settings list"));
    }
    for notice in subject.notices {
        checks.push(Check::warning("settings-ignored", TITLE, notice.clone()));
    }
    checks.push(trusted(subject).await);
    (checks, repairs)
}

fn invalid(path: &AbsPath, error: &ConfigError, is_user: bool) -> Check {
    let line = match error.place() {
        Some(config::Place::File(_, line)) => Some(*line),
        _ => None,
    };
    let edit = if is_user { "tiller settings edit" } else { "tiller settings edit --project" };
    Check::error("settings", "settings", error.to_string()).at(path.to_string(), line).next(edit)
}

fn old_schema(path: &AbsPath, text: &str) -> Option<Repair> {
    let schema = path.parent()?.join(config::SCHEMA_FILE);
    let stored = system::read_regular(&schema).ok();
    let is_old = config::names_schema(text)
        && stored.is_none_or(|stored| stored != settings::commands::schema().as_bytes());
    is_old.then_some(Repair::Schema(schema))
}

async fn trusted(subject: &Subject<'_>) -> Check {
    const TITLE: &str = "trust";
    let project = trust::project(&subject.options.directories, subject.cwd).await;
    if let Some(problem) = project.problems.first() {
        return Check::warning("trust", TITLE, problem.clone()).next("tiller trust");
    }
    let waiting: Vec<_> =
        project.items.iter().filter(|item| !item.is_trusted()).map(|item| item.item.name.clone()).collect();
    match (project.items.len(), waiting.as_slice()) {
        (0, _) => Check::ok("trust", TITLE, "this project needs none"),
        (count, []) => Check::ok("trust", TITLE, format!("{count} items of this project are trusted")),
        (_, waiting) => {
            let detail = format!("not used until you trust them: {}", waiting.join(", "));
            Check::warning("trust", TITLE, detail).next("tiller trust")
        }
    }
}

/// Checks the file of secrets.
pub(crate) async fn secrets(subject: &Subject<'_>) -> (Check, Option<Repair>) {
    const TITLE: &str = "secrets";
    let path = secrets::path(&subject.options.directories);
    let stamp = FileStamp::of(&path);
    let Some(mode) = stamp.permissions() else {
        return (Check::ok("secrets", TITLE, "none is stored"), None);
    };
    if mode & 0o077 != 0 {
        let detail = format!("{path} can be read by others (mode {mode:03o})");
        let check = Check::error("secrets", TITLE, detail).at(path.to_string(), None);
        return (check.next("tiller doctor --fix"), Some(Repair::SecretsMode(path)));
    }
    match subject.values.stores().await {
        Ok(stores) => {
            let in_keyring = stores.values().filter(|store| **store == secrets::Store::Keyring).count();
            let detail = format!("{} in {path}, {in_keyring} in the keyring", stores.len() - in_keyring);
            if in_keyring == 0 {
                return (Check::ok("secrets", TITLE, detail), None);
            }
            match subject.values.keyring.check().await {
                Ok(()) => (Check::ok("secrets", TITLE, detail), None),
                Err(error) => {
                    let check = Check::error("secrets", TITLE, format!("{detail}; {error}"));
                    (check.next("tiller secrets status"), None)
                }
            }
        }
        Err(error) => {
            let check = Check::error("secrets", TITLE, format!("{error:#}")).at(path.to_string(), None);
            (check, None)
        }
    }
}
