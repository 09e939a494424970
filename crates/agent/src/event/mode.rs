//! Agent modes and permission modes.

use std::str::FromStr;

/// The agent mode: which tools are available.
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

/// The permission mode: which operations need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PermissionMode {
    /// Safe operations are allowed, risky ones need approval.
    #[default]
    Guardian,
    /// Every governed operation needs approval.
    Argus,
    /// No operation needs approval; hard denials still apply.
    Prometheus,
}

/// An unknown mode name.
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

    /// Returns the mode's id, used on every wire and in settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Plan => "plan",
            Self::Ask => "ask",
        }
    }

    /// Returns the mode's display name.
    pub fn label(self) -> &'static str {
        match self {
            Self::Edit => "Edit",
            Self::Plan => "Plan",
            Self::Ask => "Ask",
        }
    }

    /// Returns a short description for users.
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

    /// Returns the mode's id, used on every wire and in settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Guardian => "guardian",
            Self::Argus => "argus",
            Self::Prometheus => "prometheus",
        }
    }

    /// Returns the mode's display name.
    pub fn label(self) -> &'static str {
        match self {
            Self::Guardian => "Guardian",
            Self::Argus => "Argus",
            Self::Prometheus => "Prometheus",
        }
    }

    /// Returns a short description for users.
    pub fn description(self) -> &'static str {
        match self {
            Self::Guardian => "Safe operations run, risky ones need approval",
            Self::Argus => "Every change and command needs approval",
            Self::Prometheus => "Nothing needs approval; hard denials still hold",
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
