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

    /// The level of effort to send for the one that is wanted: the highest up to it that has not been refused.
    pub(crate) fn effort(&self, option: &Optional, wanted: Option<&str>) -> Option<&'static str> {
        let wanted = EFFORTS.iter().position(|level| Some(*level) == wanted)?;
        let taken = |level: &&&str| !self.refused.contains(&format!("{}={level}", option.at));
        self.takes(option).then(|| EFFORTS[..=wanted].iter().rev().find(taken).copied()).flatten()
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

/// The memory of a process, by base URL and model.
#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<HashMap<(String, String), Traits>>);

impl Learned {
    /// What is known of a model; nothing at first.
    pub(crate) fn of(&self, base_url: &str, model: &str) -> Traits {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(base_url.to_owned(), model.to_owned())).cloned().unwrap_or_default()
    }

    /// Replaces what is known of a model.
    pub(crate) fn remember(&self, base_url: &str, model: &str, traits: Traits) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((base_url.to_owned(), model.to_owned()), traits);
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
            assert_eq!(traits.effort(&option, Some("max")), Some(sent));
            assert!(traits.refuse(&option, sent), "{sent}");
            assert_eq!(traits.effort(&option, Some("max")), next, "{sent}");
        }
        assert!(!traits.refuse(&option, "low"), "nothing new is learned from it");
        assert_eq!(Traits::default().effort(&option, None), None);
    }
}
