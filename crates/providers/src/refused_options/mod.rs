//! Options that servers have refused, by address and model.
//!
//! Models of one family, gateways and servers that imitate them refuse different options, and no
//! list of these stays accurate. So a request is built from what is known of the model's family,
//! and a refusal that names an option is trusted: the request is resent without it, and once that
//! is accepted, later requests leave it out, also those of later processes.

mod file;
mod memory;
mod refusal;

pub(crate) use memory::RefusalMemory;
pub(crate) use refusal::Refusal;

use crate::Wire;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An option that a request can leave out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestOption {
    /// Its location in a body, as a JSON pointer; also its key in [`ModelQuirks`].
    pub(crate) at: &'static str,
    /// The names that servers use for it, in lower case.
    pub(crate) names: &'static [&'static str],
}

/// Effort levels, the lowest first. A refused level is replaced by the one below it.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// What one model at one address has refused or reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ModelQuirks {
    /// The locations of refused options, or `LOCATION=VALUE` if only that value was refused.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    refused: BTreeSet<String>,
    /// The wire that a refusal demanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wire: Option<Wire>,
    /// Whether it refused images.
    pub(crate) no_images: bool,
    /// Whether it refused the list of tools. The system prompt describes them then.
    pub(crate) no_tools: bool,
    /// Members of messages and calls that the server sends but does not take back.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    members: BTreeSet<String>,
    /// Whether every answer with calls must have the member `reasoning_content`, whichever model
    /// wrote it.
    pub(crate) wants_reasoning: bool,
    /// The context size in tokens, if a refusal stated it.
    #[serde(skip)]
    pub(crate) context_size: Option<u64>,
    /// The maximum number of tokens in one answer, if a refusal stated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_output: Option<u64>,
}

impl ModelQuirks {
    /// Returns whether an option has not been refused.
    pub(crate) fn accepts(&self, option: &RequestOption) -> bool {
        !self.refused.contains(option.at)
    }

    /// Returns the effort level to send for the wanted one: the highest level up to it that has not
    /// been refused and that is in `known` (unless `known` lists none), otherwise the lowest such
    /// level in `known`.
    pub(crate) fn effort(
        &self,
        option: &RequestOption,
        wanted: Option<&str>,
        known: &[String],
    ) -> Option<&'static str> {
        let wanted = EFFORTS.iter().position(|level| Some(*level) == wanted)?;
        let is_known = |level: &str| known.iter().any(|id| id == level);
        let any_known = EFFORTS.iter().any(|level| is_known(level));
        let taken = |level: &&str| {
            !self.refused.contains(&format!("{}={level}", option.at)) && (!any_known || is_known(level))
        };
        let up_to = EFFORTS[..=wanted].iter().rev().copied().find(taken);
        let level = up_to.or_else(|| EFFORTS.iter().copied().find(|level| any_known && taken(level)));
        level.filter(|_| self.accepts(option))
    }

    /// Returns whether a member of a message or a call has not been refused.
    pub(crate) fn accepts_back(&self, member: &str) -> bool {
        !self.members.contains(member)
    }

    /// Stores that an option was refused; for an effort level above `high`, only that level.
    /// Returns false if it was stored before.
    fn refuse(&mut self, option: &RequestOption, sent: &str) -> bool {
        let place = if ["xhigh", "max"].contains(&sent) {
            format!("{}={sent}", option.at)
        } else {
            option.at.to_owned()
        };
        self.refused.insert(place)
    }
}

/// How to proceed after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalRemedy {
    /// Report the refusal.
    None,
    /// Rebuild the request with what was learned.
    Rebuild,
    /// Rebuild the request without the data that only the model understands of its earlier answers:
    /// signatures and encrypted reasoning that it no longer accepts.
    DropOpaque,
    /// Send the image that was refused as text: the newest one, or all if it was another.
    DropImage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_effort_falls_back_to_the_next_level_and_is_then_omitted() {
        let option = RequestOption { at: "/reasoning/effort", names: &[] };
        let mut quirks = ModelQuirks::default();
        for (sent, next) in [("max", Some("xhigh")), ("xhigh", Some("high")), ("high", None)] {
            assert_eq!(quirks.effort(&option, Some("max"), &[]), Some(sent));
            assert!(quirks.refuse(&option, sent), "{sent}");
            assert_eq!(quirks.effort(&option, Some("max"), &[]), next, "{sent}");
        }
        assert!(!quirks.refuse(&option, "low"), "nothing new is learned from it");
        assert_eq!(ModelQuirks::default().effort(&option, None, &[]), None);
        for (known, wanted, sent) in [
            (&["none", "low", "medium", "high", "max"][..], "xhigh", "high"),
            (&["medium", "high", "xhigh"], "low", "medium"),
            (&["none"], "low", "low"),
        ] {
            let known: Vec<_> = known.iter().map(|id| (*id).to_owned()).collect();
            assert_eq!(ModelQuirks::default().effort(&option, Some(wanted), &known), Some(sent), "{known:?}");
        }
    }
}
