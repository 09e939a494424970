//! The command and path rules, as data. Source of the lists: the runtime specification, sections 2.1, 2.2 and "Guardian heuristic".

use super::shell::SimpleCommand;

/// Path patterns that no tool touches, in any mode. `*` matches any characters; compared without case against the path, its
/// resolved form and its last component.
pub(super) const BLOCKED_PATHS: &[&str] =
    &["*.env", "*.env.*", ".git/*", "*/.git/*", "*.pem", "*id_rsa*", "*id_ed25519*", "*.key"];

/// Names that the patterns above would hit and that hold no secret.
pub(super) const NOT_BLOCKED: &[&str] = &["*.env.example", "*.env.sample", "*.env.template", "*.pub"];

/// Files that decide what this program runs and allows: a tool never writes them without asking, in any mode.
pub(super) const PROTECTED_PATHS: &[&str] = &[
    "*/.mcp.json",
    "*/.vscode/mcp.json",
    "*/.cursor/mcp.json",
    "*/.tiller/*",
    "*/.envrc",
    "*/tiller/config.toml",
    "*/.bashrc",
    "*/.profile",
    "*/.zshrc",
    "*/.gitconfig",
];

/// Commands that are denied in every mode, matched against each simple command of a line.
pub(super) const DENIED_COMMANDS: &[&str] = &[
    "rm -rf *",
    "rm -fr *",
    "rm -r *",
    "mkfs*",
    "dd *of=*",
    "shred *",
    "truncate -s 0 *",
    "git reset --hard*",
    "git clean -fd*",
    "git clean -df*",
    "git push --force*",
    "git push -f*",
    "chmod -R 777 *",
    "chown -R *",
    "docker system prune*",
    "kubectl delete *",
];

/// Commands that change nothing and run nothing of the project's, so that Guardian does not ask.
const SAFE_COMMANDS: &[&str] = &[
    "ls",
    "ls *",
    "pwd",
    "cat *",
    "head *",
    "tail *",
    "wc *",
    "which *",
    "echo",
    "echo *",
    "diff *",
    "true",
    "false",
    "cd *",
    "basename *",
    "dirname *",
    "stat *",
    "file *",
    "du *",
    "df",
    "df *",
    "date",
    "uname",
    "uname *",
    "whoami",
    "sort *",
    "uniq",
    "uniq *",
    "cut *",
    "tr *",
    "nl *",
    "grep *",
    "rg *",
    "find *",
    "git status*",
    "git log*",
    "git diff*",
    "git show*",
    "git blame *",
    "git rev-parse *",
    "git ls-files*",
    "git branch",
    "git branch -a",
    "git branch -v*",
    "git remote -v",
    "git describe*",
    "git shortlog*",
    "npm ls*",
    "npm view*",
    "npm outdated*",
    "cargo tree*",
    "cargo metadata*",
    "cargo --version",
    "rustc --version",
    "node --version",
    "python --version",
    "python3 --version",
    "go version",
];

