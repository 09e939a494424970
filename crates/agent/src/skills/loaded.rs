//! A skill as models receive it.

use super::{
    arguments::fill_in,
    manifest::{Manifest, SkillText},
};
use crate::limits::SKILL_FILES;
use std::fmt::Write as _;
use system::{AbsPath, System, WalkOptions};

/// The file that makes a directory a skill.
pub(super) const FILE: &str = "SKILL.md";

/// A skill that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it says about itself.
    pub manifest: Manifest,
    /// Its directory, without links.
    pub directory: AbsPath,
    /// Its instructions: the text of its SKILL.md after the front matter.
    pub body: String,
    /// Violations of the format that do not prevent its use.
    pub warnings: Vec<String>,
}

impl Skill {
    pub(super) fn new(text: SkillText, directory: AbsPath) -> Self {
        let SkillText { manifest, body, warnings } = text;
        Self { manifest, directory, body, warnings }
    }

    /// Returns its files other than SKILL.md, sorted, and whether there are more than are listed.
    /// Links are left out.
    pub async fn files(&self, system: &dyn System) -> (Vec<AbsPath>, bool) {
        let options = WalkOptions { limit: SKILL_FILES + 2, include_ignored: true };
        let mut files = system.walk(&self.directory, options).await.unwrap_or_default();
        let own = self.directory.join(FILE);
        let is_listed = |path: &AbsPath| {
            let name = path.relative_to(&self.directory);
            *path != own && name.is_some_and(|name| !name.split('/').any(|part| part == ".git"))
        };
        files.retain(is_listed);
        let is_cut = files.len() > SKILL_FILES;
        files.truncate(SKILL_FILES);
        (files, is_cut)
    }

    /// Returns its text for a model: the instructions, with the user's arguments if there are any,
    /// and the list of its files.
    pub(super) async fn text(&self, system: &dyn System, arguments: Option<&str>) -> String {
        let Manifest { name, .. } = &self.manifest;
        let directory = crate::one_line(self.directory.as_str());
        let body = match arguments {
            Some(arguments) => fill_in(&self.body, arguments),
            None => self.body.clone(),
        };
        let body = body.replace("</skill", "< /skill");
        let mut text = format!("{}\n{body}\n</skill>\n", opening(name, &directory));
        let (files, is_cut) = self.files(system).await;
        if files.is_empty() {
            text.push_str("The skill has no other files.\n");
            return text;
        }
        text.push_str(
            "Its other files. Read one with file_read when the instructions need it; relative paths in the \
             instructions are relative to the skill's directory:\n",
        );
        for file in &files {
            let _ = writeln!(text, "- {}", crate::one_line(file.as_str()));
        }
        if is_cut {
            text.push_str("- … more files, which glob lists\n");
        }
        text
    }
}

fn opening(name: &str, directory: &str) -> String {
    format!("<skill name=\"{name}\" directory=\"{directory}\">")
}

/// Returns the name of the skill that a text contains.
pub(super) fn named(text: &str) -> Option<&str> {
    let at = text.find("<skill name=\"")?;
    text[at..].strip_prefix("<skill name=\"")?.split('"').next()
}
