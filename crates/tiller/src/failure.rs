//! Why a command failed: a kind for programs, a text and advice for people.

use crate::{
    exit::{Exit, PrintedError},
    streams::StdoutError,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The kind of a failure, for programs that decide what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The command line is invalid or cannot be carried out.
    Usage,
    /// A settings file or a variable is invalid, or something is not configured.
    Config,
    /// A key or a login is missing, or was rejected.
    Auth,
    /// What was named does not exist.
    NotFound,
    /// A permission, the trust in a project or an approval is missing.
    Denied,
    /// Another process uses what was named.
    Busy,
    /// A server could not be reached.
    Network,
    /// A model's provider or another server refused, or answered with something unusable.
    Provider,
    /// A limit was reached.
    Limit,
    /// This program cannot do it, or not yet.
    NotAvailable,
    /// Anything else, such as a full disk.
    Internal,
}

impl Kind {
    /// All kinds, in the order of the documents.
    pub(crate) const ALL: [Self; 11] = [
        Self::Usage,
        Self::Config,
        Self::Auth,
        Self::NotFound,
        Self::Denied,
        Self::Busy,
        Self::Network,
        Self::Provider,
        Self::Limit,
        Self::NotAvailable,
        Self::Internal,
    ];

    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Config => "config",
            Self::Auth => "auth",
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Busy => "busy",
            Self::Network => "network",
            Self::Provider => "provider",
            Self::Limit => "limit",
            Self::NotAvailable => "not_available",
            Self::Internal => "internal",
        }
    }

    /// What it means, for people.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Usage => "the command line is invalid or cannot be carried out",
            Self::Config => "a settings file or a variable is invalid, or something is not configured",
            Self::Auth => "a key or a login is missing, or was rejected",
            Self::NotFound => "what was named does not exist",
            Self::Denied => "a permission, the trust in a project or an approval is missing",
            Self::Busy => "another process uses what was named",
            Self::Network => "a server could not be reached",
            Self::Provider => {
                "a model's provider or another server refused, or answered with something unusable"
            }
            Self::Limit => "a limit was reached",
            Self::NotAvailable => "this program cannot do it",
            Self::Internal => "anything else, such as a full disk",
        }
    }
}

/// A failure with what a person or a program can do next. Its text is a lowercase fragment.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
    pub(crate) next: Vec<String>,
    pub(crate) exit: Exit,
}

impl Failure {
    /// Creates a failure that ends the process with the exit code 1, for a limit with 2.
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Self {
        let exit = if kind == Kind::Limit { Exit::Limit } else { Exit::Error };
        Self { kind, what: what.into(), hint: None, next: Vec::new(), exit }
    }

    /// Adds a sentence that helps to avoid the failure.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the name that was probably meant, if there is one.
    pub(crate) fn meant(self, nearest: Option<impl std::fmt::Display>) -> Self {
        match nearest {
            Some(nearest) => self.hint(format!("did you mean '{nearest}'?")),
            None => self,
        }
    }

    /// Adds a command line to try next.
    pub(crate) fn next(mut self, command: impl Into<String>) -> Self {
        self.next.push(command.into());
        self
    }
}

/// Returns an error about the command line. It ends the process with [`Exit::Error`]: 2 means a
/// limit and nothing else.
pub(crate) fn usage(what: impl Into<String>) -> anyhow::Error {
    Failure::new(Kind::Usage, what).into()
}

/// Returns the exit code of an error.
pub(crate) fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(PrintedError { exit, .. }) = error.downcast_ref() {
        *exit
    } else if let Some(failure) = error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        failure.exit
    } else if StdoutError::caused(error) {
        Exit::Output
    } else {
        Exit::Error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_kind_is_that_of_its_json() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        let schema = schemars::schema_for!(Kind).to_value().to_string();
        assert!(Kind::ALL.iter().all(|kind| schema.contains(&format!("\"{}\"", kind.name()))), "{schema}");
        assert_eq!(schema.matches("\"const\"").count(), Kind::ALL.len(), "{schema}");
    }

    #[test]
    fn an_error_keeps_its_exit_code_under_added_context() {
        let closed = StdoutError::new(&std::io::ErrorKind::StorageFull.into());
        for (error, exit) in [
            (usage("no"), Exit::Error),
            (Failure::new(Kind::Limit, "no").into(), Exit::Limit),
            (std::io::Error::from(closed.clone()).into(), Exit::Output),
            (anyhow::Error::from(closed).context("yes"), Exit::Output),
            (anyhow::anyhow!("no"), Exit::Error),
        ] {
            assert_eq!(exit_of(&error), exit, "{error:#}");
        }
    }
}
