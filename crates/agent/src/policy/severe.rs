//! Commands that are denied or asked about in every mode, because their effects cannot be undone.
//!
//! Each command is interpreted in the worst possible way: options in any order and abbreviated, and
//! words known only at run time as the most harmful value.

use super::{
    git::Git,
    options::Options,
    rules,
    severity::Severity,
    shell::{SimpleCommand, Word},
};
use system::Folded;

/// Programs that this module grades.
const DECIDED: &[&str] = &[
    "git", "rm", "dd", "shred", "truncate", "chmod", "chown", "docker", "podman", "kubectl", "npm", "pnpm",
    "yarn", "bun", "cargo", "gh", "glab", "gem", "twine", "poetry", "uv", "mvn", "dotnet", "vsce", "helm",
    "hub",
];

/// Whether this module grades a program.
pub(super) fn is_decided(program: &str) -> bool {
    DECIDED.contains(&program) || program.starts_with("mkfs") || program.starts_with("git-")
}

/// Commands that publish, by their program and its first words that are not options. A trailing
/// star marks a word that may be abbreviated.
const PUBLISHING: &[&str] = &[
    "npm publish",
    "npm unpublish",
    "npm publish*",
    "npm unpublish*",
    "npm dist-tag*",
    "npm deprecate*",
    "npm owner*",
    "npm access*",
    "npm token*",
    "pnpm publish",
    "yarn publish",
    "yarn npm publish",
    "bun publish",
    "cargo publish",
    "cargo yank",
    "cargo owner",
    "docker push",
    "docker image push",
    "docker manifest push",
    "docker compose push",
    "docker buildx imagetools create",
    "podman push",
    "podman image push",
    "helm push",
    "gem push",
    "gem yank",
    "twine upload",
    "poetry publish",
    "uv publish",
    "mvn deploy",
    "dotnet nuget push",
    "vsce publish",
    "gh api",
    "gh release",
    "gh pr create",
    "gh pr merge",
    "gh pr comment",
    "gh pr close",
    "gh pr edit",
    "gh pr review",
    "gh pr ready",
    "gh issue create",
    "gh issue comment",
    "gh issue close",
    "gh issue edit",
    "gh issue delete",
    "gh gist create",
    "gh gist edit",
    "gh repo create",
    "gh repo delete",
    "gh repo edit",
    "gh repo fork",
    "gh repo sync",
    "gh repo rename",
    "gh workflow run",
    "gh run rerun",
    "gh secret",
    "gh variable",
    "glab",
    "hub",
];

/// Programs of [`PUBLISHING`] whose subcommand decides: a subcommand known only at run time may
/// publish.
const PUBLISHERS: &[&str] = &["npm", "pnpm", "yarn", "cargo", "docker", "gh"];

/// Returns the highest severity that applies to a command.
pub(super) fn of(command: &SimpleCommand) -> Option<Severity> {
    if command.is_open_program() {
        return Some(Severity::Open("rm -rf *"));
    }
    let program = command.program();
    let name = Folded::of(program);
    if let Some(severity) = Git::severity(command) {
        return Some(severity);
    }
    let args = command.args();
    let severity = match program {
        "rm" => removes(command),
        "dd" if args.iter().any(|word| word.text.to_ascii_lowercase().contains("of=/dev/")) => {
            Some(Severity::Denied("dd of=/dev/*"))
        }
        "dd" if args.iter().any(|word| word.text.to_ascii_lowercase().contains("of=")) => {
            Some(Severity::Destroys("dd *of=*"))
        }
        "dd" if args.iter().any(Word::is_open) => Some(Severity::Open("dd *of=*")),
        "shred" if !args.is_empty() => Some(Severity::Destroys("shred *")),
        "truncate" => truncates(args),
        "chmod" => changes_modes(args),
        "chown" => recursive(args, "", "chown -R *"),
        // The script comes from the input of the shell and is unknown.
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" if reads_its_script(command) => {
            Some(Severity::Open("rm -rf *"))
        }
        "eval" if args.iter().any(Word::is_open) => Some(Severity::Open("rm -rf *")),
        // `hash -p` gives any program another name.
        "hash" if args.iter().any(|word| word.text.starts_with("-p") || word.is_open()) => {
            Some(Severity::Open("rm -rf *"))
        }
        _ if name.matches("mkfs*") || matches!(program, "mke2fs" | "wipefs") => {
            Some(Severity::Denied("mkfs*"))
        }
        _ => None,
    };
    severity.or_else(|| in_order(command)).or_else(|| by_pattern(command)).or_else(|| publishes(command))
}

