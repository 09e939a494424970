//! `cargo xtask packages`: every package is installed into an empty directory from its local file,
//! and the installed program answers an `initialize` request.

mod initialize;
mod shell;

use super::{
    make::{Options, make},
    release::{Release, name},
    target::Target,
};
use crate::arguments::Arguments;
use crate::ci::pip_install;
use crate::process::{capture, command, command_line, debug_binary, target_dir};
use anyhow::{Context, Result, bail, ensure};
use initialize::initialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const USAGE: &str = "usage: cargo xtask packages [--binary PATH]\n";

/// The PyPI package with `uvx`.
const UV: &str = "uv==0.13.9";

/// Installs and starts the packages of a binary; the debug binary by default.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let mut arguments = Arguments::new(words);
    let mut binary = None;
    while let Some(option) = arguments.next_option() {
        match option {
            "--binary" => binary = Some(arguments.path()?),
            _ => return Err(arguments.unknown(USAGE)),
        }
    }
    let binary = match binary {
        Some(binary) => binary,
        None => debug_binary()?,
    };
    play(&binary)
}

/// Installs and starts the packages of the debug binary that CI built.
pub(crate) fn run_built() -> Result<()> {
    play(&target_dir().join("debug/tiller"))
}

/// A package that is installed and started.
struct Trial<'a> {
    /// The directory with the files of the release.
    out: &'a Path,
    /// An empty directory, also the home of the programs.
    home: PathBuf,
    release: &'a Release,
    target: &'static Target,
}

fn play(binary: &Path) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name);
    let release = Release::read()?;
    let target = Target::of_this_machine()?;
    let binary = stripped(binary, &path("binary"))?;
    let options = Options {
        target: Some(target),
        binary: Some(binary),
        runner: None,
        out: path("out"),
        collect: false,
        fast: true,
    };
    make(&options, &release)?;
    let kinds: [(&str, Play); 6] = [
        ("installer", shell::try_installer),
        ("npm", npm),
        ("pip", pip),
        ("uvx", uvx),
        ("registry", registry),
        ("homebrew", homebrew),
    ];
    for (name, play) in kinds {
        let home = path(name);
        fs::create_dir(&home)?;
        let trial = Trial { out: &options.out, home, release: &release, target };
        match play(&trial).with_context(|| format!("the package for {name}"))? {
            Outcome::Passed => println!("packages: {name} passed"),
            Outcome::Skipped(why) => println!("packages: {name} skipped: {why}"),
        }
    }
    Ok(())
}

/// Installs and starts one kind of package.
type Play = fn(&Trial) -> Result<Outcome>;

/// What came of a trial that did not fail.
enum Outcome {
    Passed,
    /// It cannot be played here, for this reason.
    Skipped(String),
}

/// Returns the binary without symbols, which make up most of a debug build; as it is where there is
/// no `strip`.
fn stripped(binary: &Path, to: &Path) -> Result<PathBuf> {
    fs::copy(binary, to).with_context(|| format!("cannot read {}", binary.display()))?;
    let _ = capture(command("strip").arg(to));
    Ok(to.to_owned())
}

impl Trial<'_> {
    /// A command with an empty home and no settings of this machine.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.home).env_clear().env("HOME", &self.home);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("npm_config_cache", self.home.join("npm-cache"));
        command.env("UV_CACHE_DIR", self.home.join("uv-cache")).env("UV_PYTHON_DOWNLOADS", "never");
        command
    }

    /// The path of a file of the release.
    fn file(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    /// The file of the release that starts and ends like this.
    fn find(&self, start: &str, end: &str) -> Result<PathBuf> {
        let files = fs::read_dir(self.out)?.flatten().map(|entry| entry.path());
        let fits = |path: &PathBuf| {
            let file = name(path);
            file.starts_with(start) && file.ends_with(end)
        };
        files.into_iter().find(fits).with_context(|| format!("there is no file {start}…{end}"))
    }

    /// Checks that a program is this release and answers `initialize`.
    fn starts(&self, program: Command) -> Result<()> {
        let answer = initialize(program)?;
        let version = &answer["agentInfo"]["version"];
        ensure!(*version == self.release.version, "it says that its version is {version}");
        let methods = answer["authMethods"].as_array().cloned().unwrap_or_default();
        ensure!(!methods.is_empty(), "it offers no authentication method");
        let known = |method: &serde_json::Value| method["type"] == "agent" || method["type"] == "terminal";
        ensure!(methods.iter().all(known), "an authentication method has no known type: {methods:?}");
        Ok(())
    }
}

/// Whether a program can be started here.
fn has(program: &str) -> bool {
    capture(command(program).arg("--version")).is_ok()
}

