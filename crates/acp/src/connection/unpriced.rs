//! Reports the cost of a session to clients.

use agent::Usage;
use serde_json::{Map, Value, json};

/// The ISO 4217 code of all amounts: price lists are in US dollars.
pub(crate) const CURRENCY: &str = "USD";

/// Returns `{"tiller": {"unpricedTokens": N}}` if a reported cost omits N tokens because the price
/// of their model is unknown.
pub(crate) fn unpriced_meta(total: Usage) -> Option<Map<String, Value>> {
    let tokens = total.cost.and((total.unpriced > 0).then_some(total.unpriced))?;
    Some(Map::from_iter([("tiller".to_owned(), json!({ "unpricedTokens": tokens }))]))
}
