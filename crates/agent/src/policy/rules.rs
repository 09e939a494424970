//! The command and path rules as data. Source of the lists: the runtime specification, sections
//! 2.1, 2.2 and "Guardian heuristic".

use super::shell::SimpleCommand;

/// Path patterns that no tool accesses in any mode. `*` matches any characters; matching ignores
/// case and covers the path, its resolved form and its last component.
pub(super) const BLOCKED_PATHS: &[&str] =
    &["*.env", "*.env.*", ".git/*", "*/.git/*", "*.pem", "*id_rsa*", "*id_ed25519*", "*.key"];

/// Names that match the patterns above but contain no secret.
pub(super) const NOT_BLOCKED: &[&str] = &["*.env.example", "*.env.sample", "*.env.template", "*.pub"];

/// Commands that are denied in every mode, matched against each simple command of a line.
pub(super) const DENIED_COMMANDS: &[&str] = &["mkfs*", "git push --force*", "git push -f*"];

/// Commands that delete or overwrite what cannot be brought back, matched likewise. They ask, but
/// for files of the project in a sandbox.
pub(super) const DESTRUCTIVE_COMMANDS: &[&str] = &[
    "rm -rf *",
    "rm -fr *",
    "rm -r *",
    "dd *of=*",
    "shred *",
    "truncate -s 0 *",
    "chmod -R 777 *",
    "chown -R *",
    "docker system prune*",
    "kubectl delete *",
];

/// Commands that change something, by their first words: denied in the read-only modes.
const MUTATIVE: &[&str] = &[
    "rm",
    "rmdir",
    "mv",
    "cp",
    "chmod",
    "chown",
    "chgrp",
    "mkdir",
    "mkfifo",
    "touch",
    "ln",
    "git commit",
    "git push",
    "git merge",
    "git rebase",
    "git reset",
    "git checkout",
    "git switch",
    "git restore",
    "git stash",
    "git cherry-pick",
    "git revert",
    "git tag",
    "git branch -d",
    "git branch -D",
    "git branch -m",
    "git clean",
    "git am",
    "git apply",
    "git add",
    "git rm",
    "git mv",
    "git pull",
    "git fetch",
    "git init",
    "git clone",
    "npm install",
    "npm ci",
    "npm uninstall",
    "npm update",
    "npm publish",
    "npm i",
    "npm add",
    "npm rm",
    "npm remove",
    "npm un",
    "npm audit fix",
    "npm run",
    "npm test",
    "npm exec",
    "npm x",
    "npm create",
    "npm init",
    "npm pack",
    "npm link",
    "npm version",
    "npm rebuild",
    "npm dedupe",
    "npm prune",
    "pnpm install",
    "pnpm add",
    "pnpm remove",
    "pnpm update",
    "pnpm publish",
    "pnpm run",
    "pnpm test",
    "pnpm exec",
    "pnpm dlx",
    "pnpm create",
    "yarn",
    "npx",
    "composer require",
    "composer remove",
    "composer update",
    "composer install",
    "pip install",
    "pip uninstall",
    "pip3 install",
    "pip3 uninstall",
    "cargo install",
    "cargo add",
    "cargo remove",
    "cargo publish",
    "cargo fix",
    "apt",
    "apt-get",
    "brew",
    "yum",
    "dnf",
    "pacman",
    "docker",
    "kubectl",
    "kill",
    "killall",
    "pkill",
    "dd",
    "truncate",
    "shred",
    "tee",
    "sed -i",
    "perl -i",
    "patch",
    "install",
    "rsync",
    "tar",
    "unzip",
];

pub(super) use system::{Folded, pattern_matches as matches};

/// Whether a line begins with the words of an entry: `git push x` begins with `git push`, but
/// `git pushx` does not.
fn begins(line: &str, entry: &str) -> bool {
    line.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether a word or path has the name of a secret.
pub(super) fn names_secret(word: &str) -> bool {
    let (name, word) = (Folded::of(word.rsplit('/').next().unwrap_or(word)), Folded::of(word));
    BLOCKED_PATHS.iter().any(|pattern| word.matches(pattern) || name.matches(pattern))
        && !NOT_BLOCKED.iter().any(|pattern| name.matches(pattern))
}

/// Whether an unquoted pattern may expand to a blocked file: it has no extension at its end, or a
/// blocked one.
pub(super) fn may_name_secret(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let rest = name.rsplit(['*', '?', ']']).next().unwrap_or(name);
    let example = format!("x{rest}");
    let example = Folded::of(&example);
    !rest.starts_with('.') || rest.len() < 2 || BLOCKED_PATHS.iter().any(|pattern| example.matches(pattern))
}

/// Whether a command changes something, as far as its words show.
pub(super) fn is_mutative(command: &SimpleCommand) -> bool {
    let args: Vec<_> = command.args().iter().map(|word| word.text.as_str()).collect();
    let line = format!("{} {}", command.program(), args.join(" "));
    !command.writes.is_empty() || command.elevated || MUTATIVE.iter().any(|entry| begins(&line, entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::{Dialect, Shell, parse};

    fn one(line: &str) -> SimpleCommand {
        match parse(line, Dialect::Bash) {
            Shell::Commands(commands) if commands.len() == 1 => commands[0].clone(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn matches_patterns_with_stars() {
        for (pattern, text, expected) in [
            ("*.env", ".env", true),
            ("*.env", "a.ENV", true),
            ("*.env", "a.envx", false),
            (".git/*", ".git/config", true),
            ("dd *of=*", "dd if=a of=b", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbY", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn mutative_by_prefix_and_by_redirection() {
        for line in [
            "rm x",
            "/bin/rm x",
            "git commit -m x",
            "npm run build",
            "echo x > y",
            "sed -i s/a/b/ f",
            "tee x",
            "git stash",
        ] {
            assert!(is_mutative(&one(line)), "{line}");
        }
        for line in ["ls", "git log", "cargo test", "npm ls", "rmx", "git stashx"] {
            assert!(!is_mutative(&one(line)), "{line}");
        }
    }
}
