//! The commands that "always" may allow outside a sandbox: each by its words, its options and the
//! kind of its operands. No entry names a program or a file to read or write.

use super::{Operands, Program};

const fn shape(letters: &'static str, flags: &'static [&'static str], operands: Operands) -> Program {
    Program { name: "", letters, valued: "", flags, long: &[], operands, reads: false, globs: false }
}

const NAMES: Operands = Operands::Each(is_name);

/// An entry of `gh`, whose `-R` names the repository.
const fn github(valued: &'static str, letters: &'static str, flags: &'static [&'static str]) -> Program {
    let long = &["repo", "json", "limit", "state", "author", "assignee", "label", "branch", "job"];
    Program { valued, long, ..shape(letters, flags, NAMES) }
}

/// An entry of `kubectl`, with the namespace and the context after the subcommand.
const fn kubernetes(letters: &'static str, flags: &'static [&'static str]) -> Program {
    let long = &["namespace", "context", "selector", "tail", "since", "container", "sort-by"];
    Program { valued: "nlc", long, ..shape(letters, flags, NAMES) }
}

const DOCKER_LIST: Program =
    Program { valued: "n", long: &["last"], ..shape("aqls", &["all", "quiet", "no-trunc", "size"], NAMES) };

pub(super) static SHAPES: &[(&str, Program)] = &[
    (
        "git fetch",
        Program {
            long: &["depth", "deepen"],
            ..shape("ptqvn", &["all", "prune", "tags", "no-tags", "quiet", "verbose", "unshallow"], NAMES)
        },
    ),
    ("git pull", shape("qv", &["ff-only", "prune", "quiet", "verbose", "no-tags"], NAMES)),
    ("git ls-remote", shape("qth", &["heads", "tags", "branches", "refs", "quiet", "symref"], NAMES)),
    ("gh pr view", github("R", "c", &["comments"])),
    ("gh pr list", github("RLsAlB", "d", &["draft"])),
    ("gh pr checks", github("R", "", &["required"])),
    ("gh pr diff", github("R", "", &["name-only", "patch"])),
    ("gh pr status", github("R", "c", &["conflict-status"])),
    ("gh issue view", github("R", "c", &["comments"])),
    ("gh issue list", github("RLsAl", "", &[])),
    ("gh run view", github("Rj", "v", &["verbose", "log", "log-failed", "exit-status"])),
    ("gh run list", github("RLsb", "a", &["all"])),
    ("gh release view", github("R", "", &[])),
    ("gh release list", github("RL", "", &["exclude-drafts", "exclude-pre-releases"])),
    ("docker ps", DOCKER_LIST),
    ("docker images", DOCKER_LIST),
    (
        "docker logs",
        Program {
            valued: "n",
            long: &["tail", "since", "until"],
            ..shape("ft", &["follow", "timestamps", "details"], NAMES)
        },
    ),
    ("docker inspect", shape("s", &["size"], NAMES)),
    ("kubectl get", kubernetes("Aw", &["all-namespaces", "watch", "show-labels", "no-headers"])),
    ("kubectl describe", kubernetes("A", &["all-namespaces"])),
    ("kubectl logs", kubernetes("fp", &["follow", "previous", "timestamps", "all-containers"])),
    ("systemctl status", shape("lq", &["full", "quiet", "no-pager"], NAMES)),
];

/// Whether a word is a name, such as that of a remote, a branch or a resource: no path out of the
/// current directory, no URL and no refspec.
fn is_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '#' | '@' | ',');
    word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '#')
        && word.chars().all(plain)
        && !word.contains("..")
}
