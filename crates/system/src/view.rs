//! The files of this machine that a session's confined commands see.

use crate::AbsPath;

/// The directory in which commands find the session's own temporary files.
pub const TEMP_PLACE: &str = "/tmp";

/// Directories of the system that every command sees, read-only. One that does not exist is left
/// out, and a link stays a link.
pub(crate) const SYSTEM_DIRECTORIES: [&str; 16] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/sys",
    "/var/lib",
    "/run/current-system",
    "/run/wrappers",
];

/// The files that a session's confined commands see in addition to the system's directories
/// (`/usr`, `/etc` and so on), a private `/dev` and `/proc`. Files that are not named here do not
/// exist for them. All paths must be resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct View {
    /// Directories that are writable at [`crate::SandboxLevel::WorkspaceWrite`]: the projects and
    /// those that the settings add.
    pub roots: Vec<AbsPath>,
    /// Files and directories that are readable.
    pub readable: Vec<AbsPath>,
    /// The directory of the session's temporary files, which is always writable. Commands see it at
    /// this path and at [`TEMP_PLACE`].
    pub temp: Option<AbsPath>,
    /// The directory for the copies of control files, which commands change in place of the
    /// originals; without it, they cannot change control files.
    pub copies: Option<AbsPath>,
    /// The home directory; without it, commands find none.
    pub home: Option<HomeView>,
}

/// The home directory of commands: empty and writable but for the entries that are named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HomeView {
    /// The user's home directory, and the place of that of the commands.
    pub at: AbsPath,
    /// The directory for what commands write into it.
    pub files: AbsPath,
    /// The directory for what commands change in copy-on-write entries. Two sessions that run at
    /// the same time use different directories below it.
    pub changes: AbsPath,
    /// What appears in it of the user's home directory.
    pub entries: Vec<HomeEntry>,
}

/// A file or directory of the user's home directory that commands see.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HomeEntry {
    /// How it appears.
    pub share: HomeShare,
    /// The path below the home directory.
    pub path: String,
}

/// How commands see a part of the user's home directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HomeShare {
    /// Read-only.
    ReadOnly,
    /// Writable; changes are visible to commands of the same project only. Read-only where the
    /// kernel cannot do that.
    CopyOnWrite,
    /// As [`HomeShare::CopyOnWrite`], but empty at first where the kernel cannot do that.
    Cache,
    /// A configuration file, copied when the first command starts, with the lines that are known
    /// and hold no secret.
    Copied,
}

/// Returns whether a path is in a directory of the system that every command sees.
pub fn is_of_system(path: &AbsPath) -> bool {
    SYSTEM_DIRECTORIES.iter().any(|known| path.as_std().starts_with(known))
}

impl HomeShare {
    /// All ways, with the word that settings use.
    pub const WORDS: [(&'static str, Self); 4] =
        [("ro", Self::ReadOnly), ("cow", Self::CopyOnWrite), ("cache", Self::Cache), ("copy", Self::Copied)];

    /// Returns the word that settings use.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, share)| *share == self).map_or("", |(word, _)| word)
    }
}

/// Toolchains and the programs that they install.
const TOOLCHAINS: [&str; 22] = [
    ".cargo/bin",
    ".rustup",
    ".nvm",
    ".volta",
    ".bun",
    ".deno",
    ".pyenv",
    ".rbenv",
    ".asdf",
    ".sdkman",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/pipx",
    ".ghcup",
    ".opam",
    ".juliaup",
    ".julia",
    ".elan",
];

/// Downloaded packages and results of builds.
const CACHES: [&str; 28] = [
    ".cargo/registry",
    ".cargo/git",
    ".npm",
    ".yarn",
    ".local/share/pnpm",
    "go",
    ".gradle/caches",
    ".gradle/wrapper",
    ".m2/repository",
    ".nuget/packages",
    ".ivy2",
    ".sbt",
    ".pub-cache",
    ".cabal",
    ".stack",
    ".gem/ruby",
    ".cache/pip",
    ".cache/uv",
    ".cache/pypoetry",
    ".cache/go-build",
    ".cache/pre-commit",
    ".cache/huggingface/hub",
    ".cache/yarn",
    ".cache/pnpm",
    ".cache/node",
    ".cache/ms-playwright",
    ".cache/deno",
    ".cache/composer",
];

/// Configuration files of programs that commands use.
const COPIED: [&str; 8] = [
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
    ".cargo/config.toml",
    ".config/pip/pip.conf",
    ".npmrc",
    ".yarnrc.yml",
];

impl HomeEntry {
    /// Returns what commands see of each home directory.
    pub fn usual() -> impl Iterator<Item = Self> {
        let entry = |share| move |path: &&str| Self { share, path: (*path).to_owned() };
        let toolchains = TOOLCHAINS.iter().map(entry(HomeShare::CopyOnWrite));
        let caches = CACHES.iter().map(entry(HomeShare::Cache));
        toolchains.chain(caches).chain(COPIED.iter().map(entry(HomeShare::Copied)))
    }

