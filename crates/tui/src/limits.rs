//! Every limit of the crate as a named constant, with its unit and origin.

use std::time::Duration;

/// Keys in one sequence of a binding.
pub const SEQUENCE_KEYS: usize = 2;
/// The longest pause between two keys of a sequence.
pub const SEQUENCE_PAUSE: Duration = Duration::from_secs(1);
/// Characters of a query that a list is searched for.
pub const QUERY_CHARS: usize = 200;
