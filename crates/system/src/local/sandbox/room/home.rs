//! What commands see of the user's home directory.

use super::root::{Root, name_of};
use crate::limits::COPIED_FILE_BYTES;
use crate::local::sandbox::namespaces::problem;
use crate::{AbsPath, HomeEntry, HomeShare, HomeView, is_secret_name, secrets_in};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MountFlags, mount};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

/// Shows the entries of a home directory at their places below the root. Entries that the user does
/// not have are left out.
pub(super) fn share(root: &Root, home: &HomeView) -> Result<(), String> {
    for entry in &home.entries {
        let place = home.at.join(&entry.path);
        // A link leads to a place that is not shown, so its target is shown in its place.
        let real = fs::canonicalize(place.as_std()).ok().and_then(|real| AbsPath::from_os(&real).ok());
        let Some(real) = real else { continue };
        match entry.share {
            HomeShare::Copied => copy(root, home, entry, &real)?,
            HomeShare::ReadOnly => read_only_at(root, &place, &real)?,
            HomeShare::CopyOnWrite | HomeShare::Cache if !real.as_std().is_dir() => {
                read_only_at(root, &place, &real)?;
            }
            HomeShare::CopyOnWrite | HomeShare::Cache => {
                let changes = home.changes.join(entry.path.replace('/', "+"));
                if overlay(root, &place, &real, &changes)? {
                    continue;
                }
                match entry.share {
                    HomeShare::Cache => {
                        let own = open(&changes.join("upper"))?;
                        root.bind(&own, &root.directory(place.as_std())?, &place)?;
                    }
                    _ => read_only_at(root, &place, &real)?,
                }
            }
        }
    }
    Ok(())
}

fn open(path: &AbsPath) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path.as_std(), flags, Mode::empty()).map_err(problem(path))
}

fn read_only_at(root: &Root, place: &AbsPath, real: &AbsPath) -> Result<(), String> {
    root.show(place, &open(real)?, false)
}

/// Mounts a directory as an overlay. Returns `false` if the kernel does not support that for it.
fn overlay(root: &Root, place: &AbsPath, real: &AbsPath, changes: &AbsPath) -> Result<bool, String> {
    let (upper, work) = (changes.join("upper"), changes.join("work"));
    for directory in [&upper, &work] {
        fs::create_dir_all(directory.as_std()).map_err(problem(directory))?;
    }
    let is_plain = [real, &upper].iter().all(|path| !path.as_str().contains([',', ':', '\\']));
    let data = format!("lowerdir={real},upperdir={upper},workdir={work},userxattr");
    let (Ok(data), true) = (CString::new(data), is_plain) else { return Ok(false) };
    let target = root.directory(place.as_std())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("overlay", name_of(&target), "overlay", flags, data.as_c_str()).is_ok())
}

/// Copies a configuration file into the home directory of commands, unless the copy is newer.
fn copy(root: &Root, home: &HomeView, entry: &HomeEntry, real: &AbsPath) -> Result<(), String> {
    let Some((text, changed)) = read(real) else { return Ok(()) };
    let place = home.at.join(&entry.path);
    let target = root.file(place.as_std())?;
    let name = name_of(&target);
    let found = fs::metadata(&name).map_err(problem(&place))?;
    if found.len() > 0 && found.modified().is_ok_and(|copied| copied > changed) {
        return Ok(());
    }
    let text = without_secrets(&entry.path, &text);
    let written = File::options().write(true).truncate(true).open(&name);
    written.and_then(|mut file| file.write_all(text.as_bytes())).map_err(problem(&place))
}

/// Reads a regular file of a limited size, and when it was changed.
fn read(path: &AbsPath) -> Option<(String, std::time::SystemTime)> {
    let file = File::open(path.as_std()).ok()?;
    let found = file.metadata().ok().filter(|found| found.is_file() && found.len() <= COPIED_FILE_BYTES)?;
    let mut text = String::new();
    file.take(COPIED_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some((text, found.modified().ok()?))
}

/// The settings of a file that are copied.
struct Known {
    /// The ends of its paths.
    files: &'static [&'static str],
    /// The sections, or the names of settings in a file without sections.
    names: &'static [&'static str],
    /// Whether the file has sections in brackets.
    has_sections: bool,
}

