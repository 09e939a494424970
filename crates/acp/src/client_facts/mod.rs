//! Facts about clients that send their name: one table, looked up once per connection.
//!
//! The protocol leaves details open that clients implement differently (how a terminal interprets a
//! command), and clients get wrong what it specifies (which lines `line` and `limit` select).
//! [`look_up`] finds the row for the `clientInfo` of `initialize`. A client without a row gets
//! [`ClientFacts::default`], in which everything is unknown; a fact that is needed is then probed
//! at first use. No client is named outside this module: the rest of the crate asks for facts.
//!
//! - Names are compared ignoring case and surrounding blanks, and as a whole, except where a row
//!   declares a prefix.
//! - Versions are compared by their numbers: `v1.2` is `1.2.0`, and a suffix (`-beta`, `+build`)
//!   does not count. A version that is missing or starts with no number is only in the range
//!   without bounds.

mod known;
mod version;

pub use known::{KNOWN, SCRIPTED};
pub use version::Versions;

use std::fmt;

/// A known client, a row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// Its display name.
    pub title: &'static str,
    /// The names it sends as `clientInfo.name`. Empty for a client that sends none; its row is
    /// never looked up.
    pub names: &'static [Name],
    /// The range of `clientInfo.version` to which the row applies.
    pub versions: Versions,
    /// The version that was examined (by its source, or by running it), as it appears in
    /// `clientInfo.version` if the client sends one.
    pub version: &'static str,
    /// The `clientCapabilities` that it sends, as JSON.
    pub capabilities: &'static str,
    /// The facts about it.
    pub facts: ClientFacts,
    /// The source of each fact.
    pub sources: &'static [Source],
}

/// A match on a client's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// Exactly this name.
    Is(&'static str),
    /// Names with this prefix.
    Starts(&'static str),
}

/// The source of one or more facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The facts that it documents.
    pub facts: &'static [Fact],
    /// The URL of the page, package or source file.
    pub at: &'static str,
    /// Its version or commit.
    pub version: &'static str,
    /// The date on which it was read, as `YYYY-MM-DD`.
    pub read: &'static str,
}

/// A field of [`ClientFacts`], or another column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// [`Client::names`].
    Name,
    /// [`Client::capabilities`].
    Capabilities,
    /// [`ClientFacts::terminal`].
    Terminal,
    /// [`ClientFacts::stdin`].
    Stdin,
    /// [`ClientFacts::ranges`].
    Ranges,
    /// [`ClientFacts::shows`].
    Shows,
    /// [`ClientFacts::login`].
    Login,
    /// [`ClientFacts::buffers`].
    Buffers,
}

/// Facts about a client. The default, for unknown clients, is that nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientFacts {
    /// How `terminal/create` interprets `command` and `args`.
    pub terminal: Terminal,
    /// What a command in a terminal reads from its standard input.
    pub stdin: Stdin,
    /// Whether `line` and `limit` of `fs/read_text_file` are honoured.
    pub ranges: Ranges,
    /// Which content it displays.
    pub shows: DisplayFacts,
    /// When it authenticates.
    pub login: Login,
    /// Whether its reads can return text that is not on disk.
    pub buffers: Buffers,
}

/// How `terminal/create` interprets `command` and `args`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terminal {
    /// As the elements of an argument vector.
    Vector,
    /// As words that are quoted and joined into a line for a POSIX shell: equivalent to a vector,
    /// unless a shell would change the word in `command`.
    Quoted,
    /// As words that are joined into a shell command line. A `command` without `args` is that line
    /// verbatim.
    Joined,
    /// In no safe way. Commands run on the agent's machine.
    Unsafe,
    /// Unknown; probed with a command that does nothing.
    #[default]
    Unknown,
}

/// What a command in a terminal reads from its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stdin {
    /// Nothing: standard input is closed or empty.
    Empty,
    /// Reads block: it is a terminal, or a pipe without a writer.
    Waits,
    /// Unknown.
    #[default]
    Unknown,
}

/// Whether `line` and `limit` of `fs/read_text_file` are honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ranges {
    /// `line` counts from one and `limit` is the number of lines.
    Honoured,
    /// The client always returns the whole file.
    Ignored,
    /// `line` counts from zero.
    ZeroBased,
    /// Some ranges are returned as requested, others are not.
    Inexact,
    /// Unknown; probed by reading a file with and without a range.
    #[default]
    Unknown,
}

/// Which content a client displays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DisplayFacts {
    /// Diffs in permission requests.
    pub diff: Diff,
    /// Terminals in the content of a tool call.
    pub terminals: Displayed,
    /// Plans.
    pub plan: Displayed,
}

/// At which position in the content of a permission request's tool call a diff is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Diff {
    /// At any position.
    Anywhere,
    /// At the first position only.
    First,
    /// Not displayed.
    Nowhere,
    /// Unknown.
    #[default]
    Unknown,
}

/// Whether a kind of content is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Displayed {
    /// Displayed.
    Yes,
    /// Not displayed.
    No,
    /// Unknown.
    #[default]
    Unknown,
}

/// When a client authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Login {
    /// When `session/new` fails with −32000: it lets the user choose a method, then retries.
    WhenRefused,
    /// After `initialize`, with a method that its settings name.
    Configured,
    /// After `initialize`, with the first method unless its settings name another.
    Always,
    /// Never.
    Never,
    /// Unknown.
    #[default]
    Unknown,
}

/// Whether reads can return text that is not on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Buffers {
    /// They cannot: they return the file on disk, and fail or return nothing for a missing file.
    None,
    /// They can, or it is unknown.
    #[default]
    Unknown,
}

/// Returns the facts about a client, by its `clientInfo`. If several rows match, the first is used.
pub fn look_up(name: Option<&str>, version: Option<&str>) -> ClientFacts {
    find(name, version).map(|client| client.facts).unwrap_or_default()
}

/// Returns the row that matches a client's `clientInfo`.
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
    /// Returns whether some ranges are known not to be returned as requested.
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Ignored | Self::ZeroBased | Self::Inexact)
    }
}

#[cfg(test)]
mod tests;
