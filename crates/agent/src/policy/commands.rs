//! The rules for commands: denied, asked about in every mode, confined by a sandbox, or listed as
//! read-only in the table.

use super::{
    CommandConfinement, Decision, Policy, Resolved, Subject,
    git::Git,
    question, rules, settings, severe,
    severity::Severity,
    shell::{self, Certainty, Dialect, Shell, SimpleCommand, Word},
    table,
};
use crate::{Access, Lifetime, PermissionMode};
use system::{AbsPath, SandboxLevel};

fn shells<'a>(subject: &'a Subject<'_>) -> impl Iterator<Item = &'a Shell> {
    subject.accesses.iter().filter_map(|resolved| resolved.shell.as_ref())
}

/// Denies a command that is never run, unless the settings allow its exact text.
pub(super) fn denied(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    shells(subject).find_map(|shell| {
        if let Shell::Unknown { why: shell::TOO_MUCH, .. } = shell {
            let reason = format!("Command not run: {}. Split it, or put it into a script.", shell::TOO_MUCH);
            return Some(Decision::Deny { rule: "TooMuch", reason });
        }
        if settings::allows_word_for_word(policy, subject, shell) {
            return None;
        }
        shell.commands().iter().find_map(|command| match severe::of(command) {
            Some(Severity::Denied(pattern)) => Some(Decision::Deny {
                rule: "DenyPattern",
                reason: format!(
                    "Command matches the denied pattern '{pattern}' and is never run. (The user can allow this exact line with the setting permissions.allow.)"
                ),
            }),
            _ => None,
        })
    })
}

/// Asks in every mode about commands that are irrevocable or may match a denied pattern, unless a
/// rule of the settings allows them.
pub(super) fn irrevocable(policy: &Policy<'_>, subject: &Subject<'_>) -> Option<Decision> {
    let mut graded = subject.accesses.iter().flat_map(|resolved| {
        let commands = resolved.shell.iter().flat_map(Shell::commands);
        commands.filter_map(move |command| Some((resolved, command, severe::of(command)?)))
    });
    let (.., severity) = graded.find(|(resolved, command, severity)| match severity {
        // A denied command is reported by its denial instead.
        Severity::Denied(_) => false,
        Severity::Destroys(_) => !stays_inside(policy, subject, resolved, command),
        // Whatever starts it, the push is asked about where it reaches the network.
        Severity::Pushes => !policy.confinement.sees_pushes() || policy.settings.folder.is_some(),
        Severity::Open(_) | Severity::Publishes | Severity::History(_) => true,
    })?;
    if settings::allows(policy, subject) {
        return None;
    }
    let (rule, why) = match severity {
        Severity::Publishes | Severity::Pushes => ("Publishing", "It publishes".to_owned()),
        Severity::History(what) => ("History", format!("It cannot be undone: {what}")),
        Severity::Destroys(pattern) => ("Destructive", format!("It cannot be undone (`{pattern}`)")),
        Severity::Denied(pattern) | Severity::Open(pattern) => {
            ("Unclear", format!("Parts of it are known only when it runs, and it may be `{pattern}`"))
        }
    };
    let allowable = match rule {
        "Unclear" => "",
        _ => " (the setting permissions.allow can allow it)",
    };
    let why = format!("{why}, so it needs approval in every mode{allowable}.");
    Some(Decision::Ask { rule, question: question::of(policy, subject, &why) })
}

/// Returns whether a line pushes to a remote repository, and to none that it names by an address.
pub(crate) fn pushes(line: &str) -> bool {
    let shell = shell::parse(line, Dialect::Bash);
    shell.commands().iter().any(|command| matches!(severe::of(command), Some(Severity::Pushes)))
}

