//! The page of commands.

use super::wrapped;
use crate::args::{Cli, examples_of};
use clap::{Arg, Command, CommandFactory as _};

const HEAD: &str = "\
# Commands

Every command of `tiller`, with its options. `tiller COMMAND --help` prints the same. The commands
that print JSON, their output and the exit codes are described in [Headless](../headless.md).

This page is generated from the code: `cargo xtask reference --write`.
";

/// Returns the page.
pub(super) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = HEAD.to_owned();
    section(&mut page, &root, "tiller");
    page
}

/// Returns the visible commands below a command.
fn below(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set())
}

fn section(page: &mut String, command: &Command, name: &str) {
    let depth = if name.split(' ').count() < 3 { "##" } else { "###" };
    *page += &format!("\n{depth} `{name}`\n");
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        *page += &format!("\n{}", wrapped(&sentence(&about.to_string().replace("\n\n", " ")), ""));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").lines().map(str::trim).collect::<Vec<_>>().join("\n");
    *page += &format!("\n```text\n{usage}\n```\n");
    // Those that every command has are described once.
    let is_root = name == "tiller";
    let shown = |arg: &&Arg| {
        !arg.is_hide_set()
            && !matches!(arg.get_id().as_str(), "help" | "version")
            && (is_root || !arg.is_global_set())
    };
    let arguments: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    if !arguments.is_empty() {
        *page += "\n";
    }
    for arg in arguments {
        *page += &wrapped(&format!("- {}: {}", spelling(arg), description(arg)), "  ");
        if arg.get_action().takes_values() {
            values(page, arg);
        }
    }
    let lines: String = examples_of(name).iter().map(|line| format!("$ {line}\n")).collect();
    if !lines.is_empty() {
        *page += &format!("\n```console\n{lines}```\n");
    }
    for inner in below(command) {
        section(page, inner, &format!("{name} {}", inner.get_name()));
    }
}

/// Returns how an argument is written: `-m`, `--model <PROVIDER/NAME>`.
fn spelling(arg: &Arg) -> String {
    let short = arg.get_short().filter(|_| arg.get_long().is_some());
    let short = short.map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let others = arg.get_visible_aliases().unwrap_or_default();
    let others: String = others.iter().map(|other| format!(", `--{other}`")).collect();
    format!("{short}`{arg}`{others}")
}

fn description(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
    let text = sentence(&help.unwrap_or_default().replace("\n\n", " "));
    let defaults = arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    let defaults: Vec<_> = defaults.collect();
    if defaults.is_empty() || !arg.get_action().takes_values() {
        return text;
    }
    format!("{text} Default: {}.", defaults.join(", "))
}

/// Adds the values of an argument that accepts a few.
fn values(page: &mut String, arg: &Arg) {
    for value in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
        let help = value.get_help().map(|help| format!(": {}", sentence(&help.to_string())));
        *page += &format!(
            "  - {}",
            wrapped(&format!("`{}`{}", value.get_name(), help.unwrap_or_default()), "    ")
        );
    }
}

/// Ends a help text with a full stop, which clap removes.
fn sentence(text: &str) -> String {
    // Angle brackets would be read as HTML.
    let text = text.trim().replace('<', "&lt;");
    if text.is_empty() || text.ends_with(['.', '?', '!', ':']) { text } else { text + "." }
}
