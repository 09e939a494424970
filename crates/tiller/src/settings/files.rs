//! The settings files of a directory, and the detection of changes.

use crate::{
    config::{self, ConfigError, ProjectSettingsError, SettingsFile},
    options::Directories,
    secrets, trust,
};
use anyhow::Result;
use system::{AbsPath, FileStamp};

/// Where the settings files are, other than that of a project.
#[derive(Debug)]
pub(super) struct FilePlaces {
    pub(super) directories: Directories,
    /// The directories of the server whose user this is.
    pub(super) server: Option<Directories>,
}

/// The settings files of a directory.
#[derive(Debug, Clone, Default)]
pub(super) struct Files {
    /// That of the server whose user this is.
    pub(super) server: Option<SettingsFile>,
    pub(super) user: Option<SettingsFile>,
    pub(super) project: Option<SettingsFile>,
    /// Why the project's file exists but is not used.
    pub(super) refused: Option<String>,
}

impl Files {
    /// Reads the files. An invalid file is an error.
    pub(super) async fn read(places: &FilePlaces, directory: &AbsPath) -> Result<Self> {
        match Self::read_after(places, directory, &Self::default()).await {
            (files, None) => Ok(files),
            (_, Some(error)) => Err(error),
        }
    }

    /// Reads the files. An invalid one is replaced by its previous version, and the error is
    /// returned too.
    pub(super) async fn read_after(
        places: &FilePlaces,
        directory: &AbsPath,
        before: &Self,
    ) -> (Self, Option<anyhow::Error>) {
        let (directories, mut problem) = (&places.directories, None);
        let server = places.server.as_ref().map_or(Ok(None), read_user).unwrap_or_else(|error| {
            problem = Some(error.into());
            before.server.clone()
        });
        let user = read_user(directories).unwrap_or_else(|error| {
            problem = Some(error.into());
            before.user.clone()
        });
        let blocked = [server.as_ref(), user.as_ref()].into_iter().flatten();
        let blocked =
            blocked.flat_map(|file| config::users_blocked_paths(directories, file).unwrap_or_default());
        let blocked: Vec<_> = blocked.collect();
        let project = match config::read_project(&*directories.system(), directory, &blocked).await {
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
        (Self { server, user, project, refused }, problem)
    }
}

fn read_user(directories: &Directories) -> Result<Option<SettingsFile>, ConfigError> {
    let user = config::read(config::user_path(directories))?;
    user.as_ref().map_or(Ok(()), |file| config::check(file, directories))?;
    Ok(user)
}

/// The stamps of all files that determine the settings of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamps(Vec<FileStamp>);

impl Stamps {
    /// Takes the stamps of the files without reading them.
    pub(super) fn now(places: &FilePlaces, directory: &AbsPath) -> Self {
        let directories = &places.directories;
        let paths = [
            config::user_path(directories),
            config::project_path(directory),
            secrets::path(directories),
            trust::path(directories),
        ];
        let server = places.server.iter().map(config::user_path);
        Self(paths.into_iter().chain(server).map(|path| FileStamp::of(&path)).collect())
    }

    /// Whether any later change is sure to change a stamp.
    pub(super) fn are_settled(&self) -> bool {
        self.0.iter().all(FileStamp::is_settled)
    }
}
