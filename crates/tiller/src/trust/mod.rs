//! Trust in the parts of a project that can execute, redirect or instruct: servers, hooks, settings
//! that loosen, skills and commands.

mod command;
mod records;
mod rows;

pub(crate) use rows::{Folder, FolderList};

pub(crate) use command::run;
pub(crate) use command::{TrustSelection, review_and_trust, terminal};

use crate::{
    config::{self, SettingsFile},
    options::Directories,
};
use agent::ItemKind;
use agent::{CheckedItem, FolderTrust, Redactor, SkillFinder, TrustItem, TrustRecord, UserPlaces};
use anyhow::Result;
use records::Records;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};
use system::AbsPath;

/// Returns the judge of projects' items. An item is used only if it is trusted.
pub(crate) fn directory_trust(directories: &Directories) -> FolderTrust {
    let system = directories.system();
    FolderTrust::new(system.clone(), Arc::new(Records::new(system, &directories.config)))
}

/// Returns the finder of skills and commands for a project.
pub(crate) fn skill_finder(directories: &Directories, project: &AbsPath) -> SkillFinder {
    SkillFinder {
        system: directories.system(),
        user: Some(user_places(directories)),
        trust: directory_trust(directories),
        project: project.clone(),
    }
}

/// Returns the user's directories of skills and commands.
pub(crate) fn user_places(directories: &Directories) -> UserPlaces {
    UserPlaces { config: directories.config.clone(), home: directories.home.clone() }
}

/// The path of the file of trust records.
pub(crate) fn path(directories: &Directories) -> AbsPath {
    records::path(&directories.config)
}

/// The item of a trust record that stands for the memories of a project, and its value. It is no
/// hash: memories are the user's, and no file of the project determines them.
pub(crate) const MEMORIES: &str = "memories";
pub(crate) const MEMORIES_TRUSTED: &str = "trusted";

/// Returns whether a trust record includes the memories of its project.
pub(crate) fn includes_memories(record: &TrustRecord) -> bool {
    record.items.get(MEMORIES).is_some_and(|value| value == MEMORIES_TRUSTED)
}

/// Returns the trust record of a directory without links in its path.
///
/// # Errors
/// If the records cannot be read.
pub(crate) async fn record(directories: &Directories, directory: &AbsPath) -> Result<TrustRecord> {
    let records = Records::new(directories.system(), &directories.config);
    Ok(records.all().await?.remove(directory.as_str()).unwrap_or_default())
}

/// The items of a project that need trust.
pub(crate) struct Project {
    pub(crate) items: Vec<CheckedItem>,
    /// Problems with files whose items cannot be determined.
    pub(crate) problems: Vec<String>,
}

/// Returns the current items of the project in a directory.
pub(crate) async fn project(directories: &Directories, directory: &AbsPath) -> Project {
    let trust = directory_trust(directories);
    let mut problems = Vec::new();
    let settings = settings(&trust, directories, directory).await.unwrap_or_else(|why| {
        problems.push(why);
        Vec::new()
    });
    let finder = skill_finder(directories, directory);
    let (mut items, (servers, wrong), (skills, unusable)) = futures::join!(
        trust.check(directory, settings),
        ::mcp::project_servers(&trust, directory),
        agent::project_skills(&finder)
    );
    items.extend(servers.into_iter().map(|server| server.judged));
    items.extend(skills);
    problems.extend(wrong);
    problems.extend(unusable);
    Project { items, problems }
}

/// Returns the items of a project's settings, trusted or not. The error is the reason if they
/// cannot be
/// determined.
async fn settings(
    trust: &FolderTrust,
    directories: &Directories,
    directory: &AbsPath,
) -> Result<Vec<TrustItem>, String> {
    let Some(bytes) = trust.file(directory, config::PROJECT_FILE).await? else { return Ok(Vec::new()) };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let file = SettingsFile { path: config::project_path(directory), text };
    config::trust_items(&file, directories).map_err(|error| error.to_string())
}

/// Describes an item for display: its description and its files, one per line, without secrets and
/// control sequences.
pub(crate) fn lines(judged: &CheckedItem, redactor: &Redactor) -> Vec<String> {
    let files = judged.files.iter().map(|(name, bytes)| format!("file: {name} ({bytes} bytes)"));
    let lines = judged.item.shown.iter().cloned().chain(files);
    lines.map(|line| agent::one_line(&redactor.redact(&line))).collect()
}

