//! Where a search looks, and how it reads files.

use super::{
    candidates::{Candidate, Candidates, Search},
    places::{self, Origin, UserPlaces},
};
use crate::{FolderTrust, found_rules, limits::SKILL_BYTES};
use std::sync::Arc;
use system::{AbsPath, FoundRules, System, read_found};

/// Finds the skills and commands of a user and of one project. Reads the disk of this machine.
#[derive(Clone)]
pub struct SkillFinder {
    /// Reads the directories.
    pub system: Arc<dyn System>,
    /// The user's directories; `None` searches the project only.
    pub user: Option<UserPlaces>,
    /// Decides which of the project's items may be used.
    pub trust: FolderTrust,
    /// The project's directory.
    pub project: AbsPath,
}

impl SkillFinder {
    /// Returns what may be a skill or a command of the user or the project; without a user, of the
    /// project only.
    pub(super) async fn candidates(&self, user: Option<&UserPlaces>) -> Candidates {
        let search = Search { system: self.system.as_ref(), project: &self.project };
        let mut problems = Vec::new();
        let skills = search.skills(places::of_skills(user, &self.project), &mut problems).await;
        let commands = search.commands(places::of_commands(user, &self.project), &mut problems).await;
        Candidates { skills, commands, problems }
    }

    /// Reads the file of a candidate. Links must not lead out of its directory.
    pub(super) async fn read(&self, candidate: &Candidate) -> Result<String, String> {
        let root = candidate.root.as_ref().map_err(Clone::clone)?;
        let size = self.system.metadata(&candidate.file).await.map_err(|error| error.to_string())?.size;
        if size > SKILL_BYTES as u64 {
            return Err(format!("it is larger than {SKILL_BYTES} bytes"));
        }
        let file = match candidate.origin {
            Origin::User => self.system.resolve(&candidate.file).await.map_err(|error| error.to_string())?,
            Origin::Project => candidate.file.clone(),
        };
        let rules = FoundRules { any_name: true, ..found_rules(root, &[], SKILL_BYTES) };
        let read = read_found(self.system.as_ref(), root, &file, &rules).await;
        let bytes = read.map_err(|error| error.to_string())?.ok_or("it no longer exists")?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    }
}
