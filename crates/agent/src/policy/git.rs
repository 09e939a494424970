//! Parses a git command into git's own options, the subcommand and its arguments, and grades what
//! it does to published or uncommitted work.

use super::{
    options::Options,
    severity::Severity,
    shell::{SimpleCommand, Word},
};

/// A parsed git command.
pub(super) struct Git<'a> {
    /// Whether options before the subcommand change where git works or what it runs.
    pub(super) redirected: bool,
    /// The subcommand; `None` if unknown, `""` if absent.
    pub(super) subcommand: Option<&'a str>,
    /// The arguments of the subcommand.
    pub(super) args: &'a [Word],
}

/// Options of git itself that do not affect its behaviour.
const HARMLESS: &[&str] = &[
    "-p",
    "--paginate",
    "-P",
    "--no-pager",
    "--no-optional-locks",
    "--no-advice",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--no-replace-objects",
    "--no-lazy-fetch",
];
/// Options of git with a value in the next word or after `=`.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--exec-path",
    "--list-cmds",
];
/// Options of git that form a complete command by themselves.
const ALONE: &[&str] =
    &["-h", "--help", "-v", "--version", "--html-path", "--man-path", "--info-path", "--exec-path", "--bare"];

/// Known subcommands of git. Any other name may be an alias or another program.
const SUBCOMMANDS: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bugreport",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "citool",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "daemon",
    "describe",
    "diagnose",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "filter-branch",
    "filter-repo",
    "fmt-merge-msg",
    "for-each-ref",
    "for-each-repo",
    "format-patch",
    "fsck",
    "gc",
    "get-tar-commit-id",
    "grep",
    "gui",
    "hash-object",
    "help",
    "hook",
    "http-fetch",
    "http-push",
    "imap-send",
    "index-pack",
    "init",
    "instaweb",
    "interpret-trailers",
    "lfs",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-index",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "p4",
    "pack-objects",
    "pack-refs",
    "patch-id",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "range-diff",
    "read-tree",
    "rebase",
    "receive-pack",
    "reflog",
    "refs",
    "remote",
    "repack",
    "replace",
    "replay",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "send-email",
    "send-pack",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "subtree",
    "svn",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "upload-archive",
    "upload-pack",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// The beginning of the branches of subagents with worktrees.
const AGENT_BRANCHES: &str = "tiller/";

/// The subcommands that change the files of the worktree to what is in a commit.
const CHANGES_FILES: &[&str] = &[
    "checkout",
    "checkout-index",
    "cherry-pick",
    "merge",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "switch",
];

/// The maximum number of aliases that are followed in one command line.
const ALIASES: usize = 4;

impl<'a> Git<'a> {
    /// Parses a command `git …`, or `git-…` from git's own directory.
    pub(super) fn of(command: &'a SimpleCommand) -> Option<Self> {
        let program = command.program();
        let words = command.args();
        if let Some(subcommand) = program.strip_prefix("git-").filter(|name| SUBCOMMANDS.contains(name)) {
            return Some(Self { redirected: true, subcommand: Some(subcommand), args: words });
        }
        (program == "git").then(|| Self::after(words))
    }

    fn after(words: &'a [Word]) -> Self {
        let mut redirected = false;
        let mut at = 0;
        let unknown = |args| Self { redirected: true, subcommand: None, args };
        loop {
            let Some(word) = words.get(at) else {
                return Self { redirected, subcommand: Some(""), args: &[] };
            };
            let text = word.text.as_str();
            if !word.is_exact() {
                return unknown(&words[at..]);
            }
            let name = text.split('=').next().unwrap_or(text);
            at += match text {
                _ if !text.starts_with('-') => break,
                _ if HARMLESS.contains(&text) => 1,
                _ if text.contains('=') && name.starts_with("--") && VALUED.contains(&name) => 1,
                _ if ALONE.contains(&text) => 1,
                // The value of one option could otherwise be mistaken for the subcommand.
                _ if VALUED.contains(&text) && words.get(at + 1).is_some_and(Word::is_exact) => 2,
                _ => return unknown(&words[at..]),
            };
            redirected |= !HARMLESS.contains(&text);
        }
        let (name, args) = (words[at].text.as_str(), &words[at + 1..]);
        let subcommand = SUBCOMMANDS.contains(&name).then_some(name);
        Self { redirected, subcommand, args }
    }

