//! `tiller trust`: what of a folder can execute or redirect, and whether the user wants that.

mod records;

use crate::{args::TrustArgs, exit, options::Folders};
use agent::{FolderTrust, Trust, TrustContent};
use anyhow::{Result, anyhow};
use records::Records;
use std::{io::Write, sync::Arc};
use system::{AbsPath, LocalSystem, System};

/// Tells of folders whether they are trusted. Servers, hooks and skills of a project are used only when it says so, and then with the bytes
/// that it hands out.
pub(crate) fn folder_trust(folders: &Folders) -> FolderTrust {
    let system: Arc<dyn System> = Arc::new(LocalSystem::new());
    FolderTrust::new(system.clone(), Arc::new(Records::new(system, &folders.config)))
}

/// Trusts a folder, takes the trust back, or lists what is trusted.
pub(crate) async fn run(folders: &Folders, folder: &AbsPath, args: &TrustArgs) -> Result<u8> {
    let system: Arc<dyn System> = Arc::new(LocalSystem::new());
    let records = Records::new(system.clone(), &folders.config);
    let mut stdout = std::io::stdout().lock();
    let mut all = records.all().await?;
    if args.list {
        let trust = folder_trust(folders);
        for path in all.keys() {
            let state = match trust.of(&AbsPath::new(path)?).await {
                Trust::Trusted(_) => "trusted",
                Trust::Empty => "empty",
                _ => "changed",
            };
            writeln!(stdout, "{state:<9} {path}")?;
        }
        return Ok(exit::OK);
    }
    let folder = system.resolve(folder).await?;
    if args.revoke {
        let said = match all.remove(folder.as_str()) {
            Some(_) => "is not trusted any more",
            None => "was not trusted",
        };
        records.keep(&all).await?;
        writeln!(stdout, "{folder} {said}")?;
        return Ok(exit::OK);
    }
    give(folders, &folder, &mut stdout).await?;
    Ok(exit::OK)
}

/// What is trusted of a folder before a program changes its files, if all of it is: then nothing in it waits for the user's eyes.
pub(crate) async fn so_far(folders: &Folders, folder: &AbsPath) -> Option<TrustContent> {
    match folder_trust(folders).of(folder).await {
        Trust::Empty => Some(TrustContent::default()),
        Trust::Trusted(content) => Some(content),
        Trust::Untrusted(_) | Trust::Changed(_) | Trust::Unknown(_) => None,
    }
}

/// Trusts a folder with these files as a program has written them for its user. Where anything else is not as it was, it stays untrusted.
pub(crate) async fn written(
    folders: &Folders,
    folder: &AbsPath,
    before: &TrustContent,
    written: &[&str],
) -> Result<()> {
    let (Trust::Untrusted(now) | Trust::Changed(now)) = folder_trust(folders).of(folder).await else {
        return Ok(());
    };
    let same = |name: &str| written.contains(&name) || now.file(name) == before.file(name);
    if now.names().all(same) {
        give(folders, folder, &mut std::io::sink()).await?;
    }
    Ok(())
}

/// Trusts a folder with what it holds now, and says what that is.
pub(crate) async fn give(folders: &Folders, folder: &AbsPath, out: &mut impl Write) -> Result<()> {
    let system: Arc<dyn System> = Arc::new(LocalSystem::new());
    let records = Records::new(system.clone(), &folders.config);
    let folder = system.resolve(folder).await?;
    let mut all = records.all().await?;
    let content =
        TrustContent::read(system.as_ref(), &folder).await.map_err(|why| anyhow!("{folder}: {why}"))?;
    let names: Vec<_> = content.names().map(agent::one_line).collect();
    if names.is_empty() {
        writeln!(out, "{folder} holds nothing that could execute or redirect: there is nothing to trust")?;
        return Ok(());
    }
    all.insert(folder.as_str().to_owned(), content.hash());
    records.keep(&all).await?;
    writeln!(out, "{folder} is trusted, until one of these changes:")?;
    names.iter().try_for_each(|name| writeln!(out, "  {name}"))?;
    Ok(())
}
