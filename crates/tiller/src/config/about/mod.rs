//! The description of each setting: its type, its default and its purpose. The JSON Schema
//! ([`schema()`]) and `docs/reference/settings.md` are generated from it.

mod schema;
mod serve;
mod table;
mod words;

pub(crate) use schema::{plain_text, schema};

use super::{KEYS, Key, variables};
use std::time::Duration;

/// The description of a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    /// The dotted name, as in [`Key::name`].
    name: &'static str,
    /// The type of its values.
    pub(crate) takes: Takes,
    /// The value without any layer of settings.
    pub(crate) default: DefaultValue,
    /// What it does: Markdown with links relative to `docs`; `#…` leads to `docs/configuration.md`.
    pub(crate) text: &'static str,
}

/// The type of a setting's values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    /// Text that is not blank.
    Text,
    /// The name of a theme: one that comes with Tiller, or one of the user's.
    Theme,
    /// `PROVIDER/NAME`.
    Model,
    /// An `http://` or `https://` URL.
    Url,
    /// The address of a server: a host, a host with a port, or a URL.
    Address,
    /// The name of an environment variable.
    Variable,
    /// `true` or `false`.
    Flag,
    /// A whole number from 1.
    Count,
    /// A whole number from 0.
    CountOrZero,
    /// A whole number from 10 to 100.
    Percent,
    /// A whole number of seconds from 1.
    Seconds { most: Option<Duration> },
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list. Lists of several layers are concatenated where the description says so.
    List(Item),
}

/// The type of a list's items.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item {
    /// The name of a tool.
    Tool,
    /// The name of a tool, in which `*` stands for any characters.
    ToolPattern,
    /// A pattern of paths.
    PathPattern,
    /// A path that begins with `/` or `~/`.
    Path,
    /// A word, and a path that begins with `~/`.
    HomePath,
    /// A permission rule.
    Rule,
    /// The name of an environment variable.
    Variable,
    /// An `http://` or `https://` URL.
    Url,
    /// The name or the address of a host.
    Host,
    /// A word of a command line.
    Argument,
    /// A key, such as `ctrl+o`.
    Key,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// The value of a setting that no layer sets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DefaultValue {
    Text(&'static str),
    Number(i64),
    Flag(bool),
    EmptyList,
    /// A default that is not a value of the setting, in words.
    Described(&'static str),
    /// None: a group that has the other settings must have this one.
    Required,
}

impl About {
    /// Whether the values of all layers apply together.
    pub(crate) fn adds_up(&self) -> bool {
        matches!(self.takes, Takes::List(_)) && self.text.contains("Layers add up")
    }
}

/// Returns the description of a setting.
pub(crate) fn description(key: &Key) -> &'static About {
    let about = table::ABOUT.iter().find(|about| about.name == key.name);
    about.expect("every setting has a description, as checked when this is compiled")
}

/// Returns the environment variable that sets a setting, if any.
pub(crate) fn variable_of(key: &Key) -> Option<&'static str> {
    let of_others = (variables::OLLAMA_HOST, "providers.local.ollama");
    let all = variables::VARIABLES.iter().chain(std::iter::once(&of_others));
    all.copied().find(|(_, name)| *name == key.name).map(|(variable, _)| variable)
}

const _: () = assert!(
    describes_every_setting(),
    "about/table.rs must describe the settings of keys, each once and in the same order"
);

const fn describes_every_setting() -> bool {
    let mut at = 0;
    while at < KEYS.len() && at < table::ABOUT.len() {
        if !equal(KEYS[at].name.as_bytes(), table::ABOUT[at].name.as_bytes()) {
            return false;
        }
        at += 1;
    }
    KEYS.len() == table::ABOUT.len()
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    one.len() == other.len()
}
