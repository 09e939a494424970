pub struct Entry {
    pub name: String,
    pub count: u32,
}

/// Takes a text such as `milk=2` apart.
pub fn read_it(text: &str) -> Entry {
    let (name, count) = text.split_once('=').unwrap_or((text, "1"));
    Entry { name: name.to_string(), count: count.parse().unwrap_or(0) }
}
