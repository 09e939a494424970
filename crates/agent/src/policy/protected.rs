//! Names in a project that other programs execute or load without a command of the user: editors,
//! shells, git, other agents.
//!
//! The file tools ask before they write such a file, and the sandbox prevents confined commands
//! from creating, changing, replacing or renaming one.

/// Directories that are protected with all their contents.
pub(crate) const FOLDERS: &[&str] = &[
    ".tiller",
    ".vscode",
    ".cursor",
    ".claude",
    ".codex",
    ".gemini",
    ".agents",
    ".husky",
    ".devcontainer",
    ".idea",
    ".zed",
    ".helix",
    ".opencode",
    ".windsurf",
    ".kiro",
];

/// Files that are protected. Files that a user has to run something for, such as those of package
/// managers, are not: there are too many ways to be one.
pub(crate) const FILES: &[&str] = &[
    ".mcp.json",
    "opencode.json",
    ".envrc",
    ".mise.toml",
    "mise.toml",
    ".mise.local.toml",
    "mise.local.toml",
    ".exrc",
    ".vimrc",
    ".gvimrc",
    ".nvim.lua",
    ".nvimrc",
    ".dir-locals.el",
    ".dir-locals-2.el",
];

/// Files and directories in the project's git directory that decide what git runs.
pub(crate) const GIT: &[&str] = &[".git/config", ".git/config.worktree", ".git/hooks"];

/// Returns every protected file and directory.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    FOLDERS.iter().chain(FILES).copied()
}

/// Whether a path below a project is protected or lies in a protected directory, at any depth.
pub(crate) fn is_named(path: &str) -> bool {
    // Spellings that a file system may treat as one name are equal.
    let names: Vec<_> = path.split('/').map(system::Folded::of).collect();
    let has = |known: &str| {
        let known: Vec<_> = known.split('/').collect();
        let is_here =
            |here: &[system::Folded]| here.iter().zip(&known).all(|(name, known)| name.matches(known));
        names.windows(known.len()).any(is_here)
    };
    all().chain(GIT.iter().copied()).any(has)
}
