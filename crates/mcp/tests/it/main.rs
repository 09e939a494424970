//! Tests of a session's servers, on a system whose programs the tests play.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fake_machine;
mod faults;
mod live;
mod mentions;
mod offers;
mod serving;
mod test_session;

/// An image of one pixel, in base64.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
