//! Agent modes and permission modes.

use std::str::FromStr;

/// What the agent may do at all: which tools exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// All tools.
    #[default]
    Edit,
    /// Reads and plans; commands must not change anything.
    Plan,
    /// Reads and answers.
    Ask,
}

/// How much is asked before a tool acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PermissionMode {
    /// Safe operations pass, risky ones ask.
    #[default]
    Guardian,
    /// Every governed operation asks.
    Argus,
    /// Nothing asks; hard denials still hold.
    Prometheus,
}

/// A name that is none of the modes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} {given:?}; use one of {expected}")]
pub struct UnknownMode {
    pub(crate) kind: &'static str,
    pub(crate) given: String,
    pub(crate) expected: &'static str,
}

impl Mode {
    /// All modes, in the order they are offered.
    pub const ALL: [Self; 3] = [Self::Edit, Self::Plan, Self::Ask];

    /// The mode's id on every wire and in settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Plan => "plan",
            Self::Ask => "ask",
        }
    }

    /// The mode's name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Edit => "Edit",
            Self::Plan => "Plan",
            Self::Ask => "Ask",
        }
    }

    /// What it means, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Edit => "Full coding access",
            Self::Plan => "Read-only planning",
            Self::Ask => "Read-only Q&A",
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.id() == text).ok_or_else(|| UnknownMode {
            kind: "mode",
            given: text.to_owned(),
            expected: "edit, plan, ask",
        })
    }
}

impl PermissionMode {
    /// All permission modes, in the order they are offered.
    pub const ALL: [Self; 3] = [Self::Guardian, Self::Argus, Self::Prometheus];

    /// The mode's id on every wire and in settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Guardian => "guardian",
            Self::Argus => "argus",
            Self::Prometheus => "prometheus",
        }
    }

    /// The mode's name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Guardian => "Guardian",
            Self::Argus => "Argus",
            Self::Prometheus => "Prometheus",
        }
    }

    /// What it means, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Self::Guardian => "Safe operations pass, risky ones ask",
            Self::Argus => "Every change and command asks",
            Self::Prometheus => "Nothing asks; hard denials still hold",
        }
    }
}

impl FromStr for PermissionMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.id() == text).ok_or_else(|| UnknownMode {
            kind: "permission mode",
            given: text.to_owned(),
            expected: "guardian, argus, prometheus",
        })
    }
}
