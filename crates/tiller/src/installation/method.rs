//! Who installed a program, by its path.

use crate::environment::Environment;
use system::{AbsPath, System};

/// Who put the program where it is, and therefore who replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// The shell installer, which left a receipt.
    Installer,
    Cargo,
    Npm,
    /// A run of `npx`, which installs nothing permanently.
    Npx,
    Pip,
    Pipx,
    Uv,
    /// A run of `uvx`, which installs nothing permanently.
    Uvx,
    Brew,
    Nix,
    /// The system's package manager.
    Distribution,
    /// A build of a source tree.
    Source,
    /// Nothing tells.
    Unknown,
}

impl Method {
    /// The word for programs.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Installer => "installer",
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Npx => "npx",
            Self::Pip => "pip",
            Self::Pipx => "pipx",
            Self::Uv => "uv",
            Self::Uvx => "uvx",
            Self::Brew => "brew",
            Self::Nix => "nix",
            Self::Distribution => "distribution",
            Self::Source => "source",
            Self::Unknown => "unknown",
        }
    }

    /// The command that updates such an installation; `None` if there is no single one.
    pub(crate) fn update_command(self) -> Option<&'static str> {
        match self {
            Self::Installer => Some("tiller update"),
            Self::Cargo => Some("cargo install tiller --locked"),
            Self::Npm => Some("npm install -g tiller@latest"),
            Self::Npx => Some("npx tiller@latest"),
            Self::Pip => Some("pip install --upgrade tiller"),
            Self::Pipx => Some("pipx upgrade tiller"),
            Self::Uv => Some("uv tool upgrade tiller"),
            Self::Uvx => Some("uvx tiller@latest"),
            Self::Brew => Some("brew upgrade tiller"),
            Self::Nix | Self::Distribution | Self::Unknown => None,
            Self::Source => Some("git pull && cargo install --path crates/tiller --locked"),
        }
    }

    /// What to do where no command is known.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Nix => "update the flake or channel that provides it",
            Self::Distribution => "update it with the system's package manager",
            _ => "replace the file, or install again with the shell installer",
        }
    }
}

/// Tells from the path of the program who installed it.
pub(super) async fn of(
    system: &dyn System,
    environment: &Environment,
    home: &AbsPath,
    binary: &AbsPath,
) -> Method {
    let path = binary.as_str();
    let below = |part: &str| path.contains(part);
    if below("/node_modules/") {
        return if below("/_npx/") { Method::Npx } else { Method::Npm };
    }
    if below("/Cellar/") || below("/homebrew/") || below("/linuxbrew/") {
        return Method::Brew;
    }
    if path.starts_with("/nix/store/") {
        return Method::Nix;
    }
    if below("/pipx/venvs/") {
        return Method::Pipx;
    }
    if below("/uv/tools/") {
        return Method::Uv;
    }
    if below("/uv/archive-v") || below("/uv/builds-v") || below("/uv/environments-v") {
        return Method::Uvx;
    }
    if below("/target/debug/") || below("/target/release/") || below("/target/dist/") {
        return Method::Source;
    }
    let directory = binary.parent().unwrap_or_else(|| binary.clone());
    let cargo = environment.get("CARGO_HOME").and_then(|home| AbsPath::new(home).ok());
    let cargo = cargo.unwrap_or_else(|| home.join(".cargo"));
    if directory == cargo.join("bin") || below("/.cargo/bin/") {
        return Method::Cargo;
    }
    if is_of_python(system, &directory).await {
        return Method::Pip;
    }
    match directory.as_str() {
        "/usr/bin" | "/bin" | "/usr/sbin" | "/sbin" => Method::Distribution,
        _ if path.starts_with("/snap/") || path.starts_with("/opt/") => Method::Distribution,
        _ => Method::Unknown,
    }
}

/// Whether a directory of programs belongs to a Python that has our package: a virtual environment,
/// or an installation with the package's record beside it.
async fn is_of_python(system: &dyn System, programs: &AbsPath) -> bool {
    let Some(prefix) = programs.parent() else { return false };
    if system.metadata(&prefix.join("pyvenv.cfg")).await.is_ok() {
        return true;
    }
    for library in ["lib", "lib64"] {
        for python in entries(system, &prefix.join(library)).await {
            if !python.file_name().is_some_and(|name| name.starts_with("python")) {
                continue;
            }
            for packages in ["site-packages", "dist-packages"] {
                let is_ours = |entry: &AbsPath| {
                    let name = entry.file_name().unwrap_or_default();
                    name.starts_with("tiller-") && name.ends_with(".dist-info")
                };
                if entries(system, &python.join(packages)).await.iter().any(is_ours) {
                    return true;
                }
            }
        }
    }
    false
}

async fn entries(system: &dyn System, directory: &AbsPath) -> Vec<AbsPath> {
    let entries = system.read_dir(directory).await.unwrap_or_default();
    entries.into_iter().map(|entry| entry.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    #[tokio::test]
    async fn the_path_tells_who_installed_it() {
        let system = FakeSystem::new();
        let path = |text: &str| AbsPath::new(text).unwrap();
        for file in [
            "/home/me/venv/pyvenv.cfg",
            "/home/me/.local/lib/python3.12/site-packages/tiller-0.1.0.dist-info/METADATA",
        ] {
            system.add_file(file, "");
        }
        let plain = Environment::default();
        let moved: Environment = [("CARGO_HOME".to_owned(), "/c".to_owned())].into_iter().collect();
        for (environment, binary, method) in [
            (&plain, "/home/me/.cargo/bin/tiller", Method::Cargo),
            (&moved, "/c/bin/tiller", Method::Cargo),
            (&plain, "/c/bin/tiller", Method::Unknown),
            (&plain, "/usr/lib/node_modules/tiller/node_modules/tiller-linux-x64/bin/tiller", Method::Npm),
            (&plain, "/home/me/.npm/_npx/8f/node_modules/tiller-linux-x64/bin/tiller", Method::Npx),
            (&plain, "/home/me/venv/bin/tiller", Method::Pip),
            (&plain, "/home/me/.local/bin/tiller", Method::Pip),
            (&plain, "/home/me/.local/share/pipx/venvs/tiller/bin/tiller", Method::Pipx),
            (&plain, "/home/me/.local/share/uv/tools/tiller/bin/tiller", Method::Uv),
            (&plain, "/home/me/.cache/uv/archive-v0/abc/bin/tiller", Method::Uvx),
            (&plain, "/opt/homebrew/Cellar/tiller/0.1.0/bin/tiller", Method::Brew),
            (&plain, "/home/linuxbrew/.linuxbrew/Cellar/tiller/0.1.0/bin/tiller", Method::Brew),
            (&plain, "/nix/store/abc-tiller/bin/tiller", Method::Nix),
            (&plain, "/usr/bin/tiller", Method::Distribution),
            (&plain, "/src/tiller/target/release/tiller", Method::Source),
            (&plain, "/home/me/Downloads/tiller", Method::Unknown),
        ] {
            assert_eq!(of(&system, environment, &path("/home/me"), &path(binary)).await, method, "{binary}");
        }
    }
}
