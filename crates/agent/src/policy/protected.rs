//! Names in a project that other programs execute or obey on sight: editors, build tools, git, other
//! agents. The file tools ask before they write one, and the sandbox keeps confined commands from
//! creating, changing, replacing or renaming one.

/// Directories that are protected with all that is in them.
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

/// Files.
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

/// Files and directories of the project's git directory that decide what git runs.
pub(crate) const GIT: &[&str] =
    &[".git/config", ".git/config.worktree", ".git/hooks", ".git/info/attributes"];

/// The directory of protected files, where it is missing: it must not come into being with one in
/// it.
pub(crate) const CARGO: &str = ".cargo";

/// Every protected file and directory.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    FOLDERS.iter().chain(FILES).copied()
}

/// Whether a path below a project is one of these, or lies in one, at any depth.
pub(crate) fn is_named(path: &str) -> bool {
    let mut before = None;
    path.split('/').any(|name| {
        // Spellings that a file system takes for one name are one.
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
