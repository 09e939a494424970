//! What the sessions of a process know of the editor's texts in relation to the files on disk.

use super::{
    fingerprint::{Fingerprint, locked},
    recent::Recent,
};
use std::sync::Mutex;
use system::AbsPath;

/// The comparisons of editors' texts with files on disk. Shared by all sessions of a process: a
/// text that was once on disk is an old one in every session.
#[derive(Debug, Default)]
pub(crate) struct EditorFiles {
    /// What the editor and the disk had when they were last compared.
    compared: Mutex<Recent<Compared>>,
    /// The disk's content when a text was written through an editor that had not saved it by the
    /// last check.
    not_saved: Mutex<Recent<Option<Fingerprint>>>,
}

/// The relation of the editor's text to the file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Both have the same text.
    Same,
    /// The editor has changes that are not on disk, or a file that is not on disk.
    Unsaved,
    /// The editor still shows the text that it had in common with the disk, and the file on disk
    /// was changed or removed since.
    Stale,
    /// Both have changed since they had the same text, in different ways.
    Conflict,
}

/// What is known of the editor's text and the disk's from earlier comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// Both had this text.
    Same(Fingerprint),
    /// They have differed since they were first compared, when the disk had this content.
    Different(Option<Fingerprint>),
}

impl EditorFiles {
    /// Forgets a file that the agent removed.
    pub(crate) fn forget(&self, path: &AbsPath) {
        locked(&self.not_saved).remove(path);
        locked(&self.compared).remove(path);
    }

    /// Compares the editor's text with the disk's (`None`: no such file), and records what later
    /// comparisons need. Two texts that differ stay different until they are the same again.
    pub(crate) fn compare(&self, path: &AbsPath, held: &str, on_disk: Option<&str>) -> Standing {
        let (held, on_disk) = (Fingerprint::of(held), on_disk.map(Fingerprint::of));
        let mut compared = locked(&self.compared);
        let known = compared.get(path).copied();
        let standing = standing(known, held, on_disk);
        match (standing, known) {
            (Standing::Same, _) => compared.insert(path.clone(), Compared::Same(held)),
            (_, None) => compared.insert(path.clone(), Compared::Different(on_disk)),
            _ => {}
        }
        standing
    }

    /// Whether a text is the one that the editor and the disk last had in common. If the editor
    /// still has it, the disk's text is the same or a newer one.
    pub(crate) fn is_common(&self, path: &AbsPath, text: &str) -> bool {
        locked(&self.compared).get(path).copied() == Some(Compared::Same(Fingerprint::of(text)))
    }

    /// Records a write through an editor that cannot be read. `disk` is the disk's content before
    /// the write if the disk still has it (the write is not saved), otherwise `None` (it is saved).
    pub(crate) fn written_blindly(&self, path: &AbsPath, disk: Option<Option<Fingerprint>>) {
        match disk {
            Some(disk) => locked(&self.not_saved).insert(path.clone(), disk),
            None => locked(&self.not_saved).remove(path),
        }
    }

    /// Whether a file was written through an editor and not saved by the last check.
    pub(crate) fn is_not_saved(&self, path: &AbsPath) -> bool {
        locked(&self.not_saved).get(path).is_some()
    }

    /// Whether `disk` is the content from before the file was written through an editor that had
    /// not saved it by the last check.
    pub(crate) fn awaits_save(&self, path: &AbsPath, disk: Option<Fingerprint>) -> bool {
        locked(&self.not_saved).get(path) == Some(&disk)
    }
}

/// Returns the relation of the editor's text to the disk's; a pure function. `known` is from
/// earlier comparisons.
fn standing(known: Option<Compared>, held: Fingerprint, on_disk: Option<Fingerprint>) -> Standing {
    match known {
        _ if on_disk == Some(held) => Standing::Same,
        Some(Compared::Same(common)) if held == common => Standing::Stale,
        Some(Compared::Same(common)) if on_disk == Some(common) => Standing::Unsaved,
        Some(Compared::Different(then)) if on_disk == then => Standing::Unsaved,
        Some(_) => Standing::Conflict,
        None => Standing::Unsaved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The eight cases of `docs/delegation.md`: known or not, the editor's text moved or not, the
    /// disk's text moved or not.
    #[test]
    fn the_editor_and_the_disk() {
        let path = AbsPath::new("/w/a").unwrap();
        for (held, on_disk, known, unknown) in [
            ("a", Some("a"), Standing::Same, Standing::Same),
            ("a", Some("a\r\n"), Standing::Same, Standing::Same),
            ("typed", Some("a"), Standing::Unsaved, Standing::Unsaved),
            ("a", Some("moved"), Standing::Stale, Standing::Conflict),
            ("a", None, Standing::Stale, Standing::Conflict),
            ("typed", Some("moved"), Standing::Conflict, Standing::Conflict),
            ("typed", None, Standing::Conflict, Standing::Conflict),
            ("both", Some("both"), Standing::Same, Standing::Same),
        ] {
            let case = format!("{held} {on_disk:?}");
            let files = EditorFiles::default();
            assert_eq!(files.compare(&path, "a", Some("a")), Standing::Same);
            for _ in 0..2 {
                assert_eq!(files.compare(&path, held, on_disk), known, "{case}, again");
            }
            let files = EditorFiles::default();
            assert_eq!(files.compare(&path, "its own", Some("a")), Standing::Unsaved);
            for _ in 0..2 {
                assert_eq!(files.compare(&path, held, on_disk), unknown, "{case}, never the same");
            }
        }
        let files = EditorFiles::default();
        for _ in 0..2 {
            assert_eq!(files.compare(&path, "not on disk", None), Standing::Unsaved);
        }
    }
}
