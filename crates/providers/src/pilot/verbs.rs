//! The verbs that begin commands. Splitting a prompt into steps needs them before any command is
//! tried.

use super::lexer::Token;

pub(crate) const SHOW: &[&str] = &["show", "read", "open", "print", "display", "cat", "view"];
pub(crate) const REPLACE: &[&str] = &["replace", "change", "substitute", "swap"];
pub(crate) const RENAME: &[&str] = &["rename", "symbol", "refactor"];
pub(crate) const TASKS: &[&str] = &["plan", "task", "tasks", "todo", "add"];
pub(crate) const WRITE: &[&str] = &["create", "write", "overwrite", "save", "add"];
pub(crate) const APPEND: &[&str] = &["append", "add"];
pub(crate) const INSERT: &[&str] = &["insert", "add", "prepend", "put"];
pub(crate) const DELETE_LINES: &[&str] = &["delete", "remove"];
pub(crate) const PATCH: &[&str] = &["apply", "patch", "fix"];
pub(crate) const DELETE_FILE: &[&str] = &["delete", "remove", "erase"];
pub(crate) const MOVE: &[&str] = &["move", "rename"];
pub(crate) const LIST: &[&str] = &["list", "ls", "find", "files"];
pub(crate) const SEARCH: &[&str] = &["search", "grep", "find", "look", "where"];
pub(crate) const RUN: &[&str] = &["run", "execute", "exec"];

/// The verbs of each command, in the order of the commands.
pub(crate) const ALL: [&[&str]; 14] = [
    SHOW,
    REPLACE,
    RENAME,
    TASKS,
    WRITE,
    APPEND,
    INSERT,
    DELETE_LINES,
    PATCH,
    DELETE_FILE,
    MOVE,
    LIST,
    SEARCH,
    RUN,
];

/// Returns whether a word begins a command.
pub(crate) fn is_verb(token: &Token) -> bool {
    ALL.iter().copied().flatten().any(|verb| token.is_word(verb))
}