/// The settings that programs need and that hold no credentials. Settings that name programs are
/// harmless: what they name runs as a command does.
const KNOWN: [Known; 5] = [
    Known {
        files: &["gitconfig", "git/config"],
        has_sections: true,
        names: &[
            "user",
            "author",
            "committer",
            "core",
            "init",
            "color",
            "column",
            "alias",
            "diff",
            "difftool",
            "merge",
            "mergetool",
            "rebase",
            "pull",
            "push",
            "fetch",
            "branch",
            "tag",
            "log",
            "status",
            "commit",
            "advice",
            "rerere",
            "format",
            "blame",
            "grep",
            "help",
            "i18n",
            "pager",
            "stash",
            "submodule",
            "feature",
            "apply",
            "am",
            "interactive",
            "versionsort",
            "worktree",
            "safe",
            "filter",
            "clone",
            "checkout",
            "index",
            "gc",
            "maintenance",
            "pack",
            "protocol",
            "transfer",
            "delta",
            "lfs",
            "gpg",
        ],
    },
    Known {
        files: &[".cargo/config.toml"],
        has_sections: true,
        names: &[
            "alias",
            "build",
            "doc",
            "future-incompat-report",
            "install",
            "net",
            "profile",
            "resolver",
            "source",
            "target",
            "term",
            "unstable",
            "registries",
            "registry",
        ],
    },
    Known {
        files: &["pip/pip.conf"],
        has_sections: true,
        names: &["global", "install", "download", "freeze", "list", "wheel"],
    },
    Known {
        files: &[".npmrc"],
        has_sections: false,
        names: &[
            "registry",
            "audit",
            "fund",
            "save-exact",
            "save-prefix",
            "package-lock",
            "legacy-peer-deps",
            "engine-strict",
            "init-author-name",
            "init-author-email",
            "init-license",
            "init-version",
            "prefix",
            "cache",
            "loglevel",
            "progress",
            "update-notifier",
            "ignore-scripts",
            "prefer-offline",
            "offline",
            "node-linker",
            "shamefully-hoist",
            "auto-install-peers",
            "strict-peer-dependencies",
            "store-dir",
            "color",
            "script-shell",
            "maxsockets",
            "fetch-retries",
            "fetch-timeout",
            "min-release-age",
        ],
    },
    Known {
        files: &[".yarnrc.yml"],
        has_sections: false,
        names: &[
            "nodeLinker",
            "enableTelemetry",
            "enableGlobalCache",
            "npmRegistryServer",
            "defaultSemverRangePrefix",
            "enableScripts",
            "compressionLevel",
            "checksumBehavior",
            "pnpMode",
            "preferInteractive",
        ],
    },
];

/// Returns the lines of a configuration file that are known and hold no secret. Files without
/// settings, such as a list of ignored names, are kept but for lines with a secret.
fn without_secrets(path: &str, text: &str) -> String {
    let known = KNOWN.iter().find(|known| known.files.iter().any(|file| path.ends_with(file)));
    let mut is_known_section = known.is_none();
    let mut kept = String::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let name = trimmed.split(['=', ':', ' ', '\t']).next().unwrap_or_default().trim_matches('"');
        let is_kept = match known {
            None => true,
            Some(known) => {
                let is_known = |name: &str| known.names.iter().any(|known| known.eq_ignore_ascii_case(name));
                if known.has_sections && trimmed.starts_with('[') {
                    let section = trimmed.trim_matches(['[', ']', ' ']);
                    is_known_section =
                        is_known(section.split([' ', '.', '"', ']']).next().unwrap_or_default());
                }
                let in_place = if known.has_sections { is_known_section } else { is_known(name) };
                // It names a key, and holds none.
                let is_name_of_key = name.eq_ignore_ascii_case("signingkey");
                in_place && (is_name_of_key || !is_secret_name(name))
            }
        };
        if is_kept && !has_credentials(trimmed) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Returns whether a line contains something that looks like a secret, or an address with a user.
fn has_credentials(line: &str) -> bool {
    let has_user = line.split_once("://").is_some_and(|(_, rest)| {
        let host = rest.split(['/', '"', ' ', '\'']).next().unwrap_or_default();
        host.contains('@')
    });
    has_user || !secrets_in(line).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_settings_without_credentials() {
        let git = "[user]\n\tname = A\n\tsigningKey = ABC\n\temail = a@b\n[credential]\n\thelper = store\n[url \"https://x:y@h/\"]\n\tinsteadOf = g:\n[Alias]\n\tst = status\n[include]\n\tpath = ~/secret\n[core]\n\taskpass = x\n";
        let kept = "[user]\n\tname = A\n\tsigningKey = ABC\n\temail = a@b\n[Alias]\n\tst = status\n[core]\n\taskpass = x\n";
        assert_eq!(without_secrets(".gitconfig", git), kept);
        assert_eq!(without_secrets(".config/git/config", git), kept);
        let npm = "registry=https://r/\n//r/:_authToken=abc\n_auth = abc\nsave-exact=true\nregistry=https://u:p@r/\n";
        assert_eq!(without_secrets(".npmrc", npm), "registry=https://r/\nsave-exact=true\n");
        let cargo = "[registries.own]\nindex = \"https://i\"\ntoken = \"abc\"\n[http]\nproxy = \"x\"\n[build]\njobs = 2\n";
        let kept = "[registries.own]\nindex = \"https://i\"\n[build]\njobs = 2\n";
        assert_eq!(without_secrets(".cargo/config.toml", cargo), kept);
        let pip = "[global]\nindex-url = https://u:p@h/simple\ntimeout = 5\n";
        assert_eq!(without_secrets(".config/pip/pip.conf", pip), "[global]\ntimeout = 5\n");
        let ignored = "*.swp\nghp_0123456789abcdefghijklmnopqrstuvwxyz\n";
        assert_eq!(without_secrets(".config/git/ignore", ignored), "*.swp\n");
    }
}