/// Returns the JSON row of an item.
pub(crate) fn row(judged: &CheckedItem, redactor: &Redactor) -> Value {
    json!({
        "id": judged.item.id(),
        "kind": judged.item.kind.word(),
        "name": judged.item.name,
        "source": judged.item.source,
        "state": judged.state.word(),
        "hash": judged.hash,
        "content": lines(judged, redactor),
        "problem": judged.state.problem(),
    })
}

/// Trusts items by id and by the hash of what was shown: a later change is not trusted.
pub(crate) async fn grant_trust(
    directories: &Directories,
    directory: &AbsPath,
    items: impl IntoIterator<Item = (String, String)>,
) -> Result<()> {
    change(directories, directory, |record| record.items.extend(items)).await
}

/// Revokes the trust in items, or in all items of a directory. Returns whether there was any.
pub(crate) async fn revoke_trust(
    directories: &Directories,
    directory: &AbsPath,
    ids: Option<&[String]>,
) -> Result<bool> {
    let mut any = false;
    change(directories, directory, |record| match ids {
        Some(ids) => ids.iter().for_each(|id| any |= record.items.remove(id).is_some()),
        None => any = *record != TrustRecord::default(),
    })
    .await?;
    if ids.is_none() {
        let records = Records::new(directories.system(), &directories.config);
        let directory = directories.system().resolve(directory).await?;
        let mut all = records.all().await?;
        any |= all.remove(directory.as_str()).is_some();
        records.store(&all).await?;
    }
    Ok(any)
}

/// Changes the trust record of a directory. A record of an older version is first converted into
/// records of the items that it covers.
async fn change(
    directories: &Directories,
    directory: &AbsPath,
    change: impl FnOnce(&mut TrustRecord),
) -> Result<()> {
    let system = directories.system();
    let records = Records::new(system.clone(), &directories.config);
    let directory = system.resolve(directory).await?;
    let mut all = records.all().await?;
    let mut record = all.remove(directory.as_str()).unwrap_or_default();
    if record.whole.take().is_some() {
        let trusted =
            project(directories, &directory).await.items.into_iter().filter(CheckedItem::is_trusted);
        record.items.extend(trusted.filter_map(|judged| Some((judged.item.id(), judged.hash?))));
    }
    change(&mut record);
    if record != TrustRecord::default() {
        all.insert(directory.as_str().to_owned(), record);
    }
    records.store(&all).await
}

/// Returns the ids of the project's settings that wait for the user's review, before a program
/// changes
/// the file; `None` if they cannot be determined.
pub(crate) async fn settings_awaiting_review(
    directories: &Directories,
    directory: &AbsPath,
) -> Option<BTreeSet<String>> {
    let trust = directory_trust(directories);
    let items = settings(&trust, directories, directory).await.ok()?;
    let waiting = trust.check(directory, items).await.into_iter().filter(|judged| !judged.is_trusted());
    Some(waiting.map(|judged| judged.item.id()).collect())
}

/// Trusts the project's settings that a program wrote for its user, except those that waited
/// before.
pub(crate) async fn grant_written_settings(
    directories: &Directories,
    directory: &AbsPath,
    before: &BTreeSet<String>,
) -> Result<()> {
    let new = |judged: &CheckedItem| {
        judged.item.source == config::PROJECT_FILE && !before.contains(&judged.item.id())
    };
    grant_matching(directories, directory, new).await
}

/// Trusts a server that a program configured for its user.
pub(crate) async fn grant_written_server(
    directories: &Directories,
    directory: &AbsPath,
    source: &str,
    name: &str,
) -> Result<()> {
    let this = |judged: &CheckedItem| {
        let item = &judged.item;
        (item.kind, item.source.as_str(), item.name.as_str()) == (ItemKind::Server, source, name)
    };
    grant_matching(directories, directory, this).await
}

async fn grant_matching(
    directories: &Directories,
    directory: &AbsPath,
    which: impl Fn(&CheckedItem) -> bool,
) -> Result<()> {
    let items = project(directories, directory).await.items.into_iter();
    let new = items.filter(|judged| !judged.is_trusted() && which(judged));
    let new: Vec<_> = new.filter_map(|judged| Some((judged.item.id(), judged.hash?))).collect();
    if new.is_empty() { Ok(()) } else { grant_trust(directories, directory, new).await }
}
