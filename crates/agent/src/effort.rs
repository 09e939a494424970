//! How much a model is to think before it answers.

use crate::UnknownMode;
use std::str::FromStr;

/// How much a model is to think. A model that cannot be told takes no notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Little: quick and cheap.
    Low,
    /// Somewhat.
    Medium,
    /// A lot.
    High,
}

impl Effort {
    /// All levels, the least first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// The level's id on every wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The level's name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Low => "Low",
            Self::Medium => "Medium",
            Self::High => "High",
        }
    }
}

impl FromStr for Effort {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|effort| effort.id() == text).ok_or_else(|| UnknownMode {
            kind: "thought level",
            given: text.to_owned(),
            expected: "default, low, medium, high",
        })
    }
}
