//! The time of day, as an argument.

use jiff::Timestamp;
use std::sync::Arc;

/// Returns the time of day. Credentials expire at a time of day; how long something takes is
/// measured with the monotonic clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Returns the clock of this machine.
pub fn wall_clock() -> Clock {
    Arc::new(Timestamp::now)
}