/// Whether a destructive command in a sandbox names nothing but files below a project's directory.
/// A project's directory itself, what a pattern finds at its top, and git directories do not count.
fn stays_inside(
    policy: &Policy<'_>,
    subject: &Subject<'_>,
    resolved: &Resolved,
    command: &SimpleCommand,
) -> bool {
    // The directory of a running command that gets the line as input is not known.
    let (
        Access::Execute { cwd, lifetime: Lifetime::Session | Lifetime::Kept, .. },
        Some(Shell::Commands(commands)),
    ) = (&resolved.access, &resolved.shell)
    else {
        return false;
    };
    let moves = || commands.iter().any(|command| matches!(command.program(), "cd" | "pushd" | "popd"));
    let is_inside = |word: &&Word| {
        let plain = match word.certainty {
            Certainty::Exact => word.text.as_str(),
            // The directory in which the pattern finds names.
            Certainty::Glob => {
                match word.text.find(['*', '?', '[', '{']).and_then(|at| word.text[..at].rsplit_once('/')) {
                    Some((directory, _)) => directory,
                    None => return false,
                }
            }
            Certainty::One | Certainty::Many => return false,
        };
        let path = cwd.join(plain);
        let is_git = path.as_str().split('/').any(|name| system::Folded::of(name).matches(".git"));
        let below =
            subject.roots.iter().any(|root| path.relative_to(root).is_some_and(|below| !below.is_empty()));
        below
            && !is_git
            && !plain.starts_with('~')
            && !subject.roots.iter().any(|root| root.starts_with(&path))
    };
    policy.confinement.holds()
        && !moves()
        && severe::destroyed(command).is_some_and(|words| words.iter().all(is_inside))
}

/// Whether a command may change something, for the read-only modes.
pub(super) fn changes_something(policy: &Policy<'_>, subject: &Subject<'_>) -> bool {
    let input =
        |resolved: &Resolved| matches!(resolved.access, Access::Execute { lifetime: Lifetime::Running, .. });
    if subject.accesses.iter().any(input) {
        // The running command may have been started when more was allowed.
        return true;
    }
    let read_only =
        matches!(policy.confinement, CommandConfinement::Sandbox { level: SandboxLevel::ReadOnly, .. });
    let held = policy.confinement.holds() && read_only;
    shells(subject).any(|shell| {
        let commands = shell.commands();
        let evidently = commands.iter().any(rules::is_mutative);
        let understood = matches!(shell, Shell::Commands(_)) && !commands.is_empty();
        let looks = || understood && commands.iter().all(|command| table::lookup(command).is_some());
        evidently || !(held || looks())
    })
}

/// Returns why Guardian asks about a command, if it does.
pub(super) fn obstacle(policy: &Policy<'_>, roots: &[AbsPath], resolved: &Resolved) -> Option<String> {
    let Access::Execute { cwd, lifetime, .. } = &resolved.access else { return None };
    let Some(shell) = &resolved.shell else { return Some("It cannot be parsed.".to_owned()) };
    if let Some(branch) = shell.commands().iter().find_map(Git::takes_over) {
        let branch = crate::one_line(branch);
        return Some(format!("It takes over the work of a subagent from the branch '{branch}'."));
    }
    if policy.confinement.holds() {
        // What the command may not read does not exist for it.
        return None;
    }
    let place = Words { policy, roots, cwd };
    let unconfined = |why: &str| Some(format!("It is not confined, and {why}."));
    if policy.confinement == CommandConfinement::Lifted {
        return unconfined("it asks to leave the sandbox");
    }
    if *lifetime == Lifetime::Kept {
        return unconfined("it keeps running when the session closes");
    }
    let commands = match shell {
        Shell::Commands(commands) if !commands.is_empty() => commands,
        Shell::Commands(_) => return unconfined("it contains no command that this check knows"),
        Shell::Unknown { why, .. } => return unconfined(why),
    };
    // After a `cd`, the paths of later commands resolve elsewhere.
    let moves = commands.len() > 1 && commands.iter().any(|command| command.program() == "cd");
    if moves && place.hides_folders() {
        return unconfined("it changes the directory, and some directories are blocked");
    }
    commands.iter().find_map(|command| {
        let Some(looks) = table::lookup(command) else {
            return unconfined(&format!("`{}` may do more than read", crate::one_line(command.program())));
        };
        let open = |word: &Word| !word.is_exact() && place.hides_folders();
        let secret = command.args().iter().find(|word| place.is_secret(&word.text) || open(word));
        if let Some(word) = secret {
            return Some(format!("It names '{}', which may hold secrets.", crate::one_line(&word.text)));
        }
        let outside = looks.files.iter().find(|file| place.is_outside(file) && !place.is_allowed(file));
        outside.and_then(|file| unconfined(&format!("'{}' is outside the project", crate::one_line(file))))
    })
}

