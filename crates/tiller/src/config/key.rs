//! The type of a setting's definition, and the values of settings.

use crate::options::Options;
use std::{fmt, str::FromStr, time::Duration};
use system::AbsPath;

/// The definition of a setting.
pub(crate) struct Key {
    /// The dotted name. A part `NAME` stands for a name that the user chooses.
    pub(crate) name: &'static str,
    /// Whether a project's file may set it.
    pub(crate) in_project: InProject,
    /// Applies a value; the string is the name in place of `NAME`. The error is a message for the
    /// user.
    pub(crate) set: fn(&mut Options, &str, &Value) -> Result<(), String>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What a project's file may do with a setting. Anybody can write a project, so without trust its
/// settings may only tighten.
#[derive(Clone, Copy)]
pub(crate) enum InProject {
    /// Ignored until the user trusts these settings of the directory. Holds the reason.
    WhenTrusted(&'static str),
    /// Adds to the list, trusted or not: every entry forbids more.
    Adds,
    /// May be tightened, trusted or not: returns whether `after` is no looser than `before`.
    Tightens(fn(before: &Options, after: &Options) -> bool),
}

/// A value as written in a settings file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Flag(bool),
    List(Vec<Value>),
    /// A value of any other kind; the kind in words.
    Other(&'static str),
}

impl Key {
    /// Matches a dotted name against this definition.
    ///
    /// Returns the part in place of `NAME` (empty without such a part), or `None` if it is another
    /// setting.
    pub(crate) fn matches<'a>(&self, written: &'a str) -> Option<&'a str> {
        let (own, given) = (self.name.split('.'), written.split('.'));
        let mut name = "";
        for (own, given) in own.clone().zip(given.clone()) {
            match own {
                "NAME" => name = given,
                own if own == given => {}
                _ => return None,
            }
        }
        (own.count() == given.count()).then_some(name)
    }

    /// Whether the setting belongs to a group.
    pub(crate) fn is_in(&self, group: &str) -> bool {
        let (mut own, given) = (self.name.split('.'), group.split('.'));
        for given in given {
            if !own.next().is_some_and(|own| own == "NAME" || own == given) {
                return false;
            }
        }
        own.next().is_some()
    }
}

/// Formats the value as in a settings file.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Other(kind) => f.write_str(kind),
        }
    }
}

impl Value {
    /// Converts a JSON value; `None` if settings take no value of its kind.
    pub(crate) fn of_json(value: &serde_json::Value) -> Option<Self> {
        match value {
            serde_json::Value::String(text) => Some(Self::Text(text.clone())),
            serde_json::Value::Bool(flag) => Some(Self::Flag(*flag)),
            serde_json::Value::Number(number) => number.as_i64().map(Self::Number),
            serde_json::Value::Array(items) => {
                items.iter().map(Self::of_json).collect::<Option<_>>().map(Self::List)
            }
            serde_json::Value::Null | serde_json::Value::Object(_) => None,
        }
    }

    /// Converts the value to JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Other(kind) => (*kind).into(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Number(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Other(kind) => kind,
        }
    }

    /// Text that is not empty.
    pub(crate) fn text(&self) -> Result<String, String> {
        match self {
            Self::Text(text) if text.trim().is_empty() => Err("is empty".to_owned()),
            Self::Text(text) => Ok(text.clone()),
            other => Err(format!("takes text, not {}", other.kind())),
        }
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self) -> Result<bool, String> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            other => Err(format!("takes true or false, not {}", other.kind())),
        }
    }

    /// A whole number from 1.
    pub(crate) fn count<N: TryFrom<i64>>(&self) -> Result<N, String> {
        match self {
            Self::Number(number) if *number >= 1 => {
                N::try_from(*number).map_err(|_| format!("{number} is too large"))
            }
            Self::Number(number) => Err(format!("takes a whole number from 1, not {number}")),
            other => Err(format!("takes a whole number from 1, not {}", other.kind())),
        }
    }

    /// A percentage from 10 to 100; smaller parts are of no use.
    pub(crate) fn percent(&self) -> Result<u64, String> {
        match self.count()? {
            percent @ 10..=100 => Ok(percent),
            other => Err(format!("takes a whole number from 10 to 100, not {other}")),
        }
    }

    /// A whole number of seconds from 1.
    pub(crate) fn seconds(&self) -> Result<Duration, String> {
        self.count::<u64>().map(Duration::from_secs)
    }

    /// A word that `T` parses.
    pub(crate) fn word<T: FromStr<Err: fmt::Display>>(&self) -> Result<T, String> {
        self.text()?.parse().map_err(|error: T::Err| error.to_string())
    }

    /// One of the words of a table.
    pub(crate) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, String> {
        let given = self.text()?;
        match words.iter().find(|(word, _)| *word == given) {
            Some((_, value)) => Ok(*value),
            None => {
                let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                Err(format!("unknown value {given:?}; use one of {}", all.join(", ")))
            }
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self) -> Result<Vec<String>, String> {
        match self {
            Self::List(items) => items.iter().map(Self::text).collect(),
            other => Err(format!("takes a list of texts, not {}", other.kind())),
        }
    }

    /// A list of absolute paths; `~/` is the home directory.
    pub(crate) fn paths(&self, home: &AbsPath) -> Result<Vec<AbsPath>, String> {
        let path = |text: String| match text.strip_prefix('~') {
            Some("") => Ok(home.clone()),
            Some(rest) if rest.starts_with('/') => Ok(home.join(&rest[1..])),
            _ => AbsPath::new(&text).map_err(|error| format!("{error}; write it from / or ~/")),
        };
        self.texts()?.into_iter().map(path).collect()
    }

    /// An `http://` or `https://` URL, without trailing slashes.
    pub(crate) fn url(&self) -> Result<String, String> {
        let text = self.text()?;
        match text.split_once("://") {
            Some(("http" | "https", rest)) if !rest.is_empty() => Ok(text.trim_end_matches('/').to_owned()),
            _ => Err(format!("takes an address that begins with http:// or https://, not {text:?}")),
        }
    }

    /// The name of an environment variable. The error does not repeat the text, which may be a key
    /// that was pasted by mistake.
    pub(crate) fn variable(&self) -> Result<String, String> {
        let text = self.text()?;
        let name = text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if name && !text.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(text);
        }
        Err("takes the name of an environment variable, such as MY_API_KEY; keys themselves do not belong in files".to_owned())
    }
}
