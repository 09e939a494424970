//! The current date.

/// Returns the date in the local time zone, such as `2026-11-23`.
pub(super) fn today() -> String {
    jiff::Zoned::now().date().to_string()
}