/// Returns why a call is asked about, as a sentence; empty if the question already explains it.
pub(super) fn why(policy: &Policy<'_>, subject: &Subject<'_>) -> String {
    subject
        .accesses
        .iter()
        .find_map(|resolved| {
            let Access::Execute { unconfined, .. } = &resolved.access else { return None };
            match policy.permission_mode {
                _ if *unconfined => None,
                PermissionMode::Argus => Some("Argus asks about every command.".to_owned()),
                _ => obstacle(policy, subject.roots, resolved),
            }
        })
        .unwrap_or_default()
}

/// Returns the files that the commands of a line may write: the targets of redirections, and every
/// path that a command which changes something names.
pub(super) fn written(policy: &Policy<'_>, cwd: &AbsPath, shell: Option<&Shell>) -> Vec<AbsPath> {
    let place = Words { policy, roots: &[], cwd };
    let home = policy.settings.home;
    let path = |word: &str| {
        let path = place.path(word);
        let below_home = ["~", "$HOME", "${HOME}"].iter().find_map(|start| path.strip_prefix(start));
        match (below_home, home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                Some(home.join(rest.trim_start_matches('/')))
            }
            _ => (!path.is_empty()).then(|| cwd.join(path)),
        }
    };
    let commands =
        shell.map_or(&[][..], Shell::commands).iter().filter(|command| rules::is_mutative(command));
    let words = commands.flat_map(|command| {
        command.writes.iter().map(String::as_str).chain(command.args().iter().map(|word| word.text.as_str()))
    });
    words.filter_map(path).collect()
}

/// Interprets a command's words as paths.
struct Words<'a> {
    policy: &'a Policy<'a>,
    roots: &'a [AbsPath],
    cwd: &'a AbsPath,
}

impl Words<'_> {
    /// Returns the path in a word: the whole word, or the value of an option or assignment.
    fn path<'w>(&self, word: &'w str) -> &'w str {
        match word.strip_prefix('-') {
            None => word.split_once('=').map_or(word, |(_, value)| value),
            Some(option) => match (option.split_once('='), option.find(['/', '~'])) {
                (Some((_, value)), _) => value,
                (None, Some(at)) => &option[at..],
                (None, None) => word,
            },
        }
    }

    /// Whether a word is a path that leads out of the session's directories.
    fn is_outside(&self, word: &str) -> bool {
        let path = self.path(word);
        if path.starts_with('~') {
            return true;
        }
        if !path.starts_with('/') && !path.contains("..") {
            return false;
        }
        let path = self.cwd.join(path);
        !self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Whether a word leads to a place that needs no approval: the allowed paths, which include the
    /// temporary directory, and `/dev/null`.
    fn is_allowed(&self, word: &str) -> bool {
        let path = self.path(word);
        if path.starts_with('~') || word == "/dev/null" {
            return word == "/dev/null";
        }
        let path = self.cwd.join(path);
        self.policy.settings.allowed_paths.iter().any(|allowed| path.starts_with(allowed))
    }

    fn is_secret(&self, word: &str) -> bool {
        let path = self.path(word);
        if path.is_empty() {
            return false;
        }
        rules::names_secret(word)
            || rules::names_secret(path)
            || self.hides_folders() && {
                let path = self.cwd.join(path);
                let spelled = system::PathSpellings::of(&path, self.roots);
                super::is_blocked(self.policy, self.roots, &path)
                    || self.unread().any(|pattern| spelled.is_in(pattern))
            }
    }

    /// Whether the settings exclude any files from reading.
    fn hides_folders(&self) -> bool {
        !self.policy.settings.blocked_paths.is_empty() || self.unread().next().is_some()
    }

    /// Returns the patterns of files that deny rules exclude from reading.
    fn unread(&self) -> impl Iterator<Item = &str> {
        self.policy.settings.rules.deny.iter().filter_map(|rule| rule.unread())
    }
}
