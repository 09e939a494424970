use crate::entry::read_it;

/// How many pieces a list such as `milk=2;eggs=6` has.
pub fn total(text: &str) -> u32 {
    text.split(';').map(read_it).map(|entry| entry.count).sum()
}