/// Directories that no user deletes on purpose, without a slash at the end.
const EVERYTHING: [&str; 10] =
    ["", "/*", "/.", "~", "~/*", "$HOME", "$HOME/*", "${HOME}", "${HOME}/*", "/home"];

/// Returns the files that a destructive command names; `None` if it acts on something else than
/// files, or on more than the words say.
pub(super) fn destroyed<'a>(command: &'a SimpleCommand) -> Option<Vec<&'a Word>> {
    let args = command.args();
    let operands = |valued: &'static str, skipped: usize| -> Vec<&'a Word> {
        Options::new(args, valued).operands().skip(skipped).collect()
    };
    let files = match command.program() {
        _ if command.elevated => return None,
        "rm" => operands("", 0),
        "shred" => operands("ns", 0),
        "truncate" => operands("sr", 0)
            .into_iter()
            .filter(|word| !word.text.bytes().all(|b| b.is_ascii_digit()))
            .collect(),
        "chmod" | "chown" => operands("", 1),
        _ => return None,
    };
    (!files.is_empty()).then_some(files)
}

fn removes(command: &SimpleCommand) -> Option<Severity> {
    let options = Options::new(command.args(), "");
    if options.has_letter('r') || options.has_letter('R') || options.has_long("recursive") {
        if options.operands().any(|word| EVERYTHING.contains(&word.text.trim_end_matches('/'))) {
            return Some(Severity::Denied("rm -rf /"));
        }
        return Some(Severity::Destroys("rm -r *"));
    }
    if command.elevated {
        return Some(Severity::Destroys("sudo rm *"));
    }
    options.is_open().then_some(Severity::Open("rm -r *"))
}

fn truncates(args: &[Word]) -> Option<Severity> {
    const PATTERN: &str = "truncate -s 0 *";
    let options = Options::new(args, "sr");
    // The reference file may be empty, which truncates to size zero too.
    if options.value('r', "reference").is_some() || args.iter().any(Word::is_open) {
        return Some(Severity::Open(PATTERN));
    }
    let size = options.value('s', "size")?;
    let size = size.trim_start_matches(['<', '/', '%', ' ']);
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let nothing = size.starts_with('-') || digits.bytes().all(|byte| byte == b'0');
    nothing.then_some(Severity::Destroys(PATTERN))
}

fn changes_modes(args: &[Word]) -> Option<Severity> {
    const PATTERN: &str = "chmod -R 777 *";
    let options = Options::new(args, "");
    let recursive = options.has_letter('R') || options.has_long("recursive");
    let open_to_all = |word: &Word| {
        let text = word.text.trim_start_matches(['0', '=', '+']);
        let octal =
            text.len() >= 3 && text.ends_with("777") && text.bytes().all(|byte| byte.is_ascii_digit());
        let symbolic = word.text.split(',').any(|part| {
            part.split_once(['+', '=']).is_some_and(|(who, what)| {
                let all = who.is_empty() || who.contains(['a', 'o']);
                all && what.contains('w') && what.chars().all(|c| "rwxXst".contains(c))
            })
        });
        octal || symbolic
    };
    let mode = || args.iter().any(open_to_all);
    match () {
        () if recursive && mode() => Some(Severity::Destroys(PATTERN)),
        () if options.is_open() && (recursive || mode()) => Some(Severity::Open(PATTERN)),
        () => None,
    }
}