    /// Parses an entry of the settings: a word such as `ro`, and a path that starts with `~/`.
    ///
    /// # Errors
    /// A description of what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (word, path) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let known = HomeShare::WORDS.iter().find(|(known, _)| *known == word);
        let below = path.trim().strip_prefix("~/").map(|path| path.trim_end_matches('/'));
        let is_plain =
            |path: &&str| !path.is_empty() && path.split('/').all(|part| !["", ".", ".."].contains(&part));
        match (known, below.filter(is_plain)) {
            (Some((_, share)), Some(path)) => Ok(Self { share: *share, path: path.to_owned() }),
            _ => Err(format!("{text:?} is not `ro`, `cow`, `cache` or `copy` and a path such as `~/.conda`")),
        }
    }
}

impl View {
    /// Returns the directory for what sessions of the project know of each other, which commands
    /// cannot open.
    pub(crate) fn own(&self) -> Option<AbsPath> {
        self.home.as_ref()?.changes.parent()
    }

    /// Returns where the file is that commands find at a path: of [`TEMP_PLACE`] they see the
    /// session's own directory.
    pub fn stored(&self, path: &AbsPath) -> AbsPath {
        let is_named = |named: &&AbsPath| path.starts_with(named);
        let own = match &self.temp {
            Some(temp) if !self.roots.iter().chain(&self.readable).any(|named| is_named(&named)) => temp,
            _ => return path.clone(),
        };
        let place = AbsPath::new(TEMP_PLACE).expect("it is absolute");
        match path.relative_to(&place) {
            Some("") => own.clone(),
            Some(below) => own.join(below),
            None => path.clone(),
        }
    }

    /// Returns whether commands see a file of this machine, if it exists.
    pub(crate) fn shows(&self, path: &AbsPath) -> bool {
        let of_system = SYSTEM_DIRECTORIES.iter().chain(&["/dev", "/proc", TEMP_PLACE]);
        let of_system = of_system.filter_map(|known| AbsPath::new(*known).ok());
        let home = self.home.iter();
        let of_home = home.flat_map(|home| home.entries.iter().map(|entry| home.at.join(&entry.path)));
        let named = self.roots.iter().chain(&self.readable).chain(&self.temp).cloned();
        of_system.chain(of_home).chain(named).any(|known| path.starts_with(&known) || known.starts_with(path))
    }

    /// Returns whether a directory among the temporary files is only the place of something that
    /// the view names.
    pub(crate) fn is_mount_point(&self, temp: &AbsPath, directory: &AbsPath) -> bool {
        let place = AbsPath::new(TEMP_PLACE).expect("it is absolute");
        let seen = directory.relative_to(temp).map(|below| place.join(below));
        let home = self.home.iter().map(|home| &home.at);
        let mut named = self.roots.iter().chain(&self.readable).chain(home);
        seen.is_some_and(|seen| named.any(|named| named.starts_with(&seen)))
    }

    /// Adds the directories of a `PATH` that lie in the home directory, read-only: the user runs
    /// programs from there.
    pub(crate) fn add_program_directories(&mut self, path: &std::ffi::OsStr) {
        let Some(home) = &mut self.home else { return };
        for directory in std::env::split_paths(path) {
            let Ok(directory) = AbsPath::from_os(&directory) else { continue };
            let is_within = |known: &AbsPath| directory.starts_with(known);
            let is_shared = |entry: &HomeEntry| is_within(&home.at.join(&entry.path));
            let below = directory.relative_to(&home.at).filter(|below| !below.is_empty());
            if let Some(below) = below
                && !self.roots.iter().chain(&self.readable).any(is_within)
                && !home.entries.iter().any(is_shared)
            {
                home.entries.push(HomeEntry { share: HomeShare::ReadOnly, path: below.to_owned() });
            }
        }
    }

