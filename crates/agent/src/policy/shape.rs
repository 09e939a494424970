//! The forms of a command that a rule of the settings is compared with.
//!
//! A rule such as `bash(git push *)` is about the subcommand, whatever options of the program
//! itself precede it. Words that are known only when the line runs, and options that this table
//! does not know, may be anything.

use super::{
    git::Git,
    shell::{Certainty, SimpleCommand, Word},
};

/// Stands for any text in [`Form::Open`]. It is no character.
const ANY: char = '\u{10ffff}';

/// A form of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The words, joined by spaces.
    Known(String),
    /// The words, with [`ANY`] for what is known only when the command runs.
    Open(String),
}

/// A program whose own options may precede its subcommand.
struct Program {
    name: &'static str,
    /// Options with a value, after `=` or in the next word.
    valued: &'static [&'static str],
    /// Options without a value.
    flags: &'static [&'static str],
}

/// The programs beside git. Sources: `docker --help`, `kubectl options`, `npm help config`, `cargo
/// --help`, `gh help environment`.
const PROGRAMS: &[Program] = &[
    Program {
        name: "docker",
        valued: &[
            "--config",
            "-c",
            "--context",
            "-H",
            "--host",
            "-l",
            "--log-level",
            "--tlscacert",
            "--tlscert",
            "--tlskey",
        ],
        flags: &["-D", "--debug", "--tls", "--tlsverify"],
    },
    Program {
        name: "podman",
        valued: &[
            "--connection",
            "-c",
            "--url",
            "--identity",
            "--log-level",
            "--root",
            "--runroot",
            "--storage-driver",
        ],
        flags: &["-r", "--remote", "--syslog"],
    },
    Program {
        name: "kubectl",
        valued: &[
            "--as",
            "--as-group",
            "--as-uid",
            "--cache-dir",
            "--certificate-authority",
            "--client-certificate",
            "--client-key",
            "--cluster",
            "--context",
            "--kubeconfig",
            "-n",
            "--namespace",
            "--password",
            "--profile",
            "--request-timeout",
            "-s",
            "--server",
            "--tls-server-name",
            "--token",
            "--user",
            "--username",
            "-v",
            "--v",
        ],
        flags: &["--insecure-skip-tls-verify", "--match-server-version", "--warnings-as-errors"],
    },
    Program {
        name: "helm",
        valued: &[
            "--kube-context",
            "--kubeconfig",
            "-n",
            "--namespace",
            "--registry-config",
            "--repository-cache",
        ],
        flags: &["--debug"],
    },
    Program {
        name: "npm",
        valued: &[
            "--prefix",
            "-C",
            "--registry",
            "--userconfig",
            "--globalconfig",
            "--cache",
            "--loglevel",
            "-w",
            "--workspace",
        ],
        flags: &[
            "-g",
            "--global",
            "-s",
            "--silent",
            "-q",
            "--quiet",
            "-d",
            "--verbose",
            "--no-audit",
            "--no-fund",
            "--offline",
        ],
    },
    Program {
        name: "pnpm",
        valued: &["--dir", "-C", "--filter", "-F", "--registry", "--loglevel"],
        flags: &["-r", "--recursive", "-w", "--workspace-root", "-g", "--global", "-s", "--silent"],
    },
    Program { name: "yarn", valued: &["--cwd"], flags: &["--silent", "-s", "--offline"] },
    Program {
        name: "cargo",
        valued: &["-C", "--color", "--config", "-Z"],
        flags: &["-q", "--quiet", "-v", "--verbose", "-vv", "--locked", "--offline", "--frozen"],
    },
    Program { name: "gh", valued: &["-R", "--repo"], flags: &[] },
    Program {
        name: "systemctl",
        valued: &["-H", "--host", "-M", "--machine", "--root"],
        flags: &["--user", "--system", "-q", "--quiet", "--no-pager"],
    },
    Program { name: "terraform", valued: &["-chdir"], flags: &[] },
];

