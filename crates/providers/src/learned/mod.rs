//! What servers have said of the options they take, by address and model, for as long as the process lives.
//!
//! Models of one family, gateways before them and servers that imitate them differ in the options they refuse, and no list of
//! them stays true. So a request is made by what is known of the model's family, and a refusal that names an option is believed:
//! the request is sent once more without it, and once that is accepted no later request has it.

mod refusal;

pub(crate) use refusal::Refusal;

use crate::Wire;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
};

/// An option of a request that it is complete without.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Optional {
    /// Where it is in a body, as a JSON pointer. It is remembered by this.
    pub(crate) at: &'static str,
    /// What servers call it, in lower case.
    pub(crate) names: &'static [&'static str],
}

/// Levels of effort, the least first. A level that is refused is replaced by the one below it.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// What one model at one address has refused or told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// The places of options, or `PLACE=VALUE` where only that value was refused.
    refused: BTreeSet<String>,
    /// The wire that it sent us to.
    pub(crate) wire: Option<Wire>,
    /// Whether it refused images.
    pub(crate) no_images: bool,
    /// Whether it refused the list of tools. They are described in the system prompt then.
    pub(crate) no_tools: bool,
    /// Members of messages and calls that it gave and does not take back.
    members: BTreeSet<String>,
    /// Whether it wants the member `reasoning_content` in every answer with calls, whoever wrote it.
    pub(crate) wants_reasoning: bool,
    /// Its tokens of context, where a refusal told.
    pub(crate) context_size: Option<u64>,
    /// The most tokens of one answer, where a refusal told.
    pub(crate) max_output: Option<u64>,
}

impl Traits {
    /// Whether an option has not been refused.
    pub(crate) fn takes(&self, option: &Optional) -> bool {
        !self.refused.contains(option.at)
    }

    /// The level of effort to send for the one that is wanted: the highest up to it that the model has (`known`, where any are)
    /// and that has not been refused, or else the lowest that the model has.
    pub(crate) fn effort(
        &self,
        option: &Optional,
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
        level.filter(|_| self.takes(option))
    }

    /// Whether a member of a message or a call has not been refused.
    pub(crate) fn takes_back(&self, member: &str) -> bool {
        !self.members.contains(member)
    }

    /// Remembers that an option was refused. A level of effort above `high` is refused by itself first. False if that was known.
    fn refuse(&mut self, option: &Optional, sent: &str) -> bool {
        let place = if ["xhigh", "max"].contains(&sent) {
            format!("{}={sent}", option.at)
        } else {
            option.at.to_owned()
        };
        self.refused.insert(place)
    }
}

/// What a refusal is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lesson {
    /// The refusal is told.
    None,
    /// The request is made anew by what was learned.
    Anew,
    /// The request is made anew without what only the model understands of its answers so far: signatures and
    /// encrypted reasoning that it does not recognise any more.
    Forget,
}

/// The memory of a process.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// By base URL and model.
    traits: Mutex<HashMap<(String, String), Traits>>,
    /// How many messages of a conversation go without what only the model understands, by the key of the conversation's
    /// cache. Few conversations ever come to this.
    forgotten: Mutex<HashMap<String, usize>>,
}

impl Learned {
    /// What is known of a model; nothing at first.
    pub(crate) fn of(&self, base_url: &str, model: &str) -> Traits {
        let known = self.traits.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(base_url.to_owned(), model.to_owned())).cloned().unwrap_or_default()
    }

    /// Replaces what is known of a model.
    pub(crate) fn remember(&self, base_url: &str, model: &str, traits: Traits) {
        let mut known = self.traits.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((base_url.to_owned(), model.to_owned()), traits);
    }

    /// How many messages of a conversation go without what only the model understands.
    pub(crate) fn forgotten(&self, conversation: &str) -> usize {
        let known = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(conversation).copied().unwrap_or(0)
    }

    /// Remembers that so many messages do. What the model writes after them it understands again.
    pub(crate) fn forget(&self, conversation: &str, messages: usize) {
        let mut known = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(conversation.to_owned(), messages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_effort_falls_to_the_next_level_and_then_is_left_out() {
        let option = Optional { at: "/reasoning/effort", names: &[] };
        let mut traits = Traits::default();
        for (sent, next) in [("max", Some("xhigh")), ("xhigh", Some("high")), ("high", None)] {
            assert_eq!(traits.effort(&option, Some("max"), &[]), Some(sent));
            assert!(traits.refuse(&option, sent), "{sent}");
            assert_eq!(traits.effort(&option, Some("max"), &[]), next, "{sent}");
        }
        assert!(!traits.refuse(&option, "low"), "nothing new is learned from it");
        assert_eq!(Traits::default().effort(&option, None, &[]), None);
        for (known, wanted, sent) in [
            (&["none", "low", "medium", "high", "max"][..], "xhigh", "high"),
            (&["medium", "high", "xhigh"], "low", "medium"),
            (&["none"], "low", "low"),
        ] {
            let known: Vec<_> = known.iter().map(|id| (*id).to_owned()).collect();
            assert_eq!(Traits::default().effort(&option, Some(wanted), &known), Some(sent), "{known:?}");
        }
    }
}
