//! The settings files of a directory, and the detection of changes.

use crate::{
    config::{self, ConfigError, ProjectSettingsError, SettingsFile},
    options::Directories,
    secrets, trust,
};
use anyhow::Result;
use system::{AbsPath, FileStamp};

/// The settings files of a directory.
#[derive(Debug, Clone, Default)]
pub(super) struct Files {
    pub(super) user: Option<SettingsFile>,
    pub(super) project: Option<SettingsFile>,
    /// Why the project's file exists but is not used.
    pub(super) refused: Option<String>,
}

impl Files {
    /// Reads the files. An invalid file is an error.
    pub(super) async fn read(directories: &Directories, directory: &AbsPath) -> Result<Self> {
        match Self::read_after(directories, directory, &Self::default()).await {
            (files, None) => Ok(files),
            (_, Some(error)) => Err(error),
        }
    }

    /// Reads the files. An invalid one is replaced by its previous version, and the error is
    /// returned too.
    pub(super) async fn read_after(
        directories: &Directories,
        directory: &AbsPath,
        before: &Self,
    ) -> (Self, Option<anyhow::Error>) {
        let mut problem = None;
        let user = read_user(directories).unwrap_or_else(|error| {
            problem = Some(error.into());
            before.user.clone()
        });
        let blocked = config::users_blocked_paths(directories, user.as_ref()).unwrap_or_default();
        let project = match config::read_project(directory, &blocked).await {
            Ok(Some(file)) => config::check(&file, directories).map(|()| Some(file)).map_err(Into::into),
            read => read,
        };
        let (project, refused) = match project {
            Ok(project) => (project, None),
            Err(error @ ProjectSettingsError::Refused(_)) => (None, Some(error.to_string())),
            Err(ProjectSettingsError::Invalid(error)) => {
                problem = Some(error.into());
                (before.project.clone(), before.refused.clone())
            }
        };
        (Self { user, project, refused }, problem)
    }
}

fn read_user(directories: &Directories) -> Result<Option<SettingsFile>, ConfigError> {
    let user = config::read(config::user_path(directories))?;
    user.as_ref().map_or(Ok(()), |file| config::check(file, directories))?;
    Ok(user)
}

/// The stamps of all files that determine the settings of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamps([FileStamp; 4]);

impl Stamps {
    /// Takes the stamps of the four files without reading them.
    pub(super) fn now(directories: &Directories, directory: &AbsPath) -> Self {
        let paths = [
            config::user_path(directories),
            config::project_path(directory),
            secrets::path(directories),
            trust::path(directories),
        ];
        Self(paths.map(|path| FileStamp::of(&path)))
    }

    /// Whether any later change is sure to change a stamp.
    pub(super) fn are_settled(&self) -> bool {
        self.0.iter().all(FileStamp::is_settled)
    }
}