/// Returns the forms of a command beside its words as they are.
pub(super) fn forms(command: &SimpleCommand) -> Vec<Form> {
    let program = command.program();
    let mut forms = vec![Form::Known(joined(program, command.args()))];
    if command.words.iter().any(|word| !word.is_exact()) {
        forms.push(Form::Open(opened(command.words.iter())));
    }
    let rest = match Git::of(command) {
        Some(Git { subcommand: Some(""), .. }) => return forms,
        Some(Git { subcommand: Some(name), args, .. }) => Ok(joined(&format!("{program} {name}"), args)),
        // An alias, or an option that may take the next word.
        Some(Git { subcommand: None, args, .. }) => Err(args),
        None => match PROGRAMS.iter().find(|known| known.name == program) {
            Some(known) => known.after_options(command.args()).map(|rest| joined(program, rest)),
            None => return forms,
        },
    };
    forms.push(match rest {
        Ok(line) => Form::Known(line),
        Err(args) => Form::Open(format!("{program} {ANY} {}", opened(args.iter()))),
    });
    forms.dedup();
    forms
}

impl Program {
    /// Returns the words from the subcommand on.
    ///
    /// # Errors
    ///
    /// Fails at an option that is not in the table, with the words from it on: the next word may be
    /// its value.
    fn after_options<'a>(&self, words: &'a [Word]) -> Result<&'a [Word], &'a [Word]> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            if !word.is_exact() {
                return Err(&words[at..]);
            }
            let name = text.split('=').next().unwrap_or(text);
            at += match text {
                // The toolchain of rustup's proxies.
                _ if text.starts_with('+') => 1,
                _ if !text.starts_with('-') => break,
                _ if self.flags.contains(&text) => 1,
                _ if self.valued.contains(&name) => {
                    if name.len() < text.len() {
                        1
                    } else {
                        2
                    }
                }
                _ => return Err(&words[at..]),
            };
        }
        Ok(words.get(at..).unwrap_or_default())
    }
}

fn joined(start: &str, words: &[Word]) -> String {
    let words = words.iter().map(|word| word.text.as_str());
    std::iter::once(start).chain(words).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn opened<'a>(words: impl Iterator<Item = &'a Word>) -> String {
    let words = words.map(|word| match word.certainty {
        Certainty::Exact => word.text.clone(),
        Certainty::Glob | Certainty::One | Certainty::Many => ANY.to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a pattern, in which `*` matches any characters, matches some text of an open form.
pub(super) fn may_match(pattern: &str, open: &str) -> bool {
    let folded = |text: &str| -> Vec<char> { text.to_lowercase().chars().collect() };
    let (pattern, open) = (folded(pattern), folded(open));
    // `row[j]`: whether the rest of the pattern and `open[j..]` have a text in common.
    let ends = |rest: &[char], any: char| rest.iter().all(|c| *c == any);
    let mut row: Vec<bool> = (0..=open.len()).map(|at| ends(&open[at..], ANY)).collect();
    for at in (0..pattern.len()).rev() {
        let mut above = vec![ends(&pattern[at..], '*'); open.len() + 1];
        for j in (0..open.len()).rev() {
            above[j] = match (pattern[at], open[j]) {
                ('*', _) | (_, ANY) => row[j] || above[j + 1],
                (a, b) => a == b && row[j + 1],
            };
        }
        row = above;
    }
    row[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::{Dialect, parse};

    #[test]
    fn options_of_the_program_are_seen_through() {
        for (line, expected) in [
            ("git -C . -c a=b commit -m x", "git commit -m x"),
            ("/usr/bin/git commit", "git commit"),
            ("docker --context d run x", "docker run x"),
            ("kubectl -n x apply -f y", "kubectl apply -f y"),
            ("kubectl --namespace=x delete pod y", "kubectl delete pod y"),
            ("npm --prefix web run build", "npm run build"),
            ("cargo -q --locked test", "cargo test"),
            ("gh -R a/b pr merge 1", "gh pr merge 1"),
        ] {
            let shell = parse(line, Dialect::Bash);
            let forms: Vec<_> = shell.commands().iter().flat_map(forms).collect();
            assert!(forms.contains(&Form::Known(expected.to_owned())), "{line}: {forms:?}");
        }
    }

    #[test]
    fn an_unknown_option_or_word_may_be_anything() {
        for (line, pattern, expected) in [
            ("git --new-option commit", "git commit*", true),
            ("docker --new x run y", "docker run *", true),
            ("git $WHAT x", "git push *", true),
            ("git commit -m $TEXT", "git push*", false),
            ("git p origin", "git push *", true),
            ("echo $HOME", "git push *", false),
        ] {
            let shell = parse(line, Dialect::Bash);
            let open = shell.commands().iter().flat_map(forms).any(|form| match form {
                Form::Open(text) => may_match(pattern, &text),
                Form::Known(_) => false,
            });
            assert_eq!(open, expected, "{line} {pattern}");
        }
    }
}
