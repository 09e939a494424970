//! Changes of the files that other programs obey.

use crate::AbsPath;

/// A change that a session's commands made of a file that git, editors or agents obey. It is not
/// made in the file itself until the user agrees; see [`crate::System::open_changes`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ControlChange {
    /// The file.
    pub path: AbsPath,
    /// The settings of a configuration of git that change, each with its new value; `None` for one
    /// that is removed. Empty for other files.
    pub settings: Vec<(String, Option<String>)>,
    /// The content of the file; `None` if there is no file.
    pub before: Option<Vec<u8>>,
    /// The content that it would have; `None` if it would be removed.
    pub after: Option<Vec<u8>>,
    /// `true` if it would be executable.
    pub executable: bool,
    /// Where the changed file is.
    pub(crate) place: ControlPlace,
}

/// The place of a changed file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ControlPlace {
    /// The copy of a configuration of git.
    Linked(AbsPath),
    /// A file in the copy of a folder.
    Folder(AbsPath),
    /// A file that has been renamed; `None` if commands have removed it.
    Aside(Option<AbsPath>),
}

impl ControlChange {
    /// Returns the name under which the changed file is in the project, if it is there.
    pub fn set_aside(&self) -> Option<&AbsPath> {
        match &self.place {
            ControlPlace::Aside(aside) => aside.as_ref(),
            ControlPlace::Linked(_) | ControlPlace::Folder(_) => None,
        }
    }
}