fn recursive(args: &[Word], valued: &str, pattern: &'static str) -> Option<Severity> {
    let options = Options::new(args, valued);
    match options.has_letter('R') || options.has_long("recursive") {
        true => Some(Severity::Destroys(pattern)),
        false => options.is_open().then_some(Severity::Open(pattern)),
    }
}

/// Whether a shell reads its script from its input.
fn reads_its_script(command: &SimpleCommand) -> bool {
    let mut operands = command.args().iter().filter(|word| !word.text.starts_with(['-', '+']));
    let by_option = command.args().iter().any(|word| word.text == "-s" || word.is_open());
    by_option || operands.next().is_none() && !command.args().iter().any(|word| word.text == "--version")
}

/// Matches patterns whose words may be separated by options.
fn in_order(command: &SimpleCommand) -> Option<Severity> {
    const PATTERNS: [(&str, &str); 2] =
        [("docker system prune", "docker system prune*"), ("kubectl delete", "kubectl delete *")];
    let found = PATTERNS.iter().find(|(words, _)| has_in_order(command, words));
    found.map(|(_, pattern)| Severity::Destroys(pattern))
}

/// Whether a command contains the words of an entry in order, with any words between them.
fn has_in_order(command: &SimpleCommand, entry: &str) -> bool {
    let Some(rest) = entry.strip_prefix(command.program()).and_then(|rest| rest.strip_prefix(' ')) else {
        return false;
    };
    let mut wanted = rest.split(' ');
    let mut words = command.args().iter().map(|word| word.text.as_str());
    let first = command.args().iter().map(|word| word.text.as_str()).find(|word| !word.starts_with('-'));
    wanted.all(|wanted| match wanted.strip_suffix('*') {
        Some(full) => first.is_some_and(|word| word.len() > 1 && full.starts_with(word)),
        None => words.any(|word| word == wanted),
    })
}

/// Matches the patterns literally, for commands that the parsers above do not cover.
fn by_pattern(command: &SimpleCommand) -> Option<Severity> {
    let program = Folded::of(command.program());
    // Every pattern begins with a program, so patterns of other programs are skipped.
    let begins = |pattern: &&&str| {
        let first = pattern.split(' ').next().unwrap_or(pattern);
        program.matches(first)
    };
    let mut patterns =
        rules::DENIED_COMMANDS.iter().chain(rules::DESTRUCTIVE_COMMANDS).filter(begins).copied().peekable();
    patterns.peek()?;
    let rest: Vec<_> = command.args().iter().map(|word| word.text.as_str()).collect();
    let line = format!("{} {}", command.program(), rest.join(" "));
    let line = Folded::of(line.trim_end());
    let pattern = patterns.find(|pattern| line.matches(pattern))?;
    Some(match rules::DENIED_COMMANDS.contains(&pattern) {
        true => Severity::Denied(pattern),
        false => Severity::Destroys(pattern),
    })
}

fn publishes(command: &SimpleCommand) -> Option<Severity> {
    let program = command.program();
    // Most programs have no entry.
    let mut entries = PUBLISHING.iter().filter(|entry| entry.starts_with(program));
    if entries.any(|entry| has_in_order(command, entry)) {
        return Some(Severity::Publishes);
    }
    let pushes =
        matches!(command.program(), "docker" | "podman") && Options::new(command.args(), "").has_long("push");
    let first = command.args().iter().find(|word| !word.text.starts_with('-'));
    let open = PUBLISHERS.contains(&command.program()) && first.is_some_and(Word::is_open);
    match () {
        () if pushes => Some(Severity::Publishes),
        () if open => Some(Severity::Open("a command that publishes")),
        () => None,
    }
}

#[cfg(test)]
mod tests;
