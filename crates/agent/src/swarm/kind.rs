//! The types of subagents.

use crate::Mode;

/// The type of a subagent: what it may do, and which subagents it may request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes files and runs commands.
    General,
    /// Reads and answers.
    Explore,
    /// Reads and plans.
    Plan,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::General, Self::Explore, Self::Plan];

    pub(super) fn id(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Explore => "explore",
            Self::Plan => "plan",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == name)
    }

    /// Returns the mode that a subagent of this type runs in, unless the requesting session's is
    /// stricter.
    pub(super) fn mode(self) -> Mode {
        match self {
            Self::General => Mode::Edit,
            Self::Explore => Mode::Ask,
            Self::Plan => Mode::Plan,
        }
    }

    /// Returns the types that a subagent of this type may request.
    pub(super) fn may_request(self) -> &'static [Self] {
        match self {
            Self::General => &Self::ALL,
            Self::Explore | Self::Plan => &[Self::Explore],
        }
    }

    /// Returns what the model of a subagent is given about its role.
    pub(super) fn role(self) -> &'static str {
        match self {
            Self::General => {
                "You are a subagent: another agent gave you this task and receives only your last message. \
                 Do the task completely, within its bounds. Report what you changed, what you checked, and what is left open."
            }
            Self::Explore => {
                "You are a subagent: another agent gave you this task and receives only your last message. \
                 Read and search; you cannot change anything. Answer with facts, and with the paths and lines they come from."
            }
            Self::Plan => {
                "You are a subagent: another agent gave you this task and receives only your last message. \
                 Read what you need; you cannot change anything. Answer with a plan: the steps, the files, the risks."
            }
        }
    }
}

/// Joins the ids of types.
pub(super) fn ids(kinds: &[Kind]) -> String {
    kinds.iter().map(|kind| kind.id()).collect::<Vec<_>>().join(", ")
}
