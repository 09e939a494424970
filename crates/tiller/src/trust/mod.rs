//! What of a project can execute or redirect, and whether the user wants that: each server, each hook, and the settings that loosen.

mod line;
mod records;

pub(crate) use line::run;
#[cfg(feature = "extensions")]
pub(crate) use line::{Wanted, give, terminal};

use crate::{
    config::{self, SettingsFile},
    extensions,
    options::Folders,
};
#[cfg(feature = "extensions")]
use agent::ItemKind;
use agent::{FolderTrust, Judged, Redactor, TrustItem, TrustRecord};
use anyhow::Result;
use records::Records;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};
use system::{AbsPath, LocalSystem, System};

/// Tells of what projects bring whether it is trusted. It is used only when this says so.
pub(crate) fn folder_trust(folders: &Folders) -> FolderTrust {
    let system: Arc<dyn System> = Arc::new(LocalSystem::new());
    FolderTrust::new(system.clone(), Arc::new(Records::new(system, &folders.config)))
}

/// The file that trust is recorded in.
pub(crate) fn path(folders: &Folders) -> AbsPath {
    records::path(&folders.config)
}

/// All that a project brings which can execute or redirect.
pub(crate) struct Project {
    pub(crate) items: Vec<Judged>,
    /// Files of which it cannot be told what they bring; in words.
    pub(crate) problems: Vec<String>,
}

/// What the project in a folder brings, as it is now.
pub(crate) async fn project(folders: &Folders, folder: &AbsPath) -> Project {
    let trust = folder_trust(folders);
    let mut problems = Vec::new();
    let settings = settings(&trust, folders, folder).await.unwrap_or_else(|why| {
        problems.push(why);
        Vec::new()
    });
    let (mut items, (servers, wrong)) =
        futures::join!(trust.judge(folder, settings), extensions::project_servers(&trust, folder));
    items.extend(servers);
    problems.extend(wrong);
    Project { items, problems }
}

/// What of a project's settings waits for trust, or has it. The error says why that cannot be told.
async fn settings(
    trust: &FolderTrust,
    folders: &Folders,
    folder: &AbsPath,
) -> Result<Vec<TrustItem>, String> {
    let Some(bytes) = trust.file(folder, config::PROJECT_FILE).await? else { return Ok(Vec::new()) };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let file = SettingsFile { path: config::project_path(folder), text };
    config::trust_items(&file, folders).map_err(|error| error.to_string())
}

/// What is to be shown of an item: its description and its files, line by line, without secrets and sequences that a terminal would obey.
pub(crate) fn lines(judged: &Judged, redactor: &Redactor) -> Vec<String> {
    let files = judged.files.iter().map(|(name, bytes)| format!("file: {name} ({bytes} bytes)"));
    let lines = judged.item.shown.iter().cloned().chain(files);
    lines.map(|line| agent::one_line(&redactor.redact(&line))).collect()
}

/// What programs are told of an item.
pub(crate) fn row(judged: &Judged, redactor: &Redactor) -> Value {
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

/// Trusts items, each by its id with the hash of what was shown: what it has become since then is not trusted.
pub(crate) async fn give_items(
    folders: &Folders,
    folder: &AbsPath,
    items: impl IntoIterator<Item = (String, String)>,
) -> Result<()> {
    change(folders, folder, |record| record.items.extend(items)).await
}

/// Takes the trust in items back, or in all that a folder brings. Returns whether there was any.
pub(crate) async fn take_items(folders: &Folders, folder: &AbsPath, ids: Option<&[String]>) -> Result<bool> {
    let mut any = false;
    change(folders, folder, |record| match ids {
        Some(ids) => ids.iter().for_each(|id| any |= record.items.remove(id).is_some()),
        None => any = *record != TrustRecord::default(),
    })
    .await?;
    if ids.is_none() {
        let records = Records::new(Arc::new(LocalSystem::new()), &folders.config);
        let folder = LocalSystem::new().resolve(folder).await?;
        let mut all = records.all().await?;
        any |= all.remove(folder.as_str()).is_some();
        records.keep(&all).await?;
    }
    Ok(any)
}

/// Changes what is trusted of a folder. What an older version kept of it counts, from then on, for the items that it was given for.
async fn change(folders: &Folders, folder: &AbsPath, change: impl FnOnce(&mut TrustRecord)) -> Result<()> {
    let system: Arc<dyn System> = Arc::new(LocalSystem::new());
    let records = Records::new(system.clone(), &folders.config);
    let folder = system.resolve(folder).await?;
    let mut all = records.all().await?;
    let mut record = all.remove(folder.as_str()).unwrap_or_default();
    if record.whole.take().is_some() {
        let trusted = project(folders, &folder).await.items.into_iter().filter(Judged::is_trusted);
        record.items.extend(trusted.filter_map(|judged| Some((judged.item.id(), judged.hash?))));
    }
    change(&mut record);
    if record != TrustRecord::default() {
        all.insert(folder.as_str().to_owned(), record);
    }
    records.keep(&all).await
}

/// What of a project's settings waits for its user's eyes before a program changes the file; `None` when that cannot be told.
pub(crate) async fn so_far(folders: &Folders, folder: &AbsPath) -> Option<BTreeSet<String>> {
    let trust = folder_trust(folders);
    let items = settings(&trust, folders, folder).await.ok()?;
    let waiting = trust.judge(folder, items).await.into_iter().filter(|judged| !judged.is_trusted());
    Some(waiting.map(|judged| judged.item.id()).collect())
}

/// Trusts a project's settings as a program has written them for its user, but for what waited before.
pub(crate) async fn written(folders: &Folders, folder: &AbsPath, before: &BTreeSet<String>) -> Result<()> {
    let new =
        |judged: &Judged| judged.item.source == config::PROJECT_FILE && !before.contains(&judged.item.id());
    give_those(folders, folder, new).await
}

/// Trusts a server as a program has described it for its user.
#[cfg(feature = "extensions")]
pub(crate) async fn server_written(
    folders: &Folders,
    folder: &AbsPath,
    source: &str,
    name: &str,
) -> Result<()> {
    let this = |judged: &Judged| {
        let item = &judged.item;
        (item.kind, item.source.as_str(), item.name.as_str()) == (ItemKind::Server, source, name)
    };
    give_those(folders, folder, this).await
}

async fn give_those(folders: &Folders, folder: &AbsPath, which: impl Fn(&Judged) -> bool) -> Result<()> {
    let items = project(folders, folder).await.items.into_iter();
    let new = items.filter(|judged| !judged.is_trusted() && which(judged));
    let new: Vec<_> = new.filter_map(|judged| Some((judged.item.id(), judged.hash?))).collect();
    if new.is_empty() { Ok(()) } else { give_items(folders, folder, new).await }
}
