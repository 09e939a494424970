//! The official SDKs' clients in `tests/clients` and our own in `clients`, which drive the real binary, and others' servers, which it drives: set up
//! below the target folder, and told apart from what cannot run here.
//!
//! Nobody needs Python or Node to work on this project, so a client that cannot be set up is left out, with the reason said.
//! One that is set up must pass.

use super::tool::parse_version;
use crate::process::{capture, command, root, shown, target_dir};
use anyhow::{Context, Result, anyhow, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A client in the language of its SDK.
pub(super) struct Client {
    /// The step's name.
    pub(super) name: &'static str,
    /// The folder in the tree.
    pub(super) source: &'static str,
    /// The folder below `clients` in the target folder.
    pub(super) folder: &'static str,
    /// What runs it, and the oldest version that can.
    pub(super) runtime: &'static str,
    pub(super) oldest: (u32, u32, u32),
    /// The file that pins what it needs, if anything. What was installed for the same text and the same runtime is used again.
    pub(super) pins: &'static str,
    /// The commands that install into the folder given; the source folder comes second.
    pub(super) install: fn(&Path, &Path) -> Vec<Command>,
    /// The command that runs it; same folders.
    pub(super) start: fn(&Path, &Path) -> Command,
}

/// All of them.
pub(super) const CLIENTS: [Client; 5] = [PYTHON, TYPESCRIPT, SERVERS, NATIVE_PYTHON, NATIVE_TYPESCRIPT];

pub(super) const PYTHON: Client = Client {
    name: "python client",
    source: "tests/clients/python",
    folder: "python",
    runtime: "python3",
    oldest: (3, 10, 0),
    pins: "requirements.txt",
    install: |folder, source| venv("python3", folder, source, &[]),
    start: |folder, source| {
        let mut python = command(folder.join("bin/python"));
        python.arg("-B").arg(source.join("drive.py"));
        python
    },
};

pub(super) const TYPESCRIPT: Client = Client {
    name: "typescript client",
    source: "tests/clients/typescript",
    folder: "typescript",
    runtime: "node",
    oldest: (20, 6, 0),
    pins: "package-lock.json",
    install: npm_ci,
    start: node,
};

/// MCP servers that somebody else wrote.
const SERVERS: Client =
    Client { name: "MCP servers", source: "tests/clients/servers", folder: "servers", ..TYPESCRIPT };

/// Our own client of the native layer: its wheel is built, installed into an environment of its
/// own, and tested there.
const NATIVE_PYTHON: Client = Client {
    name: "native python",
    source: "clients/python",
    folder: "native-python",
    runtime: "python3",
    oldest: (3, 10, 0),
    pins: "requirements.txt",
    install: |folder, source| venv("python3", &folder.join("tools"), source, &[]),
    start: |folder, source| {
        let mut python = command("python3");
        python.env("CLIENTS", source.parent().unwrap_or(source));
        python.arg("-B").arg(folder.join("tests/run.py"));
        python
    },
};

/// The same in TypeScript: it is packed, and what was packed is installed into a project of its
/// own, and tested there.
const NATIVE_TYPESCRIPT: Client = Client {
    name: "native typescript",
    source: "clients/typescript",
    folder: "native-typescript",
    runtime: "node",
    oldest: (20, 6, 0),
    pins: "package-lock.json",
    install: npm_ci,
    start: |folder, _| {
        let mut node = command("node");
        node.arg(folder.join("test/run.mjs"));
        node
    },
};

/// A Python environment with exactly what the requirements pin; `more` goes to pip.
pub(super) fn venv(python: &str, folder: &Path, source: &Path, more: &[&str]) -> Vec<Command> {
    // Without pip of its own, since Debian leaves out what would put it there; the one outside
    // installs into it.
    let mut venv = command(python);
    venv.args(["-m", "venv", "--clear", "--without-pip"]).arg(folder);
    let mut pip = command("python3");
    pip.args(["-m", "pip", "--python"]).arg(folder.join("bin/python"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.args(more)
        .args(["--no-deps", "--only-binary=:all:", "--requirement"])
        .arg(source.join("requirements.txt"));
    vec![venv, pip]
}

fn npm_ci(folder: &Path, _source: &Path) -> Vec<Command> {
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
    npm.arg(folder);
    vec![npm]
}

fn node(folder: &Path, _source: &Path) -> Command {
    let mut node = command("node");
    node.arg(folder.join("drive.mjs"));
    node
}

impl Client {
    /// The command that plays this client against the binary `tiller`.
    ///
    /// # Errors
    /// The reason why it cannot be played here, in words: no runtime, too old a one, or what it needs cannot be installed.
    pub(super) fn ready(&self, tiller: &Path) -> Result<Command> {
        let version = self.runtime_version()?;
        let source = root().join(self.source);
        let folder = target_dir().join("clients").join(self.folder);
        self.installed(&version, &folder, &source)?;
        // Node looks for packages beside the script, wherever it is started; so the scripts go where the packages are.
        copy_files(&source, &folder)?;
        // What several clients' scripts import, as it lies beside them in the tree.
        copy_files(&root().join("tests/clients/story"), &target_dir().join("clients/story"))?;
        let mut start = (self.start)(&folder, &source);
        start.arg(tiller);
        Ok(start)
    }

    fn runtime_version(&self) -> Result<String> {
        let version = capture(command(self.runtime).arg("--version"))
            .map_err(|_| anyhow!("there is no {} that runs", self.runtime))?;
        let (major, minor, _) = self.oldest;
        if parse_version(&version) < Some(self.oldest) {
            bail!("{} is older than {major}.{minor}: {}", self.runtime, version.trim());
        }
        Ok(version)
    }

    fn installed(&self, version: &str, folder: &Path, source: &Path) -> Result<()> {
        let pins = fs::read_to_string(source.join(self.pins))
            .with_context(|| format!("cannot read {} in {}", self.pins, source.display()))?;
        let wanted = format!("{version}{pins}");
        let stamp = stamp(folder);
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        copy_files(source, folder)?;
        for mut step in (self.install)(folder, source) {
            println!("ci: {}: installing: {}", self.name, shown(&step));
            let status = step.stdin(Stdio::null()).status();
            if !status.is_ok_and(|status| status.success()) {
                bail!("its packages cannot be installed: `{}` failed", shown(&step));
            }
        }
        // Last, so that what was interrupted is begun anew.
        fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
    }
}

/// Says for which runtime and pins a folder was set up.
fn stamp(folder: &Path) -> PathBuf {
    folder.join("installed-for")
}

/// Folders that are made from the others.
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

    /// A client whose packages are a file that says how often they were installed.
    fn client(runtime: &'static str, oldest: (u32, u32, u32)) -> Client {
        Client {
            name: "test client",
            source: "test",
            folder: "test",
            runtime,
            oldest,
            pins: "pins",
            install: |folder, source| {
                let mut install = command("sh");
                // Outside of the folder, which is cleared before.
                let count = source.join("../count");
                install.args(["-c", "echo installed >> \"$0\" && test -d \"$1\""]).arg(count).arg(folder);
                vec![install]
            },
            start: |_, _| command("true"),
        }
    }

    #[test]
    fn packages_are_installed_once_for_the_same_pins() {
        let dir = tempfile::tempdir().unwrap();
        let (source, folder) = (dir.path().join("source"), dir.path().join("target/clients/test"));
        fs::create_dir(&source).unwrap();
        let client = client("cargo", (1, 0, 0));
        for (version, pins, times) in [("1\n", "a", 1), ("1\n", "a", 1), ("1\n", "b", 2), ("2\n", "b", 3)] {
            fs::write(source.join("pins"), pins).unwrap();
            client.installed(version, &folder, &source).unwrap();
            let count = fs::read_to_string(dir.path().join("count")).unwrap();
            assert_eq!(count.lines().count(), times, "{version}{pins}");
        }
    }

    #[test]
    fn an_installation_that_fails_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let (source, folder) = (dir.path().join("source"), dir.path().join("target"));
        fs::create_dir(&source).unwrap();
        fs::write(source.join("pins"), "a 1").unwrap();
        let broken = Client { install: |_, _| vec![command("false")], ..client("cargo", (1, 0, 0)) };
        let error = broken.installed("1\n", &folder, &source).unwrap_err();
        assert_eq!(error.to_string(), "its packages cannot be installed: `false` failed");
        assert!(!stamp(&folder).exists());
    }

    #[test]
    fn the_reason_names_the_runtime() {
        let reason = |client: Client| format!("{:#}", client.ready(Path::new("tiller")).unwrap_err());
        assert_eq!(reason(client("no-such-runtime", (1, 0, 0))), "there is no no-such-runtime that runs");
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
