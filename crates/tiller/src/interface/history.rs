//! The history of prompts: a line of JSON for each, the oldest first, in the data directory. Only
//! the user can read the file.

use crate::{limits, options::Options};
use serde::{Deserialize, Serialize};
use system::{AbsPath, LocalSystem, System, SystemError};
use tui::composer::Entry;

/// One prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// The directory it was written in.
    cwd: String,
    /// Its content.
    #[serde(flatten)]
    entry: Entry,
}

/// Returns the prompts, the oldest first; each with whether it was written in this directory.
///
/// # Errors
///
/// Fails with a message for the user if the file cannot be read; lines that are not entries are
/// ignored.
pub(super) async fn lines(options: &Options, cwd: &AbsPath) -> Result<Vec<(Entry, bool)>, String> {
    let lines = read(options).await?.into_iter();
    Ok(lines.map(|line| (line.entry, line.cwd == cwd.as_str())).collect())
}

/// Adds a prompt, and drops the oldest ones beyond the limit. One with what looks like a secret is
/// not kept, whatever the composer decided.
///
/// # Errors
///
/// Fails with a message for the user if the file cannot be written.
pub(super) async fn add(options: &Options, cwd: &AbsPath, entry: Entry) -> Result<(), String> {
    if entry.has_secret() {
        return Ok(());
    }
    let mut lines = read(options).await?;
    let line = Line { cwd: cwd.to_string(), entry };
    if lines.last() == Some(&line) {
        return Ok(());
    }
    lines.push(line);
    let surplus = lines.len().saturating_sub(limits::HISTORY_ENTRIES);
    lines.drain(..surplus);
    let text: Result<String, _> =
        lines.iter().map(|line| serde_json::to_string(line).map(|text| text + "\n")).collect();
    let text = text.map_err(|error| error.to_string())?;
    let system = LocalSystem::new();
    let failed = |error: SystemError| format!("the history of prompts cannot be kept: {error}");
    system.create_dir_all(&options.directories.data).await.map_err(failed)?;
    system.write_private(&file(options), text.as_bytes()).await.map_err(failed)
}

async fn read(options: &Options) -> Result<Vec<Line>, String> {
    let bytes = match LocalSystem::new().read(&file(options)).await {
        Ok(bytes) => bytes,
        Err(SystemError::NotFound(_)) => return Ok(Vec::new()),
        Err(error) => return Err(format!("the history of prompts cannot be read: {error}")),
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn file(options: &Options) -> AbsPath {
    options.directories.data.join("history.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Directories;
    use std::fmt::Write as _;
    use system::TemporaryDirectory;
    use tui::composer::EntryPart;

    fn entry(text: &str) -> Entry {
        Entry { parts: vec![EntryPart::Text(text.to_owned())] }
    }

    fn options() -> (TemporaryDirectory, Options) {
        let directory = TemporaryDirectory::new().unwrap();
        let root = AbsPath::from_os(directory.path()).unwrap();
        let directories = Directories::below(root);
        (directory, Options::built_in(directories))
    }

    #[tokio::test]
    async fn only_the_user_can_read_the_history() {
        let (_directory, options) = options();
        let (here, elsewhere) = (AbsPath::new("/w").unwrap(), AbsPath::new("/v").unwrap());
        add(&options, &here, entry("one")).await.unwrap();
        add(&options, &here, entry("one")).await.unwrap();
        add(&options, &elsewhere, entry("two")).await.unwrap();
        let found = lines(&options, &here).await.unwrap();
        assert_eq!(found, [(entry("one"), true), (entry("two"), false)]);
        let mode = rustix::fs::stat(file(&options).as_std()).unwrap().st_mode;
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_history_that_others_could_read_is_made_private() {
        let (_directory, options) = options();
        let here = AbsPath::new("/w").unwrap();
        let system = LocalSystem::new();
        system.create_dir_all(&options.directories.data).await.unwrap();
        let line = Line { cwd: "/w".to_owned(), entry: entry("one") };
        let text = serde_json::to_string(&line).unwrap() + "\n";
        system.write(&file(&options), text.as_bytes()).await.unwrap();
        rustix::fs::chmod(file(&options).as_std(), rustix::fs::Mode::from_raw_mode(0o644)).unwrap();
        add(&options, &here, entry("two")).await.unwrap();
        assert_eq!(lines(&options, &here).await.unwrap().len(), 2);
        let mode = rustix::fs::stat(file(&options).as_std()).unwrap().st_mode;
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn the_oldest_prompts_beyond_ten_thousand_are_dropped() {
        let (_directory, options) = options();
        let here = AbsPath::new("/w").unwrap();
        let mut text = String::from("not an entry\n");
        for number in 0..limits::HISTORY_ENTRIES {
            let line = Line { cwd: "/w".to_owned(), entry: entry(&number.to_string()) };
            writeln!(text, "{}", serde_json::to_string(&line).unwrap()).unwrap();
        }
        let system = LocalSystem::new();
        system.create_dir_all(&options.directories.data).await.unwrap();
        system.write(&file(&options), text.as_bytes()).await.unwrap();
        add(&options, &here, entry("new")).await.unwrap();
        let found = lines(&options, &here).await.unwrap();
        assert_eq!(found.len(), 10_000);
        assert_eq!((&found[0].0, &found[9_999].0), (&entry("1"), &entry("new")));
    }

    #[tokio::test]
    async fn a_prompt_with_what_looks_like_a_secret_is_not_kept() {
        let (_directory, options) = options();
        let here = AbsPath::new("/w").unwrap();
        let secret = format!("use sk-ant-api03-{}", "aB3dE5fG7hI9".repeat(4));
        add(&options, &here, entry(&secret)).await.unwrap();
        // Nor one that has it in a pasted text, between other lines.
        let pasted = EntryPart::Paste(format!("a\n{secret}\nb"));
        let parts = vec![EntryPart::Text("see ".to_owned()), pasted];
        add(&options, &here, Entry { parts }).await.unwrap();
        assert_eq!(lines(&options, &here).await.unwrap(), []);
    }
}