    /// Expands an alias that the command line itself sets: `git -c alias.p=push p`.
    fn alias(command: &SimpleCommand) -> Option<SimpleCommand> {
        let words = command.args();
        let at = words.iter().position(|word| !word.text.starts_with('-') && !word.text.contains('='))?;
        let prefix = format!("alias.{}=", words[at].text);
        let value = words[..at].iter().find_map(|word| {
            let text = word.text.strip_prefix("-c").unwrap_or(&word.text);
            let found = text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(&prefix));
            found.then(|| &text[prefix.len()..])
        })?;
        let mut inner = SimpleCommand { words: vec![Word::exact("git")], ..command.clone() };
        inner.words.extend(value.split_whitespace().map(Word::exact));
        inner.words.extend(words[at + 1..].iter().cloned());
        Some(inner)
    }

    /// Returns the first word that names the branch of a subagent, if the command puts what is on
    /// it into the files of the project.
    pub(super) fn takes_over(command: &'a SimpleCommand) -> Option<&'a str> {
        let git = Self::of(command)?;
        if git.subcommand.is_some_and(|name| !CHANGES_FILES.contains(&name)) {
            return None;
        }
        let names = |word: &&Word| {
            let at = word.text.find(AGENT_BRANCHES);
            at.is_some_and(|at| at == 0 || word.text[..at].ends_with(['.', '/', '=', ':', '^']))
        };
        git.args.iter().find(names).map(|word| word.text.as_str())
    }

    /// Returns the severity of a git command, if it publishes, deletes or overwrites work.
    pub(super) fn severity(command: &SimpleCommand) -> Option<Severity> {
        Self::severity_of(command, 0)
    }

    fn severity_of(command: &SimpleCommand, depth: usize) -> Option<Severity> {
        let git = Git::of(command)?;
        let Some(subcommand) = git.subcommand else {
            let inner = Git::alias(command).filter(|_| depth < ALIASES);
            let known = inner.and_then(|inner| Self::severity_of(&inner, depth + 1));
            return Some(match known {
                Some(denied @ Severity::Denied(_)) => denied,
                _ => Severity::Open("git push --force*"),
            });
        };
        git.of_subcommand(subcommand)
    }

    fn of_subcommand(&self, subcommand: &str) -> Option<Severity> {
        let options = |valued| Options::new(self.args, valued);
        let open = |pattern| options("").is_open().then_some(Severity::Open(pattern));
        let first = self.args.first().map_or("", |word| word.text.as_str());
        match subcommand {
            "reset" => match options("").has_long("hard") {
                true => Some(Severity::History("it discards changes that are not committed")),
                false => open("git reset --hard*"),
            },
            "clean" => {
                let given = options("e");
                let forced = given.has_letter('f') || given.has_long("force") || self.redirected;
                let dry = given.has_letter('n') || given.has_long("dry-run");
                match () {
                    () if given.is_open() => Some(Severity::Open("git clean -fd*")),
                    () if dry || !forced => None,
                    () => Some(Severity::History("it removes files that git does not track")),
                }
            }
            "push" | "send-pack" | "http-push" => {
                let given = options("o");
                let forced = given.has_letter('f')
                    || given.has_letter('d')
                    || ["force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune"]
                        .iter()
                        .any(|name| given.has_long(name))
                    || given.operands().any(|word| word.text.starts_with(['+', ':']));
                Some(match () {
                    () if forced => Severity::Denied("git push --force*"),
                    () if subcommand == "push" => pushing(&given),
                    () => Severity::Publishes,
                })
            }
            "send-email" | "imap-send" | "p4" | "svn" => Some(Severity::Publishes),
            "lfs" | "subtree" => {
                let at = self.args.iter().position(|word| word.text == "push" || word.is_open())?;
                let is_open = self.args[at].is_open();
                Some(if is_open {
                    Severity::Publishes
                } else {
                    pushing(&Options::new(&self.args[at + 1..], "P"))
                })
            }
            "branch" => {
                let given = options("u");
                let deletes = given.has_letter('D')
                    || (given.has_letter('d') || given.has_long("delete"))
                        && (given.has_letter('f') || given.has_long("force"));
                if deletes {
                    Some(Severity::History("it deletes branches that may exist nowhere else"))
                } else {
                    open("git branch -D *")
                }
            }
            "tag" => {
                let given = options("muF");
                let deletes = given.has_letter('d') || given.has_long("delete");
                deletes.then_some(Severity::History("it deletes tags"))
            }
            "reflog" if matches!(first, "expire" | "delete" | "drop") => {
                Some(Severity::History("it deletes what git keeps for recovery"))
            }
            "stash" if matches!(first, "drop" | "clear") => {
                Some(Severity::History("it deletes stashed work"))
            }
            "gc" if options("").has_long("prune") => {
                Some(Severity::History("it deletes what git keeps for recovery"))
            }
            "prune" | "filter-branch" | "filter-repo" => {
                Some(Severity::History("it rewrites or deletes history"))
            }
            "update-ref" => Some(Severity::History("it moves or deletes branches directly")),
            "checkout" | "switch" => {
                let given = options("bBcC");
                let throws =
                    given.has_letter('f') || given.has_long("force") || given.has_long("discard-changes");
                let of_files = self.args.iter().any(|word| matches!(word.text.as_str(), "--" | "." | ":/"));
                (throws || of_files).then_some(Severity::History("it discards uncommitted changes"))
            }
            "restore" => {
                let given = options("s");
                let staged = given.has_letter('S') || given.has_long("staged");
                let too = given.has_letter('W') || given.has_long("worktree");
                (!staged || too).then_some(Severity::History("it discards uncommitted changes"))
            }
            "read-tree" | "checkout-index" => {
                let given = options("");
                let throws = given.has_letter('f')
                    || given.has_letter('u')
                    || ["reset", "force"].iter().any(|name| given.has_long(name));
                throws.then_some(Severity::History("it discards uncommitted changes"))
            }
            "worktree"
                if first == "remove" && (options("").has_letter('f') || options("").has_long("force")) =>
            {
                Some(Severity::History("it discards uncommitted changes"))
            }
            name if name.starts_with("remote-") => Some(Severity::Publishes),
            _ => None,
        }
    }
}

/// Returns the severity of a push by its options and operands. The first operand is a remote, or
/// the address of a repository.
fn pushing(given: &Options<'_>) -> Severity {
    let is_address = |word: &Word| !word.is_exact() || word.text.contains([':', '/', '\\']);
    match given.has_long("repo") || given.operands().next().is_some_and(is_address) {
        true => Severity::Publishes,
        false => Severity::Pushes,
    }
}
