//! Clients and servers that are played against the real binary: the official SDKs' clients in
//! `tests/clients`, our own in `clients`, and third-party MCP servers. They are set up below the
//! target directory.
//!
//! Python and Node are not required for working on this project, so a client that cannot be set up
//! is skipped with the reason. One that is set up must pass.

use super::tool::parse_version;
use crate::process::{capture, command, command_line, root, target_dir};
use anyhow::{Context, Result, anyhow, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A client in the language of its SDK.
pub(super) struct Client {
    /// The name of its step.
    pub(super) name: &'static str,
    /// Its directory in the source tree.
    pub(super) source: &'static str,
    /// Its directory below `clients` in the target directory.
    pub(super) directory: &'static str,
    /// The runtime, and its oldest supported version.
    pub(super) runtime: &'static str,
    pub(super) oldest: (u32, u32, u32),
    /// The file that pins its dependencies. An installation for the same content and runtime
    /// version is reused.
    pub(super) pins: &'static str,
    /// Returns the commands that install it. Arguments: target directory, source directory.
    pub(super) install: fn(&Path, &Path) -> Vec<Command>,
    /// Returns the command that runs it, with the same arguments.
    pub(super) start: fn(&Path, &Path) -> Command,
}

/// All clients of the SDKs, the servers, and our own clients.
pub(super) const CLIENTS: [Client; 5] = [PYTHON, TYPESCRIPT, SERVERS, NATIVE_PYTHON, NATIVE_TYPESCRIPT];

pub(super) const PYTHON: Client = Client {
    name: "python client",
    source: "tests/clients/python",
    directory: "python",
    runtime: "python3",
    oldest: (3, 10, 0),
    pins: "requirements.txt",
    install: |directory, source| venv("python3", directory, source, &[]),
    start: |directory, source| {
        let mut python = command(directory.join("bin/python"));
        python.arg("-B").arg(source.join("drive.py"));
        python
    },
};

pub(super) const TYPESCRIPT: Client = Client {
    name: "typescript client",
    source: "tests/clients/typescript",
    directory: "typescript",
    runtime: "node",
    oldest: (20, 6, 0),
    pins: "package-lock.json",
    install: npm_ci,
    start: node,
};

/// Third-party MCP servers.
const SERVERS: Client =
    Client { name: "MCP servers", source: "tests/clients/servers", directory: "servers", ..TYPESCRIPT };

/// Our own Python client of the native layer: its wheel is built, installed into an environment of
/// its own, and tested there.
const NATIVE_PYTHON: Client = Client {
    name: "native python",
    source: "clients/python",
    directory: "native-python",
    runtime: "python3",
    oldest: (3, 10, 0),
    pins: "requirements.txt",
    install: |directory, source| venv("python3", &directory.join("tools"), source, &[]),
    start: |directory, source| {
        let mut python = command("python3");
        python.env("CLIENTS", source.parent().unwrap_or(source));
        python.arg("-B").arg(directory.join("tests/run.py"));
        python
    },
};

/// Our own TypeScript client of the native layer: it is packed, installed into a project of its
/// own, and tested there.
const NATIVE_TYPESCRIPT: Client = Client {
    name: "native typescript",
    source: "clients/typescript",
    directory: "native-typescript",
    runtime: "node",
    oldest: (20, 6, 0),
    pins: "package-lock.json",
    install: npm_ci,
    start: |directory, _| {
        let mut node = command("node");
        node.arg(directory.join("test/run.mjs"));
        node
    },
};

/// Returns the commands that create a Python environment with exactly the pinned requirements;
/// `more` is passed to pip.
pub(super) fn venv(python: &str, directory: &Path, source: &Path, more: &[&str]) -> Vec<Command> {
    // Debian leaves out the module that installs pip, so the system's pip installs into the
    // environment.
    let mut venv = command(python);
    venv.args(["-m", "venv", "--clear", "--without-pip"]).arg(directory);
    let mut pip = command("python3");
    pip.args(["-m", "pip", "--python"]).arg(directory.join("bin/python"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.args(more)
        .args(["--no-deps", "--only-binary=:all:", "--requirement"])
        .arg(source.join("requirements.txt"));
    vec![venv, pip]
}

fn npm_ci(directory: &Path, _source: &Path) -> Vec<Command> {
    let mut npm = command("npm");
    npm.args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "--fetch-retries=1",
        "--prefix",
    ]);
    npm.arg(directory);
    vec![npm]
}

fn node(directory: &Path, _source: &Path) -> Command {
    let mut node = command("node");
    node.arg(directory.join("drive.mjs"));
    node
}

impl Client {
    /// Returns the command that plays this client against the binary `tiller`.
    ///
    /// # Errors
    ///
    /// Returns the reason why it cannot be played here: the runtime is missing or too old, or its
    /// dependencies cannot be installed.
    pub(super) fn ready(&self, tiller: &Path) -> Result<Command> {
        let version = self.runtime_version()?;
        let source = root().join(self.source);
        let directory = target_dir().join("clients").join(self.directory);
        self.installed(&version, &directory, &source)?;
        // Node searches for packages beside the script, regardless of the current directory, so the
        // scripts must be in the directory of the packages.
        copy_files(&source, &directory)?;
        // Modules shared by several clients, in the same relative location as in the source tree.
        copy_files(&root().join("tests/clients/story"), &target_dir().join("clients/story"))?;
        let mut start = (self.start)(&directory, &source);
        start.arg(tiller);
        Ok(start)
    }

    fn runtime_version(&self) -> Result<String> {
        let version = capture(command(self.runtime).arg("--version"))
            .map_err(|_| anyhow!("no working {} was found", self.runtime))?;
        let (major, minor, _) = self.oldest;
        if parse_version(&version) < Some(self.oldest) {
            bail!("{} is older than {major}.{minor}: {}", self.runtime, version.trim());
        }
        Ok(version)
    }

    fn installed(&self, version: &str, directory: &Path, source: &Path) -> Result<()> {
        let pins = fs::read_to_string(source.join(self.pins))
            .with_context(|| format!("cannot read {} in {}", self.pins, source.display()))?;
        let wanted = format!("{version}{pins}");
        let stamp = stamp(directory);
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        if directory.exists() {
            fs::remove_dir_all(directory).with_context(|| format!("cannot clear {}", directory.display()))?;
        }
        copy_files(source, directory)?;
        for mut step in (self.install)(directory, source) {
            println!("ci: {}: installing: {}", self.name, command_line(&step));
            let status = step.stdin(Stdio::null()).status();
            if !status.is_ok_and(|status| status.success()) {
                bail!("its packages cannot be installed: `{}` failed", command_line(&step));
            }
        }
        // Written last, so that an interrupted installation is repeated.
        fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
    }
}

/// Returns the file that records the runtime and pins of an installation.
fn stamp(directory: &Path) -> PathBuf {
    directory.join("installed-for")
}

/// Generated directories, which are not copied.
const MADE: [&str; 5] = ["node_modules", "dist", "scratch", "tools", "__pycache__"];

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    let copy = || -> std::io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (kind, name) = (entry.file_type()?, entry.file_name());
            if kind.is_file() {
                fs::copy(entry.path(), to.join(name))?;
            } else if kind.is_dir() && !MADE.iter().any(|made| name == *made) {
                copy_files(&entry.path(), &to.join(name)).map_err(std::io::Error::other)?;
            }
        }
        Ok(())
    };
    copy().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a client whose installation appends a line to a file, to count how often it runs.
    fn client(runtime: &'static str, oldest: (u32, u32, u32)) -> Client {
        Client {
            name: "test client",
            source: "test",
            directory: "test",
            runtime,
            oldest,
            pins: "pins",
            install: |directory, source| {
                let mut install = command("sh");
                // Outside the directory, which is cleared first.
                let count = source.join("../count");
                install.args(["-c", "echo installed >> \"$0\" && test -d \"$1\""]).arg(count).arg(directory);
                vec![install]
            },
            start: |_, _| command("true"),
        }
    }

    #[test]
    fn packages_are_installed_once_for_the_same_pins() {
        let dir = tempfile::tempdir().unwrap();
        let (source, directory) = (dir.path().join("source"), dir.path().join("target/clients/test"));
        fs::create_dir(&source).unwrap();
        let client = client("cargo", (1, 0, 0));
        for (version, pins, times) in [("1\n", "a", 1), ("1\n", "a", 1), ("1\n", "b", 2), ("2\n", "b", 3)] {
            fs::write(source.join("pins"), pins).unwrap();
            client.installed(version, &directory, &source).unwrap();
            let count = fs::read_to_string(dir.path().join("count")).unwrap();
            assert_eq!(count.lines().count(), times, "{version}{pins}");
        }
    }

    #[test]
    fn a_failed_installation_is_repeated() {
        let dir = tempfile::tempdir().unwrap();
        let (source, directory) = (dir.path().join("source"), dir.path().join("target"));
        fs::create_dir(&source).unwrap();
        fs::write(source.join("pins"), "a 1").unwrap();
        let broken = Client { install: |_, _| vec![command("false")], ..client("cargo", (1, 0, 0)) };
        let error = broken.installed("1\n", &directory, &source).unwrap_err();
        assert_eq!(error.to_string(), "its packages cannot be installed: `false` failed");
        assert!(!stamp(&directory).exists());
    }

    #[test]
    fn the_reason_names_the_runtime() {
        let reason = |client: Client| format!("{:#}", client.ready(Path::new("tiller")).unwrap_err());
        assert_eq!(reason(client("no-such-runtime", (1, 0, 0))), "no working no-such-runtime was found");
        let old = reason(client("cargo", (99, 0, 0)));
        assert!(old.starts_with("cargo is older than 99.0: cargo 1."), "{old}");
    }

    #[test]
    fn each_client_has_its_pins_and_its_script() {
        for client in CLIENTS {
            let source = root().join(client.source);
            assert!(source.join(client.pins).is_file(), "{}", client.name);
            let start = (client.start)(&source, &source);
            let script = start.get_args().last().unwrap();
            assert!(Path::new(script).is_file(), "{}", client.name);
        }
    }
}
