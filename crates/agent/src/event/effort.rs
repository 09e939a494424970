//! The reasoning effort of a model.

use crate::UnknownMode;
use std::str::FromStr;

/// How much a model reasons before it answers. Models without such a setting ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Little: quick and cheap.
    Low,
    /// Moderate.
    Medium,
    /// A lot.
    High,
    /// More than `High`, if the model has such a level.
    Xhigh,
    /// The vendor's maximum, if the model has such a level.
    Max,
}

impl Effort {
    /// All levels, the lowest first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Returns the level's id, used on every wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Returns the levels that a model offers, the lowest first: those in `efforts`
    /// ([`ModelAbilities`](crate::ModelAbilities)), or `low` to `high` if there are none.
    pub fn offered(efforts: &[String]) -> Vec<Self> {
        let known = |effort: &Self| efforts.iter().any(|id| id == effort.id());
        let offered: Vec<_> = Self::ALL.into_iter().filter(known).collect();
        if offered.is_empty() { vec![Self::Low, Self::Medium, Self::High] } else { offered }
    }

    /// Returns the level's display name.
    pub fn label(self) -> &'static str {
        match self {
            Self::Low => "Low",
            Self::Medium => "Medium",
            Self::High => "High",
            Self::Xhigh => "Extra high",
            Self::Max => "Maximum",
        }
    }
}

impl FromStr for Effort {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|effort| effort.id() == text).ok_or_else(|| UnknownMode {
            kind: "thought level",
            given: text.to_owned(),
            expected: "default, low, medium, high, xhigh, max",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_offers_the_levels_it_has_and_an_unknown_one_the_usual_three() {
        let ids = |efforts: &[&str]| -> Vec<_> {
            let efforts: Vec<_> = efforts.iter().map(|id| (*id).to_owned()).collect();
            Effort::offered(&efforts).into_iter().map(Effort::id).collect()
        };
        assert_eq!(ids(&["none", "low", "high", "xhigh", "max"]), ["low", "high", "xhigh", "max"]);
        assert_eq!(ids(&[]), ["low", "medium", "high"]);
        assert_eq!(ids(&["none"]), ["low", "medium", "high"]);
    }

    #[test]
    fn every_level_is_read_back_from_its_id() {
        for effort in Effort::ALL {
            assert_eq!(effort.id().parse::<Effort>().unwrap(), effort);
        }
    }
}
