//! A slash command as clients list it.

use std::borrow::Cow;

/// A slash command, as clients list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: Cow<'static, str>,
    /// What it does.
    pub description: Cow<'static, str>,
    /// What may follow it, if anything.
    pub hint: Option<Cow<'static, str>>,
}
