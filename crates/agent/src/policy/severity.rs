//! The severity of commands that cannot be undone.

/// The way in which a command cannot be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// Never run, because the command matches this pattern.
    Denied(&'static str),
    /// The command deletes or overwrites the files that it names, or more, as this pattern says.
    Destroys(&'static str),
    /// Some words are known only at run time, and the command may match this pattern.
    Open(&'static str),
    /// The command publishes something.
    Publishes,
    /// The command pushes to a remote repository that it names as git's configuration does.
    Pushes,
    /// The command deletes data that exists nowhere else; the text describes it.
    History(&'static str),
}