/// Words that make a command of the list above write a file or run another program.
const UNSAFE_WORDS: &[(&str, &[&str])] = &[
    ("find", &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("sort", &["-o", "--output", "--compress-program", "-T"]),
    ("uniq", &[]),
    ("tail", &["-f", "-F", "--follow"]),
    ("rg", &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    (
        "git",
        &[
            "--output",
            "--ext-diff",
            "--textconv",
            "-c",
            "-C",
            "--git-dir",
            "--work-tree",
            "--exec-path",
            "--open-files-in-pager",
            "-O",
        ],
    ),
    ("date", &["-s", "--set"]),
    ("file", &["-C", "--compile"]),
    ("npm", &["--prefix", "--script-shell"]),
    ("cargo", &["--config"]),
];

/// Commands that change something, by their first words: refused in the read-only modes.
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

/// Commands that hand something to others, by their program and its first words that are no options: they ask in every mode.
const PUBLISHING: &[&str] = &[
    "git push",
    "git send-email",
    "npm publish",
    "npm unpublish",
    "pnpm publish",
    "yarn publish",
    "yarn npm publish",
    "bun publish",
    "cargo publish",
    "cargo yank",
    "docker push",
    "podman push",
    "helm push",
    "gem push",
    "twine upload",
    "poetry publish",
    "uv publish",
    "mvn deploy",
    "dotnet nuget push",
    "vsce publish",
    "gh release",
    "gh pr create",
    "gh gist create",
    "gh repo create",
];

/// Whether a command publishes, or may: its words are looked for in their order, with whatever options between them.
pub(super) fn publishes(command: &SimpleCommand) -> bool {
    PUBLISHING.iter().any(|entry| {
        let mut wanted = entry.split(' ');
        let mut words = command.words.iter().skip(1);
        wanted.next() == Some(command.program()) && wanted.all(|wanted| words.any(|word| word == wanted))
    })
}

/// Programs whose second word says what they do, so that a grant names both.
const WITH_SUBCOMMAND: &[&str] = &[
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "go",
    "docker",
    "kubectl",
    "composer",
    "pip",
    "pip3",
    "make",
    "apt",
    "apt-get",
    "brew",
    "systemctl",
    "rustup",
    "uv",
    "poetry",
    "gradle",
    "mvn",
    "dotnet",
    "bun",
    "deno",
];

/// Programs that build, test, check or run the project's own code, by their first words. What they do is bounded by the sandbox and not by
/// their arguments, so they pass where it holds.
const CONFINABLE: &[&str] = &[
    "node",
    "deno",
    "bun",
    "python",
    "python3",
    "ruby",
    "php",
    "java",
    "javac",
    "make",
    "cmake",
    "ctest",
    "ninja",
    "meson",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "cargo test",
    "cargo nextest",
    "cargo run",
    "cargo fmt",
    "cargo doc",
    "cargo bench",
    "cargo metadata",
    "cargo tree",
    "rustc",
    "rustfmt",
    "npm test",
    "npm t",
    "npm run",
    "npm start",
    "npm ls",
    "pnpm test",
    "pnpm run",
    "yarn test",
    "yarn run",
    "go build",
    "go test",
    "go vet",
    "go run",
    "go fmt",
    "go list",
    "gofmt",
    "gradle",
    "mvn",
    "dotnet build",
    "dotnet test",
    "dotnet run",
    "swift build",
    "swift test",
    "zig build",
    "zig test",
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "clang++",
    "ld",
    "ar",
    "pytest",
    "tox",
    "ruff",
    "mypy",
    "black",
    "isort",
    "flake8",
    "pylint",
    "tsc",
    "eslint",
    "prettier",
    "jest",
    "vitest",
    "phpunit",
    "rspec",
    "rubocop",
    "shellcheck",
    "mkdir",
    "touch",
    "cp",
    "sed",
    "awk",
    "jq",
    "xxd",
    "test",
    "printf",
    "sleep",
    "seq",
    "tee",
];

/// Whether a command may run without a question in a sandbox that holds: a known builder or interpreter, or a program of the project.
pub(super) fn is_confinable(command: &SimpleCommand) -> bool {
    let line = command.line();
    let own = command.words.first().is_some_and(|word| word.starts_with("./") && !word.contains(".."));
    !command.elevated && (own || CONFINABLE.iter().any(|entry| begins(&line, entry)))
}

pub(super) use system::{Folded, pattern_matches as matches};

/// Whether a command's words begin with those of an entry: `git push` with those of `git push x`, and not of `git pushx`.
fn begins(line: &str, entry: &str) -> bool {
    line.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether a word or a path is called as secrets are.
pub(super) fn names_secret(word: &str) -> bool {
    let (name, word) = (Folded::of(word.rsplit('/').next().unwrap_or(word)), Folded::of(word));
    BLOCKED_PATHS.iter().any(|pattern| word.matches(pattern) || name.matches(pattern))
        && !NOT_BLOCKED.iter().any(|pattern| name.matches(pattern))
}

/// Whether an unquoted pattern may stand for a blocked file: it does not end in an extension, or in one of those.
pub(super) fn may_name_secret(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let rest = name.rsplit(['*', '?', ']']).next().unwrap_or(name);
    let example = format!("x{rest}");
    let example = Folded::of(&example);
    !rest.starts_with('.') || rest.len() < 2 || BLOCKED_PATHS.iter().any(|pattern| example.matches(pattern))
}

/// The denied pattern that a command matches, if any.
pub(super) fn denied(command: &SimpleCommand) -> Option<&'static str> {
    let line = format!("{} {}", command.program(), command.words.get(1..).unwrap_or_default().join(" "));
    // `rm -r -f x` and `rm --recursive x` are `rm -rf x` in other words.
    let recursive_rm = command.program() == "rm"
        && command.words.iter().skip(1).any(|word| {
            word == "--recursive"
                || (word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']))
        });
    if recursive_rm {
        return Some("rm -r *");
    }
    if command.elevated && command.program() == "rm" {
        return Some("sudo rm *");
    }
    let forced_push = command.program() == "git"
        && command.words.get(1).is_some_and(|word| word == "push")
        && command.words.iter().any(|word| word == "--force" || word == "-f");
    if forced_push {
        return Some("git push --force*");
    }
    let line = Folded::of(line.trim_end());
    DENIED_COMMANDS.iter().copied().find(|pattern| line.matches(pattern))
}

/// Whether a command neither changes anything nor runs anything of the project's.
pub(super) fn is_safe(command: &SimpleCommand) -> bool {
    let line = command.line();
    let line = Folded::of(&line);
    let plain_program = command.words.first().is_some_and(|word| !word.contains('/'));
    plain_program
        && command.writes.is_empty()
        && !command.elevated
        && SAFE_COMMANDS.iter().any(|pattern| line.matches(pattern))
        && !(command.program() == "uniq"
            && command.words.iter().skip(1).filter(|w| !w.starts_with('-')).count() > 1)
        && !has_unsafe_word(command)
}

fn has_unsafe_word(command: &SimpleCommand) -> bool {
    let Some((_, words)) = UNSAFE_WORDS.iter().find(|(program, _)| *program == command.program()) else {
        return false;
    };
    command.words.iter().skip(1).any(|given| {
        words.iter().any(|word| {
            let short = word.len() == 2 && !given.starts_with("--") && given.starts_with(word);
            short || given.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    })
}

/// Whether a command changes something, as far as its words tell.
pub(super) fn is_mutative(command: &SimpleCommand) -> bool {
    let line = format!("{} {}", command.program(), command.words.get(1..).unwrap_or_default().join(" "));
    !command.writes.is_empty()
        || command.elevated
        || has_unsafe_word(command)
        || MUTATIVE.iter().any(|entry| begins(&line, entry))
}

/// The words by which "always" remembers a command: the program, with its subcommand where that says what it does.
pub(super) fn grant_prefix(command: &SimpleCommand) -> String {
    let program = command.words.first().map(String::as_str).unwrap_or_default();
    match command.words.get(1) {
        Some(word) if WITH_SUBCOMMAND.contains(&command.program()) && !word.starts_with('-') => {
            format!("{program} {word}")
        }
        _ => program.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::{Shell, parse};

    fn one(line: &str) -> SimpleCommand {
        match parse(line) {
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
    fn denies_what_destroys_in_any_spelling() {
        for line in [
            "rm -rf x",
            "rm -fr x",
            "rm -r -f x",
            "rm -f -R x",
            "rm --recursive x",
            "/bin/rm -rf /",
            "sudo rm x",
            "git reset --hard",
            "git push origin main --force",
            "git push -f",
            "dd if=/dev/zero of=/dev/sda",
            "mkfs.ext4 /dev/sda",
            "chmod -R 777 .",
            "truncate -s 0 f",
            "kubectl delete pod x",
            "git clean -fdx",
            "timeout 5 rm -rf x",
            "sh -c 'rm -rf x'",
        ] {
            assert!(denied(&one(line)).is_some(), "{line}");
        }
        for line in
            ["rm x", "git push", "git reset HEAD~1", "chmod +x a", "dd if=a", "rm -f a-r", "git clean -n"]
        {
            assert_eq!(denied(&one(line)), None, "{line}");
        }
    }

    #[test]
    fn safe_is_narrow() {
        for line in [
            "ls",
            "ls -la src",
            "git status --short",
            "git diff HEAD",
            "cat a b",
            "find . -name '*.rs'",
            "grep -rn x src",
        ] {
            assert!(is_safe(&one(line)), "{line}");
        }
        for line in [
            "find . -delete",
            "find . -exec rm {} +",
            "git -c core.pager=x log",
            "git diff --output=x",
            "sort -o a b",
            "sort -oa b",
            "./ls",
            "cargo test",
            "node x.js",
            "python x.py",
            "make",
            "npm test",
            "ls > x",
            "sudo ls",
            "rg --pre x y",
            "uniq a b",
            "tail -f x",
            "git branch new",
        ] {
            assert!(!is_safe(&one(line)), "{line}");
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

    #[test]
    fn grants_name_the_subcommand() {
        for (line, prefix) in [
            ("cargo test -p x", "cargo test"),
            ("ls -la", "ls"),
            ("git -C x log", "git"),
            ("./run.sh a", "./run.sh"),
        ] {
            assert_eq!(grant_prefix(&one(line)), prefix);
        }
    }
}
