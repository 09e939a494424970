use std::fs;

pub struct Settings {
    pub name: String,
    pub verbose: bool,
}

impl Settings {
    /// The settings of a file, or the usual ones.
    pub fn obtain(path: &str) -> Self {
        let text = slurp_or_default(path);
        Self { name: value(&text, "name"), verbose: value(&text, "verbose") == "yes" }
    }
}

fn slurp_or_default(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|_| fallback())
}

fn fallback() -> String {
    "name = app\nverbose = no\n".to_string()
}

fn value(text: &str, key: &str) -> String {
    text.lines()
        .filter_map(|line| line.split_once(" = "))
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value.to_string())
        .unwrap_or_default()
}
