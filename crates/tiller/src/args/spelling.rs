//! Other spellings of commands: `integrations:list` is `integrations list`, and names that earlier
//! programs had.

use super::words::first_word;
use crate::answer::{Failure, Kind};
use clap::Command;

/// Names that are kept free, with why nothing runs under them.
const RESERVED: [(&str, &str, &str); 2] = [
    (
        "codex",
        "there are no commands for one vendor's login here; `auth login` signs in to any provider that publishes a way",
        "tiller auth login",
    ),
    (
        "gateway",
        "there is no bridge to chat services here; such a bridge is a program of its own that starts `tiller acp`",
        "tiller acp --help",
    ),
];

/// Replaces other spellings by the commands they stand for.
///
/// # Errors
/// For a name that is reserved.
pub(super) fn spelled(mut arguments: Vec<String>, root: &Command) -> Result<Vec<String>, Failure> {
    // An editor that logs in may replace the arguments with which it starts the agent, rather than
    // append to them.
    if let Some(first) = arguments.get_mut(1).filter(|first| *first == "--setup") {
        *first = "setup".to_owned();
    }
    let Some(at) = first_word(&arguments, root) else { return Ok(arguments) };
    let mut parts: Vec<String> = match arguments[at].split(':').all(is_name) {
        true => arguments[at].split(':').map(str::to_owned).collect(),
        false => return Ok(arguments),
    };
    // Spaces separate the names that these commands had, too.
    let mut count = 1;
    let mut take = |parts: &mut Vec<String>, wanted: fn(&str) -> bool| {
        if let Some(next) = arguments.get(at + count).filter(|next| wanted(next)) {
            parts.extend(next.split(':').map(str::to_owned));
            count += 1;
        }
    };
    if parts == ["mcp"] {
        take(&mut parts, |next| next.split(':').next() == Some("gateway"));
    }
    if parts == ["mcp", "gateway"] {
        take(&mut parts, |verb| !verb.starts_with('-'));
    }
    let first = parts[0].as_str();
    if let Some((_, why, next)) = RESERVED.iter().find(|(name, ..)| *name == first) {
        return Err(Failure::new(Kind::NotAvailable, *why).next(*next));
    }
    let parts = match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["smoke", "startup"] => words(&["doctor", "--startup"]),
        ["mcp", "gateway", ..] => words(&["mcp", "serve"]),
        // `mcp:SERVER TOOL` calls the tool, unless there is a command of that name.
        ["mcp", server]
            if root.find_subcommand("mcp").is_some_and(|mcp| mcp.find_subcommand(server).is_none()) =>
        {
            let Some(tool) = arguments.get(at + 1).filter(|tool| !tool.starts_with('-')).cloned() else {
                return Ok(replaced(arguments, at, 1, words(&["mcp", "tools", server])));
            };
            return Ok(replaced(arguments, at, 2, words(&["mcp", "call", &format!("{server}.{tool}")])));
        }
        [_, _, ..] if root.find_subcommand(first).is_some() => parts,
        _ => return Ok(arguments),
    };
    Ok(replaced(arguments, at, count, parts))
}

/// Refuses a key as an argument, which other processes and the shell's history can read.
pub(super) fn refuse_keys(arguments: &[String]) -> Result<(), Failure> {
    let is_key = |given: &String| given == "--api-key" || given.starts_with("--api-key=");
    if arguments.iter().take_while(|given| *given != "--").any(is_key) {
        let what = "a key is not taken as an argument: every process of this machine and the shell's history can read it";
        return Err(Failure::new(Kind::Usage, what)
            .hint("pipe it in: … --api-key-stdin < key.txt, or name a variable: --api-key-env NAME"));
    }
    Ok(())
}

fn is_name(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_lowercase())
        && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns the arguments with `count` of them from `at` on replaced.
fn replaced(mut arguments: Vec<String>, at: usize, count: usize, by: Vec<String>) -> Vec<String> {
    arguments.splice(at..at + count, by);
    arguments
}

#[cfg(test)]
mod tests {
    use super::{super::Cli, *};
    use clap::CommandFactory as _;

    fn read(line: &str) -> Result<String, String> {
        let given = line.split(' ').map(str::to_owned).collect();
        spelled(given, &Cli::command()).map(|words| words.join(" ")).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn colons_separate_the_words_of_a_known_command_only() {
        for (given, expected) in [
            ("tiller integrations:plane list_projects a:b", "tiller integrations plane list_projects a:b"),
            ("tiller mcp:secret:set k", "tiller mcp secret set k"),
            ("tiller --json sessions:list", "tiller --json sessions list"),
            ("tiller --cwd x sessions:list", "tiller --cwd x sessions list"),
            ("tiller mcp:files read_file --arg a=b", "tiller mcp call files.read_file --arg a=b"),
            ("tiller mcp:files", "tiller mcp tools files"),
            ("tiller mcp:gateway:start", "tiller mcp serve"),
            ("tiller mcp gateway", "tiller mcp serve"),
            ("tiller mcp gateway:start --upstream x", "tiller mcp serve --upstream x"),
            ("tiller mcp gateway start --upstream x", "tiller mcp serve --upstream x"),
            ("tiller mcp examples --json", "tiller mcp examples --json"),
            ("tiller mcp:examples", "tiller mcp examples"),
            ("tiller fix:typo", "tiller fix:typo"),
            ("tiller -p a:b", "tiller -p a:b"),
            ("tiller --setup", "tiller setup"),
            ("tiller --setup --provider work", "tiller setup --provider work"),
            ("tiller acp --setup", "tiller acp --setup"),
            ("tiller http://x", "tiller http://x"),
            ("tiller a::b", "tiller a::b"),
            ("tiller", "tiller"),
        ] {
            assert_eq!(read(given).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_reserved_name_is_answered_with_what_to_use() {
        for (line, says) in [
            ("tiller codex:login", "auth login"),
            ("tiller gateway:telegram:configure", "tiller acp"),
            ("tiller gateway", "tiller acp"),
            ("tiller codex status", "auth login"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains("NotAvailable") && error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn a_key_is_never_an_argument() {
        for line in [
            "tiller setup --provider openai --api-key sk",
            "tiller providers configure x --api-key=sk",
            "tiller --json setup --api-key sk",
            "tiller --api-key sk",
        ] {
            let given: Vec<_> = line.split(' ').map(str::to_owned).collect();
            assert!(refuse_keys(&given).is_err(), "{line}");
        }
        let prompt = ["tiller", "-p", "what is --api-key?"].map(str::to_owned);
        assert!(refuse_keys(&prompt).is_ok());
    }
}
