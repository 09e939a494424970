//! How bad a command is that cannot be taken back.

/// What cannot be taken back of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// It is never run: the pattern that it matches.
    Denied(&'static str),
    /// Words of it are only known when it runs, and it may match this pattern.
    Open(&'static str),
    /// It hands something to others.
    Publishes,
    /// It takes away what nobody else has: what that is.
    History(&'static str),
}
