//! What `-h`, `--help` and `tiller help` print.
//!
//! The texts of commands and options are the doc comments of their types. This adds the groups of
//! commands, the topics and the examples, and makes `-h` shorter than `--help`.

use super::{Cli, Instead, examples::examples_of};
use clap::{Args, Command, CommandFactory as _};

/// The arguments of `tiller help`.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// The command, such as `sessions list`, or the topic.
    #[arg(value_name = "COMMAND|TOPIC")]
    pub(crate) words: Vec<String>,
}

/// The groups of the commands, in the order in which `tiller --help` shows them.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Work", &["acp", "serve", "connect", "sessions", "store", "memory", "demo"]),
    (
        "Set up",
        &[
            "setup",
            "providers",
            "models",
            "auth",
            "secrets",
            "token",
            "settings",
            "config",
            "install",
            "update",
            "completions",
        ],
    ),
    ("Extend", &["mcp", "integrations", "skills", "web", "lua", "trust"]),
    ("Look", &["doctor", "permissions", "caches", "keys", "schema", "man", "help"]),
];

/// The topics of `tiller help` beside the commands.
pub(crate) const TOPICS: [(&str, &str); 4] = [
    ("environment", "the variables that Tiller reads"),
    ("exit-codes", "what the exit code of a command means"),
    ("json", "what --json and --jsonl print"),
    ("keys", "the keys of the terminal interface"),
];

/// The options of a prompt that `tiller -h` shows.
const BRIEF: [&str; 7] = ["prompt", "print", "output_format", "model", "permission_mode", "latest", "resume"];

/// How much a help text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// That of `-h`: no examples, no options of all commands, the main options of a prompt.
    Short,
    /// That of `--help`: everything.
    Long,
}

/// Whether the arguments ask for a help. A group of short flags with an `h` counts as one, too.
pub(super) fn is_wanted(arguments: &[String]) -> bool {
    let short = |given: &str| given.starts_with('-') && !given.starts_with("--") && given.contains('h');
    arguments.iter().take_while(|given| *given != "--").any(|given| given == "--help" || short(given))
}

impl Length {
    /// Returns the length that the arguments ask for, if they ask for a help.
    pub(super) fn of(arguments: &[String]) -> Self {
        let mut before = arguments.iter().take_while(|given| *given != "--");
        if before.any(|given| given == "-h") { Self::Short } else { Self::Long }
    }
}

/// Returns the help of a command; of the whole program without words. `None` if there is no such
/// command.
pub(crate) fn help_of(words: &[String]) -> Option<String> {
    let root = Cli::command();
    let found = words.iter().try_fold(&root, |command, word| command.find_subcommand(word));
    found?;
    let program = std::iter::once("tiller".to_owned());
    match Cli::parsed(program.chain(words.iter().cloned()).chain(["--help".to_owned()]).collect()) {
        Err(Instead::Help(text)) => Some(text),
        _ => None,
    }
}

/// Moves `help` to the front: `tiller mcp help add` means `tiller help mcp add`.
pub(super) fn with_help_first(mut arguments: Vec<String>, root: &Command, at: usize) -> Vec<String> {
    let mut command = root;
    for place in at..arguments.len() {
        if arguments[place] == "help" && place > at && command.has_subcommands() {
            let help = arguments.remove(place);
            arguments.insert(at, help);
            break;
        }
        match command.find_subcommand(&arguments[place]) {
            Some(below) => command = below,
            None => break,
        }
    }
    arguments
}

/// Adds the examples to the help of every command.
pub(crate) fn with_examples(command: Command) -> Command {
    let name = command.get_name().to_owned();
    add_examples(command, &name)
}

fn add_examples(command: Command, name: &str) -> Command {
    let command = match examples_of(name) {
        [] => command,
        examples => command.after_help(listed_examples(examples)),
    };
    command.mut_subcommands(|below| {
        let name = format!("{name} {}", below.get_name());
        add_examples(below, &name)
    })
}

fn listed_examples(examples: &[&str]) -> String {
    format!("Examples:\n  {}", examples.join("\n  "))
}

/// Prepares the parser to print a help text of this length.
pub(super) fn prepared(root: Command, length: Length) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n{{all-args}}{{after-help}}",
        groups(&root)
    );
    let root = match length {
        Length::Long => {
            let after = format!("{}\n\n{}", topics(), listed_examples(examples_of("tiller")));
            with_examples(root).after_help(after)
        }
        Length::Short => shortened(root).after_help(
            "`tiller --help` shows all options, `tiller help TOPIC` explains environment,\nexit-codes, json and keys.",
        ),
    };
    root.help_template(template)
        .override_usage("tiller [OPTIONS] [PROMPT]\n       tiller COMMAND …")
        // The template lists them in groups.
        .mut_subcommands(|below| below.hide(true))
}

/// Hides what `-h` does not show.
fn shortened(root: Command) -> Command {
    fn add_hint(command: Command, name: &str) -> Command {
        let hint = format!("`{name} --help` shows the options of every command and examples.");
        command.after_help(hint).mut_subcommands(|below| {
            let name = format!("{name} {}", below.get_name());
            add_hint(below, &name)
        })
    }
    let root = root.mut_args(|arg| {
        let is_brief = BRIEF.contains(&arg.get_id().as_str());
        arg.hide(!is_brief)
    });
    let name = root.get_name().to_owned();
    add_hint(root, &name)
}

