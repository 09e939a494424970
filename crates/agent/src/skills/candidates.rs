//! Searches directories for what may be a skill or a command.

use super::{
    command_file,
    loaded::FILE,
    places::{Origin, Place},
};
use crate::limits::{COMMAND_DEPTH, SKILL_ENTRIES, SKILLS};
use std::collections::BTreeSet;
use system::{AbsPath, FileKind, System, resolve_inside};

/// A directory that may be a skill, or a file that may be a command.
pub(super) struct Candidate {
    pub(super) origin: Origin,
    /// The name of the directory, or of the command.
    pub(super) name: String,
    /// The directory or file, as it was found.
    pub(super) path: AbsPath,
    /// The file to read.
    pub(super) file: AbsPath,
    /// The directory without links that the file must be in; the reason if there is none.
    pub(super) root: Result<AbsPath, String>,
}

/// What was found, the most important first.
pub(super) struct Candidates {
    pub(super) skills: Vec<Candidate>,
    pub(super) commands: Vec<Candidate>,
    /// Directories that could not be searched, each with the reason.
    pub(super) problems: Vec<String>,
}

/// A search on this machine, for a project.
pub(super) struct Search<'a> {
    pub(super) system: &'a dyn System,
    pub(super) project: &'a AbsPath,
}

impl Search<'_> {
    /// Returns the directories that contain a SKILL.md, each once.
    pub(super) async fn skills(&self, places: Vec<Place>, problems: &mut Vec<String>) -> Vec<Candidate> {
        let (mut candidates, mut seen) = (Vec::new(), BTreeSet::new());
        for Place { origin, path } in self.existing(places, problems).await {
            let mut found = self.skill_directories(&path).await.unwrap_or_else(|why| {
                problems.push(why);
                Vec::new()
            });
            limit(&mut found, "skills", &path, problems);
            for directory in found {
                let root = self.root(origin, &directory).await;
                if root.as_ref().is_ok_and(|root| !seen.insert(root.clone())) {
                    continue;
                }
                let name = directory.file_name().unwrap_or_default().to_owned();
                let file = directory.join(FILE);
                candidates.push(Candidate { origin, name, path: directory, file, root });
            }
        }
        candidates
    }

    /// Returns the Markdown files whose paths can name commands.
    pub(super) async fn commands(&self, places: Vec<Place>, problems: &mut Vec<String>) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for Place { origin, path } in self.existing(places, problems).await {
            let mut named = self.command_files(&path).await;
            limit(&mut named, "commands", &path, problems);
            for (name, file) in named {
                let root = match origin {
                    Origin::User => self.resolved(&file).await.map(|file| parent(&file)),
                    Origin::Project => self.inside(&parent(&file)).await,
                };
                candidates.push(Candidate { origin, name, path: file.clone(), file, root });
            }
        }
        candidates
    }

    /// Returns those of the directories that exist and may be searched.
    async fn existing(&self, places: Vec<Place>, problems: &mut Vec<String>) -> Vec<Place> {
        let paths: Vec<_> = places.iter().map(|place| place.path.clone()).collect();
        let found = self.system.metadata_of(&paths).await;
        let mut existing = Vec::new();
        for (place, found) in places.into_iter().zip(found) {
            if !found.is_ok_and(|found| found.kind == FileKind::Directory) {
                continue;
            }
            match self.root(place.origin, &place.path).await {
                Ok(_) => existing.push(place),
                Err(why) => problems.push(why),
            }
        }
        existing
    }

    /// Returns the directories with a SKILL.md in a directory, sorted.
    async fn skill_directories(&self, place: &AbsPath) -> Result<Vec<AbsPath>, String> {
        let entries = self.system.read_dir(place).await.map_err(|error| error.to_string())?;
        let is_visible = |path: &AbsPath| path.file_name().is_some_and(|name| !name.starts_with('.'));
        let directories = entries.into_iter().map(|entry| entry.path).filter(is_visible);
        let directories: Vec<_> = directories.take(SKILL_ENTRIES).collect();
        let files: Vec<_> = directories.iter().map(|directory| directory.join(FILE)).collect();
        let found = self.system.metadata_of(&files).await;
        Ok(directories.into_iter().zip(found).filter_map(|(path, found)| found.ok().map(|_| path)).collect())
    }

    /// Returns the Markdown files below a directory, each with the name of its command, sorted.
    async fn command_files(&self, place: &AbsPath) -> Vec<(String, AbsPath)> {
        let (mut files, mut level) = (Vec::new(), vec![place.clone()]);
        for _ in 0..=COMMAND_DEPTH {
            let mut below = Vec::new();
            for directory in &level {
                for entry in self.system.read_dir(directory).await.unwrap_or_default() {
                    match entry.kind {
                        FileKind::Directory => below.push(entry.path),
                        FileKind::File | FileKind::Other => files.push(entry.path),
                    }
                }
            }
            level = below;
            level.truncate(SKILLS);
            if files.len() > SKILL_ENTRIES {
                break;
            }
        }
        let named = |path: AbsPath| Some((command_file::name(path.relative_to(place)?)?, path));
        let mut named: Vec<_> = files.into_iter().filter_map(named).collect();
        named.sort();
        named
    }

    /// Resolves the links of a directory. The user's links may lead anywhere, the project's not out
    /// of it.
    async fn root(&self, origin: Origin, directory: &AbsPath) -> Result<AbsPath, String> {
        match origin {
            Origin::User => self.resolved(directory).await,
            Origin::Project => self.inside(directory).await,
        }
    }

    async fn resolved(&self, path: &AbsPath) -> Result<AbsPath, String> {
        self.system.resolve(path).await.map_err(|error| error.to_string())
    }

    async fn inside(&self, path: &AbsPath) -> Result<AbsPath, String> {
        resolve_inside(self.system, self.project, path).await.map_err(|error| error.to_string())
    }
}

fn parent(path: &AbsPath) -> AbsPath {
    path.parent().unwrap_or_else(|| path.clone())
}

fn limit<T>(found: &mut Vec<T>, what: &str, place: &AbsPath, problems: &mut Vec<String>) {
    if found.len() > SKILLS {
        problems.push(format!("{place} holds more than {SKILLS} {what}; the others are not used"));
        found.truncate(SKILLS);
    }
}
