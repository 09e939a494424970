//! `cargo xtask dist`: everything that a release consists of, from one binary per target.
//!
//! Nothing is uploaded: publishing is a person's step (docs/release.md). Equal inputs make equal
//! files: times come from `SOURCE_DATE_EPOCH`, or else from the last commit, and entries are sorted.

mod archive;
mod build;
mod collect;
mod contents;
mod homebrew;
mod installer;
mod licences;
mod npm;
mod packages;
mod registry;
mod sbom;
mod target;
mod trial;
mod wheel;

use crate::arguments::Arguments;
use crate::process::{capture, command, root, target_dir};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use target::Target;
pub(crate) use trial::{run as run_trial, run_built as run_built_trial};

const USAGE: &str = "\
usage: cargo xtask dist [OPTION]...
  --target TRIPLE  the target; this machine's by default
  --binary PATH    package this binary instead of building one with the profile `dist`
  --runner PATH    a binary for this machine that writes the manual pages, if --binary does not run here
  --out DIR        the directory for the files [default: target/dist-files]
  --collect        build nothing: renew the sums, installer, formula and registry entry of --out
  --fast           compress little, for tests
";

/// What `dist` is asked for.
pub(crate) struct Options {
    target: Option<&'static Target>,
    binary: Option<PathBuf>,
    runner: Option<PathBuf>,
    out: PathBuf,
    collect: bool,
    fast: bool,
}

/// The names and hosts of releases: `packaging/release.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Release {
    repository: String,
    downloads: String,
    latest: String,
    key: String,
    npm: String,
    pypi: String,
    /// The version of the workspace.
    #[serde(skip)]
    version: String,
    /// The time of all files, in seconds since 1970.
    #[serde(skip)]
    time: u64,
}

/// `cargo xtask dist`.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = Options::parse(words)?;
    let release = Release::read()?;
    make(&options, &release)?;
    println!("dist: the files are in {}", options.out.display());
    if release.repository.contains("example.org") {
        println!("dist: packaging/release.toml names no real host yet; these files cannot be published");
    }
    Ok(())
}

/// Makes the files.
fn make(options: &Options, release: &Release) -> Result<()> {
    fs::create_dir_all(&options.out)?;
    if !options.collect {
        let target = match options.target {
            Some(target) => target,
            None => Target::of_this_machine()?,
        };
        let binary = match &options.binary {
            Some(binary) => binary.clone(),
            None => build::build(target, release)?,
        };
        let runner = options.runner.as_ref().unwrap_or(&binary);
        let contents = contents::Contents::new(target, &binary, runner, release)?;
        for path in packages::of_target(target, &contents, release, &options.out, options.fast)? {
            println!("dist: {}", path.display());
        }
    }
    collect::collect(&options.out, release)
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self> {
        let mut arguments = Arguments::new(words);
        let mut options = Self {
            target: None,
            binary: None,
            runner: None,
            out: target_dir().join("dist-files"),
            collect: false,
            fast: false,
        };
        while let Some(option) = arguments.next_option() {
            match option {
                "--target" => options.target = Some(Target::named(arguments.value()?)?),
                "--binary" => options.binary = Some(arguments.path()?),
                "--runner" => options.runner = Some(arguments.path()?),
                "--out" => options.out = arguments.path()?,
                "--collect" => options.collect = true,
                "--fast" => options.fast = true,
                _ => return Err(arguments.unknown(USAGE)),
            }
        }
        if options.collect && options.binary.is_some() {
            bail!("--collect builds nothing, so it takes no --binary");
        }
        Ok(options)
    }
}

impl Release {
    /// Reads the names, the version and the time.
    fn read() -> Result<Self> {
        let path = root().join("packaging/release.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let release: Self = toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
        Ok(Self { version: version()?, time: time()?, ..release })
    }

    /// The URL of a file of this version.
    fn url(&self, file: &str) -> String {
        format!("{}/{file}", self.downloads.replace("{version}", &self.version))
    }
}

/// The version of the workspace.
fn version() -> Result<String> {
    #[derive(Deserialize)]
    struct Manifest {
        workspace: Workspace,
    }
    #[derive(Deserialize)]
    struct Workspace {
        package: Package,
    }
    #[derive(Deserialize)]
    struct Package {
        version: String,
    }
    let manifest: Manifest = toml::from_str(&fs::read_to_string(root().join("Cargo.toml"))?)?;
    Ok(manifest.workspace.package.version)
}

/// The time of the files: `SOURCE_DATE_EPOCH`, or that of the last commit.
fn time() -> Result<u64> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let text = match given {
        Some(given) => given,
        None => capture(command("git").args(["log", "-1", "--format=%ct"]))?,
    };
    text.trim().parse().with_context(|| format!("SOURCE_DATE_EPOCH is no number of seconds: {text:?}"))
}

/// The name of a file without its directory.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        assert!(Options::parse(&["--collect", "--binary", "x"]).is_err());
        assert!(Options::parse(&["--target", "sparc-sun-solaris"]).is_err());
        let options = Options::parse(&["--target", "x86_64-unknown-linux-musl", "--fast"]).unwrap();
        assert_eq!(options.target.map(|target| target.triple), Some("x86_64-unknown-linux-musl"));
    }

    #[test]
    fn the_url_of_a_file_has_its_version() {
        let release = Release::read().unwrap();
        assert!(release.url("x.tar.gz").contains(&format!("v{}/x.tar.gz", release.version)));
    }
}
