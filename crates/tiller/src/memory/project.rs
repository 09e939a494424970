//! The project of a directory, and the user's trust in its memories.

use crate::{
    options::{Directories, Options},
    trust,
    wiring::shared_temp,
};
use anyhow::Result;
use system::{AbsPath, LocalSystem, System as _};

/// Adds the project of a directory to its options, and whether its memories are trusted. A trust
/// record that cannot be read trusts nothing.
pub(crate) async fn find_project(options: &mut Options, directory: &AbsPath) {
    let system = LocalSystem::new();
    let repository = agent::repository(&system, directory, &no_repositories(&options.directories)).await;
    let root = repository.as_ref().unwrap_or(directory);
    let project = system.resolve(root).await.unwrap_or_else(|_| root.clone());
    let record = trust::record(&options.directories, &project).await.unwrap_or_default();
    let memories = &mut options.session.prompt.memories;
    memories.trusted = trust::includes_memories(&record);
    memories.project = Some(project);
    memories.repository = repository;
}

/// Returns the directories that are no project even if they contain `.git`: what all programs
/// share, and those that contain the user's projects.
fn no_repositories(directories: &Directories) -> Vec<AbsPath> {
    let root = AbsPath::new("/").expect("it is absolute");
    shared_temp(&directories.temp).into_iter().chain([directories.home.clone(), root]).collect()
}

/// Trusts the memories of a project.
pub(super) async fn trust(directories: &Directories, project: &AbsPath) -> Result<()> {
    trust::grant_trust(
        directories,
        project,
        [(trust::MEMORIES.to_owned(), trust::MEMORIES_TRUSTED.to_owned())],
    )
    .await
}

/// Revokes the trust in the memories of a project; returns whether there was any.
pub(super) async fn distrust(directories: &Directories, project: &AbsPath) -> Result<bool> {
    trust::revoke_trust(directories, project, Some(&[trust::MEMORIES.to_owned()])).await
}
