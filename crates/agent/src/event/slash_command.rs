//! Slash commands as clients list them.

use std::borrow::Cow;

/// A slash command, as clients list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: Cow<'static, str>,
    /// What it does.
    pub description: Cow<'static, str>,
    /// A placeholder for its argument, if it takes one.
    pub hint: Option<Cow<'static, str>>,
    /// Where it comes from.
    pub group: CommandGroup,
}

/// Where a slash command comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CommandGroup {
    /// Tiller itself.
    #[default]
    BuiltIn,
    /// A skill; holds the path of its directory.
    Skill(String),
    /// A Markdown file; holds its path.
    File(String),
    /// A prompt of an MCP server.
    Server,
}
