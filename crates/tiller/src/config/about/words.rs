//! The types of settings in words.

use super::{Item, Takes};

impl Takes {
    /// Describes the type in Markdown.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Theme => "text: the name of a theme".to_owned(),
            Self::Model => "text: `PROVIDER/NAME`".to_owned(),
            Self::Url => "text: a URL that begins with `http://` or `https://`".to_owned(),
            Self::Address => "text: `HOST`, `HOST:PORT` or a URL".to_owned(),
            Self::Variable => "text: the name of an environment variable".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Count => "a whole number from 1".to_owned(),
            Self::CountOrZero => "a whole number from 0".to_owned(),
            Self::Percent => "a whole number from 10 to 100".to_owned(),
            Self::Seconds { most: None } => "a whole number of seconds from 1".to_owned(),
            Self::Seconds { most: Some(most) } => {
                format!("a whole number of seconds from 1 to {}", most.as_secs())
            }
            Self::Word(words) => one_of(words),
            Self::List(Item::Tool) => "a list of tool names".to_owned(),
            Self::List(Item::ToolPattern) => "a list of tool names; `*` stands for any characters".to_owned(),
            Self::List(Item::PathPattern) => "a list of path patterns".to_owned(),
            Self::List(Item::Path) => "a list of paths that begin with `/` or `~/`".to_owned(),
            Self::List(Item::Rule) => "a list of rules: `TOOL` or `TOOL(PATTERN)`".to_owned(),
            Self::List(Item::HomePath) => "a list of entries such as `ro ~/.kube/config`".to_owned(),
            Self::List(Item::Variable) => "a list of names of environment variables".to_owned(),
            Self::List(Item::Url) => "a list of URLs".to_owned(),
            Self::List(Item::Host) => "a list of hosts, without scheme and port".to_owned(),
            Self::List(Item::Argument) => "a list: a program and its arguments".to_owned(),
            Self::List(Item::Key) => "a list of keys".to_owned(),
            Self::List(Item::Word(words)) => format!("a list of {}", one_of(words)),
        }
    }
}

fn one_of(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        words => words.join(""),
    }
}
