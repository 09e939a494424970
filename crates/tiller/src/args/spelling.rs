//! An alternative spelling of commands: `integrations:list` is `integrations list`.

/// Splits the first argument at its colons if words surround them, and replaces `--setup` by the
/// command of that name.
pub(crate) fn spelled(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut arguments: Vec<String> = arguments.collect();
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
    };
    if let Some(first) = arguments.get(1).filter(|first| first.contains(':') && first.split(':').all(word)) {
        let parts: Vec<String> = first.split(':').map(str::to_owned).collect();
        arguments.splice(1..2, parts);
    }
    // An editor that logs in may replace the arguments with which it starts the agent, rather than
    // append to them.
    if let Some(first) = arguments.get_mut(1).filter(|first| *first == "--setup") {
        *first = "setup".to_owned();
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colons_separate_only_the_words_of_a_command() {
        for (given, expected) in [
            ("tiller integrations:plane list_projects a:b", "tiller integrations plane list_projects a:b"),
            ("tiller mcp:secret:set k", "tiller mcp secret set k"),
            ("tiller -p a:b", "tiller -p a:b"),
            ("tiller --setup", "tiller setup"),
            ("tiller --setup --provider work", "tiller setup --provider work"),
            ("tiller acp --setup", "tiller acp --setup"),
            ("tiller http://x", "tiller http://x"),
            ("tiller a::b", "tiller a::b"),
            ("tiller", "tiller"),
        ] {
            let words = spelled(given.split(' ').map(str::to_owned));
            assert_eq!(words.join(" "), expected);
        }
    }
}
