//! What users spent on models, from the counts in their sessions.

use crate::stored;
use agent::{SessionEvent, Usage};

/// An event of a count: its format and its body.
pub(crate) type Count<'a> = (i64, &'a str);

/// Returns the tokens of a session between two counts of it; nothing for a count that cannot be
/// read.
pub(crate) fn between(before: Option<Count<'_>>, last: Count<'_>) -> Usage {
    let total = |(format, body): Count<'_>| match stored::decode(format, body) {
        Ok(SessionEvent::Usage(usage)) => usage.total,
        _ => Usage::default(),
    };
    total(last).since(before.map(total).unwrap_or_default())
}
