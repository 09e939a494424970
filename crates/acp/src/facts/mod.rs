//! What is known of clients that say who they are: one table, looked up once per connection.
//!
//! The protocol leaves things open that clients do differently (how a terminal takes a command) and
//! clients get wrong what it settles (which lines `line` and `limit` name). [`look_up`] finds the
//! row of the `clientInfo` of `initialize`; a client without a row has [`Facts::default`], in which
//! all is unknown, and what must be known is found out when it is needed first. Outside this module
//! no client is named: the rest of the crate asks for facts.
//!
//! - Names are compared without their case and without blanks around them. A name is compared whole, except where a
//!   row says that it is the beginning of names.
//! - Versions are compared by their numbers: `v1.2` is `1.2.0`, and what follows the numbers (`-beta`, `+build`) does
//!   not count. A version that is missing or starts with no number is in no range but the one without bounds.

mod known;
mod version;

pub use known::{KNOWN, SCRIPTED};
pub use version::Versions;

use std::fmt;

/// A kind of client.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// Its name for people.
    pub title: &'static str,
    /// What it calls itself in `clientInfo.name`; empty for one that does not say who it is, which
    /// is never looked up.
    pub names: &'static [Name],
    /// The versions that the row holds for, by `clientInfo.version`.
    pub versions: Versions,
    /// The version whose source was read or which was run, as it stands in `clientInfo.version`
    /// where it is said.
    pub version: &'static str,
    /// What it sends as `clientCapabilities`, in JSON.
    pub capabilities: &'static str,
    /// What is known of it.
    pub facts: Facts,
    /// Where each fact was found.
    pub sources: &'static [Source],
}

/// How a client calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// By this name.
    Is(&'static str),
    /// By names that begin so.
    Starts(&'static str),
}

/// Where a fact was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Which facts.
    pub facts: &'static [Fact],
    /// The address, or the file of the client's source.
    pub at: &'static str,
    /// Its version or commit.
    pub version: &'static str,
    /// When it was read, as `YYYY-MM-DD`.
    pub read: &'static str,
}

/// A field of [`Facts`], and what else a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// [`Client::names`].
    Name,
    /// [`Client::capabilities`].
    Capabilities,
    /// [`Facts::terminal`].
    Terminal,
    /// [`Facts::stdin`].
    Stdin,
    /// [`Facts::ranges`].
    Ranges,
    /// [`Facts::shows`].
    Shows,
    /// [`Facts::login`].
    Login,
    /// [`Facts::buffers`].
    Buffers,
}

/// What is known of a client. The default is what is known of a stranger: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// How `terminal/create` takes `command` and `args`.
    pub terminal: Terminal,
    /// What a command in a terminal reads from its standard input.
    pub stdin: Stdin,
    /// Whether `line` and `limit` of `fs/read_text_file` are honoured.
    pub ranges: Ranges,
    /// What it shows of what it is told.
    pub shows: Shows,
    /// When it logs in.
    pub login: Login,
    /// Whether its reads can give what is on no disk.
    pub buffers: Buffers,
}

/// How `terminal/create` takes `command` and `args`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terminal {
    /// As the words of an argument vector.
    Vector,
    /// As words that are quoted and joined to a line for a POSIX shell: the same as a vector, if no
    /// shell would change the word in `command`.
    Quoted,
    /// As words that are joined to a line for a shell. A `command` without `args` is that line as
    /// it stands.
    Joined,
    /// In no way that is safe. Commands run on the agent's machine.
    Unsafe,
    /// Not known; found out by a command that does nothing.
    #[default]
    Unknown,
}

/// What a command in a terminal reads from its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Nothing: it is closed or empty.
    Empty,
    /// It waits: for the user, or for a pipe without a writer.
    Waits,
    /// Not known.
    #[default]
    Unknown,
}

/// Whether `line` and `limit` of `fs/read_text_file` are honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ranges {
    /// `line` counts from one and `limit` is the number of lines.
    Honoured,
    /// The file is given whole.
    Ignored,
    /// `line` counts from zero.
    ZeroBased,
    /// Some ranges are given as asked for, others are not.
    Inexact,
    /// Not known; found out by reading a file both ways.
    #[default]
    Unknown,
}

/// What a client shows of what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shows {
    /// Changes of files in permission requests.
    pub diff: Diff,
    /// Terminals in the content of a call.
    pub terminals: Shown,
    /// Plans.
    pub plan: Shown,
}

/// Where in the content of a permission request's call a diff is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Diff {
    /// Anywhere.
    Anywhere,
    /// In the first place only.
    First,
    /// Nowhere.
    Nowhere,
    /// Not known.
    #[default]
    Unknown,
}

/// Whether something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shown {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// Not known.
    #[default]
    Unknown,
}

/// When a client logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Login {
    /// When `session/new` fails with −32000: it lets the user choose a method, then tries again.
    WhenRefused,
    /// After `initialize`, by a method that its settings name.
    Configured,
    /// After `initialize`, by the first method unless its settings name another.
    Always,
    /// Never.
    Never,
    /// Not known.
    #[default]
    Unknown,
}

/// Whether reads can give text that is on no disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Buffers {
    /// They cannot: they give what the disk holds, and fail or give nothing for a file that is not
    /// there.
    None,
    /// They can, or it is not known.
    #[default]
    Unknown,
}

/// What is known of the client that calls itself so. Of several rows that fit the first one counts.
pub fn look_up(name: Option<&str>, version: Option<&str>) -> Facts {
    find(name, version).map(|client| client.facts).unwrap_or_default()
}

/// The row of the client that calls itself so.
pub fn find(name: Option<&str>, version: Option<&str>) -> Option<&'static Client> {
    let name = name?;
    let fits = |client: &&Client| {
        client.names.iter().any(|known| known.fits(name)) && client.versions.contain(version)
    };
    KNOWN.iter().chain([&SCRIPTED]).find(fits)
}

impl Name {
    fn fits(self, name: &str) -> bool {
        let name = name.trim();
        match self {
            Self::Is(known) => name.eq_ignore_ascii_case(known),
            Self::Starts(known) => {
                name.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known))
            }
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(name) => f.write_str(name),
            Self::Starts(start) => write!(f, "{start}…"),
        }
    }
}

impl Ranges {
    /// Whether it is known that not every range is given as asked for.
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Ignored | Self::ZeroBased | Self::Inexact)
    }
}

#[cfg(test)]
mod tests;
