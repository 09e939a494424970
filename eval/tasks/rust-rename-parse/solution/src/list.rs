use crate::entry::parse_entry;

/// How many pieces a list such as `milk=2;eggs=6` has.
pub fn total(text: &str) -> u32 {
    text.split(';').map(parse_entry).map(|entry| entry.count).sum()
}