    /// Returns the directories that are writable by the settings and lie neither below the home
    /// directory's ancestors nor are system directories; the others are read-only.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &AbsPath> {
        self.roots.iter().filter(|root| !self.is_too_wide(root))
    }

    /// Returns whether a directory is or contains the home directory, or a directory of the system.
    pub fn is_too_wide(&self, directory: &AbsPath) -> bool {
        let home = self.home.as_ref().map(|home| &home.at);
        home.is_some_and(|home| home.starts_with(directory))
            || SYSTEM_DIRECTORIES
                .iter()
                .any(|system| AbsPath::new(*system).is_ok_and(|system| system.starts_with(directory)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    #[test]
    fn temporary_files_are_those_of_the_session() {
        let temp = Some(path("/var/tmp/own"));
        let view = View {
            roots: vec![path("/w"), path("/tmp/project")],
            readable: vec![path("/tmp/named.txt")],
            temp,
            copies: None,
            home: None,
        };
        for (given, stored) in [
            ("/tmp", "/var/tmp/own"),
            ("/tmp/a/b", "/var/tmp/own/a/b"),
            ("/tmp/project/x", "/tmp/project/x"),
            ("/tmp/project2/x", "/var/tmp/own/project2/x"),
            ("/tmp/named.txt", "/tmp/named.txt"),
            ("/tmpx", "/tmpx"),
            ("/w/tmp", "/w/tmp"),
        ] {
            assert_eq!(view.stored(&path(given)), path(stored), "{given}");
        }
        let shared = View { temp: None, ..view };
        assert_eq!(shared.stored(&path("/tmp/a")), path("/tmp/a"));
    }

    #[test]
    fn a_home_entry_is_a_word_and_a_path() {
        let entry = |share, path: &str| Ok(HomeEntry { share, path: path.to_owned() });
        assert_eq!(HomeEntry::parse("ro ~/.kube/config"), entry(HomeShare::ReadOnly, ".kube/config"));
        assert_eq!(HomeEntry::parse(" cow  ~/.conda/ "), entry(HomeShare::CopyOnWrite, ".conda"));
        for bad in ["", "ro", "~/.conda", "rw ~/x", "ro /etc", "ro ~/", "ro ~/a/../b", "ro ~//a"] {
            assert!(HomeEntry::parse(bad).unwrap_err().contains("~/.conda"), "{bad}");
        }
    }

    #[test]
    fn no_usual_entry_contains_another() {
        let all: Vec<_> = HomeEntry::usual().map(|entry| path("/").join(&entry.path)).collect();
        for (at, one) in all.iter().enumerate() {
            assert!(!all.iter().enumerate().any(|(other, two)| other != at && two.starts_with(one)), "{one}");
        }
    }

    #[test]
    fn programs_are_found_where_the_user_has_them() {
        let home = HomeView {
            at: path("/home/me"),
            files: path("/f"),
            changes: path("/c"),
            entries: HomeEntry::usual().collect(),
        };
        let usual = home.entries.len();
        let mut view = View { roots: vec![path("/w")], home: Some(home), ..View::default() };
        let path_variable = "/usr/bin:/data/bin:/home/me/bin:/home/me/.cargo/bin:/w/bin:.:/home:/home/me/bin";
        view.add_program_directories(path_variable.as_ref());
        let entries = &view.home.unwrap().entries[usual..];
        assert_eq!(entries, [HomeEntry { share: HomeShare::ReadOnly, path: "bin".to_owned() }]);
    }

    #[test]
    fn wide_directories_are_not_writable() {
        let home =
            HomeView { at: path("/home/me"), files: path("/f"), changes: path("/c"), entries: Vec::new() };
        let view = View { home: Some(home), ..View::default() };
        for (directory, wide) in [
            ("/", true),
            ("/home", true),
            ("/home/me", true),
            ("/home/me/p", false),
            ("/etc", true),
            ("/usr/src/x", false),
            ("/srv", false),
        ] {
            assert_eq!(view.is_too_wide(&path(directory)), wide, "{directory}");
        }
    }
}