fn npm(trial: &Trial) -> Result<Outcome> {
    if !has("npm") {
        return Ok(Outcome::Skipped("npm is not installed".to_owned()));
    }
    let Release { npm: package, version, .. } = trial.release;
    let mut install = trial.command("npm");
    install.args(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    install.arg(trial.file(&format!("{package}-{version}.tgz")));
    install.arg(trial.file(&format!("{package}-{}-{version}.tgz", trial.target.npm_suffix())));
    capture(&mut install)?;
    let mut installed = trial.command(trial.home.join("node_modules/.bin/tiller"));
    installed.arg("acp");
    trial.starts(installed)?;
    let mut npx = trial.command("npx");
    npx.args(["--offline", "tiller", "acp"]);
    trial.starts(npx)?;
    // The exit code of the program is that of the launcher.
    let mut wrong = trial.command(trial.home.join("node_modules/.bin/tiller"));
    let code = wrong.arg("--no-such-option").output()?.status.code();
    let mut direct = trial
        .command(trial.home.join(format!("node_modules/{package}-{}/bin/tiller", trial.target.npm_suffix())));
    ensure!(
        code == direct.arg("--no-such-option").output()?.status.code(),
        "the launcher ended with {code:?}"
    );
    Ok(Outcome::Passed)
}

fn pip(trial: &Trial) -> Result<Outcome> {
    let environment = trial.home.join("venv");
    let mut create = trial.command("python3");
    if let Err(error) = capture(create.args(["-m", "venv"]).arg(&environment)) {
        return Ok(Outcome::Skipped(format!("no virtual environment can be made: {error:#}")));
    }
    let mut install = trial.command(environment.join("bin/python"));
    install.args(["-m", "pip", "install", "--no-index", "--disable-pip-version-check", "--quiet"]);
    capture(install.arg(trial.find(&trial.release.pypi, ".whl")?))?;
    let mut installed = trial.command(environment.join("bin/tiller"));
    installed.arg("acp");
    trial.starts(installed)?;
    let mut remove = trial.command(environment.join("bin/python"));
    capture(remove.args(["-m", "pip", "uninstall", "--yes", "--quiet", &trial.release.pypi]))?;
    ensure!(!environment.join("bin/tiller").exists(), "the program is still there after its removal");
    Ok(Outcome::Passed)
}

fn uvx(trial: &Trial) -> Result<Outcome> {
    let Some(uv) = uv() else { return Ok(Outcome::Skipped("uv cannot be installed".to_owned())) };
    let mut run = trial.command(uv);
    run.args(["tool", "run", "--offline", "--no-config", "--from"]);
    run.arg(trial.find(&trial.release.pypi, ".whl")?).args(["tiller", "acp"]);
    trial.starts(run)?;
    Ok(Outcome::Passed)
}

/// Returns `uv` from the path, or installs it for this clone.
fn uv() -> Option<PathBuf> {
    let directory = target_dir().join("tools/uv");
    let installed = directory.join("bin/uv");
    let runs = |uv: &Path| capture(command(uv).arg("--version")).is_ok();
    if let Some(uv) = [PathBuf::from("uv"), installed.clone()].into_iter().find(|uv| runs(uv)) {
        return Some(uv);
    }
    let mut install = pip_install(&directory, UV);
    println!("packages: installing uv: {}", command_line(&install));
    install.status().ok()?;
    runs(&installed).then_some(installed)
}

/// Unpacks the archive that the registry entry names and starts its command.
fn registry(trial: &Trial) -> Result<Outcome> {
    let text = fs::read_to_string(trial.file("registry/tiller/agent.json"))?;
    let entry: serde_json::Value = serde_json::from_str(&text)?;
    let package = &entry["distribution"]["binary"][trial.target.registry];
    let url = package["archive"].as_str().context("the entry has no archive for this machine")?;
    let archive = trial.file(url.rsplit('/').next().unwrap_or_default());
    capture(command("tar").arg("-xzf").arg(archive).arg("-C").arg(&trial.home))?;
    let mut program = trial.command(trial.home.join(package["cmd"].as_str().unwrap_or_default()));
    for word in package["args"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str) {
        program.arg(word);
    }
    trial.starts(program)?;
    Ok(Outcome::Passed)
}

/// Checks the syntax of the formula. Installing it takes Homebrew and the published archives.
fn homebrew(trial: &Trial) -> Result<Outcome> {
    if !has("ruby") {
        return Ok(Outcome::Skipped("ruby is not installed, so the formula is not even parsed".to_owned()));
    }
    let checked = capture(command("ruby").arg("-c").arg(trial.file("tiller.rb")))?;
    if !checked.contains("Syntax OK") {
        bail!("ruby says: {checked}");
    }
    Ok(Outcome::Passed)
}
