//! The current time, for stored rows and for the names of files that were set aside.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns milliseconds since the Unix epoch; 0 if the clock is before it.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
