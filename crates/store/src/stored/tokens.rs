//! The stored form of a number of tokens and their cost.

use agent::{Cost, Usage};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    /// In whole US picodollars. Older programs do not write this member, and ignore it: then no
    /// token has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<u64>,
    /// The number of tokens not covered by the cost; without a cost, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unpriced: Option<u64>,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost: usage.cost.map(|cost| cost.0),
            unpriced: usage.cost.and((usage.unpriced > 0).then_some(usage.unpriced)),
        }
    }
}

impl From<Tokens> for Usage {
    fn from(total: Tokens) -> Self {
        let used = Self {
            input: total.input,
            output: total.output,
            cache_read: total.cache_read,
            cache_write: total.cache_write,
            ..Self::default()
        };
        match total.cost {
            Some(cost) => {
                Self { cost: Some(Cost(cost)), unpriced: total.unpriced.unwrap_or_default(), ..used }
            }
            None => used.priced(None),
        }
    }
}
