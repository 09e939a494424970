//! The capabilities that a server can be offered.

/// A capability that a server can be offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// Learning the session's directory.
    Roots,
    /// Asking the user a question during a call of one of its tools.
    Elicitation,
    /// Asking the session's model during a call of one of its tools, if the rules or the user allow
    /// it.
    Sampling,
}

impl Offered {
    /// Every capability that can be offered.
    pub const ALL: [Self; 3] = [Self::Roots, Self::Elicitation, Self::Sampling];

    /// Parses the name of a capability. The error lists the valid names.
    pub fn named(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|known| known.id() == word).ok_or_else(|| {
            format!("`offer` knows roots, elicitation and sampling, not {}", agent::one_line(word))
        })
    }

    /// Returns the name used in descriptions.
    pub fn id(self) -> &'static str {
        match self {
            Self::Roots => "roots",
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
        }
    }
}