/// Returns the commands with their summaries, in groups.
fn groups(root: &Command) -> String {
    let width = root.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let line = |name: &&str| {
        let command = root.find_subcommand(name)?;
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        Some(format!("  {name:width$}  {about}\n"))
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("{title}:\n{}", names.iter().filter_map(line).collect::<String>())
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
}

fn topics() -> String {
    let width = TOPICS.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines = TOPICS.iter().map(|(name, about)| format!("\n  {name:width$}  {about}"));
    format!("Topics, explained by `tiller help TOPIC`:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widest line of a help text, in columns.
    const WIDTH: usize = 80;

    fn help(line: &str) -> String {
        match Cli::of(line.split(' ').map(str::to_owned).collect()) {
            Err(Instead::Help(text)) => text,
            other => panic!("{line}: {other:?}"),
        }
    }

    /// Every command with its name, hidden ones included.
    fn all(command: &Command, name: &str, found: &mut Vec<String>) {
        found.push(name.to_owned());
        for below in command.get_subcommands() {
            all(below, &format!("{name} {}", below.get_name()), found);
        }
    }

    fn commands() -> Vec<String> {
        let mut found = Vec::new();
        all(&Cli::command(), "tiller", &mut found);
        found
    }

    #[test]
    fn every_help_fits_into_80_columns() {
        for command in commands() {
            for flag in ["-h", "--help"] {
                let text = help(&format!("{command} {flag}"));
                let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
                assert_eq!(wide, [""; 0], "{command} {flag}");
            }
        }
    }

    #[test]
    fn every_visible_command_is_in_one_group_with_a_summary_of_one_line() {
        let root = Cli::command();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut visible: Vec<_> =
            root.get_subcommands().filter(|below| !below.is_hide_set()).map(Command::get_name).collect();
        grouped.sort_unstable();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
        let wide: Vec<_> =
            groups(&root).lines().filter(|line| line.chars().count() > WIDTH).map(str::to_owned).collect();
        assert_eq!(wide, [""; 0]);
    }

    #[test]
    fn the_help_of_a_command_has_its_own_and_the_global_options_only() {
        let mut root = Cli::command();
        root.build();
        let of_prompts: Vec<_> = root
            .get_arguments()
            .filter(|arg| !arg.is_global_set() && !matches!(arg.get_id().as_str(), "help" | "version"))
            .filter_map(|arg| arg.get_long())
            .map(|long| format!("--{long}"))
            .collect();
        for command in commands().iter().skip(1) {
            let found = command.split(' ').skip(1).try_fold(&root, |at, word| at.find_subcommand(word));
            let own: Vec<_> = found.unwrap().get_arguments().filter_map(|arg| arg.get_long()).collect();
            let text = help(&format!("{command} --help"));
            let options = text.split("Examples:").next().unwrap_or_default();
            let listed = options.lines().filter_map(|line| line.trim_start().strip_prefix('-'));
            for line in listed {
                let long = line.split_whitespace().find(|word| word.starts_with("--")).unwrap_or(line);
                let long = format!("--{}", long.trim_start_matches('-').split(['=', '[']).next().unwrap());
                let is_foreign = of_prompts.contains(&long) && !own.contains(&&long[2..]);
                assert!(!is_foreign, "{command}: {long}");
            }
            for global in ["--cwd", "--json", "--color", "--no-input", "--quiet", "--config"] {
                assert!(options.contains(global), "{command}: {global}");
            }
        }
    }

    #[test]
    fn the_short_help_is_shorter_and_names_the_long_one() {
        for command in commands() {
            let (short, long) = (help(&format!("{command} -h")), help(&format!("{command} --help")));
            assert!(short.len() < long.len(), "{command}");
            assert!(short.contains("--help` shows"), "{command}: {short}");
        }
        assert!(help("tiller -h").lines().count() < 64, "{}", help("tiller -h"));
    }

    #[test]
    fn the_help_names_the_topics_and_the_groups() {
        let text = help("tiller --help");
        for (name, about) in TOPICS {
            assert!(text.contains(&format!("  {name}")) && text.contains(about), "{name}");
        }
        let places = GROUPS.map(|(title, _)| text.find(&format!("\n{title}:\n")).unwrap());
        assert!(places.is_sorted(), "{text}");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "reads a file of the source tree")]
    fn the_documents_list_every_topic() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (name, about) in TOPICS {
            assert!(page.replace('`', "").contains(&format!("| {name} | {about} |")), "{name}");
        }
    }

    #[test]
    fn help_behind_a_group_is_help_about_it() {
        for (given, expected) in [
            ("tiller mcp help add", "tiller help mcp add"),
            ("tiller mcp help", "tiller help mcp"),
            ("tiller mcp secret help", "tiller help mcp secret"),
            ("tiller mcp call help", "tiller mcp call help"),
            ("tiller --json sessions help", "tiller --json help sessions"),
            ("tiller help mcp", "tiller help mcp"),
            ("tiller integrations plane help", "tiller integrations plane help"),
        ] {
            let arguments: Vec<_> = given.split(' ').map(str::to_owned).collect();
            let at = arguments.iter().skip(1).position(|word| !word.starts_with('-')).unwrap() + 1;
            assert_eq!(with_help_first(arguments, &Cli::command(), at).join(" "), expected);
        }
    }
}
