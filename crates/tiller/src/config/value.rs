//! The values of settings, and why a setting does not take one.

use crate::options::{IntegrationNameError, ProviderNameError};
use std::{fmt, str::FromStr, time::Duration};
use system::{AbsPath, PathError};

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

/// Why a setting does not take a value: the end of a sentence that begins with the setting's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueError {
    /// The text is blank.
    #[error("is empty")]
    Empty,
    /// The value is of another kind or form.
    #[error("takes {expected}, not {given}")]
    Unexpected { expected: &'static str, given: String },
    /// The number does not fit its type.
    #[error("{0} is too large")]
    TooLarge(i64),
    /// The duration is over this maximum.
    #[error("is at most {} seconds", .0.as_secs())]
    TooLong(Duration),
    /// The text is none of the known words.
    #[error("unknown value {given:?}; use one of {known}")]
    UnknownWord { given: String, known: String },
    /// The path is not absolute.
    #[error("{0}; write it from / or ~/")]
    Path(#[from] PathError),
    /// The text is not an entry of the home directory.
    #[error("{0}")]
    HomePath(String),
    /// The text is not the name of an environment variable. It is not repeated: it may be a key
    /// that was pasted by mistake.
    #[error(
        "takes the name of an environment variable, such as MY_API_KEY; keys themselves do not belong in files"
    )]
    NotAVariable,
    /// The command of a hook has no program.
    #[error("is empty; write a program and its arguments")]
    NoProgram,
    /// A rule would allow too much.
    #[error("{rule}: {problem}")]
    TooWide { rule: String, problem: String },
    /// The part in place of `NAME` cannot be the name of a provider.
    #[error(transparent)]
    Provider(#[from] ProviderNameError),
    /// The part in place of `NAME` cannot be the name of an integration.
    #[error(transparent)]
    Integration(#[from] IntegrationNameError),
    /// The name is that of a group of settings.
    #[error("is a group of settings; write [{0}] and the settings below it")]
    Group(String),
    /// The setting cannot be written to a file, or removed from it.
    #[error("{0}")]
    Unwritable(&'static str),
    /// The message of the type that the value stands for.
    #[error("{0}")]
    Invalid(String),
}

impl ValueError {
    /// Wraps the error of the type that the value stands for.
    pub(super) fn invalid(error: impl fmt::Display) -> Self {
        Self::Invalid(error.to_string())
    }

    fn unexpected(expected: &'static str, given: impl fmt::Display) -> Self {
        Self::Unexpected { expected, given: given.to_string() }
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

    /// The items of a list; the value itself if it is none.
    pub(crate) fn items(&self) -> Vec<Self> {
        match self {
            Self::List(items) => items.clone(),
            other => vec![other.clone()],
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
    pub(crate) fn text(&self) -> Result<String, ValueError> {
        match self {
            Self::Text(text) if text.trim().is_empty() => Err(ValueError::Empty),
            Self::Text(text) => Ok(text.clone()),
            other => Err(ValueError::unexpected("text", other.kind())),
        }
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self) -> Result<bool, ValueError> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            other => Err(ValueError::unexpected("true or false", other.kind())),
        }
    }

    /// A whole number from 1.
    pub(crate) fn count<N: TryFrom<i64>>(&self) -> Result<N, ValueError> {
        match self {
            Self::Number(number) if *number >= 1 => {
                N::try_from(*number).map_err(|_| ValueError::TooLarge(*number))
            }
            Self::Number(number) => Err(ValueError::unexpected("a whole number from 1", number)),
            other => Err(ValueError::unexpected("a whole number from 1", other.kind())),
        }
    }

    /// A whole number from 0.
    pub(crate) fn count_or_zero<N: TryFrom<i64>>(&self) -> Result<N, ValueError> {
        match self {
            Self::Number(0) => N::try_from(0).map_err(|_| ValueError::TooLarge(0)),
            Self::Number(1..) => self.count(),
            Self::Number(number) => Err(ValueError::unexpected("a whole number from 0", number)),
            other => Err(ValueError::unexpected("a whole number from 0", other.kind())),
        }
    }

    /// A percentage from 10 to 100; smaller parts are of no use.
    pub(crate) fn percent(&self) -> Result<u64, ValueError> {
        match self.count()? {
            percent @ 10..=100 => Ok(percent),
            other => Err(ValueError::unexpected("a whole number from 10 to 100", other)),
        }
    }

    /// A whole number of seconds from 1.
    pub(crate) fn seconds(&self) -> Result<Duration, ValueError> {
        self.count::<u64>().map(Duration::from_secs)
    }

    /// A word that `T` parses.
    pub(crate) fn word<T: FromStr<Err: fmt::Display>>(&self) -> Result<T, ValueError> {
        self.text()?.parse().map_err(ValueError::invalid)
    }

    /// One of the words of a table.
    pub(crate) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, ValueError> {
        let given = self.text()?;
        match words.iter().find(|(word, _)| *word == given) {
            Some((_, value)) => Ok(*value),
            None => {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                Err(ValueError::UnknownWord { given, known: known.join(", ") })
            }
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self) -> Result<Vec<String>, ValueError> {
        match self {
            Self::List(items) => items.iter().map(Self::text).collect(),
            other => Err(ValueError::unexpected("a list of texts", other.kind())),
        }
    }

    /// A list of absolute paths; `~/` is the home directory.
    pub(crate) fn paths(&self, home: &AbsPath) -> Result<Vec<AbsPath>, ValueError> {
        let path = |text: String| match text.strip_prefix('~') {
            Some("") => Ok(home.clone()),
            Some(rest) if rest.starts_with('/') => Ok(home.join(&rest[1..])),
            _ => AbsPath::new(&text).map_err(ValueError::from),
        };
        self.texts()?.into_iter().map(path).collect()
    }

    /// An `http://` or `https://` URL, without trailing slashes.
    pub(crate) fn url(&self) -> Result<String, ValueError> {
        let text = self.text()?;
        match text.split_once("://") {
            Some(("http" | "https", rest)) if !rest.is_empty() => Ok(text.trim_end_matches('/').to_owned()),
            _ => Err(ValueError::unexpected(
                "an address that begins with http:// or https://",
                format!("{text:?}"),
            )),
        }
    }

    /// The name of an environment variable.
    pub(crate) fn variable(&self) -> Result<String, ValueError> {
        let text = self.text()?;
        let name = text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if name && !text.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(text);
        }
        Err(ValueError::NotAVariable)
    }
}
