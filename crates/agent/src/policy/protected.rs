//! Names in a project that other programs execute or load automatically: editors, build tools, git,
//! other agents.
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
];

/// Files that are protected.
pub(crate) const FILES: &[&str] = &[
    ".mcp.json",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".cargo/config",
    ".cargo/config.toml",
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    ".lefthook.json",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".mise.toml",
    "mise.toml",
    ".exrc",
    ".nvim.lua",
    ".nvimrc",
    ".dir-locals.el",
];

/// Files and directories in the project's git directory that decide what git runs.
pub(crate) const GIT: &[&str] = &[".git/config", ".git/config.worktree", ".git/hooks"];

/// The parent directory of protected files. If it is missing, commands must not create it with such
/// a file in it.
pub(crate) const CARGO: &str = ".cargo";

/// Returns every protected file and directory.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    FOLDERS.iter().chain(FILES).copied()
}

/// Whether a path below a project is protected or lies in a protected directory, at any depth.
pub(crate) fn is_named(path: &str) -> bool {
    let mut before = None;
    path.split('/').any(|name| {
        // Spellings that a file system may treat as one name are equal.
        let folded = system::Folded::of(name);
        let folder = FOLDERS.iter().any(|folder| folded.matches(folder));
        let file = FILES.iter().any(|file| match file.rsplit_once('/') {
            None => folded.matches(file),
            Some((parent, last)) => {
                folded.matches(last)
                    && before.is_some_and(|before| system::Folded::of(before).matches(parent))
            }
        });
        before = Some(name);
        folder || file
    })
}
