//! Which day it is.

/// The day in the time zone of this machine, `2026-11-23`.
pub(super) fn today() -> String {
    jiff::Zoned::now().date().to_string()
}
