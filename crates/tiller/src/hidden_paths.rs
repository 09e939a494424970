//! The paths of the user's home directory that commands must not see.

use system::AbsPath;

/// Files and directories below the home directory that no build needs and that hold keys,
/// credentials, shell histories or browser data.
const EVERYWHERE: [&str; 57] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".fly",
    ".s3cfg",
    ".boto",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".config/rclone",
    ".config/sops",
    ".config/op",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/git/credentials",
    ".git-credentials",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".databrickscfg",
    ".cache/huggingface/token",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".zsh_sessions",
];

/// Further paths on macOS.
const ON_MACOS: [&str; 22] = [
    "Library/Keychains",
    "Library/Cookies",
    "Library/HTTPStorages",
    "Library/Safari",
    "Library/Mail",
    "Library/Messages",
    "Library/Accounts",
    "Library/Containers/com.apple.Safari",
    "Library/Containers/com.apple.mail",
    "Library/Group Containers",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Chromium",
    "Library/Application Support/Firefox",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Microsoft Edge",
    "Library/Application Support/Arc",
    "Library/Application Support/Vivaldi",
    "Library/Application Support/com.operasoftware.Opera",
    "Library/Application Support/1Password",
    "Library/Application Support/Bitwarden",
    "Library/Application Support/com.apple.TCC",
    "Library/Application Support/AddressBook",
];

/// Returns the hidden paths below a home directory.
pub(crate) fn below(home: &AbsPath) -> impl Iterator<Item = AbsPath> {
    names(cfg!(target_os = "macos")).map(|name| home.join(name))
}

fn names(is_macos: bool) -> impl Iterator<Item = &'static str> {
    let more: &[_] = if is_macos { &ON_MACOS } else { &[] };
    EVERYWHERE.iter().chain(more).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credential_files_of_each_system_are_hidden() {
        for (is_macos, name, hidden) in [
            (false, ".ssh", true),
            (true, ".ssh", true),
            (false, ".config/google-chrome", true),
            (true, "Library/Keychains", true),
            (true, "Library/Application Support/Firefox", true),
            (true, "Library/Cookies", true),
            (false, "Library/Keychains", false),
            (true, "Library/Caches", false),
            (true, "Library/Developer", false),
        ] {
            assert_eq!(names(is_macos).any(|known| known == name), hidden, "{name} {is_macos}");
        }
    }
}
